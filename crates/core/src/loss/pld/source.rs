//! Sources: a pair in one direction, on everybody or on a sample, as masses at the nodes of a grid.
//!
//! Sampling moves likelihood ratios by an affine map, γ = 1 − s + s·γ′, and leaves Q alone, so connect-the-dots of the
//! sampled pair is that of the base pair at the moved nodes: n = s·n′ and m = s·m′ \[ZDW22, Theorem 11\]. The other
//! direction is the mirror image. One owner replaced: the sampled curve above γ = 1, its mirror below.

use super::cells::{BasePair, Cells, TailMasses, fast_exp_m1};

/// The unit roundoff.
pub(super) const ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// Nodes less than this share of the rate above 1 − s are not looked at before sampling, so that no loss there lies
/// below −[`LARGEST_DROP`].
const LEAST_SHARE: f64 = 1e-9;
const LARGEST_DROP: f64 = 21.0;

/// A dominating pair in one direction.
pub(crate) enum DirectedPair {
    /// On everybody.
    Whole(Box<dyn BasePair>),
    /// On a sample, somebody removed: ((1−s)Q + sP, Q).
    Remove { base: Box<dyn BasePair>, rate: f64 },
    /// On a sample, somebody added: (Q, (1−s)Q + sP) for the base pair of the removal.
    Add { base: Box<dyn BasePair>, rate: f64 },
    /// On a sample, somebody replaced; the base pair in both directions.
    Replace { forward: Box<dyn BasePair>, backward: Box<dyn BasePair>, rate: f64 },
}

/// P's masses at the nodes of a grid.
pub(crate) struct GridMasses {
    /// At each node.
    pub(crate) at: Vec<f64>,
    /// At loss +∞, by the pair itself.
    pub(crate) infinite: f64,
    /// At loss +∞, because the grid ends: certainly no more than this.
    pub(crate) truncated: f64,
    /// What lay at finite losses above the last node.
    pub(crate) beyond: f64,
    /// What was moved up to the first node from below it.
    pub(crate) raised: f64,
    /// How much of each node's mass may be too much.
    pub(crate) doubt: Vec<f64>,
}

/// The atoms that cells with these n and m leave at the nodes.
fn atoms(nodes: &[f64], n: &[f64], m: &[f64]) -> Vec<f64> {
    let mut at = vec![0.0; nodes.len()];
    for (i, pair) in nodes.windows(2).enumerate() {
        let growth = fast_exp_m1(pair[1] - pair[0]);
        if m[i] > 0.0 {
            at[i] += m[i] / growth;
        }
        if n[i] > 0.0 {
            // n/(1 − e^{−c})
            at[i + 1] += n[i] * (1.0 + 1.0 / growth);
        }
    }
    at
}

impl GridMasses {
    fn gather(nodes: &[f64], cells: &Cells, above: TailMasses, infinite: f64) -> Self {
        let mut at = atoms(nodes, &cells.n, &cells.m);
        at[0] += cells.below.p;
        at[nodes.len() - 1] += (above.p - above.excess).max(0.0);
        let doubt = cells.raised.as_ref().map_or_else(Vec::new, |(n, m)| atoms(nodes, n, m));
        let truncated = above.excess.max(0.0);
        Self { at, infinite, truncated, beyond: above.p, raised: cells.below.p, doubt }
    }
}

impl DirectedPair {
    /// Losses between which the nodes must lie for at most `tail` of P's mass to be beyond either end.
    pub(crate) fn range(&self, tail: f64) -> (f64, f64) {
        let sampled =
            |rate: f64, loss: f64| if loss > 700.0 { loss + rate.ln() } else { (rate * loss.exp_m1()).ln_1p() };
        // No loss lies below ln(1 − s); where the pair's own losses are small, nothing lies near it.
        let least = |base: &dyn BasePair, rate: f64| sampled(rate, base.least(tail)).min(0.0);
        match self {
            Self::Whole(base) => base.range(tail),
            Self::Remove { base, rate } => (least(base.as_ref(), *rate), sampled(*rate, base.range(tail).1)),
            Self::Add { base, rate } => (-sampled(*rate, base.range(tail).1.max(0.0)), -least(base.as_ref(), *rate)),
            Self::Replace { forward, backward, rate } => {
                let up = sampled(*rate, forward.range(tail).1.max(0.0));
                (-sampled(*rate, backward.range(tail).1.max(0.0)), up)
            }
        }
    }

