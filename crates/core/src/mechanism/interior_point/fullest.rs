//! The node with the largest noisy count among up to 2^128, of which only the occupied ones are touched.

use crate::error::{Error, Result};
use crate::mechanism::huge_domain::surviving_absent;
use crate::noise::refine::Precision;
use crate::noise::{BitSource, SinhNormal, uniform};
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, ToPrimitive};
use std::collections::BTreeMap;

/// The node (a key without its `level` lowest bits) with the largest noisy count; a uniformly random one if no noisy count
/// exceeds a public bar.
///
/// # Guarantee
/// Exactly a function of independent noise on the counts of all nodes of the level. The bar is such that at most about two
/// empty nodes are expected above it: their number is drawn exactly, their places uniformly, their noise from the tail.
pub(super) fn fullest_node<S: BitSource + ?Sized>(
    sorted: &[u128],
    level: u32,
    key_bits: u32,
    noise: &SinhNormal,
    bits: &mut S,
) -> Result<u128> {
    if level == key_bits {
        return Ok(0);
    }
    let last_node = u128::MAX >> (128 - (key_bits - level));
    let mut present: BTreeMap<u128, i64> = BTreeMap::new();
    for run in sorted.chunk_by(|a, b| a >> level == b >> level) {
        present.insert(run[0] >> level, run.len() as i64);
    }
    let bar = Bar::new(noise, last_node)?;
    let mut best: Option<(i64, u128)> = None;
    let mut offer = |noisy: i64, node: u128| {
        // The lowest of equals: any rule that does not look at the data.
        if noisy > bar.height && best.is_none_or(|(most, place)| noisy > most || (noisy == most && node < place)) {
            best = Some((noisy, node));
        }
    };
    for (node, count) in &present {
        offer(count.saturating_add(noise.sample(bits)), *node);
    }
    let survives = |precision: Precision| precision.ratio(&bar.exceeds);
    for node in surviving_absent(last_node, &present, &survives, bits) {
        offer(bar.draw_above(noise, bits), node);
    }
    let anywhere = |bits: &mut S| uniform::below(bits, &(BigUint::from(last_node) + 1u32)).to_u128().unwrap_or(0);
    Ok(best.map_or_else(|| anywhere(bits), |(_, node)| node))
}

/// The bar for this many nodes: for tests of the whole recursion.
#[cfg(test)]
pub(super) fn bar_height(noise: &SinhNormal, last_node: u128) -> i64 {
    Bar::new(noise, last_node).expect("a small level has a bar").height
}

/// A height that noise exceeds with a known rational probability.
struct Bar {
    height: i64,
    exceeds: BigRational,
}

impl Bar {
    /// The least height above which at most two of the nodes are expected.
    fn new(noise: &SinhNormal, last_node: u128) -> Result<Self> {
        let table = noise.table();
        let whole = BigInt::one() << 128u32;
        let nodes: BigInt = BigInt::from(last_node) + BigInt::one();
        let few = |exceeds: &BigRational| {
            exceeds * BigRational::from_integer(nodes.clone()) <= BigRational::from_integer(2.into())
        };
        let mut above = table.tail_weight();
        let mut height = table.last_index();
        if few(&BigRational::new(above.into(), whole.clone())) {
            // Down, while the expectation stays small.
            while height > 0 {
                let next = above + table.weights()[height];
                if !few(&BigRational::new(next.into(), whole.clone())) {
                    break;
                }
                above = next;
                height -= 1;
            }
            return Ok(Self { height: height as i64, exceeds: BigRational::new(above.into(), whole) });
        }
        // Up into the geometric tail.
        let step = BigInt::one() << table.tail_bits();
        let keep = BigRational::new(&step - BigInt::one(), step);
        let mut exceeds = BigRational::new(above.into(), whole);
        for beyond in 1..20_000i64 {
            exceeds *= &keep;
            if few(&exceeds) {
                return Ok(Self { height: height as i64 + beyond, exceeds });
            }
        }
        Err(Error::refused("the domain is too large for the tails of this table: use the exponential mechanism"))
    }

