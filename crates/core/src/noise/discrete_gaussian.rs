//! Discrete Gaussian noise: P\[z\] ∝ e^{−z²/2σ²} on the integers.

use super::bernoulli::exp_minus_ratio;
#[cfg(any(test, feature = "harness"))]
use super::blocks::certificate;
use super::blocks::{BlockLayout, ModeSide, UnimodalWeights};
use super::certified::{Arithmetic, Interval};
use super::fraction::Fraction;
use super::prepared::{DirectSampling, PreparedSampler};
use super::source::BitSource;
use super::tape::{Announcement, through, through_all, through_or};
use super::{add, discrete_laplace, into_i64};
use crate::quantity::Sigma;
use num_bigint::{BigInt, BigUint};

/// P\[z\] ∝ e^{−z²/2σ²} on the integers.
///
/// ```
/// use scumble::noise::{DiscreteGaussian, InsecureSeededSource};
/// use scumble::quantity::Sigma;
/// let mut bits = InsecureSeededSource::new(1);
/// let noise = DiscreteGaussian::new(Sigma::new(2.5)?);
/// assert!(noise.sample(&mut bits).abs() < 100);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DiscreteGaussian {
    sigma: Sigma,
    prepared: PreparedSampler<GaussianWeights>,
}

impl DiscreteGaussian {
    /// Of this σ, which is the rational that the f64 denotes.
    pub fn new(sigma: Sigma) -> Self {
        Self { sigma, prepared: PreparedSampler::new(GaussianWeights::new(sigma)) }
    }

    /// The parameter σ.
    pub fn sigma(&self) -> Sigma {
        self.sigma
    }

    /// What the table of this distribution decides by, for `proofs/tables/check.py`.
    #[cfg(any(test, feature = "harness"))]
    #[doc(hidden)]
    pub fn certificate(&self) -> String {
        let parameter = &self.prepared.shape().sigma;
        let law = format!("gaussian {} {}", parameter.numerator(), parameter.denominator());
        certificate(self.prepared.shape(), &law)
    }

    #[cfg(test)]
    pub(super) fn shape(&self) -> &GaussianWeights {
        self.prepared.shape()
    }

    /// One draw, brought into the range of an i64.
    #[inline]
    pub fn sample<S: BitSource + ?Sized>(&self, bits: &mut S) -> i64 {
        into_i64(self.prepared.sample_wide(bits))
    }

    /// Independent draws, each brought into the range of an i64.
    pub fn fill<S: BitSource + ?Sized>(&self, bits: &mut S, out: &mut [i64]) {
        self.prepared.fill(bits, out);
    }

    /// `value` plus one draw, brought into the range of an i64 only after the sum.
    #[inline]
    pub fn add_to<S: BitSource + ?Sized>(&self, value: i64, bits: &mut S) -> i64 {
        through(bits, || self.said([value.into()]), |bits| add(value, self.prepared.sample_wide(bits)))
    }

    /// The same for a wide value; brought into the range of an i128 only after the sum.
    pub fn add_to_wide<S: BitSource + ?Sized>(&self, value: i128, bits: &mut S) -> i128 {
        let unseen = Some(i128::MIN / 2);
        through_or(bits, || self.said([value]), unseen, |bits| self.prepared.sample_wide(bits).saturating_add(value))
    }

    /// Adds independent draws to `values`, each brought into the range of an i64 only after the sum.
    pub fn add_to_all<S: BitSource + ?Sized>(&self, values: &mut [i64], bits: &mut S) {
        through_all(bits, values, |values| self.said(values), |values, bits| self.prepared.add_to_all(values, bits));
    }

    fn said(&self, values: impl IntoIterator<Item = i128>) -> Announcement {
        Announcement::cells("discrete-gaussian", &[self.sigma.get()], values)
    }
}

/// Weights e^{−z²/2σ²}.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GaussianWeights {
    sigma: Fraction,
    sigma_f64: f64,
    length_log2: u32,
}

impl GaussianWeights {
    fn new(sigma: Sigma) -> Self {
        let length_log2 = BlockLayout::length_log2(sigma.get(), 256.0, 32.0);
        Self { sigma: Fraction::of_checked(sigma.get()), sigma_f64: sigma.get(), length_log2 }
    }

