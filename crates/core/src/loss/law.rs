//! Laws: an event's mechanism in plain numbers, for one scope and one way of moving.
//!
//! [`resolve`] turns an event into the laws that a neighbour can make it follow; every view of the loss starts here.

use super::pld::Own;
use super::renyi::Curve;
use crate::error::{Error, Result};
use crate::event::{Event, Kind, Sampling, Shift};
use crate::mechanism::heavy_hitters::{check_path, path_epsilon, path_rho};
use crate::noise::SinhNormal;
use crate::noise::sinh_normal::Certificate;
use crate::quantity::Scale;
use crate::scope::Scope;
use std::sync::Arc;

/// One mechanism, in units of its own noise.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Law {
    /// Gaussian noise, shift over σ.
    Gaussian { mu: f64 },
    /// Discrete Gaussian noise, shifted by whole steps.
    DiscreteGaussian { sigma: f64, shift: u64 },
    /// Laplace noise, shift over scale.
    Laplace { lambda: f64 },
    /// Discrete Laplace noise, shifted by whole steps.
    DiscreteLaplace { inverse_scale: f64, shift: u64 },
    /// Sinh-normal noise, certified from its table for every shift up to the largest.
    SinhNormal(Arc<Certificate>),
    /// k-ary randomized response.
    RandomizedResponse { epsilon: f64, values: f64 },
    /// A loss of range ε.
    BoundedRange { epsilon: f64 },
    /// Anything (ε, δ)-private; δ = 0 for pure.
    Approximate { epsilon: f64, delta: f64 },
    /// Anything (ρ, ω)-tCDP; ω infinite for zCDP.
    Concentrated { rho: f64, omega: f64 },
    /// A group under the same.
    ConcentratedGroup { rho: f64, omega: f64, size: u64 },
    /// One attribute's path through a tree of heavy hitters, for so many owners.
    HeavyHitters { scale: Scale, clip: u32, rise: u32, levels: u32, owners: f64 },
    /// Two finite distributions, both directions.
    Pair { p: Vec<f64>, q: Vec<f64> },
    /// A pair that the caller brought.
    Custom(Own),
    /// One of several, neighbours choose which: each as one run, and one that covers them all.
    AnyOf { alternatives: Vec<Component>, cover: Box<Component> },
}

/// The sample that a law was run on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Form {
    /// Everybody.
    Whole,
    /// A sample; neighbours add or remove one owner.
    Presence { rate: f64 },
    /// A sample; neighbours replace one owner.
    Replace { rate: f64 },
}

/// A law on a sample, so many times.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Component {
    /// The mechanism.
    pub(crate) law: Law,
    /// What it saw.
    pub(crate) form: Form,
    /// How many times it runs, cells included.
    pub(crate) times: f64,
    /// Whether the law stands for several cells of unknown joint move: then only its Rényi and pure views hold.
    pub(crate) without_pair: bool,
    /// For how many owners, one after the other, the law of one is chained (sampled events alone; others have it in the law).
    pub(crate) owners: u32,
    /// Whether the law only covers what neighbours can do: then nothing is known from below.
    pub(crate) is_cover: bool,
}

