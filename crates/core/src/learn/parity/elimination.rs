//! Linear equations over GF(2), 64 unknowns in a word.

use crate::noise::BitSource;

/// Equations in echelon form: at each unknown at most one whose lowest unknown it is. Once there is one at each, the
/// solution is known, and an equation is checked instead of reduced.
pub(super) struct Equations {
    unknowns: usize,
    at: Vec<Option<(Vec<u64>, bool)>>,
    pub(super) rank: usize,
    only: Option<Vec<u64>>,
}

impl Equations {
    pub(super) fn new(unknowns: usize) -> Self {
        Self { unknowns, at: vec![None; unknowns], rank: 0, only: None }
    }

    /// Adds ⟨row, unknowns⟩ = value; false if no solution is left.
    pub(super) fn add(&mut self, row: &[u64], value: bool) -> bool {
        if let Some(only) = &self.only {
            return dot(row, only) == value;
        }
        let (mut row, mut value) = (row.to_vec(), value);
        for word in 0..row.len() {
            while row[word] != 0 {
                let lowest = 64 * word + row[word].trailing_zeros() as usize;
                let Some((other, sum)) = &self.at[lowest] else {
                    self.at[lowest] = Some((row, value));
                    self.rank += 1;
                    if self.rank == self.unknowns {
                        self.only = Some(self.solved(vec![0; self.unknowns.div_ceil(64)]));
                    }
                    return true;
                };
                // All unknowns below are gone already.
                row[word..].iter_mut().zip(&other[word..]).for_each(|(a, b)| *a ^= b);
                value ^= sum;
            }
        }
        !value
    }

    /// A uniformly random solution: random bits for the free unknowns.
    pub(super) fn solution<S: BitSource + ?Sized>(&self, bits: &mut S) -> Vec<u64> {
        let mut random = vec![0u64; self.unknowns.div_ceil(64)];
        for unknown in (0..self.unknowns).filter(|unknown| self.at[*unknown].is_none()) {
            random[unknown / 64] |= bits.next_bits(1) << (unknown % 64);
        }
        self.solved(random)
    }

    /// The solution with these values of the free unknowns; an equation's other unknowns stand above its lowest one.
    fn solved(&self, mut values: Vec<u64>) -> Vec<u64> {
        for (unknown, equation) in self.at.iter().enumerate().rev() {
            if let Some((row, sum)) = equation {
                let is_one = dot(row, &values) != *sum;
                values[unknown / 64] |= u64::from(is_one) << (unknown % 64);
            }
        }
        values
    }
}

fn dot(left: &[u64], right: &[u64]) -> bool {
    left.iter().zip(right).fold(0, |sum, (a, b)| sum ^ (a & b)).count_ones() % 2 == 1
}
