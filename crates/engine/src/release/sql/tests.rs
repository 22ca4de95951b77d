//! Queries without noise against plain queries, every neighbour of tiny tables against the claim, error bars against many runs.

use super::answer::*;
use super::*;
use crate::backend::hash::Key;
use crate::budget::{Spent, one_attribute};
use crate::release::Cell;
use crate::release::run::Runner;
use crate::sql::analyse;
use crate::sql::integers::integers;
use scumble::noise::InsecureSeededSource;
use scumble::quantity::Exact;
use scumble::scope::{AttributeSet, Scope};
use std::collections::BTreeMap;
use std::path::Path;

mod drawn;
mod moves;
mod unknown_keys;

const PEOPLE: &str = "age,sex,state,income,disease\n\
    30,f,north,100.5,none\n40,m,north,200,flu\n50,f,south,300,none\n150,x,south,999999,hiv\n\
    ,f,north,,none\n20,q,south,NaN,flu\n-5,m,east,-7,none\n";

const VISITS: &str =
    "person_id,clinic,cost\n1,a,10\n1,a,20\n1,a,30\n1,b,40\n2,a,50\n2,b,60\n2,c,70\n3,c,80\n3,c,80\n3,c,80\n3,c,80\n";

const PROJECT: &str = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
age = { type = "int", lower = 0, upper = 120 }
sex = { type = "category", values = ["f", "m", "x"] }
state = { type = "category" }
income = { type = "float", lower = 0, upper = 1000, granularity = 0.5 }
disease = { type = "category", values = ["none", "flu", "hiv"], sensitive = true }
[dataset.visits]
source = "visits.csv"
owner = "person_id"
max_rows_per_owner = 4
max_groups_per_owner = 2
max_rows_per_group = 2
[dataset.visits.columns]
clinic = { type = "category", values = ["a", "b", "c"] }
cost = { type = "int", lower = 0, upper = 100 }
[dataset.wards]
source = "wards.csv"
public = true
[dataset.wards.columns]
clinic = { type = "category", values = ["a", "b", "c"] }
floor = { type = "int", lower = 1, upper = 2 }
[dataset.fine]
source = "fine.csv"
[dataset.fine.columns]
fine = { type = "float", lower = 0, upper = 1000, granularity = 1e-14 }
"#;

fn project_in(folder: &Path) -> Project {
    std::fs::write(folder.join("people.csv"), PEOPLE).unwrap();
    std::fs::write(folder.join("visits.csv"), VISITS).unwrap();
    std::fs::write(folder.join("wards.csv"), "clinic,floor\na,1\nb,2\nc,2\n").unwrap();
    Project::parse(&folder.join("scumble.toml"), PROJECT).unwrap()
}

/// A query at the cost of a request.
struct SqlPlan {
    cut: Rc<Cut>,
    calibrated: Calibrated,
    private: Private,
    events: Vec<Event>,
    tables: Vec<String>,
    expected: Vec<crate::release::Expected>,
}

impl SqlPlan {
    fn new(sql: &str, request: &Request, project: &Project) -> Result<Self> {
        let query = AnalysedQuery::new(sql, Bounding::default(), expected::rows(request)?, project)?;
        let PricedQuery { calibrated, private, .. } = query.at(&request.cost)?;
        let Plan { events, tables, expected, .. } = query.plan(query.at(&request.cost)?)?;
        Ok(Self { cut: query.cut, calibrated, private, events, tables, expected })
    }
}

fn planned(project: &Project, sql: &str) -> Result<SqlPlan> {
    let request = Request::of_query("test", sql, "epsilon=1,delta=1e-6").unwrap();
    SqlPlan::new(sql, &request, project)
}

/// No noise at all: an insecure hook that only these tests can reach.
struct Certain(InsecureSeededSource);

impl Chance for Certain {
    fn noised(&mut self, _: &Noise, exact: i128) -> i128 {
        exact
    }

    fn chosen(&mut self, quantile: &Quantile, counts: &BTreeMap<u128, u64>) -> u128 {
        quantile.release_counted(counts, &mut self.0)
    }
}

/// The answer without noise, as CSV without error columns. Quantiles are drawn at an ε at which no wrong rank is ever drawn.
fn exact_answer(project: &Project, sql: &str) -> String {
    let plan = planned(project, sql).unwrap();
    let backend = Backend::with_data(project, &plan.tables).unwrap();
    let cut = analyse(sql, Bounding::default(), project, &backend).unwrap();
    let integers = integers(&cut, &backend, Key(1, 2)).unwrap();
    let certain = Epsilon::new(1e5).unwrap();
    let quantiles = cut.query.quantiles.iter().map(|quantile| mechanism(&cut.query, quantile, certain).unwrap());
    let private = Private { threshold: None, quantiles: quantiles.collect(), ..plan.private };
    let noisy = noised(&cut, integers, &private, &mut Certain(InsecureSeededSource::new(1)));
    let mut answers = answers(&cut, &noisy, &private).unwrap();
    answers.columns.iter_mut().for_each(|column| column.uncertainty = None);
    answers.columns.retain(|column| !column.name.ends_with("_error"));
    answers.csv()
}

