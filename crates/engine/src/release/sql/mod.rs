//! Kind `sql`: one query, its aggregates noised.

mod expected;

use super::noise::{Calibrated, Demand, Noise, calibrate, described, threshold};
use super::output::{Answers, Cell, Column, Details, Uncertainty};
use super::{CostAbout, Draw, Expected, Field, Kind, Limit, Plan, limits};
use crate::attackers::Counted;
use crate::backend::Backend;
use crate::backend::hash::Key;
use crate::error::{Error, Result};
use crate::project::{Bounding, COMMAND_LINE, Project, Request, bounding};
use crate::sql::above::{self, Answer, Moved, Released, Spread};
use crate::sql::integers::{Integers, integers};
use crate::sql::measure::{Computation, QuantileOf, Query, Rank, What};
use crate::sql::{Cut, analyse, sensitivity, window};
use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, new_empty_array};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use scumble::event::{Event, Kind as EventKind, Moves};
use scumble::mechanism::quantile::Quantile;
use scumble::noise::{BitSource, SecureSource};
use scumble::quantity::{Beta, Delta, Epsilon};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Contribution bounds, which any release may tighten.
pub(super) const BOUNDING_FIELDS: [Field; 3] = [
    Field {
        name: "max_rows_per_owner",
        form: "whole number",
        required: false,
        about: "how many rows of one owner may count, if not as the table says",
    },
    Field {
        name: "max_groups_per_owner",
        form: "whole number",
        required: false,
        about: "in how many groups one owner may count",
    },
    Field {
        name: "max_rows_per_group",
        form: "whole number",
        required: false,
        about: "how many rows of one owner may count in one group",
    },
];

const FIELDS: [Field; 5] = [
    Field {
        name: "sql",
        form: "text",
        required: true,
        about: "the query: one aggregate level over the project's tables",
    },
    expected::FIELD,
    BOUNDING_FIELDS[0],
    BOUNDING_FIELDS[1],
    BOUNDING_FIELDS[2],
];

/// The kind `sql`.
pub(super) static KIND: Kind = Kind {
    name: "sql",
    about: "the aggregates of a SQL query, each with integer noise and an error bar",
    fields: &FIELDS,
    cost_about: CostAbout::Owners,
    plan,
};

fn plan(request: &Request, project: &Project) -> Result<Box<dyn Plan>> {
    let spot = request.fields.need("sql")?;
    let place = spot.place();
    let plan = SqlPlan::new(spot.text()?, bounding(&request.fields)?, request, project);
    Ok(Box::new(plan.map_err(|error| within_file(error, place))?))
}

/// A position in a query is told together with the query's position in the file.
fn within_file(error: Error, outer: crate::Place) -> Error {
    match error {
        error if outer.text == COMMAND_LINE => error,
        Error::Input { place: Some(inner), sentence } if inner.text == "query" => {
            Error::at(outer, format!("{sentence} (line {}, column {} of the query)", inner.line, inner.column))
        }
        other => other.or_at(outer),
    }
}

/// A planned query.
pub(super) struct SqlPlan {
    sql: String,
    bounding: Bounding,
    cut: Cut,
    calibrated: Calibrated,
    private: Private,
    events: Vec<Event>,
    expected: Vec<Expected>,
    /// What is noised, as SQL text with window functions; none where the plan has no such text.
    statements: Option<Vec<String>>,
}

/// What makes the exact answer private.
#[derive(Debug, Clone)]
struct Private {
    /// The noise of each measure.
    noises: Vec<Noise>,
    /// The mechanism of each quantile.
    quantiles: Vec<Quantile>,
    /// The least noisy number of owners of a key that is published; none where all keys are public.
    threshold: Option<i64>,
}

