//! A discrete distribution over many attributes, from its heavy strings (Theorem 34 of \[GKMS\]).
//!
//! The root's noisy counts come free with the list of heavy hitters, so nothing else is released. (The paper adds a
//! second release of counts with half the noise that its claim needs.)
//!
//! [`estimate`] is that. Where the number of people is not public, and where every string has a noisy count,
//! [`nearest`] makes a distribution of noisy counts, and [`CountErrors`] says how far it is from the people's own.

use crate::error::Result;
use crate::mechanism::heavy_hitters::{HeavyHitters, SuccinctHistogram};
use crate::noise::BitSource;
use crate::quantity::Beta;

/// Estimates of the probabilities of strings; 0 for those that are not listed.
#[derive(Debug, Clone, PartialEq)]
pub struct DistributionEstimate {
    /// Strings with their estimated probabilities.
    pub probabilities: Vec<(Vec<u32>, f64)>,
}

/// Estimates the distribution of the people's strings: every string with a noisy count of at least `2·share·n` gets
/// count/n.
///
/// # Guarantee
/// The cost of `finder`'s tree, for attributes: the number of rows is used as it is, which neither presence nor persons
/// keep. The rest is post-processing.
///
/// ```
/// use scumble::learn::distribution::estimate;
/// use scumble::mechanism::heavy_hitters::{HeavyHitters, ThresholdRule, JoinShape};
/// use scumble::noise::InsecureSeededSource;
/// use scumble::quantity::Epsilon;
/// let columns = vec![vec![1u8; 2000], (0..2000u32).map(|i| u8::from(i % 4 == 0)).collect()];
/// let tree = ThresholdRule::default().calibrate(&JoinShape::balanced(2)?, &[Epsilon::new(1.0)?; 2])?;
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
) -> Result<DistributionEstimate> {
    refuse_if!(!(share > 0.0 && share < 1.0), "the share must be between 0 and 1, not {share}");
    let people = columns.first().map_or(0, Vec::len) as f64;
    refuse_if!(people == 0.0, "a distribution cannot be estimated from no rows");
    let SuccinctHistogram { strings, .. } = finder.release(columns, bits)?;
    let kept = strings.into_iter().filter(|string| string.count as f64 >= 2.0 * share * people);
    Ok(DistributionEstimate {
        probabilities: kept.map(|string| (string.values, (string.count as f64 / people).min(1.0))).collect(),
    })
}

impl DistributionEstimate {
    /// The estimated probability of a string.
    pub fn probability(&self, values: &[u32]) -> f64 {
        self.probabilities.iter().find(|(string, _)| string == values).map_or(0.0, |(_, probability)| *probability)
    }
}

/// The distribution that is nearest to noisy counts (least squares): the probabilities of the strings that are listed,
/// and that of each other string of the domain, whose counts are taken for 0. `people` is how many there are, exactly
/// or about; `strings` is the size of the domain.
///
/// A function of its arguments: where those are private, so is what it gives.
///
/// ```
/// use scumble::learn::distribution::nearest;
/// // Of eight people; the noise made one count negative.
/// assert_eq!(nearest(&[6, 4, -1], 8.0, 3.0), (vec![0.625, 0.375, 0.0], 0.0));
/// // Half of them have strings that are not listed: all 64 strings share that half.
/// assert_eq!(nearest(&[4], 8.0, 64.0), (vec![0.5078125], 0.0078125));
/// ```
pub fn nearest(counts: &[i64], people: f64, strings: f64) -> (Vec<f64>, f64) {
    // max(0, y − θ) for the θ with which all of it adds up to 1; the y that are not listed are 0.
    let shares: Vec<f64> = counts.iter().map(|count| *count as f64 / people.max(1.0)).collect();
    let mut falling = shares.clone();
    falling.sort_unstable_by(|left, right| right.total_cmp(left));
    let others = (strings - shares.len() as f64).clamp(0.0, f64::MAX);
    let (mut sum, mut number, mut theta) = (0.0, 0.0, 0.0);
    let (at_least_zero, below) = falling.split_at(falling.partition_point(|share| *share >= 0.0));
    let unlisted = (others > 0.0).then_some((0.0, others));
    let each = at_least_zero.iter().map(|share| (*share, 1.0));
    for (share, times) in each.chain(unlisted).chain(below.iter().map(|share| (*share, 1.0))) {
        if number > 0.0 && share <= theta {
            break;
        }
        (sum, number) = (sum + share * times, number + times);
        theta = (sum - 1.0) / number;
    }
    let above = |share: f64| (share - theta).max(0.0);
    (shares.into_iter().map(above).collect(), if others > 0.0 { above(0.0) } else { 0.0 })
}

