//! The plan: a public TOML file that everybody has, byte for byte. What it promises is the core's `SharedSum`.

use crate::error::{Error, Result};
use crate::key::PublicKey;
use scumble::calibrate::{ShiftNorms, scale_for_pure};
use scumble::parties::sum::{MOST_CELLS, OwnerContribution, SharedSum, Trust};
use scumble::quantity::Exact;
use scumble::{AttributeSet, Event, Scope};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::Path;
use toml::{Table, Value};

/// A server: where it is and which key it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its name in sentences.
    pub name: String,
    /// Host and port.
    pub address: String,
    /// Its key.
    pub key: PublicKey,
}

/// A party: which key it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// Its name in sentences.
    pub name: String,
    /// Its key.
    pub key: PublicKey,
}

/// Who adds up what, with how much noise.
#[derive(Debug, Clone)]
pub struct Plan {
    name: String,
    epsilon: Exact,
    scope: Scope,
    cells: Vec<String>,
    largest: u64,
    attributes: AttributeSet,
    servers: Vec<Server>,
    parties: Vec<Party>,
    sum: SharedSum,
    digest: [u8; 32],
}

/// No party has more in a cell, unless the plan says so.
const LARGEST: u64 = 1_000_000_000;
/// A server keeps a word for each cell of each party until the list is agreed on: 8 GB.
const MOST_WORDS: u64 = 1_000_000_000;

impl Plan {
    /// Reads a plan from a file.
    pub fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| Error::input(format!("{shown}: {error}")))?;
        Self::read(&text).map_err(|error| Error::input(format!("{shown}: {error}")))
    }

    /// Reads a plan.
    pub fn read(text: &str) -> Result<Self> {
        let table = parse(text)?;
        let known = [
            "name",
            "epsilon",
            "scope",
            "cells",
            "largest",
            "attributes",
            "colluding",
            "silent",
            "owner",
            "server",
            "party",
        ];
        only(&table, &known, "the plan")?;
        let name = file_name(&table)?;
        let epsilon = exact(&table, "epsilon")?;
        let scope = match table.get("scope").map(Value::as_str) {
            None | Some(Some("person")) => Scope::Person,
            Some(Some("presence")) => Scope::Presence,
            _ => {
                return Err(Error::input(
                    "scope must be \"person\" or \"presence\": what one unit of epsilon is about",
                ));
            }
        };
        let servers = entries(&table, "server")?.into_iter().map(server).collect::<Result<Vec<_>>>()?;
        let parties = entries(&table, "party")?.into_iter().map(party).collect::<Result<Vec<_>>>()?;
        different(&servers, &parties)?;
        let (colluding, silent) = (whole(&table, "colluding", "the plan")?, whole(&table, "silent", "the plan")?);
        let needed = "set how many parties may collude (colluding) and how many may not answer (silent)";
        let missing = || Error::input(needed);
        let (colluding, silent) = colluding.zip(silent).ok_or_else(missing)?;
        let trust = Trust::new(parties.len() as u64, colluding, silent, servers.len() as u64)?;
        let cells = cells(&table)?;
        let (number, owner) = (cells.len() as u64, owner(&table)?);
        // The epsilon of the plan is a decimal: its scale is that of the exact number, not of the f64 next to it.
        let scale = scale_for_pure(epsilon.clone(), ShiftNorms::of(&owner.moves(number)?, &scope))?;
        let sum = SharedSum::new(scale, number, owner, trust)?;
        let largest = whole(&table, "largest", "the plan")?.unwrap_or(LARGEST);
        sum.check_fits(largest)?;
        if (cells.len() as u64).saturating_mul(parties.len() as u64) > MOST_WORDS {
            return Err(Error::input(format!(
                "{} parties with {} cells need more than the {MOST_WORDS} numbers that a server keeps: use fewer \
                    cells",
                parties.len(),
                cells.len()
            )));
        }
        let attributes = attributes(&table)?;
        let digest = Sha256::digest(text.as_bytes()).into();
        Ok(Self { name, epsilon, scope, cells, largest, attributes, servers, parties, sum, digest })
    }

    /// What is added up, as a word for files and ledgers.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it may cost.
    pub fn epsilon(&self) -> &Exact {
        &self.epsilon
    }

    /// Whom that is about.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The names of the cells.
    pub fn cells(&self) -> &[String] {
        &self.cells
    }

    /// No party has more in a cell.
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// The attributes that the numbers are about.
    pub fn attributes(&self) -> &AttributeSet {
        &self.attributes
    }

    /// The servers.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The parties.
    pub fn parties(&self) -> &[Party] {
        &self.parties
    }

    /// The mathematics.
    pub fn sum(&self) -> &SharedSum {
        &self.sum
    }

    /// SHA-256 of the file: who has another one is refused.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// What an opening charges.
    pub fn events(&self) -> Result<Vec<Event>> {
        Ok(self.sum.events(&self.attributes)?)
    }

    /// The place of the server with this key.
    pub fn server_of(&self, key: PublicKey) -> Option<usize> {
        self.servers.iter().position(|server| server.key == key)
    }

    /// The place of the party with this key.
    pub fn party_of(&self, key: PublicKey) -> Option<usize> {
        self.parties.iter().position(|party| party.key == key)
    }
}

