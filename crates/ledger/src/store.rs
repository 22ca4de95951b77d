//! Reading and writing entries in SQLite.

use crate::body::{Entry, Link, RequestOriginEntry, ReserveEntry};
use crate::budget::Sums;
use crate::chain::{self, GENESIS, Head};
use crate::entry::{Charge, ChargeState, History, OutputDigests};
use crate::error::Error;
use crate::life::ChargeProgress;
use crate::rule::RuleFacts;
use crate::standing::LedgerState;
use rusqlite::{Connection, OptionalExtension};
use scumble::scope::AttributeSet;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What can go wrong in a transaction.
pub(crate) enum StoreError {
    Store(rusqlite::Error),
    Damaged(String),
    Refused(Error),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error)
    }
}

impl From<String> for StoreError {
    fn from(sentence: String) -> Self {
        Self::Damaged(sentence)
    }
}

type StoreResult<T> = std::result::Result<T, StoreError>;

/// The marks of tables' files by the table's name.
pub type Marks = BTreeMap<String, String>;

/// Reads and verifies the whole chain.
pub(crate) fn bodies(connection: &Connection) -> StoreResult<(Vec<String>, Head)> {
    let mut statement = connection.prepare("SELECT sequence, body, hash FROM entry ORDER BY sequence")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let stored = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    let head = stored_head(connection)?;
    Ok(chain::verify(stored, &head)?)
}

/// Everything: the chain is verified, and so is every sum in it.
pub(crate) fn history(connection: &Connection) -> StoreResult<(History, Head)> {
    let (bodies, head) = bodies(connection)?;
    Ok((History::of(&bodies)?, head))
}

/// The standing of the ledger with a sum for each of `sets`: from the last entries where they tell it, and from all
/// otherwise.
pub(crate) fn standing(connection: &Connection, sets: &[AttributeSet]) -> StoreResult<(LedgerState, Head)> {
    if let (Some(standing), head) = tail(connection)?
        && standing.knows(sets)
    {
        return Ok((standing, head));
    }
    let (history, head) = history(connection)?;
    let mut standing = history.standing.clone();
    standing.ask(sets, history.events());
    Ok((standing, head))
}

/// The standing that the last reservation tells, and the head; none if it tells none, or one that is counted by another
/// rule.
fn tail(connection: &Connection) -> StoreResult<(Option<LedgerState>, Head)> {
    let head = end(connection)?;
    let (mut found, mut since) = (None, Vec::new());
    downwards(connection, &head, |at, entry| {
        match &entry {
            Entry::Reserve(reserve) => {
                let noted = |at: &Head| Ok::<_, StoreError>(linked(connection, at)?.0);
                found = LedgerState::read(&reserve.after, noted)?;
                return Ok(false);
            }
            Entry::Commit(_) | Entry::Drawn(_) | Entry::Reading(_) => {}
            Entry::Declaration(_) | Entry::Data(_) | Entry::Budget(_) => since.push((entry, at.clone())),
            Entry::Asked(_) | Entry::Unknown => {
                return Err(StoreError::Damaged("the last entry is of a kind that this version does not know".into()));
            }
        }
        Ok(true)
    })?;
    // What came into force after the last reservation, in its order.
    if let Some(standing) = &mut found {
        since.into_iter().rev().try_for_each(|(entry, at)| standing.note(&entry, at))?;
    }
    if head.entries == 0 {
        found = Some(LedgerState::nothing());
    }
    Ok((found, head))
}

/// The last charges, oldest first.
pub(crate) fn recent(connection: &Connection, number: usize) -> StoreResult<Vec<Charge>> {
    let (mut charges, mut outputs, mut drawn) = (Vec::new(), HashMap::new(), HashSet::new());
    downwards(connection, &end(connection)?, |at, entry| {
        let sequence = at.entries;
        match entry {
            Entry::Reserve(reserve) => {
                let mut charge = reserve.charge(sequence)?;
                if let Some(output) = outputs.remove(&sequence) {
                    charge.state = ChargeState::Committed(output);
                } else if drawn.contains(&sequence) {
                    charge.state = ChargeState::Drawn;
                }
                charges.push(charge);
            }
            Entry::Commit(commit) => {
                let (of, output) = commit.read(sequence)?;
                // From the newest down: the last commit of a reservation counts.
                outputs.entry(of).or_insert(output);
            }
            Entry::Drawn(entry) => drawn.extend(entry.of.get().copied()),
            _ => {}
        }
        Ok(charges.len() < number)
    })?;
    charges.reverse();
    Ok(charges)
}