#[test]
fn accepted_queries_without_noise_give_the_clamped_answer() {
    let folder = tempfile::tempdir().unwrap();
    let project = project_in(folder.path());
    let check = |sql: &str, expected: &str| assert_eq!(exact_answer(&project, sql), expected, "{sql}");
    check("SELECT COUNT(*) AS n FROM people", "n\n7\n");
    check("SELECT COUNT(age) AS n, COUNT(income) AS m FROM people", "n,m\n6,5\n");
    // 150 counts as 120, −5 as 0.
    check("SELECT SUM(age) AS s FROM people", "s\n260\n");
    check("SELECT SUM(income) AS s FROM people WHERE sex = 'f'", "s\n400.5\n");
    check("SELECT SUM(age * 2 + 1) AS s FROM people WHERE age >= 40", "s\n423\n");
    check("SELECT AVG(age) AS a FROM people WHERE sex = 'f'", "a\n40\n");
    check("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", "sex,n\nf,3\nm,2\nx,1\n");
    check("SELECT sex, COUNT(*) AS n FROM people WHERE state = 'east' GROUP BY sex", "sex,n\nf,0\nm,1\nx,0\n");
    check("SELECT state, COUNT(*) AS n FROM people GROUP BY state", "state,n\neast,1\nnorth,3\nsouth,3\n");
    check("SELECT COUNT(DISTINCT state) AS n FROM people", "n\n3\n");
    check("SELECT VAR_POP(age) AS v FROM people WHERE sex = 'f'", "v\n100\n");
    check("SELECT STDDEV_POP(age) AS v FROM people WHERE age IN (30, 50)", "v\n10\n");
    check("SELECT age >= 40 AS old, COUNT(*) AS n FROM people GROUP BY age >= 40", "old,n\nfalse,3\ntrue,3\n");
    check(
        "SELECT CASE WHEN age < 30 THEN 'young' ELSE 'other' END AS g, COUNT(*) AS n FROM people GROUP BY 1",
        "g,n\nyoung,2\nother,5\n",
    );
    check(
        "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING COUNT(*) > 1 ORDER BY n DESC LIMIT 1",
        "sex,n\nf,3\n",
    );
    check(
        "SELECT sex, 100.0 * COUNT(*) / 7 AS p FROM people GROUP BY sex HAVING COUNT(*) = 2",
        "sex,p\nm,28.571428571428573\n",
    );
    check("SELECT COUNT(*) FILTER (WHERE age > 35) AS n FROM people", "n\n3\n");
    check("WITH adults AS (SELECT sex, age FROM people WHERE age >= 18) SELECT COUNT(*) AS n FROM adults", "n\n5\n");
    check(
        "SELECT t.s, t.n FROM (SELECT sex AS s, COUNT(*) AS n FROM people GROUP BY sex) t WHERE t.n = 1",
        "s,n\nx,1\n",
    );
    check("SELECT COALESCE(sex, 'other') AS s, COUNT(*) AS n FROM people GROUP BY 1", "s,n\nf,3\nm,2\nx,1\nother,1\n");
}

#[test]
fn quantiles_without_noise_give_the_clamped_answer() {
    let folder = tempfile::tempdir().unwrap();
    let project = project_in(folder.path());
    let check = |sql: &str, expected: &str| assert_eq!(exact_answer(&project, sql), expected, "{sql}");
    // The ages are 0, 20, 30, 40, 50 and 120 after clamping, and one is NULL.
    check("SELECT MIN(age) AS a, MAX(age) AS b FROM people", "a,b\n0,120\n");
    check("SELECT MEDIAN(age) AS m FROM people WHERE age >= 20", "m\n40\n");
    check("SELECT APPROX_MEDIAN(age) AS m FROM people WHERE age >= 20", "m\n40\n");
    check("SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age) AS q FROM people WHERE age >= 20", "q\n30\n");
    check("SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age DESC) AS q FROM people WHERE age >= 20", "q\n50\n");
    check("SELECT PERCENTILE_CONT(1) WITHIN GROUP (ORDER BY age) AS q FROM people WHERE age < 100", "q\n50\n");
    check(
        "SELECT APPROX_PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY age) AS q FROM people WHERE age >= 20",
        "q\n50\n",
    );
    check("SELECT APPROX_PERCENTILE_CONT(age, 0.75) AS q FROM people WHERE age >= 20", "q\n50\n");
    check("SELECT MAX(income) AS b FROM people WHERE sex = 'f'", "b\n300\n");
    check("SELECT MIN(income) AS a FROM people WHERE sex = 'f'", "a\n100.5\n");
    check("SELECT MAX(age) FILTER (WHERE age < 45) AS b FROM people", "b\n40\n");
    check("SELECT MAX(2 * age + 1) - MIN(age) AS spread FROM people WHERE age BETWEEN 20 AND 50", "spread\n81\n");
    check(
        "SELECT sex, COUNT(*) AS n, MIN(age) AS a, MAX(age) AS b, SUM(age) AS s FROM people GROUP BY sex",
        "sex,n,a,b,s\nf,3,30,50,80\nm,2,0,40,40\nx,1,120,120,120\n",
    );
    check("SELECT state, MAX(age) AS b FROM people GROUP BY state", "state,b\neast,0\nnorth,40\nsouth,120\n");
    check(
        "SELECT sex, MAX(age) AS b FROM people GROUP BY sex HAVING MAX(age) > 45 ORDER BY b DESC",
        "sex,b\nx,120\nf,50\n",
    );
    // With owners: the whole of owner 3 is one clinic, of which two visits count.
    check("SELECT MIN(cost) AS a, MAX(cost) AS b, MEDIAN(cost) AS m FROM visits", "a,b,m\n10,80,60\n");
    check("SELECT MAX(v.cost) AS b FROM visits v JOIN wards w ON v.clinic = w.clinic WHERE w.floor = 1", "b\n50\n");
}

