//! Kind `cdf`: for each value of a bounded column, how many rows are at most that.
//!
//! The column's range is cut into public steps (each whole number, or a grid of a float column's range). The backend counts rows per
//! step; the mechanism of the core does the rest.

use super::histogram::quoted;
use super::noise::{Demand, Noise, calibrate, described};
use super::output::{Answers, Cell, Column, Details, Uncertainty, check_names};
use super::sql::BOUNDING_FIELDS;
use super::{CostAbout, Draw, Expected, Field, Kind, Plan};
use crate::backend::Backend;
use crate::backend::functions::Grid;
use crate::backend::hash::Key;
use crate::error::Result;
use crate::ledger::Receipt;
use crate::project::{Bounding, Domain, Project, Request, Table, bounding};
use crate::sql::integers::integers;
use crate::sql::{Cut, analyse, preflight};
use scumble::event::{Event, Moves, Shift, Touch};
use scumble::mechanism::cdf::Cdf;
use scumble::noise::{BitSource, SecureSource};
use scumble::quantity::Scale;
use scumble::scope::AttributeSet;
use serde_json::{Value, json};

/// As many values as may each be a step.
const MOST_STEPS: f64 = 10_000.0;
/// Into how many steps a range of more values is cut.
const FLOAT_STEPS: f64 = 1000.0;

/// A table, one of its columns, and how many rows of an owner count.
pub(super) const FIELDS: [Field; 3] = [
    Field { name: "table", form: "text", required: true, about: "the table" },
    Field { name: "column", form: "text", required: true, about: "an int or float column with bounds" },
    BOUNDING_FIELDS[0],
];

/// A column whose values are ordered and bounded.
pub(super) struct Ordered<'a> {
    pub table: &'a Table,
    pub name: &'a str,
    domain: &'a Domain,
}

/// The fields `table` and `column`.
pub(super) fn ordered<'a>(request: &'a Request, project: &'a Project) -> Result<Ordered<'a>> {
    let spot = request.fields.need("table")?;
    let table = project.table(spot.text()?).map_err(|error| error.or_at(spot.place()))?;
    if table.public {
        return Err(spot.error(format!("table '{}' is public: no release is needed for it", table.name)));
    }
    let spot = request.fields.need("column")?;
    let name = spot.text()?;
    let column = table.column(name).ok_or_else(|| {
        let hint = crate::place::suggestion(name, table.columns.iter().map(|column| column.name.as_str()));
        spot.error(format!("table '{}' has no declared column '{name}'{hint}", table.name))
    })?;
    match &column.domain {
        Domain::Int { bounds: Some(_) } => {}
        Domain::Float { bounds: Some((lower, upper)), .. } if upper > lower => {}
        _ => {
            let sentence =
                format!("column '{name}' needs to be an int or a float with lower and upper, from public knowledge");
            return Err(spot.error(sentence));
        }
    }
    Ok(Ordered { table, name, domain: &column.domain })
}

/// A column cut into steps, and how to count them.
struct Steps {
    /// How many rows there are of each.
    query: Cut,
    table: String,
    column: String,
    cut: Cutting,
    /// The rows of one owner that count.
    rows: u64,
    has_owner: bool,
}

/// Public steps of a range of values.
struct Cutting {
    /// The step of a row, in SQL.
    expression: String,
    /// The number of the first step.
    first: i64,
    /// How wide each is.
    width: f64,
    /// What a row of each step is at most.
    values: Vec<f64>,
}

