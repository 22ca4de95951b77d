//! What a second trial of the command line found: answers that were wrong without a word, advice that failed when it was followed, and words of a library that no user knows.

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

/// A line of names that header repeats was counted as a person.
#[test]
fn a_header_that_stands_in_the_file_is_refused() {
    let project =
        "[dataset.t]\nsource = \"t.csv\"\nheader = [\"id\", \"x\"]\n[dataset.t.columns]\nx = { type = \"category\" }\n";
    let folder = Folder::with(&[("scumble.toml", project), ("t.csv", "id,x\n1,a\n2,b\n")]);
    let words = "t.csv:1: the first line holds the names that header gives, and would count as a row: leave header out";
    folder.refused(&["check"], 2, words);
    folder.refused(&["query", "SELECT COUNT(*) AS n FROM t", "--cost", "epsilon=1"], 2, words);
    folder.write("t.csv", "1,a\n2,b\n");
    folder.stdout(&["check"]);
}

/// NA among texts was a text, and NA among owners a person, without a word.
#[test]
fn words_for_missing_values_are_hinted_at() {
    let project = "[dataset.t]\nsource = \"t.csv\"\nowner = \"id\"\nmax_rows_per_owner = 1\n[dataset.t.columns]\nx = { type = \"category\" }\n";
    let folder = Folder::with(&[("scumble.toml", project), ("t.csv", "id,x\n1,a\n2,NA\n")]);
    let said = folder.stdout(&["check"]);
    let hint = "t.csv:3: column 'x' holds NA here, and it counts as a text like any other (if this stands for a missing value, say null = [\"NA\"] for the table)";
    assert!(said.contains(hint), "{said}");
    folder.write("t.csv", "id,x\nNULL,a\n2,b\n");
    let said = folder.stdout(&["check"]);
    assert!(said.contains("t.csv:2: column 'id' holds NULL here, and all rows with it belong to one owner"), "{said}");
    folder.write("scumble.toml", &project.replace("\nowner =", "\nnull = [\"NULL\", \"NA\"]\nowner ="));
    assert!(!folder.stdout(&["check"]).contains("holds NULL"));
}

/// 2,500 is either of two numbers, a thousand times apart: neither is proposed.
#[test]
fn signs_between_thousands_are_not_taken_for_decimals() {
    let project = "[dataset.t]\nsource = \"t.csv\"\nseparator = \";\"\n[dataset.t.columns]\nx = { type = \"float\", lower = 0, upper = 5000 }\n";
    let folder = Folder::with(&[("scumble.toml", project), ("t.csv", "id;x\n1;2,500\n")]);
    let said = folder.refused(&["check"], 2, "it seems to have signs between thousands: write it without them");
    assert!(!said.contains("decimal"), "{said}");
    folder.write("t.csv", "id;x\n1;2,5\n");
    folder.refused(&["check"], 2, "if numbers have a decimal ',', say decimal = \",\"");
    folder.write("scumble.toml", &project.replace("separator", "decimal = \",\"\nseparator"));
    folder.write("t.csv", "id;x\n1;1.234,5\n");
    folder.refused(&["check"], 2, "it seems to have signs between thousands");
}

/// What stands for a missing value in files does so in the names of their folders.
#[test]
fn missing_values_in_the_names_of_folders() {
    let project = "[dataset.t]\nsource = \"h\"\nnull = [\"NA\"]\n[dataset.t.columns]\nyear = { type = \"int\", lower = 2000, upper = 2020 }\n";
    let folder = Folder::with(&[("scumble.toml", project)]);
    for year in ["NA", "2013"] {
        std::fs::create_dir_all(folder.file(&format!("h/year={year}"))).unwrap();
        folder.write(&format!("h/year={year}/a.csv"), "x\n1\n");
    }
    let answer =
        folder.json(&["query", "SELECT COUNT(*) AS n, COUNT(year) AS y FROM t", "--cost", "epsilon=1e6", "--json"]);
    assert_eq!((answer["rows"][0]["n"].as_f64(), answer["rows"][0]["y"].as_f64()), (Some(2.0), Some(1.0)));
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

/// Files that are no tables of texts say so.
#[test]
fn files_that_are_no_csv_are_named() {
    let folder = Folder::with(&[]);
    std::fs::write(folder.file("sheet.csv"), b"PK\x03\x04\x14\0\x06\0\x08\0").unwrap();
    folder.refused(
        &["init", "sheet.csv", "--no-owner"],
        2,
        "is a packed archive, such as a workbook of Excel, and no text: save the sheet as CSV",
    );
    let wide: Vec<u8> = "id,x\n1,a\n".bytes().flat_map(|byte| [byte, 0]).collect();
    std::fs::write(folder.file("wide.csv"), wide).unwrap();
    folder.refused(&["init", "wide.csv", "--no-owner"], 2, "--encoding \"utf-16le\"");
}

/// A name in other letters is hinted at, also where no other column was found.
#[test]
fn names_in_other_letters_are_hinted_at() {
    let project =
        "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\nx = { type = \"int\", lower = 0, upper = 9 }\n";
    let folder = Folder::with(&[("scumble.toml", project), ("t.csv", "id,X\n1,2\n")]);
    folder.refused(&["check"], 2, "t.csv has no column 'x' (did you mean 'X'?)");
}
