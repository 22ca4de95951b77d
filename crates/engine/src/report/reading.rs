//! What the guarantees mean to somebody who thinks in odds, guesses, beliefs and bits (Propositions 26 and 27 of
//! \[GKMS\]).

use super::{Report, scope_name};
use crate::budget::rounded_up;
use crate::error::Result;
use crate::project::Domain;
use maud::{Markup, html};
use scumble::loss::reading::{CAVEATS, Reading};
use scumble::quantity::{Delta, Epsilon, Exact, Rho};
use scumble::scope::Scope;
use serde::Serialize;
use std::collections::BTreeMap;

/// What each number says, and what it assumes; in the order of the columns.
pub(super) const FIELDS: [(&str, &str); 5] = [
    ("odds", "by which factor the odds between any two values can change; assumes nothing"),
    (
        "guess of a bit",
        "how often a uniformly random yes or no among the attributes is guessed right; assumes nothing else",
    ),
    (
        "own belief",
        "how far a belief about the attributes can move (total variation, from 0 to 1), if they are believed independent of everything else, for instance because all else is known",
    ),
    (
        "with or without",
        "how far a belief about everybody's attributes differs from what it would be had only this owner's attributes been replaced by a default (Proposition 26, corrected)",
    ),
    (
        "bits",
        "how much information the published numbers hold about the attributes, if owners are independent and these attributes are independent of the owner's others (Proposition 27)",
    ),
];

/// Where the propositions stand.
const PAPER: &str = "https://arxiv.org/abs/2209.04053";

/// Why a number is not there.
pub(super) const NO_BOUND: &str = "no bound: the guarantee leaves out something of probability δ, or is not a pure ε";

/// The readings of a whole person in sentences, as far as there are bounds.
pub(super) fn sentences(person: &ScopeReading) -> Vec<Markup> {
    let [odds, guess, belief, with, bits] = person.numbers.map(|number| number.map(rounded_up));
    let proposition = |name: &str| html! { a href=(PAPER) { (name) } };
    let percent = guess.and_then(|guess| guess.parse::<f64>().ok()).map(|guess| (guess * 1000.0 - 1e-9).ceil() / 10.0);
    let lines = [
        odds.map(|odds| {
            html! { "The odds between any two versions of a person's data change by a factor of at most " (odds) "." }
        }),
        percent.map(|percent| {
            html! {
                "A yes-or-no fact about a person is guessed right with probability at most " (percent)
                "%; a coin has 50%."
            }
        }),
        belief.map(|belief| {
            html! {
                "Somebody who knows all else changes a belief about a person by at most " (belief)
                ", on a scale from 0 to 1."
            }
        }),
        with.map(|with| {
            html! {
                "A belief about everybody differs by at most " (with)
                " from what it would be without this person's values, on the same scale ("
                (proposition("Proposition 26")) ", corrected)."
            }
        }),
        bits.map(|bits| {
            html! {
                "If people are independent, the published numbers hold at most " (bits) " bits about a person ("
                (proposition("Proposition 27")) ")."
            }
        }),
    ];
    lines.into_iter().flatten().collect()
}

/// What has to be said beside them.
pub(super) const CAVEAT_LINES: [&str; 3] = CAVEATS;

/// The readings of one scope.
pub(super) struct ScopeReading {
    /// The owner's attributes that they are about.
    pub name: String,
    /// The numbers in the order of [`FIELDS`]; none where no finite bound is known (a guarantee that holds except with
    /// probability δ has no odds).
    pub numbers: [Option<f64>; 5],
}

/// The readings for a whole person, for each attribute, and for each sensitive pair.
pub(super) fn rows(report: &Report<'_>) -> Result<Vec<ScopeReading>> {
    let mut scopes: Vec<Scope> = report.scopes()?.into_iter().filter(|scope| *scope != Scope::Presence).collect();
    scopes.extend(report.pairs()?.into_iter().map(Scope::Attributes));
    let mut rows = Vec::new();
    for scope in scopes {
        let spent = report.spent(&scope)?;
        // ε and ρ hold except with the probability that key selection, or what has no noise, took for itself.
        let epsilon = spent.pure_sum().map_or(f64::INFINITY, |epsilon| epsilon.to_f64_up());
        let rho = spent.rho(spent.delta()).map_or(f64::INFINITY, |rho| rho.to_f64_up());
        let reading = Reading::of(Epsilon::new(epsilon).ok(), Rho::new(rho).ok(), combinations(report, &scope));
        let reading = reading.except_with_probability(Delta::new(spent.delta().to_f64_up().min(1.0))?);
        let pure = epsilon.is_finite() && *spent.delta() == Exact::zero();
        let numbers = [
            Some(reading.posterior_odds_factor).filter(|factor| factor.is_finite()),
            Some(reading.bit_guess),
            Some(reading.prior_to_posterior).filter(|_| pure),
            Some(reading.with_or_without).filter(|_| pure),
            Some(reading.mutual_information_bits).filter(|bits| bits.is_finite()),
        ];
        rows.push(ScopeReading { name: scope_name(&scope), numbers });
    }
    Ok(rows)
}

/// How many combinations of values the attributes of a scope have; infinitely many where that is not public.
fn combinations(report: &Report<'_>, scope: &Scope) -> f64 {
    let Scope::Attributes(set) = scope else { return f64::INFINITY };
    let columns = report.project.tables.values().filter(|table| !table.public).flat_map(|table| &table.columns);
    let of = |domain: &Domain| match domain {
        Domain::Bool => 2.0,
        Domain::Category { values: Some(values) } => values.len() as f64,
        Domain::Int { bounds: Some((lower, upper)) } | Domain::Date { bounds: Some((lower, upper)) } => {
            lower.abs_diff(*upper) as f64 + 1.0
        }
        _ => f64::INFINITY,
    };
    // One more for a value that is missing.
    columns.filter(|column| set.contains(&column.name)).map(|column| of(&column.domain) + 1.0).product()
}

/// The readings in the report's JSON: what each number is, and what it assumes.
#[derive(Serialize)]
pub(super) struct Readings {
    rows: Vec<ReadingRow>,
    meanings: BTreeMap<&'static str, &'static str>,
    caveats: [&'static str; 3],
}

/// The readings of one scope.
#[derive(Serialize)]
struct ReadingRow {
    scope: String,
    #[serde(flatten)]
    numbers: BTreeMap<&'static str, Option<f64>>,
}

/// What the numbers are called in JSON, in the order of [`FIELDS`].
const KEYS: [&str; 5] =
    ["posterior_odds_factor", "bit_guess", "prior_to_posterior", "with_or_without", "mutual_information_bits"];

/// For the report's JSON.
pub(super) fn readings(report: &Report<'_>) -> Result<Readings> {
    let row = |ScopeReading { name, numbers }: ScopeReading| ReadingRow {
        scope: name,
        numbers: KEYS.into_iter().zip(numbers).collect(),
    };
    Ok(Readings {
        rows: rows(report)?.into_iter().map(row).collect(),
        meanings: KEYS.into_iter().zip(FIELDS.map(|(_, meaning)| meaning)).collect(),
        caveats: CAVEAT_LINES,
    })
}
