//! Numbers as notebooks show them: those of the program's tables.

use pyo3::prelude::*;
use scumble_engine::release::{Cell, Uncertainty};

/// A noisy number rounded to its error, with its 95% margin or the ends of its interval.
#[pyfunction]
pub fn with_margin(number: f64, is_whole: bool, low: Option<f64>, high: Option<f64>) -> String {
    let cell = if is_whole { Cell::Whole(number as i128) } else { Cell::Number(number) };
    let [low, high] = [low, high].map(|end| end.unwrap_or(f64::NAN));
    cell.with_margin(Some(&Uncertainty { standard_error: f64::NAN, low, high }))
}
