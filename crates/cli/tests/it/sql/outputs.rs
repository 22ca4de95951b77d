//! What a query publishes: values, names and files that were wrong, or that harmed their reader.

use crate::support::Folder;

const PROJECT: &str = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
age   = { type = "int", lower = 0, upper = 120 }
count = { type = "category", values = ["a", "b"] }
name  = { type = "category", values = ["=cmd|'/c calc'!A1", "plain"] }
"#;

fn folder() -> Folder {
    let rows = "30,a,plain\n".repeat(40);
    Folder::with(&[("scumble.toml", PROJECT), ("people.csv", &format!("age,count,name\n{rows}"))])
}

/// `COUNT(*) * 9223372036854775807` was published as −2 with an error of 0: the product wrapped around. A quotient by a
/// noisy number that happens to be zero ended the run after its charge.
#[test]
fn arithmetic_on_released_numbers_that_has_no_result_is_published_as_nothing() {
    let folder = folder();
    let sql = "SELECT COUNT(*) * 9223372036854775807 AS product, 1 / (COUNT(*) - COUNT(*)) AS quotient, COUNT(*) AS n, \
               CAST(COUNT(*) * 1000 AS TINYINT) AS small FROM people";
    let answer = folder.json(&["query", sql, "--cost", "epsilon=5", "--json"]);
    let row = &answer["rows"][0];
    for column in ["product", "quotient", "small"] {
        assert!(row[column].is_null(), "{row}");
    }
    assert!(row["n"].as_i64().is_some_and(|n| (n - 40).abs() < 20), "{row}");
    let csv = folder.read("out/query.csv");
    assert!(csv.lines().nth(1).unwrap().starts_with(",,"), "{csv}");
}

/// `COUNT(*) AS n, COUNT(age) AS n_error` had one field for two numbers in its JSON, and a histogram of a column
/// `count` had the counts in the place of the values.
#[test]
fn columns_that_would_have_one_name_are_refused_before_the_charge() {
    let folder = folder();
    let sql = "SELECT COUNT(*) AS n, COUNT(age) AS n_error FROM people";
    folder.refused(&["query", sql, "--cost", "epsilon=1"], 2, "'n_error'");
    let histogram = "[[release]]\nname = \"h\"\nkind = \"histogram\"\ntable = \"people\"\ncolumn = \"count\"\ncost = { epsilon = 1 }\n";
    folder.write("scumble.toml", &format!("{PROJECT}{histogram}"));
    folder.refused(&["release"], 2, "'count'");
    assert!(!folder.file("scumble.ledger").exists());
}

/// A value `=cmd|…` of the data stood in the CSV as it was, and a spreadsheet that opens the file obeys it.
#[test]
fn no_text_of_the_data_is_a_formula_in_the_csv() {
    let folder = folder();
    folder.stdout(&["query", "SELECT name, COUNT(*) AS n FROM people GROUP BY name", "--cost", "epsilon=1"]);
    let csv = folder.read("out/query.csv");
    assert!(csv.contains("\n'=cmd|"), "{csv}");
    let json = folder.json_file("out/query.json");
    assert_eq!(json["answers"]["rows"][0]["name"], "=cmd|'/c calc'!A1");
}

/// An alias `scumble row` met the name of our own column, and the run failed.
#[test]
fn an_alias_may_have_any_name() {
    let folder = folder();
    let sql = "SELECT COUNT(*) AS \"scumble row\", COUNT(age) AS \"scumble row'\" FROM people";
    let answer = folder.json(&["query", sql, "--cost", "epsilon=5", "--json"]);
    assert!(answer["rows"][0]["scumble row"].is_i64() && answer["rows"][0]["scumble row'"].is_i64(), "{answer}");
}

/// Sub-queries that use a column twice were written out before they were looked at: thirty of them are 2^30 sums.
/// 'repeat' of a hundred million letters filled the memory.
#[test]
fn what_is_done_with_the_answer_stays_small() {
    let folder = folder();
    let table = |index: usize| format!("t{index} AS (SELECT n + n AS n FROM t{})", index - 1);
    let tables = (1..28).map(table).collect::<Vec<_>>().join(", ");
    let sql = format!("WITH t0 AS (SELECT COUNT(*) AS n FROM people), {tables} SELECT n FROM t27");
    folder.refused(&["query", &sql, "--cost", "epsilon=1"], 2, "shorten it");
    assert!(!folder.file("scumble.ledger").exists());
    let sql = "SELECT COUNT(*) AS n, repeat('x', 100000000) AS x FROM people";
    let answer = folder.json(&["query", sql, "--cost", "epsilon=5", "--json"]);
    assert!(answer["rows"][0]["x"].is_null(), "{answer}");
}

/// `--out . --name people` put the answer in the place of the table, and `--out FOLDER` of a table that is a folder
/// made the answer rows of it; `--ledger out/report.json` was written over by the report, with all of its charges, and
/// a release called `report` had no JSON.
#[test]
fn an_answer_never_takes_the_place_of_a_table_or_of_the_ledger() {
    let folder = folder();
    let table = folder.read("people.csv");
    let sql = "SELECT COUNT(*) AS n FROM people";
    folder.refused(&["query", sql, "--cost", "epsilon=1", "--out", ".", "--name", "people"], 2, "do not replace it");
    for ledger in ["out/report.html", "out/report.json", "out/query.csv", "out/query.parquet"] {
        std::fs::create_dir_all(folder.file("out")).unwrap();
        folder.refused(&["query", sql, "--cost", "epsilon=1", "--ledger", ledger], 2, "do not replace it");
    }
    folder.refused(&["query", sql, "--cost", "epsilon=1", "--name", "report"], 2, "cannot be called 'report'");
    std::fs::create_dir(folder.file("many")).unwrap();
    std::fs::rename(folder.file("people.csv"), folder.file("many/people.csv")).unwrap();
    folder.write("scumble.toml", &PROJECT.replace("people.csv", "many"));
    folder.refused(&["query", sql, "--cost", "epsilon=1", "--out", "many"], 2, "do not replace it");
    assert_eq!(folder.read("many/people.csv"), table);
    assert!(!folder.file("scumble.ledger").exists());
}

/// With a full disk behind stderr, or `TOKIO_WORKER_THREADS=0` in the environment, the program panicked.
#[test]
#[cfg(target_os = "linux")]
fn neither_a_full_disk_nor_the_environment_is_a_panic() {
    let folder = folder();
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_scumble"));
        command.args(arguments).current_dir(folder.path()).env("TOKIO_WORKER_THREADS", "0");
        command.stderr(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
        command.output().unwrap().status.code()
    };
    assert_eq!(run(&["query", "SELECT COUNT(*) AS n FROM people", "--cost", "epsilon=1"]), Some(0));
    assert_eq!(run(&["query", "SELECT nothing", "--cost", "epsilon=1"]), Some(2));
    // Help that nobody could read is not success.
    let mut help = std::process::Command::new(env!("CARGO_BIN_EXE_scumble"));
    help.arg("--help").stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    assert_eq!(help.status().unwrap().code(), Some(1));
}
