//! Contribution bounding: of each owner at most g groups, r rows in each and R rows in all, chosen by a keyed hash, in
//! one pass.
//!
//! What is kept does not depend on the order or the partitioning of the rows:
//! - a group's rank is the hash of (owner, key), and of an owner's groups the g smallest stay;
//! - a row's rank within its group is the hash of (the group's rank, values, copy), and the r smallest stay; rows with
//!   the same values are numbered as copies 0, 1, …, and it does not matter which of them is which, because nothing
//!   else is known of them;
//! - if g·r > R, a group of n rows has n places with the ranks h'(the group's rank, 0), …, h'(the group's rank, n − 1),
//!   and of a group with c of an owner's R smallest its first c rows stay; h' is another function than the hash of
//!   values.
//!
//! Where groups have no bound below R, the first rule is left out, and where rows of a group have none, the second
//! ([`Bounds::deciding`]): R rows are in no more than R groups, and no more than R in one. With r = 1 < R the first
//! rule keeps min(g, R) groups instead, and the third is left out.
//!
//! The first and the last depend on the keys and on how many rows there are, not on the values: how many rows of an
//! owner count in which group is the same whatever the values are. Where hashes are equal, the keys and the values
//! themselves decide.
//!
//! # What is kept is a uniform sample
//! Let an owner have n rows in a group. The pairs (values, copy) are n different ones, so that, with the hash as a
//! random function, their ranks are independent and uniform, and each set of min(n, r) rows is as likely as any other
//! to have the smallest. (Without the copy, equal rows stand or fall together: of 200 rows with 20 that are late, "all
//! late ones" would be as likely as "none".) The groups that stay by the first rule are a uniform sample of the owner's
//! groups. The third rule looks at numbers of rows only, by a function of its own: each set of R places is as likely as
//! any other, and which rows have a group's places is uniform, so that what it leaves is a uniform sample of the rows
//! that the first two leave. By it alone, it is one of all of the owner's rows, whatever their groups: a histogram, a
//! GROUP BY and a distribution function of owners who have more than counts say what a mean of theirs says. (Ranks that
//! grew with n gave all groups the same number of rows: of 180 rows on time and 20 late ones ten of each counted.)
//!
//! # Memory
//! Rows are set aside in parts, by a hash of their owners ([`OwnerPart`]), and cut down now and then: groups that
//! cannot stay are dropped, equal rows become one row with a number of copies. No other row can be dropped before the
//! end, because the copies of a row that come later have ranks of their own. Cuts are made at sizes that grow by a
//! factor, so that they cost a constant per row. A part that is still too large goes to an encrypted file. At the end
//! parts are looked at in pieces, each of some owners with all of their rows, that fit a processor's cache.
//!
//! # Guarantee
//! For every hash key, what is kept of an owner is a function of that owner's rows alone.

pub(crate) use contributions::Contribution;
pub(crate) use owned::RowsByOwner;
pub(crate) use part::{LostRows, OwnerPart, PartContext, PartError};

use super::intern::{Interner, Name};
use super::ranks::Ranks;
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

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

impl Bounds {
    /// For the ledger.
    pub fn rule(self) -> Value {
        let Self { groups, rows_per_group, rows } = self;
        json!({ "groups_per_owner": groups, "rows_per_group": rows_per_group, "rows_per_owner": rows })
    }

    /// The bounds that decide: none on groups, or on rows of one group, where it is at least R. R rows are in no more
    /// than R groups, and no more than R are in one group, whatever rule chooses them; and a bound of 20 rows in a
    /// group would leave 20 of 180 rows on time and 20 of 20 late ones to choose from.
    ///
    /// Where a group has one row at most, R of the groups are R of the rows: the first rule takes that sample, and the
    /// third has nothing to do.
    pub fn deciding(self) -> Self {
        let below = |bound: u64| if bound >= self.rows { u64::MAX } else { bound };
        let has_single_rows = self.rows_per_group == 1 && self.rows > 1;
        let groups = if has_single_rows { self.groups.min(self.rows) } else { below(self.groups) };
        // The first R rows of a single group are a uniform sample as they are.
        let rows_per_group = if groups == 1 { self.rows_per_group } else { below(self.rows_per_group) };
        Self { groups, rows_per_group, rows: self.rows }
    }
}

/// This many copies of rows may be held at a time, however few of them stay.
const HELD: usize = 1024;

/// Rows, column by column.
#[derive(Debug, Default)]
pub(crate) struct ColumnarRows {
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
    /// How many rows each of the first ones stands for; all others stand for themselves.
    copies: Vec<u32>,
}

