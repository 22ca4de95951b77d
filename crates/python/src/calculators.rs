//! What events cost, what noise a target needs, what attackers learn, what outputs prove: questions and answers as
//! JSON.

use crate::failure::Result;
use crate::work::computed;
use pyo3::prelude::*;
use scumble::Loss;
use scumble::loss::Answer;
use scumble::quantity::{Beta, Delta, Epsilon};
use scumble_adversary::attacker::assess;
use scumble_adversary::audit::one_run::OneRunAudit;
use scumble_adversary::audit::{Claim, Counts, Outputs, compare};
use scumble_wire::{
    Account, AccountQuestion, LocatedValue, PrivacyClaim, account_from_json, attacker_from_json, calibration_from_json,
    claim_at, event_from_json, event_to_json, parse, verdict_to_json,
};
use serde_json::{Value, json};

/// An event in its full form, or why it is none.
#[pyfunction]
pub fn event(document: &str) -> PyResult<String> {
    let read = || -> Result<String> { Ok(event_to_json(&event_from_json(&parse(document)?)?).to_string()) };
    Ok(read()?)
}

/// What events cost: the document of `scumble lab account`, and its answer.
#[pyfunction]
pub fn account(py: Python<'_>, document: String) -> PyResult<String> {
    computed(py, move || {
        let account = account_from_json(&parse(&document)?)?;
        let loss = Loss::of(&account.events, &account.scope)?;
        let answer = asked(&account, &loss)?;
        let mut shown = match account.ask {
            AccountQuestion::Epsilon(delta) => json!({
                "epsilon": value(answer.upper), "epsilon_lower": value(answer.lower), "delta": delta.get(), "delta_lower": delta.get(),
            }),
            AccountQuestion::Delta(epsilon) => json!({
                "delta": answer.upper, "delta_lower": answer.lower, "epsilon": epsilon.get(), "epsilon_lower": epsilon.get(),
            }),
        };
        shown["method"] = json!(answer.method.to_string());
        shown["direction"] = json!(answer.direction.to_string());
        Ok(shown.to_string())
    })
}

fn asked(account: &Account, loss: &Loss) -> Result<Answer> {
    Ok(match account.ask {
        AccountQuestion::Epsilon(delta) => loss.epsilon(delta),
        AccountQuestion::Delta(epsilon) => loss.delta(epsilon),
    })
}

/// δ at each ε, for the events of an account: pairs of upper and lower bounds.
#[pyfunction]
pub fn curve(py: Python<'_>, document: String, epsilons: Vec<f64>) -> PyResult<Vec<(f64, f64)>> {
    computed(py, move || {
        let account = account_from_json(&parse(&document)?)?;
        let loss = Loss::of(&account.events, &account.scope)?;
        let mut points = Vec::new();
        for epsilon in epsilons {
            let answer = loss.delta(Epsilon::new(epsilon)?);
            points.push((answer.upper, answer.lower));
        }
        Ok(points)
    })
}

/// The event completed so that it costs at most the target: the document of `scumble lab calibrate`, and its answer.
#[pyfunction]
pub fn calibrate(py: Python<'_>, document: String) -> PyResult<String> {
    computed(py, move || {
        let asked = calibration_from_json(&parse(&document)?)?;
        let event = scumble::calibrate::calibrate(&asked.event, asked.free, &asked.scope, asked.epsilon, asked.delta)?;
        let answer = Loss::of(std::slice::from_ref(&event), &asked.scope)?.epsilon(asked.delta);
        Ok(json!({
            "event": event_to_json(&event), "epsilon": value(answer.upper), "epsilon_lower": value(answer.lower),
            "delta": asked.delta.get(), "method": answer.method.to_string(), "direction": answer.direction.to_string(),
        })
        .to_string())
    })
}

/// A number of an answer; infinity is none in JSON.
fn value(number: f64) -> Value {
    if number.is_finite() { json!(number) } else { Value::Null }
}

