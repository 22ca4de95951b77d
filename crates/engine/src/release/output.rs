//! The published answer: columns of cells, with the uncertainty of each noisy one; as CSV and as JSON.

pub(crate) mod column_kind;
mod csv;
mod long;
mod role;
mod rounded;

use crate::error::{Error, Result};
use crate::release::floor::Floor;
pub use column_kind::ColumnKind;
pub use long::LongTable;
pub use role::ColumnRole;
pub use rounded::digits;
pub(crate) use rounded::grouped;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The probability with which an interval of a published number may miss. All kinds share it, because readers compare
/// intervals of different releases: 95%, as readers of statistics expect.
pub const BETA: f64 = 0.05;

/// A published table.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers {
    /// The columns.
    pub columns: Vec<AnswerColumn>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// What does not fit a table.
    pub details: Details,
}

/// What some kinds tell beside their table; all of it computed from released numbers alone.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Details {
    /// The picture of the answer, if bars and lines over the table's columns are not the right one.
    pub curve: Option<BandedCurve>,
    /// What the columns are, where charts cannot tell from the numbers alone.
    pub roles: BTreeMap<String, ColumnRole>,
    /// More fields of the answer's JSON.
    pub facts: Map<String, Value>,
    /// Errors that no mechanism could beat, if they are known only with the answer.
    pub limits: Vec<Floor>,
    /// All rows, where they are too many to be held.
    pub long: Option<LongTable>,
    /// What is drawn where an interval stands in columns of its own, and no standard error says as much.
    pub drawn: Option<IntervalChart>,
    /// What is known of columns by their names, whatever their cells are.
    pub kinds: BTreeMap<String, ColumnKind>,
}

/// Columns, by name, that are drawn together: the label of each bar, its number, and the ends of its interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntervalChart {
    /// What stands beside a bar.
    pub label: String,
    /// The number.
    pub column: String,
    /// The lower end and the upper end, where there are any.
    pub ends: Option<[String; 2]>,
    /// What is drawn.
    pub title: String,
}

/// Contribution bounds that were chosen from the data, for the lines of a project file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuggestedBounds {
    /// How many groups of an owner count, where there are groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_groups_per_owner: Option<u64>,
    /// How many rows in each of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rows_per_group: Option<u64>,
    /// How many rows of an owner count.
    pub max_rows_per_owner: u64,
    /// The share of the rows that would be cut off.
    pub share_cut: Option<f64>,
    /// Its 95% interval.
    pub share_cut_interval: [Option<f64>; 2],
}

impl Details {
    /// The bounds that a release suggests, if it does.
    pub fn suggested_bounds(&self) -> Option<SuggestedBounds> {
        SuggestedBounds::deserialize(self.facts.get("suggested")?).ok()
    }
}

/// A falling curve of counts on logarithmic axes, with a band.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BandedCurve {
    /// What it shows.
    pub title: String,
    /// The label of the horizontal axis.
    pub x: String,
    /// The label of the vertical axis.
    pub y: String,
    /// What the band promises.
    pub promise: String,
    /// (x, y, low, high)
    pub points: Vec<(f64, f64, f64, f64)>,
}

/// One published column.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerColumn {
    /// Its name.
    pub name: String,
    /// Its cells.
    pub cells: Vec<Cell>,
    /// Beside each cell of a noisy column, how unsure it is.
    pub uncertainty: Option<Vec<Uncertainty>>,
}

/// One published value.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A text.
    Text(Arc<str>),
    /// A whole number.
    Whole(i128),
    /// A number.
    Number(f64),
    /// True or false.
    Truth(bool),
}

/// The word for an error or the end of an interval where nothing is known: a quotient whose divisor may be 0 may be
/// anything.
pub const UNBOUNDED: &str = "unbounded";

