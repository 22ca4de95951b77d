//! Which columns a query will publish, known from its plan alone: for interfaces that must announce them before
//! anything is charged.

use super::answer::{RANK_ERROR, depends_on_quantiles};
use super::roles::quantile_of;
use crate::error::Result;
use crate::project::Project;
use crate::release::output::{ColumnKind, names_beside};
use crate::sql::PrivateQuery;
use crate::sql::above::{self, Output};
use crate::tables::Backend;

/// A column that will be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedColumn {
    /// Its name.
    pub name: String,
    /// What its cells are, where they are not empty.
    pub kind: ColumnKind,
}

/// The columns of a query, or of a UNION ALL of it and those beside it: its own, and after each noisy one the columns
/// about its error.
pub(crate) fn columns(cut: &PrivateQuery) -> Result<Vec<PublishedColumn>> {
    let branches: Vec<(&PrivateQuery, Vec<Output>)> = std::iter::once(cut)
        .chain(cut.beside())
        .map(|cut| Ok((cut, above::outputs(&cut.plan, &cut.aggregate)?)))
        .collect::<Result<_>>()?;
    // Each with whether it is noisy.
    let mut all = Vec::new();
    for (index, field) in cut.plan.schema().fields().iter().enumerate() {
        let kinds = branches.iter().map(|(cut, _)| ColumnKind::of(cut.plan.schema().field(index).data_type()));
        let kind = kinds.reduce(ColumnKind::beside).unwrap_or(ColumnKind::Text);
        let of_any =
            |is: fn(&PrivateQuery, &Output) -> bool| branches.iter().any(|(cut, outputs)| is(cut, &outputs[index]));
        let is_noisy =
            of_any(depends_on_quantiles) || of_any(|_, output| output.is_number && !output.aggregates.is_empty());
        all.push((PublishedColumn { name: field.name().clone(), kind }, is_noisy));
        if of_any(|cut, output| quantile_of(cut, output).is_some()) {
            let name = format!("{}{RANK_ERROR}", field.name());
            all.push((PublishedColumn { name, kind: ColumnKind::Number }, false));
        }
    }
    let beside = names_beside(all.iter().map(|(column, is_noisy)| (column.name.as_str(), *is_noisy)));
    let number = |name: String| PublishedColumn { name, kind: ColumnKind::Number };
    let columns = all.into_iter().zip(beside);
    Ok(columns.flat_map(|((own, _), names)| [own].into_iter().chain(names.into_iter().flatten().map(number))).collect())
}

/// The columns of a query whose parameters have any values in their places: none of them decides which columns there
/// are.
pub fn columns_of(sql: &str, project: &Project) -> Result<Vec<PublishedColumn>> {
    // Those of a query that reads a public table are not kept, as its rows may change.
    type Described = (Vec<PublishedColumn>, bool);
    let (columns, _) = project.kept_query(
        || format!("columns of {sql}"),
        |(_, reads_public): &Described| !reads_public,
        || {
            let analysed = crate::sql::analyse_columns(sql, project, &Backend::without_data(project)?)?;
            let reads_public = analysed.queries().any(|query| !query.public.is_empty());
            let mut queries = analysed.queries();
            let Some(first) = queries.next() else { return Ok((Vec::new(), reads_public)) };
            Ok((columns(&first.clone().with_beside(queries.cloned().collect()))?, reads_public))
        },
    )?;
    Ok(columns)
}

/// The types of the parameters `$1`, `$2` … of a query, as far as the query determines them; without data.
pub fn parameters(sql: &str, project: &Project) -> Result<Vec<Option<ColumnKind>>> {
    let found = crate::sql::parameters(sql, project, &Backend::without_data(project)?)?;
    let last = found.iter().map(|(number, _)| *number).max().unwrap_or(0);
    let mut kinds = vec![None; last];
    for (number, kind) in found {
        kinds[number - 1] = kind.as_ref().map(ColumnKind::of);
    }
    Ok(kinds)
}

/// Refuses a string that is too long, or nested too deeply to be parsed without harm. Code that parses queries before
/// they are planned calls this first.
pub fn refuse_too_long(sql: &str) -> Result<()> {
    crate::sql::refuse_too_long(sql)
}
