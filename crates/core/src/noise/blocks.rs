//! The fast path: any distribution on the integers whose weights fall away from one mode, sampled from a certified
//! table.
//!
//! The integers are cut into blocks that run away from the mode. A block's envelope is its length times the weight at
//! its edge, where the weight is largest. A draw takes a block in proportion to its envelope, a uniform integer of the
//! block, and keeps it with probability weight/weight at the edge; else it starts again. With blocks of one integer
//! everything is kept, and the table is that of the distribution itself.
//!
//! # Guarantee
//! Exact, though the table is finite. The block is the one whose cumulative envelope holds a uniform real U; only the
//! leading bits of U are drawn. The table holds the cumulative probabilities to about 48 certified bits. A random word
//! that all numbers inside the certified bounds sort alike is decided; for any other, more bits of U are drawn and the
//! bounds recomputed as much narrower as it takes ([`BlockTable::block_of_real`]), for as long as it takes. The same
//! holds for keeping.

use super::bernoulli;
use super::certified::{Arithmetic, Interval};
use super::source::BitSource;
use num_bigint::{BigInt, BigUint};
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// Which way from the mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModeSide {
    /// From the mode upwards.
    Right,
    /// From the mode − 1 downwards.
    Left,
}

/// How the integers are cut into blocks. All positions here are offsets from the mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockLayout {
    /// Blocks of 2^length integers on both sides.
    TwoSided { length_log2: u32 },
    /// Blocks of 2^length integers on the right only.
    OneSided { length_log2: u32 },
    /// On the right only, for weights that fall steeply at first: 16 single integers, then 8 blocks to each doubling,
    /// until they are 2^length long.
    Doubling { length_log2: u32 },
}

/// A run of 2^length integers from `edge` away from the mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) edge: i128,
    pub(super) length_log2: u32,
    side: ModeSide,
}

impl Block {
    fn at(&self, step: u64) -> i128 {
        match self.side {
            ModeSide::Right => self.edge.saturating_add(step.into()),
            ModeSide::Left => self.edge.saturating_sub(step.into()),
        }
    }
}

impl BlockLayout {
    /// The block of this place on this side, counted from the mode.
    pub(super) fn block(self, side: ModeSide, index: u64) -> Block {
        let index = i128::from(index);
        let (start, length_log2) = match self {
            Self::TwoSided { length_log2 } | Self::OneSided { length_log2 } => (index << length_log2, length_log2),
            Self::Doubling { length_log2 } => {
                let doublings = (index / 8 - 1).clamp(0, length_log2.into());
                ((index - 8 * doublings) << doublings, doublings as u32)
            }
        };
        let edge = if side == ModeSide::Right { start } else { -1 - start };
        Block { edge, length_log2, side }
    }

    fn has_left(self) -> bool {
        matches!(self, Self::TwoSided { .. })
    }

    /// From which block on all are of one length.
    fn first_of_constant_length(self) -> u64 {
        match self {
            Self::TwoSided { .. } | Self::OneSided { .. } => 0,
            Self::Doubling { length_log2 } => 8 * (u64::from(length_log2) + 1),
        }
    }

    /// A block length for a distribution of this width: single integers up to `single`, then `parts` to 2·`parts`
    /// blocks in each width.
    pub(super) fn length_log2(width: f64, single: f64, parts: f64) -> u32 {
        if width < single { 0 } else { (width / parts).log2().floor().max(0.0) as u32 }
    }
}

/// Unnormalised weights on the integers that never rise away from the mode. Positions are offsets from the mode.
pub(super) trait UnimodalWeights {
    /// How the integers are cut.
    fn layout(&self) -> BlockLayout;

    /// Encloses weight(at)/weight(edge), for `at` at least as far from the mode as `edge`, on the same side
    /// (or `edge` = 0).
    fn ratio(&self, arithmetic: &Arithmetic, at: i128, edge: i128) -> Interval;

