//! Kind `histogram`: how many rows there are for each value, or combination of values, of some columns.

use super::counted::{COLUMN, COLUMNS, CountedColumns, MAX_BYTES, counted};
use super::sql::{BOUNDING_REPORT, analysed, queries};
use crate::error::Result;
use crate::kinds::huge_histogram;
use crate::place::Place;
use crate::project::{Project, Request};
use crate::release::Kind;
use crate::release::output::check_names;
use crate::release::plan::AnalysedRequest;
use crate::release::rows::fields::{BOUNDING, TABLE, quoted};

/// The kind `histogram`.
pub(crate) static KIND: Kind = Kind {
    name: "histogram",
    about: "the number of rows for each value or combination of values: all of a public domain, or those with enough owners",
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
    analyse,
    queries: |request, project| match is_huge(request)? {
        true => Ok(None),
        false => query(request, project).and_then(|(sql, place)| queries(&sql, place, request, project)).map(Some),
    },
    ..Kind::COMMON
};

fn analyse(request: &Request, project: &Project) -> Result<AnalysedRequest> {
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
    let CountedColumns { table, names, place } = counted(request, project)?;
    check_names(names.iter().map(|name| (name.as_str(), false)).chain([("count", true)]))
        .map_err(|error| error.or_at(place.clone()))?;
    let columns = names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    let sql = format!("SELECT {columns}, COUNT(*) AS count FROM {} GROUP BY {columns}", quoted(&table.name));
    Ok((sql, place))
}
