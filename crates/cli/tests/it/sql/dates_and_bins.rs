//! Dates and times, as a user has them: in files, in declarations, in queries.

use crate::support::{Folder, refused};
use scumble_testing::projects::{FLIGHTS as PROJECT, FLIGHTS_ROWS as FLIGHTS};
use serde_json::Value;

fn folder() -> Folder {
    Folder::with(&[("flights.csv", FLIGHTS), ("scumble.toml", PROJECT)])
}

/// The rows of an answer with hardly any noise.
fn rows(folder: &Folder, sql: &str) -> Vec<Value> {
    let answer = folder.json(&["query", sql, "--cost", "epsilon=100000", "--json"]);
    answer["rows"].as_array().unwrap_or_else(|| panic!("{answer}")).clone()
}

/// One column of them.
fn column(folder: &Folder, sql: &str, name: &str) -> Vec<Value> {
    rows(folder, sql).iter().map(|row| row[name].clone()).collect()
}

fn sentence(folder: &Folder, sql: &str, words: &str) {
    refused(&folder.run(&["query", sql, "--cost", "epsilon=1"]), 2, words);
}

/// Every month of the declared year is a group, also where nobody flew; dates outside count as the bounds, what is
/// missing is in none.
#[test]
fn months_are_a_public_domain() {
    let folder = folder();
    for key in ["DATE_TRUNC('month', day)", "EXTRACT(MONTH FROM day)", "date_part('month', day)"] {
        let sql = format!("SELECT {key} AS month, COUNT(*) AS n FROM flights GROUP BY {key}");
        let counts: Vec<i64> = column(&folder, &sql, "n").iter().map(|n| n.as_i64().unwrap()).collect();
        assert_eq!(counts, [3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], "{key}");
    }
    let months = column(
        &folder,
        "SELECT DATE_TRUNC('month', departs) AS month, COUNT(*) AS n FROM flights GROUP BY month",
        "month",
    );
    assert_eq!(months.len(), 12);
    assert_eq!((&months[0], &months[11]), (&"2013-01-01T00:00:00".into(), &"2013-12-01T00:00:00".into()));
    // By the clock on the wall of Berlin: the first flight left on 1 February, the third in summer time; the last one
    // counts as the upper bound.
    let days =
        rows(&folder, "SELECT CAST(departs AS DATE) AS day, COUNT(*) AS n FROM flights GROUP BY 1 HAVING COUNT(*) > 0");
    let shown: Vec<(&str, i64)> =
        days.iter().map(|row| (row["day"].as_str().unwrap(), row["n"].as_i64().unwrap())).collect();
    assert_eq!(shown, [("2013-02-01", 1), ("2013-02-28", 1), ("2013-03-31", 1), ("2013-12-31", 2)]);
    let hours =
        rows(&folder, "SELECT EXTRACT(HOUR FROM departs) AS hour, COUNT(*) AS n FROM flights GROUP BY 1 ORDER BY 1");
    let there: Vec<i64> = hours.iter().filter(|row| row["n"] != 0).map(|row| row["hour"].as_i64().unwrap()).collect();
    assert_eq!((hours.len(), there), (24, vec![0, 1, 12, 23]));
}

#[test]
fn arithmetic_comparisons_and_extremes() {
    let folder = folder();
    let sql = "SELECT COUNT(*) FILTER (WHERE day < DATE '2013-03-01') AS early, COUNT(*) FILTER (WHERE day >= '2013-12-31') AS late, \
               COUNT(*) FILTER (WHERE day + INTERVAL '1 month' > DATE '2013-12-31') AS next, SUM(day - DATE '2013-01-01') AS days, \
               MIN(day) AS first, MAX(departs) AS last, AVG(EXTRACT(YEAR FROM day)) AS year, COUNT(DISTINCT day) AS different FROM flights";
    let row = rows(&folder, sql).remove(0);
    assert_eq!((&row["early"], &row["late"], &row["next"]), (&4.into(), &1.into(), &1.into()), "{row}");
    assert_eq!(row["days"].as_f64().unwrap().round(), 30.0 + 58.0 + 364.0);
    assert_eq!((&row["first"], &row["last"]), (&"2013-01-01".into(), &"2013-12-31T23:59:59".into()), "{row}");
    assert_eq!((row["year"].as_f64().unwrap().round(), &row["different"]), (2013.0, &4.into()));
}

