//! Rows of the tiny tables ([`scumble_testing::tables::TINY`] declares them), and all of their neighbours that one
//! owner makes.

use datafusion::arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use scumble::scope::{AttributeSet, Scope};
use std::str::FromStr;
use std::sync::Arc;

/// A table: rows, which column names the owner, and what else may stand in each column.
#[derive(Clone)]
pub struct Table {
    pub name: &'static str,
    columns: &'static [&'static str],
    owner: bool,
    rows: Vec<Vec<String>>,
    /// Rows that somebody else may have.
    others: Vec<Vec<&'static str>>,
    values: Vec<Vec<&'static str>>,
    /// How many records of one owner a mechanism may be given.
    pub most_records: i128,
}

impl Table {
    /// As a file.
    pub fn csv(&self) -> String {
        let line = |row: &Vec<String>| row.join(",") + "\n";
        self.columns.join(",") + "\n" + &self.rows.iter().map(line).collect::<String>()
    }

    /// The same with the types that are declared; what is empty, or none of its type, is not there.
    pub fn batch(&self) -> RecordBatch {
        fn parsed<T: FromStr>(cells: &[&str]) -> Vec<Option<T>> {
            cells.iter().map(|cell| cell.parse().ok()).collect()
        }
        let column = |(at, name): (usize, &&'static str)| {
            let cells: Vec<&str> = self.rows.iter().map(|row| row[at].as_str()).collect();
            let array: ArrayRef = match *name {
                "age" | "day" | "cost" | "a" | "b" => Arc::new(Int64Array::from(parsed(&cells))),
                "income" => Arc::new(Float64Array::from(parsed(&cells))),
                "smokes" => Arc::new(BooleanArray::from(parsed(&cells))),
                _ => Arc::new(
                    cells.iter().map(|cell| Some(*cell).filter(|cell| !cell.is_empty())).collect::<StringArray>(),
                ),
            };
            (*name, array)
        };
        RecordBatch::try_from_iter(self.columns.iter().enumerate().map(column)).unwrap()
    }

    /// Of each owner the first row.
    pub fn first_rows(&self) -> Vec<&[String]> {
        self.owners().into_iter().map(|rows| self.rows[rows[0]].as_slice()).collect()
    }

    /// Where the owner stands; rows without owners are persons.
    fn owners(&self) -> Vec<Vec<usize>> {
        let mut found: Vec<(String, Vec<usize>)> = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            let owner = if self.owner { row[0].clone() } else { index.to_string() };
            match found.iter_mut().find(|(name, _)| *name == owner) {
                Some((_, rows)) => rows.push(index),
                None => found.push((owner, vec![index])),
            }
        }
        found.into_iter().map(|(_, rows)| rows).collect()
    }

    /// The same table with these rows of one owner taken out, and others put in their place.
    fn replaced(&self, rows: &[usize], by: &[Vec<String>]) -> Self {
        let at = rows.first().copied().unwrap_or(self.rows.len());
        let mut all: Vec<Vec<String>> = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            if index == at {
                all.extend_from_slice(by);
            }
            if !rows.contains(&index) {
                all.push(row.clone());
            }
        }
        if at == self.rows.len() {
            all.extend_from_slice(by);
        }
        Self { rows: all, ..self.clone() }
    }

    fn rows_of(&self, owner: &str, rows: &[&Vec<&'static str>]) -> Vec<Vec<String>> {
        let named = self.owner.then(|| owner.to_string());
        rows.iter().map(|row| named.iter().cloned().chain(row.iter().map(|cell| cell.to_string())).collect()).collect()
    }

    /// Each neighbour with the scope in which it is one, and in words; for the owners at these places.
    pub fn neighbours(&self, owners: &[usize]) -> Vec<(Scope, String, Table)> {
        let all = self.owners();
        let mut found = Vec::new();
        let rows = |owner: &str, which: &[usize]| {
            let which: Vec<&Vec<&'static str>> = which.iter().map(|at| &self.others[*at % self.others.len()]).collect();
            self.rows_of(owner, &which)
        };
        // Few and many rows; some of them do not count.
        let sets: Vec<Vec<usize>> = if self.owner {
            vec![vec![0], vec![1, 2, 3, 4], (0..9).collect(), vec![3, 3, 3, 3]]
        } else {
            (0..self.others.len()).map(|other| vec![other]).collect()
        };
        for set in &sets {
            found.push((
                Scope::Presence,
                format!("with a new owner of rows {set:?}"),
                self.replaced(&[], &rows("new", set)),
            ));
        }
        for owner in owners.iter().map(|at| &all[*at % all.len()]) {
            let name = self.rows[owner[0]][0].clone();
            found.push((Scope::Presence, format!("without rows {owner:?}"), self.replaced(owner, &[])));
            for set in &sets {
                let by = rows(&name, set);
                found.push((Scope::Person, format!("rows {set:?} instead of {owner:?}"), self.replaced(owner, &by)));
            }
            let first = usize::from(self.owner);
            for (column, values) in self.values.iter().enumerate() {
                let attribute = self.columns[column + first];
                for value in values {
                    for only_first in [false, true].into_iter().take(if owner.len() > 1 { 2 } else { 1 }) {
                        let mut changed = self.clone();
                        for row in owner.iter().take(if only_first { 1 } else { usize::MAX }) {
                            changed.rows[*row][column + first] = value.to_string();
                        }
                        let scope = Scope::Attributes(AttributeSet::new([attribute]).unwrap());
                        let rows = if only_first { &owner[..1] } else { &owner[..] };
                        found.push((scope, format!("{attribute} {value:?} in rows {rows:?}"), changed));
                    }
                }
            }
        }
        found.retain(|(_, _, table)| table.rows != self.rows);
        found
    }
}

