//! The catalogue: what `psql`, drivers and their tools ask a PostgreSQL server about itself, answered from the declarations.
//!
//! `tables` are the tables that there are (`pg_class`, `pg_attribute`, …), made of the project's declarations; `query`, `from`, `output`, `expression` and `function` are a
//! small interpreter of SELECT over them. It is made to please: a table of the catalogue that is not there is empty, a function or a column that is not there is NULL. It knows
//! no data: no private table can be named here.

mod expression;
mod from;
mod function;
mod output;
mod query;
mod scope;
mod tables;

use super::refused::{Refused, code};
use super::settings::Settings;
use super::value::{PgType, Value};
use crate::service::TableShown;
use sqlparser::ast::Statement;
use std::cell::Cell;
use std::rc::Rc;

/// A table of results.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    pub columns: Vec<ResultColumn>,
    pub rows: Vec<Vec<Value>>,
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

/// What the catalogue is about.
pub(super) struct World<'a> {
    pub tables: &'a [TableShown],
    pub settings: &'a Settings,
    /// How much has been done for this query.
    work: Cell<u64>,
}

/// So much is done for a query: rows and parts of expressions that are looked at, and the length of texts.
const MOST_WORK: u64 = 2_000_000;

impl<'a> World<'a> {
    pub fn new(tables: &'a [TableShown], settings: &'a Settings) -> Self {
        Self { tables, settings, work: Cell::new(0) }
    }

    /// The answer to a query.
    pub fn answer(&self, statement: &Statement) -> Result<Table, Refused> {
        let Statement::Query(query) = statement else {
            return Err(Refused::new(code::UNSUPPORTED, "only SELECT is answered"));
        };
        let table = query::query(query, self, &query::Names::default(), None)?;
        Ok(Rc::try_unwrap(table).unwrap_or_else(|table| (*table).clone()))
    }

    /// Counts so much work.
    fn spend(&self, work: usize) -> Result<(), Refused> {
        self.work.set(self.work.get().saturating_add(work as u64));
        match self.work.get() > MOST_WORK {
            true => Err(Refused::new(code::TOO_MUCH, "this query of the catalogue is too large")),
            false => Ok(()),
        }
    }

    /// Counts a value by its length: whatever is made is paid for, so that nothing grows beyond what may be done.
    fn weighed(&self, value: Value) -> Result<Value, Refused> {
        self.spend(length(&value) / 32)?;
        Ok(value)
    }
}

/// How long a value is, about.
fn length(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::List(list) => list.iter().map(|value| 32 + length(value)).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
