//! All tables of a few owners of three keys, coming, going and being replaced: the exact law of what is published
//! against the claims.

use super::*;
use crate::loss::Loss;
use crate::loss::filter::Odometer;
use crate::quantity::{Epsilon, Scale, Sigma};
use crate::scope::Scope;
use std::collections::{BTreeMap, BTreeSet};

const KEYS: usize = 3;
const REACH: i64 = 60;

type TopLawPair = Vec<(f64, f64)>;

/// Outcomes of one ratio together.
fn merged(pairs: impl Iterator<Item = (f64, f64)>) -> TopLawPair {
    let mut by_ratio: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
    for (p, q) in pairs.filter(|(p, q)| p + q > 0.0) {
        let entry = by_ratio.entry(((p / q).ln() * 1e9).round() as i64).or_default();
        *entry = (entry.0 + p, entry.1 + q);
    }
    by_ratio.into_values().collect()
}

fn delta_of(pair: &TopLawPair, epsilon: f64) -> f64 {
    pair.iter().map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
}

/// What is published of a key with this lead.
fn law(made: &UnknownTop, weight: &dyn Fn(i64) -> f64, lead: i64) -> BTreeMap<Option<i64>, f64> {
    if lead == 0 {
        return BTreeMap::from([(None, 1.0)]);
    }
    let total: f64 = (-REACH..=REACH).map(weight).sum();
    let mut law = BTreeMap::new();
    for z in -REACH..=REACH {
        *law.entry(Some(lead + z).filter(|noisy| *noisy >= made.threshold())).or_insert(0.0) += weight(z) / total;
    }
    law
}

/// The leads through the code that releases; a key that does not lead has 0.
fn of_keys(owners: &[i64; KEYS], top: usize) -> [i64; KEYS] {
    let present: Vec<(usize, i64)> = owners.iter().copied().enumerate().filter(|(_, number)| *number > 0).collect();
    let mut found = [0; KEYS];
    leads(&present, top).into_iter().for_each(|(key, lead)| found[key] = lead);
    found
}

fn check(made: &UnknownTop, weight: &dyn Fn(i64) -> f64, tight: [f64; 2]) {
    let laws: Vec<_> = (0..8).map(|lead| law(made, weight, lead)).collect();
    let one = |left: i64, right: i64| -> TopLawPair {
        let (left, right) = (&laws[left as usize], &laws[right as usize]);
        let outcomes: BTreeSet<_> = left.keys().chain(right.keys()).collect();
        let of = |law: &BTreeMap<_, f64>, outcome| law.get(outcome).copied().unwrap_or(0.0);
        merged(outcomes.into_iter().map(|outcome| (of(left, outcome), of(right, outcome))))
    };
    let events = made.events().unwrap();
    let claims = [Scope::Presence, Scope::Person].map(|scope| {
        let spent = Odometer::of(&events, &scope).unwrap();
        let pure = spent.pure_sum().map(|sum| (sum.to_f64_up(), spent.delta().to_f64_up()));
        let loss = Loss::of(&events, &scope).unwrap();
        let at = |epsilon: f64| (epsilon, loss.delta(Epsilon::new(epsilon).unwrap()).upper);
        pure.into_iter().chain([0.0, 0.5, 1.0, 2.0, 4.0].map(at)).collect::<Vec<(f64, f64)>>()
    });
    let subsets: Vec<[i64; KEYS]> = (0..1 << KEYS).map(|set| [0, 1, 2].map(|key| set >> key & 1)).collect();
    let mut seen: BTreeMap<(Vec<(i64, i64)>, usize), ()> = BTreeMap::new();
    let mut tightest = [0.0f64; 2];
    for code in 0..64 {
        let others = [0, 1, 2].map(|key| code >> (2 * key) & 3);
        for (i, here) in subsets.iter().enumerate() {
            for (j, there) in subsets.iter().enumerate() {
                let with = |own: &[i64; KEYS]| of_keys(&[0, 1, 2].map(|key| others[key] + own[key]), made.top);
                // An owner without keys is as if not there.
                let replaced = usize::from(i > 0 && j > 0);
                let (left, right) = (with(here), with(there));
                let moved: Vec<(i64, i64)> = left.into_iter().zip(right).filter(|(a, b)| a != b).collect();
                if moved.is_empty() || seen.insert((moved.clone(), replaced), ()).is_some() {
                    continue;
                }
                let mut whole = vec![(1.0, 1.0)];
                for (left, right) in moved {
                    let one = one(left, right);
                    whole = merged(whole.iter().flat_map(|(p, q)| one.iter().map(move |(r, s)| (p * r, q * s))));
                }
                for (epsilon, claimed) in &claims[replaced] {
                    let found = delta_of(&whole, *epsilon);
                    assert!(
                        found <= claimed * (1.0 + 1e-6) + 1e-12,
                        "{} of {}, {others:?} with {here:?} and {there:?}: δ({epsilon}) = {found} of {claimed}",
                        made.top,
                        made.run.noise().name()
                    );
                    tightest[replaced] = tightest[replaced].max(found / claimed);
                }
            }
        }
    }
    assert!(tightest[0] > tight[0] && tightest[1] > tight[1], "{} {tightest:?}", made.top);
}

