//! Finite distributions whose probabilities are known up to a certified interval, and the divergences between two of
//! them.

use num_rational::BigRational;
use num_traits::ToPrimitive;
use std::collections::BTreeMap;

/// A probability that lies between two numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbabilityInterval {
    /// Not more than the truth.
    pub lower: f64,
    /// Not less than the truth.
    pub upper: f64,
}

impl ProbabilityInterval {
    /// An interval of this relative half-width around an f64 that was computed with less relative error than that.
    pub fn near(value: f64, relative: f64) -> Self {
        Self { lower: value * (1.0 - relative), upper: value * (1.0 + relative) }
    }

    /// The interval around a rational: the neighbouring f64 on both sides.
    pub fn exact(value: &BigRational) -> Self {
        let nearest = value.to_f64().expect("a probability is a finite number");
        let lower = if nearest <= 0.0 { 0.0 } else { nearest.next_down() };
        Self { lower, upper: nearest.next_up() }
    }

    fn times(self, other: Self) -> Self {
        let lower = (self.lower * other.lower).next_down().max(0.0);
        Self { lower, upper: (self.upper * other.upper).next_up() }
    }
}

/// The output distribution of a mechanism on one dataset: every listed outcome with its probability, and at most how
/// much mass is on outcomes that are not listed.
#[derive(Debug, Clone)]
pub struct Distribution<Outcome: Ord> {
    listed: BTreeMap<Outcome, ProbabilityInterval>,
    unlisted: f64,
}

impl<Outcome: Ord + Clone> Distribution<Outcome> {
    /// Outcomes with intervals; `unlisted` bounds the mass of all others from above. Equal outcomes are added up.
    pub fn new(outcomes: impl IntoIterator<Item = (Outcome, ProbabilityInterval)>, unlisted: f64) -> Self {
        let mut listed: BTreeMap<Outcome, ProbabilityInterval> = BTreeMap::new();
        for (outcome, probability) in outcomes {
            let held = listed.entry(outcome).or_insert(ProbabilityInterval { lower: 0.0, upper: 0.0 });
            held.lower = (held.lower + probability.lower).next_down().max(0.0);
            held.upper = (held.upper + probability.upper).next_up();
        }
        let distribution = Self { listed, unlisted };
        distribution.assert_total();
        distribution
    }

    /// A distribution given by exact rationals; they must add up to 1.
    pub fn exact(outcomes: impl IntoIterator<Item = (Outcome, BigRational)>) -> Self {
        let mut rational: BTreeMap<Outcome, BigRational> = BTreeMap::new();
        for (outcome, probability) in outcomes {
            *rational.entry(outcome).or_insert_with(|| BigRational::from_integer(0.into())) += probability;
        }
        let total: BigRational = rational.values().cloned().sum();
        assert_eq!(total, BigRational::from_integer(1.into()), "an exact distribution adds up to 1");
        let listed =
            rational.into_iter().map(|(outcome, value)| (outcome, ProbabilityInterval::exact(&value))).collect();
        Self { listed, unlisted: 0.0 }
    }

    /// Two independent mechanisms' outputs side by side, as one outcome.
    pub fn product<Other: Ord + Clone>(&self, other: &Distribution<Other>) -> Distribution<(Outcome, Other)> {
        let pairs = self.listed.iter().flat_map(|(left, p)| {
            other.listed.iter().map(move |(right, q)| ((left.clone(), right.clone()), p.times(*q)))
        });
        Distribution { listed: pairs.collect(), unlisted: self.unlisted + other.unlisted }
    }

    /// The distribution of a function of the outcome (post-processing).
    pub fn map<Other: Ord + Clone>(&self, function: impl Fn(&Outcome) -> Other) -> Distribution<Other> {
        Distribution::new(self.listed.iter().map(|(outcome, p)| (function(outcome), *p)), self.unlisted)
    }

    /// A mechanism that draws `self` first and then, knowing it, another distribution: both are the outcome.
    pub fn then<Other: Ord + Clone>(
        &self,
        next: impl Fn(&Outcome) -> Distribution<Other>,
    ) -> Distribution<(Outcome, Other)> {
        let mut listed = BTreeMap::new();
        let mut unlisted = self.unlisted;
        for (first, p) in &self.listed {
            let second = next(first);
            unlisted += p.upper * second.unlisted;
            listed.extend(second.listed.into_iter().map(|(outcome, q)| ((first.clone(), outcome), p.times(q))));
        }
        Distribution { listed, unlisted }
    }

