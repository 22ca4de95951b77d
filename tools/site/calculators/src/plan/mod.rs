//! The plan of a project, as far as no SQL engine is needed: what each release costs and how far off its numbers will
//! be. No row is read, because there are none.
//!
//! How far an owner moves a number and which noise its cost pays for are computed by the engine's own files,
//! `sql/analyse/sensitivity.rs` and `release/price/noise.rs`, which are compiled into this page; costs are added up by
//! the core. What these do not cover is left out, with the reason.

mod sql;

use crate::error::Result;
use crate::price::{Demand, calibrate};
use crate::project::{Column, Cost, Goal, Project, ReleasedQuery, Table};
use crate::query::{Measure, Query, Summand};
use crate::question::Refusal;
use crate::sensitivity;
use crate::shown::{digits, number};
use scumble::event::{Event, Moves};
use scumble::loss::filter::{Limit, Odometer};
use scumble::quantity::{Exact, rounded_up};
use scumble::scope::Scope;
use serde_json::{Value, json};
use sql::{Aggregate, Item, Select};
use std::collections::BTreeSet;

/// A number is off by more than its margin with this probability.
const BETA: f64 = 0.05;
/// The δ at which costs are shown where no budget has one.
const USUAL_DELTA: &str = "0.000000001";
/// The most numbers and keys of an answer, as in the engine.
const MOST_NUMBERS: u64 = 1_000_000;

/// By more whole numbers than these this page does not group.
const MOST_WHOLE: i64 = 1000;

/// A planned release.
struct PlannedRelease {
    events: Vec<Event>,
    columns: Vec<PlannedColumn>,
}

/// A column with noise.
struct PlannedColumn {
    name: String,
    standard_error: f64,
    margin: f64,
}

