//! Numbers with fractions, dates and times as attributes: public steps of equal width between the declared bounds. A
//! kind that counts them may join neighbouring steps to bins of about equal mass by their noisy counts, which are
//! private quantiles.

use super::{Cell, unexpected};
use crate::calendar::{shown_day, shown_moment};
use crate::error::DataFusionResult;
use crate::project::Domain;
use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::{ArrowPrimitiveType, Date32Type, Float64Type, Int64Type, TimestampNanosecondType};

/// This many steps at most: more have more noise in all, fewer are coarser.
const MOST: u32 = 1024;
const SECOND: i64 = 1_000_000_000;

/// The steps of one column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Steps {
    of: StepKind,
    number: u32,
}

#[derive(Debug, Clone, PartialEq)]
enum StepKind {
    /// From here on, so wide; a step is shown by its middle, or by its beginning where it is one value of the column's
    /// own grid.
    Fractions { lower: f64, width: f64, shown: f64 },
    /// Whole numbers, days or nanoseconds.
    Whole { lower: i64, width: i64, unit: StepUnit },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum StepUnit {
    One,
    Day,
    Nanosecond,
}

impl Steps {
    /// Of a column with bounds; none of others.
    pub fn of(domain: &Domain) -> Option<Self> {
        match domain {
            Domain::Float { bounds: Some((lower, upper)), granularity } => {
                let own = granularity.filter(|step| (upper - lower) / step < f64::from(MOST));
                let (width, shown) = own.map_or(((upper - lower) / f64::from(MOST), 0.5), |step| (step, 0.0));
                if width <= 0.0 {
                    return Some(Self { of: StepKind::Fractions { lower: *lower, width: 1.0, shown: 0.0 }, number: 1 });
                }
                let number = if own.is_some() { ((upper - lower) / width).round() as u32 + 1 } else { MOST };
                Some(Self { of: StepKind::Fractions { lower: *lower, width, shown }, number })
            }
            Domain::Int { bounds: Some(bounds) } => Some(Self::whole(*bounds, 1, StepUnit::One)),
            Domain::Date { bounds: Some(bounds) } => Some(Self::whole(*bounds, 1, StepUnit::Day)),
            Domain::Timestamp { bounds: Some(bounds), .. } => Some(Self::whole(*bounds, SECOND, StepUnit::Nanosecond)),
            _ => None,
        }
    }

    /// Steps that are a multiple of `least` wide.
    fn whole((lower, upper): (i64, i64), least: i64, unit: StepUnit) -> Self {
        let range = i128::from(upper) - i128::from(lower) + 1;
        let steps = (range + i128::from(least) - 1) / i128::from(least);
        let factor = (steps + i128::from(MOST) - 1) / i128::from(MOST);
        // Below 2⁶³: it is a 1024th of the range, about.
        let width = i64::try_from(factor * i128::from(least)).unwrap_or(i64::MAX);
        let number = (range + i128::from(width) - 1) / i128::from(width);
        Self { of: StepKind::Whole { lower, width, unit }, number: number as u32 }
    }

    /// How many there are.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The step of each value of a column.
    pub fn codes(&self, array: &ArrayRef, missing: u32) -> DataFusionResult<Vec<u32>> {
        match self.of {
            StepKind::Fractions { lower, width, shown } => {
                let numbers = array.as_primitive_opt::<Float64Type>().ok_or_else(|| unexpected(array))?;
                let code = |value: f64| {
                    let step = ((value - lower) / width + 0.5 - shown).floor();
                    (step as i64).clamp(0, i64::from(self.number) - 1) as u32
                };
                Ok(numbers.iter().map(|value| value.map_or(missing, code)).collect())
            }
            StepKind::Whole { unit: StepUnit::One, .. } => self.whole_codes::<Int64Type>(array, missing),
            StepKind::Whole { unit: StepUnit::Day, .. } => self.whole_codes::<Date32Type>(array, missing),
            StepKind::Whole { unit: StepUnit::Nanosecond, .. } => {
                self.whole_codes::<TimestampNanosecondType>(array, missing)
            }
        }
    }

    fn whole_codes<T: ArrowPrimitiveType>(&self, array: &ArrayRef, missing: u32) -> DataFusionResult<Vec<u32>>
    where
        T::Native: Into<i128>,
    {
        let StepKind::Whole { lower, width, .. } = self.of else { return Err(unexpected(array)) };
        let numbers = array.as_primitive_opt::<T>().ok_or_else(|| unexpected(array))?;
        let code = |value: T::Native| {
            let step = (value.into() - i128::from(lower)).div_euclid(i128::from(width));
            step.clamp(0, i128::from(self.number) - 1) as u32
        };
        Ok(numbers.iter().map(|value| value.map_or(missing, code)).collect())
    }

