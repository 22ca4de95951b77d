//! Integers that are computed where the rows are: the statements of a job, run there after the charge, with a secret that is drawn for them.

use super::cluster::Clustered;
use super::place::{Place, Row};
use super::server::Postgres;
use super::{Elsewhere, HASH, read, unwritten};
use crate::error::{Error, Result};
use crate::project::{Cluster, Project, Request, Server, Table};
use crate::release::sql::queries;
use crate::sql::Cut;
use crate::sql::integers::Integers;
use crate::sql::window;
use datafusion::common::DataFusionError;
use scumble::noise::BitSource;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::path::Path;

/// The place of a release's tables.
#[derive(Debug, Clone, Copy)]
pub(in crate::release) enum Where<'a> {
    /// A server that has them.
    Server(&'a Server),
    /// A cluster whose executors see their files.
    Cluster(&'a Cluster),
}

/// Where the integers of a release are computed; none where its tables are files that are read here.
pub(in crate::release) fn place<'a>(
    request: &Request,
    tables: &[String],
    project: &'a Project,
) -> Result<Option<Where<'a>>> {
    let tables = tables.iter().map(|name| project.table(name)).collect::<Result<Vec<&Table>>>()?;
    let Some(server) = tables.iter().find_map(|table| table.server.as_ref()) else {
        return Ok(project.cluster.as_ref().map(Where::Cluster));
    };
    let is_beside = |table: &&&Table| table.server.as_ref().is_some_and(|other| other.is_beside(server));
    match tables.iter().find(|table| !is_beside(table)) {
        None => Ok(Some(Where::Server(server))),
        Some(other) => Err(Error::input(format!(
            "release '{}' reads tables of different places: '{}' is not in the database of {server}; rows do not leave their place, so bring them to one",
            request.name, other.name
        ))),
    }
}

/// A place that is logged in to, has the tables of a release, and can run its statements.
pub(in crate::release) struct Served<'a> {
    place: RefCell<Box<dyn Place>>,
    project: &'a Project,
    secret: String,
}

impl<'a> Served<'a> {
    /// Logs in and looks whether everything fits; no value is looked at.
    pub fn new(request: &Request, place: Where<'_>, project: &'a Project, bits: &mut dyn BitSource) -> Result<Self> {
        let queries = queries(request, project)?;
        let mut place: Box<dyn Place> = match place {
            Where::Server(server) => Box::new(Postgres::begin(server)?),
            Where::Cluster(cluster) => Box::new(Clustered::begin(cluster, &queries, project)?),
        };
        for query in &queries {
            let used = window::used(query).map_err(|error| unwritten(&request.name, &error))?;
            for name in &query.below.tables {
                refuse_taken(name)?;
                place.look(project.table(name)?, &used)?;
            }
            let texts = statements(query, project, place.as_ref(), "SECRET");
            for text in texts.map_err(|error| unwritten(&request.name, &error))? {
                place.plan(&text)?;
            }
        }
        place.ready()?;
        // 256 bits, which choose rows and are forgotten.
        let secret = (0..4).map(|_| format!("{:016x}", bits.next_u64())).collect();
        Ok(Self { place: RefCell::new(place), project, secret })
    }

    /// What chooses rows.
    #[cfg(any(test, feature = "generator"))]
    pub fn secret(&self) -> &str {
        &self.secret
    }
}

impl Elsewhere for Served<'_> {
    fn integers(&self, query: &Cut) -> Result<Integers> {
        let mut place = self.place.borrow_mut();
        let texts = statements(query, self.project, place.as_ref(), &self.secret);
        let texts = texts.map_err(|error| unwritten("", &error))?;
        let results = texts.iter().map(|text| place.rows(text)).collect::<Result<Vec<Vec<Row>>>>()?;
        let mut results = results.iter();
        read::of_query(query, &mut |_| {
            let rows = results.next().ok_or_else(|| Error::machine("a statement is missing"))?;
            read::Rows::of(Path::new("the server"), rows)
        })
    }

    fn note(&self, rule: &mut Value) {
        let (word, address) = self.place.borrow().address();
        rule["hash"] = json!(HASH);
        rule[word] = json!(address);
    }
}

/// A table of such a name would be taken for a part of the statement.
fn refuse_taken(table: &str) -> Result<()> {
    match table.to_lowercase().starts_with("scumble_") {
        true => Err(Error::input(format!(
            "table '{table}': names that begin with scumble_ are those of parts of statements where integers are computed elsewhere: give the table another name"
        ))),
        false => Ok(()),
    }
}

/// The statements of a query, over the tables where they are.
fn statements(
    query: &Cut,
    project: &Project,
    place: &dyn Place,
    secret: &str,
) -> std::result::Result<Vec<String>, DataFusionError> {
    let used = window::used(query)?;
    let tables = query.below.tables.iter().filter_map(|name| project.tables.get(name));
    let parts: Vec<String> = tables.filter_map(|table| place.part(table, &used, project)).collect();
    let texts = window::job(query, project, place.engine(), secret, |index| format!("{}{index}", read::PREFIX))?;
    Ok(texts.into_iter().map(|text| text.replacen("WITH ", &format!("WITH {}, ", parts.join(", ")), 1)).collect())
}
