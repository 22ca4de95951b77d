//! The HTML page. No scripts, no fonts, no pictures from anywhere; readable at 400 pixels and in print.

use super::attackers::{self, Against};
use super::charts::{Drawing, both_sizes, charts};
use super::could::{self, Tried};
use super::format::{digits, escaped, grouped, shown};
use super::{Report, front, limits, reading, scope_name, text};
use crate::budget::{Spent, rounded_up, shown_delta};
use crate::error::Result;
use crate::release::output::{Answers, UNBOUNDED};
use crate::release::run::published::PublishedRelease;
use scumble::quantity::Exact;
use scumble::scope::Scope;
use scumble_chart::{Axis, Chart, Series};
use serde_json::Value;
use std::fmt::Write;

/// Rows of a release that the page shows; the CSV has them all.
const SHOWN_ROWS: usize = 15;
/// Curves that a chart can hold.
const SHOWN_CURVES: usize = 8;

const STYLE: &str = include_str!("style.css");

/// The whole page.
pub(super) fn page(report: &Report<'_>, against: &[Against], tried: &[Tried]) -> Result<String> {
    let parts = [
        ("curves", "Privacy curves", curves(report)?),
        ("who-pays", "Who pays for what", matrix(report)?),
        ("pairs", "Sensitive attributes together with others", pairs(report)?),
        ("readings", "What that means", readings(report)?),
        ("could-somebody", "Could somebody …?", could::section(tried)),
        ("attackers", "What weaker attackers learn", attackers::section(report, against)?),
        ("limits", "What an optimal mechanism could have done", limits::section(report)),
        ("assumptions", "What this rests on", assumptions(report)),
        ("by-hand", "To check by hand", parameters(report)?),
    ];
    let sections: Vec<(&str, &str)> =
        parts.iter().filter(|(.., text)| !text.is_empty()).map(|(id, title, _)| (*id, *title)).collect();
    let mut body = front::header(report);
    body.push_str(&summary(report, &sections)?);
    report.published.iter().for_each(|one| body.push_str(&release(one)));
    body.push_str(&unshown(report));
    parts.iter().for_each(|(.., text)| body.push_str(text));
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>Scumble report</title><style>{STYLE}</style></head><body><main>{body}</main></body></html>\n"
    ))
}

fn summary(report: &Report<'_>, sections: &[(&str, &str)]) -> Result<String> {
    let mut text = String::from("<section><h2>In short</h2>");
    for sentence in front::verdict(report)? {
        let _ = write!(text, "<p class=\"verdict\">{}</p>", escaped(&sentence));
    }
    text.push_str(
        "<p>The numbers below bound what everything in the ledger together can give away, to somebody who knows everything else.</p><div class=\"big\">",
    );
    for (scope, words) in
        [(Scope::Person, "all of a person's values"), (Scope::Presence, "whether a person is in the data")]
    {
        let delta = report.delta(&scope)?;
        let spent = report.spent(&scope)?;
        let _ = write!(
            text,
            "<div><b>ε = {}</b>{} <span class=\"soft together\">({scope}, δ = {})</span></div>",
            spent.epsilon(&delta).map_or_else(|| "∞".to_string(), |epsilon| rounded_up(epsilon.to_f64_up())),
            words,
            shown_delta(&delta)
        );
    }
    text.push_str("</div>");
    if report.spent(&Scope::Presence)?.epsilon(&report.delta(&Scope::Presence)?).is_none() {
        text.push_str("<p class=\"warning\">ε = ∞: something was published without noise, and without assumptions about the attacker nothing is promised.</p>");
    }
    text.push_str(
        "<p class=\"soft\">ε bounds how much the published numbers can change anybody's odds about a person: by a factor of at most \
         e<sup>ε</sup>, except with probability δ. Smaller is more private; 0 means that nothing was given away.</p>",
    );
    text.push_str(&front::budget(report)?);
    text.push_str(&front::contents(report, sections));
    text.push_str("</section>");
    Ok(text)
}

fn release(one: &PublishedRelease) -> String {
    let (answers, charge) = (&one.answers, &one.charge);
    let mut text = format!(
        "<section id=\"entry-{}\"><h2>{}</h2><p class=\"soft\">published {}, kind {}, entry {} of the ledger{}</p>",
        charge.sequence,
        escaped(&charge.release),
        front::moment(&charge.time),
        escaped(&charge.kind),
        charge.sequence,
        if one.is_replaced { "; paid for again since" } else { "" }
    );
    if let Some(sql) = charge.rule["sql"].as_str() {
        let _ = write!(text, "<pre class=\"sql\">{}</pre>", escaped(sql.trim()));
    }
    // What is not private says so before it says anything else.
    let exposed = answers.details.facts.get("differentially_private").is_some_and(|private| private == false);
    if exposed {
        text.push_str(&noted(answers, "warning"));
    }
    match one.is_synthetic() {
        true => {
            let (rows, file) = (one.rows, one.file.file_name().unwrap_or_default().to_string_lossy());
            let _ =
                write!(text, "<p>{} made-up rows, in <code>{}</code>.</p>", grouped(&rows.to_string()), escaped(&file));
        }
        false => {
            text.push_str(&charts(answers));
            text.push_str(&table(answers, one.rows));
        }
    }
    if !exposed {
        text.push_str(&noted(answers, "soft"));
    }
    text.push_str("</section>");
    text
}

