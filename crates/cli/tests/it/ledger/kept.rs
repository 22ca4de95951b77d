//! What is published already is kept, and nothing is paid for twice by accident.

use crate::fixtures::people::{BUDGET, PEOPLE, counts, folder, ledger, people, release, spent, total};
use serde_json::Value;
use std::fs;

/// Fields that no answer depends on, and the case of a keyword, do not make another release; another declaration is
/// announced before it is charged.
#[test]
fn the_same_release_in_other_words_is_kept() {
    let folder = folder(&counts());
    folder.stdout(&["release"]);
    let same = [
        counts().replace("SELECT", "select").replace("GROUP BY", "group by"),
        counts().replace("cost =", "expected_rows = 500\ncost ="),
        counts().replace("cost =", "noise = \"auto\"\ncost ="),
    ];
    for release in same {
        folder.write("scumble.toml", &format!("{PEOPLE}{BUDGET}{release}"));
        assert!(folder.stdout(&["release"]).contains("kept: counts"), "{release}");
    }
    assert_eq!(spent(&folder), 0.5);
    folder.write("scumble.toml", &format!("{PEOPLE}{BUDGET}{}", counts().replace("epsilon = 0.5", "epsilon = 0.25")));
    let planned = flat(&folder.stdout(&["plan"]));
    let words = "'counts' is published with another declaration (entry 4): it would cost epsilon=0.25 again";
    assert!(planned.contains(&format!("counts: {words}; a release needs --again counts")), "{planned}");
    // A renamed alias and a lowered bound were paid for a second time, and nobody was asked.
    let said = folder.refused(&["release"], 3, words);
    assert!(said.contains("; nothing was charged: undo that, or use --again counts"), "{said}");
    assert_eq!(spent(&folder), 0.5);
    folder.stdout(&["release", "--again", "counts"]);
    assert_eq!(spent(&folder), 0.75);
    assert!(folder.stdout(&["release"]).contains("kept: counts"));
}

/// A text on one line, with single spaces.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Another name makes it another release; before it is paid for, `plan` says that it need not be.
#[test]
fn a_renamed_release_is_told() {
    let folder = folder(&counts());
    folder.stdout(&["release"]);
    folder.write("scumble.toml", &format!("{PEOPLE}{BUDGET}{}", counts().replace("\"counts\"", "\"by sex\"")));
    let words = "'by sex' is published as 'counts' (entry 4): under another name it would cost epsilon=0.5 again";
    let planned = flat(&folder.stdout(&["plan"]));
    assert!(planned.contains(words), "{planned}");
    folder.refused(&["release"], 3, words);
    folder.stdout(&["release", "--again", "by sex"]);
    assert_eq!(spent(&folder), 1.0);
    // Something else under another name is nothing to tell.
    folder.write("scumble.toml", &format!("{PEOPLE}{BUDGET}{}", total()));
    assert!(!folder.stdout(&["plan"]).contains("is published as"));
}

/// Running `scumble release` twice was charged twice, for numbers that everybody had already.
#[test]
fn a_second_release_keeps_what_is_published() {
    let folder = folder(&counts());
    folder.stdout(&["release"]);
    let published = folder.read("out/counts.csv");
    let again = folder.stdout(&["release"]);
    let line = again.lines().find(|line| line.starts_with("kept: counts, published 20")).unwrap_or_default();
    assert!(line.ends_with(" (entry 4); --again counts charges for a new one"), "{again}");
    assert_eq!((spent(&folder), folder.read("out/counts.csv")), (0.5, published.clone()));
    // Where it begins a new line and how a number is written makes no other release of it.
    let same =
        counts().replace("epsilon = 0.5", "epsilon = 0.50").replace("COUNT(*) AS n FROM", "COUNT(*)  AS n  FROM");
    folder.write("scumble.toml", &format!("{PEOPLE}{BUDGET}{same}"));
    let shown = folder.json(&["release", "--json"]);
    assert_eq!((&shown["releases"][0]["kept"], spent(&folder)), (&Value::Bool(true), 0.5), "{shown:#}");
    assert_eq!(shown["releases"][0]["answers"], folder.json_file("out/counts.json")["answers"]);
    // Asked for, new numbers are paid for.
    folder.stdout(&["release", "--again", "counts"]);
    assert_eq!(spent(&folder), 1.0);
    folder.refused(
        &["release", "--again", "count"],
        2,
        "there is no release 'count' in scumble.toml (did you mean 'counts'?)",
    );
}

