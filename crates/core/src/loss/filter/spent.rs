//! What events add up to in one scope, by the filter rule.
//!
//! # The rule for (ε, δ), and why it is a filter
//! Events have any of a pure ε, a ρ (zCDP), and a δ of their own; their parameters may depend on all earlier answers.
//! Before the first one, δ is split into a quarter δ₀ for the events' own δ, 7/10 for one conversion of zCDP, and 1/400
//! for each of twenty more. An event is admitted while Σδᵢ ≤ δ₀ and at least one of these ways holds on the sums that
//! include it:
//! (1) every event has an ε, and Σε ≤ ε;
//! (2, j) Σε of those that have one, plus the conversion of Σρ of the rest at the fixed order αⱼ and its share, is at
//! most ε;
//! (3) the conversion of Σρ of all, at its best order and its share, is at most ε.
//!
//! *Own δ.* For a pair of neighbours, an event with a δ of its own is (1 − δᵢ)P′ + δᵢP″ against (1 − δᵢ)Q′ + δᵢQ″, and
//! P′, Q′ have the ε or ρ that is stated (for (ε, δ) by [Kairouz–Oh–Viswanath 2015]). Think of the two parts as chosen
//! by a coin. At the end of each path Π(1 − δᵢ) ≥ 1 − Σδᵢ ≥ 1 − δ₀: toss one more coin there that makes the product
//! 1 − δ₀ exactly. So the law of all answers is (1 − δ₀)𝒫′ + δ₀𝒫″, where 𝒫′ is the process that always draws from P′,
//! and the same with 𝒬; hence it is (ε, δ₀ + (1 − δ₀)δ′)-private if 𝒫′ and 𝒬′ are (ε, δ′)-close. (This is δ-approximate
//! zCDP of [Whitehouse–Ramdas–Rogers–Wu 2023].) The same step proves the limits in ρ and D_α: they hold except with
//! probability δ if Σδᵢ ≤ δ, and no δ is split there.
//!
//! *The ways.* Let L be the loss of 𝒫′ against 𝒬′, stopped before the rule would be broken. At the end of each path one
//! of the ways holds, and so it held all along, as sums only grow. Paths that end with (1) have L ≤ ε. For way i let Lᵢ
//! be the loss of the process that stops when way i alone would be broken; on paths that end with i, L = Lᵢ. Hence
//! E\[(1 − e^{ε−L})₊\] ≤ Σᵢ E\[(1 − e^{ε−Lᵢ})₊\], and it is enough that way i has its share δ′ᵢ for the last term. In
//! (2, j) and (3), let S be the Σε of the events that are counted by theirs, R the Σρ of the others, A their loss:
//! Lᵢ ≤ S + A, and e^{(α−1)(A−αR)} has mean at most 1, as a product of factors with conditional mean at most 1
//! [Feldman–Zrnic 2021, Thm 3.3]. All admitted paths have ε ≥ S + αR + f with the same α and the same
//! f = −ln(αδ′ᵢ)/(α − 1) + ln(1 − 1/α): in (2, j) α is fixed; in (3), S is 0, and the order that is found for the
//! largest R of all paths serves those with less. So Lᵢ − ε ≤ X − f with X = A − αR, and E\[(1 − e^{f−X})₊\] ≤ δ′ᵢ
//! [Canonne–Kamath–Steinke 2020, Prop. 12]. (With the best order on each path instead, (2) would not be a filter: an
//! analyst who may choose between S and R after seeing A can wait for A to pass a curve that it passes somewhere, by
//! the law of the iterated logarithm.)
//!
//! *What the split costs.* Gaussian noise alone is converted at 0.7·δ: at ε = 1 and δ = 1e-9, ρ is 2.0% below that for
//! all of δ. Key selection has a quarter of δ: its threshold is ln 4 = 1.4 scales of Laplace noise above that for all
//! of it.

use super::price::{Price, TruncatedBound, repeated, rounded_up_f64};
use crate::error::Result;
use crate::event::{Event, Sampling};
use crate::loss::{hull, words};
use crate::quantity::Exact;
use crate::scope::Scope;
use num_rational::BigRational;
use std::num::NonZeroU32;
use std::ops::Range;

