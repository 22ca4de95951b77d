//! A cluster whose executors see the tables' files.

use super::place::{Place, Row, part, quoted};
use crate::backend::cluster::{Session, Trouble, installed};
use crate::error::{Error, Result};
use crate::project::{Cluster, Project, Table};
use crate::sql::Cut;
use crate::sql::window::{self, Engine};
use datafusion::arrow::datatypes::DataType;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

/// A session with a cluster, and what its tables hold.
pub(super) struct Clustered {
    session: Box<dyn Session>,
    cluster: Cluster,
    /// The columns of tables with their types in the files.
    tables: BTreeMap<String, BTreeMap<String, DataType>>,
}

impl Clustered {
    /// Connects, and tells where the files of the queries' tables are.
    pub fn begin(cluster: &Cluster, queries: &[Rc<Cut>], project: &Project) -> Result<Self> {
        let connect = installed().ok_or_else(|| {
            Error::input(format!(
                "the project file says [engine] cluster = \"{cluster}\", and this program was built without clusters: build it with cargo install --path crates/cli --features cluster"
            ))
        })?;
        let names: BTreeSet<&String> = queries.iter().flat_map(|query| &query.below.tables).collect();
        let files = names.into_iter().map(|name| Ok((name.clone(), file(project.table(name)?)?)));
        let files = files.collect::<Result<Vec<(String, PathBuf)>>>()?;
        let session = connect(cluster, &files).map_err(|trouble| sentence(cluster, &trouble))?;
        Ok(Self { session, cluster: cluster.clone(), tables: BTreeMap::new() })
    }
}

/// Where a table's files are, by a path that is the same for executors.
fn file(table: &Table) -> Result<PathBuf> {
    let source = table.source.display();
    let is_parquet = table.source.is_dir() || table.source.extension().is_some_and(|end| end == "parquet");
    if table.rows.is_some() || !is_parquet {
        return Err(Error::input(format!(
            "table '{}': a cluster reads Parquet files, and {source} is none: write it as Parquet, or take [engine] out of the project file to read it here",
            table.name
        )));
    }
    std::fs::canonicalize(&table.source).map_err(|_| {
        Error::input(format!(
            "table '{}': {source} is not here; its files must be seen by this program and by all executors, under the same path",
            table.name
        ))
    })
}

impl Place for Clustered {
    fn engine(&self) -> Engine {
        Engine::Ballista
    }

    fn look(&mut self, table: &Table, used: &BTreeSet<String>) -> Result<()> {
        let columns = self.session.columns(&table.name);
        fits(table, used, &columns)?;
        self.tables.insert(table.name.clone(), columns);
        Ok(())
    }

    /// Columns have one type for each kind of values, whatever the files have.
    fn part(&self, table: &Table, used: &BTreeSet<String>) -> Option<String> {
        let stored = self.tables.get(&table.name)?;
        let column = |name: &String| {
            let kind = match kind_of(stored.get(name), table, name) {
                Kind::Whole => "BIGINT",
                Kind::Fraction => "DOUBLE",
                Kind::Text => "VARCHAR",
                Kind::Other => return quoted(name),
            };
            format!("CAST({0} AS {kind}) AS {0}", quoted(name))
        };
        Some(part(table, used, &quoted(&table.name), column))
    }

    fn plan(&mut self, statement: &str) -> Result<()> {
        self.session.plan(statement).map_err(|trouble| sentence(&self.cluster, &trouble))
    }

    fn ready(&mut self) -> Result<()> {
        self.session.ready().map_err(|trouble| sentence(&self.cluster, &trouble))
    }

    fn rows(&mut self, statement: &str) -> Result<Vec<Row>> {
        self.session.rows(statement).map_err(|trouble| sentence(&self.cluster, &trouble))
    }

    fn address(&self) -> (&'static str, String) {
        ("cluster", self.cluster.to_string())
    }
}

/// What a column is brought to.
enum Kind {
    Whole,
    Fraction,
    Text,
    Other,
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_text(values),
        kind => matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    }
}

/// Whole numbers that all have a place among those of 64 bits.
fn is_whole(kind: &DataType) -> bool {
    kind.is_integer() && *kind != DataType::UInt64
}

fn kind_of(stored: Option<&DataType>, table: &Table, name: &str) -> Kind {
    let declared = table.columns.iter().find(|column| column.name == name).and_then(window::stored);
    match (stored, declared) {
        (_, Some(DataType::Float64)) => Kind::Fraction,
        (Some(stored), _) if is_whole(stored) => Kind::Whole,
        (Some(stored), _) if is_text(stored) => Kind::Text,
        _ => Kind::Other,
    }
}

/// Whether the columns that are used are there, with types that fit their declaration.
fn fits(table: &Table, used: &BTreeSet<String>, stored: &BTreeMap<String, DataType>) -> Result<()> {
    let at = |sentence: String| Error::input(format!("table '{}': {sentence}", table.name));
    let of = |name: &str, fits: &dyn Fn(&DataType) -> bool, what: &str| match stored.get(name) {
        None => Err(at(format!("there is no column '{name}' in {}", table.source.display()))),
        Some(found) if fits(found) => Ok(()),
        Some(found) => Err(at(format!("column '{name}' is declared as {what} and is of type {found} in its file"))),
    };
    if let Some(owner) = &table.owner {
        of(owner, &|kind| is_whole(kind) || is_text(kind), "the owner, a text or a whole number,")?;
    }
    let is_number = |kind: &DataType| is_whole(kind) || matches!(kind, DataType::Float32 | DataType::Float64);
    for column in table.columns.iter().filter(|column| used.contains(&column.name)) {
        let name = &column.name;
        match window::stored(column) {
            Some(DataType::Int64) => of(name, &is_whole, "whole numbers")?,
            Some(DataType::Float64) => of(name, &is_number, "numbers")?,
            Some(DataType::Boolean) => of(name, &|kind| *kind == DataType::Boolean, "true or false")?,
            Some(DataType::Date32) => of(name, &|kind| *kind == DataType::Date32, "dates")?,
            Some(_) => of(name, &is_text, "texts")?,
            None => return Err(at(format!("column '{name}' is a time, and times are not read by clusters yet"))),
        }
    }
    Ok(())
}

/// Why a cluster does not do it.
fn sentence(cluster: &Cluster, trouble: &Trouble) -> Error {
    match trouble {
        Trouble::Away => Error::machine(format!(
            "the cluster {cluster} is not there: look whether its scheduler runs, and at its host and port"
        )),
        Trouble::Idle => Error::machine(format!(
            "the cluster {cluster} has no executor that takes work: start one (scumble cluster executor)"
        )),
        Trouble::Unreadable(table) => Error::input(format!(
            "table '{table}': its files cannot be read as Parquet; scumble check says more without [engine]"
        )),
        Trouble::Unseen => Error::machine(format!(
            "an executor of the cluster {cluster} cannot open the tables' files: they must be seen by all executors, under the path that they have here"
        )),
        Trouble::Unplanned => Error::machine(format!("the cluster {cluster} cannot plan the statement")),
        Trouble::Failed => Error::machine(format!("the cluster {cluster} cannot run the statement")),
        Trouble::TooLong => Error::machine(format!(
            "the cluster {cluster} took longer than {} seconds (timeout in [engine])",
            cluster.timeout
        )),
    }
}
