//! Jobs as a user runs them: the statements of a release for another engine, and its integers taken back.

use crate::support::Folder;
use scumble_testing::postgres::{PASSWORD, Postgres};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};

const PROJECT: &str = r#"
[budget]
person = { epsilon = 1e7, delta = 1e-3 }
[dataset.visits]
source = "somewhere else"
owner = "person"
max_rows_per_owner = 4
max_groups_per_owner = 2
max_rows_per_group = 2
[dataset.visits.columns]
clinic = { type = "category", values = ["a", "b"] }
town = { type = "category" }
cost = { type = "int", lower = 0, upper = 10 }
[[release]]
name = "by clinic"
sql = "SELECT clinic, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY clinic"
cost = { epsilon = 1e6, delta = 1e-6 }
[[release]]
name = "by town"
sql = "SELECT town, COUNT(DISTINCT person) AS n FROM visits GROUP BY town"
cost = { epsilon = 1e6, delta = 1e-6 }
[[release]]
name = "middle"
kind = "quantiles"
table = "visits"
column = "cost"
quantiles = [0.5]
cost = { epsilon = 1 }
"#;

fn folder() -> Folder {
    let folder = Folder::with(&[("scumble.toml", PROJECT)]);
    fs::create_dir(folder.file("results")).unwrap();
    folder
}

/// The job of a release, and the name of the column by which its first statement is known again.
fn job(folder: &Folder, name: &str) -> (String, String) {
    let text = folder.stdout(&["integers", name, "--dialect", "duckdb"]);
    let start = text.find("scumble_job_").unwrap();
    let end = text[start..].find(|one: char| !(one.is_ascii_alphanumeric() || one == '_')).unwrap();
    (text.clone(), text[start..start + end].to_string())
}

const RELEASE: [&str; 5] = ["release", "--only", "by clinic", "--integers", "results"];

fn give(folder: &Folder, mark: &str, rows: &[&str]) {
    let rows: String = rows.iter().map(|row| format!("{row},{},1\n", rows.len())).collect();
    folder.write("results/1.csv", &format!("key_0,sum_0,sum_1,cells,{mark}\n{rows}"));
}

/// The entries of the ledger; none where there is no ledger.
fn entries(folder: &Folder) -> Vec<Value> {
    match folder.file("scumble.ledger").exists() {
        true => folder.json(&["ledger", "export"])["entries"].as_array().unwrap().clone(),
        false => Vec::new(),
    }
}

#[test]
fn integers_come_back_and_are_published_with_noise() {
    let folder = folder();
    let (text, mark) = job(&folder, "by clinic");
    assert!(text.contains("NOT PRIVATE") && text.contains("scumble release --only 'by clinic' --integers FOLDER"));
    assert_eq!(job(&folder, "by clinic").0, text, "a job is the same until it is charged");
    assert_ne!(job(&folder, "by town").1, mark);
    assert!(entries(&folder).is_empty(), "printing charges nothing");
    give(&folder, &mark, &["a,7,30"]);
    let measures = folder.json(&["plan", "--json"])["releases"][0]["rule"]["measures"].clone();
    assert_eq!(measures.as_array().unwrap().len(), 2, "{measures}");
    let done = folder.run(&RELEASE);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success() && said.contains("results holds exact numbers, which are not private"), "{said}");
    let published = folder.read("out/by-clinic.csv");
    assert!(published.contains("\na,7,") && published.contains("\nb,0,"), "{published}");
    let reserve = entries(&folder).into_iter().find(|entry| entry["body"]["entry"] == "reserve").unwrap();
    assert_eq!(reserve["body"]["rule"]["hash"], "SHA-256");
    assert_eq!(reserve["body"]["rule"]["job"]["number"].as_str().unwrap(), &mark[12..44]);
    // The same numbers again are refused, whether or not somebody pays for them.
    assert!(folder.stdout(&RELEASE).starts_with("kept: by clinic"));
    let again: Vec<&str> = RELEASE.iter().copied().chain(["--again", "by clinic"]).collect();
    let before = entries(&folder).len();
    folder.refused(&again, 2, "is from a job that was charged before, and each is charged once");
    assert_eq!(entries(&folder).len(), before);
    let (_, next) = job(&folder, "by clinic");
    assert_ne!(next, mark);
    give(&folder, &next, &["a,7,30", "b,1,0"]);
    folder.stdout(&again);
    assert!(folder.read("out/by-clinic.csv").contains("\nb,1,"));
    folder.stdout(&["ledger", "verify"]);
}

