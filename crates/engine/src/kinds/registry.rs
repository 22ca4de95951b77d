//! The registry of kinds: finding one, and the JSON schema of each. The list itself stands beside the modules.

use crate::error::{Error, Result};
use crate::kinds::{bounds, sql};
use crate::place::suggestion;
use crate::project::Presentation;
use crate::release::{CostAbout, Kind};
use serde_json::{Value, json};

pub use super::KINDS;

/// The kind of a release that is a SQL query and names no kind.
pub fn of_queries() -> &'static Kind {
    &sql::KIND
}

/// The kind that looks for the bounds of another release.
pub fn of_bounds() -> &'static Kind {
    &bounds::KIND
}

/// A kind by name.
pub fn find(name: &str) -> Result<&'static Kind> {
    KINDS.iter().copied().find(|kind| kind.name == name).ok_or_else(|| {
        let hint = suggestion(name, KINDS.iter().map(|kind| kind.name));
        let known = KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
        Error::input(format!("unknown kind '{name}'{hint}; kinds are: {known}"))
    })
}

/// The JSON schema of a release of this kind.
pub fn schema(kind: &Kind) -> Value {
    let mut properties = serde_json::Map::new();
    properties.insert("name".into(), json!({ "type": "string", "minLength": 1, "maxLength": 150 }));
    properties.insert("kind".into(), json!({ "const": kind.name }));
    for field in kind.fields {
        properties.insert(field.name.into(), field.schema());
    }
    properties.extend(Presentation::schema());
    let mut required = vec!["name"];
    // A query says what it is; every other release names its kind.
    required.extend((kind.name != sql::KIND.name).then_some("kind"));
    required.extend(kind.fields.iter().filter(|field| field.required).map(|field| field.name));
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": kind.name,
        "description": kind.about,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    if kind.cost_about != CostAbout::Nobody {
        schema["properties"]["cost"] = cost_schema(kind.cost_about);
        schema["properties"]["accuracy"] = accuracy_schema();
        schema["oneOf"] = json!([{ "required": ["cost"] }, { "required": ["accuracy"] }]);
    }
    schema
}

/// A number, or the same as text, where all of its digits count.
fn number_schema() -> Value {
    json!({ "type": ["number", "string"] })
}

fn accuracy_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "within": number_schema(), "confidence": number_schema() },
        "required": ["within", "confidence"],
        "additionalProperties": false,
    })
}

fn cost_schema(about: CostAbout) -> Value {
    let scopes: &[&str] = match about {
        CostAbout::OwnersOrAttributes => &["person", "presence", "attribute"],
        _ => &["person", "presence"],
    };
    json!({
        "type": "object",
        "properties": {
            "epsilon": number_schema(), "delta": number_schema(), "rho": number_schema(), "accuracy": accuracy_schema(),
            "scope": { "type": "string", "enum": scopes },
        },
        "oneOf": [{ "required": ["epsilon"] }, { "required": ["rho"] }, { "required": ["accuracy"] }],
        "additionalProperties": false,
    })
}
