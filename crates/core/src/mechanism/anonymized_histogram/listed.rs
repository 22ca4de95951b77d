//! Few cells that everybody knows, with noise on each: where there are fewer of them than regions of a layout, the
//! better way to an anonymized histogram.
//!
//! The counts of listed values with noise are a histogram, and sorting them is post-processing, as is all that follows
//! here. Cutting at 0 and sorting bring noisy counts no further from the sorted truth, in L1 (rearrangement), so that K
//! values are off by K·E|z| = K/sinh(1/scale) in expectation (spec B1.5), however many elements there are. Of values
//! whose counts are small, such as owners with few rows, the cells are how many have each count: [`CellKind::Tally`].

use super::curve::curve_of;
use super::error::{UPWARD, largest_noise, sum_of_noises};
use super::projection::least_squares;
use super::{BandPoint, CurvePoint, Partition};
use crate::error::Result;
use crate::mechanism::additive::Noise;
use crate::noise::BitSource;
use crate::quantity::{Beta, Scale};

/// What a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CellKind {
    /// A value: how many elements it has.
    Values,
    /// A count, from 1 on: how many values have it.
    Tally,
}

/// Noise of one scale on a fixed number of cells.
///
/// ```
/// use scumble::mechanism::anonymized_histogram::{CellKind, ListedCounts};
/// use scumble::noise::InsecureSeededSource;
/// let listed = ListedCounts::new(CellKind::Values, 3, 1.0.try_into()?)?;
/// assert!((listed.expected_error() - 3.0 / 1f64.sinh()).abs() < 1e-6);
/// let noisy = listed.release(&[50, 700, 6], &mut InsecureSeededSource::new(1))?;
/// assert!(noisy.partition.elements().abs_diff(756) < 40);
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ListedCounts {
    what: CellKind,
    cells: u64,
    scale: Scale,
}

/// What was released.
#[derive(Debug, Clone, PartialEq)]
pub struct NoisyCells {
    /// The noisy numbers of all cells.
    pub noisy: Vec<i64>,
    /// The anonymized histogram.
    pub partition: Partition,
    of: ListedCounts,
}

impl ListedCounts {
    /// The most cells.
    pub const MOST_CELLS: u64 = 1 << 16;

    /// Discrete Laplace noise of this scale on each of so many cells.
    pub fn new(what: CellKind, cells: u64, scale: Scale) -> Result<Self> {
        refuse_if!(!(1..=Self::MOST_CELLS).contains(&cells), "listed counts are of 1 to 2^16 cells, not {cells}");
        Ok(Self { what, cells, scale })
    }

    /// How many cells there are.
    pub fn cells(&self) -> u64 {
        self.cells
    }

    /// What a cell is.
    pub fn what(&self) -> CellKind {
        self.what
    }

    /// The scale of the noise on each cell.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The noise on each cell.
    pub fn noise(&self) -> Noise {
        Noise::laplace(self.scale)
    }

    /// An upper bound of E‖p̂ − p‖₁, whatever the counts are.
    ///
    /// Of a tally, the number of values with at least r is a sum of B − r + 1 cells, off by σ√(B − r + 1) at most in
    /// expectation (Jensen), and is projected and rounded.
    pub fn expected_error(&self) -> f64 {
        match self.what {
            CellKind::Values => UPWARD * self.cells as f64 / libm::sinh(1.0 / self.scale.get()),
            CellKind::Tally => UPWARD * (self.sums_off() + self.cells as f64 / 2.0),
        }
    }

    /// A bound of ‖p̂ − p‖₁ that fails with probability β at most.
    ///
    /// Chernoff's for the sum of the noises; of a tally, Chebyshev's for the sums (by Minkowski, the root of the mean
    /// square of a sum is at most the sum of such roots), or all noises at their largest.
    pub fn error(&self, beta: Beta) -> f64 {
        match self.what {
            CellKind::Values => UPWARD * sum_of_noises(self.cells as f64, 1.0 / self.scale.get(), beta),
            CellKind::Tally => {
                let cells = self.cells as f64;
                let largest = largest_noise(self.cells, self.scale, beta) as f64;
                let sums = (self.sums_off() / beta.get().sqrt()).min(largest * cells * (cells + 1.0) / 2.0);
                UPWARD * (sums + cells / 2.0)
            }
        }
    }

    /// Σ_m σ√m over the sums of 1, …, B cells.
    fn sums_off(&self) -> f64 {
        let sigma = self.noise().standard_deviation();
        (1..=self.cells).map(|cells| sigma * (cells as f64).sqrt()).sum()
    }

    /// Releases the cells and what they stand for.
    ///
    /// # Guarantee
    /// Before: `counts` are those of all cells. After: each has independent noise, as the event of
    /// [`ListedCounts::noise`] with the moves of the cells says; the rest is a function of that.
    pub fn release<S: BitSource + ?Sized>(&self, counts: &[i64], bits: &mut S) -> Result<NoisyCells> {
        refuse_if!(counts.len() as u64 != self.cells, "there are {} counts of {} cells", counts.len(), self.cells);
        let mut noisy = counts.to_vec();
        self.noise().add_to_all(&mut noisy, bits);
        let partition = self.partition(&noisy);
        Ok(NoisyCells { noisy, partition, of: self.clone() })
    }

    fn partition(&self, noisy: &[i64]) -> Partition {
        match self.what {
            CellKind::Values => {
                Partition::from_unsorted(noisy.iter().map(|count| (count.max(&0).unsigned_abs(), 1)).collect())
            }
            CellKind::Tally => {
                let at_least = sums_from(noisy);
                let fit = least_squares(&at_least, &vec![1; at_least.len()]);
                Partition::from_unsorted(fit.areas.into_iter().map(|values| (values, 1)).collect()).conjugate()
            }
        }
    }
}

