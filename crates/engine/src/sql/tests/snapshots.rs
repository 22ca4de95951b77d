//! What queries become, to be read: a text for each in `snapshots/`. After a change that is meant, look at the
//! `.snap.new` files beside them, and take them with
//! `INSTA_UPDATE=always cargo test -p scumble-engine --lib sql::tests::snapshots`.

use super::TableFolder;
use crate::sql::analyse::described::Ownership;
use crate::sql::analyse::query::{Computation, Query, Rank, Summand};
use crate::sql::analyse::sensitivity;
use crate::sql::execute::executed::{over, projected};
use crate::sql::{PrivateQuery, above, text as window};
use crate::tables::bounding::Bounds;
use scumble::event::{Moves, Shift};
use std::fmt::Write;

const PROJECT: &str = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
age = { type = "int", lower = 0, upper = 120 }
sex = { type = "category", values = ["f", "m"] }
state = { type = "category" }
income = { type = "float", lower = 0, upper = 1000, granularity = 0.5 }
ill = { type = "bool" }
[dataset.visits]
source = "visits.csv"
owner = "person"
max_rows_per_owner = 4
max_groups_per_owner = 2
max_rows_per_group = 3
[dataset.visits.columns]
clinic = { type = "category", values = ["a", "b", "c"] }
cost = { type = "int", lower = 0, upper = 100 }
[dataset.patients]
source = "patients.csv"
owner = "id"
max_rows_per_owner = 1
[dataset.patients.columns]
born = { type = "int", lower = 1900, upper = 2030 }
[dataset.wards]
source = "wards.csv"
public = true
[dataset.wards.columns]
clinic = { type = "category", values = ["a", "b", "c"] }
floor = { type = "int", lower = 1, upper = 2 }
"#;

fn check(name: &str, sql: &str) {
    let tables = TableFolder::of(PROJECT, &[]);
    let text = match tables.cut(sql) {
        Ok(cut) => explained(&tables, &cut),
        Err(error) => format!("refused\n  {error}\n"),
    };
    let settings = {
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings
    };
    settings.bind(|| insta::assert_snapshot!(name, format!("{sql}\n\n{text}")));
}

/// All that is known of a query before a row is read.
fn explained(tables: &TableFolder, cut: &PrivateQuery) -> String {
    let query = &cut.query;
    let whose = match &cut.below.owner {
        Ownership::Named(column) => format!("each row is that of {column}"),
        Ownership::EachRow => "each row is one person".to_string(),
        Ownership::Public => "public".to_string(),
    };
    let mut text = format!("reads {} ({whose})\n", listed(&cut.below.tables));
    let bounded = |bounds: Bounds| {
        let (groups, each, rows) = (bounds.groups, bounds.rows_per_group, bounds.rows);
        format!("of an owner count {groups} groups, {each} rows in each, {rows} rows in all")
    };
    if let Some(first) = &cut.per_owner {
        writeln!(
            text,
            "{}, which are made one row by {}",
            bounded(first.bounds),
            listed(first.keys.iter().map(|key| &key.expression))
        )
        .unwrap();
        for (name, interval) in first.described() {
            let interval = interval.map_or(String::new(), |(low, high)| format!(": {low} to {high}"));
            writeln!(text, "  {name}{interval}").unwrap();
        }
    }
    query.bounds.iter().for_each(|bounds| writeln!(text, "{}", bounded(*bounds)).unwrap());
    writeln!(text, "which rows there are depends on {}", listed(&query.rows)).unwrap();
    for key in &query.keys {
        let domain = key.domain.as_ref().map_or("not public, selected privately".to_string(), |values| {
            format!("public, {}", listed(values.iter().map(ToString::to_string)))
        });
        writeln!(text, "key {}: {}, {domain}", key.expression, key.kind).unwrap();
    }
    for (index, measure) in query.measures.iter().enumerate() {
        let of = measure.expression.as_ref().map_or(String::new(), |of| format!(" of {of}"));
        let (least, most) = measure.range;
        writeln!(text, "measure {index}: {}{of}, {least} to {most} in each row", what(measure.what)).unwrap();
        text.push_str(&moved(&sensitivity::moves(measure, query).unwrap()));
    }
    text.push_str(&quantiles(query));
    for output in above::outputs(&cut.plan, &cut.aggregate).unwrap() {
        let from = output.aggregates.iter().map(|aggregate| computed(&query.aggregates[*aggregate]));
        writeln!(text, "column {}: {}", output.name, listed(from)).unwrap();
    }
    let execution = cut.execution().unwrap();
    for executed in over(execution, projected(execution, cut.below.plan.clone()).unwrap()).unwrap() {
        writeln!(text, "\nexecuted\n{}", indented(&executed.plan.display_indent().to_string())).unwrap();
    }
    let statements = window::statements(cut, &tables.project);
    assert_eq!(statements.is_ok(), cut.per_owner.is_none());
    for statement in statements.unwrap_or_default() {
        writeln!(text, "\nas window functions\n{}", indented(&in_lines(statement))).unwrap();
    }
    text
}

/// A line for each named part of a statement, and one for what is asked of the last.
fn in_lines(statement: String) -> String {
    let parts = ["groups", "ranked", "placed", "first", "slotted", "counted", "kept"]
        .map(|name| format!(", scumble_{name} AS ("));
    let broken = parts.iter().fold(statement, |text, part| text.replace(part, &part.replacen(", ", ",\n", 1)));
    let last = broken.rfind(" SELECT ").unwrap();
    format!("{}\n{}", &broken[..last], &broken[last + 1..])
}

