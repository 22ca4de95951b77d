//! The section on attackers who do not know everything.

use super::Report;
use super::format::escaped;
use crate::attackers::{Finding, answer};
use crate::budget::{Spent, rounded_up, shown_delta};
use crate::error::Result;
use crate::project::Attacker;
use scumble::scope::Scope;
use scumble_adversary::attacker::{Guarantee, Verdict, brittleness};
use serde_json::{Value, json};
use std::fmt::Write;

/// What the project's attacker learns from one release, beside what the release gives away without assumptions.
pub(super) struct Against {
    release: String,
    answer: Finding,
    /// ε of the release in the scope `person`, at `delta`.
    unassuming: Option<f64>,
    delta: f64,
    /// What else the ledger holds.
    others: usize,
}

impl Report<'_> {
    /// One for each release; nothing if the project declares no attacker.
    pub(super) fn against(&self) -> Result<Vec<Against>> {
        let mut all = Vec::new();
        let delta = self.delta(&Scope::Person)?;
        for one in self.published {
            let Some(answer) = answer(self.project, &one.counted)? else { continue };
            let spent = Spent::of(&one.events, &Scope::Person)?;
            let answer = answer.at_most(|delta| spent.epsilon(delta).map(|epsilon| epsilon.to_f64_up()));
            all.push(Against {
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

impl Against {
    pub(super) fn json(&self) -> Value {
        let mut shown = self.answer.json();
        shown["release"] = json!(self.release);
        if let Some(epsilon) = self.epsilon() {
            shown["epsilon"] = json!(epsilon);
        }
        shown["without_assumptions"] = json!({ "scope": "person", "epsilon": self.unassuming, "delta": self.delta });
        shown["other_releases"] = json!(self.others);
        shown
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
pub(super) fn section(report: &Report<'_>, all: &[Against]) -> Result<String> {
    let Some(attacker) = &report.project.attacker else { return Ok(String::new()) };
    let mut text = String::from("<section id=\"attackers\"><h2>What weaker attackers learn</h2>");
    let _ = write!(text, "<p class=\"warning\">{}</p>", escaped(brittleness()));
    let _ = write!(
        text,
        "<p>Everything above holds against somebody who knows all about everybody else. The project file also declares a weaker \
         attacker: {}. If all of that is true, then each release, <em>taken alone</em>, tells such an attacker at most this:</p>",
        escaped(&declared(attacker))
    );
    text.push_str(
        "<div class=\"wide\"><table><thead><tr><th>release</th><th>without assumptions</th><th>this attacker</th><th>δ</th></tr></thead><tbody>",
    );
    for one in all {
        let unassuming = one.unassuming.map_or("∞".to_string(), rounded_up);
        let (epsilon, delta) = match (one.epsilon(), one.guarantee()) {
            (Some(epsilon), Some(found)) => {
                (format!("ε = {}", rounded_up(epsilon)), scumble_adversary::attacker::rounded_up(found.delta))
            }
            _ => ("nothing claimed".to_string(), "–".to_string()),
        };
        let _ = write!(
            text,
            "<tr><td>{}</td><td>ε = {unassuming}</td><td>{epsilon}</td><td>{delta}</td></tr>",
            escaped(&one.release)
        );
    }
    let _ = write!(
        text,
        "</tbody></table></div><p class=\"soft\">Without assumptions: person, δ = {}.{}</p>",
        shown_delta(&report.delta(&Scope::Person)?),
        others(all.first().map_or(0, |one| one.others))
    );
    for one in all {
        text.push_str(&details(one));
    }
    text.push_str("</section>");
    Ok(text)
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

fn details(one: &Against) -> String {
    let words = one.answer.words().replacen(brittleness(), "", 1);
    let mut text =
        format!("<details><summary>{}</summary><p class=\"soft\">{}</p>", escaped(&one.release), escaped(words.trim()));
    if let Some(guarantee) = one.guarantee() {
        text.push_str("<div class=\"wide\"><table><thead><tr><th>if assumptions fail</th><th>ε</th><th>δ</th></tr></thead><tbody>");
        for row in &guarantee.degradation {
            let (epsilon, delta) = match row.claim {
                Some((epsilon, delta)) => (rounded_up(epsilon), scumble_adversary::attacker::rounded_up(delta)),
                None => ("no guarantee".to_string(), "–".to_string()),
            };
            let _ =
                write!(text, "<tr><td>{}</td><td>{epsilon}</td><td>{delta}</td></tr>", escaped(&row.change.words()));
        }
        text.push_str("</tbody></table></div>");
    }
    text.push_str("</details>");
    text
}
