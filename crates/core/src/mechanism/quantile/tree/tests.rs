//! Exact laws of whole trees against all neighbours, with and without ties; the sampler against them; errors against
//! seeded runs.

use super::super::laws::{PointLaw, claim, exponential_point, keys_law, recursive_point, tiny_median};
use super::super::{ThresholdCounts, fraction_at_most};
use super::*;
use crate::harness::statistics::assert_agree;
use crate::harness::{Slack, check, neighbours};
use crate::loss::Loss;
use crate::mechanism::additive::Noise;
use crate::noise::InsecureSeededSource;
use crate::quantity::{Delta, Omega, Rho, Sigma};
use crate::scope::Scope;

fn beta(value: f64) -> Beta {
    Beta::new(value).unwrap()
}

/// A tree of two levels over tiny places, by the recursion (None) or by the exponential mechanism.
fn tiny_tree(places: Leaves, epsilon: Option<f64>) -> QuantileTree {
    let method = match epsilon {
        Some(epsilon) => Descent::Exponential(Epsilon::new(epsilon).unwrap()),
        None => Descent::Recursive(Box::new(tiny_median(places, 1)), beta(0.05)),
    };
    QuantileTree { last: places.last().key, levels: 2, places, method }
}

fn check_tree(places: Leaves, epsilon: Option<f64>, most: usize, slack: Slack) {
    let tree = tiny_tree(places, epsilon);
    let median = tiny_median(places, 1);
    let point: PointLaw = &|values, range| match epsilon {
        Some(epsilon) => exponential_point(epsilon, values, range),
        None => recursive_point(&median, values, range),
    };
    let law = |keys: &Vec<u128>| keys_law(point, places, 2, keys);
    let universe: Vec<u128> = (0..=tree.last).collect();
    let events = tree.events().unwrap();
    check(&neighbours::presence(&universe, most), law, &claim(&events, &Scope::Presence), slack);
    check(&neighbours::person(&universe, most - 1), law, &claim(&events, &Scope::Person), slack);
    // Another value of the attribute that is looked at, or none.
    let read = AttributeSet::new(["key"]).unwrap();
    let changed = claim(&tree.events_of(1, &read).unwrap(), &Scope::Attributes(read));
    check(&neighbours::person(&universe, most - 1), law, &changed, slack);
    check(&neighbours::presence(&universe, most - 1), law, &changed, Slack::ANY);
    for (seed, keys) in [vec![0; 3], vec![0, 0, 1]].into_iter().enumerate() {
        let mut bits = InsecureSeededSource::new(70 + seed as u64);
        let draws = 6_000;
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..draws {
            *seen.entry(tree.release(&keys, &mut bits).unwrap()).or_insert(0u64) += 1;
        }
        let law = law(&keys);
        let cells = law.iter().map(|(points, p)| (seen.get(points).copied().unwrap_or(0), 0.5 * (p.lower + p.upper)));
        assert_agree("tree", draws, cells.collect::<Vec<_>>());
    }
}

#[test]
fn a_tree_by_the_exponential_mechanism_costs_what_its_event_says() {
    let tight = Slack { pure: 2.0, ..Slack::ANY };
    check_tree(Leaves::new(2, 0), Some(0.6), 4, tight);
    check_tree(Leaves::new(1, 1), Some(0.6), 4, Slack::ANY);
    assert_eq!(tiny_tree(Leaves::new(2, 0), Some(0.6)).events().unwrap()[0].times(), 2);
}

