//! Why somebody did not get what they asked for: one sentence, and what kind of refusal it is.

use scumble_engine::{Error, ErrorKind, Place, QueryMistake};
use std::fmt;

/// Why not.
#[derive(Debug, Clone)]
pub struct Refusal {
    kind: RefusalKind,
    sentence: String,
    place: Option<Place>,
    mistake: Option<QueryMistake>,
}

/// Kinds of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalKind {
    /// Wrong input: a query, a cost, a field.
    Input,
    /// It does not fit a budget.
    Budget,
    /// No token, or an unknown one.
    Token,
    /// This role may not.
    Role,
    /// There is no such thing, or not for this person.
    NotFound,
    /// It was charged, and its answer is not there.
    Lost,
    /// The key of this request belongs to another one.
    Conflict,
    /// Too many at once, or the server is about to stop.
    Busy,
    /// More than is read of anybody.
    TooLarge,
    /// The request did not come to its end in time.
    TooSlow,
    /// The machine failed.
    Machine,
}

impl RefusalKind {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Input,
        Self::Budget,
        Self::Token,
        Self::Role,
        Self::NotFound,
        Self::Lost,
        Self::Conflict,
        Self::Busy,
        Self::TooLarge,
        Self::TooSlow,
        Self::Machine,
    ];

    /// Its status in HTTP, in a word, and in a few.
    fn described(self) -> (u16, &'static str, &'static str) {
        match self {
            Self::Input => (400, "input", "The request is wrong"),
            Self::Token => (401, "token", "The token is not known"),
            Self::Budget => (402, "budget", "It does not fit the budget"),
            Self::Role => (403, "role", "Not for this role"),
            Self::NotFound => (404, "not-found", "There is no such thing"),
            Self::TooSlow => (408, "too-slow", "The request did not end in time"),
            Self::Conflict => (409, "conflict", "The key belongs to another request"),
            Self::Lost => (410, "lost", "It was charged, and its answer is lost"),
            Self::TooLarge => (413, "too-large", "The request is too large"),
            Self::Machine => (500, "machine", "The server failed"),
            Self::Busy => (503, "busy", "The server is busy"),
        }
    }

    /// Its status in HTTP.
    pub fn status(self) -> u16 {
        self.described().0
    }

    /// In a word, and in a few.
    pub fn words(self) -> (&'static str, &'static str) {
        let (_, word, title) = self.described();
        (word, title)
    }
}

impl Refusal {
    /// A refusal without a place.
    pub fn new(kind: RefusalKind, sentence: impl Into<String>) -> Self {
        Self { kind, sentence: sentence.into(), place: None, mistake: None }
    }

    /// Wrong input.
    pub fn input(sentence: impl Into<String>) -> Self {
        Self::new(RefusalKind::Input, sentence)
    }

    /// What kind of refusal it is.
    pub fn kind(&self) -> RefusalKind {
        self.kind
    }

    /// What is wrong and what to do, without the place.
    pub fn sentence(&self) -> &str {
        &self.sentence
    }

    /// Where it is, if it is in a text that was given.
    pub fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// What is wrong with a query, if it is one of the mistakes that have a code.
    pub fn mistake(&self) -> Option<QueryMistake> {
        self.mistake
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::Input => RefusalKind::Input,
            ErrorKind::Budget => RefusalKind::Budget,
            _ => RefusalKind::Machine,
        };
        let (place, mistake) = (error.place().cloned(), error.mistake());
        Self { kind, sentence: error.sentence().to_string(), place, mistake }
    }
}

impl From<scumble_engine::ledger::Error> for Refusal {
    fn from(error: scumble_engine::ledger::Error) -> Self {
        Error::from(error).into()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.sentence),
            None => f.write_str(&self.sentence),
        }
    }
}

impl std::error::Error for Refusal {}
