//! Error bars of numbers that are computed from noisy ones: some were 0, or far too narrow.

use crate::fixtures::named_people::usual;
use crate::support::Folder;
use serde_json::Value;

/// 4,000 flights with one airline and 2 with another; three in ten are late, by 30 minutes. All columns of the query
/// are those whose error bars were wrong.
fn folder() -> Folder {
    let mut rows = String::from("airline,delay\n");
    (0..4000).for_each(|flight| rows.push_str(if flight % 10 < 3 { "big,30\n" } else { "big,0\n" }));
    rows.push_str("small,30\nsmall,0\n");
    let project = r#"
[dataset.flights]
source = "flights.csv"
[dataset.flights.columns]
airline = { type = "category", values = ["big", "small"] }
delay = { type = "int", lower = -60, upper = 60 }
[budget]
person = { epsilon = 4 }
[[release]]
name = "delays"
cost = { epsilon = 2 }
sql = """SELECT airline,
  COUNT(*) FILTER (WHERE delay > 15) * 100.0 / COUNT(*) AS late,
  SUM(delay) / COUNT(*) AS whole,
  VAR(delay) AS variance, STDDEV_POP(delay) AS deviation,
  ROUND(AVG(delay), 1) AS mean,
  ROUND(COUNT(*), -2) AS flights,
  CASE WHEN COUNT(*) > 4001 THEN 1 ELSE 0 END AS many
FROM flights GROUP BY airline"""
"#;
    Folder::with(&[("scumble.toml", project), ("flights.csv", &rows)])
}

/// The true values for the big airline, and how wide an interval may be that still says something.
const TRUTH: [(&str, f64, f64); 6] = [
    ("late", 30.0, 4.0),
    ("variance", 189.0, 80.0),
    ("deviation", 13.75, 3.0),
    ("mean", 9.0, 2.0),
    ("flights", 4000.0, 300.0),
    ("whole", 9.0, 3.0),
];

fn ends(row: &Value, name: &str) -> (f64, f64) {
    let end = |index: usize, all: f64| match &row[format!("{name}_interval")][index] {
        Value::String(word) if word == "unbounded" => all,
        number => number.as_f64().unwrap_or_else(|| panic!("{name}: {row}")),
    };
    (end(0, f64::NEG_INFINITY), end(1, f64::INFINITY))
}

/// Whatever the noise is (except with probability 1e-9): a threshold one step above the count is within its reach, and
/// no truth is 20 half widths away.
#[test]
fn no_number_is_certain_and_large_groups_have_narrow_intervals() {
    let folder = folder();
    folder.stdout(&["release"]);
    let answer = &folder.json_file("out/delays.json")["answers"];
    let (big, small) = (&answer["rows"][0], &answer["rows"][1]);
    for (name, truth, width) in TRUTH {
        let (low, high) = ends(big, name);
        assert!(low < high && high - low < width, "{name}: {big}");
        let (middle, half) = ((low + high) / 2.0, (high - low) / 2.0);
        assert!((middle - truth).abs() < 20.0 * half, "{name}: {big}");
        assert!(big[format!("{name}_error")].as_f64().unwrap() > 0.0, "{name}: {big}");
        // What was divided by 0 is no number.
        if !small[name].is_null() {
            let (low, high) = ends(small, name);
            assert!(low < high, "{name}: {small}");
        }
    }
    // Both values of a threshold within the noise's reach.
    assert_eq!(ends(big, "many"), (0.0, 1.0));
    // Two rows, and noise of several: nothing is known of their quotients, and that is a word.
    let csv = folder.read("out/delays.csv");
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let row: Vec<&str> = csv.lines().nth(2).unwrap().split(',').collect();
    let error = row[header.iter().position(|name| *name == "late_se").unwrap()];
    if small["late"].is_null() {
        assert_eq!(error, "");
    } else if ends(small, "late") == (f64::NEG_INFINITY, f64::INFINITY) {
        assert_eq!((error, &small["late_error"]), ("unbounded", &Value::from("unbounded")));
        assert!(folder.read("out/report.html").contains(" (unbounded)"));
    }
    // Means and variances are within what is declared.
    let within = |name: &str, least: f64, most: f64| {
        let (low, high) = ends(small, name);
        assert!(least <= low && low < high && high <= most, "{name}: {small}");
    };
    within("variance", 0.0, 7200.0);
    within("deviation", 0.0, 60.0);
    within("mean", -60.0, 60.0);
}

/// `ROUND(COUNT(*), -2)` was planned with an error of 0, because it is the same one standard deviation up and down.
#[test]
fn no_error_of_zero_is_planned() {
    let folder = folder();
    let plan = folder.json(&["plan", "--json"]);
    let expected = plan["releases"][0]["errors"].as_array().unwrap();
    assert_eq!(expected.len(), 7, "{plan}");
    for column in expected {
        let assumed = &column["assumed"];
        assert!(column["standard_error"].is_null(), "{column}");
        match column["column"].as_str().unwrap() {
            "many" => {
                assert!(column["about"].as_str().unwrap().contains("depends on the released numbers"), "{column}")
            }
            _ => assert!(
                assumed["standard_error"].as_f64().unwrap() > 0.0 && assumed["least"].as_f64().unwrap() > 0.0,
                "{column}"
            ),
        }
    }
}

/// The rows of a window had intervals of two nothings; and bars beside a median were called by it.
#[test]
fn where_there_is_no_interval_there_is_none() {
    let folder = usual();
    // Numbers decide which rows such a window reads.
    let sql = "SELECT sex, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY COUNT(*)) AS s FROM people GROUP BY sex";
    let shown = folder.json(&["query", sql, "--cost", "epsilon=0.5", "--json", "--quiet"]);
    let row = &shown["rows"][0];
    assert!(
        row["n_interval"].is_array() && row["s_interval"] == Value::Null && row["s_error"] == Value::Null,
        "{row:#}"
    );
    let sql = "SELECT sex, COUNT(*) AS n, MEDIAN(age) AS m FROM people GROUP BY sex";
    folder.stdout(&["query", sql, "--cost", "epsilon=0.5", "--quiet", "--name", "median"]);
    let picture = folder.read("out/median.svg");
    assert!(picture.contains(">f</text>") && picture.contains(">m</text>"), "{picture}");
}
