use super::quantile::QuantileBounds;
use super::*;
use crate::harness::{Claim, Distribution, ProbabilityInterval, Slack, check, neighbours};
use crate::noise::cauchy4::norm;
use crate::quantity::{Epsilon, Omega, Rho};
use std::collections::BTreeSet;

fn golden(name: &str) -> serde_json::Value {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/survey.json"));
    let all: serde_json::Value = serde_json::from_str(text).unwrap();
    all["vectors"].as_array().unwrap().iter().find(|vector| vector["name"] == name).unwrap().clone()
}

#[test]
fn quantiles_are_the_golden_ones() {
    for name in ["s4_quantile_median", "s4_quantile_p90_ties", "s4_quantile_empty", "s4_quantile_one_value"] {
        let vector = golden(name);
        let (input, expected) = (&vector["input"], &vector["expected"]);
        let values: Vec<i64> =
            input["values"].as_array().unwrap().iter().map(|value| value.as_i64().unwrap()).collect();
        let quotient = |name: &str| input[name].as_str().unwrap().parse::<Quotient>().unwrap().parts();
        let range = (input["lower"].as_i64().unwrap(), input["upper"].as_i64().unwrap());
        let bounds = QuantileBounds::new(&values, quotient("quantile"), range).unwrap();
        assert_eq!(bounds.rank() as u64, expected["rank"].as_u64().unwrap());
        assert_eq!(bounds.value(), expected["value"].as_i64().unwrap());
        for (k, a) in expected["a"].as_array().unwrap().iter().enumerate() {
            assert_eq!(bounds.at(k as u64), a.as_u64().unwrap(), "{name}: A_{k}");
        }
        let beta = input["beta"].as_f64().unwrap();
        let smooth = (0..400).map(|k| bounds.at(k) as f64 * (-beta * k as f64).exp()).fold(0.0, f64::max);
        assert!((smooth / expected["smooth_sensitivity"].as_f64().unwrap() - 1.0).abs() < 1e-12);
        let growth = quotient("gamma").1;
        let last = Levels::last_for(growth, bounds.most()).unwrap();
        assert_eq!(u64::from(last), expected["levels"].as_u64().unwrap());
        let level = Levels::new(growth, (1, 3), last).unwrap().smooth(|k| bounds.at(k));
        assert_eq!(u64::from(level), expected["level"].as_u64().unwrap());
    }
    for (values, quantile, bounds) in [(vec![1], (0, 2), (0, 9)), (vec![1], (2, 2), (0, 9)), (vec![1], (1, 2), (9, 0))]
    {
        assert!(QuantileBounds::new(&values, quantile, bounds).is_err());
    }
}

/// A median's level and value, from records whose first attribute is read.
fn state(smooth: &SmoothMechanism, records: &[Vec<i64>]) -> (u32, i64) {
    let values: Vec<i64> = records.iter().map(|record| record[0]).collect();
    let bounds = QuantileBounds::new(&values, (1, 2), (0, 16)).unwrap();
    (smooth.levels.smooth(|k| bounds.at(k)), bounds.value())
}

/// The law of what is published, on a window; what is beyond is not listed.
fn law(smooth: &SmoothMechanism, state: &(u32, i64)) -> Distribution<i64> {
    let (family, scale) = (smooth.noise.family(), smooth.levels.scale(state.0).get());
    let weight = |z: i64| match family {
        NoiseFamily::Cauchy4 => 1.0 / (1.0 + (z as f64 / scale).powi(4)),
        NoiseFamily::DiscreteLaplace => (-(z.abs() as f64) / scale).exp(),
        NoiseFamily::DiscreteGaussian => (-((z * z) as f64) / (2.0 * scale * scale)).exp(),
    };
    let total: f64 = match family {
        NoiseFamily::Cauchy4 => norm(scale),
        _ => (-20_000..=20_000).map(weight).sum(),
    };
    // Gaussian masses end where f64 does.
    let reach = if family == NoiseFamily::DiscreteGaussian { 400 } else { 900 };
    let listed: Vec<f64> = (-reach..=reach).map(|z| weight(z - state.1) / total).collect();
    let rest = (1.0 - listed.iter().sum::<f64>()).max(0.0) + 1e-15;
    Distribution::new((-reach..=reach).zip(listed.into_iter().map(|p| ProbabilityInterval::near(p, 1e-12))), rest)
}

