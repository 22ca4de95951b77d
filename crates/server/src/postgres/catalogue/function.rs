//! The functions that the catalogue's queries call. What is not here is NULL.

use super::expression::{Context, compare, is_true, value_of};
use super::query::query;
use super::scope::{Row, Scope, last_word};
use super::{World, length, tables};
use crate::postgres::refused::{Refused, code};
use crate::postgres::settings::{DATABASE, VERSION};
use crate::postgres::value::{PgType, Value, now};
use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, WindowType};
use std::cmp::Ordering;

/// The most rows that a function makes.
const MOST_ROWS: i64 = 10_000;
/// No text becomes longer by replacing.
const LONGEST: usize = 1 << 20;

/// Whether a function aggregates rows.
pub(super) fn is_aggregate(name: &str) -> bool {
    ["count", "min", "max", "sum", "bool_or", "bool_and", "every", "string_agg", "array_agg", "json_agg", "jsonb_agg"]
        .contains(&name)
}

/// The value of a call.
pub(super) fn called(function: &Function, context: Context<'_>, scope: &Scope<'_>) -> Result<Value, Refused> {
    let name = last_word(&function.name);
    let arguments = match &function.args {
        FunctionArguments::Subquery(subquery) => {
            let table = query(subquery, context.world, context.names, Some(scope))?;
            let list = table.rows.iter().filter_map(|row| row.first().cloned()).collect();
            return Ok(if name == "array" { Value::List(list) } else { Value::Null });
        }
        FunctionArguments::List(list) => &list.args[..],
        FunctionArguments::None => &[],
    };
    if let Some(window) = &function.over {
        return counted(&name, window, context, scope);
    }
    if is_aggregate(&name) {
        return aggregate(&name, arguments, context, scope);
    }
    let values = arguments.iter().filter_map(plain).map(|argument| value_of(argument, context, scope));
    let values = values.collect::<Result<Vec<_>, Refused>>()?;
    context.world.weigh(made(&name, &values))?;
    Ok(value(&name, &values, context.world))
}

/// How many bytes a function is about to make of its arguments, at most; [`value`] sees to REPLACE itself.
fn made(name: &str, values: &[Value]) -> usize {
    let all = values.iter().map(length).fold(0, usize::saturating_add);
    match (name, values) {
        ("array_to_string", [Value::List(list), between, ..]) => all + list.len().saturating_mul(length(between)),
        ("string_to_array", [Value::Text(text), Value::Text(between), ..]) if !between.is_empty() => {
            all + 32 * (1 + text.matches(between.as_str()).count())
        }
        _ => all,
    }
}

/// An argument that is an expression.
pub(super) fn plain(argument: &FunctionArg) -> Option<&Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expression))
        | FunctionArg::Named { arg: FunctionArgExpr::Expr(expression), .. } => Some(expression),
        _ => None,
    }
}

