//! What events cost: certified upper bounds of ε and δ, each with its certified lower bound beside it.
//!
//! ```
//! use scumble::event::{Event, Word, Moves, Shift};
//! use scumble::loss::Loss;
//! use scumble::quantity::{Sigma, delta};
//! use scumble::scope::Scope;
//! let noise = Word::Gaussian { sigma: Sigma::new(10.0)? };
//! let events = [Event::new(noise, Moves::everywhere(Shift::one_cell(1.0)?)).repeated(100)?];
//! let loss = Loss::of(events, Scope::Presence)?;
//! let answer = loss.epsilon(delta(1e-6)?);
//! assert!((answer.upper - 4.8865541).abs() < 1e-6);
//! assert!(answer.lower <= answer.upper);
//! // A δ of 0 asks for the pure bound; Gaussian noise has none.
//! assert_eq!(loss.epsilon(delta(0.0)?).upper, f64::INFINITY);
//! # Ok::<(), scumble::Error>(())
//! ```

use crate::error::Result;
use crate::event::Event;
use crate::quantity::{Delta, Epsilon};
use crate::scope::Scope;
use std::borrow::Borrow;
use std::fmt;

pub mod approximate;
mod convert;
mod dominating_pair;
pub mod filter;
mod gaussian;
mod hull;
mod law;
mod normal;
pub mod person;
mod pld;
pub mod reading;
mod renyi;
mod resolve;
mod shape;
pub mod shuffle;
pub mod special;
mod subsampling_tcdp;
mod truncated;
pub(crate) mod words;

pub(crate) use words::parity::epsilons as parity_epsilons;
pub(crate) use words::smooth_noise::{delta_of_smooth_noise, truncated_of_smooth_noise};

use convert::Conversion;
use law::{Component, Law, SampleForm};
use normal::NormalApproximation;
use pld::{LossQuery, PairSide};
use renyi::Curve;
use std::sync::Arc;

pub use dominating_pair::{DominatingPair, Tails};

/// Two numbers that certainly enclose a third.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Not above the truth.
    pub lower: f64,
    /// Not below the truth; perhaps infinite.
    pub upper: f64,
}

/// What the events cost: ε at a δ, or δ at an ε.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// A certified upper bound: what may be claimed. An infinite ε is a value.
    pub upper: f64,
    /// A certified lower bound of the same quantity, for the events' dominating pairs: how much the upper bound may be
    /// off.
    pub lower: f64,
    /// Which rule gave the upper bound.
    pub method: Method,
    /// Which direction of change is the worse one.
    pub direction: Direction,
}

/// The rule that an answer comes from. The list is exhaustive: who shows an answer names its rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The exact curve of Gaussian noise.
    Gaussian,
    /// A privacy-loss distribution on a grid.
    Pld,
    /// A Rényi curve, converted.
    Renyi,
    /// A privacy-loss distribution for some events and a Rényi curve for the others, with δ split between them.
    Split,
    /// The sum of the largest losses.
    Pure,
    /// The normal law, with the certified distance of a sum of very many losses from it.
    Normal,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gaussian => "gaussian",
            Self::Pld => "pld",
            Self::Renyi => "renyi",
            Self::Split => "pld+renyi",
            Self::Pure => "pure",
            Self::Normal => "normal",
        })
    }
}

/// The direction of change that is the worse one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Somebody is added.
    Add,
    /// Somebody is removed.
    Remove,
    /// Both are the same, or the rule does not tell them apart.
    Both,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add => "add",
            Self::Remove => "remove",
            Self::Both => "both",
        })
    }
}

/// What a list of events, fixed before the data was touched, costs in one scope.
#[derive(Debug, Clone)]
#[must_use]
pub struct Loss {
    components: Vec<Component>,
    tolerance: f64,
}

/// The relative difference between the bounds of ε that is aimed at.
pub const TOLERANCE: f64 = 1e-4;

impl Loss {
    /// The loss of `events` in `scope`.
    ///
    /// # Guarantee
    /// Before: the events' parameters were fixed before the data was touched (otherwise use [`filter`]). After: the
    /// answers bound what any attacker learns from all events together about neighbours in `scope`.
    pub fn of(events: impl AsRef<[Event]>, scope: impl Borrow<Scope>) -> Result<Self> {
        let (events, scope) = (events.as_ref(), scope.borrow());
        let mut components = Vec::with_capacity(events.len());
        for event in events {
            components.extend(resolve::resolve(event, scope)?);
        }
        Ok(Self { components: merged(components), tolerance: TOLERANCE })
    }

