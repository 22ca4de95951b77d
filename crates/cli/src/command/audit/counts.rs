//! `scumble lab audit counts`.

use super::{AuditError, claim, confidence, line, optional, verdict};
use scumble::quantity::{Beta, Delta, rounded_down, rounded_up};
use scumble_adversary::audit::Counts;
use scumble_engine::release::BETA;
use scumble_wire::LocatedValue;
use serde_json::json;

/// The answer to a document with hits, runs, neighbour_hits, neighbour_runs, delta, beta and perhaps a claim; and
/// whether it is refuted.
pub fn answer(place: &LocatedValue<'_>, as_json: bool) -> Result<(String, bool), AuditError> {
    place.only(&["hits", "runs", "neighbour_hits", "neighbour_runs", "delta", "beta", "claim"])?;
    let count = |name: &str| place.field(name)?.whole();
    let counts = Counts::new(count("hits")?, count("runs")?, count("neighbour_hits")?, count("neighbour_runs")?)?;
    let delta = Delta::new(optional(place, "delta", 0.0)?)?;
    let beta = Beta::new(optional(place, "beta", BETA)?)?;
    let seen = counts.confidence(beta)?;
    let claim = place.get("claim")?.map(|place| claim(&place)).transpose()?;
    let allowed = claim.as_ref().map(|claim| claim.allowed(seen.q_high));
    let refuted = claim.as_ref().map(|claim| claim.is_refuted_by(&seen));
    let (epsilon, mu) = (seen.epsilon_lower(delta), seen.mu_lower());
    let text = if as_json {
        line(&json!({
            "p_low": seen.p_low, "q_high": seen.q_high, "epsilon_lower": epsilon, "mu_lower": mu,
            "delta": delta.get(), "beta": beta.get(), "allowed": allowed, "refuted": refuted.unwrap_or(false),
        }))
    } else {
        let (low, high) = (rounded_down(seen.p_low, 7), rounded_up(seen.q_high, 7));
        let claimed = allowed.map_or_else(String::new, |allowed| {
            format!("the claim allows the event a probability of at most {}\n", rounded_up(allowed, 7))
        });
        format!(
            "{}\nε ≥ {} at δ = {delta}, with confidence {}\n  the event has probability at least {low} on the table and at most {high} on its neighbour\n{claimed}",
            verdict(refuted, confidence(beta.get())),
            rounded_down(epsilon, 7),
            confidence(beta.get()),
        )
    };
    Ok((text, refuted == Some(true)))
}
