//! The HTML page. No scripts, no fonts, no pictures from anywhere; readable at 400 pixels and in print.

use super::attackers::{self, AttackerFinding};
use super::format::{self, digits, grouped, shown};
use super::guessing_attack::{self, GuessingAttack};
use super::picture::{self, Plate};
use super::{Report, bounding, front, limits, precision, reading, scope_name, text};
use crate::budget::{Odometer, rounded_up, shown_delta};
use crate::error::Result;
use crate::release::output::{AnswerColumn, Answers, UNBOUNDED};
use crate::release::run::published::PublishedRelease;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use scumble::quantity::Exact;
use scumble::scope::Scope;
use scumble_chart::{Axis, LineChart, Picture, Series, Size};
use serde_json::Value;

/// Rows of a release that the page shows; the CSV has them all.
const SHOWN_ROWS: usize = 15;
/// Curves that a chart can hold.
const SHOWN_CURVES: usize = 8;

const STYLE: &str = include_str!("style.css");

/// The whole page.
pub(super) fn page(report: &Report<'_>, against: &[AttackerFinding], tried: &[GuessingAttack]) -> Result<String> {
    let parts = [
        ("curves", "Privacy curves", curves(report)?),
        ("who-pays", "Who pays for what", matrix(report)?),
        ("pairs", "Sensitive attributes together with others", pairs(report)?),
        ("readings", "What that means", readings(report)?),
        ("could-somebody", "Could somebody …?", guessing_attack::section(tried)),
        ("attackers", "What weaker attackers learn", attackers::section(report, against)?),
        ("limits", "What an optimal mechanism could have done", limits::section(report)),
        ("assumptions", "What this rests on", assumptions(report)),
        ("by-hand", "To check by hand", parameters(report)),
    ];
    let sections: Vec<(&str, &str)> =
        parts.iter().filter(|(.., part)| !part.0.is_empty()).map(|(id, title, _)| (*id, *title)).collect();
    let summary = summary(report, &sections)?;
    let releases = report.in_order().into_iter().map(|one| release(report, one)).collect::<Result<Vec<_>>>()?;
    let page = html! {
        (DOCTYPE) "\n"
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                meta name="viewport" content="width=device-width,initial-scale=1";
                title { "Scumble report" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    (front::header(report))
                    (summary)
                    @for release in &releases { (release) }
                    (unshown(report))
                    @for (.., part) in &parts { (part) }
                }
            }
        }
        "\n"
    };
    Ok(page.into_string())
}

fn summary(report: &Report<'_>, sections: &[(&str, &str)]) -> Result<Markup> {
    let together = together(report)?;
    let is_unbounded = report.spent(&Scope::Presence)?.epsilon(&report.delta(&Scope::Presence)?).is_none();
    let (verdict, budget) = (front::verdict(report)?, front::budget(report)?);
    Ok(html! {
        section {
            h2 { "In short" }
            @for sentence in &verdict { p.verdict { (sentence) } }
            (front::scale())
            p {
                "The numbers below bound what everything in the ledger together can give away, to somebody who knows \
                 everything else."
            }
            (together)
            @if is_unbounded {
                p.warning {
                    "ε = ∞: something was published without noise, and without assumptions about the attacker nothing \
                     is promised."
                }
            }
            p.soft {
                "ε bounds how much the published numbers can change anybody's odds about a person: by a factor of at \
                 most e"
                sup { "ε" }
                ", except with probability δ. Smaller is more private; 0 means that nothing was given away."
            }
            (budget)
            (bounding::statement(report))
            (front::contents(report, sections))
        }
    })
}

/// What everything together gives away about a whole person, and about whether somebody is there.
fn together(report: &Report<'_>) -> Result<Markup> {
    let mut numbers = Vec::new();
    for (scope, words) in
        [(Scope::Person, "all of a person's values"), (Scope::Presence, "whether a person is in the data")]
    {
        let delta = report.delta(&scope)?;
        numbers.push((epsilon(&report.spent(&scope)?, &delta), words, scope.to_string(), shown_delta(&delta)));
    }
    Ok(html! {
        div.big {
            @for (epsilon, words, scope, delta) in &numbers {
                div {
                    b { "ε = " (epsilon) }
                    (words) " "
                    span class="soft together" { "(" (scope) ", δ = " (delta) ")" }
                }
            }
        }
    })
}