/// Sums over the events so far, each an upper bound and exact as a sum: the odometer.
///
/// ```
/// use scumble::event::{Event, Word, Moves, Shift};
/// use scumble::loss::filter::Odometer;
/// use scumble::quantity::{Epsilon, Exact};
/// use scumble::scope::Scope;
/// let half = Event::new(Word::Pure { epsilon: Epsilon::new(0.5)? }, Moves::everywhere(Shift::one_cell(1.0)?));
/// let spent = Odometer::of(&[half.clone(), half], &Scope::Person)?;
/// assert_eq!(spent.epsilon(&Exact::zero()), Some("1".parse()?));
/// # Ok::<(), scumble::Error>(())
/// ```
///
/// Single costs are rounded up to multiples of 10⁻³⁰, so that ten thousand of them add up quickly, and so that a cost
/// that is at most a decimal of up to thirty places stays at most that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Odometer {
    /// Σε over the events that have one.
    pub(super) pure: Exact,
    /// Σρ over the events that have no ε; none if one of them has no ρ.
    pub(super) rho_of_rest: Option<Exact>,
    /// Σρ over all events; none if an event has no ρ.
    pub(super) rho_of_all: Option<Exact>,
    /// Σρ over all events up to the least of their ω; none if an event has neither.
    pub(super) truncated: Option<TruncatedBound>,
    /// Σδ.
    pub(super) delta: Exact,
}

impl Odometer {
    /// Nothing yet.
    pub fn nothing() -> Self {
        let zero = Exact::zero;
        let truncated = Some(TruncatedBound { rho: zero(), omega: None });
        Self { pure: zero(), rho_of_rest: Some(zero()), rho_of_all: Some(zero()), truncated, delta: zero() }
    }

    /// What these events add up to.
    pub fn of(events: &[Event], scope: &Scope) -> Result<Self> {
        let mut spent = Self::nothing();
        spent.add_all(events, scope)?;
        Ok(spent)
    }

    /// Adds what the events of one charge cost in `scope`.
    ///
    /// # Guarantee
    /// A person costs at least what presence does, in every sum: who replaces an owner may take no part. Events may say
    /// side by side what a mechanism costs in each scope ([`crate::event::charged_by_scope`]); where those for a person
    /// come to less than those for presence, the charge is the worse of both.
    ///
    /// ```
    /// use scumble::quantity::epsilon;
    /// use scumble::event::{Event, Moves, Shift};
    /// use scumble::loss::filter::Odometer;
    /// use scumble::scope::Scope;
    /// let one = || Shift::one_cell(1.0).map(|shift| vec![shift]);
    /// let presence = Event::pure(epsilon(2.0)?).moving(Moves::as_written(one()?, vec![], vec![]));
    /// let person = Event::pure(epsilon(0.5)?).moving(Moves::as_written(vec![], one()?, vec![]));
    /// let spent = Odometer::of(&[presence, person], &Scope::Person)?;
    /// assert_eq!(spent.pure_sum(), Some("2".parse()?));
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn add_all(&mut self, events: &[Event], scope: &Scope) -> Result<()> {
        let (member, members) = scope.members();
        let is_side_by_side = |event: &Event| event.moves().leaves_presence_to_others();
        if *member != Scope::Person || !events.iter().any(is_side_by_side) {
            return events.iter().try_for_each(|event| self.add(event, scope));
        }
        let mut person = Self::nothing();
        events.iter().try_for_each(|event| person.add(event, scope))?;
        let members = NonZeroU32::new(members).unwrap_or(NonZeroU32::MIN);
        let presence = Self::of(events, &Scope::Presence.group(members))?;
        *self = std::mem::replace(self, Self::nothing()).plus(person.worse_of(presence));
        Ok(())
    }

