//! Uniform integers below any bound, by rejection: draw just as many bits as the bound has, again if they are too
//! large.
//!
//! At least half of all draws are below the bound, so that two are enough on average.

use super::source::BitSource;
use num_bigint::BigUint;
use num_traits::Zero;

/// A bound that a uniform integer can be drawn below: `u64`, `u128`, `&BigUint`.
pub trait UniformBound {
    /// The kind of number that comes out.
    type Number;
    /// A uniform number in 0..bound.
    fn draw<S: BitSource + ?Sized>(self, bits: &mut S) -> Self::Number;
}

/// A uniform integer in `0..bound`. No integer is below a bound of zero: then the answer is zero, and no bits are used.
///
/// ```
/// use scumble::noise::{InsecureSeededSource, uniform};
/// let mut bits = InsecureSeededSource::new(1);
/// assert!(uniform::below(&mut bits, 6u64) < 6);
/// let huge = num_bigint::BigUint::from(10u32).pow(50);
/// assert!(uniform::below(&mut bits, &huge) < huge);
/// ```
pub fn below<S: BitSource + ?Sized, B: UniformBound>(bits: &mut S, bound: B) -> B::Number {
    bound.draw(bits)
}

/// A uniform integer in `lowest..=highest`; `lowest` if they are in the wrong order.
///
/// ```
/// use scumble::noise::{InsecureSeededSource, uniform};
/// let mut bits = InsecureSeededSource::new(1);
/// assert!((-3..=3).contains(&uniform::between(&mut bits, -3, 3)));
/// uniform::between(&mut bits, i64::MIN, i64::MAX);
/// ```
pub fn between<S: BitSource + ?Sized>(bits: &mut S, lowest: i64, highest: i64) -> i64 {
    if lowest >= highest {
        return lowest;
    }
    let count = (i128::from(highest) - i128::from(lowest) + 1) as u128;
    let offset = if count > u128::from(u64::MAX) { bits.next_u64() } else { below(bits, count as u64) };
    (i128::from(lowest) + i128::from(offset)) as i64
}

impl UniformBound for u64 {
    type Number = u64;
    #[inline]
    fn draw<S: BitSource + ?Sized>(self, bits: &mut S) -> u64 {
        let Some(largest) = self.checked_sub(1) else { return 0 };
        let length = u64::BITS - largest.leading_zeros();
        loop {
            let drawn = bits.next_bits(length);
            if drawn <= largest {
                return drawn;
            }
        }
    }
}

impl UniformBound for u128 {
    type Number = u128;
    fn draw<S: BitSource + ?Sized>(self, bits: &mut S) -> u128 {
        let Some(largest) = self.checked_sub(1) else { return 0 };
        let length = u128::BITS - largest.leading_zeros();
        loop {
            let high = bits.next_bits(length.saturating_sub(64));
            let drawn = u128::from(high) << 64 | u128::from(bits.next_bits(length.min(64)));
            if drawn <= largest {
                return drawn;
            }
        }
    }
}

impl UniformBound for &BigUint {
    type Number = BigUint;
    fn draw<S: BitSource + ?Sized>(self, bits: &mut S) -> BigUint {
        if self.is_zero() {
            return BigUint::zero();
        }
        let length = (self - 1u32).bits();
        loop {
            let drawn = random_bits(bits, length);
            if drawn < *self {
                return drawn;
            }
        }
    }
}

/// A uniform integer of `length` bits.
fn random_bits<S: BitSource + ?Sized>(bits: &mut S, length: u64) -> BigUint {
    let mut digits = Vec::with_capacity(length.div_ceil(32) as usize);
    let mut missing = length;
    while missing > 0 {
        let count = missing.min(32);
        digits.push(bits.next_bits(count as u32) as u32);
        missing -= count;
    }
    BigUint::new(digits)
}
