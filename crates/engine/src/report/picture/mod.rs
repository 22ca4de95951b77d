//! The picture of a release: which one shows its answer ([`choice`]), as SVG and PNG ([`draw`]) and as a Vega-Lite
//! specification ([`vega`]). All of it is computed from published numbers and from words of the project file.

mod choice;
mod draw;
mod files;
mod numbers;
mod plate;
mod table;
#[cfg(test)]
mod tests;
mod vega;
mod words;

pub(super) use draw::{big, small};
pub(crate) use files::{places, write};
pub(super) use plate::Plate;

use super::Report;
use crate::error::Result;
use crate::release::output::Answers;
use crate::release::run::published::PublishedRelease;
use words::ChartWords;

/// The picture of a release; none where its answer has no two numbers that can be drawn.
pub(super) fn of_release(report: &Report<'_>, one: &PublishedRelease) -> Result<Option<Plate>> {
    if one.is_synthetic() {
        return Ok(None);
    }
    let words = ChartWords::of(report, one)?;
    Ok(plate(&one.answers, &words, one.rows))
}

/// What readers call a release.
pub(super) fn title(report: &Report<'_>, one: &PublishedRelease) -> String {
    ChartWords::new(report.project, &one.charge.release, &one.charge.rule).title
}

/// The picture of an answer with so many published rows.
fn plate(answers: &Answers, words: &ChartWords<'_>, published: usize) -> Option<Plate> {
    let mut plate = match &answers.details.curve {
        Some(curve) => Plate::of_curve(curve),
        None => choice::choose(&table::ChartTable::of(answers, words)?, published)?,
    };
    (plate.words.title, plate.words.source) = (words.title.clone(), words.source.clone());
    Some(plate)
}
