//! ℓ∞ K-norm noise on Z^k: P\[z\] ∝ e^{−‖z‖∞/scale}, for k answers where one owner can move all of them, each by a
//! little.
//!
//! Its largest error is about k·scale, without the factor ln k of independent discrete Laplace noise (Hardt and
//! Talwar, *On the geometry of differential privacy*, 2010; Steinke and Ullman, *Between pure and approximate
//! differential privacy*, 2016).

use super::add;
use super::blocks::{BlockLayout, UnimodalWeights};
use super::certified::{Arithmetic, Interval};
use super::fraction::Fraction;
use super::prepared::{DirectSampling, PreparedSampler};
use super::source::BitSource;
use super::uniform::below;
use crate::error::Result;
use crate::quantity::Scale;
use num_bigint::{BigInt, BigUint};
use num_traits::Signed;

/// Noise for k answers at once.
///
/// ```
/// use scumble::noise::{InsecureSeededSource, KNorm};
/// use scumble::quantity::Scale;
/// let mut bits = InsecureSeededSource::new(1);
/// let mut answers = [10, 20, 30];
/// KNorm::new(Scale::new(2.0)?, 3)?.add_to(&mut answers, &mut bits)?;
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct KNorm {
    dimension: usize,
    radius: Box<PreparedSampler<RadiusWeights>>,
}

/// More answers at once are refused.
const LARGEST_DIMENSION: usize = 1_000_000;

impl KNorm {
    /// Noise of this scale for this many answers, at least one and at most a million.
    pub fn new(scale: Scale, dimension: usize) -> Result<Self> {
        if !(1..=LARGEST_DIMENSION).contains(&dimension) {
            refuse!("dimension must be an integer in [1, {LARGEST_DIMENSION}], not {dimension}");
        }
        Ok(Self { dimension, radius: Box::new(PreparedSampler::new(RadiusWeights::new(scale, dimension))) })
    }

    /// How many answers are noised at once.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// One draw of k coordinates, each brought into the range of an i64.
    pub fn sample<S: BitSource + ?Sized>(&self, bits: &mut S) -> Vec<i64> {
        let mut noise = vec![0; self.dimension];
        self.add(&mut noise, bits);
        noise
    }

    /// Adds one draw to the k answers, each brought into the range of an i64 only after the sum; refuses another number
    /// of answers.
    pub fn add_to<S: BitSource + ?Sized>(&self, values: &mut [i64], bits: &mut S) -> Result<()> {
        if values.len() != self.dimension {
            refuse!("K-norm noise for {} answers cannot be added to {} answers", self.dimension, values.len());
        }
        self.add(values, bits);
        Ok(())
    }

    /// One draw of k coordinates as they are, for sums that do not end at 64 bits.
    pub fn sample_wide<S: BitSource + ?Sized>(&self, bits: &mut S) -> Vec<i128> {
        let mut noise = Vec::with_capacity(self.dimension);
        self.draw(bits, |point| noise.push(point));
        noise
    }

    fn add<S: BitSource + ?Sized>(&self, values: &mut [i64], bits: &mut S) {
        let mut values = values.iter_mut();
        self.draw(bits, |point| {
            if let Some(value) = values.next() {
                *value = add(*value, point);
            }
        });
    }

    /// A uniform point of the cube of radius N, where P\[N = n\] ∝ (2n+1)^k e^{−n/scale}: a point z is in all cubes
    /// with n ≥ ‖z‖∞, and Σ_{n ≥ m} e^{−n/scale} ∝ e^{−m/scale}.
    fn draw<S: BitSource + ?Sized>(&self, bits: &mut S, mut coordinate: impl FnMut(i128)) {
        let radius = self.radius.shape().mode.saturating_add(self.radius.sample_wide(bits));
        let points = 2 * radius.unsigned_abs() + 1;
        for _ in 0..self.dimension {
            let point = match u64::try_from(points) {
                Ok(points) => below(bits, points).into(),
                Err(_) => below(bits, points) as i128,
            };
            coordinate(point - radius);
        }
    }
}

/// Weights (2n+1)^k e^{−n/scale} of the radius, as offsets from the mode. Log-concave.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RadiusWeights {
    scale: Fraction,
    dimension: u32,
    pub(super) mode: i128,
    length_log2: u32,
}

impl RadiusWeights {
    pub(super) fn new(scale: Scale, dimension: usize) -> Self {
        let width = scale.get() * ((dimension + 1) as f64).sqrt();
        let mut radius = Self {
            scale: Fraction::of_checked(scale.get()),
            dimension: dimension as u32,
            mode: 0,
            length_log2: BlockLayout::length_log2(width, 64.0, 16.0),
        };
        radius.mode = radius.find_mode(scale.get());
        radius
    }

    /// The least n with weight(n + 1) ≤ weight(n); it is at most k·scale, because ln((2n+3)/(2n+1)) ≤ 1/(n + ½).
    fn find_mode(&self, scale: f64) -> i128 {
        let (mut low, mut high) = (0i128, (scale * f64::from(self.dimension)) as i128 + 2);
        while low < high {
            let middle = (low + high) / 2;
            if self.rises_after(middle) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Whether weight(n + 1) > weight(n). They are never equal: a power of e is not rational.
    fn rises_after(&self, n: i128) -> bool {
        let mut precision = 192;
        loop {
            let difference = self.ln_ratio(&Arithmetic::new(precision), n + 1, n);
            if difference.low.is_positive() {
                return true;
            }
            if difference.high.is_negative() {
                return false;
            }
            precision *= 2;
        }
    }

    /// k ln((2·to+1)/(2·from+1)) − (to − from)/scale.
    fn ln_ratio(&self, arithmetic: &Arithmetic, to: i128, from: i128) -> Interval {
        let odd = |n: i128| BigUint::from(n.unsigned_abs()) * 2u32 + 1u32;
        let growth = arithmetic.ln(&odd(to), &odd(from)).times_integer(&BigInt::from(self.dimension));
        let distance = BigInt::from(to - from) * BigInt::from(self.scale.denominator().clone());
        growth.minus(&arithmetic.ratio(&distance, &self.scale.numerator().clone().into()))
    }
}

impl UnimodalWeights for RadiusWeights {
    fn layout(&self) -> BlockLayout {
        BlockLayout::TwoSided { length_log2: self.length_log2 }
    }

    fn ratio(&self, arithmetic: &Arithmetic, at: i128, edge: i128) -> Interval {
        let (to, from) = (self.mode + at, self.mode + edge);
        if to < 0 || from < 0 {
            return Interval::zero();
        }
        arithmetic.exp(&self.ln_ratio(arithmetic, to, from))
    }
}

impl DirectSampling for RadiusWeights {}