    /// Whether this is no less than the other in each sum: then so is every number that is read off, at every δ and
    /// whatever is added to both.
    ///
    /// A smaller Σε beside a larger Σρ is not: which of the two says less depends on δ, and on what else is spent.
    ///
    /// ```
    /// use scumble::quantity::{epsilon, rho};
    /// use scumble::event::{Event, Moves, Shift};
    /// use scumble::loss::filter::Odometer;
    /// use scumble::scope::Scope;
    /// let one = |event: Event| Odometer::of(&[event.moving(Moves::everywhere(Shift::one_cell(1.0)?))], &Scope::Person);
    /// let (pure, zcdp) = (one(Event::pure(epsilon(1.0)?))?, one(Event::zcdp(rho(50.0)?))?);
    /// assert!(pure.is_at_least(&one(Event::pure(epsilon(0.5)?))?));
    /// assert!(!zcdp.is_at_least(&pure) && !pure.is_at_least(&zcdp));
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn is_at_least(&self, other: &Self) -> bool {
        self.clone().worse_of(other.clone()) == *self
    }

    /// The larger of both in every sum.
    fn worse_of(self, other: Self) -> Self {
        Self {
            pure: self.pure.max(other.pure),
            rho_of_rest: larger(self.rho_of_rest, other.rho_of_rest),
            rho_of_all: larger(self.rho_of_all, other.rho_of_all),
            truncated: self.truncated.zip(other.truncated).and_then(|(own, other)| worse(Some(own), Some(other))),
            delta: self.delta.max(other.delta),
        }
    }

    /// Both together.
    fn plus(self, other: Self) -> Self {
        let truncated = self.truncated.zip(other.truncated);
        Self {
            pure: self.pure + other.pure,
            rho_of_rest: added(self.rho_of_rest, other.rho_of_rest),
            rho_of_all: added(self.rho_of_all, other.rho_of_all),
            truncated: truncated.map(|(own, other)| TruncatedBound {
                rho: own.rho + other.rho,
                omega: smaller(own.omega, other.omega),
            }),
            delta: self.delta + other.delta,
        }
    }

    /// Adds what one event costs by itself; what other events of its charge say is not looked at.
    pub(super) fn add(&mut self, event: &Event, scope: &Scope) -> Result<()> {
        let (member, members) = scope.members();
        let mut shifts = event.moves().shifts(member);
        // Sampling takes nothing off here. Without replacement an owner that is added to the sample takes another's
        // place.
        if let (Some(Sampling::WithoutReplacement(_)), Scope::Presence) = (event.sampling(), member) {
            shifts.extend(event.moves().shifts(&Scope::Person));
        }
        let nothing = Exact::zero();
        let mut worst =
            Price { pure: Some(nothing.clone()), rho: Some(nothing.clone()), truncated: None, delta: nothing };
        let word = words::of(event.word());
        for shift in &shifts {
            let price = word.price(shift, members)?;
            worst = Price {
                pure: larger(worst.pure, price.pure),
                rho: larger(worst.rho, price.rho),
                truncated: worse(worst.truncated, price.truncated),
                delta: worst.delta.max(price.delta),
            };
        }
        // Of what adds up over cells, a mixture of alternatives may have more than each of them; Σε has not.
        if let Some(rate) = hull::by_rate(event.word(), &shifts, members) {
            let price = word.price(&rate, members)?;
            worst = Price {
                rho: larger(worst.rho, price.rho),
                truncated: worse(worst.truncated, price.truncated),
                delta: worst.delta.max(price.delta),
                ..worst
            };
        }
        let times = |number: Exact| repeated(&number, event.times());
        self.delta = self.delta.clone() + times(worst.delta);
        let truncated = match &worst.rho {
            Some(rho) => Some(TruncatedBound { rho: rho.clone(), omega: None }),
            None => worst.truncated,
        };
        if worst.pure.is_none() && truncated.is_none() {
            refuse!(
                "a {} event has no finite cost under the filter rule: account for it as pure, zcdp, tcdp or approximate",
                event.word().name()
            );
        }
        self.truncated = self
            .truncated
            .take()
            .zip(truncated)
            .map(|(sum, one)| TruncatedBound { rho: sum.rho + times(one.rho), omega: smaller(sum.omega, one.omega) });
        self.rho_of_all = added(self.rho_of_all.take(), worst.rho.clone().map(times));
        match worst.pure {
            Some(pure) => self.pure = self.pure.clone() + times(pure),
            None => self.rho_of_rest = added(self.rho_of_rest.take(), worst.rho.map(times)),
        }
        Ok(())
    }

