//! The commands that touch tables and the ledger. Each builds its whole output before it writes any of it.

mod answers;
pub mod ask;
pub mod bounds;
pub mod budget;
pub mod check;
pub mod demo;
pub mod init;
pub mod integers;
pub mod kinds;
pub mod ledger;
pub mod lookup;
pub mod plan;
pub mod query;
pub mod release;
pub mod show;
pub mod status;

use crate::failure::Failure;
use crate::progress::Progress;
use clap::Args;
use scumble::noise::SecureSource;
use scumble_engine::ledger::{Head, Ledger};
use scumble_engine::nearest;
use scumble_engine::project::{Project, Request};
use scumble_engine::release::{PlannedRelease, ReleaseOutcome, Runner, published};
use scumble_engine::report::Report;
use std::path::{Path, PathBuf};

/// Where the project is.
#[derive(Args)]
pub struct ProjectArguments {
    /// The project file
    #[arg(default_value = "scumble.toml")]
    pub file: PathBuf,
    /// Another ledger than the project's
    #[arg(long, value_name = "PATH")]
    pub ledger: Option<PathBuf>,
}

/// The runner of a project, with the ledger that was asked for.
pub fn runner<'a>(project: &'a Project, ledger: Option<&PathBuf>) -> Runner<'a> {
    match ledger {
        Some(path) => Runner::with_ledger(project, path.clone()),
        None => Runner::new(project),
    }
}

/// The project and the path of its ledger, or of the one that was asked for.
pub fn located(arguments: &ProjectArguments) -> Result<(Project, PathBuf), Failure> {
    let project = Project::open(&arguments.file)?;
    let path = arguments.ledger.clone().unwrap_or_else(|| project.ledger());
    Ok((project, path))
}

/// A ledger that is there.
pub fn existing(path: &Path) -> Result<Ledger, Failure> {
    Ledger::open_existing(path)?
        .ok_or_else(|| Failure::Input(format!("there is no ledger {}: nothing has been released yet", path.display())))
}

/// How many of the last charges a report tells one by one; the sums are those of all.
const RECENT: usize = 200;

/// Runs planned releases and writes the report of everything that the ledger holds.
pub fn run_and_report(
    project: &Project,
    runner: &Runner<'_>,
    planned: &[PlannedRelease],
    out: &Path,
    quiet: bool,
) -> Result<(Vec<ReleaseOutcome>, Head, PathBuf), Failure> {
    run_given_and_report(project, runner, planned, None, out, quiet)
}

/// The same, for one release with the folder of its integers where they were computed elsewhere.
pub fn run_given_and_report(
    project: &Project,
    runner: &Runner<'_>,
    planned: &[PlannedRelease],
    integers: Option<&Path>,
    out: &Path,
    quiet: bool,
) -> Result<(Vec<ReleaseOutcome>, Head, PathBuf), Failure> {
    Report::places(project, out)?;
    let mut bits = SecureSource::new()?;
    // After the releases comes the report.
    let progress = Progress::watching(quiet, planned.len() + 1, runner.watch());
    let (outcomes, head) = match (integers, planned) {
        (Some(folder), [one]) => runner.release_given(one, folder, out, &mut bits, |line| progress.begin(line))?,
        _ => runner.release(planned, out, &mut bits, |line| progress.begin(line))?,
    };
    progress.begin("writing the report");
    let (charges, standing) = runner.recent(planned.len().max(RECENT))?;
    let (published, unshown) = published(out, &charges);
    let report = Report {
        project,
        charges: &charges,
        standing: &standing,
        published: &published,
        unshown: &unshown,
        time: Report::now(),
        head: head.clone(),
    };
    let path = report.write(out)?;
    Ok((outcomes, head, path))
}

/// The ledger's head, as every output tells it.
pub fn head_line(head: &Head) -> String {
    format!("ledger head: {} ({} entries)", head.hex(), head.entries)
}

pub use crate::table::table;

/// The release of this name in a project file.
pub fn known<'a>(project: &'a Project, name: &str) -> Result<&'a Request, Failure> {
    let found = project.releases.iter().find(|request| request.name == name);
    found.ok_or_else(|| {
        let hint = did_you_mean(name, project.releases.iter().map(|request| request.name.as_str()));
        Failure::Input(format!("there is no release '{name}' in {}{hint}", project.path.display()))
    })
}

/// The nearest of some names, as a question; nothing if none is near.
pub fn did_you_mean<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    nearest(name, names).map_or_else(String::new, |hint| format!(" (did you mean '{hint}'?)"))
}

/// So many of something: 1 row, 2 rows.
fn counted(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
