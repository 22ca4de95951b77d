//! Which file a path leads to, and which names a ledger may have: for all who open files.

use std::fs;
use std::path::{Path, PathBuf};

/// Which file a path leads to now: one that was renamed and replaced is another.
#[cfg(unix)]
pub fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
pub fn identity(_: &Path) -> Option<(u64, u64)> {
    None
}

/// How many names a file has (hard links).
#[cfg(unix)]
pub fn names(file: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(file)
}

#[cfg(not(unix))]
pub fn names(_: &fs::Metadata) -> u64 {
    1
}

/// The absolute path with links resolved, as far as the path exists.
pub fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut missing = Vec::new();
    let mut existing = path.as_path();
    loop {
        if let Ok(found) = existing.canonicalize() {
            return missing.iter().rev().fold(found, |path, name| path.join(name));
        }
        match (existing.parent(), existing.components().next_back()) {
            (Some(parent), Some(name)) => {
                missing.push(name.as_os_str().to_os_string());
                existing = parent;
            }
            _ => return path,
        }
    }
}

/// Why a name cannot be that of a ledger, if it cannot.
pub fn unusable_name(name: &Path) -> Option<&'static str> {
    let text = name.to_string_lossy();
    let last = name.file_name().map(|last| last.to_string_lossy().to_lowercase()).unwrap_or_default();
    if last.is_empty() || text.ends_with('/') {
        return Some("this does not name a file; give a file name such as scumble.ledger");
    }
    if last.starts_with(':') || last.starts_with("file:") || text.to_lowercase().starts_with("file:") {
        return Some("this name has another meaning to the database; give a file name such as scumble.ledger");
    }
    // A database keeps its log under these names, and removes what it finds there: a ledger of that name would be gone
    // with its charges.
    let is_log = ["-wal", "-shm", "-journal"].iter().any(|end| last.ends_with(end)) || last.contains("-mj");
    if is_log || [".key", ".state", ".lock", ".access"].iter().any(|end| last.ends_with(end)) {
        return Some("this is the name of a file beside another ledger; give a file name such as scumble.ledger");
    }
    None
}
