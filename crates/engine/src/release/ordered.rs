//! Kinds `cdf` and `quantiles`: the distribution of one column whose values are ordered and bounded.
//!
//! The column's range is cut into public steps (each whole number, or a grid of a float column's range). The backend counts rows per
//! step; the mechanisms of the core do the rest.

use super::histogram::quoted;
use super::noise::{Demand, Noise, calibrate, described};
use super::output::{Answers, Cell, Column, Details, Uncertainty};
use super::sql::BOUNDING_FIELDS;
use super::{Draw, Expected, Field, Kind, Plan};
use crate::backend::Backend;
use crate::backend::hash::Key;
use crate::error::Result;
use crate::project::{Bounding, Domain, Project, Request, bounding};
use crate::sql::analyse;
use crate::sql::integers::integers;
use crate::sql::measure::Rank;
use scumble::event::{Event, Kind as EventKind, Moves, Shift, Touch};
use scumble::mechanism::cdf::Cdf;
use scumble::mechanism::quantile::Quantile;
use scumble::noise::{BitSource, SecureSource};
use scumble::quantity::{Beta, Probability, Scale};
use scumble::scope::AttributeSet;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Steps of a float column's range.
const FLOAT_STEPS: f64 = 1000.0;

/// The kind `cdf`.
pub(super) struct CdfKind;
/// The kind `quantiles`.
pub(super) struct QuantilesKind;

const CDF_FIELDS: [Field; 3] = [
    Field { name: "table", form: "text", required: true, about: "the table" },
    Field { name: "column", form: "text", required: true, about: "an int or float column with bounds" },
    BOUNDING_FIELDS[0],
];

const QUANTILES_FIELDS: [Field; 4] = [
    CDF_FIELDS[0],
    CDF_FIELDS[1],
    Field {
        name: "quantiles",
        form: "list of numbers",
        required: true,
        about: "which, from 0 (least) to 1 (largest); 0.5 is the median",
    },
    BOUNDING_FIELDS[0],
];

/// A column cut into steps, and how to count them.
struct Steps {
    sql: String,
    table: String,
    column: String,
    /// Where the first step is, how wide each is, and where the last one ends.
    lower: f64,
    width: f64,
    upper: f64,
    count: u64,
    /// Whether the values are whole numbers.
    whole: bool,
    bounding: Bounding,
    /// The rows of one owner that count.
    rows: u64,
    has_owner: bool,
}

