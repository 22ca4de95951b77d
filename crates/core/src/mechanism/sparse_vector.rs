//! Sparse vector, in integers: which of many questions, asked one after the other, is the first to reach a threshold.
//!
//! ρ ~ DLap(1/ε₁) once; then for each score u, an integer that an owner moves by at most 1, ν ~ DLap(2/ε₂), and the
//! answer is "at or above" iff u + ν ≥ T + ρ. The first such answer ends the round. However many were below, all of it
//! costs ε₁ + ε₂ (\[DR14\] §3.6, \[Vad17\] 7.4.3; noise of DLap(1/ε₂) is enough where all scores move the same way).
//! Questions may be chosen after seeing the answers before them.
//!
//! We differ from the survey where it counts only rounds that end: an open round, in which everything was below, has
//! already cost ε₁, and its next answer may cost the rest. So **a round is charged when it opens**. The sum is tight:
//! with 20 questions the loss is within 1% of it (a test finds that).

use super::selection::ScoreChange;
use super::smooth::OwnerSteps;
use crate::calibrate::{ShiftNorms, Target, scale_for_pure};
use crate::error::Result;
use crate::event::{Event, Word};
use crate::noise::tape::{self, Announcement, MechanismInput};
use crate::noise::{BitSource, DiscreteLaplace};
use crate::quantity::{Beta, Epsilon, Exact, Scale};
use crate::scope::{AttributeSet, Scope};
use std::borrow::Borrow;
use std::fmt;

/// Which question is the first whose score reaches a threshold.
///
/// ```
/// use scumble::quantity::{beta, epsilon};
/// use scumble::mechanism::selection::ScoreChange;
/// use scumble::mechanism::sparse_vector::SparseVector;
/// use scumble::noise::InsecureSeededSource;
/// use scumble::{Scope, Target};
/// let test = SparseVector::within(Target::pure(epsilon(1.0)?), Scope::Person, ScoreChange::General)?;
/// let first = test.release(&[3, 5, 912, 4], 400, &mut InsecureSeededSource::new(1));
/// assert_eq!(first, Some(2));
/// assert!(test.error(beta(0.05)?, 4)? < 60.0);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct SparseVector {
    epsilon: Epsilon,
    epsilons: (Epsilon, Epsilon),
    threshold: DiscreteLaplace,
    question: DiscreteLaplace,
    change: ScoreChange,
}

/// The noise on the threshold of an open round: knowing it would reveal more than was charged. It is never printed.
#[must_use]
pub struct ThresholdNoise(i128);

impl ThresholdNoise {
    /// The secret, to be kept where its owner alone can read it.
    pub fn secret(&self) -> i128 {
        self.0
    }

    /// The round that has this secret. One that has ended must not be taken up again.
    pub fn resumed(secret: i128) -> Self {
        Self(secret)
    }
}

impl fmt::Debug for ThresholdNoise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ThresholdNoise(secret)")
    }
}

impl SparseVector {
    /// A round within the target in `scope`, with the split of ε for which the variance of ν − ρ is the least: ε₂ =
    /// g^{2/3}·ε₁, with g = 2, or 1 where scores move the same way.
    ///
    /// # Guarantee
    /// [`SparseVector::events`] cost at most `target` in `scope`, if the scores read what it is about.
    pub fn within(target: Target, scope: impl Borrow<Scope>, change: ScoreChange) -> Result<Self> {
        let epsilon = of_one_step(target, scope.borrow(), change)?.get();
        refuse_if!(epsilon == 0.0, "sparse vector needs epsilon above 0");
        let first = epsilon / (1.0 + f64::from(change.gap_moves()).powi(2).cbrt());
        // The difference is rounded by at most half of its last digit, which is at most the first's: both together are
        // not above ε.
        Self::split(Epsilon::new(first.next_down())?, Epsilon::new(epsilon - first)?, change)
    }

    /// A round within both targets together in `scope`: ε₁ for the threshold and ε₂ for the questions, both above 0.
    ///
    /// # Guarantee
    /// [`SparseVector::events`] cost at most ε₁ + ε₂, rounded up to an f64, in `scope`, if the scores read what it is
    /// about.
    ///
    /// ```
    /// use scumble::quantity::epsilon;
    /// use scumble::mechanism::selection::ScoreChange;
    /// use scumble::mechanism::sparse_vector::SparseVector;
    /// use scumble::{Scope, Target};
    /// let (threshold, questions) = (Target::pure(epsilon(0.25)?), Target::pure(epsilon(0.5)?));
    /// let test = SparseVector::within_parts(threshold, questions, Scope::Person, ScoreChange::General)?;
    /// assert_eq!(test.epsilons(), (epsilon(0.25)?, epsilon(0.5)?));
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn within_parts(
        threshold: Target,
        questions: Target,
        scope: impl Borrow<Scope>,
        change: ScoreChange,
    ) -> Result<Self> {
        let of_one = |target: Target| of_one_step(target, scope.borrow(), change);
        Self::split(of_one(threshold)?, of_one(questions)?, change)
    }

