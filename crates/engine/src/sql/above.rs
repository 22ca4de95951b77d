//! What is above the aggregate: arithmetic, HAVING, ORDER BY and LIMIT on released numbers. Post-processing, which costs nothing.
//!
//! The plan above is run by DataFusion as it is, on a table of released numbers in the aggregate's place. Error bars go the same way:
//! each released number is moved up and down by its standard error, and what that does to an output column adds up ([`Spread`]).

use super::Source;
use super::total::{total, total_plan};
use crate::backend::Backend;
use crate::error::{Error, Result};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch};
use datafusion::arrow::compute::{cast, concat, concat_batches};
use datafusion::arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DataFusionError};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, LogicalPlanBuilder, Projection};
use std::collections::HashMap;
use std::sync::Arc;

/// Finds the one aggregate under projections, filters, sorts and limits.
pub(super) fn find_aggregate(plan: &LogicalPlan, source: &Source<'_>) -> Result<Aggregate> {
    match plan {
        LogicalPlan::Aggregate(aggregate) => Ok(aggregate.clone()),
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::SubqueryAlias(_) => match plan.inputs().first() {
            Some(input) => find_aggregate(input, source),
            None => Err(no_aggregate(source)),
        },
        LogicalPlan::TableScan(_) | LogicalPlan::EmptyRelation(_) | LogicalPlan::Values(_) => Err(no_aggregate(source)),
        LogicalPlan::Join(join) => {
            let holds =
                |plan: &LogicalPlan| plan.exists(|node| Ok(matches!(node, LogicalPlan::Aggregate(_)))).unwrap_or(true);
            if holds(&join.left) || holds(&join.right) {
                return Err(source.error("join", "a join of aggregates is not answered; release each by itself"));
            }
            Err(no_aggregate(source))
        }
        other => Err(source.error("", format!("{} is not answered above the aggregate", other.display()))),
    }
}

fn no_aggregate(source: &Source<'_>) -> Error {
    source.error("select", "the query has no aggregate, and rows are never published; use COUNT, SUM, AVG …")
}

/// The columns as they would be with one of the noises one standard deviation up and down.
pub(crate) struct Moved {
    pub up: Vec<ArrayRef>,
    pub down: Vec<ArrayRef>,
    /// The excess kurtosis of that noise.
    pub kurtosis: f64,
}

/// How far a released number may be off.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Spread {
    pub standard_error: f64,
    /// The excess kurtosis: of a sum of independent noises, their fourth cumulants over the squared variance.
    pub kurtosis: f64,
}

impl Spread {
    /// The half width of a 95% interval, by the expansion of a quantile in cumulants (Cornish and Fisher 1938): for one Laplace noise
    /// 2.17 standard errors, which cover 95.3%, where the 1.96 of a normal law cover 93.7%.
    pub fn half_width(&self) -> f64 {
        const NORMAL: f64 = 1.959_963_984_540_054;
        self.standard_error * (NORMAL + (NORMAL.powi(3) - 3.0 * NORMAL) * self.kurtosis / 24.0)
    }
}

/// The query's answer.
pub(crate) struct QueryAnswer {
    /// The rows.
    pub batch: RecordBatch,
    /// For each output column that depends on noise and is a number: how far its rows may be off.
    pub errors: Vec<Option<Vec<Spread>>>,
    /// Where each output column comes from.
    pub outputs: Vec<Output>,
    /// For each output row, the released row that it comes from.
    pub rows: Vec<usize>,
}

/// Where an output column comes from.
pub(crate) struct Output {
    /// Its name.
    pub name: String,
    /// The aggregate that it is as it is, if it is one.
    pub direct: Option<usize>,
    /// All aggregates that it depends on.
    pub aggregates: Vec<usize>,
}

