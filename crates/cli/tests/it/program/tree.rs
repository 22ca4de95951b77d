//! The tree of commands, as the program's help shows it.

use crate::support::{printed, scumble};
use std::sync::LazyLock;

/// The help of one command.
pub struct Help {
    /// The words of the command after `scumble`.
    pub path: Vec<String>,
    /// What is printed.
    pub text: String,
}

/// All commands, each after the one that it stands below.
pub static TREE: LazyLock<Vec<Help>> = LazyLock::new(|| {
    let mut all = vec![Help::of(Vec::new())];
    let mut next = 0;
    while let Some(help) = all.get(next) {
        let below: Vec<Vec<String>> =
            help.below().into_iter().map(|(_, name, _)| [help.path.clone(), vec![name]].concat()).collect();
        all.extend(below.into_iter().map(Help::of));
        next += 1;
    }
    all
});

/// The help of a command.
pub fn help(path: &str) -> &'static Help {
    TREE.iter().find(|help| help.path.join(" ") == path).unwrap_or_else(|| panic!("there is no command {path}"))
}

impl Help {
    fn of(path: Vec<String>) -> Self {
        let words: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
        Self { text: printed(scumble(&words)), path }
    }

    /// The lines below each heading, in the order of the text.
    pub fn sections(&self) -> Vec<(&str, Vec<&str>)> {
        let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
        for line in self.text.lines().filter(|line| !line.is_empty()) {
            match (line.strip_prefix("  "), line.strip_suffix(':')) {
                (Some(entry), _) => all.last_mut().into_iter().for_each(|(_, lines)| lines.push(entry)),
                (None, Some(heading)) => all.push((heading, Vec::new())),
                (None, None) => all.push(("", Vec::new())),
            }
        }
        all
    }

    /// The commands below this one: heading, name and sentence.
    pub fn below(&self) -> Vec<(&str, String, String)> {
        let sections = self
            .sections()
            .into_iter()
            .filter(|(heading, _)| !["", "Arguments", "Options", "Example", "Examples"].contains(heading));
        let entries = sections.flat_map(|(heading, lines)| lines.into_iter().map(move |line| (heading, line)));
        let commands = entries.filter_map(|(heading, line)| {
            let (name, about) = line.split_once("  ")?;
            (!name.is_empty() && name != "help").then(|| (heading, name.to_string(), about.trim().to_string()))
        });
        commands.collect()
    }

    /// The example lines, which a shell runs as they stand.
    pub fn examples(&self) -> Vec<&str> {
        let sections = self.sections().into_iter();
        sections.filter(|(heading, _)| ["Example", "Examples"].contains(heading)).flat_map(|(_, lines)| lines).collect()
    }

    /// Whether commands stand below it.
    pub fn is_group(&self) -> bool {
        !self.below().is_empty()
    }
}
