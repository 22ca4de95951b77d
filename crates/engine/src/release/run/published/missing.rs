//! Why the files of a charge do not show its numbers.

use std::borrow::Cow;
use std::fmt;

/// What sort of reason it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputErrorKind {
    /// The charge was not completed.
    Incomplete,
    /// Answers have no file of this form.
    NoSuchForm,
    /// The files are not in the folder.
    Missing,
    /// The files are there, and are not what the ledger says was published.
    Changed,
    /// The files are what was published, and cannot be read.
    Unreadable,
    /// Another version published them, in a form that this one does not know.
    OtherVersion,
    /// A newer release of the same name has its place.
    Replaced,
}

/// Why the numbers of a charge are not shown. Prints as a part of a sentence, for use after "and" or a colon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputError {
    kind: OutputErrorKind,
    sentence: Cow<'static, str>,
}

impl OutputError {
    pub(super) fn new(kind: OutputErrorKind, sentence: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, sentence: sentence.into() }
    }

    pub(super) fn unreadable() -> Self {
        Self::new(OutputErrorKind::Unreadable, "its files cannot be read")
    }

    pub(super) fn other_version() -> Self {
        Self::new(OutputErrorKind::OtherVersion, "published by another version; its files have the numbers")
    }

    /// What sort of reason it is.
    pub fn kind(&self) -> OutputErrorKind {
        self.kind
    }

    /// The reason in words.
    pub fn sentence(&self) -> &str {
        &self.sentence
    }
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for OutputError {}
