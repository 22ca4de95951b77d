//! Which rows a release is about: the fields that several kinds have.

use crate::error::{Error, Result};
use crate::place::suggestion;
use crate::project::{Bounding, Column, Project, Request, Table, within_reason};
use crate::release::field::{Field, ListedField, PlacedValue};
use crate::tables::{Backend, failed_on_data};
use datafusion::prelude::DataFrame;

/// The table.
pub(crate) const TABLE: Field<String> = Field::new("table", "the table");

/// Contribution bounds, which any release may tighten.
const ROWS: Field<Option<u64>> =
    Field::new("max_rows_per_owner", "how many rows of one owner count (default: the table's)");
const GROUPS: Field<Option<u64>> = Field::new("max_groups_per_owner", "in how many groups one owner counts");
const ROWS_PER_GROUP: Field<Option<u64>> =
    Field::new("max_rows_per_group", "how many rows of one owner count in one group");

/// All three, as they are listed; the first alone is for kinds without groups.
pub(crate) const BOUNDING: [ListedField; 3] = [ROWS.listed(), GROUPS.listed(), ROWS_PER_GROUP.listed()];

/// The contribution bounds that a request gives.
pub(crate) fn bounding(request: &Request) -> Result<Bounding> {
    // A kind has only some of these fields; what it does not have was refused when the project was read.
    let bounding = Bounding {
        rows: ROWS.read(request)?,
        groups: GROUPS.read(request)?,
        rows_per_group: ROWS_PER_GROUP.read(request)?,
    };
    within_reason(bounding, &request.fields)
}

/// Bounds under which only the number of all rows of one owner counts, whichever groups they are in; and that number.
pub(crate) fn total_bounding(request: &Request, table: &Table) -> Result<(Bounding, u64)> {
    let own = bounding(request)?.or(table.bounding);
    let rows = own.all_rows();
    Ok(match table.owner {
        Some(_) => (Bounding { rows: Some(rows), groups: Some(rows), rows_per_group: Some(rows) }, rows),
        None => (own, 1),
    })
}

/// The table that a request names.
pub(crate) fn table<'a>(request: &Request, project: &'a Project) -> Result<&'a Table> {
    project.table(&TABLE.read(request)?).map_err(|error| error.or_at(TABLE.place(request)))
}

/// The same, if it holds private rows.
pub(crate) fn private_table<'a>(request: &Request, project: &'a Project) -> Result<&'a Table> {
    let table = table(request, project)?;
    match table.public {
        true => Err(TABLE.error(request, format!("table '{}' is public: no release is needed for it", table.name))),
        false => Ok(table),
    }
}

/// The core counts fewer people than this.
const MOST_PEOPLE: u64 = 1 << 40;

/// How many owners a request's table declares, where it does: as many as the core counts.
pub(crate) fn countable_owners(request: &Request, project: &Project) -> Result<Option<u64>> {
    let table = private_table(request, project)?;
    match table.public_owners {
        Some(MOST_PEOPLE..) => {
            Err(Error::input(format!("public_owners of the table '{}' must be below 2^40", table.name)))
        }
        owners => Ok(owners),
    }
}

/// A declared column of a table.
pub(crate) fn column<'a>(table: &'a Table, name: &PlacedValue<String>) -> Result<&'a Column> {
    table.column(&name.value).ok_or_else(|| {
        let hint = suggestion(&name.value, table.columns.iter().map(|column| column.name.as_str()));
        name.error(format!("table '{}' has no declared column '{}'{hint}", table.name, name.value))
    })
}

/// A name as SQL quotes it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Columns of a table's source, to be read.
pub(crate) fn selected<'a>(
    backend: &Backend,
    table: &str,
    columns: impl IntoIterator<Item = &'a String>,
) -> Result<DataFrame> {
    let columns: Vec<String> = columns.into_iter().map(|name| quoted(name)).collect();
    let sql = format!("SELECT {} FROM {}", columns.join(", "), quoted(table));
    let state = backend.context.state();
    let plan = backend.wait(state.create_logical_plan(&sql)).and_then(|plan| backend.with_sources(plan));
    Ok(DataFrame::new(state, plan.map_err(|error| failed_on_data(&error))?))
}
