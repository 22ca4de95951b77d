//! Noise scales by level: what noise that follows the data's own sensitivity may be drawn with.
//!
//! γ = 1 + 1/g for a whole g. Level l stands for a sensitivity of up to ⌊γ^l⌋ and for the noise scale
//! s_l = ⌈16·γ^l/α⌉/16, where γ^l is the fixed-point number t_l/2^64 with t_0 = 2^64 and t_{l+1} = t_l + ⌊t_l/g⌋.
//! Nothing depends on what a power of γ really is: the table is public, does not fall, and the loss is computed from
//! the scales that are in it. A scale of more than 53 bits is rounded up to the next f64.

use crate::error::{Error, Result};
use crate::quantity::Scale;
use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::ToPrimitive;

/// More levels than this are refused.
const MOST_LEVELS: u32 = 1_000_000;
/// t_l stays below 2^127.
const LARGEST_REACH: u64 = 1 << 62;
/// In sixteenths: a scale of 1e18.
const LARGEST_SIXTEENTHS: u64 = 16_000_000_000_000_000_000;

/// The table of levels 0, …, `last`.
///
/// ```
/// use scumble::noise::Levels;
/// let levels = Levels::new(8, (1, 3), 24)?;
/// assert_eq!((levels.scale(0).get(), levels.scale(1).get()), (3.0, 3.375));
/// assert_eq!((levels.level_of(1), levels.level_of(16), levels.reach(24)), (0, 24, 16));
/// assert!(Levels::new(0, (1, 3), 24).is_err() && Levels::new(8, (0, 3), 24).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    reaches: Vec<u64>,
    scales: Vec<Scale>,
}

impl Levels {
    /// γ = 1 + 1/`growth`, α = numerator/denominator, and the last level.
    pub fn new(growth: u32, alpha: (u32, u32), last: u32) -> Result<Self> {
        let (above, below) = alpha;
        if growth == 0 || above == 0 || below == 0 || last > MOST_LEVELS {
            refuse!(
                "levels of noise need gamma above 1, alpha above 0 and at most {MOST_LEVELS} levels: raise epsilon or lower the range"
            );
        }
        let mut powers = powers(growth);
        let (mut reaches, mut scales) = (Vec::new(), Vec::new());
        for _ in 0..=last {
            let Some(power) = powers.next() else {
                refuse!("{last} levels go beyond a sensitivity of 2^62: lower the levels or gamma")
            };
            reaches.push((power >> 64) as u64);
            scales.push(scale(power, above, below)?);
        }
        Ok(Self { reaches, scales })
    }

    /// The least level whose reach is at least `most`: the last one of a query whose sensitivity is never above that.
    ///
    /// ```
    /// use scumble::noise::Levels;
    /// assert_eq!(Levels::last_for(8, 100)?, 40);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn last_for(growth: u32, most: u64) -> Result<u32> {
        let enough = (growth > 0 && most < LARGEST_REACH)
            .then(|| powers(growth).take(MOST_LEVELS as usize + 1).position(|power| (power >> 64) as u64 >= most));
        enough.flatten().map(|level| level as u32).ok_or_else(|| {
            Error::refused(format!(
                "a sensitivity of up to {most} needs more than {MOST_LEVELS} levels, or 2^62: raise epsilon or lower the range"
            ))
        })
    }

    /// The last level.
    pub fn last(&self) -> u32 {
        (self.reaches.len() - 1) as u32
    }

    /// ⌊γ^level⌋: how far neighbours move an answer at most at this level; that of the last level beyond it.
    pub fn reach(&self, level: u32) -> u64 {
        self.reaches[level.min(self.last()) as usize]
    }

    /// The noise scale of a level; that of the last level beyond it.
    pub fn scale(&self, level: u32) -> Scale {
        self.scales[level.min(self.last()) as usize]
    }

    /// The least level whose reach is at least `sensitivity`; the last one if none is.
    pub fn level_of(&self, sensitivity: u64) -> u32 {
        (self.reaches.partition_point(|reach| *reach < sensitivity) as u32).min(self.last())
    }

    /// The smooth level: the largest of 0 and `level_of(A_k) − k`, where `bound(k)` = A_k does not fall as k grows.
    ///
    /// # Guarantee
    /// If A_k(x) ≤ A_{k+1}(x′) for neighbours x and x′, and no A_k exceeds the last level's reach, their levels differ
    /// by at most 1: from k to k + 1 a term loses 1, and those with k at the last level are not positive. If answers of
    /// neighbours differ by at most A_0, that is at most the reach of the smaller of the two levels.
    pub fn smooth(&self, bound: impl Fn(u64) -> u64) -> u32 {
        let mut level = 0;
        for k in 0..=self.last() {
            // No later term can exceed last − k.
            if self.last() - k <= level {
                break;
            }
            level = level.max(self.level_of(bound(k.into())).saturating_sub(k));
        }
        level
    }
}

