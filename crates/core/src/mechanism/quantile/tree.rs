//! Many quantiles at once: a tree of medians.

use super::median::RecursiveMedian;
use super::{RankFraction, RankTarget, moves, rate, segments};
use crate::calibrate::Target;
use crate::error::{Error, Result};
use crate::event::{Event, Word};
use crate::mechanism::interior_point::{Leaf, Leaves};
use crate::mechanism::piecewise::choose_segment;
use crate::mechanism::smooth::OwnerSteps;
use crate::noise::BitSource;
use crate::noise::tape::{self, Announcement};
use crate::quantity::{Beta, Epsilon};
use crate::scope::{AttributeSet, Scope};
use std::borrow::Borrow;

/// 2^levels − 1 equally spaced quantiles at once.
///
/// The median is found, the values are split there, and so on in each half. Medians are found by the exponential
/// mechanism, or over wide keys by the recursion ([`QuantileTree::within`] says which is better). Equal values are
/// distinguished by a few random bits each, so that they can be split as well: otherwise all of them would go to one
/// half, and the quantiles of the other would mean nothing.
///
/// ```
/// use scumble::mechanism::quantile::QuantileTree;
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::Epsilon;
/// let quartiles = QuantileTree::new(1_000_000, 2, Epsilon::new(1.0)?)?;
/// let values: Vec<u128> = (0..4000).map(|i| i * 100).collect();
/// let found = quartiles.release(&values, &mut InsecureSeededSource::new(1))?;
/// assert_eq!(found.len(), 3);
/// assert!(found.is_sorted());
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct QuantileTree {
    last: u128,
    levels: u32,
    places: Leaves,
    method: Descent,
}

#[derive(Debug, Clone)]
enum Descent {
    /// Each median with a privacy loss of this range for presence.
    Exponential(Epsilon),
    /// Each median by the recursion, all of them right except with probability β.
    Recursive(Box<RecursiveMedian>, Beta),
}

/// How many random bits tell equal values apart: then even 2^24 equal values are at most a dozen or so to a place.
const TIE_BITS: u32 = 24;
/// The part of a failure probability that is spent on more values at one place than are counted with.
const CROWDED: f64 = 0.01;
const MEDIAN: RankTarget = RankTarget::Fraction(RankFraction { part: 1, whole: 2 });

impl QuantileTree {
    /// By the exponential mechanism: 2^levels − 1 quantiles of keys in 0, …, last, each level with a privacy loss of
    /// range `epsilon_per_level` for presence.
    pub fn new(last: u128, levels: u32, epsilon_per_level: Epsilon) -> Result<Self> {
        let places = places(last, levels)?;
        refuse_if!(epsilon_per_level.get() == 0.0, "a tree of quantiles needs epsilon above 0");
        Ok(Self { last, levels, places, method: Descent::Exponential(epsilon_per_level) })
    }

    /// By the recursion, from a (ρ, ω) for all levels in `scope` (presence or person), for a failure probability β.
    ///
    /// # Guarantee
    /// [`QuantileTree::events`] cost at most `target` when an owner is replaced, and so when one comes or goes.
    pub fn recursive_within(
        target: Target,
        scope: impl Borrow<Scope>,
        last: u128,
        levels: u32,
        beta: Beta,
    ) -> Result<Self> {
        let (rho, omega) = target.truncated(scope.borrow(), "the recursion for quantiles")?;
        let places = places(last, levels)?;
        let median = RecursiveMedian::new(places, levels, (rho, omega), beta_of_one(beta, levels))?;
        Ok(Self { last, levels, places, method: Descent::Recursive(Box::new(median), beta) })
    }

