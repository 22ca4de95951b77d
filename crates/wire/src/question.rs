//! The documents of `scumble lab account` and `scumble lab calibrate`.

use crate::event::{event_at, event_with, events_at, missing_parameters};
use crate::place::LocatedValue;
use crate::place::WireResult;
use scumble::calibrate::FreeParameter;
use scumble::event::Event;
use scumble::quantity::{Delta, Epsilon};
use scumble::scope::{AttributeSet, Scope};
use serde_json::Value;

/// The number to compute from the events.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AccountQuestion {
    /// ε at this δ.
    Epsilon(Delta),
    /// δ at this ε.
    Delta(Epsilon),
}

/// Events and a question about them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Account {
    /// What was done.
    pub events: Vec<Event>,
    /// Who is protected: presence for add-remove neighbours, a person for replace.
    pub scope: Scope,
    /// The number to compute.
    pub ask: AccountQuestion,
}

/// An event with one parameter missing, and a target.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// The event, with any value in place of what is missing.
    pub event: Event,
    /// What is missing.
    pub free: FreeParameter,
    /// Who is protected.
    pub scope: Scope,
    /// The target ε.
    pub epsilon: Epsilon,
    /// The target δ.
    pub delta: Delta,
}

fn scope(place: &LocatedValue<'_>) -> WireResult<Scope> {
    let scope = match (place.get("neighbours")?, place.get("attributes")?) {
        (Some(_), Some(field)) => return Err(field.refuse("neighbours are given already: ask for one of the two")),
        (None, Some(field)) => {
            let names: Vec<&str> = field.list()?.iter().map(LocatedValue::text).collect::<WireResult<_>>()?;
            Scope::Attributes(field.core(AttributeSet::new(names))?)
        }
        (None, None) => Scope::Presence,
        (Some(field), None) => match field.text()? {
            "add-remove" => Scope::Presence,
            "replace" => Scope::Person,
            other => {
                let message = format!("unknown neighbours {other:?}; expected add-remove or replace");
                return Err(field.refuse(message));
            }
        },
    };
    match place.get("group")? {
        None => Ok(scope),
        Some(field) => {
            let size = u32::try_from(field.whole()?).ok().and_then(std::num::NonZeroU32::new);
            Ok(scope.group(size.ok_or_else(|| field.refuse("a group has between 1 and 4294967295 owners"))?))
        }
    }
}

/// What a ledger has is read as it is; who asks hears if the moves do not agree.
fn agree(event: &Event, at: &LocatedValue<'_>) -> WireResult<()> {
    match at.get("moves")? {
        Some(moves) => moves.core(event.moves().check()),
        None => Ok(()),
    }
}

/// The document of `scumble lab account`.
///
/// ```
/// let document = scumble_wire::parse(r#"{"events": [{"mechanism": "pure", "epsilon": 0.1}], "delta": 1e-5}"#)?;
/// assert_eq!(scumble_wire::account_from_json(&document)?.events.len(), 1);
/// # Ok::<(), scumble_wire::WireError>(())
/// ```
pub fn account_from_json(document: &Value) -> WireResult<Account> {
    let place = LocatedValue::root(document);
    place.only(&["events", "delta", "epsilon", "neighbours", "attributes", "group"])?;
    let ask = match (place.get("delta")?, place.get("epsilon")?) {
        (Some(delta), None) => AccountQuestion::Epsilon(delta.quantity(Delta::new)?),
        (None, Some(epsilon)) => AccountQuestion::Delta(epsilon.quantity(Epsilon::new)?),
        (None, None) => return Err(place.refuse("give delta to ask for epsilon, or epsilon to ask for delta")),
        (Some(_), Some(epsilon)) => return Err(epsilon.refuse("delta is given already: ask for one of the two")),
    };
    let scope = scope(&place)?;
    Ok(Account { events: some_events(&place.field("events")?, &scope)?, scope, ask })
}

fn some_events(place: &LocatedValue<'_>, scope: &Scope) -> WireResult<Vec<Event>> {
    let events = events_at(place)?;
    for (event, at) in events.iter().zip(place.list()?) {
        agree(event, &at)?;
    }
    if events.is_empty() {
        return Err(place.refuse("give at least one event"));
    }
    covered(&events, scope, place)?;
    Ok(events)
}

/// What somebody claims of a mechanism.
// Exhaustive on purpose: a match in another crate must decide about every variant, so a new one may not pass unseen.
#[derive(Debug, Clone, PartialEq)]
pub enum PrivacyClaim {
    /// That its outputs cost what these events do, in this scope.
    Events(Vec<Event>, Scope),
    /// That it adds Gaussian noise with this ratio of sensitivity and σ.
    Gaussian(f64),
    /// (ε, δ).
    Approximate(Epsilon, Delta),
}

