//! From a question to a verdict: which analyses are allowed, which is best, and what happens when assumptions fail.

use super::allowed::{AllowedAnalyses, AnalysisCandidate, allowed, moved};
use super::analysis::Analysis;
use super::bound::Bound;
use super::lambda::Lambda;
use super::poisson_binomial::total;
use super::scenario::{BeliefCoverage, GuaranteeQuery, KnownRecords, PublishedStatistic, Scenario, Uncertainty};
use super::solve::{EpsilonBounds, epsilon_for};
use scumble::error::Result;
use scumble::quantity::{Delta, Epsilon, Probability};

/// The answer to a [`Scenario`].
// Exhaustive on purpose: a match in another crate must decide about every variant, so a new one may not pass unseen.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// This holds, under the assumptions of the scenario.
    Guarantee(Guarantee),
    /// The scenario is analysed, and it gives no guarantee: why.
    None {
        /// One sentence.
        reason: String,
    },
    /// The scenario lacks what an analysis requires: what, each in one sentence.
    Refused {
        /// What is missing.
        missing: Vec<String>,
    },
}

/// An (ε, δ) against an attacker with partial knowledge.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Guarantee {
    /// Active or passive.
    pub notion: Notion,
    /// ε.
    pub epsilon: f64,
    /// No smaller ε than this can hold for this δ in the worst case (0 if that is not known).
    pub epsilon_lower: f64,
    /// δ.
    pub delta: f64,
    /// In the worst case δ at this ε is at least this (0 if that is not known).
    pub delta_lower: f64,
    /// By which analysis.
    pub method: Analysis,
    /// What the added noise alone gives against everybody: differential privacy without any of the assumptions.
    pub noise_epsilon: Option<f64>,
    /// What is left when assumptions fail.
    pub degradation: Vec<Degradation>,
}

named! {
    /// Which notion of partial knowledge.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Notion {
        /// APKDP: for every value of what the attacker knows or chose.
        Active = "APKDP",
        /// PPKDP: on average over what the attacker happens to know.
        Passive = "PPKDP",
    }
}

/// How an assumption could fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AssumptionChange {
    /// The attacker knows this percentage of the records that were assumed unknown.
    Known(u32),
    /// The uncertainty of each unknown record is this many times smaller.
    LessUncertain(u32),
    /// The attacker knows all others.
    EverythingKnown,
}

/// What holds when an assumption fails; `None` where nothing does.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Degradation {
    /// What failed.
    pub change: AssumptionChange,
    /// ε and δ then.
    pub claim: Option<(f64, f64)>,
}

/// Answers a question about an attacker with partial knowledge.
///
/// # Guarantee
/// A verdict of [`Verdict::Guarantee`] is a proven upper bound under the declared assumptions, rounding included. Where
/// an assumption that every fitting analysis needs is missing the verdict is [`Verdict::Refused`]; no weaker formula is
/// put in its place. An `Err` is a scenario that contradicts itself.
///
/// ```
/// use scumble_adversary::attacker::*;
/// use scumble::quantity::Epsilon;
/// let scenario = Scenario {
///     population: Population { records: Some(100), block_size: 1, blocks: None },
///     knowledge: Knowledge { known: 0, which: KnownRecords::Any, influenced: 0, active: true },
///     uncertainty: Uncertainty::Lambda(Lambda::new(0.05)?),
///     independent: true,
///     conditional_on_block: false,
///     release: Release { published: PublishedStatistic::Count, on_same_units: 1, observed: None },
///     noise: AddedNoise::None,
///     query: GuaranteeQuery::Epsilon(Epsilon::new(1.0)?),
/// };
/// let Verdict::Guarantee(guarantee) = assess(&scenario)? else { panic!("no guarantee") };
/// assert_eq!(guarantee.method.name(), "worst-case-count");
/// assert!((guarantee.delta - 0.0224945).abs() < 1e-6);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn assess(scenario: &Scenario) -> Result<Verdict> {
    let scenario = folded(scenario)?;
    let verdict = answer(&scenario)?;
    let Verdict::Guarantee(mut guarantee) = verdict else { return Ok(verdict) };
    for (change, changed) in degraded(&scenario) {
        let claim = match answer(&changed)? {
            Verdict::Guarantee(left) => Some((left.epsilon, left.delta)),
            Verdict::None { .. } | Verdict::Refused { .. } => None,
        };
        guarantee.degradation.push(Degradation { change, claim });
    }
    Ok(Verdict::Guarantee(guarantee))
}

/// Known records that a list of beliefs leaves out anyway are folded away: they only shift a count, and at worst they
/// are ones that lower a threshold.
fn folded(scenario: &Scenario) -> Result<Scenario> {
    let mut folded = scenario.clone();
    folded.knowledge.known = scenario.known();
    folded.knowledge.active = scenario.active();
    let Uncertainty::Beliefs { groups, listed } = &scenario.uncertainty else { return Ok(folded) };
    let listed_records = total(groups)? + u64::from(*listed == BeliefCoverage::Others);
    if scenario.knowledge.which == KnownRecords::Listed {
        if let PublishedStatistic::Threshold { threshold } = scenario.release.published {
            // All of them may be ones; if they pass the threshold by themselves the count is released as it is.
            folded.release.published = match threshold.checked_sub(scenario.known()) {
                Some(threshold) => PublishedStatistic::Threshold { threshold },
                None => PublishedStatistic::Count,
            };
        }
        folded.knowledge.known = 0;
    }
    folded.population.records = Some(listed_records);
    Ok(folded)
}

