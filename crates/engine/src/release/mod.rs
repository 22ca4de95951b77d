//! A named thing to publish: data in; answers with error bars, and events, out.
//!
//! Each algorithm is a [`Kind`] in one registry ([`kinds`]), and a kind is one function: it reads and analyses a request without touching
//! data ([`Analysed`]). That prices the request at any cost, which gives its events; and of the cost that is taken it makes the [`Plan`],
//! a record of all that is public about the release. The order is fixed by types: [`Plan::compute`] is given a [`Charged`], which is
//! made of the ledger's receipt, and only through that can rows be read and noise be drawn.

mod allowance;
mod alone;
mod anonymized_histogram;
mod ask;
mod asker;
mod bounds;
mod cdf;
mod conjunctions;
#[cfg(test)]
mod coverage;
mod degrees;
mod estimates;
mod exact_count;
mod exact_if_stable;
mod field;
mod fitted;
mod graph;
mod heavy_hitters;
mod histogram;
mod huge_histogram;
mod interactive;
mod job;
mod kept;
mod key_sets;
pub mod kinds;
mod learn;
mod limits;
mod marginals;
mod mode;
mod needs;
pub mod noise;
mod output;
mod outside;
mod parquet;
mod plan;
mod publish;
mod published;
mod quantiles;
mod records;
mod request;
mod rows;
mod run;
mod small_table;
mod smooth_noise;
mod smooth_quantiles;
mod sql;
mod top;
mod triangles;
mod universe;
mod waiting;
mod wide_cdf;
mod wide_keys;
mod wide_quantiles;

pub use ask::{Answered, Asking, How};
pub use asker::Asker;
pub use conjunctions::{Looked, lookup};
pub use estimates::Estimates;
pub use field::Listed;
#[cfg(feature = "generator")]
pub use job::integers_of_both;
pub use kept::{Kept, again};
pub use limits::Floor;
pub(crate) use output::six_digits;
pub use output::{AnswerColumn, Answers, BandedCurve, Cell, Details, Drawn, Long, UNBOUNDED, Uncertainty};
pub use outside::{Book, Outputs, Outside, Paid};
pub use parquet::arrow;
pub use plan::{Analysed, Assumed, Charged, Compute, Expected, Plan};
pub(crate) use publish::{free, sweep, written};
pub use published::{MOST_ROWS, Published, Unshown, published, published_file, stored};
pub use run::{Outcome, Planned, Runner};
#[cfg(feature = "generator")]
pub use sql::generator::adversarial_query;
pub use sql::{ColumnKind, PublishedColumn, parameters, refuse_too_long};

pub use crate::sql::window::Engine;

use crate::error::Result;
use crate::project::{Project, Request};
use plan::Priced;

/// An algorithm that can be released. New ones are added to the list in [`kinds`].
#[derive(Debug)]
pub struct Kind {
    /// The word in project files.
    pub name: &'static str,
    /// What it publishes, in one sentence.
    pub about: &'static str,
    /// Its fields, besides name, kind and cost.
    pub fields: &'static [Listed],
    /// Whom a cost may be about.
    pub cost_about: CostAbout,
    /// Reads and analyses a request, without touching data.
    pub analyse: fn(&Request, &Project) -> Result<Analysed>,
}

/// Whom the cost of a kind may be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostAbout {
    /// It takes no cost: a release without noise.
    Nobody,
    /// Owners.
    Owners,
    /// Owners, or one attribute of an owner (`scope = "attribute"`).
    OwnersOrAttributes,
}
