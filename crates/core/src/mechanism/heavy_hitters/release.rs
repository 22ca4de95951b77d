//! The algorithm: one pass over the people per node, lists from the bottom up.

use super::tree::{Child, Node, Tree};
use crate::error::{Error, Result};
use crate::noise::tape::{self, Announcement};
use crate::noise::{BitSource, DiscreteLaplace, Fraction, Geometric, bernoulli};
use std::collections::HashMap;

/// A tree over attributes with their domains, ready to run.
#[derive(Debug, Clone, PartialEq)]
pub struct HeavyHitters {
    tree: Tree,
    domains: Vec<u32>,
    longest_list: usize,
}

/// A combination of values and its noisy count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeavyString {
    /// The value of each attribute.
    pub values: Vec<u32>,
    /// The count with its noise; above the root's threshold.
    pub count: i64,
}

/// The succinct histogram: every combination that is not listed has a count that is not far above the root's threshold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuccinctHistogram {
    /// The combinations, in canonical order.
    pub strings: Vec<HeavyString>,
    /// The root's threshold.
    pub threshold: i64,
    /// Whether a list became as long as one may be: what is behind its end in canonical order may be missing, however
    /// many people have it. It follows from the lists, which cost nothing more.
    pub is_cut: bool,
}

/// A node looks at no more candidates than this.
pub const MOST_CANDIDATES: u64 = 1 << 26;
/// No list is longer than this.
const LONGEST_LIST: usize = 1 << 16;
/// The person's string was dropped at a lower node.
const DROPPED: u32 = u32::MAX;

/// What a node keeps: its strings (values in the order of [`SelectedStrings::attributes`]), and each person's position
/// among them.
struct SelectedStrings {
    attributes: Vec<usize>,
    strings: Vec<Vec<u32>>,
    counts: Vec<i64>,
    positions: Vec<u32>,
}

impl HeavyHitters {
    /// The tree with the number of values of each attribute. For an attribute with an unknown domain the number is only
    /// a bound on the codes of its values.
    ///
    /// Lists are cut to their first strings in canonical order where a node would otherwise look at more than 2²⁶
    /// candidates: that depends on private lists and public sizes only, and so does what is refused.
    pub fn new(tree: Tree, domains: Vec<u32>) -> Result<Self> {
        if domains.len() != tree.attributes() {
            refuse!("the tree has {} attributes, but {} domains are given", tree.attributes(), domains.len());
        }
        if let Some(empty) = domains.iter().position(|&size| size == 0 || size == DROPPED) {
            refuse!("the domain of attribute {empty} must have 1 to {} values", DROPPED - 1);
        }
        let mut longest_list = LONGEST_LIST;
        for (index, node) in tree.nodes().iter().enumerate() {
            // How many values an unknown domain has is private: no number of them may be refused.
            let is_unknown = matches!(node.children[..], [Child::Attribute(attribute)] if tree.is_unknown(attribute));
            if !is_unknown {
                longest_list = longest_list.min(longest_list_for(index, node, &domains)?);
            }
        }
        Ok(Self { tree, domains, longest_list })
    }

    /// The tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// How many values each attribute has.
    pub fn domains(&self) -> &[u32] {
        &self.domains
    }

    /// Finds the heavy strings; `columns[j][i]` is person i's value of attribute j.
    ///
    /// # Guarantee
    /// The output has the privacy that [`Tree::epsilon`], [`Tree::delta`] and [`Tree::rho`] state. The noise is exact.
    /// How long it takes depends on the data: time is not part of the guarantee.
    pub fn release<V: Copy + Into<u32>, S: BitSource + ?Sized>(
        &self,
        columns: &[Vec<V>],
        bits: &mut S,
    ) -> Result<SuccinctHistogram> {
        self.check(columns)?;
        let record =
            |row: usize| columns.iter().map(|column| column[row].into().to_string()).collect::<Vec<_>>().join(" ");
        let said = || Announcement::records("heavy hitters", (0..columns[0].len()).map(|row| (record(row), 1)));
        tape::through_result(bits, said, |bits| self.found(columns, bits))
    }

