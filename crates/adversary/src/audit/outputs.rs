//! From two samples of outputs to one event, and what it proves.

use super::claim::Claim;
use super::counts::{ConfidenceBounds, Counts, error_share};
use super::normal::normal_quantile;
use super::score::{Distinguisher, Outputs, Score};
use scumble::error::Result;
use scumble::quantity::{Beta, Delta};

/// Fewer outputs than this say nothing.
pub const LEAST_OUTPUTS: usize = 200;

/// What two samples of outputs prove.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// The event that the first part of the outputs suggested.
    pub event: Distinguisher,
    /// Whether the event is the more frequent one in the second sample: the tables change places then.
    pub swapped: bool,
    /// How often it was seen in the rest of both.
    pub counts: Counts,
    /// What that says of its probabilities.
    pub confidence: ConfidenceBounds,
    /// ε is at least this at δ.
    pub epsilon_lower: f64,
    /// How probable the claim lets the event be, and whether it is refuted; none without a claim.
    pub verdict: Option<(f64, bool)>,
}

/// Looks for an event in the first tenth of each sample (at least 100 outputs) and tests that one event on the rest, so
/// that having looked costs no confidence. Of that tenth the first half makes the scores and the second chooses one
/// with its threshold: a score that has learnt its outputs by heart would win on these, and say nothing about others.
///
/// # Guarantee
/// Before: the outputs of each sample are independent runs of one mechanism, `first` on a table and `second` on its
/// neighbour. After: except with probability β, the mechanism is not (ε, δ)-private for that pair with an ε below
/// `epsilon_lower`; and a claim that is reported as refuted is false.
///
/// ```
/// use scumble::quantity::epsilon;
/// use scumble_adversary::audit::{Outputs, compare};
/// use scumble::noise::InsecureSeededSource;
/// use scumble::{Additive, Scope, Target};
/// let count = Additive::count().within(Target::pure(epsilon(1.0)?), Scope::Presence)?;
/// let mut bits = InsecureSeededSource::new(1);
/// let mut runs = |truth: i64| Outputs::Numbers((0..20_000).map(|_| count.release(truth, &mut bits) as f64).collect());
/// let found = compare(&runs(10), &runs(11), None, 0.0.try_into()?, 0.05.try_into()?)?;
/// assert!(found.epsilon_lower > 0.9 && found.epsilon_lower < 1.0);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn compare(
    first: &Outputs,
    second: &Outputs,
    claim: Option<&Claim>,
    delta: Delta,
    beta: Beta,
) -> Result<Comparison> {
    let share = error_share(beta)?;
    check(first, second)?;
    let training = (training(first.len()), training(second.len()));
    let deviations = deviations(-normal_quantile(share).lower, training, (first.len(), second.len()));
    let worth = |counts: &Counts, best: f64| match claim {
        None | Some(Claim::Approximate { .. }) => approximately(counts, deviations).log_ratio(delta),
        Some(claim) => strength(counts, claim, best),
    };
    let mut best: Option<(f64, Distinguisher, bool)> = None;
    let learnt = (training.0 / 2, training.1 / 2);
    for score in Score::candidates(first, second, learnt) {
        let mut one = score.all(first, learnt.0, training.0);
        let mut other = score.all(second, learnt.1, training.1);
        one.sort_by(f64::total_cmp);
        other.sort_by(f64::total_cmp);
        for threshold in thresholds(&one, &other) {
            let above = |sorted: &[f64]| (sorted.len() - sorted.partition_point(|score| *score < threshold)) as u64;
            let (in_one, in_other) = (above(&one), above(&other));
            for (at_least, swapped) in [(true, false), (false, false), (true, true), (false, true)] {
                let side = |hits: u64, runs: usize| if at_least { hits } else { runs as u64 - hits };
                let (a, b) = (side(in_one, one.len()), side(in_other, other.len()));
                let counts = oriented((a, one.len()), (b, other.len()), swapped)?;
                let value = worth(&counts, best.as_ref().map_or(f64::NEG_INFINITY, |(before, ..)| *before));
                if best.as_ref().is_none_or(|(before, ..)| value > *before) {
                    best = Some((value, Distinguisher { score: score.clone(), threshold, at_least }, swapped));
                }
            }
        }
    }
    let Some((_, event, swapped)) = best else { refuse!("these outputs leave no event to count") };
    tested(first, second, training, event, swapped, claim, delta, beta)
}

