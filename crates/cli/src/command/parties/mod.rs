//! `scumble parties`: several holders of data publish a sum together, and none of them shows its own numbers to
//! anybody.

mod counts;
mod key;
mod plan;
mod product;
mod send;
mod serve;

use crate::command::book::ChargedLedgerArguments;
use crate::failure::Failure;
use clap::{Args, Subcommand};
use scumble_engine::release::ExternalCharge;
use scumble_parties::{Key, Plan};
use serde_json::json;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The subcommands.
#[derive(Args)]
#[command(after_help = "Everybody makes a key. All keys go into one plan that everybody has. Then each\n\
                  server runs serve, and each party runs send.\n\n\
                  Examples:\n  \
                  scumble parties key hospital-a.key\n  \
                  scumble parties plan flu.toml\n  \
                  scumble parties serve flu.toml --key north.key --ledger north.ledger\n  \
                  scumble parties send flu.toml --key hospital-a.key --counts counts.csv")]
pub struct PartiesArguments {
    #[command(subcommand)]
    what: PartiesCommand,
}

#[derive(Subcommand)]
enum PartiesCommand {
    /// Makes a key, and prints the half that goes into the plan
    Key(key::PartiesKeyArguments),
    /// Checks a plan; says its cost, against whom, and the expected error
    Plan(plan::PartiesPlanArguments),
    /// Runs one server: collects shares, charges the ledger, opens the sum
    Serve(serve::PartiesServeArguments),
    /// Sends one party's numbers, with noise, in shares to all servers
    Send(send::PartiesSendArguments),
    /// Counts owners with both of two bits, each known to one party
    Product(product::PartiesProductArguments),
}

/// Runs one of the subcommands.
pub fn run(arguments: &PartiesArguments, quiet: bool) -> Result<(), Failure> {
    match &arguments.what {
        PartiesCommand::Key(arguments) => key::run(arguments),
        PartiesCommand::Plan(arguments) => plan::run(arguments),
        PartiesCommand::Serve(arguments) => serve::run(arguments, quiet),
        PartiesCommand::Send(arguments) => send::run(arguments, quiet),
        PartiesCommand::Product(arguments) => product::run(arguments, quiet),
    }
}

/// What everybody who takes part is given.
#[derive(Args)]
struct ParticipantArguments {
    /// The plan
    plan: PathBuf,
    /// The own key, whose public half is in the plan
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    #[command(flatten)]
    ledger: ChargedLedgerArguments,
    /// How many seconds to wait for others
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = clap::value_parser!(u64).range(1..=604_800))]
    wait: u64,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

impl ParticipantArguments {
    /// The plan and the own key, from their files.
    fn open<P>(&self, plan: impl Fn(&Path) -> scumble_parties::Result<P>) -> Result<(P, Key), Failure> {
        Ok((plan(&self.plan)?, Key::read(&self.key)?))
    }

    fn wait(&self) -> Duration {
        Duration::from_secs(self.wait)
    }
}

/// What an opened sum costs the owners, as a participant in this role records it.
fn charge_of(plan: &Plan, role: &str) -> Result<ExternalCharge, Failure> {
    let trust = plan.sum().trust();
    Ok(ExternalCharge {
        release: plan.name().to_string(),
        kind: "parties",
        plan: hex::encode(plan.digest()),
        events: plan.events()?,
        rule: json!({
            "role": role, "coalition": trust.coalition(), "honest": trust.honest(), "parties": trust.parties(), "servers": trust.servers(),
        }),
    })
}

/// The socket at which others are met.
fn listen(address: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).map_err(|error| {
        Failure::Input(format!("cannot listen on {address} ({error}); give another address with --listen"))
    })
}
