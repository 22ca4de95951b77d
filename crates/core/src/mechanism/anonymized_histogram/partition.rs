//! Integer partitions as runs: the frequency-of-frequencies table, which stays O(√n) however many values there are.

use crate::error::{Error, Result};

/// More elements than this are refused: the layouts of this module are made for at most this many.
pub const MOST_ELEMENTS: u64 = 1 << 40;

/// Counts up to this are tallied in an array, larger ones are sorted.
const DENSE_COUNTS: usize = 1 << 16;

/// This many values that each have the same count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// The count that these values share; at least 1.
    pub count: u64,
    /// How many values have it; at least 1.
    pub values: u64,
}

/// A multiset of counts without the values that they belong to: an anonymized histogram, or integer partition.
///
/// Held as runs with falling counts. A partition of n has at most √(2n) different counts, so this stays small.
///
/// ```
/// use scumble::mechanism::anonymized_histogram::Partition;
/// let partition = Partition::from_counts([2, 7, 1, 5, 0, 5, 1, 1])?;
/// assert_eq!((partition.elements(), partition.values()), (22, 7));
/// assert_eq!(partition.expanded(), [7, 5, 5, 2, 1, 1, 1]);
/// assert_eq!(partition.conjugate().expanded(), [7, 4, 3, 3, 3, 1, 1]);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition {
    runs: Vec<(u64, u64)>,
    elements: u64,
    values: u64,
}

impl Partition {
    /// The multiset of the given counts, in any order; zeros are dropped.
    pub fn from_counts(counts: impl IntoIterator<Item = u64>) -> Result<Self> {
        let mut tally: Vec<u64> = Vec::new();
        let mut large = Vec::new();
        let mut elements = 0u64;
        for count in counts {
            elements = elements.checked_add(count).filter(|sum| *sum <= MOST_ELEMENTS).ok_or_else(too_many)?;
            match usize::try_from(count) {
                Ok(small) if small < DENSE_COUNTS => {
                    if small >= tally.len() {
                        tally.resize((2 * small + 2).min(DENSE_COUNTS), 0);
                    }
                    tally[small] += 1;
                }
                _ => large.push((count, 1)),
            }
        }
        let small = tally.into_iter().enumerate().skip(1).rev().map(|(count, values)| (count as u64, values));
        Ok(Self::from_unsorted(large.into_iter().chain(small).collect()))
    }

    /// The multiset with this many values of each count, in any order; runs of nothing are dropped.
    ///
    /// ```
    /// use scumble::mechanism::anonymized_histogram::{Partition, Run};
    /// let partition = Partition::from_runs([Run { count: 1, values: 3 }, Run { count: 5, values: 1 }])?;
    /// assert_eq!(partition.expanded(), [5, 1, 1, 1]);
    /// assert!(Partition::from_runs([Run { count: u64::MAX, values: 2 }]).is_err());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn from_runs(runs: impl IntoIterator<Item = Run>) -> Result<Self> {
        let runs: Vec<(u64, u64)> = runs.into_iter().map(|run| (run.count, run.values)).collect();
        let elements = runs.iter().try_fold(0u64, |sum, (count, values)| sum.checked_add(count.checked_mul(*values)?));
        elements.filter(|sum| *sum <= MOST_ELEMENTS).ok_or_else(too_many)?;
        Ok(Self::from_unsorted(runs))
    }

    /// Sorts and merges. Sums saturate: what noise has made may be larger than any data.
    pub(super) fn from_unsorted(mut runs: Vec<(u64, u64)>) -> Self {
        runs.retain(|(count, values)| *count > 0 && *values > 0);
        runs.sort_unstable_by(|left, right| right.cmp(left));
        runs.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        let values = runs.iter().fold(0u64, |sum, run| sum.saturating_add(run.1));
        let elements = runs.iter().fold(0u64, |sum, run| sum.saturating_add(run.0.saturating_mul(run.1)));
        Self { runs, elements, values }
    }

    /// How many elements there are: the sum of the counts.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// How many values there are: the number of positive counts.
    pub fn values(&self) -> u64 {
        self.values
    }

    /// The frequency-of-frequencies table, largest count first.
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = Run> + ExactSizeIterator + '_ {
        self.runs.iter().map(|(count, values)| Run { count: *count, values: *values })
    }

    /// Every count, largest first: one entry per value, so only for small partitions.
    pub fn expanded(&self) -> Vec<u64> {
        self.runs.iter().flat_map(|(count, values)| std::iter::repeat_n(*count, *values as usize)).collect()
    }

    /// The Young diagram with rows and columns exchanged: its r-th count is the number of values with count ≥ r, the
    /// cumulative prevalence φ_{≥r} of \[Sur19\].
    pub fn conjugate(&self) -> Self {
        let mut values_so_far = 0u64;
        let mut runs = Vec::with_capacity(self.runs.len());
        for (position, (count, values)) in self.runs.iter().enumerate() {
            values_so_far = values_so_far.saturating_add(*values);
            let next_count = self.runs.get(position + 1).map_or(0, |run| run.0);
            runs.push((values_so_far, count - next_count));
        }
        runs.reverse();
        Self { runs, elements: self.elements, values: self.runs.first().map_or(0, |run| run.0) }
    }

    /// Both multisets together: the prevalences add.
    ///
    /// ```
    /// use scumble::mechanism::anonymized_histogram::Partition;
    /// let (left, right) = (Partition::from_counts([3, 1])?, Partition::from_counts([2, 1])?);
    /// assert_eq!(left.union(&right).expanded(), [3, 2, 1, 1]);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn union(&self, other: &Self) -> Self {
        Self::from_unsorted(self.runs.iter().chain(&other.runs).copied().collect())
    }

    /// ‖p − q‖₁, the sum over the ranks of the difference of the counts, which is also that of the prevalences
    /// (Observation 2).
    ///
    /// ```
    /// use scumble::mechanism::anonymized_histogram::Partition;
    /// let (left, right) = (Partition::from_counts([7, 5, 5, 2, 1, 1, 1])?, Partition::from_counts([6, 6, 5, 1, 1])?);
    /// assert_eq!(left.distance(&right), 5);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn distance(&self, other: &Self) -> u64 {
        let (mut left, mut right) = (self.runs.iter().copied(), other.runs.iter().copied());
        let (mut here, mut there) = (left.next(), right.next());
        let mut distance = 0u64;
        while here.is_some() || there.is_some() {
            let (left_count, left_values) = here.unwrap_or((0, u64::MAX));
            let (right_count, right_values) = there.unwrap_or((0, u64::MAX));
            let shared = left_values.min(right_values);
            distance = distance.saturating_add(left_count.abs_diff(right_count).saturating_mul(shared));
            here = here.and_then(|(count, values)| advanced(count, values - shared, &mut left));
            there = there.and_then(|(count, values)| advanced(count, values - shared, &mut right));
        }
        distance
    }

    /// The `rows` largest counts, padded with zeros, and the multiset of the others.
    pub(super) fn split(&self, rows: usize) -> (Vec<u64>, Self) {
        let mut top = Vec::with_capacity(rows);
        let mut rest = Vec::new();
        for (count, values) in &self.runs {
            let wanted = (*values).min((rows - top.len()) as u64);
            top.extend(std::iter::repeat_n(*count, wanted as usize));
            rest.push((*count, values - wanted));
        }
        top.resize(rows, 0);
        (top, Self::from_unsorted(rest))
    }
}

