//! The least uncertainty about each unknown record.

use scumble::error::{Error, Result};

/// What the attacker believes of each unknown record: that it is 1 with a probability in \[λ, 1−λ\], 0 < λ ≤ ½.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Lambda(f64);

impl Lambda {
    /// Checks the range: λ above ½ would be an empty box.
    pub fn new(lambda: f64) -> Result<Self> {
        if lambda > 0.0 && lambda <= 0.5 {
            Ok(Self(lambda))
        } else {
            Err(Error::refused(format!("lambda must be a number in (0, 0.5], not {lambda}")))
        }
    }

    /// The number itself.
    pub fn get(self) -> f64 {
        self.0
    }
}
