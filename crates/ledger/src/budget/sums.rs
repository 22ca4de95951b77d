//! What all charges add up to, scope by scope, such that the next charge can be added without reading the ones before.
//!
//! Kept are `presence`, `person`, each attribute that some event names, sets of attributes that somebody asked about,
//! and one sum for all attributes that no event names: only events that are the same in every scope cost those
//! anything. So the sum of an attribute that is named for the first time is known without looking back.

use super::{Odometer, attributes_of, one_attribute};
use crate::body::{SetEntry, SumsEntry};
use crate::error::{Error, Result};
use crate::field::Field;
use scumble::event::Event;
use scumble::scope::{AttributeSet, Scope};
use std::collections::{BTreeMap, BTreeSet};

/// Which rule counted a sum. It goes up with any change of what some event costs, so that no sum by an older rule is
/// used.
///
/// 2: a person costs at least what presence does in each charge, and a mixture of alternatives may cost more than each
/// of them. Before, collections of local reports, products of two parties, and black boxes with alternatives of several
/// cells counted less.
pub(crate) const RULE: u32 = 2;

/// The sums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sums {
    by_scope: BTreeMap<Scope, Odometer>,
    /// For an attribute that no event names.
    others: Odometer,
}

impl Sums {
    /// Nothing yet.
    pub fn nothing() -> Self {
        let by_scope = [Scope::Presence, Scope::Person].map(|scope| (scope, Odometer::nothing()));
        Self { by_scope: by_scope.into(), others: Odometer::nothing() }
    }

