//! An expected error beside the least that anybody could promise: as it is printed, stored and read again.

use serde_json::{Value, json};
use std::borrow::Cow;

/// An expected error and the least that anybody could promise.
#[derive(Debug, Clone, PartialEq)]
pub struct Floor {
    /// The column.
    pub column: String,
    /// Which error.
    pub error: Cow<'static, str>,
    /// This release's; infinite where it depends on the data.
    pub expected: f64,
    /// No mechanism with the same guarantee can promise less for every table.
    pub least: f64,
    /// The guarantee that was compared at, and what is known about the bound.
    pub about: String,
}

impl Floor {
    /// How many times the least possible error the expected one is; none where the bound says nothing.
    pub fn factor(&self) -> Option<f64> {
        (self.least > 0.0 && self.expected.is_finite()).then(|| self.expected / self.least)
    }

    /// Whether nothing among these says more about the same error of the same column.
    pub fn is_strongest(&self, all: &[Self]) -> bool {
        let stronger =
            |other: &&Self| other.column == self.column && other.error == self.error && other.least > self.least;
        !all.iter().any(|other| stronger(&other))
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        json!({
            "column": self.column, "error": self.error, "expected": self.expected, "least_possible": self.least,
            "factor": self.factor(), "about": self.about,
        })
    }

    /// What [`Floor::json`] wrote.
    pub(crate) fn from_json(shown: &Value) -> Option<Self> {
        let text = |key: &str| shown[key].as_str().map(str::to_string);
        let number = |key: &str| Some(shown[key].as_f64().unwrap_or(f64::INFINITY));
        Some(Self {
            column: text("column")?,
            error: text("error")?.into(),
            expected: number("expected")?,
            least: number("least_possible")?,
            about: text("about")?,
        })
    }
}
