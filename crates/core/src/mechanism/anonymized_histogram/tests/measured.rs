//! Measured errors, from seeded noise: against the proofs, the paper's shape and the lower bounds.

use super::super::*;
use super::{all_partitions, epsilon};
use crate::noise::InsecureSeededSource;
use proptest::prelude::*;

fn mean_error(mechanism: &AnonymizedHistogram, data: &Partition, trials: u32, seed: u64) -> f64 {
    let mut bits = InsecureSeededSource::new(seed);
    let one = |_| mechanism.release(data, &mut bits).unwrap().partition.distance(data) as f64;
    (0..trials).map(one).sum::<f64>() / f64::from(trials)
}

fn at_most(at: f64, elements: u64) -> AnonymizedHistogram {
    AnonymizedHistogram::within(Target::pure(epsilon(at)), Scope::Presence, ElementCount::AtMost(elements)).unwrap()
}

#[test]
fn without_noise_nothing_changes() {
    for projection in [ProjectionMethod::LeastAbsolute, ProjectionMethod::LeastSquares] {
        for data in all_partitions(12) {
            let layout = Layout::new(LayoutChoice::RowsAndColumns, epsilon(1.0), 12);
            assert_eq!(reconstruct(&layout, &layout.areas(&data), projection), data);
        }
    }
}

/// The worst that is known for strips: steps in the middle of every strip of four rows of one phase. All phases
/// together come to 2.8 units (measured, standard error 0.05 over these trials; more than 3.3 would be ten of them
/// off), and stay far below what is proven.
#[test]
fn steps_in_the_middle_of_strips_are_seen_worst() {
    let (at, elements) = (0.49, 10_000u64);
    let layout = Layout::new(LayoutChoice::Strips, epsilon(at), elements);
    let wide = layout.row_bounds().windows(2).filter(|pair| pair[1] - pair[0] == 4);
    let middles: Vec<u64> = wide.map(|pair| pair[0] + 2).collect();
    let drop = elements / middles.iter().sum::<u64>();
    let columns = middles.iter().map(|middle| Run { count: *middle, values: drop });
    let data = Partition::from_runs(columns).unwrap().conjugate();
    let mechanism = at_most(at, elements);
    let error = mean_error(&mechanism, &data, 250, 20);
    let unit = (elements as f64 * (1.0 / at).ln() / at).sqrt();
    assert!((1.5..3.3).contains(&(error / unit)), "{}", error / unit);
    assert!(error <= mechanism.expected_error(elements).unwrap());
}

/// A flat histogram is a cliff inside of some strip: found to the element without noise.
#[test]
fn flat_histograms_survive_strips() {
    for phase in Phase::all() {
        for (count, values) in [(2_000u64, 500u64), (500, 2_000), (1_000, 1_000), (3_000, 333)] {
            let data = Partition::from_runs([Run { count, values }]).unwrap();
            let layout = Layout::in_phase(LayoutChoice::Strips, epsilon(0.4), 1_000_000, phase);
            assert_eq!(reconstruct(&layout, &layout.areas(&data), ProjectionMethod::LeastSquares), data, "{phase:?}");
        }
    }
}

#[test]
fn errors_exceed_their_bound_no_more_often_than_stated() {
    let beta = Beta::new(0.1).unwrap();
    for (at, size) in [
        (1.0, ElementCount::AtMost(2_000)),
        (0.1, ElementCount::AtMost(2_000)),
        (2.0, ElementCount::Private),
        (0.2, ElementCount::Private),
    ] {
        let mechanism = AnonymizedHistogram::within(Target::pure(epsilon(at)), Scope::Presence, size).unwrap();
        let bound = mechanism.error(beta, 2_000).unwrap();
        let data = HistogramFamily::Staircase.generate(2_000).unwrap();
        let mut bits = InsecureSeededSource::new(14);
        let above =
            (0..200).filter(|_| mechanism.release(&data, &mut bits).unwrap().partition.distance(&data) as f64 > bound);
        // More than 60 of 200 at probability 0.1 each: below 1e-14.
        assert!(above.count() <= 60, "{at} {size:?}");
        let expected = mechanism.expected_error(2_000).unwrap();
        assert!(bound >= expected * 0.99 || size == ElementCount::Private, "{bound} {expected}");
    }
}

#[test]
fn a_private_size_costs_little_error() {
    let data = HistogramFamily::Zipf.generate(100_000).unwrap();
    let known = mean_error(&at_most(2.0, 100_000), &data, 60, 15);
    let private = mean_error(
        &AnonymizedHistogram::within(Target::pure(epsilon(2.0)), Scope::Presence, ElementCount::Private).unwrap(),
        &data,
        60,
        15,
    );
    assert!(private <= 1.3 * known, "{}", private / known);
}

