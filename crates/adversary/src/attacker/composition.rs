//! Several releases about the same records. Without noise nothing composes by itself. The cases that do compose are
//! here; callers refuse the others.
//!
//! What the paper prints and what does not hold: two releases of independent parts of the data are *not* private
//! together (x⊕y⊕z and y⊕z reveal x), nearly independent days do *not* cost 2c but up to 4c, and (ε, δ) twice is (2ε,
//! (1+e^ε)δ).

use super::bound::{Bound, UNIT};
use scumble::error::Result;
use scumble::quantity::Epsilon;

/// The most other records of the exact analysis of two counts, whose cost grows with the cube.
pub const MOST_JOINT_RECORDS: u64 = 400;

/// An (ε, δ) that holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ApproximateBound {
    /// The bound of the odds, as a logarithm.
    pub epsilon: f64,
    /// The mass that it does not cover.
    pub delta: f64,
}

fn up(value: f64) -> f64 {
    value * (1.0 + 4.0 * UNIT)
}

/// Two releases of the same records whose dependency term is bounded: if E\[max(0, 1 − e^{μ−Dep})\] ≤ ν with both
/// outputs drawn *jointly* from the same records, for every ordered pair of values, the two together are
/// (ε₁+ε₂+μ, δ₁+δ₂+ν).
///
/// This is Theorem 6 with the coefficient that its proof gives: 1, not 2 (2μ is false for μ < 0). For three and more
/// releases the dependency of each must be taken against the whole transcript before it: pairs are not enough.
pub fn with_dependency(first: ApproximateBound, second: ApproximateBound, mu: f64, nu: f64) -> ApproximateBound {
    ApproximateBound {
        epsilon: up(first.epsilon + second.epsilon + mu).max(0.0),
        delta: up(first.delta + second.delta + nu).min(1.0),
    }
}

/// Releases that read disjoint sets of mutually independent records: every record is in one of them.
pub fn parallel(claims: &[ApproximateBound]) -> ApproximateBound {
    claims.iter().fold(ApproximateBound { epsilon: 0.0, delta: 0.0 }, |all, claim| ApproximateBound {
        epsilon: all.epsilon.max(claim.epsilon),
        delta: all.delta.max(claim.delta),
    })
}

/// Releases where the j-th reads only the j-th coordinate of every record, and the coordinates of each record are
/// independent.
pub fn independent_coordinates(claims: &[ApproximateBound]) -> ApproximateBound {
    let none = ApproximateBound { epsilon: 0.0, delta: 0.0 };
    claims.iter().fold(none, |all, claim| with_dependency(all, *claim, 0.0, 0.0))
}

/// P ≈ Q and Q ≈ R give P ≈ R with δ₁ + e^{ε₁}δ₂ one way and δ₂ + e^{ε₂}δ₁ the other: the larger.
///
/// ```
/// use scumble_adversary::attacker::{ApproximateBound, chained};
/// let step = ApproximateBound { epsilon: 0.5, delta: 0.05 };
/// let both = chained(step, step);
/// assert!((both.delta - 0.05 * (1.0 + 0.5f64.exp())).abs() < 1e-15 && both.delta > 0.1);
/// ```
pub fn chained(first: ApproximateBound, second: ApproximateBound) -> ApproximateBound {
    let one_way = first.delta + first.epsilon.exp() * second.delta;
    let other_way = second.delta + second.epsilon.exp() * first.delta;
    ApproximateBound { epsilon: up(first.epsilon + second.epsilon), delta: up(one_way.max(other_way)).min(1.0) }
}

/// The dependency term of two binary counts of independent users with |ln P(x₂|x₁)/P(x₂)| ≤ c: at most 4c (the paper
/// prints 2c, which is false from three users on). Not valid for more than two counts.
pub fn dependency_of_two_days(c: f64) -> f64 {
    4.0 * c
}

/// Two counts over the same m other records, each (x₁, x₂) with the same joint law: the exact law of the pair.
#[derive(Debug, Clone)]
pub struct TwoCounts {
    side: usize,
    law: Vec<f64>,
    error: f64,
}

