//! The registry of kinds: one line for each algorithm that can be released.

use super::{
    CostAbout, Kind, anonymized_histogram, bounds, cdf, degrees, exact_count, exact_if_stable, heavy_hitters,
    histogram, marginals, mode, quantiles, sql, triangles,
};
use crate::error::{Error, Result};
use crate::place::suggestion;
use serde_json::{Value, json};

/// All kinds, in the order in which they are listed. A new algorithm is one more line here.
pub static KINDS: &[&Kind] = &[
    &sql::KIND,
    &histogram::KIND,
    &anonymized_histogram::KIND,
    &cdf::KIND,
    &quantiles::KIND,
    &marginals::MARGINALS,
    &marginals::SYNTHETIC,
    &heavy_hitters::KIND,
    &mode::KIND,
    &exact_if_stable::KIND,
    &triangles::KIND,
    &degrees::KIND,
    &bounds::KIND,
    &exact_count::KIND,
];

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
    properties.insert("name".into(), json!({ "type": "string" }));
    properties.insert("kind".into(), json!({ "const": kind.name }));
    properties.insert("cost".into(), json!({ "type": "object" }));
    for field in kind.fields {
        properties.insert(field.name.into(), field.schema());
    }
    let cost = (kind.cost_about != CostAbout::Nobody).then_some("cost");
    if cost.is_none() {
        properties.remove("cost");
    }
    let required: Vec<&str> = ["name"]
        .into_iter()
        .chain(cost)
        .chain(kind.fields.iter().filter(|field| field.required).map(|field| field.name))
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": kind.name,
        "description": kind.about,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
