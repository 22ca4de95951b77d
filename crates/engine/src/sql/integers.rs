//! Runs what is below the aggregate and sums up: exact integers per cell, before any noise.

use super::Cut;
use super::below::Ownership;
use super::measure::{Measure, What, column};
use crate::backend::bound::{Bounder, Owner};
use crate::backend::hash::{Key, SipHasher};
use crate::backend::{Backend, failed_on_data};
use crate::error::{Error, Result};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::functions_aggregate::expr_fn::{count, count_distinct, sum};
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, Partitioning, cast, lit, when};
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::prelude::DataFrame;
use futures::StreamExt;
use std::collections::{HashMap, HashSet};

/// The exact answer of a bounded plan.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Integers {
    /// The key of each cell.
    pub keys: Vec<Vec<ScalarValue>>,
    /// The measures of each cell.
    pub sums: Vec<Vec<i128>>,
}

/// Sums of more than this many steps per row are made as decimals of 38 digits: 2³¹ steps in 2³² rows fit 64 bits.
const SMALL_STEPS: i64 = 1 << 31;

/// Computes the measures of every cell: all cells of a public domain, or those that occur.
///
/// # Guarantee
/// Before: `key` does not depend on the data. After: the integers are a function of the rows as a multiset and of `key`, whatever the
/// order, the partitioning and the number of threads.
pub(crate) fn integers(cut: &Cut, backend: &Backend, key: Key) -> Result<Integers> {
    let cells = match (&cut.below.owner, cut.query.bounds) {
        (Ownership::Named(owner), Some(bounds)) => {
            let bounder = || Bounder::new(key, bounds, value_columns(cut).len());
            bounded(cut, backend, Expr::Column(owner.clone()), &bounder)?
        }
        _ => each_row(cut, backend)?,
    };
    Ok(completed(cut, cells))
}

type Cells = HashMap<Vec<ScalarValue>, Vec<i128>>;

/// All cells of a public domain in its order, or the occurring ones, sorted.
fn completed(cut: &Cut, mut cells: Cells) -> Integers {
    let width = cut.query.measures.len();
    let domains: Option<Vec<&Vec<ScalarValue>>> = cut.query.keys.iter().map(|key| key.domain.as_ref()).collect();
    let keys = match domains {
        Some(domains) => domains.into_iter().fold(vec![Vec::new()], |keys: Vec<Vec<ScalarValue>>, domain| {
            let extended =
                |key: &Vec<ScalarValue>, value: &ScalarValue| [key.as_slice(), std::slice::from_ref(value)].concat();
            keys.iter().flat_map(|key| domain.iter().map(move |value| extended(key, value))).collect()
        }),
        None => {
            let mut keys: Vec<Vec<ScalarValue>> = cells.keys().cloned().collect();
            keys.sort_by(|left, right| left.partial_cmp(right).unwrap_or(std::cmp::Ordering::Equal));
            keys
        }
    };
    let sums = keys.iter().map(|key| cells.remove(key).unwrap_or_else(|| vec![0; width])).collect();
    Integers { keys, sums }
}

/// The plan without rows that have no key.
fn keyed(cut: &Cut, backend: &Backend) -> std::result::Result<LogicalPlanBuilder, DataFusionError> {
    let builder = LogicalPlanBuilder::from(backend.with_sources(cut.below.plan.clone())?);
    cut.query.keys.iter().try_fold(builder, |builder, key| builder.filter(key.expression.clone().is_not_null()))
}

/// One row is one person: a plain aggregation, inside DataFusion.
fn each_row(cut: &Cut, backend: &Backend) -> Result<Cells> {
    let keys: Vec<Expr> = cut.query.keys.iter().map(|key| key.expression.clone()).collect();
    let sums = cut.query.measures.iter().enumerate().map(|(index, measure)| {
        let expression = measure.expression.clone().unwrap_or_else(|| lit(1));
        let aggregate = match measure.what {
            What::Owners | What::Rows => count(lit(1)),
            What::Present => count(expression),
            What::Different => count_distinct(expression),
            What::Steps { .. } | What::Squares { .. } => {
                let steps = column(measure).unwrap_or_else(|| lit(0));
                let small = measure.range.0.abs().max(measure.range.1.abs()) < SMALL_STEPS;
                sum(if small { steps } else { cast(steps, DataType::Decimal128(38, 0)) })
            }
        };
        aggregate.alias(format!("scumble measure {index}"))
    });
    let sums: Vec<Expr> = sums.collect();
    let plan = keyed(cut, backend)
        .and_then(|builder| builder.aggregate(keys, sums)?.build())
        .map_err(|error| failed_on_data(&error))?;
    let mut cells = Cells::new();
    for batch in backend.collect(plan)? {
        for row in 0..batch.num_rows() {
            let (key, sums) = row_of(&batch, row, cut.query.keys.len())?;
            cells.insert(key, sums);
        }
    }
    Ok(cells)
}

