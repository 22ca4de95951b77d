//! Runs it: the rows that stay of each owner become inner rows, a few thousand at a time, and what the query does with
//! these is evaluated on them and summed up. No row is looked at twice, and no inner row is kept.

use super::sums::{KeyColumn, Sums, SumsByKey, whole_numbers};
use crate::error::{DataFusionResult, Result};
use crate::sql::analyse::described::{InnerComputation, PerOwner};
use crate::sql::analyse::execution::{Execution, RowColumn};
use crate::sql::analyse::possible::keys::Planner;
use crate::sql::execute::executed::unfit;
use crate::tables::bounding::KeptRow;
use crate::tables::failed_on_data;
use crate::tables::functions::Grid;
use crate::tables::hash::QuickHash;
use crate::tables::intern::{Interner, Name};
use crate::tables::ranks::NOTHING;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, UInt32Array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::{cast, filter_record_batch, take};
use datafusion::arrow::datatypes::{DataType, Field, Schema, UInt32Type};
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;
use std::borrow::Cow;
use std::sync::Arc;

/// How many inner rows are evaluated at a time.
const AT_ONCE: usize = 8192;
/// The name of the column of owners, which no expression reads.
const OWNER: &str = "owner";

/// What is done with inner rows, ready to run.
pub(in crate::sql) struct Programme<'a> {
    first: &'a PerOwner,
    /// The inner rows' columns, then their owners as numbers.
    schema: Arc<Schema>,
    /// Each inner key of all groups.
    keys: Vec<ArrayRef>,
    conditions: Vec<Arc<dyn PhysicalExpr>>,
    outer_keys: Vec<TypedExpression>,
    /// The values of measures, then those that are ranked.
    values: Vec<TypedExpression>,
}

/// An expression and the type that it must have.
struct TypedExpression {
    expression: Arc<dyn PhysicalExpr>,
    kind: DataType,
}

impl TypedExpression {
    fn column(&self, batch: &RecordBatch) -> DataFusionResult<ArrayRef> {
        let column = self.expression.evaluate(batch)?.into_array(batch.num_rows())?;
        match *column.data_type() == self.kind {
            true => Ok(column),
            false => Err(DataFusionError::Internal("a column of another type than planned".to_string())),
        }
    }
}

impl<'a> Programme<'a> {
    /// For the groups of these inner keys.
    pub fn new(execution: &Execution, first: &'a PerOwner, names: &[Vec<ScalarValue>]) -> Result<Self> {
        Self::planned(execution, first, names).map_err(|error| unfit(&error))
    }

    fn planned(execution: &Execution, first: &'a PerOwner, names: &[Vec<ScalarValue>]) -> DataFusionResult<Self> {
        let fields = first.columns.iter().map(|column| Field::new(&column.name, column.kind.clone(), true));
        let fields = fields.chain([Field::new(OWNER, DataType::UInt32, false)]);
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let planner = Planner::new(&schema)?;
        let typed = |column: &RowColumn| -> DataFusionResult<TypedExpression> {
            let (expression, kind) = (planner.physical(&column.expression)?, column.kind.clone());
            match expression.data_type(&schema)? == kind {
                true => Ok(TypedExpression { expression, kind }),
                false => Err(DataFusionError::Internal("a column of another type than planned".to_string())),
            }
        };
        let columns = execution.columns();
        let of_key = |index: usize| match names.is_empty() {
            true => Ok(datafusion::arrow::array::new_empty_array(&first.keys[index].kind)),
            false => ScalarValue::iter_to_array(names.iter().map(|name| name[index].clone())),
        };
        Ok(Self {
            first,
            keys: (0..first.keys.len()).map(of_key).collect::<DataFusionResult<_>>()?,
            conditions: first.conditions.iter().map(|one| planner.physical(one)).collect::<DataFusionResult<_>>()?,
            outer_keys: columns.keys.iter().map(typed).collect::<DataFusionResult<_>>()?,
            values: columns.values.iter().map(typed).collect::<DataFusionResult<_>>()?,
            schema,
        })
    }

    /// The inner rows that fulfil all conditions.
    fn kept(&self, mut batch: RecordBatch) -> DataFusionResult<RecordBatch> {
        for condition in &self.conditions {
            let is_true = condition.evaluate(&batch)?.into_array(batch.num_rows())?;
            let is_true = is_true
                .as_boolean_opt()
                .ok_or_else(|| DataFusionError::Internal("a condition of another type than planned".to_string()))?;
            batch = filter_record_batch(&batch, is_true)?;
        }
        Ok(batch)
    }
}

/// A number of an inner row so far.
#[derive(Debug, Clone, Default)]
struct RunningNumber {
    count: u64,
    sum: i128,
    least: i64,
    largest: i64,
    /// All values, where different ones are counted.
    all: Vec<i64>,
}

impl RunningNumber {
    fn clear(&mut self) {
        (self.count, self.sum, self.least, self.largest) = (0, 0, i64::MAX, i64::MIN);
        self.all.clear();
    }

