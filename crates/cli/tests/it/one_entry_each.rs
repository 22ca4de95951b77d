//! No more is seen than the ledger knows: whatever is copied, put back, locked or killed, the entries `drawn` are at least as many as the different answers that anybody has seen.

use crate::support::{Folder, digest, effort};
use rusqlite::Connection;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Loaded before the program, it kills it at the n-th call that changes a file or says something. Between two of these nothing changes that anybody could see: a kill at each of them is a kill at every system call.
const KILLER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
static atomic_long calls;
static void step(void) {
    static atomic_long at = -1;
    if (at < 0) at = getenv("KILL_AT") ? atol(getenv("KILL_AT")) : 0;
    if (atomic_fetch_add(&calls, 1) + 1 == at) kill(getpid(), SIGKILL);
}
#define NEXT(name) static __typeof__(name) *next; if (!next) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); step();
ssize_t write(int a, const void *b, size_t c) { NEXT(write) return next(a, b, c); }
ssize_t writev(int a, const struct iovec *b, int c) { NEXT(writev) return next(a, b, c); }
ssize_t pwrite(int a, const void *b, size_t c, off_t d) { NEXT(pwrite) return next(a, b, c, d); }
ssize_t pwrite64(int a, const void *b, size_t c, off64_t d) { NEXT(pwrite64) return next(a, b, c, d); }
ssize_t send(int a, const void *b, size_t c, int d);
ssize_t send(int a, const void *b, size_t c, int d) { NEXT(send) return next(a, b, c, d); }
int ftruncate(int a, off_t b) { NEXT(ftruncate) return next(a, b); }
int ftruncate64(int a, off64_t b) { NEXT(ftruncate64) return next(a, b); }
int fsync(int a) { NEXT(fsync) return next(a); }
int fdatasync(int a) { NEXT(fdatasync) return next(a); }
int rename(const char *a, const char *b) { NEXT(rename) return next(a, b); }
int unlink(const char *a) { NEXT(unlink) return next(a); }
int link(const char *a, const char *b) { NEXT(link) return next(a, b); }
int linkat(int a, const char *b, int c, const char *d, int e) { NEXT(linkat) return next(a, b, c, d, e); }
int mkdir(const char *a, mode_t b);
int mkdir(const char *a, mode_t b) { NEXT(mkdir) return next(a, b); }
__attribute__((destructor)) static void ended(void) {
    char *name = getenv("KILL_COUNT"), text[32];
    int file = name ? open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    if (file >= 0) dprintf(file, "%ld", atomic_load(&calls)), close(file);
}
"#;

/// Where the killer is; none where nothing can compile it.
fn killer() -> Option<&'static Path> {
    static KEPT: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let made = KEPT.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let (source, library) = (folder.path().join("killer.c"), folder.path().join("killer.so"));
        fs::write(&source, KILLER).unwrap();
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-w", "-o"])
            .args([&library, &source])
            .arg("-ldl")
            .output();
        if !compiled.is_ok_and(|output| output.status.success()) {
            eprintln!("NOT TESTED: no C compiler, so nothing is killed at single system calls");
            return None;
        }
        Some((folder, library))
    });
    made.as_ref().map(|(_, library)| library.as_path())
}

/// The program, which will be killed at a call; at none for 0.
fn program(folder: &Folder, arguments: &[&str], at: u64) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scumble"));
    command
        .args(arguments)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(killer) = killer() {
        command.env("LD_PRELOAD", killer).env("KILL_AT", at.to_string());
    }
    command
}

/// How many calls there are at which a run can be killed.
fn calls(folder: &Folder, arguments: &[&str]) -> u64 {
    let output = program(folder, arguments, 0).env("KILL_COUNT", folder.file("calls")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let calls = folder.read("calls").parse().unwrap();
    assert!(calls > 20, "the program does not come by the killer");
    calls
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let (entry, place) = {
            let entry = entry.unwrap();
            (entry.path(), to.join(entry.file_name()))
        };
        if entry.is_dir() {
            fs::create_dir(&place).unwrap();
            copy(&entry, &place);
        } else {
            fs::copy(&entry, &place).unwrap();
        }
    }
}

/// What anybody has seen, by the name of the release.
#[derive(Default, Debug)]
struct Seen(BTreeMap<String, BTreeSet<String>>);

impl Seen {
    fn look(&mut self, name: &str, what: String) {
        self.0.entry(name.to_string()).or_default().insert(what);
    }

