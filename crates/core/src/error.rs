//! The one error type of the core: what was given, what it was given as, and what would have been allowed.

/// What sort of refusal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A quantity outside of its range (the table of ranges is [`crate::quantity`]).
    OutOfRange,
    /// Something other than one number out of range.
    Refused,
}

/// Why the core refused. Prints as one sentence that names the quantity, the value and the remedy.
///
/// ```
/// use scumble::ErrorKind;
/// let refused = scumble::quantity::sigma(-1.0).unwrap_err();
/// assert_eq!(refused.kind(), ErrorKind::OutOfRange);
/// assert_eq!(refused.to_string(), "sigma must be a number in [1e-9, 1e18], not -1");
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{sentence}")]
pub struct Error {
    kind: ErrorKind,
    sentence: String,
}

impl Error {
    /// A refusal in one sentence (no full stop), naming the place and the remedy.
    ///
    /// ```
    /// use scumble::Error;
    /// assert_eq!(Error::refused("a histogram needs at least one cell").to_string(), "a histogram needs at least one cell");
    /// ```
    pub fn refused(sentence: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Refused, sentence: sentence.into() }
    }

    /// A quantity, by its name in files and flags, that is not in `range`; the value as it was given.
    pub(crate) fn out_of_range(quantity: &str, range: &str, value: &str) -> Self {
        let sentence = format!("{quantity} must be a number in {range}, not {value}");
        Self { kind: ErrorKind::OutOfRange, sentence }
    }

    /// What sort of refusal it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

/// The core's result.
pub type Result<T> = std::result::Result<T, Error>;

/// Refuses with a sentence: returns [`Error::refused`] from the function. It takes what `format!` takes.
#[doc(hidden)]
#[macro_export]
macro_rules! refuse {
    ($($sentence:tt)+) => {
        return Err($crate::Error::refused(format!($($sentence)+)))
    };
}

/// Refuses with a sentence where the condition holds.
#[doc(hidden)]
#[macro_export]
macro_rules! refuse_if {
    ($is_wrong:expr, $($sentence:tt)+) => {
        if $is_wrong {
            $crate::refuse!($($sentence)+);
        }
    };
}
