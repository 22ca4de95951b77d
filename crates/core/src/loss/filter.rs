//! Mechanisms chosen one after another: filters that refuse an overdraw, and odometers of what has been spent.
//!
//! When parameters are chosen after answers have been seen, privacy-loss distributions do not simply compose; sums of
//! pure ε and of ρ against a limit that is fixed beforehand do (Rogers–Roth–Ullman–Vadhan; Feldman–Zrnic;
//! Whitehouse–Ramdas–Rogers–Wu). Sums are exact, and each query costs the same, however many came before. [`Odometer`]
//! is the odometer, [`Filter`] the gate; the rule and its proof stand in `spent.rs`.

use crate::error::Result;
use crate::event::Event;
use crate::quantity::Exact;
use crate::scope::Scope;
use std::fmt;

pub(super) mod price;
mod spent;
mod written;

pub use spent::{Odometer, own_share};

/// How much may be spent in one scope.
///
/// ```
/// use scumble::loss::filter::{Limit, Odometer};
/// let limit = Limit::Approximate { epsilon: "1.5".parse()?, delta: "1e-9".parse()? };
/// assert!(limit.holds(&Odometer::nothing()));
/// assert_eq!(limit.to_string(), "epsilon 1.5 at delta 1e-9");
/// # Ok::<(), scumble::Error>(())
/// ```
// Exhaustive on purpose: a match in another crate must decide about every variant, so a new one may not pass unseen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// (ε, δ); δ = 0 is pure.
    Approximate {
        /// ε
        epsilon: Exact,
        /// δ
        delta: Exact,
    },
    /// ρ-zCDP, except with probability δ.
    Zcdp {
        /// ρ
        rho: Exact,
        /// δ
        delta: Exact,
    },
    /// (ρ, ω)-tCDP, except with probability δ.
    Tcdp {
        /// ρ
        rho: Exact,
        /// ω
        omega: Exact,
        /// δ
        delta: Exact,
    },
    /// D_α ≤ ε at one order, except with probability δ. Spending is shown as ρα, which every event's own D_α is at
    /// most.
    Renyi {
        /// α
        order: Exact,
        /// ε
        epsilon: Exact,
        /// δ
        delta: Exact,
    },
}

impl Limit {
    /// The δ at which spending under this limit is stated.
    pub fn delta(&self) -> &Exact {
        match self {
            Self::Approximate { delta, .. }
            | Self::Zcdp { delta, .. }
            | Self::Tcdp { delta, .. }
            | Self::Renyi { delta, .. } => delta,
        }
    }

    /// What `spent` comes to in this limit's own number (ε or ρ); none if it cannot be expressed at this limit's δ.
    pub fn measure(&self, spent: &Odometer) -> Option<Exact> {
        match self {
            Self::Approximate { delta, .. } => spent.epsilon(delta),
            Self::Zcdp { delta, .. } => spent.rho(delta),
            Self::Tcdp { omega, delta, .. } => spent.truncated_rho(omega, delta),
            Self::Renyi { order, delta, .. } => {
                // (ρ, ω)-tCDP speaks of orders below ω only; an ω just above the order is enough.
                let above =
                    order.clone() + Exact::from_rational(num_rational::BigRational::new(1.into(), 1_000_000.into()));
                let rho = spent.truncated_rho(&above, delta)?;
                Some(Exact::from_rational(rho.rational() * order.rational()))
            }
        }
    }

    /// The number that must not be passed.
    pub fn most(&self) -> &Exact {
        match self {
            Self::Approximate { epsilon, .. } | Self::Renyi { epsilon, .. } => epsilon,
            Self::Zcdp { rho, .. } | Self::Tcdp { rho, .. } => rho,
        }
    }

    /// The word for that number.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Approximate { .. } | Self::Renyi { .. } => "epsilon",
            Self::Zcdp { .. } | Self::Tcdp { .. } => "rho",
        }
    }

    /// Whether `spent` is within.
    pub fn holds(&self, spent: &Odometer) -> bool {
        self.measure(spent).is_some_and(|number| number <= *self.most())
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.word(), self.most())?;
        match self {
            Self::Tcdp { omega, .. } => write!(f, " below omega {omega}")?,
            Self::Renyi { order, .. } => write!(f, " at order {order}")?,
            Self::Approximate { .. } | Self::Zcdp { .. } => {}
        }
        if *self.delta() > Exact::zero() {
            write!(f, " at delta {:e}", self.delta().to_f64())?;
        }
        Ok(())
    }
}

