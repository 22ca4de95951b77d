//! How much of an owner counts: once for all releases, not once for each.

use super::Report;
use crate::release::output::Answers;
use maud::{Markup, html};

/// What a release's answers say of that; it is their first note too.
fn said(answers: &Answers) -> Option<&str> {
    answers.details.facts.get("estimates")?.get("words")?.as_str()
}

/// The statement before all releases; nothing where every row counts.
pub(super) fn statement(report: &Report<'_>) -> Markup {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    let published = report.in_order();
    let with = published.iter().filter(|one| !one.is_replaced).filter_map(|one| Some((one, said(&one.answers)?)));
    for (one, words) in with {
        match all.iter_mut().find(|(known, _)| *known == words) {
            Some((_, names)) => names.push(&one.charge.release),
            None => all.push((words, vec![&one.charge.release])),
        }
    }
    let everywhere = published.iter().filter(|one| !one.is_replaced).count();
    html! {
        @if !all.is_empty() {
            h3 { "How much of an owner counts" }
            @if all.len() == 1 && all[0].1.len() == everywhere {
                p { (all[0].0) }
            } @else {
                ul { @for (words, names) in &all { li { b { (names.join(", ")) } ": " (words) } } }
            }
        }
    }
}

/// The notes of an answer, without the statement on bounding that stands above.
pub(super) fn other_notes(answers: &Answers) -> impl Iterator<Item = &str> {
    let said = said(answers);
    answers.notes.iter().map(String::as_str).filter(move |note| Some(*note) != said)
}
