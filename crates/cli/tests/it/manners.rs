//! The manners of a tool that one uses daily: nothing is paid for twice by accident, and what changes a promise leaves a reason.

use crate::support::{Folder, epsilon, printed};
use serde_json::Value;
use std::fs;

pub const PEOPLE: &str = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
age = { type = "int", lower = 0, upper = 120 }
sex = { type = "category", values = ["f", "m"] }
"#;

const BUDGET: &str = "[budget]\nperson = { epsilon = 2.0 }\n";

fn release(name: &str, sql: &str) -> String {
    format!("[[release]]\nname = \"{name}\"\nsql = \"{sql}\"\ncost = {{ epsilon = 0.5 }}\n")
}

pub fn counts() -> String {
    release("counts", "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex")
}

pub fn total() -> String {
    release("total", "SELECT COUNT(*) AS n FROM people")
}

pub fn people(rows: usize) -> String {
    let rows: String = (0..rows).map(|row| format!("{},{}\n", row % 90, ["f", "m"][row % 2])).collect();
    format!("age,sex\n{rows}")
}

/// A project with these releases.
pub fn folder(more: &str) -> Folder {
    Folder::with(&[("scumble.toml", &format!("{PEOPLE}{BUDGET}{more}")), ("people.csv", &people(200))])
}

fn ledger(folder: &Folder) -> Value {
    folder.json(&["ledger", "show", "--json"])
}

pub fn spent(folder: &Folder) -> f64 {
    epsilon(&ledger(folder)["person"])
}

/// What no answer depends on, and how a keyword is written, make no other release; another declaration is told before it is paid for.
#[test]
fn the_same_release_in_other_words_is_kept() {
    let folder = folder(&counts());
    folder.stdout(&["release"]);
    let same = [
        counts().replace("SELECT", "select").replace("GROUP BY", "group by"),
        counts().replace("cost =", "expected_rows = 500\ncost ="),
        counts().replace("cost =", "noise = \"auto\"\ncost ="),
    ];
    for release in same {
        folder.write("scumble.toml", &format!("{PEOPLE}{BUDGET}{release}"));
        assert!(folder.stdout(&["release"]).contains("kept: counts"), "{release}");
    }
    assert_eq!(spent(&folder), 0.5);
    folder.write("scumble.toml", &format!("{PEOPLE}{BUDGET}{}", counts().replace("epsilon = 0.5", "epsilon = 0.25")));
    let planned = folder.stdout(&["plan"]);
    assert!(
        planned.contains(
            "counts was published with another declaration (entry 4): this is another release, and is paid for"
        ),
        "{planned}"
    );
    let told = String::from_utf8(folder.run(&["release"]).stderr).unwrap();
    assert!(
        told.contains(
            "counts was published with another declaration before (ledger entry 4): this was another release, and was paid for"
        ),
        "{told}"
    );
}

/// Another name makes it another release; before it is paid for, `plan` says that it need not be.
#[test]
fn a_renamed_release_is_told() {
    let folder = folder(&counts());
    folder.stdout(&["release"]);
    folder.write("scumble.toml", &format!("{PEOPLE}{BUDGET}{}", counts().replace("\"counts\"", "\"by sex\"")));
    let planned = folder.stdout(&["plan"]);
    let sentence = "by sex was published as counts (entry 4): under another name it is paid for again; call it counts to keep that";
    assert!(planned.contains(sentence), "{planned}");
    let told = String::from_utf8(folder.run(&["release"]).stderr).unwrap();
    assert!(told.contains("by sex was published as counts before (ledger entry 4)"), "{told}");
    // Something else under another name is nothing to tell.
    folder.write("scumble.toml", &format!("{PEOPLE}{BUDGET}{}", total()));
    assert!(!folder.stdout(&["plan"]).contains("was published as"));
}