    /// The answers to questions: those in the table of release `r`, and those on a standard output.
    fn look_at_answers(&mut self, folder: &Folder, printed: &[u8]) {
        let table = fs::read_to_string(folder.file("out/r.csv")).unwrap_or_default();
        for row in table.lines().skip(1).filter(|row| !row.ends_with("not checked")) {
            let question = row.rfind('"').map_or(0, |end| end + 1);
            let question = question + row[question..].find(',').unwrap();
            let answer = row[question + 1..].split(',').next().unwrap();
            self.look("r", format!("{} = {answer}", row[..question].trim_matches('"')));
        }
        for line in String::from_utf8_lossy(printed).lines() {
            let Ok(shown) = serde_json::from_str::<Value>(line) else { continue };
            if shown["how"] != "not checked" {
                self.look("r", format!("{} = {}", shown["question"].as_str().unwrap(), shown["answer"]));
            }
        }
    }

    /// All tables in the folder of outputs, whole.
    fn look_at_tables(&mut self, folder: &Folder, _: &[u8]) {
        for entry in fs::read_dir(folder.file("out")).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "csv" || end == "json") && !path.ends_with("report.json") {
                let (stem, end) =
                    (path.file_stem().unwrap().to_str().unwrap(), path.extension().unwrap().to_str().unwrap());
                self.look(&format!("{stem}.{end}"), digest(&fs::read(&path).unwrap()));
            }
        }
    }

    /// The ledger is whole, and has an entry `drawn` for each thing that was seen.
    fn is_in_the_ledger(&self, folder: &Folder, project: &str, what: &str) {
        folder.stdout(&["ledger", "verify", project]);
        let export = folder.json(&["ledger", "export", project]);
        let bodies: Vec<&Value> = export["entries"].as_array().unwrap().iter().map(|entry| &entry["body"]).collect();
        let mut drawn: BTreeMap<&str, usize> = BTreeMap::new();
        for body in bodies.iter().filter(|body| body["entry"] == "drawn") {
            let of = body["of"].as_u64().unwrap() as usize;
            *drawn.entry(bodies[of - 1]["release"].as_str().unwrap()).or_default() += 1;
        }
        for (name, seen) in &self.0 {
            let entries = drawn.get(name.split('.').next().unwrap()).copied().unwrap_or(0);
            assert!(
                seen.len() <= entries,
                "{what}: {} different answers were seen of {name}, and {entries} are drawn: {seen:?}",
                seen.len()
            );
        }
    }
}

fn states(folder: &Folder) -> Vec<(PathBuf, Vec<u8>)> {
    let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|end| end == "state"))
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

