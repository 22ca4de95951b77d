//! The table against the distribution it stands for: every first word, and words that land inside the table's
//! uncertainty.

use super::*;
use crate::harness::effort;
use crate::noise::InsecureSeededSource;
use crate::noise::test_shapes;
use crate::noise::test_support::ScriptedBits;

/// Cumulative probabilities in the order of the cells, in units of 2^−bits: (low, high). Every weight is computed by
/// itself at a high precision, not by the recurrences that make the table.
fn reference<T: UnimodalWeights>(shape: &T, cells: usize, bits: u64) -> Vec<(BigInt, BigInt)> {
    let arithmetic = Arithmetic::new(bits + 100);
    let layout = shape.layout();
    let mut sum = Interval::zero();
    let mut ends = Vec::new();
    let mut cell = 0;
    let mut last_of_other_side = BigInt::one() << bits;
    loop {
        let block = block_of_cell(layout, cell);
        let weight = shape.ratio(&arithmetic, block.edge, 0).times_integer(&(BigInt::one() << block.length_log2));
        sum = sum.plus(&weight);
        ends.push(sum.clone());
        cell += 1;
        // All of these fall at least like e^{−blocks/64}: far below 2^−bits once a weight is below 2^−(bits + 20).
        if cell >= cells && weight.high.bits() < 60 && last_of_other_side.bits() < 60 {
            break;
        }
        last_of_other_side = weight.high;
    }
    sum.high += BigInt::one() << 80u32;
    ends.truncate(cells);
    let low = |end: &Interval| (&end.low << bits).div_floor(&sum.high);
    let high = |end: &Interval| (&end.high << bits).div_floor(&sum.low) + 1u32;
    ends.iter().map(|end| (low(end), high(end))).collect()
}

fn check_table<T: UnimodalWeights>(shape: &T) {
    let table = BlockTable::new(shape);
    let bits = 192;
    let reference = reference(shape, table.ends.len(), bits);
    // The stored bounds hold.
    for (end, (low, high)) in table.ends.iter().zip(&reference) {
        assert!(BigInt::from(*end) << (bits - 64) <= *low);
        assert!((BigInt::from(*end) + table.uncertainty) << (bits - 64) > *high);
    }
    assert!(table.uncertainty < 1 << 20, "{}", table.uncertainty);
    // Every decided first word lies wholly inside its cell.
    let mut decided = 0;
    for first in 0..FIRST_WORDS {
        let cell = usize::from(table.first_cells[first]);
        if cell == usize::from(UNDECIDED_CELL) {
            continue;
        }
        decided += 1;
        let (start, end) = (BigInt::from(first) << (bits - 16), BigInt::from(first + 1) << (bits - 16));
        assert!(end <= reference[cell].0, "first word {first} reaches beyond its cell");
        assert!(cell == 0 || start >= reference[cell - 1].1, "first word {first} begins before its cell");
        if let Some(offsets) = &table.offsets {
            assert_eq!(i128::from(offsets[first]), block_of_cell(shape.layout(), cell).edge);
        }
    }
    assert!(decided > FIRST_WORDS * 9 / 10, "only {decided} of the first words decide");
    check_kept(shape, &table);
    check_uncertain_words(shape, &table, &reference, bits);
}

/// What is surely kept is at most what is kept at the far end of the block.
fn check_kept<T: UnimodalWeights>(shape: &T, table: &BlockTable) {
    let arithmetic = Arithmetic::new(96);
    for (index, cell) in table.cells.iter().enumerate() {
        let block = block_of_cell(shape.layout(), index);
        // What `quickly` leans on when it adds without a check.
        assert!(!table.one_word || index >= usize::from(UNDECIDED_CELL) || cell.start < 1 << 41);
        if block.length_log2 == 0 {
            continue;
        }
        let far = block.at((1 << block.length_log2) - 1);
        let ratio = shape.ratio(&arithmetic, far, block.edge);
        assert!(BigInt::from(cell.surely_kept) << (96 - KEEP_BITS) <= ratio.high);
    }
}

