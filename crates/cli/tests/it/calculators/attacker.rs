//! `scumble lab attacker`, as a user runs it.

use crate::support;
use serde_json::{Value, json};
use std::process::Output;

/// Runs the command with this document on standard input.
fn scumble(arguments: &[&str], document: &str) -> Output {
    support::scumble_on(&[&["attacker"], arguments].concat(), document)
}

fn verdict(document: &Value) -> Value {
    let output = scumble(&["-", "--json"], &document.to_string());
    assert!(output.status.success(), "{document}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A count of 100 records under λ = 0.05 at ε = 1, with these changes.
fn count(changes: &[(&str, Value)]) -> Value {
    let mut document = json!({
        "population": {"n_total": 100},
        "attacker": {"known_records": 0, "mode": "active"},
        "uncertainty": {"kind": "lambda", "lambda": 0.05, "independence": "declared"},
        "release": {"kind": "count", "releases_on_same_units": 1},
        "query": {"epsilon": 1.0},
    });
    for (section, value) in changes {
        document[*section] = value.clone();
    }
    document
}

fn refused_input(document: &Value, path: &str) {
    let output = scumble(&["-", "--json"], &document.to_string());
    let sentence = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(2), "{document}: {sentence}");
    assert!(
        output.stdout.is_empty() && sentence.lines().count() == 1 && sentence.contains(path),
        "{document}: {sentence}"
    );
}

fn near(value: &Value, expected: f64, slack: f64) {
    let got = value.as_f64().unwrap_or_else(|| panic!("no number but {value}"));
    assert!(got >= expected * (1.0 - 1e-12) && got <= expected * (1.0 + slack), "{got} against {expected}");
}

#[test]
fn a_count_under_a_box_of_beliefs() {
    let verdict = verdict(&count(&[]));
    assert_eq!(verdict["verdict"], "guarantee");
    assert_eq!(verdict["kind"], "APKDP");
    assert_eq!(verdict["method"], "worst-case-count");
    near(&verdict["delta"], 0.02249452154575958, 1e-6);
    assert!(verdict["delta_lower"].as_f64().unwrap() <= 0.0224945216);
    assert!(verdict["delta_lower"].as_f64().unwrap() > 0.02249);
    assert_eq!(verdict["epsilon"], 1.0);
    assert_eq!(verdict["degradation"].as_array().unwrap().len(), 6);
    assert!(verdict["sentence"].as_str().unwrap().contains("knows at most 0 of the 100 records"));
}

#[test]
fn beliefs_of_others_and_of_all() {
    let believed =
        |values: Value, of: &str| json!({"kind": "probs", "values": values, "of": of, "independence": "declared"});
    let others = count(&[("uncertainty", believed(json!([[0.05, 99]]), "others"))]);
    let answer = verdict(&others);
    assert_eq!(answer["method"], "exact-count");
    near(&answer["delta"], 0.021764142665042337, 1e-6);
    let mut all = count(&[
        ("uncertainty", believed(json!([[0.05, 1], [0.2, 1], [0.5, 2], [0.9, 1]]), "all")),
        ("query", json!({"epsilon": 0.2})),
    ]);
    all["population"] = json!({});
    near(&verdict(&all)["delta"], 0.4324814883279008, 1e-6);
    all["population"] = json!({"n_total": 7});
    refused_input(&all, "$.uncertainty.values");
}

#[test]
fn epsilon_for_delta_and_infeasibility_first() {
    let question = |n: u64, delta: f64| {
        count(&[
            ("population", json!({"n_total": n})),
            ("release", json!({"kind": "histogram"})),
            ("query", json!({"delta": delta})),
        ])
    };
    let answer = verdict(&question(1000, 1e-5));
    assert_eq!(answer["method"], "blanket");
    near(&answer["epsilon"], 0.7687782880484519, 1e-5);
    let none = verdict(&question(100, 1e-4));
    assert_eq!(none["verdict"], "none");
    assert!(none["reason"].as_str().unwrap().contains("6.232e-3"), "{none}");
}

#[test]
fn thresholds_passive_and_active() {
    let release = json!({"kind": "threshold_count", "T": 10, "releases_on_same_units": 1});
    let believed = json!({"kind": "probs", "values": [[0.05, 59]], "of": "others", "independence": "declared"});
    let question = |attacker: Value, epsilon: f64| {
        count(&[
            ("population", json!({"n_total": 60})),
            ("release", release.clone()),
            ("uncertainty", believed.clone()),
            ("attacker", attacker),
            ("query", json!({"epsilon": epsilon})),
        ])
    };
    let active = verdict(&question(json!({"known_records": 4, "influenced_records": 4}), 0.01));
    assert_eq!((active["kind"].as_str(), active["method"].as_str()), (Some("APKDP"), Some("threshold-exact")));
    near(&active["delta"], 0.036493517734743845, 1e-6);
    let passive = verdict(&question(json!({"known_records": 59, "mode": "passive"}), 0.0));
    assert_eq!(passive["kind"], "PPKDP");
    near(&passive["delta"], 0.0006436109146907369, 1e-6);
    let unified = verdict(&count(&[
        ("population", json!({"n_total": 61})),
        ("release", json!({"kind": "threshold_count", "T": 10})),
        ("uncertainty", json!({"kind": "p_max", "p_max": 0.5, "independence": "declared"})),
    ]));
    assert_eq!(unified["method"], "threshold-unified");
    near(&unified["delta"], 0.015614998996797832, 1e-6);
}

#[test]
fn k_anonymity_and_what_it_requires() {
    let question = |release: Value| {
        count(&[
            ("population", json!({"n_total": 10001})),
            ("release", release),
            ("uncertainty", json!({"kind": "rare_common", "lambda": 0.05, "rho": 0.001, "independence": "declared"})),
            ("query", json!({"epsilon": 0.3})),
        ])
    };
    let full = json!({"kind": "k_anonymity", "k": 40, "hidden_bottom": true, "generalisation": "fixed"});
    let answer = verdict(&question(full.clone()));
    assert_eq!(answer["method"], "k-anonymity");
    near(&answer["delta"], 1.8514345307995556e-08, 1e-6);
    for (field, value) in [("hidden_bottom", json!(false)), ("generalisation", json!("data_dependent"))] {
        let mut release = full.clone();
        release[field] = value;
        let refused = verdict(&question(release));
        assert_eq!(refused["verdict"], "refused");
        assert!(refused["missing"][0].as_str().unwrap().contains(field), "{refused}");
    }
}

#[test]
fn noise_beside_its_own_guarantee() {
    let question = |noise: Value, epsilon: f64| {
        count(&[
            ("population", json!({"n_total": 21})),
            ("uncertainty", json!({"kind": "lambda", "lambda": 0.1, "independence": "declared"})),
            ("noise", noise),
            ("query", json!({"epsilon": epsilon})),
        ])
    };
    let geometric = verdict(&question(json!({"kind": "geometric", "p": 0.5}), 0.3));
    near(&geometric["delta"], 0.0945893160793194, 1e-6);
    near(&geometric["noise_epsilon"], std::f64::consts::LN_2, 1e-9);
    assert_eq!(verdict(&question(json!({"kind": "geometric", "p": 0.5}), 0.7))["delta"], 0.0);
    assert_eq!(verdict(&question(json!({"kind": "laplace", "scale": 2}), 0.1))["verdict"], "guarantee");
    assert_eq!(verdict(&question(json!({"kind": "gaussian", "sigma": 1.5}), 0.2))["verdict"], "guarantee");
}

#[test]
fn refusals_are_verdicts_and_wrong_input_is_one_sentence() {
    let undeclared = json!({"kind": "lambda", "lambda": 0.05, "independence": "unknown"});
    assert_eq!(verdict(&count(&[("uncertainty", undeclared)]))["verdict"], "refused");
    assert_eq!(verdict(&count(&[("uncertainty", json!({"kind": "lambda", "lambda": 0.05}))]))["verdict"], "refused");
    assert_eq!(
        verdict(&count(&[("release", json!({"kind": "count", "releases_on_same_units": 2}))]))["verdict"],
        "refused"
    );
    refused_input(&count(&[("uncertainty", json!({"kind": "lambda", "lambda": 0.6}))]), "$.uncertainty.lambda");
    refused_input(&count(&[("uncertainty", json!({"kind": "lambda"}))]), "$.uncertainty.lambda");
    refused_input(&count(&[("query", json!({"epsilon": 1, "delta": 0.1}))]), "$.query");
    refused_input(&count(&[("query", json!({"epsilon": -1}))]), "$.query.epsilon");
    refused_input(&count(&[("release", json!({"kind": "sum"}))]), "$.release.kind");
    refused_input(&count(&[("attacker", json!({"knwon": 3}))]), "$.attacker.knwon");
    refused_input(&count(&[("attacker", json!({"known_records": 101}))]), "known_records");
    refused_input(&count(&[("population", json!({}))]), "n_total");
    refused_input(&count(&[("noise", json!({"kind": "geometric", "p": 1}))]), "$.noise.p");
    for text in ["{", "[population", "", "\u{0}"] {
        let output = scumble(&["-"], text);
        assert_eq!(output.status.code(), Some(2), "{text:?}");
        assert!(output.stdout.is_empty());
    }
    assert_eq!(scumble(&["no-such-file.toml"], "").status.code(), Some(2));
}

/// The questions of the guide page, run as they stand there; each block says what must be in the answer.
#[test]
fn the_examples_of_the_guide_page() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/explanation/attackers.md")).unwrap();
    let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
    let mut questions = 0;
    for pair in blocks.windows(2) {
        let (Some(question), Some(answer)) = (pair[0].strip_prefix("toml\n"), pair[1].strip_prefix("text\n")) else {
            continue;
        };
        let output = scumble(&["-"], question);
        let got = String::from_utf8(output.stdout).unwrap();
        // A line `…` stands for any lines.
        match answer.split_once("…\n") {
            Some((first, last)) => {
                assert!(got.starts_with(first) && got.trim_end().ends_with(last.trim_end()), "{question}{got}");
            }
            None => assert_eq!(got.trim_end(), answer.trim_end(), "{question}"),
        }
        questions += 1;
    }
    assert_eq!(questions, 4, "the page has four questions with their answers");
}
