//! What outputs prove: lower bounds of ε, and claims that cannot be true.
//!
//! A mechanism is a black box here. Somebody runs it many times on two neighbouring tables (or once, on a table with
//! canaries) and counts. Nothing in this module proves privacy; it proves, at confidence 1 − β and whatever the
//! mechanism is, that it is *not* more private than some number. The scope of such a statement is the scope of the pair
//! of tables.
//!
//! ```
//! use scumble_adversary::audit::{Claim, Counts};
//! use scumble::quantity::{Beta, Delta, Epsilon};
//! // An event that was seen in 731 of 1000 runs on one table, and in 269 of 1000 on its neighbour.
//! let seen = Counts::new(731, 1000, 269, 1000)?.confidence(Beta::new(0.05)?)?;
//! let proven = seen.epsilon_lower(Delta::new(0.0)?);
//! assert!(proven > 0.858 && proven < 0.859);
//! let claim = Claim::Approximate { epsilon: Epsilon::new(0.5)?, delta: Delta::new(0.0)? };
//! assert!(claim.is_refuted_by(&seen));
//! # Ok::<(), scumble::Error>(())
//! ```
//!
//! [`Counts`] is one event that was fixed before the runs; [`compare`] finds an event in a part of the outputs and
//! tests it on the rest; [`one_run`] is for mechanisms that can be run only once. [`Claim`] is what is tested: an ε, or
//! a whole curve δ(ε), which catches a wrong σ long before the ε at a small δ does.

mod binomial;
mod claim;
mod counts;
mod normal;
pub mod one_run;
mod outputs;
mod score;

pub use claim::{Claim, ClaimedCurve};
pub use counts::{ConfidenceBounds, Counts, dkw_half_width};
pub use outputs::{Comparison, LEAST_OUTPUTS, compare};
pub use score::{Distinguisher, Outputs};
