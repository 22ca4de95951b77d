//! What is claimed of a mechanism, as the largest probability that it leaves an event.

use super::counts::ConfidenceBounds;
use super::normal::normal_quantile;
use scumble::error::Result;
use scumble::loss::Loss;
use scumble::loss::special::{TRUSTED, normal_above};
use scumble::quantity::{Delta, Epsilon};

/// A claim: if it is true, an event of probability q on the neighbour has at most [`Claim::allowed`] on the table.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Claim {
    /// (ε, δ)-differential privacy.
    Approximate {
        /// ε.
        epsilon: Epsilon,
        /// δ.
        delta: Delta,
    },
    /// Gaussian noise with this ratio μ = Δ/σ: the curve is known exactly.
    Gaussian {
        /// μ, at least 0.
        mu: f64,
    },
    /// The curve δ(ε) of events, at as many ε as were computed.
    Curve(ClaimedCurve),
}

/// Points (ε, δ) at which a mechanism is claimed to be (ε, δ)-private, all at once.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedCurve {
    points: Vec<(f64, f64)>,
}

/// At this many ε a curve is computed. Any number of them gives a true statement; more give a sharper one.
const POINTS: u32 = 64;

impl Claim {
    /// The claim that accounting makes for events.
    ///
    /// ```
    /// use scumble::quantity::{beta, epsilon};
    /// use scumble_adversary::audit::{Claim, Counts};
    /// use scumble::{Additive, Loss, Scope, Target};
    /// let count = Additive::count().within(Target::pure(epsilon(0.5)?), Scope::Presence)?;
    /// let claim = Claim::of(&Loss::of(count.events()?, Scope::Presence)?)?;
    /// assert!(claim.is_refuted_by(&Counts::new(731, 1000, 269, 1000)?.confidence(beta(0.05)?)?));
    /// assert!(!claim.is_refuted_by(&Counts::new(600, 1000, 400, 1000)?.confidence(beta(0.05)?)?));
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn of(loss: &Loss) -> Result<Self> {
        // Up to the pure bound, or to where δ is too small to be seen in outputs; beside a δ of its own, nearly to
        // where there is nothing else.
        let mut reach = f64::INFINITY;
        for delta in
            [0.0, 1e-12, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 2e-3, 4e-3, 8e-3, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512]
        {
            if reach.is_infinite() {
                reach = loss.epsilon(Delta::new(delta)?).upper;
            }
        }
        let end = if reach.is_finite() { reach } else { 10.0 };
        let mut points = Vec::new();
        for i in 0..=POINTS {
            let epsilon = end * f64::from(i) / f64::from(POINTS);
            points.push((epsilon, loss.delta(Epsilon::new(epsilon)?).upper));
        }
        Ok(Self::Curve(ClaimedCurve { points }))
    }

    /// An upper bound of the probability of an event that has at most probability `q` on the neighbour, if the claim is
    /// true.
    ///
    /// # Guarantee
    /// p ≤ e^ε·q + δ(ε) for every claimed pair; and for the complement of the event with the tables swapped,
    /// 1 − q ≤ e^ε·(1 − p) + δ(ε). For Gaussian noise the least of these over all ε is Φ(Φ⁻¹(q) + μ)
    /// (Dong, Roth, Su 2022). Rounded up.
    pub fn allowed(&self, q: f64) -> f64 {
        match self {
            Self::Approximate { epsilon, delta } => at_point(q, epsilon.get(), delta.get()),
            Self::Gaussian { mu } if q <= 0.0 || q >= 1.0 || mu.is_infinite() => {
                if q <= 0.0 {
                    0.0
                } else {
                    1.0
                }
            }
            Self::Gaussian { mu } => {
                let moved = normal_quantile(q).upper + mu;
                let moved = moved + 2.0 * f64::EPSILON * (moved.abs() + mu);
                (normal_above(-moved) * (1.0 + TRUSTED)).min(1.0)
            }
            Self::Curve(curve) => {
                curve.points.iter().map(|(epsilon, delta)| at_point(q, *epsilon, *delta)).fold(1.0, f64::min)
            }
        }
    }

    /// Whether the claim cannot be true, at the confidence of what was seen.
    pub fn is_refuted_by(&self, seen: &ConfidenceBounds) -> bool {
        seen.p_low > self.allowed(seen.q_high)
    }
}

fn at_point(q: f64, epsilon: f64, delta: f64) -> f64 {
    const UP: f64 = 1.0 + 8.0 * f64::EPSILON;
    let direct = libm::exp(epsilon) * q * UP + delta;
    // 1 − p ≥ e^{−ε}·(1 − q − δ).
    let left = ((1.0 - q).next_down() - delta).next_down().max(0.0) * libm::exp(-epsilon) / UP;
    direct.next_up().min((1.0 - left).next_up()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Counts;

    /// The curve of a Gaussian at some ε allows a little more than all of it; and never less.
    #[test]
    fn a_curve_allows_no_less_than_the_exact_claim() {
        use scumble::event::{Event, Moves, Shift, Word};
        let word = Word::Gaussian { sigma: 4.0.try_into().unwrap() };
        let event = Event::new(word, Moves::everywhere(Shift::one_cell(1.0).unwrap()));
        let curve = Claim::of(&Loss::of([event], scumble::Scope::Presence).unwrap()).unwrap();
        let exact = Claim::Gaussian { mu: 0.25 };
        for q in [0.0, 1e-9, 1e-3, 0.1, 0.5, 0.9, 0.999, 1.0] {
            let (loose, sharp) = (curve.allowed(q), exact.allowed(q));
            assert!(loose >= sharp * (1.0 - 1e-12) && loose <= sharp * 1.05 + 1e-9, "{q}: {loose} {sharp}");
        }
    }

    /// Both orders of the tables: the direct inequality says nothing about a frequent event, that of the complement
    /// does.
    #[test]
    fn a_frequent_event_refutes_by_its_complement() {
        let claim = Claim::Approximate { epsilon: 1.0.try_into().unwrap(), delta: 0.0.try_into().unwrap() };
        assert!((claim.allowed(0.9) - (1.0 - 0.1 * f64::exp(-1.0))).abs() < 1e-12);
        let seen =
            Counts::new(100_000, 100_000, 90_000, 100_000).unwrap().confidence(0.01.try_into().unwrap()).unwrap();
        assert!(seen.epsilon_lower(0.0.try_into().unwrap()) < 0.2 && claim.is_refuted_by(&seen));
    }
}
