//! What the replacement of a whole person costs at most: a maximum over which of the attributes really change.

use super::super::super::terms::moved_by_change;
use super::{MarginalPlan, WideSubset, subsets};
use std::collections::BTreeMap;

/// Numbers of changed attributes, size by size, that are tried.
const MOST_TRIED: usize = 200_000;

/// What each residual moves at most, added up.
pub(super) fn sum_of_worst(plan: &MarginalPlan) -> f64 {
    plan.noise.iter().map(|(set, &sigma)| worst(&plan.sizes, set) / plan.half(set, sigma)).sum()
}

/// What one residual moves at most, whichever of its attributes change.
pub(super) fn worst(sizes: &[u32], set: &[usize]) -> f64 {
    let changes =
        subsets(set).map(|really| moved_by_change(sizes, set.iter().copied(), |attribute| really.contains(&attribute)));
    changes.fold(0.0, f64::max)
}

/// The worst change where it depends only on how many attributes of each size change: all numbers are tried. None where
/// it does not, or where they are too many.
///
/// For 100 columns of two values this is half of [`sum_of_worst`]: a table of two of them moves only if exactly one of
/// them changes.
pub(super) fn worst_by_size(plan: &MarginalPlan) -> Option<f64> {
    if !plan.by_size || plan.order > 2 {
        return None;
    }
    let mut classes: BTreeMap<u32, usize> = BTreeMap::new();
    plan.sizes.iter().filter(|&&size| size > 1).for_each(|&size| *classes.entry(size).or_insert(0) += 1);
    let tried = classes.values().try_fold(1usize, |product, number| product.checked_mul(number + 1));
    tried.filter(|&tried| tried <= MOST_TRIED)?;
    let quadratic = QuadraticCost::new(plan, &classes);
    let numbers: Vec<usize> = classes.values().copied().collect();
    let mut changed = vec![0; numbers.len()];
    let mut worst = 0.0f64;
    loop {
        worst = worst.max(quadratic.at(&changed, &numbers));
        let Some(next) = (0..numbers.len()).find(|&class| changed[class] < numbers[class]) else { return Some(worst) };
        changed[next] += 1;
        changed[..next].fill(0);
    }
}

/// The cost of a change by how many attributes of each size change: each pair of attributes costs one number if one of
/// them changes and another if both do.
struct QuadraticCost {
    alone: Vec<f64>,
    /// For two classes: only the first one's attribute changes, or both.
    first: Vec<Vec<f64>>,
    both: Vec<Vec<f64>>,
}

impl QuadraticCost {
    fn new(plan: &MarginalPlan, classes: &BTreeMap<u32, usize>) -> Self {
        let members: Vec<Vec<usize>> = classes
            .keys()
            .map(|&size| (0..plan.sizes.len()).filter(|&one| plan.sizes[one] == size).take(2).collect())
            .collect();
        let cost = |mut set: WideSubset, really: &[usize]| {
            set.sort_unstable();
            let moved = |sigma| {
                moved_by_change(&plan.sizes, set.iter().copied(), |one| really.contains(&one)) / plan.half(&set, sigma)
            };
            plan.noise.get(&set).copied().map_or(0.0, moved)
        };
        let pair = |one: usize, two: usize| -> Option<(usize, usize)> {
            let other = if one == two { members[two].get(1) } else { members[two].first() };
            Some((members[one][0], *other?))
        };
        let of_pairs = |really: fn(usize, usize) -> Vec<usize>| -> Vec<Vec<f64>> {
            let of = |one: usize, two: usize| pair(one, two).map_or(0.0, |(a, b)| cost(vec![a, b], &really(a, b)));
            (0..members.len()).map(|one| (0..members.len()).map(|two| of(one, two)).collect()).collect()
        };
        Self {
            alone: members.iter().map(|own| cost(vec![own[0]], &own[..1])).collect(),
            first: of_pairs(|first, _| vec![first]),
            both: of_pairs(|first, second| vec![first, second]),
        }
    }

    fn at(&self, changed: &[usize], numbers: &[usize]) -> f64 {
        let mut sum = 0.0;
        for one in 0..changed.len() {
            let c = changed[one] as f64;
            sum += c * self.alone[one] + c * (c - 1.0) / 2.0 * self.both[one][one];
            for two in 0..changed.len() {
                // Ordered pairs of one that changes and one that does not; unordered ones of two that do.
                sum += c * (numbers[two] - changed[two]) as f64 * self.first[one][two];
                if two > one {
                    sum += c * changed[two] as f64 * self.both[one][two];
                }
            }
        }
        sum
    }
}
