//! Noise that follows the data's own sensitivity, and the noisy level beside it that error bars are made of: what
//! `triangles` and `quantiles` share.

use super::fitted::{FittedCost, Step};
use crate::error::Result;
use crate::project::Request;
use crate::release::field::{Field, Word};
use crate::release::output::BETA;
use scumble::calibrate::{Target, scale_for_pure};
use scumble::event::{Event, NoiseFamily, Word as EventWord};
use scumble::mechanism::smooth::{ErrorBar, OwnerSteps, SmoothMechanism};
use scumble::noise::BitSource;
use scumble::quantity::{Beta, Delta, Epsilon, Scale, Sensitivity};
use scumble::scope::Scope;
use serde_json::{Value, json};
use std::cell::RefCell;

/// Which noise.
pub(crate) const FAMILY: Field<Option<NoiseFamily>> = Field::new(
    "family",
    "noise of `smooth`: `cauchy4` (the default, no delta), `discrete-laplace` (needs a delta; better where sensitivities are large) or `discrete-gaussian` (needs a delta, seldom better)",
);

/// Which part of ε buys the error bars: with a tenth of it intervals of cauchy4 noise would be about four times as
/// wide.
const LEVEL_SHARE: f64 = 0.2;

/// What stands below answers.
pub(crate) const NOTE: &str = "The noise follows the data's own sensitivity, which is private; a fifth of the epsilon \
    pays for the standard error.";

impl Word for NoiseFamily {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("cauchy4", Self::Cauchy4),
        ("discrete-laplace", Self::DiscreteLaplace),
        ("discrete-gaussian", Self::DiscreteGaussian),
    ];

    fn unknown(word: &str) -> String {
        let names = Self::WORDS.iter().map(|(name, _)| *name);
        let hint = crate::place::suggestion(word, names.clone());
        format!("there is no smooth noise '{word}'{hint}; there are: {}", names.collect::<Vec<_>>().join(", "))
    }
}

/// The family that a request names. `smooth` says whether its method has such noise.
pub(crate) fn family(request: &Request, smooth: bool) -> Result<NoiseFamily> {
    match FAMILY.read(request)? {
        Some(_) if !smooth => Err(FAMILY.error(request, "a family of noise is chosen only with method = \"smooth\"")),
        found => Ok(found.unwrap_or(NoiseFamily::Cauchy4)),
    }
}

/// Whether a cost has what the family needs.
pub(crate) fn needs(family: NoiseFamily, fitting: &FittedCost<'_>) -> Result<()> {
    if family == NoiseFamily::Cauchy4 {
        return Ok(());
    }
    fitting.needs_delta(&format!("smooth noise of the family {}", family.name()))
}

/// The noise of an answer, and of its level.
#[derive(Debug, Clone)]
pub(crate) struct SmoothNoise {
    smooth: SmoothMechanism,
    level: Scale,
}

impl SmoothNoise {
    /// What one step may cost for an answer and its level, and their events. Sensitivities are at most `most`.
    ///
    /// Noise other than cauchy4 is written as the (ε, δ) that it was calibrated to: ledgers add up numbers, and δ(ε) of
    /// such noise is a curve.
    pub fn within(family: NoiseFamily, step: Step, most: u64, steps: &OwnerSteps) -> Result<(Self, Vec<Event>)> {
        let share = LEVEL_SHARE * step.epsilon;
        let (epsilon, delta) = (Epsilon::new(step.epsilon - share)?, Delta::new(step.delta)?);
        let target =
            if family == NoiseFamily::Cauchy4 { Target::Pure(epsilon) } else { Target::Approximate(epsilon, delta) };
        let smooth = calibrated(family, target, most)?;
        let level = scale_for_pure(Epsilon::new(share)?, Sensitivity::ONE)?;
        let mut events = match family {
            NoiseFamily::Cauchy4 => smooth.events(steps)?,
            _ => vec![Event::new(EventWord::Approximate { epsilon, delta }, steps.moves(1.0)?)],
        };
        events.push(smooth.event_of_level(level, steps)?);
        Ok((Self { smooth, level }, events))
    }

    /// The standard error if the bounds are these.
    pub fn standard_error(&self, bound: impl Fn(u64) -> u64) -> f64 {
        self.smooth.standard_error(bound)
    }

    /// The answer with noise, and its error bar, made of a noisy level.
    pub fn release(&self, value: i64, bound: impl Fn(u64) -> u64, bits: &mut dyn BitSource) -> Result<(i64, ErrorBar)> {
        let (noisy, level) = self.smooth.release_with_level(value, bound, self.level, bits);
        Ok((noisy, self.smooth.error_beside(Beta::new(BETA)?, level, self.level)?))
    }

    /// For the ledger.
    pub fn rule(&self) -> Value {
        let noise = self.smooth.noise();
        json!({ "family": noise.family().name(), "gamma": noise.gamma().to_string(), "alpha": noise.alpha().to_string(),
                "levels": noise.levels(), "scale_of_level": self.level.get() })
    }
}

// A release is planned several times, and noise of many levels takes a second or more to calibrate.
thread_local! {
    static KNOWN: RefCell<Vec<(NoiseFamily, Target, u64, SmoothMechanism)>> = const { RefCell::new(Vec::new()) };
}

/// So many are remembered.
const MOST_KNOWN: usize = 16;

fn calibrated(family: NoiseFamily, target: Target, most: u64) -> Result<SmoothMechanism> {
    let known = KNOWN.with_borrow(|known| {
        let found = known.iter().find(|one| (one.0, one.1, one.2) == (family, target, most));
        found.map(|one| one.3.clone())
    });
    if let Some(smooth) = known {
        return Ok(smooth);
    }
    let smooth = SmoothMechanism::within(target, Scope::Presence, &OwnerSteps::one(), family, most)?;
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= MOST_KNOWN {
            let _oldest = known.remove(0);
        }
        known.push((family, target, most, smooth.clone()));
    });
    Ok(smooth)
}
