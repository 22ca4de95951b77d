//! Expressions over the tables of the catalogue: their values, and their types without any row.

use super::cast::{cast, elements, is_number, is_whole, listed, type_name};
use super::context::EvaluationContext;
use super::function;
use super::length;
use super::operator::{ESCAPE, among, compare, escaped_like, is_true, not_if, operated, paid, same};
use super::scope::{EmptyScope, JoinedRow, NameScope, folded, last_word};
use crate::postgres::refused::{SqlError, code};
use crate::postgres::value::{CellValue, PgType};
use sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Query, Subscript,
    UnaryOperator, Value as Literal, ValueWithSpan, WindowType,
};
use std::cmp::Ordering;

/// The value of an expression; NULL where it is of a sort that is not known.
pub(super) fn value_of(
    expression: &Expr,
    context: EvaluationContext<'_>,
    scope: &NameScope<'_>,
) -> Result<CellValue, SqlError> {
    context.world.spend(1)?;
    context.world.weighed(evaluated(expression, context, scope)?)
}

fn evaluated(expression: &Expr, context: EvaluationContext<'_>, scope: &NameScope<'_>) -> Result<CellValue, SqlError> {
    let of = |inner: &Expr| value_of(inner, context, scope);
    let truth = |truth: bool| Ok(CellValue::Truth(truth));
    match expression {
        Expr::Identifier(name) => column(None, &folded(name), context, scope),
        Expr::CompoundIdentifier(words) => {
            let words: Vec<String> = words.iter().map(folded).collect();
            match &words[..] {
                [.., table, name] => column(Some(table), name, context, scope),
                _ => Ok(CellValue::Null),
            }
        }
        Expr::Value(value) => Ok(literal(&value.value)),
        Expr::TypedString(typed) => Ok(literal(&typed.value.value)),
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } | Expr::Prefixed { value: inner, .. } => of(inner),
        Expr::Cast { expr, data_type, .. } => {
            let (value, to) = (of(expr)?, type_name(data_type));
            if to.ends_with("[]") {
                context.world.weigh(listed(&value))?;
            }
            Ok(cast(value, &to, context.world))
        }
        Expr::BinaryOp { left, op, right } => binary(left, op, right, context, scope),
        Expr::UnaryOp { op, expr } => Ok(match (op, of(expr)?) {
            (UnaryOperator::Not, CellValue::Truth(truth)) => CellValue::Truth(!truth),
            (UnaryOperator::Minus, CellValue::Whole(number)) => {
                number.checked_neg().map_or(CellValue::Null, CellValue::Whole)
            }
            (UnaryOperator::Minus, CellValue::Number(number)) => CellValue::Number(-number),
            (UnaryOperator::Plus, value) => value,
            _ => CellValue::Null,
        }),
        Expr::IsNull(inner) => truth(of(inner)? == CellValue::Null),
        Expr::IsNotNull(inner) => truth(of(inner)? != CellValue::Null),
        Expr::IsTrue(inner) => truth(of(inner)? == CellValue::Truth(true)),
        Expr::IsNotTrue(inner) => truth(of(inner)? != CellValue::Truth(true)),
        Expr::IsFalse(inner) => truth(of(inner)? == CellValue::Truth(false)),
        Expr::IsNotFalse(inner) => truth(of(inner)? != CellValue::Truth(false)),
        Expr::IsDistinctFrom(left, right) => truth(!same(&of(left)?, &of(right)?)),
        Expr::IsNotDistinctFrom(left, right) => truth(same(&of(left)?, &of(right)?)),
        Expr::InList { expr, list, negated } => {
            let list = list.iter().map(of).collect::<Result<Vec<_>, SqlError>>()?;
            Ok(not_if(*negated, among(&of(expr)?, &list)))
        }
        Expr::InSubquery { expr, subquery, negated } => {
            let list = first_column(subquery, context, scope)?;
            Ok(not_if(*negated, among(&of(expr)?, &list)))
        }
        Expr::Between { expr, negated, low, high } => {
            let (value, low, high) = (of(expr)?, of(low)?, of(high)?);
            let within = compare(&low, &value).zip(compare(&value, &high));
            let within =
                within.map(|(low, high)| CellValue::Truth(low != Ordering::Greater && high != Ordering::Greater));
            Ok(not_if(*negated, within.unwrap_or(CellValue::Null)))
        }
        Expr::Like { negated, expr, pattern, escape_char, .. } => {
            let (text, pattern) = (of(expr)?, of(pattern)?);
            paid(&text, std::slice::from_ref(&pattern), context.world)?;
            Ok(not_if(*negated, escaped_like(&text, &pattern, false, escape(escape_char.as_ref()))))
        }
        Expr::ILike { negated, expr, pattern, escape_char, .. } => {
            let (text, pattern) = (of(expr)?, of(pattern)?);
            paid(&text, std::slice::from_ref(&pattern), context.world)?;
            Ok(not_if(*negated, escaped_like(&text, &pattern, true, escape(escape_char.as_ref()))))
        }
        Expr::AnyOp { left, compare_op, right, .. } => {
            let (left, right) = (of(left)?, list_of(right, context, scope)?);
            paid(&left, &right, context.world)?;
            for right in &right {
                if is_true(&operated(&left, compare_op, right, context.world)?) {
                    return truth(true);
                }
            }
            truth(false)
        }
        Expr::AllOp { left, compare_op, right } => {
            let (left, right) = (of(left)?, list_of(right, context, scope)?);
            paid(&left, &right, context.world)?;
            for right in &right {
                if !is_true(&operated(&left, compare_op, right, context.world)?) {
                    return truth(false);
                }
            }
            truth(true)
        }
        Expr::Case { operand, conditions, else_result, .. } => {
            let operand = operand.as_ref().map(|operand| of(operand)).transpose()?;
            for when in conditions {
                let condition = of(&when.condition)?;
                let holds = match &operand {
                    Some(operand) => compare(operand, &condition) == Some(Ordering::Equal),
                    None => is_true(&condition),
                };
                if holds {
                    return of(&when.result);
                }
            }
            else_result.as_ref().map_or(Ok(CellValue::Null), |result| of(result))
        }
        Expr::Exists { subquery, negated } => {
            let table = context.query(subquery, Some(scope))?;
            truth(table.rows.is_empty() == *negated)
        }
        Expr::Subquery(subquery) => {
            let table = context.query(subquery, Some(scope))?;
            Ok(table.rows.first().and_then(|row| row.first()).cloned().unwrap_or(CellValue::Null))
        }
        Expr::Array(array) => Ok(CellValue::List(array.elem.iter().map(of).collect::<Result<_, SqlError>>()?)),
        Expr::Tuple(list) => Ok(CellValue::List(list.iter().map(of).collect::<Result<_, SqlError>>()?)),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let mut value = of(root)?;
            for access in access_chain {
                value = match (value, access) {
                    (CellValue::List(list), AccessExpr::Subscript(Subscript::Index { index })) => match of(index)? {
                        CellValue::Whole(number) => {
                            let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
                            index.and_then(|index| list.get(index)).cloned().unwrap_or(CellValue::Null)
                        }
                        _ => CellValue::Null,
                    },
                    _ => CellValue::Null,
                };
            }
            Ok(value)
        }
        Expr::Substring { expr, substring_from, substring_for, .. } => {
            let number = |part: &Option<Box<Expr>>| part.as_ref().map(|part| of(part)).transpose();
            Ok(function::substring(&of(expr)?, number(substring_from)?, number(substring_for)?))
        }
        Expr::Trim { expr, trim_what, .. } => {
            let what = trim_what.as_ref().map(|what| of(what)).transpose()?.and_then(|what| what.shown());
            let letters = what.unwrap_or_else(|| " ".to_string());
            Ok(of(expr)?
                .shown()
                .map_or(CellValue::Null, |text| CellValue::text(text.trim_matches(|one: char| letters.contains(one)))))
        }
        Expr::Position { expr, r#in } => Ok(match (of(expr)?.shown(), of(r#in)?.shown()) {
            (Some(part), Some(text)) => {
                CellValue::Whole(text.find(&part).map_or(0, |index| text[..index].chars().count() as i64 + 1))
            }
            _ => CellValue::Null,
        }),
        Expr::Function(call) => called(call, context, scope),
        _ => Ok(CellValue::Null),
    }
}

