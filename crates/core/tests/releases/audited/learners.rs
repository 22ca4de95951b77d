//! Learners, which say an ε for each scope.

use super::added::scale;
use super::{Audit, claim_of, nearer, pure};
use scumble::event::Event;
use scumble::learn::generic::GenericLearner;
use scumble::learn::parity::ParityLearner;
use scumble::learn::threshold::ThresholdLearner;
use scumble::learn::{Example, distribution, halfspace, point};
use scumble::mechanism::heavy_hitters::{Child, HeavyHitters, Node, Tree};
use scumble::quantity::Epsilon;
use scumble::scope::{AttributeSet, Scope};

/// One node over this many attributes, and what it costs the first.
fn one_node(attributes: usize, at: f64) -> (HeavyHitters, Vec<Event>, Scope) {
    let children = (0..attributes).map(Child::Attribute).collect();
    let tree = Tree::new(attributes, vec![Node { children, threshold: 5, clip: 3, scale: scale(at) }], &[]).unwrap();
    let names: Vec<String> = (0..attributes).map(|j| format!("a{j}")).collect();
    let events = tree.events(&names).unwrap();
    let finder = HeavyHitters::new(tree, vec![2; attributes]).unwrap();
    (finder, events, Scope::Attributes(AttributeSet::new(["a0"]).unwrap()))
}

/// Of a hundred people one changes the string: both shares are noisy counts.
pub fn a_distribution() {
    let (finder, events, scope) = one_node(1, 2.0);
    let column = |zeros: usize| vec![(0..100).map(|person| u8::from(person >= zeros)).collect::<Vec<u8>>()];
    let (here, there) = (column(40), column(41));
    Audit::of("distribution", &events, &scope).tells(1500, |moved, bits| {
        let found = distribution::estimate(&finder, if moved { &there } else { &here }, 0.01, bits).unwrap();
        let count = |value: u32| (100.0 * found.probability(&[value])).round() as i64;
        nearer(&[count(0), count(1)], &[40, 60], &[41, 59])
    });
}

/// Two strings with label 1, whose noisy counts pay for one that changes; only the winner is published.
pub fn a_point() {
    let (finder, events, scope) = one_node(2, 0.5);
    let columns =
        |zeros: usize| vec![(0..43).map(|person| u8::from(person >= zeros)).collect::<Vec<u8>>(), vec![1; 43]];
    let (here, there) = (columns(20), columns(21));
    let why = "both noisy counts are paid for, and only which is larger is published";
    Audit::loose("point", &events, &scope, 1.6, why).tells(1510, |moved, bits| {
        let learnt = point::learn(&finder, if moved { &there } else { &here }, 0.25, bits).unwrap();
        f64::from(learnt[0] as u8)
    });
}

/// One point in one dimension: another label, and then another point. A halfspace is picked by the exponential
/// mechanism, whose ε is a range.
pub fn a_halfspace() {
    let candidates = || vec![vec![1], vec![-1]];
    let told = |learnt: Vec<i32>| f64::from(u8::from(learnt == [1]));
    let labels = halfspace::HalfspaceLearner::new(0, 1, (3, 1), Epsilon::new(60.0).unwrap(), candidates()).unwrap();
    let claimed = labels.epsilon_label().get();
    Audit::claiming("halfspace, label", pure(claimed), pure(claimed / 1.2))
        .tells(1520, |moved, bits| told(labels.learn(&[vec![1]], &[if moved { 1 } else { -1 }], bits).unwrap()));
    let features =
        halfspace::HalfspaceLearner::new(0, 1, (1_000_000, 1), Epsilon::new(1.5).unwrap(), candidates()).unwrap();
    let claimed = features.epsilon_features(1).get();
    let too_small = claim_of(&[Event::exponential(Epsilon::new(claimed / 1.2).unwrap())], &Scope::Presence);
    Audit::claiming("halfspace, point", pure(claimed), too_small)
        .tells(1521, |moved, bits| told(features.learn(&[vec![if moved { 1 } else { -1 }]], &[1], bits).unwrap()));
}

/// The number of ones decides first whether there is anything to learn; the other steps cost next to nothing. If there
/// is nothing to learn the threshold is the largest number, which may also be learnt: that it is another one is e^ε
/// times as likely.
pub fn a_threshold() {
    let (all, little) = (Epsilon::new(1.5).unwrap(), Epsilon::new(0.01).unwrap());
    let learner = ThresholdLearner { balance: all, length: little, prefix: little, choice: little, accuracy: 0.4 };
    let numbers: Vec<u64> = (0..20).map(|i| 12 * i).collect();
    let labels = |ones: usize| -> Vec<bool> { (0..20).map(|i| i >= 20 - ones).collect() };
    let (here, there) = (labels(5), labels(4));
    let claimed = learner.epsilon_label().get();
    Audit::claiming("threshold", pure(claimed), pure(claimed / 1.2)).tells(1530, |moved, bits| {
        let learnt = learner.learn(&numbers, if moved { &there } else { &here }, 8, bits).unwrap();
        f64::from(u8::from(learnt.from == 255))
    });
}

/// A row that one of two hypotheses is right about, or the other: each has a mistake more or less, which is a range of
/// 2c.
pub fn a_class() {
    let learner = GenericLearner::new(Epsilon::new(0.75).unwrap()).unwrap();
    Audit::of("class", &learner.events(None).unwrap(), &Scope::Person)
        .tells(1540, |moved, bits| learner.release(if moved { &[0, 1] } else { &[1, 0] }, bits).unwrap() as f64);
}

/// One row with one label or the other: if it is kept, the parity is that of the row. In one part it is the same
/// release.
pub fn a_parity() {
    let learner = ParityLearner::for_person(Epsilon::new(1.0).unwrap()).unwrap();
    let claimed = learner.epsilon_person().get();
    let audit = |what: &str| {
        let claim = claim_of(&learner.events(None).unwrap(), &Scope::Person);
        Audit::claiming(what, claim, pure(claimed / 1.2))
    };
    let rows = |label: bool| [Example::new(&[true], label)];
    let (here, there) = (rows(true), rows(false));
    let told = |learnt: Option<scumble::learn::parity::ParityHypothesis>| {
        learnt.map_or(0.5, |parity| f64::from(u8::from(parity.attributes().is_empty())))
    };
    audit("parity")
        .tells(1550, |moved, bits| told(learner.release(if moved { &there } else { &here }, 1, bits).unwrap()));
    audit("parity in parts").tells(1551, |moved, bits| {
        told(learner.release_in_parts(if moved { &there } else { &here }, 1, 1, bits).unwrap())
    });
}
