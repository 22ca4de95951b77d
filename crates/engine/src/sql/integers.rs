//! Runs what is below the aggregate and sums up: exact integers per cell, before any noise.

use super::Cut;
use super::below::Ownership;
use super::bounded::bounded;
use super::measure::{GroupKey, What, column};
use crate::backend::hash::Key;
use crate::backend::{Backend, failed_on_data};
use crate::error::{Error, Result};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::functions_aggregate::expr_fn::{count, count_distinct, sum};
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, cast, lit};
use std::collections::{BTreeMap, HashMap};

/// The exact answer of a bounded plan.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Integers {
    /// The key of each cell.
    pub keys: Vec<Vec<ScalarValue>>,
    /// What is in each cell.
    pub cells: Vec<Cell>,
}

/// What is in one cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Cell {
    /// The measures.
    pub sums: Vec<i128>,
    /// Of each ranked column, how often each key of its mechanism occurs.
    pub ranked: Vec<BTreeMap<u128, u64>>,
}

/// The cells that occur.
pub(super) type Cells = HashMap<Vec<ScalarValue>, Cell>;

/// Sums of more than this many steps per row are made as decimals of 38 digits: 2³¹ steps in 2³² rows fit 64 bits.
const SMALL_STEPS: i64 = 1 << 31;

/// Computes the measures of every cell: all cells of a public domain, or those that occur.
///
/// # Guarantee
/// Before: `key` does not depend on the data. After: the integers are a function of the rows as a multiset and of `key`, whatever the
/// order, the partitioning and the number of threads. A cell of an unknown domain is there only if a row of it was kept: otherwise an
/// owner could bring in more new keys than its bounds allow.
pub(crate) fn integers(cut: &Cut, backend: &Backend, key: Key) -> Result<Integers> {
    let cells = match (&cut.below.owner, cut.query.bounds) {
        (Ownership::Named(owner), Some(bounds)) => bounded(cut, backend, &Expr::Column(owner.clone()), bounds, key)?,
        _ => each_row(cut, backend)?,
    };
    Ok(completed(cut, cells))
}

/// A cell that nothing is in.
fn empty_cell(cut: &Cut) -> Cell {
    Cell { sums: vec![0; cut.query.measures.len()], ranked: vec![BTreeMap::new(); cut.query.ranked.len()] }
}

/// All cells of a public domain in its order, or the occurring ones, sorted.
fn completed(cut: &Cut, mut cells: Cells) -> Integers {
    let domains: Option<Vec<&Vec<ScalarValue>>> = cut.query.keys.iter().map(|key| key.domain.as_ref()).collect();
    let keys = match domains {
        Some(domains) => domains.into_iter().fold(vec![Vec::new()], |keys: Vec<Vec<ScalarValue>>, domain| {
            let extended =
                |key: &Vec<ScalarValue>, value: &ScalarValue| [key.as_slice(), std::slice::from_ref(value)].concat();
            keys.iter().flat_map(|key| domain.iter().map(move |value| extended(key, value))).collect()
        }),
        None => {
            let mut keys: Vec<Vec<ScalarValue>> = cells.keys().cloned().collect();
            keys.sort_by(|left, right| left.partial_cmp(right).unwrap_or(std::cmp::Ordering::Equal));
            keys
        }
    };
    let found = keys.iter().map(|key| cells.remove(key).unwrap_or_else(|| empty_cell(cut))).collect();
    Integers { keys, cells: found }
}

/// What is below the aggregate, on the data.
pub(super) fn on_data(cut: &Cut, backend: &Backend) -> std::result::Result<LogicalPlanBuilder, DataFusionError> {
    Ok(LogicalPlanBuilder::from(backend.with_sources(cut.below.plan.clone())?))
}

