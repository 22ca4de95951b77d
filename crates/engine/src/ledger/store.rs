//! Reading and writing entries in SQLite.

use super::asked;
use super::chain::{self, GENESIS, Head};
use super::entry::{Charge, ChargeState, History, Output, committed, out_of_order, parsed, reservation};
use super::life::Life;
use super::standing::LedgerState;
use crate::budget::Sums;
use crate::digest::unhex;
use crate::error::Error;
use rusqlite::{Connection, OptionalExtension};
use scumble::scope::AttributeSet;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What can go wrong in a transaction.
pub(super) enum Trouble {
    Store(rusqlite::Error),
    Damaged(String),
    Refused(Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error)
    }
}

impl From<String> for Trouble {
    fn from(sentence: String) -> Self {
        Self::Damaged(sentence)
    }
}

type Result<T> = std::result::Result<T, Trouble>;

/// The marks of tables' files by the table's name.
pub(super) type Marks = BTreeMap<String, String>;

/// Reads and verifies the whole chain.
pub(super) fn bodies(connection: &Connection) -> Result<(Vec<String>, Head)> {
    let mut statement = connection.prepare("SELECT sequence, body, hash FROM entry ORDER BY sequence")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let mut stored = Vec::new();
    for row in rows {
        stored.push(row?);
    }
    let head = stored_head(connection)?;
    Ok(chain::verify(stored, &head)?)
}

/// Everything: the chain is verified, and so is every sum in it.
pub(super) fn history(connection: &Connection) -> Result<(History, Head)> {
    let (bodies, head) = bodies(connection)?;
    Ok((History::of(&bodies)?, head))
}

