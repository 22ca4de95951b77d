//! The statements, run by other engines, give the integers of our one pass with the same secret; and what is refused.

use super::*;
use crate::backend::Backend;
use crate::backend::ranks::Ranks;
use crate::sql::integers::integers;
use crate::support::Folder;
use std::fs;
use std::process::Command;

const PROJECT: &str = r#"
[dataset.visits]
source = "visits.csv"
owner = "person"
BOUNDS
[dataset.visits.columns]
clinic = { type = "category" }
ward = { type = "int", lower = 1, upper = 3 }
cost = { type = "float", lower = 0, upper = 100, granularity = 0.1 }
open = { type = "bool" }
day = { type = "date", lower = "2020-02-01", upper = "2020-02-28" }
seen = { type = "timestamp" }
[dataset.homes]
source = "homes.csv"
owner = "person"
max_rows_per_owner = 1
[dataset.homes.columns]
area = { type = "category", values = ["north", "it's \\ south"] }
[dataset.trips]
source = "trips.csv"
owner = "rider"
BOUNDS
[dataset.trips.columns]
km = { type = "int", lower = -5, upper = 50 }
[dataset.people]
source = "people.csv"
[dataset.people.columns]
age = { type = "int", lower = 0, upper = 120 }
"#;

const BOUNDS: [&str; 3] = [
    "max_rows_per_owner = 6\nmax_groups_per_owner = 2\nmax_rows_per_group = 3",
    "max_rows_per_owner = 2\nmax_groups_per_owner = 2\nmax_rows_per_group = 1",
    "max_rows_per_owner = 3",
];

/// A row as CSV has it, as SQL has it, or both made from words: `-` is nothing.
struct Written {
    csv: String,
    sql: String,
}

impl Written {
    /// A table of rows whose columns are texts, where `texts` says so.
    fn of(name: &str, columns: &str, kinds: &str, rows: &[Vec<String>], is_text: &[bool]) -> Self {
        let csv_rows = rows.iter().map(|row| row.join(",") + "\n").collect::<String>();
        let value = |(text, is_text): (&String, &bool)| match text.as_str() {
            "" => "NULL".to_string(),
            text if *is_text => format!("'{}'", text.replace('\'', "''")),
            text => text.to_string(),
        };
        let sql_row =
            |row: &Vec<String>| format!("({})", row.iter().zip(is_text).map(value).collect::<Vec<_>>().join(", "));
        let values = rows.iter().map(sql_row).collect::<Vec<_>>().join(",\n");
        let sql = format!("CREATE TABLE {name} ({kinds});\nINSERT INTO {name} VALUES {values};\n");
        Self { csv: format!("{columns}\n{csv_rows}"), sql }
    }
}

