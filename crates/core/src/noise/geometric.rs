//! One-sided geometric noise: P\[n\] ∝ e^{−n/scale} on 0, 1, 2, …

use super::bernoulli::{exp_minus_ratio, run_of_exp_minus_one};
use super::fraction::Fraction;
use super::source::BitSource;
use super::uniform::below;
use super::{add, into_i64};
use crate::quantity::Scale;
use num_traits::ToPrimitive;

/// P\[n\] = (1 − e^{−1/scale}) e^{−n/scale} on the integers from zero.
///
/// ```
/// use scumble::noise::{Geometric, InsecureSeededSource};
/// use scumble::quantity::Scale;
/// let mut bits = InsecureSeededSource::new(1);
/// assert!(Geometric::new(Scale::new(3.0)?).sample(&mut bits) >= 0);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Geometric {
    scale: Fraction,
}

impl Geometric {
    /// Of this scale, which is the rational that the f64 denotes.
    pub fn new(scale: Scale) -> Self {
        Self { scale: Fraction::of_checked(scale.get()) }
    }

    /// One draw, at most `i64::MAX`.
    pub fn sample<S: BitSource + ?Sized>(&self, bits: &mut S) -> i64 {
        into_i64(self.sample_wide(bits))
    }

    /// Independent draws.
    pub fn fill<S: BitSource + ?Sized>(&self, bits: &mut S, out: &mut [i64]) {
        for slot in out {
            *slot = self.sample(bits);
        }
    }

    /// `value` plus one draw, brought into the range of an i64 only after the sum.
    pub fn add_to<S: BitSource + ?Sized>(&self, value: i64, bits: &mut S) -> i64 {
        add(value, self.sample_wide(bits))
    }

    /// One draw, at most `i128::MAX`, with integers only.
    pub(super) fn sample_wide<S: BitSource + ?Sized>(&self, bits: &mut S) -> i128 {
        integer_only(&self.scale, bits)
    }
}

/// [CKS20] algorithm 2, its one-sided part: with scale = s/t, X = U + s·V has P\[x\] ∝ e^{−x/s} when U in 0..s is kept with
/// probability e^{−U/s} and V is a run of coins of bias e^{−1}; then ⌊X/t⌋ has P\[n\] ∝ e^{−n·t/s}.
pub(super) fn integer_only<S: BitSource + ?Sized>(scale: &Fraction, bits: &mut S) -> i128 {
    let remainder = loop {
        let candidate = below(bits, scale.numerator());
        if exp_minus_ratio(bits, &candidate, scale.numerator()) {
            break candidate;
        }
    };
    let steps = remainder + scale.numerator() * run_of_exp_minus_one(bits);
    (steps / scale.denominator()).to_i128().unwrap_or(i128::MAX)
}
