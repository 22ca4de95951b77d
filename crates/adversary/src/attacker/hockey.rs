//! The hockey-stick divergence between a count with and without its target, from the law of the others.

use super::bound::{Bound, Directions, UNIT};
use super::window::Window;
use scumble::quantity::Epsilon;

/// e^ε beyond this is not formed. H_ε falls in ε, so that the value here is still an upper bound.
pub(super) const LARGEST_EPSILON: f64 = 700.0;

/// H_ε(law(shift + S) ‖ law(S)) and the reverse, where S follows `others`: what an attacker who does not know the
/// others learns about a target that contributes 0 or `shift`.
///
/// # Guarantee
/// With f = g + r, r of mass τ not held, and every held value within 1 ± η: (f(k−s) − e^ε f(k))_+ is at most
/// (g(k−s) − e^ε g(k))_+ + r(k−s), so that H_ε ≤ Ĥ_{ε−2.1η}/(1−η) + τ, and H_ε ≥ Ĥ_{ε+2.1η}/(1+η) − e^ε τ.
///
/// ```
/// use scumble::quantity::epsilon;
/// use scumble_adversary::attacker::{Window, directions};
/// let fair_coin = Window::binomial(1, 0.5, 0.5);
/// let delta = directions(&fair_coin, epsilon(1.0)?, 1).delta();
/// assert!(delta.lower <= 0.5 && 0.5 <= delta.upper && delta.upper < 0.5 + 1e-12);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn directions(others: &Window, epsilon: Epsilon, shift: u32) -> Directions {
    directions_at(others, epsilon.get(), shift)
}

/// The same at a number that was checked.
pub(super) fn directions_at(others: &Window, epsilon: f64, shift: u32) -> Directions {
    Directions {
        with_against_without: with_against_without(others, epsilon, shift),
        without_against_with: certified(others, epsilon, |factor| backward(others, factor, shift)),
    }
}

/// Only d10, for callers that look at the mirrored law as well.
pub(super) fn with_against_without(others: &Window, epsilon: f64, shift: u32) -> Bound {
    certified(others, epsilon, |factor| forward(others, factor, shift))
}

/// Turns Σ(a − e^ε b)_+ over held values, given e^ε, into a bound of the same sum over true ones.
pub(super) fn certified(law: &Window, epsilon: f64, sum: impl Fn(f64) -> f64) -> Bound {
    let error = law.relative_error() + 4.0 * UNIT;
    let summing = (law.values().len() as f64 + 8.0) * UNIT;
    let capped = epsilon.min(LARGEST_EPSILON);
    let upper = sum((capped - 2.1 * error).exp()) * (1.0 + summing) / (1.0 - error) + law.dropped();
    let lower = if epsilon > LARGEST_EPSILON {
        0.0
    } else {
        sum((epsilon + 2.1 * error).exp()) * (1.0 - summing) / (1.0 + error) - epsilon.exp() * 1.01 * law.dropped()
    };
    Bound::new(lower, upper)
}

/// Σ_k (g(k−s) − factor·g(k))_+.
fn forward(law: &Window, factor: f64, shift: u32) -> f64 {
    let values = law.values();
    let shift = (shift as usize).min(values.len());
    let overlap = values.len() - shift;
    let inside: f64 =
        values[..overlap].iter().zip(&values[shift..]).map(|(before, here)| (before - factor * here).max(0.0)).sum();
    // Beyond the last value there is nothing to weigh against: these count in full. Below the first, all terms are ≤ 0.
    inside + values[overlap..].iter().sum::<f64>()
}

/// Σ_k (g(k) − factor·g(k−s))_+.
fn backward(law: &Window, factor: f64, shift: u32) -> f64 {
    let values = law.values();
    let shift = (shift as usize).min(values.len());
    let overlap = values.len() - shift;
    let inside: f64 =
        values[shift..].iter().zip(&values[..overlap]).map(|(here, before)| (here - factor * before).max(0.0)).sum();
    inside + values[..shift].iter().sum::<f64>()
}
