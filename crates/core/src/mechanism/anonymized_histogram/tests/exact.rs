//! The exact distribution of what is released, for all partitions of n ≤ 6 and all neighbours.
//!
//! Each noisy area is clamped to a window, which is post-processing, so that the distribution is finite; its
//! probabilities are computed from the closed forms of the discrete Laplace distribution to about 1e-13.

use super::super::*;
use super::{all_partitions, epsilon};
use crate::harness::{Claim, Distribution, ProbabilityInterval, Slack, check, effort};
use crate::quantity::Epsilon;
use crate::scope::{AttributeSet, Scope};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

const ROUNDING: f64 = 1e-12;

/// P\[clamp(area + z) = outcome\] for discrete Laplace z with parameter ε.
fn probability(area: i64, outcome: i64, window: &RangeInclusive<i64>, epsilon: f64) -> f64 {
    let alpha = (-epsilon).exp();
    let at_least = |t: i64| {
        let tail = |t: i64| alpha.powi(t as i32) / (1.0 + alpha);
        if t >= 1 { tail(t) } else { 1.0 - tail(1 - t) }
    };
    let shift = outcome - area;
    if outcome == *window.start() {
        at_least(-shift)
    } else if outcome == *window.end() {
        at_least(shift)
    } else {
        alpha.powi(shift.abs() as i32) * (1.0 - alpha) / (1.0 + alpha)
    }
}

/// Every vector of clamped noisy areas of a layout, with the histogram that it becomes.
fn outcomes(layout: &Layout, window: &RangeInclusive<i64>, projection: ProjectionMethod) -> Vec<(Vec<i64>, Partition)> {
    let regions = layout.regions();
    let width = (window.end() - window.start() + 1) as usize;
    let vectors = (0..width.pow(regions as u32)).map(|code| {
        let digit = |region: usize| (code / width.pow(region as u32) % width) as i64 + window.start();
        (0..regions).map(digit).collect::<Vec<i64>>()
    });
    let reconstructed = |vector: Vec<i64>| {
        let (rows, strips) = vector.split_at(layout.row_widths().len());
        let noisy = Areas { rows: rows.to_vec(), strips: strips.to_vec() };
        let partition = reconstruct(layout, &noisy, projection);
        (vector, partition)
    };
    vectors.map(reconstructed).collect()
}

fn flattened(areas: Areas) -> Vec<i64> {
    areas.rows.into_iter().chain(areas.strips).collect()
}

/// The distribution of the released histogram on `data`.
fn distribution(
    layout: &Layout,
    outcomes: &[(Vec<i64>, Partition)],
    window: &RangeInclusive<i64>,
    epsilon: f64,
    data: &Partition,
) -> Distribution<Partition> {
    let areas = flattened(layout.areas(data));
    let mut masses: BTreeMap<&Partition, f64> = BTreeMap::new();
    for (vector, partition) in outcomes {
        let mass: f64 = vector.iter().zip(&areas).map(|(z, area)| probability(*area, *z, window, epsilon)).product();
        *masses.entry(partition).or_insert(0.0) += mass;
    }
    let total: f64 = masses.values().sum();
    assert!((total - 1.0).abs() < ROUNDING, "{total}");
    let listed =
        masses.into_iter().map(|(partition, mass)| (partition.clone(), ProbabilityInterval::near(mass, ROUNDING)));
    Distribution::new(listed, 0.0)
}

/// How far apart the neighbours are: one element more or less, or one element that has another value.
fn neighbours(all: &[Partition], apart: u64, same_size: bool) -> Vec<(Partition, Partition)> {
    let pairs = all.iter().flat_map(|left| all.iter().map(move |right| (left, right)));
    let near = pairs
        .filter(|(left, right)| (left.elements() == right.elements()) == same_size && left.distance(right) == apart);
    near.map(|(left, right)| (left.clone(), right.clone())).collect()
}

fn moved(layout: &Layout, left: &Partition, right: &Partition) -> u64 {
    let (left, right) = (flattened(layout.areas(left)), flattened(layout.areas(right)));
    left.iter().zip(&right).map(|(here, there)| here.abs_diff(*there)).sum()
}

