//! `scumble local`: what an owner's device runs, and what the collector of its reports runs.

mod collect;
mod lines;
mod report;

use crate::command::anonymized_histogram::named;
use crate::failure::Failure;
use crate::input;
use clap::{Args, Subcommand};
use scumble::parties::local::mean::Mean;
use scumble::parties::local::{AbsentOwners, FrequencyOracle, ReportKind};
use scumble::quantity::Epsilon;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The subcommands.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  scumble local report apple --alphabet fruits.txt --epsilon 1 > report.txt\n  \
                  scumble local collect reports.txt --alphabet fruits.txt --epsilon 1")]
pub struct LocalArguments {
    #[command(subcommand)]
    what: LocalCommand,
}

#[derive(Subcommand)]
enum LocalCommand {
    /// Randomizes a report about one owner's value, on the owner's device
    Report(report::LocalReportArguments),
    /// Estimates how many owners hold each value, from their reports
    Collect(collect::LocalCollectArguments),
}

/// Runs one of the subcommands.
pub fn run(arguments: &LocalArguments) -> Result<(), Failure> {
    match &arguments.what {
        LocalCommand::Report(arguments) => report::run(arguments),
        LocalCommand::Collect(arguments) => collect::run(arguments),
    }
}

/// The question to every owner; the same on both sides.
#[derive(Args)]
struct LocalQuestionArguments {
    /// The ε of one report
    #[arg(long)]
    epsilon: Epsilon,
    /// How many values there are: 0, 1, … (also as 1e6)
    #[arg(long, value_name = "K", value_parser = super::anonymized_histogram::whole_number)]
    values: Option<u64>,
    /// A file with the values there are, one per line
    #[arg(long, value_name = "FILE", conflicts_with = "values")]
    alphabet: Option<PathBuf>,
    /// Owners have numbers from 0 to 1; estimate their mean
    #[arg(long, conflicts_with_all = ["values", "alphabet", "oracle", "presence"])]
    mean: bool,
    /// k-ary, unary or hadamard [default: the least error]
    #[arg(long, value_parser = kind)]
    oracle: Option<ReportKind>,
    /// Owners without a value report too (report --absent)
    #[arg(long)]
    presence: bool,
}

fn kind(text: &str) -> Result<ReportKind, String> {
    named(text, "oracle", &ReportKind::ALL, ReportKind::name)
}

/// A question that can be answered.
enum LocalQuestion {
    Frequencies(FrequencyOracle, Alphabet),
    Mean(Mean),
}

impl LocalQuestionArguments {
    /// What owners without a value do.
    fn absent(&self) -> AbsentOwners {
        if self.presence { AbsentOwners::Report } else { AbsentOwners::Silent }
    }

    fn asked(&self) -> Result<LocalQuestion, Failure> {
        if self.mean {
            return Ok(LocalQuestion::Mean(Mean::new(self.epsilon)?));
        }
        let alphabet = match (&self.alphabet, self.values) {
            (Some(path), _) => Alphabet::read(path)?,
            (None, Some(values)) => Alphabet::Numbers(values),
            (None, None) => {
                refuse!("choose what owners are asked for: --values K, --alphabet FILE or --mean");
            }
        };
        let oracle = FrequencyOracle::chosen(self.oracle, self.absent(), self.epsilon, alphabet.values())?;
        Ok(LocalQuestion::Frequencies(oracle, alphabet))
    }
}

/// The values that owners may hold.
enum Alphabet {
    /// 0, 1, …
    Numbers(u64),
    /// Names, in the order of the file.
    Names(Vec<String>),
}

impl Alphabet {
    fn read(path: &Path) -> Result<Self, Failure> {
        let text = input::text(path)?;
        let names: Vec<String> = text.lines().map(str::to_string).collect();
        let mut first: HashMap<&str, usize> = HashMap::new();
        for (place, name) in names.iter().enumerate() {
            let line = place + 1;
            refuse_if!(name.trim().is_empty(), "{} line {line}: a value must not be empty", path.display());
            if let Some(earlier) = first.insert(name, line) {
                refuse!("{} line {line}: the same value as in line {earlier}", path.display());
            }
        }
        Ok(Self::Names(names))
    }

    fn values(&self) -> u64 {
        match self {
            Self::Numbers(values) => *values,
            Self::Names(names) => names.len() as u64,
        }
    }

    fn name(&self, value: usize) -> String {
        match self {
            Self::Numbers(_) => value.to_string(),
            Self::Names(names) => names[value].clone(),
        }
    }

    /// The place of each name; nothing for numbers.
    fn places(&self) -> HashMap<&str, u64> {
        match self {
            Self::Numbers(_) => HashMap::new(),
            Self::Names(names) => names.iter().zip(0..).map(|(name, place)| (name.as_str(), place)).collect(),
        }
    }
}
