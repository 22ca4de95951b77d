//! `scumble lab compare-noise` as a user runs it.

use crate::support;
use std::process::{Command, Output};

fn scumble(arguments: &[&str]) -> Output {
    support::scumble(&[&["compare-noise"], arguments].concat())
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn sinh_normal_wins_on_the_maximum_and_the_gaussian_on_the_deviation() {
    let output = scumble(&["--rho", "0.01", "--omega", "10", "--scope", "person", "--json"]);
    assert!(output.status.success());
    let found: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let rows = found["candidates"].as_array().unwrap();
    assert_eq!(rows[0]["noise"], "sinh-normal");
    let value =
        |name: &str, field: &str| rows.iter().find(|row| row["noise"] == name).unwrap()[field].as_f64().unwrap();
    assert!(value("sinh-normal", "maximum_error") < value("discrete-gaussian", "maximum_error"));
    assert!(value("discrete-gaussian", "standard_deviation") < value("sinh-normal", "standard_deviation"));
    let limit = found["maximum_error_limit"].as_f64().unwrap();
    assert!(limit > 5.0 && limit < value("sinh-normal", "maximum_error"));
    let text = stdout(&scumble(&["--rho", "0.01", "--omega", "10", "--scope", "person"]));
    assert!(text.contains("least maximum error over 1000000 cells: sinh-normal"), "{text}");
}

#[test]
fn all_kinds_at_equal_epsilon_and_delta_and_a_drawing() {
    let file = std::env::temp_dir().join(format!("scumble-compare-{}.svg", std::process::id()));
    let output = scumble(&["--epsilon", "1", "--delta", "1e-6", "--cells", "1e3", "--svg", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = stdout(&output);
    for name in ["discrete-laplace", "discrete-gaussian", "truncated-discrete-laplace", "sinh-normal", "stability"] {
        assert!(text.contains(name), "{text}");
    }
    let svg = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("sinh-normal"));
}

/// Few occupied cells of very many: a stability histogram's error does not know of the empty ones.
#[test]
fn a_stability_histogram_is_off_by_what_its_occupied_cells_are() {
    let error = |occupied: &str| {
        let asked = ["--epsilon", "1", "--delta", "1e-6", "--cells", "1e12", "--occupied", occupied, "--json"];
        let found: serde_json::Value = serde_json::from_str(&stdout(&scumble(&asked))).unwrap();
        assert_eq!(found["occupied"].as_f64(), occupied.parse().ok());
        let rows = found["candidates"].as_array().unwrap().clone();
        let row = rows.into_iter().find(|row| row["noise"] == "stability").unwrap();
        assert_eq!(row["threshold"], 15);
        row["maximum_error"].as_f64().unwrap()
    };
    assert!(error("1e12") > error("100") + 15.0);
    let refused = scumble(&["--epsilon", "1", "--delta", "1e-6", "--cells", "10", "--occupied", "11"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("not 11 of 10"));
}

/// A hundred histograms together: sinh-normal noise has the least maximum error, and the accountant agrees that the
/// parameters meet the target.
#[test]
fn of_a_hundred_releases_sinh_normal_has_the_least_maximum_and_meets_the_target() {
    let output = scumble(&["--epsilon", "1", "--delta", "1e-6", "--releases", "100", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let rows = found["candidates"].as_array().unwrap();
    assert_eq!(rows[0]["noise"], "sinh-normal");
    let gaussian = rows.iter().find(|row| row["noise"] == "discrete-gaussian").unwrap();
    let ratio = rows[0]["maximum_error"].as_f64().unwrap() / gaussian["maximum_error"].as_f64().unwrap();
    assert!(ratio < 0.8, "{ratio}");
    let event = serde_json::json!({
        "mechanism": "sinh-normal", "sigma": rows[0]["sigma"], "a": rows[0]["a"], "sensitivity": 1.0, "times": 100
    });
    let question = serde_json::json!({ "events": [event], "epsilon": 1.0 });
    let file = std::env::temp_dir().join(format!("scumble-compare-{}.json", std::process::id()));
    std::fs::write(&file, question.to_string()).unwrap();
    let account = support::scumble(&["account", "--json", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&stdout(&account)).unwrap();
    assert!(answer["delta"].as_f64().unwrap() <= 1e-6, "{answer}");
}

#[test]
fn wrong_input_gets_one_sentence_and_status_two() {
    for (arguments, says) in [
        (vec!["--epsilon", "1"], "--delta"),
        (vec!["--rho", "0.1"], "--omega"),
        (vec![], "--epsilon"),
        (vec!["--epsilon", "-1", "--delta", "1e-6"], "epsilon must be a number in"),
        (vec!["--epsilon", "0", "--delta", "1e-6"], "epsilon must be above 0"),
        (vec!["--rho", "0.1", "--omega", "1"], "omega must be a number in"),
        (vec!["--rho", "0.1", "--omega", "3", "--cells", "0"], "whole number of cells"),
        (vec!["--rho", "0.1", "--omega", "3", "--scope", "group"], "presence or person"),
        (vec!["--rho", "0.1", "--omega", "3", "--releases", "0"], "number of releases"),
        (vec!["--rho", "0.1", "--omega", "3", "--svg", "/nonexistent/a.svg"], "/nonexistent/a.svg"),
    ] {
        let output = scumble(&arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty());
        assert!(error.contains(says) && error.trim().lines().count() == 1, "{arguments:?}: {error}");
    }
}

/// Every `$ scumble …` of the page runs and prints what the page says: nothing here is random.
#[test]
fn the_examples_of_the_page_print_what_it_says() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("choosing-noise-page");
    std::fs::create_dir_all(&folder).unwrap();
    let page = include_str!("../../../../../docs/explanation/noise.md");
    let mut run = 0;
    for block in page.split("```console\n").skip(1) {
        let example = block.split("```").next().unwrap();
        let (command, printed) = example.split_once('\n').unwrap();
        let arguments = command.strip_prefix("$ scumble ").unwrap().split_whitespace();
        let program = env!("CARGO_BIN_EXE_scumble");
        let output = Command::new(program).args(arguments).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(stdout(&output), printed, "{command}");
        run += 1;
    }
    assert_eq!(run, 6, "the page has lost its examples");
}
