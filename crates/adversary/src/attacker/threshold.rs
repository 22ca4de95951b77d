//! A count that is only released when it is large enough: ⊥ if and only if the count is at most T.
//!
//! (k-anonymity releases from k on: there T = k − 1. Mixing the two up is an error in the unsafe direction.)

use super::bound::{Bound, Directions, UNIT};
use super::hockey::{self, LARGEST_EPSILON};
use super::poisson_binomial::{BeliefGroup, MOST_RECORDS, leave_one_out};
use super::window::Window;
use scumble::error::Result;
use scumble::quantity::{Epsilon, Probability};

/// How much work the scan of the unified theorem may take (records times width) before the coarse bound takes its
/// place.
const MOST_WORK: f64 = 4e8;

/// This many different targets are looked at one by one.
const MOST_TARGETS: usize = 64;

/// δ at ε, in both directions, of the count of `others` and a target, released above T.
///
/// # Guarantee
/// Exact for these beliefs. An attacker who has chosen, or may know, A records can make all of them ones: take T − A
/// and leave them out of `others` (paper, Proposition 8). A negative threshold is a plain count. More records
/// can *raise* this δ: none may be dropped here.
///
/// ```
/// use scumble::quantity::epsilon;
/// use scumble_adversary::attacker::{BeliefGroup, poisson_binomial, thresholded};
/// let others = poisson_binomial(&[BeliefGroup::new(0.005, 9999)?])?;
/// let delta = thresholded(&others, 100, epsilon(0.0)?).delta();
/// assert!((delta.upper / 1.437526751836119e-10 - 1.0).abs() < 1e-9);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn thresholded(others: &Window, threshold: i64, epsilon: Epsilon) -> Directions {
    ThresholdCurve::new(others, epsilon).at(threshold)
}

/// The worst target of a list of all records. None may be dropped, so that at most 64 different beliefs are taken.
pub fn thresholded_of_all(records: &[BeliefGroup], threshold: i64, epsilon: Epsilon) -> Result<Bound> {
    let left = leave_one_out(records, MOST_TARGETS)?;
    if left.is_empty() || !left.iter().all(|left| left.exact) {
        refuse!(
            "the exact analysis of a thresholded count takes 1 to {MOST_TARGETS} different probabilities; round them up to \
             fewer and give p_max instead"
        );
    }
    let worst = |worst: Bound, delta: Bound| worst.max(delta);
    Ok(left.iter().map(|left| thresholded(&left.law, threshold, epsilon).delta()).fold(Bound::exactly(0.0), worst))
}

/// The laws above and at a threshold, for every threshold at once: sums from the top.
struct ThresholdCurve<'a> {
    others: &'a Window,
    epsilon: f64,
    /// Σ over k > first + index − 1 of the positive parts, for (d10, d01), upper and lower.
    tails: Vec<[f64; 4]>,
    /// Σ_{k < first + index} of the held values.
    below: Vec<f64>,
}

impl<'a> ThresholdCurve<'a> {
    fn new(others: &'a Window, epsilon: Epsilon) -> Self {
        let epsilon = epsilon.get().min(LARGEST_EPSILON);
        let error = others.relative_error() + 4.0 * UNIT;
        let (up, down) = ((epsilon - 2.1 * error).exp(), (epsilon + 2.1 * error).exp());
        let length = others.values().len();
        let mut tails = vec![[0.0; 4]; length + 2];
        // tails[index] sums over k ≥ first + index; k runs to last + 1, where only the target can bring the count.
        for index in (0..=length).rev() {
            let before = index.checked_sub(1).map_or(0.0, |place| others.values()[place]);
            let here = others.values().get(index).copied().unwrap_or(0.0);
            let mut sums = tails[index + 1];
            sums[0] += (before - up * here).max(0.0);
            sums[1] += (before - down * here).max(0.0);
            sums[2] += (here - up * before).max(0.0);
            sums[3] += (here - down * before).max(0.0);
            tails[index] = sums;
        }
        let mut below = vec![0.0; length + 1];
        for index in 0..length {
            below[index + 1] = below[index] + others.values()[index];
        }
        Self { others, epsilon, tails, below }
    }

