//! How the cells of a Young diagram are grouped into the regions whose areas are released.

use super::Partition;
use crate::quantity::Epsilon;

/// Below this ε strips are better than columns; there both have the same error (spec B2.7).
const STRIPS_BELOW: f64 = 0.5;
/// Rows as a share of D, tuned over the families of [`super::Family`] (spec B2.3).
const ROWS_PER_D: f64 = 0.6;

/// Which layout to use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LayoutChoice {
    /// By ε and the number of elements: columns from ε = 0.5 on, strips below, nothing where noise would drown everything.
    #[default]
    Automatic,
    /// The √n largest counts, and of the rest how many values have count ≥ 1, ≥ 2, … (Algorithm 1).
    RowsAndColumns,
    /// Fewer rows, and columns grouped into strips that widen with the count (the rate of \[Sur19\], with the split by rank).
    RowsAndStrips,
    /// Every count by itself: the baseline of \[HLMJ09\].
    RowsOnly,
    /// Every prevalence by itself: the other naive baseline.
    ColumnsOnly,
}

impl LayoutChoice {
    /// Every choice, in the order of documentation.
    pub const ALL: [Self; 5] =
        [Self::Automatic, Self::RowsAndColumns, Self::RowsAndStrips, Self::RowsOnly, Self::ColumnsOnly];

    /// The word in files and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::RowsAndColumns => "rows-and-columns",
            Self::RowsAndStrips => "rows-and-strips",
            Self::RowsOnly => "rows-only",
            Self::ColumnsOnly => "columns-only",
        }
    }
}

/// A grouping of the cells of a Young diagram (row i has as many cells as the i-th largest count) into regions: each of the first
/// `rows` rows, and vertical strips (boundsᵢ, boundsᵢ₊₁\] of what is below them. Cells outside of all regions are dropped.
///
/// # Guarantee
/// A layout is a function of public numbers only. One element more or less is one cell more or less, so the vector of areas
/// moves by at most 1 in L1 norm (spec B0; the sensitivity claim in the proof of Theorem 6).
///
/// ```
/// use scumble::mechanism::anonymized_histogram::{Layout, LayoutChoice, Partition};
/// use scumble::quantity::Epsilon;
/// let layout = Layout::new(LayoutChoice::Automatic, Epsilon::new(1.0)?, 9);
/// let areas = layout.areas(&Partition::from_counts([4, 1, 1, 1, 1, 1])?);
/// assert_eq!((areas.rows, areas.strips), (vec![4, 1, 1], vec![3, 0, 0]));
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    rows: usize,
    bounds: Vec<u64>,
}

/// How many cells each region of a layout holds, before or after noise.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Areas {
    /// The largest counts.
    pub rows: Vec<i64>,
    /// The areas of the strips.
    pub strips: Vec<i64>,
}

impl Layout {
    /// The layout for at most `elements` elements, each cell protected with `epsilon`.
    pub fn new(choice: LayoutChoice, epsilon: Epsilon, elements: u64) -> Self {
        let elements = elements.max(1);
        match choice {
            LayoutChoice::Automatic if epsilon.get() >= STRIPS_BELOW => Self::columns(elements),
            LayoutChoice::Automatic if noise_drowns(epsilon, elements) => Self { rows: 0, bounds: vec![0] },
            LayoutChoice::Automatic | LayoutChoice::RowsAndStrips => Self::strips(epsilon, elements),
            LayoutChoice::RowsAndColumns => Self::columns(elements),
            LayoutChoice::RowsOnly => Self { rows: elements as usize, bounds: vec![0] },
            LayoutChoice::ColumnsOnly => Self { rows: 0, bounds: (0..=elements).collect() },
        }
    }

    /// Algorithm 1: m = ⌈√n⌉ rows, and the m columns of the rest; p_{m+1} ≤ n/(m+1) < m, so that no cell is lost.
    fn columns(elements: u64) -> Self {
        let floor = elements.isqrt();
        let side = if floor * floor == elements { floor } else { floor + 1 };
        Self { rows: side as usize, bounds: (0..=side).collect() }
    }

    /// Spec B2.3: D balances the noise of T + L regions against the bias of strips whose width is count/D.
    fn strips(epsilon: Epsilon, elements: u64) -> Self {
        let (epsilon, size) = (epsilon.get(), elements as f64);
        let logarithm = 2.0 + libm::log(2.0 + 4.0 / epsilon);
        let d = libm::round(libm::sqrt(epsilon * size / (2.0 * logarithm)) / ROWS_PER_D).max(1.0);
        let rows = libm::round(ROWS_PER_D * d).max(1.0) as u64;
        let (d, last) = (d as u64, elements / (rows + 1));
        let mut bounds = vec![0u64];
        let mut bound = 0;
        while bound < last {
            bound = (bound + (bound / d).max(1)).min(last);
            bounds.push(bound);
        }
        Self { rows: rows as usize, bounds }
    }

    /// A layout given by its numbers.
    #[cfg(test)]
    pub(super) fn explicit(rows: usize, bounds: Vec<u64>) -> Self {
        Self { rows, bounds }
    }

    /// How many rows are released one by one.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The ends of the strips, from 0 to the largest count that the rest may have.
    pub fn bounds(&self) -> &[u64] {
        &self.bounds
    }

    /// How many numbers are released.
    pub fn regions(&self) -> usize {
        self.rows + self.bounds.len() - 1
    }

    /// The widths of the strips.
    pub fn widths(&self) -> Vec<u64> {
        self.bounds.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// Whether each strip is a single column.
    pub fn has_single_columns(&self) -> bool {
        self.bounds.windows(2).all(|pair| pair[1] - pair[0] == 1)
    }

    /// The areas of the regions in the diagram of `partition`. O(different counts + regions).
    pub fn areas(&self, partition: &Partition) -> Areas {
        let (top, rest) = partition.split(self.rows);
        let rows = top.into_iter().map(|count| count as i64).collect();
        Areas { rows, strips: self.strip_areas(&rest) }
    }

    fn strip_areas(&self, rest: &Partition) -> Vec<i64> {
        // Columns of equal height, the highest first: their heights are the prevalences φ_{≥r} of the rest.
        let columns = rest.conjugate();
        let mut columns = columns.runs();
        let (mut height, mut left) = (0u64, 0u64);
        let mut areas = Vec::with_capacity(self.bounds.len());
        for width in self.widths() {
            let (mut area, mut wanted) = (0u64, width);
            while wanted > 0 {
                if left == 0 {
                    match columns.next() {
                        Some(run) => (height, left) = (run.count, run.values),
                        None => break,
                    }
                }
                let taken = wanted.min(left);
                area += taken * height;
                wanted -= taken;
                left -= taken;
            }
            areas.push(area as i64);
        }
        areas
    }
}

/// Spec B2.8: where √(n ln(1/ε)/ε) ≥ n/2 the empty histogram, whose error is n at most, is as good as anything.
fn noise_drowns(epsilon: Epsilon, elements: u64) -> bool {
    epsilon.get() * elements as f64 <= 4.0 * libm::log(1.0 / epsilon.get())
}
