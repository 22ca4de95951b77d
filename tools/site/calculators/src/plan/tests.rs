//! The numbers of this page are those of the program, to the last bit: its own golden plan, which the engine's tests
//! write, and the plan of the tutorial, whose commands a test runs.

use super::plan;
use serde_json::Value;
use std::path::Path;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path)).unwrap()
}

fn named<'a>(releases: &'a Value, name: &str) -> &'a Value {
    releases.as_array().unwrap().iter().find(|release| release["name"] == name).unwrap_or(&Value::Null)
}

#[test]
fn every_number_is_that_of_the_programs_golden_plan() {
    let ours = plan(&read("crates/engine/tests/golden/project.toml")).unwrap();
    let golden: Value = serde_json::from_str(&read("crates/engine/tests/golden/plan.json")).unwrap();
    let mut seen = Vec::new();
    for release in ours["releases"].as_array().unwrap() {
        let name = release["name"].as_str().unwrap();
        let theirs = named(&golden, name);
        for cost in release["costs"].as_array().unwrap() {
            let scope = cost["scope"].as_str().unwrap();
            let costs = &theirs["costs"];
            let own = if ["presence", "person"].contains(&scope) { &costs[scope] } else { &costs["attributes"][scope] };
            assert_eq!(cost["epsilon"], own["epsilon"], "{name}, {scope}");
            assert_eq!(release["delta"], own["delta"], "{name}, {scope}");
        }
        assert_eq!(
            release["costs"].as_array().unwrap().len(),
            2 + theirs["costs"]["attributes"].as_object().unwrap().len()
        );
        let columns = release["columns"].as_array().unwrap();
        assert_eq!(columns.len(), theirs["errors"].as_array().unwrap().len(), "{name}");
        for (column, error) in columns.iter().zip(theirs["errors"].as_array().unwrap()) {
            assert_eq!(
                (&column["column"], &column["standard_error"]),
                (&error["column"], &error["standard_error"]),
                "{name}"
            );
        }
        seen.push(name);
    }
    assert_eq!(seen, ["00 sql", "02 sql", "base"]);
    // What is left out is said, each with a reason.
    let left: Vec<&Value> = ours["left_out"].as_array().unwrap().iter().collect();
    assert_eq!(left.len() + seen.len(), golden.as_array().unwrap().len());
    assert!(left.iter().all(|one| one["why"].as_str().is_some_and(|why| (10..=160).contains(&why.chars().count()))));
    assert_eq!(
        named(&ours["left_out"], "03 sql")["why"],
        "'town' has no list of its values, so this page cannot group by it"
    );
    assert_eq!(named(&ours["left_out"], "01 sql")["why"], "'AVG' is more SQL than this page reads");
    assert_eq!(named(&ours["left_out"], "12 sql")["why"], "joint noise is planned by the program");
}

/// The project of docs/tutorial/declare.md, and what docs/tutorial/publish.md prints of it.
#[test]
fn the_tutorial_is_planned_as_it_prints() {
    let page = read("docs/tutorial/declare.md");
    let project = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let ours = plan(project).unwrap();
    let release = named(&ours["releases"], "by clinic");
    let person = release["costs"].as_array().unwrap().iter().find(|cost| cost["scope"] == "person").unwrap();
    assert_eq!((&person["shown"], &release["at"]), (&"0.5".into(), &Value::Null));
    let printed = read("docs/tutorial/publish.md");
    for column in release["columns"].as_array().unwrap() {
        let [error, margin] = [0, 1].map(|at| column["shown"][at].as_str().unwrap());
        let name = column["column"].as_str().unwrap();
        let line = printed
            .lines()
            .find(|line| line.contains("0.5  visits") && name == "visits" || line.trim().starts_with(name));
        let words: Vec<&str> = line.unwrap().split_whitespace().collect();
        let [.., shown_error, shown_margin] = words[..] else { panic!("{line:?}") };
        assert!(error.starts_with(shown_error.trim_end_matches('…')), "{name}: {error}, not {shown_error}");
        assert_eq!(margin, shown_margin, "{name}");
    }
    assert_eq!(release["columns"].as_array().unwrap().len(), 2);
    assert_eq!(ours["left_out"][0]["why"], "'AVG' is more SQL than this page reads");
    assert_eq!(ours["budget"], "these releases fit the budget together; those that are left out are not in this sum");
}

