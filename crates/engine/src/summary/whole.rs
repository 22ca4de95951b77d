//! Releases that are counted as a whole for groups of owners, because their events do not say enough.
//!
//! - Unknown keys from before the word `new-keys`: the noise and, last, (0, δ), "a new key shows". That is an event of
//!   its own only for neighbours that differ by one owner; owners who share a new key show it e^ε times as likely, not
//!   twice. No release of today has such a list of events.
//! - Trees of heavy hitters with unknown values, for several attributes: what an event says of one attribute adds up
//!   for one owner only.

use crate::budget::Odometer;
use crate::error::Result;
use crate::kinds::registry;
use crate::ledger::Charge;
use crate::release::Grouping;
use scumble::event::{Event, Moves, Shift, Word};
use scumble::quantity::{Delta, Epsilon, Exact};
use scumble::scope::Scope;
use std::borrow::Cow;

/// How many times the events' own δ an (ε, δ) must have for them to be within their share of it.
const OWN_DELTAS: u32 = 4;

/// A release's events as they may be counted for groups of owners.
///
/// # Guarantee
/// A release that is counted as a whole is the (ε, δ) that it is for one owner, and the group's (kε,
/// δ·(e^{kε} − 1)/(e^ε − 1)) follows from that alone.
pub(super) fn for_groups<'a>(charge: &'a Charge, scope: &Scope) -> Result<Cow<'a, [Event]>> {
    let events = &charge.events;
    let moved = events.iter().filter(|event| !event.moves().shifts(scope).is_empty()).count();
    let is_tree = registry::find(&charge.kind).is_ok_and(|kind| kind.grouping == Grouping::OneTree)
        && events.iter().any(has_delta);
    if moved < 2 || !(is_tree || has_keys_of_their_own(events)) {
        return Ok(Cow::Borrowed(events));
    }
    let spent = Odometer::of(events, scope)?;
    let own = spent.delta().clone();
    // Pure noise needs no δ beside that of the keys; Gaussian noise gets what the rule keeps for it where the keys take
    // their share.
    let whole = (0..OWN_DELTAS).fold(Exact::zero(), |sum, _| sum + own.clone());
    let known = spent.pure_sum().map(|epsilon| (epsilon, own)).or_else(|| Some((spent.epsilon(&whole)?, whole)));
    let (epsilon, delta) = known.map_or((0.0, 1.0), |(epsilon, delta)| (epsilon.to_f64_up(), delta.to_f64_up()));
    let kind = Word::Approximate { epsilon: Epsilon::new(epsilon)?, delta: Delta::new(delta.min(1.0))? };
    Ok(Cow::Owned(vec![Event::new(kind, Moves::everywhere(Shift::one_cell(1.0)?))]))
}

/// Noise, and quantiles perhaps, and then (0, δ): what a query with unknown keys wrote.
fn has_keys_of_their_own(events: &[Event]) -> bool {
    let is_key = |event: &Event| {
        has_delta(event) && matches!(event.word(), Word::Approximate { epsilon, .. } if epsilon.get() == 0.0)
    };
    let is_query = |event: &Event| {
        matches!(event.word(), Word::DiscreteLaplace { .. } | Word::DiscreteGaussian { .. } | Word::Exponential { .. })
    };
    matches!(events, [others @ .., last] if !others.is_empty() && is_key(last) && others.iter().all(is_query))
}

fn has_delta(event: &Event) -> bool {
    matches!(event.word(), Word::Approximate { delta, .. } if delta.get() > 0.0)
}