/// Whoever ran `scumble release` twice had paid twice, for numbers that everybody had already.
#[test]
fn a_second_release_keeps_what_is_published() {
    let folder = folder(&counts());
    folder.stdout(&["release"]);
    let published = folder.read("out/counts.csv");
    let again = folder.stdout(&["release"]);
    let line = again.lines().find(|line| line.starts_with("kept: counts, published 20")).unwrap_or_default();
    assert!(line.ends_with(" (entry 4); --again counts pays for a new one"), "{again}");
    assert_eq!((spent(&folder), folder.read("out/counts.csv")), (0.5, published.clone()));
    // Where it begins a new line and how a number is written makes no other release of it.
    let same =
        counts().replace("epsilon = 0.5", "epsilon = 0.50").replace("COUNT(*) AS n FROM", "COUNT(*)  AS n  FROM");
    folder.write("scumble.toml", &format!("{PEOPLE}{BUDGET}{same}"));
    let shown = folder.json(&["release", "--json"]);
    assert_eq!((&shown["releases"][0]["kept"], spent(&folder)), (&Value::Bool(true), 0.5), "{shown:#}");
    assert_eq!(shown["releases"][0]["answers"], folder.json_file("out/counts.json")["answers"]);
    // Asked for, new numbers are paid for.
    folder.stdout(&["release", "--again", "counts"]);
    assert_eq!(spent(&folder), 1.0);
    folder.refused(
        &["release", "--again", "count"],
        2,
        "there is no release 'count' in scumble.toml (did you mean 'counts'?)",
    );
}

/// What is declared otherwise is another release: its cost, its query, how much of an owner counts.
#[test]
fn another_declaration_is_another_release() {
    let folder = folder(&counts());
    folder.stdout(&["release"]);
    for (number, other) in [
        counts().replace("epsilon = 0.5", "epsilon = 0.25"),
        counts().replace("FROM people", "FROM people WHERE age > 17"),
    ]
    .into_iter()
    .enumerate()
    {
        folder.write("scumble.toml", &format!("{PEOPLE}{BUDGET}{other}"));
        assert!(!folder.stdout(&["release"]).contains("kept"));
        assert_eq!(ledger(&folder)["releases"].as_array().unwrap().len(), number + 2);
        assert!(folder.stdout(&["release"]).contains("kept: counts"));
    }
    // A new column concerns nobody: what was published did not read it.
    let wider = PEOPLE.replace("sex =", "born = { type = \"int\", lower = 1900, upper = 2030 }\nsex =");
    let rows = people(200).replace("age,sex\n", "born,age,sex\n").replace("\n", "\n1980,");
    folder.write("people.csv", rows.trim_end_matches("1980,"));
    let other = counts().replace("FROM people", "FROM people WHERE age > 17");
    folder.write("scumble.toml", &format!("{wider}{BUDGET}{other}"));
    assert!(folder.stdout(&["release"]).contains("kept: counts"));
}

/// Rows came, and nobody said that new numbers are wanted: the old ones stay, and it is said that they are old.
#[test]
fn changed_data_is_said_and_kept() {
    let folder = folder(&counts());
    folder.stdout(&["release"]);
    assert_eq!(folder.json(&["release", "--json"])["releases"][0]["data_changed"], Value::Bool(false));
    folder.write("people.csv", &people(300));
    let said = folder.stdout(&["release"]);
    assert!(said.contains("(entry 4); the data changed since; --again counts pays"), "{said}");
    assert_eq!(spent(&folder), 0.5);
    // What is published needs no table any more.
    fs::remove_file(folder.file("people.csv")).unwrap();
    assert!(folder.stdout(&["release"]).contains("kept: counts"));
}

/// The second of three releases was killed when its files were about to be written: the first is kept, the second is paid for again, the third for the first time.
#[test]
fn a_run_that_was_interrupted_goes_on() {
    let all = [counts(), total(), release("old", "SELECT COUNT(*) AS n FROM people WHERE age > 60")].concat();
    let folder = folder(&all);
    folder.stdout(&["release", "--only", "counts"]);
    // As it is after the power failed in the second: no commit.
    folder.stdout(&["release", "--only", "total"]);
    folder.forget(1, "total");
    let output = folder.run(&["release"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains(
            "total had been charged once and not completed (ledger entry 7): that charge stays, and it was charged again"
        ),
        "{told}"
    );
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("kept: counts") && said.contains("total: 1 row") && said.contains("old: 1 row"), "{said}");
    let verdict = folder.json_file("out/report.json")["verdict"][0].as_str().unwrap().to_string();
    assert!(
        verdict.contains("all 4 releases together, 1 of them interrupted and perhaps not seen by anybody, let"),
        "{verdict}"
    );
    let states: Vec<String> = ledger(&folder)["releases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {}", one["release"].as_str().unwrap(), one["state"].as_str().unwrap()))
        .collect();
    assert_eq!(states, ["counts committed", "total interrupted", "total committed", "old committed"]);
    assert!(folder.stdout(&["release"]).matches("kept: ").count() == 3);
}

