use super::*;
use crate::harness::statistics::assert_agree;
use crate::harness::{self, Claim, Distribution, Slack, check, neighbours};
use crate::noise::InsecureSeededSource;
use crate::quantity::{Omega, Scale, Sigma};
use crate::scope::Scope;

fn beta(value: f64) -> Beta {
    Beta::new(value).unwrap()
}

#[test]
fn the_plan_is_the_golden_one() {
    // vector interior_plan: 60 bits, β = 0.05, ε₀ = 1, q_N = 18.2, q_1 = q_e = 4.5
    let thresholds = NodeThresholds::new(61.0, (1.0, 1), 0.05, [18.2, 4.5, 4.5]);
    assert_eq!(thresholds, NodeThresholds { occupied: 24, too_full: 59, margin: 10 });
    assert_eq!(thresholds.height(), 128);
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
        Distribution::new(
            (0..8).map(|y| (y, harness::ProbabilityInterval::near((0.7 * score(y)).exp() / total, 1e-13))),
            0.0,
        )
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

fn jumps(values: &[u128]) -> Vec<(Leaf, i64)> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.chunk_by(|a, b| a == b).map(|run| (Leaf { key: run[0], tie: 0 }, run.len() as i64)).collect()
}

#[test]
fn the_score_of_a_level_moves_by_at_most_one() {
    // The event of the level claims sensitivity 1 for q in both scopes: enumerate.
    let recursion = RecursionLevel { leaves: Leaves::new(3, 0), ..tiny_recursion().1 };
    let universe: Vec<u128> = (0..8).collect();
    for (left, right) in neighbours::presence(&universe, 4).into_iter().chain(neighbours::person(&universe, 3)) {
        for (a, b) in recursion.scores(&jumps(&left)).into_iter().zip(recursion.scores(&jumps(&right))) {
            assert!((a - b).abs() <= 1, "{left:?} {right:?}");
        }
    }
}

#[test]
fn both_ways_find_a_point_inside_with_the_owners_that_they_ask_for() {
    let (rho, omega) = (Rho::new(1.0).unwrap(), Omega::new(2.0).unwrap());
    for bits in [16u32, 60, 128] {
        let ways = [
            InteriorPoint::new(bits, Epsilon::new(2f64.sqrt()).unwrap()).unwrap(),
            InteriorPoint::recursive_within(Target::tcdp(rho, omega), Scope::Person, bits, beta(0.05)).unwrap(),
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
        InteriorPoint::within(
            Target::tcdp(Rho::new(0.1).unwrap(), Omega::new(6.0).unwrap()),
            Scope::Person,
            bits,
            beta(0.05),
        )
        .unwrap()
    };
    assert_eq!(choose(32).name(), "exponential mechanism");
    assert_eq!(choose(64).name(), "exponential mechanism");
    let large = choose(128);
    assert_eq!(large.name(), "recursion", "{:?} owners", large.owners_needed(beta(0.05)));
    assert!(InteriorPoint::new(0, Epsilon::new(1.0).unwrap()).is_err());
    assert!(InteriorPoint::new(129, Epsilon::new(1.0).unwrap()).is_err());
    assert!(InteriorPoint::new(8, Epsilon::new(0.0).unwrap()).is_err());
    let small = InteriorPoint::new(8, Epsilon::new(1.0).unwrap()).unwrap();
    assert!(small.release(&[256], &mut InsecureSeededSource::new(1)).is_err());
}

/// The recursion with thresholds so low that four keys and four owners reach all of its branches.
fn tiny_recursion() -> (InteriorPoint, RecursionLevel) {
    let noise = SinhNormal::new(Sigma::new(1.286).unwrap(), Scale::new(2.7).unwrap()).unwrap();
    let recursive = RecursionLevel {
        leaves: Leaves::new(2, 0),
        epsilon: Epsilon::new(1.5).unwrap(),
        sensitivity: 1,
        nodes: noise.clone(),
        before: noise,
        thresholds: NodeThresholds { occupied: 1, too_full: 3, margin: 2 },
    };
    (InteriorPoint { bits: 2, method: PointSearch::Recursive(Box::new(recursive.clone())) }, recursive)
}

/// The output law of the whole recursion over two-bit keys: F(j) = #{x ≤ j}.
fn recursion_law(recursive: &RecursionLevel, values: &[u128]) -> Distribution<u128> {
    let law = law::recursion_law(recursive, |j| values.iter().filter(|value| (**value as i64) <= j).count() as i64);
    Distribution::new(
        (0u128..).zip(law.into_iter().map(|chance| harness::ProbabilityInterval::near(chance, 1e-12))),
        0.0,
    )
}

#[test]
fn the_whole_recursion_costs_no_more_than_its_events_say() {
    let (point, recursive) = tiny_recursion();
    let events = point.events().unwrap();
    let universe: Vec<u128> = (0..4).collect();
    let law = |values: &Vec<u128>| recursion_law(&recursive, values);
    let epsilons = [0.25, 1.0];
    let presence = Claim::of(&events, &Scope::Presence, &epsilons);
    check(&neighbours::presence(&universe, 4), law, &presence, Slack::ANY);
    let person = Claim::of(&events, &Scope::Person, &epsilons);
    check(&neighbours::person(&universe, 4), law, &person, Slack::ANY);
}

#[test]
fn the_recursion_samples_the_law_that_is_checked() {
    let (point, recursive) = tiny_recursion();
    for (seed, values) in [vec![], vec![0u128, 3, 3], vec![1, 1, 1, 2], vec![2, 3, 3, 3, 3]].into_iter().enumerate() {
        let law = recursion_law(&recursive, &values);
        let mut bits = InsecureSeededSource::new(900 + seed as u64);
        let draws = 20_000;
        let mut seen = [0u64; 4];
        for _ in 0..draws {
            seen[point.release(&values, &mut bits).unwrap() as usize] += 1;
        }
        let cells = law.iter().map(|(key, chance)| (seen[*key as usize], 0.5 * (chance.lower + chance.upper)));
        assert_agree("recursion", draws, cells.collect::<Vec<_>>());
    }
}
