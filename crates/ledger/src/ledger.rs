//! An open ledger: one file and its operations.
//!
//! A release calls it three times: [`Ledger::reserve`] before any row is read, [`Ledger::drawn`] before anything that
//! was drawn leaves the process, [`Ledger::commit`] when the outputs are in place. Each needs the proof that the one
//! before it gave ([`Receipt`], [`Pass`]). No charge can be taken back; one that stopped before
//! the second call can be resumed. The time of a reservation does not depend on how many there are ([`LedgerState`]).

use crate::asked::{Remark, RemarkContent};
use crate::body::{BudgetEntry, Entry, TablesEntry};
use crate::budget::{Budget, HeldLimits, Sums};
use crate::chain::{self, Head};
use crate::declaration::joined;
use crate::entry::{self, Charge, OutputDigests, Proposal, ReleaseContext};
use crate::error::{Error, Result};
use crate::field::Field;
use crate::life::ChargeProgress;
use crate::receipt::{Pass, Receipt};
use crate::standing::LedgerState;
use crate::store::{self, Reservation, StoreError, UndrawnCharge};
use crate::{file, path, time};
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use scumble::noise::{BitSource, SecureSource};
use scumble::scope::AttributeSet;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const APPLICATION: i32 = 0x5343_4D42;
const VERSION: i32 = 7;
/// What SQLite calls a transaction that is on the disk when it returns.
const SYNCHRONOUS_FULL: i32 = 2;
/// How long to wait for another process's transaction.
const PATIENCE: Duration = Duration::from_secs(60);
/// And after this long we try again where SQLite itself does not wait.
const MOMENT: Duration = Duration::from_millis(5);

/// An open ledger.
pub struct Ledger {
    connection: Connection,
    path: PathBuf,
    /// Which file it was when it was opened.
    identity: Option<(u64, u64)>,
    /// After an I/O error nothing more is believed.
    doubtful: bool,
}

/// Which way a budget changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BudgetChange {
    /// Some limit allows a larger loss than before.
    Raise,
    /// No limit does.
    Lower,
}

