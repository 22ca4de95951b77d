//! Node values and scores by enumeration, the whole law of one median against all neighbours, the sampler against the
//! law.

use super::super::laws::{claim, f, place, recursive_point, tiny_median};
use super::*;
use crate::harness::statistics::assert_agree;
use crate::harness::{Claim, Distribution, ProbabilityInterval, Slack, check, neighbours};
use crate::noise::InsecureSeededSource;
use crate::scope::Scope;
use std::collections::BTreeSet;

/// Values of all nodes of a level.
fn node_values(f: &dyn Fn(i64) -> i64, bits: u32, level: u32) -> Vec<i64> {
    (0..1i64 << (bits - level)).map(|node| f(((node + 1) << level) - 1) - f((node << level) - 1)).collect()
}

fn places_of(values: &[i64], leaves: Leaves) -> Vec<Leaf> {
    values.iter().map(|value| place(*value, leaves)).collect()
}

#[test]
fn jumps_are_those_of_the_definition() {
    let leaves = Leaves::new(2, 1);
    let universe: Vec<i64> = (0..8).collect();
    for half_width in [1, 2, 3] {
        let median = tiny_median(leaves, half_width);
        for values in (0..=4).flat_map(|size| neighbours::datasets(&universe, size)) {
            let jumps = median.jumps(&places_of(&values, leaves));
            assert!(jumps.windows(2).all(|pair| pair[0].0 < pair[1].0) && jumps.iter().all(|jump| jump.1 > 0));
            for j in 0..8 {
                let risen: i64 = jumps.iter().filter(|jump| jump.0 <= place(j, leaves)).map(|jump| jump.1).sum();
                assert_eq!(risen, f(&values, half_width, 7)(j), "{values:?} at {j}, w = {half_width}");
            }
        }
    }
}

/// How the nodes of a level move between neighbours, those that do, in order; and checks of what else the events claim
/// to move.
fn moves(left: &[i64], right: &[i64], half_width: i64, of_f: i64) -> BTreeSet<Vec<i64>> {
    let (before, after) = (f(left, half_width, 7), f(right, half_width, 7));
    assert!((-1..8).all(|j| (after(j) - before(j)).abs() <= of_f), "F moves by more than {of_f}: {left:?} {right:?}");
    let mut patterns = BTreeSet::new();
    for level in 0..=3 {
        let (old, new) = (node_values(&before, 3, level), node_values(&after, 3, level));
        let fullest = |values: &[i64]| *values.iter().max().unwrap();
        assert!((fullest(&new) - fullest(&old)).abs() <= 2, "the fullest node moves by more than 2");
        let moved: Vec<i64> = new.iter().zip(&old).map(|(new, old)| new - old).filter(|by| *by != 0).collect();
        assert_eq!(moved.iter().sum::<i64>(), 0);
        patterns.insert(moved);
    }
    patterns
}

#[test]
fn nodes_move_by_minus_one_two_minus_one_and_by_two_each_way_when_replaced() {
    let universe: Vec<i64> = (0..8).collect();
    let (mut presence, mut person) = (BTreeSet::new(), BTreeSet::new());
    let mut largest_score = 0;
    for half_width in [1, 2] {
        let mut median = tiny_median(Leaves::new(3, 0), half_width);
        // Thresholds so far apart that no score is cut off before it has moved as far as it can.
        median.recursion.thresholds = NodeThresholds { occupied: 1, too_full: 5, margin: 0 };
        let mut scores_move = |left: &[i64], right: &[i64]| {
            let scores = |values: &[i64]| median.recursion.scores(&median.jumps(&places_of(values, Leaves::new(3, 0))));
            let moves = scores(left).into_iter().zip(scores(right)).map(|(a, b)| (a - b).abs());
            largest_score = largest_score.max(moves.max().unwrap());
        };
        for (left, right) in neighbours::presence(&universe, 5) {
            presence.extend(moves(&left, &right, half_width, 1));
            scores_move(&left, &right);
        }
        for (left, right) in (1..=4).flat_map(|owners| neighbours::person(&universe, owners)) {
            person.extend(moves(&left, &right, half_width, 2));
            scores_move(&left, &right);
        }
    }
    let count = |moved: &[i64], by: i64| moved.iter().filter(|one| one.abs() == by).count();
    // One cell by 2 and two cells by 1; the pair in `neighbours::presence` is (without, with).
    assert!(presence.iter().all(|moved| count(moved, 2) <= 1 && count(moved, 1) <= 2 && moved.len() <= 3));
    assert!(presence.contains(&vec![-1, 2, -1]), "{presence:?}");
    // Two cells by 2 and four by 1 hold each of the cases, which all occur.
    assert!(person.iter().all(|moved| count(moved, 2) <= 2 && count(moved, 1) + 2 * count(moved, 2) <= 4));
    assert!(
        person.iter().all(|moved| moved.len() == count(moved, 1) + count(moved, 2)),
        "no cell moves by more than 2"
    );
    let occurs = |pattern: &[i64]| {
        let turned: Vec<i64> = pattern.iter().map(|by| -by).collect();
        person.contains(pattern) || person.contains(&turned)
    };
    assert!(occurs(&[2, -2]) && occurs(&[1, 1, -2]) && occurs(&[2, -1, -1]) && occurs(&[1, 1, -1, -1]), "{person:?}");
    assert_eq!(largest_score, 2, "the exponential mechanism over levels has sensitivity 2");
}

