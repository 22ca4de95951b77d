//! Refusals of queries, in the words of SQL and of the project; and advice that is answered when it is followed.

use crate::fixtures::named_people::{self, refused_query, usual};
use crate::support::Folder;

const VISITS: &str = r#"
[dataset.visits]
source = "visits.csv"
owner = "person"
max_rows_per_owner = 3
[dataset.visits.columns]
clinic = { type = "category", values = ["a", "b"] }
reason = { type = "category" }
day = { type = "date", lower = "2013-01-01", upper = "2013-12-31" }
begun = { type = "timestamp", lower = "2013-01-01T00:00:00", upper = "2013-12-31T23:59:59", zone = "Europe/Berlin" }
minutes = { type = "int", lower = 0, upper = 100 }
cost = { type = "float", lower = 0, upper = 10 }
urgent = { type = "bool" }
[dataset.wards]
source = "wards.csv"
public = true
[dataset.wards.columns]
clinic = { type = "category" }
city = { type = "category" }
beds = { type = "int", lower = 0, upper = 10 }
"#;

const ROWS: &str = "person,clinic,reason,day,begun,minutes,cost,urgent\n\
                    1,a,x,2013-07-03,2013-07-03T12:00:00,10,1.5,true\n\
                    2,b,y,2013-07-03,2013-07-03T10:00:00Z,20,2.5,false\n";

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
        folder.run(&["query", &sql, "--cost", "epsilon=1e6", "--json", "--ledger", &format!("{}.ledger", zone.len())])
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

#[test]
fn refusals_are_in_the_words_of_sql() {
    let folder = folder();
    for (sql, words) in [
        ("SELECT CORR(cost, clinic) AS r FROM visits", "query:1:8: CORR does not take what it is given here"),
        ("SELECT CORR(cost) AS r FROM visits", "another number of values is needed"),
        ("SELECT SUM(SQRT(clinic)) AS r FROM visits", "query:1:12: SQRT does not take"),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE clinic IN (SELECT clinic, city FROM wards)",
            "takes a sub-query of one column",
        ),
        ("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY 5", "count those of the SELECT from 1 on"),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE day < DATE '2013-02-01' + INTERVAL '1 fortnight'",
            "with years, months, weeks",
        ),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE day < DATE '2013-02-01' + minutes * INTERVAL '1 day'",
            "an interval that is written out",
        ),
        (
            "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic LIMIT -1",
            "LIMIT and OFFSET take a whole number that is not negative",
        ),
        (
            "SELECT AVG(r) AS a FROM (SELECT person, ROW_NUMBER() OVER () AS r FROM visits GROUP BY person)",
            "query:1:54: a window function (OVER)",
        ),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE clinic IN (SELECT clinic FROM wards WHERE wards.beds = visits.minutes)",
            "a column outside of the sub-query",
        ),
        ("SELECT MIN(reason) AS n FROM visits", "needs numbers, not texts"),
        (
            "SELECT AVG(f) AS a FROM (SELECT person, MAX(day) - MIN(day) AS f FROM visits GROUP BY person)",
            "day - DATE '2000-01-01'",
        ),
        ("SELECT COUNT(*) AS n FROM visits WHERE SUBSTR(clinic) = 'a'", "SUBSTR takes a text and a place"),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE day + INTERVAL '300 years' > DATE '2013-02-01'",
            "visits.day + INTERVAL '3600 MONS' may be before 1678",
        ),
        ("SELECT SUM(MOD(minutes, 0)) AS n FROM visits", "divide by a number that is not 0"),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE day = 5",
            "visits.day is a date or a time and is compared with a number: write DATE '2013-12-31'",
        ),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE minutes IN (SELECT clinic FROM wards)",
            "visits.minutes holds whole numbers, and the sub-query behind IN gives texts",
        ),
        ("SELECT version() AS v, COUNT(*) AS n FROM visits", "version() says nothing about rows"),
        (
            "SELECT TO_CHAR(day, 'YYYY-MM') AS m, COUNT(*) AS n FROM visits GROUP BY TO_CHAR(day, 'YYYY-MM')",
            "TO_CHAR takes a format with percent signs here",
        ),
        ("SELECT FLOOR(cost / 2) AS k, COUNT(*) AS n FROM visits GROUP BY FLOOR(cost / 2)", "CAST(FLOOR(x) AS BIGINT)"),
        ("SELECT AVG(CAST(urgent AS INT)) AS a FROM visits", "of a truth value, write CASE WHEN … THEN 1 ELSE 0 END"),
        ("SELECT COUNT(*) AS \"\" FROM visits", "a published column has no name; give it one behind AS"),
        (
            "SELECT COUNT(*) AS n FROM visits v, wards w WHERE v.minutes > w.beds",
            "query:1:22: a join needs ON with equal columns of both tables",
        ),
    ] {
        let said = folder.refused(&["query", sql, "--cost", "epsilon=0.1"], 2, words);
        let raw = [
            "Error during planning",
            "Int64",
            "Utf8",
            "Float64",
            "Date32",
            "DataFusion",
            "Arrow",
            "IntervalMonth",
            "scumble_",
        ];
        assert!(!raw.iter().any(|raw| said.contains(raw)), "{said}");
    }
    assert!(!folder.file("scumble.ledger").exists(), "something was charged");
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

