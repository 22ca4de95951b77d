//! The bodies of entries, and the charges that they add up to.

use super::asked::{self, Asked, Remark};
use super::chain::{self, Head};
use super::declaration::Declarations;
use super::life::{Draws, Life};
use super::standing::LedgerState;
use scumble::event::Event;
use scumble::scope::AttributeSet;
use scumble_wire::{event_to_json, events_at};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a release asks the ledger to write down before it runs.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// The release's name.
    pub release: String,
    /// Its kind.
    pub kind: String,
    /// SHA-256 of the project file.
    pub project: Option<String>,
    /// The digest of what was declared; none where nobody will ask whether it is the same again.
    pub request: Option<String>,
    /// The charge.
    pub events: Vec<Event>,
    /// What else is needed to check the events by hand.
    pub rule: Value,
    /// What must be in force when it runs.
    pub about: About,
}

/// What a release runs under. What of it is new to the ledger becomes an entry before the charge.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The tables that it reads.
    pub tables: Declarations,
    /// The marks of their files, which have passed the check.
    pub data: BTreeMap<String, String>,
    /// The limits.
    pub budget: Value,
    /// Sets of attributes whose sums somebody will ask for.
    pub sets: Vec<AttributeSet>,
    /// Who asks for it, where that is known.
    pub asked: Option<Asked>,
    /// Whether whoever asks has limits of their own: then all that was charged for them is read and summed up.
    pub is_limited: bool,
    /// For what it pays. The entry `drawn` is written before anything that was drawn leaves the process: the same release may go on with a charge for one draw that has none.
    pub draws: Draws,
}

impl Proposal {
    /// The body of the reservation; `after` is the ledger's standing with it. The `nonce` is random: a ledger that was reset and is
    /// filled with the same releases has other heads.
    pub(super) fn body(&self, time: &str, nonce: &str, after: &LedgerState) -> String {
        let events: Vec<Value> = self.events.iter().map(event_to_json).collect();
        let mut body = json!({
            "entry": "reserve",
            "time": time,
            "nonce": nonce,
            "release": self.release,
            "kind": self.kind,
            "project": self.project,
            "request": self.request,
            "engine": crate::ENGINE,
            "events": events,
            "rule": self.rule,
            "one_draw": self.about.draws == Draws::One,
            "after": after.json(),
        });
        if let Some(asked) = &self.about.asked {
            body["asked"] = asked.json();
        }
        body.to_string()
    }
}

/// How far a charge has come. In every state it is spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChargeState {
    /// Nothing of it can have been seen: the process is still at work, failed, or died, and the same release may go on
    /// with it.
    Reserved,
    /// Something of it may have been seen, and nobody knows whether the outputs are in place. Charges of older
    /// versions, which do not say what was drawn, are here.
    Drawn,
    /// The outputs are in place; their digests.
    Committed(Output),
}

impl ChargeState {
    /// What was published; none where it is not known that the outputs are in place.
    pub fn output(&self) -> Option<&Output> {
        match self {
            Self::Committed(output) => Some(output),
            Self::Reserved | Self::Drawn => None,
        }
    }

    /// Where a charge is whose outputs are not known to be in place.
    pub(super) fn uncommitted(life: &Life) -> Self {
        if life.is_seen() { Self::Drawn } else { Self::Reserved }
    }
}

/// One reservation, as read back.
#[derive(Debug, Clone)]
pub struct Charge {
    /// Its place in the ledger.
    pub sequence: u64,
    /// When it was reserved.
    pub time: String,
    /// The release's name.
    pub release: String,
    /// Its kind.
    pub kind: String,
    /// The charge.
    pub events: Vec<Event>,
    /// What else is needed to check the events by hand.
    pub rule: Value,
    /// The digest of what was declared; older ledgers have none.
    pub request: Option<String>,
    /// Who asked for it, where that is known.
    pub asked: Option<Asked>,
    /// What became of it.
    pub state: ChargeState,
}

/// What was published, as its digests (SHA-256, hexadecimal).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Of the values: the bytes of the CSV file.
    pub values: String,
    /// Of each file, by the end of its name; ledgers of version 2 and before have none.
    pub files: BTreeMap<String, String>,
}

impl From<&str> for Output {
    /// The values alone.
    fn from(values: &str) -> Self {
        Self { values: values.to_string(), files: BTreeMap::new() }
    }
}

impl Output {
    /// The body of the commit of a reservation.
    pub(super) fn body(&self, of: u64, time: &str) -> String {
        let mut body = json!({ "entry": "commit", "time": time, "of": of, "output": self.values });
        if !self.files.is_empty() {
            body["files"] = json!(self.files);
        }
        body.to_string()
    }
}

/// The body of the entry that comes before anything drawn for a reservation leaves the process; of a round, with the number of the answer and the digest of the state that it leaves.
pub(super) fn drawn(of: u64, time: &str, nonce: &str, answer: Option<(u64, &str)>) -> Value {
    let mut body = json!({ "entry": "drawn", "time": time, "nonce": nonce, "of": of });
    if let Some((answer, state)) = answer {
        body["answer"] = answer.into();
        body["state"] = state.into();
    }
    body
}

/// The body of the entry that comes before a row is read for an answer of a round.
pub(super) fn reading(of: u64, time: &str, answer: u64) -> Value {
    json!({ "entry": "reading", "time": time, "of": of, "answer": answer })
}

