//! Laws that an event's words define, and comparisons of what was drawn with them, each with a proven false alarm.

use scumble::event::{Event, Word};
use scumble::noise::SinhNormal;
use scumble::quantity::{Scale, Sigma};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, Ordering};

/// The chance that one comparison fails although nothing is wrong, for another seed.
const FALSE_ALARM_OF_ONE: f64 = 1e-12;
/// This many comparisons may be made, so that all of them together have a false alarm of at most 1e-9.
const MOST_COMPARISONS: u32 = 1000;
static COMPARISONS: AtomicU32 = AtomicU32::new(0);

/// As in `.ci/run`: four times the draws, which see slips half as large.
pub const THOROUGH: bool = option_env!("SCUMBLE_THOROUGH").is_some();
/// How many draws a comparison usually has.
pub const DRAWS: usize = if THOROUGH { 200_000 } else { 50_000 };
/// The slip that every comparison must be able to see: noise that is 5% smaller than its event says, or 10% with a
/// quarter of the draws.
pub const SLIP: f64 = seen(0.95);

/// The slip that is seen where all the draws see `slip`.
pub const fn seen(slip: f64) -> f64 {
    if THOROUGH { slip } else { slip * slip }
}

/// ln(2/p): what the exponent of a two-sided tail bound must reach. Counts the comparison.
fn least_exponent() -> f64 {
    assert!(COMPARISONS.fetch_add(1, Ordering::Relaxed) < MOST_COMPARISONS, "more comparisons than 1e-9 is divided by");
    (2.0 / FALSE_ALARM_OF_ONE).ln()
}

/// The distribution of an integer, except for a mass below 1e-14.
#[derive(Debug, Clone)]
pub struct IntegerDistribution(BTreeMap<i64, f64>);

impl IntegerDistribution {
    /// P\[z\] ∝ weight(z) on −reach, …, reach.
    pub fn of_weights(reach: i64, weight: impl Fn(i64) -> f64) -> Self {
        let total: f64 = (-reach..=reach).map(&weight).sum();
        Self((-reach..=reach).map(|z| (z, weight(z) / total)).collect())
    }

    /// Discrete Laplace noise of this scale.
    pub fn discrete_laplace(scale: f64) -> Self {
        Self::of_weights((40.0 * scale).ceil() as i64 + 2, |z| (-(z.abs() as f64) / scale).exp())
    }

    /// Discrete Gaussian noise of this σ.
    pub fn discrete_gaussian(sigma: f64) -> Self {
        Self::of_weights((10.0 * sigma).ceil() as i64 + 2, |z| (-(z * z) as f64 / (2.0 * sigma * sigma)).exp())
    }

    /// What the word of the event says that was added to each cell, with its parameter times `factor`.
    pub fn of_event(event: &Event, factor: f64) -> Self {
        match event.word() {
            Word::DiscreteLaplace { scale } | Word::HeavyHitters { scale, .. } => {
                Self::discrete_laplace(scale.get() * factor)
            }
            Word::DiscreteGaussian { sigma } => Self::discrete_gaussian(sigma.get() * factor),
            Word::SinhNormal { sigma, a } => {
                let (sigma, a) = (Sigma::new(sigma.get() * factor).unwrap(), Scale::new(a.get() * factor).unwrap());
                let noise = SinhNormal::new(sigma, a).unwrap();
                Self::of_weights(noise.table().last_index() as i64 + 200, |z| noise.table().probability(z))
            }
            Word::NewKeys(keys) => Self::of_event(&Event::new(keys.noise().clone(), event.moves().clone()), factor),
            // Pure noise on a move by one: the ratio of neighbouring masses is e^ε.
            Word::Pure { epsilon } => Self::discrete_laplace(factor / epsilon.get()),
            other => panic!("{other:?} does not say what was added"),
        }
    }

    /// P\[Z = z\].
    pub fn mass(&self, z: i64) -> f64 {
        self.0.get(&z).copied().unwrap_or(0.0)
    }

    /// P\[Z ≥ z\].
    pub fn at_least(&self, z: i64) -> f64 {
        self.0.range(z..).map(|(_, mass)| mass).sum()
    }

    /// P\[|Z| > q\].
    fn beyond(&self, q: i64) -> f64 {
        self.at_least(q + 1) + self.0.range(..-q).map(|(_, mass)| mass).sum::<f64>()
    }

    /// Every integer with its mass.
    pub fn iter(&self) -> impl Iterator<Item = (i64, f64)> + '_ {
        self.0.iter().map(|(z, mass)| (*z, *mass))
    }

    /// k·Z.
    pub fn times(&self, k: i64) -> Self {
        Self(self.0.iter().map(|(z, mass)| (k * z, *mass)).collect())
    }

    /// The sum of two independent integers.
    pub fn plus(&self, other: &Self) -> Self {
        let mut sum = BTreeMap::new();
        for (x, p) in &self.0 {
            for (y, q) in other.0.iter().filter(|(_, q)| *q * p > 1e-22) {
                *sum.entry(x + y).or_insert(0.0) += p * q;
            }
        }
        Self(sum)
    }

    fn moment(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.0.iter().map(|(z, mass)| mass * of(*z as f64)).sum()
    }

    fn variance(&self) -> f64 {
        self.moment(|z| z * z)
    }

    /// The least q with P\[|Z| > q\] ≤ p.
    fn quantile(&self, p: f64) -> i64 {
        let mut beyond = 0.0;
        let farthest = self.0.keys().map(|z| z.abs()).max().unwrap_or(0);
        let passes = |q: &i64| {
            beyond += self.mass(*q) + self.mass(-*q);
            beyond > p
        };
        (1..=farthest).rev().find(passes).unwrap_or(0)
    }
}