/// The whole claim on one layout: D_∞ of the released histogram is at most ε per element that appears, and 2ε per
/// element that changes; and some neighbours move the areas as far as that, so that the claim is not loose for the
/// noisy areas.
fn check_layout(layout: &Layout, at: f64, window: RangeInclusive<i64>, projection: ProjectionMethod) {
    let all = all_partitions(6);
    let outcomes = outcomes(layout, &window, projection);
    let known = all.iter().map(|data| (data.clone(), distribution(layout, &outcomes, &window, at, data)));
    let known: BTreeMap<Partition, Distribution<Partition>> = known.collect();
    for (apart, same_size) in [(1, false), (2, true)] {
        let pairs = neighbours(&all, apart, same_size);
        let claim = Claim { pure: Some(at * apart as f64), ..Claim::default() };
        check(&pairs, |data: &Partition| known[data].clone(), &claim, Slack::ANY);
        let furthest = pairs.iter().map(|(left, right)| moved(layout, left, right)).max();
        assert_eq!(furthest, Some(apart), "{layout:?}: the claim would be loose, or wrong");
    }
}

#[test]
fn every_layout_keeps_its_claim_on_all_small_partitions() {
    for at in effort(&[std::f64::consts::LN_2][..], &[0.05, std::f64::consts::LN_2, 3.0]).iter().copied() {
        let both = [ProjectionMethod::LeastAbsolute, ProjectionMethod::LeastSquares];
        for projection in both {
            check_layout(&Layout::new(LayoutChoice::RowsAndColumns, epsilon(at), 6), at, -1..=4, projection);
            check_layout(&Layout::new(LayoutChoice::RowsAndColumns, epsilon(at), 4), at, -2..=6, projection);
            check_layout(&Layout::new(LayoutChoice::RowsOnly, epsilon(at), 4), at, -2..=6, projection);
            check_layout(&Layout::new(LayoutChoice::ColumnsOnly, epsilon(at), 4), at, -2..=6, projection);
        }
        check_layout(
            &Layout::new(LayoutChoice::RowsAndStrips, epsilon(at), 6),
            at,
            -1..=6,
            ProjectionMethod::LeastSquares,
        );
        check_layout(&Layout::of(vec![0, 1], vec![0, 1, 2, 4]), at, -2..=6, ProjectionMethod::LeastSquares);
        check_layout(&Layout::of(vec![0, 1, 3], vec![0, 1, 3]), at, -2..=6, ProjectionMethod::LeastSquares);
        check_layout(&Layout::of(vec![0, 2, 5], vec![0, 2]), at, -2..=6, ProjectionMethod::LeastSquares);
        check_layout(&Layout::of(vec![0, 1, 2], vec![0, 2, 4]), at, -2..=6, ProjectionMethod::LeastSquares);
    }
}

/// Strips are drawn in one of several phases, and no phase depends on the data: in each, and for every size, one
/// element moves one area by 1.
#[test]
fn strips_keep_the_claim_in_every_phase() {
    let all = all_partitions(6);
    let pairs = neighbours(&all, 1, false);
    for at in [0.05, 0.3, 0.49, 0.9] {
        for elements in [1, 2, 6, 30, 100, 1_000] {
            for phase in Phase::all() {
                let layout = Layout::in_phase(LayoutChoice::Strips, epsilon(at), elements, phase);
                let furthest = pairs.iter().map(|(left, right)| moved(&layout, left, right)).max();
                assert_eq!(furthest, Some(1), "{at} {elements} {phase:?}");
            }
        }
    }
}

/// No cell of a histogram of at most n elements lies outside of the strips.
#[test]
fn strips_hold_every_cell() {
    for data in all_partitions(14) {
        for phase in Phase::all() {
            let layout = Layout::in_phase(LayoutChoice::Strips, epsilon(0.3), data.elements(), phase);
            let held = flattened(layout.areas(&data)).into_iter().sum::<i64>();
            assert_eq!(held, data.elements() as i64, "{data:?} {layout:?}");
        }
    }
}

