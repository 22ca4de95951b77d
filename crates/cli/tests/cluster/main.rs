//! Releases on a cluster of Apache Ballista: a scheduler and executors as processes of their own, on this machine.
//!
//! Run with `cargo test -p scumble-cli --features cluster-tests --test cluster`: the default build has no clusters.

#[allow(dead_code, reason = "helpers of all tests of the program")]
#[path = "../it/support.rs"]
mod support;
mod whole;

use scumble_cluster::datafusion::dataframe::DataFrameWriteOptions;
use scumble_cluster::datafusion::prelude::{SessionConfig, SessionContext};
use scumble_engine::project::{Project, Request};
use scumble_engine::release::integers_of_both;
use scumble_testing::other_engines::{BOUNDS, PROJECT, QUERIES, tables};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::{Folder, refused};

/// A process that is gone with its test.
struct Node {
    process: Child,
    address: String,
}

impl Node {
    /// Starts one, and waits for the line with its address.
    fn of(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: serde_json::Value = serde_json::from_str(&line).unwrap();
        Self { process, address: said["address"].as_str().unwrap().to_string() }
    }

    fn scheduler() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scumble"));
        command.args(["cluster", "scheduler", "--listen", "127.0.0.1:0", "--json"]);
        Self::of(command)
    }

    fn executor(scheduler: &Self) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scumble"));
        command.args(["cluster", "executor", "--scheduler", &scheduler.address, "--threads", "2", "--json"]);
        Self::of(command)
    }

    fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A scheduler with two executors.
struct Cluster {
    scheduler: Node,
    executors: [Node; 2],
}

impl Cluster {
    fn start() -> Self {
        let scheduler = Node::scheduler();
        let executors = [Node::executor(&scheduler), Node::executor(&scheduler)];
        Self { scheduler, executors }
    }

    fn engine(&self) -> String {
        engine(&self.scheduler.address)
    }
}

fn engine(address: &str) -> String {
    format!("[engine]\ncluster = \"ballista://{address}\"\n")
}

/// The results of queries as Parquet: each a folder of three files, so that executors have parts to share.
fn written(statements: &str, tables: &[(&str, &str)], folder: &Path) {
    let runtime = tokio::runtime::Builder::new_multi_thread().thread_stack_size(32 << 20).build().unwrap();
    runtime.block_on(async {
        let config = SessionConfig::new().with_target_partitions(3).with_batch_size(100_000);
        let context = SessionContext::new_with_config(config);
        for statement in statements.split(";\n").filter(|statement| !statement.trim().is_empty()) {
            context.sql(statement).await.unwrap().collect().await.unwrap();
        }
        for (name, query) in tables {
            let path = folder.join(format!("{name}/"));
            let frame = context.sql(query).await.unwrap();
            frame.write_parquet(&path.display().to_string(), DataFrameWriteOptions::new(), None).await.unwrap();
        }
    });
}

#[test]
fn a_cluster_gives_the_integers_of_our_pass() {
    scumble_cluster::install();
    let cluster = Cluster::start();
    let folder = Folder::with(&[]);
    let names = ["visits", "homes", "trips", "people"];
    let queries = names.map(|name| format!("SELECT * FROM {name}"));
    let listed: Vec<(&str, &str)> = names.into_iter().zip(queries.iter().map(String::as_str)).collect();
    written(&tables().1, &listed, folder.path());
    for bounds in BOUNDS {
        let text = names.iter().fold(PROJECT.replace("BOUNDS", bounds), |text, name| {
            text.replace(&format!("source = \"{name}.csv\""), &format!("source = \"{name}\""))
        });
        folder.write("here.toml", &text);
        folder.write("there.toml", &format!("{}{text}", cluster.engine()));
        let (here, there) = (project(&folder, "here.toml"), project(&folder, "there.toml"));
        let mut answered = 0;
        // Each takes some seconds: all of them under the tightest bounds, some under the others.
        let some = if bounds == BOUNDS[1] { QUERIES.len() } else { 4 };
        for (index, sql) in QUERIES.iter().enumerate().take(some) {
            let request = Request::sql(&format!("q{index}"), sql, &"epsilon=1,delta=1e-6".parse().unwrap()).unwrap();
            // Some bounds refuse some queries.
            if scumble_engine::release::Runner::new(&here).plan(&request).is_err() {
                continue;
            }
            let both = integers_of_both(&request, &here, &there).unwrap_or_else(|error| panic!("{sql}: {error}"));
            assert!(!both.is_empty());
            both.into_iter().for_each(|(theirs, ours)| assert_eq!(theirs, ours, "{bounds}\n{sql}"));
            answered += 1;
        }
        assert!(answered >= some.min(13), "{answered} of the queries are answered");
    }
}

fn project(folder: &Folder, name: &str) -> Project {
    Project::open(&folder.file(name)).unwrap()
}