/// A key in the types that the query has for it (a backend may read texts in another form); none where a part of it is NULL.
pub(super) fn typed_key(cut: &Cut, values: Vec<ScalarValue>) -> Option<Vec<ScalarValue>> {
    let typed = |(value, key): (ScalarValue, &GroupKey)| match value {
        value if value.is_null() => None,
        value if value.data_type() == key.kind => Some(value),
        value => value.cast_to(&key.kind).ok(),
    };
    values.into_iter().zip(&cut.query.keys).map(typed).collect()
}

/// One row is one person: a plain aggregation, inside DataFusion, and one more for each ranked column.
fn each_row(cut: &Cut, backend: &Backend) -> Result<Cells> {
    let mut cells = Cells::new();
    let keys = cut.query.keys.len();
    if !cut.query.measures.is_empty() {
        for batch in aggregated(cut, backend, None, sums(cut))? {
            for row in 0..batch.num_rows() {
                let (key, sums) = row_of(&batch, row, keys)?;
                let Some(key) = typed_key(cut, key) else { continue };
                cells.insert(key, Cell { sums, ..empty_cell(cut) });
            }
        }
    }
    for (index, ranked) in cut.query.ranked.iter().enumerate() {
        for batch in aggregated(cut, backend, Some(ranked.column()), vec![count(lit(1)).alias("scumble count")])? {
            for row in 0..batch.num_rows() {
                let (mut key, counts) = row_of(&batch, row, keys + 1)?;
                let Some(ScalarValue::Int64(Some(steps))) = key.pop() else { continue };
                let Some(key) = typed_key(cut, key) else { continue };
                let times = u64::try_from(counts[0]).unwrap_or(0);
                let cell = cells.entry(key).or_insert_with(|| empty_cell(cut));
                *cell.ranked[index].entry(ranked.key(steps)).or_default() += times;
            }
        }
    }
    Ok(cells)
}

/// The measures as aggregates of DataFusion.
fn sums(cut: &Cut) -> Vec<Expr> {
    let sums = cut.query.measures.iter().enumerate().map(|(index, measure)| {
        let expression = measure.expression.clone().unwrap_or_else(|| lit(1));
        let aggregate = match measure.what {
            What::Owners | What::Rows => count(lit(1)),
            What::Present => count(expression),
            What::Different => count_distinct(expression),
            What::Steps { .. } | What::Squares { .. } => {
                let steps = column(measure).unwrap_or_else(|| lit(0));
                let small = measure.range.0.abs().max(measure.range.1.abs()) < SMALL_STEPS;
                sum(if small { steps } else { cast(steps, DataType::Decimal128(38, 0)) })
            }
        };
        aggregate.alias(format!("scumble measure {index}"))
    });
    sums.collect()
}

/// The rows by the query's keys and one more.
fn aggregated(cut: &Cut, backend: &Backend, by: Option<Expr>, aggregates: Vec<Expr>) -> Result<Vec<RecordBatch>> {
    let keys: Vec<Expr> = cut.query.keys.iter().map(|key| key.expression.clone()).chain(by).collect();
    let plan = on_data(cut, backend)
        .and_then(|builder| builder.aggregate(keys, aggregates)?.build())
        .map_err(|error| failed_on_data(&error))?;
    backend.collect(plan)
}

fn row_of(batch: &RecordBatch, row: usize, keys: usize) -> Result<(Vec<ScalarValue>, Vec<i128>)> {
    let values = batch.columns().iter().map(|column| ScalarValue::try_from_array(column, row));
    let mut values = values.collect::<std::result::Result<Vec<_>, _>>().map_err(|error| failed_on_data(&error))?;
    let sums = values.split_off(keys).into_iter().map(|value| match value {
        ScalarValue::Int64(number) => Ok(i128::from(number.unwrap_or(0))),
        ScalarValue::Decimal128(number, ..) => Ok(number.unwrap_or(0)),
        _ => Err(Error::machine("the backend gave a sum that is not a whole number")),
    });
    Ok((values, sums.collect::<Result<_>>()?))
}
