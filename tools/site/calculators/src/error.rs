//! The error of the engine's files that are compiled here: one sentence, with its place in the project file.

use crate::place::{Origin, Place};
use std::fmt;

/// The result of the engine's files.
pub type Result<T> = std::result::Result<T, Error>;

/// Why there is no plan.
#[derive(Debug, Clone)]
pub struct Error {
    place: Option<Place>,
    sentence: String,
}

impl Error {
    /// Wrong input without a place.
    pub fn input(sentence: impl Into<String>) -> Self {
        Self { place: None, sentence: sentence.into() }
    }

    /// Wrong input at a place.
    pub fn at(place: Place, sentence: impl Into<String>) -> Self {
        Self::input(sentence).or_at(place)
    }

    /// The same with a place, if it has none yet.
    pub fn or_at(self, place: Place) -> Self {
        if self.place.is_some() || place.origin == Origin::CommandLine {
            return self;
        }
        Self { place: Some(place), ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.sentence)
    }
}

impl From<scumble::Error> for Error {
    fn from(error: scumble::Error) -> Self {
        Self::input(error.to_string())
    }
}
