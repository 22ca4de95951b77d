//! The same integers by another way: SQLite joins, filters and computes; grouping and summing is done here.

use super::dialect::sqlite;
use super::expression::{Expr, ExprKind, Type, quoted};
use super::from::Writer;
use super::query::{Aggregate, AggregateKind, RandomQuery};
use super::value::{CellValue, named};
use super::world::{World, WorldRows};
use crate::calendar::{Zone, day, moment, shown_day, shown_moment};
use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, ValueRef};
use std::collections::{BTreeMap, BTreeSet};

/// A group's rows: for each aggregate, each row's argument (NULL where it does not count).
#[derive(Debug, Default)]
pub(crate) struct OracleGroup {
    pub arguments: Vec<Vec<CellValue>>,
}

/// The groups by key; none where the dialects differ somewhere in the query.
pub(crate) fn groups(
    world: &World,
    rows: &WorldRows,
    query: &RandomQuery,
) -> Option<BTreeMap<Vec<CellValue>, OracleGroup>> {
    let writer = Writer { expression: &sqlite, carries_owner: true };
    let mut common = Vec::new();
    let from = query.from.text(world, &writer, &mut common)?;
    let whose = query.from.whose(world);
    let mut types = Vec::new();
    let mut columns = vec![whose.clone().unwrap_or_else(|| "1".to_string())];
    for key in &query.keys {
        columns.push(sqlite(&key.expression)?);
        types.push(key.expression.of);
    }
    for aggregate in &query.aggregates {
        columns.push(argument(aggregate)?);
        types.push(aggregate.argument.as_ref().map_or(Type::Int, |argument| argument.of));
    }
    let filter = match &query.filter {
        Some(filter) if filter.of == Type::Bool => format!(" WHERE {}", sqlite(filter)?),
        Some(_) => return None,
        None => String::new(),
    };
    let with = if common.is_empty() { String::new() } else { format!("WITH {} ", common.join(", ")) };
    let text = format!("{with}SELECT {} FROM {from}{filter}", columns.join(", "));
    let connection = filled(world, rows);
    let mut statement = match connection.prepare(&text) {
        // Behind USING, and in a join's ON of what was joined so far, DataFusion knows which column is meant.
        Err(error) if error.to_string().contains("ambiguous column name") => return None,
        prepared => prepared.unwrap_or_else(|error| panic!("{error}\n{text}")),
    };
    let mut found = statement.query([]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut groups: BTreeMap<Vec<CellValue>, OracleGroup> = BTreeMap::new();
    while let Some(row) = found.next().unwrap_or_else(|error| panic!("{error}\n{text}")) {
        let read = |index: usize| value(row.get_ref(index + 1).expect("a column"), types[index]);
        let nobody = whose.is_some() && matches!(row.get_ref(0), Ok(ValueRef::Null));
        let key: Vec<CellValue> = (0..query.keys.len()).map(read).collect();
        if nobody || key.iter().any(CellValue::is_null) {
            continue;
        }
        let group = groups.entry(key).or_default();
        group.arguments.resize_with(query.aggregates.len(), Vec::new);
        for (index, arguments) in group.arguments.iter_mut().enumerate() {
            arguments.push(read(query.keys.len() + index));
        }
    }
    Some(groups)
}

/// How many different values there are.
pub(crate) fn different(values: &[CellValue]) -> i128 {
    values.iter().filter(|value| !value.is_null()).collect::<BTreeSet<_>>().len() as i128
}

/// What an aggregate looks at in each row.
fn argument(aggregate: &Aggregate) -> Option<String> {
    let text = match (&aggregate.argument, aggregate.function) {
        (None, _) => "1".to_string(),
        (
            Some(column @ Expr { kind: ExprKind::Column { .. }, .. }),
            AggregateKind::Count | AggregateKind::Different,
        ) => column.text(),
        (Some(argument), AggregateKind::Rows | AggregateKind::Count | AggregateKind::Different) => sqlite(argument)?,
        (Some(argument), _) if argument.of.is_number() || argument.of.is_date() => sqlite(argument)?,
        _ => return None,
    };
    match &aggregate.filter {
        Some(filter) if filter.of == Type::Bool => Some(format!("CASE WHEN {} THEN {text} END", sqlite(filter)?)),
        Some(_) => None,
        None => Some(text),
    }
}

fn value(found: ValueRef<'_>, of: Type) -> CellValue {
    match (found, of) {
        (ValueRef::Null, _) => CellValue::Null,
        (ValueRef::Integer(number), Type::Bool) => CellValue::Bool(number != 0),
        (ValueRef::Integer(number), Type::Float) => CellValue::Float(number as f64),
        (ValueRef::Integer(number), _) => CellValue::Int(number),
        (ValueRef::Real(number), _) => CellValue::Float(number),
        (ValueRef::Text(text), Type::Date) => {
            day(&String::from_utf8_lossy(text)).map_or(CellValue::Null, CellValue::Date)
        }
        (ValueRef::Text(text), Type::Time) => {
            moment(&String::from_utf8_lossy(text), Zone::default()).map_or(CellValue::Null, CellValue::Moment)
        }
        (ValueRef::Text(text), _) => CellValue::Text(String::from_utf8_lossy(text).to_string()),
        (ValueRef::Blob(_), _) => unreachable!("no query makes blobs"),
    }
}

impl rusqlite::ToSql for CellValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Date(day) => return Ok(shown_day(*day).into()),
            Self::Moment(moment) => return Ok(shown_moment(*moment).into()),
            Self::Null => ValueRef::Null,
            Self::Bool(truth) => ValueRef::Integer(i64::from(*truth)),
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Float(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

/// A database with the tables in their declared domains. Columns have no type, so that nothing is converted.
fn filled(world: &World, rows: &WorldRows) -> Connection {
    let connection = Connection::open_in_memory().expect("SQLite opens");
    connection.execute_batch("PRAGMA case_sensitive_like = ON").expect("a known pragma");
    for (table, rows) in world.tables.iter().zip(rows) {
        let owner = table.owner_column();
        let names: Vec<String> =
            owner.into_iter().chain(table.columns.iter().map(|column| column.name.as_str())).map(quoted).collect();
        let name = quoted(&table.name);
        connection.execute_batch(&format!("CREATE TABLE {name} ({})", names.join(", "))).expect("a table");
        let marks = vec!["?"; names.len()].join(", ");
        let mut insert = connection.prepare(&format!("INSERT INTO {name} VALUES ({marks})")).expect("an insert");
        for row in rows {
            let declared = row.values.iter().zip(&table.columns).map(|(value, column)| column.read(value));
            // One person has one name, whatever type it has in a table.
            let owner = owner.map(|_| named(&row.owner).map_or(CellValue::Null, CellValue::Text));
            let values: Vec<CellValue> = owner.into_iter().chain(declared).collect();
            insert.execute(rusqlite::params_from_iter(values)).expect("a row");
        }
    }
    connection
}
