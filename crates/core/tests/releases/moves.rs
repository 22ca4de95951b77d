//! How far an owner moves what is noised, in each scope: the events against pairs of data for which the loss is known
//! exactly.

use scumble::event::Event;
use scumble::loss::filter::Odometer;
use scumble::mechanism::additive::Noise;
use scumble::mechanism::cdf::Cdf;
use scumble::mechanism::interior_point::InteriorPoint;
use scumble::mechanism::selection::top::GeneralizedHistogram;
use scumble::mechanism::selection::{ScoreChange, Selection, Selector};
use scumble::mechanism::stability::{Contribution, StabilityHistogram};
use scumble::quantity::{Delta, Epsilon, Scale};
use scumble::scope::Scope;

/// The pure ε of the events beside their own δ.
fn pure(events: &[Event], scope: Scope) -> f64 {
    let spent = Odometer::of(events, &scope).unwrap();
    spent.pure_sum().unwrap().to_f64()
}

/// Laplace noise of scale 2: a move of L1 length m loses exactly m/2.
fn noise() -> Noise {
    Noise::laplace(Scale::new(2.0).unwrap())
}

/// The claim is what the worst pair loses: not less, and no more.
fn is_exactly(what: &str, claimed: f64, lost: f64) {
    assert!((claimed - lost).abs() <= 1e-9 * lost, "{what}: {claimed} is claimed, {lost} is lost");
}

pub fn of_sums() {
    // Two keys of one owner, three in each; replaced, two others as well.
    let delta = Delta::new(1e-3).unwrap();
    let stability = StabilityHistogram::new(noise(), Contribution::new(2, 3).unwrap(), delta).unwrap();
    let events = stability.events().unwrap();
    is_exactly("stability, presence", pure(&events, Scope::Presence), 6.0 / 2.0);
    is_exactly("stability, person", pure(&events, Scope::Person), 12.0 / 2.0);
    is_exactly("stability, new keys", Odometer::of(&events, &Scope::Person).unwrap().delta().to_f64(), 1e-3);
    // Four keys under two levels: a leaf, a node and the root; replaced, two leaves and two nodes.
    let cdf = [Cdf::with_branching(4, 2, noise()).unwrap().events().unwrap().remove(0)];
    is_exactly("cdf, presence", pure(&cdf, Scope::Presence), 3.0 / 2.0);
    is_exactly("cdf, person", pure(&cdf, Scope::Person), 4.0 / 2.0);
    // The best two of three all rise and the third falls: both surpluses move by 2.
    let top = GeneralizedHistogram::new(2, noise(), ScoreChange::General).unwrap().events().unwrap();
    is_exactly("best two", pure(&top, Scope::Presence), 4.0 / 2.0);
    let top = GeneralizedHistogram::new(2, noise(), ScoreChange::Monotone).unwrap().events().unwrap();
    is_exactly("best two, monotone", pure(&top, Scope::Presence), 1.0);
    is_exactly("best two, a person", pure(&top, Scope::Person), 4.0 / 2.0);
}

/// The largest log-ratio of two laws that are given by weights.
fn loss(left: &[f64], right: &[f64]) -> f64 {
    let (p, q): (f64, f64) = (left.iter().sum(), right.iter().sum());
    left.iter().zip(right).map(|(a, b)| (a / p / (b / q)).ln().abs()).fold(0.0, f64::max)
}

pub fn of_choices() {
    // Counts of owners as scores: one leaves a candidate, and one comes to another.
    let selection = Selection::new(Selector::Exponential(Epsilon::new(0.5).unwrap()), ScoreChange::Monotone).unwrap();
    let law = |scores: [i32; 3]| scores.map(|score| (0.5 * f64::from(score)).exp());
    let events = [selection.events().unwrap().remove(0)];
    let person = loss(&law([8, 1, 1]), &law([7, 2, 1])).max(loss(&law([9, 0, 0]), &law([8, 1, 0])));
    assert!(person > 0.5, "a replaced owner loses more than one that comes: {person}");
    assert!(person <= pure(&events, Scope::Person) * (1.0 + 1e-12));
    let presence = loss(&law([9, 0, 0]), &law([8, 0, 0])).max(loss(&law([0, 0, 9]), &law([0, 0, 8])));
    assert!(presence <= pure(&events, Scope::Presence) * (1.0 + 1e-12));
    // An interior point of keys of three bits, weights e^{ε·min(at most, at least)}: all small data, all replacements.
    let point = InteriorPoint::new(3, Epsilon::new(0.7).unwrap()).unwrap().events().unwrap();
    let law = |values: &[u32]| -> Vec<f64> {
        let score = |y: u32| {
            let at_most = values.iter().filter(|value| **value <= y).count();
            at_most.min(values.iter().filter(|value| **value >= y).count()) as f64
        };
        (0..8).map(|y| (0.7 * score(y)).exp()).collect()
    };
    let mut worst = 0.0f64;
    for code in 0..8u32.pow(4) {
        let values: Vec<u32> = (0..4).map(|i| code >> (3 * i) & 7).collect();
        for replaced in 0..8 {
            let mut other = values.clone();
            other[0] = replaced;
            worst = worst.max(loss(&law(&values), &law(&other)));
        }
    }
    assert!(worst > 0.7 && worst <= pure(&point, Scope::Person) * (1.0 + 1e-12), "interior point: {worst}");
}
