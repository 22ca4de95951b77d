//! What `Runner::release` publishes, seeded, against the noise in its events: one statistical test for each kind.
//!
//! One run of the engine is slow, so that releases are made wide: thousands of cells with independent noise. Each
//! comparison has a false alarm of 1e-12 and says which slip it would see.

mod beyond;
mod questions;

use crate::support::Folder;
use scumble::event::{Event, Word};
use scumble::quantity::Exact;
use scumble::scope::{AttributeSet, Scope};
use scumble_engine::budget::Odometer;
use scumble_engine::release::{Answers, Cell};
use scumble_testing::laws::{IntegerDistribution, chi_square, noise, outcomes};
use std::collections::BTreeMap;
use std::fmt::Write;

/// This many releases of the same request on one table, with the events of one.
fn released(columns: &str, rows: &str, request: &str, times: usize, seed: u64) -> (Vec<Event>, Vec<Answers>) {
    let folder = Folder::with(&[("t.csv", rows)]);
    let mut text = format!("[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\n{columns}\n");
    (0..times).for_each(|run| write!(text, "[[release]]\nname = \"r{run}\"\n{request}\n").unwrap());
    let (planned, outcomes) = folder.release(&folder.project(&text), seed);
    (planned[0].plan.events.clone(), outcomes.into_iter().map(|outcome| outcome.answers).collect())
}

/// A column `x` with this many rows of each of the first whole numbers.
fn even(values: usize, times: usize) -> String {
    let rows = (0..values).flat_map(|value| std::iter::repeat_n(format!("{value}\n"), times));
    format!("x\n{}", rows.collect::<String>())
}

fn whole_numbers(last: usize) -> String {
    format!("x = {{ type = \"int\", lower = 0, upper = {last} }}")
}

fn numbers<'a>(answers: &'a Answers, name: &str) -> impl Iterator<Item = f64> + 'a {
    let column =
        answers.columns.iter().find(|column| column.name == name).unwrap_or_else(|| panic!("no column {name}"));
    column.cells.iter().filter_map(Cell::number)
}

fn as_said(what: &str, drawn: &[i64], event: &Event, slip: f64) {
    noise(what, drawn, &IntegerDistribution::of_event(event, 1.0), &IntegerDistribution::of_event(event, slip));
}

/// Thousands of groups without a row: what is published is the noise.
#[test]
fn sql() {
    let sql = "kind = \"sql\"\nsql = \"SELECT x, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY x\"\ncost = { rho = 0.02 }";
    let (events, answers) = released(&whole_numbers(2999), "x\n", sql, 4, 1);
    for (name, event) in [("n", &events[0]), ("s", &events[1])] {
        let drawn: Vec<i64> =
            answers.iter().flat_map(|answers| numbers(answers, name)).map(|cell| cell as i64).collect();
        assert_eq!(drawn.len(), 12_000);
        as_said(&format!("sql, {name}"), &drawn, event, 0.9);
    }
}

/// Three counts of thousands of groups without a row: the largest of a cell has the weights
/// ((2m+1)³ − (2m−1)³)·e^{−εm}, and each sign is even.
#[test]
fn joint_noise() {
    let sql = "kind = \"sql\"\nsql = \"SELECT x, COUNT(*) AS a, COUNT(*) FILTER (WHERE y) AS b, COUNT(*) FILTER (WHERE w) AS c FROM t GROUP BY x\"\ncost = { epsilon = 0.8 }";
    let columns = format!("{}\ny = {{ type = \"bool\" }}\nw = {{ type = \"bool\" }}", whole_numbers(2999));
    let (events, answers) = released(&columns, "x,y,w\n", sql, 4, 4);
    let [Word::Pure { epsilon }] = [events[0].word()] else { panic!("{events:?}") };
    let law = |factor: f64| {
        let shell = |m: i32| (2 * m + 1).pow(3) - if m == 0 { 0 } else { (2 * m - 1).pow(3) };
        let weight = |m: i32| f64::from(shell(m)) * (-epsilon.get() / factor * f64::from(m)).exp();
        let total: f64 = (0..400).map(weight).sum();
        (0..400i64).map(|m| (m, weight(m as i32) / total)).collect::<BTreeMap<i64, f64>>()
    };
    let columns: Vec<Vec<i64>> = ["a", "b", "c"]
        .map(|name| answers.iter().flat_map(|answers| numbers(answers, name)).map(|cell| cell as i64).collect())
        .to_vec();
    assert_eq!(columns[0].len(), 12_000);
    let largest = (0..12_000).map(|cell| columns.iter().map(|column| column[cell].abs()).max().unwrap());
    outcomes("joint noise", largest, &law(1.0), &law(0.75));
}

