//! Kind `exact-if-stable`: whether a number of rows reaches a limit, or between which round numbers it is, exactly, or nothing.
//!
//! A count itself changes with every row. What does not is whether it is at least a limit, or which step of a scale it is on: how many rows away the data is from another answer follows from
//! the count, and how many rows one owner moves follows from the query.

use super::exact_count::one_condition;
use super::field::{Field, Placed};
use super::fitted::{Fitting, budget_delta};
use super::mode::CHARGED;
use super::output::{AnswerColumn, Answers, Cell, Details};
use super::rows::{BOUNDING, TABLE, bounding, private_table, quoted};
use super::{Analysed, CostAbout, Estimates, Expected, Kind, Plan, Priced};
use crate::attackers::Counted;
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::project::{Project, Request};
use crate::sql::query::Computation;
use crate::sql::{Cut, sensitivity};
use scumble::event::{Event, Moves};
use scumble::mechanism::smooth::Steps;
use scumble::mechanism::stable_value::StableValue;
use scumble::scope::AttributeSet;
use serde_json::json;
use std::rc::Rc;

const WHERE: Field<Option<Placed<String>>> =
    Field::new("where", "which rows count: a condition as in SQL; all if left out");
const AT_LEAST: Field<Option<Placed<u64>>> =
    Field::new("at_least", "publishes whether at least this many rows count: this or rounded_to");
const ROUNDED_TO: Field<Option<Placed<u64>>> =
    Field::new("rounded_to", "publishes between which two multiples of this number the count is: this or at_least");

/// The kind `exact-if-stable`.
pub(super) static KIND: Kind = Kind {
    name: "exact-if-stable",
    about: "whether a number of rows reaches a limit, or between which round numbers it is, exactly, if that takes many owners to change; otherwise nothing, at the same cost",
    fields: &[TABLE.listed(), WHERE.listed(), AT_LEAST.listed(), ROUNDED_TO.listed(), BOUNDING[0]],
    cost_about: CostAbout::Owners,
    analyse,
};

/// What is published of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    AtLeast(u64),
    Rounded(u64),
}

impl Asked {
    fn read(request: &Request) -> Result<Self> {
        match (AT_LEAST.read(request)?, ROUNDED_TO.read(request)?) {
            (Some(limit), None) => Ok(Self::AtLeast(limit.value)),
            (None, Some(step)) if step.value >= 2 => Ok(Self::Rounded(step.value)),
            (None, Some(step)) => Err(step.error("a count that is rounded to 1 changes with every row: give more")),
            (Some(_), Some(step)) => Err(step.error("give at_least or rounded_to, not both")),
            (None, None) => Err(request.fields.error(format!(
                "release '{}' needs 'at_least' or 'rounded_to': a count itself changes with every row",
                request.name
            ))),
        }
    }

    /// How many rows must come or go until something else is true; at least 1.
    fn distance(self, count: u64) -> u64 {
        match self {
            Self::AtLeast(limit) if count >= limit => count - limit + 1,
            Self::AtLeast(limit) => limit - count,
            Self::Rounded(step) => {
                let above = count % step;
                // There is nothing below the first step.
                if count < step { step - above } else { (above + 1).min(step - above) }
            }
        }
    }

    fn columns(self, count: Option<u64>) -> Vec<AnswerColumn> {
        let column = |name: &str, cell: Option<Cell>| AnswerColumn {
            name: name.to_string(),
            cells: vec![cell.unwrap_or(Cell::Null)],
            uncertainty: None,
        };
        let mut columns = match self {
            Self::AtLeast(limit) => {
                vec![column(&format!("is_at_least_{limit}"), count.map(|count| Cell::Truth(count >= limit)))]
            }
            Self::Rounded(step) => {
                let from = count.map(|count| i128::from(count - count % step));
                vec![
                    column("from", from.map(Cell::Whole)),
                    column("below", from.map(|from| Cell::Whole(from + i128::from(step)))),
                ]
            }
        };
        columns.push(column("is_published", Some(Cell::Truth(count.is_some()))));
        columns
    }
}

fn analyse(request: &Request, project: &Project) -> Result<Analysed> {
    let asked = Asked::read(request)?;
    let table = private_table(request, project)?;
    let condition = WHERE.read(request)?;
    let place = WHERE.place(request);
    let only = condition.as_ref().map(|condition| Ok::<_, Error>(format!(" WHERE ({})", one_condition(condition)?)));
    let sql = format!("SELECT COUNT(*) AS count FROM {}{}", quoted(&table.name), only.transpose()?.unwrap_or_default());
    let cut = crate::sql::analyse(&sql, bounding(request)?, project, &Backend::without_data(project)?)
        .map_err(|error| error.without_place().or_at(place.clone()))?;
    let count = match cut.query.aggregates[..] {
        [Computation::Count(measure)] if cut.query.keys.is_empty() => measure,
        _ => return Err(Error::at(place, "this must be one condition on the rows of the table")),
    };
    if cut.below.tables.iter().ne([&table.name]) {
        return Err(Error::at(place, "this must be one condition on the rows of the table"));
    }
    let moves = sensitivity::moves(&cut.query.measures[count], &cut.query)?;
    let stability = Rc::new(Stability { asked, sql, count, per_owner: rows_of_an_owner(&moves), cut: Rc::new(cut) });
    let steps = Steps::one().reading(attributes(&moves)?);
    let budget_delta = budget_delta(project);
    Ok(Analysed::new(move |cost| {
        let fitting = Fitting::new(&KIND, cost, budget_delta.as_ref())?;
        fitting.needs_delta("a value that is published exactly")?;
        let (stable, events) = fitting.fit(&steps, |step| {
            let stable = StableValue::new(step.epsilon, step.delta)?;
            let events = stable.events(&steps)?;
            Ok((stable, events))
        })?;
        let stability = Rc::clone(&stability);
        Ok(Priced::new(events, move |events| plan(stability, stable, events)))
    }))
}

