//! Learners: each part of the budget by itself, the others so large that they decide nothing.

use crate::added::published;
use scumble::event::{Event, Quotient, Word};
use scumble::learn::generic::GenericLearner;
use scumble::learn::parity::{self, ParityLearner};
use scumble::learn::query::{CentralQueries, LocalQueries, QueryBatch, StatisticalQueries, UNIT};
use scumble::learn::threshold::ThresholdLearner;
use scumble::learn::{Example, distribution, halfspace, point};
use scumble::mechanism::heavy_hitters::{Child, HeavyHitters, Node, Tree};
use scumble::noise::InsecureSeededSource;
use scumble::quantity::{Epsilon, Rho, Scale};
use scumble::{AttributeSet, Scope, Target};
use scumble_testing::laws::{DRAWS, IntegerDistribution, SLIP, noise, outcomes, seen};
use std::collections::BTreeMap;

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

fn coin(chance: f64) -> BTreeMap<bool, f64> {
    BTreeMap::from([(true, chance), (false, 1.0 - chance)])
}

/// One node over this many attributes, with threshold 5 and clip 3, and the event of its first attribute.
fn one_node(attributes: usize) -> (Tree, Event) {
    let children = (0..attributes).map(Child::Attribute).collect();
    let node = Node { children, threshold: 5, clip: 3, scale: Scale::new(2.0).unwrap() };
    let tree = Tree::new(attributes, vec![node], &[]).unwrap();
    let names: Vec<String> = (0..attributes).map(|j| format!("a{j}")).collect();
    let event = tree.events(&names).unwrap().remove(2);
    assert!(matches!(event.word(), Word::HeavyHitters { .. }));
    (tree, event)
}

/// Of a hundred people twelve have the string: its probability is the noisy count that the heavy hitters publish.
pub fn a_distribution() {
    let (tree, event) = one_node(1);
    let finder = HeavyHitters::new(tree, vec![2]).unwrap();
    let column: Vec<u8> = (0..100).map(|person| u8::from(person >= 8)).collect();
    let mut bits = InsecureSeededSource::new(100);
    let mut count = || {
        let found = distribution::estimate(&finder, std::slice::from_ref(&column), 0.01, &mut bits).unwrap();
        let share = found.probability(&[0]);
        (share > 0.0).then(|| (100.0 * share).round() as i64)
    };
    let drawn: Vec<Option<i64>> = (0..DRAWS).map(|_| count()).collect();
    let law = |factor: f64| published(&IntegerDistribution::of_event(&event, factor), 8, 6);
    outcomes("distribution", drawn, &law(1.0), &law(SLIP));
}

/// Two strings have label 1, 12 and 9 people; the larger noisy count wins, the first of equal ones.
pub fn a_point() {
    let (tree, event) = one_node(2);
    let finder = HeavyHitters::new(tree, vec![2, 2]).unwrap();
    let columns = vec![(0..21).map(|person| u8::from(person >= 12)).collect::<Vec<u8>>(), vec![1; 21]];
    let law = |factor: f64| {
        let noise = IntegerDistribution::of_event(&event, factor);
        let (first, second) = (published(&noise, 12, 6), published(&noise, 9, 6));
        let mut wins = 0.0;
        for (left, p) in &first {
            wins += second.iter().filter(|(right, _)| left.is_some() && left >= right).map(|(_, q)| p * q).sum::<f64>();
        }
        // Nothing with label 1 is listed: the first string that is not listed with label 0, where nobody is (the floor
        // of 2).
        let listed = noise.at_least(4);
        coin(wins + first[&None] * second[&None] * (1.0 - listed + listed * listed))
    };
    let mut bits = InsecureSeededSource::new(101);
    let drawn: Vec<bool> =
        (0..DRAWS).map(|_| point::learn(&finder, &columns, 0.25, &mut bits).unwrap() == [0]).collect();
    outcomes("point", drawn, &law(1.0), &law(0.9));
}

