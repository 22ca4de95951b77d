//! All rows of each owner, for kinds that choose among them by a rule of their own. Rows that do not fit into memory
//! wait in an encrypted file.

use super::{Bounder, Bounds, ColumnarRows, LostRows, OwnerPart, PartContext};
use crate::tables::hash::{Key, QuickHash};
use crate::tables::intern::Name;
use crate::tables::memory::Memory;
use crate::tables::ranks::Ranks;
use std::cmp::Ordering;

/// How many parts there are: 2 to this power.
const PARTS_LOG2: u32 = 8;
/// How many rows go to a part at a time.
const POCKETFUL: usize = 128;
/// No row is dropped.
const ALL: Bounds = Bounds { groups: u64::MAX, rows_per_group: u64::MAX, rows: u64::MAX };

/// The rows of all owners.
pub(crate) struct RowsByOwner {
    aside: PartContext,
    quick: QuickHash,
    parts: Vec<OwnerPart>,
    /// Rows on their way to each part.
    pockets: Vec<ColumnarRows>,
}

/// All rows are in one group.
fn tie(_: u32, _: u32) -> Ordering {
    Ordering::Equal
}

impl RowsByOwner {
    /// For rows of `width` values.
    pub fn new(key: Key, width: usize, memory: &Memory) -> scumble::Result<Self> {
        let ranks = Ranks::from(key);
        let quick = ranks.quick();
        let aside = PartContext::new(ranks, ALL, PARTS_LOG2, memory)?;
        let parts = (0..1 << PARTS_LOG2).map(|_| aside.part()).collect();
        let pockets = (0..1 << PARTS_LOG2).map(|_| ColumnarRows::new(width)).collect();
        Ok(Self { aside, quick, parts, pockets })
    }

    /// Takes in a row.
    #[inline]
    pub fn push(&mut self, owner: Name<'_>, values: impl Iterator<Item = i64>) -> Result<(), LostRows> {
        let index = self.aside.part_of(owner.hash(&self.quick));
        let pocket = &mut self.pockets[index];
        pocket.push(owner, 0, 0, values);
        if pocket.len() < POCKETFUL { Ok(()) } else { self.parts[index].add(pocket, &self.aside, &tie) }
    }

    /// Gives `visit` each owner once, with its different rows in the order of their values and how many of each there
    /// are.
    pub fn each(self, mut visit: impl FnMut(Name<'_>, &[(&[i64], u64)])) -> Result<(), LostRows> {
        let Self { aside, parts, pockets, .. } = self;
        for (mut part, mut pocket) in parts.into_iter().zip(pockets) {
            part.add(&mut pocket, &aside, &tie)?;
            let visited = part.each(&aside, ALL, |piece| {
                piece.all_of_each(&mut visit);
                Ok(())
            });
            visited.map_err(|_| LostRows)?;
        }
        Ok(())
    }
}

impl Bounder<'_> {
    /// Gives `visit` each owner with its different rows and how many of each there are.
    fn all_of_each(&self, mut visit: impl FnMut(Name<'_>, &[(&[i64], u64)])) {
        let (mut members, ends) = self.by_owner();
        let mut different: Vec<(&[i64], u64)> = Vec::new();
        let mut start = 0;
        for end in ends {
            let owned = &mut members[start..end as usize];
            owned.sort_unstable_by(|left, right| self.values_of(left).cmp(self.values_of(right)));
            different.clear();
            for equal in owned.chunk_by(|left, right| self.values_of(left) == self.values_of(right)) {
                different.push((self.values_of(&equal[0]), self.copies_of(equal) as u64));
            }
            visit(self.rows.owner(owned[0].row as usize), &different);
            start = end as usize;
        }
    }
}
