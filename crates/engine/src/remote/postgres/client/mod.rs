//! A PostgreSQL server that computes integers where its rows are. Nothing but aggregates comes back.

mod connection;
mod secret;

use crate::error::{Error, Result};
use crate::project::Server;
use connection::{Connection, PostgresError};
use std::collections::BTreeMap;

pub(crate) use connection::PostgresRow;

/// The oldest server that has SHA-256.
const OLDEST: u32 = 110_000;

/// A connection to a server, in one transaction that reads and sees one moment.
pub(crate) struct PostgresSession {
    connection: Connection,
    server: Server,
}

/// A column of a table there.
#[derive(Debug, Clone)]
pub(crate) struct StoredColumn {
    /// The name of its type.
    pub kind: String,
    /// Whether equal texts are equal bytes.
    pub by_bytes: bool,
}

impl PostgresSession {
    /// Logs in and begins the transaction.
    pub fn begin(server: &Server) -> Result<Self> {
        let place = place(server);
        let connection = Connection::open(server).map_err(|trouble| log_in(&place, &trouble))?;
        let mut session = Self { connection, server: server.clone() };
        let begin = format!(
            "SET statement_timeout = '{}s'; SET lock_timeout = '60s'; SET standard_conforming_strings = on; SET TimeZone = 'UTC'; \
             BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            server.timeout
        );
        session.rows(&begin)?;
        let version = session.one("SHOW server_version_num")?.parse::<u32>().unwrap_or(0);
        if version < OLDEST {
            return Err(Error::input(format!("{place} is older than PostgreSQL 11, which is the first with SHA-256")));
        }
        if session.one("SHOW server_encoding")? != "UTF8" {
            return Err(Error::input(format!("{place} has an encoding other than UTF8")));
        }
        Ok(session)
    }

    /// The columns of a table, by name; none where there is no such table.
    pub fn columns(&mut self, table: &Server) -> Result<Option<BTreeMap<String, StoredColumn>>> {
        let name = table.named().replace('\'', "''");
        if self.one(&format!("SELECT CASE WHEN to_regclass('{name}') IS NULL THEN 'no' ELSE 'yes' END"))? == "no" {
            return Ok(None);
        }
        // Whether a collation is one of bytes is known from version 12 on; before, all were.
        let rows = self.rows(&format!(
            "SELECT a.attname, t.typname, COALESCE(to_jsonb(c) ->> 'collisdeterministic', 'true') FROM pg_attribute a \
             JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_collation c ON c.oid = a.attcollation \
             WHERE a.attrelid = to_regclass('{name}') AND a.attnum > 0 AND NOT a.attisdropped"
        ))?;
        let column = |row: PostgresRow| match <[Option<String>; 3]>::try_from(row) {
            Ok([Some(name), Some(kind), Some(by_bytes)]) => {
                Some((name, StoredColumn { kind, by_bytes: by_bytes == "true" }))
            }
            _ => None,
        };
        Ok(Some(rows.into_iter().filter_map(column).collect()))
    }

    /// Whether the server can run a statement; no row is looked at.
    pub fn plan(&mut self, statement: &str) -> Result<()> {
        self.rows(&format!("EXPLAIN {statement}")).map(drop)
    }

    /// The rows of a statement.
    pub fn rows(&mut self, statement: &str) -> Result<Vec<PostgresRow>> {
        let place = place(&self.server);
        self.connection.run(statement).map_err(|trouble| while_running(&place, &trouble))
    }

    /// The rows of a statement after the charge. The errors are sentences that depend on no value, which the server's
    /// code for a failure may do.
    pub fn charged_rows(&mut self, statement: &str) -> Result<Vec<PostgresRow>> {
        let place = place(&self.server);
        self.connection.run(statement).map_err(|trouble| after_the_charge(&place, &trouble))
    }

    fn one(&mut self, statement: &str) -> Result<String> {
        let first = self.rows(statement)?.into_iter().next().and_then(|row| row.into_iter().next());
        Ok(first.flatten().unwrap_or_default())
    }
}

fn place(server: &Server) -> String {
    format!("the server at {}:{}", server.host, server.port)
}

/// Why there is no connection.
fn log_in(place: &str, trouble: &PostgresError) -> Error {
    match trouble {
        PostgresError::Away => {
            Error::machine(format!("{place} cannot be reached: check that it runs, and its host and port"))
        }
        PostgresError::Door(why) => Error::input(format!("{place} cannot be used: {why}")),
        PostgresError::Refused(code) => match code.as_str() {
            "28P01" | "28000" => Error::input(format!(
                "{place} does not let this user in: check the user's name and the password (PGPASSWORD, password_file \
                    or ~/.pgpass, which nobody else may read)"
            )),
            "3D000" => Error::input(format!("{place} has no such database")),
            code => Error::machine(format!("{place} refuses to connect (its code is {code})")),
        },
    }
}

/// Why a statement failed after the charge: which error a server raises first can depend on the rows.
fn after_the_charge(place: &str, trouble: &PostgresError) -> Error {
    let PostgresError::Refused(code) = trouble else { return while_running(place, trouble) };
    match code.as_str() {
        "57014" => while_running(place, trouble),
        _ => Error::machine(format!("{place} cannot run the statement; its log says why")),
    }
}

/// Why a statement failed; the server's own words are not repeated, because they quote values.
fn while_running(place: &str, trouble: &PostgresError) -> Error {
    match trouble {
        PostgresError::Away => Error::machine(format!("{place} was lost in the middle of a statement")),
        PostgresError::Door(why) => Error::input(format!("{place} cannot be used: {why}")),
        PostgresError::Refused(code) => match code.as_str() {
            "42501" => Error::input(format!("{place} does not let this user read the table (GRANT SELECT)")),
            "57014" => {
                Error::machine(format!("{place} took longer than the statement's timeout (timeout= in the address)"))
            }
            code => Error::machine(format!("{place} cannot run the statement (its code is {code})")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server's code for a failure was printed after the charge: whether rows overflow or are no numbers could be
    /// read off. Now there is one sentence for every code, but for the time.
    #[test]
    fn after_the_charge_no_code_is_told() {
        let sentence = |code: &str| after_the_charge("it", &PostgresError::Refused(code.to_string())).to_string();
        assert_eq!(sentence("22003"), sentence("22P02"));
        assert_eq!(sentence("22003"), sentence("42501"));
        assert!(!sentence("22012").contains("22012") && sentence("57014").contains("timeout"));
    }
}
