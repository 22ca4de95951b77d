//! `scumble release`: runs the releases of a project, charges the ledger, writes the outputs and the report.

use super::{ProjectArguments, head_line, run_and_report, runner};
use crate::failure::Failure;
use crate::output::print;
use clap::Args;
use scumble_engine::nearest;
use scumble_engine::project::Project;
use serde_json::json;
use std::path::PathBuf;

/// What `release` takes.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Only the release of this name (may be given several times)
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// The folder for the outputs, instead of `out` beside the project file
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments, quiet: bool) -> Result<(), Failure> {
    let project = Project::open(&arguments.project.file)?;
    let runner = runner(&project, arguments.project.ledger.as_ref());
    for name in &arguments.only {
        if !project.releases.iter().any(|request| request.name == *name) {
            let hint = nearest(name, project.releases.iter().map(|request| request.name.as_str()));
            let hint = hint.map_or(String::new(), |hint| format!(" (did you mean '{hint}'?)"));
            return Err(Failure::Input(format!(
                "there is no release '{name}' in {}{hint}",
                arguments.project.file.display()
            )));
        }
    }
    let wanted =
        project.releases.iter().filter(|request| arguments.only.is_empty() || arguments.only.contains(&request.name));
    let planned = wanted.map(|request| runner.plan(request)).collect::<Result<Vec<_>, _>>()?;
    if planned.is_empty() {
        return Err(Failure::Input(format!(
            "{} has no [[release]]: there is nothing to do",
            arguments.project.file.display()
        )));
    }
    let out = arguments.out.clone().unwrap_or_else(|| project.folder().join("out"));
    let (outcomes, head, report) = run_and_report(&project, &runner, &planned, &out, quiet || arguments.json)?;
    if arguments.json {
        let releases: Vec<_> = outcomes
            .iter()
            .map(|outcome| json!({ "name": outcome.name, "sequence": outcome.sequence, "files": outcome.files, "answers": outcome.answers.json() }))
            .collect();
        let shown = json!({ "releases": releases, "report": report, "ledger": runner.ledger(), "entries": head.entries, "head": head.hex() });
        return print(&format!("{shown:#}\n"));
    }
    if quiet {
        return Ok(());
    }
    let mut text = String::new();
    for outcome in &outcomes {
        text.push_str(&format!(
            "{}: {} rows in {}\n",
            outcome.name,
            outcome.answers.rows(),
            outcome.files[0].display()
        ));
    }
    text.push_str(&format!("report: {}\n{}\n", report.display(), head_line(&head)));
    print(&text)
}
