//! The words, and the table of them: what each is called in files, its parameters and their quantities, and one
//! sentence about it.
//!
//! The JSON form, the Python classes and the table in `docs/reference/events.md` are made from it, or compared with it
//! by a test.

mod argument;
mod new_keys;

pub use argument::{ArgumentReader, Parameter, ParameterForm, ParameterValue};
pub use new_keys::NewKeys;

use super::{AnswerCount, NoiseFamily, Pair, Parity, Quotient, SmoothNoise, TreePath};
use crate::quantity::{Delta, Epsilon, Omega, Rho, Scale, Sigma};
use argument::Argument;
use new_keys::KeysPerOwner;
use std::num::NonZeroU32;

/// The vocabulary. [`WORDS`] has each word's name, parameters and meaning; a variant needs a row below.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Word {
    /// Continuous Gaussian noise of standard deviation σ.
    Gaussian {
        /// The standard deviation.
        sigma: Sigma,
    },
    /// Discrete Gaussian noise: P\[z\] ∝ e^{−z²/2σ²} on the integers.
    DiscreteGaussian {
        /// The parameter σ.
        sigma: Sigma,
    },
    /// Continuous Laplace noise.
    Laplace {
        /// The scale b: density ∝ e^{−|z|/b}.
        scale: Scale,
    },
    /// Discrete Laplace noise: P\[z\] ∝ e^{−|z|/scale} on the integers.
    DiscreteLaplace {
        /// The scale.
        scale: Scale,
    },
    /// Sinh-normal noise on the integers: A·arsinh((σ/A)·N(0,1)) as an integer-weight table.
    SinhNormal {
        /// The parameter σ.
        sigma: Sigma,
        /// The parameter A, in units of the grid.
        a: Scale,
    },
    /// Randomized response among `values` answers: the truth with probability e^ε/(e^ε+k−1).
    RandomizedResponse {
        /// The privacy of one response.
        epsilon: Epsilon,
        /// How many answers there are.
        values: AnswerCount,
    },
    /// An exponential mechanism whose privacy loss has range at most ε.
    Exponential {
        /// The range of the privacy loss.
        epsilon: Epsilon,
    },
    /// Anything that is ε-private.
    Pure {
        /// The bound.
        epsilon: Epsilon,
    },
    /// Anything that is (ε, δ)-private.
    Approximate {
        /// The bound ε.
        epsilon: Epsilon,
        /// The mass δ.
        delta: Delta,
    },
    /// Anything that is ρ-zCDP.
    Zcdp {
        /// The slope.
        rho: Rho,
    },
    /// Anything that is (ρ, ω)-tCDP.
    Tcdp {
        /// The slope.
        rho: Rho,
        /// The largest order.
        omega: Omega,
    },
    /// One attribute's path through a tree of heavy hitters: discrete Laplace noise, lists and the root's counts
    /// released.
    ///
    /// Events of several attributes of one tree may be added up (pure ε, ρ, Rényi curves), composed as pairs and
    /// chained over owners: `Tree::events` charges them so that this holds.
    HeavyHitters {
        /// The noise scale λ of every node on the path.
        scale: Scale,
        /// The nodes of the path.
        path: TreePath,
    },
    /// Noisy numbers of keys that are not known beforehand, those that reach a threshold.
    NewKeys(NewKeys),
    /// A parity that is right on a random sample of the rows.
    Parity(Parity),
    /// Noise on one answer whose scale follows the data.
    SmoothNoise(SmoothNoise),
    /// A dominating pair of finite distributions over the same outcomes.
    Pair(Pair),
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct WordEntry {
    /// The word in files and flags.
    pub name: &'static str,
    /// Whether noise is added to a number, so that an event must say how far the number moves. New keys say so too,
    /// unless their own noise is `approximate`.
    pub is_additive: bool,
    /// The parameters, in the order in which they are written.
    pub parameters: &'static [Parameter],
    /// What the word means, in a sentence without its full stop; code stands between backticks.
    pub sentence: &'static str,
}

