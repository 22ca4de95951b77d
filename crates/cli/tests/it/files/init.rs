//! What `scumble init` writes, and what it asks before it does.

use crate::fixtures::people::{OWN_NAMES, counts, folder};
use crate::support::Folder;
use std::fs;

/// `init` declared every column of a text file as texts, which a ledger then held people to; and whose rows they were
/// was a comment.
#[test]
fn init_asks_who_the_owner_is_and_guesses_nothing() {
    let visits = "id,age,day of visit\na,30,Monday\na,30,Tuesday\nb,40,Monday\n";
    let folder = Folder::with(&[("visits.csv", visits)]);
    let said = folder.refused(&["init", "visits.csv"], 2, "who are the rows about? give --owner COLUMN");
    assert!(said.contains("id, age, day of visit") && said.contains("--no-owner"), "{said}");
    folder.refused(
        &["init", "visits.csv", "--owner", "idd"],
        2,
        "has no column 'idd' (did you mean 'id'?); if its first line names no columns, give their names with --header",
    );
    folder.refused(&["init", "visits.csv", "--owner", "id", "--no-owner"], 2, "--no-owner");
    assert!(!folder.file("scumble.toml").exists());
    folder.stdout(&["init", "visits.csv", "--owner", "id"]);
    let text = folder.read("scumble.toml");
    assert!(
        text.contains("owner  = \"id\"") && text.contains("\n# age = ") && text.contains("\n# \"day of visit\" = "),
        "{text}"
    );
    assert!(!text.contains("\n# id ="), "the owner needs no declaration: {text}");
    // A file that is not written as usual is said so, and what is said is in the file.
    folder.write("semicolons.csv", "id;age\na;30\nb;40\n");
    let elsewhere = ["--owner", "id", "--output", "semicolons.toml"];
    let refused = "semicolons.csv has only one column: the file seems to be separated by ';'; give --separator \";\"";
    folder.refused(&[&["init", "semicolons.csv"], &elsewhere[..]].concat(), 2, refused);
    folder.refused(
        &["init", "semicolons.csv", "--no-owner", "--separator", "ab"],
        2,
        "separator: this must be one character",
    );
    folder.refused(&["init", "semicolons.csv", "--no-owner", "--encoding", "klingon"], 2, "encoding: unknown encoding");
    folder.stdout(&[&["init", "semicolons.csv", "--separator", ";", "--encoding", "latin1"], &elsewhere[..]].concat());
    assert!(folder.read("semicolons.toml").contains("separator = \";\"\nencoding = \"windows-1252\"\n"));
    folder.stdout(&["release", "semicolons.toml", "--ledger", "semicolons.ledger", "--out", "semicolons"]);
    folder.write("bare.csv", "a,30\nb,40\n");
    folder.refused(
        &["init", "bare.csv", "--header", "id", "--no-owner"],
        2,
        "the first row of bare.csv has 2 fields, and --header names 1: name each",
    );
    folder.refused(&["init", "bare.csv", "--header", "id,", "--no-owner"], 2, "header: each column needs a name");
    folder.write("quoted.csv", "'id','age'\n'a','30'\n");
    folder.refused(
        &["init", "quoted.csv", "--owner", "id"],
        2,
        "are quoted with ': if fields are quoted with ', give --quote \"'\"",
    );
    folder.stdout(&["init", "quoted.csv", "--owner", "id", "--quote", "'", "--output", "quoted.toml"]);
    folder.stdout(&["check", "quoted.toml"]);
    folder.stdout(&["init", "bare.csv", "--header", "id,age", "--owner", "id", "--output", "bare.toml"]);
    folder.stdout(&["release", "bare.toml", "--ledger", "bare.ledger", "--out", "bare"]);
    // It runs as it is, and a column that is declared afterwards is no other table.
    folder.stdout(&["check"]);
    folder.stdout(&["plan"]);
    folder.stdout(&["release"]);
    assert!(folder.read("out/how-many.csv").starts_with("owners,owners_se,owners_low,owners_high\n"));
    let more = text.replace("# age = { type = \"…\" }", "age = { type = \"int\", lower = 0, upper = 120 }");
    assert_ne!(more, text);
    folder.write("scumble.toml", &format!("{more}[[release]]\nname = \"age\"\nsql = \"SELECT AVG(age) AS a FROM visits\"\ncost = {{ epsilon = 0.5 }}\n"));
    let said = folder.stdout(&["release"]);
    assert!(said.contains("kept: how many") && said.contains("age: 1 row"), "{said}");
}

