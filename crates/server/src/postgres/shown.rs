//! What a plan and a budget look like as rows.

use super::catalogue::{ResultColumn, ResultTable};
use super::refused::SqlError;
use super::value::{CellValue, PgType};
use crate::service::{BudgetShown, BudgetState, Forecast};
use scumble_engine::release::ExpectedError;
use scumble_engine::summary::{PerScope, ScopeCost, ScopeLeft, document};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The column of EXPLAIN, as in PostgreSQL.
pub(super) fn plan_columns() -> Vec<ResultColumn> {
    vec![ResultColumn::new("QUERY PLAN", PgType::Text)]
}

/// What a query would cost in every scope, and the error to expect.
pub(super) fn plan(forecast: &Forecast, json: bool) -> Result<ResultTable, SqlError> {
    let lines = match json {
        true => vec![format!("{:#}", document(forecast).map_err(|error| SqlError::of(error.into(), None))?)],
        false => lines(forecast),
    };
    Ok(ResultTable {
        columns: plan_columns(),
        rows: lines.into_iter().map(|line| vec![CellValue::Text(line)]).collect(),
    })
}

fn lines(forecast: &Forecast) -> Vec<String> {
    let mut lines = vec!["Cost".to_string()];
    lines.extend(scopes(&forecast.release.costs).map(|(scope, cost)| format!("  {scope}: {}", cost_words(cost))));
    lines.push("Standard error to expect".to_string());
    for ExpectedError { column, standard_error, assumed, about, .. } in &forecast.release.errors {
        let finite = |error: f64| Some(error).filter(|error| error.is_finite());
        let known = standard_error.and_then(finite).map(|error| format!("{error:.4}"));
        let assumed = assumed.as_ref().and_then(|assumed| finite(assumed.standard_error));
        let assumed = assumed.map(|error| format!("about {error:.4}"));
        let shown = known.or(assumed).unwrap_or_else(|| "depends on the data".to_string());
        let about = if about.is_empty() { String::new() } else { format!(" ({about})") };
        lines.push(format!("  {column}: {shown}{about}"));
    }
    lines.extend(forecast.release.notes.iter().map(|note| format!("Note: {note}")));
    if forecast.stored {
        lines.push("It was charged before: asking it again costs nothing".to_string());
    }
    lines.push(format!("Budget: {}", forecast.budget));
    let left: Vec<_> = scopes(&forecast.left).collect();
    if !left.is_empty() {
        lines.push("What would be left".to_string());
        lines.extend(left.into_iter().map(|(scope, left)| format!("  {scope}: {}", left_words(left))));
    }
    lines
}

/// The columns of `SHOW scumble.budget`.
pub(super) fn budget_columns() -> Vec<ResultColumn> {
    ["budget", "scope", "spent", "remaining"].map(|name| ResultColumn::new(name, PgType::Text)).to_vec()
}

/// What was spent and what is left, in every scope; of an analyst's own budget too.
pub(super) fn budget(shown: &BudgetShown) -> ResultTable {
    let own = shown.own.as_ref().map(|own| ("own", own));
    let rows = [("project", &shown.project)].into_iter().chain(own).flat_map(|(whose, state)| rows(whose, state));
    ResultTable { columns: budget_columns(), rows: rows.collect() }
}

fn rows(whose: &'static str, state: &BudgetState) -> impl Iterator<Item = Vec<CellValue>> {
    let left: BTreeMap<String, &ScopeLeft> = scopes(&state.remaining).collect();
    scopes(&state.spent).map(move |(scope, spent)| {
        let left = left.get(&scope).map_or(CellValue::Null, |left| CellValue::Text(left_words(left)));
        vec![CellValue::text(whose), CellValue::Text(scope), CellValue::Text(cost_words(spent)), left]
    })
}

