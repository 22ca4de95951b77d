//! How releases and columns are shown: titles, labels and units of charts. No number depends on any of it, so that it
//! can be changed without a charge.

use super::section::{Section, Spot};
use crate::error::Result;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// No title, label or unit is longer, in characters.
const LONGEST: usize = 200;

/// How a release is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Presentation {
    /// The title of its chart; its name if it has none.
    pub title: Option<String>,
    /// What its numbers count or measure, where their columns do not say.
    pub unit: Option<String>,
    /// Where the data are from.
    pub source: Option<String>,
    /// What published columns are called, by their names.
    pub labels: BTreeMap<String, String>,
}

impl Presentation {
    /// The keys of a release that no answer depends on.
    pub(crate) const KEYS: [&'static str; 4] = ["title", "unit", "source", "labels"];

    /// Their JSON schemas.
    pub(crate) fn schema() -> impl Iterator<Item = (String, Value)> {
        Self::KEYS.into_iter().map(|key| {
            let line = json!({ "type": "string", "minLength": 1, "maxLength": LONGEST });
            let mut schema = match key {
                "labels" => json!({ "type": "object", "additionalProperties": line }),
                _ => line,
            };
            schema["description"] = Self::about(key).into();
            (key.to_string(), schema)
        })
    }

    /// A key in one sentence.
    fn about(key: &str) -> &'static str {
        match key {
            "title" => "the title of the chart (default: the release's name)",
            "unit" => "what the numbers count or measure, where their columns do not say",
            "source" => "where the data are from, below the chart",
            _ => "what published columns are called in charts, by their names",
        }
    }

    /// What a release says of itself.
    pub(crate) fn read(section: &Section) -> Result<Self> {
        let mut labels = BTreeMap::new();
        if let Some(spot) = section.get("labels") {
            for (column, spot) in spot.section()?.iter() {
                labels.insert(column.to_string(), words(spot)?);
            }
        }
        let get = |key: &str| section.get(key).map(words).transpose();
        Ok(Self { title: get("title")?, unit: get("unit")?, source: get("source")?, labels })
    }
}

/// What readers call a column, and in which unit its numbers are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnWords {
    /// Its name for readers.
    pub label: Option<String>,
    /// The unit.
    pub unit: Option<String>,
}

impl ColumnWords {
    pub(super) fn read(section: &Section) -> Result<Self> {
        let get = |key: &str| section.get(key).map(words).transpose();
        Ok(Self { label: get("label")?, unit: get("unit")? })
    }
}

/// A line of text that can be printed.
pub(super) fn words(spot: &Spot) -> Result<String> {
    let text = spot.text()?.trim();
    if text.is_empty() || text.chars().count() > LONGEST || text.chars().any(char::is_control) {
        return Err(spot.error(format!("this must be one line of 1 to {LONGEST} characters")));
    }
    Ok(text.to_string())
}
