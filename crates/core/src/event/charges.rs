//! One mechanism that is charged in each scope by a word of its own.

use super::{Event, Moves, Shift, Touch, Word};
use crate::error::Result;
use crate::quantity::{Delta, Epsilon};
use crate::scope::AttributeSet;

/// A word and the ways to move in one scope.
pub type Charge = (Word, Vec<Shift>);

/// The events of one mechanism whose cost is known for presence, for a person and for each of some sets of attributes,
/// and not as one noise with moves: one event for each, in this order. A change of several of the sets is charged all
/// of them.
///
/// # Guarantee
/// Refused unless a person is charged at least what presence is: who replaces an owner may have no rows here.
///
/// ```
/// use scumble::event::{Word, Shift, charged_by_scope};
/// use scumble::quantity::Rho;
/// let one = vec![Shift::one_cell(1.0)?];
/// let zcdp = |rho: f64| Rho::new(rho).map(|rho| (Word::Zcdp { rho }, one.clone()));
/// assert_eq!(charged_by_scope(zcdp(0.1)?, zcdp(0.2)?, vec![])?.len(), 2);
/// assert!(charged_by_scope(zcdp(0.2)?, zcdp(0.1)?, vec![]).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn charged_by_scope(
    presence: Charge,
    person: Charge,
    attributes: Vec<(AttributeSet, Charge)>,
) -> Result<Vec<Event>> {
    let moved = |shift: &&Shift| !shift.is_nothing();
    let covered = |shift: &Shift| person.1.iter().any(|own| own.covers(shift));
    if !(is_at_least(&person.0, &presence.0) && presence.1.iter().filter(moved).all(covered)) {
        refuse!("a person must be charged at least as much as its presence");
    }
    let none = Vec::new;
    let mut events = vec![
        Event::new(presence.0, Moves::as_written(presence.1, none(), Vec::new())),
        Event::new(person.0, Moves::as_written(none(), person.1, Vec::new())),
    ];
    for (attributes, (word, shifts)) in attributes {
        events.push(Event::new(word, Moves::as_written(none(), none(), vec![Touch { attributes, shifts }])));
    }
    Ok(events)
}

/// The events of a mechanism in which everybody sees who takes part, such as reports of owners that come one by one:
/// nothing is promised about presence, nor about a person, who may be replaced by one who takes no part. What is
/// protected is a change of the `attributes`, which costs `word` moved by `shift`.
///
/// δ = 1 says that nothing is promised, in a form that ledgers add up.
///
/// ```
/// use scumble::event::{Shift, Word, charged_where_seen};
/// use scumble::quantity::{Epsilon, delta};
/// use scumble::{AttributeSet, Loss, Scope};
/// let word = Word::Pure { epsilon: Epsilon::new(1.0)? };
/// let smokes = AttributeSet::new(["smokes"])?;
/// let events = charged_where_seen(word, Shift::one_cell(1.0)?, &smokes)?;
/// let epsilon = |scope: Scope| Loss::of(&events, scope).map(|loss| loss.epsilon(delta(0.0).unwrap()).upper);
/// assert_eq!((epsilon(Scope::Presence)?, epsilon(Scope::Person)?), (f64::INFINITY, f64::INFINITY));
/// assert!((epsilon(Scope::Attributes(smokes))? - 1.0).abs() < 1e-9);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn charged_where_seen(word: Word, shift: Shift, attributes: &AttributeSet) -> Result<Vec<Event>> {
    let one = || Shift::one_cell(1.0).map(|shift| vec![shift]);
    let touch = Touch { attributes: attributes.clone(), shifts: vec![shift] };
    Ok(vec![
        Event::approximate(Epsilon::new(0.0)?, Delta::new(1.0)?).moving(Moves::by_scope(one()?, one()?, Vec::new())),
        Event::new(word, Moves::as_written(Vec::new(), Vec::new(), vec![touch])),
    ])
}

/// Whether `one` costs at least what `other` does, as far as their parameters show it.
fn is_at_least(one: &Word, other: &Word) -> bool {
    let bound = |word: &Word| match word {
        Word::Pure { epsilon } => Some((epsilon.get(), 0.0)),
        Word::Approximate { epsilon, delta } => Some((epsilon.get(), delta.get())),
        _ => None,
    };
    match (one, other) {
        (Word::Zcdp { rho }, Word::Zcdp { rho: less }) => rho >= less,
        _ => match (bound(one), bound(other)) {
            (Some(one), Some(other)) => one.0 >= other.0 && one.1 >= other.1,
            _ => one == other,
        },
    }
}
