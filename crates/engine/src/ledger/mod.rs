//! What has been published, durably, and what that adds up to. The format and its reasons: `docs/ledger-format.md`.
//!
//! A release asks twice: [`Ledger::reserve`] before any noise is drawn, [`Ledger::commit`] when the outputs are in place. There is
//! no way to take a charge back.

mod chain;
mod entry;
mod path;

pub(crate) use chain::hex;
pub use chain::{GENESIS, Head};
pub use entry::{Charge, Proposal, State};
pub(crate) use path::unusable_name;

use crate::error::{Error, Result};
use crate::time;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

const APPLICATION: i32 = 0x5343_4D42;
const VERSION: i32 = 1;
/// What SQLite calls a transaction that is on the disk when it returns.
const SYNCHRONOUS_FULL: i32 = 2;
/// How long to wait for another process's transaction.
const PATIENCE: Duration = Duration::from_secs(60);

/// An open ledger.
pub struct Ledger {
    connection: Connection,
    path: PathBuf,
    /// Which file it was when it was opened.
    identity: Option<(u64, u64)>,
    /// After an I/O error nothing more is believed.
    doubtful: bool,
}

/// The proof that a charge is durable: noise may be drawn. Made by [`Ledger::reserve`] only, and used up by the commit.
#[derive(Debug)]
pub struct Receipt {
    sequence: u64,
    head: Head,
}

impl Receipt {
    /// The reservation's place in the ledger.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The head of the chain after the reservation.
    pub fn head(&self) -> &Head {
        &self.head
    }
}

impl Ledger {
    /// Opens a ledger, making it if there is none.
    pub fn open_or_create(path: &Path) -> Result<Self> {
        let mut ledger = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        ledger.prepare()?;
        Ok(ledger)
    }

    /// Opens a ledger that is there; none if there is no file. Nothing is made.
    pub fn open_existing(path: &Path) -> Result<Option<Self>> {
        if path::unusable_name(path).is_none() && std::fs::symlink_metadata(path).is_err() {
            return Ok(None);
        }
        let mut ledger = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        ledger.prepare()?;
        Ok(Some(ledger))
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Self> {
        let path = path::resolved(path)?;
        let before = path::identity(&path);
        let connection = Connection::open_with_flags(&path, flags).map_err(|error| trouble(&path, &error))?;
        connection.busy_timeout(PATIENCE).map_err(|error| trouble(&path, &error))?;
        let identity = path::identity(&path);
        if before.is_some() && before != identity {
            return Err(replaced(&path));
        }
        Ok(Self { connection, identity, path, doubtful: false })
    }

    /// Checks that this is a ledger of a version that we know, or makes an empty file into one.
    fn prepare(&mut self) -> Result<()> {
        // The tables first: they and the application's number are made in one transaction, so whoever sees the tables of another
        // process that is just making the ledger sees the number afterwards. The other way round, a new ledger looked foreign.
        let tables = self.one_number("SELECT count(*) FROM sqlite_master")?;
        let (application, version) = (self.number("application_id")?, self.number("user_version")?);
        if application != APPLICATION && (application != 0 || tables != 0) {
            return Err(Error::input(format!("{} is not a ledger of scumble", self.path.display())));
        }
        if version > VERSION {
            let sentence = "was written by a newer scumble; use that one";
            return Err(Error::input(format!("{} {sentence}", self.path.display())));
        }
        self.connection.pragma_update(None, "journal_mode", "WAL").map_err(|error| trouble(&self.path, &error))?;
        self.connection.pragma_update(None, "synchronous", "FULL").map_err(|error| trouble(&self.path, &error))?;
        if self.number("synchronous")? != SYNCHRONOUS_FULL {
            return Err(Error::machine(format!("the ledger {} cannot be written durably", self.path.display())));
        }
        if application == 0 { self.create() } else { Ok(()) }
    }

    fn create(&mut self) -> Result<()> {
        let schema = format!(
            "BEGIN IMMEDIATE;
             CREATE TABLE IF NOT EXISTS entry (sequence INTEGER PRIMARY KEY, body TEXT NOT NULL, hash BLOB NOT NULL) STRICT;
             CREATE TABLE IF NOT EXISTS head (one INTEGER PRIMARY KEY CHECK (one = 1), entries INTEGER NOT NULL,
                                              hash BLOB NOT NULL) STRICT;
             INSERT OR IGNORE INTO head VALUES (1, 0, zeroblob(32));
             PRAGMA application_id = {APPLICATION};
             PRAGMA user_version = {VERSION};
             COMMIT;"
        );
        self.connection.execute_batch(&schema).map_err(|error| trouble(&self.path, &error))
    }

    fn number(&self, pragma: &str) -> Result<i32> {
        self.connection.pragma_query_value(None, pragma, |row| row.get(0)).map_err(|error| trouble(&self.path, &error))
    }

    fn one_number(&self, query: &str) -> Result<i64> {
        self.connection.query_row(query, [], |row| row.get(0)).map_err(|error| trouble(&self.path, &error))
    }

    /// The head: how many entries there are, and the hash of the last. The chain is verified first.
    pub fn verify(&self) -> Result<Head> {
        self.bodies().map(|(_, head)| head)
    }

    /// Whether `hash` (hexadecimal, as a report prints it) is the head, or was the head once.
    pub fn knows_head(&self, hash: &str) -> Result<bool> {
        let (bodies, _) = self.bodies()?;
        Ok(chain::heads(&bodies).any(|head| head.hex().eq_ignore_ascii_case(hash)))
    }

    /// What has been charged, in order, with what became of it. The chain is verified first.
    pub fn charges(&self) -> Result<Vec<Charge>> {
        let (bodies, _) = self.bodies()?;
        entry::charges(&bodies).map_err(|sentence| self.damaged(&sentence))
    }

    /// All bodies in order, verified.
    fn bodies(&self) -> Result<(Vec<String>, Head)> {
        read(&self.connection).map_err(|error| self.explain(error))
    }

    /// Every entry with its hash, as JSON, for auditors.
    pub fn export(&self) -> Result<Value> {
        let (bodies, head) = self.bodies()?;
        let mut entries = Vec::new();
        for (body, link) in bodies.iter().zip(chain::heads(&bodies).skip(1)) {
            let content: Value = serde_json::from_str(body).map_err(|_| self.damaged("an entry is not JSON"))?;
            entries.push(json!({ "sequence": link.entries, "hash": link.hex(), "body": content, "text": body }));
        }
        Ok(json!({ "version": VERSION, "entries": entries, "head": head.hex() }))
    }

    /// Makes a charge durable, if `admit` agrees when it sees all that has been charged.
    ///
    /// # Guarantee
    /// When this returns a receipt, the charge survives a crash of the process and of the machine, and no other process has charged
    /// anything between what `admit` saw and this charge. When it returns an error, nothing was charged.
    pub fn reserve(&mut self, proposal: &Proposal, admit: impl FnOnce(&[Charge]) -> Result<()>) -> Result<Receipt> {
        let body = proposal.body(&time::now());
        let head = self.append(body, |bodies| {
            let charges = entry::charges(bodies).map_err(Error::machine)?;
            admit(&charges)
        })?;
        Ok(Receipt { sequence: head.entries, head })
    }

    /// Writes down that the outputs of a reservation are in place.
    pub fn commit(&mut self, receipt: Receipt, output_digest: &str) -> Result<Head> {
        let body = json!({ "entry": "commit", "time": time::now(), "of": receipt.sequence, "output": output_digest });
        self.append(body.to_string(), |_| Ok(()))
    }

    /// Appends one entry in a transaction that excludes other writers from the check on.
    fn append(&mut self, body: String, check: impl FnOnce(&[String]) -> Result<()>) -> Result<Head> {
        if self.doubtful {
            let sentence = "had an error before; nothing more is written to it by this process";
            return Err(Error::machine(format!("the ledger {} {sentence}", self.path.display())));
        }
        let result = append_in_transaction(&mut self.connection, &body, check);
        let head = result.map_err(|error| {
            self.doubtful = matches!(error, Trouble::Store(_) | Trouble::Damaged(_));
            self.explain(error)
        })?;
        // An entry counts only in the file that the next process will find.
        if path::identity(&self.path) != self.identity {
            self.doubtful = true;
            return Err(replaced(&self.path));
        }
        Ok(head)
    }

    fn explain(&self, error: Trouble) -> Error {
        match error {
            Trouble::Store(error) => trouble(&self.path, &error),
            Trouble::Damaged(sentence) => self.damaged(&sentence),
            Trouble::Refused(error) => error,
        }
    }

    fn damaged(&self, sentence: &str) -> Error {
        Error::machine(format!(
            "the ledger {} was changed by something else than scumble: {sentence}",
            self.path.display()
        ))
    }
}

/// What can go wrong in a transaction.
enum Trouble {
    Store(rusqlite::Error),
    Damaged(String),
    Refused(Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error)
    }
}