/// With a private size the layout depends on the estimate: for each value of the estimate, its own loss plus that of
/// the areas.
#[test]
fn a_private_size_costs_its_share_and_no_more() {
    let all = all_partitions(6);
    for at in [0.05, 0.4, 1.0, 4.0] {
        let mechanism =
            AnonymizedHistogram::within(Target::pure(epsilon(at)), Scope::Presence, ElementCount::Private).unwrap();
        let size_epsilon = 1.0 / scale_of(mechanism.size_epsilon.unwrap()).unwrap().get();
        let cell_epsilon = 1.0 / scale_of(mechanism.cell_epsilon).unwrap().get();
        for estimate in -3..=12i64 {
            let raised = (estimate + slack(mechanism.size_epsilon.unwrap()) as i64).max(1) as u64;
            let layout = Layout::new(LayoutChoice::Automatic, mechanism.cell_epsilon, raised);
            for (left, right) in neighbours(&all, 1, false) {
                let off = |data: &Partition| (estimate - data.elements() as i64).unsigned_abs() as f64;
                let size_loss = (off(&left) - off(&right)).abs() * size_epsilon;
                let loss = size_loss + moved(&layout, &left, &right) as f64 * cell_epsilon;
                assert!(loss <= at * (1.0 + 1e-15), "{at} {estimate}");
            }
        }
    }
}

/// An edge of a graph has two ends: degrees move by 2 in all, so at ε per edge each end gets ε/2.
#[test]
fn an_edge_moves_two_cells() {
    const VERTICES: usize = 5;
    let pairs: Vec<(usize, usize)> =
        (0..VERTICES).flat_map(|left| (left + 1..VERTICES).map(move |right| (left, right))).collect();
    let degrees = |graph: usize| {
        let mut degrees = [0u64; VERTICES];
        for (edge, (left, right)) in pairs.iter().enumerate() {
            if graph >> edge & 1 == 1 {
                degrees[*left] += 1;
                degrees[*right] += 1;
            }
        }
        Partition::from_counts(degrees).unwrap()
    };
    let layout = Layout::new(LayoutChoice::RowsAndColumns, epsilon(1.0), 20);
    let mut largest = 0;
    for graph in 0..1 << pairs.len() {
        for edge in 0..pairs.len() {
            largest = largest.max(moved(&layout, &degrees(graph), &degrees(graph ^ (1 << edge))));
        }
    }
    assert_eq!(largest, 2);
    let mechanism = AnonymizedHistogram::within(Target::pure(epsilon(1.0)), Scope::Presence, ElementCount::AtMost(20))
        .unwrap()
        .with_elements_per_owner(2)
        .unwrap();
    assert_eq!(mechanism.epsilon_per_element().get() * largest as f64, 1.0);
}

#[test]
fn the_noise_is_never_smaller_than_epsilon_allows() {
    use crate::quantity::Exact;
    for value in [1e-6, 0.05, 0.1, 0.3, 1.0 / 3.0, 0.7, 1.0, 2.2, 3.0, 10.0, 49.0, 1e3] {
        for most in [1u64, 2, 3, 7] {
            for size in [ElementCount::Private, ElementCount::AtMost(1000)] {
                let mechanism =
                    AnonymizedHistogram::within(Target::pure(epsilon(value)), Scope::Presence, size).unwrap();
                let mechanism = mechanism.with_elements_per_owner(most).unwrap();
                let parts = [Some(mechanism.cell_epsilon), mechanism.size_epsilon];
                let inverse =
                    |epsilon: &Epsilon| Exact::from_f64(scale_of(*epsilon).unwrap().get()).unwrap().rational().recip();
                let spent = parts.iter().flatten().map(inverse).sum::<num_rational::BigRational>();
                let allowed = Exact::from_f64(value).unwrap().rational().clone();
                assert!(spent * num_bigint::BigInt::from(most) <= allowed, "{value} {most} {size:?}");
            }
        }
    }
}