    /// What these charges add up to.
    pub fn of<'a>(charges: impl IntoIterator<Item = &'a [Event]>) -> Result<Self> {
        let mut sums = Self::nothing();
        charges.into_iter().try_for_each(|events| sums.add(events))?;
        Ok(sums)
    }

    /// Adds a charge. An event that has no cost by the filter's rule is an error, after which the sums are good for
    /// nothing.
    pub fn add(&mut self, events: &[Event]) -> Result<()> {
        for name in attributes_of(events) {
            let others = &self.others;
            self.by_scope.entry(one_attribute(&name)?).or_insert_with(|| others.clone());
        }
        for (scope, spent) in &mut self.by_scope {
            spent.add_all(events, scope)?;
        }
        let everywhere: Vec<Event> = events.iter().filter(|event| event.moves().parts().3).cloned().collect();
        // The same in every scope: any will do.
        Ok(self.others.add_all(&everywhere, &Scope::Person)?)
    }

    /// The loss so far in a scope; none for groups, and for a set of attributes that was not requested.
    pub fn spent(&self, scope: &Scope) -> Option<&Odometer> {
        let Scope::Attributes(set) = scope else { return self.by_scope.get(scope) };
        // An attribute that no event names adds nothing to those that are named.
        let named = self.named(set);
        if named.is_empty() { Some(&self.others) } else { self.by_scope.get(&Scope::Attributes(named)) }
    }

    /// Keeps the sum of a set of attributes from now on; `charges` are all so far.
    pub fn ask<'a>(&mut self, set: &AttributeSet, charges: impl IntoIterator<Item = &'a [Event]>) -> Result<()> {
        let scope = Scope::Attributes(self.named(set));
        if self.spent(&scope).is_some() {
            return Ok(());
        }
        let mut spent = Odometer::nothing();
        charges.into_iter().try_for_each(|events| spent.add_all(events, &scope))?;
        self.by_scope.insert(scope, spent);
        Ok(())
    }

    /// The attributes that some event names.
    pub fn attributes(&self) -> BTreeSet<String> {
        self.sets().filter(|set| set.len() == 1).flat_map(|set| set.iter().map(str::to_string)).collect()
    }

    fn named(&self, set: &AttributeSet) -> AttributeSet {
        let known = |name: &&str| {
            let one = AttributeSet::new([*name]);
            one.is_ok_and(|one| self.by_scope.contains_key(&Scope::Attributes(one)))
        };
        AttributeSet::new(set.iter().filter(known)).unwrap_or_default()
    }

    /// The sets of attributes that have a sum of their own.
    pub fn sets(&self) -> impl Iterator<Item = &AttributeSet> {
        self.by_scope.keys().filter_map(|scope| match scope {
            Scope::Attributes(set) => Some(set),
            _ => None,
        })
    }

    /// Whether these are the same sums in the same scopes, up to what another machine's arithmetic makes of the same
    /// events.
    pub(crate) fn agree_with(&self, other: &Self) -> bool {
        let same = |(one, two): ((&Scope, &Odometer), (&Scope, &Odometer))| one.0 == two.0 && one.1.agrees_with(two.1);
        self.by_scope.len() == other.by_scope.len()
            && self.by_scope.iter().zip(&other.by_scope).all(same)
            && self.others.agrees_with(&other.others)
    }

    /// As an entry holds them, every number exactly.
    pub(crate) fn entry(&self) -> SumsEntry {
        let text = |scope: &Scope| self.by_scope.get(scope).map(Odometer::to_text).unwrap_or_default();
        let (mut attributes, mut sets) = (BTreeMap::new(), Vec::new());
        for (scope, spent) in &self.by_scope {
            match scope {
                Scope::Attributes(set) if set.len() == 1 => {
                    attributes.insert(set.iter().collect(), spent.to_text());
                }
                Scope::Attributes(set) => {
                    let names = set.iter().map(str::to_string).collect();
                    sets.push(Field::Here(SetEntry { attributes: names, spent: spent.to_text() }));
                }
                _ => {}
            }
        }
        let (presence, person) = (text(&Scope::Presence), text(&Scope::Person));
        SumsEntry { attributes, others: self.others.to_text(), person, presence, sets }
    }

    /// What [`Sums::entry`] wrote.
    pub(crate) fn read(shown: &SumsEntry) -> Result<Self> {
        let refused = || Error::machine("the sums are not in a form that this version knows");
        let spent = |text: &str| Odometer::from_text(text).map_err(|_| refused());
        let mut sums = Self::nothing();
        sums.others = spent(&shown.others)?;
        for (scope, text) in [(Scope::Presence, &shown.presence), (Scope::Person, &shown.person)] {
            sums.by_scope.insert(scope, spent(text)?);
        }
        for (name, text) in &shown.attributes {
            sums.by_scope.insert(one_attribute(name)?, spent(text)?);
        }
        for set in &shown.sets {
            let set = set.get().ok_or_else(refused)?;
            let names = AttributeSet::new(set.attributes.iter().map(String::as_str))?;
            sums.by_scope.insert(Scope::Attributes(names), spent(&set.spent)?);
        }
        // What was left out or written in another order would not be what was written.
        if sums.entry() == *shown { Ok(sums) } else { Err(refused()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use scumble::event::{AnswerCount, Moves, NewKeys, Shift, Touch, TreePath, Word};
    use scumble::quantity::{Delta, Epsilon, Scale, Sigma};

    /// Laplace or Gaussian noise on some attributes, or the same everywhere.
    fn event((gaussian, scale, touched): (bool, f64, u8)) -> Event {
        let kind = match gaussian {
            true => Word::DiscreteGaussian { sigma: Sigma::new(scale).unwrap() },
            false => Word::DiscreteLaplace { scale: Scale::new(scale).unwrap() },
        };
        let shifts = vec![Shift::new(2, 1.0).unwrap()];
        let names = ["a", "b", "c"].into_iter().enumerate().filter(|(bit, _)| touched >> bit & 1 == 1);
        let attributes = AttributeSet::new(names.map(|(_, name)| name)).unwrap();
        if touched == 8 {
            return Event::new(kind, Moves::everywhere(shifts[0]));
        }
        let touches =
            if attributes.is_empty() { Vec::new() } else { vec![Touch { attributes, shifts: shifts.clone() }] };
        Event::new(kind, Moves::by_scope(shifts.clone(), shifts, touches))
    }

    /// How many cases: more where `SCUMBLE_THOROUGH` is set, as in `.ci/run --thorough`.
    fn cases() -> u32 {
        if std::env::var_os("SCUMBLE_THOROUGH").is_some() { 256 } else { 32 }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]
        /// The running sums are those of all charges, in every scope, whenever it was asked about, and also after being
        /// written.
        #[test]
        fn running_sums_are_the_sums(charges in proptest::collection::vec((any::<bool>(), 1.0f64..100.0, 0u8..9), 0..12), asked in 0usize..12) {
            let charges: Vec<Vec<Event>> = charges.into_iter().map(|one| vec![event(one)]).collect();
            let set = AttributeSet::new(["a", "b", "unknown"]).unwrap();
            let mut sums = Sums::nothing();
            for (index, events) in charges.iter().enumerate() {
                if index == asked {
                    sums.ask(&set, charges[..index].iter().map(Vec::as_slice)).unwrap();
                }
                sums.add(events).unwrap();
                sums = Sums::read(&sums.entry()).unwrap();
            }
            sums.ask(&set, charges.iter().map(Vec::as_slice)).unwrap();
            let singles = ["a", "b", "c", "unknown"].map(|name| one_attribute(name).unwrap());
            for scope in singles.into_iter().chain([Scope::Presence, Scope::Person, Scope::Attributes(set)]) {
                let all: Vec<Event> = charges.concat();
                prop_assert_eq!(sums.spent(&scope).unwrap(), &Odometer::of(&all, &scope).unwrap(), "{}", scope);
            }
        }
    }

    const COSTS: &str = "\
1.7142857e0 0.0000000e0 2.4324548e-1 2.4324548e-1 inf 0.0000000e0
1.7142857e0 0.0000000e0 2.4324548e-1 2.4324548e-1 inf 0.0000000e0
0.0000000e0 4.8000000e-1 4.8000000e-1 4.8000000e-1 inf 0.0000000e0
0.0000000e0 4.8000000e-1 4.8000000e-1 4.8000000e-1 inf 0.0000000e0
3.6000000e0 0.0000000e0 1.0487254e0 1.0487254e0 inf 0.0000000e0
3.6000000e0 0.0000000e0 1.0487254e0 1.0487254e0 inf 0.0000000e0
3.6000000e0 0.0000000e0 2.7000000e-1 2.7000000e-1 inf 0.0000000e0
9.0000000e0 0.0000000e0 7.4084138e0 7.4084138e0 inf 0.0000000e0
0.0000000e0 2.4000000e-1 2.4000000e-1 2.4000000e-1 inf 0.0000000e0
0.0000000e0 none none 2.4000000e-1 4.0000000e1 0.0000000e0
3.6000000e0 0.0000000e0 2.5786723e0 2.5786723e0 inf 2.8866773e-8
1.7142857e0 0.0000000e0 2.4324548e-1 2.4324548e-1 inf 2.0000000e-9
";

    /// Ledgers hold sums by this rule. If this fails because an event costs something else now, raise [`RULE`] and
    /// change the numbers: then every ledger is counted again, and no sum by the older rule is used.
    #[test]
    fn what_events_cost_is_a_rule_with_a_number() {
        use scumble::quantity::{Delta, Epsilon, Omega, Rho};
        let (epsilon, shift) = (Epsilon::new(0.3).unwrap(), Shift::new(3, 2.0).unwrap());
        let laplace = Word::DiscreteLaplace { scale: Scale::new(7.0).unwrap() };
        let kinds = [
            Word::Laplace { scale: Scale::new(7.0).unwrap() },
            Word::DiscreteLaplace { scale: Scale::new(7.0).unwrap() },
            Word::Gaussian { sigma: Sigma::new(5.0).unwrap() },
            Word::DiscreteGaussian { sigma: Sigma::new(5.0).unwrap() },
            Word::RandomizedResponse { epsilon, values: AnswerCount::new(4).unwrap() },
            Word::Pure { epsilon },
            Word::Exponential { epsilon },
            Word::HeavyHitters { scale: Scale::new(4.0).unwrap(), path: TreePath::new(3, 1, 2).unwrap() },
            Word::Zcdp { rho: Rho::new(0.01).unwrap() },
            Word::Tcdp { rho: Rho::new(0.01).unwrap(), omega: Omega::new(80.0).unwrap() },
            Word::Approximate { epsilon, delta: Delta::new(1e-9).unwrap() },
            Word::NewKeys(NewKeys::new(laplace, Delta::new(1e-9).unwrap(), 3).unwrap()),
        ];
        let mut text = String::new();
        for kind in kinds {
            let sums = Sums::of([&[Event::new(kind, Moves::everywhere(shift)).repeated(2).unwrap()][..]]).unwrap();
            let spent = sums.spent(&Scope::Person).unwrap().to_text();
            // Eight digits are the same on every machine.
            let short = |word: &str| word.parse::<f64>().map_or(word.to_string(), |number| format!("{number:.7e}"));
            text.push_str(&spent.split(' ').map(short).collect::<Vec<_>>().join(" "));
            text.push('\n');
        }
        assert_eq!((RULE, text.as_str()), (2, COSTS));
    }

    /// The story: ledgers hold charges that cost a person ε = 1 and presence everything. What they show of a person is
    /// no longer below what they show of presence, whichever charges come before and after.
    #[test]
    fn old_charges_cost_a_person_what_presence_costs() {
        let one = || vec![Shift::one_cell(1.0).unwrap()];
        let alone = |event: Event, presence, person| event.moving(Moves::as_written(presence, person, Vec::new()));
        let seen = vec![
            alone(Event::approximate(Epsilon::new(0.0).unwrap(), Delta::new(1.0).unwrap()), one(), Vec::new()),
            alone(Event::pure(Epsilon::new(1.0).unwrap()), Vec::new(), one()),
        ];
        let less = vec![
            alone(Event::pure(Epsilon::new(3.0).unwrap()), one(), Vec::new()),
            alone(Event::pure(Epsilon::new(1.0).unwrap()), Vec::new(), one()),
        ];
        let other = vec![event((false, 4.0, 1))];
        let sums = Sums::of([&other[..], &less, &other]).unwrap();
        // Two counts in two cells of scale 4, and 3 instead of 1 for the charge that says less of a person.
        assert_eq!(sums.spent(&Scope::Person).unwrap().pure_sum(), Some("4".parse().unwrap()));
        let sums = Sums::of([&other[..], &seen, &other]).unwrap();
        let [person, presence] = [Scope::Person, Scope::Presence].map(|scope| sums.spent(&scope).unwrap().clone());
        assert!(person.is_at_least(&presence) && person.least_delta().is_none());
    }

    #[test]
    fn a_set_that_was_not_asked_about_is_not_guessed() {
        let charges = [vec![event((false, 4.0, 1))], vec![event((false, 4.0, 2))]];
        let mut sums = Sums::of(charges.iter().map(Vec::as_slice)).unwrap();
        let pair = Scope::Attributes(AttributeSet::new(["a", "b"]).unwrap());
        assert!(sums.spent(&pair).is_none());
        sums.ask(&AttributeSet::new(["a", "b"]).unwrap(), charges.iter().map(Vec::as_slice)).unwrap();
        assert_eq!(sums.spent(&pair).unwrap(), &Odometer::of(&charges.concat(), &pair).unwrap());
        let changed = |change: fn(&mut SumsEntry)| {
            let mut entry = sums.entry();
            change(&mut entry);
            Sums::read(&entry)
        };
        assert_eq!(changed(|_| ()).unwrap(), sums);
        assert!(changed(|entry| entry.presence = "0 0".to_string()).is_err());
        assert!(changed(|entry| entry.sets.push(entry.sets[0].clone())).is_err());
        assert!(serde_json::from_value::<SumsEntry>(serde_json::json!({ "presence": "0 0 0 0 inf 0" })).is_err());
    }
}
