//! The generic learner (survey 7.8.3): of a finite public class, a hypothesis with probability ∝ e^{−c·mistakes}.
//!
//! One added row changes every number of mistakes by 0 or 1, all upwards: presence has a loss of range c, the
//! replacement of a row one of 2c. (The survey's 2ε is for the replacement alone.)

use super::exponential_choice;
use crate::error::{Error, Result};
use crate::event::{Event, Moves, Shift, Touch, Word};
use crate::noise::{BitSource, Fraction};
use crate::quantity::{Beta, Epsilon};
use crate::scope::AttributeSet;

/// Chooses among hypotheses by their mistakes.
#[derive(Debug, Clone)]
pub struct GenericLearner {
    coefficient: Epsilon,
    exponent: Fraction,
}

/// More evaluations (rows times hypotheses) are refused.
pub const MOST_EVALUATIONS: u128 = 10_000_000_000;

impl GenericLearner {
    /// P\[h\] ∝ e^{−c·mistakes(h)}.
    ///
    /// ```
    /// use scumble::quantity::epsilon;
    /// use scumble::learn::generic::GenericLearner;
    /// use scumble::noise::InsecureSeededSource;
    /// let learner = GenericLearner::new(epsilon(0.5)?)?;
    /// assert_eq!(learner.release(&[40, 0, 90], &mut InsecureSeededSource::new(1))?, 1);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn new(coefficient: Epsilon) -> Result<Self> {
        refuse_if!(coefficient.get() == 0.0, "the generic learner needs a coefficient above 0");
        Ok(Self { coefficient, exponent: Fraction::from_f64(coefficient.get())? })
    }

    /// c.
    pub fn coefficient(&self) -> Epsilon {
        self.coefficient
    }

    /// Which hypothesis, given how many mistakes each makes; the class and its order must be public.
    ///
    /// # Guarantee
    /// What [`GenericLearner::events`] says, for neighbours between which each number of mistakes moves by at most 1
    /// per row that comes or goes.
    pub fn release<S: BitSource + ?Sized>(&self, mistakes: &[u64], bits: &mut S) -> Result<usize> {
        refuse_if!(mistakes.is_empty(), "a class has at least 1 hypothesis");
        let score = |mistakes: &u64| i64::try_from(*mistakes).map(|mistakes| -mistakes);
        let scores = mistakes.iter().map(score).collect::<std::result::Result<Vec<i64>, _>>();
        let scores = scores.map_err(|_| Error::refused("a hypothesis makes fewer than 2^63 mistakes"))?;
        Ok(exponential_choice(&scores, &self.exponent, bits))
    }

    /// What was done, for a ledger; `attributes` are those that hypotheses and label read.
    pub fn events(&self, attributes: Option<&AttributeSet>) -> Result<Vec<Event>> {
        let (one, two) = (vec![Shift::one_cell(1.0)?], vec![Shift::one_cell(2.0)?]);
        let touch = |set: &AttributeSet| Touch { attributes: set.clone(), shifts: two.clone() };
        let touches = attributes.map(touch).into_iter().collect();
        let word = Word::Exponential { epsilon: self.coefficient };
        Ok(vec![Event::new(word, Moves::by_scope(one, two.clone(), touches))])
    }

    /// The error to plan with: with probability 1 − β what is chosen makes at most this many more mistakes than the
    /// best of `hypotheses`.
    pub fn error(&self, beta: Beta, hypotheses: u64) -> Result<f64> {
        Ok((hypotheses as f64 / beta.get()).ln() / self.coefficient.get())
    }

    /// How many rows suffice: if some hypothesis is right on the whole population, what is learnt from this many random
    /// rows errs on a share of at most α of it with probability 1 − 2β (half of α for the choice, half for the sample).
    ///
    /// ```
    /// use scumble::quantity::{beta, epsilon};
    /// use scumble::learn::generic::GenericLearner;
    /// assert_eq!(GenericLearner::new(epsilon(0.5)?)?.rows_needed(0.1, beta(0.05)?, 100)?.ceil(), 609.0);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn rows_needed(&self, alpha: f64, beta: Beta, hypotheses: u64) -> Result<f64> {
        refuse_if!(!(alpha > 0.0 && alpha < 1.0), "the error must be in (0, 1), not {alpha}");
        let size = (hypotheses as f64 / beta.get()).ln();
        Ok((2.0 * size / (self.coefficient.get() * alpha)).max(8.0 * size / alpha))
    }
}

#[cfg(test)]
mod tests;
