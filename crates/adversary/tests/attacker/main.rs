//! Attackers with partial knowledge: golden vectors, brute force over all databases, properties, and the paper's traps.

mod enumeration;
mod properties;
mod traps;
mod vectors;

use scumble::quantity::{Delta, Epsilon, Probability};
use scumble_adversary::attacker::{
    AddedNoise, BeliefCoverage, BeliefGroup, Bound, GuaranteeQuery, Knowledge, KnownRecords, Lambda, Population,
    PublishedStatistic, Release, Scenario, Uncertainty,
};

fn eps(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

fn delta_of(value: f64) -> Delta {
    Delta::new(value).unwrap()
}

fn lambda(value: f64) -> Lambda {
    Lambda::new(value).unwrap()
}

fn probability(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

fn singles(probabilities: &[f64]) -> Vec<BeliefGroup> {
    probabilities.iter().map(|&p| BeliefGroup::new(p, 1).unwrap()).collect()
}

/// The truth lies in the bound, and the bound is tight to a factor 1 ± `slack`.
fn holds(what: &str, bound: Bound, truth: f64, slack: f64) {
    // A window drops about 1e-42, which is what is left where the truth is 0.
    let rounding = 1e-12 * truth + 1e-40;
    assert!(bound.lower <= truth + rounding, "{what}: lower {} above {truth}", bound.lower);
    assert!(bound.upper >= truth - rounding, "{what}: upper {} below {truth}", bound.upper);
    assert!(bound.upper <= truth * (1.0 + slack) + 1e-40, "{what}: upper {} loose against {truth}", bound.upper);
    assert!(bound.lower >= truth * (1.0 - slack) - 1e-40, "{what}: lower {} loose against {truth}", bound.lower);
}

/// A count of `records` under a λ-box, at ε; the tests change what they are about.
fn scenario(records: u64, box_lambda: f64, epsilon: f64) -> Scenario {
    Scenario {
        population: Population { records: Some(records), block_size: 1, blocks: None },
        knowledge: Knowledge { known: 0, which: KnownRecords::Any, influenced: 0, active: true },
        uncertainty: Uncertainty::Lambda(lambda(box_lambda)),
        independent: true,
        conditional_on_block: false,
        release: Release { published: PublishedStatistic::Count, on_same_units: 1, observed: None },
        noise: AddedNoise::None,
        query: GuaranteeQuery::Epsilon(Epsilon::new(epsilon).unwrap()),
    }
}

fn asking_delta(delta: f64) -> GuaranteeQuery {
    GuaranteeQuery::Delta(Delta::new(delta).unwrap())
}

fn beliefs(groups: &[(f64, u64)], listed: BeliefCoverage) -> Uncertainty {
    let groups = groups.iter().map(|&(p, how_many)| BeliefGroup::new(p, how_many).unwrap()).collect();
    Uncertainty::Beliefs { groups, listed }
}