impl Law {
    /// The Rényi curve, and the probability with which it does not hold.
    fn curve(&self) -> (Curve, f64) {
        let curve = match self {
            Self::Gaussian { mu } => Curve::Gaussian { rho: mu * mu / 2.0 },
            Self::DiscreteGaussian { sigma, shift } => {
                let mu = *shift as f64 / sigma;
                Curve::Concentrated { rho: mu * mu / 2.0, omega: f64::INFINITY }
            }
            Self::Laplace { lambda } => Curve::Laplace { lambda: *lambda },
            Self::DiscreteLaplace { inverse_scale, shift } => {
                Curve::DiscreteLaplace { inverse_scale: *inverse_scale, shift: *shift as f64 }
            }
            Self::SinhNormal(certificate) => Curve::SinhNormal(certificate.clone()),
            Self::RandomizedResponse { epsilon, values } => {
                Curve::RandomizedResponse { epsilon: *epsilon, values: *values }
            }
            Self::BoundedRange { epsilon } => Curve::BoundedRange { epsilon: *epsilon },
            Self::Approximate { epsilon, .. } => Curve::RandomizedResponse { epsilon: *epsilon, values: 2.0 },
            Self::Concentrated { rho, omega } => Curve::Concentrated { rho: *rho, omega: *omega },
            Self::ConcentratedGroup { rho, omega, size } => {
                Curve::ConcentratedGroup { rho: *rho, omega: *omega, size: *size }
            }
            Self::HeavyHitters { scale, clip, rise, levels, owners } => {
                // Checked when the law was made; if it were not, an infinite ρ would claim nothing.
                let rho = path_rho(*scale, *clip, *rise, *levels).unwrap_or(f64::INFINITY);
                Curve::Concentrated { rho: owners * owners * rho, omega: f64::INFINITY }
            }
            Self::Pair { p, q } => Curve::Pair { p: p.clone(), q: q.clone() },
            Self::Custom(_) => Curve::Concentrated { rho: f64::INFINITY, omega: f64::INFINITY },
            Self::AnyOf { alternatives, .. } => return largest_curve(alternatives),
        };
        (curve, if let Self::Approximate { delta, .. } = self { *delta } else { 0.0 })
    }

    /// One law that dominates `cells` independent runs of this one, if one is known.
    fn in_all_cells(&self, cells: f64) -> Option<Self> {
        let up = 1.0 + 1e-15;
        Some(match self {
            Self::Gaussian { mu } => Self::Gaussian { mu: mu * cells.sqrt() * up },
            Self::DiscreteGaussian { sigma, shift } => {
                let mu = *shift as f64 / sigma;
                Self::Concentrated { rho: cells * mu * mu / 2.0 * up, omega: f64::INFINITY }
            }
            Self::Concentrated { rho, omega } => Self::Concentrated { rho: cells * rho * up, omega: *omega },
            Self::BoundedRange { epsilon } => Self::BoundedRange { epsilon: cells * epsilon * up },
            Self::Approximate { epsilon, delta } => {
                Self::Approximate { epsilon: cells * epsilon * up, delta: (cells * delta * up).min(1.0) }
            }
            Self::Laplace { .. } | Self::DiscreteLaplace { .. } | Self::RandomizedResponse { .. } => {
                Self::Approximate { epsilon: cells * self.pure() * up, delta: 0.0 }
            }
            _ => return None,
        })
    }

    /// The largest loss in either direction.
    fn pure(&self) -> f64 {
        match self {
            Self::Gaussian { mu } if *mu == 0.0 => 0.0,
            Self::DiscreteGaussian { shift: 0, .. } => 0.0,
            Self::Concentrated { rho, .. } | Self::ConcentratedGroup { rho, .. } if *rho == 0.0 => 0.0,
            Self::Gaussian { .. }
            | Self::DiscreteGaussian { .. }
            | Self::Concentrated { .. }
            | Self::ConcentratedGroup { .. } => f64::INFINITY,
            Self::Laplace { lambda } => *lambda,
            Self::DiscreteLaplace { inverse_scale, shift } => inverse_scale * *shift as f64,
            Self::SinhNormal(certificate) => certificate.epsilon_upper(),
            Self::RandomizedResponse { epsilon, .. } | Self::BoundedRange { epsilon } => *epsilon,
            Self::Approximate { epsilon, delta } => {
                if *delta > 0.0 {
                    f64::INFINITY
                } else {
                    *epsilon
                }
            }
            Self::HeavyHitters { scale, clip, rise, levels, owners } => {
                owners * path_epsilon(*scale, *clip, *rise, *levels)
            }
            Self::Pair { p, q } => largest_ratio(p, q).max(largest_ratio(q, p)),
            Self::Custom(own) => own.pure(),
            Self::AnyOf { alternatives, .. } => {
                alternatives.iter().map(|one| one.times * one.pure()).fold(0.0, f64::max)
            }
        }
    }
}