/// The same table as JSON lines, and the kinds that take dates.
#[test]
fn json_lines_and_kinds() {
    let lines: String = FLIGHTS
        .lines()
        .skip(1)
        .map(|line| {
            let (day, departs) = line.split_once(',').unwrap();
            format!("{{\"day\": \"{day}\", \"departs\": \"{departs}\"}}\n")
        })
        .collect();
    let releases = r#"
[[release]]
name = "days"
kind = "histogram"
table = "flights"
column = "day"
cost = { epsilon = 100000 }
[[release]]
name = "below"
kind = "cdf"
table = "flights"
column = "day"
cost = { epsilon = 100000 }
[[release]]
name = "middle"
kind = "quantiles"
table = "flights"
column = "departs"
quantiles = [0, 0.5, 1]
cost = { epsilon = 100000 }
"#;
    let project = PROJECT.replace("flights.csv", "flights.jsonl") + releases;
    let folder = Folder::with(&[("flights.jsonl", &lines), ("scumble.toml", &project)]);
    folder.stdout(&["release"]);
    let days = folder.json_file("out/days.json")["answers"].clone();
    assert_eq!(days["rows"].as_array().unwrap().len(), 365);
    let of = |rows: &Value, name: &str, day: &str| {
        let row = rows["rows"].as_array().unwrap().iter().find(|row| row["day"] == day).unwrap().clone();
        row[name].as_f64().unwrap().round()
    };
    assert_eq!((of(&days, "count", "2013-01-01"), of(&days, "count", "2013-01-02")), (2.0, 0.0));
    let below = folder.json_file("out/below.json")["answers"].clone();
    assert_eq!((of(&below, "count", "2013-01-31"), of(&below, "count", "2013-12-31")), (3.0, 5.0));
    let middle = folder.json_file("out/middle.json")["answers"].clone();
    let values: Vec<&str> =
        middle["rows"].as_array().unwrap().iter().map(|row| row["value"].as_str().unwrap()).collect();
    assert_eq!((values[0], values[2]), ("2013-02-01T00:30:00", "2013-12-31T23:59:59"));
    assert!(folder.read("out/days.csv").contains("2013-01-01,2,"));
}

/// Without bounds no groups are listed: years are selected privately, and sums need bounds.
#[test]
fn dates_without_bounds() {
    let project = "[dataset.flights]\nsource = \"flights.csv\"\n[dataset.flights.columns]\nday = { type = \"date\" }\n";
    let folder = Folder::with(&[("flights.csv", FLIGHTS), ("scumble.toml", project)]);
    let sql = "SELECT EXTRACT(YEAR FROM day) AS year, COUNT(*) AS n FROM flights GROUP BY 1";
    let answer = folder.json(&["query", sql, "--cost", "epsilon=1000,delta=1e-6", "--json"]);
    let years: Vec<i64> = answer["rows"].as_array().unwrap().iter().map(|row| row["year"].as_i64().unwrap()).collect();
    assert_eq!(years, [2013], "the others have one row each");
    sentence(&folder, "SELECT MAX(day) AS d FROM flights", "MAX");
    sentence(
        &folder,
        "SELECT MAX(day) AS d FROM flights",
        "needs bounds: declare public lower and upper for day in the project file",
    );
}

/// Bins, other words and what a public table lists, in CSV files: each value by itself, before anything is counted.
#[test]
fn bins_maps_and_key_sets() {
    let project = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
age = { type = "int", bins = [0, 18, 65] }
size = { type = "float", bins = [1.5, 1.8], labels = ["small", "tall"] }
born = { type = "date", bins = ["1950-01-01", "2000-01-01"] }
sex = { type = "category", values = ["female", "male"], map = { F = "female", f = "female", m = "male" } }
carrier = { type = "category", values = { table = "airlines", column = "name" }, unlisted = "other" }
[dataset.airlines]
source = "airlines.csv"
public = true
[dataset.airlines.columns]
name = { type = "category" }
"#;
    let people = "age,size,born,sex,carrier\n-3,1.2,1900-05-05,F,UA\n17,1.8,1999-12-31,f,UA\n18,NaN,2000-01-01,m,XX\n64,1.79,,male,\n99,inf,2013-05-05,x,AA\n,,,,YY\n";
    let folder =
        Folder::with(&[("people.csv", people), ("airlines.csv", "name\nUA\nDL\nAA\nUA\n"), ("scumble.toml", project)]);
    let counts = |key: &str| -> Vec<(String, i64)> {
        let sql = format!("SELECT {key}, COUNT(*) AS n FROM people GROUP BY {key}");
        rows(&folder, &sql)
            .iter()
            .map(|row| (row[key].as_str().unwrap().to_string(), row["n"].as_i64().unwrap()))
            .collect()
    };
    let of = |list: &[(&str, i64)]| list.iter().map(|(name, n)| (name.to_string(), *n)).collect::<Vec<_>>();
    assert_eq!(counts("age"), of(&[("0 to 17", 2), ("18 to 64", 2), ("65 or more", 1)]));
    assert_eq!(counts("size"), of(&[("small", 2), ("tall", 2)]));
    assert_eq!(counts("born"), of(&[("1950-01-01 to 1999-12-31", 2), ("2000-01-01 or later", 2)]));
    assert_eq!(counts("sex"), of(&[("female", 2), ("male", 2)]));
    assert_eq!(counts("carrier"), of(&[("AA", 1), ("DL", 0), ("UA", 2), ("other", 2)]));
    // What a column was made of is part of what the ledger remembers.
    folder.write("scumble.toml", &project.replace("[0, 18, 65]", "[0, 21, 65]"));
    sentence(
        &folder,
        "SELECT COUNT(*) AS n FROM people",
        "table 'people' is not what earlier releases of this ledger read: its column 'age' was",
    );
    folder.write("scumble.toml", project);
    folder.write("airlines.csv", "name\nUA\nDL\n");
    sentence(&folder, "SELECT COUNT(*) AS n FROM people", "its column 'carrier' was");
}