/// A row: its name here and in files, whether it is additive, its sentence, the variant as a pattern, each parameter
/// with its type and its value in terms of the pattern, and the variant made from the parameters (refused at one of
/// them or, without `at`, altogether).
///
/// The matches on a word have an arm for each row and no other: a variant without a row does not compile, nor does one
/// whose row leaves out a parameter, since the last part could not make it.
macro_rules! words {
    ($(
        $row:ident $name:literal $additive:literal $sentence:literal
        $pattern:pat => [$($parameter:ident: $type:ty = $value:expr),+] => $made:expr $(, at $place:literal)?;
    )+) => {
        $(
            static $row: WordEntry = WordEntry {
                name: $name,
                is_additive: $additive,
                parameters: &[$(Parameter::new(stringify!($parameter), <$type as Argument>::FORM)),+],
                sentence: $sentence,
            };
        )+

        /// Every word.
        pub static WORDS: &[&WordEntry] = &[$(&$row),+];

        impl Word {
            /// The word's row in the table.
            #[allow(unused_variables)]
            pub fn entry(&self) -> &'static WordEntry {
                match self {
                    $($pattern => &$row,)+
                }
            }

            /// The parameters by their names, in the order of the table.
            pub fn arguments(&self) -> Vec<(&'static str, ParameterValue<'_>)> {
                match self {
                    $($pattern => vec![$((stringify!($parameter), ParameterValue::from($value))),+],)+
                }
            }

            /// The word of this name, with the parameters that `from` has; `None` if there is no such word.
            pub fn read<R: ArgumentReader>(name: &str, from: &R) -> Option<Result<Self, R::Refusal>> {
                match name {
                    $($name => Some((|| {
                        $(let $parameter = <$type as Argument>::read($name, stringify!($parameter), from)?;)+
                        let made: crate::error::Result<Word> = $made;
                        #[allow(unused_mut, unused_assignments)]
                        let mut place = None;
                        $(place = Some($place);)?
                        made.map_err(|error| from.refusal(place, error))
                    })()),)+
                    _ => None,
                }
            }
        }
    };
}

