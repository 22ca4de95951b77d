//! The tables of the catalogue.

use super::{Catalogue, ResultColumn, ResultTable};
use crate::postgres::settings::DATABASE;
use crate::postgres::value::{CellValue, PgType};
use crate::service::{ColumnShown, ColumnType, TableShown};
use serde_json::json;

/// The numbers of the schemas, of the one database, of the one role and of the way in which tables are kept; those of
/// tables follow [`FIRST`].
pub(super) const CATALOGUE: i64 = 11;
pub(super) const PUBLIC: i64 = 2200;
pub(super) const INFORMATION: i64 = 13_000;
const DATABASE_NUMBER: i64 = 5;
const ROLE: i64 = 10;
const HEAP: i64 = 2;
const CLASS: i64 = 1259;
const FIRST: i64 = 16_384;

/// The schemas.
pub(super) const SCHEMAS: [(i64, &str); 3] =
    [(CATALOGUE, "pg_catalog"), (PUBLIC, "public"), (INFORMATION, "information_schema")];

/// A type: its number, its name, how SQL writes it, its length, its category, and the numbers of its elements and of
/// its arrays.
pub(super) struct CatalogueType {
    pub oid: i64,
    pub name: &'static str,
    pub sql: &'static str,
    length: i64,
    category: &'static str,
    element: i64,
    array: i64,
}

const fn one(
    oid: i64,
    name: &'static str,
    sql: &'static str,
    length: i64,
    category: &'static str,
    array: i64,
) -> CatalogueType {
    CatalogueType { oid, name, sql, length, category, element: 0, array }
}

const fn many(oid: i64, name: &'static str, sql: &'static str, element: i64) -> CatalogueType {
    CatalogueType { oid, name, sql, length: -1, category: "A", element, array: 0 }
}

/// The types that clients look for.
pub(super) const TYPES: [CatalogueType; 31] = [
    one(16, "bool", "boolean", 1, "B", 1000),
    one(17, "bytea", "bytea", -1, "U", 0),
    one(18, "char", "\"char\"", 1, "Z", 0),
    one(19, "name", "name", 64, "S", 1003),
    one(20, "int8", "bigint", 8, "N", 1016),
    one(21, "int2", "smallint", 2, "N", 1005),
    one(23, "int4", "integer", 4, "N", 1007),
    one(25, "text", "text", -1, "S", 1009),
    one(26, "oid", "oid", 4, "N", 1028),
    one(114, "json", "json", -1, "U", 0),
    one(700, "float4", "real", 4, "N", 1021),
    one(701, "float8", "double precision", 8, "N", 1022),
    one(705, "unknown", "unknown", -2, "X", 0),
    one(1042, "bpchar", "character", -1, "S", 1014),
    one(1043, "varchar", "character varying", -1, "S", 1015),
    one(1082, "date", "date", 4, "D", 1182),
    one(1083, "time", "time without time zone", 8, "D", 0),
    one(1114, "timestamp", "timestamp without time zone", 8, "D", 1115),
    one(1184, "timestamptz", "timestamp with time zone", 8, "D", 1185),
    one(1186, "interval", "interval", 16, "T", 0),
    one(1700, "numeric", "numeric", -1, "N", 1231),
    one(2205, "regclass", "regclass", 4, "N", 0),
    one(2950, "uuid", "uuid", 16, "U", 0),
    many(1000, "_bool", "boolean[]", 16),
    many(1005, "_int2", "smallint[]", 21),
    many(1007, "_int4", "integer[]", 23),
    many(1009, "_text", "text[]", 25),
    many(1016, "_int8", "bigint[]", 20),
    many(1022, "_float8", "double precision[]", 701),
    many(1115, "_timestamp", "timestamp without time zone[]", 1114),
    many(1182, "_date", "date[]", 1082),
];

/// The type of a declared column.
fn type_of(column: &ColumnShown) -> &'static CatalogueType {
    let name = match column.kind {
        ColumnType::Int => "int8",
        ColumnType::Float => "float8",
        ColumnType::Bool => "bool",
        ColumnType::Date => "date",
        ColumnType::Timestamp => "timestamp",
        ColumnType::Category => "text",
    };
    TYPES.iter().find(|kind| kind.name == name).unwrap_or(&TYPES[7])
}