impl SqlPlan {
    pub fn new(sql: &str, bounding: Bounding, request: &Request, project: &Project) -> Result<Self> {
        let backend = Backend::without_data(project)?;
        let cut = analyse(sql, bounding, project, &backend)?;
        let query = &cut.query;
        let moves =
            query.measures.iter().map(|measure| sensitivity::moves(measure, query)).collect::<Result<Vec<Moves>>>()?;
        let steps: Vec<Option<f64>> =
            query.measures.iter().map(|measure| step(&measure.what, &query.aggregates)).collect();
        let quantile_moves = query
            .quantiles
            .iter()
            .map(|quantile| sensitivity::quantile_moves(quantile, query))
            .collect::<Result<Vec<Moves>>>()?;
        let demand = Demand {
            moves: &moves,
            steps: &steps,
            quantiles: &quantile_moves,
            selects_keys: query.cells().is_none(),
            default_delta: project.budget.smallest_delta(),
        };
        let calibrated = calibrate(&request.cost, &demand)?;
        let mut events = Vec::new();
        for (noise, moves) in calibrated.noises.iter().zip(moves) {
            events.push(noise.event(moves)?);
        }
        let epsilons = calibrated.quantiles.iter();
        events.extend(
            epsilons
                .zip(quantile_moves)
                .map(|(epsilon, moves)| Event::new(EventKind::Exponential { epsilon: *epsilon }, moves)),
        );
        let mut least = None;
        if let (Some(delta), Some(owners)) = (calibrated.key_delta, query.owners()) {
            least = Some(threshold(&calibrated.noises[owners], delta, sensitivity::keys_per_owner(query))?);
            let kind = EventKind::Approximate { epsilon: Epsilon::new(0.0)?, delta: Delta::new(delta)? };
            events.push(Event::new(kind, sensitivity::new_key_moves(query)?));
        }
        let quantiles = query.quantiles.iter().zip(&calibrated.quantiles);
        let private = Private {
            noises: calibrated.noises.clone(),
            quantiles: quantiles.map(|(one, epsilon)| mechanism(query, one, *epsilon)).collect::<Result<_>>()?,
            threshold: least,
        };
        let expected = expected::expected(&cut, &private, expected::rows(request)?, &backend)?;
        let statements = window::statements(&cut, project).ok();
        Ok(Self { sql: sql.to_string(), bounding, cut, calibrated, private, events, expected, statements })
    }
}

/// The mechanism of one quantile.
fn mechanism(query: &Query, quantile: &QuantileOf, epsilon: Epsilon) -> Result<Quantile> {
    quantile.rank.mechanism(query.ranked[quantile.ranked].last_key(), epsilon)
}

/// By how many ranks a quantile is off at most, with probability 95%.
fn rank_error(quantile: &Quantile) -> Result<f64> {
    Ok(quantile.error(Beta::new(0.05)?))
}

/// The step of a measure that is published as it is.
fn step(what: &What, aggregates: &[Computation]) -> Option<f64> {
    let centred =
        aggregates.iter().any(|aggregate| !matches!(aggregate, Computation::Count(_) | Computation::Sum { .. }));
    match what {
        What::Owners | What::Rows | What::Present | What::Different if !centred => Some(1.0),
        What::Owners => Some(1.0),
        What::Steps { grid, centre: 0 } if !centred => Some(grid.step),
        _ => None,
    }
}

impl Plan for SqlPlan {
    fn events(&self) -> &[Event] {
        &self.events
    }

    fn rule(&self) -> Value {
        let query = &self.cut.query;
        let measures: Vec<Value> = query
            .measures
            .iter()
            .zip(&self.calibrated.noises)
            .map(|(measure, noise)| {
                json!({
                    "what": describe(&measure.what),
                    "of": measure.expression.as_ref().map(ToString::to_string),
                    "range": [measure.range.0, measure.range.1],
                    "attributes": measure.attributes,
                    "noise": described(noise),
                })
            })
            .collect();
        let quantiles: Vec<Value> = query
            .quantiles
            .iter()
            .zip(&self.calibrated.quantiles)
            .map(|(quantile, epsilon)| {
                let ranked = &query.ranked[quantile.ranked];
                json!({
                    "which": named(quantile.rank),
                    "of": ranked.expression.to_string(),
                    "grid": { "lower": ranked.grid.lower, "upper": ranked.grid.upper, "step": ranked.grid.step },
                    "attributes": ranked.attributes,
                    "epsilon": epsilon.get(),
                })
            })
            .collect();
        json!({
            "sql": self.sql,
            "integers": self.statements,
            "tables": self.cut.below.tables,
            "bounding": query.bounds.map(|bounds| json!({
                "groups_per_owner": bounds.groups, "rows_per_group": bounds.rows_per_group, "rows_per_owner": bounds.rows,
            })),
            "keys": { "attributes": query.key_attributes, "cells": query.cells(), "threshold": self.private.threshold,
                      "delta": self.calibrated.key_delta },
            "filters": { "attributes": query.rows },
            "measures": measures,
            "quantiles": quantiles,
        })
    }