    fn at(&self, threshold: i64) -> Directions {
        let others = self.others;
        if threshold < 0 {
            return hockey::directions_at(others, self.epsilon, 1);
        }
        let length = others.values().len();
        if threshold > others.last() && others.dropped() == 0.0 {
            // The largest count possible is ⊥ as well.
            return Directions { with_against_without: Bound::exactly(0.0), without_against_with: Bound::exactly(0.0) };
        }
        // Terms k > T; the term k = first with a threshold below the window is one of them.
        let place = usize::try_from(threshold + 1 - others.first()).unwrap_or(0).min(length + 1);
        let [upper10, lower10, upper01, lower01] = self.tails[place];
        let below = self.below[usize::try_from(threshold - others.first()).unwrap_or(0).min(length)];
        let at = others.at(threshold);
        // ⊥: P0 − e^ε P1 = f(T) − (e^ε−1)·F(T−1), by expm1 and not as a difference of sums. (The other way round it
        // is ≤ 0.)
        let error = others.relative_error() + (length as f64 + 12.0) * UNIT;
        let growth = self.epsilon.exp_m1();
        let bottom_upper = (at - growth * below * (1.0 - 2.1 * error)).max(0.0);
        let bottom_lower = (at - growth * below * (1.0 + 2.1 * error)).max(0.0);
        let dropped = others.dropped();
        let lost = 1.01 * self.epsilon.exp() * dropped;
        Directions {
            with_against_without: Bound::new(lower10 * (1.0 - error) - lost, upper10 / (1.0 - error) + dropped),
            without_against_with: Bound::new(
                (lower01 + bottom_lower) * (1.0 - error) - lost,
                (upper01 + bottom_upper) / (1.0 - error) + dropped,
            ),
        }
    }
}

/// A passive attacker who happens to know `known` of n records, each 1 with the same probability p, independently: the
/// exact δ (PPKDP), averaged over what it happens to know.
pub fn thresholded_passive(n: u64, p: Probability, threshold: i64, known: u64, epsilon: Epsilon) -> Result<Directions> {
    if known >= n || n > MOST_RECORDS {
        refuse!("of {n} records at most {} can be known, not {known}", n.saturating_sub(1));
    }
    let (heads, tails) = (p.get(), 1.0 - p.get());
    let luck = Window::binomial(known, heads, tails);
    let others = Window::binomial(n - known - 1, heads, tails);
    let curve = ThresholdCurve::new(&others, epsilon);
    let (mut with, mut without) = ((0.0, 0.0), (0.0, 0.0));
    for (index, weight) in luck.values().iter().enumerate() {
        let directions = curve.at(threshold - luck.first() - index as i64);
        let (a, b) = (directions.with_against_without, directions.without_against_with);
        with = (with.0 + weight * a.lower, with.1 + weight * a.upper);
        without = (without.0 + weight * b.lower, without.1 + weight * b.upper);
    }
    let error = luck.relative_error() + (luck.values().len() as f64 + 4.0) * UNIT;
    let bound = |ends: (f64, f64)| Bound::new(ends.0 * (1.0 - error), ends.1 / (1.0 - error) + luck.dropped());
    Ok(Directions { with_against_without: bound(with), without_against_with: bound(without) })
}

/// δ of the coupling, at ε = 0: P\[at least T ones among all others\].
///
/// # Guarantee
/// (0, δ)-PPKDP for every passive attacker, whatever set of records it knows, even all others: the outputs with and
/// without the target differ only if the others reach T. Only the target must be independent of the others and of what
/// is known; the others may depend on each other as long as the tail holds.
pub fn coupling(all_others: &Window, threshold: i64) -> Bound {
    if threshold <= 0 {
        return Bound::exactly(1.0);
    }
    // The bound is an upper bound of δ; from below it says nothing.
    Bound::at_most(all_others.tail_from(threshold).upper)
}

