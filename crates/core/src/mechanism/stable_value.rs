//! An exact value, if the data is far from any with another one; otherwise nothing.
//!
//! d(x) ≥ 1 is the number of owners that must change until the value changes. The value is published exactly with
//! probability π(d), π(1) = δ, the sequence of [`KeySelection`], the best that any (ε, δ) mechanism can do; it costs
//! (ε, δ), *even if nothing is published*. \[TS13\] and the survey have noise on d and a threshold, with twice the δ
//! that it needs.
//!
//! The mode: the most common key, ties to the smaller one. Its distances are exact (the survey's ⌈gap/2⌉ is too small
//! where the rival loses ties). In a public domain every key is a rival; otherwise a key that does not occur is one
//! too, with count 0, and is taken to win ties. With d for replaced owners, owners that come and go are hidden as well:
//! one moves it by at most 1, and it is 1 wherever one changes the mode.
//!
//! Several values, where one owner moves at most g of them: each is published by itself with (ε/g, 1−(1−δ)^{1/g}),
//! which is (ε, δ) together.

use super::smooth::OwnerSteps;
use super::stability::KeySelection;
use crate::calibrate::Target;
use crate::error::Result;
use crate::event::{Event, Moves, Word};
use crate::noise::BitSource;
use crate::quantity::{Beta, Delta, Epsilon};
use crate::scope::Scope;
use std::borrow::Borrow;

/// A value that is published exactly or not at all.
///
/// ```
/// use scumble::quantity::{delta, epsilon};
/// use scumble::mechanism::smooth::OwnerSteps;
/// use scumble::mechanism::stable_value::{KeyDomain, StableValue, mode};
/// use scumble::noise::InsecureSeededSource;
/// use scumble::{Scope, Target};
/// let target = Target::approximate(epsilon(1.0)?, delta(1e-6)?);
/// let stable = StableValue::within(target, Scope::Person, &OwnerSteps::one())?;
/// let found = mode(&[812, 75, 310], KeyDomain::Public).unwrap();
/// let published = stable.release(found.key, found.person, &mut InsecureSeededSource::new(1))?;
/// assert_eq!(published, Some(0));
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct StableValue {
    epsilon: Epsilon,
    delta: Delta,
    test: KeySelection,
}

impl StableValue {
    /// One value, from an (ε, δ) in `scope`; an owner is so many steps between neighbours.
    ///
    /// # Guarantee
    /// [`StableValue::events`] of the same steps cost at most (ε, δ) in `scope`.
    pub fn within(target: Target, scope: impl Borrow<Scope>, steps: &OwnerSteps) -> Result<Self> {
        Self::shared(steps.target_of_one(target, scope.borrow())?, 1)
    }

    /// Several values, from an (ε, δ) in `scope` for all of them together; `moves` say of how many values neighbours
    /// move the distance.
    ///
    /// # Guarantee
    /// [`StableValue::events_moving`] of the same moves cost at most (ε, δ) in `scope`.
    pub fn within_several(target: Target, scope: impl Borrow<Scope>, moves: &Moves) -> Result<Self> {
        let scope = scope.borrow();
        refuse_if!(scope.members().1 > 1, "several stable values are calibrated for one owner, not for {scope}");
        let values = moves.shifts(scope).iter().map(|shift| shift.cells).fold(1, u64::max);
        Self::shared(target, values)
    }

    /// (ε, δ) for this many values together.
    fn shared(target: Target, values: u64) -> Result<Self> {
        let (epsilon, delta) = target.with_delta("a value that is published exactly")?;
        Ok(Self { epsilon, delta, test: KeySelection::shared(epsilon, delta, 1, values)? })
    }

    /// With which probability a value at this distance is published.
    pub fn probability(&self, distance: u64) -> f64 {
        self.test.probability(distance)
    }

