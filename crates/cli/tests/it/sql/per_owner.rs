//! "What does a person spend on average?": one row for each owner first, then the aggregate.

use crate::support::{Folder, epsilon, exactly};
use scumble_testing::projects::SPENDING as PROJECT;

/// 2000 people with one to five visits, of 10.25 each in the north and 30.5 in the south.
fn visits() -> (String, f64) {
    let (mut rows, mut total) = ("person,clinic,cost\n".to_string(), 0.0);
    for person in 0..2000 {
        for visit in 0..=person % 5 {
            let (clinic, cost) = if (person + visit) % 2 == 0 { ("north", 10.25) } else { ("south", 30.5) };
            total += cost;
            rows.push_str(&format!("{person},{clinic},{cost}\n"));
        }
    }
    (rows, total)
}

fn folder(releases: &str) -> (Folder, f64) {
    let (rows, total) = visits();
    (Folder::with(&[("scumble.toml", &format!("{PROJECT}{releases}")), ("visits.csv", &rows)]), total)
}

fn release(name: &str, sql: &str, epsilon: f64) -> String {
    format!("[[release]]\nname = \"{name}\"\nsql = \"\"\"{sql}\"\"\"\ncost = {{ epsilon = {epsilon} }}\n")
}

/// The mean of what people spend is not the mean of what visits cost: here it is three times as much.
#[test]
fn the_mean_of_a_persons_total() {
    let sql = "SELECT AVG(total) AS mean, COUNT(*) AS people FROM (SELECT person, SUM(cost) AS total FROM visits GROUP BY person)";
    let (folder, total) = folder(&release("spent", sql, 100.0));
    let planned = folder.json(&["plan", "--json"]);
    let rule = &planned["releases"][0]["rule"];
    assert_eq!(rule["bounding"]["rows_per_owner"], 5, "{rule:#}");
    assert_eq!(rule["per_owner_first"]["rows_per_owner"], 1, "{rule:#}");
    assert_eq!(rule["per_owner_first"]["columns"][0]["range"], serde_json::json!([0.0, 500.0]), "{rule:#}");
    assert!(folder.stdout(&["plan"]).contains("of each owner at most 5 rows count"));
    folder.stdout(&["release", "--quiet"]);
    let answers = folder.json_file("out/spent.json")["answers"]["rows"][0].clone();
    let mean = answers["mean"].as_f64().unwrap();
    let ends = &answers["mean_interval"];
    let truth = total / 2000.0;
    // Up to 500 for each person, over 2000 people, at ε = 33 each: more than half a unit off with probability below
    // e^-60.
    assert!((mean - truth).abs() < 0.5, "{mean} for {truth}");
    assert!(ends[0].as_f64().unwrap() < truth + 0.5 && ends[1].as_f64().unwrap() > truth - 0.5, "{answers}");
    let costs = folder.json(&["ledger", "show", "--json"]);
    exactly(epsilon(&costs["person"]), 100.0);
    // Three numbers share the cost. How many people there are does not depend on what they spend; the sum of totals and
    // their number do. The number moves the mean less, so that it gets less than a third, and the people more.
    let about_cost = epsilon(&costs["attributes"]["cost"]);
    assert!(about_cost > 100.0 / 3.0 && about_cost < 200.0 / 3.0, "{about_cost}");
    assert!(costs["attributes"]["clinic"].is_null() || epsilon(&costs["attributes"]["clinic"]) == 0.0, "{costs:#}");
}

/// How many people come how often: the outer key is a number of the inner rows, and its values are public.
#[test]
fn people_by_their_number_of_visits() {
    let sql = "SELECT visits, COUNT(*) AS people FROM (SELECT person, COUNT(*) AS visits FROM visits GROUP BY person) GROUP BY visits ORDER BY visits";
    let (folder, _) = folder(&release("visits", sql, 100.0));
    folder.stdout(&["release", "--quiet"]);
    let rows = folder.json_file("out/visits.json")["answers"]["rows"].clone();
    for (index, row) in rows.as_array().unwrap().iter().enumerate() {
        assert_eq!(row["visits"], index + 1);
        // One person in another's place moves two counts: ε = 50 for each.
        assert!((row["people"].as_f64().unwrap() - 400.0).abs() < 2.0, "{rows}");
    }
    assert_eq!(rows.as_array().unwrap().len(), 5);
}
