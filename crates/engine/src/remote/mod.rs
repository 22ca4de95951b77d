//! Integers that are computed elsewhere, where the rows are. Only integers come back.
//!
//! A backend is one folder: [`postgres`] and [`cluster`] run the statements of a release after its charge, [`import`]
//! prints them for an engine that is not reached from here and takes what they gave. The runner knows the trait
//! [`IntegerSource`] and names none of them.

mod backend;
pub mod cluster;
pub(crate) mod import;
mod postgres;
mod served;

#[cfg(test)]
pub(crate) use served::BackendKind;
pub(crate) use served::{RemoteSource, backend_of};

use crate::error::{Error, Result};
use crate::ledger::LedgerState;
use crate::project::{Cluster, Project};
use crate::sql::PrivateQuery;
use crate::sql::execute::integers::Integers;
use backend::RemoteBackend;
use cluster::source::ClusterBackend;
use datafusion::common::DataFusionError;
use serde_json::Value;
use std::rc::Rc;

/// The hash of a job's ranks, as the ledger names it; and that of our own pass.
pub(crate) const HASH: &str = "SHA-256";
/// The hash of our own pass.
pub(crate) const OWN_HASH: &str = "SipHash-2-4";

/// Connects to a cluster for some queries over the project's tables.
type Connect = fn(&Cluster, &[Rc<PrivateQuery>], &Project) -> Result<Box<dyn RemoteBackend>>;

/// Who connects to an address of `[engine]`, by what it begins with: a new backend is its folder and a line here and in
/// [`project::cluster`](crate::project).
const CONNECT: &[(&str, Connect)] =
    &[("ballista", |address, queries, project| Ok(Box::new(ClusterBackend::begin(address, queries, project)?)))];

/// Where the integers of a release come from, if not from rows that we read.
pub(crate) trait IntegerSource {
    /// The integers of the next query, in the order in which a release reads its queries.
    fn integers(&self, query: &PrivateQuery) -> Result<Integers>;

    /// Writes down what the ledger must know of it.
    fn note(&self, rule: &mut Value);

    /// Refuses the charge, if what stands in the ledger speaks against it.
    fn admit(&self, _: &LedgerState) -> Result<()> {
        Ok(())
    }
}

/// Why there is no job.
pub(crate) fn unwritten(name: &str, error: &DataFusionError) -> Error {
    match error {
        DataFusionError::NotImplemented(what) => Error::input(format!(
            "release '{name}' cannot be computed by another engine: {what} means something else there; \
                docs/how-to/remote-backends.md lists what is supported"
        )),
        _ => Error::machine(format!("the integers of release '{name}' cannot be written as SQL")),
    }
}
