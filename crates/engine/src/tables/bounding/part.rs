//! Rows that wait for the others of their owners: in memory as long as they fit, in an encrypted file beyond that.

use super::packed::DamagedRows;
use super::pile::Pile;
use super::{BeyondBounds, Bounder, Bounds, ColumnarRows, Tie, piece_of};
use crate::tables::hash::QuickHash;
use crate::tables::memory::Memory;
use crate::tables::ranks::Ranks;
use crate::tables::spill::{Chunk, Spill};

/// Fewer rows than these are not cut down before the end.
pub(crate) const MANY: usize = 1 << 16;
/// About this many rows fit a processor's cache with all that is done to them.
const CACHED: usize = 1 << 15;
/// What is written is written in this many pieces (2 to this power), each of some owners, which are read back one by
/// one.
const WRITTEN_LOG2: u32 = 4;
/// This many times in a row rows are written without being cut down, if a cut has not dropped a quarter of them.
const UNCUT: u32 = 7;
/// No part holds more than this many bytes: the lengths of chunks are numbers of 32 bits, and so are those of rows.
const MOST_BYTES: usize = 1 << 31;

/// What all parts of one query share.
pub(crate) struct PartContext {
    ranks: Ranks,
    quick: QuickHash,
    bounds: Bounds,
    /// There are 2 to this power parts.
    log2: u32,
    /// This many bytes each part may hold.
    share: usize,
    spill: Spill,
}

/// Why some rows are not there any more: the file could not be written or read, or a piece has more rows than can be
/// numbered.
#[derive(Debug)]
pub(crate) struct LostRows;

/// Why the rows of a part cannot be had.
#[derive(Debug)]
pub(crate) enum PartError {
    /// They are lost.
    Lost,
    /// An owner beyond its bounds.
    BeyondBounds,
}

impl From<LostRows> for PartError {
    fn from(_: LostRows) -> Self {
        Self::Lost
    }
}

impl From<BeyondBounds> for PartError {
    fn from(_: BeyondBounds) -> Self {
        Self::BeyondBounds
    }
}

impl From<std::io::Error> for LostRows {
    fn from(_: std::io::Error) -> Self {
        Self
    }
}

impl From<DamagedRows> for LostRows {
    fn from(_: DamagedRows) -> Self {
        Self
    }
}

impl PartContext {
    /// For rows in 2^`log2` parts.
    pub fn new(ranks: Ranks, bounds: Bounds, log2: u32, memory: &Memory) -> scumble::Result<Self> {
        let share = memory.share(1 << log2).min(MOST_BYTES);
        Ok(Self { quick: ranks.quick(), ranks, bounds, log2, share, spill: Spill::new(memory)? })
    }

    /// A part without rows.
    pub fn part(&self) -> OwnerPart {
        OwnerPart { rows: Pile::default(), long: MANY, uncut: 0, written: Vec::new() }
    }

    /// Which part an owner of this hash is in.
    #[inline]
    pub fn part_of(&self, hash: u64) -> usize {
        piece_of(hash, 0, self.log2)
    }

    /// Gives `visit` rows in pieces that fit a cache, each of some owners with all of their rows; this many first bits
    /// of the owners' hashes are the same.
    fn in_pieces<E: From<LostRows>>(
        &self,
        pile: &Pile,
        same: u32,
        bounds: Bounds,
        mut visit: impl FnMut(&Bounder<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        u32::try_from(pile.len()).map_err(|_| LostRows)?;
        let pieces = pile.len() / CACHED;
        let log2 = if pieces < 2 { 0 } else { pieces.ilog2() + 1 };
        for rows in pile.split(&self.quick, same, log2) {
            visit(&Bounder { ranks: &self.ranks, bounds, rows: &rows })?;
        }
        Ok(())
    }
}

/// The rows of some owners.
pub(crate) struct OwnerPart {
    /// Those in memory.
    rows: Pile,
    /// This many rows are cut down.
    long: usize,
    /// This many times they are written without a cut.
    uncut: u32,
    /// Those in the file, in pieces; no pieces where nothing was written.
    written: Vec<Vec<Chunk>>,
}

impl OwnerPart {
    /// Takes in rows, all of them.
    pub fn add(&mut self, rows: &mut ColumnarRows, aside: &PartContext, tie: Tie<'_>) -> Result<(), LostRows> {
        self.rows.add(rows);
        if self.rows.len() >= self.long {
            self.cut_down(aside, tie)?;
        }
        if self.rows.bytes() > aside.share { self.make_room(aside, tie) } else { Ok(()) }
    }

