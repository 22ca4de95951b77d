//! docs/reference/project-file.md: its example is planned as it stands, and budgets hold in every notion.

use crate::support::scumble_in as scumble;
use serde_json::Value;
use std::fs;

fn page() -> String {
    fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/project-file.md")).unwrap()
}

#[test]
fn the_pages_example_is_planned_as_it_stands() {
    let mut blocks: Vec<String> =
        page().split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_string()).collect();
    assert_eq!(blocks.len(), 8);
    // What belongs to no table stands before all tables in a file.
    blocks.sort_by_key(|block| block.starts_with('['));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("scumble.toml"), blocks.join("\n")).unwrap();
    fs::write(folder.path().join("airlines.csv"), "name\nUA\nAA\n").unwrap();
    let output = scumble(folder.path(), &["plan"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("visits by state") && text.contains("urgent visits"), "{text}");
    assert!(text.contains("triangles: standard error about 726.5"), "{text}");
}

/// A release of rho 0.05 about a person, under a budget: its exit status, and what `ledger show` says is left.
fn released_under(budget: &str) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("people.csv"), "sex\nf\nm\nf\n").unwrap();
    let project = format!(
        "[dataset.people]\nsource = \"people.csv\"\n[dataset.people.columns]\nsex = {{ type = \"category\", values = [\"f\", \"m\"] }}\n\
         [budget]\nperson = {budget}\n[[release]]\nname = \"n\"\nkind = \"histogram\"\ntable = \"people\"\ncolumn = \"sex\"\ncost = {{ rho = 0.05 }}\n"
    );
    fs::write(folder.path().join("scumble.toml"), project).unwrap();
    let status = scumble(folder.path(), &["release"]).status.code();
    let shown = scumble(folder.path(), &["ledger", "show", "--json"]).stdout;
    (status, serde_json::from_slice(&shown).unwrap_or(Value::Null))
}

#[test]
fn budgets_hold_in_every_notion() {
    let enough = [
        "{ epsilon = 3, delta = 1e-9 }",
        "{ rho = 0.05 }",
        "{ rho = 0.05, omega = 20 }",
        "{ order = 8, epsilon = 0.4 }",
    ];
    for budget in enough {
        let (status, shown) = released_under(budget);
        assert_eq!(status, Some(0), "{budget}");
        let left = &shown["remaining"]["person"];
        assert!(left["epsilon"].as_f64().or(left["rho"].as_f64()).unwrap() >= 0.0, "{budget}: {shown}");
    }
    let too_little = [
        "{ epsilon = 1, delta = 1e-9 }",
        "{ rho = 0.0499 }",
        "{ rho = 0.0499, omega = 20 }",
        "{ order = 8, epsilon = 0.399 }",
    ];
    for budget in too_little {
        assert_eq!(released_under(budget).0, Some(3), "{budget}");
    }
    for wrong in
        ["{ omega = 20 }", "{ rho = 0.1, omega = 1 }", "{ order = 0.5, epsilon = 1 }", "{ rho = 1, epsilon = 1 }"]
    {
        assert_eq!(released_under(wrong).0, Some(2), "{wrong}");
    }
}
