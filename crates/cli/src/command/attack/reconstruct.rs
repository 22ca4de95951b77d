//! `scumble attack reconstruct`.

use super::Findings;
use super::published::{Published, Source, column};
use crate::failure::Failure;
use crate::output::print;
use clap::{Args, ValueEnum};
use scumble::attack::{exhaustive, least_squares, linear, recovered};
use scumble::limits::neighbours::success_at_most;
use scumble::limits::singular::MOST_COLUMNS;
use scumble::quantity::{Delta, Epsilon, rounded_up};
use serde_json::json;
use std::path::PathBuf;

/// What was published, and how to attack it.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// A CSV file with the secret column, 0 or 1 per line: says how much was recovered
    #[arg(long, value_name = "CSV")]
    truth: Option<PathBuf>,
    /// How to look for the column (every column up to 20 people, the linear programme up to 3000, otherwise least squares)
    #[arg(long, value_enum)]
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
    /// The least total error, at most 3000 people
    Linear,
    /// The least squared error
    LeastSquares,
}

/// Reads what was published, attacks it, prints.
pub fn run(arguments: &Arguments) -> std::result::Result<(), Failure> {
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
        ReconstructionMethod::LeastSquares => by_squares(&published)?,
    };
    if let Some(truth) = &published.truth {
        judge(&mut answer, &found, truth, arguments)?;
    }
    print(&if arguments.json { format!("{}\n", answer.numbers) } else { answer.words })
}

fn as_numbers(column: &[bool]) -> Vec<u8> {
    column.iter().map(|bit| u8::from(*bit)).collect()
}

fn by_trying(published: &Published) -> std::result::Result<(Vec<bool>, Findings), Failure> {
    let found = exhaustive::reconstruct(&published.queries, &published.answers)?;
    let first = found.columns.first().copied().unwrap_or(0);
    let column: Vec<bool> = (0..published.queries.people()).map(|i| first >> i & 1 == 1).collect();
    let words = format!(
        "{} of all columns explain the answers with an error of at most {}\nthe first: {}\n",
        found.columns.len(),
        found.least_error,
        shown(&column)
    );
    let numbers = json!({
        "method": "exhaustive", "least_error": found.least_error, "reconstructions": found.columns, "column": as_numbers(&column),
    });
    Ok((column, Findings { numbers, words }))
}

fn by_programme(published: &Published) -> std::result::Result<(Vec<bool>, Findings), Failure> {
    let found = linear::reconstruct(&published.queries, &published.answers)?;
    let words = format!("the column of least total error ({:.3}): {}\n", found.total_error, shown(&found.column));
    let numbers = json!({
        "method": "linear", "estimate": found.estimate, "column": as_numbers(&found.column),
        "total_error": found.total_error, "total_error_at_least": found.total_error_at_least,
    });
    Ok((found.column, Findings { numbers, words }))
}

fn by_squares(published: &Published) -> std::result::Result<(Vec<bool>, Findings), Failure> {
    let found = least_squares::reconstruct(&published.queries, &published.answers)?;
    let mut words = format!("the column of least squared error: {}\n", shown(&found.column));
    let mut numbers =
        json!({ "method": "least-squares", "estimate": found.estimate, "column": as_numbers(&found.column) });
    if published.queries.people() <= MOST_COLUMNS {
        // The inverse takes as long as everything else together.
        let certificate = least_squares::Certificate::of(&published.queries, published.queries.people() <= 1000)?;
        numbers["least_singular_value"] = json!(certificate.least_singular_value);
        numbers["predicted_wrong_fraction_sigma_1"] = json!(certificate.predicted_wrong(1.0));
        if let Some(truth) = published.truth.as_ref().filter(|truth| truth.len() == published.queries.people()) {
            let column: Vec<f64> = truth.iter().map(|bit| f64::from(u8::from(*bit))).collect();
            let exact = published.queries.answers(&column);
            let errors: Vec<f64> = exact.iter().zip(&published.answers).map(|(a, b)| a - b).collect();
            let wrong = certificate.wrong_at_most(&errors);
            numbers["wrong_at_most"] = json!(wrong);
            words += &wrong.map_or("no certificate: the least singular value may be 0\n".to_string(), |wrong| {
                format!("with these errors at most {} values can be wrong\n", rounded_up(wrong, 6))
            });
        }
    }
    Ok((found.column, Findings { numbers, words }))
}

/// What was recovered, beside the best constant guess and the ceiling.
fn judge(
    answer: &mut Findings,
    column: &[bool],
    truth: &[bool],
    arguments: &Arguments,
) -> std::result::Result<(), Failure> {
    let score = recovered(column, truth)?;
    let ceiling = arguments.epsilon.map(|epsilon| success_at_most(epsilon, arguments.delta));
    answer.numbers["recovered"] = json!({
        "people": score.people, "right": score.right, "constant_guess": score.constant_guess, "ceiling": ceiling,
    });
    answer.words += &format!(
        "recovered {} of {}; the best constant guess has {}\n",
        score.right, score.people, score.constant_guess
    );
    if let (Some(ceiling), Some(epsilon)) = (ceiling, arguments.epsilon) {
        answer.words += &format!(
            "at ε = {epsilon}, δ = {} nobody can expect more than {} of a column of fair coins\n",
            arguments.delta,
            rounded_up(ceiling * score.people as f64, 6)
        );
    }
    Ok(())
}

fn shown(column: &[bool]) -> String {
    let text: String = column.iter().take(100).map(|bit| if *bit { '1' } else { '0' }).collect();
    if column.len() > 100 { text + "…" } else { text }
}
