//! Every function, operator and cast that is accepted on private rows, on the worst values of every type, as it runs:
//! none may fail.

use super::*;
use crate::sql::functions::{Argument, on_rows};
use crate::support::effort;

const TABLE: &str = r#"
[dataset.t]
source = "t.csv"
[dataset.t.columns]
i = { type = "int" }
j = { type = "int", lower = -5, upper = 5 }
p = { type = "int", lower = 1, upper = 5 }
f = { type = "float" }
g = { type = "float", lower = -2.5, upper = 1e15 }
t = { type = "category" }
u = { type = "category" }
c = { type = "bool" }
"#;

const TEXTS: [&str; 16] = [
    "",
    "0",
    "-0",
    "007",
    "1e308",
    "1e999",
    "-9223372036854775808",
    "9223372036854775808",
    "NaN",
    "inf",
    "true",
    "İstanbul ß ﬃ 𝔘𝔫𝔦",
    "%_\\%\\",
    " \t\u{a0}\u{2003}",
    "2024-02-30",
    "e\u{301}\u{200d}👩‍👩‍👧",
];

fn rows() -> String {
    let whole = ["-9223372036854775808", "9223372036854775807", "0", "-1", "1", "", "9007199254740993", "-129", "128"];
    let fractions =
        ["NaN", "inf", "-inf", "-0.0", "0", "5e-324", "1.7976931348623157e308", "-1e300", "0.5", "", "1e15", "-2.5"];
    let mut text = "i,j,p,f,g,t,u,c\n".to_string();
    let long = "ab%_é".repeat(5_000);
    let texts: Vec<&str> = TEXTS.iter().copied().chain([long.as_str()]).collect();
    for n in 0..600usize {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let at = |list: &[&str], step: usize| list[n / step % list.len()].to_string();
        let line = [
            at(&whole, 1),
            at(&whole, 3),
            at(&whole, 7),
            at(&fractions, 1),
            at(&fractions, 5),
            quoted(&at(&texts, 1)),
            quoted(&at(&texts, 11)),
            ["true", "false", ""][n % 3].to_string(),
        ];
        text.push_str(&line.join(","));
        text.push('\n');
    }
    text
}

/// Expressions of every type: columns, casts of columns to every type, literals at the ends of their types.
fn arguments() -> Vec<String> {
    let columns = ["i", "j", "p", "f", "g", "t", "u", "c"];
    let types = ["TINYINT", "SMALLINT", "INT", "BIGINT", "REAL", "DOUBLE", "VARCHAR", "BOOLEAN"];
    let casts = columns.iter().flat_map(|column| types.iter().map(move |kind| format!("CAST({column} AS {kind})")));
    let literals = [
        "NULL",
        "true",
        "0",
        "-1",
        "9223372036854775807",
        "0.0",
        "-0.0",
        "1e308",
        "5e-324",
        "''",
        "'NaN'",
        "'%é\\'",
        "'007'",
        "CAST('NaN' AS DOUBLE)",
        "CAST('inf' AS DOUBLE)",
        "CAST('-inf' AS REAL)",
        "CAST(-128 AS TINYINT)",
        "CAST(NULL AS INT)",
    ];
    columns.iter().map(|column| column.to_string()).chain(casts).chain(literals.map(String::from)).collect()
}

/// Each expression by itself, counted in two ways, so that its values are really made.
fn attempt(tables: &TableFolder, expressions: &[String]) -> Result<()> {
    let named = expressions.iter().enumerate().map(|(index, one)| format!("{one} AS e{index}"));
    let counted = (0..expressions.len()).map(|index| format!("COUNT(DISTINCT e{index}), COUNT(e{index})"));
    let (named, counted) = (named.collect::<Vec<_>>().join(", "), counted.collect::<Vec<_>>().join(", "));
    let cut = tables.cut(&format!("SELECT {counted} FROM (SELECT {named} FROM t) AS all_of_them"))?;
    tables.integers(&cut).map(|_| ())
}

