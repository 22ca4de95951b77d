//! Functions of ours that run inside the plan: `declared` brings a column into its declared domain, `day` and
//! `on_the_wall` read a file's dates and times, `fitted` casts what fits, `finite` leaves out what is no number,
//! `units` makes integers.

use crate::calendar;
use crate::project::{BinEdges, Column, Domain, Recoding, Zone};
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Date32Array, Float64Array, PrimitiveArray, StringArray,
    TimestampNanosecondArray,
};
use datafusion::arrow::compute::{CastOptions, cast_with_options, is_not_null, kernels::zip::zip};
use datafusion::arrow::datatypes::{DataType, Date32Type, Float64Type, Int64Type, TimeUnit, TimestampNanosecondType};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, cast, lit, try_cast, when,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The one type of times inside the plan.
pub(crate) const MOMENT: DataType = DataType::Timestamp(TimeUnit::Nanosecond, None);

const DAY_NANOSECONDS: i128 = calendar::DAY as i128 * calendar::SECOND as i128;

/// The day of a file's date or time, for every value.
pub(crate) fn day(expression: Expr) -> Expr {
    call("scumble_day", Rule::Day, expression)
}

/// What the clock on the wall of a zone shows at a file's date or time, for every value.
pub(crate) fn on_the_wall(expression: Expr, zone: Zone) -> Expr {
    call("scumble_on_the_wall", Rule::OnTheWall(zone.to_string()), expression)
}

/// The expression with its values in the declared domain: numbers moved to the nearest bound, NaN and unlisted
/// categories NULL.
fn declared(expression: Expr, domain: &Domain) -> Expr {
    let rule = match domain {
        Domain::Int { bounds: Some((lower, upper)) } => Rule::Int(*lower, *upper),
        Domain::Int { bounds: None } | Domain::Category { values: None } | Domain::Bool => return expression,
        Domain::Float { bounds, .. } => {
            let (lower, upper) = bounds.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
            Rule::Float(lower.to_bits(), upper.to_bits())
        }
        Domain::Category { values: Some(values) } => Rule::Listed(values.iter().cloned().collect()),
        Domain::Date { bounds } => {
            let (lower, upper) = bounds.unwrap_or(calendar::DAYS);
            Rule::Days(lower, upper)
        }
        Domain::Timestamp { bounds, .. } => {
            let (lower, upper) = bounds.unwrap_or(calendar::MOMENTS);
            Rule::Moments(lower, upper)
        }
    };
    call("scumble_declared", rule, expression)
}

/// What files hold of a column, of the type of files, as what the column holds.
pub(crate) fn brought(expression: Expr, column: &Column) -> Expr {
    let recoded = match &column.recoding {
        None => expression,
        Some(Recoding::Texts { map, unlisted }) => {
            let listed = match (&column.domain, unlisted) {
                (Domain::Category { values: Some(values) }, Some(word)) => {
                    Some((values.iter().cloned().collect(), word.clone()))
                }
                _ => None,
            };
            call("scumble_recoded", Rule::Recoded { map: map.clone(), listed }, expression)
        }
        Some(Recoding::Bins { edges, labels }) => {
            let (kind, edges) = match edges {
                BinEdges::Whole(edges) => (DataType::Int64, edges.clone()),
                BinEdges::Days(edges) => (DataType::Date32, edges.clone()),
                BinEdges::Moments(edges, _) => (MOMENT, edges.clone()),
                BinEdges::Numbers(edges) => {
                    (DataType::Float64, edges.iter().map(|edge| edge.to_bits() as i64).collect())
                }
            };
            call("scumble_bin", Rule::Bins { kind, edges, labels: labels.clone() }, expression)
        }
    };
    let declared = declared(recoded, &column.domain);
    match first(column) {
        Some(first) => call("scumble_present", Rule::Present(first), declared),
        None => declared,
    }
}

/// What stands for a missing value of a column that is declared to have none.
fn first(column: &Column) -> Option<ScalarValue> {
    let first = match &column.domain {
        Domain::Int { bounds } => ScalarValue::Int64(Some(bounds.as_ref()?.0)),
        Domain::Float { bounds, .. } => ScalarValue::Float64(Some(bounds.as_ref()?.0 + 0.0)),
        Domain::Category { values } => ScalarValue::Utf8(Some(values.as_ref()?.first()?.clone())),
        Domain::Bool => ScalarValue::Boolean(Some(false)),
        Domain::Date { bounds } => ScalarValue::Date32(i32::try_from(bounds.as_ref()?.0).ok()),
        Domain::Timestamp { bounds, .. } => ScalarValue::TimestampNanosecond(Some(bounds.as_ref()?.0), None),
    };
    Some(first).filter(|_| column.never_missing)
}

