//! Noise with the tails of a fourth power: P\[z\] ∝ 1/(1 + (z/s)⁴) on the integers.
//!
//! The only noise here whose privacy loss stays bounded when not only its place but also its scale moves: with two
//! scales that are a factor γ apart the ratio of the tails is γ³, wherever one looks. Nissim, Raskhodnikova, Smith,
//! "Smooth Sensitivity and Sampling in Private Data Analysis", 2007 \[NRS07\], have the continuous one.
//!
//! Drawn by rejection in rational arithmetic: with h = ⌈s⌉ from the middle −h, …, h uniformly, from beyond by
//! m = ⌊(h+1)/U⌋, that is P\[m ≥ j\] = (h+1)/j. A proposal in the middle is kept with probability s⁴/(s⁴+z⁴), one
//! beyond with w(m)m(m+1)/(w(h+1)(h+1)(h+2)), w(z) = 1/(s⁴+z⁴), which is at most 1 because x(x+1)/(s⁴+x⁴) falls from
//! x = s on. At every scale above 1 about 0.7 of the proposals are kept.

use super::fraction::Fraction;
use super::source::BitSource;
use super::tape::{Announcement, through};
use super::uniform::{below, between};
use super::{add, into_i64};
use crate::quantity::Scale;
use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::{ToPrimitive, Zero};
use std::f64::consts::{PI, SQRT_2};

/// P\[z\] = 1/(N(s)·(1 + (z/s)⁴)) on the integers.
///
/// ```
/// use scumble::noise::{Cauchy4, InsecureSeededSource};
/// use scumble::quantity::Scale;
/// let mut bits = InsecureSeededSource::new(1);
/// let noise = Cauchy4::new(Scale::new(3.0)?);
/// assert!((noise.probability(0) - 0.1500520289406137).abs() < 1e-14);
/// assert!(noise.sample(&mut bits).abs() < 1_000_000);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Cauchy4 {
    scale: Scale,
    /// s⁴ = top/unit.
    top: BigUint,
    unit: BigUint,
    /// h = ⌈s⌉, at most 1e18.
    middle: i64,
    /// Out of `total` proposals this many are in the middle.
    inside: BigUint,
    total: BigUint,
}

impl Cauchy4 {
    /// Of this scale, which is the rational that the f64 denotes.
    pub fn new(scale: Scale) -> Self {
        let fraction = Fraction::of_checked(scale.get());
        let (top, unit) = (fraction.numerator().pow(4), fraction.denominator().pow(4));
        // A scale is at most 1e18.
        let middle = fraction.numerator().div_ceil(fraction.denominator()).to_i64().unwrap_or(i64::MAX / 2);
        let next = BigUint::from(middle as u64 + 1);
        // Σ over the middle of 1/s⁴ against Σ beyond of C/(m(m+1)), both times s⁴ and the weight's denominator.
        let inside = BigUint::from(2 * middle as u64 + 1) * (&top + &unit * next.pow(4));
        let beyond = (&next + 1u32) * 2u32 * &top;
        let total = &inside + beyond;
        Self { scale, top, unit, middle, inside, total }
    }

    /// The scale.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// One draw, brought into the range of an i64.
    pub fn sample<S: BitSource + ?Sized>(&self, bits: &mut S) -> i64 {
        into_i64(self.sample_wide(bits))
    }

    /// `value` plus one draw, brought into the range of an i64 only after the sum.
    pub fn add_to<S: BitSource + ?Sized>(&self, value: i64, bits: &mut S) -> i64 {
        let said = || Announcement::cells("cauchy4", &[self.scale().get()], [value.into()]);
        through(bits, said, |bits| add(value, self.sample_wide(bits)))
    }

    /// One draw, brought into the range of an i128.
    fn sample_wide<S: BitSource + ?Sized>(&self, bits: &mut S) -> i128 {
        loop {
            let proposed = if below(bits, &self.total) < self.inside {
                let z = between(bits, -self.middle, self.middle);
                let whole = self.fourth(&z.unsigned_abs().into());
                (below(bits, &whole) < self.top).then_some(i128::from(z))
            } else {
                self.beyond(bits)
            };
            if let Some(z) = proposed {
                return z;
            }
        }
    }