    /// Encloses weight(edge)/weight(mode) for the edges of all blocks of one side, from the mode outwards.
    fn edge_weights<'a>(
        &'a self,
        arithmetic: &'a Arithmetic,
        side: ModeSide,
    ) -> Box<dyn Iterator<Item = Interval> + 'a> {
        Box::new((0..).map(move |index| self.ratio(arithmetic, self.layout().block(side, index).edge, 0)))
    }

    /// −ln of the ratio with a relative error of at most 2^−40, if that is quickly had.
    fn quick_exponent(&self, _at: i128, _edge: i128) -> Option<f64> {
        None
    }

    /// An upper bound of weight(next edge)/weight(edge) for all blocks of constant length; `None` if the shape is
    /// log-concave, where the ratio seen last bounds all that follow.
    fn largest_ratio(&self, _arithmetic: &Arithmetic) -> Option<Interval> {
        None
    }
}

/// A block of the table, ready for the hot loop.
#[derive(Debug, Clone, Copy)]
struct BlockCell {
    /// |edge|, less one on the left.
    start: u64,
    /// At least this many of 2^24 are kept wherever in the block.
    surely_kept: u32,
    length_log2: u8,
    /// 0 on the right, −1 on the left: what turns `start + step` into the offset by exclusive or.
    side_mask: i8,
}

/// The table of a shape.
#[derive(Debug)]
pub(super) struct BlockTable {
    /// For blocks of one integer: the offset that belongs to the first 16 bits, or [`UNDECIDED`].
    offsets: Option<Box<[i16; FIRST_WORDS]>>,
    /// For longer blocks: the cell that belongs to the first 16 bits, or [`UNDECIDED_CELL`].
    first_cells: Box<[u16; FIRST_WORDS]>,
    /// The first cell that a word with these 16 leading bits can be in.
    candidates: Box<[u16; FIRST_WORDS]>,
    cells: Vec<BlockCell>,
    /// Lower bounds of the cumulative probabilities, in units of 2^−64; each is less than `uncertainty` too low.
    ends: Vec<u64>,
    uncertainty: u64,
    /// Whether no block is too long for one word to hold a place in it.
    one_word: bool,
}

const FIRST_WORDS: usize = 1 << 16;
const UNDECIDED: i16 = i16::MIN;
const UNDECIDED_CELL: u16 = u16::MAX;
/// A 64-bit word is 16 bits for the block, 24 for the place in it and 24 for keeping.
const KEEP_BITS: u32 = 24;
const PLACE_BITS: u32 = 24;
/// What lies beyond the table has less than 2^−TAIL_BITS of the mass.
const TAIL_BITS: u64 = 50;
/// Fractional bits of the arithmetic that makes the table.
const TABLE_PRECISION: u64 = 128;

impl BlockTable {
    /// The table of `shape`.
    pub(super) fn new<T: UnimodalWeights>(shape: &T) -> Self {
        let envelope = Envelope::of(shape, TABLE_PRECISION, TAIL_BITS);
        let (ends, uncertainty) = envelope.words();
        let cells = envelope.cells(shape.layout());
        let largest_length = cells.iter().map(|cell| u32::from(cell.length_log2)).max().unwrap_or(0);
        let (candidates, first_cells) = first_words(&ends, uncertainty);
        let offsets = (largest_length == 0).then(|| offsets(&first_cells, &cells));
        Self { offsets, first_cells, candidates, cells, ends, uncertainty, one_word: largest_length <= PLACE_BITS }
    }

    /// All that the hot loop decides by, in words: `proofs/tables/check.py` checks it against the law with an
    /// arithmetic of its own.
    #[cfg(any(test, feature = "harness"))]
    fn certificate(&self, law: &str) -> String {
        let mut lines = vec![format!("table {law}"), format!("uncertainty {}", self.uncertainty)];
        let cells = self.cells.iter().zip(&self.ends);
        lines.extend(cells.map(|(cell, end)| {
            let BlockCell { start, surely_kept, length_log2, side_mask } = cell;
            format!("cell {side_mask} {start} {length_log2} {surely_kept} {end}")
        }));
        for first in 0..FIRST_WORDS {
            let cell = match self.first_cells[first] {
                UNDECIDED_CELL => "-".to_string(),
                cell => cell.to_string(),
            };
            let offset = match self.offsets.as_ref().map(|offsets| offsets[first]) {
                None | Some(UNDECIDED) => "-".to_string(),
                Some(offset) => offset.to_string(),
            };
            lines.push(format!("first {first} {} {cell} {offset}", self.candidates[first]));
        }
        lines.push("end".to_string());
        lines.join("\n")
    }

