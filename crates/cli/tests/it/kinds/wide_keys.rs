//! Quantiles and distribution functions of texts, UUIDs and times, as a user runs them.

use crate::support::Folder;

const PROJECT: &str = r#"
[dataset.visits]
source = "visits.csv"
owner = "person"
max_rows_per_owner = 2
[dataset.visits.columns]
surname = { type = "category" }
id = { type = "category" }
at = { type = "timestamp", lower = "2024-01-01T00:00:00", upper = "2025-01-01T00:00:00" }
[budget]
person = { epsilon = 20, delta = 1e-6 }
[[release]]
name = "surnames"
kind = "quantiles"
table = "visits"
column = "surname"
keys = "texts"
max_bytes = 2
quantiles = [0.25, 0.5, 0.75]
cost = { epsilon = 2 }
[[release]]
name = "ids"
kind = "cdf"
table = "visits"
column = "id"
keys = "uuids"
points = 3
cost = { epsilon = 3, delta = 1e-7 }
[[release]]
name = "times"
kind = "quantiles"
table = "visits"
column = "at"
keys = "times"
quantiles = [0.5]
cost = { rho = 0.05 }
"#;

/// Two rows of each of 3,000 people.
fn visits() -> String {
    let row = |i: u128| {
        let letter = |number: u128| char::from(b'a' + (number % 26) as u8);
        let surname: String = [letter(i * 7), letter(i / 26), 'x', 'y'].iter().collect();
        // Evenly over all of them.
        let id = format!("{:032x}", (u128::MAX / 6000) * (i * 1237 % 6000));
        format!("{},{surname},{id},2024-07-01T12:00:00.{:09}\n", i / 2, i * 100)
    };
    format!("person,surname,id,at\n{}", (0..6000).map(row).collect::<String>())
}

#[test]
fn quantiles_and_counts_of_values_that_are_no_numbers() {
    let folder = Folder::with(&[("visits.csv", &visits()), ("scumble.toml", PROJECT)]);
    let plan = folder.json(&["plan", "--json"]);
    assert!(plan["releases"][0]["errors"][0]["about"].as_str().unwrap().contains("rows in rank"), "{plan}");
    folder.stdout(&["release", "--quiet"]);
    // Where the interval stands in columns of its own, it is drawn from them.
    assert!(folder.read("out/report.html").contains("count by id, with 95% intervals"));
    let rows =
        |name: &str| folder.json_file(&format!("out/{}.json", name.replace(' ', "-")))["answers"]["rows"].clone();
    // Letters are even: quarters are at about g, n and t; ranks are off by far less than a letter's 230 rows.
    let values: Vec<String> =
        rows("surnames").as_array().unwrap().iter().map(|row| row["value"].as_str().unwrap().to_string()).collect();
    for (value, near) in values.iter().zip(["g", "n", "t"]) {
        let off = i32::from(value.as_bytes()[0]) - i32::from(near.as_bytes()[0]);
        assert!(off.abs() <= 2, "{values:?}");
    }
    for row in rows("ids").as_array().unwrap() {
        let key = u128::from_str_radix(&row["id"].as_str().unwrap().replace('-', ""), 16).unwrap();
        let truth = key as f64 / u128::MAX as f64 * 6000.0;
        let [low, high] = [0, 1].map(|end| row["count_interval"][end].as_f64().unwrap());
        assert!(low - 2.0 <= truth && truth <= high + 2.0 && high - low < 4000.0, "{row}: {truth}");
    }
    let median = rows("times")[0]["value"].as_str().unwrap().to_string();
    assert!(median.starts_with("2024-07-01T12:00:00.000"), "{median}");
    assert!(folder.read("out/report.html").contains("in the order of a dictionary"));
    // Looking at a value of one attribute is charged to it, and to nobody else's.
    let ledger = folder.stdout(&["ledger", "show", "--json"]);
    assert!(ledger.contains("\"surname\"") && ledger.contains("\"id\"") && ledger.contains("\"at\""), "{ledger}");
}

#[test]
fn what_has_no_order_is_told_what_to_write() {
    let without = PROJECT.replace("keys = \"texts\"\nmax_bytes = 2\n", "");
    let folder = Folder::with(&[("visits.csv", &visits()), ("scumble.toml", &without)]);
    folder.refused(&["plan"], 2, "(lower, upper), or strings in an order: keys = \"texts\" or \"uuids\"");
}
