//! Expressions over the tables of the catalogue: their values, and their types without any row.

use super::function::{self, called};
use super::query::{Names, query};
use super::scope::{Nowhere, Scope, folded, last_word};
use super::{World, length, tables};
use crate::postgres::refused::{Refused, code};
use crate::postgres::value::{PgType, Value};
use sqlparser::ast::{
    AccessExpr, BinaryOperator, DataType, Expr, FunctionArguments, Subscript, UnaryOperator, Value as Literal,
};
use std::cmp::Ordering;

/// What an expression is evaluated in, besides its row.
#[derive(Clone, Copy)]
pub(super) struct Context<'c> {
    pub world: &'c World<'c>,
    pub names: &'c Names,
}

/// The value of an expression; NULL where it is of a sort that is not known.
pub(super) fn value_of(expression: &Expr, context: Context<'_>, scope: &Scope<'_>) -> Result<Value, Refused> {
    context.world.spend(1)?;
    context.world.weighed(evaluated(expression, context, scope)?)
}

fn evaluated(expression: &Expr, context: Context<'_>, scope: &Scope<'_>) -> Result<Value, Refused> {
    let of = |inner: &Expr| value_of(inner, context, scope);
    let truth = |truth: bool| Ok(Value::Truth(truth));
    match expression {
        Expr::Identifier(name) => column(None, &folded(name), context, scope),
        Expr::CompoundIdentifier(words) => {
            let words: Vec<String> = words.iter().map(folded).collect();
            match &words[..] {
                [.., table, name] => column(Some(table), name, context, scope),
                _ => Ok(Value::Null),
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
            (UnaryOperator::Not, Value::Truth(truth)) => Value::Truth(!truth),
            (UnaryOperator::Minus, Value::Whole(number)) => number.checked_neg().map_or(Value::Null, Value::Whole),
            (UnaryOperator::Minus, Value::Number(number)) => Value::Number(-number),
            (UnaryOperator::Plus, value) => value,
            _ => Value::Null,
        }),
        Expr::IsNull(inner) => truth(of(inner)? == Value::Null),
        Expr::IsNotNull(inner) => truth(of(inner)? != Value::Null),
        Expr::IsTrue(inner) => truth(of(inner)? == Value::Truth(true)),
        Expr::IsNotTrue(inner) => truth(of(inner)? != Value::Truth(true)),
        Expr::IsFalse(inner) => truth(of(inner)? == Value::Truth(false)),
        Expr::IsNotFalse(inner) => truth(of(inner)? != Value::Truth(false)),
        Expr::IsDistinctFrom(left, right) => truth(!same(&of(left)?, &of(right)?)),
        Expr::IsNotDistinctFrom(left, right) => truth(same(&of(left)?, &of(right)?)),
        Expr::InList { expr, list, negated } => {
            let list = list.iter().map(of).collect::<Result<Vec<_>, Refused>>()?;
            Ok(not_if(*negated, among(&of(expr)?, &list)))
        }
        Expr::InSubquery { expr, subquery, negated } => {
            let table = query(subquery, context.world, context.names, Some(scope))?;
            let list: Vec<Value> = table.rows.iter().filter_map(|row| row.first().cloned()).collect();
            Ok(not_if(*negated, among(&of(expr)?, &list)))
        }
        Expr::Between { expr, negated, low, high } => {
            let (value, low, high) = (of(expr)?, of(low)?, of(high)?);
            let within = compare(&low, &value).zip(compare(&value, &high));
            let within = within.map(|(low, high)| Value::Truth(low != Ordering::Greater && high != Ordering::Greater));
            Ok(not_if(*negated, within.unwrap_or(Value::Null)))
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
            else_result.as_ref().map_or(Ok(Value::Null), |result| of(result))
        }
        Expr::Exists { subquery, negated } => {
            let table = query(subquery, context.world, context.names, Some(scope))?;
            truth(table.rows.is_empty() == *negated)
        }
        Expr::Subquery(subquery) => {
            let table = query(subquery, context.world, context.names, Some(scope))?;
            Ok(table.rows.first().and_then(|row| row.first()).cloned().unwrap_or(Value::Null))
        }
        Expr::Array(array) => Ok(Value::List(array.elem.iter().map(of).collect::<Result<_, Refused>>()?)),
        Expr::Tuple(list) => Ok(Value::List(list.iter().map(of).collect::<Result<_, Refused>>()?)),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let mut value = of(root)?;
            for access in access_chain {
                value = match (value, access) {
                    (Value::List(list), AccessExpr::Subscript(Subscript::Index { index })) => match of(index)? {
                        Value::Whole(number) => {
                            let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
                            index.and_then(|index| list.get(index)).cloned().unwrap_or(Value::Null)
                        }
                        _ => Value::Null,
                    },
                    _ => Value::Null,
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
                .map_or(Value::Null, |text| Value::text(text.trim_matches(|one: char| letters.contains(one)))))
        }
        Expr::Position { expr, r#in } => Ok(match (of(expr)?.shown(), of(r#in)?.shown()) {
            (Some(part), Some(text)) => {
                Value::Whole(text.find(&part).map_or(0, |index| text[..index].chars().count() as i64 + 1))
            }
            _ => Value::Null,
        }),
        Expr::Function(function) => called(function, context, scope),
        _ => Ok(Value::Null),
    }
}

