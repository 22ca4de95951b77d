//! How many values are at most a key, for all keys at once, read off a tree of quantiles.

use super::{QuantileTree, moves};
use crate::error::Result;
use crate::event::Event;
use crate::mechanism::additive::Noise;
use crate::noise::BitSource;
use crate::quantity::Beta;
use crate::scope::AttributeSet;

/// A distribution function over up to 2^128 keys: a tree of quantiles and a noisy number of values.
///
/// Where a [`super::super::cdf::Cdf`] noises counts of intervals, so that its error grows with the bits of the keys,
/// this one has the error of its quantiles and the step n/2^levels between them; use it for wide keys.
///
/// ```
/// use scumble::mechanism::additive::Noise;
/// use scumble::mechanism::quantile::{QuantileTree, ThresholdCounts};
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::{Sigma, beta, omega, rho};
/// use scumble::{Scope, Target};
/// let tree = QuantileTree::within(Target::tcdp(rho(0.5)?, omega(4.0)?), Scope::Person, u128::MAX, 3, beta(0.02)?)?;
/// let thresholds = ThresholdCounts::new(tree, Noise::gaussian(Sigma::new(10.0)?));
/// let values: Vec<u128> = (0..40_000).map(|i| i << 90).collect();
/// let counts = thresholds.release(&values, &mut InsecureSeededSource::new(1))?;
/// let error = thresholds.error(beta(0.05)?, 40_000)?;
/// assert!((counts.at_most(20_000 << 90) - 20_001.0).abs() <= error);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ThresholdCounts {
    tree: QuantileTree,
    total: Noise,
}

/// Released counts: a function of released numbers only, so that any number of keys may be asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantileCounts {
    /// The quantiles, in increasing order.
    pub points: Vec<u128>,
    /// The noisy number of values, not below 0.
    pub total: f64,
}

impl QuantileCounts {
    /// About how many values are at most `key`: i/2^levels of the total for the i-th quantile, the largest that is at
    /// most `key`.
    pub fn at_most(&self, key: u128) -> f64 {
        fraction_at_most(&self.points, key) * self.total
    }
}

impl ThresholdCounts {
    /// With this tree, and this noise on the number of values.
    pub fn new(tree: QuantileTree, total: Noise) -> Self {
        Self { tree, total }
    }

    /// The quantiles and the number of values.
    ///
    /// # Guarantee
    /// As accounting says of [`ThresholdCounts::events`].
    pub fn release<S: BitSource + ?Sized>(&self, values: &[u128], bits: &mut S) -> Result<QuantileCounts> {
        let points = self.tree.release(values, bits)?;
        let total = self.total.add_to_wide(values.len() as i128, bits).clamp(0, i64::MAX.into()) as f64;
        Ok(QuantileCounts { points, total })
    }

    /// Those of the tree, and noise on a number that moves when an owner comes or goes, in place of another who has no
    /// value as well.
    pub fn events(&self) -> Result<Vec<Event>> {
        self.events_of(1, &AttributeSet::empty())
    }

    /// The same where an owner has up to this many of the values, and a change of these attributes changes them: also
    /// into none.
    pub fn events_of(&self, values: u64, attributes: &AttributeSet) -> Result<Vec<Event>> {
        let mut events = self.tree.events_of(values, attributes)?;
        events.push(self.total.event(moves(values, (1, 1.0), (1, 1.0), attributes)?)?);
        Ok(events)
    }

    /// The most by which a count of any key is off among `owners` values, except with probability β
    /// (half of it the tree's): n/2^levels + the tree's error + that of the total.
    ///
    /// If p_i ≤ key < p_{i+1}, the number of values at most `key` is at least that of p_i, above i·n/2^levels − error,
    /// and at most the number of values below p_{i+1}, below (i + 1)·n/2^levels + error.
    pub fn error(&self, beta: Beta, owners: u64) -> Result<f64> {
        let half = Beta::new(beta.get() / 2.0)?;
        let step = owners as f64 / (f64::from(self.tree.quantiles()) + 1.0);
        Ok(step + self.tree.error(half)? + self.total.quantile(half.get()))
    }
}

/// Which fraction of the values is at most `key`, read off the points that [`QuantileTree::release`] gave
/// (post-processing): off by at most 1/(points + 1) and the tree's error over n.
///
/// ```
/// use scumble::mechanism::quantile::fraction_at_most;
/// assert_eq!(fraction_at_most(&[10, 20, 30], 20), 0.5);
/// ```
pub fn fraction_at_most(points: &[u128], key: u128) -> f64 {
    points.partition_point(|point| *point <= key) as f64 / (points.len() + 1) as f64
}
