//! Laws: an event's mechanism in plain numbers, for one scope and one way of moving. Every view of the loss starts
//! here.

use super::dominating_pair::UserPair;
use super::renyi::Curve;
use super::shape::SharedShape;
use super::special::ln_add;

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
    /// A law that one word alone has.
    Own(SharedShape),
    /// Two finite distributions, both directions.
    Pair { p: Vec<f64>, q: Vec<f64> },
    /// A pair that the caller brought.
    Custom(UserPair),
    /// One of several or a mixture of them, neighbours choose which ([`super::hull`]); everything is of one run.
    AnyOf(Box<ShiftChoice>),
}

/// What neighbours can choose from in one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShiftChoice {
    /// The alternatives. Whatever adds up over cells (pure bounds, Rényi curves) is at most the largest of theirs, of a
    /// mixture too.
    pub(crate) alternatives: Vec<Component>,
    /// One of these dominates what neighbours do.
    pub(crate) pieces: Vec<Vec<Component>>,
    /// This dominates whatever they do.
    pub(crate) cover: Vec<Component>,
    /// What some neighbours really do.
    pub(crate) reached: Vec<Vec<Component>>,
}

/// The sample that a law was run on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SampleForm {
    /// Everybody.
    Whole,
    /// A sample; neighbours add or remove one owner.
    Presence { rate: f64 },
    /// A sample; neighbours replace one owner.
    Replace { rate: f64 },
}

/// A law on a sample, this many times.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Component {
    /// The mechanism.
    pub(crate) law: Law,
    /// What it saw.
    pub(crate) form: SampleForm,
    /// How many times it runs, cells included.
    pub(crate) times: f64,
    /// Whether the law stands for several cells of unknown joint move: then only its Rényi and pure views hold.
    pub(crate) without_pair: bool,
    /// For how many owners, one after the other, the law of one is chained (sampled events alone; others have it in the
    /// law).
    pub(crate) owners: u32,
    /// Whether the law only covers what neighbours can do: then nothing is known from below.
    pub(crate) is_cover: bool,
}

impl Law {
    /// The Rényi curve, and the probability with which it does not hold.
    pub(super) fn curve(&self) -> (Curve, f64) {
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
            Self::Own(shape) => match shape.0.concentrated() {
                Some(rho) => Curve::Concentrated { rho, omega: f64::INFINITY },
                None => Curve::Own(shape.clone()),
            },
            Self::RandomizedResponse { epsilon, values } => {
                Curve::RandomizedResponse { epsilon: *epsilon, values: *values }
            }
            Self::BoundedRange { epsilon } => Curve::BoundedRange { epsilon: *epsilon },
            Self::Approximate { epsilon, .. } => Curve::RandomizedResponse { epsilon: *epsilon, values: 2.0 },
            Self::Concentrated { rho, omega } => Curve::Concentrated { rho: *rho, omega: *omega },
            Self::ConcentratedGroup { rho, omega, size } => {
                Curve::ConcentratedGroup { rho: *rho, omega: *omega, size: *size }
            }
            Self::Pair { p, q } => Curve::Pair { p: p.clone(), q: q.clone() },
            Self::Custom(_) => Curve::Concentrated { rho: f64::INFINITY, omega: f64::INFINITY },
            Self::AnyOf(choice) => return largest_curve(&choice.alternatives),
        };
        (curve, if let Self::Approximate { delta, .. } = self { *delta } else { 0.0 })
    }

    /// One law that dominates `cells` independent runs of this one, if one is known.
    pub(super) fn in_all_cells(&self, cells: f64) -> Option<Self> {
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

    /// The largest loss in either direction, except for the probability with which the curve does not hold.
    pub(super) fn bounded(&self) -> f64 {
        match self {
            Self::Approximate { epsilon, .. } => *epsilon,
            Self::AnyOf(choice) => choice.alternatives.iter().map(|one| one.times * one.bounded()).fold(0.0, f64::max),
            law => law.pure(),
        }
    }

    /// The largest loss in either direction.
    pub(super) fn pure(&self) -> f64 {
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
            Self::Own(shape) => shape.0.pure(),
            Self::RandomizedResponse { epsilon, .. } | Self::BoundedRange { epsilon } => *epsilon,
            Self::Approximate { epsilon, delta } => {
                if *delta > 0.0 {
                    f64::INFINITY
                } else {
                    *epsilon
                }
            }
            Self::Pair { p, q } => largest_ratio(p, q).max(largest_ratio(q, p)),
            Self::Custom(own) => own.pure(),
            Self::AnyOf(choice) => choice.alternatives.iter().map(|one| one.times * one.pure()).fold(0.0, f64::max),
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
        Self { law, form: SampleForm::Whole, times, without_pair: false, owners: 1, is_cover: false }
    }

    /// The same runs with pairs that some mechanism of this event really has on some neighbours: what is known from
    /// below. Of several things that neighbours can do it is the one at `place`, or the last.
    ///
    /// - On a sample where an owner is replaced, nothing: the curve that [`SampleForm::Replace`] composes is reached at
    ///   each ε by another pair, so that its composition is not, and how far an absent owner is from both records is
    ///   not known.
    /// - A loss of range ε: randomized response with ±ε/2 has it. (The same holds of its envelope.)
    /// - Anything ρ-zCDP or (ρ, ω)-tCDP: Gaussian noise is.
    /// - One of several: any of them, or a mixture.
    pub(crate) fn attained(&self, place: usize) -> Vec<Self> {
        let Law::AnyOf(choice) = &self.law else { return self.attained_alone().into_iter().collect() };
        let Some(one) = choice.reached.get(place.min(choice.reached.len().saturating_sub(1))) else {
            return Vec::new();
        };
        let runs = |one: Self| Self { times: one.times * self.times, ..one };
        one.iter().filter_map(Self::attained_alone).map(runs).collect()
    }

    fn attained_alone(&self) -> Option<Self> {
        if self.without_pair || self.owners > 1 || self.is_cover {
            return None;
        }
        let law = match &self.law {
            Law::BoundedRange { epsilon } => Law::RandomizedResponse { epsilon: epsilon / 2.0, values: 2.0 },
            Law::Concentrated { rho, .. } => Law::Gaussian { mu: (2.0 * rho).sqrt() * (1.0 - 1e-15) },
            Law::ConcentratedGroup { .. } | Law::AnyOf(_) => return None,
            Law::Own(shape) if !shape.0.has_pair() => return None,
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
    pub(crate) fn choice(&self) -> Option<&ShiftChoice> {
        if let Law::AnyOf(choice) = &self.law { Some(choice) } else { None }
    }

    /// The same runs with pairs that dominate whatever neighbours choose.
    pub(crate) fn covered(&self) -> Vec<Self> {
        let runs = |one: &Self| Self { times: one.times * self.times, ..one.clone() };
        self.choice().map_or_else(|| vec![self.clone()], |choice| choice.cover.iter().map(runs).collect())
    }

    /// How many things there are that neighbours can really do.
    pub(crate) fn reached(&self) -> usize {
        self.choice().map_or(1, |choice| choice.reached.len())
    }

    /// The largest loss of all runs that some mechanism of this event has on some neighbours.
    pub(crate) fn pure_from_below(&self) -> f64 {
        let reached = |part: &Self| if part.owners > 1 || part.is_cover { 0.0 } else { part.times * part.pure() };
        match self.choice() {
            Some(choice) => self.times * choice.alternatives.iter().map(reached).fold(0.0, f64::max),
            None => reached(self),
        }
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
            SampleForm::Whole => (base, failure),
            SampleForm::Presence { rate } | SampleForm::Replace { rate }
                if matches!(self.law, Law::Approximate { .. }) =>
            {
                (base, rate * failure)
            }
            SampleForm::Presence { rate } => (Curve::SampledPresence { base: Box::new(base), rate }, failure),
            SampleForm::Replace { rate } => (Curve::SampledReplace { base: Box::new(base), rate }, failure),
        }
    }

    /// Whether one run reveals nothing at all.
    pub(crate) fn is_nothing(&self) -> bool {
        self.pure() == 0.0
    }

    /// Whether both are the same except for their counts.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let same_law = self.law == other.law && self.form == other.form;
        let same_kind = self.without_pair == other.without_pair && self.is_cover == other.is_cover;
        same_law && same_kind && self.owners == other.owners
    }

    /// The largest loss of one run.
    pub(crate) fn pure(&self) -> f64 {
        f64::from(self.owners) * self.form.amplified(self.law.pure())
    }

    /// The same, except for the probability with which the curve does not hold.
    pub(crate) fn bounded(&self) -> f64 {
        f64::from(self.owners) * self.form.amplified(self.law.bounded())
    }
}

