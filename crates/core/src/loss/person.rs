//! That a person costs no less than its presence: who replaces an owner may take no part.
//!
//! An event with moves by scope cannot break that ([`crate::event::Moves::by_scope`]). Where events say side by side
//! what a mechanism costs in each scope, sums take the worse of both ([`super::filter::Odometer::add_all`]), and code
//! that receives such events calls [`check`].

use super::{Loss, TOLERANCE};
use crate::error::Result;
use crate::event::Event;
use crate::quantity::Delta;
use crate::scope::Scope;

/// At these δ both costs are compared.
const DELTAS: [f64; 4] = [0.0, 1e-9, 1e-6, 1e-3];

/// Refuses events that cost a person less than its presence.
///
/// ```
/// use scumble::quantity::epsilon;
/// use scumble::event::{Event, Moves, Shift};
/// use scumble::loss::person;
/// let one = || Shift::one_cell(1.0).map(|shift| vec![shift]);
/// let presence = Event::pure(epsilon(1.0)?).moving(Moves::as_written(one()?, vec![], vec![]));
/// let person = |most: f64| -> scumble::Result<Event> { Ok(Event::pure(epsilon(most)?).moving(Moves::as_written(vec![], one()?, vec![]))) };
/// assert!(person::check(&[presence.clone(), person(2.0)?]).is_ok());
/// assert!(person::check(&[presence.clone(), person(0.5)?]).is_err());
/// assert!(person::check(&[presence]).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn check(events: &[Event]) -> Result<()> {
    // An event in which presence moves and a person covers it is no less for a person; the others must be compared.
    let is_covered = |event: &Event| {
        !event.moves().leaves_presence_to_others() && !event.moves().shifts(&Scope::Presence).is_empty()
    };
    let apart: Vec<Event> = events.iter().filter(|event| !is_covered(event)).cloned().collect();
    if !apart.iter().any(|event| event.moves().leaves_presence_to_others()) {
        return Ok(());
    }
    let (person, presence) = (Loss::of(&apart, Scope::Person)?, Loss::of(&apart, Scope::Presence)?);
    for delta in DELTAS {
        let delta = Delta::new(delta)?;
        let [person, presence] = [&person, &presence].map(|loss| loss.epsilon(delta).upper);
        if person < presence * (1.0 - 10.0 * TOLERANCE) {
            refuse!(
                "person must cost at least as much as presence: a new owner may have no rows, so write that move as \
                    person too"
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
