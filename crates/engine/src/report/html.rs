//! The HTML page. No scripts, no fonts, no pictures from anywhere; readable at 400 pixels and in print.

use super::{Report, scope_name, text};
use crate::budget::{Spent, rounded_down, rounded_up};
use crate::error::Result;
use crate::release::{Cell, Column, Outcome};
use scumble::quantity::Exact;
use scumble::scope::Scope;
use scumble_chart::{Axis, Bar, BarChart, Chart, Series};
use std::fmt::Write;

/// Rows of a release that the page shows; the CSV has them all.
const SHOWN_ROWS: usize = 30;
/// Bars that a chart can hold.
const SHOWN_BARS: usize = 30;
/// Curves that a chart can hold.
const SHOWN_CURVES: usize = 8;

const STYLE: &str = "
:root{--ink:#1b2430;--soft:#5a6675;--line:#d9dee5;--paper:#fff;--wash:#f5f7fa;--mark:#1f5fa8}
*{box-sizing:border-box}
body{margin:0;background:var(--wash);color:var(--ink);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}
main{max-width:60rem;margin:0 auto;padding:1.25rem}
header{border-bottom:3px solid var(--mark);padding-bottom:.75rem;margin-bottom:1.25rem}
h1{font-size:1.6rem;line-height:1.2;margin:.25rem 0}
h2{font-size:1.2rem;margin:0 0 .5rem}
h3{font-size:1rem;margin:1rem 0 .25rem}
p{margin:.4rem 0;max-width:45rem}
section{background:var(--paper);border:1px solid var(--line);border-radius:8px;padding:1rem;margin:0 0 1rem}
.soft{color:var(--soft);font-size:.9rem}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem;min-width:100%}
th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child,td:first-child{text-align:left}
thead th{border-bottom:2px solid var(--ink)}
td.zero{color:var(--soft)}
.big{display:flex;flex-wrap:wrap;gap:.75rem;margin:.5rem 0}
.big div{flex:1 1 10rem;border:1px solid var(--line);border-radius:8px;padding:.6rem .8rem}
.big b{display:block;font-size:1.35rem;color:var(--mark)}
svg{max-width:100%;height:auto;display:block;margin:.5rem 0}
code,pre{font:.82rem/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--wash);border-radius:6px;padding:.6rem;margin:.4rem 0}
.hash{overflow-wrap:anywhere}
details summary{cursor:pointer;color:var(--mark)}
@media (max-width:500px){main{padding:.6rem}section{padding:.7rem}h1{font-size:1.3rem}th,td{padding:.25rem .4rem}}
@media print{body{background:#fff;font-size:10.5pt}main{max-width:none;padding:0}section{break-inside:avoid-page;border:0;border-top:1px solid var(--line);border-radius:0;padding:.5rem 0}.wide{overflow:visible}th,td{white-space:normal}details>*{display:block}}
";

/// The whole page.
pub(super) fn page(report: &Report<'_>) -> Result<String> {
    let mut body = String::new();
    let _ = write!(
        body,
        "<header><p class=\"soft\">Scumble · differential privacy report</p><h1>What was published, and what it gives away</h1>\
         <p class=\"soft\">Project <code>{}</code></p></header>",
        escaped(&report.project.path.display().to_string())
    );
    body.push_str(&summary(report)?);
    for outcome in report.outcomes {
        body.push_str(&release(outcome));
    }
    body.push_str(&curves(report)?);
    body.push_str(&matrix(report)?);
    body.push_str(&pairs(report)?);
    body.push_str(&assumptions(report));
    body.push_str(&parameters(report)?);
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>Scumble report</title><style>{STYLE}</style></head><body><main>{body}</main></body></html>\n"
    ))
}

/// ε of a scope at its δ, in words.
fn epsilon(spent: &Spent, delta: &Exact) -> String {
    spent.epsilon(delta).map_or_else(|| "∞".to_string(), |epsilon| rounded_up(epsilon.to_f64_up()))
}

