//! Mechanisms that choose: the frequency of each outcome at chosen inputs against its probability, from the event's
//! parameters and the mechanism's definition.

use crate::added::published;
use scumble::event::{Event, Moves, Shift, Word};
use scumble::loss::Loss;
use scumble::mechanism::additive::Noise;
use scumble::mechanism::interior_point::InteriorPoint;
use scumble::mechanism::quantile::{Quantile, QuantileTree};
use scumble::mechanism::randomized_response::RandomizedResponse;
use scumble::mechanism::selection::top::GeneralizedHistogram;
use scumble::mechanism::selection::{MaxNoise, ObviousAnswer, ScoreChange, Selection, Selector};
use scumble::mechanism::stability::{Contribution, KeySelection, StabilityHistogram};
use scumble::noise::InsecureSeededSource;
use scumble::quantity::{Delta, Epsilon, Probability, Scale, Sigma};
use scumble::{AttributeSet, Scope, Target};
use scumble_testing::laws::{
    DRAWS, IntegerDistribution, SLIP, frequency, noise as noise_as_said, outcomes, proportional, seen,
};
use std::collections::BTreeMap;

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

/// ε of the event's word.
fn epsilon_of(event: &Event) -> f64 {
    match event.word() {
        Word::Exponential { epsilon } | Word::Pure { epsilon } | Word::RandomizedResponse { epsilon, .. } => {
            epsilon.get()
        }
        ref other => panic!("{other:?}"),
    }
}

pub fn randomized_response() {
    // Drawn again and again; and, where that would take long, at once.
    for (at, values, seed) in [(1.0, 3u64, 20), (6.0, 1000, 21)] {
        let mechanism = RandomizedResponse::new(epsilon(at), values).unwrap();
        let event = mechanism.events(&AttributeSet::new(["answer"]).unwrap()).unwrap().pop().unwrap();
        let law = |epsilon: f64| {
            let truth = epsilon.exp() / (epsilon.exp() + values as f64 - 1.0);
            BTreeMap::from([(true, truth), (false, 1.0 - truth)])
        };
        let mut bits = InsecureSeededSource::new(seed);
        let drawn = (0..DRAWS).map(|_| mechanism.release(2, &mut bits).unwrap() == 2);
        outcomes("randomized response", drawn, &law(epsilon_of(&event)), &law(epsilon_of(&event) / SLIP));
    }
}

/// P\[y\] ∝ e^{−ε·d(y)/2s}: d = max(0, L − f·n, G − (1−f)·n), which an added value moves by at most s = max(f, 1−f).
pub fn quantile() {
    let values = [1u128, 3, 3, 3, 3, 3, 3, 3, 5, 9];
    let below = |y: u128| values.iter().filter(|value| **value < y).count() as f64;
    let above = |y: u128| values.iter().filter(|value| (**value).min(7) > y).count() as f64;
    for (fraction, at, seed) in [(0.5, 0.8, 22), (0.25, 1.6, 23)] {
        let quantile = Quantile::new(7, Probability::new(fraction).unwrap(), epsilon(at)).unwrap();
        let n = values.len() as f64;
        let law = |epsilon: f64| {
            let distance = |y: u128| (below(y) - fraction * n).max(above(y) - (1.0 - fraction) * n).max(0.0);
            let sensitivity = f64::max(fraction, 1.0 - fraction);
            proportional((0..8).map(|y| (y, (-epsilon * distance(y) / (2.0 * sensitivity)).exp())))
        };
        check_quantile(&quantile, &values, &law, seed);
    }
    // The k-th value from an end, k the rank error at 95%: a value moves the distance by at most 1.
    let values = [1u128, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 5, 7];
    let below = |y: u128| values.iter().filter(|value| **value < y).count() as f64;
    let above = |y: u128| values.iter().filter(|value| **value > y).count() as f64;
    for (largest, seed) in [(false, 24), (true, 25)] {
        let quantile =
            if largest { Quantile::largest(7, epsilon(1.0)) } else { Quantile::least(7, epsilon(1.0)) }.unwrap();
        let rank = (2.0 * (8.0f64 / 0.05).ln()).ceil();
        let law = |epsilon: f64| {
            let distance = |y: u128| {
                let (before, beyond) = if largest { (above(y), below(y)) } else { (below(y), above(y)) };
                (rank - (values.len() as f64 - beyond)).max(before - (rank - 1.0)).max(0.0)
            };
            proportional((0..8).map(|y| (y, (-epsilon * distance(y) / 2.0).exp())))
        };
        check_quantile(&quantile, &values, &law, seed);
    }
}

