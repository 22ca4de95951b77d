//! Heavy hitters over many attributes: the combinations of values that many people share, found by a tree of
//! thresholds, so that one *attribute* of a person is far better protected than the whole person would have to be.
//!
//! Leaves of a public [`Tree`] are attributes; a node joins the lists of its children, counts every combination, adds
//! discrete Laplace noise and keeps what passes the node's threshold. An attribute is read only by the nodes above it:
//! about log₂ d of them. The root's noisy counts are released with the list, for free (Theorem A of the cost below).
//!
//! This is Algorithm 2 of \[GKMS\] (Theorem 15) with three differences. The scale is calibrated by the *exact*
//! worst-case privacy loss ([`Tree::epsilon`]): the paper's λ = 3/ε with a second release of counts costs about 1.66ε.
//! Thresholds may rise by more than the clip depth (a *gap*), which lowers the scale and the final threshold both. And
//! a node may have any number of children, its own scale, and a leaf may have an unknown domain, for a δ.
//!
//! ```
//! use scumble::mechanism::heavy_hitters::{HeavyHitters, ThresholdRule, JoinShape};
//! use scumble::noise::InsecureSeededSource;
//! use scumble::quantity::Epsilon;
//! // 3000 people, four yes/no attributes; a third of the people has the combination 1, 0, 1, 1.
//! let columns: Vec<Vec<u8>> = [1u8, 0, 1, 1]
//!     .iter()
//!     .enumerate()
//!     .map(|(j, &value)| (0..3000u32).map(|i| if i % 3 == 0 { value } else { (i >> j & 1) as u8 }).collect())
//!     .collect();
//! let rule = ThresholdRule { bottom: 200, ..ThresholdRule::default() };
//! let tree = rule.calibrate(&JoinShape::balanced(4)?, &[Epsilon::new(1.0)?; 4])?;
//! let finder = HeavyHitters::new(tree, vec![2; 4])?;
//! let found = finder.release(&columns, &mut InsecureSeededSource::new(1))?;
//! assert!(found.strings.iter().any(|string| string.values == [1, 0, 1, 1]));
//! # Ok::<(), scumble::Error>(())
//! ```

mod concentrated;
mod cost;
mod plan;
mod release;
mod tree;

#[cfg(test)]
mod tests;

pub use crate::loss::words::heavy_hitters::{path_epsilon, path_rho};
pub use plan::ThresholdRule;
pub use release::{HeavyHitters, HeavyString, MOST_CANDIDATES, SuccinctHistogram};
pub use tree::{Child, JoinShape, Node, Tree};
