//! What a ledger adds up to, as JSON: spent and left in every scope, by release.

use crate::budget::{Budget, Limit, Spent, Sums, one_attribute};
use crate::error::{Error, Result};
use crate::ledger::{Charge, ChargeState};
use scumble::quantity::Exact;
use scumble::scope::{AttributeSet, Scope};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::num::NonZeroU32;

pub mod planned;
mod whole;

/// The δ at which ε is shown where neither a budget nor the caller names one.
const USUAL_DELTA: &str = "0.000000001";

/// The rule by which the numbers were made, in words.
pub const RULE: &str =
    "adaptive filter: sums of pure epsilon and of zCDP rho over the ledger's whole life, with delta split beforehand";

/// What to tell about a ledger.
pub struct Question<'a> {
    /// The limits.
    pub budget: &'a Budget,
    /// The project's attributes; those that the ledger names are added.
    pub attributes: &'a BTreeSet<String>,
    /// δ for all scopes, instead of each budget's own.
    pub delta: Option<Exact>,
    /// More attribute sets to answer for.
    pub sets: &'a [AttributeSet],
    /// Also answer for groups of this many owners.
    pub group: Option<NonZeroU32>,
}

/// What all charges add up to, with a sum for each of `sets`.
pub fn sums_of(charges: &[Charge], sets: &[AttributeSet]) -> Result<Sums> {
    let events = || charges.iter().map(|charge| charge.events.as_slice());
    let mut sums = Sums::of(events())?;
    sets.iter().try_for_each(|set| sums.ask(set, events()))?;
    Ok(sums)
}

/// The summary: `presence`, `person`, `attributes`, `releases`, `remaining`, and `groups` if they are asked for. `sums` are those of
/// all charges, with the question's sets; `charges` are those to be shown one by one, which for groups must be all.
pub fn summary(charges: &[Charge], sums: &Sums, question: &Question<'_>) -> Result<Value> {
    let scopes = scopes(sums, question)?;
    let mut whole = Map::new();
    let mut attributes = Map::new();
    let mut remaining = Map::new();
    let mut remaining_attributes = Map::new();
    for (scope, limit) in &scopes {
        let spent =
            sums.spent(scope).ok_or_else(|| Error::machine(format!("there is no sum for the scope {scope}")))?;
        let shown = cost(spent, limit.as_ref(), question);
        let left = limit.as_ref().map(|limit| left(spent, limit));
        match scope {
            Scope::Attributes(set) => {
                let name = set.iter().collect::<Vec<_>>().join(",");
                remaining_attributes.extend(left.map(|left| (name.clone(), left)));
                attributes.insert(name, shown);
            }
            scope => {
                remaining.extend(left.map(|left| (scope.to_string(), left)));
                whole.insert(scope.to_string(), shown);
            }
        }
    }
    let releases = charges.iter().map(|charge| release(charge, &scopes, question)).collect::<Result<Vec<_>>>()?;
    remaining.insert("attributes".into(), Value::Object(remaining_attributes));
    whole.insert("attributes".into(), Value::Object(attributes));
    whole.insert("releases".into(), Value::Array(releases));
    whole.insert("remaining".into(), Value::Object(remaining));
    whole.insert("rule".into(), json!(RULE));
    if let Some(size) = question.group {
        whole.insert("groups".into(), groups(charges, &scopes, size, question)?);
    }
    Ok(Value::Object(whole))
}

/// What was spent about `size` owners at once, in each scope.
fn groups(
    charges: &[Charge],
    scopes: &[(Scope, Option<Limit>)],
    size: NonZeroU32,
    question: &Question<'_>,
) -> Result<Value> {
    let mut shown = json!({ "size": size });
    let mut attributes = Map::new();
    for (scope, limit) in scopes {
        let (mut spent, group) = (Spent::nothing(), scope.clone().group(size));
        for charge in charges {
            spent.add_all(&whole::for_groups(charge, scope)?, &group)?;
        }
        let cost = cost(&spent, limit.as_ref(), question);
        match scope {
            Scope::Attributes(set) => drop(attributes.insert(set.iter().collect::<Vec<_>>().join(","), cost)),
            scope => shown[scope.to_string()] = cost,
        }
    }
    shown["attributes"] = Value::Object(attributes);
    Ok(shown)
}