    fn found<V: Copy + Into<u32>, S: BitSource + ?Sized>(
        &self,
        columns: &[Vec<V>],
        bits: &mut S,
    ) -> Result<SuccinctHistogram> {
        let nodes = self.tree.nodes();
        let mut lists: Vec<Option<SelectedStrings>> = Vec::with_capacity(nodes.len());
        let mut is_cut = false;
        for (index, node) in nodes.iter().enumerate() {
            let is_root = index + 1 == nodes.len();
            let below: Vec<Option<SelectedStrings>> = node
                .children
                .iter()
                .map(|child| match child {
                    Child::Node(below) => lists[*below].take(),
                    Child::Attribute(_) => None,
                })
                .collect();
            let list = self.select(node, columns, &below, is_root, bits)?;
            is_cut |= list.strings.len() >= self.longest_list;
            lists.push(Some(list));
        }
        let root = lists.pop().flatten().unwrap_or_else(|| unreachable!("a tree has a root"));
        Ok(SuccinctHistogram { strings: root.into_strings(), threshold: self.tree.root().threshold, is_cut })
    }

    fn check<V: Copy + Into<u32>>(&self, columns: &[Vec<V>]) -> Result<()> {
        if columns.len() != self.domains.len() {
            refuse!("the data has {} columns, but the tree has {} attributes", columns.len(), self.domains.len());
        }
        for (attribute, (column, &size)) in columns.iter().zip(&self.domains).enumerate() {
            refuse_if!(column.len() != columns[0].len(), "column {attribute} does not have as many rows as column 0");
            if let Some(row) = column.iter().position(|&value| value.into() >= size) {
                refuse!("row {row} of column {attribute} is not below {size}, its domain's size");
            }
        }
        refuse_if!(columns[0].len() >= DROPPED as usize, "heavy hitters take at most 4294967294 rows");
        Ok(())
    }

    fn select<V: Copy + Into<u32>, S: BitSource + ?Sized>(
        &self,
        node: &Node,
        columns: &[Vec<V>],
        below: &[Option<SelectedStrings>],
        is_root: bool,
        bits: &mut S,
    ) -> Result<SelectedStrings> {
        let size = |(child, list): (&Child, &Option<SelectedStrings>)| match child {
            Child::Attribute(attribute) => u64::from(self.domains[*attribute]),
            Child::Node(_) => list.as_ref().map_or(0, |list| list.strings.len() as u64),
        };
        let sizes: Vec<u64> = node.children.iter().zip(below).map(size).collect();
        let candidates: u64 = sizes.iter().product();
        let join = NodeJoin { node, below, sizes };
        let keys = join.keys(columns);
        let counts = CandidateCounts::of(&keys, candidates);
        let observed_only =
            matches!(node.children[..], [Child::Attribute(attribute)] if self.tree.is_unknown(attribute));
        let kept = NodeSampler::new(node)?.passing(&counts, candidates, observed_only, self.longest_list, bits);
        Ok(join.strings(&kept, if is_root { Vec::new() } else { positions_of(&kept, &keys, candidates) }))
    }
}

fn longest_list_for(index: usize, node: &Node, domains: &[u32]) -> Result<usize> {
    let fixed = node.attribute_children().try_fold(1u64, |product, attribute| {
        product.checked_mul(u64::from(domains[attribute])).filter(|&product| product <= MOST_CANDIDATES)
    });
    let fixed = fixed.ok_or_else(|| {
        Error::refused(format!(
            "node {index} joins attributes with more than {MOST_CANDIDATES} combinations: put thresholds above them"
        ))
    })?;
    let lists = node.node_children().count() as u32;
    if lists == 0 {
        return Ok(LONGEST_LIST);
    }
    let room = MOST_CANDIDATES / fixed;
    let longest =
        (1..=LONGEST_LIST as u64).take_while(|length| length.checked_pow(lists).is_some_and(|all| all <= room));
    match longest.last() {
        Some(length) if length >= 16 => Ok(length as usize),
        _ => Err(Error::refused(format!("node {index} joins too many lists at once: give the tree more levels"))),
    }
}

