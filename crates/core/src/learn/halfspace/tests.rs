//! The robust distance, the sensitivities and the law of the choice, against enumeration and the vectors.

use super::*;
use crate::Loss;
use crate::loss::filter::Odometer;
use crate::noise::InsecureSeededSource;
use crate::scope::Scope;
use serde_json::Value;

fn vectors() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/per-attribute.json");
    let all: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    all["halfspace"].clone()
}

fn integers(value: &Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|entry| entry.as_i64().unwrap()).collect()
}

fn signs(value: &Value) -> Vec<i8> {
    integers(value).iter().map(|&entry| entry as i8).collect()
}

fn points(dimension: usize) -> Vec<Vec<i8>> {
    (0..1usize << dimension)
        .map(|code| (0..dimension).map(|j| if code >> j & 1 == 1 { 1 } else { -1 }).collect())
        .collect()
}

#[test]
fn flips_are_those_of_the_vectors_and_of_enumeration() {
    for row in vectors()["dec"].as_array().unwrap() {
        let weights: Vec<i32> = integers(&row["w"]).iter().map(|&w| w as i32).collect();
        let flips = flips_to_err(&weights, &signs(&row["x"]), row["y"].as_i64().unwrap() as i8);
        assert_eq!(flips.map(u64::from), row["dec"].as_u64(), "{row}");
    }
    let all = points(4);
    for weights in [vec![3, -1, 2, 0], vec![1, 1, 1, 1], vec![0, 0, 0, 0], vec![5, 1, -1, 1], vec![-2, -2, 1, 1]] {
        let predicts = |x: &[i8]| {
            let margin: i64 = weights.iter().zip(x).map(|(&w, &x): (&i32, &i8)| i64::from(w) * i64::from(x)).sum();
            if margin >= 0 { 1 } else { -1 }
        };
        for x in &all {
            for label in [1i8, -1] {
                let distance = |other: &Vec<i8>| x.iter().zip(other).filter(|(a, b)| a != b).count() as u32;
                let least = all.iter().filter(|other| predicts(other) != label).map(distance).min();
                assert_eq!(flips_to_err(&weights, x, label), least, "{weights:?} {x:?} {label}");
            }
        }
    }
}

#[test]
fn one_coordinate_moves_a_score_by_at_most_the_sensitivity() {
    let net = HalfspaceLearner::net(3, 3).unwrap();
    for (near, far, expected) in [(0, 2, 4), (1, 2, 3), (1, 3, 3)] {
        let learner = HalfspaceLearner::new(near, far, (3, 1), Epsilon::new(1.0).unwrap(), net.clone()).unwrap();
        let (mut worst, mut whole) = (0, 0);
        for weights in &net {
            for x in points(3) {
                for other in points(3) {
                    for label in [1i8, -1] {
                        let score = |x: &[i8]| learner.score(weights, &BTreeMap::from([((x, label), 1)]));
                        let moved = score(&x).abs_diff(score(&other));
                        if x.iter().zip(&other).filter(|(a, b)| a != b).count() == 1 {
                            worst = worst.max(moved);
                        }
                        whole = whole.max(moved);
                    }
                }
            }
        }
        assert!(worst <= u64::from(learner.sensitivity()) && learner.sensitivity() == expected);
        assert!(whole <= u64::from((3 + 1) * (far - near)));
    }
}

/// How often each point has each label.
fn counted<'a>(points: &'a [Vec<i8>], labels: &[i8]) -> BTreeMap<(&'a [i8], i8), i64> {
    let mut counts = BTreeMap::new();
    points.iter().zip(labels).for_each(|(point, label)| *counts.entry((&point[..], *label)).or_default() += 1);
    counts
}

