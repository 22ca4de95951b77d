//! Without noise against plain counts, and every neighbour of tiny tables against the claim; `quantiles` with the same
//! tables.

use super::*;
use crate::budget::Odometer;
use crate::release::run::Runner;
use crate::sql::execute::integers::integers;
use crate::support::Folder;
use crate::tables::hash::Key;
use scumble::quantity::Exact;
use scumble::scope::{AttributeSet, Scope};

pub(crate) fn project(folder: &Folder, columns: &str, owner: &str, rows: &str, release: &str) -> Project {
    folder.write("t.csv", rows);
    folder.project(&format!(
        "[dataset.t]\nsource = \"t.csv\"\n{owner}\n[dataset.t.columns]\n{columns}\n[[release]]\nname = \"r\"\ntable = \"t\"\n{release}\n"
    ))
}

/// The published file. At ε = 10⁵ no noise is ever drawn.
pub(crate) fn published(columns: &str, owner: &str, rows: &str, release: &str) -> String {
    let folder = Folder::with(&[]);
    let project = project(&folder, columns, owner, rows, release);
    folder.release(&project, 1).1[0].answers.csv().unwrap()
}

/// Some columns of a CSV text.
pub(crate) fn only(csv: &str, kept: &[usize]) -> Vec<String> {
    let line = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        kept.iter().map(|index| cells[*index]).collect::<Vec<_>>().join(",")
    };
    csv.lines().map(line).collect()
}

pub(crate) const AGE: &str = "x = { type = \"int\", lower = 1, upper = 5 }";
pub(crate) const CERTAIN: &str = "cost = { epsilon = 100000 }";

#[test]
fn a_cdf_without_noise_counts_rows_up_to_each_value() {
    // 9 counts as 5 and −3 as 1; the NULL is nowhere.
    let csv = published(AGE, "", "x\n3\n3\n9\n-3\n\n4\n", &format!("kind = \"cdf\"\ncolumn = \"x\"\n{CERTAIN}"));
    assert_eq!(only(&csv, &[0, 1]), ["x,count", "1,1", "2,1", "3,3", "4,4", "5,5"]);
}

/// The report of a distribution was a hundred counts: nobody saw its median.
#[test]
fn quantiles_are_read_off_the_counts() {
    let rows: String = (1..=100).map(|value| format!("{value}\n")).collect();
    let folder = Folder::with(&[]);
    let column = "x = { type = \"int\", lower = 1, upper = 100 }";
    let release = format!("kind = \"cdf\"\ncolumn = \"x\"\n{CERTAIN}");
    let project = project(&folder, column, "", &format!("x\n{rows}"), &release);
    let facts = folder.release(&project, 1).1.remove(0).answers.details.facts;
    for (one, value) in facts["quantiles"].as_array().unwrap().iter().zip([5, 25, 50, 75, 95]) {
        // Intervals hold half a row of rounding: the next value could be where the share is reached.
        let expected = [value, value, value + 1].map(|value| json!(value));
        assert_eq!([&one["value"], &one["low"], &one["high"]], expected.each_ref());
    }
    let bar = CdfErrorBar { standard_error: 2.0, half_width: 5.0 };
    let below: Vec<f64> = (1..=10).map(|step| f64::from(step) * 10.0).collect();
    let found = quantiles(&|step| json!(step), &below, &[bar; 10]);
    // 105 rows at most: half of them are more than the 55 - 5 up to step 5.
    assert_eq!(found["quantiles"][2], json!({ "share": 0.5, "value": 4, "low": 4, "high": 5 }));
    assert!(quantiles(&|step| json!(step), &[-1.0, 0.0], &[bar; 2]).is_empty(), "of nobody there is no median");
}

