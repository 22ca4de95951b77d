//! Sinh-normal noise: A·arsinh((σ/A)·N(0,1)) on the integers, exactly, from an integer-weight table.
//!
//! It looks like a Gaussian near the centre and has tails that fall like e^{−e^{|z|/A}}: the most extreme of k draws
//! grows like log log k instead of √log k. In exchange its Rényi divergence is finite only for orders below about A/2Δ,
//! which is what truncated concentrated privacy allows (Bun, Dwork, Rothblum, Steinke: *Composable and versatile
//! privacy via truncated CDP*, STOC 2018, §4). Use it for the *largest* error over many cells; for the variance a
//! Gaussian is better.
//!
//! Where we differ from the paper: its Theorem 17 (16ρ, A/8Δ) is 9.6× and 4× loose, and with it the noise would be
//! worse than a Gaussian; we compute the divergence from the very integers that are sampled ([`Certificate`]).

use super::BitSource;
use super::tape::{Announcement, through_all};
use crate::error::{Error, Result};
use crate::quantity::{Exact, Scale, Sigma};
use std::sync::Arc;

mod certificate;
mod curve;
mod table;

pub use certificate::Certificate;
pub use curve::{continuous_renyi, order_limit};
pub use table::SinhNormalTable;

/// Sinh-normal noise on the integers.
///
/// ```
/// use scumble::noise::{InsecureSeededSource, SinhNormal};
/// use scumble::quantity::{Scale, Sigma};
/// let noise = SinhNormal::new(Sigma::new(8.436)?, Scale::new(25.8)?)?;
/// let mut bits = InsecureSeededSource::new(1);
/// let mut out = [0i64; 1000];
/// noise.fill(&mut bits, &mut out);
/// assert!(out.iter().all(|z| z.abs() <= 55));
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SinhNormal {
    sigma: Sigma,
    a: Scale,
    table: Arc<SinhNormalTable>,
    sampler: Arc<TableSampler>,
}

impl SinhNormal {
    /// Noise with the parameters σ and A, both in units of the grid; needs A ≥ σ (log-concave noise).
    ///
    /// # Guarantee
    /// The masses are integers over 2^128, a function of σ and A alone; what a move costs is computed from those
    /// integers.
    pub fn new(sigma: Sigma, a: Scale) -> Result<Self> {
        let exact = |value: f64| Exact::from_f64(value);
        let table = SinhNormalTable::build(exact(sigma.get())?.rational(), exact(a.get())?.rational())?;
        let sampler = TableSampler::new(&table);
        Ok(Self { sigma, a, table: Arc::new(table), sampler: Arc::new(sampler) })
    }

    /// The parameter σ.
    pub fn sigma(&self) -> Sigma {
        self.sigma
    }

    /// The parameter A.
    pub fn a(&self) -> Scale {
        self.a
    }

    /// The weights that are sampled.
    pub fn table(&self) -> &SinhNormalTable {
        &self.table
    }

    /// What a move of up to `shift` of one cell costs, from the table.
    pub fn certificate(&self, shift: u64) -> Result<Certificate> {
        Certificate::of(&self.table, shift)
    }

    /// Refuses a table that is no longer the one that was certified (a broken memory, say).
    pub fn check_intact(&self) -> Result<()> {
        if self.table.is_intact() && self.sampler.matches(&self.table) {
            return Ok(());
        }
        Err(Error::refused(
            "the sinh-normal table in memory is not the one that was certified: nothing is drawn from it",
        ))
    }

    /// One draw.
    ///
    /// # Guarantee
    /// Exactly the table's distribution. The number of random words used depends on the noise alone.
    pub fn sample<S: BitSource + ?Sized>(&self, bits: &mut S) -> i64 {
        let word = bits.next_u64();
        self.sampler.decide(word, bits)
    }

    /// Fills `out` with independent draws.
    ///
    /// # Guarantee
    /// As [`SinhNormal::sample`].
    pub fn fill<S: BitSource + ?Sized>(&self, bits: &mut S, out: &mut [i64]) {
        self.draw_for_each(bits, out, |slot, draw| *slot = draw);
    }

    /// Adds an independent draw to each of `answers`; sums beyond the range of an i64 stay at its end
    /// (post-processing).
    ///
    /// # Guarantee
    /// As [`SinhNormal::sample`].
    pub fn add_to_all<S: BitSource + ?Sized>(&self, answers: &mut [i64], bits: &mut S) {
        let said =
            |values: Vec<i128>| Announcement::cells("sinh-normal", &[self.sigma().get(), self.a().get()], values);
        through_all(bits, answers, said, |answers, bits| {
            self.draw_for_each(bits, answers, |answer, draw| *answer = answer.saturating_add(draw));
        });
    }

    fn draw_for_each<S: BitSource + ?Sized>(&self, bits: &mut S, out: &mut [i64], place: impl Fn(&mut i64, i64)) {
        let mut words = [0u64; 512];
        for chunk in out.chunks_mut(4 * words.len()) {
            let words = &mut words[..chunk.len().div_ceil(4)];
            bits.fill(words);
            for (four, word) in chunk.chunks_mut(4).zip(words) {
                for (index, slot) in four.iter_mut().enumerate() {
                    place(slot, self.sampler.decide_from((*word >> (16 * index)) as u16, bits));
                }
            }
        }
    }
}

/// No draw; the one that it could be mistaken for is then looked for in the longer way.
const UNDECIDED: i16 = i16::MIN;

/// How many ways the sixteen leading bits have.
const LEADING: usize = 1 << 16;

