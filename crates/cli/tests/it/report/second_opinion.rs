//! `tools/verify/verify.py`, which shares no code with the program, on what the program prints.

use crate::support::{Folder, printed, scumble_in};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Whether the script can run here; where it cannot, that is said, unless the environment demands it.
fn can_run() -> bool {
    let found = Command::new("python3").args(["-c", "import mpmath, sqlite3"]).output();
    let found = found.is_ok_and(|output| output.status.success());
    assert!(found || std::env::var_os("SCUMBLE_NEED_MPMATH").is_none(), "python3 or its module mpmath is missing");
    if !found {
        eprintln!("NOT TESTED: python3 or its module mpmath is missing, so no second opinion is asked for");
    }
    found
}

fn python(script: &str, arguments: &[&Path]) -> Output {
    let script = repository().join("tools/verify").join(script);
    // Compiled copies of the scripts would be left beside them.
    Command::new("python3").arg("-B").arg(script).args(arguments).output().unwrap()
}

/// Every number must be confirmed; gives what was said.
fn confirmed(report: &Path, ledger: &Path) -> String {
    let output = python("verify.py", &[report, ledger]);
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let wrong: Vec<&str> = said.lines().filter(|line| !line.starts_with("confirmed")).collect();
    assert_eq!(output.status.code(), Some(0), "{wrong:#?}");
    said
}

const PROJECT: &str = "[dataset.people]\nsource = \"people.csv\"\nowner = \"name\"\nmax_rows_per_owner = 1\n[dataset.people.columns]\n\
    age = { type = \"int\", lower = 0, upper = 120 }\nsex = { type = \"category\", values = [\"f\", \"m\"] }\n\
    town = { type = \"category\" }\nincome = { type = \"int\", lower = 0, upper = 1000 }\n\
    [[release]]\nname = \"by sex\"\nkind = \"sql\"\nsql = \"SELECT sex, COUNT(*) AS n FROM people GROUP BY sex\"\ncost = { epsilon = 0.25 }\n";

