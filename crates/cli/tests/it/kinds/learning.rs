//! Kind `learn`, as a user runs it: the page's project, every concept, and what is refused.

use crate::support::{Folder, epsilon};
use serde_json::Value;

const PAGE: &str = include_str!("../../../../../docs/how-to/learn.md");

/// Ill are those of 65 and more; the ward and the rest say something else.
fn patients(rows: usize) -> String {
    let row = |i: usize| {
        let age = i * 37 % 101;
        let (smokes, vaccinated, ward) = (i.is_multiple_of(3), i / 2 % 2 == 1, ["north", "south", "west"][i / 5 % 3]);
        format!("{i},{age},{smokes},{vaccinated},{ward},{}\n", age >= 65)
    };
    format!("id,age,smokes,vaccinated,ward,ill\n{}", (0..rows).map(row).collect::<String>())
}

fn tables() -> &'static str {
    PAGE.split("```toml\n").nth(1).unwrap().split("[budget]").next().unwrap()
}

fn project(releases: &str) -> Folder {
    let text = format!("{}[budget]\nperson = {{ epsilon = 1000, delta = 1e-6 }}\n{releases}", tables());
    Folder::with(&[("scumble.toml", &text), ("patients.csv", &patients(6000))])
}

fn release(name: &str, more: &str) -> String {
    format!("[[release]]\nname = \"{name}\"\nkind = \"learn\"\ntable = \"patients\"\n{more}\n")
}

fn rule(released: &Value, place: usize) -> String {
    released["releases"][place]["answers"]["rows"][0]["rule"].as_str().unwrap_or("nothing").to_string()
}

#[test]
fn the_page_does_what_it_says() {
    let text = PAGE.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = Folder::with(&[("scumble.toml", text), ("patients.csv", &patients(6000))]);
    let plan = folder.stdout(&["plan", "--details"]);
    let words: Vec<&str> = plan.split_whitespace().collect();
    assert!(words.join(" ").contains("it makes at most 16 mistakes more than"), "{plan}");
    let released = folder.json(&["release", "--json"]);
    // ε = 1: the chance of a rule that is off by k ages is e^{−30k}.
    assert_eq!(rule(&released, 0), "CASE WHEN \"age\" >= 65 THEN 1 ELSE 0 END");
    assert_eq!(rule(&released, 2), "CASE WHEN (age >= 65) THEN 1 ELSE 0 END");
    assert!(PAGE.contains(&rule(&released, 0)));
    // Six combinations, as the page says; nobody's value is missing, and noise reaches 31 of 6000 with a chance of 5%
    // at most.
    let shown = &released["releases"][3]["answers"];
    let rows = shown["rows"].as_array().unwrap();
    assert!((6..=12).contains(&rows.len()) && shown["distribution"]["combinations"] == "12", "{shown}");
    assert!((shown["distribution"]["within"].as_f64().unwrap() - 31.0 / 6000.0).abs() < 2e-5, "{shown}");
    assert!(plan.contains("off by more than 31 divided by"), "{plan}");
    let total: f64 = rows.iter().map(|row| row["probability"].as_f64().unwrap()).sum();
    assert!((total - 1.0).abs() < 1e-9, "{total}");
    let first = rows.iter().find(|row| row["ward"] == "north" && row["smokes"] == false).unwrap();
    assert!((first["probability"].as_f64().unwrap() - 0.2).abs() < 0.01, "{first}");
    assert!((epsilon(&folder.json(&["ledger", "show", "--json"])["person"]) - 4.0).abs() < 1e-9);
    let report = folder.read("out/report.html");
    assert!(
        report.contains("their number is not published") && report.contains("costs nothing more"),
        "the report explains the rule"
    );
}

