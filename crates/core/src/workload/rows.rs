//! A fitted table, and whole rows made from it.

use super::domain::{Domain, Subset};
use crate::error::Result;

/// A non-negative table of counts over a domain, with the marginals that it was made for.
#[derive(Debug, Clone, PartialEq)]
pub struct CountModel {
    domain: Domain,
    cells: Vec<f64>,
    tables: Vec<Subset>,
}

/// Nobody has a table of more people.
const MOST_PEOPLE: f64 = 1e12;
/// After this many passes over the cells, rounding to whole rows is good enough.
const MOST_PASSES: usize = 12;
/// Cells are looked up in tables at most so often; in large domains there are fewer passes, and in the end fewer
/// tables, therefore.
const MOST_TABLE_WORK: u64 = 10_000_000_000;
/// Tables have at most this many cells together, since their places are kept as u32.
const MOST_TABLE_CELLS: usize = 1 << 31;

/// How often work of this size may be done. Where places have 32 bits, as in a browser, the whole has more.
fn times_within_work(size: usize) -> usize {
    usize::try_from(MOST_TABLE_WORK / size.max(1) as u64).unwrap_or(usize::MAX)
}

impl CountModel {
    /// A table of counts; the marginals `tables` are what its rows shall match. More than 10¹² people can only be
    /// noise: they are scaled down to that many.
    pub fn new(domain: Domain, mut cells: Vec<f64>, tables: Vec<Subset>) -> Result<Self> {
        if cells.len() != domain.cells() || cells.iter().any(|cell| !(*cell >= 0.0 && cell.is_finite())) {
            refuse!("a model needs one finite, non-negative count per cell of its domain");
        }
        // In units of the largest cell, so that the sum of finite cells is finite.
        let largest = cells.iter().copied().fold(1.0, f64::max);
        let people = cells.iter().map(|cell| cell / largest).sum::<f64>();
        if people * largest > MOST_PEOPLE {
            cells.iter_mut().for_each(|cell| *cell = *cell / largest * (MOST_PEOPLE / people));
        }
        Ok(Self { domain, cells, tables })
    }

    /// The counts, one per cell.
    pub fn cells(&self) -> &[f64] {
        &self.cells
    }

    /// The domain.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The marginal table of a subset.
    pub fn marginal(&self, table: Subset) -> Vec<f64> {
        self.domain.marginal(&self.cells, table)
    }

    /// The marginal tables of many subsets, much faster than one by one.
    pub fn marginals(&self, tables: &[Subset]) -> Vec<Vec<f64>> {
        self.domain.marginals(&self.cells, tables)
    }

    /// Whole numbers, one per cell, whose marginals are those of the model to within a few people.
    ///
    /// Drawing rows at random would add an error of its own, about as large as that of the noise. Instead every cell is
    /// rounded up or down such that the errors of all marginals stay small: greedily first, then by repeated passes.
    ///
    /// ```
    /// use scumble::workload::{Domain, CountModel, Subset};
    /// let domain = Domain::new(vec![2, 2])?;
    /// let tables = vec![Subset::of(&[0]), Subset::of(&[1])];
    /// let model = CountModel::new(domain, vec![0.5, 1.5, 1.5, 0.5], tables)?;
    /// let counts = model.whole_counts();
    /// assert_eq!(counts.iter().sum::<u64>(), 4);
    /// assert_eq!(counts[0] + counts[1], 2);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn whole_counts(&self) -> Vec<u64> {
        Rounding::new(self).run()
    }

    /// Rows whose counts are [`CountModel::whole_counts`], in the order of the cells.
    pub fn rows(&self) -> Vec<Vec<u32>> {
        let counts = self.whole_counts();
        let repeated = counts.iter().enumerate().filter(|(_, count)| **count > 0).flat_map(|(cell, &count)| {
            let values = self.domain.values(cell);
            std::iter::repeat_n(values, count as usize)
        });
        repeated.collect()
    }
}

/// The state of rounding.
struct Rounding<'a> {
    model: &'a CountModel,
    counts: Vec<u64>,
    /// The error of each marginal cell so far, one table after the other.
    errors: Vec<f64>,
    places: TablePlaces,
}

impl<'a> Rounding<'a> {
    fn new(model: &'a CountModel) -> Self {
        let mut tables: Vec<Subset> = model.tables.clone();
        tables.push(Subset::EMPTY);
        tables.sort_unstable();
        tables.dedup();
        // At least two passes must be affordable, and the total comes first.
        tables.truncate(times_within_work(2 * model.domain.cells()).max(1));
        let mut cells = 0;
        tables.retain(|&table| {
            let more = cells + model.domain.table_cells(table);
            let fits = more <= MOST_TABLE_CELLS;
            cells = if fits { more } else { cells };
            fits
        });
        let places = TablePlaces::new(&model.domain, &tables);
        Self { model, counts: vec![0; model.cells.len()], errors: vec![0.0; cells], places }
    }

