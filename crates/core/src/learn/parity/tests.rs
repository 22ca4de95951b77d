//! Parities: the exact law as rationals for all tables of up to three rows, against what is claimed and charged; and
//! the sampler against that law. (`tests/learning.rs` compares the formulas with the vectors.)

use super::*;
use crate::harness::{Claim, Distribution, Slack, check};
use crate::noise::InsecureSeededSource;
use crate::quantity::Delta;
use crate::scope::Scope;
use num_rational::BigRational;
use std::collections::BTreeSet;

type ParityRow = (u64, bool);

fn quotient(text: &str) -> Quotient {
    text.parse().unwrap()
}

fn learner(keep: &str, give_up: &str) -> ParityLearner {
    ParityLearner::new(quotient(keep), quotient(give_up)).unwrap()
}

fn examples(rows: &[ParityRow], attributes: usize) -> Vec<Example> {
    rows.iter().map(|(x, y)| Example::from_words(vec![*x], attributes, *y).unwrap()).collect()
}

/// Every bit string in turn, for what asks for single bits.
struct BitScript(u64);

impl BitSource for BitScript {
    fn next_u64(&mut self) -> u64 {
        unreachable!("only single bits are asked for")
    }

    fn next_bits(&mut self, count: u32) -> u64 {
        assert_eq!(count, 1);
        let bit = self.0 & 1;
        self.0 >>= 1;
        bit
    }

    fn is_secure(&self) -> bool {
        false
    }
}

/// The hypotheses that satisfy all rows, by trying each.
fn satisfying(rows: &[ParityRow], attributes: usize) -> Vec<u64> {
    let fits = |h: &u64| rows.iter().all(|(x, y)| ((h & x).count_ones() % 2 == 1) == *y);
    (0..1u64 << attributes).filter(fits).collect()
}

/// The law of the output, with what the elimination gives for every sample of the rows and all its free bits.
fn law(rows: &[ParityRow], attributes: usize, learner: &ParityLearner) -> Distribution<Option<u64>> {
    let ratio = |quotient: Quotient| {
        let (above, below) = quotient.parts();
        BigRational::new(above.into(), below.into())
    };
    let one = || BigRational::from_integer(1.into());
    let (keep, give_up) = (ratio(learner.keep()), ratio(learner.give_up()));
    let mut outcomes = vec![(None, give_up.clone())];
    for sample in 0..1usize << rows.len() {
        let kept: Vec<ParityRow> = (0..rows.len()).filter(|i| sample >> i & 1 == 1).map(|i| rows[i]).collect();
        let mass = (0..rows.len())
            .fold(one() - &give_up, |mass, i| mass * if sample >> i & 1 == 1 { keep.clone() } else { one() - &keep });
        let mut equations = Equations::new(attributes);
        let is_consistent = examples(&kept, attributes).iter().all(|row| equations.add(row.words(), row.label()));
        let expected = satisfying(&kept, attributes);
        assert_eq!(is_consistent, !expected.is_empty(), "{kept:?}");
        if !is_consistent {
            outcomes.push((None, mass));
            continue;
        }
        let free = attributes - equations.rank;
        let solutions: Vec<u64> = (0..1u64 << free).map(|bits| equations.solution(&mut BitScript(bits))[0]).collect();
        assert_eq!(solutions.iter().copied().collect::<BTreeSet<_>>(), expected.iter().copied().collect(), "{kept:?}");
        let each = mass / BigRational::from_integer((1u64 << free).into());
        outcomes.extend(solutions.into_iter().map(|h| (Some(h), each.clone())));
    }
    Distribution::exact(outcomes)
}

fn universe(attributes: usize) -> Vec<ParityRow> {
    (0..1u64 << attributes).flat_map(|x| [(x, false), (x, true)]).collect()
}

/// All tables of up to two rows, without regard to their order.
fn tables(attributes: usize) -> Vec<Vec<ParityRow>> {
    let rows = universe(attributes);
    let mut tables = vec![vec![]];
    for (place, first) in rows.iter().enumerate() {
        tables.push(vec![*first]);
        tables.extend(rows[place..].iter().map(|second| vec![*first, *second]));
    }
    tables
}

