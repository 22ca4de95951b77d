//! Exact choices with irrational probabilities: bounds to any precision, and bits that are drawn until the bounds
//! decide.
//!
//! A probability such as e^{−x} cannot be written down, but it can be enclosed between two fixed-point numbers as
//! closely as one likes. A uniform number is drawn bit by bit (128 at first); if it falls between the bounds, more bits
//! are drawn and the bounds are computed again, closer. The choice then has *exactly* the wanted probabilities.

use super::BitSource;
use super::fixed_point::{FixedPoint, exp_minus};
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Zero};

/// A non-negative real number between two multiples of 2^{−bits}.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Enclosure {
    /// Not above the number.
    pub(crate) low: BigUint,
    /// Not below the number.
    pub(crate) high: BigUint,
}

/// Arithmetic on enclosures with this many fractional bits, always rounded outward.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Precision {
    pub(crate) bits: u64,
}

impl Precision {
    /// A rational number (which must not be negative).
    pub(crate) fn ratio(self, value: &BigRational) -> Enclosure {
        let low = FixedPoint::new(self.bits).of(value);
        let exact = BigRational::new(BigInt::from(low.clone()), BigInt::one() << self.bits) == *value;
        let high = if exact { low.clone() } else { &low + 1u32 };
        Enclosure { low, high }
    }

    /// e^{−x} for a rational x ≥ 0.
    ///
    /// The fixed-point series errs by at most 2^{h+8} units in its last place (h halvings, each squaring at most
    /// doubling the error of at most 2^7 roundings); with h + 16 guard bits that is below one unit here.
    pub(crate) fn exp_minus(self, x: &BigRational) -> Enclosure {
        if x.is_zero() {
            let one = BigUint::one() << self.bits;
            return Enclosure { low: one.clone(), high: one };
        }
        let halvings = x.to_integer().magnitude().bits() + 12;
        let guard = halvings + 16;
        let wide = FixedPoint::new(self.bits + guard);
        let value = exp_minus(&wide, &wide.of(x)) >> guard;
        let low = if value.is_zero() { BigUint::zero() } else { &value - 1u32 };
        Enclosure { low, high: (value + 2u32).min(BigUint::one() << self.bits) }
    }

    pub(crate) fn times(self, first: &Enclosure, second: &Enclosure) -> Enclosure {
        Enclosure {
            low: (&first.low * &second.low) >> self.bits,
            high: ((&first.high * &second.high) >> self.bits) + 1u32,
        }
    }

    /// first/second; the divisor's lower bound must be above 0.
    pub(crate) fn over(self, first: &Enclosure, second: &Enclosure) -> Enclosure {
        let divisor = if second.low.is_zero() { BigUint::one() } else { second.low.clone() };
        Enclosure { low: (&first.low << self.bits) / &second.high, high: ((&first.high << self.bits) / divisor) + 1u32 }
    }

    pub(crate) fn plus(self, first: &Enclosure, second: &Enclosure) -> Enclosure {
        Enclosure { low: &first.low + &second.low, high: &first.high + &second.high }
    }

    /// first − second, cut off at 0.
    pub(crate) fn minus(self, first: &Enclosure, second: &Enclosure) -> Enclosure {
        let difference = |a: &BigUint, b: &BigUint| if a > b { a - b } else { BigUint::zero() };
        Enclosure { low: difference(&first.low, &second.high), high: difference(&first.high, &second.low) }
    }

    /// base^exponent.
    pub(crate) fn power(self, base: &Enclosure, exponent: &BigUint) -> Enclosure {
        let one = BigUint::one() << self.bits;
        let mut result = Enclosure { low: one.clone(), high: one };
        for bit in (0..exponent.bits()).rev() {
            result = self.times(&result, &result);
            if exponent.bit(bit) {
                result = self.times(&result, base);
            }
        }
        result
    }
}

/// Bits drawn before the first look; the chance that they do not decide is about 2^{−100}.
const FIRST_BITS: u64 = 128;
/// How much closer than the random number's last bit the bounds are.
const GUARD_BITS: u64 = 64;

/// A uniform number in [0, 1); more and more of its bits become known.
struct Uniform {
    known: BigUint,
    bits: u64,
}

impl Uniform {
    fn draw<S: BitSource + ?Sized>(source: &mut S) -> Self {
        let mut uniform = Self { known: BigUint::zero(), bits: 0 };
        uniform.extend(source, FIRST_BITS);
        uniform
    }

    fn extend<S: BitSource + ?Sized>(&mut self, source: &mut S, bits: u64) {
        for _ in 0..bits.div_ceil(64) {
            self.known = (&self.known << 64u32) + source.next_u64();
            self.bits += 64;
        }
    }
}

/// True with exactly the probability that `bounds` encloses ever more closely.
pub(crate) fn bernoulli<S: BitSource + ?Sized>(source: &mut S, bounds: impl Fn(Precision) -> Enclosure) -> bool {
    let whole = |precision: Precision| {
        let one = BigUint::one() << precision.bits;
        Enclosure { low: one.clone(), high: one }
    };
    let weights = |precision: Precision| {
        let yes = bounds(precision);
        let no = precision.minus(&whole(precision), &yes);
        ChoiceWeights { cells: vec![yes, no], beyond: BigUint::zero() }
    };
    choose(source, weights) == 0
}

/// Weights of a choice: cells, and an upper bound of the weight of all cells that were left out because they are far
/// too light.
pub(crate) struct ChoiceWeights {
    pub(crate) cells: Vec<Enclosure>,
    pub(crate) beyond: BigUint,
}

