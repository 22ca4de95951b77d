//! The shared test harness for mechanisms: exact output distributions against all neighbours of a tiny universe.
//!
//! A mechanism under test yields its exact output [`Distribution`] for every dataset of a tiny universe; [`neighbours`]
//! lists every pair of datasets that a scope calls neighbours; [`check`] computes D_∞, δ(ε) and D_α over all of them,
//! in both directions, and fails if a [`Claim`] is below the truth (unsound), or above it by more than the slack that
//! the test states (loose). Only tests see this module.

mod check;
mod distribution;
pub mod example_table;
pub mod neighbours;
pub mod statistics;

/// How much a test does: `few` by default, so that the tests pass in minutes; `many` where `SCUMBLE_THOROUGH` is set,
/// as in `.ci/run --thorough`.
pub fn effort<T>(few: T, many: T) -> T {
    if std::env::var_os("SCUMBLE_THOROUGH").is_some() { many } else { few }
}

pub use check::{Claim, Slack, check};
pub use distribution::{Distribution, ProbabilityInterval};
