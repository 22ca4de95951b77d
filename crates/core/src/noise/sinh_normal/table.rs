//! The integer-weight table of sinh-normal noise, and its digest.

use crate::error::{Error, Result};
use crate::noise::fixed_point::{FixedPoint, exp_minus, exp_plus};
use num_bigint::BigUint;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive};
use sha2::{Digest, Sha256};

/// The largest index a table may have: beyond it, a coarser grid serves better than a longer table.
const LARGEST_INDEX: f64 = 1_048_576.0;
/// Fractional bits of the arithmetic that makes the weights, before those that a large R costs.
const WORKING_BITS: u64 = 320;
/// Below e^{−HOPELESS} a weight is far below 2^{−128}.
const HOPELESS: u32 = 160;

/// Weights w_0, …, w_K of P\[Z = k\] = P\[Z = −k\] = w_k / 2^128, and geometric tails beyond K:
/// P\[Z = K + i\] = P\[Z = K\]·(1 − 2^{−j})^i. All masses together are exactly 2^128.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinhNormalTable {
    weights: Vec<u128>,
    tail_bits: u32,
    digest: [u8; 32],
}

impl SinhNormalTable {
    /// The table of A·arsinh((σ/A)·N(0,1)) on the integers, a function of the two rationals alone: the same on every
    /// machine.
    ///
    /// w_k = ⌊2^128·φ(k)/Σφ⌋ with φ(k) = exp(−R·sinh²(k/A))·cosh(k/A) and R = A²/2σ² (Bun–Dwork–Rothblum–Steinke 2018,
    /// §4, on the grid). How well the weights approximate φ is a matter of utility only: privacy is computed from the
    /// weights.
    pub(super) fn build(sigma: &BigRational, a: &BigRational) -> Result<Self> {
        if a < sigma {
            refuse!(
                "sinh-normal noise needs a ≥ sigma (otherwise it is not log-concave), not a = {} with sigma = {}: raise a",
                shown(a),
                shown(sigma)
            );
        }
        let shape = (a * a) / (sigma * sigma * BigRational::from_integer(2.into()));
        let extra = 2 * (shape.to_integer().bits() + 2);
        if shown(a) * (f64::from(HOPELESS) / shown(&shape)).sqrt().asinh() > LARGEST_INDEX {
            refuse!(
                "sigma {} needs a sinh-normal table of more than {LARGEST_INDEX} entries: use a coarser grid or discrete Gaussian noise",
                shown(sigma)
            );
        }
        let densities = densities(&FixedPoint::new(WORKING_BITS + extra), a, &shape);
        let mut weights = floor_weights(&densities);
        while weights.last() == Some(&0) {
            weights.pop();
        }
        if weights.len() < 2 {
            refuse!(
                "sigma {} is too small for sinh-normal noise on the integers: the noise would be 0, so raise sigma or use a finer grid",
                shown(sigma)
            );
        }
        let tail_bits = tail_bits(weights[weights.len() - 1], sigma, a);
        weights[0] = 0;
        let others: BigUint = weights.iter().map(|weight| BigUint::from(*weight)).sum();
        let tail = BigUint::from(weights[weights.len() - 1]) * ((BigUint::one() << tail_bits) - 1u32);
        let both_sides = (others + tail) << 1u32;
        let total = BigUint::one() << 128u32;
        let rest = (both_sides <= total).then(|| total - both_sides);
        weights[0] = rest.and_then(|rest| rest.to_u128()).filter(|rest| *rest >= weights[1]).ok_or_else(|| {
            Error::refused("these sinh-normal parameters give a table without a peak: raise sigma or use a finer grid")
        })?;
        let digest = digest_of(&weights, tail_bits);
        Ok(Self { weights, tail_bits, digest })
    }

    /// w_0, …, w_K, in units of 2^{−128}.
    pub fn weights(&self) -> &[u128] {
        &self.weights
    }

    /// K: the last index before the geometric tails.
    pub fn last_index(&self) -> usize {
        self.weights.len() - 1
    }

    /// j: beyond K each next mass is 1 − 2^{−j} of the one before.
    pub fn tail_bits(&self) -> u32 {
        self.tail_bits
    }

    /// The mass beyond K on one side, in units of 2^{−128}: w_K·(2^j − 1).
    pub fn tail_weight(&self) -> u128 {
        self.weights[self.last_index()] * ((1u128 << self.tail_bits) - 1)
    }

