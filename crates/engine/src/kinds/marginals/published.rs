//! What a release of marginals publishes, by which names.

use crate::release::Cell;

/// What is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarginalsForm {
    /// Tables: unbiased estimates with their error bars, and beside them those of the fitted model, which have none.
    Tables,
    /// Tables of unbiased estimates alone.
    UnbiasedTables,
    /// Tables of the fitted model alone.
    FittedTables,
    /// Rows.
    Rows,
}

impl MarginalsForm {
    /// The columns that are published beside the attributes.
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Rows => &[],
            _ => &[ESTIMATE, "estimate_error", "estimate_interval", FITTED, "fitted_error", "fitted_interval"],
        }
    }

    /// Whether unbiased estimates are wanted, where there are any.
    pub fn has_estimates(self) -> bool {
        matches!(self, Self::Tables | Self::UnbiasedTables)
    }

    /// What the counts are called, where there are only those of the model or also others.
    pub fn counts(self, is_fitted: bool) -> &'static str {
        match self {
            Self::Rows => "counts of rows",
            Self::Tables | Self::UnbiasedTables if !is_fitted => ESTIMATE,
            _ => FITTED,
        }
    }

    /// Whether the fitted table is wanted.
    pub fn has_model(self) -> bool {
        self != Self::UnbiasedTables
    }
}

/// The unbiased column.
pub(crate) const ESTIMATE: &str = "estimate";

/// The fitted column.
pub(crate) const FITTED: &str = "fitted";

/// The names of attributes and values.
pub(crate) struct Labels<'a> {
    pub names: &'a [String],
    pub values: &'a [Vec<Cell>],
}

impl Labels<'_> {
    pub(crate) fn value(&self, attribute: usize, code: u32) -> Cell {
        self.values.get(attribute).and_then(|values| values.get(code as usize)).cloned().unwrap_or(Cell::Null)
    }
}

/// The error bar of each cell of a table.
pub(crate) struct Bar {
    pub standard_error: f64,
    /// Of the 95% interval.
    pub half_width: f64,
}
