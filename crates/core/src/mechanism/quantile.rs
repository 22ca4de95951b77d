//! Quantiles by the exponential mechanism, over ordered domains of up to 2^128 points.
//!
//! For the fraction f = a/b of n values, a point y with L values below and G values above it is off by
//! d(y) = max(0, b·L − a·n, b·G − (b−a)·n) (in units of 1/b of a rank). Adding or removing a value moves d by at most
//! max(a, b−a), replacing one by at most b. The output is y with P\[y\] ∝ e^{−ε·d(y)/2max(a, b−a)}, so that the privacy loss has
//! a range of at most ε for presence (McSherry–Talwar 2007; bounded range: Dong, Durfee, Rogers 2020).
//!
//! Use [`Quantile`] for one quantile and [`QuantileTree`] for many at once: it splits at the median, then each half at its
//! own, so that a value is looked at once per level and the levels, not the quantiles, share the budget.

use super::piecewise::{Segment, sample};
use crate::error::{Error, Result};
use crate::event::{Event, Kind, Moves, Shift};
use crate::noise::BitSource;
use crate::quantity::{Beta, Epsilon, Exact, Probability};
use num_rational::BigRational;
use num_traits::{One, ToPrimitive};

/// One quantile of keys in 0, …, last.
///
/// ```
/// use scumble::mechanism::quantile::Quantile;
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::{Epsilon, Probability};
/// let median = Quantile::new(u64::MAX.into(), Probability::new(0.5)?, Epsilon::new(1.0)?)?;
/// let ages: Vec<u128> = (0..1000).map(|i| 20 + i % 60).collect();
/// let found = median.release(&ages, &mut InsecureSeededSource::new(1));
/// assert!((40..60).contains(&found));
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Quantile {
    last: u128,
    fraction: Fraction,
    epsilon: Epsilon,
}

/// a/b with both in range for exact integer distances.
#[derive(Debug, Clone, Copy)]
struct Fraction {
    part: u128,
    whole: u128,
}

impl Fraction {
    /// The fraction rounded to a multiple of 2^{−20}: a public choice, and a millionth of a rank off.
    fn near(value: Probability) -> Self {
        let whole = 1u128 << 20;
        let part = (value.get() * whole as f64).round() as u128;
        let shift = part.trailing_zeros().min(20);
        Self { part: part >> shift, whole: whole >> shift }
    }

    /// How far one added or removed value moves the distance.
    fn sensitivity(self) -> u128 {
        self.part.max(self.whole - self.part)
    }
}

impl Quantile {
    /// The `fraction` quantile of keys in 0, …, last, with a privacy loss of range `epsilon` for presence.
    pub fn new(last: u128, fraction: Probability, epsilon: Epsilon) -> Result<Self> {
        if epsilon.get() == 0.0 {
            return Err(Error::refused("a quantile needs epsilon above 0"));
        }
        Ok(Self { last, fraction: Fraction::near(fraction), epsilon })
    }

    /// A key that is close to the quantile of `values` in rank. Values above `last` count as `last`.
    ///
    /// # Guarantee
    /// Exactly the exponential mechanism: accounting of [`Quantile::event`] holds for one added, removed or replaced value.
    pub fn release<S: BitSource + ?Sized>(&self, values: &[u128], bits: &mut S) -> u128 {
        let mut sorted: Vec<u128> = values.iter().map(|value| *value.min(&self.last)).collect();
        sorted.sort_unstable();
        self.release_sorted(&sorted, (0, self.last), bits)
    }

    /// The same for sorted values within `range`, giving a key of that range.
    fn release_sorted<S: BitSource + ?Sized>(&self, sorted: &[u128], range: (u128, u128), bits: &mut S) -> u128 {
        let segments = segments(sorted, range, self.fraction);
        let rate = rate(self.epsilon, self.fraction.sensitivity());
        // There is always a segment: the range is not empty.
        sample(&segments, &rate, self.fraction.whole, bits).unwrap_or(range.0)
    }

    /// What was done: an exponential mechanism whose loss has range ε for presence; replacing a value moves further.
    pub fn event(&self) -> Result<Event> {
        let replaced = self.fraction.whole as f64 / self.fraction.sensitivity() as f64;
        Ok(Event::new(Kind::Exponential { epsilon: self.epsilon }, self.moves(replaced)?))
    }

    fn moves(&self, replaced: f64) -> Result<Moves> {
        Ok(Moves::by_scope(vec![Shift::one_cell(1.0)?], vec![Shift::one_cell(replaced)?], Vec::new()))
    }

