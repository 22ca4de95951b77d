//! A count released as it is, or with noise: exactly for known beliefs, and in the worst case over a box of beliefs.

use super::bound::{Bound, Directions};
use super::closed;
use super::lambda::Lambda;
use super::noise::{self, AddedNoise};
use super::poisson_binomial::{BeliefGroup, MOST_RECORDS, RemainingLaw, leave_one_out, poisson_binomial, total};
use super::two_point::two_point;
use super::window::Window;
use scumble::error::Result;
use scumble::quantity::Epsilon;
use std::collections::BinaryHeap;

/// This many different targets are looked at one by one; of a longer list, slices.
const MOST_TARGETS: usize = 64;

/// From here on fewer slices, since each costs a convolution.
const MANY_RECORDS: u64 = 200_000;

/// Up to this many records every vertex of the box is looked at.
const EXHAUSTIVE: u64 = 512;

/// After this many looks the search stops with what it has proven.
const MOST_LOOKS: usize = 6000;

/// δ below this is not distinguished from 0 by the search; it is far below what a window drops.
const NOTHING: f64 = 1e-34;

/// δ at ε of a count whose other records follow `others` (the target and everything known left out).
///
/// # Guarantee
/// Active and passive attackers learn the same from a count: known records only shift it (paper, Theorem 2, Proposition
/// 6). The bound holds for every value of what is known, in both directions.
///
/// ```
/// use scumble::quantity::epsilon;
/// use scumble_adversary::attacker::{BeliefGroup, AddedNoise, exact_count};
/// let delta = exact_count(&[BeliefGroup::new(0.05, 99)?], AddedNoise::None, epsilon(1.0)?, 1)?.delta();
/// assert!((delta.upper - 0.021764142665).abs() < 1e-11);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn exact_count(others: &[BeliefGroup], noise: AddedNoise, epsilon: Epsilon, shift: u32) -> Result<Directions> {
    Ok(noise::directions_with_noise(&poisson_binomial(others)?, noise, epsilon, shift))
}

/// The same for every target of a list of all unknown records: the worst of them.
///
/// With many different probabilities whole slices of the list are left out instead of one record: a little more than
/// the truth, never less (dropping a record from a count only raises δ).
pub fn exact_count_of_all(records: &[BeliefGroup], noise: AddedNoise, epsilon: Epsilon, shift: u32) -> Result<Bound> {
    Ok(Targets::new(records)?.delta(noise, epsilon, shift))
}

/// The laws of the others for every possible target of a list.
pub(super) struct Targets {
    left: Vec<RemainingLaw>,
    /// The law with nobody left out, where slices were left out: from below, δ of any target is larger than δ here.
    whole: Option<Window>,
}

impl Targets {
    pub(super) fn new(records: &[BeliefGroup]) -> Result<Self> {
        let slices = if total(records)? > MANY_RECORDS { MOST_TARGETS / 4 } else { MOST_TARGETS };
        let left = leave_one_out(records, slices)?;
        refuse_if!(left.is_empty(), "a list of beliefs needs at least one record");
        let whole = if left.iter().all(|left| left.exact) { None } else { Some(poisson_binomial(records)?) };
        Ok(Self { left, whole })
    }

    pub(super) fn delta(&self, noise: AddedNoise, epsilon: Epsilon, shift: u32) -> Bound {
        let of = |law: &Window| noise::directions_with_noise(law, noise, epsilon, shift).delta();
        let worst = self.left.iter().map(|left| of(&left.law)).fold(Bound::exactly(0.0), Bound::max);
        match &self.whole {
            None => worst,
            Some(whole) => Bound::new(of(whole).lower, worst.upper),
        }
    }
}

/// W: the worst δ over all beliefs in the box, and where it is reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorstCase {
    /// The worst δ.
    pub delta: Bound,
    /// At the worst vertex that was found, this many records are believed to be 1 with probability λ, the others 1 − λ.
    pub at_lambda: u64,
    /// How many vertices were looked at.
    pub looks: usize,
}

