//! Randomized response: the claim against the exact distribution, and the sampler against both.

use super::*;
use crate::harness::{Claim, Distribution, ProbabilityInterval, Slack, check};
use crate::noise::InsecureSeededSource;
use crate::scope::{AttributeSet, Scope};

/// What changes the truth.
fn answer() -> AttributeSet {
    AttributeSet::new(["answer"]).unwrap()
}

fn exact(mechanism: &RandomizedResponse, truth: u64) -> Distribution<u64> {
    let chance = |answer: u64| if answer == truth { mechanism.keep() } else { mechanism.flip() };
    Distribution::new(
        (0..mechanism.values).map(|answer| (answer, ProbabilityInterval::near(chance(answer), 1e-13))),
        0.0,
    )
}

#[test]
fn the_claim_is_the_truth_for_every_change_of_value() {
    for (epsilon, values) in [(0.1, 2), (1.0, 2), (1.0, 3), (2.5, 7)] {
        let mechanism = RandomizedResponse::new(Epsilon::new(epsilon).unwrap(), values).unwrap();
        let pairs: Vec<(u64, u64)> = (0..values).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
        let asked = [0.0, epsilon / 2.0];
        let claim = Claim::of(&mechanism.events(&answer()).unwrap(), &Scope::Attributes(answer()), &asked);
        assert!((claim.pure.unwrap() - epsilon).abs() < 1e-9);
        check(&pairs, |truth| exact(&mechanism, *truth), &claim, Slack { pure: 1e-6, delta: 1e-3, renyi: 1e-3 });
    }
}

#[test]
fn several_answers_compose_as_claimed() {
    let mechanism = RandomizedResponse::new(Epsilon::new(0.7).unwrap(), 3).unwrap();
    let three =
        |truth: &u64| exact(&mechanism, *truth).product(&exact(&mechanism, *truth)).product(&exact(&mechanism, *truth));
    let event = mechanism.events(&answer()).unwrap().pop().unwrap().repeated(3).unwrap();
    let claim = Claim::of(&[event], &Scope::Attributes(answer()), &[0.2, 0.8, 1.5]);
    check(&[(0u64, 1u64), (1, 2)], three, &claim, Slack { pure: 1e-6, delta: 1e-2, renyi: 1e-2 });
}

/// False alarm: each count is binomial, so by Hoeffding it is off by more than √(n·ln(2/β)/2) with probability at most
/// β; β is 1e-11 for each of the 14 counts.
#[test]
fn the_sampler_draws_the_stated_distribution() {
    let draws = 1_000_000u64;
    let allowed = (draws as f64 * (2.0f64 / 1e-11).ln() / 2.0).sqrt();
    for (epsilon, values, truth) in [(0.5, 2, 1), (1.0, 5, 3), (4.0, 7, 0)] {
        let mechanism = RandomizedResponse::new(Epsilon::new(epsilon).unwrap(), values).unwrap();
        let mut bits = InsecureSeededSource::new(11);
        let mut counts = vec![0u64; values as usize];
        for _ in 0..draws {
            counts[mechanism.release(truth, &mut bits).unwrap() as usize] += 1;
        }
        for (answer, &count) in counts.iter().enumerate() {
            let chance = if answer as u64 == truth { mechanism.keep() } else { mechanism.flip() };
            let expected = chance * draws as f64;
            assert!((count as f64 - expected).abs() <= allowed, "{epsilon} {answer}: {count} against {expected}");
        }
    }
}

/// Both ways of drawing give the same distribution. False alarm as above, with β = 1e-11 for each of the 8 counts.
#[test]
fn choosing_once_draws_the_stated_distribution_too() {
    let draws = 100_000u64;
    let allowed = (draws as f64 * (2.0f64 / 1e-11).ln() / 2.0).sqrt();
    let mechanism = RandomizedResponse::new(Epsilon::new(1.5).unwrap(), 4).unwrap();
    for truth in [0, 2] {
        let mut bits = InsecureSeededSource::new(12);
        let mut counts = [0u64; 4];
        for _ in 0..draws {
            counts[mechanism.choose_once(truth, &mut bits) as usize] += 1;
        }
        for (answer, &count) in counts.iter().enumerate() {
            let chance = if answer as u64 == truth { mechanism.keep() } else { mechanism.flip() };
            assert!((count as f64 - chance * draws as f64).abs() <= allowed, "{answer}: {count}");
        }
    }
}

#[test]
fn huge_domains_and_epsilons_are_answered() {
    let mut bits = InsecureSeededSource::new(13);
    for (epsilon, values) in [(700.0, u64::MAX), (1e-9, u64::MAX), (10.0, 1 << 40), (700.0, 2), (0.0, 3)] {
        let mechanism = RandomizedResponse::new(Epsilon::new(epsilon).unwrap(), values).unwrap();
        let answer = mechanism.release(1, &mut bits).unwrap();
        assert!(answer < values);
        if epsilon == 700.0 {
            assert_eq!(answer, 1, "another answer has probability below 1e-280");
        }
    }
}

#[test]
fn the_estimate_of_expected_counts_is_the_truth() {
    let mechanism = RandomizedResponse::new(Epsilon::new(1.2).unwrap(), 3).unwrap();
    let holders = [6000.0, 3000.0, 1000.0];
    let expected = |value: usize| {
        let other: f64 = 10_000.0 - holders[value];
        holders[value] * mechanism.keep() + other * mechanism.flip()
    };
    let counts: Vec<u64> = (0..3).map(|value| expected(value).round() as u64).collect();
    for (estimate, truth) in mechanism.estimate(&counts).iter().zip(holders) {
        assert!((estimate.count - truth).abs() < 3.0, "{} against {truth}", estimate.count);
    }
}

#[test]
fn wrong_parameters_and_answers_are_refused_without_repeating_them() {
    let epsilon = Epsilon::new(1.0).unwrap();
    let sentence = "randomized response needs at least 2 answers to choose from, not 1";
    assert_eq!(RandomizedResponse::new(epsilon, 1).unwrap_err().to_string(), sentence);
    let mechanism = RandomizedResponse::new(epsilon, 3).unwrap();
    let refused = mechanism.release(777, &mut InsecureSeededSource::new(1)).unwrap_err();
    assert_eq!(refused.to_string(), "an answer must be a number from 0 to 2");
}