/// What is declared otherwise is another release: its cost, its query, how much of an owner counts.
#[test]
fn another_declaration_is_another_release() {
    let folder = folder(&counts());
    folder.stdout(&["release"]);
    for (number, other) in [
        counts().replace("epsilon = 0.5", "epsilon = 0.25"),
        counts().replace("FROM people", "FROM people WHERE age > 17"),
    ]
    .into_iter()
    .enumerate()
    {
        folder.write("scumble.toml", &format!("{PEOPLE}{BUDGET}{other}"));
        folder.refused(&["release"], 3, "'counts' is published with another declaration");
        assert!(!folder.stdout(&["release", "--again", "counts"]).contains("kept"));
        assert_eq!(ledger(&folder)["releases"].as_array().unwrap().len(), number + 2);
        assert!(folder.stdout(&["release"]).contains("kept: counts"));
    }
    // A new column concerns nobody: what was published did not read it.
    let wider = PEOPLE.replace("sex =", "born = { type = \"int\", lower = 1900, upper = 2030 }\nsex =");
    let rows = people(200).replace("age,sex\n", "born,age,sex\n").replace("\n", "\n1980,");
    folder.write("people.csv", rows.trim_end_matches("1980,"));
    let other = counts().replace("FROM people", "FROM people WHERE age > 17");
    folder.write("scumble.toml", &format!("{wider}{BUDGET}{other}"));
    assert!(folder.stdout(&["release"]).contains("kept: counts"));
}

/// Rows came, and nobody said that new numbers are wanted: the old ones stay, and it is said that they are old.
#[test]
fn changed_data_is_said_and_kept() {
    let folder = folder(&counts());
    folder.stdout(&["release"]);
    assert_eq!(folder.json(&["release", "--json"])["releases"][0]["data_changed"], Value::Bool(false));
    folder.write("people.csv", &people(300));
    let said = folder.stdout(&["release"]);
    assert!(said.contains("(entry 4); the data changed since; --again counts charges"), "{said}");
    assert_eq!(spent(&folder), 0.5);
    // What is published needs no table any more.
    fs::remove_file(folder.file("people.csv")).unwrap();
    assert!(folder.stdout(&["release"]).contains("kept: counts"));
}

/// The second of three releases was killed when its files were about to be written: the first is kept, the second is
/// paid for again, the third for the first time.
#[test]
fn a_run_that_was_interrupted_goes_on() {
    let all = [counts(), total(), release("old", "SELECT COUNT(*) AS n FROM people WHERE age > 60")].concat();
    let folder = folder(&all);
    folder.stdout(&["release", "--only", "counts"]);
    // As it is after the power failed in the second: no commit.
    folder.stdout(&["release", "--only", "total"]);
    folder.forget(1, "total");
    let output = folder.run(&["release"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains(
            "total had been charged once and not completed (ledger entry 7): that charge stays, and it was charged again"
        ),
        "{told}"
    );
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("kept: counts") && said.contains("total: 1 row") && said.contains("old: 1 row"), "{said}");
    let verdict = folder.json_file("out/report.json")["verdict"][0].as_str().unwrap().to_string();
    assert!(
        verdict.contains("all 4 releases together, 1 of them interrupted and perhaps not seen by anybody, let"),
        "{verdict}"
    );
    let states: Vec<String> = ledger(&folder)["releases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {}", one["release"].as_str().unwrap(), one["state"].as_str().unwrap()))
        .collect();
    assert_eq!(states, ["counts committed", "total interrupted", "total committed", "old committed"]);
    assert!(folder.stdout(&["release"]).matches("kept: ").count() == 3);
}

