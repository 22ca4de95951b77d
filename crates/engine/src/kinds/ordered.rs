//! Columns whose values have an order: what distribution functions and quantiles have in common.

use crate::calendar::{SECOND, shown_day, shown_moment};
use crate::error::Result;
use crate::project::{Domain, Project, Request, Table};
use crate::release::field::{Field, Listed, Placed};
use crate::release::output::{Cell, Drawn};
use crate::release::rows::fields::{BOUNDING, TABLE, column, private_table, quoted};

/// The column.
pub(crate) const COLUMN: Field<Placed<String>> = Field::new(
    "column",
    "an int, float, date or timestamp column with bounds; with keys, one of texts, UUIDs or times",
);

/// A table, one of its columns, and how many rows of an owner count.
pub(crate) const FIELDS: [Listed; 3] = [TABLE.listed(), COLUMN.listed(), BOUNDING[0]];

/// A column whose values are ordered and bounded.
pub(crate) struct Ordered<'a> {
    pub table: &'a Table,
    pub name: &'a str,
    pub domain: &'a Domain,
}

impl Ordered<'_> {
    /// The column's numbers in SQL: of dates the days since 1970-01-01, of times the seconds.
    pub fn numbers(&self) -> String {
        let column = quoted(self.name);
        match self.domain {
            Domain::Date { .. } => format!("CAST({column} AS BIGINT)"),
            Domain::Timestamp { .. } => format!("CAST(FLOOR(date_part('epoch', {column})) AS BIGINT)"),
            _ => column,
        }
    }

    /// What these numbers are shown as.
    pub fn unit(&self) -> Unit {
        match self.domain {
            Domain::Date { .. } => Unit::Days,
            Domain::Timestamp { .. } => Unit::Seconds,
            _ => Unit::Plain,
        }
    }
}

/// The fields `table` and `column`.
pub(crate) fn ordered<'a>(request: &Request, project: &'a Project) -> Result<Ordered<'a>> {
    let (table, name) = (private_table(request, project)?, COLUMN.read(request)?);
    let column = column(table, &name)?;
    match &column.domain {
        Domain::Int { bounds: Some(_) }
        | Domain::Date { bounds: Some(_) }
        | Domain::Timestamp { bounds: Some(_), .. } => {}
        Domain::Float { bounds: Some((lower, upper)), .. } if upper > lower => {}
        _ => {
            return Err(name.error(format!(
                "column '{}' needs to be an int, a float, a date or a timestamp with lower and upper, from public knowledge; of texts, say in which order: keys = \"texts\" or \"uuids\"",
                name.value
            )));
        }
    }
    Ok(Ordered { table, name: &column.name, domain: &column.domain })
}

/// What a column's numbers are shown as.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unit {
    Plain,
    /// Dates.
    Days,
    /// Times.
    Seconds,
}

impl Unit {
    /// A number as it is published.
    pub fn cell(self, value: f64) -> Cell {
        match self {
            Self::Plain => number(value),
            Self::Days => Cell::Text(shown_day(value as i64).into()),
            Self::Seconds => Cell::Text(shown_moment((value as i64).saturating_mul(SECOND)).into()),
        }
    }
}

/// Whole numbers without a decimal point.
pub(crate) fn number(value: f64) -> Cell {
    if value.fract() == 0.0 && value.abs() < 1e15 { Cell::Whole(value as i128) } else { Cell::Number(value) }
}

/// The quantiles as bars, each beside its value.
pub(crate) fn shares() -> Drawn {
    Drawn {
        label: "value".to_string(),
        column: "quantile".to_string(),
        ends: None,
        title: "quantiles and their values".to_string(),
    }
}
