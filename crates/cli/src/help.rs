//! The program as clap knows it, with the commands of its help in groups.

use crate::Program;
use crate::command::{PublishCommand, SetupCommand, UnderstandCommand};
use clap::{CommandFactory, Subcommand};
use std::fmt::Write;

/// The program with its grouped help.
pub fn program() -> clap::Command {
    let program = Program::command();
    let groups = groups(&program);
    // Clap has no headings for commands; the lists are made from the commands that there are, so that none can be forgotten.
    program
        .help_template(format!("{{about}}\n\n{{usage-heading}} {{usage}}\n{groups}\n{EXAMPLES}\nOptions:\n{{options}}"))
}

/// The commands that one begins with, in the order of work.
const EXAMPLES: &str = "Examples:
  scumble demo                                    see what it does, on made-up people
  scumble init visits.csv --owner person_id       a first project file; fill in what is publicly known
  scumble check                                   do the files fit what is declared?
  scumble plan                                    what would each release cost, and how far off will it be?
  scumble release                                 publish what is not published yet
  scumble ledger show                             what has been given away, and what is left
  scumble budget raise --because \"a second wave\"  allow more, and say why
";

fn groups(program: &clap::Command) -> String {
    let group = |augment: fn(clap::Command) -> clap::Command| listed("", &augment(clap::Command::new("group")));
    let reproduce = program.find_subcommand("reproduce").map_or_else(Vec::new, |found| listed("reproduce ", found));
    let mut setup = group(SetupCommand::augment_subcommands);
    setup.push(("help".to_string(), "The same as --help, also for a command: scumble help plan".to_string()));
    let groups = [
        ("Publish", group(PublishCommand::augment_subcommands)),
        ("Understand", group(UnderstandCommand::augment_subcommands)),
        ("Reproduce the tables and pictures of the guides", reproduce),
        ("Set up", setup),
    ];
    let mut text = String::new();
    for (heading, commands) in groups {
        let widest = commands.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let _ = writeln!(text, "\n{heading}:");
        for (name, about) in commands {
            let _ = writeln!(text, "  {name:widest$}  {about}");
        }
    }
    text
}

/// The commands below one, each with its sentence.
fn listed(before: &str, parent: &clap::Command) -> Vec<(String, String)> {
    let about = |command: &clap::Command| command.get_about().map_or_else(String::new, ToString::to_string);
    parent.get_subcommands().map(|command| (format!("{before}{}", command.get_name()), about(command))).collect()
}
