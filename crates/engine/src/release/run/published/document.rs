//! The JSON file of a release; only its first rows are held in memory, because a file of synthetic rows is hundreds of
//! megabytes long.

use crate::release::run::published::MOST_ROWS;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// What is held.
#[derive(Default)]
pub(crate) struct Document {
    /// The first rows.
    pub first: Vec<Value>,
    /// How many the file has.
    pub rows: usize,
    /// What the answer says beside its rows.
    pub facts: Map<String, Value>,
    /// The part for reports.
    pub report: Value,
}

impl Document {
    /// How many rows were published: of a long table the file has the first ones alone.
    pub fn all_rows(&self) -> usize {
        self.facts.get("row_count").and_then(Value::as_u64).map_or(self.rows, |rows| rows as usize)
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let DocumentFields { answers: AnswerFields { rows, facts }, report } = Deserialize::deserialize(deserializer)?;
        Ok(Self { first: rows.first, rows: rows.number, facts, report })
    }
}

/// The fields of the file that are looked at.
#[derive(Default, Deserialize)]
#[serde(default)]
struct DocumentFields {
    answers: AnswerFields,
    report: Value,
}

/// The field `answers`.
#[derive(Default, Deserialize)]
struct AnswerFields {
    #[serde(default)]
    rows: DocumentRows,
    #[serde(flatten)]
    facts: Map<String, Value>,
}

/// The first rows, and how many there are.
#[derive(Default)]
struct DocumentRows {
    first: Vec<Value>,
    number: usize,
}

impl<'de> Deserialize<'de> for DocumentRows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(RowListVisitor)
    }
}

struct RowListVisitor;

impl<'de> Visitor<'de> for RowListVisitor {
    type Value = DocumentRows;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<DocumentRows, A::Error> {
        let mut rows = DocumentRows::default();
        while rows.first.len() < MOST_ROWS
            && let Some(row) = list.next_element()?
        {
            rows.first.push(row);
        }
        rows.number = rows.first.len();
        while list.next_element::<IgnoredAny>()?.is_some() {
            rows.number += 1;
        }
        Ok(rows)
    }
}
