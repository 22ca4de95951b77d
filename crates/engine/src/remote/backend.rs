//! What a place where rows are has to do for the statements of a job.

use crate::error::Result;
use crate::project::{Project, Table};
use crate::sql::text::Engine;
use std::collections::BTreeSet;

/// A row of a statement's result: texts, or nothing.
pub(crate) type StatementRow = Vec<Option<String>>;

/// Where rows are and statements run.
pub(crate) trait RemoteBackend {
    /// For what the statements are written.
    fn engine(&self) -> Engine;

    /// Looks whether a table is there, with the columns that are used in types that fit; no value is looked at.
    fn look(&mut self, table: &Table, used: &BTreeSet<String>) -> Result<()>;

    /// A table as a named part of a statement: `"visits" AS (SELECT … FROM …)`. None where the statement has it without
    /// a word.
    fn part(&self, table: &Table, used: &BTreeSet<String>, project: &Project) -> Option<String>;

    /// Looks whether a statement can be run; no value is looked at.
    fn plan(&mut self, statement: &str) -> Result<()>;

    /// The last look before a charge.
    fn ready(&mut self) -> Result<()> {
        Ok(())
    }

    /// The rows of a statement.
    fn rows(&mut self, statement: &str) -> Result<Vec<StatementRow>>;

    /// What the ledger says of it: a word and an address.
    fn address(&self) -> (&'static str, String);
}

/// A name as SQL has it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A table as a named part of a statement, of the columns that are used; `column` writes one.
pub(crate) fn part(table: &Table, used: &BTreeSet<String>, from: &str, column: impl Fn(&String) -> String) -> String {
    let declared = table.columns.iter().map(|column| &column.name).filter(|name| used.contains(*name));
    let columns: Vec<String> = table.owner.iter().chain(declared).map(column).collect();
    let columns = if columns.is_empty() { "1 AS scumble_one".to_string() } else { columns.join(", ") };
    format!("{} AS (SELECT {columns} FROM {from})", quoted(&table.name))
}
