//! What a planned release tells before it is paid for, as JSON.

use crate::failure::Failure;
use scumble::quantity::Exact;
use scumble::scope::Scope;
use scumble_engine::attackers::answer;
use scumble_engine::budget::{Spent, one_attribute};
use scumble_engine::project::Project;
use scumble_engine::release::{Estimates, Expected, Floor, PlannedRelease, Runner};
use scumble_wire::event_to_json;
use serde_json::{Map, Value, json};

type Result<T> = std::result::Result<T, Failure>;

/// Costs in every scope, errors, limits, notes; whether it fits the budget; whether it is published already.
pub fn told(runner: &Runner<'_>, project: &Project, planned: &PlannedRelease, delta: Option<&str>) -> Result<Value> {
    let scopes = scopes(project)?;
    let delta = match delta {
        Some(text) => text.parse::<Exact>()?,
        None => usual_delta(project, planned, &scopes)?,
    };
    let (mut whole, mut attributes) = (Map::new(), Map::new());
    for scope in &scopes {
        let epsilon = Spent::of(&planned.plan.events, scope)?.epsilon(&delta).map(|epsilon| epsilon.to_f64_up());
        match scope {
            Scope::Attributes(set) => attributes.insert(set.iter().collect::<Vec<_>>().join(","), json!(epsilon)),
            scope => whole.insert(scope.to_string(), json!(epsilon)),
        };
    }
    whole.insert("attributes".to_string(), Value::Object(attributes));
    let before = runner.published_before(planned)?;
    // What is published already is kept, and costs nothing more.
    let refused = match if before.is_some() { Ok(()) } else { runner.admit([planned]) } {
        Ok(()) => None,
        Err(error @ scumble_engine::Error::Budget(_)) => Some(error.to_string()),
        Err(error) => return Err(error.into()),
    };
    let plan = &planned.plan;
    Ok(json!({
        "project": project.digest, "name": planned.request.name, "kind": planned.request.kind, "delta": delta.to_f64(), "costs": whole,
        "errors": plan.expected.iter().map(Expected::json).collect::<Vec<_>>(),
        "limits": plan.limits.iter().map(Floor::json).collect::<Vec<_>>(),
        "notes": plan.notes, "memory_bytes": plan.memory, "rule": plan.rule, "tables": plan.tables,
        "estimates": plan.estimates.as_ref().map(Estimates::json),
        "attacker": answer(project, &plan.counted)?.map(|answer| answer.json()),
        "events": plan.events.iter().map(event_to_json).collect::<Vec<_>>(),
        "published": before.map(|(sequence, time)| json!({ "sequence": sequence, "time": time })),
        "refused": refused,
    }))
}

fn scopes(project: &Project) -> Result<Vec<Scope>> {
    let mut scopes = vec![Scope::Presence, Scope::Person];
    for name in project.attributes() {
        scopes.push(one_attribute(&name)?);
    }
    Ok(scopes)
}

/// The budget's smallest δ (1e-9 without one), the release's own where that is larger, or the least at which it has an ε.
fn usual_delta(project: &Project, planned: &PlannedRelease, scopes: &[Scope]) -> Result<Exact> {
    let usual: Exact = project.budget.smallest_delta().map_or_else(|| "1e-9".parse(), Ok)?;
    let mut delta = planned.request.cost.delta.clone().map_or(usual.clone(), |own| own.max(usual));
    for scope in scopes {
        if let Some(least) = Spent::of(&planned.plan.events, scope)?.least_delta() {
            delta = delta.max(least);
        }
    }
    Ok(delta)
}
