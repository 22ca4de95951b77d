//! The statements, run by DataFusion with its window functions, give the integers of our one pass.

use super::*;
use crate::project::Bounding;
use crate::sql::analyse;
use crate::sql::execute::integers::{Integers, integers};
use crate::tables::Backend;
use crate::tables::ranks::Ranks;
use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::common::ScalarValue;
use datafusion::execution::FunctionRegistry;
use datafusion::functions::datetime::planner::DatetimeFunctionPlanner;
use datafusion::prelude::{CsvReadOptions, SessionConfig, SessionContext};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const TOLD: &str = "a secret";

const PROJECT: &str = r#"
[dataset.visits]
source = "visits.csv"
owner = "person"
BOUNDS
[dataset.visits.columns]
clinic = { type = "category" }
ward = { type = "int", lower = 1, upper = 3 }
cost = { type = "float", lower = 0, upper = 100, granularity = 0.5 }
open = { type = "bool" }
day = { type = "date", lower = "2020-01-01", upper = "2020-12-31" }
[dataset.homes]
source = "homes.csv"
owner = "person"
max_rows_per_owner = 1
[dataset.homes.columns]
area = { type = "category", values = ["north", "south"] }
"#;

/// 240 visits of 40 people: many to one clinic, some without a value, some beyond the bounds.
fn write_tables(folder: &Path) {
    let mut visits = "person,clinic,ward,cost,open,day\n".to_string();
    for i in 0..240u32 {
        let clinic = ["a", "b", "c'\u{e9}", "d", ""][(i * 7 % 5) as usize];
        let (person, ward, day) = (i * i % 40, i % 4, 1 + i % 3);
        let cost = ["1.25", "30", "", "250", "-7", "99.9", "NaN"][(i * 3 % 7) as usize];
        visits.push_str(&format!("{person},{clinic},{ward},{cost},{},2020-02-0{day}\n", i % 3 == 0));
    }
    std::fs::write(folder.join("visits.csv"), visits).unwrap();
    let homes: Vec<String> = (0..40).map(|i| format!("{i},{}", ["north", "south", "mars"][i % 3])).collect();
    std::fs::write(folder.join("homes.csv"), format!("person,area\n{}\n", homes.join("\n"))).unwrap();
}

/// The statements on DataFusion with this many partitions.
fn by_windows(texts: &[String], folder: &Path, partitions: usize) -> Vec<Vec<RecordBatch>> {
    let backend = Backend::empty().unwrap();
    let mut config = SessionConfig::new().with_target_partitions(partitions);
    config.options_mut().sql_parser.parse_float_as_decimal = false;
    let mut context = SessionContext::new_with_config(config);
    context.register_expr_planner(Arc::new(DatetimeFunctionPlanner)).unwrap();
    context.register_udf(functions::sha256());
    backend.wait(async {
        use datafusion::arrow::datatypes::{Field, Schema};
        let field = |name: &str, kind: DataType| Field::new(name, kind, true);
        let visits = Schema::new(vec![
            field("person", DataType::Utf8),
            field("clinic", DataType::Utf8),
            field("ward", DataType::Int64),
            field("cost", DataType::Float64),
            field("open", DataType::Boolean),
            field("day", DataType::Date32),
        ]);
        let homes = Schema::new(vec![field("person", DataType::Utf8), field("area", DataType::Utf8)]);
        for (name, schema) in [("visits", &visits), ("homes", &homes)] {
            let path = folder.join(format!("{name}.csv")).display().to_string();
            context.register_csv(name, path, CsvReadOptions::new().schema(schema)).await.unwrap();
        }
        let mut all = Vec::new();
        for text in texts {
            let frame = context.sql(text).await.unwrap_or_else(|error| panic!("{error}\n{text}"));
            all.push(frame.collect().await.unwrap_or_else(|error| panic!("{error}\n{text}")));
        }
        all
    })
}

/// Each row as its key and its whole numbers.
fn table(batches: &[RecordBatch], keys: usize) -> BTreeMap<String, Vec<i128>> {
    let mut table = BTreeMap::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let value = |column: &ArrayRef| ScalarValue::try_from_array(column, row).unwrap();
            let key: Vec<ScalarValue> = batch.columns()[..keys].iter().map(value).collect();
            let number = |column: &ArrayRef| match value(column) {
                ScalarValue::Int64(Some(number)) => i128::from(number),
                ScalarValue::Decimal128(Some(number), _, 0) => number,
                other => panic!("{other:?} is not a whole number"),
            };
            table.insert(shown(&key), batch.columns()[keys..].iter().map(number).collect());
        }
    }
    table
}

