use super::*;
use crate::postgres::bound::{bound, parameters};
use crate::postgres::parameter::Literal;
use crate::postgres::statement::{ClientStatement, asked};
use crate::service::{ColumnShown, ColumnType, DeclaredValue};
use std::collections::{BTreeMap, BTreeSet};

fn declared() -> Vec<TableShown> {
    let column = |name: &str, kind, declared: &[(&'static str, DeclaredValue)]| ColumnShown {
        name: name.into(),
        kind,
        declared: declared.iter().cloned().collect(),
        sensitive: name == "disease",
    };
    let sexes = DeclaredValue::List(vec!["f".into(), "m".into()]);
    let people = vec![
        column("age", ColumnType::Int, &[("lower", DeclaredValue::Whole(0)), ("upper", DeclaredValue::Whole(110))]),
        column("sex", ColumnType::Category, &[("values", sexes)]),
        column("disease", ColumnType::Category, &[]),
        column("income", ColumnType::Float, &[]),
        column("day", ColumnType::Date, &[]),
        column("seen", ColumnType::Timestamp, &[]),
        column("insured", ColumnType::Bool, &[]),
    ];
    let visits = vec![column("clinic", ColumnType::Category, &[])];
    let table =
        |name: &str, columns| TableShown { name: name.into(), owner: Some("id".into()), public: false, columns };
    vec![table("people", people), table("Visits 1", visits)]
}

fn statements(sql: &str) -> Vec<ClientStatement> {
    let tables: BTreeSet<String> = declared().into_iter().map(|table| table.name).collect();
    asked(sql, &tables).unwrap_or_else(|refused| panic!("{refused:?}:\n{sql}"))
}

fn answer_with(sql: &str, literals: &[Literal]) -> ResultTable {
    let (tables, settings) = (declared(), Settings::new("ann"));
    match statements(sql).remove(0) {
        ClientStatement::Catalogue(statement) => {
            let statement = bound(*statement, literals).unwrap();
            let answer = Catalogue::new(&tables, &settings).answer(&statement);
            answer.unwrap_or_else(|refused| panic!("{refused:?}:\n{sql}"))
        }
        other => panic!("{other:?}"),
    }
}

/// The rows as text, one line each.
fn shown(table: &ResultTable) -> String {
    let cell = |value: &CellValue| value.shown().unwrap_or_else(|| "-".into());
    let row = |row: &Vec<CellValue>| row.iter().map(cell).collect::<Vec<_>>().join("|");
    table.rows.iter().map(row).collect::<Vec<_>>().join("\n")
}

fn answer(sql: &str) -> String {
    shown(&answer_with(sql, &[]))
}

/// What psql, JDBC and SQLAlchemy asked a real server, each with the sum of its parts: nothing fails, and each row has
/// all columns.
#[test]
fn what_clients_ask_is_answered() {
    let all = include_str!("../../../../../testdata/postgres/catalogue.sql");
    let mut number = 0;
    for sql in all.split("\n---- ").skip(1).filter_map(|part| part.split_once('\n')).map(|(_, sql)| sql) {
        number += 1;
        let Some(ClientStatement::Catalogue(statement)) = statements(sql).pop() else { continue };
        let nulls = vec![Literal::Null; parameters(&statement).unwrap()];
        let table = answer_with(sql, &nulls);
        assert!(!table.columns.is_empty(), "{sql}");
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{sql}");
    }
    assert_eq!(number, 106);
}

#[test]
fn every_row_of_a_table_has_all_of_its_columns() {
    let (tables, settings) = (declared(), Settings::new("ann"));
    let world = Catalogue::new(&tables, &settings);
    let names = [
        "pg_namespace",
        "pg_class",
        "pg_attribute",
        "pg_type",
        "pg_database",
        "pg_roles",
        "pg_settings",
        "pg_tables",
        "pg_description",
        "pg_am",
        "information_schema.schemata",
        "information_schema.tables",
        "information_schema.columns",
    ];
    for name in names {
        let (schema, name) = name.split_once('.').map_or((None, name), |(schema, name)| (Some(schema), name));
        let table = tables::table(schema, name, &world);
        assert!(!table.rows.is_empty(), "{name}");
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{name}");
    }
}

/// The queries of psql's \dt, \d and tab completion, from its log.
#[test]
fn psql_sees_the_declared_tables() {
    let all = include_str!("../../../../../testdata/postgres/catalogue.sql");
    let asked: Vec<&str> =
        all.split("\n---- ").skip(1).filter_map(|part| part.split_once('\n')).map(|(_, sql)| sql).collect();
    let with = |part: &str| *asked.iter().find(|sql| sql.contains(part)).unwrap_or_else(|| panic!("{part}"));
    assert_eq!(answer(with("WHERE c.relkind IN ('r','p','')")), "public|Visits 1|table|ann\npublic|people|table|ann");
    assert_eq!(answer(with("OPERATOR(pg_catalog.~) '^(people)$'")), "16384|public|people");
    assert!(answer(with("c.relhastriggers, c.relrowsecurity")).starts_with("0|r|f|f|f|f|f|f|f||0||p|d|heap"));
    let columns = answer(with("SELECT a.attname,\n  pg_catalog.format_type"));
    let columns: Vec<&str> = columns.lines().collect();
    assert_eq!(columns[0], "age|bigint|-|f|-||");
    assert_eq!(columns[5], "seen|timestamp without time zone|-|f|-||");
    assert_eq!(columns.len(), 7);
    assert_eq!(answer(with("(c.relname) LIKE 'peo%'")), "people|-");
    assert_eq!(answer(with("LIKE pg_catalog.lower('scum%')")), "scumble.cost\nscumble.fresh");
    assert_eq!(answer(with("n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'")), "public|ann");
    assert_eq!(answer(with("SELECT datname FROM pg_catalog.pg_database")), "scumble");
    assert_eq!(
        answer(with("pg_catalog.col_description(a.attrelid, a.attnum)")).lines().nth(2).unwrap().rsplit('|').next(),
        Some("category, sensitive")
    );
}

/// What JDBC's DatabaseMetaData.getColumns and getTables ask.
#[test]
fn drivers_see_columns_in_their_order() {
    let all = include_str!("../../../../../testdata/postgres/catalogue.sql");
    let asked: Vec<&str> =
        all.split("\n---- ").skip(1).filter_map(|part| part.split_once('\n')).map(|(_, sql)| sql).collect();
    let with = |part: &str| *asked.iter().find(|sql| sql.contains(part)).unwrap();
    let columns = answer(with("row_number() OVER (PARTITION BY a.attrelid"));
    assert!(columns.lines().next().unwrap().starts_with("public|people|age|20|f|-1|8|-1|1|"), "{columns}");
    assert_eq!(columns.lines().count(), 7);
    assert!(
        answer(with("AS TABLE_CAT, n.nspname AS TABLE_SCHEM, c.relname AS TABLE_NAME"))
            .contains("public|people|TABLE|")
    );
    assert_eq!(answer(with("SELECT nspname AS TABLE_SCHEM")), "information_schema|-\npg_catalog|-\npublic|-");
}

#[test]
fn a_small_language_is_enough() {
    for (sql, expected) in [
        ("SELECT 1, 'a', true, NULL, 1.5", "1|a|t|-|1.5"),
        ("SELECT 1 + 2 * 3, 7 / 2, 7 % 2, -(3), 2 = 2.0", "7|3|1|-3|t"),
        ("SELECT 'a' || 'b', NULL || 'b', NULL = NULL, NULL IS NULL", "ab|-|-|t"),
        ("SELECT 1 WHERE false", ""),
        ("SELECT CASE WHEN 1 > 2 THEN 'x' ELSE 'y' END, CASE 3 WHEN 3 THEN 'z' END", "y|z"),
        (
            "SELECT 'abc' LIKE 'a%', 'abc' LIKE 'a_c', 'a%c' LIKE 'a\\%c', 'abc' NOT LIKE '%x%', 'ABC' ILIKE 'abc', 'a/b' LIKE 'a//b' ESCAPE '/'",
            "t|t|t|t|t|t",
        ),
        ("SELECT 'people' ~ '^(people)$', 'people' !~ '^pg_', 'PEOPLE' ~* 'people'", "t|t|t"),
        ("SELECT 2 IN (1, 2), 3 NOT IN (1, 2), 1 = ANY(ARRAY[1, 2]), 'a' = ANY('{a,b}')", "t|t|t|t"),
        (
            "SELECT current_database(), current_user, current_schema(), (current_schemas(true))[1]",
            "scumble|ann|public|pg_catalog",
        ),
        (
            "SELECT 'people'::regclass::oid, 16384::regclass, 'int8'::regtype::oid, 20::regtype",
            "16384|people|20|bigint",
        ),
        ("SELECT COUNT(*), min(relname), max(relname) FROM pg_class", "2|Visits 1|people"),
        ("SELECT relkind, count(*) FROM pg_class GROUP BY relkind", "r|2"),
        ("SELECT COUNT(*) FROM pg_index", "0"),
        ("SELECT nspname FROM pg_namespace ORDER BY oid DESC LIMIT 1 OFFSET 1", "public"),
        ("SELECT DISTINCT relkind FROM pg_class", "r"),
        ("SELECT 1 UNION ALL SELECT 1 UNION SELECT 2 ORDER BY 1", "1\n2"),
        ("WITH a AS (SELECT 1 AS n UNION ALL SELECT 2) SELECT sum(n) FROM a", "3"),
        ("SELECT a.n FROM (VALUES (1), (2)) AS a(n) WHERE EXISTS (SELECT 1 WHERE a.n = 2)", "2"),
        ("SELECT s.r FROM generate_series(1, 3) AS s(r)", "1\n2\n3"),
        ("SELECT x FROM unnest(ARRAY['a','b']) x", "a\nb"),
        (
            "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = 'people'",
            "public",
        ),
        (
            "SELECT c.relname, i.indexrelid FROM pg_class c LEFT JOIN pg_index i ON i.indrelid = c.oid ORDER BY 1",
            "Visits 1|-\npeople|-",
        ),
        ("SELECT no_such_function(1), pg_catalog.pg_table_size(16384)", "-|-"),
        ("SELECT table_name, column_name FROM information_schema.columns WHERE data_type = 'bigint'", "people|age"),
        (
            "SELECT array_to_string(ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = 16384 AND attnum < 3), ',')",
            "age,sex",
        ),
        (
            "SELECT substring('abc' from 2 for 1), lower('A'), coalesce(NULL, 'b'), nullif(1, 1), quote_ident('Visits 1')",
            "b|a|b|-|\"Visits 1\"",
        ),
    ] {
        assert_eq!(answer(sql), expected, "{sql}");
    }
}

/// Forty tables of forty columns: what drivers ask about all of them at once is found by numbers and not by trying all
/// combinations.
#[test]
fn many_tables_are_not_too_many() {
    let column = |index: usize| ColumnShown {
        name: format!("c{index}"),
        kind: ColumnType::Int,
        declared: BTreeMap::new(),
        sensitive: false,
    };
    let table = |index: usize| TableShown {
        name: format!("t{index:02}"),
        owner: None,
        public: false,
        columns: (0..40).map(column).collect(),
    };
    let (tables, settings): (Vec<TableShown>, _) = ((0..40).map(table).collect(), Settings::new("ann"));
    let all = include_str!("../../../../../testdata/postgres/catalogue.sql");
    let mut number = 0;
    for sql in all.split("\n---- ").skip(1).filter_map(|part| part.split_once('\n')).map(|(_, sql)| sql) {
        let sql = sql.replace("c.relname LIKE 'people'", "true");
        let Some(ClientStatement::Catalogue(statement)) = statements(&sql).pop() else { continue };
        let nulls = vec![Literal::Null; parameters(&statement).unwrap()];
        let answer = Catalogue::new(&tables, &settings).answer(&bound(*statement, &nulls).unwrap());
        let rows = answer.unwrap_or_else(|refused| panic!("{refused:?}:\n{sql}")).rows.len();
        number += usize::from(sql.contains("row_number() OVER (PARTITION BY a.attrelid") && rows == 1600);
    }
    assert_eq!(number, 1);
}

#[test]
fn columns_have_names_and_types() {
    let table = answer_with(
        "SELECT 1, relname, oid AS \"OID\", count(*), relkind::text, 1 > 2 AS Truth, now() FROM pg_class GROUP BY 2",
        &[],
    );
    let columns: Vec<(&str, u32)> =
        table.columns.iter().map(|column| (column.name.as_str(), column.kind.oid())).collect();
    let expected =
        [("?column?", 23), ("relname", 19), ("OID", 26), ("count", 20), ("relkind", 25), ("truth", 16), ("now", 1114)];
    assert_eq!(columns, expected);
}

#[test]
fn a_query_that_takes_too_long_is_refused() {
    let (tables, settings) = (declared(), Settings::new("ann"));
    let sql = "SELECT count(*) FROM pg_type a, pg_type b, pg_type c, pg_type d, pg_type e WHERE a.oid + b.oid + c.oid + d.oid + e.oid = 0";
    let ClientStatement::Catalogue(statement) = statements(sql).remove(0) else { panic!() };
    assert_eq!(Catalogue::new(&tables, &settings).answer(&statement).unwrap_err().code, "54000");
    // Texts that double with each step, long texts in many rows, patterns that are long.
    let mut doubling = "WITH a0 AS (SELECT 'aaaaaaaaaaaaaaaa' AS x)".to_string();
    (1..30).for_each(|step| doubling.push_str(&format!(", a{step} AS (SELECT x || x AS x FROM a{})", step - 1)));
    let long = "a".repeat(90_000);
    for sql in [
        format!("{doubling} SELECT x FROM a29"),
        format!("SELECT '{long}' FROM pg_type a, pg_type b, pg_type c"),
        format!("SELECT * FROM (SELECT '{long}' AS x) a, pg_type b, pg_type c"),
        format!("SELECT '{}' LIKE '%{}b'", &long[..45_000], &long[..45_000]),
        format!("SELECT replace('{0}', 'a', '{0}')", &long[..40_000])
            + " || replace('a', 'a', 'b') FROM generate_series(1, 9999) x, pg_type y, pg_type z",
    ] {
        let ClientStatement::Catalogue(statement) = statements(&sql).remove(0) else { panic!() };
        assert_eq!(Catalogue::new(&tables, &settings).answer(&statement).unwrap_err().code, "54000", "{}", &sql[..60]);
    }
    let ClientStatement::Catalogue(statement) = statements("SELECT nothing").remove(0) else { panic!() };
    assert_eq!(Catalogue::new(&tables, &settings).answer(&statement).unwrap_err().code, "42703");
}

/// The refusal of a query, and how much was paid for it.
fn refusal(sql: &str) -> SqlError {
    let (tables, settings) = (declared(), Settings::new("ann"));
    match statements(sql).remove(0) {
        ClientStatement::Catalogue(statement) => Catalogue::new(&tables, &settings).answer(&statement).unwrap_err(),
        other => panic!("{other:?}"),
    }
}

/// A viewer's query of 244 bytes took all memory: each `SELECT *, *` over another doubles its columns, and neither
/// columns nor cells were paid for.
#[test]
fn columns_and_cells_are_paid_for_before_they_are_made() {
    let stars =
        (0..12).fold("SELECT * FROM pg_type".to_string(), |inner, _| format!("SELECT *,*,*,*,* FROM ({inner}) a"));
    assert_eq!(refusal(&stars).code, code::TOO_MUCH);
    let wide = format!("SELECT {}", vec!["1"; MOST_COLUMNS + 1].join(","));
    assert!(refusal(&wide).sentence.contains("at most 1664 columns"));
    // As many columns as there may be, and many rows.
    let many = vec!["*"; 800].join(",");
    let rows = format!("SELECT {many} FROM generate_series(1, 10000) a, generate_series(1, 2) b");
    assert_eq!(refusal(&rows).code, code::TOO_MUCH);
    let few = format!("SELECT {many} FROM generate_series(1, 10000) a");
    assert_eq!(refusal(&few).code, code::TOO_MUCH);
    let names = format!("SELECT {} FROM (SELECT 1 AS \"{}\") a", vec!["*"; 1_600].join(","), "n".repeat(60_000));
    assert_eq!(refusal(&names).code, code::TOO_MUCH);
    // Narrow rows beside a wide one, copies of a common table, and one key many times.
    let one = vec!["1"; 1_600].join(",");
    let union = format!("SELECT {one} UNION ALL SELECT a FROM generate_series(1, 10000) a");
    assert_eq!(refusal(&union).code, code::TOO_MUCH);
    let copies = (0..20).map(|index| format!("a AS a{index}(x{index})")).collect::<Vec<_>>().join(", ");
    let text = "repeat".repeat(1_000);
    let common =
        format!("WITH a AS (SELECT '{text}' || x FROM generate_series(1, 1000) x) SELECT 1 FROM {copies} WHERE false");
    assert_eq!(refusal(&common).code, code::TOO_MUCH);
    let keys = vec!["1"; 2_000].join(",");
    let sorted = format!("SELECT '{text}' || x FROM generate_series(1, 1000) x ORDER BY {keys}");
    assert_eq!(refusal(&sorted).code, code::TOO_MUCH);
}

/// Texts were joined before they were weighed, and a list in a list doubled its backslashes with each level: 2 to the
/// power of their number.
#[test]
fn texts_are_weighed_before_they_are_joined() {
    let doubled =
        (0..40).fold("SELECT 'abcdefgh' AS a".to_string(), |inner, _| format!("SELECT a || a AS a FROM ({inner}) t"));
    let shorter =
        (0..15).fold("SELECT 'abcdefgh' AS a".to_string(), |inner, _| format!("SELECT a || a AS a FROM ({inner}) t"));
    assert_eq!(answer(&shorter).len(), 8 << 15);
    // The parser nests only so many; each level more doubles.
    let (tables, settings) = (declared(), Settings::new("ann"));
    let names: BTreeSet<String> = BTreeSet::new();
    if let Ok(all) = asked(&doubled, &names) {
        let ClientStatement::Catalogue(statement) = &all[0] else { panic!() };
        assert_eq!(Catalogue::new(&tables, &settings).answer(statement).unwrap_err().code, code::TOO_MUCH);
    }
    let long = "x".repeat(60_000);
    for joined in [
        format!("SELECT string_agg('{long}', ',') FROM generate_series(1, 100) x"),
        format!("SELECT string_agg('', '{long}') FROM generate_series(1, 10000) x"),
        format!("SELECT array_to_string(array_agg(x), '{long}') FROM generate_series(1, 10000) x"),
        format!("SELECT concat({})", vec!["a"; 40].join(", ")) + &format!(" FROM (SELECT '{long}' AS a) t"),
        format!("SELECT string_to_array('{}', ',')", ",".repeat(90_000)),
        format!("SELECT '{}'::text[]", ",".repeat(90_000)),
    ] {
        assert_eq!(refusal(&joined).code, code::TOO_MUCH, "{joined:.60}");
    }
    let steps = (1..20).map(|step| format!(", a{step} AS (SELECT ARRAY[x] AS x FROM a{})", step - 1));
    let shown = answer(&format!("WITH a0 AS (SELECT ARRAY['\"'] AS x){} SELECT x FROM a19", steps.collect::<String>()));
    assert_eq!(shown, format!("{}\"\\\"\"{}", "{".repeat(20), "}".repeat(20)));
}

/// A sum of the catalogue's numbers panicked where it passed the largest one.
#[test]
fn a_sum_that_does_not_fit_is_refused() {
    let sql = "SELECT sum(x) FROM (SELECT 9223372036854775807 AS x UNION ALL SELECT 1) t";
    assert_eq!(refusal(sql).code, code::OUT_OF_RANGE);
    assert_eq!(
        answer("SELECT sum(x) FROM (SELECT 9223372036854775807 AS x UNION ALL SELECT -1) t"),
        "9223372036854775806"
    );
    assert_eq!(answer("SELECT sum(x) FROM generate_series(1, 4) x"), "10");
}

/// A short pattern can take long to read, and was read again for each row.
#[test]
fn a_pattern_is_read_once_and_stays_small() {
    assert_eq!(answer("SELECT 'people' ~ '^(pe|x)', 'PEOPLE' ~* 'eop', 'a' !~ 'b', 'a' ~ '('"), "t|t|t|-");
    assert_eq!(answer("SELECT count(*) FROM generate_series(1, 9999) x WHERE 'aaaa' ~ 'a{9}{9}{9}{9}{9}'"), "0");
    assert_eq!(
        refusal("SELECT count(*) FROM generate_series(1, 9999) x WHERE 'aaaa' ~ ('a' || x)").code,
        code::TOO_MUCH
    );
}

/// 900,000 rows without columns weighed nothing, and neither a row nor a NULL what it takes.
#[test]
fn rows_weigh_something_whatever_they_hold() {
    let table = |cells: Vec<CellValue>| ResultTable { columns: Vec::new(), rows: vec![cells; 1_000] };
    assert!(weight(&table(Vec::new())) >= 64_000);
    assert!(weight(&table(vec![CellValue::Null])) >= 100_000);
    assert!(weight(&table(vec![CellValue::text("x".repeat(1_000))])) >= 1_000_000);
    for columns in ["q.*", ""] {
        let sql = format!("SELECT {columns} FROM generate_series(1, 10000) x, generate_series(1, 90) y");
        assert_eq!(refusal(&sql).code, code::TOO_MUCH, "{columns}");
    }
    // One result has a bound of its own.
    let sentence = refusal(&format!("SELECT '{}' || x FROM generate_series(1, 9000) x", "y".repeat(900))).sentence;
    assert!(sentence.contains("at most 8388608 bytes"), "{sentence}");
    assert_eq!(answer("SELECT FROM generate_series(1, 3) x"), "\n\n");
}

/// A name was looked for in up to 24 tables of 1,664 columns for one unit of work; what makes rows the same, and what
/// USING compares, cost nothing.
#[test]
fn what_is_looked_through_is_paid_for() {
    let wide = format!("(SELECT {}) ", vec!["1 AS a"; 1_600].join(","));
    let wide = (0..8).map(|index| format!("{wide} w{index}")).collect::<Vec<_>>().join(", ");
    // Each row looks through 12,800 names for one that is not there, several times.
    let sql = format!("SELECT {} FROM {wide}, generate_series(1, 2000) x", vec!["b"; 20].join(","));
    assert_eq!(refusal(&sql).code, code::TOO_MUCH);
    let spent = |sql: &str| {
        let (tables, settings) = (declared(), Settings::new("ann"));
        let ClientStatement::Catalogue(statement) = statements(sql).remove(0) else { panic!() };
        let world = Catalogue::new(&tables, &settings);
        world.answer(&statement).unwrap();
        world.work.get()
    };
    let text = "x".repeat(4_000);
    let rows = format!("SELECT '{text}' AS a FROM generate_series(1, 100) x");
    let (all, distinct) = (spent(&rows), spent(&rows.replacen("SELECT", "SELECT DISTINCT", 1)));
    assert!(distinct > all + 100 * 4_000 / 32, "{all} {distinct}");
    let (both, except) = (spent(&format!("{rows} UNION ALL {rows}")), spent(&format!("{rows} EXCEPT ALL {rows}")));
    assert!(except > both + 2 * 100 * 4_000 / 64, "{both} {except}");
    let using = spent(&format!("WITH t AS ({rows}) SELECT 1 FROM t JOIN t u USING (a)"));
    assert!(using > 100 * 100 * 2 * 4_000 / 64, "{using}");
}

/// The story: a client that cancelled got its reply, and the thread went on working.
#[test]
fn a_query_that_was_cancelled_ends() {
    let (tables, settings) = (declared(), Settings::new("ann"));
    let ClientStatement::Catalogue(statement) = statements("SELECT 1 FROM generate_series(1, 10) x").remove(0) else {
        panic!()
    };
    let stop = Arc::new(AtomicBool::new(true));
    let refused = Catalogue::new(&tables, &settings).until(Arc::clone(&stop)).answer(&statement).unwrap_err();
    assert_eq!(refused.code, code::CANCELLED);
    stop.store(false, std::sync::atomic::Ordering::Relaxed);
    assert!(Catalogue::new(&tables, &settings).until(stop).answer(&statement).is_ok());
}

/// Sorting by what is now a text, now a number and now a list panicked: the order was none.
#[test]
fn whatever_is_sorted_has_an_order() {
    let mixed = "CASE x % 5 WHEN 0 THEN 'b' || x WHEN 1 THEN x WHEN 2 THEN ARRAY[x] WHEN 3 THEN x > 50 ELSE 'Infinity'::float8 - x END";
    let sql = format!("SELECT x FROM generate_series(1, 3000) x ORDER BY {mixed}, x DESC");
    assert_eq!(answer(&sql).lines().count(), 3_000);
    let values = [
        CellValue::Whole(1 << 53),
        CellValue::Whole((1 << 53) + 1),
        CellValue::Number((1u64 << 53) as f64),
        CellValue::Number(f64::NAN),
        CellValue::Null,
        CellValue::text("1"),
        CellValue::Truth(true),
        CellValue::List(vec![CellValue::Whole(1), CellValue::text("a")]),
        CellValue::List(vec![CellValue::Whole(1)]),
    ];
    for (left, right) in values.iter().flat_map(|left| values.iter().map(move |right| (left, right))) {
        assert_eq!(operator::ordered(left, right), operator::ordered(right, left).reverse(), "{left:?} {right:?}");
        for third in &values {
            let le = |left: &CellValue, right: &CellValue| operator::ordered(left, right).is_le();
            assert!(!(le(left, right) && le(right, third)) || le(left, third), "{left:?} {right:?} {third:?}");
        }
    }
}