fn release(report: &Report<'_>, one: &PublishedRelease) -> Result<Markup> {
    let (answers, charge) = (&one.answers, &one.charge);
    let plate = picture::of_release(report, one)?;
    // What is not private says so before it says anything else.
    let exposed = answers.details.facts.get("differentially_private").is_some_and(|private| private == false);
    let file = one.file.file_name().unwrap_or_default().to_string_lossy();
    Ok(html! {
        section id={ "entry-" (charge.sequence) } {
            h2 { (picture::title(report, one)) }
            p.soft {
                "published " (front::moment(&charge.time)) ", kind " (charge.kind) ", entry " (charge.sequence)
                " of the ledger" @if one.is_replaced { "; charged again since" }
            }
            @if let Some(sql) = charge.rule["sql"].as_str().filter(|_| one.is_query()) { pre.sql { (sql.trim()) } }
            @if exposed { (noted(answers, "warning")) }
            @if one.is_synthetic() {
                p { (grouped(&one.rows.to_string())) " synthetic rows, in " code { (file) } "." }
            } @else {
                @if let Some(plate) = &plate { (figures(plate)) }
                (table(answers, one.rows))
                @if plate.as_ref().is_some_and(Plate::has_groups) { (precision::by_size(answers)) }
                (quantiles(answers))
            }
            @if !exposed { (noted(answers, "soft")) }
        }
    })
}

/// The chart of a release: a large one as wide as the page, or as a phone; small ones beside each other.
fn figures(plate: &Plate) -> Markup {
    html! {
        @if let Some(panel) = &plate.big { (both_sizes(|size| picture::big(panel, size))) }
        @else { p { (plate.words.subtitle) } }
        @match &plate.small[..] {
            [] => {}
            [panel] => (both_sizes(|size| picture::small(panel, size))),
            several => div.charts {
                @for panel in several { figure { (PreEscaped(picture::small(panel, Size::Narrow).to_svg())) } }
            }
        }
        @for note in &plate.words.notes { p.soft { (note) } }
    }
}

/// The chart for pages and for phones; the style shows one of them. Its texts are escaped as XML wants it where it is
/// drawn.
fn both_sizes(draw: impl Fn(Size) -> Picture) -> Markup {
    html! {
        figure.on-page { (PreEscaped(draw(Size::Wide).to_svg())) }
        figure.on-phone { (PreEscaped(draw(Size::Narrow).to_svg())) }
    }
}

/// What was charged and cannot be shown, and why; nothing if all is there.
fn unshown(report: &Report<'_>) -> Markup {
    let rows = html! {
        @for one in report.unshown {
            tr {
                td { (one.charge.release) }
                td { (one.charge.sequence) }
                td { (front::moment(&one.charge.time)) }
                td { (one.why.sentence()) }
            }
        }
    };
    html! {
        @if !report.unshown.is_empty() {
            section {
                h2 { "Also charged" }
                p { "These are in the ledger and in all sums; their numbers are not shown here." }
                (format::table(&["release", "entry", "charged", "why"], &rows))
            }
        }
    }
}

fn noted(answers: &Answers, class: &str) -> Markup {
    html! { @for note in bounding::other_notes(answers) { p class=(class) { (note) } } }
}

fn table(answers: &Answers, rows: usize) -> Markup {
    // Beside many noisy columns there is no room for standard errors: the intervals tell as much, and the CSV has them.
    let noisy = answers.columns.iter().filter(|column| column.uncertainty.is_some()).count();
    html! {
        div class=(if noisy > 2 { "wide many" } else { "wide" }) {
            table {
                thead {
                    tr {
                        @for column in &answers.columns {
                            th { (column.name) @if column.has_intervals() { " ± 95%" } }
                            @if column.uncertainty.is_some() { th.beside { "std. error" } }
                        }
                    }
                }
                tbody {
                    @for row in 0..answers.rows().min(SHOWN_ROWS) {
                        tr { @for column in &answers.columns { (cells(column, row)) } }
                    }
                }
            }
        }
        (precision::legend(answers, SHOWN_ROWS))
        @if rows > SHOWN_ROWS {
            p.soft {
                "The first " (SHOWN_ROWS) " of " (grouped(&rows.to_string())) " rows; the CSV file has all."
            }
        }
        @if rows == 0 { p.soft { "No row was published." } }
    }
}

