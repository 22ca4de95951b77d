//! Claims against the truth.

use super::Distribution;
use crate::event::Event;
use crate::loss::Loss;
use crate::quantity::{Delta, Epsilon};
use crate::scope::Scope;

/// What accounting claims for an event in a scope: upper bounds of D_∞, of δ at some ε, of D_α at some α.
#[derive(Debug, Clone, Default)]
pub struct Claim {
    /// Pure ε, infinite or absent where none is claimed.
    pub pure: Option<f64>,
    /// (ε, δ) pairs.
    pub deltas: Vec<(f64, f64)>,
    /// (α, D_α) pairs.
    pub renyi: Vec<(f64, f64)>,
}

impl Claim {
    /// What accounting claims for these events in this scope: pure ε, and δ at each of these ε.
    pub fn of(events: &[Event], scope: &Scope, epsilons: &[f64]) -> Self {
        let loss = Loss::of(events, scope).expect("accounting knows the events of a mechanism under test");
        let pure = loss.epsilon(Delta::new(0.0).expect("zero is a delta")).upper;
        let delta = |&epsilon: &f64| {
            let asked = Epsilon::new(epsilon).expect("a test asks for an epsilon in range");
            (epsilon, loss.delta(asked).upper)
        };
        Self { pure: Some(pure), deltas: epsilons.iter().map(delta).collect(), renyi: Vec::new() }
    }
}

/// How far above the truth a claim may be: each part of the claim as a fraction of the largest divergence found.
#[derive(Debug, Clone, Copy)]
pub struct Slack {
    /// For pure ε.
    pub pure: f64,
    /// For δ.
    pub delta: f64,
    /// For D_α.
    pub renyi: f64,
}

impl Slack {
    /// A claim that must be met to within numerical error.
    pub const TIGHT: Self = Self { pure: 1e-6, delta: 1e-6, renyi: 1e-6 };
    /// Only soundness is checked: the tiny universe does not reach the worst case.
    pub const ANY: Self = Self { pure: f64::INFINITY, delta: f64::INFINITY, renyi: f64::INFINITY };
}

/// Computes every divergence over all pairs, in both directions, and compares the largest with the claim.
///
/// Panics, naming the part and the worst pair, if the claim is below the truth or above it by more than the slack.
pub fn check<Dataset: std::fmt::Debug, Outcome: Ord + Clone>(
    pairs: &[(Dataset, Dataset)],
    distribution: impl Fn(&Dataset) -> Distribution<Outcome>,
    claim: &Claim,
    slack: Slack,
) {
    assert!(!pairs.is_empty(), "a check without neighbours checks nothing");
    let known: Vec<_> = pairs.iter().map(|(left, right)| (distribution(left), distribution(right))).collect();
    let worst = |divergence: &dyn Fn(&Distribution<Outcome>, &Distribution<Outcome>) -> f64| {
        let both = known.iter().map(|(p, q)| divergence(p, q).max(divergence(q, p)));
        both.zip(pairs).fold(
            (f64::NEG_INFINITY, None),
            |worst, (value, pair)| {
                if value > worst.0 { (value, Some(pair)) } else { worst }
            },
        )
    };
    if let Some(pure) = claim.pure {
        judge("pure epsilon", pure, worst(&|p, q| p.max_divergence_lower(q)), slack.pure);
    }
    for &(epsilon, delta) in &claim.deltas {
        let truth = worst(&|p, q| p.hockey_stick_lower(q, epsilon));
        judge(&format!("delta at epsilon {epsilon}"), delta, truth, slack.delta);
    }
    for &(order, divergence) in &claim.renyi {
        let truth = worst(&|p, q| p.renyi_lower(q, order));
        judge(&format!("Rényi divergence of order {order}"), divergence, truth, slack.renyi);
    }
}

/// Numerical noise of sums of many tiny terms, far below any claim that a test makes.
const FLOOR: f64 = 1e-13;

fn judge<Pair: std::fmt::Debug>(what: &str, claimed: f64, truth: (f64, Option<Pair>), slack: f64) {
    let (found, pair) = truth;
    assert!(claimed + FLOOR >= found, "unsound: {what} is claimed as {claimed}, but is {found} for {pair:?}");
    let allowed = found.max(0.0) * (1.0 + slack) + FLOOR;
    assert!(slack.is_infinite() || claimed <= allowed, "loose: {what} is claimed as {claimed}, but is only {found}");
}

#[cfg(test)]
mod tests {
    use super::super::ProbabilityInterval;
    use super::*;

    fn response(dataset: &bool) -> Distribution<bool> {
        let keep = ProbabilityInterval::near(0.75, 1e-15);
        let flip = ProbabilityInterval::near(0.25, 1e-15);
        Distribution::new([(*dataset, keep), (!dataset, flip)], 0.0)
    }

    fn run(pure: f64) {
        let claim = Claim { pure: Some(pure), ..Claim::default() };
        check(&[(false, true)], response, &claim, Slack::TIGHT);
    }

    #[test]
    fn the_true_claim_passes() {
        run(3f64.ln());
    }

    #[test]
    #[should_panic(expected = "unsound")]
    fn one_percent_too_small_fails() {
        run(3f64.ln() * 0.99);
    }

    #[test]
    #[should_panic(expected = "loose")]
    fn one_percent_too_large_fails() {
        run(3f64.ln() * 1.01);
    }
}