    /// A proposal beyond the middle, if it is kept.
    fn beyond<S: BitSource + ?Sized>(&self, bits: &mut S) -> Option<i128> {
        let first = BigUint::from(self.middle as u64 + 1);
        let m = over_uniform(bits, &first);
        let is_negative = bits.next_bits(1) == 1;
        let kept = &m * (&m + 1u32) * self.fourth(&first);
        let whole = self.fourth(&m) * &first * (&first + 1u32);
        let magnitude = m.to_i128().unwrap_or(i128::MAX);
        (below(bits, &whole) < kept).then_some(if is_negative { -magnitude } else { magnitude })
    }

    /// (s⁴ + z⁴), times the denominator of s⁴.
    fn fourth(&self, z: &BigUint) -> BigUint {
        &self.top + &self.unit * z.pow(4)
    }

    /// P\[Z = z\], for plans and tests.
    pub fn probability(&self, z: i64) -> f64 {
        let scale = self.scale.get();
        1.0 / (norm(scale) * (1.0 + (z as f64 / scale).powi(4)))
    }

    /// A q with P\[|Z| > q\] ≤ p: the tail beyond q is at most twice the integral of 1/(1 + u⁴) from q/s on.
    pub fn quantile(&self, p: f64) -> f64 {
        let scale = self.scale.get();
        let tail = |q: f64| 2.0 * scale / norm(scale) * quartic_tail(q / scale);
        let mut high = scale;
        while tail(high) > p && high < 1e300 {
            high *= 2.0;
        }
        let mut low = 0.0;
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if tail(middle) > p { low = middle } else { high = middle }
        }
        high.ceil()
    }
}

/// ⌊first/U⌋ for a uniform real U: as many bits of it as decide.
fn over_uniform<S: BitSource + ?Sized>(bits: &mut S, first: &BigUint) -> BigUint {
    let (mut known, mut uniform) = (64u64, BigUint::from(bits.next_u64()));
    loop {
        // first·2^known/(uniform+1) < first/U < first·2^known/uniform, except with probability 0.
        let scaled = first << known;
        let least = &scaled / (&uniform + 1u32);
        if !uniform.is_zero() && least == scaled.div_ceil(&uniform) - 1u32 {
            return least;
        }
        uniform = (uniform << 64u32) | BigUint::from(bits.next_u64());
        known += 64;
    }
}

/// N(s) = Σ_z 1/(1 + (z/s)⁴) = (πs/√2)·(sinh t + sin t)/(cosh t − cos t), t = √2·π·s, by the residues of π·cot; to a
/// few units in the last place times 1/t².
pub(crate) fn norm(scale: f64) -> f64 {
    let t = SQRT_2 * PI * scale;
    if t < 0.1 {
        // Both sides of the quotient vanish: the sum itself, 1 and what little the other integers add.
        return 1.0 + 2.0 * (1..200).map(|z| scale.powi(4) / (scale.powi(4) + f64::from(z).powi(4))).sum::<f64>();
    }
    let decay = (-t).exp();
    let (up, down) = (1.0 - decay * decay + 2.0 * decay * t.sin(), 1.0 + decay * decay - 2.0 * decay * t.cos());
    PI * scale / SQRT_2 * up / down
}