fn shown(key: &[ScalarValue]) -> String {
    key.iter().map(|value| value.to_string()).collect::<Vec<_>>().join(" | ")
}

/// The cells of our one pass in which there is anything.
fn by_one_pass(found: &Integers) -> BTreeMap<String, Vec<i128>> {
    let cells = found.keys.iter().zip(&found.cells).map(|(key, cell)| (shown(key), cell.sums.clone()));
    cells.filter(|(_, sums)| sums.iter().any(|sum| *sum != 0)).collect()
}

fn check(bounds: &str, sql: &str) {
    let folder = tempfile::tempdir().unwrap();
    write_tables(folder.path());
    let text = PROJECT.replace("BOUNDS", bounds);
    let project = Project::parse(&folder.path().join("scumble.toml"), &text).unwrap();
    let planned = Backend::without_data(&project).unwrap();
    let cut = analyse(sql, Bounding::default(), &project, &planned).unwrap();
    let texts = with_secret(&cut, &project, TOLD).unwrap();
    let tables: Vec<String> = cut.below.tables.iter().cloned().collect();
    let backend = Backend::with_data(&project, &tables).unwrap();
    let with_data = analyse(sql, Bounding::default(), &project, &backend).unwrap();
    let found = integers(&with_data, &backend, Ranks::sha(TOLD)).unwrap();
    let keys = cut.query.keys.len();
    for partitions in [1, 3] {
        let answers = by_windows(&texts, folder.path(), partitions);
        let mut answers = answers.iter();
        if !cut.query.measures.is_empty() {
            let mut windows = table(answers.next().unwrap(), keys);
            windows.retain(|_, sums| sums.iter().any(|sum| *sum != 0));
            assert!(!windows.is_empty());
            assert_eq!(windows, by_one_pass(&found), "{bounds}\n{sql}\n{}", texts[0]);
        }
        for (index, ranked) in cut.query.ranked.iter().enumerate() {
            let windows = table(answers.next().unwrap(), keys + 1);
            let ours = found.keys.iter().zip(&found.cells).flat_map(|(key, cell)| {
                cell.ranked[index].iter().map(|(step, times)| {
                    let first = ranked.grid.steps(ranked.grid.lower);
                    let steps = ScalarValue::Int64(Some(scumble::mechanism::quantile::value(*step, first)));
                    (shown(&[key.clone(), vec![steps]].concat()), vec![i128::from(*times)])
                })
            });
            assert_eq!(windows, ours.collect(), "{bounds}\n{sql}");
        }
    }
}

const SOME_OF_EACH: &str = "max_rows_per_owner = 6\nmax_groups_per_owner = 2\nmax_rows_per_group = 3";
const ONE_OF_EACH: &str = "max_rows_per_owner = 2\nmax_groups_per_owner = 2\nmax_rows_per_group = 1";
const FEW_IN_ALL: &str = "max_rows_per_owner = 3";

#[test]
fn window_functions_give_the_integers_of_one_pass() {
    for bounds in [SOME_OF_EACH, ONE_OF_EACH, FEW_IN_ALL] {
        check(bounds, "SELECT clinic, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY clinic");
        check(
            bounds,
            "SELECT clinic, ward, COUNT(DISTINCT person) AS n, AVG(cost) AS s FROM visits GROUP BY clinic, ward",
        );
        check(
            bounds,
            "SELECT open, MAX(cost) AS b, COUNT(DISTINCT clinic) AS c FROM visits WHERE ward > 1 GROUP BY open",
        );
        check(bounds, "SELECT COUNT(*) AS n, VAR_POP(cost) AS v, MEDIAN(ward) AS m FROM visits");
        check(bounds, "SELECT day, clinic, SUM(cost) AS s, COUNT(DISTINCT ward) AS w FROM visits GROUP BY day, clinic");
    }
}

