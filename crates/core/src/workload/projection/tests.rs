//! Sensitivities, and what the projection finds.

use super::super::domain::Domain;
use super::super::predicate::Predicate;
use super::*;
use crate::noise::InsecureSeededSource;
use proptest::prelude::*;
use serde_json::Value;

fn choose(n: u64, k: u64) -> u64 {
    if k > n { 0 } else { (0..k).fold(1, |product, i| product * (n - i) / (i + 1)) }
}

#[test]
fn sensitivities_are_those_of_the_vectors() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/per-attribute.json");
    let vectors: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let rows = vectors["projection"]["subset"].as_array().unwrap();
    assert!(rows.len() > 10);
    for row in rows {
        let number = |key: &str| row[key].as_u64().unwrap() as usize;
        let (d, k, changed) = (number("d"), number("k"), number("changed"));
        let domain = Domain::new(vec![2; d]).unwrap();
        let scope = Subset::of(&(0..changed).collect::<Vec<_>>());
        let conjunctions = Queries::conjunctions(&domain, k).unwrap().squared_sensitivity(scope);
        assert_eq!(conjunctions, number("conj_sq") as u64, "{row}");
        // Exactly w flips change Σ_{i odd} C(w, i)·C(d−w, k−i) parities; a scope is the worst of up to this many flips.
        let exactly =
            |w: u64| (1..=k as u64).step_by(2).map(|i| choose(w, i) * choose(d as u64 - w, k as u64 - i)).sum::<u64>();
        assert_eq!(exactly(changed as u64), number("parity01_sq") as u64, "{row}");
        let parities = Queries::parities(&domain, k).unwrap().squared_sensitivity(scope);
        assert_eq!(parities, (0..=changed as u64).map(exactly).max().unwrap(), "{row}");
    }
    // k = 2 of d = 6: flipping all changes nothing, flipping half changes ⌊d²/4⌋ = 9 of 15.
    let pairs = Queries::parities(&Domain::new(vec![2; 6]).unwrap(), 2).unwrap();
    assert_eq!(pairs.squared_sensitivity(pairs.domain().all()), 9);
    assert_eq!(pairs.squared_sensitivity(Subset::of(&[3])), 5);
}

#[test]
fn no_pair_of_records_moves_more_answers_than_stated() {
    let domain = Domain::new(vec![3, 2, 2, 2]).unwrap();
    let odd = vec![
        Predicate::conjunction(&domain, &[(0, 1), (1, 0)]).unwrap(),
        Predicate::conjunction(&domain, &[(0, 2), (1, 1)]).unwrap(),
        Predicate::parity(&domain, &[1, 2]).unwrap(),
        Predicate::parity(&domain, &[1, 2, 3]).unwrap(),
        Predicate::conjunction(&domain, &[(3, 1)]).unwrap(),
    ];
    for queries in [Queries::new(&domain, odd).unwrap(), Queries::marginals(&domain, 2).unwrap()] {
        let answers = |cell: usize| {
            let mut one = vec![0i64; domain.cells()];
            one[cell] = 1;
            queries.answers(&one)
        };
        let all: Vec<Vec<i64>> = (0..domain.cells()).map(answers).collect();
        for scope in domain.all().subsets() {
            let mut worst = 0;
            for left in 0..domain.cells() {
                for right in 0..left {
                    let (a, b) = (domain.values(left), domain.values(right));
                    if (0..4).all(|attribute| scope.contains(attribute) || a[attribute] == b[attribute]) {
                        let moved = all[left].iter().zip(&all[right]).filter(|(x, y)| x != y).count() as u64;
                        worst = worst.max(moved);
                    }
                }
            }
            assert!(worst <= queries.squared_sensitivity(scope), "{scope}");
        }
        let presence = all.iter().map(|answers| answers.iter().sum::<i64>()).max().unwrap() as u64;
        assert!(presence <= queries.squared_sensitivity_presence());
    }
}

#[test]
fn the_projection_is_consistent_and_closer_to_the_truth_than_the_noise() {
    let domain = Domain::new(vec![2; 6]).unwrap();
    let counts: Vec<u64> = (0..64).map(|cell: u64| if cell.is_multiple_of(5) { 40 } else { 0 }).collect();
    let people = counts.iter().sum();
    let queries = Queries::conjunctions(&domain, 2).unwrap();
    let exact = queries.answers(&counts);
    let mechanism = Projection::new(queries, Sigma::new(60.0).unwrap());
    let mut bits = InsecureSeededSource::new(2);
    let mut squares = 0.0;
    for _ in 0..20 {
        let released = mechanism.release(&counts, people, &mut bits).unwrap();
        assert!(released.cells.iter().all(|cell| *cell >= 0.0));
        assert!((released.cells.iter().sum::<f64>() - people as f64).abs() < 1e-6 * people as f64);
        let error = |(answer, &exact): (&f64, &u64)| (answer - exact as f64).powi(2);
        squares += released.answers.iter().zip(&exact).map(error).sum::<f64>() / exact.len() as f64 / 20.0;
    }
    assert!(squares.sqrt() < 0.9 * 60.0, "the projected error is {}", squares.sqrt());
    assert!(squares.sqrt() <= mechanism.expected_error(people) * 1.1);
}

