//! "Could somebody …?": which attack was tried against which release, and what it got. It reads the ledger's events alone: no table, and nothing is charged.

use super::html::{escaped, grouped};
use super::{Report, scope_name};
use crate::budget::{Spent, one_attribute};
use crate::error::Result;
use scumble::attack::coin::{Outcome, guess};
use scumble::event::Event;
use scumble::limits::neighbours::success_at_most;
use scumble::noise::InsecureSeededSource;
use scumble::quantity::{Delta, Epsilon};
use scumble::scope::Scope;
use serde_json::{Value, json};
use std::fmt::Write;

/// So many coins are tossed for each question, or fewer where each takes many numbers.
const COINS: u32 = 4_000;
/// So many noisy numbers are drawn for each question at most.
const NUMBERS: u64 = 400_000;

/// One question about one release.
pub(super) struct Tried {
    release: String,
    kind: String,
    scope: Scope,
    outcome: Outcome,
    /// The part of the coins that nobody can expect more of, by the release's ε and δ in this scope.
    at_most: f64,
}

impl Report<'_> {
    /// Whether somebody is in the data, and the attribute that costs most, for each release.
    pub(super) fn tried(&self) -> Result<Vec<Tried>> {
        let mut all = Vec::new();
        for one in self.published {
            let events = &one.events;
            for scope in [Some(Scope::Presence), self.worst_attribute(events)?].into_iter().flatten() {
                let at_most = self.ceiling(events, &scope)?;
                let (release, kind) = (one.charge.release.clone(), one.charge.kind.clone());
                all.push(Tried { release, kind, outcome: outcome(events, &scope)?, at_most, scope });
            }
        }
        Ok(all)
    }

    /// (e^ε + δ)/(e^ε + 1) at the δ of the scope; 1 where no ε is promised.
    fn ceiling(&self, events: &[Event], scope: &Scope) -> Result<f64> {
        let delta = self.delta(scope)?;
        let Some(epsilon) = Spent::of(events, scope)?.epsilon(&delta) else { return Ok(1.0) };
        Ok(success_at_most(Epsilon::new(epsilon.to_f64_up())?, Delta::new(delta.to_f64_up())?))
    }

    /// The attribute about which most can be guessed; none if the release moves with none.
    fn worst_attribute(&self, events: &[Event]) -> Result<Option<Scope>> {
        let mut worst: Option<(f64, Scope)> = None;
        for name in self.project.attributes() {
            let scope = one_attribute(&name)?;
            let ceiling = self.ceiling(events, &scope)?;
            if ceiling > worst.as_ref().map_or(0.5, |(before, _)| *before) {
                worst = Some((ceiling, scope));
            }
        }
        Ok(worst.map(|(_, scope)| scope))
    }
}

/// The coins are made up, so that everybody may see the same ones.
fn outcome(events: &[Event], scope: &Scope) -> Result<Outcome> {
    let moved = events.iter().flat_map(|event| {
        event.moves().shifts(scope).into_iter().map(|shift| shift.cells.saturating_mul(event.times()))
    });
    let numbers = moved.fold(0u64, u64::saturating_add).max(1);
    let coins = u32::try_from(NUMBERS / numbers).unwrap_or(COINS).clamp(100, COINS);
    Ok(guess(events, scope, coins, &mut InsecureSeededSource::new(2003))?)
}

impl Tried {
    /// What somebody wants to know.
    fn question(&self) -> String {
        match &self.scope {
            Scope::Presence => "whether a person is in the data".to_string(),
            scope => format!("a person's {}", scope_name(scope)),
        }
    }

    /// Why nothing was tried; none where something was.
    fn untried(&self) -> Option<String> {
        match self.outcome {
            Outcome::Guessed { .. } => None,
            Outcome::Unmoved => Some("nothing that is published depends on it".to_string()),
            Outcome::NoNoise(word) => Some(format!(
                "not tried: the ledger has a bound for kind {} ('{word}') and no noise to draw",
                self.kind
            )),
            Outcome::TooMany(numbers) => Some(format!("not tried: {numbers} numbers depend on it")),
        }
    }

    pub(super) fn json(&self) -> Value {
        let mut shown = json!({
            "release": self.release, "scope": scope_name(&self.scope), "could_somebody_tell": self.question(),
            "at_most": self.at_most,
        });
        match (self.outcome, self.untried()) {
            (Outcome::Guessed { right, coins }, _) => {
                shown["attack"] = json!("the likelier of two neighbours, by somebody who knows everything else");
                shown["right"] = json!(right);
                shown["of"] = json!(coins);
            }
            (_, why) => shown["not_tried"] = json!(why),
        }
        shown
    }
}

/// The section of the page; nothing if nothing was published.
pub(super) fn section(all: &[Tried]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "<section id=\"could-somebody\"><h2>Could somebody …?</h2><p>We tried, as somebody who knows everybody else's rows and how each release is made. A coin says \
         which of two made-up tables is released, which differ in one person; the release's own noise is drawn, and the guess is the likelier table. Without looking, \
         half of the coins are right. No row of the data was read for that, and nothing was charged.</p><div class=\"wide\"><table><thead><tr><th>release</th>\
         <th>could somebody tell …</th><th>guessed right</th><th>nobody can expect more</th></tr></thead><tbody>",
    );
    let percent = |part: f64| format!("{:.1}%", 100.0 * part);
    for one in all {
        let _ = write!(text, "<tr><td>{}</td><td>{}</td>", escaped(&one.release), escaped(&one.question()));
        // Rounded up: it is a bound.
        let ceiling = percent((one.at_most * 1000.0).ceil() / 1000.0);
        let _ = match (one.outcome, one.untried()) {
            (Outcome::Guessed { right, coins }, _) => write!(
                text,
                "<td>{} ({} of {})</td><td>{ceiling}</td></tr>",
                percent(f64::from(right) / f64::from(coins)),
                grouped(&right.to_string()),
                grouped(&coins.to_string()),
            ),
            (_, why) => write!(text, "<td>{}</td><td>{ceiling}</td></tr>", escaped(&why.unwrap_or_default())),
        };
    }
    let _ = write!(
        text,
        "</tbody></table></div><p class=\"soft\">The last column follows from ε and δ of the release and holds for every attack. What is guessed in {} tosses \
         scatters by about 1.6 percentage points around what is expected. Of the attributes, the one about which most can be guessed is listed.</p></section>",
        grouped(&COINS.to_string())
    );
    text
}
