//! Discrete Laplace noise (two-sided geometric): P\[z\] ∝ e^{−|z|/scale} on the integers.

use super::fraction::Fraction;
use super::geometric;
use super::source::BitSource;
use super::{add, into_i64};
use crate::quantity::Scale;

/// P\[z\] = tanh(1/2·scale) e^{−|z|/scale} on the integers.
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
    scale: Fraction,
}

impl DiscreteLaplace {
    /// Of this scale, which is the rational that the f64 denotes.
    pub fn new(scale: Scale) -> Self {
        Self { scale: Fraction::of_checked(scale.get()) }
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

    pub(super) fn sample_wide<S: BitSource + ?Sized>(&self, bits: &mut S) -> i128 {
        integer_only(&self.scale, bits)
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
