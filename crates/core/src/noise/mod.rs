//! Exact integer noise: one file per distribution, and the source of random bits.
//!
//! Two promises: the distribution is *exactly* the one that the accountant was told, and drawing it is fast enough never to
//! matter. Randomness is always an argument ([`BitSource`]).

pub mod sinh_normal;
mod source;

pub use sinh_normal::SinhNormal;
pub use source::{BitSource, InsecureSeededSource, SecureSource};
