//! Gaussian noise alone: the exact curve δ(ε), with no grid.
//!
//! A list of Gaussian mechanisms with ratios μᵢ = Δᵢ/σᵢ is one with μ² = Σμᵢ². Its curve is
//! δ(ε) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) \[BW18, Theorem 8\].

use super::Bounds;
use super::special::{TRUSTED, bisect, mills, normal_above};

/// δ(ε) of the Gaussian mechanism with ratio μ ≥ 0, between bounds.
pub(crate) fn delta(mu: f64, epsilon: f64) -> Bounds {
    if mu == 0.0 {
        return Bounds { lower: 0.0, upper: 0.0 };
    }
    let a = epsilon / mu - mu / 2.0;
    let b = epsilon / mu + mu / 2.0;
    let (value, error) = if a > -1.0 {
        // δ = φ(a)·(M(a) − M(b)) with Mills' ratio M, since e^ε·φ(b) = φ(a): no cancellation of large against large.
        let density = (-0.5 * a * a).exp() / (2.0 * std::f64::consts::PI).sqrt();
        if density == 0.0 {
            // Below the least number that there is.
            return Bounds { lower: 0.0, upper: f64::MIN_POSITIVE };
        }
        // The rounding of a enters the exponent as a·|a|·2u.
        let relative = TRUSTED + a * a * 1e-15;
        let (near, far) = (mills(a), mills(b));
        (density * (near - far), density * ((near - far) * relative + (near + far) * TRUSTED))
    } else {
        let value = normal_above(a) - (epsilon + normal_above(b).ln()).exp();
        (value, 4.0 * TRUSTED * (1.0 + epsilon * 0.1))
    };
    let upper = (value + error).clamp(f64::MIN_POSITIVE, 1.0);
    Bounds { lower: (value - error).clamp(0.0, 1.0), upper }
}

/// ε(δ) of the Gaussian mechanism, between bounds; 0 < δ.
pub(crate) fn epsilon(mu: f64, target: f64) -> Bounds {
    if delta(mu, 0.0).upper <= target {
        return Bounds { lower: 0.0, upper: 0.0 };
    }
    // δ(ε) ≤ P[loss > ε] ≤ e^{−(ε−μ²/2)²/2μ²}.
    let high = mu * mu / 2.0 + mu * (2.0 * (1.0 / target).ln()).sqrt() + mu;
    let (_, upper) = bisect(0.0, high, 200, |at| delta(mu, at).upper <= target);
    let (lower, _) = bisect(0.0, high, 200, |at| delta(mu, at).lower < target);
    Bounds { lower, upper }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_agrees_with_high_precision() {
        // (μ, ε, δ): mpmath, 40 digits
        for (mu, at, truth) in [(1.0, 1.0, 0.126_936_737_506_643_95), (0.1, 1.0, 1.230_835_983_642_711_2e-25)] {
            let bounds = delta(mu, at);
            assert!(bounds.lower <= truth && truth <= bounds.upper, "{bounds:?} misses {truth}");
            assert!(bounds.upper - bounds.lower <= 1e-9 * truth);
        }
    }

    #[test]
    fn epsilon_and_delta_are_inverse_down_to_1e_30() {
        for mu in [1e-3, 0.1, 1.0, 10.0, 100.0] {
            for exponent in [1, 5, 10, 20, 30] {
                let target = 10f64.powi(-exponent);
                let found = epsilon(mu, target);
                assert!(found.lower <= found.upper && found.upper <= found.lower * (1.0 + 1e-6) + 1e-12, "{found:?}");
                assert!(delta(mu, found.upper).upper <= target);
            }
        }
    }
}
