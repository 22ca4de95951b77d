//! Amplification by shuffling: n owners each answer through an ε₀-private local randomizer, and the answers are
//! shuffled.
//!
//! \[FMT21, Theorem 3.1\]: with C ~ Bin(n−1, e^{−ε₀}), A ~ Bin(C, ½) and Δ ~ Bernoulli(e^{ε₀}/(e^{ε₀}+1)), neighbours
//! that replace one owner are dominated by (A+Δ, C−A+1−Δ) against (A+1−Δ, C−A+Δ). δ(ε) of that pair is summed
//! numerically: given C = c the likelihood ratio grows with the first count, so that only a tail of it counts.

//!
//! *Rounding.* Binomial masses by ln Γ were off by 2·10⁻⁵ at 10⁹ owners. Here they are e^{−D} times Stirling's front
//! (`binomial`), with a relative error of at most 10⁻⁹ up to `MOST_OWNERS` owners, and terms P(a) − e^ε·Q(a) have
//! factors without cancellation; what is left of it is added.
//!
//! *Blocks.* δ given C = c does not grow with c: one more coin, added to either count with probability ½, turns the
//! pair of c into that of c + 1. So for many owners all c of a block have at most the δ of its least.

use super::special::bisect;
use crate::error::Result;
use crate::quantity::{Delta, Epsilon, Upper};

mod binomial;

use binomial::mass;

/// What rounding may cost: 10⁻⁹ in each mass, 10⁶ roundings in each recurrence and each sum, which is 4·10⁻¹⁰.
const INFLATION: f64 = 1.0 + 1e-8;
/// The most owners that the sum is carried out for.
const MOST_OWNERS: u64 = 1_000_000_000;
/// Masses near the least number there is are not known; all of them together are less than this.
const LEAST_MASS: f64 = 1e-300;
/// Into how many blocks the values of C are put at most.
const BLOCKS: u64 = 4096;

/// The loss of n shuffled ε₀-private answers.
///
/// ```
/// use scumble::loss::shuffle::ShuffleLoss;
/// use scumble::quantity::{Delta, Epsilon};
/// let shuffled = ShuffleLoss::new(Epsilon::new(1.0)?, 10_000)?;
/// assert!(shuffled.epsilon_upper(Delta::new(1e-6)?) < 0.15);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShuffleLoss {
    local: f64,
    owners: u64,
}

impl ShuffleLoss {
    /// `owners` answers, each ε₀ = `local`-private.
    pub fn new(local: Epsilon, owners: u64) -> Result<Self> {
        if !(1..=MOST_OWNERS).contains(&owners) {
            refuse!("shuffling is accounted for 1 to {MOST_OWNERS} owners, not {owners}");
        }
        Ok(Self { local: local.get(), owners })
    }

    /// An upper bound of δ(ε) for neighbours that replace one owner.
    ///
    /// # Guarantee
    /// Before: each owner's answer is ε₀-private and is shuffled among all n. After: δ(ε) of the shuffled answers is at
    /// most this.
    pub fn delta_upper(&self, epsilon: Epsilon) -> Upper {
        let epsilon = epsilon.get();
        if epsilon >= self.local {
            return Upper::of(0.0);
        }
        let trials = (self.owners - 1) as f64;
        let (rate, other) = ((-self.local).exp(), -(-self.local).exp_m1());
        let (mean, variance) = (trials * rate, trials * rate * other);
        // Bernstein: beyond t the mass is at most 2e^{−t²/(2(variance + t/3))}; counted whole.
        let reach = 14.0 * variance.sqrt() + 100.0;
        let beyond = 2.0 * (-reach * reach / (2.0 * (variance + reach / 3.0))).exp();
        let (low, high) = ((mean - reach).floor().max(0.0) as u64, (mean + reach).ceil().min(trials) as u64);
        let whole = low == 0 && high == trials as u64;
        let width = (high - low + 1).div_ceil(BLOCKS);
        let block = |first: u64| {
            let all = (first..(first + width).min(high + 1)).map(|c| mass(trials, c as f64, rate, other));
            all.sum::<f64>() * self.given(first as f64, epsilon)
        };
        let sum: f64 = (low..=high).step_by(width as usize).map(block).sum();
        Upper::of((sum * INFLATION + if whole { 0.0 } else { beyond }).clamp(f64::MIN_POSITIVE, 1.0))
    }