/// At a large ε every concept finds the rule that made the labels.
#[test]
fn every_concept_finds_the_rule_that_is_there() {
    let of = |name: &str, concept: &str, label: &str, columns: &str| {
        release(
            name,
            &format!("concept = \"{concept}\"\nlabel = \"{label}\"\ncolumns = {columns}\ncost = {{ epsilon = 60 }}"),
        )
    };
    let folder = project(&[
        of("a", "point", "ill", "[\"smokes\", \"ward\"]"),
        of("b", "halfspace", "smokes", "[\"vaccinated\", \"ill\"]"),
        of("c", "conjunction", "vaccinated", "[\"smokes\", \"ill\"]"),
        of("d", "parity", "smokes", "[\"vaccinated\", \"ill\"]"),
        release("f", "concept = \"threshold\"\nlabel = \"ward\"\npositive = \"west\"\ncolumns = [\"age\"]\ncost = { rho = 2 }"),
    ].concat());
    let released = folder.json(&["release", "--json"]);
    // Nobody's combination is mostly ill: never is the best point.
    assert_eq!(rule(&released, 0), "CASE WHEN FALSE THEN 1 ELSE 0 END");
    assert!(rule(&released, 1).ends_with(">= 0 THEN 1 ELSE 0 END"), "{}", rule(&released, 1));
    assert_eq!(rule(&released, 2), "CASE WHEN TRUE THEN 1 ELSE 0 END", "no condition holds for all who are vaccinated");
    assert_eq!(rule(&released, 3), "nothing", "no parity is right on so many");
    assert_eq!(released["releases"][3]["answers"]["rows"][0]["is_published"], false);
    assert_eq!(rule(&released, 4), "CASE WHEN FALSE THEN 1 ELSE 0 END", "no age is mostly in the west");
    // What was promised is published with the rule: how many owners suffice.
    for name in ["a", "b", "d", "f"] {
        let shown = folder.json_file(&format!("out/{}.json", name.replace(' ', "-"))).to_string();
        assert!(says_how_many(&shown), "{name}: {shown}");
    }
}

fn says_how_many(text: &str) -> bool {
    ["owners suffice", "owners are enough"].iter().any(|words| text.contains(words))
}

/// Nobody is ill with certainty: the parity that made the labels is found.
#[test]
fn a_parity_is_learnt_where_there_is_one() {
    let rows: String = (0..3000)
        .map(|i| {
            let (smokes, vaccinated) = (i % 3 == 1, i / 7 % 2 == 1);
            format!("{i},5,{smokes},{vaccinated},north,{}\n", smokes != vaccinated)
        })
        .collect();
    let folder = project(&release(
        "p",
        "concept = \"parity\"\nlabel = \"ill\"\ncolumns = [\"smokes\", \"vaccinated\"]\ncost = { epsilon = 18 }",
    ));
    folder.write("patients.csv", &format!("id,age,smokes,vaccinated,ward,ill\n{rows}"));
    let released = folder.json(&["release", "--json"]);
    assert_eq!(
        rule(&released, 0),
        "CASE WHEN (CASE WHEN \"smokes\" IS TRUE THEN 1 ELSE 0 END + CASE WHEN \"vaccinated\" IS TRUE THEN 1 ELSE 0 END) % 2 = 1 THEN 1 ELSE 0 END"
    );
}