    /// The probability of an outcome, if it is listed.
    pub fn probability(&self, outcome: &Outcome) -> Option<ProbabilityInterval> {
        self.listed.get(outcome).copied()
    }

    /// The listed outcomes with their probabilities.
    pub fn iter(&self) -> impl Iterator<Item = (&Outcome, &ProbabilityInterval)> {
        self.listed.iter()
    }

    fn assert_total(&self) {
        let lower: f64 = self.listed.values().map(|p| p.lower).sum();
        let upper: f64 = self.listed.values().map(|p| p.upper).sum::<f64>() + self.unlisted;
        assert!(lower <= 1.0 + 1e-9 && upper >= 1.0 - 1e-9, "a distribution adds up to 1, not to [{lower}, {upper}]");
    }

    /// The probability in the other distribution: what is not listed there may hold up to its unlisted mass.
    fn other_upper(other: &Self, outcome: &Outcome) -> f64 {
        other.listed.get(outcome).map_or(other.unlisted, |q| q.upper)
    }

    /// D_∞(self ‖ other): not above the truth; infinite where an outcome is impossible under `other`.
    pub fn max_divergence_lower(&self, other: &Self) -> f64 {
        let ratios = self.listed.iter().filter(|(_, p)| p.lower > 0.0);
        ratios.map(|(outcome, p)| (p.lower / Self::other_upper(other, outcome)).ln()).fold(f64::NEG_INFINITY, f64::max)
    }

    /// δ(ε) = Σ (p − e^ε·q)₊: not above the truth.
    pub fn hockey_stick_lower(&self, other: &Self, epsilon: f64) -> f64 {
        let factor = epsilon.exp() * (1.0 + 1e-15);
        self.listed.iter().map(|(outcome, p)| (p.lower - factor * Self::other_upper(other, outcome)).max(0.0)).sum()
    }

    /// D_α(self ‖ other): not above the truth.
    pub fn renyi_lower(&self, other: &Self, order: f64) -> f64 {
        let terms =
            self.listed.iter().filter(|(_, p)| p.lower > 0.0).map(|(outcome, p)| {
                (order * p.lower.ln() + (1.0 - order) * Self::other_upper(other, outcome).ln()).exp()
            });
        terms.sum::<f64>().ln() / (order - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rational(numerator: i64, denominator: i64) -> BigRational {
        BigRational::new(numerator.into(), denominator.into())
    }

    fn coin(heads: i64, of: i64) -> Distribution<bool> {
        Distribution::exact([(true, rational(heads, of)), (false, rational(of - heads, of))])
    }

    #[test]
    fn divergences_of_two_coins_are_the_ones_by_hand() {
        let (p, q) = (coin(3, 4), coin(1, 4));
        assert!((p.max_divergence_lower(&q) - 3f64.ln()).abs() < 1e-12);
        assert!((p.hockey_stick_lower(&q, 2f64.ln()) - 0.25).abs() < 1e-12);
        let renyi = (0.75f64.powi(2) / 0.25 + 0.25f64.powi(2) / 0.75).ln();
        assert!((p.renyi_lower(&q, 2.0) - renyi).abs() < 1e-12);
    }

    #[test]
    fn an_impossible_outcome_is_an_infinite_divergence() {
        assert_eq!(coin(1, 2).max_divergence_lower(&coin(1, 1)), f64::INFINITY);
    }

    #[test]
    fn unlisted_mass_weakens_every_lower_bound() {
        let listed = [(0, ProbabilityInterval::near(0.9, 1e-12))];
        let cut = Distribution::new(listed, 0.1);
        let whole = Distribution::new([(1, ProbabilityInterval::near(1.0, 1e-12))], 0.0);
        assert!(whole.max_divergence_lower(&cut) <= (1.0f64 / 0.1).ln());
    }

    #[test]
    #[should_panic(expected = "adds up to 1")]
    fn what_does_not_add_up_is_not_a_distribution() {
        Distribution::exact([(0, rational(1, 2))]);
    }
}
