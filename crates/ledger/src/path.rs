//! Which file a ledger is: one plain file with one name, by its absolute path.
//!
//! SQLite gives some names another meaning (`:memory:`, the empty name, `file:…?mode=memory`): a charge would be gone
//! with the process. An absolute path is none of these, whatever SQLite was compiled with. A file with several names
//! (hard links) has a log beside each name, and two processes would not see each other's charges.

use crate::error::{Error, Result};
use crate::file::{names, unusable_name};
use std::fs;
use std::path::{Path, PathBuf};

/// The absolute path of a ledger, with links resolved; the file itself need not be there.
pub(crate) fn resolved(path: &Path) -> Result<PathBuf> {
    let shown = path.display();
    if let Some(why) = unusable_name(path) {
        return Err(Error::input(format!("the ledger '{shown}' cannot be used: {why}")));
    }
    let Ok(found) = fs::symlink_metadata(path) else {
        let (folder, name) = (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or_default());
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        return Ok(fs::canonicalize(folder).map_err(|_| cannot_open(path))?.join(name));
    };
    let real = fs::canonicalize(path).map_err(|_| {
        let which = if found.is_symlink() { "is a link that leads nowhere" } else { "cannot be reached" };
        Error::input(format!("the ledger {shown} {which}"))
    })?;
    match fs::metadata(&real) {
        Ok(file) if !file.is_file() => {
            Err(Error::input(format!("the ledger {shown} is a folder or a device, and must be a file")))
        }
        Ok(file) if names(&file) > 1 => Err(Error::input(format!(
            "the ledger {shown} has a second name (a hard link), under which charges would be missed; remove the other name"
        ))),
        Ok(_) => Ok(real),
        Err(_) => Err(cannot_open(path)),
    }
}

/// The error if a ledger cannot be opened.
pub(crate) fn cannot_open(path: &Path) -> Error {
    let place = path.display();
    Error::input(format!("the ledger {place} cannot be opened; does its folder exist, and may you write there?"))
}

/// The folder of a ledger, links resolved: the ways to the sources of its tables begin there.
pub fn folder(path: &Path) -> Result<PathBuf> {
    Ok(resolved(path)?.parent().unwrap_or(Path::new("/")).to_path_buf())
}

/// A file beside a ledger, whose name is the ledger's with this end.
pub fn beside(ledger: &Path, end: &str) -> Result<PathBuf> {
    let ledger = resolved(ledger)?;
    let mut name = ledger.file_name().unwrap_or_default().to_os_string();
    name.push(end);
    Ok(ledger.with_file_name(name))
}