/// Levels and answers of neighbours, without what they have in common.
type NeighbourStates = Vec<((u32, i64), (u32, i64))>;

/// Medians of up to four values in 0..=16 and all neighbours in presence, in person and in attributes: levels differ by
/// at most 1, answers by at most the reach of the lesser one.
fn small_medians(smooth: &SmoothMechanism) -> [(NeighbourStates, Scope); 3] {
    let universe: Vec<Vec<i64>> = (0..=16).map(|value| vec![value, 0]).collect();
    let people: Vec<_> = (1..=3).flat_map(|owners| neighbours::person(&universe, owners)).collect();
    let values: Vec<_> = (1..=3).flat_map(|owners| neighbours::attributes(&universe, owners, &[0])).collect();
    [
        (neighbours::presence(&universe, 4), Scope::Presence),
        (people, Scope::Person),
        (values, Scope::Attributes(set("value"))),
    ]
    .map(|(pairs, scope)| {
        let mut distinct = BTreeSet::new();
        for (left, right) in &pairs {
            let (one, other) = (state(smooth, left), state(smooth, right));
            assert!(one.0.abs_diff(other.0) <= 1 && one.1.abs_diff(other.1) <= smooth.levels.reach(one.0.min(other.0)));
            distinct.insert(((one.0, 0), (other.0, other.1.abs_diff(one.1) as i64)));
        }
        (distinct.into_iter().collect(), scope)
    })
}

fn set(name: &str) -> AttributeSet {
    AttributeSet::new([name]).unwrap()
}

fn noise_of(family: NoiseFamily) -> SmoothMechanism {
    SmoothMechanism::new(SmoothNoise::new(family, "9/8".parse().unwrap(), "1/3".parse().unwrap(), 24).unwrap()).unwrap()
}

/// Over all distinct (level, level, shift) the loss of the drawn laws is the claim, both orders.
#[test]
fn small_medians_cost_what_the_event_says() {
    let smooth = noise_of(NoiseFamily::Cauchy4);
    let events = smooth.events(&OwnerSteps::one().reading(set("value"))).unwrap();
    for (distinct, scope) in small_medians(&smooth) {
        let run = |state: &(u32, i64)| law(&smooth, state);
        let claim = Claim { deltas: Vec::new(), ..Claim::of(&events, &scope, &[]) };
        check(&distinct, run, &claim, Slack { pure: 0.01, ..Slack::ANY });
        let small = Claim { pure: claim.pure.map(|pure| 0.99 * pure), ..Claim::default() };
        assert!(std::panic::catch_unwind(|| check(&distinct, run, &small, Slack::ANY)).is_err(), "{scope}");
    }
    // An attribute that is not read changes nothing, and costs nothing.
    let both: Vec<Vec<i64>> = (0..=16).flat_map(|value| [vec![value, 0], vec![value, 1]]).collect();
    let pairs = neighbours::attributes(&both, 2, &[1]);
    assert!(pairs.iter().all(|(left, right)| state(&smooth, left) == state(&smooth, right)));
    let scope = Scope::Attributes(set("other"));
    assert_eq!(Loss::of(&events, scope).unwrap().epsilon(Delta::new(0.0).unwrap()).upper, 0.0);
}

/// Specification 4.4, the same medians: δ of Laplace noise at several ε is within what accounting says, in every scope
/// and both orders. That is by its grid up to 2% above what is reached from ε = 0.4 on: 3% less is refused. (Against
/// the curve itself, without the grid, 1% is: `loss::words::smooth_noise`.)
#[test]
fn small_medians_by_laplace_noise_cost_what_the_event_says() {
    let smooth = noise_of(NoiseFamily::DiscreteLaplace);
    let events = smooth.events(&OwnerSteps::one().reading(set("value"))).unwrap();
    for (distinct, scope) in small_medians(&smooth) {
        let run = |state: &(u32, i64)| law(&smooth, state);
        let claim = |epsilons: &[f64]| Claim { pure: None, ..Claim::of(&events, &scope, epsilons) };
        check(&distinct, run, &claim(&[0.1, 0.25]), Slack::ANY);
        let reached = claim(&[0.4, 0.6, 0.8]);
        check(&distinct, run, &reached, Slack { delta: 0.025, ..Slack::ANY });
        for (epsilon, delta) in reached.deltas {
            let small = Claim { deltas: vec![(epsilon, 0.97 * delta)], ..Claim::default() };
            assert!(std::panic::catch_unwind(|| check(&distinct, run, &small, Slack::ANY)).is_err(), "{scope}");
        }
    }
}

