//! ε for a δ: the smallest ε at which a certified δ is small enough.

use super::bound::Bound;
use super::hockey::LARGEST_EPSILON;
use scumble::error::Result;
use scumble::quantity::{Delta, Epsilon};

/// ε for a given δ, between certified ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpsilonBounds {
    /// At this ε, δ is certainly small enough: the number to claim.
    pub upper: f64,
    /// Below this ε, δ is certainly too large (0 if nothing is known).
    pub lower: f64,
    /// δ at `upper`.
    pub delta: Bound,
}

/// The smallest ε, to within `precision` (relative), whose certified δ is at most `delta`; `None` if there is none
/// below 700.
///
/// δ must fall in ε, except for the slack between its lower and its upper end. What is returned was evaluated itself:
/// rounding or a slack that is not monotone cannot make it wrong.
///
/// ```
/// use scumble::quantity::delta;
/// use scumble_adversary::attacker::{Bound, epsilon_for};
/// let found = epsilon_for(delta(1e-3)?, 1e-9, |epsilon| Ok(Bound::exactly((-epsilon.get()).exp())))?.unwrap();
/// assert!(found.upper >= 1000f64.ln() && found.upper < 1000f64.ln() + 1e-7);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn epsilon_for(
    delta: Delta,
    precision: f64,
    mut at: impl FnMut(Epsilon) -> Result<Bound>,
) -> Result<Option<EpsilonBounds>> {
    let delta = delta.get();
    let mut at = |epsilon: f64| at(Epsilon::new(epsilon)?);
    let zero = at(0.0)?;
    if zero.upper <= delta {
        return Ok(Some(EpsilonBounds { upper: 0.0, lower: 0.0, delta: zero }));
    }
    let target = delta.max(f64::MIN_POSITIVE).ln();
    let height = |bound: &Bound| bound.upper.max(f64::MIN_POSITIVE).ln() - target;
    let mut known_too_large = if zero.lower > delta { Some(0.0) } else { None };
    let (mut low, mut at_low) = (0.0f64, height(&zero));
    let (mut high, mut found) = (0.125f64, at(0.125)?);
    while found.upper > delta {
        note(&mut known_too_large, high, found, delta);
        (low, at_low) = (high, height(&found));
        if high >= LARGEST_EPSILON {
            return Ok(None);
        }
        high = (high * 2.0).min(LARGEST_EPSILON);
        found = at(high)?;
    }
    let mut at_high = height(&found);
    for round in 0..80 {
        if high - low <= precision * high {
            break;
        }
        // ln δ is nearly a parabola in ε: the secant is good, and every third step is the middle.
        let secant = low + (high - low) * at_low / (at_low - at_high);
        let edge = 0.01 * (high - low);
        let epsilon = if round % 3 == 2 || !secant.is_finite() {
            0.5 * (low + high)
        } else {
            secant.clamp(low + edge, high - edge)
        };
        let bound = at(epsilon)?;
        if bound.upper <= delta {
            (high, found, at_high) = (epsilon, bound, height(&bound));
        } else {
            note(&mut known_too_large, epsilon, bound, delta);
            (low, at_low) = (epsilon, height(&bound));
        }
    }
    Ok(Some(EpsilonBounds { upper: high, lower: known_too_large.unwrap_or(0.0), delta: found }))
}

fn note(known_too_large: &mut Option<f64>, epsilon: f64, bound: Bound, delta: f64) {
    if bound.lower > delta {
        *known_too_large = Some(known_too_large.map_or(epsilon, |before| before.max(epsilon)));
    }
}
