//! Histograms over a public domain of up to 2^128 keys, with pure privacy and without touching the domain.
//!
//! Every key of the domain gets discrete Laplace noise, and those whose noisy count is below a threshold are dropped.
//! The number of absent keys that survive is exactly Binomial(absent, P\[noise ≥ threshold\]), they are a uniformly
//! random subset of the absent keys, and each has tail-conditioned noise: that is what is sampled, so that the output
//! has exactly the distribution of noising the whole domain (Vadhan 2017, §7.7.1; Cormode et al. 2012).

use crate::error::Result;
use crate::event::{Event, Word};
use crate::noise::refine::{ChoiceWeights, Enclosure, Precision, choose};
use crate::noise::tape::{self, Announcement};
use crate::noise::{BitSource, DiscreteLaplace, Geometric, uniform};
use crate::quantity::{Beta, Exact, Scale};
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};
use std::collections::{BTreeMap, BTreeSet};

mod texts;

pub use texts::StringDomain;

/// A histogram over the keys 0, …, last.
///
/// ```
/// use scumble::mechanism::huge_domain::HugeDomainHistogram;
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::{Beta, Scale};
/// let histogram = HugeDomainHistogram::new(u128::MAX, Scale::new(1.0)?, Beta::new(0.01)?)?;
/// let published = histogram.release(&[(42, 1000), (7, 3)], &mut InsecureSeededSource::new(1))?;
/// assert_eq!(published.len(), 1); // 3 is lost among 2^128 noisy zeros
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct HugeDomainHistogram {
    last: u128,
    scale: Scale,
    threshold: i64,
}

/// More spurious keys than this are refused: their exact number would take long to draw, and nobody wants them.
const MOST_EXPECTED: f64 = 2000.0;

impl HugeDomainHistogram {
    /// With the threshold that no absent key reaches, except with probability β.
    pub fn new(last: u128, scale: Scale, beta: Beta) -> Result<Self> {
        // |X|·P[Z ≥ t] = |X|·e^{−t/s}/(1 + e^{−1/s}) ≤ β.
        let keys = last as f64 + 1.0;
        let ln_ratio = (keys / beta.get()).ln() - (-1.0 / scale.get()).exp().ln_1p();
        Self::with_threshold(last, scale, (scale.get() * ln_ratio).ceil().max(1.0) as i64)
    }

    /// With a threshold of at least 1.
    pub fn with_threshold(last: u128, scale: Scale, threshold: i64) -> Result<Self> {
        let expected = (last as f64 + 1.0) * (-(threshold as f64) / scale.get()).exp();
        if threshold < 1 || expected > MOST_EXPECTED {
            refuse!(
                "a threshold of {threshold} would publish about {expected:.0} absent keys: it must be at least 1 and leave at most {MOST_EXPECTED}"
            );
        }
        Ok(Self { last, scale, threshold })
    }

    /// The least noisy count that is published.
    pub fn threshold(&self) -> i64 {
        self.threshold
    }

    /// Published keys in increasing order, with noisy counts. Counts of the same key are added up; keys above `last`
    /// are refused.
    ///
    /// # Guarantee
    /// Exactly the distribution of noising every key of the domain and dropping those below the threshold: as
    /// accounting says of [`HugeDomainHistogram::events`].
    pub fn release<S: BitSource + ?Sized>(&self, counts: &[(u128, i64)], bits: &mut S) -> Result<Vec<(u128, i64)>> {
        let mut present: BTreeMap<u128, i64> = BTreeMap::new();
        for (key, count) in counts {
            refuse_if!(*key > self.last, "key {key} is outside of the domain 0, …, {}", self.last);
            let held = present.entry(*key).or_default();
            *held = held.saturating_add(*count);
        }
        let said = || {
            let keys = present.iter().map(|(key, count)| (key.to_string(), i128::from(*count)));
            Announcement::keys(("discrete-laplace", vec![self.scale.get()]), keys)
        };
        tape::through_result(bits, said, |bits| self.drawn(&present, bits))
    }

    fn drawn<S: BitSource + ?Sized>(&self, present: &BTreeMap<u128, i64>, bits: &mut S) -> Result<Vec<(u128, i64)>> {
        let noise = DiscreteLaplace::new(self.scale);
        let mut published = BTreeMap::new();
        for (key, count) in present {
            let noisy = noise.add_to(*count, bits);
            if noisy >= self.threshold {
                published.insert(*key, noisy);
            }
        }
        let tail = Geometric::new(self.scale);
        for key in surviving_absent(&KeyRange(self.last), present, &self.tail()?, bits) {
            published.insert(key, tail.add_to(self.threshold, bits));
        }
        Ok(published.into_iter().collect())
    }

