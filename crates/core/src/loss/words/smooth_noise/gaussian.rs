//! Rényi curves of discrete Gaussians of two scales.
//!
//! P = N_ℤ(d, σ₁²), Q = N_ℤ(0, σ₂²), v = ασ₂² + (1−α)σ₁² > 0, θ(σ) = Σ_z e^{−z²/2σ²}: completing the square in Σ p^α
//! q^{1−α} gives a theta sum about a shifted centre, which is at most θ(σ₁σ₂/√v) (Poisson summation: all its
//! coefficients are positive). So K(α) = (α−1)D_α ≤ ln θ(σ₁σ₂/√v) − α·ln θ(σ₁) − (1−α)·ln θ(σ₂) + α(α−1)d²/(2v), with
//! equality where the centre is an integer. It is finite for α < 1/(1 − (σ₂/σ₁)²). With θ(σ) = σ√2π·e^{c(σ)} and
//! ρ = σ₁/σ₂ nothing large cancels: (1−α)·ln ρ − ½·ln(α + (1−α)ρ²) and the c.

use super::{identity, pairs};
use crate::event::SmoothNoise;
use crate::loss::renyi::chain;
use crate::loss::shape::LossShape;
use crate::noise::Levels;
use std::f64::consts::PI;

/// What logarithms and theta sums may be off by, for each unit of the order.
const SLACK: f64 = 1e-14;

/// The largest curve over all pairs of levels, for this many owners one after the other.
#[derive(Debug)]
pub(super) struct SmoothGaussianShape {
    noise: SmoothNoise,
    pairs: Vec<GaussianLevelPair>,
    owners: u32,
}

impl SmoothGaussianShape {
    pub(super) fn new(noise: SmoothNoise, levels: Levels, owners: u32) -> Self {
        let pairs = pairs(&levels).map(|(first, second, shift)| GaussianLevelPair::new(first, second, shift)).collect();
        Self { noise, pairs, owners }
    }

    fn of_one(&self, order: f64) -> f64 {
        self.pairs.iter().map(|pair| pair.cumulant(order)).fold(0.0, f64::max)
    }

    /// ρ with D_α ≤ ρα for 1 < α < ω, and ω: half of 1/(1 − γ^−2), the largest order except for the rounding of the
    /// scales.
    pub(super) fn truncated(&self) -> (f64, f64) {
        let growth = f64::from(self.noise.gamma().parts().1);
        let half = (growth + 1.0).powi(2) / (2.0 * growth + 1.0) / 2.0 / f64::from(self.owners);
        let omega = half.min(0.9 * self.largest_order());
        (if omega > 1.0 { self.rho_up_to(omega) } else { f64::INFINITY }, omega)
    }

    /// ρ with D_α ≤ ρα for 1 < α < ω.
    ///
    /// # Guarantee
    /// An upper bound: D_α does not fall, so between two orders a < b D_α/α ≤ D_b/a.
    pub(super) fn rho_up_to(&self, omega: f64) -> f64 {
        const STEPS: i32 = 400;
        let ratio = omega.powf(1.0 / f64::from(STEPS));
        let rho = |step: i32| {
            let (below, order) = (ratio.powi(step), ratio.powi(step + 1));
            self.cumulant(order * (1.0 + 1e-15)) / (order - 1.0) / below
        };
        (0..STEPS).map(rho).fold(0.0, f64::max) * (1.0 + 1e-12)
    }
}

impl LossShape for SmoothGaussianShape {
    fn identity(&self) -> Vec<u64> {
        identity(&self.noise, self.owners)
    }

    fn pure(&self) -> f64 {
        f64::INFINITY
    }

    fn cumulant(&self, order: f64) -> f64 {
        chain(&|order| self.of_one(order), self.owners, order)
    }

    fn largest_order(&self) -> f64 {
        let of_pair = |pair: &GaussianLevelPair| 1.0 / (1.0 - pair.ratio.max(1.0).powi(-2));
        let one = self.pairs.iter().map(of_pair).fold(f64::INFINITY, f64::min);
        // The legs of a chain have orders of up to about this many times its own.
        one * (1.0 - 1e-9) / f64::from(self.owners)
    }
}

/// One pair, with what does not depend on the order.
#[derive(Debug)]
pub(super) struct GaussianLevelPair {
    /// σ₁/σ₂ and σ₂.
    ratio: f64,
    second: f64,
    shift: f64,
    /// c(σ₁) and c(σ₂).
    excess: (f64, f64),
}

impl GaussianLevelPair {
    pub(super) fn new(first: f64, second: f64, shift: f64) -> Self {
        Self { ratio: first / second, second, shift, excess: (excess(first), excess(second)) }
    }

    /// K(α) from above; infinite where it is.
    pub(super) fn cumulant(&self, order: f64) -> f64 {
        let square = self.ratio * self.ratio;
        let v = order + (1.0 - order) * square;
        if v <= 0.0 {
            return f64::INFINITY;
        }
        let middle = excess(self.second * self.ratio / v.sqrt());
        let thetas = (1.0 - order) * self.ratio.ln() - 0.5 * v.ln() + middle
            - order * self.excess.0
            - (1.0 - order) * self.excess.1;
        let moved = self.shift / self.second;
        (thetas + order * (order - 1.0) * moved * moved / (2.0 * v) + SLACK * order).max(0.0)
    }
}

/// c(σ) = ln(θ(σ)/(σ√2π)).
fn excess(sigma: f64) -> f64 {
    if sigma >= 0.5 {
        // Poisson: θ(σ) = σ√2π·Σ_k e^{−2π²k²σ²}.
        let term = |k: i32| (-2.0 * PI * PI * f64::from(k * k) * sigma * sigma).exp();
        return (2.0 * (1..=4).map(term).sum::<f64>()).ln_1p();
    }
    let term = |z: i32| (-f64::from(z * z) / (2.0 * sigma * sigma)).exp();
    (2.0 * (1..=6).map(term).sum::<f64>()).ln_1p() - (sigma * (2.0 * PI).sqrt()).ln()
}
