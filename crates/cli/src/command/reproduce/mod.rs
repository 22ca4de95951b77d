//! `scumble reproduce`: the tables and pictures of the guides, measured and drawn again. Made-up data only, no budget.

mod anonymized_histogram;
mod attackers;
mod separation;

use crate::failure::Failure;
use clap::{Args, Subcommand};
use std::path::Path;

/// The subcommands.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// What a guarantee per attribute saves against one per person as attributes grow
    Separation(separation::Arguments),
    /// The error of anonymized histograms on generated data, beside naive layouts and the lower bound
    #[command(allow_negative_numbers = true)]
    AnonymizedHistogram(anonymized_histogram::Arguments),
    /// The curves of the guide to attackers who know less, as pictures
    Attackers(attackers::Arguments),
}

/// Pictures take a while to compute: where they cannot go is said before.
fn directory(path: &Path) -> Result<&Path, Failure> {
    match path.is_dir() {
        true => Ok(path),
        false => Err(Failure::Input(format!("{} is not a directory: make it first", path.display()))),
    }
}

/// Runs one of the subcommands.
pub fn run(arguments: &Arguments, quiet: bool) -> Result<(), Failure> {
    match &arguments.what {
        What::Separation(arguments) => separation::run(arguments, quiet),
        What::AnonymizedHistogram(arguments) => anonymized_histogram::run(arguments, quiet),
        What::Attackers(arguments) => attackers::run(arguments, quiet),
    }
}