    /// P\[Z ≥ t\] = e^{−t/s}/(1 + e^{−1/s}).
    fn tail(&self) -> Result<impl Fn(Precision) -> Enclosure + use<>> {
        let inverse = Exact::from_f64(self.scale.get())?.rational().recip();
        let exponent = &inverse * BigRational::from_integer(BigInt::from(self.threshold));
        Ok(move |precision: Precision| {
            let one = precision.ratio(&BigRational::one());
            precision.over(&precision.exp_minus(&exponent), &precision.plus(&one, &precision.exp_minus(&inverse)))
        })
    }

    /// What was done: discrete Laplace noise on the key of each owner (every key of the domain got it).
    pub fn events(&self) -> Result<Vec<Event>> {
        Ok(vec![Event::new(Word::DiscreteLaplace { scale: self.scale }, super::plan::one_cell_per_owner()?)])
    }

    /// The most that one published count is off, except with probability β; an unpublished key's count is below
    /// threshold + this.
    pub fn error(&self, beta: Beta) -> Result<f64> {
        Ok(super::additive::Noise::laplace(self.scale).quantile(beta.get()))
    }
}

/// A finite set of keys that need not be walked.
pub(super) trait KeyUniverse {
    /// One of them.
    type Key: Ord + Copy;
    /// How many there are.
    fn count(&self) -> BigUint;
    /// A uniformly random one.
    fn draw<S: BitSource + ?Sized>(&self, bits: &mut S) -> Self::Key;
    /// All of them: asked for only where most are present in the data.
    fn list(&self) -> Vec<Self::Key>;
}

/// The keys 0, …, last.
struct KeyRange(u128);

impl KeyUniverse for KeyRange {
    type Key = u128;

    fn count(&self) -> BigUint {
        BigUint::from(self.0) + 1u32
    }

    fn draw<S: BitSource + ?Sized>(&self, bits: &mut S) -> u128 {
        uniform::below(bits, &self.count()).to_u128().unwrap_or(0)
    }

    fn list(&self) -> Vec<u128> {
        (0..=self.0).collect()
    }
}

/// The absent keys that survive, each with probability `survives`: their number is binomial, their set uniform (by
/// rejection of those that are present or taken).
pub(super) fn surviving_absent<K: KeyUniverse, S: BitSource + ?Sized>(
    keys: &K,
    present: &BTreeMap<K::Key, i64>,
    survives: &impl Fn(Precision) -> Enclosure,
    bits: &mut S,
) -> Vec<K::Key> {
    let absent = keys.count() - BigUint::from(present.len());
    let survivors = binomial(&absent, survives, bits);
    if absent < BigUint::from(2 * present.len() + 4 * survivors) {
        return few_absent(keys.list(), present, survivors, bits);
    }
    let mut taken = BTreeSet::new();
    while taken.len() < survivors {
        let key = keys.draw(bits);
        if !present.contains_key(&key) {
            taken.insert(key);
        }
    }
    taken.into_iter().collect()
}

/// Where most of the domain is present, the absent keys are few enough to be listed.
fn few_absent<Key: Ord + Copy, S: BitSource + ?Sized>(
    mut absent: Vec<Key>,
    present: &BTreeMap<Key, i64>,
    survivors: usize,
    bits: &mut S,
) -> Vec<Key> {
    absent.retain(|key| !present.contains_key(key));
    let mut taken = Vec::with_capacity(survivors);
    for _ in 0..survivors.min(absent.len()) {
        let index = uniform::below(bits, absent.len() as u64) as usize;
        taken.push(absent.swap_remove(index));
    }
    taken
}

/// Binomial(n, p) exactly, for a p that can be enclosed to any precision and an expectation of at most a few thousand.
///
/// P\[0\] = (1−p)^n and P\[i+1\] = P\[i\]·(n−i)/(i+1)·p/(1−p), with enough bits for the smallest of them to matter.
fn binomial<S: BitSource + ?Sized>(n: &BigUint, p: &impl Fn(Precision) -> Enclosure, bits: &mut S) -> usize {
    if n.is_zero() {
        return 0;
    }
    let expected = {
        let precision = Precision { bits: 320 };
        let product = p(precision).high * n;
        (product >> 300u32).to_f64().unwrap_or(0.0) / 2f64.powi(20)
    };
    choose(bits, |precision| binomial_weights(n, p, expected, precision))
}

