//! Discrete Laplace noise that never exceeds a bound: P\[z\] ∝ e^{−|z|/scale} for |z| ≤ bound, zero beyond.

use super::bernoulli::exp_minus_ratio;
use super::source::BitSource;
use super::tape::{Announcement, through};
use super::{DiscreteLaplace, add, into_i64, uniform};
use crate::error::Result;
use crate::quantity::Scale;
use num_bigint::BigUint;

/// P\[z\] ∝ e^{−|z|/scale} on −bound, …, bound.
///
/// ```
/// use scumble::noise::{InsecureSeededSource, TruncatedDiscreteLaplace};
/// use scumble::quantity::Scale;
/// let mut bits = InsecureSeededSource::new(1);
/// let noise = TruncatedDiscreteLaplace::new(Scale::new(5.0)?, 3)?;
/// assert!((-3..=3).contains(&noise.sample(&mut bits)));
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TruncatedDiscreteLaplace {
    untruncated: DiscreteLaplace,
    bound: i64,
    proposal: Proposal,
}

/// What is drawn and then kept or not, so that at least a third is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Proposal {
    /// bound < scale: uniform in the range, kept with probability e^{−|z|/scale} > e^{−1}.
    Uniform,
    /// bound ≥ scale: the discrete Laplace itself, kept if it is in the range.
    Laplace,
}

impl TruncatedDiscreteLaplace {
    /// Of this scale, at most `bound` away from zero; a negative bound is refused.
    pub fn new(scale: Scale, bound: i64) -> Result<Self> {
        refuse_if!(bound < 0, "bound must be an integer that is at least 0, not {bound}");
        let proposal = if (bound as f64) < scale.get() { Proposal::Uniform } else { Proposal::Laplace };
        Ok(Self { untruncated: DiscreteLaplace::new(scale), bound, proposal })
    }

    /// The scale.
    pub fn scale(&self) -> Scale {
        self.untruncated.scale()
    }

    /// The bound.
    pub fn bound(&self) -> i64 {
        self.bound
    }

    /// One draw, between −bound and bound.
    pub fn sample<S: BitSource + ?Sized>(&self, bits: &mut S) -> i64 {
        loop {
            let (candidate, kept) = match self.proposal {
                Proposal::Uniform => {
                    let candidate = uniform::between(bits, -self.bound, self.bound);
                    let exponent = BigUint::from(candidate.unsigned_abs()) * self.untruncated.fraction().denominator();
                    (candidate, exp_minus_ratio(bits, &exponent, self.untruncated.fraction().numerator()))
                }
                Proposal::Laplace => {
                    let wide = self.untruncated.sample_wide(bits);
                    (into_i64(wide), wide.unsigned_abs() <= self.bound.unsigned_abs().into())
                }
            };
            if kept {
                return candidate;
            }
        }
    }

    /// Independent draws.
    pub fn fill<S: BitSource + ?Sized>(&self, bits: &mut S, out: &mut [i64]) {
        for slot in out {
            *slot = self.sample(bits);
        }
    }

    /// `value` plus one draw, brought into the range of an i64 only after the sum.
    pub fn add_to<S: BitSource + ?Sized>(&self, value: i64, bits: &mut S) -> i64 {
        let said = || {
            Announcement::cells("truncated-discrete-laplace", &[self.scale().get(), self.bound as f64], [value.into()])
        };
        through(bits, said, |bits| add(value, self.sample(bits).into()))
    }
}
