//! Intervals of everything that is derived from noisy numbers, against the truth, for groups of 1 row to a million.

use super::spread::{NoiseLaw, SMALL};
use super::uncertainty::uncertainties;
use super::*;
use crate::release::output::Uncertainty;
use crate::room::with_room;

/// The columns: what is asked, and whether it has steps, which cover more by their nature.
const COLUMNS: [(&str, &str, bool); 12] = [
    ("mean", "AVG(x)", false),
    ("variance", "VAR_POP(x)", false),
    ("deviation", "STDDEV(x)", false),
    ("quotient", "SUM(x) / COUNT(*)", false),
    ("percent", "COUNT(*) FILTER (WHERE x > 20) * 100.0 / COUNT(*)", false),
    ("product", "COUNT(*) * SUM(x)", false),
    ("relative", "STDDEV_POP(x) / (AVG(x) + 100)", false),
    ("rounded", "ROUND(COUNT(*), -2)", true),
    ("rounded_mean", "ROUND(AVG(x), 0)", true),
    ("guarded", "CASE WHEN COUNT(*) < 10 THEN 0 ELSE COUNT(*) END", true),
    ("whole", "COUNT(*) / 7", true),
    ("whole_quotient", "COUNT(*) FILTER (WHERE x > 20) * 100 / COUNT(*)", true),
];

/// A project without rows, and its query of all columns.
fn plan(cost: &str) -> (Folder, SqlPlan) {
    let text =
        "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\nx = { type = \"int\", lower = -60, upper = 60 }\n";
    let folder = Folder::with(&[("t.csv", "x\n1\n")]);
    let project = folder.project(text);
    let columns: Vec<String> = COLUMNS.iter().map(|(name, sql, _)| format!("{sql} AS {name}")).collect();
    let sql = format!("SELECT {} FROM t", columns.join(", "));
    let plan = SqlPlan::new(&sql, &Request::sql("test", &sql, &cost.parse().unwrap()).unwrap(), &project).unwrap();
    (folder, plan)
}

/// A group's rows: the value of each.
fn values(rows: i128) -> impl Fn(i128) -> i128 {
    move |row| if rows == 1 { 37 } else { [10, 37, -20, 55, 31, -3, 2][(row % 7) as usize] }
}

/// The exact measures of a group.
fn exact(cut: &PrivateQuery, rows: i128) -> Vec<i128> {
    let value = values(rows);
    let sum = |of: &dyn Fn(i128) -> i128| -> i128 {
        let turns = rows / 7;
        let turn: i128 = (0..7).map(|row| of(value(row))).sum();
        turns * if rows >= 7 { turn } else { 0 } + (0..rows % 7).map(|row| of(value(row))).sum::<i128>()
    };
    let measure = |measure: &crate::sql::analyse::query::Measure| match measure.what {
        Summand::Steps { grid, centre } => {
            assert!(grid.step == 1.0);
            sum(&|value| value - i128::from(centre))
        }
        Summand::Squares { grid, centre } => {
            assert!(grid.step == 1.0);
            sum(&|value| (value - i128::from(centre)).pow(2))
        }
        _ if measure.expression.as_ref().is_some_and(|filter| filter.to_string().contains("20")) => {
            sum(&|value| i128::from(value > 20))
        }
        _ => rows,
    };
    cut.query.measures.iter().map(measure).collect()
}

/// What a reader takes the columns to mean, computed by hand.
fn truth(name: &str, rows: i128) -> f64 {
    let value = values(rows);
    let all: Vec<f64> = (0..rows.min(7)).chain(7..rows).map(|row| value(row) as f64).collect();
    let (count, sum) = (rows as f64, all.iter().sum::<f64>());
    let mean = sum / count;
    let squares: f64 = all.iter().map(|value| (value - mean).powi(2)).sum();
    let above = all.iter().filter(|value| **value > 20.0).count() as f64;
    match name {
        "mean" | "quotient" => mean,
        "variance" => squares / count,
        "deviation" => (squares / (count - 1.0)).sqrt(),
        "percent" => above * 100.0 / count,
        "product" => count * sum,
        "relative" => (squares / count).sqrt() / (mean + 100.0),
        "rounded" => (count / 100.0).round() * 100.0,
        "rounded_mean" => mean.round(),
        "guarded" => {
            if count < 10.0 {
                0.0
            } else {
                count
            }
        }
        "whole" => (count / 7.0).trunc(),
        _ => (above * 100.0 / count).trunc(),
    }
}