fn row_of(batch: &RecordBatch, row: usize, keys: usize) -> Result<(Vec<ScalarValue>, Vec<i128>)> {
    let values = batch.columns().iter().map(|column| ScalarValue::try_from_array(column, row));
    let mut values = values.collect::<std::result::Result<Vec<_>, _>>().map_err(|error| failed_on_data(&error))?;
    let sums = values.split_off(keys).into_iter().map(|value| match value {
        ScalarValue::Int64(number) => Ok(i128::from(number.unwrap_or(0))),
        ScalarValue::Decimal128(number, ..) => Ok(number.unwrap_or(0)),
        _ => Err(Error::machine("the backend gave a sum that is not a whole number")),
    });
    Ok((values, sums.collect::<Result<_>>()?))
}

/// The measures that have a column of values.
fn value_columns(cut: &Cut) -> Vec<&Measure> {
    cut.query.measures.iter().filter(|measure| measure.expression.is_some()).collect()
}

/// Rows have owners: partitions by owner, each bounded by itself.
fn bounded(cut: &Cut, backend: &Backend, owner: Expr, bounder: &dyn Fn() -> Bounder) -> Result<Cells> {
    let keys = cut.query.keys.len();
    let hidden = |index: usize| format!("scumble column {index}");
    let mut columns = vec![owner.clone().alias("scumble owner")];
    columns.extend(cut.query.keys.iter().enumerate().map(|(index, key)| key.expression.clone().alias(hidden(index))));
    for (index, measure) in value_columns(cut).into_iter().enumerate() {
        columns.push(value_column(measure)?.alias(hidden(keys + index)));
    }
    let partitions = std::thread::available_parallelism().map_or(1, usize::from);
    let plan = keyed(cut, backend)
        .and_then(|builder| builder.filter(owner.is_not_null())?.project(columns)?.build())
        .map_err(|error| failed_on_data(&error))?;
    let frame = DataFrame::new(backend.context.state(), plan);
    let by_owner = Partitioning::Hash(vec![datafusion::prelude::ident("scumble owner")], partitions);
    let parts = backend
        .wait(async {
            let streams = frame.repartition(by_owner)?.execute_stream_partitioned().await?;
            let tasks: Vec<_> = streams
                .into_iter()
                .map(|stream| tokio::spawn(consume(stream, Part::new(bounder(), keys, cut.query.measures.clone()))))
                .collect();
            let mut parts = Vec::new();
            for task in tasks {
                parts.push(task.await.map_err(|error| DataFusionError::External(Box::new(error)))??);
            }
            Ok(parts)
        })
        .map_err(|error: DataFusionError| failed_on_data(&error))?;
    Ok(merged(parts, &cut.query.measures))
}

/// A measure's value as a whole number, NULL for nothing. Texts of COUNT(DISTINCT …) stay texts.
fn value_column(measure: &Measure) -> Result<Expr> {
    let expression = column(measure).unwrap_or_else(|| lit(1i64));
    match measure.what {
        What::Present => when(expression.is_not_null(), lit(1i64)).end().map_err(|error| failed_on_data(&error)),
        What::Different => Ok(cast(expression, DataType::Utf8)),
        _ => Ok(expression),
    }
}

/// What one partition has found: its cells, and the different values of each.
type PartResult = HashMap<Vec<ScalarValue>, Sums>;

#[derive(Default)]
struct Sums {
    numbers: Vec<i128>,
    different: Vec<HashSet<i64>>,
}

/// The bounding of one partition.
struct Part {
    bounder: Bounder,
    keys: usize,
    measures: Vec<Measure>,
    groups: HashMap<Box<[u8]>, u32>,
    names: Vec<Vec<ScalarValue>>,
    converter: Option<RowConverter>,
}

async fn consume(
    mut stream: SendableRecordBatchStream,
    mut part: Part,
) -> std::result::Result<PartResult, DataFusionError> {
    while let Some(batch) = stream.next().await {
        part.add(&batch?)?;
    }
    Ok(part.finish())
}

impl Part {
    fn new(bounder: Bounder, keys: usize, measures: Vec<Measure>) -> Self {
        Self { bounder, keys, measures, groups: HashMap::new(), names: Vec::new(), converter: None }
    }