    fn expected(&self) -> Vec<Expected> {
        self.expected.clone()
    }

    fn limits(&self) -> Result<Vec<Limit>> {
        limits::of_query(&self.cut, &self.calibrated.noises, &self.events)
    }

    fn counted(&self) -> Result<Counted> {
        Counted::of_query(&self.cut, &self.calibrated.noises)
    }

    fn tables(&self) -> Vec<String> {
        self.cut.below.tables.iter().cloned().collect()
    }

    fn compute(&self, project: &Project, backend: &Backend) -> Result<Draw> {
        let cut = analyse(&self.sql, self.bounding, project, backend)?;
        let mut secret = SecureSource::new()?;
        let key = Key(secret.next_u64(), secret.next_u64());
        let integers = integers(&cut, backend, key)?;
        let private = self.private.clone();
        Ok(Box::new(move |_receipt, bits| {
            let noisy = noised(&cut, integers, &private, &mut Drawn(bits));
            answers(&cut, &noisy, &private)
        }))
    }
}

fn describe(what: &What) -> String {
    match what {
        What::Owners => "number of owners".to_string(),
        What::Rows => "number of rows".to_string(),
        What::Present => "number of values".to_string(),
        What::Different => "number of different values".to_string(),
        What::Steps { grid, centre } => format!("sum of values in steps of {}, less {centre} each", grid.step),
        What::Squares { grid, centre } => {
            format!("sum of squares of values in steps of {}, less {centre} each", grid.step)
        }
    }
}

fn named(rank: Rank) -> String {
    match rank {
        Rank::Least => "least".to_string(),
        Rank::Largest => "largest".to_string(),
        Rank::Fraction(fraction) => format!("quantile {}", fraction.get()),
    }
}

/// Where randomness enters. Only tests have another than [`Drawn`].
trait Chance {
    /// The exact number with its noise.
    fn noised(&mut self, noise: &Noise, exact: i128) -> i128;
    /// The key that a quantile is released as.
    fn chosen(&mut self, quantile: &Quantile, counts: &BTreeMap<u128, u64>) -> u128;
}

/// Randomness from a source of bits.
struct Drawn<'a>(&'a mut dyn BitSource);

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
struct Noisy {
    keys: Vec<Vec<ScalarValue>>,
    cells: Vec<NoisyCell>,
}

#[derive(Debug, Clone)]
struct NoisyCell {
    /// The measures, with noise.
    sums: Vec<i128>,
    /// The quantiles, in the unit of their columns.
    quantiles: Vec<f64>,
}

