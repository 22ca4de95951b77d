use super::*;
use crate::harness::{Claim, Distribution, ProbabilityInterval as Near, Slack, check, neighbours};
use crate::mechanism::smooth::quantile::QuantileBounds;
use crate::scope::{AttributeSet, Scope};

fn golden(name: &str) -> serde_json::Value {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/survey.json"));
    let all: serde_json::Value = serde_json::from_str(text).unwrap();
    all["vectors"].as_array().unwrap().iter().find(|vector| vector["name"] == name).unwrap().clone()
}

#[test]
fn distances_and_chances_are_the_golden_ones() {
    for name in ["s4_ptr_median", "s4_ptr_refuses"] {
        let vector = golden(name);
        let (input, expected) = (&vector["input"], &vector["expected"]);
        let values: Vec<i64> =
            input["values"].as_array().unwrap().iter().map(|value| value.as_i64().unwrap()).collect();
        let bounds = QuantileBounds::new(&values, (1, 2), (0, 100)).unwrap();
        let number = |name: &str| input[name].as_f64().unwrap();
        let test = ProposeTestRelease::within(
            Target::approximate(Epsilon::new(number("epsilon_test")).unwrap(), Delta::new(number("delta")).unwrap()),
            Target::pure(Epsilon::new(1.0).unwrap()),
            Scope::Presence,
            &OwnerSteps::one(),
            number("proposed") as u64,
        )
        .unwrap();
        let distance = test.distance(|k| bounds.at(k));
        assert_eq!(distance, expected["distance"].as_u64().unwrap());
        let chance = expected["release_probability"].as_f64().unwrap();
        assert!((test.probability(distance) - chance).abs() <= 1e-10 * chance);
    }
    for name in ["s4_tests_1_1e-6", "s4_tests_half_1e-6"] {
        let vector = golden(name);
        let (epsilon, delta) =
            (vector["input"]["epsilon"].as_f64().unwrap(), vector["input"]["delta"].as_f64().unwrap());
        let test = ProposeTestRelease::within(
            Target::approximate(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap()),
            Target::pure(Epsilon::new(1.0).unwrap()),
            Scope::Presence,
            &OwnerSteps::one(),
            1,
        )
        .unwrap();
        for (distance, name) in [(5, "pass_at_5"), (12, "pass_at_12")] {
            let expected = vector["expected"][name].as_f64().unwrap();
            assert!((test.probability(distance) / expected - 1.0).abs() < 1e-9);
        }
        assert_eq!(test.certain_from(), vector["expected"]["certain_from"].as_u64().unwrap());
    }
    assert!(
        ProposeTestRelease::within(
            Target::approximate(Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap()),
            Target::pure(Epsilon::new(1.0).unwrap()),
            Scope::Presence,
            &OwnerSteps::one(),
            1 << 33
        )
        .is_err()
    );
    assert!(
        ProposeTestRelease::within(
            Target::approximate(Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap()),
            Target::pure(Epsilon::new(1.0).unwrap()),
            Scope::Presence,
            &OwnerSteps::one(),
            0
        )
        .is_err()
            && ProposeTestRelease::within(
                Target::approximate(Epsilon::new(1.0).unwrap(), Delta::new(0.0).unwrap()),
                Target::pure(Epsilon::new(1.0).unwrap()),
                Scope::Presence,
                &OwnerSteps::one(),
                1
            )
            .is_err()
    );
}

/// The law of an answer to a median in 0..=12: none, or a number; what is beyond a window is one outcome on each side.
fn law(test: &ProposeTestRelease, values: &[i64]) -> Distribution<Option<i64>> {
    let bounds = QuantileBounds::new(values, (1, 2), (0, 12)).unwrap();
    let chance = test.probability(test.distance(|k| bounds.at(k)));
    let (value, rate) = (bounds.value(), 1.0 / test.scale.get());
    let (low, high) = (-30, 42);
    let tail = |steps: i64| (-rate * steps as f64).exp() / (1.0 + (-rate).exp());
    let inner = (low + 1..high).map(|z| (z, (rate / 2.0).tanh() * (-rate * (z - value).unsigned_abs() as f64).exp()));
    let all = inner.chain([(low, tail(value - low)), (high, tail(high - value))]);
    let answered = all.map(|(z, p)| (Some(z), Near::near(chance * p, 1e-12)));
    Distribution::new(answered.chain([(None, Near::near(1.0 - chance, 1e-12))]), 0.0)
}

/// Spec 4.7: ε₁ = ε₂ = 0.7, δ = 0.05: the worst δ at 1.4 is 0.05, in presence and in person.
#[test]
fn medians_cost_what_the_events_say() {
    let universe: Vec<i64> = vec![0, 1, 2, 5, 6, 11, 12];
    let test = ProposeTestRelease::within(
        Target::approximate(Epsilon::new(0.7).unwrap(), Delta::new(0.05).unwrap()),
        Target::pure(Epsilon::new(0.7).unwrap()),
        Scope::Presence,
        &OwnerSteps::one(),
        4,
    )
    .unwrap();
    let run = |values: &Vec<i64>| law(&test, values);
    let events = test.events(&OwnerSteps::one().reading(AttributeSet::new(["value"]).unwrap())).unwrap();
    let people: Vec<_> = (1..=4).flat_map(|owners| neighbours::person(&universe, owners)).collect();
    // Other values of the one attribute that is read are another person.
    let value = Scope::Attributes(AttributeSet::new(["value"]).unwrap());
    for (pairs, scope) in
        [(neighbours::presence(&universe, 5), Scope::Presence), (people.clone(), Scope::Person), (people, value)]
    {
        let claimed = Claim { pure: None, ..Claim::of(&events, &scope, &[0.5, 1.0, 1.4]) };
        check(&pairs, run, &claimed, Slack::ANY);
        let whole = |delta: f64| Claim { deltas: vec![(1.4, delta)], ..Claim::default() };
        check(&pairs, run, &whole(0.05), Slack { delta: 1e-6, ..Slack::ANY });
        assert!(std::panic::catch_unwind(|| check(&pairs, run, &whole(0.0495), Slack::ANY)).is_err());
    }
    let other = Scope::Attributes(AttributeSet::new(["other"]).unwrap());
    assert_eq!(Claim::of(&events, &other, &[]).pure, Some(0.0));
}
