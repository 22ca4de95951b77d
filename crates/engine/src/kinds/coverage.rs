//! How often the intervals of every kind hold: releases of tiny tables, drawn over and over by the very code that publishes them.
//!
//! What is compared with is known of the table, or is the same release at a cost at which no noise is left.

use crate::ledger::{About, Ledger, Proposal, Receipt};
use crate::project::Project;
use crate::release::output::Answers;
use crate::release::plan::Charged;
use crate::release::run::Runner;
use crate::support::{Folder, effort};
use crate::tables::Backend;
use scumble::noise::InsecureSeededSource;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A release.
struct CoveredKind {
    kind: &'static str,
    fields: &'static str,
    cost: &'static str,
    truth: Truth,
    /// The columns that name a row; all other columns with intervals are compared.
    keys: &'static [&'static str],
}

/// What is true.
enum Truth {
    /// What the release says at this cost.
    At(&'static str),
    /// The number beside each key.
    Counts(&'static [(&'static str, f64)]),
}

const TOWNS: &[(&str, f64)] = &[("a", 60.0), ("b", 30.0), ("c", 16.0), ("d", 8.0), ("e", 6.0)];

const SQL: CoveredKind =
    CoveredKind { kind: "sql", fields: "", cost: "{ epsilon = 1 }", truth: Truth::At("{ epsilon = 5000 }"), keys: &[] };

/// Of each kind that publishes intervals.
const ALL: &[CoveredKind] = &[
    CoveredKind {
        fields: r#"sql = "SELECT g, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a, VAR_POP(x) AS v, STDDEV(y) AS d FROM t GROUP BY g""#,
        keys: &["g"],
        ..SQL
    },
    CoveredKind {
        fields: r#"sql = "SELECT COUNT(*) AS n, COVAR_POP(x, y) AS c, CORR(x, y) AS r, REGR_SLOPE(y, x) AS b, REGR_INTERCEPT(y, x) AS i, REGR_R2(y, x) AS q FROM t""#,
        cost: "{ rho = 0.5 }",
        truth: Truth::At("{ rho = 1000000 }"),
        ..SQL
    },
    CoveredKind {
        fields: "sql = \"SELECT g, COUNT(*) AS n, SUM(x) AS s, SUM(y) AS u FROM t GROUP BY g\"\nnoise = \"joint\"",
        keys: &["g"],
        ..SQL
    },
    CoveredKind {
        fields: r#"sql = "SELECT town, COUNT(*) AS n FROM t GROUP BY town""#,
        cost: "{ epsilon = 1, delta = 0.01 }",
        truth: Truth::Counts(TOWNS),
        keys: &["town"],
        ..SQL
    },
    CoveredKind {
        fields: r#"sql = "SELECT g, COUNT(*) AS n FROM t GROUP BY g UNION ALL SELECT 'all', COUNT(*) FROM t""#,
        keys: &["g"],
        ..SQL
    },
    CoveredKind { kind: "histogram", fields: "table = \"t\"\ncolumns = [\"g\", \"b\"]", keys: &["g", "b"], ..SQL },
    CoveredKind {
        kind: "histogram",
        fields: "table = \"t\"\ncolumn = \"town\"",
        cost: "{ epsilon = 1, delta = 0.01 }",
        truth: Truth::Counts(TOWNS),
        keys: &["town"],
    },
    CoveredKind {
        kind: "histogram",
        fields: "table = \"t\"\ncolumn = \"town\"\nmax_bytes = 3",
        truth: Truth::Counts(TOWNS),
        keys: &["town"],
        ..SQL
    },
    CoveredKind { kind: "cdf", fields: "table = \"t\"\ncolumn = \"x\"", keys: &["x"], ..SQL },
    CoveredKind {
        kind: "cdf",
        fields: "table = \"t\"\ncolumn = \"x\"",
        cost: "{ rho = 0.2 }",
        truth: Truth::At("{ rho = 1000000 }"),
        keys: &["x"],
    },
    CoveredKind {
        kind: "marginals",
        fields: "table = \"t\"\ncolumns = [\"g\", \"b\"]\nmethod = \"residual\"",
        cost: "{ rho = 0.2 }",
        truth: Truth::At("{ rho = 1000000 }"),
        keys: &["columns", "cell", "g", "b"],
    },
    CoveredKind {
        kind: "marginals",
        fields: "table = \"t\"\ncolumns = [\"g\", \"b\"]\nmethod = \"projection\"",
        cost: "{ rho = 0.2 }",
        truth: Truth::At("{ rho = 1000000 }"),
        keys: &["columns", "cell", "g", "b"],
    },
    CoveredKind {
        kind: "conjunctions",
        fields: "table = \"t\"\ncolumns = [\"g = a\", \"b\", \"x >= 5\"]\nwidth = 2\nmeasure = \"counts\"",
        cost: "{ rho = 0.2 }",
        truth: Truth::At("{ rho = 1000000 }"),
        keys: &["conjunction", "columns"],
    },
    CoveredKind {
        kind: "top",
        fields: "table = \"t\"\ncolumn = \"g\"\nnumber = 3\nmethod = \"counts\"",
        truth: Truth::Counts(&[("a", 40.0), ("b", 40.0), ("c", 25.0), ("d", 10.0), ("e", 5.0)]),
        keys: &["g"],
        ..SQL
    },
    CoveredKind {
        kind: "top",
        fields: "table = \"t\"\ncolumn = \"g\"\nnumber = 2\nmethod = \"gap\"",
        // By how many more than the third.
        truth: Truth::Counts(&[("a", 15.0), ("b", 15.0), ("c", 0.0)]),
        keys: &["g"],
        ..SQL
    },
    CoveredKind {
        kind: "heavy-hitters",
        fields: "table = \"t\"\ncolumns = [\"g\", \"b\"]",
        cost: "{ epsilon = 2, delta = 0.0001 }",
        truth: Truth::At("{ epsilon = 5000, delta = 0.0001 }"),
        keys: &["g", "b"],
    },
    CoveredKind {
        kind: "triangles",
        fields: "table = \"friends\"\nmethod = \"smooth\"",
        truth: Truth::At("{ epsilon = 5000 }"),
        ..SQL
    },
    CoveredKind {
        kind: "triangles",
        fields: "table = \"friends\"\nmethod = \"bounded\"",
        cost: "{ epsilon = 2, delta = 0.0001 }",
        truth: Truth::At("{ epsilon = 5000, delta = 0.0001 }"),
        ..SQL
    },
];

