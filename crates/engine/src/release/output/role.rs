//! What published columns are, for charts: a picture depends on what a number is, not on how it looks.

use serde::{Deserialize, Serialize};

/// What a published column is. A column without a role is not drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnRole {
    /// What rows are grouped by.
    Key,
    /// A count or a sum: drawn from zero.
    Amount {
        /// The column that is summed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<String>,
    },
    /// A mean, a spread, the least or the largest value: drawn where it is.
    Level {
        /// The column whose values these are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<String>,
    },
    /// The value that this share of the values is at most.
    Quantile {
        /// The column whose values these are.
        of: String,
        /// The share.
        share: f64,
    },
    /// A number that a query computes from others.
    Derived,
}

impl ColumnRole {
    /// The declared column whose unit its numbers have.
    pub fn of(&self) -> Option<&str> {
        match self {
            Self::Amount { of } | Self::Level { of } => of.as_deref(),
            Self::Quantile { of, .. } => Some(of),
            Self::Key | Self::Derived => None,
        }
    }
}