    /// δ(ε) given C = c, or a little more: Σ over first counts a above a threshold of P(a) − e^ε·Q(a).
    ///
    /// With b(a) the mass of Bin(c, ½) at a, the difference is (b(a−1)·(e^{ε₀} − e^ε) −
    /// b(a)·(e^{ε₀+ε} − 1))/(e^{ε₀} + 1).
    fn given(&self, c: f64, epsilon: f64) -> f64 {
        // All divided by e^{ε₀}, which may be beyond all numbers.
        let scale = 1.0 + (-self.local).exp();
        let gain = -(epsilon - self.local).exp_m1() / scale;
        let loss = (epsilon.exp() - (-self.local).exp()).max(0.0) / scale;
        let loss = if self.local < 1.0 { (self.local + epsilon).exp_m1() * (-self.local).exp() / scale } else { loss };
        // P(a) > γ·Q(a) iff a/(c+1−a) = b(a−1)/b(a) exceeds loss/gain. One before, as that is rounded.
        let first = ((c + 1.0) * (loss / (loss + gain)) - 1.0).floor().max(0.0);
        // Both with the same error, as they are compared.
        let (mut before, mut at) = match first >= 1.0 {
            true => (mass(c, first - 1.0, 0.5, 0.5), (c - first + 1.0) / first),
            false => (0.0, mass(c, 0.0, 0.5, 0.5)),
        };
        if first >= 1.0 {
            at *= before;
        }
        let mut a = first;
        let (mut sum, mut rounding) = (0.0, 0.0);
        while a <= c + 1.0 {
            let (won, lost) = (before * gain, at * loss);
            sum += (won - lost).max(0.0);
            // Both products and their factors are off by a few units in the last place.
            rounding += won + lost;
            let ratio = (c - a).max(0.0) / (a + 1.0);
            if before + at <= 1e-20 * sum && ratio < 1.0 {
                // From here on the masses fall at least as fast as a geometric series.
                sum += gain * (before + at / (1.0 - ratio));
                break;
            }
            before = at;
            at *= ratio;
            a += 1.0;
        }
        sum + 16.0 * f64::EPSILON * rounding + LEAST_MASS
    }

