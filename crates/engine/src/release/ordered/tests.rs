//! Both kinds: without noise against plain counts, and every neighbour of tiny tables against the claim.

use super::*;
use crate::budget::Spent;
use crate::release::run::Runner;
use scumble::noise::InsecureSeededSource;
use scumble::quantity::Exact;
use scumble::scope::{AttributeSet, Scope};
use std::path::Path;

fn project(folder: &Path, columns: &str, owner: &str, rows: &str, release: &str) -> Project {
    std::fs::write(folder.join("t.csv"), rows).unwrap();
    let text = format!(
        "[dataset.t]\nsource = \"t.csv\"\n{owner}\n[dataset.t.columns]\n{columns}\n[[release]]\nname = \"r\"\ntable = \"t\"\n{release}\n"
    );
    Project::parse(&folder.join("scumble.toml"), &text).unwrap()
}

/// The published file. At ε = 10⁵ no noise is ever drawn.
fn published(columns: &str, owner: &str, rows: &str, release: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let project = project(folder.path(), columns, owner, rows, release);
    let runner = Runner::new(&project);
    let planned = [runner.plan(&project.releases[0]).unwrap()];
    let mut bits = InsecureSeededSource::new(1);
    let (outcomes, _) = runner.release(&planned, &folder.path().join("out"), &mut bits, |_| ()).unwrap();
    outcomes[0].answers.csv()
}

/// Some columns of a CSV text.
fn only(csv: &str, kept: &[usize]) -> Vec<String> {
    let line = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        kept.iter().map(|index| cells[*index]).collect::<Vec<_>>().join(",")
    };
    csv.lines().map(line).collect()
}

const AGE: &str = "x = { type = \"int\", lower = 1, upper = 5 }";
const INCOME: &str = "x = { type = \"float\", lower = 0, upper = 1000 }";
const CERTAIN: &str = "cost = { epsilon = 100000 }";

#[test]
fn a_cdf_without_noise_counts_rows_up_to_each_value() {
    // 9 counts as 5 and −3 as 1; the NULL is nowhere.
    let csv = published(AGE, "", "x\n3\n3\n9\n-3\n\n4\n", &format!("kind = \"cdf\"\ncolumn = \"x\"\n{CERTAIN}"));
    assert_eq!(only(&csv, &[0, 1]), ["x,count", "1,1", "2,1", "3,3", "4,4", "5,5"]);
}

#[test]
fn a_wide_range_of_whole_numbers_is_cut_into_steps_with_whole_ends() {
    let column = "x = { type = \"int\", lower = 0, upper = 20000 }";
    let csv = published(column, "", "x\n19\n20\n40\n20000\n", &format!("kind = \"cdf\"\ncolumn = \"x\"\n{CERTAIN}"));
    let lines = only(&csv, &[0, 1]);
    assert_eq!(lines[1..4], ["19,1", "39,2", "59,3"]);
    assert_eq!(lines.last().unwrap(), "20000,4");
    assert_eq!(lines.len(), 1 + 1001);
}

#[test]
fn the_rows_of_one_owner_are_bounded() {
    let rows = "o,x\n1,2\n1,2\n1,3\n1,3\n1,3\n2,5\n";
    let owner = "owner = \"o\"\nmax_rows_per_owner = 2";
    let csv = published(AGE, owner, rows, &format!("kind = \"cdf\"\ncolumn = \"x\"\n{CERTAIN}"));
    assert_eq!(only(&csv, &[0, 1])[5], "5,3", "{csv}");
}

#[test]
fn quantiles_without_noise_are_those_of_the_column() {
    let rows = "x\n2\n3\n3\n4\n4\n\n";
    let release = format!("kind = \"quantiles\"\ncolumn = \"x\"\nquantiles = [0, 0.5, 1]\n{CERTAIN}");
    let csv = published(AGE, "", rows, &release);
    assert_eq!(only(&csv, &[0, 1]), ["quantile,value", "0,2", "0.5,3", "1,4"]);
    // A float column is cut into a thousand steps, and a step is published as its upper end.
    let rows = "x\n2.5\n300\n300.25\n950\n7000\n";
    let csv = published(INCOME, "", rows, &release);
    // Steps of one were once taken for whole numbers, and a value of 300.25 was published as 300.
    assert_eq!(only(&csv, &[0, 1]), ["quantile,value", "0,3", "0.5,301", "1,1000"]);
}

