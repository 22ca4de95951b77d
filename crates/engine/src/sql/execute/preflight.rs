//! Whether everything that a query needs can run, before anything is charged.

use super::bounded;
use super::executed::{over, rows, same, unfit};
use crate::error::Result;
use crate::sql::PrivateQuery;
use crate::tables::Backend;

/// Makes everything that [`integers`](super::integers::integers) will run, to the physical plan, and looks at no value.
///
/// # Guarantee
/// After: what is left to fail does not depend on the query, and the outcome depends on the schemas of the files alone.
pub(crate) fn preflight(query: &PrivateQuery, backend: &Backend) -> Result<()> {
    query.beside().iter().try_for_each(|branch| preflight(branch, backend))?;
    if !query.sets.is_empty() {
        return query.sets.iter().try_for_each(|set| preflight(&set.cut, backend));
    }
    let execution = query.execution()?;
    for executed in over(execution, rows(execution, backend)?)? {
        let frame = backend.run(executed.plan);
        let physical = backend.wait(frame.create_physical_plan()).map_err(|error| unfit(&error))?;
        same(&executed.kinds, physical.schema().fields().iter().map(|field| field.data_type()))
            .map_err(|error| unfit(&error))?;
    }
    bounded::preflight(execution)
}
