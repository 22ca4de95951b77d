//! Queries without noise against plain queries, every neighbour of tiny tables against the claim, error bars against
//! many runs.

use super::answer::*;
use super::noisy::{CellNumbers, NoisyCell, NoisyIntegers};
use super::*;
use crate::budget::{Odometer, one_attribute};
use crate::release::output::Cell;
use crate::release::run::Runner;
use crate::sql::analyse;
use crate::sql::execute::integers::integers;
use crate::support::Folder;
use crate::tables::hash::Key;
use scumble::noise::InsecureSeededSource;
use scumble::quantity::Exact;
use scumble::scope::{AttributeSet, Scope};
use std::collections::BTreeMap;

mod answers;
pub(crate) mod bounding;
mod coverage;
mod drawn;
mod errors;
mod intervals;
mod keys;
mod moves;
mod neighbours;
mod public_numbers;
mod refused;
mod shares;
mod unknown_keys;
mod windows;

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

/// The tables above in a folder, and their project.
fn sample() -> (Folder, Project) {
    sample_with(PROJECT)
}

/// The same with another project file.
fn sample_with(text: &str) -> (Folder, Project) {
    let wards = "clinic,floor\na,1\nb,2\nc,2\n";
    let folder = Folder::with(&[("people.csv", PEOPLE), ("visits.csv", VISITS), ("wards.csv", wards)]);
    let project = folder.project(text);
    (folder, project)
}

/// A query at the cost of a request.
struct SqlPlan {
    cut: Rc<PrivateQuery>,
    calibrated: CalibratedNoise,
    private: QueryMechanism,
    events: Vec<Event>,
    tables: Vec<String>,
    expected: Vec<crate::release::plan::ExpectedError>,
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
    let request = Request::sql("test", sql, &"epsilon=1,delta=1e-6".parse().unwrap()).unwrap();
    SqlPlan::new(sql, &request, project)
}

/// No noise at all: an insecure hook that only these tests can reach.
struct ZeroNoise(InsecureSeededSource);

impl Chance for ZeroNoise {
    fn noised(&mut self, _: &Noise, exact: i128) -> i128 {
        exact
    }

    fn noised_jointly(&mut self, _: &JointNoise, exact: Vec<i128>) -> Vec<i128> {
        exact
    }

    fn chosen(&mut self, quantile: &Quantile, counts: &BTreeMap<u128, u64>) -> u128 {
        quantile.release_counted(counts, &mut self.0)
    }

    fn is_shown(&mut self, _: &KeySelection, _: u64) -> bool {
        true
    }
}

/// The answer without noise, as CSV without error columns. Quantiles are drawn at an ε at which no wrong rank is ever
/// drawn.
fn exact_answer(project: &Project, sql: &str) -> String {
    let plan = planned(project, sql).unwrap();
    let backend = Backend::with_data(project, &plan.tables).unwrap();
    let cut = analyse(sql, Bounding::default(), project, &backend).unwrap();
    let integers = integers(&cut, &backend, Key(1, 2)).unwrap();
    let certain = Epsilon::new(1e5).unwrap();
    let quantiles = cut.query.quantiles.iter().map(|quantile| mechanism(&cut.query, quantile, certain).unwrap());
    let private = QueryMechanism { threshold: None, selection: None, quantiles: quantiles.collect(), ..plan.private };
    let noisy = noised(&cut, integers, &private, &mut ZeroNoise(InsecureSeededSource::new(1)));
    let mut answers = answers(&cut, &noisy, &private).unwrap();
    answers.columns.iter_mut().for_each(|column| column.uncertainty = None);
    answers.columns.retain(|column| !column.name.ends_with("_error"));
    answers.csv().unwrap()
}

/// All rows over tiny domains, and the exact measures of a table of such rows.
struct TinyTables {
    project: Project,
    sql: &'static str,
    folder: tempfile::TempDir,
}

impl TinyTables {
    fn new(project: &str, sql: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = Project::parse(&folder.path().join("scumble.toml"), project).unwrap();
        Self { project, sql, folder }
    }

    fn cells(&self, header: &str, rows: &[String]) -> CellsByText {
        std::fs::write(self.folder.path().join("t.csv"), format!("{header}\n{}\n", rows.join("\n"))).unwrap();
        let backend = Backend::with_data(&self.project, &["t".to_string()]).unwrap();
        let cut = analyse(self.sql, Bounding::default(), &self.project, &backend).unwrap();
        let integers = integers(&cut, &backend, Key(3, 4)).unwrap();
        integers.keys.iter().map(|key| format!("{key:?}")).zip(integers.cells).collect()
    }
}

type CellsByText = BTreeMap<String, crate::sql::execute::cell::ExactCell>;

/// The exact pure loss of a pair of tables: noise and quantiles of all cells are independent, so that the losses add
/// up.
fn pure_loss(plan: &SqlPlan, left: &CellsByText, right: &CellsByText) -> f64 {
    let query = &plan.cut.query;
    let nothing = crate::sql::execute::cell::ExactCell {
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
            let law = |cell: &crate::sql::execute::cell::ExactCell| {
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
pub(crate) fn quantile_law(rank: Rank, last: u128, epsilon: f64, counts: &BTreeMap<u128, u64>) -> Vec<f64> {
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