#[test]
fn an_empty_histogram_can_be_released() {
    for at in [0.01, 0.4, 1.0, 5.0] {
        let mechanism =
            AnonymizedHistogram::within(Target::pure(epsilon(at)), Scope::Presence, ElementCount::Private).unwrap();
        let released = mechanism.release(&Partition::default(), &mut InsecureSeededSource::new(16)).unwrap();
        let bound = mechanism.error(Beta::new(1e-9).unwrap(), 0).unwrap();
        assert!(released.partition.elements() as f64 <= bound, "{at} {released:?}");
    }
    let nothing =
        at_most(0.001, 100).release(&Partition::from_counts([50, 50]).unwrap(), &mut InsecureSeededSource::new(1));
    let nothing = nothing.unwrap();
    assert_eq!(nothing.partition, Partition::default());
    assert_eq!(nothing.band(Beta::new(0.1).unwrap()), [BandPoint { count: 1, lower: 0, upper: 100 }]);
}

/// The noise that `release` adds is the noise that was promised: the share of zeros, by Hoeffding at 1e-10.
#[test]
fn the_noise_is_drawn_at_the_promised_scale() {
    let mechanism = at_most(1.0, 4);
    let data = Partition::from_counts([2, 1, 1]).unwrap();
    let mut bits = InsecureSeededSource::new(17);
    const TRIALS: usize = 20_000;
    let mut zeros = [0usize; 4];
    for _ in 0..TRIALS {
        let released = mechanism.release(&data, &mut bits).unwrap();
        let truth = released.layout.areas(&data);
        let pairs = released.noisy.rows.iter().zip(&truth.rows).chain(released.noisy.strips.iter().zip(&truth.strips));
        for (region, (noisy, area)) in pairs.enumerate() {
            zeros[region] += usize::from(noisy == area);
        }
    }
    let share = 0.5f64.tanh();
    let slack = ((2e10f64).ln() / (2.0 * TRIALS as f64)).sqrt();
    for count in zeros {
        assert!((count as f64 / TRIALS as f64 - share).abs() < slack, "{count}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// The band's promise is deterministic given the largest noise.
    #[test]
    fn the_band_holds_the_truth(
        counts in proptest::collection::vec(prop_oneof![1u64..4, 1u64..60], 0..40),
        noises in proptest::collection::vec(-4i64..=4, 400),
        at in prop_oneof![Just(0.05), Just(0.3), Just(2.0)],
    ) {
        let data = Partition::from_counts(counts).unwrap();
        let choices = [LayoutChoice::RowsAndColumns, LayoutChoice::RowsAndStrips, LayoutChoice::Strips];
        for choice in choices {
            let layout = Layout::new(choice, epsilon(at), data.elements());
            let mut noisy = layout.areas(&data);
            for (area, noise) in noisy.rows.iter_mut().chain(&mut noisy.strips).zip(&noises) {
                *area += noise;
            }
            let band = reconstruct::band(&layout, &noisy, 4);
            let columns = data.conjugate().expanded();
            for count in 1..=200u64 {
                let point = band.iter().rev().find(|point| point.count <= count).unwrap();
                let truth = columns.get(count as usize - 1).copied().unwrap_or(0);
                prop_assert!(point.lower <= truth && truth <= point.upper, "{count} {truth} {point:?} {layout:?}");
            }
        }
    }

    /// The bound of `error` is deterministic given the sum of the noises, whatever the strips are.
    #[test]
    fn the_bound_on_the_error_holds(
        counts in proptest::collection::vec(prop_oneof![1u64..4, 1u64..60, 1u64..900], 0..60),
        plateaus in proptest::collection::vec((1u64..200, 1u64..20), 0..4),
        noises in proptest::collection::vec(-30i64..=30, 3_000),
        loudness in 0i64..=2,
        at in prop_oneof![Just(0.02), Just(0.3), Just(0.49)],
        widths in proptest::collection::vec(1u64..7, 1..30),
    ) {
        let plateaus = plateaus.into_iter().flat_map(|(count, values)| std::iter::repeat_n(count, values as usize));
        let data = Partition::from_counts(counts.into_iter().chain(plateaus)).unwrap();
        let elements = data.elements();
        let ends = |widths: &[u64], last: u64| {
            let mut bounds = vec![0u64];
            for width in widths.iter().cycle() {
                let end = bounds[bounds.len() - 1];
                if end >= last {
                    break;
                }
                bounds.push((end + width).min(last));
            }
            bounds
        };
        let rows = (elements.isqrt() * 3 / 5).max(1);
        let mut layouts: Vec<Layout> =
            Phase::all().map(|phase| Layout::in_phase(LayoutChoice::Strips, epsilon(at), elements, phase)).collect();
        layouts.push(Layout::new(LayoutChoice::RowsAndStrips, epsilon(at), elements));
        layouts.push(Layout::of(ends(&widths, rows), ends(&widths, elements / (rows + 1))));
        for layout in layouts {
            let mut noisy = layout.areas(&data);
            let mut noise = 0;
            for (area, z) in noisy.rows.iter_mut().chain(&mut noisy.strips).zip(noises.iter().cycle()) {
                *area += z * loudness / 2;
                noise += (z * loudness / 2).abs();
            }
            let found = reconstruct(&layout, &noisy, ProjectionMethod::LeastSquares);
            let bound = error::total(&layout, epsilon(at), noise as f64, elements);
            prop_assert!(found.distance(&data) as f64 <= bound, "{} {bound} {layout:?}", found.distance(&data));
        }
    }
}
