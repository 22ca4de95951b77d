//! What is below the aggregate as plans that run: first of each row its owner, keys and values, in columns with names
//! of our own, so that no two are taken for one; then, where each row is one person, their sums.
//!
//! The expressions are those that were analysed: [`Backend::run`] puts no cast in.

use crate::error::{DataFusionResult, Error, Result};
use crate::sql::analyse::below::conditions;
use crate::sql::analyse::execution::{CellRank, Execution, RowColumn, RowOwners};
use crate::sql::analyse::query::Summand;
use crate::tables::{Backend, failed_on_data};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DataFusionError};
use datafusion::functions_aggregate::expr_fn::{count, count_distinct, sum};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, cast, lit};

/// Sums of more than this many steps per row are made as decimals of 38 digits: 2³¹ steps in 2³² rows fit 64 bits.
const SMALL_STEPS: i64 = 1 << 31;

/// A plan with the types of its columns.
#[derive(Clone)]
pub(crate) struct TypedPlan {
    pub plan: LogicalPlan,
    /// The types that the columns must have, in order.
    pub kinds: Vec<DataType>,
}

impl TypedPlan {
    /// Whether rows are as they were planned: anything else is a mistake of ours or of the backend, and must not be
    /// published.
    pub fn check(&self, batch: &RecordBatch) -> DataFusionResult<()> {
        same(&self.kinds, batch.columns().iter().map(|column| column.data_type()))
    }

    /// All rows.
    pub fn collect(self, backend: &Backend) -> Result<Vec<RecordBatch>> {
        let frame = backend.run(self.plan.clone());
        let batches = backend.wait(async {
            let (plan, task) = backend.physical(&frame, 1.0).await?;
            datafusion::physical_plan::collect(plan, task).await
        });
        let batches = batches.map_err(|error| failed_on_data(&error))?;
        batches.iter().try_for_each(|batch| self.check(batch)).map_err(|error| failed_on_data(&error))?;
        Ok(batches)
    }
}

pub(super) fn same<'a>(planned: &[DataType], found: impl Iterator<Item = &'a DataType>) -> DataFusionResult<()> {
    match planned.iter().eq(found) {
        true => Ok(()),
        false => Err(DataFusionError::Internal("columns of other types than planned".to_string())),
    }
}

/// Everything that runs over the rows of a query: the rows themselves where they have owners, otherwise their sums.
pub(crate) fn over(execution: &Execution, rows: TypedPlan) -> Result<Vec<TypedPlan>> {
    if let RowOwners::Named(_) = execution.owners() {
        return Ok(vec![rows]);
    }
    let measured = (!execution.sums().is_empty()).then(|| summed(execution, rows.clone()));
    let ranked = execution.ranked().iter().map(|ranked| counted(execution, rows.clone(), ranked));
    measured.into_iter().chain(ranked).collect()
}

/// What does not fit the files.
pub(crate) fn unfit(error: &DataFusionError) -> Error {
    let message = error.strip_backtrace();
    let line = message.lines().next().unwrap_or_default().to_string();
    Error::input(format!("query: it does not fit the tables' files ({line})"))
}

/// Each row: its owner where there is one, its keys, the values of the measures that have one, the values that are
/// ranked.
pub(crate) fn rows(execution: &Execution, backend: &Backend) -> Result<TypedPlan> {
    let plan = backend.with_sources(execution.plan().clone()).map_err(|error| unfit(&error))?;
    joined_on_one_type(&plan)?;
    projected(execution, plan).map_err(|error| unfit(&error))
}

/// The same over another plan of what is below the aggregate.
pub(crate) fn projected(execution: &Execution, plan: LogicalPlan) -> DataFusionResult<TypedPlan> {
    let (mut columns, mut kinds) = (Vec::new(), Vec::new());
    if let RowOwners::Named(owned) = execution.owners() {
        let owner = Expr::Column(owned.column.clone());
        kinds.push(owner.get_type(plan.schema())?);
        columns.push(owner.alias(&owned.name));
    }
    let read = execution.read();
    for column in read.keys.iter().chain(&read.values) {
        kinds.push(column.kind.clone());
        columns.push(column.expression.clone().alias(&column.name));
    }
    Ok(TypedPlan { plan: LogicalPlanBuilder::from(plan).project(columns)?.build()?, kinds })
}

/// The measures by key.
pub(crate) fn summed(execution: &Execution, rows: TypedPlan) -> Result<TypedPlan> {
    let mut kinds = key_kinds(execution);
    let mut aggregates = Vec::new();
    for one in execution.sums() {
        let value = || one.value.map_or_else(|| lit(1i64), |place| own(&execution.columns().values[place]));
        let small = one.range.0.abs().max(one.range.1.abs()) < SMALL_STEPS;
        let decimal = DataType::Decimal128(38, 0);
        let (aggregate, kind) = match one.what {
            Summand::Owners | Summand::Rows | Summand::Present => (count(value()), DataType::Int64),
            Summand::Different => (count_distinct(value()), DataType::Int64),
            Summand::Steps { .. } | Summand::Squares { .. } if small => (sum(value()), DataType::Int64),
            Summand::Steps { .. } | Summand::Squares { .. } => (sum(cast(value(), decimal.clone())), decimal),
        };
        aggregates.push(aggregate.alias(&one.name));
        kinds.push(kind);
    }
    let by = execution.columns().keys.iter().map(own);
    let plan = LogicalPlanBuilder::from(rows.plan).aggregate(by, aggregates).and_then(LogicalPlanBuilder::build);
    Ok(TypedPlan { plan: plan.map_err(|error| unfit(&error))?, kinds })
}

/// How often each value of a ranked column occurs, by key.
pub(crate) fn counted(execution: &Execution, rows: TypedPlan, ranked: &CellRank) -> Result<TypedPlan> {
    let columns = execution.columns();
    let by = columns.keys.iter().chain([&columns.values[ranked.value]]).map(own);
    let times = count(lit(1i64)).alias(execution.times());
    let plan = LogicalPlanBuilder::from(rows.plan).aggregate(by, [times]).and_then(LogicalPlanBuilder::build);
    let mut kinds = key_kinds(execution);
    kinds.extend([DataType::Int64, DataType::Int64]);
    Ok(TypedPlan { plan: plan.map_err(|error| unfit(&error))?, kinds })
}

fn key_kinds(execution: &Execution) -> Vec<DataType> {
    execution.keys().iter().map(|key| key.kind.clone()).collect()
}

fn own(column: &RowColumn) -> Expr {
    Expr::Column(Column::new_unqualified(&column.name))
}

/// Owners are compared as they are. Those of two files may have two types, which only the files tell; made alike, the
/// texts "1" and "01" would be one owner.
fn joined_on_one_type(plan: &LogicalPlan) -> Result<()> {
    let mut unlike = None;
    let walked = plan.apply(|node| {
        if let LogicalPlan::Join(join) = node {
            for (left, right) in conditions(join).0 {
                let kinds = (left.get_type(join.left.schema())?, right.get_type(join.right.schema())?);
                if kinds.0 != kinds.1 {
                    unlike = Some((left.to_string(), kinds.0, right.to_string(), kinds.1));
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map_err(|error| unfit(&error))?;
    let named = |kind: &DataType| if kind.is_integer() { "whole numbers" } else { "strings" };
    match unlike {
        None => Ok(()),
        Some((left, one, right, other)) => Err(Error::input(format!(
            "query: the join needs one type of owner, but {left} holds {} and {right} holds {}; store both with one \
                type",
            named(&one),
            named(&other)
        ))),
    }
}
