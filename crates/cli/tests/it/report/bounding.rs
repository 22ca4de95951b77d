//! What bounding cuts off is said: in every answer of a table with owners, by a bounding report, and where bounds are
//! chosen.

use crate::support::{Folder, epsilon, exactly};
use serde_json::Value;

const PROJECT: &str = r#"
[dataset.flights]
source = "flights.csv"
owner = "plane"
max_rows_per_owner = 8
max_groups_per_owner = 2
max_rows_per_group = 4
[dataset.flights.columns]
dest = { type = "category", values = ["ORD", "LAX", "BOS"] }
delay = { type = "int", lower = 0, upper = 60 }
[budget]
person = { epsilon = 200, delta = 1e-9 }
"#;

/// Skewed owners: most planes fly a few times, each tenth up to 60 times, mostly to ORD.
fn flights() -> (String, [f64; 3]) {
    let (mut rows, mut counts) = ("plane,dest,delay\n".to_string(), [0.0; 3]);
    for plane in 0..400usize {
        let flown = if plane % 10 == 0 { 40 + plane % 20 } else { 2 + plane % 5 };
        for flight in 0..flown {
            let dest = if flown > 10 { flight % 5 % 3 } else { (plane + flight) % 3 };
            counts[dest] += 1.0;
            rows.push_str(&format!("{plane},{},{}\n", ["ORD", "LAX", "BOS"][dest], (plane * flight) % 61));
        }
    }
    (rows, counts)
}

fn folder(releases: &str) -> (Folder, [f64; 3]) {
    let (rows, counts) = flights();
    (Folder::with(&[("scumble.toml", &format!("{PROJECT}{releases}")), ("flights.csv", &rows)]), counts)
}

const COUNTS: &str = r#"
[[release]]
name = "by destination"
sql = "SELECT dest, COUNT(*) AS n, AVG(delay) AS delay FROM flights GROUP BY dest"
cost = { epsilon = 40 }
"#;

fn interval(row: &Value, column: &str) -> (f64, f64) {
    let ends = &row[format!("{column}_interval")];
    // One time in twenty the noise says that somebody has more than the report looks at: then there is no upper end.
    (ends[0].as_f64().unwrap(), ends[1].as_f64().unwrap_or(f64::INFINITY))
}

