//! One level of the recursion of Bun, Dwork, Rothblum and Steinke (2018, §5.3), corrected, for the *generalised*
//! interior point problem: F(−1) = 0 ≤ F(0) ≤ … ≤ F(last) = H over the leaves of a binary tree is given by its jumps,
//! and a place j with F(j) > 0 and F(j − 1) < H is wanted. A node's value is what F rises by on its interval, ends
//! included: F(b) − F(a − 1).
//!
//! Why the place is right, with probabilities of β/4 each: the level has a node above τ₁, and none below it reaches τ₂
//! (exponential mechanism); the noisy fullest node then has a value above 0, since τ₁ exceeds the noise of all empty
//! nodes and its own; of its ends a is right unless F(a) = 0, and b unless F(b − 1) = H; the value is below 2τ₂, so
//! that F(a − 1) is 0 in the first case and above H − 2τ₂ in the second, and noise below half of that tells which.

use super::fullest::{fullest_node, node_values};
use super::leaves::{Leaf, Leaves};
use crate::calibrate::{LeastErrorNoise, least_maximum_error};
use crate::error::{Error, Result};
use crate::mechanism::piecewise::{Segment, sample};
use crate::noise::{BitSource, SinhNormal};
use crate::quantity::{Epsilon, Exact, Omega, Probability, Rho, Scale, Sigma};
use num_rational::BigRational;

/// One level of the recursion.
#[derive(Debug, Clone)]
pub(in crate::mechanism) struct RecursionLevel {
    pub(in crate::mechanism) leaves: Leaves,
    /// The range of the privacy loss of the exponential mechanism over levels, when no node's value moves by more than
    /// `sensitivity`.
    pub(in crate::mechanism) epsilon: Epsilon,
    pub(in crate::mechanism) sensitivity: u32,
    /// Noise on the values of all nodes of the level.
    pub(in crate::mechanism) nodes: SinhNormal,
    /// Noise on F(a − 1), what lies before the node.
    pub(in crate::mechanism) before: SinhNormal,
    pub(in crate::mechanism) thresholds: NodeThresholds,
}

/// τ₁, τ₂ and what is left of the height between two nodes' worth: H − 2τ₂.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mechanism) struct NodeThresholds {
    pub(in crate::mechanism) occupied: i64,
    pub(in crate::mechanism) too_full: i64,
    pub(in crate::mechanism) margin: i64,
}

impl NodeThresholds {
    /// τ₁ = ⌈q_N + q_1⌉ + 1, τ₂ = τ₁ + ⌈(4Δ/ε₀)·ln(4K̂/β)⌉ + 1, H − 2τ₂ = ⌈2q_e⌉ + 1, with quantiles at β/4 each.
    pub(in crate::mechanism) fn new(
        recursion_levels: f64,
        (epsilon, sensitivity): (f64, u32),
        beta: f64,
        [all_nodes, one_node, before]: [f64; 3],
    ) -> Self {
        let occupied = (all_nodes + one_node).ceil() as i64 + 1;
        let chosen = 4.0 * f64::from(sensitivity) / epsilon * (4.0 * recursion_levels / beta).ln();
        let too_full = occupied + chosen.ceil() as i64 + 1;
        Self { occupied, too_full, margin: (2.0 * before).ceil() as i64 + 1 }
    }

    /// H: the height that F needs.
    pub(in crate::mechanism) fn height(self) -> i64 {
        2 * self.too_full + self.margin
    }
}

/// Stands for "no truncation" in a table that is nearly Gaussian.
const NEARLY_GAUSSIAN: f64 = 1e4;
/// By how much a table is widened until it certifies, and how often.
const WIDER: f64 = 1.002;
const ATTEMPTS: usize = 40;