/// t_0, t_1, …, as long as they are below 2^126.
fn powers(growth: u32) -> impl Iterator<Item = u128> {
    std::iter::successors(Some(1u128 << 64), move |power| {
        Some(power + power / u128::from(growth)).filter(|next| next >> 64 < u128::from(LARGEST_REACH))
    })
}

fn scale(power: u128, above: u32, below: u32) -> Result<Scale> {
    let (top, unit) = (BigUint::from(power) * 16u32 * below, BigUint::from(above) << 64u32);
    let sixteenths = top.div_ceil(&unit).to_u64().filter(|sixteenths| *sixteenths <= LARGEST_SIXTEENTHS);
    let sixteenths =
        sixteenths.ok_or_else(|| Error::refused("noise of a scale above 1e18: raise alpha or lower the range"))?;
    let nearest = sixteenths as f64;
    Scale::new(if (nearest as u128) < u128::from(sixteenths) { nearest.next_up() } else { nearest } / 16.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_those_of_the_rationals() {
        for (growth, alpha) in [(8u32, (1u32, 3u32)), (32, (7, 20)), (1, (5, 2)), (1000, (366_609, 1_000_000))] {
            let levels = Levels::new(growth, alpha, 40).unwrap();
            let mut power = BigUint::from(1u32) << 64u32;
            for level in 0..=40 {
                assert_eq!(BigUint::from(levels.reach(level)), &power >> 64u32);
                // s − 1/16 < γ^l/α ≤ s.
                let sixteenths = BigUint::from((levels.scale(level).get() * 16.0) as u64);
                let left = &power * 16u32 * alpha.1;
                let unit = BigUint::from(alpha.0) << 64u32;
                assert!(&sixteenths * &unit >= left && (&sixteenths - 1u32) * &unit < left);
                power += &power / growth;
            }
        }
    }

    #[test]
    fn the_ends_are_refused_or_right() {
        assert_eq!(Levels::last_for(8, 0).unwrap(), 0);
        assert_eq!(Levels::last_for(8, 1).unwrap(), 0);
        let last = Levels::last_for(3, LARGEST_REACH / 2).unwrap();
        assert!(Levels::new(3, (1, 1), last).is_err(), "a scale of 2^61 is above 1e18");
        assert!(Levels::new(3, (100, 1), last).is_ok());
        assert!(Levels::last_for(3, LARGEST_REACH).is_err() && Levels::new(3, (100, 1), last + 9).is_err());
        assert!(Levels::last_for(0, 5).is_err() && Levels::new(8, (1, 0), 1).is_err());
        assert!(Levels::last_for(u32::MAX, 5).is_err() && Levels::new(8, (1, 1), MOST_LEVELS + 1).is_err());
        // Large scales are rounded up to f64.
        let large = Levels::new(1, (3, 1000), 50).unwrap();
        assert!(large.scale(50).get() * 3.0 >= 2f64.powi(50) * 1000.0);
    }
}
