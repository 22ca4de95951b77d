//! Which rows a release is about: the fields that several kinds have.

use crate::error::Result;
use crate::place::suggestion;
use crate::project::{Bounding, Column, Project, Request, Table, within_reason};
use crate::release::field::{Field, ListedField, PlacedValue};

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