/// The same, killed before anything of the second had left the process: it goes on with its charge, also where the budget would not pay for another.
#[test]
fn a_run_of_which_nothing_was_seen_goes_on_with_its_charge() {
    let all = [counts(), total(), release("old", "SELECT COUNT(*) AS n FROM people WHERE age > 60")].concat();
    let folder = folder(&all);
    folder.stdout(&["release", "--only", "counts"]);
    folder.stdout(&["release", "--only", "total"]);
    folder.forget(2, "total");
    let (before, plan) = (spent(&folder), folder.run(&["plan"]));
    let said = String::from_utf8_lossy(&plan.stdout);
    assert!(said.contains("total was charged, and nothing of it was seen (entry 7): a release goes on with that charge, at no further cost"), "{said}");
    let output = folder.run(&["release", "--only", "total"]);
    let told = String::from_utf8(output.stderr).unwrap();
    let words = "total had been charged, and nothing of it was seen (ledger entry 7): it went on with that charge, and nothing more was charged";
    assert!(told.contains(words), "{told}");
    assert_eq!(spent(&folder), before);
    let states: Vec<Value> =
        ledger(&folder)["releases"].as_array().unwrap().iter().map(|one| one["state"].clone()).collect();
    assert_eq!(states, ["committed", "committed"]);
    folder.stdout(&["ledger", "verify"]);
}

/// Files that are gone or changed are not paid for in silence.
#[test]
fn lost_outputs_are_a_sentence_and_no_charge() {
    let folder = folder(&[counts(), total()].concat());
    folder.stdout(&["release"]);
    let published = folder.read("out/counts.csv");
    folder.write("out/counts.csv", "sex,n\nf,100\n");
    let said = folder.refused(&["release"], 2, "out/counts.csv is not what was published; nothing was charged");
    assert!(said.contains("entry 4") && said.contains("pay for new numbers with --again counts"), "{said}");
    folder.write("out/counts.csv", &published);
    assert!(folder.stdout(&["release"]).contains("kept: counts"));
    let json = folder.read("out/counts.json");
    folder.write("out/counts.json", &json.replace("\"n\"", "\"m\""));
    folder.refused(&["release"], 2, "out/counts.json is not what was published");
    fs::remove_dir_all(folder.file("out")).unwrap();
    let said = folder.refused(&["release"], 2, "out/counts.csv is not there any more (and so with another release)");
    assert!(said.contains("--again counts --again total"), "{said}");
    folder.refused(&["release", "--out", "elsewhere"], 2, "name its folder with --out");
    assert_eq!(spent(&folder), 1.0);
    folder.stdout(&["release", "--again", "counts", "--again", "total"]);
    assert_eq!(spent(&folder), 2.0);
}

/// A table that is not what it was is refused, whether or not something of it is kept.
#[test]
fn a_kept_release_is_of_the_table_that_it_was_of() {
    let folder = folder(&total());
    folder.stdout(&["release"]);
    let owned = PEOPLE.replace("source =", "owner = \"sex\"\nmax_rows_per_owner = 1\nsource =").replace("sex = {", "#");
    folder.write("scumble.toml", &format!("{owned}{BUDGET}{}", total()));
    folder.refused(&["release"], 2, "is not what earlier releases of this ledger read");
}

