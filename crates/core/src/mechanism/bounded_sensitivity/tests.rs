use super::*;
use crate::harness::{Claim, Distribution, ProbabilityInterval, Slack, check};
use crate::mechanism::triangles::Graph;
use crate::scope::{AttributeSet, Scope};
use std::collections::BTreeSet;

fn golden(name: &str) -> serde_json::Value {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/survey.json"));
    let all: serde_json::Value = serde_json::from_str(text).unwrap();
    all["vectors"].as_array().unwrap().iter().find(|vector| vector["name"] == name).unwrap().clone()
}

#[test]
fn truncations_are_the_golden_ones() {
    for name in ["s4_tests_1_1e-6", "s4_tests_half_1e-6"] {
        let vector = golden(name);
        let (epsilon, delta) =
            (vector["input"]["epsilon"].as_f64().unwrap(), vector["input"]["delta"].as_f64().unwrap());
        let bounded = BoundedSensitivity::within(
            Target::approximate(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap()),
            Target::pure(Epsilon::new(1.0).unwrap()),
            Scope::Presence,
            &OwnerSteps::one(),
        )
        .unwrap();
        assert_eq!(bounded.truncation(), vector["expected"]["truncation"].as_u64().unwrap());
        let mass = end_mass(epsilon, bounded.truncation() as f64);
        assert!((mass / vector["expected"]["truncation_delta"].as_f64().unwrap() - 1.0).abs() < 2e-12);
    }
    assert_eq!(
        BoundedSensitivity::within(
            Target::approximate(Epsilon::new(0.1).unwrap(), Delta::new(1e-6).unwrap()),
            Target::pure(Epsilon::new(1.0).unwrap()),
            Scope::Presence,
            &OwnerSteps::one()
        )
        .unwrap()
        .truncation(),
        109
    );
    for (one, delta, two) in [(0.0, 1e-6, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, 1.0), (1.0, 1e-6, 0.0)] {
        assert!(
            BoundedSensitivity::within(
                Target::approximate(Epsilon::new(one).unwrap(), Delta::new(delta).unwrap()),
                Target::pure(Epsilon::new(two).unwrap()),
                Scope::Presence,
                &OwnerSteps::one()
            )
            .is_err()
        );
    }
    // With next to no ε the noise is uniform, and each end has 1/(2T + 1).
    assert_eq!(
        BoundedSensitivity::within(
            Target::approximate(Epsilon::new(1e-9).unwrap(), Delta::new(1e-3).unwrap()),
            Target::pure(Epsilon::new(1.0).unwrap()),
            Scope::Presence,
            &OwnerSteps::one()
        )
        .unwrap()
        .truncation(),
        500
    );
}

/// A count and its local sensitivity.
type CountSensitivity = (i64, u64);

/// The joint law of the bound and the answer.
fn law(bounded: &BoundedSensitivity, state: &CountSensitivity) -> Distribution<(u64, i64)> {
    let (value, local) = *state;
    let (rate, t) = (bounded.epsilon_bound.get(), bounded.noise.bound());
    let total: f64 = (-t..=t).map(|z| (-rate * z.unsigned_abs() as f64).exp()).sum();
    let bounds = (-t..=t).map(|z| {
        let mass = (-rate * z.unsigned_abs() as f64).exp() / total;
        ((local + (z + t) as u64).max(1), ProbabilityInterval::near(mass, 1e-12))
    });
    Distribution::new(bounds, 0.0).then(|bound| {
        let rate = 1.0 / bounded.scale(*bound).unwrap().get();
        let mass = |z: i64| (rate / 2.0).tanh() * (-rate * (z - value).unsigned_abs() as f64).exp();
        // What is beyond the window is one outcome more on each side: post-processing.
        let (low, high) = (-60, 75);
        let tail = |steps: i64| (-rate * steps as f64).exp() / (1.0 + (-rate).exp());
        let ends = [(low, tail(value - low)), (high, tail(high - value))];
        Distribution::new(
            (low + 1..high).map(|z| (z, mass(z))).chain(ends).map(|(z, p)| (z, ProbabilityInterval::near(p, 1e-12))),
            0.0,
        )
    })
}

