//! Dates and times on private rows: which parts, beginnings, shifts and casts there are, and their bounds.
//!
//! A date's interval is in days, a time's in seconds. DataFusion computes with 64 bits of nanoseconds, which hold the
//! years 1678 to 2261, and fails beyond: so everything of these types has an interval within [`REACH`], or is refused.
//! Columns are within by their declaration.

use super::{Describer, ValueFacts, shown};
use crate::calendar::{CalendarUnit, DAY, REACH, year};
use crate::error::Result;
use crate::sql::QuerySource;
use crate::sql::analyse::dates::{PARTS, calendar_function, is_calendar, is_date, seconds, written};
use crate::sql::functions::CalendarFunction;
use crate::tables::functions::MOMENT;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};

/// Intervals of more days than this are those of columns without declared bounds: groups and sums are not made of them.
const UNDECLARED: f64 = 501.0 * 366.0;

/// What is known of a literal date or time.
pub(crate) fn literal(value: &ScalarValue) -> Option<ValueFacts> {
    let interval = match value {
        ScalarValue::Date32(Some(day)) => (f64::from(*day), f64::from(*day)),
        ScalarValue::TimestampNanosecond(Some(moment), None) => seconds((*moment, *moment)),
        _ => return None,
    };
    Some(ValueFacts { interval: Some(interval), present: true, ..ValueFacts::default() })
}

/// The bounds of a date or time in days that are whole.
fn in_days(interval: (f64, f64), kind: &DataType) -> (f64, f64) {
    match kind {
        DataType::Date32 => interval,
        _ => ((interval.0 / DAY as f64).floor(), (interval.1 / DAY as f64).floor()),
    }
}

fn in_seconds(interval: (f64, f64), kind: &DataType) -> (f64, f64) {
    match kind {
        DataType::Date32 => (interval.0 * DAY as f64, interval.1 * DAY as f64),
        _ => interval,
    }
}

/// The interval, if it follows from bounds that were declared.
fn declared(interval: (f64, f64), kind: &DataType) -> Option<(f64, f64)> {
    let (low, high) = in_days(interval, kind);
    (high - low < UNDECLARED).then_some(interval)
}

