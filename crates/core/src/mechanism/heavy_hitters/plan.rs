//! Choosing the public parameters: scales for the wanted ε of each attribute, thresholds, and what they will find.

use super::tree::{Child, JoinShape, Node, Tree};
use crate::calibrate::{StopRule, halve, short_scale};
use crate::error::{Error, Result};
use crate::loss::words::heavy_hitters::{ln_fail_probability, ln_pass_probability};
use crate::quantity::{Beta, Delta, Epsilon, Scale};

/// How thresholds follow from scales. All of it is public.
#[derive(Debug, Clone, PartialEq)]
pub struct ThresholdRule {
    /// The threshold of the lowest nodes.
    pub bottom: i64,
    /// Clip depths in scales: κ = ⌈λ·clip⌉. A candidate that nobody has passes with probability about e^{−clip}/2.
    pub clip: f64,
    /// Gaps in scales: a node's floor is ⌈λ·gap⌉ above the thresholds below it. A gap lowers the scale and even the
    /// final threshold; about 0.5 is best.
    pub gap: f64,
    /// The attributes whose domain is not public. Each needs a node of its own ([`JoinShape::with_thresholds_above`]).
    pub unknown: Vec<usize>,
    /// The δ of each of them.
    pub unknown_delta: Delta,
}

impl Default for ThresholdRule {
    /// Thresholds from 100 up, the paper's clip depth ln(16/ν) at ν = 1/10, half a scale of gap, all domains public.
    fn default() -> Self {
        let unknown_delta = Delta::new(1e-9).unwrap_or_else(|_| unreachable!("1e-9 is in the range"));
        Self { bottom: 100, clip: 160f64.ln(), gap: 0.5, unknown: Vec::new(), unknown_delta }
    }
}

impl ThresholdRule {
    /// The tree of this shape with the smallest scales for which changing attribute j costs at most `targets[j]`
    /// (§4.6).
    ///
    /// A node's scale is s/min ε_j over the attributes that it reads; s is found by bisection on the exact cost.
    ///
    /// # Guarantee
    /// `tree.epsilon(&[j]) ≤ targets[j]` for every j: checked on the tree that is returned.
    ///
    /// ```
    /// use scumble::mechanism::heavy_hitters::{ThresholdRule, JoinShape};
    /// use scumble::quantity::Epsilon;
    /// let wanted = [0.5, 1.0, 1.0, 2.0].map(|epsilon| Epsilon::new(epsilon).unwrap());
    /// let tree = ThresholdRule::default().calibrate(&JoinShape::balanced(4)?, &wanted)?;
    /// assert!(tree.epsilon(&[0]) <= 0.5 && tree.epsilon(&[3]) <= 2.0);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn calibrate(&self, shape: &JoinShape, targets: &[Epsilon]) -> Result<Tree> {
        let joins = shape.flattened()?;
        if let Some(attribute) = targets.iter().position(|target| target.get() == 0.0) {
            refuse!(
                "the epsilon of attribute {attribute} is 0, which no noise reaches: leave the attribute out instead"
            );
        }
        let enough = |tree: &Tree| {
            targets.iter().enumerate().all(|(attribute, target)| tree.epsilon(&[attribute]) <= target.get())
        };
        let most = targets.iter().map(|target| target.get()).fold(0.0, f64::max);
        let large = 16.0 + 4.0 * most;
        let enough = |factor: f64| {
            let tree = self.tree(&joins, targets, factor)?;
            Ok::<_, Error>(enough(&tree).then_some(tree))
        };
        let Some(first) = enough(large)? else {
            refuse!("no scale reaches these epsilons with the given clip and gap: raise the gap")
        };
        Ok(halve(large, 1.0, StopRule::within(1e-13), enough)?.map_or(first, |(_, tree)| tree))
    }

    fn tree(&self, joins: &[Vec<Child>], targets: &[Epsilon], factor: f64) -> Result<Tree> {
        let mut strictest: Vec<f64> = Vec::with_capacity(joins.len());
        let mut nodes: Vec<Node> = Vec::with_capacity(joins.len());
        for children in joins {
            let mut least = f64::INFINITY;
            for child in children {
                least = least.min(match *child {
                    Child::Node(below) => strictest[below],
                    Child::Attribute(attribute) => {
                        targets.get(attribute).map(|target| target.get()).ok_or_else(|| {
                            Error::refused(format!("attribute {attribute} is in the tree but has no epsilon"))
                        })?
                    }
                });
            }
            strictest.push(least);
            nodes.push(self.node(children, short_scale(factor / least)?, &nodes)?);
        }
        Tree::new(targets.len(), nodes, &self.unknown)
    }

    fn node(&self, children: &[Child], scale: Scale, below: &[Node]) -> Result<Node> {
        let unknown = matches!(children, [Child::Attribute(attribute)] if self.unknown.contains(attribute));
        let clip = if unknown { clip_for(scale, self.unknown_delta)? } else { depth(scale, self.clip)?.max(1) };
        let mut floor = i64::MIN;
        for child in children {
            if let Child::Node(child) = child {
                floor = floor.max(below[*child].threshold + depth(below[*child].scale, self.gap)?);
            }
        }
        let threshold = match floor {
            i64::MIN if unknown => self.bottom.max(clip + 1),
            i64::MIN => self.bottom,
            floor => floor + clip,
        };
        Ok(Node { children: children.to_vec(), threshold, clip, scale })
    }
}