/// A project on a ledger that holds the events of a file in `testdata/ledger`.
fn with_ledger(events: &str, budget: &str) -> Folder {
    let people: String =
        (0..60).map(|i| format!("p{i},{},{},t{},{}\n", 20 + i, ["f", "m"][i % 2], i % 3, 10 * i)).collect();
    let project = format!("{PROJECT}{budget}");
    let folder =
        Folder::with(&[("people.csv", &format!("name,age,sex,town,income\n{people}")), ("scumble.toml", &project)]);
    let events = repository().join("testdata/ledger").join(events);
    let made = python("make_ledger.py", &[&events, &folder.file("scumble.ledger")]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    folder
}

/// What `ledger show` with these arguments prints is confirmed, by the ledger's file itself.
fn shown(folder: &Folder, arguments: &[&str]) -> String {
    folder.write("show.json", &folder.stdout(&[&["ledger", "show", "--json"], arguments].concat()));
    confirmed(&folder.file("show.json"), &folder.file("scumble.ledger"))
}

#[test]
fn the_demo_is_confirmed() {
    if !can_run() {
        return;
    }
    let folder = Folder::with(&[]);
    printed(scumble_in(folder.path(), &["demo", "--folder", "demo", "--quiet"]));
    let export = printed(scumble_in(&folder.file("demo"), &["ledger", "export"]));
    folder.write("export.json", &export);
    let said = confirmed(&folder.file("demo/out/report.json"), &folder.file("export.json"));
    for words in [
        "hash chain and head",
        "presence, ε at δ",
        "person, ρ",
        "left in the budget of disease",
        "points of the curves",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn ledgers_with_every_word_that_a_sum_can_count_are_confirmed() {
    if !can_run() {
        return;
    }
    let budget = "[budget]\nperson = { epsilon = 40.0, delta = 1e-6 }\n\
        attributes = { age = { rho = 3.0, delta = 1e-6 }, \"*\" = { epsilon = 30.0, delta = 1e-7 } }\n";
    let folder = with_ledger("every-word.json", budget);
    folder.stdout(&["release", "--quiet"]);
    folder.write("export.json", &folder.stdout(&["ledger", "export"]));
    // The new entry holds the sums of all words.
    let said = confirmed(&folder.file("out/report.json"), &folder.file("export.json"));
    assert!(said.contains("running sums in the ledger: 42 numbers"), "{said}");
    let said = shown(&folder, &["--group", "3", "--attributes", "age,town", "--delta", "1e-5"]);
    assert!(said.contains("groups of 3, age + town, ε at δ = 1.0e-5"), "{said}");
    let folder = with_ledger("parity-word.json", "[budget]\nperson = { epsilon = 40.0, delta = 1e-6 }\n");
    folder.stdout(&["release", "--quiet"]);
    let said = shown(&folder, &[]);
    assert!(said.contains("parity, person, ε at δ = 1.0e-6: 1.0986123"), "{said}");
    // `tcdp` has no ε under the rule.
    let folder = with_ledger("truncated-word.json", "[budget]\nperson = { rho = 3.0, omega = 20.0, delta = 1e-6 }\n");
    folder.stdout(&["release", "--quiet"]);
    let said = shown(&folder, &["--group", "2"]);
    assert!(said.contains("person, ε at δ = 1.0e-6: no finite bound by the rule"), "{said}");
    assert!(said.contains("left in the budget of person: rho"), "{said}");
}

/// A ledger that holds what no sum counts has no ε, and the script has no opinion on one that somebody wrote beside it.
#[test]
fn words_that_no_sum_counts_are_not_confirmed() {
    if !can_run() {
        return;
    }
    let folder = with_ledger("other-words.json", "[budget]\nperson = { epsilon = 40.0, delta = 1e-6 }\n");
    let told = folder.run(&["ledger", "show", "--json"]);
    assert_ne!(told.status.code(), Some(0), "a sum was made of what has none");
    let head = folder.json(&["ledger", "verify", "--json"]);
    let cost = serde_json::json!({ "epsilon": 9.0, "delta": 1e-6, "rho": 1.0 });
    let costs = serde_json::json!({ "presence": cost, "person": cost, "attributes": {} });
    let mut summary = costs.clone();
    summary["remaining"] = serde_json::json!({ "attributes": {} });
    let release = |(name, sequence): (&str, u64)| {
        let mut one = costs.clone();
        one["release"] = name.into();
        one["kind"] = "other".into();
        one["state"] = "committed".into();
        one["sequence"] = sequence.into();
        one
    };
    summary["releases"] = [("sinh-normal", 1), ("pair", 3), ("smooth", 5)].map(release).to_vec().into();
    let report = serde_json::json!({ "summary": summary, "ledger_entries": 6, "ledger_head": head["head"] });
    folder.write("report.json", &report.to_string());
    let output = python("verify.py", &[&folder.file("report.json"), &folder.file("scumble.ledger")]);
    let said = String::from_utf8_lossy(&output.stdout).to_string();
    assert_eq!(output.status.code(), Some(3), "{said}");
    for word in ["sinh-normal", "pair", "smooth-noise"] {
        assert!(said.contains(&format!("there is '{word}', which no sum can count")), "{word}: {said}");
    }
}

/// Every word that the script knows is in one of the ledgers; a word that it does not know is in no sum that it
/// confirms.
#[test]
fn the_ledgers_have_every_word_that_the_script_knows() {
    let read = |name: &str| std::fs::read_to_string(repository().join("testdata/ledger").join(name)).unwrap();
    let ledgers = ["every-word.json", "truncated-word.json", "parity-word.json", "other-words.json"].map(read).concat();
    let script = std::fs::read_to_string(repository().join("tools/verify/verify.py")).unwrap();
    let table = script.split("\nPARAMETERS = {").nth(1).and_then(|rest| rest.split('}').next()).unwrap();
    // Each word is followed by the list of its parameters.
    let words: Vec<&str> = table.split("\": [").filter_map(|before| before.rsplit('"').next()).collect();
    let (_, words) = words.split_last().unwrap();
    assert!(words.len() > 14, "{words:?}");
    for word in words {
        assert!(ledgers.contains(&format!("\"mechanism\": \"{word}\"")), "{word} is in no ledger");
    }
}

/// What noise that follows the data costs is searched by another program than the one that proves it.
#[test]
fn graphs_are_confirmed() {
    if !can_run() {
        return;
    }
    let releases = ["smooth\"\ncost = { epsilon = 1.5 }", "bounded\"\ncost = { epsilon = 1, delta = 1e-7 }"];
    let releases = releases.map(|how| {
        let name = how.split('"').next().unwrap_or_default();
        format!("[[release]]\nname = \"{name}\"\nkind = \"triangles\"\ntable = \"t\"\nmethod = \"{how}\n")
    });
    let project = format!(
        "[dataset.t]\nsource = \"t.csv\"\ngraph = {{ from = \"a\", to = \"b\", vertices = 300 }}\n\
         [dataset.t.columns]\na = {{ type = \"int\" }}\nb = {{ type = \"int\" }}\n\
         [budget]\nperson = {{ epsilon = 9, delta = 1e-6 }}\n{}",
        releases.concat()
    );
    let folder = Folder::with(&[("t.csv", "a,b\n0,1\n1,2\n2,0\n"), ("scumble.toml", &project)]);
    folder.stdout(&["release", "--quiet"]);
    let said = confirmed(&folder.file("out/report.json"), &folder.file("scumble.ledger"));
    assert!(said.contains("smooth, person, ε at δ") && said.contains("bounded, presence, ρ"), "{said}");
}

#[test]
fn the_script_passes_its_own_tests() {
    if !can_run() {
        return;
    }
    let output = python("test_verify.py", &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
