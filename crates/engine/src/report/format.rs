//! Numbers, texts and tables as a report shows them.

use crate::release::Cell;
pub use crate::release::output::digits;
pub(super) use crate::release::output::grouped;
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
