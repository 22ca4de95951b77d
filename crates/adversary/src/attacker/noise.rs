//! Data uncertainty and noise together: the count S + Z, where S is what the attacker does not know and Z is added
//! noise.
//!
//! All three kinds of noise are log-concave, as is the law of S, so that the likelihood ratio of S + Z against
//! S + Z + s is monotone and the best event is a half-line.

use super::bound::{Bound, Directions, UNIT};
use super::hockey::{self, LARGEST_EPSILON};
use super::window::Window;
use scumble::error::{Error, Result};
use scumble::quantity::{Epsilon, Scale, Sigma};

/// Continuous noise narrower than this, on an integer count, is left out of the analysis: it hides nothing, and its
/// exponents are too large for f64.
const NARROWEST: f64 = 0.05;

/// Discrete Gaussian noise is left out of the analysis when σ times the width of the law is above this: its convolution
/// would take too long. Then only what the noise gives alone counts.
const MOST_WORK: f64 = 1e7;

/// The noise that is added to the count.
// Exhaustive on purpose: a match in another crate must decide about every variant, so a new one may not pass unseen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AddedNoise {
    /// The count as it is.
    None,
    /// Two-sided geometric: P\[z\] ∝ ratio^|z|. Integer noise: the one to prefer.
    Geometric(Ratio),
    /// Continuous Laplace: density ∝ e^{−|z|/scale}.
    Laplace(Scale),
    /// Continuous Gaussian.
    Gaussian(Sigma),
    /// Discrete Gaussian: P\[z\] ∝ e^{−z²/2σ²} on the integers.
    DiscreteGaussian(Sigma),
}

/// The ratio p of a two-sided geometric law, in (0, 1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio(f64);

impl Ratio {
    /// Checks that the ratio is strictly between 0 and 1.
    pub fn new(ratio: f64) -> Result<Self> {
        if ratio > 0.0 && ratio < 1.0 {
            Ok(Self(ratio))
        } else {
            Err(Error::refused(format!("the p of geometric noise must be a number in (0, 1), not {ratio}")))
        }
    }

    /// The number itself.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl AddedNoise {
    /// The ε that the noise alone gives against everybody, without any assumption, if it gives one: differential
    /// privacy.
    pub fn pure_epsilon(&self, shift: u32) -> Option<f64> {
        let shift = f64::from(shift);
        match self {
            Self::Geometric(ratio) => Some(-shift * ratio.0.ln() * (1.0 + 4.0 * UNIT)),
            Self::Laplace(scale) => Some(shift / scale.get() * (1.0 + 2.0 * UNIT)),
            Self::None | Self::Gaussian(_) | Self::DiscreteGaussian(_) => None,
        }
    }
}

/// H_ε(law(shift + S + Z) ‖ law(S + Z)) and the reverse. Exactly 0 where the noise alone gives ε.
///
/// # Guarantee
/// `others` must hold a Poisson–binomial law (log-concave); both bounds then include all rounding.
///
/// ```
/// use scumble::quantity::epsilon;
/// use scumble_adversary::attacker::{AddedNoise, Ratio, Window, directions_with_noise};
/// let others = Window::binomial(100, 0.5, 0.5);
/// let noise = AddedNoise::Geometric(Ratio::new(0.5)?);
/// assert!(directions_with_noise(&others, noise, epsilon(0.5)?, 1).delta().upper > 0.0);
/// assert_eq!(directions_with_noise(&others, noise, epsilon(0.7)?, 1).delta().upper, 0.0);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn directions_with_noise(others: &Window, noise: AddedNoise, epsilon: Epsilon, shift: u32) -> Directions {
    let epsilon = epsilon.get();
    let mirrored = others.clone().mirrored(0);
    Directions {
        with_against_without: with_against_without(others, noise, epsilon, shift),
        without_against_with: with_against_without(&mirrored, noise, epsilon, shift),
    }
}

