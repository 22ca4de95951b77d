//! Tables of more rows than are held: a hundred million cells of marginals are made and written a part at a time.

use super::{AnswerColumn, Answers};
use crate::error::Result;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// So many of the first rows are held beside a long table, for JSON and for reports.
pub(in crate::release) const HELD_ROWS: usize = 1000;

/// The part of a table with this number; none behind the last.
type Part = dyn Fn(usize) -> Result<Option<Vec<AnswerColumn>>> + Send + Sync;

/// All rows of a table, in parts that are made when they are wanted; each has at least one row, and all have the same columns.
#[derive(Clone)]
pub struct Long {
    /// How many rows there are.
    pub rows: u64,
    part: Arc<Part>,
}

impl Long {
    pub(in crate::release) fn new(
        rows: u64,
        part: impl Fn(usize) -> Result<Option<Vec<AnswerColumn>>> + Send + Sync + 'static,
    ) -> Self {
        Self { rows, part: Arc::new(part) }
    }

    /// The first rows, which are held.
    pub(in crate::release) fn first(&self) -> Result<Vec<AnswerColumn>> {
        let mut columns = (self.part)(0)?.unwrap_or_default();
        for column in &mut columns {
            column.cells.truncate(HELD_ROWS);
            column.uncertainty.iter_mut().for_each(|list| list.truncate(HELD_ROWS));
        }
        Ok(columns)
    }

    /// What a reader is told.
    pub(in crate::release) fn note(&self) -> String {
        format!(
            "There are {} rows: all of them are in the CSV and the Parquet file, and the first {HELD_ROWS} in the JSON file.",
            self.rows
        )
    }
}

impl fmt::Debug for Long {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Long({} rows)", self.rows)
    }
}

impl PartialEq for Long {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows && Arc::ptr_eq(&self.part, &other.part)
    }
}

impl Answers {
    /// All rows, part by part.
    pub(in crate::release) fn parts(&self) -> impl Iterator<Item = Result<Cow<'_, [AnswerColumn]>>> {
        let mut number = 0;
        std::iter::from_fn(move || {
            number += 1;
            match &self.details.long {
                None => (number == 1).then_some(Ok(Cow::Borrowed(self.columns.as_slice()))),
                Some(long) => (long.part)(number - 1).map(|part| part.map(Cow::Owned)).transpose(),
            }
        })
    }
}
