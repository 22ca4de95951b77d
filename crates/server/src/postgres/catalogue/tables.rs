//! The tables of the catalogue.

use super::{Column, Table, World};
use crate::postgres::settings::DATABASE;
use crate::postgres::value::{Kind, Value};
use crate::service::{ColumnShown, TableShown};

/// The numbers of the schemas, of the one database, of the one role and of the way in which tables are kept; those of tables follow [`FIRST`].
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

/// A type: its number, its name, how SQL writes it, its length, its category, and the numbers of its elements and of its arrays.
pub(super) struct Type {
    pub oid: i64,
    pub name: &'static str,
    pub sql: &'static str,
    length: i64,
    category: &'static str,
    element: i64,
    array: i64,
}

const fn one(oid: i64, name: &'static str, sql: &'static str, length: i64, category: &'static str, array: i64) -> Type {
    Type { oid, name, sql, length, category, element: 0, array }
}

const fn many(oid: i64, name: &'static str, sql: &'static str, element: i64) -> Type {
    Type { oid, name, sql, length: -1, category: "A", element, array: 0 }
}

/// The types that clients look for.
pub(super) const TYPES: [Type; 31] = [
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
fn type_of(column: &ColumnShown) -> &'static Type {
    let name = match column.kind {
        "int" => "int8",
        "float" => "float8",
        "bool" => "bool",
        "date" => "date",
        "timestamp" => "timestamp",
        _ => "text",
    };
    TYPES.iter().find(|kind| kind.name == name).unwrap_or(&TYPES[7])
}

/// The declared tables with their numbers.
pub(super) fn numbered<'a>(world: &World<'a>) -> impl Iterator<Item = (i64, &'a TableShown)> {
    world.tables.iter().zip(0i64..).map(|(table, index)| (FIRST + index, table))
}

/// What is said about a table or a column: its declaration.
pub(super) fn description(world: &World<'_>, table: i64, column: i64) -> Value {
    let Some((_, shown)) = numbered(world).find(|(oid, _)| *oid == table) else { return Value::Null };
    match usize::try_from(column).ok().and_then(|column| column.checked_sub(1)) {
        Some(index) => shown.columns.get(index).map_or(Value::Null, |column| Value::text(declared(column))),
        None if shown.public => Value::text("public"),
        None => Value::text("private: answers have noise, and cost"),
    }
}

fn declared(column: &ColumnShown) -> String {
    let sensitive = if column.sensitive { ", sensitive" } else { "" };
    let fields = column.declared.as_object().into_iter().flatten();
    let fields =
        fields.filter(|(key, value)| !["type", "sensitive", "name"].contains(&key.as_str()) && !value.is_null());
    let fields: String = fields.map(|(key, value)| format!(", {key} {value}")).collect();
    format!("{}{fields}{sensitive}", column.kind)
}

/// A table by its name in small letters; none where the catalogue has no such one. Empty tables have no columns: whatever is asked of them is NULL.
pub(super) fn table(schema: Option<&str>, name: &str, world: &World<'_>) -> Table {
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
            &[("oid", Kind::Oid), ("amname", Kind::Name), ("amtype", Kind::Letter)],
            vec![vec![Value::Whole(HEAP), Value::text("heap"), Value::text("t")]],
        ),
        (true, "schemata") => schemata(world),
        (true, "tables") => information_tables(world),
        (true, "columns") => information_columns(world),
        _ => Table::default(),
    }
}

fn made(columns: &[(&str, Kind)], rows: Vec<Vec<Value>>) -> Table {
    let columns = columns.iter().map(|(name, kind)| Column::new(*name, *kind)).collect();
    Table { columns, rows }
}

fn namespaces() -> Table {
    let columns = [("oid", Kind::Oid), ("nspname", Kind::Name), ("nspowner", Kind::Oid), ("nspacl", Kind::Texts)];
    let row = |(oid, name): &(i64, &str)| vec![Value::Whole(*oid), Value::text(*name), Value::Whole(ROLE), Value::Null];
    made(&columns, SCHEMAS.iter().map(row).collect())
}

