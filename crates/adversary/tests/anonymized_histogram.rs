//! The limits of anonymized histograms, and how near the mechanism comes to them: golden vectors, and measured errors.

use scumble::mechanism::anonymized_histogram::{
    AnonymizedHistogram, ElementCount, HistogramFamily, LayoutChoice, Partition,
};
use scumble::noise::InsecureSeededSource;
use scumble::quantity::{Delta, Epsilon};
use scumble::{Scope, Target};
use scumble_adversary::limits::anonymized_histogram::{
    Encoding, HardBlocks, Level, asymptotic_lower_bound, lemma_10, lower_bound, theorem_7,
};
use serde_json::Value;

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

fn mean_error(mechanism: &AnonymizedHistogram, data: &Partition, trials: u32, seed: u64) -> f64 {
    let mut bits = InsecureSeededSource::new(seed);
    let one = |_| mechanism.release(data, &mut bits).unwrap().partition.distance(data) as f64;
    (0..trials).map(one).sum::<f64>() / f64::from(trials)
}

fn at_most(at: f64, elements: u64) -> AnonymizedHistogram {
    AnonymizedHistogram::within(Target::pure(epsilon(at)), Scope::Presence, ElementCount::AtMost(elements)).unwrap()
}

fn vector(name: &str) -> (Value, Value) {
    let text = include_str!("../../../testdata/anonhist.json");
    let all: Value = serde_json::from_str(text).unwrap();
    let vectors = all["vectors"].as_array().unwrap();
    let found = vectors.iter().find(|vector| vector["name"] == name).unwrap_or_else(|| panic!("no vector {name}"));
    (found["inputs"].clone(), found["expected"].clone())
}

fn integers(value: &Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|entry| entry.as_i64().unwrap()).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

fn close(left: f64, right: &Value, relative: f64) {
    let right = number(right);
    assert!((left / right - 1.0).abs() <= relative, "{left} {right}");
}

fn counts_as_written(value: &Value) -> Vec<u64> {
    integers(value).into_iter().map(|count| count as u64).collect()
}

/// The promise, on the families of the table: the error is √n·e^{−ε} times 2.9 at most, and below what is
/// proven. The means of these trials have a standard error of 2 % at most (measured); the largest constant is 2.86.
#[test]
fn low_privacy_errors_are_as_promised() {
    for (at, elements, trials) in [(1.0, 1_000, 60), (2.0, 10_000, 60), (4.0, 100_000, 60)] {
        let mechanism = at_most(at, elements);
        let unit = (elements as f64).sqrt() * (-at).exp();
        let (bound, _) = lower_bound(elements, epsilon(at), Delta::new(0.0).unwrap()).unwrap();
        for family in HistogramFamily::ALL {
            let error = mean_error(&mechanism, &family.generate(elements).unwrap(), trials, 11);
            assert!(error <= 3.05 * unit, "{} {at} {}", family.name(), error / unit);
            assert!(error <= mechanism.expected_error(elements).unwrap());
            if family == HistogramFamily::Staircase {
                assert!((1.8..3.0).contains(&(error / bound)), "{}", error / bound);
            }
        }
    }
}