/// Whether a count's noise is so small that it is seen to be whole numbers.
fn has_small_noise(plan: &SqlPlan) -> bool {
    plan.private.noises.iter().any(|noise| NoiseLaw::of(noise).deviation < SMALL)
}

/// As they are published: 500 groups of the same rows each, as the rows of one answer. Intervals cover 95% or more (how
/// exactly, [`super::super::region`] tests with more draws); fewer than 88% would be 7 standard deviations, which
/// happens in one of 166 cases with a probability below 1e-9. More than 97.5% is expected where groups are so small
/// that an interval is everything that is possible, and of steps; in large groups more than 99.5% would be far too
/// wide. A quotient of counts whose noise is seen to be whole numbers covers more everywhere, up to 99.6%: its interval
/// is at most twice as wide as that of the tangent.
#[test]
fn intervals_cover_whatever_the_group_and_whatever_is_computed() {
    for cost in ["epsilon=2", "rho=0.1"] {
        let (_folder, plan) = plan(cost);
        let mut bits = InsecureSeededSource::new(21);
        for rows in [1i128, 3, 10, 30, 100, 1000, 1_000_000] {
            let exact = exact(&plan.cut, rows);
            let runs = 500;
            let draw = |_| {
                let sums =
                    exact.iter().zip(&plan.private.noises).map(|(sum, noise)| noise.add_to_wide(*sum, &mut bits));
                NoisyCell { sums: sums.collect(), quantiles: Vec::new() }
            };
            let noisy = NoisyIntegers { keys: vec![Vec::new(); runs], cells: (0..runs).map(draw).collect() };
            let found = answers(&plan.cut, &noisy, &plan.private).unwrap();
            for (column, (name, _, has_steps)) in found.columns.iter().zip(COLUMNS) {
                // One row has no deviation.
                if name == "deviation" && rows == 1 {
                    continue;
                }
                let truth = truth(name, rows);
                let holds = |one: &&Uncertainty| {
                    let slack = 1e-9 * truth.abs();
                    // What was divided by 0 is nothing, and says nothing that is wrong.
                    one.low.is_nan() || (one.low <= truth + slack && truth - slack <= one.high)
                };
                let all = column.uncertainty.as_ref().unwrap();
                let covered = all.iter().filter(holds).count() as f64 / runs as f64;
                assert!(covered >= 0.88, "{cost}, {rows} rows, {name}: {covered}");
                // Of what is bent, the proof leaves room for the bend.
                let is_bent = ["variance", "deviation", "product", "relative"].contains(&name);
                let large = if is_bent { 1_000_000 } else { 1000 };
                let is_whole = name == "percent" && has_small_noise(&plan);
                assert!(
                    covered <= 0.995 || has_steps || rows < large || is_whole,
                    "{cost}, {rows} rows, {name}: {covered}"
                );
                let is_wide = |one: &Uncertainty| (one.high - one.low) / 2.0 > 2.0 * 1.96 * one.standard_error;
                assert!(rows < large || !is_whole || !all.iter().any(is_wide), "{cost}, {rows} rows, {name}");
                assert!(
                    all.iter().all(|one| one.low.is_nan() || one.low < one.high),
                    "{cost}, {rows} rows, {name}: ± 0"
                );
            }
        }
    }
}

/// The uncertainty of the only column of the only row.
fn only(sql: &str, sums: &[i128]) -> Uncertainty {
    let (folder, project) = sample();
    let plan = SqlPlan::new(sql, &Request::sql("test", sql, &"rho=0.02".parse().unwrap()).unwrap(), &project).unwrap();
    let cells = vec![NoisyCell { sums: sums.to_vec(), quantiles: Vec::new() }];
    let noisy = NoisyIntegers { keys: vec![Vec::new()], cells };
    assert_eq!(plan.private.noises.len(), sums.len(), "{sql}");
    let unsure = uncertainties(&plan.cut, &noisy, &plan.private, Backend::empty().unwrap()).unwrap();
    drop(folder);
    unsure[0].as_ref().unwrap().rows[0]
}

