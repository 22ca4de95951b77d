//! What a cluster of executors does for a release: it runs the statements of its integers on files that all executors see.
//!
//! How to speak to a cluster is not known here: it would bring all of DataFusion and a network into every build. Whoever has it gives it once, with
//! [`install`].

use crate::project::Cluster;
use datafusion::arrow::datatypes::DataType;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A row of a statement's result: texts, or nothing.
pub type Row = Vec<Option<String>>;

/// A session with a cluster that knows some tables.
pub trait Session {
    /// The columns of a table with their types, as its files say.
    fn columns(&self, table: &str) -> BTreeMap<String, DataType>;

    /// Whether a statement can be planned; no row is looked at.
    fn plan(&self, statement: &str) -> Result<(), Trouble>;

    /// Whether executors work, and can open the files of the tables; what is in them makes no difference.
    fn ready(&self) -> Result<(), Trouble>;

    /// The rows of a statement.
    fn rows(&self, statement: &str) -> Result<Vec<Row>, Trouble>;
}

/// Why a cluster does not do what it is asked to. What it says itself is not repeated, because it may quote values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// Nobody answers at the address.
    Away,
    /// There is a scheduler, and no executor takes work.
    Idle,
    /// The files of a table are no Parquet, or not here.
    Unreadable(String),
    /// An executor cannot open a table's files.
    Unseen,
    /// A statement cannot be planned.
    Unplanned,
    /// A statement failed.
    Failed,
    /// A statement took longer than it may.
    TooLong,
}

/// Connects to a cluster, and tells it where the files of tables are: each table's name and path.
pub type Connect = fn(&Cluster, &[(String, PathBuf)]) -> Result<Box<dyn Session>, Trouble>;

static CONNECT: OnceLock<Connect> = OnceLock::new();

/// Gives this process the way to speak to clusters. The first one stays.
pub fn install(connect: Connect) {
    let _ = CONNECT.set(connect);
}

/// The way to speak to clusters, where there is one.
pub(crate) fn installed() -> Option<Connect> {
    CONNECT.get().copied()
}
