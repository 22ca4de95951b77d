//! Queries that ask for keys and for nothing else (`SELECT DISTINCT k`): no number of owners is published, so that none
//! needs noise. Each key is published with the largest probability that its (ε, δ) allows, where that takes fewer
//! owners than a noisy number of them and a threshold.

use super::{AnalysedQuery, PricedQuery, QueryMechanism};
use crate::budget::Odometer;
use crate::error::Result;
use crate::project::{Cost, CostScope, Goal};
use crate::release::output::BETA;
use crate::release::plan::ExpectedError;
use crate::sql::analyse::sensitivity;
use crate::sql::{PrivateQuery, above};
use scumble::mechanism::stability::KeySelection;
use scumble::quantity::{Beta, Delta, Epsilon, Exact};
use scumble::{Scope, Target};
use serde_json::{Value, json};
use std::rc::Rc;

/// With which probability a key of this many owners is not published.
pub(crate) const MISSED: f64 = BETA;

/// With a smaller ε for each key its list of probabilities is long, and a threshold hardly worse.
const MOST_STEPS: f64 = 1e6;

/// The same query with optimal key selection; none where it asks for more than keys, where the keys are public, or
/// where a threshold does as well.
pub(crate) fn selected(query: &AnalysedQuery, noisy: &PricedQuery) -> Result<Option<PricedQuery>> {
    let asked = &query.cut.query;
    let only_keys = asked.aggregates.is_empty() && query.report.is_none();
    let (Some(delta), Some(owners), true) = (noisy.calibrated.key_delta, asked.owners(), only_keys) else {
        return Ok(None);
    };
    let Some(selection) = within(&noisy.cost, delta, sensitivity::keys_per_owner(asked))? else { return Ok(None) };
    let needed = selection.published_from(Beta::new(MISSED)?)?;
    if noisy.owners_needed.is_some_and(|by_threshold| by_threshold < needed) {
        return Ok(None);
    }
    let events = selection.events_moving(&query.moves[owners])?;
    let private = QueryMechanism { selection: Some(Rc::new(selection)), threshold: None, ..noisy.private.clone() };
    let (cost, calibrated) = (noisy.cost.clone(), noisy.calibrated.clone());
    let (owners_needed, portions, parts) = (Some(needed), Vec::new(), Vec::new());
    Ok(Some(PricedQuery { cost, calibrated, private, owners_needed, events, portions, parts }))
}

/// The selection that costs an owner of this many keys at most this ε and δ; none where the cost is no ε.
///
/// # Guarantee
/// A person is two owners, one leaving and one coming: each has half of ε, and the δ that makes the whole when taken
/// twice. In exact arithmetic the events cost no more than that in the cost's scope.
pub(crate) fn within(cost: &Cost, delta: f64, keys: u64) -> Result<Option<KeySelection>> {
    let (Goal::Epsilon(epsilon), Ok(keys)) = (&cost.target, u32::try_from(keys)) else { return Ok(None) };
    let (scope, share, own) = match cost.scope() {
        CostScope::Presence => (Scope::Presence, 1.0, delta),
        // 1 − √(1 − δ), rounded down by more than what is rounded up later.
        _ => (Scope::Person, 2.0, -((-delta).ln_1p() / 2.0).exp_m1() * (1.0 - 1e-11)),
    };
    let one = epsilon.to_f64_down() / share;
    let each = f64::from(keys);
    if one <= 0.0 || own <= 0.0 || 2.0 * (each / own).ln().max(1.0) * each / one > MOST_STEPS {
        return Ok(None);
    }
    let selection =
        KeySelection::within(Target::approximate(Epsilon::new(one)?, Delta::new(own)?), Scope::Presence, keys)?;
    let spent = Odometer::of(&selection.events()?, &scope)?;
    let fits = spent.pure_sum().is_some_and(|sum| sum <= *epsilon) && *spent.delta() <= Exact::from_f64(delta)?;
    Ok(fits.then_some(selection))
}

/// The note beside the answer.
pub(crate) fn note(selection: &KeySelection) -> Result<String> {
    Ok(format!(
        "Groups are not public: the more owners one has, the likelier it is shown, with probability 95% from {} owners on and surely from {} on.",
        selection.published_from(Beta::new(MISSED)?)?,
        selection.certain_from()
    ))
}

/// What to expect of the keys.
pub(crate) fn expected(cut: &PrivateQuery, private: &QueryMechanism) -> Result<Option<ExpectedError>> {
    let Some(selection) = &private.selection else { return Ok(None) };
    let names: Vec<String> = above::outputs(&cut.plan, &cut.aggregate)?.into_iter().map(|output| output.name).collect();
    Ok(Some(ExpectedError {
        column: names.join(", "),
        standard_error: None,
        margin: None,
        cells: Vec::new(),
        assumed: None,
        about: format!(
            "no number: a key is published with probability 95% if it has {} owners",
            selection.published_from(Beta::new(MISSED)?)?
        ),
    }))
}

/// For the ledger.
pub(crate) fn rule(selection: &KeySelection) -> Value {
    json!({ "keys_per_owner": selection.keys_per_owner(), "certain_from": selection.certain_from(),
            "by_owners": (0..=8).map(|owners| selection.probability(owners)).collect::<Vec<f64>>() })
}