/// The values of presence, person and each attribute, as far as they exist.
fn scopes<T>(said: &PerScope<T>) -> impl Iterator<Item = (String, &T)> {
    let attributes = said.attributes.iter().map(|(name, said)| (format!("attribute {name}"), said));
    said.whole().map(|(scope, said)| (scope.to_string(), said)).chain(attributes)
}

/// An ε and a ρ in words, before the δ at which they hold.
fn cost_words(cost: &ScopeCost) -> String {
    let epsilon = [("epsilon", cost.epsilon.unwrap_or(f64::INFINITY))];
    words(epsilon.into_iter().chain(cost.rho.map(|rho| ("rho", rho))).chain([("delta", cost.delta)]))
}

fn left_words(left: &ScopeLeft) -> String {
    let ScopeLeft { epsilon, rho, delta, omega, order } = *left;
    let known = [("epsilon", epsilon), ("omega", omega), ("order", order), ("rho", rho), ("delta", Some(delta))];
    words(known.into_iter().filter_map(|(name, number)| number.map(|number| (name, number))))
}

/// Numbers as JSON has them.
fn words(numbers: impl Iterator<Item = (&'static str, f64)>) -> String {
    let word = |(name, number): (&str, f64)| match Json::from(number) {
        Json::Number(number) => format!("{name} {number}"),
        _ => format!("{name} unbounded"),
    };
    numbers.map(word).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::HeadShown;
    use scumble_engine::ledger::Head;

    #[test]
    fn costs_and_what_is_left_are_told_in_words() {
        let cost = |epsilon, rho| ScopeCost { epsilon, delta: 1e-9, rho, approximate_zcdp: None };
        assert_eq!(cost_words(&cost(Some(0.5), None)), "epsilon 0.5, delta 1e-9");
        assert_eq!(cost_words(&cost(None, Some(0.25))), "epsilon unbounded, rho 0.25, delta 1e-9");
        assert_eq!(cost_words(&cost(Some(f64::INFINITY), None)), "epsilon unbounded, delta 1e-9");
        let left = ScopeLeft { epsilon: None, rho: Some(0.5), delta: 0.0, omega: Some(8.0), order: None };
        assert_eq!(left_words(&left), "omega 8.0, rho 0.5, delta 0.0");
        let left = ScopeLeft { epsilon: Some(1.5), rho: None, delta: 0.0, omega: None, order: Some(2.0) };
        assert_eq!(left_words(&left), "epsilon 1.5, order 2.0, delta 0.0");
    }

    #[test]
    fn a_budget_is_told_scope_by_scope() {
        let cost = |epsilon| ScopeCost { epsilon, delta: 0.0, rho: None, approximate_zcdp: None };
        let left = |epsilon| ScopeLeft { epsilon: Some(epsilon), rho: None, delta: 0.0, omega: None, order: None };
        let attributes = BTreeMap::from([("age".to_string(), cost(None))]);
        let spent = PerScope { presence: Some(cost(Some(0.25))), person: Some(cost(Some(0.5))), attributes };
        let remaining = PerScope { person: Some(left(1.5)), ..PerScope::default() };
        let own = PerScope { person: Some(cost(Some(0.125))), ..PerScope::default() };
        let shown = BudgetShown {
            project: BudgetState::told(spent, remaining.clone()),
            own: Some(BudgetState::told(own, remaining)),
            head: HeadShown::of(&Head::empty()),
        };
        let table = budget(&shown);
        let rows: Vec<String> = table
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| cell.shown().unwrap_or("-".into())).collect::<Vec<_>>().join(" | "))
            .collect();
        assert_eq!(
            rows,
            [
                "project | presence | epsilon 0.25, delta 0.0 | -",
                "project | person | epsilon 0.5, delta 0.0 | epsilon 1.5, delta 0.0",
                "project | attribute age | epsilon unbounded, delta 0.0 | -",
                "own | person | epsilon 0.125, delta 0.0 | epsilon 1.5, delta 0.0",
            ]
        );
    }
}
