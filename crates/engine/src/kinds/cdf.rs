//! Kind `cdf`: for each value of a bounded column, how many rows are at most that.
//!
//! The column's range is cut into public steps (each whole number, or a grid of a float column's range). The backend
//! counts rows per step; the mechanism of the core does the rest.

use super::ordered::{FIELDS, OrderedColumn, OrderedUnit, ordered};
use crate::calendar::SECOND;
use crate::error::Result;
use crate::kinds::{wide_cdf, wide_keys};
use crate::project::{Cost, Domain, Project, Request};
use crate::release::Kind;
use crate::release::estimates::Estimates;
use crate::release::output::{AnswerColumn, Answers, BETA, Cell, Details, Uncertainty, check_names};
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, PlanSource, Price};
use crate::release::price::noise::{Demand, Noise, calibrate, described};
use crate::release::price::{limits, needs};
use crate::release::rows::fields::{quoted, total_bounding};
use crate::sql::PrivateQuery;
use crate::sql::execute::integers::Integers;
use crate::tables::Backend;
use crate::tables::functions::Grid;
use scumble::event::{Event, Moves, Shift, Touch};
use scumble::mechanism::cdf::{Cdf, CdfErrorBar};
use scumble::quantity::{Beta, Scale};
use scumble::scope::AttributeSet;
use scumble::workload::NORMAL_95;
use serde_json::{Map, Value, json};
use std::rc::Rc;

/// As many values as may each be a step.
const MOST_STEPS: f64 = 10_000.0;
/// Into how many steps a range of more values is cut.
const FLOAT_STEPS: f64 = 1000.0;

/// A column cut into steps, and how to count them.
struct CdfSteps {
    /// How many rows there are of each.
    query: Rc<PrivateQuery>,
    table: String,
    column: String,
    cut: RangeSteps,
    unit: OrderedUnit,
    /// The rows of one owner that count.
    rows: u64,
    has_owner: bool,
    public_owners: Option<u64>,
}

/// Public steps of a range of values.
struct RangeSteps {
    /// The step of a row, in SQL.
    expression: String,
    /// The number of the first step.
    first: i64,
    /// How wide each is.
    width: f64,
    /// What a row of each step is at most.
    values: Vec<f64>,
}

impl RangeSteps {
    fn of(column: &str, domain: &Domain) -> Self {
        match domain {
            Domain::Timestamp { bounds: Some((lower, upper)), .. } => {
                let bounds = (lower.div_euclid(SECOND), upper.div_euclid(SECOND));
                Self::of(column, &Domain::Int { bounds: Some(bounds) })
            }
            Domain::Date { bounds } => Self::of(column, &Domain::Int { bounds: *bounds }),
            Domain::Int { bounds: Some((lower, upper)) } if (upper.abs_diff(*lower) as f64) < MOST_STEPS => {
                let values = (*lower..=*upper).map(|value| value as f64).collect();
                Self { expression: column.to_string(), first: *lower, width: 1.0, values }
            }
            Domain::Int { bounds: Some((lower, upper)) } => {
                let width = (upper.abs_diff(*lower) as f64 / FLOAT_STEPS).ceil();
                Self::into_intervals(column, (*lower as f64, *upper as f64), width, 1.0)
            }
            Domain::Float { bounds: Some((lower, upper)), granularity: Some(step) }
                if (upper - lower) / step < MOST_STEPS =>
            {
                let grid = Grid { lower: *lower, upper: *upper, step: *step };
                let (first, last) = (grid.steps(*lower), grid.steps(*upper));
                let expression = format!("CAST(FLOOR({column} / {step:?} + 0.5) AS BIGINT)");
                Self {
                    expression,
                    first,
                    width: *step,
                    values: (first..=last).map(|steps| grid.value(steps)).collect(),
                }
            }
            Domain::Float { bounds, .. } => {
                let (lower, upper) = bounds.unwrap_or_default();
                Self::into_intervals(column, (lower, upper), (upper - lower) / FLOAT_STEPS, 0.0)
            }
            _ => Self { expression: column.to_string(), first: 0, width: 1.0, values: Vec::new() },
        }
    }

    /// Intervals that hold their lower ends; a value of one is below the next by `gap` at least.
    fn into_intervals(column: &str, (lower, upper): (f64, f64), width: f64, gap: f64) -> Self {
        let expression = format!("CAST(FLOOR((CAST({column} AS DOUBLE) - {lower:?}) / {width:?}) AS BIGINT)");
        let count = ((upper - lower) / width).floor() as u64 + 1;
        let end = |step: u64| (lower + (step as f64 + 1.0) * width - gap).min(upper);
        Self { expression, first: 0, width, values: (0..count).map(end).collect() }
    }
}

