//! The requirements matrix: which analyses a scenario may use, and what it lacks.

use super::analysis::Analysis;
use super::blanket::{blanket, blanket_of_each, blanket_pair};
use super::bound::Bound;
use super::closed;
use super::count::{Targets, worst_count};
use super::k_anonymity::{Anonymity, k_anonymity, rare_delta};
use super::lambda::Lambda;
use super::noise::{AddedNoise, directions_with_noise};
use super::poisson_binomial::{BeliefGroup, poisson_binomial, total};
use super::scenario::{BeliefCoverage, Generalisation, PublishedStatistic, Scenario, Uncertainty};
use super::window::Window;
use scumble::error::{Error, Result};
use scumble::quantity::{Epsilon, Probability};
use threshold_count::threshold_count;

mod threshold_count;

/// An analysis whose requirements are met: δ as a function of ε.
pub(super) struct AnalysisCandidate<'a> {
    /// Its name.
    pub method: Analysis,
    /// ln of a δ that no ε reaches; −∞ if there is none.
    pub ln_floor: f64,
    /// δ at ε.
    pub delta: Box<dyn Fn(Epsilon) -> Result<Bound> + 'a>,
}

impl<'a> AnalysisCandidate<'a> {
    fn new(method: Analysis, ln_floor: f64, delta: impl Fn(Epsilon) -> Result<Bound> + 'a) -> Self {
        Self { method, ln_floor, delta: Box::new(delta) }
    }
}

/// What the requirements matrix allows.
pub(super) enum AllowedAnalyses<'a> {
    /// These, and the best of them is the answer.
    Analyses(Vec<AnalysisCandidate<'a>>),
    /// None, since this is missing.
    Refused(Vec<String>),
    /// None that would say anything: why.
    None(String),
}

/// How far one unit moves what the noise is added to: a count by its block, a histogram in two cells.
pub(super) fn moved(scenario: &Scenario) -> u32 {
    match scenario.release.published {
        PublishedStatistic::Histogram { .. } => 2 * scenario.population.block_size,
        _ => scenario.population.block_size,
    }
}

/// The requirements matrix: which analyses this scenario may use, or what it lacks.
pub(super) fn allowed(scenario: &Scenario) -> Result<AllowedAnalyses<'_>> {
    let mut missing = Vec::new();
    if !scenario.independent {
        missing.push(
            "uncertainty.independence must be \"declared\": correlated units (households, duplicates) can reveal everything, and \
             no analysis here holds without it"
                .to_string(),
        );
    }
    if scenario.in_blocks() && !scenario.conditional_on_block {
        missing.push(
            "uncertainty.conditional_on_block must be true: with blocks, the uncertainty must hold given the rest of the \
             unit's own block, or the parity of the count reveals the target"
                .to_string(),
        );
    }
    let release = &scenario.release;
    let patterns = patterns(scenario);
    if release.on_same_units > 1 && !patterns {
        missing.push(format!(
            "release.releases_on_same_units is {}, and releases without enough noise do not compose: describe them as one release \
             over answer patterns (category_min with 2^{} minima), or publish once",
            release.on_same_units,
            release.on_same_units.min(63)
        ));
    }
    if let PublishedStatistic::KAnonymity { generalisation, .. } = release.published
        && generalisation != Some(Generalisation::Fixed)
    {
        missing.push(
            "release.generalisation must be \"fixed\": categories that were chosen looking at the data tell something themselves"
                .to_string(),
        );
    }
    let noisy_cut =
        matches!(release.published, PublishedStatistic::Threshold { .. } | PublishedStatistic::KAnonymity { .. });
    if noisy_cut && scenario.noise != AddedNoise::None {
        missing.push(
            "noise together with suppression is not analysed: ask about kind \"count\" with this noise instead"
                .to_string(),
        );
    }
    if !missing.is_empty() {
        return Ok(AllowedAnalyses::Refused(missing));
    }
    if let Some(contradiction) = contradiction(scenario)? {
        return Ok(AllowedAnalyses::Refused(vec![contradiction]));
    }
    match release.published {
        PublishedStatistic::Count => count(scenario),
        PublishedStatistic::Histogram { categories } => histogram(scenario, categories),
        PublishedStatistic::Threshold { threshold } => threshold_count(scenario, threshold),
        PublishedStatistic::KAnonymity { k, hidden_bottom, .. } => anonymity(scenario, k, hidden_bottom),
    }
}