/// The last charge of a release whose outputs are in place, and the marks of the files that it read.
///
/// It is found by its text: an index of names would be one more thing that can be wrong. What is found is an entry
/// whose hash is that of its body and its place; a ledger that was edited elsewhere is `verify`'s to find.
pub(crate) fn last_committed(connection: &Connection, release: &str) -> StoreResult<Option<(Charge, Marks)>> {
    let name = format!("\"release\":{}", Value::from(release));
    let last = newest(connection, &name, |reserve| reserve.release.is(release))?;
    last.map(|(charge, reserve)| Ok((charge, marks(connection, &reserve)?))).transpose()
}

/// Of the charges whose bodies hold a text and are meant, the one that was committed last, which need not be the one
/// that was charged last.
fn newest(
    connection: &Connection,
    text: &str,
    is_meant: impl Fn(&ReserveEntry) -> bool,
) -> StoreResult<Option<(Charge, Box<ReserveEntry>)>> {
    let mut newest: Option<(u64, Charge, Box<ReserveEntry>)> = None;
    for one in meant(connection, text, is_meant)? {
        let (at, reserve) = one?;
        if let Some((committed, output)) = output_of(connection, at.entries)?
            && newest.as_ref().is_none_or(|(last, ..)| *last < committed)
        {
            let charge = reserve.charge(at.entries)?;
            newest = Some((committed, Charge { state: ChargeState::Committed(output), ..charge }, reserve));
        }
    }
    Ok(newest.map(|(_, charge, reserve)| (charge, reserve)))
}

/// The reservations whose bodies hold a text and are meant, in order, one after the other.
fn meant(
    connection: &Connection,
    text: &str,
    is_meant: impl Fn(&ReserveEntry) -> bool,
) -> StoreResult<impl Iterator<Item = StoreResult<(Head, Box<ReserveEntry>)>>> {
    let found = mentioning(connection, text, 0)?.into_iter();
    Ok(found.filter_map(move |at| match linked(connection, &at) {
        Ok((Entry::Reserve(reserve), _)) if is_meant(&reserve) => Some(Ok((at, reserve))),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    }))
}

/// A reservation, as far as it tells whether its release may go on.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Reservation {
    /// The head of the chain after it.
    pub head: Head,
    /// The digest of what was declared; empty where an older ledger has none.
    pub request: String,
    /// What came after it.
    pub life: ChargeProgress,
}

/// All reservations of a release, in order.
pub(crate) fn reservations(connection: &Connection, release: &str) -> StoreResult<Vec<Reservation>> {
    let name = format!("\"release\":{}", Value::from(release));
    let reservation = |one: StoreResult<(Head, Box<ReserveEntry>)>| {
        let (head, reserve) = one?;
        let (request, life) = (reserve.request.text().unwrap_or_default(), ChargeProgress::of(&reserve));
        Ok((head.entries, Reservation { head, request, life }))
    };
    let reserved = meant(connection, &name, |reserve| reserve.release.is(release))?;
    let mut found = reserved.map(reservation).collect::<StoreResult<BTreeMap<u64, Reservation>>>()?;
    let first = found.keys().next().copied().unwrap_or(u64::MAX);
    for at in mentioning(connection, "\"of\":", first)? {
        let body: String =
            connection
                .query_row("SELECT body FROM entry WHERE sequence = ?1", [at.entries as i64], |row| row.get(0))?;
        let entry = Entry::read(&body, at.entries)?;
        if let Some(reservation) = entry.of().and_then(|of| found.get_mut(&of)) {
            followed(&mut reservation.life, &entry, at.entries)?;
        }
    }
    Ok(found.into_values().collect())
}