    /// One draw, as an offset from the mode.
    #[inline]
    pub(super) fn sample<T: UnimodalWeights, S: BitSource + ?Sized>(&self, shape: &T, bits: &mut S) -> i128 {
        if let Some(offsets) = &self.offsets {
            let first = bits.next_bits(16) as u16;
            match offsets[usize::from(first)] {
                UNDECIDED => self.single_slowly(shape, first, bits),
                offset => offset.into(),
            }
        } else {
            let word = bits.next_u64();
            match self.quickly(word) {
                Some(offset) => offset.into(),
                None => self.slowly(shape, word, bits),
            }
        }
    }

    /// Independent draws, handed to `place` together with their slots.
    pub(super) fn fill<T: UnimodalWeights, S: BitSource + ?Sized, P: SlotStore>(
        &self,
        shape: &T,
        bits: &mut S,
        out: &mut [i64],
        place: P,
    ) {
        let mut words = [0u64; 512];
        if let Some(offsets) = &self.offsets {
            for chunk in out.chunks_mut(4 * words.len()) {
                let words = &mut words[..chunk.len().div_ceil(4)];
                bits.fill(words);
                for (slots, word) in chunk.chunks_mut(4).zip(words) {
                    for (index, slot) in slots.iter_mut().enumerate() {
                        let first = (*word >> (16 * index)) as u16;
                        match offsets[usize::from(first)] {
                            UNDECIDED => place.wide(slot, self.single_slowly(shape, first, bits)),
                            offset => place.narrow(slot, offset.into()),
                        }
                    }
                }
            }
            return;
        }
        for chunk in out.chunks_mut(words.len()) {
            let words = &mut words[..chunk.len()];
            bits.fill(words);
            for (slot, word) in chunk.iter_mut().zip(words) {
                match self.quickly(*word) {
                    Some(offset) => place.narrow(slot, offset),
                    None => place.wide(slot, self.slowly(shape, *word, bits)),
                }
            }
        }
    }

    /// The offset that belongs to a word, if the word decides and surely keeps.
    #[inline]
    fn quickly(&self, word: u64) -> Option<i64> {
        let cell = self.first_cells[usize::from((word >> 48) as u16)];
        let cell = self.cells.get(usize::from(cell))?;
        let keep = word as u32 & ((1 << KEEP_BITS) - 1);
        if keep >= cell.surely_kept || !self.one_word {
            return None;
        }
        // Nothing wraps: one word holds the place, so that a block has at most 2^24 integers, and fewer than 2^16 cells
        // come before it. Checking that in every draw costs up to a fifth of the speed (`bench/run noise`).
        let step = (word >> KEEP_BITS) & 1u64.wrapping_shl(cell.length_log2.into()).wrapping_sub(1);
        Some(cell.start.wrapping_add(step) as i64 ^ i64::from(cell.side_mask))
    }

    /// As [`BlockTable::quickly`] for any word and any block length.
    #[cold]
    #[inline(never)]
    fn slowly<T: UnimodalWeights, S: BitSource + ?Sized>(&self, shape: &T, first_word: u64, bits: &mut S) -> i128 {
        let mut word = first_word;
        loop {
            let block = self.block_of_first(shape, (word >> 48) as u16, bits);
            let step = if block.length_log2 <= PLACE_BITS {
                (word >> KEEP_BITS) & ((1 << block.length_log2) - 1)
            } else {
                bits.next_bits(block.length_log2)
            };
            let offset = block.at(step);
            if keep(shape, offset, block.edge, word & ((1 << KEEP_BITS) - 1), bits) {
                return offset;
            }
            word = bits.next_u64();
        }
    }

    /// The offset of an undecided first word when all blocks are single integers.
    #[cold]
    #[inline(never)]
    fn single_slowly<T: UnimodalWeights, S: BitSource + ?Sized>(&self, shape: &T, first: u16, bits: &mut S) -> i128 {
        self.block_of_first(shape, first, bits).edge
    }

