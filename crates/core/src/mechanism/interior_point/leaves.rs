//! Keys of up to 128 bits, each perhaps followed by a few random bits that break ties, as the leaves of a binary tree.

use crate::mechanism::huge_domain::KeyUniverse;
use crate::mechanism::piecewise::Segment;
use crate::noise::{BitSource, uniform};
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive};

/// A key and what breaks its ties; ordered by the key first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::mechanism) struct Leaf {
    pub(in crate::mechanism) key: u128,
    pub(in crate::mechanism) tie: u32,
}

/// All leaves with this many bits in their keys (up to 128) and in what breaks their ties (up to 32).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mechanism) struct Leaves {
    key_bits: u32,
    tie_bits: u32,
}

impl Leaves {
    /// Before: at most 128 and at most 32 bits.
    pub(in crate::mechanism) fn new(key_bits: u32, tie_bits: u32) -> Self {
        Self { key_bits: key_bits.min(128), tie_bits: tie_bits.min(32) }
    }

    /// How many levels the tree has above its leaves.
    pub(in crate::mechanism) fn bits(self) -> u32 {
        self.key_bits + self.tie_bits
    }

    pub(in crate::mechanism) fn tie_bits(self) -> u32 {
        self.tie_bits
    }

    pub(in crate::mechanism) fn first(self) -> Leaf {
        Leaf { key: 0, tie: 0 }
    }

    pub(in crate::mechanism) fn last(self) -> Leaf {
        Leaf { key: ones(self.key_bits), tie: ones(self.tie_bits) as u32 }
    }

    /// The key at a random one of its leaves.
    pub(in crate::mechanism) fn place_of<S: BitSource + ?Sized>(self, key: u128, bits: &mut S) -> Leaf {
        Leaf { key, tie: bits.next_bits(self.tie_bits) as u32 }
    }

    /// The last place of a key.
    pub(in crate::mechanism) fn last_of(self, key: u128) -> Leaf {
        Leaf { key, tie: self.last().tie }
    }

    /// The place before; the first one has none and is given back.
    pub(in crate::mechanism) fn before(self, place: Leaf) -> Leaf {
        match (place.tie, place.key) {
            (0, 0) => place,
            (0, key) => self.last_of(key - 1),
            (tie, key) => Leaf { key, tie: tie - 1 },
        }
    }

    /// The place after, if there is one.
    pub(in crate::mechanism) fn after(self, place: Leaf) -> Option<Leaf> {
        if place >= self.last() {
            return None;
        }
        Some(if place.tie < self.last().tie {
            Leaf { tie: place.tie + 1, ..place }
        } else {
            Leaf { key: place.key + 1, tie: 0 }
        })
    }

    /// How many leaves a segment has.
    pub(in crate::mechanism) fn length(self, segment: &Segment<Leaf>) -> BigUint {
        self.number(segment.last) - self.number(segment.first) + 1u32
    }

    /// A uniformly random place of a segment.
    pub(in crate::mechanism) fn draw_from<S: BitSource + ?Sized>(self, segment: &Segment<Leaf>, bits: &mut S) -> Leaf {
        let number = self.number(segment.first) + uniform::below(bits, &self.length(segment));
        let key = (&number >> self.tie_bits).to_u128().unwrap_or(segment.last.key);
        let tie = (number & BigUint::from(ones(self.tie_bits))).to_u32().unwrap_or(0);
        Leaf { key, tie }
    }

    fn number(self, place: Leaf) -> BigUint {
        (BigUint::from(place.key) << self.tie_bits) + place.tie
    }

    /// The nodes of a level (0 holds the leaves) are the leaves without their `level` lowest bits.
    pub(in crate::mechanism) fn nodes(self, level: u32) -> Self {
        let off_ties = level.min(self.tie_bits);
        Self { tie_bits: self.tie_bits - off_ties, key_bits: self.key_bits.saturating_sub(level - off_ties) }
    }