fn classes(world: &World<'_>) -> Table {
    let columns = [
        ("oid", Kind::Oid),
        ("relname", Kind::Name),
        ("relnamespace", Kind::Oid),
        ("reltype", Kind::Oid),
        ("reloftype", Kind::Oid),
        ("relowner", Kind::Oid),
        ("relam", Kind::Oid),
        ("reltablespace", Kind::Oid),
        ("reltoastrelid", Kind::Oid),
        ("relhasindex", Kind::Truth),
        ("relisshared", Kind::Truth),
        ("relpersistence", Kind::Letter),
        ("relkind", Kind::Letter),
        ("relnatts", Kind::Small),
        ("relchecks", Kind::Small),
        ("relhasrules", Kind::Truth),
        ("relhastriggers", Kind::Truth),
        ("relhassubclass", Kind::Truth),
        ("relrowsecurity", Kind::Truth),
        ("relforcerowsecurity", Kind::Truth),
        ("relispopulated", Kind::Truth),
        ("relreplident", Kind::Letter),
        ("relispartition", Kind::Truth),
        ("reloptions", Kind::Texts),
        ("relacl", Kind::Texts),
        // How large a table is, is not said.
        ("reltuples", Kind::Number),
        ("relpages", Kind::Int),
    ];
    let row = |(oid, table): (i64, &TableShown)| {
        let truth = Value::Truth(false);
        vec![
            Value::Whole(oid),
            Value::text(&table.name),
            Value::Whole(PUBLIC),
            Value::Whole(0),
            Value::Whole(0),
            Value::Whole(ROLE),
            Value::Whole(HEAP),
            Value::Whole(0),
            Value::Whole(0),
            truth.clone(),
            truth.clone(),
            Value::text("p"),
            Value::text("r"),
            Value::Whole(table.columns.len() as i64),
            Value::Whole(0),
            truth.clone(),
            truth.clone(),
            truth.clone(),
            truth.clone(),
            truth.clone(),
            Value::Truth(true),
            Value::text("d"),
            truth,
            Value::Null,
            Value::Null,
            Value::Whole(-1),
            Value::Whole(0),
        ]
    };
    made(&columns, numbered(world).map(row).collect())
}

fn attributes(world: &World<'_>) -> Table {
    let columns = [
        ("attrelid", Kind::Oid),
        ("attname", Kind::Name),
        ("atttypid", Kind::Oid),
        ("attlen", Kind::Small),
        ("attnum", Kind::Small),
        ("atttypmod", Kind::Int),
        ("attndims", Kind::Int),
        ("attnotnull", Kind::Truth),
        ("atthasdef", Kind::Truth),
        ("atthasmissing", Kind::Truth),
        ("attidentity", Kind::Letter),
        ("attgenerated", Kind::Letter),
        ("attisdropped", Kind::Truth),
        ("attislocal", Kind::Truth),
        ("attinhcount", Kind::Int),
        ("attcollation", Kind::Oid),
        ("attstorage", Kind::Letter),
        ("attcompression", Kind::Letter),
        ("attstattarget", Kind::Int),
        ("attacl", Kind::Texts),
        ("attoptions", Kind::Texts),
        ("attfdwoptions", Kind::Texts),
    ];
    let mut rows = Vec::new();
    for (oid, table) in numbered(world) {
        for (column, number) in table.columns.iter().zip(1i64..) {
            let kind = type_of(column);
            rows.push(vec![
                Value::Whole(oid),
                Value::text(&column.name),
                Value::Whole(kind.oid),
                Value::Whole(kind.length),
                Value::Whole(number),
                Value::Whole(-1),
                Value::Whole(0),
                Value::Truth(false),
                Value::Truth(false),
                Value::Truth(false),
                Value::text(""),
                Value::text(""),
                Value::Truth(false),
                Value::Truth(true),
                Value::Whole(0),
                Value::Whole(0),
                Value::text(if kind.length < 0 { "x" } else { "p" }),
                Value::text(""),
                Value::Whole(-1),
                Value::Null,
                Value::Null,
                Value::Null,
            ]);
        }
    }
    made(&columns, rows)
}

