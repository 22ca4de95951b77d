//! Kind `quantiles`: some quantiles of a bounded column. It is a query for percentiles, its answer laid out in rows.

use super::cdf::{FIELDS as CDF_FIELDS, Ordered, number, ordered};
use super::histogram::quoted;
use super::output::{Answers, Cell, Column};
use super::sql::{RANK_ERROR, SqlPlan};
use super::{CostAbout, Draw, Expected, Field, Kind, Plan};
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::ledger::Receipt;
use crate::project::{Project, Request, bounding};
use scumble::event::Event;
use scumble::quantity::Probability;
use serde_json::{Value, json};

const FIELDS: [Field; 4] = [
    CDF_FIELDS[0],
    CDF_FIELDS[1],
    Field {
        name: "quantiles",
        form: "list of numbers",
        required: true,
        about: "which, from 0 (least) to 1 (largest); 0.5 is the median",
    },
    CDF_FIELDS[2],
];

/// The kind `quantiles`.
pub(super) static KIND: Kind = Kind {
    name: "quantiles",
    about: "quantiles of a column (0 the least, 0.5 the median, 1 the largest), each by the exponential mechanism",
    fields: &FIELDS,
    cost_about: CostAbout::Owners,
    plan,
};

fn plan(request: &Request, project: &Project) -> Result<Box<dyn Plan>> {
    let Ordered { table, name, .. } = ordered(request, project)?;
    let list = request.fields.need("quantiles")?;
    let mut fractions = Vec::new();
    for spot in list.list()? {
        let fraction = Probability::new(spot.number()?).map_err(|error| spot.error(error.to_string()))?;
        fractions.push(fraction.get());
    }
    if fractions.is_empty() {
        return Err(list.error("give at least one quantile, such as 0.5"));
    }
    let percentile = |(index, fraction): (usize, &f64)| {
        format!("approx_percentile_cont({}, {fraction:?}) AS {}", quoted(name), quoted(&column_of(index)))
    };
    let columns: Vec<String> = fractions.iter().enumerate().map(percentile).collect();
    let sql = format!("SELECT {} FROM {}", columns.join(", "), quoted(&table.name));
    let query = SqlPlan::new(&sql, bounding(&request.fields)?, request, project);
    let query = query.map_err(|error| error.or_at(list.place()))?;
    Ok(Box::new(QuantilesPlan { query, fractions }))
}

/// The name of a quantile in the query.
fn column_of(index: usize) -> String {
    format!("quantile {index}")
}

struct QuantilesPlan {
    query: SqlPlan,
    fractions: Vec<f64>,
}

impl Plan for QuantilesPlan {
    fn events(&self) -> &[Event] {
        self.query.events()
    }

    fn rule(&self) -> Value {
        let mut rule = self.query.rule();
        rule["fractions"] = json!(self.fractions);
        rule
    }

    fn expected(&self) -> Vec<Expected> {
        let named =
            |(expected, fraction): (Expected, &f64)| Expected { column: format!("value at {fraction}"), ..expected };
        self.query.expected().into_iter().zip(&self.fractions).map(named).collect()
    }

    fn tables(&self) -> Vec<String> {
        self.query.tables()
    }

    fn preflight(&self, project: &Project, backend: &Backend) -> Result<()> {
        self.query.preflight(project, backend)
    }

    fn compute(&self, charged: &Receipt, project: &Project, backend: &Backend) -> Result<Draw> {
        let draw = self.query.compute(charged, project, backend)?;
        let fractions = self.fractions.clone();
        Ok(Box::new(move |receipt, bits| in_rows(draw(receipt, bits)?, &fractions)))
    }
}

/// The columns of the query's one row, one below the other.
fn in_rows(answers: Answers, fractions: &[f64]) -> Result<Answers> {
    let found = |name: String| {
        let column = answers.columns.iter().find(|column| column.name == name);
        let value = column.and_then(|column| column.cells.first()).and_then(Cell::number);
        value.ok_or_else(|| Error::machine("a quantile is missing from its query's answer"))
    };
    let indices = 0..fractions.len();
    let values = indices.clone().map(|index| found(column_of(index))).collect::<Result<Vec<f64>>>()?;
    let errors =
        indices.map(|index| found(format!("{}{RANK_ERROR}", column_of(index)))).collect::<Result<Vec<f64>>>()?;
    let column = |name: &str, cells: Vec<Cell>| Column { name: name.to_string(), cells, uncertainty: None };
    Ok(Answers {
        columns: vec![
            column("quantile", fractions.iter().map(|fraction| Cell::Number(*fraction)).collect()),
            column("value", values.into_iter().map(number).collect()),
            column("rank_error", errors.into_iter().map(Cell::Number).collect()),
        ],
        notes: vec!["With probability 95%, a value is off by at most rank_error rows in rank.".to_string()],
        details: answers.details,
    })
}

#[cfg(test)]
mod tests;
