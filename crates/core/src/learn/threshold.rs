//! Threshold functions over d-bit numbers: x ↦ 1 if x ≥ z (Theorem 33 of \[GKMS\], corrected).
//!
//! Four steps, each with its own ε: are almost all labels equal; how long a prefix is still polarised (people of both
//! labels share it); which prefix that is, by heavy hitters; and which of the three thresholds next to it errs least.
//! The paper swaps the outputs of the first step, gives the binary search too little noise for its ⌈log₂(d+1)⌉ tests,
//! and inherits the constants of its heavy hitters.

use super::exponential_choice;
use crate::calibrate::up;
use crate::error::Result;
use crate::mechanism::heavy_hitters::{HeavyHitters, JoinShape, ThresholdRule, Tree};
use crate::noise::{BitSource, DiscreteLaplace, Fraction};
use crate::quantity::{Epsilon, Scale, Upper};

/// The parts of the budget, and the accuracy α that is sought.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThresholdLearner {
    /// For the number of ones: only the label pays.
    pub balance: Epsilon,
    /// For the length of the prefix.
    pub length: Epsilon,
    /// For the prefix itself: for a change of one attribute.
    pub prefix: Epsilon,
    /// For the last choice.
    pub choice: Epsilon,
    /// α: the error that is sought.
    pub accuracy: f64,
}

/// A threshold: 1 for all x ≥ `from`; `from` = 0 is the constant 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    /// The least number with label 1.
    pub from: u64,
}

const MOST_BITS: u32 = 62;

impl ThresholdLearner {
    /// ε for a change of one bit of one person's number.
    ///
    /// # Guarantee
    /// Holds for datasets of the same size. The largest polarised count moves by at most 1, and so do the errors of
    /// each threshold.
    pub fn epsilon_feature(&self) -> Upper {
        Upper::of(up(self.length.get() + self.prefix.get() + self.choice.get()))
    }

    /// ε for a change of one person's label.
    ///
    /// # Guarantee
    /// As [`ThresholdLearner::epsilon_feature`]; the label also pays for the number of ones.
    pub fn epsilon_label(&self) -> Upper {
        Upper::of(up(self.balance.get() + self.length.get() + self.prefix.get() + self.choice.get()))
    }

    /// ε for the replacement of a person, for numbers of `bits` bits: only the heavy hitters cost more than for one
    /// attribute.
    ///
    /// # Guarantee
    /// As [`ThresholdLearner::epsilon_feature`], for datasets of the same size that differ in one person.
    pub fn epsilon_person(&self, bits: u32) -> Result<Upper> {
        let mut heavy = 0.0f64;
        for length in 1..=bits {
            heavy = heavy.max(self.tree(length, 1000)?.epsilon_person().get());
        }
        Ok(Upper::of(up(self.balance.get() + self.length.get() + heavy + self.choice.get())))
    }

