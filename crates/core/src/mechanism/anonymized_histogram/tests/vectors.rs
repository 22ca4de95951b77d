//! The golden vectors of `testdata/anonhist.json`.

use super::super::error::largest_noise;
use super::super::projection::{least_absolute, least_squares};
use super::super::*;
use super::epsilon;
use crate::noise::InsecureSeededSource;
use serde_json::Value;

fn vector(name: &str) -> (Value, Value) {
    let text = include_str!("../../../../../../testdata/anonhist.json");
    let all: Value = serde_json::from_str(text).unwrap();
    let vectors = all["vectors"].as_array().unwrap();
    let found = vectors.iter().find(|vector| vector["name"] == name).unwrap_or_else(|| panic!("no vector {name}"));
    (found["inputs"].clone(), found["expected"].clone())
}

fn integers(value: &Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|entry| entry.as_i64().unwrap()).collect()
}

fn counts(value: &Value) -> Partition {
    Partition::from_counts(integers(value).into_iter().map(|count| count as u64)).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

fn close(left: f64, right: &Value, relative: f64) {
    let right = number(right);
    assert!((left / right - 1.0).abs() <= relative, "{left} {right}");
}

#[test]
fn prevalences_and_distances() {
    let (inputs, expected) = vector("phi_basic");
    let mut prevalences = counts(&inputs["p"]).conjugate().expanded();
    prevalences.resize(inputs["m"].as_u64().unwrap() as usize, 0);
    assert_eq!(prevalences, counts_as_written(&expected["phi"]));
    let (inputs, expected) = vector("observation2");
    let (p, q) = (counts(&inputs["p"]), counts(&inputs["q"]));
    assert_eq!(Value::from(p.distance(&q)), expected["l1_p"]);
    assert_eq!(Value::from(p.conjugate().distance(&q.conjugate())), expected["l1_phi"]);
}

fn counts_as_written(value: &Value) -> Vec<u64> {
    integers(value).into_iter().map(|count| count as u64).collect()
}

#[test]
fn projections() {
    for name in ["iso_l1_0", "iso_l1_2", "iso_l1_4", "iso_l1_weighted"] {
        let (inputs, expected) = vector(name);
        let values = integers(&inputs["a"]);
        let weights = inputs.get("w").map_or_else(|| vec![1; values.len()], counts_as_written);
        assert_eq!(least_absolute(&values, &weights), integers(&expected["b"]), "{name}");
    }
    let (inputs, expected) = vector("pava_int_unit");
    assert_eq!(
        least_squares(&integers(&inputs["S"]), &counts_as_written(&inputs["g"])).areas,
        counts_as_written(&expected["St"])
    );
}

#[test]
fn layouts() {
    for name in ["plan_low_1", "plan_low_10000"] {
        let (inputs, expected) = vector(name);
        let layout = Layout::new(LayoutChoice::Automatic, epsilon(1.0), inputs["n"].as_u64().unwrap());
        assert_eq!(Value::from(layout.rows()), expected["T"]);
        assert_eq!(layout.regions(), 2 * layout.rows());
    }
    for name in ["plan_high_1000000_0.1", "plan_high_1000000_0.3"] {
        let (inputs, expected) = vector(name);
        let layout =
            Layout::new(LayoutChoice::RowsAndStrips, epsilon(number(&inputs["eps"])), inputs["n"].as_u64().unwrap());
        let bounds = layout.column_bounds();
        assert_eq!(Value::from(layout.rows()), expected["T"]);
        assert_eq!(Value::from(bounds.len() - 1), expected["L"]);
        assert_eq!(Value::from(bounds[bounds.len() - 1]), expected["V"]);
        assert_eq!(bounds[bounds.len() - 5..], counts_as_written(&expected["bounds_tail"]));
        let first_wide = layout.column_widths().iter().position(|width| *width > 1).unwrap() + 1;
        assert_eq!(Value::from(first_wide), expected["first_wide"]);
    }
    let (inputs, expected) = vector("release_sensitivity_one");
    let rows = (0..=inputs["T"].as_u64().unwrap()).collect();
    let layout = Layout::of(rows, counts_as_written(&inputs["bounds"]));
    let (here, there) = (layout.areas(&counts(&inputs["p"])), layout.areas(&counts(&inputs["p_neighbour"])));
    let pairs = here.rows.iter().chain(&here.strips).zip(there.rows.iter().chain(&there.strips));
    assert_eq!(Value::from(pairs.map(|(left, right)| left.abs_diff(*right)).sum::<u64>()), expected["l1"]);
}

#[test]
fn end_to_end() {
    let (inputs, expected) = vector("alg1_end_to_end_l2");
    let data = counts(&inputs["p"]);
    let layout = Layout::new(LayoutChoice::RowsAndColumns, epsilon(0.7), inputs["n"].as_u64().unwrap());
    let add = |areas: Vec<i64>, noise: &Value| -> Vec<i64> {
        areas.iter().zip(integers(noise)).map(|(area, noise)| area + noise).collect()
    };
    let truth = layout.areas(&data);
    let noisy = Areas { rows: add(truth.rows, &inputs["noise_high"]), strips: add(truth.strips, &inputs["noise_low"]) };
    assert_eq!(noisy.rows, integers(&expected["released_high"]));
    assert_eq!(noisy.strips, integers(&expected["released_low"]));
    let output = reconstruct(&layout, &noisy, ProjectionMethod::LeastSquares);
    assert_eq!(output.expanded(), counts_as_written(&expected["output"]));
    assert_eq!(Value::from(output.distance(&data)), expected["l1_error"]);

    let (inputs, expected) = vector("alg1_zero_noise_identity");
    let data = counts(&inputs["p"]);
    let output = reconstruct(&layout, &layout.areas(&data), ProjectionMethod::LeastAbsolute);
    assert_eq!(output.expanded(), counts_as_written(&expected["output"]));
}

/// The moments of the noise that the error bounds rest on: E|z| = 1/sinh ε, P\[|z| > q\] = 2α^{q+1}/(1+α).
#[test]
fn moments_of_the_noise() {
    for name in ["geo_moments_0.1", "geo_moments_4"] {
        let (inputs, expected) = vector(name);
        let at = number(&inputs["eps"]);
        let tail_from_5 = (-5.0 * at).exp() / (1.0 + (-at).exp());
        close(1.0 / at.sinh(), &expected["E_abs"], 1e-13);
        close(tail_from_5, &expected["tail_ge_5"], 1e-13);
        let beta = Beta::new(2.0 * tail_from_5 * (1.0 + 1e-6)).unwrap();
        assert_eq!(largest_noise(1, scale_of(epsilon(at)).unwrap(), beta), 4);
        let beta = Beta::new(2.0 * tail_from_5 * (1.0 - 1e-6)).unwrap();
        assert_eq!(largest_noise(1, scale_of(epsilon(at)).unwrap(), beta), 5);
    }
    let (inputs, expected) = vector("unknown_n_slack");
    assert_eq!(number(&inputs["beta"]), TOO_SMALL);
    assert_eq!(Value::from(slack(epsilon(number(&inputs["eps_n"])))), expected["tau"]);
}

#[test]
fn the_constant_on_a_power_law() {
    let (inputs, expected) = vector("sim_constant_zipf_low");
    let (elements, at) = (inputs["n"].as_u64().unwrap(), number(&inputs["eps"]));
    let data = HistogramFamily::Zipf.generate(elements).unwrap();
    let mechanism =
        AnonymizedHistogram::within(Target::pure(epsilon(at)), Scope::Presence, ElementCount::AtMost(elements))
            .unwrap();
    let mut bits = InsecureSeededSource::new(18);
    let errors = (0..40).map(|_| mechanism.release(&data, &mut bits).unwrap().partition.distance(&data) as f64);
    let unit = (elements as f64).sqrt() * (-at).exp();
    close(errors.sum::<f64>() / 40.0 / unit, &expected["mean_error_over_sqrt_n_exp_minus_eps"], 0.08);
}