/// `year=2013/month=01/…`: what folders are called after are columns like others.
#[test]
fn folders_that_are_called_after_values() {
    let project = r#"
[dataset.flights]
source = "flights"
[dataset.flights.columns]
year = { type = "int", lower = 2012, upper = 2014 }
airport = { type = "category" }
delay = { type = "int", lower = 0, upper = 100 }
"#;
    let folder = Folder::with(&[("scumble.toml", project)]);
    for (path, text) in [
        ("year=2013/airport=J%C3%A9r", "delay\n1\n2\n"),
        ("year=2014/airport=JFK", "delay\n30\n"),
        ("year=1999/airport=__HIVE_DEFAULT_PARTITION__", "delay\n70\n"),
    ] {
        std::fs::create_dir_all(folder.file("flights").join(path)).unwrap();
        folder.write(&format!("flights/{path}/part.csv"), text);
    }
    let sums: Vec<f64> = column(&folder, "SELECT year, SUM(delay) AS s FROM flights GROUP BY year", "s")
        .iter()
        .map(|sum| sum.as_f64().unwrap().round())
        .collect();
    assert_eq!(sums, [70.0, 3.0, 30.0]);
    let sql =
        "SELECT COUNT(airport) AS known, COUNT(*) AS n, COUNT(*) FILTER (WHERE airport = 'Jér') AS j FROM flights";
    let row = rows(&folder, sql).remove(0);
    assert_eq!((&row["known"], &row["n"], &row["j"]), (&3.into(), &4.into(), &2.into()), "{row}");
    for (path, words) in [
        (
            "flights/year=abc/airport=X",
            "the value of column 'year' in the name of the folder is declared as int and is not a whole number",
        ),
        ("flights/year=2012", "do not name the same columns"),
        ("flights/summer", "which is not called after a column's value, as in year=2013"),
    ] {
        std::fs::create_dir_all(folder.file(path)).unwrap();
        folder.write(&format!("{path}/part.csv"), "delay\n1\n");
        refused(&folder.run(&["check"]), 2, words);
        std::fs::remove_dir_all(folder.file(path.split("/airport").next().unwrap())).unwrap();
    }
    folder.write("flights/year=2014/airport=JFK/part.csv", "delay,year\n1,2\n");
    refused(
        &folder.run(&["check"]),
        2,
        "column 'year' is in the file and in the name of its folder; write the file without it",
    );
}

/// The backend knows no middle of dates: the sentence says what to write instead, and that is answered.
#[test]
fn medians_of_dates_and_times() {
    let rows: String = (1..=28).map(|day| format!("2013-02-{day:02},2013-02-{day:02}T12:00:00\n")).collect();
    let quantiles = "[[release]]\nname = \"middle\"\nkind = \"quantiles\"\ntable = \"flights\"\ncolumn = \"day\"\nquantiles = [0.5]\ncost = { epsilon = 100000 }\n";
    let folder = Folder::with(&[
        ("flights.csv", &format!("day,departs\n{rows}")),
        ("scumble.toml", &format!("{PROJECT}{quantiles}")),
    ]);
    for middle in ["MEDIAN(day)", "MEDIAN(departs)", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY day)"] {
        sentence(
            &folder,
            &format!("SELECT {middle} AS middle FROM flights"),
            "takes numbers: write MEDIAN(day - DATE '2000-01-01')",
        );
    }
    // 44 or 45 days after New Year is 14 or 15 February.
    let days = column(&folder, "SELECT MEDIAN(day - DATE '2013-01-01') AS middle FROM flights", "middle");
    assert!([44.0, 45.0].contains(&days[0].as_f64().unwrap()), "{days:?}");
    folder.stdout(&["release"]);
    let said = folder.read("out/middle.csv");
    assert!(said.contains("2013-02-14") || said.contains("2013-02-15"), "{said}");
}