impl CdfSteps {
    fn new(request: &Request, project: &Project) -> Result<Self> {
        let ordered = ordered(request, project)?;
        let OrderedColumn { table, name, domain } = ordered;
        let (cut, unit) = (RangeSteps::of(&ordered.numbers(), domain), ordered.unit());
        let expression = &cut.expression;
        let sql =
            format!("SELECT {expression} AS step, COUNT(*) AS n FROM {} GROUP BY {expression}", quoted(&table.name));
        // All of an owner's rows may fall into one step.
        let (bounding, rows) = total_bounding(request, table)?;
        Ok(Self {
            query: Rc::new(crate::sql::analyse(&sql, bounding, project, &Backend::without_data(project)?)?),
            table: table.name.clone(),
            column: name.to_string(),
            cut,
            unit,
            rows,
            has_owner: table.owner.is_some(),
            public_owners: table.public_owners,
        })
    }

    /// The number of rows in each step, from what the query found.
    fn counts(&self, found: &Integers) -> Vec<i64> {
        let mut counts = vec![0i64; self.cut.values.len()];
        for (key, cell) in found.keys.iter().zip(&found.cells) {
            let datafusion::common::ScalarValue::Int64(Some(step)) = key[0] else { continue };
            let index = usize::try_from(step - self.cut.first).unwrap_or(0).min(counts.len() - 1);
            counts[index] += i64::try_from(cell.sums[0]).unwrap_or(i64::MAX);
        }
        counts
    }

    /// How many steps there are.
    fn count(&self) -> u64 {
        self.cut.values.len() as u64
    }

    /// See [`Plan::memory`]: of each step the errors of noise that is drawn again, 400 times, and a line.
    fn memory(&self) -> u64 {
        self.count() * (400 * needs::NUMBER + needs::LINE)
    }

    /// The standard error of each count.
    fn standard_errors(&self, cdf: &Cdf) -> Vec<f64> {
        (0..self.count()).map(|step| cdf.standard_error_at(step)).collect()
    }

    fn attributes(&self) -> Result<AttributeSet> {
        Ok(AttributeSet::new([self.column.clone()])?)
    }

    fn rule(&self) -> Value {
        json!({ "table": self.table, "column": self.column, "first": self.cut.values.first(), "width": self.cut.width, "steps": self.count(), "rows_per_owner": self.rows })
    }
}

/// The kind `cdf`.
pub(crate) static KIND: Kind = Kind {
    name: "cdf",
    about: "how many rows are at most each value of a column, from a tree of noisy counts that is made consistent and monotone",
    fields: &[FIELDS[0], FIELDS[1], wide_keys::FIELDS[0], wide_keys::FIELDS[1], wide_cdf::POINTS.listed(), FIELDS[2]],
    analyse,
    ..Kind::COMMON
};

fn analyse(request: &Request, project: &Project) -> Result<AnalysedRequest> {
    if let Some(values) = wide_keys::KeyedValues::new(request, project)? {
        return wide_cdf::analyse(values, request);
    }
    if let Some(points) = wide_cdf::POINTS.read(request)? {
        return Err(points.error("points goes with keys: a column of numbers lists all of its steps"));
    }
    let steps = CdfSteps::new(request, project)?;
    check_names([(steps.column.as_str(), false), ("count", true)])?;
    let trial = Cdf::new(steps.count(), Noise::laplace(Scale::new(1.0)?))?;
    let (levels, by) = (u64::from(trial.levels()), steps.rows as f64);
    // One owner is in one node of each level and of the root; with NULLs and several rows the root moves as well.
    let presence = vec![Shift::new(levels + 1, by)?];
    let mut person = vec![Shift::new(2 * levels, by)?, Shift::new(levels + 1, by)?];
    if steps.has_owner {
        person = vec![Shift::new(2 * levels + 1, by)?, Shift::new(levels + 1, by)?];
    }
    let touches = vec![Touch { attributes: steps.attributes()?, shifts: person.clone() }];
    let moves = Moves::by_scope(presence, person, touches);
    Ok(AnalysedRequest::new(CdfAnalysis { steps: Rc::new(steps), moves }))
}

/// The distribution of a column.
struct CdfAnalysis {
    steps: Rc<CdfSteps>,
    /// How the tree's counts move.
    moves: Moves,
}