    /// An upper bound of ε(δ); ε₀ itself at δ = 0.
    pub fn epsilon_upper(&self, delta: Delta) -> Upper {
        let target = delta.get();
        let holds = |epsilon: f64| Epsilon::new(epsilon).is_ok_and(|epsilon| self.delta_upper(epsilon) <= target);
        Upper::of(if holds(0.0) { 0.0 } else { bisect(0.0, self.local, 30, holds).1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::special::ln_choose;

    /// The pair itself, enumerated.
    fn enumerated(local: f64, owners: u64, epsilon: f64) -> f64 {
        let choose = |n: u64, k: u64| ln_choose(n as f64, k as f64).exp();
        let rate = (-local).exp();
        let truth = 1.0 / (1.0 + rate);
        let mut sum = 0.0;
        for c in 0..owners {
            let mass = choose(owners - 1, c) * rate.powi(c as i32) * (1.0 - rate).powi((owners - 1 - c) as i32);
            let half = |a: i64| if a >= 0 && a as u64 <= c { choose(c, a as u64) * 0.5f64.powi(c as i32) } else { 0.0 };
            for a in 0..=(c as i64 + 1) {
                let p = truth * half(a - 1) + (1.0 - truth) * half(a);
                let q = (1.0 - truth) * half(a - 1) + truth * half(a);
                sum += mass * (p - epsilon.exp() * q).max(0.0);
            }
        }
        sum
    }

    #[test]
    fn the_sum_is_the_enumerated_pair() {
        for (local, owners) in [(1.0, 1), (0.5, 2), (2.0, 7), (1.0, 40)] {
            for at in [0.0, 0.1, 0.5] {
                let truth = enumerated(local, owners, at * local);
                let found = ShuffleLoss::new(Epsilon::new(local).unwrap(), owners).unwrap();
                let found = found.delta_upper(Epsilon::new(at * local).unwrap()).get();
                assert!(
                    found >= truth && found <= truth * (1.0 + 1e-5) + 1e-15,
                    "{local} {owners} {at}: {found} {truth}"
                );
            }
        }
    }

    #[test]
    fn more_owners_hide_better() {
        let epsilon = |owners: u64| {
            ShuffleLoss::new(Epsilon::new(2.0).unwrap(), owners).unwrap().epsilon_upper(Delta::new(1e-6).unwrap()).get()
        };
        let (few, many) = (epsilon(1_000), epsilon(100_000));
        assert!(many < few / 5.0 && few < 2.0, "{few} {many}");
    }

    /// With ln Γ, whose rounding at 10⁹ is 4·10⁻⁶ and more, all masses together were 1 − 2·10⁻⁵ or so, and 1 + 10⁻⁶ was
    /// to make up for it.
    #[test]
    fn all_masses_together_are_one_at_the_most_owners() {
        for local in [0.3f64, 1.0, 5.0] {
            let trials = (MOST_OWNERS - 1) as f64;
            let (rate, other) = ((-local).exp(), -(-local).exp_m1());
            let reach = 9.0 * (trials * rate * other).sqrt();
            let (low, high) = ((trials * rate - reach) as u64, (trials * rate + reach) as u64);
            let all: f64 = (low..=high).map(|c| mass(trials, c as f64, rate, other)).sum();
            assert!((all - 1.0).abs() < 1e-9, "{local}: {all}");
        }
    }

    /// Blocks of two and more numbers, against all numbers one by one.
    #[test]
    fn a_block_costs_hardly_more_than_each_of_its_numbers() {
        for (local, owners, at) in [(1.0, 400_000u64, 0.01), (2.0, 900_000, 0.02)] {
            let shuffled = ShuffleLoss::new(Epsilon::new(local).unwrap(), owners).unwrap();
            let trials = (owners - 1) as f64;
            let (rate, other) = ((-local).exp(), -(-local).exp_m1());
            let reach = 9.0 * (trials * rate * other).sqrt();
            let one = |c: u64| mass(trials, c as f64, rate, other) * shuffled.given(c as f64, at);
            let truth: f64 = ((trials * rate - reach) as u64..(trials * rate + reach) as u64).map(one).sum();
            let found = shuffled.delta_upper(Epsilon::new(at).unwrap()).get();
            assert!(found >= truth && found <= truth * 1.001, "{local} {owners}: {found} {truth}");
        }
    }

    /// δ given c does not grow with c, which blocks rest on.
    #[test]
    fn more_coins_hide_better() {
        let shuffled = ShuffleLoss::new(Epsilon::new(1.5).unwrap(), 100).unwrap();
        for epsilon in [0.0, 0.3, 1.0] {
            let given: Vec<f64> = (0..200).map(|c| shuffled.given(f64::from(c), epsilon)).collect();
            assert!(given.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-12)), "{given:?}");
        }
    }

    /// In the limit δ(ε) is that of Gaussian noise with a ratio of κ/√n, and nearly linear where both are small: a
    /// hundred times the owners, a tenth of ε, a tenth of δ.
    #[test]
    fn the_most_owners_are_answered() {
        let delta = |owners: u64, epsilon: f64| {
            let shuffled = ShuffleLoss::new(Epsilon::new(1.0).unwrap(), owners).unwrap();
            shuffled.delta_upper(Epsilon::new(epsilon).unwrap()).get()
        };
        let (many, most) = (delta(MOST_OWNERS / 100, 4e-3), delta(MOST_OWNERS, 4e-4));
        assert!((10.0 * most / many - 1.0).abs() < 0.01, "{many} {most}");
    }
}