    /// What each step is shown as: a value in its middle.
    pub fn cells(&self) -> Vec<Cell> {
        (0..self.number).map(|step| self.cell(step)).collect()
    }

    fn cell(&self, step: u32) -> Cell {
        match self.of {
            StepKind::Fractions { lower, width, shown } => {
                let value = lower + (f64::from(step) + shown) * width;
                // 0.3 rather than 0.30000000000000004.
                Cell::Number(format!("{value:.12e}").parse().unwrap_or(value))
            }
            StepKind::Whole { lower, width, unit } => {
                let first = i128::from(lower) + i128::from(step) * i128::from(width);
                let middle = i64::try_from(first + i128::from((width - 1) / 2)).unwrap_or(i64::MAX);
                match unit {
                    StepUnit::One => Cell::Whole(i128::from(middle)),
                    StepUnit::Day => Cell::Text(shown_day(middle).into()),
                    StepUnit::Nanosecond => Cell::Text(shown_moment(middle.div_euclid(SECOND) * SECOND).into()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Date32Array, Float64Array, Int64Array, TimestampNanosecondArray};
    use std::sync::Arc;

    fn codes(domain: &Domain, array: ArrayRef) -> (u32, Vec<u32>, Vec<Cell>) {
        let steps = Steps::of(domain).unwrap();
        (steps.number(), steps.codes(&array, u32::MAX).unwrap(), steps.cells())
    }

    #[test]
    fn every_value_is_in_the_step_that_shows_it() {
        let own = Domain::Float { bounds: Some((0.0, 1.0)), granularity: Some(0.1) };
        let values = Arc::new(Float64Array::from(vec![Some(0.0), Some(0.3), Some(0.34), None, Some(1.0), Some(7.0)]));
        let (number, found, cells) = codes(&own, values);
        assert_eq!((number, found), (11, vec![0, 3, 3, u32::MAX, 10, 10]));
        assert_eq!(cells[3], Cell::Number(0.3));

        let wide = Domain::Float { bounds: Some((-10.0, 502.0)), granularity: Some(0.001) };
        let (number, found, cells) =
            codes(&wide, Arc::new(Float64Array::from(vec![-10.0, -9.6, 0.0, 502.0, f64::MIN])));
        assert_eq!((number, found), (1024, vec![0, 0, 20, 1023, 0]));
        assert_eq!(cells[20], Cell::Number(0.25));

        let days = Domain::Date { bounds: Some((0, 3649)) };
        let (number, found, cells) = codes(&days, Arc::new(Date32Array::from(vec![0, 3, 4, 3649, 9999, -5])));
        assert_eq!((number, found), (913, vec![0, 0, 1, 912, 912, 0]));
        assert_eq!(cells[1], Cell::Text("1970-01-06".into()));

        let zone = crate::calendar::Zone::named("UTC").unwrap();
        let hour = Domain::Timestamp { bounds: Some((0, 3600 * SECOND - 1)), zone };
        let times = vec![0, 4 * SECOND - 1, 4 * SECOND, 3600 * SECOND - 1];
        let (number, found, cells) = codes(&hour, Arc::new(TimestampNanosecondArray::from(times)));
        assert_eq!((number, found), (900, vec![0, 0, 1, 899]));
        assert_eq!(cells[1], Cell::Text("1970-01-01T00:00:05".into()));

        let all = Domain::Int { bounds: Some((i64::MIN + 1, i64::MAX)) };
        let (number, found, _) = codes(&all, Arc::new(Int64Array::from(vec![i64::MIN + 1, 0, i64::MAX])));
        assert!(
            number <= 1024 && found[0] == 0 && found[1] == number / 2 - 1 && found[2] == number - 1,
            "{number} {found:?}"
        );

        let one = Domain::Float { bounds: Some((2.0, 2.0)), granularity: None };
        assert_eq!(codes(&one, Arc::new(Float64Array::from(vec![2.0, 3.0]))).1, [0, 0]);
        assert!(Steps::of(&Domain::Bool).is_none() && Steps::of(&Domain::Date { bounds: None }).is_none());
        let other: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        assert!(Steps::of(&days).unwrap().codes(&other, 0).is_err(), "a column of another type is no panic");
    }
}
