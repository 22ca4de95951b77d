//! What is publicly known about a column or an expression below the aggregate: which attributes it reads, its bounds, its domain.

use super::Source;
use crate::error::Result;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::logical_expr::expr::{Case, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator};
use std::collections::BTreeSet;

/// Beyond this, f64 no longer holds every whole number.
pub(crate) const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;
/// A range of whole numbers up to this size is a domain that can be listed.
const LARGEST_LISTED_RANGE: f64 = 10_000.0;

/// What is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Known {
    /// The attributes that the value depends on.
    pub attributes: BTreeSet<String>,
    /// Bounds that every value keeps, NULL aside.
    pub interval: Option<(f64, f64)>,
    /// All values there can be, NULL aside.
    pub values: Option<Vec<ScalarValue>>,
    /// The declared grid.
    pub granularity: Option<f64>,
    /// Whether this is a column that names the owner.
    pub is_owner: bool,
}

impl Known {
    /// All values, listed where they are few whole numbers.
    pub fn domain(&self, kind: &DataType) -> Option<Vec<ScalarValue>> {
        match (&self.values, self.interval, kind) {
            (Some(values), _, _) => Some(values.clone()),
            (None, Some((low, high)), DataType::Int64) if high - low < LARGEST_LISTED_RANGE => {
                let (low, high) = (low.ceil() as i64, high.floor() as i64);
                Some((low..=high).map(|value| ScalarValue::Int64(Some(value))).collect())
            }
            _ => None,
        }
    }

    fn of_bool(attributes: BTreeSet<String>) -> Self {
        let values = vec![ScalarValue::Boolean(Some(false)), ScalarValue::Boolean(Some(true))];
        Self { attributes, values: Some(values), ..Self::default() }
    }

    fn reading(attributes: BTreeSet<String>) -> Self {
        Self { attributes, ..Self::default() }
    }
}

/// The functions that may be used on private rows: they depend on their arguments only and fail on no value.
const FUNCTIONS: [&str; 27] = [
    "abs",
    "btrim",
    "ceil",
    "char_length",
    "character_length",
    "coalesce",
    "concat",
    "ends_with",
    "floor",
    "greatest",
    "least",
    "left",
    "length",
    "lower",
    "ltrim",
    "nullif",
    "replace",
    "right",
    "round",
    "rtrim",
    "signum",
    "starts_with",
    "strpos",
    "substr",
    "trim",
    "trunc",
    "upper",
];

/// Describes expressions over the output of one plan node.
pub(crate) struct Describer<'a> {
    pub schema: &'a DFSchema,
    pub columns: &'a [Known],
    pub source: &'a Source<'a>,
}

