//! One file per command; each has its arguments and a `run`.

use crate::failure::Failure;
use clap::Subcommand;

mod account;
mod anonymized_histogram;
mod attacker;
mod calibrate;
mod compare_noise;
mod engine;
mod noise;
mod separation;

/// What the program can do.
#[derive(Subcommand)]
pub enum Command {
    /// What a list of events costs: ε at a δ, or δ at an ε, with certified bounds
    Account(account::Arguments),
    /// How often values occur, without the values: releases, plans and measures anonymized histograms
    AnonymizedHistogram(anonymized_histogram::Arguments),
    /// What an attacker who knows only part of the records learns from a count, a histogram or a suppressed table
    Attacker(attacker::Arguments),
    /// The least noise, the largest sample or the most repetitions for a target
    Calibrate(calibrate::Arguments),
    /// Which noise for a histogram: every kind at equal privacy, and the error of each
    #[command(allow_negative_numbers = true)]
    CompareNoise(compare_noise::Arguments),
    /// Draws exact noise: one integer per line, or a summary
    Noise(noise::Arguments),
    /// Measures what a guarantee per attribute saves against one per person as attributes grow
    Separation(separation::Arguments),
    /// Whether the files of a project's tables fit their declaration; for whoever holds the files
    Check(engine::check::Arguments),
    /// Makes up a population, releases statistics about it and leaves a report
    Demo(engine::demo::Arguments),
    /// Writes a starter project file from a table's column names and types
    Init(engine::init::Arguments),
    /// Lists the kinds of releases and their fields
    Kinds(engine::kinds::Arguments),
    /// What has been spent, by release, in every scope; verifies and exports the ledger
    Ledger(engine::ledger::Arguments),
    /// What each release would cost in every scope, and the error to expect; touches no data
    Plan(engine::plan::Arguments),
    /// One ad-hoc SQL release through the same path as those of the project file
    Query(engine::query::Arguments),
    /// Runs the releases of a project, charges the ledger, writes outputs and report
    Release(engine::release::Arguments),
}

impl Command {
    /// Runs the command.
    pub fn run(self, quiet: bool) -> Result<(), Failure> {
        match self {
            Self::Account(arguments) => account::run(&arguments),
            Self::Calibrate(arguments) => calibrate::run(&arguments),
            Self::AnonymizedHistogram(arguments) => anonymized_histogram::run(&arguments, quiet),
            Self::Attacker(arguments) => attacker::run(&arguments, quiet),
            Self::CompareNoise(arguments) => compare_noise::run(&arguments),
            Self::Noise(arguments) => noise::run(&arguments),
            Self::Separation(arguments) => separation::run(&arguments, quiet),
            Self::Check(arguments) => engine::check::run(&arguments),
            Self::Demo(arguments) => engine::demo::run(&arguments, quiet),
            Self::Init(arguments) => engine::init::run(&arguments, quiet),
            Self::Kinds(arguments) => engine::kinds::run(&arguments),
            Self::Ledger(arguments) => engine::ledger::run(&arguments),
            Self::Plan(arguments) => engine::plan::run(&arguments),
            Self::Query(arguments) => engine::query::run(&arguments, quiet),
            Self::Release(arguments) => engine::release::run(&arguments, quiet),
        }
    }
}