/// The same in SQL that any backend knows.
pub(crate) fn brought_in_sql(expression: Expr, column: &Column) -> Result<Expr> {
    let recoded = match &column.recoding {
        None => expression,
        Some(Recoding::Texts { map, unlisted }) => {
            let mut cases = when(expression.clone().is_null(), lit(ScalarValue::Utf8(None)));
            for (from, to) in map {
                cases = cases.when(expression.clone().eq(lit(from.as_str())), lit(to.as_str()));
            }
            match (&column.domain, unlisted) {
                (Domain::Category { values: Some(values) }, Some(word)) => {
                    let known = values.iter().map(|value| lit(value.as_str())).collect();
                    cases.when(expression.clone().in_list(known, false), expression).otherwise(lit(word.as_str()))?
                }
                _ => cases.otherwise(expression)?,
            }
        }
        Some(Recoding::Bins { edges, labels }) => {
            let number = |edge: &i64| lit(*edge);
            let edges: Vec<Expr> = match edges {
                BinEdges::Whole(edges) => edges.iter().map(number).collect(),
                BinEdges::Numbers(edges) => edges.iter().map(|edge| lit(*edge)).collect(),
                BinEdges::Days(edges) => {
                    edges.iter().map(|day| lit(ScalarValue::Date32(i32::try_from(*day).ok()))).collect()
                }
                BinEdges::Moments(edges, _) => {
                    edges.iter().map(|moment| lit(ScalarValue::TimestampNanosecond(Some(*moment), None))).collect()
                }
            };
            let nothing = || lit(ScalarValue::Utf8(None));
            let mut cases = when(expression.clone().is_null(), nothing());
            if matches!(&column.recoding, Some(Recoding::Bins { edges: BinEdges::Numbers(_), .. })) {
                let infinity = cast(lit("Infinity"), DataType::Float64);
                cases = cases.when(expression.clone().gt(infinity), nothing());
            }
            for (next, label) in edges.iter().skip(1).zip(labels) {
                cases = cases.when(expression.clone().lt(next.clone()), lit(label.as_str()));
            }
            cases.otherwise(lit(labels.last().map_or("", String::as_str)))?
        }
    };
    let declared = declared_in_sql(recoded, &column.domain)?;
    Ok(match first(column) {
        Some(first) => datafusion::functions::expr_fn::coalesce(vec![declared, lit(first)]),
        None => declared,
    })
}

/// A declared domain in SQL that any backend knows.
fn declared_in_sql(expression: Expr, domain: &Domain) -> Result<Expr> {
    match domain {
        Domain::Int { bounds: Some((lower, upper)) } => between_in_sql(expression, lit(*lower), lit(*upper)),
        Domain::Int { bounds: None } | Domain::Category { values: None } | Domain::Bool => Ok(expression),
        // -0 becomes 0, as in our own pass.
        Domain::Float { bounds, .. } => clamped_in_sql(expression.clone(), *bounds, expression + lit(0.0)),
        Domain::Category { values: Some(values) } => {
            let known = values.iter().map(|value| lit(value.as_str())).collect();
            when(expression.clone().in_list(known, false), expression).end()
        }
        Domain::Date { bounds } => {
            let (lower, upper) = bounds.unwrap_or(calendar::DAYS);
            let day = |day: i64| lit(ScalarValue::Date32(i32::try_from(day).ok()));
            between_in_sql(expression, day(lower), day(upper))
        }
        Domain::Timestamp { bounds, .. } => {
            let (lower, upper) = bounds.unwrap_or(calendar::MOMENTS);
            let moment = |moment: i64| lit(ScalarValue::TimestampNanosecond(Some(moment), None));
            between_in_sql(expression, moment(lower), moment(upper))
        }
    }
}

fn between_in_sql(expression: Expr, lower: Expr, upper: Expr) -> Result<Expr> {
    when(expression.clone().lt(lower.clone()), lower)
        .when(expression.clone().gt(upper.clone()), upper)
        .otherwise(expression)
}

