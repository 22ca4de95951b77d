//! The section on attackers who do not know everything.

use super::format::table;
use super::{AttackerLine, Report};
use crate::attackers::{Finding, FindingDocument, answer};
use crate::budget::{Odometer, rounded_up, shown_delta};
use crate::error::Result;
use crate::project::Attacker;
use maud::{Markup, html};
use scumble::scope::Scope;
use scumble_adversary::attacker::{Guarantee, Verdict, brittleness};
use serde::Serialize;

/// What the project's attacker learns from one release, beside what the release gives away without assumptions.
pub(super) struct AttackerFinding {
    release: String,
    answer: Finding,
    /// ε of the release in the scope `person`, at `delta`.
    unassuming: Option<f64>,
    delta: f64,
    /// What else the ledger holds.
    others: usize,
}

/// The same as JSON.
#[derive(Serialize)]
pub(super) struct AttackerDocument<'a> {
    /// What `scumble lab attacker` prints.
    #[serde(flatten)]
    answer: FindingDocument,
    release: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    epsilon: Option<f64>,
    without_assumptions: AssumptionFreeLoss,
    other_releases: usize,
}

/// What the release gives away to everybody.
#[derive(Serialize)]
struct AssumptionFreeLoss {
    scope: &'static str,
    epsilon: Option<f64>,
    delta: f64,
}

impl Report<'_> {
    /// One for each release; nothing if the project declares no attacker.
    pub(super) fn against(&self) -> Result<Vec<AttackerFinding>> {
        let mut all = Vec::new();
        let delta = self.delta(&Scope::Person)?;
        for one in self.published {
            let Some(answer) = answer(self.project, &one.counted)? else { continue };
            let spent = Odometer::of(&one.events, &Scope::Person)?;
            let answer = answer.at_most(|delta| spent.epsilon(delta).map(|epsilon| epsilon.to_f64_up()));
            all.push(AttackerFinding {
                release: one.charge.release.clone(),
                answer,
                unassuming: spent.epsilon(&delta).map(|epsilon| epsilon.to_f64_up()),
                delta: delta.to_f64(),
                others: usize::try_from(self.standing.releases()).unwrap_or(usize::MAX).saturating_sub(1),
            });
        }
        Ok(all)
    }
}

impl AttackerFinding {
    pub(super) fn document(&self) -> AttackerDocument<'_> {
        AttackerDocument {
            answer: self.answer.document(),
            release: &self.release,
            epsilon: self.epsilon(),
            without_assumptions: AssumptionFreeLoss { scope: "person", epsilon: self.unassuming, delta: self.delta },
            other_releases: self.others,
        }
    }

    /// The same in one line.
    pub(super) fn line(&self) -> AttackerLine {
        let (release, without_assumptions) = (self.release.clone(), self.unassuming);
        AttackerLine { release, without_assumptions, epsilon: self.epsilon() }
    }

    /// ε against this attacker.
    fn epsilon(&self) -> Option<f64> {
        self.guarantee().map(|found| found.epsilon)
    }

    fn guarantee(&self) -> Option<&Guarantee> {
        match &self.answer {
            Finding::Learned(learned) => match &learned.verdict {
                Verdict::Guarantee(guarantee) => Some(guarantee),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The section of the page; nothing if the project declares no attacker.
pub(super) fn section(report: &Report<'_>, all: &[AttackerFinding]) -> Result<Markup> {
    let Some(attacker) = &report.project.attacker else { return Ok(Markup::default()) };
    let delta = report.delta(&Scope::Person)?;
    let rows = html! { @for one in all { (row(one)) } };
    Ok(html! {
        section #attackers {
            h2 { "What weaker attackers learn" }
            p.warning { (brittleness()) }
            p {
                "Everything above holds against an attacker who knows everybody else's data. The project file also \
                 declares a weaker attacker: "
                (declared(attacker))
                ". If all of that is true, then each release, " em { "taken alone" }
                ", tells such an attacker at most this:"
            }
            (table(&["release", "without assumptions", "this attacker", "δ"], &rows))
            p.soft {
                "Without assumptions: person, δ = " (shown_delta(&delta)) "."
                (others(all.first().map_or(0, |one| one.others)))
            }
            @for one in all { (details(one)) }
        }
    })
}

fn row(one: &AttackerFinding) -> Markup {
    let (epsilon, delta) = match (one.epsilon(), one.guarantee()) {
        (Some(epsilon), Some(found)) => {
            (format!("ε = {}", rounded_up(epsilon)), scumble_adversary::attacker::rounded_up(found.delta))
        }
        _ => ("nothing claimed".to_string(), "–".to_string()),
    };
    html! {
        tr {
            td { (one.release) }
            td { "ε = " (one.unassuming.map_or("∞".to_string(), rounded_up)) }
            td { (epsilon) }
            td { (delta) }
        }
    }
}

fn declared(attacker: &Attacker) -> String {
    let how = if attacker.active { "and may have chosen them" } else { "by chance" };
    let independent = match attacker.independent {
        true => "and who considers different people independent",
        false => "about whose view of different people nothing is declared",
    };
    format!(
        "one who knows at most {} % of the rows, {how}; who gives each value of every other row a probability of at least {}; {independent}",
        attacker.known_rows * 100.0,
        attacker.uncertainty
    )
}

fn others(count: usize) -> String {
    match count {
        0 => " Nothing else has been published from this ledger.".to_string(),
        count => format!(
            " The ledger holds {count} more {}: for somebody who has seen {} as well, the right column does not apply, and only the guarantee without assumptions holds.",
            if count == 1 { "release" } else { "releases" },
            if count == 1 { "it" } else { "them" }
        ),
    }
}

fn details(one: &AttackerFinding) -> Markup {
    let words = one.answer.words().replacen(brittleness(), "", 1);
    html! {
        details {
            summary { (one.release) }
            p.soft { (words.trim()) }
            @if let Some(guarantee) = one.guarantee() {
                (table(&["if assumptions fail", "ε", "δ"], &degradation(guarantee)))
            }
        }
    }
}

/// What is left of a guarantee, a line for each assumption that fails.
fn degradation(guarantee: &Guarantee) -> Markup {
    html! {
        @for row in &guarantee.degradation {
            @let (epsilon, delta) = match row.claim {
                Some((epsilon, delta)) => (rounded_up(epsilon), scumble_adversary::attacker::rounded_up(delta)),
                None => ("no guarantee".to_string(), "–".to_string()),
            };
            tr { td { (row.change.words()) } td { (epsilon) } td { (delta) } }
        }
    }
}
