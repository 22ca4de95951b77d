//! Releases whose integers are computed elsewhere: the statements that are printed, and what they gave.

use super::{PlannedRelease, Runner};
use crate::error::{Error, Result};
use crate::kinds::registry;
use crate::project::{Project, Request};
use crate::remote::import::{ImportedIntegers, Job};
#[cfg(feature = "generator")]
use crate::remote::{IntegerSource, RemoteSource, backend_of};
use crate::sql::PrivateQuery;
use crate::sql::text::Engine;
use std::path::Path;
use std::rc::Rc;

impl Runner<'_> {
    /// The statements of a release for an engine, with what must be true of it. Looks at the ledger and at no row.
    pub fn job(&self, request: &Request, engine: Engine) -> Result<String> {
        self.plan(request)?;
        self.standing_job(request)?.written(request, self.project(), engine)
    }

    /// What a job gave, from the files of a folder.
    pub(super) fn imported(&self, planned: &PlannedRelease, folder: &Path) -> Result<ImportedIntegers> {
        self.standing_job(&planned.request)?.imported(&planned.request, self.project(), folder)
    }

    fn standing_job(&self, request: &Request) -> Result<Job> {
        let ledger = self.existing_ledger()?;
        Job::standing(request, queries(request, self.project())?, self.project(), ledger.as_deref(), self.ledger())
    }
}

/// The queries of a release whose integers are computed elsewhere.
pub(super) fn queries(request: &Request, project: &Project) -> Result<Vec<Rc<PrivateQuery>>> {
    (registry::find(&request.kind)?.queries)(request, project)?.ok_or_else(|| {
        Error::input(format!(
            "release '{}' is of kind {}, which needs rows: remote backends serve the kinds sql and histogram (without \
                max_bytes)",
            request.name, request.kind
        ))
    })
}

/// For tests of places that are not known here: the integers of a query's statements run there, and those of our own
/// pass over the same rows with the same secret, as texts.
#[cfg(feature = "generator")]
pub fn integers_of_both(request: &Request, here: &Project, there: &Project) -> Result<Vec<(String, String)>> {
    let planned = Runner::new(there).plan(request)?;
    let (theirs, ours) = (queries(request, there)?, queries(request, here)?);
    let place =
        backend_of(request, &planned.plan.tables, there)?.ok_or_else(|| Error::input("all tables are read here"))?;
    let served = RemoteSource::new(request, &theirs, place, there, &mut scumble::noise::InsecureSeededSource::new(5))?;
    let backend = crate::tables::Backend::with_data(here, &planned.plan.tables)?;
    let ranks = || crate::tables::ranks::Ranks::sha(served.secret());
    let both = theirs.into_iter().zip(ours);
    both.map(|(theirs, ours)| {
        let ours = crate::sql::execute::integers::integers(&ours, &backend, ranks())?;
        Ok((format!("{:?}", served.integers(&theirs)?), format!("{ours:?}")))
    })
    .collect()
}

#[cfg(test)]
mod tests;