    /// P\[Z > t\]·2^128 for 0 ≤ t ≤ K.
    ///
    /// ```
    /// use scumble::noise::SinhNormal;
    /// use scumble::quantity::{Scale, Sigma};
    /// let noise = SinhNormal::new(Sigma::new(2.725)?, Scale::new(7.35)?)?;
    /// let table = noise.table();
    /// // Symmetry: P[Z > 0] = (1 − P[Z = 0])/2.
    /// assert_eq!(table.above(0), (u128::MAX - table.weights()[0]) / 2 + 1);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn above(&self, t: usize) -> u128 {
        let inside: u128 = self.weights.get(t + 1..).unwrap_or(&[]).iter().sum();
        inside + self.tail_weight()
    }

    /// SHA-256 of the table: 128, j, K and the weights, each as 16 bytes, most significant first.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Whether the weights are still those of the digest.
    pub fn is_intact(&self) -> bool {
        digest_of(&self.weights, self.tail_bits) == self.digest
    }

    /// P\[Z = k\] as an f64 (relative error below 2^{−50}); 0 where that underflows.
    pub fn probability(&self, k: i64) -> f64 {
        let index = k.unsigned_abs();
        let last = self.last_index() as u64;
        let at = |index: u64| self.weights[index as usize] as f64 * 2f64.powi(-128);
        if index <= last { at(index) } else { at(last) * ((index - last) as f64 * self.ln_tail_ratio()).exp() }
    }

    /// ln(1 − 2^{−j}).
    pub(super) fn ln_tail_ratio(&self) -> f64 {
        (-(2f64.powi(-(self.tail_bits as i32)))).ln_1p()
    }

    /// The least q with P\[|Z| > q\] ≤ p (in the tails, beyond K, rounded up).
    pub fn quantile(&self, p: f64) -> i64 {
        let mut above = self.tail_weight() as f64;
        let half = p / 2.0 * 2f64.powi(128);
        if above > half {
            let steps = ((half / above).ln() / self.ln_tail_ratio()).ceil();
            return self.last_index() as i64 + steps.min(1e15) as i64;
        }
        for index in (1..=self.last_index()).rev() {
            above += self.weights[index] as f64;
            if above > half {
                return index as i64;
            }
        }
        0
    }
}

fn shown(value: &BigRational) -> f64 {
    value.to_f64().unwrap_or(f64::NAN)
}

/// φ(0), φ(1), … until far below 2^{−128}.
fn densities(arithmetic: &FixedPoint, a: &BigRational, shape: &BigRational) -> Vec<BigUint> {
    let step = arithmetic.of(&a.recip());
    let shape = arithmetic.of(shape);
    let (up, down) = (exp_plus(arithmetic, &step), exp_minus(arithmetic, &step));
    let hopeless = BigUint::from(HOPELESS) << arithmetic.bits;
    let (mut growing, mut shrinking) = (arithmetic.one(), arithmetic.one());
    let mut densities = Vec::new();
    loop {
        let sinh = (&growing - &shrinking) >> 1u32;
        let cosh = (&growing + &shrinking) >> 1u32;
        let exponent = arithmetic.times(&shape, &arithmetic.times(&sinh, &sinh));
        if exponent > hopeless {
            return densities;
        }
        densities.push(arithmetic.times(&exp_minus(arithmetic, &exponent), &cosh));
        growing = arithmetic.times(&growing, &up);
        shrinking = arithmetic.times(&shrinking, &down);
    }
}

fn floor_weights(densities: &[BigUint]) -> Vec<u128> {
    let others: BigUint = densities.iter().skip(1).sum();
    let total = &densities[0] + (others << 1u32);
    let weight = |density: &BigUint| ((density << 128u32) / &total).to_u128().unwrap_or(u128::MAX);
    densities.iter().map(weight).collect()
}

/// The least j for which the geometric tail costs nothing noticeable at the orders where the noise itself has a finite
/// divergence (a move m and an order α with mα up to about A, or a few σ where the noise is nearly Gaussian), so that
/// the tail is also as light as it can be: log₂ w_K + j + min(A, 10σ)·log₂(1/(1−2^{−j})) ≤ 128 − 20 − 2·log₂ max(σ, 1).
fn tail_bits(last_weight: u128, sigma: &BigRational, a: &BigRational) -> u32 {
    let (sigma, a) = (shown(sigma), shown(a));
    let reach = a.min(10.0 * sigma);
    let allowed = 108.0 - 2.0 * sigma.max(1.0).log2() - (last_weight as f64).log2();
    let cost = |bits: u32| f64::from(bits) - reach * (-(2f64.powi(-(bits as i32)))).ln_1p() / std::f64::consts::LN_2;
    (1..40).find(|bits| cost(*bits) <= allowed).unwrap_or(1)
}

fn digest_of(weights: &[u128], tail_bits: u32) -> [u8; 32] {
    let mut hash = Sha256::new();
    for header in [128u128, u128::from(tail_bits), weights.len() as u128 - 1] {
        hash.update(header.to_be_bytes());
    }
    for weight in weights {
        hash.update(weight.to_be_bytes());
    }
    hash.finalize().into()
}
