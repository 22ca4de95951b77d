//! Which keys can occur, against tables that hold every row there can be: the keys that are listed are those that are
//! found there.

use crate::sql::tests::TableFolder;
use std::collections::BTreeSet;
use std::fmt::Write;

const PROJECT: &str = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
age = { type = "int", lower = 0, upper = 12 }
sex = { type = "category", values = ["m", "f"] }
ill = { type = "bool" }
pay = { type = "float", lower = 0, upper = 3 }
wide = { type = "int", lower = -1000000, upper = 1000000 }
state = { type = "category" }

[dataset.visits]
source = "visits.csv"
owner = "id"
max_rows_per_owner = 1000
[dataset.visits.columns]
ward = { type = "int", lower = 1, upper = 4 }
clinic = { type = "category", values = ["a", "b", "c"] }

[dataset.wards]
source = "wards.csv"
public = true
[dataset.wards.columns]
number = { type = "int", lower = 3, upper = 6 }
floor = { type = "category", values = ["low", "high"] }
"#;

/// Every combination of the short columns, NULL included; the others take some values, and all of these occur beside
/// each combination.
fn every_row() -> TableFolder {
    all_rows(true)
}

/// The same, with or without wards: a left join finds partners for all rows or for none.
fn all_rows(with_wards: bool) -> TableFolder {
    let mut people = String::from("age,sex,ill,pay,wide,state\n");
    let ages: Vec<String> = (0..=12).map(|age| age.to_string()).chain([String::new()]).collect();
    for age in &ages {
        for sex in ["m", "f", ""] {
            for ill in ["true", "false", ""] {
                for (pay, wide) in [("0", "-1000000"), ("1.25", "0"), ("3", "1000000"), ("", "")] {
                    writeln!(people, "{age},{sex},{ill},{pay},{wide},s").unwrap();
                }
            }
        }
    }
    let (mut visits, mut wards) = (String::from("id,ward,clinic\n"), String::from("number,floor\n"));
    for ward in ["1", "2", "3", "4", ""] {
        for clinic in ["a", "b", "c", ""] {
            // An owner for each row: rows of one owner are bounded by groups.
            writeln!(visits, "{ward}{clinic},{ward},{clinic}").unwrap();
        }
    }
    for number in ["3", "4", "5", "6", ""].into_iter().filter(|_| with_wards) {
        ["low", "high", ""].iter().for_each(|floor| writeln!(wards, "{number},{floor}").unwrap());
    }
    TableFolder::of(PROJECT, &[("people.csv", &people), ("visits.csv", &visits), ("wards.csv", &wards)])
}

