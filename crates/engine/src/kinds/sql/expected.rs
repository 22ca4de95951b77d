//! The errors to expect of a query's columns, before any data is read.
//!
//! What is done with the aggregates is run on made-up cells, as it will be run on the released ones. Counts, sums and
//! what is linear in them have one error everywhere. For all else (AVG, VAR, STDDEV, quotients, ROUND, CASE …) it
//! depends on how many rows a cell has and how their values lie: it is shown for the number of rows that the release
//! expects, values spread evenly over their bounds, and beside it the smallest and the largest for values that lie in
//! other ways.

use super::answer::released;
use super::noisy::{NoisyCell, NoisyIntegers};
use super::uncertainty::{uncertainties, uncertainties_of_all};
use super::{QueryMechanism, rank_error};
use crate::error::{Error, Result};
use crate::project::Request;
use crate::release::field::Field;
use crate::release::output::Uncertainty;
use crate::release::plan::{AssumedError, ExpectedError};
use crate::sql::analyse::query::{Computation, Measure, Rank, Summand};
use crate::sql::{PrivateQuery, above};
use crate::tables::Backend;
use datafusion::common::ScalarValue;

/// Windows over more cells than this are not tried out.
const MOST_CELLS: u64 = 400;
/// How many rows a cell is thought to have where the release does not say.
const USUAL_ROWS: u64 = 1000;

/// The field that says it.
pub(crate) const ROWS: Field<Option<u64>> = Field::new(
    "expected_rows",
    "about how many rows a cell has, from public knowledge (default: 1000); it decides the plan's errors of AVG, VAR, STDDEV and quotients, and how a query divides its cost over them",
);

/// What the request says.
pub(crate) fn rows(request: &Request) -> Result<u64> {
    Ok(ROWS.read(request)?.unwrap_or(USUAL_ROWS))
}

/// How the values of a made-up cell lie between their bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ValuePlacement {
    Evenly,
    AllLow,
    AllHigh,
    InTheMiddle,
    HalfAtEachEnd,
}

const LIES: [ValuePlacement; 5] = [
    ValuePlacement::Evenly,
    ValuePlacement::AllLow,
    ValuePlacement::AllHigh,
    ValuePlacement::InTheMiddle,
    ValuePlacement::HalfAtEachEnd,
];

impl ValuePlacement {
    /// The mean and the mean square of values from `low` to `high`.
    fn moments(self, low: f64, high: f64) -> (f64, f64) {
        let middle = (low + high) / 2.0;
        match self {
            Self::Evenly => (middle, (low * low + low * high + high * high) / 3.0),
            Self::AllLow => (low, low * low),
            Self::AllHigh => (high, high * high),
            Self::InTheMiddle => (middle, middle * middle),
            Self::HalfAtEachEnd => (middle, (low * low + high * high) / 2.0),
        }
    }

    /// A measure of a cell of this many rows, each of another owner and none without a value.
    fn measure(self, measure: &Measure, rows: u64) -> i128 {
        let mean = match measure.what {
            Summand::Owners | Summand::Rows | Summand::Present | Summand::Different => 1.0,
            Summand::Steps { grid, centre } => {
                self.moments_of(grid.steps(grid.lower) - centre, grid.steps(grid.upper) - centre).0
            }
            Summand::Squares { grid, centre } => {
                self.moments_of(grid.steps(grid.lower) - centre, grid.steps(grid.upper) - centre).1
            }
        };
        (mean * rows as f64).round() as i128
    }

    fn moments_of(self, low: i64, high: i64) -> (f64, f64) {
        self.moments(low as f64, high as f64)
    }
}

/// Cells of this many rows, for each way in which values may lie: evenly in the first.
pub(crate) fn made_up_cells(measures: &[Measure], quantiles: usize, rows: u64) -> Vec<NoisyCell> {
    let cell = |lie: &ValuePlacement| NoisyCell {
        sums: measures.iter().map(|measure| lie.measure(measure, rows)).collect(),
        quantiles: vec![0.0; quantiles],
    };
    LIES.iter().map(cell).collect()
}

/// The error to expect of each output column.
pub(crate) fn expected(
    cut: &PrivateQuery,
    private: &QueryMechanism,
    rows: u64,
    backend: &Backend,
) -> Result<Vec<ExpectedError>> {
    expected_of(cut, &cut.query.measures, made_up_key(cut)?, (private, rows), backend)
}