    /// e^{−squares/2σ²}.
    fn power(&self, arithmetic: &Arithmetic, squares: BigUint) -> Interval {
        let (s, d) = (self.sigma.numerator(), self.sigma.denominator());
        arithmetic.exp_minus(&(squares * d * d), &(s * s * 2u32))
    }
}

impl UnimodalWeights for GaussianWeights {
    fn layout(&self) -> BlockLayout {
        BlockLayout::TwoSided { length_log2: self.length_log2 }
    }

    fn ratio(&self, arithmetic: &Arithmetic, at: i128, edge: i128) -> Interval {
        let (at, edge) = (at.unsigned_abs(), edge.unsigned_abs());
        self.power(arithmetic, BigUint::from(at - edge) * (BigUint::from(at) + edge))
    }

    /// Two products per block: with edges a, a + L, a + 2L, … the ratio of neighbours is itself geometric, because
    /// (a + (i+1)L)² − (a + iL)² = 2aL + L² + 2iL².
    fn edge_weights<'a>(
        &'a self,
        arithmetic: &'a Arithmetic,
        side: ModeSide,
    ) -> Box<dyn Iterator<Item = Interval> + 'a> {
        let first_edge = BigUint::from(if side == ModeSide::Right { 0u32 } else { 1u32 });
        let length = BigUint::from(1u32) << self.length_log2;
        let square = &length * &length;
        let first = self.power(arithmetic, &first_edge * &first_edge);
        let ratio = self.power(arithmetic, &first_edge * &length * 2u32 + &square);
        let ratio_of_ratios = self.power(arithmetic, square * 2u32);
        let next = move |(weight, ratio): &(Interval, Interval)| {
            Some((arithmetic.times(weight, ratio), arithmetic.times(ratio, &ratio_of_ratios)))
        };
        Box::new(std::iter::successors(Some((first, ratio)), next).map(|(weight, _)| weight))
    }

    /// Two conversions and four operations: a relative error below 2^−49.
    fn quick_exponent(&self, at: i128, edge: i128) -> Option<f64> {
        let (at, edge) = (at.unsigned_abs(), edge.unsigned_abs());
        Some((at - edge) as f64 / self.sigma_f64 * ((at.saturating_add(edge)) as f64 / self.sigma_f64) / 2.0)
    }
}

impl DirectSampling for GaussianWeights {
    fn draw<S: BitSource + ?Sized>(&self, bits: &mut S) -> Option<i128> {
        Some(integer_only(&self.sigma, bits))
    }
}

/// One draw with integers alone.
pub(super) fn integer_only<S: BitSource + ?Sized>(sigma: &Fraction, bits: &mut S) -> i128 {
    let rejection = Rejection::new(sigma);
    loop {
        if let Some(kept) = rejection.round(bits) {
            return kept;
        }
    }
}

/// [CKS20] algorithm 3: a discrete Laplace Y of scale t = ⌊σ⌋ + 1, kept with probability e^{−(|Y| − σ²/t)²/2σ²}.
///
/// With σ = s/d the exponent is (|Y|·d²·t − s²)² / (2·s²·d²·t²).
pub(super) struct Rejection {
    laplace_scale: Fraction,
    s_squared: BigUint,
    d_squared_t: BigUint,
    denominator: BigUint,
}

impl Rejection {
    pub(super) fn new(sigma: &Fraction) -> Self {
        let (s, d) = (sigma.numerator(), sigma.denominator());
        let t: BigUint = s / d + 1u32;
        let (s_squared, d_squared_t) = (s * s, d * d * &t);
        let denominator = &s_squared * &d_squared_t * &t * 2u32;
        Self { laplace_scale: Fraction::whole(t), s_squared, d_squared_t, denominator }
    }

    pub(super) fn round<S: BitSource + ?Sized>(&self, bits: &mut S) -> Option<i128> {
        let candidate = discrete_laplace::integer_only(&self.laplace_scale, bits);
        let distance =
            BigInt::from(candidate.unsigned_abs() * &self.d_squared_t) - BigInt::from(self.s_squared.clone());
        let numerator = distance.magnitude() * distance.magnitude();
        exp_minus_ratio(bits, &numerator, &self.denominator).then_some(candidate)
    }
}
