//! What releases have left on the disk: a report tells of all that was ever published, not of its own run alone.
//!
//! The ledger says what was charged and the digests of what was written; the JSON file of a release has its numbers
//! and, under `report`, what a report needs beside them. A file that is not what the ledger knows is not shown:
//! somebody's edit is not what was published.

mod document;
mod missing;
mod report_part;

pub use missing::{OutputError, OutputErrorKind};
pub(crate) use report_part::release_document;

use super::kept::is_published;
use super::publish::{earlier, unknown_earlier};
use crate::attackers::ReleasedStatistic;
use crate::kinds::registry;
use crate::ledger::Charge;
use crate::project::{FILE_ENDS, known_file_names};
use crate::release::Publication;
use crate::release::floor::Floor;
use crate::release::output::{AnswerColumn, Answers, Cell, Details, IntervalChart, UNBOUNDED, Uncertainty};
use crate::release::run::published::document::Document;
use crate::release::run::published::report_part::{ColumnPart, ReportPart};
use scumble::event::Event;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// More rows than these are in the files alone.
pub const MOST_ROWS: usize = 10_000;

/// A release whose numbers are there.
#[derive(Debug)]
#[non_exhaustive]
pub struct PublishedRelease {
    /// Its charge.
    pub charge: Charge,
    /// What was done for its numbers: of an interactive release by all of its rounds, whose answers stand in one file.
    pub events: Vec<Event>,
    /// What was published: at most [`MOST_ROWS`] rows of it.
    pub answers: Answers,
    /// How many rows were published.
    pub rows: usize,
    /// What nobody could beat at its privacy, where that is known.
    pub limits: Vec<Floor>,
    /// What is counted, for attackers who know only part of the rows.
    pub counted: ReleasedStatistic,
    /// The table.
    pub file: PathBuf,
    /// Whether it was paid for again since, and other numbers have its place.
    pub is_replaced: bool,
}

impl PublishedRelease {
    /// Whether it is the result of a query that somebody has written.
    pub fn is_query(&self) -> bool {
        publishes(&self.charge, Publication::QueryResult)
    }

    /// Whether its rows are made up: they are for programs, and no reader wants them in a report.
    pub fn is_synthetic(&self) -> bool {
        publishes(&self.charge, Publication::SyntheticRows)
    }
}

/// A charge whose numbers are not shown.
#[derive(Debug)]
#[non_exhaustive]
pub struct UnshownCharge {
    /// The charge.
    pub charge: Charge,
    /// Why not.
    pub why: OutputError,
}

