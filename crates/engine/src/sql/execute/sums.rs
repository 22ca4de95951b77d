//! Columns of rows that have owners as numbers and texts, and the sums of the rows that stay.

use super::cell::ExactCell;
use crate::calendar::shown_day;
use crate::error::DataFusionResult;
use crate::sql::analyse::execution::{CellRank, Execution};
use crate::sql::analyse::query::Summand;
use crate::tables::functions::MOMENT;
use crate::tables::hash::Key;
use crate::tables::intern::Name;
use crate::tables::ranks::{NOTHING, Ranks, spell_text};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StringArray};
use datafusion::arrow::datatypes::{DataType, Date32Type, Int64Type, TimestampNanosecondType};
use datafusion::common::{DataFusionError, ScalarValue};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

/// One column of keys, without NULLs.
pub(crate) enum KeyColumn<'a> {
    Text(&'a StringArray),
    Number(&'a [i64]),
    Truth(&'a BooleanArray),
    Day(&'a [i32]),
}

impl<'a> KeyColumn<'a> {
    pub fn of(column: &'a ArrayRef) -> DataFusionResult<Self> {
        match column.data_type() {
            DataType::Utf8 => Ok(Self::Text(column.as_string::<i32>())),
            DataType::Int64 => Ok(Self::Number(column.as_primitive::<Int64Type>().values())),
            DataType::Boolean => Ok(Self::Truth(column.as_boolean())),
            DataType::Date32 => Ok(Self::Day(column.as_primitive::<Date32Type>().values())),
            kind if *kind == MOMENT => Ok(Self::Number(column.as_primitive::<TimestampNanosecondType>().values())),
            other => Err(DataFusionError::Internal(format!("a key of type {other}"))),
        }
    }

    /// Bytes that differ where keys differ: lengths stand behind texts, so that a list can be read from its end.
    pub fn encode(&self, row: usize, bytes: &mut Vec<u8>) {
        match self {
            Self::Text(column) => {
                let text = column.value(row).as_bytes();
                bytes.extend_from_slice(text);
                bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            }
            Self::Number(column) => bytes.extend_from_slice(&column[row].to_le_bytes()),
            Self::Truth(column) => bytes.push(column.value(row).into()),
            Self::Day(column) => bytes.extend_from_slice(&column[row].to_le_bytes()),
        }
    }

    /// The same as a text that every engine can write; days as year, month and day in one number, times in nanoseconds.
    pub fn spell(&self, row: usize, text: &mut Vec<u8>) {
        let written = match self {
            Self::Text(column) => return spell_text(column.value(row), text),
            Self::Number(column) => format!("{};", column[row]),
            Self::Truth(column) => format!("{};", column.value(row)),
            Self::Day(column) => format!("{};", shown_day(i64::from(column[row])).replace('-', "")),
        };
        text.extend_from_slice(written.as_bytes());
    }
}

/// The owner column, without NULLs.
pub(crate) enum OwnerColumn<'a> {
    Numbers(&'a [i64]),
    Texts(&'a StringArray),
}

impl<'a> OwnerColumn<'a> {
    pub fn of(column: &'a ArrayRef) -> DataFusionResult<Self> {
        match column.data_type() {
            DataType::Int64 => Ok(Self::Numbers(column.as_primitive::<Int64Type>().values())),
            DataType::Utf8 => Ok(Self::Texts(column.as_string::<i32>())),
            other => Err(DataFusionError::Internal(format!("an owner of type {other}"))),
        }
    }

    #[inline]
    pub fn at(&self, row: usize) -> Name<'a> {
        match self {
            Self::Numbers(numbers) => Name::Number(numbers[row]),
            Self::Texts(column) => Name::Text(column.value(row).as_bytes()),
        }
    }
}

/// A column of whole numbers; a text is taken as a hash of itself, which is all that counting different ones needs.
pub(crate) fn whole_numbers(column: &ArrayRef) -> DataFusionResult<Cow<'_, [i64]>> {
    numbers_of(column, &Ranks::Sip(Key(0, 0)))
}

/// The sums of some cells.
pub(crate) type SumsByKey = HashMap<Vec<ScalarValue>, Sums>;

/// The sums of one cell.
#[derive(Default)]
pub(crate) struct Sums {
    pub numbers: Vec<i128>,
    pub different: Vec<HashSet<i64>>,
    pub ranked: Vec<HashMap<i64, u64>>,
}

impl Sums {
    /// Nothing yet.
    pub fn nothing(execution: &Execution) -> Self {
        let measures = execution.sums().len();
        Self {
            numbers: vec![0; measures],
            different: vec![HashSet::new(); measures],
            ranked: vec![HashMap::new(); execution.ranked().len()],
        }
    }

    /// Takes in a row: whether it is its owner's first in this cell, and its values, first those of measures, then
    /// those that are ranked.
    // A call for each kept row was 4% of a bounded group-by.
    #[inline(always)]
    pub fn add_row(&mut self, execution: &Execution, first: bool, values: &[i64]) {
        let present = |place: usize| values.get(place).copied().filter(|value| *value != NOTHING);
        for (index, one) in execution.sums().iter().enumerate() {
            let value = one.value.and_then(present);
            match one.what {
                Summand::Owners => self.numbers[index] += i128::from(first),
                Summand::Rows => self.numbers[index] += 1,
                Summand::Different => drop(value.map(|value| self.different[index].insert(value))),
                // The sensitivity rests on the range: it is kept here, whatever the plan gave.
                _ => {
                    let value = value.map(|value| value.clamp(one.range.0, one.range.1));
                    self.numbers[index] += i128::from(value.unwrap_or(0));
                }
            }
        }
        for (counts, one) in self.ranked.iter_mut().zip(execution.ranked()) {
            if let Some(value) = present(one.value) {
                *counts.entry(value).or_default() += 1;
            }
        }
    }

    pub fn add(&mut self, more: Self) {
        if self.numbers.is_empty() && self.ranked.is_empty() {
            *self = more;
            return;
        }
        self.numbers.iter_mut().zip(more.numbers).for_each(|(total, more)| *total += more);
        self.different.iter_mut().zip(more.different).for_each(|(total, more)| total.extend(more));
        for (total, more) in self.ranked.iter_mut().zip(more.ranked) {
            more.into_iter().for_each(|(value, times)| *total.entry(value).or_default() += times);
        }
    }

    pub fn cell(self, execution: &Execution) -> ExactCell {
        let mut sums = self.numbers;
        for (index, one) in execution.sums().iter().enumerate() {
            if one.what == Summand::Different {
                sums[index] = self.different[index].len() as i128;
            }
        }
        let keyed = |(one, counts): (&CellRank, HashMap<i64, u64>)| {
            let keyed = counts.into_iter().map(|(steps, times)| (one.ranked.key(steps), times));
            keyed.collect::<BTreeMap<u128, u64>>()
        };
        ExactCell { sums, ranked: execution.ranked().iter().zip(self.ranked).map(keyed).collect() }
    }
}

/// The same with the hash that ranks are made with.
pub(crate) fn numbers_of<'a>(column: &'a ArrayRef, ranks: &Ranks) -> DataFusionResult<Cow<'a, [i64]>> {
    Ok(match column.data_type() {
        DataType::Int64 if column.null_count() == 0 => Cow::Borrowed(column.as_primitive::<Int64Type>().values()),
        DataType::Int64 => column.as_primitive::<Int64Type>().iter().map(|value| value.unwrap_or(NOTHING)).collect(),
        DataType::Utf8 => {
            let hashed = |text: &str| ranks.of_text(text);
            column.as_string::<i32>().iter().map(|text| text.map_or(NOTHING, hashed)).collect()
        }
        other => return Err(DataFusionError::Internal(format!("values of type {other}"))),
    })
}