/// Only d10. (d01 is d10 of the mirrored law, since all noises are symmetric.)
pub(super) fn with_against_without(others: &Window, noise: AddedNoise, epsilon: f64, shift: u32) -> Bound {
    if noise.pure_epsilon(shift).is_some_and(|pure| epsilon >= pure) {
        return Bound::exactly(0.0);
    }
    let left_out = match noise {
        AddedNoise::Laplace(scale) => scale.get() < NARROWEST,
        AddedNoise::Gaussian(sigma) => sigma.get() < NARROWEST,
        AddedNoise::DiscreteGaussian(sigma) => sigma.get() * others.values().len() as f64 > MOST_WORK,
        AddedNoise::None | AddedNoise::Geometric(_) => false,
    };
    if left_out {
        // Noise is post-processing, so that leaving it out is safe from above, and says nothing from below.
        return Bound::at_most(hockey::with_against_without(others, epsilon, shift).upper);
    }
    match noise {
        AddedNoise::None => hockey::with_against_without(others, epsilon, shift),
        AddedNoise::Geometric(ratio) => geometric(others, ratio.0, epsilon, shift),
        AddedNoise::Laplace(scale) => laplace(others, scale.get(), epsilon, shift as usize),
        AddedNoise::Gaussian(sigma) => gaussian(others, sigma.get(), epsilon, f64::from(shift)),
        AddedNoise::DiscreteGaussian(sigma) => {
            hockey::with_against_without(&others.convolved(&discrete_gaussian(sigma.get())), epsilon, shift)
        }
    }
}

/// The law of discrete Gaussian noise, to where less than 1e-42 is left.
fn discrete_gaussian(sigma: f64) -> Window {
    // e^{−z²/2σ²} at 14.5σ is below 1e-45; the ratio to the next is at most e^{−14/σ}, and at least σ/14 terms are as
    // large.
    let reach = (14.5 * sigma).ceil() as i64 + 1;
    let at = |z: i64| (-0.5 * (z as f64 / sigma) * (z as f64 / sigma)).exp();
    let values: Vec<f64> = (-reach..=reach).map(at).collect();
    let ratio = (-(reach as f64) / (sigma * sigma)).exp();
    let cut = 2.02 * at(reach) * ratio / (1.0 - ratio);
    // The exponent is at most about 110, with three roundings.
    Window::normalised(-reach, values, 500.0 * UNIT, cut)
}

/// h = f ∗ geometric by two recursions of positive terms; beyond the window its tails are geometric, in closed form.
fn geometric(others: &Window, ratio: f64, epsilon: f64, shift: u32) -> Bound {
    let values = others.values();
    let reach = shift as usize;
    // From `reach` below the first to `reach` above the last value.
    let mut mixed = vec![0.0; values.len() + 2 * reach];
    let mut left = 0.0;
    for (index, sum) in mixed.iter_mut().enumerate().skip(reach) {
        left = left * ratio + values.get(index - reach).copied().unwrap_or(0.0);
        *sum = left;
    }
    let mut right = 0.0;
    for (index, sum) in mixed.iter_mut().enumerate().rev() {
        *sum += right;
        let here = index.checked_sub(reach).and_then(|place| values.get(place)).copied().unwrap_or(0.0);
        right = ratio * (right + here);
    }
    let scale = (1.0 - ratio) / (1.0 + ratio);
    mixed.iter_mut().for_each(|value| *value *= scale);
    let (lowest, highest) = (mixed[0], mixed[mixed.len() - 1]);
    let error = others.relative_error() + (3.0 * mixed.len() as f64 + 20.0) * UNIT;
    let law = Window::held(0, mixed, error, others.dropped());
    let power = ratio.powi(shift.min(1 << 20) as i32);
    let tail = ratio / (1.0 - ratio);
    hockey::certified(&law, epsilon, |factor| {
        let values = law.values();
        let inside: f64 = values[..values.len() - reach]
            .iter()
            .zip(&values[reach..])
            .map(|(before, here)| (before - factor * here).max(0.0))
            .sum();
        // The last `reach` values stand against the tail beyond them, and so on for ever.
        let above: f64 = values[values.len() - reach..].iter().sum::<f64>() + highest * tail;
        // Below, what stands at k − s against k: only when e^ε < ratio^s, which ε ≥ 0 excludes up to rounding.
        let below: f64 = values[..reach].iter().sum::<f64>() + lowest * tail;
        inside + above * (1.0 - factor * power).max(0.0) + below * (power - factor).max(0.0)
    })
}