#[allow(clippy::too_many_arguments)]
fn tested(
    first: &Outputs,
    second: &Outputs,
    training: (usize, usize),
    event: Distinguisher,
    swapped: bool,
    claim: Option<&Claim>,
    delta: Delta,
    beta: Beta,
) -> Result<Comparison> {
    let one = event.score.all(first, training.0, first.len());
    let other = event.score.all(second, training.1, second.len());
    let counts = oriented((event.hits(&one), one.len()), (event.hits(&other), other.len()), swapped)?;
    let confidence = counts.confidence(beta)?;
    let verdict = claim.map(|claim| (claim.allowed(confidence.q_high), claim.is_refuted_by(&confidence)));
    Ok(Comparison { event, swapped, counts, confidence, epsilon_lower: confidence.epsilon_lower(delta), verdict })
}

fn check(first: &Outputs, second: &Outputs) -> Result<()> {
    let (one, other) = (first.kind(), second.kind());
    refuse_if!(one != other, "the outputs are of different kinds: {one} on the table, {other} on its neighbour");
    for (outputs, side) in [(first, "the table"), (second, "its neighbour")] {
        if outputs.len() < LEAST_OUTPUTS {
            let count = outputs.len();
            refuse!("there are {count} outputs on {side}: an audit needs at least {LEAST_OUTPUTS}");
        }
    }
    for (outputs, side) in [(first, "the table"), (second, "its neighbour")] {
        if looks_sorted(outputs) {
            refuse!("the outputs on {side} are sorted: give them in the order in which they were drawn");
        }
    }
    refuse_if!(first.all_equal(second), "all outputs are the same on both tables: there is nothing to compare");
    Ok(())
}

/// Whether somebody sorted them: independent outputs are in order by chance with probability 2·∏cᵢ!/n! at most, where
/// cᵢ of n are the same, and that is below 1e-12 here.
fn looks_sorted(outputs: &Outputs) -> bool {
    fn by_chance<T: PartialOrd>(values: &[T]) -> f64 {
        let in_order =
            values.windows(2).all(|pair| pair[0] <= pair[1]) || values.windows(2).all(|pair| pair[0] >= pair[1]);
        if !in_order {
            return 1.0;
        }
        let ln_factorial = |count: usize| libm::lgamma(count as f64 + 1.0);
        let same = values.chunk_by(|one, other| one == other).map(|run| ln_factorial(run.len())).sum::<f64>();
        2.0 * (same - ln_factorial(values.len())).exp()
    }
    match outputs {
        Outputs::Numbers(values) => by_chance(values) < 1e-12,
        Outputs::Texts(texts) => by_chance(texts) < 1e-12,
        Outputs::Vectors { .. } => false,
    }
}

fn training(outputs: usize) -> usize {
    (outputs / 10).max(100)
}

/// By how many standard deviations an event refutes a claim, if that is more than `best`; where it does not refute it,
/// how far it is from that, below 0. With a fixed number of deviations nothing would look refuted in a few outputs at a
/// small β, and what says nothing (an event that always happens) would look best.
fn strength(counts: &Counts, claim: &Claim, best: f64) -> f64 {
    let excess = |deviations: f64| {
        let seen = approximately(counts, deviations);
        seen.p_low - claim.allowed(seen.q_high)
    };
    let least = excess(best.max(0.0));
    if least <= 0.0 {
        return if best < 0.0 { least } else { f64::NEG_INFINITY };
    }
    let (mut below, mut above) = (best.max(0.0), 100.0);
    for _ in 0..20 {
        let middle = 0.5 * (below + above);
        if excess(middle) > 0.0 {
            below = middle;
        } else {
            above = middle;
        }
    }
    below
}

/// How far a frequency in the few outputs that choose may be off, in their standard deviations: the deviations of the
/// test, in which there are many more outputs, and one and a half for having chosen.
fn deviations(of_test: f64, training: (usize, usize), outputs: (usize, usize)) -> f64 {
    let part = |training: usize, all: usize| (training - training / 2) as f64 / (all - training) as f64;
    of_test * libm::sqrt(f64::max(part(training.0, outputs.0), part(training.1, outputs.1)).min(1.0)) + 1.5
}

fn oriented(first: (u64, usize), second: (u64, usize), swapped: bool) -> Result<Counts> {
    let (table, neighbour) = if swapped { (second, first) } else { (first, second) };
    Counts::new(table.0, table.1 as u64, neighbour.0, neighbour.1 as u64)
}

