//! How many triangles a graph has, edge by edge private.
//!
//! The vertices are public; *the owner is an edge*: presence is one edge more or less, a person is one edge moved, which is two steps ([`Steps::two`](super::smooth::Steps::two)). Where a person has
//! several edges, a group of that many. Privacy of whole vertices is not offered: one vertex can be in all triangles.
//!
//! Any one edge can make n − 2 triangles, but only in a graph in which somebody has that many common neighbours; so the count's own sensitivity is published with it
//! ([`super::bounded_sensitivity`]), or noise follows it smoothly ([`super::smooth`]), or a bound is proposed ([`super::propose_test_release`]). The bounds are those of \[NRS07\] with both maxima taken apart,
//! which is still smooth, and cheap.
//!
//! ```
//! use scumble::Target;
//! use scumble::event::Family;
//! use scumble::mechanism::bounded_sensitivity::BoundedSensitivity;
//! use scumble::mechanism::smooth::Smooth;
//! use scumble::mechanism::triangles::{Graph, Sensitivity};
//! use scumble::noise::InsecureSeededSource;
//! let graph = Graph::new(7, &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (3, 4), (4, 5)])?;
//! let (count, near) = (graph.triangles() as i64, graph.sensitivity());
//! let mut bits = InsecureSeededSource::new(1);
//! let smooth = Smooth::within(Family::Cauchy4, Target::pure(1.0)?, Sensitivity::most(7))?;
//! let noisy = smooth.release(count, |k| near.at(k), &mut bits);
//! let bounded = BoundedSensitivity::new(0.2, 1e-6, 0.8)?.release(count, near.local(), &mut bits)?;
//! assert!(noisy.abs() < 10_000 && bounded.bound >= 2);
//! # Ok::<(), scumble::Error>(())
//! ```

mod dense;
mod graph;

pub use graph::{Graph, Sensitivity};

#[cfg(test)]
mod tests;
