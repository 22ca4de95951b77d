//! What is below the aggregate as plans that run: first of each row its owner, keys and values, in columns with names of our own, so
//! that no two are taken for one; then, where each row is one person, their sums.
//!
//! The expressions are those that were analysed: [`Backend::run`] puts no cast in.

use crate::error::{Error, Result};
use crate::sql::Cut;
use crate::sql::analyse::below::{Ownership, conditions};
use crate::sql::analyse::query::{Measure, What};
use crate::tables::{Backend, failed_on_data};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DataFusionError};
use datafusion::functions_aggregate::expr_fn::{count, count_distinct, sum};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, cast, lit, when};

type Outcome<T> = std::result::Result<T, DataFusionError>;

/// Sums of more than this many steps per row are made as decimals of 38 digits: 2³¹ steps in 2³² rows fit 64 bits.
const SMALL_STEPS: i64 = 1 << 31;

/// A plan with the types of its columns.
#[derive(Clone)]
pub(crate) struct Executed {
    pub plan: LogicalPlan,
    /// The types that the columns must have, in order.
    pub kinds: Vec<DataType>,
}

impl Executed {
    /// Whether rows are as they were planned: anything else is a mistake of ours or of the backend, and must not be published.
    pub fn check(&self, batch: &RecordBatch) -> Outcome<()> {
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

pub(super) fn same<'a>(planned: &[DataType], found: impl Iterator<Item = &'a DataType>) -> Outcome<()> {
    match planned.iter().eq(found) {
        true => Ok(()),
        false => Err(DataFusionError::Internal("columns of other types than planned".to_string())),
    }
}

/// Everything that runs over the rows of a query: the rows themselves where they have owners, otherwise their sums.
pub(crate) fn over(cut: &Cut, rows: Executed) -> Result<Vec<Executed>> {
    if let Ownership::Named(_) = &cut.below.owner {
        return Ok(vec![rows]);
    }
    let measured = (!cut.query.measures.is_empty()).then(|| summed(cut, rows.clone()));
    let ranked = (0..cut.query.ranked.len()).map(|index| counted(cut, rows.clone(), index));
    measured.into_iter().chain(ranked).collect()
}

/// What does not fit the files.
pub(crate) fn unfit(error: &DataFusionError) -> Error {
    let message = error.strip_backtrace();
    let line = message.lines().next().unwrap_or_default().to_string();
    Error::input(format!("query: it does not fit the tables' files ({line})"))
}

/// Each row: its owner where there is one, its keys, the values of the measures that have one, the values that are ranked.
pub(crate) fn rows(cut: &Cut, backend: &Backend) -> Result<Executed> {
    let plan = backend.with_sources(cut.below.plan.clone()).map_err(|error| unfit(&error))?;
    joined_on_one_type(&plan)?;
    projected(cut, plan).map_err(|error| unfit(&error))
}

/// The same over another plan of what is below the aggregate.
pub(crate) fn projected(cut: &Cut, plan: LogicalPlan) -> Outcome<Executed> {
    let mut columns = Vec::new();
    let mut kinds = Vec::new();
    if let Ownership::Named(owner) = &cut.below.owner {
        let owner = Expr::Column(owner.clone());
        kinds.push(owner.get_type(plan.schema())?);
        columns.push(owner.alias(cut.hidden.name("owner")));
    }
    for (index, key) in cut.row_keys().iter().enumerate() {
        kinds.push(key.kind.clone());
        columns.push(key.expression.clone().alias(key_name(cut, index)));
    }
    if let Some(first) = &cut.per_owner {
        for (index, (value, kind)) in first.values.iter().enumerate() {
            kinds.push(kind.clone());
            columns.push(value.clone().alias(value_name(cut, index)));
        }
        return Ok(Executed { plan: LogicalPlanBuilder::from(plan).project(columns)?.build()?, kinds });
    }
    for (index, measure) in cut.query.measures.iter().enumerate() {
        let Some(value) = value(measure)? else { continue };
        kinds.push(if measure.what == What::Different { DataType::Utf8 } else { DataType::Int64 });
        columns.push(value.alias(value_name(cut, index)));
    }
    for (index, ranked) in cut.query.ranked.iter().enumerate() {
        kinds.push(DataType::Int64);
        columns.push(ranked.column().alias(ranked_name(cut, index)));
    }
    if columns.is_empty() {
        kinds.push(DataType::Int64);
        columns.push(lit(1i64).alias(cut.hidden.name("row")));
    }
    Ok(Executed { plan: LogicalPlanBuilder::from(plan).project(columns)?.build()?, kinds })
}

/// What a row brings to a measure, NULL for nothing: whole numbers, and texts where different ones are counted.
pub(crate) fn value(measure: &Measure) -> Outcome<Option<Expr>> {
    let Some(expression) = measure.column() else { return Ok(None) };
    Ok(Some(match measure.what {
        What::Present => when(expression.is_not_null(), lit(1i64)).end()?,
        What::Different => cast(expression, DataType::Utf8),
        _ => expression,
    }))
}

/// The measures by key.
pub(crate) fn summed(cut: &Cut, rows: Executed) -> Result<Executed> {
    let mut kinds: Vec<DataType> = cut.query.keys.iter().map(|key| key.kind.clone()).collect();
    let mut aggregates = Vec::new();
    for (index, measure) in cut.query.measures.iter().enumerate() {
        let value = || own(value_name(cut, index));
        let small = measure.range.0.abs().max(measure.range.1.abs()) < SMALL_STEPS;
        let decimal = DataType::Decimal128(38, 0);
        let (aggregate, kind) = match measure.what {
            What::Owners | What::Rows => (count(lit(1i64)), DataType::Int64),
            What::Present => (count(value()), DataType::Int64),
            What::Different => (count_distinct(value()), DataType::Int64),
            What::Steps { .. } | What::Squares { .. } if small => (sum(value()), DataType::Int64),
            What::Steps { .. } | What::Squares { .. } => (sum(cast(value(), decimal.clone())), decimal),
        };
        aggregates.push(aggregate.alias(cut.hidden.name(&format!("measure {index}"))));
        kinds.push(kind);
    }
    let plan = LogicalPlanBuilder::from(rows.plan).aggregate(keys(cut), aggregates).and_then(LogicalPlanBuilder::build);
    Ok(Executed { plan: plan.map_err(|error| unfit(&error))?, kinds })
}

/// How often each value of a ranked column occurs, by key.
pub(crate) fn counted(cut: &Cut, rows: Executed, index: usize) -> Result<Executed> {
    let by = keys(cut).into_iter().chain([own(ranked_name(cut, index))]);
    let times = count(lit(1i64)).alias(cut.hidden.name("times"));
    let plan = LogicalPlanBuilder::from(rows.plan).aggregate(by, [times]).and_then(LogicalPlanBuilder::build);
    let kinds = cut.query.keys.iter().map(|key| key.kind.clone()).chain([DataType::Int64, DataType::Int64]);
    Ok(Executed { plan: plan.map_err(|error| unfit(&error))?, kinds: kinds.collect() })
}

fn keys(cut: &Cut) -> Vec<Expr> {
    (0..cut.query.keys.len()).map(|index| own(key_name(cut, index))).collect()
}

fn own(name: String) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

fn key_name(cut: &Cut, index: usize) -> String {
    cut.hidden.name(&format!("key {index}"))
}

fn value_name(cut: &Cut, index: usize) -> String {
    cut.hidden.name(&format!("value {index}"))
}

fn ranked_name(cut: &Cut, index: usize) -> String {
    cut.hidden.name(&format!("ranked {index}"))
}

/// Owners are compared as they are. Those of two files may have two types, which only the files tell; made alike, the texts "1" and
/// "01" would be one owner.
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
    let named = |kind: &DataType| if kind.is_integer() { "whole numbers" } else { "texts" };
    match unlike {
        None => Ok(()),
        Some((left, one, right, other)) => Err(Error::input(format!(
            "query: the join needs one type of owner, but {left} holds {} and {right} holds {}; store both alike",
            named(&one),
            named(&other)
        ))),
    }
}