/// Visits of 1,000 owners per 100,000 rows, and all of them count. At ε = 10^6 there is no noise.
const VISITS: &str = r#"
[budget]
person = { epsilon = 1e7, delta = 1e-3 }
[dataset.visits]
source = "visits"
owner = "person"
max_rows_per_owner = 200
max_groups_per_owner = 4
max_rows_per_group = 200
[dataset.visits.columns]
clinic = { type = "category", values = ["a", "b", "c", "d"] }
cost = { type = "int", lower = 0, upper = 10 }
[[release]]
name = "by clinic"
sql = "SELECT clinic, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY clinic"
cost = { epsilon = 1e6 }
[[release]]
name = "middle"
kind = "quantiles"
table = "visits"
column = "cost"
quantiles = [0.5]
cost = { epsilon = 1 }
"#;

/// A folder with that many visits, and a project on this cluster.
fn visits(rows: usize, engine: &str) -> Folder {
    let folder = Folder::with(&[("scumble.toml", &format!("{engine}{VISITS}"))]);
    let one = format!(
        "SELECT 'p' || CAST(value / 100 AS VARCHAR) AS person, SUBSTR('abcd', CAST(value % 4 + 1 AS INT), 1) AS clinic, CAST(value % 7 AS INT) AS cost FROM generate_series(0, {})",
        rows - 1
    );
    written("", &[("visits", &one)], folder.path());
    folder
}

fn answers(folder: &Folder) -> String {
    std::fs::read_to_string(folder.file("out/by-clinic.csv")).unwrap()
}

/// The rows of the answer, without error bars.
fn counted(folder: &Folder) -> Vec<(String, u64, u64)> {
    let text = answers(folder);
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| names.iter().position(|other| *other == name).unwrap();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |name: &str| fields[place(name)].parse().unwrap();
        (fields[place("clinic")].to_string(), number("n"), number("s"))
    };
    lines.map(row).collect()
}

/// What is true of that many visits.
fn true_of(rows: u64) -> Vec<(String, u64, u64)> {
    let of = |clinic: u64| (clinic..rows).step_by(4);
    let all = ["a", "b", "c", "d"].into_iter().zip(0..);
    all.map(|(name, clinic)| (name.to_string(), of(clinic).count() as u64, of(clinic).map(|row| row % 7).sum()))
        .collect()
}

#[test]
fn a_release_on_a_cluster_is_one_like_any_other() {
    let cluster = Cluster::start();
    let folder = visits(40_000, &cluster.engine());
    folder.stdout(&["release", "--only", "by clinic"]);
    assert_eq!(counted(&folder), true_of(40_000));
    let ledger = folder.stdout(&["ledger", "export"]);
    assert!(ledger.contains("SHA-256") && ledger.contains(&format!("ballista://{}", cluster.scheduler.address)));
    assert!(folder.stdout(&["ledger", "verify"]).contains("1"));
    // What needs rows is not computed there, and they are not brought here.
    let sentence = refused(&folder.run(&["release", "--only", "middle"]), 2, "is of kind quantiles, which needs rows");
    assert!(sentence.contains("middle"), "{sentence}");
    assert_eq!(folder.json(&["ledger", "show", "--json"])["releases"].as_array().unwrap().len(), 1);
}

/// What files are called makes no difference, nor do types of owners: what is counted there is what is counted here.
#[test]
fn names_and_owners_of_all_kinds_are_those_that_are_read_here() {
    const ODD: &str = r#"
[budget]
person = { epsilon = 1e7, delta = 1e-3 }
[dataset.homes]
source = "h[1]*.parquet"
owner = "person"
max_rows_per_owner = 1
[dataset.homes.columns]
area = { type = "category", values = ["n", "s"] }
[dataset."a b"]
source = "v?.PARQUET"
owner = "person"
max_rows_per_owner = 1
[dataset."a b".columns]
cost = { type = "int", lower = 0, upper = 10 }
paid = { type = "float", lower = 0, upper = 10, granularity = 0.25 }
"#;
    let cluster = Cluster::start();
    let folder = Folder::with(&[("here.toml", ODD), ("there.toml", &format!("{}{ODD}", cluster.engine()))]);
    // '1', '01' and '001' are three persons, one of whom is the person 1.
    written(
        "",
        &[
            ("homes", "SELECT * FROM (VALUES ('1', 'n'), ('01', 'n'), ('001', 'n'), ('7', 's')) t (person, area)"),
            (
                "visits",
                "SELECT person, cost, CAST(paid AS DECIMAL(9, 2)) AS paid FROM (VALUES (1, 3, 0.75), (7, 4, 2.5), (8, 5, 99)) t (person, cost, paid)",
            ),
        ],
        folder.path(),
    );
    for (made, name) in [("homes", "h[1]*.parquet"), ("visits", "v?.PARQUET")] {
        let file = std::fs::read_dir(folder.file(made)).unwrap().next().unwrap().unwrap().path();
        std::fs::copy(file, folder.file(name)).unwrap();
    }
    // Beside them lies what nobody asked for.
    std::fs::copy(folder.file("h[1]*.parquet"), folder.file("h1.parquet")).unwrap();
    let count = |project: &str, sql: &str| {
        let arguments = [
            "query",
            sql,
            "--project",
            project,
            "--cost",
            "epsilon=1e6",
            "--ledger",
            &format!("{project}.db"),
            "--json",
        ];
        folder.json(&arguments)["rows"][0]["n"].as_f64().unwrap()
    };
    for (sql, expected) in [
        ("SELECT COUNT(*) AS n FROM homes", 4.0),
        ("SELECT COUNT(*) AS n FROM \"a b\"", 3.0),
        ("SELECT COUNT(*) AS n FROM homes h JOIN \"a b\" v ON v.person = h.person", 2.0),
        ("SELECT SUM(paid) AS n FROM \"a b\"", 13.25),
        // A join whose one side is empty need not read the other.
        ("SELECT COUNT(*) AS n FROM homes h JOIN \"a b\" v ON v.person = h.person WHERE v.cost > 9", 0.0),
    ] {
        assert_eq!((count("here.toml", sql), count("there.toml", sql)), (expected, expected), "{sql}");
    }
}