/// What a node joins: its children with their lists and how many candidates each has.
struct NodeJoin<'a> {
    node: &'a Node,
    below: &'a [Option<SelectedStrings>],
    sizes: Vec<u64>,
}

impl NodeJoin<'_> {
    fn parts(&self) -> impl DoubleEndedIterator<Item = ((&Child, &Option<SelectedStrings>), &u64)> {
        self.node.children.iter().zip(self.below).zip(&self.sizes)
    }

    /// Each person's candidate, DROPPED for those whose string was dropped below.
    fn keys<V: Copy + Into<u32>>(&self, columns: &[Vec<V>]) -> Vec<u32> {
        let mut keys: Vec<u32> = vec![0; columns[0].len()];
        for ((child, list), &size) in self.parts() {
            let size = size as u32;
            match child {
                Child::Attribute(attribute) => {
                    for (key, &value) in keys.iter_mut().zip(&columns[*attribute]) {
                        if *key != DROPPED {
                            *key = *key * size + value.into();
                        }
                    }
                }
                Child::Node(_) => {
                    let positions = list.as_ref().map_or(&[][..], |list| &list.positions);
                    for (key, &position) in keys.iter_mut().zip(positions) {
                        let lost = *key == DROPPED || position == DROPPED;
                        *key = if lost { DROPPED } else { *key * size + position };
                    }
                }
            }
        }
        keys
    }

    /// The strings of the candidates that passed, with where each person's string is among them.
    fn strings(&self, passed: &[HeavyCandidate], positions: Vec<u32>) -> SelectedStrings {
        let mut attributes = Vec::new();
        for ((child, list), _) in self.parts() {
            match child {
                Child::Attribute(attribute) => attributes.push(*attribute),
                Child::Node(_) => attributes.extend(list.iter().flat_map(|list| &list.attributes)),
            }
        }
        let strings = passed.iter().map(|passed| self.string_of(u64::from(passed.candidate))).collect();
        SelectedStrings { attributes, strings, counts: passed.iter().map(|passed| passed.count).collect(), positions }
    }

    /// A candidate's number has one digit per child, the last child's the lowest.
    fn string_of(&self, mut candidate: u64) -> Vec<u32> {
        let mut digits = vec![0; self.sizes.len()];
        for (digit, &size) in digits.iter_mut().zip(&self.sizes).rev() {
            *digit = candidate % size;
            candidate /= size;
        }
        let mut values = Vec::new();
        for (((child, list), _), &digit) in self.parts().zip(&digits) {
            match (child, list) {
                (Child::Node(_), Some(list)) => values.extend_from_slice(&list.strings[digit as usize]),
                _ => values.push(digit as u32),
            }
        }
        values
    }
}

/// How many people each candidate has: a table where that is not much larger than the data, a map otherwise.
enum CandidateCounts {
    Dense(Vec<u32>),
    Sparse(HashMap<u32, u32>),
}

impl CandidateCounts {
    fn of(keys: &[u32], candidates: u64) -> Self {
        let present = keys.iter().filter(|&&key| key != DROPPED);
        if candidates <= 4 * keys.len() as u64 + 1024 {
            let mut counts = vec![0u32; candidates as usize];
            present.for_each(|&key| counts[key as usize] += 1);
            Self::Dense(counts)
        } else {
            let mut counts = HashMap::new();
            present.for_each(|&key| *counts.entry(key).or_insert(0) += 1);
            Self::Sparse(counts)
        }
    }

