//! Why somebody did not get what they asked for: one sentence, and what kind of refusal it is.

use scumble_engine::{Error, ErrorKind, Place};
use std::fmt;

/// Why not.
#[derive(Debug, Clone)]
pub struct Refusal {
    kind: RefusalKind,
    sentence: String,
    place: Option<Place>,
}

/// Kinds of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalKind {
    /// Wrong input: a query, a cost, a field.
    Input,
    /// It does not fit a budget.
    Budget,
    /// No token, or one that nobody has.
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

    /// Its status in HTTP.
    pub fn status(self) -> u16 {
        match self {
            Self::Input => 400,
            Self::Token => 401,
            Self::Budget => 402,
            Self::Role => 403,
            Self::NotFound => 404,
            Self::TooSlow => 408,
            Self::Conflict => 409,
            Self::Lost => 410,
            Self::TooLarge => 413,
            Self::Machine => 500,
            Self::Busy => 503,
        }
    }

    /// In a word, and in a few.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Input => ("input", "The request is wrong"),
            Self::Token => ("token", "The token is not known"),
            Self::Budget => ("budget", "It does not fit the budget"),
            Self::Role => ("role", "Not for this role"),
            Self::NotFound => ("not-found", "There is no such thing"),
            Self::TooSlow => ("too-slow", "The request did not end in time"),
            Self::Conflict => ("conflict", "The key belongs to another request"),
            Self::Lost => ("lost", "It was charged, and its answer is lost"),
            Self::TooLarge => ("too-large", "The request is too large"),
            Self::Machine => ("machine", "The server failed"),
            Self::Busy => ("busy", "The server is busy"),
        }
    }
}

impl Refusal {
    /// A refusal without a place.
    pub fn new(kind: RefusalKind, sentence: impl Into<String>) -> Self {
        Self { kind, sentence: sentence.into(), place: None }
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
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::Input => RefusalKind::Input,
            ErrorKind::Budget => RefusalKind::Budget,
            _ => RefusalKind::Machine,
        };
        Self { kind, sentence: error.sentence().to_string(), place: error.place().cloned() }
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