fn table(
    name: &'static str,
    columns: &'static [&'static str],
    rows: &[&str],
    others: &[&'static str],
    values: &[&[&'static str]],
) -> Table {
    let split = |row: &&str| row.split(',').map(str::to_string).collect::<Vec<_>>();
    Table {
        name,
        columns,
        owner: columns[0] == "id",
        rows: rows.iter().map(split).collect(),
        others: others.iter().map(|row| row.split(',').collect()).collect(),
        values: values.iter().map(|values| values.to_vec()).collect(),
        most_records: 1,
    }
}

/// The tables, each with owners at the edges of what is declared: missing values, values beyond the bounds, more rows
/// and groups than count, a key of their own.
pub fn tables() -> Vec<Table> {
    vec![
        table(
            "people",
            &["age", "sex", "smokes", "town", "income"],
            &[
                "0,f,true,aa,30",
                "4,m,false,aa,-10",
                "2,f,true,aa,3.5",
                "3,m,true,aa,12",
                "1,f,false,aa,0",
                "2,m,false,aa,7",
                "4,f,true,bb,30",
                "0,m,true,bb,-10",
                "3,f,false,bb,29.5",
                "2,f,true,bb,1",
                "1,m,true,bb,30",
                "9,f,true,cc,99",
                ",m,true,bb,-10",
                "2,,false,,30",
                "3,x,true,aa,",
                "0,f,true,aa,-99",
            ],
            &["0,f,true,new,-10", "4,m,false,aa,30", "9,x,,bb,99", ",,,,"],
            &[
                &["0", "4", "9", ""],
                &["f", "m", ""],
                &["true", "false", ""],
                &["new", "aa", ""],
                &["30", "-10", "99", ""],
            ],
        ),
        Table {
            most_records: 5,
            ..table(
                "visits",
                &["id", "clinic", "day", "sex", "cost"],
                &[
                    "a,x,0,f,20",
                    "a,x,0,f,20",
                    "a,x,0,f,20",
                    "a,y,1,f,-5",
                    "a,y,1,m,-5",
                    "a,z,2,f,20",
                    "a,z,3,f,20",
                    "a,w,3,m,-5",
                    "b,x,0,m,3",
                    "c,x,1,f,20",
                    "c,y,1,f,-5",
                    "d,x,2,m,7",
                    "d,x,2,m,7",
                    "d,x,2,m,7",
                    "d,x,2,m,7",
                    "e,y,3,f,0",
                    "f,x,0,f,99",
                    "g,x,1,m,-99",
                    "h,x,2,f,",
                    "h,y,,m,5",
                    "i,,0,f,1",
                    "j,y,9,,20",
                    "k,x,3,f,20",
                    "k,only,0,m,20",
                    "l,x,1,f,2",
                    "m,y,2,m,4",
                    "n,x,0,f,20",
                    "n,x,1,m,-5",
                ],
                &[
                    "x,0,f,20", "y,1,m,-5", "z,2,f,20", "w,3,m,20", "v,0,m,-5", "x,1,f,99", "u,2,,", "x,3,f,20",
                    "y,3,m,20",
                ],
                &[&["x", "new", ""], &["0", "3", ""], &["f", "m", ""], &["20", "-5", "99", ""]],
            )
        },
        table(
            "friends",
            &["a", "b"],
            &["0,1", "1,2", "0,2", "2,3", "3,4", "4,2", "5,6", "6,7", "5,7", "0,3", "1,3"],
            &["4,5", "0,7", "2,2", "6,1"],
            &[&["7"], &["7"]],
        ),
        Table {
            most_records: 3,
            ..table(
                "calls",
                &["id", "a", "b"],
                &[
                    "p,0,1", "p,1,2", "p,0,2", "p,2,3", "q,2,3", "q,3,4", "r,4,2", "s,5,6", "s,6,7", "t,5,7", "u,0,3",
                    "u,1,3",
                ],
                &["4,5", "0,7", "2,2", "6,1", "0,1", "2,4", "1,7", "3,3", "0,6"],
                &[&["7"], &["7"]],
            )
        },
        table(
            "once",
            &["id", "day", "sex"],
            &[
                "a,0,f", "b,0,m", "c,1,f", "d,1,f", "e,2,m", "f,2,m", "g,3,f", "h,3,m", "i,0,f", "j,1,m", "k,,f",
                "l,9,", "m,0,f", "m,3,m",
            ],
            &["0,f", "3,m", "9,x", ",f", "1,m", "2,f", "2,m", "0,m", "3,f"],
            &[&["0", "3", ""], &["f", "m", ""]],
        ),
    ]
}
