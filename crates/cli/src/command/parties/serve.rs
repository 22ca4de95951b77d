//! `scumble parties serve`.

use super::plan::{PartyCountRange, guarantee, promised};
use super::{ParticipantArguments, listen};
use crate::command::engine::{head_line, table};
use crate::failure::{Failure, say};
use crate::output::{print, quoted};
use clap::Args;
use scumble_engine::release::{ChargedLedger, ExternalCharge, OutputPlaces, PaidCharge};
use scumble_parties::{Error, OpenedSum, Plan, ServerObserver, ServerStep, serve};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Example:\n  scumble parties serve flu.toml --key north.key --ledger north.ledger")]
pub struct PartiesServeArguments {
    #[command(flatten)]
    part: ParticipantArguments,
    /// Where to listen, instead of the plan's address
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// The folder for what is opened
    #[arg(long, value_name = "FOLDER", default_value = "out")]
    out: PathBuf,
}

/// Runs a server from the first share to the opened sum.
pub fn run(arguments: &PartiesServeArguments, quiet: bool) -> Result<(), Failure> {
    let part = &arguments.part;
    let (plan, key) = part.open(Plan::open)?;
    let own = plan.server_of(key.public());
    let own = own.ok_or_else(|| Failure::Input("this key belongs to no server of the plan".to_string()))?;
    let (book, again) = (part.ledger.needed()?, part.ledger.again);
    charge_of(&plan, &[])?.admitted(&book, again)?;
    let outputs = OutputPlaces::claim(&arguments.out, plan.name(), &book)?;
    let address = arguments.listen.as_ref().unwrap_or(&plan.servers()[own].address);
    let listener = listen(address)?;
    let mut watching =
        ChargingObserver { plan: &plan, address, book: &book, again, quiet, stored: 0, paid: None, failure: None };
    let opened = serve(&plan, &key, listener, part.wait(), &mut watching);
    let (paid, failure) = (watching.paid.take(), watching.failure.take());
    let opened = opened.map_err(|error| failure.unwrap_or_else(|| Failure::from(error)))?;
    let paid = paid.ok_or_else(|| Failure::Other("the sum was opened without a charge".to_string()))?;
    let shown = shown(&plan, &opened, &paid)?;
    let (files, head) = paid.publish(outputs, csv(&plan, &opened).as_bytes(), format!("{shown:#}\n").as_bytes())?;
    if part.json {
        return print(&format!("{shown:#}\n"));
    }
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    print(&format!("{}{}\n{}\n", in_words(&plan, &opened)?, files.join(", "), head_line(&head)))
}

/// Tells about the steps, and charges.
struct ChargingObserver<'a> {
    plan: &'a Plan,
    address: &'a str,
    book: &'a ChargedLedger,
    again: bool,
    quiet: bool,
    stored: usize,
    paid: Option<PaidCharge<'a>>,
    /// Why the ledger refused.
    failure: Option<Failure>,
}

impl ServerObserver for ChargingObserver<'_> {
    fn step(&mut self, step: &ServerStep) {
        let all = self.plan.parties().len();
        let line = match step {
            ServerStep::Listening => format!("listening at {}", self.address),
            ServerStep::Stored(party) => {
                self.stored += 1;
                format!("stored the share of '{}' ({} of {all})", self.plan.parties()[*party].name, self.stored)
            }
            ServerStep::Refused(why) => format!("refused: {}", crate::failure::printable(why)),
            ServerStep::Closed(stored) => {
                format!("no more shares are taken: {stored} of {all} parties have sent to this server")
            }
            ServerStep::Agreed(parties) => format!("all servers have the shares of the same {parties} parties"),
            ServerStep::Charged => {
                let entry = self.paid.as_ref().map_or(0, |paid| paid.sequence());
                format!("charged: entry {entry} of {}", self.book.ledger().display())
            }
            ServerStep::Told => "sent the own sum to the other servers".to_string(),
            _ => return,
        };
        if !self.quiet {
            say(&line);
        }
    }

    fn charge(&mut self, answered: &[usize]) -> scumble_parties::Result<()> {
        let charged = charge_of(self.plan, answered)
            .and_then(|charge| charge.charge(self.book, self.again).map_err(Failure::from));
        match charged {
            Ok(paid) => {
                self.paid = Some(paid);
                Ok(())
            }
            Err(failure) => {
                self.failure = Some(failure);
                Err(Error::failed("the ledger refused the charge"))
            }
        }
    }
}

fn names<'a>(plan: &'a Plan, answered: &[usize], is_in: bool) -> Vec<&'a str> {
    let parties = plan.parties().iter().enumerate().filter(|(place, _)| answered.binary_search(place).is_ok() == is_in);
    parties.map(|(_, party)| party.name.as_str()).collect()
}

fn charge_of(plan: &Plan, answered: &[usize]) -> Result<ExternalCharge, Failure> {
    let (mut charge, sum) = (super::charge_of(plan, "server")?, plan.sum());
    charge.rule["answered"] = json!(names(plan, answered, true));
    charge.rule["cells"] = json!(sum.cells());
    charge.rule["owner"] = json!({ "cells": sum.owner().cells, "by": sum.owner().by });
    Ok(charge)
}

fn answers(opened: &OpenedSum) -> PartyCountRange {
    let answered = opened.answered.len() as u64;
    answered..=answered
}

fn shown(plan: &Plan, opened: &OpenedSum, paid: &PaidCharge<'_>) -> Result<Value, Failure> {
    let mut shown = promised(plan, &answers(opened))?;
    let cells = plan.cells().iter().zip(&opened.totals);
    shown["release"] = json!(plan.name());
    shown["kind"] = json!("parties");
    shown["sequence"] = json!(paid.sequence());
    shown["ledger_head"] = json!(paid.head().hex());
    shown["answered"] = json!(names(plan, &opened.answered, true));
    shown["not_in_it"] = json!(names(plan, &opened.answered, false));
    shown["totals"] = cells.map(|(cell, total)| json!({ "cell": cell, "total": total })).collect();
    Ok(shown)
}

fn csv(plan: &Plan, opened: &OpenedSum) -> String {
    let lines = plan.cells().iter().zip(&opened.totals).map(|(cell, total)| format!("{},{total}\n", quoted(cell)));
    std::iter::once("cell,total\n".to_string()).chain(lines).collect()
}

/// More cells are in the files only.
const SHOWN: usize = 20;

fn in_words(plan: &Plan, opened: &OpenedSum) -> Result<String, Failure> {
    let missing = names(plan, &opened.answered, false);
    let missing = if missing.is_empty() { String::new() } else { format!("; not in it: {}", missing.join(", ")) };
    let (answered, all) = (opened.answered.len(), plan.parties().len());
    let mut text = format!("{}: {answered} of {all} parties are in the sum{missing}.\n", plan.name());
    let cells = plan.cells().iter().zip(&opened.totals).take(SHOWN);
    text.push_str(&table(
        &["cell", "total"],
        cells.map(|(cell, total)| vec![cell.clone(), total.to_string()]).collect(),
    ));
    if plan.cells().len() > SHOWN {
        text.push_str(&format!("and {} more in the files\n", plan.cells().len() - SHOWN));
    }
    text.push_str(&guarantee(plan, &answers(opened))?);
    Ok(text)
}
