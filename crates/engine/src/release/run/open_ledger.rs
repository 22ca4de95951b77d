//! The one open ledger of a runner.
//!
//! A release looks at its ledger a dozen times: for the budget, for what is kept, for a charge to go on with, for the
//! charge itself. All of that is done on one
//! connection, which is opened when it is needed first.
//!
//! # Guarantee
//! An open ledger is no older view of it: each reading and each writing is a transaction of its own that reads the
//! state again, so that what other processes
//! charge meanwhile is seen. Where the path leads to another file by now, or the connection had an error, it is opened
//! again, except by code that is using it: that code holds proofs of that very file, and the file refuses what is
//! written to it after it was moved away.

use crate::error::{Error, Result};
use crate::ledger::{self, Ledger};
use std::cell::{Ref, RefCell, RefMut};
use std::path::{Path, PathBuf};

/// A ledger that is opened once.
pub(crate) struct OpenLedger {
    path: PathBuf,
    open: RefCell<Option<Ledger>>,
    /// How often a file was opened, for tests.
    #[cfg(test)]
    pub(super) opened: std::cell::Cell<u32>,
}

impl OpenLedger {
    /// The ledger at a path; nothing is opened yet.
    pub fn at(path: PathBuf) -> Self {
        Self {
            path,
            open: RefCell::new(None),
            #[cfg(test)]
            opened: Default::default(),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The ledger, if there is a file. Nothing is made.
    pub fn existing(&self) -> Result<Option<Ref<'_, Ledger>>> {
        self.refresh(Ledger::open_existing)?;
        let open = self.open.try_borrow().map_err(|_| in_use())?;
        Ok(Ref::filter_map(open, Option::as_ref).ok())
    }

    /// The same, to be written to.
    pub fn existing_to_write(&self) -> Result<Option<RefMut<'_, Ledger>>> {
        self.refresh(Ledger::open_existing)?;
        let open = self.open.try_borrow_mut().map_err(|_| in_use())?;
        Ok(RefMut::filter_map(open, Option::as_mut).ok())
    }

    /// The ledger, to be written to; it is made if there is none.
    pub fn created(&self) -> Result<RefMut<'_, Ledger>> {
        self.refresh(|path| Ledger::open_or_create(path).map(Some))?;
        let open = self.open.try_borrow_mut().map_err(|_| in_use())?;
        RefMut::filter_map(open, Option::as_mut).map_err(|_| in_use())
    }

    /// Opens the ledger if it is not open, or not the one at its path any more. Code that is using it goes on with the
    /// one that it has.
    fn refresh(&self, open: impl FnOnce(&Path) -> ledger::Result<Option<Ledger>>) -> Result<()> {
        let Ok(mut held) = self.open.try_borrow_mut() else { return Ok(()) };
        if held.as_ref().is_some_and(|ledger| ledger.is_open_at(&self.path)) {
            return Ok(());
        }
        *held = None;
        *held = open(&self.path)?;
        #[cfg(test)]
        self.opened.set(self.opened.get() + u32::from(held.is_some()));
        Ok(())
    }
}

fn in_use() -> Error {
    Error::machine("the ledger is being written to by this run")
}

#[cfg(test)]
mod tests;
