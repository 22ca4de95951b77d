//! "Could somebody …?": which attack was tried against which release, and what it got. It reads the ledger's events
//! alone: no table, and nothing is charged.

use super::format::{grouped, table};
use super::{Report, scope_name};
use crate::budget::{Odometer, one_attribute};
use crate::error::Result;
use maud::{Markup, html};
use scumble::event::Event;
use scumble::noise::InsecureSeededSource;
use scumble::quantity::{Beta, Delta, Epsilon};
use scumble::scope::Scope;
use scumble_adversary::attack::coin::{CoinOutcome, guess};
use scumble_adversary::limits::neighbours::success_at_most;
use serde::Serialize;

/// This many coins are tossed for each question, or fewer where each takes many numbers.
const COINS: u32 = 10_000;
/// This many noisy numbers are drawn for each question at most.
const NUMBERS: u64 = 400_000;

/// The largest probability that a printed lower bound of an attack's expected success is too high.
const SCATTER: f64 = 1e-4;

/// One question about one release.
pub(super) struct GuessingAttack {
    release: String,
    kind: String,
    scope: Scope,
    outcome: CoinOutcome,
    /// What the tosses prove that this attack can expect at least, if they were tossed.
    at_least: Option<f64>,
    /// The part of the coins that nobody can expect more of, by the release's ε and δ in this scope.
    at_most: f64,
}

/// The same as JSON.
#[derive(Serialize)]
pub(super) struct GuessingAttackDocument<'a> {
    release: &'a str,
    scope: String,
    could_somebody_tell: String,
    at_most: f64,
    #[serde(flatten)]
    outcome: OutcomeDocument,
}

/// What came of an attack, or why there was none.
#[derive(Serialize)]
#[serde(untagged)]
enum OutcomeDocument {
    Guessed { attack: &'static str, right: u32, of: u32, expected_at_least: Option<f64> },
    NotTried { not_tried: Option<String> },
}

impl Report<'_> {
    /// Whether somebody is in the data, and the attribute that costs most, for each release.
    pub(super) fn tried(&self) -> Result<Vec<GuessingAttack>> {
        let mut all = Vec::new();
        for one in self.published {
            let events = &one.events;
            for scope in [Some(Scope::Presence), self.worst_attribute(events)?].into_iter().flatten() {
                let at_most = self.ceiling(events, &scope)?;
                let (release, kind) = (one.charge.release.clone(), one.charge.kind.clone());
                let outcome = outcome(events, &scope)?;
                all.push(GuessingAttack {
                    release,
                    kind,
                    outcome,
                    at_least: outcome.at_least(Beta::new(SCATTER)?)?,
                    at_most,
                    scope,
                });
            }
        }
        Ok(all)
    }

    /// (e^ε + δ)/(e^ε + 1) at the δ of the scope; 1 where no ε is promised.
    fn ceiling(&self, events: &[Event], scope: &Scope) -> Result<f64> {
        let delta = self.delta(scope)?;
        let Some(epsilon) = Odometer::of(events, scope)?.epsilon(&delta) else { return Ok(1.0) };
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
fn outcome(events: &[Event], scope: &Scope) -> Result<CoinOutcome> {
    let moved = events.iter().flat_map(|event| {
        event.moves().shifts(scope).into_iter().map(|shift| shift.cells.saturating_mul(event.times()))
    });
    let numbers = moved.fold(0u64, u64::saturating_add).max(1);
    let coins = u32::try_from(NUMBERS / numbers).unwrap_or(COINS).clamp(100, COINS);
    Ok(guess(events, scope, coins, &mut InsecureSeededSource::new(2003))?)
}

impl GuessingAttack {
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
            CoinOutcome::Guessed { .. } => None,
            CoinOutcome::Unmoved => Some("nothing that is published depends on it".to_string()),
            CoinOutcome::NoNoise(word) => Some(format!(
                "not tried: the ledger has a bound for kind {} ('{word}') and no noise to draw",
                self.kind
            )),
            CoinOutcome::TooMany(numbers) => Some(format!("not tried: {numbers} numbers depend on it")),
            _ => Some("not tried".to_string()),
        }
    }

    /// What the attack can expect at least, never above what anybody can; and whether the tosses alone would have said
    /// more.
    fn expected(&self) -> Option<(f64, bool)> {
        self.at_least.map(|at_least| (at_least.min(self.at_most), at_least > self.at_most))
    }

