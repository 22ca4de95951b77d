//! `scumble lab noise`, as a user runs it.

use crate::support;
use serde_json::Value;
use std::io::Read;
use std::process::{Command, Output, Stdio};

fn scumble(arguments: &[&str]) -> Output {
    support::scumble(&[&["noise"], arguments].concat())
}

fn stdout(arguments: &[&str]) -> String {
    support::printed(scumble(arguments))
}

fn integers(arguments: &[&str]) -> Vec<i128> {
    stdout(arguments).lines().map(|line| line.parse().unwrap()).collect()
}

fn check_refused(arguments: &[&str], part: &str) {
    support::refused(&scumble(arguments), 2, part);
}

#[test]
fn one_integer_per_line() {
    let draws = integers(&["discrete-gaussian", "--sigma", "10", "--count", "200000"]);
    assert_eq!(draws.len(), 200_000);
    let variance = draws.iter().map(|z| (z * z) as f64).sum::<f64>() / draws.len() as f64;
    assert!((95.0..105.0).contains(&variance), "{variance}"); // 100 ± 0.32
    assert_eq!(integers(&["discrete-laplace", "--scale", "3"]).len(), 1);
    assert_eq!(integers(&["geometric", "--scale", "3", "--count", "0"]).len(), 0);
}

#[test]
fn every_distribution_can_be_drawn() {
    let check = |arguments: &[&str], allowed: &dyn Fn(i128) -> bool| {
        let draws = integers(&[arguments, &["--count", "300"]].concat());
        assert!(draws.len() == 300 && draws.iter().all(|draw| allowed(*draw)), "{arguments:?}");
    };
    check(&["discrete-laplace", "--scale", "1e12"], &|_| true);
    check(&["discrete-gaussian", "--sigma", "1e-6"], &|z| z == 0);
    check(&["geometric", "--scale", "0.5"], &|n| n >= 0);
    check(&["truncated-discrete-laplace", "--scale", "5", "--bound", "2"], &|z| z.abs() <= 2);
    check(&["negative-binomial", "--scale", "5", "--shape", "1/3"], &|n| n >= 0);
    check(&["negative-binomial", "--scale", "5", "--shape", "2.5"], &|n| n >= 0);
    check(&["binomial", "--trials", "100", "--probability", "0.25"], &|n| (0..=100).contains(&n));
    check(&["uniform", "--below", "6"], &|n| (0..6).contains(&n));
    check(&["bernoulli", "--probability", "0.5"], &|n| n == 0 || n == 1);
    check(&["bernoulli", "--exp-minus", "100"], &|n| n == 0);
    check(&["bernoulli", "--logistic", "100"], &|n| n == 1);
    check(&["sinh-normal", "--sigma", "8.436", "--a", "25.8"], &|z| z.abs() < 60);
    let all = ["binomial", "--trials", "340282366920938463463374607431768211455", "--probability", "1"];
    assert_eq!(stdout(&all).trim(), "340282366920938463463374607431768211455");
}

#[test]
fn lists_stand_on_one_line() {
    let numbers = |text: &str| text.split_whitespace().map(|word| word.parse::<i64>().unwrap()).collect::<Vec<_>>();
    let lines = stdout(&["permutation", "--of", "5", "--count", "3"]);
    for line in lines.lines() {
        let mut order = numbers(line);
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2, 3, 4]);
    }
    assert_eq!(lines.lines().count(), 3);
    let chosen = numbers(&stdout(&["subset", "--universe", "1000000000000", "--size", "4"]));
    assert!(chosen.len() == 4 && chosen.is_sorted());
    assert_eq!(numbers(&stdout(&["k-norm", "--scale", "2", "--dimension", "7"])).len(), 7);
}

#[test]
fn a_seed_repeats_and_warns_and_no_seed_does_not() {
    let arguments = ["discrete-laplace", "--scale", "100", "--count", "1000", "--insecure-seed", "7"];
    let output = scumble(&arguments);
    assert!(String::from_utf8_lossy(&output.stderr).contains("not private"));
    assert_eq!(output.stdout, scumble(&arguments).stdout);
    let secure = scumble(&arguments[..5]);
    assert!(secure.stderr.is_empty());
    assert_ne!(secure.stdout, scumble(&arguments[..5]).stdout);
}