/// Keys alone: π(n+1) = min(e^ε·π(n) + δ, 1 − e^{−ε}(1 − π(n) − δ), 1), with ε and δ of the event of one owner's
/// presence.
#[test]
fn distinct_keys() {
    let request = "kind = \"sql\"\nsql = \"SELECT DISTINCT x FROM t\"\ncost = { epsilon = 3, delta = 1e-3 }";
    let rows: String = (0..3000).flat_map(|key| std::iter::repeat_n(format!("k{key}\n"), 5 + key % 3)).collect();
    let (events, answers) = released("x = { type = \"category\" }", &format!("x\n{rows}"), request, 6, 5);
    let Word::Approximate { epsilon, delta } = events[0].word() else { panic!("{events:?}") };
    let law = |owners: usize, factor: f64| {
        let (epsilon, delta, mut chance) = (epsilon.get() / factor, delta.get() / factor, 0.0f64);
        for _ in 0..owners {
            chance = (epsilon.exp() * chance + delta).min(1.0 - (-epsilon).exp() * (1.0 - chance - delta)).min(1.0);
        }
        BTreeMap::from([(true, chance), (false, 1.0 - chance)])
    };
    for owners in 5..=7usize {
        let keys = (0..3000).filter(|key| 5 + key % 3 == owners);
        let shown = |answers: &Answers, key: usize| {
            let name = format!("k{key}");
            answers.columns[0].cells.iter().any(|cell| matches!(cell, Cell::Text(text) if **text == *name))
        };
        let drawn = answers.iter().flat_map(|answers| keys.clone().map(move |key| shown(answers, key)));
        outcomes(&format!("keys of {owners} owners"), drawn, &law(owners, 1.0), &law(owners, 1.3));
    }
}

#[test]
fn histogram() {
    let request = "kind = \"histogram\"\ntable = \"t\"\ncolumn = \"x\"\ncost = { epsilon = 0.5 }";
    let (events, answers) = released(&whole_numbers(9999), "x\n", request, 5, 2);
    let drawn: Vec<i64> =
        answers.iter().flat_map(|answers| numbers(answers, "count")).map(|cell| cell as i64).collect();
    assert_eq!(drawn.len(), 50_000);
    as_said("histogram", &drawn, &events[0], 0.93);
}

/// A thousand of a thousand and one values that nobody has: their leads are the noise, except for the least of them.
#[test]
fn top() {
    let request =
        "kind = \"top\"\ntable = \"t\"\ncolumn = \"x\"\nnumber = 1000\nmethod = \"gap\"\ncost = { epsilon = 500 }";
    let (events, answers) = released(&whole_numbers(1000), "x\n", request, 10, 6);
    assert_eq!((events.len(), events[0].times()), (1, 1000));
    let drawn: Vec<i64> = answers.iter().flat_map(|answers| numbers(answers, "lead")).map(|cell| cell as i64).collect();
    assert_eq!(drawn.len(), 10_000);
    as_said("top", &drawn, &events[0], 0.8);
}

/// 4096 steps in a tree of four children per node, counts so large that nothing has to be made monotone. The
/// least-squares counts x̂ have the covariance σ²(AᵀA)⁻¹, where A adds up leaves to nodes: the squared errors of *all*
/// nodes add up to σ² times a χ² of 4096 degrees.
#[test]
fn cdf() {
    let request = "kind = \"cdf\"\ntable = \"t\"\ncolumn = \"x\"\ncost = { rho = 0.5 }";
    let (events, answers) = released(&whole_numbers(4095), &even(4096, 40), request, 3, 3);
    let Word::DiscreteGaussian { sigma } = events[0].word() else { panic!("{events:?}") };
    let mut squares = 0.0;
    for answers in &answers {
        let below: Vec<f64> = numbers(answers, "count").collect();
        let before = std::iter::once(0.0).chain(below.iter().copied());
        let mut level: Vec<f64> = below.iter().zip(before).map(|(here, before)| here - before - 40.0).collect();
        loop {
            squares += level.iter().map(|off| off * off).sum::<f64>();
            if level.len() == 1 {
                break;
            }
            level = level.chunks(4).map(|children| children.iter().sum()).collect();
        }
    }
    chi_square("cdf", squares / sigma.get().powi(2), 3 * 4096, 0.93);
}