/// What is there of these charges in a folder, newest first, and what is not.
pub fn published(out: &Path, charges: &[Charge]) -> (Vec<PublishedRelease>, Vec<UnshownCharge>) {
    let (mut shown, mut unshown, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    for charge in charges.iter().rev().cloned() {
        let is_newest = charge.state.output().is_none() || seen.insert(charge.release.clone());
        let read = match is_newest || is_kept_by_itself(&charge) {
            true => read(out, &charge, charges),
            false => Err(replaced(&charge)),
        };
        match read {
            Ok(published) => shown.push(PublishedRelease { is_replaced: !is_newest, ..published }),
            Err(why) if is_newest => unshown.push(UnshownCharge { charge, why }),
            Err(_) => unshown.push(UnshownCharge { why: replaced(&charge), charge }),
        }
    }
    (shown, unshown)
}

/// Whether the numbers of an older charge of a name can be distinguished from those of a newer one: rounds stand in one
/// file, and the first ledgers had no digests of the JSON.
fn is_kept_by_itself(charge: &Charge) -> bool {
    !publishes(charge, Publication::Rounds)
        && charge.state.output().is_some_and(|output| output.files.contains_key("json"))
}

/// Whether a charge is of a kind that publishes this.
fn publishes(charge: &Charge, what: Publication) -> bool {
    registry::find(&charge.kind).is_ok_and(|kind| kind.publishes == what)
}

/// Why an older charge of a name is not shown by itself.
fn replaced(charge: &Charge) -> OutputError {
    let why = match publishes(charge, Publication::Rounds) {
        true => "an earlier round: its answers stand with those of the last",
        false => "charged again since, and its files are not among the earlier ones",
    };
    OutputError::new(OutputErrorKind::Replaced, why)
}

fn read(out: &Path, charge: &Charge, charges: &[Charge]) -> Result<PublishedRelease, OutputError> {
    let (place, bytes) = found(out, charge, "json")?;
    let document: Document = serde_json::from_slice(&bytes).map_err(|_| OutputError::unreadable())?;
    let (answers, limits, counted) = of_document(&document).ok_or_else(OutputError::other_version)?;
    // The table stands beside it; a second name of each file has its own digest in it.
    let kept = kept_places(out, charge, "csv").into_iter().find(|place| place.exists());
    let here = place.parent() == Some(out);
    let file = kept.filter(|_| !here).unwrap_or_else(|| place.with_extension("csv"));
    let (charge, events) = (charge.clone(), events(charge, charges)?);
    Ok(PublishedRelease {
        charge,
        events,
        answers,
        rows: document.all_rows(),
        limits,
        counted,
        file,
        is_replaced: false,
    })
}

/// What was done for the numbers of a charge's files. The rounds of an interactive release are alike and counted; the
/// last one of them has the largest number, whether it was completed or not.
fn events(charge: &Charge, charges: &[Charge]) -> Result<Vec<Event>, OutputError> {
    let same = |other: &&Charge| other.release == charge.release && other.request == charge.request;
    let rounds = match publishes(charge, Publication::Rounds) {
        true => charges.iter().filter(same).filter_map(|one| one.facts().round()).max().unwrap_or(1),
        false => return Ok(charge.events.clone()),
    };
    let repeated = charge.events.iter().map(|event| event.clone().repeated(rounds));
    let uncounted = |_| OutputError::new(OutputErrorKind::Unreadable, "its rounds cannot be counted");
    repeated.collect::<scumble::Result<_>>().map_err(uncounted)
}

/// All that a charge has published.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StoredAnswers {
    /// The table.
    pub answers: Answers,
    /// The JSON that was printed.
    pub document: Value,
    /// How many rows were published, where the files for programs have more than the document.
    pub row_count: Option<u64>,
}

/// All that a charge has published, if its files are there as they were.
pub fn stored(out: &Path, charge: &Charge) -> Result<StoredAnswers, OutputError> {
    let bytes = published_file(out, charge, "json")?;
    let StoredDocument { answers, report } = serde_json::from_slice(&bytes).map_err(|_| OutputError::unreadable())?;
    let mut facts = answers.as_object().cloned().unwrap_or_default();
    let Some(Value::Array(first)) = facts.remove("rows") else { return Err(OutputError::unreadable()) };
    let row_count = facts.get("row_count").and_then(Value::as_u64);
    let document = Document { rows: first.len(), first, facts, report };
    let (table, ..) = of_document(&document).ok_or_else(OutputError::other_version)?;
    Ok(StoredAnswers { answers: table, document: answers, row_count })
}

/// The JSON file of a release, with all of its rows.
#[derive(Deserialize)]
struct StoredDocument {
    #[serde(default)]
    answers: Value,
    #[serde(default)]
    report: Value,
}

/// The bytes of a charge's file of this form (`csv`, `parquet`, `json`), which are what was published.
pub fn published_file(out: &Path, charge: &Charge, end: &str) -> Result<Vec<u8>, OutputError> {
    found(out, charge, end).map(|(_, bytes)| bytes)
}

