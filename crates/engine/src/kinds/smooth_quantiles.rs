//! Quantiles by smooth sensitivity: `method = "smooth"` of the kind `quantiles`. For comparison: the exponential
//! mechanism is nearly always better, and the plan says so.

use super::ordered::{number, roles_of_quantiles};
use crate::error::{Error, Result};
use crate::project::{Cost, Project, Request};
use crate::release::estimates::Estimates;
use crate::release::output::{AnswerColumn, Answers, Cell, ColumnKind, Details, Uncertainty, six_digits};
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, PlanSource, Price};
use crate::release::price::fitted::{FittedCost, Step, budget_delta};
use crate::release::price::smooth_noise;
use crate::release::price::smooth_noise::SmoothNoise;
use crate::release::rows::fields::bounding;
use crate::sql::PrivateQuery;
use crate::sql::analyse::query::RankedColumn;
use crate::sql::analyse::sensitivity;
use crate::sql::execute::integers::Integers;
use crate::tables::Backend;
use scumble::event::{Event, NoiseFamily};
use scumble::mechanism::smooth::quantile::QuantileBounds;
use scumble::mechanism::smooth::{ErrorBar, OwnerSteps};
use scumble::quantity::Exact;
use scumble::scope::AttributeSet;
use serde_json::json;
use std::rc::Rc;

/// The kind that this is a method of.
const NAME: &str = "quantiles";

/// Fractions have at most six decimals here: they are exact quotients.
const DECIMALS: f64 = 1e6;
/// For how many values, evenly between the bounds, the plan says errors.
const PLANNED: [(u64, &str); 2] = [(10_000, "10,000"), (1_000_000, "1,000,000")];

/// The query with its quantiles by smooth noise; `other` is the same by the exponential mechanism.
pub(crate) fn analyse(
    sql: &str,
    fractions: Vec<f64>,
    request: &Request,
    project: &Project,
    other: AnalysedRequest,
) -> Result<AnalysedRequest> {
    let cut = crate::sql::analyse(sql, bounding(request)?, project, &Backend::without_data(project)?)?;
    let family = smooth_noise::family(request, true)?;
    let quantiles = Rc::new(Quantiles::new(cut, fractions, family, budget_delta(project))?);
    Ok(AnalysedRequest::new(SmoothQuantilesAnalysis { quantiles, other }))
}

/// Quantiles by smooth noise, and the same by the exponential mechanism.
struct SmoothQuantilesAnalysis {
    quantiles: Rc<Quantiles>,
    other: AnalysedRequest,
}

impl Analysis for SmoothQuantilesAnalysis {
    /// And the errors of the exponential mechanism at the same cost.
    type Mechanism = (SmoothNoise, Vec<ExpectedError>);

    fn at(&self, cost: &Cost) -> Result<Price<Self::Mechanism>> {
        let (noise, events) = self.quantiles.within(cost)?;
        let beside = self.other.at(cost)?.plan()?.expected;
        Ok(Price { events, mechanism: (noise, beside) })
    }

    fn plan(self: Rc<Self>, (noise, beside): Self::Mechanism, events: Vec<Event>) -> Result<Plan> {
        self.quantiles.clone().plan(noise, events, &beside)
    }
}

/// Some quantiles of one column.
struct Quantiles {
    cut: Rc<PrivateQuery>,
    fractions: Vec<f64>,
    exact: Vec<(u32, u32)>,
    family: NoiseFamily,
    steps: OwnerSteps,
    budget_delta: Option<Exact>,
}

impl Quantiles {
    fn new(cut: PrivateQuery, fractions: Vec<f64>, family: NoiseFamily, budget_delta: Option<Exact>) -> Result<Self> {
        let exact = fractions.iter().map(|fraction| quotient(*fraction)).collect::<Result<_>>()?;
        let Some(first) = cut.query.quantiles.first() else {
            return Err(Error::machine("a query of quantiles has none"));
        };
        let moves = sensitivity::quantile_moves(first, &cut.query)?;
        let (presence, _, touches, _) = moves.parts();
        // Rows of one owner: each is one step, whether it comes, goes or has another value (the bounds hold for all of
        // these).
        let rows = presence.iter().map(|shift| (shift.cells as f64 * shift.by.get()).ceil() as u64).fold(1, u64::max);
        let attributes = touches.iter().flat_map(|touch| touch.attributes.iter().map(str::to_string));
        let steps = OwnerSteps::one().of_rows(rows).reading(AttributeSet::new(attributes)?);
        Ok(Self { cut: Rc::new(cut), fractions, exact, family, steps, budget_delta })
    }

    fn ranked(&self) -> &RankedColumn {
        &self.cut.query.ranked[0]
    }

    /// The largest key of the grid.
    fn last(&self) -> Result<i64> {
        let last = i64::try_from(self.ranked().last_key()).ok().filter(|last| *last < 1 << 62);
        last.ok_or_else(|| Error::input("the column has more than 2^62 values: smooth noise needs tighter bounds"))
    }