    fn add(&mut self, batch: &RecordBatch) -> std::result::Result<(), DataFusionError> {
        let key_columns: Vec<ArrayRef> = batch.columns()[1..=self.keys].to_vec();
        let owners = Owners::of(batch.column(0));
        let values: Vec<Vec<Option<i64>>> = batch.columns()[1 + self.keys..].iter().map(numbers).collect();
        let rows = match (self.keys, &mut self.converter) {
            (0, _) => None,
            (_, Some(converter)) => Some(converter.convert_columns(&key_columns)?),
            (_, empty) => {
                let fields = key_columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
                Some(empty.insert(RowConverter::new(fields)?).convert_columns(&key_columns)?)
            }
        };
        let mut row_values = vec![None; values.len()];
        for row in 0..batch.num_rows() {
            let bytes = rows.as_ref().map_or(&[][..], |rows| rows.row(row).data());
            let group = match self.groups.get(bytes) {
                Some(group) => *group,
                None => {
                    let name = key_columns.iter().map(|column| ScalarValue::try_from_array(column, row));
                    self.names.push(name.collect::<std::result::Result<_, _>>()?);
                    let group = u32::try_from(self.groups.len()).map_err(|_| {
                        DataFusionError::ResourcesExhausted("more than four thousand million groups".to_string())
                    })?;
                    self.groups.insert(bytes.into(), group);
                    group
                }
            };
            for (value, column) in row_values.iter_mut().zip(&values) {
                *value = column[row];
            }
            self.bounder.add(owners.at(row), group, bytes, &row_values);
        }
        Ok(())
    }

    fn finish(self) -> PartResult {
        let Self { bounder, measures, names, .. } = self;
        let mut sums: Vec<Sums> = Vec::new();
        sums.resize_with(names.len(), || Sums {
            numbers: vec![0; measures.len()],
            different: vec![HashSet::new(); measures.len()],
        });
        bounder.finish(|group, first, values| {
            let cell = &mut sums[group as usize];
            let mut next = values.iter();
            for (index, measure) in measures.iter().enumerate() {
                let value = if measure.expression.is_some() { next.next().copied().flatten() } else { None };
                match measure.what {
                    What::Owners => cell.numbers[index] += i128::from(first),
                    What::Rows => cell.numbers[index] += 1,
                    What::Different => drop(value.map(|value| cell.different[index].insert(value))),
                    _ => cell.numbers[index] += i128::from(value.unwrap_or(0)),
                }
            }
        });
        names.into_iter().zip(sums).collect()
    }
}

/// The cells of all partitions together. A cell that nobody was kept in does not occur.
fn merged(parts: Vec<PartResult>, measures: &[Measure]) -> Cells {
    let mut all: PartResult = HashMap::new();
    for part in parts {
        for (key, sums) in part {
            let cell = all.entry(key).or_insert_with(|| Sums {
                numbers: vec![0; measures.len()],
                different: vec![HashSet::new(); measures.len()],
            });
            cell.numbers.iter_mut().zip(&sums.numbers).for_each(|(total, more)| *total += more);
            cell.different.iter_mut().zip(sums.different).for_each(|(total, more)| total.extend(more));
        }
    }
    let mut cells = Cells::new();
    for (key, mut sums) in all {
        for (index, measure) in measures.iter().enumerate() {
            if measure.what == What::Different {
                sums.numbers[index] = sums.different[index].len() as i128;
            }
        }
        cells.insert(key, sums.numbers);
    }
    cells
}

/// The owner column.
enum Owners<'a> {
    Numbers(&'a [i64]),
    Texts(&'a ArrayRef),
}

impl<'a> Owners<'a> {
    fn of(column: &'a ArrayRef) -> Self {
        match column.data_type() {
            DataType::Int64 => Self::Numbers(column.as_primitive::<Int64Type>().values()),
            _ => Self::Texts(column),
        }
    }

    fn at(&self, row: usize) -> Owner {
        match self {
            Self::Numbers(numbers) => Owner::Number(numbers[row]),
            Self::Texts(column) => Owner::Text(column.as_string::<i32>().value(row).into()),
        }
    }
}

/// A column of whole numbers; a text is taken as a hash of itself, which is all that counting different ones needs.
fn numbers(column: &ArrayRef) -> Vec<Option<i64>> {
    match column.data_type() {
        DataType::Int64 => column.as_primitive::<Int64Type>().iter().collect(),
        DataType::Utf8 => {
            let hashed = |text: &str| {
                let mut hasher = SipHasher::new(Key(0, 0));
                hasher.write(text.as_bytes());
                hasher.finish().cast_signed()
            };
            column.as_string::<i32>().iter().map(|text| text.map(hashed)).collect()
        }
        _ => vec![None; column.len()],
    }
}
