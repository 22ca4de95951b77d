//! The zCDP cost of a tree of heavy hitters, about four times below ε·tanh(ε/2) (§4.5).
//!
//! For an order α the moment E\[(P/Q)^{α−1}\] of the whole output is a product of moments of tests. If the nodes that
//! read S form one path, the recursion over that path is exact; otherwise adaptive composition over the touched nodes
//! bounds it, with the worst counts found by a dynamic programme over the tree (counts do not grow upwards). The result
//! is certified, not only evaluated: a log-moment is convex in α, so between two orders it lies below its chord.

use super::tree::Tree;
use crate::loss::words::heavy_hitters::{NeighbourKind, NodeTest, TreeTests};
use crate::quantity::Upper;

impl Tree {
    /// ρ when one person's values of these attributes change.
    ///
    /// # Guarantee
    /// The lists and the root's counts together are ρ-zCDP for datasets of the same size that differ in these
    /// attributes of one person, if no attribute has an unknown domain. At most ε·tanh(ε/2) of [`Tree::epsilon`].
    ///
    /// ```
    /// use scumble::mechanism::heavy_hitters::{ThresholdRule, JoinShape};
    /// use scumble::quantity::Epsilon;
    /// let tree = ThresholdRule::default().calibrate(&JoinShape::balanced(4)?, &[Epsilon::new(1.0)?; 4])?;
    /// let epsilon = tree.epsilon(&[0]).get();
    /// assert!(tree.rho(&[0]) < epsilon * (epsilon / 2.0).tanh() / 2.0);
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn rho(&self, attributes: &[usize]) -> Upper {
        self.certified(&self.touched(attributes), self.epsilon(attributes), NeighbourKind::Substitution)
    }

    /// ρ when one person is replaced by another.
    ///
    /// # Guarantee
    /// As [`Tree::rho`] with all attributes.
    pub fn rho_person(&self) -> Upper {
        self.certified(&vec![true; self.nodes().len()], self.epsilon_person(), NeighbourKind::Substitution)
    }

    /// ρ when one person is added or removed.
    ///
    /// # Guarantee
    /// As [`Tree::rho`] for datasets that differ in one person's presence, if no threshold was computed from their
    /// number.
    pub fn rho_presence(&self) -> Upper {
        self.certified(&vec![true; self.nodes().len()], self.epsilon_presence(), NeighbourKind::Presence)
    }

    fn certified(&self, touched: &[bool], epsilon: Upper, neighbours: NeighbourKind) -> Upper {
        Upper::of(self.tests().certified(touched, epsilon.get(), neighbours))
    }

    /// ρ of these nodes' tests by composition alone, so that the sum over attributes bounds ρ of changing them all.
    pub(super) fn composed_rho(&self, touched: &[bool]) -> f64 {
        self.tests().composed_rho(touched)
    }

    fn tests(&self) -> TreeTests {
        let test = |node: &super::tree::Node| NodeTest {
            below: node.node_children().collect(),
            threshold: node.threshold,
            clip: node.clip,
            scale: node.scale,
        };
        TreeTests(self.nodes().iter().map(test).collect())
    }
}
