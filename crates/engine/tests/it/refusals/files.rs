//! Files that do not fit their declaration.

use super::Refusing;
use scumble_testing::projects::{GERMAN_ROWS, german};
use std::fs;

/// What a table's declaration lacks is said with file, line, column and remedy, and nothing is charged.
#[test]
fn refusals_name_the_remedy() {
    let usual = GERMAN_ROWS.replace('\'', "\"");
    for (file, layout, words) in [
        (
            usual.as_str(),
            "",
            "people.csv has no column 'name': the file seems to be separated by ';'; set separator = \";\" for the \
                table",
        ),
        (
            &usual,
            "separator = \";\"",
            "people.csv:2: the value in column 'größe' is declared as float and is not a number",
        ),
        (&usual, "separator = \";\"", "set decimal = \",\" for the table"),
        (&usual, "separator = \";\"\ndecimal = \",\"", "people.csv:3: the value in column 'alter' is declared as int"),
        (&usual, "separator = \";\"\ndecimal = \",\"", "set null = [\"NA\"] for the table"),
        (
            "name,größe,alter,raucher\nA,1,1,ja \n",
            "",
            "people.csv:2: the value in column 'raucher' begins or ends with a space: set trim = true",
        ),
        (
            "'name','größe','alter','raucher'\n'A','1','1','ja'\n",
            "",
            "people.csv has no column 'name': if fields are quoted with ', set quote = \"'\" for the table",
        ),
        (
            "name,größe,alter,raucher\nA,'1','1',ja\n",
            "",
            "people.csv:2: the value in column 'größe' is declared as float and is not a number; correct it, leave it \
                empty, or declare the column as category (if fields are quoted with ', set quote = \"'\" for the table)",
        ),
        (&usual, "decimal = \",\"", "separator and decimal must differ"),
        (&usual, "separator = \"ab\"", "this must be one character"),
        (&usual, "quote = \",\"", "separator and quote must differ"),
        (&usual, "encoding = \"klingon\"", "unknown encoding"),
        (&usual, "header = false", "needs them here, as in header = [\"id\", \"age\"]"),
        (&usual, "separater = \";\"", "did you mean 'separator'?"),
        (
            "a,b\n\u{0}\n",
            "header = [\"name\", \"größe\", \"alter\", \"raucher\"]",
            "people.csv:1: this row has 2 fields, and the table's header has 4",
        ),
    ] {
        let folder = Refusing::with(&[("people.csv", file), ("scumble.toml", &german("people.csv", layout))]);
        folder.query("SELECT COUNT(*) AS n FROM people", "epsilon=1", words);
        assert!(!folder.file("scumble.ledger").exists(), "{words}: nothing is charged");
    }
    let folder = Refusing::with(&[("people.csv", ""), ("scumble.toml", &german("people.csv", ""))]);
    fs::write(folder.file("people.csv"), b"name,gr\xf6\xdfe,alter,raucher\n").unwrap();
    folder.check(
        "people.csv:1: the line of column names is not UTF-8 text; set its encoding, as in encoding = \
            \"windows-1252\"",
    );
}

#[test]
fn json_lines_and_packed_files_that_are_damaged() {
    for (name, bytes, words) in [
        ("people.jsonl", &b"{\"name\": \"a\"}\n[1]\n"[..], "people.jsonl:1: the first object has no key 'größe'"),
        (
            "people.jsonl",
            "{\"name\": 1, \"größe\": 1, \"alter\": 1, \"raucher\": \"ja\"}\n[1]\n".as_bytes(),
            "people.jsonl:2: this line is not a JSON object",
        ),
        (
            "people.jsonl",
            "{\"name\": {}, \"größe\": 1, \"alter\": 1, \"raucher\": \"ja\"}\n".as_bytes(),
            "people.jsonl:1: the value in column 'name' is a list or an object",
        ),
        (
            "people.csv.gz",
            b"name\n",
            "people.csv.gz is not compressed as its name says: remove .gz or .zst from the name, or compress it",
        ),
        ("people.csv.zst", b"name\n", "people.csv.zst is not compressed as its name says"),
        ("people.csv.gz", b"\x1f\x8b\x08\x00damaged", "people.csv.gz ends in the middle of its compressed data"),
        ("people.csv", b"\x1f\x8b\x08\x00packed", "people.csv is compressed with gzip: let its name end in .gz"),
        ("people.jsonl", b"\x28\xb5\x2f\xfdpacked", "people.jsonl is compressed with zstd: let its name end in .zst"),
        ("people.arrow", b"ARROW1", "people.arrow is damaged or is not an Arrow file"),
        ("people.xlsx", b"", "people.xlsx has a name with an unknown ending"),
    ] {
        let folder = Refusing::with(&[("scumble.toml", &german(name, ""))]);
        fs::write(folder.file(name), bytes).unwrap();
        folder.check(words);
    }
}

#[test]
fn values_that_no_row_can_have_are_refused() {
    for (layout, values, words) in [
        ("trim = true", "\"ja \"", "the value 'ja ' of column 'c' begins or ends with a space"),
        ("null = [\"ja\"]", "\"ja\"", "the value 'ja' of column 'c' stands for a missing value"),
    ] {
        let project = format!(
            "[dataset.t]\nsource = \"t.csv\"\n{layout}\n[dataset.t.columns]\nc = {{ type = \"category\", values = [{values}] }}\n"
        );
        let folder = Refusing::with(&[("scumble.toml", &project), ("t.csv", "c\nja\n")]);
        folder.check(words);
    }
    // What may be the first row of a file without names is not said.
    let project = "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\nageing = { type = \"int\" }\n";
    let folder = Refusing::with(&[("scumble.toml", project), ("t.csv", "aging,5,5\nb,6,7\n")]);
    let sentence = folder.check("columns 2 and 3 have the same name");
    assert!(!sentence.contains("'5'"), "{sentence}");
    folder.write("t.csv", "aging,5\n");
    let sentence = folder.check("has no column 'ageing'");
    assert!(!sentence.contains("aging,") && !sentence.contains("'aging'"), "{sentence}");
}