/// One point in one dimension: its label is kept with odds e^ε, and of the two halfspaces the right one has odds
/// e^{ε/2}.
pub fn a_halfspace() {
    let candidates = || vec![vec![1], vec![-1]];
    let check = |learner: halfspace::HalfspaceLearner, law: &dyn Fn(f64) -> f64, seed: u64| {
        let mut bits = InsecureSeededSource::new(seed);
        let drawn: Vec<bool> = (0..DRAWS).map(|_| learner.learn(&[vec![1]], &[1], &mut bits).unwrap() == [1]).collect();
        outcomes("halfspace", drawn, &coin(law(1.0)), &coin(law(SLIP)));
    };
    let odds = |exponent: f64| exponent.exp() / (1.0 + exponent.exp());
    let labels = halfspace::HalfspaceLearner::new(0, 1, (3, 1), epsilon(60.0), candidates()).unwrap();
    let label = labels.epsilon_label().get();
    check(labels, &|factor| odds(label / factor), 102);
    let features = halfspace::HalfspaceLearner::new(0, 1, (1_000_000, 1), epsilon(4.0), candidates()).unwrap();
    let feature = features.epsilon_features(1).get();
    check(features, &|factor| odds(feature / 2.0 / factor), 103);
}

/// Of two hypotheses one makes two mistakes more: it is chosen with odds e^{−2c}, and a move of 1 has range c.
pub fn a_class() {
    let learner = GenericLearner::new(Epsilon::new(0.6).unwrap()).unwrap();
    let event = learner.events(None).unwrap().remove(0);
    let Word::Exponential { epsilon } = event.word() else { panic!("{event:?}") };
    let law = |factor: f64| coin(1.0 / (1.0 + (-2.0 * epsilon.get() / factor).exp()));
    let mut bits = InsecureSeededSource::new(105);
    let drawn: Vec<bool> = (0..DRAWS).map(|_| learner.release(&[5, 7], &mut bits).unwrap() == 0).collect();
    outcomes("class", drawn, &law(1.0), &law(SLIP));
}

/// One row x = 1, y = 1 over one attribute: nothing with probability c, else the right parity if the row is kept, or by
/// a coin. In parts only giving up is less likely.
pub fn a_parity() {
    let learner = ParityLearner::for_person(Epsilon::new(1.0).unwrap()).unwrap();
    let event = learner.events(None).unwrap().remove(0);
    let Word::Parity(word) = event.word() else { panic!("{event:?}") };
    let share = |quotient: Quotient| f64::from(quotient.parts().0) / f64::from(quotient.parts().1);
    let (keep, give_up) = (share(word.keep()), share(word.give_up()));
    let rows = [Example::new(&[true], true)];
    let law = |parts: i32, factor: f64| {
        let nothing = (give_up * factor).powi(parts);
        // The row is in the first part that is not given up, or not.
        let first = |part: i32| (give_up * factor).powi(part) * (1.0 - give_up * factor) / f64::from(parts);
        let kept = (0..parts).map(first).sum::<f64>() * keep / factor;
        BTreeMap::from([
            (None, nothing),
            (Some(true), kept + (1.0 - nothing - kept) / 2.0),
            (Some(false), (1.0 - nothing - kept) / 2.0),
        ])
    };
    let mut bits = InsecureSeededSource::new(106);
    let found = |hypothesis: Option<parity::ParityHypothesis>| hypothesis.map(|h| !h.attributes().is_empty());
    let drawn: Vec<Option<bool>> = (0..DRAWS).map(|_| found(learner.release(&rows, 1, &mut bits).unwrap())).collect();
    outcomes("parity", drawn, &law(1, 1.0), &law(1, 0.8));
    let drawn: Vec<Option<bool>> =
        (0..DRAWS).map(|_| found(learner.release_in_parts(&rows, 1, 2, &mut bits).unwrap())).collect();
    outcomes("parity in parts", drawn, &law(2, 1.0), &law(2, 0.8));
}

/// An ask and a batch of a curator: the noise of their events.
pub fn asked_of_a_curator() {
    let rows = [0u8; 40];
    let mut bits = InsecureSeededSource::new(107);
    let of = |_: &u8, cells: &mut Vec<usize>| cells.push(0);
    let batch = QueryBatch::new(2, 1, &of).unwrap();
    for target in [Target::pure(Epsilon::new(0.7).unwrap()), Target::zcdp(Rho::new(0.1).unwrap())] {
        let mut central = CentralQueries::within(target, Scope::Person, &rows, u64::MAX, &mut bits).unwrap();
        let event = central.events_of_batch(&batch).unwrap().remove(0);
        let drawn: Vec<i64> =
            (0..DRAWS).map(|_| (central.ask_all(&batch).unwrap()[0] * 40.0).round() as i64 - 40).collect();
        noise(
            "batch",
            &drawn,
            &IntegerDistribution::of_event(&event, 1.0),
            &IntegerDistribution::of_event(&event, SLIP),
        );
        // On the grid of 2^−16 the law is too long to list: its spread.
        let event = central.event_of_ask().unwrap();
        let unit = f64::from(UNIT);
        let size = match event.word() {
            Word::DiscreteLaplace { scale } => 2.0 * (scale.get() / unit).powi(2),
            Word::DiscreteGaussian { sigma } => (sigma.get() / unit).powi(2),
            other => panic!("{other:?}"),
        };
        let squares: Vec<f64> =
            (0..DRAWS).map(|_| (central.ask(&|_| UNIT).unwrap() * 40.0 - 40.0).powi(2) / size).collect();
        let mean = squares.iter().sum::<f64>() / DRAWS as f64;
        // The fourth moment of Laplace noise is 6 times the square of the second: seven deviations are 7·√5/√draws.
        assert!((mean - 1.0).abs() < 7.0 * 5f64.sqrt() / (DRAWS as f64).sqrt(), "{mean}");
    }
}

