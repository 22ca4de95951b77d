//! Propose, test, release: a small noise if the data is far from any at which it would not hide an owner, otherwise
//! nothing (Dwork, Lei, "Differential Privacy and Robust Statistics", 2009 \[DL09\]).
//!
//! Somebody proposes a sensitivity B, which is public. d(x) = min{k : A_k(x) > B} is how far the data is from data that
//! is more sensitive than that, where A_k are the bounds of [`super::smooth`]; A_k(x) ≤ A_{k+1}(x′) makes d move by at
//! most 1 between neighbours. With probability π(d) the answer is published with discrete Laplace noise of scale B/ε₂,
//! and otherwise that there is none. π(0) = 0 and π(k+1) = min(e^{ε₁}π(k) + δ, 1 − e^{−ε₁}(1 − π(k) − δ), 1): the best
//! that any (ε₁, δ) test can do ([`KeySelection`]). The printed form of the survey, noise on d and a threshold, has
//! twice the δ that it needs and never says yes for sure.
//!
//! (ε₁ + ε₂, δ) in all: if d ≥ 1 for one of two neighbours then their answers differ by at most B; if d = 0 for both,
//! nothing is ever published. *Both parts are charged also when there is no answer.*

use super::smooth::OwnerSteps;
use super::stability::KeySelection;
use crate::calibrate::{Target, scale_for_pure};
use crate::error::Result;
use crate::event::{Event, Word};
use crate::noise::tape::{self, Announcement};
use crate::noise::{BitSource, DiscreteLaplace, bernoulli};
use crate::quantity::{Beta, Delta, Epsilon, Probability, Scale, Sensitivity};
use crate::scope::Scope;
use std::borrow::Borrow;

/// An answer with noise for a proposed sensitivity, or none.
///
/// ```
/// use scumble::quantity::{beta, delta, epsilon};
/// use scumble::mechanism::propose_test_release::ProposeTestRelease;
/// use scumble::mechanism::smooth::OwnerSteps;
/// use scumble::noise::InsecureSeededSource;
/// use scumble::{Scope, Target};
/// let (test, noise) = (Target::approximate(epsilon(1.0)?, delta(1e-6)?), Target::pure(epsilon(1.0)?));
/// let test = ProposeTestRelease::within(test, noise, Scope::Presence, &OwnerSteps::one(), 4)?;
/// let mut bits = InsecureSeededSource::new(1);
/// assert!(test.release(1000, |k| 1 + k / 20, &mut bits)?.is_some(), "80 steps from a sensitivity above 4");
/// assert!(test.release(1000, |k| 5 + k, &mut bits)?.is_none());
/// assert_eq!(test.published_from(beta(1e-9)?)?, 28);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct ProposeTestRelease {
    proposed: u64,
    test: KeySelection,
    epsilon: Epsilon,
    delta: Delta,
    scale: Scale,
}

/// More is refused: every number of steps of it is a whole f64.
const MOST_PROPOSED: u64 = 1 << 32;

impl ProposeTestRelease {
    /// From an (ε₁, δ) for the test and an ε₂ for the noise in `scope`, where an owner is so many steps; then the
    /// proposed sensitivity, at least 1.
    ///
    /// # Guarantee
    /// [`ProposeTestRelease::events`] of the same steps cost at most (ε₁ + ε₂, δ) in `scope`.
    pub fn within(
        test: Target,
        noise: Target,
        scope: impl Borrow<Scope>,
        steps: &OwnerSteps,
        proposed: u64,
    ) -> Result<Self> {
        if proposed == 0 || proposed > MOST_PROPOSED {
            refuse!(
                "a proposed sensitivity must be from 1 to {MOST_PROPOSED}, not \
                {proposed}"
            );
        }
        let of_one = |target: Target| steps.target_of_one(target, scope.borrow());
        let (epsilon, delta) = of_one(test)?.with_delta("the test of a proposed sensitivity")?;
        let noise = of_one(noise)?.without_delta("an answer with a proposed sensitivity")?;
        let scale = scale_for_pure(noise, Sensitivity::new(proposed as f64)?)?;
        Ok(Self { proposed, test: KeySelection::shared(epsilon, delta, 1, 1)?, epsilon, delta, scale })
    }

    /// min{k : A_k > B}: how many steps it takes to data that is more sensitive than proposed. Not searched beyond what
    /// the test is certain from.
    pub fn distance(&self, bound: impl Fn(u64) -> u64) -> u64 {
        // A_k does not fall.
        let (mut low, mut high) = (0, self.certain_from());
        while low < high {
            let middle = low + (high - low) / 2;
            if bound(middle) > self.proposed { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// From which distance on there is always an answer.
    pub fn certain_from(&self) -> u64 {
        self.test.certain_from()
    }

    /// With which probability data at this distance is answered.
    pub fn probability(&self, distance: u64) -> f64 {
        self.test.probability(distance)
    }

    /// The answer with noise, or none; `bound(k)` is A_k.
    ///
    /// # Guarantee
    /// If the bounds are as [`super::smooth`] says, [`ProposeTestRelease::events`] says what is lost, with and without
    /// an answer.
    pub fn release<S: BitSource + ?Sized>(
        &self,
        value: i64,
        bound: impl Fn(u64) -> u64,
        bits: &mut S,
    ) -> Result<Option<i64>> {
        let distance = self.distance(bound);
        let chance = Probability::new(self.probability(distance))?;
        let said = || Announcement::cells("approximate", &[self.epsilon.get(), self.delta.get()], [distance.into()]);
        let is_published = tape::through(bits, said, |bits| bernoulli::probability(bits, chance));
        Ok(is_published.then(|| DiscreteLaplace::new(self.scale).add_to(value, bits)))
    }

    /// What was done: the test and the noise, whatever came out.
    pub fn events(&self, steps: &OwnerSteps) -> Result<Vec<Event>> {
        let test = Word::Approximate { epsilon: self.epsilon, delta: self.delta };
        let noise = Word::DiscreteLaplace { scale: self.scale };
        Ok(vec![Event::new(test, steps.moves(1.0)?), Event::new(noise, steps.moves(self.proposed as f64)?)])
    }

    /// A published answer is off by more with probability at most β.
    pub fn error(&self, beta: Beta) -> Result<f64> {
        Ok(super::additive::Noise::laplace(self.scale).quantile(beta.get()))
    }

    /// The standard error of a published answer.
    pub fn standard_error(&self) -> f64 {
        super::additive::Noise::laplace(self.scale).standard_deviation()
    }

    /// From which distance on there is an answer, except with probability β.
    pub fn published_from(&self, beta: Beta) -> Result<u64> {
        self.test.published_from(beta)
    }
}

#[cfg(test)]
mod tests;
