//! What each owner has, whatever the bounds: the numbers of rows of its groups, in the order in which bounding keeps
//! groups.
//!
//! # Guarantee
//! For every hash key, an owner's [`Contribution`] is a function of the keys of that owner's rows alone: neither of
//! other owners nor of any value. What is kept of it under some bounds is what a [`Bounder`] with these bounds keeps.

use super::{Bounder, Bounds, Member, ThirdRule, Tie};
use crate::tables::ranks::Ranks;

/// The groups of one owner.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contribution<'a> {
    ranks: &'a Ranks,
    /// Rank and number of rows of each group, by rank.
    groups: &'a [(u64, u64)],
}

impl<'a> Contribution<'a> {
    /// Groups of these ranks and numbers of rows, by rank.
    #[cfg(test)]
    pub fn of(ranks: &'a Ranks, groups: &'a [(u64, u64)]) -> Self {
        Self { ranks, groups }
    }

    /// How many groups the owner has; of one with more than rows were taken in with, this many.
    pub fn groups(&self) -> u64 {
        self.groups.len() as u64
    }

    /// The number of rows in each group, in the order in which groups are kept.
    pub fn rows(&self) -> impl Iterator<Item = u64> + 'a {
        self.groups.iter().map(|(_, rows)| *rows)
    }

    /// How many rows count under some bounds, and in how many groups.
    pub fn kept(&self, bounds: Bounds) -> (u64, u64) {
        let Bounds { groups, rows_per_group, rows: most } = bounds.deciding();
        let first = self.groups.iter().take(usize::try_from(groups).unwrap_or(usize::MAX));
        let kept = first.map(|(rank, rows)| (*rank, (*rows).min(rows_per_group)));
        let total = kept.clone().fold(0u64, |total, (_, rows)| total.saturating_add(rows));
        if total <= most {
            return (total, kept.count() as u64);
        }
        let mut third_rule = ThirdRule::default();
        let counts = third_rule.counts(self.ranks, kept, most);
        (most, counts.iter().filter(|count| **count > 0).count() as u64)
    }
}

impl Bounder<'_> {
    /// Gives `visit` what each owner has, of at most as many groups as the bounds have.
    pub fn contributions(&self, tie: Tie<'_>, mut visit: impl FnMut(Contribution<'_>)) {
        let (mut members, ends) = self.by_owner();
        let mut groups = Vec::new();
        let mut start = 0;
        for end in ends {
            let owned: &mut [Member] = &mut members[start..end as usize];
            self.sort_by_group(owned, tie);
            groups.clear();
            for group in owned.chunk_by(|left, right| left.group == right.group).take(self.most_groups()) {
                groups.push((group[0].rank, self.copies_of(group) as u64));
            }
            visit(Contribution { ranks: self.ranks, groups: &groups });
            start = end as usize;
        }
    }
}
