//! How many rows are at most a value, of columns whose values are no 64-bit numbers: `keys` of the kind `cdf`. A tree
//! of quantiles and a noisy number of rows; the values that are listed are the quantiles.

use super::wide_keys::KeyedValues;
use super::wide_quantiles::tree;
use crate::error::{Error, Result};
use crate::project::{Cost, Request};
use crate::release::field::{Field, PlacedValue};
use crate::release::output::{AnswerColumn, Answers, BETA, Cell, Details, Uncertainty, check_names};
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, Price};
use crate::release::price::needs;
use crate::release::price::noise::{Noise, described};
use scumble::event::{Event, Moves, Shift, Touch};
use scumble::mechanism::quantile::{QuantileCounts, QuantileTree, ThresholdCounts};
use scumble::quantity::Beta;
use serde_json::json;
use std::rc::Rc;

/// How many values are listed.
pub(crate) const POINTS: Field<Option<PlacedValue<u64>>> = Field::new(
    "points",
    "with `keys`: list 1, 3, 7, 15 (the default), … 1023 values that split the rows evenly, each with the number of rows at most that and its interval",
);

const DEFAULT_POINTS: u64 = 15;
const MOST_POINTS: u64 = 1023;
const COUNT: &str = "count";

pub(crate) fn analyse(values: KeyedValues, request: &Request) -> Result<AnalysedRequest> {
    check_names([(values.column.as_str(), false), (COUNT, true)])?;
    let levels = levels(request)?;
    let total = total(&values)?;
    Ok(AnalysedRequest::new(WideCdfAnalysis { values: Rc::new(values), levels, total }))
}

/// The distribution of a column of keys.
struct WideCdfAnalysis {
    values: Rc<KeyedValues>,
    levels: u32,
    /// How the number of rows moves.
    total: Moves,
}

impl Analysis for WideCdfAnalysis {
    type Mechanism = WideCdfMechanism;

    fn at(&self, cost: &Cost) -> Result<Price<WideCdfMechanism>> {
        let values = &self.values;
        let (tree, mut noises) = tree(cost, values, self.levels, std::slice::from_ref(&self.total))?;
        let noise = noises.pop().ok_or_else(|| Error::machine("a number of rows without noise"))?;
        let way = WideCdfMechanism { tree: tree.clone(), counts: ThresholdCounts::new(tree, noise.clone()), noise };
        Ok(Price { events: way.counts.events_of(values.rows, &values.read)?, mechanism: way })
    }

    fn plan(self: Rc<Self>, way: WideCdfMechanism, events: Vec<Event>) -> Result<Plan> {
        let (ranks, number) = way.errors()?;
        let points = way.tree.quantiles();
        let about = format!(
            "count_low and count_high hold for all values at once with 95% confidence: they are {} of the rows and {:.1} rows apart, or more",
            format_args!("1/{}", points + 1),
            2.0 * ranks
        );
        let values = Rc::clone(&self.values);
        let mut rule = values.rule();
        rule["points"] = json!(points);
        rule["noise"] = json!(described(&way.noise));
        let (source, expected) = (values.source(), ExpectedError::new(COUNT, None, about));
        let source = source.holding(u64::from(points).saturating_mul(needs::LINE));
        Ok(Plan::new(source, events, rule, vec![expected], move |charged| {
            let all = values.listed(&charged.read(&values.cut)?);
            let found = way.counts.release(&all, charged.bits())?;
            Ok(answers(&values, &found, (ranks, number)))
        }))
    }
}

/// The tree's levels.
fn levels(request: &Request) -> Result<u32> {
    let Some(points) = POINTS.read(request)? else { return Ok((DEFAULT_POINTS + 1).ilog2()) };
    if points.value > MOST_POINTS || !(points.value + 1).is_power_of_two() {
        return Err(points.error(format!("points must be 1, 3, 7, 15, … or {MOST_POINTS}, not {}", points.value)));
    }
    Ok((points.value + 1).ilog2())
}

/// How the number of rows moves.
fn total(values: &KeyedValues) -> Result<Moves> {
    let shift = vec![Shift::one_cell(values.rows as f64)?];
    let touch = Touch { attributes: values.read.clone(), shifts: shift.clone() };
    Ok(Moves::by_scope(shift.clone(), shift, vec![touch]))
}

struct WideCdfMechanism {
    tree: QuantileTree,
    counts: ThresholdCounts,
    noise: Noise,
}

impl WideCdfMechanism {
    /// How far a quantile's rank, and the number of rows, are off at most, all together except with probability β.
    fn errors(&self) -> Result<(f64, f64)> {
        let half = Beta::new(BETA / 2.0)?;
        Ok((self.tree.error(half)?, self.noise.quantile(half.get())))
    }
}

/// Each listed value once. Of i quantiles up to a value there are at least i parts of the rows up to it, and fewer than
/// i + 1, apart from the errors.
fn answers(values: &KeyedValues, found: &QuantileCounts, (ranks, number): (f64, f64)) -> Answers {
    let points = found.points.iter().map(|point| values.keys.shown(*point)).collect();
    let found = QuantileCounts { points, total: found.total };
    let mut keys = found.points.clone();
    keys.dedup();
    let parts = (found.points.len() + 1) as f64;
    let up_to = |key: &u128| found.points.partition_point(|point| point <= key) as f64;
    let low = |key: &u128| (up_to(key) * (found.total - number) / parts - ranks).max(0.0);
    let high = |key: &u128| (up_to(key) + 1.0).min(parts) * (found.total + number) / parts + ranks;
    let within = |key: &u128| Uncertainty { standard_error: f64::NAN, low: low(key), high: high(key) };
    let mut notes = vec![
        "Each count is of rows with at most that value. With probability 95%, all true ones lie between count_low and count_high."
            .to_string(),
    ];
    notes.extend(values.notes());
    let count = AnswerColumn {
        name: COUNT.to_string(),
        cells: keys.iter().map(|key| Cell::Number(found.at_most(*key))).collect(),
        uncertainty: Some(keys.iter().map(within).collect()),
    };
    let value = AnswerColumn::plain(&values.column, keys.iter().map(|key| values.keys.cell(*key)));
    Answers { columns: vec![value, count], notes, details: Details::default() }
}

#[cfg(test)]
mod tests;
