//! Conjunctions that are looked up after one release, and pairs of many binary columns, as a user runs them.

use crate::support::{Folder, scumble_in};
use scumble_testing::projects::{HABITS as TABLE, HABITS_COLUMNS as COLUMNS};
use serde_json::Value;

const PEOPLE: usize = 3000;

/// Smoker, insured, age, region.
type Person = (bool, bool, usize, &'static str);

/// One made-up person.
fn person(i: usize) -> Person {
    let smoker = (i * 7 / 3).is_multiple_of(4);
    (smoker, !(i / 5).is_multiple_of(3) ^ smoker, i * 31 % 100, ["north", "south", "west"][i / 11 % 3])
}

fn people() -> String {
    let row = |i: usize| {
        let (smoker, insured, age, region) = person(i);
        format!("{i},{smoker},{insured},{age},{region}\n")
    };
    format!("id,smoker,insured,age,region\n{}", (0..PEOPLE).map(row).collect::<String>())
}

fn folder(table: &str, release: &str) -> Folder {
    let project =
        format!("{table}[[release]]\nname = \"habits\"\nkind = \"conjunctions\"\ntable = \"people\"\n{release}\n");
    Folder::with(&[("people.csv", &people()), ("scumble.toml", &project)])
}

fn looked(folder: &Folder, text: &str) -> Value {
    folder.json(&["lookup", "habits", text, "--json"])
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// Each conjunction with how many satisfy it.
fn truths() -> Vec<(&'static str, f64)> {
    let count = |fits: &dyn Fn(Person) -> bool| (0..PEOPLE).filter(|i| fits(person(*i))).count() as f64;
    vec![
        ("smoker", count(&|p| p.0)),
        ("smoker AND NOT insured", count(&|p| p.0 && !p.1)),
        ("not smoker and age < 65", count(&|p| !p.0 && p.2 < 65)),
        ("age >= 65 AND region = 'north' AND insured", count(&|p| p.2 >= 65 && p.3 == "north" && p.1)),
        ("NOT region = north AND NOT smoker AND NOT insured", count(&|p| p.3 != "north" && !p.0 && !p.1)),
    ]
}

#[test]
fn any_conjunction_is_answered_after_one_release_with_its_error_and_without_the_table() {
    for measure in ["parities", "counts"] {
        let folder = folder(TABLE, &format!("{COLUMNS}\nwidth = 3\nmeasure = \"{measure}\"\ncost = {{ rho = 1 }}"));
        let shown = folder.json(&["plan", "--json"])["releases"][0].clone();
        let errors = shown["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 3, "{shown}");
        folder.stdout(&["release"]);
        // Nothing but what is published is there any more.
        let before = folder.stdout(&["ledger", "show", "--json"]);
        std::fs::remove_file(folder.file("people.csv")).unwrap();
        for (text, truth) in truths() {
            let found = looked(&folder, text);
            let (estimate, error) = (number(&found["estimate"]), number(&found["standard_error"]));
            let literals = text.to_lowercase().matches(" and ").count();
            assert!((number(&errors[literals]["standard_error"]) / error - 1.0).abs() < 1e-9, "{found} {shown}");
            // Seven standard errors: 3e-12.
            assert!((estimate - truth).abs() < 7.0 * error + 1.0, "{measure}, {text}: {found} for {truth}");
            let (low, high) = (number(&found["interval"][0]), number(&found["interval"][1]));
            assert!(low < estimate && estimate < high && high - low > 3.9 * error, "{found}");
            assert_eq!(number(&found["bias"]), 0.0);
        }
        assert_eq!(folder.stdout(&["ledger", "show", "--json"]), before, "looking up costs nothing");
        // Products of two are projected with those of three as they are; counts are not.
        let projected = ["lookup", "habits", "smoker AND NOT insured", "--projected"];
        if measure == "parities" {
            let found = folder.json(&[&projected[..], &["--json"]].concat());
            let (estimate, error) = (number(&found["projected"]["estimate"]), number(&found["standard_error"]));
            assert!((estimate - number(&found["estimate"])).abs() < 7.0 * error, "{found}");
            assert!(folder.stdout(&projected).contains("; projected on what a table of people can nearly have: "));
        } else {
            folder.refused(&projected, 2, "only parities are projected, and this release has counts");
        }
        let words = folder.stdout(&["lookup", "habits", "smoker and not insured"]);
        assert!(words.starts_with("smoker AND NOT insured: ") && words.contains("95% interval"), "{words}");
        assert!(!words.contains("without a value"), "{words}");
        // The release knows 'age >= 65' alone, and a missing age is neither.
        let words = folder.stdout(&["lookup", "habits", "age < 65"]);
        assert!(
            words.contains("'age < 65' is answered as NOT age >= 65, which owners without a value fulfil too."),
            "{words}"
        );
    }
}

#[test]
fn the_published_numbers_and_the_report_say_what_they_are() {
    let folder = folder(TABLE, &format!("{COLUMNS}\nwidth = 2\ncost = {{ rho = 1 }}"));
    let shown = folder.json(&["plan", "--json"])["releases"][0].clone();
    let why = shown["errors"][1]["about"].as_str().unwrap();
    assert!(why.contains("parities of up to 2 columns") && why.contains("counts by inclusion and exclusion"), "{why}");
    folder.stdout(&["release"]);
    let csv = folder.read("out/habits.csv");
    assert!(csv.starts_with("columns,balance,balance_se,balance_low,balance_high\n(everybody),"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 1 + 4 + 6);
    assert!(csv.contains("\"smoker, insured\","), "{csv}");
    let report = folder.read("out/report.html");
    assert!(report.contains("scumble lookup") && report.contains("an even number of these columns"));
}

#[test]
fn a_bias_is_taken_where_it_is_better_and_said_everywhere() {
    // With so little privacy loss, noise on sets of three would be more than a few percent of sixty people.
    let columns: Vec<String> = (0..40).map(|age| format!("age >= {}", 2 * age + 3)).collect();
    let few = format!(
        "columns = {columns:?}\nwidth = 4\nbias = 0.2\npeople = 60\ncost = {{ rho = 0.01, scope = \"presence\" }}"
    );
    let folder = folder(TABLE, &few);
    let plan = folder.json(&["plan", "--json"])["releases"][0].clone();
    let notes = plan["notes"].to_string();
    assert!(notes.contains("have a bias of up to") && notes.contains("to 4 literals"), "{plan}");
    let last = plan["errors"].as_array().unwrap().last().unwrap();
    assert!(last["about"].as_str().unwrap().contains("% of the owners"), "{plan}");
    folder.stdout(&["release"]);
    let wide = looked(&folder, "age >= 3 AND age >= 21 AND age >= 41 AND age < 81");
    let (bias, most) = (number(&wide["bias"]), number(&wide["most_bias"]));
    assert!(bias > 0.0 && bias <= 0.2 && most > bias * 2000.0, "{wide}");
    let half = (number(&wide["interval"][1]) - number(&wide["interval"][0])) / 2.0;
    assert!(half > most + 1.96 * number(&wide["standard_error"]), "{wide}");
    assert!(
        folder
            .stdout(&["lookup", "habits", "age >= 3 AND age >= 21 AND age >= 41 AND age < 81"])
            .contains("a bias of up to")
    );
    assert_eq!(number(&looked(&folder, "age >= 3")["bias"]), 0.0);
    // For very many people no bias is better, and the plan says so.
    let many = few.replace("people = 60", "people = 60000000");
    let other = self::folder(TABLE, &many);
    let plan = other.json(&["plan", "--json"])["releases"][0].clone();
    assert!(plan["notes"].to_string().contains("No bias is better"), "{plan}");
}

#[test]
fn owners_with_several_rows_count_once_and_it_is_said() {
    let table = format!(
        "{}\n",
        TABLE.replace("[dataset.people.columns]", "owner = \"id\"\nmax_rows_per_owner = 2\n[dataset.people.columns]")
    );
    let folder = folder(&table, &format!("{COLUMNS}\nwidth = 2\ncost = {{ rho = 1 }}"));
    // Everybody twice.
    let twice = people() + people().split_once('\n').unwrap().1;
    folder.write("people.csv", &twice);
    let plan = folder.json(&["plan", "--json"])["releases"][0].clone();
    assert_eq!(plan["costs"]["attributes"]["smoker"], plan["costs"]["person"], "{plan}");
    folder.stdout(&["release"]);
    let found = looked(&folder, "smoker");
    assert!(
        (number(&found["estimate"]) - truths()[0].1).abs() < 7.0 * number(&found["standard_error"]) + 1.0,
        "{found}"
    );
    assert!(found["note"].as_str().unwrap().contains("One row of each id counts"), "{found}");
}

#[test]
fn what_cannot_be_looked_up_is_one_sentence() {
    let folder = folder(
        TABLE,
        &format!(
            "{COLUMNS}\nwidth = 2\ncost = {{ rho = 1 }}\n[[release]]\nname = \"n\"\nsql = \"SELECT COUNT(*) AS n FROM people\"\ncost = {{ rho = 1 }}"
        ),
    );
    let of = |text: &str, words: &str| folder.refused(&["lookup", "habits", text], 2, words);
    of("smoker", "publish it with scumble release");
    folder.stdout(&["release"]);
    of("smokr", "did you mean 'smoker'?");
    of("smoker AND insured AND age >= 65", "up to 2 literals, not 3");
    of("smoker AND NOT smoker", "nobody satisfies");
    of("smoker OR insured", "'OR' is not supported");
    of("", "joined by AND");
    of("NaN", "'NaN' is not among the columns");
    folder.refused(&["lookup", "n", "smoker"], 2, "only those answer conjunctions");
    folder.refused(&["lookup", "habits", "smoker", "--out", "nowhere"], 2, "name its folder with --out");
    folder.refused(&["lookup", "../habits", "smoker"], 2, "is not in the folder");
    // Somebody's edit: too few numbers, words for numbers.
    let published = folder.read("out/habits.json");
    let broken = published.replacen("\"balance\":", "\"balanced\":", 1);
    assert_ne!(broken, published);
    folder.write("out/habits.json", &broken);
    of("smoker", "is not the file of a release of kind conjunctions");
    folder.write("out/habits.json", "{ not json");
    of("smoker", "is not the file of a release of kind conjunctions");
}

/// Eighty binary columns: their product has 2^80 cells.
fn wide(people: usize) -> (String, String, Vec<Vec<bool>>) {
    let names: Vec<String> = (0..80).map(|column| format!("c{column}")).collect();
    let value =
        |i: usize, column: usize| (i * (column + 3) / 5 + i / (column + 1) + column).is_multiple_of(2 + column % 3);
    let data: Vec<Vec<bool>> = (0..people).map(|i| (0..80).map(|column| value(i, column)).collect()).collect();
    let row = |row: &Vec<bool>| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(",") + "\n";
    let columns: String = names.iter().map(|name| format!("{name} = {{ type = \"bool\" }}\n")).collect();
    let project = format!("[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\n{columns}");
    let release = |method: &str| {
        format!(
            "[[release]]\nname = \"pairs\"\nkind = \"marginals\"\ntable = \"t\"\ncolumns = {names:?}\nmissing = \"never\"\n{method}\ncost = {{ rho = 0.5 }}\n"
        )
    };
    (
        format!("{project}{}", release("method = \"psd\"")),
        format!("{}\n{}", names.join(","), data.iter().map(row).collect::<String>()),
        data,
    )
}

#[test]
fn pairs_of_more_columns_than_any_product_are_published_and_projected() {
    let (project, csv, data) = wide(500);
    let folder = Folder::with(&[("t.csv", &csv), ("scumble.toml", &project)]);
    let plan = folder.json(&["plan", "--json"])["releases"][0].clone();
    let stated = number(&plan["errors"][1]["standard_error"]);
    folder.stdout(&["release"]);
    let rows = folder.json_file("out/pairs.json")["answers"]["rows"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 160 + 4 * 3160);
    let (mut unbiased, mut fitted, mut inside) = (0.0, 0.0, 0.0);
    for row in &rows[160..] {
        let column = |key: &str| row[key].as_str().unwrap()[1..].parse::<usize>().unwrap();
        let (left, right) = (column("first"), column("second"));
        let fits = |person: &&Vec<bool>| row["first_value"] == person[left] && row["second_value"] == person[right];
        let truth = data.iter().filter(fits).count() as f64;
        let estimate = number(&row["estimate"]);
        unbiased += (estimate - truth).powi(2);
        fitted += (number(&row["fitted"]) - truth).powi(2);
        let interval = &row["estimate_interval"];
        inside += f64::from(u8::from(number(&interval[0]) <= truth && truth <= number(&interval[1])));
    }
    let cells = (rows.len() - 160) as f64;
    let (unbiased, fitted) = ((unbiased / cells).sqrt(), (fitted / cells).sqrt());
    assert!((unbiased / stated - 1.0).abs() < 0.15, "{unbiased} {stated}");
    assert!(inside / cells > 0.9, "{inside}");
    assert!(fitted < 0.8 * unbiased, "{fitted} {unbiased}");
    let notes = folder.json_file("out/pairs.json")["answers"]["notes"].to_string();
    assert!(notes.contains("no negative eigenvalue") && notes.contains("a certificate"), "{notes}");
    assert!(
        folder
            .read("out/pairs.csv")
            .starts_with("first,first_value,second,second_value,estimate,estimate_se,estimate_low,estimate_high,fitted,fitted_se,fitted_low,fitted_high\n")
    );
}

#[test]
fn auto_takes_psd_where_nothing_else_can_or_where_it_promises_less() {
    let (project, csv, _) = wide(10);
    let auto = Folder::with(&[("t.csv", &csv), ("scumble.toml", &project.replace("method = \"psd\"", ""))]);
    let why = |folder: &Folder| {
        folder.json(&["plan", "--json"])["releases"][0]["errors"].as_array().unwrap().last().unwrap()["about"]
            .to_string()
    };
    assert!(why(&auto).contains("method psd: the columns have too many combinations"), "{}", why(&auto));
    // Sixteen columns have a product: few people make the projection worth it, many do not.
    let sixteen: Vec<String> = (0..16).map(|column| format!("c{column}")).collect();
    let all: Vec<String> = (0..80).map(|column| format!("c{column}")).collect();
    let with = |people: &str| {
        let project = project
            .replace("method = \"psd\"", people)
            .replace(&format!("columns = {all:?}"), &format!("columns = {sixteen:?}"));
        Folder::with(&[("t.csv", &csv), ("scumble.toml", &project.replace("rho = 0.5", "rho = 0.001"))])
    };
    let (few, many) = (why(&with("people = 60")), why(&with("people = 100000")));
    assert!(few.contains("psd "), "{few}");
    assert!(many.contains("method residual") && !many.contains("psd"), "{many}");
}

#[test]
fn what_psd_cannot_do_is_one_sentence_with_its_place() {
    let (project, csv, _) = wide(3);
    let of = |from: &str, to: &str, words: &str| {
        assert!(project.contains(from));
        let folder = Folder::with(&[("t.csv", &csv), ("scumble.toml", &project.replace(from, to))]);
        let output = scumble_in(folder.path(), &["plan"]);
        let sentence = String::from_utf8_lossy(&output.stderr).to_string();
        assert_eq!(output.status.code(), Some(2), "{sentence}");
        assert!(sentence.contains(words) && sentence.trim_end().lines().count() == 1, "{sentence}");
    };
    of("missing = \"never\"\n", "", "takes columns of two values, and 'c0' has 3 values");
    of("method = \"psd\"", "method = \"psd\"\norder = 3", "makes tables of 2 columns, and order is 3");
    of("kind = \"marginals\"", "kind = \"synthetic\"", "and no rows: use kind marginals, or another method");
    of("method = \"psd\"", "method = \"psd\"\nrounds = 3", "'rounds' is for the method 'mwem'");
    of("c3 = { type = \"bool\" }", "c3 = { type = \"int\", lower = 0, upper = 5 }", "'c3' has 6 values");
}