/// Specification 4.5, the same medians: the Rényi divergences of Gaussian noise are within ρ times their order, and at
/// the last order reach it: 1% less is refused. δ is within what accounting makes of that.
#[test]
fn small_medians_by_gaussian_noise_cost_what_the_event_says() {
    let smooth = noise_of(NoiseFamily::DiscreteGaussian);
    let (rho, omega) = loss::truncated_of_smooth_noise(&smooth.noise()).unwrap();
    let orders = [1.1, 1.5, 2.0, 2.3, omega * (1.0 - 1e-9)];
    let events = smooth.events(&OwnerSteps::one().reading(set("value"))).unwrap();
    for (distinct, scope) in small_medians(&smooth) {
        let run = |state: &(u32, i64)| law(&smooth, state);
        let claim = |rho: f64| {
            let renyi = orders.iter().map(|order| (*order, rho * order)).collect();
            Claim { renyi, ..Claim::default() }
        };
        check(&distinct, run, &claim(rho), Slack::ANY);
        let too_small = || check(&distinct, run, &claim(0.99 * rho), Slack::ANY);
        assert!(std::panic::catch_unwind(too_small).is_err(), "{scope}");
        let deltas = Claim { pure: None, ..Claim::of(&events, &scope, &[0.5, 1.0, 2.0]) };
        check(&distinct, run, &deltas, Slack::ANY);
    }
}

/// A level is published beside an answer: both together cost the sum of their events.
#[test]
fn an_error_bar_is_made_of_a_level_with_noise() {
    let smooth = SmoothMechanism::within(
        Target::pure(Epsilon::new(1.0).unwrap()),
        Scope::Presence,
        &OwnerSteps::one(),
        NoiseFamily::Cauchy4,
        1000,
    )
    .unwrap();
    let scale = Scale::new(10.0).unwrap();
    let event = smooth.event_of_level(scale, &OwnerSteps::two()).unwrap();
    assert!((Loss::of([event], Scope::Person).unwrap().epsilon(Delta::new(0.0).unwrap()).upper - 0.2).abs() < 1e-9);
    let mut bits = crate::noise::InsecureSeededSource::new(3);
    let (runs, truth) = (2000, 5000);
    let held = (0..runs)
        .filter(|_| {
            let (value, level) = smooth.release_with_level(truth, |k| (20 + k).min(1000), scale, &mut bits);
            (value - truth).unsigned_abs() as f64
                <= smooth.error_beside(Beta::new(0.05).unwrap(), level, scale).unwrap().half_width
        })
        .count();
    // At least 95% in expectation; with probability 1e-9 this many fewer (Hoeffding: √(2000·ln(1e9)/2) = 144).
    assert!(held >= 1900 - 144, "{held}");
    let widest = smooth.error_beside(Beta::new(0.05).unwrap(), 1_000_000, scale).unwrap();
    assert!(
        widest.half_width >= smooth.error(Beta::new(0.025).unwrap(), 1000).unwrap()
            && widest.standard_error < widest.half_width
    );
}

#[test]
fn calibrated_noise_is_within_and_one_step_more_is_not() {
    for epsilon in [0.1, 1.0, 4.0] {
        let smooth = SmoothMechanism::within(
            Target::pure(Epsilon::new(epsilon).unwrap()),
            Scope::Presence,
            &OwnerSteps::one(),
            NoiseFamily::Cauchy4,
            1000,
        )
        .unwrap();
        let cost = |alpha: Quotient| {
            let noise =
                SmoothNoise::new(NoiseFamily::Cauchy4, smooth.noise().gamma(), alpha, smooth.noise().levels()).unwrap();
            let events = SmoothMechanism::new(noise).unwrap().events(&OwnerSteps::two()).unwrap();
            let loss = |scope| Loss::of(&events, scope).unwrap().epsilon(Delta::new(0.0).unwrap()).upper;
            assert!((loss(Scope::Person) / loss(Scope::Presence) - 2.0).abs() < 1e-9);
            loss(Scope::Presence)
        };
        let found = smooth.noise().alpha();
        let (above, below) = found.parts();
        assert!(cost(found) <= epsilon);
        assert!(cost(Quotient::new(above + above / 100 + 1, below).unwrap()) > epsilon * 0.999);
    }
    // Specification 4.3: at ε = 1 and β = 0.1 about 0.367; rounded scales are a little worse.
    let (above, below) = SmoothMechanism::within(
        Target::pure(Epsilon::new(1.0).unwrap()),
        Scope::Presence,
        &OwnerSteps::one(),
        NoiseFamily::Cauchy4,
        200_000,
    )
    .unwrap()
    .noise()
    .alpha()
    .parts();
    let alpha = f64::from(above) / f64::from(below);
    assert!((0.33..0.39).contains(&alpha), "{alpha}");
}

