//! The program as clap knows it, with the commands of its help in groups.

use crate::Program;
use crate::command::{DailyCommand, FurtherCommand};
use clap::{CommandFactory, Subcommand};
use std::fmt::Write;

/// The program with its grouped help.
pub fn program() -> clap::Command {
    let program = Program::command();
    let groups = groups(&program);
    // Clap has no headings for commands. The lists are made from the commands that there are: none can be forgotten.
    program
        .help_template(format!("{{about}}\n\n{{usage-heading}} {{usage}}\n{groups}\n{EXAMPLES}\nOptions:\n{{options}}"))
}

/// First steps.
const EXAMPLES: &str = "Examples:
  scumble demo                               # what it does, on invented people
  scumble init visits.csv --owner person_id  # a first project file
  scumble plan                               # cost and error of each release
  scumble release                            # publish
";

fn groups(program: &clap::Command) -> String {
    let daily = listed(&DailyCommand::augment_subcommands(clap::Command::new("daily")));
    let further = listed(&FurtherCommand::augment_subcommands(clap::Command::new("further")));
    let is_listed = |name: &str| daily.iter().chain(&further).any(|(listed, _)| listed == name);
    let mut groups = listed(program);
    groups.retain(|(name, _)| !is_listed(name));
    groups.push(("help".to_string(), "Prints the help of a command: scumble help plan".to_string()));
    let mut text = String::new();
    for (heading, commands) in [("Daily", daily), ("More releases", further), ("More commands", groups)] {
        let _ = writeln!(text, "\n{heading}:");
        for (name, about) in commands {
            let _ = writeln!(text, "  {name:WIDEST$}  {about}");
        }
    }
    text
}

/// The length of the longest name at the top.
const WIDEST: usize = "release".len();

/// The commands below one, each with its sentence.
fn listed(parent: &clap::Command) -> Vec<(String, String)> {
    let about = |command: &clap::Command| command.get_about().map_or_else(String::new, ToString::to_string);
    parent.get_subcommands().map(|command| (command.get_name().to_string(), about(command))).collect()
}
