//! What is done with released numbers fails on no number: where it would, the result is NULL.
//!
//! The charge is spent before the numbers are known, so a division by a noisy zero, a product that 64 bits do not hold
//! or a text that is no number must not take the answer away. All of this is post-processing and costs nothing.

use crate::sql::functions::{self, Growth};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray};
use datafusion::arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, TryCast, Volatility, cast, lit,
};
use std::sync::Arc;

/// The plan with every expression made total; the names of its columns stay.
pub(crate) fn total_plan(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up(|node| {
        let Some(input) = node.inputs().first().map(|input| Arc::clone(input.schema())) else {
            return Ok(Transformed::no(node));
        };
        let names = NamePreserver::new(&node);
        let rewritten = node.map_expressions(|expression| {
            let name = names.save(&expression);
            Ok(Transformed::yes(name.restore(total(expression, &input)?)))
        })?;
        rewritten.data.recompute_schema().map(Transformed::yes)
    })
    .map(|transformed| transformed.data)
}

/// The expression with NULL where it would fail on a row of columns as in `schema`.
pub(crate) fn total(expression: Expr, schema: &DFSchema) -> Result<Expr> {
    let rewritten = expression.transform_up(|node| match node {
        Expr::Cast(cast) => Ok(Transformed::yes(Expr::TryCast(TryCast { expr: cast.expr, field: cast.field }))),
        Expr::BinaryExpr(binary) => arithmetic(binary, schema),
        Expr::Negative(inner) if inner.get_type(schema)?.is_integer() => {
            Ok(Transformed::yes(WholeArithmetic::of(Operator::Minus).call(lit(0i64), *inner)))
        }
        Expr::ScalarFunction(function) if can_fail(&function.func) => {
            let func = Arc::new(ScalarUDF::new_from_impl(GuardedFunction { inner: function.func }));
            Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args: function.args })))
        }
        other => Ok(Transformed::no(other)),
    });
    rewritten.map(|rewritten| rewritten.data)
}

/// Functions that choose among their arguments are rewritten to CASE by DataFusion, and fail on nothing that their
/// arguments do not.
fn can_fail(function: &ScalarUDF) -> bool {
    !function.short_circuits()
        && function.signature().volatility == Volatility::Immutable
        && !function.inner().is::<GuardedFunction>()
        && !function.inner().is::<WholeArithmetic>()
        && !function.inner().is::<StringConcatenation>()
}

fn arithmetic(binary: BinaryExpr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_arithmetic = matches!(
        binary.op,
        Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo
    );
    let (left, right) = (binary.left.get_type(schema)?, binary.right.get_type(schema)?);
    if binary.op == Operator::StringConcat {
        return Ok(Transformed::yes(StringConcatenation::call(*binary.left, *binary.right)));
    }
    let is_decimal = |kind: &DataType| matches!(kind, DataType::Decimal128(..) | DataType::Decimal256(..));
    if is_arithmetic && left.is_integer() && right.is_integer() {
        return Ok(Transformed::yes(WholeArithmetic::of(binary.op).call(*binary.left, *binary.right)));
    }
    if is_arithmetic && (is_decimal(&left) || is_decimal(&right)) {
        let number = |side: Box<Expr>| Box::new(cast(*side, DataType::Float64));
        let binary = BinaryExpr { left: number(binary.left), op: binary.op, right: number(binary.right) };
        return Ok(Transformed::yes(Expr::BinaryExpr(binary)));
    }
    Ok(Transformed::no(Expr::BinaryExpr(binary)))
}

/// One text behind another; NULL where that is too long.
#[derive(Debug, PartialEq, Eq, Hash)]
struct StringConcatenation {
    signature: Signature,
}

impl StringConcatenation {
    fn call(left: Expr, right: Expr) -> Expr {
        let joined = Self { signature: Signature::uniform(2, vec![DataType::Utf8], Volatility::Immutable) };
        ScalarUDF::new_from_impl(joined).call(vec![cast(left, DataType::Utf8), cast(right, DataType::Utf8)])
    }
}

impl ScalarUDFImpl for StringConcatenation {
    fn name(&self) -> &str {
        "scumble_joined"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let left = arguments.args[0].to_array(arguments.number_rows)?;
        let right = arguments.args[1].to_array(arguments.number_rows)?;
        let longest = longest_of(arguments.number_rows);
        let joined = |(left, right): (Option<&str>, Option<&str>)| {
            let (left, right) = (left?, right?);
            (left.len() + right.len() <= longest).then(|| format!("{left}{right}"))
        };
        let texts: StringArray = left.as_string::<i32>().iter().zip(right.as_string::<i32>()).map(joined).collect();
        Ok(ColumnarValue::Array(Arc::new(texts)))
    }
}

/// Arithmetic on whole numbers of 64 bits; NULL where the result is none.
#[derive(Debug, PartialEq, Eq, Hash)]
struct WholeArithmetic {
    operator: Operator,
    signature: Signature,
}

impl WholeArithmetic {
    fn of(operator: Operator) -> Self {
        Self { operator, signature: Signature::uniform(2, vec![DataType::Int64], Volatility::Immutable) }
    }

    fn call(self, left: Expr, right: Expr) -> Expr {
        ScalarUDF::new_from_impl(self).call(vec![cast(left, DataType::Int64), cast(right, DataType::Int64)])
    }

    fn apply(&self, left: i64, right: i64) -> Option<i64> {
        match self.operator {
            Operator::Plus => left.checked_add(right),
            Operator::Minus => left.checked_sub(right),
            Operator::Multiply => left.checked_mul(right),
            Operator::Divide => left.checked_div(right),
            _ => left.checked_rem(right),
        }
    }
}