fn quantiles(query: &Query) -> String {
    let mut text = String::new();
    for (index, quantile) in query.quantiles.iter().enumerate() {
        let ranked = &query.ranked[quantile.ranked];
        let rank = match quantile.rank {
            Rank::Least => "least".to_string(),
            Rank::Largest => "largest".to_string(),
            Rank::Fraction(fraction) => format!("the {}-quantile", fraction.get()),
        };
        let grid = (ranked.grid.lower, ranked.grid.upper, ranked.grid.step);
        writeln!(text, "quantile {index}: {rank} of {}, {} to {} by {}", ranked.expression, grid.0, grid.1, grid.2)
            .unwrap();
        text.push_str(&moved(&sensitivity::quantile_moves(quantile, query).unwrap()));
    }
    text
}

fn what(what: Summand) -> String {
    match what {
        Summand::Owners => "owners".to_string(),
        Summand::Rows => "rows".to_string(),
        Summand::Present => "values".to_string(),
        Summand::Different => "different values".to_string(),
        Summand::Steps { grid, centre } => format!("steps of {} minus {centre}", grid.step),
        Summand::Squares { grid, centre } => format!("squares of steps of {} minus {centre}", grid.step),
    }
}

fn computed(aggregate: &Computation) -> String {
    match aggregate {
        Computation::Count(measure) => format!("measure {measure}"),
        Computation::Sum { steps, step } => format!("measure {steps} · {step}"),
        Computation::Mean { steps, count, .. } => format!("mean of measures {steps} and {count}"),
        Computation::Spread { steps, squares, count, root, .. } => {
            format!("{} of measures {steps}, {squares} and {count}", if *root { "deviation" } else { "variance" })
        }
        Computation::Pair(pair) => format!("{:?} of measures {}", pair.asked, listed(pair.measures())),
        Computation::Quantile(quantile) => format!("quantile {quantile}"),
    }
}

fn moved(moves: &Moves) -> String {
    let shifts = |shifts: &[Shift]| {
        let words = shifts.iter().map(|shift| {
            format!("{} {} by {}", shift.cells, if shift.cells == 1 { "cell" } else { "cells" }, shift.by.get())
        });
        words.collect::<Vec<_>>().join(" or ")
    };
    let (presence, person, touches, _) = moves.parts();
    let mut text = format!("  presence: {}\n  person: {}\n", shifts(presence), shifts(person));
    for touch in touches {
        writeln!(text, "  {}: {}", touch.attributes, shifts(&touch.shifts)).unwrap();
    }
    text
}

fn listed<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { "nothing".to_string() } else { items.join(", ") }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect::<String>().trim_end().to_string()
}

#[test]
fn counts_and_keys() {
    check("count", "SELECT COUNT(*) AS n FROM people WHERE age >= 18 AND ill");
    check("count_by_public_key", "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex");
    check("count_by_unknown_key", "SELECT state, COUNT(*) AS n FROM people GROUP BY state");
    check("count_by_expression", "SELECT age / 10 AS decade, COUNT(income) AS n FROM people GROUP BY age / 10");
    check("distinct_values", "SELECT COUNT(DISTINCT clinic) AS clinics, COUNT(DISTINCT person) AS people FROM visits");
}

#[test]
fn sums_means_and_quantiles() {
    check("sum_on_a_grid", "SELECT SUM(income) AS total FROM people");
    check("mean_and_deviation", "SELECT AVG(age) AS mean, STDDEV(age) AS deviation FROM people");
    check("median_by_key", "SELECT sex, MEDIAN(age) AS middle FROM people GROUP BY sex");
    check("sum_of_an_expression", "SELECT SUM(CASE WHEN ill THEN age - 60 ELSE 0 END) AS s FROM people");
}

#[test]
fn owners_of_several_rows() {
    check("owners_are_bounded", "SELECT clinic, COUNT(*) AS n, SUM(cost) AS cost FROM visits GROUP BY clinic");
    check(
        "owners_joined",
        "SELECT SUM(v.cost) AS cost FROM visits v JOIN patients p ON v.person = p.id WHERE p.born < 1980",
    );
    check(
        "public_table_joined",
        "SELECT w.floor, COUNT(*) AS n FROM visits v JOIN wards w ON v.clinic = w.clinic GROUP BY w.floor",
    );
}

#[test]
fn one_row_per_owner_first() {
    check(
        "one_row_per_owner",
        "SELECT AVG(total) AS mean, COUNT(*) AS people FROM (SELECT person, SUM(cost) AS total FROM visits GROUP BY person) AS t",
    );
    check(
        "one_row_per_owner_and_key",
        "SELECT clinic, n, SUM(LEAST(total, 50)) AS s FROM (SELECT person, clinic, COUNT(*) AS n, SUM(cost) AS total FROM visits GROUP BY person, clinic HAVING MAX(cost) > 3) AS t GROUP BY clinic, n",
    );
}

#[test]
fn above_the_aggregate() {
    let sql = "SELECT sex, SUM(income) / COUNT(*) AS each FROM people GROUP BY sex HAVING COUNT(*) > 20 ORDER BY each DESC LIMIT 1";
    check("quotient_having_and_limit", sql);
    check(
        "inner_query",
        "SELECT COUNT(*) AS n FROM (SELECT age + 1 AS next, state FROM people WHERE sex = 'f') AS q WHERE next > 30",
    );
}

#[test]
fn refusals() {
    check("refused_join", "SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.clinic = b.clinic");
    check("refused_division", "SELECT COUNT(*) AS n FROM people WHERE 10 / age > 1");
}
