//! Ledgers that older versions wrote, as the engine adds them up.

use scumble::event::{Event, Moves, Shift, Word};
use scumble::quantity::Scale;
use scumble::scope::AttributeSet;
use scumble_engine::Error;
use scumble_engine::ledger::{Ledger, Proposal, ReleaseContext};
use scumble_engine::project::Project;
use scumble_engine::summary::{SummaryRequest, document, summary, sums_of};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn proposal(name: &str) -> Proposal {
    let kind = Word::DiscreteLaplace { scale: Scale::new(10.0).unwrap() };
    let event = Event::new(kind, Moves::everywhere(Shift::one_cell(1.0).unwrap()));
    Proposal {
        release: name.to_string(),
        kind: "sql".to_string(),
        project: None,
        request: None,
        events: vec![event],
        rule: json!({ "why": "test" }),
        about: ReleaseContext::default(),
    }
}

/// A ledger from before the event `new-keys` (queries with known and unknown keys, Laplace and Gaussian noise,
/// quantiles, heavy hitters with unknown values, and more): it is verified, and every number is the one that the
/// program printed that wrote it, also for groups of three.
#[test]
fn a_ledger_from_before_new_keys_costs_what_it_cost() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ledger");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.ledger");
    fs::copy(testdata.join("before-new-keys.ledger"), &path).unwrap();
    let truth: Value = serde_json::from_slice(&fs::read(testdata.join("before-new-keys.json")).unwrap()).unwrap();
    let mut ledger = Ledger::open_existing(&path).unwrap().unwrap();
    assert_eq!(ledger.verify().unwrap().hex(), truth["head"].as_str().unwrap());
    let text = "[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\nx = { type = \"bool\" }\n[budget]\nperson = { epsilon = 20.0, delta = 1e-5 }\n";
    let project = Project::parse(&folder.path().join("scumble.toml"), text).unwrap();
    let charges = ledger.charges().unwrap();
    let sets = [["town", "sex"], ["disease", "town"]].map(|names| AttributeSet::new(names).unwrap());
    let question = SummaryRequest {
        budget: &project.budget,
        attributes: &["age", "disease", "income", "place", "sex", "stars", "town"].map(str::to_string).into(),
        delta: None,
        sets: &sets,
        group: Some(3.try_into().unwrap()),
    };
    let shown = summary(&charges, &sums_of(&charges, &sets).unwrap(), &question).unwrap();
    let shown = document(&shown).unwrap();
    for part in ["attributes", "groups", "person", "presence", "releases", "remaining", "rule"] {
        same("", &under_the_old_name(&shown[part]), &truth[part]);
    }
    // Both kinds of entries are in it, and nothing that was written later.
    let names = charges.iter().flat_map(|charge| &charge.events).map(|event| event.word().name());
    let names: std::collections::BTreeSet<&str> = names.collect();
    assert!(names.contains("approximate") && names.contains("heavy-hitters") && !names.contains("new-keys"));
    // A release of today, added to it, under the budget that it holds and no other.
    let mut next = proposal("next");
    if let Some(budget) = ledger.budgets().unwrap().last() {
        let refused = ledger.reserve(&next, |_| Ok::<(), Error>(())).unwrap_err().to_string();
        assert!(refused.contains("differs from ledger"), "{refused}");
        next.about.budget = budget.limits.clone();
    }
    ledger.reserve(&next, |_| Ok::<(), Error>(())).unwrap();
    ledger.verify().unwrap();
}

/// A ρ beside key selection was called `rho`, as if it held always; now it says except with which probability.
fn under_the_old_name(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut renamed: serde_json::Map<String, Value> =
                fields.iter().map(|(name, value)| (name.clone(), under_the_old_name(value))).collect();
            if let Some(approximate) = renamed.remove("approximate_zcdp") {
                renamed.insert("rho".to_string(), approximate["rho"].clone());
            }
            Value::Object(renamed)
        }
        Value::Array(values) => values.iter().map(under_the_old_name).collect(),
        other => other.clone(),
    }
}

/// The same values; numbers to a few units in the last place, as exp and tanh differ between machines.
fn same(at: &str, one: &Value, other: &Value) {
    match (one, other) {
        // Where no ε was known at the usual δ and nobody had asked for it, one is shown at a larger δ now.
        (Value::Object(left), Value::Object(right)) if right.get("epsilon") == Some(&Value::Null) => {
            let number = |fields: &serde_json::Map<String, Value>| fields.get("delta").and_then(Value::as_f64);
            assert!(number(left) >= number(right), "{at}: {left:?} {right:?}");
        }
        (Value::Object(left), Value::Object(right)) => {
            assert!(left.keys().eq(right.keys()), "{at}: {left:?} {right:?}");
            left.iter().for_each(|(name, value)| same(&format!("{at}.{name}"), value, &right[name]));
        }
        (Value::Array(left), Value::Array(right)) => {
            assert_eq!(left.len(), right.len(), "{at}");
            left.iter().zip(right).for_each(|(left, right)| same(at, left, right));
        }
        (Value::Number(left), Value::Number(right)) => {
            let (left, right) = (left.as_f64().unwrap(), right.as_f64().unwrap());
            assert!((left - right).abs() <= 1e-12 * right.abs(), "{at}: {left} was {right}");
        }
        (left, right) => assert_eq!(left, right, "{at}"),
    }
}
