//! The CSV file of an answer. Tables have up to a hundred million rows: lines are written into one text a part, and an
//! error that stands in many rows is rounded once.

use super::{AnswerColumn, Answers, Cell, UNBOUNDED, no_formula, six_digits, unsigned_zero, visible};
use crate::error::{Error, Result};
use std::fmt::Write as _;
use std::io::Write;
use std::ops::Range;

/// So many rows of an answer that is held are text at once.
const ROWS_AT_ONCE: usize = 1 << 16;

impl Answers {
    /// The CSV file as a text.
    pub fn csv(&self) -> Result<String> {
        let mut bytes = Vec::new();
        self.write_csv(&mut bytes)?;
        Ok(String::from_utf8(bytes).unwrap_or_default())
    }

    /// The query's columns and, after each noisy one, its standard error and the ends of its interval: numbers,
    /// `unbounded`, or nothing where they are not known. Strings are those of the data with two exceptions, which JSON
    /// and Parquet do not have: characters that a terminal would obey are shown as visible characters, and a string
    /// that a spreadsheet would take for a formula has an apostrophe before it. An empty string is a pair of quotation
    /// marks, NULL is nothing.
    pub(crate) fn write_csv(&self, out: &mut dyn Write) -> Result<()> {
        let mut write = |lines: &str| {
            let written = out.write_all(lines.as_bytes());
            written.map_err(|error| Error::machine(format!("the answer cannot be written ({error})")))
        };
        write(&self.first_line())?;
        if self.details.long.is_some() {
            return self.each_part(|part| Ok(self.lines(part, 0..rows(part))), |lines| write(&lines));
        }
        let count = self.rows();
        let starts = (0..count).step_by(ROWS_AT_ONCE);
        starts
            .map(|start| self.lines(&self.columns, start..count.min(start + ROWS_AT_ONCE)))
            .try_for_each(|own| write(&own))
    }

    /// The names.
    fn first_line(&self) -> String {
        let names: Vec<String> = self.names().iter().map(|name| quoted(&no_formula(visible(name)))).collect();
        names.join(",") + "\n"
    }

    /// Some rows of a part, a line each.
    fn lines(&self, part: &[AnswerColumn], rows: Range<usize>) -> String {
        let mut columns: Vec<CsvColumn> = part.iter().map(CsvColumn::new).collect();
        let mut lines = String::new();
        for row in rows {
            for (place, column) in columns.iter_mut().enumerate() {
                if place > 0 {
                    lines.push(',');
                }
                column.push(&mut lines, row);
            }
            lines.push('\n');
        }
        lines
    }
}

fn rows(part: &[AnswerColumn]) -> usize {
    part.first().map_or(0, |column| column.cells.len())
}

/// What stands in a row for one column: its cell, its error, and the ends of its interval.
struct CsvColumn<'a> {
    column: &'a AnswerColumn,
    /// The last error, and how it is shown: all cells of a table of marginals have the same.
    last: (u64, String),
}

impl<'a> CsvColumn<'a> {
    fn new(column: &'a AnswerColumn) -> Self {
        Self { column, last: (f64::NAN.to_bits(), String::new()) }
    }

    fn push(&mut self, line: &mut String, row: usize) {
        push_cell(line, &self.column.cells[row]);
        if let Some(list) = &self.column.uncertainty {
            let error = list[row].standard_error;
            if self.last.0 != error.to_bits() {
                self.last = (error.to_bits(), shown_error(error));
            }
            line.push(',');
            line.push_str(&self.last.1);
            for end in [list[row].low, list[row].high] {
                line.push(',');
                push_end(line, end);
            }
        }
    }
}

fn push_cell(line: &mut String, cell: &Cell) {
    match cell {
        // Without them a line of one column would be none at all.
        Cell::Text(text) if text.is_empty() => line.push_str("\"\""),
        Cell::Text(text) if text.bytes().all(is_plain) => line.push_str(text),
        Cell::Text(text) => line.push_str(&quoted(&no_formula(visible(text)))),
        // Writing into a text does not fail.
        Cell::Number(number) => drop(write!(line, "{}", unsigned_zero(*number))),
        other => line.push_str(&quoted(&other.text())),
    }
}

/// Whether a text of such bytes alone is shown as it is: no formula begins with one, and none has a meaning in CSV or
/// for a terminal.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'.' | b':' | b'/')
}

fn shown_error(error: f64) -> String {
    if error.is_infinite() {
        return UNBOUNDED.to_string();
    }
    if error.is_nan() {
        return String::new();
    }
    format!("{}", six_digits(error))
}

/// All digits of the end of an interval: a rounded one might lie inside.
fn push_end(line: &mut String, end: f64) {
    if end.is_infinite() {
        line.push_str(UNBOUNDED);
    } else if end.is_finite() {
        // Writing into a text does not fail.
        let _ = write!(line, "{}", unsigned_zero(end));
    }
}

/// RFC 4180: quotation marks where they are needed.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The short way is the long way.
    #[test]
    fn texts_of_plain_bytes_are_shown_as_they_are() {
        for byte in (0..=u8::MAX).filter(|byte| is_plain(*byte)) {
            for text in
                [format!("{}", char::from(byte)), format!("{}1", char::from(byte)), format!(" {}", char::from(byte))]
            {
                assert_eq!(quoted(&no_formula(visible(&text))), text);
            }
        }
    }

    /// The story: of a single column the row of the empty text was an empty line, which readers pass over; and beside
    /// others nobody could tell it from NULL.
    #[test]
    fn a_text_without_letters_is_not_nothing() {
        let column = |cells: Vec<Cell>| AnswerColumn { name: "k".to_string(), cells, uncertainty: None };
        let cells = vec![Cell::Text("".into()), Cell::Text(" ".into()), Cell::Null];
        let answers = Answers {
            columns: vec![column(cells.clone()), column(cells)],
            notes: Vec::new(),
            details: super::super::Details::default(),
        };
        assert_eq!(answers.csv().unwrap(), "k,k\n\"\",\"\"\n , \n,\n");
    }

    #[test]
    fn errors_that_change_are_not_remembered() {
        let one = |standard_error| super::super::Uncertainty { standard_error, low: 0.0, high: 1.5 };
        let errors = [1.0, 1.0, f64::NAN, f64::INFINITY, 0.0, -0.0, 1.0];
        let column = AnswerColumn {
            name: "n".to_string(),
            cells: vec![Cell::Whole(7); errors.len()],
            uncertainty: Some(errors.map(one).to_vec()),
        };
        let answers = Answers { columns: vec![column], notes: Vec::new(), details: super::super::Details::default() };
        let lines = ["1", "1", "", "unbounded", "0", "-0", "1"].map(|error| format!("7,{error},0,1.5\n"));
        assert_eq!(answers.csv().unwrap(), format!("n,n_se,n_low,n_high\n{}", lines.concat()));
    }
}