/// Rows on their way are nobody else's to read, and those of an executor that was killed go when the next one starts.
#[test]
fn work_folders_are_their_owners() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::with(&[]);
    let scheduler = Node::scheduler();
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scumble"));
        command.args(["cluster", "executor", "--scheduler", &scheduler.address, "--json", "--work-folder"]);
        command.arg(folder.path());
        Node::of(command)
    };
    let inside = || std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let mut first = start();
    let [own] = &inside()[..] else { panic!("{:?}", inside()) };
    assert_eq!(std::fs::metadata(own).unwrap().permissions().mode() & 0o777, 0o700);
    first.kill();
    let second = start();
    assert!(!inside().contains(own) && inside().len() == 1, "{:?}", inside());
    drop(second);
}

/// An executor dies while a statement runs: another does its work again, and the integers are the same. (Ballista 55
/// counts rows twice then, depending on the moment: so there are several.) On a quick machine a statement is done
/// before anything can die, and a longer one is tried.
#[test]
fn the_work_of_an_executor_that_is_killed_is_done_again() {
    for delay in [1100, 1500, 1900].map(Duration::from_millis) {
        let is_killed = |rows| killed_in_the_middle(rows, delay);
        assert!([150_000, 600_000, 2_400_000].into_iter().any(is_killed), "every statement was too quick");
    }
}

/// Whether an executor was killed while this many rows were read, so long after the charge; then the answer was that of
/// all of them. A statement that did not get over it says so, and is gone on with for the same charge when there is an
/// executor again.
fn killed_in_the_middle(rows: usize, delay: Duration) -> bool {
    let mut cluster = Cluster::start();
    let folder = visits(rows, &format!("{}timeout = 180\n", cluster.engine()));
    let begun = Instant::now();
    let release = ["release", "--only", "by clinic"];
    let mut running = Command::new(env!("CARGO_BIN_EXE_scumble"))
        .args(release)
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The charge is there before the statement runs: then it runs, for seconds.
    while !folder.file("scumble.ledger").exists() && begun.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(delay);
    let is_done = running.try_wait().unwrap().is_some();
    cluster.executors[0].kill();
    let ended = running.wait_with_output().unwrap();
    if !ended.status.success() {
        eprintln!("a statement did not get over the death of an executor");
        assert!(String::from_utf8_lossy(&ended.stderr).contains("failed after it was charged"), "{ended:?}");
        cluster.executors[0] = Node::executor(&cluster.scheduler);
        let again = folder.run(&release);
        assert!(again.status.success(), "{again:?}");
    }
    assert_eq!(counted(&folder), true_of(rows as u64));
    let ledger = folder.run(&["ledger", "--json"]);
    assert_eq!(String::from_utf8_lossy(&ledger.stdout).matches("\"release\": \"by clinic\"").count(), 1, "{ledger:?}");
    !is_done
}

