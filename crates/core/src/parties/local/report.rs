//! Reports as texts: a letter for the oracle, and what was drawn. No other text is a report.

use super::{FrequencyOracle, ReportKind};
use std::fmt;

/// What an owner sends. Its text is `k17` (a value), `h17` (a row), or `u` and a hexadecimal digit for every four
/// values, the first value lowest.
///
/// ```
/// use scumble::quantity::epsilon;
/// use scumble::parties::local::{FrequencyOracle, ReportKind, Report};
/// let oracle = FrequencyOracle::new(ReportKind::Unary, epsilon(1.0)?, 6)?;
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
                let digits = values.div_ceil(4) as usize;
                let mut text = Vec::with_capacity(16 * words.len() + 1);
                text.push(b'u');
                words.iter().for_each(|word| text.extend(digits_of(*word)));
                text.resize(digits + 1, b'0');
                f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
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

/// Reads a digit for every four values into words; false if there are more or fewer, or bits for values that do not
/// exist.
pub(super) fn hexadecimal(text: &[u8], values: u64, words: &mut [u64]) -> bool {
    if text.len() as u64 != values.div_ceil(4) {
        return false;
    }
    let (digits, last) = text.as_chunks::<16>();
    let mut is_right = digits.iter().zip(words.iter_mut()).fold(true, |is_right, (digits, word)| {
        let read = read_digits(digits);
        *word = read.unwrap_or(0);
        is_right & read.is_some()
    });
    if !last.is_empty() {
        let mut padded = [b'0'; 16];
        padded[..last.len()].copy_from_slice(last);
        let read = read_digits(&padded);
        words[digits.len()] = read.unwrap_or(0);
        is_right &= read.is_some();
    }
    let rest = values % 64;
    let beyond = if rest == 0 { 0 } else { words[words.len() - 1] >> rest };
    is_right && beyond == 0
}

/// A byte that is 1 in each of 8.
const EACH: u64 = 0x0101_0101_0101_0101;

/// The 16 hexadecimal digits of a word, the lowest first, in lower case; 8 at a time, each in a byte of a word.
fn digits_of(word: u64) -> [u8; 16] {
    let mut text = [0; 16];
    text[..8].copy_from_slice(&letters(apart(word as u32)).to_le_bytes());
    text[8..].copy_from_slice(&letters(apart((word >> 32) as u32)).to_le_bytes());
    text
}

/// The word whose digits these are; None if a letter is no digit: its digit would be written with another letter.
fn read_digits(text: &[u8; 16]) -> Option<u64> {
    let (halves, _) = text.as_chunks::<8>();
    let [low, high] = [halves[0], halves[1]].map(u64::from_le_bytes);
    let (low_nibbles, high_nibbles) = (nibbles(low), nibbles(high));
    let is_right = letters(low_nibbles) == low && letters(high_nibbles) == high;
    is_right.then_some(together(low_nibbles) | together(high_nibbles) << 32)
}

/// Numbers below 16 as letters: 39 letters lie between '9' and 'a'.
fn letters(nibbles: u64) -> u64 {
    let is_beyond_9 = (nibbles + 6 * EACH) >> 4 & EACH;
    nibbles + u64::from(b'0') * EACH + is_beyond_9 * 39
}

/// What letters would be as digits.
fn nibbles(letters: u64) -> u64 {
    let is_letter = letters >> 6 & EACH;
    ((letters & (15 * EACH)) + 9 * is_letter) & (15 * EACH)
}

/// Eight digits, each into a byte of its own, the lowest first.
fn apart(word: u32) -> u64 {
    let mut word = u64::from(word);
    word = (word | word << 16) & 0x0000_ffff_0000_ffff;
    word = (word | word << 8) & 0x00ff_00ff_00ff_00ff;
    (word | word << 4) & (15 * EACH)
}

/// The inverse.
fn together(nibbles: u64) -> u64 {
    let mut word = (nibbles | nibbles >> 4) & 0x00ff_00ff_00ff_00ff;
    word = (word | word >> 8) & 0x0000_ffff_0000_ffff;
    (word | word >> 16) & 0xffff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every letter at every place, beside the standard library's reading.
    #[test]
    fn digits_are_read_as_the_standard_library_reads_them() {
        let text = *b"0123456789abcdef";
        assert_eq!(read_digits(&text), Some(0xfedc_ba98_7654_3210));
        assert_eq!(digits_of(0xfedc_ba98_7654_3210), text);
        for place in 0..16 {
            for letter in 0..=u8::MAX {
                let mut text = text;
                text[place] = letter;
                let is_digit = letter.is_ascii_digit() || (b'a'..=b'f').contains(&letter);
                let reversed: String = text.iter().rev().map(|letter| char::from(*letter)).collect();
                let expected = is_digit.then(|| u64::from_str_radix(&reversed, 16).unwrap());
                assert_eq!(read_digits(&text), expected, "{letter} at {place}");
                assert!(expected.is_none_or(|word| digits_of(word) == text));
            }
        }
    }
}
