//! Neighbours of a table, as docs/explanation/guarantee.md defines them: one owner comes or goes, one owner's rows are
//! replaced (in all tables or in some), one owner's values of one or two attributes change.

use super::bytes::Bytes;
use super::value::{CellValue, drawn, named};
use super::world::{World, WorldOwnership, WorldRows, WorldTable};
use scumble::scope::{AttributeSet, Scope};
use std::collections::BTreeSet;

#[derive(Debug, Clone)]
pub(crate) struct Neighbour {
    pub scope: Scope,
    pub rows: WorldRows,
}

/// Whom a neighbour is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Person {
    Row(u32),
    Named(String),
}

/// This many neighbours, of every scope in turn.
pub(crate) fn neighbours(bytes: &mut Bytes<'_>, world: &World, rows: &WorldRows, count: usize) -> Vec<Neighbour> {
    let first = bytes.below(6);
    (0..count)
        .map(|index| match (first + index) % 6 {
            0 => presence(bytes, world, rows),
            1 | 2 => person(bytes, world, rows),
            3 | 4 => attributes(bytes, world, rows, 1),
            _ => attributes(bytes, world, rows, 2),
        })
        .collect()
}

fn is_private(table: &WorldTable) -> bool {
    !matches!(table.whose, WorldOwnership::Nobodys)
}

fn people(world: &World, rows: &WorldRows) -> Vec<Person> {
    let mut all = BTreeSet::new();
    for (table, rows) in world.tables.iter().zip(rows).filter(|(table, _)| is_private(table)) {
        all.extend(rows.iter().filter_map(|row| person_of(table, row.tag, &row.owner)));
    }
    all.into_iter().collect()
}

fn person_of(table: &WorldTable, tag: u32, owner: &CellValue) -> Option<Person> {
    match table.whose {
        WorldOwnership::Nobodys => None,
        WorldOwnership::EachRow => Some(Person::Row(tag)),
        WorldOwnership::Named { .. } => named(owner).map(Person::Named),
    }
}

/// Somebody who is there; nobody in an empty world.
fn somebody(bytes: &mut Bytes<'_>, world: &World, rows: &WorldRows) -> Option<Person> {
    let people = people(world, rows);
    (!people.is_empty()).then(|| bytes.pick(&people))
}

/// The rows without those of somebody, in the tables that `from` says.
fn without(world: &World, rows: &WorldRows, person: &Person, from: &[bool]) -> WorldRows {
    let mut rest = rows.clone();
    for ((table, rows), from) in world.tables.iter().zip(&mut rest).zip(from) {
        if *from {
            rows.retain(|row| person_of(table, row.tag, &row.owner).as_ref() != Some(person));
        }
    }
    rest
}

/// New rows of somebody in the tables that `to` says.
fn add(bytes: &mut Bytes<'_>, world: &World, rows: &mut WorldRows, name: Option<&str>, to: &[bool]) {
    let mut tag = 1000;
    for ((table, rows), to) in world.tables.iter().zip(rows).zip(to) {
        let (owner, most) = match (&table.whose, name) {
            (WorldOwnership::EachRow, _) => (CellValue::Null, 1),
            (WorldOwnership::Named { numbers: false, .. }, Some(name)) => (CellValue::text(name), 4),
            (WorldOwnership::Named { numbers: true, .. }, Some(name)) => match name.parse::<i64>() {
                Ok(number) if number.to_string() == name => (CellValue::Int(number), 4),
                _ => continue,
            },
            _ => continue,
        };
        for _ in 0..if !to {
            0
        } else if most == 1 {
            1
        } else {
            bytes.below(most)
        } {
            tag += 1;
            rows.push(table.row(bytes, tag, owner.clone()));
        }
    }
}

/// Somebody leaves, or a stranger comes.
fn presence(bytes: &mut Bytes<'_>, world: &World, rows: &WorldRows) -> Neighbour {
    let everywhere = vec![true; world.tables.len()];
    let rows = match somebody(bytes, world, rows) {
        Some(person) if bytes.chance(60) => without(world, rows, &person, &everywhere),
        _ => {
            let mut more = rows.clone();
            add(bytes, world, &mut more, Some("-5"), &everywhere);
            more
        }
    };
    Neighbour { scope: Scope::Presence, rows }
}

/// Somebody's rows are replaced; in some tables only, now and then, where the others stay as they are.
fn person(bytes: &mut Bytes<'_>, world: &World, rows: &WorldRows) -> Neighbour {
    let scope = Scope::Person;
    let Some(person) = somebody(bytes, world, rows) else { return Neighbour { scope, rows: rows.clone() } };
    let mut tables = vec![true; world.tables.len()];
    if bytes.chance(35) {
        let stays = bytes.below(tables.len());
        tables[stays] = false;
    }
    let mut replaced = without(world, rows, &person, &tables);
    let name = match &person {
        Person::Named(name) => Some(name.as_str()),
        Person::Row(_) => None,
    };
    // Another name is another person in the same place, if all of the first one's rows go.
    let name = if tables.iter().all(|all| *all) && bytes.chance(20) { name.map(|_| "-5") } else { name };
    add(bytes, world, &mut replaced, name, &tables);
    Neighbour { scope, rows: replaced }
}

/// Somebody's values of some attributes change, in each of their rows.
fn attributes(bytes: &mut Bytes<'_>, world: &World, rows: &WorldRows, count: usize) -> Neighbour {
    let private = world.tables.iter().filter(|table| is_private(table));
    let names: BTreeSet<&str> =
        private.flat_map(|table| table.columns.iter().map(|column| column.name.as_str())).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let chosen: BTreeSet<&str> = (0..count).map(|_| bytes.pick(&names)).collect();
    let scope = Scope::Attributes(AttributeSet::new(chosen.iter().map(ToString::to_string)).expect("names of columns"));
    let mut changed = rows.clone();
    if let Some(person) = somebody(bytes, world, rows) {
        for (table, rows) in world.tables.iter().zip(&mut changed) {
            for row in rows.iter_mut().filter(|row| person_of(table, row.tag, &row.owner).as_ref() == Some(&person)) {
                for (column, value) in table.columns.iter().zip(&mut row.values) {
                    if chosen.contains(column.name.as_str()) && !bytes.chance(20) {
                        *value = drawn(bytes, &column.domain);
                    }
                }
            }
        }
    }
    Neighbour { scope, rows: changed }
}