    fn get(&self, candidate: u32) -> i64 {
        match self {
            Self::Dense(counts) => i64::from(counts[candidate as usize]),
            Self::Sparse(counts) => counts.get(&candidate).copied().map_or(0, i64::from),
        }
    }
}

/// A candidate that passed, with its noisy count.
#[derive(Debug, Clone, Copy, PartialEq)]
struct HeavyCandidate {
    candidate: u32,
    count: i64,
}

/// The test of one node: `max(f, floor) + Z > threshold`.
struct NodeSampler {
    threshold: i64,
    floor: i64,
    noise: DiscreteLaplace,
    tail: Geometric,
    /// (κ + 1)/λ and 1/λ: the exponents of P\[Z > κ\] = e^{−(κ+1)/λ} / (1 + e^{−1/λ}).
    exceedance: Fraction,
    rate: Fraction,
}

impl NodeSampler {
    fn new(node: &Node) -> Result<Self> {
        let rate = Fraction::from_f64(node.scale.get())?.inverse()?;
        Ok(Self {
            threshold: node.threshold,
            floor: node.floor(),
            noise: DiscreteLaplace::new(node.scale),
            tail: Geometric::new(node.scale),
            exceedance: rate.times(&Fraction::whole(node.clip.unsigned_abs() + 1)),
            rate,
        })
    }

    /// The noisy count, if the candidate passes.
    ///
    /// At or below the floor the noise is not drawn: that it exceeds κ is a coin, and by how much is memoryless.
    fn passes<S: BitSource + ?Sized>(&self, count: i64, bits: &mut S) -> Option<i64> {
        if count > self.floor {
            let noisy = self.noise.add_to(count, bits);
            return (noisy > self.threshold).then_some(noisy);
        }
        let exceeds = bernoulli::exp_minus(bits, &self.exceedance) && bernoulli::logistic(bits, &self.rate);
        exceeds.then(|| self.tail.add_to(self.threshold + 1, bits))
    }

    /// The candidates that pass, in canonical order, cut to the longest list.
    fn passing<S: BitSource + ?Sized>(
        &self,
        counts: &CandidateCounts,
        candidates: u64,
        observed_only: bool,
        longest_list: usize,
        bits: &mut S,
    ) -> Vec<HeavyCandidate> {
        let passed = |candidate: u32| {
            let count = counts.get(candidate);
            let passed = if observed_only && count == 0 { None } else { self.passes(count, bits) };
            passed.map(|count| HeavyCandidate { candidate, count })
        };
        (0..candidates as u32).filter_map(passed).take(longest_list).collect()
    }
}

fn positions_of(passed: &[HeavyCandidate], keys: &[u32], candidates: u64) -> Vec<u32> {
    if candidates <= 4 * keys.len() as u64 + 1024 {
        let mut position = vec![DROPPED; candidates as usize];
        passed.iter().zip(0u32..).for_each(|(passed, place)| position[passed.candidate as usize] = place);
        let of = |key: &u32| if *key == DROPPED { DROPPED } else { position[*key as usize] };
        keys.iter().map(of).collect()
    } else {
        let position: HashMap<u32, u32> =
            passed.iter().zip(0u32..).map(|(passed, place)| (passed.candidate, place)).collect();
        keys.iter().map(|key| position.get(key).copied().unwrap_or(DROPPED)).collect()
    }
}

impl SelectedStrings {
    /// The strings with their values in the order of the attributes.
    fn into_strings(self) -> Vec<HeavyString> {
        let in_order = |string: &Vec<u32>| {
            let mut values = vec![0; string.len()];
            self.attributes.iter().zip(string).for_each(|(&attribute, &value)| values[attribute] = value);
            values
        };
        let strings = self.strings.iter().zip(&self.counts);
        strings.map(|(string, &count)| HeavyString { values: in_order(string), count }).collect()
    }
}