/// 120 rows, and a graph of 12 vertices.
fn project() -> (Folder, Project) {
    let mut rows = "g,b,x,y,town\n".to_string();
    let groups = [("a", 40), ("b", 40), ("c", 25), ("d", 10), ("e", 5)];
    let towns: Vec<&str> = TOWNS.iter().flat_map(|(town, count)| std::iter::repeat_n(*town, *count as usize)).collect();
    let all = groups.iter().flat_map(|(group, count)| std::iter::repeat_n(*group, *count));
    for (index, (group, town)) in all.zip(towns).enumerate() {
        let (x, y) = ((index * 7) % 10, (index * 7) % 10 + (index * 5) % 4);
        writeln!(rows, "{group},{},{x},{y},{town}", index % 3 == 0).unwrap();
    }
    let mut edges = "a,b\n".to_string();
    for (a, b) in (1..13).flat_map(|a| (a + 1..13).map(move |b| (a, b))).filter(|(a, b)| (a + b) % 3 != 0) {
        writeln!(edges, "{a},{b}").unwrap();
    }
    let mut text = r#"
[dataset.t]
source = "t.csv"
[dataset.t.columns]
g = { type = "category", values = ["a", "b", "c", "d", "e"] }
b = { type = "bool" }
x = { type = "int", lower = 0, upper = 9 }
y = { type = "int", lower = 0, upper = 12 }
town = { type = "category" }
[dataset.friends]
source = "friends.csv"
graph = { from = "a", to = "b", vertices = 20 }
[dataset.friends.columns]
a = { type = "int" }
b = { type = "int" }
"#
    .to_string();
    for (index, one) in ALL.iter().enumerate() {
        let mut add = |name: &str, cost: &str| {
            let fields = format!("kind = \"{}\"\n{}", one.kind, one.fields);
            writeln!(text, "[[release]]\nname = \"{name}{index}\"\n{fields}\ncost = {cost}").unwrap();
        };
        add("noisy", one.cost);
        if let Truth::At(cost) = one.truth {
            add("true", cost);
        }
    }
    let folder = Folder::with(&[("t.csv", &rows), ("friends.csv", &edges)]);
    let project = folder.project(&text);
    (folder, project)
}

