//! The least noise, the largest sample or the most repetitions for a target (ε, δ).
//!
//! Each search is monotone on the certified upper bound, and its result is rounded toward more privacy.

use crate::error::{Error, Result};
use crate::event::{Event, Kind, Sampling};
use crate::loss::Loss;
use crate::quantity::{Delta, Epsilon, Rate, Rho, Scale, Sigma};
use crate::scope::Scope;

/// What is sought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Free {
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
/// use scumble::event::{Event, Kind, Moves, Shift};
/// use scumble::loss::calibrate::{Free, calibrate};
/// use scumble::quantity::{Delta, Epsilon, Sigma};
/// use scumble::scope::Scope;
/// let anything = Kind::Gaussian { sigma: Sigma::new(1.0)? };
/// let event = Event::new(anything, Moves::everywhere(Shift::one_cell(1.0)?)).repeated(10)?;
/// let found = calibrate(&event, Free::Noise, &Scope::Presence, Epsilon::new(1.0)?, Delta::new(1e-6)?)?;
/// let Kind::Gaussian { sigma } = found.kind else { unreachable!() };
/// assert!(sigma.get() >= 13.3596076 && sigma.get() < 13.3596077 * (1.0 + 1e-6));
/// # Ok::<(), scumble::Error>(())
/// ```
///
/// # Guarantee
/// The certified ε of the returned event at `delta` is at most `epsilon`.
pub fn calibrate(event: &Event, free: Free, scope: &Scope, epsilon: Epsilon, delta: Delta) -> Result<Event> {
    let holds = |event: &Event| -> Result<bool> {
        let loss = Loss::of(std::slice::from_ref(event), scope)?;
        Ok(loss.epsilon(delta)?.upper <= epsilon.get())
    };
    match free {
        Free::Noise => noise(event, holds),
        Free::Rate => rate(event, holds),
        Free::Times => times(event, holds),
    }
}

fn impossible() -> Error {
    Error::refused("no value of the free parameter meets the target: raise epsilon or delta, or lower the sensitivity")
}

/// The relative precision of a search.
const PRECISION: f64 = 1e-9;

fn noise(event: &Event, holds: impl Fn(&Event) -> Result<bool>) -> Result<Event> {
    let range = noise_range(&event.kind)?;
    let with = |value: f64| with_noise(event, value);
    // Searched in ln(value), from the side of more privacy.
    let (mut safe, mut unsafe_) = (range.1.ln(), range.0.ln());
    if !holds(&with(range.1)?)? {
        return Err(impossible());
    }
    if holds(&with(range.0)?)? {
        return with(range.0);
    }
    while (safe - unsafe_).abs() > PRECISION {
        let middle = 0.5 * (safe + unsafe_);
        if holds(&with(middle.exp())?)? {
            safe = middle;
        } else {
            unsafe_ = middle;
        }
    }
    with(safe.exp())
}

/// The least σ of a sinh-normal table whose first weight beside 0 is above 2^{−128}.
const LEAST_SINH_SIGMA: f64 = 0.2;

/// The noise parameter's range: first the least private end, then the most private one.
fn noise_range(kind: &Kind) -> Result<(f64, f64)> {
    Ok(match kind {
        Kind::Gaussian { .. } | Kind::DiscreteGaussian { .. } => (1e-6, 1e12),
        // Log-concave up to σ = A; below LEAST_SINH_SIGMA the table has no neighbour of 0.
        Kind::SinhNormal { a, .. } => (LEAST_SINH_SIGMA.min(a.get()), a.get()),
        Kind::Laplace { .. } | Kind::DiscreteLaplace { .. } => (1e-6, 1e12),
        Kind::RandomizedResponse { .. } | Kind::Exponential { .. } | Kind::Pure { .. } | Kind::Approximate { .. } => {
            (1e6, 1e-12)
        }
        Kind::Zcdp { .. } | Kind::Tcdp { .. } => (1e6, 1e-18),
        Kind::Pair { .. } => return Err(Error::refused("a pair event has no noise parameter to calibrate")),
    })
}

fn with_noise(event: &Event, value: f64) -> Result<Event> {
    let mut event = event.clone();
    match &mut event.kind {
        Kind::Gaussian { sigma } | Kind::DiscreteGaussian { sigma } | Kind::SinhNormal { sigma, .. } => {
            *sigma = Sigma::new(value)?;
        }
        Kind::Laplace { scale } | Kind::DiscreteLaplace { scale } => *scale = Scale::new(value)?,
        Kind::RandomizedResponse { epsilon, .. }
        | Kind::Exponential { epsilon }
        | Kind::Pure { epsilon }
        | Kind::Approximate { epsilon, .. } => *epsilon = Epsilon::new(value)?,
        Kind::Zcdp { rho } | Kind::Tcdp { rho, .. } => *rho = Rho::new(value)?,
        Kind::Pair { .. } => {}
    }
    Ok(event)
}

fn rate(event: &Event, holds: impl Fn(&Event) -> Result<bool>) -> Result<Event> {
    let with = |value: f64| -> Result<Event> {
        let sampling = match event.sampling {
            Some(Sampling::WithoutReplacement(_)) => Sampling::WithoutReplacement(Rate::new(value)?),
            _ => Sampling::Poisson(Rate::new(value)?),
        };
        Ok(event.clone().sampled(sampling))
    };
    if holds(&with(1.0)?)? {
        return with(1.0);
    }
    let (mut safe, mut unsafe_) = (1e-12f64.ln(), 0.0);
    if !holds(&with(1e-12)?)? {
        return Err(impossible());
    }
    while unsafe_ - safe > PRECISION {
        let middle = 0.5 * (safe + unsafe_);
        if holds(&with(middle.exp())?)? {
            safe = middle;
        } else {
            unsafe_ = middle;
        }
    }
    with(safe.exp())
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