/// The tail function G(x) = P\[S + Z > x\] on each cell \[j, j+1) is ½A e^{−u/b} + T − ½C e^{−(1−u)/b}, u = x − j, and
/// d10 = sup_x G(x−s) − e^ε G(x); in each cell the sup is at an end or at the one stationary point.
fn laplace(others: &Window, scale: f64, epsilon: f64, shift: usize) -> Bound {
    let values = others.values();
    let cells = values.len() + 2 * shift + 2;
    let decay = (-1.0 / scale).exp();
    let value = |cell: usize| cell.checked_sub(shift + 1).and_then(|index| values.get(index)).copied().unwrap_or(0.0);
    // Cell j of these arrays is the integer first + j − shift − 1.
    let (mut a, mut c, mut t) = (vec![0.0; cells], vec![0.0; cells], vec![0.0; cells]);
    let mut left = 0.0;
    for (cell, sum) in a.iter_mut().enumerate() {
        left = left * decay + value(cell);
        *sum = left;
    }
    let (mut right, mut above) = (0.0, 0.0);
    for cell in (0..cells).rev() {
        (c[cell], t[cell]) = (right, above);
        right = right * decay + value(cell);
        above += value(cell);
    }
    let error = others.relative_error() + (4.0 * cells as f64 + 60.0) * UNIT;
    let factor = epsilon.min(LARGEST_EPSILON).exp();
    let tail = |cell: usize, u: f64| {
        let falling = 0.5 * a[cell] * (-u / scale).exp();
        falling + (t[cell] - 0.5 * c[cell] * (-(1.0 - u) / scale).exp())
    };
    let (mut upper, mut lower) = (0.0f64, 0.0f64);
    for cell in shift..cells {
        let alpha = a[cell - shift] - factor * a[cell];
        let gamma = c[cell - shift] - factor * c[cell];
        let stationary = 0.5 * (1.0 + scale * (-alpha / gamma).ln());
        for u in [0.0, 1.0, stationary] {
            if (0.0..=1.0).contains(&u) {
                let (before, here) = (tail(cell - shift, u), tail(cell, u));
                // A rounded stationary point loses in the second order only.
                let flat = 1e-15 * (alpha.abs() + gamma.abs());
                upper = upper.max(before / (1.0 - error) - factor * here / (1.0 + error) + flat);
                lower = lower.max(before / (1.0 + error) - factor * here / (1.0 - error));
            }
        }
    }
    Bound::new(lower - factor * 1.01 * others.dropped(), upper + others.dropped() + 1e-300)
}

/// G(x) = Σ f(k) Φ̄((x−k)/σ); the density ratio h(x−s)/h(x) rises in x, and the best half-line starts where it is e^ε.
fn gaussian(others: &Window, sigma: f64, epsilon: f64, shift: f64) -> Bound {
    let mixture = Mixture { values: others.values(), sigma };
    let width = others.values().len() as f64;
    let epsilon = epsilon.min(LARGEST_EPSILON);
    let (low, high) = mixture.crossing(epsilon, shift, others.relative_error());
    let error = others.relative_error() + (width + 2000.0) * UNIT;
    let factor = epsilon.exp();
    let (before, here) = (mixture.tail(low.at - shift), mixture.tail(low.at));
    let lower = before / (1.0 + error) - factor * here / (1.0 - error);
    let at_low = before / (1.0 - error) - factor * here / (1.0 + error);
    // From `low` to the best point x*, G(x−s) − e^ε G(x) grows by ∫(e^ε h(x) − h(x−s)) ≤ (e^{−excess} − 1)·∫h(x−s), and
    // that integral is at most G(low−s) − G(high−s).
    let mass = (before - mixture.tail(high.at - shift)).max(0.0) + before * 2.0 * error;
    let gain = (low.slack - low.excess).exp_m1().max(0.0) * mass;
    let dropped = others.dropped();
    Bound::new(lower - factor * 1.01 * dropped, at_low + 1.01 * gain + dropped + 1e-300)
}