    /// The value, or nothing.
    ///
    /// # Guarantee
    /// If `distance` is at most how many steps between neighbours it takes to another value, is 0 where there is no
    /// value, and moves by at most 1 with each step, [`StableValue::events`] says what is lost, whatever comes out; of
    /// several values, [`StableValue::events_moving`].
    pub fn release<Value, S: BitSource + ?Sized>(
        &self,
        value: Value,
        distance: u64,
        bits: &mut S,
    ) -> Result<Option<Value>> {
        Ok(self.test.passes(distance, bits)?.then_some(value))
    }

    /// What was done where there is one value, whatever came out; the distance counts steps.
    pub fn events(&self, steps: &OwnerSteps) -> Result<Vec<Event>> {
        let word = Word::Approximate { epsilon: self.epsilon, delta: self.delta };
        Ok(vec![Event::new(word, steps.moves(1.0)?)])
    }

    /// What was done where there are several values, whatever came out: `moves` say in each scope of how many values
    /// neighbours move the distance, each by at most 1 (more is refused).
    ///
    /// ```
    /// use scumble::quantity::{delta, epsilon};
    /// use scumble::event::{Moves, Shift};
    /// use scumble::mechanism::stable_value::StableValue;
    /// use scumble::{Loss, Scope, Target};
    /// // A replaced owner moves the answers of four towns, one who comes or goes those of two.
    /// let moves = Moves::by_scope(vec![Shift::new(2, 1.0)?], vec![Shift::new(4, 1.0)?], Vec::new());
    /// let target = Target::approximate(epsilon(1.0)?, delta(1e-6)?);
    /// let stable = StableValue::within_several(target, Scope::Person, &moves)?;
    /// let delta = |scope, most| Loss::of(stable.events_moving(&moves)?, scope).map(|loss| loss.delta(most).upper);
    /// assert!(delta(Scope::Person, epsilon(1.0)?)? <= 1.000001e-6);
    /// assert!(delta(Scope::Presence, epsilon(0.5)?)? <= 0.51e-6);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn events_moving(&self, moves: &Moves) -> Result<Vec<Event>> {
        self.test.events_moving(moves)
    }

    /// From which distance on the value is published, except with probability β.
    pub fn published_from(&self, beta: Beta) -> Result<u64> {
        self.test.published_from(beta)
    }
}

/// Which keys can be the mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyDomain {
    /// Those that are listed, and no others.
    Public,
    /// Others as well.
    Unknown,
}

/// The most common key and how far the data is from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// Its place among the counts.
    pub key: usize,
    /// How many owners must be replaced until another key is the mode.
    pub person: u64,
    /// How many owners must come or go.
    pub presence: u64,
}

/// The mode of counts in the order of their keys, one key for each owner; none if there is no key, or if keys are not
/// public and no owner has one.
///
/// ```
/// use scumble::mechanism::stable_value::{KeyDomain, mode};
/// let found = mode(&[6, 2, 0], KeyDomain::Public).unwrap();
/// assert_eq!((found.key, found.person, found.presence), (0, 3, 5));
/// assert_eq!(mode(&[3, 3], KeyDomain::Public).unwrap().person, 1);
/// assert_eq!(mode(&[], KeyDomain::Unknown), None);
/// ```
pub fn mode(counts: &[u64], keys: KeyDomain) -> Option<Mode> {
    let (key, &most) = counts.iter().enumerate().max_by_key(|(place, count)| (**count, std::cmp::Reverse(*place)))?;
    if keys == KeyDomain::Unknown && most == 0 {
        return None;
    }
    let listed =
        counts.iter().enumerate().filter(|(place, _)| *place != key).map(|(place, count)| (*count, place < key));
    let absent = (keys == KeyDomain::Unknown).then_some((0, true));
    let (mut person, mut presence) = (u64::MAX, u64::MAX);
    for (count, wins_ties) in listed.chain(absent) {
        let gap = most - count;
        person = person.min(if gap % 2 == 0 && wins_ties { gap / 2 } else { gap / 2 + 1 });
        presence = presence.min(if wins_ties { gap } else { gap + 1 });
    }
    Some(Mode { key, person, presence })
}

#[cfg(test)]
mod tests;
