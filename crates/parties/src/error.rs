//! Why a protocol ended early: one sentence without a full stop.

/// What sort of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Wrong input: a plan, a key, a number.
    Input,
    /// Somebody else is not there, has another plan, or was refused; or the network or the machine failed.
    Failed,
}

/// What was wrong, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct Error {
    kind: ErrorKind,
    sentence: String,
}

impl Error {
    pub(crate) fn input(sentence: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Input, sentence: sentence.into() }
    }

    /// A failure that no input caused.
    pub fn failed(sentence: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Failed, sentence: sentence.into() }
    }

    /// What sort of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl From<scumble::Error> for Error {
    fn from(error: scumble::Error) -> Self {
        Self::input(error.to_string())
    }
}

/// The result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
