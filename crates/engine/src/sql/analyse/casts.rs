//! Casts that fail on no row. A query that fails on one person's value tells that value, so below the noise a cast that
//! does not fit is NULL, whether it was written or follows from types that were mixed. So is what a function gives that
//! is no number.

use super::dates::{self, is_date};
use crate::error::DataFusionResult;
use crate::sql::functions::{self, FailureMode};
use crate::tables::functions::{finite, fitted, power, root};
use datafusion::arrow::compute::CastOptions;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, cast};

/// The types of values below the noise: of each operator, cast and function on these a test shows that it fails on no
/// value.
pub(crate) fn is_answered(kind: &DataType) -> bool {
    kind.is_signed_integer()
        || matches!(kind, DataType::Boolean | DataType::Utf8 | DataType::Null)
        || is_float(kind)
        || is_date(kind)
}

/// Numbers with fractions.
pub(crate) fn is_float(kind: &DataType) -> bool {
    matches!(kind, DataType::Float32 | DataType::Float64)
}

/// The same expression with casts that give NULL where they do not fit, and those of literals made.
pub(crate) fn total(expression: Expr, schema: &DFSchema) -> DataFusionResult<Expr> {
    let total = expression.transform_up(|node| match node {
        Expr::Cast(cast) => {
            let from = cast.expr.get_type(schema)?;
            match made(&cast.expr, cast.field.data_type())? {
                Some(literal) => Ok(Transformed::yes(literal)),
                None if always_fits(&from, cast.field.data_type()) => Ok(Transformed::no(Expr::Cast(cast))),
                None => Ok(Transformed::yes(fitted(*cast.expr, cast.field.data_type().clone()))),
            }
        }
        Expr::ScalarFunction(function) if fails(&function) != FailureMode::Never => {
            let fails = fails(&function);
            let kind = Expr::ScalarFunction(function.clone()).get_type(schema)?;
            let number = |argument: Expr| match argument.get_type(schema)? {
                DataType::Float64 => Ok(argument),
                from if always_fits(&from, &DataType::Float64) => Ok(cast(argument, DataType::Float64)),
                _ => Ok(fitted(argument, DataType::Float64)),
            };
            let args = function.args.into_iter().map(number).collect::<DataFusionResult<Vec<Expr>>>()?;
            let number = match (fails, &args[..]) {
                (FailureMode::AsRoot, [inner]) => root(inner.clone()),
                (FailureMode::AsPower, [base, exponent]) => power(base.clone(), exponent.clone()),
                _ => finite(Expr::ScalarFunction(ScalarFunction { func: function.func, args })),
            };
            Ok(Transformed::yes(if kind == DataType::Float64 { number } else { fitted(number, kind) }))
        }
        Expr::TryCast(cast) => {
            let literal = attempted(&cast.expr, cast.field.data_type());
            Ok(Transformed::yes(literal.unwrap_or_else(|| fitted(*cast.expr, cast.field.data_type().clone()))))
        }
        Expr::ScalarFunction(call) => Ok(Transformed::yes(dates::hidden(call))),
        other => Ok(Transformed::no(other)),
    });
    Ok(total?.data)
}

fn fails(function: &ScalarFunction) -> FailureMode {
    functions::named(function.name()).map_or(FailureMode::Never, |record| record.fails)
}

/// The same, under the name that the expression had.
pub(crate) fn total_named(expression: Expr, schema: &DFSchema) -> DataFusionResult<Expr> {
    let name = expression.schema_name().to_string();
    match total(expression, schema)? {
        alias @ Expr::Alias(_) => Ok(alias),
        other if other.schema_name().to_string() == name => Ok(other),
        other => Ok(other.alias(name)),
    }
}

/// The cast of a literal; a text that is no date is no literal of dates.
fn made(inner: &Expr, to: &DataType) -> DataFusionResult<Option<Expr>> {
    let made = attempted(inner, to);
    if let (Expr::Literal(written, _), Some(Expr::Literal(made, _))) = (inner, &made) {
        dates::refuse_unread(written, made, to)?;
    }
    Ok(made)
}

/// The cast of a literal, NULL where it does not fit.
fn attempted(inner: &Expr, to: &DataType) -> Option<Expr> {
    let Expr::Literal(value, _) = inner else { return None };
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let value: ScalarValue = value.cast_to_with_options(to, &options).ok()?;
    Some(Expr::Literal(value, None))
}

/// Whether every value of a type has one of another.
fn always_fits(from: &DataType, to: &DataType) -> bool {
    if is_date(from) || is_date(to) {
        return from == to;
    }
    let wider = from.is_signed_integer() && to.is_signed_integer() && from.primitive_width() <= to.primitive_width();
    let into_numbers = (from.is_signed_integer() || *from == DataType::Boolean) && is_float(to);
    is_answered(from)
        && (from == to
            || wider
            || into_numbers
            || *to == DataType::Utf8
            || (*from == DataType::Null && is_answered(to))
            || (*from == DataType::Boolean && to.is_signed_integer())
            || (*from == DataType::Float32 && *to == DataType::Float64))
}
