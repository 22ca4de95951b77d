//! `scumble lab reproduce`, as a user runs it.

use crate::support;
use serde_json::Value;
use std::process::Output;

fn scumble(arguments: &[&str]) -> Output {
    support::scumble(&[&["reproduce"], arguments].concat())
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&support::printed(scumble(&[arguments, &["--json"]].concat()))).unwrap()
}

#[test]
fn an_experiment_shows_the_theorem() {
    let measured = json(&[
        "anonymized-histogram",
        "--epsilon",
        "1,2",
        "--elements",
        "1000,10000",
        "--family",
        "staircase,hard",
        "--precision",
        "0.05",
    ]);
    let measured = measured.as_array().unwrap();
    assert_eq!(measured.len(), 8);
    for one in measured {
        let number = |name: &str| one[name].as_f64().unwrap();
        assert!(number("error") / number("unit") < 3.2, "{one}");
        assert!(number("error") < number("proven") && number("error") > 0.5 * number("lower_bound"), "{one}");
    }
    let naive = json(&[
        "anonymized-histogram",
        "--epsilon",
        "0.1",
        "--elements",
        "10000",
        "--layout",
        "rows-only,automatic",
        "--trials",
        "30",
    ]);
    assert!(naive[0]["error"].as_f64().unwrap() > 2.0 * naive[1]["error"].as_f64().unwrap());
}

#[test]
fn wrong_input_gets_one_sentence() {
    let check = |arguments: &[&str], part: &str| support::refused(&scumble(arguments), 2, part);
    let histogram =
        |more: &[&str], part: &str| check(&[&["anonymized-histogram", "--epsilon", "1"], more].concat(), part);
    histogram(&["--elements", "1e10"], "[1, 1e9]");
    histogram(&["--elements", "10", "--precision", "0"], "--precision must be");
    histogram(&["--elements", "10", "--family", "odd"], "the family must be one of");
}

/// Measuring takes a minute: a folder that is not there is said before, not after.
#[test]
fn a_folder_that_is_not_there_is_said_at_once() {
    for command in ["separation", "attackers"] {
        support::refused(&scumble(&[command, "--out", "no/such/folder"]), 2, "no/such/folder is not a directory");
    }
}