    /// By how much an end of a cell may be off, in units of loss, because it is rounded (u is the unit roundoff).
    ///
    /// On everybody: by u|y| for the node, and a pair may use its losses with an error of 3u times its farthest one, F.
    /// On a sample a node y stands for x = (e^y − 1)/s and the loss ℓ = ln(1 + x) before. Backwards in y: x is good to
    /// 3u relatively, which is 3u|1 − e^{−y}|, the node to u|y|, which is no more than the larger of |1 − e^{±y}|;
    /// ln(1 + x) is good to 2u|ℓ| and the pair's own use of it to 3uF, and a change of ℓ is one of
    /// s·e^ℓ/(1 − s + s·e^ℓ) as much in y.
    pub(crate) fn rounding(&self, tail: f64) -> f64 {
        let farthest = |base: &dyn BasePair| {
            let (low, high) = base.range(tail);
            low.abs().max(high.abs()).max(base.anchor().abs())
        };
        let (low, high) = self.range(tail);
        let sampled = |base: &dyn BasePair, rate: f64, low: f64, high: f64| {
            let odds = rate * base.range(tail).1.clamp(0.0, 700.0).exp();
            let own = farthest(base).max((-base.least(tail)).min(LARGEST_DROP));
            4.0 * low.exp_m1().abs().max((-low).exp_m1()).max(-(-high).exp_m1())
                + 6.0 * own * odds / (1.0 - rate + odds)
        };
        ROUNDOFF
            * match self {
                Self::Whole(base) => 4.0 * farthest(base.as_ref()),
                Self::Remove { base, rate } => sampled(base.as_ref(), *rate, low, high),
                Self::Add { base, rate } => sampled(base.as_ref(), *rate, -high, -low),
                Self::Replace { forward, backward, rate } => {
                    let up = sampled(forward.as_ref(), *rate, 0.0, high);
                    up.max(sampled(backward.as_ref(), *rate, 0.0, -low))
                }
            }
    }

    /// The masses at `nodes`, which must reach below the least loss of a sampled source.
    pub(crate) fn masses(&self, nodes: &[f64]) -> GridMasses {
        match self {
            Self::Whole(base) => {
                let cells = base.cells(nodes);
                let above = cells.above;
                GridMasses::gather(nodes, &cells, above, self.infinite())
            }
            Self::Remove { base, rate } => {
                let cells = sampled(base.as_ref(), *rate, nodes);
                let above = cells.above;
                GridMasses::gather(nodes, &cells, above, self.infinite())
            }
            Self::Add { base, rate } => {
                let mirrored: Vec<f64> = nodes.iter().rev().map(|loss| -loss).collect();
                let cells = mirror(&mirrored, &sampled(base.as_ref(), *rate, &mirrored));
                let above = cells.above;
                GridMasses::gather(nodes, &cells, above, 0.0)
            }
            Self::Replace { forward, backward, rate } => replace(forward.as_ref(), backward.as_ref(), *rate, nodes),
        }
    }

    /// P's mass at loss +∞, by the pair itself.
    pub(crate) fn infinite(&self) -> f64 {
        match self {
            Self::Whole(base) => base.infinite(),
            Self::Remove { base, rate } => rate * base.infinite(),
            Self::Add { .. } => 0.0,
            Self::Replace { forward, rate, .. } => rate * forward.infinite(),
        }
    }

    /// See [`BasePair::misfit`].
    pub(crate) fn misfit(&self, anchor: f64, step: f64) -> Option<f64> {
        if let Self::Whole(base) = self { base.misfit(anchor, step) } else { None }
    }

    /// A loss that should be a node.
    pub(crate) fn anchor(&self) -> f64 {
        if let Self::Whole(base) = self { base.anchor() } else { 0.0 }
    }

    /// See [`BasePair::period`].
    pub(crate) fn period(&self) -> Option<f64> {
        if let Self::Whole(base) = self { base.period() } else { None }
    }

    /// The distance between losses if they form a lattice through the anchor.
    pub(crate) fn lattice(&self) -> Option<f64> {
        if let Self::Whole(base) = self { base.lattice() } else { None }
    }
}

