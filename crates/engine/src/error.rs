//! Why the engine refused: one sentence, with the place in a file where there is one.

use crate::place::{Origin, Place};
pub use scumble_ledger::ErrorKind;
use std::fmt;

/// The engine's result.
pub type Result<T> = std::result::Result<T, Error>;

/// The result of code that runs inside of DataFusion, or is called by it.
pub(crate) type DataFusionResult<T> = std::result::Result<T, datafusion::error::DataFusionError>;

/// What is wrong with a query, for doors that answer with a code beside the sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueryMistake {
    /// It is not SQL.
    Syntax,
    /// It names a table that is not declared.
    UnknownTable,
    /// It names a column that is not declared.
    UnknownColumn,
    /// It calls a function that is not known.
    UnknownFunction,
}

/// Why nothing was released. Prints as one sentence without a full stop.
#[derive(Debug, Clone)]
pub struct Error {
    kind: ErrorKind,
    mistake: Option<QueryMistake>,
    place: Option<Place>,
    sentence: String,
}

impl Error {
    fn new(kind: ErrorKind, sentence: impl Into<String>) -> Self {
        Self { kind, mistake: None, place: None, sentence: sentence.into() }
    }

    /// Wrong input without a place.
    pub fn input(sentence: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, sentence)
    }

    /// Wrong input at a place. Input from the command line has no place, because the user does not see the text that
    /// was made from it.
    pub fn at(place: Place, sentence: impl Into<String>) -> Self {
        Self::input(sentence).or_at(place)
    }

    /// A charge that does not fit into the budget.
    pub fn budget(sentence: impl Into<String>) -> Self {
        Self::new(ErrorKind::Budget, sentence)
    }

    /// A failure of the machine.
    pub fn machine(sentence: impl Into<String>) -> Self {
        Self::new(ErrorKind::Machine, sentence)
    }

    /// What sort of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What is wrong with a query, if it is one of the mistakes that have a code.
    pub fn mistake(&self) -> Option<QueryMistake> {
        self.mistake
    }

    /// The same as this mistake.
    pub(crate) fn with_mistake(self, mistake: QueryMistake) -> Self {
        Self { mistake: Some(mistake), ..self }
    }

    /// Where it is, if it is wrong input in a file or a query.
    pub fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// What is wrong and what to do, without the place.
    pub fn sentence(&self) -> &str {
        &self.sentence
    }

    /// The same with a place, if it is wrong input that has none yet. On the command line there are none.
    pub fn or_at(self, place: Place) -> Self {
        if !self.is_without_place() || place.origin == Origin::CommandLine {
            return self;
        }
        Self { place: Some(place), ..self }
    }

    /// The same, saying what was being done, if it is wrong input without a place.
    pub fn or_while(self, doing: &str) -> Self {
        if !self.is_without_place() {
            return self;
        }
        Self { sentence: format!("{doing}: {}", self.sentence), ..self }
    }

    /// The same, its sentence [`shortened`]: a query can be as long as a book, and what is wrong with it is not.
    pub(crate) fn quoting_little(self) -> Self {
        Self { sentence: shortened(&self.sentence), ..self }
    }

    /// The same without its place, for texts that the user does not see.
    pub fn without_place(self) -> Self {
        Self { place: None, ..self }
    }

    fn is_without_place(&self) -> bool {
        self.kind == ErrorKind::Input && self.place.is_none()
    }
}

/// The most characters of a sentence that quotes something.
const LONGEST: usize = 1_000;

/// A sentence without the middle of what it quotes, where that is long: its beginning says what is wrong, its end what
/// to do.
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
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.sentence)
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
        Self::new(error.kind(), error.to_string())
    }
}