/// A table with about the least error at `exceeded` whose `slope` (the certified sup D/α of its use) is at most ρ; one
/// move by `shift` may cost about `share` of that. Where a Gaussian would be best, a nearly Gaussian table: its tails
/// must be rational.
pub(in crate::mechanism) fn table(
    (rho, omega): (Rho, Omega),
    (shift, share): (u64, f64),
    exceeded: f64,
    slope: impl Fn(&SinhNormal) -> Result<f64>,
) -> Result<SinhNormal> {
    let one_move = Rho::new(rho.get() * share)?;
    let (mut sigma, mut a) = match least_maximum_error(one_move, omega, shift, Probability::new(exceeded)?)? {
        LeastErrorNoise::SinhNormal(noise) => (noise.sigma().get(), noise.a().get()),
        LeastErrorNoise::DiscreteGaussian(sigma) => (sigma.get(), NEARLY_GAUSSIAN * sigma.get()),
    };
    for _ in 0..ATTEMPTS {
        let noise = SinhNormal::new(Sigma::new(sigma)?, Scale::new(a)?)?;
        if slope(&noise)? <= rho.get() {
            return Ok(noise);
        }
        (sigma, a) = (sigma * WIDER, a * WIDER);
    }
    Err(Error::refused("no table certifies this rho and omega: lower omega"))
}

impl RecursionLevel {
    /// A place, for an F with these jumps (in order, no place twice; F reaches its height at the last place at the
    /// latest).
    ///
    /// # Guarantee
    /// The composition of an exponential mechanism over levels whose loss has range ε if no node's value moves by more
    /// than `sensitivity`, of `nodes` noise on the values of all nodes of one level, and of `before` noise on F at one
    /// place.
    pub(in crate::mechanism) fn release<S: BitSource + ?Sized>(
        &self,
        jumps: &[(Leaf, i64)],
        bits: &mut S,
    ) -> Result<Leaf> {
        let level = self.level(jumps, bits)?;
        let node = fullest_node(jumps, level, self.leaves, &self.nodes, bits)?;
        let (first, last) = self.leaves.ends(node, level);
        if level == 0 {
            return Ok(first);
        }
        let before: i64 = jumps.iter().take_while(|(place, _)| *place < first).map(|(_, jump)| jump).sum();
        let noisy = before.saturating_add(self.before.sample(bits));
        Ok(if 2 * noisy.clamp(-1 << 60, 1 << 60) >= self.thresholds.margin { first } else { last })
    }

    /// q(l) = min(g(l), H′ − g(l−1)) with g(l) = clamp(f̂(l) − τ₁, 0, H′), H′ = τ₂ − τ₁, and g = H′ at the root by
    /// fiat.
    fn level<S: BitSource + ?Sized>(&self, jumps: &[(Leaf, i64)], bits: &mut S) -> Result<u32> {
        let scores = self.scores(jumps);
        let best = scores.iter().copied().max().unwrap_or(0);
        let segment = |(level, score): (usize, &i64)| {
            let distance = (best - score).unsigned_abs().into();
            Segment { first: level as u128, last: level as u128, distance }
        };
        let segments: Vec<Segment> = scores.iter().enumerate().map(segment).collect();
        let twice = BigRational::from_integer((2 * self.sensitivity).into());
        let rate = Exact::from_f64(self.epsilon.get())?.rational() / twice;
        Ok(sample(&segments, &rate, 1, bits).unwrap_or(0) as u32)
    }

    /// The score of each level.
    pub(in crate::mechanism) fn scores(&self, jumps: &[(Leaf, i64)]) -> Vec<i64> {
        let (root, height) = (self.leaves.bits(), self.thresholds.too_full - self.thresholds.occupied);
        let gain = |level: u32| match level {
            level if level == root => height,
            level => (self.largest_value(jumps, level) - self.thresholds.occupied).clamp(0, height),
        };
        let mut below = 0;
        let mut scores = Vec::with_capacity(root as usize + 1);
        for level in 0..=root {
            let here = gain(level);
            scores.push(here.min(height - below));
            below = here;
        }
        scores
    }

    /// f̂(l): the value of the fullest node of a level.
    fn largest_value(&self, jumps: &[(Leaf, i64)], level: u32) -> i64 {
        node_values(jumps, level, self.leaves).map(|(_, value)| value).max().unwrap_or(0)
    }
}