/// With a constant, which cannot be flipped, flips are still those of enumeration.
#[test]
fn a_constant_cannot_be_flipped() {
    let all = points(3);
    for weights in [vec![2, -1, 1, 1], vec![1, 1, 1, -2], vec![0, 0, 0, 5], vec![1, 0, 0, -1], vec![1, 1, 1, 3]] {
        let predicts = |x: &[i8]| {
            let terms = weights.iter().zip(x).map(|(w, x)| w * i32::from(*x));
            if terms.sum::<i32>() + weights[3] >= 0 { 1i8 } else { -1 }
        };
        for x in &all {
            for label in [1i8, -1] {
                let distance = |other: &Vec<i8>| x.iter().zip(other).filter(|(a, b)| a != b).count() as u32;
                let least = all.iter().filter(|other| predicts(other) != label).map(distance).min();
                assert_eq!(flips_from(weights[3], &weights[..3], x, label), least, "{weights:?} {x:?} {label}");
            }
        }
    }
    assert!(HalfspaceLearner::with_constant(0, 1, (2, 1), Epsilon::new(1.0).unwrap(), vec![vec![1]]).is_err());
}

/// The law of what is learnt: all noisy labels, and for each the exponential mechanism.
fn law(learner: &HalfspaceLearner, points: &[Vec<i8>], labels: &[i8]) -> Vec<f64> {
    let (a, b) = (f64::from(learner.odds.0), f64::from(learner.odds.1));
    let coefficient = learner.feature.get() / (2.0 * f64::from(learner.sensitivity()));
    let mut law = vec![0.0; learner.candidates.len()];
    for flipped in 0..1usize << labels.len() {
        let is_flipped = |place: usize| flipped >> place & 1 == 1;
        let noisy: Vec<i8> = (0..labels.len()).map(|j| if is_flipped(j) { -labels[j] } else { labels[j] }).collect();
        let chance: f64 = (0..labels.len()).map(|j| if is_flipped(j) { b } else { a } / (a + b)).product();
        let rows = counted(points, &noisy);
        let scores: Vec<i64> = learner.candidates.iter().map(|weights| learner.score(weights, &rows)).collect();
        let best = scores.iter().copied().max().unwrap();
        let weights: Vec<f64> = scores.iter().map(|score| (coefficient * (score - best) as f64).exp()).collect();
        let total: f64 = weights.iter().sum();
        law.iter_mut().zip(weights).for_each(|(mass, weight)| *mass += chance * weight / total);
    }
    law
}

/// A dataset: points of two coordinates, each with its label, as one number for each person.
fn people(codes: &[usize], all: &[Vec<i8>]) -> (Vec<Vec<i8>>, Vec<i8>) {
    codes.iter().map(|code| (all[code / 2].clone(), if code % 2 == 1 { 1i8 } else { -1 })).unzip()
}

