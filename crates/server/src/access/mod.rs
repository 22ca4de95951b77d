//! Who may ask: names, roles, and what is kept of their tokens, in a file beside the ledger that nobody else may read.
//!
//! A token is 256 random bits in 64 hexadecimal digits. It is shown once. The file keeps its SHA-256 and what SCRAM
//! needs of it; nobody finds a token of that length from these. So a reader of the file can log in as nobody, and
//! somebody who can write it can make themselves a curator: it belongs to the curator.

mod file;
mod scram;

pub use scram::ScramVerifier;

use scumble::noise::{BitSource, SecureSource};
use scumble_engine::project::is_name;
use scumble_engine::report::Report;
use scumble_engine::{Error, Result, nearest};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

pub(crate) use file::{AccessEntry, AccessList, prepare};
#[cfg(test)]
pub(crate) use scram::salted;
pub(crate) use scram::{ITERATIONS, hmac};

/// The name of the person who opens the link of a server's start; nobody else can have it.
pub const FIRST_CURATOR: &str = "curator";

/// What somebody may do; each role may do all that those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Sees published answers and the report.
    Viewer,
    /// Plans and asks, and sees their own history.
    Analyst,
    /// Everything.
    Curator,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Analyst, Self::Curator];

    fn word(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Analyst => "analyst",
            Self::Curator => "curator",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(word: &str) -> std::result::Result<Self, String> {
        let found = Self::ALL.into_iter().find(|role| role.word() == word);
        found.ok_or_else(|| format!("a role is curator, analyst or viewer, not '{word}'"))
    }
}

/// Somebody who is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Person {
    /// Their name.
    pub name: String,
    /// What they may do.
    pub role: Role,
}

/// Somebody as the file has them, without what is kept of their token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AccessRecord {
    /// Their name.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// When they were added.
    pub added: String,
    /// When their token was revoked, if it was.
    pub revoked: Option<String>,
}

/// Gives somebody access to the project of a ledger; gives their token, which is nowhere else.
pub fn add(ledger: &Path, name: &str, role: Role) -> Result<String> {
    if !is_name(name) || name == FIRST_CURATOR {
        return Err(Error::input(format!(
            "'{name}' cannot be a name here: give 1 to 63 of a-z, 0-9, '.', '_' and '-', a letter or digit first, and \
                not '{FIRST_CURATOR}', the server's first curator"
        )));
    }
    let token = token()?;
    file::change(ledger, |access| {
        let entry = AccessEntry::of(name, role, &token, Report::now(), access);
        let people = &mut access.people;
        if people.iter().any(|known| known.name == name && known.revoked.is_none()) {
            return Err(Error::input(format!(
                "'{name}' has access already: give another name, or 'scumble setup access revoke {name}' first"
            )));
        }
        people.retain(|known| known.name != name);
        people.push(entry);
        Ok(())
    })?;
    Ok(token)
}

/// Everybody who has or had access.
pub fn list(ledger: &Path) -> Result<Vec<AccessRecord>> {
    let people = AccessList::read(ledger)?.people;
    Ok(people
        .into_iter()
        .map(|one| AccessRecord { name: one.name, role: one.role, added: one.added, revoked: one.revoked })
        .collect())
}

/// Takes somebody's access away; a running server sees it at once.
pub fn revoke(ledger: &Path, name: &str) -> Result<()> {
    file::change(ledger, |access| {
        let people = &mut access.people;
        let names: Vec<String> = people.iter().map(|known| known.name.clone()).collect();
        match people.iter_mut().find(|known| known.name == name && known.revoked.is_none()) {
            Some(known) => {
                known.revoked = Some(Report::now());
                Ok(())
            }
            None => {
                let hint = nearest(name, names.iter().map(String::as_str)).filter(|near| *near != name);
                let hint = hint.map_or(String::new(), |near| format!(" (did you mean '{near}'?)"));
                Err(Error::input(format!("nobody called '{name}' has access{hint}")))
            }
        }
    })
}

/// 256 random bits in hexadecimal.
pub(crate) fn token() -> Result<String> {
    let mut bits = SecureSource::new()?;
    Ok((0..4).map(|_| format!("{:016x}", bits.next_u64())).collect())
}

#[cfg(test)]
mod tests;
