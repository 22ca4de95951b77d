//! No text ends the process, however deep it is. One free plan, `CAST(NULL AS INT[][]…)` of 65 kB, ended the server for
//! everybody: a stack that overflows is caught by nobody.
//!
//! Texts are made of every rule of the parser's grammar that can stand inside itself or behind itself, up to the
//! longest query that is read. They are planned in a child process, which a stack that overflows would end: that is a
//! failed test here, and not a dead suite.

use crate::support::{Folder, effort};
use scumble_engine::project::{Project, Request};
use scumble_engine::release::Runner;
use std::process::Command;

const PROJECT: &str = "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\nage = { type = \"int\", lower = 0, upper = 100 }\nname = { type = \"category\" }\n[budget]\nperson = { epsilon = 1 }\n";

/// In the child: where the project is, and which texts it plans.
const FOLDER: &str = "SCUMBLE_NESTED_FOLDER";
const SEED: &str = "SCUMBLE_NESTED_SEED";

/// Rules as what opens a level and what closes it. In the place of the inside comes the next level, or an operand.
const INSIDE: [(&str, &str); 58] = [
    ("(", ")"),
    ("((", "))"),
    ("NOT ", ""),
    ("- ", ""),
    ("+", ""),
    ("~ ", ""),
    ("@ ", ""),
    ("|/ ", ""),
    ("!! ", ""),
    ("PRIOR ", ""),
    ("CAST(", " AS INT)"),
    ("TRY_CAST(", " AS INT)"),
    ("CONVERT(", ", INT)"),
    ("CASE WHEN ", " THEN 1 END"),
    ("CASE ", " WHEN 1 THEN 2 END"),
    ("CASE 1 WHEN 1 THEN ", " ELSE 2 END"),
    ("CASE WHEN a THEN CASE WHEN b THEN 1 ELSE ", " END END"),
    ("COALESCE(1, ", ")"),
    ("f(", ")"),
    ("f(a => ", ")"),
    ("f(DISTINCT ", " ORDER BY 1)"),
    ("SUM(", ") FILTER (WHERE true)"),
    ("SUM(1) FILTER (WHERE ", ")"),
    ("SUM(1) OVER (PARTITION BY ", ")"),
    ("SUM(1) OVER (ORDER BY 1 ROWS BETWEEN ", " PRECEDING AND CURRENT ROW)"),
    ("EXTRACT(YEAR FROM ", ")"),
    ("SUBSTRING(", " FROM 1 FOR 2)"),
    ("POSITION(", " IN 'a')"),
    ("OVERLAY(", " PLACING 'a' FROM 1)"),
    ("TRIM(BOTH 'a' FROM ", ")"),
    ("CEIL(", ")"),
    ("FLOOR(", " TO DAY)"),
    ("INTERVAL ", ""),
    ("INTERVAL ", " DAY"),
    ("INTERVAL (", ") DAY"),
    ("ARRAY[", "]"),
    ("[", "]"),
    ("{'a': ", "}"),
    ("MAP {'a': ", "}"),
    ("ROW(", ")"),
    ("(1, ", ")"),
    ("STRUCT(", ")"),
    ("a[", "]"),
    ("a[1:", "]"),
    ("(SELECT ", ")"),
    ("(SELECT 1 FROM (SELECT ", ") t)"),
    ("EXISTS (SELECT ", ")"),
    ("ARRAY(SELECT ", ")"),
    ("1 IN (", ")"),
    ("1 IN (SELECT ", ")"),
    ("1 = ANY(", ")"),
    ("1 BETWEEN 1 AND ", ""),
    ("1 LIKE ", ""),
    ("a -> ", ""),
    ("x COLLATE ", ""),
    ("GROUPING SETS ((", "))"),
    ("CONNECT_BY_ROOT ", ""),
    ("(VALUES (", "))"),
];

