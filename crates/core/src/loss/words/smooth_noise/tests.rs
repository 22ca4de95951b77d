use super::super::Accounting as _;
use super::*;
use crate::event::{Event, Word};
use crate::harness::{Claim, Distribution, ProbabilityInterval, Slack, check};
use crate::loss::Loss;
use crate::loss::shape::LossShape;
use crate::noise::cauchy4::norm;
use crate::quantity::{Delta, Epsilon};
use crate::scope::Scope;
use std::num::NonZeroU32;

fn golden(name: &str) -> serde_json::Value {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/survey.json"));
    let all: serde_json::Value = serde_json::from_str(text).unwrap();
    all["vectors"].as_array().unwrap().iter().find(|vector| vector["name"] == name).unwrap().clone()
}

fn noise(family: NoiseFamily, gamma: &str, alpha: &str, levels: u32) -> SmoothNoise {
    SmoothNoise::new(family, gamma.parse().unwrap(), alpha.parse().unwrap(), levels).unwrap()
}

fn event(noise: SmoothNoise) -> Event {
    Event::new(Word::SmoothNoise(noise), crate::event::Moves::everywhere(Shift::one_cell(1.0).unwrap()))
}

fn close(found: f64, expected: &serde_json::Value, relative: f64) {
    let expected = expected.as_f64().unwrap();
    assert!((found / expected - 1.0).abs() <= relative, "{found} instead of {expected}");
}

#[test]
fn cauchy4_of_all_levels_is_the_golden_one() {
    let vector = golden("s4_cauchy4_levels_9_8");
    let expected = &vector["expected"];
    let last = Levels::last_for(8, vector["input"]["range"].as_u64().unwrap()).unwrap();
    assert_eq!(u64::from(last), expected["last_level"].as_u64().unwrap());
    let noise = noise(NoiseFamily::Cauchy4, "9/8", "1/3", last);
    close(SmoothNoiseLoss(&noise).pure().unwrap(), &expected["epsilon"], 1e-7);
    let levels = noise.table().unwrap();
    let scales = ["3", "27/8", "61/16", "69/16"]
        .map(|text| expected["scales_first"].as_array().unwrap().iter().any(|s| s == text));
    assert_eq!(scales, [true; 4]);
    assert_eq!([0, 1, 2, 3].map(|level| levels.scale(level).get()), [3.0, 27.0 / 8.0, 61.0 / 16.0, 69.0 / 16.0]);
    close(norm(3.0), &expected["norm"], 1e-12);
    close(1.0 / norm(3.0), &expected["p0"], 1e-12);
    close(1.0 / (norm(3.0) * (1.0 + (5f64 / 3.0).powi(4))), &expected["p5"], 1e-12);
}

/// At large scales the loss depends on α and β = ln γ alone; the simple condition 3^{3/4}α + 3β ≤ ε is enough, and
/// 9–19% too strict.
#[test]
fn the_limit_of_large_scales_is_the_golden_one() {
    for name in ["s4_cauchy4_limit_1", "s4_cauchy4_limit_half"] {
        let vector = golden(name);
        let (epsilon, beta) = (vector["input"]["epsilon"].as_f64().unwrap(), vector["input"]["beta"].as_f64().unwrap());
        let narrow = 1e9;
        let lost = |alpha: f64| {
            let (wide, shift) = (narrow * beta.exp(), narrow * alpha);
            let pairs = [(narrow, narrow), (narrow, wide), (wide, narrow)];
            pairs.map(|(scale, other)| cauchy4::largest_loss(scale, other, shift)).into_iter().fold(0.0, f64::max)
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if lost(middle) <= epsilon { low = middle } else { high = middle }
        }
        close(low, &vector["expected"]["alpha"], 1e-5);
        let simple = (epsilon - 3.0 * beta) / 3f64.powf(0.75);
        close(simple, &vector["expected"]["closed_form_alpha"], 1e-12);
        assert!(lost(simple) <= epsilon && simple < low);
    }
}