/// All graphs on five vertices, every edge added or removed, every edge moved, and one end of every edge moved: the
/// distinct counts and sensitivities.
fn states() -> [Vec<(CountSensitivity, CountSensitivity)>; 3] {
    let pairs: Vec<(u32, u32)> = (0..5).flat_map(|i| (i + 1..5).map(move |j| (i, j))).collect();
    let state: Vec<CountSensitivity> = (0..1u32 << 10)
        .map(|code| {
            let edges: Vec<_> = (0..10).filter(|bit| code >> bit & 1 == 1).map(|bit| pairs[bit]).collect();
            let graph = Graph::new(5, &edges).unwrap();
            (graph.triangles() as i64, graph.sensitivity().local())
        })
        .collect();
    let (mut presence, mut person, mut end) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for code in 0..1usize << 10 {
        for bit in 0..10 {
            presence.insert((state[code], state[code ^ 1 << bit]));
            for other in (0..bit).filter(|other| (code >> bit ^ code >> other) & 1 == 1) {
                let moved = (state[code], state[code ^ 1 << bit ^ 1 << other]);
                person.insert(moved);
                let (one, two) = (pairs[bit], pairs[other]);
                if [one.0, one.1].iter().any(|vertex| [two.0, two.1].contains(vertex)) {
                    end.insert(moved);
                }
            }
        }
    }
    [presence, person, end].map(|pairs| pairs.into_iter().collect())
}

/// Spec 4.9: the worst δ at ε₁ + ε₂ over all graphs on five vertices is the claim.
#[test]
fn all_small_graphs_cost_what_the_events_say() {
    let [presence, person, end] = states();
    for (truncation, expected) in [(3, 0.0657216), (5, 0.0214326)] {
        let delta = end_mass(0.5, f64::from(truncation));
        let bounded = BoundedSensitivity::within(
            Target::approximate(Epsilon::new(0.5).unwrap(), Delta::new(delta).unwrap()),
            Target::pure(Epsilon::new(0.5).unwrap()),
            Scope::Presence,
            &OwnerSteps::one(),
        )
        .unwrap();
        assert_eq!(bounded.truncation(), truncation as u64);
        assert!((delta - expected).abs() < 1e-7);
        let events = bounded.events(&OwnerSteps::one().reading(AttributeSet::new(["from", "to"]).unwrap())).unwrap();
        let run = |state: &CountSensitivity| law(&bounded, state);
        let one_end = Scope::Attributes(AttributeSet::new(["to"]).unwrap());
        // An edge that moves costs what one that comes or goes does.
        for (pairs, scope) in [(&presence, Scope::Presence), (&person, Scope::Person), (&end, one_end)] {
            let claimed = Claim { pure: None, ..Claim::of(&events, &scope, &[0.3, 0.6, 1.0]) };
            check(pairs, run, &claimed, Slack::ANY);
            let whole = |delta: f64| Claim { deltas: vec![(1.0, delta)], ..Claim::default() };
            check(pairs, run, &whole(delta), Slack { delta: 1e-4, ..Slack::ANY });
            assert!(std::panic::catch_unwind(|| check(pairs, run, &whole(0.99 * delta), Slack::ANY)).is_err());
        }
        let neither = Scope::Attributes(AttributeSet::new(["colour"]).unwrap());
        assert_eq!(Claim::of(&events, &neither, &[]).pure, Some(0.0));
    }
}

/// The golden pair of states: δ at the sum, which is the claim, and at ε₁ alone.
#[test]
fn the_golden_bound_and_count() {
    let vector = golden("s4_bounded_ls");
    let (input, expected) = (&vector["input"], &vector["expected"]);
    let number = |of: &serde_json::Value, name: &str| of[name].as_f64().unwrap();
    let (one, two) = (number(input, "epsilon_bound"), number(input, "epsilon_count"));
    let truncation = number(input, "truncation");
    let claimed = end_mass(one, truncation);
    assert!((claimed / number(expected, "claimed_delta") - 1.0).abs() < 2e-12);
    let bounded = BoundedSensitivity::within(
        Target::approximate(Epsilon::new(one).unwrap(), Delta::new(claimed).unwrap()),
        Target::pure(Epsilon::new(two).unwrap()),
        Scope::Presence,
        &OwnerSteps::one(),
    )
    .unwrap();
    assert_eq!(bounded.truncation() as f64, truncation);
    let (left, right) = (
        (0, number(input, "local_sensitivity") as u64),
        (number(input, "shift") as i64, number(input, "neighbour_local_sensitivity") as u64),
    );
    let (left, right) = (law(&bounded, &left), law(&bounded, &right));
    let both = |epsilon: f64| left.hockey_stick_lower(&right, epsilon).max(right.hockey_stick_lower(&left, epsilon));
    assert!((both(one + two) / number(expected, "delta_at_sum") - 1.0).abs() < 1e-7, "{}", both(one + two));
    assert!((both(one) / number(expected, "delta_at_epsilon_bound") - 1.0).abs() < 1e-6, "{}", both(one));
}
