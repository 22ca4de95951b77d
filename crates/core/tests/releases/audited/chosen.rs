//! Mechanisms that choose.

use super::Audit;
use super::added::scale;
use scumble::mechanism::additive::Noise;
use scumble::mechanism::interior_point::InteriorPoint;
use scumble::mechanism::quantile::{Quantile, QuantileTree};
use scumble::mechanism::randomized_response::RandomizedResponse;
use scumble::mechanism::selection::top::GeneralizedHistogram;
use scumble::mechanism::selection::{MaxNoise, ObviousAnswer, ScoreChange, Selection, Selector};
use scumble::mechanism::stability::{Contribution, KeySelection, StabilityHistogram};
use scumble::quantity::{Delta, Epsilon, Probability, Sigma};
use scumble::{AttributeSet, Scope, Target};
use std::collections::BTreeMap;

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

fn delta(value: f64) -> Delta {
    Delta::new(value).unwrap()
}

pub fn randomized_response() {
    for (values, at, seed) in [(2, 1.0, 1200), (5, 1.5, 1201)] {
        let mechanism = RandomizedResponse::new(epsilon(at), values).unwrap();
        let answer = AttributeSet::new(["answer"]).unwrap();
        Audit::of("randomized response", &mechanism.events(&answer).unwrap(), &Scope::Attributes(answer))
            .tells(seed, |moved, bits| mechanism.release(u64::from(moved), bits).unwrap() as f64);
    }
}

/// Half of 256 keys are below the one value and half above: another value at the end moves all weights of a half up and
/// of the other down.
pub fn quantile() {
    let quantile = Quantile::new(255, Probability::new(0.5).unwrap(), epsilon(1.5)).unwrap();
    let events = quantile.events().unwrap();
    Audit::of("quantile", &events, &Scope::Presence).tells(1210, |moved, bits| {
        let values: &[u128] = if moved { &[128, 0] } else { &[128] };
        f64::from(u8::from(quantile.release(values, bits) > 128))
    });
    Audit::of("quantile of counted values", &events, &Scope::Presence).tells(1211, |moved, bits| {
        let values = if moved { vec![(128, 1), (0, 1)] } else { vec![(128, 1)] };
        f64::from(u8::from(quantile.release_counted(&values.into_iter().collect::<BTreeMap<u128, u64>>(), bits) > 128))
    });
}

pub fn quantile_tree() {
    let tree = QuantileTree::new(255, 1, epsilon(1.5)).unwrap();
    Audit::of("tree of quantiles", &tree.events().unwrap(), &Scope::Presence).tells(1220, |moved, bits| {
        let values: &[u128] = if moved { &[128, 0] } else { &[128] };
        f64::from(u8::from(tree.release(values, bits).unwrap()[0] > 128))
    });
}

/// One more at the least key: the keys of the lower half have another on their side, those of the upper half have not.
pub fn interior_point() {
    let point = InteriorPoint::new(10, epsilon(1.2)).unwrap();
    let here = [0u128, 512, 512, 1023];
    let there = [0u128, 0, 512, 512, 1023];
    Audit::of("interior point", &point.events().unwrap(), &Scope::Presence).tells(1230, |moved, bits| {
        let values: &[u128] = if moved { &there } else { &here };
        f64::from(u8::from(point.release(values, bits).unwrap() > 512))
    });
}

/// One candidate against a crowd of equals, whose largest noise is never near 0: how often the one wins is multiplied
/// by e^ε. Without noise one other is enough.
pub fn selection() {
    for (change, seed) in [(ScoreChange::General, 1240), (ScoreChange::Monotone, 1250)] {
        let audit = |name: &str, selector: Selector, others: usize, start: i64, seed: u64| {
            let selection = Selection::new(selector, change).unwrap();
            // Generally all scores move, each its own way; monotone ones move up.
            let (up, down) = if change == ScoreChange::General { (1, -1) } else { (1, 0) };
            let scores = |moved: i64| [vec![start + moved * up], vec![moved * down; others]].concat();
            let (here, there) = (scores(0), scores(1));
            Audit::of(format!("{name}, {change:?}"), &selection.events().unwrap(), &Scope::Presence).tells(
                seed,
                |moved, bits| {
                    let chosen = selection.release(if moved { &there } else { &here }, bits).unwrap();
                    f64::from(u8::from(chosen == 0))
                },
            );
        };
        audit("exponential", Selector::Exponential(epsilon(1.2)), 1, -1, seed);
        audit("permute and flip", Selector::PermuteAndFlip(epsilon(1.2)), 1, -2, seed + 1);
        audit("noisy maximum, exponential", Selector::NoisyMax(epsilon(1.2), MaxNoise::Exponential), 1, -2, seed + 2);
        audit("noisy maximum, Laplace", Selector::NoisyMax(epsilon(3.0), MaxNoise::Laplace), 30, -1, seed + 3);
    }
}

/// The lead of the best of sixteen grows by what neighbours move it by.
pub fn obvious_answer() {
    let noises = [
        (Noise::laplace(scale(0.5)), 32_000, 1260),
        (Noise::sinh_normal(Sigma::new(1.286).unwrap(), scale(2.7)).unwrap(), 160_000, 1261),
    ];
    for (noise, runs, seed) in noises {
        let answer = ObviousAnswer::new(noise, ScoreChange::Monotone);
        let scores = |lead: i64| [vec![lead], vec![0; 15]].concat();
        let (here, there) = (scores(1), scores(2));
        Audit::of("obvious answer", &answer.events().unwrap(), &Scope::Presence)
            .runs(runs)
            .tells(seed, |moved, bits| {
                f64::from(u8::from(answer.release(if moved { &there } else { &here }, bits).unwrap() == 0))
            });
    }
}

/// The one that leads by 2, or not, against a crowd.
pub fn generalized_histogram() {
    let top = GeneralizedHistogram::new(1, Noise::laplace(scale(1.0)), ScoreChange::General).unwrap();
    let (here, there) = (vec![0; 41], [vec![1], vec![-1; 40]].concat());
    Audit::of("generalized histogram", &top.events().unwrap(), &Scope::Presence).tells(1270, |moved, bits| {
        f64::from(u8::from(top.release(if moved { &there } else { &here }, bits).unwrap()[0] == 0))
    });
    // With what it leads by, one other is enough.
    let (here, there) = ([0, 0], [1, -1]);
    Audit::of("leads", &top.events().unwrap(), &Scope::Presence).tells(1271, |moved, bits| {
        match top.release_leads(if moved { &there } else { &here }, bits).unwrap()[0] {
            (0, lead) => (lead.abs() - (lead - 2).abs()) as f64,
            _ => -2.0,
        }
    });
}

/// One owner more of a key that is known anyway; and a new key, which shows as often as its δ says and no more.
pub fn stability_histogram() {
    let made = StabilityHistogram::new(Noise::laplace(scale(1.2)), Contribution::one(), delta(1e-3)).unwrap();
    let audit = || Audit::of("stability histogram", &made.events().unwrap(), &Scope::Presence);
    audit().tells(1280, |moved, bits| {
        let shown = made.release(&[("known", 300 + i64::from(moved))], bits);
        shown.first().map_or(-1.0, |(_, count)| *count as f64)
    });
}

/// Four owners of a key instead of three.
pub fn key_selection() {
    let selection = KeySelection::within(Target::approximate(epsilon(1.0), delta(0.02)), Scope::Presence, 1).unwrap();
    Audit::of("key selection", &selection.events().unwrap(), &Scope::Presence)
        .tells(1290, |moved, bits| selection.release(&[((), 3 + u64::from(moved))], bits).unwrap().len() as f64);
}
