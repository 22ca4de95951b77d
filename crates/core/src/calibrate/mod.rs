//! From a privacy target to noise: one search, one rounding, towards privacy.
//!
//! - [`Target`] is the privacy that is requested, in one of four notions.
//! - The closed forms Δ/ε, Δ/√(2ρ) and their kin ([`scale_for_pure`], [`sigma_for_zcdp`], [`epsilon_for_pure`],
//!   [`range_for_zcdp`], [`pure_for_zcdp`]) give the least f64 whose cost, in exact arithmetic, is at most the target.
//! - [`calibrate`] searches for the noise, the rate or the number of runs of any [`Event`](crate::event::Event) on
//!   certified upper bounds of its loss.
//! - [`least_maximum_error`] chooses between sinh-normal and Gaussian noise.
//! - [`share_of`] cuts a budget into parts on the grid of the ledger; [`largest_rho`] is the ρ that an (ε, δ) has room
//!   for.
//! - [`least`], [`largest`] and [`halve`] are the searches themselves, [`up`] the slack of costs that are computed in
//!   f64.
//!
//! # Guarantee
//! The cost of the result, as accounting computes it, is at most the target. Nothing here is rounded to the nearest.
//!
//! ```
//! use scumble::calibrate::{scale_for_pure, sigma_for_zcdp};
//! use scumble::quantity::{Epsilon, Rho, Sensitivity};
//! let one = Sensitivity::new(1.0)?;
//! // 0.1 is an f64 a little above a tenth: a scale of 10 is enough, and no f64 below 10 is.
//! assert_eq!(scale_for_pure(Epsilon::new(0.1)?, one)?.get(), 10.0);
//! assert_eq!(sigma_for_zcdp(Rho::new(0.5)?, one)?.get(), 1.0);
//! # Ok::<(), scumble::Error>(())
//! ```

mod closed;
mod event;
mod search;
mod sinh_normal;
mod target;

pub use closed::{
    ShiftNorms, epsilon_for_pure, epsilon_of_laplace, largest_rho, pure_for_zcdp, range_for_zcdp, rho_of_gaussian,
    scale_for_pure, scale_for_zcdp, share_of, short_scale, sigma_for_zcdp,
};
pub use event::{FreeParameter, calibrate};
pub use search::{StopRule, down, halve, largest, least, up};
pub(crate) use sinh_normal::normal_tail_quantile;
pub use sinh_normal::{LeastErrorNoise, least_maximum_error};
pub use target::Target;

#[cfg(test)]
mod tests;