    /// The loss of `times` runs of a mechanism whose dominating pair the caller brings.
    ///
    /// # Guarantee
    /// Before: `pair` dominates the mechanism's outputs on every two neighbours, in the order (removed, not removed),
    /// and its mirror image in the other order. After: as for [`Loss::of`].
    pub fn of_pair(pair: Arc<dyn DominatingPair>, times: u64) -> Result<Self> {
        refuse_if!(times == 0, "times must be at least 1, not 0");
        let law = Law::Custom(dominating_pair::UserPair(pair));
        Ok(Self { components: vec![Component::whole(law, times as f64)], tolerance: TOLERANCE })
    }

    /// The same, with another relative tolerance of the bounds of ε.
    pub(crate) fn with_tolerance(self, tolerance: f64) -> Self {
        Self { tolerance, ..self }
    }

    /// Both losses together.
    pub fn and(mut self, other: Self) -> Self {
        self.components.extend(other.components);
        Self { components: merged(self.components), tolerance: self.tolerance.min(other.tolerance) }
    }

    /// The least ε that is certified at `delta`. With δ = 0: the pure bound, infinite where there is none.
    pub fn epsilon(&self, delta: Delta) -> Answer {
        let target = delta.get();
        let pure = self.pure();
        if target >= 1.0 || pure == 0.0 {
            return answer(0.0, 0.0, Method::Pure);
        }
        if target == 0.0 {
            return answer(pure, self.pure_from_below(), Method::Pure);
        }
        if let Some(mu) = self.gaussian_ratio() {
            let bounds = gaussian::epsilon(mu, target);
            return answer(bounds.upper, bounds.lower, Method::Gaussian);
        }
        let question = LossQuery::Epsilon { delta: target };
        let best = self.by_choices(question).unwrap_or(answer(f64::INFINITY, 0.0, Method::Pld));
        let unbounded = best.lower == f64::INFINITY;
        let mut best = Answer { lower: self.known_from_below(question, best.lower).min(best.upper), ..best };
        let close = best.upper.is_finite() && best.upper - best.lower <= 10.0 * self.tolerance * best.upper;
        if !close && !unbounded {
            best = best.or_lower(self.epsilon_by_renyi(target), Method::Renyi);
            best = best.or_lower(self.epsilon_by_split(target), Method::Split);
            let (bounded, failure) = self.bounded();
            if failure <= target {
                best = best.or_lower(bounded, Method::Pure);
            }
            if let Some(normal) = self.normal() {
                best = best.or_between(normal.epsilon(target));
            }
        }
        best.or_lower(pure, Method::Pure)
    }

    /// The least δ that is certified at `epsilon`.
    pub fn delta(&self, epsilon: Epsilon) -> Answer {
        let at = epsilon.get();
        if self.pure() <= at {
            return answer(0.0, 0.0, Method::Pure);
        }
        if let Some(mu) = self.gaussian_ratio() {
            let bounds = gaussian::delta(mu, at);
            return answer(bounds.upper, bounds.lower, Method::Gaussian);
        }
        let question = LossQuery::Delta { epsilon: at };
        let best = self.by_choices(question).unwrap_or(answer(1.0, 0.0, Method::Pld));
        let mut best = Answer { lower: self.known_from_below(question, best.lower).min(best.upper), ..best };
        if best.upper - best.lower > 1e-2 * best.upper {
            best = best.or_lower(self.delta_by_renyi(at), Method::Renyi);
            let (bounded, failure) = self.bounded();
            if bounded <= at {
                best = best.or_lower(failure, Method::Pure);
            }
            if let Some(normal) = self.normal() {
                best = best.or_between(normal.delta(at));
            }
        }
        best
    }

    /// The privacy-loss distributions, the worst of what neighbours can choose.
    ///
    /// For a single run the worst choice counts. With more runs, a later query and its choice may depend on earlier
    /// answers: the cost is then at most that of one pair that dominates every choice.
    fn by_choices(&self, question: LossQuery) -> Option<Answer> {
        let case = |components: Vec<Component>| Self { components: merged(components), tolerance: self.tolerance };
        if let [only] = &self.components[..]
            && let Some(choice) = only.choice().filter(|choice| only.times == 1.0 && !choice.pieces.is_empty())
        {
            let answers: Option<Vec<_>> =
                choice.pieces.iter().map(|piece| case(piece.clone()).by_pairs(question)).collect();
            return answers.map(worst);
        }
        case(self.components.iter().flat_map(Component::covered).collect()).by_pairs(question)
    }

