//! Threshold queries and distribution functions: a tree of noisy counts over an ordered domain.
//!
//! Every node of a tree with `branching` children per node holds the count of its interval, with independent noise; one
//! owner is in one node of each level. The number below a threshold is a sum of at most (branching − 1)·levels nodes,
//! so that its error grows with the *logarithm* of the domain (Dwork, Naor, Pitassi, Rothblum 2010; Chan, Shi, Song
//! 2011). Two kinds of post-processing then use that the counts of children add up to their parent's (least squares:
//! Hay, Rastogi, Miklau, Suciu 2010) and that the function does not decrease (isotonic regression). The last number is
//! the total, which a reader takes as one: it stays as least squares gives it, without a bias, and the others end there
//! ([`up_to_total`]).
//!
//! [`Cdf::release`] gives the whole function for domains of up to 2^22 points; [`Cdf::release_at`] gives it at chosen
//! thresholds for domains of up to 2^63 points and draws only the nodes that these need.

use super::additive::Noise;
use crate::error::Result;
use crate::event::{Event, Moves, Shift};
use crate::noise::BitSource;
use crate::quantity::Beta;
use std::collections::BTreeMap;

mod around;
mod consistency;
pub use around::CdfErrorBar;
pub use consistency::{isotonic, up_to_total};

/// A tree of noisy counts over the keys 0, …, domain − 1.
///
/// ```
/// use scumble::mechanism::additive::Noise;
/// use scumble::mechanism::cdf::Cdf;
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::Sigma;
/// let cdf = Cdf::new(100, Noise::gaussian(Sigma::new(3.0)?))?;
/// let counts = vec![10; 100];
/// let below = cdf.release(&counts, &mut InsecureSeededSource::new(1))?;
/// assert_eq!(below.len(), 100);
/// assert!(below.is_sorted_by(|a, b| a <= b));
/// assert!((below[49] - 500.0).abs() < 60.0); // how many are at most 49
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cdf {
    domain: u64,
    branching: u64,
    /// Levels below the root.
    levels: u32,
    noise: Noise,
}

/// The largest domain whose whole function is released.
const LARGEST_WHOLE: u64 = 1 << 22;
/// The largest domain at all.
const LARGEST_DOMAIN: u64 = 1 << 63;

impl Cdf {
    /// With the branching that gives the least error for this domain.
    pub fn new(domain: u64, noise: Noise) -> Result<Self> {
        let cost = |branching: u64| {
            let levels = f64::from(levels_of(domain.max(1), branching));
            // Noise of a node ∝ levels + 1 (the budget is shared), nodes of a threshold ≈ levels·(b−1)/2.
            (levels + 1.0) * levels * (branching - 1) as f64
        };
        let best = (2..=32).min_by(|a, b| cost(*a).total_cmp(&cost(*b))).unwrap_or(2);
        Self::with_branching(domain, best, noise)
    }

    /// With a given number of children per node.
    pub fn with_branching(domain: u64, branching: u64, noise: Noise) -> Result<Self> {
        if !(1..=LARGEST_DOMAIN).contains(&domain) || !(2..=1024).contains(&branching) {
            refuse!(
                "a distribution function needs a domain of 1 to 2^63 points and 2 to 1024 children per node, not {domain} and {branching}"
            );
        }
        Ok(Self { domain, branching, levels: levels_of(domain, branching), noise })
    }

    /// How many levels there are below the root.
    pub fn levels(&self) -> u32 {
        self.levels
    }

    /// For each key how many are at most this key: consistent and never decreasing. `counts` are those of all keys.
    ///
    /// # Guarantee
    /// Every node gets independent noise, all else is post-processing: as accounting says of [`Cdf::events`].
    pub fn release<S: BitSource + ?Sized>(&self, counts: &[i64], bits: &mut S) -> Result<Vec<f64>> {
        if self.domain > LARGEST_WHOLE || counts.len() as u64 != self.domain {
            refuse!(
                "a whole distribution function needs one count for each of at most {LARGEST_WHOLE} keys, not {} for {}: use release_at",
                counts.len(),
                self.domain
            );
        }
        let leaves = consistency::leaves(self.noisy_levels(counts, bits), self.branching as usize);
        let mut sum = 0.0;
        let prefix: Vec<f64> = leaves[..counts.len()]
            .iter()
            .map(|leaf| {
                sum += leaf;
                sum
            })
            .collect();
        Ok(up_to_total(&prefix))
    }

