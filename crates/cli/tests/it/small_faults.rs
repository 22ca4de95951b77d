//! Small faults that a trial of the command line found: what is ignored in silence, what is said in a way that helps nobody, what is shown in two ways.

use crate::support::Folder;
use serde_json::Value;
use std::fs;

const PEOPLE: &str = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
age = { type = "int", lower = 0, upper = 120 }
sex = { type = "category", values = ["f", "m"] }
name = { type = "category" }
"#;

const BUDGET: &str = "[budget]\nperson = { epsilon = 100, delta = 1e-9 }\n";

const COUNTS: &str = "[[release]]\nname = \"counts\"\nsql = \"SELECT sex, COUNT(*) AS n, AVG(age) AS a FROM people GROUP BY sex\"\ncost = { epsilon = 0.5 }\n";

fn rows() -> String {
    let rows: String = (0..200).map(|row| format!("{},{},p{row}\n", row % 90, ["f", "m"][row % 2])).collect();
    format!("age,sex,name\n{rows}")
}

fn folder(project: &str) -> Folder {
    Folder::with(&[("scumble.toml", project), ("people.csv", &rows())])
}

fn usual() -> Folder {
    folder(&format!("{PEOPLE}{BUDGET}{COUNTS}"))
}

/// The sentence that refuses a query, which costs nothing.
fn refused_query(folder: &Folder, sql: &str, words: &str) {
    let said = folder.refused(&["query", sql, "--cost", "epsilon=0.1"], 2, words);
    assert!(
        !["Error during planning", "not implemented", "Int64", "Utf8"].iter().any(|raw| said.contains(raw)),
        "{said}"
    );
    assert!(!folder.file("scumble.ledger").exists(), "something was charged");
}

/// Values in single quotes were none of those listed: every count was 0, and nothing said why.
#[test]
fn listed_values_in_quotes_are_hinted_at() {
    let folder = usual();
    assert_eq!(folder.json(&["check", "--json"])["hints"], serde_json::json!([]));
    folder.write("people.csv", "age,sex,name\n1,f,a\n2,'m',b\n");
    let said = folder.stdout(&["check"]);
    let hint = "people.csv:3: the value in column 'sex' stands in ', and is listed without: if fields stand in ', say quote = \"'\" for the table";
    assert!(said.ends_with(&format!("{hint}\n")), "{said}");
    assert_eq!(folder.json(&["check", "--json"])["hints"][0], *hint);
    folder.write("scumble.toml", &folder.read("scumble.toml").replace("source =", "quote = \"'\"\nsource ="));
    assert!(!folder.stdout(&["check"]).contains("stands in"), "it is declared");
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
    folder.refused(&["check"], 2, "say separator = \",\" for the table, or call it .csv");
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

/// An error had six digits in the CSV and seventeen in the JSON.
#[test]
fn one_number_looks_the_same_in_every_file() {
    let folder = usual();
    folder.stdout(&["release", "--quiet"]);
    let (csv, json) = (folder.read("out/counts.csv"), folder.json_file("out/counts.json"));
    let fields = |line: usize| csv.lines().nth(line).unwrap().split(',').map(str::to_string).collect::<Vec<_>>();
    for row in 0..2 {
        for (name, shown) in fields(0).iter().zip(fields(row + 1)).skip(1) {
            let number = &json["answers"]["rows"][row][name];
            assert_eq!(number.as_f64(), shown.parse().ok(), "{name}: {number} is shown as {shown}");
        }
    }
    assert!(json["answers"]["rows"][0]["n"].is_i64(), "a whole number stays one: {json:#}");
    let again = folder.json(&["release", "--json"]);
    assert_eq!(again["releases"][0]["answers"], json["answers"], "and what is kept is what was published");
}

/// `0.000000001` here and `1e-9` there; `δ = 0e0` where there is none; forty digits of a large budget.
#[test]
fn limits_are_shown_in_one_way() {
    let folder = usual();
    folder.stdout(&["release", "--quiet"]);
    let shown = folder.json(&["budget", "show", "--json"]);
    assert_eq!(shown["budgets"][0]["limits"]["person"], "epsilon 100 at delta 1e-9", "{shown:#}");
    let large = PEOPLE.to_string() + "[budget]\nperson = { epsilon = 1e40 }\n" + COUNTS;
    let folder = self::folder(&large);
    folder.stdout(&["release", "--quiet"]);
    assert_eq!(folder.json(&["budget", "show", "--json"])["budgets"][0]["limits"]["person"], "epsilon 1e40");
    assert!(folder.stdout(&["budget", "show"]).contains("person epsilon 1e40 "));
    let report = folder.read("out/report.html");
    assert!(report.contains("(person, δ = 0)") && !report.contains("0e0"), "no delta is 0");
    assert!(report.contains("<td>epsilon 1e40</td>") && !report.contains("1000000000000"), "no zeros without end");
    // What a large limit is cannot be told by its first digits alone: the ledger has all of them.
    let exact = folder.json(&["ledger", "export"]).to_string();
    assert!(exact.contains(&format!("epsilon 1{} at delta 0", "0".repeat(40))));
}

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
    assert!(folder.read("out/report.html").contains("entry 4 of the ledger; paid for again since"));
    // Names that an earlier version gave are found as well.
    for name in &names {
        let bytes = fs::read(folder.file(&format!("out/earlier/{name}"))).unwrap();
        let end = name.rsplit_once('.').unwrap().1;
        let before = format!("out/earlier/counts-{}.{end}", &crate::support::digest(&bytes)[..16]);
        fs::rename(folder.file(&format!("out/earlier/{name}")), folder.file(&before)).unwrap();
    }
    folder.stdout(&["release", "--quiet"]);
    assert!(folder.read("out/report.html").contains("entry 4 of the ledger; paid for again since"));
    // What no ledger knows is kept too, under its digest.
    folder.write("out/counts.csv", "edited");
    folder.stdout(&["release", "--quiet", "--again", "counts"]);
    let edited = format!("counts-{}.csv", &crate::support::digest(b"edited")[..16]);
    assert!(kept(&folder).contains(&edited), "{:?}", kept(&folder));
}

