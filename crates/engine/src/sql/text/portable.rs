//! What all engines mean the same by. Everything else is refused for them by its name: an answer to another question
//! than was asked would be no smaller a mistake than a missing one.
//!
//! Left out, with what engines do: whole-number division (DuckDB, Spark and BigQuery give fractions), division by what
//! may be 0 (an error, NULL or infinity), the order of texts (by a language or by bytes), LIKE (what escapes), capital
//! letters, rounding halves, casts from fractions (cut off or rounded) and from texts, parts of dates, and times (with
//! how many decimals, in which zone).

use super::super::PrivateQuery;
use super::Engine;
use crate::error::DataFusionResult;
use crate::sql::above::formula::Rounding;
use crate::sql::analyse::query::Summand;
use crate::sql::functions::{self, Dialects, Shape};
use crate::tables::functions::MOMENT;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError, ScalarValue};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator};

/// The comparisons.
const COMPARISONS: [Operator; 6] =
    [Operator::Eq, Operator::NotEq, Operator::Lt, Operator::LtEq, Operator::Gt, Operator::GtEq];

/// Refuses a plan with anything else in it.
pub(crate) fn check(plan: &LogicalPlan) -> DataFusionResult<()> {
    plan.apply(|node| {
        match node {
            LogicalPlan::TableScan(_)
            | LogicalPlan::SubqueryAlias(_)
            | LogicalPlan::Projection(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::Join(_) => {}
            other => return Err(untold(other.display().to_string())),
        }
        let inputs = node.inputs();
        let schema = if inputs.is_empty() { node.schema().as_ref().clone() } else { merge_schema(&inputs) };
        for expression in node.expressions() {
            expression.apply(|one| one_node(one, &schema).map(|()| TreeNodeRecursion::Continue))?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// Refuses names that would be read as others, or as the end of a name and more SQL. Names come from project files,
/// from aliases in queries, and, for expressions without one, from all that is written in them.
///
/// The writer doubles a quote unless a backslash stands before it or another quote beside it: behind a backslash a name
/// would end early in engines that know no escapes there, and BigQuery reads escapes in a name as in a text
/// [its lexical structure, quoted identifiers]. Spark replaces `${…}` wherever it stands
/// (`spark.sql.variable.substitute`).
pub(crate) fn check_names(plan: &LogicalPlan, engine: Engine) -> DataFusionResult<()> {
    let is_backticked = matches!(engine, Engine::Spark | Engine::BigQuery);
    plan.apply(|node| {
        let is_declared = matches!(node, LogicalPlan::TableScan(_));
        for (table, field) in node.schema().iter() {
            let table = table.map_or(String::new(), |table| table.to_string());
            for name in [&table, field.name()] {
                let is_replaced = engine == Engine::Spark && name.contains("${");
                let is_halved = is_declared && name.contains("\"\"");
                if name.contains('\\') || is_replaced || is_halved || is_backticked && name.contains('`') {
                    return Err(untold(format!("a column or a table called {}", name.escape_debug())));
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// Refuses keys and different values of types that engines write differently.
pub(crate) fn check_keys(cut: &PrivateQuery) -> DataFusionResult<()> {
    if cut.query.keys.iter().any(|key| key.kind == MOMENT) {
        return Err(untold("GROUP BY a time"));
    }
    let schema = cut.below.plan.schema();
    for measure in cut.query.measures.iter().filter(|measure| measure.what == Summand::Different) {
        let kind = measure.expression.as_ref().map(|value| value.get_type(schema)).transpose()?;
        match kind {
            Some(DataType::Utf8 | DataType::Boolean) => {}
            Some(kind) if kind.is_integer() => {}
            _ => return Err(untold("COUNT(DISTINCT …) of fractions, dates or times")),
        }
    }
    Ok(())
}

/// Our comparisons tell -0 from 0, which others do not. Columns hold no -0; a fraction that is computed may be one, and
/// is compared with a number that is written out and not 0. (Where we clamp, both are the same.)
pub(crate) fn check_zeros(cut: &PrivateQuery) -> DataFusionResult<()> {
    cut.below.plan.apply(|node| {
        let inputs = node.inputs();
        let schema = if inputs.is_empty() { node.schema().as_ref().clone() } else { merge_schema(&inputs) };
        node.expressions().iter().try_for_each(|expression| zeros(expression, &schema))?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    let query = &cut.query;
    let values = query.measures.iter().filter_map(|measure| measure.expression.as_ref());
    let others = query.keys.iter().map(|key| &key.expression).chain(query.ranked.iter().map(|one| &one.expression));
    values.chain(others).try_for_each(|expression| zeros(expression, cut.below.plan.schema()))
}

fn zeros(expression: &Expr, schema: &DFSchema) -> DataFusionResult<()> {
    let is_computed = |side: &Expr| {
        side.exists(|node| Ok(matches!(node, Expr::BinaryExpr(_) | Expr::Negative(_) | Expr::ScalarFunction(_))))
    };
    let is_written = |side: &Expr| match side {
        Expr::Literal(ScalarValue::Float64(Some(number)), _) => *number != 0.0,
        _ => false,
    };
    let compared = |sides: &[&Expr]| -> DataFusionResult<bool> {
        if sides[0].get_type(schema)? != DataType::Float64 || sides[1..].iter().all(|side| is_written(side)) {
            return Ok(false);
        }
        let is_computed = sides.iter().map(|side| is_computed(side)).collect::<DataFusionResult<Vec<bool>>>()?;
        Ok(is_computed.contains(&true) && !is_written(sides[0]))
    };
    let is_unsafe = expression.exists(|node| match node {
        Expr::BinaryExpr(binary) if COMPARISONS.contains(&binary.op) => compared(&[&binary.left, &binary.right]),
        Expr::Between(between) => compared(&[&between.expr, &between.low, &between.high]),
        Expr::InList(list) => {
            compared(&std::iter::once(list.expr.as_ref()).chain(list.list.iter()).collect::<Vec<_>>())
        }
        _ => Ok(false),
    })?;
    match is_unsafe {
        true => Err(untold("the comparison of a computed fraction with what may be 0")),
        false => Ok(()),
    }
}

fn untold(what: impl Into<String>) -> DataFusionError {
    DataFusionError::NotImplemented(what.into())
}

fn one_node(node: &Expr, schema: &DFSchema) -> DataFusionResult<()> {
    match node {
        Expr::Column(column) => match node.get_type(schema) {
            Ok(DataType::Timestamp(..)) => Err(untold(format!("the time '{}'", column.name))),
            _ => Ok(()),
        },
        Expr::Literal(value, _) => literal(value),
        Expr::BinaryExpr(binary) => operator(binary, schema),
        Expr::Between(between) => ordered(&between.expr, schema),
        Expr::Cast(cast) => casts(cast, schema),
        Expr::Alias(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNotFalse(_)
        | Expr::Case(_)
        | Expr::InList(_) => Ok(()),
        Expr::IsUnknown(_) | Expr::IsNotUnknown(_) => Err(untold("IS UNKNOWN (write IS NULL)")),
        Expr::ScalarFunction(call)
            if functions::named(call.func.name()).is_some_and(|record| record.dialects != Dialects::Embedded) =>
        {
            Ok(())
        }
        Expr::ScalarFunction(call) => Err(untold(format!("the function {}", call.func.name()))),
        Expr::TryCast(cast) => Err(untold(format!("a cast to {} where it fits", cast.field.data_type()))),
        Expr::Like(_) => Err(untold("LIKE")),
        other => Err(untold(other.variant_name())),
    }
}

fn literal(value: &ScalarValue) -> DataFusionResult<()> {
    match value {
        ScalarValue::Utf8(Some(text)) if text.contains('\0') => Err(untold("a string with a NUL character")),
        ScalarValue::TimestampNanosecond(..)
        | ScalarValue::TimestampMicrosecond(..)
        | ScalarValue::TimestampMillisecond(..)
        | ScalarValue::TimestampSecond(..) => Err(untold("a time")),
        ScalarValue::IntervalDayTime(_) | ScalarValue::IntervalMonthDayNano(_) | ScalarValue::IntervalYearMonth(_) => {
            Err(untold("an interval"))
        }
        _ => Ok(()),
    }
}

fn operator(binary: &BinaryExpr, schema: &DFSchema) -> DataFusionResult<()> {
    let kind = || binary.left.get_type(schema);
    // Numbers of fewer bits are multiplied in these.
    let is_number = |kind: &DataType| matches!(kind, DataType::Int64 | DataType::Float64);
    match binary.op {
        Operator::And | Operator::Or | Operator::Eq | Operator::NotEq => Ok(()),
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => ordered(&binary.left, schema),
        Operator::Plus | Operator::Minus | Operator::Multiply
            if is_number(&kind()?) && is_number(&binary.right.get_type(schema)?) =>
        {
            Ok(())
        }
        Operator::Divide if kind()? == DataType::Float64 && is_not_zero(&binary.right) => Ok(()),
        Operator::Divide => Err(untold("a division other than that of a fraction by a literal number")),
        Operator::StringConcat if kind()? == DataType::Utf8 && binary.right.get_type(schema)? == DataType::Utf8 => {
            Ok(())
        }
        other => Err(untold(format!("the operator {other}"))),
    }
}

/// A number that is written out and not 0; fractions stand there as casts of their digits.
fn is_not_zero(expression: &Expr) -> bool {
    match expression {
        Expr::Literal(ScalarValue::Int64(Some(number)), _) => *number != 0,
        Expr::Cast(cast) => match cast.expr.as_ref() {
            Expr::Literal(ScalarValue::Utf8(Some(digits)), _) => {
                digits.parse::<f64>().is_ok_and(|number| number.is_finite() && number != 0.0)
            }
            inner => is_not_zero(inner),
        },
        _ => false,
    }
}

/// Numbers, dates and truths have one order; texts have one in each language.
fn ordered(operand: &Expr, schema: &DFSchema) -> DataFusionResult<()> {
    match operand.get_type(schema)? {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Err(untold("the order of strings (< or BETWEEN)")),
        _ => Ok(()),
    }
}

fn casts(cast: &Cast, schema: &DFSchema) -> DataFusionResult<()> {
    let (from, to) = (cast.expr.get_type(schema)?, cast.field.data_type());
    let is_floor = |inner: &Expr| match inner {
        Expr::ScalarFunction(call) => functions::named(call.func.name())
            .is_some_and(|record| matches!(record.shape, Shape::Rounded(Rounding::Down))),
        _ => false,
    };
    let fits = match (&from, to) {
        (from, to) if from == to => true,
        (DataType::Null, _) => true,
        // Digits, an infinity or a date of ours.
        (DataType::Utf8, DataType::Float64 | DataType::Date32) => matches!(cast.expr.as_ref(), Expr::Literal(..)),
        (from, DataType::Float64 | DataType::Utf8) if from.is_integer() => true,
        (from, to) if from.is_integer() && to.is_integer() => true,
        (DataType::Float64, to) if to.is_integer() => is_floor(&cast.expr),
        _ => false,
    };
    if fits { Ok(()) } else { Err(untold(format!("a cast from {from} to {to}"))) }
}
