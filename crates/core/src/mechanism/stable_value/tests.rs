use super::*;
use crate::event::{Shift, Touch};
use crate::harness::{Claim, Distribution, ProbabilityInterval as Near, Slack, check, neighbours};
use crate::scope::{AttributeSet, Scope};
use std::collections::{BTreeMap, VecDeque};

fn golden(name: &str) -> serde_json::Value {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/survey.json"));
    let all: serde_json::Value = serde_json::from_str(text).unwrap();
    all["vectors"].as_array().unwrap().iter().find(|vector| vector["name"] == name).unwrap().clone()
}

#[test]
fn modes_are_the_golden_ones() {
    for name in ["s4_mode_even_gap", "s4_mode_tie", "s4_mode_rival_first"] {
        let vector = golden(name);
        let counts: BTreeMap<String, u64> = serde_json::from_value(vector["input"]["counts"].clone()).unwrap();
        let keys: Vec<&String> = counts.keys().collect();
        let found = mode(&counts.values().copied().collect::<Vec<_>>(), KeyDomain::Public).unwrap();
        assert_eq!(*keys[found.key], vector["expected"]["mode"]);
        assert_eq!(found.person, vector["expected"]["distance_person"].as_u64().unwrap());
        assert_eq!(found.presence, vector["expected"]["distance_presence"].as_u64().unwrap());
    }
}

fn counts(values: &[usize], keys: usize) -> Vec<u64> {
    (0..keys).map(|key| values.iter().filter(|value| **value == key).count() as u64).collect()
}

fn mode_key(counts: &[u64]) -> usize {
    (0..counts.len()).rev().max_by_key(|key| counts[*key]).unwrap()
}

/// How many steps it takes to another mode, by breadth-first search over counts; the first tie wins.
fn searched(start: &[u64], steps: impl Fn(&[u64]) -> Vec<Vec<u64>>) -> u64 {
    let mode = mode_key(start);
    let mut seen = BTreeMap::from([(start.to_vec(), 0)]);
    let mut queue = VecDeque::from([start.to_vec()]);
    while let Some(now) = queue.pop_front() {
        if mode_key(&now) != mode {
            return seen[&now];
        }
        for next in steps(&now) {
            if !seen.contains_key(&next) {
                seen.insert(next.clone(), seen[&now] + 1);
                queue.push_back(next);
            }
        }
    }
    u64::MAX
}

#[test]
fn distances_are_those_of_a_search() {
    for owners in 1..=5 {
        for values in neighbours::datasets(&[0usize, 1, 2], owners) {
            let start = counts(&values, 3);
            let found = mode(&start, KeyDomain::Public).unwrap();
            let changed = |now: &[u64], from: usize, to: usize| {
                let mut next = now.to_vec();
                next[from] -= 1;
                next[to] += 1;
                next
            };
            let replaced = |now: &[u64]| {
                let all = (0..3).flat_map(|from| (0..3).map(move |to| (from, to)));
                all.filter(|(from, to)| from != to && now[*from] > 0).map(|(from, to)| changed(now, from, to)).collect()
            };
            let come_or_gone = |now: &[u64]| {
                let mut all = Vec::new();
                for key in 0..3 {
                    let mut more = now.to_vec();
                    more[key] += 1;
                    all.push(more);
                    if now[key] > 0 {
                        let mut less = now.to_vec();
                        less[key] -= 1;
                        all.push(less);
                    }
                }
                all
            };
            assert_eq!(found.key, mode_key(&start));
            assert_eq!(found.person, searched(&start, replaced), "{start:?}");
            assert_eq!(found.presence, searched(&start, come_or_gone), "{start:?}");
        }
    }
}

/// The law of a mode among three keys; where keys are unknown, the table has the first two.
fn law(stable: &StableValue, values: &[usize], keys: KeyDomain) -> Distribution<Option<usize>> {
    let counts = counts(values, 3);
    // Keys that nobody has are not known.
    let known: Vec<usize> = (0..3).filter(|key| keys == KeyDomain::Public || counts[*key] > 0).collect();
    let found = mode(&known.iter().map(|key| counts[*key]).collect::<Vec<_>>(), keys);
    let Some(found) = found else { return Distribution::new([(None, Near::near(1.0, 1e-12))], 0.0) };
    let chance = stable.probability(found.person);
    Distribution::new(
        [(Some(known[found.key]), Near::near(chance, 1e-12)), (None, Near::near(1.0 - chance, 1e-12))],
        0.0,
    )
}