impl Describer<'_> {
    /// What is known about a column.
    pub fn column(&self, column: &Column) -> Result<&Known> {
        let index = self.schema.maybe_index_of_column(column);
        index
            .and_then(|index| self.columns.get(index))
            .ok_or_else(|| self.source.error(&column.name, format!("there is no declared column '{}'", column.name)))
    }

    /// What is known about an expression; refuses what must not be computed on private rows.
    pub fn expression(&self, expression: &Expr) -> Result<Known> {
        match expression {
            Expr::Column(column) => {
                let known = self.column(column)?;
                if known.is_owner {
                    let name = &column.name;
                    let sentence = format!(
                        "the owner column '{name}' can be counted with COUNT(DISTINCT {name}) and joined on, not read otherwise"
                    );
                    return Err(self.source.error(name, sentence));
                }
                Ok(known.clone())
            }
            Expr::Alias(alias) => self.expression(&alias.expr),
            Expr::Literal(value, _) => Ok(literal(value)),
            Expr::BinaryExpr(binary) => self.binary(binary, expression),
            Expr::Not(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotTrue(_)
            | Expr::IsNotFalse(_)
            | Expr::IsNotUnknown(_)
            | Expr::Like(_)
            | Expr::Between(_)
            | Expr::InList(_) => Ok(Known::of_bool(self.attributes_of_parts(expression)?)),
            Expr::Negative(inner) => {
                let known = self.expression(inner)?;
                let interval = known.interval.map(|(low, high)| (-high, -low));
                Ok(Known { interval, values: None, ..known })
            }
            Expr::Case(case) => self.case(case),
            Expr::Cast(cast) => self.cast(&cast.expr, cast.field.data_type(), false),
            Expr::TryCast(cast) => self.cast(&cast.expr, cast.field.data_type(), true),
            Expr::ScalarFunction(function) => self.function(function),
            other => {
                let word = other.variant_name();
                Err(self.source.error("", format!("the expression {other} ({word}) is not answered on private rows")))
            }
        }
    }

    /// The attributes of all parts, each of which is checked.
    fn attributes_of_parts(&self, expression: &Expr) -> Result<BTreeSet<String>> {
        let mut attributes = BTreeSet::new();
        for part in parts(expression) {
            attributes.extend(self.expression(part)?.attributes);
        }
        Ok(attributes)
    }

    fn binary(&self, binary: &BinaryExpr, whole: &Expr) -> Result<Known> {
        let (left, right) = (self.expression(&binary.left)?, self.expression(&binary.right)?);
        let attributes: BTreeSet<String> = left.attributes.union(&right.attributes).cloned().collect();
        let intervals = left.interval.zip(right.interval);
        let is_whole = whole.get_type(self.schema).is_ok_and(|kind| kind.is_integer());
        let interval = match binary.op {
            Operator::Plus => intervals.map(|((a, b), (c, d))| (a + c, b + d)),
            Operator::Minus => intervals.map(|((a, b), (c, d))| (a - d, b - c)),
            Operator::Multiply => intervals.map(|(left, right)| corners(left, right, |x, y| x * y)),
            Operator::Divide | Operator::Modulo => {
                let never_zero = right.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
                if !never_zero {
                    let sentence = format!(
                        "{whole} may divide by zero; divide by a literal, by a column whose bounds exclude 0, or after the aggregate"
                    );
                    return Err(self.source.error(if binary.op == Operator::Divide { "/" } else { "%" }, sentence));
                }
                match (&binary.op, intervals) {
                    (Operator::Divide, Some((left, right))) => {
                        let quotient = corners(left, right, |x, y| x / y);
                        Some(if is_whole { (quotient.0.trunc(), quotient.1.trunc()) } else { quotient })
                    }
                    (_, Some(((low, high), (c, d)))) => {
                        let most = c.abs().max(d.abs());
                        let most = if is_whole { most - 1.0 } else { most };
                        Some((if low < 0.0 { -most } else { 0.0 }, if high > 0.0 { most } else { 0.0 }))
                    }
                    _ => None,
                }
            }
            Operator::StringConcat => return Ok(Known::reading(attributes)),
            Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::And
            | Operator::Or
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom => return Ok(Known::of_bool(attributes)),
            other => {
                return Err(self.source.error("", format!("the operator {other} is not answered on private rows")));
            }
        };
        let interval = interval.filter(|(low, high)| low.abs().max(high.abs()) <= LARGEST_WHOLE);
        if is_whole && interval.is_none() {
            let sentence = format!("{whole} may overflow: declare bounds for its columns, or cast them to DOUBLE");
            return Err(self.source.error("", sentence));
        }
        Ok(Known { attributes, interval, ..Known::default() })
    }

    fn case(&self, case: &Case) -> Result<Known> {
        let mut attributes = BTreeSet::new();
        let conditions = case.expr.iter().chain(case.when_then_expr.iter().map(|(when, _)| when));
        for condition in conditions {
            attributes.extend(self.expression(condition)?.attributes);
        }
        let branches = case.when_then_expr.iter().map(|(_, then)| then).chain(&case.else_expr);
        let branches = branches.map(|branch| self.expression(branch)).collect::<Result<Vec<Known>>>()?;
        Ok(either(attributes, &branches))
    }

    fn cast(&self, inner: &Expr, to: &DataType, attempt: bool) -> Result<Known> {
        let known = self.expression(inner)?;
        let from = inner.get_type(self.schema).unwrap_or(DataType::Null);
        let to_text = matches!(to, DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8);
        let between_numbers = (from.is_numeric() || from == DataType::Boolean) && to.is_numeric();
        if !attempt && !to_text && !between_numbers && from != *to {
            let sentence = format!("CAST from {from} to {to} can fail on a row; use TRY_CAST, which gives NULL then");
            return Err(self.source.error("cast", sentence));
        }
        let interval = match known.interval {
            Some(interval) if between_numbers && to.is_integer() => Some((interval.0.trunc(), interval.1.trunc())),
            interval if between_numbers => interval,
            _ => None,
        };
        if !attempt && between_numbers && to.is_integer() && !from.is_integer() && interval.is_none() {
            let sentence = "this CAST to a whole number can overflow; declare bounds for its columns, or use TRY_CAST";
            return Err(self.source.error("cast", sentence));
        }
        Ok(Known { interval, values: None, ..known })
    }

    fn function(&self, function: &ScalarFunction) -> Result<Known> {
        let name = function.func.name();
        if !FUNCTIONS.contains(&name) {
            return Err(self.source.error(name, format!("the function {name} is not answered on private rows")));
        }
        let arguments = function.args.iter().map(|part| self.expression(part)).collect::<Result<Vec<Known>>>()?;
        let attributes = arguments.iter().flat_map(|known| known.attributes.iter().cloned()).collect();
        let first = arguments.first().and_then(|known| known.interval);
        let interval = match name {
            "abs" => first.map(|(low, high)| {
                let least = if low <= 0.0 && high >= 0.0 { 0.0 } else { low.abs().min(high.abs()) };
                (least, low.abs().max(high.abs()))
            }),
            "floor" => first.map(|(low, high)| (low.floor(), high.floor())),
            "ceil" => first.map(|(low, high)| (low.ceil(), high.ceil())),
            "round" if function.args.len() == 1 => first.map(|(low, high)| (low.round(), high.round())),
            "trunc" if function.args.len() == 1 => first.map(|(low, high)| (low.trunc(), high.trunc())),
            "signum" => Some((-1.0, 1.0)),
            // NULLs are skipped, so any of the arguments may decide.
            "greatest" | "least" => hull(&arguments),
            "coalesce" => return Ok(either(attributes, &arguments)),
            "nullif" => first,
            _ => None,
        };
        Ok(Known { attributes, interval, ..Known::default() })
    }
}

