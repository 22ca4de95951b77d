//! The JSON file of a release, and the part of it that reports are made of, written and read.

use crate::attackers::ReleasedStatistic;
use crate::ledger::Pass;
use crate::project::Request;
use crate::release::floor::Floor;
use crate::release::output::{AnswerColumn, Answers, BandedCurve, ColumnKind, ColumnRole, IntervalChart};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What reports need beside the answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReportPart {
    pub columns: Vec<ColumnPart>,
    #[serde(default, deserialize_with = "if_known", skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, ColumnRole>,
    #[serde(default, deserialize_with = "if_known")]
    pub curve: Option<BandedCurve>,
    #[serde(default, deserialize_with = "if_known")]
    pub drawn: Option<DrawnPart>,
    pub limits: Vec<Floor>,
    pub counted: ReleasedStatistic,
}

/// A column of the answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ColumnPart {
    pub name: String,
    pub noisy: bool,
    /// What its cells are, where they do not say so by themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ColumnKind>,
}

/// What is drawn: label, column, title and the ends of intervals, in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DrawnPart(String, String, String, Option<[String; 2]>);

impl From<IntervalChart> for DrawnPart {
    fn from(IntervalChart { label, column, ends, title }: IntervalChart) -> Self {
        Self(label, column, title, ends)
    }
}

impl From<DrawnPart> for IntervalChart {
    fn from(DrawnPart(label, column, title, ends): DrawnPart) -> Self {
        Self { label, column, ends, title }
    }
}

/// A picture that another version wrote in another form is left out, and the numbers are shown.
fn if_known<'de, D: Deserializer<'de>, T: serde::de::DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    let value = Value::deserialize(from).map_err(D::Error::custom)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// The JSON file of a release.
#[derive(Serialize)]
struct ReleaseDocument<'a> {
    release: &'a str,
    kind: &'a str,
    sequence: u64,
    ledger_head: String,
    answers: Value,
    report: ReportPart,
}

/// The JSON document of answers, with the head of the ledger that lets them be seen.
pub(crate) fn release_document(
    request: &Request,
    pass: &Pass,
    answers: &Answers,
    limits: &[Floor],
    counted: &ReleasedStatistic,
) -> Value {
    json!(ReleaseDocument {
        release: &request.name,
        kind: &request.kind,
        sequence: pass.sequence(),
        ledger_head: pass.head().hex(),
        answers: answers.json(),
        report: part(answers, limits, counted),
    })
}

/// The part of these answers.
pub(super) fn part(answers: &Answers, limits: &[Floor], counted: &ReleasedStatistic) -> ReportPart {
    let column = |column: &AnswerColumn| ColumnPart {
        name: column.name.clone(),
        noisy: column.uncertainty.is_some(),
        kind: Some(answers.kind(column)).filter(|kind| *kind != column.own_kind()),
    };
    let details = &answers.details;
    ReportPart {
        columns: answers.columns.iter().map(column).collect(),
        roles: details.roles.clone(),
        curve: details.curve.clone(),
        drawn: details.drawn.clone().map(DrawnPart::from),
        limits: limits.to_vec(),
        counted: counted.clone(),
    }
}
