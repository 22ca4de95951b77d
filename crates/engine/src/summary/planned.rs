//! What a planned release would cost in every scope, and the error to expect: the same wherever it is asked.

use super::{PerScope, ScopeCost};
use crate::attackers::{FindingDocument, answer};
use crate::budget::{Odometer, one_attribute};
use crate::error::Result;
use crate::project::Project;
use crate::release::estimates::Estimates;
use crate::release::floor::Floor;
use crate::release::plan::ExpectedError;
use crate::release::run::PlannedRelease;
use scumble::quantity::Exact;
use scumble::scope::Scope;
use serde::Serialize;
use serde_json::Value;

/// The scopes that a plan tells about: presence, person and each attribute.
pub fn scopes(project: &Project) -> Result<Vec<Scope>> {
    let mut scopes = vec![Scope::Presence, Scope::Person];
    for name in project.attributes() {
        scopes.push(one_attribute(&name)?);
    }
    Ok(scopes)
}

/// The δ at which plans are shown by default: the budget's smallest.
pub fn usual_delta(project: &Project) -> Result<Exact> {
    Ok(project.budget.smallest_delta().map_or_else(|| super::USUAL_DELTA.parse(), Ok)?)
}

/// The δ at which a release is shown by default: the usual one, or that of its cost, or the least at which it has an ε.
pub fn delta_of(planned: &PlannedRelease, scopes: &[Scope], usual: &Exact) -> Result<Exact> {
    let mut delta = planned.request.cost.delta.clone().map_or_else(|| usual.clone(), |own| own.max(usual.clone()));
    for scope in scopes {
        delta =
            Odometer::of(&planned.plan.events, scope)?.least_delta().map_or(delta.clone(), |least| delta.max(least));
    }
    Ok(delta)
}

/// Why there is no ε in some scope, and what to do.
pub fn without_epsilon(planned: &PlannedRelease, scopes: &[Scope], delta: &Exact) -> Result<Option<String>> {
    let mut least = None;
    for scope in scopes {
        let spent = Odometer::of(&planned.plan.events, scope)?;
        if spent.epsilon(delta).is_none() {
            least = least.max(spent.least_delta());
        }
    }
    Ok(least
        .map(|least| format!("∞: at this delta there is no epsilon; ask for --delta {:e} or more", least.to_f64_up())))
}

/// The ε of a release in a scope; none where there is none at this δ.
pub fn cost(planned: &PlannedRelease, scope: &Scope, delta: &Exact) -> Result<Option<f64>> {
    Ok(Odometer::of(&planned.plan.events, scope)?.epsilon(delta).map(|epsilon| epsilon.to_f64_up()))
}

/// A scope in a word, or in the names of its attributes.
pub fn short(scope: &Scope) -> String {
    match scope {
        Scope::Attributes(set) => set.iter().collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// All about a planned release that can be known before it is paid for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ReleaseForecast {
    /// The release.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// What it would cost in every scope.
    pub costs: PerScope<ScopeCost>,
    /// The errors to expect.
    pub errors: Vec<ExpectedError>,
    /// Errors that no mechanism could beat.
    pub limits: Vec<Floor>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// About how many bytes it takes.
    pub memory_bytes: u64,
    /// What the project's attacker would learn, as `scumble lab attacker` prints it.
    pub attacker: Option<FindingDocument>,
    /// What the numbers are about, where not all rows count.
    pub estimates: Option<Estimates>,
    /// How the numbers are made, in the words of its kind.
    pub rule: Value,
}

/// What is known of a planned release.
pub fn forecast(
    planned: &PlannedRelease,
    project: &Project,
    scopes: &[Scope],
    delta: &Exact,
) -> Result<ReleaseForecast> {
    let mut costs = PerScope::default();
    for scope in scopes {
        let epsilon = cost(planned, scope, delta)?;
        costs.insert(scope, ScopeCost { epsilon, delta: delta.to_f64(), rho: None, approximate_zcdp: None });
    }
    let spent = Odometer::of(&planned.plan.events, &Scope::Person)?;
    let everybody = |delta: &Exact| spent.epsilon(delta).map(|epsilon| epsilon.to_f64_up());
    let plan = &planned.plan;
    Ok(ReleaseForecast {
        name: planned.request.name.clone(),
        kind: planned.request.kind.clone(),
        costs,
        errors: plan.expected.clone(),
        limits: plan.limits.clone(),
        notes: without_epsilon(planned, scopes, delta)?.into_iter().chain(plan.notes.iter().cloned()).collect(),
        memory_bytes: plan.memory,
        attacker: answer(project, &plan.counted)?.map(|answer| answer.at_most(everybody).document()),
        estimates: plan.estimates.clone(),
        rule: plan.rule.clone(),
    })
}
