//! Quantiles of columns whose values are no 64-bit numbers: `keys` of the kind `quantiles`. Each by an exponential
//! mechanism of its own, or all of them by a tree of medians, whichever promises less.
//!
//! The recursion of [`scumble::mechanism::interior_point`] is not among the ways: its noise has no ρ at high orders, so
//! that no budget of ε at δ, or of ρ, could be charged with it.

use super::ordered::roles_of_quantiles;
use super::wide_keys::KeyedValues;
use crate::error::{Error, Result};
use crate::project::Cost;
use crate::release::output::{AnswerColumn, Answers, BETA, Cell, Details};
use crate::release::plan::{AnalysedRequest, Analysis, ExpectedError, Plan, Price};
use crate::release::price::noise::{Demand, calibrate};
use scumble::event::{Event, Moves};
use scumble::mechanism::quantile::{Quantile, QuantileTree};
use scumble::noise::BitSource;
use scumble::quantity::{Beta, Epsilon, Probability};
use serde_json::json;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A tree of more levels is not looked at: its quantiles would be 128ths.
const MOST_LEVELS: u32 = 6;

/// Some quantiles of a column.
pub(crate) fn analyse(values: KeyedValues, fractions: Vec<f64>) -> AnalysedRequest {
    AnalysedRequest::new(WideQuantilesAnalysis { values, fractions })
}

/// Some quantiles of a column of keys.
struct WideQuantilesAnalysis {
    values: KeyedValues,
    fractions: Vec<f64>,
}

impl Analysis for WideQuantilesAnalysis {
    type Mechanism = WideQuantilesMechanism;

    fn at(&self, cost: &Cost) -> Result<Price<WideQuantilesMechanism>> {
        let mechanism = WideQuantilesMechanism::within(cost, &self.values, &self.fractions)?;
        Ok(Price { events: mechanism.events(&self.values)?, mechanism })
    }

    fn plan(self: Rc<Self>, way: WideQuantilesMechanism, events: Vec<Event>) -> Result<Plan> {
        let errors = way.errors()?;
        let expected = self.fractions.iter().zip(&errors).map(|(fraction, ranks)| {
            let about = format!(
                "off by at most {ranks:.1} rows in rank with 95% confidence; in value that depends on the data"
            );
            ExpectedError::new(format!("value at {fraction}"), None, about)
        });
        let (expected, mut rule) = (expected.collect(), self.values.rule());
        rule["fractions"] = json!(self.fractions);
        rule["way"] = json!(way.name());
        Ok(Plan::new(self.values.source(), events, rule, expected, move |charged| {
            let counts = self.values.counts(&charged.read(&self.values.cut)?);
            let found = way.release(&counts, charged.bits())?;
            Ok(answers(&self.values, &self.fractions, &found, &errors))
        }))
    }
}

/// How they are found.
enum WideQuantilesMechanism {
    /// Each by itself.
    Each(Vec<Quantile>),
    /// By a tree; these are some of its quantiles.
    Tree(QuantileTree, Vec<usize>),
}

impl WideQuantilesMechanism {
    /// The one with the smaller error.
    fn within(cost: &Cost, values: &KeyedValues, fractions: &[f64]) -> Result<Self> {
        let each = Self::each(cost, values, fractions)?;
        let Some(levels) = levels_of(fractions).filter(|_| fractions.len() > 1) else { return Ok(each) };
        let tree = Self::tree(cost, values, fractions, levels)?;
        let largest = |way: &Self| -> Result<f64> { Ok(way.errors()?.into_iter().fold(0.0, f64::max)) };
        Ok(if largest(&tree)? < largest(&each)? { tree } else { each })
    }

    fn each(cost: &Cost, values: &KeyedValues, fractions: &[f64]) -> Result<Self> {
        let last = values.keys.last();
        let at = |fraction: f64, epsilon: Epsilon| {
            if fraction == 0.0 {
                Quantile::least(last, epsilon)
            } else if fraction == 1.0 {
                Quantile::largest(last, epsilon)
            } else {
                Quantile::new(last, Probability::new(fraction)?, epsilon)
            }
        };
        let moves = |fraction: &f64| {
            let trial = at(*fraction, Epsilon::new(1.0)?)?;
            moves_of(trial.events_of(values.rows, &values.read)?)
        };
        let quantiles = fractions.iter().map(moves).collect::<Result<Vec<_>>>()?;
        let epsilons = calibrate(cost, &Demand { quantiles: &quantiles, ..Demand::default() })?.quantiles;
        let made = fractions.iter().zip(epsilons).map(|(fraction, epsilon)| Ok(at(*fraction, epsilon)?));
        Ok(Self::Each(made.collect::<Result<_>>()?))
    }

