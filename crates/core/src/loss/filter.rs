//! Mechanisms chosen one after another: filters that refuse an overdraw, and odometers of what has been spent.
//!
//! When parameters are chosen after answers have been seen, privacy-loss distributions do not simply compose; sums of ρ and
//! of pure ε do \[FZ21, Theorem 4.3; WRRW23\]. Sums are exact and each query costs the same, however many came before.

use crate::error::{Error, Result};
use crate::event::Event;
use crate::loss::convert::Conversion;
use crate::loss::law::{self, Component, Law};
use crate::quantity::{Delta, Epsilon, Exact, Rho};
use crate::scope::Scope;

/// What a filter counts in, and how much of it there is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Budget {
    /// ρ of zCDP.
    Zcdp(Rho),
    /// Pure ε.
    Pure(Epsilon),
}

/// What an odometer counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// ρ of zCDP.
    Zcdp,
    /// Pure ε.
    Pure,
}

/// A running sum of what adaptively chosen events have cost.
///
/// ```
/// use scumble::event::{Event, Kind, Moves, Shift};
/// use scumble::loss::filter::{Odometer, Unit};
/// use scumble::quantity::{Delta, Sigma};
/// use scumble::scope::Scope;
/// let mut odometer = Odometer::new(Unit::Zcdp, Scope::Presence);
/// let noise = Kind::DiscreteGaussian { sigma: Sigma::new(10.0)? };
/// odometer.add(&Event::new(noise, Moves::everywhere(Shift::one_cell(1.0)?)))?;
/// assert_eq!(odometer.spent().to_f64(), 0.005);
/// assert!(odometer.epsilon(Delta::new(1e-6)?) < 0.5);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Odometer {
    unit: Unit,
    scope: Scope,
    spent: Exact,
}

impl Odometer {
    /// Nothing spent yet.
    pub fn new(unit: Unit, scope: Scope) -> Self {
        Self { unit, scope, spent: Exact::zero() }
    }

    /// Adds what `event` costs; refuses an event that has no cost in this unit, and stays as it was.
    pub fn add(&mut self, event: &Event) -> Result<()> {
        self.spent = self.spent.clone() + cost(event, &self.scope, self.unit)?;
        Ok(())
    }

    /// The sum so far, in the odometer's unit.
    pub fn spent(&self) -> &Exact {
        &self.spent
    }

    /// A certified ε at `delta` for everything so far; infinite where there is none.
    ///
    /// # Guarantee
    /// Holds at a stopping time fixed beforehand and, with the filter's budget in place of the sum, at any.
    pub fn epsilon(&self, delta: Delta) -> f64 {
        epsilon(self.unit, self.spent.to_f64_up(), delta)
    }
}

/// A fully adaptive filter: admits events while their costs sum to at most the budget.
///
/// ```
/// use scumble::event::{Event, Kind, Moves, Shift};
/// use scumble::loss::filter::{Budget, Filter};
/// use scumble::quantity::Epsilon;
/// use scumble::scope::Scope;
/// let mut filter = Filter::new(Budget::Pure(Epsilon::new(1.0)?), Scope::Presence)?;
/// let one = Moves::everywhere(Shift::one_cell(1.0)?);
/// let ask = |epsilon| Epsilon::new(epsilon).map(|epsilon| Event::new(Kind::Pure { epsilon }, one.clone()));
/// assert!(filter.admit(&ask(0.7)?).is_ok());
/// assert!(filter.admit(&ask(0.4)?).is_err()); // an overdraw is refused …
/// assert!(filter.admit(&ask(0.3)?).is_ok()); // … and the filter stays usable, to the last bit
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Filter {
    budget: Budget,
    limit: Exact,
    odometer: Odometer,
}

impl Filter {
    /// An empty filter with `budget` for neighbours in `scope`.
    pub fn new(budget: Budget, scope: Scope) -> Result<Self> {
        let (unit, limit) = match budget {
            Budget::Zcdp(rho) => (Unit::Zcdp, rho.get()),
            Budget::Pure(epsilon) => (Unit::Pure, epsilon.get()),
        };
        Ok(Self { budget, limit: Exact::from_f64(limit)?, odometer: Odometer::new(unit, scope) })
    }

    /// Admits `event`, or refuses it and stays as it was.
    ///
    /// # Guarantee
    /// Before: the event has not been run. After: however the events were chosen, those admitted are together within the
    /// budget, for neighbours in the filter's scope.
    pub fn admit(&mut self, event: &Event) -> Result<()> {
        let mut after = self.odometer.clone();
        after.add(event)?;
        if after.spent > self.limit {
            let left = self.limit.clone() - self.odometer.spent.clone();
            return Err(Error::refused(format!(
                "the event would overdraw the budget: {left} of {} is left",
                self.limit
            )));
        }
        self.odometer = after;
        Ok(())
    }

    /// What has been spent.
    pub fn odometer(&self) -> &Odometer {
        &self.odometer
    }

    /// The budget that the filter was made with.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// A certified ε at `delta` for everything that this filter will ever admit.
    pub fn epsilon(&self, delta: Delta) -> f64 {
        epsilon(self.odometer.unit, self.limit.to_f64_up(), delta)
    }
}

fn epsilon(unit: Unit, sum: f64, delta: Delta) -> f64 {
    let target = delta.get();
    match unit {
        _ if target >= 1.0 || sum == 0.0 => 0.0,
        Unit::Pure if target == 0.0 => sum,
        Unit::Zcdp if target == 0.0 => f64::INFINITY,
        Unit::Zcdp => converted(sum, target),
        Unit::Pure => converted(sum * (sum / 2.0).tanh(), target).min(sum),
    }
}

fn converted(rho: f64, target: f64) -> f64 {
    Conversion { cumulant: |order| rho * order * (order - 1.0), largest_order: f64::INFINITY }.epsilon(target)
}

fn cost(event: &Event, scope: &Scope, unit: Unit) -> Result<Exact> {
    let mut worst = Exact::zero();
    for component in law::resolve(event, scope)? {
        let one = match unit {
            Unit::Pure => component.pure(),
            Unit::Zcdp => slope(&component),
        };
        if !one.is_finite() {
            return Err(Error::refused(format!(
                "a {} event has no finite cost in {}: give the filter another unit or the event other noise",
                event.kind.name(),
                if unit == Unit::Pure { "pure epsilon" } else { "zCDP" },
            )));
        }
        let sum = Exact::from_f64(one * component.times)?;
        if sum > worst {
            worst = sum;
        }
    }
    Ok(worst)
}

/// ρ such that D_α ≤ ρα for all α.
fn slope(component: &Component) -> f64 {
    let of_pure = |epsilon: f64| if epsilon.is_finite() { epsilon * (epsilon / 2.0).tanh() } else { f64::INFINITY };
    let whole = match component.law {
        Law::Gaussian { mu } => mu * mu / 2.0,
        Law::DiscreteGaussian { sigma, shift } => 0.5 * (shift as f64 / sigma).powi(2),
        Law::BoundedRange { epsilon } => epsilon * epsilon / 8.0,
        Law::Concentrated { rho, omega } if omega == f64::INFINITY => rho,
        _ => f64::INFINITY,
    };
    // Sampling never worsens a bound (quasi-convexity), and amplifies a pure one.

    whole.min(of_pure(component.pure()))
}
