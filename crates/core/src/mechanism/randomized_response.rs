//! Randomized response: each owner's answer is the truth with probability e^ε/(e^ε+k−1), otherwise any other answer.
//!
//! The local model: nobody but the owner needs to see the true answer (Warner; Vadhan, survey 7.1.5 and 7.9). The
//! survey's form (1±ε)/2 is ln((1+ε)/(1−ε))-private, not ε; ours is exactly ε. The sampler is exact: e^{−ε} is never
//! rounded.
//!
//! ```
//! use scumble::mechanism::randomized_response::RandomizedResponse;
//! use scumble::noise::SecureSource;
//! use scumble::quantity::Epsilon;
//! let mechanism = RandomizedResponse::new(Epsilon::new(1.0)?, 3)?;
//! let answer = mechanism.release(2, &mut SecureSource::new()?)?;
//! assert!(answer < 3);
//! let estimates = mechanism.estimate(&[500, 300, 200]);
//! assert!(estimates[0].count > estimates[2].count && estimates[0].standard_error > 0.0);
//! # Ok::<(), scumble::Error>(())
//! ```

use crate::error::Result;
use crate::event::{AnswerCount, Event, Shift, Word, charged_where_seen};
use crate::noise::refine::{self, ChoiceWeights, Precision};
use crate::noise::{BitSource, Fraction, bernoulli, uniform};
use crate::quantity::{Beta, Epsilon, Exact};
use crate::scope::AttributeSet;
use num_bigint::BigUint;
use num_rational::BigRational;
use num_traits::{One, Zero};

/// Randomized response among `values` answers.
#[derive(Debug, Clone)]
pub struct RandomizedResponse {
    epsilon: Epsilon,
    values: u64,
    exponent: Fraction,
    rational: Exact,
}

/// An unbiased estimate of how many owners hold a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountEstimate {
    /// The estimated number of owners.
    pub count: f64,
    /// Its standard error, with the truth's share replaced by its estimate.
    pub standard_error: f64,
}

/// Up to this many expected draws, drawing again is faster than comparing with e^{−ε} to a hundred bits.
const FEW_DRAWS: f64 = 64.0;

impl RandomizedResponse {
    /// Randomized response among `values` answers (0, 1, …) at this ε.
    pub fn new(epsilon: Epsilon, values: u64) -> Result<Self> {
        refuse_if!(values < 2, "randomized response needs at least 2 answers to choose from, not {values}");
        let rational = Exact::from_f64(epsilon.get())?;
        Ok(Self { epsilon, values, exponent: Fraction::from_exact(&rational)?, rational })
    }

    /// One owner's randomised answer.
    ///
    /// Exact in one of two ways, chosen by the parameters alone, never by the truth: draw answers uniformly, keep the
    /// truth always and any other with probability e^{−ε}, until one is kept (at most min(values, e^ε) draws expected);
    /// or, where that would take long, choose between the truth and the others by bounds of e^{−ε} that are refined
    /// until they decide.
    ///
    /// # Guarantee
    /// Before: `truth` is one owner's value. After: ε-private for every change of that value (scope person, or any
    /// attribute set that decides it), with no trust in the collector of the answers.
    pub fn release<S: BitSource + ?Sized>(&self, truth: u64, bits: &mut S) -> Result<u64> {
        if truth >= self.values {
            let last = self.values - 1;
            refuse!("an answer must be a number from 0 to {last}");
        }
        let expected_draws = self.epsilon.get().exp().min(self.values as f64);
        if expected_draws <= FEW_DRAWS { Ok(self.draw_again(truth, bits)) } else { Ok(self.choose_once(truth, bits)) }
    }

    fn draw_again<S: BitSource + ?Sized>(&self, truth: u64, bits: &mut S) -> u64 {
        loop {
            let answer = uniform::below(bits, self.values);
            if answer == truth || bernoulli::exp_minus(bits, &self.exponent) {
                return answer;
            }
        }
    }

    fn choose_once<S: BitSource + ?Sized>(&self, truth: u64, bits: &mut S) -> u64 {
        let others = BigRational::from_integer((self.values - 1).into());
        let weights = |precision: Precision| {
            let keep = precision.ratio(&BigRational::one());
            let flip = precision.times(&precision.ratio(&others), &precision.exp_minus(self.rational.rational()));
            ChoiceWeights { cells: vec![keep, flip], beyond: BigUint::zero() }
        };
        if refine::choose(bits, weights) == 0 {
            return truth;
        }
        let other = uniform::below(bits, self.values - 1);
        if other < truth { other } else { other + 1 }
    }

    /// What one owner's answer is, for the ledger, where these attributes decide the truth: a change of them moves one
    /// answer. That somebody answered at all is seen, so nothing is promised about presence, nor about a person.
    ///
    /// ```
    /// use scumble::quantity::{delta, epsilon};
    /// use scumble::mechanism::randomized_response::RandomizedResponse;
    /// use scumble::{AttributeSet, Loss, Scope};
    /// let smokes = AttributeSet::new(["smokes"])?;
    /// let events = RandomizedResponse::new(epsilon(1.0)?, 2)?.events(&smokes)?;
    /// assert_eq!(Loss::of(&events, Scope::Presence)?.epsilon(delta(0.0)?).upper, f64::INFINITY);
    /// assert!(Loss::of(&events, Scope::Attributes(smokes))?.epsilon(delta(0.0)?).upper < 1.0 + 1e-9);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn events(&self, attributes: &AttributeSet) -> Result<Vec<Event>> {
        let word = Word::RandomizedResponse { epsilon: self.epsilon, values: AnswerCount::new(self.values)? };
        charged_where_seen(word, Shift::one_cell(1.0)?, attributes)
    }

    /// Unbiased estimates from how often each answer came: (count − n·p_flip)/(p_keep − p_flip).
    pub fn estimate(&self, counts: &[u64]) -> Vec<CountEstimate> {
        let n: f64 = counts.iter().map(|count| *count as f64).sum();
        let (keep, flip) = (self.keep(), self.flip());
        let one = |&count: &u64| {
            let estimated = (count as f64 - n * flip) / (keep - flip);
            let holders = estimated.clamp(0.0, n);
            let variance = holders * keep * (1.0 - keep) + (n - holders) * flip * (1.0 - flip);
            CountEstimate { count: estimated, standard_error: variance.sqrt() / (keep - flip) }
        };
        counts.iter().map(one).collect()
    }

    /// The error to plan with: the estimate for one value among `owners` owners is off by more than this with
    /// probability at most β (Hoeffding).
    ///
    /// ```
    /// use scumble::mechanism::randomized_response::RandomizedResponse;
    /// use scumble::quantity::{Beta, Epsilon, beta};
    /// let mechanism = RandomizedResponse::new(Epsilon::new(1.0)?, 2)?;
    /// assert!(mechanism.error(beta(0.05)?, 10_000)? < 300.0);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn error(&self, beta: Beta, owners: u64) -> Result<f64> {
        Ok((owners as f64 * (2.0 / beta.get()).ln() / 2.0).sqrt() / (self.keep() - self.flip()))
    }

    fn keep(&self) -> f64 {
        1.0 / (1.0 + (self.values - 1) as f64 * (-self.epsilon.get()).exp())
    }

    fn flip(&self) -> f64 {
        (-self.epsilon.get()).exp() * self.keep()
    }
}

#[cfg(test)]
mod tests;
