//! Exact output distributions against every neighbour, and the samplers against them.

use super::*;
use crate::harness::{Claim, Distribution, ProbabilityInterval, Slack, check};
use crate::mechanism::additive::Noise;
use crate::noise::InsecureSeededSource;
use crate::quantity::Sigma;

/// All score vectors of three candidates in 0..=most, each paired with all vectors that differ as the change says.
fn pairs(change: ScoreChange, most: i64) -> Vec<(Vec<i64>, Vec<i64>)> {
    let vectors: Vec<Vec<i64>> =
        (0..=most).flat_map(|a| (0..=most).flat_map(move |b| (0..=most).map(move |c| vec![a, b, c]))).collect();
    let allowed = |left: &Vec<i64>, right: &Vec<i64>| {
        left.iter().zip(right).all(|(a, b)| match change {
            ScoreChange::General => (a - b).abs() <= 1,
            ScoreChange::Monotone => (0..=1).contains(&(b - a)),
        })
    };
    let mut pairs = Vec::new();
    for left in &vectors {
        pairs.extend(vectors.iter().filter(|right| allowed(left, right)).map(|right| (left.clone(), right.clone())));
    }
    pairs
}

fn exponential_distribution(scores: &[i64], rate: f64) -> Distribution<usize> {
    let total: f64 = scores.iter().map(|score| (rate * *score as f64).exp()).sum();
    let outcome =
        |(j, score): (usize, &i64)| (j, ProbabilityInterval::near((rate * *score as f64).exp() / total, 1e-12));
    Distribution::new(scores.iter().enumerate().map(outcome), 0.0)
}

/// Over all orders of three candidates.
fn flip_distribution(scores: &[i64], rate: f64) -> Distribution<usize> {
    let best = *scores.iter().max().unwrap();
    let heads = |j: usize| (-rate * (best - scores[j]) as f64).exp();
    let mut outcomes = Vec::new();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut reached = 1.0 / 6.0;
        for j in order {
            outcomes.push((j, ProbabilityInterval::near(reached * heads(j), 1e-12)));
            reached *= 1.0 - heads(j);
        }
    }
    Distribution::new(outcomes, 0.0)
}

/// By summing over the winner's noisy score.
fn max_distribution(scores: &[i64], weight: impl Fn(i64) -> f64) -> Distribution<usize> {
    let total: f64 = (-300..=300).map(&weight).sum();
    let mass = |z: i64| weight(z) / total;
    let below = |limit: i64| -> f64 { (-300..limit).map(mass).sum() };
    let cumulative: Vec<f64> = (-300..=301).map(below).collect();
    let below = |limit: i64| cumulative[(limit.clamp(-300, 301) + 300) as usize];
    let chance = |j: usize| -> f64 {
        let at = |z: i64| {
            let noisy = scores[j] + z;
            let others = (0..scores.len()).filter(|i| *i != j);
            // The first of equals wins.
            mass(z) * others.map(|i| below(noisy - scores[i] + i64::from(i > j))).product::<f64>()
        };
        (-300..=300).map(at).sum()
    };
    Distribution::new((0..scores.len()).map(|j| (j, ProbabilityInterval::near(chance(j), 1e-9))), 1e-9)
}

fn obvious_distribution(
    scores: &[i64],
    change: ScoreChange,
    mass: impl Fn(i64) -> f64,
    threshold: i64,
    coin: f64,
) -> Distribution<usize> {
    let mut sorted = scores.to_vec();
    sorted.sort_unstable();
    let lead = sorted[2] - sorted[1];
    let best = scores.iter().position(|score| *score == sorted[2]).unwrap();
    let excess = (lead - i64::from(change.gap_moves())).max(0);
    let wins: f64 = (threshold - excess + 1..200).map(&mass).sum::<f64>() + coin * mass(threshold - excess);
    let chance = |j: usize| if j == best { wins } else { (1.0 - wins) / 2.0 };
    Distribution::new((0..3).map(|j| (j, ProbabilityInterval::near(chance(j), 1e-12))), 0.0)
}

#[test]
fn every_selector_costs_what_its_event_says() {
    let epsilon = 0.9;
    for change in [ScoreChange::General, ScoreChange::Monotone] {
        let gap = f64::from(change.gap_moves());
        let rate = epsilon / gap;
        let pairs = pairs(change, if change == ScoreChange::General { 3 } else { 4 });
        let pure = Claim { pure: Some(epsilon), ..Claim::default() };
        // The exponential mechanism: also its zCDP bound ε²/8, at several orders.
        let orders = [1.5, 2.0, 4.0, 16.0];
        let range = Claim {
            renyi: orders.iter().map(|order| (*order, order * epsilon * epsilon / 8.0)).collect(),
            ..pure.clone()
        };
        check(&pairs, |scores| exponential_distribution(scores, rate), &range, Slack::ANY);
        check(&pairs, |scores| flip_distribution(scores, rate), &pure, Slack::ANY);
        let laplace = |z: i64| (-rate * z.abs() as f64).exp();
        check(&pairs, |scores| max_distribution(scores, laplace), &pure, Slack { pure: 1.0, ..Slack::ANY });
        let geometric = |z: i64| if z < 0 { 0.0 } else { (-rate * z as f64).exp() };
        check(&pairs, |scores| max_distribution(scores, geometric), &pure, Slack { pure: 1.0, ..Slack::ANY });
    }
}