/// What is within the bounds becomes `within`.
fn clamped_in_sql(expression: Expr, bounds: Option<(f64, f64)>, within: Expr) -> Result<Expr> {
    let infinity = cast(lit("Infinity"), DataType::Float64);
    let mut cases = when(expression.clone().gt(infinity), cast(lit(ScalarValue::Null), DataType::Float64));
    if let Some((lower, upper)) = bounds {
        cases = cases.when(expression.clone().lt(lit(lower)), lit(lower));
        cases = cases.when(expression.gt(lit(upper)), lit(upper));
    }
    cases.otherwise(within)
}

/// The cast of a value where it fits, NULL elsewhere.
///
/// TRY_CAST says the same, but the backend's optimiser takes `TRY_CAST(x AS TINYINT) > 0` for `x > 0`, which is true
/// of 128. Of a function it knows nothing.
pub(crate) fn fitted(expression: Expr, to: DataType) -> Expr {
    call(FITTED, Rule::Fitted(to), expression)
}

/// The name of [`fitted`]; no query can call it.
pub(crate) const FITTED: &str = "scumble_fitted";

/// A number, NULL where it is none or has no end: the square root of −1, the logarithm of 0.
pub(crate) fn finite(expression: Expr) -> Expr {
    call(FINITE, Rule::Finite, expression)
}

/// The square root of a number, NULL where it is negative: DataFusion's fails there.
pub(crate) fn root(expression: Expr) -> Expr {
    call(ROOT, Rule::Root, expression)
}

/// One number to the power of another, NULL where that is no number or has no end: DataFusion's fails there.
pub(crate) fn power(base: Expr, exponent: Expr) -> Expr {
    let signature = Signature::uniform(2, vec![DataType::Float64], Volatility::Immutable);
    ScalarUDF::new_from_impl(RuleFunction { name: POWER, rule: Rule::Power, signature }).call(vec![base, exponent])
}

/// The name of [`power`]; no query can call it.
pub(crate) const POWER: &str = "scumble_power";

/// The name of [`root`]; no query can call it.
pub(crate) const ROOT: &str = "scumble_root";

/// The name of [`finite`]; no query can call it.
pub(crate) const FINITE: &str = "scumble_finite";

/// The same in SQL that many backends know.
pub(crate) fn fitted_in_sql(expression: Expr, from: &DataType, to: DataType) -> Result<Expr> {
    let range = match to {
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    };
    if from.is_integer() && to.is_integer() {
        // The cast is around the condition: backends compute what is constant beforehand, also where a condition would
        // have kept them from it.
        let wide = cast(expression.clone(), DataType::Int64);
        return Ok(cast(when(wide.between(lit(range.0), lit(range.1)), expression).end()?, to));
    }
    Ok(try_cast(expression, to))
}

/// So many steps in the unit of their column. A step of 0.01 is no f64: 28508710 times it is 285087.10000000003, and a
/// hundredth of that is 285087.1.
pub(crate) fn in_units(steps: f64, step: f64) -> f64 {
    let parts = (1.0 / step).round();
    if step < 1.0 && (parts * step - 1.0).abs() < 1e-12 { steps / parts } else { steps * step }
}

/// A number as a whole number of grid steps: clamped, then rounded to the nearest step, halves up. NaN is NULL.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Grid {
    /// The bounds, in the column's own unit.
    pub lower: f64,
    /// The upper one.
    pub upper: f64,
    /// The step.
    pub step: f64,
}

impl Grid {
    /// The steps of a value that is not NaN.
    ///
    /// # Guarantee
    /// Monotone in `value` (each operation is), so that every result is between those of the bounds.
    pub fn steps(&self, value: f64) -> i64 {
        (value.clamp(self.lower, self.upper) / self.step + 0.5).floor() as i64
    }

    /// The value of this many steps, within the bounds, to twelve digits: 0.3 rather than 0.30000000000000004.
    pub fn value(&self, steps: i64) -> f64 {
        let value = steps as f64 * self.step;
        format!("{value:.11e}").parse().unwrap_or(value).clamp(self.lower, self.upper)
    }

