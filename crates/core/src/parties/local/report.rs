//! Reports as texts: a letter for the oracle, and what was drawn. No other text is a report.

use super::{FrequencyOracle, ReportKind};
use std::fmt;

/// What an owner sends. Its text is `k17` (a value), `h17` (a row), or `u` and a hexadecimal digit for every four values, the first value lowest.
///
/// ```
/// use scumble::parties::local::{FrequencyOracle, ReportKind, Report};
/// let oracle = FrequencyOracle::new(ReportKind::Unary, 1.0, 6)?;
/// let report = oracle.read("u12").unwrap();
/// assert_eq!(report, Report::Ones { words: vec![0b10_0001], values: 6 });
/// assert_eq!(report.to_string(), "u12");
/// assert!(oracle.read("u14").is_none(), "there is no seventh value");
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// One of the values.
    Value(u64),
    /// A bit for each value, 64 in a word, the first value lowest.
    Ones {
        /// The bits.
        words: Vec<u64>,
        /// How many there are.
        values: u64,
    },
    /// A row of the Hadamard matrix.
    Row(u64),
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => write!(f, "k{value}"),
            Self::Row(row) => write!(f, "h{row}"),
            Self::Ones { words, values } => {
                f.write_str("u")?;
                (0..values.div_ceil(4)).try_for_each(|digit| {
                    let word = words.get((digit / 16) as usize).copied().unwrap_or(0);
                    write!(f, "{:x}", word >> (4 * (digit % 16)) & 15)
                })
            }
        }
    }
}

impl FrequencyOracle {
    /// The report that a text is; None for anything that this oracle does not write.
    pub fn read(&self, text: &str) -> Option<Report> {
        let (letter, rest) = text.as_bytes().split_first()?;
        match (self.kind, letter) {
            (ReportKind::KAry, b'k') => decimal(rest, self.values).map(Report::Value),
            (ReportKind::Hadamard, b'h') => decimal(rest, self.rows()).map(Report::Row),
            (ReportKind::Unary, b'u') => {
                let mut words = vec![0; self.values.div_ceil(64) as usize];
                hexadecimal(rest, self.values, &mut words).then_some(Report::Ones { words, values: self.values })
            }
            _ => None,
        }
    }
}

/// A whole number below `bound`, without sign, space or leading zeros.
pub(super) fn decimal(text: &[u8], bound: u64) -> Option<u64> {
    if text.is_empty() || text.len() > 18 || (text[0] == b'0' && text.len() > 1) {
        return None;
    }
    let mut number = 0;
    for letter in text {
        let digit = letter.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = 10 * number + u64::from(digit);
    }
    (number < bound).then_some(number)
}

/// Reads a digit for every four values into words; false if there are more or fewer, or bits for values that do not exist.
pub(super) fn hexadecimal(text: &[u8], values: u64, words: &mut [u64]) -> bool {
    if text.len() as u64 != values.div_ceil(4) {
        return false;
    }
    let mut wrong = 0;
    for (digits, word) in text.chunks(16).zip(words.iter_mut()) {
        let mut read = 0u64;
        for (place, letter) in digits.iter().enumerate() {
            let nibble = NIBBLES[usize::from(*letter)];
            wrong |= nibble;
            read |= u64::from(nibble & 15) << (4 * place);
        }
        *word = read;
    }
    let rest = values % 64;
    let beyond = if rest == 0 { 0 } else { words[words.len() - 1] >> rest };
    wrong < 16 && beyond == 0
}

/// What each letter is as a hexadecimal digit in lower case; 16 for what is none.
const NIBBLES: [u8; 256] = {
    let mut table = [16; 256];
    let mut digit = 0;
    while digit < 16 {
        table[b"0123456789abcdef"[digit] as usize] = digit as u8;
        digit += 1;
    }
    table
};