/// The standing of the ledger with a sum for each of `sets`: from the last entries where they tell it, and from all otherwise.
pub(super) fn standing(connection: &Connection, sets: &[AttributeSet]) -> Result<(LedgerState, Head)> {
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

/// The standing that the last reservation tells, and the head; none if it tells none, or one that is counted by another rule.
fn tail(connection: &Connection) -> Result<(Option<LedgerState>, Head)> {
    let head = end(connection)?;
    let (mut found, mut since) = (None, Vec::new());
    downwards(connection, &head, |at, value| {
        match value["entry"].as_str() {
            Some("reserve") => {
                let noted = |at: &Head| Ok::<_, Trouble>(linked(connection, at)?.0);
                found = LedgerState::from_json(&value["after"], noted)?;
                return Ok(false);
            }
            Some("commit" | "drawn" | "reading") => {}
            Some("declaration" | "data" | "budget") => since.push((value, at.clone())),
            _ => return Err(Trouble::Damaged("the last entry is of a kind that this version does not know".into())),
        }
        Ok(true)
    })?;
    // What came into force after the last reservation, in its order.
    if let Some(standing) = &mut found {
        since.into_iter().rev().try_for_each(|(value, at)| standing.note(&value, at))?;
    }
    if head.entries == 0 {
        found = Some(LedgerState::nothing());
    }
    Ok((found, head))
}

/// The last charges, oldest first.
pub(super) fn recent(connection: &Connection, number: usize) -> Result<Vec<Charge>> {
    let (mut charges, mut outputs, mut drawn) = (Vec::new(), HashMap::new(), HashSet::new());
    downwards(connection, &end(connection)?, |at, value| {
        let sequence = at.entries;
        match value["entry"].as_str() {
            Some("reserve") => {
                let mut charge: Charge = reservation(sequence, &value)?;
                if let Some(output) = outputs.remove(&sequence) {
                    charge.state = ChargeState::Committed(output);
                } else if drawn.contains(&sequence) {
                    charge.state = ChargeState::Drawn;
                }
                charges.push(charge);
            }
            Some("commit") => {
                let (of, output) = committed(&value, sequence)?;
                // From the newest down: the last commit of a reservation counts.
                outputs.entry(of).or_insert(output);
            }
            Some("drawn") => drawn.extend(value["of"].as_u64()),
            _ => {}
        }
        Ok(charges.len() < number)
    })?;
    charges.reverse();
    Ok(charges)
}

/// The last charge of a release whose outputs are in place, and the marks of the files that it read.
///
/// It is found by its text: an index of names would be one more thing that can be wrong. What is found is an entry whose hash is that of its body and its
/// place; a ledger that was edited elsewhere is `verify`'s to find.
pub(super) fn last_committed(connection: &Connection, release: &str) -> Result<Option<(Charge, Marks)>> {
    let name = format!("\"release\":{}", Value::from(release));
    let last = newest(connection, &name, |value| value["release"] == release)?;
    last.map(|(charge, value)| Ok((charge, marks(connection, &value["after"]["data"])?))).transpose()
}

/// Of the charges whose bodies hold a text and are meant, the one that was committed last, which need not be the one that was charged last.
fn newest(connection: &Connection, text: &str, is_meant: impl Fn(&Value) -> bool) -> Result<Option<(Charge, Value)>> {
    let mut newest: Option<(u64, Charge, Value)> = None;
    for at in mentioning(connection, text, 0)? {
        let (value, _) = linked(connection, &at)?;
        if value["entry"] != "reserve" || !is_meant(&value) {
            continue;
        }
        if let Some((committed, output)) = output_of(connection, at.entries)?
            && newest.as_ref().is_none_or(|(last, ..)| *last < committed)
        {
            let charge = reservation(at.entries, &value)?;
            newest = Some((committed, Charge { state: ChargeState::Committed(output), ..charge }, value));
        }
    }
    Ok(newest.map(|(_, charge, value)| (charge, value)))
}

/// A reservation, as far as it tells whether its release may go on.
#[derive(Debug, Clone)]
pub(crate) struct Reservation {
    /// The head of the chain after it.
    pub head: Head,
    /// The digest of what was declared; empty where an older ledger has none.
    pub request: String,
    /// What came after it.
    pub life: Life,
}

/// All reservations of a release, in order.
pub(super) fn reservations(connection: &Connection, release: &str) -> Result<Vec<Reservation>> {
    let name = format!("\"release\":{}", Value::from(release));
    let mut found: BTreeMap<u64, Reservation> = BTreeMap::new();
    for head in mentioning(connection, &name, 0)? {
        let (value, _) = linked(connection, &head)?;
        if value["entry"] == "reserve" && value["release"] == release {
            let request = value["request"].as_str().unwrap_or_default().to_string();
            found.insert(head.entries, Reservation { head, request, life: Life::of(&value) });
        }
    }
    let first = found.keys().next().copied().unwrap_or(u64::MAX);
    for at in mentioning(connection, "\"of\":", first)? {
        let body: String =
            connection
                .query_row("SELECT body FROM entry WHERE sequence = ?1", [at.entries as i64], |row| row.get(0))?;
        let value = parsed(&body, at.entries)?;
        if let Some(reservation) = value["of"].as_u64().and_then(|of| found.get_mut(&of)) {
            followed(&mut reservation.life, &value, at.entries)?;
        }
    }
    Ok(found.into_values().collect())
}

/// What came after a reservation.
pub(super) fn life(connection: &Connection, charge: &Head) -> Result<Life> {
    let mut life = Life::of(&linked(connection, charge)?.0);
    for at in mentioning(connection, &format!("\"of\":{}", charge.entries), charge.entries)? {
        let (value, _) = linked(connection, &at)?;
        if value["of"] == charge.entries {
            followed(&mut life, &value, at.entries)?;
        }
    }
    Ok(life)
}

/// Takes an entry of a charge; what else speaks of it is passed over.
fn followed(life: &mut Life, value: &Value, sequence: u64) -> Result<()> {
    match value["entry"].as_str() {
        Some(word @ ("reading" | "drawn" | "commit")) if !life.follow(value) => {
            Err(out_of_order(word, sequence).into())
        }
        _ => Ok(()),
    }
}

/// A charge of which nothing was drawn that anybody can have seen.
#[derive(Debug, Clone)]
pub(crate) struct Undrawn {
    pub charge: Charge,
    /// The marks of its files.
    pub marks: Marks,
    /// Where it stands.
    pub at: Head,
}

/// Those of a release, newest first.
pub(super) fn undrawn(connection: &Connection, release: &str) -> Result<Vec<Undrawn>> {
    let name = format!("\"release\":{}", Value::from(release));
    undrawn_of(connection, &name, |value| value["release"] == release)
}

/// Those for a question of somebody's, newest first.
pub(super) fn unanswered(connection: &Connection, question: &str, by: &str) -> Result<Vec<Undrawn>> {
    let text = format!("\"question\":{}", Value::from(question));
    undrawn_of(connection, &text, |value| value["asked"]["question"] == question && value["asked"]["by"] == by)
}

fn undrawn_of(connection: &Connection, text: &str, is_meant: impl Fn(&Value) -> bool) -> Result<Vec<Undrawn>> {
    let mut found: BTreeMap<u64, (Head, Value)> = BTreeMap::new();
    for at in mentioning(connection, text, 0)? {
        let (value, _) = linked(connection, &at)?;
        if value["entry"] == "reserve" && value["one_draw"] == true && is_meant(&value) {
            found.insert(at.entries, (at, value));
        }
    }
    let Some(first) = found.keys().next().copied() else { return Ok(Vec::new()) };
    for at in mentioning(connection, "\"entry\":\"drawn\"", first)? {
        let (value, _) = linked(connection, &at)?;
        if let Some(of) = value["of"].as_u64().filter(|_| value["entry"] == "drawn") {
            found.remove(&of);
        }
    }
    let undrawn = |(at, value): (Head, Value)| {
        let marks = marks(connection, &value["after"]["data"])?;
        Ok(Undrawn { charge: reservation(at.entries, &value)?, marks, at })
    };
    found.into_values().rev().map(undrawn).collect()
}

/// The numbers of the jobs with this digest that were charged, in order.
pub(super) fn jobs(connection: &Connection, digest: &str) -> Result<Vec<String>> {
    let mut numbers = Vec::new();
    for head in mentioning(connection, digest, 0)? {
        let (value, _) = linked(connection, &head)?;
        let job = &value["rule"]["job"];
        if value["entry"] == "reserve" && job["digest"] == digest {
            numbers.push(job["number"].as_str().unwrap_or_default().to_string());
        }
    }
    Ok(numbers)
}

/// The last commit of a reservation, if there is one: its entry, and what it says.
fn output_of(connection: &Connection, sequence: u64) -> Result<Option<(u64, Output)>> {
    for at in mentioning(connection, &format!("\"of\":{sequence}"), sequence)?.into_iter().rev() {
        let (value, _) = linked(connection, &at)?;
        if value["entry"] == "commit" && value["of"] == sequence {
            return Ok(Some((at.entries, committed(&value, at.entries)?.1)));
        }
    }
    Ok(None)
}

/// The entries after one whose bodies hold a text, in order.
fn mentioning(connection: &Connection, text: &str, after: u64) -> Result<Vec<Head>> {
    let query = "SELECT sequence, hash FROM entry WHERE sequence > ?1 AND instr(body, ?2) ORDER BY sequence";
    let mut statement = connection.prepare(query)?;
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let rows = statement.query_map((after, text), |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)))?;
    let mut found = Vec::new();
    for row in rows {
        let (sequence, hash) = row?;
        let edited = || Trouble::Damaged(format!("entry {sequence} or its place in the chain was edited"));
        let hash = hash.try_into().map_err(|_| edited())?;
        found.push(Head { entries: u64::try_from(sequence).map_err(|_| edited())?, hash });
    }
    Ok(found)
}

