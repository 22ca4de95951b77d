//! `new-keys`: noisy numbers of keys that are not known beforehand, those that reach a threshold.
//!
//! # What it costs, and why
//! Let two tables differ by a group of k owners (one owner: k = 1), with g keys each at most. A key *is common* if it
//! occurs in both tables, and *exclusive* if in one only; all owners of an exclusive key are of the group. The noise of
//! all keys is independent, so what is published is the common keys' part and, independently, the exclusive keys' part.
//!
//! *Common keys.* A function of their noisy numbers, which move as the event's moves say: the noise's own cost, for
//! groups too. What else a release says about common keys are other events, which are independent again.
//!
//! *Exclusive keys.* A number of j owners is at most that of one owner moved by j − 1 more. Let s(j) bound the
//! probability with which it reaches the threshold, s(1) = p = 1 − (1 − δ)^{1/g} by the meaning of the word, and
//! h(j) = −ln(1 − s(j)). The exclusive keys of one table have jᵢ ≤ k owners with Σjᵢ ≤ kg, so none of them is published
//! with probability
//! Π(1 − s(jᵢ)) ≥ e^{−kg·max_{j≤k} h(j)/j} =: 1 − δ_k, and δ₁ = δ. Hence the two tables' parts are (1−a)·N + a·A
//! against (1−b)·N + b·B, where N is "none is published", A and B never happen in the other table, and a, b ≤ δ_k. For
//! every ε ≥ 0 the first exceeds e^ε times the second by at most max(a, b) ≤ δ_k: the pair is dominated by that of
//! (0, δ_k). Also both are (1 − δ_k)·N + δ_k·(something), which is what filters and Rényi curves need.
//!
//! *s(j).* Publishing a key is one event E of its noisy number; let P be the law of the number of j owners, Q of one,
//! which is P moved by j − 1 owners. If the noise is ε-private for that move, P(E) ≤ e^ε·Q(E) and
//! 1 − P(E) ≥ e^{−ε}(1 − Q(E)). If its Rényi divergence of order α is K/(α−1), then by Hölder's inequality
//! P(E) ≤ (e^K·Q(E)^{α−1})^{1/α}, and the same with the complement of E and P and Q exchanged gives
//! 1 − P(E) ≥ ((1 − Q(E))^α·e^{−K})^{1/(α−1)}. If that holds except with a probability f (truncated noise),
//! P(E) ≤ f + the same of Q(E)/(1 − f). The least of all is taken; for Laplace noise the first is exact.
//!
//! *On a sample* of rate r, one owner: given whom else the sample holds, the tables' laws are (1−r)·R + r·P and
//! (1−r)·R + r·Q, where P, Q and R are pairwise as above. Sampling turns a pair's δ(ε) into at most r·δ(ε) at its ε′,
//! so δ + (1 − δ)·δ_N(ε) becomes at most rδ + (1 − rδ)·(r·δ_N(ε)): the sampled noise, all cells at once, and (0, rδ).
//! The owner's keys are exclusive where it is not in the sample, so δ counts in every scope that moves the noise. A
//! group on a sample is counted as if everybody were in it, which quasi-convexity allows.
//!
//! Before this word a ledger had two events, the noise and (0, δ), and (0, kδ) for groups, which is less than
//! e^{(k−1)ε}δ where the noise is small.

use crate::error::Result;
use crate::event::{NewKeys, Shift, Word};
use crate::loss::filter::price::{Price, rounded_up};
use crate::loss::law::Law;
use crate::loss::renyi::Curve;
use crate::loss::special::golden_section;
use crate::quantity::Exact;

/// The noise, the threshold's δ, and the keys per owner.
pub(super) struct NewKeysLoss<'a>(pub(super) &'a NewKeys);