/// How unsure a published number is, because of the noise; infinite where nothing is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Uncertainty {
    /// The standard error.
    pub standard_error: f64,
    /// The lower end of a 95% interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Uncertainty {
    /// Of a number with noise about which no more is known.
    pub const UNKNOWN: Self = Self { standard_error: f64::NAN, low: f64::NAN, high: f64::NAN };

    /// The standard error in the digits that are published, so that it is the same number in every form of an answer.
    pub fn published_error(&self) -> f64 {
        six_digits(self.standard_error)
    }

    /// The 95% margin: half the width of the interval; none where an end is infinite.
    pub fn margin(&self) -> Option<f64> {
        Some((self.high - self.low) / 2.0).filter(|margin| margin.is_finite())
    }
}

impl AnswerColumn {
    /// Whether an interval of any of its cells is known.
    pub fn has_intervals(&self) -> bool {
        self.uncertainty.iter().flatten().any(|one| !one.low.is_nan() && !one.high.is_nan())
    }
}

impl Cell {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(*number as f64),
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// As text for tables, charts and terminals: of a text that comes from the data, nothing that would be obeyed by a
    /// terminal.
    pub fn text(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Text(text) => visible(text),
            Self::Whole(number) => number.to_string(),
            Self::Number(number) => format!("{}", unsigned_zero(*number)),
            Self::Truth(truth) => truth.to_string(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Text(text) => json!(&**text),
            Self::Whole(number) => match i64::try_from(*number) {
                Ok(number) => json!(number),
                Err(_) => json!(*number as f64),
            },
            Self::Number(number) => json!(unsigned_zero(*number)),
            Self::Truth(truth) => json!(truth),
        }
    }
}

impl Answers {
    /// How many rows are held.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// How many rows there are: those that are held, unless there are more.
    pub fn all_rows(&self) -> u64 {
        self.details.long.as_ref().map_or(self.rows() as u64, |long| long.rows)
    }

    /// The names of all columns of the files: those of the answer, and after each noisy one what stands beside it.
    pub fn names(&self) -> Vec<String> {
        let names = self.columns.iter().zip(self.names_beside());
        names
            .flat_map(|(column, beside)| std::iter::once(column.name.clone()).chain(beside.into_iter().flatten()))
            .collect()
    }

    /// What stands beside each noisy column in the files is called.
    pub fn names_beside(&self) -> Vec<Option<[String; 3]>> {
        names_beside(self.columns.iter().map(|column| (column.name.as_str(), column.uncertainty.is_some())))
    }

    /// The rows that are held as objects, each noisy number with its standard error and 95% interval, whose ends may be
    /// `"unbounded"`.
    pub fn json(&self) -> Value {
        let rows: Vec<Value> = (0..self.rows())
            .map(|row| {
                let mut fields = Map::new();
                for column in &self.columns {
                    fields.insert(column.name.clone(), column.cells[row].json());
                    if let Some(list) = &column.uncertainty {
                        fields.insert(format!("{}_error", column.name), end(list[row].published_error()));
                        let ends = [list[row].low, list[row].high];
                        // Where no interval is known there is none.
                        let interval =
                            if ends.iter().any(|end| end.is_nan()) { Value::Null } else { json!(ends.map(end)) };
                        fields.insert(format!("{}_interval", column.name), interval);
                    }
                }
                Value::Object(fields)
            })
            .collect();
        json!(AnswersDocument {
            facts: &self.details.facts,
            row_count: self.details.long.as_ref().map(|long| long.rows),
            rows,
            notes: &self.notes,
        })
    }
}

/// Answers as JSON.
#[derive(Serialize)]
struct AnswersDocument<'a> {
    /// What the kind says beside its table.
    #[serde(flatten)]
    facts: &'a Map<String, Value>,
    /// How many rows there are, where not all are held.
    #[serde(skip_serializing_if = "Option::is_none")]
    row_count: Option<u64>,
    rows: Vec<Value>,
    notes: &'a [String],
}