/// Adds noise to every measure of every cell, independently; of unknown keys only those with enough owners stay, and only of those are
/// quantiles drawn.
fn noised(cut: &Cut, integers: Integers, private: &Private, chance: &mut dyn Chance) -> Noisy {
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
fn answers(cut: &Cut, noisy: &Noisy, private: &Private) -> Result<Answers> {
    let backend = Backend::empty()?;
    let released = released(cut, noisy, private)?;
    let answer = above::run(&cut.plan, &cut.aggregate, &released, &backend)?;
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
    if columns.iter().any(|column: &Column| column.name.ends_with(RANK_ERROR)) {
        let note = "A quantile has no standard error, because that depends on how dense the values are: with probability 95% it is off by at most";
        notes.push(format!("{note} COLUMN{RANK_ERROR} rows in rank."));
    }
    Ok(Answers { columns, notes, details: Details::default() })
}

/// The end of the name of a column that says how many ranks a quantile may be off.
pub(super) const RANK_ERROR: &str = "_rank_error";

/// An output column; behind one that depends on quantiles, what is known about its error.
fn published(cut: &Cut, answer: &Answer, index: usize, noisy: &Noisy, private: &Private) -> Result<Vec<Column>> {
    let mut column = column(cut, answer, index, noisy, private)?;
    let is_quantile = |aggregate: &usize| matches!(cut.query.aggregates[*aggregate], Computation::Quantile(_));
    if !answer.outputs[index].aggregates.iter().any(is_quantile) {
        return Ok(vec![column]);
    }
    column.uncertainty = None;
    let rows = column.cells.len();
    let beside = |end: &str, cell: Cell| Column {
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

fn column(cut: &Cut, answer: &Answer, index: usize, noisy: &Noisy, private: &Private) -> Result<Column> {
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
        Some(Computation::Mean { grid, .. }) => (grid.lower, grid.upper),
        Some(Computation::Spread { .. }) => (0.0, f64::INFINITY),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let uncertainty = answer.errors[index].as_ref().map(|errors| {
        let interval = |(spread, cell): (&Spread, &Cell)| {
            let half = exact_width.unwrap_or_else(|| spread.half_width());
            let middle = cell.number().unwrap_or(f64::NAN);
            let (low, high) = ((middle - half).max(least), (middle + half).min(most));
            Uncertainty { standard_error: spread.standard_error, low, high }
        };
        errors.iter().zip(&cells).map(interval).collect()
    });
    let name = answer.batch.schema().field(index).name().clone();
    Ok(Column { name, cells, uncertainty })
}

fn cell(value: &ScalarValue) -> Cell {
    match value {
        value if value.is_null() => Cell::Null,
        ScalarValue::Int64(Some(number)) => Cell::Whole(i128::from(*number)),
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
struct Numbers {
    sums: Vec<f64>,
    quantiles: Vec<f64>,
}

/// The released table, and how it would look with each noise one standard deviation up and down. A quantile has no standard
/// deviation: what depends on one is not a number when it moves.
fn released(cut: &Cut, noisy: &Noisy, private: &Private) -> Result<Released> {
    let as_numbers = |cell: &NoisyCell| Numbers {
        sums: cell.sums.iter().map(|number| *number as f64).collect(),
        quantiles: cell.quantiles.clone(),
    };
    let cells: Vec<Numbers> = noisy.cells.iter().map(as_numbers).collect();
    let key_columns = key_columns(cut, &noisy.keys)?;
    let with_keys = |aggregates: Vec<ArrayRef>| key_columns.iter().cloned().chain(aggregates).collect::<Vec<_>>();
    let kinds: Vec<DataType> = cut
        .aggregate
        .schema
        .fields()
        .iter()
        .skip(cut.query.keys.len())
        .map(|field| field.data_type().clone())
        .collect();
    let typed = cut.query.aggregates.iter().zip(&kinds).map(|(aggregate, kind)| {
        let numbers = cells.iter().map(|cell| value(aggregate, cell));
        match kind {
            DataType::Int64 => Arc::new(Int64Array::from_iter_values(numbers.map(|number| number as i64))) as ArrayRef,
            _ => Arc::new(Float64Array::from_iter_values(numbers)) as ArrayRef,
        }
    });
    let columns = with_keys(typed.collect());
    let changed = |change: &dyn Fn(&mut Numbers)| {
        let mut cells = cells.clone();
        cells.iter_mut().for_each(change);
        let column = |aggregate: &Computation| {
            Arc::new(Float64Array::from_iter_values(cells.iter().map(|cell| value(aggregate, cell)))) as ArrayRef
        };
        with_keys(cut.query.aggregates.iter().map(column).collect())
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
    Ok(Released { columns, moved })
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
fn value(aggregate: &Computation, numbers: &Numbers) -> f64 {
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

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use tests::quantile_law;
