//! Why the engine refused: one sentence, with the place in a file where there is one.

use crate::place::{Origin, Place};
use std::fmt;

/// The engine's result.
pub type Result<T> = std::result::Result<T, Error>;

/// The result of code that runs inside of DataFusion, or is called by it.
pub(crate) type DataFusionResult<T> = std::result::Result<T, datafusion::error::DataFusionError>;

/// Why nothing was released. Each prints as one sentence without a full stop.
#[derive(Debug, Clone)]
pub enum Error {
    /// Wrong input: a file, a query, a parameter.
    Input {
        /// Where, if it is in a file or a query.
        place: Option<Place>,
        /// What is wrong and what to do.
        sentence: String,
    },
    /// The ledger refused the charge.
    Budget(String),
    /// The machine failed: disk, memory, a damaged ledger.
    Machine(String),
}

impl Error {
    /// Wrong input without a place.
    pub fn input(sentence: impl Into<String>) -> Self {
        Self::Input { place: None, sentence: sentence.into() }
    }

    /// Wrong input at a place. On the command line there are none: nobody has the text in front of them that was made of it.
    pub fn at(place: Place, sentence: impl Into<String>) -> Self {
        let place = Some(place).filter(|place| place.origin != Origin::CommandLine);
        Self::Input { place, sentence: sentence.into() }
    }

    /// A failure of the machine.
    pub fn machine(sentence: impl Into<String>) -> Self {
        Self::Machine(sentence.into())
    }

    /// The same with a place, if it is wrong input that has none yet. On the command line there are none.
    pub fn or_at(self, place: Place) -> Self {
        match self {
            error if place.origin == Origin::CommandLine => error,
            Self::Input { place: None, sentence } => Self::Input { place: Some(place), sentence },
            other => other,
        }
    }

    /// The same, saying what was being done, if it is wrong input without a place.
    pub fn or_while(self, doing: &str) -> Self {
        match self {
            Self::Input { place: None, sentence } => {
                Self::Input { place: None, sentence: format!("{doing}: {sentence}") }
            }
            other => other,
        }
    }

    /// The same, its sentence [`shortened`]: a query can be as long as a book, and what is wrong with it is not.
    pub(crate) fn quoting_little(self) -> Self {
        match self {
            Self::Input { place, sentence } => Self::Input { place, sentence: shortened(&sentence) },
            Self::Budget(sentence) => Self::Budget(shortened(&sentence)),
            Self::Machine(sentence) => Self::Machine(shortened(&sentence)),
        }
    }

    /// The same without its place, for texts that nobody has in front of them.
    pub fn without_place(self) -> Self {
        match self {
            Self::Input { sentence, .. } => Self::Input { place: None, sentence },
            other => other,
        }
    }
}

/// The most characters of a sentence that quotes something.
const LONGEST: usize = 1_000;

/// A sentence without the middle of what it quotes, where that is long: its beginning says what is wrong, its end what to do.
pub fn shortened(sentence: &str) -> String {
    if sentence.len() <= LONGEST {
        return sentence.to_string();
    }
    let begin: String = sentence.chars().take(LONGEST / 2).collect();
    let rest = sentence.chars().count().saturating_sub(LONGEST / 4).max(LONGEST / 2);
    format!("{begin} … {}", sentence.chars().skip(rest).collect::<String>())
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input { place: Some(place), sentence } => write!(f, "{place}: {sentence}"),
            Self::Input { place: None, sentence } | Self::Budget(sentence) | Self::Machine(sentence) => {
                f.write_str(sentence)
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<scumble::Error> for Error {
    fn from(error: scumble::Error) -> Self {
        Self::input(error.to_string())
    }
}

impl From<scumble_ledger::Error> for Error {
    fn from(error: scumble_ledger::Error) -> Self {
        match error {
            scumble_ledger::Error::Input(sentence) => Self::input(sentence),
            scumble_ledger::Error::Budget(sentence) => Self::Budget(sentence),
            scumble_ledger::Error::Machine(sentence) => Self::Machine(sentence),
        }
    }
}
