//! The curve δ(ε) of discrete Laplace noise of two scales, and a pair that dominates the worst of them.
//!
//! ln p/q is piecewise linear, so that where it exceeds ε is at most two half-lines or an interval, and δ(ε) a sum of
//! at most three geometric series.
//!
//! *The dominating pair.* The largest of the curves is a convex function of e^ε, and with both orders in it symmetric:
//! δ(−ε) = 1 − e^{−ε} + e^{−ε}δ(ε). The lower convex hull of upper bounds at some nodes is above it everywhere, because
//! every point of the hull is a mean of such bounds; its kinks are the atoms. What the last node has is given up
//! (infinite loss). Between nodes a chord is above the curve by about 0.1%.

use super::{identity, pairs};
use crate::event::SmoothNoise;
use crate::loss::shape::{LossAtom, LossShape};
use crate::noise::Levels;
use std::sync::OnceLock;

/// What the sums may be off by, relative to what P has: the terms of both laws may cancel.
const SLACK: f64 = 1e-13;
/// Nodes from ε = 0 to where the tails begin, and then steps of this many times 1/g, down to a mass that nobody asks
/// for.
const FIRST_NODES: u32 = 64;
const STEP: f64 = 0.1;
const LEAST_MASS: f64 = 1e-25;
const FARTHEST: f64 = 500.0;

/// The largest curve over all pairs of levels, for this many owners one after the other.
#[derive(Debug)]
pub(super) struct SmoothLaplaceShape {
    noise: SmoothNoise,
    levels: Levels,
    owners: u32,
    atoms: OnceLock<(Vec<LossAtom>, f64)>,
}

impl SmoothLaplaceShape {
    pub(super) fn new(noise: SmoothNoise, levels: Levels, owners: u32) -> Self {
        Self { noise, levels, owners, atoms: OnceLock::new() }
    }

    /// δ(ε) of one owner.
    pub(super) fn of_one(&self, epsilon: f64) -> f64 {
        pairs(&self.levels).map(|(first, second, shift)| delta(first, second, shift, epsilon)).fold(0.0, f64::max)
    }

    /// δ(ε) of the owners: a chain of (ε/k, δ(ε/k)).
    fn of_all(&self, epsilon: f64) -> f64 {
        let (size, one) = (f64::from(self.owners), epsilon / f64::from(self.owners));
        let growth = if one == 0.0 { size } else { epsilon.exp_m1() / one.exp_m1() };
        (self.of_one(one) * if self.owners == 1 { 1.0 } else { growth * (1.0 + 1e-12) }).min(1.0)
    }

    fn make_atoms(&self) -> (Vec<LossAtom>, f64) {
        let growth = f64::from(self.noise.gamma().parts().1);
        let begin = f64::from(self.owners)
            * pairs(&self.levels).map(|(first, second, shift)| shift / first.min(second)).fold(0.0, f64::max);
        // e^ε must stay a number: beyond, all is given up.
        let begin = begin.min(FARTHEST);
        let mut nodes: Vec<(f64, f64)> = Vec::new();
        for node in 0..FIRST_NODES {
            let epsilon = begin * f64::from(node) / f64::from(FIRST_NODES);
            nodes.push((epsilon, self.of_all(epsilon)));
        }
        let step = STEP * f64::from(self.owners) / growth;
        let mut epsilon = begin;
        while epsilon <= FARTHEST {
            let value = self.of_all(epsilon);
            nodes.push((epsilon, value));
            if value <= LEAST_MASS {
                break;
            }
            epsilon += step;
        }
        hull(&nodes)
    }
}

impl LossShape for SmoothLaplaceShape {
    fn identity(&self) -> Vec<u64> {
        identity(&self.noise, self.owners)
    }

    /// Tails of two scales have no bounded ratio.
    fn pure(&self) -> f64 {
        if self.levels.last() == 0 {
            f64::from(self.owners) * self.levels.reach(0) as f64 / self.levels.scale(0).get() * (1.0 + 1e-15)
        } else {
            f64::INFINITY
        }
    }

    fn cumulant(&self, _order: f64) -> f64 {
        f64::INFINITY
    }

    fn has_pair(&self) -> bool {
        true
    }

    fn pair(&self) -> Option<(Vec<LossAtom>, f64)> {
        Some(self.atoms.get_or_init(|| self.make_atoms()).clone())
    }
}

