//! From the text of one field to a value, for the check and for the rows alike: what the check accepts is what is read.

use crate::calendar;
use crate::project::{Domain, Layout, Table, Zone};
use datafusion::arrow::compute::kernels::cast_utils::Parser;
use datafusion::arrow::datatypes::{Float64Type, Int64Type};
use std::borrow::Cow;
use std::collections::HashMap;

/// Longer strings are refused, as categories and as owners.
pub(crate) const LONGEST_TEXT: usize = 1 << 16;

/// What a declared column of a text file must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WantedType {
    /// A whole number of at most 64 bits.
    Whole,
    /// A number.
    Number,
    /// True or false.
    Truth,
    /// A text.
    Text,
    /// A date.
    Day,
    /// A time, on the wall of this zone.
    Moment(Zone),
}

impl WantedType {
    /// By the names of columns.
    pub fn all(table: &Table) -> HashMap<&str, Self> {
        let owner = table.owner.iter().map(|owner| (owner.as_str(), Self::Text));
        let columns = table.columns.iter().map(|column| (column.name.as_str(), Self::of(&column.in_files())));
        owner.chain(columns).collect()
    }

    /// What a column of this domain must hold.
    pub fn of(domain: &Domain) -> Self {
        match domain {
            Domain::Int { .. } => Self::Whole,
            Domain::Float { .. } => Self::Number,
            Domain::Category { .. } => Self::Text,
            Domain::Bool => Self::Truth,
            Domain::Date { .. } => Self::Day,
            Domain::Timestamp { zone, .. } => Self::Moment(*zone),
        }
    }

    /// A field as it is read: spaces around a number mean nothing, those around a text what the layout says.
    pub fn kept<'a>(self, text: &'a str, layout: &Layout) -> &'a str {
        if self != Self::Text || layout.trim == Some(true) { text.trim() } else { text }
    }

    /// What is wrong with a field, and what to do about it.
    pub fn refuses(self, text: &str, layout: &Layout) -> Option<String> {
        let kept = self.kept(text, layout);
        if layout.is_missing(kept) {
            return None;
        }
        // Two names for one owner, or a value that is silently missing.
        if self == Self::Text && kept.starts_with('\u{feff}') {
            return Some(
                "begins with a byte-order mark: the file was put together from several; remove the marks".to_string(),
            );
        }
        if layout.trim.is_none() && kept.trim() != kept {
            return Some(
                "begins or ends with a space: set trim = true for the table to remove such spaces, or trim = false to \
                    keep them"
                    .to_string(),
            );
        }
        let (is_right, what) = match self {
            Self::Whole => (
                whole(kept, layout.decimal).is_some(),
                "is declared as int and is not a whole number of at most 64 bits; correct it, leave it empty, or \
                    declare the column as float or category",
            ),
            Self::Number => (
                number(kept, layout.decimal).is_some(),
                "is declared as float and is not a number; correct it, leave it empty, or declare the column as \
                    category",
            ),
            Self::Truth => (
                truth(kept).is_some(),
                "is declared as bool and is not one of true, false, yes, no, 1, 0; correct it, leave it empty, or \
                    declare the column otherwise",
            ),
            Self::Day => (
                calendar::day(kept).is_some(),
                "is declared as date and is not a date as in 2013-12-31; write it so, leave it empty, or declare the \
                    column as category (or timestamp, for times of day)",
            ),
            Self::Moment(zone) => (
                calendar::moment(kept, zone).is_some(),
                "is declared as timestamp and is not a time as in 2013-12-31T23:59:59; write it so, leave it empty, \
                    or declare the column as category",
            ),
            Self::Text => {
                (kept.len() <= LONGEST_TEXT, "has more than 65536 bytes: shorten it, or do not declare the column")
            }
        };
        (!is_right).then(|| format!("{what}{}", hint(self, kept, layout)))
    }
}

/// What the table's declaration may lack. Depends on the field's form, and names no value but the usual words for a
/// missing one.
fn hint(wanted: WantedType, text: &str, layout: &Layout) -> String {
    const MORE: [&str; 7] = ["-", "--", "?", ".", "missing", "none", "0000-00-00"];
    let other = if layout.decimal == b'.' { b',' } else { b'.' };
    match MISSING.iter().chain(&MORE).find(|word| **word == text) {
        Some(word) => missing_hint(word),
        None if wanted == WantedType::Number && has_thousands(text) => {
            " (it seems to have separators between thousands: write it without them, or declare the column as \
                category)"
                .to_string()
        }
        None if wanted == WantedType::Number && number(text, other).is_some() => {
            format!(" (if numbers have a decimal '{0}', set decimal = \"{0}\" for the table)", char::from(other))
        }
        None => quoted(text).map_or(String::new(), |sign| format!(" ({})", quote_hint(sign))),
    }
}

