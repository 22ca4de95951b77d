//! Robust halfspaces: a halfspace over bool columns, at an ε for each column and for the label.
//!
//! [GKMS23], Section 6: labels get noise of their own, and a column moves only how far an owner is from the boundary,
//! which is what halfspaces are chosen by. So the ε of the label and that of a column are spent by different
//! mechanisms, and a column costs a fraction of what a whole person does. It pays where owners lie far from the
//! boundary (docs/how-to/learn.md has numbers).

use super::class::{MOST_BOOLS, distinct_halfspaces, weighted};
use super::{ALPHA, FLIPS, KIND, LearnRequest, LearntRule, Promise, plan};
use crate::error::{Error, Result};
use crate::project::{Cost, CostScope, Goal, Request};
use crate::release::output::BETA;
use crate::release::plan::{AnalysedRequest, Analysis, Plan, Price};
use crate::release::price::allowance::Allowance;
use crate::release::price::allowance::Exceptions;
use crate::release::rows::fields::quoted;
use crate::release::rows::records;
use crate::release::rows::records::Records;
use scumble::event::Event;
use scumble::learn::halfspace::HalfspaceLearner;
use scumble::quantity::{Beta, Epsilon, Exact};
use scumble::scope::AttributeSet;
use serde_json::{Value, json};
use std::rc::Rc;

/// The default: the best of the radii that were measured, or as good
/// (`crates/core/tests/methods_compared.rs`).
const USUAL_FLIPS: u64 = 2;

/// How many changed columns a rule should bear, as the field says or by itself.
fn flips(request: &Request, columns: usize) -> Result<u32> {
    let most = columns as u64;
    match FLIPS.read(request)? {
        None => Ok(USUAL_FLIPS.min(most) as u32),
        Some(flips) if flips.value <= most => Ok(flips.value as u32),
        Some(flips) => Err(flips.error(format!("only 1 to {most} columns can be changed, not {}", flips.value))),
    }
}

/// The learner that this cost allows, its events, and what each attribute was granted.
///
/// # Guarantee
/// Each column and the label cost at most what they may, by the ledger's own rule.
fn fitted(
    asked: &LearnRequest,
    cost: &Cost,
    exceptions: &Exceptions,
    flips: u32,
    candidates: &[Vec<i32>],
) -> Result<(HalfspaceLearner, Vec<Event>, Value)> {
    if cost.scope() != CostScope::Attribute || !matches!(cost.target, Goal::Epsilon(_)) {
        return Err(Error::input(
            "a robust halfspace takes cost = { epsilon = …, scope = \"attribute\" }; for a cost per person use the \
                concept 'halfspace'",
        ));
    }
    let names = asked.attributes.names();
    let allowance = Allowance::of(cost, KIND.name, names, Exact::zero(), exceptions)?;
    let of = |name: &String| allowance.of_attribute(name).map_or(0.0, Exact::to_f64_down);
    // All columns move the same scores: the strictest decides.
    let column = asked.columns().iter().map(of).fold(f64::INFINITY, f64::min);
    let label = names.last().map_or(0.0, of);
    let too_little = |_| Error::input("no robust halfspace can be learnt within this cost: raise it");
    let odds = HalfspaceLearner::odds_within(Epsilon::new(label)?).map_err(too_little)?;
    let learner = HalfspaceLearner::with_constant(0, flips, odds, Epsilon::new(column)?, candidates.to_vec())
        .map_err(too_little)?;
    let sets =
        names.iter().map(|name| AttributeSet::new([name.as_str()])).collect::<std::result::Result<Vec<_>, _>>()?;
    let (label, columns) = sets.split_last().ok_or_else(|| Error::machine("a rule has a label"))?;
    let events = learner.events(columns, label)?;
    match allowance.admits(&events)? {
        true => Ok((learner, events.clone(), allowance.granted(&events)?)),
        false => Err(Error::input("no robust halfspace fits this cost: raise epsilon")),
    }
}