/// The ends of the names of what stands beside a noisy number in the files: its standard error, and the interval's
/// ends.
const ENDS: [&str; 3] = ["_se", "_low", "_high"];

/// The names of what stands beside each noisy column in the files: `x_se`, `x_low` and `x_high` beside `x`. Where a
/// column has such a name already, that of ours gets one `_` after the other until it is free.
pub(crate) fn names_beside<'a>(columns: impl Iterator<Item = (&'a str, bool)> + Clone) -> Vec<Option<[String; 3]>> {
    let mut taken: HashSet<String> = columns.clone().map(|(name, _)| name.to_string()).collect();
    let mut free = |mut name: String| {
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        name
    };
    columns.map(|(name, is_noisy)| is_noisy.then(|| ENDS.map(|end| free(format!("{name}{end}"))))).collect()
}

/// A refusal where two published columns would have the same name: the query's own ones, and those that stand beside
/// noisy ones in JSON.
pub(crate) fn check_names<'a>(columns: impl IntoIterator<Item = (&'a str, bool)>) -> Result<()> {
    let mut taken = HashMap::new();
    for (name, is_noisy) in columns {
        if name.is_empty() {
            return Err(Error::input("a published column has no name; give it one after AS"));
        }
        let beside = if is_noisy { BESIDE } else { &[] };
        for end in [""].iter().chain(beside) {
            if let Some(other) = taken.insert(format!("{name}{end}"), name) {
                return Err(same_name(&format!("{name}{end}"), [name, other]));
            }
        }
    }
    Ok(())
}

/// The refusal of a name that both of two columns have, or what stands beside them.
fn same_name(name: &str, columns: [&str; 2]) -> Error {
    let noisy: Vec<String> =
        columns.iter().filter(|column| **column != name).map(|column| format!("'{column}'")).collect();
    let why = match &noisy[..] {
        [] => String::new(),
        some => format!(
            ", because the noisy column {} is published with its error, interval and rank error",
            some.join(" and ")
        ),
    };
    Error::input(format!("two published columns would be called '{name}'{why}; give one of them another name"))
}

/// The ends of the names that may stand beside a noisy column.
const BESIDE: &[&str] = &["_error", "_interval", "_rank_error"];

/// Shows control characters, and those that change the direction of writing, as visible characters.
fn visible(text: &str) -> String {
    let sign = |letter: char| match letter {
        '\n' | '\t' => letter,
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(letter)).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        '\u{80}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        other => other,
    };
    text.chars().map(sign).collect()
}

/// Whether a character stands in every form of an answer as it is, and does not break its line.
pub(crate) fn is_shown_as_it_is(letter: char) -> bool {
    !letter.is_control() && visible(&letter.to_string()).starts_with(letter)
}

/// A text that no spreadsheet takes for a formula.
fn no_formula(text: String) -> String {
    let first = text.trim_start().chars().next();
    let is_formula = first.is_some_and(|letter| {
        matches!(letter, '=' | '+' | '-' | '@' | '\u{ff1d}' | '\u{ff0b}' | '\u{ff0d}' | '\u{ff20}')
    });
    if is_formula && text.trim().parse::<f64>().is_err() { format!("'{text}") } else { text }
}

/// A number, the word for none, or nothing.
fn end(number: f64) -> Value {
    if number.is_infinite() { json!(UNBOUNDED) } else { json!(unsigned_zero(number)) }
}

/// Readers take -0 for something else than 0.
pub(crate) fn unsigned_zero(number: f64) -> f64 {
    if number == 0.0 { 0.0 } else { number }
}

/// Six significant digits, and all of a whole part: as errors, and the numbers of plans and reports, are shown
/// everywhere.
pub(crate) fn six_digits(number: f64) -> f64 {
    if !number.is_finite() || number.abs() >= 1e5 {
        number.round()
    } else {
        format!("{number:.5e}").parse().unwrap_or(number)
    }
}

pub(crate) mod parquet;
#[cfg(test)]
mod tests;
