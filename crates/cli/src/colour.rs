//! Colour, on a terminal without NO_COLOR: never in a pipe or a file.

use std::io::IsTerminal;

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// The head of a table.
    Head,
    /// What is as it should be.
    Good,
    /// What somebody should look at.
    Warning,
    /// What went wrong.
    Bad,
}

impl Ink {
    /// The sequence that begins it.
    fn begin(self) -> &'static str {
        match self {
            Self::Head => "\u{1b}[1m",
            Self::Good => "\u{1b}[32m",
            Self::Warning => "\u{1b}[33m",
            Self::Bad => "\u{1b}[31m",
        }
    }

    /// Text for standard output.
    pub fn on(self, text: &str) -> String {
        self.painted(text, std::io::stdout().is_terminal())
    }

    /// Text for standard error.
    pub fn on_errors(self, text: &str) -> String {
        self.painted(text, std::io::stderr().is_terminal())
    }

    fn painted(self, text: &str, is_terminal: bool) -> String {
        match is_terminal && is_wanted() && !text.is_empty() {
            true => format!("{}{text}\u{1b}[0m", self.begin()),
            false => text.to_string(),
        }
    }
}

/// Whether colour is not switched off: <https://no-color.org>.
fn is_wanted() -> bool {
    let is_said = std::env::var_os("NO_COLOR").is_some_and(|said| !said.is_empty());
    !is_said && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}
