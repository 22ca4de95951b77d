//! `scumble lab account`: what a list of events costs.

use crate::failure::Failure;
use crate::input;
use crate::output::print;
use clap::Args;
use comfy_table::Table;
use comfy_table::presets::UTF8_BORDERS_ONLY;
use scumble::event::Event;
use scumble::loss::{Answer, Loss, TOLERANCE};
use scumble::quantity::{Delta, Epsilon, rounded_down, rounded_up};
use scumble::scope::Scope;
use scumble_chart::{Axis, LineChart, Series};
use scumble_wire::{Account, AccountQuestion, account_from_json, event_to_json};
use serde_json::{Value, json};
use std::path::PathBuf;

/// What to account for, and how to show it.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  echo '{\"events\": [{\"mechanism\": \"pure\", \"epsilon\": 0.1, \"times\": 20}], \"delta\": 1e-6}' > e.json\n  \
                  scumble lab account e.json")]
pub struct AccountArguments {
    /// A JSON document with "events" and "delta" (or "epsilon"); - reads standard input
    file: PathBuf,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Also draw δ(ε) of the whole and of each event into this SVG file
    #[arg(long, value_name = "FILE")]
    curve: Option<PathBuf>,
}

/// Reads the document, answers it, prints.
pub fn run(arguments: &AccountArguments) -> Result<(), Failure> {
    let account = input::read(&arguments.file, |place| account_from_json(place.value()))?;
    let loss = Loss::of(&account.events, &account.scope)?;
    let answer = match account.ask {
        AccountQuestion::Epsilon(delta) => loss.epsilon(delta),
        AccountQuestion::Delta(epsilon) => loss.delta(epsilon),
    };
    if let Some(path) = &arguments.curve {
        let svg = curve(&account, &loss, &answer)?;
        std::fs::write(path, svg).map_err(|error| Failure::Other(format!("{}: {error}", path.display())))?;
    }
    let text = if arguments.json { as_json(&account, &answer) } else { as_table(&account, &answer)? };
    print(&text)
}

/// A number of an answer; infinity is a word in JSON.
pub(super) fn value(number: f64) -> Value {
    if number.is_finite() { json!(number) } else { json!("infinite") }
}

/// How many digits bounds are printed with: upper ones rounded up, lower ones down.
pub(super) const DIGITS: usize = 7;

fn as_json(account: &Account, answer: &Answer) -> String {
    let mut object = match account.ask {
        AccountQuestion::Epsilon(delta) => json!({
            "epsilon": value(answer.upper), "epsilon_lower": value(answer.lower), "delta": delta.get(),
        }),
        AccountQuestion::Delta(epsilon) => json!({
            "delta": answer.upper, "delta_lower": answer.lower, "epsilon": epsilon.get(),
        }),
    };
    object["method"] = json!(answer.method.to_string());
    object["direction"] = json!(answer.direction.to_string());
    object["tolerance"] = json!(TOLERANCE);
    format!("{object}\n")
}

/// One line per event, then the answer.
fn as_table(account: &Account, answer: &Answer) -> Result<String, Failure> {
    let alone = matches!(account.ask, AccountQuestion::Epsilon(_)) && account.events.len() <= 20;
    let mut table = Table::new();
    table.load_preset(UTF8_BORDERS_ONLY);
    let mut header = vec!["event", "parameters", "times", "sample"];
    if alone {
        header.push("ε alone");
    }
    table.set_header(header);
    for event in &account.events {
        let mut row =
            vec![event.word().name().to_string(), parameters(event), event.times().to_string(), sample(event)];
        if let (true, AccountQuestion::Epsilon(delta)) = (alone, account.ask) {
            let own = Loss::of(std::slice::from_ref(event), &account.scope)?.epsilon(delta);
            row.push(rounded_up(own.upper, DIGITS));
        }
        table.add_row(row);
    }
    let (asked, name) = match account.ask {
        AccountQuestion::Epsilon(delta) => (format!("δ = {delta}"), "ε"),
        AccountQuestion::Delta(epsilon) => (format!("ε = {epsilon}"), "δ"),
    };
    let neighbours = match account.scope.members().0 {
        Scope::Presence => "one owner added or removed".to_string(),
        Scope::Attributes(set) => format!("one owner's values of {set} changed, and nothing else of theirs"),
        _ => "one owner replaced".to_string(),
    };
    let slack = if answer.upper > 0.0 && answer.upper.is_finite() {
        format!("{:.1e} of it", (answer.upper - answer.lower) / answer.upper)
    } else {
        "none".to_string()
    };
    let lines = [
        format!("{name} ≤ {} at {asked}", rounded_up(answer.upper, DIGITS)),
        format!("  certainly not below {} (slack {slack})", rounded_down(answer.lower, DIGITS)),
        format!("  neighbours: {neighbours}{}; worse direction: {}", group(&account.scope), answer.direction),
        format!("  rule: {}", rule(answer)),
    ];
    Ok(format!("{table}\n{}\n", lines.join("\n")))
}

