//! Which file a ledger is: one plain file with one name, by its absolute path.
//!
//! SQLite gives some names another meaning (`:memory:`, the empty name, `file:…?mode=memory`): a charge would be gone with the process.
//! An absolute path is none of these, whatever SQLite was compiled with. A file with several names (hard links) has a log beside each
//! name, and two processes would not see each other's charges.

use crate::error::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Why a name cannot be that of a ledger, if it cannot.
pub(crate) fn unusable_name(name: &Path) -> Option<&'static str> {
    let text = name.to_string_lossy();
    let last = name.file_name().map(|last| last.to_string_lossy().to_lowercase()).unwrap_or_default();
    if last.is_empty() || text.ends_with('/') {
        return Some("a ledger is a file, and this names none; give a file name such as scumble.ledger");
    }
    if last.starts_with(':') || last.starts_with("file:") || text.to_lowercase().starts_with("file:") {
        return Some(
            "a ledger is a file on disk, and this name has another meaning to the database; give a file name such as scumble.ledger",
        );
    }
    // A database keeps its log under these names, and removes what it finds there: a ledger of that name would be gone with its charges.
    let is_log = ["-wal", "-shm", "-journal"].iter().any(|end| last.ends_with(end)) || last.contains("-mj");
    if is_log || last.ends_with(".key") {
        return Some("this name is that of a file beside another ledger; give a file name such as scumble.ledger");
    }
    None
}

/// The absolute path of a ledger, with links resolved; the file itself need not be there.
pub(super) fn resolved(path: &Path) -> Result<PathBuf> {
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

/// What is said if a ledger cannot be opened.
pub(super) fn cannot_open(path: &Path) -> Error {
    let place = path.display();
    Error::input(format!("the ledger {place} cannot be opened; does its folder exist, and may you write there?"))
}

/// Which file a path leads to now: one that was renamed and replaced is another.
#[cfg(unix)]
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
pub(crate) fn identity(_: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(unix)]
fn names(file: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(file)
}

#[cfg(not(unix))]
fn names(_: &fs::Metadata) -> u64 {
    1
}