#[test]
fn a_step_is_looked_at_from_both_sides() {
    // σ is 5 for one count (ρ = 0.02 moves 1 by 1): ± 10.
    let check = |sql: &str, number: i128, low: f64, high: f64| {
        let found = only(&format!("SELECT {sql} AS c FROM people"), &[number]);
        let is = |end: f64, expected: f64| end == expected || (end - expected).abs() < 1e-9;
        assert!(is(found.low, low) && is(found.high, high), "{sql} of {number}: {found:?}");
    };
    // A rounded number is the number that was rounded, and the rounded one.
    check("ROUND(COUNT(*), -2)", 120, 100.0, 130.0);
    check("ROUND(COUNT(*), -2)", 145, 100.0, 200.0);
    check("COUNT(*) / 100", 120, 1.0, 1.3);
    check("CAST(COUNT(*) / 10.0 AS BIGINT)", 120, 11.0, 13.0);
    // Both sides of a threshold within the noise's reach; also if it is just out of reach; nothing else.
    check("CASE WHEN COUNT(*) > 100 THEN 1 ELSE 0 END", 105, 0.0, 1.0);
    check("CASE WHEN COUNT(*) > 100 THEN 1 ELSE 0 END", 115, 0.0, 1.0);
    check("CASE WHEN COUNT(*) > 100 THEN 1 ELSE 0 END", 1000, 1.0, 1.0);
    let hinge = only("SELECT COALESCE(COUNT(*), 0) + ABS(COUNT(*) - 3) AS c FROM people", &[3]);
    assert!((2.0..=3.0).contains(&hinge.low) && hinge.high == 23.0, "{hinge:?}");
    let rest = only("SELECT COUNT(*) % 10 AS c FROM people", &[1003]);
    assert!(rest.low == 0.0 && (9.0..10.0).contains(&rest.high), "{rest:?}");
    // A squared count near 0 is not negative.
    check("COUNT(*) * COUNT(*)", 4, 0.0, 196.0);
    // What may be divided by 0 may be anything.
    check("100 / COUNT(*)", 9, f64::NEG_INFINITY, f64::INFINITY);
    check("CASE WHEN COUNT(*) > 5 THEN COUNT(*) END", 9, f64::NEG_INFINITY, f64::INFINITY);
}

/// A query whose expression, when its sub-queries are put in their places, is this one over COUNT(*) so often.
fn again_and_again(step: &str, times: usize) -> String {
    let over = |below: String, _| format!("SELECT {step} AS c FROM ({below})");
    (0..times).fold("SELECT COUNT(*) AS c FROM people".to_string(), over)
}

/// Formulas are walked down by functions that call themselves: a chain of operators is no deep formula, and what is
/// nested too deep has no interval. A text has at most a hundred operators in a chain, and sub-queries put more of them
/// together: of a thousand the planner's stack overflowed, which ended the process.
#[test]
fn long_chains_have_intervals() {
    let check = |sql: &str, low: f64, high: f64| {
        // As releases are run.
        let found = with_room(|| only(sql, &[100]));
        assert!(found.low == low && found.high == high, "{}: {found:?}", &sql[..sql.len().min(60)]);
    };
    let (alternating, rising) = (format!("c{}", " + 1 - 2".repeat(45)), format!("c{}", " + 1".repeat(90)));
    check(&again_and_again(&alternating, 2), 0.0, 20.0);
    check(&again_and_again(&rising, 2), 270.0, 290.0);
    check(&format!("SELECT ABS(c) AS c FROM ({})", again_and_again(&rising, 2)), 270.0, 290.0);
    let (_folder, project) = sample();
    let sql = again_and_again(&rising, 11);
    let request = Request::sql("test", &sql, &"rho=0.02".parse().unwrap()).unwrap();
    let refused = with_room(|| SqlPlan::new(&sql, &request, &project).map(drop));
    assert!(refused.unwrap_err().to_string().contains("more than 250 operators deep"));
    let deep = format!("{}c{}", "ABS(".repeat(6), ")".repeat(6));
    check(&again_and_again(&deep, 9), 90.0, 110.0);
    check(&again_and_again(&deep, 16), f64::NEG_INFINITY, f64::INFINITY);
    let listed: Vec<String> = (0..500).map(|number| (1000 + number).to_string()).collect();
    let within = |list: String| format!("SELECT CASE WHEN COUNT(*) IN ({list}) THEN 1 ELSE 0 END AS c FROM people");
    check(&within(listed.join(", ")), 0.0, 0.0);
    check(&within(format!("107, {}", listed.join(", "))), 0.0, 1.0);
}

