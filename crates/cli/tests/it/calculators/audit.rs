//! `scumble lab audit` as people run it: the golden vectors in their machine forms, and what is refused.

use crate::support::{Folder, effort, printed, refused, scumble_on};
use serde_json::{Value, json};

pub fn vectors(row: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../../../../../testdata/survey.json")).unwrap();
    let named = |vector: &&Value| vector["name"].as_str().unwrap().starts_with(row);
    all["vectors"].as_array().unwrap().iter().filter(named).cloned().collect()
}

/// Every number that is expected is there, within a part in 10⁷ (the core's own tests are stricter).
pub fn agree(vector: &Value, answer: &Value) {
    for (field, expected) in vector["expected"].as_object().unwrap() {
        let found = &answer[field];
        let close = match (expected.as_f64(), found.as_f64()) {
            (Some(expected), Some(found)) => (found - expected).abs() <= 1e-7 * expected.abs(),
            _ => found == expected,
        };
        assert!(close, "{}: {field} is {found}, not {expected}", vector["name"]);
    }
}

#[test]
fn machine_forms_answer_the_vectors() {
    for vector in vectors("e7_").iter().filter(|vector| vector["name"] != "e7_dkw") {
        let form = if vector["input"]["canaries"].is_null() { "counts" } else { "one-run" };
        let output = scumble_on(&["audit", form, "-", "--json"], &vector["input"].to_string());
        let is_refuted = vector["expected"]["refuted"] == true;
        assert_eq!(output.status.code(), Some(i32::from(is_refuted)), "{vector}");
        agree(vector, &serde_json::from_slice(&output.stdout).unwrap());
    }
}

#[test]
fn a_claim_may_be_events_or_numbers() {
    let counts = json!({"hits": 731, "runs": 1000, "neighbour_hits": 269, "neighbour_runs": 1000, "beta": 0.05});
    let claims = [
        // An epsilon of 1 allows this event; Laplace noise with the same epsilon does not, and its curve knows that.
        (json!([{"mechanism": "pure", "epsilon": 1}]), false),
        (json!([{"mechanism": "laplace", "scale": 1, "sensitivity": 1}]), true),
        (json!([{"mechanism": "laplace", "scale": 2, "sensitivity": 1}]), true),
        (json!({"events": [{"mechanism": "pure", "epsilon": 0.5}], "neighbours": "replace"}), true),
        (json!({"epsilon": 1}), false),
        (json!({"epsilon": 0.5, "delta": 0.3}), false),
        (json!({"epsilon": 0.5}), true),
    ];
    for (claim, expected) in claims {
        let mut document = counts.clone();
        document["claim"] = claim;
        let output = scumble_on(&["audit", "counts", "-"], &document.to_string());
        assert_eq!(output.status.code(), Some(i32::from(expected)), "{document}");
        let told = String::from_utf8(output.stdout).unwrap();
        assert_eq!(told.starts_with("REFUTED"), expected, "{told}");
        assert!(told.contains("ε ≥ 0.85857"), "{told}");
    }
}

/// Randomized response with ε = ln 3, exactly: three of four outputs are true.
fn responses(truth: &str, other: &str) -> String {
    (0..4000).map(|i| format!("{}\n", if i % 4 == 3 { other } else { truth })).collect()
}

#[test]
fn two_files_of_outputs_are_compared() {
    let folder = Folder::with(&[("x", &responses("yes", "no")), ("y", &responses("no", "yes"))]);
    let answer = folder.json(&["audit", "outputs", "x", "y", "--json"]);
    let proven = answer["epsilon_lower"].as_f64().unwrap();
    assert!(proven > 0.9 && proven < 3f64.ln(), "{answer}");
    assert_eq!((&answer["runs"], &answer["refuted"]), (&json!(3600), &json!(false)));
    assert!(
        folder.stdout(&["audit", "outputs", "x", "y", "--epsilon", "1.1"]).starts_with("no evidence against the claim")
    );
    let refuted = folder.run(&["audit", "outputs", "x", "y", "--epsilon", "0.5"]);
    assert_eq!(refuted.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refuted.stdout).starts_with("REFUTED"));
    folder.write("claim.json", r#"[{"mechanism": "pure", "epsilon": 0.5}]"#);
    assert_eq!(folder.run(&["audit", "outputs", "x", "y", "--claim", "claim.json"]).status.code(), Some(1));
}

