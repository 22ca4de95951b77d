//! Quantiles by smooth sensitivity: `method = "smooth"` of the kind `quantiles`. For comparison: the exponential mechanism is nearly always better, and the plan says so.

use super::fitted::{Fitting, Step, budget_delta};
use super::output::{AnswerColumn, Answers, Cell, Details, Uncertainty};
use super::quantiles::KIND;
use super::rows::bounding;
use super::{Analysed, Estimates, Expected, Plan, Priced};
use crate::attackers::Counted;
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::project::{Cost, Project, Request};
use crate::sql::integers::Integers;
use crate::sql::query::Ranked;
use crate::sql::{Cut, sensitivity};
use scumble::calibrate::{Target, scale_for_pure};
use scumble::event::{Event, Family};
use scumble::mechanism::smooth::quantile::QuantileBounds;
use scumble::mechanism::smooth::{Smooth, Steps};
use scumble::quantity::{Epsilon, Exact, Scale, Sensitivity};
use scumble::scope::AttributeSet;
use serde_json::json;
use std::rc::Rc;

/// Which part of ε buys the error bars.
const LEVEL_SHARE: f64 = 0.2;
/// Fractions have at most six decimals here: they are exact quotients.
const DECIMALS: f64 = 1e6;
const BETA: f64 = 0.05;

/// The query with its quantiles by smooth noise; `other` is the same by the exponential mechanism.
pub(super) fn analyse(
    sql: &str,
    fractions: Vec<f64>,
    request: &Request,
    project: &Project,
    other: Analysed,
) -> Result<Analysed> {
    let cut = crate::sql::analyse(sql, bounding(request)?, project, &Backend::without_data(project)?)?;
    let quantiles = Rc::new(Quantiles::new(cut, fractions, budget_delta(project))?);
    Ok(Analysed::new(move |cost| {
        let (noise, events) = quantiles.within(cost)?;
        let beside = other.at(cost)?.plan()?.expected;
        let quantiles = Rc::clone(&quantiles);
        Ok(Priced::new(events, move |events| quantiles.plan(noise, events, &beside)))
    }))
}

/// Some quantiles of one column.
struct Quantiles {
    cut: Rc<Cut>,
    fractions: Vec<f64>,
    exact: Vec<(u32, u32)>,
    steps: Steps,
    budget_delta: Option<Exact>,
}

/// The noise of each quantile, and of the level beside it.
#[derive(Debug, Clone)]
struct SmoothAndLevel {
    smooth: Smooth,
    level: Scale,
}

impl Quantiles {
    fn new(cut: Cut, fractions: Vec<f64>, budget_delta: Option<Exact>) -> Result<Self> {
        let exact = fractions.iter().map(|fraction| quotient(*fraction)).collect::<Result<_>>()?;
        let Some(first) = cut.query.quantiles.first() else {
            return Err(Error::machine("a query of quantiles has none"));
        };
        let moves = sensitivity::quantile_moves(first, &cut.query)?;
        let (presence, _, touches, _) = moves.parts();
        // Rows of one owner: each is one step, whether it comes, goes or has another value (the bounds hold for all of these).
        let rows = presence.iter().map(|shift| (shift.cells as f64 * shift.by.get()).ceil() as u64).fold(1, u64::max);
        let attributes = touches.iter().flat_map(|touch| touch.attributes.iter().map(str::to_string));
        let steps = Steps::one().of_rows(rows).reading(AttributeSet::new(attributes)?);
        Ok(Self { cut: Rc::new(cut), fractions, exact, steps, budget_delta })
    }

    fn ranked(&self) -> &Ranked {
        &self.cut.query.ranked[0]
    }

    /// The largest key of the grid.
    fn last(&self) -> Result<i64> {
        let last = i64::try_from(self.ranked().last_key()).ok().filter(|last| *last < 1 << 62);
        last.ok_or_else(|| Error::input("the column has more than 2^62 values: smooth noise needs tighter bounds"))
    }

