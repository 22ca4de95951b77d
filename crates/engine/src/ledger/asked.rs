//! Who asked: beside a charge, and, where asking cost nothing, as an entry of its own, so that the chain holds what was asked and refused too.
//!
//! Remarks may be many, and sums are looked for from the end of the chain downwards: each remark says where the entries before its run of remarks
//! end (`since`), so that a reader passes over all of them at once. The hash of a remark covers that, and `ledger verify` compares it.

use super::chain::Head;
use crate::digest::{hex, unhex};
use serde_json::{Value, json};

/// The word of these entries.
const WORD: &str = "asked";

/// Who asked for a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Their name.
    pub by: String,
    /// The digest of the question, whatever the release is called.
    pub question: String,
    /// The digest of the request's own key: what comes again with it is not charged again.
    pub key: Option<String>,
}

impl Asked {
    pub(super) fn json(&self) -> Value {
        json!({ "by": self.by, "question": self.question, "key": self.key })
    }

    /// None where nobody is named.
    pub(super) fn from_json(shown: &Value, sequence: u64) -> Result<Option<Self>, String> {
        if shown.is_null() {
            return Ok(None);
        }
        let text = |key: &str| shown[key].as_str().map(str::to_string);
        let read = text("by").zip(text("question"));
        let (by, question) = read.ok_or_else(|| format!("entry {sequence} does not say who asked what"))?;
        Ok(Some(Self { by, question, key: text("key") }))
    }
}

/// A question that cost nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remarked {
    /// Who asked.
    pub by: String,
    /// What: a query, or the name of a release.
    pub what: String,
    /// What it might have cost.
    pub cost: String,
    /// The digest of the request's own key.
    pub key: Option<String>,
    /// What came of it.
    pub came: Outcome,
}

/// What came of a question that cost nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The answer of this entry, which was paid for before.
    Stored(u64),
    /// A refusal, in this sentence.
    Refused(String),
    /// A plan, which said that the answer of this entry is stored, and not what it is.
    Planned(u64),
}

/// A question that cost nothing, as read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Its place in the ledger.
    pub sequence: u64,
    /// When it was asked.
    pub time: String,
    /// Who asked what, and what came of it.
    pub remarked: Remarked,
}

impl Remarked {
    /// The body of the entry; `since` is the head without the remarks at the end.
    pub(super) fn body(&self, time: &str, since: &Head) -> String {
        let (of, why) = match &self.came {
            Outcome::Stored(of) => (Some(*of), None),
            Outcome::Refused(why) => (None, Some(why)),
            Outcome::Planned(of) => (Some(*of), None),
        };
        let since = json!({ "entry": since.entries, "hash": hex(&since.hash) });
        let mut body = json!({
            "entry": WORD, "time": time, "by": self.by, "what": self.what, "cost": self.cost, "key": self.key, "of": of, "why": why,
            "since": since,
        });
        if let Outcome::Planned(_) = self.came {
            body["planned"] = json!(true);
        }
        body.to_string()
    }
}

/// Whether an entry is a remark.
pub(super) fn is_remark(value: &Value) -> bool {
    value["entry"] == WORD
}

/// Where the entries before a run of remarks end; it is before the remark itself, or the ledger is damaged.
pub(super) fn since(value: &Value, sequence: u64) -> Result<Head, String> {
    let since = value["since"]["entry"].as_u64().zip(value["since"]["hash"].as_str().and_then(unhex));
    let since = since.filter(|(entries, _)| *entries < sequence);
    since
        .map(|(entries, hash)| Head { entries, hash })
        .ok_or_else(|| format!("entry {sequence} does not say where the entries before it end"))
}

/// A remark that was verified to stand behind `end`, the last entry that is none.
pub(super) fn remark(value: &Value, sequence: u64, end: &Head) -> Result<Remark, String> {
    if since(value, sequence)? != *end {
        return Err(format!("entry {sequence} says wrongly where the entries before it end"));
    }
    let unknown = || format!("entry {sequence} is of a form that this version does not know");
    let text = |key: &str| value[key].as_str().map(str::to_string);
    let came = match (value["of"].as_u64(), text("why")) {
        (Some(of), None) if value["planned"] == true => Outcome::Planned(of),
        (Some(of), None) => Outcome::Stored(of),
        (None, Some(why)) => Outcome::Refused(why),
        _ => return Err(unknown()),
    };
    let read = text("time").zip(text("by")).zip(text("what").zip(text("cost")));
    let ((time, by), (what, cost)) = read.ok_or_else(unknown)?;
    Ok(Remark { sequence, time, remarked: Remarked { by, what, cost, key: text("key"), came } })
}