/// A ledger from before it knew what was declared: the events and the rule tell.
#[test]
fn a_release_of_an_older_ledger_is_kept_too() {
    let folder = folder(&counts());
    folder.stdout(&["release"]);
    // The same entries without the field, with the chain that they have then.
    let base = rusqlite::Connection::open(folder.file("scumble.ledger")).unwrap();
    let bodies: Vec<(i64, String)> = base
        .prepare("SELECT sequence, body FROM entry ORDER BY sequence")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut before = vec![0u8; 32];
    let (mut links, count) = (serde_json::Map::new(), bodies.len());
    for (sequence, body) in bodies {
        let mut body: Value = serde_json::from_str(&body).unwrap();
        let entry = body["entry"].as_str().unwrap().to_string();
        body.as_object_mut().unwrap().retain(|key, _| key != "request" && key != "files");
        if entry == "reserve" {
            links.iter().for_each(|(name, link)| body["after"][name] = link.clone());
        }
        let text = body.to_string();
        let hash =
            crate::support::digest_bytes(&[&before[..], &(sequence as u64).to_be_bytes(), text.as_bytes()].concat());
        links.insert(entry, serde_json::json!({ "entry": sequence, "hash": hex::encode(&hash) }));
        base.execute("UPDATE entry SET body = ?2, hash = ?3 WHERE sequence = ?1", (sequence, &text, &hash)).unwrap();
        base.execute("UPDATE head SET hash = ?1", [&hash]).unwrap();
        before = hash;
        links.retain(|name, _| ["declaration", "data", "budget"].contains(&name.as_str()));
    }
    base.pragma_update(None, "user_version", 2).unwrap();
    drop(base);
    folder.stdout(&["ledger", "verify"]);
    assert!(folder.stdout(&["release"]).contains("kept: counts"));
    assert_eq!(ledger(&folder)["entries"].as_u64(), Some(count as u64));
    folder.write("scumble.toml", &format!("{PEOPLE}{BUDGET}{}", counts().replace("0.5", "0.25")));
    assert!(!folder.stdout(&["release"]).contains("kept"));
}

/// A budget was whatever the project file said today: whoever was refused wrote a larger number into it, and nothing showed that.
#[test]
fn a_budget_is_raised_with_a_reason_and_never_by_an_edit() {
    let folder = folder(&counts());
    folder.stdout(&["release"]);
    let larger = BUDGET.replace("2.0", "3.0");
    folder.write("scumble.toml", &format!("{PEOPLE}{larger}{}", counts()));
    for command in [
        &["release", "--again", "counts"][..],
        &["plan"],
        &["query", "SELECT COUNT(*) AS n FROM people", "--cost", "epsilon=0.1"],
    ] {
        let said =
            folder.refused(command, 2, "the budget of scumble.toml is not the one that the ledger holds in entry 3");
        assert!(said.contains("scumble budget raise scumble.toml --because"), "{said}");
    }
    assert!(folder.stdout(&["ledger"]).contains("is not the one that is in force"));
    let left = |folder: &Folder| epsilon(&ledger(folder)["remaining"]["person"]);
    assert_eq!((spent(&folder), left(&folder)), (0.5, 1.5), "the ledger's budget counts");
    folder.refused(&["budget", "raise"], 2, "--because");
    folder.refused(&["budget", "raise", "--because", " "], 2, "needs a reason");
    folder.refused(&["budget", "lower", "--because", "less"], 2, "that is scumble budget raise");
    let said = folder.stdout(&["budget", "raise", "--because", "a second wave"]);
    assert!(said.contains("in force from entry 7 on"), "{said}");
    folder.refused(&["budget", "raise", "--because", "a second wave"], 2, "there is nothing to change");
    assert_eq!(left(&folder), 2.5);
    assert!(folder.stdout(&["budget", "show"]).contains("a second wave"));
    let shown = folder.json(&["budget", "show", "--json"]);
    assert_eq!(shown["budgets"][1]["because"], "a second wave", "{shown:#}");
    folder.stdout(&["release", "--again", "counts"]);
    folder.stdout(&["ledger", "verify"]);
    // The other way, and back to none at all.
    folder.write("scumble.toml", &format!("{PEOPLE}{}{}", BUDGET.replace("2.0", "1.0"), counts()));
    folder.refused(&["release"], 2, "scumble budget lower scumble.toml --because");
    folder.refused(&["budget", "raise", "--because", "less"], 2, "that is scumble budget lower");
    folder.stdout(&["budget", "lower", "--because", "enough is known"]);
    folder.refused(&["release", "--again", "counts"], 3, "epsilon 1 is spent");
    folder.write("scumble.toml", &format!("{PEOPLE}{}", counts()));
    folder.refused(&["release"], 2, "no limit for person; it was person");
    folder.stdout(&["ledger", "verify"]);
}

