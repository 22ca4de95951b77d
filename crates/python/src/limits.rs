//! What nobody can beat: the documents of `scumble lab limits`.

use crate::failure::Failure;
use crate::work::computed;
use pyo3::prelude::*;
use scumble::quantity::{Delta, Epsilon, Probability, Rho};
use scumble_adversary::limits::singular::{Matrix, best, whole};
use scumble_adversary::limits::{count, fingerprinting, information, neighbours, packing};
use scumble_engine::release::BETA;
use scumble_wire::WireResult;
use scumble_wire::{LocatedValue, parse};
use serde_json::{Value, json};

/// A limit by its name, of a question: its numbers.
#[pyfunction]
pub fn limit(py: Python<'_>, name: String, document: String) -> PyResult<String> {
    computed(py, move || {
        let document = parse(&document)?;
        let place = LocatedValue::root(&document);
        let limit = match name.as_str() {
            "neighbours" => in_neighbours(&place),
            "packing" => in_packing(&place),
            "information" => in_information(&place),
            "fingerprinting" => in_fingerprinting(&place),
            "count" => in_count(&place),
            "singular" => in_singular(&place),
            other => return Err(Failure::input(format!("unknown limit '{other}'"))),
        };
        Ok(limit?.to_string())
    })
}

fn guarantee(place: &LocatedValue<'_>) -> WireResult<(Epsilon, Delta)> {
    let delta = place.get("delta")?.map_or(place.core(Delta::new(0.0)), |field| field.quantity(Delta::new))?;
    Ok((place.field("epsilon")?.quantity(Epsilon::new)?, delta))
}

fn in_neighbours(place: &LocatedValue<'_>) -> WireResult<Value> {
    place.only(&["epsilon", "delta"])?;
    let (epsilon, delta) = guarantee(place)?;
    Ok(json!({ "success_at_most": neighbours::success_at_most(epsilon, delta) }))
}

fn in_packing(place: &LocatedValue<'_>) -> WireResult<Value> {
    place.only(&["epsilon", "delta", "universe", "success"])?;
    let (epsilon, delta) = guarantee(place)?;
    let universe = place.field("universe")?.number()?;
    let success = place.field("success")?.quantity(Probability::new)?;
    let changes = place.core(packing::least_changes(epsilon, delta, universe, success))?;
    Ok(
        json!({ "changes": changes, "count_error_at_least": changes.map(|changes| changes.saturating_sub(1) as f64 / 2.0) }),
    )
}

fn in_information(place: &LocatedValue<'_>) -> WireResult<Value> {
    place.only(&["epsilon", "rows"])?;
    let epsilon = place.field("epsilon")?.quantity(Epsilon::new)?;
    let mut shown = json!({ "nats_per_row": information::nats_per_row(epsilon) });
    if let Some(rows) = place.get("rows")? {
        shown["nats_for_any_prior"] = json!(rows.core(information::nats_for_any_prior(epsilon, rows.whole()?))?);
    }
    Ok(shown)
}

fn in_fingerprinting(place: &LocatedValue<'_>) -> WireResult<Value> {
    place.only(&["attributes", "epsilon", "delta", "rms_error"])?;
    let (epsilon, delta) = guarantee(place)?;
    let (attributes, error) = (place.field("attributes")?.whole()?, place.field("rms_error")?.number()?);
    let people = place.core(fingerprinting::people_lower(attributes, epsilon, delta, error))?;
    Ok(json!({ "people_at_least": people.at_least() }))
}

fn in_count(place: &LocatedValue<'_>) -> WireResult<Value> {
    place.only(&["epsilon", "delta", "rho"])?;
    let error = match place.get("rho")? {
        Some(rho) => count::concentrated_standard_error_lower(rho.quantity(Rho::new)?),
        None => {
            let (epsilon, delta) = guarantee(place)?;
            count::standard_error_lower(epsilon, delta)
        }
    };
    Ok(json!({ "standard_error_at_least": error }))
}

fn in_singular(place: &LocatedValue<'_>) -> WireResult<Value> {
    place.only(&["queries", "epsilon", "delta", "beta"])?;
    let (epsilon, delta) = guarantee(place)?;
    let mut rows = Vec::new();
    for row in place.field("queries")?.list()? {
        let entry = |value: LocatedValue<'_>| match value.value().as_i64() {
            Some(entry @ -1..=1) => Ok(entry as i8),
            _ => Err(value.refuse("-1, 0 or 1 is expected")),
        };
        rows.push(row.list()?.into_iter().map(entry).collect::<WireResult<Vec<i8>>>()?);
    }
    let queries = place.core(Matrix::new(rows))?;
    let usual = || place.core(Probability::new(BETA));
    let beta = place.get("beta")?.map_or_else(usual, |field| field.quantity(Probability::new))?;
    let all = place.core(whole(&queries, epsilon, delta, beta))?;
    let some = place.core(best(&queries, epsilon, delta, beta))?;
    Ok(json!({
        "count_error_at_least": all.count_error_at_least.max(some.count_error_at_least),
        "least_singular_value": all.least_singular_value, "columns": some.columns,
    }))
}
