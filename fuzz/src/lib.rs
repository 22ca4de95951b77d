//! What must hold for any bytes, one function for each thing that people hand us: a project file, JSON events, a query, a ledger, a CSV file.
//!
//! Each panics where something does not hold. Fuzzers call them (`fuzz_targets/`, nightly), and so does a test of the engine
//! (`crates/engine/tests/it/fuzz.rs`, stable, sharing the build of all tests), which includes this file.

use scumble::loss::Loss;
use scumble::noise::InsecureSeededSource;
use scumble_engine::check::check;
use scumble_engine::ledger::Ledger;
use scumble_engine::project::Project;
use scumble_engine::release::Runner;
use scumble_engine::{Error, ErrorKind, Result};
use scumble_wire::AccountQuestion;
use std::fs;
use std::path::Path;

/// Wrong input is refused as wrong input, in a sentence: a failure of the machine here would be a panic that was caught.
fn refused(error: &Error) {
    assert!(
        matches!(error.kind(), ErrorKind::Input | ErrorKind::Budget),
        "wrong input failed as the machine's: {error:?}"
    );
    assert!(!error.to_string().trim().is_empty(), "a refusal without words");
}

/// A project file: read, and its first releases planned, or refused.
pub fn project(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let project = match Project::parse(Path::new("scumble.toml"), text) {
        Ok(project) => project,
        Err(error) => return refused(&error),
    };
    for request in project.releases.iter().take(2) {
        if let Err(error) = Runner::new(&project).plan(request) {
            refused(&error);
        }
    }
}

/// A JSON document: an event that is read is written and read again as the same; what has a cost has bounds on the right side of each other.
pub fn events(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(document) = scumble_wire::parse(text) else { return };
    let _ = scumble_wire::attacker_from_json(&document);
    let _ = scumble_wire::calibration_from_json(&document);
    let Ok(account) = scumble_wire::account_from_json(&document) else { return };
    for event in &account.events {
        let written = scumble_wire::event_to_json(event);
        let again = scumble_wire::event_from_json(&written).unwrap_or_else(|wrong| panic!("{written}: {wrong}"));
        assert_eq!(scumble_wire::event_to_json(&again), written, "an event is another one after a round trip");
    }
    let Ok(loss) = Loss::of(&account.events, &account.scope) else { return };
    let answer = match account.ask {
        AccountQuestion::Epsilon(delta) => loss.epsilon(delta),
        AccountQuestion::Delta(epsilon) => loss.delta(epsilon),
    };
    assert!(answer.lower <= answer.upper && answer.lower >= 0.0, "{} … {}: {document}", answer.lower, answer.upper);
}

/// A query over two tables, one with owners: planned, or refused. Nothing is read.
pub fn sql(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let quoted = serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f");
    let release = format!("[[release]]\nname = \"query\"\nsql = {quoted}\ncost = {{ epsilon = 1, delta = 1e-6 }}\n");
    let project = Project::parse(Path::new("scumble.toml"), &format!("{TABLES}{release}"));
    let project = match project {
        Ok(project) => project,
        Err(error) => return refused(&error),
    };
    match Runner::new(&project).plan(&project.releases[0]) {
        Ok(planned) => assert!(!planned.plan.events.is_empty(), "a query that costs nothing: {text}"),
        Err(error) => refused(&error),
    }
}

/// The bytes of a ledger: refused, or all of it can be read. What verifies has sums, charges and an export.
pub fn ledger(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("scumble.ledger");
    fs::write(&path, bytes).expect("a file");
    let Ok(Some(ledger)) = Ledger::open_existing(&path) else { return };
    let Ok(head) = ledger.verify() else { return };
    let all = || -> Result<usize> {
        ledger.standing(&[])?;
        ledger.export()?;
        Ok(ledger.charges()?.len())
    };
    let charges = all().unwrap_or_else(|error| panic!("a ledger that verifies cannot be read: {error}"));
    assert!(charges as u64 <= head.entries, "more charges than entries");
}

/// A CSV file: refused by the check, or read by every query without an error.
pub fn csv(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("people.csv"), bytes).expect("a file");
    let text = format!("{PEOPLE}{QUERIES}");
    let project = Project::parse(&folder.path().join("scumble.toml"), &text).expect("our own project");
    if let Err(error) = check(&project, &["people".to_string()]) {
        return refused(&error);
    }
    let runner = Runner::new(&project);
    let planned: Vec<_> =
        project.releases.iter().map(|request| runner.plan(request).expect("our own queries")).collect();
    let mut bits = InsecureSeededSource::new(1);
    if let Err(error) = runner.release(&planned, &folder.path().join("out"), &mut bits, |_| {}) {
        panic!("a file that passed its check failed a query: {error}");
    }
}

/// The choices of an adversarial query, table and neighbours as bytes; see `crates/engine/src/release/sql/generator`.
#[cfg(feature = "generator")]
pub fn adversarial(bytes: &[u8]) {
    scumble_engine::adversarial_query(bytes);
}

/// The table of [`csv`].
const PEOPLE: &str = r#"
[dataset.people]
source = "people.csv"
owner = "id"
max_rows_per_owner = 3
max_groups_per_owner = 2
max_rows_per_group = 2
[dataset.people.columns]
age = { type = "int", lower = 0, upper = 120 }
income = { type = "float", lower = 0, upper = 1000, granularity = 0.5 }
urgent = { type = "bool" }
state = { type = "category" }
disease = { type = "category", values = ["none", "flu", "hiv"] }
"#;

/// What is asked of it: each type is computed with and compared.
const QUERIES: &str = r#"
[[release]]
name = "numbers"
sql = "SELECT COUNT(*) AS n, SUM(age) AS a, AVG(income) AS i FROM people WHERE income > 2 OR urgent"
cost = { epsilon = 1 }
[[release]]
name = "texts"
sql = "SELECT disease, COUNT(*) AS n FROM people WHERE state LIKE '%a%' OR UPPER(state) < 'm' GROUP BY disease"
cost = { epsilon = 1 }
"#;

/// The tables of [`sql`].
const TABLES: &str = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
person = { type = "int", lower = 0, upper = 1000 }
age = { type = "int", lower = 0, upper = 120 }
income = { type = "float", lower = 0, upper = 1000, granularity = 0.5 }
urgent = { type = "bool" }
state = { type = "category" }
disease = { type = "category", values = ["none", "flu", "hiv"] }
[dataset.visits]
source = "visits.csv"
owner = "person"
max_rows_per_owner = 3
max_groups_per_owner = 2
max_rows_per_group = 2
[dataset.visits.columns]
clinic = { type = "category", values = ["eyes", "heart"] }
cost = { type = "float", lower = 0, upper = 2000, granularity = 1 }
"#;
