//! Noise that follows the data's own sensitivity, and answers that may not come.

use scumble::event::{NoiseFamily, SmoothNoise, Word};
use scumble::mechanism::bounded_sensitivity::BoundedSensitivity;
use scumble::mechanism::propose_test_release::ProposeTestRelease;
use scumble::mechanism::smooth::{OwnerSteps, SmoothMechanism};
use scumble::mechanism::stable_value::StableValue;
use scumble::noise::InsecureSeededSource;
use scumble::quantity::{Delta, Epsilon, Scale};
use scumble::{Scope, Target};
use scumble_testing::laws::{DRAWS, IntegerDistribution, SLIP, noise as noise_as_said, outcomes};
use std::collections::BTreeMap;

/// The noise of a level has the scale that the event's table says, in each family.
pub fn smooth() {
    for (index, family) in NoiseFamily::ALL.into_iter().enumerate() {
        let word = SmoothNoise::new(family, "9/8".parse().unwrap(), "1/2".parse().unwrap(), 24).unwrap();
        let smooth = SmoothMechanism::new(word).unwrap();
        let events = smooth.events(&OwnerSteps::one()).unwrap();
        let Word::SmoothNoise(said) = events[0].word() else { panic!("{events:?}") };
        let table = said.table().unwrap();
        // A_k = 3 + k: the largest of level(3 + k) − k.
        let level = (0..24).map(|k| table.level_of((3 + k).min(16)).saturating_sub(k as u32)).max().unwrap();
        let law = |factor: f64| {
            let scale = table.scale(level).get() * factor;
            match family {
                NoiseFamily::DiscreteLaplace => IntegerDistribution::discrete_laplace(scale),
                NoiseFamily::DiscreteGaussian => IntegerDistribution::discrete_gaussian(scale),
                _ => IntegerDistribution::of_weights(40_000, |z| 1.0 / (1.0 + (z as f64 / scale).powi(4))),
            }
        };
        let mut bits = InsecureSeededSource::new(200 + index as u64);
        let drawn: Vec<i64> = (0..DRAWS).map(|_| smooth.release(1000, |k| (3 + k).min(16), &mut bits) - 1000).collect();
        noise_as_said(&format!("smooth noise, {}", family.name()), &drawn, &law(1.0), &law(SLIP));
    }
}

/// A level that is published beside an answer has the noise of its event.
pub fn level() {
    let word = SmoothNoise::new(NoiseFamily::Cauchy4, "9/8".parse().unwrap(), "1/2".parse().unwrap(), 24).unwrap();
    let smooth = SmoothMechanism::new(word).unwrap();
    let scale = Scale::new(2.5).unwrap();
    let event = smooth.event_of_level(scale, &OwnerSteps::one()).unwrap();
    let level = i64::from(word.table().unwrap().smooth(|k| (3 + k).min(16)));
    let mut bits = InsecureSeededSource::new(205);
    let (answers, levels): (Vec<i64>, Vec<i64>) =
        (0..DRAWS).map(|_| smooth.release_with_level(1000, |k| (3 + k).min(16), scale, &mut bits)).unzip();
    let off = |drawn: &[i64], from: i64| drawn.iter().map(|value| value - from).collect::<Vec<i64>>();
    noise_as_said(
        "a level",
        &off(&levels, level),
        &IntegerDistribution::of_event(&event, 1.0),
        &IntegerDistribution::of_event(&event, SLIP),
    );
    // The answer beside it has all the noise of its level.
    let law = |factor: f64| {
        let scale = word.table().unwrap().scale(level as u32).get() * factor;
        IntegerDistribution::of_weights(40_000, |z| 1.0 / (1.0 + (z as f64 / scale).powi(4)))
    };
    noise_as_said("an answer beside its level", &off(&answers, 1000), &law(1.0), &law(SLIP));
}

/// π(k + 1) = min(e^ε·π(k) + δ, 1 − e^{−ε}(1 − π(k) − δ), 1) of the event's ε and δ.
fn chance(epsilon: f64, delta: f64, distance: usize) -> f64 {
    (0..distance).fold(0.0f64, |chance, _| {
        (epsilon.exp() * chance + delta).min(1.0 - (-epsilon).exp() * (1.0 - chance - delta)).min(1.0)
    })
}