/// A count, and what is published of it.
struct Stability {
    asked: Asked,
    sql: String,
    cut: Rc<Cut>,
    /// Which measure it is.
    count: usize,
    /// By how many rows one owner moves it at most.
    per_owner: u64,
}

impl Stability {
    /// How many owners must come, go or be replaced until something else is true.
    ///
    /// # Guarantee
    /// One of them moves the count by at most `per_owner`, hence this by at most 1; and where one changes what is true, this is 1 on both sides.
    fn distance(&self, count: u64) -> u64 {
        self.asked.distance(count).div_ceil(self.per_owner)
    }
}

/// The largest move of the count in any scope.
fn rows_of_an_owner(moves: &Moves) -> u64 {
    let (presence, person, touches, _) = moves.parts();
    let all = presence.iter().chain(person).chain(touches.iter().flat_map(|touch| &touch.shifts));
    all.map(|shift| (shift.cells as f64 * shift.by.get()).ceil() as u64).fold(1, u64::max)
}

/// The attributes that the count depends on.
fn attributes(moves: &Moves) -> Result<AttributeSet> {
    let touches = moves.parts().2;
    Ok(AttributeSet::new(touches.iter().flat_map(|touch| touch.attributes.iter().map(str::to_string)))?)
}

fn plan(stability: Rc<Stability>, stable: StableValue, events: Vec<Event>) -> Result<Plan> {
    let rows = stable.published_from(0.05)?.saturating_sub(1).saturating_mul(stability.per_owner).saturating_add(1);
    let about = format!(
        "exact or nothing; published with probability 95% if {rows} rows or more must come or go until something else is true"
    );
    let expected = stability.asked.columns(None).into_iter().filter(|column| column.name != "is_published");
    let expected = expected.map(|column| Expected {
        column: column.name,
        standard_error: None,
        cells: Vec::new(),
        assumed: None,
        about: about.clone(),
    });
    let too_fine = match stability.asked {
        Asked::Rounded(step) if step / 2 < rows => Some(format!(
            "Hardly anything will be published: no count is further than {} rows from another multiple of {step}, and {rows} are needed. Round to {} or more, or raise epsilon.",
            step / 2,
            4 * rows
        )),
        _ => None,
    };
    let notes = too_fine.into_iter().chain(["The cost is charged also if nothing is published.".to_string()]);
    let cut = Rc::clone(&stability.cut);
    Ok(Plan {
        events,
        rule: json!({
            "sql": stability.sql, "tables": cut.below.tables, "filters": { "attributes": cut.query.rows },
            "rows_per_owner": stability.per_owner, "rows_for_95_percent": rows,
        }),
        expected: expected.collect(),
        notes: notes.collect(),
        limits: Vec::new(),
        counted: Counted::default(),
        estimates: Estimates::of(cut.query.bounds, false),
        tables: cut.below.tables.iter().cloned().collect(),
        query: Some(cut),
        compute: Box::new(move |charged| {
            let exact = charged.integers(&stability.cut)?;
            let count = exact.cells.first().and_then(|cell| cell.sums.get(stability.count)).copied();
            let count = count.ok_or_else(|| Error::machine("the backend gave no count"))?;
            let count = u64::try_from(count).map_err(|_| Error::machine("the backend gave a negative count"))?;
            let found = stable.release(count, stability.distance(count), charged.bits())?;
            let note = match found {
                Some(_) => "This is exactly true of the counted rows.".to_string(),
                None => format!("Nothing is published: a few rows might change what is true. {CHARGED}"),
            };
            Ok(Answers { columns: stability.asked.columns(found), notes: vec![note], details: Details::default() })
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a search over all counts, and 1-Lipschitz in rows.
    #[test]
    fn distances_are_those_of_a_search() {
        for asked in [Asked::AtLeast(1), Asked::AtLeast(7), Asked::Rounded(2), Asked::Rounded(5), Asked::Rounded(6)] {
            let value = |count: u64| asked.columns(Some(count));
            for count in 0..30u64 {
                let other =
                    (0..60).filter(|other| value(*other) != value(count)).map(|other: u64| other.abs_diff(count));
                assert_eq!(asked.distance(count), other.min().unwrap(), "{asked:?} {count}");
                assert!(asked.distance(count).abs_diff(asked.distance(count + 1)) <= 1);
            }
        }
    }
}
