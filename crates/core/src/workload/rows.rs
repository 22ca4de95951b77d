//! A fitted table, and whole rows made from it.

use super::domain::{Domain, Subset};
use crate::error::{Error, Result};

/// A non-negative table of counts over a domain, with the marginals that it was made for.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    domain: Domain,
    cells: Vec<f64>,
    tables: Vec<Subset>,
}

/// After so many passes over the cells, rounding to whole rows is good enough.
const PASSES: usize = 12;
/// Tables larger than this share of the domain would cost more to match than they are worth.
const MOST_TABLE_WORK: usize = 2_000_000_000;

impl Model {
    /// A table of counts; the marginals `tables` are what its rows shall match.
    pub fn new(domain: Domain, cells: Vec<f64>, tables: Vec<Subset>) -> Result<Self> {
        if cells.len() != domain.cells() || cells.iter().any(|cell| !(*cell >= 0.0 && cell.is_finite())) {
            return Err(Error::refused("a model needs one finite, non-negative count per cell of its domain"));
        }
        if cells.iter().sum::<f64>() > 1e12 {
            return Err(Error::refused("a model of more than 10^12 people cannot be made into rows"));
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
    /// Drawing rows at random would add an error of its own, about as large as that of the noise. Instead every cell is rounded up or
    /// down such that the errors of all marginals stay small: greedily first, then by repeated passes.
    ///
    /// ```
    /// use scumble::workload::{Domain, Model, Subset};
    /// let domain = Domain::new(vec![2, 2])?;
    /// let tables = vec![Subset::of(&[0]), Subset::of(&[1])];
    /// let model = Model::new(domain, vec![0.5, 1.5, 1.5, 0.5], tables)?;
    /// let counts = model.whole_counts();
    /// assert_eq!(counts.iter().sum::<u64>(), 4);
    /// assert_eq!(counts[0] + counts[1], 2);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn whole_counts(&self) -> Vec<u64> {
        Rounding::new(self).run()
    }

    /// Rows whose counts are [`Model::whole_counts`], in the order of the cells.
    pub fn rows(&self) -> Vec<Vec<u32>> {
        let counts = self.whole_counts();
        let repeated = counts.iter().enumerate().filter(|(_, count)| **count > 0).flat_map(|(cell, &count)| {
            let values = self.domain.values(cell);
            std::iter::repeat_n(values, count as usize)
        });
        repeated.collect()
    }
}

/// The state of rounding: the error of each marginal cell so far.
struct Rounding<'a> {
    model: &'a Model,
    counts: Vec<u64>,
    errors: Vec<Vec<f64>>,
    strides: Vec<Vec<usize>>,
}

impl<'a> Rounding<'a> {
    fn new(model: &'a Model) -> Self {
        let mut tables: Vec<Subset> = model.tables.clone();
        tables.push(Subset::EMPTY);
        tables.sort_unstable();
        tables.dedup();
        let affordable = MOST_TABLE_WORK / (model.domain.cells() * PASSES).max(1);
        tables.truncate(affordable.max(1));
        let strides = tables.iter().map(|&table| strides(&model.domain, table)).collect();
        let errors = tables.iter().map(|&table| vec![0.0; model.domain.table_cells(table)]).collect();
        Self { model, counts: vec![0; model.cells.len()], errors, strides }
    }

    fn run(mut self) -> Vec<u64> {
        let cells = self.model.cells.len();
        // A fixed odd step visits all cells in an order in which neighbours are far apart.
        let step = coprime_step(cells);
        for turn in 0..cells {
            self.round(turn * step % cells, true);
        }
        for _ in 0..PASSES {
            let changed = (0..cells).filter(|turn| self.round(turn * step % cells, false)).count();
            if changed == 0 {
                break;
            }
        }
        self.fix_total(step);
        self.counts
    }

    /// Rounds a cell down or up, whichever leaves the smaller errors; tells whether that changed it.
    fn round(&mut self, cell: usize, first: bool) -> bool {
        let exact = self.model.cells[cell];
        let down = exact.floor();
        let places = self.places(cell);
        // Without this cell's own rounding, what the marginals that hold it are off by.
        let own = if first { 0.0 } else { self.counts[cell] as f64 - exact };
        let others: f64 = places.iter().zip(&self.errors).map(|(&place, errors)| errors[place] - own).sum();
        let number = places.len() as f64 + 1.0;
        // Σ(e + r)² over the marginals, and r² for the cell: smaller for the rounding nearest to −Σe/number.
        let (low, high) = (down - exact, down + 1.0 - exact);
        let score = |rounding: f64| rounding * (2.0 * others + number * rounding);
        let best = if high < 1.0 && score(high) < score(low) { high } else { low };
        let change = best - own;
        places.iter().zip(&mut self.errors).for_each(|(&place, errors)| errors[place] += change);
        let count = (exact + best).round() as u64;
        let changed = count != self.counts[cell];
        self.counts[cell] = count;
        changed
    }

    /// The number of rows is the model's, rounded: single people are added or taken where the marginals gain most.
    fn fix_total(&mut self, step: usize) {
        let wanted = self.model.cells.iter().sum::<f64>().round() as i64;
        let cells = self.model.cells.len();
        let mut missing = wanted - self.counts.iter().sum::<u64>() as i64;
        while missing != 0 {
            let way = missing.signum();
            let allowed =
                |cell: usize, this: &Self| if way > 0 { this.model.cells[cell] > 0.0 } else { this.counts[cell] > 0 };
            let gain = |cell: usize, this: &Self| {
                let sum: f64 = this.places(cell).iter().zip(&this.errors).map(|(&place, errors)| errors[place]).sum();
                -sum * way as f64
            };
            let best = (0..cells)
                .map(|turn| turn * step % cells)
                .filter(|&cell| allowed(cell, self))
                .max_by(|&left, &right| gain(left, self).total_cmp(&gain(right, self)));
            let Some(cell) = best else { return };
            let places = self.places(cell);
            places.iter().zip(&mut self.errors).for_each(|(&place, errors)| errors[place] += way as f64);
            self.counts[cell] = self.counts[cell].saturating_add_signed(way);
            missing -= way;
        }
    }

    fn places(&self, cell: usize) -> Vec<usize> {
        let values = self.model.domain.values(cell);
        let place =
            |strides: &Vec<usize>| strides.iter().zip(&values).map(|(stride, &value)| stride * value as usize).sum();
        self.strides.iter().map(place).collect()
    }
}

fn strides(domain: &Domain, table: Subset) -> Vec<usize> {
    let mut strides = vec![0; domain.attributes()];
    let mut stride = 1;
    for attribute in (0..domain.attributes()).rev().filter(|&attribute| table.contains(attribute)) {
        strides[attribute] = stride;
        stride *= domain.sizes()[attribute] as usize;
    }
    strides
}

fn coprime_step(cells: usize) -> usize {
    let near = (cells as f64 * 0.618) as usize;
    (near.max(1)..).find(|&step| num_integer::gcd(step, cells) == 1).unwrap_or(1)
}
