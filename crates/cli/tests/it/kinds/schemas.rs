//! The JSON schemas of `scumble kinds --json` accept every release that a page shows, and refuse what the program
//! refuses.

use crate::support::Folder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The first rule of a schema that a value breaks, as far as our schemas have rules; a keyword that this does not know
/// is a failure of the test.
fn broken(schema: &Value, value: &Value, place: &str) -> Option<String> {
    let rules = schema.as_object().unwrap_or_else(|| panic!("{place}: {schema}"));
    rules.iter().find_map(|(keyword, rule)| {
        let holds = match keyword.as_str() {
            "$schema" | "title" | "description" => true,
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "type" => match rule {
                Value::Array(kinds) => kinds.iter().any(|kind| is_of(kind.as_str().unwrap(), value)),
                kind => is_of(kind.as_str().unwrap(), value),
            },
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
            "exclusiveMinimum" => value.as_f64().is_none_or(|number| number > rule.as_f64().unwrap()),
            "exclusiveMaximum" => value.as_f64().is_none_or(|number| number < rule.as_f64().unwrap()),
            "minLength" => value.as_str().is_none_or(|text| text.chars().count() as u64 >= rule.as_u64().unwrap()),
            "maxLength" => value.as_str().is_none_or(|text| text.chars().count() as u64 <= rule.as_u64().unwrap()),
            "required" => rule.as_array().unwrap().iter().all(|key| value.get(key.as_str().unwrap()).is_some()),
            "oneOf" => {
                let choices = rule.as_array().unwrap().iter();
                choices.filter(|choice| broken(choice, value, place).is_none()).count() == 1
            }
            "items" => {
                return value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .find_map(|item| broken(rule, item, &format!("{place}[]")));
            }
            "properties" => {
                return rule.as_object().unwrap().iter().find_map(|(key, rule)| {
                    value.get(key).and_then(|value| broken(rule, value, &format!("{place}.{key}")))
                });
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                let others = value.as_object().into_iter().flatten();
                let mut others = others.filter(|(key, _)| !known.is_some_and(|known| known.contains_key(*key)));
                return match rule {
                    Value::Bool(true) => None,
                    Value::Bool(false) => others.next().map(|(key, _)| format!("{place}: unknown key {key}")),
                    rule => others.find_map(|(key, value)| broken(rule, value, &format!("{place}.{key}"))),
                };
            }
            other => panic!("{place}: the test does not know the keyword {other}"),
        };
        (!holds).then(|| format!("{place}: {keyword} {rule} does not hold of {value}"))
    })
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("the test does not know the type {other}"),
    }
}

fn schemas() -> BTreeMap<String, Value> {
    let all = Folder::with(&[]).json(&["kinds", "--json"]);
    all.as_array()
        .unwrap()
        .iter()
        .map(|schema| (schema["title"].as_str().unwrap().to_string(), schema.clone()))
        .collect()
}

/// The releases of a TOML text; none if it is not TOML, as a part of a page may be.
fn releases(text: &str) -> Vec<Value> {
    let Ok(table) = text.parse::<toml::Table>() else { return Vec::new() };
    let shown = serde_json::to_value(table).unwrap();
    shown["release"].as_array().cloned().unwrap_or_default()
}

fn kind(release: &Value) -> &str {
    release["kind"].as_str().unwrap_or("sql")
}

/// Every page and project of a folder and of the folders in it.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|end| end == "md" || end == "toml") {
            found.push(path);
        }
    }
    found
}

#[test]
fn every_documented_release_is_accepted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let schemas = schemas();
    let mut files =
        [root.join("docs"), root.join("examples")].iter().flat_map(|folder| pages(folder)).collect::<Vec<_>>();
    files.push(root.join("README.md"));
    let demo = Folder::with(&[]);
    demo.stdout(&["demo", "--quiet"]);
    files.push(demo.file("scumble-demo/scumble.toml"));
    let (mut found, mut seen) = (0, BTreeMap::new());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let blocks: Vec<&str> = match file.extension().is_some_and(|end| end == "toml") {
            true => vec![&text],
            false => text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect(),
        };
        for release in blocks.iter().flat_map(|block| releases(block)) {
            let schema = &schemas[kind(&release)];
            assert_eq!(broken(schema, &release, "release"), None, "{}: {release:#}", file.display());
            found += 1;
            *seen.entry(kind(&release).to_string()).or_insert(0) += 1;
        }
    }
    assert!(found >= 15 && seen.len() >= 6, "the pages have lost their releases: {seen:?}");
}

#[test]
fn what_the_program_refuses_is_refused() {
    let sql = &schemas()["sql"];
    let good = json!({ "name": "n", "sql": "SELECT COUNT(*) AS n FROM t", "cost": { "epsilon": 0.5 } });
    assert_eq!(broken(sql, &good, "release"), None);
    let with = |key: &str, value: Value| {
        let mut other = good.clone();
        other[key] = value;
        other
    };
    let wrong = [
        with("cost", json!({ "epsilon": 0.5, "rho": 0.1 })),
        with("cost", json!({ "epsilonn": 0.5 })),
        with("cost", json!({ "epsilon": 0.5, "scope": "attribute" })),
        with("accuracy", json!({ "within": 5, "confidence": 0.95 })),
        with("max_rows_per_owner", json!(0)),
        with("sqll", json!("")),
        with("name", json!("")),
        json!({ "name": "n", "sql": "SELECT 1" }),
        json!({ "sql": "SELECT 1", "cost": { "epsilon": 0.5 } }),
    ];
    for wrong in wrong {
        assert!(broken(sql, &wrong, "release").is_some(), "{wrong}");
        // The program says the same.
        let text = toml::Table::try_from(json!({ "release": [wrong] })).unwrap().to_string();
        let folder = Folder::with(&[(
            "scumble.toml",
            &format!("[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\na = {{ type = \"bool\" }}\n{text}"),
        )]);
        assert_eq!(folder.run(&["plan"]).status.code(), Some(2), "{text}");
    }
}
