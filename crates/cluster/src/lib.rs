//! Integers from an Apache Ballista cluster: executors that see the tables' files run the statements of a release, and
//! only its aggregates come back.
//!
//! [`install`] gives the engine the way to speak to clusters; [`scheduler`] and [`executor`] are a cluster for those
//! who have none. Both are stock ones of Ballista: no function of ours runs on a cluster.
//!
//! It is a package of its own beside the workspace, and an optional feature of the program, because Ballista switches
//! on all of DataFusion: in one workspace everybody's first build would grow with it.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod nodes;
mod remote;
#[doc(hidden)]
pub mod whole;

pub use nodes::{ExecutorOptions, SchedulerOptions, executor, scheduler};

/// Rows for tests are written as Parquet by the same DataFusion.
#[doc(hidden)]
pub use datafusion;

/// A scheduler's records, for tests.
#[doc(hidden)]
pub use ballista_core::serde::protobuf;

/// Gives this process the way to speak to clusters, for project files with `[engine] cluster`.
///
/// ```
/// scumble_cluster::install();
/// ```
pub fn install() {
    scumble_engine::cluster::install(remote::connect);
}
