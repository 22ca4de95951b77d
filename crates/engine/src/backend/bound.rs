//! Contribution bounding: of each owner at most g groups, r rows in each and R rows in all, chosen by a keyed hash, in one pass.
//!
//! What is kept does not depend on the order or the partitioning of the rows:
//! - a group's rank is the hash of (owner, key), and the g smallest stay;
//! - a row's rank within its group is the hash of (the group's rank, values), and the r smallest stay;
//! - if g·r > R, the n-th row of a group has the rank Σ_{i≤n} h(the group's rank, i), which grows with n, and the R smallest stay.
//!
//! The first and the last depend on the keys and on how many rows there are, not on the values: how many rows of an owner count in
//! which group is the same whatever the values are. Where hashes are equal, the keys and the values themselves decide.
//!
//! The rows of an owner are a chain in one array. A chain is cut down whenever it is twice as long as what can stay (a row that is
//! among the smallest of all is among the smallest of any part), and once at the end: no sorting of the whole, no allocation per row.
//!
//! # Guarantee
//! For every hash key, what is kept of an owner is a function of that owner's rows alone.

use super::hash::{Key, SipHasher};
use super::intern::{Interner, Name};
use std::cmp::Ordering;

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

/// What stands for NULL among the values. No value is it: steps are below 2⁵³.
pub(crate) const NOTHING: i64 = i64::MIN;

/// The end of a chain.
const END: u32 = u32::MAX;

/// One row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    /// Whose it is.
    pub owner: Name<'a>,
    /// The quick hash of the owner.
    pub owner_hash: u64,
    /// Its group.
    pub group: u32,
    /// The rank of its group ([`group_rank`]).
    pub rank: u64,
    /// The values of the measures, [`NOTHING`] for NULL.
    pub values: &'a [i64],
}

/// The keyed hash of an owner and a group's fingerprint.
#[inline]
pub(crate) fn group_rank(key: Key, owner: Name<'_>, fingerprint: u64) -> u64 {
    let mut hasher = SipHasher::new(key);
    hasher.write_u64(fingerprint);
    match owner {
        Name::Number(number) => hasher.write_u64(number.cast_unsigned()),
        Name::Text(text) => hasher.write(text),
    }
    hasher.finish()
}

/// The keyed hash of a row's values within its group.
pub(crate) fn row_rank(key: Key, group_rank: u64, values: &[i64]) -> u64 {
    let mut hasher = SipHasher::new(key);
    hasher.write_u64(group_rank);
    values.iter().for_each(|value| hasher.write_u64(value.cast_unsigned()));
    hasher.finish()
}

/// By how much the rank of the n-th row of a group (from 0) is above that of the one before it.
pub(crate) fn rise(key: Key, group_rank: u64, n: u64) -> u64 {
    match n {
        0 => group_rank,
        n => row_rank(key, group_rank, &[n.cast_signed()]),
    }
}

/// Which of two groups comes first where their ranks are equal: by their keys.
pub(crate) type Tie<'a> = &'a dyn Fn(u32, u32) -> Ordering;

/// The kept rows of some owners.
pub(crate) struct Bounder {
    key: Key,
    bounds: Bounds,
    width: usize,
    /// The length at which a chain is cut down.
    long: u64,
    owners: Interner,
    chains: Vec<Chain>,
    entries: Vec<Entry>,
    values: Vec<i64>,
    unused: Vec<u32>,
    chosen: Chosen,
}

/// The rows of one owner.
#[derive(Debug, Clone, Copy)]
struct Chain {
    head: u32,
    length: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    rank: u64,
    group: u32,
    next: u32,
}

/// Rows of one owner: those that stay, group after group, then those that do not.
#[derive(Debug, Default)]
struct Chosen {
    rows: Vec<Member>,
    /// Where the rows of each kept group end.
    ends: Vec<usize>,
}

/// One row of a chain, with what decides about it beside it.
#[derive(Debug, Clone, Copy)]
struct Member {
    rank: u64,
    group: u32,
    row: u32,
}

/// More rows than can be numbered.
#[derive(Debug)]
pub(crate) struct TooMany;

impl Bounder {
    /// Nothing kept yet; each row brings `width` values.
    pub fn new(key: Key, bounds: Bounds, width: usize) -> Self {
        let most = bounds.groups.saturating_mul(bounds.rows_per_group);
        Self {
            key,
            bounds,
            width,
            long: most.saturating_mul(2).clamp(4, u64::from(END)),
            owners: Interner::default(),
            chains: Vec::new(),
            entries: Vec::new(),
            values: Vec::new(),
            unused: Vec::new(),
            chosen: Chosen::default(),
        }
    }

    /// Takes in a row.
    #[inline]
    pub fn add(&mut self, row: &Row<'_>, tie: Tie<'_>) -> Result<(), TooMany> {
        let (owner, new) = self.owners.intern(row.owner_hash, row.owner);
        if new {
            self.chains.push(Chain { head: END, length: 0 });
        }
        let owner = owner as usize;
        let Chain { head, length } = self.chains[owner];
        let entry = Entry { rank: row.rank, group: row.group, next: head };
        let place = self.stored(entry, row.values)?;
        self.chains[owner] = Chain { head: place, length: length + 1 };
        if u64::from(length + 1) >= self.long {
            self.cut_down(owner, tie);
        }
        Ok(())
    }

