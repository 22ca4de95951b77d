//! What is published: tables in long form, or rows.

use super::super::Expected;
use super::super::output::{AnswerColumn, Answers, Cell, Details};
use super::work::{Choice, Fitted, Work};
use crate::error::Result;
use scumble::workload::{Domain, Model, Subset};

/// More made-up rows help nobody and fill the memory.
const MOST_ROWS: f64 = 1e7;

/// What is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Published {
    /// Tables of the fitted model.
    Tables,
    /// Tables as they were measured.
    UnbiasedTables,
    /// Rows.
    Rows,
}

impl Published {
    /// The columns that are published beside the attributes.
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Rows => &[],
            Self::Tables | Self::UnbiasedTables => &["estimate", "standard_error"],
        }
    }
}

/// The names of attributes and values.
pub(super) struct Labels<'a> {
    pub names: &'a [String],
    pub values: &'a [Vec<Cell>],
}

/// The published columns.
pub(super) fn answers(
    work: &Work,
    fitted: &Fitted,
    labels: &Labels<'_>,
    tables: &[Subset],
    published: Published,
    mut notes: Vec<String>,
) -> Result<Answers> {
    let columns = match published {
        Published::Rows => {
            let (model, scaled) = publishable(&fitted.model, tables)?;
            notes.extend(scaled);
            rows(&model, labels)
        }
        _ => long_form(work, fitted, labels, tables, published)?,
    };
    notes.insert(0, note(work, published).to_string());
    if let Some(distance) = fitted.distance {
        notes.insert(
            1,
            format!("The projection is at most {distance:.3} off the exact one (root mean square of the answers)."),
        );
    }
    Ok(Answers { columns, notes, details: Details::default() })
}

fn note(work: &Work, published: Published) -> &'static str {
    match (published, work) {
        (Published::Rows, _) => {
            "The rows are made up: they are a table of counts that was fitted to noisy numbers, and no row is anybody's."
        }
        (Published::UnbiasedTables, _) => {
            "Estimates are unbiased; small ones may be negative, and tables differ in their sums' noise."
        }
        (_, Work::Residual(_)) => {
            "Estimates come from one fitted table, so they are consistent and not negative; the standard error is that of the unbiased estimate, which the fit improves on average."
        }
        (_, Work::Projection(..)) => {
            "Estimates come from the nearest consistent table; the standard error is that of the noisy answers, which the projection improves on average."
        }
        (_, Work::Mwem { .. }) => {
            "Estimates come from one fitted table; their error depends on the data, so that no standard error can be given."
        }
    }
}

/// One column per attribute, empty where a table does not contain it, then `estimate` and `standard_error`.
fn long_form(
    work: &Work,
    fitted: &Fitted,
    labels: &Labels<'_>,
    tables: &[Subset],
    published: Published,
) -> Result<Vec<AnswerColumn>> {
    let domain = fitted.model.domain();
    let number = tables.iter().map(|&table| domain.table_cells(table)).sum();
    let mut attributes: Vec<Vec<Cell>> = labels.names.iter().map(|_| Vec::with_capacity(number)).collect();
    let (mut estimates, mut errors) = (Vec::with_capacity(number), Vec::with_capacity(number));
    let counts = match (&fitted.measured, published) {
        (Some(measured), Published::UnbiasedTables) => {
            tables.iter().map(|&table| measured.marginal(table)).collect::<scumble::Result<Vec<Vec<f64>>>>()?
        }
        _ => fitted.model.marginals(tables),
    };
    for (&table, cells) in tables.iter().zip(counts) {
        let error = standard_error(work, domain, table).map_or(Cell::Null, Cell::Number);
        let own = Domain::new(table.iter().map(|attribute| domain.sizes()[attribute]).collect())?;
        for (cell, estimate) in cells.into_iter().enumerate() {
            let mut codes = own.values(cell).into_iter();
            for (attribute, column) in attributes.iter_mut().enumerate() {
                let code = if table.contains(attribute) { codes.next() } else { None };
                column.push(code.map_or(Cell::Null, |code| labels.value(attribute, code)));
            }
            estimates.push(Cell::Number(estimate));
            errors.push(error.clone());
        }
    }
    let named = |(name, cells): (&String, Vec<Cell>)| AnswerColumn { name: name.clone(), cells, uncertainty: None };
    let mut columns: Vec<AnswerColumn> = labels.names.iter().zip(attributes).map(named).collect();
    columns.push(AnswerColumn { name: "estimate".to_string(), cells: estimates, uncertainty: None });
    columns.push(AnswerColumn { name: "standard_error".to_string(), cells: errors, uncertainty: None });
    Ok(columns)
}