    /// Noise given that it is above the bar.
    fn draw_above<S: BitSource + ?Sized>(&self, noise: &SinhNormal, bits: &mut S) -> i64 {
        let table = noise.table();
        let last = table.last_index() as i64;
        let tail = |start: i64, bits: &mut S| {
            let mask = (1u64 << table.tail_bits()) - 1;
            let mut index = start;
            while bits.next_u64() & mask != 0 {
                index += 1;
            }
            index
        };
        if self.height >= last {
            return tail(self.height + 1, bits);
        }
        let mut place = uniform::below(bits, table.above(self.height as usize));
        for index in self.height + 1..=last {
            let weight = table.weights()[index as usize];
            if place < weight {
                return index;
            }
            place -= weight;
        }
        tail(last + 1, bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::InsecureSeededSource;
    use crate::quantity::{Scale, Sigma};

    fn noise() -> SinhNormal {
        SinhNormal::new(Sigma::new(1.286).unwrap(), Scale::new(2.7).unwrap()).unwrap()
    }

    #[test]
    fn sparse_and_dense_argmax_have_the_same_distribution() {
        // 8 nodes, one with 3 keys. Dense: noise on all nodes, the same rule. χ² of two samples over 8 nodes, 2·10^4 draws each.
        let noise = noise();
        let sorted = [5u128, 5, 5];
        let bar = Bar::new(&noise, 7).unwrap();
        let draws = 20_000;
        let (mut sparse, mut dense) = ([0f64; 8], [0f64; 8]);
        let mut bits = InsecureSeededSource::new(31);
        for _ in 0..draws {
            sparse[fullest_node(&sorted, 0, 3, &noise, &mut bits).unwrap() as usize] += 1.0;
            let counts = [0, 0, 0, 0, 0, 3, 0, 0];
            let noisy: Vec<i64> = counts.iter().map(|count| count + noise.sample(&mut bits)).collect();
            let most = *noisy.iter().max().unwrap();
            let node = if most > bar.height {
                noisy.iter().position(|value| *value == most).unwrap()
            } else {
                uniform::below(&mut bits, 8u64) as usize
            };
            dense[node] += 1.0;
        }
        let statistic: f64 = sparse.iter().zip(&dense).map(|(a, b)| (a - b).powi(2) / (a + b)).sum();
        let x = 1e9f64.ln();
        assert!(statistic < 7.0 + 2.0 * (7.0 * x).sqrt() + 2.0 * x, "{statistic}: {sparse:?} {dense:?}");
    }

    #[test]
    fn the_sparse_law_is_the_dense_law() {
        // Empty nodes above the bar: their number is binomial by `bar.exceeds`, their places uniform, and their noise is the
        // table's above the bar. So each node has its own noise if the bar's probability is the table's mass, integer by integer.
        let noise = noise();
        let table = noise.table();
        let whole = BigInt::one() << 128u32;
        for last_node in [1u128, 3, 7, 63] {
            let bar = Bar::new(&noise, last_node).unwrap();
            let height = usize::try_from(bar.height).unwrap();
            assert!(height < table.last_index(), "a small level's bar lies within the table");
            let listed: BigInt = table.weights()[height + 1..].iter().map(|weight| BigInt::from(*weight)).sum();
            let above = listed + BigInt::from(table.tail_weight());
            assert_eq!(above, BigInt::from(table.above(height)));
            assert_eq!(bar.exceeds, BigRational::new(above, whole.clone()));
        }
    }

    #[test]
    fn the_bar_leaves_at_most_two_and_its_probability_is_that_of_the_table() {
        let noise = noise();
        for last_node in [1u128, 7, 1 << 40, u128::MAX] {
            let bar = Bar::new(&noise, last_node).unwrap();
            let expected = bar.exceeds.to_f64().unwrap() * (last_node as f64 + 1.0);
            assert!(expected <= 2.0);
            let direct: f64 = (bar.height + 1..bar.height + 400).map(|k| noise.table().probability(k)).sum();
            assert!((bar.exceeds.to_f64().unwrap() / direct - 1.0).abs() < 1e-9);
        }
    }
}