    /// The noisy counts of each level, from the root to the leaves of the padded tree.
    fn noisy_levels<S: BitSource + ?Sized>(&self, counts: &[i64], bits: &mut S) -> Vec<Vec<i64>> {
        let mut levels: Vec<Vec<i64>> = Vec::new();
        let mut level = counts.to_vec();
        level.resize((self.branching as usize).pow(self.levels), 0);
        loop {
            let above: Vec<i64> = level
                .chunks(self.branching as usize)
                .map(|children| children.iter().fold(0i64, |sum, child| sum.saturating_add(*child)))
                .collect();
            let is_root = level.len() == 1;
            self.noise.add_to_all(&mut level, bits);
            levels.push(level);
            if is_root {
                levels.reverse();
                return levels;
            }
            level = above;
        }
    }

    /// For each threshold how many of the values are at most it; never decreasing along increasing thresholds. Values
    /// beyond the domain count as its last point.
    ///
    /// # Guarantee
    /// Exactly the distribution of noising the whole tree and looking at the nodes that the thresholds need.
    pub fn release_at<S: BitSource + ?Sized>(
        &self,
        values: &[u64],
        thresholds: &[u64],
        bits: &mut S,
    ) -> Result<Vec<f64>> {
        if let Some(beyond) = thresholds.iter().find(|threshold| **threshold >= self.domain) {
            refuse!("threshold {beyond} is not below the domain's {} points", self.domain);
        }
        let mut sorted: Vec<u64> = values.iter().map(|value| *value.min(&(self.domain - 1))).collect();
        sorted.sort_unstable();
        let rank = |end: u128| sorted.partition_point(|value| u128::from(*value) < end) as i64;
        let mut drawn: BTreeMap<(u32, u64), i64> = BTreeMap::new();
        let mut order: Vec<usize> = (0..thresholds.len()).collect();
        order.sort_by_key(|index| thresholds[*index]);
        let mut answers = Vec::with_capacity(order.len());
        for index in &order {
            let mut sum = 0.0;
            for (level, node, width) in self.nodes_below(u128::from(thresholds[*index]) + 1) {
                let start = u128::from(node) * width;
                let noisy = drawn.entry((level, node)).or_insert_with(|| {
                    let count = rank(start + width) - rank(start);
                    count.saturating_add(self.noise.sample(bits))
                });
                sum += *noisy as f64;
            }
            answers.push(sum);
        }
        let mut released = vec![0.0; order.len()];
        let ends = order.last().is_some_and(|last| thresholds[*last] == self.domain - 1);
        let rising = if ends { up_to_total(&answers) } else { isotonic(&answers) };
        for (index, answer) in order.into_iter().zip(rising) {
            released[index] = answer;
        }
        Ok(released)
    }

    /// The nodes whose intervals make up [0, end): (level above the leaves, index, width).
    fn nodes_below(&self, end: u128) -> Vec<(u32, u64, u128)> {
        let mut nodes = Vec::new();
        let (mut start, mut width) = (0u128, u128::from(self.branching).pow(self.levels));
        for level in (0..=self.levels).rev() {
            while end - start >= width {
                nodes.push((level, (start / width) as u64, width));
                start += width;
            }
            width = (width / u128::from(self.branching)).max(1);
        }
        nodes
    }

    /// Noise on every node: one owner is in one node of each level; the root does not move when an owner is replaced by
    /// one who has a value too, and moves as if the owner had left otherwise.
    pub fn events(&self) -> Result<Vec<Event>> {
        let levels = u64::from(self.levels);
        let presence = Shift::new(levels + 1, 1.0)?;
        let person = Shift::new(2 * levels, 1.0)?;
        Ok(vec![self.noise.event(Moves::by_scope(vec![presence], vec![person, presence], Vec::new()))?])
    }