/// Queries whose refusals were the planner's own, or that were answered with 0 at their full price.
#[test]
fn queries_are_refused_in_our_words() {
    let folder = usual();
    let texts =
        "name holds texts and is compared with a number: write the text in single quotes, or CAST(name AS BIGINT)";
    for condition in ["name > 5", "5 = name", "name IN (5, 6)", "name BETWEEN 1 AND 6"] {
        refused_query(&folder, &format!("SELECT COUNT(*) AS n FROM people WHERE {condition}"), texts);
    }
    for (sql, words) in [
        (
            "SELECT COUNT(*) AS n FROM people WHERE sex = \"male\"",
            "query:1:47: there is no declared column 'male' (did you mean 'age'?); if it is a text, write it in single quotes: 'male'",
        ),
        (
            "SELECT SUM(COUNT(*)) AS n FROM people",
            "query:1:8: an aggregate stands inside of another: leave one of them out",
        ),
        ("SELECT TOP 5 COUNT(*) AS n FROM people", "TOP is not answered; write ORDER BY … LIMIT …"),
        (
            "SELECT COUNT(*) AS n FROM people WHERE name SIMILAR TO 'a%'",
            "SIMILAR TO is not answered on private rows; write LIKE",
        ),
        (
            "SELECT COUNT(*) AS n FROM people WHERE DATE '2020-13-45' > DATE '2020-01-01'",
            "query:1:46: 2020-13-45 is no date or time from 1678 to 2261",
        ),
    ] {
        refused_query(&folder, sql, words);
    }
    let cast = "SELECT COUNT(*) AS n FROM people WHERE CAST(name AS BIGINT) > 5";
    folder.stdout(&["query", cast, "--cost", "epsilon=0.1", "--quiet"]);
    // Of types that do not go together.
    let folder = usual();
    let arithmetic = "a text, a truth value or a date stands where arithmetic needs a number";
    let truth = "something that is no truth value stands where one is needed";
    for (condition, words) in [
        ("name + 1 > 5", arithmetic),
        ("name * 2 = 4", arithmetic),
        ("-name = 4", arithmetic),
        ("age + 'x' > 5", arithmetic),
        ("NOT age", truth),
        ("age", truth),
        ("age LIKE 5", "LIKE compares texts"),
        ("ABS(name) > 1", "ABS does not take what it is given here"),
    ] {
        refused_query(&folder, &format!("SELECT COUNT(*) AS n FROM people WHERE {condition}"), words);
    }
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
        folder.stdout(&["plan"]).contains("kept, at no further cost")
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
    let said = folder.stdout(&["plan"]);
    assert!(said.contains("(entry 4), and ") && said.contains("counts.csv is not there any more: put back"), "{said}");
    assert!(said.contains("pay for new numbers with release --again counts") && !said.contains("kept"), "{said}");
    let lost = &folder.json(&["plan", "--json"])["releases"][0]["published"]["lost"];
    assert!(lost.as_str().unwrap().ends_with("counts.csv is not there any more"), "{lost}");
    assert!(folder.stdout(&["plan", "--out", "elsewhere"]).contains("(entry 4); kept, at no further cost"));
}

