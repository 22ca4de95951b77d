//! Every neighbour of tiny tables against the claim of its scope.

use super::*;

fn cost(plan: &SqlPlan, scope: &Scope) -> f64 {
    let delta = Exact::from_f64(1e-5).unwrap();
    Odometer::of(&plan.events, scope).unwrap().epsilon(&delta).unwrap().to_f64_up()
}

#[test]
fn an_attribute_that_is_not_read_costs_nothing() {
    let (_folder, project) = sample();
    let plan = planned(&project, "SELECT sex, SUM(age) AS s FROM people WHERE state = 'north' GROUP BY sex").unwrap();
    for (name, touched) in [("disease", false), ("income", false), ("sex", true), ("age", true), ("state", true)] {
        assert_eq!(cost(&plan, &one_attribute(name).unwrap()) > 0.0, touched, "{name}");
    }
    let plan = planned(&project, "SELECT COUNT(*) AS n FROM people").unwrap();
    for name in ["disease", "income", "sex", "age", "state"] {
        assert_eq!(cost(&plan, &one_attribute(name).unwrap()), 0.0, "{name}");
    }
    assert!(cost(&plan, &Scope::Presence) > 0.0);
}

/// Discrete Laplace noise is ε-private with exactly ε = Σ|moves|/scale (the ratio of masses is attained), and a
/// quantile's output distribution is listed, so that comparing their sum over all neighbours with the claim compares
/// D_∞ of the whole output distribution with the claim, exactly.
fn check_all_neighbours(
    project: &str,
    sql: &'static str,
    header: &str,
    rows: &[&str],
    attributes: &[&str],
    slack: f64,
) {
    let tiny = TinyTables::new(project, sql);
    let request = Request::sql("test", sql, &"epsilon=1".parse().unwrap()).unwrap();
    let plan = SqlPlan::new(sql, &request, &tiny.project).unwrap();
    let columns: Vec<&str> = header.split(',').collect();
    let rest: Vec<String> = vec![rows[0].to_string(), rows[rows.len() / 2].to_string()];
    let with = |row: &str| tiny.cells(header, &[rest.clone(), vec![row.to_string()]].concat());
    let all: Vec<_> = rows.iter().map(|row| with(row)).collect();
    let without = tiny.cells(header, &rest);
    let claim = |scope: &Scope| Odometer::of(&plan.events, scope).unwrap().epsilon(&Exact::zero()).unwrap().to_f64_up();
    let mut worst = BTreeMap::new();
    let mut seen = |scope: Scope, loss: f64| {
        let claimed = claim(&scope);
        assert!(loss <= claimed * (1.0 + 1e-12), "{sql}\n in {scope}: a pair loses {loss}, the claim is {claimed}");
        let entry = worst.entry(scope).or_insert((0.0f64, claimed));
        entry.0 = entry.0.max(loss);
    };
    let cells: Vec<Vec<&str>> = rows.iter().map(|row| row.split(',').collect()).collect();
    for (i, left) in all.iter().enumerate() {
        seen(Scope::Presence, pure_loss(&plan, left, &without));
        for (j, right) in all.iter().enumerate().skip(i + 1) {
            let loss = pure_loss(&plan, left, right);
            seen(Scope::Person, loss);
            let changed = (0..columns.len())
                .filter(|column| cells[i][*column] != cells[j][*column])
                .map(|column| columns[column]);
            let changed: Vec<&str> = changed.collect();
            if changed.iter().all(|name| attributes.contains(name)) {
                seen(Scope::Attributes(AttributeSet::new(changed).unwrap()), loss);
            }
        }
    }
    // A pair that differs in exactly two attributes is not the worst of its scope, which holds those that differ in one
    // as well.
    let single = |scope: &Scope| !matches!(scope, Scope::Attributes(set) if set.len() > 1);
    for (scope, (loss, claimed)) in worst.into_iter().filter(|(scope, _)| single(scope)) {
        assert!(
            loss >= claimed * slack,
            "{sql}\n in {scope}: the claim {claimed} is loose, the worst pair loses {loss}"
        );
    }
}

const TINY: &str = r#"
[dataset.t]
source = "t.csv"
[dataset.t.columns]
k = { type = "category", values = ["a", "b", "c"] }
f = { type = "int", lower = 0, upper = 1 }
x = { type = "int", lower = -1, upper = 2 }
u = { type = "category", values = ["p", "q"] }
"#;