/// Limits that were in force from some entry on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BudgetInForce {
    /// The entry's place in the ledger.
    pub sequence: u64,
    /// When they were written down.
    pub time: Option<String>,
    /// The limits.
    pub limits: HeldLimits,
    /// Why they are others than before; the first ones need no reason.
    pub because: Option<String>,
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
        if file::unusable_name(path).is_none() && std::fs::symlink_metadata(path).is_err() {
            return Ok(None);
        }
        let mut ledger = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        ledger.prepare()?;
        Ok(Some(ledger))
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Self> {
        let path = path::resolved(path)?;
        let before = file::identity(&path);
        let connection = Connection::open_with_flags(&path, flags).map_err(|error| trouble(&path, &error))?;
        connection.busy_timeout(PATIENCE).map_err(|error| trouble(&path, &error))?;
        let identity = file::identity(&path);
        if before.is_some() && before != identity {
            return Err(replaced(&path));
        }
        Ok(Self { connection, identity, path, doubtful: false })
    }

    /// Changes to WAL. SQLite does not wait here for another process that is just doing the same, however long it may
    /// wait elsewhere: so we do.
    fn use_wal(&self) -> Result<()> {
        let begun = Instant::now();
        loop {
            match self.connection.pragma_update(None, "journal_mode", "WAL") {
                Ok(()) => return Ok(()),
                Err(error) if is_busy(&error) && begun.elapsed() < PATIENCE => std::thread::sleep(MOMENT),
                Err(error) => return Err(trouble(&self.path, &error)),
            }
        }
    }

    /// Checks that this is a ledger of a version that we know, or makes an empty file into one.
    fn prepare(&mut self) -> Result<()> {
        // The tables first: they and the application's number are made in one transaction, so a process that sees the
        // tables of another process that is just making the ledger sees the number afterwards. The other way round, a
        // new ledger looked foreign.
        let tables = self.one_number("SELECT count(*) FROM sqlite_master")?;
        let (application, version) = (self.number("application_id")?, self.number("user_version")?);
        if application != APPLICATION && (application != 0 || tables != 0) {
            return Err(Error::input(format!("{} is not a ledger of scumble", self.path.display())));
        }
        if version > VERSION {
            let sentence = "was written by a newer scumble; use that one";
            return Err(Error::input(format!("{} {sentence}", self.path.display())));
        }
        self.use_wal()?;
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

    /// The head: how many entries there are, and the hash of the last. The last entry is verified, those before it are
    /// not.
    pub fn head(&self) -> Result<Head> {
        self.read(store::end)
    }

    /// The head, after everything was verified: the chain, what stands in it, and its sums.
    pub fn verify(&self) -> Result<Head> {
        self.read(store::history).map(|(_, head)| head)
    }

    /// Whether `hash` (hexadecimal, as a report prints it) is the head, or was the head once.
    pub fn knows_head(&self, hash: &str) -> Result<bool> {
        let (bodies, _) = self.bodies()?;
        Ok(chain::heads(&bodies).any(|head| head.hex().eq_ignore_ascii_case(hash)))
    }

    /// The first of these heads that is not in the chain, at its place.
    pub fn first_unknown<'a>(&self, heads: impl IntoIterator<Item = &'a Head>) -> Result<Option<&'a Head>> {
        let (bodies, _) = self.bodies()?;
        let chain: Vec<Head> = chain::heads(&bodies).collect();
        let known = |head: &Head| usize::try_from(head.entries).ok().and_then(|index| chain.get(index)) == Some(head);
        Ok(heads.into_iter().find(|head| !known(head)))
    }

    /// What has been charged, in order, with what became of it. Everything is verified first.
    pub fn charges(&self) -> Result<Vec<Charge>> {
        self.read(store::history).map(|(history, _)| history.charges)
    }

    /// The last charges, oldest first, whatever is before them.
    pub fn recent(&self, number: usize) -> Result<Vec<Charge>> {
        self.read(|connection| store::recent(connection, number))
    }

    /// The last charge of this name whose outputs are in place, with the marks of the files that it read, by table.
    pub fn last_committed(&self, release: &str) -> Result<Option<(Charge, BTreeMap<String, String>)>> {
        self.read(|connection| store::last_committed(connection, release))
    }

    /// What the charges add up to, with a sum for each of `sets`, and the head.
    pub fn standing(&self, sets: &[AttributeSet]) -> Result<(LedgerState, Head)> {
        self.read(|connection| store::standing(connection, sets))
    }

    /// Whether the text `"kind":"…"` stands anywhere: without it there is no charge of that kind.
    pub fn mentions(&self, kind: &str) -> Result<bool> {
        let query = "SELECT EXISTS (SELECT 1 FROM entry WHERE instr(body, ?1))";
        let text = format!("\"kind\":\"{kind}\"");
        self.connection.query_row(query, [text], |row| row.get(0)).map_err(|error| trouble(&self.path, &error))
    }

    /// All reservations of a release, in order.
    pub fn reservations(&self, release: &str) -> Result<Vec<Reservation>> {
        self.read(|connection| store::reservations(connection, release))
    }

    /// The one-time numbers of the jobs with this digest that were charged, in order.
    pub fn jobs(&self, digest: &str) -> Result<Vec<String>> {
        self.read(|connection| store::jobs(connection, digest))
    }

    /// The receipt of an existing reservation, for a caller that has checked that it may go on with it. What may be
    /// seen is for [`Ledger::drawn`] to decide.
    pub fn resumed(&self, head: &Head) -> Result<Receipt> {
        let reserve = self.read(|connection| store::reserved(connection, head))?;
        let time = reserve.time.text().unwrap_or_default();
        Ok(Receipt { sequence: head.entries, head: head.clone(), time })
    }

    /// The charges of a release whose draws cannot have been seen, newest first.
    pub fn undrawn(&self, release: &str) -> Result<Vec<UndrawnCharge>> {
        self.read(|connection| store::undrawn(connection, release))
    }

    /// Reads at one moment, whatever other processes write meanwhile.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> std::result::Result<T, StoreError>) -> Result<T> {
        let moment = self.connection.unchecked_transaction().map_err(|error| trouble(&self.path, &error))?;
        read(&moment).map_err(|error| self.explain(error))
    }

    /// All bodies in order, verified.
    fn bodies(&self) -> Result<(Vec<String>, Head)> {
        self.read(store::bodies)
    }

    /// Every entry with its hash, as JSON, for auditors.
    pub fn export(&self) -> Result<Value> {
        let (bodies, head) = self.bodies()?;
        let mut entries = Vec::new();
        for (body, link) in bodies.iter().zip(chain::heads(&bodies).skip(1)) {
            let content: Value = serde_json::from_str(body).map_err(|_| self.damaged("an entry is not JSON"))?;
            entries.push(json!({ "sequence": link.entries, "hash": link.hex(), "body": content, "text": body }));
        }
        Ok(json!({ "version": self.number("user_version")?, "entries": entries, "head": head.hex() }))
    }

    /// Makes a charge durable, if `admit` agrees when it sees what has been charged, and if the tables are what they
    /// were.
    ///
    /// # Guarantee
    /// A request's own key is charged for once at most. When this returns a receipt, the charge survives a crash of the
    /// process and of the machine, and no other process has charged anything between what `admit` saw and this charge.
    /// When it returns an error, nothing was charged, or it was charged to a file that somebody has put away since.
    pub fn reserve<E: From<Error>>(
        &mut self,
        proposal: &Proposal,
        admit: impl FnOnce(&LedgerState) -> std::result::Result<(), E>,
    ) -> std::result::Result<Receipt, E> {
        let folder = self.path.parent().unwrap_or(Path::new("/")).to_path_buf();
        let (nonce, time) = (nonce()?, time::now());
        let mut denied = None;
        let head = self.append(|entries| {
            let (mut standing, head) = store::standing(entries, &proposal.about.sets)?;
            let asked = proposal.about.asked.as_ref();
            let limited = asked.filter(|_| proposal.about.is_limited);
            standing.own = limited.map(|asked| store::charged_to(entries, &asked.by)).transpose()?;
            // A search for the key before this transaction may have been too early: another process may have charged
            // since.
            if let Some(key) = asked.and_then(|asked| asked.key.as_ref())
                && store::keyed(entries, key)?.is_some()
            {
                return Err(StoreError::Refused(Error::input("a request with this key was charged before")));
            }
            if let Err(error) = admit(&standing) {
                denied = Some(error);
                return Err(StoreError::Refused(Error::input("the charge was not admitted")));
            }
            let head = noted(entries, head, &mut standing, proposal, &folder)?;
            standing.charge(&proposal.kind, &proposal.events);
            store::append(entries, &head, &proposal.entry(&time, nonce, &standing))
        });
        // A refusal by `admit` has an error of its own.
        let head = head.map_err(|error| denied.unwrap_or_else(|| error.into()))?;
        Ok(Receipt { sequence: head.entries, head, time })
    }

    /// Writes down that something was drawn for a charge and is about to leave the process; none where another process
    /// has written that before.
    ///
    /// # Guarantee
    /// It gives a pass once at most for each reservation, whichever processes are at work on it: of all that was drawn
    /// for a charge, one draw is seen. A process that gets none throws its draw away.
    #[must_use = "what was drawn may be seen only with the pass"]
    pub fn drawn(&mut self, receipt: Receipt) -> Result<Option<Pass>> {
        self.passed(receipt, None)
    }

    /// The same of an answer of a round ([`DrawMode::Each`](crate::DrawMode::Each)): its number in the round, and the
    /// digest of the state that it leaves.
    ///
    /// # Guarantee
    /// It gives a pass once at most for each number.
    #[must_use = "what was drawn may be seen only with the pass"]
    pub fn drawn_answer(&mut self, receipt: Receipt, answer: u64, state: &str) -> Result<Option<Pass>> {
        self.passed(receipt, Some((answer, state)))
    }

    fn passed(&mut self, receipt: Receipt, answer: Option<(u64, &str)>) -> Result<Option<Pass>> {
        let entry = entry::drawn(receipt.sequence, time::now(), nonce()?, answer);
        let head = self.followed(&receipt.head, |_| Some(entry))?;
        Ok(head.map(|head| Pass { receipt, head }))
    }

    /// Goes on with a round: writes down that rows are about to be read for its next answer. None where `state` is not
    /// the digest of the state that its last answer left, or where rows were read for the next one before: then the
    /// round is over, and nothing of it is asked again.
    ///
    /// # Guarantee
    /// It gives a receipt once at most for each number of an answer, whichever processes ask and whatever was put back
    /// beside the ledger.
    pub fn reading(&mut self, round: &Head, state: &str) -> Result<Option<Receipt>> {
        let receipt = self.resumed(round)?;
        let next = |life: &ChargeProgress| {
            let is_left = life.states().last().is_some_and(|last| last == state);
            is_left.then(|| entry::reading(round.entries, time::now(), life.answers() + 1))
        };
        Ok(self.followed(round, next)?.map(|_| receipt))
    }

    /// Appends an entry to the life of a charge, in a transaction that looks whether it may follow; none where it may
    /// not.
    fn followed(&mut self, charge: &Head, next: impl FnOnce(&ChargeProgress) -> Option<Entry>) -> Result<Option<Head>> {
        let mut follows = false;
        let head = self.append(|entries| {
            let mut life = store::life(entries, charge)?;
            let head = store::end(entries)?;
            let entry = next(&life).filter(|entry| life.follow(entry));
            follows = entry.is_some();
            entry.map_or(Ok(head.clone()), |entry| store::append(entries, &head, &entry))
        })?;
        Ok(follows.then_some(head))
    }

    /// Writes down that the outputs of a reservation are in place.
    pub fn commit(&mut self, pass: Pass, output: impl Into<OutputDigests>) -> Result<Head> {
        let entry = output.into().entry(pass.sequence(), time::now());
        self.append(|entries| store::append(entries, &store::end(entries)?, &entry))
    }

    /// Writes down that somebody asked, where it cost nothing: it was refused, or its answer was there. Nothing is read
    /// or charged.
    pub fn remark(&mut self, remarked: &RemarkContent) -> Result<Head> {
        self.append(|entries| {
            let head = store::end(entries)?;
            let since = store::before_remarks(entries, &head)?;
            store::append(entries, &head, &remarked.entry(time::now(), &since))
        })
    }

    /// All charges and all remarks, in order. Everything is verified first.
    pub fn history(&self) -> Result<(Vec<Charge>, Vec<Remark>)> {
        self.read(store::history).map(|(history, _)| (history.charges, history.remarks))
    }

    /// What was charged for somebody, all of it.
    pub fn charged_to(&self, name: &str) -> Result<Sums> {
        self.read(|connection| store::charged_to(connection, name))
    }

    /// The newest charge for a question whose outputs are in place.
    pub fn answered(&self, question: &str) -> Result<Option<Charge>> {
        self.read(|connection| store::answered(connection, question))
    }

    /// The names of the releases that were charged for an analyst's query and whose draws cannot have been seen, newest
    /// first.
    pub fn unanswered(&self, question: &str, by: &str) -> Result<Vec<String>> {
        let found = self.read(|connection| store::unanswered(connection, question, by))?;
        Ok(found.into_iter().map(|undrawn| undrawn.charge.release).collect())
    }

    /// The charge that a request with this key led to: its own, or that of the answer that it was given.
    pub fn keyed(&self, key: &str) -> Result<Option<Charge>> {
        self.read(|connection| store::keyed(connection, key))
    }

    /// Writes down a project's first budget, if it has one and the ledger holds none; gives the head if it did. Nothing
    /// is read or charged, and no reason is needed: first limits allow no larger loss.
    ///
    /// # Guarantee
    /// From here on the limits change by an entry with a reason alone, whether or not anything is ever charged under
    /// these.
    pub fn first_budget(&mut self, budget: &Budget) -> Result<Option<Head>> {
        let is_none = |standing: &LedgerState| standing.budget.at.is_none();
        if *budget == Budget::default() || !is_none(&self.standing(&[])?.0) {
            return Ok(None);
        }
        let mut wrote = false;
        let head = self.append(|entries| {
            let (standing, head) = store::standing(entries, &[])?;
            // Somebody else may have been first.
            wrote = is_none(&standing);
            if wrote { store::append(entries, &head, &budget_entry(&budget.in_force(), None)) } else { Ok(head) }
        })?;
        Ok(wrote.then_some(head))
    }

    /// Writes down another budget, and why. Nothing is read or charged.
    ///
    /// # Guarantee
    /// What was charged before was within the limits that stood in the chain then; what comes after is within the new
    /// ones. A reader of the ledger sees when somebody allowed more than they had promised, and the reason that they
    /// gave.
    pub fn change_budget(&mut self, budget: &Budget, because: &str, change: BudgetChange) -> Result<Head> {
        self.append(|entries| {
            let (standing, head) = store::standing(entries, &[])?;
            // Where no entry holds a budget, there is no limit at all.
            let before = standing.budget.value.budget();
            let is_first = standing.budget.at.is_none();
            let refused = |sentence: &str| Err(StoreError::Refused(Error::input(sentence)));
            match before {
                Some(before) if before == budget && is_first => {
                    return refused(
                        "neither the ledger nor the project file has a budget: write limits into [budget] first",
                    );
                }
                Some(before) if before == budget => {
                    return refused(
                        "the ledger has the project file's budget already: there is nothing to change; \
                        write new limits into [budget] first",
                    );
                }
                // First limits are neither higher nor lower than others.
                _ if is_first => {}
                Some(before) if change == BudgetChange::Raise && !budget.allows_more_than(before) => {
                    return refused("no limit of the new budget is higher than the ledger's: use scumble budget lower");
                }
                before
                    if change == BudgetChange::Lower && before.is_none_or(|before| budget.allows_more_than(before)) =>
                {
                    return refused(
                        "some limit of the new budget is higher than the ledger's, or gone: use scumble \
                        budget raise",
                    );
                }
                _ => {}
            }
            store::append(entries, &head, &budget_entry(&budget.in_force(), Some(because)))
        })
    }

    /// Every budget that was in force, in order.
    pub fn budgets(&self) -> Result<Vec<BudgetInForce>> {
        let (bodies, _) = self.bodies()?;
        let budget = |(body, sequence): (&String, u64)| match Entry::read(body, sequence).ok()? {
            Entry::Budget(entry) => Some(BudgetInForce {
                sequence,
                time: entry.time.text(),
                limits: HeldLimits::read(&entry.limits),
                because: entry.because.text(),
            }),
            _ => None,
        };
        Ok(bodies.iter().zip(1..).filter_map(budget).collect())
    }

    /// Appends in a transaction that excludes other writers from its first reading on.
    fn append(
        &mut self,
        write: impl FnOnce(&Transaction<'_>) -> std::result::Result<Head, StoreError>,
    ) -> Result<Head> {
        if self.doubtful {
            let sentence = "had an error before; nothing more is written to it by this process";
            return Err(Error::machine(format!("the ledger {} {sentence}", self.path.display())));
        }
        let result = in_transaction(&mut self.connection, write);
        let head = result.map_err(|error| {
            self.doubtful = matches!(error, StoreError::Store(_) | StoreError::Damaged(_));
            self.explain(error)
        })?;
        let in_place = self.in_place();
        self.doubtful = in_place.is_err();
        in_place?;
        Ok(head)
    }

    /// An entry counts only in the file that the next process will find: an error where the ledger's path leads to
    /// another one now.
    pub fn in_place(&self) -> Result<()> {
        if file::identity(&self.path) == self.identity { Ok(()) } else { Err(replaced(&self.path)) }
    }

    /// Whether a path leads to the file that is open here, which may be believed: then nobody need open it again to see
    /// what others have written.
    pub fn is_open_at(&self, path: &Path) -> bool {
        let leads_here = path::resolved(path).is_ok_and(|path| path == self.path);
        leads_here && !self.doubtful && self.identity.is_some() && self.in_place().is_ok()
    }

    fn explain(&self, error: StoreError) -> Error {
        match error {
            StoreError::Store(error) => trouble(&self.path, &error),
            StoreError::Damaged(sentence) => self.damaged(&sentence),
            StoreError::Refused(error) => error,
        }
    }

    fn damaged(&self, sentence: &str) -> Error {
        Error::machine(format!(
            "the ledger {} was changed by something other than scumble: {sentence}",
            self.path.display()
        ))
    }
}