/// Ten rows of 3 among ten keys: P\[3\] against each of the others is e^{ε·d/2s} with d = 10·f below and 10·(1−f)
/// above.
#[test]
fn quantiles() {
    let fractions: Vec<f64> = (0..20).map(|index| 0.4 + 0.01 * f64::from(index)).collect();
    let request = format!(
        "kind = \"quantiles\"\ntable = \"t\"\ncolumn = \"x\"\nquantiles = {fractions:?}\ncost = {{ epsilon = 17 }}"
    );
    let (events, answers) = released(&whole_numbers(9), &format!("x\n{}", "3\n".repeat(10)), &request, 30, 4);
    assert_eq!(events.len(), fractions.len());
    // Different coins are more concentrated than as many equal ones of the mean probability (Hoeffding 1956).
    let law = |factor: f64| {
        let chance = |(fraction, event): (&f64, &Event)| {
            let Word::Exponential { epsilon } = event.word() else { panic!("{event:?}") };
            let rate = epsilon.get() / factor / (2.0 * fraction.max(1.0 - fraction));
            1.0 / (1.0 + 3.0 * (-rate * 10.0 * fraction).exp() + 6.0 * (-rate * 10.0 * (1.0 - fraction)).exp())
        };
        let mean = fractions.iter().zip(&events).map(chance).sum::<f64>() / fractions.len() as f64;
        BTreeMap::from([(true, mean), (false, 1.0 - mean)])
    };
    let drawn = answers.iter().flat_map(|answers| numbers(answers, "value")).map(|value| value == 3.0);
    outcomes("quantiles", drawn, &law(1.0), &law(0.7));
    // Ten nanoseconds are ten keys too.
    let times =
        "x = { type = \"timestamp\", lower = \"2020-01-01T00:00:00\", upper = \"2020-01-01T00:00:00.000000009\" }";
    let (third, request) = ("2020-01-01T00:00:00.000000003", format!("keys = \"times\"\n{request}"));
    let (same, answers) = released(times, &format!("x\n{}", format!("{third}\n").repeat(10)), &request, 30, 5);
    assert!(same.len() == events.len() && same.iter().zip(&events).all(|(one, other)| one.word() == other.word()));
    let values = answers.iter().flat_map(|answers| &answers.columns[1].cells);
    outcomes("quantiles of keys", values.map(|value| value.text() == third), &law(1.0), &law(0.7));
}

/// Each of a thousand values has fifty rows, far above the threshold.
#[test]
fn heavy_hitters() {
    let request =
        "kind = \"heavy-hitters\"\ntable = \"t\"\ncolumns = [\"x\"]\ncost = { epsilon = 2, scope = \"attribute\" }";
    let (events, answers) = released(&whole_numbers(999), &even(1000, 50), request, 8, 5);
    let event = events.iter().find(|event| matches!(event.word(), Word::HeavyHitters { .. })).unwrap();
    let drawn: Vec<i64> =
        answers.iter().flat_map(|answers| numbers(answers, "count")).map(|count| count as i64 - 50).collect();
    assert_eq!(drawn.len(), 8000);
    as_said("heavy hitters", &drawn, event, 0.85);
}

