//! What one person's data may change: an answer that differs between neighbours cannot be right on both.

use scumble::quantity::{Delta, Epsilon};

/// Rounding goes up: this is the most that anybody can promise.
const UPWARD: f64 = 1.0 + 4e-16;

/// For neighbours x₀ and x₁, some x_b is answered within half of |q(x₀) − q(x₁)| with at most this probability:
/// (e^ε + δ)/(e^ε + 1).
///
/// The two events are disjoint, so P\[right on x₀\] + P\[right on x₁\] is at most what the best test between neighbours
/// reaches, and the pair of Kairouz, Oh and Viswanath (2015) attains it. It is also the most with which a bit that only
/// one person's row holds is guessed, if the bit was a fair coin. (Vadhan 2017, 7.3.1, has (1 + δ)/(1 + e^{−ε}), which
/// is looser: [`printed_success_at_most`].)
///
/// ```
/// use scumble_adversary::limits::neighbours::success_at_most;
/// assert!((success_at_most(1.0.try_into()?, 0.1.try_into()?) - 0.7580).abs() < 1e-4);
/// assert_eq!(success_at_most(800.0.try_into()?, 0.0.try_into()?), 1.0);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn success_at_most(epsilon: Epsilon, delta: Delta) -> f64 {
    let other = libm::exp(-epsilon.get());
    ((1.0 + delta.get() * other) / (1.0 + other) * UPWARD).min(1.0)
}

/// The bound as the survey prints it, to be shown beside [`success_at_most`].
pub fn printed_success_at_most(epsilon: Epsilon, delta: Delta) -> f64 {
    ((1.0 + delta.get()) / (1.0 + libm::exp(-epsilon.get())) * UPWARD).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pair that attains it: masses (δ, 0), (e^ε, 1), (1, e^ε) and (0, δ), the middle ones scaled by
    /// (1 − δ)/(1 + e^ε).
    #[test]
    fn the_optimal_pair_attains_the_bound() {
        for (epsilon, delta) in [(0.1f64, 0.0f64), (1.0, 0.1), (3.0, 1e-6)] {
            let scale = (1.0 - delta) / (1.0 + epsilon.exp());
            let right = delta + epsilon.exp() * scale;
            let found = success_at_most(epsilon.try_into().unwrap(), delta.try_into().unwrap());
            assert!(found >= right && found <= right * (1.0 + 1e-14), "{found} {right}");
        }
    }
}
