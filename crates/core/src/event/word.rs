//! The words, with parameters that cannot hold nonsense.

use super::{NewKeys, Parity, SmoothNoise};
use crate::error::{Error, Result};
use crate::quantity::{Delta, Epsilon, Omega, Rho, Scale, Sigma};

/// The vocabulary. [`WORDS`](super::WORDS) has each word's name, parameters and meaning; a variant needs a row there.
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
    /// One attribute's path through a tree of heavy hitters: discrete Laplace noise, lists and the root's counts released.
    ///
    /// Events of several attributes of one tree may be added up (pure ε, ρ, Rényi curves), composed as pairs and chained over owners: `Tree::events` charges them so that this holds.
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

/// How many answers randomized response chooses from: at least 2.
///
/// ```
/// use scumble::event::AnswerCount;
/// assert_eq!(AnswerCount::new(5)?.get(), 5);
/// assert!(AnswerCount::new(1).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerCount(u64);

impl AnswerCount {
    /// Refuses fewer than 2.
    pub fn new(values: u64) -> Result<Self> {
        if values < 2 {
            return Err(Error::refused(format!("randomized response needs at least 2 values, not {values}")));
        }
        Ok(Self(values))
    }

    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }
}

/// One attribute's path through a tree of heavy hitters: equal nodes, thresholds that rise.
///
/// ```
/// use scumble::event::TreePath;
/// assert_eq!(TreePath::new(15, 15, 7)?.levels(), 7);
/// assert!(TreePath::new(0, 15, 7).is_err());
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TreePath {
    clip: u32,
    rise: u32,
    levels: u32,
}

/// Longer paths are refused.
const LARGEST_LEVELS: u32 = 4096;

impl TreePath {
    /// The clip depth κ, by how much each threshold is at least above the one below, and how many nodes there are; refused where the proof of
    /// the cost does not hold.
    pub fn new(clip: u32, rise: u32, levels: u32) -> Result<Self> {
        if levels == 0 || levels > LARGEST_LEVELS || rise == 0 || clip == 0 {
            return Err(Error::refused(format!(
                "a path of heavy hitters has 1 to {LARGEST_LEVELS} levels, and a clip and a rise of at least 1, not {levels}, {clip} and {rise}"
            )));
        }
        Ok(Self { clip, rise, levels })
    }

    /// The clip depth κ.
    pub fn clip(&self) -> u32 {
        self.clip
    }

    /// By how much each threshold is at least above the one below.
    pub fn rise(&self) -> u32 {
        self.rise
    }

    /// How many nodes the path has.
    pub fn levels(&self) -> u32 {
        self.levels
    }
}

/// Two distributions over the same outcomes: with somebody, and without.
///
/// ```
/// use scumble::event::Pair;
/// assert!(Pair::new(vec![0.75, 0.25], vec![0.25, 0.75]).is_ok());
/// assert!(Pair::new(vec![0.75, 0.75], vec![0.25, 0.75]).is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    p: Vec<f64>,
    q: Vec<f64>,
}

impl Pair {
    /// Two lists of probabilities of the same length, each of which sums to 1 up to the rounding of decimal input.
    pub fn new(p: Vec<f64>, q: Vec<f64>) -> Result<Self> {
        if p.is_empty() || p.len() != q.len() {
            return Err(Error::refused(format!("p and q must have the same length, not {} and {}", p.len(), q.len())));
        }
        for (name, masses) in [("p", &p), ("q", &q)] {
            if let Some(mass) = masses.iter().find(|mass| !(0.0..=1.0).contains(*mass)) {
                return Err(Error::refused(format!("{name} must hold probabilities, not {mass}")));
            }
            let sum: f64 = masses.iter().sum();
            if (sum - 1.0).abs() > 1e-9 {
                return Err(Error::refused(format!("{name} must sum to 1, not {sum}")));
            }
        }
        Ok(Self { p, q })
    }

    /// The output distribution on one dataset.
    pub fn p(&self) -> &[f64] {
        &self.p
    }

    /// The output distribution on its neighbour.
    pub fn q(&self) -> &[f64] {
        &self.q
    }
}
