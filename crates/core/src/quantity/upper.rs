//! A bound that carries its direction.

use std::cmp::Ordering;
use std::fmt;

/// A certified upper bound of a cost: the truth is not above it. It may be infinite and is never NaN.
///
/// ```
/// use scumble::calibrate::rho_of_gaussian;
/// use scumble::quantity::{Rho, Sensitivity, sigma};
/// let cost = rho_of_gaussian(sigma(2.0)?, Sensitivity::ONE);
/// assert!(cost <= 0.125 && cost.to_string() == "0.125");
/// assert_eq!(Rho::new(cost.get())?.get(), 0.125);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Upper(f64);

impl Upper {
    /// Of a number that is not below the truth. What could not be computed bounds nothing: NaN becomes infinite.
    pub(crate) fn of(value: f64) -> Self {
        Self(if value.is_nan() { f64::INFINITY } else { value })
    }

    /// The number itself.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The larger one, which bounds what both bound.
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}

impl PartialEq<f64> for Upper {
    fn eq(&self, other: &f64) -> bool {
        self.0 == *other
    }
}

impl PartialOrd<f64> for Upper {
    fn partial_cmp(&self, other: &f64) -> Option<Ordering> {
        self.0.partial_cmp(other)
    }
}

impl fmt::Display for Upper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