/// Cell i with probability exactly proportional to its weight. Asked for a higher precision, `weights` must list the
/// same cells in the same order, perhaps followed by cells that were left out before.
///
/// # Guarantee
/// The probabilities are exact if the enclosures are right and shrink; the number of random bits does not depend on the
/// weights except for events of probability about 2^{−100}.
pub(crate) fn choose<S: BitSource + ?Sized>(
    source: &mut S,
    mut weights: impl FnMut(Precision) -> ChoiceWeights,
) -> usize {
    let mut uniform = Uniform::draw(source);
    loop {
        let precision = Precision { bits: uniform.bits + GUARD_BITS };
        if let Some(cell) = decided(&uniform, &weights(precision)) {
            return cell;
        }
        let more = uniform.bits;
        uniform.extend(source, more);
    }
}

/// The cell whose interval surely holds u·(total weight), for every u that agrees with the known bits.
fn decided(uniform: &Uniform, weights: &ChoiceWeights) -> Option<usize> {
    let total_low: BigUint = weights.cells.iter().map(|cell| &cell.low).sum();
    let total_high: BigUint = weights.cells.iter().map(|cell| &cell.high).sum::<BigUint>() + &weights.beyond;
    let target_low = (&uniform.known * total_low) >> uniform.bits;
    let target_high = (((&uniform.known + 1u32) * total_high) >> uniform.bits) + 1u32;
    let (mut before_low, mut before_high) = (BigUint::zero(), BigUint::zero());
    for (index, cell) in weights.cells.iter().enumerate() {
        let end_low = &before_low + &cell.low;
        if target_high <= end_low {
            return (target_low >= before_high).then_some(index);
        }
        before_high += &cell.high;
        before_low = end_low;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_traits::ToPrimitive;

    fn ratio(numerator: i64, denominator: i64) -> BigRational {
        BigRational::new(numerator.into(), denominator.into())
    }

    /// All-ones and all-zeros words, in the given order, then zeros.
    struct ExtremeWords(Vec<u64>);

    impl BitSource for ExtremeWords {
        fn next_u64(&mut self) -> u64 {
            if self.0.is_empty() { 0 } else { self.0.remove(0) }
        }

        fn is_secure(&self) -> bool {
            false
        }
    }

    #[test]
    fn exponentials_are_enclosed() {
        for (numerator, denominator) in [(1, 1), (1, 3), (700, 1), (1, 1_000_000_007), (12345, 678)] {
            let x = ratio(numerator, denominator);
            for bits in [64u64, 200, 512] {
                let here = Precision { bits }.exp_minus(&x);
                let closer = Precision { bits: bits + 100 }.exp_minus(&x);
                assert!(here.low.clone() << 100u32 <= closer.low && closer.high <= here.high.clone() << 100u32);
                assert!(&here.high - &here.low <= BigUint::from(3u32));
            }
            let near = Precision { bits: 2000 }.exp_minus(&x);
            let quotient = BigRational::new(near.low.into(), BigInt::one() << 2000u32);
            let expected = (-(numerator as f64) / denominator as f64).exp();
            assert!((quotient.to_f64().unwrap() - expected).abs() <= 1e-12 * expected);
        }
    }

    #[test]
    fn a_choice_splits_the_numbers_exactly() {
        // Weights 1, 2, 5: the first 1/8 of all numbers are cell 0, the next 1/4 cell 1, the rest cell 2.
        let weights = |precision: Precision| ChoiceWeights {
            cells: [1, 2, 5].iter().map(|w| precision.ratio(&ratio(*w, 1))).collect(),
            beyond: BigUint::zero(),
        };
        let pick = |first: u64| choose(&mut ExtremeWords(vec![first, 0, 1]), weights);
        assert_eq!(pick(0), 0);
        assert_eq!(pick((1u64 << 61) - 1), 0);
        assert_eq!(pick(1u64 << 61), 1);
        assert_eq!(pick((3u64 << 61) - 1), 1);
        assert_eq!(pick(3u64 << 61), 2);
        assert_eq!(pick(u64::MAX), 2);
    }

    #[test]
    fn what_was_left_out_is_found_by_refinement() {
        // The second cell is left out at first; the largest numbers belong to it.
        let weights = |precision: Precision| {
            let tiny = precision.exp_minus(&ratio(60, 1));
            let one = precision.ratio(&ratio(1, 1));
            if precision.bits < 300 {
                ChoiceWeights { cells: vec![one], beyond: tiny.high }
            } else {
                ChoiceWeights { cells: vec![one, tiny], beyond: BigUint::zero() }
            }
        };
        assert_eq!(choose(&mut ExtremeWords(vec![u64::MAX; 10]), weights), 1);
        assert_eq!(choose(&mut ExtremeWords(vec![0; 10]), weights), 0);
    }

    #[test]
    fn powers_and_quotients_are_enclosed() {
        let precision = Precision { bits: 256 };
        let base = precision.ratio(&ratio(2, 3));
        let cubed = precision.power(&base, &BigUint::from(3u32));
        let exact = precision.ratio(&ratio(8, 27));
        assert!(cubed.low <= exact.low && exact.high <= cubed.high);
        let back = precision.over(&cubed, &precision.power(&base, &BigUint::from(2u32)));
        assert!(back.low <= base.low && base.high <= back.high);
        assert!(&back.high - &back.low < BigUint::from(1000u32));
    }
}
