//! Pairs that users bring.

use super::cells::{Base, Cells, Tail};
use std::fmt;
use std::sync::Arc;

/// The mass of both distributions at losses above a bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tails {
    /// P\[loss > bound\], losses of +∞ included.
    pub p: f64,
    /// Q\[loss > bound\].
    pub q: f64,
}

/// A dominating pair (P, Q) of one's own mechanism, loss = ln(P/Q), by its tails.
///
/// ```
/// use scumble::loss::{DominatingPair, Loss, Tails};
/// use scumble::quantity::Delta;
/// /// Randomized response with ε = 1, as a pair of one's own.
/// #[derive(Debug)]
/// struct Coin;
/// impl DominatingPair for Coin {
///     fn above(&self, loss: f64) -> Tails {
///         let truth = 1.0 / (1.0 + (-1f64).exp());
///         match loss {
///             loss if loss >= 1.0 => Tails { p: 0.0, q: 0.0 },
///             loss if loss >= -1.0 => Tails { p: truth, q: 1.0 - truth },
///             _ => Tails { p: 1.0, q: 1.0 },
///         }
///     }
///     fn below(&self, loss: f64) -> Tails {
///         let above = self.above(loss);
///         Tails { p: 1.0 - above.p, q: 1.0 - above.q }
///     }
///     fn range(&self) -> (f64, f64) {
///         (-1.0, 1.0)
///     }
/// }
/// let loss = Loss::of_pair(std::sync::Arc::new(Coin), 100)?;
/// let answer = loss.epsilon(Delta::new(1e-6)?)?;
/// assert!(answer.upper >= 83.5307 && answer.upper < 83.54);
/// # Ok::<(), scumble::Error>(())
/// ```
pub trait DominatingPair: fmt::Debug + Send + Sync {
    /// Both masses at losses strictly above `loss`, each to the relative accuracy [`DominatingPair::accuracy`].
    fn above(&self, loss: f64) -> Tails;
    /// Both masses at losses of at most `loss`, each to the same accuracy.
    fn below(&self, loss: f64) -> Tails;
    /// Losses outside of which both distributions have no mass but at ±∞, or less than matters (their mass is still counted).
    fn range(&self) -> (f64, f64);
    /// P's mass at loss +∞ and Q's mass at loss −∞.
    fn infinite(&self) -> (f64, f64) {
        (0.0, 0.0)
    }
    /// The relative error of the tails.
    fn accuracy(&self) -> f64 {
        1e-14
    }
}

/// A user's pair; equal only to itself.
#[derive(Debug, Clone)]
pub(crate) struct Own(pub(crate) Arc<dyn DominatingPair>);

impl PartialEq for Own {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Own {
    /// The largest loss in either direction.
    pub(crate) fn pure(&self) -> f64 {
        let (low, high) = self.0.range();
        let inside = self.0.above(high).p == 0.0 && self.0.below(low.next_down()).q == 0.0;
        if inside && self.0.infinite() == (0.0, 0.0) { high.max(-low) } else { f64::INFINITY }
    }
}

/// A user's pair in one direction.
pub(crate) struct Custom {
    pair: Arc<dyn DominatingPair>,
    reversed: bool,
}

impl Custom {
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

impl Base for Custom {
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
        cells.below = Tail { p: below.p, q: below.q, excess: (first.min(700.0).exp() * below.q - below.p).max(0.0) };
        let finite = (above.p - self.infinite()).max(0.0);
        cells.above = Tail { p: finite, q: above.q, excess: (finite - last.min(700.0).exp() * above.q).max(0.0) };
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
