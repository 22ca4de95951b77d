//! Every example of docs/sql.md is answered, and what the page says is refused is.

use crate::support::Folder;

const PAGE: &str = include_str!("../../../../docs/sql.md");

/// The blocks of one language.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    PAGE.split(&opening).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

fn folder() -> Folder {
    let [project] = blocks("toml")[..] else { panic!("the page has one project") };
    let row = |i: usize| {
        let (clinic, reason) = (["north", "south", "west"][i % 3], ["flu", "fall", "cough"][i / 7 % 3]);
        format!("{},{clinic},{reason},{}.25,{},{}\n", i / 3, i * 37 % 400, 1 + i * 11 % 120, i.is_multiple_of(2))
    };
    let visits: String = (0..900).map(row).collect();
    let patients: String = (0..300).map(|i| format!("{i},{},{}\n", i % 90, ["f", "m"][i % 2])).collect();
    Folder::with(&[
        ("scumble.toml", project),
        ("visits.csv", &format!("person,clinic,reason,cost,minutes,urgent\n{visits}")),
        ("patients.csv", &format!("id,age,sex\n{patients}")),
        ("wards.csv", "clinic,city\nnorth,Ulm\nsouth,Bonn\nwest,Ulm\n"),
    ])
}

#[test]
fn every_example_is_answered() {
    let folder = folder();
    let examples = blocks("sql");
    assert!(examples.len() >= 20, "{}", examples.len());
    for (index, sql) in examples.into_iter().enumerate() {
        let name = format!("example {index}");
        let run = folder.run(&["query", sql, "--cost", "epsilon=5,delta=1e-8", "--name", &name, "--quiet"]);
        assert!(run.status.success(), "{sql}\n{}", String::from_utf8_lossy(&run.stderr));
        assert!(run.stdout.iter().filter(|byte| **byte == b'\n').count() >= 2, "{sql}: no rows");
    }
}

#[test]
fn what_is_not_answered_is_refused() {
    let folder = folder();
    let refusals = blocks("refused");
    assert!(refusals.len() >= 6, "{}", refusals.len());
    for sql in refusals {
        folder.refused(&["query", sql, "--cost", "epsilon=1,delta=1e-8"], 2, "");
    }
    assert!(!folder.file("out").exists(), "nothing is written");
}

/// Who misspells a function sees what there is.
#[test]
fn unknown_functions_list_what_exists() {
    let folder = folder();
    let query = |sql: &str, words: &str| folder.refused(&["query", sql, "--cost", "epsilon=1"], 2, words);
    query("SELECT AVG(FOO(cost)) FROM visits", "there is no function");
    query("SELECT AVG(FOO(cost)) FROM visits", "sqrt, starts_with");
    query("SELECT SUM(SIN(cost)) FROM visits", "sin is not answered on private rows; these are: abs, ");
    query("SELECT ARRAY_AGG(cost) FROM visits", "these are: COUNT, COUNT(DISTINCT …), SUM");
    // The page lists the same functions as the refusal.
    let said = query("SELECT SUM(SIN(cost)) FROM visits", "these are: ");
    let listed = said.split("these are: ").nth(1).unwrap().split(", and MOD").next().unwrap();
    for name in listed.split(", ") {
        assert!(PAGE.contains(&format!("`{name}`")), "the page does not mention {name}");
    }
}
