//! The functions that the catalogue's queries call, over values. What is not here is NULL.

use super::operator::{compare, is_true};
use super::{Catalogue, length, tables};
use crate::postgres::refused::{SqlError, code};
use crate::postgres::settings::{DATABASE, VERSION};
use crate::postgres::value::{CellValue, PgType, now};
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
pub(super) fn called(name: &str, values: &[CellValue], world: &Catalogue<'_>) -> Result<CellValue, SqlError> {
    world.weigh(made(name, values))?;
    Ok(value(name, values, world))
}

/// How many bytes a function is about to make of its arguments, at most; [`value`] sees to REPLACE itself.
fn made(name: &str, values: &[CellValue]) -> usize {
    let all = values.iter().map(length).fold(0, usize::saturating_add);
    match (name, values) {
        ("array_to_string", [CellValue::List(list), between, ..]) => all + list.len().saturating_mul(length(between)),
        ("string_to_array", [CellValue::Text(text), CellValue::Text(between), ..]) if !between.is_empty() => {
            all + 32 * (1 + text.matches(between.as_str()).count())
        }
        _ => all,
    }
}

/// What an aggregate makes of the values that are not NULL; `between` stands between strings that are joined.
pub(super) fn aggregated(
    name: &str,
    values: Vec<CellValue>,
    between: Option<CellValue>,
    world: &Catalogue<'_>,
) -> Result<CellValue, SqlError> {
    let best = |wanted: Ordering| {
        let better =
            |best: CellValue, value: CellValue| if compare(&value, &best) == Some(wanted) { value } else { best };
        values.clone().into_iter().reduce(better).unwrap_or(CellValue::Null)
    };
    Ok(match name {
        "count" => CellValue::Whole(values.len() as i64),
        "min" => best(Ordering::Less),
        "max" => best(Ordering::Greater),
        "bool_or" if !values.is_empty() => CellValue::Truth(values.iter().any(is_true)),
        "bool_and" | "every" if !values.is_empty() => CellValue::Truth(values.iter().all(is_true)),
        "array_agg" if !values.is_empty() => CellValue::List(values),
        "sum" if !values.is_empty() => {
            let whole =
                values.iter().map(|value| if let CellValue::Whole(number) = value { Some(*number) } else { None });
            // An i128 holds the sum of as many rows as there can be.
            match whole.map(|number| number.map(i128::from)).sum::<Option<i128>>().map(i64::try_from) {
                Some(Ok(sum)) => CellValue::Whole(sum),
                Some(Err(_)) => return Err(SqlError::new(code::OUT_OF_RANGE, "a sum does not fit a BIGINT")),
                None => CellValue::Null,
            }
        }
        "string_agg" if !values.is_empty() => {
            let between = between.and_then(|between| between.shown()).unwrap_or_default();
            let length = values.iter().map(|value| length(value).saturating_add(between.len()));
            world.weigh(length.fold(0, usize::saturating_add))?;
            let shown: Vec<String> = values.iter().filter_map(CellValue::shown).collect();
            CellValue::Text(shown.join(&between))
        }
        _ => CellValue::Null,
    })
}

/// The rows of a function in FROM.
pub(super) fn rows(name: &str, values: &[CellValue], world: &Catalogue<'_>) -> Result<Vec<CellValue>, SqlError> {
    Ok(match (name, values) {
        ("generate_series", [CellValue::Whole(from), CellValue::Whole(to), ..]) => {
            let to = (*to).min(from.saturating_add(MOST_ROWS));
            world.spend(usize::try_from(to.saturating_sub(*from)).unwrap_or(0))?;
            (*from..=to).map(CellValue::Whole).collect()
        }
        ("unnest", [CellValue::List(list), ..]) => {
            world.spend(list.len())?;
            list.clone()
        }
        _ => Vec::new(),
    })
}