/// A column, or one of the words that SQL writes like one.
fn column(
    table: Option<&str>,
    name: &str,
    context: EvaluationContext<'_>,
    scope: &NameScope<'_>,
) -> Result<CellValue, SqlError> {
    let world = context.world;
    if let Some(value) = scope.lookup(table, name, world)? {
        return Ok(value.clone());
    }
    match name {
        "current_user" | "session_user" | "user" | "current_role" => Ok(CellValue::text(world.settings.user())),
        "current_catalog" => Ok(CellValue::text(crate::postgres::settings::DATABASE)),
        "current_schema" => Ok(CellValue::text("public")),
        "current_timestamp" | "localtimestamp" => Ok(CellValue::Text(crate::postgres::value::now())),
        // Where there are tables, one of them might have had it.
        _ if !scope.sources.is_empty() || scope.outer.is_some() => Ok(CellValue::Null),
        _ => Err(SqlError::new(code::NO_COLUMN, format!("there is no column '{name}': the query reads no table"))),
    }
}

/// The character that LIKE escapes others with: a backslash, or what ESCAPE names; none where that is empty.
fn escape(named: Option<&ValueWithSpan>) -> Option<char> {
    named.map_or(Some(ESCAPE), |named| literal(&named.value).shown()?.chars().next())
}