fn advanced(count: u64, left: u64, runs: &mut impl Iterator<Item = (u64, u64)>) -> Option<(u64, u64)> {
    if left > 0 { Some((count, left)) } else { runs.next() }
}

fn too_many() -> Error {
    Error::refused(format!("the counts add up to more than 2^40 = {MOST_ELEMENTS} elements: count a sample instead"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts() -> impl Strategy<Value = Vec<u64>> {
        proptest::collection::vec(prop_oneof![0u64..6, 0u64..200, 60_000u64..70_000], 0..40)
    }

    fn slow_distance(left: &[u64], right: &[u64]) -> u64 {
        let at = |side: &[u64], rank: usize| side.get(rank).copied().unwrap_or(0);
        (0..left.len().max(right.len())).map(|rank| at(left, rank).abs_diff(at(right, rank))).sum()
    }

    proptest! {
        #[test]
        fn runs_are_the_sorted_counts(counts in counts()) {
            let mut sorted: Vec<u64> = counts.iter().copied().filter(|count| *count > 0).collect();
            sorted.sort_unstable_by(|left, right| right.cmp(left));
            let partition = Partition::from_counts(counts.iter().copied()).unwrap();
            prop_assert_eq!(partition.expanded(), sorted.clone());
            prop_assert_eq!(partition.elements(), sorted.iter().sum::<u64>());
            prop_assert_eq!(partition.values(), sorted.len() as u64);
            prop_assert_eq!(Partition::from_runs(partition.runs()).unwrap(), partition.clone());
            prop_assert_eq!(partition.conjugate().conjugate(), partition);
        }

        #[test]
        fn distances_agree_with_the_definition_and_with_the_prevalences(left in counts(), right in counts()) {
            let (p, q) = (Partition::from_counts(left).unwrap(), Partition::from_counts(right).unwrap());
            prop_assert_eq!(p.distance(&q), slow_distance(&p.expanded(), &q.expanded()));
            prop_assert_eq!(p.distance(&q), p.conjugate().distance(&q.conjugate()));
        }

        #[test]
        fn splitting_and_union_are_inverse(counts in counts(), rows in 0usize..50) {
            let partition = Partition::from_counts(counts).unwrap();
            let (top, rest) = partition.split(rows);
            prop_assert_eq!(top.len(), rows);
            prop_assert!(rest.runs().next().is_none_or(|run| top.last().is_none_or(|last| run.count <= *last)));
            prop_assert_eq!(Partition::from_counts(top).unwrap().union(&rest), partition);
        }
    }

    #[test]
    fn too_many_elements_are_refused() {
        assert!(Partition::from_counts([MOST_ELEMENTS]).is_ok());
        assert!(Partition::from_counts([MOST_ELEMENTS, 1]).is_err());
        assert!(Partition::from_counts([u64::MAX, u64::MAX]).is_err());
        let sentence = Partition::from_runs([Run { count: 2, values: MOST_ELEMENTS }]).unwrap_err().to_string();
        assert!(sentence.contains("2^40"), "{sentence}");
    }
}
