//! The word for noise whose scale follows the data.

use crate::error::{Error, Result};
use crate::noise::Levels;
use num_integer::Integer;
use std::fmt;
use std::str::FromStr;

/// Noise on one answer whose scale belongs to a level of the data ([`Levels`]): between neighbours one owner apart the
/// level differs by at most 1, and the answer by at most the reach of the lesser of the two levels. The level is not
/// published.
///
/// γ is 1 + 1/g for a whole g, α a fraction; both are the rationals that they look like.
///
/// ```
/// use scumble::event::{NoiseFamily, SmoothNoise};
/// let noise = SmoothNoise::new(NoiseFamily::Cauchy4, "9/8".parse()?, "1/3".parse()?, 24)?;
/// assert_eq!((noise.gamma().to_string(), noise.alpha().to_string()), ("9/8".into(), "1/3".into()));
/// assert_eq!(noise.table()?.scale(2).get(), 61.0 / 16.0);
/// assert!(SmoothNoise::new(NoiseFamily::Cauchy4, "5/3".parse()?, "1/3".parse()?, 24).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SmoothNoise {
    family: NoiseFamily,
    gamma: Quotient,
    alpha: Quotient,
    levels: u32,
}

impl SmoothNoise {
    /// γ and α of the scales, and the last level; refused if γ is not 1 + 1/g, or if the table of levels is.
    pub fn new(family: NoiseFamily, gamma: Quotient, alpha: Quotient, levels: u32) -> Result<Self> {
        if gamma.above.checked_sub(gamma.below) != Some(1) {
            refuse!("gamma must be one more than one over a whole number, such as 9/8, not {gamma}");
        }
        let noise = Self { family, gamma, alpha, levels };
        noise.table()?;
        Ok(noise)
    }

    /// The kind of noise.
    pub fn family(&self) -> NoiseFamily {
        self.family
    }

    /// The factor between levels.
    pub fn gamma(&self) -> Quotient {
        self.gamma
    }

    /// The sensitivity of a level over its noise scale, about.
    pub fn alpha(&self) -> Quotient {
        self.alpha
    }

    /// The last level.
    pub fn levels(&self) -> u32 {
        self.levels
    }

    /// The scales that noise is drawn with.
    pub fn table(&self) -> Result<Levels> {
        Levels::new(self.gamma.below, (self.alpha.above, self.alpha.below), self.levels)
    }
}

named! {
    /// The noise that a level's scale belongs to.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum NoiseFamily {
        /// P\[z\] ∝ 1/(1 + (z/s)⁴): pure privacy.
        Cauchy4 = "cauchy4",
        /// P\[z\] ∝ e^{−|z|/s}: (ε, δ).
        DiscreteLaplace = "discrete-laplace",
        /// P\[z\] ∝ e^{−z²/2s²}: (ρ, ω).
        DiscreteGaussian = "discrete-gaussian",
    }
}

impl FromStr for NoiseFamily {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|family| family.name() == text).ok_or_else(|| {
            Error::refused(format!(
                "unknown noise {text:?} by levels; expected one of {}",
                Self::ALL.map(Self::name).join(", ")
            ))
        })
    }
}

/// A positive fraction of two whole numbers below 2^32, in lowest terms; its text is `9/8`.
///
/// ```
/// use scumble::event::Quotient;
/// assert_eq!("18/16".parse::<Quotient>()?, Quotient::new(9, 8)?);
/// assert!("9/0".parse::<Quotient>().is_err() && "1.125".parse::<Quotient>().is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Quotient {
    above: u32,
    below: u32,
}

impl Quotient {
    /// Refuses zeros.
    pub fn new(above: u32, below: u32) -> Result<Self> {
        refuse_if!(above == 0 || below == 0, "a fraction needs two positive numbers, not {above}/{below}");
        let common = above.gcd(&below);
        Ok(Self { above: above / common, below: below / common })
    }

    /// What is above the line and what is below.
    pub fn parts(self) -> (u32, u32) {
        (self.above, self.below)
    }
}

impl fmt::Display for Quotient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.above, self.below)
    }
}

impl FromStr for Quotient {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text.split_once('/').map(|(above, below)| (above.parse::<u32>(), below.parse::<u32>()));
        match parts {
            Some((Ok(above), Ok(below))) => Self::new(above, below),
            _ => Err(Error::refused(format!(
                "{text:?} is not a fraction of two whole numbers below 4294967296, such as \"9/8\""
            ))),
        }
    }
}