#[test]
fn what_is_wrong_with_a_cluster_is_said_before_anything_is_charged() {
    // Nobody listens there.
    let folder = visits(1000, &engine("127.0.0.1:1"));
    let release = ["release", "--only", "by clinic"];
    refused(&folder.run(&release), 1, "the cluster ballista://127.0.0.1:1 is not there");
    // A scheduler without executors.
    let scheduler = Node::scheduler();
    let idle = format!("{}timeout = 3\n", engine(&scheduler.address));
    folder.write("scumble.toml", &format!("{idle}{VISITS}"));
    refused(&folder.run(&release), 1, "has no executor that takes work: start one (scumble setup cluster executor)");
    // No executor where no scheduler is.
    let lost = folder.run(&["cluster", "executor", "--scheduler", "127.0.0.1:1"]);
    assert!(String::from_utf8_lossy(&lost.stderr).contains("there is no scheduler at 127.0.0.1:1"), "{lost:?}");
    refused(&folder.run(&["cluster", "scheduler", "--listen", "0.0.0.0:0"]), 2, "--insecure-network");
    refused(&folder.run(&["cluster", "executor", "--scheduler", "there"]), 2, "--scheduler must be HOST:PORT");
    // With an executor: what the files do not have.
    let executor = Node::executor(&scheduler);
    let said = |project: &str, status: i32, words: &str| {
        folder.write("scumble.toml", &format!("{}{project}", engine(&scheduler.address)));
        refused(&folder.run(&release), status, words);
    };
    said(
        &VISITS.replace("cost = { type", "price = { type").replace("SUM(cost)", "SUM(price)"),
        2,
        "there is no column 'price'",
    );
    said(
        &VISITS.replace("type = \"int\", lower = 0, upper = 10", "type = \"bool\"").replace("SUM(cost)", "COUNT(cost)"),
        2,
        "column 'cost' is declared as true or false and is of type Int32 in its file",
    );
    folder.write("visits.csv", "person,clinic,cost\nx,a,1\n");
    said(&VISITS.replace("source = \"visits\"", "source = \"visits.csv\""), 2, "a cluster reads Parquet files");
    said(&VISITS.replace("source = \"visits\"", "source = \"gone.parquet\""), 2, "there is no file or folder");
    folder.write("bad.parquet", "no Parquet");
    said(&VISITS.replace("source = \"visits\"", "source = \"bad.parquet\""), 2, "bad.parquet");
    // Links, and files with other columns.
    let one = std::fs::read_dir(folder.file("visits")).unwrap().next().unwrap().unwrap().path();
    std::fs::create_dir(folder.file("twice")).unwrap();
    std::fs::copy(&one, folder.file("twice/a.parquet")).unwrap();
    std::fs::hard_link(folder.file("twice/a.parquet"), folder.file("twice/b.parquet")).unwrap();
    said(
        &VISITS.replace("source = \"visits\"", "source = \"twice\""),
        2,
        "are the same file: its rows would count twice",
    );
    std::fs::remove_file(folder.file("twice/b.parquet")).unwrap();
    written("", &[("other", "SELECT arrow_cast('x', 'Utf8View') AS person, 1 AS cost")], folder.path());
    let other = std::fs::read_dir(folder.file("other")).unwrap().next().unwrap().unwrap().path();
    std::fs::copy(&other, folder.file("twice/c.parquet")).unwrap();
    said(&VISITS.replace("source = \"visits\"", "source = \"twice\""), 2, "there is no column 'clinic' in");
    let taken = VISITS.replace("dataset.visits", "dataset.scumble_rows").replace("FROM visits", "FROM scumble_rows");
    said(&taken.replace("table = \"visits\"", "table = \"scumble_rows\""), 2, "names that begin with scumble_");
    let dotted = VISITS.replace("dataset.visits", "dataset.\"v.w\"").replace("FROM visits", "FROM \\\"v.w\\\"");
    said(&dotted.replace("table = \"visits\"", "table = \"v.w\""), 2, "splits a name at its point");
    // Somebody else listens there.
    let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    folder.write("scumble.toml", &format!("{}timeout = 5\n{VISITS}", engine(&door.local_addr().unwrap().to_string())));
    std::thread::spawn(move || door.incoming().for_each(drop));
    refused(&folder.run(&release), 1, "does not answer as a scheduler of Apache Ballista 55");
    assert!(!folder.file("out").exists() && !folder.file("scumble.ledger").exists());
    drop(executor);
}

/// An executor in a world of its own, in which the folder is empty.
#[test]
fn an_executor_that_does_not_see_the_files_is_noticed_before_the_charge() {
    let can_hide = Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success());
    if !can_hide {
        eprintln!("skipped: no world of its own can be made for a process here (unshare -m)");
        return;
    }
    let scheduler = Node::scheduler();
    let folder = visits(1000, &engine(&scheduler.address));
    let hidden = folder.file("visits").canonicalize().unwrap();
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", "mount -t tmpfs none \"$0\" && exec \"$@\""]).arg(&hidden);
    command.arg(env!("CARGO_BIN_EXE_scumble"));
    command.args(["cluster", "executor", "--scheduler", &scheduler.address, "--json"]);
    let executor = Node::of(command);
    refused(&folder.run(&["release", "--only", "by clinic"]), 1, "cannot open the tables' files");
    assert!(!folder.file("scumble.ledger").exists());
    drop(executor);
}
