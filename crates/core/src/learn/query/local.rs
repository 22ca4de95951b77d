//! The local model: each query is answered by its own group of owners, each with one randomized bit.

use super::{QueryBatch, QueryFunction, StatisticalQueries, UNIT, at_least_one, exhausted};
use crate::error::Result;
use crate::event::Event;
use crate::noise::{BitSource, permutation};
use crate::parties::local::mean::Mean;
use crate::quantity::{Beta, Epsilon};
use crate::scope::AttributeSet;

/// Splits the owners at random among `asks` asks; a cell of a batch is an ask.
pub struct LocalQueries<'a, Row, S: BitSource + ?Sized> {
    rows: &'a [Row],
    order: Vec<u64>,
    mean: Mean,
    asks: u64,
    asked: u64,
    bits: &'a mut S,
}

impl<'a, Row, S: BitSource + ?Sized> LocalQueries<'a, Row, S> {
    /// Reports of this ε, and at most `asks` asks.
    ///
    /// # Guarantee
    /// Before: one row belongs to one owner. After: every owner has sent at most one bit, which costs what
    /// [`LocalQueries::events`] says.
    pub fn new(rows: &'a [Row], epsilon: Epsilon, asks: u64, bits: &'a mut S) -> Result<Self> {
        at_least_one(rows.len())?;
        if asks == 0 || asks > rows.len() as u64 {
            refuse!(
                "the asks must be from 1 to the number of owners, which is {}, not \
                {asks}",
                rows.len()
            );
        }
        let mut order: Vec<u64> = (0..rows.len() as u64).collect();
        permutation::shuffle(bits, &mut order);
        Ok(Self { rows, order, mean: Mean::new(epsilon)?, asks, asked: 0, bits })
    }

    /// What the one report of an owner is, for a ledger: its cost is that of the `attributes` that the questions are
    /// about.
    pub fn events(&self, attributes: &AttributeSet) -> Result<Vec<Event>> {
        self.mean.events(attributes)
    }

    /// The mean over the next part of the owners.
    fn next(&mut self, number: impl Fn(&Row) -> u32) -> Result<f64> {
        if self.asked == self.asks {
            return Err(exhausted(self.asks));
        }
        let n = self.order.len() as u128;
        let cut = |part: u64| (n * u128::from(part) / u128::from(self.asks)) as usize;
        let part = &self.order[cut(self.asked)..cut(self.asked + 1)];
        self.asked += 1;
        let mut ones = 0;
        for place in part {
            ones += u64::from(self.mean.report(number(&self.rows[*place as usize]).min(UNIT), self.bits)?);
        }
        Ok(self.mean.estimate(ones, part.len() as u64, Beta::new(0.05)?)?.count / part.len() as f64)
    }
}

impl<Row, S: BitSource + ?Sized> StatisticalQueries<Row> for LocalQueries<'_, Row, S> {
    fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    fn ask(&mut self, function: QueryFunction<'_, Row>) -> Result<f64> {
        self.next(function)
    }

    fn ask_all(&mut self, batch: &QueryBatch<'_, Row>) -> Result<Vec<f64>> {
        let cell = |wanted: usize| {
            self.next(|row| {
                let mut cells = Vec::new();
                batch.of(row, &mut cells);
                if cells.contains(&wanted) { UNIT } else { 0 }
            })
        };
        (0..batch.cells()).map(cell).collect()
    }

    /// Half of β for who is in a part, half for the bits \[Hoeffding 1963; sampling without replacement is no worse\].
    fn tolerance(&self, answers: u64, beta: Beta) -> Result<f64> {
        let part = self.rows() / self.asks;
        let each = beta.get() / 2.0 / answers.max(1) as f64;
        let sampling = ((2.0 / each).ln() / (2.0 * part as f64)).sqrt();
        Ok(sampling + self.mean.error(Beta::new(each)?, part)? / part as f64)
    }

    fn batch_tolerance(&self, batch: &QueryBatch<'_, Row>, beta: Beta) -> Result<f64> {
        self.tolerance(batch.cells() as u64, beta)
    }
}
