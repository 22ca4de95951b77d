//! Exact integer noise: one file per distribution, and the source of random bits.
//!
//! Two promises: the distribution is *exactly* the one that the accountant was given, and drawing it is fast enough
//! never to matter. Randomness is always an argument ([`BitSource`]).
//!
//! ```
//! use scumble::noise::{DiscreteGaussian, SecureSource};
//! use scumble::quantity::Sigma;
//! let mut bits = SecureSource::new()?;
//! let noise = DiscreteGaussian::new(Sigma::new(10.0)?);
//! let noisy_count: i64 = noise.add_to(1234, &mut bits);
//! let mut many = vec![0; 1000];
//! noise.fill(&mut bits, &mut many);
//! # let _ = noisy_count;
//! # Ok::<(), scumble::Error>(())
//! ```
//!
//! A parameter is the rational number that its f64 denotes. Answers should be noised with `add_to`: it gives
//! `value + noise`, brought into the range of an i64 only after the sum, and so never differs from a post-processed
//! exact sum. `sample` and `fill` give the noise alone, brought into the range of an i64.
//!
//! The number of random bits that are used, and hence the time, depends on the noise that comes out; it never depends
//! on data, because no data enters here. Somebody who can time a single draw learns something about its noise.

pub mod bernoulli;
mod binomial;
mod blocks;
pub(crate) mod cauchy4;
mod certified;
mod discrete_gaussian;
mod discrete_laplace;
mod fixed_point;
mod fraction;
mod geometric;
mod k_norm;
mod levels;
mod negative_binomial;
pub mod permutation;
mod prepared;
pub mod race;
mod record;
pub(crate) mod refine;
mod secure_source;
pub mod sinh_normal;
mod source;
pub mod subset;
#[doc(hidden)]
pub mod tape;
mod truncated_discrete_laplace;
pub mod uniform;

pub use binomial::Binomial;
pub use cauchy4::Cauchy4;
pub use discrete_gaussian::DiscreteGaussian;
pub use discrete_laplace::DiscreteLaplace;
pub use fraction::Fraction;
pub use geometric::Geometric;
pub use k_norm::KNorm;
pub use levels::Levels;
pub use negative_binomial::NegativeBinomial;
pub use secure_source::SecureSource;
pub use sinh_normal::SinhNormal;
pub use source::{BitSource, InsecureSeededSource};
pub use truncated_discrete_laplace::TruncatedDiscreteLaplace;

/// The nearest i64: noise beyond the range of an i64 is brought to its end.
fn into_i64(wide: i128) -> i64 {
    wide.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// `value + noise`, brought into the range of an i64 after the sum.
///
/// # Guarantee
/// `noise` may itself have been brought into the range of an i128: |value| < 2^64, so that both ways end at the same
/// i64, and the result is a function of the exact sum alone.
fn add(value: i64, noise: i128) -> i64 {
    into_i64(noise.saturating_add(value.into()))
}

#[cfg(test)]
mod test_shapes;
#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
