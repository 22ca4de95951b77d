//! An answer with noise for a sensitivity that is published with it, privately bounded.
//!
//! The local sensitivity LS(x) moves by at most 1 between neighbours. b = max(1, LS + T + Z) is published, Z discrete
//! Laplace noise of scale 1/ε₁ that is never beyond ±T, and then q + discrete Laplace noise of scale b/ε₂. T is the
//! least whole number with δ(T) = e^{−ε₁T}(1 − e^{−ε₁})/(1 + e^{−ε₁} − 2e^{−ε₁(T+1)}) ≤ δ, the mass of the end that
//! only one of two neighbours reaches. b ≥ LS always and |q − q′| ≤ min(LS, LS′), so that the second step is ε₂-private
//! for every b: (ε₁ + ε₂, δ) by composition. The survey's form with noise that is not truncated, and a threshold,
//! forgets what b itself costs.
//!
//! b is public: it gives an error bar that costs nothing.

use super::smooth::OwnerSteps;
use crate::calibrate::{Target, scale_for_pure};
use crate::error::Result;
use crate::event::{Event, Word};
use crate::noise::tape::{self, Announcement};
use crate::noise::{BitSource, DiscreteLaplace, TruncatedDiscreteLaplace};
use crate::quantity::{Beta, Delta, Epsilon, Scale, Sensitivity};
use crate::scope::Scope;
use std::borrow::Borrow;

/// (ε₁, δ) for the bound of the sensitivity, and ε₂ for the answer.
///
/// ```
/// use scumble::quantity::{beta, delta, epsilon};
/// use scumble::mechanism::bounded_sensitivity::BoundedSensitivity;
/// use scumble::mechanism::smooth::OwnerSteps;
/// use scumble::noise::InsecureSeededSource;
/// use scumble::{Scope, Target};
/// let (bound, answer) = (Target::approximate(epsilon(0.2)?, delta(1e-6)?), Target::pure(epsilon(0.8)?));
/// let bounded = BoundedSensitivity::within(bound, answer, Scope::Presence, &OwnerSteps::one())?;
/// assert_eq!(bounded.truncation(), 58);
/// let answer = bounded.release(7713, 92, &mut InsecureSeededSource::new(1))?;
/// assert!((92..=92 + 2 * 58).contains(&answer.bound));
/// assert!((answer.value - 7713).unsigned_abs() as f64 <= bounded.error_of(&answer, beta(1e-9)?)?);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct BoundedSensitivity {
    epsilon_bound: Epsilon,
    delta: Delta,
    epsilon_answer: Epsilon,
    noise: TruncatedDiscreteLaplace,
}

/// What is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundedAnswer {
    /// The answer with noise.
    pub value: i64,
    /// b: at least the local sensitivity.
    pub bound: u64,
}

/// More than this is refused.
const MOST_TRUNCATION: u64 = 1 << 40;

impl BoundedSensitivity {
    /// From an (ε₁, δ) for the bound and an ε₂ for the answer in `scope`, where an owner is so many
    /// steps: both ε above 0, δ strictly between 0 and 1.
    ///
    /// # Guarantee
    /// [`BoundedSensitivity::events`] of the same steps cost at most (ε₁ + ε₂, δ) in `scope`.
    pub fn within(bound: Target, answer: Target, scope: impl Borrow<Scope>, steps: &OwnerSteps) -> Result<Self> {
        let of_one = |target: Target| steps.target_of_one(target, scope.borrow());
        let (epsilon_bound, delta) = of_one(bound)?.with_delta("the bound of a sensitivity")?;
        let epsilon_answer = of_one(answer)?.without_delta("an answer with a bounded sensitivity")?;
        if epsilon_bound.get() == 0.0 || epsilon_answer.get() == 0.0 || delta.get() <= 0.0 || delta.get() >= 1.0 {
            refuse!("a bounded sensitivity needs both epsilons above 0 and delta strictly between 0 and 1");
        }
        let scale = scale_for_pure(epsilon_bound, Sensitivity::ONE)?;
        let truncation = least_truncation(1.0 / scale.get(), delta.get())?;
        let noise = TruncatedDiscreteLaplace::new(scale, truncation as i64)?;
        Ok(Self { epsilon_bound, delta, epsilon_answer, noise })
    }