    fn run(mut self) -> Vec<u64> {
        let cells = self.model.cells.len();
        let passes = times_within_work(cells * self.places.tables).clamp(1, MOST_PASSES);
        // A fixed odd step visits all cells in an order in which neighbours are far apart.
        let step = coprime_step(cells);
        for turn in 0..cells {
            self.round(turn * step % cells, true);
        }
        // What is left to mend is spread over all cells: any order will do, and the order of the cells is the quickest.
        for _ in 0..passes {
            let changed = (0..cells).filter(|&cell| self.round(cell, false)).count();
            if changed == 0 {
                break;
            }
        }
        self.fix_total();
        self.counts
    }

    /// Rounds a cell down or up, whichever leaves the smaller errors; tells whether that changed it.
    fn round(&mut self, cell: usize, first: bool) -> bool {
        let exact = self.model.cells[cell];
        let down = exact.floor();
        // Without this cell's own rounding, what the marginals that hold it are off by.
        let own = if first { 0.0 } else { self.counts[cell] as f64 - exact };
        let tables = self.places.tables as f64;
        let others = self.error(cell) - tables * own;
        let number = tables + 1.0;
        // Σ(e + r)² over the marginals, and r² for the cell: smaller for the rounding nearest to −Σe/number.
        let (low, high) = (down - exact, down + 1.0 - exact);
        let score = |rounding: f64| rounding * (2.0 * others + number * rounding);
        let best = if high < 1.0 && score(high) < score(low) { high } else { low };
        self.change(cell, best - own);
        let count = (exact + best).round() as u64;
        let changed = count != self.counts[cell];
        self.counts[cell] = count;
        changed
    }

    /// The sum of the errors of the marginal cells that hold a cell.
    fn error(&self, cell: usize) -> f64 {
        self.places.of(cell).map(|place| self.errors[place]).sum()
    }

    fn change(&mut self, cell: usize, by: f64) {
        if by != 0.0 {
            self.places.of(cell).for_each(|place| self.errors[place] += by);
        }
    }

    /// The number of rows is the model's, rounded: single people are added or taken where the marginals gain most.
    fn fix_total(&mut self) {
        let wanted = self.model.cells.iter().sum::<f64>().round() as i64;
        let mut missing = wanted - self.counts.iter().sum::<u64>() as i64;
        while missing != 0 {
            let way = missing.signum();
            let mut candidates = self.candidates(way, missing.unsigned_abs() as usize);
            if candidates.is_empty() {
                return;
            }
            // One walk over the cells serves many people: their number halves with each, at least.
            for _ in 0..missing.unsigned_abs().div_ceil(2) {
                let gain = |&cell: &usize| -self.error(cell) * way as f64;
                let best = (0..candidates.len())
                    .max_by(|&left, &right| gain(&candidates[left]).total_cmp(&gain(&candidates[right])));
                let Some(best) = best else { break };
                let cell = candidates.swap_remove(best);
                self.change(cell, way as f64);
                self.counts[cell] = self.counts[cell].saturating_add_signed(way);
                missing -= way;
            }
        }
    }

    /// The cells where one more person (or one less) helps most.
    fn candidates(&self, way: i64, number: usize) -> Vec<usize> {
        let keep = 16 + 4 * number.min(250);
        let mut best: Vec<(f64, usize)> = Vec::with_capacity(2 * keep);
        let best_first = |left: &(f64, usize), right: &(f64, usize)| right.0.total_cmp(&left.0);
        for cell in 0..self.counts.len() {
            let is_allowed = if way > 0 { self.model.cells[cell] > 0.0 } else { self.counts[cell] > 0 };
            if is_allowed {
                best.push((-self.error(cell) * way as f64, cell));
            }
            if best.len() == 2 * keep {
                best.select_nth_unstable_by(keep, best_first);
                best.truncate(keep);
            }
        }
        best.sort_by(best_first);
        best.into_iter().take(keep).map(|(_, cell)| cell).collect()
    }
}

/// Where a cell is in each table, of all tables one after the other: what its first attributes say, and what its last
/// ones add.
struct TablePlaces {
    tables: usize,
    inner_cells: usize,
    of_outer: Vec<u32>,
    of_inner: Vec<u32>,
}

