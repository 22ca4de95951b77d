//! Choosing the best of many candidates by a private score: one enum for all ways.
//!
//! | selector | guarantee | choose it when |
//! |---|---|---|
//! | [`Selector::PermuteAndFlip`] | pure ε | pure privacy, no gap: in expectation never worse than the exponential mechanism |
//! | [`Selector::Exponential`] | loss of range ε, so ε²/8-zCDP | many selections are composed: it costs the least per selection |
//! | [`Selector::NoisyMax`] | pure ε | the scores arrive as a stream, or others' code must be matched |
//! | [`Selector::ObviousAnswer`] | that of the noise for *one* number | the winner is expected to lead by a clear gap; the cost does not grow with the number of candidates |
//!
//! [`top::GeneralizedHistogram`] gives the best m at once, also with a gap.
//!
//! Scores are integers: a real score is brought to a grid first, and its sensitivity counted in steps of the grid.
//! Which way neighbours move the scores is a [`ScoreChange`].

use super::piecewise::sample_group;
use crate::calibrate::{ShiftNorms, scale_for_pure};
use crate::error::{Error, Result};
use crate::event::{Event, Moves, Shift, Word};
use crate::noise::{BitSource, DiscreteLaplace, Fraction, Geometric, bernoulli, uniform};
use crate::quantity::{Beta, Epsilon, Exact, Scale};
use num_rational::BigRational;
use std::collections::BTreeMap;

pub mod obvious;
pub mod top;

pub use obvious::ObviousAnswer;

/// How one step of the data moves the scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScoreChange {
    /// Adding, removing or replacing an owner moves each score by at most 1, some up and some down.
    General,
    /// Adding an owner moves no score down and none up by more than 1 (counts do this). Replacing is two such steps.
    Monotone,
}

impl ScoreChange {
    /// How many times the score's sensitivity a difference of two scores moves.
    pub(crate) fn gap_moves(self) -> u32 {
        match self {
            Self::General => 2,
            Self::Monotone => 1,
        }
    }

    /// Owners that count as moved: one, or two where a monotone score sees an owner replaced.
    fn moves(self) -> Result<Moves> {
        let person = if self == Self::Monotone { 2.0 } else { 1.0 };
        Ok(Moves::by_scope(vec![Shift::one_cell(1.0)?], vec![Shift::one_cell(person)?], Vec::new()))
    }
}

/// The noise of a noisy maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaxNoise {
    /// Discrete Laplace.
    Laplace,
    /// One-sided geometric (the discrete exponential): less noise for the same privacy.
    Exponential,
}

/// How the best of many is chosen.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Selector {
    /// P\[j\] ∝ e^{ε·score/2} (e^{ε·score} for monotone scores): McSherry and Talwar 2007.
    Exponential(Epsilon),
    /// In random order, take a candidate with probability e^{−ε·(best − score)/2} (ε for monotone): McKenna and
    /// Sheldon 2020.
    PermuteAndFlip(Epsilon),
    /// The largest noisy score (Dwork and Roth 2014, §3.3).
    NoisyMax(Epsilon, MaxNoise),
    /// The winner if its lead is clear, else uniform: Bun, Dwork, Rothblum, Steinke 2018, algorithm 22.
    ObviousAnswer(ObviousAnswer),
}

/// A private choice among candidates.
///
/// ```
/// use scumble::mechanism::selection::{ScoreChange, Selection, Selector};
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::Epsilon;
/// let selection = Selection::new(Selector::PermuteAndFlip(Epsilon::new(1.0)?), ScoreChange::Monotone)?;
/// let votes = [3, 950, 17];
/// assert_eq!(selection.release(&votes, &mut InsecureSeededSource::new(1))?, 1);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Selection {
    selector: Selector,
    change: ScoreChange,
}

impl Selection {
    /// Refuses ε = 0, and an obvious answer that was made for another change.
    pub fn new(selector: Selector, change: ScoreChange) -> Result<Self> {
        match &selector {
            Selector::Exponential(epsilon) | Selector::PermuteAndFlip(epsilon) | Selector::NoisyMax(epsilon, _)
                if epsilon.get() == 0.0 =>
            {
                Err(Error::refused("a selection needs epsilon above 0"))
            }
            Selector::ObviousAnswer(answer) if answer.change() != change => Err(Error::refused(
                "the obvious answer was prepared for another change of the scores: prepare it again",
            )),
            _ => Ok(Self { selector, change }),
        }
    }

    /// The index of the chosen candidate.
    ///
    /// # Guarantee
    /// As accounting says of [`Selection::events`], for neighbours that move the scores as the [`ScoreChange`] says.
    pub fn release<S: BitSource + ?Sized>(&self, scores: &[i64], bits: &mut S) -> Result<usize> {
        refuse_if!(scores.is_empty(), "a selection needs at least one candidate");
        match &self.selector {
            Selector::Exponential(epsilon) => Ok(exponential(scores, &self.rate(*epsilon)?, bits)),
            Selector::PermuteAndFlip(epsilon) => permute_and_flip(scores, &self.rate(*epsilon)?, bits),
            Selector::NoisyMax(epsilon, noise) => Ok(noisy_max(scores, self.scale(*epsilon)?, *noise, bits)),
            Selector::ObviousAnswer(answer) => answer.release(scores, bits),
        }
    }

