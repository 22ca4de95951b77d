//! `scumble lab calibrate`: the least noise for a target.

use crate::command::account;
use crate::failure::Failure;
use crate::input;
use crate::output::print;
use clap::Args;
use scumble::calibrate::calibrate;
use scumble::loss::Loss;
use scumble::quantity::rounded_up;
use scumble_wire::{calibration_from_json, event_to_json};
use serde_json::json;
use std::path::PathBuf;

/// What to calibrate, and how to show it.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  echo '{\"events\": [{\"mechanism\": \"laplace\", \"sensitivity\": 1}], \"epsilon\": 1, \"delta\": 0}' > e.json\n  \
                  scumble lab calibrate e.json")]
pub struct CalibrateArguments {
    /// A JSON document with one event without its noise, "epsilon" and "delta"; - reads standard input
    file: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Reads the document, searches, prints the event completed.
pub fn run(arguments: &CalibrateArguments) -> Result<(), Failure> {
    let asked = input::read(&arguments.file, |place| calibration_from_json(place.value()))?;
    let event = calibrate(&asked.event, asked.free, &asked.scope, asked.epsilon, asked.delta)?;
    let answer = Loss::of(std::slice::from_ref(&event), &asked.scope)?.epsilon(asked.delta);
    let completed = event_to_json(&event);
    let text = if arguments.json {
        let object = json!({
            "event": completed, "epsilon": account::value(answer.upper), "epsilon_lower": account::value(answer.lower),
            "delta": asked.delta.get(), "method": answer.method.to_string(), "direction": answer.direction.to_string(),
        });
        format!("{object}\n")
    } else {
        let line =
            "the bound is certified, and the parameter within about a millionth of the best that the bound allows";
        let bound = rounded_up(answer.upper, account::DIGITS);
        format!("{completed}\nε ≤ {bound} at δ = {} (target {}): {line}\n", asked.delta, asked.epsilon)
    };
    print(&text)
}
