//! Where the names of an expression are looked for: the rows of FROM, and the query around.

use super::{Catalogue, ResultTable};
use crate::postgres::refused::SqlError;
use crate::postgres::value::{CellValue, PgType};
use sqlparser::ast::{Ident, ObjectName};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A table in FROM.
pub(super) struct FromTable {
    pub alias: String,
    pub table: Rc<ResultTable>,
}

/// A row of FROM: of each table one of its rows, or none.
pub(super) type JoinedRow = Vec<Option<usize>>;

/// Where the names of an expression are looked for.
pub(super) struct NameScope<'s> {
    pub sources: &'s [FromTable],
    pub row: &'s [Option<usize>],
    /// The rows that are aggregated.
    pub group: Option<&'s [JoinedRow]>,
    /// How far window functions have counted.
    pub counters: &'s RefCell<HashMap<String, i64>>,
    /// The query around this one.
    pub outer: Option<&'s NameScope<'s>>,
}

impl NameScope<'_> {
    /// The value of a column; none where nothing is called so.
    pub fn lookup(
        &self,
        table: Option<&str>,
        column: &str,
        world: &Catalogue<'_>,
    ) -> Result<Option<&CellValue>, SqlError> {
        if let Some((source, column)) = self.place(table, column, world)? {
            let row = self.row.get(source).copied().flatten();
            let row = row.and_then(|row| self.sources[source].table.rows.get(row));
            return Ok(Some(row.and_then(|row| row.get(column)).unwrap_or(&CellValue::Null)));
        }
        match self.outer {
            Some(outer) => outer.lookup(table, column, world),
            None => Ok(None),
        }
    }

    /// The type of a column.
    pub fn kind(&self, table: Option<&str>, column: &str, world: &Catalogue<'_>) -> Result<Option<PgType>, SqlError> {
        let here = self.place(table, column, world)?;
        match (here.and_then(|(source, column)| self.sources[source].table.columns.get(column)), self.outer) {
            (Some(column), _) => Ok(Some(column.kind)),
            (None, Some(outer)) => outer.kind(table, column, world),
            (None, None) => Ok(None),
        }
    }

    /// The table and the column that a name means. Where the named table does not have the column, its index is
    /// `usize::MAX` and its value NULL. Every name that is compared counts as work: there can be 24 tables of 1,664
    /// columns.
    pub fn place(
        &self,
        table: Option<&str>,
        column: &str,
        world: &Catalogue<'_>,
    ) -> Result<Option<(usize, usize)>, SqlError> {
        let mut looked_at = self.sources.len();
        let mut found = None;
        for (index, source) in self.sources.iter().enumerate() {
            if table.is_some_and(|table| table != source.alias) {
                continue;
            }
            let place = source.table.columns.iter().position(|known| known.name == column);
            looked_at += place.unwrap_or(source.table.columns.len());
            found = match place {
                Some(place) => Some((index, place)),
                None if table.is_some() => Some((index, usize::MAX)),
                None => continue,
            };
            break;
        }
        world.spend(looked_at / NAMES_FOR_ONE)?;
        // The one column of a function's rows has the function's name.
        let named = |source: &FromTable| table.is_none() && source.alias == column;
        Ok(found.or_else(|| self.sources.iter().position(named).map(|index| (index, 0))))
    }
}

/// So many names are looked at for one unit of work.
const NAMES_FOR_ONE: usize = 32;

/// The scope of what stands in no FROM.
#[derive(Default)]
pub(super) struct EmptyScope(RefCell<HashMap<String, i64>>);

impl EmptyScope {
    pub fn scope<'s>(&'s self, outer: Option<&'s NameScope<'s>>) -> NameScope<'s> {
        NameScope { sources: &[], row: &[], group: None, counters: &self.0, outer }
    }
}

/// A name as PostgreSQL understands it: in small letters unless it is quoted.
pub(super) fn folded(name: &Ident) -> String {
    if name.quote_style.is_some() { name.value.clone() } else { name.value.to_lowercase() }
}

/// The last part of a name.
pub(super) fn last_word(name: &ObjectName) -> String {
    name.0.last().and_then(|part| part.as_ident()).map(folded).unwrap_or_default()
}
