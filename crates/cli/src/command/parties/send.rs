//! `scumble parties send`.

use super::{ParticipantArguments, charge_of, counts};
use crate::failure::{Failure, say};
use crate::output::{print, print_line};
use clap::Args;
use scumble::noise::SecureSource;
use scumble_parties::{Plan, ShareSender};
use serde_json::json;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Example:\n  scumble parties send flu.toml --key hospital-a.key --counts counts.csv")]
pub struct PartiesSendArguments {
    #[command(flatten)]
    part: ParticipantArguments,
    /// Lines cell,number, or numbers in plan order; - is stdin
    #[arg(long, value_name = "FILE")]
    counts: PathBuf,
}

/// Looks whether the numbers fit the plan, meets the servers, charges the own ledger if there is one, and only then
/// sends.
pub fn run(arguments: &PartiesSendArguments, quiet: bool) -> Result<(), Failure> {
    let part = &arguments.part;
    let (plan, key) = part.open(Plan::open)?;
    let mut bits = SecureSource::new()?;
    let (book, again) = (part.ledger.book()?, part.ledger.again);
    let outside = charge_of(&plan, "party")?;
    if let Some(book) = &book {
        outside.admitted(book, again)?;
    }
    refuse_if!(
        arguments.counts.as_os_str() != "-" && !arguments.counts.is_file(),
        "{} is not a file",
        arguments.counts.display()
    );
    let values = counts::read(&arguments.counts, plan.cells(), plan.largest())?;
    let sender = ShareSender::meet(&plan, &key, part.wait())?;
    let paid = book.as_ref().map(|book| outside.charge(book, again)).transpose()?;
    sender.send(&values, &mut bits)?;
    let entry = paid.as_ref().map(|paid| paid.sequence());
    paid.map(|paid| paid.commit(&scumble_engine::digest(plan.digest()))).transpose()?;
    if part.json {
        return print_line(&json!({ "sent": true, "servers": plan.servers().len(), "entry": entry }));
    }
    if !quiet && entry.is_none() {
        say("not recorded in a ledger of this party; --ledger FILE does that");
    }
    print(&format!("sent to {} servers; each of them has stored its share\n", plan.servers().len()))
}
