//! How the cells of a Young diagram are grouped into the regions whose areas are released.

use super::Partition;
use crate::noise::BitSource;
use crate::quantity::Epsilon;

/// Below this ε the noise is worth hiding some cells from (spec B2.7). Strips have the smaller measured error up to
/// ε = 1, but from here on single rows and columns, which hide nothing, are proven to err three times less.
const STRIPS_BELOW: f64 = 0.5;
/// Rows as a share of D, tuned over the families of [`super::HistogramFamily`] (spec B2.3).
const ROWS_PER_D: f64 = 0.6;

/// Which layout to use.
///
/// # Measured errors
/// Mean L1 errors at ε for presence, each table after its command; `--precision` is the relative standard error (0.02
/// by default).
///
/// **Low privacy.** The theorem says √n·e^−ε up to a constant. The staircase m, m−1, …, 1 is the worst histogram known
/// for `rows-and-columns`:
///
/// ```text
/// scumble lab reproduce anonymized-histogram \
///     --elements 1e3,1e4,1e5,1e6,1e7 --epsilon 1,2,4,6,8 --precision 0.01 --trials 400000
/// ```
///
/// | error / (√n·e^−ε), staircase | ε = 1 | 2 | 4 | 6 | 8 |
/// |---|---|---|---|---|---|
/// | n = 10³ | 2.50 | 2.64 | 2.76 | 2.76 | 2.86 |
/// | n = 10⁴ | 2.53 | 2.63 | 2.80 | 2.84 | 2.81 |
/// | n = 10⁵ | 2.53 | 2.64 | 2.81 | 2.89 | 2.80 |
/// | n = 10⁶ | 2.52 | 2.66 | 2.82 | 2.79 | 2.80 |
/// | n = 10⁷ | 2.53 | 2.65 | 2.81 | 2.81 | 2.82 |
///
/// The lower bound in these units is 1.03 at ε = 1 and 1.41 at ε = 8: the error is 2.0 to 2.5 times the best possible.
/// Other families:
///
/// ```text
/// scumble lab reproduce anonymized-histogram \
///     --family wide-staircase,zipf,passwords,flat,singletons,hard \
///     --elements 1e3,1e5,1e7 --epsilon 1,2,4,8 --precision 0.05 --trials 1000
/// ```
///
/// | error / (√n·e^−ε) at n = 10³ / 10⁵ / 10⁷ | ε = 1 | 2 | 4 | 8 |
/// |---|---|---|---|---|
/// | wide-staircase | 2.26 / 2.15 / 2.11 | 1.89 / 2.02 / 1.99 | 1.97 / 2.03 / 2.05 | 1.60 / 2.12 / 2.06 |
/// | zipf | 1.93 / 1.58 / 1.38 | 1.75 / 1.47 / 1.28 | 1.99 / 1.63 / 1.24 | 1.60 / 1.29 / 1.23 |
/// | passwords | 0.80 / 0.77 / 0.94 | 0.62 / 0.69 / 0.81 | 0.53 / 0.61 / 0.81 | 0.38 / 0.49 / 0.74 |
/// | flat | 0.51 / 0.05 / 0.01 | 0.25 / 0.03 / 0.00 | 0.18 / 0.02 / 0.00 | 0.09 / 0.00 / 0.00 |
/// | singletons | 0.49 / 0.05 / 0.01 | 0.30 / 0.03 / 0.00 | 0.25 / 0.02 / 0.00 | 0.28 / 0.02 / 0.00 |
/// | hard | 2.49 / 2.53 / 2.56 | 2.42 / 2.69 / 2.63 | 2.79 / 2.55 / 2.79 | 2.36 / 2.79 / 2.86 |
///
/// These are known to 5% or a thousand trials, whichever came first (at ε = 8 the errors themselves are below 4). The
/// hard instances of low privacy are staircases, so theirs is 2.83 in the limit; at ε = 8 they were measured again to
/// 1% or 12,000 trials (2.79 ± 0.05 and 2.86 ± 0.03). Nothing measured is above 2.9.
///
/// **High privacy.** The unit is √(n·ln(1/ε)/ε):
///
/// ```text
/// scumble lab reproduce anonymized-histogram \
///     --elements 1e4,1e6 --epsilon 0.01,0.03,0.1,0.2,0.3,0.4,0.49 --family staircase,zipf,passwords,hard
/// ```
///
/// | error / √(n·ln(1/ε)/ε), n = 10⁶ | ε = 0.01 | 0.03 | 0.1 | 0.2 | 0.3 | 0.4 | 0.49 |
/// |---|---|---|---|---|---|---|---|
/// | staircase | 0.50 | 0.54 | 0.67 | 0.75 | 0.75 | 0.77 | 0.82 |
/// | zipf | 0.66 | 0.64 | 0.63 | 0.64 | 0.63 | 0.67 | 0.67 |
/// | passwords | 0.40 | 0.37 | 0.37 | 0.39 | 0.38 | 0.40 | 0.41 |
/// | hard | 0.82 | 0.86 | 0.93 | 0.97 | 1.02 | 1.01 | 1.12 |
/// | hard: error / lower bound | 2.54 | 2.53 | 2.55 | 2.42 | 2.37 | 2.15 | 2.15 |
///
/// The unit begins to vanish towards ε = 0.5, since ln(1/ε) is 0 at ε = 1: there it is hardest to stay below 1.3 of it.
/// All families there, `hard` with random bits and `hard-alternating` with every other bit set, known to 1% or 3000
/// trials:
///
/// ```text
/// scumble lab reproduce anonymized-histogram \
///     --elements 1e3,1e4,1e5,1e6,1e7 --epsilon 0.3,0.4,0.49 --precision 0.01 --trials 3000 \
///     --family staircase,wide-staircase,zipf,passwords,flat,singletons,hard,hard-alternating
/// ```
///
/// | error / √(n·ln(1/ε)/ε) at n = 10³ / 10⁴ / 10⁵ / 10⁶ / 10⁷ | ε = 0.3 | 0.4 | 0.49 |
/// |---|---|---|---|
/// | staircase | 0.93 / 0.84 / 0.78 / 0.75 / 0.76 | 1.00 / 0.85 / 0.82 / 0.78 / 0.78 | 1.04 / 0.89 / 0.85 / 0.82 / 0.80 |
/// | wide-staircase | 0.94 / 0.82 / 0.79 / 0.79 / 0.76 | 0.95 / 0.85 / 0.81 / 0.80 / 0.79 | 1.00 / 0.88 / 0.85 / 0.83 / 0.82 |
/// | zipf | 0.84 / 0.76 / 0.68 / 0.64 / 0.60 | 0.87 / 0.78 / 0.70 / 0.64 / 0.60 | 0.92 / 0.81 / 0.73 / 0.66 / 0.63 |
/// | passwords | 0.48 / 0.36 / 0.36 / 0.38 / 0.41 | 0.48 / 0.38 / 0.38 / 0.39 / 0.42 | 0.50 / 0.39 / 0.39 / 0.41 / 0.44 |
/// | flat | 1.04 / 0.58 / 0.23 / 0.11 / 0.05 | 1.15 / 0.59 / 0.22 / 0.10 / 0.03 | 1.29 / 0.58 / 0.21 / 0.08 / 0.03 |
/// | singletons | 0.45 / 0.28 / 0.16 / 0.07 / 0.03 | 0.46 / 0.27 / 0.14 / 0.06 / 0.02 | 0.47 / 0.27 / 0.14 / 0.05 / 0.02 |
/// | hard | 1.15 / 1.03 / 1.04 / 1.02 / 1.01 | 1.16 / 1.06 / 1.02 / 1.03 / 1.00 | 1.18 / 1.17 / 1.12 / 1.14 / 1.12 |
/// | hard-alternating | 1.18 / 1.12 / 1.11 / 1.10 / 1.08 | 1.17 / 1.11 / 1.09 / 1.09 / 1.08 | 1.31 / 1.26 / 1.25 / 1.22 / 1.21 |
///
/// From n = 10⁴ on nothing is above 1.26; at n = 10³ one number is 1.31. The layout matters most here. `strips` is what
/// is used; `rows-and-strips` is the published kind of layout with the same interpolation inside of strips:
///
/// ```text
/// scumble lab reproduce anonymized-histogram \
///     --elements 1e6 --epsilon 0.3,0.35,0.4,0.45,0.49 --family staircase,wide-staircase,zipf,hard,hard-alternating \
///     --layout strips,rows-and-strips,rows-and-columns --precision 0.01
/// ```
///
/// | error / √(n·ln(1/ε)/ε), `strips` / `rows-and-strips` / `rows-and-columns` | ε = 0.3 | 0.35 | 0.4 | 0.45 | 0.49 |
/// |---|---|---|---|---|---|
/// | staircase | 0.76 / 1.04 / 1.24 | 0.78 / 1.11 / 1.28 | 0.79 / 1.18 / 1.34 | 0.81 / 1.25 / 1.39 | 0.81 / 1.34 / 1.42 |
/// | wide-staircase | 0.80 / 1.07 / 1.09 | 0.80 / 1.12 / 1.11 | 0.81 / 1.20 / 1.16 | 0.82 / 1.27 / 1.20 | 0.84 / 1.34 / 1.23 |
/// | zipf | 0.63 / 0.71 / 0.86 | 0.65 / 0.72 / 0.88 | 0.65 / 0.72 / 0.91 | 0.65 / 0.74 / 0.92 | 0.68 / 0.74 / 0.95 |
/// | hard | 1.00 / 1.24 / 1.36 | 1.07 / 1.33 / 1.39 | 1.02 / 1.34 / 1.43 | 1.07 / 1.42 / 1.48 | 1.13 / 1.48 / 1.53 |
/// | hard-alternating | 1.10 / 1.28 / 1.37 | 1.15 / 1.34 / 1.43 | 1.09 / 1.40 / 1.46 | 1.16 / 1.47 / 1.51 | 1.23 / 1.53 / 1.56 |
///
/// What it costs: strips hide some cells, so that the proven error of `strips` is larger: 3.7 units at ε = 0.01, 4.7 at
/// 0.1, 7.6 at 0.3 and 11.8 at 0.49 (the column `proven/unit`), where `rows-and-columns` has 9.4, 4.4, 3.8 and 4.1. A
/// histogram comes nearer to it if its steps are where strips have their middles; the strips are therefore laid at
/// random. Steps in the middle of the strips of one layout, and so in that of few others, came to 2.4 units at n = 10⁶
/// and 2.8 at n = 10⁴ for ε = 0.49, and blocks like those of `hard-alternating` but of 8 cells each to 1.6 (tests
/// measure both at n = 10⁴).
///
/// **Between ε = 0.5 and 1** `strips` would have the smaller measured error too, but single rows and columns are proven
/// to be three times as good, so these are used:
///
/// ```text
/// scumble lab reproduce anonymized-histogram \
///     --elements 1e4,1e6 --epsilon 0.5,0.7,0.9 --family staircase,hard --layout rows-and-columns,strips --precision 0.01
/// ```
///
/// | error / (√n·e^−ε), `rows-and-columns` / `strips` | ε = 0.5 | 0.7 | 0.9 |
/// |---|---|---|---|
/// | staircase, n = 10⁴ | 2.91 / 1.73 | 2.63 / 1.81 | 2.55 / 1.99 |
/// | staircase, n = 10⁶ | 2.83 / 1.58 | 2.60 / 1.73 | 2.55 / 1.85 |
/// | hard, n = 10⁴ | 3.00 / 2.30 | 2.66 / 2.13 | 2.57 / 2.22 |
/// | hard, n = 10⁶ | 2.96 / 2.22 | 2.61 / 2.04 | 2.51 / 2.16 |
/// | proven, n = 10⁶ | 7.98 / 23.42 | 7.32 / 21.68 | 7.25 / 21.61 |
///
/// **Naive ways.** Noise on every count (\[HLMJ09\]) or on every prevalence, each followed by the same exact
/// projection, on staircases of 10⁴ elements; `--svg` draws `docs/pictures/anonymized-histograms-naive-high.svg`:
///
/// ```text
/// scumble lab reproduce anonymized-histogram \
///     --elements 1e4 --epsilon 0.01,0.03,0.1,0.2,0.3,0.4 --precision 0.05 --svg naive.svg \
///     --layout automatic,rows-and-columns,rows-only,columns-only
/// ```
///
/// | error / √(n·ln(1/ε)/ε), n = 10⁴ | ε = 0.01 | 0.03 | 0.1 | 0.2 | 0.3 | 0.4 |
/// |---|---|---|---|---|---|---|
/// | ours (`automatic`) | 0.79 | 0.67 | 0.71 | 0.82 | 0.82 | 0.84 |
/// | `rows-and-columns` | 1.31 | 1.17 | 1.15 | 1.20 | 1.23 | 1.40 |
/// | `rows-only` | 6.35 | 4.00 | 2.04 | 1.56 | 1.50 | 1.49 |
/// | `columns-only` | 6.22 | 4.66 | 2.00 | 1.61 | 1.49 | 1.51 |
///
/// From ε = 1 on the naive ways have the same measured error on these histograms (2.5 to 2.9 of √n·e^−ε), because the
/// projection repairs long flat stretches well; but they draw n noises instead of 2√n, and what can be proven for them
/// is √n times worse.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutChoice {
    /// By ε and the number of elements: rows and columns from ε = 0.5 on, strips below, nothing where noise would drown
    /// everything.
    #[default]
    Automatic,
    /// The √n largest counts, and of the rest how many values have count ≥ 1, ≥ 2, … (Algorithm 1).
    RowsAndColumns,
    /// The largest counts and the columns of the rest, both grouped into strips that widen, beginning at a random
    /// [`Phase`].
    Strips,
    /// Fewer rows, and columns grouped into strips that widen with the count (the rate of \[Sur19\], with the split by
    /// rank; spec B2).
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

