//! Without noise against the column, and every neighbour of tiny tables against the claim.

use super::*;
use crate::kinds::cdf::tests::{AGE, CERTAIN, OWNED, TINY, enumerated, only, project, published};
use crate::project::Bounding;
use crate::release::run::Runner;
use crate::sql::analyse;
use crate::sql::analyse::query::Rank;
use crate::sql::execute::integers::integers;
use crate::support::{Folder, effort};
use crate::tables::Backend;
use crate::tables::hash::Key;

const RELEASE: &str = "kind = \"quantiles\"\ncolumn = \"x\"\nquantiles = [0, 0.5, 1]";

#[test]
fn without_noise_they_are_those_of_the_column() {
    let release = format!("{RELEASE}\n{CERTAIN}");
    let csv = published(AGE, "", "x\n2\n3\n3\n4\n4\n\n", &release);
    assert_eq!(only(&csv, &[0, 1]), ["quantile,value", "0,2", "0.5,3", "1,4"]);
    // Values beyond the bounds count as the bounds.
    let rows = "x\n2.5\n300\n300.25\n950\n7000\n";
    let csv = published("x = { type = \"float\", lower = 0, upper = 1000 }", "", rows, &release);
    assert_eq!(only(&csv, &[0, 1]), ["quantile,value", "0,2.5", "0.5,300.25", "1,1000"]);
    let grid = "x = { type = \"float\", lower = 0, upper = 1000, granularity = 0.1 }";
    assert_eq!(only(&published(grid, "", rows, &release), &[1]), ["value", "2.5", "300.3", "1000"]);
    // Every whole number can be an answer, however many there are.
    let wide = "x = { type = \"int\", lower = -4000000000, upper = 4000000000 }";
    let csv = published(wide, "", "x\n-3999999999\n7\n3999999999\n", &release);
    assert_eq!(only(&csv, &[1]), ["value", "-3999999999", "7", "3999999999"]);
}

#[test]
fn the_plan_says_how_many_ranks_they_are_off() {
    let folder = Folder::with(&[]);
    let project = project(&folder, AGE, "", "x\n1\n", &format!("{RELEASE}\ncost = {{ epsilon = 3 }}"));
    let expected = Runner::new(&project).plan(&project.releases[0]).unwrap().plan.expected;
    let columns: Vec<&str> = expected.iter().map(|expected| expected.column.as_str()).collect();
    assert_eq!(columns, ["value at 0", "value at 0.5", "value at 1"]);
    assert!(expected.iter().all(|expected| expected.about.contains("rows in rank with 95% confidence")));
}

#[test]
fn wrong_requests_get_a_sentence() {
    let check = |columns: &str, list: &str, cost: &str, sentence: &str| {
        let folder = Folder::with(&[]);
        let release = format!("kind = \"quantiles\"\ncolumn = \"x\"\nquantiles = {list}\n{cost}");
        let project = project(&folder, columns, "", "x\n1\n", &release);
        let error = Runner::new(&project).plan(&project.releases[0]).err().expect("was accepted");
        assert!(error.to_string().contains(sentence), "{error}");
        assert!(error.to_string().contains("scumble.toml:"), "no place: {error}");
        assert!(error.kind() == crate::ErrorKind::Input, "{error:?}");
    };
    check(AGE, "[]", CERTAIN, "give at least one quantile");
    check(AGE, "[1.5]", CERTAIN, "1.5");
    let needs = "must be an int, float, date or timestamp with public bounds";
    check("x = { type = \"int\" }", "[0.5]", CERTAIN, needs);
    let accuracy = "cost = { accuracy = { within = 3, confidence = 0.9 } }";
    check(AGE, "[0.5]", accuracy, "accuracy can be asked of COUNT and SUM; for quantiles give epsilon or rho");
}

#[test]
fn every_neighbour_is_within_the_claim() {
    for (owner, header) in [("", "x,y"), (OWNED, "o,x,y")] {
        for fraction in effort(&[0.25][..], &[0.0, 0.5, 0.25]).iter().copied() {
            let folder = Folder::with(&[]);
            let release =
                format!("kind = \"quantiles\"\ncolumn = \"x\"\nquantiles = [{fraction}]\ncost = {{ epsilon = 1 }}");
            let project = project(&folder, TINY, owner, "x,y\n1,1\n", &release);
            let plan = Runner::new(&project).plan(&project.releases[0]).unwrap().plan;
            let scumble::event::Word::Exponential { epsilon } = plan.events[0].word() else {
                panic!("not exponential")
            };
            let sql = plan.rule["sql"].as_str().unwrap().to_string();
            let exact = |project: &Project, backend: &Backend| {
                let cut = analyse(&sql, Bounding::default(), project, backend).unwrap();
                let found = integers(&cut, backend, Key(1, 2)).unwrap();
                let counts = found.cells.first().map(|cell| cell.ranked[0].clone()).unwrap_or_default();
                (0u128..4).map(|key| counts.get(&key).copied().unwrap_or(0) as i64).collect()
            };
            let law = |counts: &[i64]| {
                let keyed = (0u128..).zip(counts).map(|(key, count)| (key, *count as u64)).collect();
                let rank = Rank::of(Probability::new(fraction).unwrap());
                crate::kinds::sql::quantile_law(rank, 3, epsilon.get(), &keyed)
            };
            let loss = |left: &[i64], right: &[i64]| {
                law(left).iter().zip(law(right)).map(|(p, q)| (p / q).ln()).fold(0.0, f64::max)
            };
            enumerated(owner, header, &release, &exact, &loss).check(0.1);
        }
    }
}