/// ✔: the claim is reached in both scopes, for all tables of up to three rows.
#[test]
fn the_claim_is_the_truth_for_all_small_tables() {
    let with = |table: &[ParityRow], row: ParityRow| [table, &[row]].concat();
    let (mut added, mut replaced) = (Vec::new(), Vec::new());
    for table in tables(2) {
        for (place, row) in universe(2).into_iter().enumerate() {
            added.push((table.clone(), with(&table, row)));
            replaced.extend(universe(2)[..place].iter().map(|other| (with(&table, *other), with(&table, row))));
        }
    }
    for (keep, give_up) in [("1/10", "1/12"), ("1/4", "3/7"), ("1/4", "3/11"), ("1/2", "1/5")] {
        let learner = learner(keep, give_up);
        let events = learner.events(None).unwrap();
        for (pairs, scope, own) in [
            (&added, Scope::Presence, learner.epsilon_presence().get()),
            (&replaced, Scope::Person, learner.epsilon_person().get()),
        ] {
            let claim = Claim::of(&events, &scope, &[own / 2.0]);
            assert!((claim.pure.unwrap() - own).abs() < 1e-9 * own);
            check(pairs, |table| law(table, 2, &learner), &claim, Slack { delta: f64::INFINITY, ..Slack::TIGHT });
        }
    }
}

#[test]
#[should_panic(expected = "unsound")]
fn the_claim_of_the_survey_is_false() {
    // p = ε = ½, c = ½: said to be 2ε = 1.
    let claim = Claim { pure: Some(1.0), ..Claim::default() };
    let learner = learner("1/2", "1/2");
    check(&[(vec![(1, true)], vec![(1, false)])], |table| law(table, 2, &learner), &claim, Slack::ANY);
}

/// Two rows that go cost more than one that is replaced: a group is counted owner by owner.
#[test]
fn groups_cost_as_many_times_as_they_have_owners() {
    let learner = learner("1/2", "1/5");
    let events = learner.events(None).unwrap();
    let two = |scope: Scope| {
        crate::Loss::of(&events, scope.group(2.try_into().unwrap())).unwrap().epsilon(Delta::new(0.0).unwrap()).upper
    };
    assert!((two(Scope::Presence) - 2.0 * learner.epsilon_presence().get()).abs() < 1e-9);
    assert!((two(Scope::Person) - 2.0 * learner.epsilon_person().get()).abs() < 1e-9);
    let pairs: Vec<_> = universe(2).into_iter().map(|row| (vec![], vec![row, (row.0, row.1)])).collect();
    let claim = Claim { pure: Some(two(Scope::Presence)), ..Claim::default() };
    check(&pairs, |table| law(table, 2, &learner), &claim, Slack::ANY);
    assert!(
        2.0 * learner.epsilon_presence().get() > learner.epsilon_person().get() * 1.1,
        "otherwise this tests nothing"
    );
}

/// Three steps charged as two passed all tests: no owner had more than two.
#[test]
fn three_rows_of_an_owner_cost_no_less_than_they_lose() {
    let learner = learner("1/2", "1/5");
    let word = learner.events(None).unwrap().remove(0).word().clone();
    let three = crate::Event::new(word, Moves::everywhere(Shift::one_cell(3.0).unwrap()));
    let charged = crate::Loss::of([three], Scope::Presence).unwrap().epsilon(Delta::new(0.0).unwrap()).upper;
    let pairs: Vec<_> = universe(2).into_iter().map(|row| (vec![], vec![row; 3])).collect();
    let claim = Claim { pure: Some(charged), ..Claim::default() };
    check(&pairs, |table| law(table, 2, &learner), &claim, Slack::ANY);
    assert!(charged > 1.5 * learner.epsilon_person().get(), "{charged}: two steps are one replacement");
}

