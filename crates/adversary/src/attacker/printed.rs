//! Formulas as the paper prints them, kept only to draw them beside the truth. None of them is ever a verdict.

use super::lambda::Lambda;
use super::poisson_binomial::BeliefGroup;
use super::window::Window;
use scumble::quantity::{Delta, Epsilon, Probability};

/// Theorem 3 and Corollary 1, closed form: ε = max(√(14 ln(1/δ)/(λm)), 27/(λm)); only if that is at most 1. Valid, but
/// two to four times too large.
pub fn closed_form(m: u64, lambda: Lambda, delta: Delta) -> (f64, bool) {
    let scale = lambda.get() * m as f64;
    let epsilon = f64::max((14.0 * (1.0 / delta.get()).ln() / scale).sqrt(), 27.0 / scale);
    (epsilon, epsilon <= 1.0)
}

/// Theorem 3 as a ratio, in its kindest reading: P\[X/Y ≥ e^ε\] for independent X, Y ∼ Bin(m, 2λ). *False*: often below
/// the truth.
pub fn theorem_3_ratio(m: u64, lambda: Lambda, epsilon: Epsilon) -> f64 {
    let both = 2.0 * lambda.get();
    let law = Window::binomial(m, both, 1.0 - both);
    let factor = epsilon.get().exp();
    law.values().iter().enumerate().fold(0.0, |sum, (index, weight)| {
        let y = (law.first() + index as i64) as f64;
        sum + weight * law.tail_from((factor * y).ceil() as i64).upper
    })
}

/// Theorem 4: (ε, δ) of a thresholded count of i.i.d. records. Valid where f(T)/(1−r) < 1, but dominated by (0, f(T)).
pub fn theorem_4(n: u64, p: Probability, threshold: u64) -> Option<(f64, f64)> {
    let (heads, tails) = (p.get(), 1.0 - p.get());
    let at = Window::binomial(n - 1, heads, tails).at(threshold as i64);
    let ratio = (n - 1) as f64 * heads / (threshold as f64 * tails);
    let delta = at / (1.0 - ratio);
    (threshold >= 1 && ratio < 1.0 && delta < 1.0).then(|| (-(-delta).ln_1p(), delta))
}

/// Proposition 7 with its printed third moment, which is the wrong one: `(ε, δ)` for a given δ₂. *False* for small δ.
pub fn proposition_7(records: &[BeliefGroup], delta_2: Delta) -> (f64, f64) {
    moments(records, delta_2, |p| p * (1.0 - p) * (1.0 - 2.0 * p).abs())
}

/// Proposition 7 with the third absolute moment that Berry–Esseen needs.
pub fn proposition_7_corrected(records: &[BeliefGroup], delta_2: Delta) -> (f64, f64) {
    moments(records, delta_2, |p| p * (1.0 - p) * (p * p + (1.0 - p) * (1.0 - p)))
}

fn moments(records: &[BeliefGroup], delta_2: Delta, third: impl Fn(f64) -> f64) -> (f64, f64) {
    let delta_2 = delta_2.get();
    let sum = |moment: &dyn Fn(f64) -> f64| -> f64 {
        records.iter().map(|group| moment(group.probability.get()) * group.how_many as f64).sum()
    };
    let (second, third) = (sum(&|p| p * (1.0 - p)), sum(&third));
    let epsilon = (2.0 * (1.25 / delta_2).ln() / second).sqrt();
    (epsilon, 1.12 * third / second.powf(1.5) * (1.0 + epsilon.exp()) + delta_2)
}
