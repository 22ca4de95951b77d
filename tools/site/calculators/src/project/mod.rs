//! The project file, as far as plans of counts and sums need it.
//!
//! Costs and sections are read by the engine's own files; [`read`] reads tables, budgets and releases with them, and
//! leaves out, with the reason, what this page does not plan.

#[path = "../../../../../crates/engine/src/project/cost.rs"]
#[allow(dead_code, missing_docs)]
mod cost;
mod read;
#[path = "../../../../../crates/engine/src/project/section.rs"]
#[allow(dead_code, missing_docs)]
mod section;

pub use cost::{Cost, CostScope, Goal};
pub use read::{Column, Project, ReleasedQuery, Table};
#[cfg(test)]
pub(crate) use section::{given, parse};

/// A release as the engine's file on costs knows it.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Its cost.
    pub cost: Cost,
    /// All of its fields.
    pub fields: section::Section,
}
