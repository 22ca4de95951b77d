//! The binomial distribution, exactly, for any number of trials up to 2^128 and any probability, however small.

use super::blocks::{BlockLayout, ModeSide, UnimodalWeights};
use super::certified::{Arithmetic, Interval};
use super::fraction::Fraction;
use super::prepared::{DirectSampling, PreparedSampler};
use super::source::BitSource;
use crate::error::Result;
use crate::quantity::Probability;
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};

/// How many of `trials` independent trials succeed, each with the same probability.
///
/// ```
/// use scumble::noise::{Binomial, InsecureSeededSource};
/// use scumble::quantity::Probability;
/// let mut bits = InsecureSeededSource::new(1);
/// let count = Binomial::new(u128::MAX, Probability::new(1e-37)?); // 34 on average
/// assert!(count.sample(&mut bits) < 200);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Binomial {
    kind: BinomialSampler,
}

#[derive(Debug, Clone, PartialEq)]
enum BinomialSampler {
    /// No trial, or no doubt.
    Constant(u128),
    Random(Box<PreparedSampler<BinomialWeights>>),
}

impl Binomial {
    /// Of this many trials, with exactly the probability that the f64 denotes.
    pub fn new(trials: u128, probability: Probability) -> Self {
        Self::of(trials, Fraction::of_checked(probability.get()))
    }

    /// Of this many trials with any rational probability; one above 1 is refused.
    ///
    /// ```
    /// use scumble::noise::{Binomial, Fraction};
    /// assert!(Binomial::with_fraction(10, Fraction::new(1u32, 3u32)?).is_ok());
    /// assert!(Binomial::with_fraction(10, Fraction::new(4u32, 3u32)?).is_err());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn with_fraction(trials: u128, probability: Fraction) -> Result<Self> {
        if probability.numerator() > probability.denominator() {
            refuse!("a probability is at most 1, not {}", probability.to_f64());
        }
        Ok(Self::of(trials, probability))
    }

    fn of(trials: u128, probability: Fraction) -> Self {
        let kind = if trials == 0 || probability.numerator().is_zero() {
            BinomialSampler::Constant(0)
        } else if probability.numerator() >= probability.denominator() {
            BinomialSampler::Constant(trials)
        } else {
            BinomialSampler::Random(Box::new(PreparedSampler::new(BinomialWeights::new(trials, probability))))
        };
        Self { kind }
    }

    /// One draw, between 0 and the number of trials.
    pub fn sample<S: BitSource + ?Sized>(&self, bits: &mut S) -> u128 {
        match &self.kind {
            BinomialSampler::Constant(value) => *value,
            BinomialSampler::Random(prepared) => {
                let trials = prepared.shape();
                trials.mode.saturating_add_signed(prepared.sample_wide(bits)).min(trials.count)
            }
        }
    }

    /// Independent draws.
    pub fn fill<S: BitSource + ?Sized>(&self, bits: &mut S, out: &mut [u128]) {
        for slot in out {
            *slot = self.sample(bits);
        }
    }
}

/// Weights C(n, k) p^k (1−p)^{n−k}, as offsets from the mode ⌊(n+1)p⌋. Log-concave.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BinomialWeights {
    count: u128,
    probability: Fraction,
    mode: u128,
    length_log2: u32,
}

/// Up to this distance a ratio is an exact product; beyond it, it goes through ln Γ.
const LONGEST_PRODUCT: u128 = 64;

impl BinomialWeights {
    pub(super) fn new(count: u128, probability: Fraction) -> Self {
        let mode = (BigUint::from(count) + 1u32) * probability.numerator() / probability.denominator();
        let mode = mode.to_u128().unwrap_or(u128::MAX).min(count);
        let p = probability.to_f64();
        let deviation = (count as f64 * p * (1.0 - p)).sqrt();
        Self { count, mode, length_log2: BlockLayout::length_log2(deviation, 64.0, 8.0), probability }
    }

    fn position(&self, offset: i128) -> Option<u128> {
        self.mode.checked_add_signed(offset).filter(|position| *position <= self.count)
    }

    /// p and 1 − p over the same denominator.
    fn odds(&self) -> (BigUint, BigUint) {
        let success = self.probability.numerator().clone();
        let failure = self.probability.denominator() - &success;
        (success, failure)
    }

    /// weight(k+1)/weight(k) = (n − k) p / ((k + 1)(1 − p)).
    fn step(&self, position: u128) -> (BigUint, BigUint) {
        let (success, failure) = self.odds();
        (success * (self.count - position), failure * (BigUint::from(position) + 1u32))
    }

    /// weight(to)/weight(from) = Γ(from+1) Γ(n−from+1) / (Γ(to+1) Γ(n−to+1)) · (p/(1−p))^{to−from}.
    fn ratio_by_gamma(&self, arithmetic: &Arithmetic, to: u128, from: u128) -> Interval {
        // ln Γ(n) is about n ln n, and we want its digits after the point.
        let guard = u64::from(u128::BITS - self.count.leading_zeros()) + 24;
        let wide = Arithmetic::new(arithmetic.precision() + guard);
        let ln_factorial = |n: u128| {
            let z = BigRational::from_integer(BigInt::from(n) + 1u32);
            wide.ln_gamma_without_constant(&z)
        };
        let (success, failure) = self.odds();
        let ln_odds = wide.ln(&success, &failure).times_integer(&(BigInt::from(to) - BigInt::from(from)));
        let from_part = ln_factorial(from).plus(&ln_factorial(self.count - from));
        let to_part = ln_factorial(to).plus(&ln_factorial(self.count - to));
        wide.exp(&from_part.minus(&to_part).plus(&ln_odds)).coarser(guard)
    }
}

impl UnimodalWeights for BinomialWeights {
    fn layout(&self) -> BlockLayout {
        BlockLayout::TwoSided { length_log2: self.length_log2 }
    }

    fn ratio(&self, arithmetic: &Arithmetic, at: i128, edge: i128) -> Interval {
        let (Some(to), Some(from)) = (self.position(at), self.position(edge)) else { return Interval::zero() };
        if to.abs_diff(from) > LONGEST_PRODUCT {
            return self.ratio_by_gamma(arithmetic, to, from);
        }
        let (mut above, mut below) = (BigUint::one(), BigUint::one());
        for position in to.min(from)..to.max(from) {
            let (up, down) = self.step(position);
            above *= up;
            below *= down;
        }
        if to < from {
            std::mem::swap(&mut above, &mut below);
        }
        arithmetic.ratio(&above.into(), &below.into())
    }

    fn edge_weights<'a>(
        &'a self,
        arithmetic: &'a Arithmetic,
        side: ModeSide,
    ) -> Box<dyn Iterator<Item = Interval> + 'a> {
        let edges = (0..).map(move |index| self.layout().block(side, index).edge);
        if self.length_log2 > 0 {
            return Box::new(edges.map(move |edge| self.ratio(arithmetic, edge, 0)));
        }
        // Single integers: one exact factor per step.
        let mut last = (0i128, arithmetic.one());
        Box::new(edges.map(move |edge| {
            let (from, weight) = &last;
            let next = match (self.position(edge), self.position(*from)) {
                (Some(to), Some(from)) if to == from => weight.clone(),
                (Some(to), Some(from)) => {
                    let (up, down) = self.step(to.min(from));
                    let (up, down) = (BigInt::from(up), BigInt::from(down));
                    if to > from { weight.times_ratio(&up, &down) } else { weight.times_ratio(&down, &up) }
                }
                _ => Interval::zero(),
            };
            last = (edge, next.clone());
            next
        }))
    }
}

impl DirectSampling for BinomialWeights {}
