//! Noise that follows the data's own sensitivity, smoothed: \[NRS07\] in whole numbers.
//!
//! *When to use it.* For queries whose worst case is far from the data's own, and that have no good score: triangles
//! and other counts in graphs. For a median or another quantile the exponential mechanism ([`super::quantile`]) is
//! nearly always better.
//!
//! A query gives whole numbers A_0 ≤ A_1 ≤ … with (i) |q(x) − q(x′)| ≤ min(A_0(x), A_0(x′)) and (ii)
//! A_k(x) ≤ A_{k+1}(x′) for neighbours x, x′, none above a public limit. Its level is that of [`Levels::smooth`], and
//! the noise has the level's scale; γ^level is the smooth sensitivity with β = ln γ, rounded up by less than γ. No f64
//! has to be smooth.
//!
//! *Which noise.* [`NoiseFamily::Cauchy4`]: a pure ε. [`NoiseFamily::DiscreteLaplace`]: an (ε, δ), and better where the
//! local sensitivity is above some ln(1/δ)/ε. [`NoiseFamily::DiscreteGaussian`]: a (ρ, ω) or an (ε, δ).
//!
//! *The level is private*: no error bar may be made of it. A draw of Cauchy noise takes about the same time at every
//! level (0.71 to 0.74 of the proposals are kept).

use crate::calibrate::{ShiftNorms, Target, epsilon_for_pure};
use crate::error::{Error, Result};
use crate::event::{Event, Moves, NoiseFamily, Quotient, Shift, SmoothNoise, Touch, Word};
use crate::loss::{self, Loss};
use crate::noise::tape::{self, Announcement, MechanismInput};
use crate::noise::{BitSource, Cauchy4, DiscreteGaussian, DiscreteLaplace, Levels};
use crate::quantity::{Beta, Delta, Epsilon, Scale, Sensitivity};
use crate::scope::{AttributeSet, Scope};
use std::borrow::Borrow;

pub mod quantile;

/// How many steps between neighbours one owner is to a query, in each scope.
///
/// ```
/// use scumble::mechanism::smooth::OwnerSteps;
/// use scumble::scope::{AttributeSet, Scope};
/// // Three rows for each owner, and one that is replaced by another is one that goes and one that comes.
/// let steps = OwnerSteps::two().of_rows(3).reading(AttributeSet::new(["from", "to"])?);
/// let by = |scope: Scope| steps.moves(1.0).map(|moves| moves.shifts(&scope).iter().map(|shift| shift.by.get()).sum::<f64>());
/// assert_eq!((by(Scope::Presence)?, by(Scope::Person)?), (3.0, 6.0));
/// assert_eq!(by(Scope::Attributes(AttributeSet::new(["to"])?))?, 6.0);
/// assert_eq!(by(Scope::Attributes(AttributeSet::new(["age"])?))?, 0.0);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerSteps {
    rows: u64,
    replaced: u64,
    attributes: AttributeSet,
}

impl OwnerSteps {
    /// One row that is replaced is one step, as one that comes or goes: the bounds A_k hold for it too.
    pub fn one() -> Self {
        Self { rows: 1, replaced: 1, attributes: AttributeSet::default() }
    }

    /// One row that is replaced is two steps: one goes and one comes.
    pub fn two() -> Self {
        Self { replaced: 2, ..Self::one() }
    }

    /// The same where an owner has up to this many rows.
    pub fn of_rows(self, rows: u64) -> Self {
        Self { rows: rows.max(1), ..self }
    }

    /// The same where the query reads these attributes of a row: other values of them are a replaced row.
    pub fn reading(self, attributes: AttributeSet) -> Self {
        Self { attributes, ..self }
    }