/// The declared tables with their numbers.
pub(super) fn numbered<'a>(world: &Catalogue<'a>) -> impl Iterator<Item = (i64, &'a TableShown)> {
    world.tables.iter().zip(0i64..).map(|(table, index)| (FIRST + index, table))
}

/// The description of a table or a column: its declaration.
pub(super) fn description(world: &Catalogue<'_>, table: i64, column: i64) -> CellValue {
    let Some((_, shown)) = numbered(world).find(|(oid, _)| *oid == table) else { return CellValue::Null };
    match usize::try_from(column).ok().and_then(|column| column.checked_sub(1)) {
        Some(index) => shown.columns.get(index).map_or(CellValue::Null, |column| CellValue::text(declared(column))),
        None if shown.public => CellValue::text("public"),
        None => CellValue::text("private: answers have noise, and cost"),
    }
}

fn declared(column: &ColumnShown) -> String {
    let sensitive = if column.sensitive { ", sensitive" } else { "" };
    let fields: String = column.declared.iter().map(|(key, value)| format!(", {key} {}", json!(value))).collect();
    format!("{}{fields}{sensitive}", column.kind.word())
}

/// A table by its name in small letters; none where the catalogue has no such one. Empty tables have no columns:
/// whatever is asked of them is NULL.
pub(super) fn table(schema: Option<&str>, name: &str, world: &Catalogue<'_>) -> ResultTable {
    let information = match schema {
        Some("information_schema") => true,
        Some(_) => false,
        None => !name.starts_with("pg_"),
    };
    match (information, name) {
        (false, "pg_namespace") => namespaces(),
        (false, "pg_class") => classes(world),
        (false, "pg_attribute") => attributes(world),
        (false, "pg_type") => types(),
        (false, "pg_database") => databases(),
        (false, "pg_roles" | "pg_user" | "pg_authid") => roles(world),
        (false, "pg_settings") => settings(world),
        (false, "pg_tables") => listed(world),
        (false, "pg_description") => descriptions(world),
        (false, "pg_am") => made(
            &[("oid", PgType::Oid), ("amname", PgType::Name), ("amtype", PgType::Letter)],
            vec![vec![CellValue::Whole(HEAP), CellValue::text("heap"), CellValue::text("t")]],
        ),
        (true, "schemata") => schemata(world),
        (true, "tables") => information_tables(world),
        (true, "columns") => information_columns(world),
        _ => ResultTable::default(),
    }
}

fn made(columns: &[(&str, PgType)], rows: Vec<Vec<CellValue>>) -> ResultTable {
    let columns = columns.iter().map(|(name, kind)| ResultColumn::new(*name, *kind)).collect();
    ResultTable { columns, rows }
}

fn namespaces() -> ResultTable {
    let columns =
        [("oid", PgType::Oid), ("nspname", PgType::Name), ("nspowner", PgType::Oid), ("nspacl", PgType::Texts)];
    let row = |(oid, name): &(i64, &str)| {
        vec![CellValue::Whole(*oid), CellValue::text(*name), CellValue::Whole(ROLE), CellValue::Null]
    };
    made(&columns, SCHEMAS.iter().map(row).collect())
}

fn classes(world: &Catalogue<'_>) -> ResultTable {
    let columns = [
        ("oid", PgType::Oid),
        ("relname", PgType::Name),
        ("relnamespace", PgType::Oid),
        ("reltype", PgType::Oid),
        ("reloftype", PgType::Oid),
        ("relowner", PgType::Oid),
        ("relam", PgType::Oid),
        ("reltablespace", PgType::Oid),
        ("reltoastrelid", PgType::Oid),
        ("relhasindex", PgType::Truth),
        ("relisshared", PgType::Truth),
        ("relpersistence", PgType::Letter),
        ("relkind", PgType::Letter),
        ("relnatts", PgType::Small),
        ("relchecks", PgType::Small),
        ("relhasrules", PgType::Truth),
        ("relhastriggers", PgType::Truth),
        ("relhassubclass", PgType::Truth),
        ("relrowsecurity", PgType::Truth),
        ("relforcerowsecurity", PgType::Truth),
        ("relispopulated", PgType::Truth),
        ("relreplident", PgType::Letter),
        ("relispartition", PgType::Truth),
        ("reloptions", PgType::Texts),
        ("relacl", PgType::Texts),
        // How large a table is, is not said.
        ("reltuples", PgType::Number),
        ("relpages", PgType::Int),
    ];
    let row = |(oid, table): (i64, &TableShown)| {
        let truth = CellValue::Truth(false);
        vec![
            CellValue::Whole(oid),
            CellValue::text(&table.name),
            CellValue::Whole(PUBLIC),
            CellValue::Whole(0),
            CellValue::Whole(0),
            CellValue::Whole(ROLE),
            CellValue::Whole(HEAP),
            CellValue::Whole(0),
            CellValue::Whole(0),
            truth.clone(),
            truth.clone(),
            CellValue::text("p"),
            CellValue::text("r"),
            CellValue::Whole(table.columns.len() as i64),
            CellValue::Whole(0),
            truth.clone(),
            truth.clone(),
            truth.clone(),
            truth.clone(),
            truth.clone(),
            CellValue::Truth(true),
            CellValue::text("d"),
            truth,
            CellValue::Null,
            CellValue::Null,
            CellValue::Whole(-1),
            CellValue::Whole(0),
        ]
    };
    made(&columns, numbered(world).map(row).collect())
}