/// Nobody has a row: the table of what owners have is noise, and so are the counts of a release with a bounding report.
#[test]
fn bounds() {
    let folder = Folder::with(&[("t.csv", "o,x\n")]);
    let mut text = "[dataset.t]\nsource = \"t.csv\"\nowner = \"o\"\nmax_rows_per_owner = 2\nmax_groups_per_owner = 2\n\
        [dataset.t.columns]\nx = { type = \"int\", lower = 0, upper = 1999 }\n"
        .to_string();
    let sql = "SELECT x, COUNT(*) AS n FROM t GROUP BY x";
    write!(text, "[[release]]\nname = \"base\"\nsql = \"{sql}\"\ncost = {{ epsilon = 10 }}\nbounding_report = {{ share = 0.5, max_rows_per_owner = 20 }}\n").unwrap();
    for run in 0..60 {
        write!(text, "[[release]]\nname = \"r{run}\"\nkind = \"bounds\"\nfor = \"base\"\ncost = {{ epsilon = 500 }}\n")
            .unwrap();
    }
    let (planned, outcomes) = folder.release(&folder.project(&text), 9);
    let drawn: Vec<i64> = outcomes[1..]
        .iter()
        .flat_map(|outcome| numbers(&outcome.answers, "rows_only_here").map(|rows| rows as i64).collect::<Vec<_>>())
        .collect();
    assert_eq!(drawn.len(), 60 * 8 * 11);
    as_said("bounds", &drawn, &planned[1].plan.events[0], 0.8);
    let own: Vec<i64> = numbers(&outcomes[0].answers, "n").map(|cell| cell as i64).collect();
    assert_eq!(own.len(), 2000);
    as_said("counts beside a report", &own, &planned[0].plan.events[0], 0.7);
}

/// σ² of the residual of one attribute: a change of its value moves two cells of the residual by 1, so that ρ = 2/2σ².
fn residual_variance(events: &[Event]) -> f64 {
    let scope = Scope::Attributes(AttributeSet::new(["x"]).unwrap());
    1.0 / Odometer::of(events, &scope).unwrap().rho(&Exact::zero()).unwrap().to_f64()
}

/// The estimates less their mean are the residual: d − 1 dimensions.
fn residual_squares(estimates: &[f64], truth: f64) -> f64 {
    let mean = estimates.iter().sum::<f64>() / estimates.len() as f64;
    let off = estimates.iter().map(|estimate| (estimate - mean).powi(2));
    assert!((mean - truth).abs() < 20.0);
    off.sum()
}

#[test]
fn marginals() {
    let request = "kind = \"marginals\"\ntable = \"t\"\ncolumns = [\"x\"]\norder = 1\nmethod = \"residual\"\nestimates = \"unbiased\"\ncost = { rho = 0.02 }";
    let (events, answers) = released(&whole_numbers(4095), &even(4096, 2), request, 3, 6);
    let squares: f64 =
        answers.iter().map(|answers| residual_squares(&numbers(answers, "estimate").collect::<Vec<_>>(), 2.0)).sum();
    chi_square("marginals", squares / residual_variance(&events), 3 * 4095, 0.93);
}

/// So many rows of each value that the fitted table is the measured one: the made-up rows are its rounded counts.
#[test]
fn synthetic() {
    let request = "kind = \"synthetic\"\ntable = \"t\"\ncolumns = [\"x\"]\norder = 1\nmethod = \"residual\"\ncost = { rho = 0.03 }";
    let (events, answers) = released(&whole_numbers(511), &even(512, 80), request, 6, 7);
    let mut squares = 0.0;
    for answers in &answers {
        let mut counts = vec![0.0; 512];
        numbers(answers, "x").for_each(|value| counts[value as usize] += 1.0);
        squares += residual_squares(&counts, 80.0);
    }
    chi_square("synthetic", squares / residual_variance(&events), 6 * 511, 0.82);
}

/// Twenty-five values whose counts are forty apart: the published counts of the twenty most frequent are the noisy rows
/// of the diagram, which nothing moves.
#[test]
fn anonymized_histogram() {
    let rows: String = (1..=25).flat_map(|value| std::iter::repeat_n(format!("v{value}\n"), 40 * value)).collect();
    let request =
        "kind = \"anonymized-histogram\"\ntable = \"t\"\ncolumn = \"x\"\nat_most = 13000\ncost = { epsilon = 1 }";
    let (events, answers) = released("x = { type = \"category\" }", &format!("x\n{rows}"), request, 90, 8);
    let mut drawn = Vec::new();
    for answers in &answers {
        let pairs = numbers(answers, "count").zip(numbers(answers, "how_many"));
        let mut counts: Vec<i64> =
            pairs.flat_map(|(count, values)| std::iter::repeat_n(count as i64, values as usize)).collect();
        counts.sort_unstable_by(|left, right| right.cmp(left));
        drawn.extend(counts.iter().zip((6..=25).rev()).map(|(count, value)| count - 40 * value));
    }
    assert_eq!(drawn.len(), 1800);
    as_said("anonymized histogram", &drawn, &events[0], 0.7);
}

