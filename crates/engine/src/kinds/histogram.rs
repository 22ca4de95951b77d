//! Kind `histogram`: how many rows there are for each value, or combination of values, of some columns.

use super::sql::{BOUNDING_REPORT, analysed, queries};
use super::top::MAX_BYTES;
use crate::error::{Error, Result};
use crate::kinds::huge_histogram;
use crate::place::Place;
use crate::project::{Project, Request, Table};
use crate::release::field::{Field, Placed};
use crate::release::output::check_names;
use crate::release::plan::Analysed;
use crate::release::rows::fields::{BOUNDING, TABLE, column, private_table, quoted};
use crate::release::{CostAbout, Kind};

/// One column, or several: exactly one of both.
pub(crate) const COLUMN: Field<Option<Placed<String>>> = Field::new("column", "the column whose values are counted");
pub(crate) const COLUMNS: Field<Option<Vec<Placed<String>>>> =
    Field::new("columns", "instead of column: the columns whose combinations of values are counted");

/// The kind `histogram`.
pub(crate) static KIND: Kind = Kind {
    name: "histogram",
    about: "the number of rows for each combination of values of some columns; all of a public domain, or those with enough owners; of all texts of up to some bytes, those with enough rows",
    fields: &[
        TABLE.listed(),
        COLUMN.listed(),
        COLUMNS.listed(),
        MAX_BYTES.listed(),
        BOUNDING[0],
        BOUNDING[1],
        BOUNDING[2],
        BOUNDING_REPORT,
    ],
    cost_about: CostAbout::Owners,
    analyse,
    queries: |request, project| match is_huge(request)? {
        true => Ok(None),
        false => query(request, project).and_then(|(sql, place)| queries(&sql, place, request, project)).map(Some),
    },
    ..Kind::COMMON
};

fn analyse(request: &Request, project: &Project) -> Result<Analysed> {
    if MAX_BYTES.read(request)?.is_some() && request.fields.get(BOUNDING_REPORT.name).is_some() {
        return Err(MAX_BYTES.error(request, "max_bytes and bounding_report are not given together: leave one out"));
    }
    if let Some(huge) = huge_histogram::analyse(&counted(request, project)?, request, project)? {
        return Ok(huge);
    }
    let (sql, place) = query(request, project)?;
    analysed(&sql, request, project, move |error| error.or_at(place.clone()))
}

/// Whether its texts are too many to be a query's groups.
pub(crate) fn is_huge(request: &Request) -> Result<bool> {
    Ok(MAX_BYTES.read(request)?.is_some())
}

/// The query that such a release is, and where errors of it are.
pub(crate) fn query(request: &Request, project: &Project) -> Result<(String, Place)> {
    let Counted { table, names, place } = counted(request, project)?;
    check_names(names.iter().map(|name| (name.as_str(), false)).chain([("count", true)]), &[])
        .map_err(|error| error.or_at(place.clone()))?;
    let columns = names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    let sql = format!("SELECT {columns}, COUNT(*) AS count FROM {} GROUP BY {columns}", quoted(&table.name));
    Ok((sql, place))
}

/// A table of the project, and at least one of its declared columns.
pub(crate) struct Counted<'a> {
    pub table: &'a Table,
    pub names: Vec<String>,
    /// Where the columns are named.
    pub place: Place,
}

/// The fields `table` and `column` or `columns`.
pub(crate) fn counted<'a>(request: &Request, project: &'a Project) -> Result<Counted<'a>> {
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
    Ok(Counted { table, names: columns.into_iter().map(|name| name.value).collect(), place })
}
