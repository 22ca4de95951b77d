//! What is published is listed and printed again, from the ledger and the published files alone.

use crate::fixtures::named_people;
use crate::support::Folder;
use std::fs;

fn released() -> Folder {
    let folder = named_people::folder(&[named_people::PEOPLE, named_people::BUDGET, named_people::COUNTS].concat());
    folder.refused(&["show"], 2, "there is no ledger");
    folder.stdout(&["release", "--quiet"]);
    folder
}

#[test]
fn what_is_published_is_shown_without_the_table() {
    let folder = released();
    let csv = folder.read("out/counts.csv");
    let entries = folder.json(&["ledger", "verify", "--json"])["entries"].clone();
    fs::remove_file(folder.file("people.csv")).unwrap();
    let list = folder.stdout(&["show"]);
    assert!(list.contains("counts") && list.contains("out/counts.csv") && list.contains("report: "), "{list}");
    let shown = folder.json(&["show", "--json"]);
    assert_eq!((&shown["releases"][0]["name"], &shown["releases"][0]["rows"]), (&"counts".into(), &2.into()));
    let printed = folder.stdout(&["show", "counts"]);
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].starts_with("counts, published 20") && lines[1].contains("n ± 95%"), "{printed}");
    // Each number is rounded to its margin, and all digits are in the file.
    for (line, row) in lines[3..5].iter().zip(csv.lines().skip(1)) {
        let cells: Vec<&str> = row.split(',').collect();
        let [n, low, high] = [1, 3, 4].map(|cell| cells[cell].parse::<i64>().unwrap());
        let half = (high - n).max(n - low);
        assert!(line.starts_with(cells[0]) && line.contains(&format!(" {n} ± {half} ")), "{line}: {row}");
    }
    assert!(!printed.contains('\u{1b}'), "no colour in a pipe");
    let answers = &folder.json_file("out/counts.json")["answers"];
    assert_eq!(&folder.json(&["show", "counts", "--json"]), answers);
    folder.refused(&["show", "count"], 2, "'count' is not published (did you mean 'counts'?)");
    assert_eq!(folder.json(&["ledger", "verify", "--json"])["entries"], entries);
}

/// A file that somebody changed is not what was published.
#[test]
fn a_changed_file_is_not_shown() {
    let folder = released();
    folder.write("out/counts.json", "{}");
    folder.refused(&["show", "counts"], 2, "its files are not what was published");
    let shown = folder.json(&["show", "--json"]);
    assert!(shown["releases"].as_array().unwrap().is_empty(), "{shown}");
    assert_eq!(shown["unshown"][0]["name"], "counts");
}

/// The last answers stand in the list, those before are kept in their files.
#[test]
fn the_newest_answers_are_shown() {
    let folder = released();
    folder.stdout(&["release", "--quiet", "--again", "counts"]);
    let shown = folder.json(&["show", "--json"]);
    assert_eq!(shown["releases"].as_array().unwrap().len(), 1, "{shown}");
    let answers = &folder.json_file("out/counts.json")["answers"];
    assert_eq!(&folder.json(&["show", "counts", "--json"]), answers);
}
