//! Quantiles by the exponential mechanism, over ordered domains of up to 2^128 points.
//!
//! For the fraction f = a/b of n values, a point y with L values below and G values above it is off by d(y) = max(0,
//! b·L − a·n, b·G − (b−a)·n) (in units of 1/b of a rank). Adding or removing a value moves d by at most max(a, b−a),
//! replacing one by at most b. The output is y with P\[y\] ∝ e^{−ε·d(y)/2max(a, b−a)}, so that the privacy loss has a
//! range of at most ε for presence (McSherry–Talwar 2007; bounded range: Dong, Durfee, Rogers 2020).
//!
//! The least and the largest value have no such f: with f = 0 every point below all values is as good as the least one.
//! They are the k-th value from their end, off by d(y) = max(0, k − C(y), L − (k−1)) ranks, where C counts the values
//! up to y: adding, removing or replacing a value moves d by at most 1. k is the mechanism's own rank error at 95%, so
//! that a point beyond the end is unlikely; the price is an answer that is up to 2k ranks inside.
//!
//! Use [`Quantile`] for one quantile and [`QuantileTree`] for many at once: it splits at the median, then each half at
//! its own, so that a value is looked at once per level and the levels, not the quantiles, share the budget. Over wide
//! keys (about 96 bits and more) a tree finds its medians by the recursion of [`super::interior_point`] instead, which
//! needs fewer values; [`QuantileTree::within`] chooses. [`ThresholdCounts`] reads off a tree how many values are at
//! most any key.

use super::piecewise::{Segment, sample};
use crate::error::Result;
use crate::event::{Event, Moves, Shift, Touch, Word};
use crate::noise::BitSource;
use crate::quantity::{Beta, Epsilon, Exact, Probability};
use crate::scope::AttributeSet;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive};
use std::collections::BTreeMap;

#[cfg(test)]
mod laws;
mod median;
mod thresholds;
mod tree;

pub use thresholds::{QuantileCounts, ThresholdCounts, fraction_at_most};
pub use tree::QuantileTree;

/// One quantile, or one end, of keys in 0, …, last.
///
/// ```
/// use scumble::quantity::{epsilon, probability};
/// use scumble::mechanism::quantile::Quantile;
/// use scumble::noise::InsecureSeededSource;
/// let median = Quantile::new(u64::MAX.into(), probability(0.5)?, epsilon(1.0)?)?;
/// let ages: Vec<u128> = (0..1000).map(|i| 20 + i % 60).collect();
/// let found = median.release(&ages, &mut InsecureSeededSource::new(1));
/// assert!((40..60).contains(&found));
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Quantile {
    last: u128,
    target: RankTarget,
    epsilon: Epsilon,
}

/// What is looked for among the values.
#[derive(Debug, Clone, Copy)]
enum RankTarget {
    Fraction(RankFraction),
    /// The k-th least value.
    FromBelow(u128),
    /// The k-th largest value.
    FromAbove(u128),
}

/// The probability with which an end may be missed on the outside.
const END_MISSED: f64 = 0.05;

/// a/b with both in range for exact integer distances.
#[derive(Debug, Clone, Copy)]
struct RankFraction {
    part: u128,
    whole: u128,
}

impl RankFraction {
    /// The fraction rounded to a multiple of 2^{−20}: a public choice, and a millionth of a rank off.
    fn near(value: Probability) -> Self {
        let whole = 1u128 << 20;
        let part = (value.get() * whole as f64).round() as u128;
        let shift = part.trailing_zeros().min(20);
        Self { part: part >> shift, whole: whole >> shift }
    }

    fn sensitivity(self) -> u128 {
        self.part.max(self.whole - self.part)
    }
}

impl RankTarget {
    /// How far one added or removed value moves the distance.
    fn sensitivity(self) -> u128 {
        match self {
            Self::Fraction(fraction) => fraction.sensitivity(),
            Self::FromBelow(_) | Self::FromAbove(_) => 1,
        }
    }

    /// How far one replaced value moves the distance; also the unit of the distance, one rank.
    fn whole(self) -> u128 {
        match self {
            Self::Fraction(fraction) => fraction.whole,
            Self::FromBelow(_) | Self::FromAbove(_) => 1,
        }
    }

    /// How far off a point is that has `below` and `above` of `count` values on its sides.
    fn distance(self, below: u128, above: u128, count: u128) -> u128 {
        let from_end = |rank: u128, beyond: u128, behind: u128| {
            rank.saturating_sub(count - behind).max(beyond.saturating_sub(rank - 1))
        };
        match self {
            Self::Fraction(RankFraction { part, whole }) => {
                let low = (whole * below).saturating_sub(part * count);
                low.max((whole * above).saturating_sub((whole - part) * count))
            }
            Self::FromBelow(rank) => from_end(rank, below, above),
            Self::FromAbove(rank) => from_end(rank, above, below),
        }
    }
}

