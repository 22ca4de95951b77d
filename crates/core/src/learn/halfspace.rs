//! Robust halfspaces (Section 6 of \[GKMS\]): labels by randomized response, then the exponential mechanism over a net
//! of halfspaces with a loss that looks at how many coordinates must be flipped to change the prediction.
//!
//! The paper scores the noisy labels directly (Lemma 21), which is private but biased: a point close to the boundary is
//! an error for both labels. We score the debiased loss a·l(ỹ) − b·l(−ỹ), whose expectation is (a − b) times the loss
//! on the true labels.
//!
//! A coordinate and the label have an ε each; a whole person costs more than both ([`HalfspaceLearner::events`]). Where
//! owners lie far from the boundary this makes fewer mistakes than the exponential mechanism over the same halfspaces
//! ([`generic`](super::generic)) at the same ε per attribute, elsewhere more (docs/reference/limits.md has numbers).

use super::exponential_choice;
use crate::calibrate::up;
use crate::error::{Error, Result};
use crate::event::{AnswerCount, Event, Moves, Shift, Touch, Word};
use crate::noise::tape::{self, Announcement};
use crate::noise::{BitSource, Fraction, bernoulli};
use crate::quantity::{Beta, Epsilon, Upper};
use crate::scope::AttributeSet;
use std::collections::BTreeMap;

/// A learner of halfspaces over {−1, +1}^d that are right even after a few flipped coordinates.
#[derive(Debug, Clone, PartialEq)]
pub struct HalfspaceLearner {
    /// r₀: errors must survive this many flips to count fully.
    near: u32,
    /// r₁ > r₀: points farther than this from the boundary count nothing.
    far: u32,
    /// Labels are kept with odds a : b.
    odds: (u32, u32),
    feature: Epsilon,
    /// Weights of the coordinates, and behind them a constant if there is one.
    candidates: Vec<Vec<i32>>,
    has_constant: bool,
}

/// A net with more halfspaces is refused.
const LARGEST_NET: usize = 600_000;
/// Odds of larger numbers are refused.
const LARGEST_ODDS: u32 = 1_000_000;

impl HalfspaceLearner {
    /// Labels kept with odds `odds.0 : odds.1`, features at `feature` per coordinate, over the candidates (weights of
    /// the halfspaces, which must be public).
    pub fn new(near: u32, far: u32, odds: (u32, u32), feature: Epsilon, candidates: Vec<Vec<i32>>) -> Result<Self> {
        refuse_if!(near >= far, "the inner radius {near} must be below the outer radius {far}");
        if odds.1 == 0 || odds.0 <= odds.1 || odds.0 > LARGEST_ODDS {
            refuse!("the odds of keeping a label must be above 1, both numbers between 1 and {LARGEST_ODDS}");
        }
        if feature.get() == 0.0 || candidates.is_empty() || candidates.iter().any(|w| w.len() != candidates[0].len()) {
            refuse!("halfspaces need an epsilon above 0 and candidates of equal length");
        }
        Ok(Self { near, far, odds, feature, candidates, has_constant: false })
    }

    /// The same over halfspaces ⟨w, x⟩ + c ≥ 0: the last number of each candidate is its constant c, which nobody can
    /// flip.
    pub fn with_constant(
        near: u32,
        far: u32,
        odds: (u32, u32),
        feature: Epsilon,
        candidates: Vec<Vec<i32>>,
    ) -> Result<Self> {
        match candidates.first().is_some_and(|weights| weights.len() < 2) {
            true => Err(Error::refused("a halfspace with a constant has a weight for at least 1 coordinate beside it")),
            false => Ok(Self { has_constant: true, ..Self::new(near, far, odds, feature, candidates)? }),
        }
    }

