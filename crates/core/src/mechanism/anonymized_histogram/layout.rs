//! How the cells of a Young diagram are grouped into the regions whose areas are released.

use super::Partition;
use crate::noise::BitSource;
use crate::quantity::Epsilon;

/// Below this ε the noise is worth hiding some cells from (spec B2.7). Strips have the smaller measured error up to ε = 1, but from here on single rows
/// and columns, which hide nothing, are proven to err three times less.
const STRIPS_BELOW: f64 = 0.5;
/// Rows as a share of D, tuned over the families of [`super::Family`] (spec B2.3).
const ROWS_PER_D: f64 = 0.6;

/// Which layout to use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LayoutChoice {
    /// By ε and the number of elements: rows and columns from ε = 0.5 on, strips below, nothing where noise would drown everything.
    #[default]
    Automatic,
    /// The √n largest counts, and of the rest how many values have count ≥ 1, ≥ 2, … (Algorithm 1).
    RowsAndColumns,
    /// The largest counts and the columns of the rest, both grouped into strips that widen, beginning at a random [`Phase`].
    Strips,
    /// Fewer rows, and columns grouped into strips that widen with the count (the rate of \[Sur19\], with the split by rank; spec B2).
    RowsAndStrips,
    /// Every count by itself: the baseline of \[HLMJ09\].
    RowsOnly,
    /// Every prevalence by itself: the other naive baseline.
    ColumnsOnly,
}

impl LayoutChoice {
    /// Every choice, in the order of documentation.
    pub const ALL: [Self; 6] =
        [Self::Automatic, Self::RowsAndColumns, Self::Strips, Self::RowsAndStrips, Self::RowsOnly, Self::ColumnsOnly];

    /// The word in files and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::RowsAndColumns => "rows-and-columns",
            Self::Strips => "strips",
            Self::RowsAndStrips => "rows-and-strips",
            Self::RowsOnly => "rows-only",
            Self::ColumnsOnly => "columns-only",
        }
    }

    /// Whether a [`Phase`] makes a difference.
    pub(super) fn has_phases(self, epsilon: Epsilon) -> bool {
        match self {
            Self::Strips => true,
            Self::Automatic => epsilon.get() < STRIPS_BELOW,
            Self::RowsAndColumns | Self::RowsAndStrips | Self::RowsOnly | Self::ColumnsOnly => false,
        }
    }
}

/// How many random bits choose where strips begin.
const PHASE_BITS: u32 = 4;

/// Where the strips of [`LayoutChoice::Strips`] lie: a public coin, so that no data can have all of its steps in the middle of strips, where they are seen
/// worst.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Phase(u64);

impl Phase {
    /// Every phase.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..1 << PHASE_BITS).map(Self)
    }

    /// One of them, all equally likely.
    pub fn draw<S: BitSource + ?Sized>(bits: &mut S) -> Self {
        Self(bits.next_bits(PHASE_BITS))
    }

    /// What D is multiplied by: within a sixteenth of 1, enough to move a strip of any width by its width.
    fn stretch(self) -> f64 {
        1.0 + (self.0 as f64 / f64::from(1u32 << PHASE_BITS) - 0.5) / 8.0
    }
}

/// A grouping of the cells of a Young diagram (row i has as many cells as the i-th largest count) into regions: horizontal strips of the first
/// rows, and vertical strips of what is below them, each (boundᵢ, boundᵢ₊₁\]. Cells outside of all regions are dropped.
///
/// # Guarantee
/// A layout is a function of public numbers and of a public coin only. One element more or less is one cell more or less, so the vector of areas
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
    row_bounds: Vec<u64>,
    column_bounds: Vec<u64>,
}

/// How many cells each region of a layout holds, before or after noise.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Areas {
    /// Of the strips of the first rows; where such a strip is a single row, this is one of the largest counts.
    pub rows: Vec<i64>,
    /// Of the strips of columns below them.
    pub strips: Vec<i64>,
}

impl Layout {
    /// The layout for at most `elements` elements, each cell protected with `epsilon`; strips in their first phase.
    pub fn new(choice: LayoutChoice, epsilon: Epsilon, elements: u64) -> Self {
        Self::in_phase(choice, epsilon, elements, Phase::default())
    }

    /// The same with strips in another phase.
    pub fn in_phase(choice: LayoutChoice, epsilon: Epsilon, elements: u64, phase: Phase) -> Self {
        let elements = elements.max(1);
        match choice {
            LayoutChoice::Automatic if epsilon.get() >= STRIPS_BELOW => Self::columns(elements),
            LayoutChoice::Automatic if noise_drowns(epsilon, elements) => Self::of(vec![0], vec![0]),
            LayoutChoice::Automatic | LayoutChoice::Strips => Self::strips(epsilon, elements, phase),
            LayoutChoice::RowsAndStrips => Self::rows_and_strips(epsilon, elements),
            LayoutChoice::RowsAndColumns => Self::columns(elements),
            LayoutChoice::RowsOnly => Self::of((0..=elements).collect(), vec![0]),
            LayoutChoice::ColumnsOnly => Self::of(vec![0], (0..=elements).collect()),
        }
    }

    /// The layout with these strips.
    pub(super) fn of(row_bounds: Vec<u64>, column_bounds: Vec<u64>) -> Self {
        Self { row_bounds, column_bounds }
    }

