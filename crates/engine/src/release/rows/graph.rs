//! The edges of a table that is a graph: what kinds about graphs look at.
//!
//! Each row is an edge between two vertices. Rows that are no edge of the declared graph (an end is missing, is no
//! vertex, or both are the same) count for nothing, and an edge that stands there twice, in either direction, counts
//! once: so each row makes at most one edge, whatever is in the file, and no failure tells of a row. Where the table
//! has an owner, at most a fixed number of edges of each count.

use super::records::{OwnerId, owners, unexpected};
use crate::error::Result;
use crate::project::{Graph as Declared, Project, Request};
use crate::release::estimates::Estimates;
use crate::release::field::ListedField;
use crate::release::rows::fields::{BOUNDING, TABLE, bounding, private_table, selected};
use crate::release::rows::read::{PrivateRows, ReadRows};
use crate::tables::hash::{Key, SipHasher};
use crate::tables::{Backend, failed_on_data};
use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::error::DataFusionError;
use futures::StreamExt;
use scumble::mechanism::smooth::OwnerSteps;
use scumble::mechanism::triangles::Graph;
use scumble::scope::AttributeSet;
use serde_json::{Value, json};
use std::collections::HashMap;

/// The fields that say which graph is meant.
pub(crate) const FIELDS: [ListedField; 2] = [TABLE.listed(), BOUNDING[0]];

/// The edges of a table, and how many of one owner count.
#[derive(Debug, Clone)]
pub(crate) struct Edges {
    table: String,
    declared: Declared,
    owner: Option<(String, u64)>,
}

impl Edges {
    /// Reads the fields of a request.
    pub fn new(request: &Request, project: &Project) -> Result<Self> {
        let table = private_table(request, project)?;
        let Some(declared) = table.graph.clone() else {
            let sentence = format!(
                "kind {} needs a graph, and table '{}' is not one: declare its edges in [dataset.{}] with graph = {{ \
                    from = \"…\", to = \"…\", vertices = … }}",
                request.kind, table.name, table.name
            );
            return Err(TABLE.error(request, sentence));
        };
        let own = bounding(request)?;
        let owner = match (&table.owner, own.or(table.bounding).rows) {
            (Some(owner), Some(rows)) => Some((owner.clone(), rows)),
            (Some(_), None) => {
                return Err(request.fields.error(format!(
                    "owners of table '{}' have several edges: set max_rows_per_owner, how many edges are protected \
                        together (node-level privacy is not offered)",
                    table.name
                )));
            }
            (None, _) if own.rows.is_some() => {
                return Err(request.fields.error(format!(
                    "table '{}' has no owner: each edge is protected by itself, and there is nothing to bound per owner",
                    table.name
                )));
            }
            (None, _) => None,
        };
        Ok(Self { table: table.name.clone(), declared, owner })
    }

    /// The table.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// How many vertices there are.
    pub fn vertices(&self) -> u32 {
        self.declared.vertices
    }

    /// How much memory the vertices take, without any edge: degrees, names by degree, and where the neighbours of each
    /// begin, three times while they are put in order.
    pub fn memory(&self) -> u64 {
        u64::from(self.vertices()) * 48
    }

    /// How many edges of one owner count.
    pub fn per_owner(&self) -> u64 {
        self.owner.as_ref().map_or(1, |(_, rows)| *rows)
    }

    /// The columns that are read.
    pub fn attributes(&self) -> Result<AttributeSet> {
        Ok(AttributeSet::new([self.declared.from.clone(), self.declared.to.clone()])?)
    }

    /// How many edges come, go or move with an owner, in each scope.
    pub fn steps(&self) -> Result<OwnerSteps> {
        Ok(OwnerSteps::one().of_rows(self.per_owner()).reading(self.attributes()?))
    }

    /// For the ledger.
    pub fn rule(&self) -> Value {
        json!({
            "table": self.table, "from": self.declared.from, "to": self.declared.to, "vertices": self.vertices(),
            "owner": self.owner.as_ref().map(|(owner, _)| owner), "edges_per_owner": self.per_owner(),
        })
    }

    /// Who is protected, and who is not.
    pub fn note(&self) -> String {
        let whom = match &self.owner {
            None => "Each edge is protected by itself".to_string(),
            Some((owner, rows)) => format!("Up to {rows} edges of each {owner} are protected together"),
        };
        format!(
            "{whom}; a vertex with all its edges is not (node-level privacy is not offered). Rows that are no edge between two of the {} vertices count for nothing, and repeated edges once.",
            self.vertices()
        )
    }

