//! Who asked: beside a charge, and, where asking cost nothing, as an entry of its own, so that the chain holds what was
//! asked and refused too.
//!
//! Remarks may be many, and sums are looked for from the end of the chain downwards: each remark says where the entries
//! before its run of remarks end (`since`), so that a reader passes over all of them at once. The hash of a remark
//! covers that, and `ledger verify` compares it.

use crate::body::{Entry, Link, RemarkEntry, RequestOriginEntry};
use crate::chain::Head;
use crate::field::Field;

/// Who asked for a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestOrigin {
    /// Their name.
    pub by: String,
    /// The digest of the question, whatever the release is called.
    pub question: String,
    /// The digest of the request's own key: what comes again with it is not charged again.
    pub key: Option<String>,
}

impl RequestOrigin {
    pub(crate) fn entry(&self) -> RequestOriginEntry {
        RequestOriginEntry {
            by: Field::Here(self.by.clone()),
            key: self.key.clone().into(),
            question: Field::Here(self.question.clone()),
        }
    }

    /// None if the entry names no analyst.
    pub(crate) fn read(field: &Field<RequestOriginEntry>, sequence: u64) -> Result<Option<Self>, String> {
        if field.is_empty() {
            return Ok(None);
        }
        let read = field.get().and_then(|entry| {
            Some(Self { by: entry.by.text()?, question: entry.question.text()?, key: entry.key.text() })
        });
        read.map(Some).ok_or_else(|| format!("entry {sequence} does not say who asked what"))
    }
}

/// A question that cost nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemarkContent {
    /// Who asked.
    pub by: String,
    /// What: a query, or the name of a release.
    pub what: String,
    /// What it might have cost.
    pub cost: String,
    /// The digest of the request's own key.
    pub key: Option<String>,
    /// What came of it.
    pub came: RemarkOutcome,
}

/// What came of a question that cost nothing.
// Exhaustive on purpose: a match in another crate must decide about every variant, so a new one may not pass unseen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemarkOutcome {
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
    pub remarked: RemarkContent,
}

impl RemarkContent {
    /// The entry; `since` is the head without the remarks at the end.
    pub(crate) fn entry(&self, time: String, since: &Head) -> Entry {
        let (of, why) = match &self.came {
            RemarkOutcome::Stored(of) | RemarkOutcome::Planned(of) => (Some(*of), None),
            RemarkOutcome::Refused(why) => (None, Some(why.clone())),
        };
        Entry::Asked(RemarkEntry {
            by: Field::Here(self.by.clone()),
            cost: Field::Here(self.cost.clone()),
            key: self.key.clone().into(),
            of: of.into(),
            planned: Field::if_any(matches!(self.came, RemarkOutcome::Planned(_)).then_some(true)),
            since: Field::Here(Link::to(since)),
            time: Field::Here(time),
            what: Field::Here(self.what.clone()),
            why: why.into(),
        })
    }
}

impl RemarkEntry {
    /// Where the entries before a run of remarks end; it is before the remark itself, or the ledger is damaged.
    pub fn since(&self, sequence: u64) -> Result<Head, String> {
        let since = self.since.get().and_then(Link::head).filter(|since| since.entries < sequence);
        since.ok_or_else(|| format!("entry {sequence} does not say where the entries before it end"))
    }

    /// The remark, which was verified to stand after `end`, the last entry that is not a remark.
    pub fn remark(&self, sequence: u64, end: &Head) -> Result<Remark, String> {
        if self.since(sequence)? != *end {
            return Err(format!("entry {sequence} is wrong about where the entries before it end"));
        }
        let came = match (self.of.get(), self.why.text()) {
            (Some(of), None) if self.planned.get() == Some(&true) => Some(RemarkOutcome::Planned(*of)),
            (Some(of), None) => Some(RemarkOutcome::Stored(*of)),
            (None, Some(why)) => Some(RemarkOutcome::Refused(why)),
            _ => None,
        };
        let read = || {
            let (by, what, cost) = (self.by.text()?, self.what.text()?, self.cost.text()?);
            let remarked = RemarkContent { by, what, cost, key: self.key.text(), came: came? };
            Some(Remark { sequence, time: self.time.text()?, remarked })
        };
        read().ok_or_else(|| format!("entry {sequence} has a form that this version does not know"))
    }
}