    /// Algorithm 1: m = ⌈√n⌉ rows, and the m columns of the rest; p_{m+1} ≤ n/(m+1) < m, so that no cell is lost.
    fn columns(elements: u64) -> Self {
        let floor = elements.isqrt();
        let side = if floor * floor == elements { floor } else { floor + 1 };
        Self::of((0..=side).collect(), (0..=side).collect())
    }

    /// Spec B2.3: D balances the noise of T + L regions against the bias of strips whose width is count/D.
    fn rows_and_strips(epsilon: Epsilon, elements: u64) -> Self {
        let scaled = libm::sqrt(epsilon.get() * elements as f64 / (2.0 * logarithm(epsilon))) / ROWS_PER_D;
        let d = libm::round(scaled).max(1.0);
        let rows = libm::round(ROWS_PER_D * d).max(1.0) as u64;
        Self::of((0..=rows).collect(), widening(d, elements / (rows + 1)))
    }

    /// The spec's strips (B2.3) on both sides, for the diagram looks the same with rows and columns exchanged, and D smaller, since columns that are
    /// interpolated inside of a strip ([`super::reconstruct`]) hide less than flat ones. p_{R+1} ≤ n/(R+1), so that no cell is lost.
    ///
    /// Tuned on the families, hard instances of all weights, rectangles, random partitions and steps in resonance with the strips
    /// (docs/how-to/anonymized-histograms.md): 0.75·√(εn/2Λ), and R = 0.6·√n, which is about where a hard diagram meets its diagonal. From ε ≈ 0.2 on the
    /// hard instances move 2 to 4 cells at a time, no longer more with 1/ε, and D stays at 0.095·√n.
    fn strips(epsilon: Epsilon, elements: u64, phase: Phase) -> Self {
        let root = libm::sqrt(elements as f64);
        let balanced = 0.75 * libm::sqrt(epsilon.get() / (2.0 * logarithm(epsilon)));
        let d = (root * balanced.min(0.19 * epsilon.get().max(0.5)) * phase.stretch()).max(1.0);
        let rows = libm::round(0.6 * root).max(1.0) as u64;
        Self::of(widening(d, rows), widening(d, elements / (rows + 1)))
    }

    /// How many rows there are in the horizontal strips.
    pub fn rows(&self) -> usize {
        self.row_bounds.last().map_or(0, |last| *last as usize)
    }

    /// The ends of the strips of rows, from 0 to the last rank in them.
    pub fn row_bounds(&self) -> &[u64] {
        &self.row_bounds
    }

    /// The ends of the strips of columns, from 0 to the largest count that the rest may have.
    pub fn column_bounds(&self) -> &[u64] {
        &self.column_bounds
    }

    /// How many numbers are released.
    pub fn regions(&self) -> usize {
        self.row_bounds.len() + self.column_bounds.len() - 2
    }

    /// The widths of the strips of rows.
    pub fn row_widths(&self) -> Vec<u64> {
        widths(&self.row_bounds)
    }

    /// The widths of the strips of columns.
    pub fn column_widths(&self) -> Vec<u64> {
        widths(&self.column_bounds)
    }

    /// Whether each strip is a single row or column.
    pub fn is_single(&self) -> bool {
        let single = |bounds: &[u64]| bounds.windows(2).all(|pair| pair[1] - pair[0] == 1);
        single(&self.row_bounds) && single(&self.column_bounds)
    }

    /// The areas of the regions in the diagram of `partition`. O(different counts + regions).
    pub fn areas(&self, partition: &Partition) -> Areas {
        let (top, rest) = partition.split(self.rows());
        let strip = |pair: &[u64]| top[pair[0] as usize..pair[1] as usize].iter().sum::<u64>() as i64;
        Areas { rows: self.row_bounds.windows(2).map(strip).collect(), strips: self.strip_areas(&rest) }
    }

    fn strip_areas(&self, rest: &Partition) -> Vec<i64> {
        // Columns of equal height, the highest first: their heights are the prevalences φ_{≥r} of the rest.
        let columns = rest.conjugate();
        let mut columns = columns.runs();
        let (mut height, mut left) = (0u64, 0u64);
        let mut areas = Vec::with_capacity(self.column_bounds.len());
        for width in self.column_widths() {
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

fn widths(bounds: &[u64]) -> Vec<u64> {
    bounds.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Λ of spec B2.3.
fn logarithm(epsilon: Epsilon) -> f64 {
    2.0 + libm::log(2.0 + 4.0 / epsilon.get())
}

/// Strips that are ⌊x/D⌋ columns wide after x columns, and at least one.
fn widening(d: f64, last: u64) -> Vec<u64> {
    let mut bounds = vec![0u64];
    let mut bound = 0;
    while bound < last {
        let width = libm::floor(bound as f64 / d).max(1.0) as u64;
        bound = bound.saturating_add(width).min(last);
        bounds.push(bound);
    }
    bounds
}

/// Spec B2.8: where √(n ln(1/ε)/ε) ≥ n/2 the empty histogram, whose error is n at most, is as good as anything.
fn noise_drowns(epsilon: Epsilon, elements: u64) -> bool {
    epsilon.get() * elements as f64 <= 4.0 * libm::log(1.0 / epsilon.get())
}
