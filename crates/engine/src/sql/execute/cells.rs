//! A condition, tried out on every combination of values that its columns can have: in public, before any row is read.
//!
//! What decides about a row is then a list of truths by combination. A row can only be counted or not; nothing that it
//! holds can make a question fail.

use crate::error::{DataFusionResult, Error, Result};
use crate::sql::PrivateQuery;
use crate::sql::analyse::possible::keys::{BATCH, Planner, batch};
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DataFusionError};
use datafusion::logical_expr::{Expr, LogicalPlan, and, lit};
use std::sync::Arc;

/// Which combinations fulfil a condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TruthTable {
    /// Which of the columns it reads, in their order.
    pub columns: Vec<usize>,
    /// For each combination of these, the last fastest, whether it is true; a condition that is NULL is not.
    pub truths: Vec<bool>,
}

/// Tries the condition of a query on one table, which says of each row whether it counts, on all combinations of these
/// columns' values.
pub(crate) fn tried(cut: &PrivateQuery, names: &[String], values: &[ArrayRef]) -> Result<TruthTable> {
    let condition = condition(&cut.below.plan)
        .ok_or_else(|| Error::input("this must be one condition on the rows of the table, without sub-queries"))?;
    let read: Vec<String> = condition.column_refs().iter().map(|column| column.name.clone()).collect();
    if let Some(other) = read.iter().find(|name| !names.contains(name)) {
        return Err(Error::input(format!(
            "the condition reads '{other}', which is not among the columns of the release ({}): declare it there, or ask about these",
            names.join(", ")
        )));
    }
    let columns: Vec<usize> = (0..names.len()).filter(|index| read.contains(&names[*index])).collect();
    let truths = truths(&condition, names, values, &columns)
        .map_err(|_| Error::input("the condition cannot be computed for some combination of values of its columns"))?;
    Ok(TruthTable { columns, truths })
}

/// All filters of a plan that does nothing but filter the rows of one table, with columns by their own names.
fn condition(plan: &LogicalPlan) -> Option<Expr> {
    match plan {
        LogicalPlan::Filter(filter) => {
            let plain = filter.predicate.clone().transform_up(|node| {
                Ok(match node {
                    Expr::Column(column) => Transformed::yes(Expr::Column(Column::new_unqualified(column.name))),
                    other => Transformed::no(other),
                })
            });
            Some(and(condition(&filter.input)?, plain.ok()?.data))
        }
        LogicalPlan::TableScan(scan) if scan.filters.is_empty() && scan.fetch.is_none() => Some(lit(true)),
        _ => None,
    }
}

fn truths(condition: &Expr, names: &[String], values: &[ArrayRef], columns: &[usize]) -> DataFusionResult<Vec<bool>> {
    let values: Vec<ArrayRef> = columns.iter().map(|index| Arc::clone(&values[*index])).collect();
    let named = columns.iter().zip(&values);
    let fields = named.map(|(index, values)| Field::new(&names[*index], values.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let condition = Planner::new(&schema)?.physical(condition)?;
    let all = values.iter().map(|values| values.len() as u64).product::<u64>();
    let mut truths = Vec::with_capacity(all as usize);
    for first in (0..all).step_by(BATCH as usize) {
        let batch = batch(&schema, &values, first..all.min(first + BATCH))?;
        let found = condition.evaluate(&batch)?.into_array(batch.num_rows())?;
        let found = found.as_boolean_opt().ok_or_else(|| DataFusionError::Plan("no condition".to_string()))?;
        truths.extend((0..found.len()).map(|row| found.is_valid(row) && found.value(row)));
    }
    Ok(truths)
}
