//! Functions of strings.

use super::Argument::{Any, AnyText, Text, Written};
use super::{Growth, Spelling, SqlFunction, text};
use datafusion::logical_expr::Expr;

/// How far a place in a string may be.
const FAR: i64 = 1_000_000;

pub(super) const ALL: &[SqlFunction] = &[
    SqlFunction::on_rows("btrim", &[Any, Text]),
    SqlFunction::on_rows("character_length", &[Any]),
    SqlFunction { bytes: all_together, ..SqlFunction::on_rows("concat", &[Any]) },
    SqlFunction::on_rows("ends_with", &[Any, Any]),
    SqlFunction::on_rows("left", &[Any, Written(-FAR, FAR)]),
    SqlFunction { bytes: three_for_one, ..SqlFunction::on_rows("lower", &[Any]) },
    SqlFunction { growth: Growth::Padded, ..SqlFunction::new("lpad") },
    SqlFunction::on_rows("ltrim", &[Any, Text]),
    SqlFunction { growth: Growth::Repeated, ..SqlFunction::new("repeat") },
    SqlFunction { bytes: replaced, growth: Growth::Replaced, ..SqlFunction::on_rows("replace", &[Any, Text, AnyText]) },
    SqlFunction::on_rows("right", &[Any, Written(-FAR, FAR)]),
    SqlFunction { growth: Growth::Padded, ..SqlFunction::new("rpad") },
    SqlFunction::on_rows("rtrim", &[Any, Text]),
    SqlFunction::on_rows("starts_with", &[Any, Any]),
    SqlFunction::on_rows("strpos", &[Any, Any]),
    SqlFunction::on_rows("substr", &[Any, Written(-FAR, FAR), Written(0, FAR)]),
    SqlFunction { bytes: three_for_one, ..SqlFunction::on_rows("upper", &[Any]) },
    SqlFunction {
        spelling: Spelling::Refused("version() says nothing about rows; scumble --version prints the program's"),
        ..SqlFunction::new("version")
    },
];

fn all_together(_: &[Expr], bytes: &[u64]) -> u64 {
    bytes.iter().copied().fold(0, u64::saturating_add)
}

/// A letter may become three.
fn three_for_one(arguments: &[Expr], bytes: &[u64]) -> u64 {
    all_together(arguments, bytes).saturating_mul(3)
}

/// What is found may be all of the string.
fn replaced(arguments: &[Expr], bytes: &[u64]) -> u64 {
    let length = |index: usize| arguments.get(index).and_then(text).map_or(0, str::len) as u64;
    all_together(arguments, bytes).saturating_mul(length(2).div_ceil(length(1).max(1)).max(1))
}
