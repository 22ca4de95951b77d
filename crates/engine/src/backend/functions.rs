//! Functions of ours that run inside the plan: `declared` brings a column into its declared domain, `fitted` casts what fits, `finite` leaves out
//! what is no number, `units` makes integers.

use crate::project::Domain;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, StringArray};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, cast, lit, try_cast, when,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The expression with its values in the declared domain: numbers moved to the nearest bound, NaN and unlisted categories NULL.
pub(crate) fn declared(expression: Expr, domain: &Domain) -> Expr {
    let rule = match domain {
        Domain::Int { bounds: Some((lower, upper)) } => Rule::Int(*lower, *upper),
        Domain::Int { bounds: None } | Domain::Category { values: None } | Domain::Bool => return expression,
        Domain::Float { bounds, .. } => {
            let (lower, upper) = bounds.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
            Rule::Float(lower.to_bits(), upper.to_bits())
        }
        Domain::Category { values: Some(values) } => Rule::Listed(values.iter().cloned().collect()),
    };
    call("scumble_declared", rule, expression)
}

/// The same in SQL that any backend knows.
pub(crate) fn declared_in_sql(expression: Expr, domain: &Domain) -> Result<Expr> {
    match domain {
        Domain::Int { bounds: Some((lower, upper)) } => when(expression.clone().lt(lit(*lower)), lit(*lower))
            .when(expression.clone().gt(lit(*upper)), lit(*upper))
            .otherwise(expression),
        Domain::Int { bounds: None } | Domain::Category { values: None } | Domain::Bool => Ok(expression),
        Domain::Float { bounds, .. } => clamped_in_sql(expression, *bounds),
        Domain::Category { values: Some(values) } => {
            let known = values.iter().map(|value| lit(value.as_str())).collect();
            when(expression.clone().in_list(known, false), expression).end()
        }
    }
}

fn clamped_in_sql(expression: Expr, bounds: Option<(f64, f64)>) -> Result<Expr> {
    let infinity = cast(lit("Infinity"), DataType::Float64);
    let mut cases = when(expression.clone().gt(infinity), cast(lit(ScalarValue::Null), DataType::Float64));
    if let Some((lower, upper)) = bounds {
        cases = cases.when(expression.clone().lt(lit(lower)), lit(lower));
        cases = cases.when(expression.clone().gt(lit(upper)), lit(upper));
    }
    cases.otherwise(expression)
}

/// The cast of a value where it fits, NULL elsewhere.
///
/// TRY_CAST says the same, but the backend's optimiser takes `TRY_CAST(x AS TINYINT) > 0` for `x > 0`, which is true of 128. Of a
/// function it knows nothing.
pub(crate) fn fitted(expression: Expr, to: DataType) -> Expr {
    call(FITTED, Rule::Fitted(to), expression)
}

/// The name of [`fitted`]; no query can call it.
pub(crate) const FITTED: &str = "scumble_fitted";

/// A number, NULL where it is none or has no end: the square root of −1, the logarithm of 0.
pub(crate) fn finite(expression: Expr) -> Expr {
    call(FINITE, Rule::Finite, expression)
}

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
        let wide = cast(expression.clone(), DataType::Int64);
        return when(wide.between(lit(range.0), lit(range.1)), cast(expression, to)).end();
    }
    Ok(try_cast(expression, to))
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
        let scaled = clamped_in_sql(expression, Some((self.lower, self.upper)))? / lit(self.step) + lit(0.5);
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
        Rule::Float(..) | Rule::Finite | Rule::Units { .. } => vec![DataType::Float64],
        Rule::Listed(_) => vec![DataType::Utf8],
        Rule::Fitted(_) => Vec::new(),
    };
    let signature = match rule {
        Rule::Fitted(_) => Signature::any(1, Volatility::Immutable),
        _ => Signature::uniform(1, types, Volatility::Immutable),
    };
    ScalarUDF::new_from_impl(Function { name, rule, signature }).call(vec![argument])
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Rule {
    Int(i64, i64),
    Float(u64, u64),
    Listed(BTreeSet<String>),
    Fitted(DataType),
    Finite,
    Units { bits: (u64, u64, u64), minus: i64, squared: bool },
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    name: &'static str,
    rule: Rule,
    signature: Signature,
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match &self.rule {
            Rule::Int(..) | Rule::Units { .. } => DataType::Int64,
            Rule::Float(..) | Rule::Finite => DataType::Float64,
            Rule::Listed(_) => DataType::Utf8,
            Rule::Fitted(to) => to.clone(),
        })
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        let listed = arguments.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        Ok(match &self.rule {
            Rule::Fitted(to) => format!("TRY_CAST({listed} AS {to})"),
            Rule::Finite => listed,
            _ => format!("{}({listed})", self.name),
        })
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let column: ArrayRef = arguments.args[0].to_array(arguments.number_rows)?;
        self.rule.apply(&column).map(ColumnarValue::Array)
    }
}

impl Rule {
    fn apply(&self, column: &ArrayRef) -> Result<ArrayRef> {
        Ok(match self {
            Self::Int(lower, upper) => {
                let values = column.as_primitive_opt::<Int64Type>().ok_or_else(|| unexpected(column))?;
                let clamped: Int64Array = values.unary(|value| value.clamp(*lower, *upper));
                Arc::new(clamped)
            }
            Self::Float(lower, upper) => {
                let (lower, upper) = (f64::from_bits(*lower), f64::from_bits(*upper));
                let keep = |value: f64| if value.is_nan() { None } else { Some(value.clamp(lower, upper)) };
                let clamped: Float64Array = numbers(column)?.unary_opt(keep);
                Arc::new(clamped)
            }
            Self::Listed(known) => {
                let values = column.as_string_opt::<i32>().ok_or_else(|| unexpected(column))?;
                let kept: StringArray = values.iter().map(|value| value.filter(|text| known.contains(*text))).collect();
                Arc::new(kept)
            }
            Self::Finite => {
                let finite: Float64Array =
                    numbers(column)?.unary_opt(|value| Some(value).filter(|value| value.is_finite()));
                Arc::new(finite)
            }
            Self::Fitted(to) => {
                let options = CastOptions { safe: true, ..CastOptions::default() };
                cast_with_options(column, to, &options)?
            }
            Self::Units { bits, minus, squared } => {
                let grid =
                    Grid { lower: f64::from_bits(bits.0), upper: f64::from_bits(bits.1), step: f64::from_bits(bits.2) };
                let (least, most) = grid.range(*minus, *squared);
                let units: Int64Array = numbers(column)?.unary_opt(|value| {
                    let centred = grid.steps(value).saturating_sub(*minus);
                    let units = if *squared { centred.saturating_mul(centred) } else { centred };
                    (!value.is_nan()).then(|| units.clamp(least, most))
                });
                Arc::new(units)
            }
        })
    }
}

fn numbers(column: &ArrayRef) -> Result<&Float64Array> {
    column.as_primitive_opt::<Float64Type>().ok_or_else(|| unexpected(column))
}

/// A plan that gives a function of ours another type than it was planned with.
fn unexpected(column: &ArrayRef) -> DataFusionError {
    DataFusionError::Internal(format!("a column of type {}", column.data_type()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