fn check_quantile(quantile: &Quantile, values: &[u128], law: &dyn Fn(f64) -> BTreeMap<u128, f64>, seed: u64) {
    let at = epsilon_of(&quantile.events().unwrap().remove(0));
    let mut bits = InsecureSeededSource::new(seed);
    let drawn: Vec<u128> = (0..DRAWS / 4).map(|_| quantile.release(values, &mut bits)).collect();
    outcomes(&format!("{quantile:?}"), drawn, &law(at), &law(at / 0.9));
    let mut counts: BTreeMap<u128, u64> = BTreeMap::new();
    values.iter().for_each(|value| *counts.entry(*value).or_default() += 1);
    let drawn: Vec<u128> = (0..DRAWS / 20).map(|_| quantile.release_counted(&counts, &mut bits)).collect();
    outcomes("quantile of counted values", drawn, &law(at), &law(at / 0.75));
}

/// Of four keys the two in the middle have two values each: they are at distance 0, the others at 4 halves of a rank.
/// The tree by the recursion is compared with its whole law in `mechanism/quantile/tree/tests.rs`.
pub fn quantile_tree() {
    let tree = QuantileTree::new(3, 1, epsilon(1.2)).unwrap();
    let at = epsilon_of(&tree.events().unwrap()[0]);
    let law = |epsilon: f64| proportional([(true, 1.0), (false, (-2.0 * epsilon).exp())]);
    let mut bits = InsecureSeededSource::new(26);
    let drawn: Vec<bool> =
        (0..DRAWS / 4).map(|_| [1, 2].contains(&tree.release(&[1, 1, 2, 2], &mut bits).unwrap()[0])).collect();
    outcomes("tree of quantiles", drawn, &law(at), &law(at / seen(0.88)));
}

/// The exponential way: P\[y\] ∝ e^{ε·min(#{x ≤ y}, #{x ≥ y})}. The recursion is compared with its whole law in
/// `mechanism/interior_point/tests.rs`.
pub fn interior_point() {
    let point = InteriorPoint::new(2, epsilon(0.6)).unwrap();
    let at = epsilon_of(&point.events().unwrap()[0]);
    let values = [0u128, 0, 1, 1, 1, 1, 1, 1, 3];
    let law = |epsilon: f64| {
        let score = |y: u128| {
            let at_most = values.iter().filter(|value| **value <= y).count();
            at_most.min(values.iter().filter(|value| **value >= y).count()) as f64
        };
        proportional((0..4).map(|y| (y, (epsilon * score(y)).exp())))
    };
    let mut bits = InsecureSeededSource::new(27);
    let drawn = (0..DRAWS / 4).map(|_| point.release(&values, &mut bits).unwrap());
    outcomes("interior point", drawn, &law(at), &law(at / 0.9));
}

const SCORES: [i64; 3] = [0, 5, 8];

fn moved(change: ScoreChange) -> f64 {
    if change == ScoreChange::Monotone { 1.0 } else { 2.0 }
}