/// A cell; a noisy number rounded to its error, with its margin and its standard error.
fn cells(column: &AnswerColumn, row: usize) -> Markup {
    let unsure = column.uncertainty.as_ref().map(|list| &list[row]);
    html! {
        @let mark = unsure.and_then(|unsure| precision::mark(&column.cells[row], unsure));
        td {
            @match unsure {
                Some(_) => (column.cells[row].with_margin(unsure)),
                None => (shown(&column.cells[row])),
            }
            @if let Some(mark) = mark { span.mark { (mark) } }
        }
        @if let Some(unsure) = unsure { td.beside { (end(unsure.standard_error)) } }
    }
}

/// Quantiles that were read off a published distribution, if it says any.
fn quantiles(answers: &Answers) -> Markup {
    let Some(list) = answers.details.facts.get("quantiles").and_then(Value::as_array) else { return Markup::default() };
    let text = |value: &Value| match value {
        Value::Number(number) => number.as_f64().map_or(String::new(), digits),
        Value::String(text) => text.clone(),
        _ => "not known".to_string(),
    };
    let rows = html! {
        @for one in list {
            tr {
                td { (text(&one["share"])) }
                td { (text(&one["value"])) }
                td { (text(&one["low"])) " … " (text(&one["high"])) }
            }
        }
    };
    html! {
        h3 { "Quantiles" }
        (format::table(&["share of the rows", "at most", "what the intervals of the counts leave open"], &rows))
    }
}

fn curves(report: &Report<'_>) -> Result<Markup> {
    let curves = report.curves()?;
    if curves.is_empty() {
        return Ok(Markup::default());
    }
    let mut chart = LineChart::new("Privacy curves").x(Axis::linear("ε")).y(Axis::log("δ"));
    for curve in curves.iter().take(SHOWN_CURVES) {
        chart = chart.line(Series::new(curve.name.clone(), curve.points.clone()));
    }
    Ok(html! {
        section #curves {
            h2 { "Privacy curves" }
            p {
                "For each scope, all releases together are (ε, δ)-private for every point on its curve. \
                 A vertical line is a pure guarantee, for which δ does not matter."
            }
            (both_sizes(|size| chart.clone().size(size).picture()))
            @if curves.len() > SHOWN_CURVES { p.soft { "The JSON report has the remaining curves." } }
        }
    })
}

fn matrix(report: &Report<'_>) -> Result<Markup> {
    let scopes = report.scopes()?;
    let names: Vec<String> = scopes.iter().map(scope_name).collect();
    let deltas = scopes.iter().map(|scope| report.delta(scope)).collect::<Result<Vec<Exact>>>()?;
    let mut lines = Vec::new();
    for charge in report.charges {
        let spent =
            scopes.iter().map(|scope| Ok(Odometer::of(&charge.events, scope)?)).collect::<Result<Vec<Odometer>>>()?;
        lines.push((charge.release.as_str(), spent));
    }
    let together = scopes.iter().map(|scope| report.spent(scope)).collect::<Result<Vec<Odometer>>>()?;
    let costs =
        |spent: &[Odometer]| html! { @for (spent, delta) in spent.iter().zip(&deltas) { (cost_cell(spent, delta)) } };
    let head: Vec<&str> = std::iter::once("release").chain(names.iter().map(String::as_str)).collect();
    let rows = html! {
        @if report.earlier() > 0 {
            tr {
                td colspan=(scopes.len() + 1) {
                    (report.earlier()) " earlier releases (" code { "scumble ledger show" } " tells them all)"
                }
            }
        }
        @for (name, spent) in &lines { tr { td { (name) } (costs(spent)) } }
        tr { td { b { "together" } } (costs(&together)) }
    };
    Ok(html! {
        section #who-pays {
            h2 { "Who pays for what" }
            p { "ε of each release in each scope. A release that does not read an attribute costs it nothing." }
            (format::table(&head, &rows))
            p.soft { "Each at the δ of its budget. Together can be less than the sum." }
        }
    })
}

