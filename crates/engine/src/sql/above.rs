//! What is above the aggregate: arithmetic, HAVING, ORDER BY and LIMIT on released numbers. Post-processing, which
//! costs nothing.
//!
//! The plan above is run by DataFusion as it is, on a table of released numbers in the aggregate's place. What an
//! output column would be if these were others, which error bars are made of, is in [`crate::sql::above::derivation`].

pub(crate) mod derivation;
pub(crate) mod formula;

use crate::error::{Error, Result};
use crate::sql::above::derivation::{failed, mentioned};
use crate::sql::analyse::total::total_plan;
use crate::tables::Backend;
use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use datafusion::arrow::compute::{cast, concat, concat_batches};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, DataFusionError};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, LogicalPlanBuilder, Projection, Window};
use std::collections::HashMap;
use std::sync::Arc;

/// The query's answer.
pub(crate) struct QueryAnswer {
    /// The rows.
    pub batch: RecordBatch,
    /// For each output row, the released row that it comes from.
    pub rows: Vec<usize>,
}

/// Where an output column comes from.
pub(crate) struct Output {
    /// Its name.
    pub name: String,
    /// The aggregate that it is as it is, if it is one.
    pub direct: Option<usize>,
    /// All aggregates that it depends on, each once.
    pub aggregates: Vec<usize>,
    /// Whether it is a column of numbers.
    pub is_number: bool,
    /// What it is, over the aggregate's columns.
    pub expression: Expr,
    /// Whether it depends on other rows, by a window function.
    pub windowed: bool,
}

/// Where each output column comes from.
pub(crate) fn outputs(plan: &LogicalPlan, aggregate: &Aggregate) -> Result<Vec<Output>> {
    let keys = aggregate.group_expr.len();
    let output = |(expression, field): (Expr, &FieldRef)| {
        let columns = mentioned(&expression, aggregate);
        let mut aggregates: Vec<usize> = columns.into_iter().filter_map(|column| column.checked_sub(keys)).collect();
        aggregates.sort_unstable();
        aggregates.dedup();
        let direct = aggregates.first().copied().filter(|_| matches!(expression, Expr::Column(_)));
        let (name, is_number) = (field.name().clone(), field.data_type().is_numeric());
        let is_window = |node: &Expr| Ok(matches!(node, Expr::WindowFunction(_)));
        let windowed = expression.exists(is_window).unwrap_or(true);
        Output { name, direct, aggregates, is_number, expression, windowed }
    };
    Ok(expressions(plan, aggregate)?.into_iter().zip(plan.schema().fields()).map(output).collect())
}

/// Runs the plan above the aggregate on a released table: `columns` in the aggregate's order and types.
pub(crate) fn run(
    plan: &LogicalPlan,
    aggregate: &Aggregate,
    columns: &[ArrayRef],
    backend: &Backend,
) -> Result<QueryAnswer> {
    let batch = finished(plan, aggregate, columns, backend)?;
    let (rows, batch) = without_rows(&batch)?;
    Ok(QueryAnswer { batch, rows })
}

/// Runs what is above a union on what its branches gave, one behind the other: the rows of the answer, and the number
/// of the row of the union that each comes from.
pub(crate) fn run_union(
    plan: &LogicalPlan,
    parts: &[RecordBatch],
    backend: &Backend,
) -> Result<(RecordBatch, Vec<usize>)> {
    let width = parts.first().map_or(0, RecordBatch::num_columns);
    let columns = (0..width).map(|index| stacked(parts, index)).collect::<Result<Vec<ArrayRef>>>()?;
    let row = unused_name(plan);
    let plan = with_rows(plan, &columns, &row).and_then(total_plan).map_err(|error| failed(&error))?;
    let (rows, batch) = without_rows(&collected(plan, backend)?)?;
    Ok((batch, rows))
}

/// One column of all parts. Numbers of different types are what they are as fractions.
fn stacked(parts: &[RecordBatch], index: usize) -> Result<ArrayRef> {
    let columns: Vec<&ArrayRef> = parts.iter().map(|part| part.column(index)).collect();
    let same = columns.windows(2).all(|pair| pair[0].data_type() == pair[1].data_type());
    let typed = columns.into_iter().map(|column| match same {
        true => Ok(Arc::clone(column)),
        false => cast(column, &DataType::Float64),
    });
    let typed = typed.collect::<std::result::Result<Vec<_>, _>>();
    let stacked = typed.and_then(|all| concat(&all.iter().map(AsRef::as_ref).collect::<Vec<_>>()));
    stacked.map_err(|error| Error::machine(format!("released rows do not fit together ({error})")))
}

/// The plan with these rows in the place of its union.
fn with_rows(plan: &LogicalPlan, columns: &[ArrayRef], row: &str) -> std::result::Result<LogicalPlan, DataFusionError> {
    match plan {
        LogicalPlan::Union(union) => table(&union.schema, columns, Some(row)),
        other => passed_on(other, |input| with_rows(input, columns, row)),
    }
}

