//! Budgets: in force from the first command that may write, changed with a reason, shown in one way.

use crate::fixtures::named_people;
use crate::fixtures::people::{BUDGET, PEOPLE, counts, folder, ledger, people, spent};
use crate::support::{Folder, epsilon, printed};
use serde_json::Value;
use std::fs;

/// A budget was whatever the project file said today: after a refusal one could write a larger number into it, and
/// nothing showed that.
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
        let said = folder.refused(command, 2, "the budget of scumble.toml differs from ledger entry 3");
        assert!(said.contains("scumble budget raise scumble.toml --because"), "{said}");
    }
    assert!(folder.stdout(&["ledger"]).contains("is not the one that is in force"));
    let left = |folder: &Folder| epsilon(&ledger(folder)["remaining"]["person"]);
    assert_eq!((spent(&folder), left(&folder)), (0.5, 1.5), "the ledger's budget counts");
    folder.refused(&["budget", "raise"], 2, "--because");
    folder.refused(&["budget", "raise", "--because", " "], 2, "needs a reason");
    folder.refused(&["budget", "lower", "--because", "less"], 2, "use scumble budget raise");
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
    folder.refused(&["budget", "raise", "--because", "less"], 2, "use scumble budget lower");
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

/// A budget that was added later was in force from the next charge on: until then somebody could take it out again, and
/// nothing showed that.
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

/// `scumble budget` refused to write the first one: a curator who wanted to give a reason had to charge something
/// first.
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

/// `0.000000001` here and `1e-9` there; `δ = 0e0` where there is none; forty digits of a large budget.
#[test]
fn limits_are_shown_in_one_way() {
    let folder = named_people::usual();
    folder.stdout(&["release", "--quiet"]);
    let shown = folder.json(&["budget", "show", "--json"]);
    assert_eq!(shown["budgets"][0]["limits"]["person"], "epsilon 100 at delta 1e-9", "{shown:#}");
    let large = named_people::PEOPLE.to_string() + "[budget]\nperson = { epsilon = 1e40 }\n" + named_people::COUNTS;
    let folder = named_people::folder(&large);
    folder.stdout(&["release", "--quiet"]);
    assert_eq!(folder.json(&["budget", "show", "--json"])["budgets"][0]["limits"]["person"], "epsilon 1e40");
    assert!(folder.stdout(&["budget", "show"]).contains("person epsilon 1e40 "));
    let report = folder.read("out/report.html");
    assert!(report.contains("(person, δ = 0)") && !report.contains("0e0"), "no delta is 0");
    assert!(report.contains("<td>epsilon 1e40</td>") && !report.contains("1000000000000"), "no zeros without end");
    // The first digits of a large limit do not determine it: the ledger has all of them.
    let export = folder.json(&["ledger", "export"]);
    let held = export["entries"].as_array().unwrap().iter().find(|entry| entry["body"]["entry"] == "budget").unwrap();
    let exact = serde_json::json!({ "epsilon": format!("1{}", "0".repeat(40)), "delta": "0" });
    assert_eq!(held["body"]["limits"]["person"], exact);
}