impl Steps {
    fn new(request: &Request, project: &Project) -> Result<Self> {
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
        let quoted_column = quoted(name);
        let whole = matches!(column.domain, Domain::Int { .. });
        let (lower, upper, width, count, expression) = match &column.domain {
            Domain::Int { bounds: Some((lower, upper)) } if upper - lower < 10_000 => {
                (*lower as f64, *upper as f64, 1.0, upper.abs_diff(*lower) + 1, quoted_column)
            }
            Domain::Int { bounds: Some((lower, upper)) } => {
                let width = ((upper - lower) as f64 / FLOAT_STEPS).ceil();
                let expression = format!(
                    "CAST(FLOOR((CAST({quoted_column} AS DOUBLE) - {lower:?}) / {width:?}) AS BIGINT)",
                    lower = *lower as f64
                );
                let count = ((upper - lower) as f64 / width).floor() as u64 + 1;
                (*lower as f64, *upper as f64, width, count, expression)
            }
            Domain::Float { bounds: Some((lower, upper)), .. } if upper > lower => {
                let width = (upper - lower) / FLOAT_STEPS;
                let expression = format!("CAST(FLOOR(({quoted_column} - {lower:?}) / {width:?}) AS BIGINT)");
                (*lower, *upper, width, ((upper - lower) / width).floor() as u64 + 1, expression)
            }
            _ => {
                let sentence = format!(
                    "column '{name}' needs to be an int or a float with lower and upper, from public knowledge"
                );
                return Err(spot.error(sentence));
            }
        };
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
            sql,
            table: table.name.clone(),
            column: name.to_string(),
            lower,
            width,
            upper,
            count,
            whole,
            bounding,
            rows,
            has_owner: table.owner.is_some(),
        })
    }

    /// The number of rows in each step; exact.
    fn counts(&self, project: &Project, backend: &Backend) -> Result<Vec<i64>> {
        let cut = analyse(&self.sql, self.bounding, project, backend)?;
        let mut secret = SecureSource::new()?;
        let found = integers(&cut, backend, Key(secret.next_u64(), secret.next_u64()))?;
        // A step that is one whole number is counted as that number, any other by its place.
        let first = if self.whole && self.width == 1.0 { self.lower as i64 } else { 0 };
        let mut counts = vec![0i64; usize::try_from(self.count).unwrap_or(0)];
        for (key, cell) in found.keys.iter().zip(&found.cells) {
            let datafusion::common::ScalarValue::Int64(Some(step)) = key[0] else { continue };
            let index = usize::try_from(step - first).unwrap_or(0).min(counts.len() - 1);
            counts[index] += i64::try_from(cell.sums[0]).unwrap_or(i64::MAX);
        }
        Ok(counts)
    }

    /// The upper end of a step: what a row in it is at most.
    fn value(&self, step: usize) -> f64 {
        let next = self.lower + (step as f64 + 1.0) * self.width;
        (if self.whole { next - 1.0 } else { next }).min(self.upper)
    }

    fn attributes(&self) -> Result<AttributeSet> {
        Ok(AttributeSet::new([self.column.clone()])?)
    }

    /// How far the ranks of a quantile move, in values that are added or removed: all of an owner's rows are in the one table.
    fn moves(&self, rank: Rank) -> Result<Moves> {
        let by = self.rows as f64;
        let person = vec![Shift::one_cell(by * rank.replaced()?)?];
        let touches = vec![Touch { attributes: self.attributes()?, shifts: person.clone() }];
        Ok(Moves::by_scope(vec![Shift::one_cell(by)?], person, touches))
    }

    fn rule(&self) -> Value {
        json!({ "table": self.table, "column": self.column, "lower": self.lower, "width": self.width, "steps": self.count, "rows_per_owner": self.rows })
    }
}