impl ScalarUDFImpl for WholeArithmetic {
    fn name(&self) -> &str {
        "scumble_whole"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let left = arguments.args[0].to_array(arguments.number_rows)?;
        let right = arguments.args[1].to_array(arguments.number_rows)?;
        let pairs = left.as_primitive::<Int64Type>().iter().zip(right.as_primitive::<Int64Type>());
        let results: Int64Array = pairs.map(|(left, right)| self.apply(left?, right?)).collect();
        Ok(ColumnarValue::Array(Arc::new(results)))
    }
}

/// The columns with all of their rows, also those that are constants.
fn in_all_rows(columns: Vec<ArrayRef>, rows: usize) -> Result<Vec<ArrayRef>> {
    let repeated = |column: ArrayRef| match column.len() {
        1 if rows != 1 => ScalarValue::try_from_array(&column, 0)?.to_array_of_size(rows),
        _ => Ok(column),
    };
    columns.into_iter().map(repeated).collect()
}

/// The length of a text in bytes; 0 for everything else.
fn text_length(column: &ArrayRef, row: usize) -> usize {
    if column.is_null(row) {
        return 0;
    }
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(row).len(),
        DataType::LargeUtf8 => column.as_string::<i64>().value(row).len(),
        DataType::Utf8View => column.as_string_view().value(row).len(),
        _ => 0,
    }
}

/// A function of DataFusion, with NULL in the rows on which it fails.
#[derive(Debug, PartialEq, Eq, Hash)]
struct GuardedFunction {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for GuardedFunction {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs) -> Result<FieldRef> {
        let field = self.inner.return_field_from_args(arguments)?;
        Ok(Arc::new(field.as_ref().clone().with_nullable(true)))
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = ColumnarValue::values_to_arrays(&arguments.args)?;
        let rows = columns.first().map_or(0, |column| column.len());
        let longest = longest_of(arguments.number_rows);
        if (0..rows).all(|row| self.fits(&columns, row, longest)) {
            let whole = self.inner.invoke_with_args(arguments.clone());
            if whole.is_ok() {
                return whole;
            }
        }
        let columns = in_all_rows(columns, arguments.number_rows)?;
        let rows = (0..arguments.number_rows).map(|row| self.one_row(&arguments, &columns, (row, longest)));
        let values = rows.collect::<Result<Vec<ScalarValue>>>()?;
        if values.is_empty() {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from(arguments.return_field.data_type())?));
        }
        Ok(ColumnarValue::Array(ScalarValue::iter_to_array(values)?))
    }
}

/// A longer text is none: 'repeat' would fill the memory after the charge.
const LONGEST_TEXT: usize = 1 << 20;
/// The texts of all rows that are looked at together are no longer than this, where each has a place of [`SHORT_TEXT`].
const ALL_TEXTS: usize = 1 << 28;
/// A text of this length is never too long.
const SHORT_TEXT: usize = 1 << 12;

/// How long a text may be that one of this many rows gets.
fn longest_of(rows: usize) -> usize {
    (ALL_TEXTS / rows.max(1)).clamp(SHORT_TEXT, LONGEST_TEXT)
}

/// A whole number among the arguments of a row; none if it is NULL.
fn whole(column: &ArrayRef, row: usize) -> Option<i64> {
    match ScalarValue::try_from_array(column, row) {
        Ok(ScalarValue::Int64(number)) => number,
        _ => None,
    }
}

impl GuardedFunction {
    /// Whether the text that the function makes of a row is short, whatever the function is: its texts one after the
    /// other, as often as they may stand in it, or as many characters as are asked for (for fewer than none, functions
    /// that pad fail by a panic).
    fn fits(&self, columns: &[ArrayRef], row: usize, longest: usize) -> bool {
        let length = |column: &ArrayRef| text_length(column, row);
        let all: usize = columns.iter().map(length).sum();
        let growth = functions::named(self.inner.name()).map_or(Growth::Few, |record| record.growth);
        let times = match (growth, columns) {
            (Growth::Repeated, [_, times]) => whole(times, row).map_or(0, |times| usize::try_from(times).unwrap_or(0)),
            // A letter may be replaced by the whole of another text; no text at all stands between all letters.
            (Growth::Replaced, [_, _, by]) => 1 + length(by),
            (Growth::Padded, [_, wanted, ..]) => {
                let wanted = whole(wanted, row).unwrap_or(0);
                return usize::try_from(wanted).is_ok_and(|wanted| wanted.saturating_mul(4) <= longest);
            }
            _ => 4,
        };
        (all + 1).saturating_mul(times) <= longest
    }

    /// The function's value in one row.
    fn one_row(
        &self,
        arguments: &ScalarFunctionArgs,
        columns: &[ArrayRef],
        (row, longest): (usize, usize),
    ) -> Result<ScalarValue> {
        if !self.fits(columns, row, longest) {
            return ScalarValue::try_from(arguments.return_field.data_type());
        }
        let mut one = arguments.clone();
        one.number_rows = 1;
        for (argument, column) in one.args.iter_mut().zip(columns) {
            // What was written as a constant stays one: some functions demand that.
            if let ColumnarValue::Array(_) = argument {
                *argument = ColumnarValue::Array(column.slice(row, 1));
            }
        }
        match self.inner.invoke_with_args(one) {
            Ok(ColumnarValue::Scalar(value)) => Ok(value),
            Ok(ColumnarValue::Array(array)) => ScalarValue::try_from_array(&array, 0),
            Err(_) => ScalarValue::try_from(arguments.return_field.data_type()),
        }
    }
}

#[cfg(test)]
mod tests;