fn types() -> Table {
    let columns = [
        ("oid", Kind::Oid),
        ("typname", Kind::Name),
        ("typnamespace", Kind::Oid),
        ("typowner", Kind::Oid),
        ("typlen", Kind::Small),
        ("typbyval", Kind::Truth),
        ("typtype", Kind::Letter),
        ("typcategory", Kind::Letter),
        ("typispreferred", Kind::Truth),
        ("typisdefined", Kind::Truth),
        ("typdelim", Kind::Letter),
        ("typrelid", Kind::Oid),
        ("typelem", Kind::Oid),
        ("typarray", Kind::Oid),
        ("typinput", Kind::Text),
        ("typreceive", Kind::Text),
        ("typnotnull", Kind::Truth),
        ("typbasetype", Kind::Oid),
        ("typtypmod", Kind::Int),
        ("typndims", Kind::Int),
        ("typcollation", Kind::Oid),
        ("typdefault", Kind::Text),
        ("typacl", Kind::Texts),
    ];
    let row = |kind: &Type| {
        let input = if kind.element == 0 { format!("{}in", kind.name) } else { "array_in".to_string() };
        let receive = if kind.element == 0 { format!("{}recv", kind.name) } else { "array_recv".to_string() };
        vec![
            Value::Whole(kind.oid),
            Value::text(kind.name),
            Value::Whole(CATALOGUE),
            Value::Whole(ROLE),
            Value::Whole(kind.length),
            Value::Truth((1..=8).contains(&kind.length)),
            Value::text("b"),
            Value::text(kind.category),
            Value::Truth(["bool", "text", "float8", "oid"].contains(&kind.name)),
            Value::Truth(true),
            Value::text(","),
            Value::Whole(0),
            Value::Whole(kind.element),
            Value::Whole(kind.array),
            Value::Text(input),
            Value::Text(receive),
            Value::Truth(false),
            Value::Whole(0),
            Value::Whole(-1),
            Value::Whole(0),
            Value::Whole(0),
            Value::Null,
            Value::Null,
        ]
    };
    made(&columns, TYPES.iter().map(row).collect())
}

fn databases() -> Table {
    let columns = [
        ("oid", Kind::Oid),
        ("datname", Kind::Name),
        ("datdba", Kind::Oid),
        ("encoding", Kind::Int),
        ("datlocprovider", Kind::Letter),
        ("datistemplate", Kind::Truth),
        ("datallowconn", Kind::Truth),
        ("datconnlimit", Kind::Int),
        ("datcollate", Kind::Text),
        ("datctype", Kind::Text),
        ("daticulocale", Kind::Text),
        ("dattablespace", Kind::Oid),
        ("datacl", Kind::Texts),
    ];
    let row = vec![
        Value::Whole(DATABASE_NUMBER),
        Value::text(DATABASE),
        Value::Whole(ROLE),
        Value::Whole(6),
        Value::text("c"),
        Value::Truth(false),
        Value::Truth(true),
        Value::Whole(-1),
        Value::text("C"),
        Value::text("C"),
        Value::Null,
        Value::Whole(0),
        Value::Null,
    ];
    made(&columns, vec![row])
}

/// Whoever asks, and nobody else: who else has access is the curator's to tell.
fn roles(world: &World<'_>) -> Table {
    let columns = [
        ("oid", Kind::Oid),
        ("rolname", Kind::Name),
        ("rolsuper", Kind::Truth),
        ("rolinherit", Kind::Truth),
        ("rolcreaterole", Kind::Truth),
        ("rolcreatedb", Kind::Truth),
        ("rolcanlogin", Kind::Truth),
        ("rolreplication", Kind::Truth),
        ("rolbypassrls", Kind::Truth),
        ("rolconnlimit", Kind::Int),
        ("rolvaliduntil", Kind::Text),
        ("rolconfig", Kind::Texts),
        ("usename", Kind::Name),
        ("usesysid", Kind::Oid),
        ("usesuper", Kind::Truth),
    ];
    let user = Value::text(world.settings.user());
    let no = Value::Truth(false);
    let row = vec![
        Value::Whole(ROLE),
        user.clone(),
        no.clone(),
        Value::Truth(true),
        no.clone(),
        no.clone(),
        Value::Truth(true),
        no.clone(),
        no.clone(),
        Value::Whole(-1),
        Value::Null,
        Value::Null,
        user,
        Value::Whole(ROLE),
        no,
    ];
    made(&columns, vec![row])
}