impl Quantile {
    /// The `fraction` quantile of keys in 0, …, last, with a privacy loss of range `epsilon` for presence.
    pub fn new(last: u128, fraction: Probability, epsilon: Epsilon) -> Result<Self> {
        Self::of(last, RankTarget::Fraction(RankFraction::near(fraction)), epsilon)
    }

    /// A value near the least one, with a privacy loss of range `epsilon` for presence and for person alike.
    ///
    /// ```
    /// use scumble::quantity::epsilon;
    /// use scumble::mechanism::quantile::Quantile;
    /// use scumble::noise::InsecureSeededSource;
    /// let least = Quantile::least(1000, epsilon(1.0)?)?;
    /// let values: Vec<u128> = (0..5000).map(|i| 300 + i % 500).collect();
    /// let found = least.release(&values, &mut InsecureSeededSource::new(1));
    /// assert!((300..310).contains(&found), "ten values at each point, and 19 ranks of error: {found}");
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn least(last: u128, epsilon: Epsilon) -> Result<Self> {
        Self::of(last, RankTarget::FromBelow(end_rank(last, epsilon)), epsilon)
    }

    /// A value near the largest one, with a privacy loss of range `epsilon` for presence and for person alike.
    pub fn largest(last: u128, epsilon: Epsilon) -> Result<Self> {
        Self::of(last, RankTarget::FromAbove(end_rank(last, epsilon)), epsilon)
    }

    fn of(last: u128, target: RankTarget, epsilon: Epsilon) -> Result<Self> {
        refuse_if!(epsilon.get() == 0.0, "a quantile needs epsilon above 0");
        Ok(Self { last, target, epsilon })
    }

    /// A key that is close to the quantile of `values` in rank. Values above `last` count as `last`.
    ///
    /// # Guarantee
    /// Exactly the exponential mechanism: accounting of [`Quantile::events`] holds for one added, removed or replaced
    /// value.
    pub fn release<S: BitSource + ?Sized>(&self, values: &[u128], bits: &mut S) -> u128 {
        let mut sorted: Vec<u128> = values.iter().map(|value| *value.min(&self.last)).collect();
        sorted.sort_unstable();
        self.release_sorted(&sorted, (0, self.last), bits)
    }

    /// The same for values that have been counted.
    ///
    /// # Guarantee
    /// As [`Quantile::release`] for each value as often as its count says.
    pub fn release_counted<S: BitSource + ?Sized>(&self, counts: &BTreeMap<u128, u64>, bits: &mut S) -> u128 {
        let mut inside = counts.clone();
        let beyond: u64 = match self.last.checked_add(1) {
            Some(first_beyond) => inside.split_off(&first_beyond).values().sum(),
            None => 0,
        };
        if beyond > 0 {
            *inside.entry(self.last).or_default() += beyond;
        }
        let runs = inside.into_iter().filter(|(_, count)| *count > 0).map(|(value, count)| (value, u128::from(count)));
        self.release_runs(&runs.collect::<Vec<_>>(), (0, self.last), bits)
    }

    /// The same for sorted values within `range`, giving a key of that range.
    fn release_sorted<S: BitSource + ?Sized>(&self, sorted: &[u128], range: (u128, u128), bits: &mut S) -> u128 {
        let runs: Vec<(u128, u128)> = sorted.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u128)).collect();
        self.release_runs(&runs, range, bits)
    }

    fn release_runs<S: BitSource + ?Sized>(&self, runs: &[(u128, u128)], range: (u128, u128), bits: &mut S) -> u128 {
        let segments = segments(runs, range, |point| point - 1, |point| point.checked_add(1), self.target);
        let rate = rate(self.epsilon, self.target.sensitivity());
        // There is always a segment: the range is not empty.
        sample(&segments, &rate, self.target.whole(), bits).unwrap_or(range.0)
    }

    /// What was done: an exponential mechanism whose loss has range ε for presence; replacing a value moves further.
    pub fn events(&self) -> Result<Vec<Event>> {
        self.events_of(1, &AttributeSet::empty())
    }

    /// The same where an owner has up to this many of the values, and a change of these attributes changes them.
    ///
    /// ```
    /// use scumble::quantity::{epsilon, probability};
    /// use scumble::mechanism::quantile::Quantile;
    /// use scumble::scope::{AttributeSet, Scope};
    /// let age = AttributeSet::new(["age"])?;
    /// let event = Quantile::new(150, probability(0.5)?, epsilon(1.0)?)?.events_of(3, &age)?.remove(0);
    /// let by = |scope: Scope| event.moves().shifts(&scope)[0].by.get();
    /// assert_eq!((by(Scope::Presence), by(Scope::Person), by(Scope::Attributes(age))), (3.0, 6.0, 6.0));
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn events_of(&self, values: u64, attributes: &AttributeSet) -> Result<Vec<Event>> {
        let (whole, sensitivity) = (self.target.whole() as f64, self.target.sensitivity() as f64);
        // Both are whole numbers below 2^21, so that an inexact quotient is seen by multiplying back.
        let nearest = whole / sensitivity;
        let replaced = if nearest.mul_add(sensitivity, -whole) < 0.0 { nearest.next_up() } else { nearest };
        let moves = moves(values, (1, 1.0), (1, replaced), attributes)?;
        Ok(vec![Event::new(Word::Exponential { epsilon: self.epsilon }, moves)])
    }

    /// By how many ranks the released key is off at most, except with probability β.
    ///
    /// At least one key has the least distance, and at most `last + 1` keys are off by more: their weight together is
    /// at most (last + 1)·e^{−ε·d/2Δ}. An end is k − 1 ranks further off, as the k-th value is looked for; of fewer
    /// than k values all are within k.
    pub fn error(&self, beta: Beta) -> Result<f64> {
        let sensitivity = self.target.sensitivity() as f64 / self.target.whole() as f64;
        let off = rank_error(self.last, sensitivity, self.epsilon, beta.get());
        Ok(match self.target {
            RankTarget::Fraction(_) => off,
            RankTarget::FromBelow(rank) | RankTarget::FromAbove(rank) => off + (rank - 1) as f64,
        })
    }
}

