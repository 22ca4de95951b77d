//! What published numbers alone give away.

use crate::failure::Failure;
use crate::work::computed;
use pyo3::prelude::*;
use scumble::quantity::Probability;
use scumble_adversary::attack::membership::MembershipAttack;
use scumble_adversary::attack::{Queries, exhaustive, least_squares, linear, min_max};
use scumble_adversary::limits::singular::MOST_COLUMNS;

/// The secret column of 0 and 1 that explains the answers best: who is counted by each query, and its published count.
#[pyfunction]
#[pyo3(signature = (people, members, answers, method))]
pub fn reconstruct(
    py: Python<'_>,
    people: usize,
    members: Vec<Vec<u32>>,
    answers: Vec<f64>,
    method: Option<String>,
) -> PyResult<Vec<bool>> {
    computed(py, move || {
        let queries = Queries::new(people, members)?;
        let usual = match people {
            0..=20 => "exhaustive",
            21..=MOST_COLUMNS => "linear",
            _ => "least-squares",
        };
        match method.as_deref().unwrap_or(usual) {
            "exhaustive" => {
                let found = exhaustive::reconstruct(&queries, &answers)?;
                let first = found.columns.first().copied().unwrap_or(0);
                Ok((0..people).map(|person| first >> person & 1 == 1).collect())
            }
            "linear" => Ok(linear::reconstruct(&queries, &answers)?.column),
            "min-max" => Ok(min_max::reconstruct(&queries, &answers)?.column),
            "least-squares" => Ok(least_squares::reconstruct(&queries, &answers)?.column),
            other => Err(Failure::input(format!(
                "unknown method '{other}'; expected exhaustive, linear, min-max or least-squares"
            ))),
        }
    })
}

/// Scores of persons against published frequencies, and the threshold above which somebody who is not in the table is
/// with at most this probability.
#[pyfunction]
pub fn membership(
    published: Vec<f64>,
    population: Vec<f64>,
    persons: Vec<Vec<bool>>,
    false_positive: f64,
) -> PyResult<(f64, Vec<f64>)> {
    let scored = || -> Result<(f64, Vec<f64>), Failure> {
        let attack = MembershipAttack::new(&published, &population)?;
        let scores = persons.iter().map(|person| attack.score(person)).collect::<scumble::Result<Vec<f64>>>()?;
        Ok((attack.threshold(Probability::new(false_positive)?)?, scores))
    };
    Ok(scored()?)
}
