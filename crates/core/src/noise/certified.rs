//! Certified real numbers: enclosures in fixed point that always hold the true value, as narrow as the precision asks
//! for.
//!
//! Everything is big integers; every operation rounds its lower end down and its upper end up. A sampler asks for an
//! enclosure, compares it with the random bits that it has drawn so far, and comes back with a higher precision if they
//! do not decide.

use num_bigint::{BigInt, BigUint};
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use std::sync::OnceLock;

/// A real number between `low` and `high`, both in units of 2^−precision of the [`Arithmetic`] that made it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Interval {
    pub(super) low: BigInt,
    pub(super) high: BigInt,
}

impl Interval {
    /// Exactly zero.
    pub(super) fn zero() -> Self {
        Self { low: BigInt::zero(), high: BigInt::zero() }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        Self { low: &self.low + &other.low, high: &self.high + &other.high }
    }

    pub(super) fn minus(&self, other: &Self) -> Self {
        Self { low: &self.low - &other.high, high: &self.high - &other.low }
    }

    pub(super) fn negated(&self) -> Self {
        Self { low: -&self.high, high: -&self.low }
    }

    /// The product with an integer, which may be negative.
    pub(super) fn times_integer(&self, factor: &BigInt) -> Self {
        let (first, second) = (&self.low * factor, &self.high * factor);
        if factor.is_negative() { Self { low: second, high: first } } else { Self { low: first, high: second } }
    }

    /// The product with a rational whose denominator is above zero.
    pub(super) fn times_ratio(&self, numerator: &BigInt, denominator: &BigInt) -> Self {
        let product = self.times_integer(numerator);
        Self { low: product.low.div_floor(denominator), high: ceiling(&product.high, denominator) }
    }

    /// The same number in units of 2^−(precision − by).
    pub(super) fn coarser(&self, by: u64) -> Self {
        Self { low: &self.low >> by, high: ceiling_shift(&self.high, by) }
    }

    fn widened(mut self, by: u32) -> Self {
        self.low -= by;
        self.high += by;
        self
    }
}

fn ceiling(numerator: &BigInt, denominator: &BigInt) -> BigInt {
    -((-numerator).div_floor(denominator))
}

fn ceiling_shift(value: &BigInt, by: u64) -> BigInt {
    -((-value) >> by)
}

/// Fixed-point arithmetic with a given number of fractional bits.
#[derive(Debug, Clone)]
pub(super) struct Arithmetic {
    precision: u64,
    ln_2: Interval,
}

/// How often the argument of e^x is halved before the Taylor series.
const HALVINGS: u64 = 8;
/// How many Bernoulli numbers Stirling's series uses.
const STIRLING_TERMS: usize = 40;

impl Arithmetic {
    pub(super) fn new(precision: u64) -> Self {
        let mut arithmetic = Self { precision, ln_2: Interval::zero() };
        // ln 2 = 2 artanh(1/3).
        let third = arithmetic.ratio(&BigInt::one(), &BigInt::from(3));
        arithmetic.ln_2 = arithmetic.artanh(&third).times_integer(&BigInt::from(2));
        arithmetic
    }

    pub(super) fn precision(&self) -> u64 {
        self.precision
    }

    pub(super) fn one(&self) -> Interval {
        let unit = BigInt::one() << self.precision;
        Interval { low: unit.clone(), high: unit }
    }

    /// A rational number; the denominator is above zero.
    pub(super) fn ratio(&self, numerator: &BigInt, denominator: &BigInt) -> Interval {
        let scaled = numerator << self.precision;
        Interval { low: scaled.div_floor(denominator), high: ceiling(&scaled, denominator) }
    }

    pub(super) fn times(&self, first: &Interval, second: &Interval) -> Interval {
        if !first.low.is_negative() && !second.low.is_negative() {
            let (low, high) = (&first.low * &second.low, &first.high * &second.high);
            return Interval { low: low >> self.precision, high: ceiling_shift(&high, self.precision) };
        }
        let ends = [
            &first.low * &second.low,
            &first.low * &second.high,
            &first.high * &second.low,
            &first.high * &second.high,
        ];
        let low = ends.iter().min().cloned().unwrap_or_default();
        let high = ends.iter().max().cloned().unwrap_or_default();
        Interval { low: low >> self.precision, high: ceiling_shift(&high, self.precision) }
    }