#[test]
fn what_says_nothing_is_refused() {
    let number = |value: &str| format!("{value}\n").repeat(300);
    let folder = Folder::with(&[
        ("words", &responses("yes", "no")),
        ("few", "1\n2\n"),
        ("ones", &number("1")),
        ("nan", &format!("{}NaN\n", number("1"))),
        ("holes", &format!("{}\n1\n", number("1"))),
        ("sorted", &(0..300).map(|value| format!("{value}\n")).collect::<String>()),
        ("one at the end", &format!("{}2\n", number("1"))),
    ]);
    for (x, y, words) in [
        ("words", "ones", "different kinds"),
        ("ones", "few", "2 outputs on its neighbour"),
        ("ones", "ones", "the same on both tables"),
        ("nan", "ones", "nan: line 301 is not a number"),
        ("ones", "holes", "holes: line 301 is empty"),
        ("ones", "missing", "missing: "),
        ("ones", "sorted", "the outputs on its neighbour are sorted"),
    ] {
        folder.refused(&["audit", "outputs", x, y], 2, words);
    }
    // In order by chance, once in 300 times.
    assert_eq!(folder.run(&["audit", "outputs", "ones", "one at the end"]).status.code(), Some(0));
    folder.refused(&["audit", "outputs", "words", "words", "--beta", "0.5"], 2, "(0, 0.5)");
    folder.refused(&["audit", "outputs", "words", "words", "--epsilon", "-1"], 2, "epsilon must be a number");
    folder.refused(&["audit", "outputs", "words", "words", "--epsilon", "0"], 2, "nothing of the data");
    let wrong = |form: &str, document: Value, words: &str| {
        refused(&scumble_on(&["audit", form, "-", "--json"], &document.to_string()), 2, words);
    };
    wrong("counts", json!({"hits": 5, "runs": 4, "neighbour_hits": 0, "neighbour_runs": 4}), "5 hits in 4 runs");
    wrong("counts", json!({"hits": 5}), "$.runs: runs is missing");
    wrong("counts", json!({"hits": -5}), "$.hits: a whole number is expected");
    wrong("one-run", json!({"canaries": 5, "guesses": 6, "right": 1}), "of 5 canaries");
    assert!(
        printed(scumble_on(
            &["audit", "one-run", "-"],
            r#"{"canaries": 1000, "guesses": 100, "right": 95, "delta": 1e-5}"#
        ))
        .contains("ε ≥ 2.16517")
    );
}

/// A command is run on both tables as often as is asked for; what it prints is audited as two files would be.
#[test]
#[cfg(unix)]
fn a_command_is_audited_run_by_run() {
    // Randomized response at ln 9: 9 of 10 tell the truth. `od` reads the operating system's randomness.
    let script = "#!/bin/sh\nr=$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')\nif [ $r -lt 230 ]; then cat \"$1\"; else echo other; fi\n";
    // 500 of them in two processes: a process for each took over a minute on a busy machine.
    let many = "#!/bin/sh\nread truth < \"$1\"\nod -An -v -w1 -N500 -tu1 /dev/urandom | while read r; do if [ $r -lt 230 ]; then echo $truth; else echo other; fi; done\n";
    let folder = Folder::with(&[("one.sh", script), ("many.sh", many), ("x y.csv", "yes\n"), ("n.csv", "no\n")]);
    let audit = |command: &str, more: &[&str]| {
        folder.run(&[&["audit", "--command", command, "--neighbours", "x y.csv", "n.csv", "--json"], more].concat())
    };
    let answer = |output: &std::process::Output| serde_json::from_slice::<Value>(&output.stdout).unwrap();
    let found = audit("sh one.sh {table}", &["--runs", "300", "--epsilon", "0.1"]);
    assert_eq!(found.status.code(), Some(1), "{found:?}");
    let runs = answer(&found)["runs"].as_u64().unwrap() + answer(&found)["neighbour_runs"].as_u64().unwrap();
    assert_eq!(runs, 400, "a third of 300 on each side looks for the event");
    // Several outputs of one run are as many runs.
    let found = audit("sh many.sh {table}", &["--runs", "400"]);
    assert_eq!(found.status.code(), Some(0), "{found:?}");
    assert_eq!(answer(&found)["runs"], 300);
    for (command, more, words) in [
        ("sh one.sh", &["--runs", "300"][..], "{table}"),
        ("exit 3; : {table}", &["--runs", "300"], "ended with status 3"),
        ("sleep 60; : {table}", &["--runs", "300", "--timeout", "0.2"], "did not end within 0.2 seconds"),
        (": {table}", &["--runs", "300"], "printed nothing"),
        ("sh one.sh {table}", &["--runs", "3"], "at least 200"),
        ("sh one.sh {table}", &["--runs", "300", "--timeout", "-1"], "above 0"),
        ("sh one.sh {table}", &["--runs", "18446744073709551615"], "at most 100000000"),
    ] {
        let found = folder.run(&[&["audit", "--command", command, "--neighbours", "x y.csv", "n.csv"], more].concat());
        refused(&found, 2, words);
    }
    folder.refused(&["audit", "--command", "cat {table}", "--runs", "300"], 2, "--neighbours");
    folder.refused(
        &["audit", "--command", "cat {table}", "--runs", "300", "--neighbours", "x y.csv", "none"],
        2,
        "none",
    );
}