/// Wilson's intervals, half a hit wider: to choose among events, nothing is proven by them.
fn approximately(counts: &Counts, deviations: f64) -> ConfidenceBounds {
    let bound = |hits: f64, runs: f64, sign: f64| {
        let square = deviations * deviations;
        let hits = hits.clamp(0.0, runs);
        let root = libm::sqrt(square * (hits * (runs - hits) / runs + square / 4.0));
        ((hits + square / 2.0 + sign * root) / (runs + square)).clamp(1e-300, 1.0)
    };
    ConfidenceBounds {
        p_low: if counts.hits() == 0 { 0.0 } else { bound(counts.hits() as f64 - 0.5, counts.runs() as f64, -1.0) },
        q_high: bound(counts.neighbour_hits() as f64 + 0.5, counts.neighbour_runs() as f64, 1.0),
    }
}

/// At most 200 scores that were seen: quantiles, and more of them in both tails.
fn thresholds(one: &[f64], other: &[f64]) -> Vec<f64> {
    let mut all = [one, other].concat();
    all.sort_by(f64::total_cmp);
    let mut distinct = all.clone();
    distinct.dedup();
    if distinct.len() <= 200 {
        return distinct;
    }
    let mut places: Vec<usize> = (0..100).map(|i| i * all.len() / 100).collect();
    let mut tail = all.len() as f64 / 100.0;
    for _ in 0..50 {
        places.extend([tail as usize, all.len() - 1 - tail as usize]);
        tail *= 0.85;
    }
    let mut chosen: Vec<f64> = places.into_iter().map(|place| all[place]).collect();
    chosen.sort_by(f64::total_cmp);
    chosen.dedup();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use scumble::noise::{BitSource, InsecureSeededSource};
    use scumble::{Additive, Loss, Noise, Scope};

    const NONE: f64 = 0.0;

    fn delta(value: f64) -> Delta {
        Delta::new(value).unwrap()
    }

    fn beta(value: f64) -> Beta {
        Beta::new(value).unwrap()
    }

    fn uniform(bits: &mut InsecureSeededSource) -> f64 {
        (bits.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Outputs that are all different were learnt by heart: the event was one that no other output has, and nothing was
    /// ever proven.
    #[test]
    fn a_few_thousand_different_numbers_prove_something() {
        let mut bits = InsecureSeededSource::new(4);
        let mut runs = |truth: f64| {
            let mut one = || {
                let u = uniform(&mut bits) - 0.5;
                ((truth - u.signum() * (1.0 - 2.0 * u.abs()).ln()) * 1e6).round() / 1e6
            };
            Outputs::Numbers((0..9_000).map(|_| one()).collect())
        };
        let found = compare(&runs(0.0), &runs(1.0), None, delta(NONE), beta(0.05)).unwrap();
        assert!((0.6..1.0).contains(&found.epsilon_lower), "{found:?}");
    }

    /// The Laplace noise of textbooks: an f64 logarithm added to an f64 answer. Its claim of ε = 1 is false, and its
    /// low digits show it.
    #[test]
    fn naive_laplace_noise_in_f64_is_caught_by_its_lowest_digits() {
        let mut bits = InsecureSeededSource::new(3);
        let mut runs = |truth: f64| {
            let mut one = || {
                let u = uniform(&mut bits) - 0.5;
                truth - u.signum() * (1.0 - 2.0 * u.abs()).ln()
            };
            Outputs::Numbers((0..20_000).map(|_| one()).collect())
        };
        let claim = Claim::Approximate { epsilon: 1.0.try_into().unwrap(), delta: delta(NONE) };
        let found = compare(&runs(0.0), &runs(1.0), Some(&claim), delta(NONE), beta(1e-6)).unwrap();
        assert!(matches!(found.event.score, Score::LowestBit), "{}", found.event);
        assert!(found.verdict.unwrap().1 && found.epsilon_lower > 4.0, "{found:?}");
    }

    /// At β = 1e-6 the event that was tested was "anything": nothing looked refuted in the few outputs that choose, and
    /// of an event that always happens least was asked.
    #[test]
    fn a_small_beta_still_finds_what_is_wrong() {
        let mut bits = InsecureSeededSource::new(6);
        let count = Additive::count().with(Noise::laplace(1.2.try_into().unwrap()));
        let mut runs =
            |truth: i64| Outputs::Numbers((0..60_000).map(|_| count.release(truth, &mut bits) as f64).collect());
        let (first, second) = (runs(10), runs(11));
        for (scale, refuted) in [(1.2, false), (1.2 * 1.2, true)] {
            let claimed = Additive::count().with(Noise::laplace(scale.try_into().unwrap()));
            let claim = Claim::of(&Loss::of(claimed.events().unwrap(), Scope::Presence).unwrap()).unwrap();
            let found = compare(&first, &second, Some(&claim), delta(NONE), beta(1e-6)).unwrap();
            assert_eq!(found.verdict.unwrap().1, refuted, "{found:?}");
        }
    }

    /// Randomized response said in words, whose probabilities are known: refuted at ε/1.2, never at ε.
    #[test]
    fn words_are_told_apart_by_how_often_they_were_seen() {
        let mut bits = InsecureSeededSource::new(5);
        let truth = f64::exp(1.0) / (1.0 + f64::exp(1.0));
        let mut runs = |yes: bool| {
            let mut word = || if (uniform(&mut bits) < truth) == yes { "yes".to_string() } else { "no".to_string() };
            Outputs::Texts((0..100_000).map(|_| word()).collect())
        };
        let (first, second) = (runs(true), runs(false));
        for (epsilon, refuted) in [(1.0, false), (1.0 / 1.2, true)] {
            let claim = Claim::Approximate { epsilon: epsilon.try_into().unwrap(), delta: delta(NONE) };
            let found = compare(&first, &second, Some(&claim), delta(NONE), beta(1e-6)).unwrap();
            assert_eq!(found.verdict.unwrap().1, refuted, "{found:?}");
        }
    }

    /// A σ that is 1.2 times too small is caught by the whole curve, where the ε at δ = 1e-5 proves too little.
    #[test]
    fn a_whole_curve_catches_a_wrong_sigma() {
        // (1, 1e-5) in the presence scope.
        let sigma = 3.7306;
        let count = Additive::count().with(Noise::gaussian(sigma.try_into().unwrap()));
        let mut bits = InsecureSeededSource::new(7);
        let mut runs =
            |truth: i64| Outputs::Numbers((0..200_000).map(|_| count.release(truth, &mut bits) as f64).collect());
        let (first, second) = (runs(10), runs(11));
        let true_claim = Claim::of(&Loss::of(count.events().unwrap(), Scope::Presence).unwrap()).unwrap();
        for (claim, refuted) in [(true_claim, false), (Claim::Gaussian { mu: 1.0 / (1.2 * sigma) }, true)] {
            let found = compare(&first, &second, Some(&claim), delta(1e-5), beta(0.05)).unwrap();
            assert_eq!(found.verdict.unwrap().1, refuted, "{found:?}");
            assert!(found.epsilon_lower < 1.0 / 1.2);
        }
    }

    #[test]
    fn vectors_are_told_apart_along_the_difference_of_their_means() {
        let mut bits = InsecureSeededSource::new(9);
        let mut runs = |shift: f64| {
            let values = (0..3000).flat_map(|_| [uniform(&mut bits), uniform(&mut bits) + shift]).collect();
            Outputs::Vectors { width: 2, values }
        };
        let found = compare(&runs(0.0), &runs(2.0), None, delta(NONE), beta(0.05)).unwrap();
        assert!(found.epsilon_lower > 6.0, "{found:?}");
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let numbers = |count: usize, value: f64| Outputs::Numbers(vec![value; count]);
        let words = |refused: Result<Comparison>| refused.unwrap_err().to_string();
        let audit = |one: &Outputs, other: &Outputs, at: f64| compare(one, other, None, delta(NONE), beta(at));
        assert!(words(audit(&numbers(199, 1.0), &numbers(300, 2.0), 0.05)).contains("199 outputs on the table"));
        assert!(words(audit(&numbers(300, 1.0), &numbers(300, 1.0), 0.05)).contains("the same on both tables"));
        let text = Outputs::Texts(vec!["a".to_string(); 300]);
        assert!(words(audit(&numbers(300, 1.0), &text, 0.05)).contains("different kinds"));
        assert!(words(audit(&numbers(300, 1.0), &numbers(300, 2.0), 0.5)).contains("(0, 0.5)"));
        // Constant, but not the same: no privacy at all, and far from nothing to say.
        assert!(audit(&numbers(300, 1.0), &numbers(300, 2.0), 0.05).unwrap().epsilon_lower > 3.0);
    }
}
