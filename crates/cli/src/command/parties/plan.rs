//! `scumble parties plan`, and what a plan promises, in words and in JSON.

use crate::command::account::{DIGITS, value};
use crate::command::engine::table;
use crate::failure::Failure;
use crate::output::print;
use clap::Args;
use scumble::quantity::rounded_up;
use scumble::{Loss, Scope};
use scumble_parties::Plan;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::path::PathBuf;

#[derive(Args)]
pub struct Arguments {
    /// The plan
    plan: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Reads, prices, prints.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let plan = Plan::open(&arguments.plan)?;
    // Who will be silent is not known yet: most noise with all parties, least cover with as few as are opened.
    let answers = plan.sum().trust().least_answers()..=plan.parties().len() as u64;
    match arguments.json {
        true => print(&format!("{:#}\n", promised(&plan, &answers)?)),
        false => print(&in_words(&plan, &answers)?),
    }
}

/// How many parties a sum is of, at least and at most.
pub type Answers = RangeInclusive<u64>;

/// ε in each scope, as planned.
fn costs(plan: &Plan) -> Result<[(&'static str, f64); 3], Failure> {
    let events = plan.events()?;
    let epsilon = |scope: Scope| -> Result<f64, Failure> { Ok(Loss::of(&events, scope)?.epsilon(0.0)?.upper) };
    let attributes = Scope::Attributes(plan.attributes().clone());
    Ok([
        ("presence", epsilon(Scope::Presence)?),
        ("person", epsilon(Scope::Person)?),
        ("attributes", epsilon(attributes)?),
    ])
}

/// The probability that a total is further off than is said.
const BETA: f64 = 0.05;

/// What a sum of this many parties promises.
pub fn promised(plan: &Plan, answers: &Answers) -> Result<Value, Failure> {
    let (sum, trust) = (plan.sum(), plan.sum().trust());
    let costs: serde_json::Map<String, Value> =
        costs(plan)?.into_iter().map(|(scope, epsilon)| (scope.to_string(), value(epsilon))).collect();
    let mut against = Vec::new();
    for colluding in 0..=(*answers.start()).min(MOST_COLLUDING) {
        let epsilon = sum.epsilon_against(plan.scope(), colluding, *answers.start())?;
        against.push(json!({ "colluding": colluding, "epsilon": epsilon.map(value) }));
    }
    Ok(json!({
        "name": plan.name(), "plan": super::hex(plan.digest()), "epsilon": plan.epsilon().to_string(), "scope": plan.scope().to_string(),
        "parties": trust.parties(), "servers": trust.servers(), "colluding": trust.colluding(), "silent": trust.silent(),
        "honest": trust.honest(), "least_answers": trust.least_answers(), "coalition": trust.coalition(),
        "cells": sum.cells(), "scale": sum.scale().get(), "within": sum.error(BETA, *answers.end())?, "beta": BETA,
        "costs": costs, "against": against, "against_answers": answers.start(),
    }))
}

/// More colluders are not listed one by one.
const MOST_COLLUDING: u64 = 20;

fn in_words(plan: &Plan, answers: &Answers) -> Result<String, Failure> {
    let trust = plan.sum().trust();
    let mut text = format!(
        "{}: {} cells of {} parties, added up by {} servers; opened where {} parties or more have sent to all of them.\n",
        plan.name(),
        plan.cells().len(),
        trust.parties(),
        trust.servers(),
        trust.least_answers()
    );
    text.push_str(&guarantee(plan, answers)?);
    let _ = writeln!(text, "Everybody needs this plan, byte for byte: {}", super::hex(plan.digest()));
    Ok(text)
}

/// Error, cost and coalition of a sum of this many parties.
pub fn guarantee(plan: &Plan, answers: &Answers) -> Result<String, Failure> {
    let (sum, trust) = (plan.sum(), plan.sum().trust());
    let mut text = format!(
        "With probability {}% all totals are within ±{:.0} of what these parties have.\n",
        100.0 * (1.0 - BETA),
        sum.error(BETA, *answers.end())?.floor()
    );
    let costs = costs(plan)?.map(|(scope, epsilon)| format!("{} for {scope}", rounded_up(epsilon, DIGITS))).join(", ");
    let _ = writeln!(text, "Costs an owner ε = {costs} ({}), against {}.", plan.attributes(), trust.coalition());
    let mut rows = Vec::new();
    let least = *answers.start();
    for colluding in (trust.colluding() + 1..=least).take(5) {
        let epsilon = match sum.epsilon_against(plan.scope(), colluding, least)? {
            Some(epsilon) if epsilon.is_finite() => rounded_up(epsilon, DIGITS),
            Some(_) => "not protected".to_string(),
            None => "not computed for noise this wide".to_string(),
        };
        rows.push(vec![colluding.to_string(), epsilon]);
    }
    if !rows.is_empty() {
        let _ = writeln!(text, "More parties than planned that collude learn more, of a sum of {least} parties:");
        text.push_str(&table(&["colluding parties", &format!("ε ({})", plan.scope())], rows));
    }
    Ok(text)
}
