//! The statements, run by other engines, give the integers of our one pass with the same secret; and what is refused.

use super::*;
use crate::remote::{BackendKind, IntegerSource, RemoteSource, backend_of};

use crate::sql::execute::integers::integers;
use crate::support::Folder;
use crate::tables::Backend;
use crate::tables::ranks::Ranks;
use scumble_testing::other_engines::{BOUNDS, PROJECT, QUERIES, tables};
use scumble_testing::postgres::Postgres;
use std::fs;
use std::process::Command;

/// A folder with the tables, and a project of these bounds.
fn folder(bounds: &str) -> (Folder, Project, String) {
    let (files, sql) = tables();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let folder = Folder::with(&files);
    let project = folder.project(&PROJECT.replace("BOUNDS", bounds));
    (folder, project, sql)
}

fn request(index: usize, sql: &str) -> Request {
    Request::sql(&format!("q{index}"), sql, &"epsilon=1,delta=1e-6".parse().unwrap()).unwrap()
}

/// Writes the jobs for an engine, has them run by `run` (given a folder with tables.sql and job_N.sql, it leaves the
/// results of each in job_N), and compares.
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
            let given = runner.imported(&planned, &folder.file(&format!("jobs/job_{index:02}")));
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

/// Takes a minute, so it runs only where `SCUMBLE_NEED_SPARK` is set.
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
        ("SELECT COUNT(*) AS n FROM visits WHERE clinic < 'c'", "the order of strings"),
        ("SELECT COUNT(*) AS n FROM visits WHERE clinic BETWEEN 'a' AND 'c'", "the order of strings"),
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
            assert!(error.contains(words) && error.contains("cannot be computed by another engine"), "{sql}\n{error}");
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
        (Engine::Postgres, ["sha256(convert_to(", "DOUBLE PRECISION", "'it''s \\ dear'", "READ ONLY"]),
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
                "visits: person (the owner: a string or a whole number), cost (fraction), open (true or false)"
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
            let (theirs, ours) = (queries(&request, &there).unwrap(), queries(&request, &here).unwrap());
            let served = RemoteSource::new(&request, &theirs, address, &there, &mut bits)
                .unwrap_or_else(|error| panic!("{sql}: {error}"));
            for (query, own) in theirs.iter().zip(&ours) {
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

fn server_of<'a>(planned: &PlannedRelease, project: &'a Project) -> BackendKind<'a> {
    backend_of(&planned.request, &planned.plan.tables, project).unwrap().unwrap()
}
