//! Kind `histogram`: how many rows there are for each value, or combination of values, of some columns.

use super::sql::{BOUNDING_FIELDS, SqlPlan};
use super::{Field, Kind, Plan};
use crate::error::Result;
use crate::project::{Project, Request, Table, bounding};

/// The kind `histogram`.
pub(super) struct Histogram;

const FIELDS: [Field; 5] = [
    Field { name: "table", form: "text", required: true, about: "the table" },
    Field {
        name: "columns",
        form: "list of texts",
        required: true,
        about: "the columns whose combinations are counted",
    },
    BOUNDING_FIELDS[0],
    BOUNDING_FIELDS[1],
    BOUNDING_FIELDS[2],
];

impl Kind for Histogram {
    fn name(&self) -> &'static str {
        "histogram"
    }

    fn about(&self) -> &'static str {
        "the number of rows for each combination of values of some columns; all of a public domain, or those with enough owners"
    }

    fn fields(&self) -> &'static [Field] {
        &FIELDS
    }

    fn plan(&self, request: &Request, project: &Project) -> Result<Box<dyn Plan>> {
        let (table, names) = table_and_columns(request, project)?;
        let list = request.fields.need("columns")?;
        let columns = names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let sql = format!("SELECT {columns}, COUNT(*) AS count FROM {} GROUP BY {columns}", quoted(&table.name));
        let plan = SqlPlan::new(&sql, bounding(&request.fields)?, request, project);
        Ok(Box::new(plan.map_err(|error| error.or_at(list.place()))?))
    }
}

/// The fields `table` and `columns`: a table of the project, and at least one of its declared columns.
pub(super) fn table_and_columns<'a>(request: &'a Request, project: &'a Project) -> Result<(&'a Table, Vec<&'a str>)> {
    let table_spot = request.fields.need("table")?;
    let table = project.table(table_spot.text()?).map_err(|error| error.or_at(table_spot.place()))?;
    let list = request.fields.need("columns")?;
    let mut names = Vec::new();
    for spot in list.list()? {
        let name = spot.text()?;
        if table.column(name).is_none() {
            let hint = crate::place::suggestion(name, table.columns.iter().map(|column| column.name.as_str()));
            return Err(spot.error(format!("table '{}' has no declared column '{name}'{hint}", table.name)));
        }
        names.push(name);
    }
    match names.is_empty() {
        true => Err(list.error("a histogram needs at least one column")),
        false => Ok((table, names)),
    }
}

/// A name as SQL quotes it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