/// Every concept's rule runs as it was published, in another database, on rows with missing values, and makes the
/// mistakes that were looked for: none. A column and a value have names that need quotes, and a listed rule has a
/// comment, behind which the rest of what was published would have been one.
#[test]
fn published_rules_run_as_sql() {
    let column = |name: &str| format!("[dataset.patients.columns]\n{name}");
    let table = "[dataset.patients]\nsource = \"patients.csv\"\nowner = \"id\"\nmax_rows_per_owner = 1\n";
    let columns = column(
        "age = { type = \"int\", lower = 0, upper = 100 }\norder = { type = \"bool\" }\nb = { type = \"bool\" }\nward = { type = \"category\", values = [\"o'neil\", \"west\"] }\n\
         old = { type = \"bool\" }\nboth = { type = \"bool\" }\nodd = { type = \"bool\" }\neither = { type = \"bool\" }\n",
    );
    let learnt = |label: &str, concept: &str, columns: &str| {
        release(
            label,
            &format!("concept = \"{concept}\"\nlabel = \"{label}\"\ncolumns = {columns}\ncost = {{ epsilon = 18 }}"),
        )
    };
    let again = |name: &str, text: String| text.replacen("name = \"both\"", &format!("name = \"{name}\""), 1);
    let list = "[\"age\"]\nrules = [\"age < 3\", \"age >= 65 -- those who are old\"]";
    let releases = [
        learnt("old", "threshold", "[\"age\"]"),
        learnt("both", "conjunction", "[\"order\", \"ward\"]"),
        again("point", learnt("both", "point", "[\"order\", \"ward\"]")),
        learnt("either", "halfspace", "[\"order\", \"b\"]"),
        learnt("odd", "parity", "[\"order\", \"b\"]"),
        learnt("old", "list", list).replacen("name = \"old\"", "name = \"list\"", 1),
    ];
    let project =
        format!("{table}{columns}[budget]\nperson = {{ epsilon = 1000, delta = 1e-6 }}\n{}", releases.concat());
    let held = rusqlite::Connection::open_in_memory().unwrap();
    let names = "id, age, \"order\", b, ward, old, both, odd, either";
    held.execute_batch(&format!("CREATE TABLE patients ({names})")).unwrap();
    let mut csv = "id,age,order,b,ward,old,both,odd,either\n".to_string();
    for i in 0..4000i64 {
        let age = (i % 19 != 0).then_some(i * 37 % 101);
        let (order, b) = ((i % 5 != 0).then_some(i % 3 == 1), Some(i / 3 % 2 == 1));
        let ward = [Some("o'neil"), Some("west"), None][(i / 7 % 3) as usize];
        let is = |value: Option<bool>| value == Some(true);
        let labels = [
            age.is_some_and(|age| age >= 65),
            is(order) && ward == Some("o'neil"),
            is(order) != is(b),
            is(order) || is(b),
        ];
        let shown = |value: Option<bool>| value.map_or(String::new(), |value| value.to_string());
        csv += &format!(
            "{i},{},{},{},{},{}\n",
            age.map_or(String::new(), |age| age.to_string()),
            shown(order),
            shown(b),
            ward.unwrap_or(""),
            labels.map(|label| label.to_string()).join(",")
        );
        let row = rusqlite::params![i, age, order, b, ward, labels[0], labels[1], labels[2], labels[3]];
        held.execute("INSERT INTO patients VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row).unwrap();
    }
    let folder = Folder::with(&[("scumble.toml", &project), ("patients.csv", &csv)]);
    let released = folder.json(&["release", "--json"]);
    assert_eq!(rule(&released, 5), "CASE WHEN (age >= 65) THEN 1 ELSE 0 END");
    for (place, label) in ["old", "both", "both", "either", "odd", "old"].into_iter().enumerate() {
        let rule = rule(&released, place);
        // A parity is given up by chance with probability 1/(e^18 + 2); a choice that errs on someone has a probability
        // of e^{−9} for each of the hundreds.
        let mistakes = held.query_row(&format!("SELECT SUM(({rule}) <> {label}) FROM patients"), [], |row| row.get(0));
        assert_eq!(mistakes, Ok(0i64), "{label}: {rule}");
    }
}

/// A point by heavy hitters: each attribute pays what it was granted, a person more; and it is found.
#[test]
fn a_cost_per_attribute_finds_the_point() {
    let rows: String = (0..6000)
        .map(|i| {
            let (town, member, tall) = (["a", "b", "c"][i % 3], i / 3 % 2 == 1, i / 6 % 2 == 1);
            format!("{town},{member},{tall},{}\n", town == "b" && member && tall)
        })
        .collect();
    let columns = "town = { type = \"category\", values = [\"a\", \"b\", \"c\"] }\nmember = { type = \"bool\" }\ntall = { type = \"bool\" }\nill = { type = \"bool\" }\n";
    let release = "[[release]]\nname = \"r\"\nkind = \"learn\"\ntable = \"people\"\nconcept = \"point\"\nlabel = \"ill\"\ncolumns = [\"town\", \"member\", \"tall\"]\ncost = { epsilon = 1, scope = \"attribute\" }\n";
    let project = format!("[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\n{columns}{release}");
    let folder = Folder::with(&[("scumble.toml", &project), ("people.csv", &format!("town,member,tall,ill\n{rows}"))]);
    let released = folder.json(&["release", "--json"]);
    let found = "\"town\" = 'b' AND \"member\" IS TRUE AND \"tall\" IS TRUE";
    // Five hundred owners have it, far above every threshold at ε = 1.
    assert_eq!(rule(&released, 0), format!("CASE WHEN {found} THEN 1 ELSE 0 END"));
    let shown = folder.json(&["ledger", "show", "--json"]);
    for attribute in ["town", "member", "tall", "ill"] {
        let pays = epsilon(&shown["attributes"][attribute]);
        assert!(pays <= 1.0 + 1e-9 && pays > 0.5, "{attribute}: {pays}");
    }
    assert!(epsilon(&shown["person"]) > 1.0, "{shown}");
}

/// A halfspace at a cost for each column and the label: each pays what it may, the plan says how many owners are
/// enough, and what is published is right on nearly everybody where all are far from the boundary. What it cannot do is
/// refused, with what else there is.
#[test]
fn a_robust_halfspace_is_learnt_far_from_its_boundary() {
    let row = |i: usize| {
        let mut truths = [i.is_multiple_of(2); 3];
        if i.is_multiple_of(5) {
            truths[i / 5 % 3] = !truths[i / 5 % 3];
        }
        let ill = truths.iter().filter(|truth| **truth).count() >= 2;
        let text = truths.map(|truth| truth.to_string()).join(",");
        format!("{i},{text},{ill}\n")
    };
    let rows: String = (0..2000).map(row).collect();
    let project = |rows_per_owner: u32, more: &str| {
        format!(
            "[dataset.people]\nsource = \"people.csv\"\nowner = \"id\"\nmax_rows_per_owner = {rows_per_owner}\n[dataset.people.columns]\na = {{ type = \"bool\" }}\nb = {{ type = \"bool\" }}\nc = {{ type = \"bool\" }}\nill = {{ type = \"bool\" }}\n\
             [[release]]\nname = \"r\"\nkind = \"learn\"\ntable = \"people\"\nlabel = \"ill\"\ncolumns = [\"a\", \"b\", \"c\"]\n{more}\n"
        )
    };
    let folder_of = |rows_per_owner: u32, more: &str| {
        let text = project(rows_per_owner, more);
        Folder::with(&[("scumble.toml", &text), ("people.csv", &format!("id,a,b,c,ill\n{rows}"))])
    };
    let robust = |more: &str| format!("concept = \"robust-halfspace\"\n{more}");
    let cost = "cost = { epsilon = 1, scope = \"attribute\" }";
    let folder = folder_of(1, &robust(&format!("{cost}\nattribute_costs = {{ ill = 1.5 }}")));
    let plan = folder.stdout(&["plan", "--details"]);
    assert!(plan.contains("even where any one column is changed") && says_how_many(&plan), "{plan}");
    let released = folder.json(&["release", "--json"]);
    let rule = rule(&released, 0);
    let held = rusqlite::Connection::open_in_memory().unwrap();
    held.execute("CREATE TABLE people (a BOOLEAN, b BOOLEAN, c BOOLEAN, ill BOOLEAN)", []).unwrap();
    for line in rows.lines() {
        let cells: Vec<bool> = line.split(',').skip(1).map(|cell| cell == "true").collect();
        held.execute("INSERT INTO people VALUES (?1, ?2, ?3, ?4)", (cells[0], cells[1], cells[2], cells[3])).unwrap();
    }
    let mistakes: i64 =
        held.query_row(&format!("SELECT SUM(({rule}) <> ill) FROM people"), [], |row| row.get(0)).unwrap();
    // The loss of the majority is 400, that of every halfspace with 200 mistakes or more at least 1200: more than seven
    // standard deviations of the labels' noise, and e^{−200} for the choice.
    assert!(mistakes < 200, "{mistakes}: {rule}");
    let shown = folder.json(&["ledger", "show", "--json"]);
    for (attribute, most) in [("a", 1.0), ("b", 1.0), ("c", 1.0), ("ill", 1.5)] {
        let pays = epsilon(&shown["attributes"][attribute]);
        assert!(pays <= most * (1.0 + 1e-9) && pays > 0.99 * most, "{attribute}: {pays}");
    }
    // All columns move the scores twice as far as one, and the label has its own.
    let (presence, person) = (epsilon(&shown["presence"]), epsilon(&shown["person"]));
    assert!((presence - 1.0).abs() < 1e-6 && (person - 3.5).abs() < 1e-3, "{presence} {person}");
    let refused = |rows: u32, more: &str, words: &str| folder_of(rows, more).refused(&["release"], 2, words);
    refused(1, &robust("cost = { epsilon = 1 }"), "for a cost per person use the concept 'halfspace'");
    refused(1, &robust("cost = { rho = 1, scope = \"attribute\" }"), "takes cost = { epsilon");
    refused(3, &robust(cost), "write max_rows_per_owner = 1");
    refused(1, &robust(&format!("flips = 4\n{cost}")), "only 1 to 3 columns can be changed, not 4");
    refused(1, &robust(&format!("{cost}\nattribute_costs = {{ d = 1 }}")), "'d' is not among the columns");
    refused(
        1,
        &robust("cost = { epsilon = 1e-7, scope = \"attribute\" }"),
        "no robust halfspace can be learnt within this cost",
    );
    refused(1, &format!("concept = \"halfspace\"\nflips = 1\n{cost}"), "'flips' is for the concept 'robust-halfspace'");
    refused(
        1,
        &format!("concept = \"halfspace\"\n{cost}\nattribute_costs = {{ a = 1 }}"),
        "attribute_costs are for the concept",
    );
}

/// Of forty bool columns with missing values, 3^40 combinations, the one that half of the owners have is found, at
/// every scope; and of a hundred of them with a cost per attribute by heavy hitters.
#[test]
fn a_distribution_of_many_columns_lists_what_many_share() {
    let of = |columns: usize, cost: &str| {
        let names: Vec<String> = (0..columns).map(|column| format!("c{column}")).collect();
        let declared: String = names.iter().map(|name| format!("{name} = {{ type = \"bool\" }}\n")).collect();
        let project = format!(
            "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\n{declared}[[release]]\nname = \"r\"\nkind = \"learn\"\ntable = \"people\"\nconcept = \"distribution\"\ncolumns = {names:?}\ncost = {cost}\n"
        );
        let row = |owner: usize| {
            let bit = |column: usize| owner % 2 == 1 && (owner * 2_654_435_761) >> (column % 31) & 1 == 1;
            (0..columns).map(|column| bit(column).to_string()).collect::<Vec<_>>().join(",") + "\n"
        };
        let rows: String = (0..3000).map(row).collect();
        Folder::with(&[("scumble.toml", &project), ("people.csv", &format!("{}\n{rows}", names.join(",")))])
    };
    for (columns, cost, words) in [
        (40, "{ epsilon = 1 }", "noise can produce"),
        (40, "{ epsilon = 1, scope = \"presence\" }", "noise can produce"),
        (100, "{ epsilon = 1, scope = \"attribute\" }", "many owners share them"),
    ] {
        let folder = of(columns, cost);
        let plan = folder.stdout(&["plan", "--details"]);
        assert!(plan.contains(words) && plan.contains("owners suffice"), "{plan}");
        let released = folder.json(&["release", "--json"]);
        let answers = &released["releases"][0]["answers"];
        let half = &answers["rows"][0];
        assert!(half["c0"] == false && half["c39"] == false, "{half}");
        // Noise of about ten of three thousand; what is left is shared by more than can be counted.
        assert!((half["probability"].as_f64().unwrap() - 0.5).abs() < 0.02, "{half}");
        let within = half["within"].as_f64().unwrap();
        assert!(
            (0.02..0.3).contains(&within) && answers["distribution"]["other"].as_f64().unwrap() < 1e-12,
            "{answers}"
        );
        assert!(folder.read("out/report.html").contains("no probability is more than"), "the report explains it");
    }
    of(40, "{ rho = 0.1 }").refused(&["release"], 2, "write cost = { epsilon");
    of(80, "{ epsilon = 1 }").refused(&["release"], 2, "more than 2^120 combinations");
}

/// Labels that are numbers are read as their nearest bound: the plan says so, and the check where one is.
#[test]
fn labels_that_are_no_labels_are_told() {
    let text = "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\nage = { type = \"int\", lower = 0, upper = 9 }\nill = { type = \"int\", lower = 0, upper = 1 }\n[[release]]\nname = \"r\"\nkind = \"learn\"\ntable = \"people\"\nconcept = \"threshold\"\nlabel = \"ill\"\ncolumns = [\"age\"]\ncost = { epsilon = 1 }\n";
    let folder = Folder::with(&[("scumble.toml", text), ("people.csv", "age,ill\n1,0\n2,1\n3,7\n4,1\n")]);
    let plan = folder.stdout(&["plan", "--details"]);
    assert!(plan.contains("A number in 'ill' below 0 counts as 0 and one above 1 as 1"), "{plan}");
    let said = folder.stdout(&["check"]);
    assert!(said.contains("people.csv:4: column 'ill' is the label of release 'r'"), "{said}");
    folder.write("people.csv", "age,ill\n1,0\n2,1\n3,\n4,1\n");
    assert!(!folder.stdout(&["check"]).contains("label"));
}