/// Visits of 40 people with quotes in their names, their homes, trips of riders with numbers, and people; as files, and as SQL.
fn tables() -> (Vec<(&'static str, String)>, String) {
    let owner = |i: u32| format!("o'{}\u{e9}\u{1F600}", i);
    let visits: Vec<Vec<String>> = (0..240u32)
        .map(|i| {
            let clinic = ["a", "b", "c'\u{e9}", "d \\ e", ""][(i * 7 % 5) as usize];
            let cost = ["1.25", "30", "", "250", "-7", "99.94", "NaN", "-0.0", "0.0", "0.35"][(i * 3 % 10) as usize];
            let (ward, day) = (["0", "1", "2", "", "4"][(i % 5) as usize], 1 + i % 3);
            [
                owner(i * i % 40).as_str(),
                clinic,
                ward,
                cost,
                if i % 3 == 0 { "true" } else { "false" },
                &format!("2020-02-0{day}"),
                "",
            ]
            .map(str::to_string)
            .to_vec()
        })
        .collect();
    let homes: Vec<Vec<String>> =
        (0..40).map(|i| vec![owner(i), ["north", "it's \\ south", "mars"][(i % 3) as usize].to_string()]).collect();
    let trips: Vec<Vec<String>> =
        (0..200i64).map(|i| vec![(i * i % 31 - 9).to_string(), (i % 70 - 9).to_string()]).collect();
    let people: Vec<Vec<String>> = (0..90).map(|i| vec![(i * 3 % 130).to_string()]).collect();
    let all = [
        Written::of(
            "visits",
            "person,clinic,ward,cost,open,day,seen",
            "person VARCHAR, clinic VARCHAR, ward INTEGER, cost FLOAT8, open BOOLEAN, day DATE, seen TIMESTAMP",
            &visits,
            &[true, true, false, true, false, true, true],
        ),
        Written::of("homes", "person,area", "person VARCHAR, area VARCHAR", &homes, &[true, true]),
        Written::of("trips", "rider,km", "rider INTEGER, km BIGINT", &trips, &[false, false]),
        Written::of("people", "age", "age INTEGER", &people, &[false]),
    ];
    let names = ["visits.csv", "homes.csv", "trips.csv", "people.csv"];
    let sql = all.iter().map(|table| table.sql.as_str()).collect();
    (names.into_iter().zip(all.into_iter().map(|table| table.csv)).collect(), sql)
}

/// What other engines are given: one of each construct that is written for them.
const QUERIES: [&str; 18] = [
    "SELECT clinic, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY clinic",
    "SELECT clinic, ward, COUNT(DISTINCT person) AS n, AVG(cost) AS s FROM visits GROUP BY clinic, ward",
    "SELECT open, MAX(cost) AS b, COUNT(DISTINCT clinic) AS c, COUNT(cost) AS p FROM visits WHERE ward > 1 GROUP BY open",
    "SELECT COUNT(*) AS n, VAR_POP(cost) AS v, MEDIAN(ward) AS m FROM visits",
    "SELECT day, SUM(cost) AS s, COUNT(DISTINCT ward) AS w, COUNT(DISTINCT open) AS o FROM visits GROUP BY day",
    "SELECT h.area, COUNT(*) AS n, SUM(v.cost) AS s FROM visits v JOIN homes h ON v.person = h.person WHERE v.cost > 0.5 GROUP BY h.area",
    "SELECT CASE WHEN cost > 20 THEN 'it''s \\ dear' WHEN open THEN 'open' ELSE 'other' END AS k, COUNT(*) AS n FROM visits GROUP BY 1",
    "SELECT COALESCE(clinic, 'none') AS c, SUM(ward * 2 - 1) AS s FROM visits GROUP BY 1",
    "SELECT km > 10 OR km IS NULL AS k, COUNT(*) AS n FROM trips GROUP BY 1",
    "SELECT SUM(km) AS s, COUNT(DISTINCT rider) AS r, COUNT(DISTINCT km) AS d FROM trips WHERE km BETWEEN 2 AND 40",
    "SELECT clinic, COUNT(*) AS n FROM visits WHERE cost = 0 OR clinic IN ('a', 'c''\u{e9}') OR NOT open GROUP BY clinic",
    "SELECT clinic, open, COUNT(*) AS n FROM visits GROUP BY ROLLUP (clinic, open)",
    "SELECT 'visits' AS t, COUNT(*) AS n FROM visits UNION ALL SELECT 'trips', COUNT(*) FROM trips",
    "SELECT c, SUM(w) AS s FROM (SELECT clinic || '!' AS c, 2 * ward AS w FROM visits WHERE open AND cost IS NOT NULL) t GROUP BY c",
    "SELECT age, COUNT(*) AS n FROM people WHERE age >= 18 GROUP BY age",
    // A number that is written out has 32 bits in some engines, and this product has 33.
    "SELECT clinic, SUM(CASE WHEN open THEN 2000000000 ELSE 1 END * 2) AS s FROM visits GROUP BY clinic",
    "SELECT ward, SUM(cost * 0.25 + ward / 4.0) AS s FROM visits GROUP BY ward",
    "SELECT open, COUNT(*) AS n FROM visits WHERE day >= '2020-02-02' AND cost IS NOT NULL GROUP BY open",
];

/// A folder with the tables, and a project of these bounds.
fn folder(bounds: &str) -> (Folder, Project, String) {
    let (files, sql) = tables();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let folder = Folder::with(&files);
    let project = folder.project(&PROJECT.replace("BOUNDS", bounds));
    (folder, project, sql)
}

fn request(index: usize, sql: &str) -> Request {
    Request::of_query(&format!("q{index}"), sql, "epsilon=1,delta=1e-6").unwrap()
}

/// Writes the jobs for an engine, has them run by `run` (given a folder with tables.sql and job_N.sql, it leaves the results of each in job_N), and compares.
fn same_elsewhere(engine: Engine, run: impl Fn(&Path) -> bool) {
    for bounds in BOUNDS {
        let (folder, project, sql) = folder(bounds);
        fs::create_dir(folder.file("jobs")).unwrap();
        fs::write(folder.file("jobs/tables.sql"), sql).unwrap();
        let runner = Runner::new(&project);
        let mut jobs = Vec::new();
        for (index, sql) in QUERIES.iter().enumerate() {
            let request = request(index, sql);
            let Ok(planned) = runner.plan(&request) else { continue };
            let text = runner.job(&request, engine).unwrap_or_else(|error| panic!("{sql}: {error}"));
            fs::write(folder.file(&format!("jobs/job_{index:02}.sql")), &text).unwrap();
            jobs.push((index, planned, text));
        }
        assert!(jobs.len() >= 13, "{} of the queries are answered", jobs.len());
        if !run(&folder.file("jobs")) {
            return;
        }
        for (index, planned, text) in jobs {
            let job = runner.standing_job(&planned.request).unwrap();
            let given = runner.given(&planned, &folder.file(&format!("jobs/job_{index:02}")));
            let given = given.unwrap_or_else(|error| panic!("{}: {error}\n{text}", QUERIES[index]));
            let backend = Backend::with_data(&project, &planned.plan.tables).unwrap();
            let mut some = false;
            for query in &job.queries {
                let ours = integers(query, &backend, Ranks::sha(&job.secret)).unwrap();
                some |= ours.cells.iter().any(|cell| cell.sums.iter().any(|sum| *sum != 0));
                let theirs = given.integers(query).unwrap();
                assert_eq!(theirs, ours, "{bounds}\n{}\n{text}", QUERIES[index]);
            }
            assert!(some && given.integers(&job.queries[0]).is_err(), "{}", QUERIES[index]);
        }
    }
}

/// Runs each job and saves the result of each statement, as CSV or as Parquet in turn.
const DUCKDB: &str = "
import os, re, sys
import duckdb
folder = sys.argv[1]
con = duckdb.connect()
con.execute(open(folder + '/tables.sql', encoding='utf-8').read())
for name in sorted(os.listdir(folder)):
    if name.startswith('job_') and name.endswith('.sql'):
        text = open(folder + '/' + name, encoding='utf-8').read()
        os.makedirs(folder + '/' + name[:-4])
        for i, one in enumerate(con.extract_statements(text)):
            end = ['csv', 'parquet'][(i + len(text)) % 2]
            query = re.sub(r';\\s*(--[^\\n]*\\s*)*$', '', one.query)
            options = 'HEADER' if end == 'csv' else 'FORMAT parquet'
            con.execute(f\"COPY ({query}) TO '{folder}/{name[:-4]}/{i}.{end}' ({options})\")
";

#[test]
fn duckdb_gives_the_integers_of_our_pass() {
    let has_duckdb =
        Command::new("python3").args(["-c", "import duckdb"]).output().is_ok_and(|out| out.status.success());
    if !has_duckdb {
        eprintln!("no DuckDB (pip install duckdb): the statements were not run on it");
        return;
    }
    same_elsewhere(Engine::DuckDb, |folder| {
        let done = Command::new("python3").args(["-c", DUCKDB]).arg(folder).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        true
    });
}

/// The same on Spark, which writes each result as a folder of parts.
const SPARK: &str = "
import os, sys
from pyspark.sql import SparkSession
folder = sys.argv[1]
spark = (SparkSession.builder.master('local[2]').config('spark.ui.enabled', 'false')
         .config('spark.sql.shuffle.partitions', '2').config('spark.sql.ansi.enabled', 'true').getOrCreate())
kinds = {'visits': 'person string, clinic string, ward int, cost double, open boolean, day date, seen timestamp',
         'homes': 'person string, area string', 'trips': 'rider int, km long', 'people': 'age int'}
for name, kind in kinds.items():
    table = spark.read.option('escape', '\"').csv(f'{folder}/../{name}.csv', header=True, schema=kind)
    table.createOrReplaceTempView(name)
for name in sorted(os.listdir(folder)):
    if name.startswith('job_') and name.endswith('.sql'):
        lines = open(folder + '/' + name, encoding='utf-8').read().splitlines()
        text = '\\n'.join(line for line in lines if not line.startswith('--'))
        for i, query in enumerate(text.split(';\\n')):
            query = query.strip().rstrip(';')
            if query:
                spark.sql(query).write.parquet(f'{folder}/{name[:-4]}/{i}')
";

/// Takes a minute: it is for whoever wants to know it all.
#[test]
fn spark_gives_the_integers_of_our_pass() {
    let has_spark =
        || Command::new("python3").args(["-c", "import pyspark"]).output().is_ok_and(|out| out.status.success());
    if std::env::var_os("SCUMBLE_NEED_SPARK").is_none() || !has_spark() {
        eprintln!(
            "no Spark (pip install pyspark, and SCUMBLE_NEED_SPARK=1; six minutes): the statements were not run on it"
        );
        return;
    }
    same_elsewhere(Engine::Spark, |folder| {
        let done = Command::new("python3").args(["-c", SPARK]).arg(folder).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        true
    });
}

#[test]
fn what_engines_do_not_mean_the_same_by_is_refused_by_name() {
    let (_folder, project, _) = folder(BOUNDS[0]);
    let runner = Runner::new(&project);
    for (sql, words) in [
        ("SELECT COUNT(*) AS n FROM visits WHERE clinic LIKE 'a%'", "LIKE"),
        ("SELECT COUNT(*) AS n FROM visits WHERE upper(clinic) = 'A'", "the function upper"),
        ("SELECT COUNT(*) AS n FROM visits WHERE ward / 2 = 1", "a division other than"),
        ("SELECT COUNT(*) AS n FROM visits WHERE clinic < 'c'", "the order of texts"),
        ("SELECT COUNT(*) AS n FROM visits WHERE clinic BETWEEN 'a' AND 'c'", "the order of texts"),
        ("SELECT COUNT(*) AS n FROM visits WHERE CAST(clinic AS INT) = 1", "a cast"),
        ("SELECT COUNT(*) AS n FROM visits WHERE EXTRACT(month FROM day) = 2", "the function date_part"),
        ("SELECT COUNT(*) AS n FROM visits WHERE seen > '2020-02-01T00:00:00'", "time"),
        ("SELECT COUNT(*) AS n FROM visits WHERE cost * -1 >= 0", "the comparison of a computed fraction"),
        ("SELECT COUNT(DISTINCT cost) AS n FROM visits", "COUNT(DISTINCT …) of fractions"),
        ("SELECT COUNT(*) AS n FROM visits WHERE sqrt(cost) > 2", "a root, a power"),
        (
            "SELECT COUNT(*) AS n FROM (SELECT person, COUNT(*) AS v FROM visits GROUP BY person) t WHERE v > 1",
            "one row for each owner first",
        ),
    ] {
        for (_, engine) in Engine::NAMED {
            let error = runner.job(&request(0, sql), engine).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("cannot be computed elsewhere"), "{sql}\n{error}");
        }
    }
}

/// Every dialect has its own words for types, quotes and hashes.
#[test]
fn dialects_have_their_own_words() {
    let (_folder, project, _) = folder(BOUNDS[2]);
    let runner = Runner::new(&project);
    let text = |engine: Engine| runner.job(&request(6, QUERIES[6]), engine).unwrap();
    for (engine, words) in [
        (Engine::Postgres, ["encode(sha256(convert_to(", "DOUBLE PRECISION", "'it''s \\ dear'", "READ ONLY"]),
        (Engine::DuckDb, ["LEFT(sha256(", "AS DOUBLE)", "'it''s \\ dear'", "COPY"]),
        (Engine::Spark, ["sha2(", "AS STRING)", "'it\\'s \\\\ dear'", "ansi"]),
        (Engine::BigQuery, ["TO_HEX(SHA256(", "AS FLOAT64)", "'it\\'s \\\\ dear'", "NaN"]),
    ] {
        let text = text(engine);
        for word in words {
            assert!(text.contains(word), "{word}\n{text}");
        }
        assert!(!text.contains("scumble_sha256"), "{text}");
        assert!(
            text.contains(
                "visits: person (the owner: a text or a whole number), cost (fraction), open (true or false)"
            ),
            "{text}"
        );
    }
    // The secret and the number are the same for all, however often they are printed.
    let job = runner.standing_job(&request(6, QUERIES[6])).unwrap();
    assert!(Engine::NAMED.iter().all(|(_, engine)| {
        let text = text(*engine);
        text.contains(&job.secret) && text.contains(&job.number)
    }));
    let other = runner.standing_job(&request(7, QUERIES[6])).unwrap();
    assert!(other.number != job.number && other.secret != job.secret, "another release has another secret");
}

#[path = "../../../tests/support/postgres.rs"]
mod postgres;

use postgres::Postgres;

/// The project with its tables on a server.
fn served(folder: &Folder, server: &Postgres, bounds: &str) -> Project {
    let mut text = PROJECT.replace("BOUNDS", bounds);
    for table in ["visits", "homes", "trips", "people"] {
        let file = format!("source = \"{table}.csv\"");
        let source =
            format!("source = \"{}\"\npassword_file = \"{}\"", server.source(table), server.password_file().display());
        text = text.replace(&file, &source);
    }
    folder.project(&text)
}

#[test]
fn postgresql_gives_the_integers_of_our_pass() {
    let Some(server) = Postgres::start() else { return };
    server.run(&tables().1);
    let mut bits = scumble::noise::InsecureSeededSource::new(5);
    for bounds in BOUNDS {
        let (files, here, _) = folder(bounds);
        let elsewhere = Folder::with(&[]);
        let there = served(&elsewhere, &server, bounds);
        let backend = Backend::with_data(&here, &["visits", "homes", "trips", "people"].map(str::to_string)).unwrap();
        let mut answered = 0;
        for (index, sql) in QUERIES.iter().enumerate() {
            let request = request(index, sql);
            let Ok(planned) = Runner::new(&there).plan(&request) else { continue };
            let address = server_of(&planned, &there);
            let served =
                Served::new(&request, address, &there, &mut bits).unwrap_or_else(|error| panic!("{sql}: {error}"));
            let ours = queries(&request, &here).unwrap();
            for (query, own) in queries(&request, &there).unwrap().iter().zip(&ours) {
                let theirs = served.integers(query).unwrap_or_else(|error| panic!("{sql}: {error}"));
                let ours = integers(own, &backend, Ranks::sha(served.secret())).unwrap();
                assert_eq!(theirs, ours, "{bounds}\n{sql}");
            }
            answered += 1;
        }
        assert!(answered >= 13);
        drop(files);
    }
}

fn server_of<'a>(planned: &Planned, project: &'a Project) -> &'a crate::project::Server {
    server(&planned.request, &planned.plan.tables, project).unwrap().unwrap()
}
