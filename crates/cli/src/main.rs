//! The program `scumble`.

mod colour;
#[macro_use]
mod failure;

mod command;
mod help;
mod input;
mod interrupted;
mod moved;
mod output;
mod progress;
mod table;
mod wrapped;

use clap::{FromArgMatches, Parser};
use std::process::ExitCode;

/// Differential privacy that says what was given away, about whom and to whom.
#[derive(Parser)]
#[command(name = "scumble", version, arg_required_else_help = true, allow_negative_numbers = true)]
struct Program {
    /// Print answers and errors only
    #[arg(long, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: command::Command,
}

fn main() -> ExitCode {
    interrupted::outlive_long_files();
    #[cfg(feature = "cluster")]
    scumble_cluster::install();
    let program = help::program();
    let arguments = moved::in_place(std::env::args_os().collect(), &program);
    let program = program.try_get_matches_from(arguments).and_then(|matches| Program::from_arg_matches(&matches));
    let program = match program {
        Ok(program) => program,
        Err(error) => return failure::usage(&error),
    };
    match program.command.run(program.quiet) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