/// The same, killed before anything of the second had left the process: it goes on with its charge, also where the
/// budget would not pay for another.
#[test]
fn a_run_of_which_nothing_was_seen_goes_on_with_its_charge() {
    let all = [counts(), total(), release("old", "SELECT COUNT(*) AS n FROM people WHERE age > 60")].concat();
    let folder = folder(&all);
    folder.stdout(&["release", "--only", "counts"]);
    folder.stdout(&["release", "--only", "total"]);
    folder.forget(2, "total");
    let (before, plan) = (spent(&folder), folder.run(&["plan"]));
    let said = flat(&String::from_utf8_lossy(&plan.stdout));
    let words = "total: it was charged, and nothing of it was seen (entry 7): a release uses that charge";
    assert!(said.contains(words), "{said}");
    let output = folder.run(&["release", "--only", "total"]);
    let told = String::from_utf8(output.stderr).unwrap();
    let words = "total had been charged, and nothing of it was seen (ledger entry 7): it used that charge, and \
        nothing more was charged";
    assert!(told.contains(words), "{told}");
    assert_eq!(spent(&folder), before);
    let states: Vec<Value> =
        ledger(&folder)["releases"].as_array().unwrap().iter().map(|one| one["state"].clone()).collect();
    assert_eq!(states, ["committed", "committed"]);
    folder.stdout(&["ledger", "verify"]);
}

/// Files that are gone or changed are not paid for in silence.
#[test]
fn lost_outputs_are_a_sentence_and_no_charge() {
    let folder = folder(&[counts(), total()].concat());
    folder.stdout(&["release"]);
    let published = folder.read("out/counts.csv");
    folder.write("out/counts.csv", "sex,n\nf,100\n");
    let said = folder.refused(&["release"], 2, "out/counts.csv is not what was published; nothing was charged");
    assert!(said.contains("entry 4") && said.contains("or use --again counts"), "{said}");
    folder.write("out/counts.csv", &published);
    assert!(folder.stdout(&["release"]).contains("kept: counts"));
    let json = folder.read("out/counts.json");
    folder.write("out/counts.json", &json.replace("\"n\"", "\"m\""));
    folder.refused(&["release"], 2, "out/counts.json is not what was published");
    fs::remove_dir_all(folder.file("out")).unwrap();
    let said = folder.refused(&["release"], 2, "out/counts.csv is not there any more (and so with another release)");
    assert!(said.contains("--again counts --again total"), "{said}");
    folder.refused(&["release", "--out", "elsewhere"], 2, "name its folder with --out");
    assert_eq!(spent(&folder), 1.0);
    folder.stdout(&["release", "--again", "counts", "--again", "total"]);
    assert_eq!(spent(&folder), 2.0);
}

/// A table that is not what it was is refused, whether or not something of it is kept.
#[test]
fn a_kept_release_is_of_the_table_that_it_was_of() {
    let folder = folder(&total());
    folder.stdout(&["release"]);
    let owned = PEOPLE.replace("source =", "owner = \"sex\"\nmax_rows_per_owner = 1\nsource =").replace("sex = {", "#");
    folder.write("scumble.toml", &format!("{owned}{BUDGET}{}", total()));
    folder.refused(&["release"], 2, "is not what earlier releases of this ledger read");
}

/// A ledger from before it knew what was declared: the events and the rule tell. Limits were English.
#[test]
fn a_release_of_an_older_ledger_is_kept_too() {
    let folder = folder(&counts());
    folder.stdout(&["release"]);
    // The same entries without the field, with the chain that they have then.
    let base = rusqlite::Connection::open(folder.file("scumble.ledger")).unwrap();
    let bodies: Vec<(i64, String)> = base
        .prepare("SELECT sequence, body FROM entry ORDER BY sequence")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut before = vec![0u8; 32];
    let (mut links, count) = (serde_json::Map::new(), bodies.len());
    for (sequence, body) in bodies {
        let mut body: Value = serde_json::from_str(&body).unwrap();
        let entry = body["entry"].as_str().unwrap().to_string();
        body.as_object_mut().unwrap().retain(|key, _| key != "request" && key != "files");
        if entry == "budget" {
            let limit = &body["limits"]["person"];
            let text = |name: &str| limit[name].as_str().unwrap();
            let words = format!("epsilon {} at delta {}", text("epsilon"), text("delta"));
            body["limits"]["person"] = words.into();
        }
        if entry == "reserve" {
            links.iter().for_each(|(name, link)| body["after"][name] = link.clone());
        }
        let text = body.to_string();
        let hash =
            crate::support::digest_bytes(&[&before[..], &(sequence as u64).to_be_bytes(), text.as_bytes()].concat());
        links.insert(entry, serde_json::json!({ "entry": sequence, "hash": hex::encode(&hash) }));
        base.execute("UPDATE entry SET body = ?2, hash = ?3 WHERE sequence = ?1", (sequence, &text, &hash)).unwrap();
        base.execute("UPDATE head SET hash = ?1", [&hash]).unwrap();
        before = hash;
        links.retain(|name, _| ["declaration", "data", "budget"].contains(&name.as_str()));
    }
    base.pragma_update(None, "user_version", 2).unwrap();
    drop(base);
    folder.stdout(&["ledger", "verify"]);
    assert!(folder.stdout(&["release"]).contains("kept: counts"));
    assert_eq!(ledger(&folder)["entries"].as_u64(), Some(count as u64));
    folder.write("scumble.toml", &format!("{PEOPLE}{BUDGET}{}", counts().replace("0.5", "0.25")));
    folder.refused(&["release"], 3, "'counts' is published with another declaration");
}

