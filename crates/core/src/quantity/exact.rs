//! Exact numbers for budgets: a decimal text is the rational it looks like, and an f64 is the rational it denotes.

use crate::error::{Error, Result};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Pow, Signed, ToPrimitive, Zero};
use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;

/// A rational number, summed and compared without rounding.
///
/// ```
/// use scumble::quantity::Exact;
/// let sum = "0.1".parse::<Exact>()? + "0.2".parse::<Exact>()?;
/// assert_eq!(sum, "0.3".parse::<Exact>()?);
/// assert!(sum != Exact::from_f64(0.1 + 0.2)?);
/// assert_eq!(sum.to_string(), "0.3");
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Exact(BigRational);

/// Decimal exponents beyond this are refused: nobody's budget needs them, and 1e999999999 would fill the memory.
const LARGEST_EXPONENT: i64 = 400;
/// Digits beyond this are refused for the same reason.
const LONGEST_TEXT: usize = 1000;
/// A number of [`LONGEST_TEXT`] digits with the largest exponent is written in fewer.
const LONGEST_WRITTEN: usize = 2000;

/// The decimal places of the grid that budgets are counted on.
const GRID_PLACES: u32 = 30;

impl Exact {
    /// Zero.
    ///
    /// ```
    /// assert_eq!(scumble::quantity::Exact::zero().to_f64(), 0.0);
    /// ```
    pub fn zero() -> Self {
        Self(BigRational::zero())
    }

    /// The rational that a finite f64 denotes.
    ///
    /// ```
    /// use scumble::quantity::Exact;
    /// assert_eq!(Exact::from_f64(0.5)?, "0.5".parse()?);
    /// assert!(Exact::from_f64(f64::NAN).is_err());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn from_f64(value: f64) -> Result<Self> {
        BigRational::from_float(value)
            .map(Self)
            .ok_or_else(|| Error::refused(format!("{value} is not a finite number, so it cannot be part of a budget")))
    }

    /// The rational of a quantity, which is finite by its range.
    pub(super) fn of_finite(value: f64) -> Self {
        Self(BigRational::from_float(value).unwrap_or_else(BigRational::zero))
    }

    /// The number that is this rational.
    ///
    /// ```
    /// use num_rational::BigRational;
    /// use scumble::quantity::Exact;
    /// let half = Exact::from_rational(BigRational::new(1.into(), 2.into()));
    /// assert_eq!(half.to_string(), "0.5");
    /// ```
    pub fn from_rational(value: BigRational) -> Self {
        Self(value)
    }

    /// The number that was written by its `Display`: a decimal without exponent, or a fraction. People write decimals
    /// only, for which there is `parse`.
    ///
    /// ```
    /// use scumble::quantity::Exact;
    /// let third = Exact::from_rational(num_rational::BigRational::new(1.into(), 3.into()));
    /// assert_eq!(Exact::from_text(&third.to_string())?, third);
    /// assert!(Exact::from_text("1e-9").is_err());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn from_text(text: &str) -> Result<Self> {
        let refused = || Error::refused(format!("'{}' is not a number as it is written here", shortened(text)));
        if text.len() > LONGEST_WRITTEN {
            return Err(refused());
        }
        written(text).map(Self).ok_or_else(refused)
    }

    /// The rational itself.
    ///
    /// ```
    /// use scumble::quantity::Exact;
    /// assert_eq!("0.25".parse::<Exact>()?.rational().denom().to_string(), "4");
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn rational(&self) -> &BigRational {
        &self.0
    }

    /// The nearest f64.
    ///
    /// ```
    /// use scumble::quantity::Exact;
    /// assert_eq!("1e-9".parse::<Exact>()?.to_f64(), 1e-9);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn to_f64(&self) -> f64 {
        self.0.to_f64().unwrap_or(f64::NAN)
    }

    /// The largest f64 that is not above this number: what may be spent of a limit.
    ///
    /// ```
    /// use scumble::quantity::Exact;
    /// let tenth = "0.1".parse::<Exact>()?;
    /// assert!(Exact::from_f64(tenth.to_f64_down())? <= tenth);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn to_f64_down(&self) -> f64 {
        let nearest = self.to_f64();
        match Self::from_f64(nearest) {
            Ok(back) if back <= *self => nearest,
            _ => nearest.next_down(),
        }
    }

    /// The smallest f64 that is not below this number: what a charge is at most.
    ///
    /// ```
    /// use scumble::quantity::Exact;
    /// let tenth = "0.1".parse::<Exact>()?;
    /// assert!(Exact::from_f64(tenth.to_f64_up())? >= tenth);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn to_f64_up(&self) -> f64 {
        let nearest = self.to_f64();
        match Self::from_f64(nearest) {
            Ok(back) if back >= *self => nearest,
            _ => nearest.next_up(),
        }
    }

    /// The least multiple of 10⁻³⁰ that is not below: budgets are counted on this grid, so that ten thousand costs add
    /// up quickly, and a cost that is at most a decimal of up to thirty places stays at most that.
    ///
    /// ```
    /// use scumble::quantity::Exact;
    /// let third: Exact = Exact::from_rational(num_rational::BigRational::new(1.into(), 3.into()));
    /// assert_eq!(third.up_to_grid().to_string(), "0.333333333333333333333333333334");
    /// assert_eq!(third.down_to_grid().to_string(), "0.333333333333333333333333333333");
    /// ```
    pub fn up_to_grid(&self) -> Self {
        self.on_grid(|scaled| scaled.ceil())
    }

    /// The largest multiple of 10⁻³⁰ that is not above ([`Exact::up_to_grid`]).
    pub fn down_to_grid(&self) -> Self {
        self.on_grid(|scaled| scaled.floor())
    }

    fn on_grid(&self, round: impl Fn(BigRational) -> BigRational) -> Self {
        let power: BigInt = Pow::pow(BigInt::from(10), GRID_PLACES);
        let scaled = round(&self.0 * BigRational::from_integer(power.clone()));
        Self(BigRational::new(scaled.to_integer(), power))
    }

    /// Whether the number is below zero.
    ///
    /// ```
    /// assert!(!scumble::quantity::Exact::zero().is_negative());
    /// ```
    pub fn is_negative(&self) -> bool {
        self.0.is_negative()
    }
}