/// A ledger that began without a budget, and the project file with one.
fn began_without_budget(budget: &str) -> Folder {
    let folder = Folder::with(&[("scumble.toml", &format!("{PEOPLE}{}", counts())), ("people.csv", &people(200))]);
    folder.stdout(&["release"]);
    folder.write("scumble.toml", &format!("{PEOPLE}{budget}{}", counts()));
    folder
}

fn budgets(folder: &Folder) -> Vec<Value> {
    folder.json(&["budget", "show", "--json"])["budgets"].as_array().unwrap().clone()
}

/// A budget that was added later was in force from the next charge on: until then somebody could take it out again, and nothing showed that.
#[test]
fn the_first_budget_is_in_force_as_soon_as_a_command_that_may_write_sees_it() {
    let without = format!("{PEOPLE}{}", counts());
    let query = ["query", "SELECT COUNT(*) AS n FROM people", "--cost", "epsilon=1"];
    // A run that keeps everything, one that is paid for, one that does not fit, and one whose files are gone.
    for (budget, command, status) in [
        (BUDGET, &["release"][..], 0),
        (BUDGET, &["release", "--again", "counts"], 0),
        ("[budget]\nperson = { epsilon = 0.25 }\n", &query, 3),
        (BUDGET, &["release", "--out", "elsewhere"], 2),
    ] {
        let folder = began_without_budget(budget);
        folder.stdout(&["plan"]);
        folder.stdout(&["ledger"]);
        assert!(budgets(&folder).is_empty(), "{command:?}: these only look");
        assert_eq!(folder.run(command).status.code(), Some(status), "{command:?}");
        let held = budgets(&folder);
        assert_eq!((held.len(), &held[0]["because"]), (1, &Value::Null), "{command:?}: first limits need no reason");
        folder.write("scumble.toml", &without);
        for command in [&["release"][..], &["release", "--again", "counts"], &["plan"], &query] {
            let said = folder.refused(command, 2, "no limit for person; it was person");
            assert!(said.contains("scumble budget raise scumble.toml --because"), "{said}");
        }
        folder.stdout(&["budget", "raise", "--because", "nobody is protected any more"]);
        folder.stdout(&["release"]);
        assert_eq!(budgets(&folder).len(), 2, "once each");
        folder.stdout(&["ledger", "verify"]);
    }
}

/// `scumble budget` refused to write the first one: whoever wanted to say why had to charge something first.
#[test]
fn the_first_budget_may_have_a_reason() {
    let folder = Folder::with(&[("scumble.toml", &format!("{PEOPLE}{}", counts())), ("people.csv", &people(200))]);
    folder.refused(&["budget", "raise", "--because", "why not"], 2, "there is no ledger scumble.ledger");
    folder.stdout(&["release"]);
    folder.refused(
        &["budget", "lower", "--because", "why not"],
        2,
        "neither the ledger nor the project file has a budget",
    );
    for change in ["lower", "raise"] {
        let folder = began_without_budget(BUDGET);
        folder.stdout(&["budget", change, "--because", "the board asked for one"]);
        assert_eq!(budgets(&folder)[0]["because"], "the board asked for one");
        folder.refused(&["budget", change, "--because", "again"], 2, "there is nothing to change");
        folder.stdout(&["release"]);
        folder.refused(
            &["query", "SELECT COUNT(*) AS n FROM people", "--cost", "epsilon=1.75"],
            3,
            "the budget is epsilon 2",
        );
        assert_eq!(budgets(&folder).len(), 1);
        folder.stdout(&["ledger", "verify"]);
    }
}

/// `ledger show` of a path with a typing mistake said that nothing had been given away.
#[test]
fn a_ledger_that_is_not_there_is_an_error() {
    let folder = folder(&counts());
    for command in
        [&["ledger"][..], &["ledger", "show"], &["ledger", "show", "--ledger", "scumbel.ledger"], &["budget", "show"]]
    {
        folder.refused(command, 2, "there is no ledger");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "and nothing was made");
    let output = folder.run(&["release", "--quiet"]);
    assert!(printed(output).is_empty());
    folder.stdout(&["ledger", "show"]);
}

