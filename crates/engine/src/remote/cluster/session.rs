//! What a cluster of executors does for a release: it runs the statements of its integers on files that all executors
//! see.
//!
//! How to speak to a cluster is not known here: it would bring all of DataFusion and a network into every build. A
//! program that has the client installs it once, with [`install`].

use crate::project::Cluster;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A row of a statement's result: texts, or nothing.
pub type ClusterRow = Vec<Option<String>>;

/// A session with a cluster that knows some tables.
pub trait ClusterSession {
    /// Whether a statement can be planned; no row is looked at.
    fn plan(&self, statement: &str) -> Result<(), ClusterError>;

    /// Whether executors work, and can open the files of the tables; no column of them is read.
    fn ready(&self) -> Result<(), ClusterError>;

    /// The rows of a statement. By then the charge is made: why there are none is one of two things that depend on no
    /// value.
    fn rows(&self, statement: &str) -> Result<Vec<ClusterRow>, ClusterRowsError>;
}

/// Why a cluster does not do what it is asked to. What it says itself is not repeated, because it may quote values.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClusterError {
    /// Nobody answers at the address.
    Away,
    /// Something answers that is not a usable scheduler.
    Strange,
    /// There is a scheduler, and no executor takes work.
    Idle,
    /// The files of a table are no Parquet.
    Unreadable(String),
    /// An executor cannot open a table's files.
    Unseen,
    /// A statement cannot be planned.
    Unplanned,
    /// There is no session to work with.
    Failed,
}

/// Why there are no rows. What a cluster says of a failure may quote values, so that no word of it decides what a user
/// reads: whether executors can open the files was asked before the charge ([`ClusterSession::ready`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClusterRowsError {
    /// The statement failed.
    Failed,
    /// The statement took longer than it may.
    TooLong,
}

/// A table's name, and its files: absolute paths, which are no patterns.
pub type ClusterFiles = (String, Vec<PathBuf>);

/// What the n-th table is called in statements.
pub fn name(index: usize) -> String {
    format!("scumble_table_{index}")
}

/// Connects to a cluster, and tells it which files tables have; statements call them by [`name`].
pub type ClusterConnector = fn(&Cluster, &[ClusterFiles]) -> Result<Box<dyn ClusterSession>, ClusterError>;

static CONNECT: OnceLock<ClusterConnector> = OnceLock::new();

/// Gives this process the way to speak to clusters. The first one stays.
pub fn install(connect: ClusterConnector) {
    let _ = CONNECT.set(connect);
}

/// The way to speak to clusters, where there is one.
pub(crate) fn installed() -> Option<ClusterConnector> {
    CONNECT.get().copied()
}
