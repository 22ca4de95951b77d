//! The coin of the local model: a lie with probability 1/(e^ε+1), as a whole number of 2^−64.

use super::outward;
use crate::error::Result;
use crate::noise::BitSource;
use crate::noise::refine::Precision;
use crate::quantity::{Epsilon, Exact};
use num_bigint::BigUint;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive};

/// A lie with probability `lies`/2^64, the least such number that is not below 1/(e^ε+1): so the loss
/// ln((2^64 − lies)/lies) is at most ε.
///
/// ```
/// use scumble::parties::local::Coin;
/// use scumble::quantity::Epsilon;
/// let coin = Coin::new(Epsilon::new(1.0)?)?;
/// assert!((coin.lies() as f64 / 2f64.powi(64) - 1.0 / (1f64.exp() + 1.0)).abs() < 1e-15);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coin {
    lies: u64,
}

/// Below it a report says so little that no number of owners makes up for it; above it the lies have no digits left.
const ALLOWED: std::ops::RangeInclusive<f64> = 1e-9..=40.0;
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

impl Coin {
    /// The coin of this ε.
    pub fn new(epsilon: Epsilon) -> Result<Self> {
        if !ALLOWED.contains(&epsilon.get()) {
            refuse!("epsilon of a report must be a number in [1e-9, 40], not {epsilon}");
        }
        let precision = Precision { bits: 256 };
        let lighter = precision.exp_minus(Exact::from_f64(epsilon.get())?.rational());
        let sum = precision.plus(&precision.ratio(&BigRational::one()), &lighter);
        let above = precision.over(&lighter, &sum).high;
        let unit = BigUint::one() << (precision.bits - 64);
        let lies = (above + &unit - 1u32) / unit;
        Ok(Self { lies: lies.to_u64().unwrap_or(u64::MAX) })
    }

    /// Whether this draw is a lie.
    pub fn is_lie<S: BitSource + ?Sized>(&self, bits: &mut S) -> bool {
        self.lies_on(bits.next_u64())
    }

    fn lies_on(&self, drawn: u64) -> bool {
        drawn < self.lies
    }

    /// 64 draws at once, a bit for each: 1 where it is a lie.
    ///
    /// # Guarantee
    /// The law of 64 calls of [`Coin::is_lie`]: each lane compares a number of its own, uniform below 2^64, with
    /// `lies`, from the highest bit down. A word holds one bit of all 64 numbers. A lane whose bit differs is decided,
    /// and its lower bits are not drawn, because they decide nothing: about 7 words instead of 64. How many are drawn
    /// depends on the draws alone.
    pub(super) fn lies_of_64<S: BitSource + ?Sized>(&self, bits: &mut S) -> u64 {
        let (mut lies, mut undecided, mut rest) = (0, u64::MAX, self.lies);
        // Where no bit of `lies` is left, what is undecided is at least as large.
        while undecided != 0 && rest != 0 {
            let drawn = bits.next_u64();
            if rest >> 63 == 1 {
                lies |= undecided & !drawn;
                undecided &= drawn;
            } else {
                undecided &= !drawn;
            }
            rest <<= 1;
        }
        lies
    }

    /// How many of the 2^64 draws are lies.
    pub fn lies(&self) -> u64 {
        self.lies
    }

    /// The probability of a lie, to the nearest.
    pub(super) fn lie(&self) -> f64 {
        self.lies as f64 / TWO_TO_64
    }

    /// The probability of the truth less that of a lie.
    pub(super) fn gap(&self) -> f64 {
        2.0 * self.half_gap()
    }

    /// ½ less the probability of a lie, from integers.
    pub(super) fn half_gap(&self) -> f64 {
        ((1u64 << 63) - self.lies) as f64 / TWO_TO_64
    }

    /// The probabilities of the truth and of a lie, rounded away from each other.
    pub(super) fn apart(&self) -> (f64, f64) {
        (outward(1.0 - self.lie(), 2), outward(self.lie(), -2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of the lanes, handed out bit by bit from the highest.
    struct Lanes {
        numbers: [u64; 64],
        given: u32,
    }

    impl BitSource for Lanes {
        fn next_u64(&mut self) -> u64 {
            let bit = |lane: usize| self.numbers[lane] << self.given >> 63 << lane;
            let word = (0..64).map(bit).sum();
            self.given += 1;
            word
        }

        fn is_secure(&self) -> bool {
            false
        }
    }

    /// Exactly `lies` of the 2^64 words lie.
    #[test]
    fn as_many_words_lie() {
        let coin = Coin { lies: 1 << 61 };
        assert!(coin.lies_on(0) && coin.lies_on(coin.lies() - 1) && !coin.lies_on(coin.lies()));
    }

    /// Every lane decides as one comparison does, whatever the numbers: around the border, with long common beginnings,
    /// and the extremes.
    #[test]
    fn lanes_are_comparisons() {
        let borders = [1, 2, 1 << 63, (1 << 63) - 1, 0x5555_5555_5555_5555, 0xaaaa_aaaa_aaaa_aaaa, 3 << 40, u64::MAX];
        for lies in borders {
            let coin = Coin { lies };
            for turn in 0..64u64 {
                let number = |lane: u64| match (lane + turn) % 8 {
                    0 => lies,
                    1 => lies - 1,
                    2 => lies.saturating_add(1),
                    3 => lies ^ (1 << turn),
                    4 => lies ^ (1 << lane),
                    5 => 0,
                    6 => u64::MAX,
                    _ => (lane + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ turn,
                };
                let numbers = std::array::from_fn(|lane| number(lane as u64));
                let expected = (0..64).map(|lane| u64::from(coin.lies_on(numbers[lane])) << lane).sum::<u64>();
                assert_eq!(coin.lies_of_64(&mut Lanes { numbers, given: 0 }), expected, "{lies:x} {turn}");
            }
        }
    }
}
