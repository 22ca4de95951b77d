//! From a Rényi curve to (ε, δ): the dual bound, which is optimal for what one order says.
//!
//! Given E_Q[t^α] ≤ S = e^{K(α)} for the likelihood ratio t, put γ = e^ε and, for any t₁ in [0, 1],
//! H(t) = t^α − t₁^α − α·t₁^{α−1}(t − t₁) ≥ 0 and c = sup_{t>γ} (t−γ)/H(t). Then (t−γ)₊ ≤ c·H(t) pointwise, so
//! δ(ε) ≤ c·(S − t₁^α − α·t₁^{α−1}(1−t₁)). With t₁ = 0 this is \[CKS20, Proposition 12\]; the best t₁ gives up to
//! eleven times less ε than \[BDRS18, Lemma 6\]. Every α and t₁ give a valid bound, so their search needs no
//! certificate.

use super::special::{bisect, golden_section};

/// What the computed supremum is raised by: its maximiser is a root found to about 1e-12, where the ratio is flat.
const INFLATION: f64 = 1e-9;
/// What a handful of additions may be off by, relative to their terms.
const ROUNDING: f64 = 8.0 * f64::EPSILON;
/// Below this ε the dual bound degenerates (t₁ = 1 = γ); the plain bound is used there.
const LEAST_EPSILON: f64 = 1e-4;

/// A Rényi curve to convert: K(α), and the largest order at which it is known.
pub(crate) struct Conversion<F: Fn(f64) -> f64> {
    /// K(α) = (α−1)·D_α.
    pub(crate) cumulant: F,
    /// The largest order with a bound.
    pub(crate) largest_order: f64,
}

impl<F: Fn(f64) -> f64> Conversion<F> {
    /// An upper bound of ε(δ); infinite if no order gives one.
    pub(crate) fn epsilon(&self, delta: f64) -> f64 {
        let ln_target = delta.ln();
        let at = |order: f64| plain_epsilon((self.cumulant)(order), order, ln_target);
        let (low, high) = self.best_bracket(at);
        let refined = |coordinate: f64| {
            let order = self.order(coordinate);
            let cumulant = (self.cumulant)(order);
            let plain = plain_epsilon(cumulant, order, ln_target);
            if !plain.is_finite() || plain <= LEAST_EPSILON {
                return plain;
            }
            let holds = |epsilon: f64| ln_delta(cumulant, order, epsilon) <= ln_target;
            bisect(LEAST_EPSILON, plain, 36, holds).1
        };
        let best = golden_section(low, high, 24, refined);
        refined(best).min(refined(high)).max(0.0)
    }

    /// An upper bound of δ(ε).
    pub(crate) fn delta(&self, epsilon: f64) -> f64 {
        let at = |order: f64| plain_ln_delta((self.cumulant)(order), order, epsilon);
        let (low, high) = self.best_bracket(at);
        let refined = |coordinate: f64| {
            let order = self.order(coordinate);
            ln_delta((self.cumulant)(order), order, epsilon)
        };
        let best = golden_section(low, high, 40, refined);
        let value = refined(best).min(refined(high)).exp();
        if value.is_nan() { 1.0 } else { value.clamp(f64::MIN_POSITIVE, 1.0) }
    }

    /// Orders are searched in ln(α − 1).
    fn order(&self, coordinate: f64) -> f64 {
        (1.0 + coordinate.exp()).min(self.largest_order)
    }

    /// The neighbourhood of the best order for the plain bound, as coordinates.
    fn best_bracket(&self, value: impl Fn(f64) -> f64) -> (f64, f64) {
        let top = (self.largest_order - 1.0).max(1e-12).ln().min(1e10f64.ln());
        let bottom = 1e-5f64.ln().min(top - 1.0);
        const STEPS: u32 = 80;
        let coordinate = |step: u32| bottom + (top - bottom) * f64::from(step) / f64::from(STEPS);
        let best =
            (0..=STEPS).map(|step| (step, value(self.order(coordinate(step))))).min_by(|a, b| a.1.total_cmp(&b.1));
        let best = best.map_or(STEPS, |(step, _)| step);
        (coordinate(best.saturating_sub(3)), coordinate((best + 3).min(STEPS)))
    }
}

/// \[CKS20, Proposition 12\]: ε = (K + ln(1/δ) + (α−1)·ln(1−1/α) − ln α)/(α−1), at least 0.
fn plain_epsilon(cumulant: f64, order: f64, ln_target: f64) -> f64 {
    let rest = (order - 1.0) * (-1.0 / order).ln_1p() - order.ln();
    let rounding = (cumulant - ln_target + rest.abs()) * ROUNDING;
    let value = (cumulant - ln_target + rest + rounding) / (order - 1.0);
    if value.is_nan() { f64::INFINITY } else { value.max(0.0) }
}

fn plain_ln_delta(cumulant: f64, order: f64, epsilon: f64) -> f64 {
    let rounding = (cumulant + (order - 1.0) * epsilon + order.ln() + 1.0) * ROUNDING;
    cumulant - (order - 1.0) * epsilon + (order - 1.0) * (-1.0 / order).ln_1p() - order.ln() + rounding
}

