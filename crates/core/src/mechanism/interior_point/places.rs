//! Keys of up to 128 bits, each perhaps followed by a few random bits that break ties, as the leaves of a binary tree.

use crate::mechanism::huge_domain::Keys;
use crate::mechanism::piecewise::Segment;
use crate::noise::{BitSource, uniform};
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive};

/// A key and what breaks its ties; ordered by the key first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::mechanism) struct Place {
    pub(in crate::mechanism) key: u128,
    pub(in crate::mechanism) tie: u32,
}

/// All places with this many bits in their keys (up to 128) and in what breaks their ties (up to 32).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mechanism) struct Places {
    key_bits: u32,
    tie_bits: u32,
}

impl Places {
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

    pub(in crate::mechanism) fn first(self) -> Place {
        Place { key: 0, tie: 0 }
    }

    pub(in crate::mechanism) fn last(self) -> Place {
        Place { key: ones(self.key_bits), tie: ones(self.tie_bits) as u32 }
    }

    /// The key at a random one of its places.
    pub(in crate::mechanism) fn place_of<S: BitSource + ?Sized>(self, key: u128, bits: &mut S) -> Place {
        Place { key, tie: bits.next_bits(self.tie_bits) as u32 }
    }

    /// The last place of a key.
    pub(in crate::mechanism) fn last_of(self, key: u128) -> Place {
        Place { key, tie: self.last().tie }
    }

    /// The place before; the first one has none and is given back.
    pub(in crate::mechanism) fn before(self, place: Place) -> Place {
        match (place.tie, place.key) {
            (0, 0) => place,
            (0, key) => self.last_of(key - 1),
            (tie, key) => Place { key, tie: tie - 1 },
        }
    }

    /// The place after, if there is one.
    pub(in crate::mechanism) fn after(self, place: Place) -> Option<Place> {
        if place >= self.last() {
            return None;
        }
        Some(if place.tie < self.last().tie {
            Place { tie: place.tie + 1, ..place }
        } else {
            Place { key: place.key + 1, tie: 0 }
        })
    }

    /// How many places a segment has.
    pub(in crate::mechanism) fn length(self, segment: &Segment<Place>) -> BigUint {
        self.number(segment.last) - self.number(segment.first) + 1u32
    }

    /// A uniformly random place of a segment.
    pub(in crate::mechanism) fn draw_from<S: BitSource + ?Sized>(
        self,
        segment: &Segment<Place>,
        bits: &mut S,
    ) -> Place {
        let number = self.number(segment.first) + uniform::below(bits, &self.length(segment));
        let key = (&number >> self.tie_bits).to_u128().unwrap_or(segment.last.key);
        let tie = (number & BigUint::from(ones(self.tie_bits))).to_u32().unwrap_or(0);
        Place { key, tie }
    }

    fn number(self, place: Place) -> BigUint {
        (BigUint::from(place.key) << self.tie_bits) + place.tie
    }

    /// The nodes of a level (0 holds the leaves) are the places without their `level` lowest bits.
    pub(in crate::mechanism) fn nodes(self, level: u32) -> Self {
        let off_ties = level.min(self.tie_bits);
        Self { tie_bits: self.tie_bits - off_ties, key_bits: self.key_bits.saturating_sub(level - off_ties) }
    }

    /// The node of a level that a place lies in.
    pub(in crate::mechanism) fn node(self, place: Place, level: u32) -> Place {
        let off_ties = level.min(self.tie_bits);
        let key = place.key.checked_shr(level - off_ties).unwrap_or(0);
        Place { key, tie: place.tie.checked_shr(off_ties).unwrap_or(0) }
    }

    /// The first and the last place of a node.
    pub(in crate::mechanism) fn ends(self, node: Place, level: u32) -> (Place, Place) {
        let off_ties = level.min(self.tie_bits);
        let off_key = level - off_ties;
        let key = node.key.checked_shl(off_key).unwrap_or(0);
        let tie = node.tie.checked_shl(off_ties).unwrap_or(0);
        (Place { key, tie }, Place { key: key | ones(off_key), tie: tie | ones(off_ties) as u32 })
    }
}

impl Keys for Places {
    type Key = Place;

    fn count(&self) -> BigUint {
        BigUint::one() << self.bits()
    }

    fn draw<S: BitSource + ?Sized>(&self, bits: &mut S) -> Place {
        let (high, low) = (bits.next_u64(), bits.next_u64());
        let key = (u128::from(high) << 64 | u128::from(low)).checked_shr(128 - self.key_bits).unwrap_or(0);
        self.place_of(key, bits)
    }

    fn list(&self) -> Vec<Place> {
        let ties = self.last().tie;
        (0..=self.last().key).flat_map(|key| (0..=ties).map(move |tie| Place { key, tie })).collect()
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
            let places = Places::new(key_bits, tie_bits);
            let all = places.list();
            assert_eq!(BigUint::from(all.len()), places.count());
            assert_eq!((all[0], all[all.len() - 1]), (places.first(), places.last()));
            for pair in all.windows(2) {
                assert_eq!((places.after(pair[0]), places.before(pair[1])), (Some(pair[1]), pair[0]));
            }
            assert_eq!(places.after(places.last()), None);
            for level in 0..=places.bits() {
                let width = 1usize << level;
                assert_eq!(places.nodes(level).list().len(), all.len() / width);
                for (held, node) in all.chunks(width).zip(places.nodes(level).list()) {
                    assert!(held.iter().all(|place| places.node(*place, level) == node));
                    assert_eq!(places.ends(node, level), (held[0], held[width - 1]));
                }
            }
        }
    }

    #[test]
    fn the_largest_tree_has_no_overflow() {
        let places = Places::new(128, 32);
        let middle = Place { key: 1 << 127, tie: 5 };
        assert_eq!(places.node(middle, 160), places.first());
        assert_eq!(places.ends(places.first(), 160), (places.first(), places.last()));
        assert_eq!(places.node(middle, 159), Place { key: 1, tie: 0 });
        assert_eq!(places.ends(Place { key: 1, tie: 0 }, 159), (Place { key: 1 << 127, tie: 0 }, places.last()));
        assert_eq!(places.nodes(32).bits(), 128);
        let everything = Segment { first: places.first(), last: places.last(), distance: 0 };
        assert_eq!(places.length(&everything), places.count());
        let one = Segment { first: middle, last: middle, distance: 0 };
        let mut bits = InsecureSeededSource::new(1);
        assert_eq!(places.draw_from(&one, &mut bits), middle);
        // A random key of 128 bits has a bit among its 64 highest except with probability 2^{−64}.
        assert!(places.draw_from(&everything, &mut bits).key >> 64 > 0);
        assert!(places.draw(&mut bits).key >> 64 > 0);
    }
}
