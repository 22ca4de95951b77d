//! `scumble setup integers`: the exact integers of a release as SQL for another engine, where the rows are.

use super::runner;
use crate::failure::Failure;
use crate::output::{print, print_json};
use clap::Args;
use scumble_engine::nearest;
use scumble_engine::project::Project;
use scumble_engine::release::Engine;
use serde_json::json;
use std::path::PathBuf;

/// What `integers` takes.
#[derive(Args)]
#[command(after_help = "Runs nothing and charges nothing. The job holds the secret that chooses rows,\n\
                  and its results are exact: keep both private. Then give the folder of results to\n\
                  `scumble release --only \"by clinic\" --integers FOLDER`.\n\n\
                  Example:\n  \
                  scumble setup integers \"by clinic\" --dialect duckdb > job.sql")]
pub struct IntegersArguments {
    /// The release
    name: String,
    /// The engine that will run it
    #[arg(long, value_name = "ENGINE", value_parser = ["postgres", "duckdb", "datafusion", "spark", "bigquery"])]
    dialect: String,
    /// The project file
    #[arg(long, default_value = "scumble.toml", value_name = "FILE")]
    project: PathBuf,
    /// Another ledger than the project's
    #[arg(long, value_name = "PATH")]
    ledger: Option<PathBuf>,
    /// Print the statements within JSON
    #[arg(long)]
    json: bool,
    /// Print nothing but the statements, as always
    #[arg(long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(arguments: &IntegersArguments) -> Result<(), Failure> {
    let project = Project::open(&arguments.project)?;
    let Some(request) = project.releases.iter().find(|request| request.name == arguments.name) else {
        let hint = nearest(&arguments.name, project.releases.iter().map(|request| request.name.as_str()));
        let hint = hint.map_or(String::new(), |hint| format!(" (did you mean '{hint}'?)"));
        refuse!("there is no release '{}' in {}{hint}", arguments.name, project.path.display());
    };
    let engine = Engine::named(&arguments.dialect)
        .ok_or_else(|| Failure::Input(format!("unknown dialect '{}'", arguments.dialect)))?;
    let job = runner(&project, arguments.ledger.as_ref()).job(request, engine)?;
    if arguments.json {
        return print_json(&json!({ "release": arguments.name, "dialect": arguments.dialect, "sql": job }));
    }
    print(&job)
}