/// A place, ln of the density ratio there minus ε, and by how much rounding may have moved that.
#[derive(Clone, Copy)]
struct Probe {
    at: f64,
    excess: f64,
    slack: f64,
}

/// A mixture of Gaussians at 0, 1, 2, … with these weights.
struct Mixture<'a> {
    values: &'a [f64],
    sigma: f64,
}

impl Mixture<'_> {
    /// Two places close together between which the density ratio certainly passes e^ε.
    fn crossing(&self, epsilon: f64, shift: f64, relative_error: f64) -> (Probe, Probe) {
        let look = |at: f64| {
            let (before, here) = (self.log_density(at - shift), self.log_density(at));
            let slack = 4.0 * relative_error + 8.0 * UNIT * (before.abs() + here.abs() + 2000.0);
            Probe { at, excess: before - here - epsilon, slack }
        };
        // The log ratio of one Gaussian at distance y from its centre is (y·s − s²/2)/σ²: at these ends it is beyond ε.
        let margin = self.sigma * self.sigma * (epsilon + 1.0) / shift + shift;
        let (mut low, mut high) = (look(-margin), look(self.values.len() as f64 + margin));
        for round in 0..200 {
            let gap = high.at - low.at;
            if gap <= 1e-9 * self.sigma {
                break;
            }
            // Secant, kept off the ends so that the other end follows; the middle now and then.
            let secant = low.at + gap * (-low.excess / (high.excess - low.excess));
            let usable = round % 4 != 3 && secant.is_finite();
            let at = if usable { secant.clamp(low.at + 0.02 * gap, high.at - 0.02 * gap) } else { low.at + 0.5 * gap };
            let place = look(at);
            if place.excess < -place.slack {
                low = place;
            } else if place.excess > place.slack {
                high = place;
            } else {
                // Rounding hides the sign here: a quarter to either side, or stop.
                let (left, right) = (look(0.5 * (low.at + at)), look(0.5 * (at + high.at)));
                let (moved_low, moved_high) = (left.excess < -left.slack, right.excess > right.slack);
                low = if moved_low { left } else { low };
                high = if moved_high { right } else { high };
                if !moved_low && !moved_high {
                    break;
                }
            }
        }
        (low, high)
    }

    /// ln h(x), up to the constant of the Gaussian.
    fn log_density(&self, x: f64) -> f64 {
        let exponent = |k: usize| {
            let z = (x - k as f64) / self.sigma;
            -0.5 * z * z
        };
        let range = self.range(x);
        let mut largest = f64::NEG_INFINITY;
        for k in range.clone() {
            // log2 of the weight to within one is enough for a scale: take it from the exponent bits.
            let weight = (((self.values[k].to_bits() >> 52) as f64) - 1023.0) * std::f64::consts::LN_2;
            largest = largest.max(exponent(k) + weight);
        }
        let sum: f64 = range.map(|k| self.values[k] * (exponent(k) - largest).exp()).sum();
        sum.ln() + largest
    }

    /// The places within 45σ of x, or all if the law is elsewhere: others do not reach e^{−1000} of the sum.
    fn range(&self, x: f64) -> std::ops::Range<usize> {
        let count = self.values.len();
        let reach = 45.0 * self.sigma + 1.0;
        let (from, to) = ((x - reach).floor().max(0.0) as usize, (x + reach).ceil().max(0.0) as usize + 1);
        if from >= count || x < 0.0 || x > count as f64 { 0..count } else { from..to.min(count) }
    }

    /// G(x), up to relative rounding.
    fn tail(&self, x: f64) -> f64 {
        let factor = -std::f64::consts::FRAC_1_SQRT_2 / self.sigma;
        // Everything far above x counts in full: Φ̄(−9) is 1 to f64.
        let whole_from = ((x + 9.0 * self.sigma).ceil().max(0.0) as usize).min(self.values.len());
        let whole: f64 = self.values[whole_from..].iter().rev().sum();
        let part: f64 = (0..whole_from).map(|k| self.values[k] * 0.5 * libm::erfc((k as f64 - x) * factor)).sum();
        whole + part
    }
}
