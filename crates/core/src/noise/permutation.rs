//! Uniformly random permutations (Fisher and Yates, with exact uniform integers).

use super::source::BitSource;
use super::uniform::below;

/// Puts `items` into a uniformly random order.
///
/// ```
/// use scumble::noise::{InsecureSeededSource, permutation};
/// let mut bits = InsecureSeededSource::new(1);
/// let mut cards = ["king", "queen", "jack"];
/// permutation::shuffle(&mut bits, &mut cards);
/// cards.sort();
/// assert_eq!(cards, ["jack", "king", "queen"]);
/// ```
pub fn shuffle<S: BitSource + ?Sized, T>(bits: &mut S, items: &mut [T]) {
    for end in (1..items.len()).rev() {
        let other = below(bits, end as u64 + 1) as usize;
        items.swap(end, other);
    }
}

/// A uniformly random permutation of 0, …, count − 1.
///
/// ```
/// use scumble::noise::{InsecureSeededSource, permutation};
/// let mut bits = InsecureSeededSource::new(1);
/// assert_eq!(permutation::of(&mut bits, 5).len(), 5);
/// ```
pub fn of<S: BitSource + ?Sized>(bits: &mut S, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    shuffle(bits, &mut order);
    order
}