    /// What numbers of these edges are about.
    pub fn estimates(&self) -> Option<Estimates> {
        self.owner.as_ref().map(|(_, rows)| Estimates::of_edges(*rows))
    }

    /// Reads the graph.
    ///
    /// # Guarantee
    /// Before: `key` does not depend on the data. After: the graph is a function of the rows as a set and of `key`; a
    /// row makes at most one edge, and an owner at most [`Edges::per_owner`], which depend on that owner's rows alone.
    /// It never fails for what is in the rows.
    pub fn read(&self, backend: &Backend, key: Key) -> Result<Graph> {
        Ok(Graph::new(self.vertices(), &self.list(backend, key)?)?)
    }

    fn list(&self, backend: &Backend, key: Key) -> Result<Vec<Edge>> {
        let owner = self.owner.as_ref().map(|(owner, _)| owner);
        let ends = [&self.declared.from, &self.declared.to];
        let rows = selected(backend, &self.table, owner.into_iter().chain(ends))?;
        let mut found = EdgesReader::new(self, key);
        backend
            .wait(async {
                let mut stream = rows.execute_stream().await?;
                while let Some(batch) = stream.next().await {
                    found.add(&batch?)?;
                }
                Ok(())
            })
            .map_err(|error| failed_on_data(&error))?;
        Ok(found.finish())
    }
}

/// The graph of a table of edges.
impl ReadRows for &Edges {
    type Found = Graph;

    fn found_in(self, rows: &PrivateRows<'_>) -> Result<Graph> {
        self.read(rows.backend, rows.key)
    }
}

type Edge = (u32, u32);

/// Takes in rows.
struct EdgesReader<'a> {
    of: &'a Edges,
    key: Key,
    edges: Vec<Edge>,
    /// The edges of each owner, each with its keyed hash: the least ones count.
    owned: HashMap<OwnerId, Vec<(u64, Edge)>>,
}

impl<'a> EdgesReader<'a> {
    fn new(of: &'a Edges, key: Key) -> Self {
        Self { of, key, edges: Vec::new(), owned: HashMap::new() }
    }

    fn add(&mut self, batch: &RecordBatch) -> std::result::Result<(), DataFusionError> {
        let first = usize::from(self.of.owner.is_some());
        let end = |index: usize| {
            let column = batch.column(first + index);
            column.as_primitive_opt::<Int64Type>().ok_or_else(|| unexpected(column))
        };
        let pairs = end(0)?.iter().zip(end(1)?);
        let edges = pairs.map(|(from, to)| self.edge(from?, to?));
        if first == 0 {
            let edges: Vec<Edge> = edges.flatten().collect();
            self.edges.extend(edges);
            return Ok(());
        }
        let edges: Vec<Option<Edge>> = edges.collect();
        for (owner, edge) in owners(batch.column(0))?.into_iter().zip(edges) {
            // A row without an owner is nobody's.
            if let (Some(owner), Some(edge)) = (owner, edge) {
                self.add_owned(owner, edge);
            }
        }
        Ok(())
    }

    /// The edge of a row, the lesser vertex first.
    fn edge(&self, from: i64, to: i64) -> Option<Edge> {
        let vertex = |end: i64| u32::try_from(end).ok().filter(|end| *end < self.of.vertices());
        let (from, to) = (vertex(from)?, vertex(to)?);
        (from != to).then(|| (from.min(to), from.max(to)))
    }

    fn add_owned(&mut self, owner: OwnerId, edge: Edge) {
        let mut hasher = SipHasher::new(self.key);
        owner.hash_into(&mut hasher);
        hasher.write_u64(u64::from(edge.0) << 32 | u64::from(edge.1));
        let rank = hasher.finish();
        let most = usize::try_from(self.of.per_owner()).unwrap_or(usize::MAX);
        let own = self.owned.entry(owner).or_default();
        own.push((rank, edge));
        // Not all rows of somebody with many are kept until the end.
        if own.len() > most.saturating_mul(2).saturating_add(16) {
            keep_least(own, most);
        }
    }

    /// The edges that count, each once.
    fn finish(mut self) -> Vec<Edge> {
        let most = usize::try_from(self.of.per_owner()).unwrap_or(usize::MAX);
        for own in self.owned.values_mut() {
            keep_least(own, most);
            self.edges.extend(own.iter().map(|(_, edge)| *edge));
        }
        self.edges.sort_unstable();
        self.edges.dedup();
        self.edges
    }
}

/// The edges with the least hashes, each once.
fn keep_least(own: &mut Vec<(u64, Edge)>, most: usize) {
    own.sort_unstable();
    own.dedup();
    own.truncate(most);
}

#[cfg(test)]
mod tests;
