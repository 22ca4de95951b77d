//! Tables of so many columns that nobody can have a model of all combinations, as a user releases them.

use crate::support::scumble_in as scumble;
use serde_json::Value;
use std::fs;
use std::path::Path;

const PEOPLE: usize = 3000;

/// 100·8·8·40·3·2·60 = 92 million combinations, and more with missing values.
const PROJECT: &str = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
age = { type = "int", lower = 0, upper = 99 }
school = { type = "int", lower = 0, upper = 7 }
years = { type = "int", lower = 0, upper = 7 }
hours = { type = "int", lower = 0, upper = 39 }
marital = { type = "category", values = ["single", "married", "widowed"] }
smokes = { type = "bool" }
weight = { type = "int", lower = 40, upper = 99 }
one = { type = "category", values = ["only"] }
code = { type = "int", lower = 0, upper = 999999 }

[budget]
person = { epsilon = 100, delta = 1e-9 }
"#;

const COLUMNS: &str = "columns = [\"age\", \"school\", \"years\", \"hours\", \"marital\", \"smokes\", \"weight\"]\n";

fn person(i: usize) -> String {
    let age = (i * 37 + i / 7) % 100;
    let school = (age / 13 + usize::from(i.is_multiple_of(9))) % 8;
    let marital = match age {
        0..15 => "single",
        _ => ["single", "married", "widowed"][(i / 3 + age / 40) % 3],
    };
    let smokes = if i.is_multiple_of(50) { String::new() } else { (age > 50).to_string() };
    format!("{age},{school},{},{},{marital},{smokes},{},only,{}", 7 - school, (i * 11) % 40, 40 + i % 60, i * 300)
}

fn folder(release: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = (0..PEOPLE).map(person).collect();
    let text = format!("age,school,years,hours,marital,smokes,weight,one,code\n{}\n", rows.join("\n"));
    fs::write(folder.path().join("people.csv"), text).unwrap();
    fs::write(folder.path().join("scumble.toml"), format!("{PROJECT}{release}")).unwrap();
    folder
}

fn release(kind: &str, cost: &str, more: &str) -> String {
    format!("[[release]]\nname = \"r\"\nkind = \"{kind}\"\ntable = \"people\"\ncost = {{ {cost} }}\n{more}")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn rows(folder: &Path) -> (Vec<String>, Vec<Vec<String>>) {
    let text = fs::read_to_string(folder.join("out/r.csv")).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_string).collect::<Vec<String>>());
    (lines.next().unwrap(), lines.collect())
}

