//! `scumble parties`: several holders of data publish a sum together, and none of them shows its own numbers to anybody.

mod counts;
mod key;
mod plan;
mod product;
mod send;
mod serve;

use crate::failure::Failure;
use clap::{Args, Subcommand};
use std::time::Duration;

/// The subcommands.
#[derive(Args)]
#[command(
    after_help = "Everybody makes a key, and all keys go into one plan that everybody has. Then each server runs serve, and each party runs send.\n\nExamples:\n  scumble parties key hospital-a.key\n  scumble parties plan flu.toml\n  scumble parties serve flu.toml --key north.key --ledger north.ledger\n  scumble parties send flu.toml --key hospital-a.key --counts counts.csv"
)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Makes a key for a server or a party, and prints the half that goes into the plan
    Key(key::Arguments),
    /// Checks a plan and says what it costs, against whom, and the error to expect
    Plan(plan::Arguments),
    /// Runs one of the servers: collects shares, agrees on the list, charges the ledger, opens the sum with the others
    Serve(serve::Arguments),
    /// Sends one party's numbers, with its share of the noise, in shares to all servers
    Send(send::Arguments),
    /// How many owners have both of two bits, of which each of two parties knows one
    Product(product::Arguments),
}

/// Runs one of the subcommands.
pub fn run(arguments: &Arguments, quiet: bool) -> Result<(), Failure> {
    match &arguments.what {
        What::Key(arguments) => key::run(arguments),
        What::Plan(arguments) => plan::run(arguments),
        What::Serve(arguments) => serve::run(arguments, quiet),
        What::Send(arguments) => send::run(arguments, quiet),
        What::Product(arguments) => product::run(arguments, quiet),
    }
}

/// How long the others are waited for.
#[derive(Args)]
struct WaitArguments {
    /// How many seconds others are waited for
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = clap::value_parser!(u64).range(1..=604_800))]
    wait: u64,
}

impl WaitArguments {
    fn duration(&self) -> Duration {
        Duration::from_secs(self.wait)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