fn attributes(world: &Catalogue<'_>) -> ResultTable {
    let columns = [
        ("attrelid", PgType::Oid),
        ("attname", PgType::Name),
        ("atttypid", PgType::Oid),
        ("attlen", PgType::Small),
        ("attnum", PgType::Small),
        ("atttypmod", PgType::Int),
        ("attndims", PgType::Int),
        ("attnotnull", PgType::Truth),
        ("atthasdef", PgType::Truth),
        ("atthasmissing", PgType::Truth),
        ("attidentity", PgType::Letter),
        ("attgenerated", PgType::Letter),
        ("attisdropped", PgType::Truth),
        ("attislocal", PgType::Truth),
        ("attinhcount", PgType::Int),
        ("attcollation", PgType::Oid),
        ("attstorage", PgType::Letter),
        ("attcompression", PgType::Letter),
        ("attstattarget", PgType::Int),
        ("attacl", PgType::Texts),
        ("attoptions", PgType::Texts),
        ("attfdwoptions", PgType::Texts),
    ];
    let mut rows = Vec::new();
    for (oid, table) in numbered(world) {
        for (column, number) in table.columns.iter().zip(1i64..) {
            let kind = type_of(column);
            rows.push(vec![
                CellValue::Whole(oid),
                CellValue::text(&column.name),
                CellValue::Whole(kind.oid),
                CellValue::Whole(kind.length),
                CellValue::Whole(number),
                CellValue::Whole(-1),
                CellValue::Whole(0),
                CellValue::Truth(false),
                CellValue::Truth(false),
                CellValue::Truth(false),
                CellValue::text(""),
                CellValue::text(""),
                CellValue::Truth(false),
                CellValue::Truth(true),
                CellValue::Whole(0),
                CellValue::Whole(0),
                CellValue::text(if kind.length < 0 { "x" } else { "p" }),
                CellValue::text(""),
                CellValue::Whole(-1),
                CellValue::Null,
                CellValue::Null,
                CellValue::Null,
            ]);
        }
    }
    made(&columns, rows)
}