fn settings(world: &World<'_>) -> Table {
    let columns = [
        ("name", Kind::Text),
        ("setting", Kind::Text),
        ("unit", Kind::Text),
        ("category", Kind::Text),
        ("short_desc", Kind::Text),
        ("context", Kind::Text),
        ("vartype", Kind::Text),
        ("source", Kind::Text),
        ("reset_val", Kind::Text),
        ("boot_val", Kind::Text),
    ];
    let row = |(name, value): (&str, String)| {
        vec![
            Value::text(name),
            Value::text(&value),
            Value::Null,
            Value::text("Settings"),
            Value::text(""),
            Value::text("user"),
            Value::text("string"),
            Value::text("default"),
            Value::text(&value),
            Value::Text(value),
        ]
    };
    made(&columns, world.settings.all().map(row).collect())
}

/// `pg_tables`.
fn listed(world: &World<'_>) -> Table {
    let columns = [
        ("schemaname", Kind::Name),
        ("tablename", Kind::Name),
        ("tableowner", Kind::Name),
        ("tablespace", Kind::Name),
        ("hasindexes", Kind::Truth),
        ("hasrules", Kind::Truth),
        ("hastriggers", Kind::Truth),
        ("rowsecurity", Kind::Truth),
    ];
    let row = |(_, table): (i64, &TableShown)| {
        let no = Value::Truth(false);
        let owner = Value::text(world.settings.user());
        vec![
            Value::text("public"),
            Value::text(&table.name),
            owner,
            Value::Null,
            no.clone(),
            no.clone(),
            no.clone(),
            no,
        ]
    };
    made(&columns, numbered(world).map(row).collect())
}

fn descriptions(world: &World<'_>) -> Table {
    let columns =
        [("objoid", Kind::Oid), ("classoid", Kind::Oid), ("objsubid", Kind::Int), ("description", Kind::Text)];
    let mut rows = Vec::new();
    for (oid, table) in numbered(world) {
        for column in 0..=table.columns.len() as i64 {
            let said = description(world, oid, column);
            rows.push(vec![Value::Whole(oid), Value::Whole(CLASS), Value::Whole(column), said]);
        }
    }
    made(&columns, rows)
}

fn schemata(world: &World<'_>) -> Table {
    let columns = [("catalog_name", Kind::Name), ("schema_name", Kind::Name), ("schema_owner", Kind::Name)];
    let row =
        |(_, name): &(i64, &str)| vec![Value::text(DATABASE), Value::text(*name), Value::text(world.settings.user())];
    made(&columns, SCHEMAS.iter().map(row).collect())
}

fn information_tables(world: &World<'_>) -> Table {
    let columns = [
        ("table_catalog", Kind::Name),
        ("table_schema", Kind::Name),
        ("table_name", Kind::Name),
        ("table_type", Kind::Text),
        ("is_insertable_into", Kind::Text),
    ];
    let row = |(_, table): (i64, &TableShown)| {
        vec![
            Value::text(DATABASE),
            Value::text("public"),
            Value::text(&table.name),
            Value::text("BASE TABLE"),
            Value::text("NO"),
        ]
    };
    made(&columns, numbered(world).map(row).collect())
}

fn information_columns(world: &World<'_>) -> Table {
    let columns = [
        ("table_catalog", Kind::Name),
        ("table_schema", Kind::Name),
        ("table_name", Kind::Name),
        ("column_name", Kind::Name),
        ("ordinal_position", Kind::Int),
        ("column_default", Kind::Text),
        ("is_nullable", Kind::Text),
        ("data_type", Kind::Text),
        ("character_maximum_length", Kind::Int),
        ("numeric_precision", Kind::Int),
        ("numeric_scale", Kind::Int),
        ("udt_name", Kind::Name),
        ("udt_schema", Kind::Name),
        ("is_identity", Kind::Text),
        ("is_generated", Kind::Text),
        ("is_updatable", Kind::Text),
    ];
    let mut rows = Vec::new();
    for (_, table) in numbered(world) {
        for (column, number) in table.columns.iter().zip(1i64..) {
            let kind = type_of(column);
            rows.push(vec![
                Value::text(DATABASE),
                Value::text("public"),
                Value::text(&table.name),
                Value::text(&column.name),
                Value::Whole(number),
                Value::Null,
                Value::text("YES"),
                Value::text(kind.sql),
                Value::Null,
                Value::Null,
                Value::Null,
                Value::text(kind.name),
                Value::text("pg_catalog"),
                Value::text("NO"),
                Value::text("NEVER"),
                Value::text("NO"),
            ]);
        }
    }
    made(&columns, rows)
}