    pub(super) fn document(&self) -> GuessingAttackDocument<'_> {
        let outcome = match (self.outcome, self.untried()) {
            (CoinOutcome::Guessed { right, coins }, _) => OutcomeDocument::Guessed {
                attack: "the likelier of two neighbours, by somebody who knows everything else",
                right,
                of: coins,
                expected_at_least: self.expected().map(|(part, _)| part),
            },
            (_, not_tried) => OutcomeDocument::NotTried { not_tried },
        };
        GuessingAttackDocument {
            release: &self.release,
            scope: scope_name(&self.scope),
            could_somebody_tell: self.question(),
            at_most: self.at_most,
            outcome,
        }
    }
}

/// The section of the page; nothing if nothing was published.
pub(super) fn section(all: &[GuessingAttack]) -> Markup {
    let head = [
        "release",
        "could somebody tell …",
        "guessed right",
        "so this attack can expect at least",
        "nobody can expect more than",
    ];
    let rows = html! { @for one in all { (row(one)) } };
    html! {
        @if !all.is_empty() {
            section #could-somebody {
                h2 { "Could somebody …?" }
                p {
                    "We tried, as somebody who knows everybody else's rows and how each release is made. A coin says \
                     which of two made-up tables is released, which differ in one person; the release's own noise is \
                     drawn, and the guess is the likelier table. Without looking, half of the coins are right. No \
                     row of the data was read for that, and nothing was charged."
                }
                (table(&head, &rows))
                p.soft {
                    "The last column follows from ε and δ of the release and holds for every attack. How many of "
                    (grouped(&COINS.to_string()))
                    " tosses are guessed right scatters by chance, so that a number of right guesses may be a little \
                     above that; what it proves about this attack stands beside it, and is too much with probability \
                     1 in 10,000 at most. Of the attributes, the one about which most can be guessed is listed."
                }
            }
        }
    }
}

fn row(one: &GuessingAttack) -> Markup {
    // Bounds: one is rounded down, the other up.
    let ceiling = format!("{:.1}%", (one.at_most * 1000.0).ceil() / 10.0);
    html! {
        tr {
            td { (one.release) }
            td { (one.question()) }
            @if let (CoinOutcome::Guessed { right, coins }, None) = (one.outcome, one.untried()) {
                td { (grouped(&right.to_string())) " of " (grouped(&coins.to_string())) " coins" }
                td {
                    @if let Some((part, is_cut)) = one.expected() {
                        (format!("{:.1}%", (part * 1000.0).floor() / 10.0))
                        @if is_cut { " (the tosses got more, as they do by chance one time in 10,000)" }
                    }
                }
            } @else {
                td colspan="2" { (one.untried().unwrap_or_default()) }
            }
            td { (ceiling) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scumble::quantity::Beta;
    use serde_json::{Value, json};

    fn expected_in_json(tried: &GuessingAttack) -> Value {
        json!(tried.document())["expected_at_least"].clone()
    }

    fn tried(right: u32, at_most: f64) -> GuessingAttack {
        let outcome = CoinOutcome::Guessed { right, coins: 10_000 };
        let at_least = outcome.at_least(Beta::new(SCATTER).unwrap()).unwrap();
        GuessingAttack { release: "r".into(), kind: "sql".into(), scope: Scope::Presence, outcome, at_least, at_most }
    }

    /// 63.0% of the coins stood beside "nobody can expect more: 62.3%".
    #[test]
    fn what_is_expected_is_never_shown_above_what_anybody_can_expect() {
        let usual = tried(6_300, 0.6225);
        assert!(expected_in_json(&usual).as_f64().unwrap() < 0.6125);
        let page = section(&[usual]).into_string();
        assert!(page.contains("<td>6300 of 10\u{202f}000 coins</td><td>61.1%</td><td>62.3%</td>"), "{page}");
        let unlikely = tried(6_600, 0.6225);
        assert_eq!(expected_in_json(&unlikely), json!(0.6225));
        let page = section(&[unlikely]).into_string();
        assert!(
            page.contains(
                "<td>62.2% (the tosses got more, as they do by chance one time in 10,000)</td><td>62.3%</td>"
            ),
            "{page}"
        );
    }
}