/// The largest of the curves at each order, and the largest probability with which one of them does not hold.
fn largest_curve(alternatives: &[Component]) -> (Curve, f64) {
    let (curves, failures): (Vec<_>, Vec<_>) = alternatives
        .iter()
        .map(|one| {
            let (curve, failure) = one.curve();
            ((curve, one.times), -(one.times * (-failure).ln_1p()).exp_m1())
        })
        .unzip();
    (Curve::Largest(curves), failures.into_iter().fold(0.0, f64::max))
}

fn largest_ratio(p: &[f64], q: &[f64]) -> f64 {
    let ratio = |(&p, &q): (&f64, &f64)| match (p > 0.0, q > 0.0) {
        (true, true) => (p / q).ln(),
        (true, false) => f64::INFINITY,
        _ => f64::NEG_INFINITY,
    };
    p.iter().zip(q).map(ratio).fold(0.0, f64::max)
}

impl Component {
    /// `times` runs of a law on everybody.
    pub(crate) fn whole(law: Law, times: f64) -> Self {
        Self { law, form: Form::Whole, times, without_pair: false, owners: 1, is_cover: false }
    }

    /// The same runs with a pair that some mechanism of this event really has on some neighbours: what is known from below.
    ///
    /// - On a sample where an owner is replaced, nothing: the curve that [`Form::Replace`] composes is reached at each ε by another pair, so
    ///   that its composition is not, and how far an absent owner is from both records is not known.
    /// - A loss of range ε: randomized response with ±ε/2 has it. (The same holds of its envelope.)
    /// - Anything ρ-zCDP or (ρ, ω)-tCDP: Gaussian noise is.
    /// - One of several: any of them.
    pub(crate) fn attained(&self) -> Option<Self> {
        if self.without_pair || self.owners > 1 || self.is_cover {
            return None;
        }
        let law = match &self.law {
            Law::BoundedRange { epsilon } => Law::RandomizedResponse { epsilon: epsilon / 2.0, values: 2.0 },
            Law::Concentrated { rho, .. } => Law::Gaussian { mu: (2.0 * rho).sqrt() * (1.0 - 1e-15) },
            Law::AnyOf { alternatives, .. } => {
                let one = alternatives.iter().find_map(Self::attained)?;
                return Some(Self { times: one.times * self.times, ..one });
            }
            Law::ConcentratedGroup { .. } | Law::HeavyHitters { .. } => return None,
            law => law.clone(),
        };
        Some(Self { law, ..self.clone() })
    }

    /// The Rényi curve of one run, and the probability with which it does not hold.
    pub(crate) fn curve(&self) -> (Curve, f64) {
        let (one, failure) = self.curve_of_one();
        let chained = Curve::Chain { base: Box::new(one.clone()), size: self.owners };
        (if self.owners > 1 { chained } else { one }, failure)
    }

    /// What neighbours may choose from, if they may.
    pub(crate) fn alternatives(&self) -> Option<&[Self]> {
        if let Law::AnyOf { alternatives, .. } = &self.law { Some(alternatives) } else { None }
    }

    fn curve_of_one(&self) -> (Curve, f64) {
        let (base, failure) = self.law.curve();
        let base = match self.law {
            // Sampling amplifies (ε, δ) as such; then the amplified pure part has the worst-case curve.
            Law::Approximate { .. } => {
                Curve::RandomizedResponse { epsilon: self.form.amplified(base_epsilon(&base)), values: 2.0 }
            }
            _ => base,
        };
        match self.form {
            Form::Whole => (base, failure),
            Form::Presence { rate } | Form::Replace { rate } if matches!(self.law, Law::Approximate { .. }) => {
                (base, rate * failure)
            }
            Form::Presence { rate } => (Curve::SampledPresence { base: Box::new(base), rate }, failure),
            Form::Replace { rate } => (Curve::SampledReplace { base: Box::new(base), rate }, failure),
        }
    }

    /// Whether one run reveals nothing at all.
    pub(crate) fn is_nothing(&self) -> bool {
        self.pure() == 0.0
    }

