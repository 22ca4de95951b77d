//! Advice that is answered when it is followed, and keys that are shown as they were written. What is refused stands in
//! `crates/engine/tests/it/refusals`.

use crate::support::Folder;
use scumble_testing::projects::{CLINIC as VISITS, CLINIC_VISITS as ROWS};

fn folder() -> Folder {
    Folder::with(&[
        ("scumble.toml", VISITS),
        ("visits.csv", ROWS),
        ("wards.csv", "clinic,city,beds\na,Ulm,1\nb,Bonn,2\n"),
    ])
}

/// Both rows are at noon in Berlin; a time with an offset was compared with that clock as if it stood in London.
#[test]
fn a_time_with_an_offset_is_refused_where_the_clock_hangs_elsewhere() {
    let folder = folder();
    let count = |zone: &str, time: &str| {
        folder.write("scumble.toml", &VISITS.replace("Europe/Berlin", zone));
        let sql = format!("SELECT COUNT(*) AS n FROM visits WHERE begun = {time}");
        folder.run(&["query", &sql, "--cost", "epsilon=1e6", "--json", "--ledger", &format!("{}.db", zone.len())])
    };
    for time in
        ["TIMESTAMP '2013-07-03T10:00:00Z'", "'2013-07-03 12:00:00+02:00'", "CAST('2013-07-03T10:00Z' AS TIMESTAMP)"]
    {
        let said = count("Europe/Berlin", time);
        let said = String::from_utf8_lossy(&said.stderr).to_string();
        assert!(said.contains("write the time that a clock shows there, without Z or an offset"), "{said}");
    }
    let number = |zone: &str, time: &str| {
        let output = count(zone, time);
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        answer["rows"][0]["n"].as_f64().unwrap()
    };
    assert_eq!(number("Europe/Berlin", "TIMESTAMP '2013-07-03T12:00:00'"), 2.0);
    // Where the clock shows the time of moments, the second row is at ten.
    assert_eq!(number("UTC", "TIMESTAMP '2013-07-03T10:00:00Z'"), 1.0);
}

/// What was advised is answered.
#[test]
fn advice_works_when_it_is_followed() {
    let folder = folder();
    for sql in [
        "SELECT CAST(FLOOR(cost / 2) AS BIGINT) AS k, COUNT(*) AS n FROM visits GROUP BY CAST(FLOOR(cost / 2) AS BIGINT)",
        "SELECT AVG(CASE WHEN urgent THEN 1 ELSE 0 END) AS a FROM visits",
        "SELECT AVG(f) AS a FROM (SELECT person, MIN(day - DATE '2013-01-01') AS f FROM visits GROUP BY person)",
        "SELECT TO_CHAR(m, '%Y-%m') AS month, n FROM (SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY DATE_TRUNC('month', day))",
    ] {
        folder.stdout(&["query", sql, "--cost", "epsilon=1"]);
    }
}

/// Notes about groups name them as the query does.
#[test]
fn notes_show_keys_as_they_were_written() {
    let folder = folder();
    let sql = "SELECT DATE_TRUNC('month', begun) AS m, COUNT(*) AS n FROM visits GROUP BY DATE_TRUNC('month', begun)";
    let answer = folder.json(&["query", sql, "--cost", "epsilon=1", "--json"]).to_string();
    assert!(answer.contains("Rows without a value of date_trunc('month', visits.begun)"), "{answer}");
    assert!(!answer.contains("Utf8") && !answer.contains("COALESCE"), "{answer}");
}
