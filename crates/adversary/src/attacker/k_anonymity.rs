//! k-anonymity with a fixed generalisation: the number in a category is released from k on.

use super::blanket::blanket;
use super::bound::Bound;
use super::lambda::Lambda;
use super::window::Window;
use scumble::error::Result;
use scumble::quantity::{Epsilon, Probability};

/// What is assumed of the categories of a k-anonymous release.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Anonymity {
    /// Records in the release, with the target.
    pub records: u64,
    /// Others that the attacker does not know.
    pub unknown_others: u64,
    /// Every unknown record is in each common category, and in the hidden one, with at least this probability.
    pub lambda: Lambda,
    /// Every record is in each rare category with at most this probability.
    pub rare: Probability,
    /// A category is released if it has at least this many records.
    pub k: u64,
    /// Records whose value the attacker can choose.
    pub influenced: u64,
}

/// δ_r = P\[Bin(n−1−A, ρ) ≥ k−1−A\]: that a rare category could be released at all.
pub fn rare_delta(anonymity: &Anonymity) -> Bound {
    let needed = anonymity.k as i64 - 1 - anonymity.influenced as i64;
    if needed <= 0 {
        return Bound::exactly(1.0);
    }
    let others = anonymity.records.saturating_sub(1 + anonymity.influenced);
    let p = anonymity.rare.get();
    Window::binomial(others, p, 1.0 - p).tail_from(needed)
}

/// δ at ε of a k-anonymous release in which each category is rare or common, and one that is never released takes up
/// the rest.
///
/// # Guarantee
/// The corrected Theorem 5 of the paper: rare against hidden (0, δ_r), rare against rare (0, 2δ_r), common against
/// common or hidden (ε, β), rare against common (ε, β + e^ε δ_r). The printed one is off by one in the threshold and
/// chains δ wrongly. It holds only with a hidden category of at least λ and a generalisation that does not depend on
/// the data. Only the blanket is valid here, never the binary worst case: the other cells leak the total.
pub fn k_anonymity(anonymity: &Anonymity, epsilon: Epsilon) -> Result<Bound> {
    if anonymity.unknown_others >= anonymity.records {
        refuse!(
            "of {} records at most {} others can be unknown, not {}",
            anonymity.records,
            anonymity.records.saturating_sub(1),
            anonymity.unknown_others
        );
    }
    let common = blanket(anonymity.unknown_others, anonymity.lambda, epsilon)?.upper;
    let rare = rare_delta(anonymity).upper;
    let mixed = common + epsilon.get().exp() * rare;
    Ok(Bound::at_most(mixed.max(2.0 * rare) * (1.0 + 1e-15)))
}