/// The four selectors, each with the law of its definition at a rate of ε over what the gap of two scores moves by.
pub fn selection() {
    for (change, seed) in [(ScoreChange::General, 30), (ScoreChange::Monotone, 40)] {
        let check = |name: &str, selector: Selector, law: &dyn Fn(f64) -> Vec<f64>, seed: u64| {
            let draws = if matches!(selector, Selector::Exponential(_)) { DRAWS / 2 } else { DRAWS };
            let selection = Selection::new(selector, change).unwrap();
            let rate = epsilon_of(&selection.events().unwrap().remove(0)) / moved(change);
            let mut bits = InsecureSeededSource::new(seed);
            let drawn = (0..draws).map(|_| selection.release(&SCORES, &mut bits).unwrap());
            let law = |rate: f64| law(rate).into_iter().enumerate().collect::<BTreeMap<usize, f64>>();
            outcomes(name, drawn, &law(rate), &law(rate / SLIP));
        };
        let exponential = |rate: f64| {
            let law =
                proportional(SCORES.iter().enumerate().map(|(index, score)| (index, (rate * *score as f64).exp())));
            law.into_values().collect()
        };
        check("exponential", Selector::Exponential(epsilon(0.8)), &exponential, seed);
        check(
            "permute and flip",
            Selector::PermuteAndFlip(epsilon(0.8)),
            &|rate| permute_and_flip(rate, &[0, 1, 2]),
            seed + 1,
        );
        let laplace = |rate: f64| largest(&IntegerDistribution::discrete_laplace(1.0 / rate));
        check("noisy maximum, Laplace", Selector::NoisyMax(epsilon(0.8), MaxNoise::Laplace), &laplace, seed + 2);
        let one_sided = |rate: f64| {
            largest(&IntegerDistribution::of_weights((60.0 / rate) as i64, |z| {
                if z < 0 { 0.0 } else { (-rate * z as f64).exp() }
            }))
        };
        check(
            "noisy maximum, exponential",
            Selector::NoisyMax(epsilon(0.8), MaxNoise::Exponential),
            &one_sided,
            seed + 3,
        );
    }
}

/// A uniformly random candidate among `left` is taken with probability e^{−rate·(best − score)}, or set aside.
fn permute_and_flip(rate: f64, left: &[usize]) -> Vec<f64> {
    let mut law = vec![0.0; SCORES.len()];
    for &candidate in left {
        let share = 1.0 / left.len() as f64;
        let taken = (-rate * (8 - SCORES[candidate]) as f64).exp();
        law[candidate] += share * taken;
        if taken < 1.0 {
            let rest: Vec<usize> = left.iter().copied().filter(|other| *other != candidate).collect();
            let later = permute_and_flip(rate, &rest);
            law.iter_mut().zip(later).for_each(|(sum, chance)| *sum += share * (1.0 - taken) * chance);
        }
    }
    law
}

/// The law of the first of the largest noisy scores.
fn largest(noise: &IntegerDistribution) -> Vec<f64> {
    let at_most = |z: i64| 1.0 - noise.at_least(z + 1);
    let wins = |winner: usize| -> f64 {
        let others = |value: i64| -> f64 {
            let other = |(index, score): (usize, &i64)| match index {
                index if index == winner => 1.0,
                index => at_most(value - score - i64::from(index < winner)),
            };
            SCORES.iter().enumerate().map(other).product()
        };
        noise.iter().map(|(z, mass)| mass * others(SCORES[winner] + z)).sum()
    };
    (0..SCORES.len()).map(wins).collect()
}

/// The best of k wins where its lead, less what neighbours move it by, exceeds a threshold that noise alone exceeds
/// with probability exactly 1/k.
pub fn obvious_answer() {
    let noises = [
        Noise::laplace(Scale::new(1.5).unwrap()),
        Noise::gaussian(Sigma::new(2.0).unwrap()),
        Noise::sinh_normal(Sigma::new(1.286).unwrap(), Scale::new(2.7).unwrap()).unwrap(),
    ];
    for (index, noise) in noises.into_iter().enumerate() {
        let changes =
            if index == 0 { vec![ScoreChange::General, ScoreChange::Monotone] } else { vec![ScoreChange::General] };
        for change in changes {
            let answer = ObviousAnswer::new(noise.clone(), change);
            let event = answer.events().unwrap().remove(0);
            let by = event.moves().shifts(&Scope::Presence)[0].by.get();
            assert_eq!(by, moved(change), "the lead moves by this");
            let scores = [1i64, 7, 0, 0];
            let law = |factor: f64| {
                let noise = IntegerDistribution::of_event(&event, factor);
                let threshold = (0..).find(|t| noise.at_least(t + 1) <= 0.25).unwrap();
                let coin = (0.25 - noise.at_least(threshold + 1)) / noise.mass(threshold);
                let excess = 6 - by as i64;
                let wins = noise.at_least(threshold + 1 - excess) + coin * noise.mass(threshold - excess);
                BTreeMap::from([(true, wins), (false, 1.0 - wins)])
            };
            let mut bits = InsecureSeededSource::new(50 + index as u64);
            // The rule is made anew for each answer, which is slow except for tables.
            let (draws, slip) = if index == 2 { (DRAWS, seen(0.9)) } else { (DRAWS / 30, seen(0.5)) };
            let drawn: Vec<bool> = (0..draws).map(|_| answer.release(&scores, &mut bits).unwrap() == 1).collect();
            outcomes(&format!("obvious answer, {}", noise.name()), drawn, &law(1.0), &law(slip));
            // Without a lead it is perfectly uniform.
            let even = (0..draws / 4).filter(|_| answer.release(&[2, 2, 2, 2], &mut bits).unwrap() == 0).count();
            frequency("obvious answer without a lead", even, draws / 4, 0.25);
        }
    }
}