    #[inline]
    fn add(&mut self, value: i64, listed: bool) {
        if value == NOTHING {
            return;
        }
        self.count += 1;
        self.sum += i128::from(value);
        self.least = self.least.min(value);
        self.largest = self.largest.max(value);
        if listed {
            self.all.push(value);
        }
    }

    fn different(&mut self) -> u64 {
        self.all.sort_unstable();
        self.all.dedup();
        self.all.len() as u64
    }
}

/// A column of inner rows so far.
enum InnerValues {
    Key,
    Whole(Vec<Option<i64>>),
    Fraction(Vec<Option<f64>>),
}

/// Sums up the inner rows of some owners.
pub(in crate::sql) struct InnerSummation<'a> {
    execution: &'a Execution,
    programme: &'a Programme<'a>,
    quick: QuickHash,
    /// The values of the inner row that is being made, and which of them are listed.
    running: Vec<RunningNumber>,
    listed: Vec<bool>,
    rows: u64,
    place: Option<(u32, u32)>,
    /// The inner rows that are made: columns, groups and owners.
    made: Vec<InnerValues>,
    groups: Vec<u32>,
    owners: Vec<u32>,
    /// Owners are numbered anew in each piece of a part: how many there were before, and up to now.
    before: u32,
    so_far: u32,
    /// The cells.
    seen: Interner,
    names: Vec<Vec<ScalarValue>>,
    cells: Vec<(Option<u32>, Sums)>,
    failed: Option<DataFusionError>,
}

impl<'a> InnerSummation<'a> {
    pub fn new(execution: &'a Execution, programme: &'a Programme<'a>, quick: QuickHash) -> Self {
        let first = programme.first;
        let listed = |place: usize| first.columns.iter().any(|column| column.how == InnerComputation::Different(place));
        let made = first.columns.iter().map(|column| match column.how {
            InnerComputation::Key(_) => InnerValues::Key,
            _ if column.kind.is_integer() => InnerValues::Whole(Vec::new()),
            _ => InnerValues::Fraction(Vec::new()),
        });
        let mut running = vec![RunningNumber::default(); first.values.len()];
        running.iter_mut().for_each(RunningNumber::clear);
        Self {
            execution,
            programme,
            quick,
            running,
            listed: (0..first.values.len()).map(listed).collect(),
            rows: 0,
            place: None,
            made: made.collect(),
            groups: Vec::new(),
            owners: Vec::new(),
            before: 0,
            so_far: 0,
            seen: Interner::default(),
            names: Vec::new(),
            cells: Vec::new(),
            failed: None,
        }
    }

    /// Takes in a row that stays; rows of one owner and one group come one after the other.
    #[inline]
    pub fn row(&mut self, place: KeptRow, values: &[i64]) {
        if place.first {
            self.end_of_row();
            let owner = self.before + place.owner;
            self.so_far = owner + 1;
            self.place = Some((owner, place.group));
        }
        self.rows += 1;
        for ((running, listed), value) in self.running.iter_mut().zip(&self.listed).zip(values) {
            running.add(*value, *listed);
        }
    }

    /// All rows of these owners are in; the next ones are others.
    pub fn end_of_owners(&mut self) {
        self.end_of_row();
        self.before = self.so_far;
    }

    /// The cells of all owners.
    pub fn cells(mut self) -> Result<SumsByKey> {
        self.evaluate();
        if let Some(error) = self.failed {
            return Err(failed_on_data(&error));
        }
        Ok(self.names.into_iter().zip(self.cells).map(|(key, (_, sums))| (key, sums)).collect())
    }

    fn end_of_row(&mut self) {
        let Some((owner, group)) = self.place.take() else { return };
        for (column, made) in self.programme.first.columns.iter().zip(&mut self.made) {
            match made {
                InnerValues::Key => {}
                InnerValues::Whole(numbers) => {
                    numbers.push(whole(column.how, self.rows, &mut self.running));
                }
                InnerValues::Fraction(numbers) => {
                    let number = fraction(column.how, &self.running);
                    // What is known of the column holds, whatever rounding does.
                    let within = |number: f64| match column.interval {
                        Some((low, high)) => number.clamp(low, high),
                        None => number,
                    };
                    numbers.push(number.map(within));
                }
            }
        }
        self.groups.push(group);
        self.owners.push(owner);
        self.rows = 0;
        self.running.iter_mut().for_each(RunningNumber::clear);
        if self.groups.len() >= AT_ONCE {
            self.evaluate();
        }
    }

    /// Sums up the inner rows that are made.
    fn evaluate(&mut self) {
        if self.failed.is_none()
            && let Err(error) = self.evaluated()
        {
            self.failed = Some(error);
        }
    }

