//! Discrete Gaussian noise: P\[z\] ∝ e^{−z²/2σ²} on the integers.

use super::bernoulli::exp_minus_ratio;
use super::fraction::Fraction;
use super::source::BitSource;
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
    sigma: Fraction,
}

impl DiscreteGaussian {
    /// Of this σ, which is the rational that the f64 denotes.
    pub fn new(sigma: Sigma) -> Self {
        Self { sigma: Fraction::of_checked(sigma.get()) }
    }

    /// One draw, brought into the range of an i64.
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

    fn sample_wide<S: BitSource + ?Sized>(&self, bits: &mut S) -> i128 {
        integer_only(&self.sigma, bits)
    }
}

/// [CKS20] algorithm 3: a discrete Laplace Y of scale t = ⌊σ⌋ + 1, kept with probability e^{−(|Y| − σ²/t)²/2σ²}.
pub(super) fn integer_only<S: BitSource + ?Sized>(sigma: &Fraction, bits: &mut S) -> i128 {
    let (s, d) = (sigma.numerator(), sigma.denominator());
    let t: BigUint = s / d + 1u32;
    let laplace_scale = Fraction::whole(t.clone());
    // With σ = s/d the exponent is (|Y|·d²·t − s²)² / (2·s²·d²·t²).
    let (s_squared, d_squared_t) = (s * s, d * d * &t);
    let denominator = &s_squared * &d_squared_t * &t * 2u32;
    loop {
        let candidate = discrete_laplace::integer_only(&laplace_scale, bits);
        let distance = BigInt::from(candidate.unsigned_abs() * &d_squared_t) - BigInt::from(s_squared.clone());
        let numerator = distance.magnitude() * distance.magnitude();
        if exp_minus_ratio(bits, &numerator, &denominator) {
            return candidate;
        }
    }
}