    /// What one step may cost, so that an owner of these steps costs at most `target` in `scope`.
    ///
    /// # Guarantee
    /// An event of an ε or an (ε, δ) within what is returned, which moves as [`OwnerSteps::moves`] says, costs at most
    /// `target` in `scope`: k steps of (ε, δ) cost kε and δ·(e^{kε} − 1)/(e^ε − 1). Where one step is all, it is the
    /// target itself.
    ///
    /// ```
    /// use scumble::mechanism::smooth::OwnerSteps;
    /// use scumble::quantity::epsilon;
    /// use scumble::{Scope, Target};
    /// let target = Target::pure(epsilon(1.0)?);
    /// assert_eq!(OwnerSteps::two().target_of_one(target, &Scope::Presence)?, target);
    /// assert_eq!(OwnerSteps::two().target_of_one(target, &Scope::Person)?, Target::pure(epsilon(0.5)?));
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn target_of_one(&self, target: Target, scope: &Scope) -> Result<Target> {
        let number = self.number(scope)?;
        let each = |epsilon: Epsilon| epsilon_for_pure(epsilon, ShiftNorms::units(number));
        match target {
            _ if number == 1 => Ok(target),
            Target::Pure(epsilon) => Ok(Target::Pure(each(epsilon)?)),
            Target::Approximate(epsilon, delta) => {
                let epsilon = each(epsilon)?;
                // No rounding of the growth is as large as what is taken off.
                let growth = (epsilon.get() * number as f64).exp_m1() / epsilon.get().exp_m1();
                // Beyond all numbers nothing is left of a δ.
                let each = (delta.get() / growth * (1.0 - 1e-9)).max(0.0);
                Ok(Target::Approximate(epsilon, Delta::new(each)?))
            }
            Target::Concentrated(_) | Target::Truncated(..) => Err(Error::refused(format!(
                "{target} is not divided among the {number} steps of an owner: give an epsilon"
            ))),
        }
    }

    /// The same for a query that reads whatever attributes the scope is about.
    pub(crate) fn read_by(self, scope: &Scope) -> Self {
        match scope.members().0 {
            Scope::Attributes(attributes) => self.reading(attributes.clone()),
            _ => self,
        }
    }

    /// How far these steps move this many cells together in `scope`, each by 1 with each step.
    pub(crate) fn moved(&self, scope: &Scope, cells: u64) -> Result<ShiftNorms> {
        Ok(ShiftNorms::cells(cells, Sensitivity::new(self.number(scope)? as f64)?))
    }

    /// How many steps an owner is in `scope`, at least one.
    fn number(&self, scope: &Scope) -> Result<u64> {
        let furthest = self.moves(1.0)?.shifts(scope).iter().map(|shift| shift.by.get()).fold(0.0, f64::max);
        if furthest == 0.0 {
            refuse!(
                "{scope} moves nothing here, so that nothing is calibrated: choose a scope that the answer depends on"
            );
        }
        Ok((furthest as u64).saturating_mul(scope.members().1.into()))
    }

    /// One cell that moves by at most `by` with each step.
    pub fn moves(&self, by: f64) -> Result<Moves> {
        let shift = |steps: u64| Ok::<_, Error>(vec![Shift::one_cell(steps as f64 * by)?]);
        let (presence, replaced) = (shift(self.rows)?, shift(self.rows.saturating_mul(self.replaced))?);
        let touch = Touch { attributes: self.attributes.clone(), shifts: replaced.clone() };
        let touches = if self.attributes.is_empty() { Vec::new() } else { vec![touch] };
        Ok(Moves::by_scope(presence, replaced, touches))
    }
}

/// One answer with noise of its data's level.
///
/// ```
/// use scumble::quantity::epsilon;
/// use scumble::{Scope, Target};
/// use scumble::event::NoiseFamily;
/// use scumble::mechanism::smooth::{SmoothMechanism, OwnerSteps};
/// use scumble::noise::InsecureSeededSource;
/// // Sensitivities of up to 100,000 are possible, but near this data they are 92 + k.
/// let (target, one) = (Target::pure(epsilon(1.0)?), OwnerSteps::one());
/// let smooth = SmoothMechanism::within(target, Scope::Presence, &one, NoiseFamily::Cauchy4, 100_000)?;
/// let noisy = smooth.release(7713, |k| (92 + k).min(100_000), &mut InsecureSeededSource::new(1));
/// assert!((noisy - 7713).abs() < 10_000);
/// assert_eq!(smooth.events(&one)?.len(), 1);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct SmoothMechanism {
    noise: SmoothNoise,
    levels: Levels,
}

impl SmoothMechanism {
    /// With the noise as written.
    pub fn new(noise: SmoothNoise) -> Result<Self> {
        Ok(Self { levels: noise.table()?, noise })
    }

