//! Measured errors, from seeded noise: against the proofs, the paper's shape and the lower bounds.

use super::super::*;
use super::{all_partitions, epsilon};
use crate::limits::anonymized_histogram::{Encoding, HardBlocks, lower_bound};
use crate::noise::InsecureSeededSource;
use crate::quantity::Delta;
use proptest::prelude::*;

fn mean_error(mechanism: &AnonymizedHistogram, data: &Partition, trials: u32, seed: u64) -> f64 {
    let mut bits = InsecureSeededSource::new(seed);
    let one = |_| mechanism.release(data, &mut bits).unwrap().partition.distance(data) as f64;
    (0..trials).map(one).sum::<f64>() / f64::from(trials)
}

fn at_most(at: f64, elements: u64) -> AnonymizedHistogram {
    AnonymizedHistogram::new(epsilon(at), Size::AtMost(elements)).unwrap()
}

#[test]
fn without_noise_nothing_changes() {
    for projection in [Projection::LeastAbsolute, Projection::LeastSquares] {
        for data in all_partitions(12) {
            let layout = Layout::new(LayoutChoice::RowsAndColumns, epsilon(1.0), 12);
            assert_eq!(reconstruct(&layout, &layout.areas(&data), projection), data);
        }
    }
}

/// The promise, on the families of the table: the error is √n·e^{−ε} times 2.9 at most, and below what is proven.
/// The means of these trials have a standard error of 2 % at most (measured); the largest constant is 2.86.
#[test]
fn low_privacy_errors_are_as_promised() {
    for (at, elements, trials) in [(1.0, 1_000, 60), (2.0, 10_000, 60), (4.0, 100_000, 60)] {
        let mechanism = at_most(at, elements);
        let unit = (elements as f64).sqrt() * (-at).exp();
        let (bound, _) = lower_bound(elements, epsilon(at), Delta::new(0.0).unwrap()).unwrap();
        for family in Family::ALL {
            let error = mean_error(&mechanism, &family.generate(elements).unwrap(), trials, 11);
            assert!(error <= 3.05 * unit, "{} {at} {}", family.name(), error / unit);
            assert!(error <= mechanism.expected_error(elements).unwrap());
            if family == Family::Staircase {
                assert!((1.8..3.0).contains(&(error / bound)), "{}", error / bound);
            }
        }
    }
}

/// The promise: √(n·ln(1/ε)/ε) times 1.3 at most, on every family and on hard instances of the lower bound whatever their bits.
///
/// The largest constant measured here is 1.25 (0.49, alternating bits) with a standard error below 0.006 over these trials, so that a mean above 1.3 would be more than
/// six of them off: a false alarm has probability below 1e-9.
#[test]
fn high_privacy_errors_are_as_promised() {
    for (at, elements, trials) in
        [(0.01, 1_000_000u64, 30), (0.1, 10_000, 100), (0.3, 100_000, 50), (0.49, 20_000, 250)]
    {
        let mechanism = at_most(at, elements);
        let unit = (elements as f64 * (1.0 / at).ln() / at).sqrt();
        let (bound, blocks) = lower_bound(elements, epsilon(at), Delta::new(0.0).unwrap()).unwrap();
        let proven = mechanism.expected_error(elements).unwrap();
        for family in Family::ALL {
            let error = mean_error(&mechanism, &family.generate(elements).unwrap(), trials, 12);
            assert!(error <= 1.3 * unit, "{} {at} {}", family.name(), error / unit);
            assert!(error <= proven);
        }
        let bits: [fn(usize) -> bool; 4] =
            [|_| true, |_| false, |block| block % 2 == 0, |block| block.wrapping_mul(0x9e37_79b9) >> 16 & 1 == 1];
        for (kind, bit) in bits.into_iter().enumerate() {
            let error = mean_error(&mechanism, &blocks.instance(bit).unwrap(), trials, 12);
            assert!(error <= 1.3 * unit, "{kind} {at} {}", error / unit);
            assert!((1.5..3.0).contains(&(error / bound)), "{kind} {at} {}", error / bound);
        }
    }
}

/// Strips are what keeps the promise: the spec's own layout, and rows and columns, are above 1.4 at ε = 0.49 (measured: 1.53 and 1.56).
#[test]
fn strips_beat_the_other_layouts_on_hard_instances() {
    let (_, blocks) = lower_bound(20_000, epsilon(0.49), Delta::new(0.0).unwrap()).unwrap();
    let hard = blocks.instance(|block| block % 2 == 0).unwrap();
    let unit = (20_000.0 * (1.0f64 / 0.49).ln() / 0.49).sqrt();
    for choice in [LayoutChoice::RowsAndStrips, LayoutChoice::RowsAndColumns] {
        let error = mean_error(&at_most(0.49, 20_000).with_layout(choice), &hard, 100, 19);
        assert!(error >= 1.4 * unit, "{} {}", choice.name(), error / unit);
    }
}

