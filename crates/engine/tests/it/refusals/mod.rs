//! Refusals, with their sentences and positions: tables of queries, declarations, files and fields of kinds. A few of
//! the same stories run through the program in `crates/cli/tests/it`; here each takes milliseconds.

mod declarations;
mod files;
mod kinds;
mod sql;

use crate::support::Folder;
use scumble::noise::InsecureSeededSource;
use scumble_engine::check::check;
use scumble_engine::project::{Project, Request};
use scumble_engine::release::Runner;
use scumble_engine::{ErrorKind, Result};
use std::ops::Deref;

/// A folder with a project that has something to refuse.
struct Refusing(Folder);

impl Deref for Refusing {
    type Target = scumble_testing::Folder;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Refusing {
    fn with(files: &[(&str, &str)]) -> Self {
        Self(Folder::with(files))
    }

    /// A query at this cost is wrong input; gives the sentence.
    fn query(&self, sql: &str, cost: &str, words: &str) -> String {
        self.refused(sql, words, |project| release(project, &[Request::sql("query", sql, &cost.parse()?)?]))
    }

    /// The same, in a sentence without the words of the library that plans queries.
    fn in_our_words(&self, sql: &str, words: &str) {
        let said = self.query(sql, "epsilon=0.1", words);
        let raw = ["Error during planning", "not implemented", "Int64", "Utf8"];
        assert!(!raw.iter().any(|raw| said.contains(raw)), "{said}");
    }

    /// A query at this cost is answered, which charges the ledger.
    fn answers(&self, sql: &str, cost: &str) {
        let project = self.project().unwrap();
        let request = Request::sql("query", sql, &cost.parse().unwrap()).unwrap();
        release(&project, &[request]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// The project's releases cannot be planned; gives the sentence.
    fn plan(&self, words: &str) -> String {
        self.refused("plan", words, planned)
    }

    /// They can.
    fn plans(&self) {
        planned(&self.project().unwrap()).unwrap();
    }

    /// The project's releases are refused, when they are planned or before they are charged; gives the sentence.
    fn release(&self, words: &str) -> String {
        self.refused("release", words, |project| release(project, &project.releases))
    }

    /// The files of the tables do not fit their declaration; gives the sentence.
    fn check(&self, words: &str) -> String {
        self.refused("check", words, |project| check(project, &project.tables.keys().cloned().collect::<Vec<_>>()))
    }

    fn project(&self) -> Result<Project> {
        Project::open(&self.file("scumble.toml"))
    }

    /// Whatever is done is wrong input, said in one sentence with these words, and leaves nothing behind.
    fn refused(&self, what: &str, words: &str, ask: impl FnOnce(&Project) -> Result<()>) -> String {
        let before = std::fs::read_dir(self.path()).unwrap().count();
        let error = match self.project().and_then(|project| ask(&project)) {
            Ok(()) => panic!("accepted: {what} ({words})"),
            Err(error) => error,
        };
        let said = error.to_string();
        assert!(error.kind() == ErrorKind::Input, "{what}: {said}");
        assert!(said.contains(words), "{what}\n  said: {said}\n  not:  {words}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
        assert_eq!(std::fs::read_dir(self.path()).unwrap().count(), before, "{what}: something was left behind");
        said
    }
}

fn planned(project: &Project) -> Result<()> {
    let runner = Runner::new(project);
    project.releases.iter().try_for_each(|request| runner.plan(request).map(drop))
}

fn release(project: &Project, requests: &[Request]) -> Result<()> {
    let runner = Runner::new(project);
    let planned = requests.iter().map(|request| runner.plan(request)).collect::<Result<Vec<_>>>()?;
    let out = project.folder().join("out");
    runner.release(&planned, &out, &mut InsecureSeededSource::new(1), |_| ()).map(drop)
}
