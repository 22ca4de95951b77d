//! Parameters of words that cannot hold nonsense.

use crate::error::Result;

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
        refuse_if!(values < 2, "randomized response needs at least 2 values, not {values}");
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
    /// The clip depth κ, by how much each threshold is at least above the one below, and how many nodes there are;
    /// refused where the proof of the cost does not hold.
    pub fn new(clip: u32, rise: u32, levels: u32) -> Result<Self> {
        if levels == 0 || levels > LARGEST_LEVELS || rise == 0 || clip == 0 {
            refuse!(
                "a path of heavy hitters has 1 to {LARGEST_LEVELS} levels, and a clip and a rise of at least 1, not {levels}, {clip} and {rise}"
            );
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
    /// Two lists of probabilities of the same length; each sums to 1 up to the rounding of decimal input.
    pub fn new(p: Vec<f64>, q: Vec<f64>) -> Result<Self> {
        if p.is_empty() || p.len() != q.len() {
            refuse!("p and q must have the same length, not {} and {}", p.len(), q.len());
        }
        for (name, masses) in [("p", &p), ("q", &q)] {
            if let Some(mass) = masses.iter().find(|mass| !(0.0..=1.0).contains(*mass)) {
                refuse!("{name} must hold probabilities, not {mass}");
            }
            let sum: f64 = masses.iter().sum();
            refuse_if!((sum - 1.0).abs() > 1e-9, "{name} must sum to 1, not {sum}");
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