impl TablePlaces {
    fn new(domain: &Domain, tables: &[Subset]) -> Self {
        let sizes: Vec<usize> = domain.sizes().iter().map(|&size| size as usize).collect();
        let (mut first_inner, mut inner_cells) = (sizes.len(), 1usize);
        while first_inner > 0 && inner_cells * inner_cells < domain.cells() {
            first_inner -= 1;
            inner_cells *= sizes[first_inner];
        }
        let (mut of_outer, mut of_inner) = (Vec::new(), Vec::new());
        let strides: Vec<Vec<usize>> = tables.iter().map(|&table| domain.strides(sizes.len(), table)).collect();
        let place = |cell: usize, strides: &Vec<usize>| {
            strides.iter().zip(domain.values(cell)).map(|(stride, value)| stride * value as usize).sum::<usize>() as u32
        };
        for outer in 0..domain.cells() / inner_cells {
            let mut start = 0;
            for (strides, &table) in strides.iter().zip(tables) {
                of_outer.push(start + place(outer * inner_cells, strides));
                start += domain.table_cells(table) as u32;
            }
        }
        for inner in 0..inner_cells {
            of_inner.extend(strides.iter().map(|strides| place(inner, strides)));
        }
        Self { tables: tables.len(), inner_cells, of_outer, of_inner }
    }

    fn of(&self, cell: usize) -> impl Iterator<Item = usize> {
        let (outer, inner) = (cell / self.inner_cells * self.tables, cell % self.inner_cells * self.tables);
        let outer = &self.of_outer[outer..outer + self.tables];
        let inner = &self.of_inner[inner..inner + self.tables];
        outer.iter().zip(inner).map(|(outer, inner)| (outer + inner) as usize)
    }
}

fn coprime_step(cells: usize) -> usize {
    let near = (cells as f64 * 0.618) as usize;
    (near.max(1)..).find(|&step| num_integer::gcd(step, cells) == 1).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_marginal_tables() {
        for sizes in [vec![3, 1, 4, 2, 2], vec![7], vec![2, 30], vec![30, 2]] {
            let domain = Domain::new(sizes).unwrap();
            let tables: Vec<Subset> = domain.all().subsets().collect();
            let places = TablePlaces::new(&domain, &tables);
            for cell in 0..domain.cells() {
                let mut one = vec![0u64; domain.cells()];
                one[cell] = 1;
                let by_table = tables.iter().flat_map(|&table| domain.marginal(&one, table));
                let wanted: Vec<usize> =
                    by_table.enumerate().filter(|(_, n)| *n == 1).map(|(place, _)| place).collect();
                assert_eq!(places.of(cell).collect::<Vec<usize>>(), wanted);
            }
        }
    }

    #[test]
    fn a_large_sparse_table_has_rows_with_its_marginals_and_its_total() {
        // 600 people evenly over 160,000 cells, and 400 in one of them.
        let domain = Domain::new(vec![20; 4]).unwrap();
        let mut cells = vec![600.0 / 160_000.0; 160_000];
        cells[77_777] += 400.0;
        let tables: Vec<Subset> = (1..=2).flat_map(|size| Subset::all_of_size(4, size)).collect();
        let model = CountModel::new(domain.clone(), cells, tables.clone()).unwrap();
        let counts: Vec<f64> = model.whole_counts().iter().map(|&count| count as f64).collect();
        assert_eq!(counts.iter().sum::<f64>(), 1000.0);
        for (wanted, got) in model.marginals(&tables).iter().zip(domain.marginals(&counts, &tables)) {
            assert!(wanted.iter().zip(&got).all(|(wanted, got)| (wanted - got).abs() < 6.0), "{wanted:?} {got:?}");
        }
    }

    /// At a tiny cost the noise alone is more than 10¹² people; that was an error after the charge.
    #[test]
    fn a_table_of_noise_is_scaled_down_rather_than_refused() {
        let domain = Domain::new(vec![2]).unwrap();
        for cells in [vec![3e12, 1e12], vec![f64::MAX, f64::MAX / 3.0]] {
            let model = CountModel::new(domain.clone(), cells, vec![]).unwrap();
            let wanted = [0.75e12, 0.25e12];
            assert!(
                model.cells().iter().zip(wanted).all(|(got, wanted)| (got - wanted).abs() < 1.0),
                "{:?}",
                model.cells()
            );
        }
        assert_eq!(CountModel::new(domain, vec![1.0, 2.0], vec![]).unwrap().cells(), [1.0, 2.0]);
    }
}