/// Of two candidates the first wins if its surplus and noise is not below that of the second.
pub fn generalized_histogram() {
    let top = GeneralizedHistogram::new(1, Noise::laplace(Scale::new(2.0).unwrap()), ScoreChange::General).unwrap();
    let event = top.events().unwrap().remove(0);
    let law = |factor: f64| {
        let noise = IntegerDistribution::of_event(&event, factor);
        let wins = noise.plus(&noise).at_least(-4);
        BTreeMap::from([(0, wins), (1, 1.0 - wins)])
    };
    let mut bits = InsecureSeededSource::new(60);
    let drawn = (0..DRAWS).map(|_| top.release(&[7, 3], &mut bits).unwrap()[0]);
    outcomes("generalized histogram", drawn, &law(1.0), &law(SLIP));
    // A lead of 500, which always wins, is published with the same noise.
    let leads: Vec<i64> = (0..DRAWS).map(|_| top.release_leads(&[503, 3], &mut bits).unwrap()[0].1 - 500).collect();
    noise_as_said(
        "a lead",
        &leads,
        &IntegerDistribution::of_event(&event, 1.0),
        &IntegerDistribution::of_event(&event, SLIP),
    );
}

/// A threshold that was one too low passed all tests: they wrote the rule a second time. Here a key shows as the code
/// says, and a new key of one owner with the δ of the event: one less at the threshold, and it is e^{1/scale} times as
/// likely.
pub fn stability_histogram() {
    // δ is exactly what a count of one shows with at the threshold, so that the claim is tight.
    let noises = [(Noise::laplace(Scale::new(4.0).unwrap()), 12), (Noise::gaussian(Sigma::new(4.0).unwrap()), 8)];
    for (index, (noise, threshold)) in noises.into_iter().enumerate() {
        let event = noise.event(Moves::everywhere(Shift::one_cell(1.0).unwrap())).unwrap();
        let delta = IntegerDistribution::of_event(&event, 1.0).at_least(threshold - 1) * (1.0 + 1e-9);
        let made = StabilityHistogram::new(noise, Contribution::one(), Delta::new(delta).unwrap()).unwrap();
        let events = made.events().unwrap();
        let Word::NewKeys(keys) = events[0].word() else { panic!("{events:?}") };
        let claimed = keys.delta();
        let law =
            |count: i64, factor: f64| published(&IntegerDistribution::of_event(&events[0], factor), count, threshold);
        let mut bits = InsecureSeededSource::new(70 + index as u64);
        let counts = [("new", 1), ("near", threshold - 2), ("known", threshold + 300), ("absent", 0)];
        let released: Vec<BTreeMap<&str, i64>> =
            (0..DRAWS).map(|_| made.release(&counts, &mut bits).into_iter().collect()).collect();
        for (key, count, slip) in [("new", 1, SLIP), ("near", threshold - 2, seen(0.8))] {
            let drawn = released.iter().map(|shown| shown.get(key).copied());
            outcomes(&format!("stability histogram, {key}"), drawn, &law(count, 1.0), &law(count, slip));
        }
        let known: Vec<i64> = released.iter().map(|shown| shown["known"] - threshold - 300).collect();
        noise_as_said(
            "stability histogram, known",
            &known,
            &IntegerDistribution::of_event(&events[0], 1.0),
            &IntegerDistribution::of_event(&events[0], SLIP),
        );
        let seen = released.iter().filter(|shown| shown.contains_key("new")).count();
        frequency("a new key", seen, DRAWS, claimed.get());
        assert!(released.iter().all(|shown| !shown.contains_key("absent")));
    }
    // Three keys of one owner share δ: that any of them shows is at most that likely.
    let noise = Noise::laplace(Scale::new(1.0).unwrap());
    let made = StabilityHistogram::new(noise, Contribution::new(3, 2).unwrap(), Delta::new(0.1).unwrap()).unwrap();
    let one = IntegerDistribution::of_event(&made.events().unwrap()[0], 1.0).at_least(made.threshold() - 2);
    let any = 1.0 - (1.0 - one).powi(3);
    assert!(any <= 0.1 && any > 0.1 * (-1.0f64).exp() * 0.9, "{any}");
    let mut bits = InsecureSeededSource::new(72);
    let shown = (0..DRAWS).filter(|_| !made.release(&[(1, 2), (2, 2), (3, 2)], &mut bits).is_empty()).count();
    frequency("any of three new keys", shown, DRAWS, any);
}

