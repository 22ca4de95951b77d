//! The program as a user runs it: anywhere, in a folder with a project in it, or with a document on its standard input.

pub use scumble_testing::effort;
use scumble_testing::program::run_on;
pub use scumble_testing::program::{printed, refused};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::ops::Deref;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the program.
pub fn scumble(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_scumble")).args(arguments).output().unwrap()
}

/// Runs the program in a folder.
pub fn scumble_in(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_scumble")).args(arguments).current_dir(folder).output().unwrap()
}

/// Runs the program with this document on standard input.
pub fn scumble_on(arguments: &[&str], document: &str) -> Output {
    run_on(Command::new(env!("CARGO_BIN_EXE_scumble")).args(arguments), document)
}

/// SHA-256 in hexadecimal, as ledger and reports write it.
pub fn digest(bytes: &[u8]) -> String {
    hex::encode(digest_bytes(bytes))
}

/// The same as bytes.
pub fn digest_bytes(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

/// A temporary folder in which the program runs.
pub struct Folder(scumble_testing::Folder);

impl Deref for Folder {
    type Target = scumble_testing::Folder;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Folder {
    /// A folder with these files.
    pub fn with(files: &[(&str, &str)]) -> Self {
        Self(scumble_testing::Folder::with(files))
    }

    /// Makes the last entries of the ledger undone, and the files of a release: as they are where somebody died before.
    pub fn forget(&self, entries: i64, release: &str) {
        let base = rusqlite::Connection::open(self.file("scumble.ledger")).unwrap();
        base.execute("DELETE FROM entry WHERE sequence > (SELECT entries FROM head) - ?1", [entries]).unwrap();
        base.execute("UPDATE head SET entries = entries - ?1", [entries]).unwrap();
        base.execute("UPDATE head SET hash = (SELECT hash FROM entry WHERE sequence = entries)", []).unwrap();
        drop(base);
        for end in ["csv", "json", "parquet"] {
            std::fs::remove_file(self.file(&format!("out/{}.{end}", release.replace(' ', "-")))).unwrap();
        }
        self.stdout(&["ledger", "verify"]);
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        scumble_in(self.path(), arguments)
    }

    /// What a run that must succeed prints.
    pub fn stdout(&self, arguments: &[&str]) -> String {
        printed(self.run(arguments))
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.stdout(arguments)).unwrap()
    }

    /// A run that must be refused with this status, in one sentence with these words, with nothing on stdout; gives the
    /// sentence.
    pub fn refused(&self, arguments: &[&str], status: i32, words: &str) -> String {
        refused(&self.run(arguments), status, words)
    }
}

/// A cost's ε.
pub fn epsilon(cost: &Value) -> f64 {
    cost["epsilon"].as_f64().unwrap_or_else(|| panic!("no epsilon in {cost}"))
}

/// All of it was spent, and no more.
pub fn exactly(spent: f64, cost: f64) {
    assert!(spent <= cost && spent >= cost * (1.0 - 1e-12), "{spent} is not {cost}");
}