    /// The most that the number below any of `thresholds` thresholds is off, except with probability β. Least squares
    /// and monotonicity, which only help, are not counted.
    ///
    /// A union bound over thresholds; for each, a sum of m independent draws: sub-Gaussian with variance m·σ² for the
    /// discrete Gaussian, Bernstein's inequality for other noise (Chan, Shi, Song 2011, Lemma 2.8, for Laplace noise).
    pub fn error(&self, beta: Beta, thresholds: u64) -> Result<f64> {
        let nodes = (f64::from(self.levels) * (self.branching - 1) as f64).max(1.0);
        let ln_ratio = (2.0 * thresholds.max(1) as f64 / beta.get()).ln();
        Ok(match &self.noise {
            Noise::Gaussian(noise) => noise.sigma().get() * (2.0 * nodes * ln_ratio).sqrt(),
            Noise::Laplace(noise) => noise.scale().get() * nodes.sqrt().max(ln_ratio.sqrt()) * (8.0 * ln_ratio).sqrt(),
            // Each node is within its own quantile except with probability β/(nodes·thresholds).
            noise => nodes * noise.maximum(nodes * thresholds.max(1) as f64, beta),
        })
    }

    /// The standard error of how many are at most `key` in [`Cdf::release`]: exactly that of least squares.
    /// Monotonicity comes after it and can only bring the whole function closer to the truth, in the sum of squares.
    ///
    /// In a consistent tree a child is an equal share of its parent plus d_i = z_i − mean of its siblings' z, where z,
    /// of variance α_h·σ², is what a node of height h is after the pass upwards (α_1 = 1, 1/α_h = 1 + 1/(b·α_{h−1}));
    /// the d_i are uncorrelated with the parent. So the part of a prefix inside a node is f times the node, f the
    /// fraction of its keys, plus what is uncorrelated with it: from k whole children and a fraction g of the next,
    /// α_{h−1}·(k + g² − (k + g)²/b), and so on below.
    ///
    /// ```
    /// use scumble::mechanism::additive::Noise;
    /// use scumble::mechanism::cdf::Cdf;
    /// use scumble::quantity::Sigma;
    /// let cdf = Cdf::with_branching(2, 2, Noise::gaussian(Sigma::new(30.0)?))?;
    /// // A root and two leaves: 2/3 of the variance for a leaf as for the whole.
    /// assert!((cdf.standard_error_at(0) - 30.0 * (2.0f64 / 3.0).sqrt()).abs() < 1e-3);
    /// assert!((cdf.standard_error_at(1) - 30.0 * (2.0f64 / 3.0).sqrt()).abs() < 1e-3);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn standard_error_at(&self, key: u64) -> f64 {
        let b = self.branching as f64;
        let mut end = u128::from(key.min(self.domain - 1)) + 1;
        // From the leaves upwards: α of this height, the fraction of the node in which the prefix ends, and the
        // variance beside it.
        let (mut alpha, mut fraction, mut beside) = (1.0, 1.0, 0.0);
        for _ in 0..self.levels {
            // The last child that the prefix touches, and how many whole ones come before it.
            let (parent, whole) = ((end - 1) / u128::from(self.branching), (end - 1) % u128::from(self.branching));
            let covered = whole as f64 + fraction;
            beside += alpha * (whole as f64 + fraction * fraction - covered * covered / b);
            fraction = covered / b;
            alpha = 1.0 / (1.0 + 1.0 / (b * alpha));
            end = parent + 1;
        }
        self.noise.standard_deviation() * (alpha * fraction * fraction + beside).sqrt()
    }
}

/// The least number of levels with branching^levels ≥ domain.
fn levels_of(domain: u64, branching: u64) -> u32 {
    let mut levels = 0;
    let mut reach = 1u128;
    while reach < u128::from(domain) {
        reach *= u128::from(branching);
        levels += 1;
    }
    levels
}

#[cfg(test)]
mod tests;
