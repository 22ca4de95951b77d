//! The checked quantities: every number that a user can give has its name, its range and its message in one table.
//!
//! A value of one of these types cannot hold nonsense: NaN, −0.0, infinities and numbers outside of the range are
//! refused by the constructor, so that no function behind it has to look again. Parse at the edge, once.
//!
//! ```
//! use scumble::quantity::{Delta, Epsilon, epsilon};
//! assert_eq!(epsilon(0.5)?.get(), 0.5);
//! assert_eq!(epsilon(0.5)?, Epsilon::new(0.5)?);
//! assert_eq!("1e-9".parse::<Delta>()?.get(), 1e-9);
//! assert!(Epsilon::new(f64::NAN).is_err());
//! assert!(Delta::new(-0.0).is_err());
//! # Ok::<(), scumble::Error>(())
//! ```
//!
//! What is computed of such numbers carries its direction: an [`Upper`] is never below the truth.
//!
//! Budgets are added and compared exactly: [`Exact`] is the rational number that a decimal text looks like, and
//! `0.1 + 0.2` is `0.3` there.

use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

mod exact;
mod rounding;
mod upper;
pub use exact::Exact;
pub use rounding::{rounded_down, rounded_up};
pub use upper::Upper;

/// The range of a quantity: an interval whose ends may be open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantityRange {
    /// The lower end.
    pub lower: f64,
    /// Whether the lower end itself is allowed.
    pub lower_included: bool,
    /// The upper end, perhaps infinite.
    pub upper: f64,
    /// Whether the upper end itself is allowed.
    pub upper_included: bool,
}

impl QuantityRange {
    /// Whether `value` may be held. NaN, infinities and −0.0 never may.
    ///
    /// ```
    /// use scumble::quantity::Epsilon;
    /// assert!(Epsilon::RANGE.contains(0.0));
    /// assert!(!Epsilon::RANGE.contains(-0.0));
    /// ```
    pub fn contains(&self, value: f64) -> bool {
        let above = if self.lower_included { value >= self.lower } else { value > self.lower };
        let below = if self.upper_included { value <= self.upper } else { value < self.upper };
        let negative_zero = value == 0.0 && value.is_sign_negative();
        value.is_finite() && above && below && !negative_zero
    }
}

impl fmt::Display for QuantityRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = if self.lower_included { '[' } else { '(' };
        let close = if self.upper_included { ']' } else { ')' };
        write!(f, "{open}{}, {}{close}", end(self.lower), end(self.upper))
    }
}

fn end(value: f64) -> String {
    if value == f64::INFINITY {
        return "∞".to_string();
    }
    let plain = format!("{value}");
    let scientific = format!("{value:e}");
    if scientific.len() < plain.len() { scientific } else { plain }
}

/// The name and range of one quantity, for front ends and for generators of property tests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantityEntry {
    /// The name in code, files and flags.
    pub name: &'static str,
    /// What may be held.
    pub range: QuantityRange,
}

