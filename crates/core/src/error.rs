//! The one error type of the core: what was given, what it was given as, and what would have been allowed.

/// Why the core refused. Each variant prints as one sentence that names the quantity, the value and the remedy.
///
/// ```
/// let refused = scumble::quantity::Sigma::new(-1.0).unwrap_err();
/// assert_eq!(refused.to_string(), "sigma must be a number in [1e-9, 1e18], not -1");
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A quantity outside of its range (the table of ranges is [`crate::quantity`]).
    #[error("{quantity} must be a number in {range}, not {value}")]
    OutOfRange {
        /// The quantity's name, as in files and flags.
        quantity: &'static str,
        /// The value that was refused, as it was given.
        value: String,
        /// The allowed range, in interval notation.
        range: String,
    },
    /// Something other than one number out of range: a whole sentence that says what and what to do instead.
    #[error("{0}")]
    Refused(String),
}

impl Error {
    /// A refusal in one sentence (no full stop), naming the place and the remedy.
    ///
    /// ```
    /// use scumble::Error;
    /// assert_eq!(Error::refused("a histogram needs at least one cell").to_string(), "a histogram needs at least one cell");
    /// ```
    pub fn refused(sentence: impl Into<String>) -> Self {
        Self::Refused(sentence.into())
    }
}

/// A quantity is itself without a check: so entry points take a quantity or an f64 (`Epsilon`).
impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

/// The core's result.
pub type Result<T> = std::result::Result<T, Error>;
