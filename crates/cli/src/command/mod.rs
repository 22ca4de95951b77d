//! One file per command; each has its arguments and a `run`.

use crate::failure::Failure;
use clap::Subcommand;

mod account;
mod anonymized_histogram;
mod attacker;
mod calibrate;
mod compare_noise;
mod demo;
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
    /// Draws noise and shows that it is what it should be
    Demo(demo::Arguments),
    /// Draws exact noise: one integer per line, or a summary
    Noise(noise::Arguments),
    /// Measures what a guarantee per attribute saves against one per person as attributes grow
    Separation(separation::Arguments),
}

impl Command {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Self::Account(arguments) => account::run(&arguments),
            Self::Calibrate(arguments) => calibrate::run(&arguments),
            Self::AnonymizedHistogram(arguments) => anonymized_histogram::run(&arguments),
            Self::Attacker(arguments) => attacker::run(&arguments),
            Self::CompareNoise(arguments) => compare_noise::run(&arguments),
            Self::Demo(arguments) => demo::run(&arguments),
            Self::Noise(arguments) => noise::run(&arguments),
            Self::Separation(arguments) => separation::run(&arguments),
        }
    }
}
