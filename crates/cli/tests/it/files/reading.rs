//! Files that were read as other rows than they hold, and files that were not read at all.

use crate::support::{Folder, printed, refused};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn project(source: &str, columns: &str, releases: &str) -> String {
    format!(
        "[dataset.t]\nsource = \"{source}\"\nowner = \"id\"\nmax_rows_per_owner = 1\n[dataset.t.columns]\n{columns}\n[budget]\nperson = {{ epsilon = 1000, delta = 1e-6 }}\n{releases}"
    )
}

fn query(name: &str, sql: &str) -> String {
    format!("[[release]]\nname = \"{name}\"\nsql = \"{sql}\"\ncost = {{ epsilon = 100 }}\n")
}

/// The rows of an output, without the header.
fn rows(folder: &Folder, name: &str) -> Vec<Vec<String>> {
    let text = folder.read(&format!("out/{}.csv", name.replace(' ', "-")));
    text.lines().skip(1).map(|line| line.split(',').map(str::to_string).collect()).collect()
}

/// One quoted text of one owner, full of line breaks, became 13,824 rows of invented owners: above 1 MiB a file was
/// split by byte offset, and in the middle of a quoted text every line break began a row. It printed bb 13823 for 0,
/// depending on the number of processors. An ε of 100 is noise of one hundredth: the counts must be exact to 1 but with
/// probability e^-99.
#[test]
fn a_quoted_text_with_line_breaks_is_one_row_whatever_the_size() {
    let mut text = String::from("id,kind,note\n");
    for owner in 0..28_500 {
        let _ = writeln!(text, "p{owner},aa,{}", "x".repeat(150));
    }
    text.push_str("bob,aa,\"dear diary");
    for line in 0..60_000 {
        let _ = write!(text, "\nq{line},bb,and another one {}", "y".repeat(100));
    }
    text.push_str("\"\n");
    for owner in 28_500..57_000 {
        let _ = writeln!(text, "p{owner},aa,{}", "x".repeat(150));
    }
    assert!(text.len() > 12 << 20, "large enough to be split");
    let columns = "kind = { type = \"category\", values = [\"aa\", \"bb\"] }";
    let sql = query("kinds", "SELECT kind, COUNT(*) AS n, COUNT(DISTINCT id) AS people FROM t GROUP BY kind");
    let folder = Folder::with(&[("t.csv", &text), ("scumble.toml", &project("t.csv", columns, &sql))]);
    printed(folder.run(&["release", "--quiet"]));
    let counts: Vec<(String, f64)> =
        rows(&folder, "kinds").iter().map(|row| (row[0].clone(), row[1].parse().unwrap())).collect();
    for (kind, wanted) in [("aa", 57_001.0), ("bb", 0.0)] {
        let found = counts.iter().find(|(name, _)| name == kind).unwrap().1;
        assert!((found - wanted).abs() <= 1.0, "{kind}: {found}, not {wanted}");
    }
    printed(folder.run(&["check"]));
}

/// A folder was read by position with the first file's header: where the second file had its columns in another order,
/// its kinds became owners (1002 owners for 3).
#[test]
fn columns_are_found_by_name_in_every_file_of_a_folder() {
    let folder = Folder::with(&[]);
    fs::create_dir(folder.file("t")).unwrap();
    folder.write("t/a.csv", "id,kind\n1,aa\n2,aa\n");
    let mut second = String::from("\"kind\",unused,id\r\n");
    (0..1000).for_each(|_| second.push_str("bb,\"1,2\",3\r\n"));
    folder.write("t/b.CSV", &second);
    folder.write("t/_SUCCESS", "");
    folder.write("t/.b.csv.crc", "");
    let columns = "kind = { type = \"category\", values = [\"aa\", \"bb\"] }";
    let sql = query("kinds", "SELECT kind, COUNT(DISTINCT id) AS people FROM t GROUP BY kind");
    folder.write("scumble.toml", &project("t", columns, &sql));
    printed(folder.run(&["release", "--quiet"]));
    for (row, wanted) in rows(&folder, "kinds").iter().zip([2.0, 1.0]) {
        assert!((row[1].parse::<f64>().unwrap() - wanted).abs() <= 1.0, "{row:?}, not {wanted}");
    }
    // Columns that a file does not have are named with the file, before anything is charged.
    folder.write("t/c.csv", "id,sort\n4,aa\n");
    let sentence = refused(
        &folder.run(&["query", "SELECT COUNT(*) AS n FROM t", "--cost", "epsilon=1"]),
        2,
        "c.csv has no column 'kind'",
    );
    assert!(sentence.contains("c.csv"), "{sentence}");
    let spent: Value = serde_json::from_str(&printed(folder.run(&["ledger", "show", "--json"]))).unwrap();
    assert_eq!(spent["releases"].as_array().unwrap().len(), 1);
}