impl Kind for CdfKind {
    fn name(&self) -> &'static str {
        "cdf"
    }

    fn about(&self) -> &'static str {
        "for each value of a column, how many rows are at most that: a tree of noisy counts, made consistent and monotone"
    }

    fn fields(&self) -> &'static [Field] {
        &CDF_FIELDS
    }

    fn plan(&self, request: &Request, project: &Project) -> Result<Box<dyn Plan>> {
        let steps = Steps::new(request, project)?;
        let trial = Cdf::new(steps.count, Noise::laplace(Scale::new(1.0)?))?;
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
        let cdf = Cdf::new(steps.count, noise.clone())?;
        Ok(Box::new(CdfPlan { steps, cdf, noise, events }))
    }
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
        let about = "at most this: the tree's consistency only helps".to_string();
        vec![Expected { column: "count".to_string(), standard_error: Some(self.cdf.standard_error()), about }]
    }

    fn tables(&self) -> Vec<String> {
        vec![self.steps.table.clone()]
    }

    fn compute(&self, project: &Project, backend: &Backend) -> Result<Draw> {
        let counts = self.steps.counts(project, backend)?;
        let values: Vec<f64> = (0..counts.len()).map(|step| self.steps.value(step)).collect();
        let (cdf, column) = (self.cdf.clone(), self.steps.column.clone());
        Ok(Box::new(move |_receipt, bits| {
            let below = cdf.release(&counts, bits)?;
            let error = cdf.standard_error();
            let uncertainty = below.iter().map(|count| Uncertainty {
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

fn number(value: f64) -> Cell {
    if value.fract() == 0.0 && value.abs() < 1e15 { Cell::Whole(value as i128) } else { Cell::Number(value) }
}

impl Kind for QuantilesKind {
    fn name(&self) -> &'static str {
        "quantiles"
    }

    fn about(&self) -> &'static str {
        "quantiles of a column (0 the least, 0.5 the median, 1 the largest), each by the exponential mechanism"
    }

    fn fields(&self) -> &'static [Field] {
        &QUANTILES_FIELDS
    }

    fn plan(&self, request: &Request, project: &Project) -> Result<Box<dyn Plan>> {
        let steps = Steps::new(request, project)?;
        let list = request.fields.need("quantiles")?;
        let mut fractions = Vec::new();
        for spot in list.list()? {
            let fraction = Probability::new(spot.number()?).map_err(|error| spot.error(error.to_string()))?;
            fractions.push(fraction);
        }
        if fractions.is_empty() {
            return Err(list.error("give at least one quantile, such as 0.5"));
        }
        let ranks: Vec<Rank> = fractions.iter().map(|fraction| Rank::of(*fraction)).collect();
        let moves = ranks.iter().map(|rank| steps.moves(*rank)).collect::<Result<Vec<Moves>>>()?;
        let demand = Demand { moves: &[], steps: &[], quantiles: &moves, selects_keys: false, default_delta: None };
        let epsilons = calibrate(&request.cost, &demand)?.quantiles;
        let last = u128::from(steps.count - 1);
        let quantiles = ranks.iter().zip(&epsilons).map(|(rank, epsilon)| rank.mechanism(last, *epsilon));
        let quantiles = quantiles.collect::<Result<_>>()?;
        let event = |(epsilon, moves)| Event::new(EventKind::Exponential { epsilon }, moves);
        let events = epsilons.into_iter().zip(moves).map(event).collect();
        Ok(Box::new(QuantilesPlan { steps, fractions, quantiles, events }))
    }
}

struct QuantilesPlan {
    steps: Steps,
    fractions: Vec<Probability>,
    quantiles: Vec<Quantile>,
    events: Vec<Event>,
}

impl Plan for QuantilesPlan {
    fn events(&self) -> &[Event] {
        &self.events
    }

    fn rule(&self) -> Value {
        let mut rule = self.steps.rule();
        rule["quantiles"] = self.fractions.iter().map(|fraction| json!(fraction.get())).collect();
        rule
    }

    fn expected(&self) -> Vec<Expected> {
        let about = "depends on how dense the values are; rank_error stands beside each".to_string();
        vec![Expected { column: "value".to_string(), standard_error: None, about }]
    }

    fn tables(&self) -> Vec<String> {
        vec![self.steps.table.clone()]
    }

    fn compute(&self, project: &Project, backend: &Backend) -> Result<Draw> {
        let counts = self.steps.counts(project, backend)?;
        let occurring = (0u128..).zip(&counts).filter_map(|(step, count)| Some((step, u64::try_from(*count).ok()?)));
        let values: BTreeMap<u128, u64> = occurring.collect();
        let ends: Vec<f64> = (0..counts.len()).map(|step| self.steps.value(step)).collect();
        let (quantiles, fractions) = (self.quantiles.clone(), self.fractions.clone());
        let beta = Beta::new(0.05)?;
        Ok(Box::new(move |_receipt, bits| {
            let released: Vec<u128> =
                quantiles.iter().map(|quantile| quantile.release_counted(&values, bits)).collect();
            let errors = quantiles.iter().map(|quantile| Cell::Number(quantile.error(beta)));
            Ok(Answers {
                columns: vec![
                    Column {
                        name: "quantile".to_string(),
                        cells: fractions.iter().map(|f| Cell::Number(f.get())).collect(),
                        uncertainty: None,
                    },
                    Column {
                        name: "value".to_string(),
                        cells: released.iter().map(|step| number(ends[*step as usize])).collect(),
                        uncertainty: None,
                    },
                    Column { name: "rank_error".to_string(), cells: errors.collect(), uncertainty: None },
                ],
                notes: vec!["With probability 95%, a value is off by at most rank_error rows in rank.".to_string()],
                details: Details::default(),
            })
        }))
    }
}

#[cfg(test)]
mod tests;