/// The promise: √(n·ln(1/ε)/ε) times 1.3 at most, on every family and on hard instances of the lower bound
/// whatever their bits.
///
/// The largest constant measured here is 1.25 (0.49, alternating bits) with a standard error below 0.006 over these
/// trials, so that a mean above 1.3 would be more than six of them off: a false alarm has probability below 1e-9.
#[test]
fn high_privacy_errors_are_as_promised() {
    for (at, elements, trials) in
        [(0.01, 1_000_000u64, 30), (0.1, 10_000, 100), (0.3, 100_000, 50), (0.49, 20_000, 250)]
    {
        let mechanism = at_most(at, elements);
        let unit = (elements as f64 * (1.0 / at).ln() / at).sqrt();
        let (bound, blocks) = lower_bound(elements, epsilon(at), Delta::new(0.0).unwrap()).unwrap();
        let proven = mechanism.expected_error(elements).unwrap();
        for family in HistogramFamily::ALL {
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

/// Strips are what keeps the promise: the spec's own layout, and rows and columns, are above 1.4 at ε = 0.49 (measured:
/// 1.53 and 1.56).
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

/// Alternating blocks of 8 cells, heavier than the best of the lower bound: 1.6 units (measured, standard error 0.01).
#[test]
fn heavy_blocks_are_seen_nearly_as_badly() {
    let (at, elements) = (0.49, 10_000u64);
    let mechanism = at_most(at, elements);
    let unit = (elements as f64 * (1.0 / at).ln() / at).sqrt();
    let heavy = HardBlocks::new(elements, 8, 0.9 * (8.0 * elements as f64 / (8f64.ln() + 2.0)).sqrt());
    let error = mean_error(&mechanism, &heavy.instance(|block| block % 2 == 0).unwrap(), 250, 21);
    assert!((1.4..1.75).contains(&(error / unit)), "{}", error / unit);
}

/// Lemma 8's encoding as a generator of hard instances: the mechanism cannot do better there than the theory of those
/// instances says.
#[test]
fn encoded_bits_are_hard() {
    let encoding = Encoding::new(1_000_000, 20_000).unwrap();
    let bits: Vec<bool> = (0..encoding.bits()).map(|bit| bit % 3 == 0).collect();
    let data = encoding.encode(&bits).unwrap();
    let error = mean_error(&at_most(0.01, 1_000_000), &data, 20, 13);
    // Each bit moves w elements: an error below w/(1+e^{wε}) on average would distinguish the bits.
    let each = |level: &Level| {
        let weight = (level.copies * level.step) as f64;
        weight / (1.0 + (weight * 0.01).exp())
    };
    let hard: f64 =
        encoding.levels().iter().map(|level| each(level) * (encoding.bits() / encoding.levels().len()) as f64).sum();
    assert!(error >= hard, "{error} {hard}");
}

#[test]
fn bounds_on_the_error() {
    let (inputs, expected) = vector("bounds_low_10000_8");
    let (elements, at, delta) = (inputs["n"].as_u64().unwrap(), number(&inputs["eps"]), Delta::new(0.0).unwrap());
    let mechanism =
        AnonymizedHistogram::within(Target::pure(epsilon(at)), Scope::Presence, ElementCount::AtMost(elements))
            .unwrap();
    close(mechanism.expected_error(elements).unwrap(), &expected["ub_l1_projection"], 2e-9);
    close(lemma_10(elements, epsilon(at), delta), &expected["lb_paper_lemma10"], 2e-9);
    let (bound, blocks) = lower_bound(elements, epsilon(at), delta).unwrap();
    close(bound, &expected["lb_improved"], 2e-9);
    assert_eq!(Value::from(blocks.blocks().len()), expected["m_improved"]);

    let (inputs, expected) = vector("thm7_numbers");
    let theorem = theorem_7(number(&inputs["n"]) as u64, epsilon(number(&inputs["eps"]))).unwrap();
    close(theorem.distance as f64, &expected["Delta"], 1e-9);
    close(theorem.lower_bound, &expected["paper_lb"], 2e-9);
    close(theorem.group_epsilon, &expected["group_k_eps"], 1e-9);
    assert_eq!(theorem_7(1_000_000_000, epsilon(1e-3)), None);

    let (inputs, expected) = vector("lb_closed_form");
    let weight = inputs["w"].as_u64().unwrap();
    let value = asymptotic_lower_bound(number(&inputs["n"]), epsilon(number(&inputs["eps"])), weight);
    close(value, &expected["value"], 1e-12);
}

#[test]
fn hard_instances() {
    let (inputs, expected) = vector("lemma8_psi");
    let encoding = Encoding::new(inputs["n"].as_u64().unwrap(), inputs["Delta"].as_u64().unwrap()).unwrap();
    let levels = encoding.levels();
    assert_eq!(levels.iter().map(|level| level.smallest).collect::<Vec<u64>>(), counts_as_written(&expected["s"]));
    assert_eq!(levels.iter().map(|level| level.step).collect::<Vec<u64>>(), counts_as_written(&expected["d"]));
    let bits: Vec<bool> = integers(&inputs["z"]).into_iter().map(|bit| bit == 1).collect();
    let encoded = encoding.encode(&bits).unwrap();
    assert_eq!(encoded.expanded(), counts_as_written(&expected["psi"]));
    assert_eq!(Value::from(encoded.elements()), expected["sum"]);

    for name in ["hard_blocks_10000_9", "hard_blocks_1000_1"] {
        let (inputs, expected) = vector(name);
        let (elements, at) = (inputs["n"].as_u64().unwrap(), number(&inputs["eps"]));
        let (bound, blocks) = lower_bound(elements, epsilon(at), Delta::new(0.0).unwrap()).unwrap();
        assert!(bound >= number(&expected["lb_value_at_least"]), "{name} {bound}");
        assert!(blocks.instance(|_| true).unwrap().elements() <= expected["total_all_up_at_most"].as_u64().unwrap());
    }
    assert_eq!(HardBlocks::new(1000, 1, 1.0).blocks().len(), 44);
    assert!(HardBlocks::new(1000, u64::MAX, f64::NAN).blocks().is_empty());
}

/// Lemma 8's promises, over several (n, Δ): the sizes, and the distances of bits that differ.
#[test]
fn the_encoding_keeps_distances() {
    for (elements, distance) in
        [(1000u64, 400), (10_000, 1_001), (10_000, 10_000), (1_000_000, 50_000), (123_457, 9_999)]
    {
        let encoding = Encoding::new(elements, distance).unwrap();
        let m = encoding.bits();
        assert!(
            m as f64 >= 0.125 * elements as f64 / distance as f64 * (distance as f64 / (elements as f64).sqrt()).log2()
        );
        let encode = |pattern: fn(usize) -> bool| encoding.encode(&(0..m).map(pattern).collect::<Vec<bool>>()).unwrap();
        assert!(encode(|_| true).elements() <= elements);
        let apart = encode(|bit| bit % 2 == 0).distance(&encode(|bit| bit % 3 == 0)) as f64;
        let differing = (0..m).filter(|bit| (bit % 2 == 0) != (bit % 3 == 0)).count() as f64;
        let unit = distance as f64 / m as f64 * differing;
        assert!((unit / 8.0..=unit / 2.0).contains(&apart), "{elements} {distance} {}", apart / unit);
    }
    assert!(Encoding::new(100, 100).is_err() && Encoding::new(100, 1000).is_err());
}
