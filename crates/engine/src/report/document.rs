//! The report as JSON.

use super::guessing_attack::GuessingAttackDocument;
use super::limits::ReleaseLimit;
use super::reading::Readings;
use super::{Curve, Report, attackers, front, guessing_attack, limits, reading, text};
use crate::error::Result;
use crate::ledger::Charge;
use crate::release::run::published::{PublishedRelease, UnshownCharge};
use crate::summary::LedgerSummary;
use serde::Serialize;
use serde_json::Value;

/// A longer table is in its files alone.
const EMBEDDED_ROWS: usize = 1000;

/// `report.json`.
#[derive(Serialize)]
pub(super) struct ReportDocument<'a> {
    engine: &'static str,
    written: &'a str,
    pub(super) verdict: Vec<String>,
    project: String,
    project_digest: &'a str,
    ledger_head: String,
    ledger_entries: u64,
    /// Those that are not listed one by one.
    earlier_releases: u64,
    pub(super) summary: LedgerSummary,
    curves: Vec<Curve>,
    readings: Readings,
    releases: Vec<ReportedRelease<'a>>,
    not_shown: Vec<UnshownDocument<'a>>,
    attackers: Vec<attackers::AttackerDocument<'a>>,
    could_somebody: Vec<GuessingAttackDocument<'a>>,
    limits: Vec<ReleaseLimit<'a>>,
    rules: Vec<RuleDocument<'a>>,
    assumptions: Vec<String>,
}

/// What was published.
#[derive(Serialize)]
struct ReportedRelease<'a> {
    name: &'a str,
    kind: &'a str,
    sequence: u64,
    time: &'a str,
    sql: &'a Value,
    file: Option<String>,
    /// Whether it was paid for again since.
    replaced: bool,
    answers: EmbeddedAnswers,
}

/// Answers, without their rows where these are too many.
#[derive(Serialize)]
struct EmbeddedAnswers {
    #[serde(flatten)]
    answers: Value,
    #[serde(flatten)]
    rows: Option<LeftOutRows>,
    row_count: usize,
}

/// In the place of rows that stand in the files alone.
#[derive(Serialize)]
struct LeftOutRows {
    rows: Option<Vec<Value>>,
}

/// What was charged, and is not there.
#[derive(Serialize)]
struct UnshownDocument<'a> {
    name: &'a str,
    kind: &'a str,
    sequence: u64,
    time: &'a str,
    why: &'a str,
}

/// How the numbers of a charge were made.
#[derive(Serialize)]
struct RuleDocument<'a> {
    release: &'a str,
    sequence: u64,
    rule: &'a Value,
}

impl Report<'_> {
    /// The same as JSON.
    pub(super) fn document<'a>(
        &'a self,
        against: &'a [attackers::AttackerFinding],
        tried: &'a [guessing_attack::GuessingAttack],
    ) -> Result<ReportDocument<'a>> {
        let rule = |charge: &'a Charge| {
            let Charge { release, sequence, rule, .. } = charge;
            RuleDocument { release, sequence: *sequence, rule }
        };
        Ok(ReportDocument {
            engine: crate::ENGINE,
            written: &self.time,
            verdict: front::verdict(self)?,
            project: self.project.path.display().to_string(),
            project_digest: &self.project.digest,
            ledger_head: self.head.hex(),
            ledger_entries: self.head.entries,
            earlier_releases: self.earlier(),
            summary: self.summary()?,
            curves: self.curves()?,
            readings: reading::readings(self)?,
            releases: self.in_order().into_iter().map(published).collect(),
            not_shown: self.unshown.iter().map(unshown).collect(),
            attackers: against.iter().map(attackers::AttackerFinding::document).collect(),
            could_somebody: tried.iter().map(guessing_attack::GuessingAttack::document).collect(),
            limits: limits::json(self),
            rules: self.charges.iter().map(rule).collect(),
            assumptions: text::assumptions(self.project),
        })
    }
}

fn published(one: &PublishedRelease) -> ReportedRelease<'_> {
    let is_left_out = one.is_synthetic() || one.rows > EMBEDDED_ROWS;
    let Charge { release, kind, sequence, time, rule, .. } = &one.charge;
    ReportedRelease {
        name: release,
        kind,
        sequence: *sequence,
        time,
        sql: &rule["sql"],
        file: one.file.file_name().map(|name| name.to_string_lossy().into_owned()),
        replaced: one.is_replaced,
        answers: EmbeddedAnswers {
            answers: one.answers.json(),
            rows: is_left_out.then_some(LeftOutRows { rows: None }),
            row_count: one.rows,
        },
    }
}

fn unshown(one: &UnshownCharge) -> UnshownDocument<'_> {
    let Charge { release, kind, sequence, time, .. } = &one.charge;
    UnshownDocument { name: release, kind, sequence: *sequence, time, why: one.why.sentence() }
}
