//! All tables at once against one by one.

use super::*;
use proptest::prelude::*;

/// Domains of one block and of several (the first attribute of 20 × 1000 values is outside), with tables of any sets of
/// attributes.
fn cases() -> impl Strategy<Value = (Domain, Vec<Subset>, u64)> {
    let sizes = prop_oneof![
        prop::collection::vec(1u32..5, 1..6),
        (1u32..4, 1u32..21, 1u32..3).prop_map(|(a, b, c)| vec![a, b, c, 1000]),
        (2u32..4, 2u32..4).prop_map(|(a, b)| vec![a, 2, 100, b, 100]),
    ];
    (sizes, prop::collection::vec(any::<u64>(), 1..8), any::<u64>()).prop_map(|(sizes, masks, seed)| {
        let domain = Domain::new(sizes).unwrap();
        let set = |mask: u64| Subset::of(&(0..domain.attributes()).filter(|a| mask >> a & 1 == 1).collect::<Vec<_>>());
        let mut tables: Vec<Subset> = masks.into_iter().map(set).collect();
        tables.sort_unstable();
        tables.dedup();
        (domain, tables, seed)
    })
}

/// Small whole numbers, whose sums are exact in any order.
fn numbers(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed | 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 60
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn all_tables_at_once_are_those_one_by_one((domain, tables, seed) in cases()) {
        let mut number = numbers(seed);
        let cells: Vec<u64> = (0..domain.cells()).map(|_| number()).collect();
        let nest = Nest::new(&domain, &tables);
        let mut gather = BlockGatherer::new(&nest);
        cells.chunks_exact(nest.block_cells()).enumerate().for_each(|(block, cells)| gather.add(block, cells));
        for (table, gathered) in tables.iter().zip(gather.finish()) {
            prop_assert_eq!(gathered, domain.marginal(&cells, *table));
        }
        prop_assert_eq!(total(&cells), cells.iter().sum::<u64>());
    }

    #[test]
    fn what_tables_give_to_a_cell_is_the_sum_of_their_values_there((domain, tables, seed) in cases()) {
        let mut number = numbers(seed);
        let values: Vec<Vec<f64>> =
            tables.iter().map(|&table| (0..domain.table_cells(table)).map(|_| number() as f64).collect()).collect();
        let (mut sums, mut products) = (vec![0.0; domain.cells()], vec![1.0; domain.cells()]);
        for (&table, values) in tables.iter().zip(&values) {
            let mut places = domain.places(table);
            for (sum, product) in sums.iter_mut().zip(&mut products) {
                let value = values[places.next_place()];
                *sum += value;
                *product *= value - 7.0;
            }
        }
        let nest = Nest::new(&domain, &tables);
        let less: Vec<Vec<f64>> = values.iter().map(|table| table.iter().map(|value| value - 7.0).collect()).collect();
        let (mut spread, mut scale) = (BlockSpreader::<SumJoin>::new(&nest, values), BlockSpreader::<ProductJoin>::new(&nest, less));
        let mut out = vec![0.0; nest.block_cells()];
        for block in 0..nest.blocks() {
            let own = block * out.len()..(block + 1) * out.len();
            spread.block(block, &mut out);
            prop_assert_eq!(&out, &sums[own.clone()]);
            prop_assert_eq!(largest(&out), sums[own.clone()].iter().copied().fold(f64::NEG_INFINITY, f64::max));
            scale.block(block, &mut out);
            prop_assert_eq!(&out, &products[own]);
        }
    }
}