/// Where the strips of [`LayoutChoice::Strips`] lie: a public coin, so that no data can have all of its steps in the
/// middle of strips, where they are seen worst.
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

/// A grouping of the cells of a Young diagram (row i has as many cells as the i-th largest count) into regions:
/// horizontal strips of the first rows, and vertical strips of what is below them, each (boundᵢ, boundᵢ₊₁\]. Cells
/// outside of all regions are dropped.
///
/// # Guarantee
/// A layout is a function of public numbers and of a public coin only. One element more or less is one cell more or
/// less, so the vector of areas moves by at most 1 in L1 norm (spec B0; the sensitivity claim in the proof of Theorem
/// 6).
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

    /// The spec's strips (B2.3) on both sides, for the diagram looks the same with rows and columns exchanged, and D
    /// smaller, since columns that are interpolated inside of a strip ([`super::reconstruct`]) hide less than flat
    /// ones. p_{R+1} ≤ n/(R+1), so that no cell is lost.
    ///
    /// Tuned on the families, hard instances of all weights, rectangles, random partitions and steps in resonance with
    /// the strips (measured at [`LayoutChoice`]): 0.75·√(εn/2Λ), and R = 0.6·√n, which is about where a hard diagram
    /// meets its diagonal. From ε ≈ 0.2 on the hard instances move 2 to 4 cells at a time, no longer more with 1/ε, and
    /// D stays at 0.095·√n.
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
