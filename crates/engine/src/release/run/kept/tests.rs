//! Whatever of a declaration changes an answer is in the digest of the request, or stands in the ledger, which then
//! refuses the change.

use super::*;
use crate::ledger::{ChargeState, Declarations, joined};
use crate::project::keys::{OF_ATTACKER, OF_GRAPH, OF_LAYOUT, OF_TABLE, TYPES, of_column};
use std::collections::BTreeSet;

/// What is said of a key, and something else that may be said of it.
struct KeyCase {
    key: &'static str,
    table: String,
    other: String,
}

/// A table with an owner and one column.
const VISITS: &str = "source = 'a.csv'\nowner = 'id'\nmax_rows_per_owner = 3\ncolumns = { x = { type = 'bool' } }\n";

fn of_table_with(key: &'static str, lines: [&str; 2]) -> KeyCase {
    let [table, other] = lines.map(|line| format!("{VISITS}{line}\n"));
    KeyCase { key, table, other }
}

/// The lines of the usual table, in which one text takes the place of another.
fn replaced(key: &'static str, from: &str, to: &str) -> KeyCase {
    KeyCase { key, table: VISITS.to_string(), other: VISITS.replace(from, to) }
}

fn of_columns(key: &'static str, columns: [&str; 2]) -> KeyCase {
    let [table, other] = columns.map(|column| format!("source = 'a.csv'\ncolumns = {{ x = {{ {column} }} }}\n"));
    KeyCase { key, table, other }
}

fn of_graphs(key: &'static str, graphs: [&str; 2]) -> KeyCase {
    let columns = "a = { type = 'int' }, b = { type = 'int' }, c = { type = 'int' }";
    let [table, other] =
        graphs.map(|graph| format!("source = 'a.csv'\ncolumns = {{ {columns} }}\ngraph = {{ {graph} }}\n"));
    KeyCase { key, table, other }
}

fn table_cases() -> Vec<KeyCase> {
    let plain = "source = 'a.csv'\ncolumns = { x = { type = 'bool' } }\n";
    vec![
        replaced("source", "a.csv", "b.csv"),
        replaced("owner", "'id'", "'household'"),
        KeyCase { key: "public", table: plain.to_string(), other: format!("{plain}public = true\n") },
        replaced("max_rows_per_owner", "= 3", "= 4"),
        of_table_with("max_groups_per_owner", ["max_groups_per_owner = 1", "max_groups_per_owner = 2"]),
        of_table_with("max_rows_per_group", ["max_rows_per_group = 1", "max_rows_per_group = 2"]),
        of_table_with("public_owners", ["public_owners = 10", "public_owners = 20"]),
        replaced("columns", "'bool'", "'int'"),
        of_graphs("graph", ["from = 'a', to = 'b', vertices = 10", "from = 'a', to = 'c', vertices = 10"]),
    ]
}

fn layout_cases() -> Vec<KeyCase> {
    vec![
        of_table_with("separator", ["", "separator = ';'"]),
        of_table_with("decimal", ["separator = ';'", "separator = ';'\ndecimal = ','"]),
        of_table_with("quote", ["", "quote = \"'\""]),
        of_table_with("encoding", ["", "encoding = 'latin1'"]),
        of_table_with("header", ["header = ['id', 'x']", "header = ['x', 'id']"]),
        of_table_with("null", ["null = ['NA']", "null = ['NA', '-']"]),
        of_table_with("trim", ["", "trim = true"]),
    ]
}

fn graph_cases() -> Vec<KeyCase> {
    let usual = "from = 'a', to = 'b', vertices = 10";
    vec![
        of_graphs("from", [usual, "from = 'c', to = 'b', vertices = 10"]),
        of_graphs("to", [usual, "from = 'a', to = 'c', vertices = 10"]),
        of_graphs("vertices", [usual, "from = 'a', to = 'b', vertices = 11"]),
    ]
}

