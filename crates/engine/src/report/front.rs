//! What stands before everything else: when, from what, the verdict in plain words, what is left of the budget, and the
//! contents.

use super::{Report, reading, scope_name};
use crate::budget::{Limit, limit_words, rounded_down, rounded_up};
use crate::error::Result;
use maud::{Markup, html};
use scumble::scope::Scope;

/// The title, the date, the sources.
pub(super) fn header(report: &Report<'_>) -> Markup {
    html! {
        header {
            p.soft { "Scumble · differential privacy report" }
            h1 { "What was published, and what it gives away" }
            p.soft {
                (moment(&report.time)) " · project " code { (report.project.path.display().to_string()) } " · from "
                @for (index, table) in report.project.tables.values().enumerate() {
                    @if index > 0 { ", " }
                    code { (file_name(&table.source)) }
                }
            }
        }
    }
}

fn file_name(path: &std::path::Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// A time (UTC, RFC 3339) as a reader wants it.
pub(super) fn moment(time: &str) -> String {
    let (day, rest) = time.split_once('T').unwrap_or((time, ""));
    match rest.get(..5) {
        Some(minute) => format!("{day} {minute} UTC"),
        None => day.to_string(),
    }
}

/// The verdict: what the numbers below mean, in sentences.
pub(super) fn verdict(report: &Report<'_>) -> Result<Vec<String>> {
    let releases = report.standing.releases();
    let interrupted = report.charges.iter().filter(|charge| charge.state.output().is_none()).count();
    let together = match (releases, interrupted) {
        (1, 0) => "the one published statistic lets".to_string(),
        (number, 0) => format!("all {number} published statistics together let"),
        (1, _) => "the one release, which was interrupted and may or may not have been seen, lets".to_string(),
        (number, some) => {
            format!("all {number} releases together, {some} of them interrupted and perhaps not seen by anybody, let")
        }
    };
    // The scope person comes first.
    let guess = reading::rows(report)?.first().and_then(|row| row.numbers[1]).unwrap_or(1.0);
    let mut sentences = vec![match report.spent(&Scope::Person)?.epsilon(&report.delta(&Scope::Person)?) {
        None => "Nothing is promised to anybody: something was published without noise.".to_string(),
        Some(_) => format!(
            "{}: {together} an attacker who knows everybody else's data guess a yes-or-no fact about a person with probability at most {}, where tossing a coin has 50%.",
            grade(guess),
            percent_up(guess)
        ),
    }];
    let shares = shares(report)?;
    let tightest = shares.iter().max_by(|left, right| left.spent.total_cmp(&right.spent));
    sentences.extend(tightest.map(|one| match one.spent >= 1.0 {
        true => format!("The budget for {} is spent: nothing more about it can be published.", one.name),
        false => format!("Of the budget for {}, the tightest, {} is spent.", one.name, percent_up(one.spent)),
    }));
    if shares.is_empty() {
        sentences.push("No budget is set: the ledger records and refuses nothing.".to_string());
    }
    Ok(sentences)
}

/// Words for the probability of guessing a bit about a person, each up to a probability: upper bounds, hence "at most"
/// and "may".
const GRADES: [(f64, &str); 4] = [
    (0.6, "At most a little is given away"),
    (0.75, "Something may be given away"),
    (0.95, "Much may be given away"),
    (1.0, "Nearly everything may be given away"),
];

fn grade(guess: f64) -> &'static str {
    GRADES.iter().find(|(most, _)| guess <= *most).unwrap_or(&GRADES[3]).1
}

/// The scale of the verdict.
pub(super) fn scale() -> Markup {
    html! {
        p.soft {
            "The scale of the first sentence: "
            @for (index, (most, words)) in GRADES.iter().enumerate() {
                @if index > 0 { "; " }
                @if *most < 1.0 { "up to " (most * 100.0) "%" } @else { "above that" }
                " “" (words) "”"
            }
            "."
        }
    }
}

/// A share in percent, never below it.
fn percent_up(share: f64) -> String {
    format!("{}%", (share * 1000.0 - 1e-9).ceil() / 10.0)
}

/// How much of a limit is spent.
struct Share {
    name: String,
    limit: Limit,
    /// In words.
    amount: String,
    /// Of the limit, in [0, 1].
    spent: f64,
    /// What is left, in words.
    left: String,
}

fn shares(report: &Report<'_>) -> Result<Vec<Share>> {
    let mut shares = Vec::new();
    for (scope, limit) in report.project.budget.limits(&report.project.attributes())? {
        let spent = limit.measure(&report.spent(&scope)?);
        let amount = spent.as_ref().map_or("∞".to_string(), |spent| rounded_up(spent.to_f64_up()));
        let most = limit.most().to_f64_down();
        let number = spent.as_ref().map_or(f64::INFINITY, |spent| spent.to_f64_up());
        let left = rounded_down(spent.map_or(0.0, |spent| (limit.most().clone() - spent).to_f64_down().max(0.0)));
        let share = if most > 0.0 { (number / most).min(1.0) } else { 1.0 };
        shares.push(Share { name: scope_name(&scope), limit, amount, spent: share, left });
    }
    Ok(shares)
}

/// The limits with what is spent and left, each with a bar.
pub(super) fn budget(report: &Report<'_>) -> Result<Markup> {
    let shares = shares(report)?;
    Ok(html! {
        @if !shares.is_empty() {
            h3 { "Budget" }
            div.wide {
                table {
                    thead {
                        tr { th { "who or what" } th { "limit" } th { "spent" } th { "left" } th.bar { "left of it" } }
                    }
                    tbody { @for share in &shares { (bar(share)) } }
                }
            }
        }
    })
}

/// A limit's line.
fn bar(Share { name, limit, amount, spent, left }: &Share) -> Markup {
    let width = (100.0 * (1.0 - spent)).max(0.0);
    html! {
        tr {
            td { (name) }
            td { (limit_words(limit)) }
            td { (amount) }
            td { (left) }
            td.bar { span title=(format!("{width:.0}% left")) { i style=(format!("width:{width:.1}%")) {} } }
        }
    }
}

/// The contents: a line for each release and each section that there is.
pub(super) fn contents(report: &Report<'_>, sections: &[(&str, &str)]) -> Markup {
    html! {
        nav {
            ul {
                @for charge in report.in_order().into_iter().map(|one| &one.charge) {
                    li {
                        a href={ "#entry-" (charge.sequence) } { (charge.release) } " "
                        span.soft { (moment(&charge.time)) }
                    }
                }
                @for (id, title) in sections { li { a href={ "#" (id) } { (title) } } }
            }
        }
    }
}