/// The table of a TOML text, or where it is none.
pub(crate) fn parse(text: &str) -> Result<Table> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        Error::input(format!("line {line}: {}", error.message().trim().replace('\n', "; ")))
    })
}

/// Refuses keys that mean nothing.
pub(crate) fn only(table: &Table, known: &[&str], place: &str) -> Result<()> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(Error::input(format!("{place} has an unknown key '{key}'; known are {}", known.join(", ")))),
        None => Ok(()),
    }
}

/// A word that can be part of a file's name.
pub(crate) fn file_name(table: &Table) -> Result<String> {
    let fits = |name: &&str| {
        let letters = name.bytes().all(|letter| letter.is_ascii_alphanumeric() || b"-_.".contains(&letter));
        letters && (1..=100).contains(&name.len()) && !name.starts_with(['.', '-'])
    };
    let name = table.get("name").and_then(Value::as_str).filter(fits);
    name.map(str::to_string).ok_or_else(|| {
        Error::input("name must have up to 100 letters, digits, '-', '_' and '.': outputs are named after it")
    })
}

/// A number as it is written: 0.1 is a tenth.
pub(crate) fn exact(table: &Table, key: &str) -> Result<Exact> {
    let text = match table.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Integer(number)) => number.to_string(),
        // The shortest text that reads as this number is what was written, up to seventeen digits.
        Some(Value::Float(number)) if number.is_finite() => format!("{number}"),
        _ => return Err(Error::input(format!("{key} must be a number above 0"))),
    };
    let number = text.parse::<Exact>()?;
    if number <= Exact::zero() {
        Err(Error::input(format!("{key} must be a number above 0, not {text}")))
    } else {
        Ok(number)
    }
}

fn whole(table: &Table, key: &str, place: &str) -> Result<Option<u64>> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::Integer(number)) if *number >= 0 => Ok(Some(number.unsigned_abs())),
        Some(other) => Err(Error::input(format!("{key} of {place} must be a whole number of at least 0, not {other}"))),
    }
}

fn cells(table: &Table) -> Result<Vec<String>> {
    let wrong = || Error::input("cells must be how many numbers each party has, or a list of their names");
    match table.get("cells") {
        Some(Value::Integer(number)) => match u64::try_from(*number) {
            Ok(number) if (1..=MOST_CELLS).contains(&number) => Ok((0..number).map(|cell| cell.to_string()).collect()),
            _ => Err(Error::input(format!("cells must be from 1 to {MOST_CELLS}, not {number}"))),
        },
        Some(Value::Array(names)) => {
            let names: Option<Vec<String>> = names.iter().map(|name| name.as_str().map(str::to_string)).collect();
            let names = names.filter(|names| !names.is_empty()).ok_or_else(wrong)?;
            let mut seen = BTreeSet::new();
            if let Some(name) = names.iter().find(|name| name.trim().is_empty() || !seen.insert(name.as_str())) {
                return Err(Error::input(format!("cells: '{name}' is empty or listed twice")));
            }
            Ok(names)
        }
        _ => Err(wrong()),
    }
}

