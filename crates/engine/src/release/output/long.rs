//! Tables of more rows than are held: a hundred million cells of marginals are made and written a part at a time.

use super::{AnswerColumn, Answers};
use crate::error::Result;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::{available_parallelism, scope};

/// So many of the first rows are held beside a long table, for JSON and for reports.
pub(crate) const HELD_ROWS: usize = 1000;

/// The part of a table with this number; `None` after the last.
type LongPart = dyn Fn(usize) -> Result<Option<Vec<AnswerColumn>>> + Send + Sync;

/// All rows of a table, in parts that are made when they are wanted; each has at least one row, and all have the same
/// columns.
#[derive(Clone)]
pub struct LongTable {
    /// How many rows there are.
    pub rows: u64,
    part: Arc<LongPart>,
}

impl LongTable {
    pub(crate) fn new(
        rows: u64,
        part: impl Fn(usize) -> Result<Option<Vec<AnswerColumn>>> + Send + Sync + 'static,
    ) -> Self {
        Self { rows, part: Arc::new(part) }
    }

    /// The first rows, which are held.
    pub(crate) fn first(&self) -> Result<Vec<AnswerColumn>> {
        let mut columns = (self.part)(0)?.unwrap_or_default();
        for column in &mut columns {
            column.cells.truncate(HELD_ROWS);
            column.uncertainty.iter_mut().for_each(|list| list.truncate(HELD_ROWS));
        }
        Ok(columns)
    }

    /// The note for a reader.
    pub(crate) fn note(&self) -> String {
        format!(
            "There are {} rows: all of them are in the CSV and the Parquet file, and the first {HELD_ROWS} in the JSON file.",
            self.rows
        )
    }
}

impl fmt::Debug for LongTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Long({} rows)", self.rows)
    }
}

impl PartialEq for LongTable {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows && Arc::ptr_eq(&self.part, &other.part)
    }
}

impl Answers {
    /// Makes something of each part, on all processors, and hands it over in the order of the parts. What is made at
    /// once is about two parts a processor.
    pub(crate) fn each_part<T: Send>(
        &self,
        make: impl Fn(&[AnswerColumn]) -> Result<T> + Sync,
        mut take: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let Some(long) = &self.details.long else { return take(make(&self.columns)?) };
        let (part, make) = (&long.part, &make);
        let processors = available_parallelism().map_or(1, usize::from);
        scope(|scope| {
            // With n processors each makes every n-th part; a thread that is ahead waits.
            let started = (0..processors).map(|first| {
                let (send, made) = sync_channel(0);
                scope.spawn(move || {
                    let parts = (first..).step_by(processors).map_while(|number| part(number).transpose());
                    for part in parts {
                        // Nobody takes what comes after a failure.
                        if send.send(part.and_then(|part| make(&part))).is_err() {
                            return;
                        }
                    }
                });
                made
            });
            let started: Vec<_> = started.collect();
            (0..).map_while(|number| started[number % processors].recv().ok()).try_for_each(|made| take(made?))
        })
    }
}