/// A column, or one of the words that SQL writes like one.
fn column(table: Option<&str>, name: &str, context: Context<'_>, scope: &Scope<'_>) -> Result<Value, Refused> {
    let world = context.world;
    if let Some(value) = scope.lookup(table, name, world)? {
        return Ok(value.clone());
    }
    match name {
        "current_user" | "session_user" | "user" | "current_role" => Ok(Value::text(world.settings.user())),
        "current_catalog" => Ok(Value::text(crate::postgres::settings::DATABASE)),
        "current_schema" => Ok(Value::text("public")),
        "current_timestamp" | "localtimestamp" => Ok(Value::Text(crate::postgres::value::now())),
        // Where there are tables, one of them might have had it.
        _ if !scope.sources.is_empty() || scope.outer.is_some() => Ok(Value::Null),
        _ => Err(Refused::new(code::NO_COLUMN, format!("there is no column '{name}': the query reads no table"))),
    }
}

fn literal(value: &Literal) -> Value {
    match value {
        Literal::Number(digits, _) => match (digits.parse(), digits.parse()) {
            (Ok(number), _) => Value::Whole(number),
            (_, Ok(number)) => Value::Number(number),
            _ => Value::Null,
        },
        Literal::Boolean(truth) => Value::Truth(*truth),
        other => other.clone().into_string().map_or(Value::Null, Value::Text),
    }
}

/// The name of a type in small letters, without its schema.
pub(super) fn type_name(kind: &DataType) -> String {
    let name = kind.to_string().to_lowercase().replace('"', "");
    name.strip_prefix("pg_catalog.").unwrap_or(&name).to_string()
}

/// A value as another type. A name becomes the number of what it names, and a number the name.
fn cast(value: Value, to: &str, world: &World<'_>) -> Value {
    let unqualified = |text: &str| text.rsplit('.').next().unwrap_or_default().replace('"', "");
    match (to, value) {
        (_, Value::Null) => Value::Null,
        ("regclass", Value::Text(text)) => match text.parse() {
            Ok(number) => Value::Whole(number),
            Err(_) => function::class(&unqualified(&text), world),
        },
        ("regclass", Value::Whole(oid)) => {
            let found = tables::numbered(world).find(|(known, _)| *known == oid);
            found.map_or(Value::Text(oid.to_string()), |(_, table)| Value::text(&table.name))
        }
        ("regtype", Value::Text(text)) => function::type_number(&unqualified(&text)),
        ("regtype", Value::Whole(oid)) => function::type_written(oid),
        ("regnamespace", Value::Text(text)) => function::schema_number(&text),
        ("regnamespace", Value::Whole(oid)) => {
            let found = tables::SCHEMAS.iter().find(|(known, _)| *known == oid);
            found.map_or(Value::Null, |(_, name)| Value::text(*name))
        }
        ("regproc" | "regprocedure", Value::Text(text)) => Value::Text(unqualified(&text)),
        ("regrole", Value::Whole(_)) => Value::text(world.settings.user()),
        ("bool" | "boolean", Value::Text(text)) => match text.to_lowercase().as_str() {
            "t" | "true" | "1" | "on" | "yes" => Value::Truth(true),
            "f" | "false" | "0" | "off" | "no" => Value::Truth(false),
            _ => Value::Null,
        },
        ("bool" | "boolean", Value::Whole(number)) => Value::Truth(number != 0),
        (to, Value::Truth(truth)) if is_whole(to) => Value::Whole(i64::from(truth)),
        (to, Value::Text(text)) if is_whole(to) => text.trim().parse().map_or(Value::Null, Value::Whole),
        (to, Value::Number(number)) if is_whole(to) => Value::Whole(number.round() as i64),
        (to, Value::Text(text)) if is_number(to) => text.trim().parse().map_or(Value::Null, Value::Number),
        (to, Value::Whole(number)) if is_number(to) => Value::Number(number as f64),
        (to, value @ Value::List(_)) if to.ends_with("[]") => value,
        (to, Value::Text(text)) if to.ends_with("[]") => Value::List(elements(&text)),
        ("text" | "varchar" | "name", Value::Truth(truth)) => Value::text(if truth { "true" } else { "false" }),
        (to, value)
            if ["text", "name", "bpchar", "cstring"].contains(&to)
                || to.starts_with("varchar")
                || to.starts_with("char") =>
        {
            value.shown().map_or(Value::Null, Value::Text)
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
fn listed(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len() + 32 * text.matches(',').count(),
        other => length(other),
    }
}

/// The elements of an array's text, without quotes.
fn elements(text: &str) -> Vec<Value> {
    let inner = text.trim().trim_start_matches('{').trim_end_matches('}');
    inner.split(',').filter(|part| !part.is_empty()).map(|part| Value::text(part.trim_matches('"'))).collect()
}

/// The list behind ANY and ALL: an array, the text of one, or the rows of a query.
fn list_of(expression: &Expr, context: Context<'_>, scope: &Scope<'_>) -> Result<Vec<Value>, Refused> {
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
        Value::List(list) => list,
        Value::Text(text) => elements(&text),
        _ => Vec::new(),
    })
}