/// Runs all expressions that are accepted, many at a time; gives how many were accepted.
fn run_all(tables: &TableFolder, expressions: Vec<String>) -> usize {
    let accepted: Vec<String> = expressions
        .into_iter()
        .filter(|one| tables.cut(&format!("SELECT COUNT(DISTINCT {one}) FROM t")).is_ok())
        .collect();
    for part in accepted.chunks(60) {
        if let Err(together) = attempt(tables, part) {
            for one in part {
                if let Err(error) = attempt(tables, std::slice::from_ref(one)) {
                    panic!("{one} fails on some row: {error}");
                }
            }
            panic!("{part:?} fail together: {together}");
        }
    }
    accepted.len()
}

fn tables() -> TableFolder {
    TableFolder::of(TABLE, &[("t.csv", &rows())])
}

#[test]
fn casts_and_operators_fail_on_no_value() {
    let tables = tables();
    let arguments = arguments();
    let mut all = Vec::new();
    for (index, one) in arguments.iter().enumerate() {
        all.extend([
            one.clone(),
            format!("-({one})"),
            format!("NOT ({one})"),
            format!("({one}) IS NULL"),
            format!("({one}) IS NOT TRUE"),
            format!("({one}) LIKE '%_é\\%'"),
            format!("({one}) NOT ILIKE 'A%b_%'"),
            format!("CASE ({one}) WHEN i THEN t WHEN f THEN g ELSE c END"),
        ]);
        // Pairs: every argument with some others, in an order that brings all types together.
        for step in [7, 19].into_iter().take(effort(1, 2)) {
            let other = &arguments[(index * step + 3 * step) % arguments.len()];
            all.extend(
                ["+", "-", "*", "/", "%", "=", "<", ">=", "<>", "||", "AND", "OR", "IS DISTINCT FROM"]
                    .map(|operator| format!("({one}) {operator} ({other})")),
            );
            all.extend([
                format!("({one}) BETWEEN ({other}) AND 5"),
                format!("({one}) IN (({other}), 3, '7')"),
                format!("CASE WHEN c THEN ({one}) ELSE ({other}) END"),
                format!("({one}) % p + ({other}) / p"),
            ]);
        }
    }
    let accepted = run_all(&tables, all);
    assert!(accepted > 700, "{accepted}");
}

#[test]
fn functions_fail_on_no_value() {
    let tables = tables();
    let arguments = arguments();
    let mut accepted = Vec::new();
    for (name, allowed) in on_rows() {
        let mut all = Vec::new();
        for (index, one) in arguments.iter().enumerate().step_by(effort(3, 2)) {
            let other = &arguments[(index * 17 + 5) % arguments.len()];
            let rest: &[&str] = match allowed {
                [Argument::Any] if ["coalesce", "concat", "greatest", "least"].contains(&name) => &["", ", OTHER, t"],
                [Argument::Any] => &[""],
                [_, Argument::Written(..), Argument::Written(..)] => {
                    &[", 1", ", -1000000, 5", ", 3, 1000000", ", 0, 0", ", 2, NULL", ", NULL, 1"]
                }
                [_, Argument::Written(..)] => &["", ", -1000000", ", 1000000", ", -15", ", 15", ", 0", ", NULL"],
                [_, Argument::Text] => &["", ", 'é%'", ", NULL"],
                [_, Argument::Text, _] => &[", '\\', 'x'", ", 'a', ''", ", 'é', NULL"],
                _ => &[", OTHER", ", t", ", 'é%'"],
            };
            all.extend(rest.iter().map(|rest| format!("{name}({one}{})", rest.replace("OTHER", other))));
        }
        let count = run_all(&tables, all);
        assert!(count > effort(1, 5), "{name}: {count}");
        accepted.push(count);
    }
    assert!(accepted.iter().sum::<usize>() > 250, "{accepted:?}");
}