fn law(median: &RecursiveMedian, values: &[i64]) -> Distribution<i64> {
    let last = (1i64 << median.recursion.leaves.bits()) - 1;
    let law = recursive_point(median, values, (0, last));
    Distribution::new(law.into_iter().map(|(point, chance)| (point, ProbabilityInterval::near(chance, 1e-12))), 0.0)
}

#[test]
fn the_whole_median_costs_no_more_than_its_events_say() {
    for (bits, half_width, most) in [(2, 1, 6), (2, 2, 7), (2, 3, 8), (3, 1, 4)] {
        let median = tiny_median(Leaves::new(bits, 0), half_width);
        let events = median.events(1, &AttributeSet::empty()).unwrap();
        let universe: Vec<i64> = (0..1 << bits).collect();
        let law = |values: &Vec<i64>| law(&median, values);
        check(&neighbours::presence(&universe, most), law, &claim(&events, &Scope::Presence), Slack::ANY);
        let person: Vec<_> = (1..most).flat_map(|owners| neighbours::person(&universe, owners)).collect();
        check(&person, law, &claim(&events, &Scope::Person), Slack::ANY);
    }
}

#[test]
#[should_panic(expected = "unsound")]
fn the_moves_of_raw_counts_would_claim_too_little() {
    // A6.4 counts values, and one more moves one node by 1; here even four nodes by 1 are less than the truth.
    let mut median = tiny_median(Leaves::new(2, 0), 3);
    median.recursion.epsilon = Epsilon::new(0.1).unwrap();
    let certified = |noise: &SinhNormal| noise.certificate(1).unwrap().renyi_upper(2.0).get();
    let too_little = 4.0 * certified(&median.recursion.nodes) + certified(&median.recursion.before) + 2.0 * 0.01 / 8.0;
    let claim = Claim { renyi: vec![(2.0, too_little)], ..Claim::default() };
    let universe: Vec<i64> = (0..4).collect();
    check(&neighbours::presence(&universe, 8), |values: &Vec<i64>| law(&median, values), &claim, Slack::ANY);
}

#[test]
fn the_median_samples_the_law_that_is_checked() {
    let leaves = Leaves::new(2, 0);
    let median = tiny_median(leaves, 1);
    let all = (leaves.first(), leaves.last());
    for (seed, values) in [vec![], vec![0, 3, 3], vec![1, 1, 1, 2], vec![0, 1, 2, 3, 3, 3]].into_iter().enumerate() {
        let sorted = places_of(&values, leaves);
        let mut bits = InsecureSeededSource::new(300 + seed as u64);
        let draws = 20_000;
        let mut seen = [0u64; 4];
        for _ in 0..draws {
            seen[median.release(&sorted, all, &mut bits).unwrap().key as usize] += 1;
        }
        let law = recursive_point(&median, &values, (0, 3));
        assert_agree("median", draws, seen.into_iter().zip(law.into_values()).collect::<Vec<_>>());
    }
}

#[test]
fn the_budget_holds_and_the_plan_is_consistent() {
    let (rho, omega) = (Rho::new(0.4).unwrap(), Omega::new(4.0).unwrap());
    for (levels, tie_bits) in [(1, 0), (4, 24)] {
        let median = RecursiveMedian::new(Leaves::new(128, tie_bits), levels, (rho, omega), 0.01).unwrap();
        // Σ sup D/α over the events of scope person, from the tables.
        let slope = |event: &Event| -> f64 {
            let [shift] = event.moves().shifts(&Scope::Person)[..] else { panic!("one way to move") };
            let cell = match event.word() {
                Word::Exponential { epsilon } => (epsilon.get() * shift.by.get()).powi(2) / 8.0,
                Word::SinhNormal { sigma, a } => {
                    let noise = SinhNormal::new(*sigma, *a).unwrap();
                    noise.certificate(shift.by.get() as u64).unwrap().slope_upper(omega).get()
                }
                other => panic!("{other:?}"),
            };
            cell * shift.cells as f64 * event.times() as f64
        };
        let spent: f64 = median.events(levels, &AttributeSet::empty()).unwrap().iter().map(slope).sum();
        assert!((0.95 * rho.get()..=rho.get()).contains(&spent), "{spent}");
        let NodeThresholds { occupied, too_full, margin } = median.recursion.thresholds;
        assert_eq!(2 * too_full + margin, 4 * median.half_width);
        let quantile = |noise: &SinhNormal, p: f64| noise.table().quantile(p);
        let all_nodes = 0.0025 * 2f64.powi(-128 - tie_bits as i32);
        assert!(occupied > quantile(&median.recursion.nodes, all_nodes) + quantile(&median.recursion.nodes, 0.0025));
        assert!(margin > 2 * quantile(&median.recursion.before, 0.0025));
        // 129 + tie_bits scores of 0 beside one of at least (τ₂ − τ₁)/2.
        let wrong = f64::from(129 + tie_bits)
            * (-median.recursion.epsilon.get() / 4.0 * (too_full - occupied) as f64 / 2.0).exp();
        assert!(wrong <= 0.0025, "{wrong}");
    }
}
