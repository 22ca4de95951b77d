//! ROLLUP, CUBE and GROUPING SETS: several groupings share one cost.

use crate::support::{Folder, epsilon, exactly};
use serde_json::Value;

const PROJECT: &str = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
sex = { type = "category", values = ["f", "m"] }
city = { type = "category", values = ["Ulm", "Bonn", "Trier"] }
town = { type = "category" }
age = { type = "int", lower = 0, upper = 100 }
[budget]
person = { epsilon = 1000, delta = 1e-6 }
"#;

fn folder(releases: &str) -> Folder {
    let people: String = (0..600)
        .map(|i| {
            format!("{},{},{},{}\n", ["f", "m"][i % 2], ["Ulm", "Bonn", "Trier"][i / 2 % 3], ["a", "b"][i % 2], i % 90)
        })
        .collect();
    Folder::with(&[
        ("scumble.toml", &format!("{PROJECT}{releases}")),
        ("people.csv", &format!("sex,city,town,age\n{people}")),
    ])
}

fn release(sql: &str, cost: &str) -> String {
    format!("[[release]]\nname = \"r\"\nsql = \"{sql}\"\ncost = {{ {cost} }}\n")
}

fn rows(folder: &Folder) -> Vec<Value> {
    folder.stdout(&["release", "--quiet"]);
    folder.json_file("out/r.json")["answers"]["rows"].as_array().unwrap().clone()
}

/// 6 + 2 + 1 cells: the groups, those of one sex, and all. Three groupings have a third of the cost each, and in each
/// of them one person moves what a person moves there.
#[test]
fn a_rollup_has_totals_of_their_own() {
    let sql = "SELECT sex, city, GROUPING(city) AS over_cities, COUNT(*) AS n FROM people GROUP BY ROLLUP (sex, city)";
    let folder = folder(&release(sql, "epsilon = 90"));
    let planned = folder.json(&["plan", "--json"]);
    let plan = &planned["releases"][0];
    assert_eq!(plan["rule"]["groupings"].as_array().unwrap().len(), 3, "{plan:#}");
    let columns: Vec<&str> =
        plan["errors"].as_array().unwrap().iter().filter_map(|one| one["column"].as_str()).collect();
    assert_eq!(columns, ["n (by sex, city)", "n (by sex)", "n (in all)"]);
    assert!(folder.stdout(&["plan", "--details"]).contains("3 groupings share the cost equally"));
    let rows = rows(&folder);
    assert_eq!(rows.len(), 9, "{rows:?}");
    for row in &rows {
        let (sex, city) = (!row["sex"].is_null(), !row["city"].is_null());
        let truth = 600.0 / if sex { 2.0 } else { 1.0 } / if city { 3.0 } else { 1.0 };
        // ε = 30 each, two cells by 1: more than 3 off with probability below e^-45.
        assert!((row["n"].as_f64().unwrap() - truth).abs() <= 3.0, "{row}");
        assert_eq!(row["over_cities"].as_f64(), Some(f64::from(u8::from(!city))), "{row}");
        assert!(!row["n_interval"].is_null(), "{row}");
    }
    let costs = folder.json(&["ledger", "show", "--json"]);
    exactly(epsilon(&costs["person"]), 90.0);
    // Where somebody lives decides in one of the groupings, their sex in two.
    exactly(epsilon(&costs["attributes"]["city"]), 30.0);
    exactly(epsilon(&costs["attributes"]["sex"]), 60.0);
}

#[test]
fn cubes_and_listed_groupings_are_answered() {
    let cube =
        folder(&release("SELECT sex, city, SUM(age) AS age FROM people GROUP BY CUBE (sex, city)", "epsilon = 40"));
    assert_eq!(rows(&cube).len(), 6 + 2 + 3 + 1);
    let sql = "SELECT sex, city, AVG(age) AS age, MEDIAN(age) AS middle FROM people GROUP BY GROUPING SETS ((sex), (city), ()) ORDER BY age";
    let listed = folder(&release(sql, "rho = 1"));
    let rows = rows(&listed);
    assert_eq!(rows.len(), 2 + 3 + 1);
    assert!(rows.iter().all(|row| row["middle_rank_error"].as_f64().is_some_and(|error| error > 0.0)), "{rows:?}");
}

/// Groups that are not public: each grouping that selects keys has its part of the δ.
#[test]
fn unknown_keys_are_selected_in_each_grouping() {
    let sql = "SELECT town, sex, COUNT(*) AS n FROM people GROUP BY ROLLUP (town, sex)";
    let folder = folder(&release(sql, "epsilon = 30, delta = 1e-7"));
    let plan = folder.json(&["plan", "--json"])["releases"][0].clone();
    let deltas: Vec<f64> =
        plan["rule"]["groupings"].as_array().unwrap().iter().filter_map(|one| one["keys"]["delta"].as_f64()).collect();
    assert_eq!(deltas.len(), 2, "{plan:#}");
    assert!(deltas.iter().sum::<f64>() <= 1e-7, "{deltas:?}");
    // Two towns with one sex each, both towns, and all.
    assert_eq!(rows(&folder).len(), 2 + 2 + 1);
}