/// The promise about a learner, made before it learns.
fn promise(learner: &HalfspaceLearner, rules: usize, flips: u32, granted: &Value) -> Result<Promise> {
    let (most, owners) =
        (learner.error(Beta::new(BETA)?)?.floor(), learner.rows_needed(ALPHA, Beta::new(BETA)?)?.ceil());
    let even = match flips {
        1 => "is always right".to_string(),
        2 => "is always right, even where any one column is changed,".to_string(),
        _ => format!("is always right, even where any {} columns are changed,", flips - 1),
    };
    Ok(Promise {
        about: format!(
            "one of {rules} halfspaces; if one of them {even} with probability 95% this one makes at most {most} mistakes"
        ),
        notes: vec![format!(
            "If one of the halfspaces {even} {owners} owners are enough to learn one that errs on at most 5% of the people they were drawn from, with probability 90%."
        )],
        rule: json!({ "concept": "robust-halfspace", "rules": rules, "flips": flips, "mistakes_at_most": most, "owners_for_5_percent": owners, "granted": granted }),
    })
}

pub(super) fn analysed(asked: LearnRequest, request: &Request) -> Result<AnalysedRequest> {
    asked.only_bools(request, "robust halfspace")?;
    let dimension = asked.columns().len();
    if dimension > MOST_BOOLS {
        let sentence = format!("a robust halfspace is over 1 to {MOST_BOOLS} columns here, not {dimension}");
        return Err(records::COLUMNS.error(request, sentence));
    }
    if asked.attributes.move_together() {
        return Err(records::COLUMNS.error(
            request,
            "a robust halfspace protects columns one by one and needs one row per owner: write max_rows_per_owner = 1",
        ));
    }
    let flips = flips(request, dimension)?;
    let exceptions = Exceptions::read(request, asked.attributes.names())?;
    let candidates = distinct_halfspaces(dimension)?;
    Ok(AnalysedRequest::new(RobustAnalysis { asked: Rc::new(asked), exceptions, flips, candidates }))
}

/// A halfspace that few owners can change.
struct RobustAnalysis {
    asked: Rc<LearnRequest>,
    exceptions: Exceptions,
    flips: u32,
    candidates: Vec<Vec<i32>>,
}

impl Analysis for RobustAnalysis {
    /// And what each attribute was granted.
    type Mechanism = (HalfspaceLearner, Value);

    fn at(&self, cost: &Cost) -> Result<Price<Self::Mechanism>> {
        let Self { asked, exceptions, flips, candidates } = self;
        let (learner, events, granted) = fitted(asked, cost, exceptions, *flips, candidates)?;
        Ok(Price { events, mechanism: (learner, granted) })
    }

    fn plan(self: Rc<Self>, (learner, granted): Self::Mechanism, events: Vec<Event>) -> Result<Plan> {
        let promise = promise(&learner, self.candidates.len(), self.flips, &granted)?;
        let said = format!("The choice is {}.", promise.about);
        let asked = Rc::clone(&self.asked);
        plan(Rc::clone(&asked), promise, events, move |records, bits| {
            let (points, labels) = signs(&asked, records);
            let weights = learner.learn(&points, &labels, bits)?;
            let columns: Vec<String> = asked.columns().iter().map(|name| quoted(name)).collect();
            Ok(LearntRule { condition: Some(weighted(&columns, &weights)), notes: vec![said.clone()] })
        })
    }
}

/// Each record as numbers, 1 for true and −1 otherwise: a missing value is not true.
fn signs(asked: &LearnRequest, records: &Records) -> (Vec<Vec<i8>>, Vec<i8>) {
    let sign = |is_one: bool| if is_one { 1 } else { -1 };
    let columns = &records.columns[..asked.domain.len()];
    let point = |record: usize| columns.iter().map(|column| sign(column[record] == 1)).collect();
    (0..records.number()).map(|record| (point(record), sign(asked.is_positive(records, record)))).unzip()
}

#[cfg(test)]
mod tests;
