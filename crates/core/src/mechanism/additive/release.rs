//! The additive mechanism itself: integer answers, integer noise, and how far each scope can move the answers.

use super::Noise;
use crate::error::Result;
use crate::event::{Event, Moves};
use crate::noise::BitSource;
use crate::quantity::Beta;

/// Independent integer noise in every cell of an integer answer.
///
/// ```
/// use scumble::calibrate::scale_for_pure;
/// use scumble::event::{Moves, Shift};
/// use scumble::mechanism::additive::{Additive, Noise};
/// use scumble::noise::SecureSource;
/// use scumble::quantity::{Beta, Epsilon, Sensitivity};
///
/// let scale = scale_for_pure(Epsilon::new(0.5)?, Sensitivity::new(1.0)?)?;
/// let mechanism = Additive::new(Noise::laplace(scale), Moves::everywhere(Shift::one_cell(1.0)?));
/// let published = mechanism.release(&[120, 45, 0], &mut SecureSource::new()?);
/// assert_eq!(published.len(), 3);
/// let within = mechanism.error(Beta::new(0.05)?, 3);
/// assert!((7.0..=10.0).contains(&within), "with 95% confidence every cell is within {within}");
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Additive {
    noise: Noise,
    moves: Moves,
}

impl Additive {
    /// This noise, on answers that move as `moves` says.
    pub fn new(noise: Noise, moves: Moves) -> Self {
        Self { noise, moves }
    }

    /// The noisy answers. Real values are put on a public grid first; a sum that leaves the range of an i64 is reported as the
    /// nearest i64, which is post-processing.
    ///
    /// # Guarantee
    /// Before: two neighbouring datasets' `values` differ by one of the shifts of `moves` in their scope. After: the output
    /// distributions are as close as [`crate::loss`] says of [`Additive::event`]; the noise is exact, whatever the values.
    pub fn release<S: BitSource + ?Sized>(&self, values: &[i64], bits: &mut S) -> Vec<i64> {
        let mut answers = values.to_vec();
        self.noise.add_to_all(&mut answers, bits);
        answers
    }

    /// What a release is, for the ledger.
    pub fn event(&self) -> Result<Event> {
        self.noise.event(self.moves.clone())
    }

    /// The error to plan with: the largest of `cells` cells' errors exceeds this with probability at most β.
    pub fn error(&self, beta: Beta, cells: u64) -> f64 {
        self.noise.maximum(cells as f64, beta.get())
    }
}

#[cfg(test)]
mod tests;
