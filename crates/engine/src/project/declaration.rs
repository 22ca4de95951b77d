//! A table as the ledger declares it: plain data, which the ledger compares and does not interpret.

use super::{BinEdges, Column, Domain, Recoding, Table};
use crate::calendar::{shown_day, shown_moment};
use crate::ledger::Declaration;
use crate::ledger::file::real;
use serde_json::{Value, json};
use std::path::Path;

/// Lists of values that are longer than this stand in the ledger as their digest.
const LONGEST_LIST: usize = 64;

impl Table {
    /// The declaration of this table in a ledger that is in `folder`.
    pub fn declaration(&self, folder: &Path) -> Declaration {
        let columns = self.columns.iter().map(|column| (column.name.clone(), domain(column)));
        Declaration {
            source: match &self.server {
                Some(server) => server.to_string(),
                None => crate::ledger::way(folder, &real(&self.source)),
            },
            owner: self.owner.clone(),
            public: self.public,
            layout: self.layout.json(),
            columns: columns.collect(),
        }
    }
}

/// What a column is, as far as sensitivities and keys depend on it.
fn domain(column: &Column) -> Value {
    let mut shown = match &column.domain {
        Domain::Int { bounds } => json!({ "type": "int", "bounds": bounds }),
        Domain::Float { bounds, granularity } => {
            json!({ "type": "float", "bounds": bounds, "granularity": granularity })
        }
        Domain::Category { values: Some(list) } if list.len() > LONGEST_LIST => {
            let digest = crate::digest(json!(list).to_string().as_bytes());
            json!({ "type": "category", "values": list.len(), "digest": digest })
        }
        Domain::Category { values } => json!({ "type": "category", "values": values }),
        Domain::Bool => json!({ "type": "bool" }),
        Domain::Date { bounds } => {
            json!({ "type": "date", "bounds": bounds.map(|(lower, upper)| [shown_day(lower), shown_day(upper)]) })
        }
        Domain::Timestamp { bounds, zone } => {
            let bounds = bounds.map(|(lower, upper)| [shown_moment(lower), shown_moment(upper)]);
            json!({ "type": "timestamp", "bounds": bounds, "zone": zone.to_string() })
        }
    };
    match &column.recoding {
        None => {}
        Some(Recoding::Texts { map, unlisted }) => {
            shown["map"] = json!(map);
            shown["unlisted"] = json!(unlisted);
        }
        Some(Recoding::Bins { edges, .. }) => shown["bins"] = bins(edges),
    }
    if column.never_missing {
        shown["missing"] = json!("never");
    }
    shown
}

/// Where intervals begin, and of what.
fn bins(edges: &BinEdges) -> Value {
    match edges {
        BinEdges::Whole(edges) => json!({ "int": edges }),
        BinEdges::Numbers(edges) => json!({ "float": edges }),
        BinEdges::Days(edges) => json!({ "date": edges.iter().map(|day| shown_day(*day)).collect::<Vec<_>>() }),
        BinEdges::Moments(edges, zone) => {
            let edges = edges.iter().map(|moment| shown_moment(*moment)).collect::<Vec<_>>();
            json!({ "timestamp": edges, "zone": zone.to_string() })
        }
    }
}

#[cfg(test)]
mod tests;