#[test]
fn wrong_requests_get_a_sentence() {
    let check = |columns: &str, release: &str, sentence: &str| {
        let folder = tempfile::tempdir().unwrap();
        let project = project(folder.path(), columns, "", "x\n1\n", release);
        let error = Runner::new(&project).plan(&project.releases[0]).err().expect("was accepted");
        assert!(error.to_string().contains(sentence), "{error}");
        assert_eq!(error.exit_status(), 2);
    };
    let needs = "needs to be an int or a float with lower and upper, from public knowledge";
    check("x = { type = \"int\" }", &format!("kind = \"cdf\"\ncolumn = \"x\"\n{CERTAIN}"), needs);
    check("x = { type = \"category\" }", &format!("kind = \"cdf\"\ncolumn = \"x\"\n{CERTAIN}"), needs);
    check(AGE, &format!("kind = \"cdf\"\ncolumn = \"y\"\n{CERTAIN}"), "has no declared column 'y'");
    let quantiles = |list: &str| format!("kind = \"quantiles\"\ncolumn = \"x\"\nquantiles = {list}\n{CERTAIN}");
    check(AGE, &quantiles("[]"), "give at least one quantile");
    check(AGE, &quantiles("[1.5]"), "1.5");
    let accuracy = "kind = \"quantiles\"\ncolumn = \"x\"\nquantiles = [0.5]\ncost = { accuracy = { within = 3, confidence = 0.9 } }";
    check(AGE, accuracy, "accuracy can be asked of COUNT and SUM; for quantiles give epsilon or rho");
}

const TINY: &str = "x = { type = \"int\", lower = 0, upper = 3 }\ny = { type = \"int\", lower = 0, upper = 1 }";

/// All tables of up to two rows of others and the rows of one owner, their counts per step, and the largest loss of each scope.
struct Enumerated {
    claim: [f64; 4],
    worst: [f64; 4],
}

/// Compares the pure losses (by `loss` of the counts of two tables) with the claims for presence, person, x and y.
fn enumerated(owner: &str, header: &str, release: &str, loss: &dyn Fn(&[i64], &[i64]) -> f64) -> Enumerated {
    let folder = tempfile::tempdir().unwrap();
    let project = project(folder.path(), TINY, owner, "x,y\n1,1\n", release);
    let steps = Steps::new(&project.releases[0], &project).unwrap();
    let plan = Runner::new(&project).plan(&project.releases[0]).unwrap().plan;
    let claim = |scope: Scope| Spent::of(plan.events(), &scope).unwrap().epsilon(&Exact::zero()).unwrap().to_f64_up();
    let of = |name: &str| Scope::Attributes(AttributeSet::new([name]).unwrap());
    let counts = |rows: &[String]| {
        let text = format!("{header}\n{}\n", rows.join("\n"));
        std::fs::write(folder.path().join("t.csv"), text).unwrap();
        let backend = Backend::with_data(&project, &["t".to_string()]).unwrap();
        steps.counts(&project, &backend).unwrap()
    };
    let with_owner = !owner.is_empty();
    let named = |name: u32, x: &str| if with_owner { format!("{name},{x},1") } else { format!("{x},1") };
    let values = ["", "0", "1", "3"];
    let mut owned: Vec<Vec<&str>> = values.iter().map(|x| vec![*x]).collect();
    if with_owner {
        owned.extend(values.iter().flat_map(|x| values.iter().map(move |y| vec![*x, *y])));
        owned.push(vec!["0", "0", "3"]);
    }
    let mut worst = [0.0f64; 4];
    for others in [vec![], vec![named(2, "1")], vec![named(2, "2"), named(3, "0")]] {
        let table = |rows: &[&str]| {
            let own = rows.iter().map(|x| named(1, x));
            counts(&others.iter().cloned().chain(own).collect::<Vec<_>>())
        };
        let without = table(&[]);
        let all: Vec<(usize, Vec<i64>)> = owned.iter().map(|rows| (rows.len(), table(rows))).collect();
        for (length, left) in &all {
            worst[0] = worst[0].max(loss(left, &without)).max(loss(&without, left));
            for (other, right) in &all {
                worst[1] = worst[1].max(loss(left, right));
                if length == other {
                    worst[2] = worst[2].max(loss(left, right));
                }
            }
        }
    }
    Enumerated { claim: [claim(Scope::Presence), claim(Scope::Person), claim(of("x")), claim(of("y"))], worst }
}

