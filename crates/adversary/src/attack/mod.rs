//! The attacks that privacy stops: what somebody can do with published numbers alone.
//!
//! Nothing here sees a private table. Reconstruction ([`exhaustive`], [`linear`], [`min_max`], [`least_squares`]) takes
//! counts of known groups of people and gives the secret column back; tracing ([`boneh_shaw`], [`tardos`]) and
//! [`membership`] take published means and say whose data is in them; [`coin`] guesses one value under the noise of
//! given events. With the truth beside it,
//! [`recovered`] says what was recovered, what the best constant guess recovers, and what an (ε, δ) guarantee leaves to
//! anybody.
//!
//! ```
//! use scumble_adversary::attack::{Queries, exhaustive, recovered};
//! // Who is counted by which query, and the exact counts of a secret column 1, 0, 1.
//! let queries = Queries::new(3, vec![vec![0, 1], vec![1, 2], vec![0, 2]])?;
//! let found = exhaustive::reconstruct(&queries, &[1.0, 1.0, 2.0])?;
//! assert_eq!(found.columns, [0b101]);
//! let score = recovered(&[true, false, true], &[true, false, true])?;
//! assert_eq!((score.right, score.constant_guess), (3, 2));
//! # Ok::<(), scumble::Error>(())
//! ```

pub mod boneh_shaw;
mod chernoff;
pub mod coin;
pub mod exhaustive;
pub mod least_squares;
pub mod linear;
pub mod membership;
pub mod min_max;
mod programme;
mod queries;
pub mod tardos;

pub use queries::Queries;

use scumble::error::{Error, Result};

/// How much of a secret column was recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// Of how many people.
    pub people: usize,
    /// How many values are right.
    pub right: usize,
    /// How many are right if everybody is guessed to have the more frequent value.
    pub constant_guess: usize,
}

/// Compares a reconstruction with the truth. (The ceiling of an (ε, δ) guarantee for a uniform column is
/// [`crate::limits::neighbours::success_at_most`].)
pub fn recovered(found: &[bool], truth: &[bool]) -> Result<Recovery> {
    if found.len() != truth.len() {
        let (people, given) = (found.len(), truth.len());
        refuse!("the truth has {given} values for {people} people");
    }
    let right = found.iter().zip(truth).filter(|(found, truth)| found == truth).count();
    let ones = truth.iter().filter(|value| **value).count();
    Ok(Recovery { people: truth.len(), right, constant_guess: ones.max(truth.len() - ones) })
}

/// Farther from 0 than any count, and still with squares that can be added up.
const MOST_ANSWER: f64 = 1e15;

/// Published numbers: as many as there are queries, all finite.
pub(crate) fn check_answers(queries: &Queries, answers: &[f64]) -> Result<()> {
    if answers.len() != queries.count() {
        let (given, asked) = (answers.len(), queries.count());
        refuse!("there are {given} answers to {asked} queries");
    }
    if let Some(at) = answers.iter().position(|answer| !answer.is_finite()) {
        refuse!("answer {} of {} is {}, not a finite number", at + 1, answers.len(), answers[at]);
    }
    match answers.iter().position(|answer| answer.abs() > MOST_ANSWER) {
        Some(at) => Err(Error::refused(format!(
            "answer {} of {} is {:e}, and counts are at most {MOST_ANSWER:e}: leave out the answer and its query",
            at + 1,
            answers.len(),
            answers[at]
        ))),
        None => Ok(()),
    }
}

/// A column of 0 and 1 from estimates: rounded at ½.
pub(crate) fn rounded(estimate: &[f64]) -> Vec<bool> {
    estimate.iter().map(|value| *value > 0.5).collect()
}
