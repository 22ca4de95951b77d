//! Non-negative rationals: the parameters of every sampler, exactly.

use crate::error::{Error, Result};
use crate::quantity::Exact;
use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::{One, ToPrimitive, Zero};

/// A non-negative rational number in lowest terms.
///
/// ```
/// use scumble::noise::Fraction;
/// let tenth = Fraction::from_f64(0.1)?; // the rational that the f64 denotes, not 1/10
/// assert_ne!(tenth, Fraction::new(1u32, 10u32)?);
/// assert!(Fraction::new(1u32, 0u32).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fraction {
    numerator: BigUint,
    denominator: BigUint,
}

impl Fraction {
    /// `numerator / denominator`; a denominator of zero is refused.
    pub fn new(numerator: impl Into<BigUint>, denominator: impl Into<BigUint>) -> Result<Self> {
        let (numerator, denominator) = (numerator.into(), denominator.into());
        refuse_if!(denominator.is_zero(), "a fraction needs a denominator above zero");
        Ok(Self::reduced(numerator, denominator))
    }

    /// The rational that a finite, non-negative f64 denotes.
    pub fn from_f64(value: f64) -> Result<Self> {
        refuse_if!(!value.is_finite() || value < 0.0, "{value} is not a finite number that is at least zero");
        Ok(Self::of_checked(value))
    }

    /// The rational that a budget or another exact number is; a negative one is refused.
    pub fn from_exact(value: &Exact) -> Result<Self> {
        let rational = value.rational();
        match (rational.numer().to_biguint(), rational.denom().to_biguint()) {
            (Some(numerator), Some(denominator)) => Ok(Self { numerator, denominator }),
            _ => Err(Error::refused(format!("{value} is below zero"))),
        }
    }

    /// The rational of an f64 that a quantity has checked: finite and not negative. (Others become zero.)
    pub(crate) fn of_checked(value: f64) -> Self {
        let positive = if value.is_finite() && value > 0.0 { value } else { 0.0 };
        let bits = positive.to_bits();
        let exponent_field = (bits >> 52) as i64;
        let fraction_field = bits & ((1 << 52) - 1);
        let (mantissa, exponent) = if exponent_field == 0 {
            (fraction_field, -1074)
        } else {
            (fraction_field | 1 << 52, exponent_field - 1075)
        };
        let mantissa = BigUint::from(mantissa);
        if exponent >= 0 {
            Self::reduced(mantissa << exponent as u64, BigUint::one())
        } else {
            Self::reduced(mantissa, BigUint::one() << (-exponent) as u64)
        }
    }

    fn reduced(numerator: BigUint, denominator: BigUint) -> Self {
        let common = numerator.gcd(&denominator);
        if common.is_one() {
            return Self { numerator, denominator };
        }
        Self { numerator: numerator / &common, denominator: denominator / common }
    }

    /// A whole number.
    pub fn whole(value: impl Into<BigUint>) -> Self {
        Self { numerator: value.into(), denominator: BigUint::one() }
    }

    /// What is above the line.
    pub fn numerator(&self) -> &BigUint {
        &self.numerator
    }

    /// What is below the line; never zero.
    pub fn denominator(&self) -> &BigUint {
        &self.denominator
    }

    /// The product.
    ///
    /// ```
    /// use scumble::noise::Fraction;
    /// let product = Fraction::new(2u32, 3u32)?.times(&Fraction::new(3u32, 4u32)?);
    /// assert_eq!(product, Fraction::new(1u32, 2u32)?);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn times(&self, other: &Self) -> Self {
        Self::reduced(&self.numerator * &other.numerator, &self.denominator * &other.denominator)
    }

    /// One over this; zero is refused.
    ///
    /// ```
    /// use scumble::noise::Fraction;
    /// assert_eq!(Fraction::new(2u32, 3u32)?.inverse()?, Fraction::new(3u32, 2u32)?);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn inverse(&self) -> Result<Self> {
        Self::new(self.denominator.clone(), self.numerator.clone())
    }

    /// The nearest f64, for plans and displays, never for sampling.
    pub fn to_f64(&self) -> f64 {
        let signed = num_rational::BigRational::new_raw(self.numerator.clone().into(), self.denominator.clone().into());
        signed.to_f64().unwrap_or(f64::INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_rational::BigRational;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_f64_is_the_rational_it_denotes(value in 0.0f64..f64::MAX) {
            let fraction = Fraction::from_f64(value).unwrap();
            let expected = BigRational::from_float(value).unwrap();
            prop_assert_eq!(fraction.numerator.clone(), expected.numer().to_biguint().unwrap());
            prop_assert_eq!(fraction.denominator.clone(), expected.denom().to_biguint().unwrap());
            prop_assert_eq!(fraction.to_f64(), value);
        }
    }

    #[test]
    fn the_smallest_numbers_are_exact() {
        for value in [f64::MIN_POSITIVE, 5e-324, 1e-310, 0.0] {
            assert_eq!(Fraction::from_f64(value).unwrap().to_f64(), value);
        }
    }
}
