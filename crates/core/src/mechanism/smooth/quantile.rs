//! Quantiles by smooth sensitivity: the bounds A_k.
//!
//! Values in \[lower, upper\], sorted, x_i = lower for i ≤ 0 and upper for i > n; the quantile is x_m, m = ⌈f·n⌉.
//! A_k = max_{0≤t≤k+1} (x_{m+t} − x_{m+t−k−1}) is the largest local sensitivity within k replacements \[NRS07\]. With
//! the data's own n it holds for owners that come and go as well: one more or less moves ⌈fn⌉ by 0 or 1, so that a
//! window of k + 2 order statistics lies in one of k + 3 of the neighbour. Replacing is one step
//! ([`super::OwnerSteps::one`]).
//!
//! Nearly always [`crate::mechanism::quantile`] is better.

use crate::error::Result;

/// The value at a quantile and the bounds of its sensitivity.
///
/// ```
/// use scumble::mechanism::smooth::quantile::QuantileBounds;
/// let bounds = QuantileBounds::new(&[3, 7, 8, 9, 10, 10, 11, 15, 40], (1, 2), (0, 100))?;
/// assert_eq!((bounds.value(), bounds.at(0), bounds.at(3)), (10, 1, 30));
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct QuantileBounds {
    sorted: Vec<i64>,
    rank: usize,
    lower: i64,
    upper: i64,
}

impl QuantileBounds {
    /// The quantile above/below, strictly between 0 and 1, of values that are brought into the public bounds.
    pub fn new(values: &[i64], quantile: (u32, u32), bounds: (i64, i64)) -> Result<Self> {
        let ((above, below), (lower, upper)) = (quantile, bounds);
        refuse_if!(above == 0 || above >= below, "a quantile must be strictly between 0 and 1, not {above}/{below}");
        if lower > upper || i128::from(upper) - i128::from(lower) >= 1 << 62 {
            refuse!("bounds need lower ≤ upper, less than 2^62 apart, not {lower} and {upper}");
        }
        let mut sorted: Vec<i64> = values.iter().map(|value| *value.clamp(&lower, &upper)).collect();
        sorted.sort_unstable();
        let rank = (u128::from(above) * sorted.len() as u128).div_ceil(u128::from(below)) as usize;
        Ok(Self { sorted, rank, lower, upper })
    }

    /// ⌈f·n⌉.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// x_m.
    pub fn value(&self) -> i64 {
        self.order_statistic(self.rank as i128)
    }

    /// The public range.
    pub fn most(&self) -> u64 {
        self.upper.abs_diff(self.lower)
    }

    /// A_k.
    pub fn at(&self, k: u64) -> u64 {
        let (m, k) = (self.rank as i128, i128::from(k.min(self.sorted.len() as u64 + 1)));
        let window = |t: i128| self.order_statistic(m + t).abs_diff(self.order_statistic(m + t - k - 1));
        (0..=k + 1).map(window).max().unwrap_or(0)
    }

    fn order_statistic(&self, i: i128) -> i64 {
        match usize::try_from(i - 1) {
            Err(_) => self.lower,
            Ok(place) => self.sorted.get(place).copied().unwrap_or(self.upper),
        }
    }
}
