//! What must hold whatever the numbers are: monotonicity, symmetry, and the order of the bounds.

use super::{delta_of, eps, lambda, probability};
use proptest::prelude::*;
use scumble_adversary::attacker::*;

const SLACK: f64 = 1.0 + 1e-9;

/// `smaller` is the δ of a weaker attacker: its proven lower end is not above the stronger one's upper end, and where
/// both are tight neither is its upper end.
fn ordered(smaller: Bound, larger: Bound) -> std::result::Result<(), TestCaseError> {
    prop_assert!(smaller.upper <= larger.upper * SLACK + 1e-15, "{smaller:?} {larger:?}");
    Ok(())
}

fn groups() -> impl Strategy<Value = Vec<BeliefGroup>> {
    prop::collection::vec((0.0..=1.0f64, 1..30u64), 1..6)
        .prop_map(|list| list.into_iter().map(|(p, how_many)| BeliefGroup::new(p, how_many).unwrap()).collect())
}

fn noises() -> impl Strategy<Value = AddedNoise> {
    prop_oneof![
        Just(AddedNoise::None),
        (0.05..0.95f64).prop_map(|p| AddedNoise::Geometric(Ratio::new(p).unwrap())),
        (0.2..20.0f64).prop_map(|b| AddedNoise::Laplace(scumble::quantity::Scale::new(b).unwrap())),
        (0.2..20.0f64).prop_map(|s| AddedNoise::Gaussian(scumble::quantity::Sigma::new(s).unwrap())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_count_hides_more_with_more_epsilon_more_records_and_less_shift(
        list in groups(), noise in noises(), epsilon in 0.0..3.0f64, more in 0.0..1.0f64, extra in 0.0..=1.0f64,
    ) {
        let at = |list: &[BeliefGroup], epsilon: f64, shift: u32| {
            exact_count(list, noise, eps(epsilon), shift).unwrap().delta()
        };
        let delta = at(&list, epsilon, 1);
        prop_assert!(delta.lower <= delta.upper);
        ordered(at(&list, epsilon + more, 1), delta)?;
        ordered(delta, at(&list, epsilon, 2))?;
        let mut longer = list.clone();
        longer.push(BeliefGroup::new(extra, 1).unwrap());
        ordered(at(&longer, epsilon, 1), delta)?;
        // Noise is post-processing.
        ordered(delta, exact_count(&list, AddedNoise::None, eps(epsilon), 1).unwrap().delta())?;
    }

    #[test]
    fn mirrored_beliefs_change_the_directions(list in groups(), noise in noises(), epsilon in 0.0..3.0f64) {
        let mirrored: Vec<BeliefGroup> =
            list.iter().map(|group| BeliefGroup::new(1.0 - group.probability.get(), group.how_many).unwrap()).collect();
        let at = |list: &[BeliefGroup]| exact_count(list, noise, eps(epsilon), 1).unwrap();
        let (one, other) = (at(&list), at(&mirrored));
        for (a, b) in [(one.with_against_without, other.without_against_with), (one.without_against_with, other.with_against_without)] {
            prop_assert!(a.lower <= b.upper * SLACK + 1e-12 && b.lower <= a.upper * SLACK + 1e-12, "{a:?} {b:?}");
        }
    }

    #[test]
    fn closed_forms_are_above_the_exact_delta(list in groups(), epsilon in 0.0..6.0f64, shift in 1..3u32) {
        let exact = exact_count(&list, AddedNoise::None, eps(epsilon), shift).unwrap();
        let (one_way, other_way) = closed_chernoff(&list, 0, eps(epsilon), shift);
        prop_assert!(exact.with_against_without.lower <= one_way * SLACK);
        prop_assert!(exact.without_against_with.lower <= other_way * SLACK);
        let variance = variance_without(&list, 0);
        prop_assert!(exact.delta().lower <= closed_variance(variance, eps(epsilon), shift) * SLACK);
        // Taking records away only raises the bounds.
        let (fewer, _) = closed_chernoff(&list, 1, eps(epsilon), shift);
        prop_assert!(fewer >= one_way / SLACK && variance_without(&list, 1) <= variance);
    }

    #[test]
    fn the_order_of_the_bounds(m in 1..400u64, box_lambda in 0.01..=0.5f64, epsilon in 0.0..3.0f64, pick in 0.0..=1.0f64) {
        let lambda = lambda(box_lambda);
        let p = box_lambda + pick * (1.0 - 2.0 * box_lambda);
        let exact = exact_count(&[BeliefGroup::new(p, m).unwrap()], AddedNoise::None, eps(epsilon), 1).unwrap().delta();
        let worst = worst_count(m, lambda, AddedNoise::None, eps(epsilon), 1, 1e-6).unwrap().delta;
        let blanket = blanket(m, lambda, eps(epsilon)).unwrap();
        prop_assert!(exact.lower <= worst.upper * SLACK);
        prop_assert!(worst.lower <= blanket.upper * SLACK, "{worst:?} {blanket:?}");
        prop_assert!(blanket.lower <= closed_blanket(m, lambda, eps(epsilon)) * SLACK);
        prop_assert!(worst.lower <= closed_kullback_leibler(m, lambda, eps(epsilon)) * SLACK);
        prop_assert!(worst.upper >= ln_smallest_delta(m, lambda).exp() / SLACK - 1e-290);
        prop_assert!(worst.upper <= worst.lower * (1.0 + 1e-5) + 1e-33 && blanket.upper <= blanket.lower * (1.0 + 1e-6) + 1e-33);
    }

    #[test]
    fn the_box_and_the_blanket_are_monotone(m in 1..300u64, box_lambda in 0.02..0.25f64, wider in 1.0..2.0f64, epsilon in 0.0..2.0f64) {
        let (narrow, wide) = (lambda(box_lambda), lambda(box_lambda * wider));
        let worst = |m: u64, lambda: Lambda, epsilon: f64| {
            worst_count(m, lambda, AddedNoise::None, eps(epsilon), 1, 1e-6).unwrap().delta
        };
        ordered(worst(m, wide, epsilon), worst(m, narrow, epsilon))?;
        ordered(worst(m + 3, narrow, epsilon), worst(m, narrow, epsilon))?;
        ordered(worst(m, narrow, epsilon + 0.2), worst(m, narrow, epsilon))?;
        ordered(blanket(m, wide, eps(epsilon)).unwrap(), blanket(m, narrow, eps(epsilon)).unwrap())?;
        ordered(blanket(m + 3, narrow, eps(epsilon)).unwrap(), blanket(m, narrow, eps(epsilon)).unwrap())?;
        ordered(blanket(m, narrow, eps(epsilon + 0.2)).unwrap(), blanket(m, narrow, eps(epsilon)).unwrap())?;
        let each = [(wide, m), (narrow, 2)];
        ordered(blanket_of_each(&each, 0, eps(epsilon)).unwrap(), blanket_of_each(&each, 1, eps(epsilon)).unwrap())?;
    }

    #[test]
    fn fair_coins_make_all_bounds_one(m in 1..400u64, epsilon in 0.0..2.0f64) {
        let half = lambda(0.5);
        let fair = [BeliefGroup::new(0.5, m).unwrap()];
        let coins = exact_count(&fair, AddedNoise::None, eps(epsilon), 1).unwrap().delta();
        let worst = worst_count(m, half, AddedNoise::None, eps(epsilon), 1, 1e-6).unwrap().delta;
        for bound in [worst, blanket(m, half, eps(epsilon)).unwrap()] {
            prop_assert!(bound.lower <= coins.upper * SLACK && coins.lower <= bound.upper * SLACK, "{bound:?} {coins:?}");
        }
    }

    #[test]
    fn thresholds_are_monotone(list in groups(), threshold in -2..40i64, epsilon in 0.0..2.0f64) {
        let others = poisson_binomial(&list).unwrap();
        let at = |threshold: i64, epsilon: f64| thresholded(&others, threshold, eps(epsilon)).delta();
        ordered(at(threshold + 1, epsilon), at(threshold, epsilon))?;
        ordered(at(threshold, epsilon + 0.3), at(threshold, epsilon))?;
        ordered(at(threshold, epsilon), directions(&others, eps(epsilon), 1).delta())?;
    }

    #[test]
    fn the_unified_bound_is_monotone(p_max in 0.05..0.8f64, more in 1.0..1.2f64, threshold in 0..25i64, epsilon in 0.0..1.5f64, known in 0..10u64) {
        let at = |p: f64, threshold: i64, known: u64| {
            unified_passive(probability(p), threshold, eps(epsilon), known, Some(150)).unwrap()
        };
        ordered(at(p_max, threshold, 0), at(p_max * more, threshold, 0))?;
        ordered(at(p_max, threshold + 1, 0), at(p_max, threshold, 0))?;
        // Knowing more can only be claimed at a larger δ.
        prop_assert!(at(p_max, threshold, 0).lower <= at(p_max, threshold, known).upper * SLACK + 1e-15);
        let any = unified(probability(p_max), threshold, eps(epsilon), None).unwrap();
        ordered(at(p_max, threshold, 0), any)?;
        let at = |threshold: i64| unified(probability(p_max), threshold, eps(epsilon), Some(150)).unwrap();
        ordered(at(threshold), at(threshold - 2))?;
    }

    #[test]
    fn found_epsilon_is_the_inverse(m in 20..300u64, box_lambda in 0.05..=0.5f64, exponent in 1.0..9.0f64) {
        let (lambda, delta) = (lambda(box_lambda), 10f64.powf(-exponent));
        let at = |epsilon| blanket(m, lambda, epsilon);
        match epsilon_for(delta_of(delta), 1e-7, at).unwrap() {
            Some(found) => {
                prop_assert!(at(eps(found.upper)).unwrap().upper <= delta);
                prop_assert!(found.lower <= found.upper);
                prop_assert!(found.lower == 0.0 || at(eps(found.lower)).unwrap().lower > delta);
            }
            None => prop_assert!(delta.ln() < ln_smallest_delta(m, lambda) + 1e-6),
        }
    }
}

#[test]
fn tiny_and_large_numbers() {
    // ε = 1e-9, ε = 100, δ around 1e-30: bounds stay bounds and NaN never shows.
    for epsilon in [0.0, 1e-9, 1e-3, 1.0, 100.0, 1e6] {
        for m in [0u64, 1, 10, 5000] {
            for box_lambda in [1e-6, 0.05, 0.5] {
                let worst = worst_count(m, lambda(box_lambda), AddedNoise::None, eps(epsilon), 1, 1e-3).unwrap().delta;
                let covered = blanket(m, lambda(box_lambda), eps(epsilon)).unwrap();
                for bound in [worst, covered] {
                    assert!(bound.lower <= bound.upper && bound.upper <= 1.0, "{epsilon} {m} {box_lambda} {bound:?}");
                    let floor = ln_smallest_delta(m, lambda(box_lambda)).exp();
                    assert!(bound.upper >= floor * (1.0 - 1e-9), "{epsilon} {m} {box_lambda} {bound:?} {floor}");
                }
            }
        }
    }
    let deep = exact_count(&[BeliefGroup::new(0.5, 2000).unwrap()], AddedNoise::None, eps(0.5), 1).unwrap().delta();
    assert!(deep.lower > 0.0 && deep.upper < 1e-27 && deep.upper < deep.lower * (1.0 + 1e-6), "{deep:?}");
}

#[test]
fn branch_and_bound_agrees_with_looking_everywhere() {
    // Above 512 records the search prunes: compare with all vertices, evaluated one by one.
    for (m, box_lambda, epsilon) in [(600u64, 0.05, 0.5), (700, 0.3, 0.02), (650, 0.1, 0.0), (800, 0.2, 0.25)] {
        let worst = worst_count(m, lambda(box_lambda), AddedNoise::None, eps(epsilon), 1, 1e-4).unwrap().delta;
        let everywhere = (0..=m)
            .map(|low| {
                let groups =
                    [BeliefGroup::new(box_lambda, low).unwrap(), BeliefGroup::new(1.0 - box_lambda, m - low).unwrap()];
                exact_count(&groups, AddedNoise::None, eps(epsilon), 1).unwrap().with_against_without.upper
            })
            .fold(0.0, f64::max);
        assert!(
            worst.upper >= everywhere * (1.0 - 1e-9) && worst.lower <= everywhere * (1.0 + 1e-9),
            "{m}: {worst:?} {everywhere}"
        );
        assert!(worst.upper <= everywhere * (1.0 + 2e-4), "{m}: {worst:?} {everywhere}");
    }
}

#[test]
fn the_recomputed_figures_of_the_specification() {
    // Figure 2: worst case and blanket, three digits.
    for (n, epsilon, expected_worst, expected_blanket) in [
        (1000u64, 0.2, 7.82e-3, 1.86e-2),
        (1000, 1.0, 8.73e-9, 1.62e-7),
        (10_000, 0.2, 2.41e-7, 1.56e-5),
        (10_000, 0.5, 2.34e-23, 5.57e-17),
        (100_000, 0.05, 1.34e-6, 4.12e-5),
        (100_000, 0.15, 4.00e-26, 1.00e-16),
    ] {
        let worst = worst_count(n - 1, lambda(0.05), AddedNoise::None, eps(epsilon), 1, 1e-3).unwrap().delta.upper;
        let covered = blanket(n - 1, lambda(0.05), eps(epsilon)).unwrap().upper;
        assert!((worst / expected_worst - 1.0).abs() < 6e-3, "{n} {epsilon}: {worst}");
        assert!((covered / expected_blanket - 1.0).abs() < 6e-3, "{n} {epsilon}: {covered}");
    }
    // Figure 6: the vertex of all 1 − λ with geometric noise; a cliff to exactly 0.
    let law = poisson_binomial(&[BeliefGroup::new(0.95, 9999).unwrap()]).unwrap();
    let at = |p: f64, epsilon: f64| {
        directions_with_noise(&law, AddedNoise::Geometric(Ratio::new(p).unwrap()), eps(epsilon), 1)
            .with_against_without
            .upper
    };
    for (p, epsilon, expected) in
        [(0.5, 0.2, 2.17e-7), (0.6, 0.5, 2.22e-28), (0.75, 0.2876, 3.16e-20), (0.75, 0.2877, 0.0)]
    {
        let got = at(p, epsilon);
        assert!((got - expected).abs() <= 6e-3 * expected, "{p} {epsilon}: {got}");
    }
    // Section 14.6: the unified threshold for any number of records.
    for (p_max, threshold, epsilon, expected) in
        [(0.05, 50, 1.0, 1.12e-10), (0.25, 100, 0.5, 1.77e-6), (0.5, 200, 1.0, 8.94e-17), (0.9, 200, 1.0, 6.84e-5)]
    {
        let got = unified(probability(p_max), threshold, eps(epsilon), None).unwrap().upper;
        assert!((got / expected - 1.0).abs() < 6e-3, "{p_max} {threshold} {epsilon}: {got}");
    }
}
