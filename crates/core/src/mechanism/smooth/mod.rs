//! Noise that follows the data's own sensitivity, smoothed: \[NRS07\] in whole numbers.
//!
//! *When to use it.* For queries whose worst case is far from the data's own, and that have no good score: triangles and other counts in graphs. For a median or another
//! quantile the exponential mechanism ([`super::quantile`]) is ten times better.
//!
//! A query gives whole numbers A_0 ≤ A_1 ≤ … with (i) |q(x) − q(x′)| ≤ min(A_0(x), A_0(x′)) and (ii) A_k(x) ≤ A_{k+1}(x′) for neighbours x, x′, none above a public limit. Its level
//! is that of [`Levels::smooth`], and the noise has the level's scale; γ^level is the smooth sensitivity with β = ln γ, rounded up by less than γ. No f64 has to be
//! smooth.
//!
//! *Which noise.* [`Family::Cauchy4`]: a pure ε; nearly always the best. [`Family::DiscreteLaplace`]: an (ε, δ). [`Family::DiscreteGaussian`]: a (ρ, ω).
//!
//! *The level is private*: no error bar may be made of it. A draw of Cauchy noise takes about the same time at every level (0.71 to 0.74 of the proposals are kept).

use crate::calibrate::Target;
use crate::error::{Error, Result};
use crate::event::{Event, Family, Moves, Quotient, Shift, SmoothNoise, Word};
use crate::loss::{self, Loss};
use crate::noise::{BitSource, Cauchy4, DiscreteGaussian, DiscreteLaplace, Levels};
use crate::quantity::{Beta, Scale, Sigma, checked};
use crate::scope::Scope;

pub mod quantile;

/// What one owner replaced by another is to a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// One step, as one that comes or goes: the bounds A_k hold for it too.
    OneStep,
    /// Two steps: one goes and one comes.
    TwoSteps,
}

impl Replaced {
    /// One cell that moves by `by` for one owner who comes or goes.
    pub(crate) fn moves(self, by: f64) -> Result<Moves> {
        let steps = if self == Self::OneStep { 1.0 } else { 2.0 };
        Ok(Moves::by_scope(vec![Shift::one_cell(by)?], vec![Shift::one_cell(steps * by)?], Vec::new()))
    }
}

/// One answer with noise of its data's level.
///
/// ```
/// use scumble::Target;
/// use scumble::event::Family;
/// use scumble::mechanism::smooth::{Replaced, Smooth};
/// use scumble::noise::InsecureSeededSource;
/// // Sensitivities of up to 100,000 are possible, but near this data they are 92 + k.
/// let smooth = Smooth::within(Family::Cauchy4, Target::pure(1.0)?, 100_000)?;
/// let noisy = smooth.release(7713, |k| (92 + k).min(100_000), &mut InsecureSeededSource::new(1));
/// assert!((noisy - 7713).abs() < 10_000);
/// assert_eq!(smooth.events(Replaced::TwoSteps)?.len(), 1);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Smooth {
    noise: SmoothNoise,
    levels: Levels,
}

impl Smooth {
    /// With the noise as written.
    pub fn new(noise: SmoothNoise) -> Result<Self> {
        Ok(Self { levels: noise.table()?, noise })
    }

    /// The least noise of a family within a target, for one step between neighbours; sensitivities are never above `most`, which is public.
    ///
    /// # Guarantee
    /// The event's loss in presence is at most the target, as accounting computes it.
    pub fn within(family: Family, target: Target, most: u64) -> Result<Self> {
        let (growth, near) = start(family, target)?;
        let last = Levels::last_for(growth, most)?;
        let gamma = Quotient::new(growth.saturating_add(1), growth)?;
        let made = |alpha: Quotient| SmoothNoise::new(family, gamma, alpha, last);
        let holds = |alpha: Quotient| made(alpha).and_then(|noise| is_within(noise, target));
        let (mut units, unit) = largest_alpha(near, holds)?;
        // The curve of Laplace noise is searched without the chords and the grid of accounting, which are a little above.
        loop {
            let noise = made(Quotient::new(units, unit)?)?;
            if is_certified(noise, target)? {
                return Self::new(noise);
            }
            units -= (units / 200).max(1);
        }
    }

    /// The noise, as its event says it.
    pub fn noise(&self) -> SmoothNoise {
        self.noise
    }

    /// The answer with noise of its level; `bound(k)` is A_k.
    ///
    /// # Guarantee
    /// If the bounds are as the module says, and never above the limit that the noise was made for, [`Smooth::events`] says what is lost.
    pub fn release<S: BitSource + ?Sized>(&self, value: i64, bound: impl Fn(u64) -> u64, bits: &mut S) -> i64 {
        let scale = self.levels.scale(self.levels.smooth(bound));
        // Scales are between 1/16 and 1e18, which quantities take.
        match (self.noise.family(), Scale::new(scale), Sigma::new(scale)) {
            (Family::DiscreteLaplace, Ok(scale), _) => DiscreteLaplace::new(scale).add_to(value, bits),
            (Family::DiscreteGaussian, _, Ok(sigma)) => DiscreteGaussian::new(sigma).add_to(value, bits),
            (_, Ok(scale), _) => Cauchy4::new(scale).add_to(value, bits),
            (_, Err(_), _) => unreachable!("scales of levels are quantities"),
        }
    }

