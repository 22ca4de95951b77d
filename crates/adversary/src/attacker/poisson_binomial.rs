//! The law of a count of independent coins, exactly: Poisson–binomial.

use super::window::Window;
use scumble::error::{Error, Result};
use scumble::quantity::Probability;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The most records that are analysed; the windows of more do not fit where this program runs.
pub const MOST_RECORDS: u64 = 1_000_000_000;

/// This many records of equal probability are one binomial; fewer are coins.
const WORTH_A_BINOMIAL: u64 = 16;

/// Coins are added one at a time up to here, then whole windows are convolved.
const CHUNK: usize = 64;

/// `how_many` records; the attacker believes of each that it is 1 with this probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BeliefGroup {
    /// The attacker's belief that such a record is 1.
    pub probability: Probability,
    /// How many records.
    pub how_many: u64,
}

impl BeliefGroup {
    /// Checks the probability.
    pub fn new(probability: f64, how_many: u64) -> Result<Self> {
        Ok(Self { probability: Probability::new(probability)?, how_many })
    }

    /// p and 1 − p, each with at most one rounding error.
    pub(super) fn coin(&self) -> (f64, f64) {
        let heads = self.probability.get();
        (heads, 1.0 - heads)
    }

    /// Σ p(1−p) over the group.
    pub fn variance(&self) -> f64 {
        let (heads, tails) = self.coin();
        heads * tails * self.how_many as f64
    }
}

/// How many records there are in all, refusing more than [`MOST_RECORDS`].
pub fn total(groups: &[BeliefGroup]) -> Result<u64> {
    let total = groups.iter().try_fold(0u64, |sum, group| sum.checked_add(group.how_many));
    match total {
        Some(total) if total <= MOST_RECORDS => Ok(total),
        _ => {
            Err(Error::refused(format!("more than {MOST_RECORDS} records are not analysed; drop some (that is safe)")))
        }
    }
}

/// The law of the number of ones among independent records.
///
/// Windows are convolved directly, the two narrowest first: all terms are positive, so that even far tails keep their
/// relative precision. n records of distinct p cost about σ²·log n operations, since each window is as wide as 28
/// standard deviations.
///
/// ```
/// use scumble_adversary::attacker::{BeliefGroup, poisson_binomial};
/// let law = poisson_binomial(&[BeliefGroup::new(0.25, 1)?, BeliefGroup::new(0.5, 1)?])?;
/// assert_eq!(law.values(), [0.375, 0.5, 0.125]);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn poisson_binomial(groups: &[BeliefGroup]) -> Result<Window> {
    total(groups)?;
    let mut windows = Vec::new();
    let mut coins = Window::point(0);
    for group in groups {
        let (heads, tails) = group.coin();
        if group.how_many >= WORTH_A_BINOMIAL {
            windows.push(Window::binomial(group.how_many, heads, tails));
            continue;
        }
        for _ in 0..group.how_many {
            coins.with_coin(heads, tails);
            if coins.values().len() > CHUNK {
                coins.trim();
                windows.push(std::mem::replace(&mut coins, Window::point(0)));
            }
        }
    }
    windows.push(coins);
    Ok(sum(windows))
}

/// The law of a sum of independent variables.
pub(super) fn sum(windows: Vec<Window>) -> Window {
    let mut shelf: Vec<Option<Window>> = Vec::with_capacity(2 * windows.len());
    let mut narrowest = BinaryHeap::new();
    for window in windows {
        narrowest.push(Reverse((window.values().len(), shelf.len())));
        shelf.push(Some(window));
    }
    loop {
        let taken = narrowest.pop().and_then(|Reverse((_, place))| shelf[place].take());
        let Some(one) = taken else { return Window::point(0) };
        let other = narrowest.pop().and_then(|Reverse((_, place))| shelf[place].take());
        let Some(other) = other else { return one };
        let both = one.convolved(&other);
        narrowest.push(Reverse((both.values().len(), shelf.len())));
        shelf.push(Some(both));
    }
}

/// Every law that is left when one record is taken out, or upper bounds of them: at most `parts` windows, each the law
/// of all records but those of one part, where the part is one record of a group (exact) if there are few groups, or
/// else a whole slice of the list (dropping records only raises δ of a count).
///
/// Built down a tree: the complement of a child is the complement of its parent with the sibling added.
pub(super) fn leave_one_out(groups: &[BeliefGroup], parts: usize) -> Result<Vec<RemainingLaw>> {
    total(groups)?;
    let mut groups: Vec<BeliefGroup> = groups.iter().copied().filter(|group| group.how_many > 0).collect();
    groups.sort_by(|a, b| a.probability.get().total_cmp(&b.probability.get()));
    groups.dedup_by(|next, kept| {
        let same = next.probability == kept.probability;
        if same {
            kept.how_many += next.how_many;
        }
        same
    });
    let exact = groups.len() <= parts;
    let slices: Vec<&[BeliefGroup]> =
        if groups.is_empty() { Vec::new() } else { groups.chunks(groups.len().div_ceil(parts.max(1))).collect() };
    let mut left = Vec::with_capacity(slices.len());
    complements(&slices, &Window::point(0), exact, &mut left)?;
    Ok(left)
}

/// A law with one record, or more, taken out.
pub(super) struct RemainingLaw {
    /// The law of the others.
    pub law: Window,
    /// Whether exactly one record was taken out, or more.
    pub exact: bool,
}

fn complements(slices: &[&[BeliefGroup]], outside: &Window, exact: bool, left: &mut Vec<RemainingLaw>) -> Result<()> {
    match slices {
        [] => {}
        [only] if exact => {
            let rest: Vec<BeliefGroup> =
                only.iter().map(|group| BeliefGroup { how_many: group.how_many - 1, ..*group }).collect();
            left.push(RemainingLaw { law: outside.convolved(&poisson_binomial(&rest)?), exact: true });
        }
        [_] => left.push(RemainingLaw { law: outside.clone(), exact: false }),
        _ => {
            let (one, other) = slices.split_at(slices.len() / 2);
            let with = |half: &[&[BeliefGroup]]| Ok::<_, Error>(outside.convolved(&poisson_binomial(&half.concat())?));
            complements(one, &with(other)?, exact, left)?;
            complements(other, &with(one)?, exact, left)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaving_one_out_of_few_groups_is_exact_and_of_many_is_a_slice() {
        let groups: Vec<BeliefGroup> =
            [0.05, 0.2, 0.5, 0.5, 0.9].iter().map(|&p| BeliefGroup::new(p, 1).unwrap()).collect();
        let left = leave_one_out(&groups, 64).unwrap();
        assert_eq!(left.len(), 4);
        assert!(left.iter().all(|left| left.exact && left.law.values().len() == 5));
        let coarse = leave_one_out(&groups, 2).unwrap();
        assert_eq!(coarse.len(), 2);
        assert!(coarse.iter().all(|left| !left.exact));
    }
}