    /// The block that holds a uniform real with these leading 16 bits.
    fn block_of_first<T: UnimodalWeights, S: BitSource + ?Sized>(&self, shape: &T, first: u16, bits: &mut S) -> Block {
        let decided = self.first_cells[usize::from(first)];
        if decided != UNDECIDED_CELL {
            return block_of_cell(shape.layout(), usize::from(decided));
        }
        let word = u64::from(first) << 48 | bits.next_bits(48);
        for cell in usize::from(self.candidates[usize::from(first)])..self.ends.len() {
            let end = self.ends[cell];
            if word < end {
                return block_of_cell(shape.layout(), cell);
            }
            if word - end < self.uncertainty {
                break;
            }
        }
        Self::block_of_real(shape, word, bits)
    }

    /// The block that holds a uniform real with these leading 64 bits: more bits of it and more digits of the
    /// cumulative envelope until they decide. Each round decides all but 2^−precision or so of what is left.
    fn block_of_real<T: UnimodalWeights, S: BitSource + ?Sized>(shape: &T, word: u64, bits: &mut S) -> Block {
        let mut real = BigUint::from(word);
        let mut known = 64u64;
        loop {
            for _ in 0..known / 64 {
                real = (real << 64u32) | BigUint::from(bits.next_u64());
            }
            known *= 2;
            if let Some(cell) = Envelope::of(shape, known + 64, known).cell_of(&real, known) {
                return block_of_cell(shape.layout(), cell);
            }
        }
    }
}

/// How a draw gets into its slot.
pub(super) trait SlotStore: Copy {
    /// A draw that is small.
    fn narrow(self, slot: &mut i64, offset: i64);
    /// Any draw.
    fn wide(self, slot: &mut i64, offset: i128);
}

/// Cells 0, 1, 2, 3 … are the right and the left block nearest to the mode, the next ones, and so on; on one side only
/// when there is no left. More cells never change the order of the earlier ones: every table of a shape, however
/// precise, cuts the same real line.
fn block_of_cell(layout: BlockLayout, cell: usize) -> Block {
    if !layout.has_left() {
        return layout.block(ModeSide::Right, cell as u64);
    }
    layout.block(if cell.is_multiple_of(2) { ModeSide::Right } else { ModeSide::Left }, cell as u64 / 2)
}

/// Whether `offset` is kept: a uniform real with the leading bits `keep` against weight(offset)/weight(edge).
fn keep<T: UnimodalWeights, S: BitSource + ?Sized>(
    shape: &T,
    offset: i128,
    edge: i128,
    keep: u64,
    bits: &mut S,
) -> bool {
    const SLACK: f64 = 1.0 / (1u64 << 39) as f64;
    if offset == edge {
        return true;
    }
    if let Some(exponent) = shape.quick_exponent(offset, edge).filter(|exponent| *exponent <= 1.0) {
        // 1 − x ≤ e^{−x} ≤ 1 − x + x²/2, with slack for the error of x and of these sums.
        let unit = f64::from(1u32 << KEEP_BITS);
        if (keep + 1) as f64 / unit <= 1.0 - exponent - SLACK {
            return true;
        }
        if keep as f64 / unit >= 1.0 - exponent + exponent * exponent / 2.0 + SLACK {
            return false;
        }
    }
    bernoulli::real(bits, keep, KEEP_BITS, |arithmetic| shape.ratio(arithmetic, offset, edge))
}

/// Cumulative envelopes of a shape, certified.
struct Envelope {
    /// Weight at the edge of each cell, relative to the mode.
    edges: Vec<Interval>,
    /// The sum of the envelopes of the cells up to and with each one.
    ends: Vec<Interval>,
    /// The sum over all cells, also those not listed.
    total: Interval,
}