/// The parts of an expression that give a truth value.
fn parts(expression: &Expr) -> Vec<&Expr> {
    match expression {
        Expr::Not(inner)
        | Expr::IsNull(inner)
        | Expr::IsNotNull(inner)
        | Expr::IsTrue(inner)
        | Expr::IsFalse(inner)
        | Expr::IsUnknown(inner)
        | Expr::IsNotTrue(inner)
        | Expr::IsNotFalse(inner)
        | Expr::IsNotUnknown(inner) => vec![inner],
        Expr::Like(like) => vec![&like.expr, &like.pattern],
        Expr::Between(between) => vec![&between.expr, &between.low, &between.high],
        Expr::InList(list) => std::iter::once(list.expr.as_ref()).chain(&list.list).collect(),
        _ => Vec::new(),
    }
}

/// One of several: the hull of the intervals, the union of the domains.
fn either(mut attributes: BTreeSet<String>, branches: &[Known]) -> Known {
    attributes.extend(branches.iter().flat_map(|known| known.attributes.iter().cloned()));
    let branches: Vec<&Known> = branches.iter().filter(|known| **known != null()).collect();
    let interval = branches.iter().map(|known| known.interval).reduce(|left, right| {
        let ((a, b), (c, d)) = left.zip(right)?;
        Some((a.min(c), b.max(d)))
    });
    let mut values: Option<Vec<ScalarValue>> = Some(Vec::new());
    for known in &branches {
        values = values.zip(known.values.as_ref()).map(|(mut all, more)| {
            all.extend(more.iter().filter(|value| !all.contains(value)).cloned().collect::<Vec<_>>());
            all
        });
    }
    Known { attributes, interval: interval.flatten(), values, granularity: None, is_owner: false }
}

/// What is known about NULL: it is no value at all.
fn null() -> Known {
    Known { values: Some(Vec::new()), ..Known::default() }
}

fn literal(value: &ScalarValue) -> Known {
    if value.is_null() {
        return null();
    }
    let number = match value {
        ScalarValue::Int64(Some(number)) => Some(*number as f64),
        ScalarValue::UInt64(Some(number)) => Some(*number as f64),
        ScalarValue::Int32(Some(number)) => Some(f64::from(*number)),
        ScalarValue::Float64(Some(number)) if number.is_finite() => Some(*number),
        _ => None,
    };
    let values = match value {
        ScalarValue::Float64(_) => None,
        other => Some(vec![other.clone()]),
    };
    Known { interval: number.map(|number| (number, number)), values, ..Known::default() }
}

fn corners(left: (f64, f64), right: (f64, f64), combine: impl Fn(f64, f64) -> f64) -> (f64, f64) {
    let all = [combine(left.0, right.0), combine(left.0, right.1), combine(left.1, right.0), combine(left.1, right.1)];
    (all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

fn hull(arguments: &[Known]) -> Option<(f64, f64)> {
    let intervals: Vec<(f64, f64)> = arguments.iter().map(|known| known.interval).collect::<Option<_>>()?;
    let low = intervals.iter().map(|interval| interval.0);
    let high = intervals.iter().map(|interval| interval.1);
    Some((low.fold(f64::INFINITY, f64::min), high.fold(f64::NEG_INFINITY, f64::max)))
}
