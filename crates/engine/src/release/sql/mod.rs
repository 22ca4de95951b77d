//! Kind `sql`: one query, its aggregates noised.

mod answer;
mod expected;
#[cfg(any(test, feature = "generator"))]
pub(crate) mod generator;

pub(super) use answer::RANK_ERROR;

use super::noise::{Calibrated, Demand, Noise, calibrate, described, threshold};
use super::output::check_names;
use super::{CostAbout, Draw, Expected, Field, Kind, Limit, Plan, limits};
use crate::attackers::Counted;
use crate::backend::Backend;
use crate::backend::hash::Key;
use crate::error::{Error, Result};
use crate::ledger::Receipt;
use crate::place::{Origin, Place};
use crate::project::{Bounding, Project, Request, bounding};
use crate::sql::integers::integers;
use crate::sql::measure::{Computation, QuantileOf, Query, Rank, What};
use crate::sql::{Cut, above, analyse, preflight, sensitivity, window};
use answer::{Drawn, answers, noised};
use scumble::event::{Event, Kind as EventKind, Moves};
use scumble::mechanism::quantile::Quantile;
use scumble::noise::{BitSource, SecureSource};
use scumble::quantity::{Beta, Delta, Epsilon};
use serde_json::{Value, json};

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
fn within_file(error: Error, outer: Place) -> Error {
    match error {
        error if outer.origin == Origin::CommandLine => error,
        Error::Input { place: Some(inner), sentence } if inner.origin == Origin::Query => {
            Error::at(outer, format!("{sentence} (line {}, column {} of the query)", inner.line, inner.column))
        }
        other => other.or_at(outer),
    }
}

/// A planned query.
pub(super) struct SqlPlan {
    sql: String,
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
        let outputs = above::outputs(&cut.plan, &cut.aggregate)?;
        check_names(outputs.iter().map(|output| (output.name.as_str(), !output.aggregates.is_empty())))?;
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
        Ok(Self { sql: sql.to_string(), cut, calibrated, private, events, expected, statements })
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

    fn preflight(&self, _project: &Project, backend: &Backend) -> Result<()> {
        preflight(&self.cut, backend)
    }

    fn compute(&self, _charged: &Receipt, _project: &Project, backend: &Backend) -> Result<Draw> {
        let cut = self.cut.clone();
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

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use tests::quantile_law;