fn answer(scenario: &Scenario) -> Result<Verdict> {
    let candidates = match allowed(scenario)? {
        AllowedAnalyses::Refused(missing) => return Ok(Verdict::Refused { missing }),
        AllowedAnalyses::None(reason) => return Ok(Verdict::None { reason }),
        AllowedAnalyses::Analyses(candidates) => candidates,
    };
    match scenario.query {
        GuaranteeQuery::Epsilon(epsilon) => delta_at(scenario, &candidates, epsilon),
        GuaranteeQuery::Delta(delta) => epsilon_at(scenario, &candidates, delta),
    }
}

fn delta_at(scenario: &Scenario, candidates: &[AnalysisCandidate], at: Epsilon) -> Result<Verdict> {
    let epsilon = at.get();
    let mut best: Option<(Analysis, Bound)> = None;
    for candidate in candidates {
        let bound = (candidate.delta)(at)?;
        let (method, both) = match best {
            None => (candidate.method, bound),
            Some((method, before)) => {
                (if clearly_below(bound.upper, before.upper) { candidate.method } else { method }, before.and(bound))
            }
        };
        best = Some((method, both));
    }
    match best {
        Some((method, delta)) if delta.upper < 1.0 => {
            Ok(Verdict::Guarantee(guarantee(scenario, method, (epsilon, 0.0), delta)))
        }
        _ => Ok(Verdict::None {
            reason: format!("at epsilon {epsilon} nothing better than delta = 1 holds, which says nothing"),
        }),
    }
}

/// Two analyses that agree up to rounding: the first one in the list is named.
fn clearly_below(one: f64, other: f64) -> bool {
    one < other * (1.0 - 1e-6)
}

fn epsilon_at(scenario: &Scenario, candidates: &[AnalysisCandidate], at: Delta) -> Result<Verdict> {
    let delta = at.get();
    if delta >= 1.0 {
        return Ok(Verdict::None { reason: "delta = 1 holds for every release and says nothing".to_string() });
    }
    // Infeasibility first: no search for what cannot exist.
    let floor = candidates.iter().map(|candidate| candidate.ln_floor).fold(f64::INFINITY, f64::min);
    let mut best: Option<(Analysis, EpsilonBounds)> = None;
    for candidate in candidates {
        if delta.ln() < candidate.ln_floor - 1e-12 * candidate.ln_floor.abs() {
            continue;
        }
        if let Some(found) = epsilon_for(at, 1e-7, &candidate.delta)?
            && best.as_ref().is_none_or(|(_, before)| clearly_below(found.upper, before.upper))
        {
            best = Some((candidate.method, found));
        }
    }
    if let Some((method, found)) = best {
        let delta = Bound { lower: found.delta.lower, upper: delta };
        return Ok(Verdict::Guarantee(guarantee(scenario, method, (found.upper, found.lower), delta)));
    }
    let reason = if delta.ln() < floor {
        format!(
            "no epsilon exists for delta {delta}: whatever epsilon is, delta stays above {:.3e} in this scenario",
            floor.exp()
        )
    } else {
        format!("no epsilon below 700 could be certified for delta {delta}")
    };
    Ok(Verdict::None { reason })
}

fn guarantee(scenario: &Scenario, method: Analysis, epsilon: (f64, f64), delta: Bound) -> Guarantee {
    Guarantee {
        notion: if scenario.active() { Notion::Active } else { Notion::Passive },
        epsilon: epsilon.0,
        epsilon_lower: epsilon.1,
        delta: delta.upper,
        delta_lower: delta.lower,
        method,
        noise_epsilon: scenario.noise.pure_epsilon(moved(scenario)),
        degradation: Vec::new(),
    }
}

/// The same scenario with one assumption failing.
fn degraded(scenario: &Scenario) -> Vec<(AssumptionChange, Scenario)> {
    let mut changed = Vec::new();
    for percent in [50, 90, 99, 100] {
        let change = if percent == 100 { AssumptionChange::EverythingKnown } else { AssumptionChange::Known(percent) };
        if let Some(scenario) = more_known(scenario, u64::from(percent)) {
            changed.push((change, scenario));
        }
    }
    for divisor in [2, 5] {
        if let Some(scenario) = less_uncertain(scenario, f64::from(divisor)) {
            changed.push((AssumptionChange::LessUncertain(divisor), scenario));
        }
    }
    changed
}

fn more_known(scenario: &Scenario, percent: u64) -> Option<Scenario> {
    let mut changed = scenario.clone();
    if let Uncertainty::TotalVariance(variance) = &mut changed.uncertainty {
        *variance *= (100 - percent) as f64 / 100.0;
        return Some(changed);
    }
    let unknown = scenario.unknown_others()?;
    changed.knowledge.known = scenario.known() + (unknown - unknown * (100 - percent) / 100);
    Some(changed)
}

fn less_uncertain(scenario: &Scenario, divisor: f64) -> Option<Scenario> {
    let mut changed = scenario.clone();
    let smaller = |lambda: &mut Lambda| {
        *lambda = Lambda::new(lambda.get() / divisor).ok()?;
        Some(())
    };
    match &mut changed.uncertainty {
        Uncertainty::Lambda(lambda) | Uncertainty::RareCommon { lambda, .. } => smaller(lambda)?,
        Uncertainty::CategoryMinima(minima) => minima.iter_mut().for_each(|minimum| *minimum /= divisor),
        Uncertainty::Beliefs { groups, .. } => {
            for group in groups {
                let p = group.probability.get();
                let p = if p <= 0.5 { p / divisor } else { 1.0 - (1.0 - p) / divisor };
                group.probability = Probability::new(p).ok()?;
            }
        }
        Uncertainty::AtMost(_) | Uncertainty::TotalVariance(_) => return None,
    }
    Some(changed)
}