    /// Learns from numbers of `bits` bits and their labels.
    ///
    /// # Guarantee
    /// [`ThresholdLearner::epsilon_feature`], [`ThresholdLearner::epsilon_label`] and
    /// [`ThresholdLearner::epsilon_person`]; all noise is exact.
    ///
    /// ```
    /// use scumble::learn::threshold::ThresholdLearner;
    /// use scumble::noise::InsecureSeededSource;
    /// use scumble::quantity::Epsilon;
    /// let one = Epsilon::new(1.0)?;
    /// let learner = ThresholdLearner { balance: one, length: one, prefix: one, choice: one, accuracy: 0.2 };
    /// let numbers: Vec<u64> = (0..40_000).map(|i| i * 37 % 1024).collect();
    /// let labels: Vec<bool> = numbers.iter().map(|&x| x >= 600).collect();
    /// let learnt = learner.learn(&numbers, &labels, 10, &mut InsecureSeededSource::new(1))?;
    /// let wrong = numbers.iter().zip(&labels).filter(|(x, label)| (**x >= learnt.from) != **label).count();
    /// assert!(wrong < 8_000);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn learn<S: BitSource + ?Sized>(
        &self,
        numbers: &[u64],
        labels: &[bool],
        bits: u32,
        source: &mut S,
    ) -> Result<Threshold> {
        self.check(numbers, labels, bits)?;
        let people = numbers.len() as f64;
        let ones = labels.iter().filter(|label| **label).count() as i64;
        let noisy = laplace(1.0 / self.balance.get())?.add_to(ones, source) as f64;
        let largest = (1u64 << bits) - 1;
        if noisy <= self.accuracy * people / 2.0 {
            return Ok(Threshold { from: largest });
        }
        if noisy >= (1.0 - self.accuracy / 2.0) * people {
            return Ok(Threshold { from: 0 });
        }
        let length = self.polarised_length(numbers, labels, bits, source)?;
        let prefix = self.polarised_prefix(numbers, labels, bits, length, source)?;
        let rest = bits - length;
        let start = prefix << rest;
        let mut candidates = vec![start, start + ((1u64 << rest) - 1)];
        if rest > 0 {
            candidates.push(start + (1u64 << (rest - 1)));
        }
        let errors =
            |from: u64| numbers.iter().zip(labels).filter(|(x, label)| (**x >= from) != **label).count() as i64;
        let scores: Vec<i64> = candidates.iter().map(|&from| -errors(from)).collect();
        let half = Fraction::from_f64(self.choice.get())?.times(&Fraction::new(1u32, 2u32)?);
        Ok(Threshold { from: candidates[exponential_choice(&scores, &half, source)] })
    }

    fn check(&self, numbers: &[u64], labels: &[bool], bits: u32) -> Result<()> {
        refuse_if!(bits == 0 || bits > MOST_BITS, "a threshold is learnt over 1 to {MOST_BITS} bits, not {bits}");
        if numbers.is_empty() || numbers.len() != labels.len() {
            refuse!("a threshold needs a label for each number, and at least one number");
        }
        if let Some(row) = numbers.iter().position(|&number| number >> bits != 0) {
            refuse!("row {row} does not fit into {bits} bits");
        }
        let parts = [self.balance, self.length, self.prefix, self.choice];
        if parts.iter().any(|part| part.get() == 0.0) || !(self.accuracy > 0.0 && self.accuracy < 1.0) {
            refuse!("every part of the budget and the accuracy must be above 0");
        }
        Ok(())
    }

    /// The largest length with a polarised prefix, by binary search: exactly ⌈log₂(d+1)⌉ noisy tests.
    fn polarised_length<S: BitSource + ?Sized>(
        &self,
        numbers: &[u64],
        labels: &[bool],
        bits: u32,
        source: &mut S,
    ) -> Result<u32> {
        let tests = (bits + 1).next_power_of_two().trailing_zeros();
        let noise = laplace(f64::from(tests) / self.length.get())?;
        let enough = 1.5 * self.share() * numbers.len() as f64;
        // The answer is in low..=high; an unused test draws noise all the same.
        let (mut low, mut high) = (0, bits);
        for _ in 0..tests {
            let middle = if low < high { (low + high).div_ceil(2) } else { high.max(1) };
            let count = most_polarised(numbers, labels, bits, middle).1;
            let passes = noise.add_to(count, source) as f64 >= enough;
            if low < high {
                if passes { low = middle } else { high = middle - 1 }
            }
        }
        Ok(low)
    }

    /// A prefix of this length that many people of both labels share, by heavy hitters over the prefix and the label.
    fn polarised_prefix<S: BitSource + ?Sized>(
        &self,
        numbers: &[u64],
        labels: &[bool],
        bits: u32,
        length: u32,
        source: &mut S,
    ) -> Result<u64> {
        if length == 0 {
            return Ok(0);
        }
        let tree = self.tree(length, numbers.len())?;
        let finder = HeavyHitters::new(tree, vec![2; length as usize + 1])?;
        let bit = |place: u32| numbers.iter().map(|number| (number >> (bits - 1 - place) & 1) as u8).collect();
        let mut columns: Vec<Vec<u8>> = (0..length).map(bit).collect();
        columns.push(labels.iter().map(|&label| u8::from(label)).collect());
        let found = finder.release(&columns, source)?;
        let number =
            |values: &[u32]| values[..length as usize].iter().fold(0u64, |number, &bit| number << 1 | u64::from(bit));
        let enough = 1.25 * self.share() * numbers.len() as f64;
        let heavy = |label: u32| {
            let labelled = found.strings.iter().filter(move |string| string.values[length as usize] == label);
            labelled.filter(|string| string.count as f64 >= enough).map(|string| number(&string.values))
        };
        let ones: Vec<u64> = heavy(1).collect();
        let both = heavy(0).find(|prefix| ones.contains(prefix));
        Ok(both.unwrap_or(0))
    }

    fn share(&self) -> f64 {
        0.1 * self.accuracy
    }

    /// The tree over a prefix and the label; its thresholds follow from public numbers: the root's is about half of
    /// what is sought.
    fn tree(&self, length: u32, people: usize) -> Result<Tree> {
        let attributes = length as usize + 1;
        let (shape, targets) = (JoinShape::balanced(attributes)?, vec![self.prefix; attributes]);
        let flat = ThresholdRule { bottom: 0, ..ThresholdRule::default() }.calibrate(&shape, &targets)?;
        let bottom = (0.6 * self.share() * people as f64) as i64 - flat.root().threshold;
        ThresholdRule { bottom: bottom.max(1), ..ThresholdRule::default() }.calibrate(&shape, &targets)
    }
}

