//! What stands in a release's Parquet file beside its columns.

use crate::ledger::Pass;
use crate::project::Request;
use crate::release::CostAbout;
use serde_json::Value;

/// The release, the entry and the head of the ledger that let its numbers be seen, and its cost as it was declared.
pub(crate) fn metadata(request: &Request, pass: &Pass) -> Vec<(String, String)> {
    let entry = pass.sequence().to_string();
    let known = [("release", request.name.clone()), ("ledger_entry", entry), ("ledger_head", pass.head().hex())];
    let known = known.into_iter().map(|(key, value)| (format!("scumble.{key}"), value));
    known.chain(cost(request)).collect()
}

/// The parts of a cost; none of a kind that takes no cost, which is not one of 0.
fn cost(request: &Request) -> Vec<(String, String)> {
    let has_cost = request.definition().is_ok_and(|kind| kind.cost_about != CostAbout::Nobody);
    let Value::Object(parts) = request.cost.json() else { return Vec::new() };
    let said = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    parts.into_iter().filter(|_| has_cost).map(|(key, value)| (format!("scumble.{key}"), said(value))).collect()
}