impl Labels<'_> {
    fn value(&self, attribute: usize, code: u32) -> Cell {
        self.values.get(attribute).and_then(|values| values.get(code as usize)).cloned().unwrap_or(Cell::Null)
    }
}

/// The model with at most this many people as rows can be published, and what to say about it. How many people there are, or what the noise makes
/// of them, must not decide whether there is an answer.
fn publishable(model: &Model, tables: &[Subset]) -> Result<(Model, Option<String>)> {
    let people: f64 = model.cells().iter().sum();
    if people <= MOST_ROWS {
        return Ok((model.clone(), None));
    }
    let cells = model.cells().iter().map(|cell| cell * (MOST_ROWS / people)).collect();
    let note = format!("There are {MOST_ROWS} rows, each for about {:.2} of {people:.0} people.", people / MOST_ROWS);
    Ok((Model::new(model.domain().clone(), cells, tables.to_vec())?, Some(note)))
}

/// Whole rows in the order of the cells.
fn rows(model: &Model, labels: &Labels<'_>) -> Vec<AnswerColumn> {
    let rows = model.rows();
    let column = |(attribute, name): (usize, &String)| AnswerColumn {
        name: name.clone(),
        cells: rows.iter().map(|row| labels.value(attribute, row[attribute])).collect(),
        uncertainty: None,
    };
    labels.names.iter().enumerate().map(column).collect()
}

/// The standard error of each cell of a table, as far as it does not depend on the data.
pub(super) fn standard_error(work: &Work, domain: &Domain, table: Subset) -> Option<f64> {
    match work {
        Work::Residual(plan) => plan.cell_variance(table).map(f64::sqrt),
        Work::Projection(projection, _) => {
            // A smaller table is a sum over cells of an answered one: take the one with the fewest.
            let answered = projection.queries().attributes();
            let sums = answered.iter().filter(|larger| table.is_within(**larger));
            let fewest = sums.map(|larger| domain.table_cells(*larger) / domain.table_cells(table)).min()?;
            Some(projection.sigma().get() * (fewest as f64).sqrt())
        }
        Work::Mwem { .. } => None,
    }
}

/// The error to expect of the tables of each order.
pub(super) fn expected(
    work: &Work,
    domain: &Domain,
    tables: &[Subset],
    published: Published,
    choice: &Choice,
) -> Vec<Expected> {
    let column = match published {
        Published::Rows => "counts of rows",
        _ => "estimate",
    };
    let largest = tables.iter().map(|table| table.len()).max().unwrap_or(0);
    (1..=largest)
        .map(|size| {
            let (mut sum, mut cells) = (0.0, 0.0);
            for &table in tables.iter().filter(|table| table.len() == size) {
                let number = domain.table_cells(table) as f64;
                sum += number * standard_error(work, domain, table).map_or(f64::NAN, |error| error * error);
                cells += number;
            }
            let error = Some((sum / cells).sqrt()).filter(|error: &f64| error.is_finite());
            let what = match error {
                Some(_) => "root mean square; the fit makes it smaller on average",
                None => "depends on the data",
            };
            let why = if size == largest {
                format!("; method {}: {}", choice.method.name(), choice.why)
            } else {
                String::new()
            };
            let about = format!("tables of {size}: {what}{why}");
            Expected { column: column.to_string(), standard_error: error, cells: Vec::new(), assumed: None, about }
        })
        .collect()
}
