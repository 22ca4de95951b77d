//! What an anonymized histogram tells: symmetric statistics, as post-processing that costs nothing more.

use super::Partition;

/// The usual statistics of a histogram; none needs the names of the values.
///
/// A private histogram's statistics inherit its error: the numbers of elements and of values, and each sum of the k
/// largest counts, are off by ‖p̂ − p‖₁ at most. Singletons and the entropy lean on the small counts, which is where
/// most of the noise is.
///
/// ```
/// use scumble::mechanism::anonymized_histogram::{Partition, Statistics};
/// let statistics = Statistics::of(&Partition::from_counts([4, 2, 1, 1])?);
/// assert_eq!((statistics.elements, statistics.values, statistics.singletons), (8, 4, 2));
/// assert_eq!(statistics.coverage, Some(0.75));
/// assert_eq!(statistics.entropy_bits, Some(1.75));
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// How many elements.
    pub elements: u64,
    /// How many different values.
    pub values: u64,
    /// How many values occur once.
    pub singletons: u64,
    /// The estimate of Good and Turing of the share of the population whose value occurs here: 1 − singletons/elements.
    pub coverage: Option<f64>,
    /// The entropy of the empirical distribution, in bits.
    pub entropy_bits: Option<f64>,
    /// The same with the correction of Miller and Madow for a sample, (values − 1)/(2·elements) nats.
    pub entropy_bits_corrected: Option<f64>,
    /// The probability that two elements drawn with replacement have the same value.
    pub collision_probability: Option<f64>,
}

impl Statistics {
    /// The statistics of a histogram; those that divide by the number of elements are `None` when it is empty.
    pub fn of(partition: &Partition) -> Self {
        let elements = partition.elements();
        let some = |value: f64| (elements > 0).then_some(value);
        let singletons = partition.runs().next_back().filter(|run| run.count == 1).map_or(0, |run| run.values);
        let entropy = symmetric(partition, |share| -share * libm::log2(share));
        let correction = (partition.values() as f64 - 1.0) / (2.0 * elements.max(1) as f64) * std::f64::consts::LOG2_E;
        Self {
            elements,
            values: partition.values(),
            singletons,
            coverage: some(1.0 - singletons as f64 / elements.max(1) as f64),
            entropy_bits: some(entropy),
            entropy_bits_corrected: some(entropy + correction),
            collision_probability: some(symmetric(partition, |share| share * share)),
        }
    }
}

/// A symmetric statistic: the sum of f(share) over the values, where a value's share is its count divided by the number
/// of elements.
///
/// ```
/// use scumble::mechanism::anonymized_histogram::{Partition, symmetric};
/// let partition = Partition::from_counts([2, 2])?;
/// assert_eq!(symmetric(&partition, f64::sqrt), 2.0 * 0.5f64.sqrt());
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn symmetric(partition: &Partition, f: impl Fn(f64) -> f64) -> f64 {
    let elements = partition.elements() as f64;
    partition.runs().map(|run| run.values as f64 * f(run.count as f64 / elements)).sum()
}

/// The share of the elements that have one of the `k` most frequent values; nothing for an empty histogram.
///
/// ```
/// use scumble::mechanism::anonymized_histogram::{Partition, top_share};
/// assert_eq!(top_share(&Partition::from_counts([5, 3, 1, 1])?, 2), Some(0.8));
/// assert_eq!(top_share(&Partition::from_counts([])?, 2), None);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn top_share(partition: &Partition, k: u64) -> Option<f64> {
    let mut left = k;
    let mut sum = 0u64;
    for run in partition.runs() {
        let taken = run.values.min(left);
        sum = sum.saturating_add(taken.saturating_mul(run.count));
        left -= taken;
    }
    (partition.elements() > 0).then(|| sum as f64 / partition.elements() as f64)
}