impl Enumerated {
    fn check(&self, slack: f64) {
        for (scope, (worst, claim)) in ["presence", "person", "x", "y"].iter().zip(self.worst.iter().zip(self.claim)) {
            assert!(*worst <= claim * (1.0 + 1e-12), "{scope}: a pair loses {worst}, the claim is {claim}");
            assert!(*worst >= claim * slack, "{scope}: the claim {claim} is loose, the worst pair loses {worst}");
        }
        assert_eq!(self.claim[3], 0.0, "y is not read");
    }
}

const OWNED: &str = "owner = \"o\"\nmax_rows_per_owner = 2";

#[test]
fn every_neighbour_of_a_cdf_is_within_its_claim() {
    for (owner, header) in [("", "x,y"), (OWNED, "o,x,y")] {
        let folder = tempfile::tempdir().unwrap();
        let release = "kind = \"cdf\"\ncolumn = \"x\"\ncost = { epsilon = 1 }";
        let project = project(folder.path(), TINY, owner, "x,y\n1,1\n", release);
        let plan = Runner::new(&project).plan(&project.releases[0]).unwrap().plan;
        let EventKind::DiscreteLaplace { scale } = plan.events()[0].kind else { panic!("pure noise was asked for") };
        // Four points: leaves and root, or two halves in between.
        let levels = plan.rule()["levels"].as_u64().unwrap();
        let widths: Vec<usize> = if levels == 1 { vec![1, 4] } else { vec![1, 2, 4] };
        let loss = |left: &[i64], right: &[i64]| {
            let node = |counts: &[i64], width: usize| -> Vec<i64> {
                counts.chunks(width).map(|children| children.iter().sum()).collect()
            };
            let moved = |width: &usize| -> i64 {
                node(left, *width).iter().zip(node(right, *width)).map(|(a, b)| (a - b).abs()).sum()
            };
            widths.iter().map(moved).sum::<i64>() as f64 / scale.get()
        };
        enumerated(owner, header, release, &loss).check(0.6);
    }
}

#[test]
fn every_neighbour_of_quantiles_is_within_their_claim() {
    for (owner, header) in [("", "x,y"), (OWNED, "o,x,y")] {
        for fraction in [0.0, 0.5, 0.25] {
            let folder = tempfile::tempdir().unwrap();
            let release =
                format!("kind = \"quantiles\"\ncolumn = \"x\"\nquantiles = [{fraction}]\ncost = {{ epsilon = 1 }}");
            let project = project(folder.path(), TINY, owner, "x,y\n1,1\n", &release);
            let plan = Runner::new(&project).plan(&project.releases[0]).unwrap().plan;
            let EventKind::Exponential { epsilon } = plan.events()[0].kind else { panic!("not exponential") };
            let law = |counts: &[i64]| {
                let keyed = (0u128..).zip(counts).map(|(key, count)| (key, *count as u64)).collect();
                let rank = Rank::of(Probability::new(fraction).unwrap());
                crate::release::sql::quantile_law(rank, 3, epsilon.get(), &keyed)
            };
            let loss = |left: &[i64], right: &[i64]| {
                law(left).iter().zip(law(right)).map(|(p, q)| (p / q).ln()).fold(0.0, f64::max)
            };
            enumerated(owner, header, &release, &loss).check(0.1);
        }
    }
}
