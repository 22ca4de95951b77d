//! No more is seen than the ledger knows: whatever is copied, put back, locked or killed, the entries `drawn` are at
//! least as many as the different answers that anybody has seen.

use crate::serve::support::Server;
use crate::support::{Folder, digest, effort};
use rusqlite::Connection;
use scumble_testing::killer::{killed_at, killer, was_killed};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The program, which will be killed at a call; at none for 0.
pub fn program(folder: &Folder, arguments: &[&str], at: u64) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scumble"));
    command
        .args(arguments)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    killed_at(&mut command, at);
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
        let mut drawn: BTreeMap<String, usize> = BTreeMap::new();
        for body in bodies.iter().filter(|body| body["entry"] == "drawn") {
            let of = body["of"].as_u64().unwrap() as usize;
            // Files are called like their release, without spaces.
            let file = bodies[of - 1]["release"].as_str().unwrap().replace(' ', "-");
            *drawn.entry(file).or_default() += 1;
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

/// Kills a run at some of its calls, or all; puts back every state that was ever beside the ledger, and runs `again`
/// after each. `few` calls are tried where little is asked of the tests.
fn killed_everywhere(
    what: &str,
    before: &Folder,
    run: &[&str],
    again: &[&str],
    few: u64,
    look: fn(&mut Seen, &Folder, &[u8]),
) {
    killed_at_most(what, before, run, again, effort(few, u64::MAX), look);
}

/// The same at this many of its calls.
fn killed_at_most(
    what: &str,
    before: &Folder,
    run: &[&str],
    again: &[&str],
    most: u64,
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
    let some = most.min(all);
    println!("{what}: {some} of {all} calls");
    let mut died = 0u64;
    // The last calls are the interesting ones: what is there before the charge makes nothing to see.
    for turn in 0..some {
        let at = all - turn * all / some;
        let (folder, mut seen) = (fresh(), Seen::default());
        let mut ever = states(&folder);
        look(&mut seen, &folder, &[]);
        let killed = program(&folder, run, at).output().unwrap();
        died += u64::from(has_died(&killed));
        look(&mut seen, &folder, &killed.stdout);
        // All that ever were, and all that asking again with each of these has made; asking again with those makes more
        // of their kind, without end.
        let (mut next, mut first) = (0, None);
        loop {
            ever.extend(states(&folder).into_iter().filter(|state| !ever.contains(state)).collect::<Vec<_>>());
            let made_by_the_first = *first.get_or_insert(ever.len());
            let most = if next < made_by_the_first { usize::MAX } else { 2 * made_by_the_first };
            let most = most.min(effort(4, u64::MAX) as usize);
            let Some((name, state)) = ever.get(next).filter(|_| next < most) else { break };
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

/// How many processes were killed by all tests here.
static KILLS: AtomicU64 = AtomicU64::new(0);

/// Whether it was killed, which is counted.
fn has_died(output: &Output) -> bool {
    let died = was_killed(output.status);
    KILLS.fetch_add(u64::from(died), Ordering::Relaxed);
    died
}

/// 2000 people who are all alike, where the model expects them to differ. A measured answer has noise of scale 17: two
/// of them are seldom the same.
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

/// The story: answers were shown before the ledger knew of them. An attacker who held SQLite's write lock, restored the
/// earlier state and asked again got eight independent answers to one question for one charge, and `ledger verify`
/// passed.
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

/// The story: whatever stood in the state was believed. With another secret the model was found to be near where it was
/// 12070 off (6667 ± 7330 for 18737).
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

/// The engine's golden project, with a release of every kind, on small tables. A run of it takes seconds, so that even
/// the thorough run takes some of its thousands of calls.
#[test]
fn releases_of_every_kind_that_are_killed_show_no_more_than_is_drawn() {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../engine/tests/golden/project.toml");
    let project = fs::read_to_string(kept).unwrap();
    let rows = |number: usize, row: fn(usize) -> String| (0..number).map(row).collect::<String>();
    let sex = |i: usize| ["f", "m"][i % 2];
    let people = rows(60, |i| format!("{},{},{},t{},{}\n", i % 10, ["f", "m"][i % 2], i % 3 == 0, i % 4, i % 30));
    let visits = rows(80, |i| format!("p{},c{},{},f,{}\n", i % 30, i % 4, i % 7, i % 50));
    let ends = rows(60, |i| format!("{},{}\n", i % 20, (i * 7 + 3) % 25));
    let calls = rows(60, |i| format!("p{},{},{}\n", i % 25, i % 20, (i * 7 + 3) % 25));
    let once: String = (0..60).map(|i| format!("p{i},{},{}\n", i % 7, sex(i))).collect();
    let folder = Folder::with(&[
        ("scumble.toml", &project),
        ("people.csv", &format!("age,sex,smokes,town,income\n{people}")),
        ("visits.csv", &format!("id,clinic,day,sex,cost\n{visits}")),
        ("friends.csv", &format!("a,b\n{ends}")),
        ("calls.csv", &format!("id,a,b\n{calls}")),
        ("once.csv", &format!("id,day,sex\n{once}")),
    ]);
    killed_at_most("every kind", &folder, &["release"], &["release"], effort(1, 300), Seen::look_at_tables);
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

/// The inner product of two parties: one of them is killed at each call. Whatever the other has received, printed or
/// charged, each has the entry before what it sent or showed.
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
    let drawn = |name: &str| {
        if !folder.file(&format!("{name}.ledger")).exists() {
            return 0;
        }
        let export = folder.json(&["ledger", "export", &format!("{name}.toml")]);
        export["entries"].as_array().unwrap().iter().filter(|entry| entry["body"]["entry"] == "drawn").count()
    };
    let mut round = |victim: &str, at: u64| {
        let before = (drawn("a"), drawn("b"));
        let mut second = part("b", if victim == "b" { at } else { 0 });
        let first = part("a", if victim == "a" { at } else { 0 });
        let first = first.wait_with_output().unwrap();
        // The other party is dead: there is nothing to wait for.
        until(Duration::from_secs(2), || second.try_wait().unwrap().is_some());
        let _ = second.kill();
        let second = second.wait_with_output().unwrap();
        for output in [&first, &second] {
            has_died(output);
        }
        let after = (drawn("a"), drawn("b"));
        // A party with the result has received the other one's message; so the other one has drawn in this round,
        // whatever happened to it then.
        for (name, output, seen) in [("a", &first, &mut seen_a), ("b", &second, &mut seen_b)] {
            if !output.stdout.is_empty() {
                seen.look("both", digest(&output.stdout));
                let both = after.0 > before.0 && after.1 > before.1;
                assert!(
                    both,
                    "{name} has received something, and {before:?} of a and b are drawn as before: {after:?}; {victim} was killed at {at}"
                );
            }
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
}

/// One query at a door of the server, which is killed at one of its calls; then asked again of a server that lives. An
/// answer that anybody has seen has an entry `drawn`.
fn served(what: &str, more: &[&str], few: u64, ask: impl Fn(&Server, &str) -> Option<String>) {
    if killer().is_none() {
        return;
    }
    let before = crate::serve::support::project();
    let token = crate::serve::support::add(&before, "ada", "analyst");
    let fresh = || {
        let folder = Folder::with(&[]);
        copy(before.path(), folder.path());
        folder
    };
    let library = killer().unwrap().display().to_string();
    let start = |folder: &Folder, at: u64| {
        let (at, count) = (at.to_string(), folder.file("calls").display().to_string());
        Server::try_start_with(
            folder.path(),
            more,
            &[("LD_PRELOAD", &library), ("KILL_AT", &at), ("KILL_COUNT", &count)],
        )
    };
    // A server that gets SIGTERM reports how many calls there were.
    let folder = fresh();
    let server = start(&folder, 0).unwrap();
    assert!(ask(&server, &token).is_some(), "{what} is not supported");
    assert!(Command::new("kill").args(["-TERM", &server.id()]).status().unwrap().success());
    server.ended();
    let all: u64 = folder.read("calls").parse().unwrap();
    let some = effort(few, all).min(all);
    println!("{what}: {some} of {all} calls");
    let mut died = 0u64;
    for turn in 0..some {
        let (at, folder, mut seen) = (all - turn * all / some, fresh(), BTreeSet::new());
        if let Ok(server) = start(&folder, at) {
            seen.extend(ask(&server, &token));
            // Killed, or about to end because nothing is left to ask.
            let _ = Command::new("kill").args(["-TERM", &server.id()]).status();
            died += u64::from(server.ended().0.is_none());
        } else {
            died += 1;
        }
        let server = Server::start(folder.path(), more);
        let again = ask(&server, &token);
        assert!(again.is_some(), "{what}: nothing is answered after a kill at call {at} of {all}");
        seen.extend(again);
        drop(server);
        let drawn = entries(&folder, "drawn");
        assert!(seen.len() <= drawn, "{what}, killed at call {at} of {all}: {seen:?}, and {drawn} are drawn");
        folder.stdout(&["ledger", "verify"]);
    }
    assert!(died > 0, "{what}: no server was killed");
    KILLS.fetch_add(died, Ordering::Relaxed);
}

const BY_SEX: &str = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex";

#[test]
fn servers_that_are_killed_show_no_more_than_is_drawn() {
    served("a query over HTTP", &[], 4, |server, token| {
        let body = serde_json::json!({ "sql": BY_SEX, "cost": { "epsilon": "0.1" } }).to_string();
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        let reply = crate::serve::support::request(server.address, "POST", "/v1/query", &headers, &body).ok()?;
        let answer: Value = serde_json::from_slice(&reply.body).ok()?;
        (reply.status == 200).then(|| answer["rows"].to_string())
    });
    if !crate::serve::postgres::is_here("psql", "--version") {
        return;
    }
    served("a query of psql", &["--postgres", "127.0.0.1:0"], 3, |server, token| {
        let address = server.postgres?;
        let place = format!("host={} port={} dbname=scumble user=ada", address.ip(), address.port());
        let mut psql = Command::new("psql");
        psql.args([
            "--no-psqlrc",
            "--quiet",
            "--tuples-only",
            &place,
            "-c",
            "SET scumble.cost = 'epsilon=0.1'",
            "-c",
            BY_SEX,
        ]);
        let output = psql.env("PGPASSWORD", token).env("LC_ALL", "C").output().unwrap();
        (output.status.success() && !output.stdout.is_empty())
            .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    });
}

/// 400 kills of the whole program by all tests here together in the thorough run, and their number is printed. The
/// ledger alone is killed 10,000 times (`crates/ledger/tests/kills.rs`).
#[test]
fn so_many_kills_in_all() {
    if killer().is_none() {
        return;
    }
    let wanted = effort(8, 400);
    while KILLS.load(Ordering::Relaxed) < wanted {
        killed_everywhere("a question that opens a round", &asked(), &ASK, &ASK, 4, Seen::look_at_answers);
        killed_everywhere("releases", &visits(), &["release"], &["release"], 4, Seen::look_at_tables);
    }
    println!("{} kills in all", KILLS.load(Ordering::Relaxed));
}
