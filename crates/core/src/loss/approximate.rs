//! Composition of (ε, δ) alone, by the textbook rules.
//!
//! [`super::Loss`] composes `approximate` events optimally (the Kairouz–Oh–Viswanath pair, exact up to rounding,
//! homogeneous or not); the rules here are the ones that other tools print, for comparison and as checks.

use super::Bounds;
use crate::quantity::{Delta, Epsilon};

/// An (ε, δ) that certainly holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ApproximateBound {
    /// The bound ε.
    pub epsilon: f64,
    /// The mass δ, at most 1.
    pub delta: f64,
}

/// Basic composition: everything adds up.
///
/// ```
/// use scumble::loss::approximate::basic;
/// use scumble::quantity::{Delta, Epsilon};
/// let sum = basic(Epsilon::new(0.1)?, Delta::new(1e-8)?, 100);
/// assert!((sum.epsilon - 10.0).abs() < 1e-9 && (sum.delta - 1e-6).abs() < 1e-15);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn basic(epsilon: Epsilon, delta: Delta, times: u64) -> ApproximateBound {
    let times = times as f64;
    ApproximateBound { epsilon: rounded_up(times * epsilon.get()), delta: rounded_up(times * delta.get()).min(1.0) }
}

/// Advanced composition with its constants: ε√(2k·ln(1/δ′)) + kε(e^ε−1)/(e^ε+1) at kδ + δ′
/// \[DR14, Theorem 3.20; KOV15\].
///
/// ```
/// use scumble::loss::approximate::{advanced, basic};
/// use scumble::quantity::{Delta, Epsilon};
/// let (epsilon, delta) = (Epsilon::new(0.01)?, Delta::new(0.0)?);
/// let advanced = advanced(epsilon, delta, 10_000, Delta::new(1e-6)?);
/// assert!(advanced.epsilon < basic(epsilon, delta, 10_000).epsilon / 10.0);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn advanced(epsilon: Epsilon, delta: Delta, times: u64, slack: Delta) -> ApproximateBound {
    let (one, times) = (epsilon.get(), times as f64);
    let deviation = one * (2.0 * times * -slack.get().ln()).sqrt();
    let drift = times * one * (one / 2.0).tanh();
    ApproximateBound {
        epsilon: rounded_up(deviation + drift),
        delta: rounded_up(times * delta.get() + slack.get()).min(1.0),
    }
}

fn rounded_up(value: f64) -> f64 {
    value * (1.0 + 1e-14)
}

/// The optimal curve of k-fold (ε, δ), at ε′ = (k−2i)ε, in closed form \[KOV15, Theorem 3.3\]: a check of the engine.
///
/// ```
/// use scumble::loss::approximate::optimal;
/// use scumble::quantity::{Delta, Epsilon};
/// // No composition at all: i = 0 is (ε, δ) itself.
/// let (at, delta) = optimal(Epsilon::new(0.5)?, Delta::new(1e-6)?, 1, 0);
/// assert_eq!(at, 0.5);
/// assert!(delta.lower <= 1e-6 && 1e-6 <= delta.upper);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn optimal(epsilon: Epsilon, delta: Delta, times: u64, index: u64) -> (f64, Bounds) {
    let (one, k, i) = (epsilon.get(), times as f64, index.min(times / 2) as f64);
    let ln_whole = k * super::special::ln_add(0.0, one);
    let term = |l: u64| {
        let l = l as f64;
        // C(k,l)·(e^{(k−l)ε} − e^{(k−2i+l)ε}), the difference without cancellation.
        let size = super::special::ln_choose(k, l) + (k - l) * one - ln_whole;
        size.exp() * -(-(2.0 * (i - l)) * one).exp_m1()
    };
    let finite: f64 = (0..index.min(times / 2)).map(term).sum();
    let ln_kept = k * (-delta.get()).ln_1p();
    let value = -ln_kept.exp_m1() + ln_kept.exp() * finite;
    let error = 1e-12 * (1.0 + k * 1e-3);
    ((k - 2.0 * i) * one, Bounds { lower: value * (1.0 - error), upper: value * (1.0 + error) + f64::MIN_POSITIVE })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, Moves, Shift, Word};
    use crate::loss::Loss;
    use crate::scope::Scope;

    #[test]
    fn the_engine_meets_the_closed_form_and_beats_the_textbook() {
        let (epsilon, delta) = (Epsilon::new(0.1).unwrap(), Delta::new(1e-8).unwrap());
        let event = Event::new(Word::Approximate { epsilon, delta }, Moves::everywhere(Shift::one_cell(1.0).unwrap()));
        let loss = Loss::of(&[event.repeated(100).unwrap()], &Scope::Presence).unwrap();
        for index in [5, 20, 30] {
            let (at, truth) = optimal(epsilon, delta, 100, index);
            let found = loss.delta(Epsilon::new(at).unwrap());
            assert!(found.lower <= truth.upper && truth.lower <= found.upper, "{found:?} {truth:?}");
            assert!(found.upper <= truth.upper * (1.0 + 1e-6), "{found:?} {truth:?}");
        }
        let textbook = advanced(epsilon, delta, 100, Delta::new(1e-5).unwrap());
        let optimal = loss.epsilon(Delta::new(textbook.delta).unwrap());
        assert!(optimal.upper < textbook.epsilon && textbook.epsilon < basic(epsilon, delta, 100).epsilon);
    }
}