#[test]
fn what_is_published_costs_what_the_events_say() {
    // P[2 + Z ≥ 4], so that the least threshold is met with equality: a replaced owner can bring in a key that leads
    // by 2.
    let even = |scale: f64| (-2.0 / scale).exp() / (1.0 + (-1.0 / scale).exp()) * (1.0 + 1e-9);
    for (scale, delta, tight) in [(0.8, even(0.8), 0.999), (3.0, even(3.0), 0.999), (0.8, 0.05, 0.3), (3.0, 0.3, 0.3)] {
        for top in [1, 2] {
            let made =
                UnknownTop::new(top, Noise::laplace(Scale::new(scale).unwrap()), Delta::new(delta).unwrap()).unwrap();
            let tight = if top == 1 { [0.2, tight] } else { [0.1, 0.1] };
            check(&made, &|z: i64| (-(z.abs() as f64) / scale).exp(), tight);
        }
    }
    let made = UnknownTop::new(1, Noise::gaussian(Sigma::new(2.0).unwrap()), Delta::new(0.05).unwrap()).unwrap();
    check(&made, &|z: i64| (-((z * z) as f64) / 8.0).exp(), [0.05, 0.05]);
}

/// The argument of the documentation: how leads move, and that each move is that of m runs with at most one key that
/// enters and one that leaves.
#[test]
fn leads_move_in_runs() {
    for top in 1..=2usize {
        let mut most = [0i64; 2];
        for code in 0..64 {
            let owners = [0, 1, 2].map(|key| code >> (2 * key) & 3);
            for step in 0..27i64 {
                let moved = [0, 1, 2].map(|key| owners[key as usize] + step / 3i64.pow(key) % 3 - 1);
                if moved.iter().any(|number| *number < 0) {
                    continue;
                }
                let (before, after) = (of_keys(&owners, top), of_keys(&moved, top));
                let changes: Vec<(i64, i64)> = before.into_iter().zip(after).filter(|(a, b)| a != b).collect();
                let sum: i64 = changes.iter().map(|(a, b)| (a - b).abs()).sum();
                let monotone = owners.iter().zip(&moved).all(|(a, b)| a <= b);
                most[usize::from(!monotone)] = most[usize::from(!monotone)].max(sum);
                let twos = changes.iter().filter(|(a, b)| (a - b).abs() == 2).count();
                let enter = changes.iter().filter(|(a, _)| *a == 0).count();
                let leave = changes.iter().filter(|(_, b)| *b == 0).count();
                let others = changes.len() - enter - leave;
                // With a move by 2 nobody enters or nobody leaves, and each key has a run of its own.
                let runs = match twos {
                    0 => enter.max(leave) + others.saturating_sub(enter.abs_diff(leave)).div_ceil(2),
                    _ => changes.len(),
                };
                assert!(runs <= top && (twos == 0 || enter * leave == 0), "{owners:?} {moved:?}");
                assert!(!monotone || changes.iter().all(|(a, b)| (a - b).abs() == 1) && changes.len() <= top);
            }
        }
        assert_eq!(most, [top as i64, 2 * top as i64]);
    }
}

#[test]
fn only_keys_that_lead_are_published() {
    let made = UnknownTop::new(2, Noise::laplace(Scale::new(1.0).unwrap()), Delta::new(1e-6).unwrap()).unwrap();
    // Half of δ for each of the two.
    assert_eq!(made.threshold(), 2 + 15);
    let mut bits = crate::noise::InsecureSeededSource::new(3);
    let owners = [("a", 500), ("b", 500), ("c", 500), ("d", 900)];
    assert_eq!(made.release(&owners, &mut bits).len(), 1, "three share the second place: nobody leads but d");
    assert!(made.release(&[("a", 3), ("b", 1)], &mut bits).is_empty());
    assert!(UnknownTop::new(0, Noise::laplace(Scale::new(1.0).unwrap()), Delta::new(1e-6).unwrap()).is_err());
    assert!(UnknownTop::new(1, Noise::laplace(Scale::new(1.0).unwrap()), Delta::new(0.0).unwrap()).is_err());
    assert!(made.published_from(Beta::new(0.05).unwrap()).unwrap() < 25.0);
}