/// Rules as what stands behind itself, and so inside what comes next.
const BEHIND: [&str; 44] = [
    "+1",
    " - 1",
    "||'a'",
    " AND 1",
    " OR NOT 1",
    " = 1",
    " IS NULL",
    " IS NOT TRUE",
    " IS DISTINCT FROM 1",
    " IS NOT DISTINCT FROM NULL",
    " IS JSON",
    " IS NORMALIZED",
    " ISNULL",
    "::INT",
    "::INT[]",
    "::INT[3][]",
    "[1]",
    "[1:2]",
    ".a",
    ".a[1]",
    ".*",
    "->'a'",
    "->>'a'",
    "#>'a'",
    "@>'a'",
    " @? 'a'",
    ":a",
    " LIKE 'a'",
    " NOT ILIKE 'a' ESCAPE 'b'",
    " SIMILAR TO 'a'",
    " ~* 'a'",
    " IN (1)",
    " NOT IN (1, 2)",
    " BETWEEN 1 AND 2",
    " AT TIME ZONE 'UTC'",
    " COLLATE x",
    " OPERATOR(pg_catalog.+) 1",
    " OVERLAPS 1",
    " % 2 ^ 3",
    " << 1 | 2 & 3",
    "!",
    "(1)",
    " OVER (PARTITION BY 1)",
    " XOR 1",
];

/// Types inside each other, and in a row.
const TYPES: [(&str, &str); 15] = [
    ("", "[]"),
    ("", "[3]"),
    ("", " [ ]\n"),
    ("ARRAY<", ">"),
    ("ARRAY(", ")"),
    ("STRUCT<a ", ">"),
    ("STRUCT<a INT, b ", ">"),
    ("STRUCT(a ", ")"),
    ("MAP<INT, ", ">"),
    ("MAP(INT, ", ")"),
    ("TUPLE(a ", ")"),
    ("NESTED(a ", ")"),
    ("Nullable(", ")"),
    ("LowCardinality(", ")"),
    ("SETOF ", ""),
];

/// Queries inside each other, and in a row. `?` is the inside.
const QUERIES: [&str; 34] = [
    "SELECT * FROM (?) t",
    "SELECT 1, 2 FROM ((?)) t",
    "(?)",
    "WITH a AS (?) SELECT 1 FROM a",
    "WITH a AS (SELECT 1), b AS (?) SELECT 1 FROM b",
    "? UNION SELECT 1",
    "? UNION ALL SELECT 1, 2",
    "SELECT 1, 1 UNION ALL ?",
    "? EXCEPT SELECT 1",
    "? INTERSECT SELECT 1, 1, 1",
    "? MINUS SELECT 1",
    "SELECT 1 FROM a JOIN (?) b ON 1 = 1",
    "SELECT 1 FROM a JOIN b ON EXISTS (?)",
    "SELECT 1 FROM a, LATERAL (?) b",
    "SELECT 1 FROM (a JOIN (b JOIN (?) c ON true) ON true)",
    "SELECT 1 WHERE 1 IN (?)",
    "SELECT 1 GROUP BY (?)",
    "SELECT 1 ORDER BY (?)",
    "SELECT 1 LIMIT (?)",
    "SELECT 1 FROM a TABLESAMPLE BERNOULLI ((?))",
    "SELECT 1 FROM f((?))",
    "SELECT 1 FROM UNNEST((?)) u",
    "SELECT 1 FROM a PIVOT (SUM(b) FOR c IN (?)) p",
    "SELECT 1 FROM JSON_TABLE('[]', '$' COLUMNS (NESTED PATH '$' COLUMNS (a INT PATH '$'))) t WHERE (?) = 1",
    "SELECT 1 FROM a MATCH_RECOGNIZE (PATTERN ((((A|B)))) DEFINE A AS (?) = 1) m",
    "EXPLAIN ?",
    "EXPLAIN ANALYZE ?",
    "PREPARE a AS ?",
    "CREATE TABLE a AS ?",
    "CREATE VIEW a AS ?",
    "INSERT INTO a ?",
    "COPY (?) TO STDOUT",
    "DECLARE a CURSOR FOR ?",
    "IF (?) THEN SELECT 1; END IF",
];