/// Where each output column comes from.
pub(crate) fn outputs(plan: &LogicalPlan, aggregate: &Aggregate) -> Result<Vec<Output>> {
    let keys = aggregate.group_expr.len();
    let names = plan.schema().fields().iter().map(|field| field.name().clone());
    let output = |(expression, name): (Expr, String)| {
        let columns = mentioned(&expression, aggregate);
        let aggregates: Vec<usize> = columns.into_iter().filter_map(|column| column.checked_sub(keys)).collect();
        let direct = aggregates.first().copied().filter(|_| matches!(expression, Expr::Column(_)));
        Output { name, direct, aggregates }
    };
    Ok(expressions(plan, aggregate)?.into_iter().zip(names).map(output).collect())
}

/// For each output column that is a number and depends on noise, how far each released row may be off.
pub(crate) type Errors = Vec<Option<Vec<Spread>>>;

/// Runs the plan above the aggregate on a released table: `columns` in the aggregate's order and types, `errors` as
/// [`column_errors`] gives them for the same rows.
pub(crate) fn run(
    plan: &LogicalPlan,
    aggregate: &Aggregate,
    columns: &[ArrayRef],
    errors: Errors,
    backend: &Backend,
) -> Result<QueryAnswer> {
    let batch = finished(plan, aggregate, columns, backend)?;
    let (rows, batch) = without_rows(&batch)?;
    let errors = errors.into_iter().map(|errors| errors.map(|all| rows.iter().map(|row| all[*row]).collect()));
    Ok(QueryAnswer { errors: errors.collect(), batch, outputs: outputs(plan, aggregate)?, rows })
}

/// For each output column that is a number and depends on noise, the spread in each released row (before HAVING, ORDER BY and LIMIT):
/// what each noise does to it adds up in squares, and in fourth powers for the kurtosis.
pub(crate) fn column_errors(
    plan: &LogicalPlan,
    aggregate: &Aggregate,
    rows: usize,
    moved: &[Moved],
    backend: &Backend,
) -> Result<Errors> {
    let outputs = expressions(plan, aggregate)?;
    let keys = aggregate.group_expr.len();
    let mut sums: Vec<Option<Vec<Cumulants>>> = plan
        .schema()
        .fields()
        .iter()
        .zip(&outputs)
        .map(|(field, expression)| {
            let noisy = mentioned(expression, aggregate).iter().any(|column| *column >= keys);
            (noisy && field.data_type().is_numeric()).then(|| vec![Cumulants::default(); rows])
        })
        .collect();
    // All moved tables below one another: planning and running once is most of the time for few rows.
    let below_one_another = stacked(moved)?;
    if let Some(table) = below_one_another.filter(|_| rows > 0) {
        let answers = evaluated(&outputs, aggregate, &table, backend)?;
        for (index, sum) in sums.iter_mut().enumerate() {
            let Some(sum) = sum else { continue };
            let numbers = numbers(answers.column(index))?;
            for (pair, noise) in numbers.chunks_exact(2 * rows).zip(moved) {
                let (up, down) = pair.split_at(rows);
                for (total, (up, down)) in sum.iter_mut().zip(up.iter().zip(down)) {
                    total.add((up - down) / 2.0, noise.kurtosis);
                }
            }
        }
    }
    let spreads = |sums: Vec<Cumulants>| sums.into_iter().map(Cumulants::spread).collect();
    Ok(sums.into_iter().map(|sums| sums.map(spreads)).collect())
}

/// The second and the fourth cumulant of a sum of independent noises.
#[derive(Debug, Clone, Copy, Default)]
struct Cumulants {
    second: f64,
    fourth: f64,
}

impl Cumulants {
    fn add(&mut self, deviation: f64, kurtosis: f64) {
        let square = deviation * deviation;
        self.second += square;
        self.fourth += kurtosis * square * square;
    }

    fn spread(self) -> Spread {
        let kurtosis = if self.second > 0.0 { self.fourth / (self.second * self.second) } else { 0.0 };
        Spread { standard_error: self.second.sqrt(), kurtosis }
    }
}

