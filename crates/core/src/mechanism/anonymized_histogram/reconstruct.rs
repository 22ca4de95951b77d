//! From noisy areas back to a partition, and to a band that holds the truth: post-processing, which costs nothing.

use super::profile::{level, spread};
use super::projection::{least_absolute, least_squares};
use super::{Areas, Layout, Partition};
use crate::quantity::Epsilon;

/// How noisy areas become areas that a partition can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProjectionMethod {
    /// The nearest in L1; only for layouts of rows and single columns.
    LeastAbsolute,
    /// The nearest in L2, rounded.
    LeastSquares,
}

impl ProjectionMethod {
    /// L1 from ε = 1 on, where most noises are 0 and L1 leaves the right ones alone; L2 below (spec B1.3).
    pub fn suited_to(epsilon: Epsilon, layout: &Layout) -> Self {
        if epsilon.get() >= 1.0 && layout.is_single() { Self::LeastAbsolute } else { Self::LeastSquares }
    }

    /// The heights of the columns of strips with these noisy areas, as (height, how many).
    fn columns(self, areas: &[i64], widths: &[u64]) -> Vec<(u64, u64)> {
        match self {
            Self::LeastAbsolute => {
                let areas = least_absolute(areas, widths).into_iter().map(|area| area.max(0) as u64);
                areas.zip(widths).flat_map(|(area, width)| level(area, *width)).collect()
            }
            Self::LeastSquares => spread(&least_squares(areas, widths), widths),
        }
    }
}

/// The partition that noisy areas stand for: the strips of rows and those of columns are projected and spread over
/// their rows and columns, and both are united.
///
/// # Guarantee
/// A function of the noisy areas and public numbers alone.
pub fn reconstruct(layout: &Layout, noisy: &Areas, projection: ProjectionMethod) -> Partition {
    // Sorting, which happens here, moves rows and columns no further from the falling truth (rearrangement), whatever
    // rounding did.
    let rows = Partition::from_unsorted(projection.columns(&noisy.rows, &layout.row_widths()));
    let columns = Partition::from_unsorted(projection.columns(&noisy.strips, &layout.column_widths()));
    rows.union(&columns.conjugate())
}

/// At one count: how many values have at least this count, and what that number lies between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BandPoint {
    /// The count r.
    pub count: u64,
    /// At least this many values have count ≥ r.
    pub lower: u64,
    /// At most this many values have count ≥ r.
    pub upper: u64,
}

/// A band that holds the number of values with count ≥ r, for every r at once, whenever no noise exceeds
/// `largest_noise` in absolute value and no cell lay outside of the layout. One point per count at which either end
/// changes.
///
/// A column is at most as high as the average of any strip before it and at least as high as that of any strip after
/// it; a row is as long, and so
/// #{i ≤ R: pᵢ ≥ r} lies between the number of rows that are surely and that are possibly as long as r.
pub fn band(layout: &Layout, noisy: &Areas, largest_noise: u64) -> Vec<BandPoint> {
    let q = i64::try_from(largest_noise).unwrap_or(i64::MAX);
    let (rows_lower, rows_upper) = ends(&layout.row_widths(), &noisy.rows, q);
    let (columns_lower, columns_upper) = ends(&layout.column_widths(), &noisy.strips, q);

    let row_ends = rows_lower.iter().chain(&rows_upper).copied();
    let mut counts: Vec<u64> =
        row_ends.chain(layout.column_bounds().iter().copied()).map(|last| last.saturating_add(1)).collect();
    counts.sort_unstable();
    counts.dedup();
    let points = counts.into_iter().map(|count| {
        let strip = layout.column_bounds().partition_point(|bound| *bound < count).wrapping_sub(1);
        let column = |ends: &[u64]| ends.get(strip).copied().unwrap_or(0);
        let rows = |ends: &[u64]| layout.row_bounds()[ends.partition_point(|end| *end >= count)];
        BandPoint {
            count,
            lower: rows(&rows_lower).saturating_add(column(&columns_lower)),
            upper: rows(&rows_upper).saturating_add(column(&columns_upper)),
        }
    });
    let mut band: Vec<BandPoint> = points.collect();
    band.dedup_by(|next, kept| (next.lower, next.upper) == (kept.lower, kept.upper));
    band
}

/// The running extreme: the tightest ends that a falling sequence allows.
fn falling(ends: impl Iterator<Item = i64>, tighter: fn(i64, i64) -> i64) -> Vec<i64> {
    let mut so_far: Option<i64> = None;
    ends.map(|end| *so_far.insert(so_far.map_or(end, |before| tighter(before, end)))).collect()
}

/// For each strip, what every column in it is at least and at most; both fall.
fn ends(widths: &[u64], areas: &[i64], q: i64) -> (Vec<u64>, Vec<u64>) {
    let strips = areas.iter().zip(widths.iter().map(|width| *width as i64));
    // The average of a strip, as a whole number: a height is at most its floor from above, at least its ceiling from
    // below.
    let highest = strips.clone().map(|(area, width)| area.saturating_add(q).div_euclid(width));
    let lowest = strips.rev().map(|(area, width)| {
        let area = area.saturating_sub(q);
        -area.saturating_neg().div_euclid(width)
    });
    let highest = falling(highest, i64::min);
    let lowest: Vec<i64> = falling(lowest, i64::max).into_iter().rev().collect();
    let at = |ends: &[i64], strip: usize| ends.get(strip).map_or(0, |end| (*end).max(0) as u64);
    // Within a wide strip only the neighbours' averages bound a single column; a single column is its own average.
    let lower = (0..widths.len()).map(|strip| at(&lowest, if widths[strip] == 1 { strip } else { strip + 1 }));
    let upper = (0..widths.len()).map(|strip| match strip {
        _ if widths[strip] == 1 => at(&highest, strip),
        0 => areas[0].saturating_add(q).max(0) as u64,
        _ => at(&highest, strip - 1),
    });
    (lower.collect(), upper.collect())
}
