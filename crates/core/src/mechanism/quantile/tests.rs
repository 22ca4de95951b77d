//! Exact distributions against all neighbours, the sampler against the definition, errors against seeded runs.

use super::*;
use crate::harness::{self, Claim, Distribution, Slack, check, neighbours};
use crate::noise::InsecureSeededSource;
use crate::scope::Scope;

/// The exact output distribution, computed point by point in f64 from the definition.
fn distribution(last: u128, fraction: f64, epsilon: f64, values: &[u128]) -> Distribution<u128> {
    let quantile = RankFraction::near(Probability::new(fraction).unwrap());
    let n = values.len() as f64;
    let weight = |y: u128| {
        let below = values.iter().filter(|value| **value < y).count() as f64;
        let above = values.iter().filter(|value| **value > y).count() as f64;
        let (a, b) = (quantile.part as f64, quantile.whole as f64);
        let distance = (b * below - a * n).max(b * above - (b - a) * n).max(0.0);
        (-epsilon * distance / (2.0 * a.max(b - a))).exp()
    };
    let total: f64 = (0..=last).map(weight).sum();
    Distribution::new((0..=last).map(|y| (y, harness::ProbabilityInterval::near(weight(y) / total, 1e-13))), 0.0)
}

#[test]
fn presence_and_person_cost_what_the_event_says() {
    let universe: Vec<u128> = vec![0, 2, 3, 5];
    for fraction in [0.5, 0.25, 0.9, 0.0] {
        let quantile = Quantile::new(5, Probability::new(fraction).unwrap(), Epsilon::new(0.8).unwrap()).unwrap();
        let replaced = quantile.events().unwrap().remove(0).moves().shifts(&Scope::Person)[0].by.get();
        let run = |values: &Vec<u128>| distribution(5, fraction, 0.8, values);
        let claim = Claim { pure: Some(0.8), ..Claim::default() };
        check(&neighbours::presence(&universe, 4), run, &claim, Slack::ANY);
        let claim = Claim { pure: Some(0.8 * replaced), ..Claim::default() };
        check(&neighbours::person(&universe, 4), run, &claim, Slack::ANY);
    }
}

/// The exact distribution of an end: by the definition, with the k-th value from below (or above, by turning the keys
/// around).
fn end_distribution(last: u128, rank: u128, above: bool, epsilon: f64, values: &[u128]) -> Distribution<u128> {
    let turned = |key: u128| if above { last - key } else { key };
    let weight = |y: u128| {
        let y = turned(y);
        let up_to = values.iter().filter(|value| turned(**value) <= y).count() as f64;
        let below = values.iter().filter(|value| turned(**value) < y).count() as f64;
        let distance = (rank as f64 - up_to).max(below - (rank as f64 - 1.0)).max(0.0);
        (-epsilon * distance / 2.0).exp()
    };
    let total: f64 = (0..=last).map(weight).sum();
    Distribution::new((0..=last).map(|y| (y, harness::ProbabilityInterval::near(weight(y) / total, 1e-13))), 0.0)
}

#[test]
fn an_end_costs_what_its_event_says() {
    // At this epsilon the rank of an end is 3, so that tables with fewer, as many and more values are all there.
    let epsilon = Epsilon::new(4.0).unwrap();
    let universe: Vec<u128> = vec![0, 2, 3, 5];
    for (quantile, above) in
        [(Quantile::least(5, epsilon).unwrap(), false), (Quantile::largest(5, epsilon).unwrap(), true)]
    {
        let (RankTarget::FromBelow(rank) | RankTarget::FromAbove(rank)) = quantile.target else { panic!("not an end") };
        assert_eq!(rank, 3);
        let run = |values: &Vec<u128>| end_distribution(5, rank, above, 4.0, values);
        let claim = Claim { pure: Some(4.0), ..Claim::default() };
        check(&neighbours::presence(&universe, 5), run, &claim, Slack::ANY);
        check(&neighbours::person(&universe, 4), run, &claim, Slack::ANY);
        let event = quantile.events().unwrap().remove(0);
        assert_eq!(event.moves().shifts(&Scope::Person)[0].by.get(), 1.0);
    }
}