impl Envelope {
    /// Lists cells until those left out have less than 2^−tail_bits of the mass.
    fn of<T: UnimodalWeights>(shape: &T, precision: u64, tail_bits: u64) -> Self {
        let arithmetic = Arithmetic::new(precision);
        let layout = shape.layout();
        let negligible = BigInt::one() << precision.saturating_sub(tail_bits + 1);
        let mut sides = vec![EnvelopeTail::new(shape, &arithmetic, ModeSide::Right, &negligible)];
        if layout.has_left() {
            sides.push(EnvelopeTail::new(shape, &arithmetic, ModeSide::Left, &negligible));
        }
        let (mut edges, mut ends, mut sum) = (Vec::new(), Vec::new(), Interval::zero());
        for index in 0.. {
            for side in &mut sides {
                let edge = side.next(index);
                let length = layout.block(side.side, index).length_log2;
                sum.low += &edge.low << length;
                sum.high += &edge.high << length;
                edges.push(edge);
                ends.push(sum.clone());
            }
            if index < layout.first_of_constant_length() {
                continue;
            }
            let length = layout.block(ModeSide::Right, index).length_log2;
            let beyond: Option<Vec<BigInt>> = sides.iter().map(|side| side.beyond(&arithmetic, length)).collect();
            if let Some(beyond) = beyond.filter(|beyond| beyond.iter().all(|mass| *mass <= negligible)) {
                sum.high += beyond.iter().sum::<BigInt>();
                break;
            }
        }
        Self { edges, ends, total: sum }
    }

    /// The cumulative probabilities in units of 2^−64, rounded down, and one more than how far they may be too low.
    fn words(&self) -> (Vec<u64>, u64) {
        let mut uncertainty = BigInt::one();
        let mut words = Vec::with_capacity(self.ends.len());
        // One over the total, rounded both ways, in units of 2^−digits: two divisions instead of two per cell.
        let digits = self.total.high.bits() + 128;
        let lowest = (BigInt::one() << digits).div_floor(&self.total.high);
        let highest = (BigInt::one() << digits).div_ceil(&self.total.low);
        for end in &self.ends {
            let low = (&end.low * &lowest) >> (digits - 64);
            let high = ((&end.high * &highest) >> (digits - 64)) + 1u32;
            uncertainty = uncertainty.max(high - &low);
            words.push(low.to_u64().unwrap_or(u64::MAX));
        }
        (words, uncertainty.to_u64().unwrap_or(u64::MAX).saturating_add(1))
    }

    /// Which cell holds the real between `real` and `real + 1`, in units of 2^−known; `None` if that is not certain.
    fn cell_of(&self, real: &BigUint, known: u64) -> Option<usize> {
        let real = BigInt::from(real.clone());
        let (lowest, highest) = (&real * &self.total.low, (&real + 1u32) * &self.total.high);
        for (cell, end) in self.ends.iter().enumerate() {
            if highest <= &end.low << known {
                return Some(cell);
            }
            if lowest < &end.high << known {
                return None;
            }
        }
        None
    }

    fn cells(&self, layout: BlockLayout) -> Vec<BlockCell> {
        let stride = if layout.has_left() { 2 } else { 1 };
        let cell = |index: usize| {
            let block = block_of_cell(layout, index);
            let left = block.side == ModeSide::Left;
            let start = if left { -1 - block.edge } else { block.edge };
            // The far end of a block weighs at least as much as the next edge.
            let kept = match self.edges.get(index + stride) {
                _ if block.length_log2 == 0 => 1 << KEEP_BITS,
                Some(next) if self.edges[index].high.is_positive() => {
                    ((&next.low << KEEP_BITS) / &self.edges[index].high).to_u32().unwrap_or(0)
                }
                _ => 0,
            };
            BlockCell {
                start: u64::try_from(start).unwrap_or(u64::MAX),
                surely_kept: kept,
                length_log2: block.length_log2 as u8,
                side_mask: if left { -1 } else { 0 },
            }
        };
        (0..self.edges.len()).map(cell).collect()
    }
}

/// One side of an envelope, and what is known about the rest of it.
struct EnvelopeTail<'a> {
    side: ModeSide,
    weights: Box<dyn Iterator<Item = Interval> + 'a>,
    last: Interval,
    /// An upper bound of the ratio of each later edge to the one before it, in units of 2^−precision.
    ratio: Option<BigInt>,
    ratio_is_fixed: bool,
    precision: u64,
    /// Heavier weights are certainly not the end: until then no division is spent on a closer ratio.
    negligible: BigInt,
}