#[test]
fn the_obvious_answer_costs_the_noise_of_one_number() {
    let noise = crate::noise::SinhNormal::new(Sigma::new(1.286).unwrap(), Scale::new(2.7).unwrap()).unwrap();
    let table = noise.table();
    let mass = |z: i64| table.probability(z);
    // k = 3: t and θ from the masses.
    let above = |t: i64| (t + 1..200).map(mass).sum::<f64>();
    let threshold = (0..50).find(|t| above(*t) <= 1.0 / 3.0).unwrap();
    let coin = (1.0 / 3.0 - above(threshold)) / mass(threshold);
    // How the rule was made, how neighbours differ (monotone scores move as in general where an owner is replaced), the
    // move.
    for (change, neighbours, shift) in [
        (ScoreChange::General, ScoreChange::General, 2),
        (ScoreChange::Monotone, ScoreChange::Monotone, 1),
        (ScoreChange::Monotone, ScoreChange::General, 2),
    ] {
        let certificate = noise.certificate(shift).unwrap();
        let claim = Claim {
            pure: Some(certificate.epsilon_upper().get()),
            deltas: [0.5, 1.0, 3.0]
                .iter()
                .map(|e| (*e, certificate.delta_upper(Epsilon::new(*e).unwrap()).get()))
                .collect(),
            renyi: [1.2, 1.4].iter().map(|order| (*order, certificate.renyi_upper(*order).get())).collect(),
        };
        check(
            &pairs(neighbours, 7),
            |scores| obvious_distribution(scores, change, mass, threshold, coin),
            &claim,
            Slack::ANY,
        );
    }
}

#[test]
fn samplers_follow_their_exact_distributions() {
    // χ² over three candidates, false alarm below 1e-9.
    let scores = [4, 6, 5];
    let check_sampler = |selection: &Selection, exact: Distribution<usize>, draws: u32| {
        let mut bits = InsecureSeededSource::new(21);
        let mut seen = [0f64; 3];
        for _ in 0..draws {
            seen[selection.release(&scores, &mut bits).unwrap()] += 1.0;
        }
        let expected = |j: usize| exact.probability(&j).unwrap().lower * f64::from(draws);
        let statistic: f64 = (0..3).map(|j| (seen[j] - expected(j)).powi(2) / expected(j)).sum();
        assert!(statistic < 2.0 + 2.0 * (2.0 * 1e9f64.ln()).sqrt() + 2.0 * 1e9f64.ln(), "{statistic} {seen:?}");
    };
    let epsilon = Epsilon::new(0.9).unwrap();
    let make = |selector| Selection::new(selector, ScoreChange::General).unwrap();
    check_sampler(&make(Selector::Exponential(epsilon)), exponential_distribution(&scores, 0.45), 20_000);
    check_sampler(&make(Selector::PermuteAndFlip(epsilon)), flip_distribution(&scores, 0.45), 20_000);
    let laplace = max_distribution(&scores, |z| (-0.45 * z.abs() as f64).exp());
    check_sampler(&make(Selector::NoisyMax(epsilon, MaxNoise::Laplace)), laplace, 20_000);
    let geometric = max_distribution(&scores, |z| if z < 0 { 0.0 } else { (-0.45 * z as f64).exp() });
    check_sampler(&make(Selector::NoisyMax(epsilon, MaxNoise::Exponential)), geometric, 20_000);
    // No lead beyond 2: uniform.
    let uniform = exponential_distribution(&[0, 0, 0], 1.0);
    for noise in [Noise::gaussian(Sigma::new(2.0).unwrap()), Noise::laplace(Scale::new(2.0).unwrap())] {
        check_sampler(
            &make(Selector::ObviousAnswer(ObviousAnswer::new(noise, ScoreChange::General))),
            uniform.clone(),
            1000,
        );
    }
}

#[test]
fn a_clear_winner_is_found_by_every_selector_within_its_error() {
    let epsilon = Epsilon::new(1.0).unwrap();
    let mut scores = vec![0i64; 5000];
    let noise = Noise::sinh_normal(Sigma::new(2.725).unwrap(), Scale::new(7.35).unwrap()).unwrap();
    for selector in [
        Selector::Exponential(epsilon),
        Selector::PermuteAndFlip(epsilon),
        Selector::NoisyMax(epsilon, MaxNoise::Laplace),
        Selector::NoisyMax(epsilon, MaxNoise::Exponential),
        Selector::ObviousAnswer(ObviousAnswer::new(noise, ScoreChange::General)),
    ] {
        let selection = Selection::new(selector, ScoreChange::General).unwrap();
        scores[1234] = selection.error(Beta::new(1e-9).unwrap(), 5000).unwrap().ceil() as i64 + 1;
        assert_eq!(selection.release(&scores, &mut InsecureSeededSource::new(2)).unwrap(), 1234);
        assert!(selection.release(&[], &mut InsecureSeededSource::new(2)).is_err());
        assert_eq!(selection.release(&[5], &mut InsecureSeededSource::new(2)).unwrap(), 0);
        assert!(selection.events().is_ok());
    }
    assert!(Selection::new(Selector::Exponential(Epsilon::new(0.0).unwrap()), ScoreChange::General).is_err());
}
