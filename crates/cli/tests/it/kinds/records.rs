//! The kinds that protect attributes one by one, as a user runs them.

use crate::support::scumble_in as scumble;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const PEOPLE: usize = 6000;

const PROJECT: &str = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
age = { type = "int", lower = 0, upper = 3 }
sex = { type = "category", values = ["f", "m"] }
smokes = { type = "bool" }
disease = { type = "category", values = ["none", "flu", "hiv"], sensitive = true }
town = { type = "category" }
income = { type = "float", lower = 0, upper = 9 }

[budget]
person = { epsilon = 60, delta = 1e-9 }
"#;

/// All values are there and listed, so that no cell is spent on missing ones.
const COLUMNS: &str = "columns = [\"age\", \"sex\", \"smokes\", \"disease\"]\nmissing = \"never\"\n";

/// The values of one made-up person.
fn person(i: usize) -> [String; 6] {
    let age = (i * 7 / 3) % 4;
    let sex = ["f", "m"][(i / 5) % 2];
    let smokes = if age == 3 { !i.is_multiple_of(4) } else { i.is_multiple_of(3) };
    let disease = ["none", "none", "flu", "hiv"][(i / 11 + usize::from(smokes)) % 4];
    // Three towns of many people, and as many villages as there are people left.
    let town = match i % 8 {
        0 | 1 => "north".to_string(),
        2 => "south".to_string(),
        3 => "east".to_string(),
        _ => format!("village {i}"),
    };
    [age.to_string(), sex.to_string(), smokes.to_string(), disease.to_string(), town, (i % 10).to_string()]
}

fn folder(releases: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = (0..PEOPLE).map(|i| person(i).join(",")).collect();
    let text = format!("age,sex,smokes,disease,town,income\n{}\n", rows.join("\n"));
    fs::write(folder.path().join("people.csv"), text).unwrap();
    fs::write(folder.path().join("scumble.toml"), format!("{PROJECT}{releases}")).unwrap();
    folder
}

