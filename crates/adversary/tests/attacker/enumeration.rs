//! Brute force: all databases of up to six records, with exact rationals, against what the code certifies.

use super::vectors::{cells, divergence};
use super::{eps, holds, lambda, probability, singles};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};
use scumble_adversary::attacker::*;
use std::collections::BTreeMap;

fn ratio(numerator: i64, denominator: i64) -> BigRational {
    BigRational::new(BigInt::from(numerator), BigInt::from(denominator))
}

fn real(value: &BigRational) -> f64 {
    value.to_f64().unwrap()
}

/// The law of an output over all databases of independent records, the target's value fixed.
fn law<O: Ord>(others: &[BigRational], target: u32, output: impl Fn(&[u32]) -> O) -> BTreeMap<O, BigRational> {
    let mut law = BTreeMap::new();
    for database in 0..1u32 << others.len() {
        let mut records = vec![target];
        let mut weight = BigRational::one();
        for (place, p) in others.iter().enumerate() {
            let value = database >> place & 1;
            weight *= if value == 1 { p.clone() } else { BigRational::one() - p };
            records.push(value);
        }
        *law.entry(output(&records)).or_insert_with(BigRational::zero) += weight;
    }
    law
}

/// Σ max(0, P − e^ε Q), e^ε rational.
fn hockey<O: Ord>(p: &BTreeMap<O, BigRational>, q: &BTreeMap<O, BigRational>, factor: &BigRational) -> f64 {
    let zero = BigRational::zero();
    let sum = p.iter().fold(zero.clone(), |sum, (output, weight)| {
        let rest = weight - factor * q.get(output).unwrap_or(&zero);
        if rest > zero { sum + rest } else { sum }
    });
    real(&sum)
}

/// Beliefs in all their variety: certain, rare, fair, common.
fn lists() -> Vec<Vec<BigRational>> {
    let choices = [ratio(0, 1), ratio(1, 8), ratio(1, 2), ratio(3, 4), ratio(1, 1)];
    let mut lists = vec![vec![]];
    for one in &choices {
        for other in &choices {
            for count in [1usize, 2, 4] {
                let list: Vec<BigRational> =
                    (0..count + 1).map(|i| if i % 2 == 0 { one.clone() } else { other.clone() }).collect();
                lists.push(list);
            }
        }
    }
    lists.push((1..=6).map(|i| ratio(i, 7)).collect());
    lists
}

const FACTORS: [(i64, i64); 4] = [(1, 1), (5, 4), (3, 1), (50, 1)];

#[test]
fn counts_of_all_databases() {
    for list in lists() {
        let others = singles(&list.iter().map(real).collect::<Vec<_>>());
        for shift in [1u32, 2] {
            let count = |records: &[u32]| records.iter().skip(1).sum::<u32>() + records[0] * shift;
            let (with, without) = (law(&list, 1, count), law(&list, 0, count));
            for (numerator, denominator) in FACTORS {
                let factor = ratio(numerator, denominator);
                let epsilon = real(&factor).ln();
                let got = exact_count(&others, AddedNoise::None, eps(epsilon), shift).unwrap();
                let what = format!("{list:?} {epsilon} {shift}");
                // Exactly at a ratio of the law the positive part vanishes, and only the slack is left.
                near(&what, got.with_against_without, hockey(&with, &without, &factor));
                near(&what, got.without_against_with, hockey(&without, &with, &factor));
            }
        }
    }
}

/// Within 1e-12 relatively or 1e-13 absolutely: rationals like 1/7 are rounded to f64 on their way in.
fn near(what: &str, bound: Bound, truth: f64) {
    let allowed = 1e-12 * truth + 1e-13;
    assert!(bound.lower <= truth + allowed && bound.upper >= truth - allowed, "{what}: {bound:?} {truth}");
    assert!(bound.upper - bound.lower <= 2.0 * allowed, "{what}: {bound:?} is wide");
}

#[test]
fn thresholded_counts_of_all_databases() {
    for list in lists() {
        let others = poisson_binomial(&singles(&list.iter().map(real).collect::<Vec<_>>())).unwrap();
        for threshold in -1i64..=list.len() as i64 + 1 {
            let count = |records: &[u32]| {
                let sum = i64::from(records.iter().sum::<u32>());
                if sum <= threshold { None } else { Some(sum) }
            };
            let (with, without) = (law(&list, 1, count), law(&list, 0, count));
            for (numerator, denominator) in FACTORS {
                let factor = ratio(numerator, denominator);
                let got = thresholded(&others, threshold, eps(real(&factor).ln()));
                let what = format!("{list:?} {factor} T={threshold}");
                near(&what, got.with_against_without, hockey(&with, &without, &factor));
                near(&what, got.without_against_with, hockey(&without, &with, &factor));
            }
        }
    }
}

