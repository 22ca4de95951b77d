//! What the engine's tests share: a folder with a project in it, and its releases from a seed. The unit tests use it
//! too (`lib.rs`).

#![allow(dead_code, unused_imports)] // Each test needs a part of it.

pub mod examples;

use scumble::noise::InsecureSeededSource;
use scumble_engine::project::Project;
use scumble_engine::release::{PlannedRelease, ReleaseOutcome, Runner};
pub use scumble_testing::effort;
use std::ops::Deref;

/// A folder that is gone with the test.
pub struct Folder(scumble_testing::Folder);

impl Deref for Folder {
    type Target = scumble_testing::Folder;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Folder {
    /// With these files: names and texts.
    pub fn with(files: &[(&str, &str)]) -> Self {
        Self(scumble_testing::Folder::with(files))
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