    /// Whether both are the same but for their counts.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let same_law = self.law == other.law && self.form == other.form;
        let same_kind = self.without_pair == other.without_pair && self.is_cover == other.is_cover;
        same_law && same_kind && self.owners == other.owners
    }

    /// The largest loss of one run.
    pub(crate) fn pure(&self) -> f64 {
        f64::from(self.owners) * self.form.amplified(self.law.pure())
    }
}

fn base_epsilon(curve: &Curve) -> f64 {
    if let Curve::RandomizedResponse { epsilon, .. } = curve { *epsilon } else { f64::INFINITY }
}

impl Form {
    /// ln(1 + s(e^ε − 1)): what sampling makes of a pure bound \[BBG18, Theorems 8 and 9\].
    fn amplified(self, epsilon: f64) -> f64 {
        match self {
            Self::Whole => epsilon,
            Self::Presence { rate } | Self::Replace { rate } if rate == 0.0 => 0.0,
            Self::Presence { rate } | Self::Replace { rate } if epsilon > 700.0 => epsilon + rate.ln(),
            Self::Presence { rate } | Self::Replace { rate } => (rate * epsilon.exp_m1()).ln_1p(),
        }
    }
}

/// How `event` can be told apart by neighbours in `scope`; None if it cannot.
///
/// # Guarantee
/// Whatever neighbours in `scope` do, each run's output pair is dominated by that of the component, or of one of its alternatives
/// ([`Law::AnyOf`]).
pub(crate) fn resolve(event: &Event, scope: &Scope) -> Result<Option<Component>> {
    let (member, size) = scope.members();
    let (form, shifts) = match event.sampling {
        None => (Form::Whole, event.moves.shifts(member)),
        Some(sampling) => sampled_shifts(event, sampling, member),
    };
    // A sample of everybody is everybody.
    let form = match form {
        Form::Presence { rate } | Form::Replace { rate } if rate == 1.0 => Form::Whole,
        form => form,
    };
    let shifts = undominated(shifts);
    let Some(covered) = shifts.iter().copied().reduce(covering) else { return Ok(None) };
    let in_law = if form == Form::Whole { u64::from(size) } else { 1 };
    let made = |shift: Shift, group: u64| -> Result<Component> {
        let one = component(event, form, shift, group)?;
        Ok(Component { is_cover: one.is_cover || matches!(form, Form::Replace { .. }), ..one })
    };
    let cover = made(covered, in_law)?;
    if size > 1 {
        // The owners of a group may each move in another way: what covers all ways. On a sample a group is a chain of neighbours,
        // each of whom the sampled mechanism hides as it hides one owner.
        let cover = Component { is_cover: cover.is_cover || shifts.len() > 1, ..cover };
        return Ok(Some(if form == Form::Whole { cover } else { chained(cover, size) }));
    }
    if shifts.len() == 1 {
        return Ok(Some(cover));
    }
    let times = event.times.get() as f64;
    let one_run = |component: Component| Component { times: component.times / times, ..component };
    let alternatives = shifts.into_iter().map(|shift| made(shift, 1).map(one_run));
    let law = Law::AnyOf { alternatives: alternatives.collect::<Result<_>>()?, cover: Box::new(one_run(cover)) };
    Ok(Some(Component::whole(law, times)))
}

/// The more cells of two ways to move, each by the larger move.
fn covering(a: Shift, b: Shift) -> Shift {
    let by = if a.by.get() >= b.by.get() { a.by } else { b.by };
    Shift { cells: a.cells.max(b.cells), by }
}

/// The same for so many owners one after the other: by the chain of Rényi curves and the sum of pure bounds, and for (ε, δ) by
/// the usual formula on the amplified parameters.
fn chained(one: Component, owners: u32) -> Component {
    match (&one.law, one.form) {
        _ if owners == 1 => one,
        (Law::Approximate { epsilon, delta }, Form::Presence { rate } | Form::Replace { rate }) => {
            let law = group_of_approximate(one.form.amplified(*epsilon), rate * delta, f64::from(owners));
            Component { law, form: Form::Whole, is_cover: true, ..one }
        }
        _ => Component { owners, without_pair: true, ..one },
    }
}

