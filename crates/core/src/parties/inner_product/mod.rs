//! How many owners have both of two bits, where each party knows one of the bits (survey 7.9.4).
//!
//! The first party has x, the second y, a bit for each owner in an order that both know. The first sends x̂, each bit
//! flipped with probability a/b; the second answers z = Σ y_i (b·x̂_i − a) + DLap((b−a)/ε), a whole number; z/(b−2a) is
//! unbiased for Σ x_i y_i.
//!
//! # Guarantee
//! The message costs ln((b−a)/a) for each owner's bit of x, against every reader. The answer costs ε for each owner's
//! bit of y, also against the first party, because a bit of y moves the sum by at most b − a whatever the message was.
//! Both bounds hold for parties that look at everything. A party that sends another message than it should makes the
//! estimate wrong and learns no more. Both parties know who the owners are and how many.
//!
//! ```
//! use scumble::quantity::epsilon;
//! use scumble::noise::InsecureSeededSource;
//! use scumble::parties::inner_product::InnerProduct;
//! let product = InnerProduct::new(epsilon(1.0)?, epsilon(0.5)?)?;
//! let (x, y) = (vec![true; 10_000], vec![true; 10_000]);
//! let mut bits = InsecureSeededSource::new(1);
//! let message = product.message(&x, &mut bits);
//! let answer = product.answer(&y, &message, &mut bits)?;
//! assert!((product.estimate(answer) - 10_000.0).abs() < 1500.0);
//! # Ok::<(), scumble::Error>(())
//! ```

use crate::calibrate::{scale_for_pure, up};
use crate::error::{Error, Result};
use crate::event::{AnswerCount, Event, Shift, Word, charged_where_seen};
use crate::noise::{BitSource, DiscreteLaplace, uniform};
use crate::quantity::{Beta, Epsilon, Sensitivity, Upper};
use crate::scope::AttributeSet;

/// The protocol with its two costs.
#[derive(Debug, Clone, PartialEq)]
pub struct InnerProduct {
    /// a and b: a bit is flipped with probability a/b.
    flip: (u64, u64),
    second: Epsilon,
    noise: DiscreteLaplace,
}

/// The denominator of flips.
const UNIT: u64 = 1 << 16;
/// More owners would not fit into the sum.
pub const MOST_OWNERS: u64 = 1 << 40;

impl InnerProduct {
    /// Of these costs: at most `first` for a bit of x, and `second` for a bit of y. The first is a number of 2^−16 and
    /// at most ln 65535, whatever is asked for.
    pub fn new(first: Epsilon, second: Epsilon) -> Result<Self> {
        let near = (UNIT as f64 / (first.get().exp() + 1.0)).floor().max(1.0) as u64;
        // The least flip whose cost is not above, also in the last digit.
        let fits = |flips: &u64| loss(*flips, UNIT) <= first.get();
        let flips = (near..near + 3).find(fits).filter(|flips| 2 * flips < UNIT).ok_or_else(|| {
            Error::refused(format!("epsilon of the first party must be a number in [0.0001, ∞), not {first}"))
        })?;
        Self::with_flip(flips, UNIT, second)
    }

    /// With flips of probability `above`/`below`, which is less than ½.
    pub fn with_flip(above: u64, below: u64, second: Epsilon) -> Result<Self> {
        if above == 0 || below > UNIT || 2 * above >= below {
            refuse!(
                "a bit is flipped with a probability above 0 and below 1/2, with a denominator up to {UNIT}, not \
                    {above}/{below}"
            );
        }
        let scale = scale_for_pure(second, Sensitivity::new((below - above) as f64)?)?;
        Ok(Self { flip: (above, below), second, noise: DiscreteLaplace::new(scale) })
    }

    /// What the first party sends.
    ///
    /// # Guarantee
    /// Before: these owners' bits are sent this once. After: [`InnerProduct::epsilon_first`] for each bit.
    pub fn message<S: BitSource + ?Sized>(&self, x: &[bool], bits: &mut S) -> Vec<bool> {
        let (above, below) = self.flip;
        x.iter().map(|bit| *bit != (uniform::below(bits, below) < above)).collect()
    }

