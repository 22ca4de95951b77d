//! Amplification by shuffling: n owners each answer through an ε₀-private local randomizer, and the answers are shuffled.
//!
//! \[FMT21, Theorem 3.1\]: with C ~ Bin(n−1, e^{−ε₀}), A ~ Bin(C, ½) and Δ ~ Bernoulli(e^{ε₀}/(e^{ε₀}+1)), neighbours that replace one
//! owner are dominated by (A+Δ, C−A+1−Δ) against (A+1−Δ, C−A+Δ). δ(ε) of that pair is summed numerically: given C = c the likelihood
//! ratio grows with the first count, so that only a tail of it counts.

use super::special::{bisect, ln_choose};
use crate::error::{Error, Result};
use crate::quantity::{Delta, Epsilon};

/// What rounding in the binomial masses (ln Γ of up to 10⁹) may cost.
const INFLATION: f64 = 1.0 + 1e-6;
/// The most owners that the sum is carried out for.
const MOST_OWNERS: u64 = 1_000_000_000;

/// The loss of n shuffled ε₀-private answers.
///
/// ```
/// use scumble::loss::shuffle::Shuffled;
/// use scumble::quantity::{Delta, Epsilon};
/// let shuffled = Shuffled::new(Epsilon::new(1.0)?, 10_000)?;
/// assert!(shuffled.epsilon_upper(Delta::new(1e-6)?) < 0.15);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shuffled {
    local: f64,
    owners: u64,
}

impl Shuffled {
    /// `owners` answers, each ε₀ = `local`-private.
    pub fn new(local: Epsilon, owners: u64) -> Result<Self> {
        if !(1..=MOST_OWNERS).contains(&owners) {
            return Err(Error::refused(format!("shuffling is accounted for 1 to {MOST_OWNERS} owners, not {owners}")));
        }
        Ok(Self { local: local.get(), owners })
    }

    /// An upper bound of δ(ε) for neighbours that replace one owner.
    ///
    /// # Guarantee
    /// Before: each owner's answer is ε₀-private and is shuffled among all n. After: δ(ε) of the shuffled answers is at most this.
    pub fn delta_upper(&self, epsilon: Epsilon) -> f64 {
        let epsilon = epsilon.get();
        if epsilon >= self.local {
            return 0.0;
        }
        let trials = (self.owners - 1) as f64;
        let rate = (-self.local).exp();
        let (mean, variance) = (trials * rate, trials * rate * (1.0 - rate));
        // Bernstein: beyond t the mass is at most 2e^{−t²/(2(variance + t/3))}; counted whole.
        let reach = 14.0 * variance.sqrt() + 100.0;
        let beyond = 2.0 * (-reach * reach / (2.0 * (variance + reach / 3.0))).exp();
        let (low, high) = ((mean - reach).floor().max(0.0) as u64, (mean + reach).ceil().min(trials) as u64);
        let ln_mass = |c: f64| {
            let inside = if c > 0.0 { c * -self.local } else { 0.0 };
            let outside = if trials > c { (trials - c) * (-rate).ln_1p() } else { 0.0 };
            ln_choose(trials, c) + inside + outside
        };
        let whole = low == 0 && high == trials as u64;
        let sum: f64 = (low..=high).map(|c| ln_mass(c as f64).exp() * self.given(c as f64, epsilon)).sum();
        (sum * INFLATION + if whole { 0.0 } else { beyond }).clamp(f64::MIN_POSITIVE, 1.0)
    }

    /// δ(ε) given C = c: Σ over first counts a above a threshold of P(a) − e^ε·Q(a).
    fn given(&self, c: f64, epsilon: f64) -> f64 {
        let (truth, lie) = (1.0 / (1.0 + (-self.local).exp()), 1.0 / (1.0 + self.local.exp()));
        let gamma = epsilon.exp();
        // P(a) > γ·Q(a) iff a/(c+1−a) = Bin(a−1)/Bin(a) exceeds R.
        let ratio = (gamma * truth - lie) / (truth - gamma * lie);
        let first = ((c + 1.0) * ratio / (1.0 + ratio)).floor().max(0.0);
        let mass =
            |a: f64| if (0.0..=c).contains(&a) { (ln_choose(c, a) - c * std::f64::consts::LN_2).exp() } else { 0.0 };
        let (mut before, mut at, mut a) = (mass(first - 1.0), mass(first), first);
        let mut sum = 0.0;
        while a <= c + 1.0 {
            let term = truth * before + lie * at - gamma * (lie * before + truth * at);
            sum += term.max(0.0);
            if before + at < 1e-20 * sum && a > c / 2.0 {
                // What is left falls by at least a geometric factor from here on; four times the last pair covers it.
                sum += 4.0 * (before + at);
                break;
            }
            before = at;
            at *= (c - a).max(0.0) / (a + 1.0);
            a += 1.0;
        }
        sum
    }

    /// An upper bound of ε(δ); ε₀ itself at δ = 0.
    pub fn epsilon_upper(&self, delta: Delta) -> f64 {
        let target = delta.get();
        let holds = |epsilon: f64| Epsilon::new(epsilon).is_ok_and(|epsilon| self.delta_upper(epsilon) <= target);
        if holds(0.0) { 0.0 } else { bisect(0.0, self.local, 30, holds).1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                let found = Shuffled::new(Epsilon::new(local).unwrap(), owners).unwrap();
                let found = found.delta_upper(Epsilon::new(at * local).unwrap());
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
            Shuffled::new(Epsilon::new(2.0).unwrap(), owners).unwrap().epsilon_upper(Delta::new(1e-6).unwrap())
        };
        let (few, many) = (epsilon(1_000), epsilon(100_000));
        assert!(many < few / 5.0 && few < 2.0, "{few} {many}");
    }
}
