//! `scumble setup access`: who may ask the server of a project.

use crate::command::engine::{ProjectArguments, located, table};
use crate::failure::Failure;
use crate::output::{print, print_json};
use clap::{Args, Subcommand};
use scumble_server::access::{self, Role};
use serde_json::{Value, json};

/// What `access` takes.
#[derive(Args)]
#[command(after_help = "Curators may do everything, analysts plan and query, viewers read answers. A\n\
                  token is shown once. A running server sees changes at once.\n\n\
                  Examples:\n  \
                  scumble setup access add ada --role analyst\n  \
                  scumble setup access list\n  \
                  scumble setup access revoke ada")]
pub struct AccessArguments {
    #[command(subcommand)]
    action: AccessCommand,
}

#[derive(Subcommand)]
enum AccessCommand {
    /// Gives access to a name, and prints the token
    Add(AccessAddArguments),
    /// Lists all names that have or had access
    List(AccessListArguments),
    /// Ends the access of a name
    Revoke(AccessRevokeArguments),
}

/// What `add` takes.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble setup access add ada --role analyst")]
struct AccessAddArguments {
    /// The name: a-z, 0-9, '.', '_' and '-'
    name: String,
    /// curator, analyst or viewer
    #[arg(long, default_value = "analyst", value_parser = role)]
    role: Role,
    #[command(flatten)]
    project: AccessProjectArguments,
}

/// What `list` takes.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble setup access list")]
struct AccessListArguments {
    #[command(flatten)]
    project: AccessProjectArguments,
}

/// What `revoke` takes.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble setup access revoke ada")]
struct AccessRevokeArguments {
    /// The name
    name: String,
    #[command(flatten)]
    project: AccessProjectArguments,
}

/// Whose project.
#[derive(Args)]
struct AccessProjectArguments {
    #[command(flatten)]
    project: ProjectArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn role(word: &str) -> Result<Role, String> {
    word.parse()
}

/// Runs the command.
pub fn run(arguments: &AccessArguments, quiet: bool) -> Result<(), Failure> {
    match &arguments.action {
        AccessCommand::Add(arguments) => add(arguments),
        AccessCommand::List(arguments) => list(arguments),
        AccessCommand::Revoke(arguments) => revoke(arguments, quiet),
    }
}

fn add(arguments: &AccessAddArguments) -> Result<(), Failure> {
    let (_, ledger) = located(&arguments.project.project)?;
    let token = access::add(&ledger, &arguments.name, arguments.role)?;
    match arguments.project.json {
        true => print_json(&json!({ "name": arguments.name, "role": arguments.role.to_string(), "token": token })),
        // The token alone, for scripts.
        false => print(&format!("{token}\n")),
    }
}

fn list(arguments: &AccessListArguments) -> Result<(), Failure> {
    let (_, ledger) = located(&arguments.project.project)?;
    let people = access::list(&ledger)?;
    if arguments.project.json {
        let people: Vec<Value> = people
            .iter()
            .map(|one| json!({ "name": one.name, "role": one.role.to_string(), "added": one.added, "revoked": one.revoked }))
            .collect();
        return print_json(&json!({ "people": people }));
    }
    let rows = people
        .into_iter()
        .map(|one| vec![one.name, one.role.to_string(), one.added, one.revoked.unwrap_or_else(|| "–".to_string())]);
    print(&table(&["name", "role", "added", "revoked"], rows.collect()))
}

fn revoke(arguments: &AccessRevokeArguments, quiet: bool) -> Result<(), Failure> {
    let (_, ledger) = located(&arguments.project.project)?;
    access::revoke(&ledger, &arguments.name)?;
    match (arguments.project.json, quiet) {
        (true, _) => print_json(&json!({ "name": arguments.name, "revoked": true })),
        (false, true) => Ok(()),
        (false, false) => print(&format!("{} has no access any more\n", arguments.name)),
    }
}