#[test]
fn a_quantile_is_published_with_its_rank_error_and_without_a_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    let project = project_in(folder.path());
    let sql = "SELECT sex, MEDIAN(age) AS m, COUNT(*) AS n, MAX(age) - MIN(age) AS spread FROM people GROUP BY sex";
    let request = Request::of_query("test", sql, "epsilon=2").unwrap();
    let runner = Runner::new(&project);
    let planned = [runner.plan(&request).unwrap()];
    let expected = &planned[0].plan.expected;
    assert_eq!(expected.iter().map(|one| one.column.as_str()).collect::<Vec<_>>(), ["m", "n", "spread"]);
    assert!(
        expected[0].standard_error.is_none() && expected[0].about.contains("rows in rank"),
        "{}",
        expected[0].about
    );
    assert!(expected[1].standard_error.is_some() && expected[2].standard_error.is_none());
    let mut bits = InsecureSeededSource::new(9);
    let (outcomes, _) = runner.release(&planned, &folder.path().join("out"), &mut bits, |_| ()).unwrap();
    let csv = outcomes[0].answers.csv();
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("sex,m,m_error,m_rank_error,n,n_error,spread,spread_error"));
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let (m, ranks): (f64, f64) = (cells[1].parse().unwrap(), cells[3].parse().unwrap());
        assert!((0.0..=120.0).contains(&m) && cells[2].is_empty() && cells[7].is_empty() && !cells[5].is_empty());
        // Four parts of 2; a person may be replaced, which moves a median by 2: ε = 1/4, ranks (2·½/ε)·ln(121/0.05).
        assert!((ranks - 4.0 * (121.0f64 / 0.05).ln()).abs() < 1e-6, "{ranks}");
    }
}

#[test]
fn owners_are_bounded_and_joined() {
    let folder = tempfile::tempdir().unwrap();
    let project = project_in(folder.path());
    let check = |sql: &str, expected: &str| assert_eq!(exact_answer(&project, sql), expected, "{sql}");
    // Owner 1 has 4 rows, owner 2 has 3, owner 3 has 4: without groups at most 4 of each count.
    check("SELECT COUNT(*) AS n, COUNT(DISTINCT person_id) AS o FROM visits", "n,o\n11,3\n");
    // At most 2 rows in each group: owner 1 keeps 2 of 3 in a, owner 3 keeps 2 of 4 in c; at most 2 groups: owner 2 loses one of a, b, c.
    let answer = exact_answer(&project, "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic");
    let counts: Vec<i64> =
        answer.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    assert_eq!(counts.iter().sum::<i64>(), 3 + 2 + 2, "{answer}");
    check("SELECT SUM(cost) AS s FROM visits WHERE clinic = 'b'", "s\n100\n");
}

#[test]
fn joins_keep_the_owner() {
    let folder = tempfile::tempdir().unwrap();
    let project = project_in(folder.path());
    let sql = "SELECT w.floor, COUNT(DISTINCT v.person_id) AS n FROM visits v JOIN wards w ON v.clinic = w.clinic GROUP BY w.floor";
    assert_eq!(exact_answer(&project, sql), "floor,n\n1,2\n2,3\n");
    let own = "SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.person_id = b.person_id WHERE a.clinic = 'c' AND b.clinic = 'c'";
    assert_eq!(exact_answer(&project, own), "n\n17\n");
}

