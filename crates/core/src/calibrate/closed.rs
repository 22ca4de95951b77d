//! The closed forms, rounded once: the least f64 for which the cost is at most the target *as rationals*.

use super::search::{StopRule, halve, largest, least, up};
use crate::error::Result;
use crate::event::{Event, Moves, Shift, Word};
use crate::loss::filter::Odometer;
use crate::quantity::{Epsilon, Exact, Rho, Scale, Sensitivity, Sigma, Upper};
use crate::scope::Scope;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};

/// How far what is noised can move: Σ|Δ| over the cells (which counts for pure privacy) and ΣΔ² (for concentrated),
/// exactly. Of several alternatives the largest of each.
///
/// ```
/// use scumble::calibrate::{ShiftNorms, scale_for_pure, sigma_for_zcdp};
/// use scumble::event::{Moves, Shift};
/// use scumble::quantity::{Epsilon, Rho};
/// use scumble::scope::Scope;
/// let moves = Moves::everywhere(Shift::new(4, 1.0)?);
/// let moved = ShiftNorms::of(&moves, &Scope::Person);
/// assert_eq!(scale_for_pure(Epsilon::new(0.5)?, moved.clone())?.get(), 8.0);
/// assert_eq!(sigma_for_zcdp(Rho::new(0.5)?, moved)?.get(), 2.0);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShiftNorms {
    sum: BigRational,
    squares: BigRational,
}

impl ShiftNorms {
    /// This many cells, each by at most `by`.
    pub fn cells(cells: u64, by: Sensitivity) -> Self {
        Self::together(cells, &exact(by.get()))
    }

    /// This many cells, each by 1; also: a table whose squared Euclidean length moves by at most this.
    pub fn units(cells: u64) -> Self {
        Self::together(cells, &whole(1))
    }

    /// The worst of the alternatives in `scope`. Members of a group can move the same cells, each as far as one of
    /// them: that is the worst.
    pub fn of(moves: &Moves, scope: &Scope) -> Self {
        let members = whole(scope.members().1.into());
        Self::worst(
            moves.shifts(scope).iter().map(|shift| Self::together(shift.cells, &(exact(shift.by.get()) * &members))),
        )
    }

    fn together(cells: u64, by: &BigRational) -> Self {
        let sum = whole(cells) * by;
        Self { squares: &sum * by, sum }
    }

    fn worst(alternatives: impl Iterator<Item = Self>) -> Self {
        let nothing = Self { sum: BigRational::zero(), squares: BigRational::zero() };
        alternatives
            .fold(nothing, |worst, one| Self { sum: worst.sum.max(one.sum), squares: worst.squares.max(one.squares) })
    }

    /// Whether nothing can move, so that no noise is needed.
    pub fn is_nothing(&self) -> bool {
        self.sum.is_zero()
    }
}

impl From<Sensitivity> for ShiftNorms {
    /// One cell.
    fn from(by: Sensitivity) -> Self {
        Self::cells(1, by)
    }
}

impl From<&[Shift]> for ShiftNorms {
    /// The worst of these alternatives.
    fn from(shifts: &[Shift]) -> Self {
        Self::worst(shifts.iter().map(|shift| Self::cells(shift.cells, shift.by)))
    }
}

/// The least scale of (discrete) Laplace noise on every cell, or of K-norm noise where Δ is in its norm, that is
/// ε-private: Σ|Δ|/ε.
///
/// # Guarantee
/// `moved / scale ≤ epsilon` holds for the f64 that is returned, as rationals, and for none below it in the range of
/// scales.
///
/// ```
/// use scumble::calibrate::scale_for_pure;
/// use scumble::quantity::{Epsilon, Sensitivity};
/// assert_eq!(scale_for_pure(Epsilon::new(0.25)?, Sensitivity::new(3.0)?)?.get(), 12.0);
/// assert!(scale_for_pure(Epsilon::new(0.0)?, Sensitivity::new(1.0)?).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn scale_for_pure(epsilon: impl Into<Exact>, moved: impl Into<ShiftNorms>) -> Result<Scale> {
    let (epsilon, ShiftNorms { sum, .. }) = (above_zero("epsilon", epsilon)?, moved.into());
    let found = least(near(&(&sum / &epsilon)), |scale| sum <= &epsilon * exact(scale));
    Scale::new(found.max(Scale::RANGE.lower))
}