#[test]
fn a_passive_attacker_averages_over_what_it_knows() {
    // Six records of p = 3/8; the attacker knows the last `known`: the pair (known, output) must be indistinguishable.
    let p = ratio(3, 8);
    for known in 0..=5usize {
        let list = vec![p.clone(); 5];
        for threshold in 0..=6i64 {
            let seen = |records: &[u32]| {
                let sum = i64::from(records.iter().sum::<u32>());
                (records[6 - known..].to_vec(), if sum <= threshold { None } else { Some(sum) })
            };
            let (with, without) = (law(&list, 1, seen), law(&list, 0, seen));
            for (numerator, denominator) in FACTORS {
                let factor = ratio(numerator, denominator);
                let epsilon = real(&factor).ln();
                let got = thresholded_passive(6, probability(0.375), threshold, known as u64, eps(epsilon)).unwrap();
                let what = format!("known {known} T={threshold} {factor}");
                let (ten, one) = (hockey(&with, &without, &factor), hockey(&without, &with, &factor));
                near(&what, got.with_against_without, ten);
                near(&what, got.without_against_with, one);
                let all = poisson_binomial(&singles(&[0.375; 5])).unwrap();
                assert!(coupling(&all, threshold).upper >= ten.max(one) - 1e-13, "{what}");
                let unified =
                    unified_passive(probability(0.375), threshold, eps(epsilon), known as u64, Some(5 - known as u64))
                        .unwrap();
                assert!(unified.upper >= ten.max(one) - 1e-13, "{what} {unified:?}");
            }
        }
    }
}

#[test]
fn no_belief_in_the_box_exceeds_the_worst_case_and_one_attains_it() {
    for m in 1..=5usize {
        for (lambda_n, lambda_d) in [(1, 10), (1, 4), (2, 5), (1, 2)] {
            let low = ratio(lambda_n, lambda_d);
            let high = BigRational::one() - &low;
            let grid =
                [low.clone(), (&low + &high) / ratio(2, 1), high.clone(), (&low * ratio(3, 1) + &high) / ratio(4, 1)];
            for (numerator, denominator) in [(1, 1), (3, 2), (4, 1)] {
                let factor = ratio(numerator, denominator);
                let worst =
                    worst_count(m as u64, lambda(real(&low)), AddedNoise::None, eps(real(&factor).ln()), 1, 1e-9)
                        .unwrap()
                        .delta;
                let (mut largest, mut beliefs) = (0.0f64, vec![0usize; m]);
                loop {
                    let list: Vec<BigRational> = beliefs.iter().map(|&choice| grid[choice].clone()).collect();
                    let count = |records: &[u32]| records.iter().sum::<u32>();
                    let (with, without) = (law(&list, 1, count), law(&list, 0, count));
                    largest = largest.max(hockey(&with, &without, &factor)).max(hockey(&without, &with, &factor));
                    // Beliefs in non-decreasing order are all there are up to symmetry.
                    let Some(place) = (0..m).rev().find(|&place| beliefs[place] + 1 < grid.len()) else { break };
                    let next = beliefs[place] + 1;
                    beliefs[place..].fill(next);
                }
                near(&format!("{m} {low} {factor}"), worst, largest);
            }
        }
    }
}

#[test]
fn the_unified_theorem_covers_every_belief_below_p_max() {
    let p_max = 0.6;
    for threshold in 0..=4i64 {
        for epsilon in [0.0, 0.4, 1.5] {
            let bound = unified(probability(p_max), threshold, eps(epsilon), Some(5)).unwrap();
            let mut largest = 0.0f64;
            for choice in 0..4u32.pow(5) {
                let list: Vec<f64> =
                    (0..5).map(|place| [0.0, 0.2, 0.45, p_max][(choice / 4u32.pow(place) % 4) as usize]).collect();
                let others = poisson_binomial(&singles(&list)).unwrap();
                largest = largest.max(thresholded(&others, threshold, eps(epsilon)).delta().upper);
            }
            holds(&format!("T={threshold} {epsilon}"), bound, largest, 1e-9);
        }
    }
}

#[test]
fn the_blanket_covers_every_histogram_and_is_attained() {
    // Three and four categories, all with at least 0.1: rows from a small grid.
    let grid = [vec![0.1, 0.1, 0.8], vec![0.1, 0.8, 0.1], vec![0.3, 0.3, 0.4], vec![0.2, 0.7, 0.1]];
    let all = |counts: &[u32]| counts.to_vec();
    for epsilon in [0.0, 0.3, 1.0, 2.5] {
        let bound = blanket(4, lambda(0.1), eps(epsilon)).unwrap();
        let mut largest = 0.0f64;
        for choice in 0..256usize {
            let rows: Vec<Vec<f64>> = (0..4).map(|place| grid[choice >> (2 * place) & 3].clone()).collect();
            for (a, b) in [(0, 1), (0, 2), (1, 2)] {
                let (in_a, in_b) = (cells(&rows, a, all), cells(&rows, b, all));
                largest = largest.max(divergence(&in_a, &in_b, epsilon)).max(divergence(&in_b, &in_a, epsilon));
            }
        }
        holds(&format!("blanket {epsilon}"), bound, largest, 1e-9);
    }
}