/// Owners of two values each: both come, both are replaced, one of them is.
#[test]
fn a_tree_of_owners_of_two_values_costs_what_its_event_says() {
    let (places, epsilon) = (Leaves::new(2, 0), 0.6);
    let tree = tiny_tree(places, Some(epsilon));
    let law = |keys: &Vec<u128>| keys_law(&|values, range| exponential_point(epsilon, values, range), places, 2, keys);
    let twos = neighbours::datasets(&[0u128, 1, 2, 3], 2);
    let with = |others: &Vec<u128>, own: &[u128]| [others.as_slice(), own].concat();
    let (mut presence, mut person) = (Vec::new(), Vec::new());
    for others in (0..=2).flat_map(|size| neighbours::datasets(&[0u128, 1, 2, 3], size)) {
        presence.extend(twos.iter().map(|own| (others.clone(), with(&others, own))));
        let pairs = twos.iter().flat_map(|old| twos.iter().filter(move |new| old < *new).map(move |new| (old, new)));
        person.extend(pairs.map(|(old, new)| (with(&others, old), with(&others, new))));
    }
    let read = AttributeSet::new(["key"]).unwrap();
    let events = tree.events_of(2, &read).unwrap();
    let tight = Slack { pure: 2.5, ..Slack::ANY };
    check(&presence, law, &claim(&events, &Scope::Presence), tight);
    check(&person, law, &claim(&events, &Scope::Person), tight);
    check(&person, law, &claim(&events, &Scope::Attributes(read.clone())), tight);
    let refused = tiny_tree(places, None).events_of(2, &read).unwrap_err().to_string();
    assert!(refused.contains("need owners of one value each"), "{refused}");
}

#[test]
fn a_tree_by_the_recursion_costs_no_more_than_its_events_say() {
    check_tree(Leaves::new(2, 0), None, 5, Slack::ANY);
    check_tree(Leaves::new(1, 1), None, 5, Slack::ANY);
}

/// Whether every quantile is within `error` ranks of its target.
fn is_close(found: &[u128], values: &[u128], error: f64) -> bool {
    let step = values.len() as f64 / (found.len() + 1) as f64;
    found.iter().zip(1..).all(|(point, i)| {
        let below = values.iter().filter(|value| *value < point).count() as f64;
        let up_to = values.iter().filter(|value| *value <= point).count() as f64;
        below < step * f64::from(i) + error && up_to > step * f64::from(i) - error
    })
}

/// Values in shapes that tempt a tree over the domain: all equal, around a middle, at both ends, dense, at powers of
/// two, spread.
fn shapes(last: u128, count: u128) -> Vec<Vec<u128>> {
    let middle = last / 2;
    vec![
        vec![middle; count as usize],
        (0..count).map(|i| middle + i % 2).collect(),
        (0..count).map(|i| if i % 3 == 0 { 0 } else { last }).collect(),
        (0..count).map(|i| middle - count / 2 + i).collect(),
        (0..count).map(|i| last >> (i % 100)).collect(),
        (0..count).map(|i| last / count * i).collect(),
    ]
}

#[test]
fn a_median_of_wide_keys_is_within_its_error() {
    let tree = QuantileTree::recursive_within(
        Target::tcdp(Rho::new(0.5).unwrap(), Omega::new(4.0).unwrap()),
        Scope::Person,
        u128::MAX,
        1,
        beta(0.05),
    );
    let tree = tree.unwrap();
    let error = tree.error(beta(0.05)).unwrap();
    for (seed, values) in shapes(u128::MAX, 1001).into_iter().enumerate() {
        let mut bits = InsecureSeededSource::new(40 + seed as u64);
        let runs = 60;
        let close = (0..runs).filter(|_| is_close(&tree.release(&values, &mut bits).unwrap(), &values, error)).count();
        // 60 runs that fail with probability at most 0.05: 20 failures or more have probability below 6e-12, in six
        // shapes 4e-11.
        assert!(close > 40, "shape {seed}: {close} of {runs} within {error}");
    }
    assert!(error < 500.0, "the error says something about 1001 values: {error}");
}

#[test]
fn trees_of_quantiles_stay_within_their_error_whatever_the_ties() {
    // Ties once broke the right half: all equal values went left, and the upper quantiles were anything.
    let (rho, omega) = (Rho::new(0.5).unwrap(), Omega::new(4.0).unwrap());
    let narrow = QuantileTree::new(1 << 40, 3, Epsilon::new(1.0).unwrap()).unwrap();
    // Twelve runs that are off with probability at most 1e-11 each.
    let rarely = beta(1e-11);
    let wide = QuantileTree::recursive_within(Target::tcdp(rho, omega), Scope::Person, u128::MAX, 3, rarely).unwrap();
    for (tree, last) in [(narrow, 1 << 40), (wide, u128::MAX)] {
        let error = tree.error(rarely).unwrap();
        assert!(error < 2000.0, "{error}");
        for (seed, values) in shapes(last, 16_000).into_iter().enumerate() {
            let found = tree.release(&values, &mut InsecureSeededSource::new(90 + seed as u64)).unwrap();
            assert!(found.len() == 7 && found.is_sorted());
            assert!(is_close(&found, &values, error), "shape {seed}: {found:?} within {error}");
        }
    }
}

