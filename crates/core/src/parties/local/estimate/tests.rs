//! Intervals: the probability that they hold the truth, computed exactly for every truth.

use super::super::{FrequencyOracle, ReportKind};
use super::*;
use crate::quantity::Epsilon;

/// P[the reports that support a value are c] for every c, if m of n owners hold it.
fn law(support: &Support, n: u64, m: u64) -> Vec<f64> {
    let (holders, others) =
        (BinomialMasses::new(m, support.holder), BinomialMasses::new(n - m, (support.other, 1.0 - support.other)));
    let mut law = vec![0.0; n as usize + 1];
    for (i, p) in holders.masses.iter().enumerate() {
        for (j, q) in others.masses.iter().enumerate() {
            law[(holders.first + others.first) as usize + i + j] += p * q;
        }
    }
    let total: f64 = law.iter().sum();
    assert!((total - 1.0).abs() < 1e-9, "{total}");
    law
}

fn coverage(support: &Support, n: u64, m: u64, intervals: &[Frequency]) -> f64 {
    let holds = |frequency: &Frequency| frequency.low <= m as f64 && m as f64 <= frequency.high;
    law(support, n, m).iter().zip(intervals).filter(|(_, frequency)| holds(frequency)).map(|(mass, _)| mass).sum()
}

/// At every ε from where nothing is said to where nearly all is.
#[test]
fn few_owners_are_covered_whatever_they_hold() {
    for kind in ReportKind::ALL {
        for (epsilon, values) in [(1e-3, 3), (0.5, 2), (1.0, 40), (4.0, 5), (12.0, 1000), (40.0, 7)] {
            let support = FrequencyOracle::new(kind, Epsilon::new(epsilon).unwrap(), values).unwrap().support();
            for n in [1u64, 2, 7, 40] {
                let intervals = estimates(&support, n, &(0..=n).collect::<Vec<_>>(), 0.05);
                for m in 0..=n {
                    let covered = coverage(&support, n, m, &intervals);
                    assert!(covered >= 0.95 - 1e-9, "{} {epsilon} {n} {m}: {covered}", kind.name());
                }
            }
        }
    }
}

/// The normal law, and the place where it takes over. Where p is ½ and q small, a few hundred of 5000 cross it.
#[test]
fn many_owners_are_covered_on_both_sides_of_the_normal_law() {
    for (kind, epsilon, values, n) in [
        (ReportKind::Unary, 1.0, 9, 5_100),
        (ReportKind::Hadamard, 0.7, 9, 4_020),
        (ReportKind::Unary, 5.0, 9, 12_000),
        (ReportKind::KAry, 2.0, 30, 30_000),
    ] {
        let support = FrequencyOracle::new(kind, Epsilon::new(epsilon).unwrap(), values).unwrap().support();
        let intervals = estimates(&support, n, &(0..=n).collect::<Vec<_>>(), 0.05);
        for m in [0, 1, 40, 400, n / 3, n - 1] {
            let covered = coverage(&support, n, m, &intervals);
            assert!(
                (0.95..0.97).contains(&covered) || (m <= 1 || m == n - 1) && covered >= 0.95,
                "{kind:?} {epsilon} {m}: {covered}"
            );
        }
    }
}

/// An interval with the variance of the estimate alone would end below 1 here, half of the time when one owner holds
/// the value.
#[test]
fn a_value_that_nobody_was_seen_to_hold_may_have_a_holder() {
    let support = FrequencyOracle::new(ReportKind::Unary, Epsilon::new(10.0).unwrap(), 5).unwrap().support();
    let seen = support.frequency(1000, 0, 0.05, 1.96);
    assert!(seen.count < 0.0 && seen.high >= 5.0, "{seen:?}");
    assert!(seen.count + 1.96 * seen.standard_error < 1.0);
}

#[test]
fn success_probabilities_are_those_of_clopper_and_pearson() {
    let (low, high) = success(10, 3, 0.05);
    assert!((low - 0.066_739_508_9).abs() < 1e-6 && (high - 0.652_452_856_2).abs() < 1e-6, "{low} {high}");
    let (low, high) = success(100_000, 30_000, 0.05);
    assert!((low - 0.297_16).abs() < 2e-5 && (high - 0.302_85).abs() < 2e-5, "{low} {high}");
    assert_eq!(success(5, 0, 0.05).0, 0.0);
}