/// Our own releases, from SQL over bounding to noise, on made-up tables: no claim is refuted, in any scope, and what is
/// seen is not nothing.
#[test]
fn a_release_of_a_project_is_audited_end_to_end() {
    let project = "[dataset.visits]\nsource = \"none.csv\"\nowner = \"person\"\nmax_rows_per_owner = 3\nmax_groups_per_owner = 2\n\
                   [dataset.visits.columns]\nclinic = { type = \"category\", values = [\"a\", \"b\"] }\ncost = { type = \"int\", lower = 0, upper = 50 }\n\
                   [budget]\nperson = { epsilon = 40 }\n\
                   [[release]]\nname = \"n\"\nsql = \"SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic\"\ncost = { epsilon = 30 }\n";
    let folder = Folder::with(&[("scumble.toml", project)]);
    let mut all =
        vec!["audit", "scumble.toml", "--release", "n", "--outputs", "200", "--json", "--beta", "1e-9", "--pairs", "1"];
    // A run takes a fiftieth of a second here: all scopes take a minute.
    let thorough = effort(0, 1) == 1;
    if !thorough {
        all.extend(["--scope", "presence"]);
    }
    let output = folder.run(&all);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(output.status.code(), Some(0), "{found}");
    let scopes = found["scopes"].as_array().unwrap();
    let scope = |name: &str| scopes.iter().find(|scope| scope["scope"] == name).unwrap_or_else(|| panic!("{found}"));
    for (name, least) in [("presence", 0.5), ("person", 0.5)].into_iter().take(if thorough { 2 } else { 1 }) {
        let (seen, claimed) =
            (scope(name)["epsilon_lower"].as_f64().unwrap(), scope(name)["epsilon_claimed"].as_f64().unwrap());
        assert!(seen > least && seen <= claimed, "{name}: {found}");
    }
    assert_eq!(scopes.len(), if thorough { 4 } else { 1 }, "{found}");
    assert!(!folder.file("scumble.ledger").exists() && !folder.file("out").exists());
    folder.refused(&["audit", "scumble.toml", "--release", "n", "--scope", "x"], 2, "--scope x");
    folder.refused(&["audit", "scumble.toml", "--release", "none"], 2, "there is no release 'none'");
    folder.refused(&["audit", "scumble.toml", "--release", "n", "--beta", "NaN"], 2, "(0, 0.5)");
    folder.refused(&["audit", "scumble.toml", "--release", "n", "--outputs", "3"], 2, "at least 200");
}

/// A cost in ρ has no ε at δ = 0: "claimed epsilon inf" was printed.
#[test]
fn a_claim_of_rho_is_called_that() {
    let project = "[dataset.visits]\nsource = \"none.csv\"\n[dataset.visits.columns]\nclinic = { type = \"category\", values = [\"a\", \"b\"] }\n\
                   [[release]]\nname = \"n\"\nsql = \"SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic\"\ncost = { rho = 2 }\n";
    let folder = Folder::with(&[("scumble.toml", project)]);
    let asked = ["audit", "scumble.toml", "--release", "n", "--outputs", "200", "--beta", "1e-9", "--pairs", "1"];
    let told = folder.stdout(&[&asked[..], &["--scope", "presence"]].concat());
    assert!(told.starts_with("presence: claimed rho ") && told.contains("(no epsilon at delta 0)"), "{told}");
    assert!(!told.contains("inf"), "{told}");
}

/// Dates and times are made up like numbers; what is not audited says so.
#[test]
fn dates_are_made_up_and_graphs_are_refused() {
    let project = "[dataset.visits]\nsource = \"none.csv\"\nowner = \"person\"\nmax_rows_per_owner = 1\n[dataset.visits.columns]\n\
                   day = { type = \"date\", lower = \"2020-01-01\", upper = \"2021-12-31\" }\n\
                   at = { type = \"timestamp\", lower = \"2020-01-01T00:00:00\", upper = \"2021-12-31T00:00:00\" }\n\
                   [dataset.edges]\nsource = \"none.csv\"\ngraph = { from = \"a\", to = \"b\", vertices = 30 }\n[dataset.edges.columns]\na = { type = \"int\" }\nb = { type = \"int\" }\n\
                   [budget]\nperson = { epsilon = 40 }\n\
                   [[release]]\nname = \"years\"\nsql = \"SELECT EXTRACT(YEAR FROM day) AS y, COUNT(*) AS n, COUNT(at) AS m FROM visits GROUP BY EXTRACT(YEAR FROM day)\"\ncost = { epsilon = 20 }\n\
                   [[release]]\nname = \"t\"\nkind = \"triangles\"\ntable = \"edges\"\ncost = { epsilon = 1 }\n";
    let folder = Folder::with(&[("scumble.toml", project)]);
    let asked =
        ["audit", "scumble.toml", "--release", "years", "--outputs", "200", "--json", "--beta", "1e-9", "--pairs", "1"];
    let found = folder.json(&[&asked[..], &["--scope", "presence"]].concat());
    assert!(found["scopes"][0]["epsilon_lower"].as_f64().unwrap() > 0.5, "{found}");
    folder.refused(&["audit", "scumble.toml", "--release", "t"], 2, "table 'edges' is a graph");
}