/// All entries, read.
pub(super) struct History {
    pub(super) charges: Vec<Charge>,
    /// What was asked and cost nothing.
    pub(super) remarks: Vec<Remark>,
    pub(super) standing: LedgerState,
}

impl History {
    /// Reads verified bodies, and recomputes every sum that stands in them. An entry or event that is not known is an error: a charge
    /// is never skipped.
    pub(super) fn of(bodies: &[String]) -> Result<Self, String> {
        let (mut charges, mut lives): (BTreeMap<u64, Charge>, BTreeMap<u64, Life>) = Default::default();
        let (mut standing, mut remarks, mut since) = (LedgerState::nothing(), Vec::new(), Head::empty());
        for (body, link) in bodies.iter().zip(chain::heads(bodies).skip(1)) {
            let sequence = link.entries;
            let value = parsed(body, sequence)?;
            if asked::is_remark(&value) {
                remarks.push(asked::remark(&value, sequence, &since)?);
                continue;
            }
            since = link.clone();
            match value["entry"].as_str() {
                Some("reserve") => {
                    let charge = reservation(sequence, &value)?;
                    standing.charge(&charge.kind, &charge.events);
                    charges.insert(sequence, charge);
                    lives.insert(sequence, Life::of(&value));
                    compared(&mut standing, &value["after"], sequence, &charges)?;
                }
                Some(word @ ("reading" | "drawn" | "commit")) => {
                    let of = value["of"].as_u64().and_then(|of| charges.get_mut(&of).zip(lives.get_mut(&of)));
                    let (charge, life) = of.ok_or_else(|| out_of_order(word, sequence))?;
                    if !life.follow(&value) {
                        return Err(out_of_order(word, sequence));
                    }
                    if word == "commit" {
                        charge.state = ChargeState::Committed(committed(&value, sequence)?.1);
                    } else if charge.state.output().is_none() {
                        charge.state = ChargeState::uncommitted(life);
                    }
                }
                _ => standing.note(&value, link)?,
            }
        }
        Ok(Self { charges: charges.into_values().collect(), remarks, standing })
    }

    /// The events of each charge.
    pub(super) fn events(&self) -> impl Iterator<Item = &[Event]> + Clone {
        self.charges.iter().map(|charge| charge.events.as_slice())
    }
}

/// What is wrong with an entry that may not follow those before it.
pub(super) fn out_of_order(word: &str, sequence: u64) -> String {
    let says = match word {
        "reading" => "says that rows are read for a round that is over, or for no charge",
        "drawn" => "says that something was drawn for no charge, or a second time",
        _ => "commits what was not reserved, or not drawn",
    };
    format!("entry {sequence} {says}")
}

/// The sums that stand in an entry must be those of the entries so far. Those that another rule counted are left alone.
fn compared(
    standing: &mut LedgerState,
    after: &Value,
    sequence: u64,
    charges: &BTreeMap<u64, Charge>,
) -> Result<(), String> {
    if after.is_null() || after["rule"] != json!(crate::budget::RULE) || after["sums"].is_null() {
        return Ok(());
    }
    let sets = after["sums"]["sets"].as_array().into_iter().flatten().filter_map(|set| {
        let names = set["attributes"].as_array()?.iter().filter_map(Value::as_str);
        AttributeSet::new(names).ok()
    });
    let sets: Vec<AttributeSet> = sets.collect();
    standing.ask(&sets, charges.values().map(|charge| charge.events.as_slice()));
    if standing.wrote(after) {
        return Ok(());
    }
    Err(format!("the sums in entry {sequence} are not those of the entries up to it"))
}

pub(super) fn parsed(body: &str, sequence: u64) -> Result<Value, String> {
    serde_json::from_str(body).map_err(|_| format!("entry {sequence} is not JSON"))
}

/// Which reservation a commit is of, and the digests of its output.
pub(super) fn committed(value: &Value, sequence: u64) -> Result<(u64, Output), String> {
    let of = value["of"].as_u64().ok_or_else(|| format!("entry {sequence} commits what was not reserved"))?;
    let files = value["files"].as_object().into_iter().flatten();
    let files = files.filter_map(|(end, digest)| Some((end.clone(), digest.as_str()?.to_string())));
    Ok((of, Output { values: text(value, "output", sequence)?, files: files.collect() }))
}

pub(super) fn reservation(sequence: u64, value: &Value) -> Result<Charge, String> {
    let place = scumble_wire::Located::at(&value["events"], format!("entry {sequence}, events"));
    let events = events_at(&place).map_err(|error| error.to_string())?;
    Ok(Charge {
        sequence,
        time: text(value, "time", sequence)?,
        release: text(value, "release", sequence)?,
        kind: text(value, "kind", sequence)?,
        events,
        rule: value["rule"].clone(),
        request: value["request"].as_str().map(str::to_string),
        asked: Asked::from_json(&value["asked"], sequence)?,
        state: ChargeState::uncommitted(&Life::of(value)),
    })
}

fn text(value: &Value, field: &str, sequence: u64) -> Result<String, String> {
    value[field].as_str().map(str::to_string).ok_or_else(|| format!("entry {sequence} has no '{field}'"))
}