/// Names of files that are no names of tables, a folder elsewhere, and a file that says its types.
#[test]
fn what_init_writes_runs_whatever_the_file_is_called() {
    for name in ["group.csv", "2024.csv", "my data (new).csv", "select.csv.gz"] {
        let folder = Folder::with(&[]);
        let rows = "a,b\n1,x\n2,y\n";
        if name.ends_with(".gz") {
            let mut packed = flate2::write::GzEncoder::new(
                fs::File::create(folder.file(name)).unwrap(),
                flate2::Compression::fast(),
            );
            std::io::Write::write_all(&mut packed, rows.as_bytes()).unwrap();
            packed.finish().unwrap();
        } else {
            folder.write(name, rows);
        }
        fs::create_dir(folder.file("sub")).unwrap();
        folder.stdout(&["init", name, "--no-owner", "--output", "sub/first.toml"]);
        folder.stdout(&["release", "sub/first.toml"]);
        assert!(folder.file("sub/out/how-many.csv").exists(), "{name}");
    }
    // What a release writes as Parquet says what its columns are.
    let folder = folder(&counts());
    folder.stdout(&["release"]);
    fs::copy(folder.file("out/counts.parquet"), folder.file("counts.parquet")).unwrap();
    folder.stdout(&["init", "counts.parquet", "--no-owner", "--output", "second.toml"]);
    let text = folder.read("second.toml");
    assert!(text.contains("# n = { type = \"int\", lower = …, upper = … }"), "{text}");
    assert!(text.contains("# sex = { type = \"category\""), "{text}");
}

/// The error about a file without a header says what to declare.
#[test]
fn a_file_without_names_is_told_what_to_say() {
    let project = format!(
        "{OWN_NAMES}[[release]]\nname = \"r\"\nsql = \"SELECT COUNT(*) AS k FROM t\"\ncost = {{ epsilon = 1 }}\n"
    );
    let folder = Folder::with(&[("scumble.toml", project.as_str()), ("t.csv", "a,b,x,y\na,b,x,y\n")]);
    folder.refused(&["release", "--quiet"], 2, "if the file has no line of names, set header = [\"…\"] for the table");
}

/// The first row of a file without names is somebody's: init printed it, as names of columns.
#[test]
fn init_doubts_a_first_row_that_is_no_names_and_prints_nothing_of_it() {
    let folder = Folder::with(&[("bare.csv", "37,zebra\n40,m\n"), ("named.csv", "age,sex\n37,f\n")]);
    let doubt = "the first line of bare.csv holds a number or a date where it should name a column: if it is a row, give the names with --header";
    let said = folder.refused(&["init", "bare.csv"], 2, doubt);
    let other = folder.refused(&["init", "bare.csv", "--owner", "zebr"], 2, "bare.csv has no column 'zebr'");
    assert!(!said.contains("37") && !said.contains("zebra") && !other.contains("zebra"), "{said}{other}");
    let told = |arguments: &[&str]| {
        let output = folder.run(&[&["init"], arguments].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let said = told(&["bare.csv", "--no-owner", "--output", "bare.toml"]);
    assert!(said.contains(doubt) && !said.contains("zebra"), "{said}");
    // The other way round: names that are said to be a row.
    let said = told(&["named.csv", "--no-owner", "--header", "Age,sex", "--output", "same.toml"]);
    assert!(said.contains("the first row of named.csv holds the names that --header gives"), "{said}");
    let said = told(&["named.csv", "--no-owner", "--header", "a,b", "--output", "other.toml"]);
    assert!(said.contains("the first row of named.csv holds no number and no date"), "{said}");
    // What is as it is said to be is not doubted.
    assert_eq!(told(&["bare.csv", "--no-owner", "--header", "a,b", "--output", "right.toml"]), "");
    assert_eq!(told(&["named.csv", "--no-owner", "--output", "usual.toml"]), "");
}