#[test]
fn refused_queries_say_why_and_where() {
    let folder = tempfile::tempdir().unwrap();
    let project = project_in(folder.path());
    let check = |sql: &str, sentence: &str| {
        let error = planned(&project, sql).err().unwrap_or_else(|| panic!("accepted: {sql}"));
        assert!(error.to_string().contains(sentence), "{sql}\n  said: {error}\n  not:  {sentence}");
        assert!(matches!(error, crate::Error::Input { .. }), "{sql}");
    };
    check("SELECT age FROM people", "query:1:1: the query has no aggregate, and rows are never published");
    check("SELECT DISTINCT sex FROM people", "SELECT DISTINCT is not answered");
    check("SELECT COUNT(*) FROM people UNION SELECT COUNT(*) FROM visits", "UNION is not answered");
    check("SELECT ROW_NUMBER() OVER (ORDER BY age) FROM people", "window function");
    check("SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)", "sub-query inside an expression");
    check(
        "SELECT COUNT(*) FROM peeple",
        "query:1:22: there is no table 'peeple' in the project file (did you mean 'people'?)",
    );
    check("SELECT COUNT(*) FROM people WHERE agee > 3", "there is no declared column 'agee' (did you mean 'age'?)");
    check("SELECT SUM(LENGTH(state)) FROM people", "needs bounds: declare lower and upper for state");
    check("SELECT MAX(state) FROM people", "MAX(people.state) needs numbers, not Utf8");
    check("SELECT MEDIAN(LENGTH(state)) FROM people", "needs bounds: declare lower and upper for state");
    check("SELECT MIN(DISTINCT age) FROM people", "min(DISTINCT …) is not answered");
    // The generator of adversarial queries found that this counted the people without visits too.
    check(
        "SELECT COUNT(DISTINCT w.person_id) FROM visits v LEFT JOIN visits w ON v.person_id = w.person_id AND w.cost > 50",
        "count the owner of the left table",
    );
    // DataFusion counts one value in COUNT(DISTINCT NULL), with and without rows.
    check("SELECT COUNT(DISTINCT NULL) FROM people", "of a constant is not answered");
    check(
        "SELECT PERCENTILE_CONT(1.5) WITHIN GROUP (ORDER BY age) FROM people",
        "the fraction of percentile_cont must be written out, as a number from 0 to 1",
    );
    check("SELECT APPROX_PERCENTILE_CONT(age, age) FROM people", "must be written out");
    check("SELECT MEDIAN(fine) FROM fine", "which is too fine; declare tighter bounds or a coarser granularity");
    check(
        "SELECT sex, AVG(n) FROM (SELECT sex, state, COUNT(*) AS n FROM people GROUP BY sex, state) GROUP BY sex",
        "aggregate over an aggregate",
    );
    check("SELECT COUNT(*) FROM (SELECT * FROM people LIMIT 5)", "LIMIT below the aggregate");
    check(
        "SELECT income, COUNT(*) FROM people GROUP BY income",
        "a column of fractions has a group for nearly every row",
    );
    check("SELECT person_id, COUNT(*) FROM visits GROUP BY person_id", "the owner column 'person_id' can be counted");
    check("SELECT COUNT(*) FROM visits WHERE person_id = '7'", "the owner column 'person_id' can be counted");
    check("SELECT COUNT(*) FROM people p JOIN visits v ON p.age = v.cost", "needs an owner in the project file");
    check(
        "SELECT COUNT(*) FROM visits a JOIN visits b ON a.clinic = b.clinic",
        "can only be joined ON their owner columns",
    );
    check("SELECT COUNT(*) FROM visits a FULL JOIN visits b ON a.person_id = b.person_id", "FULL");
    check("SELECT COUNT(*) FROM people WHERE 10 / age > 1", "may divide by zero");
    check("SELECT COUNT(*) FROM people WHERE random() > 0.5", "the function random is not answered");
    check("SELECT sex, COUNT(*) FROM people GROUP BY ROLLUP (sex)", "ROLLUP");
    check("SELECT COUNT(*) FROM wards", "reads public tables only");
    check("DROP TABLE people", "only SELECT is answered");
    check("SELECT COUNT(*) FROM people; DROP TABLE people", "exactly one SELECT");
    check("SELEC COUNT(*)", "this is not SQL");
    check("SELECT SUM(DISTINCT age) FROM people", "only COUNT(DISTINCT …) is");
    check("SELECT CORR(age, income) FROM people", "corr");
}

fn cost(plan: &SqlPlan, scope: &Scope) -> f64 {
    let delta = Exact::from_f64(1e-5).unwrap();
    Spent::of(&plan.events, scope).unwrap().epsilon(&delta).unwrap().to_f64_up()
}

#[test]
fn an_attribute_that_is_not_read_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let project = project_in(folder.path());
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

/// All rows over tiny domains, and the exact measures of a table of such rows.
struct Tiny {
    project: Project,
    sql: &'static str,
    folder: tempfile::TempDir,
}

impl Tiny {
    fn new(project: &str, sql: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = Project::parse(&folder.path().join("scumble.toml"), project).unwrap();
        Self { project, sql, folder }
    }

    fn cells(&self, header: &str, rows: &[String]) -> Cells {
        std::fs::write(self.folder.path().join("t.csv"), format!("{header}\n{}\n", rows.join("\n"))).unwrap();
        let backend = Backend::with_data(&self.project, &["t".to_string()]).unwrap();
        let cut = analyse(self.sql, Bounding::default(), &self.project, &backend).unwrap();
        let integers = integers(&cut, &backend, Key(3, 4)).unwrap();
        integers.keys.iter().map(|key| format!("{key:?}")).zip(integers.cells).collect()
    }
}

