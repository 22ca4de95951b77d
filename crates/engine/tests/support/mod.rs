//! What tests share: a folder of files, a project in it, and its releases from a seed. The engine's unit tests use it too (`lib.rs`).

#![allow(dead_code)] // Each test needs a part of it.

use scumble::noise::InsecureSeededSource;
use scumble_engine::project::Project;
use scumble_engine::release::{PlannedRelease, ReleaseOutcome, Runner};
use std::fs;
use std::path::{Path, PathBuf};

/// How much a test does: `few` for whoever wants to see the tests pass in minutes, `many` where `SCUMBLE_THOROUGH` is set, as in `.ci/run --thorough`.
pub fn effort<T>(few: T, many: T) -> T {
    if std::env::var_os("SCUMBLE_THOROUGH").is_some() { many } else { few }
}

/// A folder that is gone with the test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    /// With these files: names and texts.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        files.iter().for_each(|(name, text)| folder.write(name, text));
        folder
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.file(name), text).unwrap();
    }

    /// A project in this folder.
    pub fn project(&self, text: &str) -> Project {
        self.write("scumble.toml", text);
        Project::open(&self.file("scumble.toml")).unwrap()
    }

    /// All releases of a project, with the noise of a seed; the outputs are in `out`.
    pub fn release(&self, project: &Project, seed: u64) -> (Vec<PlannedRelease>, Vec<ReleaseOutcome>) {
        let runner = Runner::new(project);
        let planned: Vec<PlannedRelease> =
            project.releases.iter().map(|request| runner.plan(request).unwrap()).collect();
        let mut bits = InsecureSeededSource::new(seed);
        let (outcomes, _) = runner.release(&planned, &self.file("out"), &mut bits, |_| ()).unwrap();
        (planned, outcomes)
    }
}