/// U(p̄, T, ε, m): the worst δ over all beliefs p_j ≤ p̄ of at most m others (`None`: any number). No lower bound on
/// the p_j is needed: rare values hide below the threshold, common ones in the crowd.
///
/// # Guarantee
/// By the vertex principle the worst case has a ≤ m records at p̄ and the others at 0; the scan over a ends where the
/// unthresholded δ, which dominates and falls in a, is smaller than what was found. Influenced records: T − A. For a
/// passive attacker use [`unified_passive`].
pub fn unified(p_max: Probability, threshold: i64, epsilon: Epsilon, most_others: Option<u64>) -> Result<Bound> {
    let (heads, tails) = (p_max.get(), 1.0 - p_max.get());
    if heads == 0.0 {
        // Nobody else is ever 1: the count is the target.
        return Ok(if threshold >= 1 { Bound::exactly(0.0) } else { Bound::exactly(1.0) });
    }
    if tails == 0.0 {
        // p̄ = 1 bounds nothing: T others that are surely 1 leave the target bare.
        let reachable = most_others.is_none_or(|most| most as i64 >= threshold);
        return Ok(if reachable { Bound::exactly(1.0) } else { Bound::exactly(0.0) });
    }
    // Fewer than T others never bring the count above T.
    let from = u64::try_from(threshold).unwrap_or(0);
    let most = most_others.unwrap_or(MOST_RECORDS).min(MOST_RECORDS);
    if from > most {
        return Ok(Bound::exactly(0.0));
    }
    let plain = |a: u64| hockey::directions(&Window::binomial(a, heads, tails), epsilon, 1).delta();
    let coarse = coarse(from, most, threshold, heads, tails, &plain);
    let width = |a: f64| (28.0 * (a * heads * tails).sqrt() + 64.0).min(a + 1.0);
    let end = (2.0 * coarse.0 as f64 + 64.0).min(most as f64);
    if (end - from as f64) * width(end) > MOST_WORK {
        return Ok(Bound::at_most(coarse.1));
    }
    let mut best = Bound::exactly(0.0);
    for a in from..=most {
        let window = Window::binomial(a, heads, tails);
        best = best.max(thresholded(&window, threshold, epsilon).delta());
        // Looking for the end costs as much as a step: only now and then.
        if (a - from).is_multiple_of(16) && plain(a).upper <= best.upper {
            break;
        }
    }
    Ok(best.and(Bound::at_most(coarse.1)))
}

/// For fewer than a* others the coupling bounds δ, for more the unthresholded count does: the crossing, and the bound
/// there.
fn coarse(from: u64, most: u64, threshold: i64, heads: f64, tails: f64, plain: &impl Fn(u64) -> Bound) -> (u64, f64) {
    let below = |a: u64| coupling(&Window::binomial(a, heads, tails), threshold).upper;
    let (mut low, mut high) = (from, most);
    while low < high {
        let middle = low + (high - low) / 2;
        // Doubling first: the crossing is near T/p̄, not near the largest number that is analysed.
        let middle = middle.min(low.saturating_mul(2).max(16));
        if below(middle) >= plain(middle).upper {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    (low, below(low).max(if low >= most { 0.0 } else { plain(low).upper }))
}

/// The unified theorem for a passive attacker who knows `known` records: either it happens to know b₀ or more ones, or
/// the threshold is still T − b₀ + 1 away. The best b₀ is taken.
pub fn unified_passive(
    p_max: Probability,
    threshold: i64,
    epsilon: Epsilon,
    known: u64,
    others: Option<u64>,
) -> Result<Bound> {
    if known == 0 {
        return unified(p_max, threshold, epsilon, others);
    }
    let luck = Window::binomial(known.min(MOST_RECORDS), p_max.get(), 1.0 - p_max.get());
    let value = |b: i64| -> Result<f64> {
        let rest = unified(p_max, threshold - b + 1, epsilon, others)?;
        Ok(luck.tail_from(b).upper + rest.upper)
    };
    // The first term falls and the second rises in b₀: a few looks around where they cross find nearly the best.
    let (mut low, mut high) = (1i64, (known as i64 + 1).min(threshold.max(0) + 2));
    let mut best = value(high)?;
    while low < high {
        let middle = low + (high - low) / 2;
        let rest = unified(p_max, threshold - middle + 1, epsilon, others)?.upper;
        let tail = luck.tail_from(middle).upper;
        best = best.min(tail + rest);
        if tail <= rest {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(Bound::at_most(best))
}
