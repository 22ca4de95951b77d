//! The bodies of entries, and the charges that they add up to.

use scumble::event::Event;
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
    /// The charge.
    pub events: Vec<Event>,
    /// What else is needed to check the events by hand.
    pub rule: Value,
}

impl Proposal {
    pub(super) fn body(&self, time: &str) -> String {
        let events: Vec<Value> = self.events.iter().map(event_to_json).collect();
        json!({
            "entry": "reserve",
            "time": time,
            "release": self.release,
            "kind": self.kind,
            "project": self.project,
            "engine": crate::ENGINE,
            "events": events,
            "rule": self.rule,
        })
        .to_string()
    }
}

/// What became of a charge. Both are spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The outputs are in place; their digest.
    Committed(String),
    /// The outputs may or may not have been seen: the process is still at work, or died.
    Interrupted,
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
    /// What became of it.
    pub state: State,
}

/// Reads verified bodies. An entry or event that is not known is an error: a charge is never skipped.
pub(super) fn charges(bodies: &[String]) -> Result<Vec<Charge>, String> {
    let mut charges: BTreeMap<u64, Charge> = BTreeMap::new();
    for (index, body) in bodies.iter().enumerate() {
        let sequence = index as u64 + 1;
        let value: Value = serde_json::from_str(body).map_err(|_| format!("entry {sequence} is not JSON"))?;
        match value["entry"].as_str() {
            Some("reserve") => {
                charges.insert(sequence, reservation(sequence, &value)?);
            }
            Some("commit") => {
                let charge = value["of"].as_u64().and_then(|of| charges.get_mut(&of));
                let charge = charge.ok_or_else(|| format!("entry {sequence} commits what was not reserved"))?;
                charge.state = State::Committed(text(&value, "output", sequence)?);
            }
            _ => return Err(format!("entry {sequence} is of a kind that this version does not know")),
        }
    }
    Ok(charges.into_values().collect())
}

fn reservation(sequence: u64, value: &Value) -> Result<Charge, String> {
    let place = scumble_wire::Place::at(&value["events"], format!("entry {sequence}, events"));
    let events = events_at(&place).map_err(|error| error.to_string())?;
    Ok(Charge {
        sequence,
        time: text(value, "time", sequence)?,
        release: text(value, "release", sequence)?,
        kind: text(value, "kind", sequence)?,
        events,
        rule: value["rule"].clone(),
        state: State::Interrupted,
    })
}

fn text(value: &Value, field: &str, sequence: u64) -> Result<String, String> {
    value[field].as_str().map(str::to_string).ok_or_else(|| format!("entry {sequence} has no '{field}'"))
}
