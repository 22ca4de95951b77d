//! The output law of the recursion on a tiny tree, from its definition and not from its code: for tests.

use super::fullest::bar_height;
use super::{NodeThresholds, RecursionLevel};
use crate::noise::SinhNormal;

/// Noise beyond this has less mass than f64 can see beside 1.
const FARTHEST: i64 = 60;

/// P\[noise ≤ k\] for each k.
struct CumulativeLaw(Vec<f64>);

impl CumulativeLaw {
    fn new(noise: &SinhNormal) -> Self {
        let mut sum = 0.0;
        let mut add = |value: i64| {
            sum += noise.table().probability(value);
            sum
        };
        Self((-FARTHEST..=FARTHEST).map(&mut add).collect())
    }

    fn at_most(&self, k: i64) -> f64 {
        if k < -FARTHEST { 0.0 } else { self.0[(k.min(FARTHEST) + FARTHEST) as usize] }
    }
}

/// The probability of each place (by its number), where `f` is F with F(−1) = 0 and F(last) = H, whatever the data.
pub(in crate::mechanism) fn recursion_law(recursion: &RecursionLevel, f: impl Fn(i64) -> i64) -> Vec<f64> {
    let NodeThresholds { occupied, too_full, margin } = recursion.thresholds;
    let (root, height) = (recursion.leaves.bits(), too_full - occupied);
    let leaves = 1i64 << root;
    let value = |level: u32, node: i64| f(((node + 1) << level) - 1) - f((node << level) - 1);
    let fullest = |level: u32| (0..leaves >> level).map(|node| value(level, node)).max().unwrap();
    let gain = |level: u32| if level == root { height } else { (fullest(level) - occupied).clamp(0, height) };
    let score = |level: u32| gain(level).min(height - if level == 0 { 0 } else { gain(level - 1) });
    let rate = recursion.epsilon.get() / f64::from(2 * recursion.sensitivity);
    let weight = |level: u32| (rate * score(level) as f64).exp();
    let total: f64 = (0..=root).map(weight).sum();
    let (nodes, before) = (CumulativeLaw::new(&recursion.nodes), CumulativeLaw::new(&recursion.before));
    let mut law = vec![0.0; leaves as usize];
    for level in 0..=root {
        let values: Vec<i64> = (0..leaves >> level).map(|node| value(level, node)).collect();
        let chances = if level == root {
            vec![1.0]
        } else {
            node_law(&recursion.nodes, &nodes, &values, bar_height(&recursion.nodes, recursion.leaves.nodes(level)))
        };
        for (node, chance) in chances.into_iter().enumerate() {
            let first = node << level;
            // 2·(F(a − 1) + Z) ≥ margin gives the first place of the node, else its last.
            let least = (margin - 2 * f(first as i64 - 1) + 1).div_euclid(2);
            let is_first = if level == 0 { 1.0 } else { 1.0 - before.at_most(least - 1) };
            let chance = chance * weight(level) / total;
            law[first] += chance * is_first;
            law[first + (1 << level) - 1] += chance * (1.0 - is_first);
        }
    }
    law
}

/// The law of the node with the largest noisy value, lowest first among equals; uniform if none is above the bar.
fn node_law(noise: &SinhNormal, cumulative: &CumulativeLaw, values: &[i64], bar: i64) -> Vec<f64> {
    let nobody: f64 = values.iter().map(|value| cumulative.at_most(bar - value)).product();
    let wins = |node: usize| -> f64 {
        let at = |noisy: i64| {
            let others = values.iter().enumerate().filter(|(other, _)| *other != node);
            let below = others.map(|(other, value)| cumulative.at_most(noisy - value - i64::from(other < node)));
            noise.table().probability(noisy - values[node]) * below.product::<f64>()
        };
        (bar + 1..=FARTHEST).map(at).sum::<f64>() + nobody / values.len() as f64
    };
    (0..values.len()).map(wins).collect()
}