impl TwoCounts {
    /// `joint[x1][x2]` is the probability that a record answers x₁ in the first and x₂ in the second count.
    pub fn new(others: u64, joint: [[f64; 2]; 2]) -> Result<Self> {
        let entries = [joint[0][0], joint[0][1], joint[1][0], joint[1][1]];
        let sum: f64 = entries.iter().sum();
        if entries.iter().any(|&entry| !(0.0..=1.0).contains(&entry)) || (sum - 1.0).abs() > 1e-9 {
            refuse!("the joint law of two answers must be four probabilities of sum 1, not {entries:?}");
        }
        if others > MOST_JOINT_RECORDS {
            refuse!(
                "two counts are analysed exactly for at most {MOST_JOINT_RECORDS} others, not {others}; use the blanket over answer patterns"
            );
        }
        let side = others as usize + 1;
        let mut law = vec![0.0; side * side];
        law[0] = 1.0;
        for used in 1..side {
            for first in (0..=used).rev() {
                for second in (0..=used).rev() {
                    let at = |down: usize, left: usize| {
                        if first >= down && second >= left { law[(first - down) * side + second - left] } else { 0.0 }
                    };
                    law[first * side + second] =
                        at(0, 0) * entries[0] + at(0, 1) * entries[1] + at(1, 0) * entries[2] + at(1, 1) * entries[3];
                }
            }
        }
        Ok(Self { side, law, error: 8.0 * UNIT * side as f64 + (sum - 1.0).abs() * side as f64 })
    }

    fn at(&self, first: usize, second: usize, target: [usize; 2]) -> f64 {
        let place = (first.checked_sub(target[0]), second.checked_sub(target[1]));
        match place {
            (Some(first), Some(second)) if first < self.side && second < self.side => {
                self.law[first * self.side + second]
            }
            _ => 0.0,
        }
    }

    fn outputs(&self) -> impl Iterator<Item = (usize, usize)> {
        let side = self.side + 1;
        (0..side).flat_map(move |first| (0..side).map(move |second| (first, second)))
    }

    /// H_ε(both counts | target answers `a` ‖ both counts | target answers `b`).
    pub fn delta(&self, a: [usize; 2], b: [usize; 2], epsilon: Epsilon) -> Bound {
        let epsilon = epsilon.get();
        let sum = |epsilon: f64| -> f64 {
            let factor = epsilon.min(700.0).exp();
            self.outputs().map(|(x, y)| (self.at(x, y, a) - factor * self.at(x, y, b)).max(0.0)).sum()
        };
        let summing = self.error + (self.side * self.side) as f64 * UNIT;
        let (slack, lost) = (2.1 * self.error, 1e-290);
        Bound::new(sum(epsilon + slack) * (1.0 - summing), sum(epsilon - slack) * (1.0 + summing) + lost)
    }

    /// The worst δ over all ordered pairs of answers.
    pub fn worst(&self, epsilon: Epsilon) -> Bound {
        let answers = [[0, 0], [0, 1], [1, 0], [1, 1]];
        let mut worst = Bound::exactly(0.0);
        for a in answers {
            for b in answers {
                if a != b {
                    worst = worst.max(self.delta(a, b, epsilon));
                }
            }
        }
        worst
    }

    /// The largest dependency term L₁₂ − L₁ − L₂ over all outputs and ordered pairs of answers.
    pub fn largest_dependency(&self) -> f64 {
        let marginal = |axis: usize| -> Vec<f64> {
            let mut sums = vec![0.0; self.side];
            for first in 0..self.side {
                for second in 0..self.side {
                    sums[[first, second][axis]] += self.law[first * self.side + second];
                }
            }
            sums
        };
        let margins = [marginal(0), marginal(1)];
        let single = |axis: usize, output: usize, value: usize| {
            output.checked_sub(value).and_then(|place| margins[axis].get(place)).copied().unwrap_or(0.0)
        };
        let answers = [[0, 0], [0, 1], [1, 0], [1, 1]];
        let mut largest = f64::NEG_INFINITY;
        for (x, y) in self.outputs() {
            for a in answers {
                for b in answers {
                    let (joint_a, joint_b) = (self.at(x, y, a), self.at(x, y, b));
                    if joint_a > 0.0 && joint_b > 0.0 {
                        let alone = single(0, x, a[0]) / single(0, x, b[0]) * single(1, y, a[1]) / single(1, y, b[1]);
                        largest = largest.max((joint_a / joint_b / alone).ln());
                    }
                }
            }
        }
        largest
    }
}