/// Every dataset of two people over two coordinates, everybody who changes anything, comes or goes: the law of the
/// result reveals no more than the events cost, in every scope and for every set of attributes, as ε, as δ at some ε
/// and as ρ. Moves of several attributes that were charged as events of their own passed in ε alone: ρ of a choice
/// grows with the square of how far its score moves. And a label costs what is charged, and not 1% less; a coordinate
/// and presence not a tenth less, already of two people.
#[test]
fn what_is_learnt_costs_what_is_charged() {
    let names: Vec<AttributeSet> = ["x0", "x1"].into_iter().map(|name| AttributeSet::new([name]).unwrap()).collect();
    let label = AttributeSet::new(["y"]).unwrap();
    let all = points(2);
    // By which of x0, x1 and the label change, as bits; 0 is presence, 8 a whole person.
    let scope = |changed: usize| match changed {
        0 => Scope::Presence,
        8 => Scope::Person,
        _ => Scope::Attributes(
            AttributeSet::new(
                ["x0", "x1", "y"].into_iter().enumerate().filter(|(j, _)| changed >> j & 1 == 1).map(|(_, name)| name),
            )
            .unwrap(),
        ),
    };
    let mut tight = [0.0f64; 9];
    for (near, far, odds, feature) in [
        (0, 1, (3, 1), 0.8),
        (0, 2, (3, 1), 0.8),
        (1, 2, (5, 2), 1.1),
        (0, 2, (1_000_000, 1), 30.0),
        (1, 2, (3, 1), 40.0),
        (0, 1, (3, 1), 40.0),
    ] {
        let net = HalfspaceLearner::net(3, 3).unwrap();
        let learner = HalfspaceLearner::with_constant(near, far, odds, Epsilon::new(feature).unwrap(), net).unwrap();
        let events = learner.events(&names, &label).unwrap();
        let mut pairs: Vec<(usize, Vec<f64>, Vec<f64>)> = Vec::new();
        let of = |codes: &[usize]| {
            let (points, labels) = people(codes, &all);
            law(&learner, &points, &labels)
        };
        for other in 0..8 {
            for code in 0..8 {
                pairs.push((0, of(&[code, other]), of(&[other])));
                for new in (0..8).filter(|new| *new != code) {
                    let (here, there) = (&all[code / 2], &all[new / 2]);
                    let changed = usize::from(here[0] != there[0])
                        + 2 * usize::from(here[1] != there[1])
                        + 4 * usize::from(code % 2 != new % 2);
                    pairs.push((changed, of(&[code, other]), of(&[new, other])));
                }
            }
        }
        // Presence and a person are both directions and everything.
        let more: Vec<_> =
            pairs.iter().map(|(changed, p, q)| (if *changed == 0 { 0 } else { 8 }, q.clone(), p.clone())).collect();
        pairs.extend(more);
        for (changed, p, q) in &pairs {
            let charged = Odometer::of(&events, &scope(*changed)).unwrap();
            let told = p.iter().zip(q).map(|(p, q)| (p / q).ln()).fold(0.0, f64::max);
            let claimed = charged.pure_sum().unwrap().to_f64();
            assert!(told <= claimed + 1e-9, "{learner:?} {changed}: {told} of {claimed}");
            tight[*changed] = tight[*changed].max(told / claimed);
            // D_α/α near one, at two and at ten.
            let rho = charged.rho(&crate::quantity::Exact::zero()).unwrap().to_f64();
            for order in [1.001, 2.0, 10.0] {
                let moment: f64 = p.iter().zip(q).map(|(p, q)| (order * p.ln() + (1.0 - order) * q.ln()).exp()).sum();
                let is = moment.ln() / (order - 1.0) / order;
                assert!(is <= rho * (1.0 + 1e-6) + 1e-9, "{learner:?} {changed}, order {order}: {is} of {rho}");
            }
        }
        for changed in 0..9 {
            let loss = Loss::of(&events, scope(changed)).unwrap();
            for at in [0.0, 0.3, 1.0] {
                let claimed = loss.delta(Epsilon::new(at).unwrap()).upper;
                for (_, p, q) in pairs.iter().filter(|pair| pair.0 == changed) {
                    let told: f64 = p.iter().zip(q).map(|(p, q)| (p - at.exp() * q).max(0.0)).sum();
                    assert!(told <= claimed + 1e-9, "{learner:?} {changed} at {at}: {told} of {claimed}");
                }
            }
        }
    }
    // Of two people, of whom one has noisy labels too; the range of a choice is used up by more.
    assert!([0, 1, 2].into_iter().all(|changed| tight[changed] > 0.9) && tight[4] > 0.99, "{tight:?}");
}

/// People who are far from the boundary of one candidate: what is learnt errs on no more of them than is said, and the
/// odds are within ε.
#[test]
fn far_from_the_boundary_few_mistakes_are_made() {
    let net = HalfspaceLearner::net(6, 6).unwrap();
    let learner = HalfspaceLearner::with_constant(
        0,
        2,
        HalfspaceLearner::odds_within(Epsilon::new(1.0).unwrap()).unwrap(),
        Epsilon::new(1.0).unwrap(),
        net,
    )
    .unwrap();
    assert!(learner.epsilon_label() <= 1.0 && learner.epsilon_label() > 0.999);
    let most = learner.error(Beta::new(0.05).unwrap()).unwrap();
    let needed = learner.rows_needed(0.05, Beta::new(0.05).unwrap()).unwrap();
    assert!(needed >= 40.0 * most * (1.0 - 1e-9), "{most} {needed}");
    let mut bits = InsecureSeededSource::new(9);
    let mut wrong = 0;
    for turn in 0..20 {
        // All true or all false, but for one.
        let mut points: Vec<Vec<i8>> = (0..300).map(|i| vec![if i % 2 == 0 { 1 } else { -1 }; 5]).collect();
        points.iter_mut().enumerate().for_each(|(i, point)| point[(i + turn) % 5] *= if i % 3 == 0 { -1 } else { 1 });
        let labels: Vec<i8> = points.iter().map(|x| if x.iter().sum::<i8>() >= 0 { 1 } else { -1 }).collect();
        let weights = learner.learn(&points, &labels, &mut bits).unwrap();
        let errs = |x: &[i8], label: i8| flips_from(weights[5], &weights[..5], x, label) == Some(0);
        let mistakes = points.iter().zip(&labels).filter(|(x, label)| errs(x, **label)).count();
        wrong += usize::from(mistakes as f64 > most);
    }
    // Each with probability 0.05 at most: more than twelve of twenty with less than 1e-9.
    assert!(wrong <= 12, "{wrong}");
}