fn in_transaction(
    connection: &mut Connection,
    write: impl FnOnce(&Transaction<'_>) -> std::result::Result<Head, StoreError>,
) -> std::result::Result<Head, StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // It may have changed since the ledger was opened.
    let version: i32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version > VERSION {
        return Err(StoreError::Damaged(format!("it now has version {version}, which this program does not know")));
    }
    if version < VERSION {
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    let head = write(&transaction)?;
    transaction.commit()?;
    Ok(head)
}

/// Appends what is new of what a release runs under: its tables, their files, the budget.
fn noted(
    entries: &Connection,
    mut head: Head,
    standing: &mut LedgerState,
    proposal: &Proposal,
    folder: &Path,
) -> std::result::Result<Head, StoreError> {
    let ReleaseContext { tables, data, budget, .. } = &proposal.about;
    let mut new = Vec::new();
    if let Some(all) = joined(standing.declared(), tables, folder).map_err(StoreError::Refused)? {
        new.push(Entry::Declaration(TablesEntry::of(all)));
    }
    if data.iter().any(|(table, mark)| standing.mark(table) != Some(mark)) {
        let mut all = standing.data.value.clone();
        all.extend(data.clone());
        new.push(Entry::Data(TablesEntry::of(all)));
    }
    standing.agrees(budget, "the project file").map_err(StoreError::Refused)?;
    if standing.budget.value != *budget {
        new.push(budget_entry(budget, None));
    }
    for entry in new {
        head = store::append(entries, &head, &entry)?;
        standing.note(&entry, head.clone())?;
    }
    Ok(head)
}

/// A random number: a ledger that was reset and is filled with the same releases has other heads.
fn nonce() -> Result<String> {
    Ok(format!("{:016x}", SecureSource::new()?.next_u64()))
}

/// An entry that puts limits in force: the first ones need no reason.
fn budget_entry(limits: &HeldLimits, because: Option<&str>) -> Entry {
    let because = Field::if_any(because.map(str::to_string));
    Entry::Budget(BudgetEntry { because, limits: limits.entry(), time: Field::Here(time::now()) })
}

fn replaced(path: &Path) -> Error {
    let sentence = "was moved, removed or replaced by something else while it was in use: nothing is released with it";
    Error::machine(format!("the ledger {} {sentence}", path.display()))
}

/// Whether another process is in the way.
fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn trouble(path: &Path, error: &rusqlite::Error) -> Error {
    let place = path.display();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => Error::input(format!("{place} is not a ledger of scumble")),
        Some(ErrorCode::CannotOpen) => path::cannot_open(path),
        _ if is_busy(error) => {
            Error::machine(format!("the ledger {place} has been in use by another process for a minute; try again"))
        }
        _ => Error::machine(format!("the ledger {place} cannot be used ({error})")),
    }
}
