//! `scumble local`, as owners and collectors run it.

use crate::support::{self, Folder, printed};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn reports(arguments: &[&str], values: &str) -> String {
    printed(support::scumble_on(&[&["local", "report"], arguments].concat(), values))
}

fn collected(arguments: &[&str], reports: &str) -> Value {
    let output = support::scumble_on(&[&["local", "collect", "--json"], arguments].concat(), reports);
    serde_json::from_str(&printed(output)).unwrap()
}

/// This many lines of each value.
fn owners(groups: &[(&str, usize)]) -> String {
    groups.iter().map(|(value, times)| format!("{value}\n").repeat(*times)).collect()
}

fn value<'a>(found: &'a Value, name: &str) -> &'a Value {
    found["values"].as_array().unwrap().iter().find(|value| value["value"] == name).unwrap()
}

/// β = 1e-9 for each interval: it fails by chance once in 10⁸ times.
fn holds(value: &Value, truth: f64) {
    let (low, high) = (value["low"].as_f64().unwrap(), value["high"].as_f64().unwrap());
    assert!(low <= truth && truth <= high, "{value} does not hold {truth}");
}

#[test]
fn counts_come_back_with_every_oracle() {
    let held = owners(&[("3", 2000), ("7", 900), ("0", 100)]);
    for oracle in ["k-ary", "unary", "hadamard"] {
        let question = ["--values", "12", "--epsilon", "1.5", "--oracle", oracle];
        let sent = reports(&question, &held);
        assert_eq!(sent.lines().count(), 3000);
        let found = collected(&[&question[..], &["--beta", "1e-9"]].concat(), &sent);
        assert_eq!((&found["reports"], &found["rejected"]), (&3000.into(), &0.into()));
        for (name, truth) in [("3", 2000.0), ("7", 900.0), ("0", 100.0), ("11", 0.0)] {
            holds(value(&found, name), truth);
        }
        assert!((found["attributes"].as_f64().unwrap() - 1.5).abs() < 1e-6);
        assert_eq!(
            (&found["presence"], &found["person"]),
            (&"infinite".into(), &"infinite".into()),
            "who reports is seen"
        );
    }
}

