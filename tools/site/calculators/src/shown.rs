//! Numbers as readers see them, as the program prints them.

use scumble::quantity::{rounded_down, rounded_up};
use serde_json::{Value, json};

/// How many digits bounds are printed with: upper ones rounded up, lower ones down.
const DIGITS: usize = 7;

/// An upper bound.
pub fn upper(value: f64) -> String {
    rounded_up(value, DIGITS)
}

/// A lower bound.
pub fn lower(value: f64) -> String {
    rounded_down(value, DIGITS)
}

/// A number of an answer; infinity is a word in JSON.
pub fn number(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!("infinite") }
}

/// A standard error or a margin: six significant digits, whole from 100,000 on, and groups of three from five digits
/// on, as `scumble plan` prints them.
pub fn digits(number: f64) -> String {
    if !number.is_finite() {
        return "–".to_string();
    }
    let rounded = if number.abs() >= 1e5 { number.round() } else { format!("{number:.5e}").parse().unwrap_or(number) };
    match rounded.abs() {
        0.0 => "0".to_string(),
        size if size < 1e-3 => format!("{rounded:e}"),
        _ => grouped(&format!("{rounded}")),
    }
}

/// Groups of three from five digits on, with a narrow space between.
pub fn grouped(number: &str) -> String {
    let (sign, digits) = number.split_at(usize::from(number.starts_with('-')));
    let (whole, decimals) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    if whole.len() < 5 {
        return number.to_string();
    }
    let letters: Vec<char> = whole.chars().collect();
    let groups: Vec<String> = letters.rchunks(3).rev().map(|group| group.iter().collect()).collect();
    format!("{sign}{}{decimals}", groups.join("\u{202f}"))
}

/// A share as percent, never below it.
pub fn percent_up(share: f64, digits: usize) -> String {
    format!("{}%", rounded_up((100.0 * share).next_up().min(100.0), digits))
}

/// Many or one of something.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(&number.to_string()), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_the_program_shows_them() {
        assert_eq!(digits(50.911_688_245), "50.9117");
        assert_eq!(digits(1_234_567.0), "1\u{202f}234\u{202f}567");
        assert_eq!((digits(0.0), digits(1234.5), digits(f64::NAN)), ("0".into(), "1234.5".into(), "–".into()));
        assert_eq!(percent_up(0.731_058_578_630_004_9, 4), "73.11%");
        assert_eq!(percent_up(1.0, 4), "100%");
        assert_eq!(
            (counted(1, "row", "rows"), counted(20_000, "row", "rows")),
            ("1 row".into(), "20\u{202f}000 rows".into())
        );
    }
}
