//! Attacks on the order of things and on the ledger, as a user would do them.

use crate::support::{Folder, digest, epsilon};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output, Stdio};

const PEOPLE: &str = "[dataset.people]\nsource = \"people.csv\"\nowner = \"name\"\nmax_rows_per_owner = 1\n[dataset.people.columns]\n\
    age = { type = \"int\", lower = 0, upper = 120 }\ndisease = { type = \"category\", values = [\"1\", \"2\", \"3\", \"x\"] }\n";

const COUNT: &str = "SELECT COUNT(*) AS n FROM people";

fn people(bob: &str) -> String {
    let others: String = (0..50).map(|i| format!("p{i},{},{}\n", 20 + i, 1 + i % 3)).collect();
    format!("name,age,disease\n{others}bob,{bob}\n")
}

fn folder(more: &str) -> Folder {
    Folder::with(&[("people.csv", &people("57,1")), ("scumble.toml", &format!("{PEOPLE}{more}"))])
}

fn query(folder: &Folder, sql: &str, more: &[&str]) -> Output {
    folder.run(&[&["query", sql, "--cost", "epsilon=0.5", "--quiet"], more].concat())
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn ledger(folder: &Folder) -> Value {
    folder.json(&["ledger", "show", "--json"])
}

/// A script read one person's exact age and diagnosis, and the ledger said 0: everything was computed before anything
/// was charged, the sentence said what had failed, and a comparison of a text with a number fails on that text alone.
#[test]
fn failing_is_neither_free_nor_told() {
    for sql in [
        "SELECT COUNT(*) AS n FROM people WHERE CASE WHEN age > 57 THEN disease < 5 ELSE false END",
        "SELECT COUNT(*) AS n FROM people WHERE CASE WHEN age > 57 THEN LOWER(disease) < 5 ELSE false END",
        "SELECT COUNT(*) AS n FROM people WHERE CAST(age + 70 AS TINYINT) > 0",
        "SELECT COUNT(*) AS n FROM people WHERE 1 / (age - 57) > 0",
        "SELECT SUM(CASE WHEN disease = 'x' THEN age * 9223372036854775807 ELSE age END) AS n FROM people",
    ] {
        let outcomes: Vec<(Option<i32>, String, Option<String>)> = ["57,1", "58,x", "58,1", "57,x"]
            .map(|bob| {
                let folder = folder("");
                folder.write("people.csv", &people(bob));
                let output = query(&folder, sql, &[]);
                // What is refused before its charge leaves no ledger.
                let spent = folder.file("scumble.ledger").exists().then(|| ledger(&folder)["person"].to_string());
                (output.status.code(), said(&output), spent)
            })
            .into();
        assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{sql}: {outcomes:#?}");
    }
}

/// A broken file would burn the budget of every release that reads it. It is found before the charge, and by the same
/// sentence whatever is asked.
#[test]
fn a_broken_file_costs_nothing_and_a_checked_one_is_remembered() {
    let folder = folder("");
    folder.write("people.csv", &people("fifty,1"));
    let sentences = [COUNT, "SELECT disease, COUNT(*) AS n FROM people GROUP BY disease"].map(|sql| {
        let output = query(&folder, sql, &[]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        said(&output)
    });
    assert_eq!(sentences[0], sentences[1]);
    assert!(sentences[0].contains("people.csv:52") && !sentences[0].contains("fifty"), "{}", sentences[0]);
    assert!(!folder.file("scumble.ledger").exists() && !folder.file("scumble.ledger.key").exists());
    let entries = || -> Vec<String> {
        let shown = folder.json(&["ledger", "export"]);
        let bodies = shown["entries"].as_array().unwrap().iter().map(|entry| entry["body"]["entry"].clone());
        bodies.map(|entry| entry.as_str().unwrap().to_string()).collect()
    };
    folder.write("people.csv", &people("50,1"));
    assert!(query(&folder, COUNT, &[]).status.success());
    assert!(query(&folder, COUNT, &[]).status.success());
    assert_eq!(entries(), ["declaration", "data", "reserve", "drawn", "commit", "reserve", "drawn", "commit"]);
    folder.write("people.csv", &people("51,1"));
    assert!(query(&folder, COUNT, &[]).status.success());
    assert_eq!(entries()[8..], ["data", "reserve", "drawn", "commit"], "a changed file is an entry");
}

/// A digest of the file in the ledger would reveal bob's age to an attacker who knows everything else: they try all
/// ages.
#[test]
fn the_ledger_holds_no_digest_of_the_data() {
    let folder = folder("");
    assert!(query(&folder, COUNT, &[]).status.success());
    let digest = digest(people("57,1").as_bytes());
    assert!(folder.json(&["check", "--json"]).to_string().contains(&digest), "the operator may see it");
    let bytes = fs::read(folder.file("scumble.ledger")).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let check = folder.json(&["check", "--json"]).to_string();
    let digests = check.split('"').filter(|word| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert!(digests.clone().count() > 0);
    for digest in digests {
        assert!(!text.contains(digest), "the ledger holds {digest}");
    }
}

/// `ledger = ":memory:"` published again and again, and charged nothing.
#[test]
fn a_ledger_that_is_no_file_is_refused() {
    for name in [":memory:", "", "file:x?mode=memory", "file:x.ledger", "sub/", "."] {
        let folder = Folder::with(&[
            ("people.csv", &people("57,1")),
            ("scumble.toml", &format!("ledger = \"{name}\"\n{PEOPLE}")),
        ]);
        let sentence = said(&query(&folder, COUNT, &[]));
        let is_refused =
            sentence.starts_with("scumble: scumble.toml:1:10: this ") && sentence.contains("give a file name");
        assert!(is_refused, "{name}: {sentence}");
        folder.write("scumble.toml", PEOPLE);
        let output = query(&folder, COUNT, &["--ledger", name]);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", said(&output));
        assert!(output.stdout.is_empty() && !folder.file("out").exists(), "{name}");
    }
    let folder = folder("");
    for name in ["/dev/null", "missing/x.ledger", "people.csv"] {
        let output = query(&folder, COUNT, &["--ledger", name]);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", said(&output));
        assert!(output.stdout.is_empty() && !folder.file("out").exists(), "{name}");
    }
}

/// Two projects shared a ledger; one had declared an owner with up to 1000 rows, the other none: charged 1, moved
/// by 1000.
#[test]
fn a_ledger_knows_what_a_person_is() {
    let folder = folder("");
    assert!(query(&folder, COUNT, &[]).status.success());
    let before = ledger(&folder);
    let unowned = PEOPLE.replace("owner = \"name\"\nmax_rows_per_owner = 1\n", "");
    let renamed = unowned.replace("people]", "folk]").replace("people.columns]", "folk.columns]");
    let count = "SELECT COUNT(*) AS n FROM folk";
    symlink(folder.file("people.csv"), folder.file("linked.csv")).unwrap();
    fs::create_dir(folder.file("sub")).unwrap();
    for (project, sql, words) in [
        (unowned.clone(), COUNT, "it had the owner 'name' and has no owner"),
        (renamed.clone(), count, "as table 'people', which reads the same"),
        (renamed.replace("people.csv", "./sub/../people.csv"), count, "as table 'people', which reads the same"),
        (renamed.replace("people.csv", "linked.csv"), count, "as table 'people', which reads the same"),
        (PEOPLE.replace("upper = 120", "upper = 1000"), COUNT, "its column 'age' was"),
        (PEOPLE.replace("people.csv", "linked.csv").replace("linked", "copy"), COUNT, "it was read from 'people.csv'"),
    ] {
        fs::copy(folder.file("people.csv"), folder.file("copy.csv")).unwrap();
        folder.write("second.toml", &project);
        let output = query(&folder, sql, &["--project", "second.toml"]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(words), "said: {}\n not: {words}", said(&output));
    }
    assert_eq!(ledger(&folder), before, "nothing was charged");
    // From another folder it is the same file.
    let elsewhere = Folder::with(&[]);
    let absolute = unowned.replace("people.csv", &folder.file("people.csv").display().to_string());
    elsewhere.write("scumble.toml", &absolute);
    let there = folder.file("scumble.ledger").display().to_string();
    let output = query(&elsewhere, COUNT, &["--ledger", &there]);
    assert!(said(&output).contains("it had the owner 'name'"), "{}", said(&output));
    // A new table, and a new column, are entries.
    let owned = PEOPLE.replace("people]", "folk]").replace("people.columns]", "folk.columns]");
    folder.write("second.toml", &owned.replace("people.csv", "copy.csv"));
    let output = query(&folder, count, &["--project", "second.toml"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!((epsilon(&ledger(&folder)["person"]) - 1.0).abs() < 1e-9, "what both tables tell adds up");
}

const VOTES: &str = "[dataset.votes]\nsource = \"votes.csv\"\npublic_owners = 4000\n[dataset.votes.columns]\n\
    answer = { type = \"category\", values = [\"yes\", \"no\"] }\ndistrict = { type = \"int\", lower = 0, upper = 2 }\n\
    [attacker]\nknown_rows = 0.5\nuncertainty = 0.1\nindependence = \"declared\"\nmode = \"active\"\ndelta = 1e-9\n";

fn exact(condition: &str) -> String {
    format!(
        "{VOTES}[[release]]\nname = \"yes\"\nkind = \"exact-count\"\ntable = \"votes\"\nwhere = \"{condition}\"\ni_accept_assumptions = true\n"
    )
}

fn votes() -> Folder {
    let rows: String =
        (0..4000).map(|vote| format!("{},{}\n", ["yes", "no"][usize::from(vote % 5 < 2)], vote % 3)).collect();
    Folder::with(&[("votes.csv", &format!("answer,district\n{rows}"))])
}

/// Two exact counts, each alone in its ledger, differed by one person: 2399 against 2400. The refusal had suggested the
/// second ledger.
#[test]
fn an_exact_count_does_not_get_a_second_ledger() {
    let folder = votes();
    folder.write("scumble.toml", &exact("answer = 'yes'"));
    folder.stdout(&["release", "--quiet"]);
    assert_eq!(folder.read("out/yes.csv"), "count\n2400\n");
    assert!(folder.read("out/yes.json").contains("void if anything else about these people"));
    let again = folder.refused(&["release", "--quiet", "--again", "yes"], 3, "holds a count without noise");
    assert!(!again.contains("another ledger") && !again.contains("take"), "{again}");
    folder.refused(&["release", "--quiet", "--ledger", "second.ledger"], 3, "has answered about the same source");
    // Under another name, in another folder, and with noise.
    let elsewhere = Folder::with(&[]);
    let source = folder.file("votes.csv").display().to_string();
    elsewhere.write("scumble.toml", &exact("answer = 'yes' AND district < 2").replace("votes.csv", &source));
    elsewhere.refused(&["release", "--quiet"], 3, "has answered about the same source");
    let noisy = ["query", "SELECT COUNT(*) AS n FROM votes", "--cost", "epsilon=1", "--quiet"];
    elsewhere.refused(&noisy, 3, "holds a count without noise of the same source");
    assert!(!elsewhere.file("scumble.ledger").exists() && !folder.file("second.ledger").exists());
    // And the other way round: something with noise came first.
    let folder = votes();
    folder.write("scumble.toml", &exact("answer = 'yes'"));
    folder.stdout(&[
        "query",
        "SELECT COUNT(*) AS n FROM votes",
        "--cost",
        "epsilon=1",
        "--quiet",
        "--ledger",
        "n.ledger",
    ]);
    folder.refused(&["release", "--quiet"], 3, "has answered about the same source");
}

/// Two at the same moment, each with its own ledger: neither saw the other before its own charge.
#[test]
fn two_exact_counts_at_once_are_not_both_published() {
    for _ in 0..3 {
        let folder = votes();
        folder.write("scumble.toml", &exact("answer = 'yes'"));
        let run = |ledger: &str, out: &str| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_scumble"));
            command.args(["release", "--quiet", "--ledger", ledger, "--out", out]).current_dir(folder.path());
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        for mut child in [run("a.ledger", "a"), run("b.ledger", "b")] {
            child.wait().unwrap();
        }
        assert!(!(folder.file("a/yes.csv").exists() && folder.file("b/yes.csv").exists()), "both were published");
    }
}

/// `) HAVING (…` and `) LIMIT (0` were accepted inside of the parentheses and ignored.
#[test]
fn the_condition_of_an_exact_count_is_one_condition() {
    for condition in [
        "1 = 1) HAVING (COUNT(*) > 5",
        "1 = 1) LIMIT (0",
        "1 = 1) OR (answer = 'yes'",
        "answer = 'yes' -- )",
        "answer = 'yes') -- ",
        "answer = 'yes'; SELECT 1",
        "answer = 'yes' answer",
        "",
    ] {
        let folder = votes();
        folder.write("scumble.toml", &exact(condition));
        let output = folder.run(&["release", "--quiet"]);
        let trick = condition != "answer = 'yes' -- )";
        // A comment is no part of a condition: what is left of it is one.
        assert_eq!(output.status.code(), Some(if trick { 2 } else { 0 }), "{condition}: {}", said(&output));
        assert!(!trick || said(&output).contains("must be one condition"), "{condition}: {}", said(&output));
        assert_eq!(folder.file("out/yes.csv").exists(), !trick, "{condition}");
    }
}

/// Outputs were written through a link of a guessable name, or of the output's own name, into any file of the user's.
#[test]
fn outputs_follow_no_link() {
    let folder = folder("");
    folder.write("precious", "precious");
    fs::create_dir(folder.file("out")).unwrap();
    symlink(folder.file("precious"), folder.file("out/query.json")).unwrap();
    let output = query(&folder, COUNT, &[]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("query.json is not a plain file"), "{}", said(&output));
    assert_eq!(folder.read("precious"), "precious");
    assert!(!folder.file("scumble.ledger").exists(), "nothing was charged");
    fs::remove_file(folder.file("out/query.json")).unwrap();
    fs::create_dir(folder.file("out/query.csv")).unwrap();
    assert_eq!(query(&folder, COUNT, &[]).status.code(), Some(2));
}

/// Releases of one name at once left the CSV of one beside the JSON of another.
#[test]
fn files_of_releases_at_once_belong_together() {
    let folder = folder("");
    for _ in 0..3 {
        let children: Vec<_> = (0..4)
            .map(|_| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_scumble"));
                command.args(["query", COUNT, "--cost", "epsilon=0.01", "--quiet"]).current_dir(folder.path());
                command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", said(&output));
        }
        let csv = folder.read("out/query.csv");
        let json = folder.json_file("out/query.json");
        let n = csv.lines().nth(1).unwrap().split(',').next().unwrap();
        assert_eq!(json["answers"]["rows"][0]["n"].to_string(), n, "{csv}{json:#}");
        let digest = digest(csv.as_bytes());
        let export = folder.json(&["ledger", "export"]);
        let is_commit = |body: &Value| body["entry"] == "commit" && body["of"] == json["sequence"];
        let commit = export["entries"].as_array().unwrap().iter().find(|entry| is_commit(&entry["body"]));
        assert_eq!(commit.unwrap()["body"]["output"], digest.as_str(), "the ledger knows them as one");
    }
    assert_eq!(ledger(&folder)["releases"].as_array().unwrap().len(), 12);
    folder.stdout(&["ledger", "verify"]);
}

/// Deleting a ledger, or putting an old copy in its place, resets what it knows, and nothing showed it.
#[test]
fn an_anchor_shows_a_reset() {
    let folder = folder("");
    assert!(query(&folder, COUNT, &[]).status.success());
    fs::copy(folder.file("scumble.ledger"), folder.file("old copy")).unwrap();
    assert!(query(&folder, COUNT, &[]).status.success());
    let line = folder.stdout(&["ledger", "anchor", "--to", "anchors"]);
    assert_eq!(line, folder.read("anchors"));
    assert_eq!(line.lines().count(), 1);
    assert!(query(&folder, COUNT, &[]).status.success());
    let head = folder.json(&["ledger", "anchor", "--to", "anchors", "--json"])["head"].as_str().unwrap().to_string();
    assert!(folder.stdout(&["ledger"]).contains(&head), "every output prints the head");
    folder.stdout(&["ledger", "verify", "--anchors", "anchors"]);
    fs::remove_file(folder.file("scumble.ledger")).unwrap();
    fs::copy(folder.file("old copy"), folder.file("scumble.ledger")).unwrap();
    folder.refused(
        &["ledger", "verify", "--anchors", "anchors"],
        1,
        "anchors:1:1: the ledger scumble.ledger does not hold",
    );
    fs::remove_file(folder.file("scumble.ledger")).unwrap();
    (0..3).for_each(|_| assert!(query(&folder, COUNT, &[]).status.success()));
    folder.refused(&["ledger", "verify", "--anchors", "anchors"], 1, "it was reset, cut or rewritten");
    folder.write("anchors", "not an anchor\n");
    folder.refused(&["ledger", "verify", "--anchors", "anchors"], 2, "anchors:1:1: this is not an anchor");
}

/// To the database, `scumble.ledger-wal` is the log of `scumble.ledger`, and it removes what it finds there: a ledger
/// of that name was gone with its charge each time, and the answers were published.
#[test]
fn a_ledger_is_never_the_log_or_the_key_of_another() {
    let folder = folder("");
    assert!(query(&folder, COUNT, &[]).status.success());
    for name in [
        "scumble.ledger-wal",
        "scumble.ledger-shm",
        "scumble.ledger-journal",
        "SCUMBLE.LEDGER-WAL",
        "scumble.ledger.key",
    ] {
        folder.refused(&["query", COUNT, "--cost", "epsilon=0.5", "--ledger", name], 2, "beside another ledger");
    }
    fs::remove_file(folder.file("scumble.ledger.key")).unwrap();
    symlink("/dev/zero", folder.file("scumble.ledger.key")).unwrap();
    folder.refused(&["query", COUNT, "--cost", "epsilon=0.5"], 2, "is not a key");
}