#[test]
fn the_net_has_the_sizes_of_the_vectors() {
    for row in vectors()["checks"]["net_sizes"].as_array().unwrap() {
        let (d, sum, size) = (row["d"].as_u64().unwrap(), row["K"].as_u64().unwrap(), row["size"].as_u64().unwrap());
        if size <= 50_000 {
            assert_eq!(HalfspaceLearner::net(d as usize, sum as u32).unwrap().len() as u64, size, "{row}");
        } else if size > LARGEST_NET as u64 {
            assert!(HalfspaceLearner::net(d as usize, sum as u32).is_err());
        }
    }
}

#[test]
fn scores_and_choices_follow_the_vectors() {
    let example = &vectors()["em_example"];
    let data = example["data"].as_array().unwrap();
    let points: Vec<Vec<i8>> = data.iter().map(|row| signs(&row[0])).collect();
    let labels: Vec<i8> = data.iter().map(|row| row[1].as_i64().unwrap() as i8).collect();
    let net = HalfspaceLearner::net(3, 3).unwrap();
    let learner = HalfspaceLearner::new(0, 2, (3, 1), Epsilon::new(1.0).unwrap(), net.clone()).unwrap();
    let rows = counted(&points, &labels);
    let scores: Vec<i64> = net.iter().map(|weights| learner.score(weights, &rows)).collect();
    let coefficient = Fraction::new(1u32, 8u32).unwrap();
    let mut bits = InsecureSeededSource::new(2);
    let trials = 100_000;
    let mut seen = vec![0u32; net.len()];
    (0..trials).for_each(|_| seen[exponential_choice(&scores, &coefficient, &mut bits)] += 1);
    for row in example["debiased"]["top"].as_array().unwrap() {
        let weights: Vec<i32> = integers(&row["w"]).iter().map(|&w| w as i32).collect();
        let place = net.iter().position(|candidate| *candidate == weights).unwrap();
        assert_eq!(scores[place], row["score"].as_i64().unwrap(), "{row}");
        let p = row["p"].as_f64().unwrap();
        let allowed = (p * (2.0f64 / 1e-12).ln() / 50_000.0).sqrt() + 1e-3;
        assert!((f64::from(seen[place]) / f64::from(trials) - p).abs() < allowed, "{row}");
    }
}

#[test]
fn a_halfspace_is_learnt() {
    let net = HalfspaceLearner::net(5, 5).unwrap();
    let learner = HalfspaceLearner::new(0, 2, (3, 1), Epsilon::new(1.0).unwrap(), net).unwrap();
    let all = points(5);
    let data: Vec<Vec<i8>> = (0..3000).map(|i| all[i * 7 % 32].clone()).collect();
    let truth = |x: &[i8]| if x[0] + x[1] + x[2] >= 0 { 1i8 } else { -1 };
    let labels: Vec<i8> = data.iter().map(|x| truth(x)).collect();
    let weights = learner.learn(&data, &labels, &mut InsecureSeededSource::new(5)).unwrap();
    let wrong = data.iter().zip(&labels).filter(|(x, label)| flips_to_err(&weights, x, **label) == Some(0)).count();
    assert!(wrong < 300, "{weights:?} errs on {wrong}");
    assert!(learner.epsilon_label() > 1.0986 && learner.epsilon_person() < 2.0 + 1.1);
}
