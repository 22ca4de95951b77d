//! An audit of a single run, by canaries (Steinke, Nasr, Jagielski, *Privacy auditing with one (1) training run*,
//! 2023).
//!
//! Each of m canaries is in the table with probability ½, by coins of their own. The auditor sees the output, guesses
//! about r of them (a number fixed before looking at the truth), and v guesses are right. If the mechanism is (ε,
//! δ)-private in the presence scope, then that happens with probability at most P\[W ≥ v\] + 2mδ·max_i
//! P\[v > W ≥ v − i\]/i, W ~ Bin(r, e^ε/(1 + e^ε)).

use super::binomial::Binomial;
use super::counts::error_share;
use scumble::error::Result;
use scumble::loss::Bounds;
use scumble::quantity::{Beta, Delta, Epsilon};

/// Guesses beyond this are refused: the sum walks over them.
const MOST_GUESSES: u64 = 10_000_000;

/// What was guessed.
///
/// ```
/// use scumble_adversary::audit::one_run::OneRunAudit;
/// let run = OneRunAudit::new(1000, 1000, 700)?;
/// assert!((run.epsilon_lower(0.0.try_into()?, 0.05.try_into()?)? - 0.7320108).abs() < 1e-6);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OneRunAudit {
    canaries: u64,
    guesses: u64,
    right: u64,
}

impl OneRunAudit {
    /// `guesses` about some of the `canaries`; `right` of them were right.
    pub fn new(canaries: u64, guesses: u64, right: u64) -> Result<Self> {
        if guesses == 0 || guesses > canaries || right > guesses || guesses > MOST_GUESSES {
            refuse!(
                "of {canaries} canaries, guess 1 to all and at most 1e7, with at most all of them right; not \
                    {guesses} guesses with {right} right"
            );
        }
        Ok(Self { canaries, guesses, right })
    }

    /// The probability that this many guesses or more are right, if the mechanism is (ε, δ)-private: an upper bound,
    /// rounded up; beside it the same formula rounded down.
    pub fn p_value(&self, epsilon: Epsilon, delta: Delta) -> Bounds {
        let law = self.law(epsilon.get());
        let tail = law.at_least(self.right);
        let slip = 2.0 * self.canaries as f64 * delta.get();
        let most = if slip > 0.0 { self.largest_step(&law) } else { Bounds { lower: 0.0, upper: 0.0 } };
        let lower = (tail.lower + slip * most.lower) * (1.0 - 1e-15);
        Bounds { lower: lower.min(1.0), upper: ((tail.upper + slip * most.upper) * (1.0 + 1e-15)).min(1.0) }
    }

    fn law(&self, epsilon: f64) -> Binomial {
        let other = libm::exp(-epsilon);
        Binomial { trials: self.guesses, p: 1.0 / (1.0 + other), q: other / (1.0 + other) }
    }

    /// max over i ≤ v of P\[v > W ≥ v − i\]/i: the largest mean of the masses below v. It starts where a mass has
    /// digits; the masses above are less than all of them together. Each mass is a ratio times the one above it, and
    /// once they fall below their mean it only falls.
    fn largest_step(&self, law: &Binomial) -> Bounds {
        let mut most = Bounds { lower: 0.0, upper: 0.0 };
        // With q = 0 all guesses are right, and none of fewer has any mass.
        if self.right == 0 || law.q == 0.0 {
            return most;
        }
        let start = likely_at_most(law, self.right - 1);
        let above = if start + 1 < self.right { law.at_least(start + 1).upper } else { 0.0 };
        let first = law.mass(start);
        if first.lower <= 1e-290 {
            // Far below the mode, where masses only fall: none is above the first.
            return Bounds { lower: 0.0, upper: first.upper };
        }
        let (mut mass, mut sum) = (0.5 * (first.lower + first.upper), 0.0);
        // Three roundings in each ratio and product, which its successors inherit, and one in each sum.
        let mut relative = (first.upper - first.lower) / mass;
        for hits in (0..=start).rev() {
            let i = (self.right - hits) as f64;
            sum += mass;
            relative += 4.0 * f64::EPSILON;
            most.lower = f64::max(most.lower, sum * (1.0 - relative) / i);
            most.upper = f64::max(most.upper, (sum * (1.0 + relative) + above) / i);
            let ratio = hits as f64 / (self.guesses - hits + 1) as f64 * (law.q / law.p);
            if 1.0 / i < most.lower || (ratio < 1.0 && mass * (1.0 + relative) < sum * (1.0 - relative) / i) {
                break;
            }
            mass *= ratio;
        }
        most
    }

