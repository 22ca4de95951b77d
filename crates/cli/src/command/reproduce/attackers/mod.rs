//! `scumble lab reproduce attackers`: the pictures of docs/explanation/attackers.md.

mod figures;

use super::directory;
use crate::failure::Failure;
use crate::output::print_json;
use crate::progress::Progress;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Draws the curves of the guide page (takes a minute)
#[derive(Args)]
pub struct ReproduceAttackersArguments {
    /// Where to write the pictures (a directory that exists)
    #[arg(long, value_name = "DIRECTORY")]
    out: PathBuf,
    /// Print the names of what was written as JSON
    #[arg(long)]
    json: bool,
}

/// Draws one picture after the other.
pub fn run(arguments: &ReproduceAttackersArguments, quiet: bool) -> Result<(), Failure> {
    let folder = directory(&arguments.out)?;
    let progress = Progress::new(quiet, figures::ALL.len());
    let mut written = Vec::new();
    for (name, picture) in figures::ALL {
        progress.begin(&format!("drawing {name}"));
        let path = folder.join(name);
        std::fs::write(&path, picture()?)
            .map_err(|error| Failure::Input(format!("{} cannot be written: {error}", path.display())))?;
        written.push(path);
    }
    match arguments.json {
        true => print_json(&json!({ "figures": written })),
        false => Ok(()),
    }
}
