//! A key that lies between the least and the largest of the data, over ordered domains of up to 2^128 keys.
//!
//! Two ways, chosen by the size of the domain ([`InteriorPoint::within`]):
//! - the exponential mechanism with the score min(#{x ≤ y}, #{x ≥ y}): needs a number of owners that grows with the
//!   *logarithm* of the domain; best up to about 2^64 keys;
//! - one level of the recursion of Bun, Dwork, Rothblum and Steinke (2018, §5.3), corrected: choose a level of the
//!   binary tree over the domain whose fullest node is clearly occupied while no node one level down holds too much,
//!   find an occupied node there by noisy counts, and give one of its two ends: grows with the log log of the domain
//!   (and the noise's tail).
//!
//! Where the recursion differs from the paper: a node's value is the number of keys in its interval, ends included (the
//! paper's F(b) − F(a) gives every leaf 0, and children that do not add up); a node is found by noisy counts over all
//! nodes, because two half-full nodes have no gap; and the sensitivity is counted.

use super::additive::Noise;
use super::piecewise::{Segment, sample};
use super::smooth::OwnerSteps;
use crate::calibrate::{Target, down, range_for_zcdp};
use crate::error::{Error, Result};
use crate::event::{Event, Moves, Shift, Word};
use crate::noise::{BitSource, SinhNormal};
use crate::quantity::{Beta, Epsilon, Exact, Rho, Sensitivity};
use crate::scope::Scope;
use std::borrow::Borrow;

mod fullest;
#[cfg(test)]
pub(super) mod law;
mod leaves;
mod recursion;
pub(super) use leaves::{Leaf, Leaves};
pub(super) use recursion::{NodeThresholds, RecursionLevel, table};

/// Finds a key between the least and the largest of the data.
///
/// ```
/// use scumble::mechanism::interior_point::InteriorPoint;
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::{Beta, Epsilon};
/// let point = InteriorPoint::new(128, Epsilon::new(1.0)?)?;
/// let values: Vec<u128> = (0..400).map(|i| (1 << 90) + i).collect();
/// let found = point.release(&values, &mut InsecureSeededSource::new(1))?;
/// assert!(values[0] <= found && found <= values[399]);
/// assert!(point.owners_needed(Beta::new(0.01)?)? <= 400.0);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct InteriorPoint {
    bits: u32,
    method: PointSearch,
}

#[derive(Debug, Clone)]
enum PointSearch {
    /// Weight e^{ε·score}: range ε when an owner comes or goes (the score only grows or only shrinks), 2ε when
    /// replaced.
    Exponential(Epsilon),
    /// F(j) = #{x ≤ j}: a node's value is how many keys it holds.
    Recursive(Box<RecursionLevel>),
}

/// How a budget is split between the level, the nodes and the end: near the best for the sizes that occur.
const SHARES: [f64; 3] = [0.45, 0.43, 0.12];

impl InteriorPoint {
    /// By the exponential mechanism, over keys of `bits` bits (1 to 128), with a privacy loss of range ε for presence.
    pub fn new(bits: u32, epsilon: Epsilon) -> Result<Self> {
        refuse_if!(epsilon.get() == 0.0, "an interior point needs epsilon above 0");
        Ok(Self { bits: checked_bits(bits)?, method: PointSearch::Exponential(epsilon) })
    }

    /// By one level of the recursion, from a (ρ, ω) in `scope` (presence or person), for a failure probability β.
    ///
    /// # Guarantee
    /// [`InteriorPoint::events`] cost at most `target` when an owner is replaced, and so when one comes or goes.
    pub fn recursive_within(target: Target, scope: impl Borrow<Scope>, bits: u32, beta: Beta) -> Result<Self> {
        let (rho, omega) = target.truncated(scope.borrow(), "the recursion for interior points")?;
        let bits = checked_bits(bits)?;
        let [level, nodes, end] = SHARES.map(|share| down(share * rho.get()));
        let one = Sensitivity::new(1.0)?;
        // ε₀²/8 for the level; two nodes move by one; the number before moves by one.
        let epsilon = range_for_zcdp(Rho::new(level)?, one)?;
        let quarter = beta.get() / 4.0;
        let ln_nodes = f64::from(bits) * std::f64::consts::LN_2;
        let all = (quarter.ln() - ln_nodes).exp();
        let cost = |noise: &SinhNormal| Ok(noise.certificate(1)?.slope_upper(omega).get());
        let nodes = table((Rho::new(nodes / 2.0)?, omega), (1, 1.0), all, cost)?;
        let before = table((Rho::new(end)?, omega), (1, 1.0), quarter, cost)?;
        let quantile = |noise: &SinhNormal, p: f64| noise.table().quantile(p) as f64;
        let quantiles = [quantile(&nodes, all), quantile(&nodes, quarter), quantile(&before, quarter)];
        let levels = f64::from(bits) + 1.0;
        let thresholds = NodeThresholds::new(levels, (epsilon.get(), 1), beta.get(), quantiles);
        let recursion =
            RecursionLevel { leaves: Leaves::new(bits, 0), epsilon, sensitivity: 1, nodes, before, thresholds };
        Ok(Self { bits, method: PointSearch::Recursive(Box::new(recursion)) })
    }

