//! The engine's integers beside those of the oracle, aggregate by aggregate and key by key.

use super::oracle::{OracleGroup, different};
use super::query::{AggregateKind, RandomQuery};
use super::value::CellValue;
use crate::sql::PrivateQuery;
use crate::sql::analyse::query::Computation;
use crate::sql::execute::cell::ExactCell;
use crate::sql::execute::integers::Integers;
use datafusion::common::ScalarValue;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Whether the query's keys and aggregates can be distinguished from the plan's; what differs, where something does.
pub(crate) fn same(
    query: &RandomQuery,
    cut: &PrivateQuery,
    found: &Integers,
    expected: BTreeMap<Vec<CellValue>, OracleGroup>,
) -> Result<bool, String> {
    let Some(order) = key_order(query, cut) else { return Ok(false) };
    let aggregates = distinct(query);
    if cut.query.aggregates.len() < aggregates.len() {
        return Ok(false);
    }
    let ordered =
        |key: Vec<CellValue>| order.iter().map(|index| whole(key[*index].clone())).collect::<Vec<CellValue>>();
    let expected: BTreeMap<Vec<CellValue>, OracleGroup> =
        expected.into_iter().map(|(key, group)| (ordered(key), group)).collect();
    let cells: BTreeMap<Vec<CellValue>, &ExactCell> =
        found.keys.iter().zip(&found.cells).map(|(key, cell)| (key.iter().map(value).collect(), cell)).collect();
    let keys: BTreeSet<&Vec<CellValue>> = cells.keys().chain(expected.keys()).collect();
    for (computation, aggregate) in cut.query.aggregates.iter().zip(aggregates) {
        for key in &keys {
            let nothing = Vec::new();
            let arguments = expected.get(*key).map_or(&nothing, |group| &group.arguments[aggregate]);
            let aggregate = &query.aggregates[aggregate];
            let theirs = from_rows(computation, cut, aggregate.function, arguments);
            let ours = from_cell(computation, cut, cells.get(*key).copied());
            if ours != theirs {
                return Err(format!("{} in {key:?}: {ours:?}, in SQLite {theirs:?}", aggregate.text()));
            }
        }
    }
    Ok(true)
}

/// The integers that a computation uses.
fn from_cell(computation: &Computation, cut: &PrivateQuery, cell: Option<&ExactCell>) -> Vec<i128> {
    let sum = |measure: &usize| cell.map_or(0, |cell| cell.sums[*measure]);
    match computation {
        Computation::Count(measure) | Computation::Sum { steps: measure, .. } => vec![sum(measure)],
        Computation::Mean { steps, count, .. } => vec![sum(steps), sum(count)],
        Computation::Spread { steps, squares, count, .. } => vec![sum(steps), sum(squares), sum(count)],
        // What the oracle is not asked.
        Computation::Pair(_) => Vec::new(),
        Computation::Quantile(index) => {
            let counts = cell.map(|cell| &cell.ranked[cut.query.quantiles[*index].ranked]);
            let repeated = counts.into_iter().flatten().flat_map(|(key, times)| {
                std::iter::repeat_n(i128::try_from(*key).unwrap_or(i128::MAX), usize::try_from(*times).unwrap_or(0))
            });
            repeated.collect()
        }
    }
}

/// The same integers from a group's rows: nothing is clamped here, as bounds that are right never clamp.
fn from_rows(
    computation: &Computation,
    cut: &PrivateQuery,
    function: AggregateKind,
    arguments: &[CellValue],
) -> Vec<i128> {
    let counted = match function {
        AggregateKind::Different => different(arguments),
        _ => arguments.iter().filter(|value| !value.is_null()).count() as i128,
    };
    let steps = |step: f64, less: i64| -> Vec<i128> {
        let in_steps = |value: f64| (value / step + 0.5).floor() as i128 - i128::from(less);
        arguments.iter().filter_map(number).map(in_steps).collect()
    };
    match computation {
        Computation::Count(_) => vec![counted],
        Computation::Sum { step, .. } => vec![steps(*step, 0).iter().sum()],
        Computation::Mean { grid, centre, .. } => vec![steps(grid.step, *centre).iter().sum(), counted],
        Computation::Spread { grid, .. } => {
            let centre = (grid.steps(grid.lower) + grid.steps(grid.upper)).div_euclid(2);
            let steps = steps(grid.step, centre);
            vec![steps.iter().sum(), steps.iter().map(|step| step * step).sum(), counted]
        }
        Computation::Pair(_) => Vec::new(),
        Computation::Quantile(index) => {
            let grid = cut.query.ranked[cut.query.quantiles[*index].ranked].grid;
            let mut steps = steps(grid.step, grid.steps(grid.lower));
            steps.sort_unstable();
            steps
        }
    }
}

/// The different aggregates of SELECT in their order.
fn distinct(query: &RandomQuery) -> Vec<usize> {
    let mut texts = HashSet::new();
    let all = query.aggregates.iter().enumerate();
    all.filter(|(_, aggregate)| texts.insert(aggregate.text())).map(|(index, _)| index).collect()
}

/// Which of our keys each key of the plan is; none where that cannot be said.
fn key_order(query: &RandomQuery, cut: &PrivateQuery) -> Option<Vec<usize>> {
    if cut.query.keys.len() == query.grouped.len() {
        return Some(query.grouped.clone());
    }
    let mut texts = HashSet::new();
    let distinct: Vec<usize> =
        query.grouped.iter().copied().filter(|key| texts.insert(query.keys[*key].expression.text())).collect();
    (distinct.len() == cut.query.keys.len()).then_some(distinct)
}

/// A key, which is whole in the engine; where we took a NULL for a fraction, SQLite gives the same number as one.
fn whole(value: CellValue) -> CellValue {
    match value {
        CellValue::Float(number) if number.fract() == 0.0 && number.abs() < 9e15 => CellValue::Int(number as i64),
        other => other,
    }
}

fn number(value: &CellValue) -> Option<f64> {
    match value {
        CellValue::Int(number) => Some(*number as f64),
        CellValue::Float(number) => Some(*number),
        CellValue::Date(day) => Some(*day as f64),
        CellValue::Moment(moment) => Some(*moment as f64 / 1e9),
        _ => None,
    }
}

fn value(key: &ScalarValue) -> CellValue {
    match key {
        ScalarValue::Utf8(Some(text)) => CellValue::text(text),
        ScalarValue::Int64(Some(number)) => CellValue::Int(*number),
        ScalarValue::Boolean(Some(truth)) => CellValue::Bool(*truth),
        ScalarValue::Date32(Some(day)) => CellValue::Date(i64::from(*day)),
        ScalarValue::TimestampNanosecond(Some(moment), None) => CellValue::Moment(*moment),
        _ => CellValue::Null,
    }
}
