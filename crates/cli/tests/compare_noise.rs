//! `scumble compare-noise` as a user runs it.

use std::process::{Command, Output};

fn scumble(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_scumble")).arg("compare-noise").args(arguments).output().unwrap()
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
fn four_kinds_at_equal_epsilon_and_delta_and_a_drawing() {
    let file = std::env::temp_dir().join(format!("scumble-compare-{}.svg", std::process::id()));
    let output = scumble(&["--epsilon", "1", "--delta", "1e-6", "--cells", "1e3", "--svg", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = stdout(&output);
    for name in ["discrete-laplace", "discrete-gaussian", "truncated-discrete-laplace", "sinh-normal"] {
        assert!(text.contains(name), "{text}");
    }
    let svg = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("sinh-normal"));
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
        (vec!["--rho", "0.1", "--omega", "3", "--svg", "/nonexistent/a.svg"], "/nonexistent/a.svg"),
    ] {
        let output = scumble(&arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty());
        assert!(error.contains(says) && error.trim().lines().count() == 1, "{arguments:?}: {error}");
    }
}