/// A uniform real just below and just above a boundary, closer than the table knows it: 64 bits that land inside the
/// uncertainty, and then enough to tell.
fn check_uncertain_words<T: UnimodalWeights>(shape: &T, table: &BlockTable, reference: &[(BigInt, BigInt)], bits: u64) {
    let chosen = [0, 1, 2, 5, 17, reference.len() / 2, reference.len() - 2];
    // Cells of no weight (beyond the support) have no boundary of their own.
    let has_weight = |cell: usize| cell == 0 || reference[cell].0 > reference[cell - 1].1;
    let real =
        chosen.into_iter().filter(|cell| cell + 1 < reference.len() && has_weight(*cell) && has_weight(cell + 1));
    for boundary in real {
        let (low, high) = &reference[boundary];
        let word = (low >> (bits - 64)).to_u64().unwrap();
        let uncertain = word >= table.ends[boundary] && word - table.ends[boundary] < table.uncertainty;
        assert!(uncertain, "the boundary's own word must be undecided");
        let below = (low - 1u32).to_biguint().unwrap();
        let above = high.to_biguint().unwrap();
        for (real, cell) in [(below, boundary), (above, boundary + 1)] {
            let mut bits_of_real = ScriptedBits::new(real, bits);
            let first = bits_of_real.next_bits(16) as u16;
            let block = table.block_of_first(shape, first, &mut bits_of_real);
            let expected = block_of_cell(shape.layout(), cell);
            assert_eq!(block, expected, "boundary {boundary}");
            assert!(bits_of_real.used() > 64, "the first 64 bits must not have decided");
        }
    }
}

#[test]
fn tables_stand_for_their_distributions_at_every_first_word_and_at_uncertain_words() {
    for scale in [0.3, 10.0, 1e6] {
        check_table(&test_shapes::laplace(scale));
    }
    for sigma in [1.0, 99.5, 12345.678e10] {
        check_table(&test_shapes::gaussian(sigma));
    }
    for scale in [3.0, 1000.0] {
        check_table(&test_shapes::geometric(scale));
    }
}

#[test]
fn tables_of_the_other_shapes_stand_for_their_distributions() {
    check_table(&test_shapes::trials(100, 0.3));
    check_table(&test_shapes::trials(3, 0.5));
    check_table(&test_shapes::share(3.0, 7));
    check_table(&test_shapes::radius(2.0, 3));
    if effort(false, true) {
        check_table(&test_shapes::trials(1 << 60, 2f64.powi(-44)));
        check_table(&test_shapes::share(300.0, 3));
        check_table(&test_shapes::radius(100.0, 20));
    }
}

#[test]
fn a_word_beyond_the_table_finds_its_block_by_extending_the_table() {
    let shape = test_shapes::laplace(10.0);
    let table = BlockTable::new(&shape);
    // All ones: U = 1 − 2^−256. The tail beyond |z| ≥ m has the mass 2e^{−m/10}/(1 + e^{−1/10}): m is about 1775 + 0.
    let mut ones = ScriptedBits::new((BigUint::one() << 256u32) - 1u32, 256);
    let offset = table.sample(&shape, &mut ones);
    assert!((1700..1900).contains(&offset.abs()), "{offset}");
    assert!(offset.unsigned_abs() > table.cells.len() as u128 / 2);
}

#[test]
fn keeping_is_exact_at_its_own_boundary() {
    // The threshold e^{−x} itself, to 60 bits, and then the bits that tell the two sides apart.
    let shape = test_shapes::gaussian(1e4);
    let (offset, edge) = (300i128, 256i128);
    let arithmetic = Arithmetic::new(256);
    let ratio = shape.ratio(&arithmetic, offset, edge);
    for (real, kept) in [(&ratio.low - 1u32, true), (&ratio.high + 0u32, false)] {
        let mut script = ScriptedBits::new(real.to_biguint().unwrap(), 256);
        let leading = script.next_bits(KEEP_BITS);
        assert_eq!(keep(&shape, offset, edge, leading, &mut script), kept);
        assert!(script.used() > 128);
    }
}

#[test]
fn filling_and_sampling_never_leave_the_support() {
    let shape = test_shapes::geometric(3.0);
    let table = BlockTable::new(&shape);
    let mut bits = InsecureSeededSource::new(3);
    for _ in 0..100_000 {
        assert!(table.sample(&shape, &mut bits) >= 0);
    }
}