#[test]
fn targets_are_met_and_used_up() {
    for epsilon in [1e-6, 0.01, 0.5, 1.0, 3.0, 20.0] {
        let person = ParityLearner::for_person(Epsilon::new(epsilon).unwrap()).unwrap();
        let presence = ParityLearner::for_presence(Epsilon::new(epsilon).unwrap()).unwrap();
        for (found, slack) in [(person.epsilon_person().get(), 1e-3), (presence.epsilon_presence().get(), 1e-3)] {
            // The grid of 2^−31 is coarse beside the smallest and the largest probabilities.
            assert!(
                found <= epsilon && found > epsilon * (1.0 - slack) - if epsilon > 10.0 { 1.5 } else { 0.0 },
                "{epsilon} {found}"
            );
        }
    }
    assert!(
        ParityLearner::for_person(Epsilon::new(0.0).unwrap()).is_err()
            && ParityLearner::for_presence(Epsilon::new(50.0).unwrap()).is_err()
    );
}

/// False alarm: 1e-11 for each of ten counts, by Hoeffding.
#[test]
fn the_sampler_draws_the_stated_law() {
    let draws = 200_000u32;
    let allowed = (f64::from(draws) * (2.0f64 / 1e-11).ln() / 2.0).sqrt();
    for (rows, keep, give_up) in
        [([(1, false), (1, true), (3, true)], "1/2", "1/3"), ([(1, true), (2, false), (3, true)], "1/4", "3/11")]
    {
        let learner = learner(keep, give_up);
        let examples = examples(&rows, 2);
        let mut bits = InsecureSeededSource::new(9);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..draws {
            let found = learner.release(&examples, 2, &mut bits).unwrap();
            *counts.entry(found.map(|h| h.words[0])).or_insert(0u32) += 1;
        }
        for (outcome, chance) in law(&rows, 2, &learner).iter() {
            let seen = f64::from(counts.get(outcome).copied().unwrap_or(0));
            assert!((seen - chance.lower * f64::from(draws)).abs() <= allowed, "{outcome:?}: {seen}");
        }
    }
}

/// Three hundred attributes: the parity is found, in one part as in four; where every row is there with the other label
/// too, nothing is.
#[test]
fn many_attributes_are_learnt_from_many_rows() {
    let attributes = 300usize;
    let mut bits = InsecureSeededSource::new(4);
    let secret: Vec<u64> = (0..attributes.div_ceil(64)).map(|_| bits.next_u64()).collect();
    let mut row = || {
        let mut words: Vec<u64> = (0..attributes.div_ceil(64)).map(|_| bits.next_u64()).collect();
        words[attributes / 64] &= (1 << (attributes % 64)) - 1;
        let label = words.iter().zip(&secret).map(|(x, h)| (x & h).count_ones()).sum::<u32>() % 2 == 1;
        Example::from_words(words, attributes, label).unwrap()
    };
    let rows: Vec<Example> = (0..6000).map(|_| row()).collect();
    let learner = learner("1/3", "1/1000");
    let mut bits = InsecureSeededSource::new(5);
    for parts in [1, 4] {
        let found = learner.release_in_parts(&rows, attributes, parts, &mut bits).unwrap().unwrap();
        assert!(rows.iter().all(|row| found.predicts(row) == row.label()), "{parts}");
    }
    let flipped = |row: &Example| Example::from_words(row.words().to_vec(), attributes, !row.label()).unwrap();
    let wrong: Vec<Example> = rows.iter().take(3000).cloned().chain(rows[..3000].iter().map(flipped)).collect();
    assert_eq!(learner.release(&wrong, attributes, &mut bits).unwrap(), None);
}

#[test]
fn what_cannot_be_learnt_is_refused() {
    let learner = learner("1/2", "1/3");
    let row = Example::new(&[true, false], true);
    let mut bits = InsecureSeededSource::new(1);
    assert!(learner.release(&[], 0, &mut bits).is_err());
    assert!(learner.release(&[], MOST_ATTRIBUTES + 1, &mut bits).is_err());
    let refused = learner.release(&[row.clone(), row], 65, &mut bits).unwrap_err();
    assert_eq!(refused.to_string(), "row 0 does not have 65 attributes");
    assert!(learner.rows_needed(0.0, Beta::new(0.05).unwrap(), 3).is_err());
}