/// What else may lie in a folder: everything that is not read is either marked as such by its name or refused.
#[test]
fn what_a_folder_holds_is_read_or_named() {
    let folder = Folder::with(&[("scumble.toml", &project("t", "", &query("n", "SELECT COUNT(*) AS n FROM t")))]);
    let check = |words: &str| drop(refused(&folder.run(&["check"]), 2, words));
    check("there is no file or folder");
    fs::create_dir(folder.file("t")).unwrap();
    check("holds no file that ends in .csv");
    folder.write("t/a.csv", "id\n1\n");
    printed(folder.run(&["check"]));
    folder.write("t/notes.txt", "x");
    check("notes.txt, which does not end in .csv");
    fs::remove_file(folder.file("t/notes.txt")).unwrap();
    fs::create_dir(folder.file("t/more")).unwrap();
    check("holds another folder");
    fs::remove_dir(folder.file("t/more")).unwrap();
    folder.write("t/b.parquet", "x");
    check("holds files of several formats");
    fs::remove_file(folder.file("t/b.parquet")).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("a.csv", folder.file("t/b.csv")).unwrap();
        check("are the same file: its rows would count twice");
        fs::remove_file(folder.file("t/b.csv")).unwrap();
        fs::hard_link(folder.file("t/a.csv"), folder.file("t/b.csv")).unwrap();
        check("are the same file: its rows would count twice");
        fs::remove_file(folder.file("t/b.csv")).unwrap();
        std::os::unix::fs::symlink("gone.csv", folder.file("t/c.csv")).unwrap();
        check("there is no file or folder");
        fs::remove_file(folder.file("t/c.csv")).unwrap();
        folder.write("elsewhere.csv", "id\n2\n");
        std::os::unix::fs::symlink("../elsewhere.csv", folder.file("t/d.csv")).unwrap();
        printed(folder.run(&["check"]));
    }
    // A file's own column names reach the terminal on one line and as letters only.
    folder.write("kin.csv", "id,\"kin\n\u{1b}[31md\"\n1,2\n");
    folder.write("scumble.toml", &project("kin.csv", "kind = { type = \"category\" }", ""));
    let sentence = refused(&folder.run(&["check"]), 2, "has no column 'kind'");
    assert!(!sentence.contains('\u{1b}'), "{sentence}");
    // Names that mean many files elsewhere mean themselves here.
    folder.write("t[1]*.csv", "id\n1\n");
    folder.write("scumble.toml", &project("t[1]*.csv", "", ""));
    printed(folder.run(&["check"]));
}