fn append_in_transaction(
    connection: &mut Connection,
    body: &str,
    check: impl FnOnce(&[String]) -> Result<()>,
) -> std::result::Result<Head, Trouble> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (bodies, head) = read(&transaction)?;
    check(&bodies).map_err(Trouble::Refused)?;
    let next = head.followed_by(body);
    let sequence = i64::try_from(next.entries).unwrap_or(i64::MAX);
    transaction.execute("INSERT INTO entry VALUES (?1, ?2, ?3)", (sequence, body, next.hash.as_slice()))?;
    transaction.execute("UPDATE head SET entries = ?1, hash = ?2", (sequence, next.hash.as_slice()))?;
    transaction.commit()?;
    Ok(next)
}

/// Reads and verifies everything.
fn read(connection: &Connection) -> std::result::Result<(Vec<String>, Head), Trouble> {
    let mut statement = connection.prepare("SELECT sequence, body, hash FROM entry ORDER BY sequence")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let mut stored = Vec::new();
    for row in rows {
        stored.push(row?);
    }
    let (entries, hash): (i64, Vec<u8>) =
        connection
            .query_row("SELECT entries, hash FROM head WHERE one = 1", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    chain::verify(stored, entries, &hash).map_err(Trouble::Damaged)
}

fn replaced(path: &Path) -> Error {
    let sentence = "was moved, removed or replaced by something else while it was in use: nothing is released with it";
    Error::machine(format!("the ledger {} {sentence}", path.display()))
}

fn trouble(path: &Path, error: &rusqlite::Error) -> Error {
    use rusqlite::ErrorCode;
    let place = path.display();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => Error::input(format!("{place} is not a ledger of scumble")),
        Some(ErrorCode::CannotOpen) => path::cannot_open(path),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::machine(format!("the ledger {place} has been in use by another process for a minute; try again"))
        }
        _ => Error::machine(format!("the ledger {place} cannot be used ({error})")),
    }
}