/// ln of the least dual bound at one order.
pub(crate) fn ln_delta(cumulant: f64, order: f64, epsilon: f64) -> f64 {
    let plain = plain_ln_delta(cumulant, order, epsilon);
    if cumulant == f64::INFINITY || epsilon < LEAST_EPSILON || cumulant > 40.0 {
        // With S above e^40 the part that t₁ could save is below the inflation.
        return plain;
    }
    let bound = |t1: f64| dual_bound(cumulant, order, epsilon, t1);
    // The best t₁ crowds towards 1: search 1 − t₁ on a logarithmic scale.
    let best = golden_section(1e-12f64.ln(), 0.0, 40, |log_gap| bound(1.0 - log_gap.exp()));
    plain.min(bound(1.0 - best.exp())).min(bound(1.0))
}

/// ln(c·(S − t₁^α − α·t₁^{α−1}(1−t₁))), raised by the inflation.
fn dual_bound(cumulant: f64, order: f64, epsilon: f64, t1: f64) -> f64 {
    let u = t1 * (-epsilon).exp();
    // tangent = α·u^{α−1}; F(x) = x^α − u^α − tangent·(x − u).
    let power = u.powf(order - 1.0);
    let tangent = order * power;
    let f = |x: f64| x.powf(order) - u * power - tangent * (x - u);
    let slope_test = |x: f64| f(x) - (x - 1.0) * (order * x.powf(order - 1.0) - tangent) <= 0.0;
    let mut high = 1.0 + 2.0 / (order - 1.0);
    let mut doublings = 0;
    while !slope_test(high) {
        high = 1.0 + 2.0 * (high - 1.0);
        doublings += 1;
        if doublings > 60 || !high.powf(order).is_finite() {
            return f64::INFINITY;
        }
    }
    let (low, high) = bisect(1.0, high, 44, slope_test);
    let x = 0.5 * (low + high);
    let at = f(x);
    if at <= 0.0 || !at.is_finite() {
        return f64::INFINITY;
    }
    let ln_c = (x - 1.0).ln() - at.ln() - (order - 1.0) * epsilon;
    let expectation = cumulant.exp_m1() + convexity_gap(order, t1);
    ln_c + (expectation * (1.0 + 1e-12) + 1e-15 * order).ln() + INFLATION
}

/// 1 − t₁^α − α·t₁^{α−1}(1−t₁) ≥ 0, without cancellation near t₁ = 1.
fn convexity_gap(order: f64, t1: f64) -> f64 {
    let v = 1.0 - t1;
    if order * v < 1e-3 {
        // α(α−1)v²/2·(1 − (2/3)(α−2)v + …): the first omitted term is below 1e-6 of the first; kept from below by
        // raising.
        let first = 0.5 * order * (order - 1.0) * v * v;
        return first * (1.0 - 2.0 / 3.0 * (order - 2.0) * v).max(0.0) * (1.0 + 2e-6);
    }
    if t1 == 0.0 {
        return 1.0;
    }
    let ln_t1 = t1.ln();
    -(order * ln_t1).exp_m1() - order * ((order - 1.0) * ln_t1).exp() * v
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truncated(rho: f64, omega: f64) -> Conversion<impl Fn(f64) -> f64> {
        Conversion { cumulant: move |order| rho * order * (order - 1.0), largest_order: omega }
    }

    #[test]
    fn the_dual_bound_meets_its_table() {
        // The table of the tCDP specification, A1.6 (three decimals).
        for (rho, omega, delta, truth) in [
            (0.1, 3.0, 1e-6, 5.855),
            (0.01, 3.0, 1e-6, 4.561),
            (0.01, 10.0, 1e-6, 1.216),
            (0.001, 5.0, 1e-6, 1.853),
            (0.001, 5.0, 1e-3, 0.260),
            (0.0001, 20.0, 1e-6, 0.347),
            (0.0001, 20.0, 1e-3, 0.033),
            (0.1, 10.0, 1e-6, 2.174),
        ] {
            let found = truncated(rho, omega).epsilon(delta);
            assert!((found - truth).abs() <= 0.0006, "({rho}, {omega}, {delta}): {found}, not {truth}");
        }
    }

    #[test]
    fn the_dual_bound_at_one_order_is_the_vectors() {
        for (rho, order, epsilon, truth) in
            [(0.01, 3.0, 1.0, 0.001_471_998_233_360_55), (0.1, 3.0, 4.0, 4.087_593_228_772_54e-5)]
        {
            let found = ln_delta(rho * order * (order - 1.0), order, epsilon).exp();
            assert!(found >= truth * (1.0 - 1e-12) && found <= truth * (1.0 + 1e-6), "{found} {truth}");
        }
    }

    #[test]
    fn it_is_never_worse_than_the_closed_forms() {
        for rho in [1e-6f64, 1e-3, 0.1, 3.0] {
            for delta in [0.1f64, 1e-5, 1e-15, 1e-30] {
                let found = truncated(rho, f64::INFINITY).epsilon(delta);
                let closed = rho + 2.0 * (rho * (1.0 / delta).ln()).sqrt();
                assert!(found <= closed, "ρ = {rho}, δ = {delta}: {found} > {closed}");
            }
        }
    }
}