/// The whole plan above, on released numbers, with the row number as its last column.
fn finished(plan: &LogicalPlan, aggregate: &Aggregate, columns: &[ArrayRef], backend: &Backend) -> Result<RecordBatch> {
    let row = unused_name(plan);
    let plan = replaced(plan, aggregate, columns, &row).and_then(total_plan).map_err(|error| failed(&error))?;
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

/// The plan with the released table in the aggregate's place.
fn replaced(
    plan: &LogicalPlan,
    aggregate: &Aggregate,
    columns: &[ArrayRef],
    row: &str,
) -> std::result::Result<LogicalPlan, DataFusionError> {
    match plan {
        LogicalPlan::Aggregate(_) => table(&aggregate.schema, columns, Some(row)),
        other => passed_on(other, |input| replaced(input, aggregate, columns, row)),
    }
}

/// A node over another input, whose last column is the row number: every projection passes it on, as its last column.
fn passed_on(
    plan: &LogicalPlan,
    input: impl Fn(&LogicalPlan) -> std::result::Result<LogicalPlan, DataFusionError>,
) -> std::result::Result<LogicalPlan, DataFusionError> {
    match plan {
        LogicalPlan::Projection(projection) => {
            let input = input(&projection.input)?;
            let (qualifier, field) = input.schema().qualified_field(input.schema().fields().len() - 1);
            let row = Expr::Column(Column::new(qualifier.cloned(), field.name()));
            let expressions = projection.expr.iter().cloned().chain([row]).collect();
            Ok(LogicalPlan::Projection(Projection::try_new(expressions, Arc::new(input))?))
        }
        // A window function's column stands behind all others: the row number goes behind it.
        LogicalPlan::Window(window) => {
            let input = input(&window.input)?;
            let (qualifier, field) = input.schema().qualified_field(input.schema().fields().len() - 1);
            let row = Column::new(qualifier.cloned(), field.name());
            let made = LogicalPlan::Window(Window::try_new(window.window_expr.clone(), Arc::new(input))?);
            let others = made.schema().columns().into_iter().filter(|column| *column != row);
            let expressions = others.chain([row.clone()]).map(Expr::Column).collect();
            Ok(LogicalPlan::Projection(Projection::try_new(expressions, Arc::new(made))?))
        }
        other => {
            let inputs = other.inputs().into_iter().map(input);
            other.with_new_exprs(other.expressions(), inputs.collect::<std::result::Result<_, _>>()?)
        }
    }
}

fn collected(plan: LogicalPlan, backend: &Backend) -> Result<RecordBatch> {
    if plan.exists(|node| Ok(counts_back(node))).unwrap_or(false) {
        return Err(Error::input("query: LIMIT and OFFSET take a whole number that is not negative"));
    }
    let schema = Arc::clone(plan.schema().inner());
    let frame = datafusion::prelude::DataFrame::new(backend.context.state(), plan);
    let batches = backend.wait(frame.collect()).map_err(|error| failed(&error))?;
    let schema = batches.first().map_or(schema, RecordBatch::schema);
    concat_batches(&schema, &batches)
        .map_err(|error| Error::machine(format!("released rows do not fit together ({error})")))
}

/// Whether a LIMIT or OFFSET is negative.
fn counts_back(node: &LogicalPlan) -> bool {
    matches!(node, LogicalPlan::Limit(limit) if limit.get_skip_type().is_err() || limit.get_fetch_type().is_err())
}

/// A plan that gives the released columns with the names of `schema`, and behind them the row numbers if they have a
/// name.
fn table(
    schema: &DFSchema,
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
    let held = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&held), columns)?;
    let memory = MemTable::try_new(held, vec![vec![batch]])?;
    let scan = LogicalPlanBuilder::scan("scumble released", provider_as_source(Arc::new(memory)), None)?.build()?;
    let names = schema.iter().map(|(qualifier, field)| (qualifier.cloned(), field.name().clone()));
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

/// What windows over the numbers of released rows say, in the order of these rows; `windows` are made of the column of
/// these numbers.
pub(crate) fn over_rows(
    aggregate: &Aggregate,
    columns: &[ArrayRef],
    windows: impl Fn(&Expr) -> Vec<Expr>,
    backend: &Backend,
) -> Result<Vec<ArrayRef>> {
    let mut name = "scumble row".to_string();
    while aggregate.schema.fields().iter().any(|field| *field.name() == name) {
        name.push('\'');
    }
    let row = Expr::Column(Column::new_unqualified(&name));
    let windows = windows(&row);
    let mut different: Vec<Expr> = Vec::new();
    windows.iter().for_each(|window| {
        if !different.contains(window) {
            different.push(window.clone());
        }
    });
    let plan = || {
        let released = table(&aggregate.schema, columns, Some(&name))?;
        let plan = LogicalPlanBuilder::from(LogicalPlanBuilder::window_plan(released, different.clone())?);
        let made = different.iter().map(|window| Column::from_name(window.schema_name().to_string()));
        let made = made.map(Expr::Column).chain([row.clone()]);
        plan.project(made)?.sort([row.clone().sort(true, false)])?.build()
    };
    let found = collected(plan().map_err(|error| failed(&error))?, backend)?;
    let place = |window: &Expr| different.iter().position(|other| other == window).unwrap_or_default();
    Ok(windows.iter().map(|window| Arc::clone(found.column(place(window)))).collect())
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
        LogicalPlan::Window(window) => {
            let inner = expressions(&window.input, aggregate)?;
            let names: HashMap<Column, Expr> =
                window.input.schema().columns().into_iter().zip(inner.iter().cloned()).collect();
            let made = window.window_expr.iter().map(|expression| substituted(expression, &names));
            let made = made.collect::<Result<Vec<Expr>>>()?;
            Ok(inner.into_iter().chain(made).collect())
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
    replaced.map(|replaced| replaced.data).map_err(|error| failed(&error))
}