fn binary(
    left: &Expr,
    op: &BinaryOperator,
    right: &Expr,
    context: Context<'_>,
    scope: &Scope<'_>,
) -> Result<Value, Refused> {
    let first = value_of(left, context, scope)?;
    // What decides without the other side is not looked at further.
    match (op, &first) {
        (BinaryOperator::And, Value::Truth(false)) => return Ok(Value::Truth(false)),
        (BinaryOperator::Or, Value::Truth(true)) => return Ok(Value::Truth(true)),
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
fn paid(value: &Value, others: &[Value], context: Context<'_>) -> Result<(), Refused> {
    let long = |value: &Value| if matches!(value, Value::Text(_) | Value::List(_)) { length(value) } else { 0 };
    let work = others.iter().map(|other| long(value).saturating_mul(long(other)) / 64);
    context.world.spend(work.fold(0, usize::saturating_add))
}

fn operated(left: &Value, op: &BinaryOperator, right: &Value, context: Context<'_>) -> Result<Value, Refused> {
    let compared =
        |holds: fn(Ordering) -> bool| compare(left, right).map_or(Value::Null, |order| Value::Truth(holds(order)));
    let whole = |compute: fn(i64, i64) -> Option<i64>| match (left, right) {
        (Value::Whole(left), Value::Whole(right)) => compute(*left, *right).map_or(Value::Null, Value::Whole),
        _ => Value::Null,
    };
    let matched = |ignores_case: bool| context.world.matched(left, right, ignores_case);
    Ok(match op {
        BinaryOperator::And => match (left, right) {
            (Value::Truth(false), _) | (_, Value::Truth(false)) => Value::Truth(false),
            (Value::Truth(true), Value::Truth(true)) => Value::Truth(true),
            _ => Value::Null,
        },
        BinaryOperator::Or => match (left, right) {
            (Value::Truth(true), _) | (_, Value::Truth(true)) => Value::Truth(true),
            (Value::Truth(false), Value::Truth(false)) => Value::Truth(false),
            _ => Value::Null,
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
            _ => Value::Null,
        },
        _ => Value::Null,
    })
}

fn joined(left: &Value, right: &Value) -> Value {
    match (left, right) {
        (Value::List(left), Value::List(right)) => Value::List([&left[..], &right[..]].concat()),
        (Value::List(list), one) | (one, Value::List(list)) if *one == Value::Null => Value::List(list.clone()),
        (left, right) => match (left.shown(), right.shown()) {
            (Some(left), Some(right)) => Value::Text(left + &right),
            _ => Value::Null,
        },
    }
}

pub(super) fn is_true(value: &Value) -> bool {
    *value == Value::Truth(true)
}

fn not_if(negated: bool, value: Value) -> Value {
    match value {
        Value::Truth(truth) => Value::Truth(truth != negated),
        other => other,
    }
}

/// Which of two values comes first; none where one is NULL, or where they cannot be compared.
pub(super) fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Truth(left), Value::Truth(right)) => Some(left.cmp(right)),
        (Value::Whole(left), Value::Whole(right)) => Some(left.cmp(right)),
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        (Value::List(left), Value::List(right)) => {
            let unequal =
                left.iter().zip(right).find_map(|(left, right)| compare(left, right).filter(|order| order.is_ne()));
            Some(unequal.unwrap_or(left.len().cmp(&right.len())))
        }
        (Value::Truth(truth), Value::Text(text)) | (Value::Text(text), Value::Truth(truth)) => {
            let other = match text.to_lowercase().as_str() {
                "t" | "true" | "on" | "1" => true,
                "f" | "false" | "off" | "0" => false,
                _ => return None,
            };
            Some(truth.cmp(&other))
        }
        (Value::List(_), Value::Text(text)) => left.shown().map(|left| left.cmp(text)),
        (Value::Text(text), Value::List(_)) => right.shown().map(|right| text.cmp(&right)),
        _ => number(left)?.partial_cmp(&number(right)?),
    }
}