fn released(folder: &Path) -> Value {
    let output = scumble(folder, &["release"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_str(&fs::read_to_string(folder.join("out/r.json")).unwrap()).unwrap()
}

#[test]
fn rows_of_many_columns_keep_their_links_and_what_is_publicly_known() {
    let known = "never = [\"age < 15 AND marital IN ('married', 'widowed')\"]\nlinked = [\"school\", \"years\"]\n";
    let folder = folder(&release("synthetic", "epsilon = 5, delta = 1e-9", &format!("{COLUMNS}{known}")));
    let plan = scumble(folder.path(), &["plan", "--json"]);
    assert!(
        text(&plan.stdout).contains("method chosen: 'never', 'linked' and 'rows' are for it")
            || text(&plan.stdout).contains("method chosen: the columns have"),
        "{}",
        text(&plan.stdout)
    );
    let answer = released(folder.path());
    let (header, rows) = rows(folder.path());
    assert_eq!(header.join(","), "age,school,years,hours,marital,smokes,weight");
    assert!(rows.len().abs_diff(PEOPLE) < 100, "{}", rows.len());
    assert!(rows.iter().all(|row| row[0].parse::<u32>().is_ok_and(|age| age >= 15)
        || row[4] == "single"
        || row[0] == "(missing)"
        || row[4] == "(missing)"));
    // School and years are functions of each other, and age and school nearly.
    let linked = rows
        .iter()
        .filter(|row| row[1].parse::<u32>().ok().zip(row[2].parse::<u32>().ok()).is_some_and(|(a, b)| a + b == 7))
        .count();
    assert!(linked * 10 > rows.len() * 9, "{linked} of {}", rows.len());
    let near = rows
        .iter()
        .filter(|row| {
            row[0]
                .parse::<i32>()
                .ok()
                .zip(row[1].parse::<i32>().ok())
                .is_some_and(|(age, school)| (age / 13 - school).abs() <= 1)
        })
        .count();
    assert!(near * 10 > rows.len() * 6, "{near} of {}", rows.len());
    // The answer describes what was measured.
    let told = answer.to_string();
    assert!(
        told.contains("no row is anybody's") && told.contains("chosen privately") && told.contains("expected_distance"),
        "{told}"
    );
}

#[test]
fn rows_of_an_attribute_cost_what_it_was_granted() {
    let cost = "epsilon = 2, delta = 1e-9, scope = \"attribute\"";
    let folder = folder(&release("synthetic", cost, &format!("{COLUMNS}attribute_costs = {{ marital = 0.5 }}\n")));
    let output = scumble(folder.path(), &["plan", "--json"]);
    let shown: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    let costs = &shown["releases"][0]["costs"]["attributes"];
    let of = |name: &str| costs[name].to_string();
    assert_ne!(of("marital"), of("age"), "{costs}");
    released(folder.path());
}

#[test]
fn pairs_of_many_columns_are_published_with_error_bars() {
    let folder = folder(&release("marginals", "epsilon = 5, delta = 1e-9", &format!("{COLUMNS}missing = \"never\"\n")));
    released(folder.path());
    let (header, rows) = rows(folder.path());
    let counts = "estimate,estimate_se,estimate_low,estimate_high,fitted,fitted_se,fitted_low,fitted_high";
    assert_eq!(header.join(","), format!("column_1,value_1,column_2,value_2,{counts}"));
    let cell = |wanted: [&str; 4]| rows.iter().find(|row| row[..4] == wanted).unwrap().clone();
    let number = |text: &String| text.parse::<f64>().unwrap();
    let single = cell(["marital", "single", "", ""]);
    let exact = (0..PEOPLE).filter(|&i| person(i).contains(",single,")).count() as f64;
    assert!((number(&single[4]) - exact).abs() < 8.0 * number(&single[5]), "{single:?} {exact}");
    let pair = cell(["age", "7", "marital", "married"]);
    assert!(number(&pair[4]).abs() < 8.0 * number(&pair[5]) && number(&pair[8]) >= 0.0, "{pair:?}");
    // 100 + 8 + 8 + 40 + 3 + 2 + 60 values, and all pairs of them.
    let sizes = [100, 8, 8, 40, 3, 2, 60];
    let pairs: usize = (0..7).flat_map(|one| (one + 1..7).map(move |two| sizes[one] * sizes[two])).sum();
    assert_eq!(rows.len(), sizes.iter().sum::<usize>() + pairs);
}

#[test]
fn what_cannot_be_made_is_said_before_anything_is_charged() {
    let check = |kind: &str, more: &str, wanted: &str| {
        let folder = folder(&release(kind, "epsilon = 1, delta = 1e-9", more));
        let output = scumble(folder.path(), &["release"]);
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(wanted), "{wanted}: {said}");
        assert!(!said.contains("panicked") && !folder.path().join("out/r.csv").exists(), "{said}");
    };
    let with = |more: &str| format!("{COLUMNS}{more}\n");
    check("synthetic", &with("never = [\"agee < 3\"]"), "did you mean 'age'?");
    check("synthetic", &with("never = [\"age ~ 3\"]"), "conditions are written as");
    check(
        "synthetic",
        &with("never = [\"smokes = true\", \"smokes = false\", \"smokes = '(missing)'\"]"),
        "without any value",
    );
    check(
        "synthetic",
        &with(
            "missing = \"never\"\nnever = [\"age < 50 AND smokes = true\", \"age < 50 AND smokes = false\", \"age >= 50\"]",
        ),
        "contradict each other",
    );
    check("synthetic", &with("linked = [\"school\", \"yeers\"]"), "did you mean 'years'?");
    check("synthetic", &with("method = \"residual\"\nlinked = [\"school\", \"years\"]"), "for the method 'chosen'");
    check("marginals", &with("method = \"chosen\""), "kind = \"synthetic\"");
    check("marginals", "columns = [\"code\", \"age\", \"hours\"]\n", "100000000");
    check("marginals", &with("never = [\"age < 3\"]"), "unknown key 'never'");
}

/// A column of one value, one of a million, and eleven of a million.
#[test]
fn a_column_of_one_value_or_of_a_million_is_no_failure_and_too_many_values_are_refused_before_the_charge() {
    let of = |columns: &str| format!("columns = [{columns}]\nmissing = \"never\"\n");
    let cost = "epsilon = 5, delta = 1e-9";
    let one = folder(&release("synthetic", cost, &of("\"one\", \"age\", \"smokes\"")));
    released(one.path());
    assert!(rows(one.path()).1.iter().all(|row| row[0] == "only"));
    let million = folder(&release("synthetic", cost, &of("\"one\", \"code\", \"age\", \"smokes\"")));
    released(million.path());
    let (_, made) = rows(million.path());
    // The number of people has a standard error of about 40.
    assert!(made.len().abs_diff(PEOPLE) < 400, "{}", made.len());
    assert!(made.iter().all(|row| row[1].parse::<u32>().is_ok_and(|code| code < 1_000_000)));
    let many: Vec<String> = (0..11).map(|i| format!("\"code{i}\"")).collect();
    let many = folder(&release("synthetic", cost, &of(&many.join(", "))));
    let project = fs::read_to_string(many.path().join("scumble.toml")).unwrap();
    let code = "code = { type = \"int\", lower = 0, upper = 999999 }\n";
    let codes: String = (0..11).map(|i| code.replace("code", &format!("code{i}"))).collect();
    fs::write(many.path().join("scumble.toml"), project.replace(code, &codes)).unwrap();
    let output = scumble(many.path(), &["release"]);
    let sentence = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{sentence}");
    assert!(sentence.contains("the columns have 11000000 values together, more than 10000000"), "{sentence}");
    assert!(!many.path().join("scumble.ledger").exists(), "nothing was charged");
}

/// Numbers with fractions and dates are columns in public steps, and what goes together stays together; the number of
/// rows is what was asked for.
#[test]
fn numbers_and_dates_are_columns_and_the_number_of_rows_can_be_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut people = "sex,income,born\n".to_string();
    for i in 0..3000 {
        let (sex, income) = if i % 2 == 0 { ("f", 20_000.5 + f64::from(i)) } else { ("m", 80_000.25 + f64::from(i)) };
        let born = if i % 50 == 0 { String::new() } else { format!("{}-0{}-1{}", 1950 + i / 60, 1 + i % 9, i % 10) };
        people += &format!("{sex},{income},{born}\n");
    }
    fs::write(folder.path().join("people.csv"), people).unwrap();
    let project = |more: &str| {
        let text = format!(
            "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\nsex = {{ type = \"category\", values = [\"f\", \"m\"] }}\n\
             income = {{ type = \"float\", lower = 0, upper = 102400 }}\nborn = {{ type = \"date\", lower = \"1950-01-01\", upper = \"1999-12-31\" }}\n\
             [[release]]\nname = \"r\"\nkind = \"synthetic\"\ntable = \"people\"\ncolumns = [\"sex\", \"income\", \"born\"]\n{more}\n\
             cost = {{ epsilon = 20, delta = 1e-9 }}\n"
        );
        fs::write(folder.path().join("scumble.toml"), text).unwrap();
    };
    for (more, words) in [
        ("method = \"residual\"", "need the method 'chosen'"),
        ("rows = 0", "this must be a whole number of at least 1"),
        ("rows = 100000000", "rows must be a number from 1 to 10000000"),
        ("method = \"mwem\"\nrows = 5", "'rows' are for the method 'chosen'"),
    ] {
        project(more);
        let output = scumble(folder.path(), &["release"]);
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(words) && said.lines().count() == 1, "{more}: {said}");
    }
    project("rows = 1200");
    let answer = released(folder.path());
    let (_, rows) = rows(folder.path());
    assert_eq!(rows.len(), 1200);
    let incomes = |sex: &str| -> Vec<f64> {
        rows.iter().filter(|row| row[0] == sex).filter_map(|row| row[1].parse().ok()).collect()
    };
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let (low, high) = (mean(incomes("f")), mean(incomes("m")));
    assert!((low - 21_500.0).abs() < 3000.0 && (high - 81_500.0).abs() < 3000.0, "{low} {high}");
    assert!(rows.iter().filter(|row| row[2] == "(missing)").count() < 100);
    let days = rows.iter().filter(|row| row[2] != "(missing)");
    assert!(days.clone().all(|row| row[2].len() == 10 && ("1950-01-01"..="1999-12-31").contains(&row[2].as_str())));
    assert!(answer.to_string().contains("in steps of equal width"), "{answer}");
}