/// The worst that is known for strips: steps in the middle of every strip of four rows of one phase. All phases together come to 2.8 units (measured, standard error
/// 0.05 over these trials; more than 3.3 would be ten of them off), and stay far below what is proven.
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
    // Alternating blocks of 8 cells, heavier than the best of the lower bound: 1.6 units (measured, standard error 0.01).
    let heavy = HardBlocks::new(elements, 8, 0.9 * (8.0 * elements as f64 / (8f64.ln() + 2.0)).sqrt());
    let error = mean_error(&mechanism, &heavy.instance(|block| block % 2 == 0).unwrap(), 250, 21);
    assert!((1.4..1.75).contains(&(error / unit)), "{}", error / unit);
}

/// A flat histogram is a cliff inside of some strip: found to the element without noise.
#[test]
fn flat_histograms_survive_strips() {
    for phase in Phase::all() {
        for (count, values) in [(2_000u64, 500u64), (500, 2_000), (1_000, 1_000), (3_000, 333)] {
            let data = Partition::from_runs([Run { count, values }]).unwrap();
            let layout = Layout::in_phase(LayoutChoice::Strips, epsilon(0.4), 1_000_000, phase);
            assert_eq!(reconstruct(&layout, &layout.areas(&data), Projection::LeastSquares), data, "{phase:?}");
        }
    }
}

/// Lemma 8's encoding as a generator of hard instances: the mechanism cannot do better there than the theory of those instances says.
#[test]
fn encoded_bits_are_hard() {
    let encoding = Encoding::new(1_000_000, 20_000).unwrap();
    let bits: Vec<bool> = (0..encoding.bits()).map(|bit| bit % 3 == 0).collect();
    let data = encoding.encode(&bits).unwrap();
    let error = mean_error(&at_most(0.01, 1_000_000), &data, 20, 13);
    // Each bit moves w elements: whoever errs by less than w/(1+e^{wε}) on average could tell the bits apart.
    let each = |level: &crate::limits::anonymized_histogram::Level| {
        let weight = (level.copies * level.step) as f64;
        weight / (1.0 + (weight * 0.01).exp())
    };
    let hard: f64 =
        encoding.levels().iter().map(|level| each(level) * (encoding.bits() / encoding.levels().len()) as f64).sum();
    assert!(error >= hard, "{error} {hard}");
}

#[test]
fn errors_exceed_their_bound_no_more_often_than_stated() {
    let beta = Beta::new(0.1).unwrap();
    for (at, size) in
        [(1.0, Size::AtMost(2_000)), (0.1, Size::AtMost(2_000)), (2.0, Size::Private), (0.2, Size::Private)]
    {
        let mechanism = AnonymizedHistogram::new(epsilon(at), size).unwrap();
        let bound = mechanism.error(beta, 2_000).unwrap();
        let data = Family::Staircase.generate(2_000).unwrap();
        let mut bits = InsecureSeededSource::new(14);
        let above =
            (0..200).filter(|_| mechanism.release(&data, &mut bits).unwrap().partition.distance(&data) as f64 > bound);
        // More than 60 of 200 at probability 0.1 each: below 1e-14.
        assert!(above.count() <= 60, "{at} {size:?}");
        let expected = mechanism.expected_error(2_000).unwrap();
        assert!(bound >= expected * 0.99 || size == Size::Private, "{bound} {expected}");
    }
}

#[test]
fn a_private_size_costs_little_error() {
    let data = Family::Zipf.generate(100_000).unwrap();
    let known = mean_error(&at_most(2.0, 100_000), &data, 60, 15);
    let private = mean_error(&AnonymizedHistogram::new(epsilon(2.0), Size::Private).unwrap(), &data, 60, 15);
    assert!(private <= 1.3 * known, "{}", private / known);
}

#[test]
fn an_empty_histogram_can_be_released() {
    for at in [0.01, 0.4, 1.0, 5.0] {
        let mechanism = AnonymizedHistogram::new(epsilon(at), Size::Private).unwrap();
        let released = mechanism.release(&Partition::default(), &mut InsecureSeededSource::new(16)).unwrap();
        let bound = mechanism.error(1e-9, 0).unwrap();
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
            let found = reconstruct(&layout, &noisy, Projection::LeastSquares);
            let bound = error::total(&layout, epsilon(at), noise as f64, elements);
            prop_assert!(found.distance(&data) as f64 <= bound, "{} {bound} {layout:?}", found.distance(&data));
        }
    }
}