/// A fully adaptive filter: admits events while what they add up to stays within the limit.
///
/// ```
/// use scumble::event::{Event, Word, Moves, Shift};
/// use scumble::loss::filter::{Filter, Limit};
/// use scumble::quantity::{Epsilon, Exact};
/// use scumble::scope::Scope;
/// let limit = Limit::Approximate { epsilon: "1".parse()?, delta: Exact::zero() };
/// let mut filter = Filter::new(limit, Scope::Presence);
/// let one = Moves::everywhere(Shift::one_cell(1.0)?);
/// let ask = |epsilon| Epsilon::new(epsilon).map(|epsilon| Event::new(Word::Pure { epsilon }, one.clone()));
/// assert!(filter.admit(&ask(0.75)?).is_ok());
/// assert!(filter.admit(&ask(0.5)?).is_err()); // an overdraw is refused …
/// assert!(filter.admit(&ask(0.25)?).is_ok()); // … and the filter stays usable, to the last bit
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Filter {
    limit: Limit,
    scope: Scope,
    spent: Odometer,
}

impl Filter {
    /// An empty filter with this limit for neighbours in `scope`.
    pub fn new(limit: Limit, scope: Scope) -> Self {
        Self { limit, scope, spent: Odometer::nothing() }
    }

    /// Admits `event`, or refuses it and stays as it was.
    ///
    /// # Guarantee
    /// Before: the event has not been run. After: however the events were chosen, those admitted are together within
    /// the limit, for neighbours in the filter's scope (`spent.rs` says why). An event that leaves a person's cost to
    /// other events is charged what presence costs; events of one mechanism that say each scope's cost side by side
    /// cost less together ([`Filter::admit_all`]).
    pub fn admit(&mut self, event: &Event) -> Result<()> {
        self.admit_all(std::slice::from_ref(event))
    }

    /// Admits the events of one mechanism, all of them or none.
    ///
    /// # Guarantee
    /// That of [`Filter::admit`]. A person is charged the worse of what these events say it costs and of what presence
    /// costs ([`Odometer::add_all`]).
    ///
    /// ```
    /// use scumble::event::{Event, Moves, Shift};
    /// use scumble::loss::filter::{Filter, Limit};
    /// use scumble::quantity::{Exact, epsilon};
    /// use scumble::scope::Scope;
    /// let one = || Shift::one_cell(1.0).map(|shift| vec![shift]);
    /// let presence = Event::pure(epsilon(1.0)?).moving(Moves::as_written(one()?, vec![], vec![]));
    /// let person = Event::pure(epsilon(0.5)?).moving(Moves::as_written(vec![], one()?, vec![]));
    /// let limit = Limit::Approximate { epsilon: "1".parse()?, delta: Exact::zero() };
    /// let mut filter = Filter::new(limit, Scope::Person);
    /// assert!(filter.admit_all(&[presence, person.clone()]).is_ok());
    /// assert!(filter.admit(&person).is_err());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn admit_all(&mut self, events: &[Event]) -> Result<()> {
        let mut after = self.spent.clone();
        after.add_all(events, &self.scope)?;
        if !self.limit.holds(&after) {
            let word = self.limit.word();
            let left = match self.limit.measure(&self.spent) {
                Some(spent) => format!("{word} {} is left", self.limit.most().clone() - spent),
                None => format!("no {word} is left"),
            };
            refuse!("the event would overdraw the limit of {}: {left}", self.limit);
        }
        self.spent = after;
        Ok(())
    }

    /// What has been spent.
    pub fn spent(&self) -> &Odometer {
        &self.spent
    }

    /// The limit that the filter was made with: what everything that it will ever admit costs at most.
    pub fn limit(&self) -> &Limit {
        &self.limit
    }
}

#[cfg(test)]
mod tests;