#[test]
fn no_error_of_zero_is_planned() {
    let (_folder, project) = sample();
    let expected = |sql: &str| {
        let sql = format!("SELECT {sql} AS c FROM people");
        SqlPlan::new(&sql, &Request::sql("test", &sql, &"epsilon=1".parse().unwrap()).unwrap(), &project)
            .unwrap()
            .expected
            .remove(0)
    };
    for sql in ["ROUND(COUNT(*), -2)", "COUNT(*) / 100", "CAST(COUNT(*) / 10.0 AS BIGINT)", "GREATEST(COUNT(*), 0)"] {
        let found = expected(sql);
        let assumed = found.assumed.unwrap();
        assert!(
            found.standard_error.is_none() && assumed.standard_error > 0.0 && assumed.least > 0.0,
            "{sql}: {assumed:?}"
        );
        assert_eq!(assumed.rows, 1000);
    }
    for sql in ["CASE WHEN COUNT(*) > 100 THEN 1 ELSE 0 END", "COUNT(*) * 0 / COUNT(*)"] {
        let found = expected(sql);
        assert!(found.standard_error.is_none() && found.assumed.is_none(), "{sql}: {found:?}");
        assert!(found.about.contains("depends on the released numbers"), "{}", found.about);
    }
    assert!(expected("COUNT(*) * 3 - 1").standard_error.unwrap() > 3.0);
}

/// At ε = 1e5 a count has no noise, and its reach of one step is endless in deviations; products and squares of columns
/// up to a million have noise of millions. The error of a correlation was divided by the count's reach, and was 0. Of
/// 400 draws the deviation is known within 15% (4 standard errors of it), and the error follows each draw.
#[test]
fn an_error_is_that_of_the_noise_also_where_one_number_has_none() {
    let text = "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\nx = { type = \"int\", lower = 0, upper = 1000000 }\ny = { type = \"int\", lower = 0, upper = 1000000 }\n";
    let row = |i: i64| format!("{},{}\n", 20_000 * i, (15_000 * i + 31_337 * (i % 7)) % 1_000_000);
    let rows: String = (0..40).map(row).collect();
    let folder = Folder::with(&[("t.csv", &format!("x,y\n{rows}"))]);
    let project = folder.project(text);
    for column in ["CORR(y, x)", "REGR_R2(y, x)", "COVAR_POP(y, x)", "VAR_POP(x)", "SQRT(AVG(x))", "STDDEV(x) / 2"] {
        for cost in ["epsilon=100000", "epsilon=3000"] {
            let sql = format!("SELECT {column} AS v FROM t");
            let plan =
                SqlPlan::new(&sql, &Request::sql("test", &sql, &cost.parse().unwrap()).unwrap(), &project).unwrap();
            let backend = Backend::with_data(&project, &plan.tables).unwrap();
            let cut = analyse(&sql, Bounding::default(), &project, &backend).unwrap();
            let exact = integers(&cut, &backend, Key(1, 2)).unwrap();
            let mut bits = InsecureSeededSource::new(5);
            let (mut values, mut errors) = (Vec::new(), Vec::new());
            for _ in 0..400 {
                let noisy = noised(&cut, exact.clone(), &plan.private, &mut DrawnNoise(&mut bits));
                let found = answers(&cut, &noisy, &plan.private).unwrap().columns.remove(0);
                values.push(found.cells[0].number().unwrap());
                errors.push(found.uncertainty.unwrap()[0].standard_error);
            }
            let mean = values.iter().sum::<f64>() / 400.0;
            let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 399.0).sqrt();
            let said = errors.iter().sum::<f64>() / 400.0;
            assert!(said > deviation * 0.7 && said < deviation * 2.0, "{column} at {cost}: {said}, is {deviation}");
        }
    }
}