/// The cumulative table in the order 0, 1, −1, 2, −2, …, −K, upper tail, lower tail, split into first and second words.
#[derive(Debug)]
struct TableSampler {
    /// Cumulative weights: cell i holds the numbers below `ends[i]` and not below `ends[i − 1]`.
    first_words: Vec<u64>,
    second_words: Vec<u64>,
    /// The first cell that a word with these leading bits can be in.
    guide: Vec<u32>,
    /// The draw of every word with these sixteen leading bits, where it is the same for all of them; otherwise
    /// UNDECIDED.
    direct: Box<[i16; LEADING]>,
    guide_shift: u32,
    tail_bits: u32,
}

fn direct(first_words: &[u64]) -> Box<[i16; LEADING]> {
    let mut draws = Box::new([UNDECIDED; LEADING]);
    let mut cell = 0;
    for (leading, draw) in draws.iter_mut().enumerate() {
        let first_word = (leading as u64) << 48;
        while cell < first_words.len() && first_words[cell] < first_word {
            cell += 1;
        }
        let is_one_cell = cell + 1 < first_words.len() && first_words[cell] > first_word | (u64::MAX >> 16);
        if is_one_cell {
            *draw = i16::try_from(signed(cell)).unwrap_or(UNDECIDED);
        }
    }
    draws
}

impl TableSampler {
    fn new(table: &SinhNormalTable) -> Self {
        let ends = ends(table);
        let first_words: Vec<u64> = ends.iter().map(|end| (end >> 64) as u64).collect();
        let second_words = ends.iter().map(|end| *end as u64).collect();
        let guide_bits = (ends.len().next_power_of_two().trailing_zeros() + 5).clamp(8, 16);
        let guide_shift = 64 - guide_bits;
        let mut cell = 0;
        let start = |bucket: u64| {
            while cell < first_words.len() && first_words[cell] < bucket << guide_shift {
                cell += 1;
            }
            cell as u32
        };
        let guide: Vec<u32> = (0..1u64 << guide_bits).map(start).collect();
        let direct = direct(&first_words);
        Self { first_words, second_words, guide, direct, guide_shift, tail_bits: table.tail_bits() }
    }

    fn matches(&self, table: &SinhNormalTable) -> bool {
        let ends = ends(table);
        self.tail_bits == table.tail_bits()
            && ends.len() == self.first_words.len()
            && ends
                .iter()
                .zip(&self.first_words)
                .zip(&self.second_words)
                .all(|((end, first), second)| *end == (u128::from(*first) << 64 | u128::from(*second)))
    }

    /// The draw that belongs to 128 random bits; the second half is drawn only when the first does not decide.
    #[inline]
    fn decide<S: BitSource + ?Sized>(&self, word: u64, bits: &mut S) -> i64 {
        let draw = self.direct[(word >> 48) as usize];
        if draw != UNDECIDED { draw.into() } else { self.search(word, bits) }
    }

    /// The draw that belongs to 16 random bits and, only when these do not decide, to 48 more after them (and then 64
    /// more).
    #[inline]
    fn decide_from<S: BitSource + ?Sized>(&self, leading: u16, bits: &mut S) -> i64 {
        let draw = self.direct[usize::from(leading)];
        if draw != UNDECIDED {
            return draw.into();
        }
        self.search((u64::from(leading) << 48) | (bits.next_u64() >> 16), bits)
    }

    /// Where the leading bits do not decide: the cell is looked for from the first that they allow.
    fn search<S: BitSource + ?Sized>(&self, word: u64, bits: &mut S) -> i64 {
        let mut cell = self.guide[(word >> self.guide_shift) as usize] as usize;
        while cell < self.first_words.len() && self.first_words[cell] < word {
            cell += 1;
        }
        if cell < self.first_words.len() && self.first_words[cell] == word {
            cell = self.refine(cell, word, bits);
        }
        if cell + 1 < self.first_words.len() { signed(cell) } else { self.tail(cell, bits) }
    }

    #[cold]
    fn refine<S: BitSource + ?Sized>(&self, mut cell: usize, word: u64, bits: &mut S) -> usize {
        let second = bits.next_u64();
        while cell < self.first_words.len() && self.first_words[cell] == word && self.second_words[cell] <= second {
            cell += 1;
        }
        cell
    }

    /// Beyond K: the number of steps is geometric, each taken with probability 1 − 2^{−j}.
    #[cold]
    fn tail<S: BitSource + ?Sized>(&self, cell: usize, bits: &mut S) -> i64 {
        let beyond = (self.first_words.len() / 2) as i64;
        let mask = (1u64 << self.tail_bits) - 1;
        let mut index = beyond;
        while bits.next_u64() & mask != 0 {
            index += 1;
        }
        if cell + 1 == self.first_words.len() { index } else { -index }
    }
}

/// Where each cell of 0, 1, −1, …, K, −K, and then the upper tail ends; the lower tail takes what is left of 2^128.
fn ends(table: &SinhNormalTable) -> Vec<u128> {
    let mut end = table.weights()[0];
    let mut ends = vec![end];
    for weight in &table.weights()[1..] {
        for _ in 0..2 {
            end += weight;
            ends.push(end);
        }
    }
    ends.push(end + table.tail_weight());
    ends
}

/// Cell 0, 1, 2, 3, 4 … stands for 0, 1, −1, 2, −2 …
#[inline]
fn signed(cell: usize) -> i64 {
    let magnitude = cell.div_ceil(2) as i64;
    if cell % 2 == 1 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests;