impl ColumnarRows {
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

    /// Takes in all rows of another list, which is empty then and keeps its room.
    fn append(&mut self, more: &mut Self) {
        self.extend(more);
        let Self { width: _, numbers, ends, texts, groups, ranks, values, copies } = more;
        numbers.clear();
        ends.clear();
        texts.clear();
        groups.clear();
        ranks.clear();
        values.clear();
        copies.clear();
    }

    /// Takes in all rows of another list.
    fn extend(&mut self, more: &Self) {
        if !more.copies.is_empty() {
            self.copies.resize(self.len(), 1);
            copy_behind(&mut self.copies, &more.copies);
        }
        let shift = self.texts.len();
        copy_behind(&mut self.numbers, &more.numbers);
        copy_behind(&mut self.texts, &more.texts);
        self.ends.extend(more.ends.iter().map(|end| end + shift));
        copy_behind(&mut self.groups, &more.groups);
        copy_behind(&mut self.ranks, &more.ranks);
        copy_behind(&mut self.values, &more.values);
    }

    /// Some of the rows, each with a number of copies.
    fn only(&self, rows: &[(u32, u32)]) -> Self {
        let mut some = self.with_room(rows.len());
        for row in rows.iter().map(|(row, _)| *row as usize) {
            some.push(self.owner(row), self.groups[row], self.ranks[row], self.values_of(row).iter().copied());
        }
        some.copies = rows.iter().map(|(_, copies)| *copies).collect();
        some
    }

    /// How many bytes they take.
    fn bytes(&self) -> usize {
        let words = self.numbers.len() + self.ends.len() + self.ranks.len() + self.values.len();
        8 * words + 4 * (self.groups.len() + self.copies.len()) + self.texts.len()
    }

    /// None, with room for this many of the same kind.
    fn with_room(&self, count: usize) -> Self {
        Self {
            width: self.width,
            numbers: Vec::with_capacity(if self.numbers.is_empty() { 0 } else { count }),
            ends: Vec::with_capacity(if self.ends.is_empty() { 0 } else { count }),
            texts: Vec::new(),
            groups: Vec::with_capacity(count),
            ranks: Vec::with_capacity(count),
            values: Vec::with_capacity(count * self.width),
            copies: Vec::new(),
        }
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

    #[inline]
    fn copies_of(&self, row: usize) -> u32 {
        self.copies.get(row).copied().unwrap_or(1)
    }
}

/// Texts of waiting rows grow by this many bytes at least.
const STEP: usize = 1024;

/// Puts a copy of one list behind another, which grows by a quarter where it must: by doubling, rows took up to twice
/// the memory that they were counted with.
fn copy_behind<T: Copy>(list: &mut Vec<T>, more: &[T]) {
    if list.capacity() - list.len() < more.len() {
        list.reserve_exact(more.len().max(list.len() / 4).max(STEP));
    }
    list.extend_from_slice(more);
}

/// Which of 2^`log2` pieces an owner of this hash is in, by the bits behind the first `from`.
#[inline]
pub(crate) fn piece_of(hash: u64, from: u32, log2: u32) -> usize {
    if log2 == 0 { 0 } else { ((hash << from) >> (u64::BITS - log2)) as usize }
}

/// Which of two groups comes first where their ranks are equal: by their keys.
pub(crate) type Tie<'a> = &'a dyn Fn(u32, u32) -> Ordering;

/// All rows of some owners; some of the rows will stay.
pub(crate) struct Bounder<'a> {
    ranks: &'a Ranks,
    bounds: Bounds,
    rows: &'a ColumnarRows,
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
    /// The rows that stay by the first two rules, group after group, of each group no more than may count in all; a row
    /// with copies as often as copies of it stay.
    members: Vec<Member>,
    /// Of each group its rank, where its rows end, and how many there are, also beyond those.
    groups: Vec<ChosenGroup>,
    ranked: Vec<(u64, Member)>,
    third_rule: ThirdRule,
}

/// A group that stays by the first rule.
#[derive(Debug, Clone, Copy)]
struct ChosenGroup {
    rank: u64,
    end: usize,
    rows: u64,
}

/// Where a kept row is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeptRow {
    /// Its owner, as a number among those of one [`Bounder`].
    pub owner: u32,
    /// Its group.
    pub group: u32,
    /// Whether it is the owner's first in that group.
    pub first: bool,
}

/// An owner of whom more would count than may: a mistake in this file.
#[derive(Debug)]
pub(crate) struct BeyondBounds;

