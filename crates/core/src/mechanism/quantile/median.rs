//! A median by one level of the recursion of [`crate::mechanism::interior_point`].
//!
//! Of n values, q_j at most j, let F(j) = clamp(2·q_j − n + 2w, 0, 4w), but F(−1) = 0 and F(last) = 4w by fiat. A
//! generalised interior point of F, F(j) > 0 and F(j − 1) < 4w, has more than n/2 − w values at most j and fewer than
//! n/2 + w below j: its rank is within w of the median's (the fiat takes nothing away: no value is below the first
//! place, and all are at most the last).
//!
//! # What a change moves
//! **A value x more.** 2q_j − n falls by 1 for j < x and rises by 1 from x on. F, being a clamp of that, moves by
//! δ_j ∈ {−1, 0} before x and by δ_j ∈ {0, 1} from x on; δ is −1 exactly where 2q_j − n + 2w was in 1, …, 4w and +1
//! exactly where it was in 0, …, 4w − 1, and since q is monotone each of these is one interval. With δ = 0 at both ends
//! (fiat), δ steps by −1, then by +2 or +1 at x or wherever the intervals end, then by −1; a node [a, b] moves by
//! δ_b − δ_{a−1}, the sum of the steps that it holds. So in every level the nodes move by (−1, +2, −1) or by less: one
//! cell by 2 and two cells by 1, and the largest of a level by at most 2. A value less is the same backwards.
//!
//! **A value replaced, x by a smaller y.** n stays, 2q_j − n rises by 2 for y ≤ j < x. F moves by δ_j ∈ {0, 1, 2}, and
//! δ rises (in steps that add up to at most 2) and then falls (the same). So nodes move by (+2, −2), (+1, +1, −2),
//! (+2, −1, −1), (+1, +1, −1, −1) or less, the largest of a level by at most 2, and F at one place by at most 2.
//!
//! # What a level of a tree costs
//! A tree splits at released points, so that a value is in one part per level. Where one is replaced, either both are
//! in one part, or one part loses a value and another gets one. Which of the two can depend on what was released
//! before, and so can how the steps fall into nodes: nobody may choose the cheaper case, and the claim is one that
//! covers all cases *at once*, cell by cell. For nodes, two cells by 2 and four cells by 1 hold every one of the cases;
//! for F(a − 1), two cells by 2; for the level, two runs of the exponential mechanism. Above the first split there is
//! only one part: one run, and one cell by 2.

use super::moves;
use crate::calibrate::normal_tail_quantile;
use crate::error::Result;
use crate::event::{Event, Moves, Word};
use crate::mechanism::additive::Noise;
use crate::mechanism::interior_point::{Leaf, Leaves, NodeThresholds, RecursionLevel, table};
use crate::noise::{BitSource, SinhNormal};
use crate::quantity::{Epsilon, Omega, Rho};
use crate::scope::AttributeSet;

/// By how much a node's value moves at most, in half-units.
const NODE_SENSITIVITY: u32 = 2;

/// Medians by the recursion, for the parts of a tree.
#[derive(Debug, Clone)]
pub(super) struct RecursiveMedian {
    pub(super) recursion: RecursionLevel,
    /// w, in ranks; 4w half-units are the height of F.
    pub(super) half_width: i64,
}

impl RecursiveMedian {
    /// For a tree of `levels` levels that is (ρ, ω)-tCDP when a value is replaced; each median fails with probability
    /// at most β.
    pub(super) fn new(leaves: Leaves, levels: u32, (rho, omega): (Rho, Omega), beta: f64) -> Result<Self> {
        let plan = MedianBudget::new(leaves, levels, rho.get(), beta);
        let epsilon = Epsilon::new((8.0 * plan.level).sqrt())?;
        let slope =
            |noise: &SinhNormal, by: u64| -> Result<f64> { Ok(noise.certificate(by)?.slope_upper(omega).get()) };
        let of_nodes = |noise: &SinhNormal| Ok(2.0 * slope(noise, 2)? + 4.0 * slope(noise, 1)?);
        // For a Gaussian D(2) = 4·D(1), so that a move by 2 is a third of the cost of all.
        let nodes = table((Rho::new(plan.nodes)?, omega), (2, 1.0 / 3.0), plan.any_node, of_nodes)?;
        let before = table((Rho::new(plan.before)?, omega), (2, 1.0), plan.one, |noise| slope(noise, 2))?;
        let quantile = |noise: &SinhNormal, p: f64| noise.table().quantile(p) as f64;
        let quantiles = [quantile(&nodes, plan.any_node), quantile(&nodes, plan.one), quantile(&before, plan.one)];
        let thresholds = NodeThresholds::new(plan.heights, (epsilon.get(), NODE_SENSITIVITY), beta, quantiles);
        let half_width = (thresholds.height() + 3) / 4;
        let thresholds = NodeThresholds { margin: 4 * half_width - 2 * thresholds.too_full, ..thresholds };
        let recursion = RecursionLevel { leaves, epsilon, sensitivity: NODE_SENSITIVITY, nodes, before, thresholds };
        Ok(Self { recursion, half_width })
    }

