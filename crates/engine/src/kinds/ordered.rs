//! Columns whose values have an order: what distribution functions and quantiles have in common.

use crate::calendar::{SECOND, shown_day, shown_moment};
use crate::error::Result;
use crate::project::{Domain, Project, Request, Table};
use crate::release::field::{Field, ListedField, PlacedValue};
use crate::release::output::{Cell, ColumnRole};
use crate::release::rows::fields::{BOUNDING, TABLE, column, private_table, quoted};
use std::collections::BTreeMap;

/// The column.
pub(crate) const COLUMN: Field<PlacedValue<String>> =
    Field::new("column", "an int, float, date or timestamp with bounds; or any column that `keys` orders");

/// A table, one of its columns, and how many rows of an owner count.
pub(crate) const FIELDS: [ListedField; 3] = [TABLE.listed(), COLUMN.listed(), BOUNDING[0]];

/// A column whose values are ordered and bounded.
pub(crate) struct OrderedColumn<'a> {
    pub table: &'a Table,
    pub name: &'a str,
    pub domain: &'a Domain,
}

impl OrderedColumn<'_> {
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
    pub fn unit(&self) -> OrderedUnit {
        match self.domain {
            Domain::Date { .. } => OrderedUnit::Days,
            Domain::Timestamp { .. } => OrderedUnit::Seconds,
            _ => OrderedUnit::Plain,
        }
    }
}

/// The fields `table` and `column`.
pub(crate) fn ordered<'a>(request: &Request, project: &'a Project) -> Result<OrderedColumn<'a>> {
    let (table, name) = (private_table(request, project)?, COLUMN.read(request)?);
    let column = column(table, &name)?;
    match &column.domain {
        Domain::Int { bounds: Some(_) }
        | Domain::Date { bounds: Some(_) }
        | Domain::Timestamp { bounds: Some(_), .. } => {}
        Domain::Float { bounds: Some((lower, upper)), .. } if upper > lower => {}
        _ => {
            return Err(name.error(format!(
                "column '{}' must be an int, float, date or timestamp with public bounds (lower, upper), or strings \
                    in an order: keys = \"texts\" or \"uuids\"",
                name.value
            )));
        }
    }
    Ok(OrderedColumn { table, name: &column.name, domain: &column.domain })
}

/// What a column's numbers are shown as.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OrderedUnit {
    Plain,
    /// Dates.
    Days,
    /// Times.
    Seconds,
}

impl OrderedUnit {
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

/// The roles of the columns `quantile` and `value`: what is drawn are values.
pub(crate) fn roles_of_quantiles(column: &str) -> BTreeMap<String, ColumnRole> {
    let value = ColumnRole::Level { of: Some(column.to_string()) };
    [("quantile".to_string(), ColumnRole::Key), ("value".to_string(), value)].into()
}
