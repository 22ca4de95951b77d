//! The ℓ∞ K-norm mechanism: one noise vector for many answers that all move at once, pure privacy.
//!
//! P\[z\] ∝ e^{−‖z‖∞/scale} on Z^k is Δ∞/scale-private: all k answers may move by Δ∞ together and cost what one does.
//! The largest error is about k·Δ∞/ε, where independent Laplace noise needs k·Δ∞·ln k/ε (Hardt–Talwar; Vadhan, survey
//! 7.2.6). Use it for arbitrary counting queries under pure privacy; where few answers move at once, independent noise
//! is better.
//!
//! ```
//! use scumble::event::{Moves, Shift};
//! use scumble::mechanism::k_norm::KNormMechanism;
//! use scumble::noise::SecureSource;
//! use scumble::quantity::{Beta, Scale, beta};
//! let moves = Moves::everywhere(Shift::one_cell(1.0)?); // every one of the 3 answers may move by 1
//! let mechanism = KNormMechanism::new(Scale::new(2.0)?, 3, moves)?;
//! assert_eq!(mechanism.release(&[10, 20, 30], &mut SecureSource::new()?)?.len(), 3);
//! assert!(mechanism.error(beta(0.05)?)? < 20.0);
//! # Ok::<(), scumble::Error>(())
//! ```

use crate::calibrate::epsilon_of_laplace;
use crate::error::Result;
use crate::event::{Event, Moves, Word};
use crate::noise::{BitSource, KNorm};
use crate::quantity::{Beta, Epsilon, Scale, Sensitivity};
use libm::lgamma;

mod marginal;
use marginal::Marginal;

/// ℓ∞ K-norm noise on a vector of answers.
#[derive(Debug, Clone)]
pub struct KNormMechanism {
    scale: Scale,
    dimension: usize,
    sampler: KNorm,
    moves: Moves,
}

impl KNormMechanism {
    /// Noise of this scale for `dimension` answers at once.
    ///
    /// Each shift in `moves` must be one "cell" that moves by the change of the whole answer in ℓ∞: the vector is one
    /// object.
    pub fn new(scale: Scale, dimension: usize, moves: Moves) -> Result<Self> {
        Ok(Self { scale, dimension, sampler: KNorm::new(scale, dimension)?, moves })
    }

    /// The noisy answers; a sum that leaves the range of an i64 is reported as the nearest i64.
    ///
    /// # Guarantee
    /// Before: two neighbouring datasets' `values` differ in ℓ∞ by at most a shift of `moves` in their scope. After:
    /// the output distributions differ by at most a factor e^{Δ∞/scale}; the noise is exact, whatever the values.
    pub fn release<S: BitSource + ?Sized>(&self, values: &[i64], bits: &mut S) -> Result<Vec<i64>> {
        let mut answers = values.to_vec();
        self.sampler.add_to(&mut answers, bits)?;
        Ok(answers)
    }

    /// The noise alone, for answers that do not end at 64 bits.
    pub fn noise<S: BitSource + ?Sized>(&self, bits: &mut S) -> Vec<i128> {
        self.sampler.sample_wide(bits)
    }

    /// What one answer is off by, in the root mean square.
    ///
    /// ```
    /// use scumble::event::{Moves, Shift};
    /// use scumble::mechanism::k_norm::KNormMechanism;
    /// use scumble::quantity::Scale;
    /// let of = |answers| KNormMechanism::new(Scale::new(100.0)?, answers, Moves::everywhere(Shift::one_cell(1.0)?));
    /// // √((k+1)(k+2)/3) scales, where k answers with ε/k each have √2·k.
    /// assert!((of(10)?.standard_deviation() / 100.0 - 44f64.sqrt()).abs() < 1e-3);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn standard_deviation(&self) -> f64 {
        self.marginal().standard_deviation()
    }

    /// How far one answer is off, except with probability β.
    pub fn quantile(&self, beta: Beta) -> Result<f64> {
        Ok(self.marginal().quantile(beta))
    }

    fn marginal(&self) -> Marginal {
        Marginal::new(self.scale, self.dimension)
    }

    /// What a release is, for the ledger: 1/scale (rounded up) for a move of one unit.
    pub fn events(&self) -> Result<Vec<Event>> {
        let epsilon = Epsilon::new(epsilon_of_laplace(self.scale, Sensitivity::ONE).get())?;
        Ok(vec![Event::new(Word::Pure { epsilon }, self.moves.clone())])
    }

    /// The error to plan with: the largest error of all the answers exceeds this with probability at most β.
    pub fn error(&self, beta: Beta) -> Result<f64> {
        let ln_beta = beta.get().ln();
        Ok(least(|t| ln_tail(self.scale.get(), self.dimension, t) <= ln_beta) as f64)
    }
}

/// ln P\[‖Z‖∞ > t\], from above.
///
/// The radius has weights w(m) = ((2m+1)^k − (2m−1)^k)·q^m, q = e^{−1/scale}. They are log-concave (a shell is an
/// integral of x^{k−1}), so a geometric series from the first term bounds the tail.
fn ln_tail(scale: f64, dimension: usize, t: u64) -> f64 {
    let k = dimension as f64;
    let ln_weight = |m: f64| {
        let inner = k * (-2.0 / (2.0 * m + 1.0)).ln_1p();
        k * (2.0 * m + 1.0).ln() - m / scale + (-inner.exp_m1()).ln()
    };
    let first = t as f64 + 1.0;
    let ln_ratio = ln_weight(first + 1.0) - ln_weight(first);
    if ln_ratio >= 0.0 {
        return 0.0;
    }
    let ln_sum = ln_weight(first) - (-ln_ratio.exp_m1()).ln();
    let ln_total = ln_total_lower(scale, k);
    // The logarithms are as large as k·ln(k·scale); their rounding is covered by a relative slack.
    ln_sum - ln_total + 1e-12 * (ln_sum.abs() + ln_total.abs() + k)
}

/// Up to this many terms the total is summed; beyond, an integral is close enough.
const MOST_TERMS: f64 = 1e5;

/// ln Σ w(m), from below. Summed by parts it is (1−q)·Σ g(m) with g(m) = (2m+1)^k·q^m, which is unimodal: any part of
/// the sum is below it, and so is the integral less the maximum.
fn ln_total_lower(scale: f64, k: f64) -> f64 {
    let ln_g = |m: f64| k * (2.0 * m + 1.0).ln() - m / scale;
    let mode = (k * scale - 0.5).max(0.0);
    let ln_sum = if mode + 60.0 * scale * (k + 1.0).sqrt() < MOST_TERMS {
        let largest = ln_g(mode);
        let last = mode + 60.0 * scale * (k + 1.0).sqrt() + 2.0;
        largest + (0..last as u64).map(|m| (ln_g(m as f64) - largest).exp()).sum::<f64>().ln()
    } else {
        let ln_integral = k * 2f64.ln() + 0.5 / scale + lgamma(k + 1.0) + (k + 1.0) * scale.ln();
        ln_integral + (-(ln_g(mode) - ln_integral).exp()).ln_1p()
    };
    ln_sum + (-(-1.0 / scale).exp_m1()).ln()
}

/// The least t for which `small_enough(t)`, which must stay true once it is.
fn least(small_enough: impl Fn(u64) -> bool) -> u64 {
    let mut high = 1u64;
    while !small_enough(high) && high < 1 << 62 {
        high *= 2;
    }
    let mut low = 0u64;
    while low < high {
        let middle = low + (high - low) / 2;
        if small_enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}

#[cfg(test)]
mod tests;