/// The cases of a type's keys.
fn column_cases(of: &str) -> Vec<KeyCase> {
    match of {
        "int" => vec![
            of_columns(
                "missing",
                ["type = 'int', lower = 0, upper = 9", "type = 'int', lower = 0, upper = 9, missing = 'never'"],
            ),
            of_columns("type", ["type = 'int'", "type = 'float'"]),
            of_columns("lower", ["type = 'int', lower = 0, upper = 9", "type = 'int', lower = 1, upper = 9"]),
            of_columns("upper", ["type = 'int', lower = 0, upper = 9", "type = 'int', lower = 0, upper = 8"]),
            // The same labels of other intervals.
            of_columns(
                "bins",
                [
                    "type = 'int', bins = [0, 5], labels = ['a', 'b']",
                    "type = 'int', bins = [0, 6], labels = ['a', 'b']",
                ],
            ),
            of_columns(
                "labels",
                [
                    "type = 'int', bins = [0, 5], labels = ['a', 'b']",
                    "type = 'int', bins = [0, 5], labels = ['b', 'a']",
                ],
            ),
        ],
        "float" => vec![
            of_columns(
                "missing",
                ["type = 'float', lower = 0, upper = 9", "type = 'float', lower = 0, upper = 9, missing = 'never'"],
            ),
            of_columns("type", ["type = 'float'", "type = 'int'"]),
            of_columns("lower", ["type = 'float', lower = 0, upper = 9", "type = 'float', lower = 0.5, upper = 9"]),
            of_columns("upper", ["type = 'float', lower = 0, upper = 9", "type = 'float', lower = 0, upper = 8"]),
            of_columns("granularity", ["type = 'float', granularity = 0.5", "type = 'float', granularity = 0.25"]),
            of_columns(
                "bins",
                [
                    "type = 'float', bins = [0, 5], labels = ['a', 'b']",
                    "type = 'float', bins = [0, 6], labels = ['a', 'b']",
                ],
            ),
            of_columns(
                "labels",
                ["type = 'float', bins = [0, 5]", "type = 'float', bins = [0, 5], labels = ['a', 'b']"],
            ),
        ],
        "category" => vec![
            of_columns(
                "missing",
                ["type = 'category', values = ['a', 'b']", "type = 'category', values = ['a', 'b'], missing = 'never'"],
            ),
            of_columns("type", ["type = 'category'", "type = 'bool'"]),
            of_columns("values", ["type = 'category', values = ['a', 'b']", "type = 'category', values = ['a', 'c']"]),
            of_columns(
                "map",
                [
                    "type = 'category', values = ['a', 'b'], map = { x = 'a' }",
                    "type = 'category', values = ['a', 'b'], map = { x = 'b' }",
                ],
            ),
            // The word is listed already: what changes is where the others go.
            of_columns(
                "unlisted",
                ["type = 'category', values = ['a', 'b']", "type = 'category', values = ['a', 'b'], unlisted = 'b'"],
            ),
        ],
        "bool" => vec![
            of_columns("type", ["type = 'bool'", "type = 'category', values = ['true', 'false']"]),
            of_columns("missing", ["type = 'bool'", "type = 'bool', missing = 'never'"]),
        ],
        "date" => vec![
            of_columns(
                "missing",
                [
                    "type = 'date', lower = '2020-01-01', upper = '2021-01-01'",
                    "type = 'date', lower = '2020-01-01', upper = '2021-01-01', missing = 'never'",
                ],
            ),
            of_columns("type", ["type = 'date'", "type = 'timestamp'"]),
            of_columns(
                "lower",
                [
                    "type = 'date', lower = '2020-01-01', upper = '2021-01-01'",
                    "type = 'date', lower = '2020-01-02', upper = '2021-01-01'",
                ],
            ),
            of_columns(
                "upper",
                [
                    "type = 'date', lower = '2020-01-01', upper = '2021-01-01'",
                    "type = 'date', lower = '2020-01-01', upper = '2021-01-02'",
                ],
            ),
            of_columns(
                "bins",
                [
                    "type = 'date', bins = ['2020-01-01', '2021-01-01'], labels = ['a', 'b']",
                    "type = 'date', bins = ['2020-01-01', '2021-01-02'], labels = ['a', 'b']",
                ],
            ),
            of_columns(
                "labels",
                [
                    "type = 'date', bins = ['2020-01-01', '2021-01-01'], labels = ['a', 'b']",
                    "type = 'date', bins = ['2020-01-01', '2021-01-01'], labels = ['a', 'c']",
                ],
            ),
        ],
        "timestamp" => vec![
            of_columns(
                "missing",
                [
                    "type = 'timestamp', lower = '2020-01-01T00:00:00', upper = '2021-01-01T00:00:00'",
                    "type = 'timestamp', lower = '2020-01-01T00:00:00', upper = '2021-01-01T00:00:00', missing = 'never'",
                ],
            ),
            of_columns("type", ["type = 'timestamp'", "type = 'date'"]),
            of_columns(
                "lower",
                [
                    "type = 'timestamp', lower = '2020-01-01T00:00:00', upper = '2021-01-01T00:00:00'",
                    "type = 'timestamp', lower = '2020-01-01T00:00:01', upper = '2021-01-01T00:00:00'",
                ],
            ),
            of_columns(
                "upper",
                [
                    "type = 'timestamp', lower = '2020-01-01T00:00:00', upper = '2021-01-01T00:00:00'",
                    "type = 'timestamp', lower = '2020-01-01T00:00:00', upper = '2021-01-01T00:00:01'",
                ],
            ),
            of_columns("zone", ["type = 'timestamp'", "type = 'timestamp', zone = 'Europe/Berlin'"]),
            of_columns(
                "bins",
                [
                    "type = 'timestamp', bins = ['2020-01-01T00:00:00', '2021-01-01T00:00:00'], labels = ['a', 'b']",
                    "type = 'timestamp', bins = ['2020-01-01T00:00:00', '2021-01-01T00:00:01'], labels = ['a', 'b']",
                ],
            ),
            of_columns(
                "labels",
                [
                    "type = 'timestamp', bins = ['2020-01-01T00:00:00', '2021-01-01T00:00:00'], labels = ['a', 'b']",
                    "type = 'timestamp', bins = ['2020-01-01T00:00:00', '2021-01-01T00:00:00'], labels = ['b', 'a']",
                ],
            ),
            of_columns(
                "zone",
                [
                    "type = 'timestamp', bins = ['2020-01-01T00:00:00', '2021-01-01T00:00:00'], labels = ['a', 'b']",
                    "type = 'timestamp', zone = '+01:00', bins = ['2020-01-01T00:00:00', '2021-01-01T00:00:00'], labels = ['a', 'b']",
                ],
            ),
        ],
        other => panic!("say which keys of the type '{other}' change answers"),
    }
}