    /// Drops what cannot stay, and makes one of equal rows; gives whether that was a quarter of them or more.
    pub(crate) fn cut_down(&mut self, aside: &PartContext, tie: Tie<'_>) -> Result<bool, LostRows> {
        let mut kept = Pile::default();
        aside.in_pieces(&self.rows, aside.log2, aside.bounds, |piece| -> Result<(), LostRows> {
            kept.push(piece.cut_down(tie));
            Ok(())
        })?;
        let is_worth_it = kept.len() <= self.rows.len() / 4 * 3;
        self.long = MANY.max(kept.len().saturating_mul(if is_worth_it { 2 } else { 8 }));
        self.rows = kept;
        Ok(is_worth_it)
    }

    fn make_room(&mut self, aside: &PartContext, tie: Tie<'_>) -> Result<(), LostRows> {
        if self.uncut > 0 {
            self.uncut -= 1;
            return self.write(aside);
        }
        let is_worth_it = self.cut_down(aside, tie)?;
        if self.rows.bytes() <= aside.share / 2 {
            return Ok(());
        }
        self.uncut = if is_worth_it { 0 } else { UNCUT };
        self.write(aside)
    }

    /// Writes all rows to the file.
    pub(crate) fn write(&mut self, aside: &PartContext) -> Result<(), LostRows> {
        self.written.resize_with(1 << WRITTEN_LOG2, Vec::new);
        for (piece, chunks) in self.rows.split(&aside.quick, aside.log2, WRITTEN_LOG2).iter().zip(&mut self.written) {
            if piece.len() > 0 {
                chunks.push(aside.spill.write(&mut piece.pack())?);
            }
        }
        self.rows = Pile::default();
        self.long = MANY;
        Ok(())
    }

    /// Gives `visit` all rows of all owners, of some owners at a time, under bounds with no more groups than those that
    /// rows were taken in with.
    pub fn each(
        &self,
        aside: &PartContext,
        bounds: Bounds,
        mut visit: impl FnMut(&Bounder<'_>) -> Result<(), BeyondBounds>,
    ) -> Result<(), PartError> {
        debug_assert!(bounds.groups <= aside.bounds.groups, "the groups beyond may have been dropped");
        let mut visit = |piece: &Bounder<'_>| -> Result<(), PartError> { Ok(visit(piece)?) };
        if self.written.is_empty() {
            return aside.in_pieces(&self.rows, aside.log2, bounds, visit);
        }
        let mut bytes = Vec::new();
        let waiting = self.rows.split(&aside.quick, aside.log2, WRITTEN_LOG2);
        for (rows, chunks) in waiting.into_iter().zip(&self.written) {
            let mut pile = Pile::default();
            pile.push(rows);
            for chunk in chunks {
                aside.spill.read(*chunk, &mut bytes).map_err(LostRows::from)?;
                pile.push(ColumnarRows::unpack(&bytes).map_err(LostRows::from)?);
            }
            aside.in_pieces(&pile, aside.log2 + WRITTEN_LOG2, bounds, &mut visit)?;
        }
        Ok(())
    }

    /// How many rows are in memory, and whether some are in the file.
    #[cfg(test)]
    pub(crate) fn held(&self) -> (usize, bool) {
        (self.rows.len(), !self.written.is_empty())
    }
}
