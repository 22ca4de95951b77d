//! Numbers, texts and tables as a report shows them.

use crate::release::Cell;
use crate::release::output::six_digits;
use maud::{Markup, html};

/// A value as a reader wants it: large numbers in groups of three digits, few decimals.
pub(super) fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Number(number) => digits(*number),
        Cell::Whole(number) => grouped(&number.to_string()),
        Cell::Null => "–".to_string(),
        other => other.text(),
    }
}

/// From five digits on, groups of three with a narrow space between.
pub(super) fn grouped(number: &str) -> String {
    let (sign, digits) = number.split_at(usize::from(number.starts_with('-')));
    let (whole, decimals) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    if whole.len() < 5 {
        return number.to_string();
    }
    let letters: Vec<char> = whole.chars().collect();
    let groups: Vec<String> = letters.rchunks(3).rev().map(|group| group.iter().collect()).collect();
    format!("{sign}{}{decimals}", groups.join("\u{202f}"))
}

/// A number as a reader wants it: six significant digits, as errors have in the files, and groups of three from five
/// digits on.
pub fn digits(number: f64) -> String {
    if !number.is_finite() {
        return "–".to_string();
    }
    let rounded = six_digits(number);
    match rounded.abs() {
        0.0 => "0".to_string(),
        size if size < 1e-3 => format!("{rounded:e}"),
        _ => grouped(&format!("{rounded}")),
    }
}

/// A table that scrolls on its own where the page is narrow.
pub(super) fn table(head: &[&str], rows: &Markup) -> Markup {
    html! {
        div.wide {
            table {
                thead { tr { @for name in head { th { (name) } } } }
                tbody { (rows) }
            }
        }
    }
}