/// No answer depends on these: `sensitive` decides which columns a report looks at, `password_file` opens a door, the
/// others are for readers.
const OF_NO_ANSWER: [&str; 4] = ["sensitive", "password_file", "label", "unit"];

fn project(text: &str) -> Project {
    Project::parse(Path::new("scumble.toml"), text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Whether a release of a table that is declared otherwise is another request, or refused by the ledger.
fn is_noticed(case: &KeyCase) -> bool {
    let of = |lines: &String| {
        let project = project(&format!("[dataset.t]\n{lines}"));
        let table = project.tables["t"].clone();
        let declared: Declarations = [("t".to_string(), table.declaration(Path::new("/")))].into();
        (of_table(&table), declared)
    };
    let ((said, declared), (other, otherwise)) = (of(&case.table), of(&case.other));
    said != other || joined(&declared, &otherwise, Path::new("/")).is_err()
}

/// A key was added to the project file, and its answers were kept when it changed: twice, with `public_owners` and with
/// `graph`.
#[test]
fn every_key_of_a_table_is_in_the_digest_or_in_the_ledger() {
    let mut tables: Vec<(String, &[&str], Vec<KeyCase>)> = vec![
        ("[dataset]".to_string(), &OF_TABLE, table_cases()),
        ("the layout".to_string(), &OF_LAYOUT, layout_cases()),
        ("graph".to_string(), &OF_GRAPH, graph_cases()),
    ];
    for of in TYPES {
        tables.push((format!("a column of type {of}"), of_column(of).unwrap(), column_cases(of)));
    }
    for (place, keys, cases) in tables {
        for case in &cases {
            assert!(keys.contains(&case.key), "{place} has no key '{}'", case.key);
            assert_ne!(case.table, case.other);
            assert!(is_noticed(case), "{place}: nobody notices another '{}'", case.key);
        }
        let told: BTreeSet<&str> = cases.iter().map(|case| case.key).chain(OF_NO_ANSWER).collect();
        for key in keys {
            assert!(
                told.contains(key),
                "{place} has the key '{key}', of which nobody says whether answers depend on it"
            );
        }
    }
}

/// The same of `[attacker]`, for the one kind whose answers depend on it.
#[test]
fn every_key_of_the_attacker_is_in_the_digest_of_an_exact_count() {
    let usual = [
        ("known_rows", "0.1", "0.2"),
        ("mode", "'passive'", "'active'"),
        ("uncertainty", "0.3", "0.4"),
        ("independence", "'declared'", "'declared'"),
        ("delta", "1e-9", "1e-8"),
    ];
    assert!(usual.map(|(key, ..)| key).iter().eq(OF_ATTACKER.iter()), "say whether answers depend on the new key");
    let digest = |changed: Option<&str>, more: &str| {
        let lines =
            usual.map(|(key, is, other)| format!("{key} = {}\n", if changed == Some(key) { other } else { is }));
        let text = format!(
            "{more}[dataset.t]\nsource = 'a.csv'\npublic_owners = 1000\ncolumns = {{ x = {{ type = 'bool' }} }}\n[attacker]\n{}\
             [[release]]\nname = 'n'\nkind = 'exact-count'\ntable = 't'\nwhere = 'x'\ni_accept_assumptions = true\n\
             [[release]]\nname = 'm'\nsql = 'SELECT COUNT(*) AS n FROM t'\ncost = {{ epsilon = 1 }}\n",
            lines.concat()
        );
        let project = project(&text);
        let planned = project.releases.iter().map(|request| Runner::new(&project).plan(request).unwrap());
        let digests: Vec<String> = planned.map(|planned| request_digest(&project, &planned).unwrap()).collect();
        digests
    };
    let before = digest(None, "");
    for (key, is, other) in usual {
        let now = digest(Some(key), "");
        assert_eq!(now[0] != before[0], is != other, "another {key}");
        assert_eq!(now[1], before[1], "noise protects whatever the attacker knows");
    }
    assert_eq!(digest(None, "[budget]\nperson = { epsilon = 1, delta = 1e-6 }\n"), before, "it names its own delta");
}

/// Where the attacker names no δ, it is the budget's.
#[test]
fn a_budgets_delta_is_part_of_what_an_attacker_is() {
    let of = |budget: &str| {
        let text = format!(
            "{budget}[attacker]\nuncertainty = 0.3\n[dataset.t]\nsource = 'a.csv'\ncolumns = {{ x = {{ type = 'bool' }} }}\n"
        );
        declared(&project(&text)).unwrap()
    };
    assert_ne!(of(""), of("[budget]\nperson = { epsilon = 1, delta = 1e-6 }\n"));
    assert_eq!(of(""), of("[budget]\nperson = { epsilon = 1 }\n"), "without a delta it says nothing");
}

/// A bound that is the table's own made another digest until this version: what was charged under that one is still the
/// same release.
#[test]
fn digests_of_earlier_versions_are_accepted() {
    let text = |bound: &str| {
        format!(
            "[dataset.t]\n{VISITS}[[release]]\nname = 'n'\nsql = 'select count(*) AS n FROM t'\ncost = {{ epsilon = 1 }}\n{bound}\n"
        )
    };
    let (with, without) = (project(&text("max_rows_per_owner = 3")), project(&text("")));
    let [said, unsaid] = [&with, &without].map(|project| Runner::new(project).plan(&project.releases[0]).unwrap());
    let now = request_digest(&with, &said).unwrap();
    assert_eq!(now, request_digest(&without, &unsaid).unwrap());
    let before = [digest_with_bounds(&with, &said).unwrap(), plain_digest(&with, &said).unwrap()];
    assert!(before.iter().all(|digest| *digest != now));
    for digest in before {
        assert!(is_same(&with, &said, &charged(digest)).unwrap());
    }
}

/// A charge of SQL for a request of this digest.
fn charged(digest: String) -> Charge {
    Charge {
        sequence: 4,
        time: String::new(),
        release: "n".to_string(),
        kind: "sql".to_string(),
        events: Vec::new(),
        rule: Value::Null,
        request: Some(digest),
        asked: None,
        state: ChargeState::Drawn,
    }
}

/// Nothing is kept under a scope that it was not made for: `cost_scope` is in the digests of releases, of questions and
/// of requests that stand in no file. What says `scope = "person"` from now on is what said nothing before the line was
/// there.
#[test]
fn the_scope_that_a_project_gives_is_in_the_digest() {
    let release = |cost: &str| {
        format!(
            "[dataset.t]\n{VISITS}[[release]]\nname = 'n'\nsql = 'SELECT COUNT(*) AS n FROM t'\ncost = {{ {cost} }}\n"
        )
    };
    let digests = |line: &str, cost: &str| {
        let project = project(&format!("{line}{}", release(cost)));
        let planned = Runner::new(&project).plan(&project.releases[0]).unwrap();
        let asked = Request::sql("n", "SELECT COUNT(*) AS n FROM t", &flag(cost)).unwrap();
        let asked = Runner::new(&project).plan(&asked).unwrap();
        let all = [&planned, &asked]
            .map(|planned| [request_digest(&project, planned).unwrap(), question_digest(&project, planned).unwrap()]);
        assert_eq!(all[0], all[1], "a request of a program is one of the file");
        let [[request, question], _] = all;
        let keeps = |digest: &String| is_same(&project, &planned, &charged(digest.clone())).unwrap();
        (request, question, keeps(&digest_without_line()))
    };
    fn digest_without_line() -> String {
        let text = format!(
            "[dataset.t]\n{VISITS}[[release]]\nname = 'n'\nsql = 'SELECT COUNT(*) AS n FROM t'\ncost = {{ epsilon = '1' }}\n"
        );
        let project = project(&text);
        request_digest(&project, &Runner::new(&project).plan(&project.releases[0]).unwrap()).unwrap()
    }
    fn flag(cost: &str) -> crate::project::Cost {
        cost.replace(['\'', ' '], "").parse().unwrap()
    }
    let (line, unsaid, said) = ("cost_scope = 'presence'\n", "epsilon = '1'", "epsilon = '1', scope = 'presence'");
    let (usual, question, is_kept) = digests("", unsaid);
    assert!(is_kept);
    assert_eq!(usual, digest_without_line());
    assert_eq!(digests("cost_scope = 'person'\n", unsaid), (usual.clone(), question.clone(), true));
    let (other, other_question, is_kept) = digests(line, unsaid);
    assert!(other != usual && other_question != question && !is_kept, "another claim is another charge");
    assert_eq!(digests("", said), (other.clone(), other_question.clone(), false), "said there or here");
    assert_eq!(digests(line, said), (other, other_question, false));
    assert!(digests(line, "epsilon = '1', scope = 'person'").2, "and what was published stays published");
    assert!(!digests(line, "epsilon = '2', scope = 'person'").2);
}

/// What the digests of requests were before projects had a scope for costs: published releases are found by them.
#[test]
fn digests_of_projects_without_the_line_stay_what_they_are() {
    let text = "[dataset.t]\nsource = 'a.csv'\ncolumns = { x = { type = 'bool' } }\n\
                [[release]]\nname = 'n'\nsql = 'SELECT COUNT(*) AS n FROM t'\ncost = { epsilon = 1 }\n";
    let project = project(text);
    let planned = Runner::new(&project).plan(&project.releases[0]).unwrap();
    // What was hashed, word for word.
    let said = r#"{"fields":{"cost":{"epsilon":"1"},"name":"n","sql":"SELECT count(*) AS n FROM t"},"kind":"sql","tables":{"t":{"graph":null,"groups":null,"owners":null,"rows":null,"rows_per_group":null}}}"#;
    assert_eq!(request_digest(&project, &planned).unwrap(), crate::digest(said.as_bytes()));
}