/// In a sample an owner may also be absent: the mechanism on the sample is compared with and without it.
fn sampled_shifts(event: &Event, sampling: Sampling, member: &Scope) -> (Form, Vec<Shift>) {
    let own = event.moves.shifts(member);
    let absent = event.moves.shifts(absent_scope(sampling));
    let (Sampling::Poisson(rate) | Sampling::WithoutReplacement(rate)) = sampling;
    let rate = rate.get();
    if own.is_empty() {
        return (Form::Whole, own);
    }
    let form = if *member == Scope::Presence { Form::Presence { rate } } else { Form::Replace { rate } };
    let all = match (member, sampling) {
        (Scope::Presence, Sampling::Poisson(_)) => own,
        (Scope::Presence, Sampling::WithoutReplacement(_)) => absent,
        _ => own.into_iter().chain(absent).collect(),
    };
    (form, all)
}

/// In which scope a sample with an owner and one without are neighbours: of a fixed number of owners, one that is not drawn has been
/// replaced by another.
fn absent_scope(sampling: Sampling) -> &'static Scope {
    match sampling {
        Sampling::Poisson(_) => &Scope::Presence,
        Sampling::WithoutReplacement(_) => &Scope::Person,
    }
}

/// Drops every shift that another one covers in cells and in size.
fn undominated(shifts: Vec<Shift>) -> Vec<Shift> {
    let mut kept: Vec<Shift> = Vec::new();
    for shift in shifts {
        if kept.iter().any(|other| other.cells >= shift.cells && other.by >= shift.by) {
            continue;
        }
        kept.retain(|other| !(shift.cells >= other.cells && shift.by >= other.by));
        kept.push(shift);
    }
    kept
}

fn component(event: &Event, form: Form, shift: Shift, group: u64) -> Result<Component> {
    let by = shift.by.get() * group as f64;
    let law = law(&event.kind, by)?;
    // A group may move the same cells further or more cells: with Gaussian noise the first is the worse, exactly; for the
    // other additive kinds that is known of the Rényi curve (superadditive in the shift) and of the pure bound only.
    let without_pair = group > 1 && event.kind.is_additive() && !matches!(event.kind, Kind::Gaussian { .. });
    let (times, cells) = (event.times.get() as f64, shift.cells as f64);
    if form == Form::Whole || cells <= 1.0 {
        return Ok(Component {
            form,
            without_pair,
            is_cover: covers(&event.kind, by),
            ..Component::whole(law, times * cells)
        });
    }
    // An owner who is in the sample moves all of its cells: the sample of the cells' composition, which costs more than
    // the composition of sampled cells.
    let law = law.in_all_cells(cells).ok_or_else(|| {
        Error::refused(format!(
            "a sampled {} event that moves {} cells at once has no proven bound here: state its loss as pure or zcdp",
            event.kind.name(),
            shift.cells
        ))
    })?;
    let is_cover = !matches!(law, Law::Gaussian { .. });
    Ok(Component { form, without_pair, is_cover, ..Component::whole(law, times) })
}

/// Whether the law of a move of `by` is worse than what several owners, or smaller moves, can really do.
fn covers(kind: &Kind, by: f64) -> bool {
    match kind {
        Kind::RandomizedResponse { .. } | Kind::Pair { .. } | Kind::HeavyHitters { .. } => by > 1.0,
        Kind::Approximate { delta, .. } => by > 1.0 && delta.get() > 0.0,
        // Several moves are covered by one that need not occur.
        Kind::SinhNormal { .. } => by >= 2.0,
        _ => false,
    }
}

