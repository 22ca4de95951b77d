//! A discrete distribution over many attributes, from its heavy strings (Theorem 34 of \[GKMS\]).
//!
//! The root's noisy counts come free with the list of heavy hitters, so nothing else is released. (The paper adds a second release of
//! counts with half the noise that its claim needs.)

use crate::error::{Error, Result};
use crate::mechanism::heavy_hitters::{Found, HeavyHitters};
use crate::noise::BitSource;

/// Estimates of the probabilities of strings; 0 for those that are not listed.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Strings with their estimated probabilities.
    pub probabilities: Vec<(Vec<u32>, f64)>,
}

/// Estimates the distribution of the people's strings: every string with a noisy count of at least `2·share·n` gets count/n.
///
/// # Guarantee
/// The cost of `finder`'s tree, for attributes: the number of rows is used as it is, which neither presence nor persons keep. The rest is
/// post-processing.
///
/// ```
/// use scumble::learn::distribution::estimate;
/// use scumble::mechanism::heavy_hitters::{HeavyHitters, Rule, Shape};
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::Epsilon;
/// let columns = vec![vec![1u8; 2000], (0..2000u32).map(|i| u8::from(i % 4 == 0)).collect()];
/// let tree = Rule::default().calibrate(&Shape::balanced(2)?, &[Epsilon::new(1.0)?; 2])?;
/// let found = estimate(&HeavyHitters::new(tree, vec![2, 2])?, &columns, 0.05, &mut InsecureSeededSource::new(1))?;
/// assert_eq!(found.probabilities.len(), 2);
/// assert!((found.probability(&[1, 0]) - 0.75).abs() < 0.02);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn estimate<V: Copy + Into<u32>, S: BitSource + ?Sized>(
    finder: &HeavyHitters,
    columns: &[Vec<V>],
    share: f64,
    bits: &mut S,
) -> Result<Estimate> {
    if !(share > 0.0 && share < 1.0) {
        return Err(Error::refused(format!("the share must be between 0 and 1, not {share}")));
    }
    let people = columns.first().map_or(0, Vec::len) as f64;
    if people == 0.0 {
        return Err(Error::refused("a distribution cannot be estimated from no rows"));
    }
    let Found { strings, .. } = finder.release(columns, bits)?;
    let kept = strings.into_iter().filter(|string| string.count as f64 >= 2.0 * share * people);
    Ok(Estimate {
        probabilities: kept.map(|string| (string.values, (string.count as f64 / people).min(1.0))).collect(),
    })
}

impl Estimate {
    /// The estimated probability of a string.
    pub fn probability(&self, values: &[u32]) -> f64 {
        self.probabilities.iter().find(|(string, _)| string == values).map_or(0.0, |(_, probability)| *probability)
    }
}