/// The columns of all tables, one table below the other.
fn stacked(moved: &[Moved]) -> Result<Option<Vec<ArrayRef>>> {
    let tables: Vec<&Vec<ArrayRef>> = moved.iter().flat_map(|moved| [&moved.up, &moved.down]).collect();
    let Some(first) = tables.first() else { return Ok(None) };
    let column = |index: usize| {
        let parts: Vec<&dyn Array> = tables.iter().map(|table| table[index].as_ref()).collect();
        concat(&parts).map_err(|error| Error::machine(format!("released columns do not fit together ({error})")))
    };
    (0..first.len()).map(column).collect::<Result<Vec<ArrayRef>>>().map(Some)
}

fn numbers(column: &ArrayRef) -> Result<Vec<f64>> {
    let column = cast(column, &DataType::Float64).map_err(|_| Error::machine("an output column is not a number"))?;
    Ok(column.as_primitive::<Float64Type>().iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}

/// The output expressions on the released table, for all its rows in their order.
fn evaluated(outputs: &[Expr], aggregate: &Aggregate, columns: &[ArrayRef], backend: &Backend) -> Result<RecordBatch> {
    let attempt = || {
        let base = table(aggregate, columns, None)?;
        let mut expressions: Vec<Expr> = Vec::new();
        for (index, expression) in outputs.iter().enumerate() {
            expressions.push(total(expression.clone(), base.schema())?.alias(format!("output {index}")));
        }
        LogicalPlanBuilder::from(base).project(expressions).and_then(LogicalPlanBuilder::build)
    };
    collected(attempt().map_err(|error| post(&error))?, backend)
}

/// The whole plan above, on released numbers, with the row number as its last column.
fn finished(plan: &LogicalPlan, aggregate: &Aggregate, columns: &[ArrayRef], backend: &Backend) -> Result<RecordBatch> {
    let row = unused_name(plan);
    let plan = replaced(plan, aggregate, columns, &row).and_then(total_plan).map_err(|error| post(&error))?;
    collected(plan, backend)
}

/// A name for the row numbers that no column of the plan has.
fn unused_name(plan: &LogicalPlan) -> String {
    let mut name = "scumble row".to_string();
    let is_used = |name: &str| {
        plan.exists(|node| Ok(node.schema().fields().iter().any(|field| field.name() == name))).unwrap_or(true)
    };
    while is_used(&name) {
        name.push('\'');
    }
    name
}

/// The plan with the released table in the aggregate's place; every projection passes the row number on, as its last column.
fn replaced(
    plan: &LogicalPlan,
    aggregate: &Aggregate,
    columns: &[ArrayRef],
    row: &str,
) -> std::result::Result<LogicalPlan, DataFusionError> {
    match plan {
        LogicalPlan::Aggregate(_) => table(aggregate, columns, Some(row)),
        LogicalPlan::Projection(projection) => {
            let input = replaced(&projection.input, aggregate, columns, row)?;
            let (qualifier, field) = input.schema().qualified_field(input.schema().fields().len() - 1);
            let row = Expr::Column(Column::new(qualifier.cloned(), field.name()));
            let expressions = projection.expr.iter().cloned().chain([row]).collect();
            Ok(LogicalPlan::Projection(Projection::try_new(expressions, Arc::new(input))?))
        }
        other => {
            let inputs = other.inputs().into_iter().map(|input| replaced(input, aggregate, columns, row));
            other.with_new_exprs(other.expressions(), inputs.collect::<std::result::Result<_, _>>()?)
        }
    }
}

fn collected(plan: LogicalPlan, backend: &Backend) -> Result<RecordBatch> {
    let schema = Arc::clone(plan.schema().inner());
    let frame = datafusion::prelude::DataFrame::new(backend.context.state(), plan);
    let batches = backend.wait(frame.collect()).map_err(|error| post(&error))?;
    let schema = batches.first().map_or(schema, RecordBatch::schema);
    concat_batches(&schema, &batches)
        .map_err(|error| Error::machine(format!("released rows do not fit together ({error})")))
}

/// What is wrong above the aggregate; only released numbers can be in it.
fn post(error: &DataFusionError) -> Error {
    let message = error.strip_backtrace();
    Error::input(format!(
        "query: what is done with the aggregates fails ({})",
        message.lines().next().unwrap_or_default()
    ))
}

/// A plan that gives the released columns with the aggregate's names, and behind them the row numbers if they have a name.
fn table(
    aggregate: &Aggregate,
    columns: &[ArrayRef],
    row: Option<&str>,
) -> std::result::Result<LogicalPlan, DataFusionError> {
    let mut fields: Vec<Field> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| Field::new(format!("released {index}"), column.data_type().clone(), true))
        .collect();
    let mut columns = columns.to_vec();
    if let Some(row) = row {
        let count = columns.first().map_or(0, |column| column.len()) as i64;
        fields.push(Field::new(row, DataType::Int64, false));
        columns.push(Arc::new(Int64Array::from_iter_values(0..count)));
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns)?;
    let memory = MemTable::try_new(Arc::clone(&schema), vec![vec![batch]])?;
    let scan = LogicalPlanBuilder::scan("scumble released", provider_as_source(Arc::new(memory)), None)?.build()?;
    let names = aggregate.schema.iter().map(|(qualifier, field)| (qualifier.cloned(), field.name().clone()));
    let names = names.chain(row.map(|row| (None, row.to_string())));
    let expressions: Vec<Expr> = scan
        .schema()
        .columns()
        .into_iter()
        .zip(names)
        .map(|(column, (qualifier, name))| Expr::Column(column).alias_qualified(qualifier, name))
        .collect();
    Ok(LogicalPlan::Projection(Projection::try_new(expressions, Arc::new(scan))?))
}