words! {
    GAUSSIAN "gaussian" true "continuous Gaussian noise of standard deviation σ"
    Word::Gaussian { sigma } => [sigma: Sigma = sigma] => Ok(Word::Gaussian { sigma });

    DISCRETE_GAUSSIAN "discrete-gaussian" true
    "P[z] ∝ e^{−z²/2σ²} on the integers; moves are whole (one cell by 1.5 is one by 1, two of these are three by 1)"
    Word::DiscreteGaussian { sigma } => [sigma: Sigma = sigma] => Ok(Word::DiscreteGaussian { sigma });

    LAPLACE "laplace" true "continuous Laplace noise, density ∝ e^{−|z|/scale}"
    Word::Laplace { scale } => [scale: Scale = scale] => Ok(Word::Laplace { scale });

    DISCRETE_LAPLACE "discrete-laplace" true "P[z] ∝ e^{−|z|/scale} on the integers"
    Word::DiscreteLaplace { scale } => [scale: Scale = scale] => Ok(Word::DiscreteLaplace { scale });

    SINH_NORMAL "sinh-normal" true
    "A·arsinh((σ/A)·N(0,1)) on the integers, as the integer-weight table that is sampled"
    Word::SinhNormal { sigma, a } => [sigma: Sigma = sigma, a: Scale = a] => Ok(Word::SinhNormal { sigma, a });

    RANDOMIZED_RESPONSE "randomized-response" false
    "the truth with probability e^ε/(e^ε+k−1), else one of the other k−1 values"
    Word::RandomizedResponse { epsilon, values } => [epsilon: Epsilon = epsilon, values: AnswerCount = values] =>
        Ok(Word::RandomizedResponse { epsilon, values });

    EXPONENTIAL "exponential" false
    "a mechanism whose privacy loss has range at most ε (the exponential mechanism with weights e^{ε·score/2Δ})"
    Word::Exponential { epsilon } => [epsilon: Epsilon = epsilon] => Ok(Word::Exponential { epsilon });

    PURE "pure" false "anything ε-private"
    Word::Pure { epsilon } => [epsilon: Epsilon = epsilon] => Ok(Word::Pure { epsilon });

    APPROXIMATE "approximate" false "anything (ε, δ)-private"
    Word::Approximate { epsilon, delta } => [epsilon: Epsilon = epsilon, delta: Delta = delta] =>
        Ok(Word::Approximate { epsilon, delta });

    ZCDP "zcdp" false "anything with D_α ≤ ρα for all α > 1"
    Word::Zcdp { rho } => [rho: Rho = rho] => Ok(Word::Zcdp { rho });

    TCDP "tcdp" false "anything with D_α ≤ ρα for 1 < α < ω"
    Word::Tcdp { rho, omega } => [rho: Rho = rho, omega: Omega = omega] => Ok(Word::Tcdp { rho, omega });

    HEAVY_HITTERS "heavy-hitters" false
    "one attribute's path through a heavy-hitters tree with discrete Laplace noise of that scale, counts clipped at \
     `clip`, thresholds rising by `rise` a level"
    Word::HeavyHitters { scale, path } => [
        scale: Scale = scale, clip: NonZeroU32 = path.clip(), rise: NonZeroU32 = path.rise(),
        levels: NonZeroU32 = path.levels()
    ] => TreePath::new(clip.get(), rise.get(), levels.get()).map(|path| Word::HeavyHitters { scale, path });

    NEW_KEYS "new-keys" true
    "noisy numbers of keys that are not known beforehand, published where they reach a threshold"
    Word::NewKeys(new) => [noise: Word = new.noise(), delta: Delta = &new.delta(), keys: KeysPerOwner = new.keys()] =>
        NewKeys::new(noise, delta, keys.get()).map(Word::NewKeys), at "noise";

    SMOOTH_NOISE "smooth-noise" false "noise on one answer whose scale follows the data, by levels"
    Word::SmoothNoise(noise) => [
        family: NoiseFamily = noise.family(), gamma: Quotient = noise.gamma(), alpha: Quotient = noise.alpha(),
        levels: u32 = noise.levels()
    ] => SmoothNoise::new(family, gamma, alpha, levels).map(Word::SmoothNoise);

    PARITY "parity" false
    "with probability `give_up` nothing, else a uniformly random parity that is right on a sample of the rows, each in \
     it with probability `keep`, or nothing if there is none; both are fractions as strings, `\"1/3\"`"
    Word::Parity(parity) => [keep: Quotient = parity.keep(), give_up: Quotient = parity.give_up()] =>
        Parity::new(keep, give_up).map(Word::Parity);

    PAIR "pair" false
    "two distributions over the same outcomes that dominate the mechanism: `p` with somebody, `q` without"
    Word::Pair(pair) => [p: Vec<f64> = pair.p(), q: Vec<f64> = pair.q()] => Pair::new(p, q).map(Word::Pair), at "q";
}

impl Word {
    /// The word in files and flags.
    pub fn name(&self) -> &'static str {
        self.entry().name
    }

    /// Whether noise is added to a number, so that a move has a size; otherwise a move of `by` counts as `by` owners.
    pub fn is_additive(&self) -> bool {
        match self {
            Self::NewKeys(keys) => keys.noise().is_additive(),
            _ => self.entry().is_additive,
        }
    }
}

/// The word's row in [`WORDS`], if there is a word of this name.
///
/// ```
/// use scumble::event::word_entry;
/// assert_eq!(word_entry("tcdp").unwrap().parameters.iter().map(|one| one.name).collect::<Vec<_>>(), ["rho", "omega"]);
/// assert!(word_entry("gausian").is_none());
/// ```
pub fn word_entry(name: &str) -> Option<&'static WordEntry> {
    WORDS.iter().find(|entry| entry.name == name).copied()
}
