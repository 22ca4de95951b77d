//! `scumble query`: one ad-hoc SQL release through the same path as those of the project file.

use super::{answers, head_line, run_and_report, runner};
use crate::failure::Failure;
use crate::output::print;
use clap::Args;
use scumble_engine::project::{Project, Request, file_stem};
use scumble_engine::summary::document;
use serde::Serialize;
use serde_json::Value;
use std::io::IsTerminal;
use std::path::PathBuf;

/// What `query` takes.
#[derive(Args)]
#[command(after_help = "Each call is a release of its own, charged to the ledger.\n\n\
                  Example:\n  \
                  scumble query \"SELECT sex, COUNT(*) AS n FROM people GROUP BY sex\" --cost epsilon=0.1")]
pub struct QueryArguments {
    /// The query
    sql: String,
    /// The cost: epsilon=0.5, rho=0.05, epsilon=1,delta=1e-9
    #[arg(long, value_name = "COST")]
    cost: String,
    /// The name of the release and its files
    #[arg(long, default_value = "query")]
    name: String,
    /// The project file
    #[arg(long, default_value = "scumble.toml", value_name = "FILE")]
    project: PathBuf,
    /// Another ledger than the project's
    #[arg(long, value_name = "PATH")]
    ledger: Option<PathBuf>,
    /// The folder for the outputs, instead of `out`
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print JSON instead of a table (CSV in a pipe)
    #[arg(long)]
    json: bool,
}

/// More rows than these are in the files.
const SHOWN: usize = 1000;

/// What `query` prints as JSON.
#[derive(Serialize)]
struct AnswerShown {
    #[serde(flatten)]
    answers: Value,
    ledger_head: String,
    ledger_entries: u64,
}

/// Runs the command.
pub fn run(arguments: &QueryArguments, quiet: bool) -> Result<(), Failure> {
    let project = Project::open(&arguments.project)?;
    let stem = file_stem(&arguments.name);
    if let Some(request) = project.releases.iter().find(|request| file_stem(&request.name) == stem) {
        return Err(Failure::Input(format!(
            "the project file has a release '{}', whose files this would replace: give it another --name",
            request.name
        )));
    }
    let request = Request::sql(&arguments.name, &arguments.sql, &arguments.cost.parse()?)?;
    let runner = runner(&project, arguments.ledger.as_ref());
    let planned = [runner.plan(&request)?];
    let out = arguments.out.clone().unwrap_or_else(|| project.folder().join("out"));
    let (outcomes, head, _) = run_and_report(&project, &runner, &planned, &out, quiet || arguments.json)?;
    let text = outcomes.iter().map(|outcome| match arguments.json {
        true => {
            let answers = outcome.answers.json();
            let shown = AnswerShown { answers, ledger_head: head.hex(), ledger_entries: head.entries };
            Ok(format!("{:#}\n", document(&shown)?))
        }
        // Numbers are rounded for people; a program gets all digits.
        false if std::io::stdout().is_terminal() => Ok(answers::text(&outcome.answers, SHOWN)),
        false => outcome.answers.csv(),
    });
    let text = text.collect::<Result<String, scumble_engine::Error>>()?;
    // Only the answer is on stdout, so that its reader gets a table.
    if !(quiet || arguments.json) {
        for estimates in planned.iter().filter_map(|planned| planned.plan.estimates.as_ref()) {
            crate::failure::say(estimates.words());
        }
        crate::failure::say(&head_line(&head));
    }
    print(&text)
}
