//! The limit of a query matrix.

use super::LimitStatement;
use super::closed::guarantee;
use scumble::quantity::{Probability, rounded_down};
use scumble_adversary::limits::singular::{Matrix, best, whole, wrong_fraction_lower};
use scumble_engine::release::BETA;
use scumble_wire::LocatedValue;
use scumble_wire::WireResult;
use serde_json::json;

/// E ≥ (σ_min/2)·√(s·c/k).
pub fn limit(place: &LocatedValue<'_>) -> WireResult<LimitStatement> {
    place.only(&["queries", "epsilon", "delta", "beta"])?;
    let (epsilon, delta) = guarantee(place)?;
    let queries = matrix(&place.field("queries")?)?;
    let usual = || place.core(Probability::new(BETA));
    let beta = place.get("beta")?.map_or_else(usual, |field| field.quantity(Probability::new))?;
    let wrong = place.core(wrong_fraction_lower(epsilon, delta, beta))?;
    let all = place.core(whole(&queries, epsilon, delta, beta))?;
    let some = place.core(best(&queries, epsilon, delta, beta))?;
    let words = |columns: usize, error: f64| match error {
        0.0 => format!("no bound from {columns} people"),
        _ => format!(
            "if all {} answers are within E with probability {}, then E ≥ {} ({columns} people)",
            queries.rows().len(),
            1.0 - beta.get(),
            rounded_down(error, 7)
        ),
    };
    Ok(LimitStatement {
        numbers: json!({
            "least_singular_value": all.least_singular_value,
            "wrong_fraction_at_least": wrong,
            "count_error_at_least": all.count_error_at_least,
            "best": {
                "columns": some.columns,
                "least_singular_value": some.least_singular_value,
                "count_error_at_least": some.count_error_at_least,
            },
        }),
        words: vec![
            words(queries.columns(), all.count_error_at_least),
            words(some.columns.len(), some.count_error_at_least),
        ],
        theorem: "reconstruction by the least singular value (after Vadhan 2017, 7.5.2, with ‖z‖₂² = ‖z‖₁ for z of 0 and ±1)",
    })
}

/// Rows of 0, 1 (and −1), or the words "… of order N" for (1 + H)/2 with Sylvester's matrix of that order.
fn matrix(place: &LocatedValue<'_>) -> WireResult<Matrix> {
    if let Some(words) = place.value().as_str() {
        let order = words.strip_prefix("rows of (1+H)/2").and_then(|rest| rest.rsplit(' ').next()?.parse().ok());
        let unknown = || place.refuse("rows of 0 and 1 are expected, or the words \"rows of (1+H)/2, order 16\"");
        return place.core(Matrix::hadamard(order.ok_or_else(unknown)?));
    }
    let mut rows = Vec::new();
    for row in place.list()? {
        let entry = |value: LocatedValue<'_>| match value.value().as_i64() {
            Some(entry @ -1..=1) => Ok(entry as i8),
            _ => Err(value.refuse("-1, 0 or 1 is expected")),
        };
        rows.push(row.list()?.into_iter().map(entry).collect::<WireResult<Vec<i8>>>()?);
    }
    place.core(Matrix::new(rows))
}