/// What came after a reservation.
pub(crate) fn life(connection: &Connection, charge: &Head) -> StoreResult<ChargeProgress> {
    let mut life = ChargeProgress::of(&*reserved(connection, charge)?);
    for at in mentioning(connection, &format!("\"of\":{}", charge.entries), charge.entries)? {
        let (entry, _) = linked(connection, &at)?;
        if entry.of() == Some(charge.entries) {
            followed(&mut life, &entry, at.entries)?;
        }
    }
    Ok(life)
}

/// The reservation at a place.
pub(crate) fn reserved(connection: &Connection, at: &Head) -> StoreResult<Box<ReserveEntry>> {
    match linked(connection, at)?.0 {
        Entry::Reserve(reserve) => Ok(reserve),
        _ => Err(StoreError::Damaged(format!("entry {} is no reservation", at.entries))),
    }
}

/// Takes an entry of a charge.
fn followed(life: &mut ChargeProgress, entry: &Entry, sequence: u64) -> StoreResult<()> {
    if life.follow(entry) { Ok(()) } else { Err(entry.out_of_order(sequence).into()) }
}

/// A charge without a draw that anybody can have seen.
#[derive(Debug, Clone)]
pub struct UndrawnCharge {
    /// The charge.
    pub charge: Charge,
    /// The marks of its files.
    pub marks: Marks,
    /// Where it stands.
    pub at: Head,
}

/// Those of a release, newest first.
pub(crate) fn undrawn(connection: &Connection, release: &str) -> StoreResult<Vec<UndrawnCharge>> {
    let name = format!("\"release\":{}", Value::from(release));
    undrawn_of(connection, &name, |reserve| reserve.release.is(release))
}

/// Those for a question of somebody's, newest first.
pub(crate) fn unanswered(connection: &Connection, question: &str, by: &str) -> StoreResult<Vec<UndrawnCharge>> {
    let text = format!("\"question\":{}", Value::from(question));
    let is_theirs = |asked: &RequestOriginEntry| asked.question.is(question) && asked.by.is(by);
    undrawn_of(connection, &text, |reserve| reserve.asked.get().is_some_and(is_theirs))
}

fn undrawn_of(
    connection: &Connection,
    text: &str,
    is_meant: impl Fn(&ReserveEntry) -> bool,
) -> StoreResult<Vec<UndrawnCharge>> {
    let one_draw = meant(connection, text, |reserve| reserve.one_draw.get() == Some(&true) && is_meant(reserve))?;
    let numbered = one_draw.map(|one| one.map(|(at, reserve)| (at.entries, (at, reserve))));
    let mut found = numbered.collect::<StoreResult<BTreeMap<u64, (Head, Box<ReserveEntry>)>>>()?;
    let Some(first) = found.keys().next().copied() else { return Ok(Vec::new()) };
    for at in mentioning(connection, "\"entry\":\"drawn\"", first)? {
        if let Entry::Drawn(drawn) = linked(connection, &at)?.0
            && let Some(of) = drawn.of.get()
        {
            found.remove(of);
        }
    }
    let undrawn = |(at, reserve): (Head, Box<ReserveEntry>)| {
        Ok(UndrawnCharge { charge: reserve.charge(at.entries)?, marks: marks(connection, &reserve)?, at })
    };
    found.into_values().rev().map(undrawn).collect()
}

/// The numbers of the jobs with this digest that were charged, in order.
pub(crate) fn jobs(connection: &Connection, digest: &str) -> StoreResult<Vec<String>> {
    let number = |reserve: &ReserveEntry| RuleFacts::of(&reserve.rule).number_of_job(digest);
    let charged = meant(connection, digest, |reserve| number(reserve).is_some())?;
    charged.map(|one| Ok(number(&one?.1).unwrap_or_default())).collect()
}

/// The last commit of a reservation, if there is one: its entry, and what it says.
fn output_of(connection: &Connection, sequence: u64) -> StoreResult<Option<(u64, OutputDigests)>> {
    for at in mentioning(connection, &format!("\"of\":{sequence}"), sequence)?.into_iter().rev() {
        if let Entry::Commit(commit) = linked(connection, &at)?.0
            && commit.of.get() == Some(&sequence)
        {
            return Ok(Some((at.entries, commit.read(at.entries)?.1)));
        }
    }
    Ok(None)
}

