//! The catalogue: what `psql`, drivers and their tools ask a PostgreSQL server about itself, answered from the
//! declarations.
//!
//! `tables` are the tables that there are (`pg_class`, `pg_attribute`, …), made of the project's declarations. Over
//! them runs a small interpreter of SELECT: `operator`, `function` and `cast` compute with values, `expression`
//! evaluates, `from` and `output` are the two ends of a query, and `query` answers it. The queries inside a query are
//! answered through its `context`. The interpreter is made to please: a table of the catalogue that is not there is
//! empty, a function or a column that is not there is NULL. It knows no data: no private table can be named here.

mod cast;
mod context;
mod expression;
mod from;
mod function;
mod operator;
mod output;
mod query;
mod scope;
mod tables;

use super::refused::{SqlError, code};
use super::settings::Settings;
use super::value::{CellValue, PgType};
use crate::service::TableShown;
use regex_lite::{Regex, RegexBuilder};
use sqlparser::ast::Statement;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A table of results.
#[derive(Debug, Clone, Default)]
pub(super) struct ResultTable {
    pub columns: Vec<ResultColumn>,
    pub rows: Vec<Vec<CellValue>>,
}

/// A column of results.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ResultColumn {
    pub name: String,
    pub kind: PgType,
}

impl ResultColumn {
    pub fn new(name: impl Into<String>, kind: PgType) -> Self {
        Self { name: name.into(), kind }
    }
}

/// A schema, if one is given, and a name.
type TableName = (Option<String>, String);

/// What the catalogue is about.
pub(super) struct Catalogue<'a> {
    pub tables: &'a [TableShown],
    pub settings: &'a Settings,
    /// How much has been done for this query.
    work: Cell<u64>,
    /// The tables of the catalogue that this query has read, by schema and name: each is made once.
    made: RefCell<HashMap<TableName, Rc<ResultTable>>>,
    /// Whether somebody has asked for the end of this query.
    stop: Arc<AtomicBool>,
    /// The patterns of this query, and whether they pass over capital letters; none for what is no pattern.
    patterns: RefCell<HashMap<(String, bool), Option<Regex>>>,
}

/// So much is done for a query: rows and parts of expressions that are looked at, cells that are made, and the length
/// of texts.
const MOST_WORK: u64 = 2_000_000;
/// The most columns of a result, which is PostgreSQL's number too.
const MOST_COLUMNS: usize = 1_664;
/// What it takes to read a pattern, and how large it may become by that, in bytes.
const PATTERN: usize = 20_000;
const LARGEST_PATTERN: usize = 64 << 10;
/// The most bytes of a result.
pub(super) const MOST_RESULT: usize = 8 << 20;
/// No value becomes longer, in bytes.
const LONGEST_VALUE: usize = 1 << 20;

impl<'a> Catalogue<'a> {
    pub fn new(tables: &'a [TableShown], settings: &'a Settings) -> Self {
        let (made, patterns) = (RefCell::default(), RefCell::default());
        Self { tables, settings, work: Cell::new(0), made, stop: Arc::default(), patterns }
    }

    /// The same, for a query that ends as soon as this says so.
    pub fn until(self, stop: Arc<AtomicBool>) -> Self {
        Self { stop, ..self }
    }

    /// The answer to a query.
    pub fn answer(&self, statement: &Statement) -> Result<ResultTable, SqlError> {
        let Statement::Query(query) = statement else {
            return Err(SqlError::new(code::UNSUPPORTED, "only SELECT is answered"));
        };
        let table = query::answer(query, self)?;
        if weight(&table) > MOST_RESULT {
            let sentence = format!(
                "a result of a query of the catalogue has at most {MOST_RESULT} bytes; ask for fewer rows or columns"
            );
            return Err(SqlError::new(code::TOO_MUCH, sentence));
        }
        Ok(Rc::try_unwrap(table).unwrap_or_else(|table| (*table).clone()))
    }