    /// By how many ranks the released key is off at most, but for probability β.
    ///
    /// At least one key has distance 0, and at most `last + 1` keys are off by more: their weight together is at most
    /// (last + 1)·e^{−ε·d/2Δ}.
    pub fn error(&self, beta: Beta) -> f64 {
        let ln_keys = (self.last as f64 + 1.0).ln();
        let sensitivity = self.fraction.sensitivity() as f64 / self.fraction.whole as f64;
        2.0 * sensitivity / self.epsilon.get() * (ln_keys - beta.get().ln())
    }
}

/// ε/(2Δ) as a rational, exactly.
fn rate(epsilon: Epsilon, sensitivity: u128) -> BigRational {
    let epsilon = Exact::from_f64(epsilon.get()).map_or_else(|_| BigRational::one(), |exact| exact.rational().clone());
    epsilon / BigRational::from_integer((2 * sensitivity).into())
}

/// The points of the range by their distance: each value, and each gap between values.
fn segments(sorted: &[u128], range: (u128, u128), fraction: Fraction) -> Vec<Segment> {
    let count = sorted.len() as u128;
    let (part, whole) = (fraction.part, fraction.whole);
    let distance = |below: u128, above: u128| {
        let low = (whole * below).saturating_sub(part * count);
        low.max((whole * above).saturating_sub((whole - part) * count))
    };
    let mut segments = Vec::new();
    let mut next_point = Some(range.0);
    let mut below = 0usize;
    for run in sorted.chunk_by(|a, b| a == b) {
        let value = run[0];
        if let Some(first) = next_point.filter(|first| *first < value) {
            segments.push(Segment { first, last: value - 1, distance: distance(below as u128, count - below as u128) });
        }
        let after = below + run.len();
        segments.push(Segment { first: value, last: value, distance: distance(below as u128, count - after as u128) });
        next_point = value.checked_add(1);
        below = after;
    }
    if let Some(first) = next_point.filter(|first| *first <= range.1) {
        segments.push(Segment { first, last: range.1, distance: distance(count, 0) });
    }
    segments
}

/// 2^levels − 1 equally spaced quantiles at once.
///
/// ```
/// use scumble::mechanism::quantile::QuantileTree;
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::Epsilon;
/// let quartiles = QuantileTree::new(1_000_000, 2, Epsilon::new(1.0)?)?;
/// let values: Vec<u128> = (0..4000).map(|i| i * 100).collect();
/// let found = quartiles.release(&values, &mut InsecureSeededSource::new(1));
/// assert_eq!(found.len(), 3);
/// assert!(found.is_sorted());
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct QuantileTree {
    median: Quantile,
    levels: u32,
}

impl QuantileTree {
    /// 2^levels − 1 quantiles, each level with a privacy loss of range `epsilon_per_level` for presence.
    pub fn new(last: u128, levels: u32, epsilon_per_level: Epsilon) -> Result<Self> {
        if levels == 0 || levels > 20 {
            return Err(Error::refused(format!("a tree of quantiles has 1 to 20 levels, not {levels}")));
        }
        Ok(Self { median: Quantile::new(last, Probability::new(0.5)?, epsilon_per_level)?, levels })
    }

    /// The quantiles i/2^levels for i = 1, …, 2^levels − 1, in increasing order.
    ///
    /// # Guarantee
    /// As accounting says of [`QuantileTree::event`]: splits are at released points, so that a value is in one part per level.
    pub fn release<S: BitSource + ?Sized>(&self, values: &[u128], bits: &mut S) -> Vec<u128> {
        let last = self.median.last;
        let mut sorted: Vec<u128> = values.iter().map(|value| *value.min(&last)).collect();
        sorted.sort_unstable();
        let mut found = Vec::with_capacity((1 << self.levels) - 1);
        self.split(&sorted, (0, last), self.levels, bits, &mut found);
        found
    }

    /// Values up to the released point go left, those above go right.
    fn split<S: BitSource + ?Sized>(
        &self,
        sorted: &[u128],
        range: (u128, u128),
        levels: u32,
        bits: &mut S,
        found: &mut Vec<u128>,
    ) {
        if levels == 0 {
            return;
        }
        let point = self.median.release_sorted(sorted, range, bits);
        let (left, right) = sorted.split_at(sorted.partition_point(|value| *value <= point));
        self.split(left, (range.0, point), levels - 1, bits, found);
        found.push(point);
        // A part without points repeats the last one: a level is run on every part, whatever the data.
        let right_range = (point.saturating_add(1).min(range.1), range.1);
        self.split(right, right_range, levels - 1, bits, found);
    }