const CLINIC: &str = r#"
[dataset.visits]
source = "visits.csv"
owner = "id"
max_rows_per_owner = 6
[dataset.visits.columns]
clinic = { type = "category", values = ["a", "b", "c"] }
cost = { type = "int", lower = 0, upper = 500 }
[budget]
person = { epsilon = 1, delta = 1e-9 }
[[release]]
name = "one"
sql = "SELECT clinic, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY clinic"
cost = { epsilon = 0.75 }
"#;

#[test]
fn a_budget_is_held_over_all_releases() {
    assert_eq!(plan(CLINIC).unwrap()["budget"], "everything fits the budget together");
    let second = CLINIC[CLINIC.find("[[release]]").unwrap()..].replace("\"one\"", "\"two\"");
    let over = plan(&format!("{CLINIC}{second}")).unwrap();
    assert_eq!(over["fits"], false);
    assert_eq!(
        over["budget"],
        "release 'two' would be refused: in the scope person the budget is epsilon 1 at delta 1e-9, and all so far \
         cost 1.5"
    );
    let free = CLINIC.replace("[budget]\nperson = { epsilon = 1, delta = 1e-9 }\n", "");
    let why = plan(&free).unwrap()["left_out"][0]["why"].as_str().unwrap().to_string();
    assert!(why.contains("one noise for all numbers"), "{why}");
    let each = free.replace("[[release]]", "[[release]]\nnoise = \"each\"");
    assert_eq!(plan(&each).unwrap()["budget"], "the project has no budget: everything is only recorded");
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (from, to, sentence) in [
        ("owner = \"id\"\n", "", "table 'visits' has no owner: each row is one person"),
        (
            "max_rows_per_owner = 6",
            "max_rows_per_owner = 0",
            "scumble.toml:5:22: this must be a whole number of at least 1",
        ),
        ("[budget]", "[budgets]", "scumble.toml:9:2: unknown key 'budgets' in the file (did you mean 'budget'?)"),
        ("epsilon = 0.75", "epsilon = -1", "scumble.toml:14:20: epsilon must be a number in [0, ∞), not -1"),
        ("values =", "value =", "unknown key 'value' in 'clinic' in 'columns'"),
        ("\"int\"", "\"integer\"", "unknown type 'integer'; types are: int, float"),
        ("sql =", "sqll =", "needs 'sql' or a 'kind'"),
        ("upper = 500", "upper = -1", "the bounds are inverted: lower is 0 and upper is -1"),
        ("[dataset.visits]", "[dataset.visits", "this is not TOML"),
    ] {
        assert!(CLINIC.contains(from));
        let refused = plan(&CLINIC.replacen(from, to, 1)).unwrap_err().0;
        assert!(refused.contains(sentence), "{refused}");
    }
    for (from, to, sentence) in [
        ("SUM(cost)", "SUM(clinic)", "'clinic' holds no numbers to sum"),
        ("SUM(cost)", "SUM(price)", "this page knows no declared column 'price'"),
        ("SUM(cost)", "COUNT(*)", "the same number stands twice"),
        ("SUM(cost)", "COUNT(DISTINCT clinic)", "of owners only"),
        ("FROM visits", "FROM people", "there is no table 'people'"),
        ("[[release]]", "[[release]]\nshare = { n = 1 }", "its field 'share'"),
        ("owner = \"id\"", "owner = \"id\"\npublic_owners = 3", "table 'visits' has 'public_owners'"),
    ] {
        assert!(CLINIC.contains(from));
        let why = plan(&CLINIC.replacen(from, to, 1)).unwrap()["left_out"][0]["why"].as_str().unwrap().to_string();
        assert!(why.contains(sentence), "{why}");
    }
}