fn group(scope: &Scope) -> String {
    match scope.members().1 {
        1 => String::new(),
        size => format!(", groups of {size}"),
    }
}

fn rule(answer: &Answer) -> &'static str {
    use scumble::loss::Method::{Gaussian, Normal, Pld, Pure, Renyi, Split};
    match answer.method {
        Gaussian => "gaussian, the exact curve of Gaussian noise",
        Pld => "pld, the privacy-loss distribution on a grid, rounded against us",
        Renyi => "renyi, a Rényi curve converted at its best order",
        Split => "pld+renyi, δ split between those with a privacy-loss distribution and the others",
        Pure => "pure, the sum of the largest losses",
        Normal => "normal, the law of very many losses, with its certified distance",
    }
}

/// The event's parameters and moves in a few words.
fn parameters(event: &Event) -> String {
    let object = event_to_json(event);
    let skip = ["mechanism", "times", "sampling", "moves", "p", "q"];
    let fields = object.as_object().into_iter().flatten().filter(|(name, _)| !skip.contains(&name.as_str()));
    fields.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

fn sample(event: &Event) -> String {
    match event.sampling() {
        None => "everybody".to_string(),
        Some(sampling) => format!("{} {}", sampling.name().replace('-', " "), sampling.rate()),
    }
}

/// δ(ε) of the whole, and of the first few distinct events.
fn curve(account: &Account, loss: &Loss, answer: &Answer) -> Result<String, Failure> {
    const POINTS: u32 = 40;
    const MOST_EVENTS: usize = 6;
    let asked = match account.ask {
        AccountQuestion::Epsilon(_) => answer.upper,
        AccountQuestion::Delta(epsilon) => epsilon.get(),
    };
    // Up to where δ has fallen to 1e-12, or a little beyond what was asked.
    let reach = loss.epsilon(Delta::new(1e-12)?).upper;
    let end = [1.5 * asked, reach].into_iter().filter(|end| end.is_finite()).fold(0.0, f64::max);
    let end = if end > 0.0 { end } else { 10.0 };
    let points = |loss: &Loss| -> Result<Vec<(f64, f64)>, Failure> {
        let mut points = Vec::new();
        for i in 0..=POINTS {
            let epsilon = end * f64::from(i) / f64::from(POINTS);
            let delta = loss.delta(Epsilon::new(epsilon)?).upper;
            if delta > 1e-14 {
                points.push((epsilon, delta));
            }
        }
        Ok(points)
    };
    let mut chart = LineChart::new("What the events cost together").x(Axis::linear("ε")).y(Axis::log("δ(ε)"));
    chart = chart.line(Series::new("all events", points(loss)?));
    for event in account.events.iter().take(MOST_EVENTS).filter(|_| account.events.len() > 1) {
        let own = Loss::of(std::slice::from_ref(event), &account.scope)?;
        chart = chart.line(Series::new(format!("{} ×{}", event.word().name(), event.times()), points(&own)?));
    }
    Ok(chart.to_svg())
}
