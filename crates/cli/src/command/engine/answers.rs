//! Published answers as people read them on a terminal.

use crate::table::table;
use scumble_engine::release::{AnswerColumn, Answers};

/// The first rows of an answer, at most so many, as a table. Numbers are rounded to their error and have their 95%
/// margin; the files have all digits.
pub fn text(answers: &Answers, most: usize) -> String {
    let mut names = Vec::new();
    for column in &answers.columns {
        let margin = if column.has_intervals() { " ± 95%" } else { "" };
        names.push(format!("{}{margin}", column.name));
    }
    let row = |row: usize| {
        let cell = |column: &AnswerColumn| {
            column.cells[row].with_margin(column.uncertainty.as_ref().and_then(|list| list.get(row)))
        };
        answers.columns.iter().map(cell).collect()
    };
    let header: Vec<&str> = names.iter().map(String::as_str).collect();
    table(&header, (0..answers.rows().min(most)).map(row).collect())
}