    /// Counts so much work.
    fn spend(&self, work: usize) -> Result<(), SqlError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(SqlError::new(code::CANCELLED, "this query of the catalogue was cancelled"));
        }
        self.work.set(self.work.get().saturating_add(work as u64));
        match self.work.get() > MOST_WORK {
            true => Err(SqlError::new(code::TOO_MUCH, "this query of the catalogue is too large")),
            false => Ok(()),
        }
    }

    /// Counts so many bytes that are about to be made. Whatever is made is paid for before, so that nothing grows
    /// beyond what may be done.
    fn weigh(&self, bytes: usize) -> Result<(), SqlError> {
        if bytes > LONGEST_VALUE {
            let sentence = format!("a value of a query of the catalogue has at most {LONGEST_VALUE} bytes");
            return Err(SqlError::new(code::TOO_MUCH, sentence));
        }
        self.spend(bytes / 32)
    }

    /// Counts a value by its length.
    fn weighed(&self, value: CellValue) -> Result<CellValue, SqlError> {
        self.weigh(length(&value))?;
        Ok(value)
    }

    /// A copy of a value, paid for.
    fn copied(&self, value: &CellValue) -> Result<CellValue, SqlError> {
        self.spend(1)?;
        self.weigh(length(value))?;
        Ok(value.clone())
    }

    /// Counts a column that comes beside `others`.
    fn widened(&self, others: usize, name: &str) -> Result<(), SqlError> {
        if others >= MOST_COLUMNS {
            let sentence = format!("a query of the catalogue has at most {MOST_COLUMNS} columns");
            return Err(SqlError::new(code::TOO_MUCH, sentence));
        }
        // Its name is copied into every result that has the column.
        self.spend(1 + name.len() / 8)
    }

    /// Whether a text has a regular expression of the catalogue's queries: names between `^(` and `)$`, beginnings,
    /// parts. A pattern is read once: `a{1000}` is short, and not quickly read.
    fn matched(&self, value: &CellValue, pattern: &CellValue, ignores_case: bool) -> Result<CellValue, SqlError> {
        let (Some(text), Some(pattern)) = (value.shown(), pattern.shown()) else { return Ok(CellValue::Null) };
        self.spend(8 + 4 * text.len())?;
        let mut patterns = self.patterns.borrow_mut();
        let key = (pattern, ignores_case);
        if !patterns.contains_key(&key) {
            self.spend(PATTERN)?;
            let mut builder = RegexBuilder::new(&key.0);
            let built = builder.case_insensitive(ignores_case).size_limit(LARGEST_PATTERN).build();
            patterns.insert(key.clone(), built.ok());
        }
        let built = patterns.get(&key).and_then(Option::as_ref);
        Ok(built.map_or(CellValue::Null, |pattern| CellValue::Truth(pattern.is_match(&text))))
    }

    /// A table of the catalogue.
    fn table(&self, schema: Option<&str>, name: &str) -> Result<Rc<ResultTable>, SqlError> {
        let key = (schema.map(str::to_string), name.to_string());
        if let Some(table) = self.made.borrow().get(&key) {
            return Ok(Rc::clone(table));
        }
        let table = Rc::new(tables::table(schema, name, self));
        self.spend(table.rows.len() * (1 + table.columns.len() / 4))?;
        self.made.borrow_mut().insert(key, Rc::clone(&table));
        Ok(table)
    }
}

/// What a row and a cell take beside what is in them: their places in lists, and what the allocator keeps for each.
const ROW: usize = 64;
const CELL: usize = 48;

/// How many bytes a table takes, about.
pub(super) fn weight(table: &ResultTable) -> usize {
    table.rows.iter().map(|row| row_weight(row)).sum()
}

/// How many bytes a row takes, about; one without columns takes some too.
fn row_weight(row: &[CellValue]) -> usize {
    ROW + row.iter().map(|cell| CELL + length(cell)).sum::<usize>()
}

/// How long a value is, about.
fn length(value: &CellValue) -> usize {
    match value {
        CellValue::Text(text) => text.len(),
        CellValue::List(list) => list.iter().map(|value| 32 + length(value)).sum(),
        CellValue::Whole(_) | CellValue::Number(_) => 24,
        CellValue::Null | CellValue::Truth(_) => 4,
    }
}

#[cfg(test)]
mod tests;