impl Add for Exact {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Exact {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl FromStr for Exact {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refused = || Error::refused(format!("'{}' is not a decimal number such as 0.5 or 1e-9", shortened(text)));
        if text.len() > LONGEST_TEXT {
            return Err(refused());
        }
        let (mantissa, exponent) = match text.trim().split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().map_err(|_| refused())?),
            None => (text.trim(), 0),
        };
        let (sign, digits) = match mantissa.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, mantissa.strip_prefix('+').unwrap_or(mantissa)),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = format!("{whole}{fraction}");
        let only_digits = !all_digits.is_empty() && all_digits.bytes().all(|byte| byte.is_ascii_digit());
        if !only_digits || exponent.abs() > LARGEST_EXPONENT {
            return Err(refused());
        }
        let number: BigInt = all_digits.parse().map_err(|_| refused())?;
        let power = exponent - fraction.len() as i64;
        let ten = BigRational::from_integer(BigInt::from(10));
        Ok(Self(BigRational::from_integer(number * sign) * Pow::pow(ten, BigInt::from(power))))
    }
}

/// A decimal without exponent, or a fraction.
fn written(text: &str) -> Option<BigRational> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let whole = |part: &str| digits(part).then(|| part.parse::<BigInt>().ok()).flatten();
    let (sign, size) = text.strip_prefix('-').map_or((1, text), |size| (-1, size));
    if let Some((numerator, denominator)) = size.split_once('/') {
        let (numerator, denominator) = (whole(numerator)?, whole(denominator)?);
        return (!denominator.is_zero()).then(|| BigRational::new(numerator * sign, denominator));
    }
    let (units, fraction) = size.split_once('.').unwrap_or((size, ""));
    if !(digits(units) && (fraction.is_empty() || digits(fraction))) {
        return None;
    }
    let power = Pow::pow(BigInt::from(10), fraction.len());
    let number = format!("{units}{fraction}").parse::<BigInt>().ok()?;
    Some(BigRational::new(number * sign, power))
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

