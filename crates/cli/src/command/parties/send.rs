//! `scumble parties send`.

use super::{WaitArguments, counts, hex};
use crate::command::book::LedgerArguments;
use crate::failure::{Failure, say};
use crate::output::print;
use clap::Args;
use scumble::noise::SecureSource;
use scumble_engine::release::{Outside, Paid};
use scumble_parties::{Key, Plan, Sender};
use serde_json::json;
use std::path::PathBuf;

#[derive(Args)]
pub struct Arguments {
    /// The plan
    plan: PathBuf,
    /// This party's key
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// A line cell,number for each cell, or the numbers alone in the plan's order; - reads standard input
    #[arg(long, value_name = "FILE")]
    counts: PathBuf,
    #[command(flatten)]
    ledger: LedgerArguments,
    #[command(flatten)]
    wait: WaitArguments,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Meets the servers, charges the own ledger if there is one, and only then reads the numbers and sends.
pub fn run(arguments: &Arguments, quiet: bool) -> Result<(), Failure> {
    let plan = Plan::open(&arguments.plan)?;
    let key = Key::read(&arguments.key)?;
    let mut bits = SecureSource::new()?;
    let book = arguments.ledger.book()?;
    let again = arguments.ledger.again;
    let outside = charge_of(&plan)?;
    if let Some(book) = &book {
        outside.admitted(book, again)?;
    }
    if arguments.counts.as_os_str() != "-" && !arguments.counts.is_file() {
        return Err(Failure::Input(format!("{} is no file", arguments.counts.display())));
    }
    let sender = Sender::meet(&plan, &key, arguments.wait.duration())?;
    let paid = book.as_ref().map(|book| outside.charge(book, again)).transpose()?;
    let values = counts::read(&arguments.counts, plan.cells(), plan.largest())?;
    sender.send(&values, &mut bits)?;
    let entry = paid.as_ref().map(Paid::sequence);
    paid.map(|paid| paid.commit(&scumble_engine::digest(plan.digest()))).transpose()?;
    if arguments.json {
        return print(&format!("{}\n", json!({ "sent": true, "servers": plan.servers().len(), "entry": entry })));
    }
    if !quiet && entry.is_none() {
        say("not recorded in a ledger of this party; --ledger FILE does that");
    }
    print(&format!("sent to {} servers; each of them has stored its share\n", plan.servers().len()))
}

/// What a party writes into its own ledger: what its owners lose if the sum is opened.
fn charge_of(plan: &Plan) -> Result<Outside, Failure> {
    let trust = plan.sum().trust();
    Ok(Outside {
        release: plan.name().to_string(),
        kind: "parties",
        plan: hex(plan.digest()),
        events: plan.events()?,
        rule: json!({
            "role": "party", "coalition": trust.coalition(), "honest": trust.honest(), "parties": trust.parties(), "servers": trust.servers(),
        }),
    })
}