    fn evaluated(&mut self) -> DataFusionResult<()> {
        let batch = self.programme.kept(self.batch()?)?;
        let keys =
            self.programme.outer_keys.iter().map(|key| key.column(&batch)).collect::<DataFusionResult<Vec<_>>>()?;
        let values =
            self.programme.values.iter().map(|value| value.column(&batch)).collect::<DataFusionResult<Vec<_>>>()?;
        let values = values.iter().map(whole_numbers).collect::<DataFusionResult<Vec<Cow<'_, [i64]>>>>()?;
        let owners = batch.column(batch.num_columns() - 1).as_primitive::<UInt32Type>();
        // Rows without a key are left out.
        let present = keys.iter().fold(None, |present: Option<NullBuffer>, column| {
            NullBuffer::union(present.as_ref(), column.logical_nulls().as_ref())
        });
        let encoders = keys.iter().map(KeyColumn::of).collect::<DataFusionResult<Vec<_>>>()?;
        let (mut encoded, mut row_values) = (Vec::new(), Vec::with_capacity(values.len()));
        for row in 0..batch.num_rows() {
            if present.as_ref().is_some_and(|present| present.is_null(row)) {
                continue;
            }
            encoded.clear();
            encoders.iter().for_each(|key| key.encode(row, &mut encoded));
            let name = Name::Text(&encoded);
            let (cell, new) = self.seen.intern(name.hash(&self.quick), name);
            if new {
                let key = keys.iter().map(|column| ScalarValue::try_from_array(column, row));
                self.names.push(key.collect::<DataFusionResult<_>>()?);
                self.cells.push((None, Sums::nothing(self.execution)));
            }
            row_values.clear();
            row_values.extend(values.iter().map(|column| column[row]));
            let owner = owners.value(row);
            let (last, sums) = &mut self.cells[cell as usize];
            // The rows of one owner come one after the other.
            let first = last.replace(owner) != Some(owner);
            sums.add_row(self.execution, first, &row_values);
        }
        Ok(())
    }

    /// The inner rows that are made, which are gone then.
    fn batch(&mut self) -> DataFusionResult<RecordBatch> {
        let groups = UInt32Array::from(std::mem::take(&mut self.groups));
        let mut columns: Vec<ArrayRef> = Vec::new();
        for (column, made) in self.programme.first.columns.iter().zip(&mut self.made) {
            let array: ArrayRef = match (made, column.how) {
                (InnerValues::Whole(numbers), _) => Arc::new(numbers.drain(..).collect::<Int64Array>()),
                (InnerValues::Fraction(numbers), _) => Arc::new(numbers.drain(..).collect::<Float64Array>()),
                (InnerValues::Key, InnerComputation::Key(index)) => take(&self.programme.keys[index], &groups, None)?,
                (InnerValues::Key, _) => return Err(DataFusionError::Internal("what is not a key".to_string())),
            };
            columns.push(if *array.data_type() == column.kind { array } else { cast(&array, &column.kind)? });
        }
        columns.push(Arc::new(UInt32Array::from(std::mem::take(&mut self.owners))));
        Ok(RecordBatch::try_new(Arc::clone(&self.programme.schema), columns)?)
    }
}

/// A whole number of an inner row; none is NULL.
fn whole(how: InnerComputation, rows: u64, running: &mut [RunningNumber]) -> Option<i64> {
    let some = |place: usize| Some(&running[place]).filter(|running| running.count > 0);
    match how {
        InnerComputation::Key(_) | InnerComputation::Mean(..) => None,
        InnerComputation::Rows => i64::try_from(rows).ok(),
        InnerComputation::Present(place) => i64::try_from(running[place].count).ok(),
        InnerComputation::Different(place) => i64::try_from(running[place].different()).ok(),
        // Whole numbers have steps of 1.
        InnerComputation::Sum(place, _) => i64::try_from(some(place)?.sum).ok(),
        InnerComputation::Least(place, _) => Some(some(place)?.least),
        InnerComputation::Largest(place, _) => Some(some(place)?.largest),
    }
}

/// A fraction of an inner row; none is NULL.
fn fraction(how: InnerComputation, running: &[RunningNumber]) -> Option<f64> {
    let some = |place: usize| Some(&running[place]).filter(|running| running.count > 0);
    match how {
        InnerComputation::Key(_)
        | InnerComputation::Rows
        | InnerComputation::Present(_)
        | InnerComputation::Different(_) => None,
        InnerComputation::Sum(place, grid) => Some(of_steps(some(place)?.sum as f64, grid)),
        InnerComputation::Mean(place, grid) => {
            let running = some(place)?;
            Some(of_steps(running.sum as f64 / running.count as f64, grid))
        }
        InnerComputation::Least(place, grid) => Some(of_steps(some(place)?.least as f64, grid)),
        InnerComputation::Largest(place, grid) => Some(of_steps(some(place)?.largest as f64, grid)),
    }
}

/// The value of a number of steps: 0.3 rather than 0.30000000000000004 where ten steps are 1.
fn of_steps(steps: f64, grid: Grid) -> f64 {
    let inverse = (1.0 / grid.step).round();
    if inverse >= 1.0 && 1.0 / inverse == grid.step { steps / inverse } else { steps * grid.step }
}
