//! What a ledger remembers of a file's content: a keyed hash of its digest, with a key that stands beside the ledger
//! and not in it.
//!
//! # Guarantee
//! The plain digest of a file would give away the one value that somebody does not know who knows all others: they
//! digest every candidate. Without the key a mark is a random number; that a file has changed, and when, is all that
//! the ledger tells. Key and digest have a fixed length, so that nothing can be appended to what is hashed.

use crate::digest::unhex;
use crate::error::{Error, Result};
use crate::path::beside;
use scumble::noise::{BitSource, SecureSource};
use sha2::{Digest, Sha256};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// No key's file is longer.
const LONGEST: u64 = 1000;

/// The key of a ledger's marks.
pub struct MarkKey([u8; 32]);

impl MarkKey {
    /// The key beside a ledger (`NAME.key`), if there is one. Without it the files are checked again, and nothing else
    /// is lost.
    pub fn existing(ledger: &Path) -> Result<Option<Self>> {
        let path = beside(ledger, ".key")?;
        let sentence = "is not a key of scumble; remove it, and the files are checked again";
        match fs::symlink_metadata(&path) {
            Err(_) => return Ok(None),
            // A pipe would be waited for, and a device may never end.
            Ok(found) if !found.is_file() || found.len() > LONGEST => {
                return Err(Error::input(format!("{} {sentence}", path.display())));
            }
            Ok(_) => {}
        }
        let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
        let key = text.strip_suffix('\n').and_then(unhex);
        key.map(|key| Some(Self(key))).ok_or_else(|| Error::input(format!("{} {sentence}", path.display())))
    }

    /// The key beside a ledger, made if there is none.
    pub fn of(ledger: &Path) -> Result<Self> {
        let path = beside(ledger, ".key")?;
        let failed =
            |error: &dyn std::fmt::Display| Error::machine(format!("{} cannot be written ({error})", path.display()));
        if let Some(key) = Self::existing(ledger)? {
            return Ok(key);
        }
        made(&path).map_err(|error| failed(&error))?;
        Self::existing(ledger)?.ok_or_else(|| failed(&"it is gone again"))
    }

    /// The mark of a digest (hexadecimal, of a fixed length).
    pub fn mark(&self, digest: &str) -> String {
        let mut hasher = Sha256::new();
        hasher.update(self.0);
        hasher.update(Sha256::digest(digest.as_bytes()));
        crate::digest::hex(&hasher.finalize())
    }

    /// The n-th secret for a purpose, in hexadecimal: without the key a random number. No digest is a purpose with a
    /// line behind it, so that it is no mark either.
    pub fn derived(&self, purpose: &str, of: &str, n: u64) -> String {
        self.mark(&format!("{purpose}\n{of}\n{n}"))
    }
}

/// Makes a key that nobody else may read: complete or not at all, and never over one that is there.
fn made(path: &Path) -> std::io::Result<()> {
    let mut source = SecureSource::new().map_err(|error| std::io::Error::other(error.to_string()))?;
    let words: [u64; 5] = std::array::from_fn(|_| source.next_u64());
    let temporary: PathBuf = path.with_file_name(format!(".scumble-{:016x}.tmp", words[4]));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temporary)?;
    let key: String = words[..4].iter().map(|word| format!("{word:016x}")).collect();
    let written = file.write_all(format!("{key}\n").as_bytes()).and_then(|()| file.sync_all());
    // A link fails where a name is taken: another process was first, and its key is as good.
    let linked = written.and_then(|()| match fs::hard_link(&temporary, path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    });
    fs::remove_file(&temporary)?;
    linked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_a_mark_tells_only_equality() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("x.ledger");
        let key = MarkKey::of(&ledger).unwrap();
        assert_eq!(key.mark("00"), MarkKey::of(&ledger).unwrap().mark("00"));
        assert_ne!(key.mark("00"), key.mark("01"));
        assert_ne!(key.mark("00"), MarkKey::of(&folder.path().join("y.ledger")).unwrap().mark("00"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file is left");
        fs::write(folder.path().join("x.ledger.key"), "short\n").unwrap();
        assert!(MarkKey::of(&ledger).err().unwrap().to_string().contains("remove it"));
        // A link to a device that never ends was read until the memory was gone.
        fs::remove_file(folder.path().join("x.ledger.key")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("x.ledger.key")).unwrap();
        assert!(MarkKey::of(&ledger).err().unwrap().to_string().contains("remove it"));
    }
}