/// The entries after one whose bodies hold a text, in order.
fn mentioning(connection: &Connection, text: &str, after: u64) -> StoreResult<Vec<Head>> {
    let query = "SELECT sequence, hash FROM entry WHERE sequence > ?1 AND instr(body, ?2) ORDER BY sequence";
    let mut statement = connection.prepare(query)?;
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let rows = statement.query_map((after, text), |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)))?;
    let head = |row: rusqlite::Result<(i64, Vec<u8>)>| {
        let (sequence, hash) = row?;
        let edited = || StoreError::Damaged(format!("entry {sequence} or its place in the chain was edited"));
        let hash = hash.try_into().map_err(|_| edited())?;
        Ok(Head { entries: u64::try_from(sequence).map_err(|_| edited())?, hash })
    };
    rows.map(head).collect()
}

/// What was charged for somebody, all of it.
pub(crate) fn charged_to(connection: &Connection, name: &str) -> StoreResult<Sums> {
    let mut sums = Sums::nothing();
    let is_theirs = |reserve: &ReserveEntry| reserve.asked.get().is_some_and(|asked| asked.by.is(name));
    for one in meant(connection, &format!("\"by\":{}", Value::from(name)), is_theirs)? {
        let (at, reserve) = one?;
        sums.add(&reserve.charge(at.entries)?.events).map_err(StoreError::Refused)?;
    }
    Ok(sums)
}

/// The charge for a question whose outputs were put into place last.
pub(crate) fn answered(connection: &Connection, question: &str) -> StoreResult<Option<Charge>> {
    let text = format!("\"question\":{}", Value::from(question));
    let is_it = |reserve: &ReserveEntry| reserve.asked.get().is_some_and(|asked| asked.question.is(question));
    Ok(newest(connection, &text, is_it)?.map(|(charge, _)| charge))
}

/// The charge that a request with this key led to: its own, or that of the answer that it got.
pub(crate) fn keyed(connection: &Connection, key: &str) -> StoreResult<Option<Charge>> {
    for at in mentioning(connection, &format!("\"key\":{}", Value::from(key)), 0)? {
        let of = match linked(connection, &at)?.0 {
            Entry::Reserve(reserve) if reserve.asked.get().is_some_and(|asked| asked.key.is(key)) => Some(at),
            Entry::Asked(remark) if remark.key.is(key) => {
                remark.of.get().map(|of| head_at(connection, *of)).transpose()?
            }
            _ => None,
        };
        if let Some(of) = of {
            return charge_at(connection, &of).map(Some);
        }
    }
    Ok(None)
}

/// A charge with what became of it.
fn charge_at(connection: &Connection, at: &Head) -> StoreResult<Charge> {
    let charge = reserved(connection, at)?.charge(at.entries)?;
    let state = match output_of(connection, at.entries)? {
        Some((_, output)) => ChargeState::Committed(output),
        None => ChargeState::uncommitted(&life(connection, at)?),
    };
    Ok(Charge { state, ..charge })
}

/// An entry by its number.
fn head_at(connection: &Connection, entries: u64) -> StoreResult<Head> {
    let sequence = i64::try_from(entries).unwrap_or(i64::MAX);
    let hash: Option<Vec<u8>> =
        connection.query_row("SELECT hash FROM entry WHERE sequence = ?1", [sequence], |row| row.get(0)).optional()?;
    let hash = hash.and_then(|hash| hash.try_into().ok());
    hash.map(|hash| Head { entries, hash }).ok_or_else(|| StoreError::Damaged(format!("entry {entries} is missing")))
}

/// The head without the remarks at the end.
pub(crate) fn before_remarks(connection: &Connection, head: &Head) -> StoreResult<Head> {
    if head.entries == 0 {
        return Ok(head.clone());
    }
    match linked(connection, head)?.0 {
        Entry::Asked(remark) => Ok(remark.since(head.entries)?),
        _ => Ok(head.clone()),
    }
}