fn types() -> ResultTable {
    let columns = [
        ("oid", PgType::Oid),
        ("typname", PgType::Name),
        ("typnamespace", PgType::Oid),
        ("typowner", PgType::Oid),
        ("typlen", PgType::Small),
        ("typbyval", PgType::Truth),
        ("typtype", PgType::Letter),
        ("typcategory", PgType::Letter),
        ("typispreferred", PgType::Truth),
        ("typisdefined", PgType::Truth),
        ("typdelim", PgType::Letter),
        ("typrelid", PgType::Oid),
        ("typelem", PgType::Oid),
        ("typarray", PgType::Oid),
        ("typinput", PgType::Text),
        ("typreceive", PgType::Text),
        ("typnotnull", PgType::Truth),
        ("typbasetype", PgType::Oid),
        ("typtypmod", PgType::Int),
        ("typndims", PgType::Int),
        ("typcollation", PgType::Oid),
        ("typdefault", PgType::Text),
        ("typacl", PgType::Texts),
    ];
    let row = |kind: &CatalogueType| {
        let input = if kind.element == 0 { format!("{}in", kind.name) } else { "array_in".to_string() };
        let receive = if kind.element == 0 { format!("{}recv", kind.name) } else { "array_recv".to_string() };
        vec![
            CellValue::Whole(kind.oid),
            CellValue::text(kind.name),
            CellValue::Whole(CATALOGUE),
            CellValue::Whole(ROLE),
            CellValue::Whole(kind.length),
            CellValue::Truth((1..=8).contains(&kind.length)),
            CellValue::text("b"),
            CellValue::text(kind.category),
            CellValue::Truth(["bool", "text", "float8", "oid"].contains(&kind.name)),
            CellValue::Truth(true),
            CellValue::text(","),
            CellValue::Whole(0),
            CellValue::Whole(kind.element),
            CellValue::Whole(kind.array),
            CellValue::Text(input),
            CellValue::Text(receive),
            CellValue::Truth(false),
            CellValue::Whole(0),
            CellValue::Whole(-1),
            CellValue::Whole(0),
            CellValue::Whole(0),
            CellValue::Null,
            CellValue::Null,
        ]
    };
    made(&columns, TYPES.iter().map(row).collect())
}

fn databases() -> ResultTable {
    let columns = [
        ("oid", PgType::Oid),
        ("datname", PgType::Name),
        ("datdba", PgType::Oid),
        ("encoding", PgType::Int),
        ("datlocprovider", PgType::Letter),
        ("datistemplate", PgType::Truth),
        ("datallowconn", PgType::Truth),
        ("datconnlimit", PgType::Int),
        ("datcollate", PgType::Text),
        ("datctype", PgType::Text),
        ("daticulocale", PgType::Text),
        ("dattablespace", PgType::Oid),
        ("datacl", PgType::Texts),
    ];
    let row = vec![
        CellValue::Whole(DATABASE_NUMBER),
        CellValue::text(DATABASE),
        CellValue::Whole(ROLE),
        CellValue::Whole(6),
        CellValue::text("c"),
        CellValue::Truth(false),
        CellValue::Truth(true),
        CellValue::Whole(-1),
        CellValue::text("C"),
        CellValue::text("C"),
        CellValue::Null,
        CellValue::Whole(0),
        CellValue::Null,
    ];
    made(&columns, vec![row])
}

/// Only the person who asks: only the curator may tell who else has access.
fn roles(world: &Catalogue<'_>) -> ResultTable {
    let columns = [
        ("oid", PgType::Oid),
        ("rolname", PgType::Name),
        ("rolsuper", PgType::Truth),
        ("rolinherit", PgType::Truth),
        ("rolcreaterole", PgType::Truth),
        ("rolcreatedb", PgType::Truth),
        ("rolcanlogin", PgType::Truth),
        ("rolreplication", PgType::Truth),
        ("rolbypassrls", PgType::Truth),
        ("rolconnlimit", PgType::Int),
        ("rolvaliduntil", PgType::Text),
        ("rolconfig", PgType::Texts),
        ("usename", PgType::Name),
        ("usesysid", PgType::Oid),
        ("usesuper", PgType::Truth),
    ];
    let user = CellValue::text(world.settings.user());
    let no = CellValue::Truth(false);
    let row = vec![
        CellValue::Whole(ROLE),
        user.clone(),
        no.clone(),
        CellValue::Truth(true),
        no.clone(),
        no.clone(),
        CellValue::Truth(true),
        no.clone(),
        no.clone(),
        CellValue::Whole(-1),
        CellValue::Null,
        CellValue::Null,
        user,
        CellValue::Whole(ROLE),
        no,
    ];
    made(&columns, vec![row])
}

fn settings(world: &Catalogue<'_>) -> ResultTable {
    let columns = [
        ("name", PgType::Text),
        ("setting", PgType::Text),
        ("unit", PgType::Text),
        ("category", PgType::Text),
        ("short_desc", PgType::Text),
        ("context", PgType::Text),
        ("vartype", PgType::Text),
        ("source", PgType::Text),
        ("reset_val", PgType::Text),
        ("boot_val", PgType::Text),
    ];
    let row = |(name, value): (&str, String)| {
        vec![
            CellValue::text(name),
            CellValue::text(&value),
            CellValue::Null,
            CellValue::text("Settings"),
            CellValue::text(""),
            CellValue::text("user"),
            CellValue::text("string"),
            CellValue::text("default"),
            CellValue::text(&value),
            CellValue::Text(value),
        ]
    };
    made(&columns, world.settings.all().map(row).collect())
}

