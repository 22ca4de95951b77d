//! Statistical queries (survey 7.8.4): a learner asks for means over the rows and never sees a row.
//!
//! One trait, three providers: [`CentralQueries`] (noise on the sums of a curator), [`LocalQueries`] (a randomized bit
//! of each owner; every ask gets owners of its own, so that the owners are split and not the budget) and
//! [`ExactQueries`] (no privacy: for tests and for comparing). A learner that is written once runs on all of them.
//!
//! Where we differ from the survey: a sum of numbers in [0, 1] moves by 1 when an owner is added, removed or replaced,
//! not by 2.
//!
//! ```
//! use scumble::quantity::{beta, epsilon};
//! use scumble::learn::query::{CentralQueries, ExactQueries, StatisticalQueries, UNIT};
//! use scumble::noise::InsecureSeededSource;
//! use scumble::{Scope, Target};
//! let ages: Vec<u32> = (0..1000).map(|i| i % 90).collect();
//! let is_old = |age: &u32| if *age >= 60 { UNIT } else { 0 };
//! let exact = ExactQueries::new(&ages).ask(&is_old)?;
//! let mut bits = InsecureSeededSource::new(1);
//! let mut central = CentralQueries::within(Target::pure(epsilon(1.0)?), Scope::Person, &ages, 1, &mut bits)?;
//! let tolerance = central.tolerance(1, beta(1e-9)?)?;
//! assert!((central.ask(&is_old)? - exact).abs() <= tolerance);
//! assert!(central.ask(&is_old).is_err(), "one ask was paid for");
//! # Ok::<(), scumble::Error>(())
//! ```

use crate::error::{Error, Result};
use crate::event::{Event, Moves, Shift, Touch};
use crate::quantity::Beta;
use crate::scope::Scope;

mod central;
mod local;

pub use central::CentralQueries;
pub use local::LocalQueries;

/// Answers to a row are whole multiples of 1/`UNIT`.
pub const UNIT: u32 = crate::parties::local::mean::UNIT;

/// A number from 0 to [`UNIT`] for each row; what is larger counts as [`UNIT`].
pub type QueryFunction<'a, Row> = &'a dyn Fn(&Row) -> u32;

/// Somebody who answers statistical queries about the same rows.
pub trait StatisticalQueries<Row> {
    /// How many rows there are; a number that is public.
    fn rows(&self) -> u64;

