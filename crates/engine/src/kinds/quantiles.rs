//! Kind `quantiles`: some quantiles of a bounded column. It is a query for percentiles, its answer laid out in rows.

use super::ordered::{FIELDS as ORDERED_FIELDS, OrderedUnit, ordered, roles_of_quantiles};
use super::sql::{RANK_ERROR, analysed};
use crate::attackers::ReleasedStatistic;
use crate::error::{Error, Result};
use crate::kinds::{smooth_quantiles, wide_keys, wide_quantiles};
use crate::project::{Cost, Project, Request};
use crate::release::Kind;
use crate::release::field::{Field, Word};
use crate::release::output::{AnswerColumn, Answers, Cell, ColumnKind, ColumnRole, Details};
use crate::release::plan::{AnalysedRequest, Analysis, Plan, Price, PricedRequest};
use crate::release::price::smooth_noise;
use crate::release::price::smooth_noise::FAMILY;
use crate::release::rows::fields::quoted;
use scumble::event::Event;
use scumble::quantity::Probability;
use serde_json::json;
use std::rc::Rc;

const QUANTILES: Field<Vec<Probability>> =
    Field::new("quantiles", "from 0 (smallest) to 1 (largest); 0.5 is the median");

const METHOD: Field<Option<QuantileMethod>> = Field::new(
    "method",
    "`exponential` (the default) or `smooth`: noise for the values' own sensitivity, nearly always worse",
);

#[derive(Clone, Copy, PartialEq, Eq)]
enum QuantileMethod {
    Exponential,
    Smooth,
}

impl Word for QuantileMethod {
    const WORDS: &'static [(&'static str, Self)] = &[("exponential", Self::Exponential), ("smooth", Self::Smooth)];

    fn unknown(_: &str) -> String {
        "the method of quantiles is 'exponential' or 'smooth'".to_string()
    }
}

/// The kind `quantiles`.
pub(crate) static KIND: Kind = Kind {
    name: "quantiles",
    about: "quantiles of a column, by the exponential mechanism; each is off by at most `rank_error` rows, and need not be a value that occurs",
    fields: &[
        ORDERED_FIELDS[0],
        ORDERED_FIELDS[1],
        QUANTILES.listed(),
        METHOD.listed(),
        FAMILY.listed(),
        wide_keys::FIELDS[0],
        wide_keys::FIELDS[1],
        ORDERED_FIELDS[2],
    ],
    analyse,
    ..Kind::COMMON
};

fn analyse(request: &Request, project: &Project) -> Result<AnalysedRequest> {
    let fractions: Vec<f64> = QUANTILES.read(request)?.into_iter().map(Probability::get).collect();
    if fractions.is_empty() {
        return Err(QUANTILES.error(request, "give at least one quantile, such as 0.5"));
    }
    let method = METHOD.read(request)?;
    // Refused where it would mean nothing.
    smooth_noise::family(request, method == Some(QuantileMethod::Smooth))?;
    if let Some(values) = wide_keys::KeyedValues::new(request, project)? {
        return match method {
            Some(QuantileMethod::Smooth) => {
                Err(METHOD.error(request, "the method 'smooth' is for columns of numbers; leave it out for keys"))
            }
            _ => Ok(wide_quantiles::analyse(values, fractions)),
        };
    }
    let column = ordered(request, project)?;
    let (numbers, unit) = (column.numbers(), column.unit());
    let percentile = |(index, fraction): (usize, &f64)| {
        format!("approx_percentile_cont({numbers}, {fraction:?}) AS {}", quoted(&column_of(index)))
    };
    let columns: Vec<String> = fractions.iter().enumerate().map(percentile).collect();
    let sql = format!("SELECT {} FROM {}", columns.join(", "), quoted(&column.table.name));
    let place = QUANTILES.place(request);
    let here = place.clone();
    let query = analysed(&sql, request, project, move |error| error.or_at(here.clone()))?;
    if method == Some(QuantileMethod::Smooth) {
        if !matches!(unit, OrderedUnit::Plain) {
            return Err(METHOD.error(request, "the method 'smooth' is for columns of numbers; leave it out for dates"));
        }
        return smooth_quantiles::analyse(&sql, fractions, request, project, query).map_err(|error| error.or_at(place));
    }
    let kind = ColumnKind::declared(column.domain);
    Ok(AnalysedRequest::new(QuantilesAnalysis { query, fractions, unit, kind }))
}

/// Quantiles as a query, in the words of this kind.
struct QuantilesAnalysis {
    query: AnalysedRequest,
    fractions: Vec<f64>,
    unit: OrderedUnit,
    kind: ColumnKind,
}

impl Analysis for QuantilesAnalysis {
    type Mechanism = PricedRequest;

    fn at(&self, cost: &Cost) -> Result<Price<PricedRequest>> {
        let mechanism = self.query.at(cost)?;
        Ok(Price { events: mechanism.events().to_vec(), mechanism })
    }

    /// The query's price has its events.
    fn plan(self: Rc<Self>, query: PricedRequest, _: Vec<Event>) -> Result<Plan> {
        let mut plan = query.plan()?;
        plan.rule["fractions"] = json!(self.fractions);
        for (expected, fraction) in plan.expected.iter_mut().zip(&self.fractions) {
            expected.column = format!("value at {fraction}");
        }
        let query = plan.compute;
        Ok(Plan {
            limits: Vec::new(),
            counted: ReleasedStatistic::default(),
            compute: Box::new(move |charged| in_rows(query(charged)?, &self.fractions, (self.unit, self.kind))),
            ..plan
        })
    }
}

/// The name of a quantile in the query.
fn column_of(index: usize) -> String {
    format!("quantile {index}")
}

/// The columns of the query's one row, one below the other.
fn in_rows(answers: Answers, fractions: &[f64], (unit, kind): (OrderedUnit, ColumnKind)) -> Result<Answers> {
    let found = |name: String| {
        let column = answers.columns.iter().find(|column| column.name == name);
        let value = column.and_then(|column| column.cells.first()).and_then(Cell::number);
        value.ok_or_else(|| Error::machine("a quantile is missing from its query's answer"))
    };
    let indices = 0..fractions.len();
    let values = indices.clone().map(|index| found(column_of(index))).collect::<Result<Vec<f64>>>()?;
    let errors =
        indices.map(|index| found(format!("{}{RANK_ERROR}", column_of(index)))).collect::<Result<Vec<f64>>>()?;
    let of = answers.details.roles.values().find_map(ColumnRole::of).unwrap_or_default();
    let roles = roles_of_quantiles(of);
    Ok(Answers {
        columns: vec![
            AnswerColumn::plain("quantile", fractions.iter().map(|fraction| Cell::Number(*fraction))),
            AnswerColumn::of_unknown_error("value", values.into_iter().map(|value| unit.cell(value))),
            AnswerColumn::plain("rank_error", errors.into_iter().map(Cell::Number)),
        ],
        notes: vec!["With probability 95%, a value is off by at most rank_error rows in rank. Rows without a value have no rank: where nobody has one, or fewer have than rank_error, the values mean nothing.".to_string()],
        details: Details { roles, kinds: [("value".to_string(), kind)].into(), ..answers.details },
    })
}

#[cfg(test)]
mod tests;