/// For each place the sum from there on.
fn sums_from(cells: &[i64]) -> Vec<i64> {
    let mut sums = cells.to_vec();
    for place in (1..sums.len()).rev() {
        sums[place - 1] = sums[place - 1].saturating_add(sums[place]);
    }
    sums
}

impl NoisyCells {
    /// For every count at once, what the number of values with at least that count lies between, with probability
    /// 1 − β: no noise exceeds its largest.
    pub fn band(&self, beta: Beta) -> Vec<BandPoint> {
        let largest = largest_noise(self.of.cells, self.of.scale, beta);
        let off = i64::try_from(largest).unwrap_or(i64::MAX);
        let mut points: Vec<BandPoint> = match self.of.what {
            CellKind::Values => {
                let mut sorted = self.noisy.clone();
                sorted.sort_unstable();
                // Every count at which one of the values may begin to have less.
                let moved = |by: i64| self.noisy.iter().map(move |count| count.saturating_add(by).saturating_add(1));
                let mut counts: Vec<i64> =
                    moved(off).chain(moved(-off)).filter(|count| *count > 1).chain([1]).collect();
                counts.sort_unstable();
                counts.dedup();
                let at_least = |count: i64| (sorted.len() - sorted.partition_point(|noisy| *noisy < count)) as u64;
                let point = |count: i64| BandPoint {
                    count: count.unsigned_abs(),
                    lower: at_least(count.saturating_add(off)),
                    upper: at_least(count.saturating_sub(off)),
                };
                counts.into_iter().map(point).collect()
            }
            CellKind::Tally => {
                let sums = sums_from(&self.noisy);
                let (mut lower, mut points) = (0i64, Vec::new());
                for (place, sum) in sums.iter().enumerate().rev() {
                    let off = off.saturating_mul((sums.len() - place) as i64);
                    // As many as have a larger count have this one at least.
                    lower = lower.max(sum.saturating_sub(off));
                    let upper = sum.saturating_add(off).max(0).unsigned_abs();
                    points.push(BandPoint { count: place as u64 + 1, lower: lower.unsigned_abs(), upper });
                }
                points.reverse();
                let mut most = u64::MAX;
                for point in &mut points {
                    most = most.min(point.upper);
                    point.upper = most;
                }
                // Nobody has more.
                points.push(BandPoint { count: sums.len() as u64 + 1, lower: 0, upper: 0 });
                points
            }
        };
        points.dedup_by(|next, kept| (next.lower, next.upper) == (kept.lower, kept.upper));
        points
    }

    /// As [`super::ReleasedHistogram::curve`].
    pub fn curve(&self, beta: Beta, steps: u32) -> Vec<CurvePoint> {
        curve_of(&self.partition, &self.band(beta), steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::InsecureSeededSource;

    /// The error of many runs is below what is promised, in expectation and with probability; and the band holds the
    /// truth.
    #[test]
    fn errors_and_bands_are_as_promised() {
        let beta = Beta::new(0.05).unwrap();
        let cases: [(CellKind, Vec<i64>); 4] = [
            (CellKind::Values, vec![50, 700, 6, 0, 0, 41]),
            (CellKind::Values, vec![3; 40]),
            (CellKind::Tally, vec![100, 20, 0, 3]),
            (CellKind::Tally, vec![0; 6]),
        ];
        for (what, counts) in cases {
            for scale in [0.4, 2.0, 15.0] {
                let listed = ListedCounts::new(what, counts.len() as u64, Scale::new(scale).unwrap()).unwrap();
                let truth = match what {
                    CellKind::Values => {
                        Partition::from_counts(counts.iter().map(|count| count.unsigned_abs())).unwrap()
                    }
                    CellKind::Tally => Partition::from_counts(
                        counts
                            .iter()
                            .zip(1u64..)
                            .flat_map(|(values, count)| std::iter::repeat_n(count, *values as usize)),
                    )
                    .unwrap(),
                };
                let at_least =
                    |count: u64| truth.runs().filter(|run| run.count >= count).map(|run| run.values).sum::<u64>();
                let mut bits = InsecureSeededSource::new(5);
                let (mut sum, mut beyond, mut outside) = (0.0, 0, 0);
                for _ in 0..2000 {
                    let noisy = listed.release(&counts, &mut bits).unwrap();
                    let off = noisy.partition.distance(&truth) as f64;
                    sum += off / 2000.0;
                    beyond += usize::from(off > listed.error(beta));
                    let band = noisy.band(beta);
                    let around =
                        |count: u64| band[..band.partition_point(|point| point.count <= count)].last().copied();
                    let last = band.last().map_or(1, |point| point.count).min(2000) + 1;
                    let held = (1..=last).all(|count| {
                        around(count).is_some_and(|point| (point.lower..=point.upper).contains(&at_least(count)))
                    });
                    outside += usize::from(!held);
                }
                assert!(sum <= listed.expected_error() * 1.1, "{what:?} {counts:?} {scale}: {sum}");
                // 100 of 2000 are expected at most; 150 are more than five standard deviations above.
                assert!(beyond < 150 && outside < 150, "{what:?} {counts:?} {scale}: {beyond} {outside}");
            }
        }
        assert!(ListedCounts::new(CellKind::Values, 0, Scale::new(1.0).unwrap()).is_err());
    }
}
