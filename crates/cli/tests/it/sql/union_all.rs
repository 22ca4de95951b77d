//! UNION ALL of released results: several queries share one cost, and each row keeps its own error.

use crate::support::{Folder, epsilon, exactly};
use scumble_testing::projects::TOWNS as PROJECT;
use serde_json::Value;

fn folder(releases: &str) -> Folder {
    let person = |i: usize| {
        format!("{},{},{},{}\n", ["f", "m"][i % 2], ["Ulm", "Bonn", "Trier"][i / 2 % 3], ["a", "b"][i % 2], i % 90)
    };
    let people: String = (0..600).map(person).collect();
    let visits: String = (0..300).map(|i| format!("{},{}\n", i / 3, ["north", "south"][i % 2])).collect();
    Folder::with(&[
        ("scumble.toml", &format!("{PROJECT}{releases}")),
        ("people.csv", &format!("sex,city,town,age\n{people}")),
        ("visits.csv", &format!("person,clinic\n{visits}")),
    ])
}

fn release(sql: &str, cost: &str) -> String {
    format!("[[release]]\nname = \"r\"\nsql = \"{sql}\"\ncost = {{ {cost} }}\n")
}

fn rows(folder: &Folder) -> Vec<Value> {
    folder.stdout(&["release", "--quiet"]);
    folder.json_file("out/r.json")["answers"]["rows"].as_array().unwrap().clone()
}