fn literal(value: &Literal) -> CellValue {
    match value {
        Literal::Number(digits, _) => match (digits.parse(), digits.parse()) {
            (Ok(number), _) => CellValue::Whole(number),
            (_, Ok(number)) => CellValue::Number(number),
            _ => CellValue::Null,
        },
        Literal::Boolean(truth) => CellValue::Truth(*truth),
        other => other.clone().into_string().map_or(CellValue::Null, CellValue::Text),
    }
}

/// The list behind ANY and ALL: an array, the text of one, or the rows of a query.
fn list_of(
    expression: &Expr,
    context: EvaluationContext<'_>,
    scope: &NameScope<'_>,
) -> Result<Vec<CellValue>, SqlError> {
    let inner = match expression {
        Expr::Nested(inner) => inner,
        other => other,
    };
    if let Expr::Subquery(subquery) = inner {
        return first_column(subquery, context, scope);
    }
    let value = value_of(inner, context, scope)?;
    context.world.weigh(listed(&value))?;
    Ok(match value {
        CellValue::List(list) => list,
        CellValue::Text(text) => elements(&text),
        _ => Vec::new(),
    })
}

fn binary(
    left: &Expr,
    op: &BinaryOperator,
    right: &Expr,
    context: EvaluationContext<'_>,
    scope: &NameScope<'_>,
) -> Result<CellValue, SqlError> {
    let first = value_of(left, context, scope)?;
    // What decides without the other side is not looked at further.
    match (op, &first) {
        (BinaryOperator::And, CellValue::Truth(false)) => return Ok(CellValue::Truth(false)),
        (BinaryOperator::Or, CellValue::Truth(true)) => return Ok(CellValue::Truth(true)),
        _ => {}
    }
    let second = value_of(right, context, scope)?;
    match op {
        BinaryOperator::StringConcat => context.world.weigh(length(&first).saturating_add(length(&second)))?,
        _ => paid(&first, std::slice::from_ref(&second), context.world)?,
    }
    operated(&first, op, &second, context.world)
}

/// The value of a call.
fn called(call: &Function, context: EvaluationContext<'_>, scope: &NameScope<'_>) -> Result<CellValue, SqlError> {
    let name = last_word(&call.name);
    let arguments = match &call.args {
        FunctionArguments::Subquery(subquery) => {
            let list = first_column(subquery, context, scope)?;
            return Ok(if name == "array" { CellValue::List(list) } else { CellValue::Null });
        }
        FunctionArguments::List(list) => &list.args[..],
        FunctionArguments::None => &[],
    };
    if let Some(window) = &call.over {
        return counted(&name, window, context, scope);
    }
    if function::is_aggregate(&name) {
        return aggregate(&name, arguments, context, scope);
    }
    function::called(&name, &arguments_of(arguments, context, scope)?, context.world)
}

/// The values of a call's arguments.
pub(super) fn arguments_of(
    arguments: &[FunctionArg],
    context: EvaluationContext<'_>,
    scope: &NameScope<'_>,
) -> Result<Vec<CellValue>, SqlError> {
    arguments.iter().filter_map(plain).map(|argument| value_of(argument, context, scope)).collect()
}

/// The first column of a query inside.
fn first_column(
    query: &Query,
    context: EvaluationContext<'_>,
    scope: &NameScope<'_>,
) -> Result<Vec<CellValue>, SqlError> {
    let table = context.query(query, Some(scope))?;
    Ok(table.rows.iter().filter_map(|row| row.first().cloned()).collect())
}

/// An argument that is an expression.
fn plain(argument: &FunctionArg) -> Option<&Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expression))
        | FunctionArg::Named { arg: FunctionArgExpr::Expr(expression), .. } => Some(expression),
        _ => None,
    }
}

/// `row_number()`: how many rows with the same values of PARTITION BY came so far. Other window functions are NULL.
fn counted(
    name: &str,
    window: &WindowType,
    context: EvaluationContext<'_>,
    scope: &NameScope<'_>,
) -> Result<CellValue, SqlError> {
    let WindowType::WindowSpec(window) = window else { return Ok(CellValue::Null) };
    if name != "row_number" {
        return Ok(CellValue::Null);
    }
    context.world.spend(8)?;
    let mut key = window.to_string();
    context.world.spend(key.len() / 16)?;
    for one in &window.partition_by {
        key.push_str(&format!(";{:?}", value_of(one, context, scope)?));
    }
    let mut counters = scope.counters.borrow_mut();
    let count = counters.entry(key).or_insert(0);
    *count += 1;
    Ok(CellValue::Whole(*count))
}