    fn within(&self, cost: &Cost) -> Result<(SmoothAndLevel, Vec<Event>)> {
        let fitting = Fitting::new(&KIND, cost, self.budget_delta.as_ref())?;
        let (number, last) = (self.fractions.len() as f64, self.last()?);
        fitting.fit(&self.steps, |Step { epsilon, .. }| {
            let epsilon = epsilon / number;
            let share = LEVEL_SHARE * epsilon;
            let smooth = Smooth::within(Family::Cauchy4, Target::pure(epsilon - share)?, last.unsigned_abs())?;
            let level = scale_for_pure(Epsilon::new(share)?, Sensitivity::ONE)?;
            let mut events = Vec::new();
            for _ in &self.fractions {
                events.extend(smooth.events(&self.steps)?);
                events.push(smooth.event_of_level(level, &self.steps)?);
            }
            Ok((SmoothAndLevel { smooth, level }, events))
        })
    }

    fn plan(&self, noise: SmoothAndLevel, events: Vec<Event>, beside: &[Expected]) -> Result<Plan> {
        let cut = Rc::clone(&self.cut);
        let about = "depends on how the values lie around the quantile; what it is stands beside the answer";
        let expected = self.fractions.iter().map(|fraction| Expected {
            column: format!("value at {fraction}"),
            standard_error: None,
            cells: Vec::new(),
            assumed: None,
            about: about.to_string(),
        });
        let exponential = beside.first().map_or("", |expected| expected.about.as_str());
        let recommended = format!(
            "Recommended instead: method = \"exponential\", which is nearly always better; at this cost it is {exponential}."
        );
        let smooth = noise.smooth.noise();
        let (ranked, grid) = (self.ranked().clone(), self.ranked().grid);
        let (fractions, exact, last) = (self.fractions.clone(), self.exact.clone(), self.last()?);
        Ok(Plan {
            events,
            rule: json!({
                "fractions": fractions, "method": "smooth", "family": smooth.family().name(), "gamma": smooth.gamma().to_string(),
                "alpha": smooth.alpha().to_string(), "levels": smooth.levels(), "scale_of_level": noise.level.get(),
                "grid": { "lower": grid.lower, "upper": grid.upper, "step": grid.step },
            }),
            expected: expected.collect(),
            notes: vec![recommended],
            limits: Vec::new(),
            counted: Counted::default(),
            estimates: Estimates::of(cut.query.bounds, false),
            tables: cut.below.tables.iter().cloned().collect(),
            query: Some(Rc::clone(&cut)),
            compute: Box::new(move |charged| {
                let values = values(&charged.integers(&cut)?);
                let mut found = Vec::new();
                for quotient in &exact {
                    let bounds = QuantileBounds::new(&values, *quotient, (0, last))?;
                    let (value, level) =
                        noise.smooth.release_with_level(bounds.value(), |k| bounds.at(k), noise.level, charged.bits());
                    found.push(published(&noise, value, level, last, &ranked)?);
                }
                Ok(answers(&fractions, found))
            }),
        })
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

/// The value of a noisy key, with its error bar in the column's unit. The true one lies within the bounds, and so does the interval.
fn published(noise: &SmoothAndLevel, key: i64, level: i64, last: i64, ranked: &Ranked) -> Result<(f64, Uncertainty)> {
    let bar = noise.smooth.error_beside(BETA, level, noise.level)?;
    let value = |key: f64| ranked.value((key.clamp(0.0, last as f64)) as u128);
    let low = value((key as f64 - bar.half_width).floor());
    let high = value((key as f64 + bar.half_width).ceil());
    let standard_error = bar.standard_error * ranked.grid.step;
    Ok((value(key as f64), Uncertainty { standard_error, low, high }))
}

fn answers(fractions: &[f64], found: Vec<(f64, Uncertainty)>) -> Answers {
    let (values, unsure): (Vec<f64>, Vec<Uncertainty>) = found.into_iter().unzip();
    Answers {
        columns: vec![
            AnswerColumn {
                name: "quantile".to_string(),
                cells: fractions.iter().map(|fraction| Cell::Number(*fraction)).collect(),
                uncertainty: None,
            },
            AnswerColumn {
                name: "value".to_string(),
                cells: values.into_iter().map(super::cdf::number).collect(),
                uncertainty: Some(unsure),
            },
        ],
        notes: vec![
            "The noise follows the values' own sensitivity, which is private; a fifth of the cost has bought the error bars.".to_string(),
        ],
        details: Details { intervals: vec!["value".to_string()], ..Details::default() },
    }
}
