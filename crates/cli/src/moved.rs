//! Commands that stood at the top before `lab` and `setup`. They work there until 0.2; help, manual and completions
//! have their new places only.

use std::ffi::OsString;

/// The groups into which commands have moved.
const GROUPS: [&str; 2] = ["lab", "setup"];
/// What may stand before a command.
const BEFORE: [&str; 2] = ["help", "--quiet"];

/// The arguments with the group of a command that has moved: `account FILE` becomes `lab account FILE`.
pub fn in_place(mut arguments: Vec<OsString>, program: &clap::Command) -> Vec<OsString> {
    let place = arguments.iter().skip(1).position(|argument| !BEFORE.iter().any(|before| argument == before));
    if let Some(place) = place.map(|place| place + 1)
        && let Some(group) = arguments[place].to_str().and_then(|name| group(name, program))
    {
        arguments.insert(place, group.into());
    }
    arguments
}

/// The group that has a command of this name, if none stands at the top.
fn group(name: &str, program: &clap::Command) -> Option<&'static str> {
    let has = |group: &&str| program.find_subcommand(group).is_some_and(|group| group.find_subcommand(name).is_some());
    GROUPS.into_iter().find(has).filter(|_| program.find_subcommand(name).is_none())
}