fn summary(report: &Report<'_>) -> Result<String> {
    let mut text = String::from("<section><h2>In short</h2>");
    let releases = report.outcomes.len();
    let _ = write!(
        text,
        "<p>{releases} {} published in this run; the ledger holds {} in all. The numbers below bound what all of them together can \
         give away, to somebody who knows everything else.</p><div class=\"big\">",
        if releases == 1 { "statistic was" } else { "statistics were" },
        report.charges.len()
    );
    for (scope, words) in
        [(Scope::Person, "all of a person's values"), (Scope::Presence, "whether a person is in the data")]
    {
        let delta = report.delta(&scope)?;
        let spent = report.spent(&scope)?;
        let _ = write!(
            text,
            "<div><b>ε = {}</b>{} <span class=\"soft\">({scope}, δ = {:e})</span></div>",
            epsilon(&spent, &delta),
            words,
            delta.to_f64()
        );
    }
    text.push_str("</div>");
    text.push_str(
        "<p class=\"soft\">ε bounds how much the published numbers can change anybody's odds about a person: by a factor of at most \
         e<sup>ε</sup>, except with probability δ. Smaller is more private; 0 means that nothing was given away.</p>",
    );
    text.push_str(&limits(report)?);
    text.push_str("</section>");
    Ok(text)
}

fn limits(report: &Report<'_>) -> Result<String> {
    let limits = report.project.budget.limits(&report.project.attributes())?;
    if limits.is_empty() {
        return Ok("<p>No budget is set: the ledger records and refuses nothing.</p>".to_string());
    }
    let mut text = String::from(
        "<h3>Budget</h3><div class=\"wide\"><table><thead><tr><th>who or what</th><th>limit</th><th>spent</th><th>left</th></tr></thead><tbody>",
    );
    for (scope, limit) in limits {
        let spent = limit.measure(&report.spent(&scope)?);
        let spent_text = spent.as_ref().map_or("∞".to_string(), |spent| rounded_up(spent.to_f64_up()));
        let left = spent.map_or(0.0, |spent| (limit.most().to_f64_down() - spent.to_f64_up()).max(0.0));
        let _ = write!(
            text,
            "<tr><td>{}</td><td>{}</td><td>{spent_text}</td><td>{}</td></tr>",
            escaped(&scope_name(&scope)),
            escaped(&limit.to_string()),
            rounded_down(left)
        );
    }
    text.push_str("</tbody></table></div>");
    Ok(text)
}

fn release(outcome: &Outcome) -> String {
    let mut text = format!(
        "<section><h2>{}</h2><p class=\"soft\">kind {}, entry {} of the ledger</p>",
        escaped(&outcome.name),
        escaped(&outcome.kind),
        outcome.sequence
    );
    let label = outcome.answers.columns.iter().find(|column| column.uncertainty.is_none());
    for column in outcome.answers.columns.iter().filter(|column| column.uncertainty.is_some()).take(3) {
        text.push_str(&chart(label, column));
    }
    text.push_str(&table(outcome));
    for note in &outcome.answers.notes {
        let _ = write!(text, "<p class=\"soft\">{}</p>", escaped(note));
    }
    text.push_str("</section>");
    text
}

/// Bars with 95% intervals, or a line with its band where the labels are numbers in order.
fn chart(label: Option<&Column>, column: &Column) -> String {
    let Some(list) = &column.uncertainty else { return String::new() };
    let rows = column.cells.len();
    if rows < 2 {
        return String::new();
    }
    let number = |row: usize| column.cells[row].number().unwrap_or(f64::NAN);
    let title = format!("{} with 95% intervals", column.name);
    let positions: Option<Vec<f64>> = label.map(|label| label.cells.iter().map(Cell::number).collect()).unwrap_or(None);
    if let (Some(positions), Some(label)) = (&positions, label)
        && rows > 12
        && positions.windows(2).all(|pair| pair[0] < pair[1])
    {
        let points = (0..rows).map(|row| (positions[row], number(row))).collect();
        let band = (0..rows).map(|row| (positions[row], list[row].low, list[row].high)).collect();
        return Chart::new(title)
            .x(Axis::linear(label.name.clone()))
            .y(Axis::linear(column.name.clone()))
            .band(scumble_chart::Band::new("95% interval", band))
            .line(Series::new(column.name.clone(), points))
            .to_svg();
    }
    let bars = (0..rows.min(SHOWN_BARS)).map(|row| {
        let name = label.map_or_else(|| (row + 1).to_string(), |label| shown(&label.cells[row]));
        Bar::new(name, number(row)).with_interval(list[row].low, list[row].high)
    });
    BarChart::new(title, column.name.clone(), bars.collect()).to_svg()
}

