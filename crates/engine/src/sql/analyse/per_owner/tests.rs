//! One row for each owner first: by hand, and what each scope moves.

use crate::sql::analyse::query::Summand;
use crate::sql::analyse::sensitivity;
use crate::sql::tests::TableFolder;
use scumble::scope::{AttributeSet, Scope};

const PROJECT: &str = r#"
[dataset.visits]
source = "visits.csv"
owner = "person"
max_rows_per_owner = 4
max_groups_per_owner = 2
[dataset.visits.columns]
clinic = { type = "category", values = ["a", "b", "c"] }
cost = { type = "int", lower = 0, upper = 100 }
late = { type = "float", lower = -1, upper = 3, granularity = 0.1 }
[dataset.people]
source = "people.csv"
[dataset.people.columns]
age = { type = "int", lower = 0, upper = 120 }
"#;

/// Nobody has more rows than count.
const ROWS: &str = "person,clinic,cost,late\n1,a,10,0.1\n1,a,20,0.2\n1,b,5,\n2,a,100,3\n2,,7,1\n3,c,,0.3\n,a,50,1\n";

fn tables() -> TableFolder {
    TableFolder::of(PROJECT, &[("visits.csv", ROWS)])
}

/// The sums of a query's only cell.
fn sums(sql: &str) -> Vec<i128> {
    let tables = tables();
    let cut = tables.cut(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let found = tables.integers(&cut).unwrap();
    assert_eq!(found.cells.len(), 1, "{sql}");
    found.cells[0].sums.clone()
}

/// Every cell: its key, and its sums.
fn cells(sql: &str) -> Vec<(String, Vec<i128>)> {
    let tables = tables();
    let cut = tables.cut(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let found = tables.integers(&cut).unwrap();
    let shown = |key: &Vec<_>| key.iter().map(ToString::to_string).collect::<Vec<String>>().join(" ");
    found.keys.iter().map(shown).zip(found.cells.iter().map(|cell| cell.sums.clone())).collect()
}

#[test]
fn totals_by_hand() {
    let from = |inner: &str| format!("FROM (SELECT person, {inner} FROM visits GROUP BY person) AS t");
    // 35, 107 and NULL: without costs there is no total.
    assert_eq!(
        sums(&format!("SELECT SUM(total) AS s, COUNT(total) AS n, COUNT(*) AS all {}", from("SUM(cost) AS total"))),
        [142, 2, 3]
    );
    assert_eq!(sums(&format!("SELECT SUM(n) AS s {}", from("COUNT(*) AS n"))), [6]);
    assert_eq!(sums(&format!("SELECT SUM(n) AS s {}", from("COUNT(cost) AS n"))), [5]);
    assert_eq!(sums(&format!("SELECT SUM(n) AS s {}", from("COUNT(DISTINCT clinic) AS n"))), [4]);
    assert_eq!(sums(&format!("SELECT SUM(n) AS s {}", from("MAX(cost) AS n"))), [120]);
    assert_eq!(sums(&format!("SELECT SUM(n) AS s {}", from("MIN(cost) FILTER (WHERE clinic = 'a') AS n"))), [110]);
    // 0.1 + 0.2 in tenths is 3, and 0.3 is: on the grid nothing depends on the order of additions.
    assert_eq!(sums(&format!("SELECT SUM(n) AS s {} WHERE n = 0.3", from("SUM(late) AS n"))), [6]);
    // Means of 35/3 and 53.5, in steps of 10⁻⁴: the sum is rounded once per owner.
    assert_eq!(sums(&format!("SELECT SUM(n) AS s {}", from("AVG(cost) AS n"))), [116_667 + 535_000]);
    assert_eq!(
        sums(
            "SELECT COUNT(DISTINCT person) AS n, COUNT(*) AS r FROM (SELECT person, clinic, COUNT(*) AS c FROM visits GROUP BY person, clinic) AS t"
        ),
        [3, 4]
    );
}

#[test]
fn outer_groups_are_inner_keys_or_numbers_with_known_domains() {
    let by_count = cells(
        "SELECT n, COUNT(*) AS people FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) AS t GROUP BY n",
    );
    let by_count: Vec<(&str, i128)> = by_count.iter().map(|(key, sums)| (key.as_str(), sums[0])).collect();
    assert_eq!(by_count, [("1", 1), ("2", 1), ("3", 1), ("4", 0)]);
    let by_clinic = cells(
        "SELECT clinic, SUM(total) AS s FROM (SELECT person, clinic, SUM(cost) AS total FROM visits GROUP BY person, clinic) AS t GROUP BY clinic",
    );
    let by_clinic: Vec<(&str, i128)> = by_clinic.iter().map(|(key, sums)| (key.as_str(), sums[0])).collect();
    assert_eq!(by_clinic, [("a", 130), ("b", 5), ("c", 0)]);
    let size = "CASE WHEN total > 50 THEN 'much' ELSE 'little' END";
    let sql = format!(
        "SELECT {size} AS size, COUNT(*) AS n FROM (SELECT person, SUM(cost) AS total FROM visits GROUP BY person HAVING COUNT(*) > 1) AS t GROUP BY 1"
    );
    let mut by_size = cells(&sql);
    by_size.sort();
    let by_size: Vec<(&str, i128)> = by_size.iter().map(|(key, sums)| (key.as_str(), sums[0])).collect();
    assert_eq!(by_size, [("little", 1), ("much", 1)]);
}

/// The most cells and the most that a scope moves the first measure by.
fn moved(sql: &str, scope: &Scope) -> Vec<(u64, f64)> {
    let cut = tables().cut(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let measure =
        cut.query.measures.iter().find(|measure| measure.what != Summand::Owners).unwrap_or(&cut.query.measures[0]);
    let moves = sensitivity::moves(measure, &cut.query).unwrap();
    moves.shifts(scope).iter().map(|shift| (shift.cells, shift.by.get())).collect()
}

#[test]
fn an_owner_moves_what_its_rows_can_add_up_to() {
    let attribute = |name: &str| Scope::Attributes(AttributeSet::new([name.to_string()]).unwrap());
    let total = "SELECT SUM(total) AS s FROM (SELECT person, SUM(cost) AS total FROM visits GROUP BY person) AS t";
    // Four rows of up to 100 make up to 400.
    assert_eq!(moved(total, &Scope::Presence), [(1, 400.0)]);
    assert_eq!(moved(total, &Scope::Person), [(1, 400.0)]);
    assert_eq!(moved(total, &attribute("cost")), [(1, 400.0)]);
    assert_eq!(moved(total, &attribute("clinic")), []);
    let least = total.replace("SUM(total)", "SUM(LEAST(total, 30))");
    assert_eq!(moved(&least, &Scope::Person), [(1, 30.0)]);
    // The number of rows depends on no value, unless one decides which rows there are.
    let count = "SELECT SUM(n) AS s FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) AS t";
    assert_eq!(moved(count, &Scope::Person), [(1, 4.0)]);
    assert_eq!(moved(count, &attribute("cost")), []);
    let some = count.replace("visits", "visits WHERE cost > 3");
    assert_eq!(moved(&some, &attribute("cost")), [(1, 4.0)]);
    // Which rows stay depends on all values: the sum of late ones on the cost, too.
    let both = "SELECT SUM(a) AS a, SUM(b) AS b FROM (SELECT person, SUM(cost) AS a, SUM(late) AS b FROM visits GROUP BY person) AS t";
    assert_eq!(moved(both, &attribute("late")), [(1, 400.0)]);
    // Two inner rows of an owner may be in one cell, or in two.
    let inner = "(SELECT person, clinic, MAX(cost) AS m FROM visits GROUP BY person, clinic) AS t";
    assert_eq!(moved(&format!("SELECT SUM(m) AS s FROM {inner}"), &Scope::Presence), [(1, 200.0)]);
    let apart = format!("SELECT clinic, SUM(m) AS s FROM {inner} GROUP BY clinic");
    assert_eq!(moved(&apart, &Scope::Presence), [(2, 100.0)]);
    assert_eq!(moved(&apart, &attribute("clinic")), [(3, 100.0)]);
}

#[test]
fn what_cannot_be_proved_is_refused_in_one_sentence() {
    let tables = tables();
    let refused = |sql: &str, words: &str| match tables.cut(sql) {
        Ok(_) => panic!("accepted: {sql}"),
        Err(error) => assert!(error.to_string().contains(words), "{sql}\n  said: {error}\n  not:  {words}"),
    };
    let per_owner = "(SELECT person, SUM(cost) AS total FROM visits GROUP BY person) AS t";
    refused(
        "SELECT AVG(n) AS m FROM (SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic) AS t",
        "needs an inner GROUP BY the owner column 'person'",
    );
    refused(
        "SELECT AVG(n) AS m FROM (SELECT age, COUNT(*) AS n FROM people GROUP BY age) AS t",
        "needs a table with an owner",
    );
    refused(
        "SELECT AVG(n) AS m FROM (SELECT person, STDDEV(cost) AS n FROM visits GROUP BY person) AS t",
        "COUNT, SUM, AVG, MIN and MAX are",
    );
    refused(
        &format!("SELECT SUM(v.cost) AS s FROM visits v JOIN {per_owner} ON v.person = t.person"),
        "join the tables inside of the sub-query",
    );
    refused(
        &format!("SELECT AVG(x) AS m FROM (SELECT person, SUM(total) AS x FROM {per_owner} GROUP BY person) AS u"),
        "one level below the outer one",
    );
    refused(&format!("SELECT person, SUM(total) AS s FROM {per_owner} GROUP BY person"), "the owner column 'person'");
    refused(&format!("SELECT SUM(total) AS s FROM {per_owner} WHERE person = '1'"), "the owner column 'person'");
}
