//! The other side of differential privacy: what somebody learns who is not the curator.
//!
//! - [`attacker`]: what attackers who know less than everything learn from events, under stated assumptions.
//! - [`attack`]: what published numbers alone give away.
//! - [`audit`]: what outputs prove against a claim. It proves lower bounds and never says "private".
//! - [`limits`]: errors that no mechanism can beat, with explicit constants.
//!
//! All of it reads events and published numbers, never private rows, through the public doors of `scumble`; nothing
//! here weakens what [`scumble::Loss`] says, and no mechanism uses it.

#[macro_use(named, refuse, refuse_if)]
extern crate scumble;

pub mod attack;
pub mod attacker;
pub mod audit;
pub mod limits;

/// How much a test does: more where `SCUMBLE_THOROUGH` is set, as in `.ci/run --thorough`.
#[cfg(test)]
fn effort<T>(few: T, many: T) -> T {
    if std::env::var_os("SCUMBLE_THOROUGH").is_some() { many } else { few }
}