    /// A lower bound by what some mechanism with these events really does on some neighbours; `own` is that of the
    /// pairs of all events.
    ///
    /// # Guarantee
    /// Leaving an event out only takes information away, so events without a known lower bound are left out.
    fn known_from_below(&self, question: LossQuery, own: f64) -> f64 {
        let ways = self.components.iter().map(Component::reached).max().unwrap_or(1);
        (0..ways).map(|place| self.attained(place, question, own)).fold(0.0, f64::max)
    }

    fn attained(&self, place: usize, question: LossQuery, own: f64) -> f64 {
        let attained: Vec<Component> = self.components.iter().flat_map(|part| part.attained(place)).collect();
        if attained == self.components {
            return own;
        }
        let part = Self { components: merged(attained), tolerance: self.tolerance };
        if part.components.is_empty() {
            return 0.0;
        }
        match (part.gaussian_ratio(), question) {
            (Some(mu), LossQuery::Epsilon { delta }) => gaussian::epsilon(mu, delta).lower,
            (Some(mu), LossQuery::Delta { epsilon }) => gaussian::delta(mu, epsilon).lower,
            (None, _) => part.by_pairs(question).map_or(0.0, |found| found.lower),
        }
    }

    /// The sum of the largest losses of those that are reached.
    fn pure_from_below(&self) -> f64 {
        self.components.iter().map(Component::pure_from_below).sum::<f64>() * (1.0 - 1e-9)
    }

    /// The privacy-loss distributions of both directions, if every component has one. The lower bound is that of the
    /// pairs that are composed, which may cover what neighbours can do ([`Loss::known_from_below`]).
    fn by_pairs(&self, question: LossQuery) -> Option<Answer> {
        let side = |side: PairSide, tolerance: f64| -> Option<Bounds> {
            let parts: Option<Vec<_>> = self.components.iter().map(|component| pld::part(component, side)).collect();
            // Aimed a little below what is promised: the upper bound then is off by a few millionths.
            Some(pld::solve(&parts?, question, 0.35 * tolerance))
        };
        let remove = side(PairSide::Remove, self.tolerance)?;
        if self.components.iter().all(pld::is_symmetric) {
            return Some(answer(remove.upper, remove.lower, Method::Pld));
        }
        // The direction that is clearly the better one needs no close bounds.
        let mut add = side(PairSide::Add, 300.0 * self.tolerance)?;
        if add.upper > remove.lower {
            add = side(PairSide::Add, self.tolerance)?;
        }
        let direction = if add.upper > remove.upper { Direction::Add } else { Direction::Remove };
        let both = answer(remove.upper.max(add.upper), remove.lower.max(add.lower), Method::Pld);
        Some(Answer { direction, ..both })
    }

    /// The normal law of very many runs.
    fn normal(&self) -> Option<NormalApproximation> {
        let runs: f64 = self.components.iter().map(|component| component.times).sum();
        if runs > MANY_RUNS { NormalApproximation::of(&self.components) } else { None }
    }

    fn epsilon_by_renyi(&self, target: f64) -> f64 {
        let (curves, failure) = self.curves();
        if failure < target { conversion(&curves).epsilon((target - failure) / (1.0 - failure)) } else { f64::INFINITY }
    }

    fn delta_by_renyi(&self, epsilon: f64) -> f64 {
        let (curves, failure) = self.curves();
        (failure + (1.0 - failure) * conversion(&curves).delta(epsilon)).min(1.0)
    }

    /// Those with a pair by their distribution, the others by Rényi, and δ split between them.
    fn epsilon_by_split(&self, target: f64) -> f64 {
        let has_pair =
            |component: &&Component| component.covered().iter().all(|one| pld::part(one, PairSide::Remove).is_some());
        let (paired, others): (Vec<_>, Vec<_>) = self.components.iter().partition(has_pair);
        if paired.is_empty() || others.is_empty() {
            return f64::INFINITY;
        }
        let part = |components: Vec<&Component>| Self {
            components: components.into_iter().cloned().collect(),
            tolerance: self.tolerance,
        };
        // Only the upper bound counts here.
        let (paired, others) = (part(paired).with_tolerance(self.tolerance * 10.0), part(others));
        let at = |share: f64| {
            let first = Delta::new(target * share).map_or(f64::INFINITY, |delta| paired.epsilon(delta).upper);
            first + others.epsilon_by_renyi(target * (1.0 - share))
        };
        [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98].into_iter().map(at).fold(f64::INFINITY, f64::min)
    }

