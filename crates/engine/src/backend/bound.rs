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
//! Rows are laid by until there are enough of them to fill a processor's cache, and then sorted to their owners and cut down all at
//! once (a row that is among the smallest of all is among the smallest of any part): the time goes into the rows themselves, not
//! into waiting for memory. What is laid by is at most twice what was left by the last cut, so that the cuts cost a constant per row.
//!
//! # Guarantee
//! For every hash key, what is kept of an owner is a function of that owner's rows alone.

use super::hash::{Key, Quick, SipHasher};
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

/// Fewer rows than these are not cut down before the end.
const MANY: usize = 1 << 16;

/// Rows, column by column.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// How many values each brings.
    width: usize,
    /// The owners that are numbers.
    numbers: Vec<i64>,
    /// Where the owners that are texts end.
    ends: Vec<usize>,
    texts: Vec<u8>,
    groups: Vec<u32>,
    ranks: Vec<u64>,
    values: Vec<i64>,
}

impl Rows {
    /// None yet; each will bring `width` values.
    pub fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Takes in a row: whose it is, its group, its group's rank ([`group_rank`]), and its values, [`NOTHING`] for NULL.
    #[inline]
    pub fn push(&mut self, owner: Name<'_>, group: u32, rank: u64, values: impl Iterator<Item = i64>) {
        match owner {
            Name::Number(number) => self.numbers.push(number),
            Name::Text(text) => {
                self.texts.extend_from_slice(text);
                self.ends.push(self.texts.len());
            }
        }
        self.groups.push(group);
        self.ranks.push(rank);
        self.values.extend(values);
        debug_assert_eq!(self.values.len(), self.len() * self.width);
    }

    /// Takes in all rows of another list, which is empty then.
    fn append(&mut self, more: &mut Self) {
        let shift = self.texts.len();
        self.numbers.append(&mut more.numbers);
        self.texts.append(&mut more.texts);
        self.ends.extend(more.ends.drain(..).map(|end| end + shift));
        self.groups.append(&mut more.groups);
        self.ranks.append(&mut more.ranks);
        self.values.append(&mut more.values);
    }

    /// Some of the rows.
    fn only(&self, rows: &[u32]) -> Self {
        let mut some = Self::new(self.width);
        for row in rows.iter().map(|row| *row as usize) {
            some.push(self.owner(row), self.groups[row], self.ranks[row], self.values_of(row).iter().copied());
        }
        some
    }

    #[inline]
    fn owner(&self, row: usize) -> Name<'_> {
        match self.numbers.get(row) {
            Some(number) => Name::Number(*number),
            None => {
                let start = if row == 0 { 0 } else { self.ends[row - 1] };
                Name::Text(&self.texts[start..self.ends[row]])
            }
        }
    }

    #[inline]
    fn values_of(&self, row: usize) -> &[i64] {
        &self.values[row * self.width..][..self.width]
    }
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

/// The rows of some owners, of which some will stay.
pub(crate) struct Bounder {
    key: Key,
    bounds: Bounds,
    rows: Rows,
    /// So many rows are cut down.
    long: usize,
}

/// One row beside what decides about it.
#[derive(Debug, Clone, Copy, Default)]
struct Member {
    rank: u64,
    group: u32,
    row: u32,
}

/// What is decided about the rows of one owner, and room to decide in.
#[derive(Debug, Default)]
struct Choice {
    /// Where the kept rows of each kept group end, from the start of the owner's rows.
    ends: Vec<usize>,
    ranked: Vec<(u64, Member)>,
}

/// More rows than can be numbered.
#[derive(Debug)]
pub(crate) struct TooMany;

/// An owner of whom more would count than may: a mistake in this file.
#[derive(Debug)]
pub(crate) struct BeyondBounds;

impl Bounder {
    /// No rows yet; each will bring `width` values.
    pub fn new(key: Key, bounds: Bounds, width: usize) -> Self {
        Self { key, bounds, rows: Rows::new(width), long: MANY }
    }

    /// Takes in rows, all of them.
    pub fn add(&mut self, rows: &mut Rows, tie: Tie<'_>) -> Result<(), TooMany> {
        self.rows.append(rows);
        if self.rows.len() >= self.long {
            u32::try_from(self.rows.len()).map_err(|_| TooMany)?;
            self.cut_down(tie);
            self.long = MANY.max(self.rows.len() * 2);
        }
        Ok(())
    }

    /// Drops what cannot stay.
    fn cut_down(&mut self, tie: Tie<'_>) {
        let mut kept = Vec::new();
        self.choose(tie, |members, ends| {
            let end = ends.last().copied().unwrap_or(0);
            kept.extend(members[..end].iter().map(|member| member.row));
        });
        self.rows = self.rows.only(&kept);
    }