/// What was charged for somebody, all of it.
pub(super) fn charged_to(connection: &Connection, name: &str) -> Result<Sums> {
    let mut sums = Sums::nothing();
    for at in mentioning(connection, &format!("\"by\":{}", Value::from(name)), 0)? {
        let (value, _) = linked(connection, &at)?;
        if value["entry"] == "reserve" && value["asked"]["by"] == name {
            let charge = reservation(at.entries, &value)?;
            sums.add(&charge.events).map_err(Trouble::Refused)?;
        }
    }
    Ok(sums)
}

/// The charge for a question whose outputs were put into place last.
pub(super) fn answered(connection: &Connection, question: &str) -> Result<Option<Charge>> {
    let text = format!("\"question\":{}", Value::from(question));
    Ok(newest(connection, &text, |value| value["asked"]["question"] == question)?.map(|(charge, _)| charge))
}

/// The charge that a request with this key led to: its own, or that of the answer that it got.
pub(super) fn keyed(connection: &Connection, key: &str) -> Result<Option<Charge>> {
    for at in mentioning(connection, &format!("\"key\":{}", Value::from(key)), 0)? {
        let (value, _) = linked(connection, &at)?;
        if value["entry"] == "reserve" && value["asked"]["key"] == key {
            return charge_at(connection, &at).map(Some);
        }
        if asked::is_remark(&value)
            && value["key"] == key
            && let Some(of) = value["of"].as_u64()
        {
            return charge_at(connection, &head_at(connection, of)?).map(Some);
        }
    }
    Ok(None)
}

/// A charge with what became of it.
fn charge_at(connection: &Connection, at: &Head) -> Result<Charge> {
    let charge = reservation(at.entries, &linked(connection, at)?.0)?;
    let state = match output_of(connection, at.entries)? {
        Some((_, output)) => ChargeState::Committed(output),
        None => ChargeState::uncommitted(&life(connection, at)?),
    };
    Ok(Charge { state, ..charge })
}