fn table(outcome: &Outcome) -> String {
    let mut text = String::from("<div class=\"wide\"><table><thead><tr>");
    for column in &outcome.answers.columns {
        let _ = write!(text, "<th>{}</th>", escaped(&column.name));
        if column.uncertainty.is_some() {
            text.push_str("<th>± std. error</th><th>95% interval</th>");
        }
    }
    text.push_str("</tr></thead><tbody>");
    for row in 0..outcome.answers.rows().min(SHOWN_ROWS) {
        text.push_str("<tr>");
        for column in &outcome.answers.columns {
            let _ = write!(text, "<td>{}</td>", escaped(&shown(&column.cells[row])));
            if let Some(list) = &column.uncertainty {
                let one = list[row];
                let _ = write!(
                    text,
                    "<td>{}</td><td>{} … {}</td>",
                    digits(one.standard_error),
                    digits(one.low),
                    digits(one.high)
                );
            }
        }
        text.push_str("</tr>");
    }
    text.push_str("</tbody></table></div>");
    if outcome.answers.rows() > SHOWN_ROWS {
        let _ = write!(
            text,
            "<p class=\"soft\">The first {SHOWN_ROWS} of {} rows; the CSV file has all.</p>",
            outcome.answers.rows()
        );
    }
    if outcome.answers.rows() == 0 {
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
        "<section><h2>Privacy curves</h2><p>For each scope, all releases together are (ε, δ)-private for every point on its curve. \
         A vertical line is a pure guarantee, for which δ does not matter.</p>{}{more}</section>",
        chart.to_svg()
    ))
}

fn matrix(report: &Report<'_>) -> Result<String> {
    let scopes = report.scopes()?;
    let mut text = String::from(
        "<section><h2>Who pays for what</h2><p>ε of each release in each scope. A release that does not read an attribute costs it nothing.</p>\
         <div class=\"wide\"><table><thead><tr><th>release</th>",
    );
    for scope in &scopes {
        let _ = write!(text, "<th>{}</th>", escaped(&scope_name(scope)));
    }
    text.push_str("</tr></thead><tbody>");
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
    let shown = epsilon(spent, delta);
    let class = if shown == "0" { " class=\"zero\"" } else { "" };
    format!("<td{class}>{shown}</td>")
}

fn pairs(report: &Report<'_>) -> Result<String> {
    let pairs = report.pairs()?;
    if pairs.is_empty() {
        return Ok(String::new());
    }
    let mut text = String::from(
        "<section><h2>Sensitive attributes together with others</h2><div class=\"wide\"><table><thead><tr><th>attributes</th><th>ε</th><th>δ</th></tr></thead><tbody>",
    );
    for pair in pairs {
        let scope = Scope::Attributes(pair);
        let delta = report.delta(&scope)?;
        let _ = write!(
            text,
            "<tr><td>{}</td>{}<td>{:e}</td></tr>",
            escaped(&scope_name(&scope)),
            cost_cell(&report.spent(&scope)?, &delta),
            delta.to_f64()
        );
    }
    text.push_str("</tbody></table></div></section>");
    Ok(text)
}

fn assumptions(report: &Report<'_>) -> String {
    let mut text = String::from("<section><h2>What this rests on</h2><ul>");
    for line in text::assumptions(report.project) {
        let _ = write!(text, "<li>{}</li>", escaped(&line));
    }
    text.push_str("</ul></section>");
    text
}

fn parameters(report: &Report<'_>) -> Result<String> {
    let mut text = format!(
        "<section><h2>To check by hand</h2><p>Costs add up by this rule: {}. Each release's noise and sensitivity are below; \
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
            escaped(&format!("{:#}", charge.rule))
        );
    }
    text.push_str("</section>");
    Ok(text)
}

/// A value as a reader wants it: large numbers in groups of three digits, few decimals.
fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Number(number) => digits(*number),
        Cell::Null => "–".to_string(),
        other => other.text(),
    }
}

/// About five significant digits.
fn digits(number: f64) -> String {
    if !number.is_finite() {
        return "–".to_string();
    }
    match number.abs() {
        size if size >= 1000.0 => format!("{number:.0}"),
        size if size >= 10.0 => format!("{number:.2}"),
        size if size >= 1e-3 || size == 0.0 => format!("{number:.4}"),
        _ => format!("{number:.3e}"),
    }
}

/// Text inside HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
