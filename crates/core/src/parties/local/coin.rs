//! The coin of the local model: a lie with probability 1/(e^ε+1), as a whole number of 2^−64.

use super::outward;
use crate::error::{Error, Result};
use crate::noise::BitSource;
use crate::noise::refine::Precision;
use crate::quantity::{Epsilon, Exact};
use num_bigint::BigUint;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive};

/// A lie with probability `lies`/2^64, the least such number that is not below 1/(e^ε+1): so the loss ln((2^64 − lies)/lies) is at most ε.
///
/// ```
/// use scumble::parties::local::Coin;
/// use scumble::quantity::Epsilon;
/// let coin = Coin::new(Epsilon::new(1.0)?)?;
/// assert!(coin.loss() <= 1.0 && coin.loss() > 1.0 - 1e-15);
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
            return Err(Error::refused(format!("epsilon of a report must be a number in [1e-9, 40], not {epsilon}")));
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

    pub(super) fn lies_on(&self, drawn: u64) -> bool {
        drawn < self.lies
    }

    /// How many of the 2^64 draws are lies.
    pub fn lies(&self) -> u64 {
        self.lies
    }

    /// ln((2^64 − lies)/lies), to the nearest.
    pub fn loss(&self) -> f64 {
        (self.gap() / self.lie()).ln_1p()
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
