//! The program as a user runs it: anywhere, in a folder with a project in it, or with a document on its standard input.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

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
    let mut child = Command::new(env!("CARGO_BIN_EXE_scumble"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A refusal may come before all of the input is read.
    let _ = child.stdin.take().unwrap().write_all(document.as_bytes());
    child.wait_with_output().unwrap()
}

/// What a run that must have succeeded printed.
pub fn printed(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A run that must have been refused with this status, in one sentence with these words, with nothing on stdout; gives the sentence.
pub fn refused(output: &Output, status: i32, words: &str) -> String {
    let sentence = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(status), "{sentence}");
    assert!(output.stdout.is_empty(), "{sentence}");
    assert!(sentence.contains(words), "said: {sentence}\n not: {words}");
    assert_eq!(sentence.trim_end().lines().count(), 1, "{sentence}");
    sentence
}

/// SHA-256 in hexadecimal, as ledger and reports write it.
pub fn digest(bytes: &[u8]) -> String {
    hex::encode(digest_bytes(bytes))
}

/// The same as bytes.
pub fn digest_bytes(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

/// A temporary folder.
pub struct Folder(tempfile::TempDir);

impl Folder {
    /// A folder with these files.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        files.iter().for_each(|(name, text)| folder.write(name, text));
        folder
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Makes the last entries of the ledger undone, and the files of a release: as they are where somebody died before.
    pub fn forget(&self, entries: i64, release: &str) {
        let base = rusqlite::Connection::open(self.file("scumble.ledger")).unwrap();
        base.execute("DELETE FROM entry WHERE sequence > (SELECT entries FROM head) - ?1", [entries]).unwrap();
        base.execute("UPDATE head SET entries = entries - ?1", [entries]).unwrap();
        base.execute("UPDATE head SET hash = (SELECT hash FROM entry WHERE sequence = entries)", []).unwrap();
        drop(base);
        for end in ["csv", "json", "parquet"] {
            std::fs::remove_file(self.file(&format!("out/{release}.{end}"))).unwrap();
        }
        self.stdout(&["ledger", "verify"]);
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.file(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
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

    pub fn json_file(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// A run that must be refused with this status, in one sentence with these words, with nothing on stdout; gives the sentence.
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

/// How much a test does: `few` for whoever wants to see the tests pass in minutes, `many` where `SCUMBLE_THOROUGH` is set, as in `.ci/run --thorough`.
pub fn effort(few: u64, many: u64) -> u64 {
    if std::env::var_os("SCUMBLE_THOROUGH").is_some() { many } else { few }
}