fn binomial_weights(
    n: &BigUint,
    p: &impl Fn(Precision) -> Enclosure,
    expected: f64,
    precision: Precision,
) -> ChoiceWeights {
    // P[0] is about e^{−expected}; the power loses the bits of n.
    let inner = Precision { bits: precision.bits + 2 * n.bits() + (expected * 3.0) as u64 + 128 };
    let p = p(inner);
    let one = inner.ratio(&BigRational::one());
    let not_p = inner.minus(&one, &p);
    let odds = inner.over(&p, &not_p);
    let mut mass = inner.power(&not_p, n);
    let mut cells = vec![mass.clone()];
    // Chernoff: beyond this the mass is below 2^{−precision}.
    let most = (expected * 8.0 + precision.bits as f64 * 2.0) as u64;
    let mut left = n.clone();
    for i in 1..=most {
        if left.is_zero() {
            break;
        }
        mass = inner.times(&mass, &odds);
        mass = Enclosure { low: mass.low * &left / i, high: mass.high * &left / i + 1u32 };
        left -= 1u32;
        cells.push(mass.clone());
    }
    let listed: BigUint = cells.iter().map(|cell| &cell.low).sum();
    let whole = BigUint::one() << inner.bits;
    let beyond = if left.is_zero() || listed > whole { BigUint::zero() } else { whole - listed };
    ChoiceWeights { cells, beyond }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Claim, Distribution, ProbabilityInterval, Slack, check, neighbours};
    use crate::noise::InsecureSeededSource;
    use crate::scope::Scope;

    fn tail_probability(scale: f64, threshold: i64) -> f64 {
        (-(threshold as f64) / scale).exp() / (1.0 + (-1.0 / scale).exp())
    }

    #[test]
    fn binomial_weights_enclose_the_exact_rationals() {
        // n = 5, p = 2/7: compared with the exact binomial, cell by cell.
        let p = BigRational::new(2.into(), 7.into());
        let precision = Precision { bits: 192 };
        let weights =
            binomial_weights(&BigUint::from(5u32), &|precision: Precision| precision.ratio(&p), 1.5, precision);
        assert_eq!(weights.cells.len(), 6);
        let total: BigUint = weights.cells.iter().map(|cell| &cell.high).sum();
        let choose_five = [1u32, 5, 10, 10, 5, 1];
        for (i, cell) in weights.cells.iter().enumerate() {
            let exact = BigRational::new(
                BigInt::from(choose_five[i]) * BigInt::from(2).pow(i as u32) * BigInt::from(5).pow(5 - i as u32),
                BigInt::from(7).pow(5),
            );
            let found = BigRational::new(cell.low.clone().into(), total.clone().into());
            assert!((found - exact).to_f64().unwrap().abs() < 1e-50);
        }
    }

    /// What is published of one key: its noisy count, or nothing below the threshold; listed up to 30.
    fn published(count: i64, scale: f64, threshold: i64) -> Distribution<Option<i64>> {
        let mass = |z: i64| (0.5 / scale).tanh() * (-(z.abs() as f64) / scale).exp();
        let shown = |value: i64| (value >= threshold).then_some(value);
        let outcomes = (-60..=30).map(|value| (shown(value), ProbabilityInterval::near(mass(value - count), 1e-13)));
        Distribution::new(outcomes, 2.0 * tail_probability(scale, 31 - count))
    }

    #[test]
    fn the_published_histogram_costs_what_its_event_says() {
        let histogram = HugeDomainHistogram::with_threshold(2, Scale::new(1.0).unwrap(), 2).unwrap();
        let event = histogram.events().unwrap().remove(0);
        let law = |keys: &Vec<u128>| {
            let of = |key: u128| published(keys.iter().filter(|held| **held == key).count() as i64, 1.0, 2);
            of(0).product(&of(1)).product(&of(2))
        };
        let universe = [0u128, 1, 2];
        let claim = |scope: &Scope| Claim::of(std::slice::from_ref(&event), scope, &[0.5]);
        let tight = Slack { pure: 1e-6, ..Slack::ANY };
        check(&neighbours::presence(&universe, 2), law, &claim(&Scope::Presence), tight);
        // One owner alone is mostly hidden below the threshold: two visible keys would take more owners than can be
        // enumerated.
        let loose = Slack { pure: 0.7, ..Slack::ANY };
        check(&neighbours::person(&universe, 1), law, &claim(&Scope::Person), loose);
    }

    #[test]
    fn the_sparse_law_is_the_dense_law() {
        // A set of m of the absent keys survives with probability P[m]/C(n, m) in the sparse way, p^m·(1−p)^{n−m} in
        // the dense one, and its counts above the threshold are geometric in both, since
        // P[Z = t + j]/P[Z ≥ t] = (1 − r)·r^j.
        let (scale, threshold) = (2.0, 2);
        let histogram = HugeDomainHistogram::with_threshold(5, Scale::new(scale).unwrap(), threshold).unwrap();
        let (p, precision) = (tail_probability(scale, threshold), Precision { bits: 256 });
        for absent in 1..=6u32 {
            let weights =
                binomial_weights(&BigUint::from(absent), &histogram.tail().unwrap(), p * f64::from(absent), precision);
            assert_eq!(weights.cells.len(), absent as usize + 1);
            let total: BigUint = weights.cells.iter().map(|cell| &cell.high).sum();
            let mut sets = 1.0;
            for (m, cell) in weights.cells.iter().enumerate() {
                let share = |weight: &BigUint| {
                    BigRational::new(weight.clone().into(), total.clone().into()).to_f64().unwrap() / sets
                };
                let dense = p.powi(m as i32) * (1.0 - p).powi(absent as i32 - m as i32);
                assert!(
                    (share(&cell.low) / dense - 1.0).abs() < 1e-13 && (share(&cell.high) / dense - 1.0).abs() < 1e-13
                );
                sets *= f64::from(absent - m as u32) / (m as f64 + 1.0);
            }
        }
        let ratio = (-1.0 / scale).exp();
        for j in 0..20 {
            let given = (tail_probability(scale, threshold + j) - tail_probability(scale, threshold + j + 1))
                / tail_probability(scale, threshold);
            assert!((given / ((1.0 - ratio) * ratio.powi(j as i32)) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn sparse_sampling_has_the_distribution_of_noising_every_key() {
        // Domain of 4 keys, one present with count 2: the probability that exactly the keys of a set are published is a
        // product. χ² over the 16 sets and 3·10^4 draws, false alarm below 1e-9.
        let histogram = HugeDomainHistogram::with_threshold(3, Scale::new(2.0).unwrap(), 2).unwrap();
        let absent = tail_probability(2.0, 2);
        let present = 1.0 - tail_probability(2.0, 1); // P[2 + Z ≥ 2] = P[Z ≥ 0]
        let mut bits = InsecureSeededSource::new(4);
        let mut seen = [0f64; 16];
        let draws = 30_000;
        let mut sum = 0f64;
        let mut count = 0f64;
        for _ in 0..draws {
            let published = histogram.release(&[(1, 2)], &mut bits).unwrap();
            seen[published.iter().map(|(key, _)| 1usize << key).sum::<usize>()] += 1.0;
            for (_, noisy) in published.iter().filter(|(key, _)| *key != 1) {
                sum += (*noisy - 2) as f64;
                count += 1.0;
            }
        }
        let mut statistic = 0.0;
        for (set, seen) in seen.iter().enumerate() {
            let chance: f64 = (0..4)
                .map(|key| {
                    let shows = if key == 1 { present } else { absent };
                    if set >> key & 1 == 1 { shows } else { 1.0 - shows }
                })
                .product();
            statistic += (seen - chance * f64::from(draws)).powi(2) / (chance * f64::from(draws));
        }
        let x = 1e9f64.ln();
        assert!(statistic < 15.0 + 2.0 * (15.0 * x).sqrt() + 2.0 * x, "{statistic}");
        // Tail-conditioned noise beyond the threshold is geometric with mean 1/(e^{1/s} − 1); 7 standard errors.
        let mean = 1.0 / (0.5f64.exp() - 1.0);
        let deviation = (mean * (1.0 + mean) / count).sqrt();
        assert!((sum / count - mean).abs() < 7.0 * deviation, "{} {mean}", sum / count);
    }

    #[test]
    fn two_to_the_128_keys_take_no_time_and_give_the_expected_number() {
        // About 50 spurious keys in expectation: the mean of 20 runs within 7 standard errors.
        let scale = 3.0;
        let threshold = ((2f64.powi(128) / 50.0).ln() * scale) as i64;
        let histogram = HugeDomainHistogram::with_threshold(u128::MAX, Scale::new(scale).unwrap(), threshold).unwrap();
        let expected = 2f64.powi(128) * tail_probability(scale, threshold);
        let mut bits = InsecureSeededSource::new(9);
        let runs = 20;
        let total: usize = (0..runs).map(|_| histogram.release(&[], &mut bits).unwrap().len()).sum();
        let mean = total as f64 / f64::from(runs);
        assert!((mean - expected).abs() < 7.0 * (expected / f64::from(runs)).sqrt(), "{mean} {expected}");
        assert!(HugeDomainHistogram::with_threshold(u128::MAX, Scale::new(3.0).unwrap(), 100).is_err());
        assert!(histogram.release(&[(5, 1)], &mut bits).is_ok());
        let small = HugeDomainHistogram::with_threshold(3, Scale::new(3.0).unwrap(), 1).unwrap();
        assert!(small.release(&[(4, 1)], &mut bits).unwrap_err().to_string().contains("outside"));
    }
}