/// Takes the row numbers off.
fn without_rows(batch: &RecordBatch) -> Result<(Vec<usize>, RecordBatch)> {
    let last = batch.num_columns() - 1;
    let rows = batch.column(last).as_primitive::<Int64Type>().values().iter().map(|row| *row as usize).collect();
    let kept: Vec<usize> = (0..last).collect();
    let batch = batch.project(&kept).map_err(|error| Error::machine(error.to_string()))?;
    Ok((rows, batch))
}

/// Each output column as an expression over the aggregate's columns.
fn expressions(plan: &LogicalPlan, aggregate: &Aggregate) -> Result<Vec<Expr>> {
    match plan {
        LogicalPlan::Aggregate(_) => Ok(aggregate.schema.columns().into_iter().map(Expr::Column).collect()),
        LogicalPlan::Projection(projection) => {
            let inner = expressions(&projection.input, aggregate)?;
            let names: HashMap<Column, Expr> = projection.input.schema().columns().into_iter().zip(inner).collect();
            projection.expr.iter().map(|expression| substituted(expression, &names)).collect()
        }
        other => match other.inputs().first() {
            Some(input) => expressions(input, aggregate),
            None => Err(Error::machine("a plan without its aggregate")),
        },
    }
}

fn substituted(expression: &Expr, names: &HashMap<Column, Expr>) -> Result<Expr> {
    let replaced = expression.clone().transform_up(|node| match &node {
        Expr::Column(column) => match names.get(column) {
            Some(inner) => Ok(Transformed::yes(inner.clone())),
            None => Ok(Transformed::no(node)),
        },
        Expr::Alias(alias) => Ok(Transformed::yes(alias.expr.as_ref().clone())),
        _ => Ok(Transformed::no(node)),
    });
    replaced.map(|replaced| replaced.data).map_err(|error| post(&error))
}

/// The aggregate's columns that an expression mentions, by index.
fn mentioned(expression: &Expr, aggregate: &Aggregate) -> Vec<usize> {
    let mut found = Vec::new();
    let _ = expression.apply(|node| {
        if let Expr::Column(column) = node {
            found.extend(aggregate.schema.maybe_index_of_column(column));
        }
        Ok(TreeNodeRecursion::Continue)
    });
    found
}
