//! From exact integers to a query's answer: noise on every cell, then what stands above the aggregate, with error bars.

use super::uncertainty::{Unsure, uncertainties};
use super::{Private, rank_error};
use crate::backend::Backend;
use crate::backend::functions::MOMENT;
use crate::calendar::{SECOND, shown_day, shown_moment};
use crate::error::{Error, Result};
use crate::release::noise::Noise;
use crate::release::output::{AnswerColumn, Answers, Cell, Details, Uncertainty};
use crate::sql::Cut;
use crate::sql::above::{self, QueryAnswer};
use crate::sql::integers::Integers;
use crate::sql::query::{Computation, GroupKey};
use datafusion::arrow::array::{
    ArrayRef, Date32Array, Float64Array, Int64Array, TimestampNanosecondArray, new_empty_array,
};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::LogicalPlan;
use scumble::mechanism::quantile::Quantile;
use scumble::noise::BitSource;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where randomness enters. Only tests have another than [`Drawn`].
pub(super) trait Chance {
    /// The exact number with its noise.
    fn noised(&mut self, noise: &Noise, exact: i128) -> i128;
    /// The key that a quantile is released as.
    fn chosen(&mut self, quantile: &Quantile, counts: &BTreeMap<u128, u64>) -> u128;
}

/// Randomness from a source of bits.
pub(super) struct Drawn<'a>(pub &'a mut dyn BitSource);

impl Chance for Drawn<'_> {
    fn noised(&mut self, noise: &Noise, exact: i128) -> i128 {
        noise.add_to_wide(exact, self.0)
    }

    fn chosen(&mut self, quantile: &Quantile, counts: &BTreeMap<u128, u64>) -> u128 {
        quantile.release_counted(counts, self.0)
    }
}

/// The released cells.
#[derive(Debug, Clone)]
pub(super) struct Noisy {
    pub keys: Vec<Vec<ScalarValue>>,
    pub cells: Vec<NoisyCell>,
}

#[derive(Debug, Clone)]
pub(super) struct NoisyCell {
    /// The measures, with noise.
    pub sums: Vec<i128>,
    /// The quantiles, in the unit of their columns.
    pub quantiles: Vec<f64>,
}

impl NoisyCell {
    fn numbers(&self) -> Numbers {
        Numbers { sums: self.sums.iter().map(|number| *number as f64).collect(), quantiles: self.quantiles.clone() }
    }
}

/// Adds noise to every measure of every cell, independently; of unknown keys only those with enough owners stay, and only of those are
/// quantiles drawn.
pub(super) fn noised(cut: &Cut, integers: Integers, private: &Private, chance: &mut dyn Chance) -> Noisy {
    let query = &cut.query;
    let mut noisy = Noisy { keys: Vec::new(), cells: Vec::new() };
    for (key, cell) in integers.keys.into_iter().zip(integers.cells) {
        let measures = cell.sums.into_iter().zip(&private.noises);
        let sums: Vec<i128> = measures.map(|(exact, noise)| chance.noised(noise, exact)).collect();
        let enough = match (private.threshold, query.owners()) {
            (Some(least), Some(owners)) => sums[owners] >= i128::from(least),
            _ => true,
        };
        if !enough {
            continue;
        }
        let quantiles = query.quantiles.iter().zip(&private.quantiles).map(|(quantile, mechanism)| {
            query.ranked[quantile.ranked].value(chance.chosen(mechanism, &cell.ranked[quantile.ranked]))
        });
        noisy.cells.push(NoisyCell { sums, quantiles: quantiles.collect() });
        noisy.keys.push(key);
    }
    noisy
}

/// From noisy cells to the query's columns.
#[cfg(any(test, feature = "generator"))]
pub(super) fn answers(cut: &Cut, noisy: &Noisy, private: &Private) -> Result<Answers> {
    Ok(answers_of_rows(cut, noisy, private)?.0)
}

/// The same, with the cell that each row of the answer comes from.
pub(super) fn answers_of_rows(cut: &Cut, noisy: &Noisy, private: &Private) -> Result<(Answers, Vec<usize>)> {
    answers_of_parts(cut, &[Part { noisy, private, named: None }])
}

/// The released cells of one of the groupings of a query.
pub(super) struct Part<'a> {
    /// The cells, with the keys of the whole query.
    pub noisy: &'a Noisy,
    pub private: &'a Private,
    /// What it groups by, where there are several.
    pub named: Option<String>,
}