/// Found by the generator of adversarial queries: the text of `(NOT open) IS TRUE` was `NOT open IS TRUE`, which other
/// backends read as `NOT (open IS TRUE)`: true where `open` is NULL.
#[test]
fn a_nested_not_keeps_its_parentheses() {
    check(SOME_OF_EACH, "SELECT ward, COUNT(*) AS n FROM visits WHERE (NOT (cost > 30)) IS NOT FALSE GROUP BY ward");
    check(SOME_OF_EACH, "SELECT clinic, COUNT(NOT (cost > 30)) AS n FROM visits GROUP BY clinic");
    // A minus before a negative number was the beginning of a comment.
    check(SOME_OF_EACH, "SELECT clinic, SUM(-(-1)) AS n, SUM(-(-cost)) AS c FROM visits GROUP BY clinic");
}

/// Found by the generator: infinity was written as the name of a column.
#[test]
fn infinity_is_no_column() {
    check(
        SOME_OF_EACH,
        "SELECT clinic, COUNT(*) AS n FROM visits WHERE cost < TRY_CAST('inf' AS DOUBLE) GROUP BY clinic",
    );
    check(
        SOME_OF_EACH,
        "SELECT clinic, COUNT(*) AS n FROM visits WHERE cost < TRY_CAST('inf' AS REAL) GROUP BY clinic",
    );
}

/// Found by the generator: `TRUE <> (x IS NULL)` was written without its parentheses.
#[test]
fn what_stands_behind_its_operand_keeps_its_parentheses() {
    for condition in ["cost IS NULL", "cost IN (3, 30)", "cost BETWEEN 2 AND 30", "clinic LIKE 'e%'", "open IS TRUE"] {
        check(
            SOME_OF_EACH,
            &format!("SELECT ward, COUNT(*) AS n FROM visits WHERE TRUE <> ({condition}) GROUP BY ward"),
        );
        check(SOME_OF_EACH, &format!("SELECT clinic, COUNT(FALSE = ({condition})) AS n FROM visits GROUP BY clinic"));
    }
}

/// The writer left two quotes in a text as they were, which is a text with one.
#[test]
fn quotes_in_texts_are_written() {
    let keys = "CASE WHEN open THEN 'a''''b' WHEN ward = 1 THEN 'a''b' WHEN ward = 2 THEN '\\''' ELSE '''' END";
    check(SOME_OF_EACH, &format!("SELECT {keys} AS k, COUNT(*) AS n FROM visits GROUP BY 1"));
}

#[test]
fn joins_and_sub_queries_are_part_of_the_text() {
    check(
        SOME_OF_EACH,
        "SELECT h.area, COUNT(*) AS n FROM visits v JOIN homes h ON v.person = h.person WHERE v.cost > 2 GROUP BY h.area",
    );
    check(
        FEW_IN_ALL,
        "SELECT c, SUM(w) AS s FROM (SELECT clinic AS c, 2 * ward AS w FROM visits WHERE open) t GROUP BY c",
    );
}

#[test]
fn casts_and_keys_in_the_text_mean_what_they_mean_in_our_pass() {
    for sql in [
        "SELECT clinic, COUNT(*) AS n FROM visits WHERE CAST(ward * 60 AS TINYINT) > 0 GROUP BY clinic",
        "SELECT clinic, COUNT(*) AS n FROM visits WHERE (CAST(ward * 60 AS TINYINT) > 0) IS NULL GROUP BY clinic",
        "SELECT CASE WHEN open THEN '07' WHEN ward = 1 THEN 7 ELSE '7' END AS k, COUNT(*) AS n FROM visits GROUP BY 1",
        "SELECT clinic, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY clinic, 1, clinic || ''",
        "SELECT CAST(ward AS TINYINT) AS w, SUM(CASE WHEN open THEN 0 ELSE cost * 0.5 END) AS s FROM visits GROUP BY 1",
        "SELECT open, COUNT(DISTINCT cost) AS n FROM visits WHERE clinic < 'c' OR ward BETWEEN '1' AND 2.5 GROUP BY open",
        "SELECT open, COUNT(*) AS n FROM (SELECT open, COALESCE(ward, 1.5) AS w, clinic AS c FROM visits) t WHERE w IN (1, '2') GROUP BY open",
    ] {
        check(SOME_OF_EACH, sql);
    }
}