/// What the events of the answer cost is what `scumble lab account` says of them.
#[test]
fn the_events_are_those_that_account_reads() {
    let found = collected(
        &["--values", "50", "--epsilon", "1", "--attribute", "town"],
        &reports(&["--values", "50", "--epsilon", "1"], "3\n"),
    );
    assert_eq!(found["oracle"], "unary");
    let account = |mut question: Value| -> Value {
        question["events"] = found["events"].clone();
        let answer = printed(support::scumble_on(&["account", "-", "--json"], &question.to_string()));
        serde_json::from_str(&answer).unwrap()
    };
    let value = account(serde_json::json!({ "delta": 0.0, "attributes": ["town"] }));
    assert!((value["epsilon"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{value}");
    for neighbours in ["replace", "add-remove"] {
        let all = account(serde_json::json!({ "delta": 0.0, "neighbours": neighbours }));
        assert_eq!(all["epsilon"], "infinite", "{neighbours}: {all}");
    }
    assert!((found["attributes"].as_f64().unwrap() - 1.0).abs() < 1e-6);
}

#[test]
fn names_means_and_absent_owners() {
    let folder = Folder::with(&[("fruits.txt", "apple\nbanana, ripe\ncherry\n")]);
    let alphabet = folder.file("fruits.txt");
    let question = ["--alphabet", alphabet.to_str().unwrap(), "--epsilon", "2", "--presence"];
    let mut sent = reports(&question, &owners(&[("apple", 800), ("banana, ripe", 200)]));
    for _ in 0..20 {
        let one = printed(support::scumble(&[&["local", "report", "--absent"], &question[..]].concat()));
        assert!(one.starts_with('u') && one.len() == 3, "{one}");
        sent.push_str(&one);
    }
    let found = collected(&[&question[..], &["--beta", "1e-9"]].concat(), &sent);
    assert_eq!(found["reports"], 1020);
    holds(value(&found, "apple"), 800.0);
    holds(value(&found, "cherry"), 0.0);
    let presence = ((2f64.exp() + 1.0) / 2.0).ln();
    assert!((found["presence"].as_f64().unwrap() - presence).abs() < 1e-6);
    let csv = printed(support::scumble_on(&[&["local", "collect", "--csv"], &question[..]].concat(), &sent));
    assert!(
        csv.starts_with("value,count,standard_error,low,high\napple,") && csv.contains("\n\"banana, ripe\","),
        "{csv}"
    );

    let sent = reports(&["--mean", "--epsilon", "1"], &owners(&[("0.25", 3000), ("1", 1000)]));
    let found = collected(&["--mean", "--epsilon", "1", "--beta", "1e-9"], &sent);
    holds(&found["mean"], 0.4375);
    let text = printed(support::scumble_on(&["local", "collect", "--mean", "--epsilon", "1"], &sent));
    assert!(
        text.starts_with("4000 reports of the oracle mean.\n") && text.contains("Who reports is not protected"),
        "{text}"
    );
}

/// What is no report is counted and left out: other oracles' and other alphabets' reports, two reports in one line,
/// nothing at all.
#[test]
fn what_is_no_report_is_counted_and_left_out() {
    let question = ["--values", "20", "--epsilon", "1", "--oracle", "hadamard"];
    let good = reports(&question, &owners(&[("5", 300)]));
    let wrong = ["h32", "h-1", "h+3", "h007", "h3 h4", "k3", "u00000", "", "hh", "H3", "ü", "5"];
    let mixed = format!("{}\n{good}{}\r\n{}", wrong.join("\n"), "h0", "x".repeat(5_000_000));
    let found = collected(&question, &mixed);
    assert_eq!((&found["reports"], &found["rejected"]), (&301.into(), &(wrong.len() + 1).into()));
    let text = printed(support::scumble_on(&[&["local", "collect"], &question[..]].concat(), &mixed));
    assert!(
        text.starts_with("301 reports of the oracle hadamard; 13 lines are not reports and were left out."),
        "{text}"
    );
    // Nobody has reported yet: everything is possible, and nothing is divided by zero.
    let none = collected(&question, "");
    assert_eq!(
        (&none["reports"], &value(&none, "5")["count"], &value(&none, "5")["high"]),
        (&0.into(), &0.0.into(), &0.0.into())
    );
    printed(support::scumble_on(
        &["local", "collect", "--mean", "--epsilon", "1", "--shuffled", "--delta", "1e-6"],
        "",
    ));
}

#[test]
fn shuffled_reports_cost_less() {
    let question = ["--values", "4", "--epsilon", "1"];
    let sent = reports(&question, &owners(&[("1", 5000)]));
    let found = collected(&[&question[..], &["--shuffled", "--delta", "1e-6"]].concat(), &sent);
    let epsilon = found["shuffled"]["epsilon"].as_f64().unwrap();
    assert!(epsilon > 0.05 && epsilon < 0.25, "{epsilon}");
    let text = printed(support::scumble_on(
        &[&["local", "collect", "--shuffled", "--delta", "1e-6"], &question[..]].concat(),
        &sent,
    ));
    assert!(text.contains("Shuffled, a report costs (0."), "{text}");
}

/// A file without a single report of the oracle is the wrong file.
#[test]
fn a_file_without_reports_is_refused() {
    let folder = Folder::with(&[("other.txt", "m1\nm0\n"), ("empty.txt", "")]);
    let words = "other.txt: none of its 2 lines is a report of the oracle k-ary";
    folder.refused(&["local", "collect", "other.txt", "--values", "3", "--epsilon", "1"], 2, words);
    folder.stdout(&["local", "collect", "empty.txt", "--values", "3", "--epsilon", "1"]);
}

/// One sentence, status 2, and no report: whatever is wrong with one value.
#[test]
fn wrong_values_leave_no_report() {
    let folder = Folder::with(&[
        ("names.txt", "a\nb\n"),
        ("twice.txt", "a\nb\na\n"),
        ("empty.txt", "a\n\nb\n"),
        ("one.txt", "a\n"),
    ]);
    let path = |name: &str| folder.file(name).to_str().unwrap().to_string();
    let refused = |arguments: &[&str], input: &str, words: &str| {
        let run = support::scumble_on(&[&["local", "report"], arguments].concat(), input);
        support::refused(&run, 2, words)
    };
    refused(&["--values", "3", "--epsilon", "1"], "1\n3\n", "line 2 must be a whole number from 0 to 2");
    refused(&["--values", "3", "--epsilon", "1", "secret"], "", "the value must be a whole number from 0 to 2");
    let sentence = refused(&["--values", "3", "--epsilon", "1", "77"], "", "the value must be");
    assert!(!sentence.contains("77"), "a value is not repeated: {sentence}");
    refused(&["--values", "3", "--epsilon", "1", ""], "", "the value is empty");
    refused(&["--values", "3", "--epsilon", "1"], "", "standard input has no value");
    refused(&["--values", "3", "--epsilon", "1"], "1\n\n2\n", "line 2 is empty");
    refused(&["--alphabet", &path("names.txt"), "--epsilon", "1", "c"], "", "the value must be one of the alphabet's");
    refused(
        &["--alphabet", &path("twice.txt"), "--epsilon", "1", "a"],
        "",
        "twice.txt line 3: the same value as in line 1",
    );
    refused(
        &["--alphabet", &path("empty.txt"), "--epsilon", "1", "a"],
        "",
        "empty.txt line 2: a value must not be empty",
    );
    refused(&["--alphabet", &path("one.txt"), "--epsilon", "1", "a"], "", "2 to 16777216 values, not 1");
    refused(&["--epsilon", "1", "3"], "", "choose what owners are asked for");
    refused(&["--mean", "--epsilon", "1", "1.5"], "", "the value must be a number from 0 to 1");
    refused(&["--mean", "--epsilon", "1", "NaN"], "", "the value must be a number from 0 to 1");
    refused(&["--values", "3", "--epsilon", "0", "1"], "", "epsilon of a report must be a number in [1e-9, 40], not 0");
    refused(&["--values", "3", "--epsilon", "41", "1"], "", "[1e-9, 40]");
    refused(
        &["--values", "3", "--epsilon", "1", "--presence", "--oracle", "k-ary", "1"],
        "",
        "must be unary or hadamard",
    );
    refused(&["--values", "1e9", "--epsilon", "1", "1"], "", "16777216");
    refused(&["--values", "3", "--epsilon", "1", "--absent"], "", "--presence");
}

#[test]
fn seeded_reports_say_that_they_are_not_private() {
    let question = ["local", "report", "3", "--values", "10", "--epsilon", "1", "--insecure-seed", "4"];
    let (first, second) = (support::scumble(&question), support::scumble(&question));
    assert!(String::from_utf8_lossy(&first.stderr).contains("not private"));
    assert_eq!(first.stdout, second.stdout);
    let json: Value = serde_json::from_str(&printed(support::scumble(&[&question[..], &["--json"]].concat()))).unwrap();
    assert_eq!(json["private"], false);
}

/// A collection that a ledger is to know: one entry with the cost of a report, once, within the budget.
#[test]
fn a_ledger_holds_what_the_owners_paid() {
    let folder = Folder::with(&[
        ("scumble.toml", "[dataset]\n[budget]\n[budget.attributes]\n\"*\" = { epsilon = 1.5 }\n"),
        ("reports.txt", &reports(&["--values", "4", "--epsilon", "1"], &owners(&[("2", 500)]))),
    ]);
    let collect = ["local", "collect", "reports.txt", "--values", "4", "--epsilon", "1", "--project", "scumble.toml"];
    folder.refused(&collect, 2, "name the attribute with --attribute NAME");
    let collect = [&collect[..], &["--attribute", "town"]].concat();
    let text = folder.stdout(&collect);
    assert!(text.contains("charged to the ledger.\nledger head: "), "{text}");
    let shown = folder.json(&["ledger", "show", "--json"]);
    assert!((shown["attributes"]["town"]["epsilon"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{shown}");
    assert_eq!(shown["releases"][0]["kind"], "local");
    folder.refused(&collect, 2, "has charged this plan in entry 2");
    folder.refused(&[&collect[..], &["--again"]].concat(), 3, "epsilon 0.5 is left");
}

/// The story: the ledger showed a person with ε = 1 beside a presence that is not protected at all, after `collect`
/// without `--presence` and with `--mean`. The replacement of an owner may send no report, so a person costs at least
/// what presence does. The error about a budget for persons says what helps.
#[test]
fn a_person_is_never_shown_below_its_presence() {
    let held = owners(&[("2", 500)]);
    let budget = "[dataset]\n[budget]\nperson = { epsilon = 1.5, delta = 1e-6 }\n";
    let questions: [&[&str]; 3] = [
        &["--values", "4", "--epsilon", "1"],
        &["--values", "4", "--epsilon", "1", "--presence"],
        &["--mean", "--epsilon", "1"],
    ];
    for question in questions {
        let lines = if question[0] == "--mean" { "0.5\n".repeat(200) } else { held.clone() };
        let folder = Folder::with(&[
            ("scumble.toml", "[dataset]\n"),
            ("limited.toml", &format!("ledger = \"limited.ledger\"\n{budget}")),
            ("reports.txt", &reports(question, &lines)),
        ]);
        let project =
            |name| [&["local", "collect", "reports.txt", "--attribute", "town", "--project", name], question].concat();
        let is_seen = !question.contains(&"--presence");
        folder.stdout(&project("scumble.toml"));
        let shown = folder.json(&["ledger", "show", "--json"]);
        let epsilon = |scope: &Value| scope["epsilon"].as_f64().unwrap_or(f64::INFINITY);
        assert_eq!(epsilon(&shown["presence"]) == f64::INFINITY, is_seen, "{shown}");
        assert!(epsilon(&shown["person"]) >= epsilon(&shown["presence"]), "{shown}");
        assert!((epsilon(&shown["attributes"]["town"]) - 1.0).abs() < 1e-9, "{shown}");
        match is_seen {
            true => drop(folder.refused(&project("limited.toml"), 3, "reports show who takes part")),
            false => drop(folder.stdout(&project("limited.toml"))),
        }
    }
}

/// The page's example, by a shell.
#[test]
fn the_page_does_what_it_says() {
    let page = include_str!("../../../../../docs/how-to/local.md");
    let script = page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = Folder::with(&[]);
    let program = Path::new(env!("CARGO_BIN_EXE_scumble")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let run =
        Command::new("sh").args(["-e", "-c", script]).env("PATH", path).current_dir(folder.path()).output().unwrap();
    let text = printed(run);
    assert!(text.starts_with('k') && text.contains("5000 reports of the oracle k-ary."), "{text}");
    assert!(text.contains("apple") && folder.read("frequencies.csv").lines().count() == 5, "{text}");
}
