//! What a plan and a budget look like as rows.

use super::catalogue::{ResultColumn, Table};
use super::value::{PgType, Value};
use serde_json::Value as Json;

/// The column of EXPLAIN, as in PostgreSQL.
pub(super) fn plan_columns() -> Vec<ResultColumn> {
    vec![ResultColumn::new("QUERY PLAN", PgType::Text)]
}

/// What a query would cost in every scope, and the error to expect.
pub(super) fn plan(forecast: &Json, json: bool) -> Table {
    let lines = match json {
        true => vec![format!("{forecast:#}")],
        false => lines(forecast),
    };
    Table { columns: plan_columns(), rows: lines.into_iter().map(|line| vec![Value::Text(line)]).collect() }
}

fn lines(forecast: &Json) -> Vec<String> {
    let mut lines = vec!["Cost".to_string()];
    lines.extend(scopes(&forecast["costs"]).map(|(scope, cost)| format!("  {scope}: {}", words(cost))));
    lines.push("Standard error to expect".to_string());
    for error in forecast["errors"].as_array().into_iter().flatten() {
        let known = error["standard_error"].as_f64().map(|error| format!("{error:.4}"));
        let assumed = error["assumed"]["standard_error"].as_f64().map(|error| format!("about {error:.4}"));
        let shown = known.or(assumed).unwrap_or_else(|| "depends on the data".to_string());
        let about = error["about"].as_str().filter(|about| !about.is_empty()).map(|about| format!(" ({about})"));
        let column = error["column"].as_str().unwrap_or_default();
        lines.push(format!("  {column}: {shown}{}", about.unwrap_or_default()));
    }
    let notes = forecast["notes"].as_array().into_iter().flatten().filter_map(Json::as_str);
    lines.extend(notes.map(|note| format!("Note: {note}")));
    if forecast["stored"].as_bool() == Some(true) {
        lines.push("It was paid for before: asking it again costs nothing".to_string());
    }
    lines.push(format!("Budget: {}", forecast["budget"].as_str().unwrap_or_default()));
    let left: Vec<_> = scopes(&forecast["left"]).collect();
    if !left.is_empty() {
        lines.push("What would be left".to_string());
        lines.extend(left.into_iter().map(|(scope, left)| format!("  {scope}: {}", words(left))));
    }
    lines
}

/// The columns of `SHOW scumble.budget`.
pub(super) fn budget_columns() -> Vec<ResultColumn> {
    ["budget", "scope", "spent", "remaining"].map(|name| ResultColumn::new(name, PgType::Text)).to_vec()
}

/// What was spent and what is left, in every scope; of an analyst's own budget too.
pub(super) fn budget(shown: &Json) -> Table {
    let mut rows = Vec::new();
    for (whose, shown) in [("project", shown), ("own", &shown["own"])] {
        for (scope, spent) in scopes(shown) {
            let left = match scope.strip_prefix("attribute ") {
                Some(name) => &shown["remaining"]["attributes"][name],
                None => &shown["remaining"][&scope],
            };
            let left = if left.is_object() { Value::Text(words(left)) } else { Value::Null };
            rows.push(vec![Value::text(whose), Value::Text(scope), Value::Text(words(spent)), left]);
        }
    }
    Table { columns: budget_columns(), rows }
}

/// Presence, person and each attribute, as far as something is said about them.
fn scopes(shown: &Json) -> impl Iterator<Item = (String, &Json)> {
    let whole = ["presence", "person"].into_iter().map(|scope| (scope.to_string(), &shown[scope]));
    let attributes = shown["attributes"].as_object().into_iter().flatten();
    let attributes = attributes.map(|(name, cost)| (format!("attribute {name}"), cost));
    whole.chain(attributes).filter(|(_, cost)| cost.is_object())
}

/// An ε, a δ, a ρ in words.
fn words(cost: &Json) -> String {
    let fields = cost.as_object().into_iter().flatten();
    let fields = fields.filter_map(|(name, value)| match value {
        Json::Number(number) => Some(format!("{name} {number}")),
        Json::Null => Some(format!("{name} unbounded")),
        _ => None,
    });
    let mut fields: Vec<String> = fields.collect();
    // ε and ρ come before the δ at which they hold.
    fields.sort_by_key(|field| field.starts_with("delta"));
    fields.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_budget_is_told_scope_by_scope() {
        let shown = json!({
            "presence": { "epsilon": 0.5, "delta": 1e-9 }, "person": { "epsilon": 0.5, "delta": 0.0 }, "attributes": { "age": { "epsilon": null, "delta": 0.0 } },
            "remaining": { "person": { "epsilon": 1.5, "delta": 0.0 }, "attributes": {} },
            "own": { "person": { "rho": 0.25 }, "remaining": { "person": { "rho": 0.5 } } },
        });
        let table = budget(&shown);
        let rows: Vec<String> = table
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| cell.shown().unwrap_or("-".into())).collect::<Vec<_>>().join(" | "))
            .collect();
        assert_eq!(
            rows,
            [
                "project | presence | epsilon 0.5, delta 1e-9 | -",
                "project | person | epsilon 0.5, delta 0.0 | epsilon 1.5, delta 0.0",
                "project | attribute age | epsilon unbounded, delta 0.0 | -",
                "own | person | rho 0.25 | rho 0.5",
            ]
        );
    }
}
