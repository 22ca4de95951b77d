//! How many triangles a graph has, edge by edge private.
//!
//! The vertices are public; *the owner is an edge*: presence is one edge more or less, a person is one edge moved.
//! Where a person has several edges, a group of that many. Privacy of whole vertices is not offered: one vertex can be
//! in all triangles.
//!
//! Any one edge can make n − 2 triangles, but only in a graph in which somebody has that many common neighbours; so the
//! count's own sensitivity is published with it ([`super::bounded_sensitivity`]), or noise follows it smoothly
//! ([`super::smooth`]), or a bound is proposed ([`super::propose_test_release`]). The bounds are those of \[NRS07\]
//! with both maxima taken apart, which is still smooth, and cheap.
//!
//! # An edge that moves is one step
//! The specification charges it as two, one that goes and one that comes. It is one
//! ([`OwnerSteps::one`](super::smooth::OwnerSteps::one)): let y be the graph without the edge; x is y with the edge e,
//! and x″ is y with the edge f. a and c of every pair of vertices are at least as large with an edge more, so
//! A_k(y) ≤ A_k(x) ≤ A_{k+1}(y), and the same holds for x″: hence A_k(x) ≤ A_{k+1}(x″), and levels, local sensitivities
//! and distances of x and x″ differ by at most 1. Both counts are at least that of y and at most A_0(y) above it: they
//! differ by at most A_0(y) ≤ min(A_0(x), A_0(x″)). These are the two conditions of [`super::smooth`].
//!
//! ```
//! use scumble::quantity::{delta, epsilon};
//! use scumble::{Scope, Target};
//! use scumble::event::NoiseFamily;
//! use scumble::mechanism::bounded_sensitivity::BoundedSensitivity;
//! use scumble::mechanism::smooth::{OwnerSteps, SmoothMechanism};
//! use scumble::mechanism::triangles::{Graph, EdgeSensitivity};
//! use scumble::noise::InsecureSeededSource;
//! let graph = Graph::new(7, &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (3, 4), (4, 5)])?;
//! let (count, near) = (graph.triangles() as i64, graph.sensitivity());
//! let mut bits = InsecureSeededSource::new(1);
//! let (target, one, most) = (Target::pure(epsilon(1.0)?), OwnerSteps::one(), EdgeSensitivity::most(7));
//! let smooth = SmoothMechanism::within(target, Scope::Presence, &one, NoiseFamily::Cauchy4, most)?;
//! let noisy = smooth.release(count, |k| near.at(k), &mut bits);
//! let (bound, answer) = (Target::approximate(epsilon(0.2)?, delta(1e-6)?), Target::pure(epsilon(0.8)?));
//! let bounded = BoundedSensitivity::within(bound, answer, Scope::Presence, &OwnerSteps::one())?;
//! assert!(noisy.abs() < 10_000 && bounded.release(count, near.local(), &mut bits)?.bound >= 2);
//! # Ok::<(), scumble::Error>(())
//! ```

mod dense;
mod graph;

pub use graph::{EdgeSensitivity, Graph};

#[cfg(test)]
mod tests;
