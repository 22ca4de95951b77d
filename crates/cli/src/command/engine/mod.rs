//! The commands that touch tables and the ledger. Each builds its whole output before it writes any of it.

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

use crate::failure::Failure;
use crate::progress::Progress;
use clap::Args;
use scumble::noise::SecureSource;
use scumble_engine::ledger::{Head, Ledger};
use scumble_engine::project::Project;
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
    Report::places(out)?;
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

/// As wide as a table gets: longer cells are wrapped.
const WIDTH: u16 = 110;

/// A table for people.
pub fn table(header: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic).set_width(WIDTH);
    table.set_header(header.iter().map(ToString::to_string).collect::<Vec<_>>());
    for row in rows {
        table.add_row(row);
    }
    format!("{table}\n")
}

/// So many of something: 1 row, 2 rows.
fn counted(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
