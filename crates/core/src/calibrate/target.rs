//! The targets of calibration: an amount of privacy in one of four notions.

use super::{ShiftNorms, epsilon_for_pure, range_for_zcdp};
use crate::error::{Error, Result};
use crate::quantity::{Delta, Epsilon, Omega, Rho};
use crate::scope::Scope;
use std::fmt;

/// The privacy that something must have, in one of four notions.
///
/// ```
/// use scumble::quantity::{delta, epsilon, rho};
/// use scumble::calibrate::Target;
/// assert_eq!(Target::pure(epsilon(0.5)?).to_string(), "epsilon 0.5");
/// assert_eq!(Target::approximate(epsilon(1.0)?, delta(1e-6)?).to_string(), "epsilon 1 at delta 1e-6");
/// assert!(rho(-1.0).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Target {
    /// ε.
    Pure(Epsilon),
    /// (ε, δ).
    Approximate(Epsilon, Delta),
    /// ρ-zCDP.
    Concentrated(Rho),
    /// (ρ, ω)-tCDP.
    Truncated(Rho, Omega),
}

impl Target {
    /// ε-differential privacy.
    pub fn pure(epsilon: Epsilon) -> Self {
        Self::Pure(epsilon)
    }

    /// (ε, δ)-differential privacy.
    pub fn approximate(epsilon: Epsilon, delta: Delta) -> Self {
        Self::Approximate(epsilon, delta)
    }

    /// ρ-zero-concentrated differential privacy.
    pub fn zcdp(rho: Rho) -> Self {
        Self::Concentrated(rho)
    }

    /// (ρ, ω)-truncated concentrated differential privacy.
    pub fn tcdp(rho: Rho, omega: Omega) -> Self {
        Self::Truncated(rho, omega)
    }
}

/// What a mechanism can make of a target that is stated in another notion than its own.
impl Target {
    /// (ε, δ), for a mechanism whose event is one.
    pub(crate) fn with_delta(self, what: &str) -> Result<(Epsilon, Delta)> {
        match self {
            Self::Approximate(epsilon, delta) => Ok((epsilon, delta)),
            _ => Err(Error::refused(format!("{what} needs an (epsilon, delta), not {self}: use Target::approximate"))),
        }
    }

    /// (ρ, ω), for a mechanism that is as far from every owner who is replaced, comes or goes.
    pub(crate) fn truncated(self, scope: &Scope, what: &str) -> Result<(Rho, Omega)> {
        match (self, scope) {
            (Self::Truncated(rho, omega), Scope::Presence | Scope::Person) => Ok((rho, omega)),
            (Self::Truncated(..), _) => {
                Err(Error::refused(format!("{what} is for presence or person, not for {scope}")))
            }
            _ => Err(Error::refused(format!("{what} needs a rho and an omega, not {self}: use Target::tcdp"))),
        }
    }

    /// The range of the privacy loss of an exponential mechanism that is run where `moved` says.
    pub(crate) fn range(self, moved: ShiftNorms) -> Result<Epsilon> {
        match self {
            Self::Pure(epsilon) | Self::Approximate(epsilon, _) => epsilon_for_pure(epsilon, moved),
            Self::Concentrated(rho) | Self::Truncated(rho, _) => range_for_zcdp(rho, moved),
        }
    }

    /// ε, for a mechanism that is pure.
    pub(crate) fn without_delta(self, what: &str) -> Result<Epsilon> {
        match self {
            Self::Pure(epsilon) | Self::Approximate(epsilon, _) => Ok(epsilon),
            _ => Err(Error::refused(format!("{what} needs an epsilon, not {self}: use Target::pure"))),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pure(epsilon) => write!(f, "epsilon {epsilon}"),
            Self::Approximate(epsilon, delta) => write!(f, "epsilon {epsilon} at delta {delta}"),
            Self::Concentrated(rho) => write!(f, "rho {rho}"),
            Self::Truncated(rho, omega) => write!(f, "rho {rho} up to omega {omega}"),
        }
    }
}