/// More cells than are held at once: all of them are in the CSV and the Parquet file, which are written a part at a
/// time, and the JSON file says how many there are.
#[test]
fn very_many_cells_are_written_and_not_held() {
    // 66 numbers and none.
    const CELLS: usize = 16 * 67 + 16 * 15 / 2 * 67 * 67;
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..16).map(|place| format!("c{place}")).collect();
    let row = |i: usize| (0..16).map(|place| (i * (place + 3) % 66).to_string()).collect::<Vec<_>>().join(",");
    let rows: Vec<String> = (0..100).map(row).collect();
    fs::write(folder.path().join("people.csv"), format!("{}\n{}\n", names.join(","), rows.join("\n"))).unwrap();
    let declared: String =
        names.iter().map(|name| format!("{name} = {{ type = \"int\", lower = 0, upper = 65 }}\n")).collect();
    let project = format!(
        "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\n{declared}[budget]\npresence = {{ rho = 1 }}\n\
         [[release]]\nname = \"r\"\nkind = \"marginals\"\ntable = \"people\"\ncolumns = {names:?}\ncost = {{ rho = 1 }}\n"
    );
    fs::write(folder.path().join("scumble.toml"), project).unwrap();
    let output = scumble(folder.path(), &["release"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(&format!("r: {CELLS} rows in out/r.csv")), "{}", text(&output.stdout));
    let csv = fs::read_to_string(folder.path().join("out/r.csv")).unwrap();
    let last = csv.lines().last().unwrap();
    assert_eq!(csv.lines().count(), CELLS + 1);
    assert!(last.starts_with("c14,(missing),c15,(missing),"), "{last}");
    let document: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("out/r.json")).unwrap()).unwrap();
    assert_eq!(document["answers"]["row_count"], CELLS);
    assert_eq!(document["answers"]["rows"].as_array().unwrap().len(), 1000);
    // What is there is kept, and a line that was changed is noticed.
    let again = scumble(folder.path(), &["release"]);
    assert!(text(&again.stdout).contains("kept: r"), "{}", text(&again.stdout));
    let report: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("out/report.json")).unwrap()).unwrap();
    assert!(report.to_string().contains(&format!("\"row_count\":{CELLS}")));
    fs::write(folder.path().join("out/r.csv"), csv.replace("c14,65,c15,65,", "c14,65,c15,64,")).unwrap();
    let changed = scumble(folder.path(), &["release"]);
    assert!(text(&changed.stderr).contains("is not what was published"), "{}", text(&changed.stderr));
}
