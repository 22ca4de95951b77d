//! From exact integers to a query's answer: noise on every cell, then what stands above the aggregate, with error bars.

use super::{Private, rank_error, ratio};
use crate::backend::Backend;
use crate::backend::functions::Grid;
use crate::error::{Error, Result};
use crate::release::noise::Noise;
use crate::release::output::{AnswerColumn, Answers, Cell, Details, Uncertainty};
use crate::sql::Cut;
use crate::sql::above::{self, Errors, Moved, QueryAnswer, Spread};
use crate::sql::integers::Integers;
use crate::sql::query::Computation;
use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, new_empty_array};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
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

/// How many moved numbers are held at once: 32 MB of them, a few times over.
const NUMBERS_AT_ONCE: usize = 1 << 22;

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
    let backend = Backend::empty()?;
    let errors = errors(cut, noisy, private, backend)?;
    let answer = above::run(&cut.plan, &cut.aggregate, &released(cut, noisy)?, errors, backend)?;
    let mut notes = Vec::new();
    if let Some(least) = private.threshold {
        notes.push(format!(
            "Groups are not public: only those with at least {least} owners, counted with noise, are shown."
        ));
    }
    let mut columns = Vec::new();
    for index in 0..answer.batch.num_columns() {
        columns.extend(published(cut, &answer, index, noisy, private)?);
    }
    if columns.iter().any(|column: &AnswerColumn| column.name.ends_with(RANK_ERROR)) {
        let note = "A quantile has no standard error, because that depends on how dense the values are: with probability 95% it is off by at most";
        notes.push(format!("{note} COLUMN{RANK_ERROR} rows in rank."));
    }
    Ok((Answers { columns, notes, details: Details::default() }, answer.rows))
}

/// The end of the name of a column that says how many ranks a quantile may be off.
pub(in crate::release) const RANK_ERROR: &str = "_rank_error";

/// An output column; behind one that depends on quantiles, what is known about its error.
fn published(
    cut: &Cut,
    answer: &QueryAnswer,
    index: usize,
    noisy: &Noisy,
    private: &Private,
) -> Result<Vec<AnswerColumn>> {
    let mut column = column(cut, answer, index, noisy, private)?;
    let is_quantile = |aggregate: &usize| matches!(cut.query.aggregates[*aggregate], Computation::Quantile(_));
    if !answer.outputs[index].aggregates.iter().any(is_quantile) {
        return Ok(vec![column]);
    }
    column.uncertainty = None;
    let rows = column.cells.len();
    let beside = |end: &str, cell: Cell| AnswerColumn {
        name: format!("{}{end}", column.name),
        cells: vec![cell; rows],
        uncertainty: None,
    };
    let mut columns = vec![beside("_error", Cell::Null)];
    let direct = answer.outputs[index].direct.map(|aggregate| &cut.query.aggregates[aggregate]);
    if let Some(Computation::Quantile(quantile)) = direct {
        columns.push(beside(RANK_ERROR, Cell::Number(rank_error(&private.quantiles[*quantile])?)));
    }
    columns.insert(0, column);
    Ok(columns)
}

fn column(cut: &Cut, answer: &QueryAnswer, index: usize, noisy: &Noisy, private: &Private) -> Result<AnswerColumn> {
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
    let exact_width = match direct {
        Some(Computation::Count(measure)) => Some(private.noises[*measure].quantile(0.05)),
        Some(Computation::Sum { steps, step }) => Some(private.noises[*steps].quantile(0.05) * step),
        _ => None,
    };
    // What is publicly impossible is in no interval.
    let (least, most) = match direct {
        Some(Computation::Spread { .. }) => (0.0, f64::INFINITY),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let uncertainty = answer.errors[index].as_ref().map(|errors| {
        let interval = |(spread, cell): (&Spread, &Cell)| {
            let half = exact_width.unwrap_or_else(|| spread.half_width());
            match cell.number() {
                Some(middle) => {
                    let (low, high) = ((middle - half).max(least), (middle + half).min(most));
                    Uncertainty { standard_error: spread.standard_error, low, high }
                }
                // Where there is no number, there is no error either.
                None => Uncertainty { standard_error: f64::NAN, low: f64::NAN, high: f64::NAN },
            }
        };
        errors.iter().zip(&cells).map(interval).collect()
    });
    let uncertainty = match direct {
        Some(Computation::Mean { steps, count, grid, centre }) => {
            let of = |row: &usize| mean(&noisy.cells[*row], (*steps, *count), *grid, *centre, private);
            Some(answer.rows.iter().map(of).collect())
        }
        _ => uncertainty,
    };
    let name = answer.batch.schema().field(index).name().clone();
    Ok(AnswerColumn { name, cells, uncertainty })
}

/// How unsure a mean is, in the unit of its column.
fn mean(cell: &NoisyCell, measures: (usize, usize), grid: Grid, centre: i64, private: &Private) -> Uncertainty {
    let noisy = |measure: usize| {
        let noise = &private.noises[measure];
        let law = ratio::Law { variance: noise.standard_deviation().powi(2), kurtosis: kurtosis(noise) };
        (cell.sums[measure] as f64, law)
    };
    let (centre, step) = (centre as f64, grid.step);
    let (least, most) = (grid.lower / step - centre, grid.upper / step - centre);
    let steps = ratio::mean(noisy(measures.0), noisy(measures.1), least, most);
    Uncertainty {
        standard_error: steps.standard_error * step,
        low: ((steps.low + centre) * step).max(grid.lower),
        high: ((steps.high + centre) * step).min(grid.upper),
    }
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
            _ => Arc::new(Float64Array::from_iter_values(numbers)) as ArrayRef,
        }
    });
    Ok(key_columns(cut, &noisy.keys)?.into_iter().chain(typed).collect())
}