/// One row is one row.
#[test]
fn one_of_something_is_not_several() {
    let sql = "[[release]]\nname = \"all\"\nsql = \"SELECT COUNT(*) AS n FROM people\"\ncost = { epsilon = 0.5 }\n";
    let folder = folder(&format!("{PEOPLE}{BUDGET}{COUNTS}{sql}"));
    let said = folder.stdout(&["release"]);
    assert!(said.contains("all: 1 row in ") && said.contains("counts: 2 rows in "), "{said}");
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

/// Two lists of sixty values stood in one sentence, cut off before they differ.
#[test]
fn another_list_of_values_is_said_in_short() {
    let list = |number: usize| (0..number).map(|at| format!("area {at}\n")).collect::<String>();
    let project = "[dataset.areas]\nsource = \"areas.csv\"\npublic = true\n[dataset.areas.columns]\narea = { type = \"category\" }\n\
                   [dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\narea = { type = \"category\", values = { table = \"areas\", column = \"area\" } }\n\
                   [[release]]\nname = \"r\"\nsql = \"SELECT area, COUNT(*) AS n FROM t GROUP BY area\"\ncost = { epsilon = 1 }\n";
    for (before, now, words) in [
        (60, 61, "its column 'area' had a list of 60 values and has another of 61 now (\"area 60\" is new); what"),
        (61, 60, "its column 'area' had a list of 61 values and has another of 60 now (\"area 60\" is gone); what"),
        (80, 70, "its column 'area' had a list of 80 values and has another of 70 now; what"),
    ] {
        let areas = format!("area\n{}", list(before));
        let folder = Folder::with(&[("scumble.toml", project), ("areas.csv", &areas), ("t.csv", &areas)]);
        folder.stdout(&["release", "--quiet"]);
        folder.write("areas.csv", &format!("area\n{}", list(now)));
        folder.refused(&["release"], 2, words);
    }
}

/// A share that buys no noise was refused by the noise, which nobody had given a scale.
#[test]
fn a_share_that_is_too_small_is_said_to_be() {
    let project = |share: &str| {
        format!(
            "[dataset.visits]\nsource = \"people.csv\"\nowner = \"name\"\nmax_rows_per_owner = 3\n\
             [dataset.visits.columns]\nsex = {{ type = \"category\", values = [\"f\", \"m\"] }}\n\
             [[release]]\nname = \"r\"\nsql = \"SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex\"\ncost = {{ epsilon = 0.5 }}\nbounding_report = {{ share = {share} }}\n"
        )
    };
    for share in ["1e-17", "1e-30"] {
        let words = "what is set aside of the cost (the share of bounding_report) is too small for any noise: give it a larger share, such as 0.05";
        let said = folder(&project(share)).refused(&["plan"], 2, words);
        assert!(said.contains("scumble.toml:"), "{said}");
    }
    folder(&project("0.05")).stdout(&["plan"]);
}

/// A name that was refused for standing beside a number did not say beside which.
#[test]
fn a_clash_of_names_says_of_which() {
    let folder = usual();
    let words = "two published columns would be called 'n_error', because beside the noisy column 'n' stand its error, its interval and its rank error, called so; give one of them another name";
    refused_query(&folder, "SELECT COUNT(*) AS n, AVG(age) AS n_error FROM people", words);
    refused_query(&folder, "SELECT AVG(age) AS n_error, COUNT(*) AS n FROM people", words);
}

/// The rows of a window had intervals of two nothings; and bars beside a median were called by it.
#[test]
fn where_there_is_no_interval_there_is_none() {
    let folder = usual();
    let sql = "SELECT sex, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS s FROM people GROUP BY sex";
    let shown = folder.json(&["query", sql, "--cost", "epsilon=0.5", "--json", "--quiet"]);
    let row = &shown["rows"][0];
    assert!(
        row["n_interval"].is_array() && row["s_interval"] == Value::Null && row["s_error"] == Value::Null,
        "{row:#}"
    );
    let sql = "SELECT sex, COUNT(*) AS n, MEDIAN(age) AS m FROM people GROUP BY sex";
    folder.stdout(&["query", sql, "--cost", "epsilon=0.5", "--quiet", "--name", "median"]);
    let bars = &folder.json_file("out/median.json")["report"]["bars"];
    assert_eq!(*bars, serde_json::json!(["f", "m"]));
}