macro_rules! quantities {
    ($($(#[doc = $doc:literal])+ $type:ident $helper:ident $range:tt $close:tt;)+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
            pub struct $type(f64);

            impl $type {
                /// The name in code, files and flags.
                pub const NAME: &'static str = stringify!($helper);
                /// What this quantity may be.
                pub const RANGE: QuantityRange = quantities!(@range $range $close);

                /// Checks `value` against the range. Where numbers are written down, the function of this quantity's
                /// name is shorter.
                pub fn new(value: f64) -> Result<Self> {
                    if Self::RANGE.contains(value) {
                        Ok(Self(value))
                    } else {
                        Err(refusal(Self::NAME, &Self::RANGE, shown(value)))
                    }
                }

                /// The number itself.
                pub fn get(self) -> f64 {
                    self.0
                }
            }

            $(#[doc = $doc])+
            pub fn $helper(value: f64) -> Result<$type> {
                $type::new(value)
            }

            impl TryFrom<f64> for $type {
                type Error = Error;
                fn try_from(value: f64) -> Result<Self> {
                    Self::new(value)
                }
            }

            impl From<$type> for Exact {
                fn from(value: $type) -> Self {
                    Self::of_finite(value.0)
                }
            }

            impl FromStr for $type {
                type Err = Error;
                fn from_str(text: &str) -> Result<Self> {
                    match text.trim().parse::<f64>() {
                        Ok(value) if Self::RANGE.contains(value) => Ok(Self(value)),
                        _ => Err(refusal(Self::NAME, &Self::RANGE, text.trim().to_string())),
                    }
                }
            }

            impl fmt::Display for $type {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(&shown(self.0))
                }
            }
        )+

        /// Every quantity of the table, in its order.
        pub const TABLE: &[QuantityEntry] = &[$(QuantityEntry { name: $type::NAME, range: $type::RANGE }),+];
    };
    (@range ($lower:expr, $upper:expr) closed) => {
        QuantityRange { lower: $lower, lower_included: true, upper: $upper, upper_included: true }
    };
    (@range ($lower:expr, $upper:expr) half) => {
        QuantityRange { lower: $lower, lower_included: true, upper: $upper, upper_included: false }
    };
    (@range ($lower:expr, $upper:expr) open) => {
        QuantityRange { lower: $lower, lower_included: false, upper: $upper, upper_included: false }
    };
}

quantities! {
    /// ε: a bound on the privacy loss.
    Epsilon epsilon (0.0, f64::INFINITY) half;
    /// δ: the mass that ε does not bound.
    Delta delta (0.0, 1.0) closed;
    /// ρ: the slope of a concentrated bound, D_α ≤ ρα.
    Rho rho (0.0, f64::INFINITY) half;
    /// ω: up to which order a truncated concentrated bound holds.
    Omega omega (1.0, f64::INFINITY) open;
    /// α: the order of a Rényi divergence.
    Order order (1.0, f64::INFINITY) open;
    /// σ: the parameter of a (discrete) Gaussian; its standard deviation except for discretisation.
    Sigma sigma (1e-9, 1e18) closed;
    /// The scale of a (discrete) Laplace: P\[z\] ∝ e^{−|z|/scale}.
    Scale scale (1e-9, 1e18) closed;
    /// How far one step of the data moves an answer.
    Sensitivity sensitivity (0.0, f64::INFINITY) half;
    /// The fraction of owners that a sample holds.
    Rate rate (0.0, 1.0) closed;
    /// A probability.
    Probability probability (0.0, 1.0) closed;
    /// β: the probability that a stated error is exceeded.
    Beta beta (0.0, 1.0) open;
}

impl Sensitivity {
    /// By 1.
    pub const ONE: Self = Self(1.0);

    /// The whole number that is next and not above.
    pub(crate) fn rounded_down(self) -> Self {
        Self(self.0.floor())
    }

    /// The whole number that is next and not below.
    pub(crate) fn rounded_up(self) -> Self {
        Self(self.0.ceil())
    }
}

impl Scale {
    /// The σ of Gaussian noise of this scale: both have the same range.
    pub(crate) fn as_sigma(self) -> Sigma {
        Sigma(self.0)
    }
}

fn shown(value: f64) -> String {
    end(value)
}

fn refusal(quantity: &'static str, range: &QuantityRange, value: String) -> Error {
    Error::out_of_range(quantity, &range.to_string(), &value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_quantity_refuses_what_is_not_a_number() {
        for entry in TABLE {
            for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, -1.0, -f64::MIN_POSITIVE] {
                assert!(!entry.range.contains(value), "{} accepts {value}", entry.name);
            }
        }
    }

    #[test]
    fn a_refusal_names_the_quantity_the_value_and_the_range() {
        let check = |result: Result<f64>, sentence: &str| assert_eq!(result.unwrap_err().to_string(), sentence);
        check(Epsilon::new(-1.0).map(Epsilon::get), "epsilon must be a number in [0, ∞), not -1");
        check(Epsilon::new(f64::NAN).map(Epsilon::get), "epsilon must be a number in [0, ∞), not NaN");
        check(Delta::new(1.5).map(Delta::get), "delta must be a number in [0, 1], not 1.5");
        check(Delta::new(-0.0).map(Delta::get), "delta must be a number in [0, 1], not -0");
        check(Omega::new(1.0).map(Omega::get), "omega must be a number in (1, ∞), not 1");
        check("1e400".parse().map(Sigma::get), "sigma must be a number in [1e-9, 1e18], not 1e400");
        check("ten".parse().map(Scale::get), "scale must be a number in [1e-9, 1e18], not ten");
    }

    proptest! {
        #[test]
        fn what_is_held_is_what_was_given_and_in_range(value in proptest::num::f64::ANY) {
            for entry in TABLE {
                let inside = entry.range.contains(value);
                prop_assert_eq!(inside, value.is_finite() && inside);
            }
            if let Ok(held) = Rate::new(value) {
                prop_assert_eq!(held.get().to_bits(), value.to_bits());
                prop_assert_eq!(held.to_string().parse::<Rate>().unwrap(), held);
            }
        }
    }
}