#[test]
fn the_sampler_of_an_end_has_the_distribution_of_the_definition() {
    // χ² with 10 cells over 2·10^4 draws, false alarm below 1e-9 (Laurent–Massart).
    let values = vec![1, 1, 4, 5, 9];
    let epsilon = Epsilon::new(4.0).unwrap();
    for (quantile, above) in
        [(Quantile::least(9, epsilon).unwrap(), false), (Quantile::largest(9, epsilon).unwrap(), true)]
    {
        let (RankTarget::FromBelow(rank) | RankTarget::FromAbove(rank)) = quantile.target else { panic!("not an end") };
        let exact = end_distribution(9, rank, above, 4.0, &values);
        let counts = values.iter().fold(BTreeMap::new(), |mut counts, value| {
            *counts.entry(*value).or_insert(0u64) += 1;
            counts
        });
        let mut bits = InsecureSeededSource::new(6);
        let draws = 20_000;
        let mut seen = [0f64; 10];
        for _ in 0..draws {
            seen[quantile.release_counted(&counts, &mut bits) as usize] += 1.0;
        }
        let expected = |y: usize| exact.probability(&(y as u128)).unwrap().lower * f64::from(draws);
        let statistic: f64 = (0..10).map(|y| (seen[y] - expected(y)).powi(2) / expected(y)).sum();
        let x = 1e9f64.ln();
        assert!(statistic < 9.0 + 2.0 * (9.0 * x).sqrt() + 2.0 * x, "{statistic}");
    }
}

#[test]
fn counted_values_beyond_the_last_key_count_as_the_last() {
    let median = Quantile::new(5, Probability::new(0.5).unwrap(), Epsilon::new(50.0).unwrap()).unwrap();
    let counts = BTreeMap::from([(1, 3), (4, 0), (9, 4), (12, 5)]);
    assert_eq!(median.release_counted(&counts, &mut InsecureSeededSource::new(2)), 5);
}

#[test]
fn a_replaced_value_moves_no_less_than_the_exact_quotient() {
    for fraction in [0.25, 0.1, 0.9, 0.3, 0.5, 0.0, 1.0] {
        let quantile = Quantile::new(5, Probability::new(fraction).unwrap(), Epsilon::new(1.0).unwrap()).unwrap();
        let by = quantile.events().unwrap().remove(0).moves().shifts(&Scope::Person)[0].by.get();
        let exact = BigRational::new(quantile.target.whole().into(), quantile.target.sensitivity().into());
        let by = BigRational::from_float(by).unwrap();
        assert!(by >= exact && by.to_f64() <= exact.to_f64().map(f64::next_up), "{fraction}");
    }
}

#[test]
fn the_sampler_has_the_distribution_of_the_definition() {
    // χ² with 6 cells over 2·10^4 draws, false alarm below 1e-9 (Laurent–Massart).
    let values = vec![1, 1, 4, 5, 9];
    for fraction in [0.5, 0.25] {
        let exact = distribution(9, fraction, 1.5, &values);
        let quantile = Quantile::new(9, Probability::new(fraction).unwrap(), Epsilon::new(1.5).unwrap()).unwrap();
        let mut bits = InsecureSeededSource::new(3);
        let draws = 20_000;
        let mut seen = [0f64; 10];
        for _ in 0..draws {
            seen[quantile.release(&values, &mut bits) as usize] += 1.0;
        }
        let expected = |y: usize| exact.probability(&(y as u128)).unwrap().lower * f64::from(draws);
        let statistic: f64 = (0..10).map(|y| (seen[y] - expected(y)).powi(2) / expected(y)).sum();
        let x = 1e9f64.ln();
        assert!(statistic < 9.0 + 2.0 * (9.0 * x).sqrt() + 2.0 * x, "{statistic}");
    }
}

#[test]
fn segments_cover_the_domain_once_and_have_the_right_distances() {
    let fraction = RankFraction::near(Probability::new(0.25).unwrap());
    let values = [0, 0, 3, 7, 7, 9];
    let runs = [(0, 2), (3, 1), (7, 2), (9, 1)];
    let segments = segments(&runs, (0, 9), |y| y - 1, |y: u128| y.checked_add(1), RankTarget::Fraction(fraction));
    for y in 0u128..=9 {
        let holding: Vec<_> = segments.iter().filter(|s| (s.first..=s.last).contains(&y)).collect();
        assert_eq!(holding.len(), 1);
        let below = values.iter().filter(|v| **v < y).count() as i64;
        let above = values.iter().filter(|v| **v > y).count() as i64;
        let expected = (4 * below - 6).max(4 * above - 18).max(0);
        assert_eq!(holding[0].distance, expected as u128);
    }
}

#[test]
fn the_whole_of_two_to_the_128_works() {
    let median = Quantile::new(u128::MAX, Probability::new(0.5).unwrap(), Epsilon::new(1.0).unwrap()).unwrap();
    let values: Vec<u128> = (0..2000).map(|i| (1 << 100) + i).collect();
    let mut bits = InsecureSeededSource::new(5);
    let error = median.error(Beta::new(1e-9).unwrap()).unwrap();
    for _ in 0..5 {
        let found = median.release(&values, &mut bits);
        let below = values.iter().filter(|value| **value < found).count() as f64;
        assert!((below - 1000.0).abs() <= error, "{below} {error}");
    }
    let nothing = median.release(&[], &mut bits);
    assert!(nothing > 0, "no data: a uniform key, so 0 has probability 2^-128");
    assert!(Quantile::new(5, Probability::new(0.5).unwrap(), Epsilon::new(0.0).unwrap()).is_err());
}
