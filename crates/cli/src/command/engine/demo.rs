//! `scumble demo`: a made-up population, a complete release on it, a report.

use super::{head_line, run_and_report, runner};
use crate::failure::Failure;
use crate::output::print;
use clap::Args;
use scumble_engine::project::Project;
use std::path::PathBuf;

/// What `demo` takes.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble demo --folder try-it")]
pub struct DemoArguments {
    /// The folder to make
    #[arg(long, default_value = "scumble-demo", value_name = "FOLDER")]
    folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &DemoArguments, quiet: bool) -> Result<(), Failure> {
    let folder = &arguments.folder;
    if folder.exists() {
        refuse!(
            "{} exists already; remove it or give another --folder (a ledger is never overwritten)",
            folder.display()
        );
    }
    let file = scumble_engine::demo::write(folder)?;
    let project = Project::open(&file)?;
    let runner = runner(&project, None);
    let planned = project.releases.iter().map(|request| runner.plan(request)).collect::<Result<Vec<_>, _>>()?;
    let out = project.folder().join("out");
    let (outcomes, head, report) = run_and_report(&project, &runner, &planned, &out, quiet || arguments.json)?;
    if arguments.json {
        let shown =
            serde_json::json!({ "project": file, "releases": outcomes.len(), "report": report, "head": head.hex() });
        return print(&format!("{shown:#}\n"));
    }
    if quiet {
        return Ok(());
    }
    print(&format!(
        "invented a population in {}\nreleased {} statistics into {}\nreport: {}\n{}\ntry: cd {} && scumble ledger \
            show\n",
        folder.display(),
        outcomes.len(),
        out.display(),
        report.display(),
        head_line(&head),
        folder.display()
    ))
}