/// An order of all values, whatever they are, for sorting: `compare` knows none between a text and a number, and a sort by what is no order may panic.
pub(super) fn ordered(left: &Value, right: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Truth(_) => 0,
        Value::Whole(_) | Value::Number(_) => 1,
        Value::Text(_) => 2,
        Value::List(_) => 3,
        Value::Null => 4,
    };
    match (left, right) {
        (Value::Truth(left), Value::Truth(right)) => left.cmp(right),
        (Value::Whole(left), Value::Whole(right)) => left.cmp(right),
        // Of a whole number and a rounded one that are equal as such, the whole one comes first.
        (Value::Whole(left), Value::Number(right)) => (*left as f64).total_cmp(right).then(Ordering::Less),
        (Value::Number(left), Value::Whole(right)) => left.total_cmp(&(*right as f64)).then(Ordering::Greater),
        (Value::Number(left), Value::Number(right)) => left.total_cmp(right),
        (Value::Text(left), Value::Text(right)) => left.cmp(right),
        (Value::List(left), Value::List(right)) => {
            let unequal = left.iter().zip(right).map(|(left, right)| ordered(left, right)).find(|order| order.is_ne());
            unequal.unwrap_or(left.len().cmp(&right.len()))
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Whole(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        Value::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Null, Value::Null) => true,
        _ => compare(left, right) == Some(Ordering::Equal),
    }
}

fn among(value: &Value, list: &[Value]) -> Value {
    if list.iter().any(|one| compare(value, one) == Some(Ordering::Equal)) {
        return Value::Truth(true);
    }
    match *value == Value::Null || list.contains(&Value::Null) {
        true => Value::Null,
        false => Value::Truth(false),
    }
}

fn liked(value: &Value, pattern: &Value, ignores_case: bool) -> Value {
    escaped_like(value, pattern, ignores_case, None)
}

/// `%` stands for any letters, `_` for one, and what follows a backslash, or the letter that ESCAPE names, for itself.
fn escaped_like(value: &Value, pattern: &Value, ignores_case: bool, escape: Option<&Literal>) -> Value {
    let escape = match escape {
        Some(escape) => literal(escape).shown().and_then(|text| text.chars().next()),
        None => Some('\\'),
    };
    let (Some(mut text), Some(mut pattern)) = (value.shown(), pattern.shown()) else { return Value::Null };
    if ignores_case {
        (text, pattern) = (text.to_lowercase(), pattern.to_lowercase());
    }
    let text: Vec<char> = text.chars().collect();
    let mut parts: Vec<Part> = Vec::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        parts.push(match letter {
            letter if Some(letter) == escape => Part::Letter(letters.next().unwrap_or(letter)),
            '%' => Part::Any,
            '_' => Part::One,
            letter => Part::Letter(letter),
        });
    }
    // Where the last % was met, and how much of the text it stands for so far.
    let (mut here, mut part, mut back) = (0, 0, None);
    while here < text.len() {
        match parts.get(part) {
            Some(Part::Any) => {
                back = Some((part, here));
                part += 1;
            }
            Some(Part::One) => (here, part) = (here + 1, part + 1),
            Some(Part::Letter(letter)) if *letter == text[here] => (here, part) = (here + 1, part + 1),
            _ => match back {
                Some((any, start)) => {
                    back = Some((any, start + 1));
                    (here, part) = (start + 1, any + 1);
                }
                None => return Value::Truth(false),
            },
        }
    }
    Value::Truth(parts[part..].iter().all(|part| matches!(part, Part::Any)))
}

enum Part {
    Any,
    One,
    Letter(char),
}

/// The type of an expression, whatever the rows are.
pub(super) fn kind_of(expression: &Expr, context: Context<'_>, scope: &Scope<'_>) -> Result<PgType, Refused> {
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
            Value::Whole(number) => {
                if i32::try_from(number).is_ok() {
                    PgType::Int
                } else {
                    PgType::Whole
                }
            }
            Value::Number(_) => PgType::Number,
            Value::Truth(_) => PgType::Truth,
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
            let kinds = known.into_iter().map(of).collect::<Result<Vec<_>, Refused>>()?;
            match kinds.first() {
                Some(first) if kinds.iter().all(|kind| kind == first) => *first,
                _ => PgType::Text,
            }
        }
        Expr::Array(_) => PgType::Texts,
        Expr::Subquery(subquery) => {
            let nowhere = Nowhere::default();
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