/// The plan of a project file.
pub fn plan(text: &str) -> std::result::Result<Value, Refusal> {
    let project = Project::parse(text)?;
    let (mut releases, mut left_out, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for release in &project.releases {
        let planned = match &release.query {
            Ok(query) => planned(&project, query)?,
            Err(why) => Err(why.clone()),
        };
        match planned {
            Ok(planned) => {
                let cost = release.query.as_ref().ok().map(|query| &query.cost);
                releases.push(shown(&project, &release.name, &planned, cost)?);
                events.push((release.name.clone(), planned.events));
            }
            Err(why) => left_out.push(json!({ "name": release.name, "why": why })),
        }
    }
    let refusal = first_refusal(&project, &events)?;
    let (fits, budget) = match (refusal, left_out.is_empty(), project.limits()?.is_empty()) {
        _ if events.is_empty() => (None, "nothing is planned here".to_string()),
        (Some(sentence), ..) => (Some(false), sentence),
        (None, _, true) => (Some(true), "the project has no budget: everything is only recorded".to_string()),
        (None, true, false) => (Some(true), "everything fits the budget together".to_string()),
        (None, false, false) => {
            (None, "these releases fit the budget together; those that are left out are not in this sum".to_string())
        }
    };
    Ok(json!({ "releases": releases, "left_out": left_out, "fits": fits, "budget": budget }))
}

/// The first budget that these releases would pass one after the other, with nothing spent before.
fn first_refusal(project: &Project, releases: &[(String, Vec<Event>)]) -> Result<Option<String>> {
    for (scope, limit) in project.limits()? {
        let mut spent = Odometer::nothing();
        for (name, events) in releases {
            let before = spent.clone();
            spent.add_all(events, &scope)?;
            if spent != before && !limit.holds(&spent) {
                return Ok(Some(format!(
                    "release '{name}' would be refused: in the scope {scope} the budget is {}, and all so far cost {}",
                    limit_words(&limit),
                    limit.measure(&spent).map_or("more".to_string(), |spent| meant(spent.to_f64_up())),
                )));
            }
        }
    }
    Ok(None)
}

fn limit_words(limit: &Limit) -> String {
    let most = format!("{} {}", limit.word(), meant(limit.most().to_f64()));
    if *limit.delta() == Exact::zero() { most } else { format!("{most} at delta {}", shown_delta(limit.delta())) }
}

fn shown_delta(delta: &Exact) -> String {
    let number = delta.to_f64();
    if number == 0.0 { "0".to_string() } else { format!("{number:e}") }
}

/// Six significant digits, never below the number. Exact numbers become an f64 by rounding to the next one; where its
/// neighbour has few digits, that is the number (0.3 is not 0.300001).
fn meant(value: f64) -> String {
    let neighbour = value.next_down();
    let short = rounded_up(neighbour, 6);
    if value > 0.0 && short.parse() == Ok(neighbour) { short } else { rounded_up(value, 6) }
}

/// A planned release as a line of `scumble plan`, with its numbers.
fn shown(project: &Project, name: &str, planned: &PlannedRelease, cost: Option<&Cost>) -> Result<Value> {
    let usual = project.smallest_delta().map_or_else(|| USUAL_DELTA.parse(), Ok)?;
    let mut delta =
        cost.and_then(|cost| cost.delta.clone()).map_or_else(|| usual.clone(), |own| own.max(usual.clone()));
    let mut scopes = vec![Scope::Presence, Scope::Person];
    for attribute in project.attributes() {
        scopes.push(Scope::Attributes(scumble::scope::AttributeSet::new([attribute])?));
    }
    let spent = scopes.iter().map(|scope| Odometer::of(&planned.events, scope)).collect::<scumble::Result<Vec<_>>>()?;
    for least in spent.iter().filter_map(Odometer::least_delta) {
        delta = delta.max(least);
    }
    let costs = scopes.iter().zip(&spent).map(|(scope, spent)| {
        let epsilon = spent.epsilon(&delta).map(|epsilon| epsilon.to_f64_up());
        let words = match scope {
            Scope::Attributes(set) => set.iter().collect::<Vec<_>>().join(","),
            other => other.to_string(),
        };
        json!({ "scope": words, "epsilon": epsilon, "shown": epsilon.map_or("∞".to_string(), meant) })
    });
    let columns = planned.columns.iter().map(|column| {
        json!({
            "column": column.name,
            "standard_error": number(column.standard_error),
            "margin": number(column.margin),
            "shown": [digits(column.standard_error), digits(column.margin)],
        })
    });
    let is_pure = spent[1].pure_sum().is_some() && *spent[1].delta() == Exact::zero();
    Ok(json!({
        "name": name,
        "costs": costs.collect::<Vec<_>>(),
        "delta": delta.to_f64(),
        "at": if is_pure { Value::Null } else { json!(format!("at delta {}", shown_delta(&delta))) },
        "columns": columns.collect::<Vec<_>>(),
    }))
}

/// The plan of a query, or why it is left to the program.
fn planned(project: &Project, released: &ReleasedQuery) -> Result<std::result::Result<PlannedRelease, String>> {
    let select = match sql::parse(&released.sql) {
        Ok(select) => select,
        Err(why) => return Ok(Err(why)),
    };
    let (query, columns) = match analysed(project, released, &select) {
        Ok(analysed) => analysed,
        Err(why) => return Ok(Err(why)),
    };
    let is_pure = released.cost.delta.is_none() && project.smallest_delta().is_none();
    if query.measures.len() > 1 && is_pure && !released.says_each && matches!(released.cost.target, Goal::Epsilon(_)) {
        let why = "without any delta the program may choose one noise for all numbers of a cell: give a budget a \
                   delta, or write noise = \"each\"";
        return Ok(Err(why.to_string()));
    }
    let moves =
        query.measures.iter().map(|measure| sensitivity::moves(measure, &query)).collect::<Result<Vec<Moves>>>()?;
    let steps: Vec<Option<f64>> = query.measures.iter().map(|measure| Some(step(measure))).collect();
    let demand = Demand {
        moves: &moves,
        steps: &steps,
        quantiles: &[],
        selects_keys: false,
        default_delta: project.smallest_delta(),
        aside: None,
    };
    let noises = calibrate(&released.cost, &demand)?.noises;
    let events = noises.iter().zip(&moves).map(|(noise, moves)| noise.event(moves.clone()));
    let columns = columns.into_iter().map(|(name, measure)| {
        let (noise, step) = (&noises[measure], step(&query.measures[measure]));
        let standard_error = noise.standard_deviation() * step;
        PlannedColumn { name, standard_error, margin: noise.quantile(BETA) * step }
    });
    let columns = columns.collect();
    Ok(Ok(PlannedRelease { events: events.collect::<scumble::Result<_>>()?, columns }))
}

/// The size of a step of a measure in the unit of its column.
fn step(measure: &Measure) -> f64 {
    if let Summand::Steps(step) = measure.what { step } else { 1.0 }
}

/// What a query asks for, and which measure each of its columns is.
fn analysed(
    project: &Project,
    released: &ReleasedQuery,
    select: &Select,
) -> std::result::Result<(Query, Vec<(String, usize)>), String> {
    let Some(table) = project.tables.get(&select.table) else {
        return Err(format!("there is no table '{}' in the project file", select.table));
    };
    if let Some(why) = &table.left_out {
        return Err(why.clone());
    }
    let mut cells = 1u64;
    for key in &select.keys {
        match declared(table, key)? {
            Column::Listed { values, .. } => cells = cells.saturating_mul(*values),
            Column::Other { why, .. } => return Err(format!("'{key}' {why}, so this page cannot group by it")),
            Column::Numbers { least, most, is_whole: true, .. } if most - least < MOST_WHOLE => {
                cells = cells.saturating_mul((most - least + 1).unsigned_abs());
            }
            Column::Numbers { .. } => {
                return Err(format!("'{key}' holds fractions or many numbers, by which this page does not group"));
            }
        }
    }
    let keys: BTreeSet<String> = select.keys.iter().cloned().collect();
    if keys.len() != select.keys.len() {
        return Err("a column stands twice in GROUP BY".to_string());
    }
    let (mut measures, mut columns) = (Vec::new(), Vec::new());
    for item in &select.items {
        match item {
            Item::Key(key) if keys.contains(key) => {}
            Item::Key(key) => return Err(format!("'{key}' is not in GROUP BY")),
            Item::Number(aggregate, name) => {
                let own = measure(table, aggregate)?;
                if measures.contains(&own) {
                    return Err(
                        "the same number stands twice, and the program shares the cost among columns".to_string()
                    );
                }
                columns.push((name.clone(), measures.len()));
                measures.push(own);
            }
        }
    }
    if measures.is_empty() {
        return Err("the query asks for no aggregate; add COUNT(*), for example".to_string());
    }
    if cells.saturating_mul((select.keys.len() + columns.len()) as u64) > MOST_NUMBERS {
        return Err(format!("an answer has at most {MOST_NUMBERS} numbers and keys; group by fewer columns"));
    }
    let bounds = released.bounds(table, !select.keys.is_empty());
    let rows = BTreeSet::new();
    Ok((Query { listed: cells, measures, ranked: Vec::new(), bounds, rows, key_attributes: keys }, columns))
}

fn declared<'a>(table: &'a Table, name: &str) -> std::result::Result<&'a Column, String> {
    let column = table.columns.iter().find(|(column, _)| column == name);
    column.map(|(_, column)| column).ok_or_else(|| format!("this page knows no declared column '{name}'"))
}

