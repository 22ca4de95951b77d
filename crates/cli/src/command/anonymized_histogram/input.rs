//! Files of counts and of edges.

use crate::failure::Failure;
use scumble::mechanism::anonymized_histogram::{Partition, Run};
use std::collections::HashMap;
use std::path::Path;

/// Reads one count per line, or a count and how many values have it; a first line `count…`, empty lines and `#`
/// comments are skipped.
pub fn counts(path: &Path) -> Result<Partition, Failure> {
    let text = text(path)?;
    let mut runs = Vec::new();
    for (number, fields) in lines(&text) {
        if number == 1 && fields.first().is_some_and(|field| field.eq_ignore_ascii_case("count")) {
            continue;
        }
        let run = match fields[..] {
            [count] => parsed(count).map(|count| Run { count, values: 1 }),
            [count, values] => parsed(count).zip(parsed(values)).map(|(count, values)| Run { count, values }),
            _ => None,
        };
        runs.push(run.ok_or_else(|| {
            let wanted = "expected a count, or a count and the number of values that have it, as whole numbers";
            Failure::Input(format!("{} line {number}: {wanted}", path.display()))
        })?);
    }
    partition(path, Partition::from_runs(runs))
}

/// Reads one edge per line, as the names of its two ends, and counts the ends.
pub fn degrees(path: &Path) -> Result<Partition, Failure> {
    let text = text(path)?;
    let mut degrees: HashMap<&str, u64> = HashMap::new();
    for (number, fields) in lines(&text) {
        let [left, right] = fields[..] else {
            let sentence = "expected an edge as the names of its two ends";
            refuse!("{} line {number}: {sentence}", path.display());
        };
        *degrees.entry(left).or_default() += 1;
        *degrees.entry(right).or_default() += 1;
    }
    partition(path, Partition::from_counts(degrees.into_values()))
}

fn partition(path: &Path, result: scumble::Result<Partition>) -> Result<Partition, Failure> {
    result.map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
}

fn text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::Input(format!("cannot read {}: {error}", path.display())))
}

fn lines(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#')).map(
        |(position, line)| {
            let separators = |character: char| character == ',' || character == ';' || character.is_whitespace();
            (position + 1, line.split(separators).filter(|field| !field.is_empty()).collect())
        },
    )
}

fn parsed(field: &str) -> Option<u64> {
    field.parse().ok()
}