/// An answer comes with the test's probability, and then with noise for what was proposed.
pub fn propose_test_release() {
    let test = ProposeTestRelease::within(
        Target::approximate(Epsilon::new(0.5).unwrap(), Delta::new(0.1).unwrap()),
        Target::pure(Epsilon::new(0.8).unwrap()),
        Scope::Presence,
        &OwnerSteps::one(),
        4,
    )
    .unwrap();
    let events = test.events(&OwnerSteps::one()).unwrap();
    let Word::Approximate { epsilon, delta } = events[0].word() else { panic!("{events:?}") };
    let mut bits = InsecureSeededSource::new(210);
    for distance in [0usize, 2, 3] {
        let law = |factor: f64| {
            let noise = IntegerDistribution::of_event(&events[1], factor);
            let yes = chance(epsilon.get() / factor, delta.get() / factor, distance);
            let mut law: BTreeMap<Option<i64>, f64> = noise.iter().map(|(z, mass)| (Some(z), yes * mass)).collect();
            law.insert(None, 1.0 - yes);
            law
        };
        let bound = |k: u64| if k < distance as u64 { 4 } else { 5 };
        let drawn: Vec<Option<i64>> =
            (0..DRAWS).map(|_| test.release(70, bound, &mut bits).unwrap().map(|value| value - 70)).collect();
        if distance == 0 {
            assert!(drawn.iter().all(Option::is_none));
        } else {
            outcomes(&format!("propose, test, release at {distance}"), drawn, &law(1.0), &law(SLIP));
        }
    }
}

/// A value is published with the probability of its distance.
pub fn stable_value() {
    let stable = StableValue::within(
        Target::approximate(Epsilon::new(0.4).unwrap(), Delta::new(0.15).unwrap()),
        Scope::Presence,
        &OwnerSteps::one(),
    )
    .unwrap();
    let events = stable.events(&OwnerSteps::one()).unwrap();
    let Word::Approximate { epsilon, delta } = events[0].word() else { panic!("{events:?}") };
    let mut bits = InsecureSeededSource::new(220);
    for distance in [1usize, 2, 3] {
        let law = |factor: f64| {
            let yes = chance(epsilon.get() / factor, delta.get() / factor, distance);
            BTreeMap::from([(Some('a'), yes), (None, 1.0 - yes)])
        };
        let drawn = (0..2 * DRAWS).map(|_| stable.release('a', distance as u64, &mut bits).unwrap());
        outcomes(&format!("a stable value at {distance}"), drawn, &law(1.0), &law(SLIP));
    }
    assert!((0..1000).all(|_| stable.release((), 0, &mut bits).unwrap().is_none()));
}

/// The bound is the local sensitivity and truncated noise; the answer has noise for the bound that was published.
pub fn bounded() {
    let bounded = BoundedSensitivity::within(
        Target::approximate(Epsilon::new(0.7).unwrap(), Delta::new(0.02).unwrap()),
        Target::pure(Epsilon::new(0.9).unwrap()),
        Scope::Presence,
        &OwnerSteps::one(),
    )
    .unwrap();
    let events = bounded.events(&OwnerSteps::one()).unwrap();
    let (Word::Approximate { epsilon, .. }, Word::Pure { epsilon: second }) = (events[0].word(), events[1].word())
    else {
        panic!("{events:?}")
    };
    let t = bounded.truncation() as i64;
    let mut bits = InsecureSeededSource::new(230);
    let drawn: Vec<(i64, i64)> = (0..2 * DRAWS)
        .map(|_| bounded.release(50, 3, &mut bits).map(|found| (found.bound as i64, found.value - 50)).unwrap())
        .collect();
    let bounds = |factor: f64| {
        let law = IntegerDistribution::of_weights(t, |z| (-epsilon.get() * z.abs() as f64 / factor).exp());
        law.iter().map(|(z, mass)| (3 + t + z, mass)).collect::<BTreeMap<i64, f64>>()
    };
    outcomes("a bounded sensitivity", drawn.iter().map(|(bound, _)| *bound), &bounds(1.0), &bounds(0.9));
    // The likeliest bound.
    let answers: Vec<i64> = drawn.iter().filter(|(bound, _)| *bound == 3 + t).map(|(_, value)| *value).collect();
    let law = |factor: f64| IntegerDistribution::discrete_laplace((3 + t) as f64 / second.get() * factor);
    noise_as_said("an answer given its bound", &answers, &law(1.0), &law(SLIP));
}