type Cells = BTreeMap<String, crate::sql::integers::Cell>;

/// The exact pure loss of a pair of tables: noise and quantiles of all cells are independent, so that the losses add up.
fn pure_loss(plan: &SqlPlan, left: &Cells, right: &Cells) -> f64 {
    let query = &plan.cut.query;
    let nothing = crate::sql::integers::Cell {
        sums: vec![0; query.measures.len()],
        ranked: vec![BTreeMap::new(); query.ranked.len()],
    };
    let keys: std::collections::BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    let (mut there, mut back) = (0.0, 0.0);
    for key in keys {
        let (left, right) = (left.get(key).unwrap_or(&nothing), right.get(key).unwrap_or(&nothing));
        for (noise, (left, right)) in plan.private.noises.iter().zip(left.sums.iter().zip(&right.sums)) {
            let Noise::Laplace(noise) = noise else { panic!("the harness asks for Laplace noise") };
            there += (left - right).abs() as f64 / noise.scale().get();
            back += (left - right).abs() as f64 / noise.scale().get();
        }
        for (quantile, epsilon) in query.quantiles.iter().zip(&plan.calibrated.quantiles) {
            let last = query.ranked[quantile.ranked].last_key();
            let law = |cell: &crate::sql::integers::Cell| {
                quantile_law(quantile.rank, last, epsilon.get(), &cell.ranked[quantile.ranked])
            };
            let (left, right) = (law(left), law(right));
            let most = |p: &[f64], q: &[f64]| p.iter().zip(q).map(|(p, q)| (p / q).ln()).fold(0.0, f64::max);
            there += most(&left, &right);
            back += most(&right, &left);
        }
    }
    f64::max(there, back)
}