/// The certificate against all integers far and wide: never below, and no more than 1e-9 above.
#[test]
fn the_certificate_is_the_supremum() {
    for (scale, other, shift) in [
        (3.0f64, 3.0f64, 1.0f64),
        (3.0, 3.375, 1.0),
        (3.375, 3.0, 1.0),
        (100.0, 90.0, 80.0),
        (90.0, 100.0, 1.0),
        (5.0, 4.9, 40.0),
        (0.5, 0.5625, 3.0),
    ] {
        let found = cauchy4::largest_loss(scale, other, shift);
        let loss = |z: f64| {
            (norm(other) / norm(scale)).ln() + (z / other).powi(4).ln_1p() - ((z - shift) / scale).powi(4).ln_1p()
        };
        let far = 400 * scale.max(other).max(shift).ceil() as i64;
        let seen = (-far..=far).map(|z| loss(z as f64)).fold(0.0, f64::max);
        assert!(found >= seen && found <= seen + 1e-9, "{scale} {other} {shift}: {found} {seen}");
    }
}

#[test]
fn laplace_curves_are_the_golden_ones() {
    let vector = golden("s4_laplace_levels");
    let last = Levels::last_for(32, 64).unwrap();
    let noise = noise(NoiseFamily::DiscreteLaplace, "33/32", "7/20", last);
    let worst = laplace::SmoothLaplaceShape::new(noise, noise.table().unwrap(), 1);
    let epsilons = vector["input"]["epsilons"].as_array().unwrap();
    for (epsilon, delta) in epsilons.iter().zip(vector["expected"]["deltas"].as_array().unwrap()) {
        close(worst.of_one(epsilon.as_f64().unwrap()), delta, 1e-9);
        // Through accounting: chords and the grid of losses are a little above.
        let claimed = Loss::of([event(noise)], Scope::Presence)
            .unwrap()
            .delta(Epsilon::new(epsilon.as_f64().unwrap()).unwrap())
            .upper;
        let delta = delta.as_f64().unwrap();
        assert!(claimed >= delta && claimed <= delta * 1.01, "{claimed} {delta}");
    }
    for name in ["s4_usual_laplace_constants_1e-6", "s4_usual_laplace_constants_1e-3"] {
        let vector = golden(name);
        let input = |name: &str| vector["input"][name].as_f64().unwrap();
        let shift = 1e11f64;
        let narrow = shift / input("alpha");
        let found = laplace::delta(narrow * input("beta").exp(), narrow, shift, input("epsilon"));
        close(found, &vector["expected"]["true_delta"], 1e-9);
    }
}

#[test]
fn gaussian_pairs_are_the_golden_ones() {
    for name in ["s4_gauss_pair_8", "s4_gauss_pair_small"] {
        let vector = golden(name);
        let input = |name: &str| vector["input"][name].as_f64().unwrap();
        let order = input("order");
        let pair = gaussian::GaussianLevelPair::new(input("sigma_p"), input("sigma_q"), input("shift"));
        close(pair.cumulant(order) / (order - 1.0), &vector["expected"]["bound"], 1e-9);
        assert!(pair.cumulant(order) / (order - 1.0) >= vector["expected"]["renyi"].as_f64().unwrap());
        if let Some(largest) = vector["expected"]["largest_order"].as_f64() {
            assert!(
                pair.cumulant(largest * (1.0 - 1e-9)).is_finite()
                    && pair.cumulant(largest * (1.0 + 1e-9)).is_infinite()
            );
        }
    }
    // Specification 4.5: γ = 33/32, α = 1/5, orders up to 4, 8 and 12.
    let noise = noise(NoiseFamily::DiscreteGaussian, "33/32", "1/5", 200);
    let worst = gaussian::SmoothGaussianShape::new(noise, noise.table().unwrap(), 1);
    for (omega, rho) in [(4.0, 0.02759), (8.0, 0.04523), (12.0, 0.12925)] {
        let found = worst.rho_up_to(omega);
        assert!(found >= rho * 0.999 && found <= rho * 1.02, "{omega}: {found}");
    }
}

/// A level and the answer: what the noise is centred on.
type LevelAnswer = (u32, i64);

fn weight(family: NoiseFamily, scale: f64, z: f64) -> f64 {
    match family {
        NoiseFamily::Cauchy4 => 1.0 / (1.0 + (z / scale).powi(4)),
        NoiseFamily::DiscreteLaplace => (-z.abs() / scale).exp(),
        NoiseFamily::DiscreteGaussian => (-z * z / (2.0 * scale * scale)).exp(),
    }
}