/// What was charged and cannot be shown, and why; nothing if all is there.
fn unshown(report: &Report<'_>) -> String {
    if report.unshown.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "<section><h2>Also charged</h2><p>These are in the ledger and in all sums; their numbers are not shown here.</p><div class=\"wide\"><table><thead><tr><th>release</th><th>entry</th><th>charged</th><th>why</th></tr></thead><tbody>",
    );
    for one in report.unshown {
        let _ = write!(
            text,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&one.charge.release),
            one.charge.sequence,
            front::moment(&one.charge.time),
            escaped(&one.why)
        );
    }
    text.push_str("</tbody></table></div></section>");
    text
}

fn noted(answers: &Answers, class: &str) -> String {
    answers.notes.iter().map(|note| format!("<p class=\"{class}\">{}</p>", escaped(note))).collect()
}

fn table(answers: &Answers, rows: usize) -> String {
    // Beside many noisy columns there is no room for standard errors: the intervals tell as much, and the CSV has them.
    let noisy = answers.columns.iter().filter(|column| column.uncertainty.is_some()).count();
    let class = if noisy > 2 { "wide many" } else { "wide" };
    let mut text = format!("<div class=\"{class}\"><table><thead><tr>");
    for column in &answers.columns {
        let _ = write!(text, "<th>{}</th>", escaped(&column.name));
        if column.uncertainty.is_some() {
            text.push_str("<th class=\"beside\">± std. error</th><th>95% interval</th>");
        }
    }
    text.push_str("</tr></thead><tbody>");
    for row in 0..answers.rows().min(SHOWN_ROWS) {
        text.push_str("<tr>");
        for column in &answers.columns {
            let _ = write!(text, "<td>{}</td>", escaped(&shown(&column.cells[row])));
            if let Some(list) = &column.uncertainty {
                let one = list[row];
                let _ = write!(
                    text,
                    "<td class=\"beside\">{}</td><td>{} … {}</td>",
                    end(one.standard_error),
                    end(one.low),
                    end(one.high)
                );
            }
        }
        text.push_str("</tr>");
    }
    text.push_str("</tbody></table></div>");
    if rows > SHOWN_ROWS {
        let rows = grouped(&rows.to_string());
        let _ = write!(text, "<p class=\"soft\">The first {SHOWN_ROWS} of {rows} rows; the CSV file has all.</p>");
    }
    if rows == 0 {
        text.push_str("<p class=\"soft\">No row was published.</p>");
    }
    text
}

fn curves(report: &Report<'_>) -> Result<String> {
    let curves = report.curves()?;
    if curves.is_empty() {
        return Ok(String::new());
    }
    let mut chart = Chart::new("Privacy curves").x(Axis::linear("ε")).y(Axis::log("δ"));
    for curve in curves.iter().take(SHOWN_CURVES) {
        chart = chart.line(Series::new(curve.name.clone(), curve.points.clone()));
    }
    let more = if curves.len() > SHOWN_CURVES {
        "<p class=\"soft\">The JSON report has the remaining curves.</p>"
    } else {
        ""
    };
    Ok(format!(
        "<section id=\"curves\"><h2>Privacy curves</h2><p>For each scope, all releases together are (ε, δ)-private for every point on its curve. \
         A vertical line is a pure guarantee, for which δ does not matter.</p>{}{more}</section>",
        both_sizes(&Drawing::Lines(chart))
    ))
}

fn matrix(report: &Report<'_>) -> Result<String> {
    let scopes = report.scopes()?;
    let mut text = String::from(
        "<section id=\"who-pays\"><h2>Who pays for what</h2><p>ε of each release in each scope. A release that does not read an attribute costs it nothing.</p>\
         <div class=\"wide\"><table><thead><tr><th>release</th>",
    );
    for scope in &scopes {
        let _ = write!(text, "<th>{}</th>", escaped(&scope_name(scope)));
    }
    text.push_str("</tr></thead><tbody>");
    if report.earlier() > 0 {
        let _ = write!(
            text,
            "<tr><td colspan=\"{}\">{} earlier releases (<code>scumble ledger show</code> tells them all)</td></tr>",
            scopes.len() + 1,
            report.earlier()
        );
    }
    for charge in report.charges {
        let _ = write!(text, "<tr><td>{}</td>", escaped(&charge.release));
        for scope in &scopes {
            text.push_str(&cost_cell(&Spent::of(&charge.events, scope)?, &report.delta(scope)?));
        }
        text.push_str("</tr>");
    }
    text.push_str("<tr><td><b>together</b></td>");
    for scope in &scopes {
        text.push_str(&cost_cell(&report.spent(scope)?, &report.delta(scope)?));
    }
    text.push_str("</tr></tbody></table></div><p class=\"soft\">Each at the δ of its budget. Together can be less than the sum.</p></section>");
    Ok(text)
}

