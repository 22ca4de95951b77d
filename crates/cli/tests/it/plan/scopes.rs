//! `cost_scope = "presence"`: one line, and every cost means what it means in OpenDP and Tumult.

use crate::fixtures::people::{PEOPLE, counts, ledger, people};
use crate::support::{Folder, epsilon, exactly};

const LINE: &str = "cost_scope = \"presence\"\n";

/// A project of this first line, a budget for a person, and the counts at this cost.
fn project(line: &str, budget: f64, cost: &str) -> String {
    let counts = counts().replace("epsilon = 0.5", cost);
    format!("{line}{PEOPLE}[budget]\nperson = {{ epsilon = {budget:?} }}\n{counts}")
}

fn folder(line: &str, budget: f64, cost: &str) -> Folder {
    Folder::with(&[("scumble.toml", &project(line, budget, cost)), ("people.csv", &people(200))])
}

fn close(error: f64, to: f64) {
    assert!((error - to).abs() < 0.005, "{error} is not {to}");
}

/// The standard error of the counts of a histogram, as it is planned.
fn planned_error(folder: &Folder) -> f64 {
    folder.json(&["plan", "--json"])["releases"][0]["errors"][0]["standard_error"].as_f64().unwrap()
}

/// The first line below the head of a plan's table.
fn planned_line(folder: &Folder, more: &[&str]) -> String {
    let plan = folder.stdout(&[&["plan"], more].concat());
    plan.lines().nth(2).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The same as it is published.
fn published_error(folder: &Folder, name: &str) -> f64 {
    let csv = std::fs::read_to_string(folder.path().join(format!("out/{}.csv", name.replace(' ', "-")))).unwrap();
    assert!(csv.starts_with("sex,n,n_se,n_low,n_high\n"), "{csv}");
    csv.lines().nth(1).unwrap().split(',').nth(2).unwrap().parse().unwrap()
}

/// Users of OpenDP asked for ε = 1 and got twice the noise, release by release, until each cost said its scope.
#[test]
fn one_line_halves_the_noise_of_a_histogram() {
    let folder = folder("", 10.0, "epsilon = 1");
    assert_eq!(planned_line(&folder, &[]), "counts 1 n 2.79918 6");
    close(planned_error(&folder), 2.80);
    folder.stdout(&["release"]);
    close(published_error(&folder, "counts"), 2.80);
    let before = ledger(&folder);
    exactly(epsilon(&before["person"]), 1.0);
    exactly(epsilon(&before["presence"]), 0.5);
    // Another claim is another release: it is paid for, and the plan says so.
    folder.write("scumble.toml", &project(LINE, 10.0, "epsilon = 1"));
    assert_eq!(planned_line(&folder, &[]), "counts 2 n 1.35696 3 presence 1");
    assert!(folder.stdout(&["plan"]).contains("'counts' is published with another declaration"));
    close(planned_error(&folder), 1.36);
    folder.stdout(&["release", "--again", "counts"]);
    close(published_error(&folder, "counts"), 1.36);
    let after = ledger(&folder);
    exactly(epsilon(&after["person"]), 3.0);
    exactly(epsilon(&after["presence"]), 1.5);
    // The same line is the same release, and so is the scope where it is said of the one cost.
    assert!(folder.stdout(&["release"]).starts_with("kept: counts"));
    folder.write("scumble.toml", &project("", 10.0, "epsilon = 1, scope = \"presence\""));
    assert!(folder.stdout(&["release"]).starts_with("kept: counts"));
}

/// What is published for a person stays so where its cost says it, and other requests follow the line.
#[test]
fn a_cost_that_says_its_scope_does_not_follow_the_line() {
    let folder = folder("", 10.0, "epsilon = 1");
    folder.stdout(&["release"]);
    folder.write("scumble.toml", &project(LINE, 10.0, "epsilon = 1, scope = \"person\""));
    assert!(folder.stdout(&["release"]).starts_with("kept: counts"));
    exactly(epsilon(&ledger(&folder)["person"]), 1.0);
    let sql = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex";
    for (name, cost, error, person) in [("line", "epsilon=1", 1.36, 3.0), ("own", "epsilon=1,scope=person", 2.80, 4.0)]
    {
        folder.stdout(&["query", sql, "--name", name, "--cost", cost]);
        close(published_error(&folder, name), error);
        exactly(epsilon(&ledger(&folder)["person"]), person);
    }
    folder.refused(&["query", sql, "--cost", "epsilon=1,scope=everybody"], 2, "the scope of a cost is 'person'");
}

/// A budget for a person limits what a person loses, whatever scope the cost is in.
#[test]
fn a_budget_for_a_person_holds_under_the_line() {
    let folder = folder(LINE, 1.0, "epsilon = 1");
    let text = folder.run(&["release"]);
    assert_eq!(text.status.code(), Some(3));
    let said = String::from_utf8(text.stderr).unwrap();
    assert!(said.contains("release 'counts' was refused and nothing was charged"), "{said}");
    assert!(said.contains("the largest cost that would fit is epsilon 0.5"), "{said}");
    folder.write("scumble.toml", &project(LINE, 1.0, "epsilon = 0.5"));
    folder.stdout(&["release"]);
    exactly(epsilon(&ledger(&folder)["person"]), 1.0);
}

/// A person who is replaced is one owner who goes and one who comes: the δ of what is stable is twice that of presence.
/// At the δ of the cost a plan said that there is no epsilon, and not a word of the one that was asked for.
#[test]
fn a_plan_says_what_presence_costs_where_a_person_has_no_epsilon() {
    let release = "[[release]]\nname = \"ages\"\nkind = \"exact-if-stable\"\nsql = \"SELECT age, COUNT(*) FROM people GROUP BY age\"\n\
        at_least = 100\ncost = { epsilon = 1, delta = 1e-6 }\n";
    let text = format!("{LINE}{PEOPLE}{release}");
    let folder = Folder::with(&[("scumble.toml", text.as_str()), ("people.csv", &people(200))]);
    for (delta, expect) in
        [("1e-5", "ages 2 is_at_least_100 – presence 1, at delta 1e-5"), ("1e-6", "ages none is_at_least_100 –")]
    {
        assert_eq!(planned_line(&folder, &["--delta", delta]), expect);
    }
    let said = folder.stdout(&["plan", "--delta", "1e-6"]);
    assert!(said.contains("ages: costs presence epsilon 1, a person none at delta 1e-6: ask for a larger --delta"));
}