impl<'a> EnvelopeTail<'a> {
    fn new<T: UnimodalWeights>(shape: &'a T, arithmetic: &'a Arithmetic, side: ModeSide, negligible: &BigInt) -> Self {
        let fixed = shape.largest_ratio(arithmetic).map(|ratio| ratio.high);
        Self {
            side,
            weights: shape.edge_weights(arithmetic, side),
            last: arithmetic.one(),
            ratio_is_fixed: fixed.is_some(),
            ratio: fixed,
            precision: arithmetic.precision(),
            negligible: negligible.clone(),
        }
    }

    fn next(&mut self, index: u64) -> Interval {
        let weight = self.weights.next().unwrap_or_else(Interval::zero);
        // Of a log-concave shape the ratios never rise, so that the least seen so far bounds all that follow. The first
        // on the left is from the mode to the mode − 1, one step, and bounds the ratios of longer steps too.
        let first_on_the_right = self.side == ModeSide::Right && index == 0;
        let wanted = self.ratio.is_none() || weight.high <= self.negligible;
        if wanted && !self.ratio_is_fixed && !first_on_the_right && self.last.low.is_positive() {
            let seen = (&weight.high << self.precision).div_ceil(&self.last.low);
            self.ratio = Some(self.ratio.take().map_or(seen.clone(), |least| least.min(seen)));
        }
        self.last = weight.clone();
        weight
    }

    /// An upper bound of the envelopes of all later blocks of this length: last·(ρ + ρ² + …); `None` if there is none
    /// yet.
    fn beyond(&self, arithmetic: &Arithmetic, length_log2: u32) -> Option<BigInt> {
        if self.last.high.is_zero() {
            return Some(BigInt::zero());
        }
        let ratio = self.ratio.as_ref().filter(|_| self.last.high <= self.negligible)?;
        let rest = arithmetic.one().low - ratio;
        if !rest.is_positive() {
            return None;
        }
        Some((&self.last.high * ratio).div_ceil(&rest) << length_log2)
    }
}

/// For each value of the first 16 bits: the first cell it can be in, and the cell it is certainly in or
/// [`UNDECIDED_CELL`].
fn first_words(ends: &[u64], uncertainty: u64) -> (Box<[u16; FIRST_WORDS]>, Box<[u16; FIRST_WORDS]>) {
    let mut candidates = boxed(0u16);
    let mut decided = boxed(UNDECIDED_CELL);
    let mut cell = 0usize;
    for first in 0..FIRST_WORDS {
        let lowest = (first as u64) << 48;
        let highest = lowest | ((1 << 48) - 1);
        while cell < ends.len() && ends[cell].saturating_add(uncertainty) <= lowest {
            cell += 1;
        }
        candidates[first] = u16::try_from(cell).unwrap_or(u16::MAX);
        if cell < ends.len() && cell < usize::from(UNDECIDED_CELL) && highest < ends[cell] {
            decided[first] = cell as u16;
        }
    }
    (candidates, decided)
}

fn offsets(first_cells: &[u16; FIRST_WORDS], cells: &[BlockCell]) -> Box<[i16; FIRST_WORDS]> {
    let mut offsets = boxed(UNDECIDED);
    for (offset, cell) in offsets.iter_mut().zip(first_cells) {
        if let Some(cell) = cells.get(usize::from(*cell)) {
            let signed = i16::try_from(cell.start as i64 ^ i64::from(cell.side_mask));
            *offset = signed.unwrap_or(UNDECIDED);
        }
    }
    offsets
}

fn boxed<T: Copy>(value: T) -> Box<[T; FIRST_WORDS]> {
    match vec![value; FIRST_WORDS].into_boxed_slice().try_into() {
        Ok(array) => array,
        Err(_) => unreachable!("a vector of FIRST_WORDS entries has FIRST_WORDS entries"),
    }
}

/// The certificate of a shape's table; `law` says which law it is, for the checker.
#[cfg(any(test, feature = "harness"))]
pub(super) fn certificate<T: UnimodalWeights>(shape: &T, law: &str) -> String {
    BlockTable::new(shape).certificate(law)
}

#[cfg(test)]
mod tests;
