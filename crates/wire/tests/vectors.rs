//! Every golden vector of accounting, from its document to the certified bounds.

use scumble::calibrate::calibrate;
use scumble::event::{WORDS, Word};
use scumble::loss::Loss;
use scumble_wire::{AccountQuestion, account_from_json, calibration_from_json, parse};
use serde_json::{Value, json};

fn vectors() -> Vec<Value> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/accounting.json")).unwrap();
    parse(&text).unwrap()["vectors"].as_array().unwrap().clone()
}

fn number(value: &Value) -> f64 {
    if value == "inf" { f64::INFINITY } else { value.as_f64().unwrap() }
}

/// The vector's inputs with its δ: the document that a user would write.
fn document(vector: &Value) -> Value {
    let mut document = vector["inputs"].clone();
    document["delta"] = vector["delta"].clone();
    document
}

#[test]
fn every_account_vector_is_enclosed() {
    let mut seen = 0;
    let mut failures = Vec::new();
    for vector in vectors().iter().filter(|vector| vector["command"] == "account") {
        let name = vector["name"].as_str().unwrap();
        let account = account_from_json(&document(vector)).unwrap();
        let AccountQuestion::Epsilon(delta) = account.ask else { panic!("{name} asks for delta") };
        let start = std::time::Instant::now();
        let answer = Loss::of(&account.events, &account.scope).unwrap().epsilon(delta);
        let (low, high) = (number(&vector["eps_lower"]), number(&vector["eps_upper"]));
        println!(
            "{name}: {} ≤ [{low}, {high}] ≤ {} by {} {} (upper {:+.1e}, lower {:+.1e}, {:?})",
            answer.lower,
            answer.upper,
            answer.method,
            answer.direction,
            answer.upper / high - 1.0,
            answer.lower / low - 1.0,
            start.elapsed(),
        );
        let mut fail = |wrong: bool, what: &str| {
            if wrong {
                failures.push(format!("{name}: {what}: {answer:?}"))
            }
        };
        fail(answer.upper < low, "the upper bound is below the truth");
        fail(answer.upper > high * (1.0 + 1e-4), "the upper bound is loose");
        fail(answer.lower > high, "the lower bound is above the truth");
        fail(low.is_finite() && answer.lower < low * (1.0 - 2e-4), "the lower bound is loose");
        if let Some(worse) = vector["eps_by_direction"].as_object() {
            let worst = if number(&worse["add"]) > number(&worse["remove"]) { "add" } else { "remove" };
            fail(answer.direction.to_string() != worst, "the other direction is the worse one");
        }
        seen += 1;
    }
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(seen >= 25, "only {seen} vectors were read");
}

#[test]
fn every_calibration_vector_is_met() {
    for vector in vectors().iter().filter(|vector| vector["command"] == "calibrate") {
        let asked = calibration_from_json(&document(vector)).unwrap();
        let found = calibrate(&asked.event, asked.free, &asked.scope, asked.epsilon, asked.delta).unwrap();
        let Word::Gaussian { sigma } = found.word() else { panic!("the kind changed") };
        let (low, high) = (number(&vector["sigma_lower"]), number(&vector["sigma_upper"]));
        assert!(sigma.get() >= low && sigma.get() <= high * (1.0 + 1e-4), "{}: {sigma}", vector["name"]);
    }
}

#[test]
fn refusals_name_the_path() {
    let refused = |document: &str, sentence: &str| {
        let error = account_from_json(&parse(document).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), sentence);
    };
    let known: Vec<&str> = WORDS.iter().map(|entry| entry.name).collect();
    refused(
        r#"{"events": [{"mechanism": "gaussian", "sigma": -1, "sensitivity": 1}], "delta": 1e-5}"#,
        "$.events[0].sigma: sigma must be a number in [1e-9, 1e18], not -1",
    );
    refused(
        r#"{"events": [{"mechanism": "gaussian", "sensitivity": 1}], "delta": 1e-5}"#,
        "$.events[0].sigma: sigma is missing",
    );
    refused(
        r#"{"events": [{"mechanism": "pure", "epsilon": 1}, {"mechanism": "magic"}], "delta": 1e-5}"#,
        &format!("$.events[1].mechanism: unknown mechanism \"magic\"; expected one of {}", known.join(", ")),
    );
    refused(
        r#"{"events": [{"mechanism": "pure", "epsilon": 1, "sampling": {"kind": "poisson", "rate": 1.5}}], "delta": 0}"#,
        "$.events[0].sampling.rate: rate must be a number in [0, 1], not 1.5",
    );
    refused(
        r#"{"events": [{"mechanism": "pure", "epsilon": 1}], "delta": 1.5}"#,
        "$.delta: delta must be a number in [0, 1], not 1.5",
    );
    refused(
        r#"{"events": [{"mechanism": "pure", "epsilon": "1"}], "delta": 0}"#,
        "$.events[0].epsilon: a number is expected, not \"1\"",
    );
    refused(
        r#"{"events": [{"mechanism": "pair", "p": [0.5, 0.4], "q": [0.5, 0.5]}], "delta": 0}"#,
        "$.events[0].p: probabilities must sum to 1, not 0.9",
    );
    assert!(parse(r#"{"events": [{"mechanism": "pure", "epsilon": NaN}]}"#).is_err());
}

#[test]
fn moves_by_scope_survive_the_round_trip() {
    let value = json!({
        "mechanism": "discrete-gaussian", "sigma": 4.0, "times": 3, "sampling": {"kind": "poisson", "rate": 0.25},
        "moves": {"presence": [{"cells": 1, "by": 1.0}], "person": [{"cells": 2, "by": 1.0}, {"cells": 1, "by": 2.0}],
                  "touches": [{"attributes": ["age", "sex"], "shifts": [{"cells": 2, "by": 1.0}]}]},
    });
    let event = scumble_wire::event_from_json(&value).unwrap();
    assert_eq!(scumble_wire::event_to_json(&event), value);
}