/// δ(ε) of P (scale `first`, moved by `shift`) against Q (scale `second`), ε ≥ 0.
pub(super) fn delta(first: f64, second: f64, shift: f64, epsilon: f64) -> f64 {
    let pair = LaplaceLevelPair { u: 1.0 / first, v: 1.0 / second, shift, epsilon };
    // ln p/q = front − |z − D|·u + |z|·v.
    let front = ((pair.u / 2.0).tanh() / (pair.v / 2.0).tanh()).ln();
    let (at_zero, at_shift) = (front - shift * pair.u, front + shift * pair.v);
    let rise = pair.v - pair.u;
    // Where the ratio passes ε between 0 and D.
    let middle = (epsilon - at_zero) / (pair.u + pair.v);
    let found = if rise > 0.0 {
        // P is the wider: both ends of the line.
        let right = if at_shift > epsilon { middle } else { shift + (epsilon - at_shift) / rise };
        pair.best(right, |z| pair.above(z)) + pair.best((epsilon - at_zero) / rise, |y| pair.below(y))
    } else if at_shift <= epsilon {
        0.0
    } else if rise == 0.0 {
        pair.best(middle, |z| pair.above(z))
    } else {
        // P is the narrower: an interval about D.
        let left = if at_zero > epsilon { (at_zero - epsilon) / rise } else { middle };
        let right = shift + (at_shift - epsilon) / -rise;
        pair.best(left, |z| pair.above(z)) + pair.best(right, |z| -pair.above(z + 1.0)) + 2.0 * SLACK
    };
    found.clamp(0.0, 1.0)
}

struct LaplaceLevelPair {
    u: f64,
    v: f64,
    shift: f64,
    epsilon: f64,
}

impl LaplaceLevelPair {
    /// The best of the integers next to a place.
    fn best(&self, place: f64, value: impl Fn(f64) -> f64) -> f64 {
        [-1.0, 0.0, 1.0].map(|step| value(place.floor() + step)).into_iter().fold(f64::NEG_INFINITY, f64::max)
    }

    /// P\[≥ z\] − e^ε·Q\[≥ z\], from above.
    fn above(&self, z: f64) -> f64 {
        at_least(z - self.shift, self.u) * (1.0 + SLACK) - self.epsilon.exp() * at_least(z, self.v)
    }

    /// P\[≤ −y\] − e^ε·Q\[≤ −y\], from above.
    fn below(&self, y: f64) -> f64 {
        at_least(y + self.shift, self.u) * (1.0 + SLACK) - self.epsilon.exp() * at_least(y, self.v)
    }
}

/// P\[Z ≥ z\] for discrete Laplace noise of rate u.
fn at_least(z: f64, rate: f64) -> f64 {
    let decay = (-rate).exp();
    if z > 0.0 { (-z * rate).exp() / (1.0 + decay) } else { 1.0 - ((z - 1.0) * rate).exp() / (1.0 + decay) }
}

/// The pair whose curve is the lower convex hull of the nodes (ε, δ), ε ≥ 0 rising, and of their mirror images: atoms
/// by rising losses, and P's infinite part.
fn hull(nodes: &[(f64, f64)]) -> (Vec<LossAtom>, f64) {
    // In x = e^ε; (0, 1) is on every curve.
    let mirrored = nodes.iter().rev().map(|(epsilon, delta)| {
        let x = (-epsilon).exp();
        (-epsilon, x, (1.0 - x + x * delta).min(1.0))
    });
    let own = nodes.iter().map(|(epsilon, delta)| (*epsilon, epsilon.exp(), *delta));
    let mut kept: Vec<(f64, f64, f64)> = vec![(f64::NEG_INFINITY, 0.0, 1.0)];
    for point in mirrored.chain(own.filter(|point| point.0 > 0.0)) {
        while let [.., before, last] = kept[..]
            && (last.2 - before.2) * (point.1 - last.1) >= (point.2 - last.2) * (last.1 - before.1)
        {
            kept.pop();
        }
        kept.push(point);
    }
    let slope = |a: &(f64, f64, f64), b: &(f64, f64, f64)| (b.2 - a.2) / (b.1 - a.1);
    let mut positive: Vec<LossAtom> = Vec::new();
    for (i, point) in kept.iter().enumerate().filter(|(_, point)| point.0 > 0.0) {
        let after = kept.get(i + 1).map_or(0.0, |next| slope(point, next));
        let q = (after - slope(&kept[i - 1], point)).max(0.0);
        positive.push((point.0, point.1 * q, q));
    }
    let infinite = kept.last().map_or(0.0, |last| last.2);
    // Both laws' masses are the same at 0, and mirror images elsewhere.
    let rest = 1.0 - infinite - positive.iter().map(|(_, p, q)| p + q).sum::<f64>();
    let mut atoms: Vec<LossAtom> = positive.iter().rev().map(|(loss, p, q)| (-loss, *q, *p)).collect();
    atoms.push((0.0, rest.max(0.0), rest.max(0.0)));
    atoms.extend(positive);
    (atoms, infinite)
}