/// Whether the minima are those of the 2^d patterns of answers of d counts.
fn patterns(scenario: &Scenario) -> bool {
    let counts = scenario.release.on_same_units;
    matches!(&scenario.uncertainty, Uncertainty::CategoryMinima(minima)
        if scenario.release.published == PublishedStatistic::Count && counts < 32 && minima.len() == 1 << counts)
}

/// The published count may show that the declared box is absurd. (A function of what is published anyway.)
fn contradiction(scenario: &Scenario) -> Result<Option<String>> {
    const ABSURD: f64 = 1e-6;
    let (Some(observed), Uncertainty::Lambda(lambda), AddedNoise::None) =
        (scenario.release.observed, &scenario.uncertainty, scenario.noise)
    else {
        return Ok(None);
    };
    if !matches!(scenario.release.published, PublishedStatistic::Count | PublishedStatistic::Threshold { .. }) {
        return Ok(None);
    }
    let m = unknown(scenario)?;
    let law = Window::binomial(m, lambda.get(), 1.0 - lambda.get());
    let certain = scenario.population.records.unwrap_or(0).saturating_sub(m);
    let too_low = 1.0 - law.tail_from(observed as i64 + 1).lower < ABSURD;
    let zeros = (m + certain) as i64 - observed as i64;
    let too_high = 1.0 - law.tail_from(zeros + 1).lower < ABSURD;
    Ok((too_low || too_high).then(|| {
        format!(
            "release.observed is {observed}, which is next to impossible under lambda {}: the beliefs are wrong",
            lambda.get()
        )
    }))
}

/// m, which needs the number of records.
fn unknown(scenario: &Scenario) -> Result<u64> {
    let records = scenario.population.records;
    let known = scenario.known();
    if let Some(records) = records
        && known > records
    {
        refuse!("attacker.known_records is {known}, more than the {records} records of population.n_total");
    }
    scenario.unknown_others().ok_or_else(|| Error::refused("population.n_total must say how many records there are"))
}

fn lacks(sentence: &str) -> Result<AllowedAnalyses<'static>> {
    Ok(AllowedAnalyses::Refused(vec![sentence.to_string()]))
}

fn count(scenario: &Scenario) -> Result<AllowedAnalyses<'_>> {
    let noise = scenario.noise;
    let shift = scenario.population.block_size;
    let floor = |ln_floor: f64| if noise == AddedNoise::None { ln_floor } else { f64::NEG_INFINITY };
    let mut candidates = match &scenario.uncertainty {
        Uncertainty::Lambda(lambda) => {
            let m = unknown(scenario)?;
            vec![worst_case(m, *lambda, noise, shift, floor(closed::ln_smallest_delta(m, *lambda)))]
        }
        Uncertainty::Beliefs { .. } if scenario.in_blocks() => {
            return lacks(
                "uncertainty.kind \"probs\" is about records that stand for themselves: with blocks give lambda",
            );
        }
        Uncertainty::Beliefs { groups, listed } => beliefs(scenario, groups, *listed)?,
        Uncertainty::TotalVariance(variance) => {
            let variance = *variance;
            vec![AnalysisCandidate::new(Analysis::VarianceBound, f64::NEG_INFINITY, move |epsilon| {
                Ok(Bound::at_most(closed::variance(variance, epsilon, shift)))
            })]
        }
        Uncertainty::CategoryMinima(minima) => return categories(scenario, minima),
        Uncertainty::AtMost(_) => {
            return lacks(
                "uncertainty.lambda (or probs, or total_variance) is missing: an upper bound p_max alone leaves records that are \
                 surely 0, and a plain count then reveals the target",
            );
        }
        Uncertainty::RareCommon { .. } => {
            return lacks(
                "uncertainty.kind \"rare_common\" is for k_anonymity; a count needs lambda, probs or total_variance",
            );
        }
    };
    if noise != AddedNoise::None {
        candidates.push(noise_alone(noise, shift));
    }
    Ok(AllowedAnalyses::Analyses(candidates))
}