fn cost_cell(spent: &Spent, delta: &Exact) -> String {
    let shown = spent.epsilon(delta).map_or_else(|| "∞".to_string(), |epsilon| rounded_up(epsilon.to_f64_up()));
    let class = if shown == "0" { " class=\"zero\"" } else { "" };
    format!("<td{class}>{shown}</td>")
}

fn pairs(report: &Report<'_>) -> Result<String> {
    let pairs = report.pairs()?;
    if pairs.is_empty() {
        return Ok(String::new());
    }
    let mut text = String::from(
        "<section id=\"pairs\"><h2>Sensitive attributes together with others</h2><div class=\"wide\"><table><thead><tr><th>attributes</th><th>ε</th><th>δ</th></tr></thead><tbody>",
    );
    for pair in pairs {
        let scope = Scope::Attributes(pair);
        let delta = report.delta(&scope)?;
        let _ = write!(
            text,
            "<tr><td>{}</td>{}<td>{}</td></tr>",
            escaped(&scope_name(&scope)),
            cost_cell(&report.spent(&scope)?, &delta),
            shown_delta(&delta)
        );
    }
    text.push_str("</tbody></table></div></section>");
    Ok(text)
}

fn readings(report: &Report<'_>) -> Result<String> {
    let mut text = String::from(
        "<section id=\"readings\"><h2>What that means</h2><p>Upper bounds that follow from the numbers above, for all releases together.</p>\
         <div class=\"wide\"><table><thead><tr><th>about</th>",
    );
    for (name, _) in reading::FIELDS {
        let _ = write!(text, "<th>{name}</th>");
    }
    text.push_str("</tr></thead><tbody>");
    let rows = reading::rows(report)?;
    let unbounded = rows.iter().any(|row| row.numbers.contains(&None));
    for row in rows {
        let _ = write!(text, "<tr><td>{}</td>", escaped(&row.name));
        for number in row.numbers {
            let _ = write!(text, "<td>{}</td>", number.map_or("–".to_string(), rounded_up));
        }
        text.push_str("</tr>");
    }
    text.push_str("</tbody></table></div><ul class=\"soft\">");
    for (name, meaning) in reading::FIELDS {
        let _ = write!(text, "<li>{name}: {meaning}</li>");
    }
    for line in unbounded.then_some(reading::NO_BOUND).into_iter().chain(reading::CAVEAT_LINES) {
        let _ = write!(text, "<li>{line}</li>");
    }
    text.push_str("</ul></section>");
    Ok(text)
}

fn assumptions(report: &Report<'_>) -> String {
    let mut text = String::from("<section id=\"assumptions\"><h2>What this rests on</h2><ul>");
    for line in text::assumptions(report.project) {
        let _ = write!(text, "<li>{}</li>", escaped(&line));
    }
    text.push_str("</ul></section>");
    text
}

fn parameters(report: &Report<'_>) -> Result<String> {
    let mut text = format!(
        "<section id=\"by-hand\"><h2>To check by hand</h2><p>Costs add up by this rule: {}. Each release's noise and sensitivity are below; \
         <code>scumble ledger verify --head HASH</code> checks that the ledger still holds this history.</p>\
         <p class=\"hash\">Ledger head <code>{}</code> ({} entries)<br>Project file <code>{}</code><br>{}</p>",
        escaped(crate::summary::RULE),
        report.head.hex(),
        report.head.entries,
        report.project.digest,
        escaped(crate::ENGINE)
    );
    for charge in report.charges {
        let _ = write!(
            text,
            "<details><summary>{} (entry {})</summary><pre>{}</pre></details>",
            escaped(&charge.release),
            charge.sequence,
            escaped(&by_lines(&charge.rule))
        );
    }
    text.push_str("</section>");
    Ok(text)
}

/// A rule, a line for each of its fields.
fn by_lines(rule: &Value) -> String {
    match rule.as_object() {
        Some(fields) => fields.iter().map(|(name, value)| format!("{name}: {value}\n")).collect(),
        None => rule.to_string(),
    }
}

/// The same for an error or the end of an interval.
fn end(number: f64) -> String {
    if number.is_infinite() { UNBOUNDED.to_string() } else { digits(number) }
}
