//! What a tree of heavy hitters costs: the exact worst-case privacy loss for any set of attributes.
//!
//! Theorem A. Let one person's values of S change. At each node that reads S one string loses a person and one gains a person.
//! Given the lists, the tests are independent, so the loss is a sum over tests. For the string that loses, being *included* has
//! positive loss φ(count − τ), and a string can be included at a node only if it is at all nodes below: the worst case is a
//! frontier of nodes just above their floor, B. For the string that gains, being *excluded* has positive loss, at most 1/λ, and an
//! exclusion ends the path, so the excluded nodes are an antichain, W. Both happen at once, so ε(S) = B + W, and no count is too
//! small or too special to be reached. The root's noisy counts add nothing: where a density ratio of a released count reaches
//! e^{1/λ}, the inclusion had it already.
//!
//! This replaces Lemma 28 of \[GKMS\], whose product over exclusions is saved by the antichain only, and whose Theorem 15
//! claims 0.5ε for what costs about ε. The formula is attained: see the enumerations in the tests.

use super::tree::{Node, Tree};
use crate::quantity::Scale;

/// What rounding of f64 may have taken from a computed loss is given back.
const ROUNDING: f64 = 1.0 + 1e-12;

/// ln P\[Z > −u\]: the test passes at a count of u above the threshold; Z is discrete Laplace of this scale.
pub(super) fn ln_pass_probability(scale: f64, above: i64) -> f64 {
    let rate = 1.0 / scale;
    let decay = (-rate).exp();
    if above <= 0 {
        -(1.0 - above as f64) * rate - decay.ln_1p()
    } else {
        (-(-(above as f64) * rate).exp() / (1.0 + decay)).ln_1p()
    }
}

/// ln P\[Z ≤ −u\]: the test fails.
pub(super) fn ln_fail_probability(scale: f64, above: i64) -> f64 {
    // Z is symmetric: failing at u is passing at 1 − u.
    ln_pass_probability(scale, 1 - above)
}

/// φ: how much less likely the test passes once a string at `above` over the threshold has lost a person.
pub(super) fn inclusion_loss(scale: f64, clip: i64, above: i64) -> f64 {
    let rate = 1.0 / scale;
    if above <= -clip {
        0.0
    } else if above <= 1 {
        rate
    } else {
        let decay = (-rate).exp();
        let tail = (-(above as f64 - 1.0) * rate).exp();
        (tail * -f64::exp_m1(-rate) / (1.0 + decay - tail)).ln_1p()
    }
}

/// The loss of one attribute with `levels` nodes above it, all of one scale and clip, each threshold `rise` above the one below:
/// 2/λ + Σ_{i=1}^{H−1} φ(1 − κ + iμ).
///
/// # Guarantee
/// An upper bound on the pure ε of changing that attribute of one person, lists and root counts released; attained for large n.
///
/// ```
/// use scumble::mechanism::heavy_hitters::path_epsilon;
/// use scumble::quantity::Scale;
/// let loss = path_epsilon(Scale::new(3.0)?, 15, 15, 7);
/// assert!((loss - 1.0011240172119986).abs() < 1e-10);
/// # Ok::<(), scumble::Error>(())
/// ```
pub fn path_epsilon(scale: Scale, clip: u32, rise: u32, levels: u32) -> f64 {
    let (clip, rise) = (i64::from(clip), i64::from(rise));
    let mut loss = 2.0 / scale.get();
    for level in 1..i64::from(levels) {
        let term = inclusion_loss(scale.get(), clip, 1 - clip + level * rise);
        loss += term;
        // Every later term is smaller still: once they cannot add a last bit, they are covered by the rounding slack.
        if term * f64::from(levels) < loss * 1e-14 {
            break;
        }
    }
    loss * ROUNDING
}

impl Tree {
    /// The exact pure ε when one person's values of these attributes change (§4.4: B + W).
    ///
    /// # Guarantee
    /// For all datasets of the same size that differ in these attributes of one person: e^ε bounds the ratio of the probabilities
    /// of every output (lists of all nodes, and the root's noisy counts), but for the mass [`Tree::delta`].
    ///
    /// ```
    /// use scumble::mechanism::heavy_hitters::{Rule, Shape};
    /// use scumble::quantity::Epsilon;
    /// let tree = Rule::default().calibrate(&Shape::balanced(64)?, &[Epsilon::new(1.0)?; 64])?;
    /// assert!(tree.epsilon(&[5]) <= 1.0);
    /// assert!(tree.epsilon_person() < 30.0); // 64 attributes at 1 each would be 64
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn epsilon(&self, attributes: &[usize]) -> f64 {
        let touched = self.touched(attributes);
        (self.inclusion(&touched) + self.exclusion(&touched)) * ROUNDING
    }

    /// The exact pure ε when one person is replaced by another.
    ///
    /// # Guarantee
    /// As [`Tree::epsilon`] with all attributes.
    pub fn epsilon_person(&self) -> f64 {
        let touched = vec![true; self.nodes().len()];
        (self.inclusion(&touched) + self.exclusion(&touched)) * ROUNDING
    }

    /// The exact pure ε when one person is added or removed.
    ///
    /// # Guarantee
    /// As [`Tree::epsilon`] for datasets that differ in one person's presence, if no threshold was computed from the number of
    /// people.
    pub fn epsilon_presence(&self) -> f64 {
        let touched = vec![true; self.nodes().len()];
        self.inclusion(&touched).max(self.exclusion(&touched)) * ROUNDING
    }

    /// The mass that ε does not bound, from attributes with an unknown domain: Σ P\[Z > κ\] over those that change (§4.2).
    ///
    /// # Guarantee
    /// With [`Tree::epsilon`] of the same attributes this is an (ε, δ) guarantee; 0 if all domains are public.
    pub fn delta(&self, attributes: &[usize]) -> f64 {
        let appears = |attribute: &usize| {
            let above = self.nodes().iter().find(|node| node.attribute_children().any(|child| child == *attribute));
            above.map_or(0.0, |node| ln_pass_probability(node.scale.get(), -node.clip).exp())
        };
        let mut distinct: Vec<usize> = attributes.iter().copied().filter(|&j| self.is_unknown(j)).collect();
        distinct.sort_unstable();
        distinct.dedup();
        // Not `sum`: of no numbers that is −0.
        (distinct.iter().map(appears).fold(0.0, |sum, mass| sum + mass) * ROUNDING).min(1.0)
    }

    /// B: the inclusion loss of the strings that lose a person.
    fn inclusion(&self, touched: &[bool]) -> f64 {
        self.inclusion_of(touched, |node, above| inclusion_loss(node.scale.get(), node.clip, above))
    }

    /// B for any noise: `loss` is φ of a node at a count so far above its threshold, 0 up to the floor and not increasing beyond.
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