/// The law of the output, on a window; what is beyond is not listed.
fn law(family: NoiseFamily, levels: &Levels, state: &LevelAnswer, reach: i64) -> Distribution<i64> {
    let scale = levels.scale(state.0).get();
    let total: f64 = match family {
        NoiseFamily::Cauchy4 => norm(scale),
        _ => (-20_000..=20_000).map(|z| weight(family, scale, f64::from(z))).sum(),
    };
    let mass = |z: i64| weight(family, scale, (z - state.1) as f64) / total;
    let listed: Vec<f64> = (-reach..=reach).map(mass).collect();
    let rest = (1.0 - listed.iter().sum::<f64>()).max(0.0) + 1e-15;
    Distribution::new((-reach..=reach).zip(listed.into_iter().map(|p| ProbabilityInterval::near(p, 1e-12))), rest)
}

/// Every pair of levels at most 1 apart, every shift up to the reach of the lesser one.
fn neighbours(levels: &Levels) -> Vec<(LevelAnswer, LevelAnswer)> {
    let mut pairs = Vec::new();
    for level in 0..=levels.last() {
        for next in [level, (level + 1).min(levels.last())] {
            pairs.extend(
                (0..=levels.reach(level) as i64)
                    .flat_map(|shift| [((level, 0), (next, shift)), ((level, shift), (next, 0))]),
            );
        }
    }
    pairs
}

fn claim(family: NoiseFamily, gamma: &str, alpha: &str, levels: u32) -> (Levels, Claim) {
    let noise = noise(family, gamma, alpha, levels);
    let claim = match family {
        NoiseFamily::Cauchy4 => Claim { pure: Some(SmoothNoiseLoss(&noise).pure().unwrap()), ..Claim::default() },
        NoiseFamily::DiscreteLaplace => {
            let worst = laplace::SmoothLaplaceShape::new(noise, noise.table().unwrap(), 1);
            let epsilons = [0.1, 0.25, 0.4, 0.6, 0.8];
            Claim { deltas: epsilons.map(|epsilon| (epsilon, worst.of_one(epsilon))).to_vec(), ..Claim::default() }
        }
        NoiseFamily::DiscreteGaussian => {
            let worst = gaussian::SmoothGaussianShape::new(noise, noise.table().unwrap(), 1);
            let orders = [1.5, 2.0, 3.5];
            Claim {
                renyi: orders.map(|order| (order, worst.cumulant(order) / (order - 1.0))).to_vec(),
                ..Claim::default()
            }
        }
    };
    (noise.table().unwrap(), claim)
}

const SMALL: [(NoiseFamily, &str, &str, u32, i64); 3] = [
    (NoiseFamily::Cauchy4, "9/8", "1/3", 12, 2000),
    (NoiseFamily::DiscreteLaplace, "9/8", "1/3", 12, 1500),
    (NoiseFamily::DiscreteGaussian, "9/8", "1/3", 12, 400),
];

/// All pairs of levels and shifts, both orders: the claims are not below the truth, and hardly above it. What
/// accounting makes of Laplace noise, by chords and a grid of losses, is at most 1.5% above.
#[test]
fn every_shift_and_level_is_within_the_claim() {
    for (family, gamma, alpha, last, reach) in SMALL {
        let (levels, claim) = claim(family, gamma, alpha, last);
        let run = |state: &LevelAnswer| law(family, &levels, state, reach);
        check(&neighbours(&levels), run, &claim, Slack::TIGHT);
        if family == NoiseFamily::DiscreteLaplace {
            let event = event(noise(family, gamma, alpha, last));
            let claim = Claim { pure: None, ..Claim::of(&[event], &Scope::Person, &[0.1, 0.25, 0.4, 0.6, 0.8]) };
            check(&neighbours(&levels), run, &claim, Slack { delta: 0.015, ..Slack::TIGHT });
        }
    }
}

#[test]
fn a_claim_one_percent_too_small_fails() {
    for (family, gamma, alpha, last, reach) in SMALL {
        let (levels, claim) = claim(family, gamma, alpha, last);
        let less = 0.99;
        let smaller = Claim {
            pure: claim.pure.map(|pure| less * pure),
            deltas: claim.deltas.iter().map(|(epsilon, delta)| (*epsilon, less * delta)).collect(),
            renyi: claim.renyi.iter().map(|(order, value)| (*order, less * value)).collect(),
        };
        let failed = std::panic::catch_unwind(|| {
            check(&neighbours(&levels), |state| law(family, &levels, state, reach), &smaller, Slack::ANY);
        });
        assert!(failed.is_err(), "{family:?}");
    }
}