/// Ten of ten intervals of the most frequent destinations missed the raw count, and nothing said what was counted.
#[test]
fn answers_of_tables_with_owners_say_what_they_estimate() {
    let kinds = "
[[release]]
name = \"curve\"
kind = \"cdf\"
table = \"flights\"
column = \"delay\"
cost = { epsilon = 1 }
[[release]]
name = \"tables\"
kind = \"marginals\"
table = \"flights\"
columns = [\"dest\"]
cost = { epsilon = 1, delta = 1e-9 }
";
    let (folder, _) = folder(&format!("{COUNTS}{kinds}"));
    let planned = folder.json(&["plan", "--json"]);
    let words = "of each owner at most 2 groups with at most 4 rows in each, and at most 8 rows in all count";
    assert_eq!(planned["releases"][0]["estimates"]["of"], "the bounded table");
    assert!(folder.stdout(&["plan", "--details"]).contains(words));
    folder.stdout(&["release", "--quiet"]);
    let answers = folder.json_file("out/by-destination.json")["answers"].clone();
    let note = answers["notes"][0].as_str().unwrap().to_string();
    assert!(note.contains(words) && note.contains("no error or interval covers it"), "{note}");
    assert_eq!(answers["estimates"]["bounds"]["rows_per_owner"], 8);
    for (name, words) in [("curve", "at most 8 rows count"), ("tables", "one row counts")] {
        let answers = folder.json_file(&format!("out/{}.json", name.replace(' ', "-")))["answers"].clone();
        assert!(answers["estimates"]["words"].as_str().unwrap().contains(words), "{name}: {answers}");
    }
    assert!(folder.read("out/report.html").contains(words));
}

/// The report's share is part of the cost, its intervals hold the raw counts, and that of the mean is about all rows
/// too.
#[test]
fn a_bounding_report_says_what_is_cut_off() {
    let report = "bounding_report = { share = 0.5, max_rows_per_owner = 64, max_rows_per_group = 64 }\n";
    let (folder, counts) = folder(&format!("{COUNTS}{report}"));
    let planned = folder.json(&["plan", "--json"]);
    let release = &planned["releases"][0];
    exactly(epsilon(&release["costs"]["person"]), 40.0);
    assert_eq!(release["rule"]["bounding_report"]["share"], "0.5");
    let columns: Vec<&str> =
        release["errors"].as_array().unwrap().iter().map(|error| error["column"].as_str().unwrap()).collect();
    assert!(columns.contains(&"rows cut off") && columns.contains(&"n of all rows"), "{columns:?}");
    assert!(columns.contains(&"delay of all rows"), "{columns:?}");
    folder.stdout(&["release", "--quiet"]);
    exactly(epsilon(&folder.json(&["ledger", "show", "--json"])["person"]), 40.0);
    let answers = folder.json_file("out/by-destination.json")["answers"].clone();
    let report = &answers["bounding_report"];
    let all: f64 = counts.iter().sum();
    let number = |name: &str| report["rows"][name].as_f64().unwrap();
    // Noise of scales 21 and 8: off by 600 with a probability below 1e-9.
    assert!((number("cut") + number("kept") - all).abs() < 600.0, "{report}, {all}");
    // At most 8 rows of each plane count: 1,840 of 3,320.
    let (share, ends) = (number("share_cut"), &report["rows"]["share_cut_interval"]);
    assert!((0.25..0.8).contains(&share), "{report}");
    assert!(ends[0].as_f64().unwrap() <= share && share <= ends[1].as_f64().unwrap(), "{report}");
    assert!(report["owners_beyond"]["at_most"].as_f64().unwrap() < 30.0, "{report}");
    assert_eq!(report["intervals_of_all_rows"], serde_json::json!(["n", "delay"]));
    assert_eq!(report["of_the_bounded_table"], serde_json::json!([]));
    for (row, raw) in answers["rows"].as_array().unwrap().iter().zip(counts) {
        let (low, high) = interval(row, "n");
        // Noise of scale 13, which leaves eleven times the width of its interval with a probability below 1e-9; half of
        // the rows are cut off.
        let slack = 5.0 * (high - low);
        assert!(low - slack <= raw && raw <= high + slack, "{row}: {raw}");
        assert!(row["n"].as_f64().unwrap() < raw * 0.9, "{row}: bounding cuts off much here");
    }
    let csv = folder.read("out/by-destination.csv");
    assert!(csv.starts_with("dest,n,n_se,n_low,n_high,delay,delay_se,delay_low,delay_high\n"), "{csv}");
    let html = folder.read("out/report.html");
    assert!(html.contains("Bounding report: ") && html.contains("are cut off"), "{html}");
}

#[test]
fn a_report_where_nothing_is_cut_off_or_no_share_is_defined_is_refused() {
    let (folder, _) = folder(&format!("{COUNTS}bounding_report = {{ share = 1.5 }}\n"));
    folder.refused(&["plan"], 2, "above 0 and below 1");
    let accuracy = "[[release]]\nname = \"a\"\nsql = \"SELECT COUNT(*) AS n FROM flights\"\naccuracy = { within = 40, confidence = 0.9 }\nbounding_report = { share = 0.1 }\n";
    folder.write("scumble.toml", &format!("{PROJECT}{accuracy}"));
    folder.refused(&["plan"], 2, "a share of an accuracy is not defined");
    let taken = COUNTS.replace("AVG(delay) AS delay", "AVG(delay) AS n_low") + "bounding_report = { share = 0.1 }\n";
    folder.write("scumble.toml", &format!("{PROJECT}{taken}"));
    folder.stdout(&["plan"]);
}

/// Bounds are chosen once, at a stated cost that the ledger holds, and refused where the budget has no room.
#[test]
fn bounds_are_suggested_at_a_cost() {
    let (folder, _) = folder(COUNTS);
    let arguments = ["plan", "--suggest-bounds", "by destination", "--cost", "epsilon=100", "--rows", "64"];
    let text = folder.stdout(&arguments);
    assert!(text.contains("max_groups_per_owner = ") && text.contains("max_rows_per_group = "), "{text}");
    let shown = folder.json(&["ledger", "show", "--json"]);
    exactly(epsilon(&shown["person"]), 100.0);
    assert_eq!(shown["releases"][0]["release"], "bounds of by destination");
    assert_eq!(shown["releases"][0]["kind"], "bounds");
    let answers = folder.json_file("out/bounds-of-by-destination.json")["answers"].clone();
    let rows = answers["rows"].as_array().unwrap();
    let cut = |groups: u64, each: u64| {
        let row = rows.iter().find(|row| row["max_groups_per_owner"] == groups && row["max_rows_per_group"] == each);
        row.unwrap()["share_cut"].as_f64().unwrap()
    };
    // All rows of all planes are within 3 groups and 64 rows; with one row in one group nearly everything is cut off.
    assert!(cut(3, 64).abs() < 0.02, "{answers}");
    assert!((cut(1, 1) - (1.0 - 400.0 / flights().1.iter().sum::<f64>())).abs() < 0.05, "{answers}");
    assert!(cut(3, 4) < cut(3, 2) && cut(2, 4) < cut(1, 4), "{answers}");
    assert!(folder.read("out/report.html").contains("bounds of by destination"));
    let again = ["plan", "--suggest-bounds", "by destination", "--cost", "epsilon=150"];
    folder.refused(&again, 3, "the largest cost that would fit is epsilon 100");
    folder.refused(&["plan", "--suggest-bounds", "nothing", "--cost", "epsilon=1"], 2, "there is no release 'nothing'");
    folder.refused(&["plan", "--suggest-bounds", "by destination", "--cost", "1"], 2, "must be like epsilon=0.5");
}