/// What can be wrong with integers is said before the charge, in one sentence that quotes no value.
#[test]
fn wrong_integers_are_refused_and_nothing_is_charged() {
    let folder = folder();
    let (_, mark) = job(&folder, "by clinic");
    folder.refused(&RELEASE, 2, "has no file that ends in .csv or .parquet");
    for (rows, words) in [
        (&["a,-1,0"][..], "a negative count"),
        (&["a,1,0", "a,1,0"], "a key that another row has too"),
        (&["z,1,0"], "a key that cannot occur"),
        (&[",1,0"], "row 1 has no key_0"),
        (&["a,1.5,0"], "a sum that is no whole number"),
        (&["a,,0"], "a sum that is no whole number"),
        (&["a,1,31"], "a sum beyond what its rows can bring"),
        (&["a,1,-1"], "a negative count"),
    ] {
        give(&folder, &mark, rows);
        let said = folder.refused(&RELEASE, 2, words);
        assert!(!said.contains("z,") && !said.contains("31"), "{said}");
    }
    // A row is missing, and says so.
    folder.write("results/1.csv", &format!("key_0,sum_0,sum_1,cells,{mark}\na,1,0,2,1\n"));
    folder.refused(&RELEASE, 2, "a file or a row is missing, or is there twice");
    // A file that is cut off after its header is not an empty result: an empty result has a row that says so.
    folder.write("results/1.csv", &format!("key_0,sum_0,sum_1,cells,{mark}\n"));
    folder.refused(&RELEASE, 2, "a file or a row is missing, or is there twice");
    folder.write("results/1.csv", &format!("key_0,sum_0,sum_1,cells,{mark}\na,1,0,0,1\n"));
    folder.refused(&RELEASE, 2, "a file or a row is missing, or is there twice");
    folder.write("results/1.csv", "key_0,sum_0,sum_1,cells\na,1,0,1\n");
    folder.refused(&RELEASE, 2, "or has no header");
    folder.write("results/1.csv", &format!("key_0,sum_0,cells,{mark}\na,1,1,1\n"));
    folder.refused(&RELEASE, 2, "has no column 'sum_1'");
    folder.write("results/1.csv", &format!("key_0,sum_0,sum_1,cells,{mark}\n\"a,1,0,1,1\n"));
    folder.refused(&RELEASE, 2, "the quotes that begin in line 2");
    folder.write("results/1.parquet", "no Parquet");
    fs::remove_file(folder.file("results/1.csv")).unwrap();
    folder.refused(&RELEASE, 2, "cannot be read as a Parquet file");
    fs::remove_file(folder.file("results/1.parquet")).unwrap();
    // A changed query is another job; so is that of another release.
    give(&folder, &mark, &["a,1,0"]);
    folder.refused(&["release", "--only", "by town", "--integers", "results"], 2, "is from another job");
    folder.write("scumble.toml", &PROJECT.replace("GROUP BY clinic", "WHERE cost > 1 GROUP BY clinic"));
    folder.refused(&RELEASE, 2, "is from another job: since it was printed, the query, the bounds");
    folder.write("scumble.toml", &PROJECT.replace("max_rows_per_group = 2", "max_rows_per_group = 1"));
    folder.refused(&RELEASE, 2, "is from another job");
    assert!(
        !folder.file("scumble.ledger").exists() || entries(&folder).iter().all(|one| one["body"]["entry"] != "reserve")
    );
}

#[test]
fn unknown_keys_need_an_owner_and_kinds_that_need_rows_have_no_job() {
    let folder = folder();
    let (_, mark) = job(&folder, "by town");
    let release = ["release", "--only", "by town", "--integers", "results"];
    folder.write("results/1.csv", &format!("key_0,sum_0,cells,{mark}\nulm,0,1,1\n"));
    folder.refused(&release, 2, "a key that nobody has");
    folder.write("results/1.csv", &format!("cells,{mark},key_0,sum_0\n2,1,\"o\"\"x\",400\n2,1,\"\",300\n"));
    folder.stdout(&release);
    let csv = folder.read("out/by-town.csv");
    assert!(csv.contains("400") && csv.contains("300"), "{csv}");
    folder.refused(&["integers", "middle", "--dialect", "spark"], 2, "is of kind quantiles, which needs rows");
    folder.refused(&["integers", "by tow", "--dialect", "spark"], 2, "did you mean 'by town'");
    folder.refused(&["release", "--integers", "results"], 2, "--only");
    let two = ["release", "--only", "by town", "--only", "by clinic", "--integers", "results"];
    folder.refused(&two, 2, "takes the integers of one release");
}