/// From the noisy cells of all groupings to the query's columns.
pub(super) fn answers_of_parts(cut: &Cut, parts: &[Part<'_>]) -> Result<(Answers, Vec<usize>)> {
    let backend = Backend::empty()?;
    let mut noisy = Noisy { keys: Vec::new(), cells: Vec::new() };
    let (mut notes, mut unsure, mut privates) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        noisy.keys.extend_from_slice(&part.noisy.keys);
        noisy.cells.extend_from_slice(&part.noisy.cells);
        privates.resize(noisy.cells.len(), part.private);
        join(&mut unsure, uncertainties(cut, part.noisy, part.private, backend)?);
        if let Some(least) = part.private.threshold {
            let which = part.named.as_ref().map_or(String::new(), |named| format!(" {named}"));
            notes.push(format!(
                "Groups{which} are not public: only those with at least {least} owners, counted with noise, are shown."
            ));
        }
    }
    let (noisy, privates) = (&noisy, &privates[..]);
    let answer = above::run(&cut.plan, &cut.aggregate, &released(cut, noisy)?, backend)?;
    let inner = cut.per_owner.as_ref().map(|first| &first.keys[..]).unwrap_or_default();
    notes.extend([inner, &cut.query.keys[..]].into_iter().filter_map(rows_without_a_key));
    if chooses_rows(&cut.plan) {
        notes.push("HAVING and LIMIT choose rows by numbers that have noise: those that are chosen for being large tend to be too large, and fewer than 95% of the intervals may hold.".to_string());
    }
    let mut columns = Vec::new();
    for column in unsure.into_iter().enumerate() {
        columns.extend(published(cut, &answer, column, noisy, privates)?);
    }
    if columns.iter().any(|column: &AnswerColumn| column.name.ends_with(RANK_ERROR)) {
        let note = "A quantile has no standard error, because that depends on how dense the values are: with probability 95% it is off by at most";
        notes.push(format!("{note} COLUMN{RANK_ERROR} rows in rank."));
    }
    Ok((Answers { columns, notes, details: Details::default() }, answer.rows))
}

/// Whether something above the aggregate leaves rows out: an interval is about a cell that was chosen before its noise was drawn.
fn chooses_rows(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(_) => false,
        LogicalPlan::Filter(_) | LogicalPlan::Limit(_) => true,
        other => other.inputs().into_iter().any(chooses_rows),
    }
}

/// Which rows are in no group, where there can be such: SQL would give them a group of their own.
fn rows_without_a_key(keys: &[GroupKey]) -> Option<String> {
    let keys: Vec<&str> = keys.iter().filter(|key| key.can_be_missing).map(|key| key.name.as_str()).collect();
    let first = keys.first()?;
    Some(format!(
        "Rows without a value of {} (empty, or not one of those declared) are in no group; COALESCE({first}, …) gives them one.",
        keys.join(" or of ")
    ))
}

/// Puts what is known of more rows behind what is known of some.
fn join(unsure: &mut Vec<Option<Unsure>>, more: Vec<Option<Unsure>>) {
    if unsure.is_empty() {
        *unsure = more;
        return;
    }
    for (all, more) in unsure.iter_mut().zip(more).filter_map(|(all, more)| Some((all.as_mut()?, more?))) {
        all.rows.extend(more.rows);
        all.is_everywhere_the_same = false;
    }
}

/// The end of the name of a column that says how many ranks a quantile may be off.
pub(in crate::release) const RANK_ERROR: &str = "_rank_error";

/// An output column; behind one that depends on quantiles, what is known about its error.
fn published(
    cut: &Cut,
    answer: &QueryAnswer,
    (index, unsure): (usize, Option<Unsure>),
    noisy: &Noisy,
    privates: &[&Private],
) -> Result<Vec<AnswerColumn>> {
    let mut column = column(cut, answer, index, noisy, unsure)?;
    let is_quantile = |aggregate: &usize| matches!(cut.query.aggregates[*aggregate], Computation::Quantile(_));
    if !answer.outputs[index].aggregates.iter().any(is_quantile) {
        return Ok(vec![column]);
    }
    column.uncertainty = None;
    let rows = column.cells.len();
    let beside =
        |end: &str, cells: Vec<Cell>| AnswerColumn { name: format!("{}{end}", column.name), cells, uncertainty: None };
    let mut columns = vec![beside("_error", vec![Cell::Null; rows])];
    let direct = answer.outputs[index].direct.map(|aggregate| &cut.query.aggregates[aggregate]);
    if let Some(Computation::Quantile(quantile)) = direct {
        let error = |row: &usize| Ok(Cell::Number(rank_error(&privates[*row].quantiles[*quantile])?));
        columns.push(beside(RANK_ERROR, answer.rows.iter().map(error).collect::<Result<_>>()?));
    }
    columns.insert(0, column);
    Ok(columns)
}

fn column(
    cut: &Cut,
    answer: &QueryAnswer,
    index: usize,
    noisy: &Noisy,
    unsure: Option<Unsure>,
) -> Result<AnswerColumn> {
    let array = answer.batch.column(index);
    let values = (0..array.len()).map(|row| ScalarValue::try_from_array(array, row));
    let values = values
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|_| Error::machine("a released column cannot be read"))?;
    let mut cells: Vec<Cell> = values.iter().map(cell).collect();
    let direct = answer.outputs[index].direct.map(|aggregate| &cut.query.aggregates[aggregate]);
    if let Some(Computation::Count(measure)) = direct {
        // Straight from the integers, which 64 bits may not hold.
        cells = answer.rows.iter().map(|row| Cell::Whole(noisy.cells[*row].sums[*measure])).collect();
    }
    let beside = |(row, cell): (&usize, &Cell)| match (&unsure, cell.number()) {
        // What was published is in its interval also where it was clamped.
        (Some(unsure), Some(number)) => {
            let Uncertainty { standard_error, low, high } = unsure.rows[*row];
            Uncertainty { standard_error, low: low.min(number), high: high.max(number) }
        }
        // Where there is no number, there is no error either.
        _ => Uncertainty { standard_error: f64::NAN, low: f64::NAN, high: f64::NAN },
    };
    let uncertainty = unsure.as_ref().map(|_| answer.rows.iter().zip(&cells).map(beside).collect());
    let name = answer.batch.schema().field(index).name().clone();
    Ok(AnswerColumn { name, cells, uncertainty })
}

