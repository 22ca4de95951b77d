//! Bit sources for tests: one that reads a script, and one that goes through all that a sampler can do.

use super::{BitSource, InsecureSeededSource};
use num_bigint::BigUint;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};
use std::collections::BTreeMap;

/// The bits of a number, most significant first, and then the bits of a fixed seed.
pub(super) struct ScriptedBits {
    number: BigUint,
    length: u64,
    used: u64,
    rest: InsecureSeededSource,
}

impl ScriptedBits {
    pub(super) fn new(number: BigUint, length: u64) -> Self {
        Self { number, length, used: 0, rest: InsecureSeededSource::new(0) }
    }

    pub(super) fn used(&self) -> u64 {
        self.used
    }
}

impl BitSource for ScriptedBits {
    fn next_u64(&mut self) -> u64 {
        self.next_bits(64)
    }

    fn next_bits(&mut self, count: u32) -> u64 {
        let mut word = 0;
        for _ in 0..count {
            let bit = match self.length.checked_sub(self.used + 1) {
                Some(place) => u64::from(self.number.bit(place)),
                None => self.rest.next_bits(1),
            };
            self.used += 1;
            word = word << 1 | bit;
        }
        word
    }

    fn is_secure(&self) -> bool {
        false
    }
}

/// Follows one path of a decision tree, extending it with zeros down to a depth; beyond that, arbitrary bits.
struct DecisionPath {
    bits: Vec<bool>,
    used: usize,
    depth: usize,
    beyond: InsecureSeededSource,
}

impl BitSource for DecisionPath {
    fn next_u64(&mut self) -> u64 {
        self.next_bits(64)
    }

    fn next_bits(&mut self, count: u32) -> u64 {
        let mut word = 0;
        for _ in 0..count {
            let bit = if self.used >= self.depth {
                self.beyond.next_bits(1) == 1
            } else {
                if self.used == self.bits.len() {
                    self.bits.push(false);
                }
                self.bits[self.used]
            };
            self.used += 1;
            word = word << 1 | u64::from(bit);
        }
        word
    }

    fn is_secure(&self) -> bool {
        false
    }
}

/// Every outcome of `sampler` with the exact mass of the bit strings of at most `depth` bits that lead to it, and the
/// mass of those that were cut off.
pub(super) fn decision_tree<T: Ord>(
    depth: usize,
    mut sampler: impl FnMut(&mut dyn BitSource) -> T,
) -> (BTreeMap<T, BigRational>, BigRational) {
    let mut outcomes: BTreeMap<T, u64> = BTreeMap::new();
    let mut cut_off = 0u64;
    let mut bits = Vec::new();
    loop {
        let mut path = DecisionPath { bits, used: 0, depth, beyond: InsecureSeededSource::new(99) };
        let outcome = sampler(&mut path);
        let mass = 1u64 << (depth - path.bits.len());
        if path.used > depth {
            cut_off += mass;
        } else {
            *outcomes.entry(outcome).or_default() += mass;
        }
        bits = path.bits;
        while bits.last() == Some(&true) {
            bits.pop();
        }
        match bits.last_mut() {
            Some(last) => *last = true,
            None => break,
        }
    }
    let ratio = |mass: u64| BigRational::new(mass.into(), num_bigint::BigInt::one() << depth);
    (outcomes.into_iter().map(|(outcome, mass)| (outcome, ratio(mass))).collect(), ratio(cut_off))
}

/// Checks that the tree's masses are `probability(outcome)` except for what was cut off, which must be below
/// `largest_cut`.
pub(super) fn check_tree<T: Ord + std::fmt::Debug>(
    depth: usize,
    largest_cut: f64,
    sampler: impl FnMut(&mut dyn BitSource) -> T,
    probability: impl Fn(&T) -> f64,
) {
    let (outcomes, cut_off) = decision_tree(depth, sampler);
    let cut = cut_off.to_f64().unwrap();
    assert!(cut <= largest_cut, "{cut} of the tree was cut off");
    let total: BigRational = outcomes.values().fold(BigRational::zero(), |sum, mass| sum + mass) + &cut_off;
    assert!(total.is_one());
    for (outcome, mass) in &outcomes {
        let (low, expected) = (mass.to_f64().unwrap(), probability(outcome));
        let slack = 1e-12;
        assert!(
            low <= expected + slack && expected <= low + cut + slack,
            "{outcome:?}: {low} (+{cut}) is not {expected}"
        );
    }
}
