//! Values as other types, and the types that SQL names.

use super::{Catalogue, function, length, tables};
use crate::postgres::value::CellValue;
use sqlparser::ast::DataType;

/// The name of a type in small letters, without its schema.
pub(super) fn type_name(kind: &DataType) -> String {
    let name = kind.to_string().to_lowercase().replace('"', "");
    name.strip_prefix("pg_catalog.").unwrap_or(&name).to_string()
}

/// A value as another type. A name becomes the number of what it names, and a number the name.
pub(super) fn cast(value: CellValue, to: &str, world: &Catalogue<'_>) -> CellValue {
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

pub(super) fn is_whole(kind: &str) -> bool {
    ["int", "int2", "int4", "int8", "integer", "bigint", "smallint", "oid", "xid"].contains(&kind)
}

pub(super) fn is_number(kind: &str) -> bool {
    ["float", "float4", "float8", "real", "double precision", "double", "numeric", "decimal"].contains(&kind)
}

/// How many bytes the elements of an array's text take, at most.
pub(super) fn listed(value: &CellValue) -> usize {
    match value {
        CellValue::Text(text) => text.len() + 32 * text.matches(',').count(),
        other => length(other),
    }
}

/// The elements of an array's text, without quotes.
pub(super) fn elements(text: &str) -> Vec<CellValue> {
    let inner = text.trim().trim_start_matches('{').trim_end_matches('}');
    inner.split(',').filter(|part| !part.is_empty()).map(|part| CellValue::text(part.trim_matches('"'))).collect()
}
