//! Columns that are computed from several counts and sums: their intervals about all rows are those of a release of the wider table.

use super::super::Private;
use super::super::answer::{Noisy, NoisyCell};
use super::super::expected::expected;
use super::super::uncertainty::{measures, uncertainties};
use super::BoundingReport;
use crate::backend::Backend;
use crate::error::Result;
use crate::release::Expected;
use crate::release::output::{Answers, Uncertainty};
use crate::sql::Cut;
use crate::sql::above::Output;
use crate::sql::query::{Computation, Query};

/// A published column that is computed from counts and sums.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::release::sql) struct Computed {
    pub column: String,
    /// Its place among the output columns.
    output: usize,
    /// What it is computed from.
    pub measures: Vec<usize>,
    /// Where it lies whatever the rows are.
    limits: (f64, f64),
}

impl Computed {
    /// None where it depends on more than counts and sums of its own cell: a quantile, or other rows.
    pub fn new(index: usize, output: &Output, query: &Query) -> Option<Self> {
        let aggregates = || output.aggregates.iter().map(|aggregate| &query.aggregates[*aggregate]);
        let has_interval = output.is_number && !output.windowed;
        if !has_interval || aggregates().any(|one| matches!(one, Computation::Quantile(_))) {
            return None;
        }
        let limits = match output.direct.map(|aggregate| &query.aggregates[aggregate]) {
            Some(Computation::Mean { grid, .. }) => (grid.lower, grid.upper),
            Some(Computation::Spread { .. }) => (0.0, f64::INFINITY),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        };
        Some(Self {
            column: output.name.clone(),
            output: index,
            measures: aggregates().flat_map(measures).collect(),
            limits,
        })
    }
}

impl BoundingReport {
    /// The intervals of the columns that are computed; `beside` are the noisy numbers beside each released cell.
    pub(super) fn say_computed(
        &self,
        (answers, rows): (&mut Answers, &[usize]),
        (noisy, private): (&Noisy, &Private),
        beside: &[Vec<i128>],
        (cut, is_short): (&Cut, bool),
    ) -> Result<()> {
        if self.computed.is_empty() {
            return Ok(());
        }
        let cells = noisy.cells.iter().zip(beside).map(|(cell, beside)| self.wide_cell(cell, beside)).collect();
        let wide = Noisy { keys: noisy.keys.clone(), cells };
        let unsure = uncertainties(cut, &wide, &self.wide_private(private), Backend::empty()?)?;
        for computed in &self.computed {
            let column = answers.columns.iter_mut().find(|column| column.name == computed.column);
            let own = column.and_then(|column| column.uncertainty.as_mut());
            let (Some(intervals), Some(found)) = (own, &unsure[computed.output]) else { continue };
            for (interval, row) in intervals.iter_mut().zip(rows) {
                let Uncertainty { low, high, .. } = found.rows[*row];
                let (low, high) = if is_short { computed.limits } else { (low, high) };
                *interval = Uncertainty { low, high, ..*interval };
            }
            answers.details.intervals.push(computed.column.clone());
        }
        Ok(())
    }

    /// The errors to expect of these columns, if all rows were there.
    pub(super) fn computed_errors(&self, (cut, private): (&Cut, &Private), rows: u64) -> Result<Vec<Expected>> {
        if self.computed.is_empty() {
            return Ok(Vec::new());
        }
        let all = expected(cut, &self.wide_private(private), rows, Backend::empty()?)?;
        let is_computed = |name: &String| self.computed.iter().any(|computed| computed.column == *name);
        let of_all_rows = |line: Expected| Expected {
            column: format!("{} of all rows", line.column),
            about: format!("bounding report: what the interval is made of; {}", line.about),
            ..line
        };
        Ok(all.into_iter().filter(|line| is_computed(&line.column)).map(of_all_rows).collect())
    }

    fn wide_cell(&self, cell: &NoisyCell, beside: &[i128]) -> NoisyCell {
        let mut wide = cell.clone();
        self.measures.iter().zip(beside).for_each(|(measure, number)| wide.sums[*measure] = *number);
        wide
    }

    /// The release's noise, with the report's in the place of that of each measure that is counted under the wider bounds too.
    fn wide_private(&self, private: &Private) -> Private {
        let mut noises = private.noises.clone();
        let beside = &private.report[self.numbers.len().min(private.report.len())..];
        self.measures.iter().zip(beside).for_each(|(measure, noise)| noises[*measure] = noise.clone());
        Private { noises, quantiles: private.quantiles.clone(), ..Private::default() }
    }
}