    /// ε is at least this at δ, with confidence 1 − β; 0 where nothing is proven.
    pub fn epsilon_lower(&self, delta: Delta, beta: Beta) -> Result<f64> {
        error_share(beta)?;
        let refuted = |epsilon: f64| Epsilon::new(epsilon).is_ok_and(|at| self.p_value(at, delta).upper <= beta.get());
        if !refuted(0.0) {
            return Ok(0.0);
        }
        let mut above = 1.0;
        while refuted(above) && above < 1e3 {
            above *= 2.0;
        }
        let mut below = 0.0;
        for _ in 0..60 {
            let middle = 0.5 * (below + above);
            if above - below <= 1e-12 * middle {
                break;
            }
            if refuted(middle) {
                below = middle;
            } else {
                above = middle;
            }
        }
        Ok(below)
    }
}

/// The largest number of hits up to `most` whose probability is not next to nothing; the mode has one that is not.
fn likely_at_most(law: &Binomial, most: u64) -> u64 {
    let is_likely = |hits: u64| law.mass(hits).lower > 1e-290;
    let mode = (law.trials as f64 * law.p) as u64;
    if most <= mode || is_likely(most) {
        return most;
    }
    // Above the mode masses only fall.
    let (mut below, mut above) = (mode, most);
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if is_likely(middle) {
            below = middle;
        } else {
            above = middle;
        }
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest mean of masses, each computed by itself, and all of them looked at.
    #[test]
    fn the_largest_step_is_the_largest_of_all() {
        for (guesses, right, epsilon) in
            [(40, 31, 0.5), (300, 290, 1.0), (300, 299, 0.0), (2000, 1400, 0.8), (5, 1, 0.3), (2000, 1999, 0.0)]
        {
            let run = OneRunAudit::new(guesses, guesses, right).unwrap();
            let law = run.law(epsilon);
            let mut sum = 0.0;
            let mut most: f64 = 0.0;
            for i in 1..=right {
                let mass = law.mass(right - i);
                sum += 0.5 * (mass.lower + mass.upper);
                most = most.max(sum / i as f64);
            }
            let found = run.largest_step(&law);
            assert!(found.lower <= most * (1.0 + 1e-9) && found.upper >= most * (1.0 - 1e-9), "{found:?} {most}");
            assert!(found.upper - found.lower <= 1e-8 * most, "{found:?}");
        }
    }

    #[test]
    fn more_right_guesses_prove_more_and_a_larger_delta_less() {
        let lower = |right: u64, delta: f64| {
            OneRunAudit::new(200, 100, right)
                .unwrap()
                .epsilon_lower(delta.try_into().unwrap(), 0.05.try_into().unwrap())
                .unwrap()
        };
        let found: Vec<f64> = (40..=100).map(|right| lower(right, 1e-5)).collect();
        assert!(found.windows(2).all(|pair| pair[0] <= pair[1]), "{found:?}");
        assert!(found[0] == 0.0 && found[60] > 3.0);
        assert!(lower(90, 1e-3) < lower(90, 1e-5) && lower(90, 1e-5) < lower(90, 0.0));
        assert_eq!(lower(100, 1.0), 0.0);
    }

    /// Without a mechanism guesses are coins: an audit at β says something false in at most a part β of all cases,
    /// exactly computed.
    #[test]
    fn an_audit_of_coins_is_wrong_no_more_often_than_stated() {
        let law = Binomial { trials: 100, p: 0.5, q: 0.5 };
        let proves = |right: u64| {
            OneRunAudit::new(100, 100, right)
                .unwrap()
                .epsilon_lower(0.0.try_into().unwrap(), 0.05.try_into().unwrap())
                .unwrap()
                > 0.0
        };
        let least = (0..=100).find(|right| proves(*right)).unwrap();
        assert!(law.at_least(least).upper <= 0.05 && law.at_least(least - 1).lower > 0.05);
    }

    #[test]
    fn impossible_counts_are_refused() {
        for (canaries, guesses, right) in [(10, 0, 0), (10, 11, 5), (10, 5, 6), (20_000_000, 20_000_000, 1)] {
            assert!(OneRunAudit::new(canaries, guesses, right).is_err());
        }
        assert!(
            OneRunAudit::new(10, 10, 5)
                .unwrap()
                .epsilon_lower(0.0.try_into().unwrap(), 0.5.try_into().unwrap())
                .is_err()
        );
    }
}
