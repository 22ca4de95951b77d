//! What is ignored or misread in silence elsewhere: quotes, separators, headers, words for missing values.

use crate::fixtures::named_people::{BUDGET, COUNTS, PEOPLE, rows, usual};
use crate::support::Folder;

/// Values in single quotes were none of those listed: every count was 0, and nothing said why.
#[test]
fn listed_values_in_quotes_are_hinted_at() {
    let folder = usual();
    assert_eq!(folder.json(&["check", "--json"])["hints"], serde_json::json!([]));
    folder.write("people.csv", "age,sex,name\n1,f,a\n2,'m',b\n");
    let said = folder.stdout(&["check"]);
    let hint = "people.csv:3: the value in column 'sex' is quoted with ', and is listed without: if fields are quoted with \
        ', set quote = \"'\" for the table";
    assert!(said.ends_with(&format!("{hint}\n")), "{said}");
    assert_eq!(folder.json(&["check", "--json"])["hints"][0], *hint);
    folder.write("scumble.toml", &folder.read("scumble.toml").replace("source =", "quote = \"'\"\nsource ="));
    assert!(!folder.stdout(&["check"]).contains("is quoted with"), "it is declared");
}

/// A comma that was declared for a .tsv file was ignored.
#[test]
fn a_declared_separator_wins_over_the_name_of_a_file() {
    let project = format!("{PEOPLE}{BUDGET}{COUNTS}");
    let with_comma = project.replace("source = \"people.csv\"", "source = \"people.tsv\"\nseparator = \",\"");
    let folder = Folder::with(&[("scumble.toml", &with_comma), ("people.tsv", &rows())]);
    folder.stdout(&["check"]);
    folder.stdout(&["release", "--quiet"]);
    // Without the word it is another reading of the same file, which the ledger knows.
    folder.write("scumble.toml", &with_comma.replace("separator = \",\"\n", ""));
    folder.refused(&["release"], 2, "its files were read");
    folder.refused(&["check"], 2, "set separator = \",\" for the table, or rename it to .csv");
    folder.write("people.tsv", &rows().replace(',', "\t"));
    folder.stdout(&["check"]);
    // In a ledger the comma of a .csv file is what is usual.
    let folder = usual();
    folder.stdout(&["release", "--quiet"]);
    folder.write("scumble.toml", &project.replace("source =", "separator = \",\"\nsource ="));
    assert!(folder.stdout(&["release"]).contains("kept: counts"));
    let folder = Folder::with(&[("people.tsv", &rows())]);
    folder.stdout(&["init", "people.tsv", "--no-owner", "--separator", ","]);
    folder.stdout(&["check"]);
}

/// A key that the first object lacks was a column that is not there, anywhere.
#[test]
fn a_missing_key_of_json_lines_is_said_with_its_line() {
    let project = PEOPLE.replace("people.csv", "people.jsonl");
    let lines = "\n{\"age\": 1, \"name\": \"a\"}\n{\"age\": 2, \"sex\": \"f\", \"name\": \"b\"}\n";
    let folder = Folder::with(&[("scumble.toml", &project), ("people.jsonl", lines)]);
    let words = "people.jsonl:2: the first object has no key 'sex': it must have all declared ones; write null where it has no value";
    folder.refused(&["check"], 2, words);
    folder.write("people.jsonl", &lines.replacen("\"age\": 1", "\"age\": 1, \"sex\": null", 1));
    folder.stdout(&["check"]);
}

/// A line of names that header repeats was counted as a person.
#[test]
fn a_header_that_stands_in_the_file_is_refused() {
    let project =
        "[dataset.t]\nsource = \"t.csv\"\nheader = [\"id\", \"x\"]\n[dataset.t.columns]\nx = { type = \"category\" }\n";
    let folder = Folder::with(&[("scumble.toml", project), ("t.csv", "id,x\n1,a\n2,b\n")]);
    let words = "t.csv:1: the first line holds the names that header gives, and would count as a row: leave header out";
    folder.refused(&["check"], 2, words);
    folder.refused(&["query", "SELECT COUNT(*) AS n FROM t", "--cost", "epsilon=1"], 2, words);
    folder.write("t.csv", "1,a\n2,b\n");
    folder.stdout(&["check"]);
}

