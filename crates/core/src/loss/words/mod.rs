//! What accounting knows of each word, a file for each, and one line here.
//!
//! A new word: in `event::vocabulary` its variant and its row (name, parameters and their quantities, a sentence), a
//! file here that says which law a move makes it follow and what a filter charges, and two lines here, its `mod` and
//! one in [`of`]. A law that no other word has is a [`LossShape`](super::shape::Shape) in the same file: its pure
//! bound, its Rényi curve, its dominating pair. The JSON form and the Python class are made from the row;
//! `docs/reference/events.md` is compared with it.

use super::filter::price::Price;
use super::law::Law;
use crate::error::{Error, Result};
use crate::event::{Shift, Word};

mod approximate;
mod discrete_gaussian;
mod discrete_laplace;
mod exponential;
mod gaussian;
pub(crate) mod heavy_hitters;
mod laplace;
pub(crate) mod new_keys;
mod pair;
pub(crate) mod parity;
mod pure;
mod randomized_response;
mod sinh_normal;
pub(crate) mod smooth_noise;
mod tcdp;
mod zcdp;

/// One word with its parameters.
pub(crate) trait Accounting {
    /// The law of what moves by `by`.
    fn law(&self, by: f64) -> Result<Law>;

    /// The law of what each of this many owners moves by `by`, where that is not the law of one who moves the product.
    fn law_of_group(&self, _by: f64, _owners: u64) -> Option<Result<Law>> {
        None
    }

    /// Whether that law is worse than what several owners, or smaller moves, can really do: then nothing is known from
    /// below.
    fn covers(&self, _by: f64) -> bool {
        false
    }

    /// What a filter charges when `members` owners make the given move at once.
    fn price(&self, shift: &Shift, members: u32) -> Result<Price>;

    /// The noise on numbers that are published only where they reach a threshold.
    fn noise(&self) -> Option<&Word> {
        None
    }

    /// With which probability something shows that only one of two neighbours has, `owners` apart, where a number moves
    /// by `by`.
    fn shown(&self, _by: f64, _owners: u32) -> f64 {
        0.0
    }
}

/// The registry.
pub(crate) fn of(word: &Word) -> Box<dyn Accounting + '_> {
    match word {
        Word::Gaussian { sigma } => Box::new(gaussian::GaussianLoss(*sigma)),
        Word::DiscreteGaussian { sigma } => Box::new(discrete_gaussian::DiscreteGaussianLoss(*sigma)),
        Word::Laplace { scale } => Box::new(laplace::LaplaceLoss(*scale)),
        Word::DiscreteLaplace { scale } => Box::new(discrete_laplace::DiscreteLaplaceLoss(*scale)),
        Word::SinhNormal { sigma, a } => Box::new(sinh_normal::SinhNormalLoss(*sigma, *a)),
        Word::RandomizedResponse { epsilon, values } => {
            Box::new(randomized_response::RandomizedResponseLoss(*epsilon, *values))
        }
        Word::Exponential { epsilon } => Box::new(exponential::ExponentialLoss(*epsilon)),
        Word::Pure { epsilon } => Box::new(pure::PureLoss(*epsilon)),
        Word::Approximate { epsilon, delta } => Box::new(approximate::ApproximateLoss(*epsilon, *delta)),
        Word::Zcdp { rho } => Box::new(zcdp::ZcdpLoss(*rho)),
        Word::Tcdp { rho, omega } => Box::new(tcdp::TcdpLoss(*rho, *omega)),
        Word::HeavyHitters { scale, path } => Box::new(heavy_hitters::HeavyHittersLoss(*scale, *path)),
        Word::NewKeys(keys) => Box::new(new_keys::NewKeysLoss(keys)),
        Word::Parity(parity) => Box::new(parity::ParityLoss(parity)),
        Word::SmoothNoise(noise) => Box::new(smooth_noise::SmoothNoiseLoss(noise)),
        Word::Pair(pair) => Box::new(pair::PairLoss(pair)),
    }
}

/// How many owners a move of `by` stands for, where noise is not added to a number.
fn owners(word: &str, by: f64) -> Result<f64> {
    refuse_if!(by > 1e6, "a move of {by} counts as so many owners for a {word} event: it must be at most 1000000");
    Ok(by.ceil().max(1.0))
}

/// Whole answers move by whole steps: one cell's bound of 1.5 is a bound of 1 (those of several cells are whole
/// before).
fn steps(word: &str, by: f64) -> Result<u64> {
    refuse_if!(by > 1e9, "a {word} event moves by at most 1e9 steps, not {by}");
    Ok(by.floor() as u64)
}

/// For a word that has no exact cost.
fn no_rule(word: &str) -> Error {
    Error::refused(format!(
        "a filter has no rule for a {word} event: account for it as pure, zcdp, tcdp or approximate"
    ))
}
