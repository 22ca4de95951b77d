//! A folder that is gone with its test.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A temporary folder. What goes wrong with its files fails the test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    /// A folder with these files: names and texts.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        files.iter().for_each(|(name, text)| folder.write(name, text));
        folder
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.file(name), text).unwrap();
    }

    /// A file's text.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A file of JSON.
    pub fn json_file(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}
