//! `scumble lookup`: what a published release of kind `conjunctions` says about one conjunction. Neither the tables nor
//! the ledger are looked at.

use crate::failure::Failure;
use crate::output::{print, print_json};
use clap::Args;
use scumble_engine::kinds::lookup;
use std::path::PathBuf;

/// What `lookup` takes.
#[derive(Args)]
#[command(after_help = "Reads what is published, and nothing else.\n\n\
                  Examples:\n  \
                  scumble lookup habits \"smoker AND NOT insured\"\n  \
                  scumble lookup habits \"smoker AND age < 65\" --json")]
pub struct LookupArguments {
    /// The name of the release
    name: String,
    /// Columns of the release joined by AND, each with or without NOT
    conjunction: String,
    /// The folder that it was published in
    #[arg(long, value_name = "FOLDER", default_value = "out")]
    out: PathBuf,
    /// Also from projected parities, without a standard error
    #[arg(long)]
    projected: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &LookupArguments) -> Result<(), Failure> {
    let found = lookup(&arguments.out, &arguments.name, &arguments.conjunction, arguments.projected)?;
    if arguments.json {
        return print_json(&found.json());
    }
    let note = found.note.as_ref().map(|note| format!("{note}\n")).unwrap_or_default();
    print(&format!("{}\n{note}", found.words()))
}