fn law(kind: &Kind, by: f64) -> Result<Law> {
    let owners = whole_owners(kind, by)?;
    Ok(match kind {
        Kind::Gaussian { sigma } => Law::Gaussian { mu: by / sigma.get() },
        Kind::DiscreteGaussian { sigma } => Law::DiscreteGaussian { sigma: sigma.get(), shift: whole_shift(kind, by)? },
        Kind::Laplace { scale } => Law::Laplace { lambda: by / scale.get() },
        Kind::DiscreteLaplace { scale } => {
            Law::DiscreteLaplace { inverse_scale: 1.0 / scale.get(), shift: whole_shift(kind, by)? }
        }
        Kind::SinhNormal { sigma, a } => match whole_shift(kind, by)? {
            0 => Law::DiscreteGaussian { sigma: sigma.get(), shift: 0 },
            shift => Law::SinhNormal(Arc::new(SinhNormal::new(*sigma, *a)?.certificate(shift)?)),
        },
        Kind::RandomizedResponse { epsilon, values } if owners == 1.0 => {
            Law::RandomizedResponse { epsilon: epsilon.get(), values: *values as f64 }
        }
        Kind::RandomizedResponse { epsilon, .. } | Kind::Pure { epsilon } => {
            Law::Approximate { epsilon: owners * epsilon.get(), delta: 0.0 }
        }
        Kind::Exponential { epsilon } if by == 1.0 => Law::BoundedRange { epsilon: epsilon.get() },
        // The range is linear in how far the score moves; the product is rounded up.
        Kind::Exponential { epsilon } => Law::BoundedRange { epsilon: (by * epsilon.get()).next_up() },
        Kind::Approximate { epsilon, delta } => group_of_approximate(epsilon.get(), delta.get(), owners),
        Kind::Zcdp { rho } => Law::Concentrated { rho: owners * owners * rho.get(), omega: f64::INFINITY },
        Kind::Tcdp { rho, omega } if owners == 1.0 => Law::Concentrated { rho: rho.get(), omega: omega.get() },
        Kind::Tcdp { rho, omega } => Law::ConcentratedGroup { rho: rho.get(), omega: omega.get(), size: owners as u64 },
        Kind::HeavyHitters { scale, clip, rise, levels } => {
            check_path(*clip, *rise, *levels)?;
            Law::HeavyHitters { scale: *scale, clip: *clip, rise: *rise, levels: *levels, owners }
        }
        Kind::Pair { p, q } => pair(p, q, owners)?,
    })
}

/// How many owners a move of `by` stands for, where noise is not added to a number.
fn whole_owners(kind: &Kind, by: f64) -> Result<f64> {
    if kind.is_additive() {
        return Ok(1.0);
    }
    if by > 1e6 {
        return Err(Error::refused(format!(
            "a move of {by} counts as that many owners for a {} event: at most 1000000",
            kind.name()
        )));
    }
    Ok(by.ceil().max(1.0))
}

/// Whole answers move by whole steps: a bound of 1.5 is a bound of 1.
fn whole_shift(kind: &Kind, by: f64) -> Result<u64> {
    if by > 1e9 {
        return Err(Error::refused(format!("a {} event moves by at most 1e9 steps, not {by}", kind.name())));
    }
    Ok(by.floor() as u64)
}

/// Groups of k under (ε, δ): (kε, δ·(e^{kε}−1)/(e^ε−1)).
fn group_of_approximate(epsilon: f64, delta: f64, owners: f64) -> Law {
    let factor = if epsilon == 0.0 { owners } else { (owners * epsilon).exp_m1() / epsilon.exp_m1() };
    let factor = if owners == 1.0 { 1.0 } else { factor * (1.0 + 1e-12) };
    Law::Approximate { epsilon: owners * epsilon, delta: (delta * factor).min(1.0) }
}

fn pair(p: &[f64], q: &[f64], owners: f64) -> Result<Law> {
    super::check_pair(p, q)?;
    let law = Law::Pair { p: p.to_vec(), q: q.to_vec() };
    if owners == 1.0 {
        return Ok(law);
    }
    let epsilon = owners * law.pure();
    if epsilon.is_finite() {
        Ok(Law::Approximate { epsilon, delta: 0.0 })
    } else {
        Err(Error::refused("a pair with unbounded loss says nothing about groups: give the group's own pair"))
    }
}

#[cfg(test)]
mod tests;
