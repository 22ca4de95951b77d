//! Differential privacy with exact noise and certified accounting: the mathematics of Scumble.
//!
//! No files, no network, no clock: randomness is an argument. See the modules in the order of the architecture:
//! [`quantity`] (checked numbers), [`noise`] (exact integer noise), [`mechanism`] (how an answer is made private),
//! [`event`] and [`scope`] (what was done, who is protected), [`loss`] (what it costs).

pub mod attacker;
pub mod calibrate;
pub mod error;
pub mod event;
pub mod learn;
pub mod limits;
pub mod loss;
pub mod mechanism;
pub mod noise;
pub mod quantity;
pub mod scope;
pub mod workload;

#[cfg(any(test, feature = "harness"))]
pub mod harness;

pub use error::{Error, Result};