    /// The sum of the largest losses, rounded up.
    fn pure(&self) -> f64 {
        let sum: f64 = self.components.iter().map(|part| part.times * part.pure()).sum();
        sum * (1.0 + 4e-16 * (self.components.len() as f64 + 1.0))
    }

    /// The sum of the largest losses except with a probability, and that probability, both rounded up: (Σε, 1 − Π(1−δ))
    /// for (ε, δ).
    fn bounded(&self) -> (f64, f64) {
        let sum: f64 = self.components.iter().map(|part| part.times * part.bounded()).sum();
        (sum * (1.0 + 4e-16 * (self.components.len() as f64 + 1.0)), self.curves().1)
    }

    /// The ratio μ of the whole if every part is Gaussian noise on everybody.
    fn gaussian_ratio(&self) -> Option<f64> {
        let ratio = |part: &Component| match (&part.law, part.form) {
            (Law::Gaussian { mu }, SampleForm::Whole) => Some((part.times, *mu)),
            _ => None,
        };
        let all: Option<Vec<(f64, f64)>> = self.components.iter().map(ratio).collect();
        all.map(|all| special::root_of_squares(&all))
    }

    /// Each part's Rényi curve with its count, and the probability with which one of them does not hold.
    fn curves(&self) -> (Vec<(Curve, f64)>, f64) {
        let mut ln_holds = 0.0;
        let mut curves = Vec::with_capacity(self.components.len());
        for part in &self.components {
            let (curve, failure) = part.curve();
            ln_holds += part.times * (-failure).ln_1p();
            curves.push((curve, part.times));
        }
        (curves, -f64::exp_m1(ln_holds) * (1.0 + 1e-14))
    }
}

impl Answer {
    /// This answer, or another rule's upper bound if that is lower.
    fn or_lower(self, upper: f64, method: Method) -> Self {
        if upper < self.upper {
            Self { upper, lower: self.lower.min(upper), method, direction: Direction::Both }
        } else {
            self
        }
    }

    /// This answer, or the normal law's where that is closer.
    fn or_between(self, bounds: Bounds) -> Self {
        let nearer = self.or_lower(bounds.upper, Method::Normal);
        Self { lower: nearer.lower.max(bounds.lower).min(nearer.upper), ..nearer }
    }
}

/// From here on the normal law is looked at.
const MANY_RUNS: f64 = 1e10;

/// Equal components are counted together, and all Gaussian noise on everybody is one.
fn merged(components: Vec<Component>) -> Vec<Component> {
    let mut kept: Vec<Component> = Vec::with_capacity(components.len());
    let mut ratios = Vec::new();
    for component in components {
        match (&component.law, component.form) {
            (Law::Gaussian { mu }, SampleForm::Whole) => ratios.push((component.times, *mu)),
            _ if component.is_nothing() => {}
            _ => match kept.iter_mut().find(|other| other.is_same(&component)) {
                Some(other) => other.times += component.times,
                None => kept.push(component),
            },
        }
    }
    let mu = special::root_of_squares(&ratios);
    if mu > 0.0 {
        let law = Law::Gaussian { mu };
        kept.push(Component::whole(law, 1.0));
    }
    kept
}

/// The worst of several answers, each of them possibly the true one.
fn worst(answers: Vec<Answer>) -> Answer {
    let none = answer(0.0, 0.0, Method::Pure);
    answers.into_iter().fold(none, |worst, answer| {
        let lower = worst.lower.max(answer.lower);
        Answer { lower, ..if answer.upper > worst.upper { answer } else { worst } }
    })
}

fn answer(upper: f64, lower: f64, method: Method) -> Answer {
    Answer { upper, lower: lower.min(upper), method, direction: Direction::Both }
}

fn conversion(curves: &[(Curve, f64)]) -> Conversion<impl Fn(f64) -> f64 + '_> {
    let largest_order = curves.iter().map(|(curve, _)| curve.largest_order()).fold(f64::INFINITY, f64::min);
    let sum = move |order: f64| curves.iter().map(|(curve, times)| times * curve.cumulant(order)).sum::<f64>();
    // Each curve is good to a few units in the last place, and so is their sum.
    Conversion { cumulant: move |order| sum(order) * (1.0 + 1e-13), largest_order }
}
