//! Private learners: with a guarantee for each attribute points, thresholds and distributions on top of heavy hitters,
//! and robust halfspaces; any finite class ([`generic`]); parities ([`parity`]); and what learns from statistical
//! queries alone ([`query`]: conjunctions, thresholds, points), with a curator or without one.

pub mod asked;
pub mod conjunction;
pub mod distribution;
mod example;
pub mod generic;
pub mod halfspace;
pub mod parity;
pub mod point;
pub mod query;
pub mod threshold;

pub use example::Example;

use crate::noise::tape::{self, Announcement};
use crate::noise::{BitSource, Fraction, bernoulli, uniform};

/// A candidate with probability exactly ∝ e^{coefficient·score}: a uniform candidate, kept with probability
/// e^{−coefficient·(U − score)}.
///
/// # Guarantee
/// If a neighbour moves every score by at most 1 the choice is (2·coefficient)-private. How long it takes depends on
/// the scores: time is not part of the guarantee.
pub(crate) fn exponential_choice<S: BitSource + ?Sized>(scores: &[i64], coefficient: &Fraction, bits: &mut S) -> usize {
    let best = scores.iter().copied().max().unwrap_or(0);
    let said =
        || Announcement::scores(coefficient.to_f64(), (0u128..).zip(scores.iter().map(|score| -i128::from(*score))));
    tape::through(bits, said, |bits| {
        loop {
            let candidate = uniform::below(bits, scores.len() as u64) as usize;
            let gap = Fraction::whole(best.abs_diff(scores[candidate]));
            if bernoulli::exp_minus(bits, &coefficient.times(&gap)) {
                return candidate;
            }
        }
    })
}