    /// The expression in steps, in SQL that any backend knows; NaN is above all numbers.
    pub fn units_in_sql(&self, expression: Expr, minus: i64, squared: bool) -> Result<Expr> {
        let bounds = Some((self.lower, self.upper));
        let scaled = clamped_in_sql(expression.clone(), bounds, expression)? / lit(self.step) + lit(0.5);
        let steps = cast(datafusion::functions::expr_fn::floor(scaled), DataType::Int64);
        let centred = if minus == 0 { steps } else { steps - lit(minus) };
        Ok(if squared { centred.clone() * centred } else { centred })
    }

    /// The least and the largest that [`Grid::units`] gives: it clamps to them, whatever the grid's arithmetic does.
    pub fn range(&self, minus: i64, squared: bool) -> (i64, i64) {
        let (low, high) = (self.steps(self.lower) - minus, self.steps(self.upper) - minus);
        if squared { (0, low.abs().max(high.abs()).pow(2)) } else { (low, high) }
    }

    /// The expression in steps.
    pub fn units(&self, expression: Expr, minus: i64, squared: bool) -> Expr {
        let bits = (self.lower.to_bits(), self.upper.to_bits(), self.step.to_bits());
        call("scumble_units", Rule::Units { bits, minus, squared }, expression)
    }
}

fn call(name: &'static str, rule: Rule, argument: Expr) -> Expr {
    let types = match rule {
        Rule::Int(..) => vec![DataType::Int64],
        Rule::Float(..) | Rule::Finite | Rule::Root | Rule::Power | Rule::Units { .. } => vec![DataType::Float64],
        Rule::Listed(_) | Rule::Recoded { .. } => vec![DataType::Utf8],
        Rule::Bins { ref kind, .. } => vec![kind.clone()],
        Rule::Days(..) => vec![DataType::Date32],
        Rule::Moments(..) => vec![MOMENT],
        Rule::Present(ref first) => vec![first.data_type()],
        Rule::Fitted(_) | Rule::Day | Rule::OnTheWall(_) => Vec::new(),
    };
    let signature = match rule {
        Rule::Fitted(_) | Rule::Day | Rule::OnTheWall(_) => Signature::any(1, Volatility::Immutable),
        _ => Signature::uniform(1, types, Volatility::Immutable),
    };
    ScalarUDF::new_from_impl(RuleFunction { name, rule, signature }).call(vec![argument])
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Rule {
    Int(i64, i64),
    Float(u64, u64),
    Listed(BTreeSet<String>),
    Days(i64, i64),
    Moments(i64, i64),
    /// Other texts for some, and one text for all that are not listed.
    Recoded {
        map: BTreeMap<String, String>,
        listed: Option<(BTreeSet<String>, String)>,
    },
    /// The label of the last edge that a value of this type is not below; of floats the edges are bits.
    Bins {
        kind: DataType,
        edges: Vec<i64>,
        labels: Vec<String>,
    },
    /// This value for a missing one.
    Present(ScalarValue),
    /// The day of a file's date or of its time without a zone.
    Day,
    /// What the clock on the wall of this zone shows at a file's time; a time without a zone is what it showed.
    OnTheWall(String),
    Fitted(DataType),
    Finite,
    Root,
    /// Of two arguments, as no other.
    Power,
    Units {
        bits: (u64, u64, u64),
        minus: i64,
        squared: bool,
    },
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RuleFunction {
    name: &'static str,
    rule: Rule,
    signature: Signature,
}

impl ScalarUDFImpl for RuleFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match &self.rule {
            Rule::Int(..) | Rule::Units { .. } => DataType::Int64,
            Rule::Float(..) | Rule::Finite | Rule::Root | Rule::Power => DataType::Float64,
            Rule::Listed(_) | Rule::Recoded { .. } | Rule::Bins { .. } => DataType::Utf8,
            Rule::Days(..) | Rule::Day => DataType::Date32,
            Rule::Moments(..) | Rule::OnTheWall(_) => MOMENT,
            Rule::Present(first) => first.data_type(),
            Rule::Fitted(to) => to.clone(),
        })
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        let listed = arguments.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        Ok(match &self.rule {
            Rule::Fitted(to) => format!("TRY_CAST({listed} AS {to})"),
            Rule::Finite => listed,
            Rule::Root => format!("sqrt({listed})"),
            Rule::Power => format!("power({listed})"),
            _ => format!("{}({listed})", self.name),
        })
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let column: ArrayRef = arguments.args[0].to_array(arguments.number_rows)?;
        if self.rule == Rule::Power {
            let exponents = arguments.args[1].to_array(arguments.number_rows)?;
            return powers(typed(&column)?, typed(&exponents)?).map(ColumnarValue::Array);
        }
        self.rule.apply(&column).map(ColumnarValue::Array)
    }
}