fn measure(table: &Table, aggregate: &Aggregate) -> std::result::Result<Measure, String> {
    let of = |what, attributes: BTreeSet<String>, range| Measure { what, attributes, range };
    let rows = || of(Summand::Rows, BTreeSet::new(), (0, 1));
    match aggregate {
        Aggregate::Rows => Ok(rows()),
        Aggregate::Distinct(column) if table.owner.as_ref() == Some(column) => {
            Ok(of(Summand::Owners, BTreeSet::new(), (0, 1)))
        }
        Aggregate::Distinct(_) => Err("COUNT(DISTINCT …) is planned here of owners only".to_string()),
        Aggregate::Present(column) if declared(table, column)?.never_missing() => Ok(rows()),
        Aggregate::Present(column) => Ok(of(Summand::Present, BTreeSet::from([column.clone()]), (0, 1))),
        Aggregate::Sum(column) => match declared(table, column)? {
            Column::Numbers { least, most, step, .. } => {
                Ok(of(Summand::Steps(*step), BTreeSet::from([column.clone()]), (*least, *most)))
            }
            Column::Listed { .. } => Err(format!("'{column}' holds no numbers to sum")),
            Column::Other { why, .. } => Err(format!("'{column}' {why}, so this page cannot sum it")),
        },
    }
}

#[cfg(test)]
mod tests;
