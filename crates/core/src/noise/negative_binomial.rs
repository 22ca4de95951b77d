//! The negative binomial distribution with any positive shape: noise that is drawn in shares.
//!
//! Shapes add: NB(r₁) + NB(r₂) is NB(r₁ + r₂), and NB(1) is geometric. If each of k parties draws NB(1/k) twice and
//! adds the difference, the sum of all has discrete Laplace noise, though no party knows it.

use super::blocks::{BlockLayout, UnimodalWeights};
use super::certified::{Arithmetic, Interval};
use super::fraction::Fraction;
use super::geometric::Geometric;
use super::prepared::{DirectSampling, PreparedSampler};
use super::source::BitSource;
use super::uniform::below;
use super::{add, into_i64};
use crate::error::{Error, Result};
use crate::quantity::Scale;
use num_bigint::{BigInt, BigUint};
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};
use std::num::NonZeroU64;

/// P\[n\] = Γ(n + r)/(Γ(r) n!) (1 − q)^r q^n on the integers from zero, with q = e^{−1/scale} and shape r.
///
/// ```
/// use scumble::noise::{InsecureSeededSource, NegativeBinomial};
/// use scumble::quantity::Scale;
/// let mut bits = InsecureSeededSource::new(1);
/// let share = NegativeBinomial::share(Scale::new(2.0)?, 10.try_into().unwrap());
/// let noise: i64 = (0..10).map(|_| share.sample(&mut bits) - share.sample(&mut bits)).sum();
/// assert!(noise.abs() < 100); // discrete Laplace of scale 2
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct NegativeBinomial {
    geometric: Geometric,
    whole: u64,
    fractional: Option<Box<PreparedSampler<NegativeBinomialWeights>>>,
}

/// A larger shape is refused: its whole part is drawn as this many geometric ones.
const LARGEST_SHAPE: u64 = 1_000_000;

impl NegativeBinomial {
    /// Of this scale and shape; a shape of zero or above a million is refused.
    pub fn new(scale: Scale, shape: &Fraction) -> Result<Self> {
        let (whole, rest) = shape.numerator().div_rem(shape.denominator());
        let whole = whole.to_u64().filter(|whole| *whole < LARGEST_SHAPE && !shape.numerator().is_zero());
        let whole = whole.ok_or_else(|| {
            Error::refused(format!("shape must be a number in (0, {LARGEST_SHAPE}), not {}", shape.to_f64()))
        })?;
        let fractional = if rest.is_zero() {
            None
        } else {
            let part = Fraction::new(rest, shape.denominator().clone())?;
            Some(Box::new(PreparedSampler::new(NegativeBinomialWeights::new(scale, part))))
        };
        Ok(Self { geometric: Geometric::new(scale), whole, fractional })
    }

    /// The share of one of this many parties: shape 1/parties.
    pub fn share(scale: Scale, parties: NonZeroU64) -> Self {
        let geometric = Geometric::new(scale);
        match Fraction::new(1u32, parties.get()) {
            Ok(part) if parties.get() > 1 => {
                let fractional = Some(Box::new(PreparedSampler::new(NegativeBinomialWeights::new(scale, part))));
                Self { geometric, whole: 0, fractional }
            }
            _ => Self { geometric, whole: 1, fractional: None },
        }
    }

    /// One draw, at most `i64::MAX`.
    pub fn sample<S: BitSource + ?Sized>(&self, bits: &mut S) -> i64 {
        into_i64(self.sample_wide(bits))
    }

    /// One draw modulo 2^64: for sums of shares, which add up to the whole noise modulo 2^64 however large a share is.
    /// (Draws beyond an i128, each with a probability of at most e^{−10^20}, are clamped to its range before.)
    pub fn sample_word<S: BitSource + ?Sized>(&self, bits: &mut S) -> u64 {
        self.sample_wide(bits) as u64
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
        let part = self.fractional.as_ref().map_or(0, |share| share.sample_wide(bits));
        (0..self.whole).fold(part, |sum, _| sum.saturating_add(self.geometric.sample_wide(bits)))
    }
}

/// The weights for a shape r in (0, 1): they fall steeply at first and then like e^{−n/scale}.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NegativeBinomialWeights {
    scale: Fraction,
    shape: Fraction,
    length_log2: u32,
}

