//! What a planned release tells before it is paid for, as JSON.

use crate::failure::Result;
use scumble::quantity::Exact;
use scumble::scope::Scope;
use scumble_engine::attackers::{FindingDocument, answer};
use scumble_engine::budget::{Odometer, one_attribute};
use scumble_engine::project::Project;
use scumble_engine::release::{Estimates, ExpectedError, Floor, PlannedRelease, Runner};
use scumble_engine::summary::PerScope;
use scumble_wire::event_to_json;
use serde::Serialize;
use serde_json::Value;

/// Costs in every scope, errors, limits, notes; whether it fits the budget; whether it is published already.
#[derive(Serialize)]
pub struct PlanShown {
    /// The digest of the project that it was planned in.
    project: String,
    name: String,
    kind: String,
    /// The δ at which the costs are shown.
    delta: f64,
    /// ε in each scope; none where there is none.
    costs: PerScope<Option<f64>>,
    errors: Vec<ExpectedError>,
    limits: Vec<Floor>,
    notes: Vec<String>,
    memory_bytes: u64,
    rule: Value,
    tables: Vec<String>,
    estimates: Option<Estimates>,
    attacker: Option<FindingDocument>,
    events: Vec<Value>,
    published: Option<PriorPublication>,
    /// Why the budget refuses it.
    refused: Option<String>,
}

/// The entry of what was published before with the same declaration.
#[derive(Serialize)]
struct PriorPublication {
    sequence: u64,
    time: String,
}

/// All that is known of a planned release.
pub fn told(
    runner: &Runner<'_>,
    project: &Project,
    planned: &PlannedRelease,
    delta: Option<&str>,
) -> Result<PlanShown> {
    let scopes = scopes(project)?;
    let delta = match delta {
        Some(text) => text.parse::<Exact>()?,
        None => usual_delta(project, planned, &scopes)?,
    };
    let mut costs = PerScope::default();
    for scope in &scopes {
        let epsilon = Odometer::of(&planned.plan.events, scope)?.epsilon(&delta);
        costs.insert(scope, epsilon.map(|epsilon| epsilon.to_f64_up()));
    }
    let before = runner.published_before(planned)?;
    // What is published already is kept, and costs nothing more.
    let refused = match if before.is_some() { Ok(()) } else { runner.admit([planned]) } {
        Ok(()) => None,
        Err(error) if error.kind() == scumble_engine::ErrorKind::Budget => Some(error.to_string()),
        Err(error) => return Err(error.into()),
    };
    let plan = &planned.plan;
    Ok(PlanShown {
        project: project.digest.clone(),
        name: planned.request.name.clone(),
        kind: planned.request.kind.clone(),
        delta: delta.to_f64(),
        costs,
        errors: plan.expected.clone(),
        limits: plan.limits.clone(),
        notes: plan.notes.clone(),
        memory_bytes: plan.memory,
        rule: plan.rule.clone(),
        tables: plan.tables.clone(),
        estimates: plan.estimates.clone(),
        attacker: answer(project, &plan.counted)?.map(|answer| answer.document()),
        events: plan.events.iter().map(event_to_json).collect(),
        published: before.map(|(sequence, time)| PriorPublication { sequence, time }),
        refused,
    })
}

fn scopes(project: &Project) -> Result<Vec<Scope>> {
    let mut scopes = vec![Scope::Presence, Scope::Person];
    for name in project.attributes() {
        scopes.push(one_attribute(&name)?);
    }
    Ok(scopes)
}

/// The budget's smallest δ (1e-9 without one), the release's own where that is larger, or the least at which it has an
/// ε.
fn usual_delta(project: &Project, planned: &PlannedRelease, scopes: &[Scope]) -> Result<Exact> {
    let usual: Exact = project.budget.smallest_delta().map_or_else(|| "1e-9".parse(), Ok)?;
    let mut delta = planned.request.cost.delta.clone().map_or(usual.clone(), |own| own.max(usual));
    for scope in scopes {
        if let Some(least) = Odometer::of(&planned.plan.events, scope)?.least_delta() {
            delta = delta.max(least);
        }
    }
    Ok(delta)
}
