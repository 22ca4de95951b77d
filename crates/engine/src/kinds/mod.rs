//! The kinds of release: one file or folder for each, and the list [`registry::KINDS`].
//!
//! Outside of this folder nobody names a kind: what others must know of one is a field of its [`Kind`] (a test holds
//! this).

mod anonymized_histogram;
mod bounds;
mod cdf;
mod conjunctions;
mod counted;
#[cfg(test)]
mod coverage;
mod degrees;
mod exact_count;
mod exact_if_stable;
mod heavy_hitters;
mod histogram;
mod huge_histogram;
pub(crate) mod interactive;
mod learn;
mod marginals;
mod mode;
mod ordered;
mod quantiles;
pub mod registry;
mod small_table;
mod smooth_quantiles;
pub(crate) mod sql;
mod top;
mod triangles;
mod wide_cdf;
mod wide_keys;
mod wide_quantiles;

pub use crate::release::ColumnKind;
pub use conjunctions::{LookupAnswer, lookup};
pub use sql::{PublishedColumn, columns_of, parameters, refuse_too_long};

use crate::release::Kind;

/// All kinds, in the order in which they are listed. A new algorithm is its file, its `mod` line and a line here.
pub static KINDS: &[&Kind] = &[
    &sql::KIND,
    &histogram::KIND,
    &anonymized_histogram::KIND,
    &cdf::KIND,
    &quantiles::KIND,
    &marginals::MARGINALS,
    &marginals::SYNTHETIC,
    &conjunctions::KIND,
    &small_table::KIND,
    &interactive::KIND,
    &heavy_hitters::KIND,
    &mode::KIND,
    &top::KIND,
    &exact_if_stable::KIND,
    &learn::KIND,
    &triangles::KIND,
    &degrees::KIND,
    &bounds::KIND,
    &exact_count::KIND,
];