#[test]
fn every_neighbour_of_tiny_tables_is_within_the_claim_of_its_scope() {
    let mut rows = Vec::new();
    for k in ["a", "b", "c", ""] {
        for f in ["0", "1"] {
            for x in ["-1", "0", "2", ""] {
                rows.extend(["p", "q"].map(|u| format!("{k},{f},{x},{u}")));
            }
        }
    }
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let check =
        |sql: &'static str, slack: f64| check_all_neighbours(TINY, sql, "k,f,x,u", &rows, &["k", "f", "x", "u"], slack);
    check("SELECT k, COUNT(*) AS n FROM t GROUP BY k", 1.0 - 1e-12);
    check("SELECT k, SUM(x) AS n FROM t WHERE f = 1 GROUP BY k", 1.0 - 1e-12);
    check("SELECT SUM(x) AS n, COUNT(x) AS m FROM t WHERE f = 1", 0.6);
    check("SELECT u, AVG(x) AS n FROM t GROUP BY u", 0.6);
    // Of an exponential mechanism about half of the claim is the normaliser, which hardly moves here.
    check("SELECT k, MEDIAN(x) AS m FROM t GROUP BY k", 0.3);
    check("SELECT k, MIN(x) AS a, COUNT(*) AS n FROM t WHERE f = 1 GROUP BY k", 0.3);
    check("SELECT MAX(x) AS b, PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY x) AS q FROM t WHERE f = 1", 0.3);
}

#[test]
fn owners_of_several_rows_are_within_the_claim() {
    let project = r#"
[dataset.t]
source = "t.csv"
owner = "o"
max_rows_per_owner = 3
max_groups_per_owner = 2
max_rows_per_group = 2
[dataset.t.columns]
k = { type = "category", values = ["a", "b", "c", "d"] }
x = { type = "int", lower = 0, upper = 3 }
"#;
    check_all_owners(project, "SELECT k, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k", 0.7);
    check_all_owners(project, "SELECT k, MEDIAN(x) AS m FROM t GROUP BY k", 0.3);
    check_all_owners(project, "SELECT MAX(x) AS b, COUNT(*) AS n FROM t", 0.3);
}

fn check_all_owners(project: &str, sql: &'static str, slack: f64) {
    let tiny = TinyTables::new(project, sql);
    let request = Request::sql("test", sql, &"epsilon=1".parse().unwrap()).unwrap();
    let plan = SqlPlan::new(sql, &request, &tiny.project).unwrap();
    let claim = |scope: &Scope| Odometer::of(&plan.events, scope).unwrap().epsilon(&Exact::zero()).unwrap().to_f64_up();
    let others = ["2,a,1", "2,b,3", "3,c,2"].map(str::to_string).to_vec();
    // One owner's tables: up to four rows out of a few, in every combination.
    let choices = ["1,a,0", "1,a,3", "1,b,3", "1,c,1", "1,d,3"];
    let mut owned: Vec<Vec<String>> = vec![vec![]];
    for size in 1..=4u32 {
        for code in 0..5usize.pow(size) {
            let digits: Vec<usize> = (0..size).map(|place| code / 5usize.pow(place) % 5).collect();
            if digits.windows(2).all(|pair| pair[0] <= pair[1]) {
                owned.push(digits.iter().map(|digit| choices[*digit].to_string()).collect());
            }
        }
    }
    let all: Vec<_> = owned.iter().map(|rows| tiny.cells("o,k,x", &[others.clone(), rows.clone()].concat())).collect();
    let mut worst = (0.0f64, 0.0f64);
    for left in &all {
        worst.0 = worst.0.max(pure_loss(&plan, left, &all[0]));
        all.iter().for_each(|right| worst.1 = worst.1.max(pure_loss(&plan, left, right)));
    }
    let (presence, person) = (claim(&Scope::Presence), claim(&Scope::Person));
    let within = |loss: f64, claim: f64| loss <= claim * (1.0 + 1e-12) && loss >= slack * claim;
    assert!(within(worst.0, presence), "{sql}: presence: {} of {presence}", worst.0);
    assert!(within(worst.1, person), "{sql}: person: {} of {person}", worst.1);
}
