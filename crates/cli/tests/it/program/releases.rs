//! The engine as a user runs it: files in, files out, exit statuses, one sentence for everything that is wrong.

use crate::support::{effort, scumble_in as scumble};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const PROJECT: &str = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
age = { type = "int", lower = 0, upper = 120 }
sex = { type = "category", values = ["f", "m"] }
income = { type = "float", lower = 0, upper = 1000, granularity = 1 }
disease = { type = "category", values = ["none", "flu"], sensitive = true }

[budget]
person = { epsilon = 1.0 }
attributes = { disease = { epsilon = 0.25 }, "*" = { epsilon = 0.75 } }

[[release]]
name = "by sex"
sql = "SELECT sex, COUNT(*) AS n, SUM(income) AS total FROM people WHERE age >= 18 GROUP BY sex"
cost = { epsilon = 0.5 }
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> =
        (0..200).map(|i| format!("{},{},{},{}", i % 90, ["f", "m"][i % 2], i, ["none", "flu"][i % 3 / 2])).collect();
    fs::write(folder.path().join("people.csv"), format!("age,sex,income,disease\n{}\n", rows.join("\n"))).unwrap();
    fs::write(folder.path().join("scumble.toml"), PROJECT).unwrap();
    folder
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn ledger(folder: &Path) -> Value {
    let output = scumble(folder, &["ledger", "show", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn epsilon(cost: &Value) -> f64 {
    cost["epsilon"].as_f64().unwrap()
}

#[test]
fn a_release_writes_its_outputs_and_its_charge() {
    let folder = folder();
    let output = scumble(folder.path(), &["release"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let csv = fs::read_to_string(folder.path().join("out/by-sex.csv")).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "sex,n,n_se,n_low,n_high,total,total_se,total_low,total_high");
    assert!(lines[1].starts_with("f,") && lines[2].starts_with("m,") && lines.len() == 3, "{csv}");
    let shown = ledger(folder.path());
    assert!((epsilon(&shown["person"]) - 0.5).abs() < 1e-9 && epsilon(&shown["person"]) <= 0.5, "{shown}");
    assert!((epsilon(&shown["presence"]) - 0.375).abs() < 0.13, "{shown}");
    assert_eq!(epsilon(&shown["attributes"]["disease"]), 0.0, "{shown}");
    assert!(epsilon(&shown["attributes"]["income"]) > 0.0 && epsilon(&shown["attributes"]["income"]) < 0.5, "{shown}");
    assert!((epsilon(&shown["remaining"]["person"]) - 0.5).abs() < 1e-9, "{shown}");
    assert_eq!(shown["releases"][0]["state"], "committed");
    let report = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(report.contains("<svg"));
    // A link fetches nothing until somebody follows it; those to propositions are the only ones that leave the page.
    let report = report.replace("href=\"#", "").replace("<a href=\"https://arxiv.org/abs/", "");
    for fetching in ["<script", "<link", "<img", "<iframe", "src=", "href=", "url(", "@import"] {
        assert!(!report.contains(fetching), "{fetching}");
    }
    assert!(scumble(folder.path(), &["ledger", "verify"]).status.success());
    let pair = scumble(folder.path(), &["ledger", "show", "--json", "--attributes", "disease,age"]);
    let pair: Value = serde_json::from_slice(&pair.stdout).unwrap();
    assert!(epsilon(&pair["attributes"]["age,disease"]) > 0.0);
}

#[test]
fn the_ledger_answers_for_groups() {
    let folder = folder();
    assert!(scumble(folder.path(), &["release", "--quiet"]).status.success());
    let output = scumble(folder.path(), &["ledger", "show", "--group", "3", "--json"]);
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    let groups = &shown["groups"];
    assert_eq!(groups["size"], 3);
    for scope in ["presence", "person"] {
        assert!((epsilon(&groups[scope]) - 3.0 * epsilon(&shown[scope])).abs() < 1e-12, "{shown}");
    }
    assert!((epsilon(&groups["attributes"]["sex"]) - 3.0 * epsilon(&shown["attributes"]["sex"])).abs() < 1e-12);
    assert_eq!(epsilon(&groups["attributes"]["disease"]), 0.0);
    assert!(text(&scumble(folder.path(), &["ledger", "show", "--group", "3"]).stdout).contains("groups of 3"));
    assert_eq!(scumble(folder.path(), &["ledger", "show", "--group", "0"]).status.code(), Some(2));
}

#[test]
fn groups_that_may_share_an_unknown_key_are_told_more_or_nothing() {
    let folder = folder();
    let project = PROJECT
        .replace(", values = [\"f\", \"m\"] }", " }")
        .replace("cost = { epsilon = 0.5 }", "cost = { epsilon = 0.5, delta = 1e-6 }")
        .replace("person = { epsilon = 1.0 }", "person = { epsilon = 1.0, delta = 1e-5 }")
        .replace("\"*\" = { epsilon = 0.75 }", "\"*\" = { epsilon = 0.75, delta = 1e-5 }");
    fs::write(folder.path().join("scumble.toml"), project).unwrap();
    let output = scumble(folder.path(), &["release", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let at = |size: &str| -> Value {
        let output = scumble(folder.path(), &["ledger", "show", "--group", size, "--json"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    // Three times ε, at a δ that has grown to δ(1 + e^ε + e^{2ε}) and is still below the budget's.
    let shown = at("3");
    assert!((epsilon(&shown["groups"]["person"]) - 1.5).abs() < 1e-9, "{shown}");
    assert!(at("4000000000")["groups"]["person"]["epsilon"].is_null());
}

#[test]
fn quantiles_in_a_query_have_a_rank_error() {
    let folder = folder();
    let sql = "SELECT sex, MEDIAN(age) AS m, MAX(income) AS top, COUNT(*) AS n FROM people GROUP BY sex";
    let output = scumble(folder.path(), &["query", sql, "--cost", "epsilon=0.75", "--name", "q", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let csv = fs::read_to_string(folder.path().join("out/q.csv")).unwrap();
    let beside = |name: &str| format!("{name},{name}_se,{name}_low,{name}_high");
    let header = format!("sex,{},m_rank_error,{},top_rank_error,{}", beside("m"), beside("top"), beside("n"));
    assert_eq!(csv.lines().next(), Some(header.as_str()), "{csv}");
    let shown = ledger(folder.path());
    assert!((epsilon(&shown["person"]) - 0.75).abs() < 1e-9 && epsilon(&shown["person"]) <= 0.75, "{shown}");
    assert_eq!(epsilon(&shown["attributes"]["disease"]), 0.0, "{shown}");
}

#[test]
fn a_budget_refuses_with_status_3_and_says_what_would_fit() {
    let folder = folder();
    assert!(scumble(folder.path(), &["release", "--quiet"]).status.success());
    // The star allows 0.75 for sex; 0.5 is spent.
    let before = ledger(folder.path());
    let again = scumble(folder.path(), &["release", "--again", "by sex"]);
    assert_eq!(again.status.code(), Some(3));
    assert!(again.stdout.is_empty());
    let sentence = text(&again.stderr);
    assert!(sentence.contains("asks for epsilon 0.5") && sentence.contains("epsilon 0.25 is left"), "{sentence}");
    assert!(sentence.contains("the largest cost that would fit is epsilon 0.25"), "{sentence}");
    assert_eq!(ledger(folder.path()), before);
    let smaller = scumble(
        folder.path(),
        &["query", "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", "--cost", "epsilon=0.25", "--quiet"],
    );
    assert!(smaller.status.success(), "{}", text(&smaller.stderr));
    // Person: 0.75 of 1 is spent, and a release that reads neither sex nor disease still fits to the last bit.
    let last = ["query", "SELECT COUNT(*) AS n FROM people", "--cost", "epsilon=0.25", "--quiet", "--name", "all"];
    assert!(scumble(folder.path(), &last).status.success());
    let over = ["query", "SELECT COUNT(*) AS n FROM people", "--cost", "epsilon=0.001", "--quiet"];
    assert_eq!(scumble(folder.path(), &over).status.code(), Some(3));
}

#[test]
fn wrong_input_gets_a_sentence_and_leaves_nothing_behind() {
    let check = |change: &dyn Fn(&Path), arguments: &[&str], sentence: &str| {
        let folder = folder();
        change(folder.path());
        let before = fs::read_dir(folder.path()).unwrap().count();
        let output = scumble(folder.path(), arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(sentence), "{arguments:?}\n said: {said}\n not:  {sentence}");
        assert!(output.stdout.is_empty());
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), before, "{arguments:?}: something was left behind");
    };
    let project = |from: &'static str, to: &'static str| {
        move |folder: &Path| {
            assert!(PROJECT.contains(from), "{from}");
            fs::write(folder.join("scumble.toml"), PROJECT.replace(from, to)).unwrap();
        }
    };
    let data = |content: &'static [u8]| move |folder: &Path| fs::write(folder.join("people.csv"), content).unwrap();
    let nothing = |_: &Path| ();
    let release = &["release", "--quiet"][..];
    check(&|folder: &Path| fs::remove_file(folder.join("people.csv")).unwrap(), release, "there is no file or folder");
    check(
        &|folder: &Path| fs::remove_file(folder.join("scumble.toml")).unwrap(),
        release,
        "there is no project file scumble.toml",
    );
    check(
        &project("source =", "sourse ="),
        release,
        "scumble.toml:3:1: unknown key 'sourse' in 'people' in 'dataset' in the file (did you mean 'source'?)",
    );
    check(&project("type = \"int\"", "type = \"itn\""), release, "did you mean 'int'?");
    check(&project("lower = 0, upper = 120", "lower = 120, upper = 0"), release, "the bounds are inverted");
    check(&project("epsilon = 0.5", "epsilon = nan"), release, "finite number");
    check(&project("epsilon = 0.5", "epsilon = -1"), release, "epsilon must be a number in [0, ∞), not -1");
    check(&project("name = \"by sex\"", "name = \"../../by sex\""), release, "a release's name becomes a file name");
    check(
        &project("SUM(income)", "SUM(incom)"),
        release,
        "there is no declared column 'incom' (did you mean 'income'?)",
    );
    check(
        &project("upper = 1000, granularity = 1", "upper = 1000, granularity = 0"),
        release,
        "this must be a number above 0",
    );
    check(
        &project("{ type = \"float\", lower = 0, upper = 1000, granularity = 1 }", "{ type = \"float\" }"),
        release,
        "needs bounds",
    );
    check(
        &project("income = {", "incone = {"),
        &["query", "SELECT COUNT(*) FROM people", "--cost", "epsilon=0.1"],
        "has no column 'incone' (did you mean 'income'?)",
    );
    check(&project("= { epsilon = 0.25 }", "= { epsilon = 0.25 "), release, "this is not TOML");
    check(&data(b""), release, "is empty");
    check(&nothing, &["query", "SELECT COUNT(*) FROM secrets", "--cost", "epsilon=0.1"], "there is no table 'secrets'");
    // A position in a query that stands in no file is one in the query.
    let incom = ["query", "SELECT SUM(incom) FROM people", "--cost", "epsilon=0.1"];
    check(&nothing, &incom, "scumble: query:1:12: there is no declared column 'incom' (did you mean 'income'?)");
    check(&nothing, &["query", "SELECT COUNT(*) FROM people", "--cost", "epsilon=x"], "must be like epsilon=0.5");
    check(&nothing, &["query", "SELECT COUNT(*) FROM people", "--cost", "epsilon=0"], "can publish nothing");
    check(&nothing, &["release", "--only", "by sx"], "did you mean 'by sex'?");
    check(&nothing, &["ledger", "verify"], "nothing has been released yet");
    check(&nothing, &["init", "none.csv"], "there is no file or folder none.csv");
}

#[test]
fn an_error_never_prints_a_private_value() {
    let folder = folder();
    for data in ["30,f,SECRETVALUE,none\n".as_bytes(), b"30,f,\xff\xfe,none\n", b"10000000000000000000,f,1,none\n"] {
        let header = b"age,sex,income,disease\n";
        fs::write(folder.path().join("people.csv"), [&header[..], data].concat()).unwrap();
        let output = scumble(folder.path(), &["release"]);
        assert!(!output.status.success() && output.stdout.is_empty());
        for secret in ["SECRETVALUE", "10000000000000000000"] {
            assert!(!text(&output.stderr).contains(secret), "{}", text(&output.stderr));
        }
        fs::remove_file(folder.path().join("scumble.ledger")).unwrap_or_default();
    }
}

#[test]
fn an_empty_table_is_released_like_any_other() {
    let folder = folder();
    fs::write(folder.path().join("people.csv"), "age,sex,income,disease\n").unwrap();
    let output = scumble(folder.path(), &["release", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["releases"][0]["answers"]["rows"].as_array().unwrap().len(), 2);
}

#[test]
fn plan_touches_no_data() {
    let folder = folder();
    fs::remove_file(folder.path().join("people.csv")).unwrap();
    let output = scumble(folder.path(), &["plan", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    let release = &shown["releases"][0];
    assert_eq!(shown["fits"], true);
    // Two numbers share one noise of scale 2/0.5: the count has a standard error of √(3·4/3) times that, and would have
    // 2·√2 with noise of its own.
    let error = release["errors"][0]["standard_error"].as_f64().unwrap();
    assert!((error - 8.0).abs() < 0.05, "{shown}");
    assert_eq!(epsilon(&release["costs"]["attributes"]["disease"]), 0.0);
    assert!(!folder.path().join("scumble.ledger").exists());
}

/// Limits stand beside expected errors: a single count is optimal, two columns pay for each other, many cells have a
/// packing bound.
#[test]
fn plan_tells_what_nobody_could_beat() {
    let folder = folder();
    let wide = PROJECT.replace("upper = 120", "upper = 9999");
    let releases = [
        ("one", "SELECT COUNT(*) AS n FROM people", "epsilon = 0.5"),
        ("two", "SELECT COUNT(*) AS n, SUM(income) AS s FROM people", "epsilon = 0.5"),
        ("many", "SELECT age, COUNT(*) AS n FROM people GROUP BY age", "epsilon = 0.5"),
        ("gaussian", "SELECT age, COUNT(*) AS n FROM people GROUP BY age", "rho = 0.01"),
    ];
    let list = releases.map(|(name, sql, cost)| {
        format!("[[release]]\nname = \"{name}\"\nsql = \"{sql}\"\nnoise = \"each\"\ncost = {{ {cost} }}\n")
    });
    let declarations = wide.split("[budget]").next().unwrap();
    fs::write(folder.path().join("scumble.toml"), format!("{declarations}{}", list.concat())).unwrap();
    let output = scumble(folder.path(), &["plan", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    let factor = |release: usize, limit: usize| shown["releases"][release]["limits"][limit]["factor"].as_f64().unwrap();
    assert!((factor(0, 0) - 1.0).abs() < 1e-6, "discrete Laplace noise on one count is optimal: {shown}");
    assert!((1.9..2.1).contains(&factor(1, 0)) && (1.9..2.1).contains(&factor(1, 1)), "half of the cost each");
    assert!((factor(2, 0) - 1.0).abs() < 1e-6 && (2.0..6.0).contains(&factor(2, 1)), "{shown}");
    assert!((1.0..1.02).contains(&factor(3, 0)), "{shown}");
}

#[test]
fn init_kinds_and_demo_run() {
    let folder = folder();
    let output = scumble(folder.path(), &["init", "people.csv", "--no-owner", "--output", "first.toml"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("never from the data"));
    let plan = scumble(folder.path(), &["plan", "first.toml"]);
    assert!(plan.status.success(), "{}", text(&plan.stderr));
    let kinds = scumble(folder.path(), &["kinds", "--json"]);
    let kinds: Value = serde_json::from_slice(&kinds.stdout).unwrap();
    assert!(kinds.as_array().unwrap().iter().any(|kind| kind["title"] == "sql"));
    let demo = scumble(folder.path(), &["demo", "--json"]);
    assert!(demo.status.success(), "{}", text(&demo.stderr));
    let shown: Value = serde_json::from_slice(&demo.stdout).unwrap();
    let report = fs::read_to_string(folder.path().join(shown["report"].as_str().unwrap())).unwrap();
    assert!(report.contains("people by state") && report.contains("<svg"));
    assert!(scumble(&folder.path().join("scumble-demo"), &["ledger"]).status.success());
    assert_eq!(scumble(folder.path(), &["demo"]).status.code(), Some(2), "a demo is not overwritten");
}

/// Releases are killed at random moments, several at once. Afterwards: every output has its charge, and no budget is
/// passed.
#[test]
fn killed_releases_leave_no_output_without_a_charge() {
    let folder = folder();
    let project = PROJECT
        .replace("person = { epsilon = 1.0 }", "person = { epsilon = 12.0 }")
        .replace("\"*\" = { epsilon = 0.75 }", "\"*\" = { epsilon = 12.0 }");
    fs::write(folder.path().join("scumble.toml"), project).unwrap();
    // A cheap generator is enough to choose moments.
    let mut state = 88_172_645_463_325_252u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    // 80 kills, or 200, two releases at a time; about 80 releases fit the budget.
    for round in 0..effort(40, 100) {
        let children: Vec<_> = (0..2)
            .map(|child| {
                let name = format!("r{round}-{child}");
                Command::new(env!("CARGO_BIN_EXE_scumble"))
                    .args([
                        "query",
                        "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex",
                        "--cost",
                        "epsilon=0.15",
                        "--quiet",
                        "--name",
                        &name,
                    ])
                    .current_dir(folder.path())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for mut child in children {
            std::thread::sleep(Duration::from_millis(random(500)));
            let _ = child.kill();
            let _ = child.wait();
        }
    }
    let shown = ledger(folder.path());
    assert!(epsilon(&shown["person"]) <= 12.0, "{shown}");
    let releases = shown["releases"].as_array().unwrap();
    let charged: Vec<&str> = releases.iter().map(|release| release["release"].as_str().unwrap()).collect();
    for file in fs::read_dir(folder.path().join("out")).into_iter().flatten().flatten() {
        let name = file.file_name().to_string_lossy().to_string();
        if let Some(stem) = name.strip_suffix(".csv").filter(|name| !name.starts_with('.')) {
            assert!(charged.contains(&stem), "{stem} has no charge");
        }
    }
    let state = |state: &'static str| releases.iter().filter(move |release| release["state"] == state);
    // A test that never kills between the charge and the answer, or never lets one through, shows nothing.
    assert!(state("committed").count() > 3, "{shown}");
    for release in state("committed") {
        assert!(
            folder.path().join(format!("out/{}.csv", release["release"].as_str().unwrap().replace(' ', "-"))).exists()
        );
    }
    let verified = scumble(folder.path(), &["ledger", "verify"]);
    assert!(verified.status.success(), "{}", text(&verified.stderr));
    goes_on_with_what_was_charged(folder.path());
}

/// What was killed between the charge and the first byte that leaves the process is asked again, and pays nothing.
fn goes_on_with_what_was_charged(folder: &Path) {
    let bodies = || -> Vec<Value> {
        let export = scumble(folder, &["ledger", "export"]);
        let export: Value = serde_json::from_slice(&export.stdout).unwrap();
        export["entries"].as_array().unwrap().iter().map(|entry| entry["body"].clone()).collect()
    };
    let before = bodies();
    let drawn: Vec<u64> =
        before.iter().filter(|body| body["entry"] == "drawn").map(|body| body["of"].as_u64().unwrap()).collect();
    let reserved = |bodies: &[Value]| bodies.iter().filter(|body| body["entry"] == "reserve").count();
    let undrawn = before.iter().zip(1u64..).filter(|(body, at)| body["entry"] == "reserve" && !drawn.contains(at));
    let names: Vec<&str> = undrawn.map(|(body, _)| body["release"].as_str().unwrap()).collect();
    println!("{} of {} charges were killed before anything was drawn", names.len(), reserved(&before));
    for name in &names {
        let query =
            ["query", "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", "--cost", "epsilon=0.15", "--name", name];
        let output = scumble(folder, &query);
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
    }
    let after = bodies();
    assert_eq!(reserved(&after), reserved(&before), "a charge was paid twice");
    let count = |word: &str| after.iter().filter(|body| body["entry"] == word).count();
    assert_eq!(count("drawn"), drawn.len() + names.len());
    assert!(scumble(folder, &["ledger", "verify"]).status.success());
}

#[test]
fn a_cost_below_what_the_ledger_counts_in_is_one_sentence() {
    // An epsilon of 1e-31 divided by a share of zero, and a rho of 1e-300 did too: the program panicked.
    let folder = folder();
    let sql = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex";
    for cost in ["epsilon=1e-31", "rho=1e-300", "epsilon=0.1e-30", "rho=1e-31", "epsilon=1e-300", "epsilon=1e308"] {
        let output = scumble(folder.path(), &["query", sql, "--cost", cost, "--name", "q", "--quiet"]);
        let error = text(&output.stderr);
        assert!(
            matches!(output.status.code(), Some(1..=3)) && error.trim_end().lines().count() == 1,
            "{cost}: {error}"
        );
        assert!(!error.contains("panicked"), "{cost}: {error}");
    }
    let many = format!("epsilon=0.{}", "1".repeat(400));
    assert!(scumble(folder.path(), &["query", sql, "--cost", &many, "--name", "q", "--quiet"]).status.success());
}

#[test]
fn unknown_keys_fit_into_a_budget_of_their_own_size() {
    // The budget's δ is split before the first release; a cost that is all of the budget must still fit, and be used
    // up.
    let folder = folder();
    let project = PROJECT
        .replace(", values = [\"f\", \"m\"] }", " }")
        .replace("cost = { epsilon = 0.5 }", "cost = { epsilon = 0.5, delta = 1e-9 }")
        .replace("person = { epsilon = 1.0 }", "person = { epsilon = 0.5, delta = 1e-9 }")
        .replace("\"*\" = { epsilon = 0.75 }", "\"*\" = { epsilon = 0.5, delta = 1e-9 }");
    fs::write(folder.path().join("scumble.toml"), project).unwrap();
    let output = scumble(folder.path(), &["release", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = scumble(folder.path(), &["ledger", "show", "--json"]);
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    let spent = epsilon(&shown["person"]);
    assert!(spent <= 0.5 && spent > 0.49, "{shown}");
}