/// The least σ of (discrete) Gaussian noise on every cell that is ρ-zCDP: √(ΣΔ²/2ρ) (Canonne–Kamath–Steinke 2020,
/// Theorem 4).
///
/// # Guarantee
/// `squares / (2·sigma²) ≤ rho` holds for the f64 that is returned, as rationals, and for none below it in the range of
/// σ.
///
/// ```
/// use scumble::calibrate::sigma_for_zcdp;
/// use scumble::quantity::{Rho, Sensitivity};
/// assert_eq!(sigma_for_zcdp(Rho::new(0.125)?, Sensitivity::new(1.0)?)?.get(), 2.0);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn sigma_for_zcdp(rho: impl Into<Exact>, moved: impl Into<ShiftNorms>) -> Result<Sigma> {
    let (rho, ShiftNorms { squares, .. }) = (above_zero("rho", rho)?, moved.into());
    let twice = &rho * whole(2);
    let found = least(near(&(&squares / &twice)).sqrt(), |sigma| squares <= &twice * exact(sigma) * exact(sigma));
    Sigma::new(found.max(Sigma::RANGE.lower))
}

/// The least scale of discrete Laplace noise on each of `cells` cells that move by 1, that is ρ-zCDP.
pub fn scale_for_zcdp(rho: Rho, cells: u32) -> Result<Scale> {
    let one = share_of(&rho.into(), cells.max(1) as usize)?;
    scale_for_pure(pure_for_zcdp(Rho::new(one.to_f64_down())?)?, Sensitivity::new(1.0)?)
}

/// The largest ε of a mechanism that is run where `moved` says, so that all of it is ε-private: ε/Σ|Δ|.
///
/// # Guarantee
/// `moved · found ≤ epsilon`, as rationals.
///
/// ```
/// use scumble::calibrate::epsilon_for_pure;
/// use scumble::quantity::{Epsilon, Sensitivity};
/// assert_eq!(epsilon_for_pure(Epsilon::new(0.5)?, Sensitivity::new(2.0)?)?.get(), 0.25);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn epsilon_for_pure(epsilon: impl Into<Exact>, moved: impl Into<ShiftNorms>) -> Result<Epsilon> {
    let (epsilon, ShiftNorms { sum, .. }) = (above_zero("epsilon", epsilon)?, something(moved.into())?);
    Epsilon::new(largest(near(&(&epsilon / &sum)), |found| &sum * exact(found) <= epsilon))
}

/// The largest range η of the privacy loss of an exponential mechanism (or of any with bounded range) that is ρ-zCDP
/// where `moved` says: ΣΔ²·η²/8 ≤ ρ (Cesar–Rogers 2021).
///
/// # Guarantee
/// `squares · found² / 8 ≤ rho`, as rationals.
///
/// ```
/// use scumble::calibrate::range_for_zcdp;
/// use scumble::quantity::{Rho, Sensitivity};
/// assert_eq!(range_for_zcdp(Rho::new(0.5)?, Sensitivity::new(1.0)?)?.get(), 2.0);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn range_for_zcdp(rho: impl Into<Exact>, moved: impl Into<ShiftNorms>) -> Result<Epsilon> {
    let (rho, ShiftNorms { squares, .. }) = (above_zero("rho", rho)?, something(moved.into())?);
    let eight = &rho * whole(8);
    let holds = |range: f64| &squares * exact(range) * exact(range) <= eight;
    Epsilon::new(largest(near(&(&eight / &squares)).sqrt(), holds))
}

/// The largest pure ε that is ρ-zCDP: ε·tanh(ε/2) ≤ ρ, tight for randomized response. The cost is computed in f64,
/// hence [`up`].
///
/// ```
/// use scumble::calibrate::pure_for_zcdp;
/// use scumble::quantity::Rho;
/// let epsilon = pure_for_zcdp(Rho::new(0.1)?)?.get();
/// assert!(epsilon * (epsilon / 2.0).tanh() <= 0.1 && epsilon > 0.4506);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn pure_for_zcdp(rho: Rho) -> Result<Epsilon> {
    let rho = rho.get();
    // ε²/2 for small ρ, ε for large.
    Epsilon::new(largest((2.0 * rho).sqrt().max(rho), |epsilon| up(epsilon * (epsilon / 2.0).tanh()) <= rho))
}

