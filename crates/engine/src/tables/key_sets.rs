//! Values that a public table lists: read when the project file is, because which groups there are must be known before
//! anything is charged.

use crate::error::{Error, Result};
use crate::file::identity;
use crate::project::{Column, Domain, KeySet, Project, Table, with_recoded};
use crate::tables::check::check;
use crate::tables::{Backend, sources as tables};
use datafusion::arrow::array::AsArray;
use std::collections::BTreeSet;
use std::sync::Arc;

/// More values than this are no domain.
const MOST: usize = 1_000_000;

/// The project with the values that public tables list in the place of their names.
///
/// # Guarantee
/// Rows of public tables are read, and of no others.
pub(crate) fn with_key_sets(project: Project) -> Result<Project> {
    filled(project, listed)
}

/// The same with values from `list`.
pub(crate) fn filled(mut project: Project, list: impl Fn(&Project, &KeySet) -> Result<Vec<String>>) -> Result<Project> {
    let sets: Vec<(String, usize, KeySet)> = project
        .tables
        .values()
        .flat_map(|table| {
            let of = |(index, column): (usize, &Column)| Some((table.name.clone(), index, column.key_set.clone()?));
            table.columns.iter().enumerate().filter_map(of)
        })
        .collect();
    for (table, index, set) in sets {
        let values = list(&project, &set).map_err(|error| error.or_at(set.place.clone()))?;
        let Some(column) = project.tables.get_mut(&table).and_then(|table| table.columns.get_mut(index)) else {
            continue;
        };
        let values = with_recoded(values, column.recoding.as_ref()).map_err(|why| Error::at(set.place, why))?;
        column.domain = Domain::Category { values: Some(values) };
    }
    Ok(project)
}

/// A table that reads a private table's files is not public, whatever is declared: what it lists would be somebody's
/// values.
pub(super) fn refuse_private(project: &Project, public: &Table) -> Result<()> {
    let files = |table: &Table| -> Result<BTreeSet<(u64, u64)>> {
        Ok(tables::source_files(table)?.iter().filter_map(|file| identity(&file.path)).collect())
    };
    let own = files(public)?;
    for table in project.tables.values().filter(|table| !table.public) {
        // A private table without files is complained of where it is read.
        if files(table).is_ok_and(|files| !files.is_disjoint(&own)) {
            return Err(Error::input(format!(
                "table '{}' is declared public and reads the same file as table '{}', which is private: its values are not public",
                public.name, table.name
            )));
        }
    }
    Ok(())
}

/// The different texts of a public table's column, in their order.
fn listed(project: &Project, set: &KeySet) -> Result<Vec<String>> {
    let (name, table) = (&set.column, project.table(&set.table)?);
    if !table.public {
        return Err(Error::input(format!(
            "the values of a public domain cannot be those of table '{}', which is private: set public = true there, \
                if it is about nobody, or list them here",
            set.table
        )));
    }
    refuse_private(project, table)?;
    let Some(index) = table.columns.iter().position(|column| column.name == *name) else {
        return Err(Error::input(format!("table '{}' has no declared column '{name}'", set.table)));
    };
    let column = &table.columns[index];
    if !matches!(column.domain, Domain::Category { .. }) || column.key_set.is_some() {
        return Err(Error::input(format!(
            "column '{name}' of table '{}' must be a category of its own to list values",
            set.table
        )));
    }
    check(project, std::slice::from_ref(&set.table))?;
    let backend = Backend::without_data(project)?;
    let rows = tables::rows(table, &tables::source_files(table)?, &tables::TEXT)?;
    let unread = |_| Error::input(format!("table '{}' cannot be read", set.table));
    let frame = backend.context.read_table(Arc::new(rows)).map_err(unread)?;
    let frame = frame.select(vec![datafusion::prelude::ident(name)]).map_err(unread)?;
    let mut values = BTreeSet::new();
    for batch in backend.wait(frame.collect()).map_err(unread)? {
        let texts = batch.column(0).as_string_opt::<i32>().ok_or_else(|| Error::machine("strings of another type"))?;
        values.extend(texts.iter().flatten().map(str::to_string));
    }
    match values.len() {
        0 => Err(Error::input(format!("column '{name}' of table '{}' lists no value", set.table))),
        number if number > MOST => Err(Error::input(format!(
            "column '{name}' of table '{}' lists {number} values, and a public domain has at most {MOST}",
            set.table
        ))),
        _ => Ok(values.into_iter().collect()),
    }
}