/// π(n+1) = min(e^ε·π(n) + δ, 1 − e^{−ε}(1 − π(n) − δ), 1), with the event's ε and δ shared by the owner's keys.
pub fn key_selection() {
    for (keys, seed) in [(1u32, 80), (2, 81)] {
        let selection = KeySelection::within(
            Target::approximate(epsilon(0.3 * f64::from(keys)), Delta::new(0.2).unwrap()),
            Scope::Presence,
            keys,
        )
        .unwrap();
        let event = selection.events().unwrap().remove(0);
        let Word::Approximate { epsilon, delta } = event.word() else { panic!() };
        let law = |owners: usize, factor: f64| {
            let epsilon = epsilon.get() / f64::from(keys) / factor;
            let delta = 1.0 - (1.0 - delta.get() / factor).powf(1.0 / f64::from(keys));
            let mut chance = 0.0f64;
            for _ in 0..owners {
                let second = 1.0 - (-epsilon).exp() * (1.0 - chance - delta);
                chance = (epsilon.exp() * chance + delta).min(second).min(1.0);
            }
            BTreeMap::from([(true, chance), (false, 1.0 - chance)])
        };
        let mut bits = InsecureSeededSource::new(seed);
        for owners in [1usize, 2, 3] {
            let key = [((), owners as u64)];
            let drawn = (0..2 * DRAWS).map(|_| !selection.release(&key, &mut bits).unwrap().is_empty());
            outcomes(&format!("{owners} owners of a key"), drawn, &law(owners, 1.0), &law(owners, SLIP));
        }
    }
}

/// Replacing an owner is one leaving a key and one coming to another. A claim for one move only passed all tests: the
/// coins of both keys lose up to 2ε together. The laws are those of the code's own probabilities.
pub fn a_replaced_owner_moves_two_keys() {
    let selection =
        KeySelection::within(Target::approximate(epsilon(0.5), Delta::new(1e-3).unwrap()), Scope::Presence, 1).unwrap();
    let claim = |scope: Scope, at: f64| {
        let loss = Loss::of(selection.events().unwrap(), &scope).unwrap();
        loss.delta(epsilon(at)).upper
    };
    let coin = |owners: u64| [selection.probability(owners), 1.0 - selection.probability(owners)];
    for owners in 1..12u64 {
        for at in [0.5, 0.75, 1.0, 1.5] {
            let lost = |p: f64, q: f64| (p - f64::exp(at) * q).max(0.0);
            let both = |left: (u64, u64), right: (u64, u64)| -> f64 {
                let pairs = (0..4).map(|outcome| (outcome & 1, outcome >> 1));
                pairs.map(|(i, j)| lost(coin(left.0)[i] * coin(left.1)[j], coin(right.0)[i] * coin(right.1)[j])).sum()
            };
            for other in 1..12u64 {
                let (here, there) = ((owners, other - 1), (owners - 1, other));
                let truth = both(here, there).max(both(there, here));
                assert!(truth <= claim(Scope::Person, at) * (1.0 + 1e-9), "{owners} {other}: δ({at}) = {truth}");
            }
            let one: f64 = (0..2).map(|i| lost(coin(owners)[i], coin(owners - 1)[i])).sum();
            assert!(one <= claim(Scope::Presence, at) * (1.0 + 1e-9), "{owners}: δ({at}) = {one}");
        }
    }
}
