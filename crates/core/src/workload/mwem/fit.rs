//! The model of the rounds: shares of all cells, moved by multiplicative weights.

use super::super::domain::Subset;
use super::super::nested::{BlockGatherer, BlockSpreader, Nest, ProductJoin, total};
use super::super::predicate::Queries;

/// What a round has measured.
pub(super) struct MeasuredRound {
    nest: Nest,
    /// For each query: the cells of its table where it is 1, how many cells that table has, and the measured share of
    /// people.
    queries: Vec<(Vec<u32>, usize, f64)>,
}

impl MeasuredRound {
    /// Queries with what was measured of them, as shares of the people.
    pub(super) fn new(queries: &Queries, measured: &[(usize, f64)]) -> Self {
        let asked: Vec<(Subset, &[u32])> = measured.iter().map(|&(query, _)| queries.members(query)).collect();
        let tables: Vec<Subset> = asked.iter().map(|(table, _)| *table).collect();
        let query = |(&(table, members), &(_, answer)): (&(Subset, &[u32]), &(usize, f64))| {
            (members.to_vec(), queries.domain().table_cells(table), answer)
        };
        Self { nest: Nest::new(queries.domain(), &tables), queries: asked.iter().zip(measured).map(query).collect() }
    }

    /// By what each cell of each table is to be multiplied, given the model's tables: exp(step·(a − q(A))) where the
    /// query is 1, and by what makes all shares add up to 1 again, which the sum of any table tells.
    fn factors(&self, tables: &[Vec<f64>], step: f64) -> Vec<Vec<f64>> {
        let sum = tables.first().map_or(1.0, |table| total(table));
        let mut normalise = 1.0 / sum;
        let factors = |((members, cells, answer), table): (&(Vec<u32>, usize, f64), &Vec<f64>)| {
            let expected = members.iter().map(|&cell| table[cell as usize]).sum::<f64>() / sum;
            let mut factors = vec![normalise; *cells];
            let factor = (step * (answer - expected)).exp();
            members.iter().for_each(|&cell| factors[cell as usize] *= factor);
            normalise = 1.0;
            factors
        };
        self.queries.iter().zip(tables).map(factors).collect()
    }
}

/// A(u) ← A(u)·exp(step·Σ q_i(u)(a_i − q_i(A))) for one round after the other, `passes` times over; shares add up to 1
/// in the end.
///
/// Each update is one walk over the cells, which also makes the tables that the next update needs.
pub(super) fn refit(shares: &mut [f64], rounds: &[MeasuredRound], passes: usize, step: f64) {
    let mut turns = (0..passes).flat_map(|_| rounds).filter(|round| !round.queries.is_empty()).peekable();
    let Some(first) = turns.peek() else { return };
    let mut factors = vec![0.0; first.nest.block_cells()];
    let mut gather = BlockGatherer::new(&first.nest);
    shares.chunks_exact(factors.len()).enumerate().for_each(|(number, block)| gather.add(number, block));
    let mut tables = gather.finish();
    while let Some(round) = turns.next() {
        let mut spread = BlockSpreader::<ProductJoin>::new(&round.nest, round.factors(&tables, step));
        let mut gather = turns.peek().map(|next| BlockGatherer::new(&next.nest));
        for (number, block) in shares.chunks_exact_mut(factors.len()).enumerate() {
            spread.block(number, &mut factors);
            block.iter_mut().zip(&factors).for_each(|(share, factor)| *share *= factor);
            if let Some(gather) = &mut gather {
                gather.add(number, block);
            }
        }
        tables = gather.map(BlockGatherer::finish).unwrap_or_default();
    }
    let sum = total(shares);
    shares.iter_mut().for_each(|share| *share /= sum);
}

#[cfg(test)]
mod tests {
    use super::super::super::domain::Domain;
    use super::*;
    use proptest::prelude::*;

    /// The update as it is written, cell by cell.
    fn by_definition(queries: &Queries, shares: &mut [f64], round: &[(usize, f64)], step: f64) {
        let mut exponents = vec![0.0; shares.len()];
        for &(query, answer) in round {
            let (table, members) = queries.members(query);
            let mut places = queries.domain().places(table);
            let held: Vec<bool> = shares.iter().map(|_| members.contains(&(places.next_place() as u32))).collect();
            let expected: f64 = shares.iter().zip(&held).filter(|(_, held)| **held).map(|(share, _)| share).sum();
            let exponents = exponents.iter_mut().zip(&held).filter(|(_, held)| **held);
            exponents.for_each(|(exponent, _)| *exponent += step * (answer - expected));
        }
        shares.iter_mut().zip(&exponents).for_each(|(share, exponent)| *share *= exponent.exp());
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= sum);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn the_walk_makes_the_updates_as_they_are_written(
            sizes in prop_oneof![prop::collection::vec(1u32..4, 4), Just(vec![3, 40, 2, 100])],
            picks in prop::collection::vec(prop::collection::vec((0usize..10_000, 0.0f64..1.0), 0..3), 1..4),
            passes in 1usize..3,
        ) {
            let domain = Domain::new(sizes).unwrap();
            let queries = Queries::marginals(&domain, 2).unwrap();
            let number = queries.len();
            let measured: Vec<Vec<(usize, f64)>> =
                picks.into_iter().map(|round| round.into_iter().map(|(query, answer)| (query % number, answer)).collect()).collect();
            let start: Vec<f64> = (0..domain.cells()).map(|cell| (1 + cell * 7 % 5) as f64).collect();
            let sum: f64 = start.iter().sum();
            let mut wanted: Vec<f64> = start.iter().map(|share| share / sum).collect();
            let mut fitted = wanted.clone();
            for _ in 0..passes {
                measured.iter().for_each(|round| by_definition(&queries, &mut wanted, round, 2.0));
            }
            let rounds: Vec<MeasuredRound> = measured.iter().map(|round| MeasuredRound::new(&queries, round)).collect();
            refit(&mut fitted, &rounds, passes, 2.0);
            for (fitted, wanted) in fitted.iter().zip(&wanted) {
                prop_assert!((fitted / wanted - 1.0).abs() < 1e-9, "{} {}", fitted, wanted);
            }
        }
    }
}
