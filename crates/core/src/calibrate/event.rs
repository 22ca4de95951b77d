//! The least noise, the largest sample or the most repetitions for a target (ε, δ).
//!
//! Each search is monotone on the certified upper bound, and its result is rounded toward more privacy.

use super::search::{Excess, impossible, search};
use crate::error::{Error, Result};
use crate::event::{Event, Sampling, Word};
use crate::loss::{Loss, TOLERANCE};
use crate::quantity::{Delta, Epsilon, Rate, Rho, Scale, Sigma};
use crate::scope::Scope;

/// What is sought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FreeParameter {
    /// The least noise parameter (σ, scale; for the kinds that state a bound: the largest ε or ρ).
    Noise,
    /// The largest sampling rate.
    Rate,
    /// The most repetitions.
    Times,
}

/// `event` with the `free` parameter replaced by the best value that keeps its loss in `scope` within (ε, δ).
///
/// ```
/// use scumble::event::{Event, Word, Moves, Shift};
/// use scumble::calibrate::{FreeParameter, calibrate};
/// use scumble::quantity::{Delta, Epsilon, Sigma};
/// use scumble::scope::Scope;
/// let anything = Word::Gaussian { sigma: Sigma::new(1.0)? };
/// let event = Event::new(anything, Moves::everywhere(Shift::one_cell(1.0)?)).repeated(10)?;
/// let found = calibrate(&event, FreeParameter::Noise, &Scope::Presence, Epsilon::new(1.0)?, Delta::new(1e-6)?)?;
/// let Word::Gaussian { sigma } = found.word() else { unreachable!() };
/// assert!(sigma.get() >= 13.3596076 && sigma.get() < 13.3596077 * (1.0 + 2e-6));
/// # Ok::<(), scumble::Error>(())
/// ```
///
/// # Guarantee
/// The certified ε of the returned event at `delta` is at most `epsilon`.
pub fn calibrate(event: &Event, free: FreeParameter, scope: &Scope, epsilon: Epsilon, delta: Delta) -> Result<Event> {
    let target = ScopedTarget { scope, epsilon: epsilon.get(), delta };
    match free {
        FreeParameter::Noise => {
            let (start, ends) = noise_range(event.word())?;
            search(start, ends, |value| target.excess(&with_noise(event, value)?))
                .and_then(|value| with_noise(event, value))
        }
        FreeParameter::Rate => {
            let whole = with_rate(event, 1.0)?;
            if target.excess(&whole)?.0 <= 0.0 {
                return Ok(whole);
            }
            search(0.1, (1.0, 1e-12), |value| target.excess(&with_rate(event, value)?))
                .and_then(|value| with_rate(event, value))
        }
        FreeParameter::Times => times(event, |event| Ok(target.excess(event)?.0 <= 0.0)),
    }
}

struct ScopedTarget<'a> {
    scope: &'a Scope,
    epsilon: f64,
    delta: Delta,
}

impl ScopedTarget<'_> {
    fn excess(&self, event: &Event) -> Result<Excess> {
        let loss = Loss::of(std::slice::from_ref(event), self.scope)?;
        let judge = |upper: f64| match upper {
            upper if upper <= self.epsilon => (upper.max(1e-300) / self.epsilon.max(1e-300)).ln().min(0.0),
            upper => (upper / self.epsilon.max(1e-300)).ln().max(f64::MIN_POSITIVE),
        };
        // A rough answer decides far from the target.
        let rough = loss.clone().with_tolerance(100.0 * TOLERANCE).epsilon(self.delta);
        let near = judge(rough.lower) <= 0.0 && judge(rough.upper) > -0.05 || judge(rough.upper).abs() < 0.05;
        if near { Ok(Excess(judge(loss.epsilon(self.delta).upper))) } else { Ok(Excess(judge(rough.upper))) }
    }
}

/// The least σ of a sinh-normal table whose first weight beside 0 is above 2^{−128}.
const LEAST_SINH_SIGMA: f64 = 0.2;

/// Where to begin, and the noise parameter's ends: the least private, then the most private.
fn noise_range(word: &Word) -> Result<(f64, (f64, f64))> {
    Ok(match word {
        Word::Gaussian { .. } | Word::DiscreteGaussian { .. } => (2.0, (1e-6, 1e18)),
        // Log-concave up to σ = A; below LEAST_SINH_SIGMA the table has no neighbour of 0.
        Word::SinhNormal { a, .. } => (a.get() / 2.0, (LEAST_SINH_SIGMA.min(a.get()), a.get())),
        Word::Laplace { .. } | Word::DiscreteLaplace { .. } | Word::HeavyHitters { .. } => (2.0, (1e-6, 1e18)),
        Word::RandomizedResponse { .. } | Word::Exponential { .. } | Word::Pure { .. } | Word::Approximate { .. } => {
            (0.5, (1e4, 1e-12))
        }
        Word::Zcdp { .. } | Word::Tcdp { .. } => (0.1, (1e4, 1e-18)),
        word => return Err(nothing_to_calibrate(word)),
    })
}

/// For the other words; a new one is among them until both matches know its noise parameter.
fn nothing_to_calibrate(word: &Word) -> Error {
    Error::refused(format!("a {} event has no noise parameter to calibrate", word.name()))
}

fn with_noise(event: &Event, value: f64) -> Result<Event> {
    let mut word = event.word().clone();
    match &mut word {
        Word::Gaussian { sigma } | Word::DiscreteGaussian { sigma } | Word::SinhNormal { sigma, .. } => {
            *sigma = Sigma::new(value)?;
        }
        Word::Laplace { scale } | Word::DiscreteLaplace { scale } | Word::HeavyHitters { scale, .. } => {
            *scale = Scale::new(value)?;
        }
        Word::RandomizedResponse { epsilon, .. }
        | Word::Exponential { epsilon }
        | Word::Pure { epsilon }
        | Word::Approximate { epsilon, .. } => *epsilon = Epsilon::new(value)?,
        Word::Zcdp { rho } | Word::Tcdp { rho, .. } => *rho = Rho::new(value)?,
        word => return Err(nothing_to_calibrate(word)),
    }
    Ok(event.clone().with_word(word))
}

fn with_rate(event: &Event, value: f64) -> Result<Event> {
    let rate = Rate::new(value.min(1.0))?;
    Ok(event.clone().sampled(match event.sampling() {
        Some(Sampling::WithoutReplacement(_)) => Sampling::WithoutReplacement(rate),
        _ => Sampling::Poisson(rate),
    }))
}

fn times(event: &Event, holds: impl Fn(&Event) -> Result<bool>) -> Result<Event> {
    const MOST: u64 = 1 << 40;
    let with = |count: u64| event.clone().repeated(count);
    if !holds(&with(1)?)? {
        return Err(impossible());
    }
    let (mut safe, mut unsafe_) = (1, 2);
    while unsafe_ < MOST && holds(&with(unsafe_)?)? {
        (safe, unsafe_) = (unsafe_, unsafe_ * 2);
    }
    while unsafe_ - safe > 1 {
        let middle = safe + (unsafe_ - safe) / 2;
        if holds(&with(middle)?)? {
            safe = middle;
        } else {
            unsafe_ = middle;
        }
    }
    with(safe)
}