impl Rule {
    fn apply(&self, column: &ArrayRef) -> Result<ArrayRef> {
        Ok(match self {
            Self::Int(lower, upper) => {
                let clamp = |value: i64| value.clamp(*lower, *upper);
                Arc::new(typed::<Int64Type>(column)?.unary::<_, Int64Type>(clamp))
            }
            Self::Float(lower, upper) => {
                let (lower, upper) = (f64::from_bits(*lower), f64::from_bits(*upper));
                // The backend's comparisons tell -0 from 0, as no other engine does; the sum of the two is 0.
                let keep = |value: f64| if value.is_nan() { None } else { Some(value.clamp(lower, upper) + 0.0) };
                Arc::new(typed::<Float64Type>(column)?.unary_opt::<_, Float64Type>(keep))
            }
            Self::Listed(known) => {
                let kept = texts(column)?.iter().map(|value| value.filter(|text| known.contains(*text)));
                Arc::new(kept.collect::<StringArray>())
            }
            Self::Root => where_finite(typed(column)?, f64::sqrt),
            Self::Power => return Err(unexpected(column)),
            Self::Finite => where_finite(typed(column)?, |value| value),
            Self::Recoded { map, listed } => {
                let recoded = |text: &'_ str| -> String {
                    let made = map.get(text).map_or(text, String::as_str);
                    match listed {
                        Some((known, other)) if !known.contains(made) => other.clone(),
                        _ => made.to_string(),
                    }
                };
                Arc::new(texts(column)?.iter().map(|value| value.map(recoded)).collect::<StringArray>())
            }
            Self::Bins { kind, edges, labels } => {
                // What is below the first edge is in the first bin: values are moved to the nearest one, as numbers are
                // to their bounds.
                let label = |above: usize| labels.get(above.saturating_sub(1)).map(String::as_str);
                let whole = |value: Option<i64>| {
                    let value = value?;
                    label(edges.partition_point(|edge| *edge <= value))
                };
                let texts: StringArray = match kind {
                    DataType::Float64 => {
                        let edges: Vec<f64> = edges.iter().map(|bits| f64::from_bits(*bits as u64)).collect();
                        let number = |value: Option<f64>| {
                            let value = value.filter(|value| !value.is_nan())?;
                            label(edges.partition_point(|edge| *edge <= value))
                        };
                        typed::<Float64Type>(column)?.iter().map(number).collect()
                    }
                    DataType::Date32 => {
                        typed::<Date32Type>(column)?.iter().map(|day| whole(day.map(i64::from))).collect()
                    }
                    DataType::Int64 => typed::<Int64Type>(column)?.iter().map(whole).collect(),
                    _ => typed::<TimestampNanosecondType>(column)?.iter().map(whole).collect(),
                };
                Arc::new(texts)
            }
            Self::Days(lower, upper) => {
                let within = |day: i32| i32::try_from(i64::from(day).clamp(*lower, *upper)).unwrap_or(0);
                Arc::new(typed::<Date32Type>(column)?.unary::<_, Date32Type>(within))
            }
            Self::Moments(lower, upper) => {
                let within = |moment: i64| moment.clamp(*lower, *upper);
                Arc::new(typed::<TimestampNanosecondType>(column)?.unary::<_, TimestampNanosecondType>(within))
            }
            Self::Present(first) => {
                let present = is_not_null(column)?;
                zip(&present, column, &first.to_scalar()?)?
            }
            Self::Day => {
                let day = |moment: i128| calendar::day_within((moment.div_euclid(DAY_NANOSECONDS)) as i64) as i32;
                Arc::new(moments(column)?.into_iter().map(|moment| moment.map(day)).collect::<Date32Array>())
            }
            Self::OnTheWall(zone) => {
                let has_zone = matches!(column.data_type(), DataType::Timestamp(_, Some(_)));
                let zone = Zone::named(zone).filter(|_| has_zone);
                let shown =
                    |moment: i128| zone.map_or(calendar::moment_within(moment), |zone| zone.on_the_wall(moment));
                let shown = moments(column)?.into_iter().map(|moment| moment.map(shown));
                Arc::new(shown.collect::<TimestampNanosecondArray>())
            }
            Self::Fitted(to) => {
                let options = CastOptions { safe: true, ..CastOptions::default() };
                cast_with_options(column, to, &options)?
            }
            Self::Units { bits, minus, squared } => {
                let grid =
                    Grid { lower: f64::from_bits(bits.0), upper: f64::from_bits(bits.1), step: f64::from_bits(bits.2) };
                let (least, most) = grid.range(*minus, *squared);
                let units = |value: f64| {
                    let centred = grid.steps(value).saturating_sub(*minus);
                    let units = if *squared { centred.saturating_mul(centred) } else { centred };
                    (!value.is_nan()).then(|| units.clamp(least, most))
                };
                Arc::new(typed::<Float64Type>(column)?.unary_opt::<_, Int64Type>(units))
            }
        })
    }
}

