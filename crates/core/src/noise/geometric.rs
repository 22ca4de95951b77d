//! One-sided geometric noise: P\[n\] ∝ e^{−n/scale} on 0, 1, 2, …

use super::bernoulli::{exp_minus_ratio, run_of_exp_minus_one};
#[cfg(any(test, feature = "harness"))]
use super::blocks::certificate;
use super::blocks::{BlockLayout, ModeSide, UnimodalWeights};
use super::certified::{Arithmetic, Interval};
use super::fraction::Fraction;
use super::prepared::{DirectSampling, PreparedSampler};
use super::source::BitSource;
use super::uniform::below;
use super::{add, into_i64};
use crate::quantity::Scale;
use num_bigint::BigUint;
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
    prepared: PreparedSampler<ExponentialWeights<false>>,
}

impl Geometric {
    /// Of this scale, which is the rational that the f64 denotes.
    pub fn new(scale: Scale) -> Self {
        Self { prepared: PreparedSampler::new(ExponentialWeights::new(scale)) }
    }

    /// What the table of this distribution decides by, for `proofs/tables/check.py`.
    #[cfg(any(test, feature = "harness"))]
    #[doc(hidden)]
    pub fn certificate(&self) -> String {
        let parameter = &self.prepared.shape().scale;
        let law = format!("geometric {} {}", parameter.numerator(), parameter.denominator());
        certificate(self.prepared.shape(), &law)
    }

    #[cfg(test)]
    pub(super) fn shape(&self) -> &ExponentialWeights<false> {
        self.prepared.shape()
    }

    /// One draw, at most `i64::MAX`.
    #[inline]
    pub fn sample<S: BitSource + ?Sized>(&self, bits: &mut S) -> i64 {
        into_i64(self.prepared.sample_wide(bits))
    }

    /// Independent draws.
    pub fn fill<S: BitSource + ?Sized>(&self, bits: &mut S, out: &mut [i64]) {
        self.prepared.fill(bits, out);
    }

    /// `value` plus one draw, brought into the range of an i64 only after the sum.
    pub fn add_to<S: BitSource + ?Sized>(&self, value: i64, bits: &mut S) -> i64 {
        add(value, self.prepared.sample_wide(bits))
    }

    /// One draw, at most `i128::MAX`.
    pub(super) fn sample_wide<S: BitSource + ?Sized>(&self, bits: &mut S) -> i128 {
        self.prepared.sample_wide(bits)
    }
}

/// Weights e^{−|z|/scale}, on one side or both.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExponentialWeights<const TWO_SIDED: bool> {
    pub(super) scale: Fraction,
    scale_f64: f64,
    length_log2: u32,
}

impl<const TWO_SIDED: bool> ExponentialWeights<TWO_SIDED> {
    pub(super) fn new(scale: Scale) -> Self {
        let length_log2 = BlockLayout::length_log2(scale.get(), 128.0, 32.0);
        Self { scale: Fraction::of_checked(scale.get()), scale_f64: scale.get(), length_log2 }
    }
}

impl<const TWO_SIDED: bool> UnimodalWeights for ExponentialWeights<TWO_SIDED> {
    fn layout(&self) -> BlockLayout {
        let length_log2 = self.length_log2;
        if TWO_SIDED { BlockLayout::TwoSided { length_log2 } } else { BlockLayout::OneSided { length_log2 } }
    }
    /// e^{−(|at| − |edge|)/scale}.
    fn ratio(&self, arithmetic: &Arithmetic, at: i128, edge: i128) -> Interval {
        let distance = BigUint::from(at.unsigned_abs() - edge.unsigned_abs());
        arithmetic.exp_minus(&(distance * self.scale.denominator()), self.scale.numerator())
    }
    /// A product per block: e^{−(a + L)/scale} = e^{−a/scale}·e^{−L/scale}.
    fn edge_weights<'a>(
        &'a self,
        arithmetic: &'a Arithmetic,
        side: ModeSide,
    ) -> Box<dyn Iterator<Item = Interval> + 'a> {
        let first = if side == ModeSide::Right { arithmetic.one() } else { self.ratio(arithmetic, -1, 0) };
        let step = self.ratio(arithmetic, 1 << self.length_log2, 0);
        Box::new(std::iter::successors(Some(first), move |weight| Some(arithmetic.times(weight, &step))))
    }
    /// Two conversions and a division: a relative error below 2^−50.
    fn quick_exponent(&self, at: i128, edge: i128) -> Option<f64> {
        Some((at.unsigned_abs() - edge.unsigned_abs()) as f64 / self.scale_f64)
    }
}

impl DirectSampling for ExponentialWeights<false> {
    fn draw<S: BitSource + ?Sized>(&self, bits: &mut S) -> Option<i128> {
        Some(integer_only(&self.scale, bits))
    }
}

/// [CKS20] algorithm 2, its one-sided part: with scale = s/t, X = U + s·V has P\[x\] ∝ e^{−x/s} when U in 0..s is kept
/// with probability e^{−U/s} and V is a run of coins of bias e^{−1}; then ⌊X/t⌋ has P\[n\] ∝ e^{−n·t/s}.
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
