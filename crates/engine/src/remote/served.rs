//! Integers that are computed where the rows are: the statements of a job, run there after the charge, with a secret
//! that is drawn for them.

use crate::error::{Error, Result};
use crate::project::{Cluster, Project, Request, Server, Table};
use crate::remote::backend::{RemoteBackend, StatementRow};
use crate::remote::import::read;
use crate::remote::postgres::source::Postgres;
use crate::remote::{CONNECT, HASH, IntegerSource, unwritten};
use crate::sql::PrivateQuery;
use crate::sql::execute::integers::Integers;
use crate::sql::text;
use datafusion::common::DataFusionError;
use scumble::noise::BitSource;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

/// The place of a release's tables.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BackendKind<'a> {
    /// A server that has them.
    Server(&'a Server),
    /// A cluster whose executors see their files.
    Cluster(&'a Cluster),
}

/// Where the integers of a release are computed; none where its tables are files that are read here.
pub(crate) fn backend_of<'a>(
    request: &Request,
    tables: &[String],
    project: &'a Project,
) -> Result<Option<BackendKind<'a>>> {
    let tables = tables.iter().map(|name| project.table(name)).collect::<Result<Vec<&Table>>>()?;
    let Some(server) = tables.iter().find_map(|table| table.server.as_ref()) else {
        return Ok(project.cluster.as_ref().map(BackendKind::Cluster));
    };
    let is_beside = |table: &&&Table| table.server.as_ref().is_some_and(|other| other.is_beside(server));
    match tables.iter().find(|table| !is_beside(table)) {
        None => Ok(Some(BackendKind::Server(server))),
        Some(other) => Err(Error::input(format!(
            "release '{}' reads tables of different backends: '{}' is not in the database of {server}; bring them to \
                one backend",
            request.name, other.name
        ))),
    }
}

/// A place that is logged in to, has the tables of a release, and can run its statements.
pub(crate) struct RemoteSource<'a> {
    place: RefCell<Box<dyn RemoteBackend>>,
    project: &'a Project,
    secret: String,
}

impl<'a> RemoteSource<'a> {
    /// Logs in and looks whether everything fits; no value is looked at.
    pub fn new(
        request: &Request,
        queries: &[Rc<PrivateQuery>],
        place: BackendKind<'_>,
        project: &'a Project,
        bits: &mut dyn BitSource,
    ) -> Result<Self> {
        let mut place: Box<dyn RemoteBackend> = match place {
            BackendKind::Server(server) => Box::new(Postgres::begin(server)?),
            BackendKind::Cluster(cluster) => connected(cluster, queries, project)?,
        };
        for query in queries {
            let used = text::used(query).map_err(|error| unwritten(&request.name, &error))?;
            for name in &query.below.tables {
                refuse_taken(name)?;
                place.look(project.table(name)?, &used)?;
            }
            let texts = statements(query, project, place.as_ref(), "SECRET");
            for statement in texts.map_err(|error| unwritten(&request.name, &error))? {
                place.plan(&statement)?;
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

impl IntegerSource for RemoteSource<'_> {
    fn integers(&self, query: &PrivateQuery) -> Result<Integers> {
        let mut place = self.place.borrow_mut();
        let texts = statements(query, self.project, place.as_ref(), &self.secret);
        let texts = texts.map_err(|error| unwritten("", &error))?;
        let results =
            texts.iter().map(|statement| place.rows(statement)).collect::<Result<Vec<Vec<StatementRow>>>>()?;
        let mut results = results.iter();
        read::of_query(query.execution()?, &mut |_| {
            let rows = results.next().ok_or_else(|| Error::machine("a statement is missing"))?;
            read::SheetRows::of(Path::new("the server"), rows)
        })
    }

    fn note(&self, rule: &mut Value) {
        let (word, address) = self.place.borrow().address();
        rule["hash"] = json!(HASH);
        rule[word] = json!(address);
    }
}

/// A session with a cluster.
fn connected(cluster: &Cluster, queries: &[Rc<PrivateQuery>], project: &Project) -> Result<Box<dyn RemoteBackend>> {
    let known = CONNECT.iter().find(|(scheme, _)| *scheme == cluster.scheme);
    let (_, connect) = known.ok_or_else(|| Error::machine(format!("there is no connection to {cluster} here")))?;
    connect(cluster, queries, project)
}

/// A table of such a name would be taken for a part of the statement.
fn refuse_taken(table: &str) -> Result<()> {
    match table.to_lowercase().starts_with("scumble_") {
        true => Err(Error::input(format!(
            "table '{table}': names that begin with scumble_ are reserved with remote backends: give the table \
                another name"
        ))),
        false => Ok(()),
    }
}

/// The statements of a query, over the tables where they are.
fn statements(
    query: &PrivateQuery,
    project: &Project,
    place: &dyn RemoteBackend,
    secret: &str,
) -> std::result::Result<Vec<String>, DataFusionError> {
    let used = text::used(query)?;
    let tables = query.below.tables.iter().filter_map(|name| project.tables.get(name));
    let parts: Vec<String> = tables.filter_map(|table| place.part(table, &used, project)).collect();
    let texts = text::job(query, project, place.engine(), secret, |index| format!("{}{index}", read::PREFIX))?;
    Ok(texts
        .into_iter()
        .map(|statement| statement.replacen("WITH ", &format!("WITH {}, ", parts.join(", ")), 1))
        .collect())
}