    /// An upper bound of ε at δ; none if the events' own δ is more than its share, or if δ is 0 and some event has no
    /// pure ε.
    ///
    /// # Guarantee
    /// Before: whether an event is added is decided by `epsilon(δ) ≤ limit` on the sums that include it, and its
    /// parameters may depend on all earlier answers. After: everything that was added is (limit, δ)-private in the
    /// scope; the module says why.
    pub fn epsilon(&self, delta: &Exact) -> Option<Exact> {
        if self.delta > own_share(delta) {
            return None;
        }
        let ways = [self.pure_sum(), self.mixed(delta), self.concentrated(delta)];
        ways.into_iter().flatten().min()
    }

    /// Σε, if every event has an ε: all is (Σε, Σδ)-private then, also if it was chosen adaptively; none otherwise.
    ///
    /// ```
    /// use scumble::loss::filter::Odometer;
    /// use scumble::quantity::Exact;
    /// assert_eq!(Odometer::nothing().pure_sum(), Some(Exact::zero()));
    /// ```
    pub fn pure_sum(&self) -> Option<Exact> {
        let only_pure = self.rho_of_rest.as_ref().is_some_and(|rest| *rest == Exact::zero());
        only_pure.then(|| self.pure.clone())
    }

    /// Σε where there is one, and zCDP for the rest, at the best of the fixed orders.
    fn mixed(&self, delta: &Exact) -> Option<Exact> {
        let rest = self.rho_of_rest.as_ref()?;
        let each = fraction(delta, MIXED_SHARE).to_f64_down() / MIXED_ORDERS.len() as f64;
        let at = |exponent: i32| converted_at(rest, each, 1.0 + 2f64.powi(exponent));
        MIXED_ORDERS.filter_map(at).min().map(|epsilon| epsilon + self.pure.clone())
    }

    /// zCDP for all.
    fn concentrated(&self, delta: &Exact) -> Option<Exact> {
        converted(self.rho_of_all.as_ref()?, fraction(delta, CONCENTRATED_SHARE).to_f64_down())
    }

    /// An upper bound of ρ, except with probability δ; none if the events' own δ is more, or some event has no ρ.
    pub fn rho(&self, delta: &Exact) -> Option<Exact> {
        if self.delta > *delta { None } else { self.rho_of_all.clone() }
    }

    /// An upper bound of ρ for all orders below ω, except with probability δ; none if some event has a smaller ω or the
    /// events' own δ is more.
    ///
    /// # Guarantee
    /// The Rényi filter [Feldman–Zrnic 2021, Thm 3.3] holds at each order by itself: if Σρ stays within a limit and
    /// every event's ω is at least ω, then D_α ≤ limit·α at every order α < ω for everything that was added, adaptively
    /// chosen.
    pub fn truncated_rho(&self, omega: &Exact, delta: &Exact) -> Option<Exact> {
        let truncated = self.truncated.as_ref()?;
        let reaches = truncated.omega.as_ref().is_none_or(|least| least >= omega);
        (reaches && self.delta <= *delta).then(|| truncated.rho.clone())
    }

    /// The least δ at which the events' own δ is within its share, so that [`epsilon`](Self::epsilon) can give a
    /// number; none where no δ is enough, as something was published without noise.
    ///
    /// ```
    /// use scumble::event::{Event, Moves, Shift, Word};
    /// use scumble::loss::filter::Odometer;
    /// use scumble::quantity::{Delta, Epsilon};
    /// use scumble::scope::Scope;
    /// let one = Moves::everywhere(Shift::one_cell(1.0)?);
    /// let word = Word::Approximate { epsilon: Epsilon::new(0.5)?, delta: Delta::new(0.125)? };
    /// let spent = Odometer::of(&[Event::new(word, one)], &Scope::Person)?;
    /// assert_eq!(spent.least_delta(), Some("0.5".parse()?));
    /// assert!(spent.epsilon(&"0.5".parse()?).is_some() && spent.epsilon(&"0.4".parse()?).is_none());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn least_delta(&self) -> Option<Exact> {
        let (numerator, denominator) = OWN_SHARE;
        let least =
            Exact::from_rational(self.delta.rational() * BigRational::new(denominator.into(), numerator.into()));
        (least <= Exact::from_rational(BigRational::from_integer(1.into()))).then_some(least)
    }

    /// The probability that nothing is promised with: Σδ of the events.
    pub fn delta(&self) -> &Exact {
        &self.delta
    }
}