/// A FIFO as source hung for ever, waiting for somebody to write into it.
#[cfg(unix)]
#[test]
fn a_pipe_or_a_socket_is_refused_before_it_is_opened() {
    let folder = Folder::with(&[]);
    assert!(Command::new("mkfifo").arg(folder.file("pipe.csv")).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(folder.file("socket.csv")).unwrap();
    fs::create_dir(folder.file("t")).unwrap();
    fs::rename(folder.file("pipe.csv"), folder.file("t/pipe.csv")).unwrap();
    for source in ["t/pipe.csv", "t", "socket.csv", "/dev/null"] {
        folder.write("scumble.toml", &project(source, "", &query("n", "SELECT COUNT(*) AS n FROM t")));
        for arguments in [&["release"][..], &["check"], &["init", source]] {
            let mut child = Command::new(env!("CARGO_BIN_EXE_scumble"))
                .args(arguments)
                .current_dir(folder.path())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let begin = Instant::now();
            while child.try_wait().unwrap().is_none() {
                if begin.elapsed() > Duration::from_secs(60) {
                    child.kill().unwrap();
                    panic!("{source}: {arguments:?} hangs");
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            refused(&child.wait_with_output().unwrap(), 2, "is a pipe, a socket or a device");
        }
    }
    assert!(!folder.file("scumble.ledger").exists());
}

/// A broken line was found by a query, after its charge. It is found before, the same for every query; the operator
/// learns where it is and never what it says.
#[test]
fn a_broken_file_is_found_before_anything_is_charged() {
    let columns = "age = { type = \"int\", lower = 0, upper = 99 }\nkind = { type = \"category\" }";
    let releases = query("n", "SELECT COUNT(*) AS n FROM t");
    let folder = Folder::with(&[("scumble.toml", &project("t.csv", columns, &releases))]);
    folder.write("t.csv", "id,kind,age\n1,\"two\nlines\",30\n2,x,\"secret\"\n");
    for arguments in [&["check"][..], &["release", "--quiet"]] {
        let sentence = refused(&folder.run(arguments), 2, "t.csv:4: the value in column 'age' is declared as int");
        assert!(!sentence.contains("secret"), "{sentence}");
    }
    assert!(!folder.file("scumble.ledger").exists(), "nothing was charged");
    folder.write("t.csv", "id,kind,age\n1,\"two\nlines\",30\n2,x,\n");
    let shown: Value = serde_json::from_str(&printed(folder.run(&["check", "--json"]))).unwrap();
    assert_eq!(shown["tables"][0]["fits"], true);
    assert_eq!(shown["tables"][0]["files"][0]["bytes"], 34);
    assert!(shown.to_string().len() < 1000 && !shown.to_string().contains("rows"), "{shown}");
    assert!(printed(folder.run(&["check"])).contains("table 't' fits its declaration"));
    printed(folder.run(&["release", "--quiet"]));
}

/// `marginals` and `heavy-hitters` panicked on the text columns of Parquet files, which are held in another form than
/// those of CSV files. What the first release writes as Parquet is the second one's source.
#[test]
fn the_texts_of_parquet_files_are_records_like_any_other() {
    let columns = "kind = { type = \"category\", values = [\"aa\", \"bb\", \"a rather long text\"] }\nsize = { type = \"int\", lower = 0, upper = 2 }";
    let first = "[[release]]\nname = \"rows\"\nkind = \"synthetic\"\ntable = \"t\"\ncolumns = [\"kind\", \"size\"]\ncost = { rho = 100 }\nmissing = \"never\"\n";
    let mut text = String::from("id,kind,size\n");
    for owner in 0..900 {
        let _ = writeln!(text, "{owner},{},{}", ["aa", "bb", "a rather long text"][owner % 3], owner % 2);
    }
    let folder = Folder::with(&[("t.csv", &text), ("scumble.toml", &project("t.csv", columns, first))]);
    printed(folder.run(&["release", "--quiet"]));
    let release = |kind: &str, unknown: &str| {
        format!(
            "[[release]]\nname = \"{kind}\"\nkind = \"{kind}\"\ntable = \"t\"\ncolumns = [{unknown}]\ncost = {{ epsilon = 50, delta = 1e-6 }}\n"
        )
    };
    let second = format!(
        "[dataset.t]\nsource = \"out/rows.parquet\"\n[dataset.t.columns]\n{columns}\n{}{}",
        release("marginals", "\"kind\", \"size\""),
        release("heavy-hitters", "\"kind\"")
    );
    folder.write("second.toml", &second);
    folder.write(
        "third.toml",
        &second
            .replace(", values = [\"aa\", \"bb\", \"a rather long text\"]", "")
            .replace("kind = \"marginals\"", "kind = \"histogram\"")
            .replace("columns = [\"kind\", \"size\"]", "columns = [\"kind\"]")
            .replace("name = \"marginals\"", "name = \"counts\"")
            .replace("heavy-hitters\"\nkind", "unknown\"\nkind"),
    );
    for (file, names) in [("second.toml", ["marginals", "heavy-hitters"]), ("third.toml", ["counts", "unknown"])] {
        printed(folder.run(&["release", file, "--quiet", "--ledger", &format!("{file}.db")]));
        for name in names {
            let text = folder.read(&format!("out/{}.csv", name.replace(' ', "-")));
            for kind in ["aa", "bb", "a rather long text"] {
                let line = text
                    .lines()
                    .find(|line| line.starts_with(&format!("{kind},")))
                    .unwrap_or_else(|| panic!("{name}: {text}"));
                let count: f64 = line.split(',').filter_map(|cell| cell.parse().ok()).next().unwrap();
                assert!((count - 300.0).abs() < 30.0, "{name}: {line}");
            }
        }
    }
}

/// `scumble plan /dev/zero` read until the memory was gone.
#[test]
#[cfg(unix)]
fn a_project_file_is_a_file() {
    let folder = Folder::with(&[]);
    folder.refused(&["plan", "/dev/zero"], 2, "is not a file of at most 64 MiB");
    folder.refused(&["plan", "."], 2, "is not a file of at most 64 MiB");
}

/// A release that fails on what the rows hold tells something about them, and costs its charge: missing and unlisted
/// values did that, and an empty table could. Every kind that reads records, on tables that nobody expects.
#[test]
fn no_kind_fails_on_what_the_rows_hold() {
    let columns = "n = { type = \"int\", lower = 0, upper = 3 }\nb = { type = \"bool\" }\nc = { type = \"category\", values = [\"x\", \"y\"] }\nu = { type = \"category\" }";
    let mut releases = String::new();
    let mut release = |name: &str, kind: &str, cost: &str, more: &str| {
        let _ = writeln!(
            releases,
            "[[release]]\nname = \"{name}\"\nkind = \"{kind}\"\ntable = \"t\"\ncost = {{ {cost} }}\n{more}"
        );
    };
    for missing in ["value", "never"] {
        for method in ["residual", "projection", "mwem"] {
            let more = format!("columns = [\"n\", \"b\", \"c\"]\nmethod = \"{method}\"\nmissing = \"{missing}\"");
            release(&format!("m {method} {missing}"), "marginals", "rho = 0.1", &more);
            release(&format!("s {method} {missing}"), "synthetic", "rho = 0.1", &more);
        }
        let more = format!("columns = [\"n\", \"b\", \"c\", \"u\"]\nmissing = \"{missing}\"");
        release(&format!("h {missing}"), "heavy-hitters", "epsilon = 1, delta = 1e-9", &more);
    }
    release("a", "anonymized-histogram", "epsilon = 1", "columns = [\"u\", \"n\"]");
    let rows = |row: &str| (0..60).map(|owner| format!("{owner}{row}\n")).collect::<String>();
    for rows in
        [String::new(), ",,,,\n".repeat(9), rows(",,,,"), rows(",999,TRUE,zzz,\"(missing)\""), rows(",-5,,x,\"a\nb\"")]
    {
        let text = format!("id,n,b,c,u\n{rows}");
        let project = project("t.csv", columns, &releases).replace("epsilon = 1000", "epsilon = 10000");
        let folder = Folder::with(&[("t.csv", &text), ("scumble.toml", &project)]);
        printed(folder.run(&["release", "--quiet"]));
    }
}
