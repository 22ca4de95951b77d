//! Kind `histogram`: how many rows there are for each value, or combination of values, of some columns.

use super::sql::{BOUNDING_FIELDS, SqlPlan};
use super::{CostAbout, Field, Kind, Plan};
use crate::error::{Error, Result};
use crate::place::Place;
use crate::project::{Project, Request, Table, bounding};

/// One column, or several: exactly one of both.
pub(super) const COLUMN_FIELDS: [Field; 2] = [
    Field { name: "column", form: "text", required: false, about: "the column whose values are counted" },
    Field {
        name: "columns",
        form: "list of texts",
        required: false,
        about: "instead of column: the columns whose combinations of values are counted",
    },
];

const FIELDS: [Field; 6] = [
    Field { name: "table", form: "text", required: true, about: "the table" },
    COLUMN_FIELDS[0],
    COLUMN_FIELDS[1],
    BOUNDING_FIELDS[0],
    BOUNDING_FIELDS[1],
    BOUNDING_FIELDS[2],
];

/// The kind `histogram`.
pub(super) static KIND: Kind = Kind {
    name: "histogram",
    about: "the number of rows for each combination of values of some columns; all of a public domain, or those with enough owners",
    fields: &FIELDS,
    cost_about: CostAbout::Owners,
    plan,
};

fn plan(request: &Request, project: &Project) -> Result<Box<dyn Plan>> {
    let Counted { table, names, place } = counted(request, project)?;
    let columns = names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    let sql = format!("SELECT {columns}, COUNT(*) AS count FROM {} GROUP BY {columns}", quoted(&table.name));
    let plan = SqlPlan::new(&sql, bounding(&request.fields)?, request, project);
    Ok(Box::new(plan.map_err(|error| error.or_at(place))?))
}

/// A table of the project, and at least one of its declared columns.
pub(super) struct Counted<'a> {
    pub table: &'a Table,
    pub names: Vec<&'a str>,
    /// Where the columns are named.
    pub place: Place,
}

/// The fields `table` and `column` or `columns`.
pub(super) fn counted<'a>(request: &'a Request, project: &'a Project) -> Result<Counted<'a>> {
    let fields = &request.fields;
    let table_spot = fields.need("table")?;
    let table = project.table(table_spot.text()?).map_err(|error| error.or_at(table_spot.place()))?;
    let (spots, place) = match (fields.get("column"), fields.get("columns")) {
        (Some(one), None) => (std::slice::from_ref(one), one.place()),
        (None, Some(list)) => (list.list()?, list.place()),
        (Some(_), Some(list)) => return Err(list.error("give column or columns, not both")),
        (None, None) => return Err(fields.error(format!("release '{}' needs 'column' or 'columns'", request.name))),
    };
    if spots.is_empty() {
        return Err(Error::at(place, "a histogram needs at least one column"));
    }
    let mut names = Vec::new();
    for spot in spots {
        let name = spot.text()?;
        if table.column(name).is_none() {
            let hint = crate::place::suggestion(name, table.columns.iter().map(|column| column.name.as_str()));
            return Err(spot.error(format!("table '{}' has no declared column '{name}'{hint}", table.name)));
        }
        names.push(name);
    }
    Ok(Counted { table, names, place })
}

/// A name as SQL quotes it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
