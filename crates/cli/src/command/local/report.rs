//! `scumble local report`.

use super::{Alphabet, LocalQuestion, LocalQuestionArguments};
use crate::failure::Failure;
use crate::input;
use crate::output::{print, print_line};
use clap::Args;
use scumble::noise::BitSource;
use scumble::parties::local::FrequencyOracle;
use scumble::parties::local::mean::{Mean, UNIT};
use serde_json::json;
use std::path::Path;

#[derive(Args)]
#[command(after_help = "Example:\n  scumble local report apple --alphabet fruits.txt --epsilon 1")]
pub struct LocalReportArguments {
    /// The owner's value; else values are read from stdin, one per line
    #[arg(conflicts_with = "absent")]
    value: Option<String>,
    #[command(flatten)]
    question: LocalQuestionArguments,
    /// Report that there is no value; needs --presence
    #[arg(long, requires = "presence")]
    absent: bool,
    /// Reproducible reports, for tests: NOT private
    #[arg(long, value_name = "N")]
    insecure_seed: Option<u64>,
    /// Print JSON instead of one report per line
    #[arg(long)]
    json: bool,
}

/// Reads everything before anything is drawn, so that a wrong value leaves no report.
pub fn run(arguments: &LocalReportArguments) -> Result<(), Failure> {
    let asked = arguments.question.asked()?;
    let given = match (&arguments.value, arguments.absent) {
        (Some(value), _) => value.clone(),
        (None, true) => String::new(),
        (None, false) => input::text(Path::new("-"))?,
    };
    let alone = arguments.value.is_some();
    let warning = "reports from --insecure-seed can be read by anybody: they are not private";
    let mut bits = input::bits(arguments.insecure_seed, Some(warning))?;
    let reports = match &asked {
        LocalQuestion::Frequencies(oracle, _) if arguments.absent => vec![oracle.absent(&mut *bits).to_string()],
        LocalQuestion::Frequencies(oracle, alphabet) => frequencies(oracle, alphabet, &given, alone, &mut *bits)?,
        LocalQuestion::Mean(mean) => means(mean, &given, alone, &mut *bits)?,
    };
    if arguments.json {
        let oracle = if let LocalQuestion::Frequencies(oracle, _) = &asked { oracle.kind().name() } else { "mean" };
        let (epsilon, private) = (arguments.question.epsilon.get(), arguments.insecure_seed.is_none());
        return print_line(&json!({ "reports": reports, "oracle": oracle, "epsilon": epsilon, "private": private }));
    }
    print(&reports.iter().map(|report| format!("{report}\n")).collect::<String>())
}

/// The values that were given, with where each stands.
fn values(given: &str, alone: bool) -> Result<Vec<(String, &str)>, Failure> {
    if alone {
        return Ok(vec![("the value".to_string(), given)]);
    }
    let lines: Vec<_> = given.lines().enumerate().map(|(place, line)| (format!("line {}", place + 1), line)).collect();
    if lines.is_empty() {
        refuse!("standard input has no value; an owner without one reports with --presence --absent");
    }
    Ok(lines)
}

fn frequencies(
    oracle: &FrequencyOracle,
    alphabet: &Alphabet,
    given: &str,
    alone: bool,
    bits: &mut dyn BitSource,
) -> Result<Vec<String>, Failure> {
    let places = alphabet.places();
    let last = oracle.values() - 1;
    let place = |(at, value): &(String, &str)| {
        let (found, wanted) = match alphabet {
            Alphabet::Numbers(_) => (number(value, last), format!("a whole number from 0 to {last}")),
            Alphabet::Names(_) => (places.get(value).copied(), "one of the alphabet's".to_string()),
        };
        // The value itself is not repeated: what is printed may be kept somewhere.
        found.ok_or_else(|| match value.is_empty() {
            true => Failure::Input(format!(
                "{at} is empty: it must be {wanted}; an owner without a value reports with --presence --absent"
            )),
            false => Failure::Input(format!("{at} must be {wanted}")),
        })
    };
    let places = values(given, alone)?.iter().map(place).collect::<Result<Vec<u64>, _>>()?;
    let report = |value: &u64| oracle.report(*value, bits).map(|report| report.to_string());
    Ok(places.iter().map(report).collect::<scumble::Result<_>>()?)
}

fn number(text: &str, last: u64) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|letter| letter.is_ascii_digit());
    text.parse().ok().filter(|value| digits && *value <= last)
}

fn means(mean: &Mean, given: &str, alone: bool, bits: &mut dyn BitSource) -> Result<Vec<String>, Failure> {
    let share = |(at, value): &(String, &str)| {
        let number = value.trim().parse().ok().filter(|number| (0.0..=1.0).contains(number));
        let number: f64 = number.ok_or_else(|| Failure::Input(format!("{at} must be a number from 0 to 1")))?;
        Ok((number * f64::from(UNIT)).round() as u32)
    };
    let shares = values(given, alone)?.iter().map(share).collect::<Result<Vec<u32>, Failure>>()?;
    let report = |share: &u32| mean.report(*share, bits).map(|bit| if bit { "m1" } else { "m0" }.to_string());
    Ok(shares.iter().map(report).collect::<scumble::Result<_>>()?)
}
