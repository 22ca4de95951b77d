//! How a command fails: one sentence on stderr, or one line of JSON with `--json`, and an exit status.

use crate::colour::Ink;
use clap::error::ErrorKind;
use serde_json::json;
use std::io::{self, Write};
use std::process::ExitCode;

/// Refuses input with a sentence: returns [`Failure::Input`] from the function. It takes what `format!` takes.
macro_rules! refuse {
    ($($sentence:tt)+) => {
        return Err($crate::failure::Failure::Input(format!($($sentence)+)))
    };
}

/// Refuses input with a sentence where the condition holds.
macro_rules! refuse_if {
    ($is_wrong:expr, $($sentence:tt)+) => {
        if $is_wrong {
            refuse!($($sentence)+);
        }
    };
}

/// Why a command ended early.
#[derive(Debug)]
pub enum Failure {
    /// Wrong input: exit status 2.
    Input(String),
    /// A charge that the budget refuses: exit status 3.
    Budget(String),
    /// An audit that refutes a claim: exit status 1.
    Refuted(String),
    /// Anything else: exit status 1.
    Other(String),
    /// The reader of our output has closed it, which is not reported as a failure.
    ClosedOutput,
}

impl Failure {
    /// Prints the sentence, as JSON where answers are JSON, and gives the exit status.
    pub fn report(self) -> ExitCode {
        let (sentence, status, kind) = match self {
            Self::Input(sentence) => (sentence, 2, "input"),
            Self::Budget(sentence) => (sentence, 3, "budget"),
            Self::Refuted(sentence) => (sentence, 1, "refuted"),
            Self::Other(sentence) => (sentence, 1, "machine"),
            Self::ClosedOutput => return ExitCode::SUCCESS,
        };
        let sentence = printable(&sentence);
        match is_json() {
            true => say(&json!({ "error": { "kind": kind, "status": status, "sentence": sentence } }).to_string()),
            false => say(&format!("{} {sentence}", Ink::Bad.on_errors("scumble:"))),
        }
        ExitCode::from(status)
    }
}

/// Whether JSON was asked for. The arguments may be what is wrong, so that they are looked at as they are.
fn is_json() -> bool {
    std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json")
}

/// On one line and without commands to the terminal: names of columns, tables and files stand in sentences, and can be
/// anything.
pub fn printable(sentence: &str) -> String {
    let shown = |letter: char| match letter.is_control() {
        true => letter.escape_default().collect(),
        false => letter.to_string(),
    };
    sentence.trim_end().chars().map(shown).collect()
}

impl From<scumble::Error> for Failure {
    fn from(error: scumble::Error) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<scumble_engine::Error> for Failure {
    fn from(error: scumble_engine::Error) -> Self {
        let sentence = error.to_string();
        match error.kind() {
            scumble_engine::ErrorKind::Input => Self::Input(sentence),
            scumble_engine::ErrorKind::Budget => Self::Budget(sentence),
            // The machine: disk, memory, a damaged ledger.
            _ => Self::Other(sentence),
        }
    }
}

impl From<scumble_engine::ledger::Error> for Failure {
    fn from(error: scumble_engine::ledger::Error) -> Self {
        scumble_engine::Error::from(error).into()
    }
}

impl From<scumble_parties::Error> for Failure {
    fn from(error: scumble_parties::Error) -> Self {
        let sentence = error.to_string();
        match error.kind() {
            scumble_parties::ErrorKind::Input => Self::Input(sentence),
            // Somebody else, the network, the machine.
            _ => Self::Other(sentence),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedOutput,
            _ => Self::Other(error.to_string()),
        }
    }
}

/// Help and version go to stdout; a wrong call becomes one sentence that names the flag, with exit status 2.
pub fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let text = crate::wrapped::wrapped(&error.render().to_string());
            let mut output = io::stdout();
            match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => Failure::from(error).report(),
            }
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(2)
        }
        _ => Failure::Input(one_sentence(&error.to_string())).report(),
    }
}

/// Clap's message without its usage block: the first paragraph, and a suggestion if there is one, on one line.
fn one_sentence(message: &str) -> String {
    let shown = message.strip_prefix("error: ").unwrap_or(message);
    let useful =
        shown.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    useful.map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ").replace(":; ", ": ")
}

/// A line on stderr. Where nobody can read it (a full disk, a closed stream), the exit status still tells.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
