//! Conjunctions of literals over binary attributes, by statistical queries (survey 7.8.4).
//!
//! For each of the 2d literals (an attribute, or its negation) the share of rows is asked for that have label 1 and
//! make it false. A literal of the true conjunction has share 0 there, so that it is kept; what is kept has at most
//! twice the tolerance t, so that what is learnt errs on at most 4dt of the rows, on positive ones only. A row with
//! label 1 makes exactly one literal of each attribute false, and others none: the counts move by d cells of 1 for
//! presence, 2d for a person, d for the label, and 2 for each attribute that changes.

use super::Example;
use super::query::{QueryBatch, StatisticalQueries};
use crate::error::Result;
use crate::event::{Shift, Touch};
use crate::quantity::Beta;
use crate::scope::AttributeSet;

/// The literals that must all be true, as an attribute's number and the value that it must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conjunction {
    literals: Vec<(usize, bool)>,
}

/// More attributes are refused.
pub const MOST_ATTRIBUTES: usize = 100_000;

impl Conjunction {
    /// The literals.
    pub fn literals(&self) -> &[(usize, bool)] {
        &self.literals
    }

    /// Whether all literals are true of a row.
    pub fn predicts(&self, row: &Example) -> bool {
        self.literals.iter().all(|(attribute, value)| row.attribute(*attribute) == *value)
    }

    /// Whether no row makes it true: an attribute must be both 0 and 1.
    pub fn is_never(&self) -> bool {
        self.literals.windows(2).any(|pair| pair[0].0 == pair[1].0)
    }
}

/// The literals that a row with label 1 makes false: 2j for attribute j itself, 2j + 1 for its negation.
fn falsified(row: &Example, attributes: usize, cells: &mut Vec<usize>) {
    if row.label() {
        cells.extend((0..attributes).map(|j| 2 * j + usize::from(row.attribute(j))));
    }
}

/// Runs `with` on the batch of all literals of `attributes` attributes; `names` are those of the attributes and then
/// the label, or nothing.
///
/// # Guarantee
/// A change of one attribute moves two cells, of several two for each, of the label all d (module documentation).
pub fn with_batch<T>(
    attributes: usize,
    names: &[AttributeSet],
    with: impl FnOnce(&QueryBatch<'_, Example>) -> Result<T>,
) -> Result<T> {
    if !(1..=MOST_ATTRIBUTES).contains(&attributes) {
        refuse!("conjunctions are over 1 to {MOST_ATTRIBUTES} attributes, not {attributes}");
    }
    refuse_if!(!names.is_empty() && names.len() != attributes + 1, "give a name for each attribute and for the label");
    let of = |row: &Example, cells: &mut Vec<usize>| falsified(row, attributes, cells);
    let touch = |(place, set): (usize, &AttributeSet)| {
        let cells = if place < attributes { 2 } else { attributes as u64 };
        Ok(Touch { attributes: set.clone(), shifts: vec![Shift::new(cells, 1.0)?] })
    };
    let touches = names.iter().enumerate().map(touch).collect::<Result<Vec<_>>>()?;
    with(&QueryBatch::new(2 * attributes, attributes, &of)?.with_touches(touches))
}

/// Learns from one batch; with probability 1 − β, if some conjunction is right on all rows, what is learnt errs on at
/// most [`error`] of them.
///
/// ```
/// use scumble::quantity::beta;
/// use scumble::learn::query::ExactQueries;
/// use scumble::learn::{Example, conjunction};
/// let row = |i: u32| Example::new(&[i & 1 == 1, i & 2 == 2, i & 4 == 4], i & 1 == 1 && i & 4 == 0);
/// let rows: Vec<Example> = (0..64).map(row).collect();
/// let learnt = conjunction::learn(&mut ExactQueries::new(&rows), 3, beta(0.05)?)?;
/// assert_eq!(learnt.literals(), [(0, true), (2, false)]);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn learn(provider: &mut impl StatisticalQueries<Example>, attributes: usize, beta: Beta) -> Result<Conjunction> {
    with_batch(attributes, &[], |batch| {
        let tolerance = provider.batch_tolerance(batch, beta)?;
        let answers = provider.ask_all(batch)?;
        Ok(kept(&answers, tolerance))
    })
}

/// The conjunction of the literals whose answers are within the tolerance.
pub fn kept(answers: &[f64], tolerance: f64) -> Conjunction {
    let is_kept = |(_, answer): &(usize, &f64)| **answer <= tolerance;
    let literals =
        answers.iter().enumerate().filter(is_kept).map(|(cell, _)| (cell / 2, cell.is_multiple_of(2))).collect();
    Conjunction { literals }
}

/// On how large a share of the rows what is learnt errs at most: 4dt.
pub fn error(provider: &impl StatisticalQueries<Example>, attributes: usize, beta: Beta) -> Result<f64> {
    let tolerance = with_batch(attributes, &[], |batch| provider.batch_tolerance(batch, beta))?;
    Ok((4.0 * attributes as f64 * tolerance).min(1.0))
}