fn release(name: &str, kind: &str, cost: &str, more: &str) -> String {
    format!("[[release]]\nname = \"{name}\"\nkind = \"{kind}\"\ntable = \"people\"\ncost = {{ {cost} }}\n{more}")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = scumble(folder, arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn epsilon(cost: &Value) -> f64 {
    cost["epsilon"].as_f64().unwrap()
}

fn csv(folder: &Path, name: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let content = fs::read_to_string(folder.join(format!("out/{}.csv", name.replace(' ', "-")))).unwrap();
    let split = |line: &str| line.split(',').map(str::to_string).collect::<Vec<_>>();
    (split(content.lines().next().unwrap()), content.lines().skip(1).map(split).collect())
}

/// The exact number of people with these values; an empty one is any.
fn exact(values: &[String]) -> f64 {
    let fits = |i: &usize| person(*i).iter().zip(values).all(|(own, wanted)| wanted.is_empty() || own == wanted);
    (0..PEOPLE).filter(fits).count() as f64
}

#[test]
fn marginals_come_in_long_form_with_errors_that_hold() {
    for method in ["residual", "projection", "mwem", "auto"] {
        let more = format!("{COLUMNS}order = 2\nmethod = \"{method}\"\npeople = {PEOPLE}\n");
        let folder = folder(&release("tables", "marginals", "epsilon = 2, delta = 1e-9", &more));
        let planned = json(folder.path(), &["plan", "--json"]);
        assert_eq!(planned["fits"], true, "{planned}");
        let output = scumble(folder.path(), &["release", "--quiet"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let (header, rows) = csv(folder.path(), "tables");
        let has_bars = method != "mwem";
        let beside = |name: &str| ["", "_se", "_low", "_high"].map(|end| format!("{name}{end}"));
        let own = if has_bars { [beside("estimate"), beside("fitted")].concat() } else { beside("fitted").to_vec() };
        assert_eq!(header, [["age", "sex", "smokes", "disease"].map(str::to_string).to_vec(), own].concat());
        // 4 + 2 + 2 + 3 values, and the pairs of them: 8 + 8 + 12 + 4 + 6 + 6.
        assert_eq!(rows.len(), 11 + 44);
        let (mut squares, mut misfits) = (0.0, 0.0);
        for row in &rows {
            assert!((1..=2).contains(&row[..4].iter().filter(|value| !value.is_empty()).count()), "{row:?}");
            let (fitted, truth) = (row[row.len() - 4].parse::<f64>().unwrap(), exact(&row[..4]));
            assert!(fitted >= 0.0, "{row:?}");
            misfits += ((fitted - truth) / 400.0).powi(2) / rows.len() as f64;
            if has_bars {
                let (estimate, error): (f64, f64) = (row[4].parse().unwrap(), row[5].parse().unwrap());
                // Eight standard errors: 1.2e-15 for each of 55 cells.
                assert!((estimate - truth).abs() < 8.0 * error, "{row:?} is {truth}");
                squares += ((estimate - truth) / error).powi(2) / rows.len() as f64;
            }
        }
        // 55 dependent squares; a mean above 4 is off by any reckoning (ten rows' worth of 6σ).
        assert!(squares < 4.0 && misfits < 4.0, "{method}: {squares} {misfits}");
        let shown = json(folder.path(), &["ledger", "show", "--json", "--attributes", "age,sex"]);
        assert!(epsilon(&shown["person"]) <= 2.0 && epsilon(&shown["person"]) > 1.9, "{method}: {shown}");
        for name in ["age", "sex", "smokes", "disease"] {
            let cost = epsilon(&shown["attributes"][name]);
            assert!(cost > 0.0 && cost <= epsilon(&shown["attributes"]["age,sex"]).max(1.9), "{method}: {shown}");
        }
        assert_eq!(epsilon(&shown["attributes"]["town"]), 0.0);
        assert!(epsilon(&shown["presence"]) > 0.0 && epsilon(&shown["presence"]) < 2.2, "{method}: {shown}");
    }
}

/// A project of this many columns of the values 0, …, upper, and 400 people.
fn many_columns(number: usize, upper: usize, release: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..number).map(|column| format!("c{column}")).collect();
    let row = |i: usize| {
        let value =
            |column: usize| (if column.is_multiple_of(3) { i } else { i * (column + 7) / 5 } % (upper + 1)).to_string();
        (0..number).map(value).collect::<Vec<_>>().join(",")
    };
    let rows: Vec<String> = (0..400).map(row).collect();
    fs::write(folder.path().join("people.csv"), format!("{}\n{}\n", names.join(","), rows.join("\n"))).unwrap();
    let declared: String =
        names.iter().map(|name| format!("{name} = {{ type = \"int\", lower = 0, upper = {upper} }}\n")).collect();
    let columns = format!("columns = {names:?}\nmissing = \"never\"\n");
    let project = format!(
        "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\n{declared}\n[budget]\nperson = {{ epsilon = 60, delta = 1e-9 }}\n\n{release}{columns}"
    );
    fs::write(folder.path().join("scumble.toml"), project).unwrap();
    folder
}

#[test]
fn large_universes_are_answered_and_larger_ones_refused() {
    // 2^18 cells; the core's tests go to 2^20.
    for more in ["method = \"projection\"\n", "method = \"mwem\"\nrounds = 2\n"] {
        let folder = many_columns(18, 1, &release("tables", "marginals", "epsilon = 4, delta = 1e-9", more));
        let output = scumble(folder.path(), &["release", "--json"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let (_, rows) = csv(folder.path(), "tables");
        // 18 tables of one column and 153 of two.
        assert_eq!(rows.len(), 18 * 2 + 153 * 4);
        let shown = text(&output.stdout);
        assert_eq!(shown.contains("off the exact one"), more.contains("projection"), "{shown}");
    }
    let refused = |folder: tempfile::TempDir, sentence: &str| {
        let output = scumble(folder.path(), &["plan"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(sentence) && said.trim_end().lines().count() == 1, "{said}");
        assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    };
    let usual = "epsilon = 1, delta = 1e-9";
    let pairs = release("r", "marginals", usual, "method = \"projection\"\n");
    refused(many_columns(3, 999, &pairs), "the domain has more than 20000000 cells");
    let eights = release("r", "marginals", usual, "method = \"mwem\"\norder = 8\n");
    refused(many_columns(18, 1, &eights), "have 11202048 cells,");
}

#[test]
fn one_attribute_costs_less_than_a_person_and_a_cost_per_attribute_is_kept() {
    let more = format!("{COLUMNS}attribute_costs = {{ disease = 0.25 }}\n");
    let cost = "epsilon = 0.5, delta = 1e-9, scope = \"attribute\"";
    for (kind, at_most) in [("marginals", 0.5), ("synthetic", 0.5), ("heavy-hitters", 0.5)] {
        let folder = folder(&release("one", kind, cost, &more));
        let shown = json(folder.path(), &["plan", "--json"]);
        let costs = &shown["releases"][0]["costs"];
        let of = |name: &str| epsilon(&costs["attributes"][name]);
        for name in ["age", "sex", "smokes"] {
            assert!(of(name) <= at_most, "{kind}: {costs}");
        }
        assert!(of("disease") <= 0.25 && of("disease") > 0.2499, "{kind}: {costs}");
        assert!(epsilon(&costs["person"]) > of("disease"), "{kind}: {costs}");
        assert_eq!(of("town"), 0.0);
    }
}

#[test]
fn synthetic_rows_have_the_tables_of_the_people() {
    let more = format!("{COLUMNS}order = 3\n");
    let folder = folder(&release("rows", "synthetic", "rho = 0.5", &more));
    let output = scumble(folder.path(), &["release"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (header, rows) = csv(folder.path(), "rows");
    assert_eq!(header, ["age", "sex", "smokes", "disease"]);
    assert!(rows.len().abs_diff(PEOPLE) < 100, "{}", rows.len());
    let mut counts: BTreeMap<Vec<String>, f64> = BTreeMap::new();
    rows.into_iter().for_each(|row| *counts.entry(row).or_insert(0.0) += 1.0);
    let all: f64 = counts.values().sum();
    let mut distance = 0.0;
    for age in 0..4 {
        for smokes in ["false", "true"] {
            let fits = |row: &Vec<String>| row[0] == age.to_string() && row[2] == smokes;
            let found: f64 = counts.iter().filter(|(row, _)| fits(row)).map(|(_, count)| count).sum();
            let truth = exact(&[age.to_string(), String::new(), smokes.to_string(), String::new()]);
            distance += (found / all - truth / PEOPLE as f64).abs() / 2.0;
        }
    }
    // At ρ = 0.5 a count is off by a few people of 6000.
    assert!(distance < 0.02, "{distance}");
    assert!(text(&fs::read(folder.path().join("out/report.html")).unwrap()).contains("no row is anybody"));
}

#[test]
fn heavy_hitters_are_found_also_where_values_are_not_listed() {
    let more = "columns = [\"town\", \"sex\"]\n";
    let folder = folder(&release("towns", "heavy-hitters", "epsilon = 2, delta = 1e-9, scope = \"attribute\"", more));
    let output = scumble(folder.path(), &["release", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (header, rows) = csv(folder.path(), "towns");
    assert_eq!(header, ["town", "sex", "count", "count_se", "count_low", "count_high"]);
    assert!(rows.iter().all(|row| !row[0].starts_with("village")), "{rows:?}");
    for town in ["north", "south", "east"] {
        for sex in ["f", "m"] {
            let row = rows.iter().find(|row| row[0] == town && row[1] == sex).expect(town);
            let fits = |i: &usize| person(*i)[4] == town && person(*i)[1] == sex;
            let (count, error): (f64, f64) = (row[2].parse().unwrap(), row[3].parse().unwrap());
            // Laplace noise: 30 standard deviations are e^{-42}.
            assert!((count - (0..PEOPLE).filter(fits).count() as f64).abs() < 30.0 * error, "{row:?}");
        }
    }
    let counts: Vec<f64> = rows.iter().map(|row| row[2].parse().unwrap()).collect();
    assert!(counts.windows(2).all(|pair| pair[0] >= pair[1]), "{counts:?}");
    let shown = json(folder.path(), &["ledger", "show", "--json"]);
    let of = |name: &str| epsilon(&shown["attributes"][name]);
    assert!(of("town") <= 2.0 && of("town") > 1.9 && of("sex") <= 2.0, "{shown}");
    assert!(epsilon(&shown["person"]) >= of("town") && of("disease") == 0.0, "{shown}");
}

#[test]
fn owners_with_several_rows_have_one_record() {
    let owned = PROJECT
        .replace("source = \"people.csv\"", "source = \"people.csv\"\nowner = \"id\"\nmax_rows_per_owner = ROWS");
    let cost = "epsilon = 1, delta = 1e-9";
    for rows in [1, 3] {
        let more = "columns = [\"sex\", \"disease\"]\nmethod = \"residual\"\n";
        let project = format!("{}{}", owned.replace("ROWS", &rows.to_string()), release("t", "marginals", cost, more));
        let folder = tempfile::tempdir().unwrap();
        // 400 owners of three rows each, and rows of nobody.
        let line = |i: usize| {
            let id = if i % 4 == 3 { String::new() } else { format!("p{}", i / 4) };
            format!("{},{id}", person(i).join(","))
        };
        let lines: Vec<String> = (0..1600).map(line).collect();
        fs::write(
            folder.path().join("people.csv"),
            format!("age,sex,smokes,disease,town,income,id\n{}\n", lines.join("\n")),
        )
        .unwrap();
        fs::write(folder.path().join("scumble.toml"), project).unwrap();
        let shown = json(folder.path(), &["release", "--json"]);
        let answers = shown["releases"][0]["answers"]["rows"].as_array().unwrap();
        let sexes = answers.iter().filter(|row| row["disease"].is_null());
        let people: f64 = sexes.map(|row| row["estimate"].as_f64().unwrap()).sum();
        assert!((people - 400.0).abs() < 200.0, "{people} of 400 owners");
        let spent = json(folder.path(), &["ledger", "show", "--json"]);
        let (one, person) = (epsilon(&spent["attributes"]["disease"]), epsilon(&spent["person"]));
        // Of several rows one is chosen, which every attribute may decide: then an attribute costs what a person does.
        assert_eq!(one == person, rows == 3, "{spent}");
        assert!(one <= person && person <= 1.0, "{spent}");
    }
}

#[test]
fn wrong_input_gets_one_sentence() {
    let check = |kind: &str, cost: &str, more: &str, sentence: &str| {
        let folder = folder(&release("r", kind, cost, more));
        for command in [&["plan"][..], &["release", "--quiet"]] {
            let output = scumble(folder.path(), command);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{kind} {more}: {said}");
            assert!(said.contains(sentence), "{kind} {more}\n said: {said}\n not:  {sentence}");
            assert!(output.stdout.is_empty() && said.trim_end().lines().count() == 1, "{said}");
            assert!(!folder.path().join("out").exists() && !folder.path().join("scumble.ledger").exists());
        }
    };
    let usual = "epsilon = 1, delta = 1e-9";
    check("marginals", usual, "", "needs 'columns'");
    check("marginals", usual, "columns = []\n", "give at least one column");
    check("marginals", usual, "columns = [\"sexx\"]\n", "has no declared column 'sexx' (did you mean 'sex'?)");
    check("marginals", usual, "columns = [\"sex\", \"sex\"]\n", "listed twice");
    check("marginals", usual, "columns = [\"town\"]\n", "column 'town' needs its values");
    check("marginals", usual, "columns = [\"income\"]\n", "must be a category, a bool, or an int with bounds");
    check("marginals", usual, &format!("{COLUMNS}order = 5\n"), "4 columns have tables of 1 to 4 attributes");
    check("marginals", usual, &format!("{COLUMNS}method = \"residul\"\n"), "did you mean 'residual'?");
    check("marginals", usual, &format!("{COLUMNS}rounds = 3\n"), "'rounds' is for the method 'mwem'");
    let three = format!("{COLUMNS}method = \"mwem\"\nqueries_per_round = 3\n");
    check("marginals", usual, &three, "a whole number from 1 to 2");
    let unbiased = format!("{COLUMNS}method = \"mwem\"\nestimates = \"unbiased\"\n");
    check("marginals", usual, &unbiased, "the method 'mwem' has no unbiased estimates");
    check("marginals", usual, &format!("{COLUMNS}estimates = \"best\"\n"), "'both', 'unbiased' or 'model'");
    check("marginals", usual, "columns = [\"sex\"]\nmissing = \"drop\"\n", "'value' or 'never'");
    check("synthetic", usual, &format!("{COLUMNS}estimates = \"model\"\n"), "unknown key 'estimates'");
    let accuracy = "accuracy = { within = 10, confidence = 0.9 }";
    check("marginals", accuracy, COLUMNS, "for kind marginals give epsilon or rho");
    check("heavy-hitters", accuracy, COLUMNS, "for kind heavy-hitters give epsilon or rho");
    check("heavy-hitters", usual, &format!("{COLUMNS}shape = \"round\"\n"), "'balanced' or 'caterpillar'");
    check("heavy-hitters", usual, &format!("{COLUMNS}threshold = 0\n"), "at least 1");
    let exception = format!("{COLUMNS}attribute_costs = {{ disease = 0.1 }}\n");
    check("heavy-hitters", usual, &exception, "attribute_costs need a cost per attribute");
    let per_attribute = "epsilon = 1, delta = 1e-9, scope = \"attribute\"";
    let unknown = format!("{COLUMNS}attribute_costs = {{ town = 0.1 }}\n");
    check("heavy-hitters", per_attribute, &unknown, "'town' is not among the columns of this release");
    let nothing = format!("{COLUMNS}attribute_costs = {{ disease = 0 }}\n");
    check("marginals", per_attribute, &nothing, "leave its column out");
    check("histogram", per_attribute, "columns = [\"sex\"]\n", "kind histogram has no cost per attribute");
    check("marginals", "epsilon = 1, scope = \"family\"", COLUMNS, "'person', 'presence' or 'attribute'");
}

/// A missing or unlisted value stopped the release, also after its charge: whether somebody has one could be read off
/// the failure.
#[test]
fn missing_values_are_values_of_their_own_and_never_stop_a_release() {
    let cost = "epsilon = 2, delta = 1e-9";
    let columns = "columns = [\"sex\", \"disease\"]\n";
    let flu = exact(&[String::new(), String::new(), String::new(), "flu".to_string()]);
    let none = exact(&[String::new(), String::new(), String::new(), "none".to_string()]);
    for (more, place, wanted) in [
        ("", "(missing)", flu),
        ("missing = \"value\"\n", "(missing)", flu),
        ("missing = \"never\"\n", "none", none + flu),
    ] {
        let folder = folder(&release("t", "marginals", cost, &format!("{columns}{more}")));
        let file = folder.path().join("people.csv");
        let data = fs::read_to_string(&file).unwrap();
        fs::write(&file, data.replace(",flu,", ",plague,")).unwrap();
        assert!(scumble(folder.path(), &["release", "--quiet"]).status.success());
        let (_, rows) = csv(folder.path(), "t");
        let row = rows.iter().find(|row| row[1] == place && row[0].is_empty()).expect("a row for missing values");
        assert!((row[2].parse::<f64>().unwrap() - wanted).abs() < 200.0, "{more}: {row:?}, not {wanted}");
        assert_eq!(rows.iter().any(|row| row[1] == "(missing)"), !more.contains("never"), "{more}");
    }
}

#[test]
fn without_a_delta_gaussian_noise_has_no_epsilon() {
    let folder = folder(&release("t", "marginals", "epsilon = 1", COLUMNS));
    let project = fs::read_to_string(folder.path().join("scumble.toml")).unwrap();
    // The budget's own δ is taken where there is one.
    assert!(scumble(folder.path(), &["plan"]).status.success());
    fs::write(
        folder.path().join("scumble.toml"),
        project.replace("{ epsilon = 60, delta = 1e-9 }", "{ epsilon = 60 }"),
    )
    .unwrap();
    let output = scumble(folder.path(), &["plan"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("whose epsilon needs a delta"), "{}", text(&output.stderr));
    let unknown = release("u", "heavy-hitters", "epsilon = 1", "columns = [\"town\"]\n");
    let bare = PROJECT.replace("{ epsilon = 60, delta = 1e-9 }", "{ epsilon = 60 }");
    fs::write(folder.path().join("scumble.toml"), format!("{bare}{unknown}")).unwrap();
    let output = scumble(folder.path(), &["plan"]);
    assert!(text(&output.stderr).contains("values are not public, which needs a delta"), "{}", text(&output.stderr));
}

#[test]
fn the_planner_says_why() {
    let more = format!("{COLUMNS}people = {PEOPLE}\n");
    let folder = folder(&release("t", "marginals", "epsilon = 1, delta = 1e-9", &more));
    let shown = json(folder.path(), &["plan", "--json"]);
    let rule = &shown["releases"][0]["rule"];
    assert_eq!(rule["method"], "residual", "{rule}");
    let promises = rule["promises"].as_array().unwrap();
    assert_eq!(promises.len(), 3, "{rule}");
    let errors: Vec<f64> = promises.iter().map(|promise| promise["error"].as_f64().unwrap()).collect();
    assert!(errors.windows(2).all(|pair| pair[0] <= pair[1]), "{rule}");
    assert!(rule["why"].as_str().unwrap().contains("smallest error"), "{rule}");
    let shown = text(&scumble(folder.path(), &["plan", "--details"]).stdout);
    // Long cells of a table are wrapped.
    assert!(shown.split_whitespace().collect::<Vec<_>>().join(" ").contains("method residual"));
}

/// `examples/per-attribute.toml`, as its first lines say.
#[test]
fn the_example_runs_and_keeps_its_budget() {
    let folder = tempfile::tempdir().unwrap();
    let demo = scumble(folder.path(), &["demo", "--json"]);
    assert!(demo.status.success(), "{}", text(&demo.stderr));
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/per-attribute.toml");
    let home = folder.path().join("scumble-demo");
    fs::copy(example, home.join("per-attribute.toml")).unwrap();
    let output = scumble(&home, &["release", "per-attribute.toml", "--out", "out", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = json(&home, &["ledger", "show", "--json", "per-attribute.toml"]);
    let of = |name: &str| epsilon(&shown["attributes"][name]);
    assert!(of("disease") > 0.5 && of("disease") <= 1.0, "{shown}");
    assert!(of("disease") < epsilon(&shown["person"]) && epsilon(&shown["person"]) <= 4.0, "{shown}");
    let (header, rows) = csv(&home, "made-up people");
    assert_eq!(header, ["age", "sex"]);
    assert!(rows.len().abs_diff(20_000) < 200, "{}", rows.len());
    let (_, found) = csv(&home, "common combinations");
    assert!(found.iter().any(|row| row[2] == "none"), "{found:?}");
    let report = fs::read_to_string(home.join("out/report.html")).unwrap();
    assert!(report.contains("What that means") && report.contains("with or without"));
    let readings: Value = serde_json::from_slice(&fs::read(home.join("out/report.json")).unwrap()).unwrap();
    let rows = readings["readings"]["rows"].as_array().unwrap();
    let disease = rows.iter().find(|row| row["scope"] == "disease").unwrap();
    let guess = disease["bit_guess"].as_f64().unwrap();
    assert!(guess > 0.5 && guess < 1.0, "{disease}");
}
