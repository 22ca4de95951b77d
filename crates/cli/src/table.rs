//! Tables for people, and sentences that fit beside them.

use crate::colour::Ink;
use comfy_table::{CellAlignment, ContentArrangement, TableComponent};

/// As wide as anything gets: longer cells and sentences are wrapped.
pub const WIDTH: usize = 100;

/// A table: one rule below its head, numbers to the right.
pub fn table(header: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.set_style(TableComponent::HeaderLines, '─');
    // Each line begins with a space, which is cut off.
    let width = u16::try_from(WIDTH + 1).unwrap_or(u16::MAX);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    table.set_header(header.iter().map(ToString::to_string).collect::<Vec<_>>());
    for column in 0..header.len() {
        let mut cells = rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.is_empty()).peekable();
        if cells.peek().is_some()
            && cells.all(|cell| is_number(cell))
            && let Some(column) = table.column_mut(column)
        {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for row in rows {
        table.add_row(row);
    }
    let mut is_head = true;
    let line = |line: String| {
        // The rule is as long as the lines with the space on both sides.
        let line = line.strip_prefix(' ').or_else(|| line.strip_prefix("──")).unwrap_or(&line).trim_end();
        is_head &= !line.starts_with('─');
        if is_head { Ink::Head.on(line) + "\n" } else { line.to_string() + "\n" }
    };
    table.lines().map(line).collect()
}

/// Whether a cell is a number, with a margin or an interval or without.
fn is_number(cell: &str) -> bool {
    let cell = ["about ", "unbounded"].iter().fold(cell.to_string(), |cell, word| cell.replace(word, ""));
    let mut before = ' ';
    cell.chars().all(|letter| {
        let fits = match letter {
            '-' => matches!(before, ' ' | '(' | 'e'),
            'e' => before.is_ascii_digit(),
            letter => letter.is_ascii_digit() || ".,–∞±…%() \u{202f}".contains(letter),
        };
        before = letter;
        fits
    })
}

/// A sentence in lines of at most [`WIDTH`], those after the first indented.
pub fn wrapped(sentence: &str) -> String {
    let (mut text, mut length) = (String::new(), 0);
    for word in sentence.split(' ') {
        let more = word.chars().count();
        if length > 0 && length + 1 + more > WIDTH {
            text.push_str("\n  ");
            length = 2;
        } else if length > 0 {
            text.push(' ');
            length += 1;
        }
        text.push_str(word);
        length += more;
    }
    text + "\n"
}