/// The same of values that are listed: their counts lie so far apart that sorting leaves them in their places. Each is
/// off by the noise of the one event.
#[test]
fn anonymized_histogram_of_listed_values() {
    let rows: String = (0..25).flat_map(|value| std::iter::repeat_n(format!("{value}\n"), 40 * (value + 1))).collect();
    let request =
        "kind = \"anonymized-histogram\"\ntable = \"t\"\ncolumn = \"x\"\nat_most = 1000000\ncost = { epsilon = 1 }";
    let (events, answers) = released(&whole_numbers(24), &format!("x\n{rows}"), request, 90, 38);
    assert_eq!(events.len(), 1);
    let mut drawn = Vec::new();
    for answers in &answers {
        let pairs = numbers(answers, "count").zip(numbers(answers, "how_many"));
        let counts = pairs.flat_map(|(count, values)| std::iter::repeat_n(count as i64, values as usize));
        drawn.extend(counts.zip(1..).map(|(count, value)| count - 40 * value));
    }
    assert_eq!(drawn.len(), 2250);
    as_said("anonymized histogram of listed values", &drawn, &events[0], 0.7);
}

/// Forty columns that nobody has: what is published about sets of one and of two is the noise of its own event.
#[test]
fn conjunctions() {
    let names: Vec<String> = (0..40).map(|column| format!("x{column}")).collect();
    let columns: String = names.iter().map(|name| format!("{name} = {{ type = \"bool\" }}\n")).collect();
    for (measure, column, pairs) in [("parities", "balance", 780), ("counts", "count", 3120)] {
        let request = format!(
            "kind = \"conjunctions\"\ntable = \"t\"\ncolumns = {names:?}\nwidth = 2\nmeasure = \"{measure}\"\ncost = {{ rho = 0.5 }}"
        );
        let (events, answers) = released(&columns, &format!("{}\n", names.join(",")), &request, 12, 26);
        let of_size = |cells: u64| {
            let is_own = |event: &&Event| event.moves().parts().0.first().is_some_and(|shift| shift.cells == cells);
            events.iter().find(is_own).unwrap()
        };
        let drawn: Vec<i64> = answers
            .iter()
            .flat_map(|answers| numbers(answers, column).skip(answers.rows() - pairs))
            .map(|number| number as i64)
            .collect();
        as_said(measure, &drawn, of_size(780), 0.85);
    }
}

/// Forty columns that nobody has, all tables of two by the method psd: the two cells of a table that agree have half of
/// the product's noise.
#[test]
fn pairs() {
    let names: Vec<String> = (0..40).map(|column| format!("x{column}")).collect();
    let columns: String = names.iter().map(|name| format!("{name} = {{ type = \"bool\" }}\n")).collect();
    let request = format!(
        "kind = \"marginals\"\ntable = \"t\"\ncolumns = {names:?}\nmissing = \"never\"\nmethod = \"psd\"\nestimates = \"unbiased\"\ncost = {{ rho = 0.5 }}"
    );
    let (events, answers) = released(&columns, &format!("{}\n", names.join(",")), &request, 12, 27);
    let is_own = |event: &&Event| event.moves().parts().0.first().is_some_and(|shift| shift.cells == 780);
    let event = events.iter().find(is_own).unwrap();
    let mut drawn = Vec::new();
    for answers in &answers {
        let cells: Vec<f64> = numbers(answers, "estimate").collect();
        // (false, false), (false, true), (true, false), (true, true): the outer ones less the inner ones are the
        // product.
        drawn.extend(cells[80..].chunks(4).map(|four| (four[0] + four[3] - four[1] - four[2]).round() as i64));
    }
    assert_eq!(drawn.len(), 12 * 780);
    as_said("pairs", &drawn, event, 0.85);
}
