//! A named thing to publish: data in; answers with error bars, and events, out.
//!
//! Each algorithm is a [`Kind`] in one registry ([`kinds`]). A kind makes a [`Plan`] from a request without touching data; the plan
//! knows its events, its rule and the errors to expect. Then the order is fixed by types: [`Plan::compute`] needs the ledger's
//! [`Receipt`] to read rows and gives exact integers, held inside a [`Draw`]; a draw needs it again to add noise.

mod allowance;
mod alone;
mod anonymized_histogram;
mod cdf;
mod exact_count;
mod guarded;
mod heavy_hitters;
mod histogram;
pub mod kinds;
mod limits;
mod marginals;
pub mod noise;
mod output;
mod parquet;
mod publish;
mod quantiles;
mod records;
mod run;
mod sql;

pub use limits::Limit;
pub use output::{Answers, BandedCurve, Cell, Column, Details, Uncertainty};
pub(crate) use publish::{free, written};
pub use run::{Outcome, Planned, Runner, file_stem};
#[cfg(feature = "generator")]
pub use sql::generator::adversarial_query;

use crate::attackers::Counted;
use crate::backend::Backend;
use crate::error::Result;
use crate::ledger::Receipt;
use crate::project::{Project, Request};
use scumble::event::Event;
use scumble::noise::BitSource;
use serde_json::{Value, json};

/// One field of a release in the project file.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The key.
    pub name: &'static str,
    /// What stands there: a text, a number, a list …
    pub form: &'static str,
    /// Whether it must be there.
    pub required: bool,
    /// What it means.
    pub about: &'static str,
}

/// An algorithm that can be released. New ones are added to the list in [`kinds`].
#[derive(Debug)]
pub struct Kind {
    /// The word in project files.
    pub name: &'static str,
    /// What it publishes, in one sentence.
    pub about: &'static str,
    /// Its fields, besides name, kind and cost.
    pub fields: &'static [Field],
    /// Whom a cost may be about.
    pub cost_about: CostAbout,
    /// Plans a release without touching data.
    pub plan: fn(&Request, &Project) -> Result<Box<dyn Plan>>,
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

/// A release that has been checked, with everything that is public about it.
pub trait Plan {
    /// What it will do to the data: the charge.
    fn events(&self) -> &[Event];
    /// What else is needed to check the events by hand.
    fn rule(&self) -> Value;
    /// The error to expect of each published column.
    fn expected(&self) -> Vec<Expected>;
    /// What nobody could beat at this release's privacy, where that is known.
    fn limits(&self) -> Result<Vec<Limit>> {
        Ok(Vec::new())
    }
    /// What is counted, for attackers who know only part of the rows.
    fn counted(&self) -> Result<Counted> {
        Ok(Counted::Other("only counts and histograms of rows are analysed"))
    }
    /// The tables that it reads.
    fn tables(&self) -> Vec<String>;
    /// Whether the sources fit the plan, as far as names and types of columns tell. No value is read: what this says is not charged.
    fn preflight(&self, _project: &Project, _backend: &Backend) -> Result<()> {
        Ok(())
    }
    /// Computes the exact answer and holds it back. This is the first to read rows, so it needs a charge that is durable; why it
    /// fails is told to nobody.
    fn compute(&self, charged: &Receipt, project: &Project, backend: &Backend) -> Result<Draw>;
}

/// The exact answer, and how to noise it: to be called once, with the receipt of the charge.
pub type Draw = Box<dyn FnOnce(&Receipt, &mut dyn BitSource) -> Result<Answers>>;

/// The error to expect of one published column.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// The column.
    pub column: String,
    /// The standard error of each cell, or of the worst one where they differ; none where it depends on the data.
    pub standard_error: Option<f64>,
    /// The standard errors of all cells, where they differ.
    pub cells: Vec<f64>,
    /// Where it depends on the data: what it is if a cell is as assumed.
    pub assumed: Option<Assumed>,
    /// What it is made of, in words.
    pub about: String,
}

/// The standard error of a cell about which something is assumed, from public knowledge.
#[derive(Debug, Clone, PartialEq)]
pub struct Assumed {
    /// How many rows it has.
    pub rows: u64,
    /// The standard error if the values lie evenly between their bounds.
    pub standard_error: f64,
    /// The smallest that was found for values that lie otherwise (all at one bound, in the middle, half at each bound).
    pub least: f64,
    /// The largest.
    pub most: f64,
}

impl Assumed {
    fn words(&self) -> String {
        let Self { rows, least, most, .. } = self;
        format!(
            "for a cell of {rows} rows with values spread evenly over their bounds ({least:.4} to {most:.4} otherwise); expected_rows says another number"
        )
    }
}

impl Expected {
    /// As JSON.
    pub fn json(&self) -> Value {
        let assumed = self.assumed.as_ref().map(|assumed| {
            json!({
                "rows": assumed.rows, "standard_error": assumed.standard_error, "least": assumed.least, "most": assumed.most,
            })
        });
        let mut told = json!({ "column": self.column, "standard_error": self.standard_error, "assumed": assumed, "about": self.about });
        if !self.cells.is_empty() {
            told["cells"] = json!(self.cells);
        }
        told
    }
}
