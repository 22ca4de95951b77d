//! A table on a PostgreSQL server: `postgres://user@host:port/database?table=schema.name`.
//!
//! There is no password in it: a project file is handed around.

use super::section::Spot;
use crate::error::Result;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where a table is on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// The role.
    pub user: String,
    /// The host's name or address, or the folder of a socket.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The database.
    pub database: String,
    /// The table's schema, if it is given.
    pub schema: Option<String>,
    /// The table's name in its schema.
    pub table: String,
    /// Whether it is spoken to behind a certificate that is verified.
    pub is_verified: bool,
    /// The file with the certificates to trust; none for those of the system.
    pub root_certificates: Option<PathBuf>,
    /// After how many seconds a statement is given up.
    pub timeout: u64,
    /// The file whose first line is the password.
    pub password_file: Option<PathBuf>,
}

/// The default timeout of a statement, in seconds.
const TIMEOUT: u64 = 3600;

impl Server {
    /// The address in a project file; none where it is no address of a server.
    pub(super) fn read(spot: &Spot, password_file: Option<&Spot>, folder: &Path) -> Result<Option<Self>> {
        let text = spot.text()?;
        let rest = match text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://")) {
            Some(rest) => rest,
            None if text.contains("://") => {
                return Err(spot.error(
                    "a source is a file, a folder or postgres://user@host:port/database?table=schema.name; for other \
                        databases see docs/how-to/remote-backends.md",
                ));
            }
            None if password_file.is_some() => {
                return Err(spot.error("password_file is for a PostgreSQL table, and this source is a file"));
            }
            None => return Ok(None),
        };
        let wrong = |what: &str| {
            spot.error(format!("{what}; write it as postgres://user@host:port/database?table=schema.name"))
        };
        let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = place.split_once('/').unwrap_or((place, ""));
        let (user, at) = authority.rsplit_once('@').ok_or_else(|| wrong("the address has no user"))?;
        if user.contains(':') {
            return Err(spot.error(
                "a project file must not hold a password: put it into PGPASSWORD, ~/.pgpass or the file that \
                    password_file names",
            ));
        }
        let (host, port) = match at.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
            Some((host, port)) => (host, port.parse().map_err(|_| wrong("the port is not a number"))?),
            None => (at, 5432),
        };
        let part = |text: &str| {
            decoded(text).ok_or_else(|| wrong("a % in the address is not followed by two hexadecimal digits"))
        };
        let mut server = Self {
            user: part(user)?,
            host: part(host.trim_start_matches('[').trim_end_matches(']'))?,
            port,
            database: part(database)?,
            schema: None,
            table: String::new(),
            is_verified: true,
            root_certificates: None,
            timeout: TIMEOUT,
            password_file: password_file.map(|spot| spot.text().map(|path| folder.join(path))).transpose()?,
        };
        let mut mode = String::new();
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let value = part(value)?;
            match name {
                "table" => match value.split_once('.') {
                    Some((schema, table)) => {
                        (server.schema, server.table) = (Some(schema.to_string()), table.to_string())
                    }
                    None => server.table = value,
                },
                "host" => server.host = value,
                "port" => server.port = value.parse().map_err(|_| wrong("the port is not a number"))?,
                "sslrootcert" => server.root_certificates = Some(folder.join(value)),
                "timeout" => {
                    let seconds = value.parse().ok().filter(|seconds| (1..=86_400).contains(seconds));
                    server.timeout = seconds.ok_or_else(|| wrong("the timeout must be from 1 to 86400 seconds"))?;
                }
                "sslmode" => mode = value,
                other => {
                    return Err(wrong(&format!(
                        "the address has an unknown '{other}'; known are table, host, port, sslmode, sslrootcert and \
                            timeout"
                    )));
                }
            }
        }
        // There is nothing weaker to ask for: beyond this machine a certificate is verified, on it nothing is seen by
        // others.
        server.is_verified = match mode.as_str() {
            "" => !server.is_here(),
            "disable" if server.is_here() => false,
            "verify-full" if !server.is_socket() => true,
            _ => {
                return Err(wrong("sslmode is verify-full, the default, or disable for a server on this machine"));
            }
        };
        for (what, text) in
            [("user", &server.user), ("host", &server.host), ("database", &server.database), ("table", &server.table)]
        {
            if text.is_empty() || text.contains('\0') {
                return Err(wrong(&format!("the address has no {what}")));
            }
        }
        Ok(Some(server))
    }

    /// Whether it is on this machine, by a socket or by the loopback.
    pub fn is_here(&self) -> bool {
        self.is_socket() || ["localhost", "127.0.0.1", "::1"].contains(&self.host.as_str())
    }

    /// Whether its host is the folder of a socket.
    pub fn is_socket(&self) -> bool {
        self.host.starts_with('/')
    }

    /// Whether another table is in the same database and can be joined with there.
    pub fn is_beside(&self, other: &Self) -> bool {
        (&self.host, self.port, &self.database, &self.user) == (&other.host, other.port, &other.database, &other.user)
    }

    /// The table as SQL names it.
    pub fn named(&self) -> String {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        match &self.schema {
            Some(schema) => format!("{}.{}", quoted(schema), quoted(&self.table)),
            None => quoted(&self.table),
        }
    }
}

/// The address without what may change while the table stays the same.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, database, table, .. } = self;
        let schema = self.schema.as_ref().map_or(String::new(), |schema| format!("{schema}."));
        write!(f, "postgres://{host}:{port}/{database}?table={schema}{table}")
    }
}

/// A text of an address, in which % and two digits stand for a byte.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}
