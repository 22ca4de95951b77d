//! Uniformly random subsets of a given size, and Poisson samples.

use super::bernoulli;
use super::source::BitSource;
use super::uniform::below;
use crate::error::Result;
use crate::quantity::Rate;
use std::collections::BTreeSet;

/// A uniformly random set of `size` of the numbers 0, …, universe − 1, in increasing order. Time and memory go with
/// `size`.
///
/// Floyd's algorithm (Bentley and Floyd, 1987): for each j of the last `size` numbers, a uniform number up to j is
/// taken, or j itself if that one is already in.
///
/// ```
/// use scumble::noise::{InsecureSeededSource, subset};
/// let mut bits = InsecureSeededSource::new(1);
/// assert_eq!(subset::of_size(&mut bits, 1 << 60, 10)?.len(), 10);
/// assert!(subset::of_size(&mut bits, 3, 4).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn of_size<S: BitSource + ?Sized>(bits: &mut S, universe: u64, size: u64) -> Result<Vec<u64>> {
    refuse_if!(size > universe, "a subset of {size} needs a universe of at least {size}, not {universe}");
    let mut chosen = BTreeSet::new();
    for newest in universe - size..universe {
        let candidate = if newest == u64::MAX { bits.next_u64() } else { below(bits, newest + 1) };
        if !chosen.insert(candidate) {
            chosen.insert(newest);
        }
    }
    Ok(chosen.into_iter().collect())
}

/// Each of 0, …, universe − 1 independently with probability `rate`, in increasing order.
///
/// ```
/// use scumble::noise::{InsecureSeededSource, subset};
/// use scumble::quantity::Rate;
/// let mut bits = InsecureSeededSource::new(1);
/// assert!(subset::poisson(&mut bits, 100, Rate::new(0.0)?).is_empty());
/// assert_eq!(subset::poisson(&mut bits, 100, Rate::new(1.0)?).len(), 100);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn poisson<S: BitSource + ?Sized>(bits: &mut S, universe: usize, rate: Rate) -> Vec<usize> {
    let chance = super::Fraction::of_checked(rate.get());
    (0..universe).filter(|_| bernoulli::rational(bits, &chance)).collect()
}
