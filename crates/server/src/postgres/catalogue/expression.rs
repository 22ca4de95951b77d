//! Expressions over the tables of the catalogue: their values, and their types without any row.

use super::function::{self, called};
use super::query::{CommonTables, query};
use super::scope::{EmptyScope, NameScope, folded, last_word};
use super::{Catalogue, length, tables};
use crate::postgres::refused::{SqlError, code};
use crate::postgres::value::{CellValue, PgType};
use sqlparser::ast::{
    AccessExpr, BinaryOperator, DataType, Expr, FunctionArguments, Subscript, UnaryOperator, Value as Literal,
};
use std::cmp::Ordering;

/// What an expression is evaluated in, besides its row.
#[derive(Clone, Copy)]
pub(super) struct EvaluationContext<'c> {
    pub world: &'c Catalogue<'c>,
    pub names: &'c CommonTables,
}

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
            let table = query(subquery, context.world, context.names, Some(scope))?;
            let list: Vec<CellValue> = table.rows.iter().filter_map(|row| row.first().cloned()).collect();
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
            let escape = escape_char.as_ref().map(|value| &value.value);
            let (text, pattern) = (of(expr)?, of(pattern)?);
            paid(&text, std::slice::from_ref(&pattern), context)?;
            Ok(not_if(*negated, escaped_like(&text, &pattern, false, escape)))
        }
        Expr::ILike { negated, expr, pattern, escape_char, .. } => {
            let escape = escape_char.as_ref().map(|value| &value.value);
            let (text, pattern) = (of(expr)?, of(pattern)?);
            paid(&text, std::slice::from_ref(&pattern), context)?;
            Ok(not_if(*negated, escaped_like(&text, &pattern, true, escape)))
        }
        Expr::AnyOp { left, compare_op, right, .. } => {
            let (left, right) = (of(left)?, list_of(right, context, scope)?);
            paid(&left, &right, context)?;
            for right in &right {
                if is_true(&operated(&left, compare_op, right, context)?) {
                    return truth(true);
                }
            }
            truth(false)
        }
        Expr::AllOp { left, compare_op, right } => {
            let (left, right) = (of(left)?, list_of(right, context, scope)?);
            paid(&left, &right, context)?;
            for right in &right {
                if !is_true(&operated(&left, compare_op, right, context)?) {
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
            let table = query(subquery, context.world, context.names, Some(scope))?;
            truth(table.rows.is_empty() == *negated)
        }
        Expr::Subquery(subquery) => {
            let table = query(subquery, context.world, context.names, Some(scope))?;
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
        Expr::Function(function) => called(function, context, scope),
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

/// The name of a type in small letters, without its schema.
pub(super) fn type_name(kind: &DataType) -> String {
    let name = kind.to_string().to_lowercase().replace('"', "");
    name.strip_prefix("pg_catalog.").unwrap_or(&name).to_string()
}

/// A value as another type. A name becomes the number of what it names, and a number the name.
fn cast(value: CellValue, to: &str, world: &Catalogue<'_>) -> CellValue {
    let unqualified = |text: &str| text.rsplit('.').next().unwrap_or_default().replace('"', "");
    match (to, value) {
        (_, CellValue::Null) => CellValue::Null,
        ("regclass", CellValue::Text(text)) => match text.parse() {
            Ok(number) => CellValue::Whole(number),
            Err(_) => function::class(&unqualified(&text), world),
        },
        ("regclass", CellValue::Whole(oid)) => {
            let found = tables::numbered(world).find(|(known, _)| *known == oid);
            found.map_or(CellValue::Text(oid.to_string()), |(_, table)| CellValue::text(&table.name))
        }
        ("regtype", CellValue::Text(text)) => function::type_number(&unqualified(&text)),
        ("regtype", CellValue::Whole(oid)) => function::type_written(oid),
        ("regnamespace", CellValue::Text(text)) => function::schema_number(&text),
        ("regnamespace", CellValue::Whole(oid)) => {
            let found = tables::SCHEMAS.iter().find(|(known, _)| *known == oid);
            found.map_or(CellValue::Null, |(_, name)| CellValue::text(*name))
        }
        ("regproc" | "regprocedure", CellValue::Text(text)) => CellValue::Text(unqualified(&text)),
        ("regrole", CellValue::Whole(_)) => CellValue::text(world.settings.user()),
        ("bool" | "boolean", CellValue::Text(text)) => match text.to_lowercase().as_str() {
            "t" | "true" | "1" | "on" | "yes" => CellValue::Truth(true),
            "f" | "false" | "0" | "off" | "no" => CellValue::Truth(false),
            _ => CellValue::Null,
        },
        ("bool" | "boolean", CellValue::Whole(number)) => CellValue::Truth(number != 0),
        (to, CellValue::Truth(truth)) if is_whole(to) => CellValue::Whole(i64::from(truth)),
        (to, CellValue::Text(text)) if is_whole(to) => text.trim().parse().map_or(CellValue::Null, CellValue::Whole),
        (to, CellValue::Number(number)) if is_whole(to) => CellValue::Whole(number.round() as i64),
        (to, CellValue::Text(text)) if is_number(to) => text.trim().parse().map_or(CellValue::Null, CellValue::Number),
        (to, CellValue::Whole(number)) if is_number(to) => CellValue::Number(number as f64),
        (to, value @ CellValue::List(_)) if to.ends_with("[]") => value,
        (to, CellValue::Text(text)) if to.ends_with("[]") => CellValue::List(elements(&text)),
        ("text" | "varchar" | "name", CellValue::Truth(truth)) => CellValue::text(if truth { "true" } else { "false" }),
        (to, value)
            if ["text", "name", "bpchar", "cstring"].contains(&to)
                || to.starts_with("varchar")
                || to.starts_with("char") =>
        {
            value.shown().map_or(CellValue::Null, CellValue::Text)
        }
        (_, value) => value,
    }
}

fn is_whole(kind: &str) -> bool {
    ["int", "int2", "int4", "int8", "integer", "bigint", "smallint", "oid", "xid"].contains(&kind)
}

fn is_number(kind: &str) -> bool {
    ["float", "float4", "float8", "real", "double precision", "double", "numeric", "decimal"].contains(&kind)
}

/// How many bytes the elements of an array's text take, at most.
fn listed(value: &CellValue) -> usize {
    match value {
        CellValue::Text(text) => text.len() + 32 * text.matches(',').count(),
        other => length(other),
    }
}

/// The elements of an array's text, without quotes.
fn elements(text: &str) -> Vec<CellValue> {
    let inner = text.trim().trim_start_matches('{').trim_end_matches('}');
    inner.split(',').filter(|part| !part.is_empty()).map(|part| CellValue::text(part.trim_matches('"'))).collect()
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
        let table = query(subquery, context.world, context.names, Some(scope))?;
        return Ok(table.rows.iter().filter_map(|row| row.first().cloned()).collect());
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
        _ => paid(&first, std::slice::from_ref(&second), context)?,
    }
    operated(&first, op, &second, context)
}

/// What is done with a text and a pattern takes as long as both are, multiplied.
fn paid(value: &CellValue, others: &[CellValue], context: EvaluationContext<'_>) -> Result<(), SqlError> {
    let long =
        |value: &CellValue| if matches!(value, CellValue::Text(_) | CellValue::List(_)) { length(value) } else { 0 };
    let work = others.iter().map(|other| long(value).saturating_mul(long(other)) / 64);
    context.world.spend(work.fold(0, usize::saturating_add))
}

fn operated(
    left: &CellValue,
    op: &BinaryOperator,
    right: &CellValue,
    context: EvaluationContext<'_>,
) -> Result<CellValue, SqlError> {
    let compared = |holds: fn(Ordering) -> bool| {
        compare(left, right).map_or(CellValue::Null, |order| CellValue::Truth(holds(order)))
    };
    let whole = |compute: fn(i64, i64) -> Option<i64>| match (left, right) {
        (CellValue::Whole(left), CellValue::Whole(right)) => {
            compute(*left, *right).map_or(CellValue::Null, CellValue::Whole)
        }
        _ => CellValue::Null,
    };
    let matched = |ignores_case: bool| context.world.matched(left, right, ignores_case);
    Ok(match op {
        BinaryOperator::And => match (left, right) {
            (CellValue::Truth(false), _) | (_, CellValue::Truth(false)) => CellValue::Truth(false),
            (CellValue::Truth(true), CellValue::Truth(true)) => CellValue::Truth(true),
            _ => CellValue::Null,
        },
        BinaryOperator::Or => match (left, right) {
            (CellValue::Truth(true), _) | (_, CellValue::Truth(true)) => CellValue::Truth(true),
            (CellValue::Truth(false), CellValue::Truth(false)) => CellValue::Truth(false),
            _ => CellValue::Null,
        },
        BinaryOperator::Eq => compared(Ordering::is_eq),
        BinaryOperator::NotEq => compared(Ordering::is_ne),
        BinaryOperator::Lt => compared(Ordering::is_lt),
        BinaryOperator::LtEq => compared(Ordering::is_le),
        BinaryOperator::Gt => compared(Ordering::is_gt),
        BinaryOperator::GtEq => compared(Ordering::is_ge),
        BinaryOperator::StringConcat => joined(left, right),
        BinaryOperator::Plus => whole(i64::checked_add),
        BinaryOperator::Minus => whole(i64::checked_sub),
        BinaryOperator::Multiply => whole(i64::checked_mul),
        BinaryOperator::Divide => whole(i64::checked_div),
        BinaryOperator::Modulo => whole(i64::checked_rem),
        BinaryOperator::BitwiseAnd => whole(|left, right| Some(left & right)),
        BinaryOperator::BitwiseOr => whole(|left, right| Some(left | right)),
        BinaryOperator::PGRegexMatch => matched(false)?,
        BinaryOperator::PGRegexIMatch => matched(true)?,
        BinaryOperator::PGRegexNotMatch => not_if(true, matched(false)?),
        BinaryOperator::PGRegexNotIMatch => not_if(true, matched(true)?),
        BinaryOperator::PGLikeMatch => liked(left, right, false),
        BinaryOperator::PGILikeMatch => liked(left, right, true),
        BinaryOperator::PGNotLikeMatch => not_if(true, liked(left, right, false)),
        BinaryOperator::PGNotILikeMatch => not_if(true, liked(left, right, true)),
        BinaryOperator::PGCustomBinaryOperator(words) => match words.last().map(String::as_str) {
            Some("=") => compared(Ordering::is_eq),
            Some("<>" | "!=") => compared(Ordering::is_ne),
            Some("~") => matched(false)?,
            Some("~*") => matched(true)?,
            Some("!~") => not_if(true, matched(false)?),
            Some("!~*") => not_if(true, matched(true)?),
            Some("~~") => liked(left, right, false),
            Some("!~~") => not_if(true, liked(left, right, false)),
            _ => CellValue::Null,
        },
        _ => CellValue::Null,
    })
}

fn joined(left: &CellValue, right: &CellValue) -> CellValue {
    match (left, right) {
        (CellValue::List(left), CellValue::List(right)) => CellValue::List([&left[..], &right[..]].concat()),
        (CellValue::List(list), one) | (one, CellValue::List(list)) if *one == CellValue::Null => {
            CellValue::List(list.clone())
        }
        (left, right) => match (left.shown(), right.shown()) {
            (Some(left), Some(right)) => CellValue::Text(left + &right),
            _ => CellValue::Null,
        },
    }
}

pub(super) fn is_true(value: &CellValue) -> bool {
    *value == CellValue::Truth(true)
}

fn not_if(negated: bool, value: CellValue) -> CellValue {
    match value {
        CellValue::Truth(truth) => CellValue::Truth(truth != negated),
        other => other,
    }
}

/// Which of two values comes first; none where one is NULL, or where they cannot be compared.
pub(super) fn compare(left: &CellValue, right: &CellValue) -> Option<Ordering> {
    match (left, right) {
        (CellValue::Null, _) | (_, CellValue::Null) => None,
        (CellValue::Truth(left), CellValue::Truth(right)) => Some(left.cmp(right)),
        (CellValue::Whole(left), CellValue::Whole(right)) => Some(left.cmp(right)),
        (CellValue::Text(left), CellValue::Text(right)) => Some(left.cmp(right)),
        (CellValue::List(left), CellValue::List(right)) => {
            let unequal =
                left.iter().zip(right).find_map(|(left, right)| compare(left, right).filter(|order| order.is_ne()));
            Some(unequal.unwrap_or(left.len().cmp(&right.len())))
        }
        (CellValue::Truth(truth), CellValue::Text(text)) | (CellValue::Text(text), CellValue::Truth(truth)) => {
            let other = match text.to_lowercase().as_str() {
                "t" | "true" | "on" | "1" => true,
                "f" | "false" | "off" | "0" => false,
                _ => return None,
            };
            Some(truth.cmp(&other))
        }
        (CellValue::List(_), CellValue::Text(text)) => left.shown().map(|left| left.cmp(text)),
        (CellValue::Text(text), CellValue::List(_)) => right.shown().map(|right| text.cmp(&right)),
        _ => number(left)?.partial_cmp(&number(right)?),
    }
}

/// An order of all values, whatever they are, for sorting: `compare` knows none between a text and a number, and a sort
/// by what is no order may panic.
pub(super) fn ordered(left: &CellValue, right: &CellValue) -> Ordering {
    let rank = |value: &CellValue| match value {
        CellValue::Truth(_) => 0,
        CellValue::Whole(_) | CellValue::Number(_) => 1,
        CellValue::Text(_) => 2,
        CellValue::List(_) => 3,
        CellValue::Null => 4,
    };
    match (left, right) {
        (CellValue::Truth(left), CellValue::Truth(right)) => left.cmp(right),
        (CellValue::Whole(left), CellValue::Whole(right)) => left.cmp(right),
        // Of a whole number and a rounded one that are equal as such, the whole one comes first.
        (CellValue::Whole(left), CellValue::Number(right)) => (*left as f64).total_cmp(right).then(Ordering::Less),
        (CellValue::Number(left), CellValue::Whole(right)) => left.total_cmp(&(*right as f64)).then(Ordering::Greater),
        (CellValue::Number(left), CellValue::Number(right)) => left.total_cmp(right),
        (CellValue::Text(left), CellValue::Text(right)) => left.cmp(right),
        (CellValue::List(left), CellValue::List(right)) => {
            let unequal = left.iter().zip(right).map(|(left, right)| ordered(left, right)).find(|order| order.is_ne());
            unequal.unwrap_or(left.len().cmp(&right.len()))
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

fn number(value: &CellValue) -> Option<f64> {
    match value {
        CellValue::Whole(number) => Some(*number as f64),
        CellValue::Number(number) => Some(*number),
        CellValue::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn same(left: &CellValue, right: &CellValue) -> bool {
    match (left, right) {
        (CellValue::Null, CellValue::Null) => true,
        _ => compare(left, right) == Some(Ordering::Equal),
    }
}

fn among(value: &CellValue, list: &[CellValue]) -> CellValue {
    if list.iter().any(|one| compare(value, one) == Some(Ordering::Equal)) {
        return CellValue::Truth(true);
    }
    match *value == CellValue::Null || list.contains(&CellValue::Null) {
        true => CellValue::Null,
        false => CellValue::Truth(false),
    }
}

fn liked(value: &CellValue, pattern: &CellValue, ignores_case: bool) -> CellValue {
    escaped_like(value, pattern, ignores_case, None)
}

/// `%` stands for any letters, `_` for one, and what follows a backslash, or the letter that ESCAPE names, for itself.
fn escaped_like(value: &CellValue, pattern: &CellValue, ignores_case: bool, escape: Option<&Literal>) -> CellValue {
    let escape = match escape {
        Some(escape) => literal(escape).shown().and_then(|text| text.chars().next()),
        None => Some('\\'),
    };
    let (Some(mut text), Some(mut pattern)) = (value.shown(), pattern.shown()) else { return CellValue::Null };
    if ignores_case {
        (text, pattern) = (text.to_lowercase(), pattern.to_lowercase());
    }
    let text: Vec<char> = text.chars().collect();
    let mut parts: Vec<PatternPart> = Vec::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        parts.push(match letter {
            letter if Some(letter) == escape => PatternPart::Letter(letters.next().unwrap_or(letter)),
            '%' => PatternPart::Any,
            '_' => PatternPart::One,
            letter => PatternPart::Letter(letter),
        });
    }
    // Where the last % was met, and how much of the text it stands for so far.
    let (mut here, mut part, mut back) = (0, 0, None);
    while here < text.len() {
        match parts.get(part) {
            Some(PatternPart::Any) => {
                back = Some((part, here));
                part += 1;
            }
            Some(PatternPart::One) => (here, part) = (here + 1, part + 1),
            Some(PatternPart::Letter(letter)) if *letter == text[here] => (here, part) = (here + 1, part + 1),
            _ => match back {
                Some((any, start)) => {
                    back = Some((any, start + 1));
                    (here, part) = (start + 1, any + 1);
                }
                None => return CellValue::Truth(false),
            },
        }
    }
    CellValue::Truth(parts[part..].iter().all(|part| matches!(part, PatternPart::Any)))
}

enum PatternPart {
    Any,
    One,
    Letter(char),
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
            let table = query(subquery, context.world, context.names, Some(&inner))?;
            table.columns.first().map_or(PgType::Text, |column| column.kind)
        }
        Expr::Position { .. } => PgType::Int,
        Expr::Function(function) => {
            let first = match &function.args {
                FunctionArguments::List(list) => list.args.iter().find_map(function::plain),
                _ => None,
            };
            let first = first.map(of).transpose()?;
            function::kind(&last_word(&function.name), first)
        }
        _ => PgType::Text,
    })
}
