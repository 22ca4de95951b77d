//! A threshold that an innocent score passes with at most a stated probability, by Chernoff's inequality with the exact
//! cumulant function.

use scumble::error::{Error, Result};
use scumble::loss::special::golden_section;
use scumble::quantity::Probability;

/// One independent part of an innocent's score: `one` with probability p, `zero` otherwise.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScoreStep {
    pub(super) p: f64,
    pub(super) one: f64,
    pub(super) zero: f64,
}

/// min over λ > 0 of (ln(1/φ) + Σ ln(p·e^{λ·one} + (1 − p)·e^{λ·zero}))/λ, rounded up: every λ is valid, so the search
/// need not be exact. Infinite where no score varies.
pub(super) fn threshold(steps: &[ScoreStep], false_positive: Probability) -> Result<f64> {
    let false_positive = false_positive.get();
    if !(false_positive > 0.0 && false_positive < 1.0) {
        refuse!("false_positive must be a number in (0, 1), not {false_positive}");
    }
    let rare = -libm::log(false_positive);
    let variance: f64 = steps.iter().map(|step| step.p * (1.0 - step.p) * (step.one - step.zero).powi(2)).sum();
    if variance == 0.0 || !variance.is_finite() {
        return Ok(f64::INFINITY);
    }
    let bound = |log_lambda: f64| {
        let lambda = libm::exp(log_lambda);
        let (mut sum, mut size) = (rare, rare);
        for step in steps {
            let high = (lambda * step.one).max(lambda * step.zero);
            let inner =
                step.p * libm::exp(lambda * step.one - high) + (1.0 - step.p) * libm::exp(lambda * step.zero - high);
            let cumulant = high + libm::log(inner);
            sum += cumulant;
            size += cumulant.abs() + high.abs();
        }
        (sum + 1e-15 * size * (4.0 + libm::log(steps.len() as f64 + 1.0))) / lambda
    };
    // For a normal score the best λ is √(2·ln(1/φ))/σ.
    let middle = 0.5 * libm::log(2.0 * rare / variance);
    let at = golden_section(middle - 12.0, middle + 12.0, 60, bound);
    let value = bound(at);
    Ok(value + 4.0 * f64::EPSILON * value.abs())
}

/// The probability that an innocent score is at least `score`, by going through all outcomes; for at most 20 steps.
pub(super) fn exact_tail(steps: &[ScoreStep], score: f64) -> Option<f64> {
    if steps.len() > 20 {
        return None;
    }
    let mut total = 0.0;
    for outcome in 0..1u32 << steps.len() {
        let (mut sum, mut mass) = (0.0, 1.0);
        for (at, step) in steps.iter().enumerate() {
            let bit = outcome >> at & 1 == 1;
            sum += if bit { step.one } else { step.zero };
            mass *= if bit { step.p } else { 1.0 - step.p };
        }
        if sum >= score {
            total += mass;
        }
    }
    Some(total)
}

/// Probabilities strictly between 0 and 1.
pub(super) fn check_probabilities(values: &[f64], name: &str) -> Result<()> {
    match values.iter().position(|p| !(*p > 0.0 && *p < 1.0)) {
        Some(at) => Err(Error::refused(format!("{name} {at} must be a number in (0, 1), not {}", values[at]))),
        None => Ok(()),
    }
}