/// ρ of Gaussian noise of this σ: ΣΔ²/2σ², the least f64 that is not below.
///
/// ```
/// use scumble::calibrate::rho_of_gaussian;
/// use scumble::quantity::{Sensitivity, Sigma};
/// assert_eq!(rho_of_gaussian(Sigma::new(2.0)?, Sensitivity::new(1.0)?), 0.125);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn rho_of_gaussian(sigma: Sigma, moved: impl Into<ShiftNorms>) -> Upper {
    let sigma = exact(sigma.get());
    Upper::of(Exact::from_rational(moved.into().squares / (whole(2) * &sigma * &sigma)).to_f64_up())
}

/// ε of Laplace noise of this scale, or of K-norm noise where Δ is in its norm: Σ|Δ|/scale, the least f64 that is not
/// below.
///
/// ```
/// use scumble::calibrate::epsilon_of_laplace;
/// use scumble::quantity::{Scale, Sensitivity};
/// assert_eq!(epsilon_of_laplace(Scale::new(4.0)?, Sensitivity::ONE), 0.25);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn epsilon_of_laplace(scale: Scale, moved: impl Into<ShiftNorms>) -> Upper {
    Upper::of(Exact::from_rational(moved.into().sum / exact(scale.get())).to_f64_up())
}

/// One of this many equal parts of a budget, rounded down to the ledger's grid ([`Exact::down_to_grid`]): it rounds
/// each charge up to it, so that all parts together fit.
///
/// ```
/// use scumble::calibrate::share_of;
/// use scumble::quantity::Exact;
/// let third = share_of(&"1".parse()?, 3)?;
/// assert_eq!(third.to_string(), "0.333333333333333333333333333333");
/// assert!(share_of(&"1e-30".parse()?, 2).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn share_of(budget: &Exact, parts: usize) -> Result<Exact> {
    let share = Exact::from_rational(budget.rational() / whole(parts.max(1) as u64)).down_to_grid();
    if share <= Exact::zero() {
        refuse!(
            "a cost of {:e} for {parts} numbers is too small: each needs at least 1e-30, the step in which the ledger \
                counts",
            budget.to_f64()
        );
    }
    Ok(share)
}

/// The largest ρ (to eleven digits) that the filter's rule ([`Odometer::epsilon`]) converts to at most ε at δ; 0 if
/// there is none.
///
/// ```
/// use scumble::calibrate::largest_rho;
/// let rho = largest_rho(&"1".parse()?, &"1e-9".parse()?)?.to_f64();
/// assert!((0.01..0.02).contains(&rho));
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn largest_rho(epsilon: &Exact, delta: &Exact) -> Result<Exact> {
    let moves = Moves::everywhere(Shift::one_cell(1.0)?);
    let attempt = |rho: f64| -> Result<Option<()>> {
        let event = Event::new(Word::Zcdp { rho: Rho::new(rho)? }, moves.clone());
        let spent = Odometer::of(&[event], &Scope::Person)?;
        Ok(spent.epsilon(delta).is_some_and(|converted| converted <= *epsilon).then_some(()))
    };
    let found = halve(0.0, epsilon.to_f64(), StopRule { steps: 60, relative: 1e-11 }, attempt)?;
    Exact::from_f64(found.map_or(0.0, |(rho, ())| rho))
}

/// Rounded up to forty binary digits: short rationals keep exact sampling fast.
pub fn short_scale(scale: f64) -> Result<Scale> {
    const DIGITS: i32 = 40;
    let unit = 2f64.powi(scale.log2().ceil() as i32 - DIGITS);
    Scale::new((scale / unit).ceil() * unit)
}

fn above_zero(name: &str, target: impl Into<Exact>) -> Result<BigRational> {
    let target: Exact = target.into();
    refuse_if!(target <= Exact::zero(), "{name} must be above 0 to calibrate noise");
    Ok(target.rational().clone())
}

fn something(moved: ShiftNorms) -> Result<ShiftNorms> {
    refuse_if!(moved.is_nothing(), "nothing moves, so any epsilon meets the target: there is no largest");
    Ok(moved)
}

fn near(value: &BigRational) -> f64 {
    value.to_f64().unwrap_or(f64::MAX)
}

fn exact(value: f64) -> BigRational {
    BigRational::from_float(value).unwrap_or_else(BigRational::zero)
}

fn whole(number: u64) -> BigRational {
    BigRational::from_integer(BigInt::from(number))
}
