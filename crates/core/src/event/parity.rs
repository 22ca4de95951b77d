//! The word for a parity learnt from a random sample of the rows.

use super::Quotient;
use crate::error::Result;

/// A parity that is right on each row that was kept: with probability `give_up` nothing at all, else every row is kept
/// with probability `keep`, and a uniformly random solution is published, or nothing if there is none.
///
/// ```
/// use scumble::event::Parity;
/// assert!(Parity::new("1/2".parse()?, "1/3".parse()?).is_ok());
/// assert!(Parity::new("1/1".parse()?, "1/3".parse()?).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Parity {
    keep: Quotient,
    give_up: Quotient,
}

impl Parity {
    /// Refuses what is not below 1: then somebody's row would always be kept, or nothing be published.
    pub fn new(keep: Quotient, give_up: Quotient) -> Result<Self> {
        for (name, quotient) in [("keep", keep), ("give_up", give_up)] {
            let (above, below) = quotient.parts();
            refuse_if!(above >= below, "{name} of a parity must be a fraction below 1, not {quotient}");
        }
        Ok(Self { keep, give_up })
    }

    /// With which probability a row is kept.
    pub fn keep(&self) -> Quotient {
        self.keep
    }

    /// With which probability nothing is published whatever the rows are.
    pub fn give_up(&self) -> Quotient {
        self.give_up
    }
}