fn cell(value: &ScalarValue) -> Cell {
    match value {
        value if value.is_null() => Cell::Null,
        ScalarValue::Int64(Some(number)) => Cell::Whole(i128::from(*number)),
        // Where nothing is defined, nothing is said: x / 0.0 is no number.
        ScalarValue::Float64(Some(number)) if !number.is_finite() => Cell::Null,
        ScalarValue::Float64(Some(number)) => Cell::Number(*number),
        ScalarValue::Boolean(Some(truth)) => Cell::Truth(*truth),
        ScalarValue::Utf8(Some(text)) => Cell::Text(text.clone()),
        ScalarValue::Date32(Some(day)) => Cell::Text(shown_day(i64::from(*day))),
        ScalarValue::TimestampNanosecond(Some(moment), None) => Cell::Text(shown_moment(*moment)),
        other => match other.cast_to(&DataType::Float64) {
            Ok(ScalarValue::Float64(Some(number))) if other.data_type().is_numeric() => Cell::Number(number),
            _ => Cell::Text(other.to_string()),
        },
    }
}

/// The released numbers of one cell, as they are or moved.
#[derive(Clone)]
pub(super) struct Numbers {
    pub sums: Vec<f64>,
    pub quantiles: Vec<f64>,
}

/// The released table, in the aggregate's order and types.
pub(super) fn released(cut: &Cut, noisy: &Noisy) -> Result<Vec<ArrayRef>> {
    let cells: Vec<Numbers> = noisy.cells.iter().map(NoisyCell::numbers).collect();
    let kinds = cut.aggregate.schema.fields().iter().skip(cut.query.keys.len()).map(|field| field.data_type());
    let typed = cut.query.aggregates.iter().zip(kinds).map(|(aggregate, kind)| {
        let numbers = cells.iter().map(|cell| value(aggregate, cell));
        match kind {
            DataType::Int64 => Arc::new(Int64Array::from_iter_values(numbers.map(|number| number as i64))) as ArrayRef,
            // The least or the largest of dates is one in days, of times in seconds.
            DataType::Date32 => Arc::new(Date32Array::from_iter_values(numbers.map(|days| days as i32))) as ArrayRef,
            kind if *kind == MOMENT => {
                let moments = numbers.map(|seconds| seconds as i64 * SECOND);
                Arc::new(TimestampNanosecondArray::from_iter_values(moments)) as ArrayRef
            }
            _ => Arc::new(Float64Array::from_iter_values(numbers)) as ArrayRef,
        }
    });
    Ok(key_columns(cut, &noisy.keys)?.into_iter().chain(typed).collect())
}

pub(super) fn key_columns(cut: &Cut, keys: &[Vec<ScalarValue>]) -> Result<Vec<ArrayRef>> {
    let column = |index: usize| match keys.is_empty() {
        true => Ok(new_empty_array(&cut.query.keys[index].kind)),
        false => ScalarValue::iter_to_array(keys.iter().map(|key| key[index].clone()))
            .map_err(|_| Error::machine("the keys of a release do not fit together")),
    };
    (0..cut.query.keys.len()).map(column).collect()
}

/// An aggregate from released numbers.
pub(super) fn value(aggregate: &Computation, numbers: &Numbers) -> f64 {
    let cell = &numbers.sums;
    match aggregate {
        Computation::Count(measure) => cell[*measure],
        Computation::Sum { steps, step } => cell[*steps] * step,
        Computation::Mean { steps, count, grid, centre } => {
            let mean = (*centre as f64 + cell[*steps] / cell[*count].max(1.0)) * grid.step;
            mean.clamp(grid.lower, grid.upper)
        }
        Computation::Spread { steps, squares, count, grid, sample, root } => {
            let count = cell[*count].max(2.0);
            let mean = cell[*steps] / count;
            let variance = (cell[*squares] / count - mean * mean) * grid.step * grid.step;
            let largest = ((grid.upper - grid.lower) / 2.0).powi(2);
            let variance = variance.clamp(0.0, largest) * if *sample { count / (count - 1.0) } else { 1.0 };
            if *root { variance.sqrt() } else { variance }
        }
        Computation::Pair(pair) => pair.published(&|measure| cell[measure]),
        Computation::Quantile(quantile) => numbers.quantiles[*quantile],
    }
}