    /// The least noise of a family within the target in `scope`, where an owner is so many steps; sensitivities are
    /// never above `most`, which is public.
    ///
    /// # Guarantee
    /// [`SmoothMechanism::events`] of the same steps cost at most `target` in `scope`: of one step as accounting
    /// computes it, of several by group privacy ([`OwnerSteps::target_of_one`]).
    pub fn within(
        target: Target,
        scope: impl Borrow<Scope>,
        steps: &OwnerSteps,
        family: NoiseFamily,
        most: u64,
    ) -> Result<Self> {
        let target = steps.target_of_one(target, scope.borrow())?;
        let (growth, near) = start(family, target)?;
        let last = Levels::last_for(growth, most)?;
        let gamma = Quotient::new(growth.saturating_add(1), growth)?;
        let made = |alpha: Quotient| SmoothNoise::new(family, gamma, alpha, last);
        let holds = |alpha: Quotient| made(alpha).and_then(|noise| is_within(noise, target));
        let (mut units, unit) = largest_alpha(near, holds)?;
        // The curve of Laplace noise is searched without the chords and the grid of accounting, which are a little
        // above.
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

    /// The table of levels, for tests of who else releases by it.
    #[cfg(test)]
    pub(super) fn levels(&self) -> &Levels {
        &self.levels
    }

    /// The answer with noise of its level; `bound(k)` is A_k.
    ///
    /// # Guarantee
    /// If the bounds are as the module says, and never above the limit that the noise was made for,
    /// [`SmoothMechanism::events`] says what is lost.
    pub fn release<S: BitSource + ?Sized>(&self, value: i64, bound: impl Fn(u64) -> u64, bits: &mut S) -> i64 {
        let level = self.levels.smooth(&bound);
        tape::through(bits, || said(value, level, bound), |bits| self.noised(value, level, bits))
    }

    /// The answer, and beside it its data's level with discrete Laplace noise of this scale: what an error bar may be
    /// made of ([`SmoothMechanism::error_beside`]).
    ///
    /// # Guarantee
    /// As for [`SmoothMechanism::release`]; a step moves the level by at most 1, and
    /// [`SmoothMechanism::event_of_level`] says what that costs.
    pub fn release_with_level<S: BitSource + ?Sized>(
        &self,
        value: i64,
        bound: impl Fn(u64) -> u64,
        scale: Scale,
        bits: &mut S,
    ) -> (i64, i64) {
        let level = self.levels.smooth(&bound);
        let noisy = tape::through(bits, || said(value, level, bound), |bits| self.noised(value, level, bits));
        (noisy, DiscreteLaplace::new(scale).add_to(i64::from(level), bits))
    }

    fn noised<S: BitSource + ?Sized>(&self, value: i64, level: u32, bits: &mut S) -> i64 {
        let scale = self.levels.scale(level);
        match self.noise.family() {
            NoiseFamily::DiscreteLaplace => DiscreteLaplace::new(scale).add_to(value, bits),
            NoiseFamily::DiscreteGaussian => DiscreteGaussian::new(scale.as_sigma()).add_to(value, bits),
            NoiseFamily::Cauchy4 => Cauchy4::new(scale).add_to(value, bits),
        }
    }

    /// What was done; the level is not in it.
    pub fn events(&self, steps: &OwnerSteps) -> Result<Vec<Event>> {
        Ok(vec![Event::new(Word::SmoothNoise(self.noise), steps.moves(1.0)?)])
    }

    /// What a level that is published with discrete Laplace noise of this scale costs.
    pub fn event_of_level(&self, scale: Scale, steps: &OwnerSteps) -> Result<Event> {
        Ok(Event::new(Word::DiscreteLaplace { scale }, steps.moves(1.0)?))
    }

    /// The error to plan with if the smooth sensitivity is what one thinks: the answer is off by more with probability
    /// at most β. (What it is for the data is private.)
    pub fn error(&self, beta: Beta, sensitivity: u64) -> Result<f64> {
        self.error_at(beta.get(), self.levels.level_of(sensitivity))
    }

    /// The error bar of an answer whose level was published with noise: half of β for the level, half for the answer.
    pub fn error_beside(&self, beta: Beta, level: i64, scale: Scale) -> Result<ErrorBar> {
        let half = beta.get() / 2.0;
        // Beyond the last level there is none.
        let within = |level: f64| level.clamp(0.0, f64::from(self.levels.last())) as u32;
        // A level that is larger than it looks is on one side only.
        let most = level as f64 + super::additive::Noise::laplace(scale).quantile(2.0 * half);
        let standard_error = self.standard_error_at(within(level as f64));
        Ok(ErrorBar { standard_error, half_width: self.error_at(half, within(most))? })
    }

    /// How large the noise is if the bounds are these: its standard deviation, about.
    pub fn standard_error(&self, bound: impl Fn(u64) -> u64) -> f64 {
        self.standard_error_at(self.levels.smooth(bound))
    }

    fn standard_error_at(&self, level: u32) -> f64 {
        let scale = self.levels.scale(level).get();
        match self.noise.family() {
            NoiseFamily::DiscreteLaplace => scale * std::f64::consts::SQRT_2,
            // Of fourth-power tails too: s up to e^{−4.4s}.
            NoiseFamily::Cauchy4 | NoiseFamily::DiscreteGaussian => scale,
        }
    }

    fn error_at(&self, beta: f64, level: u32) -> Result<f64> {
        let scale = self.levels.scale(level);
        Ok(match self.noise.family() {
            NoiseFamily::DiscreteLaplace => (scale.get() * (1.0 / beta).ln()).ceil(),
            // P[|Z| > q] ≤ 2e^{−q²/2σ²}, as for the continuous one.
            NoiseFamily::DiscreteGaussian => (scale.get() * (2.0 * (2.0 / beta).ln()).sqrt()).ceil(),
            NoiseFamily::Cauchy4 => Cauchy4::new(scale).quantile(beta),
        })
    }
}

/// For a test that replays it: the number, the level of its noise, and by how much the next owners can move it.
fn said(value: i64, level: u32, bound: impl Fn(u64) -> u64) -> Announcement {
    let next = (0..NEXT_OWNERS).map(bound).collect();
    Announcement {
        name: "smooth",
        law: Some(("smooth-noise", Vec::new())),
        input: MechanismInput::Scaled(value.into(), level.into(), next),
    }
}

/// How many owners' moves are noted.
const NEXT_OWNERS: u64 = 16;

/// How far off an answer may be, from its published level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorBar {
    /// The standard deviation of the noise at the published level: an estimate, as the level has noise of its own.
    pub standard_error: f64,
    /// The answer is off by more with probability at most β.
    pub half_width: f64,
}

