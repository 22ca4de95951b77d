//! The JSON file of a release; only its first rows are held in memory, because a file of synthetic rows is hundreds of
//! megabytes long.

use crate::release::run::published::MOST_ROWS;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
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
        deserializer.deserialize_map(DocumentSeed)
    }
}

struct DocumentSeed;

impl<'de> Visitor<'de> for DocumentSeed {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the JSON file of a release")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
        let mut document = Document::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "answers" => {
                    let AnswerFields { rows, facts } = map.next_value()?;
                    (document.first, document.rows, document.facts) = (rows.first, rows.number, facts);
                }
                "report" => document.report = map.next_value()?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(document)
    }
}

/// The field `answers`.
struct AnswerFields {
    rows: DocumentRows,
    facts: Map<String, Value>,
}

impl<'de> Deserialize<'de> for AnswerFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(DocumentFields)
    }
}

struct DocumentFields;

impl<'de> Visitor<'de> for DocumentFields {
    type Value = AnswerFields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answers of a release")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AnswerFields, A::Error> {
        let mut answered = AnswerFields { rows: DocumentRows::default(), facts: Map::new() };
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "rows" => answered.rows = map.next_value()?,
                _ => drop(answered.facts.insert(key, map.next_value()?)),
            }
        }
        Ok(answered)
    }
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
