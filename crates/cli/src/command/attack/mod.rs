//! `scumble attack`: what somebody can do with published numbers alone. No private table is read here.

use crate::failure::Failure;
use crate::input;
use crate::output::print;
use clap::{Args, Subcommand};
use scumble_wire::{Located, WireError};
use serde_json::Value;
use std::path::PathBuf;

mod demo;
mod membership;
mod published;
mod reconstruct;
mod trace;

/// Which attack.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// A secret column from published counts: every column, a linear programme, or least squares
    #[command(allow_negative_numbers = true)]
    Reconstruct(reconstruct::Arguments),
    /// Whose row is in a published word or in published means: the codes of Boneh and Shaw, and of Tardos
    Trace(Document),
    /// Whether a person is in the table behind published means
    Membership(Document),
    /// Reconstructs a made-up hospital's secret column from exact counts, then fails on private ones; leaves a page with pictures
    Demo(demo::Arguments),
}

/// What was published, in a file.
#[derive(Args)]
struct Document {
    /// A JSON document; - reads standard input
    file: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

type Result<T> = std::result::Result<T, WireError>;

/// An answer: numbers, and words.
struct Findings {
    numbers: Value,
    words: String,
}

/// Attacks, and prints what was found.
pub fn run(arguments: &Arguments) -> std::result::Result<(), Failure> {
    match &arguments.what {
        What::Reconstruct(arguments) => reconstruct::run(arguments),
        What::Trace(document) => document.answered(trace::answer),
        What::Membership(document) => document.answered(membership::answer),
        What::Demo(arguments) => demo::run(arguments),
    }
}

impl Document {
    fn answered(&self, answer: fn(&Located<'_>) -> Result<Findings>) -> std::result::Result<(), Failure> {
        let read = input::json(&self.file)?;
        let answer = answer(&Located::root(&read)).map_err(|wrong| input::wrong(&self.file, &wrong))?;
        print(&if self.json { format!("{}\n", answer.numbers) } else { answer.words })
    }
}

/// A list of numbers.
fn numbers(place: &Located<'_>) -> Result<Vec<f64>> {
    place.list()?.iter().map(Located::number).collect()
}

/// A list of 0 and 1.
fn bits(place: &Located<'_>) -> Result<Vec<bool>> {
    let bit = |value: &Located<'_>| match value.value().as_i64() {
        Some(0) => Ok(false),
        Some(1) => Ok(true),
        _ => Err(value.refuse("0 or 1 is expected")),
    };
    place.list()?.iter().map(bit).collect()
}

/// One row in `one`, or several in `many`.
fn rows(place: &Located<'_>, one: &str, many: &str) -> Result<Vec<Vec<bool>>> {
    match place.get(many)? {
        Some(field) => field.list()?.iter().map(bits).collect(),
        None => Ok(vec![bits(&place.field(one)?)?]),
    }
}
