//! Kind `sql`: one query, its aggregates noised.

use super::noise::{Calibrated, Demand, Noise, calibrate, threshold};
use super::output::{Answers, Cell, Column, Uncertainty};
use super::{Draw, Expected, Field, Kind, Plan};
use crate::backend::Backend;
use crate::backend::hash::Key;
use crate::error::{Error, Result};
use crate::project::{Bounding, Project, Request, bounding};
use crate::sql::above::{self, Answer, Released};
use crate::sql::integers::{Integers, integers};
use crate::sql::measure::{Computation, What};
use crate::sql::{Cut, analyse, sensitivity};
use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, new_empty_array};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use scumble::event::{Event, Kind as EventKind, Moves};
use scumble::noise::{BitSource, SecureSource};
use scumble::quantity::{Delta, Epsilon};
use serde_json::{Value, json};
use std::sync::Arc;

/// The normal quantile of 97.5%.
const NORMAL_95: f64 = 1.959_963_984_540_054;

/// The kind `sql`.
pub(super) struct Sql;

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

const FIELDS: [Field; 4] = [
    Field {
        name: "sql",
        form: "text",
        required: true,
        about: "the query: one aggregate level over the project's tables",
    },
    BOUNDING_FIELDS[0],
    BOUNDING_FIELDS[1],
    BOUNDING_FIELDS[2],
];

impl Kind for Sql {
    fn name(&self) -> &'static str {
        "sql"
    }

    fn about(&self) -> &'static str {
        "the aggregates of a SQL query, each with integer noise and an error bar"
    }

    fn fields(&self) -> &'static [Field] {
        &FIELDS
    }

    fn plan(&self, request: &Request, project: &Project) -> Result<Box<dyn Plan>> {
        let spot = request.fields.need("sql")?;
        let place = spot.place();
        let plan = SqlPlan::new(spot.text()?, bounding(&request.fields)?, request, project);
        Ok(Box::new(plan.map_err(|error| within_file(error, place))?))
    }
}

