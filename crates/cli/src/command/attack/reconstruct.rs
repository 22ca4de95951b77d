//! `scumble lab attack reconstruct`.

use super::published::{PublishedQueries, PublishedQueriesArguments, column};
use super::{Findings, judge};
use crate::failure::Failure;
use crate::output::print;
use clap::{Args, ValueEnum};
use scumble::quantity::{Delta, Epsilon, rounded_up};
use scumble_adversary::attack::{exhaustive, least_squares, linear, min_max};
use scumble_adversary::limits::singular::MOST_COLUMNS;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What was published, and how to attack it.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble lab attack reconstruct --queries queries.csv --answers answers.csv")]
pub struct ReconstructArguments {
    #[command(flatten)]
    source: PublishedQueriesArguments,
    /// A CSV file with the secret column, 0 or 1 per line: prints how much was recovered
    #[arg(long, value_name = "CSV")]
    truth: Option<PathBuf>,
    /// exhaustive, linear, min-max or least-squares [default: by the number of people]
    #[arg(long, value_enum, hide_possible_values = true)]
    method: Option<ReconstructionMethod>,
    /// The ε that the numbers were published with, for the ceiling
    #[arg(long)]
    epsilon: Option<Epsilon>,
    /// The δ that the numbers were published with
    #[arg(long, default_value = "0")]
    delta: Delta,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReconstructionMethod {
    /// Every column, at most 24 people
    Exhaustive,
    /// The least total error, at most 3000 people: withstands answers that are garbage
    Linear,
    /// The least largest error, at most 3000 people: for answers that are all off by little, with a certificate
    MinMax,
    /// The least squared error
    LeastSquares,
}

/// Reads what was published, attacks it, prints.
pub fn run(arguments: &ReconstructArguments) -> Result<(), Failure> {
    let mut published = arguments.source.read()?;
    if let Some(path) = &arguments.truth {
        published.truth = Some(column(path)?);
    }
    let people = published.queries.people();
    let method = arguments.method.unwrap_or(match people {
        0..=20 => ReconstructionMethod::Exhaustive,
        21..=MOST_COLUMNS => ReconstructionMethod::Linear,
        _ => ReconstructionMethod::LeastSquares,
    });
    let (found, mut answer) = match method {
        ReconstructionMethod::Exhaustive => by_trying(&published)?,
        ReconstructionMethod::Linear => by_programme(&published)?,
        ReconstructionMethod::MinMax => by_largest(&published)?,
        ReconstructionMethod::LeastSquares => by_squares(&published)?,
    };
    if let Some(truth) = &published.truth {
        let promise = (arguments.epsilon, arguments.delta);
        judge(&mut answer, (&found, truth), promise, ["recovered", " of a column of fair coins"])?;
    }
    print(&if arguments.json { format!("{}\n", answer.numbers) } else { answer.words })
}

fn as_numbers(column: &[bool]) -> Vec<u8> {
    column.iter().map(|bit| u8::from(*bit)).collect()
}

fn by_trying(published: &PublishedQueries) -> Result<(Vec<bool>, Findings), Failure> {
    let found = exhaustive::reconstruct(&published.queries, &published.answers)?;
    let first = found.columns.first().copied().unwrap_or(0);
    let column: Vec<bool> = (0..published.queries.people()).map(|i| first >> i & 1 == 1).collect();
    let words = format!(
        "{} of all columns explain the answers with an error of at most {}\nthe first: {}\n",
        found.columns.len(),
        found.least_error,
        shown(&column)
    );
    let mut words = words;
    let mut numbers = json!({
        "method": "exhaustive", "least_error": found.least_error, "reconstructions": found.columns, "column": as_numbers(&column),
    });
    if let Some(wrong) = most_wrong(published) {
        numbers["wrong_at_most"] = json!(wrong);
        words += &format!("every question was asked, so that with these errors at most {wrong} values can be wrong\n");
    }
    Ok((column, Findings { numbers, words }))
}

/// 2⌊2E⌋ where all subsets of people were asked about and no answer is off by more than E (Vadhan 2017, 7.5.2, sharper:
/// up to ⌊2E⌋ ones are lost and as many gained). E is known with the truth alone.
fn most_wrong(published: &PublishedQueries) -> Option<u64> {
    let (queries, people) = (&published.queries, published.queries.people());
    let most = errors(published).filter(|_| people <= 24)?.iter().map(|error| error.abs()).fold(0.0, f64::max);
    let mask = |query: usize| queries.members(query).iter().fold(0u64, |mask, person| mask | 1 << person);
    let mut asked: BTreeSet<u64> = (0..queries.count()).map(mask).collect();
    // Nobody needs to ask about nobody.
    asked.insert(0);
    if asked.len() as u64 != 1 << people {
        return None;
    }
    Some(2 * (2.0 * most).floor() as u64)
}

fn by_programme(published: &PublishedQueries) -> Result<(Vec<bool>, Findings), Failure> {
    let found = linear::reconstruct(&published.queries, &published.answers)?;
    let words = format!("the column of least total error ({:.3}): {}\n", found.total_error, shown(&found.column));
    let numbers = json!({
        "method": "linear", "estimate": found.estimate, "column": as_numbers(&found.column),
        "total_error": found.total_error, "total_error_at_least": found.total_error_at_least,
    });
    Ok((found.column, Findings { numbers, words }))
}

fn by_largest(published: &PublishedQueries) -> Result<(Vec<bool>, Findings), Failure> {
    let (queries, answers) = (&published.queries, &published.answers);
    let found = min_max::reconstruct(queries, answers)?;
    let mut words =
        format!("the column of least largest error ({:.3}): {}\n", found.largest_error, shown(&found.column));
    let certificate = least_squares::MatrixCertificate::of(queries, false)?;
    let mut numbers = json!({
        "method": "min-max", "estimate": found.estimate, "column": as_numbers(&found.column),
        "largest_error": found.largest_error, "largest_error_at_least": found.largest_error_at_least,
        "least_singular_value": certificate.least_singular_value,
    });
    if let Some(errors) = errors(published) {
        let most = errors.iter().map(|error| error.abs()).fold(0.0, f64::max);
        let wrong = found.wrong_at_most(&certificate, queries.count(), most);
        numbers["wrong_at_most"] = json!(wrong);
        words += &certified(wrong);
    }
    Ok((found.column, Findings { numbers, words }))
}

/// How far the answers are off, which is known with the truth alone.
fn errors(published: &PublishedQueries) -> Option<Vec<f64>> {
    let truth = published.truth.as_ref().filter(|truth| truth.len() == published.queries.people())?;
    let column: Vec<f64> = truth.iter().map(|bit| f64::from(u8::from(*bit))).collect();
    Some(published.queries.answers(&column).iter().zip(&published.answers).map(|(a, b)| a - b).collect())
}

fn certified(wrong: Option<f64>) -> String {
    wrong.map_or("no certificate: the least singular value may be 0\n".to_string(), |wrong| {
        format!("with these errors at most {} values can be wrong\n", rounded_up(wrong, 6))
    })
}

fn by_squares(published: &PublishedQueries) -> Result<(Vec<bool>, Findings), Failure> {
    let found = least_squares::reconstruct(&published.queries, &published.answers)?;
    let mut words = format!("the column of least squared error: {}\n", shown(&found.column));
    let mut numbers =
        json!({ "method": "least-squares", "estimate": found.estimate, "column": as_numbers(&found.column) });
    if published.queries.people() <= MOST_COLUMNS {
        // The inverse takes as long as everything else together.
        let certificate = least_squares::MatrixCertificate::of(&published.queries, published.queries.people() <= 1000)?;
        numbers["least_singular_value"] = json!(certificate.least_singular_value);
        numbers["predicted_wrong_fraction_sigma_1"] = json!(certificate.predicted_wrong(1.0));
        if let Some(errors) = errors(published) {
            let wrong = certificate.wrong_at_most(&errors);
            numbers["wrong_at_most"] = json!(wrong);
            words += &certified(wrong);
        }
    }
    Ok((found.column, Findings { numbers, words }))
}

fn shown(column: &[bool]) -> String {
    let text: String = column.iter().take(100).map(|bit| if *bit { '1' } else { '0' }).collect();
    if column.len() > 100 { text + "…" } else { text }
}
