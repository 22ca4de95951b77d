//! What a plan, a ledger and a report say is what holds.

use crate::support::{Folder, epsilon};
use scumble_testing::projects::DISEASES as PEOPLE;
use serde_json::Value;

const VISITS: &str = r#"
[dataset.visits]
source = "visits.csv"
owner = "id"
max_rows_per_owner = 400
[dataset.visits.columns]
clinic = { type = "category" }
"#;

fn people(more: &str) -> Folder {
    let rows: String =
        (0..1000).map(|row| format!("{},{},north\n", 18 + row % 72, ["none", "flu", "asthma"][row % 3])).collect();
    Folder::with(&[("scumble.toml", &format!("{PEOPLE}{more}")), ("people.csv", &format!("age,disease,state\n{rows}"))])
}

fn release(sql: &str, cost: &str) -> String {
    format!("[[release]]\nname = \"r\"\nsql = \"{sql}\"\ncost = {{ {cost} }}\n")
}

/// 72 ages in tens were published as 71 groups, one for each number from 10 to 80, and a filter did not take its value
/// out.
#[test]
fn keys_that_cannot_occur_are_not_published() {
    let folder = people("");
    let keys = |sql: &str| -> Vec<String> {
        let csv = folder.stdout(&["query", sql, "--cost", "epsilon=1"]);
        csv.lines().skip(1).map(|line| line.split(',').next().unwrap().to_string()).collect()
    };
    let tens = keys("SELECT age / 10 * 10 AS tens, COUNT(*) AS n FROM people GROUP BY 1");
    assert_eq!(tens, ["10", "20", "30", "40", "50", "60", "70", "80"]);
    let ill = keys("SELECT disease, COUNT(*) AS n FROM people WHERE disease <> 'none' GROUP BY disease");
    assert_eq!(ill, ["flu", "asthma"]);
    // All that can occur are published, also where nobody is.
    let old = keys("SELECT disease, COUNT(*) AS n FROM people WHERE age = 89 GROUP BY disease");
    assert_eq!(old, ["none", "flu", "asthma"]);
    let both = folder.stdout(&[
        "query",
        "SELECT age / 10, age / 5, COUNT(*) AS n FROM people GROUP BY 1, 2",
        "--cost",
        "epsilon=1",
    ]);
    assert_eq!(both.lines().count(), 1 + 15, "{both}");
    let never = "SELECT disease, COUNT(*) AS n FROM people WHERE age > 89 GROUP BY disease";
    folder.refused(&["query", never, "--cost", "epsilon=1"], 2, "change the condition or the domains");
}

/// P[owners + Z ≥ threshold] for the noise Z that a plan names, by summing the law.
fn probability(owners: i64, threshold: i64, noise: &str) -> f64 {
    let size: f64 = noise.rsplit(' ').next().unwrap().parse().unwrap();
    let weight = |z: i64| match noise.contains("Laplace") {
        true => (-(z as f64).abs() / size).exp(),
        false => (-(z as f64).powi(2) / (2.0 * size * size)).exp(),
    };
    let far = (size * 40.0) as i64 + (owners - threshold).abs();
    let all: f64 = (-far..=far).map(weight).sum();
    (threshold - owners..=far).map(weight).sum::<f64>() / all
}