    /// The largest odds a : b of keeping a label within ε for a change of it, of numbers up to a million.
    ///
    /// ```
    /// use scumble::quantity::epsilon;
    /// use scumble::learn::halfspace::HalfspaceLearner;
    /// let (a, b) = HalfspaceLearner::odds_within(epsilon(3f64.ln())?)?;
    /// assert!(a <= 3 * b && a > 3 * b - 5);
    /// assert!(HalfspaceLearner::odds_within(epsilon(1e-7)?).is_err());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn odds_within(epsilon: Epsilon) -> Result<(u32, u32)> {
        let epsilon = epsilon.get();
        let largest = f64::from(LARGEST_ODDS);
        let b = (largest / epsilon.exp()).floor().clamp(1.0, largest);
        let mut a = (b * epsilon.exp()).floor().min(largest);
        while a > b && epsilon_of_odds(a, b) > epsilon {
            a -= 1.0;
        }
        match a > b {
            true => Ok((a as u32, b as u32)),
            false => Err(Error::refused(format!("labels need an epsilon of at least 1e-5, not {epsilon}"))),
        }
    }

    /// All integer weights with absolute sum `sum` in `dimension` dimensions: every halfspace is within d/(2·sum) of
    /// one of them, in the ℓ₁ sense.
    ///
    /// ```
    /// use scumble::learn::halfspace::HalfspaceLearner;
    /// assert_eq!(HalfspaceLearner::net(3, 3)?.len(), 38);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn net(dimension: usize, sum: u32) -> Result<Vec<Vec<i32>>> {
        fn extend(left: usize, sum: i32, so_far: &mut Vec<i32>, net: &mut Vec<Vec<i32>>) -> bool {
            if net.len() > LARGEST_NET {
                return false;
            }
            if left == 1 {
                for last in if sum == 0 { vec![0] } else { vec![-sum, sum] } {
                    so_far.push(last);
                    net.push(so_far.clone());
                    so_far.pop();
                }
                return true;
            }
            (-sum..=sum).all(|weight| {
                so_far.push(weight);
                let fits = extend(left - 1, sum - weight.abs(), so_far, net);
                so_far.pop();
                fits
            })
        }
        let mut net = Vec::new();
        let sum = i32::try_from(sum).ok().filter(|&sum| sum > 0 && dimension > 0);
        match sum {
            Some(sum) if extend(dimension, sum, &mut Vec::new(), &mut net) => Ok(net),
            _ => Err(Error::refused(format!(
                "a net of halfspaces has 1 to {LARGEST_NET} members here: choose a smaller dimension or a coarser net"
            ))),
        }
    }

    /// ε for a change of one person's label: ln(a/b).
    ///
    /// # Guarantee
    /// The features stay as they are: randomized response, then post-processing.
    pub fn epsilon_label(&self) -> Upper {
        Upper::of(epsilon_of_odds(f64::from(self.odds.0), f64::from(self.odds.1)))
    }

    /// ε for a change of this many coordinates of one person; it stops growing where the person's whole loss has been
    /// paid for.
    ///
    /// # Guarantee
    /// For datasets of the same size. A score moves by at most Δ per coordinate, and by at most (a + b)(r₁ − r₀) in
    /// all.
    pub fn epsilon_features(&self, coordinates: u32) -> Upper {
        Upper::of(up(self.feature.get() * f64::from(coordinates).min(self.whole(1))))
    }

    /// ε for somebody who comes or goes: half of what all coordinates of a person cost.
    ///
    /// # Guarantee
    /// Draw a noisy label for the one who is missing as well, by the same odds: it changes no score and has the same
    /// law on both sides. For each draw of the labels the scores then move by a·l(ỹ) − b·l(−ỹ), which is in an interval
    /// of length (a + b)(r₁ − r₀).
    pub fn epsilon_presence(&self) -> Upper {
        Upper::of(up(self.feature.get() * self.whole(2)))
    }

    /// (a + b)(r₁ − r₀)/(parts·Δ), rounded up: how far a person's whole loss moves the scores, in units of what a
    /// coordinate does.
    fn whole(&self, parts: u32) -> f64 {
        let whole = u64::from(self.odds.0 + self.odds.1) * u64::from(self.far - self.near);
        let unit = u64::from(parts) * u64::from(self.sensitivity());
        let quotient = whole as f64 / unit as f64;
        if (2 * whole).is_multiple_of(unit) { quotient } else { quotient.next_up() }
    }

    /// What was done, for a ledger: the choice, and the noisy labels. `coordinates` names those of each coordinate,
    /// `label` that of the label.
    ///
    /// # Guarantee
    /// The choice is one of scores that all coordinates move: the range of its loss is ε for one of them, and for
    /// several the sum, up to that of the whole loss. This holds for fixed noisy labels. The noisy labels have the same
    /// law on both sides unless the label is changed ([`HalfspaceLearner::epsilon_presence`] says why that is true of
    /// presence as well); then they are randomized response. So the mechanism is the composition of both, and the noisy
    /// labels are discarded.
    pub fn events(&self, coordinates: &[AttributeSet], label: &AttributeSet) -> Result<Vec<Event>> {
        let dimension = self.dimension();
        refuse_if!(coordinates.len() != dimension, "give a name for each of {dimension} coordinates and for the label");
        let by = |by: f64| Shift::one_cell(by).map(|shift| vec![shift]);
        let touch = |attributes: &AttributeSet| Ok(Touch { attributes: attributes.clone(), shifts: by(1.0)? });
        let touches = coordinates.iter().map(touch).collect::<Result<Vec<_>>>()?;
        let scores = Moves::by_scope(by(self.whole(2))?, by(self.whole(1))?, touches).adding_up()?;
        let labels = Moves::by_scope(Vec::new(), by(1.0)?, vec![touch(label)?]);
        let response = Word::RandomizedResponse {
            epsilon: Epsilon::new(self.epsilon_label().get())?,
            values: AnswerCount::new(2)?,
        };
        Ok(vec![Event::new(Word::Exponential { epsilon: self.feature }, scores), Event::new(response, labels)])
    }

    /// On how many people what is learnt errs at most with probability 1 − β, if some candidate is right on all of them
    /// even where any r₁ − 1 of their coordinates are flipped (however many people there are).
    ///
    /// With m for the loss of what is chosen, in units of r₁ − r₀, and Λ = ln(2·candidates/β):
    /// m ≤ √(4·coth(ε/2)/ε·Λ·m) + 2ΔΛ/(ε_feature·(a − b)(r₁ − r₀)), ε = ln(a/b). The second term is the exponential
    /// mechanism's. The first is the noise of the labels: whether a label is flipped moves the score of a candidate,
    /// beyond that of the right one, by at most 2(a + b) times the person's loss, and a coin of odds a : b is
    /// sub-Gaussian with variance tanh(ε/2)/(2ε) \[Kearns–Saul 1998\].
    pub fn error(&self, beta: Beta) -> Result<f64> {
        let (a, b) = (f64::from(self.odds.0), f64::from(self.odds.1));
        let sizes = (2.0 * self.candidates.len() as f64 / beta.get()).ln();
        let label = ((a - b) / b).ln_1p();
        let noise = 4.0 * (a + b) / (a - b) / label * sizes;
        let choice = 2.0 * f64::from(self.sensitivity()) * sizes
            / (self.feature.get() * (a - b) * f64::from(self.far - self.near));
        let root = (noise.sqrt() + (noise + 4.0 * choice).sqrt()) / 2.0;
        Ok(root * root)
    }

    /// How many people suffice: if some candidate is right on everybody in the population even where any r₁ − 1
    /// coordinates are flipped, what is learnt from this many random people errs on a share of at most α of it with
    /// probability 1 − 2β (half of α for the mistakes among them, half for the sample).
    pub fn rows_needed(&self, alpha: f64, beta: Beta) -> Result<f64> {
        refuse_if!(!(alpha > 0.0 && alpha < 1.0), "the error must be in (0, 1), not {alpha}");
        let size = (self.candidates.len() as f64 / beta.get()).ln();
        Ok((2.0 * self.error(beta)? / alpha).max(8.0 * size / alpha))
    }

    /// How many coordinates a point has.
    pub fn dimension(&self) -> usize {
        self.candidates[0].len() - usize::from(self.has_constant)
    }

    /// ε for the replacement of a person: all coordinates and the label.
    ///
    /// # Guarantee
    /// As [`HalfspaceLearner::epsilon_features`], composed with [`HalfspaceLearner::epsilon_label`].
    pub fn epsilon_person(&self) -> Upper {
        Upper::of(up(self.epsilon_features(u32::MAX).get() + self.epsilon_label().get()))
    }

    /// How far one coordinate of one person moves a score: a, or a + b if already a point on the boundary counts.
    fn sensitivity(&self) -> u32 {
        if self.near >= 1 { self.odds.0 } else { self.odds.0 + self.odds.1 }
    }

    /// Learns a halfspace from points in {−1, +1}^d and labels in {−1, +1}.
    ///
    /// # Guarantee
    /// What [`HalfspaceLearner::events`] says; all choices are exact. How long it takes depends on the points: time is
    /// not part of the guarantee.
    pub fn learn<S: BitSource + ?Sized>(&self, points: &[Vec<i8>], labels: &[i8], bits: &mut S) -> Result<Vec<i32>> {
        let dimension = self.dimension();
        let is_sign = |value: &i8| *value == 1 || *value == -1;
        if points.len() != labels.len() || !labels.iter().all(is_sign) {
            refuse!("halfspaces need one label per point, and labels must be 1 or -1");
        }
        if let Some(row) = points.iter().position(|x| x.len() != dimension || !x.iter().all(is_sign)) {
            refuse!("point {row} must have {dimension} coordinates, each 1 or -1");
        }
        let said = || Announcement::records("halfspace", points.iter().zip(labels).map(|row| (format!("{row:?}"), 1)));
        tape::through_result(bits, said, |bits| self.run(points, labels, bits))
    }

    fn run<S: BitSource + ?Sized>(&self, points: &[Vec<i8>], labels: &[i8], bits: &mut S) -> Result<Vec<i32>> {
        let keep = Fraction::new(self.odds.0, self.odds.0 + self.odds.1)?;
        // There are few different points, and scores are sums.
        let mut noisy: BTreeMap<(&[i8], i8), i64> = BTreeMap::new();
        for (point, label) in points.iter().zip(labels) {
            let label = if bernoulli::rational(bits, &keep) { *label } else { -label };
            *noisy.entry((point, label)).or_default() += 1;
        }
        let scores: Vec<i64> = self.candidates.iter().map(|weights| self.score(weights, &noisy)).collect();
        let coefficient = Fraction::from_f64(self.feature.get())?.times(&Fraction::new(1u32, 2 * self.sensitivity())?);
        Ok(self.candidates[exponential_choice(&scores, &coefficient, bits)].clone())
    }

    /// −Σ [a·l(w, x, ỹ) − b·l(w, x, −ỹ)].
    fn score(&self, weights: &[i32], noisy: &BTreeMap<(&[i8], i8), i64>) -> i64 {
        let loss = |point: &[i8], label: i8| i64::from(self.loss(weights, point, label));
        let (a, b) = (i64::from(self.odds.0), i64::from(self.odds.1));
        let terms =
            noisy.iter().map(|((point, label), people)| people * (a * loss(point, *label) - b * loss(point, -label)));
        -terms.sum::<i64>()
    }

    /// clamp(r₁ − flips, 0, r₁ − r₀): 1-Lipschitz in the coordinates.
    fn loss(&self, weights: &[i32], point: &[i8], label: i8) -> u32 {
        let (weights, constant) = weights.split_at(self.dimension());
        let flips = flips_from(constant.first().copied().unwrap_or(0), weights, point, label).unwrap_or(u32::MAX);
        self.far.saturating_sub(flips).min(self.far - self.near)
    }
}

