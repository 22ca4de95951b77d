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
    if mu.is_infinite() {
        // Beyond all numbers: nothing is hidden.
        return Bounds { lower: 1.0 - 4.0 * TRUSTED, upper: 1.0 };
    }
    let a = epsilon / mu - mu / 2.0;
    let b = epsilon / mu + mu / 2.0;
    // e^ε·φ(b) = φ(a), so that e^ε·Φ(−b) = φ(a)·M(b) with Mills' ratio M: no e^ε, and no Φ below the least number.
    let density = (-0.5 * a * a).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let far = density * mills(b);
    // μ is known to four roundings, which move a by four of b; two more are those of a itself. They enter φ(a) as a
    // factor e^{|a|·moved}.
    let moved = b * 1e-15;
    let (value, error) = if a > -1.0 {
        if density == 0.0 {
            // Below the least number that there is.
            return Bounds { lower: 0.0, upper: f64::MIN_POSITIVE };
        }
        let near = density * mills(a);
        let relative = TRUSTED + (1.0 + a.abs()) * moved;
        (near - far, (near - far) * relative + (near + far) * TRUSTED)
    } else {
        let value = normal_above(a) - far;
        (value, 4.0 * TRUSTED + density * moved + far * (1.0 + a.abs()) * moved)
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
    use crate::quantity::{Delta, Epsilon, Sigma};

    #[test]
    fn the_curve_agrees_with_high_precision() {
        // (μ, ε, δ): mpmath, 40 digits
        for (mu, at, truth) in [(1.0, 1.0, 0.126_936_737_506_643_95), (0.1, 1.0, 1.230_835_983_642_711_2e-25)] {
            let bounds = delta(mu, at);
            assert!(bounds.lower <= truth && truth <= bounds.upper, "{bounds:?} misses {truth}");
            assert!(bounds.upper - bounds.lower <= 1e-9 * truth);
        }
    }

    /// e^ε·Φ(−b) was computed from a Φ(−b) below the normal numbers, which is off by up to a half (mpmath, 60 digits).
    #[test]
    fn large_losses_are_between_their_bounds_too() {
        for (mu, at, truth) in [
            (1561f64.sqrt(), 739.0, 0.847_257_499_893_208_6),
            (1.0 / 0.025_312_273_330_941_66, 739.095_88, 0.845_999_988_843_915_6),
            (458_586f64.sqrt() / 0.015_658_666_954_574_366, 935_106_042.057_420_6, 0.844_619_914_714_706_9),
            (40.0, 800.0, 0.490_032_664_811_698_7),
        ] {
            let bounds = delta(mu, at);
            assert!(bounds.lower <= truth && truth <= bounds.upper, "{bounds:?} misses {truth}");
            assert!(bounds.upper - bounds.lower <= 1e-9, "{bounds:?}");
        }
    }

    #[test]
    fn ratios_beyond_all_numbers_hide_nothing() {
        for (mu, at) in [(f64::INFINITY, 0.0), (1e308, 1e300), (1e200, 0.0), (1e308, 0.0), (1e-300, 1e300)] {
            let bounds = delta(mu, at);
            assert!(bounds.lower <= bounds.upper && bounds.upper <= 1.0, "{mu} {at}: {bounds:?}");
        }
    }

    /// The sum of squares of many events was rounded once for each of them, downwards as well.
    #[test]
    fn many_events_are_summed_without_a_loss() {
        use crate::event::Event;
        use crate::loss::Loss;
        use crate::scope::Scope;
        let one = || Event::gaussian(Sigma::new(23.9).unwrap());
        let list: Vec<Event> = (0..20_000).map(|_| one()).collect();
        let apart = Loss::of(list, Scope::Presence).unwrap().delta(Epsilon::new(44.901_578_676_419_85).unwrap());
        let together = Loss::of([one().repeated(20_000).unwrap()], Scope::Presence).unwrap();
        let together = together.delta(Epsilon::new(44.901_578_676_419_85).unwrap());
        assert!(
            apart.upper > 1e-6 && apart.lower <= together.upper && together.lower <= apart.upper,
            "{apart:?} {together:?}"
        );
    }

    /// The square of a tiny ratio is 0, and the noise was forgotten: at δ = 0 no ε is enough.
    #[test]
    fn tiny_ratios_are_not_nothing() {
        use crate::event::{Event, Moves, Shift};
        use crate::loss::Loss;
        use crate::scope::Scope;
        let moves = Moves::everywhere(Shift::one_cell(1e-170).unwrap());
        let loss = Loss::of([Event::gaussian(Sigma::new(1.0).unwrap()).moving(moves)], Scope::Presence).unwrap();
        assert_eq!(loss.epsilon(Delta::new(0.0).unwrap()).upper, f64::INFINITY);
        assert_eq!(crate::loss::special::root_of_squares(&[(4.0, 1e-170), (5.0, 1e-170)]), 3e-170);
        assert_eq!(crate::loss::special::root_of_squares(&[(4.0, 1e170), (5.0, 1e170)]), 3e170);
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