impl Bounder<'_> {
    /// The rows without what cannot stay, and one for all equal ones.
    fn cut_down(&self, tie: Tie<'_>) -> ColumnarRows {
        let mut kept: Vec<(u32, u32)> = Vec::new();
        let (mut members, ends) = self.by_owner();
        let mut start = 0;
        for end in ends {
            let owned = &mut members[start..end as usize];
            self.sort_by_group(owned, tie);
            for group in owned.chunk_by_mut(|left, right| left.group == right.group).take(self.most_groups()) {
                group.sort_unstable_by(|left, right| self.values_of(left).cmp(self.values_of(right)));
                for equal in group.chunk_by(|left, right| self.values_of(left) == self.values_of(right)) {
                    let mut left = self.copies_of(equal);
                    while left > 0 {
                        let copies = u32::try_from(left).unwrap_or(u32::MAX);
                        kept.push((equal[0].row, copies));
                        left -= copies as usize;
                    }
                }
            }
            start = end as usize;
        }
        self.rows.only(&kept)
    }

    fn values_of(&self, member: &Member) -> &[i64] {
        self.rows.values_of(member.row as usize)
    }

    fn copies_of(&self, members: &[Member]) -> usize {
        if self.rows.copies.is_empty() {
            return members.len();
        }
        members.iter().map(|member| self.rows.copies_of(member.row as usize) as usize).sum()
    }

    fn most_groups(&self) -> usize {
        usize::try_from(self.bounds.deciding().groups).unwrap_or(usize::MAX)
    }

    /// Gives each kept row to `visit`, owner after owner and group after group, with its place. What is given is
    /// counted once more, as all sensitivities rest on it.
    pub fn finish(&self, tie: Tie<'_>, mut visit: impl FnMut(KeptRow, &[i64])) -> Result<(), BeyondBounds> {
        let Bounds { groups, rows_per_group, rows } = self.bounds;
        let mut within = true;
        let mut owner = 0;
        self.choose(tie, |Choice { members, groups: chosen, third_rule, .. }| {
            let all = chosen.iter().fold(0u64, |all, group| all.saturating_add(group.rows));
            let counts = self.cuts_rows(all).then(|| {
                third_rule.counts(self.ranks, chosen.iter().map(|group| (group.rank, group.rows)), self.bounds.rows)
            });
            let (mut start, mut total, mut used) = (0, 0, 0);
            for (index, ChosenGroup { end, .. }) in chosen.iter().enumerate() {
                let count = counts.map_or(end - start, |counts| counts[index]);
                total += count as u64;
                used += u64::from(count > 0);
                within &= count as u64 <= rows_per_group && total <= rows && used <= groups;
                within &= members[start..start + count].windows(2).all(|pair| pair[0].group == pair[1].group);
                for (place, member) in members[start..start + count].iter().enumerate() {
                    let place = KeptRow { owner, group: member.group, first: place == 0 };
                    visit(place, self.rows.values_of(member.row as usize));
                }
                start = *end;
            }
            owner += 1;
        });
        if within { Ok(()) } else { Err(BeyondBounds) }
    }

    /// Gives `visit` what is decided about each owner by the first two rules.
    fn choose(&self, tie: Tie<'_>, mut visit: impl FnMut(&mut Choice)) {
        let (mut members, ends) = self.by_owner();
        let mut choice = Choice::default();
        let mut start = 0;
        for end in ends {
            self.choose_of_one(&mut members[start..end as usize], &mut choice, tie);
            visit(&mut choice);
            start = end as usize;
        }
    }

    /// All rows, sorted to their owners, and where those of each owner end.
    fn by_owner(&self) -> (Vec<Member>, Vec<u32>) {
        let quick = self.ranks.quick();
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

    /// Sorts the rows of one owner to their groups, in the order of the groups' ranks.
    fn sort_by_group(&self, rows: &mut [Member], tie: Tie<'_>) {
        rows.sort_unstable_by_key(|member| member.rank);
        if rows.windows(2).any(|pair| pair[0].rank == pair[1].rank && pair[0].group != pair[1].group) {
            rows.sort_by(|left, right| {
                let by_key = || if left.group == right.group { Ordering::Equal } else { tie(left.group, right.group) };
                left.rank.cmp(&right.rank).then_with(by_key)
            });
        }
    }

    /// Chooses the rows of one owner that stay by the first two rules.
    fn choose_of_one(&self, rows: &mut [Member], choice: &mut Choice, tie: Tie<'_>) {
        let Choice { members, groups, ranked, .. } = choice;
        members.clear();
        groups.clear();
        self.sort_by_group(rows, tie);
        let Bounds { rows_per_group, rows: most, .. } = self.bounds.deciding();
        let third_rule = self.cuts_rows(self.copies_of(rows) as u64);
        // Those of a group that may count, whatever the third rule says.
        let first = usize::try_from(rows_per_group.min(most)).unwrap_or(usize::MAX);
        for group in rows.chunk_by_mut(|left, right| left.group == right.group).take(self.most_groups()) {
            let length = self.copies_of(group);
            let rows = rows_per_group.min(length as u64);
            let are_ranked = self.rows.width > 0 && length > 1 && (length as u64 > rows || third_rule);
            if are_ranked {
                self.rank_copies(group, ranked, first);
                members.extend(ranked.iter().take(first).map(|(_, member)| *member));
            } else if self.rows.copies.is_empty() {
                members.extend_from_slice(&group[..first.min(group.len())]);
            } else {
                let copies = |member: &Member| self.rows.copies_of(member.row as usize) as usize;
                let all = group.iter().flat_map(|member| std::iter::repeat_n(*member, copies(member)));
                members.extend(all.take(first));
            }
            groups.push(ChosenGroup { rank: group[0].rank, end: members.len(), rows });
        }
    }

    /// The first `limit` copies or more of the rows of a group, by their ranks. No more than
    /// twice as many are held at a time: somebody may have a billion equal rows.
    fn rank_copies(&self, rows: &[Member], ranked: &mut Vec<(u64, Member)>, limit: usize) {
        let by_rank = |left: &(u64, Member), right: &(u64, Member)| {
            left.0.cmp(&right.0).then_with(|| self.values_of(&left.1).cmp(self.values_of(&right.1)))
        };
        ranked.clear();
        ranked.extend(rows.iter().map(|member| (self.ranks.of_row(member.rank, self.values_of(member)), *member)));
        ranked.sort_unstable_by(by_rank);
        let are_equal = |pair: &[(u64, Member)]| self.values_of(&pair[0].1) == self.values_of(&pair[1].1);
        if self.copies_of(rows) == rows.len() && !ranked.windows(2).any(are_equal) {
            return;
        }
        let mut copies = Vec::with_capacity(rows.len());
        for equal in ranked.chunk_by(|left, right| self.values_of(&left.1) == self.values_of(&right.1)) {
            let mut number = 0;
            for (rank, member) in equal {
                for _ in 0..self.rows.copies_of(member.row as usize) {
                    copies.push((self.ranks.of_copy(member.rank, self.values_of(member), *rank, number), *member));
                    number += 1;
                    if copies.len() >= limit.saturating_mul(2).max(HELD) {
                        copies.select_nth_unstable_by(limit, by_rank);
                        copies.truncate(limit);
                    }
                }
            }
        }
        copies.sort_unstable_by(by_rank);
        *ranked = copies;
    }

    /// Whether the third rule can drop some of this many rows.
    fn cuts_rows(&self, rows: u64) -> bool {
        let Bounds { groups, rows_per_group, rows: most } = self.bounds.deciding();
        groups.saturating_mul(rows_per_group).min(rows) > most
    }
}

/// Room to decide by the third rule in: owner after owner asked for memory in it, which was a twentieth of a bounded
/// group-by.
#[derive(Debug, Default)]
struct ThirdRule {
    /// The smallest places so far, the largest of them on top.
    smallest: BinaryHeap<(u64, usize)>,
    counts: Vec<usize>,
}

impl ThirdRule {
    /// How many of the `rows` smallest places of an owner are in each group (its rank, and how many rows of it stay by
    /// the first two rules).
    fn counts(&mut self, ranks: &Ranks, groups: impl Iterator<Item = (u64, u64)>, rows: u64) -> &[usize] {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let Self { smallest, counts } = self;
        counts.clear();
        for (index, (group_rank, members)) in groups.enumerate() {
            for n in 0..members {
                let place = (ranks.of_place(group_rank, n), index);
                if smallest.len() < rows {
                    smallest.push(place);
                } else if let Some(mut last) = smallest.peek_mut().filter(|last| place < **last) {
                    *last = place;
                }
            }
            counts.push(0);
        }
        smallest.drain().for_each(|(_, index)| counts[index] += 1);
        counts
    }
}

mod contributions;
mod owned;
mod packed;
mod part;
mod pile;
#[cfg(test)]
mod tests;
