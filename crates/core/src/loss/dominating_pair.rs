//! Pairs that users bring.

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
/// let answer = loss.epsilon(Delta::new(1e-6)?);
/// assert!(answer.upper >= 83.5307 && answer.upper < 83.54);
/// # Ok::<(), scumble::Error>(())
/// ```
pub trait DominatingPair: fmt::Debug + Send + Sync {
    /// Both masses at losses strictly above `loss`, each to the relative accuracy [`DominatingPair::accuracy`].
    fn above(&self, loss: f64) -> Tails;
    /// Both masses at losses of at most `loss`, each to the same accuracy.
    fn below(&self, loss: f64) -> Tails;
    /// A range of losses. Outside of it, both distributions have no mass except at ±∞, or a negligible one (which is
    /// still counted).
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
pub(crate) struct UserPair(pub(crate) Arc<dyn DominatingPair>);

impl PartialEq for UserPair {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl UserPair {
    /// The largest loss in either direction.
    pub(crate) fn pure(&self) -> f64 {
        let (low, high) = self.0.range();
        let inside = self.0.above(high).p == 0.0 && self.0.below(low.next_down()).q == 0.0;
        if inside && self.0.infinite() == (0.0, 0.0) { high.max(-low) } else { f64::INFINITY }
    }
}