const SERVED: &str = r#"
[dataset.visits]
source = "SOURCE"
owner = "person"
max_rows_per_owner = 4
max_groups_per_owner = 2
max_rows_per_group = 2
[dataset.visits.columns]
clinic = { type = "category", values = ["a", "b"] }
cost = { type = "float", lower = 0, upper = 10, granularity = 0.5 }
[dataset.homes]
source = "homes.csv"
owner = "person"
max_rows_per_owner = 1
[dataset.homes.columns]
area = { type = "category", values = ["n"] }
[[release]]
name = "by clinic"
sql = "SELECT clinic, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY clinic"
cost = { epsilon = 1e6, delta = 1e-6 }
[[release]]
name = "middle"
kind = "quantiles"
table = "visits"
column = "cost"
quantiles = [0.5]
cost = { epsilon = 1 }
[[release]]
name = "joined"
sql = "SELECT h.area, COUNT(*) AS n FROM visits v JOIN homes h ON v.person = h.person GROUP BY h.area"
cost = { epsilon = 1 }
"#;

/// A run with this password.
fn with_password(folder: &Folder, password: &str, arguments: &[&str]) -> std::process::Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_scumble"));
    command.env("PGPASSWORD", password).env("HOME", folder.path()).args(arguments).current_dir(folder.path());
    command.output().unwrap()
}