    /// The way within the target in `scope` that needs fewer owners; the recursion is for a (ρ, ω).
    ///
    /// # Guarantee
    /// [`InteriorPoint::events`] cost at most `target` in `scope`.
    ///
    /// ```
    /// use scumble::mechanism::interior_point::InteriorPoint;
    /// use scumble::quantity::{beta, omega, rho};
    /// use scumble::{Scope, Target};
    /// let target = Target::tcdp(rho(0.1)?, omega(6.0)?);
    /// let choose = |bits| InteriorPoint::within(target, Scope::Person, bits, beta(0.05)?);
    /// assert_eq!(choose(32)?.name(), "exponential mechanism");
    /// assert_eq!(choose(128)?.name(), "recursion");
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn within(target: Target, scope: impl Borrow<Scope>, bits: u32, beta: Beta) -> Result<Self> {
        let scope = scope.borrow();
        // Range 2ε when replaced: (2ε)²/8 = ρ.
        let exponential = Self::new(bits, target.range(OwnerSteps::two().moved(scope, 1)?)?)?;
        let Ok(recursive) = Self::recursive_within(target, scope, bits, beta) else { return Ok(exponential) };
        let fewer = recursive.owners_needed(beta)? < exponential.owners_needed(beta)?;
        Ok(if fewer { recursive } else { exponential })
    }

    /// Which way it is.
    pub fn name(&self) -> &'static str {
        match self.method {
            PointSearch::Exponential(_) => "exponential mechanism",
            PointSearch::Recursive(_) => "recursion",
        }
    }

    /// With how many owners the point lies inside except with probability β (the recursion: for the β it was made for).
    pub fn owners_needed(&self, beta: Beta) -> Result<f64> {
        match &self.method {
            // The best score is at least n/2, and at most 2^bits keys have score 0.
            PointSearch::Exponential(epsilon) => {
                let ln_keys = f64::from(self.bits) * std::f64::consts::LN_2;
                Ok(2.0 / epsilon.get() * (ln_keys - beta.get().ln()))
            }
            PointSearch::Recursive(recursive) => Ok(recursive.thresholds.height() as f64),
        }
    }

    /// A key; values beyond the domain are refused.
    ///
    /// # Guarantee
    /// As accounting says of [`InteriorPoint::events`].
    pub fn release<S: BitSource + ?Sized>(&self, values: &[u128], bits: &mut S) -> Result<u128> {
        let last = last_key(self.bits);
        if let Some(beyond) = values.iter().find(|value| **value > last) {
            refuse!("key {beyond} has more than {} bits", self.bits);
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        match &self.method {
            PointSearch::Exponential(epsilon) => {
                let rate = Exact::from_f64(epsilon.get())?.rational().clone();
                Ok(sample(&score_segments(&sorted, last), &rate, 1, bits).unwrap_or(0))
            }
            PointSearch::Recursive(recursive) => {
                let runs = sorted.chunk_by(|a, b| a == b);
                let jumps: Vec<(Leaf, i64)> =
                    runs.map(|run| (Leaf { key: run[0], tie: 0 }, run.len() as i64)).collect();
                Ok(recursive.release(&jumps, bits)?.key)
            }
        }
    }

    /// What was done.
    pub fn events(&self) -> Result<Vec<Event>> {
        let scoped = |presence: Shift, person: Shift| Moves::by_scope(vec![presence], vec![person], Vec::new());
        let one = Shift::one_cell(1.0)?;
        match &self.method {
            PointSearch::Exponential(epsilon) => {
                Ok(vec![Event::new(Word::Exponential { epsilon: *epsilon }, scoped(one, Shift::one_cell(2.0)?))])
            }
            // The fullest node of a level moves by at most one in either scope; replacing moves two nodes of a level.
            PointSearch::Recursive(recursive) => Ok(vec![
                Event::new(Word::Exponential { epsilon: recursive.epsilon }, scoped(one, one)),
                Noise::SinhNormal(recursive.nodes.clone()).event(scoped(one, Shift::new(2, 1.0)?))?,
                Noise::SinhNormal(recursive.before.clone()).event(scoped(one, one))?,
            ]),
        }
    }
}

fn checked_bits(bits: u32) -> Result<u32> {
    if (1..=128).contains(&bits) {
        return Ok(bits);
    }
    Err(Error::refused(format!("keys have 1 to 128 bits, not {bits}")))
}

fn last_key(bits: u32) -> u128 {
    u128::MAX >> (128 - bits)
}

/// Segments by how far below the best score they are.
fn score_segments(sorted: &[u128], last: u128) -> Vec<Segment> {
    let count = sorted.len();
    let mut scored: Vec<(u128, u128, usize)> = Vec::new();
    let mut next_key = Some(0u128);
    let mut below = 0usize;
    for run in sorted.chunk_by(|a, b| a == b) {
        let value = run[0];
        if let Some(first) = next_key.filter(|first| *first < value) {
            scored.push((first, value - 1, below.min(count - below)));
        }
        let after = below + run.len();
        scored.push((value, value, after.min(count - below)));
        next_key = value.checked_add(1);
        below = after;
    }
    if let Some(first) = next_key.filter(|first| *first <= last) {
        scored.push((first, last, 0));
    }
    let best = scored.iter().map(|(_, _, score)| *score).max().unwrap_or(0);
    let segment = |(first, last, score)| Segment { first, last, distance: (best - score) as u128 };
    scored.into_iter().map(segment).collect()
}

#[cfg(test)]
mod tests;
