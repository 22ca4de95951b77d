use super::*;
use crate::harness::{self, Claim, Distribution, Slack, check, neighbours};
use crate::noise::InsecureSeededSource;

fn beta(value: f64) -> Beta {
    Beta::new(value).unwrap()
}

#[test]
fn the_plan_is_the_golden_one() {
    // vector interior_plan: 60 bits, β = 0.05, ε₀ = 1, q_N = 18.2, q_1 = q_e = 4.5
    let thresholds = Thresholds::new(61.0, 1.0, 0.05, 18.2, 4.5, 4.5);
    assert_eq!(thresholds, Thresholds { occupied: 24, too_full: 59, margin: 10 });
    assert_eq!(thresholds.owners(), 128);
}

#[test]
fn the_exponential_way_costs_what_its_event_says() {
    let universe: Vec<u128> = vec![0, 1, 3, 6];
    let distribution = |values: &Vec<u128>| {
        let score = |y: u128| {
            let at_most = values.iter().filter(|value| **value <= y).count();
            let at_least = values.iter().filter(|value| **value >= y).count();
            at_most.min(at_least) as f64
        };
        let total: f64 = (0..8).map(|y| (0.7 * score(y)).exp()).sum();
        Distribution::new((0..8).map(|y| (y, harness::Probability::near((0.7 * score(y)).exp() / total, 1e-13))), 0.0)
    };
    let claim = |pure: f64| Claim { pure: Some(pure), ..Claim::default() };
    check(&neighbours::presence(&universe, 4), distribution, &claim(0.7), Slack { pure: 0.5, ..Slack::ANY });
    check(&neighbours::person(&universe, 4), distribution, &claim(1.4), Slack { pure: 0.8, ..Slack::ANY });
    // The segments are the definition.
    for values in [vec![0u128, 1, 1, 6], vec![], vec![7, 7]] {
        let segments = score_segments(&values, 7);
        for y in 0u128..8 {
            let at_most = values.iter().filter(|value| **value <= y).count();
            let at_least = values.iter().filter(|value| **value >= y).count();
            let holding: Vec<_> = segments.iter().filter(|s| (s.first..=s.last).contains(&y)).collect();
            assert_eq!(holding.len(), 1);
            let best = (0..8u128).map(|z| {
                let at_most = values.iter().filter(|value| **value <= z).count();
                at_most.min(values.iter().filter(|value| **value >= z).count())
            });
            assert_eq!(holding[0].distance as usize, best.max().unwrap() - at_most.min(at_least));
        }
    }
}

#[test]
fn the_score_of_a_level_moves_by_at_most_one() {
    // The event of the level claims sensitivity 1 for q in both scopes: enumerate.
    let thresholds = Thresholds { occupied: 1, too_full: 3, margin: 1 };
    let scores = |values: &[u128]| -> Vec<i64> {
        let height = 2;
        let gain = |level: u32| {
            if level == 3 { height } else { (largest_count(values, level) - thresholds.occupied).clamp(0, height) }
        };
        (0..=3u32).map(|level| gain(level).min(height - if level == 0 { 0 } else { gain(level - 1) })).collect()
    };
    let universe: Vec<u128> = (0..8).collect();
    for (left, right) in neighbours::presence(&universe, 4).into_iter().chain(neighbours::person(&universe, 3)) {
        for (a, b) in scores(&left).iter().zip(scores(&right)) {
            assert!((a - b).abs() <= 1, "{left:?} {right:?}");
        }
    }
}

#[test]
fn both_ways_find_a_point_inside_with_the_owners_that_they_ask_for() {
    let (rho, omega) = (Rho::new(1.0).unwrap(), Omega::new(2.0).unwrap());
    for bits in [16u32, 60, 128] {
        let ways = [
            InteriorPoint::exponential(bits, Epsilon::new(2f64.sqrt()).unwrap()).unwrap(),
            InteriorPoint::recursive(bits, rho, omega, beta(0.05)).unwrap(),
        ];
        for way in ways {
            let owners = way.owners_needed(beta(0.05)).unwrap().ceil() as u128;
            let middle = last_key(bits) / 2;
            // All equal; two clumps at the ends; consecutive; spread out.
            let shapes: [Vec<u128>; 4] = [
                vec![middle; owners as usize],
                (0..owners).map(|i| if i < owners / 2 { 3 } else { last_key(bits) - 3 }).collect(),
                (0..owners).map(|i| middle - 20 + i).collect(),
                (0..owners).map(|i| last_key(bits) / owners * i).collect(),
            ];
            for (number, values) in shapes.iter().enumerate() {
                let (least, largest) = (values.iter().min().unwrap(), values.iter().max().unwrap());
                let mut bits_source = InsecureSeededSource::new(77 + number as u64);
                let runs = 60;
                let inside = (0..runs)
                    .filter(|_| (*least..=*largest).contains(&way.release(values, &mut bits_source).unwrap()))
                    .count();
                // 60 runs that fail with probability at most 0.05: more than 20 failures has probability below 1e-11.
                assert!(inside >= 40, "{} of {runs} for {} at {bits} bits, shape {number}", inside, way.name());
            }
            assert!(way.release(&[], &mut InsecureSeededSource::new(1)).is_ok());
            assert!(!way.events().unwrap().is_empty());
        }
    }
}

#[test]
fn the_choice_follows_the_domain_and_bad_input_is_refused() {
    let choose = |bits: u32| {
        InteriorPoint::for_budget(bits, Rho::new(0.1).unwrap(), Omega::new(6.0).unwrap(), beta(0.05)).unwrap()
    };
    assert_eq!(choose(32).name(), "exponential mechanism");
    assert_eq!(choose(64).name(), "exponential mechanism");
    let large = choose(128);
    assert_eq!(large.name(), "recursion", "{:?} owners", large.owners_needed(beta(0.05)));
    assert!(InteriorPoint::exponential(0, Epsilon::new(1.0).unwrap()).is_err());
    assert!(InteriorPoint::exponential(129, Epsilon::new(1.0).unwrap()).is_err());
    assert!(InteriorPoint::exponential(8, Epsilon::new(0.0).unwrap()).is_err());
    let small = InteriorPoint::exponential(8, Epsilon::new(1.0).unwrap()).unwrap();
    assert!(small.release(&[256], &mut InsecureSeededSource::new(1)).is_err());
}