/// Presence, person, each attribute and each set asked for, with its limit if there is one.
fn scopes(sums: &Sums, question: &Question<'_>) -> Result<Vec<(Scope, Option<Limit>)>> {
    let mut names = question.attributes.clone();
    names.extend(sums.attributes());
    let limits = question.budget.limits(&names)?;
    let limit = |scope: &Scope| limits.iter().find(|(other, _)| other == scope).map(|(_, limit)| limit.clone());
    let mut scopes = vec![Scope::Presence, Scope::Person];
    for name in &names {
        scopes.push(one_attribute(name)?);
    }
    scopes.extend(question.sets.iter().map(|set| Scope::Attributes(set.clone())));
    Ok(scopes.into_iter().map(|scope| (scope.clone(), limit(&scope))).collect())
}

/// The δ at which a scope is shown.
pub fn delta_for(limit: Option<&Limit>, question: &Question<'_>) -> Exact {
    let usual = || USUAL_DELTA.parse().unwrap_or_else(|_| Exact::zero());
    let own = limit
        .map(Limit::delta)
        .filter(|delta| **delta > Exact::zero() || matches!(limit, Some(Limit::Approximate { .. })));
    question.delta.clone().or_else(|| own.cloned()).or_else(|| question.budget.smallest_delta()).unwrap_or_else(usual)
}

fn cost(spent: &Spent, limit: Option<&Limit>, question: &Question<'_>) -> Value {
    let mut delta = delta_for(limit, question);
    // Where nobody named a δ, it is one at which there is an ε.
    if let (None, None, Some(least)) = (limit, &question.delta, spent.least_delta()) {
        delta = delta.max(least);
    }
    let mut shown =
        json!({ "epsilon": spent.epsilon(&delta).map(|epsilon| epsilon.to_f64_up()), "delta": delta.to_f64() });
    // A ρ beside key selection holds except with probability δ: it is no zCDP, and is not called so.
    match spent.rho(&delta).map(|rho| rho.to_f64_up()) {
        Some(rho) if *spent.delta() == Exact::zero() => shown["rho"] = json!(rho),
        Some(rho) => shown["approximate_zcdp"] = json!({ "rho": rho, "delta": spent.delta().to_f64_up() }),
        None => {}
    }
    shown
}

fn left(spent: &Spent, limit: &Limit) -> Value {
    let left = limit.measure(spent).map(|spent| {
        let left = limit.most().clone() - spent;
        if left.is_negative() { 0.0 } else { left.to_f64_down() }
    });
    let mut shown = json!({ limit.word(): left.unwrap_or(0.0), "delta": limit.delta().to_f64() });
    match limit {
        Limit::Tcdp { omega, .. } => shown["omega"] = json!(omega.to_f64()),
        Limit::Renyi { order, .. } => shown["order"] = json!(order.to_f64()),
        Limit::Approximate { .. } | Limit::Zcdp { .. } => {}
    }
    shown
}

fn release(charge: &Charge, scopes: &[(Scope, Option<Limit>)], question: &Question<'_>) -> Result<Value> {
    let mut attributes = Map::new();
    let mut shown = json!({
        "sequence": charge.sequence,
        "time": charge.time,
        "release": charge.release,
        "kind": charge.kind,
        "state": match charge.state { ChargeState::Committed(_) => "committed", ChargeState::Reserved | ChargeState::Drawn => "interrupted" },
    });
    for (scope, limit) in scopes {
        let cost = cost(&Spent::of(&charge.events, scope)?, limit.as_ref(), question);
        match scope {
            Scope::Attributes(set) => drop(attributes.insert(set.iter().collect::<Vec<_>>().join(","), cost)),
            scope => shown[scope.to_string()] = cost,
        }
    }
    shown["attributes"] = Value::Object(attributes);
    Ok(shown)
}
