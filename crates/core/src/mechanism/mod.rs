//! How answers are made private: one file per mechanism.
//!
//! # The contract
//! Every mechanism has checked parameters (a constructor that can refuse) and then, in this order:
//! - `release(data, bits)`: the answer, drawn exactly; randomness is an argument;
//! - `events()`: what a release did, as a list for [`Loss::of`](crate::loss::Loss::of) and for the ledger, whatever the
//!   data was (where a guarantee is per attribute, `events` takes the attributes' names);
//! - `error(β)`, or `error(β, n)` where it depends on a public number n: the error to plan with, which is exceeded with
//!   probability at most β. Where what is published is a choice, and nothing is off, `published_from(β)` or
//!   `owners_needed(β)` says from where on it is the right one.
//!
//! `new` takes noise and quantities, `within` chooses the noise: what may be spent comes first (the first page of this
//! crate). A function that touches privacy has a `# Guarantee`: what must be true before, and what is true after.
//!
//! ```
//! use scumble::quantity::{beta, delta, epsilon};
//! use scumble::noise::InsecureSeededSource;
//! use scumble::{Additive, Loss, Scope, Target};
//! let histogram = Additive::histogram().within(Target::pure(epsilon(1.0)?), Scope::Person)?;
//! let published = histogram.release(&[12, 0, 31], &mut InsecureSeededSource::new(1));
//! let loss = Loss::of(histogram.events()?, Scope::Person)?;
//! let off = histogram.error(beta(0.05)?)?;
//! assert!(published.len() == 3 && loss.epsilon(delta(0.0)?).upper <= 1.0 + 1e-9 && off < 8.0);
//! # Ok::<(), scumble::Error>(())
//! ```

pub mod additive;
pub mod anonymized_histogram;
pub mod bounded_sensitivity;
pub mod cdf;
pub mod heavy_hitters;
pub mod histogram;
pub mod huge_domain;
pub mod interior_point;
pub mod k_norm;
pub mod piecewise;
pub mod plan;
pub mod propose_test_release;
pub mod quantile;
pub mod randomized_response;
pub mod selection;
pub mod smooth;
pub mod sparse_vector;
pub mod stability;
pub mod stable_value;
pub mod triangles;
