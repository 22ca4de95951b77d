//! A refusal as PostgreSQL says it: a SQLSTATE, the sentence, and where in the query.

use crate::refusal::{Refusal, RefusalKind};
use pgwire::error::ErrorInfo;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::NoticeResponse;
use scumble_engine::{Origin, Place, QueryMistake};

/// The SQLSTATEs that are said (PostgreSQL's manual, appendix A).
pub(super) mod code {
    pub const PROTOCOL: &str = "08P01";
    pub const UNSUPPORTED: &str = "0A000";
    pub const OUT_OF_RANGE: &str = "22003";
    pub const VALUE: &str = "22023";
    pub const ENCODING: &str = "22021";
    pub const PARAMETER: &str = "22P02";
    pub const NO_STATEMENT: &str = "26000";
    pub const LOGIN: &str = "28000";
    pub const PASSWORD: &str = "28P01";
    pub const NO_PORTAL: &str = "34000";
    pub const DATABASE: &str = "3D000";
    pub const ROLE: &str = "42501";
    pub const SYNTAX: &str = "42601";
    pub const NO_COLUMN: &str = "42703";
    pub const NO_FUNCTION: &str = "42883";
    pub const NO_TABLE: &str = "42P01";
    pub const NO_SETTING: &str = "42704";
    pub const TAKEN: &str = "42P05";
    pub const CONNECTIONS: &str = "53300";
    pub const BUDGET: &str = "53400";
    pub const TOO_MUCH: &str = "54000";
    pub const NOT_YET: &str = "55000";
    pub const CANCELLED: &str = "57014";
    pub const STOPPED: &str = "57P01";
    pub const BUSY: &str = "57P03";
    pub const MACHINE: &str = "58000";
    pub const LOST: &str = "58030";
}

/// Why not.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SqlError {
    pub code: &'static str,
    pub sentence: String,
    pub hint: Option<String>,
    /// Where in the query, in characters from 1.
    pub position: Option<usize>,
    /// Whether the connection ends with it.
    pub fatal: bool,
}

impl SqlError {
    pub fn new(code: &'static str, sentence: impl Into<String>) -> Self {
        Self { code, sentence: sentence.into(), hint: None, position: None, fatal: false }
    }

    /// One with which the connection ends.
    pub fn fatal(code: &'static str, sentence: impl Into<String>) -> Self {
        Self { fatal: true, ..Self::new(code, sentence) }
    }

    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// What the service says about a query whose text the client has in front of them; `text` is none where it was
    /// written anew.
    pub fn of(refusal: Refusal, text: Option<&str>) -> Self {
        let sentence = refusal.sentence().trim_start_matches("query: ");
        let code = match refusal.kind() {
            RefusalKind::Input => of_mistake(refusal.mistake()),
            RefusalKind::Budget => code::BUDGET,
            RefusalKind::Token => code::PASSWORD,
            RefusalKind::Role => code::ROLE,
            RefusalKind::NotFound => code::NO_TABLE,
            RefusalKind::Lost => code::LOST,
            RefusalKind::Busy => code::BUSY,
            RefusalKind::TooLarge => code::TOO_MUCH,
            RefusalKind::Conflict | RefusalKind::TooSlow | RefusalKind::Machine => code::MACHINE,
        };
        let place = refusal.place().filter(|place| place.origin == Origin::Query);
        let position = place.zip(text).map(|(place, text)| position(place, text));
        Self { position, ..Self::new(code, sentence) }
    }

    pub fn message(self) -> PgWireBackendMessage {
        let severity = if self.fatal { "FATAL" } else { "ERROR" };
        let mut info = ErrorInfo::new(severity.to_string(), self.code.to_string(), printable(&self.sentence));
        info.severity_nonlocalized = Some(severity.to_string());
        info.hint = self.hint.map(|hint| printable(&hint));
        info.position = self.position.map(|position| position.to_string());
        PgWireBackendMessage::ErrorResponse(info.into())
    }
}

/// Something to know beside an answer.
pub(super) fn notice(sentence: &str) -> PgWireBackendMessage {
    let mut info = ErrorInfo::new("NOTICE".to_string(), "00000".to_string(), printable(sentence));
    info.severity_nonlocalized = Some("NOTICE".to_string());
    PgWireBackendMessage::NoticeResponse(NoticeResponse::from(info))
}

/// Which code a query has that is wrong; what else is not answered is not supported.
fn of_mistake(mistake: Option<QueryMistake>) -> &'static str {
    match mistake {
        Some(QueryMistake::Syntax) => code::SYNTAX,
        Some(QueryMistake::UnknownTable) => code::NO_TABLE,
        Some(QueryMistake::UnknownColumn) => code::NO_COLUMN,
        Some(QueryMistake::UnknownFunction) => code::NO_FUNCTION,
        _ => code::UNSUPPORTED,
    }
}

/// A line and a column as the number of a character, as PostgreSQL counts.
fn position(place: &Place, text: &str) -> usize {
    let before: usize = text.split('\n').take(place.line.saturating_sub(1)).map(|line| line.chars().count() + 1).sum();
    before + place.column
}

/// On one line, without what a terminal would obey and without the zero byte that ends texts on the wire.
fn printable(sentence: &str) -> String {
    sentence
        .chars()
        .map(|letter| match letter.is_control() {
            true => letter.escape_default().to_string(),
            false => letter.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scumble_engine::Error;

    #[test]
    fn a_place_becomes_the_number_of_a_character() {
        let place = Place { origin: Origin::Query, line: 2, column: 3 };
        assert_eq!(position(&place, "äb\ncd"), 6);
        // What a sentence says does not make its code: the engine's kind of mistake does.
        let refusal = Refusal::from(Error::at(place, "there is no table 'x'"));
        let refused = SqlError::of(refusal.clone(), Some("äb\ncd"));
        assert_eq!((refused.code, refused.position), ("0A000", Some(6)));
        assert_eq!(SqlError::of(refusal, None).position, None);
    }

    #[test]
    fn no_sentence_ends_a_message_early() {
        assert_eq!(printable("a\0b\nc\u{1b}[31m"), "a\\u{0}b\\nc\\u{1b}[31m");
    }
}
