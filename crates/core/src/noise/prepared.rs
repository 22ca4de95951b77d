//! A shape and its table, made when it pays: the first few draws go without, because a table costs as much as many
//! draws.

use super::blocks::{BlockTable, SlotStore, UnimodalWeights};
use super::source::BitSource;
use super::{add, into_i64};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// A shape that can perhaps be drawn from without a table, only more slowly.
pub(super) trait DirectSampling: UnimodalWeights {
    /// One draw with integers alone, as an offset from the mode; `None` if only the table can do it.
    fn draw<S: BitSource + ?Sized>(&self, _bits: &mut S) -> Option<i128> {
        None
    }
}

/// This many draws without a table cost about as much as the table.
const WITHOUT_TABLE: usize = 256;

/// A shape with its table, if it has been drawn from often enough.
pub(super) struct PreparedSampler<T> {
    shape: T,
    drawn: AtomicUsize,
    table: OnceLock<Arc<BlockTable>>,
}

impl<T: DirectSampling> PreparedSampler<T> {
    pub(super) fn new(shape: T) -> Self {
        Self { shape, drawn: AtomicUsize::new(0), table: OnceLock::new() }
    }

    pub(super) fn shape(&self) -> &T {
        &self.shape
    }

    /// One draw, as an offset from the mode.
    #[inline]
    pub(super) fn sample_wide<S: BitSource + ?Sized>(&self, bits: &mut S) -> i128 {
        match self.table.get() {
            Some(table) => table.sample(&self.shape, bits),
            None => self.sample_early(bits),
        }
    }

    #[cold]
    #[inline(never)]
    fn sample_early<S: BitSource + ?Sized>(&self, bits: &mut S) -> i128 {
        if !self.pays_for(1)
            && let Some(offset) = self.shape.draw(bits)
        {
            return offset;
        }
        self.table().sample(&self.shape, bits)
    }

    /// Fills `out` with independent draws.
    pub(super) fn fill<S: BitSource + ?Sized>(&self, bits: &mut S, out: &mut [i64]) {
        self.draw_all(bits, out, OverwriteStore);
    }

    /// Adds independent draws to `values`, each brought into the range of an i64 only after the sum.
    pub(super) fn add_to_all<S: BitSource + ?Sized>(&self, values: &mut [i64], bits: &mut S) {
        self.draw_all(bits, values, AdditionStore);
    }

    fn draw_all<S: BitSource + ?Sized, P: SlotStore>(&self, bits: &mut S, slots: &mut [i64], place: P) {
        if self.pays_for(slots.len()) {
            return self.table().fill(&self.shape, bits, slots, place);
        }
        for slot in slots {
            let offset = self.shape.draw(bits).unwrap_or_else(|| self.table().sample(&self.shape, bits));
            place.wide(slot, offset);
        }
    }

    /// Whether the table is there already or pays for this many more draws.
    fn pays_for(&self, count: usize) -> bool {
        self.table.get().is_some() || {
            let before = self.drawn.fetch_add(count, Ordering::Relaxed);
            before.saturating_add(count) > WITHOUT_TABLE
        }
    }

    fn table(&self) -> &BlockTable {
        self.table.get_or_init(|| Arc::new(BlockTable::new(&self.shape)))
    }
}

impl<T: Clone> Clone for PreparedSampler<T> {
    fn clone(&self) -> Self {
        let drawn = AtomicUsize::new(self.drawn.load(Ordering::Relaxed));
        Self { shape: self.shape.clone(), drawn, table: self.table.clone() }
    }
}

impl<T: fmt::Debug> fmt::Debug for PreparedSampler<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shape.fmt(f)
    }
}

impl<T: PartialEq> PartialEq for PreparedSampler<T> {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape
    }
}

#[derive(Clone, Copy)]
struct OverwriteStore;

impl SlotStore for OverwriteStore {
    #[inline]
    fn narrow(self, slot: &mut i64, offset: i64) {
        *slot = offset;
    }
    fn wide(self, slot: &mut i64, offset: i128) {
        *slot = into_i64(offset);
    }
}

#[derive(Clone, Copy)]
struct AdditionStore;

impl SlotStore for AdditionStore {
    #[inline]
    fn narrow(self, slot: &mut i64, offset: i64) {
        *slot = slot.saturating_add(offset);
    }
    fn wide(self, slot: &mut i64, offset: i128) {
        *slot = add(*slot, offset);
    }
}