/// n·KL(f‖p): the exponent of the probability that a frequency is f or further off (Chernoff).
fn exponent(frequency: f64, probability: f64, draws: f64) -> f64 {
    let part = |f: f64, p: f64| if f == 0.0 { 0.0 } else { f * (f / p).ln() };
    draws * (part(frequency, probability) + part(1.0 - frequency, 1.0 - probability))
}

/// Compares a frequency with its probability (Chernoff–Hoeffding; exact for any number of draws).
pub fn frequency(what: &str, hits: usize, draws: usize, probability: f64) {
    let probability = if probability > 1.0 - 1e-12 { 1.0 } else { probability };
    let found = hits as f64 / draws as f64;
    let exponent = exponent(found, probability, draws as f64);
    assert!(exponent <= least_exponent(), "{what}: {found} of {draws} draws instead of {probability}");
}

/// Whether a frequency of this probability would nearly surely (about 99%) be distinguished from `claimed`: 1.7 times
/// the exponent that fails.
fn is_told(slipped: f64, claimed: f64, draws: usize) -> bool {
    exponent(slipped, claimed, draws as f64) > 1.7 * (2.0 / FALSE_ALARM_OF_ONE).ln()
}

/// Compares what was drawn with the law of its event: the second moment (Bernstein, cut at seven deviations) and three
/// tails. Fails also if noise of the law `slipped` could pass.
pub fn noise(what: &str, drawn: &[i64], claimed: &IntegerDistribution, slipped: &IntegerDistribution) {
    let cut = 49.0 * claimed.variance();
    let squared = |z: f64| (z * z).min(cut);
    let mean = claimed.moment(squared);
    let spread = claimed.moment(|z| (squared(z) - mean).powi(2));
    let (draws, exponent) = (drawn.len() as f64, least_exponent());
    let third = cut * exponent / 3.0;
    let tolerance = (third + (third * third + 2.0 * spread * draws * exponent).sqrt()) / draws;
    let found = drawn.iter().map(|z| squared(*z as f64)).sum::<f64>() / draws;
    assert!((found - mean).abs() <= tolerance, "{what}: variance {found}, but its event says {mean} ± {tolerance}");
    let mut is_seen = (slipped.moment(squared) - mean).abs() > 1.4 * tolerance;
    for tail in [0.5, 0.1, 0.01] {
        let q = claimed.quantile(tail);
        let hits = drawn.iter().filter(|z| z.abs() > q).count();
        frequency(&format!("{what}, beyond {q}"), hits, drawn.len(), claimed.beyond(q));
        is_seen |= is_told(slipped.beyond(q), claimed.beyond(q), drawn.len());
    }
    assert!(is_seen, "{what}: {} draws are too few to see the slip", drawn.len());
}

/// Compares the frequency of each outcome with its probability. Fails also if the law `slipped` could pass.
pub fn outcomes<K: Ord + Debug>(
    what: &str,
    drawn: impl IntoIterator<Item = K>,
    claimed: &BTreeMap<K, f64>,
    slipped: &BTreeMap<K, f64>,
) {
    let mut seen: BTreeMap<K, usize> = BTreeMap::new();
    drawn.into_iter().for_each(|outcome| *seen.entry(outcome).or_default() += 1);
    let draws: usize = seen.values().sum();
    if let Some(impossible) = seen.keys().find(|outcome| !claimed.contains_key(outcome)) {
        panic!("{what}: {impossible:?} has no probability");
    }
    let mut is_seen = false;
    // What is rare is compared together, so that there are not too many comparisons.
    let (mut rare_hits, mut rare) = (0, 0.0);
    for (outcome, probability) in claimed {
        let hits = seen.get(outcome).copied().unwrap_or(0);
        if *probability < 0.002 {
            (rare_hits, rare) = (rare_hits + hits, rare + probability);
            continue;
        }
        frequency(&format!("{what}, {outcome:?}"), hits, draws, *probability);
        is_seen |= is_told(slipped.get(outcome).copied().unwrap_or(0.0), *probability, draws);
    }
    if rare > 0.0 {
        frequency(&format!("{what}, what is rare"), rare_hits, draws, rare);
    }
    assert!(is_seen, "{what}: {draws} draws are too few to see the slip");
}

/// A distribution ∝ weight.
pub fn proportional<K: Ord>(weights: impl IntoIterator<Item = (K, f64)>) -> BTreeMap<K, f64> {
    let mut law: BTreeMap<K, f64> = weights.into_iter().collect();
    let total: f64 = law.values().sum();
    law.values_mut().for_each(|weight| *weight /= total);
    law
}

/// Compares ρ = ½·mᵀΣ⁻¹m of a Gaussian release with the ρ that is claimed for the move m, where Σ was estimated from
/// this many draws of known mean: their quotient is a χ² of that many degrees over their number (Wishart; within
/// Laurent and Massart's bounds).
pub fn concentrated_cost(what: &str, estimated: f64, claimed: f64, degrees: usize) {
    let quotient = claimed / estimated;
    chi_square(what, quotient * degrees as f64, degrees, SLIP);
}

/// Compares a sum of this many squared standard normal numbers with their number (Laurent and Massart 2000, lemma 1).
/// Fails also if a noise that is smaller by the factor `slip` could pass.
pub fn chi_square(what: &str, sum: f64, degrees: usize, slip: f64) {
    let (degrees, x) = (degrees as f64, least_exponent());
    let tolerance = 2.0 * (x / degrees).sqrt() + 2.0 * x / degrees;
    assert!(1.0 - slip * slip > 1.2 * tolerance, "{what}: {degrees} degrees are too few to see the slip");
    let mean = sum / degrees;
    assert!((mean - 1.0).abs() <= tolerance, "{what}: the noise has {mean} times the variance of its event");
}