    fn stored(&mut self, entry: Entry, values: &[i64]) -> Result<u32, TooMany> {
        debug_assert_eq!(values.len(), self.width);
        if let Some(place) = self.unused.pop() {
            let start = place as usize * self.width;
            self.entries[place as usize] = entry;
            self.values[start..start + self.width].copy_from_slice(values);
            return Ok(place);
        }
        let place = u32::try_from(self.entries.len()).ok().filter(|place| *place != END).ok_or(TooMany)?;
        self.entries.push(entry);
        self.values.extend_from_slice(values);
        Ok(place)
    }

    /// Drops what cannot stay of an owner.
    fn cut_down(&mut self, owner: usize, tie: Tie<'_>) {
        let mut chosen = std::mem::take(&mut self.chosen);
        self.choose(owner, &mut chosen, tie);
        let kept = chosen.ends.last().copied().unwrap_or(0);
        self.unused.extend(chosen.rows[kept..].iter().map(|member| member.row));
        let mut head = END;
        for member in &chosen.rows[..kept] {
            self.entries[member.row as usize].next = head;
            head = member.row;
        }
        self.chains[owner] = Chain { head, length: kept as u32 };
        self.chosen = chosen;
    }

    /// The rows of an owner that stay, by the first two rules.
    fn choose(&self, owner: usize, chosen: &mut Chosen, tie: Tie<'_>) {
        let Chosen { rows, ends } = chosen;
        rows.clear();
        ends.clear();
        let mut row = self.chains[owner].head;
        while row != END {
            let Entry { rank, group, next } = self.entries[row as usize];
            rows.push(Member { rank, group, row });
            row = next;
        }
        rows.sort_unstable_by_key(|member| member.rank);
        if rows.windows(2).any(|pair| pair[0].rank == pair[1].rank && pair[0].group != pair[1].group) {
            rows.sort_by(|left, right| {
                let by_key = || if left.group == right.group { Ordering::Equal } else { tie(left.group, right.group) };
                left.rank.cmp(&right.rank).then_with(by_key)
            });
        }
        let limit = usize::try_from(self.bounds.rows_per_group).unwrap_or(usize::MAX);
        let third_rule = self.cuts_rows(rows.len());
        let (mut kept, mut start) = (0, 0);
        while start < rows.len() && (ends.len() as u64) < self.bounds.groups {
            let group = rows[start].group;
            let length = rows[start..].iter().take_while(|member| member.group == group).count();
            if self.width > 0 && length > 1 && (length > limit || third_rule) {
                self.sort_by_row_rank(&mut rows[start..start + length]);
            }
            for index in start..start + length.min(limit) {
                rows.swap(kept, index);
                kept += 1;
            }
            ends.push(kept);
            start += length;
        }
    }

    fn sort_by_row_rank(&self, rows: &mut [Member]) {
        let rank = |member: &Member| row_rank(self.key, member.rank, self.values_of(member.row));
        let mut ranked: Vec<(u64, Member)> = rows.iter().map(|member| (rank(member), *member)).collect();
        ranked.sort_unstable_by(|left, right| {
            left.0.cmp(&right.0).then_with(|| self.values_of(left.1.row).cmp(self.values_of(right.1.row)))
        });
        rows.iter_mut().zip(ranked).for_each(|(member, (_, next))| *member = next);
    }

    fn values_of(&self, row: u32) -> &[i64] {
        &self.values[row as usize * self.width..][..self.width]
    }

    /// Whether the third rule can drop some of so many rows.
    fn cuts_rows(&self, rows: usize) -> bool {
        self.bounds.groups.saturating_mul(self.bounds.rows_per_group).min(rows as u64) > self.bounds.rows
    }

    /// Gives each kept row of each owner to `visit`, with its group and whether it is the owner's first in that group.
    pub fn finish(self, tie: Tie<'_>, mut visit: impl FnMut(u32, bool, &[i64])) {
        let mut chosen = Chosen::default();
        for owner in 0..self.chains.len() {
            self.choose(owner, &mut chosen, tie);
            let kept = chosen.ends.last().copied().unwrap_or(0);
            let counts = self.cuts_rows(kept).then(|| self.counts(&chosen));
            let mut start = 0;
            for (index, end) in chosen.ends.iter().enumerate() {
                let count = counts.as_ref().map_or(end - start, |counts| counts[index]);
                for (place, member) in chosen.rows[start..start + count].iter().enumerate() {
                    visit(member.group, place == 0, self.values_of(member.row));
                }
                start = *end;
            }
        }
    }

    /// How many rows of each group stay by the third rule: the smallest ranks of (group, n-th row).
    fn counts(&self, chosen: &Chosen) -> Vec<usize> {
        let mut ranked: Vec<(u128, usize)> = Vec::with_capacity(chosen.rows.len());
        let mut start = 0;
        for (index, end) in chosen.ends.iter().enumerate() {
            let group_rank = chosen.rows[start].rank;
            let mut rank = 0u128;
            for n in 0..end - start {
                rank += u128::from(rise(self.key, group_rank, n as u64));
                ranked.push((rank, index));
            }
            start = *end;
        }
        ranked.sort_unstable();
        let mut counts = vec![0; chosen.ends.len()];
        for (_, index) in ranked.into_iter().take(usize::try_from(self.bounds.rows).unwrap_or(usize::MAX)) {
            counts[index] += 1;
        }
        counts
    }
}