fn worst_case<'a>(m: u64, lambda: Lambda, noise: AddedNoise, shift: u32, ln_floor: f64) -> AnalysisCandidate<'a> {
    let tolerance = if m > 100_000 || matches!(noise, AddedNoise::Gaussian(_) | AddedNoise::DiscreteGaussian(_)) {
        1e-3
    } else {
        1e-4
    };
    AnalysisCandidate::new(Analysis::WorstCaseCount, ln_floor, move |epsilon| {
        Ok(worst_count(m, lambda, noise, epsilon, shift, tolerance)?.delta)
    })
}

/// Against somebody who knows all others, the noise is all there is.
fn noise_alone<'a>(noise: AddedNoise, shift: u32) -> AnalysisCandidate<'a> {
    AnalysisCandidate::new(Analysis::NoiseAlone, f64::NEG_INFINITY, move |epsilon| {
        // From below this says nothing about an attacker who knows less.
        Ok(Bound::at_most(directions_with_noise(&Window::point(0), noise, epsilon, shift).delta().upper))
    })
}

fn beliefs<'a>(
    scenario: &Scenario,
    groups: &'a [BeliefGroup],
    listed: BeliefCoverage,
) -> Result<Vec<AnalysisCandidate<'a>>> {
    let noise = scenario.noise;
    let target = u64::from(listed == BeliefCoverage::All);
    let records = total(groups)?;
    let taken = scenario.known() + target;
    if taken > records {
        refuse!("attacker.known_records is {}, more than the others that uncertainty.values lists", scenario.known());
    }
    if scenario.known() == 0 {
        let ln_floor = if noise == AddedNoise::None { floor_of(groups, listed) } else { f64::NEG_INFINITY };
        if listed == BeliefCoverage::All {
            let targets = Targets::new(groups)?;
            return Ok(vec![AnalysisCandidate::new(Analysis::ExactCount, ln_floor, move |epsilon| {
                Ok(targets.delta(noise, epsilon, 1))
            })]);
        }
        let law = poisson_binomial(groups)?;
        let exact = move |epsilon: Epsilon| {
            let delta = directions_with_noise(&law, noise, epsilon, 1).delta();
            let closed = closed::chernoff(groups, 0, epsilon, 1);
            Ok(delta.and(Bound::at_most(closed.0.max(closed.1))))
        };
        return Ok(vec![AnalysisCandidate::new(Analysis::ExactCount, ln_floor, exact)]);
    }
    // Which records are known is open: the exact δ is not monotone in the beliefs, so only bounds that are.
    let variance = closed::variance_without(groups, taken);
    let lambdas: Vec<(Lambda, u64)> = groups
        .iter()
        .filter_map(|group| {
            let p = group.probability.get();
            Lambda::new(p.min(1.0 - p)).ok().map(|lambda| (lambda, group.how_many))
        })
        .collect();
    let certain = records - lambdas.iter().map(|(_, how_many)| how_many).sum::<u64>();
    let mut candidates = vec![
        AnalysisCandidate::new(Analysis::ChernoffBound, f64::NEG_INFINITY, move |epsilon| {
            let (one_way, other_way) = closed::chernoff(groups, taken, epsilon, 1);
            Ok(Bound::at_most(one_way.max(other_way)))
        }),
        AnalysisCandidate::new(Analysis::VarianceBound, f64::NEG_INFINITY, move |epsilon| {
            Ok(Bound::at_most(closed::variance(variance, epsilon, 1)))
        }),
    ];
    if records - certain >= taken {
        candidates.push(AnalysisCandidate::new(Analysis::Blanket, f64::NEG_INFINITY, move |epsilon| {
            Ok(Bound::at_most(blanket_of_each(&lambdas, taken, epsilon)?.upper))
        }));
    }
    Ok(candidates)
}