/// `row_number()`: how many rows with the same values of PARTITION BY came so far. Other window functions are NULL.
fn counted(name: &str, window: &WindowType, context: Context<'_>, scope: &Scope<'_>) -> Result<Value, Refused> {
    let WindowType::WindowSpec(window) = window else { return Ok(Value::Null) };
    if name != "row_number" {
        return Ok(Value::Null);
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
    Ok(Value::Whole(*count))
}

fn aggregate(name: &str, arguments: &[FunctionArg], context: Context<'_>, scope: &Scope<'_>) -> Result<Value, Refused> {
    let alone = [scope.row.to_vec()];
    let rows: &[Row] = scope.group.unwrap_or(&alone);
    let arguments: Vec<&Expr> = arguments.iter().filter_map(plain).collect();
    let of = |argument: &Expr| {
        let values = rows.iter().map(|row| {
            let here = Scope { sources: scope.sources, row, group: None, counters: scope.counters, outer: scope.outer };
            value_of(argument, context, &here)
        });
        values.collect::<Result<Vec<_>, Refused>>()
    };
    let Some(first) = arguments.first() else {
        return Ok(if name == "count" { Value::Whole(rows.len() as i64) } else { Value::Null });
    };
    let values: Vec<Value> = of(first)?.into_iter().filter(|value| *value != Value::Null).collect();
    let best = |wanted: Ordering| {
        let better = |best: Value, value: Value| if compare(&value, &best) == Some(wanted) { value } else { best };
        values.clone().into_iter().reduce(better).unwrap_or(Value::Null)
    };
    Ok(match name {
        "count" => Value::Whole(values.len() as i64),
        "min" => best(Ordering::Less),
        "max" => best(Ordering::Greater),
        "bool_or" if !values.is_empty() => Value::Truth(values.iter().any(is_true)),
        "bool_and" | "every" if !values.is_empty() => Value::Truth(values.iter().all(is_true)),
        "array_agg" if !values.is_empty() => Value::List(values),
        "sum" if !values.is_empty() => {
            let whole = values.iter().map(|value| if let Value::Whole(number) = value { Some(*number) } else { None });
            // An i128 holds the sum of as many rows as there can be.
            match whole.map(|number| number.map(i128::from)).sum::<Option<i128>>().map(i64::try_from) {
                Some(Ok(sum)) => Value::Whole(sum),
                Some(Err(_)) => return Err(Refused::new(code::OUT_OF_RANGE, "a sum does not fit a BIGINT")),
                None => Value::Null,
            }
        }
        "string_agg" if !values.is_empty() => {
            let between = arguments.get(1).map(|between| value_of(between, context, scope)).transpose()?;
            let between = between.and_then(|between| between.shown()).unwrap_or_default();
            let length = values.iter().map(|value| length(value).saturating_add(between.len()));
            context.world.weigh(length.fold(0, usize::saturating_add))?;
            let shown: Vec<String> = values.iter().filter_map(Value::shown).collect();
            Value::Text(shown.join(&between))
        }
        _ => Value::Null,
    })
}

/// The rows of a function in FROM.
pub(super) fn rows_of(
    name: &str,
    arguments: &[FunctionArg],
    context: Context<'_>,
    scope: &Scope<'_>,
) -> Result<Vec<Value>, Refused> {
    let values = arguments.iter().filter_map(plain).map(|argument| value_of(argument, context, scope));
    let values = values.collect::<Result<Vec<_>, Refused>>()?;
    Ok(match (name, &values[..]) {
        ("generate_series", [Value::Whole(from), Value::Whole(to), ..]) => {
            let to = (*to).min(from.saturating_add(MOST_ROWS));
            context.world.spend(usize::try_from(to.saturating_sub(*from)).unwrap_or(0))?;
            (*from..=to).map(Value::Whole).collect()
        }
        ("unnest", [Value::List(list), ..]) => {
            context.world.spend(list.len())?;
            list.clone()
        }
        _ => Vec::new(),
    })
}

fn value(name: &str, values: &[Value], world: &World<'_>) -> Value {
    let text = |index: usize| values.get(index).and_then(Value::shown);
    let mapped = |map: &dyn Fn(String) -> Value| text(0).map_or(Value::Null, map);
    match (name, values) {
        ("version", _) => {
            Value::text(format!("PostgreSQL {VERSION} (Scumble {}: answers have noise)", env!("CARGO_PKG_VERSION")))
        }
        ("current_database" | "current_catalog", _) => Value::text(DATABASE),
        ("current_schema", _) => Value::text("public"),
        ("current_schemas", [implicit, ..]) => {
            let names = if is_true(implicit) { &["pg_catalog", "public"][..] } else { &["public"][..] };
            Value::List(names.iter().map(|name| Value::text(*name)).collect())
        }
        ("current_user" | "session_user" | "user" | "current_role" | "pg_get_userbyid", _) => {
            Value::text(world.settings.user())
        }
        ("current_setting", _) => mapped(&|name| world.settings.get(&name).map_or(Value::Null, Value::Text)),
        // It is said and not done: what matters is set by SET.
        ("set_config", _) => text(1).map_or(Value::Null, Value::Text),
        (
            "now"
            | "current_timestamp"
            | "localtimestamp"
            | "clock_timestamp"
            | "statement_timestamp"
            | "transaction_timestamp",
            _,
        ) => Value::Text(now()),
        ("pg_backend_pid", _) => Value::Whole(1),
        ("pg_encoding_to_char", _) => Value::text("UTF8"),
        ("pg_client_encoding" | "getdatabaseencoding", _) => Value::text("UTF8"),
        ("pg_is_in_recovery" | "pg_is_other_temp_schema" | "pg_is_wal_replay_paused", _) => Value::Truth(false),
        (name, _) if name.starts_with("has_") && name.ends_with("_privilege") => Value::Truth(true),
        (name, _) if name.starts_with("pg_") && name.ends_with("_is_visible") => Value::Truth(true),
        ("format_type", [Value::Whole(oid), ..]) => type_written(*oid),
        ("to_regclass", _) => mapped(&|name| class(name.rsplit('.').next().unwrap_or_default(), world)),
        ("to_regtype", _) => mapped(&|name| type_number(name.rsplit('.').next().unwrap_or_default())),
        ("to_regnamespace", _) => mapped(&|name| schema_number(&name)),
        ("obj_description", [Value::Whole(oid), ..]) => tables::description(world, *oid, 0),
        ("col_description", [Value::Whole(oid), Value::Whole(column), ..]) => tables::description(world, *oid, *column),
        ("coalesce", _) => values.iter().find(|value| **value != Value::Null).cloned().unwrap_or(Value::Null),
        ("nullif", [left, right]) => match compare(left, right) {
            Some(Ordering::Equal) => Value::Null,
            _ => left.clone(),
        },
        ("lower", _) => mapped(&|text| Value::Text(text.to_lowercase())),
        ("upper", _) => mapped(&|text| Value::Text(text.to_uppercase())),
        ("length" | "char_length" | "character_length", _) => mapped(&|text| Value::Whole(text.chars().count() as i64)),
        ("trim" | "btrim", [_]) => mapped(&|text| Value::text(text.trim())),
        ("quote_ident", _) => mapped(&|name| Value::Text(quoted(&name))),
        ("quote_literal", _) => mapped(&|text| Value::Text(format!("'{}'", text.replace('\'', "''")))),
        ("concat", _) => Value::Text(values.iter().filter_map(Value::shown).collect()),
        ("replace", _) => match (text(0), text(1), text(2)) {
            (Some(text), Some(from), Some(to)) if !from.is_empty() && text.len().saturating_mul(to.len()) < LONGEST => {
                Value::Text(text.replace(&from, &to))
            }
            _ => Value::Null,
        },
        ("substring" | "substr", [text, from, rest @ ..]) => substring(text, Some(from.clone()), rest.first().cloned()),
        ("array_to_string", [Value::List(list), ..]) => {
            let shown: Vec<String> = list.iter().filter_map(Value::shown).collect();
            Value::Text(shown.join(&text(1).unwrap_or_default()))
        }
        ("string_to_array", _) => match (text(0), text(1)) {
            (Some(text), Some(between)) if !between.is_empty() => {
                Value::List(text.split(&between).map(Value::text).collect())
            }
            _ => Value::Null,
        },
        ("array_upper" | "array_length" | "cardinality", [Value::List(list), ..]) if !list.is_empty() => {
            Value::Whole(list.len() as i64)
        }
        ("array_lower", [Value::List(list), ..]) if !list.is_empty() => Value::Whole(1),
        _ => Value::Null,
    }
}

/// A part of a text, from a letter on that is counted from 1.
pub(super) fn substring(text: &Value, from: Option<Value>, length: Option<Value>) -> Value {
    let Some(text) = text.shown() else { return Value::Null };
    let number = |value: Option<Value>, default: i64| match value {
        Some(Value::Whole(number)) => Some(number),
        Some(_) => None,
        None => Some(default),
    };
    let (Some(from), Some(length)) = (number(from, 1), number(length, i64::MAX)) else { return Value::Null };
    let end = from.saturating_add(length);
    let letters = text.chars().zip(1i64..).filter(|(_, place)| (from..end).contains(place)).map(|(letter, _)| letter);
    Value::Text(letters.collect())
}

/// The number of a table by its name; those of the catalogue that are asked for by name have PostgreSQL's.
pub(super) fn class(name: &str, world: &World<'_>) -> Value {
    let known =
        [("pg_class", 1259), ("pg_namespace", 2615), ("pg_type", 1247), ("pg_proc", 1255), ("pg_database", 1262)];
    let known = known.iter().find(|(known, _)| *known == name).map(|(_, oid)| *oid);
    let declared = tables::numbered(world).find(|(_, table)| table.name == name).map(|(oid, _)| oid);
    declared.or(known).map_or(Value::Null, Value::Whole)
}

pub(super) fn type_number(name: &str) -> Value {
    let found = tables::TYPES.iter().find(|kind| kind.name == name || kind.sql == name);
    found.map_or(Value::Null, |kind| Value::Whole(kind.oid))
}

/// How SQL writes a type.
pub(super) fn type_written(oid: i64) -> Value {
    let found = tables::TYPES.iter().find(|kind| kind.oid == oid);
    Value::text(found.map_or(if oid == 0 { "-" } else { "???" }, |kind| kind.sql))
}

pub(super) fn schema_number(name: &str) -> Value {
    let found = tables::SCHEMAS.iter().find(|(_, known)| *known == name);
    found.map_or(Value::Null, |(oid, _)| Value::Whole(*oid))
}

/// A name as it is written in SQL.
fn quoted(name: &str) -> String {
    let plain = name.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_')
        && name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
    if plain { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// The type of what a function gives.
pub(super) fn kind(name: &str, first: Option<PgType>) -> PgType {
    match name {
        "count" | "row_number" => PgType::Whole,
        "pg_backend_pid" | "array_upper" | "array_lower" | "array_length" | "cardinality" | "length"
        | "char_length" => PgType::Int,
        "bool_or" | "bool_and" | "every" | "pg_is_in_recovery" => PgType::Truth,
        name if name.starts_with("has_") && name.ends_with("_privilege") => PgType::Truth,
        name if name.starts_with("pg_") && name.ends_with("_is_visible") => PgType::Truth,
        "to_regclass" | "to_regtype" | "to_regnamespace" => PgType::Oid,
        "current_schemas" | "array" | "array_agg" | "string_to_array" => PgType::Texts,
        "now" | "current_timestamp" | "localtimestamp" => PgType::Moment,
        "coalesce" | "nullif" | "min" | "max" | "unnest" => first.unwrap_or(PgType::Text),
        "sum" => PgType::Whole,
        _ => PgType::Text,
    }
}