const ENDS: [&str; 3] = ["csv", "parquet", "json"];

/// Files had the name of their release, with its spaces: what was published so is kept, shown and reported, and its
/// files go to the earlier ones when new numbers are paid for.
#[test]
fn what_was_published_under_an_old_file_name_is_kept() {
    let by_sex = counts().replace("\"counts\"", "\"By sex\"");
    let folder = folder(&by_sex);
    folder.stdout(&["release"]);
    for end in ENDS {
        fs::rename(folder.file(&format!("out/by-sex.{end}")), folder.file(&format!("out/By sex.{end}"))).unwrap();
    }
    let published = folder.read("out/By sex.csv");
    let kept = folder.json(&["release", "--json"]);
    assert_eq!((&kept["releases"][0]["kept"], spent(&folder)), (&Value::Bool(true), 0.5), "{kept:#}");
    assert!(kept["releases"][0]["files"][0].as_str().unwrap().ends_with("out/By sex.csv"), "{kept:#}");
    assert!(folder.stdout(&["show", "By sex"]).contains(" ± "));
    assert!(folder.stdout(&["plan"]).contains(" kept "));
    // One that was changed is not kept, and is named.
    folder.write("out/By sex.csv", "sex,n\n");
    folder.refused(&["release"], 2, "out/By sex.csv is not what was published");
    folder.write("out/By sex.csv", &published);
    folder.stdout(&["release", "--again", "By sex"]);
    assert_eq!(spent(&folder), 1.0);
    assert!(ENDS.iter().all(|end| folder.file(&format!("out/by-sex.{end}")).exists()));
    assert!(ENDS.iter().all(|end| !folder.file(&format!("out/By sex.{end}")).exists()), "nothing old beside it");
    let earlier: Vec<_> = fs::read_dir(folder.file("out/earlier")).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(earlier.iter().any(|file| fs::read_to_string(file).is_ok_and(|text| text == published)), "{earlier:?}");
    let report = folder.json_file("out/report.json");
    let names: Vec<&str> =
        report["releases"].as_array().unwrap().iter().filter_map(|one| one["file"].as_str()).collect();
    assert!(names.len() == 2 && names.contains(&"by-sex.csv"), "{names:?}");
    assert!(folder.stdout(&["release"]).contains("kept: By sex"));
}

/// A second ledger for the same people counts from nothing.
#[test]
fn tables_that_a_ledger_knows_are_not_charged_in_another() {
    let folder = folder(&counts());
    folder.stdout(&["release", "--quiet"]);
    let query = ["query", "SELECT COUNT(*) AS n FROM people", "--cost", "epsilon=0.5", "--quiet"];
    let words = "has charged releases of table 'people', and second.ledger would not count them: leave out --ledger";
    for command in [&["release", "--quiet"][..], &query[..]] {
        folder.refused(&[command, &["--ledger", "second.ledger"]].concat(), 3, words);
    }
    assert!(!folder.file("second.ledger").exists());
    // The way out, which stands in a file that others read.
    folder.write("scumble.toml", &format!("ledger = \"second.ledger\"\n{PEOPLE}{BUDGET}"));
    folder.stdout(&query);
    // Public tables are about nobody, and other people are other people.
    folder.write("others.csv", &people(50));
    let others = PEOPLE.replace("people.csv", "others.csv").replace("dataset.people", "dataset.others");
    folder.write("scumble.toml", &format!("{others}{BUDGET}"));
    let query = ["query", "SELECT COUNT(*) AS n FROM others", "--cost", "epsilon=0.5", "--quiet"];
    folder.stdout(&[&query[..], &["--ledger", "third.ledger"]].concat());
}