impl Analysis for CdfAnalysis {
    type Mechanism = Noise;

    fn at(&self, cost: &Cost) -> Result<Price<Noise>> {
        let demand = Demand { moves: std::slice::from_ref(&self.moves), steps: &[None], ..Demand::default() };
        let noise = calibrate(cost, &demand)?.noises.remove(0);
        Ok(Price { events: vec![noise.event(self.moves.clone())?], mechanism: noise })
    }

    fn plan(self: Rc<Self>, noise: Noise, events: Vec<Event>) -> Result<Plan> {
        let steps = Rc::clone(&self.steps);
        let cdf = Cdf::new(steps.count(), noise.clone())?;
        let mut rule = steps.rule();
        rule["noise"] = json!(described(&noise));
        rule["levels"] = json!(cdf.levels());
        let errors = steps.standard_errors(&cdf);
        let largest = cdf.error(Beta::new(BETA)?, steps.count())?;
        // They are about tables of any number of owners.
        let limits = match steps.public_owners {
            None => limits::of_thresholds(&events, &noise, steps.count(), steps.rows, largest)?,
            Some(_) => Vec::new(),
        };
        let source = PlanSource::query(&steps.query, Estimates::of(steps.query.query.bounds, false));
        let (source, tables) = (source.holding(steps.memory()), vec![steps.table.clone()]);
        let plan = Plan::new(source, events, rule, vec![expected(errors)], move |charged| {
            let counts = steps.counts(&charged.read(&steps.query)?);
            let below = cdf.release(&counts, charged.bits())?;
            let around = cdf.around(&below, charged.bits())?;
            Ok(answers(&steps, &below, &around))
        });
        Ok(Plan { limits, tables, ..plan })
    }
}

/// The shares whose quantiles are read off.
const SHARES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// Quantiles that are read off the released counts, each with all values that the 95% intervals of the counts and of
/// the total leave open: post-processing, which costs nothing.
fn quantiles(shown: &dyn Fn(usize) -> Value, below: &[f64], around: &[CdfErrorBar]) -> Map<String, Value> {
    let value = |step: Option<usize>| step.map(shown);
    let ends = |step: usize| (below[step] - around[step].half_width, below[step] + around[step].half_width);
    let mut facts = Map::new();
    let Some(last) = below.len().checked_sub(1).filter(|last| below[*last] > 0.0) else { return facts };
    let (least, most) = ends(last);
    let quantile = |share: &f64| {
        let first = |count: &dyn Fn(usize) -> f64, total: f64| (0..=last).find(|step| count(*step) >= share * total);
        // Counts do not fall, though the lower ends of their intervals may: nothing after the end is open.
        let open = (0..=last).rev().find(|step| ends(*step).0 < share * most);
        json!({
            "share": share,
            "value": value(first(&|step| below[step], below[last])),
            "low": value(first(&|step| ends(step).1, least)),
            "high": value(open.map_or(Some(0), |step| Some((step + 1).min(last)))),
        })
    };
    facts.insert("quantiles".to_string(), SHARES.iter().map(quantile).collect());
    facts
}

fn expected(errors: Vec<f64>) -> ExpectedError {
    let largest = errors.iter().copied().fold(0.0, f64::max);
    let first = errors.first().copied().unwrap_or(0.0);
    let about =
        format!("of the worst cell ({first:.4} of the first); before the counts are made monotone, which only helps");
    // The answer's interval is simulated around what is published; many noises together are near a normal law.
    let error = ExpectedError::new("count", Some(largest), about).with_margin(NORMAL_95 * largest + 0.5);
    ExpectedError { cells: errors, ..error }
}

fn answers(steps: &CdfSteps, below: &[f64], around: &[CdfErrorBar]) -> Answers {
    let values = steps.cut.values.iter().map(|value| steps.unit.cell(*value));
    let counts = below.iter().zip(around).map(|(count, around)| {
        (Cell::Number(*count), Uncertainty::around(*count, around.standard_error, around.half_width))
    });
    let shown = |step: usize| steps.unit.cell(steps.cut.values[step]).json();
    Answers {
        columns: vec![AnswerColumn::plain(&steps.column, values), AnswerColumn::noisy("count", counts)],
        notes: vec![
            "Each count is of rows with at most that value. The errors are those of the noise drawn again around these counts. Counts before the last are cut off at the total: where the curve is flat before its end, they are too low on average.".to_string(),
        ],
        details: Details { facts: quantiles(&shown, below, around), ..Details::default() },
    }
}

#[cfg(test)]
pub(crate) mod tests;
