//! What events add up to in one scope, by the filter rule.

use super::cost::{Cost, Truncated, cost, repeated, rounded_up_f64};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::quantity::Exact;
use crate::scope::Scope;

/// Sums over the events so far, each an upper bound and exact as a sum: the odometer.
///
/// ```
/// use scumble::event::{Event, Kind, Moves, Shift};
/// use scumble::loss::filter::Spent;
/// use scumble::quantity::{Epsilon, Exact};
/// use scumble::scope::Scope;
/// let half = Event::new(Kind::Pure { epsilon: Epsilon::new(0.5)? }, Moves::everywhere(Shift::one_cell(1.0)?));
/// let spent = Spent::of(&[half.clone(), half], &Scope::Person)?;
/// assert_eq!(spent.epsilon(&Exact::zero()), Some("1".parse()?));
/// # Ok::<(), scumble::Error>(())
/// ```
///
/// Single costs are rounded up to multiples of 10⁻³⁰, so that ten thousand of them add up quickly, and so that a cost that is at most
/// a decimal of up to thirty places stays at most that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    /// Σε over the events that have one.
    pub(super) pure: Exact,
    /// Σρ over the events that have no ε; none if one of them has no ρ.
    pub(super) rho_of_rest: Option<Exact>,
    /// Σρ over all events; none if an event has no ρ.
    pub(super) rho_of_all: Option<Exact>,
    /// Σρ over all events up to the least of their ω; none if an event has neither.
    pub(super) truncated: Option<Truncated>,
    /// Σδ.
    pub(super) delta: Exact,
}

impl Spent {
    /// Nothing yet.
    pub fn nothing() -> Self {
        let zero = Exact::zero;
        let truncated = Some(Truncated { rho: zero(), omega: None });
        Self { pure: zero(), rho_of_rest: Some(zero()), rho_of_all: Some(zero()), truncated, delta: zero() }
    }

    /// What these events add up to.
    pub fn of(events: &[Event], scope: &Scope) -> Result<Self> {
        let mut spent = Self::nothing();
        spent.add_all(events, scope)?;
        Ok(spent)
    }

    /// Adds each event's cost in `scope`.
    pub fn add_all(&mut self, events: &[Event], scope: &Scope) -> Result<()> {
        events.iter().try_for_each(|event| self.add(event, scope))
    }

    fn add(&mut self, event: &Event, scope: &Scope) -> Result<()> {
        let (_, members) = scope.members();
        let nothing = Exact::zero();
        let mut worst =
            Cost { pure: Some(nothing.clone()), rho: Some(nothing.clone()), truncated: None, delta: nothing };
        for shift in event.moves.shifts(scope) {
            let cost = cost(&event.kind, &shift, members)?;
            worst = Cost {
                pure: larger(worst.pure, cost.pure),
                rho: larger(worst.rho, cost.rho),
                truncated: worse(worst.truncated, cost.truncated),
                delta: worst.delta.max(cost.delta),
            };
        }
        let times = |number: Exact| repeated(&number, event.times.get());
        self.delta = self.delta.clone() + times(worst.delta);
        let truncated = match &worst.rho {
            Some(rho) => Some(Truncated { rho: rho.clone(), omega: None }),
            None => worst.truncated,
        };
        if worst.pure.is_none() && truncated.is_none() {
            return Err(Error::refused(format!(
                "a {} event has no finite cost under the filter rule: account for it as pure, zcdp, tcdp or approximate",
                event.kind.name()
            )));
        }
        self.truncated = self
            .truncated
            .take()
            .zip(truncated)
            .map(|(sum, one)| Truncated { rho: sum.rho + times(one.rho), omega: smaller(sum.omega, one.omega) });
        self.rho_of_all = added(self.rho_of_all.take(), worst.rho.clone().map(times));
        match worst.pure {
            Some(pure) => self.pure = self.pure.clone() + times(pure),
            None => self.rho_of_rest = added(self.rho_of_rest.take(), worst.rho.map(times)),
        }
        Ok(())
    }