/// Outputs that would overwrite each other are refused before anything is charged.
#[test]
fn names_that_collide_are_refused() {
    let check = |release: String, words: &str| {
        let folder = folder(&release);
        folder.refused(&["release"], 2, words);
        assert!(!folder.file("scumble.ledger").exists());
    };
    check(counts().replace("\"counts\"", "\"report\""), "a release cannot be called 'report'");
    check(
        counts().replace("COUNT(*) AS n", "COUNT(*) AS n, SUM(age) AS n_error"),
        "two published columns would be called 'n_error'",
    );
    check([counts(), counts()].concat(), "a second release is called 'counts'");
    check([counts(), counts().replace("\"counts\"", "\"Counts\"")].concat(), "a second release is called 'Counts'");
    check(
        counts().replace("sex, COUNT(*) AS n", "COUNT(*) AS n, SUM(age) AS n"),
        "two columns of the result are called 'n'",
    );
    // A query would take the files of a release.
    let folder = folder(&counts());
    let query = ["query", "SELECT COUNT(*) AS n FROM people", "--cost", "epsilon=0.1", "--name", "counts"];
    folder.refused(
        &query,
        2,
        "the project file has a release 'counts', whose files this would replace: give it another --name",
    );
}

/// A program that asked for JSON got an English sentence where something was wrong.
#[test]
fn errors_are_json_where_answers_are() {
    let folder = folder(&counts());
    let error = |arguments: &[&str]| -> (Option<i32>, Value) {
        let output = folder.run(arguments);
        assert!(output.stdout.is_empty(), "{output:?}");
        let line = String::from_utf8(output.stderr).unwrap();
        assert_eq!(line.lines().count(), 1, "{line}");
        (
            output.status.code(),
            serde_json::from_str::<Value>(&line).unwrap_or_else(|_| panic!("{line}"))["error"].clone(),
        )
    };
    let (status, shown) = error(&["ledger", "show", "--json"]);
    assert_eq!((status, &shown["status"], &shown["kind"]), (Some(2), &2.into(), &"input".into()), "{shown}");
    assert!(shown["sentence"].as_str().unwrap().starts_with("there is no ledger"), "{shown}");
    let (status, shown) = error(&["release", "--jsn", "--json"]);
    assert_eq!((status, &shown["kind"]), (Some(2), &"input".into()), "a wrong call as well: {shown}");
    let query = ["query", "SELECT COUNT(*) AS n FROM people", "--cost", "epsilon=50", "--json"];
    let (status, shown) = error(&query);
    assert_eq!((status, &shown["kind"]), (Some(3), &"budget".into()), "{shown}");
    assert!(folder.refused(&["ledger", "show"], 2, "scumble: there is no ledger").starts_with("scumble: "));
}

/// Whoever asks for help wants to know what comes first.
#[test]
fn help_is_in_the_order_of_work_with_examples() {
    let folder = Folder::with(&[]);
    let help = folder.stdout(&["help"]);
    let publish = help.split("Publish:").nth(1).unwrap();
    let places: Vec<usize> = ["demo", "init", "check", "plan", "release", "ledger", "budget", "query"]
        .map(|name| publish.find(&format!("\n  {name} ")).unwrap_or_else(|| panic!("{name}: {help}")))
        .into();
    assert!(places.is_sorted(), "{help}");
    let examples = help.split("Examples:").nth(1).unwrap().split("\n\n").next().unwrap();
    let lines: Vec<&str> = examples.lines().filter(|line| !line.is_empty()).collect();
    assert!(lines.len() >= 6 && lines.iter().all(|line| line.starts_with("  scumble ")), "{examples}");
    for command in ["demo", "init", "check", "plan", "release", "query", "ledger", "budget", "kinds"] {
        let help = folder.stdout(&["help", command]);
        assert!(help.contains("Example") && help.contains(&format!("\n  scumble {command} ")), "{command}: {help}");
    }
}

