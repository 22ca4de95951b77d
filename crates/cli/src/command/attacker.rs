//! `scumble lab attacker`.

use crate::failure::Failure;
use crate::output::print;
use clap::Args;
use scumble::quantity::rounded_down;
use scumble_adversary::attacker::{Guarantee, Verdict, assess, brittleness, rounded_up, sentence};
use scumble_wire::{AttackerQuestion, attacker_from_json, verdict_to_json};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// What an attacker who knows only part of the records learns from a release.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble lab attacker election.toml")]
pub struct AttackerArguments {
    /// The scenario, as TOML or JSON (docs/explanation/attackers.md); - reads standard input
    file: PathBuf,
    /// Prints the verdict as JSON
    #[arg(long)]
    json: bool,
}

/// Reads the question, answers it, prints the verdict.
pub fn run(arguments: &AttackerArguments) -> Result<(), Failure> {
    let file = &arguments.file;
    let mut document = read(file)?;
    inline_beliefs(&mut document, file.parent().unwrap_or(Path::new("")))?;
    let question = attacker_from_json(&document).map_err(|error| Failure::Input(error.to_string()))?;
    let verdict = assess(&question.scenario)?;
    let output = if arguments.json {
        format!("{:#}\n", verdict_to_json(&question, &verdict))
    } else {
        words(&question, &verdict)
    };
    print(&output)
}

/// JSON if it begins with a brace, which TOML cannot.
fn read(file: &Path) -> Result<Value, Failure> {
    let shown = file.display();
    let text = if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| Failure::Input(format!("standard input cannot be read as text: {error}")))?;
        text
    } else {
        std::fs::read_to_string(file).map_err(|error| Failure::Input(format!("{shown} cannot be read: {error}")))?
    };
    if text.trim_start().starts_with('{') {
        return scumble_wire::parse(&text).map_err(|error| Failure::Input(format!("{shown}: {}", error.sentence())));
    }
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        Failure::Input(format!("{shown}, line {line}: this is neither JSON nor TOML: {}", error.message().trim()))
    })
}

/// `uncertainty.probs = "file.csv"` (a p, or p,how_many per line) becomes `uncertainty.values`.
fn inline_beliefs(document: &mut Value, beside: &Path) -> Result<(), Failure> {
    let Some(uncertainty) = document.get_mut("uncertainty").and_then(Value::as_object_mut) else { return Ok(()) };
    let Some(named) = uncertainty.remove("probs") else { return Ok(()) };
    let Some(name) = named.as_str() else {
        refuse!("$.uncertainty.probs: the name of a file is expected, not {named}")
    };
    let path = beside.join(name);
    let shown = path.display();
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Failure::Input(format!("$.uncertainty.probs: {shown} cannot be read: {error}")))?;
    let mut values = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut fields = line.split(',').map(str::trim);
        let (p, how_many) = (fields.next().unwrap_or(""), fields.next().unwrap_or("1"));
        let parsed = (p.parse::<f64>(), how_many.parse::<u64>());
        match parsed {
            _ if line.trim().is_empty() => {}
            (Ok(p), Ok(how_many)) if fields.next().is_none() => values.push(json!([p, how_many])),
            // A header.
            (Err(_), _) if index == 0 => {}
            _ => {
                refuse!(
                    "$.uncertainty.probs: {shown}, line {}: a probability, or a probability and a number of records, is expected",
                    index + 1
                );
            }
        }
    }
    uncertainty.insert("values".to_string(), Value::Array(values));
    Ok(())
}

fn words(question: &AttackerQuestion, verdict: &Verdict) -> String {
    match verdict {
        Verdict::None { reason } => format!("verdict: none\n\nNo guarantee: {reason}.\n"),
        Verdict::Refused { missing } => {
            let mut output = String::from("verdict: refused\n\nWithout these nothing can be said:\n");
            for sentence in missing {
                let _ = writeln!(output, "- {sentence}");
            }
            output
        }
        Verdict::Guarantee(guarantee) => guarantee_in_words(question, guarantee),
    }
}

fn guarantee_in_words(question: &AttackerQuestion, guarantee: &Guarantee) -> String {
    let mut output = String::new();
    let _ = writeln!(output, "verdict: guarantee");
    let _ = writeln!(output, "kind:    {}", guarantee.notion.name());
    let at_least = |lower: f64| {
        if lower > 0.0 { format!(" (in the worst case at least {})", rounded_down(lower, 6)) } else { String::new() }
    };
    let _ = writeln!(output, "epsilon: {}{}", rounded_up(guarantee.epsilon), at_least(guarantee.epsilon_lower));
    let _ = writeln!(output, "delta:   {}{}", rounded_up(guarantee.delta), at_least(guarantee.delta_lower));
    let _ = writeln!(output, "method:  {}", guarantee.method.name());
    if let Some(epsilon) = guarantee.noise_epsilon {
        let _ = writeln!(
            output,
            "noise:   by itself {}-differentially private, without any of the assumptions below",
            rounded_up(epsilon)
        );
    }
    let _ = writeln!(output, "\n{}\n\n{}", sentence(&question.scenario, guarantee), brittleness());
    for assumption in &question.assumed {
        let _ = writeln!(output, "Assumed: {assumption}.");
    }
    if guarantee.epsilon > 10.0 || guarantee.delta > 1e-3 {
        let _ = writeln!(output, "Warning: an epsilon above 10 or a delta above 0.001 protects hardly anybody.");
    }
    let _ = writeln!(output, "\nIf assumptions fail:");
    for row in &guarantee.degradation {
        let held = row.claim.map_or("no guarantee".to_string(), |(epsilon, delta)| {
            format!("epsilon {}, delta {}", rounded_up(epsilon), rounded_up(delta))
        });
        let _ = writeln!(output, "  {:<48}{held}", row.change.words());
    }
    output
}