/// Up to this distance a ratio is an exact product; beyond it, it goes through ln Γ.
const LONGEST_PRODUCT: u128 = 64;
/// Up to this scale single draws go through the urn.
const LARGEST_SCALE_OF_URN: u32 = 64;

impl NegativeBinomialWeights {
    pub(super) fn new(scale: Scale, shape: Fraction) -> Self {
        let length_log2 = BlockLayout::length_log2(scale.get(), 8.0, 4.0);
        Self { scale: Fraction::of_checked(scale.get()), shape, length_log2 }
    }

    /// e^{−distance/scale}.
    fn decay(&self, arithmetic: &Arithmetic, distance: u128) -> Interval {
        arithmetic.exp_minus(&(BigUint::from(distance) * self.scale.denominator()), self.scale.numerator())
    }

    /// Γ(to+r) Γ(from+1) / (Γ(from+r) Γ(to+1)).
    fn ratio_by_gamma(&self, arithmetic: &Arithmetic, to: u128, from: u128) -> Interval {
        let guard = u64::from(u128::BITS - to.leading_zeros()) + 24;
        let wide = Arithmetic::new(arithmetic.precision() + guard);
        let shape = BigRational::new(self.shape.numerator().clone().into(), self.shape.denominator().clone().into());
        let ln_gamma = |n: u128, plus: &BigRational| {
            wide.ln_gamma_without_constant(&(BigRational::from_integer(BigInt::from(n)) + plus))
        };
        let one = BigRational::one();
        let above = ln_gamma(to, &shape).plus(&ln_gamma(from, &one));
        let below = ln_gamma(from, &shape).plus(&ln_gamma(to, &one));
        wide.exp(&above.minus(&below)).coarser(guard)
    }
}

impl UnimodalWeights for NegativeBinomialWeights {
    fn layout(&self) -> BlockLayout {
        BlockLayout::Doubling { length_log2: self.length_log2 }
    }

    fn ratio(&self, arithmetic: &Arithmetic, at: i128, edge: i128) -> Interval {
        let (to, from) = (at.unsigned_abs(), edge.unsigned_abs());
        let decay = self.decay(arithmetic, to - from);
        if to - from > LONGEST_PRODUCT {
            return arithmetic.times(&decay, &self.ratio_by_gamma(arithmetic, to, from));
        }
        // weight(n+1)/weight(n) = q (n + r)/(n + 1)
        let (mut above, mut below) = (BigUint::one(), BigUint::one());
        for n in from..to {
            above *= BigUint::from(n) * self.shape.denominator() + self.shape.numerator();
            below *= (BigUint::from(n) + 1u32) * self.shape.denominator();
        }
        decay.times_ratio(&above.into(), &below.into())
    }

    /// (n + r)/(n + 1) is below 1, so that each step costs at least the factor q.
    fn largest_ratio(&self, arithmetic: &Arithmetic) -> Option<Interval> {
        Some(self.decay(arithmetic, 1 << self.length_log2))
    }
}

impl DirectSampling for NegativeBinomialWeights {
    fn draw<S: BitSource + ?Sized>(&self, bits: &mut S) -> Option<i128> {
        let small = self.scale.numerator() <= &(self.scale.denominator() * LARGEST_SCALE_OF_URN);
        small.then(|| by_urn(&self.scale, &self.shape, bits))
    }
}

/// With integers alone, in time that goes with the scale: a geometric NB(1) splits into independent NB(r) and
/// NB(1 − r), and given the sum the first is what Pólya's urn gives: item i goes to it with probability
/// (r + those it has)/(1 + i).
pub(super) fn by_urn<S: BitSource + ?Sized>(scale: &Fraction, shape: &Fraction, bits: &mut S) -> i128 {
    let sum = super::geometric::integer_only(scale, bits);
    let mut taken = 0i128;
    for item in 0..sum {
        let weight = shape.denominator() * taken.unsigned_abs() + shape.numerator();
        let total = shape.denominator() * (item.unsigned_abs() + 1);
        if below(bits, &total) < weight {
            taken += 1;
        }
    }
    taken
}