    /// The way with the smaller error at β, from a target for all levels in `scope`, for owners of one value each; the
    /// recursion is for a (ρ, ω). Only public numbers are compared:
    /// the error of the exponential mechanism grows with the bits of the keys, that of the recursion with their
    /// logarithm and the noise's tail. Up to 64 bits it is the exponential mechanism; from about 96 bits on the
    /// recursion, unless ρ is so large that the noise has a deviation of few units, or β so small that it outweighs the
    /// keys.
    ///
    /// The comparison uses the error that holds for *every* table. The exponential mechanism comes near its worst error
    /// only where a vast gap between keys lies close to a quantile. If there is no such gap (keys that are nearly
    /// consecutive, say), [`QuantileTree::new`] is better.
    ///
    /// # Guarantee
    /// [`QuantileTree::events_of`] one value cost at most `target` in `scope`, if the values read what it is about.
    ///
    /// ```
    /// use scumble::mechanism::quantile::QuantileTree;
    /// use scumble::quantity::{beta, omega, rho};
    /// use scumble::{Scope, Target};
    /// let target = Target::tcdp(rho(0.5)?, omega(4.0)?);
    /// let choose = |last| QuantileTree::within(target, Scope::Person, last, 3, beta(0.05)?);
    /// assert_eq!(choose(u32::MAX.into())?.name(), "exponential mechanism");
    /// assert_eq!(choose(u128::MAX)?.name(), "recursion");
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn within(target: Target, scope: impl Borrow<Scope>, last: u128, levels: u32, beta: Beta) -> Result<Self> {
        let scope = scope.borrow();
        // Range 2ε per level when replaced: levels·(2ε)²/8 = ρ.
        let moved = OwnerSteps::two().read_by(scope).moved(scope, levels.max(1).into())?;
        let exponential = Self::new(last, levels, target.range(moved)?)?;
        let Ok(recursive) = Self::recursive_within(target, scope, last, levels, beta) else { return Ok(exponential) };
        Ok(if recursive.error(beta)? < exponential.error(beta)? { recursive } else { exponential })
    }