fn owner(table: &Table) -> Result<OwnerContribution> {
    let missing = || {
        Error::input(
            "[owner] must say what one owner has in all parties' numbers together: in how many cells (cells), and how much in each (by)",
        )
    };
    let owner = table.get("owner").and_then(Value::as_table).ok_or_else(missing)?;
    only(owner, &["cells", "by"], "[owner]")?;
    let (cells, by) = (whole(owner, "cells", "[owner]")?, whole(owner, "by", "[owner]")?);
    cells.zip(by).map(|(cells, by)| OwnerContribution { cells, by }).ok_or_else(missing)
}

pub(crate) fn attributes(table: &Table) -> Result<AttributeSet> {
    let names = table.get("attributes").and_then(Value::as_array);
    let names: Option<Vec<&str>> = names.and_then(|names| names.iter().map(Value::as_str).collect());
    let names = names.filter(|names| !names.is_empty()).ok_or_else(|| {
        Error::input(
            "attributes must list what the numbers are about, such as [\"disease\"]: the ledger counts by attribute",
        )
    })?;
    Ok(AttributeSet::new(names)?)
}

/// The tables [[key]], each with its place in words.
fn entries<'a>(table: &'a Table, key: &str) -> Result<Vec<(String, &'a Table)>> {
    let wrong = || Error::input(format!("there must be a [[{key}]] for each {key}"));
    let list = table.get(key).and_then(Value::as_array).ok_or_else(wrong)?;
    let entry = |(place, entry): (usize, &'a Value)| {
        entry.as_table().map(|entry| (format!("[[{key}]] number {}", place + 1), entry)).ok_or_else(wrong)
    };
    list.iter().enumerate().map(entry).collect()
}

fn server((place, table): (String, &Table)) -> Result<Server> {
    only(table, &["name", "address", "key"], &place)?;
    let Party { name, key } = named(&place, table)?;
    Ok(Server { name, address: address(&place, table)?, key })
}

fn party((place, table): (String, &Table)) -> Result<Party> {
    only(table, &["name", "key"], &place)?;
    named(&place, table)
}

pub(crate) fn address(place: &str, table: &Table) -> Result<String> {
    let is_address = |text: &&str| {
        text.rsplit_once(':')
            .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0))
    };
    let address = table.get("address").and_then(Value::as_str).filter(is_address);
    address
        .map(str::to_string)
        .ok_or_else(|| Error::input(format!("{place} needs an address with host and port, such as \"10.0.0.7:7100\"")))
}

pub(crate) fn named(place: &str, table: &Table) -> Result<Party> {
    let name = table.get("name").and_then(Value::as_str);
    let name = name.filter(|name| !name.trim().is_empty() && name.len() <= 100 && !name.contains(char::is_control));
    let name = name.ok_or_else(|| Error::input(format!("{place} needs a name of up to 100 letters")))?;
    let key = table.get("key").and_then(Value::as_str).unwrap_or_default();
    let key = key.parse::<PublicKey>().map_err(|error| Error::input(format!("{place} ('{name}'): {error}")))?;
    Ok(Party { name: name.to_string(), key })
}

/// One name and one key for each: who has two roles would know too much, and who has one key twice would be counted
/// twice.
fn different(servers: &[Server], parties: &[Party]) -> Result<()> {
    let all = servers.iter().map(|server| (&server.name, server.key));
    let (mut names, mut keys) = (BTreeSet::new(), BTreeSet::new());
    for (name, key) in all.chain(parties.iter().map(|party| (&party.name, party.key))) {
        if !names.insert(name) {
            return Err(Error::input(format!(
                "the name '{name}' is listed twice: give servers and parties different names"
            )));
        }
        if !keys.insert(key) {
            return Err(Error::input(format!(
                "the key of '{name}' is listed twice: each server and each party has its own"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
