//! The program `scumble`.

mod command;
mod failure;
mod help;
mod input;
mod interrupted;
mod output;
mod progress;

use clap::{FromArgMatches, Parser};
use std::process::ExitCode;

/// Differential privacy that says what was given away, about whom and to whom.
#[derive(Parser)]
#[command(name = "scumble", version, arg_required_else_help = true, allow_negative_numbers = true)]
struct Program {
    /// Tell nothing on the way, and print nothing but answers and errors
    #[arg(long, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: command::Command,
}

fn main() -> ExitCode {
    interrupted::outlive_long_files();
    #[cfg(feature = "cluster")]
    scumble_cluster::install();
    let program = help::program().try_get_matches().and_then(|matches| Program::from_arg_matches(&matches));
    let program = match program {
        Ok(program) => program,
        Err(error) => return failure::usage(&error),
    };
    match program.command.run(program.quiet) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