fn added(sum: Option<Exact>, one: Option<Exact>) -> Option<Exact> {
    Some(sum? + one?)
}

/// The worse of two truncated costs in both numbers; the other where one has none (alternatives of one kind of event
/// agree on that).
fn worse(left: Option<TruncatedBound>, right: Option<TruncatedBound>) -> Option<TruncatedBound> {
    match (left, right) {
        (Some(left), Some(right)) => {
            Some(TruncatedBound { rho: left.rho.max(right.rho), omega: smaller(left.omega, right.omega) })
        }
        (left, right) => left.or(right),
    }
}

/// The smaller of two ω; `None` is infinite.
fn smaller(left: Option<Exact>, right: Option<Exact>) -> Option<Exact> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (left, right) => left.or(right),
    }
}

fn larger(left: Option<Exact>, right: Option<Exact>) -> Option<Exact> {
    Some(left?.max(right?))
}

/// Which parts of an (ε, δ) limit's δ pay for what, as numerator and denominator: fixed before the first release, 1 in
/// all.
const OWN_SHARE: (u64, u64) = (1, 4);
const MIXED_SHARE: (u64, u64) = (1, 20);
const CONCENTRATED_SHARE: (u64, u64) = (7, 10);

/// The orders of the mixed way are 1 + 2^j. Their neighbours' factor of two costs at most 6% of the part that is
/// converted.
const MIXED_ORDERS: Range<i32> = -2..18;

/// How much of an (ε, δ) limit's δ the events' own δ may take: a quarter.
///
/// ```
/// use scumble::loss::filter::own_share;
/// assert_eq!(own_share(&"1e-6".parse()?), "2.5e-7".parse()?);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn own_share(delta: &Exact) -> Exact {
    fraction(delta, OWN_SHARE)
}

fn fraction(delta: &Exact, (numerator, denominator): (u64, u64)) -> Exact {
    Exact::from_rational(delta.rational() * BigRational::new(numerator.into(), denominator.into()))
}

/// ρ-zCDP to ε at δ at the order that is best for ρ. None for δ = 0 with ρ > 0.
fn converted(rho: &Exact, delta: f64) -> Option<Exact> {
    if *rho == Exact::zero() {
        return Some(Exact::zero());
    }
    if delta <= 0.0 {
        return None;
    }
    let rounded = rho.to_f64_up();
    let bound = |order: f64| bound_at(rounded, delta, order);
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
    converted_at(rho, delta, 1.0 + low.exp())
}

/// The same at one order.
fn converted_at(rho: &Exact, delta: f64, order: f64) -> Option<Exact> {
    if *rho == Exact::zero() {
        return Some(Exact::zero());
    }
    if delta <= 0.0 {
        return None;
    }
    let rho = rho.to_f64_up();
    let bound = bound_at(rho, delta, order);
    // The slack covers the rounding of a dozen operations on terms that are at most thousands.
    let upper = (bound + (bound.abs() + rho) * 1e-12 + 1e-13).max(0.0);
    rounded_up_f64(upper)
}

/// [Canonne–Kamath–Steinke 2020, Prop. 12]: ρα − ln(αδ)/(α − 1) + ln(1 − 1/α), for any order α > 1.
fn bound_at(rho: f64, delta: f64, order: f64) -> f64 {
    rho * order - (order * delta).ln() / (order - 1.0) + (-1.0 / order).ln_1p()
}