/// The marks of the files that were in force at a charge; none where no entry holds them.
fn marks(connection: &Connection, reserve: &ReserveEntry) -> StoreResult<Marks> {
    let link = reserve.after.get().and_then(|after| after.data.get());
    let Some(at) = link.and_then(Link::head) else { return Ok(Marks::new()) };
    let Entry::Data(data) = linked(connection, &at)?.0 else { return Ok(Marks::new()) };
    let tables = data.tables.get().into_iter().flatten();
    Ok(tables.filter_map(|(table, mark)| Some((table.clone(), mark.text()?))).collect())
}

/// The head; its last entry is verified to be there.
pub(crate) fn end(connection: &Connection) -> StoreResult<Head> {
    let head = stored_head(connection)?;
    let last: Option<i64> = connection.query_row("SELECT max(sequence) FROM entry", [], |row| row.get(0))?;
    let last = u64::try_from(last.unwrap_or(0)).unwrap_or(0);
    if last != head.entries || (last == 0 && head.hash != GENESIS) {
        return Err(StoreError::Damaged(format!(
            "the last entry is {last}, and the head names {}: the end is missing",
            head.entries
        )));
    }
    Ok(head)
}

/// Calls `look` with each entry from the head down, link by link, until it says no. Remarks are passed over, however
/// many there are.
fn downwards(
    connection: &Connection,
    head: &Head,
    mut look: impl FnMut(&Head, Entry) -> StoreResult<bool>,
) -> StoreResult<()> {
    let mut at = head.clone();
    while at.entries > 0 {
        let (entry, before) = linked(connection, &at)?;
        if let Entry::Asked(remark) = &entry {
            at = remark.since(at.entries)?;
            continue;
        }
        if !look(&at, entry)? {
            break;
        }
        at = before;
    }
    Ok(())
}

/// The entry whose hash is `at`'s, and the head before it.
pub(crate) fn linked(connection: &Connection, at: &Head) -> StoreResult<(Entry, Head)> {
    let missing = || StoreError::Damaged(format!("entry {} is missing", at.entries));
    let row = |column: &str, sequence: u64| format!("SELECT {column} FROM entry WHERE sequence = {sequence}");
    let body: Option<String> = connection.query_row(&row("body", at.entries), [], |row| row.get(0)).optional()?;
    let body = body.ok_or_else(missing)?;
    let entries = at.entries.checked_sub(1).ok_or_else(missing)?;
    let mut before = Head { entries, hash: GENESIS };
    if entries > 0 {
        let hash: Option<Vec<u8>> = connection.query_row(&row("hash", entries), [], |row| row.get(0)).optional()?;
        before.hash = hash
            .and_then(|hash| hash.try_into().ok())
            .ok_or_else(|| StoreError::Damaged(format!("entry {entries} is missing")))?;
    }
    if before.followed_by(&body) != *at {
        return Err(StoreError::Damaged(format!("entry {} or its place in the chain was edited", at.entries)));
    }
    Ok((Entry::read(&body, at.entries)?, before))
}

fn stored_head(connection: &Connection) -> StoreResult<Head> {
    let (entries, hash): (i64, Vec<u8>) =
        connection
            .query_row("SELECT entries, hash FROM head WHERE one = 1", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let hash = hash.try_into().ok();
    let head = u64::try_from(entries).ok().zip(hash).map(|(entries, hash)| Head { entries, hash });
    head.ok_or_else(|| StoreError::Damaged("its head was edited".to_string()))
}

/// Appends an entry after `head`, and moves the head.
pub(crate) fn append(connection: &Connection, head: &Head, entry: &Entry) -> StoreResult<Head> {
    let body = entry.body().map_err(StoreError::Refused)?;
    let next = head.followed_by(&body);
    let sequence = i64::try_from(next.entries).unwrap_or(i64::MAX);
    connection.execute("INSERT INTO entry VALUES (?1, ?2, ?3)", (sequence, body, next.hash.as_slice()))?;
    connection.execute("UPDATE head SET entries = ?1, hash = ?2", (sequence, next.hash.as_slice()))?;
    Ok(next)
}