/// The keys that are listed, and those that have rows.
fn listed_and_found(tables: &TableFolder, sql: &str) -> (Vec<String>, BTreeSet<String>) {
    let cut = tables.cut(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    assert!(cut.query.public.is_some(), "not listed: {sql}");
    let integers = tables.integers(&cut).unwrap();
    let shown = |key: &Vec<_>| key.iter().map(ToString::to_string).collect::<Vec<_>>().join("|");
    let found = integers.keys.iter().zip(&integers.cells).filter(|(_, cell)| cell.sums[0] > 0);
    (integers.keys.iter().map(shown).collect(), found.map(|(key, _)| shown(key)).collect())
}

/// Keys whose columns are all short: the listed keys are exactly those that occur.
const EXACT: [&str; 34] = [
    "age / 10 * 10 FROM people",
    "age % 3 FROM people",
    "-age FROM people",
    "age * age FROM people",
    "age, age / 5 FROM people",
    "age / 5, age / 3, ill FROM people",
    "age / 5, sex FROM people",
    "sex FROM people WHERE sex <> 'm'",
    "sex FROM people WHERE sex IN ('f', 'x')",
    "sex, age / 6 FROM people WHERE sex = 'm' OR age < 3",
    "age FROM people WHERE age BETWEEN 3 AND 5",
    "age FROM people WHERE age > 3 AND (ill OR age < 6) AND NOT ill",
    "COALESCE(age, -1) FROM people WHERE age IS NULL",
    "COALESCE(age, -1), ill IS NULL FROM people WHERE ill IS NOT TRUE",
    "CASE WHEN age < 3 THEN 'young' WHEN age < 20 THEN 'older' ELSE 'unknown' END FROM people",
    "CASE WHEN age > 50 THEN 'old' ELSE 'not' END FROM people",
    "CASE sex WHEN 'f' THEN 1 WHEN 'm' THEN age END FROM people",
    "CAST(age AS VARCHAR) FROM people",
    "CAST(sex AS INT) IS NULL FROM people",
    "CAST(age * 20 AS TINYINT) FROM people",
    "UPPER(sex) || CAST(ill AS VARCHAR) FROM people",
    "NULLIF(age, 5) FROM people",
    "LEAST(age, 4), GREATEST(age, 4) FROM people",
    "ill, NOT ill FROM people",
    "ill IS NULL, sex FROM people WHERE ill OR sex LIKE 'f%'",
    "1 + 1 FROM people",
    "k FROM (SELECT age / 4 AS k, sex FROM people WHERE age > 3) AS s WHERE sex = 'f' AND k < 3",
    "k, older FROM (SELECT age / 4 AS k, age + 1 AS older FROM people) AS s",
    "clinic, ward * 2 FROM visits WHERE ward > 2",
    "v.ward FROM visits v JOIN wards w ON v.ward = w.number",
    "v.ward, w.number, w.floor FROM visits v JOIN wards w ON v.ward = w.number",
    "v.ward, COALESCE(w.floor, 'none') FROM visits v LEFT JOIN wards w ON v.ward = w.number",
    "v.ward, COALESCE(w.k, -1) FROM visits v LEFT JOIN (SELECT number, COALESCE(number, 9) AS k FROM wards WHERE number > 3) w ON v.ward = w.number",
    "w.floor FROM visits v JOIN wards w ON v.ward = w.number AND w.floor = 'low'",
];

#[test]
fn the_keys_that_are_listed_are_those_that_occur() {
    let (tables, without) = (every_row(), all_rows(false));
    for tail in EXACT {
        let (keys, rest) = tail.split_once(" FROM ").unwrap();
        let places = (1..=columns_of(keys)).map(|place| place.to_string()).collect::<Vec<_>>().join(", ");
        let sql = format!("SELECT {keys}, COUNT(*) AS n FROM {rest} GROUP BY {places}");
        let (listed, mut found) = listed_and_found(&tables, &sql);
        found.extend(listed_and_found(&without, &sql).1);
        let once: BTreeSet<String> = listed.iter().cloned().collect();
        assert_eq!(once.len(), listed.len(), "a key twice: {sql}");
        assert_eq!(once, found, "{sql}");
        assert!(!found.is_empty(), "{sql}");
    }
}

/// How many expressions a list has: commas outside of parentheses, and one.
fn columns_of(list: &str) -> usize {
    let mut depth = 0;
    let commas = list.chars().filter(|letter| {
        depth += match letter {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        *letter == ',' && depth == 0
    });
    commas.count() + 1
}

#[test]
fn keys_come_in_order() {
    let tables = every_row();
    let keys = |sql: &str| listed_and_found(&tables, sql).0.join(" ");
    assert_eq!(keys("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"), "m f");
    assert_eq!(keys("SELECT -age / 5, COUNT(*) AS n FROM people GROUP BY 1"), "-2 -1 0");
    assert_eq!(keys("SELECT sex, ill, COUNT(*) AS n FROM people GROUP BY 1, 2"), "m|false m|true f|false f|true");
    let by_two = "SELECT age / 5, sex, age / 10, COUNT(*) AS n FROM people GROUP BY 1, 2, 3";
    assert_eq!(keys(by_two), "0|m|0 0|f|0 1|m|0 1|f|0 2|m|1 2|f|1");
}

/// What reads a column without end is one of few values itself, or is not listed.
#[test]
fn parts_with_few_values_are_tried_out() {
    let tables = every_row();
    let keys = |select: &str| {
        let sql = format!("SELECT {select}, COUNT(*) AS n FROM people GROUP BY 1");
        let (listed, found) = listed_and_found(&tables, &sql);
        assert!(found.iter().all(|key| listed.contains(key)), "{sql}: {found:?} in {listed:?}");
        listed.join(" ")
    };
    assert_eq!(keys("CASE WHEN pay > 1 THEN 'high' ELSE 'low' END"), "low high");
    assert_eq!(keys("CASE WHEN pay > 1 THEN age / 6 * 6 ELSE -1 END"), "-1 0 6 12");
    assert_eq!(keys("CAST(pay AS INT) * 100"), "0 100 200 300");
    assert_eq!(keys("wide / 500000 * 5"), "-10 -5 0 5 10");
    assert_eq!(keys("CASE WHEN pay IS NULL THEN 'no' ELSE 'yes' END"), "yes no");
    let same =
        "SELECT CASE WHEN pay > 1 THEN 'high' ELSE 'low' END, COUNT(*) AS n FROM people WHERE pay > 1 GROUP BY 1";
    assert_eq!(listed_and_found(&tables, same).0, ["high"]);
    for unlisted in ["state", "wide", "wide / 10", "UPPER(state)", "sex || state"] {
        let cut = tables.cut(&format!("SELECT {unlisted}, COUNT(*) AS n FROM people GROUP BY 1")).unwrap();
        assert!(cut.query.public.is_none() && cut.query.cells().is_none(), "{unlisted}");
    }
}

/// Conditions that no row can pass leave no group, or one number that is 0 and noise: a mistake, and costs nothing.
#[test]
fn a_query_without_possible_groups_is_refused() {
    let tables = every_row();
    let refusal = |sql: &str| tables.cut(sql).err().unwrap_or_else(|| panic!("accepted: {sql}")).to_string();
    for tail in ["WHERE age > 12", "WHERE age < 3 AND age > 5", "WHERE sex = 'x'", "WHERE pay > 1 AND NOT pay > 1"] {
        for sql in [
            format!("SELECT sex, COUNT(*) AS n FROM people {tail} GROUP BY sex"),
            format!("SELECT COUNT(*) AS n FROM people {tail}"),
        ] {
            let refusal = refusal(&sql);
            assert!(refusal.contains("true of no row"), "{sql}: {refusal}");
        }
    }
    // A condition on no column may stand for a parameter whose value comes later.
    let refusal = refusal("SELECT sex, COUNT(*) AS n FROM people WHERE FALSE GROUP BY sex");
    assert!(refusal.contains("change the condition or the domains"), "{refusal}");
    tables.cut("SELECT COUNT(*) AS n FROM people WHERE FALSE").unwrap();
}

/// Too many combinations to be tried: what is listed is more than occurs, and never less.
#[test]
fn too_many_combinations_are_not_tried_together() {
    let columns: String =
        (0..12).map(|index| format!("c{index} = {{ type = \"int\", lower = 0, upper = 9 }}\n")).collect();
    let project = format!("[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\n{columns}");
    let header: Vec<String> = (0..12).map(|index| format!("c{index}")).collect();
    let rows = format!("{}\n{}\n", header.join(","), ["3"; 12].join(","));
    let tables = TableFolder::of(&project, &[("t.csv", &rows)]);
    let sum = header.join(" + ");
    let (listed, found) = listed_and_found(&tables, &format!("SELECT {sum}, COUNT(*) AS n FROM t GROUP BY 1"));
    assert_eq!((listed.len(), found.len()), (109, 1));
    let condition = header.join(" < 4 OR ");
    let both = format!("SELECT c0 / 5, c0, COUNT(*) AS n FROM t WHERE c0 < 3 OR {condition} < 4 GROUP BY 1, 2");
    assert_eq!(listed_and_found(&tables, &both).0.len(), 10);
}

/// Rows without a key are in no group: that they can exist is known exactly where all combinations were tried.
#[test]
fn which_keys_can_be_missing() {
    let tables = every_row();
    let missing = |select: &str, tail: &str| {
        let sql = format!("SELECT {select}, COUNT(*) AS n FROM people {tail} GROUP BY 1");
        let cut = tables.cut(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let key = &cut.query.keys[0];
        (key.name.clone(), key.can_be_missing)
    };
    assert_eq!(missing("sex", ""), ("sex".to_string(), true));
    assert_eq!(missing("COALESCE(sex, '?')", ""), ("coalesce(people.sex,Utf8(\"?\"))".to_string(), false));
    assert!(!missing("sex", "WHERE sex = 'm'").1);
    assert!(missing("sex", "WHERE age > 3").1);
    assert!(!missing("age / 5", "WHERE age > 3").1);
    assert!(missing("CASE WHEN age > 3 THEN 'old' END", "").1);
    assert!(!missing("CASE WHEN age > 3 THEN 'old' ELSE 'other' END", "").1);
    assert!(!missing("pay > 1 IS TRUE", "").1);
    assert!(missing("pay > 1", "").1);
}