/// Words that programs write for a missing value, and people seldom for anything else.
pub(crate) const MISSING: [&str; 14] =
    ["NA", "N/A", "n/a", "na", "NaN", "nan", "NaT", "NULL", "null", "None", "\\N", "#N/A", "<NA>", "(null)"];

/// What to say of such a word.
pub(crate) fn missing_hint(word: &str) -> String {
    let shown = word.replace('\\', "\\\\");
    format!(" (if this stands for a missing value, set null = [\"{shown}\"] for the table)")
}

/// Whether a string looks like a number with separators between thousands: 2,500, 1.234,5, 1,234.5. The meaning of
/// 2,500 is ambiguous, and a guess could be wrong by a factor of 1000.
fn has_thousands(text: &str) -> bool {
    let text = text.trim_start_matches('-');
    let grouped = |sign: char, other: char| {
        let whole = text.split(other).next().unwrap_or_default();
        let mut groups = whole.split(sign);
        let digits = |group: &str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
        let first = groups.next().is_some_and(|group| digits(group) && group.len() <= 3 && group != "0");
        let rest: Vec<&str> = groups.collect();
        first && !rest.is_empty() && rest.iter().all(|group| digits(group) && group.len() == 3)
    };
    grouped(',', '.') || (text.contains(',') && grouped('.', ','))
}

/// The quotation mark around a field, if it is one that some programs write around strings.
pub(crate) fn quoted(text: &str) -> Option<char> {
    let sign = text.chars().next().filter(|sign| matches!(sign, '\'' | '"' | '`'))?;
    (text.len() > 1 && text.ends_with(sign)).then_some(sign)
}

/// What to say of such a field.
pub(crate) fn quote_hint(sign: char) -> String {
    let shown = if sign == '"' { "\\\"".to_string() } else { sign.to_string() };
    format!("if fields are quoted with {sign}, set quote = \"{shown}\" for the table")
}

/// A whole number; decimals that are all zero are none ("2.0").
pub(crate) fn whole(text: &str, decimal: u8) -> Option<i64> {
    let plain = || {
        let (number, decimals) = text.split_once(char::from(decimal))?;
        let ends = number.as_bytes().last().is_some_and(u8::is_ascii_digit);
        (ends && decimals.bytes().all(|digit| digit == b'0')).then(|| Int64Type::parse(number))?
    };
    Int64Type::parse(text).or_else(plain)
}

/// A number.
pub(crate) fn number(text: &str, decimal: u8) -> Option<f64> {
    let text = match decimal {
        b'.' => Cow::Borrowed(text),
        _ if text.contains('.') => return None,
        _ => Cow::Owned(text.replacen(char::from(decimal), ".", 1)),
    };
    Float64Type::parse(&text)
}

/// True or false, in the words that people use.
pub(crate) fn truth(text: &str) -> Option<bool> {
    // A program that keeps missing truths as numbers writes 1.0.
    let is = |words: [&str; 4]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match (is(["true", "yes", "1", "1.0"]), is(["false", "no", "0", "0.0"])) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_write_them() {
        for (text, decimal, expected) in [
            ("2", b'.', Some(2)),
            ("-2.0", b'.', Some(-2)),
            ("2.", b'.', Some(2)),
            ("2,00", b',', Some(2)),
            ("2.5", b'.', None),
            ("2.0", b',', None),
            (".0", b'.', None),
            ("-.0", b'.', None),
            ("9223372036854775807.0", b'.', Some(i64::MAX)),
            ("9223372036854775808.0", b'.', None),
            ("2.0.0", b'.', None),
            ("1e3", b'.', None),
        ] {
            assert_eq!(whole(text, decimal), expected, "{text}");
        }
        assert_eq!(number("1,5", b','), Some(1.5));
        assert_eq!(number("1.5", b','), None, "a thousands separator is no decimal");
        assert_eq!(number("1,5", b'.'), None);
        assert_eq!(
            (truth("Yes"), truth("0"), truth("FALSE"), truth("maybe")),
            (Some(true), Some(false), Some(false), None)
        );
    }

    #[test]
    fn a_refusal_says_what_the_declaration_lacks() {
        let refusal = |wanted: WantedType, text: &str| wanted.refuses(text, &Layout::default()).unwrap_or_default();
        assert!(refusal(WantedType::Whole, "NA").ends_with("set null = [\"NA\"] for the table)"));
        assert!(refusal(WantedType::Number, "1,5").ends_with("set decimal = \",\" for the table)"));
        assert!(refusal(WantedType::Text, "a ").contains("trim = true"));
        assert!(refusal(WantedType::Text, "\u{feff}a").starts_with("begins with a byte-order mark"));
        assert_eq!(refusal(WantedType::Text, "NA"), "");
        let trimmed = Layout { trim: Some(true), null: vec!["NA".into()], ..Layout::default() };
        assert_eq!(WantedType::Whole.refuses(" 7 ", &trimmed).or(WantedType::Whole.refuses(" NA", &trimmed)), None);
    }
}
