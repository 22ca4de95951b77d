//! The description of the interface [OpenAPI 3.1], made of the table of routes.

use super::route::{Route, RouteAccess};
use crate::refusal::RefusalKind;
use serde_json::{Map, Value, json};

/// The whole document of these routes.
pub(crate) fn document(routes: &[Route]) -> Value {
    let mut paths = Map::new();
    for route in routes {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.to_lowercase()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "scumble", "version": env!("CARGO_PKG_VERSION"),
            "description": "Differentially private answers from a project, within its budget. Every charge is in the ledger before a row is read.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "session": { "type": "apiKey", "in": "cookie", "name": super::SESSION },
            },
            "schemas": { "Problem": problem() },
        },
    })
}

fn operation(route: &Route) -> Value {
    let parameters: Vec<Value> = route.parameters.iter().map(|(name, about)| parameter(name, about)).collect();
    let mut responses = Map::new();
    responses.insert(
        "200".into(),
        json!({ "description": route.about, "content": { route.gives.0: { "schema": (route.gives.1)() } } }),
    );
    let is_guarded = route.who != RouteAccess::Anybody;
    let is_possible = |kind: &RefusalKind| match kind {
        RefusalKind::Token | RefusalKind::Role => is_guarded,
        RefusalKind::Budget | RefusalKind::Lost | RefusalKind::Conflict => {
            route.takes.is_some() || route.path.contains('{')
        }
        RefusalKind::TooLarge | RefusalKind::TooSlow => route.takes.is_some(),
        RefusalKind::NotFound => route.path.contains('{'),
        RefusalKind::Input | RefusalKind::Busy | RefusalKind::Machine => true,
    };
    for kind in RefusalKind::ALL.iter().filter(|kind| is_possible(kind)) {
        let content = json!({ "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } });
        responses.insert(kind.status().to_string(), json!({ "description": kind.words().1, "content": content }));
    }
    let mut shown = json!({
        "summary": route.about, "tags": [if route.is_page { "pages" } else { "interface" }], "parameters": parameters, "responses": responses,
        "security": if is_guarded { json!([{ "token": [] }, { "session": [] }]) } else { json!([]) },
    });
    if let Some(takes) = route.takes {
        shown["requestBody"] = json!({ "required": true, "content": { "application/json": { "schema": takes() } } });
    }
    if let RouteAccess::Role(role) = route.who {
        shown["x-least-role"] = json!(role.to_string());
    }
    shown
}

fn parameter(name: &str, about: &str) -> Value {
    let (place, about) = about.split_once(": ").unwrap_or(("query", about));
    json!({ "name": name, "in": place, "required": place == "path", "description": about, "schema": { "type": "string" } })
}

fn problem() -> Value {
    json!({
        "type": "object", "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": { "type": "string" }, "title": { "type": "string" }, "status": { "type": "integer" },
            "detail": { "type": "string", "description": "One sentence: what is wrong, where, and what to do" },
            "place": {
                "type": "object",
                "properties": { "in": { "type": "string" }, "line": { "type": "integer" }, "column": { "type": "integer" } },
            },
        },
    })
}

fn number() -> Value {
    json!({ "type": ["number", "string"] })
}

/// The schema of a request.
pub(super) fn question() -> Value {
    json!({
        "type": "object", "required": ["sql", "cost"], "additionalProperties": false,
        "properties": {
            "sql": { "type": "string", "description": "One SELECT with aggregates over the project's tables" },
            "cost": {
                "type": "object", "additionalProperties": false, "description": "epsilon, rho, or epsilon and delta",
                "properties": {
                    "epsilon": number(), "delta": number(), "rho": number(),
                    "scope": { "type": "string", "enum": ["person", "presence"] },
                },
            },
            "fresh": { "type": "boolean", "default": false, "description": "Charge for new numbers although there is \
                an answer" },
        },
    })
}

/// What a query would cost.
pub(super) fn forecast() -> Value {
    json!({
        "type": "object", "required": ["costs", "errors", "fits", "budget", "stored", "left"],
        "properties": {
            "costs": { "type": "object" }, "errors": { "type": "array", "items": { "type": "object" } }, "fits": { "type": "boolean" },
            "budget": { "type": "string" }, "stored": { "type": "boolean" }, "left": { "type": "object" },
        },
    })
}

/// An answer.
pub(super) fn answer() -> Value {
    json!({
        "type": "object", "required": ["rows", "notes"],
        "properties": {
            "rows": { "type": "array", "items": { "type": "object", "description": "Each noisy number n with n_error and n_interval" } },
            "columns": { "type": "array", "items": { "type": "string" }, "description": "The columns in their order, without those beside noisy ones" },
            "notes": { "type": "array", "items": { "type": "string" } },
            "stored": { "type": "boolean", "description": "It was charged before, and nothing was charged now" },
            "release": { "type": "string" }, "sequence": { "type": "integer" }, "ledger_head": { "type": "string" },
            "ledger_entries": { "type": "integer" },
        },
    })
}

/// Which releases of the project file.
pub(super) fn releases() -> Value {
    let names = json!({ "type": "array", "items": { "type": "string" } });
    json!({ "type": "object", "additionalProperties": false, "properties": { "only": names, "again": names } })
}

/// Somebody new.
pub(super) fn person() -> Value {
    json!({
        "type": "object", "required": ["name", "role"], "additionalProperties": false,
        "properties": { "name": { "type": "string" }, "role": { "enum": ["curator", "analyst", "viewer"] } },
    })
}

/// A token.
pub(super) fn token() -> Value {
    json!({ "type": "object", "required": ["token"], "properties": { "token": { "type": "string" } } })
}

/// A list of anything.
pub(super) fn list() -> Value {
    json!({ "type": "array", "items": { "type": "object" } })
}