/// How far each output column of each released row may be off. So many rows at a time that what is moved stays small: all of it at
/// once took gigabytes for 300,000 cells of five aggregates.
pub(super) fn errors(cut: &Cut, noisy: &Noisy, private: &Private, backend: &Backend) -> Result<Errors> {
    let width = cut.query.keys.len() + cut.query.aggregates.len();
    let tables = 2 * (private.noises.len() + private.quantiles.len());
    let rows = (NUMBERS_AT_ONCE / (width * tables).max(1)).clamp(1, noisy.cells.len().max(1));
    let mut all: Option<Errors> = None;
    let mut start = 0;
    while start < noisy.cells.len() || all.is_none() {
        let end = (start + rows).min(noisy.cells.len());
        let moved = moved(cut, &noisy.keys[start..end], &noisy.cells[start..end], private)?;
        let more = above::column_errors(&cut.plan, &cut.aggregate, end - start, &moved, backend)?;
        match &mut all {
            None => all = Some(more),
            Some(all) => all.iter_mut().zip(more).for_each(|(column, more)| {
                if let (Some(column), Some(more)) = (column, more) {
                    column.extend(more);
                }
            }),
        }
        start = end;
    }
    Ok(all.unwrap_or_default())
}

/// The cells as they would be with each noise one standard deviation up and down. A quantile has no standard deviation: what depends
/// on one is not a number when it moves.
fn moved(cut: &Cut, keys: &[Vec<ScalarValue>], cells: &[NoisyCell], private: &Private) -> Result<Vec<Moved>> {
    let cells: Vec<Numbers> = cells.iter().map(NoisyCell::numbers).collect();
    let key_columns = key_columns(cut, keys)?;
    let changed = |change: &dyn Fn(&mut Numbers)| {
        let mut cells = cells.clone();
        cells.iter_mut().for_each(change);
        let column = |aggregate: &Computation| {
            Arc::new(Float64Array::from_iter_values(cells.iter().map(|cell| value(aggregate, cell)))) as ArrayRef
        };
        key_columns.iter().cloned().chain(cut.query.aggregates.iter().map(column)).collect::<Vec<_>>()
    };
    let mut moved = Vec::new();
    for (index, noise) in private.noises.iter().enumerate() {
        let by = noise.standard_deviation();
        let (up, down) = (changed(&|cell| cell.sums[index] += by), changed(&|cell| cell.sums[index] -= by));
        moved.push(Moved { up, down, kurtosis: kurtosis(noise) });
    }
    for index in 0..private.quantiles.len() {
        let unknown = changed(&|cell| cell.quantiles[index] = f64::NAN);
        moved.push(Moved { up: unknown.clone(), down: unknown, kurtosis: 0.0 });
    }
    Ok(moved)
}

/// The excess kurtosis of a noise; of discrete Laplace noise it is 3 + 1/σ², and nobody draws an interval where σ is far below 1.
fn kurtosis(noise: &Noise) -> f64 {
    if matches!(noise, Noise::Laplace(..)) { 3.0 } else { 0.0 }
}

fn key_columns(cut: &Cut, keys: &[Vec<ScalarValue>]) -> Result<Vec<ArrayRef>> {
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
        Computation::Quantile(quantile) => numbers.quantiles[*quantile],
    }
}
