//! Two functions of ours that run inside the plan: `declared` brings a column into its declared domain, `units` makes integers.

use crate::project::Domain;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, StringArray, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, cast, lit, when,
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

    /// The value of so many steps, within the bounds, to twelve digits: 0.3 rather than 0.30000000000000004.
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

    /// The expression in steps.
    pub fn units(&self, expression: Expr, minus: i64, squared: bool) -> Expr {
        let bits = (self.lower.to_bits(), self.upper.to_bits(), self.step.to_bits());
        call("scumble_units", Rule::Units { bits, minus, squared }, expression)
    }
}

fn call(name: &'static str, rule: Rule, argument: Expr) -> Expr {
    let types = match rule {
        Rule::Int(..) => vec![DataType::Int64],
        Rule::Float(..) | Rule::Units { .. } => vec![DataType::Float64],
        Rule::Listed(_) => vec![DataType::Utf8, DataType::Utf8View],
    };
    let signature = Signature::uniform(1, types, Volatility::Immutable);
    ScalarUDF::new_from_impl(Function { name, rule, signature }).call(vec![argument])
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Rule {
    Int(i64, i64),
    Float(u64, u64),
    Listed(BTreeSet<String>),
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

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(match self.rule {
            Rule::Int(..) | Rule::Units { .. } => DataType::Int64,
            Rule::Float(..) => DataType::Float64,
            Rule::Listed(_) => types.first().cloned().unwrap_or(DataType::Utf8),
        })
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let column: ArrayRef = arguments.args[0].to_array(arguments.number_rows)?;
        Ok(ColumnarValue::Array(self.rule.apply(&column)))
    }
}

impl Rule {
    fn apply(&self, column: &ArrayRef) -> ArrayRef {
        match self {
            Self::Int(lower, upper) => {
                let clamped: Int64Array = column.as_primitive::<Int64Type>().unary(|value| value.clamp(*lower, *upper));
                Arc::new(clamped)
            }
            Self::Float(lower, upper) => {
                let (lower, upper) = (f64::from_bits(*lower), f64::from_bits(*upper));
                let values = column.as_primitive::<Float64Type>();
                let keep = |value: f64| if value.is_nan() { None } else { Some(value.clamp(lower, upper)) };
                let clamped: Float64Array = values.unary_opt(keep);
                Arc::new(clamped)
            }
            Self::Listed(known) if *column.data_type() == DataType::Utf8View => {
                let values = column.as_string_view();
                let kept: StringViewArray =
                    values.iter().map(|value| value.filter(|text| known.contains(*text))).collect();
                Arc::new(kept)
            }
            Self::Listed(known) => {
                let values = column.as_string::<i32>();
                let kept: StringArray = values.iter().map(|value| value.filter(|text| known.contains(*text))).collect();
                Arc::new(kept)
            }
            Self::Units { bits, minus, squared } => {
                let grid =
                    Grid { lower: f64::from_bits(bits.0), upper: f64::from_bits(bits.1), step: f64::from_bits(bits.2) };
                let values = column.as_primitive::<Float64Type>();
                let units: Int64Array = values.unary_opt(|value| {
                    let centred = grid.steps(value) - minus;
                    if value.is_nan() { None } else { Some(if *squared { centred * centred } else { centred }) }
                });
                debug_assert_eq!(units.len(), column.len());
                Arc::new(units)
            }
        }
    }
}