    /// One exponential mechanism per level; replacing a value changes two parts, or one part twice.
    pub fn event(&self) -> Result<Event> {
        let event = Event::new(Kind::Exponential { epsilon: self.median.epsilon }, self.median.moves(2.0)?);
        event.repeated(self.levels.into())
    }

    /// By how many ranks any of the quantiles is off at most, but for probability β: both ends of a part are off by what was off
    /// above it, and a level adds its own error.
    pub fn error(&self, beta: Beta) -> Result<f64> {
        let runs = f64::from((1u32 << self.levels) - 1);
        let one = self.median.error(Beta::new(beta.get() / runs)?);
        Ok(f64::from(self.levels) * (one + 1.0))
    }
}

/// Which fraction of the values is at most `key`, read off the points that [`QuantileTree::release`] gave (post-processing):
/// off by at most 1/(points + 1) and the tree's error over n.
///
/// ```
/// use scumble::mechanism::quantile::fraction_at_most;
/// assert_eq!(fraction_at_most(&[10, 20, 30], 20), 0.5);
/// ```
pub fn fraction_at_most(points: &[u128], key: u128) -> f64 {
    points.partition_point(|point| *point <= key) as f64 / (points.len() + 1) as f64
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
mod tests {
    use super::*;
    use crate::harness::{self, Claim, Distribution, Slack, check, neighbours};
    use crate::noise::InsecureSeededSource;

    /// The exact output distribution, computed point by point in f64 from the definition.
    fn distribution(last: u128, fraction: f64, epsilon: f64, values: &[u128]) -> Distribution<u128> {
        let quantile = Fraction::near(Probability::new(fraction).unwrap());
        let n = values.len() as f64;
        let weight = |y: u128| {
            let below = values.iter().filter(|value| **value < y).count() as f64;
            let above = values.iter().filter(|value| **value > y).count() as f64;
            let (a, b) = (quantile.part as f64, quantile.whole as f64);
            let distance = (b * below - a * n).max(b * above - (b - a) * n).max(0.0);
            (-epsilon * distance / (2.0 * a.max(b - a))).exp()
        };
        let total: f64 = (0..=last).map(weight).sum();
        Distribution::new((0..=last).map(|y| (y, harness::Probability::near(weight(y) / total, 1e-13))), 0.0)
    }

    #[test]
    fn presence_and_person_cost_what_the_event_says() {
        let universe: Vec<u128> = vec![0, 2, 3, 5];
        for fraction in [0.5, 0.25, 0.9, 0.0] {
            let quantile = Quantile::new(5, Probability::new(fraction).unwrap(), Epsilon::new(0.8).unwrap()).unwrap();
            let replaced = quantile.fraction.whole as f64 / quantile.fraction.sensitivity() as f64;
            let run = |values: &Vec<u128>| distribution(5, fraction, 0.8, values);
            let claim = Claim { pure: Some(0.8), ..Claim::default() };
            check(&neighbours::presence(&universe, 4), run, &claim, Slack::ANY);
            let claim = Claim { pure: Some(0.8 * replaced), ..Claim::default() };
            check(&neighbours::person(&universe, 4), run, &claim, Slack::ANY);
        }
    }

    #[test]
    fn the_sampler_has_the_distribution_of_the_definition() {
        // χ² with 6 cells over 2·10^4 draws, false alarm below 1e-9 (Laurent–Massart).
        let values = vec![1, 1, 4, 5, 9];
        for fraction in [0.5, 0.25] {
            let exact = distribution(9, fraction, 1.5, &values);
            let quantile = Quantile::new(9, Probability::new(fraction).unwrap(), Epsilon::new(1.5).unwrap()).unwrap();
            let mut bits = InsecureSeededSource::new(3);
            let draws = 20_000;
            let mut seen = [0f64; 10];
            for _ in 0..draws {
                seen[quantile.release(&values, &mut bits) as usize] += 1.0;
            }
            let expected = |y: usize| exact.probability(&(y as u128)).unwrap().lower * f64::from(draws);
            let statistic: f64 = (0..10).map(|y| (seen[y] - expected(y)).powi(2) / expected(y)).sum();
            let x = 1e9f64.ln();
            assert!(statistic < 9.0 + 2.0 * (9.0 * x).sqrt() + 2.0 * x, "{statistic}");
        }
    }

    #[test]
    fn segments_cover_the_domain_once_and_have_the_right_distances() {
        let fraction = Fraction::near(Probability::new(0.25).unwrap());
        let values = [0, 0, 3, 7, 7, 9];
        let segments = segments(&values, (0, 9), fraction);
        for y in 0u128..=9 {
            let holding: Vec<_> = segments.iter().filter(|s| (s.first..=s.last).contains(&y)).collect();
            assert_eq!(holding.len(), 1);
            let below = values.iter().filter(|v| **v < y).count() as i64;
            let above = values.iter().filter(|v| **v > y).count() as i64;
            let expected = (4 * below - 6).max(4 * above - 18).max(0);
            assert_eq!(holding[0].distance, expected as u128);
        }
    }

    #[test]
    fn the_whole_of_two_to_the_128_works() {
        let median = Quantile::new(u128::MAX, Probability::new(0.5).unwrap(), Epsilon::new(1.0).unwrap()).unwrap();
        let values: Vec<u128> = (0..2000).map(|i| (1 << 100) + i).collect();
        let mut bits = InsecureSeededSource::new(5);
        let error = median.error(Beta::new(1e-9).unwrap());
        for _ in 0..5 {
            let found = median.release(&values, &mut bits);
            let below = values.iter().filter(|value| **value < found).count() as f64;
            assert!((below - 1000.0).abs() <= error, "{below} {error}");
        }
        let nothing = median.release(&[], &mut bits);
        assert!(nothing > 0, "no data: a uniform key, so 0 has probability 2^-128");
    }

    /// The exact distribution of a tree's points, by the definition of each level.
    fn tree(values: &[u128], range: (u128, u128), levels: u32, epsilon: f64) -> Vec<(Vec<u128>, f64)> {
        if levels == 0 {
            return vec![(Vec::new(), 1.0)];
        }
        let n = values.len() as f64;
        let weight = |y: u128| {
            let below = values.iter().filter(|value| **value < y).count() as f64;
            let above = values.iter().filter(|value| **value > y).count() as f64;
            (-epsilon * (2.0 * below - n).max(2.0 * above - n).max(0.0) / 2.0).exp()
        };
        let total: f64 = (range.0..=range.1).map(weight).sum();
        let mut all = Vec::new();
        for point in range.0..=range.1 {
            let (left, right): (Vec<u128>, Vec<u128>) = values.iter().partition(|value| **value <= point);
            let right_range = ((point + 1).min(range.1), range.1);
            for (before, p) in tree(&left, (range.0, point), levels - 1, epsilon) {
                for (after, q) in tree(&right, right_range, levels - 1, epsilon) {
                    let points = [before.clone(), vec![point], after].concat();
                    all.push((points, weight(point) / total * p * q));
                }
            }
        }
        all
    }

    #[test]
    fn a_tree_costs_what_its_event_says() {
        let run = |values: &Vec<u128>| {
            let outcomes = tree(values, (0, 3), 2, 0.6);
            Distribution::new(
                outcomes.into_iter().map(|(points, p)| (points, harness::Probability::near(p, 1e-12))),
                0.0,
            )
        };
        let universe: Vec<u128> = (0..4).collect();
        let claim = |pure: f64| Claim { pure: Some(pure), ..Claim::default() };
        check(&neighbours::presence(&universe, 4), run, &claim(2.0 * 0.6), Slack { pure: 1.0, ..Slack::ANY });
        check(&neighbours::person(&universe, 3), run, &claim(4.0 * 0.6), Slack { pure: 2.0, ..Slack::ANY });
        let event = QuantileTree::new(3, 2, Epsilon::new(0.6).unwrap()).unwrap().event().unwrap();
        assert_eq!(event.times.get(), 2);
    }

    #[test]
    fn a_tree_of_quantiles_stays_within_its_error() {
        let tree = QuantileTree::new(1 << 40, 4, Epsilon::new(1.0).unwrap()).unwrap();
        let values: Vec<u128> = (0..5000u128).map(|i| i * i).collect();
        let found = tree.release(&values, &mut InsecureSeededSource::new(8));
        assert_eq!(found.len(), 15);
        let error = tree.error(Beta::new(1e-9).unwrap()).unwrap();
        for (i, point) in found.iter().enumerate() {
            let rank = values.iter().filter(|value| *value <= point).count() as f64;
            assert!((rank - 5000.0 * (i + 1) as f64 / 16.0).abs() <= error, "{i}: {rank}");
        }
        assert!(QuantileTree::new(5, 0, Epsilon::new(1.0).unwrap()).is_err());
        assert!(Quantile::new(5, Probability::new(0.5).unwrap(), Epsilon::new(0.0).unwrap()).is_err());
    }
}