    /// e^x.
    pub(super) fn exp(&self, x: &Interval) -> Interval {
        let at_low = self.exp_of_point(&x.low);
        if x.low == x.high {
            return at_low;
        }
        Interval { low: at_low.low, high: self.exp_of_point(&x.high).high }
    }

    /// e^{−numerator/denominator} for a rational that is not negative.
    pub(super) fn exp_minus(&self, numerator: &BigUint, denominator: &BigUint) -> Interval {
        self.exp(&self.ratio(&-BigInt::from(numerator.clone()), &BigInt::from(denominator.clone())))
    }

    fn exp_of_point(&self, x: &BigInt) -> Interval {
        // e^x = 2^n e^r with r = x − n·ln 2 in about [0, ln 2]; r = 2^h y, and e^r is e^y squared h times.
        let n = x.div_floor(&self.ln_2.low);
        let lowest = -BigInt::from(self.precision + 2);
        if n < lowest {
            return Interval { low: BigInt::zero(), high: BigInt::one() };
        }
        let point = Interval { low: x.clone(), high: x.clone() };
        let reduced = point.minus(&self.ln_2.times_integer(&n)).coarser(HALVINGS);
        let (mut sum, mut term) = (self.one(), self.one());
        for place in 1u32.. {
            let next = self.times(&term, &reduced);
            term = next.times_ratio(&BigInt::one(), &BigInt::from(place));
            sum = sum.plus(&term);
            if term.high <= BigInt::one() && term.low >= -BigInt::one() {
                break;
            }
        }
        // |y| ≤ 2^−7, so that what was left out is less than one unit.
        let mut power = sum.widened(1);
        for _ in 0..HALVINGS {
            power = self.times(&power, &power);
        }
        let shift: i64 = n.try_into().unwrap_or(i64::MAX);
        match u64::try_from(shift) {
            Ok(up) => Interval { low: power.low << up, high: power.high << up },
            Err(_) => power.coarser(shift.unsigned_abs()),
        }
    }

    /// ln(numerator/denominator) of a positive rational.
    pub(super) fn ln(&self, numerator: &BigUint, denominator: &BigUint) -> Interval {
        // numerator/denominator = 2^e f with f in (1/2, 2); ln f = 2 artanh((f − 1)/(f + 1)).
        let exponent = numerator.bits() as i64 - denominator.bits() as i64;
        let (mut upper, mut lower) = (BigInt::from(numerator.clone()), BigInt::from(denominator.clone()));
        if exponent >= 0 {
            lower <<= exponent.unsigned_abs();
        } else {
            upper <<= exponent.unsigned_abs();
        }
        let argument = self.ratio(&(&upper - &lower), &(&upper + &lower));
        let ln_fraction = if argument.low.is_negative() {
            self.artanh(&argument.negated()).negated()
        } else {
            self.artanh(&argument)
        };
        self.ln_2.times_integer(&BigInt::from(exponent)).plus(&ln_fraction.times_integer(&BigInt::from(2)))
    }

    /// ln of a number that is certainly positive; `None` if that is not certain.
    pub(super) fn ln_of(&self, value: &Interval) -> Option<Interval> {
        let (low, high) = (value.low.to_biguint()?, value.high.to_biguint()?);
        if low.is_zero() {
            return None;
        }
        let unit = BigUint::one() << self.precision;
        Some(Interval { low: self.ln(&low, &unit).low, high: self.ln(&high, &unit).high })
    }

