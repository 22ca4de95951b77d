//! What was done, in a fixed vocabulary: the noise that was drawn, and how far each scope can move what was noised.
//!
//! Events are the stable words of the ledger: never redefined once released, only added to. An event holds parameters,
//! not losses; [`crate::loss`] computes what it costs, for any scope, at any later time.
//!
//! ```
//! use scumble::quantity::{rate, scale, sigma};
//! use scumble::event::{Event, Moves, Shift};
//! let event = Event::gaussian(sigma(1.0)?).poisson(rate(0.01)?).repeated(1000)?;
//! assert_eq!((event.word().name(), event.times()), ("gaussian", 1000));
//! let counts = Event::discrete_laplace(scale(10.0)?).moving(Moves::everywhere(Shift::new(2, 1.0)?));
//! assert_eq!(counts.word().name(), "discrete-laplace");
//! assert!(sigma(f64::NAN).is_err());
//! # Ok::<(), scumble::Error>(())
//! ```

use crate::error::{Error, Result};
use crate::quantity::{Delta, Epsilon, Omega, Rate, Rho, Scale, Sigma};
use std::num::NonZeroU64;

mod charges;
mod moves;
mod parameters;
mod parity;
mod smooth_noise;
mod vocabulary;

pub use charges::{Charge, charged_by_scope, charged_where_seen};
pub use moves::{Moves, Shift, Touch};
pub use parameters::{AnswerCount, Pair, TreePath};
pub use parity::Parity;
pub use smooth_noise::{NoiseFamily, Quotient, SmoothNoise};
pub use vocabulary::{
    ArgumentReader, NewKeys, Parameter, ParameterForm, ParameterValue, WORDS, Word, WordEntry, word_entry,
};

/// Something that was done to the data, perhaps several times, perhaps on a sample.
///
/// The constructors of single words mean one cell that moves by 1 in every scope; [`Event::moving`] says otherwise.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Event {
    word: Word,
    moves: Moves,
    times: NonZeroU64,
    sampling: Option<Sampling>,
}

/// The random sample of owners that a mechanism saw.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Sampling {
    /// Each owner independently with this probability.
    Poisson(Rate),
    /// A uniformly random subset of this fraction of the owners.
    WithoutReplacement(Rate),
}

impl Sampling {
    /// The word in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Poisson(_) => "poisson",
            Self::WithoutReplacement(_) => "without-replacement",
        }
    }

    /// The probability or the fraction.
    pub fn rate(self) -> Rate {
        match self {
            Self::Poisson(rate) | Self::WithoutReplacement(rate) => rate,
        }
    }
}

impl Event {
    /// Something done once, on everybody.
    pub fn new(word: Word, moves: Moves) -> Self {
        Self { word, moves, times: NonZeroU64::MIN, sampling: None }
    }

    fn of(word: Word) -> Self {
        Self::new(word, Moves::everywhere(Shift::ONE))
    }

    /// Continuous Gaussian noise of standard deviation σ.
    pub fn gaussian(sigma: Sigma) -> Self {
        Self::of(Word::Gaussian { sigma })
    }

    /// Discrete Gaussian noise.
    pub fn discrete_gaussian(sigma: Sigma) -> Self {
        Self::of(Word::DiscreteGaussian { sigma })
    }

    /// Continuous Laplace noise.
    pub fn laplace(scale: Scale) -> Self {
        Self::of(Word::Laplace { scale })
    }

    /// Discrete Laplace noise.
    pub fn discrete_laplace(scale: Scale) -> Self {
        Self::of(Word::DiscreteLaplace { scale })
    }

    /// Randomized response among `values` answers.
    ///
    /// ```
    /// use scumble::quantity::epsilon;
    /// use scumble::event::Event;
    /// assert!(Event::randomized_response(epsilon(1.0).unwrap(), 2).is_ok());
    /// assert!(Event::randomized_response(epsilon(1.0).unwrap(), 1).is_err());
    /// ```
    pub fn randomized_response(epsilon: Epsilon, values: u64) -> Result<Self> {
        Ok(Self::of(Word::RandomizedResponse { epsilon, values: AnswerCount::new(values)? }))
    }

    /// An exponential mechanism whose privacy loss has range at most ε.
    pub fn exponential(epsilon: Epsilon) -> Self {
        Self::of(Word::Exponential { epsilon })
    }

    /// Anything that is ε-private.
    pub fn pure(epsilon: Epsilon) -> Self {
        Self::of(Word::Pure { epsilon })
    }

    /// Anything that is (ε, δ)-private.
    pub fn approximate(epsilon: Epsilon, delta: Delta) -> Self {
        Self::of(Word::Approximate { epsilon, delta })
    }