    /// ε over the moves of a gap, exactly.
    fn rate(&self, epsilon: Epsilon) -> Result<BigRational> {
        let moves = BigRational::from_integer(self.change.gap_moves().into());
        Ok(Exact::from_f64(epsilon.get())?.rational().clone() / moves)
    }

    /// The noise scale: the moves of a gap over ε.
    fn scale(&self, epsilon: Epsilon) -> Result<Scale> {
        scale_for_pure(epsilon, ShiftNorms::units(self.change.gap_moves().into()))
    }

    /// What was done.
    pub fn events(&self) -> Result<Vec<Event>> {
        match &self.selector {
            Selector::Exponential(epsilon) => {
                Ok(vec![Event::new(Word::Exponential { epsilon: *epsilon }, self.change.moves()?)])
            }
            Selector::PermuteAndFlip(epsilon) | Selector::NoisyMax(epsilon, _) => {
                Ok(vec![Event::new(Word::Pure { epsilon: *epsilon }, self.change.moves()?)])
            }
            Selector::ObviousAnswer(answer) => answer.events(),
        }
    }

    /// Without a gap: by how much the chosen score is below the best at most, except with probability β, among
    /// `candidates`. For the obvious answer: the lead that the best needs to be chosen with probability 1 − β.
    pub fn error(&self, beta: Beta, candidates: u64) -> Result<f64> {
        let ln_ratio = (candidates.max(1) as f64 / beta.get()).ln();
        match &self.selector {
            // Candidates that are off by more weigh at most k·e^{−rate·off} together (permute-and-flip is never worse).
            Selector::Exponential(epsilon) | Selector::PermuteAndFlip(epsilon) => {
                Ok(f64::from(self.change.gap_moves()) / epsilon.get() * ln_ratio)
            }
            // All noise within this except with probability β: a difference of two noisy scores is off by twice,
            // one-sided by once.
            Selector::NoisyMax(epsilon, MaxNoise::Laplace) => Ok(2.0 * self.scale(*epsilon)?.get() * ln_ratio),
            Selector::NoisyMax(epsilon, MaxNoise::Exponential) => Ok(self.scale(*epsilon)?.get() * ln_ratio),
            Selector::ObviousAnswer(answer) => answer.lead_needed(candidates, beta),
        }
    }
}

/// Candidates of the same score are one group: few distinct scores near the best decide.
fn exponential<S: BitSource + ?Sized>(scores: &[i64], rate: &BigRational, bits: &mut S) -> usize {
    let best = scores.iter().copied().max().unwrap_or(0);
    let behind = |score: i64| best.abs_diff(score);
    let mut groups: BTreeMap<u64, u64> = BTreeMap::new();
    for score in scores {
        *groups.entry(behind(*score)).or_default() += 1;
    }
    let (distance, place) = sample_group(&groups, rate, 1, bits).unwrap_or((0, 0));
    let mut same = scores.iter().enumerate().filter(|(_, score)| behind(**score) == distance);
    same.nth(place as usize).map_or(0, |(index, _)| index)
}

/// A random order, drawn as far as it is needed.
fn permute_and_flip<S: BitSource + ?Sized>(scores: &[i64], rate: &BigRational, bits: &mut S) -> Result<usize> {
    let best = scores.iter().copied().max().unwrap_or(0);
    let rate = Fraction::from_exact(&Exact::from_rational(rate.clone()))?;
    let mut order: Vec<usize> = (0..scores.len()).collect();
    for place in 0..order.len() {
        let other = place + uniform::below(bits, (order.len() - place) as u64) as usize;
        order.swap(place, other);
        let candidate = order[place];
        let exponent = rate.times(&Fraction::whole(best.abs_diff(scores[candidate])));
        if bernoulli::exp_minus(bits, &exponent) {
            return Ok(candidate);
        }
    }
    // Not reached: a best candidate is always taken.
    Ok(order[0])
}

/// The first of the largest noisy scores. Any tie rule that does not look at the data is private: for a fixed noise of
/// the others candidate j wins from some value of its own noise on, and that value moves by at most the moves of a gap.
fn noisy_max<S: BitSource + ?Sized>(scores: &[i64], scale: Scale, noise: MaxNoise, bits: &mut S) -> usize {
    let (laplace, geometric) = (DiscreteLaplace::new(scale), Geometric::new(scale));
    let mut best: Option<(i128, usize)> = None;
    for (index, score) in scores.iter().enumerate() {
        let drawn = match noise {
            MaxNoise::Laplace => laplace.sample(bits),
            MaxNoise::Exponential => geometric.sample(bits),
        };
        let noisy = i128::from(*score) + i128::from(drawn);
        if best.is_none_or(|(largest, _)| noisy > largest) {
            best = Some((noisy, index));
        }
    }
    best.map_or(0, |(_, index)| index)
}

#[cfg(test)]
mod tests;