    fn within(&self, cost: &Cost) -> Result<(SmoothNoise, Vec<Event>)> {
        let fitting = FittedCost::new(NAME, cost, self.budget_delta.as_ref())?;
        smooth_noise::needs(self.family, &fitting)?;
        let (number, last) = (self.fractions.len() as f64, self.last()?);
        fitting.fit(&self.steps, |Step { epsilon, delta }| {
            let each = Step { epsilon: epsilon / number, delta: delta / number };
            let (noise, events) = SmoothNoise::within(self.family, each, last.unsigned_abs(), &self.steps)?;
            Ok((noise, self.fractions.iter().flat_map(|_| events.clone()).collect()))
        })
    }

    /// The standard error if so many values lie evenly between the bounds: k + 2 of them in a row span k + 1 gaps.
    fn error_of_even(&self, noise: &SmoothNoise, values: u64) -> Result<f64> {
        let last = u128::from(self.last()?.unsigned_abs());
        let gaps = |k: u64| (last * (u128::from(k) + 1)).div_ceil(u128::from(values)).min(last) as u64;
        Ok(noise.standard_error(gaps) * self.ranked().grid.step)
    }

    fn plan(self: Rc<Self>, noise: SmoothNoise, events: Vec<Event>, beside: &[ExpectedError]) -> Result<Plan> {
        let error = |(values, shown): (u64, &str)| {
            let error = six_digits(self.error_of_even(&noise, values)?);
            Ok::<_, Error>(format!("about {error} if {shown} values"))
        };
        let [few, many] = PLANNED.map(error);
        let about = format!(
            "depends on how the values lie around the quantile: standard error {} lie evenly between the bounds, {}; the answer has its standard error",
            few?, many?
        );
        let columns = self.fractions.iter().map(|fraction| format!("value at {fraction}"));
        let expected = columns.map(|column| ExpectedError::new(column, None, about.clone())).collect();
        let exponential = beside.first().map_or("", |expected| expected.about.as_str());
        let recommended = format!(
            "Recommended instead: method = \"exponential\", which is nearly always better; at this cost it is {exponential}."
        );
        let (grid, last) = (self.ranked().grid, self.last()?);
        let mut rule = noise.rule();
        rule["method"] = json!("smooth");
        rule["fractions"] = json!(self.fractions);
        rule["grid"] = json!({ "lower": grid.lower, "upper": grid.upper, "step": grid.step });
        let source = PlanSource::query(&self.cut, Estimates::of(self.cut.query.bounds, false));
        let plan = Plan::new(source, events, rule, expected, move |charged| {
            let values = values(&charged.read(&self.cut)?);
            let mut found = Vec::new();
            for quotient in &self.exact {
                let bounds = QuantileBounds::new(&values, *quotient, (0, last))?;
                let (key, bar) = noise.release(bounds.value(), |k| bounds.at(k), charged.bits())?;
                found.push(published(key, &bar, last, self.ranked()));
            }
            Ok(answers(&self.fractions, found, self.ranked()))
        });
        Ok(Plan { notes: vec![recommended], ..plan })
    }
}

/// A fraction as a quotient of whole numbers.
fn quotient(fraction: f64) -> Result<(u32, u32)> {
    let above = (fraction * DECIMALS).round();
    if !(0.0 < fraction && fraction < 1.0) || above / DECIMALS != fraction {
        return Err(Error::input(format!(
            "smooth quantiles are strictly between 0 and 1, with at most six decimals, not {fraction}"
        )));
    }
    Ok((above as u32, DECIMALS as u32))
}

/// The keys of all values that count.
fn values(found: &Integers) -> Vec<i64> {
    let counts = found.cells.first().and_then(|cell| cell.ranked.first()).into_iter().flatten();
    counts.flat_map(|(key, times)| std::iter::repeat_n(*key as i64, *times as usize)).collect()
}

/// The value of a noisy key, with its error bar in the column's unit. The true one lies within the bounds, and so does
/// the interval.
fn published(key: i64, bar: &ErrorBar, last: i64, ranked: &RankedColumn) -> (Cell, Uncertainty) {
    let value = |key: f64| ranked.value((key.clamp(0.0, last as f64)) as u128);
    let low = value((key as f64 - bar.half_width).floor());
    let high = value((key as f64 + bar.half_width).ceil());
    let standard_error = bar.standard_error * ranked.grid.step;
    (number(value(key as f64)), Uncertainty { standard_error, low, high })
}

fn answers(fractions: &[f64], found: Vec<(Cell, Uncertainty)>, ranked: &RankedColumn) -> Answers {
    let roles = roles_of_quantiles(ranked.attributes.first().map_or("", String::as_str));
    let is_whole = ranked.grid.step.fract() == 0.0 && ranked.grid.lower.fract() == 0.0;
    let kind = if is_whole { ColumnKind::Whole } else { ColumnKind::Number };
    let quantiles = fractions.iter().map(|fraction| Cell::Number(*fraction));
    Answers {
        columns: vec![AnswerColumn::plain("quantile", quantiles), AnswerColumn::noisy("value", found)],
        notes: vec![smooth_noise::NOTE.to_string()],
        details: Details { roles, kinds: [("value".to_string(), kind)].into(), ..Details::default() },
    }
}