/// ln of the smallest δ for the worst target of a list.
fn floor_of(groups: &[BeliefGroup], listed: BeliefCoverage) -> f64 {
    if listed == BeliefCoverage::Others {
        return closed::ln_smallest_delta_of(groups);
    }
    // Without the target with the smallest p, Πp is largest; without the one with the largest, Π(1−p) is.
    let without = |target: usize| {
        let mut rest = groups.to_vec();
        rest[target].how_many -= 1;
        closed::ln_smallest_delta_of(&rest)
    };
    let present = || groups.iter().enumerate().filter(|(_, group)| group.how_many > 0);
    let by_probability =
        |a: &(usize, &BeliefGroup), b: &(usize, &BeliefGroup)| a.1.probability.get().total_cmp(&b.1.probability.get());
    let ends = [present().min_by(by_probability), present().max_by(by_probability)];
    ends.iter().flatten().map(|(target, _)| without(*target)).fold(f64::NEG_INFINITY, f64::max)
}

/// The blanket between the two rarest categories, both ways.
fn categories<'a>(scenario: &Scenario, minima: &[f64]) -> Result<AllowedAnalyses<'a>> {
    if scenario.in_blocks() {
        return lacks(
            "population.block_max_size must be 1 for histograms and category_min: blocks are analysed for counts with lambda",
        );
    }
    let m = unknown(scenario)?;
    if let Some(category) = minima.iter().position(|&minimum| minimum == 0.0) {
        return Ok(AllowedAnalyses::None(format!(
            "category {category} has a minimum of 0: an attacker may be sure that nobody else is in it, and a record there shows"
        )));
    }
    let sum: f64 = minima.iter().sum();
    if minima.iter().any(|&minimum| !(0.0..=1.0).contains(&minimum)) || sum > 1.0 + 1e-9 {
        refuse!("uncertainty.category_min must be probabilities whose sum is at most 1, but they sum to {sum}");
    }
    let mut sorted = minima.to_vec();
    sorted.sort_by(f64::total_cmp);
    let &[rarest, next, ..] = sorted.as_slice() else {
        refuse!("uncertainty.category_min must list at least two categories")
    };
    let noiseless = scenario.noise == AddedNoise::None && !patterns(scenario);
    let ln_floor =
        if noiseless { closed::ln_smallest_delta(m, Lambda::new(rarest.min(0.5))?) } else { f64::NEG_INFINITY };
    // Attained by three and more categories, when all cells are published.
    let exact =
        noiseless && minima.len() > 2 && matches!(scenario.release.published, PublishedStatistic::Histogram { .. });
    let mut candidates = vec![AnalysisCandidate::new(Analysis::Blanket, ln_floor, move |epsilon| {
        let (one_way, other_way) = blanket_pair(m, rarest, next, epsilon)?;
        let delta = one_way.max(other_way);
        Ok(if exact { delta } else { Bound::at_most(delta.upper) })
    })];
    if let Some(pure) = scenario.noise.pure_epsilon(moved(scenario)) {
        candidates.push(pure_noise(pure));
    }
    Ok(AllowedAnalyses::Analyses(candidates))
}

fn pure_noise<'a>(pure: f64) -> AnalysisCandidate<'a> {
    AnalysisCandidate::new(Analysis::NoiseAlone, f64::NEG_INFINITY, move |epsilon| {
        Ok(if epsilon.get() >= pure { Bound::exactly(0.0) } else { Bound::at_most(1.0) })
    })
}