fn aggregate(
    name: &str,
    arguments: &[FunctionArg],
    context: EvaluationContext<'_>,
    scope: &NameScope<'_>,
) -> Result<CellValue, SqlError> {
    let alone = [scope.row.to_vec()];
    let rows: &[JoinedRow] = scope.group.unwrap_or(&alone);
    let mut arguments = arguments.iter().filter_map(plain);
    let Some(first) = arguments.next() else {
        return Ok(if name == "count" { CellValue::Whole(rows.len() as i64) } else { CellValue::Null });
    };
    let mut values = Vec::new();
    for row in rows {
        let here = NameScope { row, group: None, ..*scope };
        values.extend(Some(value_of(first, context, &here)?).filter(|value| *value != CellValue::Null));
    }
    let between = match name {
        "string_agg" if !values.is_empty() => arguments.next().map(|between| value_of(between, context, scope)),
        _ => None,
    };
    function::aggregated(name, values, between.transpose()?, context.world)
}

/// The type of an expression, whatever the rows are.
pub(super) fn kind_of(
    expression: &Expr,
    context: EvaluationContext<'_>,
    scope: &NameScope<'_>,
) -> Result<PgType, SqlError> {
    context.world.spend(1)?;
    let of = |inner: &Expr| kind_of(inner, context, scope);
    Ok(match expression {
        Expr::Identifier(name) => scope.kind(None, &folded(name), context.world)?.unwrap_or(PgType::Text),
        Expr::CompoundIdentifier(words) => {
            let words: Vec<String> = words.iter().map(folded).collect();
            match &words[..] {
                [.., table, name] => scope.kind(Some(table), name, context.world)?.unwrap_or(PgType::Text),
                _ => PgType::Text,
            }
        }
        Expr::Value(value) => match literal(&value.value) {
            CellValue::Whole(number) => {
                if i32::try_from(number).is_ok() {
                    PgType::Int
                } else {
                    PgType::Whole
                }
            }
            CellValue::Number(_) => PgType::Number,
            CellValue::Truth(_) => PgType::Truth,
            _ => PgType::Text,
        },
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => of(inner)?,
        Expr::UnaryOp { op: UnaryOperator::Not, .. } => PgType::Truth,
        Expr::UnaryOp { expr, .. } => of(expr)?,
        Expr::Cast { data_type, expr, .. } => match type_name(data_type).as_str() {
            "bool" | "boolean" => PgType::Truth,
            "int2" | "smallint" => PgType::Small,
            "int" | "int4" | "integer" => PgType::Int,
            "oid" | "xid" => PgType::Oid,
            // A name as the number of what it names, unless it is made the name of a number.
            "regclass" | "regtype" | "regnamespace" => match of(expr)? {
                PgType::Text | PgType::Name => PgType::Oid,
                _ => PgType::Text,
            },
            "name" => PgType::Name,
            name if is_whole(name) => PgType::Whole,
            name if is_number(name) => PgType::Number,
            name if name.ends_with("[]") => PgType::Texts,
            _ => PgType::Text,
        },
        Expr::BinaryOp { left, op, right } => match op {
            BinaryOperator::Plus
            | BinaryOperator::Minus
            | BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::Modulo
            | BinaryOperator::BitwiseAnd
            | BinaryOperator::BitwiseOr => PgType::Whole,
            BinaryOperator::StringConcat => match (of(left)?, of(right)?) {
                (PgType::Texts, _) | (_, PgType::Texts) => PgType::Texts,
                _ => PgType::Text,
            },
            _ => PgType::Truth,
        },
        Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::ILike { .. }
        | Expr::AnyOp { .. }
        | Expr::AllOp { .. }
        | Expr::Exists { .. } => PgType::Truth,
        Expr::Case { conditions, else_result, .. } => {
            let results = conditions.iter().map(|when| &when.result).chain(else_result.as_deref());
            let is_null = |result: &&Expr| matches!(result, Expr::Value(value) if value.value == Literal::Null);
            let known: Vec<&Expr> = results.filter(|result| !is_null(result)).collect();
            let kinds = known.into_iter().map(of).collect::<Result<Vec<_>, SqlError>>()?;
            match kinds.first() {
                Some(first) if kinds.iter().all(|kind| kind == first) => *first,
                _ => PgType::Text,
            }
        }
        Expr::Array(_) => PgType::Texts,
        Expr::Subquery(subquery) => {
            let nowhere = EmptyScope::default();
            let inner = nowhere.scope(Some(scope));
            let table = context.query(subquery, Some(&inner))?;
            table.columns.first().map_or(PgType::Text, |column| column.kind)
        }
        Expr::Position { .. } => PgType::Int,
        Expr::Function(call) => {
            let first = match &call.args {
                FunctionArguments::List(list) => list.args.iter().find_map(plain),
                _ => None,
            };
            let first = first.map(of).transpose()?;
            function::kind(&last_word(&call.name), first)
        }
        _ => PgType::Text,
    })
}