#[test]
fn unequal_minima_are_attained_as_well() {
    let rows = vec![vec![0.05, 0.2, 0.75]; 6];
    let all = |counts: &[u32]| counts.to_vec();
    for epsilon in [0.0, 0.5, 1.7, 4.0] {
        let (ab, ba) = blanket_pair(6, 0.05, 0.2, eps(epsilon)).unwrap();
        let (in_a, in_b) = (cells(&rows, 0, all), cells(&rows, 1, all));
        holds("ab", ab, divergence(&in_a, &in_b, epsilon), 1e-9);
        holds("ba", ba, divergence(&in_b, &in_a, epsilon), 1e-9);
    }
}

#[test]
fn k_anonymity_covers_every_small_release() {
    // A rare and two common categories, and a hidden one; others of two kinds, in all mixtures.
    let kinds = [vec![0.05, 0.25, 0.3, 0.4], vec![0.1, 0.3, 0.2, 0.4]];
    for k in 1..=5u64 {
        for mixture in 0..=5usize {
            let rows: Vec<Vec<f64>> = (0..5).map(|place| kinds[usize::from(place < mixture)].clone()).collect();
            let show = |counts: &[u32]| {
                counts[..3].iter().map(|&count| if u64::from(count) >= k { count } else { 0 }).collect::<Vec<u32>>()
            };
            let anonymity = Anonymity {
                records: 6,
                unknown_others: 5,
                lambda: lambda(0.2),
                rare: probability(0.1),
                k,
                influenced: 0,
            };
            for epsilon in [0.0, 0.3, 1.0] {
                let claim = k_anonymity(&anonymity, eps(epsilon)).unwrap().upper;
                for a in 0..4 {
                    for b in 0..4 {
                        let truth = divergence(&cells(&rows, a, show), &cells(&rows, b, show), epsilon);
                        assert!(truth <= claim + 1e-12, "k={k} {a} {b} {epsilon}: {truth} {claim}");
                    }
                }
            }
        }
    }
}

#[test]
fn geometric_noise_by_enumeration() {
    // S + Z over a window wide enough that the rest of the geometric is below 1e-30.
    for (list, p) in [(vec![], 0.5), (vec![0.3], 0.5), (vec![0.1, 0.5, 0.9], 0.7), (vec![0.5; 6], 0.25)] {
        for shift in [1u32, 3] {
            for epsilon in [0.0, 0.1, 0.5, 0.69, 1.3] {
                let base = poisson_binomial(&singles(&list)).unwrap();
                let at = |k: i64| -> f64 {
                    (0..=list.len() as i64)
                        .map(|j| base.at(j) * (1.0 - p) / (1.0 + p) * f64::powi(p, (k - j).unsigned_abs() as i32))
                        .sum()
                };
                let exact: f64 =
                    (-250..260i64).map(|k| (at(k - i64::from(shift)) - f64::exp(epsilon) * at(k)).max(0.0)).sum();
                let noise = AddedNoise::Geometric(Ratio::new(p).unwrap());
                let got = directions_with_noise(&base, noise, eps(epsilon), shift).with_against_without;
                assert!(
                    (got.upper - exact).abs() < 1e-11 && got.lower <= exact + 1e-11,
                    "{list:?} {p} {epsilon}: {got:?} {exact}"
                );
            }
        }
    }
}

#[test]
fn discrete_gaussian_noise_by_enumeration() {
    for (list, sigma) in [(vec![], 1.0), (vec![0.3], 0.4), (vec![0.1, 0.5, 0.9], 2.5), (vec![0.5; 6], 7.0)] {
        let reach = 400i64;
        let weight = |z: i64| f64::exp(-0.5 * (z as f64 / sigma).powi(2));
        let total: f64 = (-reach..=reach).map(weight).sum();
        let base = poisson_binomial(&singles(&list)).unwrap();
        let at = |k: i64| -> f64 { (0..=list.len() as i64).map(|j| base.at(j) * weight(k - j) / total).sum() };
        for (shift, epsilon) in [(1i64, 0.0), (1, 0.3), (2, 1.0), (1, 2.0)] {
            let exact: f64 = (-reach..=reach).map(|k| (at(k - shift) - f64::exp(epsilon) * at(k)).max(0.0)).sum();
            let noise = AddedNoise::DiscreteGaussian(scumble::quantity::Sigma::new(sigma).unwrap());
            let got = directions_with_noise(&base, noise, eps(epsilon), shift as u32).with_against_without;
            assert!(
                (got.upper - exact).abs() < 1e-11 && got.lower <= exact + 1e-11,
                "{list:?} {sigma} {epsilon}: {got:?} {exact}"
            );
        }
    }
}
