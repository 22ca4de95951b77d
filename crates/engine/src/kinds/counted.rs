//! The columns whose values are counted, as several kinds ask for them.

use crate::error::{Error, Result};
use crate::place::Place;
use crate::project::{Project, Request, Table};
use crate::release::field::{Field, PlacedValue};
use crate::release::rows::fields::{column, private_table};

/// One column, or several: exactly one of both.
pub(crate) const COLUMN: Field<Option<PlacedValue<String>>> =
    Field::new("column", "the column whose values are counted");

/// The columns whose combinations are counted.
pub(crate) const COLUMNS: Field<Option<Vec<PlacedValue<String>>>> =
    Field::new("columns", "instead of `column`: columns whose combinations of values are counted");

/// A table of the project, and at least one of its declared columns.
pub(crate) struct CountedColumns<'a> {
    pub table: &'a Table,
    pub names: Vec<String>,
    /// Where the columns are named.
    pub place: Place,
}

/// The fields `table` and `column` or `columns`.
pub(crate) fn counted<'a>(request: &Request, project: &'a Project) -> Result<CountedColumns<'a>> {
    let table = private_table(request, project)?;
    let (columns, place) = match (COLUMN.read(request)?, COLUMNS.read(request)?) {
        (Some(one), None) => (vec![one], COLUMN.place(request)),
        (None, Some(several)) => (several, COLUMNS.place(request)),
        (Some(_), Some(_)) => return Err(COLUMNS.error(request, "give column or columns, not both")),
        (None, None) => {
            return Err(request.fields.error(format!("release '{}' needs 'column' or 'columns'", request.name)));
        }
    };
    if columns.is_empty() {
        return Err(Error::at(place, "a histogram needs at least one column"));
    }
    for name in &columns {
        column(table, name)?;
    }
    Ok(CountedColumns { table, names: columns.into_iter().map(|name| name.value).collect(), place })
}

/// All texts of up to this many bytes, as a public domain.
pub(crate) const MAX_BYTES: Field<Option<PlacedValue<u64>>> = Field::new(
    "max_bytes",
    "the domain is all strings of up to this many bytes (1 to 17): public, so no delta is needed; longer strings do not count. At 16 bytes, a value needs about 160/ε owners to stand out",
);
