//! Every pair of neighbouring datasets of a tiny universe, in each scope.
//!
//! A dataset is a multiset of records, kept sorted: mechanisms see no order. Each unordered pair is listed once;
//! [`super::check`] looks at both directions.

use std::collections::BTreeSet;

/// All multisets of exactly `size` of the given records.
pub fn datasets<Record: Ord + Clone>(universe: &[Record], size: usize) -> Vec<Vec<Record>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let mut all = BTreeSet::new();
    for smaller in datasets(universe, size - 1) {
        for record in universe {
            let mut larger = smaller.clone();
            larger.push(record.clone());
            larger.sort();
            all.insert(larger);
        }
    }
    all.into_iter().collect()
}

/// A pair of neighbouring datasets.
pub type NeighbourPair<Record> = (Vec<Record>, Vec<Record>);

/// Scope `presence`: all pairs of a dataset of fewer than `most` owners and the same with one owner more.
pub fn presence<Record: Ord + Clone>(universe: &[Record], most: usize) -> Vec<NeighbourPair<Record>> {
    let smaller = (0..most).flat_map(|size| datasets(universe, size));
    let pairs = smaller.flat_map(|dataset| {
        universe.iter().map(move |record| {
            let mut larger = dataset.clone();
            larger.push(record.clone());
            larger.sort();
            (dataset.clone(), larger)
        })
    });
    pairs.collect()
}

/// Scope `person`: all pairs of datasets of `owners` owners that differ in one owner's record.
pub fn person<Record: Ord + Clone>(universe: &[Record], owners: usize) -> Vec<NeighbourPair<Record>> {
    substitutions(universe, owners, |_, _| true)
}

/// Scope `attributes(S)`: as `person`, but the two records agree on every attribute outside of `changing` (indices).
pub fn attributes<Value: Ord + Clone>(
    universe: &[Vec<Value>],
    owners: usize,
    changing: &[usize],
) -> Vec<NeighbourPair<Vec<Value>>> {
    substitutions(universe, owners, |old, new| {
        (0..old.len()).all(|index| changing.contains(&index) || old[index] == new[index])
    })
}

fn substitutions<Record: Ord + Clone>(
    universe: &[Record],
    owners: usize,
    may: impl Fn(&Record, &Record) -> bool,
) -> Vec<NeighbourPair<Record>> {
    let mut pairs = BTreeSet::new();
    for others in datasets(universe, owners.saturating_sub(1)) {
        for (index, old) in universe.iter().enumerate() {
            for new in universe[index + 1..].iter().filter(|new| may(old, new)) {
                pairs.insert((with(&others, old), with(&others, new)));
            }
        }
    }
    pairs.into_iter().collect()
}

fn with<Record: Ord + Clone>(others: &[Record], record: &Record) -> Vec<Record> {
    let mut dataset = others.to_vec();
    dataset.push(record.clone());
    dataset.sort();
    dataset
}

/// All records over the product of the given domains' sizes, values 0, 1, ….
pub fn records(domains: &[usize]) -> Vec<Vec<usize>> {
    domains.iter().fold(vec![Vec::new()], |records, &size| {
        let extended = records.into_iter().flat_map(|record| {
            (0..size).map(move |value| {
                let mut longer = record.clone();
                longer.push(value);
                longer
            })
        });
        extended.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_pairs_as_counted_by_hand() {
        let universe = [0, 1, 2];
        assert_eq!(datasets(&universe, 2).len(), 6);
        // Sizes 0 and 1: 1 + 3 datasets, each with 3 possible newcomers.
        assert_eq!(presence(&universe, 2).len(), 12);
        // 3 companions, 3 unordered pairs of records.
        assert_eq!(person(&universe, 2).len(), 9);
        let bits = records(&[2, 2]);
        assert_eq!(bits.len(), 4);
        // One owner: flipping attribute 0 for each value of attribute 1.
        assert_eq!(attributes(&bits, 1, &[0]).len(), 2);
        assert_eq!(attributes(&bits, 1, &[0, 1]).len(), 6);
    }
}