/// ε as it is shown; ∞ where there is none.
fn epsilon(spent: &Odometer, delta: &Exact) -> String {
    spent.epsilon(delta).map_or_else(|| "∞".to_string(), |epsilon| rounded_up(epsilon.to_f64_up()))
}

fn cost_cell(spent: &Odometer, delta: &Exact) -> Markup {
    let shown = epsilon(spent, delta);
    html! { td class=[(shown == "0").then_some("zero")] { (shown) } }
}

fn pairs(report: &Report<'_>) -> Result<Markup> {
    let pairs = report.pairs()?;
    if pairs.is_empty() {
        return Ok(Markup::default());
    }
    let mut lines = Vec::new();
    for pair in pairs {
        let scope = Scope::Attributes(pair);
        lines.push((scope_name(&scope), report.spent(&scope)?, report.delta(&scope)?));
    }
    let rows = html! {
        @for (name, spent, delta) in &lines {
            tr { td { (name) } (cost_cell(spent, delta)) td { (shown_delta(delta)) } }
        }
    };
    Ok(html! {
        section #pairs {
            h2 { "Sensitive attributes together with others" }
            (format::table(&["attributes", "ε", "δ"], &rows))
        }
    })
}

fn readings(report: &Report<'_>) -> Result<Markup> {
    let lines = reading::rows(report)?;
    let unbounded = lines.iter().any(|row| row.numbers.contains(&None));
    let head: Vec<&str> = std::iter::once("about").chain(reading::FIELDS.map(|(name, _)| name)).collect();
    let rows = html! {
        @for row in &lines {
            tr {
                td { (row.name) }
                @for number in row.numbers { td { (number.map_or("no bound".to_string(), rounded_up)) } }
            }
        }
    };
    Ok(html! {
        section #readings {
            h2 { "What that means" }
            p { "Upper bounds that follow from the numbers above, for all releases together:" }
            @if let Some(person) = lines.first() { ul { @for line in reading::sentences(person) { li { (line) } } } }
            p { "The same for single attributes:" }
            (format::table(&head, &rows))
            ul.soft {
                @for (name, meaning) in reading::FIELDS { li { (name) ": " (meaning) } }
                @for line in unbounded.then_some(reading::NO_BOUND).into_iter().chain(reading::CAVEAT_LINES) {
                    li { (line) }
                }
            }
        }
    })
}

fn assumptions(report: &Report<'_>) -> Markup {
    html! {
        section #assumptions {
            h2 { "What this rests on" }
            ul { @for line in text::assumptions(report.project) { li { (line) } } }
        }
    }
}

fn parameters(report: &Report<'_>) -> Markup {
    html! {
        section #by-hand {
            h2 { "To check by hand" }
            p {
                "Costs add up by this rule: " (crate::summary::RULE)
                ". Each release's noise and sensitivity are below; "
                code { "scumble ledger verify --head HASH" }
                " checks that the ledger still holds this history."
            }
            p.hash {
                "Ledger head " code { (report.head.hex()) } " (" (report.head.entries) " entries)" br;
                "Project file " code { (report.project.digest) } br;
                (crate::ENGINE)
            }
            @for charge in report.charges {
                details {
                    summary { (charge.release) " (entry " (charge.sequence) ")" }
                    pre { (by_lines(&charge.rule)) }
                }
            }
        }
    }
}

/// A rule, a line for each of its fields. Statements for machines are in the JSON report alone.
fn by_lines(rule: &Value) -> String {
    let fields = rule.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, value)| !STATEMENTS.contains(&name.as_str()) && !value.is_null());
    fields.map(|(name, value)| format!("{name}: {}\n", without_statements(value))).collect()
}

/// The fields of a rule that hold SQL.
const STATEMENTS: [&str; 2] = ["sql", "integers"];

fn without_statements(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !STATEMENTS.contains(&name.as_str()));
            kept.map(|(name, value)| (name.clone(), without_statements(value))).collect()
        }
        Value::Array(list) => list.iter().map(without_statements).collect(),
        other => other.clone(),
    }
}

/// The same for an error or the end of an interval.
fn end(number: f64) -> String {
    if number.is_infinite() { UNBOUNDED.to_string() } else { digits(number) }
}
