//! `scumble init`: a starter project file from a table's column names and types.

use crate::failure::Failure;
use crate::output::print;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

/// What `init` takes.
#[derive(Args)]
pub struct Arguments {
    /// The table: a .csv or .parquet file, or a folder of them
    table: PathBuf,
    /// Where to write the project file
    #[arg(long, default_value = "scumble.toml", value_name = "FILE")]
    output: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments, quiet: bool) -> Result<(), Failure> {
    let text = scumble_engine::init::starter(&arguments.table)?;
    let shown = arguments.output.display();
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&arguments.output).map_err(
        |error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                Failure::Input(format!("{shown} is there already; it is not overwritten"))
            }
            _ => Failure::Input(format!("{shown} cannot be written ({error})")),
        },
    )?;
    file.write_all(text.as_bytes())?;
    if arguments.json {
        return print(&format!("{:#}\n", serde_json::json!({ "project": arguments.output })));
    }
    if quiet {
        return Ok(());
    }
    print(&format!(
        "wrote {shown} from column names and types; no row was read\nfill in bounds and domains from public knowledge, never from the data\n"
    ))
}