    fn tree(cost: &Cost, values: &KeyedValues, fractions: &[f64], levels: u32) -> Result<Self> {
        let (tree, _) = tree(cost, values, levels, &[])?;
        let place = |fraction: &f64| (fraction * f64::from(1u32 << levels)) as usize - 1;
        Ok(Self::Tree(tree, fractions.iter().map(place).collect()))
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Each(_) => "each by itself",
            Self::Tree(..) => "tree",
        }
    }

    fn events(&self, values: &KeyedValues) -> Result<Vec<Event>> {
        match self {
            Self::Each(all) => {
                let events = all.iter().map(|one| Ok(one.events_of(values.rows, &values.read)?));
                Ok(events.collect::<Result<Vec<_>>>()?.concat())
            }
            Self::Tree(tree, _) => Ok(tree.events_of(values.rows, &values.read)?),
        }
    }

    /// By how many ranks each is off at most.
    fn errors(&self) -> Result<Vec<f64>> {
        match self {
            Self::Each(all) => all.iter().map(|one| Ok(one.error(Beta::new(BETA)?)?)).collect(),
            Self::Tree(tree, places) => Ok(vec![tree.error(Beta::new(BETA)?)?; places.len()]),
        }
    }

    fn release(&self, counts: &BTreeMap<u128, u64>, bits: &mut dyn BitSource) -> Result<Vec<u128>> {
        match self {
            Self::Each(all) => Ok(all.iter().map(|one| one.release_counted(counts, bits)).collect()),
            Self::Tree(tree, places) => {
                let each = counts.iter().flat_map(|(key, times)| std::iter::repeat_n(*key, *times as usize));
                let found = tree.release(&each.collect::<Vec<_>>(), bits)?;
                Ok(places.iter().map(|place| found[*place]).collect())
            }
        }
    }
}

/// The least number of levels whose quantiles include all of these; none if they are no 2nds, 4ths, …, 64ths.
fn levels_of(fractions: &[f64]) -> Option<u32> {
    let inside = fractions.iter().all(|fraction| 0.0 < *fraction && *fraction < 1.0);
    let fits = |levels: &u32| fractions.iter().all(|fraction| (fraction * f64::from(1u32 << levels)).fract() == 0.0);
    inside.then(|| (1..=MOST_LEVELS).find(fits)).flatten()
}

/// How the one event of something moves.
fn moves_of(events: Vec<Event>) -> Result<Moves> {
    let event = events.first().ok_or_else(|| Error::machine("a quantile without an event"))?;
    Ok(event.moves().clone())
}

/// A tree of this many levels, and noise for numbers that move like this, all together at this cost.
pub(crate) fn tree(
    cost: &Cost,
    values: &KeyedValues,
    levels: u32,
    moves: &[Moves],
) -> Result<(QuantileTree, Vec<crate::release::price::noise::Noise>)> {
    let last = values.keys.last();
    let level = QuantileTree::new(last, 1, Epsilon::new(1.0)?)?.events_of(values.rows, &values.read)?;
    let each = vec![moves_of(level)?; levels as usize];
    let steps = vec![None; moves.len()];
    let found = calibrate(cost, &Demand { moves, steps: &steps, quantiles: &each, ..Demand::default() })?;
    let epsilon = found.quantiles.first().ok_or_else(|| Error::machine("a tree without levels"))?;
    Ok((QuantileTree::new(last, levels, *epsilon)?, found.noises))
}

fn answers(values: &KeyedValues, fractions: &[f64], found: &[u128], errors: &[f64]) -> Answers {
    let mut notes = vec!["With probability 95%, a value is off by at most rank_error rows in rank. Rows without a value have no rank: where nobody has one, or fewer have than rank_error, the values mean nothing.".to_string()];
    notes.extend(values.notes());
    Answers {
        columns: vec![
            AnswerColumn::plain("quantile", fractions.iter().map(|fraction| Cell::Number(*fraction))),
            AnswerColumn::plain("value", found.iter().map(|key| values.keys.cell(values.keys.shown(*key)))),
            AnswerColumn::plain("rank_error", errors.iter().map(|error| Cell::Number(*error))),
        ],
        notes,
        details: Details { roles: roles_of_quantiles(&values.column), ..Details::default() },
    }
}

#[cfg(test)]
mod tests;