fn value(name: &str, values: &[CellValue], world: &Catalogue<'_>) -> CellValue {
    let text = |index: usize| values.get(index).and_then(CellValue::shown);
    let mapped = |map: &dyn Fn(String) -> CellValue| text(0).map_or(CellValue::Null, map);
    match (name, values) {
        ("version", _) => {
            CellValue::text(format!("PostgreSQL {VERSION} (Scumble {}: answers have noise)", env!("CARGO_PKG_VERSION")))
        }
        ("current_database" | "current_catalog", _) => CellValue::text(DATABASE),
        ("current_schema", _) => CellValue::text("public"),
        ("current_schemas", [implicit, ..]) => {
            let names = if is_true(implicit) { &["pg_catalog", "public"][..] } else { &["public"][..] };
            CellValue::List(names.iter().map(|name| CellValue::text(*name)).collect())
        }
        ("current_user" | "session_user" | "user" | "current_role" | "pg_get_userbyid", _) => {
            CellValue::text(world.settings.user())
        }
        ("current_setting", _) => mapped(&|name| world.settings.get(&name).map_or(CellValue::Null, CellValue::Text)),
        // It is said and not done: what matters is set by SET.
        ("set_config", _) => text(1).map_or(CellValue::Null, CellValue::Text),
        (
            "now"
            | "current_timestamp"
            | "localtimestamp"
            | "clock_timestamp"
            | "statement_timestamp"
            | "transaction_timestamp",
            _,
        ) => CellValue::Text(now()),
        ("pg_backend_pid", _) => CellValue::Whole(1),
        ("pg_encoding_to_char", _) => CellValue::text("UTF8"),
        ("pg_client_encoding" | "getdatabaseencoding", _) => CellValue::text("UTF8"),
        ("pg_is_in_recovery" | "pg_is_other_temp_schema" | "pg_is_wal_replay_paused", _) => CellValue::Truth(false),
        (name, _) if name.starts_with("has_") && name.ends_with("_privilege") => CellValue::Truth(true),
        (name, _) if name.starts_with("pg_") && name.ends_with("_is_visible") => CellValue::Truth(true),
        ("format_type", [CellValue::Whole(oid), ..]) => type_written(*oid),
        ("to_regclass", _) => mapped(&|name| class(name.rsplit('.').next().unwrap_or_default(), world)),
        ("to_regtype", _) => mapped(&|name| type_number(name.rsplit('.').next().unwrap_or_default())),
        ("to_regnamespace", _) => mapped(&|name| schema_number(&name)),
        ("obj_description", [CellValue::Whole(oid), ..]) => tables::description(world, *oid, 0),
        ("col_description", [CellValue::Whole(oid), CellValue::Whole(column), ..]) => {
            tables::description(world, *oid, *column)
        }
        ("coalesce", _) => values.iter().find(|value| **value != CellValue::Null).cloned().unwrap_or(CellValue::Null),
        ("nullif", [left, right]) => match compare(left, right) {
            Some(Ordering::Equal) => CellValue::Null,
            _ => left.clone(),
        },
        ("lower", _) => mapped(&|text| CellValue::Text(text.to_lowercase())),
        ("upper", _) => mapped(&|text| CellValue::Text(text.to_uppercase())),
        ("length" | "char_length" | "character_length", _) => {
            mapped(&|text| CellValue::Whole(text.chars().count() as i64))
        }
        ("trim" | "btrim", [_]) => mapped(&|text| CellValue::text(text.trim())),
        ("quote_ident", _) => mapped(&|name| CellValue::Text(quoted(&name))),
        ("quote_literal", _) => mapped(&|text| CellValue::Text(format!("'{}'", text.replace('\'', "''")))),
        ("concat", _) => CellValue::Text(values.iter().filter_map(CellValue::shown).collect()),
        ("replace", _) => match (text(0), text(1), text(2)) {
            (Some(text), Some(from), Some(to)) if !from.is_empty() && text.len().saturating_mul(to.len()) < LONGEST => {
                CellValue::Text(text.replace(&from, &to))
            }
            _ => CellValue::Null,
        },
        ("substring" | "substr", [text, from, rest @ ..]) => substring(text, Some(from.clone()), rest.first().cloned()),
        ("array_to_string", [CellValue::List(list), ..]) => {
            let shown: Vec<String> = list.iter().filter_map(CellValue::shown).collect();
            CellValue::Text(shown.join(&text(1).unwrap_or_default()))
        }
        ("string_to_array", _) => match (text(0), text(1)) {
            (Some(text), Some(between)) if !between.is_empty() => {
                CellValue::List(text.split(&between).map(CellValue::text).collect())
            }
            _ => CellValue::Null,
        },
        ("array_upper" | "array_length" | "cardinality", [CellValue::List(list), ..]) if !list.is_empty() => {
            CellValue::Whole(list.len() as i64)
        }
        ("array_lower", [CellValue::List(list), ..]) if !list.is_empty() => CellValue::Whole(1),
        _ => CellValue::Null,
    }
}

/// A part of a text, from a letter on that is counted from 1.
pub(super) fn substring(text: &CellValue, from: Option<CellValue>, length: Option<CellValue>) -> CellValue {
    let Some(text) = text.shown() else { return CellValue::Null };
    let number = |value: Option<CellValue>, default: i64| match value {
        Some(CellValue::Whole(number)) => Some(number),
        Some(_) => None,
        None => Some(default),
    };
    let (Some(from), Some(length)) = (number(from, 1), number(length, i64::MAX)) else { return CellValue::Null };
    let end = from.saturating_add(length);
    let letters = text.chars().zip(1i64..).filter(|(_, place)| (from..end).contains(place)).map(|(letter, _)| letter);
    CellValue::Text(letters.collect())
}

/// The number of a table by its name; those of the catalogue that are asked for by name have PostgreSQL's.
pub(super) fn class(name: &str, world: &Catalogue<'_>) -> CellValue {
    let known =
        [("pg_class", 1259), ("pg_namespace", 2615), ("pg_type", 1247), ("pg_proc", 1255), ("pg_database", 1262)];
    let known = known.iter().find(|(known, _)| *known == name).map(|(_, oid)| *oid);
    let declared = tables::numbered(world).find(|(_, table)| table.name == name).map(|(oid, _)| oid);
    declared.or(known).map_or(CellValue::Null, CellValue::Whole)
}

pub(super) fn type_number(name: &str) -> CellValue {
    let found = tables::TYPES.iter().find(|kind| kind.name == name || kind.sql == name);
    found.map_or(CellValue::Null, |kind| CellValue::Whole(kind.oid))
}

/// How SQL writes a type.
pub(super) fn type_written(oid: i64) -> CellValue {
    let found = tables::TYPES.iter().find(|kind| kind.oid == oid);
    CellValue::text(found.map_or(if oid == 0 { "-" } else { "???" }, |kind| kind.sql))
}

pub(super) fn schema_number(name: &str) -> CellValue {
    let found = tables::SCHEMAS.iter().find(|(_, known)| *known == name);
    found.map_or(CellValue::Null, |(oid, _)| CellValue::Whole(*oid))
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
