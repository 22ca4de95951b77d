//! `scumble lab attack`: what somebody can do with published numbers alone. No private table is read here.

use super::audit::outputs::something_published;
use crate::failure::Failure;
use crate::input;
use crate::output::print;
use clap::{Args, Subcommand};
use scumble::quantity::{Delta, Epsilon, rounded_up};
use scumble_adversary::attack::recovered;
use scumble_adversary::limits::neighbours::success_at_most;
use scumble_wire::LocatedValue;
use scumble_wire::WireResult;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

mod demo;
mod membership;
mod published;
mod reconstruct;
mod trace;

/// Which attack.
#[derive(Args)]
#[command(arg_required_else_help = true)]
#[command(after_help = "Example:\n  scumble lab attack reconstruct --queries queries.csv --answers answers.csv")]
pub struct AttackArguments {
    #[command(subcommand)]
    what: AttackCommand,
}

#[derive(Subcommand)]
enum AttackCommand {
    /// Reconstructs a secret column from published counts
    #[command(allow_negative_numbers = true)]
    Reconstruct(reconstruct::ReconstructArguments),
    /// Finds whose row is in a published word or in published means, by codes
    #[command(after_help = "Example:\n  \
                      echo '{\"users\": 3, \"beta\": 0.05}' | scumble lab attack trace -  # how long a code must be")]
    Trace(AttackDocumentArguments),
    /// Tests whether a person is in the table behind published means
    Membership(membership::MembershipArguments),
    /// Attacks exact and private counts of an invented hospital; writes a page with pictures
    Demo(demo::AttackDemoArguments),
}

/// What was published, in a file.
#[derive(Args)]
struct AttackDocumentArguments {
    /// A JSON document; - reads standard input
    file: PathBuf,
    #[command(flatten)]
    judged: AttackScoringArguments,
}

/// What an answer is judged by, and how it is printed.
#[derive(Args)]
struct AttackScoringArguments {
    /// A CSV file with 1 for each person who was there, else 0: prints how many are found
    #[arg(long, value_name = "CSV")]
    truth: Option<PathBuf>,
    /// The ε that the numbers were published with, for the ceiling
    #[arg(long, requires = "truth")]
    epsilon: Option<Epsilon>,
    /// The δ that the numbers were published with
    #[arg(long, default_value = "0", requires = "epsilon")]
    delta: Delta,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// An answer: numbers, and words.
struct Findings {
    numbers: Value,
    words: String,
}

/// Attacks, and prints what was found.
pub fn run(arguments: &AttackArguments) -> Result<(), Failure> {
    match &arguments.what {
        AttackCommand::Reconstruct(arguments) => reconstruct::run(arguments),
        AttackCommand::Trace(document) => document.answered(trace::answer),
        AttackCommand::Membership(arguments) => arguments.answered(),
        AttackCommand::Demo(arguments) => demo::run(arguments),
    }
}

impl AttackDocumentArguments {
    fn answered(&self, answer: fn(&LocatedValue<'_>) -> WireResult<Findings>) -> Result<(), Failure> {
        self.judged.shown(input::read(&self.file, answer)?)
    }
}

impl AttackScoringArguments {
    fn shown(&self, mut answer: Findings) -> Result<(), Failure> {
        if let Some(truth) = &self.truth {
            self.judge(&mut answer, truth)?;
        }
        print(&if self.json { format!("{}\n", answer.numbers) } else { answer.words })
    }

    /// For how many people the attack is right, beside the best constant guess and the ceiling.
    fn judge(&self, answer: &mut Findings, file: &Path) -> Result<(), Failure> {
        let (truth, shown) = (published::column(file)?, file.display());
        let count = answer.numbers["scores"].as_array().map(Vec::len);
        let count = count
            .ok_or_else(|| Failure::Input(format!("{shown}: --truth goes with persons or users who have scores")))?;
        refuse_if!(truth.len() != count, "{shown}: {count} values are expected, not {}", truth.len());
        let mut said = vec![false; count];
        for accused in answer.numbers["accused"].as_array().into_iter().flatten().filter_map(Value::as_u64) {
            said[accused as usize] = true;
        }
        let words = ["right about", ", where each is there or not like a fair coin"];
        judge(answer, (&said, &truth), (self.epsilon, self.delta), words)
    }
}

/// How much of the attack's result is true, beside the best constant guess and the ceiling; with a sentence about the
/// attack and one about the ceiling.
fn judge(
    answer: &mut Findings,
    (said, truth): (&[bool], &[bool]),
    (epsilon, delta): (Option<Epsilon>, Delta),
    [done, of]: [&str; 2],
) -> Result<(), Failure> {
    if let (Some(epsilon), 0.0) = (epsilon, delta.get()) {
        something_published(epsilon)?;
    }
    let score = recovered(said, truth)?;
    let ceiling = epsilon.map(|epsilon| success_at_most(epsilon, delta));
    answer.numbers["recovered"] = json!({
        "people": score.people, "right": score.right, "constant_guess": score.constant_guess, "ceiling": ceiling,
    });
    let (right, people, guess) = (score.right, score.people, score.constant_guess);
    answer.words += &format!("{done} {right} of {people}; the best constant guess has {guess}\n");
    if let (Some(ceiling), Some(epsilon)) = (ceiling, epsilon) {
        let most = rounded_up(ceiling * people as f64, 6);
        answer.words += &format!("at ε = {epsilon}, δ = {delta} nobody can expect more than {most}{of}\n");
    }
    Ok(())
}

/// A list of numbers.
fn numbers(place: &LocatedValue<'_>) -> WireResult<Vec<f64>> {
    place.list()?.iter().map(LocatedValue::number).collect()
}

/// A list of 0 and 1.
fn bits(place: &LocatedValue<'_>) -> WireResult<Vec<bool>> {
    let bit = |value: &LocatedValue<'_>| match value.value().as_i64() {
        Some(0) => Ok(false),
        Some(1) => Ok(true),
        _ => Err(value.refuse("0 or 1 is expected")),
    };
    place.list()?.iter().map(bit).collect()
}

/// One row in `one`, or several in `many`.
fn rows(place: &LocatedValue<'_>, one: &str, many: &str) -> WireResult<Vec<Vec<bool>>> {
    match place.get(many)? {
        Some(field) => field.list()?.iter().map(bits).collect(),
        None => Ok(vec![bits(&place.field(one)?)?]),
    }
}
