//! Rows that wait, in chunks that do not grow. One list of all of them was copied again whenever it had to grow, and
//! glibc does so while it holds what other processors need to get memory: they were idle for a tenth of the reading.

use super::{ColumnarRows, piece_of};
use crate::tables::hash::QuickHash;

/// How many rows a chunk has room for; few in tests, so that there are many chunks.
const CHUNK: usize = if cfg!(test) { 8 } else { 4096 };

/// Rows in chunks.
#[derive(Debug, Default)]
pub(crate) struct Pile {
    chunks: Vec<ColumnarRows>,
    len: usize,
    bytes: usize,
}

impl Pile {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// How many bytes they take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes in all rows of a list, which is empty then and keeps its room.
    pub fn add(&mut self, more: &mut ColumnarRows) {
        if more.len() == 0 {
            return;
        }
        (self.len, self.bytes) = (self.len + more.len(), self.bytes + more.bytes());
        match self.chunks.last_mut() {
            Some(last) if last.len() + more.len() <= CHUNK => last.append(more),
            _ => {
                let mut chunk = more.with_room(CHUNK.max(more.len()));
                chunk.append(more);
                self.chunks.push(chunk);
            }
        }
    }

    /// Takes in a list as it is.
    pub fn push(&mut self, chunk: ColumnarRows) {
        if chunk.len() > 0 {
            (self.len, self.bytes) = (self.len + chunk.len(), self.bytes + chunk.bytes());
            self.chunks.push(chunk);
        }
    }

    /// The rows in 2^`log2` lists, by the bits of their owners' hashes behind the first `from`.
    pub fn split(&self, quick: &QuickHash, from: u32, log2: u32) -> Vec<ColumnarRows> {
        if log2 == 0 {
            return vec![self.joined()];
        }
        let place = |chunk: &ColumnarRows, row: usize| piece_of(chunk.owner(row).hash(quick), from, log2) as u32;
        let places: Vec<u32> =
            self.chunks.iter().flat_map(|chunk| (0..chunk.len()).map(move |row| place(chunk, row))).collect();
        let mut counts = vec![0; 1 << log2];
        places.iter().for_each(|place| counts[*place as usize] += 1);
        let mut lists: Vec<ColumnarRows> = counts.into_iter().map(|count| self.with_room(count)).collect();
        let mut rest = places.as_slice();
        for chunk in &self.chunks {
            let (own, later) = rest.split_at(chunk.len());
            chunk.deal(own, &mut lists);
            rest = later;
        }
        lists
    }

    /// All rows in one list.
    fn joined(&self) -> ColumnarRows {
        let mut all = self.with_room(self.len);
        self.chunks.iter().for_each(|chunk| all.extend(chunk));
        all
    }

    /// A list with room for this many rows.
    fn with_room(&self, count: usize) -> ColumnarRows {
        self.chunks.first().map(|chunk| chunk.with_room(count)).unwrap_or_default()
    }
}

impl ColumnarRows {
    /// Gives each row to the list of its place, column by column.
    fn deal(&self, places: &[u32], lists: &mut [Self]) {
        let places = || places.iter().map(|place| *place as usize);
        if !self.copies.is_empty() {
            // Before the groups, whose number tells how many rows each list had.
            let mut had: Vec<usize> = lists.iter().map(Self::len).collect();
            for (row, place) in places().enumerate() {
                lists[place].copies.resize(had[place], 1);
                lists[place].copies.push(self.copies_of(row));
                had[place] += 1;
            }
        }
        for (group, place) in self.groups.iter().zip(places()) {
            lists[place].groups.push(*group);
        }
        for (number, place) in self.numbers.iter().zip(places()) {
            lists[place].numbers.push(*number);
        }
        if self.numbers.is_empty() {
            for (row, place) in places().enumerate() {
                let (start, end) = (if row == 0 { 0 } else { self.ends[row - 1] }, self.ends[row]);
                let list = &mut lists[place];
                list.texts.extend_from_slice(&self.texts[start..end]);
                list.ends.push(list.texts.len());
            }
        }
        for (rank, place) in self.ranks.iter().zip(places()) {
            lists[place].ranks.push(*rank);
        }
        if self.width == 1 {
            for (value, place) in self.values.iter().zip(places()) {
                lists[place].values.push(*value);
            }
        } else if self.width > 1 {
            for (values, place) in self.values.chunks_exact(self.width).zip(places()) {
                lists[place].values.extend_from_slice(values);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::hash::Key;
    use crate::tables::intern::Name;
    use crate::tables::ranks::Ranks;
    use proptest::prelude::*;

    /// Owner, group, rank, first value, copies.
    type Plain = (u8, u32, u64, i64, u32);

    fn rows_of(plain: &[Plain], width: usize, is_text: bool, has_copies: bool) -> ColumnarRows {
        let mut rows = ColumnarRows::new(width);
        for (owner, group, rank, value, _) in plain {
            let text = vec![b'a'; usize::from(*owner)];
            let name = if is_text { Name::Text(&text) } else { Name::Number(i64::from(*owner)) };
            rows.push(name, *group, *rank, (0..width as i64).map(|column| value + column));
        }
        if has_copies {
            rows.copies = plain.iter().map(|row| row.4).collect();
        }
        rows
    }

    /// All that a list knows of each of its rows.
    fn known(rows: &ColumnarRows) -> impl Iterator<Item = String> + '_ {
        (0..rows.len()).map(|row| {
            let rest = (rows.groups[row], rows.ranks[row], rows.values_of(row), rows.copies_of(row));
            format!("{:?} {rest:?}", rows.owner(row))
        })
    }

    proptest! {
        /// Whatever chunks there are, each row is in one list with all that belongs to it, and in that of its owner's
        /// hash.
        #[test]
        fn split_rows_are_the_rows(
            lists in prop::collection::vec((prop::collection::vec((0u8..9, 0u32..5, 0u64..5, -3i64..3, 1u32..4), 0..12), any::<[bool; 2]>()), 0..8),
            width in 0usize..4,
            is_text: bool,
            log2 in 0u32..4,
        ) {
            let quick = Ranks::Sip(Key(1, 2)).quick();
            let (mut pile, mut expected, mut bytes) = (Pile::default(), Vec::new(), 0);
            for (plain, [has_copies, is_chunk]) in &lists {
                let mut rows = rows_of(plain, width, is_text, *has_copies);
                bytes += rows.bytes();
                expected.extend(known(&rows));
                if *is_chunk { pile.push(rows) } else { pile.add(&mut rows) }
            }
            prop_assert_eq!((pile.len(), pile.bytes()), (expected.len(), bytes));
            let split = pile.split(&quick, 3, log2);
            prop_assert_eq!(split.len(), 1 << log2);
            for (place, rows) in split.iter().enumerate() {
                prop_assert!((0..rows.len()).all(|row| piece_of(rows.owner(row).hash(&quick), 3, log2) == place));
            }
            let mut found: Vec<String> = split.iter().flat_map(known).collect();
            found.sort();
            expected.sort();
            prop_assert_eq!(found, expected);
        }
    }
}
