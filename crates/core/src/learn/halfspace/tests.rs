//! The robust distance, the sensitivities and the law of the choice, against enumeration and the vectors.

use super::*;
use crate::noise::InsecureSeededSource;
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
    let net = Learner::net(3, 3).unwrap();
    for (near, far, expected) in [(0, 2, 4), (1, 2, 3), (1, 3, 3)] {
        let learner = Learner::new(near, far, (3, 1), Epsilon::new(1.0).unwrap(), net.clone()).unwrap();
        let (mut worst, mut whole) = (0, 0);
        for weights in &net {
            for x in points(3) {
                for other in points(3) {
                    for label in [1i8, -1] {
                        let moved = learner.score(weights, std::slice::from_ref(&x), &[label]).abs_diff(learner.score(
                            weights,
                            std::slice::from_ref(&other),
                            &[label],
                        ));
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

#[test]
fn the_net_has_the_sizes_of_the_vectors() {
    for row in vectors()["checks"]["net_sizes"].as_array().unwrap() {
        let (d, sum, size) = (row["d"].as_u64().unwrap(), row["K"].as_u64().unwrap(), row["size"].as_u64().unwrap());
        if size <= 50_000 {
            assert_eq!(Learner::net(d as usize, sum as u32).unwrap().len() as u64, size, "{row}");
        } else if size > LARGEST_NET as u64 {
            assert!(Learner::net(d as usize, sum as u32).is_err());
        }
    }
}

#[test]
fn scores_and_choices_follow_the_vectors() {
    let example = &vectors()["em_example"];
    let data = example["data"].as_array().unwrap();
    let points: Vec<Vec<i8>> = data.iter().map(|row| signs(&row[0])).collect();
    let labels: Vec<i8> = data.iter().map(|row| row[1].as_i64().unwrap() as i8).collect();
    let net = Learner::net(3, 3).unwrap();
    let learner = Learner::new(0, 2, (3, 1), Epsilon::new(1.0).unwrap(), net.clone()).unwrap();
    let scores: Vec<i64> = net.iter().map(|weights| learner.score(weights, &points, &labels)).collect();
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
    let net = Learner::net(5, 5).unwrap();
    let learner = Learner::new(0, 2, (3, 1), Epsilon::new(1.0).unwrap(), net).unwrap();
    let all = points(5);
    let data: Vec<Vec<i8>> = (0..3000).map(|i| all[i * 7 % 32].clone()).collect();
    let truth = |x: &[i8]| if x[0] + x[1] + x[2] >= 0 { 1i8 } else { -1 };
    let labels: Vec<i8> = data.iter().map(|x| truth(x)).collect();
    let weights = learner.learn(&data, &labels, &mut InsecureSeededSource::new(5)).unwrap();
    let wrong = data.iter().zip(&labels).filter(|(x, label)| flips_to_err(&weights, x, **label) == Some(0)).count();
    assert!(wrong < 300, "{weights:?} errs on {wrong}");
    assert!(learner.epsilon_label() > 1.0986 && learner.epsilon_person() < 2.0 + 1.1);
}