#[test]
fn the_projections_of_the_vectors_are_found() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/per-attribute.json");
    let vectors: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let vectors = &vectors["projection"]["projection"];
    let sizes = vectors["domains"].as_array().unwrap().iter().map(|size| size.as_u64().unwrap() as u32).collect();
    let queries = Queries::marginals(&Domain::new(sizes).unwrap(), 2).unwrap();
    let numbers = |value: &Value| value.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect::<Vec<f64>>();
    let cases = vectors["cases"].as_array().unwrap();
    assert!(cases.len() > 2);
    for case in cases {
        for people in [1.0, 30_000.0] {
            let target: Vec<f64> = numbers(&case["Y"]).iter().map(|share| share * people).collect();
            let found = projected(&queries, &target, people, 1e-14 * people * people);
            assert!(found.gap <= 1e-14 * people * people);
            for (answer, wanted) in found.answers.iter().zip(numbers(&case["projection"])) {
                assert!((answer / people - wanted).abs() < 1e-7, "{answer} {wanted}");
            }
        }
    }
    let nobody = projected(&queries, &numbers(&cases[0]["Y"]), 0.0, 1.0);
    assert!(nobody.answers.iter().chain(&nobody.cells).all(|&value| value == 0.0));
}

/// Workloads of every sort over small universes, with a target that need not be near any table's answers.
fn problems() -> impl Strategy<Value = (Queries, Vec<f64>, f64)> {
    let queries = prop_oneof![
        (prop::collection::vec(1u32..4, 1..5), 1usize..3).prop_map(|(sizes, order)| {
            let domain = Domain::new(sizes).unwrap();
            Queries::marginals(&domain, order.min(domain.attributes())).unwrap()
        }),
        (2usize..6, 1usize..3)
            .prop_map(|(d, order)| Queries::conjunctions(&Domain::new(vec![2; d]).unwrap(), order).unwrap()),
        (2usize..6, 1usize..3)
            .prop_map(|(d, order)| Queries::parities(&Domain::new(vec![2; d]).unwrap(), order).unwrap()),
    ];
    (queries, prop::collection::vec(-0.5f64..1.5, 64), -6.0f64..1.0).prop_map(|(queries, noise, exponent)| {
        let target = (0..queries.len()).map(|query| 1000.0 * noise[query * 7 % 64]).collect();
        (queries, target, 10f64.powf(exponent) * 1e6)
    })
}

/// Each cell's answers, by definition.
fn corners(queries: &Queries) -> Vec<Vec<f64>> {
    let corner = |cell: usize| {
        let mut one = vec![0.0; queries.domain().cells()];
        one[cell] = 1.0;
        queries.answers(&one)
    };
    (0..queries.domain().cells()).map(corner).collect()
}