/// One owner: the bit is the truth with the event's probability.
pub fn asked_of_owners() {
    let rows = [1u8];
    let mut bits = InsecureSeededSource::new(108);
    let mut one = || {
        let mut local = LocalQueries::new(&rows, Epsilon::new(1.3).unwrap(), 1, &mut bits).unwrap();
        let event = local.events(&AttributeSet::new(["value"]).unwrap()).unwrap().remove(1);
        assert!(matches!(event.word(), Word::RandomizedResponse { epsilon, .. } if epsilon.get() == 1.3));
        local.ask(&|_| UNIT).unwrap() > 0.5
    };
    let drawn: Vec<bool> = (0..DRAWS).map(|_| one()).collect();
    let law = |factor: f64| coin(1.0 / (1.0 + (-1.3f64 / factor).exp()));
    outcomes("local ask", drawn, &law(1.0), &law(SLIP));
}

/// Numbers and labels, this many of each.
fn people(groups: &[(u64, bool, usize)]) -> (Vec<u64>, Vec<bool>) {
    groups.iter().flat_map(|&(number, label, times)| std::iter::repeat_n((number, label), times)).unzip()
}

/// Each step of the learner of thresholds; what its parts add up to is `epsilon_feature` and `epsilon_label`.
pub fn a_threshold() {
    let sure = epsilon(60.0);
    let all_sure = ThresholdLearner { balance: sure, length: sure, prefix: sure, choice: sure, accuracy: 0.82 };
    let check = |name: &str,
                 learner: ThresholdLearner,
                 data: &[(u64, bool, usize)],
                 bits: u32,
                 is: &dyn Fn(u64) -> bool,
                 law: &dyn Fn(f64) -> f64| {
        let (numbers, labels) = people(data);
        assert_eq!(numbers.len(), 100);
        let mut source = InsecureSeededSource::new(104);
        let drawn: Vec<bool> =
            (0..DRAWS / 10).map(|_| is(learner.learn(&numbers, &labels, bits, &mut source).unwrap().from)).collect();
        // A draw is slow, so that there are fewer.
        outcomes(name, drawn, &coin(law(1.0)), &coin(law(seen(0.85))));
    };
    // 45 ones of 100, and up to 41 are few: then the learner gives the largest number, else 1.
    let balance = ThresholdLearner { balance: epsilon(0.3), ..all_sure };
    assert!((balance.epsilon_label().get() - balance.epsilon_feature().get() - 0.3).abs() < 1e-9);
    let few = |factor: f64| IntegerDistribution::discrete_laplace(factor / 0.3).at_least(4);
    check("threshold, balance", balance, &[(0, false, 55), (1, true, 45)], 2, &|from| from == 3, &few);
    // Two tests for lengths of 3 bits: 11 is shared by 15 of both labels, where 13 are enough; 111 by none.
    let length = ThresholdLearner { length: epsilon(1.0), ..all_sure };
    assert!((length.epsilon_feature().get() - 121.0).abs() < 1e-9);
    let shared = [(0, false, 35), (2, true, 35), (6, false, 15), (7, true, 15)];
    let passes = |factor: f64| {
        let noise = IntegerDistribution::discrete_laplace(2.0 * factor);
        noise.at_least(-2) * (1.0 - noise.at_least(13))
    };
    check("threshold, length", length, &shared, 3, &|from| from >= 6, &passes);
    // Of 0, 1 and 1 the first errs on 50 people more; half of ε for each.
    let choice = ThresholdLearner { choice: epsilon(0.08), ..all_sure };
    let right = |factor: f64| 2.0 / (2.0 + (-0.08 / factor / 2.0 * 50.0).exp());
    check("threshold, choice", choice, &[(0, false, 50), (1, true, 50)], 2, &|from| from == 1, &right);
}