/// A release called " x " wrote the files of x, and the next release of x found its files changed.
#[test]
fn names_that_collide_are_refused_with_their_place() {
    let project = |name: &str| {
        format!(
            "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\nage = {{ type = \"int\", lower = 0, upper = 9 }}\n\
             [[release]]\nname = \"{name}\"\nsql = \"SELECT COUNT(*) AS n FROM people\"\ncost = {{ epsilon = 1 }}\n"
        )
    };
    let folder = Folder::with(&[("people.csv", "age\n1\n2\n")]);
    for (name, sentence) in [
        (
            " x ",
            "scumble.toml:6:8: a release's name becomes a file name, and begins and ends with no space: write name = \"x\"",
        ),
        (
            "Report",
            "scumble.toml:6:8: a release cannot be called 'report', because report.json is the report's own file",
        ),
        ("../x", "scumble.toml:6:8: a release's name becomes a file name: 1 to 150 letters"),
    ] {
        folder.write("scumble.toml", &project(name));
        folder.refused(&["plan"], 2, sentence);
    }
}

pub const OWN_NAMES: &str = "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\n\
    count = { type = \"category\", values = [\"a\", \"b\"] }\nn = { type = \"category\", values = [\"a\", \"b\", \"c\"] }\nfree = { type = \"category\" }\nplace = { type = \"category\" }\n";

/// Columns that are called as one of ours are refused where both would be published, with the place, before anything is charged.
#[test]
fn columns_that_are_called_as_one_of_ours_are_refused() {
    let rows = format!("count,n,free,place\n{}", "a,b,x,y\n".repeat(50));
    let kind = |kind: &str, column: &str, more: &str| {
        format!(
            "{OWN_NAMES}[[release]]\nname = \"r\"\nkind = \"{kind}\"\ntable = \"t\"\ncolumn = \"{column}\"\n{more}cost = {{ epsilon = 1 }}\n"
        )
    };
    let refused = |project: &str, words: &str| {
        let folder = Folder::with(&[("scumble.toml", project), ("t.csv", &rows)]);
        let said = folder.refused(&["release", "--quiet"], 2, words);
        assert!(said.contains("scumble.toml:"), "{said}");
        assert!(!folder.file("scumble.ledger").exists(), "something was charged");
    };
    refused(&kind("top", "count", "number = 1\n"), "two published columns would be called 'count'");
    refused(&kind("histogram", "count", ""), "two published columns would be called 'count'");
    let sql = format!(
        "{OWN_NAMES}[[release]]\nname = \"r\"\nsql = \"SELECT count, COUNT(*) AS count FROM t GROUP BY count\"\ncost = {{ epsilon = 1 }}\n"
    );
    refused(&sql, "or another name behind AS");
    let folder = Folder::with(&[("scumble.toml", kind("top", "n", "number = 1\n").as_str()), ("t.csv", &rows)]);
    folder.stdout(&["release", "--quiet"]);
    assert!(folder.read("out/r.csv").starts_with("n,count,count_error"), "{}", folder.read("out/r.csv"));
}

/// A thousand owners of 180 rows on time and 20 late ones each: of the rows that count a tenth is late, also where the number of groups is bounded beside that of the rows. By chance the share is off by a
/// hundredth with probability below 1e-9: it has a standard deviation of 0.002.
#[test]
fn groups_have_their_share_also_where_their_number_is_bounded() {
    let project = "[dataset.t]\nsource = \"t.csv\"\nowner = \"id\"\nmax_rows_per_owner = 20\nmax_groups_per_owner = 2\n[dataset.t.columns]\nlate = { type = \"bool\" }\n\
                   [[release]]\nname = \"r\"\nsql = \"SELECT late, COUNT(*) AS n FROM t GROUP BY late\"\ncost = { epsilon = 100 }\n";
    let rows: String = (0..200_000).map(|row| format!("{},{}\n", row % 1000, row / 1000 < 20)).collect();
    let folder = Folder::with(&[("scumble.toml", project), ("t.csv", &format!("id,late\n{rows}"))]);
    folder.stdout(&["release", "--quiet"]);
    let counts = folder.read("out/r.csv");
    let of = |word: &str| -> f64 {
        let line = counts.lines().find(|line| line.starts_with(word)).unwrap();
        line.split(',').nth(1).unwrap().parse().unwrap()
    };
    let share = of("true") / (of("true") + of("false"));
    assert!((share - 0.1).abs() < 0.01, "{counts}");
}