    /// artanh z = z + z³/3 + z⁵/5 + … for z in [0, 1/3] (its lower end may be one unit below).
    fn artanh(&self, argument: &Interval) -> Interval {
        let square = self.times(argument, argument);
        let (mut power, mut sum) = (argument.clone(), argument.clone());
        for odd in (3u32..).step_by(2) {
            power = self.times(&power, &square);
            sum = sum.plus(&power.times_ratio(&BigInt::one(), &BigInt::from(odd)));
            if power.high <= BigInt::from(2) {
                break;
            }
        }
        // What was left out is at most the last power times z² + z⁴ + … ≤ 1/8 of it, below one unit.
        sum.widened(1)
    }

    /// ln Γ(z) − ½ ln 2π for a rational z > 0: Stirling's series, whose error is at most the first term left out
    /// (Whittaker and Watson, *Modern Analysis*, §12.33).
    pub(super) fn ln_gamma_without_constant(&self, z: &BigRational) -> Interval {
        // Γ(z) = Γ(z + m) / (z (z+1) … (z+m−1)) lifts z to where the series is as precise as we are.
        let (denominator, mut lifted) = (z.denom(), z.numer().clone());
        let least = stirling_threshold(self.precision) * denominator;
        let (mut product, mut divisor) = (BigUint::one(), BigUint::one());
        while lifted < least {
            product *= lifted.magnitude();
            divisor *= denominator.magnitude();
            lifted += denominator;
        }
        // (z − ½) ln z − z
        let ln_lifted = self.ln(lifted.magnitude(), denominator.magnitude());
        let twice = BigInt::from(2);
        let mut sum = ln_lifted.times_ratio(&(&lifted * &twice - denominator), &(denominator * &twice));
        sum = sum.minus(&self.ratio(&lifted, denominator));
        // The terms B_2k / (2k (2k−1) z^{2k−1}) as exact fractions: their factors are far too large to round early.
        let (mut above, mut below) = (denominator.clone(), lifted.clone());
        let (denominator_square, lifted_square) = (denominator * denominator, &lifted * &lifted);
        for (index, coefficient) in stirling_coefficients().iter().enumerate() {
            let term = self.ratio(&(coefficient.numer() * &above), &(coefficient.denom() * &below));
            if index + 1 == STIRLING_TERMS || (term.high <= BigInt::one() && term.low >= -BigInt::one()) {
                let bound = term.high.abs().max(term.low.abs());
                sum = Interval { low: sum.low - &bound, high: sum.high + bound };
                break;
            }
            sum = sum.plus(&term);
            above *= &denominator_square;
            below *= &lifted_square;
        }
        if divisor.is_one() && product.is_one() {
            return sum;
        }
        sum.minus(&self.ln(&product, &divisor))
    }
}

/// From where on 40 terms of Stirling's series are precise to 2^−precision: |B_80|/(80·79·z^79) < 2^(183 − 79·log₂ z).
fn stirling_threshold(precision: u64) -> BigInt {
    BigInt::one() << ((precision + 183).div_ceil(79))
}

/// B_2k / (2k (2k−1)) for k = 1, 2, …
fn stirling_coefficients() -> &'static [BigRational] {
    static COEFFICIENTS: OnceLock<Vec<BigRational>> = OnceLock::new();
    COEFFICIENTS.get_or_init(|| {
        let numbers = bernoulli_numbers(2 * STIRLING_TERMS);
        (1..=STIRLING_TERMS)
            .map(|k| &numbers[2 * k] / BigRational::from_integer(BigInt::from(2 * k * (2 * k - 1))))
            .collect()
    })
}