/// Two queries have half of the cost each: one person moves both, and an attribute only the query that looks at it.
#[test]
fn the_branches_share_the_cost() {
    let sql = "SELECT 'sex' AS what, sex AS which, COUNT(*) AS n FROM people GROUP BY sex UNION ALL SELECT 'city', city, COUNT(*) FROM people GROUP BY city ORDER BY n DESC, which LIMIT 4";
    let folder = folder(&release(sql, "epsilon = 60"));
    let plan = folder.json(&["plan", "--json"])["releases"][0].clone();
    assert_eq!(plan["rule"]["union"].as_array().unwrap().len(), 2, "{plan:#}");
    let columns: Vec<&str> =
        plan["errors"].as_array().unwrap().iter().filter_map(|one| one["column"].as_str()).collect();
    assert_eq!(columns, ["n (part 1)", "n (part 2)"]);
    assert!(folder.stdout(&["plan", "--details"]).contains("The 2 queries of the UNION ALL share the cost equally"));
    let rows = rows(&folder);
    let names: Vec<&str> = rows.iter().map(|row| row["which"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 4, "5 rows, of which 4 are shown: {rows:?}");
    for row in &rows {
        let truth = if row["what"] == "sex" { 300.0 } else { 200.0 };
        // ε = 30 each, two cells by 1: more than 3 off with probability below e^-45.
        assert!((row["n"].as_f64().unwrap() - truth).abs() <= 3.0, "{row}");
        let error = row["n_error"].as_f64().unwrap();
        assert!(error > 0.0 && error < 0.5, "{row}");
        let [low, high] = [0, 1].map(|end| row["n_interval"][end].as_f64().unwrap());
        assert!(low <= truth && truth <= high, "{row}");
    }
    assert!(rows[0]["what"] == "sex" && rows[1]["what"] == "sex" && rows[2]["what"] == "city", "{rows:?}");
    let costs = folder.json(&["ledger", "show", "--json"]);
    exactly(epsilon(&costs["person"]), 60.0);
    exactly(epsilon(&costs["attributes"]["city"]), 30.0);
    exactly(epsilon(&costs["attributes"]["sex"]), 30.0);
}

/// Queries of different tables, and one of the tables has owners: the cost is that of both together, and the report of
/// what is cut off is about that table.
#[test]
fn the_branches_may_read_different_tables() {
    let sql = "SELECT clinic AS place, COUNT(*) AS n FROM visits GROUP BY clinic UNION ALL SELECT city, COUNT(*) FROM people GROUP BY city";
    let folder = folder(&release(sql, "epsilon = 80"));
    let rows = rows(&folder);
    let of = |place: &str| rows.iter().find(|row| row["place"] == place).unwrap()["n"].as_f64().unwrap();
    // An owner moves two cells of visits by up to 4 rows: ε = 40 of 8, and more than 9 off with probability below
    // e^-45.
    assert!((of("north") - 150.0).abs() <= 9.0 && (of("Ulm") - 200.0).abs() <= 9.0, "{rows:?}");
    exactly(epsilon(&folder.json(&["ledger", "show", "--json"])["person"]), 80.0);
    let said = folder.json_file("out/r.json")["answers"]["estimates"]["words"].as_str().unwrap().to_string();
    assert!(
        said.contains("in part 1 at most 2 groups with at most 4 rows in each") && !said.contains("part 2"),
        "{said}"
    );
    folder.stdout(&["ledger", "verify"]);
}

/// A number with noise, one that is computed from several, one that was drawn, and one without noise, in one column.
#[test]
fn every_row_keeps_its_own_error() {
    let sql = "SELECT 'count' AS what, COUNT(*) AS v FROM people UNION ALL SELECT 'mean', AVG(age) FROM people UNION ALL SELECT 'middle', MEDIAN(age) FROM people UNION ALL SELECT 'fixed', 7 + 0 * COUNT(DISTINCT sex) FROM people UNION ALL SELECT 'public', 7 FROM people GROUP BY sex HAVING COUNT(*) > 0 LIMIT 5";
    let folder = folder(&release(sql, "epsilon = 100"));
    let rows = rows(&folder);
    let of = |what: &str| rows.iter().find(|row| row["what"] == what).unwrap_or_else(|| panic!("{what}: {rows:?}"));
    for (what, truth) in [("count", 600.0), ("mean", 43.5)] {
        let row = of(what);
        let [low, high] = [0, 1].map(|end| row["v_interval"][end].as_f64().unwrap());
        assert!(row["v_error"].as_f64().unwrap() > 0.0 && low < high, "{row}");
        assert!((row["v"].as_f64().unwrap() - truth).abs() < 8.0, "{row}");
        assert!(row["v_rank_error"].is_null(), "{row}");
    }
    let middle = of("middle");
    assert!(
        middle["v_error"].is_null() && middle["v_interval"][0].is_null(),
        "an interval of no width would be a lie: {middle}"
    );
    assert!(middle["v_rank_error"].as_f64().unwrap() > 0.0, "{middle}");
    let public = of("public");
    assert_eq!((public["v"].as_f64(), public["v_error"].as_f64()), (Some(7.0), Some(0.0)), "{public}");
}

/// A window function over several queries has no error bar; its interval was the number itself, twice.
#[test]
fn what_depends_on_other_rows_has_no_interval() {
    let sql = "SELECT what, n, SUM(n) OVER (ORDER BY what) AS running FROM (SELECT 'a' AS what, COUNT(*) AS n FROM people UNION ALL SELECT 'b', COUNT(*) FROM visits)";
    for row in rows(&folder(&release(sql, "epsilon = 50"))) {
        assert!(row["running"].as_f64().unwrap() > 100.0, "{row}");
        assert!(row["running_error"].is_null() && row["running_interval"][0].is_null(), "{row}");
        assert!(!row["n_interval"][0].is_null(), "{row}");
    }
}

/// Groups that are not public, in one branch of two with groupings of its own: those that select keys divide the δ.
#[test]
fn unknown_keys_are_selected_in_each_branch() {
    let sql = "SELECT town, COUNT(*) AS n FROM people GROUP BY ROLLUP (town) UNION ALL SELECT town, COUNT(*) FROM people WHERE age > 40 GROUP BY town UNION ALL SELECT sex, COUNT(*) FROM people GROUP BY sex";
    let folder = folder(&release(sql, "epsilon = 80, delta = 1e-7"));
    let plan = folder.json(&["plan", "--json"])["releases"][0].clone();
    let union = plan["rule"]["union"].as_array().unwrap().clone();
    assert_eq!(union.len(), 4, "{plan:#}");
    let deltas: Vec<f64> = union.iter().filter_map(|one| one["keys"]["delta"].as_f64()).collect();
    assert_eq!(deltas.len(), 2, "{plan:#}");
    assert!(deltas.iter().sum::<f64>() <= 1e-7, "{deltas:?}");
    assert_eq!(rows(&folder).len(), 2 + 1 + 2 + 2);
    let notes = folder.json_file("out/r.json")["answers"]["notes"].to_string();
    assert!(notes.contains("Groups in part 1, by town are not public") && notes.contains("in part 2"), "{notes}");
}