impl fmt::Display for Exact {
    /// A finite decimal where there is one, a fraction otherwise.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match finite_decimal(&self.0) {
            Some(text) => f.write_str(&text),
            None => write!(f, "{}/{}", self.0.numer(), self.0.denom()),
        }
    }
}

fn finite_decimal(value: &BigRational) -> Option<String> {
    let mut denominator = value.denom().clone();
    let mut places = 0usize;
    for factor in [2u32, 5u32] {
        let mut count = 0usize;
        while (&denominator % factor).is_zero() {
            denominator /= factor;
            count += 1;
        }
        places = places.max(count);
    }
    if denominator != BigInt::from(1) {
        return None;
    }
    let scaled = (value * BigRational::from_integer(Pow::pow(BigInt::from(10), places))).to_integer();
    let digits = format!("{:0>width$}", scaled.abs().to_string(), width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let sign = if value.is_negative() { "-" } else { "" };
    Some(if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimal_text_is_the_number_it_looks_like() {
        let check = |text: &str, shown: &str| assert_eq!(text.parse::<Exact>().unwrap().to_string(), shown);
        check("0.1", "0.1");
        check("1e-9", "0.000000001");
        check("1.50E1", "15");
        check("-2.5", "-2.5");
        check(".5", "0.5");
        check("+3", "3");
    }

    #[test]
    fn what_is_not_a_decimal_number_is_refused() {
        for text in
            ["", ".", "e5", "1e", "0x1", "1e401", "1e99999999999999999999", "nan", "inf", "1.2.3", "--1", "1_000", "１"]
        {
            assert!(text.parse::<Exact>().is_err(), "{text} was accepted");
        }
        assert!("9".repeat(2000).parse::<Exact>().is_err());
    }

    #[test]
    fn what_was_written_is_read_again_and_nothing_else() {
        let largest = "9".repeat(LONGEST_TEXT - 5) + "e-400";
        for text in ["0", "1", "0.000000001", "-2.5", &largest, &"9".repeat(LONGEST_TEXT)] {
            let number: Exact = text.parse().unwrap();
            assert_eq!(Exact::from_text(&number.to_string()).unwrap(), number, "{text}");
        }
        let thirds = Exact::from_rational(BigRational::new((-2).into(), 3.into()));
        assert_eq!((thirds.to_string().as_str(), Exact::from_text("-2/3").unwrap()), ("-2/3", thirds));
        for text in ["", "-", "1e5", "+1", "1/0", "1/", "/3", "1/-3", "0.5/2", "inf", " 1", "1 ", "--1", ".5"] {
            assert!(Exact::from_text(text).is_err(), "{text} was accepted");
        }
        assert!(Exact::from_text(&"9".repeat(LONGEST_WRITTEN + 1)).is_err());
    }

    proptest! {
        #[test]
        fn ten_thousandths_add_up_exactly(parts in proptest::collection::vec(0u32..100_000, 1..50)) {
            let texts = parts.iter().map(|part| format!("{}.{:04}", part / 10_000, part % 10_000));
            let sum = texts.map(|text| text.parse::<Exact>().unwrap()).fold(Exact::zero(), |sum, part| sum + part);
            let total: u64 = parts.iter().map(|part| u64::from(*part)).sum();
            let expected = BigRational::new(BigInt::from(total), BigInt::from(10_000));
            prop_assert_eq!(sum.rational(), &expected);
        }

        #[test]
        fn directed_rounding_brackets(text in "[0-9]{1,20}\\.[0-9]{1,20}") {
            let exact: Exact = text.parse().unwrap();
            prop_assert!(Exact::from_f64(exact.to_f64_down()).unwrap() <= exact);
            prop_assert!(Exact::from_f64(exact.to_f64_up()).unwrap() >= exact);
            prop_assert!(exact.to_f64_up() <= exact.to_f64_down().next_up());
        }
    }
}
