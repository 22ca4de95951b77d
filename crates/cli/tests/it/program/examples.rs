//! The help of every command fits a screen, and a shell runs its examples as they stand.

use super::tree::{Help, TREE};
use crate::support::{Folder, printed, refused};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A screen.
const LINES: usize = 40;
const COLUMNS: usize = 80;
/// A shell runs an example as it stands, so that its line is not wrapped.
const EXAMPLE: usize = 100;

#[test]
fn the_help_of_every_command_fits_a_screen_and_has_an_example_of_it() {
    for help in TREE.iter() {
        let (path, text) = (help.path.join(" "), &help.text);
        assert!(text.lines().count() <= LINES, "scumble {path}: too long\n{text}");
        let (prose, _) = text.split_once("\nExample").unwrap();
        let wide: Vec<&str> = prose.lines().filter(|line| line.chars().count() > COLUMNS).collect();
        assert!(wide.is_empty(), "scumble {path}: {wide:#?}");
        let examples = help.examples();
        assert!(examples.iter().any(|line| line.contains(&format!("scumble {path}"))), "scumble {path}\n{text}");
        let long: Vec<&&str> = examples.iter().filter(|line| line.chars().count() + 2 > EXAMPLE).collect();
        assert!(long.is_empty(), "{long:#?}");
    }
}

const PROJECT: &str = r#"
[dataset.visits]
source = "visits.csv"
owner = "person_id"
max_rows_per_owner = 3
[dataset.visits.columns]
clinic = { type = "category", values = ["general", "heart", "eyes"] }
cost = { type = "int", lower = 0, upper = 500 }

[dataset.people]
source = "people.csv"
[dataset.people.columns]
smoker = { type = "bool" }
insured = { type = "bool" }
age = { type = "int", lower = 0, upper = 99 }
sex = { type = "category", values = ["f", "m"] }

[budget]
person = { epsilon = 10, delta = 1e-6 }

[[release]]
name = "by clinic"
sql = "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic"
cost = { epsilon = 0.5 }

[[release]]
name = "habits"
kind = "conjunctions"
table = "people"
columns = ["smoker", "insured", "age >= 65"]
width = 2
cost = { rho = 0.1 }

[[release]]
name = "smokers"
kind = "interactive"
table = "people"
columns = ["smoker", "age", "sex"]
people = 300
questions = 20
updates = 2
cost = { epsilon = 1 }
"#;

/// The small files that examples name.
const FILES: [(&str, &str); 13] = [
    ("scumble.toml", PROJECT),
    ("old.csv", "age;sex\n31;f\n47;m\n"),
    ("questions.txt", "smoker\nage >= 65\n"),
    ("fruits.txt", "apple\nbanana\ncherry\ndate\n"),
    ("reports.txt", "k0\nk1\nk0\nk3\n"),
    ("queries.csv", "1,1,0\n0,1,1\n1,0,1\n"),
    ("answers.csv", "1\n1\n2\n"),
    (
        "means.json",
        r#"{"published": [0.9, 0.1], "population": [0.5, 0.5], "persons": [[1, 0]], "false_positive": 0.1}"#,
    ),
    ("with.txt", "0\n1\n"),
    ("without.txt", "0\n1\n"),
    ("counts.csv", "3\n2\n2\n1\n"),
    ("edges.txt", "a b\nb c\nc a\n"),
    (
        "election.toml",
        "[population]\nn_total = 1000\n[attacker]\nknown_records = 0\nmode = \"active\"\n[uncertainty]\n\
         kind = \"lambda\"\nlambda = 0.05\nindependence = \"declared\"\n[release]\nkind = \"count\"\n\
         releases_on_same_units = 1\n[query]\ndelta = 1e-10\n",
    ),
];

fn visits() -> String {
    let row = |i: usize| format!("p{},{},{}\n", i % 100, ["general", "heart", "eyes"][i % 3], 20 + i * 7 % 400);
    format!("person_id,clinic,cost\n{}", (0..300).map(row).collect::<String>())
}

fn people() -> String {
    let row =
        |i: usize| format!("{},{},{},{}\n", i.is_multiple_of(4), !i.is_multiple_of(3), i * 31 % 100, ["f", "m"][i % 2]);
    format!("smoker,insured,age,sex\n{}", (0..300).map(row).collect::<String>())
}

/// A folder in which the examples of a command can be run.
fn prepared(help: &Help) -> Folder {
    let folder = Folder::with(&FILES);
    folder.write("visits.csv", &visits());
    folder.write("people.csv", &people());
    let repeated = |name: &str| folder.write(name, &folder.read(name).repeat(200));
    ["with.txt", "without.txt"].into_iter().for_each(repeated);
    let path: Vec<&str> = help.path.iter().map(String::as_str).collect();
    if let ["show" | "lookup" | "ledger" | "budget", ..] = path[..] {
        folder.stdout(&["release", "--quiet"]);
        folder.stdout(&["ledger", "anchor", "--to", "anchors"]);
    }
    if let ["setup", "access", "revoke"] = path[..] {
        folder.stdout(&["setup", "access", "add", "ada"]);
    }
    folder
}

/// What an example needs that one before it in the same help has changed.
fn prepare(folder: &Folder, line: &str) {
    let budget = |epsilon: &str| folder.write("scumble.toml", &PROJECT.replace("epsilon = 10", epsilon));
    match line {
        _ if line.starts_with("scumble init") => fs::remove_file(folder.file("scumble.toml")).unwrap(),
        _ if line.starts_with("scumble budget raise") => budget("epsilon = 20"),
        _ if line.starts_with("scumble budget lower") => budget("epsilon = 15"),
        _ => {}
    }
}

/// Runs a line, with the program in the path.
fn shell(folder: &Folder, line: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_scumble")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    Command::new("sh").args(["-c", line]).env("PATH", path).current_dir(folder.path()).output().unwrap()
}

/// Begins of examples that serve, or that need other people: where the file of this name is missing, they end in a
/// sentence about it, after their arguments were understood. (An audit of a release takes minutes.)
const NEED: [(&str, &str); 7] = [
    ("scumble serve --listen", "a.pem"),
    ("scumble serve", "scumble.toml"),
    ("scumble parties plan", "flu.toml"),
    ("scumble parties serve", "flu.toml"),
    ("scumble parties send", "flu.toml"),
    ("scumble parties product", "both.toml"),
    ("scumble lab audit scumble.toml", "scumble.toml"),
];

/// Beginnings of examples whose arguments alone are checked: they serve, or take a minute.
const LONG: [&str; 2] = ["scumble setup cluster", "scumble lab reproduce"];

fn run(folder: &Folder, line: &str) {
    prepare(folder, line);
    if let Some((_, file)) = NEED.iter().find(|(begin, _)| line.starts_with(begin)) {
        let _ = fs::remove_file(folder.file(file));
        refused(&shell(folder, line), 2, file);
    } else if LONG.iter().any(|begin| line.starts_with(begin)) {
        printed(shell(folder, &format!("{line} --help")));
    } else {
        let output = shell(folder, line);
        assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    // `init` wrote a project file that somebody must fill in.
    folder.write("scumble.toml", PROJECT);
}

#[test]
fn every_example_runs_as_it_stands() {
    let mut ran = 0;
    for help in TREE.iter() {
        let folder = prepared(help);
        for line in help.examples() {
            run(&folder, line);
            ran += 1;
        }
    }
    assert!(ran > TREE.len(), "{ran} examples of {} commands", TREE.len());
}
