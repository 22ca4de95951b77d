//! Releases that were replaced, declared otherwise, or whose files are gone.

use crate::fixtures::named_people::{folder, usual};
use crate::support::Folder;
use std::fs;

/// The three files of a release that was replaced had three names without anything in common.
#[test]
fn files_that_were_replaced_are_recognised_by_their_names() {
    let folder = usual();
    folder.stdout(&["release", "--quiet"]);
    let published = folder.read("out/counts.csv");
    folder.stdout(&["release", "--quiet", "--again", "counts"]);
    let kept = |folder: &Folder| -> Vec<String> {
        let files = fs::read_dir(folder.file("out/earlier")).unwrap();
        let mut names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let names = kept(&folder);
    let stems: Vec<&str> = names.iter().map(|name| name.rsplit_once('.').unwrap().0).collect();
    assert!(stems.len() == 3 && stems.iter().all(|stem| *stem == stems[0]), "{names:?}");
    assert!(stems[0].starts_with("counts-entry-4-"), "{names:?}");
    assert_eq!(folder.read(&format!("out/earlier/{}.csv", stems[0])), published);
    assert!(folder.read("out/report.html").contains("entry 4 of the ledger; charged again since"));
    // Names that an earlier version gave are found as well.
    for name in &names {
        let bytes = fs::read(folder.file(&format!("out/earlier/{name}"))).unwrap();
        let end = name.rsplit_once('.').unwrap().1;
        let before = format!("out/earlier/counts-{}.{end}", &crate::support::digest(&bytes)[..16]);
        fs::rename(folder.file(&format!("out/earlier/{name}")), folder.file(&before)).unwrap();
    }
    folder.stdout(&["release", "--quiet"]);
    assert!(folder.read("out/report.html").contains("entry 4 of the ledger; charged again since"));
    // What no ledger knows is kept too, under its digest.
    folder.write("out/counts.csv", "edited");
    folder.stdout(&["release", "--quiet", "--again", "counts"]);
    let edited = format!("counts-{}.csv", &crate::support::digest(b"edited")[..16]);
    assert!(kept(&folder).contains(&edited), "{:?}", kept(&folder));
}

/// The bounds of the table, said once more in the release, made another release of it.
#[test]
fn a_bound_that_is_the_tables_own_makes_no_other_release() {
    let project = "[dataset.visits]\nsource = \"people.csv\"\nowner = \"name\"\nmax_rows_per_owner = 3\nmax_groups_per_owner = 2\n\
                   [dataset.visits.columns]\nsex = { type = \"category\", values = [\"f\", \"m\"] }\n\
                   [[release]]\nname = \"r\"\nsql = \"SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex\"\ncost = { epsilon = 0.5 }\n";
    let folder = folder(project);
    folder.stdout(&["release", "--quiet"]);
    let kept = |folder: &Folder, more: &str| {
        folder.write("scumble.toml", &format!("{project}{more}"));
        folder.json(&["plan", "--json"])["releases"][0]["published"].is_object()
    };
    assert!(kept(&folder, "max_groups_per_owner = 2\n") && kept(&folder, "max_rows_per_owner = 3\n"));
    assert!(!kept(&folder, "max_groups_per_owner = 1\n"), "that is another one");
    // A join of the table with itself lets 9 rows of an owner count unless it is said otherwise.
    let joined = "[[release]]\nname = \"j\"\nsql = \"SELECT COUNT(*) AS n FROM visits AS a JOIN visits AS b ON a.name = b.name\"\ncost = { epsilon = 0.5 }\n";
    folder.write("scumble.toml", &format!("{project}{joined}"));
    folder.stdout(&["release", "--quiet"]);
    let published = |folder: &Folder| folder.json(&["plan", "--json"])["releases"][1]["published"].clone();
    assert!(published(&folder).is_object());
    folder.write("scumble.toml", &format!("{project}{joined}max_rows_per_owner = 3\n"));
    assert!(published(&folder).is_null());
}

/// A plan said that a release is kept, and the release refused to keep it.
#[test]
fn a_plan_says_what_became_of_files() {
    let folder = usual();
    folder.stdout(&["release", "--quiet"]);
    fs::rename(folder.file("out"), folder.file("elsewhere")).unwrap();
    let said = folder.stdout(&["plan"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("(entry 4)") && said.contains("counts.csv is not there any more: restore it"), "{said}");
    assert!(said.contains("or use release --again counts") && !said.contains("kept"), "{said}");
    let lost = &folder.json(&["plan", "--json"])["releases"][0]["published"]["lost"];
    assert!(lost.as_str().unwrap().ends_with("counts.csv is not there any more"), "{lost}");
    let said = folder.stdout(&["plan", "--out", "elsewhere"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("counts kept"), "{said}");
}

/// Two lists of sixty values stood in one sentence, cut off before they differ.
#[test]
fn another_list_of_values_is_said_in_short() {
    let list = |number: usize| (0..number).map(|at| format!("area {at}\n")).collect::<String>();
    let project = "[dataset.areas]\nsource = \"areas.csv\"\npublic = true\n[dataset.areas.columns]\narea = { type = \"category\" }\n\
                   [dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\narea = { type = \"category\", values = { table = \"areas\", column = \"area\" } }\n\
                   [[release]]\nname = \"r\"\nsql = \"SELECT area, COUNT(*) AS n FROM t GROUP BY area\"\ncost = { epsilon = 1 }\n";
    for (before, now, words) in [
        (
            60,
            61,
            "its column 'area' had a list of 60 values and has another of 61 now (\"area 60\" is new); nothing was charged",
        ),
        (
            61,
            60,
            "its column 'area' had a list of 61 values and has another of 60 now (\"area 60\" is gone); nothing was charged",
        ),
        (80, 70, "its column 'area' had a list of 80 values and has another of 70 now; nothing was charged"),
    ] {
        let areas = format!("area\n{}", list(before));
        let folder = Folder::with(&[("scumble.toml", project), ("areas.csv", &areas), ("t.csv", &areas)]);
        folder.stdout(&["release", "--quiet"]);
        folder.write("areas.csv", &format!("area\n{}", list(now)));
        folder.refused(&["release"], 2, words);
    }
}
