//! One file per command; each has its arguments and a `run`.

use crate::failure::Failure;
use clap::Subcommand;

mod anonymized_histogram;
mod demo;

/// What the program can do.
#[derive(Subcommand)]
pub enum Command {
    /// How often values occur, without the values: releases, plans and measures anonymized histograms
    AnonymizedHistogram(anonymized_histogram::Arguments),
    /// Draws noise and shows that it is what it should be
    Demo(demo::Arguments),
}

impl Command {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Self::AnonymizedHistogram(arguments) => anonymized_histogram::run(&arguments),
            Self::Demo(arguments) => demo::run(&arguments),
        }
    }
}
