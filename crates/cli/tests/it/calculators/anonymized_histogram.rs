//! `scumble lab anonymized-histogram`, as a user runs it.

use crate::support;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn scumble(arguments: &[&str]) -> Output {
    support::scumble(&[&["anonymized-histogram"], arguments].concat())
}

fn stdout(arguments: &[&str]) -> String {
    support::printed(scumble(arguments))
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[arguments, &["--json"]].concat())).unwrap()
}

/// A file with these contents, whose name is unique to the test.
fn file(name: &str, contents: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, contents).unwrap();
    path
}

fn check_refused(arguments: &[&str], part: &str) {
    support::refused(&scumble(arguments), 2, part);
}

#[test]
fn a_generated_password_list_is_released_with_its_statistics() {
    let table = stdout(&["generate", "passwords", "--elements", "1e7"]);
    let counts = file("passwords.csv", &table);
    let picture = Path::new(env!("CARGO_TARGET_TMPDIR")).join("passwords.svg");
    let arguments = ["release", counts.to_str().unwrap(), "--epsilon", "1", "--svg", picture.to_str().unwrap()];
    let released = json(&arguments);
    assert_eq!(released["private"], true);
    let near = |value: &Value, truth: f64, share: f64| {
        let value = value.as_f64().unwrap();
        assert!((value / truth - 1.0).abs() < share, "{value} {truth}");
    };
    let statistics = &released["statistics"];
    near(&statistics["elements"], 1e7, 0.002);
    near(&statistics["values"], 6_027_556.0, 0.002);
    near(&statistics["top"][1]["share"], 0.0576, 0.01);
    assert!(released["runs"].as_array().unwrap().len() < 5000, "the table must stay small");
    let svg = std::fs::read_to_string(&picture).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("holds the truth everywhere"));
    let text = stdout(&arguments);
    assert!(
        text.contains("Costs ε = 1 for the presence of an owner of 1 element") && text.contains("different values")
    );
}

#[test]
fn seeded_noise_is_reproducible_and_says_so() {
    let counts = file("seeded.txt", "# counts\n5\n3\n\n3\n1\n");
    let arguments = ["release", counts.to_str().unwrap(), "--epsilon", "2", "--insecure-seed", "7"];
    let text = stdout(&arguments);
    assert_eq!(text, stdout(&arguments));
    assert!(text.starts_with("NOT PRIVATE: the noise comes from the seed 7."));
    assert_eq!(json(&arguments)["private"], false);
    let table = stdout(&[&arguments[..], &["--csv"]].concat());
    assert!(table.starts_with("count,how_many\n"), "{table}");
}

#[test]
fn an_almost_noiseless_release_is_the_truth() {
    let counts = file("exact.csv", "count,how_many\n9,1\n4,2\n1,7\n");
    let table = stdout(&["release", counts.to_str().unwrap(), "--epsilon", "1000", "--at-most", "24", "--csv"]);
    assert_eq!(table, "count,how_many\n9,1\n4,2\n1,7\n");
}

#[test]
fn an_edge_costs_twice_an_element() {
    let edges = file("edges.txt", "a b\na c\na,d\nb\tc\n");
    let arguments = ["degrees", edges.to_str().unwrap(), "--epsilon", "1000", "--at-most", "8"];
    let released = json(&arguments);
    assert_eq!(released["epsilon_per_element"], 500.0);
    assert_eq!(released["elements_per_owner"], 2);
    assert_eq!(released["runs"], serde_json::json!([[3, 1], [2, 2], [1, 1]]));
    assert!(stdout(&arguments).contains("2 times what one element costs"));
}

#[test]
fn a_plan_names_the_cost_the_error_and_what_nobody_can_beat() {
    let plan = json(&["plan", "--elements", "1e4", "--epsilon", "8", "--at-most", "1e4"]);
    let near = |name: &str, truth: f64| {
        assert!((plan[name].as_f64().unwrap() / truth - 1.0).abs() < 1e-6, "{name} {}", plan[name]);
    };
    near("expected_error_at_most", 0.268_370_132_5);
    near("lower_bound", 0.046_949_018_27);
    near("lower_bound_lemma_10", 0.016_773_131_4);
    let text = stdout(&["plan", "--elements", "1e6", "--epsilon", "1", "--elements-per-owner", "3"]);
    assert!(text.contains("3 times what one element costs") && text.contains("Nobody can promise less"), "{text}");
}

#[test]
fn wrong_input_gets_one_sentence() {
    let counts = file("good.txt", "5\n3\n");
    let good = counts.to_str().unwrap();
    let check_file = |name: &str, contents: &str, part: &str| {
        let path = file(name, contents);
        check_refused(&["release", path.to_str().unwrap(), "--epsilon", "1"], part);
    };
    check_refused(&["release", "no-such-file", "--epsilon", "1"], "cannot read no-such-file");
    check_refused(&["release", good, "--epsilon", "0"], "[1e-9, 1e6]");
    check_refused(&["release", good, "--epsilon", "-1"], "epsilon must be a number in [0, ∞)");
    check_refused(&["release", good, "--epsilon", "nan"], "epsilon must be a number");
    check_refused(&["release", good, "--epsilon", "1", "--layout", "best"], "the layout must be one of");
    check_refused(&["release", good, "--epsilon", "1", "--at-most", "2.5"], "not a whole number");
    check_refused(&["release", good, "--epsilon", "1", "--elements-per-owner", "0"], "[1, 2^32]");
    check_refused(&["release", good, "--epsilon", "1", "--svg", "/no/such/folder/x.svg"], "cannot write the picture");
    check_file("negative.txt", "5\n-3\n", "line 2: expected a count");
    check_file("three.txt", "5 3 1\n", "line 1: expected a count");
    check_file("words.txt", "count\n5\nmany\n", "line 3: expected a count");
    check_file("huge.txt", "18446744073709551615\n2\n", "2^40");
    let edges = file("bad-edges.txt", "a b\nc\n");
    check_refused(&["degrees", edges.to_str().unwrap(), "--epsilon", "1"], "line 2: expected an edge");
    check_refused(&["plan", "--elements", "10", "--epsilon", "1", "--at-most", "5"], "--at-most must be at least");
    check_refused(&["generate", "flat", "--elements", "0"], "[1, 1e9]");
}

/// Every `$ scumble …` of the page runs, in order, in one folder; a plan, which has no noise, prints what the page
/// says.
#[test]
fn the_examples_of_the_page_run() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("anonymized-histograms-page");
    std::fs::create_dir_all(&folder).unwrap();
    let page = include_str!("../../../../../docs/how-to/anonymized-histograms.md");
    let program = Path::new(env!("CARGO_BIN_EXE_scumble"));
    let mut run = 0;
    let _ = std::fs::remove_file(folder.join("scumble.ledger"));
    let project = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    std::fs::write(folder.join("scumble.toml"), project.expect("the page has a project")).unwrap();
    for block in page.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for example in block.split("$ ").skip(1) {
            let (command, printed) = example.split_once('\n').unwrap();
            let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
            let output =
                Command::new("sh").args(["-c", command]).current_dir(&folder).env("PATH", path).output().unwrap();
            assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
            if command.contains(" plan ") {
                assert_eq!(String::from_utf8_lossy(&output.stdout), printed, "{command}");
            }
            run += 1;
        }
    }
    assert_eq!(run, 7, "the page has lost its examples");
    let table = std::fs::read_to_string(folder.join("out/password-frequencies.csv")).unwrap();
    assert!(table.starts_with("count,how_many,"), "{table}");
}