    /// A place near the median of the sorted values of a part, within its range.
    ///
    /// # Guarantee
    /// Before: the range is public. After: as [`RecursionLevel::release`] of F; moving the place into the range is
    /// post-processing, and takes no rank away, since all values lie in the range.
    pub(super) fn release<S: BitSource + ?Sized>(
        &self,
        sorted: &[Leaf],
        range: (Leaf, Leaf),
        bits: &mut S,
    ) -> Result<Leaf> {
        Ok(self.recursion.release(&self.jumps(sorted), bits)?.clamp(range.0, range.1))
    }

    /// Where F rises, and by how much. Only about 2w of the values can be there: the others are clamped away.
    pub(super) fn jumps(&self, sorted: &[Leaf]) -> Vec<(Leaf, i64)> {
        let (count, height) = (sorted.len() as i64, 4 * self.half_width);
        let f = |at_most: i64| (2 * at_most - count + 2 * self.half_width).clamp(0, height);
        let mut jumps = vec![(self.recursion.leaves.first(), f(0))];
        let mut rise = |place: Leaf, by: i64| match jumps.last_mut() {
            Some(last) if last.0 == place => last.1 += by,
            _ => jumps.push((place, by)),
        };
        let near = |offset: i64| (count / 2 + offset).clamp(0, count);
        let (start, end) = (near(-self.half_width - 1), near(self.half_width + 1));
        for (index, place) in (start..end).zip(&sorted[start as usize..]) {
            rise(*place, f(index + 1) - f(index));
        }
        rise(self.recursion.leaves.last(), height - f(count));
        jumps.retain(|(_, by)| *by > 0);
        jumps
    }

    /// What the medians of a tree of this many levels did, if a change of these attributes replaces a value. Somebody
    /// who then has none has left: that is less in every event.
    pub(super) fn events(&self, levels: u32, attributes: &AttributeSet) -> Result<Vec<Event>> {
        let moves = |presence: (u64, f64), replaced: (u64, f64)| moves(1, presence, replaced, attributes);
        let level = |moves: Moves| Event::new(Word::Exponential { epsilon: self.recursion.epsilon }, moves);
        let nodes = Noise::SinhNormal(self.recursion.nodes.clone());
        let before = Noise::SinhNormal(self.recursion.before.clone());
        let mut events = vec![
            level(moves((1, 1.0), (1, 1.0))?),
            // One noise on the nodes, in two events: the cells that move by two, and those that move by one.
            nodes.event(moves((1, 2.0), (2, 2.0))?)?.repeated(levels.into())?,
            nodes.event(moves((2, 1.0), (4, 1.0))?)?.repeated(levels.into())?,
            before.event(moves((1, 1.0), (1, 2.0))?)?,
        ];
        if levels > 1 {
            let deeper = u64::from(levels - 1);
            events.push(level(moves((1, 1.0), (2, 1.0))?).repeated(deeper)?);
            events.push(before.event(moves((1, 1.0), (2, 2.0))?)?.repeated(deeper)?);
        }
        Ok(events)
    }
}

/// What each part of the recursion may cost in one run, and how often it may fail: public numbers only.
struct MedianBudget {
    level: f64,
    nodes: f64,
    before: f64,
    /// How many heights of the tree there are to choose from.
    heights: f64,
    /// The probability with which one draw may be too large, and the same for one of all nodes.
    one: f64,
    any_node: f64,
}

impl MedianBudget {
    /// The height 2τ₂ + 2q_e is about a₁/√s₁ + a₂/√s₂ + a₃/√s₃ for shares s of the budget, with the a of Gaussian
    /// noise; the best shares are in the ratio of a^{2/3}. Over L levels, the level and the end are paid 2L − 1 times
    /// and the nodes L times.
    fn new(leaves: Leaves, levels: u32, rho: f64, beta: f64) -> Self {
        let heights = f64::from(leaves.bits()) + 1.0;
        let one = beta / 4.0;
        let any_node = (one.ln() - f64::from(leaves.bits()) * std::f64::consts::LN_2).exp();
        let deviations = |p: f64| normal_tail_quantile(p / 2.0);
        let (runs, pairs) = (f64::from(levels), f64::from(2 * levels - 1));
        let scales = [
            2.0 * 4.0 * f64::from(NODE_SENSITIVITY) * (4.0 * heights / beta).ln() * (pairs / 8.0).sqrt(),
            // 2·D(2) + 4·D(1) = 12/2σ²
            2.0 * (deviations(any_node) + deviations(one)) * (6.0 * runs).sqrt(),
            // D(2) = 4/2σ²
            2.0 * deviations(one) * (2.0 * pairs).sqrt(),
        ];
        let weights = scales.map(|scale| scale.powf(2.0 / 3.0));
        let unit = rho * (1.0 - 1e-12) / weights.iter().sum::<f64>();
        let [level, nodes, before] = weights.map(|weight| weight * unit);
        Self { level: level / pairs, nodes: nodes / runs, before: before / pairs, heights, one, any_node }
    }
}

#[cfg(test)]
mod tests;