/// Queries whose refusals were the planner's own, or that were answered with 0 at their full price.
#[test]
fn queries_are_refused_in_our_words() {
    let folder = usual();
    let texts =
        "name holds texts and is compared with a number: write the text in single quotes, or CAST(name AS BIGINT)";
    for condition in ["name > 5", "5 = name", "name IN (5, 6)", "name BETWEEN 1 AND 6"] {
        refused_query(&folder, &format!("SELECT COUNT(*) AS n FROM people WHERE {condition}"), texts);
    }
    for (sql, words) in [
        (
            "SELECT COUNT(*) AS n FROM people WHERE sex = \"male\"",
            "query:1:47: there is no declared column 'male' (did you mean 'age'?); if it is a text, write it in single quotes: 'male'",
        ),
        (
            "SELECT SUM(COUNT(*)) AS n FROM people",
            "query:1:8: an aggregate stands inside of another: leave one of them out",
        ),
        ("SELECT TOP 5 COUNT(*) AS n FROM people", "TOP is not answered; write ORDER BY … LIMIT …"),
        (
            "SELECT COUNT(*) AS n FROM people WHERE name SIMILAR TO 'a%'",
            "SIMILAR TO is not answered on private rows; write LIKE",
        ),
        (
            "SELECT COUNT(*) AS n FROM people WHERE DATE '2020-13-45' > DATE '2020-01-01'",
            "query:1:46: 2020-13-45 is no date or time from 1678 to 2261",
        ),
    ] {
        refused_query(&folder, sql, words);
    }
    let cast = "SELECT COUNT(*) AS n FROM people WHERE CAST(name AS BIGINT) > 5";
    folder.stdout(&["query", cast, "--cost", "epsilon=0.1", "--quiet"]);
    // Of types that do not go together.
    let folder = usual();
    let arithmetic = "a text, a truth value or a date stands where arithmetic needs a number";
    let truth = "something that is no truth value stands where one is needed";
    for (condition, words) in [
        ("name + 1 > 5", arithmetic),
        ("name * 2 = 4", arithmetic),
        ("-name = 4", arithmetic),
        ("age + 'x' > 5", arithmetic),
        ("NOT age", truth),
        ("age", truth),
        ("age LIKE 5", "LIKE compares texts"),
        ("ABS(name) > 1", "ABS does not take what it is given here"),
    ] {
        refused_query(&folder, &format!("SELECT COUNT(*) AS n FROM people WHERE {condition}"), words);
    }
}

/// A share that buys no noise was refused by the noise, which nobody had given a scale.
#[test]
fn a_share_that_is_too_small_is_said_to_be() {
    let project = |share: &str| {
        format!(
            "[dataset.visits]\nsource = \"people.csv\"\nowner = \"name\"\nmax_rows_per_owner = 3\n\
             [dataset.visits.columns]\nsex = {{ type = \"category\", values = [\"f\", \"m\"] }}\n\
             [[release]]\nname = \"r\"\nsql = \"SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex\"\ncost = {{ epsilon = 0.5 }}\nbounding_report = {{ share = {share} }}\n"
        )
    };
    for share in ["1e-17", "1e-30"] {
        let words = "what is set aside of the cost (the share of bounding_report) is too small for any noise: give it a larger share, such as 0.05";
        let said = named_people::folder(&project(share)).refused(&["plan"], 2, words);
        assert!(said.contains("scumble.toml:"), "{said}");
    }
    named_people::folder(&project("0.05")).stdout(&["plan"]);
}

/// A name that was refused for standing beside a number did not say beside which.
#[test]
fn a_clash_of_names_says_of_which() {
    let folder = usual();
    let words = "two published columns would be called 'n_error', because beside the noisy column 'n' stand its error, its interval and its rank error, called so; give one of them another name";
    refused_query(&folder, "SELECT COUNT(*) AS n, AVG(age) AS n_error FROM people", words);
    refused_query(&folder, "SELECT AVG(age) AS n_error, COUNT(*) AS n FROM people", words);
}
