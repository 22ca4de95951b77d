//! The largest loss of noise with P\[z\] = 1/(N(s)(1 + (z/s)⁴)), certified.
//!
//! With z = w + D the ratio of the laws is e^c·h, c = ln N(s′)/N(s) + 4·ln(s/s′) and h = (s′⁴ + z⁴)/(s⁴ + w⁴). Of all z
//! with |z − w| ≤ D the largest has |z| = |w| + D, so that w ≥ 0 is enough. With x = w/s, a = D/s, r = s′/s:
//! h(x) = (r⁴ + (x+a)⁴)/(1 + x⁴).
//!
//! *h rises, then falls.* h ≥ M means (M−1)x⁴ − 4ax³ − 6a²x² − 4a³x + (M − r⁴ − a⁴) ≤ 0. For M > 1 the derivative has
//! the signs + − − −, hence one positive root (Descartes): the polynomial falls, then rises, and it is ≤ 0 on an
//! interval. For M ≤ 1 only its last coefficient can be positive, and it is ≤ 0 from one point on. So {h ≥ M} is an
//! interval for every M. Its derivative has the sign of (x+a)³ − r⁴x³ − a·x³(x+a)³. *Certificate*: two points x₁ < x₂
//! with h rising at x₁ and falling at x₂, both by more than what rounding can be; then the largest h at an integer w is
//! at one of the two or three integers from ⌊x₁s⌋ to ⌈x₂s⌉, and at very large scales sup h ≤ (r⁴ + (x₂+a)⁴)/(1 + x₁⁴).
//! No search can miss a maximum. (The specification asks for branch and bound, and leaves a certificate open.)

use super::pairs;
use crate::noise::Levels;
use crate::noise::cauchy4::norm;

/// What about ten operations may be off by, relatively.
const ROUNDING: f64 = 4e-15;
/// What norms and logarithms may be off by: a norm is good to 1e-14.
const SLACK: f64 = 1e-12;

/// The largest loss over all pairs of neighbouring levels, both orders.
///
/// # Guarantee
/// An upper bound, at most about 1e-9 above the supremum over all integers.
pub(super) fn epsilon(levels: &Levels) -> f64 {
    pairs(levels).map(|(scale, other, shift)| largest_loss(scale, other, shift)).fold(0.0, f64::max)
}

/// sup over z of ln(p_s(z − D)/p_{s′}(z)).
pub(super) fn largest_loss(scale: f64, other: f64, shift: f64) -> f64 {
    let front = (norm(other) / norm(scale)).ln() + 4.0 * (scale / other).ln();
    let (r, a) = (other / scale, shift / scale);
    let (low, high) = peak(r, a);
    let ratio = |above: f64, below: f64| (r.powi(4) + (above + a).powi(4)) / (1.0 + below.powi(4)) * (1.0 + ROUNDING);
    let (first, last) = ((low * scale * (1.0 - ROUNDING)).floor(), (high * scale * (1.0 + ROUNDING)).ceil());
    let largest = if last - first <= 3.0 {
        (0..4).map(|step| first + f64::from(step)).map(|w| ratio(w / scale, w / scale)).fold(1.0, f64::max)
    } else {
        ratio(high, low)
    };
    front + largest.ln() + SLACK
}

/// Two points around the only peak of (r⁴ + (x+a)⁴)/(1 + x⁴) on x ≥ 0; a > 0.
fn peak(r: f64, a: f64) -> (f64, f64) {
    let fourth = r.powi(4);
    // Some(true): certainly rising.
    let rising = |x: f64| {
        let cube = (x + a).powi(3);
        let (up, down) = (cube, x.powi(3) * (fourth + a * cube));
        if up > down * (1.0 + ROUNDING) {
            Some(true)
        } else if down > up * (1.0 + ROUNDING) {
            Some(false)
        } else {
            None
        }
    };
    let (mut low, mut high) = (1.0, 1.0);
    while rising(low) != Some(true) {
        low *= 0.5;
    }
    while rising(high) != Some(false) {
        high *= 2.0;
    }
    // Halve as long as the sign is certain.
    while high - low > low * 1e-14 {
        let middle = 0.5 * (low + high);
        match rising(middle) {
            Some(true) => low = middle,
            Some(false) => high = middle,
            None => break,
        }
    }
    (closer(low, high, |x| rising(x) == Some(true)), closer(high, low, |x| rising(x) == Some(false)))
}

/// From `certain` towards `other`, as far as it stays certain, or nearly.
fn closer(certain: f64, other: f64, is_certain: impl Fn(f64) -> bool) -> f64 {
    let (mut certain, mut other) = (certain, other);
    for _ in 0..40 {
        let middle = 0.5 * (certain + other);
        if is_certain(middle) { certain = middle } else { other = middle }
    }
    certain
}
