//! An expected error beside the least that anybody could promise: as it is printed, stored and read again.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// An expected error and the least that anybody could promise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "FloorDocument", into = "FloorDocument")]
#[non_exhaustive]
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
}

/// How it is stored: a number that is infinite is none.
#[derive(Serialize, Deserialize)]
struct FloorDocument {
    column: String,
    error: Cow<'static, str>,
    expected: Option<f64>,
    least_possible: Option<f64>,
    factor: Option<f64>,
    about: String,
}

impl From<Floor> for FloorDocument {
    fn from(floor: Floor) -> Self {
        let factor = floor.factor();
        let Floor { column, error, expected, least, about } = floor;
        Self { column, error, expected: Some(expected), least_possible: Some(least), factor, about }
    }
}

impl From<FloorDocument> for Floor {
    fn from(document: FloorDocument) -> Self {
        let FloorDocument { column, error, expected, least_possible, about, .. } = document;
        let number = |number: Option<f64>| number.unwrap_or(f64::INFINITY);
        Self { column, error, expected: number(expected), least: number(least_possible), about }
    }
}
