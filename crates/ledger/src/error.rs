//! Why the ledger refused: one sentence.

use std::fmt;

/// The ledger's result.
pub type Result<T> = std::result::Result<T, Error>;

/// What sort of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Wrong input: a file, a path, a declaration, a query, a parameter.
    Input,
    /// A charge does not fit into the budget.
    Budget,
    /// The machine failed: disk, memory, a damaged ledger.
    Machine,
}

/// Why nothing was written or read. Prints as one sentence without a full stop.
#[derive(Debug, Clone)]
pub struct Error {
    kind: ErrorKind,
    sentence: String,
}

impl Error {
    /// Wrong input.
    pub fn input(sentence: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Input, sentence: sentence.into() }
    }

    /// A charge that does not fit into the budget.
    pub fn budget(sentence: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Budget, sentence: sentence.into() }
    }

    /// A failure of the machine.
    pub fn machine(sentence: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Machine, sentence: sentence.into() }
    }

    /// What sort of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Error {}

impl From<scumble::Error> for Error {
    fn from(error: scumble::Error) -> Self {
        Self::input(error.to_string())
    }
}