/// `pg_tables`.
fn listed(world: &Catalogue<'_>) -> ResultTable {
    let columns = [
        ("schemaname", PgType::Name),
        ("tablename", PgType::Name),
        ("tableowner", PgType::Name),
        ("tablespace", PgType::Name),
        ("hasindexes", PgType::Truth),
        ("hasrules", PgType::Truth),
        ("hastriggers", PgType::Truth),
        ("rowsecurity", PgType::Truth),
    ];
    let row = |(_, table): (i64, &TableShown)| {
        let no = CellValue::Truth(false);
        let owner = CellValue::text(world.settings.user());
        vec![
            CellValue::text("public"),
            CellValue::text(&table.name),
            owner,
            CellValue::Null,
            no.clone(),
            no.clone(),
            no.clone(),
            no,
        ]
    };
    made(&columns, numbered(world).map(row).collect())
}

fn descriptions(world: &Catalogue<'_>) -> ResultTable {
    let columns =
        [("objoid", PgType::Oid), ("classoid", PgType::Oid), ("objsubid", PgType::Int), ("description", PgType::Text)];
    let mut rows = Vec::new();
    for (oid, table) in numbered(world) {
        for column in 0..=table.columns.len() as i64 {
            let said = description(world, oid, column);
            rows.push(vec![CellValue::Whole(oid), CellValue::Whole(CLASS), CellValue::Whole(column), said]);
        }
    }
    made(&columns, rows)
}

fn schemata(world: &Catalogue<'_>) -> ResultTable {
    let columns = [("catalog_name", PgType::Name), ("schema_name", PgType::Name), ("schema_owner", PgType::Name)];
    let row = |(_, name): &(i64, &str)| {
        vec![CellValue::text(DATABASE), CellValue::text(*name), CellValue::text(world.settings.user())]
    };
    made(&columns, SCHEMAS.iter().map(row).collect())
}

fn information_tables(world: &Catalogue<'_>) -> ResultTable {
    let columns = [
        ("table_catalog", PgType::Name),
        ("table_schema", PgType::Name),
        ("table_name", PgType::Name),
        ("table_type", PgType::Text),
        ("is_insertable_into", PgType::Text),
    ];
    let row = |(_, table): (i64, &TableShown)| {
        vec![
            CellValue::text(DATABASE),
            CellValue::text("public"),
            CellValue::text(&table.name),
            CellValue::text("BASE TABLE"),
            CellValue::text("NO"),
        ]
    };
    made(&columns, numbered(world).map(row).collect())
}

fn information_columns(world: &Catalogue<'_>) -> ResultTable {
    let columns = [
        ("table_catalog", PgType::Name),
        ("table_schema", PgType::Name),
        ("table_name", PgType::Name),
        ("column_name", PgType::Name),
        ("ordinal_position", PgType::Int),
        ("column_default", PgType::Text),
        ("is_nullable", PgType::Text),
        ("data_type", PgType::Text),
        ("character_maximum_length", PgType::Int),
        ("numeric_precision", PgType::Int),
        ("numeric_scale", PgType::Int),
        ("udt_name", PgType::Name),
        ("udt_schema", PgType::Name),
        ("is_identity", PgType::Text),
        ("is_generated", PgType::Text),
        ("is_updatable", PgType::Text),
    ];
    let mut rows = Vec::new();
    for (_, table) in numbered(world) {
        for (column, number) in table.columns.iter().zip(1i64..) {
            let kind = type_of(column);
            rows.push(vec![
                CellValue::text(DATABASE),
                CellValue::text("public"),
                CellValue::text(&table.name),
                CellValue::text(&column.name),
                CellValue::Whole(number),
                CellValue::Null,
                CellValue::text("YES"),
                CellValue::text(kind.sql),
                CellValue::Null,
                CellValue::Null,
                CellValue::Null,
                CellValue::text(kind.name),
                CellValue::text("pg_catalog"),
                CellValue::text("NO"),
                CellValue::text("NEVER"),
                CellValue::text("NO"),
            ]);
        }
    }
    made(&columns, rows)
}
