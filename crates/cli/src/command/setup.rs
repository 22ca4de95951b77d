//! `scumble setup completions` and `scumble setup manual`: what an installation adds, written from the commands
//! themselves.

use crate::failure::Failure;
use crate::help;
use crate::output::print;
use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// Which shell.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble setup completions bash > scumble.bash")]
pub struct CompletionArguments {
    /// The shell
    shell: Shell,
}

/// Where the manual goes.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble setup manual --out .")]
pub struct ManualArguments {
    /// Write one page for each command into this directory
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
}

/// Prints a script that the shell reads.
pub fn completions(arguments: &CompletionArguments) -> Result<(), Failure> {
    // The generator panics on a stream that fails, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut help::program(), "scumble", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Prints the page of the program, or writes the pages of all commands.
pub fn manual(arguments: &ManualArguments) -> Result<(), Failure> {
    if let Some(folder) = &arguments.out {
        return clap_mangen::generate_to(help::program(), folder)
            .map_err(|error| Failure::Input(format!("the manual cannot be written to {}: {error}", folder.display())));
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(help::program()).render(&mut page)?;
    print(&String::from_utf8_lossy(&page))
}
