//! `scumble lab anonymized-histogram`: how often values occur, without the values.

mod input;
mod plan;
mod release;

use crate::failure::Failure;
use crate::output::{print, print_line};
use clap::{Args, Subcommand};
use scumble::mechanism::anonymized_histogram::{
    AnonymizedHistogram, ElementCount, HistogramFamily, LayoutChoice, Partition,
};
use scumble::quantity::Epsilon;
use scumble::{Scope, Target};

/// The subcommands.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble lab anonymized-histogram release counts.csv --epsilon 1")]
pub struct AnonymizedHistogramArguments {
    #[command(subcommand)]
    what: AnonymizedHistogramCommand,
}

#[derive(Subcommand)]
enum AnonymizedHistogramCommand {
    /// Releases the anonymized histogram of a file of counts, with its statistics
    #[command(allow_negative_numbers = true)]
    #[command(after_help = "Example:\n  scumble lab anonymized-histogram release counts.csv --epsilon 1")]
    Release(release::HistogramReleaseArguments),
    /// Releases the degree sequence of a graph, private for each edge
    #[command(allow_negative_numbers = true)]
    #[command(after_help = "Example:\n  scumble lab anonymized-histogram degrees edges.txt --epsilon 1")]
    Degrees(release::DegreeArguments),
    /// Predicts the error, beside the limit that no mechanism can beat
    #[command(allow_negative_numbers = true)]
    #[command(after_help = "Example:\n  scumble lab anonymized-histogram plan --elements 1e6 --epsilon 1")]
    Plan(plan::HistogramPlanArguments),
    /// Writes a generated histogram as a table of counts
    #[command(allow_negative_numbers = true)]
    #[command(after_help = "Example:\n  scumble lab anonymized-histogram generate zipf --elements 1000 > counts.csv")]
    Generate(GenerateArguments),
}

/// Runs one of the subcommands.
pub fn run(arguments: &AnonymizedHistogramArguments) -> Result<(), Failure> {
    match &arguments.what {
        AnonymizedHistogramCommand::Release(arguments) => release::counts(arguments),
        AnonymizedHistogramCommand::Degrees(arguments) => release::degrees(arguments),
        AnonymizedHistogramCommand::Plan(arguments) => plan::run(arguments),
        AnonymizedHistogramCommand::Generate(arguments) => generate(arguments),
    }
}

/// What the mechanism needs to know, shared by the subcommands that run it.
#[derive(Args)]
struct MechanismArguments {
    /// The ε of an owner's presence
    #[arg(long)]
    epsilon: Epsilon,
    /// The most elements there can be, from public knowledge [default: a private estimate]
    #[arg(long, value_name = "ELEMENTS", value_parser = whole_number)]
    at_most: Option<u64>,
    /// automatic, rows-and-columns, strips, rows-and-strips, rows-only or columns-only
    #[arg(long, default_value = "automatic", value_parser = layout)]
    layout: LayoutChoice,
}

impl MechanismArguments {
    fn mechanism(&self, elements_per_owner: u64) -> Result<AnonymizedHistogram, Failure> {
        let size = self.at_most.map_or(ElementCount::Private, ElementCount::AtMost);
        let mechanism =
            AnonymizedHistogram::within(Target::pure(self.epsilon), Scope::Presence, size)?.with_layout(self.layout);
        Ok(mechanism.with_elements_per_owner(elements_per_owner)?)
    }
}

#[derive(Args)]
struct GenerateArguments {
    /// The family: staircase, wide-staircase, zipf, passwords, flat or singletons
    #[arg(value_parser = family)]
    family: HistogramFamily,
    /// How many elements at most
    #[arg(long, value_parser = generated_elements)]
    elements: u64,
    /// Prints JSON: a list of [count, how_many]
    #[arg(long)]
    json: bool,
}

fn generate(arguments: &GenerateArguments) -> Result<(), Failure> {
    let partition = arguments.family.generate(arguments.elements)?;
    if arguments.json {
        let runs: Vec<[u64; 2]> = partition.runs().map(|run| [run.count, run.values]).collect();
        return print_line(&serde_json::json!({ "runs": runs }));
    }
    print(&as_csv(&partition))
}

/// The frequency-of-frequencies table, as `release` reads it.
fn as_csv(partition: &Partition) -> String {
    let rows: String = partition.runs().map(|run| format!("{},{}\n", run.count, run.values)).collect();
    format!("count,how_many\n{rows}")
}

/// Writes a picture, before anything goes to stdout.
pub(super) fn write_svg(path: Option<&std::path::Path>, svg: impl FnOnce() -> String) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    std::fs::write(path, svg())
        .map_err(|error| Failure::Input(format!("cannot write the picture {}: {error}", path.display())))
}

pub(super) fn layout(text: &str) -> Result<LayoutChoice, String> {
    named(text, "layout", &LayoutChoice::ALL, LayoutChoice::name)
}

fn family(text: &str) -> Result<HistogramFamily, String> {
    named(text, "family", &HistogramFamily::ALL, HistogramFamily::name)
}

pub(super) fn named<T: Copy>(text: &str, what: &str, all: &[T], name: fn(T) -> &'static str) -> Result<T, String> {
    let names: Vec<&str> = all.iter().map(|one| name(*one)).collect();
    let position = names.iter().position(|name| *name == text);
    position.map(|position| all[position]).ok_or_else(|| format!("the {what} must be one of {}", names.join(", ")))
}

/// A whole number, also as 1e7.
pub(super) fn whole_number(text: &str) -> Result<u64, String> {
    let refused = || format!("'{text}' is not a whole number such as 1000 or 1e7");
    if let Ok(number) = text.parse::<u64>() {
        return Ok(number);
    }
    let number: f64 = text.parse().map_err(|_| refused())?;
    let whole = number >= 0.0 && number.fract() == 0.0 && number <= 9e15;
    if whole { Ok(number as u64) } else { Err(refused()) }
}

/// Generated histograms are built value by value, so there is an end to them.
pub(super) fn generated_elements(text: &str) -> Result<u64, String> {
    let elements = whole_number(text)?;
    if (1..=1_000_000_000).contains(&elements) {
        Ok(elements)
    } else {
        Err("the elements of a generated histogram must be a whole number in [1, 1e9]".to_string())
    }
}