/// A release from a server, and everything that can be wrong with one: nothing is charged, and the server's words,
/// which quote values, are not repeated.
#[test]
fn a_server_computes_integers_and_its_words_are_not_repeated() {
    let Some(mut server) = Postgres::start() else { return };
    server.run(
        "CREATE TABLE visits (person INT, clinic TEXT, cost NUMERIC);
         INSERT INTO visits SELECT i % 50, CASE WHEN i % 3 = 0 THEN 'a' ELSE 'b' END, 2.5 FROM generate_series(1, 100) i;
         CREATE SCHEMA other; CREATE TABLE other.visits (person INT, clinic CHAR(3), cost TEXT);
         CREATE VIEW broken AS SELECT person, clinic, 1 / (person - person) AS cost FROM visits;
         CREATE VIEW odd AS SELECT person, clinic, CASE person % 5 WHEN 0 THEN 1e400 WHEN 1 THEN 1e-400 WHEN 2 THEN 'NaN' WHEN 3 THEN -1e400 ELSE 2.5 END AS cost FROM visits;
         CREATE VIEW nobody AS SELECT * FROM visits WHERE person < 0;
         CREATE ROLE stranger LOGIN PASSWORD 'stranger';",
    );
    let project = |source: &str| {
        Folder::with(&[("scumble.toml", &SERVED.replace("SOURCE", source)), ("homes.csv", "person,area\n1,n\n")])
    };
    let good = server.source("visits");
    let folder = project(&good);
    let release = ["release", "--only", "by clinic"];
    let done = with_password(&folder, PASSWORD, &release);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let csv = folder.read("out/by-clinic.csv");
    // 50 owners with two visits each; all visits count.
    assert!(csv.contains("\na,33,") && csv.contains("\nb,67,"), "{csv}");
    let reserve = entries(&folder).into_iter().find(|entry| entry["body"]["entry"] == "reserve").unwrap();
    assert_eq!(reserve["body"]["rule"]["hash"], "SHA-256");
    assert!(reserve["body"]["rule"]["server"].as_str().unwrap().starts_with("postgres://"));
    assert!(!folder.json(&["ledger", "export"]).to_string().contains("scumble@"), "no user stands in the ledger");

    let refused = |source: &str, password: &str, arguments: &[&str], status: i32, words: &str| {
        let folder = project(source);
        let output = with_password(&folder, password, arguments);
        let said = crate::support::refused(&output, status, words);
        assert!(!said.contains("division") && !said.contains("2.5"), "{said}");
        assert!(entries(&folder).iter().all(|entry| entry["body"]["entry"] != "reserve"), "{said}");
    };
    refused(&good, "wrong", &release, 2, "does not let this user in");
    refused(&good, "", &release, 2, "it asks for a password");
    refused(&good.replace("postgres?", "nothing?"), PASSWORD, &release, 2, "has no such database");
    refused(&good.replace("5439", "5440"), PASSWORD, &release, 1, "cannot be reached");
    refused(&good.replace("scumble@", "stranger@"), "stranger", &release, 2, "does not let this user read");
    refused(&server.source("nothing"), PASSWORD, &release, 2, "there is no \"nothing\" on the server");
    refused(
        &server.source("other.visits"),
        PASSWORD,
        &release,
        2,
        "'clinic' is declared as strings and is of type bpchar",
    );
    refused(&good, PASSWORD, &["release", "--only", "middle"], 2, "is of kind quantiles, which needs rows");
    refused(&good, PASSWORD, &["release", "--only", "joined"], 2, "tables of different backends");
    refused(
        &good.replace("scumble@", "scumble:secret@"),
        PASSWORD,
        &release,
        2,
        "a project file must not hold a password",
    );
    refused(
        "mysql://u@h/d",
        PASSWORD,
        &release,
        2,
        "a source is a file, a folder or \
        postgres://user@host:port/database?table=schema.name; for",
    );
    refused("postgres://u@example.org/d?table=t&sslmode=disable", PASSWORD, &release, 2, "sslmode is verify-full");
    // Numbers of the server that no fraction is near to are no reason to fail: whether a release does would tell that
    // somebody has one.
    for (table, expected) in [("odd", "\na,33,"), ("nobody", "\na,0,")] {
        let folder = project(&server.source(table));
        let done = with_password(&folder, PASSWORD, &release);
        assert!(done.status.success(), "{table}: {}", String::from_utf8_lossy(&done.stderr));
        let csv = folder.read("out/by-clinic.csv");
        assert!(csv.contains(expected), "{table}: {csv}");
    }
    // A failure on a row comes after the charge, with a sentence that says nothing about the row.
    let folder = project(&server.source("broken"));
    let done = with_password(&folder, PASSWORD, &[&release[..], &["--quiet"]].concat());
    crate::support::refused(&done, 1, "failed after it was charged");
    goes_on(
        &server,
        &folder,
        &release,
        "CREATE OR REPLACE VIEW broken AS SELECT person, clinic, 3 AS cost FROM visits;",
    );
    // So does a connection that is lost in the middle of a statement; when it is back, the release goes on with its
    // charge.
    server.run("CREATE VIEW lost AS SELECT person, clinic, cost FROM visits WHERE pg_terminate_backend(pg_backend_pid()); GRANT SELECT ON lost TO scumble;");
    let folder = project(&server.source("lost"));
    let done = with_password(&folder, PASSWORD, &[&release[..], &["--quiet"]].concat());
    crate::support::refused(&done, 1, "failed after it was charged");
    goes_on(&server, &folder, &release, "CREATE OR REPLACE VIEW lost AS SELECT person, clinic, cost FROM visits;");
    server.stop();
    refused(&good, PASSWORD, &release, 1, "cannot be reached");
}

/// Mends a table, releases again, and sees that nothing more was charged.
fn goes_on(server: &Postgres, folder: &Folder, release: &[&str], mended: &str) {
    let charges = || entries(folder).iter().filter(|entry| entry["body"]["entry"] == "reserve").count();
    assert_eq!(charges(), 1);
    server.run(mended);
    let done = with_password(folder, PASSWORD, release);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.contains("used that charge, and nothing more was charged"), "{said}");
    assert_eq!(charges(), 1);
    assert!(folder.read("out/by-clinic.csv").lines().count() > 1);
}

