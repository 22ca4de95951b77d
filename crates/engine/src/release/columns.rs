//! How kinds make the columns of their answers.

use crate::release::output::{AnswerColumn, Cell, Uncertainty};

impl AnswerColumn {
    /// A column of cells that have no noise of their own.
    pub(crate) fn plain(name: impl Into<String>, cells: impl IntoIterator<Item = Cell>) -> Self {
        Self { name: name.into(), cells: cells.into_iter().collect(), uncertainty: None }
    }

    /// A column of noisy cells, each with how unsure it is.
    pub(crate) fn noisy(name: impl Into<String>, cells: impl IntoIterator<Item = (Cell, Uncertainty)>) -> Self {
        let (cells, uncertainty) = cells.into_iter().unzip();
        Self { name: name.into(), cells, uncertainty: Some(uncertainty) }
    }

    /// A column of noisy cells, where no more is known of how unsure they are.
    pub(crate) fn of_unknown_error(name: impl Into<String>, cells: impl IntoIterator<Item = Cell>) -> Self {
        Self::noisy(name, cells.into_iter().map(|cell| (cell, Uncertainty::UNKNOWN)))
    }
}

impl Uncertainty {
    /// The number may be anything.
    pub(crate) const UNBOUNDED: Self =
        Self { standard_error: f64::INFINITY, low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// An interval of this half width around a number.
    pub(crate) fn around(number: f64, standard_error: f64, half_width: f64) -> Self {
        Self { standard_error, low: number - half_width, high: number + half_width }
    }
}