/// g, and an α near the one that is sought.
fn start(family: NoiseFamily, target: Target) -> Result<(u32, f64)> {
    let (growth, near) = match (family, target) {
        (NoiseFamily::Cauchy4, Target::Pure(epsilon) | Target::Approximate(epsilon, _)) => {
            let growth = (10.0 / epsilon.get()).ceil();
            // 3^{3/4}·α + 3·ln γ ≤ ε is enough, and up to a fifth too strict.
            (growth, (epsilon.get() - 3.0 * (1.0 / growth).ln_1p()) / 3f64.powf(0.75))
        }
        (NoiseFamily::DiscreteLaplace, Target::Approximate(epsilon, delta)) if delta.get() > 0.0 => {
            ((4.0 * (2.0 / delta.get()).ln() / epsilon.get()).ceil(), 0.8 * epsilon.get())
        }
        // The order at which Gaussian noise of (ε, δ) is best converted, and its α.
        (NoiseFamily::DiscreteGaussian, Target::Approximate(epsilon, delta)) if delta.get() > 0.0 => {
            let logarithm = (1.0 / delta.get()).ln();
            ((4.0 + 8.0 * logarithm / epsilon.get()).ceil(), epsilon.get() / (2.0 * logarithm).max(0.1).sqrt())
        }
        (NoiseFamily::DiscreteGaussian, Target::Truncated(rho, omega)) => {
            ((4.0 * omega.get()).ceil(), rho.get().sqrt())
        }
        _ => {
            refuse!(
                "smooth noise of the family {} cannot meet {target}: cauchy4 takes epsilon; discrete-laplace epsilon, \
                    delta; discrete-gaussian these, or rho, omega",
                family.name()
            );
        }
    };
    refuse_if!(!(1.0..4e9).contains(&growth) || near <= 0.0, "smooth noise cannot be calibrated to {target}: raise it");
    Ok((growth as u32, near))
}

/// Whether accounting says that the noise is within the target.
fn is_certified(noise: SmoothNoise, target: Target) -> Result<bool> {
    let loss = || Loss::of([Event::new(Word::SmoothNoise(noise), OwnerSteps::one().moves(1.0)?)], Scope::Presence);
    Ok(match (noise.family(), target) {
        (NoiseFamily::Cauchy4, Target::Pure(epsilon) | Target::Approximate(epsilon, _)) => {
            loss()?.epsilon(Delta::new(0.0)?).upper <= epsilon.get()
        }
        (_, Target::Approximate(epsilon, delta)) => loss()?.delta(epsilon).upper <= delta.get(),
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
        (NoiseFamily::DiscreteLaplace, Target::Approximate(epsilon, delta)) => {
            Ok(loss::delta_of_smooth_noise(&noise, epsilon.get())? <= delta.get())
        }
        _ => is_certified(noise, target),
    }
}

/// The largest α with about five digits that `holds`, near `near`: a whole number of units of one over a whole number.
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
    refuse_if!(low == 0, "no smooth noise meets the target: raise it");
    Ok((low, unit as u32))
}

#[cfg(test)]
mod tests;
