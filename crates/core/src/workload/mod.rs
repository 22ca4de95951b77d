//! Many queries at once over a finite domain: marginals, conjunctions, parities; how to answer them privately, and
//! synthetic rows.
//!
//! A [`Domain`] is a product of categorical attributes. The quickest way from a table to private rows
//! is [`residual::ResidualPlan`]: it gives every set of attributes its own noise, so that the variances of its unbiased
//! tables are known exactly and the cost of any scope can be read off, and fits a non-negative [`CountModel`] from
//! which whole rows are made.
//!
//! ```
//! use scumble::noise::InsecureSeededSource;
//! use scumble::quantity::rho;
//! use scumble::workload::planner::{self, RhoLimits};
//! use scumble::workload::{Domain, Subset};
//! use scumble::{Scope, Target};
//! let domain = Domain::new(vec![3, 2, 2])?;
//! let columns: Vec<Vec<u8>> = [3u32, 2, 2].iter().map(|size| (0..900u32).map(|i| (i / size % size) as u8).collect()).collect();
//! let counts = domain.count(&columns)?;
//! let limits = RhoLimits::of(Target::zcdp(rho(0.1)?), Scope::Presence)?;
//! let plan = planner::residual(&domain, 2, &limits)?;
//! let model = plan.release(&counts, &mut InsecureSeededSource::new(1))?.model()?;
//! let rows = model.rows();
//! assert!((rows.len() as i64 - 900).abs() < 100);
//! assert!(plan.rho(Subset::of(&[1])) < plan.rho_person());
//! # Ok::<(), scumble::Error>(())
//! ```

mod allocation;
mod domain;
mod fit;
mod limits;
mod nested;
mod parities;
mod people;
mod predicate;
mod rows;
mod terms;
mod transform;

#[cfg(test)]
mod tests;

pub mod conjunctions;
pub mod interactive;
pub mod mwem;
pub mod planner;
pub mod projection;
pub mod psd;
pub mod residual;
pub mod small_table;
pub mod wide;

/// 95% of a normal law are within this many standard deviations: half of a 95% interval in standard errors.
pub const NORMAL_95: f64 = 1.959_963_984_540_054;

pub use domain::{Domain, Subset};
pub use parities::{Bits, rank, sets};
pub use people::People;
pub use predicate::{Predicate, Queries};
pub use rows::CountModel;
