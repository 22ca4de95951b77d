//! Columns that are computed from several counts and sums: their intervals about all rows are those of a release of the
//! wider table.

use super::super::QueryMechanism;
use super::super::expected::expected;
use super::super::made::measures;
use super::super::noisy::{NoisyCell, NoisyIntegers};
use super::super::uncertainty::uncertainties;
use super::BoundingReport;
use crate::error::Result;
use crate::release::output::{Answers, Uncertainty};
use crate::release::plan::ExpectedError;
use crate::sql::PrivateQuery;
use crate::sql::above::Output;
use crate::sql::analyse::query::{Computation, Query};
use crate::tables::Backend;

/// A published column that is computed from counts and sums.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ComputedColumn {
    pub column: String,
    /// Its place among the output columns.
    output: usize,
    /// What it is computed from.
    pub measures: Vec<usize>,
    /// Where it lies whatever the rows are.
    limits: (f64, f64),
}

impl ComputedColumn {
    /// None where it depends on more than counts and sums of its own cell: a quantile, or other rows.
    pub fn new(index: usize, output: &Output, query: &Query) -> Option<Self> {
        let aggregates = || output.aggregates.iter().map(|aggregate| &query.aggregates[*aggregate]);
        let has_interval = output.is_number && !output.windowed;
        if !has_interval || aggregates().any(|one| matches!(one, Computation::Quantile(_))) {
            return None;
        }
        let limits = match output.direct.map(|aggregate| &query.aggregates[aggregate]) {
            Some(Computation::Mean { grid, .. }) => (grid.lower, grid.upper),
            Some(Computation::Spread { grid, sample, root, .. }) => {
                // As far apart as values can be, half of them at each end; of two values that is twice the variance of
                // the population.
                let most = ((grid.upper - grid.lower) / 2.0).powi(2) * if *sample { 2.0 } else { 1.0 };
                (0.0, if *root { most.sqrt() } else { most })
            }
            Some(Computation::Pair(pair)) => pair.bounds().unwrap_or((f64::NEG_INFINITY, f64::INFINITY)),
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
    pub(crate) fn say_computed(
        &self,
        (answers, rows): (&mut Answers, &[usize]),
        (noisy, private): (&NoisyIntegers, &QueryMechanism),
        beside: &[Vec<i128>],
        (cut, is_short): (&PrivateQuery, bool),
    ) -> Result<()> {
        if self.computed.is_empty() {
            return Ok(());
        }
        let cells = noisy.cells.iter().zip(beside).map(|(cell, beside)| self.wide_cell(cell, beside)).collect();
        let wide = NoisyIntegers { keys: noisy.keys.clone(), cells };
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
        }
        Ok(())
    }

    /// The errors to expect of these columns, if all rows were there.
    pub(crate) fn computed_errors(
        &self,
        (cut, private): (&PrivateQuery, &QueryMechanism),
        rows: u64,
    ) -> Result<Vec<ExpectedError>> {
        if self.computed.is_empty() {
            return Ok(Vec::new());
        }
        let all = expected(cut, &self.wide_private(private), rows, Backend::empty()?)?;
        let is_computed = |name: &String| self.computed.iter().any(|computed| computed.column == *name);
        let of_all_rows = |line: ExpectedError| ExpectedError {
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

    /// The release's noise, with the report's in the place of that of each measure that is counted under the wider
    /// bounds too.
    fn wide_private(&self, private: &QueryMechanism) -> QueryMechanism {
        let mut noises = private.noises.clone();
        let beside = &private.report[self.numbers.len().min(private.report.len())..];
        self.measures.iter().zip(beside).for_each(|(measure, noise)| noises[*measure] = noise.clone());
        QueryMechanism { noises, quantiles: private.quantiles.clone(), ..QueryMechanism::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::AnalysedQuery;
    use super::*;
    use crate::project::{Bounding, Project};
    use crate::sql::above;

    /// What lies between known ends does so too where owners have more than is looked at.
    #[test]
    fn limits_are_those_of_the_column() {
        let text = "[dataset.t]\nsource = \"t.csv\"\nowner = \"o\"\nmax_rows_per_owner = 3\n[dataset.t.columns]\n\
            x = { type = \"int\", lower = -10, upper = 20 }\ny = { type = \"int\", lower = 0, upper = 1 }\n";
        let project = Project::parse(std::path::Path::new("scumble.toml"), text).unwrap();
        let sql = "SELECT AVG(x) AS a, VAR_POP(x) AS v, STDDEV(x) AS d, CORR(x, y) AS r, SUM(x) / COUNT(*) AS q, MEDIAN(x) AS m FROM t";
        let query = AnalysedQuery::new(sql, Bounding::default(), 1000, &project).unwrap();
        let outputs = above::outputs(&query.cut.plan, &query.cut.aggregate).unwrap();
        let computed =
            outputs.iter().enumerate().map(|(index, output)| ComputedColumn::new(index, output, &query.cut.query));
        let limits: Vec<Option<(f64, f64)>> = computed.map(|one| one.map(|one| one.limits)).collect();
        let anything = (f64::NEG_INFINITY, f64::INFINITY);
        let spread = 450f64.sqrt();
        assert_eq!(
            limits,
            [Some((-10.0, 20.0)), Some((0.0, 225.0)), Some((0.0, spread)), Some((-1.0, 1.0)), Some(anything), None]
        );
    }
}