/// How many coordinates must be flipped until the halfspace ⟨w, x⟩ ≥ 0 does not predict `label`; None if no flips
/// suffice.
///
/// ```
/// use scumble::learn::halfspace::flips_to_err;
/// assert_eq!(flips_to_err(&[1, 1, 1], &[1, 1, 1], 1), Some(2));
/// assert_eq!(flips_to_err(&[0, 0, 0], &[1, -1, 1], 1), None);
/// ```
pub fn flips_to_err(weights: &[i32], point: &[i8], label: i8) -> Option<u32> {
    flips_from(0, weights, point, label)
}

/// The same for ⟨w, x⟩ + c ≥ 0.
fn flips_from(constant: i32, weights: &[i32], point: &[i8], label: i8) -> Option<u32> {
    let products = || weights.iter().zip(point).map(|(&weight, &x)| i64::from(weight) * i64::from(x));
    let mut margin: i64 = i64::from(constant) + products().sum::<i64>();
    let is_wrong = |margin: i64| if label == 1 { margin < 0 } else { margin >= 0 };
    // A flip of a coordinate that speaks for the label moves the margin by twice its weight; the heaviest first.
    let mut helpful: Vec<i64> =
        products().map(|product| product * i64::from(label)).filter(|&product| product > 0).collect();
    helpful.sort_unstable_by(|left, right| right.cmp(left));
    let mut flips = 0;
    for product in helpful {
        if is_wrong(margin) {
            return Some(flips);
        }
        margin -= 2 * product * i64::from(label);
        flips += 1;
    }
    is_wrong(margin).then_some(flips)
}

/// ε of randomized response that keeps a label with odds a : b.
fn epsilon_of_odds(a: f64, b: f64) -> f64 {
    up(((a - b) / b).ln_1p())
}

#[cfg(test)]
mod tests;