/// The same, and where they are: in their place, or among the earlier files.
fn found(out: &Path, charge: &Charge, end: &str) -> Result<(PathBuf, Vec<u8>), OutputError> {
    let incomplete = || OutputError::new(OutputErrorKind::Incomplete, "charged, and not completed");
    let output = charge.state.output().ok_or_else(incomplete)?;
    if !FILE_ENDS.contains(&end) {
        let sentence = format!("there is no file .{end} of an answer");
        return Err(OutputError::new(OutputErrorKind::NoSuchForm, sentence));
    }
    let mut places: Vec<PathBuf> = names(charge, end).iter().map(|name| out.join(name)).collect();
    let is_there = places.iter().any(|place| place.exists());
    places.extend(kept_places(out, charge, end));
    for place in places {
        if let Ok(bytes) = std::fs::read(&place)
            && is_published(output, end, &crate::digest(&bytes))
        {
            return Ok((place, bytes));
        }
    }
    Err(match is_there {
        true => OutputError::new(OutputErrorKind::Changed, "its files are not what was published"),
        false => OutputError::new(OutputErrorKind::Missing, "its files are not in this folder"),
    })
}

/// The names that a charge's file of a form may have.
fn names(charge: &Charge, end: &str) -> Vec<String> {
    let ends = |name: &String| name.rsplit_once('.').is_some_and(|(_, own)| own == end);
    known_file_names(&charge.release).into_iter().flatten().filter(ends).collect()
}

/// Where a charge's file may be once another has its place.
fn kept_places(out: &Path, charge: &Charge, end: &str) -> Vec<PathBuf> {
    let Some(output) = charge.state.output() else { return Vec::new() };
    let digest = output.files.get(end).or_else(|| Some(&output.values).filter(|_| end == "csv"));
    let names = names(charge, end);
    let of_charge = names.iter().filter_map(|name| earlier(out, name, charge));
    let by_digest = digest.into_iter().flat_map(|digest| names.iter().map(|name| unknown_earlier(out, name, digest)));
    of_charge.chain(by_digest).collect()
}

fn of_document(document: &Document) -> Option<(Answers, Vec<Floor>, ReleasedStatistic)> {
    let report = ReportPart::deserialize(&document.report).ok()?;
    let kinds = report.columns.iter().filter_map(|column| Some((column.name.clone(), column.kind?))).collect();
    let columns = report.columns.into_iter().map(|ColumnPart { name, noisy, .. }| {
        let cells = document.first.iter().map(|row| cell(&row[&name])).collect();
        let uncertainty = noisy.then(|| document.first.iter().map(|row| uncertainty(row, &name)).collect());
        AnswerColumn { name, cells, uncertainty }
    });
    let mut facts: Map<String, Value> = document.facts.clone();
    let notes = facts.remove("notes").and_then(|notes| serde_json::from_value(notes).ok()).unwrap_or_default();
    let details = Details {
        curve: report.curve,
        roles: report.roles,
        facts,
        limits: Vec::new(),
        long: None,
        drawn: report.drawn.map(IntervalChart::from),
        kinds,
    };
    Some((Answers { columns: columns.collect(), notes, details }, report.limits, report.counted))
}

fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Bool(truth) => Cell::Truth(*truth),
        Value::String(text) => Cell::Text(text.as_str().into()),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Cell::Whole(i128::from(whole)),
            None => Cell::Number(number.as_f64().unwrap_or(f64::NAN)),
        },
        other => Cell::Text(other.to_string().into()),
    }
}

fn uncertainty(row: &Value, name: &str) -> Uncertainty {
    let number = |value: &Value, unbounded: f64| match value.as_str() {
        Some(UNBOUNDED) => unbounded,
        _ => value.as_f64().unwrap_or(f64::NAN),
    };
    let interval = &row[format!("{name}_interval")];
    Uncertainty {
        standard_error: number(&row[format!("{name}_error")], f64::INFINITY),
        low: number(&interval[0], f64::NEG_INFINITY),
        high: number(&interval[1], f64::INFINITY),
    }
}

#[cfg(test)]
mod tests;