    /// T: the bound's noise is never further off.
    pub fn truncation(&self) -> u64 {
        self.noise.bound() as u64
    }

    /// The bound and the answer.
    ///
    /// # Guarantee
    /// If `local` moves by at most 1 between neighbours, and their answers differ by at most the lesser of theirs,
    /// [`BoundedSensitivity::events`] says what is lost.
    pub fn release<S: BitSource + ?Sized>(&self, value: i64, local: u64, bits: &mut S) -> Result<BoundedAnswer> {
        let said = || Announcement::cells("approximate", &[self.epsilon_bound.get(), self.delta.get()], [local.into()]);
        let bound = tape::through(bits, said, |bits| {
            // Z + T is at least 0.
            let above = (self.noise.sample(bits) + self.noise.bound()) as u64;
            local.saturating_add(above).max(1)
        });
        let value = DiscreteLaplace::new(self.scale(bound)?).add_to(value, bits);
        Ok(BoundedAnswer { value, bound })
    }

    fn scale(&self, bound: u64) -> Result<Scale> {
        // Rounded up, should the number have more than 53 bits.
        let nearest = bound as f64;
        let sensitivity = if (nearest as u128) < u128::from(bound) { nearest.next_up() } else { nearest };
        scale_for_pure(self.epsilon_answer, Sensitivity::new(sensitivity)?)
    }

    /// What was done: the bound, and the answer given the bound.
    pub fn events(&self, steps: &OwnerSteps) -> Result<Vec<Event>> {
        let bound = Word::Approximate { epsilon: self.epsilon_bound, delta: self.delta };
        let answer = Word::Pure { epsilon: self.epsilon_answer };
        Ok(vec![Event::new(bound, steps.moves(1.0)?), Event::new(answer, steps.moves(1.0)?)])
    }

    /// The error to plan with if the local sensitivity is what one thinks: the answer is off by more with probability
    /// at most β.
    pub fn error(&self, beta: Beta, local: u64) -> Result<f64> {
        let most = local.saturating_add(2 * self.truncation()).max(1);
        Ok(super::additive::Noise::laplace(self.scale(most)?).quantile(beta.get()))
    }

    /// The error bar of what was published, from its public bound.
    pub fn error_of(&self, answer: &BoundedAnswer, beta: Beta) -> Result<f64> {
        Ok(self.noise_at(answer.bound)?.quantile(beta.get()))
    }

    /// The standard error of what was published, from its public bound.
    pub fn standard_error_of(&self, answer: &BoundedAnswer) -> Result<f64> {
        Ok(self.noise_at(answer.bound)?.standard_deviation())
    }

    /// The standard error to plan with if the local sensitivity is what one thinks, and the bound's own noise is 0.
    pub fn standard_error(&self, local: u64) -> Result<f64> {
        Ok(self.noise_at(local.saturating_add(self.truncation()).max(1))?.standard_deviation())
    }

    fn noise_at(&self, bound: u64) -> Result<super::additive::Noise> {
        Ok(super::additive::Noise::laplace(self.scale(bound)?))
    }
}

/// δ(T), rounded up.
fn end_mass(rate: f64, truncation: f64) -> f64 {
    // 1 + e^{−ε} − 2e^{−ε(T+1)} as two terms that do not cancel, however small ε is.
    let rest = -(-rate * (truncation + 1.0)).exp_m1() - (-rate).exp() * (-rate * truncation).exp_m1();
    (-rate * truncation).exp() * -(-rate).exp_m1() / rest * (1.0 + 1e-12)
}

fn least_truncation(rate: f64, delta: f64) -> Result<u64> {
    let mut high = 1u64;
    while end_mass(rate, high as f64) > delta {
        high *= 2;
        refuse_if!(high > MOST_TRUNCATION, "epsilon is too small to bound a sensitivity: raise epsilon or delta");
    }
    let mut low = 0;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if end_mass(rate, middle as f64) > delta { low = middle } else { high = middle }
    }
    // T = 0 has all its mass at the end.
    Ok(high)
}

#[cfg(test)]
mod tests;