const DATES: &str = r#"
[dataset.t]
source = "t.csv"
[dataset.t.columns]
d = { type = "date" }
e = { type = "date", lower = "2013-01-01", upper = "2013-12-31" }
s = { type = "timestamp" }
w = { type = "timestamp", lower = "1999-12-31T23:00:00", upper = "2000-03-01T00:00:00", zone = "Pacific/Apia" }
i = { type = "int" }
u = { type = "category" }
c = { type = "bool" }
"#;

/// Dates and times at both ends of the years that there are, and beyond them.
#[test]
fn dates_fail_on_no_value() {
    let days = ["0001-01-01", "9999-12-31", "1678-01-01", "2261-12-31", "2000-02-29", "2013-01-31", "1969-12-31", ""];
    let times = ["T00:00:00", "T23:59:59.999999999", "T12:30:00+14:00", "T00:00:01-12:00", ""];
    let mut rows = "d,e,s,w,i,u,c\n".to_string();
    for n in 0..300usize {
        let moment = |n: usize| match days[n % days.len()] {
            "" => String::new(),
            day => format!("{day}{}", times[n / 3 % times.len()]),
        };
        let (day, other) = (days[n % days.len()], days[n / 7 % days.len()]);
        let (truth, text) = (["true", "false", ""][n % 3], ["2013-01-31", "x", ""][n / 2 % 3]);
        rows.push_str(&format!("{day},{other},{},{},{n},{text},{truth}\n", moment(n), moment(n / 5)));
    }
    let tables = TableFolder::of(DATES, &[("t.csv", &rows)]);
    let plain = [
        "d",
        "e",
        "s",
        "w",
        "DATE '1678-01-01'",
        "DATE '2261-12-31'",
        "TIMESTAMP '2000-02-29T12:00:00'",
        "CAST(NULL AS DATE)",
    ];
    let mut dates: Vec<String> = plain.iter().map(|one| one.to_string()).collect();
    for one in plain {
        dates.extend([
            format!("CAST({one} AS TIMESTAMP)"),
            format!("CAST({one} AS DATE)"),
            format!("TRY_CAST({one} AS DATE)"),
            format!("CASE WHEN c THEN {one} ELSE e END"),
            format!("COALESCE({one}, w)"),
            format!("GREATEST({one}, e)"),
            format!("NULLIF({one}, e)"),
        ]);
        dates.extend(crate::calendar::CalendarUnit::ALL.map(|(unit, _)| format!("date_trunc('{unit}', {one})")));
        for by in
            ["1 month", "90 days", "250 years", "3 months -4 days 5 hours", "1 microsecond", "3000 months -90000 days"]
        {
            dates.extend([format!("{one} + INTERVAL '{by}'"), format!("{one} - INTERVAL '{by}'")]);
        }
    }
    let mut all = dates.clone();
    for (index, one) in dates.iter().enumerate().step_by(4) {
        for part in [
            "year", "isoyear", "quarter", "month", "week", "day", "doy", "dow", "isodow", "hour", "minute", "second",
            "epoch",
        ] {
            all.push(format!("EXTRACT({part} FROM {one})"));
        }
        all.extend(["year", "week", "month"].map(|unit| format!("date_trunc('{unit}', {one})")));
        all.extend(
            ["VARCHAR", "INT", "BIGINT", "DATE", "TIMESTAMP", "DOUBLE", "BOOLEAN"]
                .map(|to| format!("CAST({one} AS {to})")),
        );
        let other = &dates[(index * 7 + 3) % dates.len()];
        all.extend([
            format!("{one} - {other}"),
            format!("{one} < {other}"),
            format!("{one} IS DISTINCT FROM {other}"),
            format!("{one} BETWEEN {other} AND DATE '2013-06-01'"),
            format!("{one} IN ({other}, DATE '2013-06-01')"),
            format!("{one} = u"),
            format!("{one} + i"),
            format!("({one} - DATE '2000-01-01') * 2 + EXTRACT(MONTH FROM {other})"),
            format!("CAST({one} AS VARCHAR) || u"),
        ]);
    }
    let accepted = run_all(&tables, all);
    assert!(accepted > 700, "{accepted}");
}
