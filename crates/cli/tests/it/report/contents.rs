//! The report: all that was published, over all runs, with what it means.

use crate::fixtures::named_people::usual;
use crate::fixtures::people::{PEOPLE, counts, folder, people, spent, total};
use crate::support::Folder;
use serde_json::Value;
use std::fs;

/// A report showed its own run alone: after a second one, the first had never been.
#[test]
fn reports_add_up_over_runs() {
    let folder = folder(&counts());
    folder.stdout(&["release"]);
    folder.stdout(&["query", "SELECT COUNT(*) AS everybody FROM people", "--cost", "epsilon=0.25", "--name", "all"]);
    let names = |folder: &Folder| -> Vec<String> {
        let report = folder.json_file("out/report.json");
        let releases = report["releases"].as_array().unwrap().iter();
        releases.map(|one| format!("{} {}", one["name"].as_str().unwrap(), one["sequence"])).collect()
    };
    assert_eq!(names(&folder), ["counts 4", "all 7"], "as in the project file, then what is not there");
    let page = folder.read("out/report.html");
    assert!(page.find("<h2>counts</h2>").unwrap() < page.find("<h2>all</h2>").unwrap());
    let first = folder.json_file("out/counts.json")["answers"]["rows"].clone();
    assert_eq!(folder.json_file("out/report.json")["releases"][0]["answers"]["rows"], first, "as it was published");
    // A run that keeps everything says the same; one that pays again says what it replaced.
    folder.stdout(&["release"]);
    assert_eq!(names(&folder), ["counts 4", "all 7"]);
    folder.stdout(&["release", "--again", "counts"]);
    assert_eq!(names(&folder), ["counts 10", "counts 4", "all 7"]);
    let report = folder.json_file("out/report.json");
    assert_eq!((&report["releases"][1]["answers"]["rows"], &report["releases"][1]["replaced"]), (&first, &true.into()));
    assert!(folder.read("out/report.html").contains("entry 4 of the ledger; charged again since"));
    // Where earlier files cannot be kept, nothing is charged.
    fs::rename(folder.file("out/earlier"), folder.file("elsewhere")).unwrap();
    folder.write("out/earlier", "in the way");
    let before = spent(&folder);
    folder.refused(&["release", "--again", "counts"], 2, "what is published cannot be kept in");
    assert_eq!(spent(&folder), before);
    fs::remove_file(folder.file("out/earlier")).unwrap();
    fs::rename(folder.file("elsewhere"), folder.file("out/earlier")).unwrap();
    // Without the earlier files it says what it cannot show.
    fs::remove_dir_all(folder.file("out/earlier")).unwrap();
    folder.stdout(&["release"]);
    assert_eq!(names(&folder), ["counts 10", "all 7"]);
    let report = folder.json_file("out/report.json");
    assert_eq!((&report["not_shown"][0]["sequence"], &report["not_shown"][0]["name"]), (&4.into(), &"counts".into()));
    assert!(report["not_shown"][0]["why"].as_str().unwrap().contains("charged again since"), "{report:#}");
    // An edited file is not what was published, and is not shown.
    let edited = folder.read("out/all.json").replace("everybody", "nobody");
    folder.write("out/all.json", &edited);
    folder.stdout(&["release"]);
    assert_eq!(names(&folder), ["counts 10"]);
    assert!(folder.read("out/report.html").contains("its files are not what was published"));
}

/// What a reader wants of a report: when and from what, what it means, what is left, and the question beside the
/// answer.
#[test]
fn a_report_says_what_it_means_first() {
    let folder = folder(&[counts(), total()].concat());
    folder.stdout(&["release"]);
    let page = folder.read("out/report.html");
    let report = folder.json_file("out/report.json");
    let day = &report["written"].as_str().unwrap()[..10];
    let head = page.split("<section>").next().unwrap();
    assert!(head.contains(day) && head.contains("<code>people.csv</code>") && head.contains("scumble.toml"), "{head}");
    // ε = 1: a coin is guessed right with probability e / (1 + e) at most.
    let verdict = report["verdict"][0].as_str().unwrap();
    assert!(verdict.contains(": all 2 published statistics together let an attacker"), "{verdict}");
    let percent = verdict.split("probability at most ").nth(1).and_then(|rest| rest.split('%').next()).unwrap();
    assert!((55.0..=73.2).contains(&percent.parse::<f64>().unwrap()), "{verdict}");
    assert!(page.find(verdict).unwrap() < page.find("<table").unwrap(), "words come first");
    assert_eq!(report["verdict"][1], "Of the budget for person, the tightest, 50% is spent.");
    assert!(page.contains("<i style=\"width:50.0%\">"), "a bar for what is left");
    let section = page.split("<h2>counts</h2>").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(section.contains("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"), "{section}");
    assert!(section.contains(&format!("published {day}")), "{section}");
    // Each line of the contents leads somewhere.
    let ids: Vec<&str> = page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(ids.len() >= 6, "{ids:?}");
    for id in ids {
        assert!(page.contains(&format!("id=\"{id}\"")), "{id} is not there");
    }
}

