//! A table whose rows are the edges of a graph.

use super::section::{Section, Spot};
use super::{Column, ColumnWords, Domain};
use crate::error::Result;

/// Which columns are the ends of an edge, and how many vertices there are, which is public: they are 0, 1, … Edges have
/// no direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// The column of one end.
    pub from: String,
    /// The column of the other.
    pub to: String,
    /// How many vertices there are.
    pub vertices: u32,
}

/// The keys of `graph`.
pub(crate) const KEYS: [&str; 3] = ["from", "to", "vertices"];

/// This many vertices fit into memory.
const MOST_VERTICES: u64 = 1 << 30;

/// The columns of a graph for which nothing else is declared: whole numbers.
pub(super) fn ends(section: &Section) -> Result<Vec<Column>> {
    let end = |key: &str| -> Result<Column> {
        let (name, domain) = (section.need(key)?.text()?.to_string(), Domain::Int { bounds: None });
        let words = ColumnWords::default();
        Ok(Column { name, domain, sensitive: false, words, recoding: None, never_missing: false, key_set: None })
    };
    let (from, to) = (end("from")?, end("to")?);
    Ok(if from.name == to.name { vec![from] } else { vec![from, to] })
}

/// `graph = { from = "a", to = "b", vertices = 200000 }`.
pub(super) fn graph(section: &Section, columns: &[Column]) -> Result<Graph> {
    section.only(&KEYS)?;
    let end = |key: &str| -> Result<String> {
        let spot = section.need(key)?;
        let name = spot.text()?;
        let column = columns.iter().find(|column| column.name == name);
        match column.map(|column| &column.domain) {
            Some(Domain::Int { bounds: None }) => Ok(name.to_string()),
            Some(Domain::Int { bounds: Some(_) }) => Err(spot.error(format!(
                "column '{name}' holds the vertices of a graph, which are 0 to vertices − 1: leave its lower and upper out"
            ))),
            Some(_) => Err(spot.error(format!("column '{name}' holds the vertices of a graph and must be of type int"))),
            None => {
                let hint = crate::place::suggestion(name, columns.iter().map(|column| column.name.as_str()));
                Err(spot.error(format!("there is no declared column '{name}' for an end of the edges{hint}")))
            }
        }
    };
    let (from, to) = (end("from")?, end("to")?);
    if from == to {
        return Err(section.error(format!("both ends of an edge are in the column '{from}': give two columns")));
    }
    let spot = section.need("vertices")?;
    Ok(Graph { from, to, vertices: vertices(spot)? })
}

fn vertices(spot: &Spot) -> Result<u32> {
    match spot.at_least_one()? {
        number @ 3..=MOST_VERTICES => Ok(number as u32),
        _ => Err(spot.error(format!("a graph has from 3 to {MOST_VERTICES} vertices, a public number"))),
    }
}
