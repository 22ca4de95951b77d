//! Why the ledger refused: one sentence.

use std::fmt;

/// The ledger's result.
pub type Result<T> = std::result::Result<T, Error>;

/// Why nothing was written or read. Each prints as one sentence without a full stop.
#[derive(Debug, Clone)]
pub enum Error {
    /// Wrong input: a path, a declaration, a budget.
    Input(String),
    /// A charge does not fit into the budget.
    Budget(String),
    /// The machine failed: disk, memory, a damaged ledger.
    Machine(String),
}

impl Error {
    /// Wrong input.
    pub fn input(sentence: impl Into<String>) -> Self {
        Self::Input(sentence.into())
    }

    /// A failure of the machine.
    pub fn machine(sentence: impl Into<String>) -> Self {
        Self::Machine(sentence.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(sentence) | Self::Budget(sentence) | Self::Machine(sentence) => f.write_str(sentence),
        }
    }
}

impl std::error::Error for Error {}

impl From<scumble::Error> for Error {
    fn from(error: scumble::Error) -> Self {
        Self::input(error.to_string())
    }
}