/// Keys of one owner to many, around a threshold of about ten: of those that are shown, 95% of the intervals hold
/// whatever is made of the number of owners. Of 600 fewer than 525 (87.5%) would be 8 standard deviations; without the
/// interval of what passed it was none for few owners, and 70% of sums.
#[test]
fn what_is_made_of_owners_holds_given_that_the_key_is_shown() {
    let text = "[dataset.t]\nsource = \"t.csv\"\nowner = \"o\"\nmax_rows_per_owner = 1\n[dataset.t.columns]\nk = { type = \"category\" }\nx = { type = \"int\", lower = 0, upper = 20 }\n";
    let folder = Folder::with(&[("t.csv", "o,k,x\n1,a,1\n")]);
    let project = folder.project(text);
    let columns = [
        "COUNT(DISTINCT o)",
        "-2 * COUNT(DISTINCT o)",
        "SUM(x) + COUNT(DISTINCT o)",
        "SUM(x) * 0.25 - COUNT(DISTINCT o)",
        "SUM(x) * COUNT(DISTINCT o)",
    ];
    let listed: Vec<String> = columns.iter().enumerate().map(|(place, sql)| format!("{sql} AS c{place}")).collect();
    let sql = format!("SELECT k, {} FROM t GROUP BY k", listed.join(", "));
    for cost in ["epsilon=3,delta=0.01", "rho=0.3,delta=0.01"] {
        let plan = SqlPlan::new(&sql, &Request::sql("test", &sql, &cost.parse().unwrap()).unwrap(), &project).unwrap();
        let (least, owners) = (plan.private.threshold.unwrap(), plan.cut.query.owners().unwrap());
        let mut bits = InsecureSeededSource::new(33);
        for number in [1i128, 2, 3, 5, 8, 12, 20, 40] {
            // Each owner brings 3.
            let exact = plan.cut.query.measures.iter().map(|one| match one.what {
                Summand::Steps { centre, .. } => number * (3 - i128::from(centre)),
                _ => number,
            });
            let exact: Vec<i128> = exact.collect();
            let mut draw = || -> Vec<i128> {
                exact.iter().zip(&plan.private.noises).map(|(sum, noise)| noise.add_to_wide(*sum, &mut bits)).collect()
            };
            let tries = (0..3_000_000).map(|_| draw()).filter(|sums| sums[owners] >= i128::from(least)).take(600);
            let cells: Vec<NoisyCell> = tries.map(|sums| NoisyCell { sums, quantiles: Vec::new() }).collect();
            if cells.len() < 600 {
                continue;
            }
            let keys = vec![vec![datafusion::common::ScalarValue::from("a")]; cells.len()];
            let noisy = NoisyIntegers { keys, cells };
            let all = uncertainties(&plan.cut, &noisy, &plan.private, Backend::empty().unwrap()).unwrap();
            let n = number as f64;
            let truths = [n, -2.0 * n, 4.0 * n, 0.75 * n - n, 3.0 * n * n];
            for ((unsure, truth), column) in all.iter().flatten().zip(truths).zip(columns) {
                let held = unsure.rows.iter().filter(|one| (one.low - 1e-9..=one.high + 1e-9).contains(&truth)).count();
                assert!(held >= 525, "{cost}, {number} of {least}, {column}: {held} of 600");
            }
        }
    }
}

/// A key of one owner that is shown by chance has a number far above what it owns. Whether more than 3 own it was said
/// to be certain from where the interval of 95% (or the box of 97.5%) does not go down to 3 any more: at 10 scales
/// above the threshold, where one shown key of one owner in 22,000 is.
#[test]
fn what_passed_a_threshold_is_certain_only_where_luck_is_not_seen() {
    let text = "[dataset.t]\nsource = \"t.csv\"\nowner = \"o\"\nmax_rows_per_owner = 1\n[dataset.t.columns]\nk = { type = \"category\" }\nx = { type = \"int\", lower = 0, upper = 20 }\n";
    let folder = Folder::with(&[("t.csv", "o,k,x\n1,a,1\n")]);
    let project = folder.project(text);
    let sql = "SELECT k, CASE WHEN COUNT(DISTINCT o) > 3 THEN 1 ELSE 0 END AS one, CASE WHEN COUNT(DISTINCT o) > 3 AND SUM(x) > -1000000 THEN 1 ELSE 0 END AS two, \
        CASE WHEN COUNT(DISTINCT o) / (SUM(x) + 1000000.0) > 0.000004 THEN 1 ELSE 0 END AS three FROM t GROUP BY k";
    let plan =
        SqlPlan::new(sql, &Request::sql("test", sql, &"epsilon=3,delta=1e-6".parse().unwrap()).unwrap(), &project)
            .unwrap();
    let (least, owners) = (i128::from(plan.private.threshold.unwrap()), plan.cut.query.owners().unwrap());
    let Noise::Laplace(noise) = &plan.private.noises[owners] else {
        panic!("a cost in epsilon is paid with Laplace noise")
    };
    let scale = noise.scale().get();
    // Given that one owner's key is shown, it is this far above the threshold with probability e^(-far).
    let far: Vec<f64> = (0..=18).chain([60]).map(f64::from).collect();
    let cell = |far: &f64| {
        let mut sums = vec![0; plan.cut.query.measures.len()];
        sums[owners] = least + (far * scale) as i128;
        NoisyCell { sums, quantiles: Vec::new() }
    };
    let keys = vec![vec![datafusion::common::ScalarValue::from("a")]; far.len()];
    let noisy = NoisyIntegers { keys, cells: far.iter().map(cell).collect() };
    let all = uncertainties(&plan.cut, &noisy, &plan.private, Backend::empty().unwrap()).unwrap();
    for (place, unsure) in all.iter().flatten().enumerate() {
        for (one, far) in unsure.rows.iter().zip(&far) {
            let is_certain = one.low == one.high;
            assert_eq!(is_certain, *far > 30.0, "column {place}: {one:?}, {far} scales above the threshold");
        }
    }
    assert_eq!(all.iter().flatten().count(), 3);
}