    /// The node of a level that a place lies in.
    pub(in crate::mechanism) fn node(self, place: Leaf, level: u32) -> Leaf {
        let off_ties = level.min(self.tie_bits);
        let key = place.key.checked_shr(level - off_ties).unwrap_or(0);
        Leaf { key, tie: place.tie.checked_shr(off_ties).unwrap_or(0) }
    }

    /// The first and the last place of a node.
    pub(in crate::mechanism) fn ends(self, node: Leaf, level: u32) -> (Leaf, Leaf) {
        let off_ties = level.min(self.tie_bits);
        let off_key = level - off_ties;
        let key = node.key.checked_shl(off_key).unwrap_or(0);
        let tie = node.tie.checked_shl(off_ties).unwrap_or(0);
        (Leaf { key, tie }, Leaf { key: key | ones(off_key), tie: tie | ones(off_ties) as u32 })
    }
}

impl KeyUniverse for Leaves {
    type Key = Leaf;

    fn count(&self) -> BigUint {
        BigUint::one() << self.bits()
    }

    fn draw<S: BitSource + ?Sized>(&self, bits: &mut S) -> Leaf {
        let (high, low) = (bits.next_u64(), bits.next_u64());
        let key = (u128::from(high) << 64 | u128::from(low)).checked_shr(128 - self.key_bits).unwrap_or(0);
        self.place_of(key, bits)
    }

    fn list(&self) -> Vec<Leaf> {
        let ties = self.last().tie;
        (0..=self.last().key).flat_map(|key| (0..=ties).map(move |tie| Leaf { key, tie })).collect()
    }
}

/// 2^bits − 1, for up to 128 bits.
fn ones(bits: u32) -> u128 {
    u128::MAX.checked_shr(128 - bits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::InsecureSeededSource;

    #[test]
    fn nodes_are_intervals_of_places_that_follow_one_another() {
        for (key_bits, tie_bits) in [(3, 0), (2, 2), (0, 3), (1, 1)] {
            let leaves = Leaves::new(key_bits, tie_bits);
            let all = leaves.list();
            assert_eq!(BigUint::from(all.len()), leaves.count());
            assert_eq!((all[0], all[all.len() - 1]), (leaves.first(), leaves.last()));
            for pair in all.windows(2) {
                assert_eq!((leaves.after(pair[0]), leaves.before(pair[1])), (Some(pair[1]), pair[0]));
            }
            assert_eq!(leaves.after(leaves.last()), None);
            for level in 0..=leaves.bits() {
                let width = 1usize << level;
                assert_eq!(leaves.nodes(level).list().len(), all.len() / width);
                for (held, node) in all.chunks(width).zip(leaves.nodes(level).list()) {
                    assert!(held.iter().all(|place| leaves.node(*place, level) == node));
                    assert_eq!(leaves.ends(node, level), (held[0], held[width - 1]));
                }
            }
        }
    }

    #[test]
    fn the_largest_tree_has_no_overflow() {
        let leaves = Leaves::new(128, 32);
        let middle = Leaf { key: 1 << 127, tie: 5 };
        assert_eq!(leaves.node(middle, 160), leaves.first());
        assert_eq!(leaves.ends(leaves.first(), 160), (leaves.first(), leaves.last()));
        assert_eq!(leaves.node(middle, 159), Leaf { key: 1, tie: 0 });
        assert_eq!(leaves.ends(Leaf { key: 1, tie: 0 }, 159), (Leaf { key: 1 << 127, tie: 0 }, leaves.last()));
        assert_eq!(leaves.nodes(32).bits(), 128);
        let everything = Segment { first: leaves.first(), last: leaves.last(), distance: 0 };
        assert_eq!(leaves.length(&everything), leaves.count());
        let one = Segment { first: middle, last: middle, distance: 0 };
        let mut bits = InsecureSeededSource::new(1);
        assert_eq!(leaves.draw_from(&one, &mut bits), middle);
        // A random key of 128 bits has a bit among its 64 highest except with probability 2^{−64}.
        assert!(leaves.draw_from(&everything, &mut bits).key >> 64 > 0);
        assert!(leaves.draw(&mut bits).key >> 64 > 0);
    }
}
