//! Layouts of tables: separators, decimal commas, encodings, packed files, words for what is missing, JSON lines, Arrow
//! files.

use crate::support::{Folder, refused};
use scumble_testing::projects::GERMAN_ROWS as GERMAN;
use scumble_testing::projects::german as project;
use serde_json::Value;
use std::fs;

/// How many people there are, how many have an age, the sum of ages and of heights: with hardly any noise.
fn numbers(folder: &Folder) -> [i64; 4] {
    let sql = "SELECT COUNT(*) AS n, COUNT(alter) AS known, SUM(alter) AS years, SUM(\"größe\") AS metres FROM people";
    let answer = folder.json(&["query", sql, "--cost", "epsilon=100000", "--json"]);
    let row = &answer["rows"][0];
    let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{row}"));
    [number("n") as i64, number("known") as i64, number("years") as i64, (100.0 * number("metres")).round() as i64]
}

const TRUTH: [i64; 4] = [4, 3, 125, 525];

#[test]
fn a_german_spreadsheet_in_every_encoding_and_packing() {
    let layout = "separator = \";\"\ndecimal = \",\"\nquote = \"'\"\nnull = [\"NA\"]";
    let latin: Vec<u8> = GERMAN.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect();
    let utf16: Vec<u8> = format!("\u{feff}{GERMAN}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, GERMAN.as_bytes()).unwrap();
    for (name, bytes, more) in [
        ("people.csv", GERMAN.as_bytes().to_vec(), ""),
        ("people.csv", latin, "\nencoding = \"latin1\""),
        ("people.csv", utf16, "\nencoding = \"utf-16le\""),
        ("people.csv.gz", gzip.finish().unwrap(), ""),
        ("people.csv.zst", zstd::encode_all(GERMAN.as_bytes(), 1).unwrap(), ""),
    ] {
        let folder = Folder::with(&[("scumble.toml", &project(name, &format!("{layout}{more}")))]);
        fs::write(folder.file(name), bytes).unwrap();
        assert_eq!(numbers(&folder), TRUTH, "{name}{more}");
    }
}

#[test]
fn a_file_without_a_line_of_names_tabs_and_json_lines() {
    let body =
        GERMAN.split_once('\n').unwrap().1.replace("; Anna", "").replace(',', ".").replace(';', "\t").replace('\'', "");
    let header = "header = [\"name\", \"größe\", \"alter\", \"raucher\"]\nnull = [\"NA\"]";
    let folder = Folder::with(&[("people.tsv", &body), ("scumble.toml", &project("people.tsv", header))]);
    assert_eq!(numbers(&folder), TRUTH);
    let lines = "{\"name\": \"Müller\", \"größe\": 1.75, \"alter\": 44, \"raucher\": \"ja\", \"more\": [1]}\n\n\
                 {\"name\": \"Meier\", \"größe\": \"1.6\", \"alter\": null, \"raucher\": \"nein\"}\n{\"name\": \"Özil\", \"alter\": 30.0}\n\
                 {\"name\": \"Schmidt\", \"größe\": 1.9, \"alter\": \"51\", \"raucher\": \"ja\"}\n";
    let folder = Folder::with(&[("people.jsonl", lines), ("scumble.toml", &project("people.jsonl", ""))]);
    assert_eq!(numbers(&folder), TRUTH);
}

/// The names that a table's declaration gives to columns are remembered: with others, the same values would be other
/// attributes.
#[test]
fn another_header_is_another_table() {
    let with = |header: &str| {
        format!(
            "[dataset.t]\nsource = \"t.csv\"\nheader = [{header}]\n[dataset.t.columns]\na = {{ type = \"int\", lower = 0, upper = 9 }}\n\
             b = {{ type = \"int\", lower = 0, upper = 9 }}\n"
        )
    };
    let folder = Folder::with(&[("t.csv", "1,2\n3,4\n"), ("scumble.toml", &with("\"a\", \"b\""))]);
    let ask = ["query", "SELECT SUM(a) AS s FROM t", "--cost", "epsilon=1", "--json"];
    let first: Value = folder.json(&ask);
    assert!(first["rows"].is_array());
    folder.write("scumble.toml", &with("\"b\", \"a\""));
    refused(&folder.run(&ask), 2, "table 't' is not what earlier releases of this ledger read: its files were read");
}

/// Numbers beyond 64 bits were read as the nearest f64: a hundred owners became one.
#[test]
fn owners_that_are_long_numbers_are_written_in_quotes() {
    let project = "[dataset.t]\nsource = \"t.jsonl\"\nowner = \"p\"\nmax_rows_per_owner = 1\n[dataset.t.columns]\nv = { type = \"int\", lower = 0, upper = 1 }\n";
    let lines = |quote: &str| -> String {
        (0..5).map(|i| format!("{{\"p\":{quote}1000000000000000000000000{i}{quote},\"v\":1}}\n")).collect()
    };
    let folder = Folder::with(&[("scumble.toml", project), ("t.jsonl", &lines(""))]);
    refused(
        &folder.run(&["check"]),
        2,
        "t.jsonl:1: the value in column 'p' is a number with decimals or of more than 64 bits",
    );
    folder.write("t.jsonl", &lines("\""));
    let answer = folder.json(&["query", "SELECT COUNT(*) AS n FROM t", "--cost", "epsilon=100000", "--json"]);
    assert_eq!(answer["rows"][0]["n"], 5, "{answer}");
}

/// A file of a folder that is renamed is read otherwise: what the ledger remembers of its check is not about it.
#[test]
fn a_renamed_file_is_checked_again() {
    let project = "[dataset.t]\nsource = \"t\"\nheader = [\"k\", \"v\"]\n[dataset.t.columns]\nv = { type = \"int\", lower = 0, upper = 9 }\n";
    let folder = Folder::with(&[("scumble.toml", project)]);
    fs::create_dir(folder.file("t")).unwrap();
    folder.write("t/a.csv", "1,2\n3,4\n");
    let ask = ["query", "SELECT COUNT(*) AS n FROM t", "--cost", "epsilon=1", "--json"];
    folder.json(&ask);
    fs::rename(folder.file("t/a.csv"), folder.file("t/a.tsv")).unwrap();
    refused(
        &folder.run(&ask),
        2,
        "a.tsv:1: this row has 1 field, and the table's header has 2; the file is read with tabs between its fields",
    );
}

/// A file .tsv was read with tabs whatever the table said, and the remedy was to say what it said already.
#[test]
fn a_file_of_tabs_that_has_commas_is_told_what_to_say() {
    let rows = "name,größe,alter,raucher\nMüller,1.75,44,ja\n";
    let folder = Folder::with(&[("people.tsv", rows), ("scumble.toml", &project("people.tsv", ""))]);
    let said = folder.refused(&["check"], 2, "people.tsv has no column 'name': the file is read with tabs");
    assert!(said.contains("set separator = \",\" for the table, or rename it to .csv"), "{said}");
    for name in ["people.csv", "people.tsv"] {
        let folder = Folder::with(&[(name, rows), ("scumble.toml", &project(name, "separator = \",\""))]);
        folder.stdout(&["check"]);
    }
}

/// `null = ["-99"]` left -99.0 in the table, which counted as the lower bound.
#[test]
fn a_missing_number_is_missing_however_it_is_written() {
    let rows = "name;größe;alter;raucher\na;1,75;44;ja\nb;-99,0;-99,0;nein\nc;-99;-99;nein\nd;-9,9e1; -99 ;ja\n";
    let layout = "separator = \";\"\ndecimal = \",\"\nnull = [\"-99\"]";
    let folder = Folder::with(&[("people.csv", rows), ("scumble.toml", &project("people.csv", layout))]);
    assert_eq!(numbers(&folder), [4, 1, 44, 175]);
    let lines = "{\"name\": \"a\", \"größe\": 1.75, \"alter\": 44, \"raucher\": \"ja\"}\n{\"größe\": -99.0, \"alter\": -99.0}\n{\"größe\": \"-99\", \"alter\": -99}\n{}\n";
    let declared = project("people.jsonl", "null = [\"-99\"]");
    let folder = Folder::with(&[("people.jsonl", lines), ("scumble.toml", &declared)]);
    assert_eq!(numbers(&folder), [4, 1, 44, 175]);
    // Of texts it is the text that is meant.
    let texts = "[dataset.t]\nsource = \"t.csv\"\nnull = [\"-99\"]\n[dataset.t.columns]\nx = { type = \"category\", values = [\"-99.0\"] }\n";
    let folder = Folder::with(&[("t.csv", "x\n-99\n-99.0\n-99.0\n"), ("scumble.toml", texts)]);
    let answer =
        folder.json(&["query", "SELECT x, COUNT(*) AS n FROM t GROUP BY x", "--cost", "epsilon=100000", "--json"]);
    assert_eq!(answer["rows"][0]["n"], 2, "{answer}");
}

/// Of a key that came twice the last value counted, in silence; and a line without an end is read to its limit and no
/// further.
#[test]
fn objects_that_say_two_things_and_endless_lines_are_refused() {
    let of = |line: &str| {
        let lines = format!("{{\"name\": \"a\", \"größe\": 1.75, \"alter\": 44, \"raucher\": \"ja\"}}\n{line}\n");
        Folder::with(&[("people.jsonl", &lines), ("scumble.toml", &project("people.jsonl", ""))])
    };
    let said =
        of("{\"alter\": 1, \"name\": \"b\", \"alter\": 2}").refused(&["check"], 2, "people.jsonl:2: the object has");
    assert!(said.contains("'alter'") && said.contains("more than once") && said.contains("write it once"), "{said}");
    // What is not declared may say what it wants.
    of("{\"alter\": 1, \"more\": 1, \"more\": 2}").stdout(&["check"]);
    let long = format!("{{\"name\": \"{}\"}}", "x".repeat(17 << 20));
    let said = of(&long).refused(&["check"], 2, "people.jsonl:2: the row that begins here has more than");
    assert!(!said.contains("xxx"), "{}", said.len());
    of(&"[".repeat(1000)).refused(&["check"], 2, "people.jsonl:2: this line is not a JSON object");
    of(&format!("{{\"more\": {}", "[".repeat(100_000))).refused(
        &["check"],
        2,
        "people.jsonl:2: this line is not a JSON object",
    );
}

/// What was made of the arguments of the command line has lines and columns that nobody has in front of them.
#[test]
fn no_place_is_named_in_what_the_command_line_says() {
    let people: String = (0..40).map(|i| format!("n{i},1.5,{i},ja\n")).collect();
    let rows = format!("name,größe,alter,raucher\n{people}");
    let folder = Folder::with(&[("people.csv", &rows), ("scumble.toml", &project("people.csv", ""))]);
    for (sql, cost) in [
        ("SELECT name, COUNT(*) AS n FROM people GROUP BY name", "epsilon=1"),
        ("SELECT COUNT(*) AS n FROM people", "epsilon=0"),
        ("SELECT COUNT(*) AS n FROM people", "rho=1,epsilon=1"),
        ("SELECT COUNT(*) AS n FROM people", "delta=1e-9"),
        ("SELECT COUNT(*) AS n FROM people", "epsilon=-1"),
        ("", "epsilon=1"),
        ("SELECT MEDIAN(alter) AS m FROM people", "epsilon=1e-300"),
    ] {
        let said = folder.run(&["query", sql, "--cost", cost]);
        let said = String::from_utf8_lossy(&said.stderr).to_string();
        assert!(!said.contains("command line"), "{sql} at {cost}: {said}");
    }
    folder.refused(
        &["query", "SELECT COUNT(*) AS n FROM people", "--cost", "epsilon=0"],
        2,
        "scumble: a release that may cost nothing",
    );
    folder.refused(
        &["query", "SELECT name, COUNT(*) AS n FROM people GROUP BY name", "--cost", "epsilon=1"],
        2,
        "delta",
    );
}

/// Files as programs and people leave them: with a title above the names, with what some write for no number, cut off
/// on their way.
#[test]
fn what_stands_above_the_names_and_what_is_cut_off_is_named() {
    let of = |file: &str, bytes: &[u8], kind: &str| {
        let folder = Folder::with(&[]);
        std::fs::write(folder.file(file), bytes).unwrap();
        folder.write("scumble.toml", &format!(
            "[dataset.t]\nsource = \"{file}\"\n[dataset.t.columns]\nid = {{ type = \"int\", lower = 0, upper = 9 }}\nx = {{ {kind} }}\n[budget]\npresence = {{ epsilon = 1 }}\n"
        ));
        folder
    };
    let float = "type = \"float\", lower = 0, upper = 9";
    for (above, line) in [("Report of 2024\n\n", 3), ("# made by a tool\n", 2), ("sep=,\n", 2)] {
        let folder = of("t.csv", format!("{above}id,x\n1,2\n").as_bytes(), float);
        let words = format!(
            "t.csv has no column 'id': the declared names seem to stand in line {line}; remove what stands above them"
        );
        folder.refused(&["check"], 2, &words);
    }
    let titled = of("t.csv", b"Report of 2024\n\nid,x\n1,2\n", float);
    titled.refused(
        &["init", "t.csv", "--no-owner", "--output", "new.toml"],
        2,
        "the first line of t.csv has one field, and later ones have more",
    );
    of("t.jsonl", b"{\"id\": 1, \"x\": NaN}\n", float).refused(
        &["check"],
        2,
        "t.jsonl:1: NaN and Infinity are not JSON; write null",
    );
    // Missing truths made a column of numbers of it.
    let truths = of("t.csv", b"id,x\n1,1.0\n2,0.0\n3,\n", "type = \"bool\"");
    assert!(truths.run(&["check"]).status.success());
    let whole = zstd::encode_all(&b"id,x\n1,2\n"[..], 1).unwrap();
    of("t.csv.zst", &whole[..whole.len() - 4], float).refused(
        &["check"],
        2,
        "t.csv.zst ends in the middle of its compressed data",
    );
}