/// Synthetic rows made a report of 282 MB.
#[test]
fn synthetic_rows_stay_in_their_own_files() {
    let synthetic = "[[release]]\nname = \"made up\"\nkind = \"synthetic\"\ntable = \"people\"\ncolumns = [\"age\", \"sex\"]\ncost = { rho = 0.05 }\n";
    let folder = Folder::with(&[("scumble.toml", &format!("{PEOPLE}{synthetic}")), ("people.csv", &people(5000))]);
    folder.stdout(&["release"]);
    let rows = folder.json_file("out/made-up.json")["answers"]["rows"].as_array().unwrap().len();
    assert!(rows > 3000, "{rows}");
    let report = folder.json_file("out/report.json");
    assert_eq!(report["releases"][0]["answers"]["rows"], Value::Null);
    assert_eq!(report["releases"][0]["answers"]["row_count"].as_u64(), Some(rows as u64));
    assert!(folder.read("out/report.json").len() < 100_000);
    let page = folder.read("out/report.html");
    let section = page.split("<h2>made up</h2>").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(section.contains("synthetic rows, in <code>made-up.csv</code>") && !section.contains("<td>"), "{section}");
}

/// One ε was 0.334 on top, 0.3334 below and 0.333334 on the terminal.
#[test]
fn one_number_looks_the_same_everywhere() {
    let third = counts().replace("epsilon = 0.5", "epsilon = 0.3333333");
    let folder = folder(&third);
    folder.stdout(&["release"]);
    let page = folder.read("out/report.html");
    let looks = |text: &str| text.matches("0.33333").count() - text.matches("0.333334").count();
    assert!(page.contains("ε = 0.333334") && page.contains("<td>0.333334</td>"), "{page}");
    for text in [folder.stdout(&["ledger"]), folder.stdout(&["plan", "--details"])] {
        assert!(text.contains("0.333334") && looks(&text) == 0, "{text}");
    }
}

/// An error was 1414210 in the file, 1 414 214 in the plan; a sum of cents 285087.10000000003; a half 0.5000; a delta
/// 0.000000001.
#[test]
fn errors_sums_and_deltas_look_the_same_everywhere() {
    let table = "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\nx = { type = \"float\", lower = 0, upper = 1000000, granularity = 0.01 }\n\
        [budget]\nperson = { epsilon = 9.0, delta = 1e-9 }\n";
    let sums = "[[release]]\nname = \"sums\"\nsql = \"SELECT SUM(x) AS s FROM t\"\ncost = { epsilon = 0.7 }\n";
    let median = "[[release]]\nname = \"median\"\nkind = \"quantiles\"\ntable = \"t\"\ncolumn = \"x\"\nquantiles = [0.5]\ncost = { epsilon = 1 }\n";
    let rows: String = (0..500).map(|row| format!("{}.07\n", row * 13)).collect();
    let folder = Folder::with(&[("scumble.toml", &format!("{table}{sums}{median}")), ("t.csv", &format!("x\n{rows}"))]);
    // √2·10⁶/0.7 without rounding away whole numbers.
    let plan = folder.stdout(&["plan"]);
    assert!(plan.lines().any(|line| line.starts_with("sums ") && line.contains(" 2\u{202f}020\u{202f}305 ")), "{plan}");
    folder.stdout(&["release"]);
    let csv = folder.read("out/sums.csv");
    let fields: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(fields[1], "2020305", "{csv}");
    assert!(fields[0].split_once('.').is_none_or(|(_, cents)| cents.len() <= 2), "{csv}");
    let page = folder.read("out/report.html");
    assert!(page.contains("2\u{202f}020\u{202f}305") && page.contains(">0.5<") && !page.contains("0.5000"), "{page}");
    let budget = folder.stdout(&["budget", "show"]);
    assert!(budget.contains("person epsilon 9 at delta 1e-9"), "{budget}");
}

/// An error had six digits in the CSV and seventeen in the JSON.
#[test]
fn one_number_looks_the_same_in_every_file() {
    let folder = usual();
    folder.stdout(&["release", "--quiet"]);
    let (csv, json) = (folder.read("out/counts.csv"), folder.json_file("out/counts.json"));
    let fields = |line: usize| csv.lines().nth(line).unwrap().split(',').map(str::to_string).collect::<Vec<_>>();
    for row in 0..2 {
        for (name, shown) in fields(0).iter().zip(fields(row + 1)).skip(1) {
            let rows = &json["answers"]["rows"][row];
            let number = match name.rsplit_once('_') {
                Some((number, "se")) => &rows[format!("{number}_error")],
                Some((number, "low")) => &rows[format!("{number}_interval")][0],
                Some((number, "high")) => &rows[format!("{number}_interval")][1],
                _ => &rows[name],
            };
            assert_eq!(number.as_f64(), shown.parse().ok(), "{name}: {number} is shown as {shown}");
        }
    }
    assert!(json["answers"]["rows"][0]["n"].is_i64(), "a whole number stays one: {json:#}");
    let again = folder.json(&["release", "--json"]);
    assert_eq!(again["releases"][0]["answers"], json["answers"], "and what is kept is what was published");
}
