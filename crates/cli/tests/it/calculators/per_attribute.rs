//! Per-attribute privacy, as a user asks for it on the command line.

use crate::support;
use serde_json::{Value, json};
use std::process::Output;

fn scumble(arguments: &[&str], document: &Value) -> Output {
    support::scumble_on(arguments, &document.to_string())
}

fn answered(command: &str, document: &Value) -> Value {
    let output = scumble(&[command, "--json", "-"], document);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn path(scale: f64) -> Value {
    json!({"mechanism": "heavy-hitters", "scale": scale, "clip": 15, "rise": 15, "levels": 7})
}

#[test]
fn the_pure_epsilon_of_heavy_hitters_is_the_exact_one() {
    let answer = answered("account", &json!({"events": [path(3.0)], "delta": 0}));
    let epsilon = answer["epsilon"].as_f64().unwrap();
    assert!((1.0011240172119986..1.00112401722).contains(&epsilon), "{answer}");
    // Ten of them at a δ: the concentrated bound is far below ten times the pure one.
    let mut ten = path(3.0);
    ten["times"] = json!(10);
    let often = answered("account", &json!({"events": [ten], "delta": 1e-6}))["epsilon"].as_f64().unwrap();
    assert!(often < 8.9 && often > 3.0, "{often}");
}

#[test]
fn the_scale_of_heavy_hitters_is_calibrated() {
    let mut event = path(3.0);
    event.as_object_mut().unwrap().remove("scale");
    let found = answered("calibrate", &json!({"events": [event], "epsilon": 1.0, "delta": 0}));
    let scale = found["event"]["scale"].as_f64().unwrap();
    assert!(scale > 3.0 && scale < 3.01, "{found}");
}

#[test]
fn a_wrong_path_is_refused_with_its_place() {
    for (name, value) in [("levels", json!(0)), ("clip", json!(-1)), ("rise", json!(0.5)), ("scale", json!("wide"))] {
        let mut event = path(3.0);
        event[name] = value;
        let output = scumble(&["account", "-"], &json!({"events": [event], "delta": 0}));
        let sentence = String::from_utf8_lossy(&output.stderr).to_string();
        assert_eq!(output.status.code(), Some(2), "{sentence}");
        assert!(output.stdout.is_empty() && sentence.contains(name), "{sentence}");
    }
    let output = scumble(&["account", "-"], &json!({"events": [path(3.0)], "delta": 0, "attributes": [""]}));
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_census_page_is_what_the_program_says() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/census-2020.json");
    let output = scumble(&["account", "--json", file], &Value::Null);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let epsilon = answer["epsilon"].as_f64().unwrap();
    // The conversion of the paper says 7.8384; ours must not be worse, and 7.37 is exact for Gaussian noise.
    assert!(epsilon <= 7.8384 && epsilon > 7.3, "{answer}");
}

#[test]
fn an_attribute_that_no_release_reads_costs_nothing() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/census-2020.json")).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    document["attributes"] = json!(["income"]);
    assert_eq!(answered("account", &document)["epsilon"].as_f64(), Some(0.0));
}
