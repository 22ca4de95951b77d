//! Tables with more rows than the memory may hold, as a user releases them.

use crate::support::{Folder, effort, refused};
use std::fs;
use std::process::Command;

const PROJECT: &str = r#"
[dataset.visits]
source = "visits.csv"
owner = "person"
max_rows_per_owner = 3
[dataset.visits.columns]
clinic = { type = "category", values = ["a", "b", "c"] }
cost = { type = "int", lower = 0, upper = 1000 }

[[release]]
name = "visits"
sql = "SELECT clinic, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY clinic"
cost = { epsilon = 1000 }
"#;

fn folder(memory: &str, rows: u64) -> Folder {
    let mut table = "person,clinic,cost\n".to_string();
    (0..rows)
        .for_each(|i| table += &format!("{},{},{}\n", i % (rows / 2), ["a", "b", "c"][(i % 3) as usize], i % 1000));
    Folder::with(&[("scumble.toml", &format!("{memory}\n{PROJECT}")), ("visits.csv", &table)])
}

/// What lies in a folder, except for the ledger's own files.
fn entries(folder: &Folder) -> Vec<String> {
    let names =
        fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with("scumble.ledger")).collect();
    names.sort();
    names
}

#[test]
fn a_memory_limit_is_read_and_one_that_is_too_small_is_refused() {
    let fine = folder("memory = \"128 MB\"", 600);
    // What another run left behind when its machine died.
    fine.write(".scumble-rows-0123456789abcdef", "nobody can read this");
    fine.stdout(&["release"]);
    assert!(fine.read("out/visits.csv").contains("\na,200,"), "{}", fine.read("out/visits.csv"));
    assert_eq!(entries(&fine), ["out", "scumble.toml", "visits.csv"]);
    let wrong = [
        (
            "memory = \"1 MB\"",
            "scumble.toml:1:10: 1 MB of memory is too little to read a table in: give at least 128 MB",
        ),
        ("memory = \"plenty\"", "scumble.toml:1:10: memory is a number and a unit, such as \"4 GB\" or \"500 MB\""),
        ("memory = 4", "scumble.toml:1:10: this must be a string in quotation marks"),
        ("memroy = \"4 GB\"", "did you mean 'memory'?"),
    ];
    for (line, words) in wrong {
        let folder = folder(line, 6);
        folder.refused(&["release"], 2, words);
        assert_eq!(entries(&folder), ["scumble.toml", "visits.csv"], "{line}");
    }
}

/// A process that writes more into a file than it may is ended by a signal, unless it hears it: no sentence was said.
#[test]
#[cfg(unix)]
fn a_limit_on_the_length_of_files_is_an_error_like_any_other() {
    let folder = folder("memory = \"128 MB\"", 60);
    let limited = format!("ulimit -f 8; exec '{}' release --quiet", env!("CARGO_BIN_EXE_scumble"));
    let output = Command::new("sh").args(["-c", &limited]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "{output:?}");
    folder.stdout(&["release"]);
}

/// The file of rows may not grow beyond 2 MB, and these need more: the release fails after its charge, and nothing is
/// left of it. With room for the file there are the exact numbers, at the cost of next to no noise.
#[test]
#[cfg(unix)]
fn a_full_disk_fails_the_release_and_leaves_nothing() {
    let rows = effort(0, 4_000_000);
    if rows == 0 {
        // Half a minute and more: the engine's own tests do the same with a small table and a smaller disk.
        return;
    }
    let folder = folder("memory = \"128 MB\"", rows);
    let limited = format!("ulimit -f 4096; exec '{}' release --quiet", env!("CARGO_BIN_EXE_scumble"));
    let output = Command::new("sh").args(["-c", &limited]).current_dir(folder.path()).output().unwrap();
    refused(&output, 1, "release 'visits' failed after it was charged");
    assert_eq!(entries(&folder), ["out", "scumble.toml", "visits.csv"]);
    assert_eq!(fs::read_dir(folder.file("out")).unwrap().count(), 0);
    folder.stdout(&["release"]);
    let counts = folder.read("out/visits.csv");
    let total: i64 = counts.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse::<i64>().unwrap()).sum();
    assert_eq!(total, rows as i64, "two rows of each of two million people");
    assert_eq!(entries(&folder), ["out", "scumble.toml", "visits.csv"]);
}
