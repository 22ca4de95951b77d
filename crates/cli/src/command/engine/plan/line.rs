//! A plan in one line: what it costs for whom it matters, how far off its numbers will be, what it takes for a key to
//! show, what is cut off.

use super::super::counted;
use crate::failure::Failure;
use scumble::quantity::Exact;
use scumble::scope::Scope;
use scumble_engine::budget::{Odometer, rounded_up, shown_delta};
use scumble_engine::project::{CostScope, Project};
use scumble_engine::release::{ExpectedError, KeyNeed, PlannedRelease};
use scumble_engine::report::digits;

/// More columns than these are not named in a line.
const COLUMNS: usize = 4;

/// The line of a release, at a δ.
pub fn line(planned: &PlannedRelease, project: &Project, delta: &Exact) -> Result<String, Failure> {
    let plan = &planned.plan;
    let parts = [
        Some(costs(planned, project, delta)?),
        Some(errors(&plan.expected)).filter(|errors| !errors.is_empty()),
        plan.key_need().map(needed),
        plan.estimates.as_ref().map(|estimates| cut_off(estimates.words())),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Ok(format!("{}: {}\n", planned.request.name, parts.join("; ")))
}

/// What it costs a person, presence where the cost is about that, and the one whose budget it takes the largest part
/// of.
fn costs(planned: &PlannedRelease, project: &Project, delta: &Exact) -> Result<String, Failure> {
    let events = &planned.plan.events;
    let person = Odometer::of(events, &Scope::Person)?;
    // What the cost was given for is said, whatever the budget limits.
    let presence = match planned.request.cost.scope() {
        CostScope::Presence => Odometer::of(events, &Scope::Presence)?.epsilon(delta),
        _ => None,
    };
    let presence = presence.map(|own| rounded_up(own.to_f64_up()));
    let Some(epsilon) = person.epsilon(delta) else {
        let at = shown_delta(delta);
        return Ok(match (person.least_delta(), presence) {
            (None, _) => "no epsilon at any delta: published without noise".to_string(),
            (Some(_), None) => format!("no epsilon at delta {at}: ask for a larger --delta"),
            // A person who is replaced is two owners: their delta is twice that of one who comes or goes.
            (Some(_), Some(own)) => {
                format!("costs presence epsilon {own}, a person none at delta {at}: ask for a larger --delta")
            }
        });
    };
    let mut text = format!("costs a person epsilon {}", rounded_up(epsilon.to_f64_up()));
    let mut tightest: Option<(f64, Scope, f64)> = None;
    for (scope, limit) in project.budget.limits(&project.attributes())? {
        let spent = Odometer::of(events, &scope)?;
        let most = limit.most().to_f64_down();
        let Some(share) = limit.measure(&spent).map(|spent| spent.to_f64_up() / most).filter(|_| most > 0.0) else {
            continue;
        };
        let own = spent.epsilon(delta).map_or(f64::INFINITY, |epsilon| epsilon.to_f64_up());
        if tightest.as_ref().is_none_or(|(largest, ..)| share > *largest) {
            tightest = Some((share, scope, own));
        }
    }
    let tightest = tightest.filter(|(_, scope, _)| *scope != Scope::Person);
    let is_tightest = tightest.as_ref().is_some_and(|(_, scope, _)| *scope == Scope::Presence);
    if let Some(own) = presence.filter(|_| !is_tightest) {
        text.push_str(&format!(", presence {own}"));
    }
    if let Some((_, scope, own)) = tightest {
        text.push_str(&format!(", {} {}", super::short(&scope), rounded_up(own)));
    }
    if person.pure_sum().is_none() || *person.delta() > Exact::zero() {
        text.push_str(&format!(" at delta {}", shown_delta(delta)));
    }
    Ok(text)
}

/// The error of each column, after what the numbers are.
fn errors(expected: &[ExpectedError]) -> String {
    let shown = &expected[..expected.len().min(COLUMNS)];
    let numbers: Vec<(Option<String>, Option<f64>)> = shown.iter().map(numbers).collect();
    let one = |(expected, (error, margin)): (&ExpectedError, &(Option<String>, Option<f64>))| match (error, margin) {
        (Some(error), Some(margin)) => format!("{} {error} ({})", expected.column, digits(*margin)),
        (Some(error), None) => format!("{} {error}", expected.column),
        (None, _) if expected.about.is_empty() => format!("{} depends on the data", expected.column),
        (None, _) => format!("{} ({})", expected.column, expected.about),
    };
    let heading = match numbers.iter().any(|(error, _)| error.is_some()) {
        true => format!("{}: ", heading(shown)),
        false => String::new(),
    };
    let more = match expected.len() - shown.len() {
        0 => None,
        more => Some(format!("{more} more")),
    };
    let columns = shown.iter().zip(&numbers).map(one).chain(more).collect::<Vec<_>>();
    format!("{heading}{}", columns.join(", "))
}

/// What the numbers of these columns are.
pub(super) fn heading(expected: &[ExpectedError]) -> &'static str {
    match expected.iter().any(|expected| numbers(expected).1.is_some()) {
        true => "standard error (95% margin)",
        false => "standard error",
    }
}

/// The standard error of a column, where one is known or assumed, and its 95% margin.
pub(super) fn numbers(expected: &ExpectedError) -> (Option<String>, Option<f64>) {
    match (expected.standard_error, &expected.assumed) {
        (Some(error), _) => (Some(digits(error)), expected.margin),
        (None, Some(assumed)) => (Some(format!("about {}", digits(assumed.standard_error))), assumed.margin),
        (None, None) => (None, None),
    }
}

fn needed(need: KeyNeed) -> String {
    match need {
        KeyNeed::Lead(lead) => format!("a value needs about {} more than the next one to show", counted(lead, "owner")),
        KeyNeed::Owners(owners) => format!("a key needs about {} to show", counted(owners, "owner")),
    }
}

/// What counts of an owner, in the words that the answers say it in.
fn cut_off(words: &str) -> String {
    let counted = words.split_once(": ").map_or(words, |(_, rest)| rest).split(". ").next().unwrap_or_default();
    format!("{}; the rest is cut off", counted.replace(", chosen at random", ""))
}
