//! Where something stands in a text: which text, a line and a column.

use std::fmt;

/// Which text somebody has in front of them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// A file, by its path as it was given.
    File(String),
    /// The text of a SQL query, wherever it stands.
    Query,
    /// A text made from arguments of the command line: a position in it would not help.
    CommandLine,
    /// A value that a program gave, by the keys that lead to it. It has no line and no column.
    Given(Vec<String>),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.write_str(path),
            Self::Query => f.write_str("query"),
            Self::CommandLine => f.write_str("the command line"),
            Self::Given(keys) if keys.is_empty() => f.write_str("the project"),
            Self::Given(keys) => f.write_str(&keys.join(".")),
        }
    }
}

/// A place in a file or in a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// In which text.
    pub origin: Origin,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl Place {
    /// The place of a byte offset in `content`.
    ///
    /// ```
    /// use scumble_engine::{Origin, Place};
    /// let place = Place::of_offset(&Origin::File("scumble.toml".to_string()), "a = 1\nb = 2", 6);
    /// assert_eq!(place.to_string(), "scumble.toml:2:1");
    /// ```
    pub fn of_offset(origin: &Origin, content: &str, offset: usize) -> Self {
        let before = &content.as_bytes()[..offset.min(content.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        Self { origin: origin.clone(), line, column }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.origin {
            Origin::Given(_) => self.origin.fmt(f),
            _ => write!(f, "{}:{}:{}", self.origin, self.line, self.column),
        }
    }
}

/// The known word nearest to `word`, if it is near enough to be meant: at most a third of its letters differ.
///
/// ```
/// assert_eq!(scumble_engine::nearest("onwer", ["owner", "source"].into_iter()), Some("owner"));
/// assert_eq!(scumble_engine::nearest("zzz", ["owner", "source"].into_iter()), None);
/// ```
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).max(2);
    known
        .map(|candidate| (edits(&word.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.chars().count())
        .min()
        .map(|(_, candidate)| candidate)
}

/// ", did you mean 'x'?" or nothing.
pub(crate) fn suggestion<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest(word, known).map_or(String::new(), |candidate| format!(" (did you mean '{candidate}'?)"))
}

/// The Levenshtein distance.
fn edits(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, letter) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}
