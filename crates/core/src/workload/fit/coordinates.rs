//! From coefficients to cells and back, in one walk over the cells.
//!
//! The coefficients of a set of attributes are those of the set's own small table: transforming these tables and adding
//! them up over the cells by nested partial sums costs a few additions per cell, where a transform of the whole table
//! has two passes per attribute.

use super::super::domain::Domain;
use super::super::nested::{self, BlockGatherer, BlockSpreader, Nest, SumJoin};
use super::super::transform;
use super::Coefficient;

/// Where coefficients are in the tables of their sets of attributes.
pub(super) struct Coordinates {
    nest: Nest,
    tables: Vec<CoordinateTable>,
}

/// The table of one set of attributes.
struct CoordinateTable {
    domain: Domain,
    /// A vector of the whole table's basis is constant in the attributes outside: of length 1 together with this
    /// factor.
    share: f64,
    /// The place of each of its coefficients, which stand one after the other.
    places: Vec<usize>,
}

impl Coordinates {
    /// Of these coefficients; those of one set stand together.
    pub(super) fn new(domain: &Domain, observed: &[Coefficient]) -> Self {
        let mut subsets = Vec::new();
        let mut tables: Vec<CoordinateTable> = Vec::new();
        for group in observed.chunk_by(|left, right| left.subset == right.subset) {
            let subset = group[0].subset;
            let own = domain.of(subset);
            let share = (own.cells() as f64 / domain.cells() as f64).sqrt();
            let places = group.iter().map(|coefficient| domain.place(coefficient.index, subset)).collect();
            subsets.push(subset);
            tables.push(CoordinateTable { domain: own, share, places });
        }
        Self { nest: Nest::new(domain, &subsets), tables }
    }

    /// What parameters of the coefficients add to each cell, table by table.
    fn spread(&self, parameters: &[f64]) -> BlockSpreader<'_, SumJoin> {
        let mut rest = parameters;
        let of = |table: &CoordinateTable| {
            let (own, others) = rest.split_at(table.places.len());
            rest = others;
            let mut cells = vec![0.0; table.domain.cells()];
            table.places.iter().zip(own).for_each(|(&place, &parameter)| cells[place] = parameter * table.share);
            transform::inverse(&table.domain, &mut cells);
            cells
        };
        BlockSpreader::new(&self.nest, self.tables.iter().map(of).collect())
    }

    fn of_tables(&self, tables: Vec<Vec<f64>>) -> Vec<f64> {
        let mut coefficients = Vec::new();
        for (table, mut cells) in self.tables.iter().zip(tables) {
            transform::forward(&table.domain, &mut cells);
            coefficients.extend(table.places.iter().map(|&place| cells[place] * table.share));
        }
        coefficients
    }

    /// The coefficients of a table of cells.
    pub(super) fn of_cells(&self, cells: &[f64]) -> Vec<f64> {
        let mut gather = BlockGatherer::new(&self.nest);
        cells.chunks_exact(self.nest.block_cells()).enumerate().for_each(|(number, block)| gather.add(number, block));
        self.of_tables(gather.finish())
    }

    /// The cells q = p·exp(Uᵀθ), and their coefficients.
    pub(super) fn tilted(&self, reference: &[f64], parameters: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut spread, mut gather) = (self.spread(parameters), BlockGatherer::new(&self.nest));
        let mut cells = vec![0.0; reference.len()];
        let size = self.nest.block_cells();
        for (number, (block, start)) in cells.chunks_exact_mut(size).zip(reference.chunks_exact(size)).enumerate() {
            spread.block(number, block);
            // No cell may leave the range of f64: beyond e^{±50} a line search has gone astray and will come back.
            block.iter_mut().zip(start).for_each(|(cell, &start)| *cell = start * cell.clamp(-50.0, 50.0).exp());
            gather.add(number, block);
        }
        (cells, self.of_tables(gather.finish()))
    }

    /// By how much these parameters change the logarithm of a cell at most.
    pub(super) fn largest_change(&self, parameters: &[f64]) -> f64 {
        let mut spread = self.spread(parameters);
        let mut block = vec![0.0; self.nest.block_cells()];
        let mut largest = 0.0f64;
        for number in 0..self.nest.blocks() {
            spread.block(number, &mut block);
            block.iter_mut().for_each(|value| *value = value.abs());
            largest = largest.max(nested::largest(&block));
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::domain::Subset;
    use super::*;

    /// All coefficients of sets of at most two attributes, against transforms of the whole table.
    #[test]
    fn a_walk_is_a_transform() {
        for sizes in [vec![3, 2, 4, 1, 2], vec![2; 7], vec![5]] {
            let domain = Domain::new(sizes).unwrap();
            let sets: Vec<Subset> = domain.all().subsets().filter(|subset| subset.len() <= 2).collect();
            let mut observed: Vec<Coefficient> = Vec::new();
            for &subset in &sets {
                let belongs = |index: &usize| {
                    let digits = domain.values(*index).into_iter().enumerate();
                    digits.filter(|(_, digit)| *digit > 0).map(|(j, _)| j).fold(Subset::EMPTY, Subset::with) == subset
                };
                let indices = (0..domain.cells()).filter(belongs);
                observed.extend(indices.map(|index| Coefficient { index, subset, value: 0.0, variance: 1.0 }));
            }
            let coordinates = Coordinates::new(&domain, &observed);
            let parameters: Vec<f64> = (0..observed.len()).map(|k| ((k * 7 + 3) % 11) as f64 / 20.0 - 0.2).collect();
            let reference: Vec<f64> = (0..domain.cells()).map(|cell| 1.0 + (cell % 5) as f64).collect();
            let mut logarithms = vec![0.0; domain.cells()];
            observed.iter().zip(&parameters).for_each(|(one, &parameter)| logarithms[one.index] = parameter);
            transform::inverse(&domain, &mut logarithms);
            let expected: Vec<f64> = logarithms.iter().zip(&reference).map(|(log, start)| start * log.exp()).collect();
            let mut coefficients = expected.clone();
            transform::forward(&domain, &mut coefficients);
            let (cells, found) = coordinates.tilted(&reference, &parameters);
            let near = |left: f64, right: f64| (left - right).abs() < 1e-9 * right.abs().max(1.0);
            assert!(cells.iter().zip(&expected).all(|(&left, &right)| near(left, right)));
            assert!(found.iter().zip(&observed).all(|(&value, one)| near(value, coefficients[one.index])));
            assert_eq!(found, coordinates.of_cells(&cells));
            let largest = logarithms.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
            assert!(near(coordinates.largest_change(&parameters), largest));
        }
    }
}