#[test]
fn events_say_who_can_move_what() {
    let zip = AttributeSet::new(["zip"]).unwrap();
    let other = Scope::Attributes(AttributeSet::new(["age"]).unwrap());
    let one = AnonymizedHistogram::within(Target::pure(epsilon(1.0)), Scope::Presence, ElementCount::Private).unwrap();
    let [size, areas] = &one.events(&zip).unwrap()[..] else { panic!("two events") };
    assert_eq!(size.moves().shifts(&Scope::Presence), [Shift::one_cell(1.0).unwrap()]);
    assert_eq!(areas.moves().shifts(&Scope::Presence), [Shift::one_cell(1.0).unwrap()]);
    assert_eq!(areas.moves().shifts(&Scope::Person), [Shift::new(2, 1.0).unwrap()]);
    assert_eq!(areas.moves().shifts(&Scope::Attributes(zip.clone())), [Shift::new(2, 1.0).unwrap()]);
    assert!(areas.moves().shifts(&other).is_empty());
    let three = AnonymizedHistogram::within(Target::pure(epsilon(1.0)), Scope::Presence, ElementCount::AtMost(9))
        .unwrap()
        .with_elements_per_owner(3)
        .unwrap();
    let [areas] = &three.events(&zip).unwrap()[..] else { panic!("one event") };
    assert_eq!(*areas.word(), Word::Pure { epsilon: three.epsilon_per_element() });
    assert_eq!(areas.moves().shifts(&Scope::Presence), [Shift::one_cell(3.0).unwrap()]);
    assert_eq!(areas.moves().shifts(&Scope::Person), [Shift::one_cell(6.0).unwrap()]);
}

#[test]
fn what_cannot_be_done_is_refused() {
    let check = |result: Result<AnonymizedHistogram>, part: &str| {
        let sentence = result.unwrap_err().to_string();
        assert!(sentence.contains(part), "{sentence}");
    };
    check(
        AnonymizedHistogram::within(Target::pure(epsilon(0.0)), Scope::Presence, ElementCount::Private),
        "must be a number in [1e-9, 1e6]",
    );
    check(
        AnonymizedHistogram::within(Target::pure(epsilon(1e7)), Scope::Presence, ElementCount::Private),
        "must be a number in [1e-9, 1e6]",
    );
    check(
        AnonymizedHistogram::within(Target::pure(epsilon(1.0)), Scope::Presence, ElementCount::AtMost(u64::MAX)),
        "2^40",
    );
    let fine =
        AnonymizedHistogram::within(Target::pure(epsilon(1.0)), Scope::Presence, ElementCount::AtMost(MOST_ELEMENTS))
            .unwrap();
    check(fine.clone().with_elements_per_owner(0), "[1, 2^32]");
    check(fine.clone().with_elements_per_owner(u64::MAX), "[1, 2^32]");
    let naive = fine.with_layout(LayoutChoice::RowsOnly);
    let mut bits = crate::noise::InsecureSeededSource::new(1);
    assert!(naive.release(&Partition::default(), &mut bits).unwrap_err().to_string().contains("rows-only"));
}

/// What accounting says about the events is what was proven: ε for presence, at most 2ε for a person, nothing for other
/// attributes.
#[test]
fn accounting_claims_what_was_asked_for() {
    use crate::loss::Loss;
    use crate::quantity::Delta;
    let password = AttributeSet::new(["password"]).unwrap();
    let other = Scope::Attributes(AttributeSet::new(["age"]).unwrap());
    for at in [0.05, 0.4, 1.0, 4.0] {
        for most in [1, 2, 5] {
            for size in [ElementCount::Private, ElementCount::AtMost(100)] {
                let mechanism = AnonymizedHistogram::within(Target::pure(epsilon(at)), Scope::Presence, size).unwrap();
                let events = mechanism.with_elements_per_owner(most).unwrap().events(&password).unwrap();
                let claimed = |scope: &Scope| Loss::of(&events, scope).unwrap().epsilon(Delta::new(0.0).unwrap()).upper;
                assert!((claimed(&Scope::Presence) / at - 1.0).abs() < 1e-9, "{}", claimed(&Scope::Presence));
                let person = claimed(&Scope::Person);
                assert!(person <= 2.0 * at * (1.0 + 1e-9) && person >= 1.9 * at, "{at} {person}");
                assert_eq!(claimed(&Scope::Attributes(password.clone())), person);
                assert_eq!(claimed(&other), 0.0);
            }
        }
    }
}