    /// What the second party answers.
    ///
    /// # Guarantee
    /// Before: these owners' bits are answered about this once; `message` may be anything. After: ε of the second party
    /// for each bit of `y`.
    pub fn answer<S: BitSource + ?Sized>(&self, y: &[bool], message: &[bool], bits: &mut S) -> Result<i64> {
        Ok(self.noise.add_to(self.sum(y, message)?, bits))
    }

    /// Σ y_i (b·x̂_i − a): the answer without noise, for tests.
    fn sum(&self, y: &[bool], message: &[bool]) -> Result<i64> {
        if y.len() != message.len() {
            refuse!(
                "the first party has {} bits and the second has {}: both need one for each owner, in the same order",
                message.len(),
                y.len()
            );
        }
        refuse_if!(y.len() as u64 > MOST_OWNERS, "there are {} bits, and at most {MOST_OWNERS} can be summed", y.len());
        let (above, below) = (self.flip.0 as i64, self.flip.1 as i64);
        let term = |sent: &bool| if *sent { below - above } else { -above };
        Ok(y.iter().zip(message).filter(|(own, _)| **own).map(|(_, sent)| term(sent)).sum())
    }

    /// The number of owners who have both bits, estimated without bias.
    pub fn estimate(&self, answer: i64) -> f64 {
        answer as f64 / self.divisor()
    }

    fn divisor(&self) -> f64 {
        (self.flip.1 - 2 * self.flip.0) as f64
    }

    /// The variance of the estimate where `ones` of the second party's bits are 1: (ones·a(b−a) + V)/(b−2a)², V the
    /// noise's variance.
    pub fn variance(&self, ones: u64) -> f64 {
        let (above, below) = (self.flip.0 as f64, self.flip.1 as f64);
        let rate = 1.0 / self.noise.scale().get();
        let noise = 2.0 * (-rate).exp() / (-rate).exp_m1().powi(2);
        (ones as f64 * above * (below - above) + noise) / self.divisor().powi(2)
    }

    /// The error to plan with: with probability 1 − β the estimate is off by no more, whatever the bits are. Half of β
    /// is for the flips \[Hoeffding 1963\], half for the noise.
    pub fn error(&self, beta: Beta, owners: u64) -> Result<f64> {
        let least = (4.0 / beta.get()).ln();
        let flips = self.flip.1 as f64 * (owners as f64 * least / 2.0).sqrt();
        let noise = 1.0 + self.noise.scale().get() * least;
        Ok((flips + noise) / self.divisor())
    }

    /// ln((b−a)/a): what the message costs for one bit.
    pub fn epsilon_first(&self) -> Upper {
        loss(self.flip.0, self.flip.1)
    }

    /// What the answer costs for one bit.
    pub fn epsilon_second(&self) -> Epsilon {
        self.second
    }

    /// What the first party did, for its ledger: what a change of `attributes` costs. That an owner is on the list is
    /// not protected.
    pub fn events_first(&self, attributes: &AttributeSet) -> Result<Vec<Event>> {
        let epsilon = Epsilon::new(self.epsilon_first().get())?;
        let word = Word::RandomizedResponse { epsilon, values: AnswerCount::new(2)? };
        charged_where_seen(word, Shift::one_cell(1.0)?, attributes)
    }

    /// What the second party did, for its ledger.
    pub fn events_second(&self, attributes: &AttributeSet) -> Result<Vec<Event>> {
        let word = Word::DiscreteLaplace { scale: self.noise.scale() };
        charged_where_seen(word, Shift::one_cell((self.flip.1 - self.flip.0) as f64)?, attributes)
    }
}

/// ln((b−a)/a) for a < b/2, by the difference to 1: where the odds are close to 1 their logarithm would lose digits.
fn loss(above: u64, below: u64) -> Upper {
    Upper::of(up(((below - 2 * above) as f64 / above as f64).ln_1p()))
}

#[cfg(test)]
mod tests;
