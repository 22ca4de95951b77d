//! Parquet files on a cluster of Apache Ballista: the session that somebody installs, and the integers that its
//! executors compute.

mod session;
pub(crate) mod source;

pub use session::{
    ClusterConnector, ClusterError, ClusterFiles, ClusterRow, ClusterRowsError, ClusterSession, install, name,
};
