//! The different rows of a public table. They are about nobody, so they are read before anything is charged.

use super::key_sets::refuse_private;
use super::sources::{TEXT, expected_rows, rows, source_files};
use crate::error::{DataFusionResult, Error, Result};
use crate::project::{Project, Table};
use crate::tables::Backend;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder};
use datafusion::prelude::ident;
use std::sync::Arc;

/// A table of more rows is not read for this.
const MOST_ROWS: u64 = 10_000_000;
/// More different rows than this are not looked at.
const MOST_DIFFERENT: usize = 1_000_000;

/// What to read of a public table.
pub(crate) struct PublicSelection {
    pub table: String,
    /// The columns that are read, and what the expressions call them.
    pub columns: Vec<(String, String)>,
    /// What is true of the rows that count.
    pub conditions: Vec<Expr>,
    /// What is looked at of each row.
    pub values: Vec<Expr>,
}

impl PublicSelection {
    /// The different values; none where the rows cannot be read here, or are too many.
    ///
    /// # Guarantee
    /// Rows of this table are read, and of no other. A table that reads the file of a private one is refused.
    pub fn different(self, project: &Project, backend: &Backend) -> Result<Option<Vec<Vec<ScalarValue>>>> {
        let table = project.table(&self.table)?;
        if !table.public {
            return Err(Error::machine("a private table is read as a public one"));
        }
        let Ok(files) = source_files(table) else { return Ok(None) };
        refuse_private(project, table)?;
        if expected_rows(table).is_some_and(|rows| rows > MOST_ROWS) {
            return Ok(None);
        }
        let Ok(provider) = rows(table, &files, &TEXT) else { return Ok(None) };
        // What does not fit its declaration is complained of where the release reads it.
        let found = self.collected(table, Arc::new(provider), backend).ok().and_then(|batches| listed(&batches).ok());
        Ok(found.filter(|rows| rows.len() <= MOST_DIFFERENT))
    }

    fn collected(
        self,
        table: &Table,
        provider: Arc<super::rows::FileRows>,
        backend: &Backend,
    ) -> DataFusionResult<Vec<RecordBatch>> {
        let columns = self.columns.iter().map(|(field, called)| ident(field).alias(called));
        let scan = LogicalPlanBuilder::scan(table.name.as_str(), provider_as_source(provider), None)?;
        let mut plan = scan.project(columns)?;
        if let Some(conditions) = conjunction(self.conditions) {
            plan = plan.filter(conditions)?;
        }
        let values = self.values.into_iter().enumerate().map(|(index, value)| value.alias(format!("value {index}")));
        let plan = plan.project(values)?.distinct()?.limit(0, Some(MOST_DIFFERENT + 1))?.build()?;
        backend.wait(backend.run(plan).collect())
    }
}

fn listed(batches: &[RecordBatch]) -> DataFusionResult<Vec<Vec<ScalarValue>>> {
    let row = |batch: &RecordBatch, row: usize| {
        batch.columns().iter().map(|column| ScalarValue::try_from_array(column, row)).collect()
    };
    batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |index| row(batch, index))).collect()
}