/// Two neighbours one after the other: levels up to 2 apart, shifts up to the reaches of both legs.
#[test]
fn groups_of_two_are_within_their_claims() {
    let two = NonZeroU32::new(2).unwrap();
    for (family, gamma, alpha, last, reach) in SMALL {
        let noise = noise(family, gamma, alpha, last);
        let levels = noise.table().unwrap();
        let claim = match family {
            NoiseFamily::DiscreteGaussian => {
                let worst = gaussian::SmoothGaussianShape::new(noise, levels.clone(), 2);
                let orders = [1.5, 1.9];
                Claim {
                    renyi: orders.map(|order| (order, worst.cumulant(order) / (order - 1.0))).to_vec(),
                    ..Claim::default()
                }
            }
            family => {
                let found = Claim::of(&[event(noise)], &Scope::Presence.group(two), &[0.5, 0.8, 1.2]);
                Claim { pure: found.pure.filter(|_| family == NoiseFamily::Cauchy4), ..found }
            }
        };
        let mut pairs = Vec::new();
        for level in 0..=last {
            for middle in level.saturating_sub(1)..=(level + 1).min(last) {
                for end in middle.saturating_sub(1)..=(middle + 1).min(last) {
                    let shift = (levels.reach(level.min(middle)) + levels.reach(middle.min(end))) as i64;
                    pairs.push(((level, 0), (end, shift)));
                }
            }
        }
        check(&pairs, |state| law(family, &levels, state, reach), &claim, Slack::ANY);
    }
}

/// A group whose e^ε is no number is given up, not forgotten.
#[test]
fn a_group_of_thousands_has_no_bound_by_laplace_noise() {
    let noise = noise(NoiseFamily::DiscreteLaplace, "9/8", "1/3", 12);
    let worst = laplace::SmoothLaplaceShape::new(noise, noise.table().unwrap(), 5000);
    let (atoms, infinite) = worst.pair().unwrap();
    let total: f64 = atoms.iter().map(|(_, p, _)| p).sum::<f64>() + infinite;
    assert!(infinite > 0.99 && (total - 1.0).abs() < 1e-9, "{infinite} {total}");
}

#[test]
fn filters_charge_what_accounting_says_or_refuse() {
    let shift = Shift::one_cell(1.0).unwrap();
    let pure = noise(NoiseFamily::Cauchy4, "9/8", "1/3", 24);
    let cost = SmoothNoiseLoss(&pure).price(&shift, 2).unwrap();
    assert!((cost.pure.unwrap().to_f64() / (2.0 * SmoothNoiseLoss(&pure).pure().unwrap()) - 1.0).abs() < 1e-12);
    let gaussian = noise(NoiseFamily::DiscreteGaussian, "33/32", "1/5", 200);
    let truncated = SmoothNoiseLoss(&gaussian).price(&shift, 1).unwrap().truncated.unwrap();
    assert!((truncated.omega.unwrap().to_f64() - 8.375).abs() < 0.2 && truncated.rho.to_f64() < 0.06);
    let refused = SmoothNoiseLoss(&gaussian).price(&shift, 100).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("group of 100"), "{refused}");
    let laplace = noise(NoiseFamily::DiscreteLaplace, "33/32", "7/20", 100);
    assert!(SmoothNoiseLoss(&laplace).price(&shift, 1).map(|_| ()).unwrap_err().to_string().contains("no rule"));
}

/// Gaussian noise by levels has an (ε, δ) by its curve, and none beyond its largest order.
#[test]
fn gaussian_noise_has_an_epsilon_at_delta() {
    let noise = noise(NoiseFamily::DiscreteGaussian, "33/32", "1/5", 200);
    let loss = Loss::of([event(noise)], Scope::Presence).unwrap();
    let epsilon = loss.epsilon(Delta::new(1e-6).unwrap()).upper;
    // Plain Gaussian noise of the same ratio has 0.97.
    assert!(epsilon > 0.97 && epsilon < 2.5, "{epsilon}");
    assert!(loss.epsilon(Delta::new(0.0).unwrap()).upper.is_infinite());
}

/// A filter cut a group of 4·10⁹ to 10⁶ owners: ρ was 0.5 instead of 8·10⁶.
#[test]
fn a_group_of_billions_is_refused_by_the_filter_as_by_accounting() {
    let one = event(noise(NoiseFamily::DiscreteGaussian, "4000000001/4000000000", "1/1000000", 0));
    let group = Scope::Presence.group(NonZeroU32::new(4_000_000_000).unwrap());
    let refused = crate::loss::filter::Odometer::of(std::slice::from_ref(&one), &group).unwrap_err().to_string();
    assert!(refused.contains("at most 1000000"), "{refused}");
    assert!(Loss::of(&[one], &group).is_err());
}
