//! The analyses of a count that is published if it is above a threshold.

use super::super::analysis::Analysis;
use super::super::bound::Bound;
use super::super::poisson_binomial::{BeliefGroup, poisson_binomial};
use super::super::scenario::{BeliefCoverage, Scenario, Uncertainty};
use super::super::threshold::{
    coupling, thresholded, thresholded_of_all, thresholded_passive, unified, unified_passive,
};
use super::super::window::Window;
use super::{AllowedAnalyses, AnalysisCandidate, count, lacks, unknown};
use scumble::error::Result;
use scumble::quantity::{Epsilon, Probability};

pub(super) fn threshold_count(scenario: &Scenario, threshold: u64) -> Result<AllowedAnalyses<'_>> {
    if scenario.units().is_some() && scenario.population.records.is_some_and(|records| threshold >= records) {
        let suppressed =
            AnalysisCandidate::new(Analysis::AlwaysSuppressed, f64::NEG_INFINITY, |_| Ok(Bound::exactly(0.0)));
        return Ok(AllowedAnalyses::Analyses(vec![suppressed]));
    }
    let (known, active) = (scenario.known(), scenario.active());
    // What an active attacker knows may all be ones.
    let lowered = threshold as i64 - if active { known as i64 } else { 0 };
    let mut candidates = Vec::new();
    let largest = match &scenario.uncertainty {
        Uncertainty::AtMost(p_max) => Some(*p_max),
        Uncertainty::Lambda(lambda) => Some(Probability::new(1.0 - lambda.get())?),
        Uncertainty::Beliefs { groups, .. } => groups
            .iter()
            .filter(|group| group.how_many > 0)
            .map(|group| group.probability)
            .max_by(|a, b| a.get().total_cmp(&b.get())),
        _ => None,
    };
    if scenario.in_blocks() {
        // Only what holds for the count itself; this is a function of it.
        return plain_count(scenario);
    }
    match &scenario.uncertainty {
        Uncertainty::AtMost(p_max) => {
            if let (false, Some(records)) = (active, scenario.population.records) {
                let law =
                    poisson_binomial(&[BeliefGroup { probability: *p_max, how_many: records.saturating_sub(1) }])?;
                candidates.push(coupled(law, threshold));
            }
        }
        Uncertainty::Beliefs { groups, listed } => {
            threshold_beliefs(scenario, groups, *listed, threshold, &mut candidates)?
        }
        Uncertainty::RareCommon { .. } => {
            return lacks(
                "uncertainty.kind \"rare_common\" is for k_anonymity; a thresholded count needs p_max, probs or lambda",
            );
        }
        Uncertainty::Lambda(_) | Uncertainty::TotalVariance(_) | Uncertainty::CategoryMinima(_) => {}
    }
    if let Some(p_max) = largest {
        let others = if scenario.population.records.is_some() { Some(unknown(scenario)?) } else { None };
        candidates.push(AnalysisCandidate::new(Analysis::ThresholdUnified, f64::NEG_INFINITY, move |epsilon| {
            let attained = matches!(scenario.uncertainty, Uncertainty::AtMost(_)) && (active || known == 0);
            let delta = if active {
                unified(p_max, lowered, epsilon, others)?
            } else {
                unified_passive(p_max, lowered, epsilon, known, others)?
            };
            Ok(if attained { delta } else { Bound::at_most(delta.upper) })
        }));
    }
    if let AllowedAnalyses::Analyses(plain) = plain_count(scenario)? {
        candidates.extend(plain);
    }
    Ok(AllowedAnalyses::Analyses(candidates))
}

/// The analyses of the count without a threshold, which hold for whatever is computed from it. They say nothing from
/// below.
fn plain_count(scenario: &Scenario) -> Result<AllowedAnalyses<'_>> {
    if matches!(scenario.uncertainty, Uncertainty::Beliefs { .. } | Uncertainty::AtMost(_)) && !scenario.in_blocks() {
        return Ok(AllowedAnalyses::Analyses(Vec::new()));
    }
    let allowed = count(scenario)?;
    let AllowedAnalyses::Analyses(plain) = allowed else { return Ok(allowed) };
    let weakened = plain.into_iter().map(|candidate| {
        let delta = candidate.delta;
        AnalysisCandidate::new(candidate.method, f64::NEG_INFINITY, move |epsilon| {
            Ok(Bound::at_most(delta(epsilon)?.upper))
        })
    });
    Ok(AllowedAnalyses::Analyses(weakened.collect()))
}

fn coupled<'a>(all_others: Window, threshold: u64) -> AnalysisCandidate<'a> {
    AnalysisCandidate::new(Analysis::ThresholdCoupling, f64::NEG_INFINITY, move |_| {
        Ok(coupling(&all_others, threshold as i64))
    })
}

fn threshold_beliefs<'a>(
    scenario: &Scenario,
    groups: &'a [BeliefGroup],
    listed: BeliefCoverage,
    threshold: u64,
    candidates: &mut Vec<AnalysisCandidate<'a>>,
) -> Result<()> {
    let (known, records) = (scenario.known(), scenario.population.records.unwrap_or(0));
    let threshold_signed = threshold as i64;
    if known == 0 {
        if listed == BeliefCoverage::All {
            if thresholded_of_all(groups, threshold_signed, Epsilon::new(0.0)?).is_ok() {
                candidates.push(AnalysisCandidate::new(Analysis::ThresholdExact, f64::NEG_INFINITY, move |epsilon| {
                    thresholded_of_all(groups, threshold_signed, epsilon)
                }));
            }
        } else {
            let law = poisson_binomial(groups)?;
            candidates.push(AnalysisCandidate::new(Analysis::ThresholdExact, f64::NEG_INFINITY, move |epsilon| {
                Ok(thresholded(&law, threshold_signed, epsilon).delta())
            }));
        }
    }
    let present: Vec<&BeliefGroup> = groups.iter().filter(|group| group.how_many > 0).collect();
    if let ([only], true) = (present.as_slice(), known > 0) {
        let p = only.probability;
        if scenario.active() {
            let law = poisson_binomial(&[BeliefGroup { probability: p, how_many: records.saturating_sub(known + 1) }])?;
            let lowered = threshold_signed - known as i64;
            candidates.push(AnalysisCandidate::new(Analysis::ThresholdExact, f64::NEG_INFINITY, move |epsilon| {
                Ok(thresholded(&law, lowered, epsilon).delta())
            }));
        } else if known < records {
            candidates.push(AnalysisCandidate::new(Analysis::ThresholdPassive, f64::NEG_INFINITY, move |epsilon| {
                Ok(thresholded_passive(records, p, threshold_signed, known, epsilon)?.delta())
            }));
        }
    }
    if !scenario.active() {
        // With the target still in the list the tail is only larger.
        candidates.push(coupled(poisson_binomial(groups)?, threshold));
    }
    Ok(())
}
