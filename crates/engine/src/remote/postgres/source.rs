//! A PostgreSQL server that has the tables.

use crate::error::{Error, Result};
use crate::project::{Project, Server, Table};
use crate::remote::backend::{RemoteBackend, StatementRow, part, quoted};
use crate::remote::postgres::client::{PostgresSession, StoredColumn};
use crate::sql::text;
use crate::sql::text::Engine;
use datafusion::arrow::datatypes::DataType;
use std::collections::{BTreeMap, BTreeSet};

/// A session with a server, and what it has of the tables.
pub(crate) struct Postgres {
    session: PostgresSession,
    address: String,
    /// The columns of tables, by the names that tables have in the project.
    tables: BTreeMap<String, BTreeMap<String, StoredColumn>>,
}

impl Postgres {
    /// Logs in.
    pub fn begin(server: &Server) -> Result<Self> {
        Ok(Self { session: PostgresSession::begin(server)?, address: server.to_string(), tables: BTreeMap::new() })
    }
}

impl RemoteBackend for Postgres {
    fn engine(&self) -> Engine {
        Engine::Postgres
    }

    fn look(&mut self, table: &Table, used: &BTreeSet<String>) -> Result<()> {
        let Some(server) = &table.server else { return Ok(()) };
        let stored = self.session.columns(server)?.ok_or_else(|| {
            Error::input(format!("table '{}': there is no {} on the server", table.name, server.named()))
        })?;
        fits(table, |name| used.contains(name), &stored)?;
        self.tables.insert(table.name.clone(), stored);
        Ok(())
    }

    fn part(&self, table: &Table, used: &BTreeSet<String>, _: &Project) -> Option<String> {
        let stored = self.tables.get(&table.name);
        let is_numeric = |name: &str| stored.and_then(|all| all.get(name)).is_some_and(|one| one.kind == "numeric");
        let column = |name: &String| match is_numeric(name) {
            true => format!("{} AS {}", fraction(&quoted(name)), quoted(name)),
            false => quoted(name),
        };
        table.server.as_ref().map(|server| part(table, used, &server.named(), column))
    }

    fn plan(&mut self, statement: &str) -> Result<()> {
        self.session.plan(statement)
    }

    fn rows(&mut self, statement: &str) -> Result<Vec<StatementRow>> {
        self.session.charged_rows(statement)
    }

    fn address(&self) -> (&'static str, String) {
        ("server", self.address.clone())
    }
}

/// A `numeric` as a fraction. Some have none near them, and the server would fail on these: beyond the largest it is an
/// infinity, below the least 0.
fn fraction(column: &str) -> String {
    let word = |word: &str| format!("CAST('{word}' AS DOUBLE PRECISION)");
    format!(
        "CASE WHEN {column} = 'NaN' THEN {} WHEN {column} > 1e300 THEN {} WHEN {column} < -1e300 THEN {} \
         WHEN {column} > -1e-100 AND {column} < 1e-100 THEN {} ELSE CAST({column} AS DOUBLE PRECISION) END",
        word("NaN"),
        word("Infinity"),
        word("-Infinity"),
        word("0")
    )
}

/// Whether the columns that are used are there, with types that fit their declaration.
fn fits(table: &Table, is_used: impl Fn(&str) -> bool, stored: &BTreeMap<String, StoredColumn>) -> Result<()> {
    const WHOLE: [&str; 3] = ["int2", "int4", "int8"];
    const TEXT: [&str; 2] = ["text", "varchar"];
    let of = |name: &str, kinds: &[&str], what: &str| {
        let at = |sentence: String| Error::input(format!("table '{}': {sentence}", table.name));
        let Some(found) = stored.get(name) else {
            return Err(at(format!("there is no column '{name}' on the server")));
        };
        if !kinds.contains(&found.kind.as_str()) {
            return Err(at(format!(
                "column '{name}' is declared as {what} and is of type {} on the server",
                found.kind
            )));
        }
        match found.by_bytes {
            true => Ok(()),
            false => Err(at(format!(
                "column '{name}' treats different strings as equal (its collation is not \
                    deterministic)"
            ))),
        }
    };
    if let Some(owner) = &table.owner {
        of(owner, &[&WHOLE[..], &TEXT, &["uuid"]].concat(), "the owner, a string or a whole number,")?;
    }
    for column in table.columns.iter().filter(|column| is_used(&column.name)) {
        let name = &column.name;
        match text::stored(column) {
            Some(DataType::Int64) => of(name, &WHOLE, "whole numbers")?,
            Some(DataType::Float64) => of(name, &[&WHOLE[..], &["float4", "float8", "numeric"]].concat(), "numbers")?,
            Some(DataType::Boolean) => of(name, &["bool"], "true or false")?,
            Some(DataType::Date32) => of(name, &["date"], "dates")?,
            Some(_) => of(name, &TEXT, "strings")?,
            None => {
                return Err(Error::input(format!(
                    "table '{}': column '{name}' is a time, which is not supported on servers yet",
                    table.name
                )));
            }
        }
    }
    Ok(())
}