/// A position in a query is told together with the query's position in the file.
fn within_file(error: Error, outer: crate::Place) -> Error {
    match error {
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
    threshold: Option<i64>,
    events: Vec<Event>,
    expected: Vec<Expected>,
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
        let demand = Demand {
            moves: &moves,
            steps: &steps,
            selects_keys: query.cells().is_none(),
            default_delta: project.budget.smallest_delta(),
        };
        let calibrated = calibrate(&request.cost, &demand)?;
        let mut events: Vec<Event> =
            calibrated.noises.iter().zip(moves).map(|(noise, moves)| noise.event(moves)).collect();
        let mut least = None;
        if let (Some(delta), Some(owners)) = (calibrated.key_delta, query.owners()) {
            least = Some(threshold(&calibrated.noises[owners], delta, sensitivity::keys_per_owner(query)));
            let kind = EventKind::Approximate { epsilon: Epsilon::new(0.0)?, delta: Delta::new(delta)? };
            events.push(Event::new(kind, sensitivity::new_key_moves(query)?));
        }
        let expected = expected(&cut, &calibrated.noises, &backend)?;
        Ok(Self { sql: sql.to_string(), bounding, cut, calibrated, threshold: least, events, expected })
    }
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
                    "noise": noise.describe(),
                })
            })
            .collect();
        json!({
            "sql": self.sql,
            "tables": self.cut.below.tables,
            "bounding": query.bounds.map(|bounds| json!({
                "groups_per_owner": bounds.groups, "rows_per_group": bounds.rows_per_group, "rows_per_owner": bounds.rows,
            })),
            "keys": { "attributes": query.key_attributes, "cells": query.cells(), "threshold": self.threshold,
                      "delta": self.calibrated.key_delta },
            "filters": { "attributes": query.rows },
            "measures": measures,
        })
    }

    fn expected(&self) -> Vec<Expected> {
        self.expected.clone()
    }

    fn tables(&self) -> Vec<String> {
        self.cut.below.tables.iter().cloned().collect()
    }

    fn compute(&self, project: &Project, backend: &Backend) -> Result<Draw> {
        let cut = analyse(&self.sql, self.bounding, project, backend)?;
        let mut secret = SecureSource::new()?;
        let key = Key(secret.next_u64(), secret.next_u64());
        let integers = integers(&cut, backend, key)?;
        let (noises, threshold) = (self.calibrated.noises.clone(), self.threshold);
        Ok(Box::new(move |_receipt, bits| {
            let noisy = noised(&cut, integers, &noises, threshold, &mut |noise| noise.sample(bits));
            answers(&cut, &noisy, &noises, threshold)
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

/// Adds noise to every measure of every cell, independently; of unknown keys only those with enough owners stay.
pub(super) fn noised(
    cut: &Cut,
    integers: Integers,
    noises: &[Noise],
    threshold: Option<i64>,
    draw: &mut dyn FnMut(&Noise) -> i64,
) -> Integers {
    let Integers { keys, sums } = integers;
    let sums = sums.into_iter().map(|cell| {
        cell.into_iter().zip(noises).map(|(exact, noise)| exact + i128::from(draw(noise))).collect::<Vec<i128>>()
    });
    let (mut kept_keys, mut kept) = (Vec::new(), Vec::new());
    for (key, cell) in keys.into_iter().zip(sums) {
        let enough = match (threshold, cut.query.owners()) {
            (Some(least), Some(owners)) => cell[owners] >= i128::from(least),
            _ => true,
        };
        if enough {
            kept_keys.push(key);
            kept.push(cell);
        }
    }
    Integers { keys: kept_keys, sums: kept }
}

/// From noisy measures to the query's columns.
pub(super) fn answers(cut: &Cut, noisy: &Integers, noises: &[Noise], threshold: Option<i64>) -> Result<Answers> {
    let backend = Backend::empty()?;
    let released = released(cut, &noisy.keys, &noisy.sums, noises)?;
    let answer = above::run(&cut.plan, &cut.aggregate, &released, &backend)?;
    let mut notes = Vec::new();
    if let Some(least) = threshold {
        notes.push(format!(
            "Groups are not public: only those with at least {least} owners, counted with noise, are shown."
        ));
    }
    let columns = (0..answer.batch.num_columns())
        .map(|index| column(cut, &answer, index, noisy, noises))
        .collect::<Result<_>>()?;
    Ok(Answers { columns, notes })
}

fn column(cut: &Cut, answer: &Answer, index: usize, noisy: &Integers, noises: &[Noise]) -> Result<Column> {
    let array = answer.batch.column(index);
    let values = (0..array.len()).map(|row| ScalarValue::try_from_array(array, row));
    let values = values
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|_| Error::machine("a released column cannot be read"))?;
    let mut cells: Vec<Cell> = values.iter().map(cell).collect();
    let direct = answer.direct[index].map(|aggregate| &cut.query.aggregates[aggregate]);
    if let Some(Computation::Count(measure)) = direct {
        // Straight from the integers, which 64 bits may not hold.
        cells = answer.rows.iter().map(|row| Cell::Whole(noisy.sums[*row][*measure])).collect();
    }
    let exact_width = match direct {
        Some(Computation::Count(measure)) => Some(noises[*measure].half_width(0.05)),
        Some(Computation::Sum { steps, step }) => Some(noises[*steps].half_width(0.05) * step),
        _ => None,
    };
    let uncertainty = answer.errors[index].as_ref().map(|errors| {
        let interval = |(error, cell): (&f64, &Cell)| {
            let half = exact_width.unwrap_or(NORMAL_95 * error);
            let middle = cell.number().unwrap_or(f64::NAN);
            Uncertainty { standard_error: *error, low: middle - half, high: middle + half }
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

/// The released table, and how it would look with each noise one standard deviation up and down.
fn released(cut: &Cut, keys: &[Vec<ScalarValue>], sums: &[Vec<i128>], noises: &[Noise]) -> Result<Released> {
    let measures: Vec<Vec<f64>> = sums.iter().map(|cell| cell.iter().map(|number| *number as f64).collect()).collect();
    let key_columns = key_columns(cut, keys)?;
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
        let numbers = measures.iter().map(|cell| value(aggregate, cell));
        match kind {
            DataType::Int64 => Arc::new(Int64Array::from_iter_values(numbers.map(|number| number as i64))) as ArrayRef,
            _ => Arc::new(Float64Array::from_iter_values(numbers)) as ArrayRef,
        }
    });
    let columns = with_keys(typed.collect());
    let moved = (0..noises.len()).map(|index| {
        let side = |sign: f64| {
            let by = sign * noises[index].standard_deviation();
            let cells: Vec<Vec<f64>> = measures
                .iter()
                .map(|cell| {
                    cell.iter()
                        .enumerate()
                        .map(|(other, number)| if other == index { number + by } else { *number })
                        .collect()
                })
                .collect();
            let column = |aggregate: &Computation| {
                Arc::new(Float64Array::from_iter_values(cells.iter().map(|cell| value(aggregate, cell)))) as ArrayRef
            };
            with_keys(cut.query.aggregates.iter().map(column).collect())
        };
        (side(1.0), side(-1.0))
    });
    Ok(Released { columns, moved: moved.collect() })
}

fn key_columns(cut: &Cut, keys: &[Vec<ScalarValue>]) -> Result<Vec<ArrayRef>> {
    let column = |index: usize| match keys.is_empty() {
        true => Ok(new_empty_array(&cut.query.keys[index].kind)),
        false => ScalarValue::iter_to_array(keys.iter().map(|key| key[index].clone()))
            .map_err(|_| Error::machine("the keys of a release do not fit together")),
    };
    (0..cut.query.keys.len()).map(column).collect()
}

/// An aggregate from noisy measures.
fn value(aggregate: &Computation, cell: &[f64]) -> f64 {
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
    }
}

/// The standard error of each output column, where it is the same for every answer: it is computed at two made-up points.
fn expected(cut: &Cut, noises: &[Noise], backend: &Backend) -> Result<Vec<Expected>> {
    let key: Vec<ScalarValue> = cut
        .query
        .keys
        .iter()
        .map(|key| match key.domain.as_ref().and_then(|domain| domain.first()) {
            Some(value) => Ok(value.clone()),
            None => ScalarValue::try_from(&key.kind).map_err(|_| Error::machine("a key without a type")),
        })
        .collect::<Result<_>>()?;
    let points = [vec![1_000_003i128; noises.len()], vec![7_919_000; noises.len()]];
    let released = released(cut, &[key.clone(), key], &points, noises)?;
    let columns = above::column_errors(&cut.plan, &cut.aggregate, &released, backend)?;
    let about = |error: Option<f64>| match error {
        Some(_) => "the same for every cell, whatever the data".to_string(),
        None => "depends on the released numbers; stands beside each of them".to_string(),
    };
    Ok(columns
        .into_iter()
        .filter_map(|(name, errors)| {
            let errors = errors?;
            let same = (errors[0] - errors[1]).abs() <= 1e-9 * errors[0].abs();
            let standard_error = same.then_some(errors[0]);
            Some(Expected { column: name, standard_error, about: about(standard_error) })
        })
        .collect())
}

#[cfg(test)]
mod tests;