    /// Gives each kept row of each owner to `visit`, with its group and whether it is the owner's first in that group. What is given is
    /// counted once more, as all sensitivities rest on it.
    pub fn finish(self, tie: Tie<'_>, mut visit: impl FnMut(u32, bool, &[i64])) -> Result<(), BeyondBounds> {
        let Bounds { groups, rows_per_group, rows } = self.bounds;
        let mut within = true;
        self.choose(tie, |members, ends| {
            let kept = ends.last().copied().unwrap_or(0);
            let counts = self.cuts_rows(kept).then(|| self.counts(members, ends));
            within &= ends.len() as u64 <= groups;
            let (mut start, mut total) = (0, 0);
            for (index, end) in ends.iter().enumerate() {
                let count = counts.as_ref().map_or(end - start, |counts| counts[index]);
                total += count as u64;
                within &= count as u64 <= rows_per_group && total <= rows;
                within &= members[start..start + count].windows(2).all(|pair| pair[0].group == pair[1].group);
                for (place, member) in members[start..start + count].iter().enumerate() {
                    visit(member.group, place == 0, self.rows.values_of(member.row as usize));
                }
                start = *end;
            }
        });
        if within { Ok(()) } else { Err(BeyondBounds) }
    }

    /// Gives `visit` the rows of each owner, those that stay by the first two rules first, group after group, and where each group ends.
    fn choose(&self, tie: Tie<'_>, mut visit: impl FnMut(&[Member], &[usize])) {
        let (mut members, ends) = self.by_owner();
        let mut choice = Choice::default();
        let mut start = 0;
        for end in ends {
            let owned = &mut members[start..end as usize];
            self.choose_of_one(owned, &mut choice, tie);
            visit(owned, &choice.ends);
            start = end as usize;
        }
    }

    /// All rows, sorted to their owners, and where those of each owner end.
    fn by_owner(&self) -> (Vec<Member>, Vec<u32>) {
        let quick = Quick::new(self.key);
        let mut owners = Interner::default();
        let mut next: Vec<u32> = Vec::new();
        let number = |row: usize| {
            let name = self.rows.owner(row);
            let (owner, new) = owners.intern(name.hash(&quick), name);
            if new {
                next.push(0);
            }
            next[owner as usize] += 1;
            owner
        };
        let numbers: Vec<u32> = (0..self.rows.len()).map(number).collect();
        let mut start = 0;
        for place in &mut next {
            start += std::mem::replace(place, start);
        }
        let mut members = vec![Member::default(); self.rows.len()];
        for (row, owner) in (0u32..).zip(numbers) {
            let place = &mut next[owner as usize];
            let (rank, group) = (self.rows.ranks[row as usize], self.rows.groups[row as usize]);
            members[*place as usize] = Member { rank, group, row };
            *place += 1;
        }
        (members, next)
    }

    /// Brings the rows of one owner that stay by the first two rules to the front.
    fn choose_of_one(&self, rows: &mut [Member], choice: &mut Choice, tie: Tie<'_>) {
        let Choice { ends, ranked } = choice;
        ends.clear();
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
            if self.rows.width > 0 && length > 1 && (length > limit || third_rule) {
                self.sort_by_row_rank(&mut rows[start..start + length], ranked);
            }
            for index in start..start + length.min(limit) {
                rows.swap(kept, index);
                kept += 1;
            }
            ends.push(kept);
            start += length;
        }
    }

    fn sort_by_row_rank(&self, rows: &mut [Member], ranked: &mut Vec<(u64, Member)>) {
        let values = |member: &Member| self.rows.values_of(member.row as usize);
        ranked.clear();
        ranked.extend(rows.iter().map(|member| (row_rank(self.key, member.rank, values(member)), *member)));
        ranked.sort_unstable_by(|left, right| left.0.cmp(&right.0).then_with(|| values(&left.1).cmp(values(&right.1))));
        rows.iter_mut().zip(ranked).for_each(|(member, (_, next))| *member = *next);
    }

    /// Whether the third rule can drop some of so many rows.
    fn cuts_rows(&self, rows: usize) -> bool {
        self.bounds.groups.saturating_mul(self.bounds.rows_per_group).min(rows as u64) > self.bounds.rows
    }

    /// How many rows of each group stay by the third rule: the smallest ranks of (group, n-th row).
    fn counts(&self, members: &[Member], ends: &[usize]) -> Vec<usize> {
        let mut ranked: Vec<(u128, usize)> = Vec::with_capacity(members.len());
        let mut start = 0;
        for (index, end) in ends.iter().enumerate() {
            let group_rank = members[start].rank;
            let mut rank = 0u128;
            for n in 0..end - start {
                rank += u128::from(rise(self.key, group_rank, n as u64));
                ranked.push((rank, index));
            }
            start = *end;
        }
        ranked.sort_unstable();
        let mut counts = vec![0; ends.len()];
        for (_, index) in ranked.into_iter().take(usize::try_from(self.bounds.rows).unwrap_or(usize::MAX)) {
            counts[index] += 1;
        }
        counts
    }
}

#[cfg(test)]
mod tests;
