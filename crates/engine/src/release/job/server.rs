//! Integers from a PostgreSQL server: the statements of a job, run by us after the charge, with a secret that is drawn for them.

use super::{Elsewhere, HASH, read, unwritten};
use crate::backend::postgres::{Row, Session, Stored};
use crate::error::{Error, Result};
use crate::project::{Project, Request, Server, Table};
use crate::release::sql::queries;
use crate::sql::Cut;
use crate::sql::integers::Integers;
use crate::sql::window::{self, Engine};
use datafusion::arrow::datatypes::DataType;
use scumble::noise::BitSource;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

/// A server that is logged in to, has the tables of a release, and can run its statements.
pub(in crate::release) struct Served<'a> {
    session: RefCell<Session>,
    project: &'a Project,
    secret: String,
    address: String,
    tables: Tables,
}

/// The columns of tables on a server, by the names that tables have in the project.
type Tables = BTreeMap<String, BTreeMap<String, Stored>>;

/// The server of a release's tables; none where all are files.
pub(in crate::release) fn server<'a>(
    request: &Request,
    tables: &[String],
    project: &'a Project,
) -> Result<Option<&'a Server>> {
    let tables = tables.iter().map(|name| project.table(name)).collect::<Result<Vec<&Table>>>()?;
    let Some(server) = tables.iter().find_map(|table| table.server.as_ref()) else { return Ok(None) };
    let is_beside = |table: &&&Table| table.server.as_ref().is_some_and(|other| other.is_beside(server));
    match tables.iter().find(|table| !is_beside(table)) {
        None => Ok(Some(server)),
        Some(other) => Err(Error::input(format!(
            "release '{}' reads tables of different places: '{}' is not in the database of {server}; rows do not leave their place, so bring them to one",
            request.name, other.name
        ))),
    }
}

impl<'a> Served<'a> {
    /// Logs in and looks whether everything fits; no value is looked at.
    pub fn new(request: &Request, server: &Server, project: &'a Project, bits: &mut dyn BitSource) -> Result<Self> {
        let queries = queries(request, project)?;
        let mut session = Session::begin(server)?;
        let mut tables = Tables::new();
        for query in &queries {
            let used = window::used(query).map_err(|error| unwritten(&request.name, &error))?;
            for name in &query.below.tables {
                let table = project.table(name)?;
                let Some(server) = &table.server else { continue };
                let stored = session.columns(server)?.ok_or_else(|| {
                    Error::input(format!("table '{name}': there is no {} on the server", server.named()))
                })?;
                fits(table, |name| used.contains(name), &stored)?;
                tables.insert(name.clone(), stored);
            }
            let texts = statements(query, project, &tables, "SECRET");
            for text in texts.map_err(|error| unwritten(&request.name, &error))? {
                session.plan(&text)?;
            }
        }
        // 256 bits, which choose rows and are forgotten.
        let secret = (0..4).map(|_| format!("{:016x}", bits.next_u64())).collect();
        Ok(Self { session: RefCell::new(session), project, secret, address: server.to_string(), tables })
    }
}

#[cfg(test)]
impl Served<'_> {
    /// What chooses rows.
    pub fn secret(&self) -> &str {
        &self.secret
    }
}

impl Elsewhere for Served<'_> {
    fn integers(&self, query: &Cut) -> Result<Integers> {
        let texts = statements(query, self.project, &self.tables, &self.secret);
        let texts = texts.map_err(|error| unwritten("", &error))?;
        let mut session = self.session.borrow_mut();
        let results = texts.iter().map(|text| session.rows(text)).collect::<Result<Vec<Vec<Row>>>>()?;
        let mut results = results.iter();
        read::of_query(query, &mut |_| {
            let rows = results.next().ok_or_else(|| Error::machine("a statement is missing"))?;
            read::Rows::of(Path::new("the server"), rows)
        })
    }

    fn note(&self, rule: &mut Value) {
        rule["hash"] = json!(HASH);
        rule["server"] = json!(self.address);
    }
}

/// The statements of a query, over the tables where they are.
fn statements(
    query: &Cut,
    project: &Project,
    stored: &Tables,
    secret: &str,
) -> std::result::Result<Vec<String>, datafusion::common::DataFusionError> {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let used = window::used(query)?;
    let mut tables = Vec::new();
    for table in query.below.tables.iter().filter_map(|name| project.tables.get(name)) {
        let Some(server) = &table.server else { continue };
        let declared = table.columns.iter().map(|column| &column.name).filter(|name| used.contains(*name));
        let is_numeric =
            |name: &str| stored.get(&table.name).and_then(|all| all.get(name)).is_some_and(|one| one.kind == "numeric");
        let column = |name: &String| match is_numeric(name) {
            true => format!("{} AS {}", fraction(&quoted(name)), quoted(name)),
            false => quoted(name),
        };
        let columns: Vec<String> = table.owner.iter().chain(declared).map(column).collect();
        let columns = if columns.is_empty() { "1 AS scumble_one".to_string() } else { columns.join(", ") };
        tables.push(format!("{} AS (SELECT {columns} FROM {})", quoted(&table.name), server.named()));
    }
    let tables = tables.join(", ");
    let texts = window::job(query, project, Engine::Postgres, secret, |index| format!("{}{index}", read::PREFIX))?;
    Ok(texts.into_iter().map(|text| text.replacen("WITH ", &format!("WITH {tables}, "), 1)).collect())
}

/// A `numeric` as a fraction. Some have none near them, and the server would fail on these: beyond the largest it is an infinity, below the least 0.
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
fn fits(table: &Table, is_used: impl Fn(&str) -> bool, stored: &BTreeMap<String, Stored>) -> Result<()> {
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
            false => {
                Err(at(format!("column '{name}' takes different texts for equal (its collation is not deterministic)")))
            }
        }
    };
    if let Some(owner) = &table.owner {
        of(owner, &[&WHOLE[..], &TEXT, &["uuid"]].concat(), "the owner, a text or a whole number,")?;
    }
    for column in table.columns.iter().filter(|column| is_used(&column.name)) {
        let name = &column.name;
        match window::stored(column) {
            Some(DataType::Int64) => of(name, &WHOLE, "whole numbers")?,
            Some(DataType::Float64) => of(name, &[&WHOLE[..], &["float4", "float8", "numeric"]].concat(), "numbers")?,
            Some(DataType::Boolean) => of(name, &["bool"], "true or false")?,
            Some(DataType::Date32) => of(name, &["date"], "dates")?,
            Some(_) => of(name, &TEXT, "texts")?,
            None => {
                return Err(Error::input(format!(
                    "table '{}': column '{name}' is a time, and times are not read from servers yet",
                    table.name
                )));
            }
        }
    }
    Ok(())
}
