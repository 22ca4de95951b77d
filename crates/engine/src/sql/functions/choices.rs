//! Functions that choose among their arguments.

use super::Argument::Any;
use super::{Dialects, Interval, Shape, SqlFunction};
use crate::sql::above::formula::Formula;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;

pub(super) const ALL: &[SqlFunction] = &[
    SqlFunction {
        interval: Interval::Chosen(|_, hull| hull),
        shape: Shape::Chosen(|all| Some(Formula::First(all))),
        dialects: Dialects::AsLarge,
        ..SqlFunction::on_rows("coalesce", &[Any])
    },
    SqlFunction {
        interval: Interval::Chosen(|all, hull| hull.map(|(low, high)| (written(all).fold(low, f64::max), high))),
        shape: Shape::Chosen(|all| Some(Formula::Greatest(all))),
        ..SqlFunction::on_rows("greatest", &[Any])
    },
    SqlFunction {
        interval: Interval::Chosen(|all, hull| hull.map(|(low, high)| (low, written(all).fold(high, f64::min)))),
        shape: Shape::Chosen(|all| Some(Formula::Least(all))),
        ..SqlFunction::on_rows("least", &[Any])
    },
    SqlFunction {
        interval: Interval::First,
        shape: Shape::Chosen(unless),
        dialects: Dialects::AsLarge,
        ..SqlFunction::on_rows("nullif", &[Any, Any])
    },
    SqlFunction { shape: Shape::Chosen(|all| Some(Formula::First(all))), ..SqlFunction::new("nvl") },
];

/// The numbers among the arguments of GREATEST or LEAST that are written out. NULLs are skipped, so any of the
/// arguments may decide; but such a number is never NULL, so that LEAST is at most that and GREATEST at least.
fn written(arguments: &[Expr]) -> impl Iterator<Item = f64> {
    arguments.iter().filter_map(|argument| match argument {
        Expr::Literal(value, _) => match value.cast_to(&DataType::Float64) {
            Ok(ScalarValue::Float64(number)) => number.filter(|number| !number.is_nan()),
            _ => None,
        },
        _ => None,
    })
}

fn unless(arguments: Vec<Formula>) -> Option<Formula> {
    let [one, other]: [Formula; 2] = arguments.try_into().ok()?;
    Some(Formula::Unless(Box::new(one), Box::new(other)))
}
