//! `scumble lab audit one-run`.

use super::{AuditError, confidence, line, optional, verdict};
use scumble::quantity::{Beta, Delta, Epsilon, rounded_down};
use scumble_adversary::audit::one_run::OneRunAudit;
use scumble_engine::release::BETA;
use scumble_wire::LocatedValue;
use serde_json::json;

/// The answer to a document with canaries, guesses, right, delta, beta and perhaps the claimed epsilon; and whether
/// that is refuted.
pub fn answer(place: &LocatedValue<'_>, as_json: bool) -> Result<(String, bool), AuditError> {
    place.only(&["canaries", "guesses", "right", "delta", "beta", "epsilon"])?;
    let count = |name: &str| place.field(name)?.whole();
    let run = OneRunAudit::new(count("canaries")?, count("guesses")?, count("right")?)?;
    let delta = Delta::new(optional(place, "delta", 0.0)?)?;
    let beta = Beta::new(optional(place, "beta", BETA)?)?;
    let claimed = place.get("epsilon")?.map(|field| field.quantity(Epsilon::new)).transpose()?;
    let epsilon = run.epsilon_lower(delta, beta)?;
    let refuted = claimed.map(|claimed| run.p_value(claimed, delta).upper <= beta.get());
    let text = if as_json {
        line(&json!({
            "epsilon_lower": epsilon, "p_value_at_half": run.p_value(Epsilon::new(0.5)?, delta).upper,
            "p_value": claimed.map(|claimed| run.p_value(claimed, delta).upper),
            "delta": delta.get(), "beta": beta.get(), "refuted": refuted.unwrap_or(false),
        }))
    } else {
        let confidence = confidence(beta.get());
        let words = verdict(refuted, confidence);
        format!("{words}\nε ≥ {} at δ = {delta}, with confidence {confidence}\n", rounded_down(epsilon, 7))
    };
    Ok((text, refuted == Some(true)))
}
