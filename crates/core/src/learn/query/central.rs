//! A trusted curator: noise on sums.

use super::{QueryBatch, QueryFunction, StatisticalQueries, UNIT, at_least_one, exhausted, sum};
use crate::calibrate::Target;
use crate::error::Result;
use crate::event::{Event, Moves, Shift};
use crate::mechanism::additive::Additive;
use crate::noise::BitSource;
use crate::quantity::Beta;
use crate::scope::Scope;
use std::borrow::Borrow;

/// Answers with noise that costs `target` for each ask or batch, in `scope`; this many of them, fixed beforehand.
pub struct CentralQueries<'a, Row, S: BitSource + ?Sized> {
    rows: &'a [Row],
    target: Target,
    scope: Scope,
    asks: u64,
    left: u64,
    bits: &'a mut S,
}

impl<'a, Row, S: BitSource + ?Sized> CentralQueries<'a, Row, S> {
    /// `asks` answers about the rows; each costs `target` in `scope`.
    ///
    /// # Guarantee
    /// Before: one row belongs to one owner, and the number of rows is public (as it is where owners are replaced;
    /// otherwise state a number that is published anyway). After: every answer costs what
    /// [`CentralQueries::event_of_ask`] or [`CentralQueries::events_of_batch`] says.
    pub fn within(
        target: Target,
        scope: impl Borrow<Scope>,
        rows: &'a [Row],
        asks: u64,
        bits: &'a mut S,
    ) -> Result<Self> {
        at_least_one(rows.len())?;
        Ok(Self { rows, target, scope: scope.borrow().clone(), asks, left: asks, bits })
    }

    fn one(&self) -> Result<Additive> {
        // A number in [0, 1] moves the sum by at most 1, whether its row comes, goes or changes in whichever
        // attributes.
        Additive::of(Moves::everywhere(Shift::one_cell(f64::from(UNIT))?)).within(self.target, &self.scope)
    }

    fn many(&self, batch: &QueryBatch<'_, Row>) -> Result<Additive> {
        Additive::of(batch.moves(&self.scope)?).within(self.target, &self.scope)
    }

    /// What one ask is, for a ledger.
    pub fn event_of_ask(&self) -> Result<Event> {
        Ok(self.one()?.events()?.remove(0))
    }

    /// What a batch is, for a ledger: an event for presence and persons, then one for each of its touches.
    pub fn events_of_batch(&self, batch: &QueryBatch<'_, Row>) -> Result<Vec<Event>> {
        batch.events(&self.many(batch)?.events()?.remove(0))
    }

    fn pay(&mut self) -> Result<()> {
        self.left = self.left.checked_sub(1).ok_or_else(|| exhausted(self.asks))?;
        Ok(())
    }
}

impl<Row, S: BitSource + ?Sized> StatisticalQueries<Row> for CentralQueries<'_, Row, S> {
    fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    fn ask(&mut self, function: QueryFunction<'_, Row>) -> Result<f64> {
        let mechanism = self.one()?;
        self.pay()?;
        let noisy = mechanism.release(sum(self.rows, function), self.bits);
        Ok(noisy as f64 / f64::from(UNIT) / self.rows.len() as f64)
    }

    fn ask_all(&mut self, batch: &QueryBatch<'_, Row>) -> Result<Vec<f64>> {
        let mechanism = self.many(batch)?;
        self.pay()?;
        let noisy = mechanism.release(batch.counts(self.rows), self.bits);
        Ok(noisy.into_iter().map(|count| count as f64 / self.rows.len() as f64).collect())
    }

    fn tolerance(&self, answers: u64, beta: Beta) -> Result<f64> {
        Ok(self.one()?.largest_error(beta, answers)? / f64::from(UNIT) / self.rows.len() as f64)
    }

    fn batch_tolerance(&self, batch: &QueryBatch<'_, Row>, beta: Beta) -> Result<f64> {
        Ok(self.many(batch)?.largest_error(beta, batch.cells() as u64)? / self.rows.len() as f64)
    }
}