#[test]
fn a_summary_is_one_object() {
    let text = stdout(&["discrete-laplace", "--scale", "10", "--count", "300000", "--summary"]);
    let summary: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(text.lines().count(), 1);
    assert_eq!(summary["count"], 300_000);
    assert!(summary["mean"].as_f64().unwrap().abs() < 0.3); // standard error 0.026
    assert!((summary["variance"].as_f64().unwrap() - 199.83).abs() < 8.0); // standard error 0.8
    assert!(summary["min"].as_i64().unwrap() < -50 && summary["max"].as_i64().unwrap() > 50);
    assert!(summary["seconds"].as_f64().unwrap() > 0.0 && summary["samples_per_second"].as_f64().unwrap() > 0.0);
    let empty = stdout(&["geometric", "--scale", "10", "--count", "0", "--summary"]);
    let empty: Value = serde_json::from_str(&empty).unwrap();
    assert!(empty["mean"].is_null() && empty["max"].is_null() && empty["count"] == 0);
    let large = stdout(&[
        "binomial",
        "--trials",
        "340282366920938463463374607431768211455",
        "--probability",
        "0.5",
        "--summary",
    ]);
    assert!(serde_json::from_str::<Value>(&large).unwrap()["max"].is_string());
}

#[test]
fn bad_input_is_one_sentence_that_names_the_flag() {
    check_refused(&["discrete-gaussian", "--sigma", "-1"], "--sigma");
    check_refused(&["discrete-gaussian", "--sigma=-1"], "--sigma");
    check_refused(&["discrete-gaussian", "--sigma", "nan"], "--sigma");
    check_refused(&["discrete-gaussian", "--sigma", "1e400"], "--sigma");
    check_refused(&["discrete-gaussian", "--sigma", "-inf"], "--sigma");
    check_refused(&["discrete-gaussian", "--sigma", ""], "--sigma");
    check_refused(&["discrete-gaussian"], "--sigma");
    check_refused(&["discrete-gaussian", "--sigma", "1", "--count", "-5"], "--count");
    check_refused(&["discrete-gaussian", "--sigma", "1", "--count", "1.5"], "--count");
    check_refused(&["discrete-gaussian", "--sigma", "1", "--insecure-seed", "x"], "--insecure-seed");
    check_refused(&["discrete-gaussian", "--scale", "1"], "--scale");
    check_refused(&["cauchy", "--scale", "1"], "cauchy");
    check_refused(&["discrete-laplace", "--scale", "0"], "--scale");
    check_refused(&["truncated-discrete-laplace", "--scale", "1", "--bound", "-1"], "--bound");
    check_refused(&["k-norm", "--scale", "1", "--dimension", "0"], "--dimension");
    check_refused(&["k-norm", "--scale", "1", "--dimension", "-3"], "--dimension");
    check_refused(&["negative-binomial", "--scale", "1", "--shape", "0"], "--shape");
    check_refused(&["negative-binomial", "--scale", "1", "--shape", "1/0"], "--shape");
    check_refused(&["negative-binomial", "--scale", "1", "--shape", "-0.5"], "--shape");
    check_refused(&["binomial", "--trials", "-1", "--probability", "0.5"], "--trials");
    check_refused(&["binomial", "--trials", "10", "--probability", "1.5"], "--probability");
    check_refused(&["uniform", "--below", "0"], "--below");
    check_refused(&["bernoulli"], "--probability");
    check_refused(&["bernoulli", "--probability", "0.5", "--logistic", "1"], "--logistic");
    check_refused(&["permutation", "--of", "1e99"], "--of");
    check_refused(&["subset", "--universe", "3", "--size", "4"], "--size");
    check_refused(&["sinh-normal", "--sigma", "10", "--a", "1"], "--a");
}

/// The story: `| head` closes the pipe while we still write; that is how the reader says it has enough.
#[test]
fn a_closed_stdout_ends_quietly() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_scumble"))
        .args(["noise", "discrete-gaussian", "--sigma", "10", "--count", "1000000000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0u8; 64];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap(); // and dropped: closed
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}