/// A server is believed by its certificate: one of a trusted authority, for the name by which it is called.
#[test]
fn a_server_is_spoken_to_behind_a_certificate_that_is_verified() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let Some(server) = Postgres::start_with_tls(port) else { return };
    server.run("CREATE TABLE visits (person INT, clinic TEXT, cost NUMERIC); INSERT INTO visits SELECT i, 'a', 2.5 FROM generate_series(1, 40) i;");
    let release = |host: &str, options: &str| {
        let source = format!("postgres://scumble@{host}:{port}/postgres?table=visits{options}");
        let folder = Folder::with(&[("scumble.toml", &SERVED.replace("SOURCE", &source))]);
        let output = with_password(&folder, PASSWORD, &["release", "--only", "by clinic"]);
        (folder, output)
    };
    let file = |name: &str| format!("&sslmode=verify-full&sslrootcert={}", server.folder().join(name).display());
    let (folder, done) = release("localhost", &file("ca.pem"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(folder.read("out/by-clinic.csv").contains("\na,40,"), "{}", folder.read("out/by-clinic.csv"));
    let not = "its certificate is not one that is trusted for this name";
    for (host, options, words) in [
        ("localhost", file("other.pem"), not),
        ("127.0.0.1", file("ca.pem"), not),
        ("localhost", "&sslmode=verify-full".to_string(), not),
        ("localhost", file("server.key"), "there are no certificates to trust"),
    ] {
        let (folder, output) = release(host, &options);
        crate::support::refused(&output, 2, words);
        assert!(entries(&folder).is_empty());
    }
    // One that speaks no TLS is not spoken to.
    let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let deaf = door.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut stream, _) = door.accept().unwrap();
        stream.read_exact(&mut [0; 8]).unwrap();
        stream.write_all(b"N").unwrap();
    });
    let source = format!("postgres://scumble@localhost:{deaf}/postgres?table=visits{}", file("ca.pem"));
    let folder = Folder::with(&[("scumble.toml", &SERVED.replace("SOURCE", &source))]);
    let refused = with_password(&folder, PASSWORD, &["release", "--only", "by clinic"]);
    crate::support::refused(&refused, 2, "it does not support TLS");
}

/// The default build has no clusters, and says what has.
#[test]
fn clusters_are_a_feature_of_the_program() {
    let folder = folder();
    let how =
        "this program was built without clusters: build it with cargo install --path crates/cli --features cluster";
    folder.refused(&["cluster", "scheduler"], 2, how);
    folder.refused(&["cluster", "executor", "--threads", "2"], 2, how);
    folder.write("scumble.toml", &format!("[engine]\ncluster = \"ballista://127.0.0.1:50050\"\n{PROJECT}"));
    folder.refused(&["release", "--only", "by clinic"], 2, how);
    // What needs rows would read them here.
    folder.refused(&["release", "--only", "middle"], 2, "is of kind quantiles, which needs rows");
    let asked = "[[release]]\nname = \"asked\"\nkind = \"interactive\"\ntable = \"visits\"\ncolumns = [\"clinic\"]\npeople = 100\ncost = { epsilon = 1 }\n";
    folder.write("scumble.toml", &format!("[engine]\ncluster = \"ballista://127.0.0.1:50050\"\n{PROJECT}{asked}"));
    folder.refused(&["ask", "asked", "clinic = 'a'"], 2, "needs rows, which remote backends do not");
    assert!(entries(&folder).is_empty());
    // Costs are the same wherever it is computed.
    assert!(folder.stdout(&["plan", "--details"]).contains("by clinic"));
}

#[test]
fn an_address_of_a_cluster_is_a_host_and_a_port() {
    let folder = folder();
    let said = |engine: &str, words: &str| {
        folder.write("scumble.toml", &format!("[engine]\n{engine}\n{PROJECT}"));
        let sentence = folder.refused(&["plan"], 2, words);
        assert!(sentence.contains("scumble.toml:"), "{sentence}");
    };
    said(
        "cluster = \"spark://here\"",
        "only clusters of Apache Ballista are supported; write it as \
        ballista://host:50050",
    );
    said("cluster = \"ballista://\"", "the address has no host");
    said("cluster = \"ballista://me@here:1\"", "the address has no host, or more than a host and a port");
    said("cluster = \"ballista://here:many\"", "the port is not a number");
    said("timeout = 5", "cluster");
    said("cluster = \"ballista://here\"\ntimeout = 100000", "at most 86400 seconds");
    said("cluster = \"ballista://here\"\nexecutors = 5", "executors");
}
