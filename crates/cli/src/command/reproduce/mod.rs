//! `scumble lab reproduce`: the tables and pictures of the guides, measured and drawn again, on made-up data.

mod anonymized_histogram;
mod attackers;
mod separation;

use crate::failure::Failure;
use clap::{Args, Subcommand};
use std::path::Path;

/// The subcommands.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble lab reproduce separation")]
pub struct ReproduceArguments {
    #[command(subcommand)]
    what: ReproduceCommand,
}

#[derive(Subcommand)]
enum ReproduceCommand {
    /// Measures what a guarantee per attribute saves against one per person
    #[command(after_help = "Example:\n  scumble lab reproduce separation --out .")]
    Separation(separation::ReproduceSeparationArguments),
    /// Measures the error of anonymized histograms, beside naive layouts and the lower bound
    #[command(allow_negative_numbers = true)]
    #[command(after_help = "Example:\n  scumble lab reproduce anonymized-histogram --epsilon 1 --elements 1e4,1e5")]
    AnonymizedHistogram(anonymized_histogram::ReproduceHistogramArguments),
    /// Draws the pictures of the page on attackers
    #[command(after_help = "Example:\n  scumble lab reproduce attackers --out .")]
    Attackers(attackers::ReproduceAttackersArguments),
}

/// Pictures take a while to compute, so a folder that cannot be written is reported first.
fn directory(path: &Path) -> Result<&Path, Failure> {
    match path.is_dir() {
        true => Ok(path),
        false => Err(Failure::Input(format!("{} is not a directory: create it first", path.display()))),
    }
}

/// Runs one of the subcommands.
pub fn run(arguments: &ReproduceArguments, quiet: bool) -> Result<(), Failure> {
    match &arguments.what {
        ReproduceCommand::Separation(arguments) => separation::run(arguments, quiet),
        ReproduceCommand::AnonymizedHistogram(arguments) => anonymized_histogram::run(arguments, quiet),
        ReproduceCommand::Attackers(arguments) => attackers::run(arguments, quiet),
    }
}