/// The exact output distribution of a quantile, by its definition and not by the mechanism's code.
pub(in crate::release) fn quantile_law(rank: Rank, last: u128, epsilon: f64, counts: &BTreeMap<u128, u64>) -> Vec<f64> {
    let sum = |holds: &dyn Fn(u128) -> bool| -> f64 {
        counts.iter().filter(|(key, _)| holds(**key)).map(|(_, times)| *times as f64).sum()
    };
    let from_end = (2.0 / epsilon * ((last as f64 + 1.0) / 0.05).ln()).ceil();
    let weight = |y: u128| {
        let (below, above, all) = (sum(&|key| key < y), sum(&|key| key > y), sum(&|_| true));
        let (distance, sensitivity) = match rank {
            Rank::Least => ((from_end - (all - above)).max(below - (from_end - 1.0)).max(0.0), 1.0),
            Rank::Largest => ((from_end - (all - below)).max(above - (from_end - 1.0)).max(0.0), 1.0),
            Rank::Fraction(fraction) => {
                let f = fraction.get();
                ((below - f * all).max(above - (1.0 - f) * all).max(0.0), f.max(1.0 - f))
            }
        };
        (-epsilon * distance / (2.0 * sensitivity)).exp()
    };
    let weights: Vec<f64> = (0..=last).map(weight).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// Discrete Laplace noise is ε-private with exactly ε = Σ|moves|/scale (the ratio of masses is attained), and a quantile's output
/// distribution is listed, so that comparing their sum over all neighbours with the claim compares D_∞ of the whole output distribution
/// with the claim, exactly.
fn check_all_neighbours(
    project: &str,
    sql: &'static str,
    header: &str,
    rows: &[&str],
    attributes: &[&str],
    slack: f64,
) {
    let tiny = Tiny::new(project, sql);
    let request = Request::of_query("test", sql, "epsilon=1").unwrap();
    let plan = SqlPlan::new(sql, &request, &tiny.project).unwrap();
    let columns: Vec<&str> = header.split(',').collect();
    let rest: Vec<String> = vec![rows[0].to_string(), rows[rows.len() / 2].to_string()];
    let with = |row: &str| tiny.cells(header, &[rest.clone(), vec![row.to_string()]].concat());
    let all: Vec<_> = rows.iter().map(|row| with(row)).collect();
    let without = tiny.cells(header, &rest);
    let claim = |scope: &Scope| Spent::of(&plan.events, scope).unwrap().epsilon(&Exact::zero()).unwrap().to_f64_up();
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
    // A pair that differs in exactly two attributes is not the worst of its scope, which holds those that differ in one as well.
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
    let tiny = Tiny::new(project, sql);
    let request = Request::of_query("test", sql, "epsilon=1").unwrap();
    let plan = SqlPlan::new(sql, &request, &tiny.project).unwrap();
    let claim = |scope: &Scope| Spent::of(&plan.events, scope).unwrap().epsilon(&Exact::zero()).unwrap().to_f64_up();
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

#[test]
fn order_and_partitioning_do_not_change_the_integers() {
    let project = |folder: &Path| project_in(folder);
    let sql = "SELECT clinic, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY clinic";
    let answer = |rows: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let project = project(folder.path());
        std::fs::write(folder.path().join("visits.csv"), format!("person_id,clinic,cost\n{}\n", rows.join("\n")))
            .unwrap();
        exact_answer(&project, sql)
    };
    let rows: Vec<&str> = VISITS.lines().skip(1).collect();
    let expected = answer(&rows);
    for turn in 1..rows.len() {
        let mut turned = rows.clone();
        turned.rotate_left(turn);
        if turn % 2 == 0 {
            turned.reverse();
        }
        assert_eq!(answer(&turned), expected);
    }
}

/// Writes so many people of each sex, their incomes spread evenly over the bounds.
fn write_people(folder: &Path, rows: u32) {
    let income = |index: u32| 1000.0 * f64::from(index) / f64::from(rows - 1);
    let of = |sex: &'static str| (0..rows).map(move |index| format!("{sex},40,{},none,x", income(index)));
    let people: Vec<String> = ["f", "m", "x"].into_iter().flat_map(of).collect();
    std::fs::write(folder.join("people.csv"), format!("sex,age,income,disease,state\n{}\n", people.join("\n")))
        .unwrap();
}

#[test]
fn intervals_cover() {
    // As they are published, for every kind of column. Seeded: the noise is the same in each run of this test.
    let folder = tempfile::tempdir().unwrap();
    let project = project_in(folder.path());
    write_people(folder.path(), 3000);
    let sql = "SELECT COUNT(*) AS n, SUM(income) AS s, AVG(income) AS a, VAR(income) AS v, STDDEV(income) AS d, \
               SUM(income) / COUNT(*) AS q, 2 * COUNT(*) - SUM(age) AS l FROM people WHERE sex = 'f'";
    // Costs at which a count has far more than one whole number in its interval: it could not cover 95% otherwise.
    for cost in ["epsilon=0.7", "epsilon=3", "rho=0.02", "rho=0.1"] {
        let request = Request::of_query("test", sql, cost).unwrap();
        let plan = SqlPlan::new(sql, &request, &project).unwrap();
        let backend = Backend::with_data(&project, &plan.tables).unwrap();
        let cut = analyse(sql, Bounding::default(), &project, &backend).unwrap();
        let exact = integers(&cut, &backend, Key(1, 2)).unwrap();
        let certain = noised(&cut, exact.clone(), &plan.private, &mut Certain(InsecureSeededSource::new(1)));
        let truth = answers(&cut, &certain, &plan.private).unwrap();
        let (runs, mut bits) = (2000, InsecureSeededSource::new(11));
        // All runs as the rows of one answer.
        let mut all = Noisy { keys: Vec::new(), cells: Vec::new() };
        for _ in 0..runs {
            let noisy = noised(&cut, exact.clone(), &plan.private, &mut Drawn(&mut bits));
            all.keys.extend(noisy.keys);
            all.cells.extend(noisy.cells);
        }
        let found = answers(&cut, &all, &plan.private).unwrap();
        assert_eq!(found.columns.len(), 7);
        for (column, truth) in found.columns.iter().zip(&truth.columns) {
            let truth = truth.cells[0].number().unwrap();
            let intervals = column.uncertainty.as_ref().unwrap();
            let covered = intervals.iter().filter(|one| (one.low..=one.high).contains(&truth)).count();
            let rate = covered as f64 / f64::from(runs);
            assert!((0.935..=0.97).contains(&rate), "{cost}, {}: {rate}", column.name);
        }
    }
}

#[test]
fn planned_errors_are_within_two_percent_of_what_a_thousand_runs_show() {
    // One cell of a thousand runs would not do: the spread of n Laplace draws is itself off by √(5/4n), 3.5% for a thousand. The
    // 363 cells of a run are independent and have one planned error, so that a column has n = 363,000 draws: 2% are 10 of their
    // standard errors for Laplace noise (17 for Gaussian noise), a false alarm far below 1e-9 were the seed not fixed.
    let folder = tempfile::tempdir().unwrap();
    let project = project_in(folder.path());
    let sql = "SELECT age, disease, COUNT(*) AS n, SUM(income) AS s, COUNT(*) - 2 * SUM(income) AS d FROM people GROUP BY age, disease";
    for cost in ["epsilon=0.5", "epsilon=8", "rho=0.02", "rho=3"] {
        let request = Request::of_query("test", sql, cost).unwrap();
        let plan = SqlPlan::new(sql, &request, &project).unwrap();
        let backend = Backend::with_data(&project, &plan.tables).unwrap();
        let cut = analyse(sql, Bounding::default(), &project, &backend).unwrap();
        let exact = integers(&cut, &backend, Key(1, 2)).unwrap();
        let mut bits = InsecureSeededSource::new(12);
        let mut squares = [0.0f64; 3];
        let runs = 1000;
        for _ in 0..runs {
            let noisy = noised(&cut, exact.clone(), &plan.private, &mut Drawn(&mut bits));
            for (cell, truth) in noisy.cells.iter().zip(&exact.cells) {
                let off = |index: usize| (cell.sums[index] - truth.sums[index]) as f64;
                let (count, sum) = (off(0), 0.5 * off(1));
                for (square, off) in squares.iter_mut().zip([count, sum, count - 2.0 * sum]) {
                    *square += off * off;
                }
            }
        }
        for (square, expected) in squares.iter().zip(plan.expected) {
            let found = (square / f64::from(runs) / exact.cells.len() as f64).sqrt();
            let planned = expected.standard_error.unwrap();
            assert!((found / planned - 1.0).abs() < 0.02, "{cost}, {}: {found} and {planned}", expected.column);
        }
    }
}

#[test]
fn assumed_errors_are_within_two_percent_of_what_runs_on_such_cells_show() {
    // 2,000 people in each of 3 cells, their incomes spread evenly over the bounds. 20,000 runs of 3 cells are n = 60,000 draws of
    // each column: 2% are 5.6 standard errors of the spread even if all of it were Laplace noise of one measure (√(5/4n)), and
    // the seed is fixed.
    let folder = tempfile::tempdir().unwrap();
    let project = project_in(folder.path());
    let rows = 2000u32;
    write_people(folder.path(), rows);
    let sql = "SELECT sex, AVG(income) AS a, VAR(income) AS v, STDDEV(income) AS d, SUM(income) / COUNT(*) AS q FROM people GROUP BY sex";
    for cost in ["epsilon=2", "rho=0.5"] {
        let request = Request::of_query("test", sql, cost).unwrap();
        let plan = SqlPlan::new(sql, &request, &project).unwrap();
        let backend = Backend::with_data(&project, &plan.tables).unwrap();
        let cut = analyse(sql, Bounding::default(), &project, &backend).unwrap();
        let exact = integers(&cut, &backend, Key(1, 2)).unwrap();
        let assumed = expected::expected(&cut, &plan.private, u64::from(rows), &backend).unwrap();
        let mut bits = InsecureSeededSource::new(13);
        let (runs, columns) = (20_000, assumed.len());
        let numbers = |sums: &[i128]| {
            let cell = Numbers { sums: sums.iter().map(|sum| *sum as f64).collect(), quantiles: vec![] };
            let of = |aggregate: &Computation| value(aggregate, &cell);
            let all: Vec<f64> = cut.query.aggregates.iter().map(of).collect();
            [all[0], all[1], all[2], all[3] / all[4]]
        };
        assert_eq!((columns, cut.query.aggregates.len()), (4, 5));
        let mut squares = [0.0f64; 4];
        for _ in 0..runs {
            let noisy = noised(&cut, exact.clone(), &plan.private, &mut Drawn(&mut bits));
            for (cell, truth) in noisy.cells.iter().zip(&exact.cells) {
                let off = numbers(&cell.sums).into_iter().zip(numbers(&truth.sums));
                squares.iter_mut().zip(off).for_each(|(square, (found, truth))| *square += (found - truth).powi(2));
            }
        }
        for (square, expected) in squares.iter().zip(&assumed) {
            let found = (square / f64::from(runs) / 3.0).sqrt();
            assert_eq!(expected.standard_error, None, "{}", expected.column);
            let assumed = expected.assumed.as_ref().unwrap();
            let ratio = found / assumed.standard_error;
            assert!((ratio - 1.0).abs() < 0.02, "{cost}, {}: {found} and {assumed:?}", expected.column);
            assert!(assumed.least <= assumed.standard_error && assumed.standard_error <= assumed.most);
        }
    }
}

#[test]
fn a_key_of_one_owner_with_many_rows_is_not_selected() {
    // A peer's threshold counted rows: one person's thousand visits made a secret clinic public.
    let folder = tempfile::tempdir().unwrap();
    let text = PROJECT
        .replace("values = [\"a\", \"b\", \"c\"] }\ncost", "}\ncost")
        .replace("max_rows_per_owner = 4", "max_rows_per_owner = 1000")
        .replace("max_rows_per_group = 2", "max_rows_per_group = 1000");
    project_in(folder.path());
    let project = Project::parse(&folder.path().join("scumble.toml"), &text).unwrap();
    let mut rows: Vec<String> = (0..1000).map(|_| "1,secret,1".to_string()).collect();
    rows.extend((0..500).map(|owner| format!("{owner},open,1")));
    std::fs::write(folder.path().join("visits.csv"), format!("person_id,clinic,cost\n{}\n", rows.join("\n"))).unwrap();
    let request =
        Request::of_query("test", "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic", "epsilon=2,delta=1e-6")
            .unwrap();
    let runner = Runner::new(&project);
    for _ in 0..5 {
        let planned = [runner.plan(&request).unwrap()];
        let mut bits = InsecureSeededSource::new(5);
        let (outcomes, _) = runner.release(&planned, &folder.path().join("out"), &mut bits, |_| ()).unwrap();
        let csv = outcomes[0].answers.csv();
        assert!(!csv.contains("secret"), "{csv}");
        assert!(csv.contains("open"), "{csv}");
    }
}

#[test]
fn empty_groups_get_independent_noise_and_counts_may_be_negative() {
    let folder = tempfile::tempdir().unwrap();
    let project = project_in(folder.path());
    let sql = "SELECT sex, disease, COUNT(*) AS n FROM people WHERE state = 'nowhere' GROUP BY sex, disease";
    let request = Request::of_query("test", sql, "epsilon=0.1").unwrap();
    let runner = Runner::new(&project);
    let planned = [runner.plan(&request).unwrap()];
    let mut bits = InsecureSeededSource::new(3);
    let (outcomes, _) = runner.release(&planned, &folder.path().join("out"), &mut bits, |_| ()).unwrap();
    let counts: Vec<f64> = outcomes[0].answers.columns[2].cells.iter().filter_map(Cell::number).collect();
    assert_eq!(counts.len(), 9);
    let different: std::collections::BTreeSet<i64> = counts.iter().map(|count| *count as i64).collect();
    assert!(different.len() > 4, "{counts:?}");
    assert!(counts.iter().any(|count| *count < 0.0), "{counts:?}");
}

#[test]
fn an_owner_brings_in_no_more_unknown_keys_than_it_may() {
    // Keys of which no row was kept were noised all the same: an owner with many keys of its own got a chance to show for each.
    let folder = tempfile::tempdir().unwrap();
    let text = PROJECT.replace("values = [\"a\", \"b\", \"c\"] }\ncost", "}\ncost");
    project_in(folder.path());
    let project = Project::parse(&folder.path().join("scumble.toml"), &text).unwrap();
    let rows: Vec<String> = (0..300).map(|key| format!("1,key {key},1")).collect();
    std::fs::write(folder.path().join("visits.csv"), format!("person_id,clinic,cost\n{}\n", rows.join("\n"))).unwrap();
    let backend = Backend::with_data(&project, &["visits".to_string()]).unwrap();
    let sql = "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic";
    let cut = analyse(sql, Bounding::default(), &project, &backend).unwrap();
    assert_eq!(integers(&cut, &backend, Key(1, 2)).unwrap().keys.len(), 2);
}

#[test]
fn quantiles_of_empty_groups_are_independent_and_uniform() {
    let folder = tempfile::tempdir().unwrap();
    let project = project_in(folder.path());
    let sql = "SELECT sex, disease, MEDIAN(age) AS m FROM people WHERE state = 'nowhere' GROUP BY sex, disease";
    let request = Request::of_query("test", sql, "epsilon=0.1").unwrap();
    let runner = Runner::new(&project);
    let planned = [runner.plan(&request).unwrap()];
    let mut bits = InsecureSeededSource::new(3);
    let (outcomes, _) = runner.release(&planned, &folder.path().join("out"), &mut bits, |_| ()).unwrap();
    let medians: Vec<f64> = outcomes[0].answers.columns[2].cells.iter().filter_map(Cell::number).collect();
    assert_eq!(medians.len(), 9);
    let different: std::collections::BTreeSet<i64> = medians.iter().map(|median| *median as i64).collect();
    // Nine uniform draws of 121 have five or fewer different values with probability below 1e-6, and the seed is fixed.
    assert!(different.len() > 5, "{medians:?}");
    assert!(medians.iter().any(|median| *median < 40.0) && medians.iter().any(|median| *median > 80.0), "{medians:?}");
}

#[test]
fn errors_stand_beside_their_own_rows_in_large_answers() {
    // More rows than the backend takes at a time: it may then spread them, and give them back in another order.
    let folder = tempfile::tempdir().unwrap();
    let text = PROJECT.replace("lower = 0, upper = 120 }", "lower = 0, upper = 9000 }");
    project_in(folder.path());
    let project = Project::parse(&folder.path().join("scumble.toml"), &text).unwrap();
    let sql = "SELECT age, COUNT(*) * age AS n FROM people GROUP BY age";
    let request = Request::of_query("test", sql, "epsilon=1").unwrap();
    let runner = Runner::new(&project);
    let planned = [runner.plan(&request).unwrap()];
    let mut bits = InsecureSeededSource::new(3);
    let (outcomes, _) = runner.release(&planned, &folder.path().join("out"), &mut bits, |_| ()).unwrap();
    let columns = &outcomes[0].answers.columns;
    let one = columns[1].uncertainty.as_ref().unwrap()[1].standard_error;
    assert_eq!(columns[0].cells.len(), 9001);
    for (age, error) in columns[0].cells.iter().zip(columns[1].uncertainty.as_ref().unwrap()) {
        let expected = age.number().unwrap() * one;
        assert!((error.standard_error - expected).abs() <= 1e-9 * expected, "{age:?}: {}", error.standard_error);
    }
}
