//! Pairs that users bring, on a grid.

use super::cells::{BasePair, Cells, TailMasses};
use crate::loss::dominating_pair::{DominatingPair, Tails};
use std::sync::Arc;

/// A user's pair in one direction.
pub(crate) struct DirectedUserPair {
    pair: Arc<dyn DominatingPair>,
    reversed: bool,
}

impl DirectedUserPair {
    pub(crate) fn new(pair: Arc<dyn DominatingPair>, reversed: bool) -> Self {
        Self { pair, reversed }
    }

    /// (P, Q) between two losses, and what either may be off by.
    fn between(&self, low: f64, high: f64) -> (f64, f64, f64, f64) {
        let (low, high) = if self.reversed { (-high, -low) } else { (low, high) };
        let difference = |a: Tails, b: Tails| (a.p - b.p, a.q - b.q, a.p + b.p, a.q + b.q);
        // The side with less mass cancels less.
        let above = self.pair.above(low);
        let (p, q, size_p, size_q) = if above.p + above.q < 1.0 {
            difference(above, self.pair.above(high))
        } else {
            difference(self.pair.below(high), self.pair.below(low))
        };
        let error = self.pair.accuracy() + f64::EPSILON;
        let (p, q, wrong_p, wrong_q) = (p.max(0.0), q.max(0.0), error * size_p, error * size_q);
        if self.reversed { (q, p, wrong_q, wrong_p) } else { (p, q, wrong_p, wrong_q) }
    }
}

impl BasePair for DirectedUserPair {
    /// Differences of tails cancel, so each atom is raised by what it may be off by: still a dominating pair.
    fn cells(&self, nodes: &[f64]) -> Cells {
        let zeros = || vec![0.0; nodes.len() - 1];
        let mut cells = Cells { n: zeros(), m: zeros(), ..Cells::default() };
        let (mut raised_n, mut raised_m) = (zeros(), zeros());
        for (i, pair) in nodes.windows(2).enumerate() {
            let (p, q, wrong_p, wrong_q) = self.between(pair[0], pair[1]);
            let (low, high) = (pair[0].exp(), pair[1].exp());
            (raised_n[i], raised_m[i]) = (wrong_p + low * wrong_q, wrong_p + high * wrong_q);
            cells.n[i] = (p - low * q).max(0.0) + raised_n[i];
            cells.m[i] = (high * q - p).max(0.0) + raised_m[i];
        }
        // Twice, because the value before may have been too large by as much already.
        let twice = |values: Vec<f64>| values.into_iter().map(|value| 2.0 * value).collect();
        cells.raised = Some((twice(raised_n), twice(raised_m)));
        let (first, last) = (nodes[0], nodes[nodes.len() - 1]);
        let swap = |tails: Tails| Tails { p: tails.q, q: tails.p };
        let (below, above) = if self.reversed {
            (swap(self.pair.above(-first)), swap(self.pair.below(-last)))
        } else {
            (self.pair.below(first), self.pair.above(last))
        };
        cells.below =
            TailMasses { p: below.p, q: below.q, excess: (first.min(700.0).exp() * below.q - below.p).max(0.0) };
        let finite = (above.p - self.infinite()).max(0.0);
        cells.above = TailMasses { p: finite, q: above.q, excess: (finite - last.min(700.0).exp() * above.q).max(0.0) };
        cells
    }

    fn range(&self, _tail: f64) -> (f64, f64) {
        let (low, high) = self.pair.range();
        if self.reversed { (-high, -low) } else { (low, high) }
    }

    fn infinite(&self) -> f64 {
        let (p, q) = self.pair.infinite();
        if self.reversed { q } else { p }
    }

    fn anchor(&self) -> f64 {
        self.range(0.0).1
    }
}