    /// About the mean of `function`/[`UNIT`] over the rows. Refused as exhausted when there is nothing left to answer
    /// with.
    fn ask(&mut self, function: QueryFunction<'_, Row>) -> Result<f64>;

    /// About the share of rows in each cell of a batch, all at once.
    fn ask_all(&mut self, batch: &QueryBatch<'_, Row>) -> Result<Vec<f64>>;

    /// With probability 1 − β this many answers of [`StatisticalQueries::ask`] are all within this of the truth.
    fn tolerance(&self, answers: u64, beta: Beta) -> Result<f64>;

    /// With probability 1 − β all answers to the batch are within this of the truth.
    fn batch_tolerance(&self, batch: &QueryBatch<'_, Row>, beta: Beta) -> Result<f64>;
}

/// Many counts that one row moves few of: cells, and which of them a row is in.
pub struct QueryBatch<'a, Row> {
    cells: usize,
    most: usize,
    touches: Vec<Touch>,
    of: &'a dyn Fn(&Row, &mut Vec<usize>),
}

impl<'a, Row> QueryBatch<'a, Row> {
    /// `of` lists the cells that a row is in. Of each row the first `most` that exist count, so that no row moves more.
    pub fn new(cells: usize, most: usize, of: &'a dyn Fn(&Row, &mut Vec<usize>)) -> Result<Self> {
        if cells == 0 || most == 0 || most > cells {
            refuse!("a batch has at least 1 cell, and a row is in 1 to {cells} of them, not {most}");
        }
        Ok(Self { cells, most, touches: Vec::new(), of })
    }

    /// The same where less moves when only some attributes of a row change.
    ///
    /// # Guarantee
    /// The caller guarantees that a change of these attributes moves at most the cells given here, and that an
    /// attribute in several touches moves at most the cells of all these touches together.
    pub fn with_touches(self, touches: Vec<Touch>) -> Self {
        Self { touches, ..self }
    }

    /// How many cells there are.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// How far the counts move: `most` cells by 1 for presence, twice as many for a person. In the scope of some
    /// attributes, by the sum of what each of these moves: moves of one event are alternatives and the worst counts, so
    /// they are made for the scope in question.
    pub fn moves(&self, scope: &Scope) -> Result<Moves> {
        let one = Shift::new(self.most as u64, 1.0)?;
        let two = Shift::new(2 * self.most as u64, 1.0)?;
        let mut touches = Vec::new();
        if let Scope::Attributes(set) = scope.members().0 {
            let touched = self.touches.iter().filter(|touch| touch.attributes.touches(set));
            let shifts: Vec<&Shift> = touched.flat_map(|touch| &touch.shifts).collect();
            let cells = shifts.iter().map(|shift| shift.cells).fold(0, u64::saturating_add);
            let by = shifts.iter().map(|shift| shift.by.get()).fold(0.0, f64::max);
            touches.push(Touch { attributes: set.clone(), shifts: vec![Shift::new(cells, by)?] });
        }
        Ok(Moves::by_scope(vec![one], vec![two], touches))
    }

    /// What noise on all counts is, for a ledger: an event for presence and persons, and one for each touch, so that a
    /// change of several is charged all of them.
    fn events(&self, noise: &Event) -> Result<Vec<Event>> {
        let mut events = vec![noise.clone().moving(self.moves(&Scope::Person)?)];
        for touch in &self.touches {
            let alone = Moves::as_written(Vec::new(), Vec::new(), vec![touch.clone()]);
            events.push(noise.clone().moving(alone));
        }
        Ok(events)
    }

    /// The cells of a row, bounded.
    fn of(&self, row: &Row, cells: &mut Vec<usize>) {
        cells.clear();
        (self.of)(row, cells);
        cells.retain(|cell| *cell < self.cells);
        cells.sort_unstable();
        cells.dedup();
        cells.truncate(self.most);
    }

    fn counts(&self, rows: &[Row]) -> Vec<i64> {
        let mut counts = vec![0; self.cells];
        let mut cells = Vec::new();
        for row in rows {
            self.of(row, &mut cells);
            cells.iter().for_each(|cell| counts[*cell] += 1);
        }
        counts
    }
}

/// Answers without noise: nothing is private.
#[derive(Debug, Clone)]
pub struct ExactQueries<'a, Row> {
    rows: &'a [Row],
}

impl<'a, Row> ExactQueries<'a, Row> {
    /// The rows as they are.
    pub fn new(rows: &'a [Row]) -> Self {
        Self { rows }
    }
}

/// The sum of a function over rows, in units.
fn sum<Row>(rows: &[Row], function: QueryFunction<'_, Row>) -> i64 {
    rows.iter().map(|row| i64::from(function(row).min(UNIT))).sum()
}

impl<Row> StatisticalQueries<Row> for ExactQueries<'_, Row> {
    fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    fn ask(&mut self, function: QueryFunction<'_, Row>) -> Result<f64> {
        at_least_one(self.rows.len())?;
        Ok(sum(self.rows, function) as f64 / f64::from(UNIT) / self.rows.len() as f64)
    }

    fn ask_all(&mut self, batch: &QueryBatch<'_, Row>) -> Result<Vec<f64>> {
        at_least_one(self.rows.len())?;
        Ok(batch.counts(self.rows).into_iter().map(|count| count as f64 / self.rows.len() as f64).collect())
    }

    fn tolerance(&self, _answers: u64, _beta: Beta) -> Result<f64> {
        Ok(0.0)
    }

    fn batch_tolerance(&self, _batch: &QueryBatch<'_, Row>, _beta: Beta) -> Result<f64> {
        Ok(0.0)
    }
}

fn at_least_one(rows: usize) -> Result<()> {
    match rows {
        0 => Err(Error::refused("statistical queries need at least 1 row")),
        _ => Ok(()),
    }
}

fn exhausted(asks: u64) -> Error {
    Error::refused(format!("exhausted: {asks} asks were charged for, and all are answered"))
}

#[cfg(test)]
mod tests;