/// Dates and times of every unit as nanoseconds since 1970-01-01T00:00:00, none where there is none.
fn moments(column: &ArrayRef) -> Result<Vec<Option<i128>>> {
    let second = i128::from(calendar::SECOND);
    let unit = match column.data_type() {
        DataType::Date32 => {
            let days = typed::<Date32Type>(column)?.iter();
            return Ok(days.map(|day| day.map(|day| i128::from(day) * DAY_NANOSECONDS)).collect());
        }
        DataType::Date64 => second / 1000,
        DataType::Timestamp(TimeUnit::Second, _) => second,
        DataType::Timestamp(TimeUnit::Millisecond, _) => second / 1000,
        DataType::Timestamp(TimeUnit::Microsecond, _) => second / 1_000_000,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => 1,
        _ => return Err(unexpected(column)),
    };
    let numbers = datafusion::arrow::compute::cast(column, &DataType::Int64)?;
    Ok(typed::<Int64Type>(&numbers)?.iter().map(|number| number.map(|number| i128::from(number) * unit)).collect())
}

/// Each base to the power of its exponent.
fn powers(bases: &Float64Array, exponents: &Float64Array) -> Result<ArrayRef> {
    let power =
        |(base, exponent): (Option<f64>, Option<f64>)| Some(base?.powf(exponent?)).filter(|power| power.is_finite());
    Ok(Arc::new(bases.iter().zip(exponents).map(power).collect::<Float64Array>()))
}

/// What a function makes of numbers, NULL where that is no number or has no end.
fn where_finite(numbers: &Float64Array, of: impl Fn(f64) -> f64) -> ArrayRef {
    Arc::new(numbers.unary_opt::<_, Float64Type>(|value| Some(of(value)).filter(|made| made.is_finite())))
}

fn typed<T: ArrowPrimitiveType>(column: &ArrayRef) -> Result<&PrimitiveArray<T>> {
    column.as_primitive_opt().ok_or_else(|| unexpected(column))
}

fn texts(column: &ArrayRef) -> Result<&StringArray> {
    column.as_string_opt().ok_or_else(|| unexpected(column))
}

/// A plan that gives a function of ours another type than it was planned with.
fn unexpected(column: &ArrayRef) -> DataFusionError {
    DataFusionError::Internal(format!("a column of type {}", column.data_type()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::Int64Array;

    #[test]
    fn declared_numbers_are_moved_to_the_nearest_bound() {
        let extremes: ArrayRef = Arc::new(Int64Array::from(vec![i64::MIN, -3, -2, 7, 8, i64::MAX]));
        let moved = Rule::Int(-2, 7).apply(&extremes).unwrap();
        assert_eq!(moved.as_primitive::<Int64Type>(), &Int64Array::from(vec![-2, -2, -2, 7, 7, 7]));
        let (lower, upper) = (-0.5f64, 1.5f64);
        let values = [f64::NEG_INFINITY, lower.next_down(), lower, upper, upper.next_up(), f64::INFINITY, f64::NAN];
        let moved =
            Rule::Float(lower.to_bits(), upper.to_bits()).apply(&(Arc::new(Float64Array::from(values.to_vec())) as _));
        let nearest = [lower, lower, lower, upper, upper, upper].map(Some).into_iter().chain([None]);
        assert_eq!(moved.unwrap().as_primitive::<Float64Type>(), &nearest.collect::<Float64Array>());
    }
}