fn laplace(scale: f64) -> Result<DiscreteLaplace> {
    Ok(DiscreteLaplace::new(Scale::new(scale)?))
}

/// The prefix of this length with the most people of its rarer label, and how many those are; one person moves that by
/// at most 1.
fn most_polarised(numbers: &[u64], labels: &[bool], bits: u32, length: u32) -> (u64, i64) {
    let mut sorted: Vec<(u64, bool)> =
        numbers.iter().zip(labels).map(|(number, &label)| (number >> (bits - length), label)).collect();
    sorted.sort_unstable();
    sorted.chunk_by(|left, right| left.0 == right.0).fold((0, 0), |best, same| {
        let ones = same.iter().filter(|(_, label)| *label).count() as i64;
        let rarer = ones.min(same.len() as i64 - ones);
        if rarer > best.1 { (same[0].0, rarer) } else { best }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::InsecureSeededSource;

    fn learner() -> ThresholdLearner {
        let one = Epsilon::new(1.0).unwrap();
        ThresholdLearner { balance: one, length: one, prefix: one, choice: one, accuracy: 0.2 }
    }

    #[test]
    fn the_most_polarised_count_moves_by_at_most_one() {
        // All datasets of 3 people over 2 bits with labels, all changes of one person.
        let records: Vec<(u64, bool)> = (0..8u64).map(|code| (code >> 1, code & 1 == 1)).collect();
        let split = |people: &[(u64, bool)]| people.iter().copied().unzip::<u64, bool, Vec<u64>, Vec<bool>>();
        for code in 0..512usize {
            let people: Vec<(u64, bool)> = (0..3).map(|i| records[code >> (3 * i) & 7]).collect();
            for place in 0..3 {
                for &record in &records {
                    let mut other = people.clone();
                    other[place] = record;
                    let ((x, y), (xx, yy)) = (split(&people), split(&other));
                    for length in 0..=2 {
                        let (left, right) =
                            (most_polarised(&x, &y, 2, length).1, most_polarised(&xx, &yy, 2, length).1);
                        assert!(left.abs_diff(right) <= 1);
                    }
                }
            }
        }
    }

    #[test]
    fn constants_are_learnt_the_right_way_round() {
        // The paper swaps the two: with few ones it would output the constant 1.
        let numbers: Vec<u64> = (0..1000).map(|i| i % 16).collect();
        let mut bits = InsecureSeededSource::new(3);
        assert_eq!(learner().learn(&numbers, &vec![false; 1000], 4, &mut bits).unwrap().from, 15);
        assert_eq!(learner().learn(&numbers, &vec![true; 1000], 4, &mut bits).unwrap().from, 0);
    }

    #[test]
    fn thresholds_are_learnt_to_the_accuracy_that_is_sought() {
        let numbers: Vec<u64> = (0..60_000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44).collect();
        for (seed, from) in [(1, 300_000u64), (2, 524_288), (3, 900_000)] {
            let labels: Vec<bool> = numbers.iter().map(|&number| number >= from).collect();
            let learnt = learner().learn(&numbers, &labels, 20, &mut InsecureSeededSource::new(seed)).unwrap();
            let wrong = numbers.iter().filter(|&&number| (number >= learnt.from) != (number >= from)).count();
            assert!(wrong < 12_000, "{from}: {learnt:?} errs on {wrong}");
        }
    }

    /// Heavy hitters with twice the prefix's ε passed all tests: nobody compared the tree that is drawn from with the
    /// part of the budget that pays for it. Its thresholds follow the number of people, and `epsilon_person` is
    /// computed for one number of them.
    #[test]
    fn the_prefix_is_found_with_its_own_part_of_the_budget() {
        let learner = ThresholdLearner { prefix: Epsilon::new(0.7).unwrap(), ..learner() };
        let person = learner.epsilon_person(10).unwrap().get() - 3.0;
        for length in 1..=10 {
            for people in [1, 100, 1000, 60_000, 10_000_000] {
                let tree = learner.tree(length, people).unwrap();
                for attribute in 0..=length as usize {
                    let found = tree.epsilon(&[attribute]).get();
                    assert!(found <= 0.7 && found > 0.5, "{length} {people} {attribute}: {found}");
                }
                assert!(tree.epsilon_person() <= person * (1.0 + 1e-9), "{length} {people}");
            }
        }
    }

    #[test]
    fn the_person_pays_more_than_an_attribute_and_less_than_all_of_them() {
        let (feature, person) = (learner().epsilon_feature().get(), learner().epsilon_person(20).unwrap().get());
        assert!(
            feature < learner().epsilon_label().get()
                && learner().epsilon_label().get() < person
                && person < 20.0 * feature
        );
    }
}
