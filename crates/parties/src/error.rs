//! Why a protocol ended early: one sentence without a full stop.

/// What was wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Wrong input: a plan, a key, a number.
    #[error("{0}")]
    Input(String),
    /// Somebody else is not there, has another plan, or was refused; or the network or the machine failed.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    pub(crate) fn input(sentence: impl Into<String>) -> Self {
        Self::Input(sentence.into())
    }

    /// A failure that is nobody's input.
    pub fn failed(sentence: impl Into<String>) -> Self {
        Self::Failed(sentence.into())
    }
}

impl From<scumble::Error> for Error {
    fn from(error: scumble::Error) -> Self {
        Self::Input(error.to_string())
    }
}

/// The result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
