//! Who asks: a name for the ledger, and limits of their own inside the project's.

use super::kept::question_digest;
use super::{PlannedRelease, Runner};
use crate::budget::Budget;
use crate::error::Result;
use crate::ledger::RequestOrigin;
use crate::project::Project;

/// Somebody who asks for releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    /// Their name.
    pub by: String,
    /// What all that they ask for may cost together, beside what the project allows; none where the project's budget is
    /// all that holds.
    pub limits: Option<Budget>,
    /// The digest of the request's own key: what comes again with it is not charged again.
    pub key: Option<String>,
}

impl Asker {
    pub(crate) fn asked(&self, project: &Project, planned: &PlannedRelease) -> Result<RequestOrigin> {
        Ok(RequestOrigin { by: self.by.clone(), question: question_digest(project, planned)?, key: self.key.clone() })
    }
}

impl Runner<'_> {
    /// The digest of what a request asks, whatever it is called: two with the same one are the same question, at the
    /// same cost.
    pub fn question(&self, planned: &PlannedRelease) -> Result<String> {
        question_digest(self.project(), planned)
    }

    /// The analyst's name in the ledger.
    pub(crate) fn asked_as(&self) -> Option<&str> {
        self.asker().map(|asker| asker.by.as_str())
    }

    /// Whether a release of this name stands in the ledger as charged, whatever became of it.
    pub fn is_charged(&self, release: &str) -> Result<bool> {
        let Some(ledger) = self.existing_ledger()? else { return Ok(false) };
        Ok(!ledger.reservations(release)?.is_empty())
    }
}