fn put_back(place: &Path, state: &[u8]) {
    fs::write(place, state).unwrap();
    fs::set_permissions(place, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Kills a run at some of its calls, or all; puts back every state that was ever beside the ledger, and runs `again` after each. `few` calls are tried where little is asked of the tests.
fn killed_everywhere(
    what: &str,
    before: &Folder,
    run: &[&str],
    again: &[&str],
    few: u64,
    look: fn(&mut Seen, &Folder, &[u8]),
) {
    if killer().is_none() {
        return;
    }
    let fresh = || {
        let folder = Folder::with(&[]);
        copy(before.path(), folder.path());
        folder
    };
    let all = calls(&fresh(), run);
    let some = effort(few, all).min(all);
    println!("{what}: {some} of {all} calls");
    let mut died = 0;
    // The last calls are the interesting ones: what is there before the charge makes nothing to see.
    for turn in 0..some {
        let at = all - turn * all / some;
        let (folder, mut seen) = (fresh(), Seen::default());
        let mut ever = states(&folder);
        look(&mut seen, &folder, &[]);
        let killed = program(&folder, run, at).output().unwrap();
        died += usize::from(!killed.status.success());
        look(&mut seen, &folder, &killed.stdout);
        let mut next = 0;
        loop {
            ever.extend(states(&folder).into_iter().filter(|state| !ever.contains(state)).collect::<Vec<_>>());
            let Some((name, state)) = ever.get(next).filter(|_| next < 4) else { break };
            put_back(&folder.path().join(name.file_name().unwrap()), state);
            let output = folder.run(again);
            look(&mut seen, &folder, &output.stdout);
            next += 1;
        }
        if next == 0 {
            look(&mut seen, &folder, &folder.run(again).stdout);
        }
        if folder.file("scumble.ledger").exists() {
            seen.is_in_the_ledger(&folder, "scumble.toml", &format!("{what}, killed at call {at} of {all}"));
        }
    }
    assert!(died > 0, "{what}: nobody was killed");
}

/// 2000 people who are all alike, where the model expects them to differ. A measured answer has noise of scale 17: two of them are seldom the same.
fn asked() -> Folder {
    let rows = "0,true,f\n".repeat(2000);
    let project = "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\nage = { type = \"int\", lower = 0, upper = 3 }\nsmokes = { type = \"bool\" }\n\
        sex = { type = \"category\", values = [\"f\", \"m\"] }\n[[release]]\nname = \"r\"\ntable = \"people\"\nkind = \"interactive\"\ncolumns = [\"age\", \"smokes\", \"sex\"]\nmissing = \"never\"\n\
        people = 2000\nquestions = 100\nupdates = 50\ncost = { epsilon = 10 }\n";
    Folder::with(&[("people.csv", &format!("age,smokes,sex\n{rows}")), ("scumble.toml", project)])
}

const NEAR: &str = "age >= 0";
const FAR: &str = "smokes AND sex = 'f' AND age = 0";
const ASK: [&str; 4] = ["ask", "r", FAR, "--json"];
const STATE: &str = "scumble.ledger.r.state";

fn entries(folder: &Folder, kind: &str) -> usize {
    let all = folder.json(&["ledger", "export"]);
    all["entries"].as_array().unwrap().iter().filter(|entry| entry["body"]["entry"] == kind).count()
}

/// Waits until something is so, or this long.
fn until(long: Duration, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() && begun.elapsed() < long {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The story: answers were shown before the ledger knew of them. An attacker who held SQLite's write lock, restored the earlier state and asked again got eight independent answers to one question for one charge, and `ledger verify` passed.
#[test]
fn a_held_lock_and_a_restored_state_show_no_more_than_is_drawn() {
    let folder = asked();
    let first = folder.json(&["ask", "r", NEAR, "--json"]);
    assert_eq!(first["how"], "model", "{first}");
    let (early, mut seen) = (fs::read(folder.file(STATE)).unwrap(), Seen::default());
    seen.look_at_answers(&folder, first.to_string().as_bytes());
    for turn in 0..8 {
        put_back(&folder.file(STATE), &early);
        let base = Connection::open(folder.file("scumble.ledger")).unwrap();
        base.busy_timeout(Duration::from_secs(20)).unwrap();
        let written = || base.query_row("SELECT entries FROM head", [], |row| row.get::<_, i64>(0)).unwrap();
        let before = written();
        // From the beginning, or as soon as rows are being read.
        let hold = || base.execute_batch("BEGIN IMMEDIATE").unwrap();
        if turn % 2 == 0 {
            hold();
        }
        let mut child: Child = program(&folder, &ASK, 0).spawn().unwrap();
        if turn % 2 == 1 {
            until(Duration::from_secs(20), || written() > before);
            hold();
        }
        let table = fs::read(folder.file("out/r.csv")).unwrap_or_default();
        until(Duration::from_millis(1500), || fs::read(folder.file("out/r.csv")).unwrap_or_default() != table);
        child.kill().unwrap();
        let output: Output = child.wait_with_output().unwrap();
        seen.look_at_answers(&folder, &output.stdout);
        base.execute_batch("ROLLBACK").unwrap();
    }
    seen.is_in_the_ledger(&folder, "scumble.toml", "the lock was held");
    // Asking goes on, and each measured answer has a round of its own.
    put_back(&folder.file(STATE), &early);
    let next = folder.json(&ASK);
    assert!(next["charged"].is_u64() && next["how"] == "measured", "{next}");
    seen.look_at_answers(&folder, next.to_string().as_bytes());
    seen.is_in_the_ledger(&folder, "scumble.toml", "the lock was held");
    let measured = seen.0["r"].iter().filter(|one| one.starts_with(FAR)).count();
    assert!(measured <= entries(&folder, "reserve"), "{measured}: {seen:?}");
}

/// The story: whatever stood in the state was believed. With another secret the model was found to be near where it was 12070 off (6667 ± 7330 for 18737).
#[test]
fn a_state_that_was_edited_is_not_believed() {
    let folder = asked();
    folder.json(&["ask", "r", NEAR, "--json"]);
    let kept = folder.json_file(STATE);
    for field in ["secret", "key", "answers", "salt", "nothing"] {
        let mut state = kept.clone();
        match field {
            "secret" => state["open"]["secret"] = "1000000".into(),
            "key" => state["key"] = "0".repeat(32).into(),
            "answers" => state["answers"][0]["answer"] = 5.into(),
            "salt" => state["salt"] = "0".repeat(64).into(),
            // The same, in another order of bytes.
            _ => {}
        }
        put_back(&folder.file(STATE), state.to_string().as_bytes());
        let before = entries(&folder, "reserve");
        let answer = folder.json(&ASK);
        assert!(answer["charged"].is_u64() && answer["how"] == "measured", "{field}: {answer}");
        assert!(answer["notes"].to_string().contains("is lost, and stays charged"), "{field}: {answer}");
        assert_eq!(entries(&folder, "reserve"), before + 1, "{field}");
        assert!(!folder.read("out/r.csv").contains(NEAR), "{field}: what is not believed is not published");
    }
    folder.stdout(&["ledger", "verify"]);
}

/// The digest of a state in the ledger is of all of it, and another one each time: the salt is new.
#[test]
fn a_digest_of_a_state_tells_nothing() {
    let folder = asked();
    let mut salts = BTreeSet::new();
    for _ in 0..3 {
        folder.json(&["ask", "r", NEAR, "--json"]);
        let salt = folder.json_file(STATE)["salt"].as_str().unwrap().to_string();
        assert!(salt.len() == 64 && salts.insert(salt.clone()), "{salt}");
        let export = folder.json(&["ledger", "export"]);
        let mut bodies = export["entries"].as_array().unwrap().iter().map(|entry| &entry["body"]);
        let last = bodies.rfind(|body| body["entry"] == "drawn").unwrap().clone();
        assert_eq!(last["state"], digest(&fs::read(folder.file(STATE)).unwrap()));
        assert!(!export.to_string().contains(&salt), "the salt is where the secret is, and nowhere else");
    }
}

#[test]
fn questions_that_are_killed_show_no_more_than_is_drawn() {
    let open = asked();
    open.json(&["ask", "r", NEAR, "--json"]);
    killed_everywhere("a question in an open round", &open, &ASK, &ASK, 14, Seen::look_at_answers);
    killed_everywhere("a question that opens a round", &asked(), &ASK, &ASK, 8, Seen::look_at_answers);
    let three = ["ask", "r", NEAR, FAR, NEAR, "--json"];
    killed_everywhere("three questions", &asked(), &three, &ASK, 6, Seen::look_at_answers);
}

/// A table of visits, and releases of several kinds.
fn visits() -> Folder {
    let rows: String = (0..400).map(|row| format!("{},{},{}\n", row % 200, ["a", "b"][row % 2], row % 11)).collect();
    let project = "[dataset.visits]\nsource = \"visits.csv\"\nowner = \"person\"\nmax_rows_per_owner = 2\n[dataset.visits.columns]\n\
        clinic = { type = \"category\", values = [\"a\", \"b\"] }\ncost = { type = \"int\", lower = 0, upper = 10 }\n\
        [[release]]\nname = \"sums\"\nsql = \"SELECT clinic, SUM(cost) AS s FROM visits GROUP BY clinic\"\ncost = { epsilon = 0.01 }\n\
        [[release]]\nname = \"counts\"\nkind = \"histogram\"\ntable = \"visits\"\ncolumn = \"cost\"\ncost = { epsilon = 0.01 }\n\
        [[release]]\nname = \"middle\"\nkind = \"quantiles\"\ntable = \"visits\"\ncolumn = \"cost\"\nquantiles = [0.5]\ncost = { epsilon = 1 }\n";
    Folder::with(&[("visits.csv", &format!("person,clinic,cost\n{rows}")), ("scumble.toml", project)])
}

#[test]
fn releases_that_are_killed_show_no_more_than_is_drawn() {
    killed_everywhere("releases", &visits(), &["release"], &["release"], 6, Seen::look_at_tables);
    let again = ["release", "--again", "sums", "--again", "counts", "--again", "middle"];
    killed_everywhere("releases again", &visits(), &["release"], &again, 6, Seen::look_at_tables);
    let query =
        ["query", "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic", "--cost", "epsilon=0.01", "--name", "q"];
    killed_everywhere("a query", &visits(), &query, &query, 4, Seen::look_at_tables);
}

/// Integers that another engine computed: their number is charged once, whatever became of the process.
#[test]
fn integers_that_are_killed_show_no_more_than_is_drawn() {
    let folder = visits();
    let job = folder.stdout(&["integers", "sums", "--dialect", "duckdb"]);
    let mark: String = job[job.find("scumble_job_").unwrap()..]
        .chars()
        .take_while(|one| one.is_ascii_alphanumeric() || *one == '_')
        .collect();
    fs::create_dir(folder.file("results")).unwrap();
    folder.write("results/1.csv", &format!("key_0,sum_0,cells,{mark}\na,100,2,1\nb,200,2,1\n"));
    let release = ["release", "--only", "sums", "--integers", "results"];
    killed_everywhere("integers", &folder, &release, &release, 5, Seen::look_at_tables);
}

/// Reports of owners: what a collector prints is in the ledger before.
#[test]
fn collections_that_are_killed_show_no_more_than_is_drawn() {
    let reports = Folder::with(&[("scumble.toml", "[dataset]\n"), ("reports.txt", &"m1\nm0\nm1\n".repeat(50))]);
    let collect = [
        "local",
        "collect",
        "reports.txt",
        "--mean",
        "--epsilon",
        "1",
        "--project",
        "scumble.toml",
        "--attribute",
        "town",
        "--csv",
    ];
    let again = [&collect[..], &["--again"]].concat();
    killed_everywhere("a collection", &reports, &collect, &again, 6, |seen, _, printed| {
        if !printed.is_empty() {
            seen.look("local", digest(printed));
        }
    });
}

/// The inner product of two parties: one of them is killed at each call. Whatever the other has received, printed or charged, each has the entry before what it sent or showed.
#[test]
fn parties_that_are_killed_show_no_more_than_is_drawn() {
    if killer().is_none() {
        return;
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let folder = Folder::with(&[
        ("a.toml", "ledger = \"a.ledger\"\n[dataset]\n"),
        ("b.toml", "ledger = \"b.ledger\"\n[dataset]\n"),
    ]);
    let key = |name: &str| folder.stdout(&["parties", "key", name]).trim().to_string();
    let (first, second) = (key("a.key"), key("b.key"));
    folder.write("both.toml", &format!(
        "name = \"both\"\nowners = 300\n[first]\nname = \"survey\"\nkey = \"{first}\"\nepsilon = 2\nattributes = [\"smokes\"]\n[second]\nname = \"clinic\"\naddress = \"127.0.0.1:{port}\"\nkey = \"{second}\"\nepsilon = 1\nattributes = [\"ill\"]\n"
    ));
    folder.write("a.txt", &"1\n0\n1\n".repeat(100));
    folder.write("b.txt", &"1\n1\n0\n".repeat(100));
    let part = |name: &str, at: u64| {
        let (key, bits, project) = (format!("{name}.key"), format!("{name}.txt"), format!("{name}.toml"));
        let arguments = [
            "parties",
            "product",
            "both.toml",
            "--key",
            &key,
            "--bits",
            &bits,
            "--project",
            &project,
            "--wait",
            "10",
            "--again",
            "--json",
        ];
        let mut command = program(&folder, &arguments, at);
        command.env("KILL_COUNT", folder.file(&format!("{name}.calls"))).spawn().unwrap()
    };
    let (mut seen_a, mut seen_b) = (Seen::default(), Seen::default());
    let mut round = |victim: &str, at: u64| {
        let mut second = part("b", if victim == "b" { at } else { 0 });
        let first = part("a", if victim == "a" { at } else { 0 });
        let first = first.wait_with_output().unwrap();
        // The other party is dead: there is nothing to wait for.
        until(Duration::from_secs(2), || second.try_wait().unwrap().is_some());
        let _ = second.kill();
        let second = second.wait_with_output().unwrap();
        if first.status.success() {
            seen_a.look("both", digest(&first.stdout));
            assert!(folder.file("b.ledger").exists(), "the answer came from somebody who had not charged");
        }
        if second.status.success() {
            seen_b.look("both", digest(&second.stdout));
        }
    };
    round("nobody", 0);
    let calls = |name: &str| folder.read(&format!("{name}.calls")).parse::<u64>().unwrap();
    for (victim, all) in [("a", calls("a")), ("b", calls("b"))] {
        let some = effort(4, all).min(all);
        (0..some).for_each(|turn| round(victim, all - turn * all / some));
    }
    seen_a.is_in_the_ledger(&folder, "a.toml", "the first party");
    seen_b.is_in_the_ledger(&folder, "b.toml", "the second party");
    // Nothing is sent before `drawn`: it follows each reservation at once.
    for name in ["a.toml", "b.toml"] {
        let export = folder.json(&["ledger", "export", name]);
        let kinds: Vec<&str> = export["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["body"]["entry"].as_str().unwrap())
            .collect();
        let killed_between = kinds.windows(2).filter(|pair| pair[0] == "reserve" && pair[1] != "drawn").count();
        assert!(killed_between * 4 <= kinds.len(), "{kinds:?}");
    }
}