fn histogram(scenario: &Scenario, categories_declared: Option<u64>) -> Result<AllowedAnalyses<'_>> {
    match &scenario.uncertainty {
        Uncertainty::Lambda(lambda) => {
            let fitting = if lambda.get() <= 1.0 / 3.0 { 3 } else { 2 };
            let declared = categories_declared.unwrap_or(fitting);
            if lambda.get() * declared as f64 > 1.0 + 1e-12 {
                refuse!(
                    "uncertainty.lambda is {}, but {declared} categories cannot each have more than 1/{declared}",
                    lambda.get()
                );
            }
            if categories_declared == Some(2) && scenario.noise == AddedNoise::None {
                return count(scenario);
            }
            categories(scenario, &vec![lambda.get(); declared.clamp(2, 3) as usize])
        }
        Uncertainty::CategoryMinima(minima) => categories(scenario, minima),
        _ => lacks(
            "uncertainty.lambda or category_min is missing: a histogram needs a lower bound for every category of every unknown record",
        ),
    }
}

fn anonymity(scenario: &Scenario, k: u64, hidden_bottom: Option<bool>) -> Result<AllowedAnalyses<'_>> {
    if scenario.in_blocks() {
        return lacks(
            "population.block_max_size must be 1 for k_anonymity: blocks are analysed for counts with lambda",
        );
    }
    // What an active attacker knows may all be in the target's category.
    let influenced = if scenario.active() { scenario.known() } else { 0 };
    let describe = |lambda: Lambda, rare: Probability| -> Result<Anonymity> {
        let records = scenario.population.records;
        let records =
            records.ok_or_else(|| Error::refused("population.n_total must say how many records there are"))?;
        Ok(Anonymity { records, unknown_others: unknown(scenario)?, lambda, rare, k, influenced })
    };
    match &scenario.uncertainty {
        Uncertainty::RareCommon { .. } if hidden_bottom != Some(true) => lacks(
            "release.hidden_bottom must be true: without an uncertain category that is never released, the total gives a \
             suppressed cell away",
        ),
        Uncertainty::RareCommon { lambda, rare } => {
            let described = describe(*lambda, *rare)?;
            let ln_floor = closed::ln_smallest_delta(described.unknown_others, *lambda);
            Ok(AllowedAnalyses::Analyses(vec![AnalysisCandidate::new(
                Analysis::KAnonymity,
                ln_floor,
                move |epsilon| {
                    // e^ε·δ_r grows in ε, but a claim at a smaller ε is one at this ε as well.
                    let mut best = k_anonymity(&described, epsilon)?;
                    for part in 1..=16 {
                        let smaller = Epsilon::new(epsilon.get() * f64::from(part) / 17.0)?;
                        best = best.or(k_anonymity(&described, smaller)?);
                    }
                    Ok(best)
                },
            )]))
        }
        Uncertainty::AtMost(rare) => {
            let delta = 2.0 * rare_delta(&describe(Lambda::new(0.5)?, *rare)?).upper;
            Ok(AllowedAnalyses::Analyses(vec![AnalysisCandidate::new(
                Analysis::ThresholdCoupling,
                f64::NEG_INFINITY,
                move |_| Ok(Bound::at_most(delta)),
            )]))
        }
        Uncertainty::Lambda(lambda) => {
            let (m, lambda) = (unknown(scenario)?, *lambda);
            Ok(AllowedAnalyses::Analyses(vec![AnalysisCandidate::new(
                Analysis::Blanket,
                f64::NEG_INFINITY,
                move |epsilon| Ok(Bound::at_most(blanket(m, lambda, epsilon)?.upper)),
            )]))
        }
        Uncertainty::CategoryMinima(minima) => categories(scenario, minima),
        Uncertainty::Beliefs { .. } | Uncertainty::TotalVariance(_) => {
            lacks("uncertainty.kind must be \"rare_common\", \"lambda\", \"category_min\" or \"p_max\" for k_anonymity")
        }
    }
}