/// How far noisy counts may be from the exact ones, all of them at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountErrors {
    /// No listed count is too large by more than this.
    pub above: f64,
    /// No listed count is too small by more than this, and no string that is not listed has more people.
    pub below: f64,
    /// The number of people is off by at most this.
    pub people: f64,
    /// How many strings there are, if all of them are listed; otherwise infinitely many.
    pub strings: f64,
}

impl CountErrors {
    /// How far [`nearest`] of such counts and of this number of people is from the people's own distribution, at most:
    /// each probability.
    ///
    /// y = p + z for the exact shares p, the noisy shares y and N·z = (error of the count) − p·(error of N). The θ of
    /// the projection lies between the least and the largest z (else all of it would add up to less, or more, than 1),
    /// so that each probability is off by at most their difference.
    ///
    /// ```
    /// use scumble::learn::distribution::CountErrors;
    /// let off = CountErrors { above: 6.0, below: 6.0, people: 8.0, strings: 4.0 };
    /// assert_eq!(off.each(1000.0), 0.02);
    /// assert_eq!(off.squared(1000.0), 0.0004);
    /// ```
    pub fn each(&self, people: f64) -> f64 {
        self.range(people).min(1.0)
    }

    /// The same for the sum of all squared differences: the error of \[GKMS\], Theorem 34.
    ///
    /// A projection p̂ on a convex set that has p in it is no further from p than y is, and ‖p̂ − p‖² ≤ ⟨z, p̂ − p⟩;
    /// p̂ − p adds up to 0 and its positive part to at most 1, so that this is at most the range of z.
    pub fn squared(&self, people: f64) -> f64 {
        let length = self.strings.sqrt() * self.above.max(self.below) + self.people;
        self.range(people).min((length / people.max(1.0)).powi(2)).min(2.0)
    }

    /// The range of all z.
    fn range(&self, people: f64) -> f64 {
        (self.above + self.below + self.people) / people.max(1.0)
    }

    /// How many random people are enough that no probability is further than α from that of the population they were
    /// drawn from, except with probability β and whatever these numbers fail with.
    ///
    /// The length of what their shares are off by is at most (1 + √ln(1/β))/√n: 1/√n on average, and one person moves
    /// it by √2/n (McDiarmid 1989).
    ///
    /// ```
    /// use scumble::quantity::beta;
    /// use scumble::learn::distribution::CountErrors;
    /// let off = CountErrors { above: 6.0, below: 6.0, people: 8.0, strings: 4.0 };
    /// assert_eq!(off.people_needed(0.05, beta(0.05)?)?, 3742.0);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn people_needed(&self, alpha: f64, beta: Beta) -> Result<f64> {
        refuse_if!(!(alpha > 0.0 && alpha < 1.0), "the error must be in (0, 1), not {alpha}");
        let of_sample = 1.0 + (1.0 / beta.get()).ln().sqrt();
        // The number that is known may be too small.
        let enough =
            |people: f64| people > self.people && self.range(people - self.people) + of_sample / people.sqrt() <= alpha;
        let (mut too_few, mut found) = (0.0, 1.0);
        while !enough(found) && found < 1e300 {
            (too_few, found) = (found, 2.0 * found);
        }
        while found - too_few > f64::max(1.0, found * 1e-12) {
            let middle = ((too_few + found) / 2.0).floor();
            if enough(middle) { found = middle } else { too_few = middle }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
