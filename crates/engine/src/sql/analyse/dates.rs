//! Dates and times as they are computed with. [`super::describe::dates`] says which parts, beginnings, shifts and casts
//! are answered.
//!
//! `date_part` and `date_trunc` run inside [`Calendar`]. The optimiser knows nothing about it, so what is analysed is
//! what runs.

use crate::calendar::{CalendarUnit, DAY};
use crate::error::DataFusionResult;
use crate::sql::functions::{self, Arguments, CalendarFunction};
use crate::tables::functions::{FITTED, MOMENT, fitted};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, lit,
};
use std::fmt;
use std::sync::Arc;

/// The parts of a date or time that can be extracted, with the least and the largest number where that is always the
/// same, and whether a date has them.
pub(super) const PARTS: [(&str, Option<(i64, i64)>); 13] = [
    ("year", None),
    ("isoyear", None),
    ("quarter", Some((1, 4))),
    ("month", Some((1, 12))),
    ("week", Some((1, 53))),
    ("day", Some((1, 31))),
    ("doy", Some((1, 366))),
    ("dow", Some((0, 6))),
    ("isodow", Some((1, 7))),
    ("hour", Some((0, 23))),
    ("minute", Some((0, 59))),
    ("second", Some((0, 59))),
    ("epoch", None),
];
/// How many of them, from the first on, depend on the day alone.
const OF_DAYS: usize = 9;

/// Whether values of a type are dates or times.
pub(crate) fn is_date(kind: &DataType) -> bool {
    *kind == DataType::Date32 || *kind == MOMENT
}

/// A function on dates and times, hidden from the optimiser.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Calendar {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for Calendar {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> DataFusionResult<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs) -> DataFusionResult<FieldRef> {
        self.inner.return_field_from_args(arguments)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        self.inner.invoke_with_args(arguments)
    }
}

/// What a function asks of a date or a time, if it does.
pub(super) fn calendar_function(call: &ScalarFunction) -> Option<CalendarFunction> {
    match functions::named(call.func.name())?.arguments {
        Arguments::Calendar(function) => Some(function),
        _ => None,
    }
}

/// Whether a call runs hidden from the optimiser.
pub(super) fn is_calendar(call: &ScalarFunction) -> bool {
    call.func.inner().is::<Calendar>()
}

/// The call of a function on dates and times as it runs.
pub(crate) fn hidden(call: ScalarFunction) -> Expr {
    let func = match calendar_function(&call) {
        Some(_) if !is_calendar(&call) => Arc::new(ScalarUDF::new_from_impl(Calendar { inner: call.func })),
        _ => call.func,
    };
    Expr::ScalarFunction(ScalarFunction { func, args: call.args })
}

/// The call as SQL writes it.
pub(crate) fn in_sql(call: ScalarFunction) -> Expr {
    let func = match call.func.inner().downcast_ref::<Calendar>() {
        Some(calendar) => Arc::clone(&calendar.inner),
        None => call.func,
    };
    Expr::ScalarFunction(ScalarFunction { func, args: call.args })
}

/// A literal that was written as a date or time, and cannot be read as one.
#[derive(Debug)]
pub(crate) struct UnreadableDate {
    pub written: String,
}

impl fmt::Display for UnreadableDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is not a date or time from 1678 to 2261 as in '2013-12-31' or '2013-12-31T23:59:59'",
            self.written
        )
    }
}

impl std::error::Error for UnreadableDate {}

/// Refuses such a literal.
pub(crate) fn refuse_unread(written: &ScalarValue, made: &ScalarValue, to: &DataType) -> DataFusionResult<()> {
    let is_text = written.try_as_str().flatten().is_some();
    if is_text && made.is_null() && is_date(to) {
        return Err(DataFusionError::External(Box::new(UnreadableDate { written: written.to_string() })));
    }
    Ok(())
}

/// A date as its days, a time as its seconds: what quantiles rank.
pub(crate) fn number(expression: Expr, kind: &DataType) -> Expr {
    match kind {
        DataType::Date32 => fitted(expression, DataType::Int64),
        kind if *kind == MOMENT => {
            let func = datafusion::functions::datetime::date_part();
            hidden(ScalarFunction { func, args: vec![lit("epoch"), expression] })
        }
        _ => expression,
    }
}

/// The seconds that times between these bounds, in nanoseconds, are between.
pub(crate) fn seconds((lower, upper): (i64, i64)) -> (f64, f64) {
    let second = crate::calendar::SECOND;
    (lower.div_euclid(second) as f64, -((-upper).div_euclid(second)) as f64)
}

/// A word that is written out, in small letters.
pub(super) fn written(word: &Expr) -> Option<String> {
    match word {
        Expr::Literal(value, _) => value.try_as_str().flatten().map(str::to_lowercase),
        _ => None,
    }
}

/// Of an expression that depends on a column's time only by the unit of this many seconds that it is in, the column.
///
/// # Guarantee
/// The expression's value of a time is that of the beginning of its unit: the units of days begin at midnight, and
/// parts of days are parts of the day.
pub(crate) fn read_by_unit(expression: &Expr) -> Option<(&Expr, i64)> {
    let Expr::ScalarFunction(call) = expression else { return None };
    let (argument, step) = match call.args.as_slice() {
        [inner] if call.func.name() == FITTED && call.func.return_type(&[]).ok()? == DataType::Date32 => (inner, DAY),
        [word, argument] if is_calendar(call) => {
            let word = written(word)?;
            let unit = CalendarUnit::ALL.into_iter().find(|(unit, _)| *unit == word).map(|(_, unit)| unit.grid());
            let of_days = PARTS[..OF_DAYS].iter().any(|(part, _)| *part == word).then_some(DAY);
            (argument, if calendar_function(call) == Some(CalendarFunction::Start) { unit? } else { of_days? })
        }
        _ => return None,
    };
    matches!(argument, Expr::Column(_)).then_some((argument, step))
}