#[test]
fn counts_of_wide_keys_are_within_the_printed_error() {
    let (rho, omega) = (Rho::new(0.5).unwrap(), Omega::new(4.0).unwrap());
    // Six runs that are off with probability at most 1e-10 each.
    let tree =
        QuantileTree::recursive_within(Target::tcdp(rho, omega), Scope::Person, u128::MAX, 4, beta(5e-11)).unwrap();
    let thresholds = ThresholdCounts::new(tree.clone(), Noise::gaussian(Sigma::new(5.0).unwrap()));
    let error = thresholds.error(beta(1e-10), 16_000).unwrap();
    assert!((1000.0 + tree.error(beta(5e-11)).unwrap()..4000.0).contains(&error), "{error}");
    for values in shapes(u128::MAX, 16_000) {
        let counts = thresholds.release(&values, &mut InsecureSeededSource::new(11)).unwrap();
        let keys = values.iter().step_by(500).chain(&[0, 1 << 20, u128::MAX / 2, u128::MAX / 2 + 1, u128::MAX]);
        for key in keys {
            let truth = values.iter().filter(|value| *value <= key).count() as f64;
            assert!((counts.at_most(*key) - truth).abs() <= error, "{key}: {} beside {truth}", counts.at_most(*key));
        }
        assert_eq!(counts.at_most(7), fraction_at_most(&counts.points, 7) * counts.total);
    }
    // What accounting makes of it: a finite price in both scopes; who replaces an owner may have no value, so the
    // number costs as well.
    let events = thresholds.events().unwrap();
    let price =
        |events: &[Event], scope: &Scope| Loss::of(events, scope).unwrap().epsilon(Delta::new(1e-6).unwrap()).upper;
    let (presence, person) = (price(&events, &Scope::Presence), price(&events, &Scope::Person));
    assert!(presence > 0.0 && presence < person && person < 20.0, "{presence} {person}");
    assert!(person > price(&tree.events().unwrap(), &Scope::Person));
}

#[test]
fn the_choice_follows_the_bits_of_the_keys_and_bad_input_is_refused() {
    let (rho, omega) = (Rho::new(0.1).unwrap(), Omega::new(6.0).unwrap());
    let choose = |last: u128, levels: u32| {
        QuantileTree::within(Target::tcdp(rho, omega), Scope::Person, last, levels, beta(0.05)).unwrap()
    };
    for levels in [1, 4] {
        assert_eq!(choose((1 << 32) - 1, levels).name(), "exponential mechanism");
        assert_eq!(choose(u64::MAX.into(), levels).name(), "exponential mechanism");
        assert_eq!(choose(u128::MAX >> 32, levels).name(), "recursion");
        assert_eq!(choose(u128::MAX, levels).name(), "recursion");
    }
    let epsilon = Epsilon::new(1.0).unwrap();
    assert!(QuantileTree::new(5, 0, epsilon).is_err());
    assert!(QuantileTree::new(5, 21, epsilon).is_err());
    assert!(QuantileTree::new(5, 2, Epsilon::new(0.0).unwrap()).is_err());
    assert!(QuantileTree::within(Target::tcdp(rho, omega), Scope::Person, 5, 0, beta(0.05)).is_err());
    // At a large rho the noise has a deviation of few units and no table for the recursion: the exponential mechanism
    // is there.
    let generous =
        QuantileTree::within(Target::tcdp(Rho::new(200.0).unwrap(), omega), Scope::Person, u128::MAX, 1, beta(0.05))
            .unwrap();
    assert_eq!(generous.name(), "exponential mechanism");
    let made =
        QuantileTree::recursive_within(Target::tcdp(rho, omega), Scope::Person, u128::MAX, 2, beta(0.05)).unwrap();
    let refused = made.error(beta(0.01)).unwrap_err().to_string();
    assert!(refused.contains("made for a failure probability of 0.05"), "{refused}");
}