/// An entry by its number.
fn head_at(connection: &Connection, entries: u64) -> Result<Head> {
    let sequence = i64::try_from(entries).unwrap_or(i64::MAX);
    let hash: Option<Vec<u8>> =
        connection.query_row("SELECT hash FROM entry WHERE sequence = ?1", [sequence], |row| row.get(0)).optional()?;
    let hash = hash.and_then(|hash| hash.try_into().ok());
    hash.map(|hash| Head { entries, hash }).ok_or_else(|| Trouble::Damaged(format!("entry {entries} is missing")))
}

/// The head without the remarks at the end.
pub(super) fn before_remarks(connection: &Connection, head: &Head) -> Result<Head> {
    if head.entries == 0 {
        return Ok(head.clone());
    }
    let (value, _) = linked(connection, head)?;
    Ok(if asked::is_remark(&value) { asked::since(&value, head.entries)? } else { head.clone() })
}

/// The marks that an entry in force holds; none where there is no such entry.
fn marks(connection: &Connection, link: &Value) -> Result<Marks> {
    let at = link["entry"].as_u64().zip(link["hash"].as_str().and_then(unhex));
    let Some((entries, hash)) = at else { return Ok(Marks::new()) };
    let (value, _) = linked(connection, &Head { entries, hash })?;
    let tables = value["tables"].as_object().into_iter().flatten();
    Ok(tables.filter_map(|(table, mark)| Some((table.clone(), mark.as_str()?.to_string()))).collect())
}

/// The head, of which the last entry is verified to be there.
pub(super) fn end(connection: &Connection) -> Result<Head> {
    let head = stored_head(connection)?;
    let last: Option<i64> = connection.query_row("SELECT max(sequence) FROM entry", [], |row| row.get(0))?;
    let last = u64::try_from(last.unwrap_or(0)).unwrap_or(0);
    if last != head.entries || (last == 0 && head.hash != GENESIS) {
        return Err(Trouble::Damaged(format!(
            "the last entry is {last}, and the head speaks of {}: the end is missing",
            head.entries
        )));
    }
    Ok(head)
}

/// Calls `look` with each entry from the head down, link by link, until it says no. Remarks are passed over, however many there are.
fn downwards(connection: &Connection, head: &Head, mut look: impl FnMut(&Head, Value) -> Result<bool>) -> Result<()> {
    let mut at = head.clone();
    while at.entries > 0 {
        let (value, before) = linked(connection, &at)?;
        if asked::is_remark(&value) {
            at = asked::since(&value, at.entries)?;
            continue;
        }
        if !look(&at, value)? {
            break;
        }
        at = before;
    }
    Ok(())
}

/// The entry whose hash is `at`'s, and the head before it.
pub(super) fn linked(connection: &Connection, at: &Head) -> Result<(Value, Head)> {
    let missing = || Trouble::Damaged(format!("entry {} is missing", at.entries));
    let row = |column: &str, sequence: u64| format!("SELECT {column} FROM entry WHERE sequence = {sequence}");
    let body: Option<String> = connection.query_row(&row("body", at.entries), [], |row| row.get(0)).optional()?;
    let body = body.ok_or_else(missing)?;
    let entries = at.entries.checked_sub(1).ok_or_else(missing)?;
    let mut before = Head { entries, hash: GENESIS };
    if entries > 0 {
        let hash: Option<Vec<u8>> = connection.query_row(&row("hash", entries), [], |row| row.get(0)).optional()?;
        before.hash = hash
            .and_then(|hash| hash.try_into().ok())
            .ok_or_else(|| Trouble::Damaged(format!("entry {entries} is missing")))?;
    }
    if before.followed_by(&body) != *at {
        return Err(Trouble::Damaged(format!("entry {} or its place in the chain was edited", at.entries)));
    }
    Ok((parsed(&body, at.entries)?, before))
}

fn stored_head(connection: &Connection) -> Result<Head> {
    let (entries, hash): (i64, Vec<u8>) =
        connection
            .query_row("SELECT entries, hash FROM head WHERE one = 1", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let hash = hash.try_into().ok();
    let head = u64::try_from(entries).ok().zip(hash).map(|(entries, hash)| Head { entries, hash });
    head.ok_or_else(|| Trouble::Damaged("its head was edited".to_string()))
}

/// Appends an entry after `head`, and moves the head.
pub(super) fn append(connection: &Connection, head: &Head, body: &str) -> Result<Head> {
    let next = head.followed_by(body);
    let sequence = i64::try_from(next.entries).unwrap_or(i64::MAX);
    connection.execute("INSERT INTO entry VALUES (?1, ?2, ?3)", (sequence, body, next.hash.as_slice()))?;
    connection.execute("UPDATE head SET entries = ?1, hash = ?2", (sequence, next.hash.as_slice()))?;
    Ok(next)
}
