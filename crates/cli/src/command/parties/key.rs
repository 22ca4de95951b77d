//! `scumble parties key`.

use crate::failure::Failure;
use crate::output::{print, print_line};
use clap::Args;
use scumble_parties::Key;
use serde_json::json;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Example:\n  scumble parties key hospital-a.key")]
pub struct PartiesKeyArguments {
    /// The file for the private half; it must not be there yet
    file: PathBuf,
    /// Print the public half of a key that is there
    #[arg(long)]
    public: bool,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Makes or reads a key; prints its public half.
pub fn run(arguments: &PartiesKeyArguments) -> Result<(), Failure> {
    let key = match arguments.public {
        true => Key::read(&arguments.file)?,
        false => {
            let key = Key::generate()?;
            key.write(&arguments.file)?;
            key
        }
    };
    match arguments.json {
        true => print_line(&json!({ "public": key.public().to_string() })),
        false => print(&format!("{}\n", key.public())),
    }
}
