//! What the report says was tried against each release.

use crate::support::Folder;
use serde_json::Value;

const PROJECT: &str = "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\n\
    age = { type = \"int\", lower = 0, upper = 99 }\nsex = { type = \"category\", values = [\"f\", \"m\"] }\n\
    [budget]\nperson = { epsilon = 30, delta = 1e-6 }\n\
    [[release]]\nname = \"by sex\"\nsql = \"SELECT sex, COUNT(*) AS n FROM people GROUP BY sex\"\ncost = { epsilon = 2 }\n\
    [[release]]\nname = \"median\"\nkind = \"quantiles\"\ntable = \"people\"\ncolumn = \"age\"\nquantiles = [0.5]\ncost = { epsilon = 1 }\n";

fn people(ages: impl Fn(usize) -> usize) -> String {
    let rows: String = (0..80).map(|i| format!("{},{}\n", ages(i), ["f", "m"][i % 2])).collect();
    format!("age,sex\n{rows}")
}

fn report(folder: &Folder) -> Value {
    folder.stdout(&["release", "--quiet"]);
    folder.json_file("out/report.json")
}

/// A guess about a person is right as often as ε allows, or less; and it is the same whatever the table is, because it
/// does not look at it.
#[test]
fn each_release_says_what_was_tried_and_what_it_got() {
    let folder = Folder::with(&[("people.csv", &people(|i| 20 + i % 60)), ("scumble.toml", PROJECT)]);
    let told = report(&folder);
    let tried = told["could_somebody"].as_array().unwrap();
    let one = |release: &str, scope: &str| {
        let found = tried.iter().find(|one| one["release"] == release && one["scope"] == scope);
        found.unwrap_or_else(|| panic!("{release}, {scope}: {tried:#?}"))
    };
    for scope in ["presence", "sex"] {
        let found = one("by sex", scope);
        let [right, of, at_least, at_most] =
            ["right", "of", "expected_at_least", "at_most"].map(|field| found[field].as_f64().unwrap());
        // 10,000 coins: five standard deviations are 0.025.
        assert!(right / of > 0.55 && right / of < at_most + 0.025, "{found}");
        assert!(right / of - 0.025 < at_least && at_least <= at_most, "{found}");
    }
    assert!((one("by sex", "sex")["at_most"].as_f64().unwrap() - 0.8808).abs() < 1e-4);
    let median = one("median", "presence");
    assert!(median["not_tried"].as_str().unwrap().contains("no noise to draw"), "{median}");
    let page = folder.read("out/report.html");
    assert!(
        page.contains("Could somebody …?") && page.contains("a person&#39;s sex") | page.contains("a person's sex")
    );
    let other = Folder::with(&[("people.csv", &people(|_| 99)), ("scumble.toml", PROJECT)]);
    assert_eq!(report(&other)["could_somebody"], told["could_somebody"]);
}