/// W(m, λ, ε, s): sup of δ over all p ∈ \[λ, 1−λ\]^m, for one binary count, to within `tolerance` (relative).
///
/// # Guarantee
/// The laws are affine in each p_j and H_ε is jointly convex, so that the sup is at a vertex: a records at λ and m − a
/// at 1 − λ. The search is branch and bound: for all a in \[u, v\] the law contains Bin(u, λ) + Bin(m−v, 1−λ), and
/// dropping the rest only raises δ. Both ends of the answer are proven. The worst a is *not* always 0, and mirrored
/// vertices give the other direction. Adding noise keeps all of this true.
///
/// ```
/// use scumble::quantity::epsilon;
/// use scumble_adversary::attacker::{Lambda, AddedNoise, worst_count};
/// let worst = worst_count(99, Lambda::new(0.05)?, AddedNoise::None, epsilon(1.0)?, 1, 1e-6)?;
/// assert!((worst.delta.upper - 0.02249452154).abs() < 1e-10);
/// assert_eq!(worst.at_lambda, 2);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn worst_count(
    m: u64,
    lambda: Lambda,
    noise: AddedNoise,
    epsilon: Epsilon,
    shift: u32,
    tolerance: f64,
) -> Result<WorstCase> {
    refuse_if!(m > MOST_RECORDS, "more than {MOST_RECORDS} records are not analysed; claim fewer (that is safe)");
    let look = |low: u64, high: u64| {
        noise::with_against_without(&two_point(low, high, lambda.get()), noise, epsilon.get(), shift)
    };
    if lambda.get() == 0.5 {
        return Ok(WorstCase { delta: look(m, 0), at_lambda: m, looks: 1 });
    }
    let closed = if shift == 1 { closed::kullback_leibler(m, lambda, epsilon) } else { 1.0 };
    let mut search = WorstCaseSearch { best: 0.0, seen: 0.0, at_lambda: 0, looks: 0 };
    if closed < NOTHING {
        return Ok(WorstCase { delta: Bound::at_most(closed), at_lambda: 0, looks: 0 });
    }
    if m <= EXHAUSTIVE {
        for at_lambda in 0..=m {
            search.see(at_lambda, look(at_lambda, m - at_lambda));
        }
        return Ok(search.answer(0.0, closed));
    }
    for at_lambda in [0, 1, 2, 3, m / 2, m] {
        search.see(at_lambda, look(at_lambda, m - at_lambda));
    }
    let mut pruned = 0.0f64;
    let mut open = BinaryHeap::from([LambdaInterval { upper: 1.0, from: 0, to: m }]);
    while let Some(part) = open.pop() {
        if part.upper <= search.enough(tolerance) || search.looks > MOST_LOOKS {
            // The heap gives the largest first: nothing that is left is worse.
            pruned = pruned.max(part.upper);
            break;
        }
        let middle = part.from + (part.to - part.from) / 2;
        for (from, to) in [(part.from, middle), (middle + 1, part.to)] {
            if from > to {
                continue;
            }
            let at_lambda = from + (to - from) / 2;
            search.see(at_lambda, look(at_lambda, m - at_lambda));
            if from == to {
                continue;
            }
            search.looks += 1;
            let upper = look(from, m - to).upper;
            if upper > search.enough(tolerance) {
                open.push(LambdaInterval { upper, from, to });
            } else {
                pruned = pruned.max(upper);
            }
        }
    }
    Ok(search.answer(pruned, closed))
}

/// Records at λ from `from` to `to`, and a δ that none of these vertices exceeds.
#[derive(PartialEq)]
struct LambdaInterval {
    upper: f64,
    from: u64,
    to: u64,
}

impl Eq for LambdaInterval {}

impl Ord for LambdaInterval {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.upper.total_cmp(&other.upper).then(other.from.cmp(&self.from))
    }
}

impl PartialOrd for LambdaInterval {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

struct WorstCaseSearch {
    best: f64,
    seen: f64,
    at_lambda: u64,
    looks: usize,
}

impl WorstCaseSearch {
    fn see(&mut self, at_lambda: u64, delta: Bound) {
        self.looks += 1;
        self.seen = self.seen.max(delta.upper);
        if delta.lower > self.best {
            self.best = delta.lower;
            self.at_lambda = at_lambda;
        }
    }

    fn enough(&self, tolerance: f64) -> f64 {
        self.best * (1.0 + tolerance) + NOTHING
    }

    fn answer(&self, pruned: f64, closed: f64) -> WorstCase {
        let upper = self.seen.max(pruned).min(closed);
        WorstCase { delta: Bound::new(self.best, upper), at_lambda: self.at_lambda, looks: self.looks }
    }
}
