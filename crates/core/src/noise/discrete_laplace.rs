//! Discrete Laplace noise (two-sided geometric): P\[z\] ∝ e^{−|z|/scale} on the integers.

#[cfg(any(test, feature = "harness"))]
use super::blocks::certificate;
use super::fraction::Fraction;
use super::geometric::{self, ExponentialWeights};
use super::prepared::{DirectSampling, PreparedSampler};
use super::source::BitSource;
use super::tape::{Announcement, through, through_all, through_or};
use super::{add, into_i64};
use crate::quantity::Scale;

/// P\[z\] = tanh(1/(2·scale)) e^{−|z|/scale} on the integers.
///
/// ```
/// use scumble::noise::{DiscreteLaplace, InsecureSeededSource};
/// use scumble::quantity::Scale;
/// let mut bits = InsecureSeededSource::new(1);
/// let noise = DiscreteLaplace::new(Scale::new(2.5)?);
/// let mut many = [0; 100];
/// noise.fill(&mut bits, &mut many);
/// assert!(many.iter().any(|z| *z < 0) && many.iter().any(|z| *z > 0));
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DiscreteLaplace {
    scale: Scale,
    prepared: PreparedSampler<ExponentialWeights<true>>,
}

impl DiscreteLaplace {
    /// Of this scale, which is the rational that the f64 denotes.
    pub fn new(scale: Scale) -> Self {
        Self { scale, prepared: PreparedSampler::new(ExponentialWeights::new(scale)) }
    }

    /// What the table of this distribution decides by, for `proofs/tables/check.py`.
    #[cfg(any(test, feature = "harness"))]
    #[doc(hidden)]
    pub fn certificate(&self) -> String {
        let parameter = &self.prepared.shape().scale;
        let law = format!("laplace {} {}", parameter.numerator(), parameter.denominator());
        certificate(self.prepared.shape(), &law)
    }

    #[cfg(test)]
    pub(super) fn shape(&self) -> &ExponentialWeights<true> {
        self.prepared.shape()
    }

    /// One draw, brought into the range of an i64.
    #[inline]
    pub fn sample<S: BitSource + ?Sized>(&self, bits: &mut S) -> i64 {
        into_i64(self.sample_wide(bits))
    }

    /// Independent draws, each brought into the range of an i64.
    pub fn fill<S: BitSource + ?Sized>(&self, bits: &mut S, out: &mut [i64]) {
        self.prepared.fill(bits, out);
    }

    /// `value` plus one draw, brought into the range of an i64 only after the sum.
    #[inline]
    pub fn add_to<S: BitSource + ?Sized>(&self, value: i64, bits: &mut S) -> i64 {
        through(bits, || self.said([value.into()]), |bits| add(value, self.sample_wide(bits)))
    }

    /// The same for a wide value; brought into the range of an i128 only after the sum.
    pub fn add_to_wide<S: BitSource + ?Sized>(&self, value: i128, bits: &mut S) -> i128 {
        let unseen = Some(i128::MIN / 2);
        through_or(bits, || self.said([value]), unseen, |bits| self.sample_wide(bits).saturating_add(value))
    }

    /// Adds independent draws to `values`, each brought into the range of an i64 only after the sum.
    pub fn add_to_all<S: BitSource + ?Sized>(&self, values: &mut [i64], bits: &mut S) {
        through_all(bits, values, |values| self.said(values), |values, bits| self.prepared.add_to_all(values, bits));
    }

    fn said(&self, values: impl IntoIterator<Item = i128>) -> Announcement {
        Announcement::cells("discrete-laplace", &[self.scale.get()], values)
    }

    /// One draw, brought into the range of an i128.
    #[inline]
    pub(super) fn sample_wide<S: BitSource + ?Sized>(&self, bits: &mut S) -> i128 {
        self.prepared.sample_wide(bits)
    }

    /// The scale.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    pub(super) fn fraction(&self) -> &Fraction {
        &self.prepared.shape().scale
    }
}

impl DirectSampling for ExponentialWeights<true> {
    fn draw<S: BitSource + ?Sized>(&self, bits: &mut S) -> Option<i128> {
        Some(integer_only(&self.scale, bits))
    }
}

/// [CKS20] algorithm 2: a geometric magnitude and a sign, again if it is the second zero.
pub(super) fn integer_only<S: BitSource + ?Sized>(scale: &Fraction, bits: &mut S) -> i128 {
    loop {
        let negative = bits.next_bits(1) == 1;
        match (negative, geometric::integer_only(scale, bits)) {
            (true, 0) => continue,
            (true, magnitude) => return -magnitude,
            (false, magnitude) => return magnitude,
        }
    }
}
