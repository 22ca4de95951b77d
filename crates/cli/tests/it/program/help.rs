//! What the program prints: help, errors as JSON, one of something.

use super::tree;
use crate::fixtures::named_people;
use crate::fixtures::people::{counts, folder};
use serde_json::Value;

/// Daily commands come first, in the order of work.
#[test]
fn daily_commands_come_first() {
    let below = tree::help("").below();
    let daily: Vec<&str> =
        below.iter().filter(|(heading, ..)| *heading == "Daily").map(|(_, name, _)| name.as_str()).collect();
    let expected = ["init", "check", "plan", "release", "status", "show", "query", "ledger", "budget", "serve", "demo"];
    assert_eq!(daily, expected);
    assert!(below.len() <= 18, "{below:?}");
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

/// One row is one row.
#[test]
fn one_of_something_is_not_several() {
    let sql = "[[release]]\nname = \"all\"\nsql = \"SELECT COUNT(*) AS n FROM people\"\ncost = { epsilon = 0.5 }\n";
    let folder =
        named_people::folder(&[named_people::PEOPLE, named_people::BUDGET, named_people::COUNTS, sql].concat());
    let said = folder.stdout(&["release"]);
    assert!(said.contains("all: 1 row in ") && said.contains("counts: 2 rows in "), "{said}");
}
