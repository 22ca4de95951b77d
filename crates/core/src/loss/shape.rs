//! A law that one word alone has, as its file describes it.

use std::fmt;
use std::sync::Arc;

/// A loss, and the masses of P and Q there.
pub(crate) type LossAtom = (f64, f64, f64);

/// What every view of the loss asks of a law.
pub(crate) trait LossShape: fmt::Debug + Send + Sync {
    /// Two shapes with the same identity are the same law.
    fn identity(&self) -> Vec<u64>;

    /// The largest loss in either direction.
    fn pure(&self) -> f64;

    /// The Rényi curve: K(α) = (α − 1)·D_α from above.
    fn cumulant(&self, order: f64) -> f64;

    /// The largest order at which the curve is finite (perhaps infinite).
    fn largest_order(&self) -> f64 {
        f64::INFINITY
    }

    /// The ρ of a curve that is ρ·α·(α − 1); on samples more is known about such a curve.
    fn concentrated(&self) -> Option<f64> {
        None
    }

    /// K(α) with one owner replaced on a sample of this rate, where more is known than of every mechanism with this
    /// curve.
    fn replaced(&self, _rate: f64, _order: f64) -> Option<f64> {
        None
    }

    /// Whether [`LossShape::pair`] is there.
    fn has_pair(&self) -> bool {
        false
    }

    /// A dominating pair that is the same in both directions and that some mechanism really has: (loss, P, Q) by rising
    /// losses, and what P has where Q has nothing. None where there is none, or where the pairs of several events must
    /// not be convolved.
    fn pair(&self) -> Option<(Vec<LossAtom>, f64)> {
        None
    }
}

/// A shape that several views hold.
#[derive(Debug, Clone)]
pub(crate) struct SharedShape(pub(crate) Arc<dyn LossShape>);

impl PartialEq for SharedShape {
    fn eq(&self, other: &Self) -> bool {
        self.0.identity() == other.0.identity()
    }
}
