//! Every function, operator and cast that is accepted on private rows, on the worst values of every type, as it runs: none may fail.

use super::*;
use crate::sql::function::{Argument, FUNCTIONS};

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
fn attempt(tables: &Tables, expressions: &[String]) -> Result<()> {
    let named = expressions.iter().enumerate().map(|(index, one)| format!("{one} AS e{index}"));
    let counted = (0..expressions.len()).map(|index| format!("COUNT(DISTINCT e{index}), COUNT(e{index})"));
    let (named, counted) = (named.collect::<Vec<_>>().join(", "), counted.collect::<Vec<_>>().join(", "));
    let cut = tables.cut(&format!("SELECT {counted} FROM (SELECT {named} FROM t) AS all_of_them"))?;
    tables.integers(&cut).map(|_| ())
}

/// How much is tried: `few` for whoever wants to see the tests pass in minutes, `many` where `SCUMBLE_THOROUGH` is set, as in `.ci/run`.
fn effort(few: usize, many: usize) -> usize {
    if std::env::var_os("SCUMBLE_THOROUGH").is_some() { many } else { few }
}

/// Runs all expressions that are accepted, many at a time; gives how many were accepted.
fn run_all(tables: &Tables, expressions: Vec<String>) -> usize {
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

fn tables() -> Tables {
    Tables::of(TABLE, &[("t.csv", &rows())])
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
    for (name, allowed) in FUNCTIONS {
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