/// NA among texts was a text, and NA among owners a person, without a word.
#[test]
fn words_for_missing_values_are_hinted_at() {
    let project = "[dataset.t]\nsource = \"t.csv\"\nowner = \"id\"\nmax_rows_per_owner = 1\n[dataset.t.columns]\nx = { type = \"category\" }\n";
    let folder = Folder::with(&[("scumble.toml", project), ("t.csv", "id,x\n1,a\n2,NA\n")]);
    let said = folder.stdout(&["check"]);
    let hint = "t.csv:3: column 'x' holds NA here, and it counts as a string like any other (if this stands for a \
        missing value, set null = [\"NA\"] for the table)";
    assert!(said.contains(hint), "{said}");
    folder.write("t.csv", "id,x\nNULL,a\n2,b\n");
    let said = folder.stdout(&["check"]);
    assert!(said.contains("t.csv:2: column 'id' holds NULL here, and all rows with it belong to one owner"), "{said}");
    folder.write("scumble.toml", &project.replace("\nowner =", "\nnull = [\"NULL\", \"NA\"]\nowner ="));
    assert!(!folder.stdout(&["check"]).contains("holds NULL"));
}

/// 2,500 is either of two numbers, a thousand times apart: neither is proposed.
#[test]
fn signs_between_thousands_are_not_taken_for_decimals() {
    let project = "[dataset.t]\nsource = \"t.csv\"\nseparator = \";\"\n[dataset.t.columns]\nx = { type = \"float\", lower = 0, upper = 5000 }\n";
    let folder = Folder::with(&[("scumble.toml", project), ("t.csv", "id;x\n1;2,500\n")]);
    let said = folder.refused(&["check"], 2, "it seems to have separators between thousands: write it without them");
    assert!(!said.contains("decimal"), "{said}");
    folder.write("t.csv", "id;x\n1;2,5\n");
    folder.refused(&["check"], 2, "if numbers have a decimal ',', set decimal = \",\"");
    folder.write("scumble.toml", &project.replace("separator", "decimal = \",\"\nseparator"));
    folder.write("t.csv", "id;x\n1;1.234,5\n");
    folder.refused(&["check"], 2, "it seems to have separators between thousands");
}

/// What stands for a missing value in files does so in the names of their folders.
#[test]
fn missing_values_in_the_names_of_folders() {
    let project = "[dataset.t]\nsource = \"h\"\nnull = [\"NA\"]\n[dataset.t.columns]\nyear = { type = \"int\", lower = 2000, upper = 2020 }\n";
    let folder = Folder::with(&[("scumble.toml", project)]);
    for year in ["NA", "2013"] {
        std::fs::create_dir_all(folder.file(&format!("h/year={year}"))).unwrap();
        folder.write(&format!("h/year={year}/a.csv"), "x\n1\n");
    }
    let answer =
        folder.json(&["query", "SELECT COUNT(*) AS n, COUNT(year) AS y FROM t", "--cost", "epsilon=1e6", "--json"]);
    assert_eq!((answer["rows"][0]["n"].as_f64(), answer["rows"][0]["y"].as_f64()), (Some(2.0), Some(1.0)));
}

/// Files that are no tables of texts say so.
#[test]
fn files_that_are_no_csv_are_named() {
    let folder = Folder::with(&[]);
    std::fs::write(folder.file("sheet.csv"), b"PK\x03\x04\x14\0\x06\0\x08\0").unwrap();
    folder.refused(
        &["init", "sheet.csv", "--no-owner"],
        2,
        "is a packed archive, such as an Excel workbook, and not text: save the sheet as CSV",
    );
    let wide: Vec<u8> = "id,x\n1,a\n".bytes().flat_map(|byte| [byte, 0]).collect();
    std::fs::write(folder.file("wide.csv"), wide).unwrap();
    folder.refused(&["init", "wide.csv", "--no-owner"], 2, "--encoding \"utf-16le\"");
}

/// A name in other letters is hinted at, also where no other column was found.
#[test]
fn names_in_other_letters_are_hinted_at() {
    let project =
        "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\nx = { type = \"int\", lower = 0, upper = 9 }\n";
    let folder = Folder::with(&[("scumble.toml", project), ("t.csv", "id,X\n1,2\n")]);
    folder.refused(&["check"], 2, "t.csv has no column 'x' (did you mean 'X'?)");
}