/// ∫ du/(1 + u⁴) from x ≥ 0 on.
fn quartic_tail(x: f64) -> f64 {
    if x > 1e3 {
        return 1.0 / (3.0 * x.powi(3));
    }
    let logs = ((x * x + SQRT_2 * x + 1.0) / (x * x - SQRT_2 * x + 1.0)).ln() / (4.0 * SQRT_2);
    let arcs = (PI - (SQRT_2 * x + 1.0).atan() - (SQRT_2 * x - 1.0).atan()) / (2.0 * SQRT_2);
    (arcs - logs).max(0.0) + 1e-15
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::statistics::assert_agree;
    use crate::noise::InsecureSeededSource;
    use crate::noise::test_support::ScriptedBits;

    #[test]
    fn the_sum_of_all_weights_is_the_closed_form() {
        for scale in [0.05f64, 0.3, 0.7, 1.0, 3.0, 17.25] {
            let weight = |z: i64| 1.0 / (1.0 + (z as f64 / scale).powi(4));
            let far = 200_000;
            let sum: f64 = 1.0 + 2.0 * (1..=far).rev().map(weight).sum::<f64>();
            let rest = 2.0 * scale.powi(4) / (3.0 * (far as f64 + 0.5).powi(3));
            let found = norm(scale);
            assert!((found / (sum + rest) - 1.0).abs() < 1e-12, "{scale}: {found} {sum}");
        }
    }

    #[test]
    fn draws_follow_the_law() {
        for (scale, seed) in [(0.5, 1), (1.0, 2), (3.375, 3), (40.0, 4)] {
            let noise = Cauchy4::new(Scale::new(scale).unwrap());
            let mut bits = InsecureSeededSource::new(seed);
            let (draws, reach) = (400_000u64, (8.0 * scale) as i64 + 8);
            let mut counts = vec![0u64; 2 * reach as usize + 1];
            for _ in 0..draws {
                let z = noise.sample(&mut bits);
                if z.abs() <= reach {
                    counts[(z + reach) as usize] += 1;
                }
            }
            let cells = (-reach..=reach).map(|z| (counts[(z + reach) as usize], noise.probability(z)));
            assert_agree(&format!("cauchy4 of scale {scale}"), draws, cells);
        }
    }

    /// The probability of what a proposal beyond the middle is, in rationals: P[m ≥ j] = first/j, from all scripts of a
    /// few bits.
    #[test]
    fn a_quotient_of_a_uniform_number_is_decided_by_its_bits() {
        let first = BigUint::from(3u32);
        for word in [1u64, 2, 3, 1 << 62, 3 << 62, u64::MAX, 0x5555_5555_5555_5555] {
            let script = (BigUint::from(word) << 128u32) | (BigUint::from(1u32) << 64u32) | BigUint::from(7u32);
            let mut bits = ScriptedBits::new(script.clone(), 192);
            let found = over_uniform(&mut bits, &first);
            let used = bits.used();
            // U is between k/2^used and (k+1)/2^used.
            let known: BigUint = &script >> (192 - used);
            let scaled = &first << used;
            assert!(&found * &known < scaled && (&found + 1u32) * (known + 1u32) >= scaled, "{word}");
        }
    }

    #[test]
    fn quantiles_bound_the_tails() {
        for scale in [0.4, 3.0, 50.0] {
            let noise = Cauchy4::new(Scale::new(scale).unwrap());
            for p in [0.5, 0.05, 0.01, 0.001] {
                let q = noise.quantile(p) as i64;
                let inside: f64 = (-q..=q).map(|z| noise.probability(z)).sum();
                assert!(1.0 - inside <= p * (1.0 + 1e-9), "{scale} {p}: {q}");
            }
        }
        let factor = Cauchy4::new(Scale::new(1e6).unwrap()).quantile(0.05) / 1e6;
        assert!((factor - 1.79).abs() < 0.01, "{factor}");
    }

    #[test]
    fn the_ends_of_the_range_are_drawn() {
        let mut bits = InsecureSeededSource::new(5);
        assert_eq!(Cauchy4::new(Scale::new(1e-9).unwrap()).sample(&mut bits), 0);
        let wide = Cauchy4::new(Scale::new(1e18).unwrap());
        assert!((0..100).any(|_| wide.sample(&mut bits).abs() > 100_000_000_000_000_000));
        assert_eq!(wide.add_to(0, &mut ScriptedBits::new(BigUint::zero(), 4096)).signum(), -1);
    }
}