/// A claim: a list of events, an object with events (and neighbours, attributes, group as in an account), with
/// gaussian_mu, or with epsilon and delta.
///
/// ```
/// use scumble_wire::{PrivacyClaim, LocatedValue, claim_at, parse};
/// let document = parse(r#"{"gaussian_mu": 0.25}"#)?;
/// assert_eq!(claim_at(&LocatedValue::root(&document))?, PrivacyClaim::Gaussian(0.25));
/// # Ok::<(), scumble_wire::WireError>(())
/// ```
pub fn claim_at(place: &LocatedValue<'_>) -> WireResult<PrivacyClaim> {
    if place.value().is_array() {
        return Ok(PrivacyClaim::Events(some_events(place, &Scope::Presence)?, Scope::Presence));
    }
    if let Some(events) = place.get("events")? {
        place.only(&["events", "neighbours", "attributes", "group"])?;
        let scope = scope(place)?;
        return Ok(PrivacyClaim::Events(some_events(&events, &scope)?, scope));
    }
    if let Some(mu) = place.get("gaussian_mu")? {
        place.only(&["gaussian_mu"])?;
        let value = mu.number()?;
        let is_ratio = value.is_finite() && value >= 0.0;
        return if is_ratio {
            Ok(PrivacyClaim::Gaussian(value))
        } else {
            Err(mu.refuse("gaussian_mu must be at least 0"))
        };
    }
    place.only(&["epsilon", "delta"])?;
    let delta = match place.get("delta")? {
        Some(field) => field.quantity(Delta::new)?,
        None => place.core(Delta::new(0.0))?,
    };
    Ok(PrivacyClaim::Approximate(place.field("epsilon")?.quantity(Epsilon::new)?, delta))
}

/// A ledger may have the moves of each scope in events of their own, side by side. A list in which a person moves
/// nothing though somebody's presence or attributes do has lost one of them: an answer of 0 would be false. So would be
/// one for a person that is below that for presence.
fn covered(events: &[Event], scope: &Scope, at: &LocatedValue<'_>) -> WireResult<()> {
    let moves = |scope: &Scope| events.iter().any(|event| !event.moves().shifts(scope).is_empty());
    let touched = || events.iter().any(|event| !event.moves().parts().2.is_empty());
    match scope.members().0 {
        Scope::Person if !moves(&Scope::Person) && (moves(&Scope::Presence) || touched()) => Err(at.refuse(
            "presence or attributes move something, and person does not: a new owner may have other values or no \
                rows, so write that move as person too",
        )),
        Scope::Person => at.core(scumble::loss::person::check(events)),
        _ => Ok(()),
    }
}

/// The document of `scumble lab calibrate`: one event with one parameter missing, and a full target.
///
/// `"free": "times"` asks for the most repetitions, `"free": "rate"` (or a sampling without a rate) for the largest
/// sample.
pub fn calibration_from_json(document: &Value) -> WireResult<Calibration> {
    let place = LocatedValue::root(document);
    place.only(&["events", "delta", "epsilon", "neighbours", "attributes", "group", "free"])?;
    let events = place.field("events")?;
    let [event] = &events.list()?[..] else {
        return Err(events.refuse("calibration takes exactly one event"));
    };
    let (read, free) = free_event(&place, event)?;
    agree(&read, event)?;
    Ok(Calibration {
        event: read,
        free,
        scope: scope(&place)?,
        epsilon: place.field("epsilon")?.quantity(Epsilon::new)?,
        delta: place.field("delta")?.quantity(Delta::new)?,
    })
}

fn free_event(place: &LocatedValue<'_>, event: &LocatedValue<'_>) -> WireResult<(Event, FreeParameter)> {
    let missing = missing_parameters(event)?;
    let rate_missing = match event.get("sampling")? {
        Some(sampling) => sampling.get("rate")?.is_none(),
        None => false,
    };
    let asked_times = match place.get("free")? {
        None => false,
        Some(field) => match field.text()? {
            "times" => true,
            "rate" | "noise" => false,
            other => return Err(field.refuse(format!("{other:?} cannot be free; expected noise, rate or times"))),
        },
    };
    match (&missing[..], rate_missing, asked_times) {
        ([], false, true) => Ok((event_at(event)?, FreeParameter::Times)),
        ([], true, false) => Ok((event_with(event, Some(("rate", 0.5)))?, FreeParameter::Rate)),
        ([parameter], false, false) if ["sigma", "scale", "epsilon", "rho"].contains(parameter) => {
            Ok((event_with(event, Some((parameter, 1.0)))?, FreeParameter::Noise))
        }
        ([], false, false) => Err(event.refuse(
            "nothing is missing: leave out sigma, scale, epsilon, rho or the sampling rate, or set free to times",
        )),
        ([parameter], false, false) => Err(event.field(parameter).err().unwrap_or_else(|| event.refuse("missing"))),
        _ => Err(event.refuse("only one parameter may be missing")),
    }
}