/// What attackers with partial knowledge learn: the document of `scumble lab attacker`, and its verdict.
#[pyfunction]
pub fn attacker(py: Python<'_>, document: String) -> PyResult<String> {
    computed(py, move || {
        let question = attacker_from_json(&parse(&document)?)?;
        let verdict = assess(&question.scenario)?;
        Ok(verdict_to_json(&question, &verdict).to_string())
    })
}

fn claimed(document: &str) -> Result<Claim> {
    let document = parse(document)?;
    Ok(match claim_at(&LocatedValue::root(&document))? {
        PrivacyClaim::Gaussian(mu) => Claim::Gaussian { mu },
        PrivacyClaim::Approximate(epsilon, delta) => Claim::Approximate { epsilon, delta },
        PrivacyClaim::Events(events, scope) => Claim::of(&Loss::of(events, scope)?)?,
    })
}

/// What outputs on two neighbouring tables prove: one output on each line, as `scumble lab audit outputs` reads them.
#[pyfunction]
#[pyo3(signature = (table, neighbour, claim, delta, beta))]
pub fn audit_outputs(
    py: Python<'_>,
    table: String,
    neighbour: String,
    claim: Option<String>,
    delta: f64,
    beta: f64,
) -> PyResult<String> {
    computed(py, move || {
        let claim = claim.as_deref().map(claimed).transpose()?;
        let (table, neighbour) = (Outputs::read(&table)?, Outputs::read(&neighbour)?);
        let found = compare(&table, &neighbour, claim.as_ref(), Delta::new(delta)?, Beta::new(beta)?)?;
        let counts = &found.counts;
        Ok(json!({
            "epsilon_lower": found.epsilon_lower, "mu_lower": found.confidence.mu_lower(), "delta": delta, "beta": beta,
            "event": found.event.to_string(), "swapped": found.swapped,
            "hits": counts.hits(), "runs": counts.runs(),
            "neighbour_hits": counts.neighbour_hits(), "neighbour_runs": counts.neighbour_runs(),
            "p_low": found.confidence.p_low, "q_high": found.confidence.q_high,
            "allowed": found.verdict.map(|(allowed, _)| allowed), "refuted": found.verdict.map(|(_, refuted)| refuted),
        })
        .to_string())
    })
}

/// What counts of one event prove, which was fixed before the runs.
#[pyfunction]
#[pyo3(signature = (hits, runs, neighbour_hits, neighbour_runs, claim, delta, beta))]
pub fn audit_counts(
    hits: u64,
    runs: u64,
    neighbour_hits: u64,
    neighbour_runs: u64,
    claim: Option<&str>,
    delta: f64,
    beta: f64,
) -> PyResult<String> {
    let proven = || -> Result<String> {
        let seen = Counts::new(hits, runs, neighbour_hits, neighbour_runs)?.confidence(Beta::new(beta)?)?;
        let claim = claim.map(claimed).transpose()?;
        Ok(json!({
            "epsilon_lower": seen.epsilon_lower(Delta::new(delta)?), "mu_lower": seen.mu_lower(), "delta": delta, "beta": beta,
            "event": "the event that was counted", "swapped": false, "hits": hits, "runs": runs,
            "neighbour_hits": neighbour_hits, "neighbour_runs": neighbour_runs,
            "p_low": seen.p_low, "q_high": seen.q_high,
            "allowed": claim.as_ref().map(|claim| claim.allowed(seen.q_high)),
            "refuted": claim.as_ref().map(|claim| claim.is_refuted_by(&seen)),
        })
        .to_string())
    };
    Ok(proven()?)
}

/// What one run with canaries proves: how many of them were guessed, and how many of the guesses were right.
#[pyfunction]
pub fn audit_one_run(py: Python<'_>, canaries: u64, guesses: u64, right: u64, delta: f64, beta: f64) -> PyResult<f64> {
    computed(py, move || {
        Ok(OneRunAudit::new(canaries, guesses, right)?.epsilon_lower(Delta::new(delta)?, Beta::new(beta)?)?)
    })
}
