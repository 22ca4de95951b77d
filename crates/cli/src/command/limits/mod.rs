//! `scumble lab limits`: what nobody can beat.

use crate::failure::Failure;
use crate::input;
use crate::output::print;
use clap::{Args, Subcommand};
use scumble_wire::LocatedValue;
use scumble_wire::WireResult;
use serde_json::{Value, json};
use std::path::PathBuf;

mod closed;
mod project;
mod singular;

/// Which limit.
#[derive(Args)]
#[command(arg_required_else_help = true, args_conflicts_with_subcommands = true)]
#[command(after_help = "Example:\n  scumble lab limits scumble.toml")]
pub struct LimitsArguments {
    #[command(flatten)]
    project: project::ProjectLimitsArguments,
    #[command(subcommand)]
    what: Option<LimitsCommand>,
}

#[derive(Subcommand)]
enum LimitsCommand {
    /// How often an answer can be right on two neighbours
    #[command(after_help = "Example:\n  echo '{\"epsilon\": 1, \"delta\": 0}' | scumble lab limits neighbours -")]
    Neighbours(LimitDocumentArguments),
    /// The error of counts that distinguish many values
    #[command(after_help = "Examples:\n  \
                      echo '{\"epsilon\": 1, \"delta\": 0, \"universe\": 1000, \"success\": 0.95}' > many.json\n  \
                      scumble lab limits packing many.json")]
    Packing(LimitDocumentArguments),
    /// The error of counts, from who is counted by which query
    #[command(after_help = "Example:\n  \
                      echo '{\"queries\": [[1, 0], [0, 1]], \"epsilon\": 1, \"beta\": 0}' | scumble lab limits singular -")]
    Singular(LimitDocumentArguments),
    /// How much information about one row an output has
    #[command(after_help = "Example:\n  echo '{\"epsilon\": 1, \"rows\": 100}' | scumble lab limits information -")]
    Information(LimitDocumentArguments),
    /// How many people it takes to publish many means
    #[command(after_help = "Examples:\n  \
                      echo '{\"attributes\": 1000000, \"epsilon\": 1, \"delta\": 1e-9, \"rms_error\": 0.05}' > many.json\n  \
                      scumble lab limits fingerprinting many.json")]
    Fingerprinting(LimitDocumentArguments),
}

/// A question in a file.
#[derive(Args)]
struct LimitDocumentArguments {
    /// A JSON document; - reads standard input
    file: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// A limit: its numbers, each with the words that say what it is, and the theorem.
struct LimitStatement {
    numbers: Value,
    words: Vec<String>,
    theorem: &'static str,
}

/// Reads the question, and prints the limit.
pub fn run(arguments: &LimitsArguments) -> Result<(), Failure> {
    let Some(what) = &arguments.what else { return arguments.project.run() };
    let (document, limit): (&LimitDocumentArguments, fn(&LocatedValue<'_>) -> WireResult<LimitStatement>) = match what {
        LimitsCommand::Neighbours(document) => (document, closed::neighbours),
        LimitsCommand::Packing(document) => (document, closed::packing),
        LimitsCommand::Singular(document) => (document, singular::limit),
        LimitsCommand::Information(document) => (document, closed::information),
        LimitsCommand::Fingerprinting(document) => (document, closed::fingerprinting),
    };
    let limit = input::read(&document.file, limit)?;
    print(&if document.json { limit.into_json() } else { limit.in_words() })
}

impl LimitStatement {
    fn into_json(mut self) -> String {
        self.numbers["words"] = json!(self.words);
        self.numbers["theorem"] = json!(self.theorem);
        format!("{}\n", self.numbers)
    }

    fn in_words(&self) -> String {
        format!("{}\n  by {}\n", self.words.join("\n"), self.theorem)
    }
}
