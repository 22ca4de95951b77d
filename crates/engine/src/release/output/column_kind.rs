//! What the cells of a published column are: for files and interfaces whose columns have types.

use super::{AnswerColumn, Answers, Cell};
use crate::calendar;
use crate::project::{Domain, Zone};
use datafusion::arrow::datatypes::DataType;
use serde::{Deserialize, Serialize};

/// What the cells of a column are. A door must know all of them, so the list is exhaustive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnKind {
    /// Whole numbers.
    #[serde(rename = "int")]
    Whole,
    /// Numbers.
    #[serde(rename = "float")]
    Number,
    /// True or false.
    #[serde(rename = "bool")]
    Truth,
    /// Texts.
    #[serde(rename = "category")]
    Text,
    /// Days, written YYYY-MM-DD.
    #[serde(rename = "date")]
    Day,
    /// Times, written YYYY-MM-DDThh:mm:ss.
    #[serde(rename = "timestamp")]
    Moment,
}

impl ColumnKind {
    /// As the cells of an answer are made of values of this type.
    pub(crate) fn of(kind: &DataType) -> Self {
        match kind {
            DataType::Int64 => Self::Whole,
            DataType::Boolean => Self::Truth,
            DataType::Date32 => Self::Day,
            DataType::Timestamp(..) => Self::Moment,
            kind if kind.is_numeric() => Self::Number,
            _ => Self::Text,
        }
    }

    /// As the values of a declared column are published.
    pub(crate) fn declared(domain: &Domain) -> Self {
        match domain {
            Domain::Int { .. } => Self::Whole,
            Domain::Float { .. } => Self::Number,
            Domain::Bool => Self::Truth,
            Domain::Category { .. } => Self::Text,
            Domain::Date { .. } => Self::Day,
            Domain::Timestamp { .. } => Self::Moment,
        }
    }

    /// What columns of both kinds, one below the other, are.
    pub(crate) fn beside(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Whole | Self::Number, Self::Whole | Self::Number) => Self::Number,
            _ => Self::Text,
        }
    }

    /// What these cells are by themselves; none where all are empty.
    pub(crate) fn of_cells(cells: &[Cell]) -> Option<Self> {
        cells.iter().find(|cell| **cell != Cell::Null)?;
        let kinds = [Self::Whole, Self::Number, Self::Truth];
        kinds.into_iter().find(|kind| kind.hold(cells)).or(Some(Self::Text))
    }

    /// Whether all of these cells can stand in a column of this kind.
    fn hold(self, cells: &[Cell]) -> bool {
        let holds = |cell: &Cell| match self {
            Self::Whole => whole(cell).is_some(),
            Self::Number => cell.number().is_some(),
            Self::Truth => truth(cell).is_some(),
            Self::Text => matches!(cell, Cell::Text(_)),
            Self::Day => day(cell).is_some(),
            Self::Moment => moment(cell).is_some(),
        };
        cells.iter().all(|cell| *cell == Cell::Null || holds(cell))
    }
}

impl Answers {
    /// The kind of a column: the declared one if its cells fit, otherwise the kind of the cells.
    pub(crate) fn kind(&self, column: &AnswerColumn) -> ColumnKind {
        // Of a table that is written in parts only the first cells are here: later ones need not fit.
        let known = self.details.kinds.get(&column.name).copied().filter(|_| self.details.long.is_none());
        known.filter(|kind| kind.hold(&column.cells)).unwrap_or_else(|| column.own_kind())
    }

    /// What is known of columns before any cell is: of a column without values nothing else tells what they would be.
    pub(crate) fn know_kinds(&mut self, kinds: impl IntoIterator<Item = (String, ColumnKind)>) {
        for (name, kind) in kinds {
            self.details.kinds.entry(name).or_insert(kind);
        }
    }
}

impl AnswerColumn {
    /// What its cells are by themselves.
    pub(crate) fn own_kind(&self) -> ColumnKind {
        let empty = if self.uncertainty.is_some() { ColumnKind::Number } else { ColumnKind::Text };
        ColumnKind::of_cells(&self.cells).unwrap_or(empty)
    }
}

pub(crate) fn whole(cell: &Cell) -> Option<i64> {
    match cell {
        Cell::Whole(number) => i64::try_from(*number).ok(),
        _ => None,
    }
}

pub(crate) fn truth(cell: &Cell) -> Option<bool> {
    match cell {
        Cell::Truth(truth) => Some(*truth),
        _ => None,
    }
}

/// The days since 1970-01-01.
pub(crate) fn day(cell: &Cell) -> Option<i32> {
    match cell {
        Cell::Text(text) => calendar::day(text).and_then(|day| i32::try_from(day).ok()),
        _ => None,
    }
}

/// The nanoseconds since 1970-01-01 that a clock on the wall shows.
pub(crate) fn moment(cell: &Cell) -> Option<i64> {
    match cell {
        Cell::Text(text) if text.len() > "YYYY-MM-DD".len() => calendar::moment(text, Zone::default()),
        _ => None,
    }
}