fn base_epsilon(curve: &Curve) -> f64 {
    if let Curve::RandomizedResponse { epsilon, .. } = curve { *epsilon } else { f64::INFINITY }
}

impl SampleForm {
    /// ln(1 + s(e^ε − 1)), rounded up: what sampling makes of a pure bound \[BBG18, Theorems 8 and 9\].
    pub(super) fn amplified(self, epsilon: f64) -> f64 {
        let (Self::Presence { rate } | Self::Replace { rate }) = self else { return epsilon };
        if rate == 0.0 || epsilon == 0.0 {
            return 0.0;
        }
        // 1 − s is left out where e^ε has no number: it is nothing beside what follows, or makes it less.
        let value = match epsilon > 700.0 {
            true => ln_add(0.0, epsilon + rate.ln()),
            false => (rate * epsilon.exp_m1()).ln_1p(),
        };
        // ε is known to a rounding or two, which are as many of ε in e^ε: a factor of what is small, a summand of what
        // is large.
        let rounding = (epsilon + 4.0) * 5e-16;
        (value * (1.0 + 1e-15) + rounding * value.min(1.0)).min(epsilon)
    }
}

/// Groups of k under (ε, δ): (kε, δ·(e^{kε}−1)/(e^ε−1)).
pub(super) fn group_of_approximate(epsilon: f64, delta: f64, owners: f64) -> Law {
    let factor = if epsilon == 0.0 { owners } else { (owners * epsilon).exp_m1() / epsilon.exp_m1() };
    let factor = if owners == 1.0 { 1.0 } else { factor * (1.0 + 1e-12) };
    Law::Approximate { epsilon: owners * epsilon, delta: (delta * factor).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where e^ε has no number, 1 was left out of ln(1 + s·e^ε): 0.12 instead of 0.75. Elsewhere the rounding of ε was
    /// (mpmath, 40 digits).
    #[test]
    fn a_sampled_pure_bound_is_rounded_up() {
        for (epsilon, rate, truth) in [
            (700.1, 1e-304, 0.751_840_418_960_669_9),
            (1.0 / 0.001_678_790_679_086_651_2, 2.480_517_480_084_744_3e-262, 0.001_227_759_062_248_376_7),
            (0.5, 0.1, 0.062_854_723_473_730_39),
        ] {
            let found = SampleForm::Presence { rate }.amplified(epsilon);
            assert!(found >= truth && found <= truth * (1.0 + 1e-12), "{epsilon} {rate}: {found} {truth}");
        }
        assert_eq!(SampleForm::Replace { rate: 1.0 }.amplified(3.0), 3.0);
    }
}
