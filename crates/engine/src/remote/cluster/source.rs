//! A cluster whose executors see the tables' files.

use super::session::{ClusterError, ClusterFiles, ClusterRowsError, ClusterSession, installed, name};
use crate::error::{Error, Result};
use crate::project::{Cluster, Project, Table};
use crate::remote::backend::{RemoteBackend, StatementRow, part, quoted};
use crate::sql::PrivateQuery;
use crate::sql::text;
use crate::sql::text::Engine;
use crate::tables::files::{FileFormat, real_path};
use crate::tables::sources::source_files;
use datafusion::arrow::datatypes::DataType;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

/// A session with a cluster, and what its tables hold.
pub(crate) struct ClusterBackend {
    session: Box<dyn ClusterSession>,
    cluster: Cluster,
    tables: BTreeMap<String, StoredTable>,
}

/// A table in its files.
struct StoredTable {
    /// What it is called in statements.
    name: String,
    files: Vec<StoredFile>,
}

/// A file: its path, which is the same for executors, and its columns with their types.
struct StoredFile {
    path: PathBuf,
    columns: Vec<(String, DataType)>,
}

impl StoredTable {
    /// The type of a column that all files have once, of one type; a sentence otherwise.
    fn kind(&self, column: &str) -> std::result::Result<&DataType, String> {
        let mut found: Option<&DataType> = None;
        for file in &self.files {
            let shown = file.path.display();
            let mut named = file.columns.iter().filter(|(name, _)| name == column).map(|(_, kind)| kind);
            let kind = match (named.next(), named.next()) {
                (Some(kind), None) => kind,
                (None, _) => return Err(format!("there is no column '{column}' in {shown}")),
                (Some(_), Some(_)) => return Err(format!("there are two columns '{column}' in {shown}")),
            };
            if found.is_some_and(|other| other != kind) {
                return Err(format!("column '{column}' is of type {kind} in {shown}, and of another in other files"));
            }
            found = Some(kind);
        }
        found.ok_or_else(|| "it has no files".to_string())
    }
}

impl ClusterBackend {
    /// Connects, and tells where the files of the queries' tables are.
    pub fn begin(cluster: &Cluster, queries: &[Rc<PrivateQuery>], project: &Project) -> Result<Self> {
        let connect = installed().ok_or_else(|| {
            Error::input(format!(
                "[engine] has cluster = \"{cluster}\", and this program was built without clusters: build it with \
                    cargo install --path crates/cli --features cluster"
            ))
        })?;
        let names: BTreeSet<&String> = queries.iter().flat_map(|query| &query.below.tables).collect();
        let mut tables = BTreeMap::new();
        let mut listed: Vec<ClusterFiles> = Vec::new();
        for (index, table) in names.into_iter().enumerate() {
            let files = files(project.table(table)?)?;
            listed.push((table.clone(), files.iter().map(|file| file.path.clone()).collect()));
            tables.insert(table.clone(), StoredTable { name: name(index), files });
        }
        let session = connect(cluster, &listed).map_err(|trouble| sentence(cluster, &trouble))?;
        Ok(Self { session, cluster: cluster.clone(), tables })
    }

    /// Owners are compared with each other between tables: all of them are whole numbers, or texts.
    fn has_whole_owners(&self, project: &Project) -> bool {
        self.tables.iter().all(|(name, stored)| {
            let owner = project.tables.get(name).and_then(|table| table.owner.as_ref());
            owner.is_none_or(|owner| stored.kind(owner).is_ok_and(is_whole))
        })
    }
}

/// The files of a table, by the rules of files that are read here.
fn files(table: &Table) -> Result<Vec<StoredFile>> {
    let at = |sentence: &str| {
        Error::input(format!(
            "table '{}': {sentence}, or remove [engine] from the project file to read it here",
            table.name
        ))
    };
    let mut found = Vec::new();
    for file in source_files(table)? {
        if file.form != FileFormat::Parquet {
            let shown = table.source.display();
            return Err(at(&format!("a cluster reads Parquet files, and {shown} is not one: write it as Parquet")));
        }
        if !file.partition.is_empty() {
            return Err(at("a cluster reads no columns from the names of folders: write them into the files"));
        }
        let columns = file.columns().map_err(|error| error.or_while(&format!("table '{}'", table.name)))?;
        let columns = columns.into_iter().map(|(name, kind)| (name, kind.unwrap_or(DataType::Null)));
        found.push(StoredFile { path: real_path(&file.path)?, columns: columns.collect() });
    }
    Ok(found)
}

impl RemoteBackend for ClusterBackend {
    fn engine(&self) -> Engine {
        Engine::Ballista
    }

    fn look(&mut self, table: &Table, used: &BTreeSet<String>) -> Result<()> {
        match self.tables.get(&table.name) {
            // On the way to a scheduler the quotes around it are lost (DataFusion 55).
            _ if table.name.contains('.') => Err(Error::input(format!(
                "table '{}': a cluster splits a name at its point: give the table another name",
                table.name
            ))),
            Some(stored) => fits(table, used, stored),
            None => Err(Error::machine(format!("table '{}' is not known to the cluster", table.name))),
        }
    }

    /// Columns have one type for each kind of values, whatever the files have.
    fn part(&self, table: &Table, used: &BTreeSet<String>, project: &Project) -> Option<String> {
        let stored = self.tables.get(&table.name)?;
        let owner = if self.has_whole_owners(project) { "BIGINT" } else { "VARCHAR" };
        let column = |name: &String| {
            let kind = match kind_of(stored.kind(name).ok(), table, name) {
                _ if table.owner.as_ref() == Some(name) => owner,
                TargetType::Whole => "BIGINT",
                TargetType::Fraction => "DOUBLE",
                TargetType::Text => "VARCHAR",
                TargetType::Other => return quoted(name),
            };
            format!("CAST({0} AS {kind}) AS {0}", quoted(name))
        };
        Some(part(table, used, &stored.name, column))
    }

