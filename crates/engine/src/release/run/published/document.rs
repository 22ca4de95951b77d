//! The JSON file of a release, of which only the first rows are held: one of synthetic rows is hundreds of megabytes long.

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
        deserializer.deserialize_map(Whole)
    }
}

struct Whole;

impl<'de> Visitor<'de> for Whole {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the JSON file of a release")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
        let mut document = Document::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "answers" => {
                    let Answered { rows, facts } = map.next_value()?;
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
struct Answered {
    rows: Rows,
    facts: Map<String, Value>,
}

impl<'de> Deserialize<'de> for Answered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Answered;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answers of a release")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Answered, A::Error> {
        let mut answered = Answered { rows: Rows::default(), facts: Map::new() };
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
struct Rows {
    first: Vec<Value>,
    number: usize,
}

impl<'de> Deserialize<'de> for Rows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(List)
    }
}

struct List;

impl<'de> Visitor<'de> for List {
    type Value = Rows;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Rows, A::Error> {
        let mut rows = Rows::default();
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