fn depth(scale: Scale, factor: f64) -> Result<i64> {
    let depth = (scale.get() * factor).ceil();
    if depth.is_finite() && (0.0..1e15).contains(&depth) {
        Ok(depth as i64)
    } else {
        Err(Error::refused(format!("a clip or gap of {factor} scales of {scale} is out of range")))
    }
}

/// The least clip depth for which a value of an unknown domain that one person has appears with probability at most δ.
fn clip_for(scale: Scale, delta: Delta) -> Result<i64> {
    refuse_if!(delta.get() == 0.0, "an unknown domain needs a delta above 0");
    let mut clip = depth(scale, -delta.get().ln())?.max(1);
    while clip > 1 && ln_pass_probability(scale.get(), 1 - clip).exp() <= delta.get() {
        clip -= 1;
    }
    Ok(clip)
}

impl Tree {
    /// At most the probability that a string which `count` people have is not in the output: Σ_I P\[Z ≤ τ_I − count\].
    pub fn miss_probability(&self, count: u64) -> f64 {
        let count = i64::try_from(count).unwrap_or(i64::MAX >> 2);
        let miss = |node: &Node| {
            let above = (count - node.threshold).max(-node.clip);
            ln_fail_probability(node.scale.get(), above).exp()
        };
        self.nodes().iter().map(miss).sum::<f64>().min(1.0)
    }

    /// The least count F such that *all* strings that F of `people` people or more have are found with probability
    /// 1 − β.
    ///
    /// ```
    /// use scumble::mechanism::heavy_hitters::{ThresholdRule, JoinShape};
    /// use scumble::quantity::{Beta, Epsilon};
    /// let tree = ThresholdRule::default().calibrate(&JoinShape::balanced(64)?, &[Epsilon::new(1.0)?; 64])?;
    /// assert!(tree.found_from(1_000_000, Beta::new(0.05)?) < 300);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn found_from(&self, people: u64, beta: Beta) -> u64 {
        let enough = |count: u64| (people as f64 / count as f64) * self.miss_probability(count) <= beta.get();
        let (mut too_few, mut enough_people) = (0, 1u64);
        while !enough(enough_people) && enough_people < 1 << 61 {
            too_few = enough_people;
            enough_people *= 2;
        }
        while enough_people - too_few > 1 {
            let middle = too_few + (enough_people - too_few) / 2;
            if enough(middle) {
                enough_people = middle;
            } else {
                too_few = middle;
            }
        }
        enough_people
    }

    /// The error bar of a released count: with probability 1 − β the noise is at most this.
    ///
    /// For a string whose true count is below the root's floor the released count is that of the floor plus noise; such
    /// a string is listed with probability below e^{−clip}.
    pub fn count_error(&self, beta: Beta) -> u64 {
        let rate = 1.0 / self.root().scale.get();
        // P[|Z| > t] = 2a^{t+1}/(1+a)
        let decay = (-rate).exp();
        let least = ((2.0 / (beta.get() * (1.0 + decay))).ln() / rate - 1.0).ceil();
        least.max(0.0) as u64
    }
}
