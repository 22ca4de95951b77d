//! Contribution bounding: of each owner at most g groups, r rows in each and R rows in all, chosen by a keyed hash, in one pass.
//!
//! What is kept does not depend on the order or the partitioning of the rows:
//! - a group's rank is the hash of (owner, key), and the g smallest stay;
//! - a row's rank within its group is the hash of (owner, key, values), and the r smallest stay;
//! - if g·r > R, the n-th row of a group has the rank Σ_{i≤n} h(owner, key, i), which grows with n, and the R smallest stay.
//!
//! The first and the last depend on the keys and on how many rows there are, not on the values: how many rows of an owner count in
//! which group is the same whatever the values are.
//!
//! # Guarantee
//! For every hash key, what is kept of an owner is a function of that owner's rows alone.

use super::hash::{Key, SipHasher};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// g
    pub groups: u64,
    /// r
    pub rows_per_group: u64,
    /// R
    pub rows: u64,
}

/// What one row brings: the values of the measures, none for NULL.
pub(crate) type Values<'a> = &'a [Option<i64>];

/// The kept rows of all owners of one partition.
pub(crate) struct Bounder {
    key: Key,
    bounds: Bounds,
    width: usize,
    owners: HashMap<Owner, Vec<Kept>>,
}

/// Whose rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    /// A whole number.
    Number(i64),
    /// A text.
    Text(Box<str>),
}

/// One kept group of an owner.
struct Kept {
    rank: u64,
    group: u32,
    /// Rows so far, at most r are kept: (rank, values), sorted by both.
    rows: Vec<(u64, Box<[Option<i64>]>)>,
}

impl Bounder {
    /// Nothing kept yet; each row brings `width` values.
    pub fn new(key: Key, bounds: Bounds, width: usize) -> Self {
        Self { key, bounds, width, owners: HashMap::new() }
    }

    /// Takes in a row. `group` is a number for `key_bytes`, which must be the same bytes for the same key everywhere.
    pub fn add(&mut self, owner: Owner, group: u32, key_bytes: &[u8], values: Values<'_>) {
        debug_assert_eq!(values.len(), self.width);
        let mut hasher = SipHasher::new(self.key);
        match &owner {
            Owner::Number(number) => hasher.write_u64(number.cast_unsigned()),
            Owner::Text(text) => {
                hasher.write(text.as_bytes());
                hasher.write_u64(text.len() as u64);
            }
        }
        hasher.write(key_bytes);
        let rank = hasher.finish();
        let kept = match self.owners.entry(owner) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Vec::with_capacity(1)),
        };
        let limit = usize::try_from(self.bounds.groups).unwrap_or(usize::MAX);
        let place = kept.partition_point(|other| (other.rank, other.group) < (rank, group));
        let found = kept.get(place).is_some_and(|other| other.rank == rank && other.group == group);
        if !found {
            if place >= limit {
                return;
            }
            kept.insert(place, Kept { rank, group, rows: Vec::with_capacity(1) });
            kept.truncate(limit);
        }
        keep_row(&mut kept[place].rows, hasher, values, self.bounds.rows_per_group);
    }

    /// Gives each kept row of each owner to `visit`, with its group and whether it is the owner's first in that group.
    pub fn finish(self, mut visit: impl FnMut(u32, bool, Values<'_>)) {
        let total = self.bounds.rows;
        let cut = self.bounds.groups.saturating_mul(self.bounds.rows_per_group) > total;
        for kept in self.owners.into_values() {
            let counts = if cut { cut_to(&kept, total, self.key) } else { kept.iter().map(|k| k.rows.len()).collect() };
            for (group, count) in kept.iter().zip(counts) {
                for (index, (_, values)) in group.rows.iter().take(count).enumerate() {
                    visit(group.group, index == 0, values);
                }
            }
        }
    }
}

fn keep_row(rows: &mut Vec<(u64, Box<[Option<i64>]>)>, mut hasher: SipHasher, values: Values<'_>, limit: u64) {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if values.is_empty() {
        if rows.len() < limit {
            rows.push((0, Box::default()));
        }
        return;
    }
    for value in values {
        hasher.write_u64(value.is_some().into());
        hasher.write_u64(value.unwrap_or(0).cast_unsigned());
    }
    let rank = hasher.finish();
    let place = rows.partition_point(|(other, content)| (*other, &content[..]) < (rank, values));
    if place < limit {
        rows.insert(place, (rank, values.into()));
        rows.truncate(limit);
    }
}

/// How many rows of each group stay when only `total` may: the smallest ranks of (group, n-th row).
fn cut_to(kept: &[Kept], total: u64, key: Key) -> Vec<usize> {
    let mut ranked: Vec<(u128, usize)> = Vec::new();
    for (index, group) in kept.iter().enumerate() {
        let mut rank = 0u128;
        for n in 0..group.rows.len() {
            let step = match n {
                0 => group.rank,
                n => {
                    let mut hasher = SipHasher::new(key);
                    hasher.write_u64(group.rank);
                    hasher.write_u64(n as u64);
                    hasher.finish()
                }
            };
            rank += u128::from(step);
            ranked.push((rank, index));
        }
    }
    ranked.sort_unstable();
    let mut counts = vec![0; kept.len()];
    for (_, index) in ranked.into_iter().take(usize::try_from(total).unwrap_or(usize::MAX)) {
        counts[index] += 1;
    }
    counts
}