    /// What was done; the level is not in it.
    pub fn events(&self, replaced: Replaced) -> Result<Vec<Event>> {
        Ok(vec![Event::new(Word::SmoothNoise(self.noise), replaced.moves(1.0)?)])
    }

    /// The error to plan with if the smooth sensitivity is what one thinks: the answer is off by more with probability at most β. (What it is for the data is private.)
    pub fn error(&self, beta: impl TryInto<Beta, Error: Into<Error>>, sensitivity: u64) -> Result<f64> {
        let beta: Beta = checked(beta)?;
        let scale = self.levels.scale(self.levels.level_of(sensitivity));
        Ok(match self.noise.family() {
            Family::DiscreteLaplace => (scale * (1.0 / beta.get()).ln()).ceil(),
            // P[|Z| > q] ≤ 2e^{−q²/2σ²}, as for the continuous one.
            Family::DiscreteGaussian => (scale * (2.0 * (2.0 / beta.get()).ln()).sqrt()).ceil(),
            Family::Cauchy4 => Cauchy4::new(Scale::new(scale)?).quantile(beta.get()),
        })
    }
}

/// g, and an α near the one that is sought.
fn start(family: Family, target: Target) -> Result<(u32, f64)> {
    let (growth, near) = match (family, target) {
        (Family::Cauchy4, Target::Pure(epsilon) | Target::Approximate(epsilon, _)) => {
            let growth = (10.0 / epsilon.get()).ceil();
            // 3^{3/4}·α + 3·ln γ ≤ ε is enough, and up to a fifth too strict.
            (growth, (epsilon.get() - 3.0 * (1.0 / growth).ln_1p()) / 3f64.powf(0.75))
        }
        (Family::DiscreteLaplace, Target::Approximate(epsilon, delta)) if delta.get() > 0.0 => {
            ((4.0 * (2.0 / delta.get()).ln() / epsilon.get()).ceil(), 0.8 * epsilon.get())
        }
        (Family::DiscreteGaussian, Target::Truncated(rho, omega)) => ((4.0 * omega.get()).ceil(), rho.get().sqrt()),
        _ => {
            return Err(Error::refused(format!(
                "smooth noise of the family {} is not calibrated to {target}: cauchy4 takes epsilon, discrete-laplace epsilon and delta, discrete-gaussian rho and omega",
                family.name()
            )));
        }
    };
    if !(1.0..4e9).contains(&growth) || near <= 0.0 {
        return Err(Error::refused(format!("smooth noise cannot be calibrated to {target}: raise it")));
    }
    Ok((growth as u32, near))
}

/// Whether accounting says that the noise is within the target.
fn is_certified(noise: SmoothNoise, target: Target) -> Result<bool> {
    let loss = || Loss::of([Event::new(Word::SmoothNoise(noise), Replaced::OneStep.moves(1.0)?)], Scope::Presence);
    Ok(match (noise.family(), target) {
        (Family::Cauchy4, Target::Pure(epsilon) | Target::Approximate(epsilon, _)) => {
            loss()?.epsilon(0.0)?.upper <= epsilon.get()
        }
        (_, Target::Approximate(epsilon, delta)) => loss()?.delta(epsilon)?.upper <= delta.get(),
        (_, Target::Truncated(rho, omega)) => {
            let (found, up_to) = loss::truncated_of_smooth_noise(&noise)?;
            found <= rho.get() && up_to >= omega.get()
        }
        _ => false,
    })
}

/// The same, or nearly, and quickly.
fn is_within(noise: SmoothNoise, target: Target) -> Result<bool> {
    match (noise.family(), target) {
        (Family::DiscreteLaplace, Target::Approximate(epsilon, delta)) => {
            Ok(loss::delta_of_smooth_noise(&noise, epsilon.get())? <= delta.get())
        }
        _ => is_certified(noise, target),
    }
}

/// The largest α with about five digits that `holds`, near `near`: so many units of one over so many.
fn largest_alpha(near: f64, holds: impl Fn(Quotient) -> Result<bool>) -> Result<(u32, u32)> {
    // near is between 10^4 and 10^5 units.
    let places = (4.0 - near.log10().floor()).clamp(0.0, 9.0);
    let unit = 10f64.powi(places as i32);
    let quotient = |units: u32| Quotient::new(units, unit as u32);
    let mut high = (near * unit).clamp(1.0, 1e9) as u32;
    while holds(quotient(high)?)? && high < 2_000_000_000 {
        high *= 2;
    }
    let mut low = 0;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(quotient(middle)?)? { low = middle } else { high = middle }
    }
    if low == 0 {
        return Err(Error::refused("no smooth noise is within the target: raise it"));
    }
    Ok((low, unit as u32))
}

#[cfg(test)]
mod tests;