    /// An upper bound of ε at δ; none if the events' own δ uses up all of it, or if δ is 0 and some event has no pure ε.
    ///
    /// # Guarantee
    /// Before: whether an event is added is decided by `epsilon(δ) ≤ limit` on the sums that include it, and its parameters may
    /// depend on all earlier answers. After: everything that was added is (limit, δ)-private in the scope.
    ///
    /// Three ways to add up are allowed at each step, and the least counts: (1) Σε where every event has one; (2) Σε of those that
    /// have one, and zCDP for the rest at a tenth of the δ that is left; (3) zCDP for all at nine tenths. Why their minimum is still
    /// a filter: let L be the privacy loss of the process that stops before the rule would be broken. At the end of each path one of
    /// the three holds, and so it held all along that path, as sums only grow. Paths with (1) have L ≤ ε. Let Lᵢ be the loss of the
    /// process that stops when way i alone would be broken; on paths that end with i, L = Lᵢ. Hence E\[(1 − e^{ε−L})₊\] ≤
    /// Σᵢ E\[(1 − e^{ε−Lᵢ})₊\] ≤ δ/10 + 9δ/10, each term by the zCDP filter [Feldman–Zrnic 2021, Thm 3.3] and the conversion below.
    pub fn epsilon(&self, delta: &Exact) -> Option<Exact> {
        if self.delta > *delta {
            return None;
        }
        let rest = self.rho_of_rest.as_ref()?;
        if *rest == Exact::zero() {
            let concentrated = self.concentrated(delta);
            return Some(concentrated.map_or(self.pure.clone(), |other| other.min(self.pure.clone())));
        }
        let left = (delta.clone() - self.delta.clone()).to_f64_down();
        let mixed = converted(rest, left * 0.1).map(|epsilon| epsilon + self.pure.clone());
        [mixed, self.concentrated(delta)].into_iter().flatten().min()
    }

    fn concentrated(&self, delta: &Exact) -> Option<Exact> {
        let left = (delta.clone() - self.delta.clone()).to_f64_down();
        converted(self.rho_of_all.as_ref()?, left * 0.9)
    }

    /// An upper bound of ρ, but for an event of probability δ; none if the events' own δ is more, or some event has no ρ.
    pub fn rho(&self, delta: &Exact) -> Option<Exact> {
        if self.delta > *delta { None } else { self.rho_of_all.clone() }
    }

    /// An upper bound of ρ for all orders below ω, but for an event of probability δ; none if some event has a smaller ω or the
    /// events' own δ is more.
    ///
    /// # Guarantee
    /// The Rényi filter [Feldman–Zrnic 2021, Thm 3.3] holds at each order by itself: if Σρ stays within a limit and every event's
    /// ω is at least ω, then D_α ≤ limit·α at every order α < ω for everything that was added, adaptively chosen.
    pub fn truncated_rho(&self, omega: &Exact, delta: &Exact) -> Option<Exact> {
        let truncated = self.truncated.as_ref()?;
        let reaches = truncated.omega.as_ref().is_none_or(|least| least >= omega);
        (reaches && self.delta <= *delta).then(|| truncated.rho.clone())
    }

    /// The probability that nothing is promised with: Σδ of the events.
    pub fn delta(&self) -> &Exact {
        &self.delta
    }
}

fn added(sum: Option<Exact>, one: Option<Exact>) -> Option<Exact> {
    Some(sum? + one?)
}

/// The worse of two truncated costs in both numbers; the other where one has none (alternatives of one kind of event agree on that).
fn worse(left: Option<Truncated>, right: Option<Truncated>) -> Option<Truncated> {
    match (left, right) {
        (Some(left), Some(right)) => {
            Some(Truncated { rho: left.rho.max(right.rho), omega: smaller(left.omega, right.omega) })
        }
        (left, right) => left.or(right),
    }
}

/// The smaller of two ω, of which none is infinite.
fn smaller(left: Option<Exact>, right: Option<Exact>) -> Option<Exact> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (left, right) => left.or(right),
    }
}

fn larger(left: Option<Exact>, right: Option<Exact>) -> Option<Exact> {
    Some(left?.max(right?))
}

/// ρ-zCDP to ε at δ, by Canonne–Kamath–Steinke 2020, Prop. 12: any order α > 1 gives a valid bound, so that the search for the best
/// one needs no certificate. None for δ = 0 with ρ > 0.
fn converted(rho: &Exact, delta: f64) -> Option<Exact> {
    if *rho == Exact::zero() {
        return Some(Exact::zero());
    }
    if delta <= 0.0 {
        return None;
    }
    let rho = rho.to_f64_up();
    let bound = |order: f64| rho * order - (order * delta).ln() / (order - 1.0) + (-1.0 / order).ln_1p();
    // The bound is unimodal enough in ln(α − 1) for a ternary search; a wrong turn costs tightness, not truth.
    let (mut low, mut high) = (1e-6f64.ln(), 1e9f64.ln());
    // Ninety thirds of the range are below the spacing of an f64.
    for _ in 0..90 {
        let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if bound(1.0 + left.exp()) <= bound(1.0 + right.exp()) {
            high = right;
        } else {
            low = left;
        }
    }
    // The slack covers the rounding of a dozen operations on terms that are at most thousands.
    let best = bound(1.0 + low.exp());
    let upper = (best + (best.abs() + rho) * 1e-12 + 1e-13).max(0.0);
    rounded_up_f64(upper)
}