    fn split(threshold: Epsilon, questions: Epsilon, change: ScoreChange) -> Result<Self> {
        let sum = Exact::from(threshold) + Exact::from(questions);
        Ok(Self {
            epsilon: Epsilon::new(sum.to_f64_up())?,
            epsilons: (threshold, questions),
            threshold: DiscreteLaplace::new(scale_for_pure(threshold, ShiftNorms::units(1))?),
            question: DiscreteLaplace::new(scale_for_pure(questions, ShiftNorms::units(change.gap_moves().into()))?),
            change,
        })
    }

    /// ε₁ and ε₂.
    pub fn epsilons(&self) -> (Epsilon, Epsilon) {
        self.epsilons
    }

    /// Opens a round.
    pub fn open<S: BitSource + ?Sized>(&self, bits: &mut S) -> ThresholdNoise {
        ThresholdNoise(self.threshold.add_to_wide(0, bits))
    }

    /// Whether a score is below a threshold: the round goes on. None if it is at or above, and then the round is over.
    ///
    /// # Guarantee
    /// If every score of a round moves by at most 1 as the [`ScoreChange`] says, whatever was chosen after seeing
    /// earlier answers, and a round that has ended is not asked again, all answers of a round together cost what
    /// [`SparseVector::events`] says: for each value r of ρ, compare with ρ = r + 1 (for which every ⊥ is at least as
    /// likely on the other data), and then the one ⊤ with a threshold and a score that moved by 1 each.
    #[must_use]
    pub fn ask<S: BitSource + ?Sized>(
        &self,
        round: ThresholdNoise,
        score: i64,
        threshold: i64,
        bits: &mut S,
    ) -> Option<ThresholdNoise> {
        let limit = round.0.saturating_add(threshold.into());
        let said = || Announcement {
            name: "question",
            law: None,
            input: MechanismInput::Cells(vec![i128::from(score) - i128::from(threshold)]),
        };
        let is_below = tape::through(bits, said, |bits| self.question.add_to_wide(score.into(), bits) < limit);
        is_below.then_some(round)
    }

    /// A whole round: the first score that reaches the threshold; none if none does.
    pub fn release<S: BitSource + ?Sized>(&self, scores: &[i64], threshold: i64, bits: &mut S) -> Option<usize> {
        let mut round = self.open(bits);
        for (index, score) in scores.iter().enumerate() {
            match self.ask(round, *score, threshold, bits) {
                Some(open) => round = open,
                None => return Some(index),
            }
        }
        None
    }

    /// What a round did, from its opening on, if the scores read these attributes.
    pub fn events(&self, attributes: &AttributeSet) -> Result<Vec<Event>> {
        let steps = steps_of(self.change);
        Ok(vec![Event::new(Word::Pure { epsilon: self.epsilon }, steps.reading(attributes.clone()).moves(1.0)?)])
    }

    /// How far from the threshold a score may be on the wrong side, in a round of this many questions, except with
    /// probability β.
    pub fn error(&self, beta: Beta, questions: u64) -> Result<f64> {
        let half = beta.get() / 2.0;
        let (first, each) = self.slacks(Beta::new(half)?, Beta::new(half / questions.max(1) as f64)?);
        Ok((first + each) as f64)
    }

    /// What |ρ| and |ν| exceed with these probabilities.
    pub fn slacks(&self, threshold: Beta, question: Beta) -> (u64, u64) {
        (exceeded(self.threshold.scale(), threshold), exceeded(self.question.scale(), question))
    }
}

/// Scores that move the same way with an owner who comes or goes may move both ways with one who is replaced: two
/// steps.
fn steps_of(change: ScoreChange) -> OwnerSteps {
    if change == ScoreChange::Monotone { OwnerSteps::two() } else { OwnerSteps::one() }
}

/// What a round may cost with one step, whatever attributes its scores read.
fn of_one_step(target: Target, scope: &Scope, change: ScoreChange) -> Result<Epsilon> {
    steps_of(change).read_by(scope).target_of_one(target, scope)?.without_delta("sparse vector")
}

/// The least t with P\[|DLap(s)| > t\] = 2e^{−(t+1)/s}/(1 + e^{−1/s}) ≤ β.
///
/// ```
/// use scumble::mechanism::sparse_vector::exceeded;
/// use scumble::quantity::{Scale, beta};
/// let half = Scale::new(1.0 / 2f64.ln())?; // masses 1/3, 1/6, 1/12, …
/// assert_eq!([exceeded(half, beta(0.7)?), exceeded(half, beta(0.4)?), exceeded(half, beta(0.2)?)], [0, 1, 2]);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn exceeded(scale: Scale, beta: Beta) -> u64 {
    let (scale, p) = (scale.get(), beta.get());
    let above = |t: f64| 2.0 * (-(t + 1.0) / scale).exp() / (1.0 + (-1.0 / scale).exp());
    let near = (scale * (2.0 / (p * (1.0 + (-1.0 / scale).exp()))).ln()).ceil() - 1.0;
    // The logarithm is off by a few last digits; the tail itself decides.
    let mut t = (near - 1.0).max(0.0);
    while above(t) > p && t < 1e18 {
        t += (t * f64::EPSILON).max(1.0);
    }
    t as u64
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::law as law_of_a_round;
