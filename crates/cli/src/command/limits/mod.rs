//! `scumble limits`: what nobody can beat.

use crate::failure::Failure;
use crate::input;
use crate::output::print;
use clap::{Args, Subcommand};
use scumble_wire::{Located, WireError};
use serde_json::{Value, json};
use std::path::PathBuf;

mod closed;
mod project;
mod singular;

/// Which limit.
#[derive(Args)]
#[command(arg_required_else_help = true, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(flatten)]
    project: project::ProjectLimits,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    /// How often an answer can be right on two neighbours: {"epsilon", "delta"}
    Neighbours(Document),
    /// The error of counts that tell many values apart: {"epsilon", "delta", "universe", "success"}, or {…, "m", "packing_size"}
    Packing(Document),
    /// The error of counts by who is counted by which query: {"queries": rows of 0 and 1, "epsilon", "delta", "beta"}
    Singular(Document),
    /// How much an output tells about one row: {"epsilon"} and perhaps {"rows"}
    Information(Document),
    /// How many people it takes to publish many means: {"attributes", "epsilon", "delta", "rms_error"}
    Fingerprinting(Document),
}

/// A question in a file.
#[derive(Args)]
struct Document {
    /// A JSON document; - reads standard input
    file: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// A limit: its numbers, each with the words that say what it is, and the theorem.
struct ShownLimit {
    numbers: Value,
    words: Vec<String>,
    theorem: &'static str,
}

type Result<T> = std::result::Result<T, WireError>;

/// Reads the question, and prints the limit.
pub fn run(arguments: &Arguments) -> std::result::Result<(), Failure> {
    let Some(what) = &arguments.what else { return arguments.project.run() };
    let (document, limit): (&Document, fn(&Located<'_>) -> Result<ShownLimit>) = match what {
        What::Neighbours(document) => (document, closed::neighbours),
        What::Packing(document) => (document, closed::packing),
        What::Singular(document) => (document, singular::limit),
        What::Information(document) => (document, closed::information),
        What::Fingerprinting(document) => (document, closed::fingerprinting),
    };
    let read = input::json(&document.file)?;
    let limit = limit(&Located::root(&read)).map_err(|wrong| input::wrong(&document.file, &wrong))?;
    print(&if document.json { limit.into_json() } else { limit.in_words() })
}

impl ShownLimit {
    fn into_json(mut self) -> String {
        self.numbers["words"] = json!(self.words);
        self.numbers["theorem"] = json!(self.theorem);
        format!("{}\n", self.numbers)
    }

    fn in_words(&self) -> String {
        format!("{}\n  by {}\n", self.words.join("\n"), self.theorem)
    }
}
