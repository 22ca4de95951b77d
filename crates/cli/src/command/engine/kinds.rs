//! `scumble kinds`: the kinds of releases and their fields.

use super::table;
use crate::failure::Failure;
use crate::output::{print, print_json};
use clap::Args;
use scumble_engine::kinds::registry::{KINDS, schema};
use serde_json::Value;

/// What `kinds` takes.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble kinds --json  # a JSON schema for a [[release]] of each kind")]
pub struct KindsArguments {
    /// Print JSON schemas
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &KindsArguments) -> Result<(), Failure> {
    if arguments.json {
        let schemas: Vec<Value> = KINDS.iter().map(|kind| schema(kind)).collect();
        return print_json(&Value::Array(schemas));
    }
    let mut text = String::new();
    for kind in KINDS {
        text.push_str(&format!("{}: {}\n", kind.name, kind.about));
        let rows = kind.fields.iter().map(|field| {
            let needed = if field.required { "needed" } else { "" };
            vec![field.name.to_string(), field.form.to_string(), needed.to_string(), field.about.to_string()]
        });
        text.push_str(&table(&["field", "form", "", "meaning"], rows.collect()));
        text.push('\n');
    }
    print(&text)
}