/// B_0, …, B_last by their recurrence Σ_j C(m+1, j) B_j = 0.
fn bernoulli_numbers(last: usize) -> Vec<BigRational> {
    let mut numbers = vec![BigRational::one()];
    for m in 1..=last {
        let mut binomial = BigInt::one();
        let mut sum = BigRational::zero();
        for (j, number) in numbers.iter().enumerate() {
            sum += number * &binomial;
            binomial = binomial * BigInt::from(m + 1 - j) / BigInt::from(j + 1);
        }
        numbers.push(-sum / BigRational::from_integer(BigInt::from(m + 1)));
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The enclosure holds `expected` (an f64, relative error 1e-13) and is narrow.
    fn check(arithmetic: &Arithmetic, found: &Interval, expected: f64) {
        let to_f64 = |value: &BigInt| {
            let denominator = BigInt::one() << arithmetic.precision();
            let ratio = BigRational::new(value.clone(), denominator);
            num_traits::ToPrimitive::to_f64(&ratio).unwrap()
        };
        let (low, high) = (to_f64(&found.low), to_f64(&found.high));
        let slack = 1e-12 * expected.abs() + 1e-15;
        assert!(low - slack <= expected && expected <= high + slack, "{expected} is not in [{low}, {high}]");
        assert!(found.low <= found.high);
        assert!((&found.high - &found.low).bits() < arithmetic.precision() / 2, "{expected}: too wide");
    }

    #[test]
    fn known_digits() {
        // e^{−1} and ln 10 to 50 digits, from their series in exact rationals elsewhere (OEIS A068985, A002392).
        let arithmetic = Arithmetic::new(140);
        let digits = |text: &str, scale: u32| {
            let numerator: BigInt = text.parse().unwrap();
            let denominator = BigInt::from(10).pow(scale);
            (arithmetic.ratio(&numerator, &denominator), arithmetic.ratio(&(numerator + 1), &denominator))
        };
        let (low, high) = digits("36787944117144232159552377016146086744581113103176", 50);
        let found = arithmetic.exp_minus(&BigUint::one(), &BigUint::one());
        assert!(low.low <= found.high && found.low <= high.high);
        let (low, high) = digits("230258509299404568401799145468436420760110148862877", 50);
        let found = arithmetic.ln(&BigUint::from(10u32), &BigUint::one());
        assert!(low.low <= found.high && found.low <= high.high);
    }

    proptest! {
        #[test]
        fn exp_and_ln_hold_the_true_value(numerator in 0u64..1u64 << 40, denominator in 1u64..1u64 << 40) {
            let arithmetic = Arithmetic::new(160);
            let value = numerator as f64 / denominator as f64;
            if value < 600.0 {
                let found = arithmetic.exp_minus(&BigUint::from(numerator), &BigUint::from(denominator));
                check(&arithmetic, &found, (-value).exp());
            }
            if numerator > 0 {
                let found = arithmetic.ln(&BigUint::from(numerator), &BigUint::from(denominator));
                check(&arithmetic, &found, value.ln());
            }
        }

        #[test]
        fn a_higher_precision_stays_inside(numerator in 1u64..1u64 << 40, denominator in 1u64..1u64 << 40) {
            let (coarse, fine) = (Arithmetic::new(80), Arithmetic::new(400));
            let z = BigRational::new(numerator.into(), denominator.into());
            let (numerator, denominator) = (BigUint::from(numerator), BigUint::from(denominator));
            let pairs = [
                (coarse.exp_minus(&numerator, &denominator), fine.exp_minus(&numerator, &denominator)),
                (coarse.ln(&numerator, &denominator), fine.ln(&numerator, &denominator)),
                (coarse.ln_gamma_without_constant(&z), fine.ln_gamma_without_constant(&z)),
            ];
            for (wide, narrow) in pairs {
                let narrow = narrow.coarser(320);
                prop_assert!(wide.low <= narrow.high && narrow.low <= wide.high);
            }
        }
    }

    #[test]
    fn ln_gamma_of_whole_numbers_is_the_factorial() {
        let arithmetic = Arithmetic::new(200);
        let mut factorial = BigUint::one();
        let one = arithmetic.ln_gamma_without_constant(&BigRational::one());
        for n in 1u32..300 {
            let z = BigRational::from_integer(BigInt::from(n));
            // ln Γ(n) − ln Γ(1) = ln (n−1)!
            let found = arithmetic.ln_gamma_without_constant(&z).minus(&one);
            let expected = arithmetic.ln(&factorial, &BigUint::one());
            assert!(found.low <= expected.high && expected.low <= found.high, "{n}");
            assert!((&found.high - &found.low).bits() < 40);
            factorial *= n;
        }
    }
}