impl super::Accounting for NewKeysLoss<'_> {
    /// Of the noise; what the threshold adds is [`super::Accounting::shown`].
    fn law(&self, by: f64) -> Result<Law> {
        super::of(self.0.noise()).law(by)
    }

    fn covers(&self, by: f64) -> bool {
        super::of(self.0.noise()).covers(by)
    }

    fn price(&self, shift: &Shift, members: u32) -> Result<Price> {
        let noise = super::of(self.0.noise()).price(shift, members)?;
        let shown = Exact::from_f64(shown(self.0, shift.by.get(), members))?;
        Ok(Price { delta: noise.delta + rounded_up(shown.rational()), ..noise })
    }

    fn noise(&self) -> Option<&Word> {
        Some(self.0.noise())
    }

    fn shown(&self, by: f64, owners: u32) -> f64 {
        shown(self.0, by, owners)
    }
}

/// δ_k: the probability with which any key that only a group of `owners` has is published, where each moves a key's
/// number by at most `by`.
///
/// # Guarantee
/// An upper bound; δ itself for one owner.
pub(crate) fn shown(keys: &NewKeys, by: f64, owners: u32) -> f64 {
    let delta = keys.delta().get();
    if owners == 1 {
        return delta;
    }
    let most = most_for_each_owner(keys, by, u64::from(owners));
    let sum = f64::from(owners) * keys.keys() as f64 * most;
    let grown = -(-sum).exp_m1() * (1.0 + 1e-12);
    // At least what it is for one, and the lesser of NaN and 1 is 1.
    grown.min(1.0).max(delta)
}

/// max h(j)/j over 1 ≤ j ≤ k. Beyond a few owners whole blocks are bounded by their ends: h grows.
fn most_for_each_owner(keys: &NewKeys, by: f64, owners: u64) -> f64 {
    let delta = keys.delta().get();
    let one = match -(-delta).ln_1p() / keys.keys() as f64 {
        // Not less than the least number that there is, where the quotient is.
        hazard if delta > 0.0 => hazard.max(f64::MIN_POSITIVE) * (1.0 + 1e-15),
        _ => 0.0,
    };
    let (mut before, mut most) = (1u64, one);
    while before < owners && most.is_finite() {
        let end = (before + 1).max(before + before / 16).min(owners);
        most = most.max(hazard(keys.noise(), by * (end - 1) as f64, one) / (before + 1) as f64);
        before = end;
    }
    most
}

/// h = −ln(1 − P(E)) at most, where −ln(1 − Q(E)) ≤ `one` and Q is P moved by `by`.
fn hazard(noise: &Word, by: f64, one: f64) -> f64 {
    // Nothing is known about this move.
    let Ok(law) = super::of(noise).law(by) else { return f64::INFINITY };
    let (curve, failure) = law.curve();
    if failure >= 1.0 {
        return f64::INFINITY;
    }
    let (epsilon, up) = (law.bounded(), 1.0 + 1e-9);
    let ln_published = (-(-one).exp_m1()).ln() - (-failure).ln_1p();
    let ln_likely =
        (epsilon + ln_published).min(by_curve(&curve, |k, order| (k + (order - 1.0) * ln_published) / order));
    let likely = failure + ln_likely.min(0.0).exp() * up;
    let by_event = if likely < 1.0 { -(-likely).ln_1p() } else { f64::INFINITY };
    if failure > 0.0 {
        return by_event * up;
    }
    let by_complement = (epsilon + one).min(by_curve(&curve, |k, order| (k + order * one) / (order - 1.0)));
    by_event.min(by_complement) * up
}

/// The least of `bound(K(α), α)` over the orders; each is a bound, so that the search needs no certificate.
fn by_curve(curve: &Curve, bound: impl Fn(f64, f64) -> f64) -> f64 {
    let top = (curve.largest_order() - 1.0).min(1e9);
    let at = |coordinate: f64| {
        let order = 1.0 + coordinate.exp().min(top);
        let value = bound(curve.cumulant(order), order);
        if value.is_nan() { f64::INFINITY } else { value }
    };
    at(golden_section(1e-6f64.ln(), top.ln(), 60, at))
}

#[cfg(test)]
mod tests;