/// By default a key needed 20,265 owners on a table of 40,000, nothing was published for ε = 1, and no word of it was
/// said before.
#[test]
fn plans_say_how_many_owners_a_key_needs() {
    let sql = "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic";
    let plan = |groups: &str, owners: &str| {
        let table = VISITS.replace("max_rows_per_owner", &format!("{owners}max_rows_per_owner"));
        let text = format!("{table}{}{groups}", release(sql, "epsilon = 1.0, delta = 1e-9"));
        Folder::with(&[("scumble.toml", &text), ("visits.csv", "id,clinic\n1,a\n")])
    };
    // The bound must be said where an owner could be in hundreds of groups.
    plan("", "").refused(&["plan"], 2, "set max_groups_per_owner");

    let hundred = plan("max_groups_per_owner = 100\n", "public_owners = 4000\n");
    let rule = hundred.json(&["plan", "--json"])["releases"][0]["rule"].clone();
    let threshold = rule["keys"]["threshold"].as_i64().unwrap();
    let needed = rule["keys"]["owners_for_95_percent"].as_i64().unwrap();
    let owners =
        rule["measures"].as_array().unwrap().iter().find(|measure| measure["what"] == "number of owners").unwrap();
    let noise = owners["noise"].as_str().unwrap();
    assert!(
        probability(needed, threshold, noise) >= 0.95 && probability(needed - 2, threshold, noise) < 0.95,
        "{rule}"
    );
    let text = hundred.stdout(&["plan", "--details"]);
    let sentence = format!("at least {threshold}, which {needed} owners reach with probability 95%");
    assert!(text.contains(&sentence) && text.contains("Warning: a key needs"), "{text}");
    assert!(
        text.contains("and there are 4000")
            && text.contains("lower max_groups_per_owner (it is 100; with 1 a key needs "),
        "{text}"
    );

    let one = plan("max_groups_per_owner = 1\n", "public_owners = 4000\n").stdout(&["plan", "--details"]);
    assert!(one.contains("with probability 95%") && !one.contains("Warning"), "{one}");
    let said = text.split("with 1 a key needs ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(one.contains(&format!("which {said} owners reach")), "{said} is not what it is: {one}");
    // Where nobody knows how many owners there are, a number that the bounds alone make large is warned of, too.
    assert!(plan("max_groups_per_owner = 100\n", "").stdout(&["plan"]).contains("Warning: a key needs"));
    // Public keys need nobody.
    assert!(
        !people(&release("SELECT disease, COUNT(*) AS n FROM people GROUP BY disease", "epsilon = 1.0"))
            .stdout(&["plan", "--details"])
            .contains("owners reach")
    );
}

/// A key that needs a quarter of all owners is one that hardly any table has; nothing was said of it.
#[test]
fn a_key_that_needs_many_of_all_owners_is_warned_of() {
    let plan = |owners: u64| {
        let project = format!(
            "{PEOPLE}{}",
            release("SELECT state, COUNT(*) AS n FROM people GROUP BY state", "epsilon = 1.0, delta = 1e-9")
        );
        let project = project.replace("public_owners = 1000", &format!("public_owners = {owners}"));
        let folder = Folder::with(&[("scumble.toml", &project), ("people.csv", "age,disease,state\n")]);
        (folder.json(&["plan", "--json"]), folder.stdout(&["plan"]))
    };
    let (many, said) = plan(1_000_000);
    let needed = many["releases"][0]["rule"]["keys"]["owners_for_95_percent"].as_u64().unwrap();
    assert!(!said.contains("Warning"), "{said}");
    let (_, said) = plan(needed * 4);
    assert!(said.contains(&format!("Warning: a key needs {needed} owners, and there are {}", needed * 4)), "{said}");
}

/// A logarithm with bounds is answered; a number that is certain keeps its ends, and NaN is not shown.
#[test]
fn numbers_that_are_certain_have_ends_and_others_are_not_shown() {
    let folder = people("");
    folder.stdout(&["query", "SELECT SUM(LN(GREATEST(age - 18, 1))) AS s FROM people", "--cost", "epsilon=1"]);
    // Noise that is never drawn leaves a number as it is, with ends.
    let certain = [
        "query",
        "SELECT COUNT(*) - 10 AS n, 2 * COUNT(*) + SUM(age) AS s FROM people",
        "--cost",
        "epsilon=1000000",
        "--json",
    ];
    let row = folder.json(&certain)["rows"][0].clone();
    assert!(
        row["n"] == 990 && row["n_interval"][0].as_f64() == Some(990.0) && row["s_interval"][1].is_number(),
        "{row}"
    );
    let nothing = people(&release("SELECT 1 / 0 * COUNT(*) AS n FROM people", "epsilon = 1.0"));
    for plan in [nothing.stdout(&["plan"]), nothing.stdout(&["plan", "--details"])] {
        assert!(!plan.contains("NaN"), "{plan}");
    }
}

/// A count without noise has no ε at any δ; it was shown at δ = 1.
#[test]
fn an_exact_count_has_no_epsilon() {
    let folder = people(
        "[attacker]\nknown_rows = 0.5\nmode = \"passive\"\nuncertainty = 0.2\nindependence = \"declared\"\n\
         [[release]]\nname = \"flu\"\nkind = \"exact-count\"\ntable = \"people\"\nwhere = \"disease = 'flu'\"\ni_accept_assumptions = true\n",
    );
    let text = folder.stdout(&["plan", "--details"]);
    assert!(
        text.contains("epsilon at delta 1e-9") && text.contains("There is no finite epsilon at any delta"),
        "{text}"
    );
    let shown = folder.json(&["plan", "--json"])["releases"][0].clone();
    for scope in [&shown["costs"]["presence"], &shown["costs"]["person"], &shown["costs"]["attributes"]["disease"]] {
        assert_eq!(scope["epsilon"], Value::Null, "{shown}");
    }
    assert_eq!(epsilon(&shown["costs"]["attributes"]["age"]), 0.0);
    assert!(shown["notes"][0].as_str().unwrap().contains("no finite epsilon"), "{shown}");
    folder.run(&["release"]);
    let guess = &folder.json_file("out/report.json")["readings"]["rows"][0]["bit_guess"];
    assert_eq!(guess.as_f64(), Some(1.0));
}

/// Where keys are selected, the guarantee holds except with probability δ. A guess of a bit was said to be certain; for
/// (ε, δ) it is right with probability (e^ε + δ)/(1 + e^ε) at most, and less where its ρ says so. And the ρ in the
/// ledger was called one.
#[test]
fn what_key_selection_means_is_said() {
    let sql = "SELECT state, COUNT(*) AS n FROM people GROUP BY state";
    let folder = people(&release(sql, "epsilon = 0.1, delta = 1e-9"));
    folder.stdout(&["release"]);
    let report = folder.json_file("out/report.json");
    let rows = report["readings"]["rows"].as_array().unwrap();
    for name in ["person", "state"] {
        let row = rows.iter().find(|row| row["scope"] == name).unwrap();
        let guess = row["bit_guess"].as_f64().unwrap();
        let bound = (0.1f64.exp() + 1e-9) / (1.0 + 0.1f64.exp());
        assert!(guess <= bound * (1.0 + 1e-12) && guess > 0.51, "{guess} for {bound}");
        assert_eq!((&row["posterior_odds_factor"], &row["mutual_information_bits"]), (&Value::Null, &Value::Null));
    }
    assert!(folder.read("out/report.html").contains("<td>no bound</td>"));
    let person = folder.json(&["ledger", "show", "--json"])["person"].clone();
    assert_eq!(person.get("rho"), None, "{person}");
    let (rho, delta) = (&person["approximate_zcdp"]["rho"], &person["approximate_zcdp"]["delta"]);
    assert!(rho.as_f64().unwrap() > 0.0 && delta.as_f64().unwrap() > 0.0, "{person}");
    let public = people(&release("SELECT disease, COUNT(*) AS n FROM people GROUP BY disease", "epsilon = 0.1"));
    public.stdout(&["release"]);
    assert!(public.json(&["ledger", "show", "--json"])["person"]["rho"].as_f64().unwrap() > 0.0);
}

/// A ρ with a δ for keys was shown at that δ, and the rule leaves a quarter of it to keys: ∞.
#[test]
fn a_release_is_shown_at_a_delta_at_which_it_has_an_epsilon() {
    let folder = people(&release("SELECT state, COUNT(*) AS n FROM people GROUP BY state", "rho = 0.01, delta = 1e-9"));
    let text = folder.stdout(&["plan", "--details"]);
    assert!(!text.contains('∞'), "{text}");
    let shown = folder.json(&["plan", "--json"])["releases"][0]["costs"]["person"].clone();
    assert!((shown["delta"].as_f64().unwrap() - 4e-9).abs() < 1e-15 && epsilon(&shown) < 2.0, "{shown}");
    let small = folder.stdout(&["plan", "--details", "--delta", "1e-12"]);
    assert!(small.contains("∞: at this delta there is no epsilon; ask for --delta "), "{small}");
    folder.stdout(&["release"]);
    assert!(epsilon(&folder.json(&["ledger", "show", "--json"])["person"]) < 2.0);
}