/// Of 400 releases, the quantile is outside of its interval in 26 at most, as the issue asks of 500 (93.5%).
#[test]
fn quantiles_lie_in_their_intervals() {
    let counts: Vec<i64> = (0..64i64).map(|step| 40 - (step - 30).abs()).collect();
    let total: i64 = counts.iter().sum();
    let cdf = Cdf::new(64, Noise::laplace(Scale::new(8.0).unwrap())).unwrap();
    let truth = SHARES.map(|share| {
        let mut below = 0;
        counts.iter().position(|count| {
            below += count;
            below as f64 >= share * total as f64
        })
    });
    let mut bits = scumble::noise::InsecureSeededSource::new(41);
    let mut outside = [0; 5];
    for _ in 0..400 {
        let below = cdf.release(&counts, &mut bits).unwrap();
        let around = cdf.around(&below, &mut bits).unwrap();
        let found = quantiles(&|step| json!(step), &below, &around);
        for ((one, truth), outside) in found["quantiles"].as_array().unwrap().iter().zip(truth).zip(&mut outside) {
            let truth = truth.unwrap() as u64;
            let holds = one["low"].as_u64().unwrap() <= truth && truth <= one["high"].as_u64().unwrap();
            *outside += usize::from(!holds);
        }
    }
    assert!(outside.iter().all(|outside| *outside <= 26), "{outside:?}");
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
fn a_declared_grid_is_the_steps_and_holds_its_own_values() {
    let column = "x = { type = \"float\", lower = 0.1, upper = 0.5, granularity = 0.1 }";
    let csv =
        published(column, "", "x\n0.3\n0.3\n0.14\n7\nNaN\n", &format!("kind = \"cdf\"\ncolumn = \"x\"\n{CERTAIN}"));
    assert_eq!(only(&csv, &[0, 1]), ["x,count", "0.1,1", "0.2,1", "0.3,3", "0.4,3", "0.5,4"]);
}

#[test]
fn wrong_requests_get_a_sentence() {
    let check = |columns: &str, release: &str, sentence: &str| {
        let folder = Folder::with(&[]);
        let project = project(&folder, columns, "", "x\n1\n", release);
        let error = Runner::new(&project).plan(&project.releases[0]).err().expect("was accepted");
        assert!(error.to_string().contains(sentence), "{error}");
        assert!(error.kind() == crate::ErrorKind::Input, "{error:?}");
    };
    let needs = "must be an int, float, date or timestamp with public bounds";
    check("x = { type = \"int\" }", &format!("kind = \"cdf\"\ncolumn = \"x\"\n{CERTAIN}"), needs);
    check("x = { type = \"category\" }", &format!("kind = \"cdf\"\ncolumn = \"x\"\n{CERTAIN}"), needs);
    check(AGE, &format!("kind = \"cdf\"\ncolumn = \"y\"\n{CERTAIN}"), "has no declared column 'y'");
}

pub(crate) const TINY: &str =
    "x = { type = \"int\", lower = 0, upper = 3 }\ny = { type = \"int\", lower = 0, upper = 1 }";

/// All tables of up to two rows of others and the rows of one owner, their counts per step, and the largest loss of
/// each scope.
pub(crate) struct CdfEnumeration {
    claim: [f64; 4],
    worst: [f64; 4],
}

/// The exact counts of a table's values.
pub(crate) type ExactCounts<'a> = &'a dyn Fn(&Project, &Backend) -> Vec<i64>;

/// Compares the pure losses (by `loss` of the `counts` of two tables) with the claims for presence, person, x and y.
pub(crate) fn enumerated(
    owner: &str,
    header: &str,
    release: &str,
    exact: ExactCounts<'_>,
    loss: &dyn Fn(&[i64], &[i64]) -> f64,
) -> CdfEnumeration {
    let folder = Folder::with(&[]);
    let project = project(&folder, TINY, owner, "x,y\n1,1\n", release);
    let plan = Runner::new(&project).plan(&project.releases[0]).unwrap().plan;
    let claim = |scope: Scope| Odometer::of(&plan.events, &scope).unwrap().epsilon(&Exact::zero()).unwrap().to_f64_up();
    let of = |name: &str| Scope::Attributes(AttributeSet::new([name]).unwrap());
    let counts = |rows: &[String]| {
        let text = format!("{header}\n{}\n", rows.join("\n"));
        folder.write("t.csv", &text);
        let backend = Backend::with_data(&project, &["t".to_string()]).unwrap();
        exact(&project, &backend)
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
    CdfEnumeration { claim: [claim(Scope::Presence), claim(Scope::Person), claim(of("x")), claim(of("y"))], worst }
}

impl CdfEnumeration {
    pub(crate) fn check(&self, slack: f64) {
        for (scope, (worst, claim)) in ["presence", "person", "x", "y"].iter().zip(self.worst.iter().zip(self.claim)) {
            assert!(*worst <= claim * (1.0 + 1e-12), "{scope}: a pair loses {worst}, the claim is {claim}");
            assert!(*worst >= claim * slack, "{scope}: the claim {claim} is loose, the worst pair loses {worst}");
        }
        assert_eq!(self.claim[3], 0.0, "y is not read");
    }
}

pub(crate) const OWNED: &str = "owner = \"o\"\nmax_rows_per_owner = 2";

#[test]
fn every_neighbour_of_a_cdf_is_within_its_claim() {
    for (owner, header) in [("", "x,y"), (OWNED, "o,x,y")] {
        let folder = Folder::with(&[]);
        let release = "kind = \"cdf\"\ncolumn = \"x\"\ncost = { epsilon = 1 }";
        let project = project(&folder, TINY, owner, "x,y\n1,1\n", release);
        let plan = Runner::new(&project).plan(&project.releases[0]).unwrap().plan;
        let scumble::event::Word::DiscreteLaplace { scale } = plan.events[0].word() else {
            panic!("pure noise was asked for")
        };
        // Four points: leaves and root, or two halves in between.
        let levels = plan.rule["levels"].as_u64().unwrap();
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
        let exact = |project: &Project, backend: &Backend| {
            let steps = CdfSteps::new(&project.releases[0], project).unwrap();
            steps.counts(&integers(&steps.query, backend, Key(1, 2)).unwrap())
        };
        enumerated(owner, header, release, &exact, &loss).check(0.6);
    }
}