/// The published numbers with intervals, by column and row: the number and its interval.
fn numbers(answers: &Answers, keys: &[&str]) -> BTreeMap<(String, String), (f64, f64, f64)> {
    let named: Vec<_> = answers.columns.iter().filter(|column| keys.contains(&column.name.as_str())).collect();
    let mut all = BTreeMap::new();
    for column in &answers.columns {
        let Some(uncertainty) = &column.uncertainty else { continue };
        for (row, (cell, one)) in column.cells.iter().zip(uncertainty).enumerate() {
            let mut name = named.iter().map(|column| column.cells[row].text()).collect::<Vec<_>>().join(", ");
            if named.is_empty() {
                name = row.to_string();
            }
            all.extend(cell.number().map(|number| ((column.name.clone(), name), (number, one.low, one.high))));
        }
    }
    all
}

/// A charge that all draws share: nothing here is published.
fn receipt(folder: &Folder) -> Receipt {
    let mut ledger = Ledger::open_or_create(&folder.file("draws.ledger")).unwrap();
    let proposal = Proposal {
        release: "draws".into(),
        kind: "sql".into(),
        project: None,
        request: None,
        events: Vec::new(),
        rule: serde_json::json!({}),
        about: About::default(),
    };
    ledger.reserve(&proposal, |_| Ok(())).unwrap()
}

/// How many of this many 95% intervals hold at least: fewer are 7.5 standard deviations below, which happens to one of 500 numbers with a probability below 1e-10.
fn fewest(draws: usize) -> usize {
    let draws = draws as f64;
    (0.95 * draws - 7.5 * (0.95 * 0.05 * draws).sqrt()).floor().max(0.0) as usize
}

/// Every number of every kind: 2,000 draws where `SCUMBLE_THOROUGH` is set, 100 otherwise. What has no interval is not compared.
#[test]
fn intervals_of_all_kinds_hold() {
    let draws = effort(100, 2000);
    let (folder, project) = project();
    let runner = Runner::new(&project);
    let receipt = receipt(&folder);
    let backend = Backend::with_data(&project, &["t".to_string(), "friends".to_string()]).unwrap();
    let mut failed = Vec::new();
    for (index, one) in ALL.iter().enumerate() {
        let planned = |name: String| {
            let request = project.releases.iter().find(|request| request.name == name).unwrap();
            runner.plan(request).unwrap_or_else(|error| panic!("{} {}: {error}", one.kind, one.fields))
        };
        let mut bits = InsecureSeededSource::new(index as u64);
        let draw = |planned: &crate::release::run::Planned, bits: &mut InsecureSeededSource| {
            let mut charged = Charged::new(&receipt, &backend, bits);
            let answers = (planned.plan.compute)(&mut charged);
            answers.unwrap_or_else(|error| panic!("{} {}: {error}", one.kind, one.fields))
        };
        let truths: BTreeMap<(String, String), f64> = match one.truth {
            Truth::At(_) => {
                let answers = draw(&planned(format!("true{index}")), &mut bits);
                numbers(&answers, one.keys).into_iter().map(|(place, (number, ..))| (place, number)).collect()
            }
            Truth::Counts(_) => BTreeMap::new(),
        };
        let truth = |place: &(String, String)| match one.truth {
            Truth::At(_) => truths.get(place).copied(),
            Truth::Counts(counts) => counts.iter().find(|(key, _)| *key == place.1).map(|(_, count)| *count),
        };
        let noisy = planned(format!("noisy{index}"));
        let mut seen: BTreeMap<(String, String), (usize, usize)> = BTreeMap::new();
        for _ in 0..draws {
            for (place, (_, low, high)) in numbers(&draw(&noisy, &mut bits), one.keys) {
                let Some(truth) = truth(&place).filter(|_| !low.is_nan()) else { continue };
                let slack = 1e-9 * truth.abs() + 1e-12;
                let held = low <= truth + slack && truth - slack <= high;
                let (all, right) = seen.entry(place).or_default();
                (*all, *right) = (*all + 1, *right + usize::from(held));
            }
        }
        assert!(!seen.is_empty(), "{} {}: nothing was compared", one.kind, one.fields);
        let mut columns: BTreeMap<&str, (usize, usize, f64)> = BTreeMap::new();
        for ((column, row), (all, right)) in &seen {
            let (sum, held, worst) = columns.entry(column).or_insert((0, 0, 1.0));
            (*sum, *held, *worst) = (*sum + all, *held + right, worst.min(*right as f64 / *all as f64));
            if *right < fewest(*all) {
                failed.push(format!("{} {}: {column} of {row}: {right} of {all}", one.kind, one.fields));
            }
        }
        for (column, (all, right, worst)) in columns {
            let share = right as f64 / all as f64;
            println!("{} [{}] {column}: {share:.4}, worst {worst:.4}", one.kind, one.fields.replace('\n', ", "));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