/// The cells of ((1−s)Q + sP, Q) between `nodes`.
fn sampled(base: &dyn BasePair, rate: f64, nodes: &[f64]) -> Cells {
    let keep = 1.0 - rate;
    // The base pair's node for each of ours; those at or below the least loss have none.
    let moved = |loss: f64| (loss.exp_m1() / rate).ln_1p();
    let first = nodes.iter().position(|&loss| loss.exp_m1() + rate > LEAST_SHARE * rate).unwrap_or(nodes.len() - 1);
    let base_nodes: Vec<f64> = nodes[first..].iter().map(|&loss| moved(loss)).collect();
    let inner = base.cells(&base_nodes);
    let mut cells = Cells { n: vec![0.0; nodes.len() - 1], m: vec![0.0; nodes.len() - 1], ..Cells::default() };
    for i in 0..inner.n.len() {
        cells.n[first + i] = rate * inner.n[i];
        cells.m[first + i] = rate * inner.m[i];
    }
    let mixed =
        |tail: TailMasses| TailMasses { p: keep * tail.q + rate * tail.p, q: tail.q, excess: rate * tail.excess };
    cells.above = mixed(inner.above);
    let below = mixed(inner.below);
    if first == 0 {
        cells.below = below;
    } else {
        // The cell that holds the least loss: its lower node γ₋ lies below 1 − s, or above it by no more than 1e-9·s.
        let n = rate * inner.below.p + (-rate - nodes[first - 1].exp_m1()) * inner.below.q;
        (cells.n[first - 1], cells.m[first - 1]) = (n.max(0.0), below.excess);
        if n < 0.0 {
            let mut raised = vec![0.0; nodes.len() - 1];
            raised[first - 1] = -n;
            cells.raised = Some((raised, vec![0.0; nodes.len() - 1]));
        }
    }
    cells
}

/// The cells of (Q, P) at the negated nodes, from those of (P, Q) at `nodes`.
fn mirror(nodes: &[f64], cells: &Cells) -> Cells {
    let last = nodes.len() - 1;
    let n_from = |m: &[f64]| -> Vec<f64> { (0..last).rev().map(|i| (-nodes[i + 1]).exp() * m[i]).collect() };
    let m_from = |n: &[f64]| -> Vec<f64> { (0..last).rev().map(|i| (-nodes[i]).exp() * n[i]).collect() };
    let raised = cells.raised.as_ref().map(|(n, m)| (n_from(m), m_from(n)));
    let below = TailMasses { p: cells.above.q, q: cells.above.p, excess: (-nodes[last]).exp() * cells.above.excess };
    let above = TailMasses { p: cells.below.q, q: cells.below.p, excess: (-nodes[0]).exp() * cells.below.excess };
    Cells { n: n_from(&cells.m), m: m_from(&cells.n), below, above, raised }
}

/// The sampled curve above loss 0 and its mirror below, with what is left at 0; a node must lie at 0.
fn replace(forward: &dyn BasePair, backward: &dyn BasePair, rate: f64, nodes: &[f64]) -> GridMasses {
    let zero = nodes.iter().position(|&loss| loss >= 0.0).unwrap_or(nodes.len() - 1);
    let mut at = vec![0.0; nodes.len()];
    let (mut truncated, mut beyond, mut raised) = (0.0, 0.0, 0.0);
    if zero + 1 < nodes.len() {
        let cells = Cells { below: TailMasses::default(), ..sampled(forward, rate, &nodes[zero..]) };
        let above = cells.above;
        let up = GridMasses::gather(&nodes[zero..], &cells, above, 0.0);
        for (i, mass) in up.at.iter().enumerate() {
            at[zero + i] += mass;
        }
        (truncated, beyond) = (up.truncated, up.beyond);
    }
    if zero > 0 {
        let down: Vec<f64> = nodes[..=zero].iter().rev().map(|loss| -loss).collect();
        let cells = mirror(&down, &Cells { below: TailMasses::default(), ..sampled(backward, rate, &down) });
        let below = GridMasses::gather(&nodes[..=zero], &cells, TailMasses::default(), 0.0);
        for (i, mass) in below.at.iter().enumerate() {
            at[i] += mass;
        }
        raised = below.raised;
    }
    let infinite = rate * forward.infinite();
    let placed: f64 = at.iter().sum::<f64>() + truncated + infinite;
    at[zero] += (1.0 - placed).max(0.0) + 1e-15;
    GridMasses { at, infinite, truncated, beyond, raised, doubt: Vec::new() }
}