/// The same of the cells with one key, which have these measures.
pub(crate) fn expected_of(
    cut: &PrivateQuery,
    measures: &[Measure],
    key: Vec<ScalarValue>,
    (private, rows): (&QueryMechanism, u64),
    backend: &Backend,
) -> Result<Vec<ExpectedError>> {
    let cells = made_up_cells(measures, private.quantiles.len(), rows);
    let points = NoisyIntegers { keys: vec![key; cells.len()], cells };
    let unsure = uncertainties(cut, &points, private, backend)?;
    // An expression that fails on every number, such as an invalid pattern, fails here and not after the charge.
    above::run(&cut.plan, &cut.aggregate, &released(cut, &points)?, backend)?;
    let outputs = above::outputs(&cut.plan, &cut.aggregate)?;
    let mut all = Vec::new();
    for (output, unsure) in outputs.into_iter().zip(unsure) {
        let Some(unsure) = unsure else { continue };
        let margin = unsure.rows.first().and_then(Uncertainty::margin);
        let lying: Vec<f64> = unsure.rows.into_iter().map(|one| one.standard_error).collect();
        let standard_error = Some(lying[0]).filter(|error| unsure.is_everywhere_the_same && error.is_finite());
        let assumed = if standard_error.is_none() { assumed(rows, &lying, margin) } else { None };
        let margin = margin.filter(|_| standard_error.is_some());
        let direct = output.direct.map(|aggregate| &cut.query.aggregates[aggregate]);
        let about = match (direct, standard_error, &assumed) {
            _ if output.windowed => "a window function over released numbers: no error is given".to_string(),
            (Some(Computation::Quantile(quantile)), _, _) => {
                let ranks = rank_error(&private.quantiles[*quantile])?;
                let rank = cut.query.quantiles[*quantile].rank;
                format!(
                    "{}off by at most {ranks:.1} rows in rank with 95% confidence; in value that depends on the data",
                    end_in_words(rank, ranks, rows)
                )
            }
            (_, Some(_), _) => "the same for every cell, whatever the data".to_string(),
            (_, None, Some(assumed)) => assumed.words(),
            (_, None, None) => "depends on the released numbers; published with each of them".to_string(),
        };
        all.push(ExpectedError { column: output.name, standard_error, margin, cells: Vec::new(), assumed, about });
    }
    Ok(all)
}

/// Which value MIN and MAX look for: half of their rank error from the end, and never the very last.
fn end_in_words(rank: Rank, ranks: f64, rows: u64) -> String {
    let from_end = (ranks / 2.0).ceil().max(1.0);
    let fraction = (from_end / rows.max(1) as f64).min(1.0);
    match rank {
        Rank::Least => format!("value {from_end} from the bottom (of {rows} rows, the quantile {fraction:.3}): "),
        Rank::Largest => {
            format!("value {from_end} from the top (of {rows} rows, the quantile {:.3}): ", 1.0 - fraction)
        }
        Rank::Fraction(_) => String::new(),
    }
}

/// Replaces the expected errors of columns with window functions, and of those whose error differs from key to key: for
/// cells of this many rows each, over all listed keys.
pub(crate) fn over_all_keys(
    expected: &mut [ExpectedError],
    cut: &PrivateQuery,
    (private, rows): (&QueryMechanism, u64),
    backend: &Backend,
) -> Result<()> {
    let outputs = above::outputs(&cut.plan, &cut.aggregate)?;
    let Some(keys) = cut.query.public.as_ref().filter(|keys| keys.count() <= MOST_CELLS) else { return Ok(()) };
    let keys = keys.all();
    let cell = made_up_cells(&cut.query.measures, private.quantiles.len(), rows).remove(0);
    let points = NoisyIntegers { cells: vec![cell; keys.len()], keys };
    let unsure = uncertainties_of_all(cut, &points, private, backend)?;
    let unsure = unsure.into_iter().zip(&outputs).filter_map(|(unsure, output)| Some((output, unsure?)));
    for (output, unsure) in unsure.filter(|(output, unsure)| output.windowed || unsure.differs_by_key) {
        let mut known: Vec<Uncertainty> = unsure.rows;
        known.retain(|one| one.standard_error.is_finite() && one.standard_error > 0.0);
        known.sort_by(|one, other| one.standard_error.total_cmp(&other.standard_error));
        let Some(middle) = known.get(known.len() / 2) else { continue };
        for one in expected.iter_mut().filter(|one| one.column == output.name) {
            let (least, most) = (known[0].standard_error, known[known.len() - 1].standard_error);
            let (standard_error, margin) = (middle.standard_error, middle.margin());
            one.assumed = Some(AssumedError { rows, standard_error, margin, least, most });
            let of = if output.windowed { "a window over cells" } else { "by key, for cells" };
            one.about = format!("{of} of {rows} rows each ({least:.4} to {most:.4}); expected_rows changes this");
        }
    }
    Ok(())
}

fn assumed(rows: u64, lying: &[f64], margin: Option<f64>) -> Option<AssumedError> {
    let least = lying.iter().copied().fold(f64::INFINITY, f64::min);
    let most = lying.iter().copied().fold(0.0, f64::max);
    // What is certain for such a cell is not for another: no error of 0 is planned.
    lying.iter().all(|error| error.is_finite() && *error > 0.0).then_some(AssumedError {
        rows,
        standard_error: lying[0],
        margin,
        least,
        most,
    })
}

/// Some key of the query's types.
pub(crate) fn made_up_key(cut: &PrivateQuery) -> Result<Vec<ScalarValue>> {
    let value = |key: &crate::sql::analyse::query::GroupKey| match key.domain.as_ref().and_then(|domain| domain.first())
    {
        Some(value) => Ok(value.clone()),
        None => ScalarValue::try_from(&key.kind).map_err(|_| Error::machine("a key without a type")),
    };
    cut.query.keys.iter().map(value).collect()
}