    fn plan(&mut self, statement: &str) -> Result<()> {
        self.session.plan(statement).map_err(|trouble| sentence(&self.cluster, &trouble))
    }

    fn ready(&mut self) -> Result<()> {
        self.session.ready().map_err(|trouble| sentence(&self.cluster, &trouble))
    }

    fn rows(&mut self, statement: &str) -> Result<Vec<StatementRow>> {
        self.session.rows(statement).map_err(|trouble| without_rows(&self.cluster, trouble))
    }

    fn address(&self) -> (&'static str, String) {
        ("cluster", self.cluster.to_string())
    }
}

/// What a column is brought to.
enum TargetType {
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

fn kind_of(stored: Option<&DataType>, table: &Table, name: &str) -> TargetType {
    let declared = table.columns.iter().find(|column| column.name == name).and_then(text::stored);
    match (stored, declared) {
        (_, Some(DataType::Float64)) => TargetType::Fraction,
        (Some(stored), _) if is_whole(stored) => TargetType::Whole,
        (Some(stored), _) if is_text(stored) => TargetType::Text,
        _ => TargetType::Other,
    }
}

/// Whether the columns that are used are there, with types that fit their declaration.
fn fits(table: &Table, used: &BTreeSet<String>, stored: &StoredTable) -> Result<()> {
    let at = |sentence: String| Error::input(format!("table '{}': {sentence}", table.name));
    let of = |name: &str, fits: &dyn Fn(&DataType) -> bool, what: &str| {
        let found = stored.kind(name).map_err(at)?;
        match fits(found) {
            true => Ok(()),
            false => Err(at(format!("column '{name}' is declared as {what} and is of type {found} in its file"))),
        }
    };
    if let Some(owner) = &table.owner {
        of(owner, &|kind| is_whole(kind) || is_text(kind), "the owner, a string or a whole number,")?;
    }
    let is_decimal = |kind: &DataType| matches!(kind, DataType::Decimal128(..) | DataType::Decimal256(..));
    let is_float = |kind: &DataType| matches!(kind, DataType::Float32 | DataType::Float64);
    let is_number = |kind: &DataType| is_whole(kind) || is_float(kind) || is_decimal(kind);
    for column in table.columns.iter().filter(|column| used.contains(&column.name)) {
        let name = &column.name;
        match text::stored(column) {
            Some(DataType::Int64) => of(name, &is_whole, "whole numbers")?,
            Some(DataType::Float64) => of(name, &is_number, "numbers")?,
            Some(DataType::Boolean) => of(name, &|kind| *kind == DataType::Boolean, "true or false")?,
            Some(DataType::Date32) => of(name, &|kind| *kind == DataType::Date32, "dates")?,
            Some(_) => of(name, &is_text, "strings")?,
            None => return Err(at(format!("column '{name}' is a time, which clusters do not support yet"))),
        }
    }
    Ok(())
}

/// Why a cluster does not do it.
fn sentence(cluster: &Cluster, trouble: &ClusterError) -> Error {
    match trouble {
        ClusterError::Away => Error::machine(format!(
            "the cluster {cluster} cannot be reached: check that its scheduler runs, and its host and port"
        )),
        ClusterError::Strange => Error::machine(format!(
            "{cluster} does not answer as a scheduler of Apache Ballista 55 that gives results: check its host, port \
                and version"
        )),
        ClusterError::Idle => Error::machine(format!(
            "the cluster {cluster} has no executor that takes work: start one (scumble setup cluster executor)"
        )),
        ClusterError::Unreadable(table) => Error::input(format!(
            "table '{table}': its files cannot be read as Parquet; scumble check says more without [engine]"
        )),
        ClusterError::Unseen => Error::machine(format!(
            "an executor of the cluster {cluster} cannot open the tables' files: all executors must see them under \
                the same path as here"
        )),
        ClusterError::Unplanned => Error::machine(format!("the cluster {cluster} cannot plan the statement")),
        ClusterError::Failed => Error::machine(format!("a session with the cluster {cluster} cannot be opened")),
    }
}

/// Why there are no rows after the charge.
fn without_rows(cluster: &Cluster, trouble: ClusterRowsError) -> Error {
    match trouble {
        ClusterRowsError::Failed => Error::machine(format!(
            "the cluster {cluster} cannot run the statement; its executors' logs say why (before the charge they could open the tables' files)"
        )),
        ClusterRowsError::TooLong => Error::machine(format!(
            "the cluster {cluster} took longer than {} seconds (timeout in [engine])",
            cluster.timeout
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The story: after the charge the sentence was chosen by words of the executor's error text, which may quote
    /// values: a row that holds "not found" made another sentence than one that does not. There are two sentences left,
    /// and neither depends on what anybody said.
    #[test]
    fn after_the_charge_no_word_of_the_cluster_decides() {
        let cluster = Cluster { scheme: "ballista", host: "127.0.0.1".to_string(), port: 50050, timeout: 7 };
        let [failed, late] =
            [ClusterRowsError::Failed, ClusterRowsError::TooLong].map(|one| without_rows(&cluster, one).to_string());
        assert!(
            failed.contains("cannot run the statement") && late.contains("longer than 7 seconds"),
            "{failed} {late}"
        );
    }
}
