//! Charges whose draws have not left the program: the same release goes on with them, and pays nothing more.
//!
//! A charge pays for one draw that somebody sees. A process that was killed, lost a server in mid-statement, or failed
//! while computing has shown nothing: the entry `drawn` is written before the first byte leaves the process, and there
//! is at most one for each charge ([`Ledger::drawn`]). So earlier draws are gone, and the draw that is seen is the only
//! one, whichever run makes it, and however many runs are at work at once.
//!
//! A failure reveals its information once for each charge, as before: the release must be the same, and so must its
//! files. A query that fails on somebody's value fails again.

use super::kept::request_digest;
use crate::error::Result;
use crate::ledger::{Charge, Head, Ledger, UndrawnCharge, beside};
use crate::release::run::{PlannedRelease, Runner};
use crate::remote::{HASH, OWN_HASH, backend_of};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, TryLockError};
use std::path::{Path, PathBuf};

/// A charge that somebody is at work on: a file beside the ledger that is locked until they are done or dead, so that
/// nobody else goes on with it meanwhile.
///
/// The guarantee does not rest on this lock: where no file can be locked, two processes may be at work, and one of them
/// gets the error that it was too late.
pub(crate) struct ChargeLock {
    file: Option<File>,
    path: PathBuf,
}

impl ChargeLock {
    /// On a charge of our own.
    pub fn on(ledger: &Path, sequence: u64) -> Self {
        let nobody = || Self { file: None, path: PathBuf::new() };
        Self::alone_on(ledger, sequence).ok().flatten().unwrap_or_else(nobody)
    }

    /// On a charge that nobody else is at work on; none where somebody is.
    fn alone_on(ledger: &Path, sequence: u64) -> Result<Option<Self>> {
        let folder = beside(ledger, ".work")?;
        let path = folder.join(sequence.to_string());
        #[cfg_attr(not(unix), allow(unused_mut))]
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        // It may be there; whether there is one shows below.
        let _ = builder.create(&folder);
        let Ok(file) = File::options().create(true).truncate(false).write(true).open(&path) else { return Ok(None) };
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { file: Some(file), path })),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => Ok(None),
        }
    }
}

impl Drop for ChargeLock {
    /// The file goes first, and then its lock: nobody finds a file that is not locked of a charge that is at work.
    fn drop(&mut self) {
        if self.file.is_some() {
            let _ = std::fs::remove_file(&self.path);
            let _ = self.path.parent().map(std::fs::remove_dir);
        }
    }
}

/// A charge to go on with, held until it is dropped.
pub(crate) struct WaitingCharge {
    /// Where it stands.
    pub at: Head,
    /// That nobody else is at work on it.
    pub work: ChargeLock,
}

impl Runner<'_> {
    /// The entry of the charge that a release goes on with, and pays nothing more; none where it pays.
    pub fn resumed_entry(&self, planned: &PlannedRelease) -> Result<Option<u64>> {
        let Some(ledger) = self.existing_ledger()? else { return Ok(None) };
        Ok(self.waiting(planned, &ledger)?.map(|waiting| waiting.at.entries))
    }

    /// That charge. Looks at the ledger, and at files if there is one.
    pub(super) fn waiting(&self, planned: &PlannedRelease, ledger: &Ledger) -> Result<Option<WaitingCharge>> {
        for UndrawnCharge { charge, marks, at } in ledger.undrawn(&planned.request.name)? {
            if self.is_for(planned, &charge)?
                && self.is_unchanged(planned, &marks)?
                && let Some(work) = ChargeLock::alone_on(self.ledger(), at.entries)?
                // The process that was at work may have ended between the first look and the lock.
                && ledger.undrawn(&planned.request.name)?.iter().any(|one| one.at == at)
            {
                return Ok(Some(WaitingCharge { at, work }));
            }
        }
        Ok(None)
    }

    /// Whether a release's files are those of the marks. Of tables that are elsewhere there are none.
    fn is_unchanged(&self, planned: &PlannedRelease, marks: &BTreeMap<String, String>) -> Result<bool> {
        let files = self.files_of(std::slice::from_ref(planned));
        if files.is_empty() {
            return Ok(true);
        }
        let now = self.marks_now(&files)?;
        Ok(now.is_some_and(|now| now.iter().all(|(table, mark)| marks.get(table) == Some(mark))))
    }

    /// Whether a charge is for exactly this release by this analyst.
    fn is_for(&self, planned: &PlannedRelease, charge: &Charge) -> Result<bool> {
        let place = backend_of(&planned.request, &planned.plan.tables, self.project())?;
        let hash = if place.is_some() { HASH } else { OWN_HASH };
        let facts = charge.facts();
        let by = charge.asked.as_ref().map(|asked| asked.by.as_str());
        Ok(charge.kind == planned.request.kind
            && charge.events == planned.plan.events
            && charge.request.as_ref() == Some(&request_digest(self.project(), planned)?)
            && holds(&charge.rule, &planned.plan.rule)
            && facts.hash() == Some(hash)
            && facts.is_secure()
            && !facts.is_of_job()
            && by == self.asked_as())
    }
}

/// Whether a rule says all that another says.
fn holds(rule: &Value, said: &Value) -> bool {
    said.as_object().is_some_and(|said| said.iter().all(|(name, value)| name == "hash" || rule[name] == *value))
}

#[cfg(test)]
mod tests;
