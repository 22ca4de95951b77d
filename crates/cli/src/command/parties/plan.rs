//! `scumble parties plan`, and what a plan promises, in words and in JSON.

use crate::command::account::{DIGITS, value};
use crate::command::engine::table;
use crate::failure::Failure;
use crate::output::{print, print_json};
use clap::Args;
use scumble::quantity::{Beta, Delta, rounded_up};
use scumble::{Loss, Scope};
use scumble_engine::release::BETA;
use scumble_parties::Plan;
use scumble_parties::product::{ProductPlan, Role};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = "Example:\n  scumble parties plan flu.toml")]
pub struct PartiesPlanArguments {
    /// The plan
    plan: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Reads, prices, prints.
pub fn run(arguments: &PartiesPlanArguments) -> Result<(), Failure> {
    if is_of_two(&arguments.plan) {
        return of_two(&ProductPlan::open(&arguments.plan)?, arguments.json);
    }
    let plan = Plan::open(&arguments.plan)?;
    // It is not known yet which parties will be silent: the most noise with all parties, the least protection with as
    // few as are opened.
    let answers = plan.sum().trust().least_answers()..=plan.parties().len() as u64;
    match arguments.json {
        true => print_json(&promised(&plan, &answers)?),
        false => print(&in_words(&plan, &answers)?),
    }
}

/// Whether a plan is one for the product of two parties; the code that reads it next reports an unreadable file.
fn is_of_two(path: &Path) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| text.lines().any(|line| line.trim() == "[first]"))
}

/// What the product of two parties' bits costs whom, and how far off it may be.
fn of_two(plan: &ProductPlan, as_json: bool) -> Result<(), Failure> {
    let (product, owners) = (plan.product(), plan.owners());
    let (first, second) = (plan.other(Role::Second), plan.other(Role::First));
    let within = product.error(Beta::new(BETA)?, owners as u64)?;
    let (first_cost, second_cost) = (product.epsilon_first().get(), product.epsilon_second().get());
    if as_json {
        let shown = json!({
            "name": plan.name(), "plan": hex::encode(plan.digest()), "owners": owners, "within": within, "beta": BETA,
            "first": { "name": first, "epsilon": value(first_cost) }, "second": { "name": second, "epsilon": value(second_cost) },
        });
        return print(&format!("{shown:#}\n"));
    }
    print(&format!(
        "{}: how many of {owners} owners have both what '{first}' and what '{second}' know.\nWith probability {}% the estimate, which '{first}' gets, is within ±{:.0}.\n\
         An owner's bit at '{first}' costs ε = {}, at '{second}' ε = {}, each against everybody, the other party included; that somebody is among the owners is known to both.\n\
         Both need this plan, byte for byte: {}\n",
        plan.name(),
        100.0 * (1.0 - BETA),
        within.ceil(),
        rounded_up(first_cost, DIGITS),
        rounded_up(second_cost, DIGITS),
        hex::encode(plan.digest())
    ))
}

/// How many parties a sum is of, at least and at most.
pub type PartyCountRange = RangeInclusive<u64>;

/// ε in each scope, as planned.
fn costs(plan: &Plan) -> Result<[(&'static str, f64); 3], Failure> {
    let events = plan.events()?;
    let epsilon =
        |scope: Scope| -> Result<f64, Failure> { Ok(Loss::of(&events, scope)?.epsilon(Delta::new(0.0)?).upper) };
    let attributes = Scope::Attributes(plan.attributes().clone());
    Ok([
        ("presence", epsilon(Scope::Presence)?),
        ("person", epsilon(Scope::Person)?),
        ("attributes", epsilon(attributes)?),
    ])
}

/// What a sum of this many parties promises.
pub fn promised(plan: &Plan, answers: &PartyCountRange) -> Result<Value, Failure> {
    let (sum, trust) = (plan.sum(), plan.sum().trust());
    let costs: serde_json::Map<String, Value> =
        costs(plan)?.into_iter().map(|(scope, epsilon)| (scope.to_string(), value(epsilon))).collect();
    let mut against = Vec::new();
    for colluding in 0..=(*answers.start()).min(MOST_COLLUDING) {
        let epsilon = sum.epsilon_against(plan.scope(), colluding, *answers.start())?;
        against.push(json!({ "colluding": colluding, "epsilon": epsilon.map(|epsilon| value(epsilon.get())) }));
    }
    Ok(json!({
        "name": plan.name(), "plan": hex::encode(plan.digest()), "epsilon": plan.epsilon().to_string(), "scope": plan.scope().to_string(),
        "parties": trust.parties(), "servers": trust.servers(), "colluding": trust.colluding(), "silent": trust.silent(),
        "honest": trust.honest(), "least_answers": trust.least_answers(), "coalition": trust.coalition(),
        "cells": sum.cells(), "scale": sum.scale().get(), "within": sum.error(Beta::new(BETA)?, *answers.end())?, "beta": BETA,
        "costs": costs, "against": against, "against_answers": answers.start(),
    }))
}

/// More colluders are not listed one by one.
const MOST_COLLUDING: u64 = 20;

fn in_words(plan: &Plan, answers: &PartyCountRange) -> Result<String, Failure> {
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
    let _ = writeln!(text, "Everybody needs this plan, byte for byte: {}", hex::encode(plan.digest()));
    Ok(text)
}

/// Error, cost and coalition of a sum of this many parties.
pub fn guarantee(plan: &Plan, answers: &PartyCountRange) -> Result<String, Failure> {
    let (sum, trust) = (plan.sum(), plan.sum().trust());
    let mut text = format!(
        "With probability {}% all totals are within ±{:.0} of what these parties have.\n",
        100.0 * (1.0 - BETA),
        sum.error(Beta::new(BETA)?, *answers.end())?.floor()
    );
    let costs = costs(plan)?.map(|(scope, epsilon)| format!("{} for {scope}", rounded_up(epsilon, DIGITS))).join(", ");
    let _ = writeln!(text, "Costs an owner ε = {costs} ({}), against {}.", plan.attributes(), trust.coalition());
    let mut rows = Vec::new();
    let least = *answers.start();
    for colluding in (trust.colluding() + 1..=least).take(5) {
        let epsilon = match sum.epsilon_against(plan.scope(), colluding, least)? {
            Some(epsilon) if epsilon.get().is_finite() => rounded_up(epsilon.get(), DIGITS),
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