impl Cutting {
    fn of(column: &str, domain: &Domain) -> Self {
        match domain {
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

impl Steps {
    fn new(request: &Request, project: &Project) -> Result<Self> {
        let Ordered { table, name, domain } = ordered(request, project)?;
        let cut = Cutting::of(&quoted(name), domain);
        let expression = &cut.expression;
        let sql =
            format!("SELECT {expression} AS step, COUNT(*) AS n FROM {} GROUP BY {expression}", quoted(&table.name));
        let own = bounding(&request.fields)?.or(table.bounding);
        let rows = own.rows.unwrap_or_else(|| own.groups.unwrap_or(1) * own.rows_per_group.unwrap_or(1));
        // All of an owner's rows may fall into one step: only the total counts.
        let bounding = if table.owner.is_some() {
            Bounding { rows: Some(rows), groups: Some(rows), rows_per_group: Some(rows) }
        } else {
            own
        };
        let rows = if table.owner.is_some() { rows } else { 1 };
        Ok(Self {
            query: analyse(&sql, bounding, project, &Backend::without_data(project)?)?,
            table: table.name.clone(),
            column: name.to_string(),
            cut,
            rows,
            has_owner: table.owner.is_some(),
        })
    }

    /// The number of rows in each step; exact.
    fn counts(&self, backend: &Backend) -> Result<Vec<i64>> {
        let mut secret = SecureSource::new()?;
        let found = integers(&self.query, backend, Key(secret.next_u64(), secret.next_u64()))?;
        let mut counts = vec![0i64; self.cut.values.len()];
        for (key, cell) in found.keys.iter().zip(&found.cells) {
            let datafusion::common::ScalarValue::Int64(Some(step)) = key[0] else { continue };
            let index = usize::try_from(step - self.cut.first).unwrap_or(0).min(counts.len() - 1);
            counts[index] += i64::try_from(cell.sums[0]).unwrap_or(i64::MAX);
        }
        Ok(counts)
    }

    /// How many steps there are.
    fn count(&self) -> u64 {
        self.cut.values.len() as u64
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
pub(super) static KIND: Kind = Kind {
    name: "cdf",
    about: "for each value of a column, how many rows are at most that: a tree of noisy counts, made consistent and monotone",
    fields: &FIELDS,
    cost_about: CostAbout::Owners,
    plan,
};

fn plan(request: &Request, project: &Project) -> Result<Box<dyn Plan>> {
    let steps = Steps::new(request, project)?;
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
    let moves = [Moves::by_scope(presence, person, touches)];
    let demand = Demand { moves: &moves, steps: &[None], quantiles: &[], selects_keys: false, default_delta: None };
    let noise = calibrate(&request.cost, &demand)?.noises.remove(0);
    let [moves] = moves;
    let events = vec![noise.event(moves)?];
    let cdf = Cdf::new(steps.count(), noise.clone())?;
    Ok(Box::new(CdfPlan { steps, cdf, noise, events }))
}

struct CdfPlan {
    steps: Steps,
    cdf: Cdf,
    noise: Noise,
    events: Vec<Event>,
}

impl Plan for CdfPlan {
    fn events(&self) -> &[Event] {
        &self.events
    }

    fn rule(&self) -> Value {
        let mut rule = self.steps.rule();
        rule["noise"] = json!(described(&self.noise));
        rule["levels"] = json!(self.cdf.levels());
        rule
    }

    fn expected(&self) -> Vec<Expected> {
        let cells = self.steps.standard_errors(&self.cdf);
        let largest = cells.iter().copied().fold(0.0, f64::max);
        let first = cells.first().copied().unwrap_or(0.0);
        let about = format!(
            "of the worst cell ({first:.4} of the first); before the counts are made monotone, which only helps"
        );
        vec![Expected { column: "count".to_string(), standard_error: Some(largest), cells, assumed: None, about }]
    }

    fn tables(&self) -> Vec<String> {
        vec![self.steps.table.clone()]
    }

    fn preflight(&self, _project: &Project, backend: &Backend) -> Result<()> {
        preflight(&self.steps.query, backend)
    }

    fn compute(&self, _charged: &Receipt, _project: &Project, backend: &Backend) -> Result<Draw> {
        let counts = self.steps.counts(backend)?;
        let (cdf, column, values) = (self.cdf.clone(), self.steps.column.clone(), self.steps.cut.values.clone());
        let errors = self.steps.standard_errors(&self.cdf);
        Ok(Box::new(move |_receipt, bits| {
            let below = cdf.release(&counts, bits)?;
            let uncertainty = below.iter().zip(errors).map(|(count, error)| Uncertainty {
                standard_error: error,
                low: count - 1.96 * error,
                high: count + 1.96 * error,
            });
            Ok(Answers {
                columns: vec![
                    Column { name: column, cells: values.into_iter().map(number).collect(), uncertainty: None },
                    Column {
                        name: "count".to_string(),
                        uncertainty: Some(uncertainty.collect()),
                        cells: below.into_iter().map(Cell::Number).collect(),
                    },
                ],
                notes: vec!["Each count is of rows with at most that value.".to_string()],
                details: Details::default(),
            })
        }))
    }
}

/// Whole numbers without a decimal point.
pub(super) fn number(value: f64) -> Cell {
    if value.fract() == 0.0 && value.abs() < 1e15 { Cell::Whole(value as i128) } else { Cell::Number(value) }
}

#[cfg(test)]
pub(super) mod tests;
