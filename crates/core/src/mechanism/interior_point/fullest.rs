//! The node with the largest noisy count among up to 2^128 nodes; only the occupied ones are touched.

use super::leaves::{Leaf, Leaves};
use crate::error::{Error, Result};
use crate::mechanism::huge_domain::{KeyUniverse, surviving_absent};
use crate::noise::refine::Precision;
use crate::noise::{BitSource, SinhNormal, uniform};
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::One;
use std::collections::BTreeMap;

/// The node of a level with the largest noisy value, where `jumps` say how much is held at which leaves (in order, no
/// place twice); a uniformly random one if no noisy value exceeds a public bar.
///
/// # Guarantee
/// Exactly a function of independent noise on the values of all nodes of the level. The bar is such that at most about
/// two empty nodes are expected above it: their number is drawn exactly, their leaves uniformly, their noise from the
/// tail.
pub(super) fn fullest_node<S: BitSource + ?Sized>(
    jumps: &[(Leaf, i64)],
    level: u32,
    leaves: Leaves,
    noise: &SinhNormal,
    bits: &mut S,
) -> Result<Leaf> {
    let nodes = leaves.nodes(level);
    if nodes.bits() == 0 {
        return Ok(nodes.first());
    }
    let present: BTreeMap<Leaf, i64> = node_values(jumps, level, leaves).collect();
    let bar = NoiseBar::new(noise, nodes)?;
    let mut best: Option<(i64, Leaf)> = None;
    let mut offer = |noisy: i64, node: Leaf| {
        // The lowest of equals: any rule that does not look at the data.
        if noisy > bar.height && best.is_none_or(|(most, place)| noisy > most || (noisy == most && node < place)) {
            best = Some((noisy, node));
        }
    };
    for (node, value) in &present {
        offer(value.saturating_add(noise.sample(bits)), *node);
    }
    let survives = |precision: Precision| precision.ratio(&bar.exceeds);
    for node in surviving_absent(&nodes, &present, &survives, bits) {
        offer(bar.draw_above(noise, bits), node);
    }
    Ok(best.map_or_else(|| nodes.draw(bits), |(_, node)| node))
}

/// The nodes of a level that hold something, in order, with how much.
pub(super) fn node_values(jumps: &[(Leaf, i64)], level: u32, leaves: Leaves) -> impl Iterator<Item = (Leaf, i64)> + '_ {
    let runs = jumps.chunk_by(move |a, b| leaves.node(a.0, level) == leaves.node(b.0, level));
    runs.map(move |run| (leaves.node(run[0].0, level), run.iter().map(|(_, jump)| jump).sum()))
}

/// The bar for this many nodes: for tests of the whole recursion.
#[cfg(test)]
pub(super) fn bar_height(noise: &SinhNormal, nodes: Leaves) -> i64 {
    NoiseBar::new(noise, nodes).expect("a small level has a bar").height
}

/// A height that noise exceeds with a known rational probability.
struct NoiseBar {
    height: i64,
    exceeds: BigRational,
}

impl NoiseBar {
    /// The least height above which at most two of the nodes are expected.
    fn new(noise: &SinhNormal, nodes: Leaves) -> Result<Self> {
        let table = noise.table();
        let nodes = nodes.count();
        // above/2^scale·nodes ≤ 2
        let few = |above: &BigUint, scale: u32| above * &nodes <= BigUint::one() << (scale + 1);
        let ratio = |above: BigUint, scale: u32| BigRational::new(above.into(), BigInt::one() << scale);
        let mut above = table.tail_weight();
        let mut height = table.last_index();
        if few(&above.into(), 128) {
            // Down, while the expectation stays small.
            while height > 0 {
                let next = above + table.weights()[height];
                if !few(&next.into(), 128) {
                    break;
                }
                above = next;
                height -= 1;
            }
            return Ok(Self { height: height as i64, exceeds: ratio(above.into(), 128) });
        }
        // Up into the geometric tail.
        let (mut above, mut scale) = (BigUint::from(above), 128);
        let keep = (BigUint::one() << table.tail_bits()) - 1u32;
        for beyond in 1..20_000i64 {
            above *= &keep;
            scale += table.tail_bits();
            if few(&above, scale) {
                return Ok(Self { height: height as i64 + beyond, exceeds: ratio(above, scale) });
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
    use num_traits::ToPrimitive;

    fn noise() -> SinhNormal {
        SinhNormal::new(Sigma::new(1.286).unwrap(), Scale::new(2.7).unwrap()).unwrap()
    }

    #[test]
    fn sparse_and_dense_argmax_have_the_same_distribution() {
        // 8 nodes, one with 3 keys. Dense: noise on all nodes, the same rule. χ² of two samples over 8 nodes, 2·10^4
        // draws each.
        let noise = noise();
        let jumps = [(Leaf { key: 5, tie: 0 }, 3)];
        let leaves = Leaves::new(3, 0);
        let bar = NoiseBar::new(&noise, leaves).unwrap();
        let draws = 20_000;
        let (mut sparse, mut dense) = ([0f64; 8], [0f64; 8]);
        let mut bits = InsecureSeededSource::new(31);
        for _ in 0..draws {
            sparse[fullest_node(&jumps, 0, leaves, &noise, &mut bits).unwrap().key as usize] += 1.0;
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
        // Empty nodes above the bar: their number is binomial by `bar.exceeds`, their leaves uniform, and their noise
        // is the table's above the bar. So each node has its own noise if the bar's probability is the table's mass,
        // integer by integer.
        let noise = noise();
        let table = noise.table();
        let whole = BigInt::one() << 128u32;
        for key_bits in [1, 2, 3, 6] {
            let bar = NoiseBar::new(&noise, Leaves::new(key_bits, 0)).unwrap();
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
        for (key_bits, tie_bits) in [(1, 0), (3, 0), (40, 0), (128, 0), (128, 24)] {
            let bar = NoiseBar::new(&noise, Leaves::new(key_bits, tie_bits)).unwrap();
            let expected = bar.exceeds.to_f64().unwrap() * 2f64.powi((key_bits + tie_bits) as i32);
            assert!(expected <= 2.0);
            let direct: f64 = (bar.height + 1..bar.height + 400).map(|k| noise.table().probability(k)).sum();
            assert!((bar.exceeds.to_f64().unwrap() / direct - 1.0).abs() < 1e-9);
        }
    }
}
