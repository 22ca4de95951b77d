//! Very many runs: the sum of their losses is normal except for the Berry–Esseen distance, which is certified.
//!
//! With L the sum of independent losses, m its mean, v its variance and β₃ the sum of the third absolute central
//! moments, |P\[L > x\] − P\[N(m, v) > x\]| ≤ B = 0.56·β₃/v^{3/2} for every x [Shevtsova 2010, unlike summands]. As
//! δ(ε) = E\[(1 − e^{ε−L})₊\] = ∫₀^∞ e^{−s}·P\[L > ε + s\]ds, δ(ε) is off by at most B from that of the normal law,
//! Φ((m−ε)/√v) − e^{ε−m+v/2}·Φ((m−ε−v)/√v). For n runs of randomized response B is 0.56/√n: this rule is for numbers of
//! runs beyond the reach of transforms, where it is a few millionths.

use super::Bounds;
use super::law::{Component, Law, SampleForm};
use super::special::{bisect, mills, normal_above};

/// What the moments may be off by, relatively.
const ROUNDING: f64 = 1e-9;

/// The normal law nearest to a sum of losses.
pub(crate) struct NormalApproximation {
    mean: f64,
    variance: f64,
    /// By how much a probability may be off.
    distance: f64,
}

/// Mean, variance and the largest distance from the mean of one loss; 0 for the latter where the loss is normal itself.
struct LossMoments {
    mean: f64,
    variance: f64,
    reach: f64,
}

impl NormalApproximation {
    /// None where some part's moments are not known here, or it is not the same in both directions.
    pub(crate) fn of(components: &[Component]) -> Option<Self> {
        let (mut mean, mut variance, mut third) = (0.0, 0.0, 0.0);
        for component in components {
            let one = moments(component)?;
            mean += component.times * one.mean;
            variance += component.times * one.variance;
            // |ℓ − m|³ ≤ reach·(ℓ − m)².
            third += component.times * one.variance * one.reach;
        }
        let distance = 0.56 * third / variance.powf(1.5) + ROUNDING * (1.0 + variance.sqrt());
        (variance > 0.0 && distance.is_finite()).then_some(Self { mean, variance, distance })
    }

    /// δ(ε).
    pub(crate) fn delta(&self, epsilon: f64) -> Bounds {
        let deviation = self.variance.sqrt();
        let a = (epsilon - self.mean) / deviation;
        let end = a + deviation;
        // e^{ε−m+v/2}·φ(a + √v) = φ(a): with Mills' ratio no Φ below the least number is blown up.
        let weighted = if end > -1.0 {
            (-0.5 * a * a).exp() / (2.0 * std::f64::consts::PI).sqrt() * mills(end)
        } else {
            (epsilon - self.mean + self.variance / 2.0).exp() * normal_above(end)
        };
        let value = normal_above(a) - weighted;
        Bounds { lower: (value - self.distance).clamp(0.0, 1.0), upper: (value + self.distance).clamp(0.0, 1.0) }
    }

    /// ε(δ), infinite where δ is within the distance.
    pub(crate) fn epsilon(&self, target: f64) -> Bounds {
        let high = self.mean + 40.0 * self.variance.sqrt();
        let upper = match self.delta(high).upper <= target {
            true if self.delta(0.0).upper <= target => 0.0,
            true => bisect(0.0, high, 200, |at| self.delta(at).upper <= target).1,
            false => f64::INFINITY,
        };
        let lower = if self.delta(0.0).lower <= target {
            0.0
        } else {
            bisect(0.0, high, 200, |at| self.delta(at).lower <= target).0
        };
        Bounds { lower, upper }
    }
}

fn moments(component: &Component) -> Option<LossMoments> {
    if component.form != SampleForm::Whole || component.without_pair || component.owners > 1 || component.is_cover {
        return None;
    }
    match &component.law {
        Law::Gaussian { mu } => Some(LossMoments { mean: mu * mu / 2.0, variance: mu * mu, reach: 0.0 }),
        Law::RandomizedResponse { epsilon, values } => Some(randomized_response(*epsilon, *values)),
        Law::Approximate { epsilon, delta: 0.0 } => Some(randomized_response(*epsilon, 2.0)),
        Law::DiscreteLaplace { inverse_scale, shift: 1 } => Some(randomized_response(*inverse_scale, 2.0)),
        Law::Laplace { lambda } => Some(laplace(*lambda)),
        _ => None,
    }
}

/// ±ε with probabilities e^ε/(e^ε + k − 1) and 1/(e^ε + k − 1), 0 otherwise.
fn randomized_response(epsilon: f64, values: f64) -> LossMoments {
    let other = 1.0 / (epsilon.exp() + values - 1.0);
    let mean = epsilon * other * epsilon.exp_m1();
    let variance = epsilon * epsilon * other * (epsilon.exp() + 1.0) - mean * mean;
    LossMoments { mean, variance, reach: epsilon + mean }
}

/// λ with probability ½, −λ with e^{−λ}/2, and λ − 2u between with density e^{−u}/2.
fn laplace(lambda: f64) -> LossMoments {
    let (mean, between) = if lambda < 1e-3 {
        let square = lambda * lambda;
        (square * (0.5 - lambda / 6.0 + square / 24.0), lambda * square * (1.0 / 3.0 - lambda / 6.0))
    } else {
        let (gone, left) = (-(-lambda).exp_m1(), (-lambda).exp());
        let first = lambda * lambda * gone - 4.0 * lambda * (1.0 - left * (1.0 + lambda));
        (lambda - gone, first + 4.0 * (2.0 - left * (lambda * lambda + 2.0 * lambda + 2.0)))
    };
    let square = 0.5 * (lambda * lambda * (1.0 + (-lambda).exp()) + between);
    LossMoments { mean, variance: square - mean * mean, reach: lambda + mean }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Φ below the normal numbers was multiplied by e^{700} (truth by mpmath, 40 digits, off by at most 6e-8).
    #[test]
    fn large_losses_are_between_their_bounds_too() {
        let one = Component::whole(Law::Approximate { epsilon: 1e-6, delta: 0.0 }, 1_455_920_523_215_679.0);
        let bounds = NormalApproximation::of(&[one]).unwrap().delta(739.407_219_591_862_5);
        assert!(bounds.lower <= 0.372_177_89 && 0.372_177_89 <= bounds.upper, "{bounds:?}");
        assert!(bounds.upper - bounds.lower < 1e-5, "{bounds:?}");
    }

    /// Moments of Laplace losses by summing over fine bins.
    #[test]
    fn moments_are_those_of_the_losses() {
        for lambda in [1e-5f64, 9.9e-4, 1.01e-3, 0.3, 2.0] {
            let bins = 20_000;
            let mut sums =
                (0.5 * lambda - 0.5 * lambda * (-lambda).exp(), 0.5 * lambda.powi(2) * (1.0 + (-lambda).exp()));
            for i in 0..bins {
                let u = lambda * (f64::from(i) + 0.5) / f64::from(bins);
                let mass = 0.5 * (-u).exp() * lambda / f64::from(bins);
                sums = (sums.0 + mass * (lambda - 2.0 * u), sums.1 + mass * (lambda - 2.0 * u).powi(2));
            }
            let found = laplace(lambda);
            let variance = sums.1 - sums.0 * sums.0;
            assert!((found.mean / sums.0 - 1.0).abs() < 1e-6, "{lambda}: {} {}", found.mean, sums.0);
            assert!((found.variance / variance - 1.0).abs() < 1e-6, "{lambda}: {} {variance}", found.variance);
        }
    }
}