impl Describer<'_> {
    /// Refuses dates and times that could be beyond what can be computed with.
    pub(crate) fn within_reach(&self, expression: &Expr, kind: &DataType, known: &ValueFacts) -> Result<()> {
        if !is_date(kind) || known.null {
            return Ok(());
        }
        let Some(interval) = known.interval else {
            let sentence = format!(
                "{} makes dates of other values: declare the column as date or timestamp in the project file",
                shown(expression)
            );
            return Err(self.refused(sentence));
        };
        let (low, high) = in_days(interval, kind);
        if low < REACH.0 as f64 || high > REACH.1 as f64 {
            let sentence = format!(
                "{} may be before 1678 or after 2261, where no dates are supported: declare tighter bounds for its \
                    columns",
                shown(expression)
            );
            return Err(self.refused(sentence));
        }
        Ok(())
    }

    /// A cast from or to dates and times; none of others.
    pub(crate) fn date_cast(
        &self,
        inner: &Expr,
        known: &ValueFacts,
        from: &DataType,
        to: &DataType,
    ) -> Result<Option<ValueFacts>> {
        if !is_date(from) && !is_date(to) || from == to {
            return Ok(None);
        }
        let of = |interval: Option<(f64, f64)>| ValueFacts { interval, granularity: None, ..known.clone() };
        let interval = known.interval;
        Ok(Some(match (from, to) {
            (DataType::Null, _) => of(None),
            (from, DataType::Utf8) if is_date(from) => ValueFacts { bytes: LONGEST_DATE, ..of(None) },
            (DataType::Date32, to) if *to == MOMENT => {
                ValueFacts { granularity: Some(DAY as f64), ..of(interval.map(|interval| in_seconds(interval, from))) }
            }
            (from, DataType::Date32) if *from == MOMENT => of(interval.map(|interval| in_days(interval, from))),
            (DataType::Date32, DataType::Int32 | DataType::Int64) => {
                of(interval.and_then(|interval| declared(interval, from)))
            }
            _ => {
                let sentence = format!(
                    "{} cannot be cast from {from} to {to} on private rows: dates cast to TIMESTAMP, INT (days) or \
                        VARCHAR; declare others as date or timestamp",
                    shown(inner)
                );
                return Err(self.refused(sentence));
            }
        }))
    }

    /// A part or the beginning of a date or time; none of other functions.
    pub(crate) fn date_function(&self, call: &ScalarFunction) -> Result<Option<ValueFacts>> {
        if !is_calendar(call) {
            return Ok(None);
        }
        let name = call.func.name();
        let [word, argument] = call.args.as_slice() else {
            return Err(self.source.error_at_call(name, format!("{name} takes a unit and a date")));
        };
        let (known, kind) = (self.expression(argument)?, self.kind(argument)?);
        let word = written(word);
        let of = |interval: Option<(f64, f64)>, granularity: Option<f64>| {
            Some(ValueFacts {
                attributes: known.attributes.clone(),
                interval,
                granularity,
                null: known.null,
                present: known.present,
                ..ValueFacts::default()
            })
        };
        let interval = known.interval;
        if calendar_function(call) == Some(CalendarFunction::Start) {
            let Some((_, unit)) = CalendarUnit::ALL.into_iter().find(|(known, _)| Some(*known) == word.as_deref())
            else {
                let units = CalendarUnit::ALL.map(|(unit, _)| unit).join(", ");
                return Err(self
                    .source
                    .error_at_call(name, format!("the unit of DATE_TRUNC must be a literal, one of {units}")));
            };
            let start = |second: f64| unit.start(second as i64) as f64;
            let starts =
                interval.map(|interval| in_seconds(interval, &kind)).map(|(low, high)| (start(low), start(high)));
            return Ok(of(starts, Some(unit.grid() as f64)));
        }
        let Some((part, range)) = PARTS.into_iter().find(|(part, _)| Some(*part) == word.as_deref()) else {
            let parts = PARTS.map(|(part, _)| part).join(", ");
            let sentence = format!("EXTRACT and date_part know these parts of dates and times: {parts}");
            return Err(self.source.error_at_call(name, sentence));
        };
        let bounds = interval.and_then(|interval| declared(interval, &kind));
        let years =
            bounds.map(|bounds| in_days(bounds, &kind)).map(|(low, high)| (year(low as i64), year(high as i64)));
        let range = range.map(|(least, most)| (least as f64, most as f64));
        Ok(match part {
            "epoch" => of(bounds.map(|bounds| in_seconds(bounds, &kind)), Some(1.0)),
            // The first and the last days of a year may be in a week of another.
            "isoyear" => of(years.map(|(first, last)| (first as f64 - 1.0, last as f64 + 1.0)), None),
            "year" => of(years.map(|(first, last)| (first as f64, last as f64)), None),
            _ => of(range, None),
        })
    }

    /// A date or time that is shifted by an interval; none of other operators, which are those of numbers.
    pub(crate) fn date_arithmetic(&self, binary: &BinaryExpr, whole: &Expr) -> Result<Option<ValueFacts>> {
        let (left, right) = (self.kind(&binary.left)?, self.kind(&binary.right)?);
        let is_interval = |kind: &DataType| matches!(kind, DataType::Interval(_) | DataType::Duration(_));
        if binary.op == Operator::Minus && left == MOMENT && right == MOMENT {
            let sentence = format!(
                "{} is a duration, which is not supported: subtract CAST(… AS DATE) for days, or EXTRACT(EPOCH FROM \
                    …) for seconds",
                shown(whole)
            );
            return Err(self.refused(sentence));
        }
        let (date, kind, by, sign) = match (is_interval(&left), is_interval(&right), binary.op) {
            (false, false, _) => return Ok(None),
            (false, true, Operator::Plus) => (&binary.left, left, &binary.right, 1),
            (false, true, Operator::Minus) => (&binary.left, left, &binary.right, -1),
            (true, false, Operator::Plus) => (&binary.right, right, &binary.left, 1),
            _ => return Err(self.refused(unshifted(whole))),
        };
        let Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(by)), _) = by.as_ref() else {
            return Err(self.refused(unshifted(whole)));
        };
        if !is_date(&kind) {
            return Err(self.refused(unshifted(whole)));
        }
        let known = self.expression(date)?;
        let (months, days) = (i64::from(by.months) * sign, i64::from(by.days) * sign);
        let nanoseconds = i128::from(by.nanoseconds) * i128::from(sign);
        let per_day = if kind == DataType::Date32 { 1.0 } else { DAY as f64 };
        // A month has between 28 and 31 days; one day more on either side for the time of day.
        let month_ends = [28 * months, 31 * months];
        let by_months = (month_ends[0].min(month_ends[1]) as f64, month_ends[0].max(month_ends[1]) as f64);
        let by_days = (days as f64, days as f64);
        let rest = nanoseconds as f64 / (DAY as f64 * crate::calendar::SECOND as f64);
        let by_rest = if nanoseconds == 0 { (0.0, 0.0) } else { (rest.floor() - 1.0, rest.ceil() + 1.0) };
        let mut shifted = known.clone();
        for (less, more) in [by_months, by_days, by_rest] {
            shifted.interval = shifted.interval.map(|(low, high)| (low + less * per_day, high + more * per_day));
            self.within_reach(whole, &kind, &shifted)?;
        }
        Ok(Some(ValueFacts { granularity: known.granularity.filter(|_| nanoseconds == 0), ..shifted }))
    }
}

/// No date or time has a longer text.
const LONGEST_DATE: u64 = 64;

fn unshifted(whole: &Expr) -> String {
    format!(
        "{} is not supported: to a date or time, add or subtract a literal interval, as in day + INTERVAL '1 month'",
        shown(whole)
    )
}

/// Refuses arithmetic on dates and times above the aggregate: it could fail on what was paid for.
pub(crate) fn refuse_above(plan: &LogicalPlan, source: &QuerySource<'_>) -> Result<()> {
    if matches!(plan, LogicalPlan::Aggregate(_)) {
        return Ok(());
    }
    let Some(input) = plan.inputs().first().copied() else { return Ok(()) };
    let is_time = |part: &Expr| part.get_type(input.schema()).is_ok_and(|kind| kind.is_temporal());
    for expression in plan.expressions() {
        let mut found = None;
        let walked = expression.apply(|part| {
            Ok(match part {
                Expr::BinaryExpr(BinaryExpr { left, op: Operator::Plus | Operator::Minus, right })
                    if is_time(left) || is_time(right) =>
                {
                    found = Some(shown(part));
                    TreeNodeRecursion::Stop
                }
                _ => TreeNodeRecursion::Continue,
            })
        });
        if let (Ok(_), Some(found)) = (walked, found) {
            let sentence = format!(
                "{found} computes with dates after the aggregate, which is not supported: publish both, or compute \
                    before the aggregate"
            );
            return Err(source.error("", sentence));
        }
    }
    refuse_above(input, source)
}
