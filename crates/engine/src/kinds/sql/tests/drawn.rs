//! Unknown keys, drawn through the code that publishes them, against the δ of the event: a threshold that was one too
//! low, and one key per owner too few, passed while the rule was written a second time in the tests.

use super::*;
use scumble::event::Word;
use scumble_testing::laws::{IntegerDistribution, frequency};

const DRAWS: usize = 100_000;

/// The δ of "a key appears that was not there".
fn key_delta(plan: &SqlPlan) -> f64 {
    let deltas = plan.events.iter().filter_map(|event| match event.word() {
        Word::NewKeys(keys) => Some(keys.delta().get()),
        _ => None,
    });
    deltas.sum()
}

/// An owner alone, with so many keys of its own that one less at the threshold, or one key less, would show above δ:
/// the δ is chosen such that the claim is met with equality, and then drawn. (At a cost of ρ all of δ is for keys, and
/// the noise does not depend on it.)
fn check(project: &str, sql: &'static str, cost: &str, header: &str, rows: &[&str], keys: i32) {
    let tiny = TinyTables::new(project, sql);
    let planned = |cost: &str| {
        let request = Request::sql("test", sql, &cost.parse().unwrap()).unwrap();
        SqlPlan::new(sql, &request, &tiny.project).unwrap()
    };
    let first = planned(&format!("{cost},delta=0.05"));
    let owners = first.cut.query.owners().unwrap();
    let noise = IntegerDistribution::of_event(&first.events[owners], 1.0);
    let shows = noise.at_least(first.private.threshold.unwrap() - 1);
    let delta = (1.0 - (1.0 - shows).powi(keys)) * (1.0 + 1e-9);
    let plan = planned(&format!("{cost},delta={delta}"));
    let claimed = key_delta(&plan);
    assert!((claimed / delta - 1.0).abs() < 1e-6, "{sql}: the whole δ is for keys: {claimed} of {delta}");
    assert_eq!(plan.private.noises[owners].standard_deviation(), first.private.noises[owners].standard_deviation());
    let rows: Vec<String> = rows.iter().map(|row| row.to_string()).collect();
    std::fs::write(tiny.folder.path().join("t.csv"), format!("{header}\n{}\n", rows.join("\n"))).unwrap();
    let backend = Backend::with_data(&tiny.project, &["t".to_string()]).unwrap();
    let cut = analyse(sql, Bounding::default(), &tiny.project, &backend).unwrap();
    let integers = integers(&cut, &backend, Key(3, 4)).unwrap();
    assert_eq!(integers.keys.len(), keys as usize);
    let mut bits = InsecureSeededSource::new(31);
    let shown = (0..DRAWS)
        .filter(|_| !noised(&cut, integers.clone(), &plan.private, &mut DrawnNoise(&mut bits)).cells.is_empty())
        .count();
    frequency(&format!("{sql} at {cost}"), shown, DRAWS, claimed);
    // A published key has a noisy number from the threshold on.
    let least = plan.private.threshold.unwrap();
    assert!(1.0 - (1.0 - noise.at_least(least - 1)).powi(keys) <= claimed, "{sql}: the threshold is too low");
}

#[test]
fn a_new_key_shows_as_likely_as_its_event_says() {
    let project = r#"
[dataset.t]
source = "t.csv"
[dataset.t.columns]
k = { type = "category" }
x = { type = "int", lower = 0, upper = 1 }
"#;
    let sql = "SELECT k, COUNT(*) AS n FROM t GROUP BY k";
    check(project, sql, "rho=0.02", "k,x", &["z,1"], 1);
    check(project, sql, "rho=0.3", "k,x", &["z,1"], 1);
    let sums = "SELECT k, SUM(x) AS s FROM t GROUP BY k";
    check(project, sums, "rho=0.2", "k,x", &["z,1"], 1);
}

#[test]
fn all_keys_of_one_owner_share_the_delta() {
    let project = r#"
[dataset.t]
source = "t.csv"
owner = "o"
max_rows_per_owner = 6
max_groups_per_owner = 3
max_rows_per_group = 2
[dataset.t.columns]
k = { type = "category" }
"#;
    let sql = "SELECT k, COUNT(*) AS n FROM t GROUP BY k";
    let rows = ["1,a", "1,a", "1,b", "1,c"];
    check(project, sql, "rho=0.1", "o,k", &rows, 3);
    check(project, sql, "rho=2", "o,k", &rows, 3);
}
