//! What a tree of heavy hitters costs: the exact worst-case privacy loss for any set of attributes.
//!
//! Theorem A. Let one person's values of S change. At each node that reads S one string loses a person and one gains a
//! person. Given the lists, the tests are independent, so the loss is a sum over tests. For the string that loses,
//! being *included* has positive loss φ(count − τ), and a string can be included at a node only if it is at all nodes
//! below: the worst case is a frontier of nodes just above their floor, B. For the string that gains, being *excluded*
//! has positive loss, at most 1/λ, and an exclusion ends the path, so the excluded nodes are an antichain, W. Both
//! happen at once, so ε(S) = B + W, and no count is too small or too special to be reached. The root's noisy counts add
//! nothing: where a density ratio of a released count reaches e^{1/λ}, the inclusion had it already.
//!
//! This replaces Lemma 28 of \[GKMS\], whose product over exclusions is saved by the antichain only, and whose Theorem
//! 15 claims 0.5ε for what costs about ε. The formula is attained: see the enumerations in the tests.

use super::tree::{Node, Tree};
use crate::loss::words::heavy_hitters::{inclusion_loss, ln_pass_probability};
use crate::quantity::Upper;

/// What rounding of f64 may have taken from a computed loss is given back.
const ROUNDING: f64 = 1.0 + 1e-12;

impl Tree {
    /// The exact pure ε when one person's values of these attributes change (§4.4: B + W).
    ///
    /// # Guarantee
    /// For all datasets of the same size that differ in these attributes of one person: e^ε bounds the ratio of the
    /// probabilities of every output (lists of all nodes, and the root's noisy counts), except for the mass
    /// [`Tree::delta`].
    ///
    /// ```
    /// use scumble::mechanism::heavy_hitters::{ThresholdRule, JoinShape};
    /// use scumble::quantity::Epsilon;
    /// let tree = ThresholdRule::default().calibrate(&JoinShape::balanced(64)?, &[Epsilon::new(1.0)?; 64])?;
    /// assert!(tree.epsilon(&[5]) <= 1.0);
    /// assert!(tree.epsilon_person() < 30.0); // 64 attributes at 1 each would be 64
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn epsilon(&self, attributes: &[usize]) -> Upper {
        let touched = self.touched(attributes);
        Upper::of((self.inclusion(&touched) + self.exclusion(&touched)) * ROUNDING)
    }

    /// The exact pure ε when one person is replaced by another.
    ///
    /// # Guarantee
    /// As [`Tree::epsilon`] with all attributes.
    pub fn epsilon_person(&self) -> Upper {
        let touched = vec![true; self.nodes().len()];
        Upper::of((self.inclusion(&touched) + self.exclusion(&touched)) * ROUNDING)
    }

    /// The exact pure ε when one person is added or removed.
    ///
    /// # Guarantee
    /// As [`Tree::epsilon`] for datasets that differ in one person's presence, if no threshold was computed from the
    /// number of people.
    pub fn epsilon_presence(&self) -> Upper {
        let touched = vec![true; self.nodes().len()];
        Upper::of(self.inclusion(&touched).max(self.exclusion(&touched)) * ROUNDING)
    }

    /// The mass that ε does not bound, from attributes with an unknown domain: Σ P\[Z > κ\] over those that change
    /// (§4.2).
    ///
    /// # Guarantee
    /// With [`Tree::epsilon`] of the same attributes this is an (ε, δ) guarantee; 0 if all domains are public.
    pub fn delta(&self, attributes: &[usize]) -> Upper {
        let appears = |attribute: &usize| {
            let above = self.nodes().iter().find(|node| node.attribute_children().any(|child| child == *attribute));
            above.map_or(0.0, |node| ln_pass_probability(node.scale.get(), -node.clip).exp())
        };
        let mut distinct: Vec<usize> = attributes.iter().copied().filter(|&j| self.is_unknown(j)).collect();
        distinct.sort_unstable();
        distinct.dedup();
        // Not `sum`: of no numbers that is −0.
        Upper::of((distinct.iter().map(appears).fold(0.0, |sum, mass| sum + mass) * ROUNDING).min(1.0))
    }

    /// B: the inclusion loss of the strings that lose a person.
    fn inclusion(&self, touched: &[bool]) -> f64 {
        self.inclusion_of(touched, |node, above| inclusion_loss(node.scale.get(), node.clip, above))
    }

    /// B for any noise: `loss` is φ of a node at a count so far above its threshold, 0 up to the floor and not
    /// increasing beyond.
    pub(super) fn inclusion_of(&self, touched: &[bool], loss: impl Fn(&Node, i64) -> f64) -> f64 {
        let mut best = vec![0.0; self.nodes().len()];
        for (index, node) in self.nodes().iter().enumerate() {
            if touched[index] {
                let below: f64 = node.node_children().map(|child| best[child]).sum();
                best[index] = below.max(self.all_included(index, node.floor() + 1, touched, &loss));
            }
        }
        best[best.len() - 1]
    }

    /// The inclusion loss of a whole subtree whose strings all have this count.
    fn all_included(&self, index: usize, count: i64, touched: &[bool], loss: &impl Fn(&Node, i64) -> f64) -> f64 {
        let mut total = 0.0;
        let mut open = vec![index];
        while let Some(index) = open.pop() {
            let node = &self.nodes()[index];
            total += loss(node, count - node.threshold);
            open.extend(node.node_children().filter(|&child| touched[child]));
        }
        total
    }

    /// W: the exclusion loss of the strings that gain a person.
    pub(super) fn exclusion(&self, touched: &[bool]) -> f64 {
        let mut best = vec![0.0; self.nodes().len()];
        for (index, node) in self.nodes().iter().enumerate() {
            if touched[index] {
                let below: f64 = node.node_children().map(|child| best[child]).sum();
                best[index] = below.max(1.0 / node.scale.get());
            }
        }
        best[best.len() - 1]
    }
}