/// One release serves owners that come and go and those that are replaced: (ε, δ) in both, and no less.
#[test]
fn modes_cost_what_the_event_says() {
    let stable = StableValue::within(
        Target::approximate(Epsilon::new(0.5).unwrap(), Delta::new(0.02).unwrap()),
        Scope::Presence,
        &OwnerSteps::one(),
    )
    .unwrap();
    let events = stable.events(&OwnerSteps::one().reading(AttributeSet::new(["value"]).unwrap())).unwrap();
    let universe = [0usize, 1, 2];
    let people: Vec<_> = (1..=7).flat_map(|owners| neighbours::person(&universe, owners)).collect();
    for keys in [KeyDomain::Public, KeyDomain::Unknown] {
        // Other values of the one attribute that is read are another person.
        let value = Scope::Attributes(AttributeSet::new(["value"]).unwrap());
        for (pairs, scope) in [
            (neighbours::presence(&universe, 7), Scope::Presence),
            (people.clone(), Scope::Person),
            (people.clone(), value),
        ] {
            let run = |values: &Vec<usize>| law(&stable, values, keys);
            let claimed = Claim { pure: None, ..Claim::of(&events, &scope, &[0.2, 0.5, 0.8]) };
            check(&pairs, run, &claimed, Slack::ANY);
            let at = |delta: f64| Claim { deltas: vec![(0.5, delta)], ..Claim::default() };
            check(&pairs, run, &at(0.02), Slack { delta: 1e-6, ..Slack::ANY });
            assert!(std::panic::catch_unwind(|| check(&pairs, run, &at(0.0198), Slack::ANY)).is_err());
        }
    }
}

/// Whether at least two owners have each of three keys, said of each key by itself: who comes or goes moves one answer,
/// who has another key two.
#[test]
fn several_values_cost_what_the_events_say() {
    let value = AttributeSet::new(["value"]).unwrap();
    let (one, two) = (vec![Shift::new(1, 1.0).unwrap()], vec![Shift::new(2, 1.0).unwrap()]);
    let touch = Touch { attributes: value.clone(), shifts: two.clone() };
    let moves = Moves::by_scope(one, two, vec![touch]);
    let target = Target::approximate(Epsilon::new(0.8).unwrap(), Delta::new(0.03).unwrap());
    let stable = StableValue::within_several(target, Scope::Person, &moves).unwrap();
    let events = stable.events_moving(&moves).unwrap();
    let law = |values: &Vec<usize>| {
        let counts = counts(values, 3);
        let each = |count: u64| {
            let chance = stable.probability(if count >= 2 { count - 1 } else { 2 - count });
            let said = [(Some(count >= 2), Near::near(chance, 1e-12)), (None, Near::near(1.0 - chance, 1e-12))];
            Distribution::new(said, 0.0)
        };
        each(counts[0]).product(&each(counts[1])).product(&each(counts[2]))
    };
    let universe = [0usize, 1, 2];
    let people: Vec<_> = (1..=5).flat_map(|owners| neighbours::person(&universe, owners)).collect();
    for (pairs, scope, (epsilon, delta)) in [
        (neighbours::presence(&universe, 5), Scope::Presence, (0.4, 1.0 - 0.97f64.sqrt())),
        (people.clone(), Scope::Person, (0.8, 0.03)),
        (people, Scope::Attributes(value), (0.8, 0.03)),
    ] {
        let claimed = Claim { pure: None, ..Claim::of(&events, &scope, &[0.2, 0.4, 0.8]) };
        check(&pairs, law, &claimed, Slack::ANY);
        let at = |delta: f64| Claim { deltas: vec![(epsilon, delta)], ..Claim::default() };
        check(&pairs, law, &at(delta * (1.0 + 1e-9)), Slack { delta: 1e-6, ..Slack::ANY });
        assert!(std::panic::catch_unwind(|| check(&pairs, law, &at(0.99 * delta), Slack::ANY)).is_err(), "{scope}");
    }
    let other = Scope::Attributes(AttributeSet::new(["other"]).unwrap());
    assert_eq!(Claim::of(&events, &other, &[]).pure, Some(0.0));
    assert!(StableValue::within_several(Target::pure(Epsilon::new(0.8).unwrap()), Scope::Person, &moves).is_err());
}
