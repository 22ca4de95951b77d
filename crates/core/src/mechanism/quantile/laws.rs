//! Output laws of medians and of trees over tiny domains, from their definitions and not from their code: for tests.
//! Leaves are numbers.

use super::median::RecursiveMedian;
use crate::event::{Event, Word};
use crate::harness::{Claim, Distribution, ProbabilityInterval};
use crate::mechanism::interior_point::law::recursion_law;
use crate::mechanism::interior_point::{Leaf, Leaves, NodeThresholds, RecursionLevel};
use crate::noise::SinhNormal;
use crate::quantity::{Epsilon, Scale, Sigma};
use crate::scope::Scope;
use std::collections::BTreeMap;

/// What the events claim: pure ε, δ at some ε, and D_α at some α from the range of an exponential mechanism and the
/// certificates.
pub(super) fn claim(events: &[Event], scope: &Scope) -> Claim {
    let renyi = |order: f64| -> f64 {
        let one = |event: &Event| -> f64 {
            let shifts = event.moves().shifts(scope);
            let [shift] = shifts[..] else { panic!("no event of a tree has alternatives: {shifts:?}") };
            let cell = match event.word() {
                Word::Exponential { epsilon } => order * (epsilon.get() * shift.by.get()).powi(2) / 8.0,
                Word::SinhNormal { sigma, a } => {
                    let noise = SinhNormal::new(*sigma, *a).unwrap();
                    noise.certificate(shift.by.get() as u64).unwrap().renyi_upper(order).get()
                }
                other => panic!("{other:?} is no event of a tree"),
            };
            cell * shift.cells as f64 * event.times() as f64
        };
        events.iter().map(one).sum()
    };
    let orders = [1.5, 2.0, 4.0];
    Claim { renyi: orders.map(|order| (order, renyi(order))).to_vec(), ..Claim::of(events, scope, &[0.25, 1.0, 3.0]) }
}

/// A median by the recursion over so few leaves and with such thresholds that a few values reach all of its branches.
pub(super) fn tiny_median(leaves: Leaves, half_width: i64) -> RecursiveMedian {
    let noise = |sigma: f64, a: f64| SinhNormal::new(Sigma::new(sigma).unwrap(), Scale::new(a).unwrap()).unwrap();
    let recursion = RecursionLevel {
        leaves,
        epsilon: Epsilon::new(1.5).unwrap(),
        sensitivity: 2,
        nodes: noise(1.286, 2.7),
        before: noise(2.725, 7.35),
        thresholds: NodeThresholds { occupied: 0, too_full: 2 * half_width - 1, margin: 2 },
    };
    assert_eq!(recursion.thresholds.height(), 4 * half_width);
    RecursiveMedian { recursion, half_width }
}

/// F(j) = clamp(2·#{x ≤ j} − n + 2w, 0, 4w), but 0 before the first place and 4w at the last.
pub(super) fn f(values: &[i64], half_width: i64, last: i64) -> impl Fn(i64) -> i64 + '_ {
    move |j| match j {
        j if j < 0 => 0,
        j if j >= last => 4 * half_width,
        j => {
            let at_most = values.iter().filter(|value| **value <= j).count() as i64;
            (2 * at_most - values.len() as i64 + 2 * half_width).clamp(0, 4 * half_width)
        }
    }
}

/// The place with this number.
pub(super) fn place(number: i64, leaves: Leaves) -> Leaf {
    Leaf { key: number as u128 >> leaves.tie_bits(), tie: number as u32 & ((1 << leaves.tie_bits()) - 1) }
}

/// The law of a median of the values of a part, by the recursion.
pub(super) fn recursive_point(median: &RecursiveMedian, values: &[i64], range: (i64, i64)) -> BTreeMap<i64, f64> {
    let last = (1i64 << median.recursion.leaves.bits()) - 1;
    let mut law = BTreeMap::new();
    for (place, chance) in (0i64..).zip(recursion_law(&median.recursion, f(values, median.half_width, last))) {
        *law.entry(place.clamp(range.0, range.1)).or_default() += chance;
    }
    law
}

/// The same, by the exponential mechanism.
pub(super) fn exponential_point(epsilon: f64, values: &[i64], range: (i64, i64)) -> BTreeMap<i64, f64> {
    let n = values.len() as f64;
    let weight = |y: i64| {
        let below = values.iter().filter(|value| **value < y).count() as f64;
        let above = values.iter().filter(|value| **value > y).count() as f64;
        (-epsilon * (2.0 * below - n).max(2.0 * above - n).max(0.0) / 2.0).exp()
    };
    let total: f64 = (range.0..=range.1).map(weight).sum();
    (range.0..=range.1).map(|y| (y, weight(y) / total)).collect()
}

/// The law of a median of a part.
pub(super) type PointLaw<'a> = &'a dyn Fn(&[i64], (i64, i64)) -> BTreeMap<i64, f64>;

/// The law of all points of a tree.
pub(super) fn tree_law(point: PointLaw, values: &[i64], range: (i64, i64), levels: u32) -> Vec<(Vec<i64>, f64)> {
    if levels == 0 {
        return vec![(Vec::new(), 1.0)];
    }
    let mut all = Vec::new();
    for (middle, chance) in point(values, range) {
        let (left, right): (Vec<i64>, Vec<i64>) = values.iter().partition(|value| **value <= middle);
        let lefts = tree_law(point, &left, (range.0, middle), levels - 1);
        let rights = tree_law(point, &right, ((middle + 1).min(range.1), range.1), levels - 1);
        for (before, p) in &lefts {
            for (after, q) in &rights {
                all.push(([before.clone(), vec![middle], after.clone()].concat(), chance * p * q));
            }
        }
    }
    all
}

/// The law of a tree's keys, averaged over all ways to break the values' ties.
pub(super) fn keys_law(point: PointLaw, leaves: Leaves, levels: u32, keys: &[u128]) -> Distribution<Vec<u128>> {
    let ways = 1u32 << (leaves.tie_bits() as usize * keys.len());
    let mut law: BTreeMap<Vec<u128>, f64> = BTreeMap::new();
    for way in 0..ways {
        let tie =
            |index: usize| i64::from(way >> (leaves.tie_bits() as usize * index)) & ((1 << leaves.tie_bits()) - 1);
        let number = |(index, key): (usize, &u128)| ((*key as i64) << leaves.tie_bits()) + tie(index);
        let values: Vec<i64> = keys.iter().enumerate().map(number).collect();
        for (points, chance) in tree_law(point, &values, (0, (1 << leaves.bits()) - 1), levels) {
            let points = points.into_iter().map(|number| place(number, leaves).key).collect();
            *law.entry(points).or_default() += chance / f64::from(ways);
        }
    }
    Distribution::new(law.into_iter().map(|(points, chance)| (points, ProbabilityInterval::near(chance, 1e-12))), 0.0)
}