#[test]
fn the_text_names_the_window_functions_and_holds_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let text = PROJECT.replace("BOUNDS", FEW_IN_ALL);
    let project = Project::parse(&folder.path().join("scumble.toml"), &text).unwrap();
    let backend = Backend::without_data(&project).unwrap();
    let sql = "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic";
    let cut = analyse(sql, Bounding::default(), &project, &backend).unwrap();
    let texts = statements(&cut, &project).unwrap();
    assert_eq!(texts.len(), 1);
    let parts = [
        "'SECRET group '",
        "DENSE_RANK() OVER (PARTITION BY scumble_owner",
        "scumble_slot <= 3",
        "GROUP BY scumble_key_0",
    ];
    for part in parts {
        assert!(texts[0].contains(part), "{part}\n{}", texts[0]);
    }
}

#[test]
fn names_are_quoted_as_datafusion_quotes_them() {
    use datafusion::sql::unparser::dialect::{DefaultDialect, Dialect};
    let names = ["", "a", "_a1", "1a", "A", "aB", "a b", "a\"b", "ä", "id", "ID", "a\n", "scumble_key_0", "ſelect"];
    let keywords: Vec<String> =
        datafusion::sql::sqlparser::keywords::ALL_KEYWORDS.iter().map(|word| word.to_lowercase()).collect();
    for name in names.into_iter().chain(keywords.iter().map(String::as_str)) {
        let ours = Engine::Embedded.identifier_quote_style(name);
        assert_eq!(ours, DefaultDialect {}.identifier_quote_style(name), "{name}");
    }
}

/// The writer leaves a quote behind a backslash as it is: a name such as `a\"` ended early, and what followed it was
/// SQL chosen by the author of the name. BigQuery reads a backslash in a name as the beginning of another character,
/// and Spark replaces `${…}` wherever it stands.
#[test]
fn names_that_other_engines_would_read_otherwise_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = PROJECT.replace("BOUNDS", FEW_IN_ALL);
    let written = |text: &str, sql: &str, engine: Engine| {
        let project = Project::parse(&folder.path().join("scumble.toml"), text).unwrap();
        let backend = Backend::without_data(&project).unwrap();
        let cut = analyse(sql, Bounding::default(), &project, &backend).unwrap();
        job(&cut, &project, engine, "secret", |index| format!("mark_{index}")).map_err(|error| error.to_string())
    };
    let named = |name: &str| {
        format!("SELECT \"{name}\", COUNT(*) AS n FROM (SELECT clinic AS \"{name}\" FROM visits) t GROUP BY \"{name}\"")
    };
    let engines = [Engine::Postgres, Engine::DuckDb, Engine::Spark, Engine::BigQuery];
    for (name, refusing) in [
        ("a\\\"\" FROM homes --", &engines[..]),
        ("a\\b", &engines[..]),
        ("a`b", &engines[2..]),
        ("${env:HOME}", &engines[2..3]),
        ("plain", &[][..]),
        ("Two words", &[][..]),
    ] {
        for engine in engines {
            let came = written(&text, &named(name), engine);
            match refusing.contains(&engine) {
                true => assert!(came.unwrap_err().contains("called"), "{name} {engine:?}"),
                false => assert!(came.is_ok(), "{name} {engine:?}: {came:?}"),
            }
        }
    }
    // An expression without a name is called by all that is written in it.
    let unnamed = "SELECT COUNT(*) AS n FROM (SELECT clinic = 'a\\', ward FROM visits) t WHERE ward = 1";
    assert!(written(&text, unnamed, Engine::Postgres).is_err_and(|error| error.contains("called")));
    let declared = text.replace("clinic =", "'c\"\"d' =");
    let sql = "SELECT COUNT(*) AS n FROM visits WHERE \"c\"\"\"\"d\" = 'a'";
    assert!(written(&declared, sql, Engine::Postgres).is_err_and(|error| error.contains("called")));
    // In texts Spark's words for a dollar are written.
    let dollar = "SELECT COUNT(*) AS n FROM visits WHERE clinic = '${env:HOME}'";
    let spark = written(&text, dollar, Engine::Spark).unwrap().concat();
    assert!(spark.contains("'\\u0024{env:HOME}'") && !spark.contains("${"), "{spark}");
    assert!(written(&text, dollar, Engine::Postgres).unwrap().concat().contains("'${env:HOME}'"));
}