fn rank_error(last: u128, sensitivity: f64, epsilon: Epsilon, beta: f64) -> f64 {
    2.0 * sensitivity / epsilon.get() * ((last as f64 + 1.0).ln() - beta.ln())
}

/// Which value from its end stands for an end: one whose rank error just does not reach beyond it.
fn end_rank(last: u128, epsilon: Epsilon) -> u128 {
    // At most 2^100, so that ranks add up; an epsilon that small finds nothing either way.
    (rank_error(last, 1.0, epsilon, END_MISSED).ceil().clamp(1.0, 2f64.powi(100))) as u128
}

/// This many cells by this much when one value comes or goes, and when one is replaced; the latter also when these
/// attributes change. Of several values each cell moves as far for each of them: their moves add up, wherever they
/// meet.
fn moves(values: u64, presence: (u64, f64), replaced: (u64, f64), attributes: &AttributeSet) -> Result<Moves> {
    let shift = |(cells, by): (u64, f64)| -> Result<Vec<Shift>> {
        let by = by * values.max(1) as f64;
        // One rounding, upwards: a move that is a whole number is exact anyway.
        Ok(vec![Shift::new(cells, if by.fract() == 0.0 || values <= 1 { by } else { by.next_up() })?])
    };
    let replaced = shift(replaced)?;
    let touch = Touch { attributes: attributes.clone(), shifts: replaced.clone() };
    let touches = if attributes.is_empty() { Vec::new() } else { vec![touch] };
    Ok(Moves::by_scope(shift(presence)?, replaced, touches))
}

/// ε/(2Δ) as a rational, exactly.
fn rate(epsilon: Epsilon, sensitivity: u128) -> BigRational {
    let epsilon = Exact::from_f64(epsilon.get()).map_or_else(|_| BigRational::one(), |exact| exact.rational().clone());
    epsilon / BigRational::from_integer((2 * sensitivity).into())
}

/// The points of the range by their distance: each value (with how often it occurs), and each gap between values.
fn segments<Point: Copy + Ord>(
    runs: &[(Point, u128)],
    range: (Point, Point),
    before: impl Fn(Point) -> Point,
    after: impl Fn(Point) -> Option<Point>,
    target: RankTarget,
) -> Vec<Segment<Point>> {
    let count: u128 = runs.iter().map(|(_, times)| times).sum();
    let mut segments = Vec::with_capacity(2 * runs.len() + 1);
    let mut next_point = Some(range.0);
    let mut below = 0;
    for (value, times) in runs.iter().copied() {
        if let Some(first) = next_point.filter(|first| *first < value) {
            let distance = target.distance(below, count - below, count);
            segments.push(Segment { first, last: before(value), distance });
        }
        let up_to = below + times;
        segments.push(Segment { first: value, last: value, distance: target.distance(below, count - up_to, count) });
        next_point = after(value);
        below = up_to;
    }
    if let Some(first) = next_point.filter(|first| *first <= range.1) {
        segments.push(Segment { first, last: range.1, distance: target.distance(count, 0, count) });
    }
    segments
}

/// A signed value as a key of a domain that starts at `lower`; below it counts as `lower`.
///
/// ```
/// assert_eq!(scumble::mechanism::quantile::key(-3, -10), 7);
/// assert_eq!(scumble::mechanism::quantile::key(-30, -10), 0);
/// ```
pub fn key(value: i64, lower: i64) -> u128 {
    (i128::from(value) - i128::from(lower)).max(0).to_u128().unwrap_or(0)
}

/// The value that a key stands for.
///
/// ```
/// assert_eq!(scumble::mechanism::quantile::value(7, -10), -3);
/// ```
pub fn value(key: u128, lower: i64) -> i64 {
    let wide = i128::try_from(key).unwrap_or(i128::MAX).saturating_add(lower.into());
    wide.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

#[cfg(test)]
mod tests;
