//! One file per command; each has its arguments and a `run`.

use crate::failure::Failure;
use clap::Subcommand;

mod demo;

/// What the program can do.
#[derive(Subcommand)]
pub enum Command {
    /// Draws noise and shows that it is what it should be
    Demo(demo::Arguments),
}

impl Command {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Self::Demo(arguments) => demo::run(&arguments),
        }
    }
}