    /// Which way it is.
    pub fn name(&self) -> &'static str {
        match self.method {
            Descent::Exponential(_) => "exponential mechanism",
            Descent::Recursive(..) => "recursion",
        }
    }

    /// How many quantiles there are: 2^levels − 1.
    pub fn quantiles(&self) -> u32 {
        (1 << self.levels) - 1
    }

    /// The quantiles i/2^levels for i = 1, …, 2^levels − 1, in increasing order. Values above `last` count as `last`.
    ///
    /// # Guarantee
    /// As accounting says of [`QuantileTree::events`]: splits are at released points, so that a value is in one part
    /// per level. The bits that break ties are a value's own: for each outcome of theirs the claim holds, and so for
    /// their mixture.
    pub fn release<S: BitSource + ?Sized>(&self, values: &[u128], bits: &mut S) -> Result<Vec<u128>> {
        let said = || {
            Announcement::records(
                "tree of quantiles",
                values.iter().map(|value| (value.min(&self.last).to_string(), 1)),
            )
        };
        tape::through_result(bits, said, |bits| self.drawn(values, bits))
    }

    fn drawn<S: BitSource + ?Sized>(&self, values: &[u128], bits: &mut S) -> Result<Vec<u128>> {
        let mut sorted: Vec<Leaf> =
            values.iter().map(|value| self.places.place_of(*value.min(&self.last), bits)).collect();
        sorted.sort_unstable();
        let mut found = Vec::with_capacity(self.quantiles() as usize);
        let range = (self.places.first(), self.places.last_of(self.last));
        self.split(&sorted, range, self.levels, bits, &mut found)?;
        Ok(found)
    }

    /// Values up to the released place go left, those above go right.
    fn split<S: BitSource + ?Sized>(
        &self,
        sorted: &[Leaf],
        range: (Leaf, Leaf),
        levels: u32,
        bits: &mut S,
        found: &mut Vec<u128>,
    ) -> Result<()> {
        if levels == 0 {
            return Ok(());
        }
        let point = self.median(sorted, range, bits)?;
        let (left, right) = sorted.split_at(sorted.partition_point(|value| *value <= point));
        self.split(left, (range.0, point), levels - 1, bits, found)?;
        found.push(point.key);
        // A part without places repeats the last one: a level is run on every part, whatever the data.
        let next = self.places.after(point).map_or(range.1, |next| next.min(range.1));
        self.split(right, (next, range.1), levels - 1, bits, found)
    }

    fn median<S: BitSource + ?Sized>(&self, sorted: &[Leaf], range: (Leaf, Leaf), bits: &mut S) -> Result<Leaf> {
        let epsilon = match &self.method {
            Descent::Recursive(median, _) => return median.release(sorted, range, bits),
            Descent::Exponential(epsilon) => *epsilon,
        };
        let places = self.places;
        let runs: Vec<(Leaf, u128)> = sorted.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u128)).collect();
        let segments = segments(&runs, range, |place| places.before(place), |place| places.after(place), MEDIAN);
        let rate = rate(epsilon, MEDIAN.sensitivity());
        let chosen = choose_segment(&segments, |segment| places.length(segment), &rate, MEDIAN.whole(), bits);
        // There is always a segment: the range is not empty.
        Ok(chosen.map_or(range.0, |segment| places.draw_from(&segment, bits)))
    }

    /// What was done, level by level. By the exponential mechanism, replacing a value changes two parts, or one part
    /// twice; what the recursion does is in `quantile/median.rs`.
    pub fn events(&self) -> Result<Vec<Event>> {
        self.events_of(1, &AttributeSet::empty())
    }

    /// The same where an owner has up to this many of the values, and a change of these attributes changes them. The
    /// recursion is for owners of one value each.
    ///
    /// ```
    /// use scumble::loss::filter::Odometer;
    /// use scumble::mechanism::quantile::QuantileTree;
    /// use scumble::quantity::{Epsilon, Exact};
    /// use scumble::scope::{AttributeSet, Scope};
    /// let (age, tree) = (AttributeSet::new(["age"])?, QuantileTree::new(150, 2, Epsilon::new(0.25)?)?);
    /// let cost = |scope: Scope| Odometer::of(&tree.events_of(3, &age)?, &scope).map(|spent| spent.epsilon(&Exact::zero()).unwrap().to_f64());
    /// // Two levels, three values: each moves two parts if it is replaced.
    /// assert_eq!((cost(Scope::Presence)?, cost(Scope::Attributes(age.clone()))?), (1.5, 3.0));
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn events_of(&self, values: u64, attributes: &AttributeSet) -> Result<Vec<Event>> {
        match &self.method {
            Descent::Exponential(epsilon) => {
                let moves = moves(values, (1, 1.0), (1, 2.0), attributes)?;
                let event = Event::new(Word::Exponential { epsilon: *epsilon }, moves);
                Ok(vec![event.repeated(self.levels.into())?])
            }
            Descent::Recursive(..) if values > 1 => Err(Error::refused(
                "quantiles by recursion need owners of one value each: count one row of each, or use the exponential \
                    mechanism",
            )),
            Descent::Recursive(median, _) => median.events(self.levels, attributes),
        }
    }

    /// By how many ranks any of the quantiles is off at most, except with probability β: among the numbers from that of
    /// the values below a released key to that of the values up to it, one is so close to i·n/2^levels. For the
    /// recursion, β must not be below the one it was made for; with more than one level, for at most 2^24 values.
    ///
    /// One end of a part at depth k was released at depth k − 1 and the other before that, so that the middle between
    /// them is off by at most the mean of their errors, and a level adds its own w and the values c at one place:
    /// e_k = (e_{k−1} + e_{k−2})/2 + w + c, which is below the k·(w + c) of a sum over levels.
    pub fn error(&self, beta: Beta) -> Result<f64> {
        let of_one = beta_of_one(beta, self.levels);
        let half_width = match &self.method {
            // At least one place has the least distance, and at most all are off by more (as in `Quantile::error`).
            Descent::Exponential(epsilon) => {
                let ln_places =
                    (self.last as f64 + 1.0).ln() + f64::from(self.places.tie_bits()) * std::f64::consts::LN_2;
                (ln_places - of_one.ln()) / epsilon.get()
            }
            Descent::Recursive(_, made_for) if beta.get() < made_for.get() => {
                let (asked, made_for) = (beta.get(), made_for.get());
                refuse!(
                    "this tree was made for a failure probability of {made_for}, not {asked}: make one for {asked}"
                );
            }
            Descent::Recursive(median, _) => median.half_width as f64,
        };
        let own = half_width + self.crowd(beta);
        let (mut before, mut error) = (0.0, own);
        for _ in 1..self.levels {
            (before, error) = (error, (before + error) / 2.0 + own);
        }
        Ok(error)
    }

    /// How many values are at one place at most, except for a small part of β: of n ≤ 2^b values, so many that
    /// n·(n/2^b)^c/(c + 1)! is small. A single median is not split at.
    fn crowd(&self, beta: Beta) -> f64 {
        if self.levels == 1 {
            return 0.0;
        }
        let mut chance = 2f64.powi(self.places.tie_bits() as i32);
        let mut crowd = 0.0;
        while chance > CROWDED * beta.get() {
            crowd += 1.0;
            chance /= crowd + 1.0;
        }
        crowd
    }
}

/// The keys 0, …, last with what breaks ties, padded to a power of two; refuses a number of levels that makes no tree.
fn places(last: u128, levels: u32) -> Result<Leaves> {
    refuse_if!(levels == 0 || levels > 20, "a tree of quantiles has 1 to 20 levels, not {levels}");
    Ok(Leaves::new(u128::BITS - last.leading_zeros(), if levels == 1 { 0 } else { TIE_BITS }))
}

/// How often one of the medians may fail.
fn beta_of_one(beta: Beta, levels: u32) -> f64 {
    beta.get() * (1.0 - CROWDED) / f64::from((1u32 << levels) - 1)
}

#[cfg(test)]
mod tests;