/// What joins, windows and lists make long without a bracket.
const LONG: [&str; 12] = [
    " JOIN people ON true",
    " NATURAL JOIN people",
    " CROSS JOIN people, people",
    " LEFT JOIN people USING (age)",
    ", LATERAL people",
    ", people TABLESAMPLE (1)",
    " WINDOW w AS (PARTITION BY 1)",
    " FOR UPDATE",
    " LATERAL VIEW explode(a) t AS b",
    ", (people)",
    " |> WHERE true",
    " AS OF SYSTEM TIME 1",
];

/// Pseudo-random numbers, the same for the same seed.
struct Choices(u64);

impl Choices {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// A level for a rule: what opens and what closes it.
fn levels(inside: &str, levels: &[(String, String)]) -> String {
    let opened: String = levels.iter().map(|(open, _)| open.as_str()).collect();
    let closed: String = levels.iter().rev().map(|(_, close)| close.as_str()).collect();
    format!("{opened}{inside}{closed}")
}

fn halves(query: &str) -> (String, String) {
    query.split_once('?').map(|(open, close)| (open.to_string(), close.to_string())).unwrap()
}

fn owned((open, close): (&str, &str)) -> (String, String) {
    (open.to_string(), close.to_string())
}

/// The expression in the places where a query has one.
fn queries(expression: &str) -> [String; 4] {
    [
        format!("SELECT {expression} FROM people"),
        format!("SELECT COUNT(*) FROM people WHERE {expression} = 1"),
        format!("SELECT SUM({expression}) FROM people GROUP BY {expression}"),
        format!("SELECT {expression}"),
    ]
}

/// One of each rule alone, this deep.
fn of_each(deep: usize) -> Vec<String> {
    let again = |rule: (String, String)| vec![rule; deep];
    let mut texts = Vec::new();
    for rule in INSIDE {
        texts.push(format!("SELECT COUNT(*) FROM people WHERE {} = 1", levels("age", &again(owned(rule)))));
    }
    for rule in BEHIND {
        texts.push(format!("SELECT COUNT(*) FROM people WHERE age{} = 1", rule.repeat(deep)));
    }
    for rule in TYPES {
        let kind = levels("INT", &again(owned(rule)));
        texts.push(format!("SELECT COUNT(CAST(NULL AS {kind})) FROM people"));
        texts.push(format!("SELECT COUNT(age::{kind}) FROM people"));
        texts.push(format!("SELECT {kind} '1'"));
        texts.push(format!("SELECT * FROM f(1) AS t(a {kind})"));
    }
    for rule in QUERIES {
        texts.push(levels("SELECT COUNT(*) FROM people", &again(halves(rule))));
    }
    for rule in LONG {
        texts.push(format!("SELECT COUNT(*) FROM people{}", rule.repeat(deep)));
    }
    texts
}

/// What sub-queries put together above an aggregate, each of them within the limits of a text.
fn put_together() -> Vec<String> {
    let over = |step: String, times: usize| {
        let first = "SELECT COUNT(*) AS c FROM people".to_string();
        (0..times).fold(first, |below, _| format!("SELECT {step} AS c FROM ({below}) t"))
    };
    let calls = format!("{}c{}", "ABS(".repeat(8), ")".repeat(8));
    let mut texts = Vec::new();
    for times in [1, 2, 11, 20] {
        texts.push(over(format!("c{}", " + 1".repeat(90)), times));
        texts.push(over(format!("c{}", " * 1.5 - 2".repeat(45)), times));
        texts.push(over(calls.clone(), times));
        texts.push(over("CASE WHEN c > 1 THEN c ELSE -c END".to_string(), times));
    }
    texts
}

/// Several rules by chance, one after the other or by turns.
fn by_chance(choices: &mut Choices) -> String {
    let few: Vec<(String, String)> = (0..1 + choices.below(4))
        .map(|_| match choices.below(4) {
            0 => (String::new(), BEHIND[choices.below(BEHIND.len())].to_string()),
            1 => {
                let (open, close) = TYPES[choices.below(TYPES.len())];
                (format!("CAST(age AS {open}INT{close}) + "), String::new())
            }
            _ => owned(INSIDE[choices.below(INSIDE.len())]),
        })
        .collect();
    let deep = [3, 20, 49, 60, 101, 199, 500, 2_000, 50_000][choices.below(9)];
    let by_turns = choices.below(2) == 0;
    let rule = |level: usize| few[if by_turns { level % few.len() } else { level * few.len() / deep }].clone();
    let expression = levels("age", &(0..deep).map(rule).collect::<Vec<_>>());
    let text = queries(&expression)[choices.below(4)].clone();
    match choices.below(3) {
        0 => {
            let around: Vec<_> =
                (0..choices.below(60)).map(|_| halves(QUERIES[choices.below(QUERIES.len())])).collect();
            levels(&text, &around)
        }
        _ => text,
    }
}

/// The longest text that is read: more of it is refused by its length.
fn cut(mut text: String) -> String {
    let mut end = text.len().min(99_900);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

fn texts(seed: u64) -> Vec<String> {
    let mut all: Vec<String> = match seed {
        0 => [10, 48, 110].iter().flat_map(|deep| of_each(*deep)).chain(put_together()).collect(),
        1 => [198, 1_900, 40_000].iter().flat_map(|deep| of_each(*deep)).collect(),
        _ => Vec::new(),
    };
    let mut choices = Choices(seed);
    all.extend((0..if seed < 2 { 0 } else { effort(150, 700) }).map(|_| by_chance(&mut choices)));
    all.into_iter().map(cut).collect()
}

/// Plans every text of a seed, if this is a child; what is printed last tells the parent where it ended.
#[test]
fn child_that_plans_nested_texts() {
    let (Ok(folder), Ok(seed)) = (std::env::var(FOLDER), std::env::var(SEED)) else { return };
    let project = Project::open(&std::path::Path::new(&folder).join("scumble.toml")).unwrap();
    let runner = Runner::new(&project);
    for (index, text) in texts(seed.parse().unwrap()).iter().enumerate() {
        eprintln!("text {index}: {:.200}", text.replace('\n', " "));
        // As a query; and as a condition of a project file, which is parsed in another dialect.
        let planned =
            Request::sql("nested", text, &"epsilon=0.1".parse().unwrap()).and_then(|request| runner.plan(&request));
        if let Err(error) = planned {
            assert!(error.to_string().len() < 3_000, "{index}: a sentence of {} bytes", error.to_string().len());
        }
        let condition = text.split_once("WHERE ").map_or(text.as_str(), |(_, condition)| condition).replace('\'', "");
        let release =
            "[[release]]\nname = \"c\"\nkind = \"exact-count\"\ntable = \"people\"\ni_accept_assumptions = true";
        let file = format!("{PROJECT}{release}\nwhere = '''{condition}'''\n");
        if let Ok(project) = Project::parse(&std::path::Path::new(&folder).join("other.toml"), &file) {
            let _ = project.releases.iter().try_for_each(|request| Runner::new(&project).plan(request).map(drop));
        }
    }
    // The file itself, in the rules of its own grammar.
    for (open, close) in [("[", "]"), ("{ a = ", " }"), ("[{ a = ", " }]")] {
        for file in [
            format!("x = {}1{}\n", open.repeat(60_000), close.repeat(60_000)),
            format!("{}{}1{}\n", PROJECT, open.repeat(60_000), close.repeat(60_000)),
            format!("x{} = 1\n[y{}]\n", ".x".repeat(60_000), ".y".repeat(60_000)),
        ] {
            eprintln!("a file: {file:.60}");
            let _ = Project::parse(&std::path::Path::new(&folder).join("other.toml"), &file).map(drop);
        }
    }
    println!("all nested texts were planned");
}

#[test]
fn no_text_ends_the_process() {
    let folder = Folder::with(&[("people.csv", "age,name\n1,a\n"), ("scumble.toml", PROJECT)]);
    for seed in 0..effort(4, 12) {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "nested::child_that_plans_nested_texts", "--nocapture"])
            .env(FOLDER, folder.path())
            .env(SEED, seed.to_string())
            .output()
            .unwrap();
        let [said, log] = [child.stdout, child.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let last = log.lines().rev().take(12).collect::<Vec<_>>().join("\n");
        assert!(
            child.status.success() && said.contains("all nested texts were planned"),
            "seed {seed}: {}\n{last}",
            child.status
        );
    }
}
