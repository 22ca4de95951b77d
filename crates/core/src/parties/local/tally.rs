//! The collector's side: reports in, counts out.

use super::estimate::{Frequency, estimates};
use super::report::{decimal, hexadecimal};
use super::{FrequencyOracle, ReportKind};
use crate::error::Result;
use crate::quantity::Beta;

/// Counts reports; what is no report of the oracle is rejected and counted.
///
/// ```
/// use scumble::quantity::epsilon;
/// use scumble::parties::local::{FrequencyOracle, ReportKind};
/// let mut tally = FrequencyOracle::new(ReportKind::KAry, epsilon(1.0)?, 3)?.tally()?;
/// let lines: [&[u8]; 5] = [b"k0", b"k2", b"k3", b"h1", b""];
/// assert_eq!(lines.map(|line| tally.add(line)), [true, true, false, false, false]);
/// assert_eq!((tally.reports(), tally.rejected()), (2, 3));
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Tally {
    oracle: FrequencyOracle,
    counts: Vec<u64>,
    planes: Planes,
    reports: u64,
    rejected: u64,
}

impl Tally {
    pub(super) fn new(oracle: FrequencyOracle) -> Self {
        let cells = if oracle.kind == ReportKind::Hadamard { oracle.rows() } else { oracle.values };
        let words = if oracle.kind == ReportKind::Unary { oracle.values.div_ceil(64) as usize } else { 0 };
        Self { oracle, counts: vec![0; cells as usize], planes: Planes::new(words), reports: 0, rejected: 0 }
    }

    /// Counts the report that a line is; false if it is none.
    pub fn add(&mut self, line: &[u8]) -> bool {
        let is_report = self.counted(line);
        if is_report {
            self.reports += 1
        } else {
            self.rejected += 1
        }
        is_report
    }

    /// Counts every line of a text, whichever way its lines end. The text's last line has no line break.
    pub fn add_lines(&mut self, text: &[u8]) {
        for line in text.split(|letter| *letter == b'\n') {
            self.add(line.strip_suffix(b"\r").unwrap_or(line));
        }
    }

    fn counted(&mut self, line: &[u8]) -> bool {
        let Some((letter, rest)) = line.split_first() else { return false };
        let cell = match (self.oracle.kind, letter) {
            (ReportKind::KAry, b'k') | (ReportKind::Hadamard, b'h') => decimal(rest, self.counts.len() as u64),
            (ReportKind::Unary, b'u') => return self.planes.add(rest, self.oracle.values, &mut self.counts),
            _ => None,
        };
        let Some(cell) = cell else { return false };
        self.counts[cell as usize] += 1;
        true
    }

    /// How many reports were counted.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// How many lines were none.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// How many reports support each value.
    ///
    /// For the Hadamard oracle that is one fast Walsh–Hadamard transform: Σ_y (−1)^{|v+1 ∧ y|}·count(y) is what is
    /// inside S_v less what is outside.
    pub fn supports(&mut self) -> Vec<u64> {
        self.planes.empty_into(&mut self.counts);
        if self.oracle.kind != ReportKind::Hadamard {
            return self.counts.clone();
        }
        let mut signed: Vec<i64> = self.counts.iter().map(|count| *count as i64).collect();
        walsh_hadamard(&mut signed);
        let inside = |difference: &i64| ((self.reports as i64 + difference) / 2) as u64;
        signed[1..=self.oracle.values as usize].iter().map(inside).collect()
    }

    /// How many of the owners who reported hold each value, with an interval that holds the truth with probability
    /// 1 − β for each value.
    pub fn estimates(&mut self, beta: Beta) -> Result<Vec<Frequency>> {
        let supports = self.supports();
        Ok(estimates(&self.oracle.support(), self.reports, &supports, beta.get()))
    }

    /// The oracle whose reports are counted.
    pub fn oracle(&self) -> &FrequencyOracle {
        &self.oracle
    }
}

/// The transform by the matrix (−1)^{|x ∧ y|}, in place; the length is a power of 2.
fn walsh_hadamard(cells: &mut [i64]) {
    let mut half = 1;
    while half < cells.len() {
        for block in cells.chunks_exact_mut(2 * half) {
            let (left, right) = block.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
}

/// Counters of 8 bits for each value, a bit of 64 values in a word: a report is added by a few operations for each 64
/// values.
#[derive(Debug, Clone)]
struct Planes {
    planes: Vec<[u64; 8]>,
    report: Vec<u64>,
    held: u8,
}

impl Planes {
    fn new(words: usize) -> Self {
        Self { planes: vec![[0; 8]; words], report: vec![0; words], held: 0 }
    }

    fn add(&mut self, digits: &[u8], values: u64, counts: &mut [u64]) -> bool {
        if !hexadecimal(digits, values, &mut self.report) {
            return false;
        }
        for (planes, word) in self.planes.iter_mut().zip(&self.report) {
            let mut carry = *word;
            for plane in planes {
                (*plane, carry) = (*plane ^ carry, *plane & carry);
            }
        }
        self.held += 1;
        if self.held == u8::MAX {
            self.empty_into(counts);
        }
        true
    }

    fn empty_into(&mut self, counts: &mut [u64]) {
        for (planes, counts) in self.planes.iter_mut().zip(counts.chunks_mut(64)) {
            for (value, count) in counts.iter_mut().enumerate() {
                *count += planes.iter().enumerate().map(|(bit, plane)| (plane >> value & 1) << bit).sum::<u64>();
            }
            *planes = [0; 8];
        }
        self.held = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Epsilon;

    #[test]
    fn the_transform_is_the_matrix() {
        let cells: Vec<i64> = (0..16).map(|i| i * i % 7 - 2).collect();
        let mut fast = cells.clone();
        walsh_hadamard(&mut fast);
        for (row, found) in fast.iter().enumerate() {
            let sign = |column: usize| if (row & column).count_ones().is_multiple_of(2) { 1 } else { -1 };
            assert_eq!(*found, cells.iter().enumerate().map(|(column, cell)| sign(column) * cell).sum::<i64>());
        }
    }

    /// More reports than a counter of 8 bits holds, over several words.
    #[test]
    fn unary_reports_are_counted_bit_by_bit() {
        let values = 130u64;
        let oracle = FrequencyOracle::new(ReportKind::Unary, Epsilon::new(1.0).unwrap(), values).unwrap();
        let mut tally = oracle.tally().unwrap();
        let mut expected = vec![0u64; values as usize];
        for report in 0..1000u64 {
            let mut words = [0u64; 3];
            for value in (0..values).filter(|value| (value * 7 + report * 3) % 11 < 4 + report % 3) {
                words[(value / 64) as usize] |= 1 << (value % 64);
                expected[value as usize] += 1;
            }
            let text = super::super::Report::Ones { words: words.to_vec(), values }.to_string();
            assert!(tally.add(text.as_bytes()));
        }
        assert_eq!(tally.supports(), expected);
        assert_eq!(tally.supports(), expected, "asking twice changes nothing");
    }
}