#[test]
fn other_families_are_calibrated_to_their_own_notions() {
    let target = Target::approximate(Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
    let laplace =
        SmoothMechanism::within(target, Scope::Presence, &OwnerSteps::one(), NoiseFamily::DiscreteLaplace, 100)
            .unwrap();
    let (above, below) = laplace.noise().alpha().parts();
    assert!((0.6..0.95).contains(&(f64::from(above) / f64::from(below))), "{:?}", laplace.noise());
    assert!(
        Loss::of(laplace.events(&OwnerSteps::one()).unwrap(), Scope::Person)
            .unwrap()
            .delta(Epsilon::new(1.0).unwrap())
            .upper
            <= 1e-6
    );
    // Gaussian noise of one scale has σ 4.2 times its sensitivity here; that of levels is larger, and not by much.
    let gaussian =
        SmoothMechanism::within(target, Scope::Presence, &OwnerSteps::one(), NoiseFamily::DiscreteGaussian, 100)
            .unwrap();
    let (above, below) = gaussian.noise().alpha().parts();
    assert!((0.15..0.24).contains(&(f64::from(above) / f64::from(below))), "{:?}", gaussian.noise());
    let delta = Loss::of(gaussian.events(&OwnerSteps::one()).unwrap(), Scope::Person)
        .unwrap()
        .delta(Epsilon::new(1.0).unwrap())
        .upper;
    assert!(delta <= 1e-6 && delta > 0.9e-6, "{delta}");
    let target = Target::tcdp(Rho::new(0.05).unwrap(), Omega::new(8.0).unwrap());
    let gaussian =
        SmoothMechanism::within(target, Scope::Presence, &OwnerSteps::one(), NoiseFamily::DiscreteGaussian, 100)
            .unwrap();
    let (rho, omega) = crate::loss::truncated_of_smooth_noise(&gaussian.noise()).unwrap();
    assert!(rho <= 0.05 && rho > 0.03 && omega >= 8.0);
    for (family, target) in [
        (NoiseFamily::DiscreteLaplace, Target::pure(Epsilon::new(1.0).unwrap())),
        (NoiseFamily::Cauchy4, Target::zcdp(Rho::new(1.0).unwrap())),
        (NoiseFamily::DiscreteGaussian, Target::pure(Epsilon::new(1.0).unwrap())),
        (NoiseFamily::Cauchy4, Target::pure(Epsilon::new(0.0).unwrap())),
        (NoiseFamily::Cauchy4, Target::pure(Epsilon::new(1e-12).unwrap())),
    ] {
        assert!(
            SmoothMechanism::within(target, Scope::Presence, &OwnerSteps::one(), family, 100).is_err(),
            "{family:?} {target}"
        );
    }
}

/// Two steps for an owner of several rows, instead of two for each row, passed all tests but an example in the
/// documentation.
#[test]
fn steps_are_those_of_all_rows() {
    let cost = |steps: &OwnerSteps, scope: Scope| {
        let event = Event::new(Word::Pure { epsilon: 0.1.try_into().unwrap() }, steps.moves(1.0).unwrap());
        Claim::of(&[event], &scope, &[]).pure.unwrap()
    };
    for (steps, person) in [(OwnerSteps::one(), 0.3), (OwnerSteps::two(), 0.6)] {
        let steps = steps.of_rows(3).reading(set("value"));
        let near = |scope: Scope, expected: f64| assert!((cost(&steps, scope) - expected).abs() < 1e-12, "{steps:?}");
        near(Scope::Presence, 0.3);
        near(Scope::Person, person);
        near(Scope::Attributes(set("value")), person);
        near(Scope::Attributes(set("other")), 0.0);
    }
}