fn product(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

fn difference(left: &[f64], right: &[f64]) -> Vec<f64> {
    left.iter().zip(right).map(|(left, right)| left - right).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_gap_is_the_largest_over_the_universe_and_bounds_what_is_left_to_gain((queries, target, enough) in problems()) {
        let people = 1000.0;
        let found = projected(&queries, &target, people, enough);
        prop_assert!(found.gap <= enough, "{} {}", found.gap, enough);
        // The answers are those of a table with that number of people.
        prop_assert!(found.cells.iter().all(|&cell| cell >= 0.0));
        prop_assert!((found.cells.iter().sum::<f64>() - people).abs() < 1e-6);
        let of_cells = queries.answers(&found.cells);
        prop_assert!(found.answers.iter().zip(&of_cells).all(|(left, right)| (left - right).abs() < 1e-6));
        // The gap by definition: max_u ⟨Y − y, n·Q(u) − y⟩.
        let residual = difference(&target, &found.answers);
        let here = product(&residual, &found.answers);
        let corners = corners(&queries);
        let most = corners.iter().map(|corner| people * product(&residual, corner)).fold(f64::NEG_INFINITY, f64::max);
        prop_assert!((found.gap - (most - here)).abs() < 1e-5, "{} {}", found.gap, most - here);
        // No table gains more than the gap, and the best one is no further away than its root.
        let best = projected(&queries, &target, people, 1e-7);
        let half = |answers: &[f64]| { let off = difference(&target, answers); product(&off, &off) / 2.0 };
        let others = corners.iter().map(|corner| corner.iter().map(|answer| people * answer).collect::<Vec<f64>>());
        for other in others.chain([best.answers.clone()]) {
            prop_assert!(half(&found.answers) - half(&other) <= found.gap + 1e-5);
        }
        let off = difference(&found.answers, &best.answers);
        prop_assert!(product(&off, &off) <= found.gap + 1e-2);
    }

    #[test]
    fn the_search_finds_the_heaviest_cells((queries, weights, share) in problems()) {
        // Whole numbers have exact sums.
        let weights: Vec<f64> = weights.iter().map(|weight| weight.round()).collect();
        let all: Vec<f64> = corners(&queries).iter().map(|corner| product(corner, &weights)).collect();
        let heaviest = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let above = heaviest - share;
        let found = nearest::CellSearch::new(&queries, 64).best(queries.weights_of_tables(&weights), above);
        prop_assert_eq!(found.largest, heaviest);
        let found: Vec<f64> = found.cells.iter().map(|&cell| all[cell]).collect();
        // In universes as small as these every cell can be found, up to 64 of them.
        let mut wanted: Vec<f64> = all.into_iter().filter(|&weight| weight > above).collect();
        wanted.sort_by(|left, right| right.total_cmp(left));
        wanted.truncate(64);
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn steps_and_corral_find_the_same((queries, target, _) in problems()) {
        let target: Vec<f64> = target.iter().map(|answer| answer / 1000.0).collect();
        let points = mixture::Points::new(&queries);
        let by_steps = nearest::walk(&points, &target, 1e-6, steps::GradientSteps::new(&points, &target));
        let by_corral = nearest::walk(&points, &target, 1e-6, corral::Corral::new(&points, &target));
        prop_assert!(by_steps.gap <= 1e-6 && by_corral.gap <= 1e-6, "{} {}", by_steps.gap, by_corral.gap);
        // Each is within the root of its gap of the nearest point.
        let off = difference(&by_steps.answers, &by_corral.answers);
        prop_assert!(product(&off, &off) <= 4.1e-6);
    }

    #[test]
    fn answers_have_at_most_the_stated_dimensions((queries, _, _) in problems(), is_marginals in any::<bool>()) {
        let queries = if is_marginals { Queries::marginals(queries.domain(), 1).unwrap() } else { queries };
        let corners = corners(&queries);
        let mut rows: Vec<Vec<f64>> = corners.iter().skip(1).map(|corner| difference(corner, &corners[0])).collect();
        let mut rank = 0;
        for column in 0..queries.len() {
            let Some(pivot) = (rank..rows.len()).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs())) else { break };
            if rows[pivot][column].abs() < 1e-9 {
                continue;
            }
            rows.swap(rank, pivot);
            let own = rows[rank].clone();
            for row in &mut rows[rank + 1..] {
                let factor = row[column] / own[column];
                row.iter_mut().zip(&own).for_each(|(value, own)| *value -= factor * own);
            }
            rank += 1;
        }
        prop_assert!(rank <= queries.dimension());
        if is_marginals {
            prop_assert_eq!(rank.max(1), queries.dimension());
        }
    }
}

#[test]
fn a_million_cells_are_projected_within_the_stated_gap() {
    // Before cells were found as they are needed, this had not ended after 107 CPU seconds of a release build.
    let domain = Domain::new(vec![2; 20]).unwrap();
    let queries = Queries::marginals(&domain, 2).unwrap();
    let mut bits = InsecureSeededSource::new(11);
    let mut counts = vec![0u64; domain.cells()];
    for person in 0..2000u64 {
        let word = bits.next_u64() as usize;
        counts[if person % 2 == 0 { word % domain.cells() } else { (word & 1) * (domain.cells() - 1) }] += 1;
    }
    let mechanism = Projection::new(queries, Sigma::new(60.0).unwrap());
    let released = mechanism.release(&counts, 2000, &mut bits).unwrap();
    assert!(released.gap <= mechanism.enough(), "{} {}", released.gap, mechanism.enough());
    assert_eq!(mechanism.queries.dimension(), 210);
    let error = |(answer, &exact): (&f64, &u64)| (answer - exact as f64).powi(2);
    let exact = mechanism.queries.answers(&counts);
    let squares: f64 = released.answers.iter().zip(&exact).map(error).sum();
    // σ²D + 2ξ on average; the squared noise is a χ² of 210 degrees, at most twice its mean except with probability
    // below 1e-15.
    assert!(squares <= 2.1 * 60.0 * 60.0 * 210.0, "{squares}");
}

#[test]
fn answers_drowned_in_noise_are_projected_onto_a_corner() {
    // Three people, and noise of a thousand million: the nearest table has all of them in one cell.
    let queries = Queries::marginals(&Domain::new(vec![3, 2, 4]).unwrap(), 2).unwrap();
    let all = corners(&queries);
    for (cell, corner) in all.iter().enumerate() {
        let target: Vec<f64> = corner.iter().map(|answer| 1e9 * (answer - 0.3)).collect();
        let found = projected(&queries, &target, 3.0, 1.0);
        assert!(found.gap <= 1.0, "{}", found.gap);
        assert!((found.cells[cell] - 3.0).abs() < 1e-6, "{:?}", found.cells);
    }
}
