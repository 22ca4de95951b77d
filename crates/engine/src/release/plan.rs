//! What a request becomes, in three steps: analysed once, priced at as many costs as are looked at, planned once; and what a charge buys.

use crate::attackers::Counted;
use crate::error::Result;
use crate::ledger::Receipt;
use crate::project::Cost;
use crate::release::estimates::Estimates;
use crate::release::floor::Floor;
use crate::release::output::Answers;
use crate::release::rows::graph::Edges;
use crate::release::rows::records::{Attributes, Records};
use crate::remote::IntegerSource;
use crate::sql::Cut;
use crate::sql::execute::cell::Cell as IntegerCell;
use crate::sql::execute::integers::{Integers, contributions, integers, integers_beside, occurrences};
use crate::tables::Backend;
use crate::tables::bounding::{Bounds, Contribution};
use crate::tables::hash::Key;
use scumble::event::Event;
use scumble::mechanism::triangles::Graph;
use scumble::noise::BitSource;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A request of which all is known that does not depend on its cost.
pub struct Analysed(Box<Price>);

type Price = dyn Fn(&Cost) -> Result<Priced>;

impl Analysed {
    pub(crate) fn new(price: impl Fn(&Cost) -> Result<Priced> + 'static) -> Self {
        Self(Box::new(price))
    }

    /// What it does to the data if it may cost this.
    pub(crate) fn at(&self, cost: &Cost) -> Result<Priced> {
        (self.0)(cost)
    }

    /// The same, with another last step of each plan.
    pub(crate) fn then(self, last: impl Fn(Plan) -> Plan + 'static) -> Self {
        let last = Rc::new(last);
        Self::new(move |cost| {
            let (Priced { events, plan }, last) = (self.at(cost)?, Rc::clone(&last));
            Ok(Priced { events, plan: Box::new(move |events| plan(events).map(|plan| last(plan))) })
        })
    }
}

/// A request at one cost: its events are known, and the rest of its plan is made where it is wanted.
pub(crate) struct Priced {
    events: Vec<Event>,
    plan: Box<dyn FnOnce(Vec<Event>) -> Result<Plan>>,
}

impl Priced {
    /// `plan` is given the events.
    pub fn new(events: Vec<Event>, plan: impl FnOnce(Vec<Event>) -> Result<Plan> + 'static) -> Self {
        Self { events, plan: Box::new(plan) }
    }

    /// The charge.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The whole plan.
    pub fn plan(self) -> Result<Plan> {
        (self.plan)(self.events)
    }
}

/// A release that has been checked, with everything that is public about it.
pub struct Plan {
    /// What it will do to the data: the charge.
    pub events: Vec<Event>,
    /// What else is needed to check the events by hand.
    pub rule: Value,
    /// The error to expect of each published column.
    pub expected: Vec<Expected>,
    /// What else somebody should know before this is released, a sentence each.
    pub notes: Vec<String>,
    /// What nobody could beat at this release's privacy, where that is known.
    pub limits: Vec<Floor>,
    /// What is counted, for attackers who know only part of the rows.
    pub counted: Counted,
    /// What its numbers are about, where owners have rows that may not count; none where every row counts.
    pub estimates: Option<Estimates>,
    /// How many bytes of memory it takes whatever rows there are, about: what public numbers alone make it hold.
    pub memory: u64,
    /// The tables that it reads.
    pub tables: Vec<String>,
    /// The query that it runs, where it is one: whether the sources fit is looked at before anything is charged.
    pub(crate) query: Option<Rc<Cut>>,
    /// From rows to answers. Why it fails is said to nobody.
    pub compute: Compute,
}

/// Reads rows and draws noise, with what a charge buys.
pub type Compute = Box<dyn Fn(&mut Charged<'_>) -> Result<Answers>>;

/// What a durable charge buys: rows, and noise. It is made from the ledger's [`Receipt`] only, and there is no other way to read rows or
/// to draw noise for a release.
pub struct Charged<'a> {
    receipt: &'a Receipt,
    backend: &'a Backend,
    /// Where integers come from, if not from rows that we read.
    source: Option<&'a dyn IntegerSource>,
    /// Decides which of an owner's rows count.
    key: Key,
    bits: &'a mut dyn BitSource,
}

impl<'a> Charged<'a> {
    pub(crate) fn new(receipt: &'a Receipt, backend: &'a Backend, bits: &'a mut dyn BitSource) -> Self {
        let key = Key(bits.next_u64(), bits.next_u64());
        Self { receipt, backend, source: None, key, bits }
    }

    /// The same with integers from source.
    pub(crate) fn with(self, source: Option<&'a dyn IntegerSource>) -> Self {
        Self { source, ..self }
    }

    /// The same with the key of an earlier part of the same release.
    pub(crate) fn with_key(receipt: &'a Receipt, backend: &'a Backend, key: Key, bits: &'a mut dyn BitSource) -> Self {
        Self { receipt, backend, source: None, key, bits }
    }

    /// The charge's place in the ledger.
    pub fn sequence(&self) -> u64 {
        self.receipt.sequence()
    }

    /// The exact integers of a query.
    pub(crate) fn integers(&self, query: &Cut) -> Result<Integers> {
        match self.source {
            Some(source) => source.integers(query),
            None => integers(query, self.backend, self.key),
        }
    }

    /// The same, with what wider bounds keep beside each cell; `visit` is given what each owner has.
    pub(crate) fn integers_beside(
        &self,
        query: &Cut,
        wide: Bounds,
        visit: impl FnMut(Contribution<'_>),
    ) -> Result<(Integers, Vec<IntegerCell>)> {
        integers_beside(query, self.backend, self.key, wide, visit)
    }

    /// How many keys of a counting query have how many rows, where each row is one person.
    pub(crate) fn occurrences(&self, query: &Cut) -> Result<BTreeMap<u64, u64>> {
        occurrences(query, self.backend, self.key)
    }

    /// Gives `visit` what each owner has in a query's groups, of at most this many groups.
    pub(crate) fn contributions(&self, query: &Cut, groups: u64, visit: impl FnMut(Contribution<'_>)) -> Result<()> {
        contributions(query, self.backend, self.key, groups, visit)
    }

    /// One record for each owner.
    pub(crate) fn records(&self, attributes: &Attributes) -> Result<Records> {
        attributes.read(self.backend, self.key)
    }

    /// The graph of a table of edges.
    pub(crate) fn graph(&self, edges: &Edges) -> Result<Graph> {
        edges.read(self.backend, self.key)
    }

    /// Where noise comes from.
    pub(crate) fn bits(&mut self) -> &mut dyn BitSource {
        self.bits
    }
}

/// The error to expect of one published column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expected {
    /// The column.
    pub column: String,
    /// The standard error of each cell, or of the worst one where they differ; none where it depends on the data.
    pub standard_error: Option<f64>,
    /// The standard errors of all cells, where they differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<f64>,
    /// Where it depends on the data: what it is if a cell is as assumed.
    pub assumed: Option<Assumed>,
    /// What it is made of, in words.
    pub about: String,
}

/// The standard error of a cell about which something is assumed, from public knowledge.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    pub(crate) fn words(&self) -> String {
        let Self { rows, least, most, .. } = self;
        format!(
            "for a cell of {rows} rows with values spread evenly over their bounds ({least:.4} to {most:.4} otherwise); expected_rows says another number"
        )
    }
}
