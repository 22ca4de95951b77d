//! Tests of the whole mechanism: golden vectors, exact distributions against all neighbours, measured errors.

mod exact;
mod measured;
mod vectors;

use super::Partition;

/// Every partition of at most this many elements.
fn all_partitions(most: u64) -> Vec<Partition> {
    fn extend(largest: u64, left: u64, counts: &mut Vec<u64>, all: &mut Vec<Partition>) {
        all.push(Partition::from_counts(counts.iter().copied()).unwrap());
        for count in 1..=largest.min(left) {
            counts.push(count);
            extend(count, left - count, counts, all);
            counts.pop();
        }
    }
    let mut all = Vec::new();
    extend(most, most, &mut Vec::new(), &mut all);
    all
}

fn epsilon(value: f64) -> crate::quantity::Epsilon {
    crate::quantity::Epsilon::new(value).unwrap()
}
