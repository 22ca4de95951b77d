//! The generic learner against enumeration: hypotheses over one attribute, all tables of two rows.

use super::*;
use crate::harness::{Claim, Distribution, ProbabilityInterval, Slack, check};
use crate::scope::Scope;

type GenericRow = (u8, bool);

/// All four functions of one bit.
fn mistakes(rows: &[GenericRow]) -> Vec<u64> {
    let wrong = |h: u8| rows.iter().filter(|(x, y)| (h >> x & 1 == 1) != *y).count() as u64;
    (0..4).map(wrong).collect()
}

fn law(rows: &[GenericRow], coefficient: f64) -> Distribution<usize> {
    let weights: Vec<f64> = mistakes(rows).iter().map(|wrong| (-coefficient * *wrong as f64).exp()).collect();
    let total: f64 = weights.iter().sum();
    Distribution::new(weights.iter().map(|w| ProbabilityInterval::near(w / total, 1e-13)).enumerate(), 0.0)
}

#[test]
fn presence_costs_half_of_a_person() {
    let universe: Vec<GenericRow> = vec![(0, false), (0, true), (1, false), (1, true)];
    let (mut added, mut replaced) = (Vec::new(), Vec::new());
    for first in &universe {
        added.push((vec![], vec![*first]));
        for second in &universe {
            added.push((vec![*first], vec![*first, *second]));
            replaced.extend(universe.iter().map(|other| (vec![*first, *second], vec![*first, *other])));
        }
    }
    let coefficient = 0.7;
    let events = GenericLearner::new(Epsilon::new(coefficient).unwrap()).unwrap().events(None).unwrap();
    for (pairs, scope, most) in [(added, Scope::Presence, 0.7), (replaced, Scope::Person, 1.4)] {
        let claim = Claim::of(&events, &scope, &[0.2]);
        assert!((claim.pure.unwrap() - most).abs() < 1e-9);
        check(&pairs, |rows| law(rows, coefficient), &claim, Slack::ANY);
    }
}

#[test]
fn nothing_to_choose_from_is_refused() {
    let learner = GenericLearner::new(Epsilon::new(1.0).unwrap()).unwrap();
    let mut bits = crate::noise::InsecureSeededSource::new(1);
    assert!(learner.release(&[], &mut bits).is_err() && learner.release(&[u64::MAX], &mut bits).is_err());
    assert!(GenericLearner::new(Epsilon::new(0.0).unwrap()).is_err());
    assert_eq!(learner.release(&[3], &mut bits).unwrap(), 0);
}