    /// Anything that is ρ-zCDP.
    pub fn zcdp(rho: Rho) -> Self {
        Self::of(Word::Zcdp { rho })
    }

    /// Anything that is (ρ, ω)-tCDP.
    pub fn tcdp(rho: Rho, omega: Omega) -> Self {
        Self::of(Word::Tcdp { rho, omega })
    }

    /// Two distributions over the same outcomes that dominate the mechanism's: with somebody, and without.
    pub fn pair(p: Vec<f64>, q: Vec<f64>) -> Result<Self> {
        Ok(Self::of(Word::Pair(Pair::new(p, q)?)))
    }

    /// Noisy numbers of keys that are not known beforehand, with the noise and the moves of this event: those that
    /// reach a threshold are published ([`NewKeys`]).
    ///
    /// ```
    /// use scumble::quantity::{delta, epsilon, scale};
    /// use scumble::event::{Event, Moves, Shift};
    /// use scumble::loss::Loss;
    /// use scumble::scope::Scope;
    /// let keys = Event::discrete_laplace(scale(2.0)?).for_new_keys(delta(1e-6)?, 1)?;
    /// let group = Scope::Presence.group(2.try_into().unwrap());
    /// // Two owners may share a key that nobody else has.
    /// assert!(Loss::of([keys], group)?.delta(epsilon(1.0)?).upper >= 2e-6 * (1.0 - 1e-5));
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn for_new_keys(self, delta: Delta, keys: u64) -> Result<Self> {
        let word = NewKeys::new(self.word.clone(), delta, keys)?;
        Ok(self.with_word(Word::NewKeys(word)))
    }

    /// Noise on one answer whose scale follows the data; a move counts as that many owners.
    ///
    /// ```
    /// use scumble::quantity::delta;
    /// use scumble::event::{Event, NoiseFamily};
    /// use scumble::{Loss, Scope};
    /// let event = Event::smooth_noise(NoiseFamily::Cauchy4, "9/8", "1/3", 24)?;
    /// let epsilon = Loss::of([event], Scope::Presence)?.epsilon(delta(0.0)?).upper;
    /// assert!((epsilon - 0.9650081752636366).abs() < 1e-7);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn smooth_noise(family: NoiseFamily, gamma: &str, alpha: &str, levels: u32) -> Result<Self> {
        Ok(Self::of(Word::SmoothNoise(SmoothNoise::new(family, gamma.parse()?, alpha.parse()?, levels)?)))
    }

    /// The same with other moves.
    pub fn moving(self, moves: Moves) -> Self {
        Self { moves, ..self }
    }

    /// The same, `times` times.
    ///
    /// ```
    /// use scumble::quantity::epsilon;
    /// use scumble::event::Event;
    /// let event = Event::pure(epsilon(0.1)?);
    /// assert_eq!(event.clone().repeated(100)?.times(), 100);
    /// assert!(event.repeated(0).is_err());
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn repeated(self, times: u64) -> Result<Self> {
        let times = NonZeroU64::new(times).ok_or_else(|| Error::refused("times must be at least 1, not 0"))?;
        Ok(Self { times, ..self })
    }

    /// The same, on a sample: each run on one of its own, drawn anew. What is published twice about one sample is not
    /// two sampled events, but one of what both cost together.
    pub fn sampled(self, sampling: Sampling) -> Self {
        Self { sampling: Some(sampling), ..self }
    }

    /// The same, on a sample that each owner is in with this probability.
    pub fn poisson(self, rate: Rate) -> Self {
        self.sampled(Sampling::Poisson(rate))
    }

    /// The same, on a uniformly random subset of this fraction of the owners.
    pub fn without_replacement(self, rate: Rate) -> Self {
        self.sampled(Sampling::WithoutReplacement(rate))
    }

    /// The same with another word.
    pub(crate) fn with_word(self, word: Word) -> Self {
        Self { word, ..self }
    }

    /// The same on everybody.
    pub(crate) fn on_everybody(self) -> Self {
        Self { sampling: None, ..self }
    }

    /// The noise or the mechanism.
    pub fn word(&self) -> &Word {
        &self.word
    }

    /// How far what is noised can move, in each scope.
    pub fn moves(&self) -> &Moves {
        &self.moves
    }

    /// How many independent times, with the same parameters, fixed beforehand.
    pub fn times(&self) -> u64 {
        self.times.get()
    }

    /// The sample it was done on, if not on everybody.
    pub fn sampling(&self) -> Option<Sampling> {
        self.sampling
    }
}
